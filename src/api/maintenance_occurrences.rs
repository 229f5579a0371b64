//! The times at which maintenance takes place: of a span, of a plan that is not saved yet, and one that is
//! left out.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    maintenance::{answer, covering, find, locked, one, subject, whole_millis},
    maintenance_shown::{self, Maintenance, MaintenanceOccurrence, NextOccurrence},
    monitors::if_match,
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::{
    domain::maintenance::plan::Plan,
    store::{
        self,
        maintenance_ahead::{self, Asked, OccurrenceRow},
        maintenance_plans,
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_occurrences))
        .routes(routes!(preview_maintenance))
        .routes(routes!(skip_occurrence))
}

/// The longest span that is listed.
const LONGEST: SignedDuration = SignedDuration::from_hours(400 * 24);
/// The span that is listed unless asked for.
const AHEAD: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How many times of a plan that is not saved are told.
const TOLD: usize = 5;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListOccurrences {
    /// Now unless given.
    pub from: Option<At>,
    /// 30 days after `from` unless given; at most 400.
    pub to: Option<At>,
    /// Those that cover this monitor.
    pub monitor: Option<Uuid>,
    /// Those that cover this fleet.
    pub fleet: Option<Uuid>,
    /// Those of this window or plan.
    pub maintenance: Option<Uuid>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Occurrences that touch `[from, to)`, of windows that come once and of plans, the earliest first.
#[utoipa::path(get, path = "/maintenance/occurrences", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(ListOccurrences), responses((status = 200, body = List<MaintenanceOccurrence>)))]
async fn list_occurrences(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListOccurrences>,
) -> ApiResult<Json<List<MaintenanceOccurrence>>> {
    let now = state.clock.now();
    let limit = page_limit(query.limit)?;
    let from = query.from.map_or(now, |at| at.0);
    let to = match query.to {
        Some(at) => at.0,
        None => from.checked_add(AHEAD).map_err(|_| ApiError::invalid("from", "is too late"))?,
    };
    if to <= from {
        return Err(ApiError::invalid("to", "must be after from"));
    }
    if to.duration_since(from) > LONGEST {
        return Err(ApiError::invalid("to", "is more than 400 days after from"));
    }
    let after: Option<(At, Uuid)> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let (monitor, fleet) = covering(&mut conn, query.monitor, query.fleet).await?;
    let monitors = monitor.map(|key| [key]);
    let asked = Asked {
        from,
        to,
        monitors: monitors.as_ref().map(|keys| keys.as_slice()),
        fleet,
        entry: query.maintenance,
        after: after.map(|(at, id)| (at.0, id)),
        limit: usize::try_from(limit + 1).unwrap_or(usize::MAX),
    };
    let rows = maintenance_ahead::list(&mut conn, &asked).await?;
    let place = |row: &OccurrenceRow| {
        let (at, id) = row.place();
        (At(at), id)
    };
    let page = List::page(rows, limit, place, |row| row);
    let items = maintenance_shown::occurrences(&mut conn, page.items, now).await?;
    Ok(Json(List { items, next: page.next }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PreviewMaintenance {
    pub cron: String,
    /// UTC unless given.
    pub timezone: Option<String>,
    pub duration_s: i64,
    pub until: Option<At>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MaintenancePreview {
    /// The next times: at most five.
    pub next: Vec<NextOccurrence>,
}

/// When a plan would come, before it is saved; refused as saving it would be.
#[utoipa::path(get, path = "/maintenance/preview", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(PreviewMaintenance), responses((status = 200, body = MaintenancePreview)))]
async fn preview_maintenance(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<PreviewMaintenance>,
) -> ApiResult<Json<MaintenancePreview>> {
    let now = whole_millis(state.clock.now());
    let timezone = query.timezone.as_deref().unwrap_or("UTC");
    let until = query.until.map(|at| whole_millis(at.0));
    let plan = Plan::parse(&query.cron, timezone, query.duration_s, until)?;
    plan.check(now)?;
    let next = plan.all(now).take(TOLD).map(NextOccurrence::from).collect();
    Ok(Json(MaintenancePreview { next }))
}

/// An occurrence that is to be left out, or no longer.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SkipOccurrence {
    /// When it would begin.
    pub start: At,
    /// True unless given; false takes the skip back.
    pub skip: Option<bool>,
}

/// Leaves one coming occurrence out of a plan, or takes that back.
#[utoipa::path(post, path = "/maintenance/{id}/skip", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = SkipOccurrence, responses((status = 200, body = Maintenance, headers(("etag" = String)))))]
async fn skip_occurrence(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(body): Json<SkipOccurrence>,
) -> ApiResult<Response> {
    let now = whole_millis(state.clock.now());
    let mut tx = state.pool.begin().await?;
    let row = locked(&mut tx, id, now).await?;
    if_match(&headers, row.revision)?;
    let start = body.start.0;
    let Some(plan) = row.plan()? else {
        return Err(ApiError::in_use("This window comes once: delete it instead."));
    };
    if start <= now {
        return Err(ApiError::invalid("start", "is not to come: end what is running instead"));
    }
    if !plan.comes_at(start) {
        return Err(ApiError::invalid("start", "is no time at which this plan comes"));
    }
    let skip = body.skip.unwrap_or(true);
    let mut skipped = row.skipped;
    skipped.retain(|at| *at != start);
    if skip {
        skipped.push(start);
    }
    maintenance_plans::skip(&mut tx, id, &skipped, now).await?;
    maintenance_plans::advance(&mut tx, id, now, 1).await?;
    let row = find(&mut tx, id, now).await?;
    let shown = one(&mut tx, row, now).await?;
    let action = if skip { "maintenance.skip" } else { "maintenance.unskip" };
    let detail = json!({ "name": shown.name, "start": body.start });
    store::audit::add(&mut tx, now, &caller.name, action, &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, shown))
}
