//! Who sends a fleet's logs: sources as they are read, and the tokens of shippers.

use axum::{extract::State, http::StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Editor, Viewer},
    error::{ApiError, ApiResult},
    fleets::{find, subject},
    request::{At, Json, List, Path, not_null, present},
};
use crate::{
    domain::{Invalid, fleet::hearing::Hearing, monitor::Name, token::KeyKind},
    intake::{self, Mapping},
    store::{
        self,
        fleet_sources::{SourceRow, SourceSet},
        fleets::FleetRow,
        shippers::ShipperRow,
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sources))
        .routes(routes!(set_source, delete_source))
        .routes(routes!(list_shippers, create_shipper))
        .routes(routes!(revoke_shipper))
}

/// What a source's lines may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = FleetRole)]
pub enum Role {
    /// Stands before the instances: traffic, attempts, removals.
    Balancer,
    /// An instance's own log: restarts, checks, version. The source names the instance.
    Instance,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Self::Balancer => "balancer",
            Self::Instance => "instance",
        }
    }

    /// The column's check holds the two words.
    pub fn from_word(word: &str) -> Self {
        if word == "instance" { Self::Instance } else { Self::Balancer }
    }
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = FleetSource)]
pub struct Source {
    pub name: String,
    pub role: Role,
    /// What the lines are read as; null until that is found out.
    pub format: Option<String>,
    /// It was said, not found out.
    pub format_set: bool,
    /// nginx's `log_format` as pasted.
    pub log_format: Option<String>,
    /// What the keys of generic-json lines mean; null: the usual keys alone.
    pub mapping: Option<Mapping>,
    /// Zone of stamps that carry none; null: UTC.
    pub tz: Option<String>,
    /// Time of the newest line or event.
    pub newest_at: Option<At>,
    pub received_at: Option<At>,
    /// Everything up to here has been sent.
    pub heard_until: Option<At>,
    /// So many seconds of silence are usual: so long its lines are waited for before a window is judged, and so
    /// long what it told is known. Null: 60. Files of an ALB are given 600 when they are first seen.
    pub patience_s: Option<u32>,
    /// Names that it had before; what is sent under them is its own.
    pub aliases: Vec<String>,
    /// Something came within its usual silence, and it is not old.
    pub live: bool,
    /// What comes is old: so many seconds before now its newest line was written. Null: it is not behind.
    pub behind_s: Option<i64>,
    /// Newest line to arrival, at the last batch.
    pub lag_ms: Option<i64>,
    pub lines: i64,
    pub accepted: i64,
    pub rejected: i64,
    pub duplicates: i64,
    pub bytes: i64,
    /// Lines that were not understood, of the last 7 days; addresses and query values masked.
    #[schema(value_type = Vec<Sample>)]
    pub samples: serde_json::Value,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = FleetSample)]
pub struct Sample {
    pub at: At,
    pub line: String,
    pub reason: String,
}

