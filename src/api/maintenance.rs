//! Maintenance windows that were declared beforehand.

use axum::{extract::State, http::StatusCode};
use jiff::Timestamp;
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
    fleets::find as find_fleet,
    maintenance_form::covered,
    request::{At, Empty, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::{
    domain::{decision::State as MonitorStateCode, monitor::Name},
    store::{
        self,
        maintenance::{Filter, MaintenanceRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_maintenance, create_maintenance))
        .routes(routes!(get_maintenance, delete_maintenance))
        .routes(routes!(end_maintenance))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Maintenance {
    pub id: Uuid,
    pub name: String,
    pub start: At,
    pub end: At,
    pub phase: Phase,
    /// Null, with `fleets` null as well, covers everything; empty when it covers fleets alone.
    pub monitors: Option<Vec<Uuid>>,
    /// Fleets whose alerts it keeps silent; null when it names none.
    pub fleets: Option<Vec<Uuid>>,
    pub suppress_alerts: bool,
    pub exclude_from_slo: bool,
    pub pause_probes: bool,
    pub kind: MaintenanceKind,
    /// Why it was entered afterwards; empty for what was planned, unless somebody said more.
    pub reason: String,
    /// The only locations whose results it leaves out; null: the whole monitor.
    pub locations: Option<Vec<Uuid>>,
    pub declared_at: At,
    pub declared_by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Planned,
    Running,
    Past,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MaintenanceKind {
    /// Declared before it ended: leaves out what came after it was declared.
    #[default]
    Planned,
    /// Entered when it was over, with a reason: leaves out all of it, and is listed apart.
    Correction,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMaintenance {
    pub name: String,
    pub start: At,
    pub end: At,
    /// Ids or names. A window that names neither monitors nor fleets covers all of both.
    pub monitors: Option<Vec<String>>,
    /// Ids or names of fleets whose alerts it keeps silent. A fleet has no probes to pause and no share in an
    /// SLO of its own, so the other two switches are about monitors.
    pub fleets: Option<Vec<String>>,
    /// On unless said otherwise.
    pub suppress_alerts: Option<bool>,
    /// On unless said otherwise.
    pub exclude_from_slo: Option<bool>,
    /// Off unless said otherwise.
    pub pause_probes: Option<bool>,
    /// Planned unless said otherwise.
    #[serde(default)]
    pub kind: MaintenanceKind,
    /// A correction needs one: 1 to 1,000 characters.
    pub reason: Option<String>,
    /// Ids or names: it leaves out the results of these locations only, and does nothing else.
    pub locations: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListMaintenance {
    pub phase: Option<Phase>,
    /// Windows that cover this monitor.
    pub monitor: Option<Uuid>,
    /// Windows that cover this fleet.
    pub fleet: Option<Uuid>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Windows, the latest start first.
#[utoipa::path(get, path = "/maintenance", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(ListMaintenance), responses((status = 200, body = List<Maintenance>)))]
async fn list_maintenance(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListMaintenance>,
) -> ApiResult<Json<List<Maintenance>>> {
    let now = state.clock.now();
    let limit = page_limit(query.limit)?;
    let before: Option<(At, Uuid)> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let mut filter =
        Filter { before: before.map(|(at, id)| (at.0, id)), limit: limit + 1, ..Filter::default() };
    if let Some(id) = query.monitor {
        let key =
            store::monitors::key(&mut conn, id).await?.ok_or(ApiError::NotFound("monitor"))?;
        filter.monitor = Some(key.0);
    }
    if let Some(id) = query.fleet {
        filter.fleet = Some(find_fleet(&mut conn, id, false).await?.key.0);
    }
    match query.phase {
        None => {}
        Some(Phase::Planned) => filter.starts_after = Some(now),
        Some(Phase::Running) => (filter.starts_by, filter.ends_after) = (Some(now), Some(now)),
        Some(Phase::Past) => filter.ends_by = Some(now),
    }
    let rows = store::maintenance::list(&mut conn, &filter).await?;
    Ok(Json(List::page(
        rows,
        limit,
        |row| (At(row.start_at), row.id),
        |row| Maintenance::shown(row, now),
    )))
}

/// Declares a window. A start in the past is moved to now: what has happened is not explained away, but by a
/// correction, which lies in the past, says why, and is listed apart in every report.
#[utoipa::path(post, path = "/maintenance", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    request_body = NewMaintenance, responses((status = 201, body = Maintenance)))]
async fn create_maintenance(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(body): Json<NewMaintenance>,
) -> ApiResult<(StatusCode, Json<Maintenance>)> {
    let now = whole_millis(state.clock.now());
    let name = Name::parse("name", &body.name)?;
    let (start, end) = body.span(now)?;
    let reason = body.reason()?;
    let switches = body.switches()?;
    let mut tx = state.pool.begin().await?;
    let covered = covered(&mut tx, &body).await?;
    let id = store::id_at(now);
    let correction = body.kind == MaintenanceKind::Correction;
    let new = store::maintenance::NewMaintenance {
        id,
        name: name.as_str(),
        start_at: start,
        end_at: end,
        monitors: covered.monitors.as_deref(),
        fleets: covered.fleets.as_deref(),
        suppress_alerts: switches.suppress_alerts,
        exclude_from_slo: switches.exclude_from_slo,
        pause_probes: switches.pause_probes,
        correction,
        reason: &reason,
        locations: covered.locations.as_deref(),
        declared_by: &caller.name,
    };
    store::maintenance::insert(&mut tx, &new, now).await?;
    store::maintenance_occurrences::begin_due(&mut tx, Some(id), now, 1).await?;
    if correction {
        // The past is another one now: reports that were frozen are worked out again.
        let monitors = covered.monitors.as_deref();
        store::timeline::bump_revisions(&mut tx, monitors, now).await?;
    }
    let detail = json!({
        "name": new.name, "start": At(start), "end": At(end), "monitors": body.monitors,
        "fleets": body.fleets, "suppress_alerts": new.suppress_alerts, "exclude_from_slo": new.exclude_from_slo,
        "pause_probes": new.pause_probes, "kind": body.kind, "reason": reason, "locations": body.locations,
    });
    store::audit::add(&mut tx, now, &caller.name, "maintenance.create", &subject(id), &detail)
        .await?;
    let window = one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(window)))
}

/// One window.
#[utoipa::path(get, path = "/maintenance/{id}", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Maintenance)))]
async fn get_maintenance(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<Maintenance>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(one(&mut conn, id, state.clock.now()).await?))
}

/// Ends a running window now.
#[utoipa::path(post, path = "/maintenance/{id}/end", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Maintenance)))]
async fn end_maintenance(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Json<Maintenance>> {
    let now = whole_millis(state.clock.now());
    let mut tx = state.pool.begin().await?;
    let window = one(&mut tx, id, now).await?;
    if !store::maintenance::end(&mut tx, id, now).await? {
        let way_out = if window.phase == Phase::Planned {
            "has not begun; delete it"
        } else {
            "is over already"
        };
        return Err(ApiError::in_use(format!("This window {way_out}.")));
    }
    store::maintenance_occurrences::end(&mut tx, id, now).await?;
    // What it kept silent may have to be told, two intervals from now.
    store::live::wake_troubled(&mut tx, now, MonitorStateCode::Up.code()).await?;
    store::audit::add(&mut tx, now, &caller.name, "maintenance.end", &subject(id), &json!({}))
        .await?;
    let window = one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(window))
}

/// Deletes a planned window; 409 once it has begun (end it instead).
#[utoipa::path(delete, path = "/maintenance/{id}", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn delete_maintenance(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let window = one(&mut tx, id, now).await?;
    if !store::maintenance::delete_planned(&mut tx, id, now).await? {
        return Err(ApiError::in_use(
            "This window has begun: what it covers stays covered. End it instead.",
        ));
    }
    let detail = json!({ "name": window.name, "start": window.start, "end": window.end });
    store::audit::add(&mut tx, now, &caller.name, "maintenance.delete", &subject(id), &detail)
        .await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

fn subject(id: Uuid) -> String {
    format!("maintenance:{id}")
}

/// Windows are compared in the decision core's milliseconds.
pub fn whole_millis(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

async fn one(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> ApiResult<Maintenance> {
    let filter = Filter { id: Some(id), limit: 1, ..Filter::default() };
    let row = store::maintenance::list(conn, &filter).await?.pop();
    row.map(|row| Maintenance::shown(row, now)).ok_or(ApiError::NotFound("window"))
}

impl Maintenance {
    fn shown(row: MaintenanceRow, now: Timestamp) -> Self {
        let phase = if row.end_at <= now {
            Phase::Past
        } else if row.start_at <= now {
            Phase::Running
        } else {
            Phase::Planned
        };
        Self {
            id: row.id,
            name: row.name,
            start: At(row.start_at),
            end: At(row.end_at),
            phase,
            monitors: row.monitors,
            fleets: row.fleets,
            suppress_alerts: row.suppress_alerts,
            exclude_from_slo: row.exclude_from_slo,
            pause_probes: row.pause_probes,
            kind: if row.correction {
                MaintenanceKind::Correction
            } else {
                MaintenanceKind::Planned
            },
            reason: row.reason,
            locations: row.locations,
            declared_at: At(row.declared_at),
            declared_by: row.declared_by,
        }
    }
}
