//! Failover groups and their rules. Whom to serve now, and somebody's word over it, is `failover_now`; whoever
//! serves by them reads `failover_feed`.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    channels::must_carry_news,
    error::{ApiError, ApiResult},
    failover_now::FailoverNow,
    monitors::{etag, if_match},
    request::{At, Json, List, Path, not_null},
};
use crate::{
    domain::{
        failover::{self, Group},
        token::KeyKind,
    },
    store::{
        self,
        failover::{GroupRow, GroupSet},
    },
    triage::failover::{Looked, look},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_failover_groups, create_failover_group))
        .routes(routes!(get_failover_group, change_failover_group, delete_failover_group))
        .routes(routes!(replace_failover_key))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverGroup {
    pub id: Uuid,
    /// Stands in the feed's address.
    pub name: String,
    #[serde(flatten)]
    pub rules: Group,
    /// Channels that are told of changes.
    pub channels: Vec<Uuid>,
    pub now: FailoverNow,
    /// Where it is read, by whoever has the key.
    pub feed_url: String,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFailoverGroup {
    pub name: String,
    #[serde(default)]
    pub mode: failover::Mode,
    pub members: Vec<failover::Member>,
    pub min_members: Option<u16>,
    pub return_after_s: Option<u32>,
    #[serde(default)]
    pub channels: Vec<Uuid>,
}

/// What is left out stays; null is what a new group would have.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFailoverGroup {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub mode: Option<failover::Mode>,
    /// Replaces all members.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub members: Option<Vec<failover::Member>>,
    #[serde(default, deserialize_with = "super::request::present")]
    #[schema(value_type = Option<u16>)]
    pub min_members: Option<Option<u16>>,
    #[serde(default, deserialize_with = "super::request::present")]
    #[schema(value_type = Option<u32>)]
    pub return_after_s: Option<Option<u32>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub channels: Option<Vec<Uuid>>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CreatedFailoverGroup {
    pub group: FailoverGroup,
    /// `qro_…`, shown this once: it reads this group's feed and nothing else.
    pub secret: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailoverKey {
    /// `qro_…`, shown this once. The one before opens nothing any more.
    pub secret: String,
}

/// All groups by name, each with whom to serve now.
#[utoipa::path(get, path = "/failover", tag = "failover", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<FailoverGroup>)))]
async fn list_failover_groups(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<FailoverGroup>>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let url = state.public_url(&mut conn).await?;
    let rows = store::failover::list(&mut conn).await?;
    let all = look(&mut conn, rows, now).await?;
    Ok(Json(List::whole(all.into_iter().map(|one| shown(one, &url, now)).collect())))
}

/// Adds a group. The key of its feed is answered this once.
#[utoipa::path(post, path = "/failover", tag = "failover", extensions(("x-role" = json!("editor"))),
    request_body = NewFailoverGroup, responses((status = 201, body = CreatedFailoverGroup)))]
async fn create_failover_group(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(form): Json<NewFailoverGroup>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let group = Group {
        mode: form.mode,
        members: form.members,
        min_members: form.min_members,
        return_after_s: form.return_after_s,
    };
    failover::check_name("name", &form.name)?;
    group.check()?;
    let (secret, hash) = fresh_key()?;
    let id = store::id_at(now);
    let mut tx = state.pool.begin().await?;
    known(&mut tx, &group, &form.channels).await?;
    let set = GroupSet { name: &form.name, group: &group, channels: &form.channels };
    store::failover::insert(&mut tx, id, &set, &hash, now).await?;
    let detail = json!({ "name": form.name, "rules": group, "channels": form.channels });
    store::audit::add(&mut tx, now, &caller.name, "failover.create", &subject(id), &detail).await?;
    let group = one(&mut tx, id, &state, now).await?;
    tx.commit().await?;
    let tag = [(header::ETAG, etag(group.revision))];
    Ok((StatusCode::CREATED, tag, Json(CreatedFailoverGroup { group, secret })).into_response())
}

/// One group with whom to serve now, and why.
#[utoipa::path(get, path = "/failover/{id}", tag = "failover", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)),
    responses((status = 200, body = FailoverGroup, headers(("etag" = String)))))]
async fn get_failover_group(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    Ok(answer(one(&mut conn, id, &state, now).await?))
}

/// Changes a group. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/failover/{id}", tag = "failover", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), request_body = ChangeFailoverGroup,
    responses((status = 200, body = FailoverGroup, headers(("etag" = String)))))]