/// What is left out stays; null finds the format out anew.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = FleetSourceSet)]
#[serde(deny_unknown_fields)]
pub struct SetSource {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub role: Option<Role>,
    /// A name of `quorate logs --format`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub format: Option<Option<String>>,
    /// nginx's `log_format` as it stands in its configuration.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub log_format: Option<Option<String>>,
    /// What the keys of JSON lines of one's own mean; the format is generic-json then.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Mapping>)]
    pub mapping: Option<Option<Mapping>>,
    /// An IANA name such as `Europe/Berlin`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub tz: Option<Option<String>>,
    /// 10 to 86400; more for logs that come in files every few minutes.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub patience_s: Option<Option<u32>>,
    /// Renames a source that is there, with its files and events. Whoever sends may go on using the old name.
    /// An instance that is named by its own log is called so from now on, its past included: the old name
    /// becomes one of its addresses in the fleet's settings.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Shipper {
    pub id: Uuid,
    pub name: String,
    pub created_by: String,
    pub created_at: At,
    pub last_used_at: Option<At>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewShipper {
    pub name: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CreatedShipper {
    pub shipper: Shipper,
    /// `qrf_…`, shown this once. Good for this fleet's logs and events, and nothing else.
    pub secret: String,
    /// Ready to paste on the machine that has the logs.
    pub command: String,
}

/// Who sends logs, by name.
#[utoipa::path(get, path = "/fleets/{id}/sources", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = List<Source>)))]
async fn list_sources(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<List<Source>>> {
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let rows = store::fleet_sources::list(&mut conn, fleet.key, None).await?;
    let now = state.clock.now();
    let lateness_s = fleet.config.analysis.lateness_s;
    let shown = rows.into_iter().map(|row| Source::shown(row, lateness_s, now));
    Ok(Json(List::whole(shown.collect())))
}

/// Says how a source's lines are to be read, before or after they have come. Lines that were counted
/// stay as they were read.
#[utoipa::path(put, path = "/fleets/{id}/sources/{source}", tag = "fleets", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("source" = String, Path)), request_body = SetSource,
    responses((status = 200, body = Source)))]
async fn set_source(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, name)): Path<(Uuid, String)>,
    Json(set): Json<SetSource>,
) -> ApiResult<Json<Source>> {
    let now = state.clock.now();
    let name = intake::source_name(&name)?;
    let mut tx = state.pool.begin().await?;
    let fleet = find(&mut tx, id, true).await?;
    let name = store::fleet_sources::called(&mut tx, fleet.key, &name).await?.unwrap_or(name);
    let old = store::fleet_sources::list(&mut tx, fleet.key, Some(&name)).await?.pop();
    let old = old.as_ref();
    let role = set.role.or(old.map(|old| Role::from_word(&old.role))).unwrap_or(Role::Balancer);
    let said = intake::Instruction {
        format: set.format,
        log_format: set.log_format,
        mapping: set.mapping,
        tz: set.tz,
    };
    let reading = said.over(old)?;
    let mapping = reading.mapping.as_ref().map(intake::stored);
    if let Some(Some(seconds)) = set.patience_s
        && !(10..=86_400).contains(&seconds)
    {
        let why = format!("{seconds} is out of range: 10 to 86400 seconds");
        return Err(ApiError::invalid("patience_s", why));
    }
    let put = SourceSet {
        role: role.word(),
        format: reading.format.as_deref(),
        format_set: reading.format_set,
        log_format: reading.log_format.as_deref(),
        mapping: mapping.as_ref(),
        tz: reading.tz.as_deref(),
    };
    store::fleet_sources::put(&mut tx, fleet.key, &name, put).await?;
    if let Some(patience) = set.patience_s {
        let seconds = patience.and_then(|seconds| i32::try_from(seconds).ok());
        store::fleet_sources::set_patience(&mut tx, fleet.key, &name, seconds).await?;
    }
    let called = match set.name {
        Some(new) => renamed(&mut tx, &fleet, &name, &new, role, now).await?,
        None => name.clone(),
    };
    let detail = json!({ "source": name, "role": put.role, "format": put.format, "tz": put.tz,
        "patience_s": set.patience_s, "name": called });
    store::audit::add(&mut tx, now, &caller.name, "fleet.source", &subject(id), &detail).await?;
    let row = store::fleet_sources::list(&mut tx, fleet.key, Some(&called)).await?.pop();
    tx.commit().await?;
    let row = row.ok_or(ApiError::NotFound("source"))?;
    Ok(Json(Source::shown(row, fleet.config.analysis.lateness_s, now)))
}

/// Gives a source another name, unless another one has or had it; the name that it has then.
async fn renamed(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    old: &str,
    new: &str,
    role: Role,
    now: Timestamp,
) -> ApiResult<String> {
    let wrong = |invalid: Invalid| ApiError::from(Invalid::new("name", invalid.message));
    let new = intake::source_name(new).map_err(wrong)?;
    if new == old {
        return Ok(new);
    }
    match store::fleet_sources::called(conn, fleet.key, &new).await? {
        Some(taken) if taken != old => {
            return Err(ApiError::conflict(
                "name",
                format!(
                    "{new} is, or was, the name of another source of this fleet; choose one that is new."
                ),
            ));
        }
        _ => store::fleet_sources::rename(conn, fleet.key, old, &new).await?,
    }
    if role == Role::Instance {
        // It names its instance: what is known of that goes on under the new name.
        let mut config = fleet.config.clone();
        config.also_called(old, &new);
        config.check().map_err(wrong)?;
        store::fleets::update(conn, fleet.key, &fleet.name, &config, now).await?;
    }
    Ok(new)
}

/// Deletes a source: it is not waited for and not missed any more, and how it is read is forgotten. What
/// was counted of it stays, and so do its findings. If it sends again it is back, and goes on in its files
/// where it was, so that nothing counts twice.
#[utoipa::path(delete, path = "/fleets/{id}/sources/{source}", tag = "fleets", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("source" = String, Path)), responses((status = 204)))]
async fn delete_source(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, name)): Path<(Uuid, String)>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let fleet = find(&mut tx, id, true).await?;
    if !store::fleet_sources::delete(&mut tx, fleet.key, &name, now).await? {
        return Err(ApiError::NotFound("source"));
    }
    let detail = json!({ "source": name });
    store::audit::add(&mut tx, now, &caller.name, "fleet.source.delete", &subject(id), &detail)
        .await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Shippers of a fleet whose tokens are not revoked.
