//! What a fleet's logs say over time. By instance: `fleet_instances`.

use std::collections::BTreeMap;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    fleet_now::{FindingBrief, FleetNow, FleetZone, Standing, zones},
    fleets::find,
    request::{At, Json, Path, Query},
};
use crate::{
    domain::fleet::{
        cell::Cell,
        platform::{self, Floor, Timing},
    },
    intake::{
        names::InstanceNames,
        sums::{self, Sum},
    },
    store::{self, fleet_findings::Filter, fleet_states::ReadyRow, fleets::FleetRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_fleet_health))
}

/// No answer has more steps than this.
const MOST_STEPS: i64 = 1_500;
const QUARTER_S: i64 = 900;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Stepped {
    /// An hour before `to` unless given.
    pub from: Option<At>,
    /// Now unless given.
    pub to: Option<At>,
    /// Seconds; a window unless given, and more where so fine is not kept any more or would be too many.
    pub step: Option<u32>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FleetHealth {
    pub from: At,
    pub to: At,
    /// What was answered, which may be coarser than what was asked for.
    pub step_s: i64,
    pub now: FleetNow,
    /// Every step of the span; those of which no line is here say so.
    pub series: Vec<FleetStep>,
    /// The ready count from each instant on; the first may lie before `from`.
    pub ready: Vec<ReadyStep>,
    pub transitions: Vec<FleetTransition>,
    /// Findings of the span, the latest first.
    pub findings: Vec<FindingBrief>,
    pub platform: Option<PlatformFacts>,
}

/// Sums of one step; null: no line of it is here, which is not the same as no requests.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FleetStep {
    pub at: At,
    /// Requests by clients, each once, and those that ended badly for them by the fleet's fault.
    pub requests: Option<u64>,
    pub failed: Option<u64>,
    /// Tries at instances, those that failed, and of these the ones that another try made good.
    pub attempts: Option<u64>,
    pub errors: Option<u64>,
    pub rescued: Option<u64>,
    /// Nobody could be chosen.
    pub empty: Option<u64>,
    pub redispatched: Option<u64>,
    pub p50_ms: Option<f64>,
    pub p90_ms: Option<f64>,
    pub judged: bool,
    /// Lines came after it was judged: the sums hold them, the findings do not.
    pub revised: bool,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReadyStep {
    pub at: At,
    /// Null: whoever told is silent from here on, so that it is not known.
    pub ready: Option<i32>,
    /// Instances beside these of which nobody tells any more.
    pub unknown: i32,
    pub low: Option<i32>,
    pub high: Option<i32>,
    pub expected: Option<i32>,
    /// `haproxy kubernetes alb_health envoy nginx_error caddy probes traffic`; with `traffic` it counts who
    /// is in rotation, which is not readiness.
    pub source: String,
    /// By zone, where instances have one.
    pub zones: Vec<FleetZone>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FleetTransition {
    pub at: At,
    pub instance: String,
    /// With `unknown` whoever told of it fell silent.
    /// `unknown starting ready in_rotation unready draining maintenance gone`
    pub state: String,
    pub source: String,
    pub reason: Option<String>,
    /// Done on purpose.
    pub planned: bool,
}

/// What the platform does by itself, as configured and as its vendor documents it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct PlatformFacts {
    pub kind: Option<String>,
    pub name: Option<String>,
    /// Out at the earliest, and if it hangs just after a check; back at the earliest.
    pub minimum_s: Option<f64>,
    pub worst_s: Option<f64>,
    pub return_s: Option<f64>,
    /// Below so many ready it ignores health and uses all; null: it never does.
    pub fails_open_below: Option<u32>,
    /// It does so now.
    pub fails_open_now: Option<bool>,
    pub all_unhealthy: Option<String>,
    /// What failing open would do, or why it does not come to that.
    pub fail_open: Option<String>,
}

/// Health over time. Where there is no data it says so.
#[utoipa::path(get, path = "/fleets/{id}/health", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), Stepped), responses((status = 200, body = FleetHealth)))]
async fn get_fleet_health(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<Stepped>,
) -> ApiResult<Json<FleetHealth>> {
    let now = state.clock.now();
    let (from, to) = span(query.from, query.to, now)?;
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let standing = Standing::read(&mut conn, &fleet, now).await?;
    let step_s = step(&fleet, &standing, query.step, from, to)?;
    let names = names(&mut conn, &fleet).await?;
    let from = sums::begin(from, step_s);
    let sums = sums::read(&mut conn, fleet.key, from, to, step_s, &names).await?;
    let ready = store::fleet_states::ready(&mut conn, fleet.key, from, to).await?;
    let transitions = store::fleet_states::transitions(&mut conn, fleet.key, from, to).await?;
    let during = Filter { during: Some((from, to)), limit: 200, ..Filter::default() };
    let findings = store::fleet_findings::list(&mut conn, fleet.key, &during).await?;
    let shown = standing.shown();
    Ok(Json(FleetHealth {
        from: At(from),
        to: At(to),
        step_s,
        platform: platform_facts(&fleet, &shown),
        now: shown,
        series: series(&sums, from, to, step_s),
        ready: ready_steps(ready, &standing, to),
        transitions: transitions
            .into_iter()
            .map(|row| FleetTransition {
                at: At(row.at),
                instance: row.instance,
                state: row.state,
                source: row.source,
                reason: row.reason,
                planned: row.planned,
            })
            .collect(),
        findings: findings.iter().map(FindingBrief::from).collect(),
    }))
}

/// What is stored. While the fleet's state of now is not known, nothing is known after the last window either.
fn ready_steps(rows: Vec<ReadyRow>, standing: &Standing, to: Timestamp) -> Vec<ReadyStep> {
    let step = |row: ReadyRow| ReadyStep {
        at: At(row.at),
        ready: row.ready,
        low: row.low,
        high: row.high,
        expected: row.expected,
        source: row.source,
        unknown: row.unknown,
        zones: zones(row.zones),
    };
    let mut steps: Vec<ReadyStep> = rows.into_iter().map(step).collect();
    if let (false, Some(last), Some(judged)) =
        (standing.is_known(), steps.last(), standing.judged_until)
        && let Some(ready) = last.ready
        && judged.max(last.at.0) < to
    {
        let zones = last.zones.iter().cloned().map(FleetZone::unknown).collect();
        steps.push(ReadyStep {
            at: At(judged.max(last.at.0)),
            ready: None,
            low: None,
            high: None,
            expected: last.expected,
            source: last.source.clone(),
            unknown: last.unknown + ready,
            zones,
        });
    }
    steps
}

pub async fn names(conn: &mut PgConnection, fleet: &FleetRow) -> ApiResult<InstanceNames> {
    let known = store::fleet_live::instances(conn, fleet.key).await?;
    Ok(InstanceNames::of(&fleet.config, &known))
}

pub fn span(from: Option<At>, to: Option<At>, now: Timestamp) -> ApiResult<(Timestamp, Timestamp)> {
    let to = to.map_or(now, |at| at.0);
    let hour = || to.saturating_sub(SignedDuration::from_hours(1)).unwrap_or(to);
    let from = from.map_or_else(hour, |at| at.0);
    if from >= to {
        return Err(ApiError::invalid("from", "must be before `to`"));
    }
    Ok((from, to))
}

/// How fine the answer is: as asked for, but no finer than what is kept and not too many steps.
fn step(
    fleet: &FleetRow,
    standing: &Standing,
    asked: Option<u32>,
    from: Timestamp,
    to: Timestamp,
) -> ApiResult<i64> {
    let window = i64::from(fleet.config.analysis.window_s);
    if asked == Some(0) {
        return Err(ApiError::invalid("step", "must be at least 1 second"));
    }
    // Windows are kept for 3 hours behind the judge.
    let kept = standing.judged_until.map(|at| at.as_second() - 3 * 3_600);
    let coarse = kept.is_some_and(|kept| from.as_second() < kept);
    let least = if coarse { QUARTER_S } else { window };
    let span = to.as_second() - from.as_second();
    let step = asked.map_or(least, i64::from).max(least).max(span / MOST_STEPS + 1);
    // Whole windows; above a quarter hour, whole quarter hours, so that no row lies across two steps.
    let grain = if step > QUARTER_S { QUARTER_S } else { least };
    Ok((step + grain - 1) / grain * grain)
}

fn series(
    sums: &BTreeMap<Timestamp, Sum>,
    from: Timestamp,
    to: Timestamp,
    step_s: i64,
) -> Vec<FleetStep> {
    let mut steps = Vec::new();
    let mut at = from;
    while at < to {
        steps.push(fleet_step(at, sums.get(&at)));
        match at.checked_add(SignedDuration::from_secs(step_s)) {
            Ok(next) => at = next,
            Err(_) => break,
        }
    }
    steps
}

fn fleet_step(at: Timestamp, sum: Option<&Sum>) -> FleetStep {
    let all = sum.map(|sum| merged(sum.cells.values().flat_map(BTreeMap::values)));
    let of_pool = |f: fn(&crate::domain::fleet::cell::PoolCell) -> u64| sum.map(|sum| f(&sum.pool));
    let quantile = |q| all.as_ref().and_then(|all| millis(all.latency.quantile(q)));
    FleetStep {
        at: At(at),
        requests: of_pool(|p| p.requests),
        failed: of_pool(|p| p.failed),
        empty: of_pool(|p| p.empty),
        redispatched: of_pool(|p| p.redispatched),
        attempts: all.as_ref().map(|all| all.attempts),
        errors: all.as_ref().map(Cell::errors),
        rescued: all.as_ref().map(|all| all.rescued),
        p50_ms: quantile(0.5),
        p90_ms: quantile(0.9),
        judged: sum.is_some_and(|sum| sum.judged),
        revised: sum.is_some_and(|sum| sum.revised),
    }
}

pub fn merged<'a>(cells: impl Iterator<Item = &'a Cell>) -> Cell {
    let mut all = Cell::default();
    cells.for_each(|cell| all.merge(cell));
    all
}

