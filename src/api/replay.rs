//! A monitor's past under another policy: what it would have opened, beside what really happened.

use std::collections::HashSet;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Editor,
    error::{ApiError, ApiResult},
    heartbeat_form::probed,
    monitor_state, monitor_time, odds,
    replay_shown::{LaneKey, Replay, ReplayLane, shown},
    request::{At, Json, Path},
    view::{Surroundings, instant},
};
use crate::{
    domain::{
        decision::{
            Seat, Standing, State as StateOf,
            replay::{self, Course, Scene, Told, Withheld, caveats},
        },
        ids::MonitorKey,
        maintenance::{Switches, Window},
        monitor::{Interval, Policy, PolicySpec, QuorumMode, QuorumSpec, Timeout},
    },
    store::{self, monitors::MonitorRow},
};

/// The longest span.
const LONGEST: SignedDuration = SignedDuration::from_hours(31 * 24);
/// The most results that one replay takes.
const MOST: i64 = 500_000;

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(replay_monitor))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayOf {
    /// 24 hours before `to` unless given.
    pub from: Option<At>,
    /// Now unless given; at most 31 days after `from`.
    pub to: Option<At>,
    /// The policy to try, as a monitor's; the present one unless given.
    pub policy: Option<PolicySpec>,
    /// What else would be different with the policy that is tried.
    #[serde(default)]
    pub overrides: Overrides,
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// Whether locations were kept from voting as they were then.
    #[serde(default)]
    pub quarantine: Treatment,
    /// Ids or names of locations that are left out, as if they were not configured.
    #[serde(default)]
    pub exclude_locations: Vec<String>,
    /// Whether maintenance keeps alerts silent as it did then.
    #[serde(default)]
    pub maintenance: Treatment,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    #[default]
    AsItWas,
    /// As if there had been none.
    Ignored,
}

/// What a span's decisions were made from, read once for all policies.
struct Past {
    monitor: MonitorRow,
    present: PolicySpec,
    scene: Scene,
    told: Vec<Told>,
    from: Timestamp,
    to: Timestamp,
    /// The span does not begin where it was asked to, because nothing is kept from then.
    cut: bool,
}

/// Runs a monitor's stored results once more through the rules: under the present policy, the one that is
/// tried, and "any one location", beside what really happened. Attempts stay those that were made; `caveats`
/// says what that means here. Rate-limited by caller.
#[utoipa::path(post, path = "/monitors/{id}/replay", tag = "monitor", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = ReplayOf, responses((status = 200, body = Replay)))]
async fn replay_monitor(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    Json(body): Json<ReplayOf>,
) -> ApiResult<Json<Replay>> {
    let now = state.clock.now();
    let (from, to) = monitor_time::span(body.from, body.to.map(|at| At(at.0.min(now))), now)?;
    if to.duration_since(from) > LONGEST {
        return Err(ApiError::invalid(
            "from",
            "is more than 31 days before to; a replay takes 31 days at most",
        ));
    }
    let turn = state.limits.replay(caller.key()).await?;
    let mut conn = state.pool.acquire().await?;
    let key = monitor_state::key(&mut conn, id).await?;
    let around = Surroundings::read(&mut conn, now).await?;
    let past = read(&mut conn, key, &around, (from, to)).await?;
    let lanes = lanes(&past, &body, &around)?;
    let history = odds::history(&mut conn, Some(key), now).await?;
    let real = store::replay::incidents(&mut conn, key, past.from, past.to).await?;
    let ids: Vec<Uuid> = real.iter().map(|row| row.incident).collect();
    let events = store::replay::events(&mut conn, key, &ids).await?;
    drop(conn);
    let work = tokio::task::spawn_blocking(move || {
        let courses: Vec<Vec<Course>> = lanes.iter().map(|lane| lane.run(&past)).collect();
        (past, lanes, courses, turn)
    });
    let (past, lanes, courses, _turn) = work.await.map_err(anyhow::Error::from)?;
    let mut answer = shown(past.from, past.to, past.told.len(), real, events);
    for (lane, courses) in lanes.iter().zip(courses) {
        let keys: Vec<_> = lane.scene.seats.iter().map(|seat| seat.key).collect();
        let odds = odds::odds(&lane.policy, &keys, &history, &around);
        answer.add(ReplayLane::of(lane.key, lane.spec.clone(), odds, courses, past.from));
    }
    answer.compare(past.from.as_millisecond());
    answer.caveats = caveats_of(&past, &lanes, &body);
    Ok(Json(answer))
}