#[utoipa::path(get, path = "/fleets/{id}/shippers", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = List<Shipper>)))]
async fn list_shippers(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<List<Shipper>>> {
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let rows = store::shippers::list(&mut conn, fleet.key).await?;
    Ok(Json(List::whole(rows.into_iter().map(Shipper::from).collect())))
}

/// Makes a token for whoever sends this fleet's logs: `quorate ship`, Vector, Fluent Bit, curl.
#[utoipa::path(post, path = "/fleets/{id}/shippers", tag = "fleets", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), request_body = NewShipper, responses((status = 201, body = CreatedShipper)))]
async fn create_shipper(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<Uuid>,
    Json(body): Json<NewShipper>,
) -> ApiResult<(StatusCode, Json<CreatedShipper>)> {
    let now = state.clock.now();
    let name = Name::parse("name", &body.name)?;
    let mut tx = state.pool.begin().await?;
    let fleet = find(&mut tx, id, true).await?;
    let key = KeyKind::Shipper.key(super::random());
    let hash = KeyKind::Shipper
        .hash(key.expose())
        .ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    let row = ShipperRow {
        id: store::id_at(now),
        name: name.into_string(),
        created_by: caller.name.clone(),
        created_at: now,
        last_used_at: None,
    };
    store::shippers::insert(&mut tx, fleet.key, &row, &hash).await?;
    let detail = json!({ "name": row.name, "token": row.id });
    store::audit::add(&mut tx, now, &caller.name, "shipper.create", &subject(id), &detail).await?;
    let url = state.public_url(&mut tx).await?;
    tx.commit().await?;
    let command = command(&url, key.expose(), &fleet.name);
    let created = CreatedShipper { shipper: row.into(), secret: key.into_exposed(), command };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revokes a shipper's token at once.
#[utoipa::path(delete, path = "/fleets/{id}/shippers/{shipper}", tag = "fleets", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path), ("shipper" = Uuid, Path)), responses((status = 204)))]
async fn revoke_shipper(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path((id, shipper)): Path<(Uuid, Uuid)>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let fleet = find(&mut tx, id, false).await?;
    let name = store::shippers::revoke(&mut tx, fleet.key, shipper, now)
        .await?
        .ok_or(ApiError::NotFound("shipper"))?;
    let detail = json!({ "name": name, "token": shipper });
    store::audit::add(&mut tx, now, &caller.name, "shipper.revoke", &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What to type on the machine that has the logs. The key goes through the environment, so that it does
/// not show in the list of processes.
fn command(url: &url::Url, key: &str, fleet: &str) -> String {
    let address = url.as_str().trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let fleet = if fleet.chars().all(plain) {
        fleet.to_owned()
    } else {
        format!("'{}'", fleet.replace('\'', r"'\''"))
    };
    let file = "/var/log/nginx/access.log";
    format!(
        "QUORATE_COORDINATOR_URL={address} QUORATE_SHIPPER_TOKEN={key} \
         quorate ship --fleet {fleet} --source \"$(hostname)\" {file}"
    )
}

impl Source {
    fn shown(row: SourceRow, lateness_s: u32, now: Timestamp) -> Self {
        let heard = row.arrival().hearing(lateness_s, now);
        let behind = |heard| match heard {
            Hearing::Behind(age) => Some(age.as_secs()),
            _ => None,
        };
        let lag = row.newest_at.zip(row.received_at);
        Self {
            name: row.name,
            role: Role::from_word(&row.role),
            format: row.format,
            format_set: row.format_set,
            log_format: row.log_format,
            mapping: row.mapping.as_ref().and_then(intake::mapping_of),
            tz: row.tz,
            newest_at: row.newest_at.map(At),
            received_at: row.received_at.map(At),
            heard_until: row.heard_until.map(At),
            patience_s: row.patience_s.and_then(|seconds| u32::try_from(seconds).ok()),
            aliases: row.aliases,
            live: heard == Hearing::Live,
            behind_s: behind(heard),
            lag_ms: lag.map(|(newest, got)| got.as_millisecond() - newest.as_millisecond()),
            lines: row.lines,
            accepted: row.accepted,
            rejected: row.rejected,
            duplicates: row.duplicates,
            bytes: row.bytes,
            samples: row.samples,
        }
    }
}

impl From<ShipperRow> for Shipper {
    fn from(row: ShipperRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            created_by: row.created_by,
            created_at: At(row.created_at),
            last_used_at: row.last_used_at.map(At),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_survives_a_shell() {
        let of = |fleet: &str| command(&"https://q.example/".parse().unwrap(), "qrf_x", fleet);
        assert!(
            of("shop").contains("QUORATE_SHIPPER_TOKEN=qrf_x quorate ship --fleet shop --source")
        );
        assert!(of("it's").contains(r"--fleet 'it'\''s' --source"));
    }
}
