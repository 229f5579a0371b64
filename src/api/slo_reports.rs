//! How good an SLO was: the report on a window, the same over time, and what was frozen.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    request::{At, Json, List, Path, Query},
    slos::find,
};
use crate::{
    domain::slo::{
        asked::Asked,
        budget,
        definition::{Definition, UnknownPolicy},
        evaluate::{Inputs, evaluate},
        report::Report,
        window::{self, zone},
    },
    store::{
        self,
        slo_inputs::{self, View},
        slo_reports::{RevisionRow, Which},
        slos::SloRow,
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_slo_report))
        .routes(routes!(get_slo_history))
        .routes(routes!(list_slo_reports))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WhichReport {
    /// `current` (the usual), `previous`, or `FROM..TO` in instants or in civil dates of the SLO's zone.
    pub window: Option<String>,
    /// With today's data, up to here.
    pub as_of: Option<At>,
    /// As it was frozen; only of a window that is over.
    pub revision: Option<i32>,
}

/// The report on one window: worked out from what is stored, or, with `revision`, as it was frozen.
#[utoipa::path(get, path = "/slos/{id}/report", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), WhichReport), responses((status = 200, body = Report)))]
async fn get_slo_report(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(which): Query<WhichReport>,
) -> ApiResult<Json<Value>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let slo = even_deleted(&mut conn, id).await?;
    let objective = slo_inputs::objective(&slo, now)?;
    let view = View {
        asked: asked(which.window.as_deref(), &objective.definition)?,
        as_of: which.as_of.map(|at| at.0.as_millisecond()),
        ..View::current(now)
    };
    if let Some(revision) = which.revision {
        let row = frozen(&mut conn, &slo, &objective.definition, view, revision).await?;
        return Ok(Json(row.report));
    }
    let read = slo_inputs::of(&mut conn, &slo, &objective, view).await?;
    let report = read.and_then(|(definition, inputs)| evaluate(&definition, &inputs));
    let report = report.ok_or_else(beyond)?;
    Ok(Json(serde_json::to_value(report).map_err(|e| ApiError::Internal(e.into()))?))
}

/// The report on a window as it was frozen.
pub(super) async fn frozen(
    conn: &mut PgConnection,
    slo: &SloRow,
    definition: &Definition,
    view: View,
    revision: i32,
) -> ApiResult<RevisionRow> {
    let now = view.as_of.unwrap_or_else(|| view.now.as_millisecond());
    let (definition, watermark) = view.asked.of(definition, now).ok_or_else(beyond)?;
    let bounds = definition.window.bounds(watermark).ok_or_else(beyond)?;
    let which = Which {
        window_start: Some(slo_inputs::instant(bounds.start)),
        revision: Some(revision),
        limit: 1,
    };
    let row = store::slo_reports::list(conn, slo.key, which).await?.pop();
    row.ok_or(ApiError::NotFound("revision of the report on this window"))
}

pub(super) fn beyond() -> ApiError {
    ApiError::invalid("window", "lies beyond the calendar")
}

pub(super) fn asked(window: Option<&str>, definition: &Definition) -> ApiResult<Asked> {
    match window {
        None => Ok(Asked::Current),
        Some(text) => Ok(Asked::parse(text, &zone(&definition.timezone)?)?),
    }
}

pub(super) async fn even_deleted(conn: &mut PgConnection, id: Uuid) -> ApiResult<SloRow> {
    store::slos::get_even_deleted(conn, id).await?.ok_or(ApiError::NotFound("SLO"))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SloSpan {
    /// `1d` (the usual; ends of civil days), `6h` or `1h`.
    pub step: Option<String>,
    /// The beginning of the present window unless given.
    pub from: Option<At>,
    /// Up to where figures are told unless given.
    pub to: Option<At>,
}

/// How an SLO stood at one instant after another, each time for the window as it stood then.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloHistory {
    pub step: &'static str,
    /// Of `budget_left`: `ms events`
    pub unit: &'static str,
    pub points: Vec<SloPoint>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloPoint {
    pub at: At,
    pub state: budget::State,
    pub ratio: Option<f64>,
    pub pct: Option<String>,
    pub coverage: Option<f64>,
    pub consumed_ratio: Option<f64>,
    pub remaining_ratio: Option<f64>,
    pub budget_left: Option<i64>,
    /// The same if all unknown time had been down; only where that makes a difference.
    pub budget_left_worst: Option<i64>,
    pub down_ms: i64,
}

/// Points that are worked out in one answer.
const MOST_POINTS: usize = 400;

/// What is left of the budget over time.
#[utoipa::path(get, path = "/slos/{id}/history", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), SloSpan), responses((status = 200, body = SloHistory)))]
async fn get_slo_history(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(span): Query<SloSpan>,
) -> ApiResult<Json<SloHistory>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let slo = find(&mut conn, id, false).await?;
    let objective = slo_inputs::objective(&slo, now)?;
    let step = Step::parse(span.step.as_deref().unwrap_or("1d"))?;
    let present = now.as_millisecond();
    let to = span.to.map_or(present, |at| at.0.as_millisecond()).min(present);
    let window = objective.definition.window.bounds(to).ok_or_else(beyond)?;
    let from = span.from.map_or(window.start, |at| at.0.as_millisecond());
    if from >= to {
        return Err(ApiError::invalid("from", "must be before to"));
    }
    let ends = step.ends(&objective.definition.timezone, from, to)?;
    // Windows of the first points reach back before the one of the last.
    let first = ends.first().and_then(|at| objective.definition.window.bounds(*at));
    let before = first.map_or(0, |first| (window.start - first.start).max(0));
    let view = View { as_of: Some(to), before, at_points: true, brief: true, ..View::current(now) };
    let read = slo_inputs::of(&mut conn, &slo, &objective, view).await?;
    let (definition, mut inputs) = read.ok_or_else(beyond)?;
    drop(conn);
    let told = inputs.watermark;
    let points = ends.into_iter().filter_map(|at| point(&definition, &mut inputs, at.min(told)));
    Ok(Json(SloHistory {
        step: step.word(),
        unit: if definition.sli.is_time() { "ms" } else { "events" },
        points: points.collect(),
    }))
}