fn platform_facts(fleet: &FleetRow, now: &FleetNow) -> Option<PlatformFacts> {
    let set = &fleet.config.analysis;
    let platform = set.platform.as_deref().and_then(platform::named);
    let timing = match platform {
        Some(platform) => Some(platform.timing(set.check.as_ref())),
        None => set.check.as_ref().map(Timing::of_check),
    }?;
    let share = fleet.config.floor.or_else(|| match platform?.floor? {
        Floor::None => Some(0.0),
        Floor::Share(share) => Some(share),
    });
    let expected = set.expected.or(now.expected.and_then(|n| u32::try_from(n).ok()));
    // At a share of nothing it opens when nobody is left.
    let below =
        share.map(|share| expected.map_or(1, |of| (share * f64::from(of)).ceil().max(1.0) as u32));
    Some(PlatformFacts {
        kind: platform.map(|p| p.kind.to_owned()),
        name: platform.map(|p| p.name.to_owned()),
        minimum_s: Some(timing.minimum_s),
        worst_s: Some(timing.worst_s),
        return_s: Some(timing.return_s),
        fails_open_below: below,
        fails_open_now: now
            .ready
            .zip(below)
            .map(|(ready, below)| u32::try_from(ready).is_ok_and(|ready| ready < below)),
        all_unhealthy: platform.map(|p| p.all_unhealthy.to_owned()),
        fail_open: platform.map(|p| p.fail_open.to_owned()),
    })
}

pub fn millis(us: Option<u32>) -> Option<f64> {
    us.map(|us| f64::from(us) / 1_000.0)
}
