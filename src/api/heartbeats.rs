//! Monitors of the kind heartbeat: the address that the job calls, and its calls.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitor_save,
    monitor_state::key,
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
    view::{View, instant},
};
use crate::{
    domain::{
        check::heartbeat::KIND,
        decision::{
            Inputs,
            heartbeat::{CallKind, lenient},
        },
        ids::MonitorKey,
        secret::Secret,
        token::KeyKind,
    },
    store::{self, heartbeats::CallRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_heartbeat_address))
        .routes(routes!(rotate_heartbeat_address))
        .routes(routes!(list_heartbeats))
}

/// Where a job calls. Whoever has the address can call.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct HeartbeatAddress {
    /// A call says that the job succeeded. With `/start` behind it: that it starts; `/fail`: that it failed;
    /// `/0` to `/255`: its exit code.
    pub url: String,
    /// Since when it has been this one.
    pub since: At,
}

/// How a job stands.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct HeartbeatState {
    /// Null before the first.
    pub last_call: Option<LastCall>,
    pub last_success_at: Option<At>,
    /// When the next call is due; null before the first, and while it is late or failed.
    pub expected_at: Option<At>,
    /// Down from then on, unless it calls before.
    pub deadline_at: Option<At>,
    /// A run has begun and not ended yet.
    pub running_since: Option<At>,
    /// Since when it is late or failed; null while it is neither.
    pub down_since: Option<At>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LastCall {
    pub at: At,
    pub kind: CallKind,
    pub exit_code: Option<u8>,
    /// The address that it came from.
    pub source: String,
}

