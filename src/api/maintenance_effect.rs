//! What maintenance does to SLOs: the time that it leaves out of their windows, and so of their budgets.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    incidents::SloRef,
    maintenance::find,
    request::{At, Json, List, Path},
};
use crate::{
    domain::{
        Millis,
        slo::{
            definition::{Definition, MaintenancePolicy},
            window::{Bounds, DAY, Window},
        },
    },
    store::{
        self,
        maintenance_ahead::{self, Asked, OccurrenceRow},
        slo_inputs::instant,
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(maintenance_effect))
}

/// More SLOs than this are not looked at for one entry.
const MOST_SLOS: i64 = 50;
/// Occurrences of one entry in a window: more than hourly ones of a quarter.
const MOST: usize = 2_500;

/// What an entry does to one SLO by itself, as if nothing else were planned.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MaintenanceEffect {
    pub slo: SloRef,
    /// The window of the calendar that we are in, or as much time from now on as a rolling one holds.
    pub window_start: At,
    pub window_end: At,
    pub rolling: bool,
    pub window_ms: i64,
    /// Occurrences that touch the window.
    pub occurrences: usize,
    /// What they leave out of it, past and to come.
    pub left_out_ms: i64,
    /// The part of that which is still to come.
    pub to_come_ms: i64,
    /// Error budget of the whole window, and of what this leaves of it.
    pub budget_ms: i64,
    pub budget_left_ms: i64,
    /// The longest occurrence, were it counted and down all the time, as a share of the budget.
    pub longest_of_budget: f64,
}

/// What an entry does to each SLO of time that leaves maintenance out: nothing for those that count it.
#[utoipa::path(get, path = "/maintenance/{id}/effect", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = List<MaintenanceEffect>)))]
async fn maintenance_effect(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<List<MaintenanceEffect>>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let row = find(&mut conn, id, now).await?;
    let mut effects = Vec::new();
    if !row.terms.switches.exclude_from_slo || row.terms.scope.locations.is_some() {
        return Ok(Json(List::whole(effects)));
    }
    let slos = store::slos::leaving_out(&mut conn, row.covered.as_deref(), MOST_SLOS).await?;
    for slo in slos {
        let definition = store::slo_inputs::objective(&slo, now)?.definition;
        let Some(bounds) = window(&definition, now) else { continue };
        let asked = Asked {
            from: instant(bounds.start),
            to: instant(bounds.end),
            monitors: None,
            fleet: None,
            entry: Some(id),
            after: None,
            limit: MOST,
        };
        let occurrences = maintenance_ahead::list(&mut conn, &asked).await?;
        let slo = SloRef { id: slo.uid, name: slo.values.name };
        effects.push(effect(slo, &definition, bounds, &occurrences, now));
    }
    Ok(Json(List::whole(effects)))
}

/// None for an SLO that maintenance does nothing to.
fn window(definition: &Definition, now: Timestamp) -> Option<Bounds> {
    if !definition.sli.is_time() || definition.maintenance_policy != MaintenancePolicy::Exclude {
        return None;
    }
    let now = now.as_millisecond();
    match definition.window {
        Window::Rolling { days } => Some(Bounds { start: now, end: now + i64::from(days) * DAY }),
        _ => definition.window.bounds(now),
    }
}

fn effect(
    slo: SloRef,
    definition: &Definition,
    bounds: Bounds,
    occurrences: &[OccurrenceRow],
    now: Timestamp,
) -> MaintenanceEffect {
    let now = now.as_millisecond();
    let real = || occurrences.iter().filter(|o| !o.skipped);
    let within = |from: Millis| -> Millis {
        let span = |o: &OccurrenceRow| {
            let (start, end) = (o.start_at.as_millisecond(), o.end_at.as_millisecond());
            (end.min(bounds.end) - start.max(from)).max(0)
        };
        real().map(span).sum()
    };
    let left_out_ms = within(bounds.start);
    let lasts = |o: &OccurrenceRow| o.end_at.duration_since(o.start_at);
    let longest = real().map(lasts).max().unwrap_or(SignedDuration::ZERO).as_millis();
    let allowance = definition.target.allowance_ppb();
    let budget = |length: Millis| -> Millis {
        let product = i128::from(length) * i128::from(allowance) / 1_000_000_000;
        Millis::try_from(product).unwrap_or(Millis::MAX)
    };
    let budget_ms = budget(bounds.length());
    MaintenanceEffect {
        slo,
        window_start: At(instant(bounds.start)),
        window_end: At(instant(bounds.end)),
        rolling: definition.window.is_rolling(),
        window_ms: bounds.length(),
        occurrences: real().count(),
        left_out_ms,
        to_come_ms: within(bounds.start.max(now)),
        budget_ms,
        budget_left_ms: budget(bounds.length() - left_out_ms),
        longest_of_budget: longest as f64 / budget_ms.max(1) as f64,
    }
}