/// A policy to replay under.
struct Lane {
    key: LaneKey,
    spec: PolicySpec,
    policy: Policy,
    scene: Scene,
}

impl Lane {
    fn run(&self, past: &Past) -> Vec<Course> {
        let until = past.to.as_millisecond();
        let mut courses = replay::run(&self.policy, &self.scene, &past.told, until);
        let from = past.from.as_millisecond();
        courses.retain(|course| course.ended_at.is_none_or(|end| end > from));
        courses
    }
}

fn lanes(past: &Past, body: &ReplayOf, around: &Surroundings) -> ApiResult<Vec<Lane>> {
    let lane = |key, spec: &PolicySpec, scene: Scene| -> ApiResult<Lane> {
        let policy = resolve(&past.monitor, spec, scene.seats.len())?;
        Ok(Lane { key, spec: spec.clone(), policy, scene })
    };
    let any = PolicySpec {
        quorum: Some(QuorumSpec { mode: QuorumMode::Any, k: None, percent: None }),
        ..past.present.clone()
    };
    let tried = body.policy.as_ref().unwrap_or(&past.present);
    Ok(vec![
        lane(LaneKey::Present, &past.present, past.scene.clone())?,
        lane(LaneKey::Tried, tried, changed(&past.scene, &body.overrides, around)?)?,
        lane(LaneKey::AnyOne, &any, past.scene.clone())?,
    ])
}

/// The past with the overrides.
fn changed(scene: &Scene, overrides: &Overrides, around: &Surroundings) -> ApiResult<Scene> {
    let mut scene = scene.clone();
    for (i, word) in overrides.exclude_locations.iter().enumerate() {
        let named = |seat: &Seat| {
            let row = around.locations.get(&seat.key);
            row.is_some_and(|row| row.name == *word || row.uid.to_string() == *word)
        };
        let place = scene.seats.iter().position(named).ok_or_else(|| {
            let field = format!("overrides.exclude_locations[{i}]");
            ApiError::given(field, word, "is no location of this monitor, or is named twice")
        })?;
        scene.seats.remove(place);
    }
    if scene.seats.is_empty() {
        let why = "leaves no location that looks; keep at least one";
        return Err(ApiError::invalid("overrides.exclude_locations", why));
    }
    if overrides.quarantine == Treatment::Ignored {
        scene.withheld.clear();
    }
    if overrides.maintenance == Treatment::Ignored {
        scene.windows.clear();
    }
    Ok(scene)
}

fn resolve(monitor: &MonitorRow, spec: &PolicySpec, locations: usize) -> ApiResult<Policy> {
    let values = &monitor.values;
    let interval = Interval::from_secs(u32::try_from(values.interval_s).unwrap_or_default())?;
    let timeout = Timeout::from_secs(f64::from(values.timeout_ms) / 1_000.0)?;
    let slow = values.slow_ms.and_then(|ms| u32::try_from(ms).ok());
    Ok(spec.resolve(interval, timeout, slow, locations)?)
}

async fn read(
    conn: &mut PgConnection,
    key: MonitorKey,
    around: &Surroundings,
    (asked, to): (Timestamp, Timestamp),
) -> ApiResult<Past> {
    let monitor = store::monitors::get(conn, key).await?.ok_or(ApiError::NotFound("monitor"))?;
    probed(&monitor.values.check_spec)?;
    let present: PolicySpec =
        serde_json::from_value(monitor.values.policy.clone()).map_err(anyhow::Error::from)?;
    let oldest = store::reports::oldest(conn).await?.unwrap_or(to);
    let from = asked.max(oldest).max(monitor.created_at);
    if from >= to {
        return Err(ApiError::invalid(
            "to",
            format!("lies before the oldest single result that is kept, which is of {oldest:.0}"),
        ));
    }
    let policy = resolve(&monitor, &present, monitor.looks_from.len())?;
    let start = from.saturating_sub(SignedDuration::from_millis(replay::lead(&policy)));
    let start = start.unwrap_or(from);
    let told = store::replay::reports(conn, key, start, to, MOST).await?.ok_or_else(|| {
        let why = format!("begins a span with more than {MOST} results; choose a shorter one");
        ApiError::invalid("from", why)
    })?;
    let scene = scene(conn, key, around, &monitor, (start, to)).await?;
    Ok(Past { monitor, present, scene, told, from, to, cut: oldest > asked })
}