/// One call of a job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Heartbeat {
    pub at: At,
    pub kind: CallKind,
    pub exit_code: Option<u8>,
    /// Of the run that it ends, if that said that it started.
    pub duration_ms: Option<i64>,
    /// False: the monitor was paused.
    pub counted: bool,
    /// The address that it came from.
    pub source: String,
    /// The program that called, as it says itself.
    pub agent: Option<String>,
    /// What a failing job sent along, at most 4 KiB, without known secrets.
    pub evidence: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListHeartbeats {
    pub from: Option<At>,
    pub to: Option<At>,
    /// `success`, `start` or `fail`.
    pub kind: Option<CallKind>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// The address that the job calls. It is a key, so it is not for everybody who may look.
#[utoipa::path(get, path = "/monitors/{id}/heartbeat", tag = "monitor", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = HeartbeatAddress)))]
async fn get_heartbeat_address(
    State(state): State<AppState>,
    _editor: Editor,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<HeartbeatAddress>> {
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    Ok(Json(address(&mut conn, &state, id, key).await?))
}

/// Gives the monitor a new address. The old one opens nothing from now on.
#[utoipa::path(post, path = "/monitors/{id}/heartbeat/rotate", tag = "monitor", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = HeartbeatAddress)))]
async fn rotate_heartbeat_address(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<HeartbeatAddress>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = monitor_save::lock(&mut tx, id).await?;
    if !is_heartbeat(&row.values.check_spec) {
        return Err(NO_HEARTBEAT);
    }
    give_address(&mut tx, &state, (row.key, id), now).await?;
    let (subject, detail) = (format!("monitor:{id}"), json!({ "name": row.values.name }));
    store::audit::add(&mut tx, now, &caller.name, "monitor.heartbeat_rotate", &subject, &detail)
        .await?;
    let address = address(&mut tx, &state, id, row.key).await?;
    tx.commit().await?;
    Ok(Json(address))
}

/// Calls of the job, the latest first. They are kept as long as raw results.
#[utoipa::path(get, path = "/monitors/{id}/heartbeats", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListHeartbeats), responses((status = 200, body = List<Heartbeat>)))]
async fn list_heartbeats(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListHeartbeats>,
) -> ApiResult<Json<List<Heartbeat>>> {
    let limit = page_limit(query.limit)?;
    let before: Option<Timestamp> = read_cursor(query.cursor.as_deref())?;
    // The present instant is within: what was called just now is shown.
    let soon = state.clock.now() + SignedDuration::from_secs(1);
    let from = query.from.map_or(Timestamp::UNIX_EPOCH, |at| at.0);
    let to = query.to.map_or(soon, |at| at.0);
    if from >= to {
        return Err(ApiError::invalid("from", "must be before to"));
    }
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    let kind = query.kind.map(CallKind::code);
    let rows =
        store::heartbeats::calls(&mut conn, key, (from, to), kind, before, limit + 1).await?;
    Ok(Json(List::page(rows, limit, |row| row.at, Heartbeat::from)))
}

const NO_HEARTBEAT: ApiError = ApiError::NotFound("heartbeat");

/// Whether a stored check is a heartbeat's.
pub fn is_heartbeat(check: &serde_json::Value) -> bool {
    check.get("kind").and_then(|kind| kind.as_str()) == Some(KIND)
}

/// Makes a monitor an address, in place of the one that it had.
pub async fn give_address(
    conn: &mut PgConnection,
    state: &AppState,
    (monitor, uid): (MonitorKey, Uuid),
    now: Timestamp,
) -> ApiResult<()> {
    let key: Secret<String> = KeyKind::Heartbeat.key(super::random());
    let hash = KeyKind::Heartbeat
        .hash(key.expose())
        .ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    let uid = uid.to_string();
    let sealed = state.sealer.seal(store::heartbeats::place(&uid), key.expose().as_bytes());
    store::heartbeats::put(conn, monitor, &hash, &sealed, now).await?;
    Ok(())
}

async fn address(
    conn: &mut PgConnection,
    state: &AppState,
    id: Uuid,
    monitor: MonitorKey,
) -> ApiResult<HeartbeatAddress> {
    let (sealed, since) = store::heartbeats::sealed(conn, monitor).await?.ok_or(NO_HEARTBEAT)?;
    let place = id.to_string();
    let key = state
        .sealer
        .open_text(store::heartbeats::place(&place), &sealed)
        .map_err(anyhow::Error::from)?;
    let url = state.public_url(conn).await?;
    let url = format!("{}/hb/{}", url.as_str().trim_end_matches('/'), key.expose());
    Ok(HeartbeatAddress { url, since: At(since) })
}

/// How a monitor's job stands; none for what is probed.
pub fn state_of(view: &View, inputs: &Inputs<'_>) -> Option<HeartbeatState> {
    let plan = view.settings.plan.as_ref()?;
    let (live, calls) = (&view.live, &view.live.calls);
    let now = inputs.now.max(live.folded_at);
    let deadline = plan.deadline(calls, lenient(live, inputs));
    let down = match calls.fail {
        Some(at) => Some(at),
        None => deadline.filter(|next| next.at <= now).map(|next| next.at),
    };
    let next = deadline.filter(|_| down.is_none());
    let at = |millis| At(instant(millis));
    Some(HeartbeatState {
        last_call: calls.last.as_ref().map(|call| LastCall {
            at: at(call.at),
            kind: call.kind,
            exit_code: call.exit_code,
            source: call.from.clone(),
        }),
        last_success_at: calls.success.map(at),
        expected_at: next.map(|next| at(next.expected)),
        deadline_at: next.map(|next| at(next.at)),
        running_since: calls.run.map(at),
        down_since: down.map(at),
    })
}

impl From<CallRow> for Heartbeat {
    fn from(row: CallRow) -> Self {
        Self {
            at: At(row.at),
            // The number is one of ours; a newer version's would be shown as a failure.
            kind: CallKind::from_code(row.kind).unwrap_or(CallKind::Fail),
            exit_code: row.exit_code.and_then(|code| u8::try_from(code).ok()),
            duration_ms: row.duration_ms,
            counted: row.counted,
            source: row.source,
            agent: row.agent,
            evidence: row.evidence,
        }
    }
}
