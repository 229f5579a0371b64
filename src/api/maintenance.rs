//! Maintenance: windows that come once, plans of windows that come again, and corrections of the past.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    fleets::find as find_fleet,
    given,
    maintenance_form::{Form, NewMaintenance, When},
    maintenance_shown::{self, Maintenance, MaintenanceKind, Phase},
    monitors::{etag, if_match},
    request::{At, Empty, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::{
    domain::decision::State as MonitorStateCode,
    store::{
        self,
        maintenance::NewMaintenance as NewWindow,
        maintenance_entries::{EntryRow, Filter},
        maintenance_occurrences,
        maintenance_plans::{self, NewPlan},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_maintenance, create_maintenance))
        .routes(routes!(get_maintenance, change_maintenance, delete_maintenance))
        .routes(routes!(end_maintenance))
}

/// How far ahead occurrences are listed unless asked for.
const DAYS: u32 = 30;
/// Occurrences of one plan that are made up for in one request.
const AT_ONCE: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListMaintenance {
    pub phase: Option<Phase>,
    /// Entries that cover this monitor.
    pub monitor: Option<Uuid>,
    /// Entries that cover this fleet.
    pub fleet: Option<Uuid>,
    /// How many days ahead `next` looks: 1 to 90, 30 unless given.
    pub days: Option<u32>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// What was entered, the latest start first.
#[utoipa::path(get, path = "/maintenance", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(ListMaintenance), responses((status = 200, body = List<Maintenance>)))]
async fn list_maintenance(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListMaintenance>,
) -> ApiResult<Json<List<Maintenance>>> {
    let now = state.clock.now();
    let limit = page_limit(query.limit)?;
    let days = match query.days {
        None => DAYS,
        Some(days @ 1..=90) => days,
        Some(days) => {
            return Err(ApiError::invalid("days", format!("{days} is out of range: 1 to 90")));
        }
    };
    let before: Option<(At, Uuid)> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let (monitor, fleet) = covering(&mut conn, query.monitor, query.fleet).await?;
    let filter = Filter {
        now,
        id: None,
        phase: query.phase.map(Phase::word),
        monitor,
        fleet,
        before: before.map(|(at, id)| (at.0, id)),
        limit: limit + 1,
    };
    let rows = store::maintenance_entries::list(&mut conn, &filter).await?;
    let place = |row: &EntryRow| {
        let (at, id) = row.place();
        (At(at), id)
    };
    let page = List::page(rows, limit, place, |row| row);
    let items = maintenance_shown::entries(&mut conn, page.items, now, days).await?;
    Ok(Json(List { items, next: page.next }))
}

/// Keys of a monitor and a fleet that are asked about.
pub async fn covering(
    conn: &mut PgConnection,
    monitor: Option<Uuid>,
    fleet: Option<Uuid>,
) -> ApiResult<(Option<i32>, Option<i32>)> {
    let monitor = match monitor {
        None => None,
        Some(id) => {
            let key = store::monitors::key(conn, id).await?;
            Some(key.ok_or(ApiError::NotFound("monitor"))?.0)
        }
    };
    let fleet = match fleet {
        None => None,
        Some(id) => Some(find_fleet(conn, id, false).await?.key.0),
    };
    Ok((monitor, fleet))
}

/// Plans a window that comes once (`start`, `end`) or again and again (`cron`, `timezone`, `duration_s`). A start
/// in the past is moved to now: what has happened is not explained away, but by a correction, which lies in the
/// past, says why, and is listed apart in every report. The first occurrence of a plan is the first that begins
/// after it was saved.
#[utoipa::path(post, path = "/maintenance", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    request_body = NewMaintenance, responses((status = 201, body = Maintenance, headers(("etag" = String)))))]
async fn create_maintenance(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(body): Json<NewMaintenance>,
) -> ApiResult<Response> {
    let now = whole_millis(state.clock.now());
    let mut tx = state.pool.begin().await?;
    let form = Form::read(&mut tx, &body, now).await?;
    let id = store::id_at(now);
    match &form.when {
        When::Once { start, end } => {
            let new = window(id, &form, (*start, *end), &caller.name);
            store::maintenance::insert(&mut tx, &new, now).await?;
            maintenance_occurrences::begin_one(&mut tx, id, now).await?;
        }
        When::Again(recurrence) => {
            let new = NewPlan { id, terms: &form.terms, recurrence, declared_by: &caller.name };
            maintenance_plans::insert(&mut tx, &new, now).await?;
            maintenance_plans::advance(&mut tx, id, now, AT_ONCE).await?;
        }
    }
    let row = find(&mut tx, id, now).await?;
    if form.kind == MaintenanceKind::Correction {
        // The past is another one now: reports that were frozen are worked out again.
        store::timeline::bump_revisions(&mut tx, row.covered.as_deref(), now).await?;
    }
    let shown = one(&mut tx, row, now).await?;
    audit(&mut tx, "create", &caller.name, &shown, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, shown))
}