/// Everything beside the results.
async fn scene(
    conn: &mut PgConnection,
    key: MonitorKey,
    around: &Surroundings,
    monitor: &MonitorRow,
    (from, to): (Timestamp, Timestamp),
) -> ApiResult<Scene> {
    // Whether a location is believed is read for the time itself, below.
    let seats = monitor.looks_from.iter().filter_map(|key| around.locations.get(key));
    let seats = seats.map(|row| Seat {
        key: row.location,
        name: row.name.clone(),
        region: row.region.clone(),
        domain: row.domain.clone(),
        standing: if row.enabled { Standing::Counted } else { Standing::Disabled },
    });
    let windows = store::replay::windows(conn, key, from, to).await?;
    let windows = windows.into_iter().map(|row| Window {
        start: row.start_at.as_millisecond(),
        end: row.end_at.as_millisecond(),
        switches: Switches {
            suppress_alerts: row.suppress_alerts,
            pause_probes: row.pause_probes,
            ..Switches::default()
        },
    });
    let intervals = store::timeline::between(conn, key, from, to).await?;
    let paused = intervals.iter().filter(|one| one.state == StateOf::Paused.code());
    let end = to.as_millisecond();
    let pauses = paused
        .map(|one| (one.from_at.as_millisecond(), one.to_at.map_or(end, |at| at.as_millisecond())));
    let stops = store::chores::not_running(conn, from, to).await?;
    let stops: Vec<_> =
        stops.iter().map(|(from, to)| (from.as_millisecond(), to.as_millisecond())).collect();
    let mut withheld = Vec::new();
    for row in store::replay::withheld(conn, key, from, to).await? {
        let Some(standing) = standing_of(&row.standing) else { continue };
        let end = row.to_at.map_or(end, |at| at.as_millisecond());
        let from = row.from_at.as_millisecond();
        withheld.push(Withheld { location: row.location, from, to: end, standing });
    }
    let longest = store::chores::longest_stale_after(conn).await? * 1_000;
    Ok(Scene {
        seats: seats.collect(),
        windows: windows.collect(),
        pauses: pauses.collect(),
        stops: replay::stops(&stops, longest),
        withheld,
    })
}

/// Words of [`store::replay::withheld`].
fn standing_of(word: &str) -> Option<Standing> {
    match word {
        "believe" => Some(Standing::Counted),
        "distrust" => Some(Standing::Distrusted),
        "quarantined" => Some(Standing::Quarantined),
        "divergent" => Some(Standing::Divergent),
        _ => None,
    }
}

fn caveats_of(past: &Past, lanes: &[Lane], body: &ReplayOf) -> Vec<String> {
    let find = |key| lanes.iter().find(|lane| lane.key == key);
    let (Some(present), Some(tried)) = (find(LaneKey::Present), find(LaneKey::Tried)) else {
        return Vec::new();
    };
    let heard: HashSet<_> = past.told.iter().map(|told| told.location).collect();
    let begins = past.told.first().map_or(past.to, |told| instant(told.received));
    let known = caveats::Known {
        edited: past.monitor.updated_at > begins
            && past.monitor.updated_at < past.to
            && past.monitor.revision > 1,
        cut: past.cut,
        excluded: body.overrides.exclude_locations.len(),
        absent: past.scene.seats.iter().filter(|seat| !heard.contains(&seat.key)).count(),
    };
    caveats::of(&present.policy, &tried.policy, &past.told, known)
}