fn point(definition: &Definition, inputs: &mut Inputs, at: i64) -> Option<SloPoint> {
    (inputs.watermark, inputs.as_of) = (at, at);
    let report = evaluate(definition, inputs)?;
    let worst = match report.time_ms.unknown {
        unknown if unknown > 0 && definition.sli.is_time() => {
            let unknown_policy = UnknownPolicy::Down;
            let harsh = Definition { unknown_policy, ..definition.clone() };
            evaluate(&harsh, inputs).and_then(|report| report.budget.remaining_ms)
        }
        _ => None,
    };
    Some(SloPoint {
        at: At(slo_inputs::instant(at)),
        state: report.state,
        ratio: report.availability.ratio,
        pct: report.availability.pct,
        coverage: report.coverage.ratio,
        consumed_ratio: report.budget.consumed_ratio,
        remaining_ratio: report.budget.remaining_ratio,
        budget_left: report.budget.remaining_ms.or(report.budget.remaining),
        budget_left_worst: worst.filter(|worst| Some(*worst) != report.budget.remaining_ms),
        down_ms: report.time_ms.down,
    })
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Day,
    Hours(i64),
}

impl Step {
    fn parse(text: &str) -> ApiResult<Self> {
        match text {
            "1d" => Ok(Self::Day),
            "6h" => Ok(Self::Hours(6)),
            "1h" => Ok(Self::Hours(1)),
            other => Err(ApiError::given("step", other, "is no step; known are 1d, 6h, 1h")),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Day => "1d",
            Self::Hours(6) => "6h",
            Self::Hours(_) => "1h",
        }
    }

    /// The ends of steps within a span, and the end of the span.
    fn ends(self, timezone: &str, from: i64, to: i64) -> ApiResult<Vec<i64>> {
        let most = MOST_POINTS as i64;
        let length = match self {
            Self::Day => window::DAY,
            Self::Hours(hours) => hours * 3_600_000,
        };
        if (to - from) / length > most {
            let why = format!("is too fine for this span: at most {MOST_POINTS} points");
            return Err(ApiError::invalid("step", why));
        }
        Ok(match self {
            Self::Day => {
                window::days(&zone(timezone)?, from, to).iter().map(|day| day.to).collect()
            }
            Self::Hours(_) => {
                let first = from.div_euclid(length) + 1;
                let whole = (first..).map(|step| step * length).take_while(|at| *at < to);
                whole.chain([to]).collect()
            }
        })
    }
}

/// One revision of a frozen report.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloRevision {
    pub window_start: At,
    pub window_end: At,
    pub revision: i32,
    /// Over the canonical JSON of the report without `sha256` and `engine_version`.
    pub sha256: String,
    #[schema(value_type = Option<String>)]
    pub state: Value,
    #[schema(value_type = Option<String>)]
    pub pct: Value,
    #[schema(value_type = Option<bool>)]
    pub met: Value,
    pub definition_revision: i32,
    pub data_revision: i64,
    /// What differs from the revision before.
    #[schema(value_type = Vec<SloDifference>)]
    pub diff: Value,
    pub frozen_at: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloDifference {
    /// As a JSON pointer.
    pub path: String,
    pub before: Value,
    pub after: Value,
}

/// Reports that were frozen, 72 hours after the end of each window of the calendar and again whenever late data
/// or a correction changed them; the latest first.
#[utoipa::path(get, path = "/slos/{id}/reports", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = List<SloRevision>)))]
async fn list_slo_reports(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<List<SloRevision>>> {
    let mut conn = state.pool.acquire().await?;
    let slo = even_deleted(&mut conn, id).await?;
    let which = Which { limit: 500, ..Which::default() };
    let rows = store::slo_reports::list(&mut conn, slo.key, which).await?;
    Ok(Json(List::whole(rows.into_iter().map(SloRevision::from).collect())))
}

impl From<RevisionRow> for SloRevision {
    fn from(row: RevisionRow) -> Self {
        let of = |pointer| row.report.pointer(pointer).cloned().unwrap_or(Value::Null);
        Self {
            window_start: At(row.window_start),
            window_end: At(row.window_end),
            revision: row.revision,
            state: of("/state"),
            pct: of("/availability/pct"),
            met: of("/availability/met"),
            sha256: row.sha256,
            definition_revision: row.definition_revision,
            data_revision: row.data_revision,
            diff: row.diff,
            frozen_at: At(row.frozen_at),
        }
    }
}