fn window<'a>(
    id: Uuid,
    form: &'a Form,
    (start_at, end_at): (Timestamp, Timestamp),
    declared_by: &'a str,
) -> NewWindow<'a> {
    let correction = form.kind == MaintenanceKind::Correction;
    NewWindow { id, terms: &form.terms, start_at, end_at, correction, declared_by }
}

/// One entry.
#[utoipa::path(get, path = "/maintenance/{id}", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Maintenance, headers(("etag" = String)))))]
async fn get_maintenance(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let row = find(&mut conn, id, now).await?;
    Ok(answer(StatusCode::OK, one(&mut conn, row, now).await?))
}

/// Changes a window that has not begun, or a plan, of which what has begun stays as it was: what is left out
/// stays, null takes away. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/maintenance/{id}", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = NewMaintenance, responses((status = 200, body = Maintenance, headers(("etag" = String)))))]
async fn change_maintenance(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<Value>,
) -> ApiResult<Response> {
    let now = whole_millis(state.clock.now());
    let mut tx = state.pool.begin().await?;
    let old = locked(&mut tx, id, now).await?;
    if_match(&headers, old.revision)?;
    let (is_plan, before) = (old.recurrence.is_some(), one(&mut tx, old, now).await?);
    if !is_plan && before.phase != Phase::Planned {
        return Err(ApiError::in_use(if before.kind == MaintenanceKind::Correction {
            "A correction stays as it was entered."
        } else {
            "This window has begun: what it covers stays covered. End it instead."
        }));
    }
    let form = Form::read(&mut tx, &merged(&before, change)?, now).await?;
    match &form.when {
        When::Once { start, end } if !is_plan => {
            if form.kind == MaintenanceKind::Correction {
                return Err(ApiError::invalid("kind", "cannot be changed; enter a correction"));
            }
            let new = window(id, &form, (*start, *end), &caller.name);
            store::maintenance::rewrite(&mut tx, &new, now).await?;
            maintenance_occurrences::begin_one(&mut tx, id, now).await?;
        }
        When::Again(recurrence) if is_plan => {
            let new = NewPlan { id, terms: &form.terms, recurrence, declared_by: &caller.name };
            maintenance_plans::rewrite(&mut tx, &new, now).await?;
            maintenance_plans::advance(&mut tx, id, now, AT_ONCE).await?;
        }
        _ => {
            return Err(ApiError::invalid(
                "cron",
                "cannot be given to a window that comes once, or taken from one that comes again; plan another",
            ));
        }
    }
    let row = find(&mut tx, id, now).await?;
    let shown = one(&mut tx, row, now).await?;
    audit(&mut tx, "change", &caller.name, &shown, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, shown))
}

/// An entry as it is shown with a change on top, as a form again.
fn merged(before: &Maintenance, change: Value) -> ApiResult<NewMaintenance> {
    let Value::Object(change) = change else {
        return Err(ApiError::invalid("", "must be an object"));
    };
    let mut form = NewMaintenance::of(before);
    form.extend(change);
    Ok(given::from_value(Value::Object(form))?)
}