async fn change_failover_group(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<ChangeFailoverGroup>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let group = Group {
        mode: change.mode.unwrap_or(old.group.mode),
        members: change.members.unwrap_or_else(|| old.group.members.clone()),
        min_members: change.min_members.unwrap_or(old.group.min_members),
        return_after_s: change.return_after_s.unwrap_or(old.group.return_after_s),
    };
    let name = change.name.unwrap_or_else(|| old.name.clone());
    let channels = change.channels.unwrap_or_else(|| old.channels.clone());
    failover::check_name("name", &name)?;
    group.check()?;
    known(&mut tx, &group, &channels).await?;
    let set = GroupSet { name: &name, group: &group, channels: &channels };
    store::failover::update(&mut tx, old.key, &set, now).await?;
    let detail = json!({ "name": name, "rules": group, "channels": channels,
        "before": { "name": old.name, "rules": old.group, "channels": old.channels } });
    store::audit::add(&mut tx, now, &caller.name, "failover.change", &subject(id), &detail).await?;
    let group = one(&mut tx, id, &state, now).await?;
    tx.commit().await?;
    Ok(answer(group))
}

/// Deletes a group: its feed answers 404 from now on.
#[utoipa::path(delete, path = "/failover/{id}", tag = "failover", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_failover_group(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    if_match(&headers, row.revision)?;
    store::failover::delete(&mut tx, row.key, now).await?;
    let detail = json!({ "name": row.name });
    store::audit::add(&mut tx, now, &caller.name, "failover.delete", &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes another key for the feed. The old one opens nothing any more, so whoever reads it needs the new one.
#[utoipa::path(post, path = "/failover/{id}/key", tag = "failover", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = FailoverKey)))]
async fn replace_failover_key(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: super::request::Empty,
) -> ApiResult<Json<FailoverKey>> {
    let now = state.clock.now();
    let (secret, hash) = fresh_key()?;
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    store::failover::set_token(&mut tx, row.key, &hash).await?;
    store::audit::add(&mut tx, now, &caller.name, "failover.key", &subject(id), &json!({})).await?;
    tx.commit().await?;
    Ok(Json(FailoverKey { secret }))
}

pub async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<GroupRow> {
    store::failover::get(conn, id, lock).await?.ok_or(ApiError::NotFound("failover group"))
}

pub fn subject(id: Uuid) -> String {
    format!("failover:{id}")
}

fn fresh_key() -> ApiResult<(String, [u8; 32])> {
    let key = KeyKind::Failover.key(super::random());
    let hash = KeyKind::Failover
        .hash(key.expose())
        .ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    Ok((key.into_exposed(), hash))
}

pub fn answer(group: FailoverGroup) -> Response {
    (StatusCode::OK, [(header::ETAG, etag(group.revision))], Json(group)).into_response()
}

/// Refuses monitors, locations and channels that are not there.
async fn known(conn: &mut PgConnection, group: &Group, channels: &[Uuid]) -> ApiResult<()> {
    let wanted: Vec<Uuid> = group.members.iter().map(|member| member.monitor).collect();
    let monitors = store::triage_read::keys(conn, &wanted).await?;
    let locations = store::locations::names(conn).await?;
    for (i, member) in group.members.iter().enumerate() {
        if !monitors.iter().any(|(id, _)| *id == member.monitor) {
            let field = format!("members[{i}].monitor");
            return Err(ApiError::invalid(field, format!("{} is no monitor", member.monitor)));
        }
        for (j, id) in member.locations.iter().flatten().enumerate() {
            if !locations.iter().any(|(_, known, _)| known == id) {
                let field = format!("members[{i}].locations[{j}]");
                return Err(ApiError::invalid(field, format!("{id} is no location")));
            }
        }
    }
    let known = store::channels::list(conn).await?;
    for (i, id) in channels.iter().enumerate() {
        let field = format!("channels[{i}]");
        match known.iter().find(|channel| channel.id == *id) {
            Some(channel) => must_carry_news(&field, channel)?,
            None => return Err(ApiError::invalid(field, format!("{id} is no channel"))),
        }
    }
    Ok(())
}

pub async fn one(
    conn: &mut PgConnection,
    id: Uuid,
    state: &AppState,
    now: Timestamp,
) -> ApiResult<FailoverGroup> {
    let url = state.public_url(conn).await?;
    let row = find(conn, id, false).await?;
    let looked = look(conn, vec![row], now).await?.pop();
    Ok(shown(looked.ok_or(ApiError::NotFound("failover group"))?, &url, now))
}

fn shown(looked: Looked, url: &url::Url, now: Timestamp) -> FailoverGroup {
    let told = FailoverNow::of(&looked, now);
    let row = looked.row;
    let feed = url.join(&format!("failover/{}", row.name)).map(String::from).unwrap_or_default();
    FailoverGroup {
        id: row.id,
        name: row.name,
        rules: row.group,
        channels: row.channels,
        now: told,
        feed_url: feed,
        revision: row.revision,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
    }
}