/// Ends what is running of an entry now. A plan goes on with its next occurrence.
#[utoipa::path(post, path = "/maintenance/{id}/end", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Maintenance)))]
async fn end_maintenance(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Response> {
    let now = whole_millis(state.clock.now());
    let mut tx = state.pool.begin().await?;
    let old = locked(&mut tx, id, now).await?;
    let ended = store::maintenance::end(&mut tx, id, now).await?;
    if ended.is_empty() {
        let message = match (Phase::read(&old.phase), &old.recurrence) {
            (_, Some(_)) => "No occurrence of this plan is running.",
            (Phase::Planned, None) => "This window has not begun; delete it.",
            _ => "This window is over already.",
        };
        return Err(ApiError::in_use(message));
    }
    for window in ended {
        maintenance_occurrences::end(&mut tx, window, now).await?;
    }
    // What it kept silent may have to be told, two intervals from now.
    store::live::wake_troubled(&mut tx, now, MonitorStateCode::Up.code()).await?;
    let row = find(&mut tx, id, now).await?;
    let shown = one(&mut tx, row, now).await?;
    audit(&mut tx, "end", &caller.name, &shown, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, shown))
}

/// Deletes a window that has not begun (409 once it has: end it instead), or a plan of which nothing runs: what
/// has begun of it stays.
#[utoipa::path(delete, path = "/maintenance/{id}", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_maintenance(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = whole_millis(state.clock.now());
    let mut tx = state.pool.begin().await?;
    let row = locked(&mut tx, id, now).await?;
    if_match(&headers, row.revision)?;
    if row.recurrence.is_some() {
        if row.phase == Phase::Running.word() {
            return Err(ApiError::in_use("An occurrence of this plan is running: end it first."));
        }
        maintenance_plans::delete(&mut tx, id, now).await?;
    } else if !store::maintenance::delete_planned(&mut tx, id, now).await? {
        return Err(ApiError::in_use(
            "This window has begun: what it covers stays covered. End it instead.",
        ));
    }
    let shown = one(&mut tx, row, now).await?;
    audit(&mut tx, "delete", &caller.name, &shown, now).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An entry under its lock, with everything begun that is due, so that a change is about the future alone.
pub async fn locked(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> ApiResult<EntryRow> {
    if maintenance_plans::lock(conn, id).await? {
        maintenance_plans::advance(conn, id, now, AT_ONCE).await?;
    } else if store::maintenance::lock(conn, id).await? {
        maintenance_occurrences::begin_one(conn, id, now).await?;
    }
    find(conn, id, now).await
}

pub async fn find(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> ApiResult<EntryRow> {
    let filter = Filter {
        now,
        id: Some(id),
        phase: None,
        monitor: None,
        fleet: None,
        before: None,
        limit: 1,
    };
    let row = store::maintenance_entries::list(conn, &filter).await?.pop();
    row.ok_or(ApiError::NotFound("window"))
}

pub async fn one(conn: &mut PgConnection, row: EntryRow, now: Timestamp) -> ApiResult<Maintenance> {
    let shown = maintenance_shown::entries(conn, vec![row], now, DAYS).await?.pop();
    shown.ok_or(ApiError::NotFound("window"))
}

async fn audit(
    conn: &mut PgConnection,
    action: &str,
    actor: &str,
    shown: &Maintenance,
    now: Timestamp,
) -> ApiResult<()> {
    let mut detail = serde_json::to_value(shown).map_err(anyhow::Error::from)?;
    if let Some(fields) = detail.as_object_mut() {
        for told_elsewhere in ["id", "next", "declared_at", "declared_by"] {
            fields.remove(told_elsewhere);
        }
    }
    let action = format!("maintenance.{action}");
    Ok(store::audit::add(conn, now, actor, &action, &subject(shown.id), &detail).await?)
}

pub fn subject(id: Uuid) -> String {
    format!("maintenance:{id}")
}

pub fn answer(status: StatusCode, shown: Maintenance) -> Response {
    (status, [(header::ETAG, etag(shown.revision))], Json(shown)).into_response()
}

/// Windows are compared in the decision core's milliseconds.
pub fn whole_millis(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}
