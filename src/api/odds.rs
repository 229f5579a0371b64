//! What a policy costs and gives, before it is saved.

use std::collections::{BTreeSet, HashMap};

use axum::extract::State;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    heartbeat_form, monitor_form, monitor_state,
    monitors::Locations,
    request::{Json, Path},
    view::Surroundings,
};
use crate::{
    domain::{
        decision::odds::{self, Delays, Risk, Source, Term},
        ids::{LocationKey, MonitorKey},
        monitor::{Interval, LocationSelector, Policy, PolicySpec, Timeout},
    },
    store::{self, odds::AttemptsRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_monitor_odds)).routes(routes!(work_out_odds))
}

/// A policy that is not saved.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OddsOf {
    /// 60 unless given.
    pub interval_s: Option<u32>,
    /// 10 unless given.
    pub timeout_s: Option<f64>,
    pub slow_ms: Option<u32>,
    /// `"all"` unless given.
    #[schema(value_type = Option<Locations>)]
    pub locations: Option<serde_json::Value>,
    #[serde(default)]
    pub policy: PolicySpec,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Odds {
    /// Configured locations, and how many must agree when all count.
    pub n: u32,
    pub q: u32,
    /// From the first failing moment to the decision, at worst.
    pub detection_worst_s: f64,
    /// The same without asking other locations at once.
    pub detection_worst_without_wave_s: f64,
    /// Outages shorter than this never alert.
    pub shortest_outage_s: f64,
    /// From the end of the outage to the notice, at worst.
    pub recovery_worst_s: f64,
    /// About how many false alerts a month.
    pub false_alerts_per_month: f64,
    /// The same as people say it: `1 in 9.6 years`.
    pub false_alerts: String,
    /// What went into it.
    pub terms: Vec<OddsTerm>,
    /// What is worth knowing about it, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OddsTerm {
    /// Null for a term that belongs to no single location.
    pub location: Option<Uuid>,
    pub name: String,
    pub value: f64,
    /// `measured` or `assumed`
    pub source: String,
    /// How many attempts, or failures that were tried again, there have been in 30 days; null for what is never
    /// measured.
    pub counted: Option<u64>,
    /// How many it takes to be measured.
    pub needed: Option<u64>,
    /// Null while it is assumed.
    pub measured_on: Option<Measured>,
}

/// Whose attempts a term is measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measured {
    /// This monitor's own.
    Monitor,
    /// Those of all monitors that the location looks at.
    Location,
}

/// The odds of a monitor's policy as it is saved.
#[utoipa::path(get, path = "/monitors/{id}/odds", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Odds)))]
async fn get_monitor_odds(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<Odds>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let key = monitor_state::key(&mut conn, id).await?;
    let around = Surroundings::read(&mut conn, now).await?;
    let mut views = around.views(&mut conn, &[key.0]).await?;
    let view = views.remove(&key).ok_or(ApiError::NotFound("monitor"))?;
    if view.settings.plan.is_some() {
        return Err(heartbeat_form::not_probed());
    }
    let history = history(&mut conn, Some(key), now).await?;
    Ok(Json(odds(&view.settings.policy, &view.settings.locations, &history, &around)))
}

/// The odds of a policy that is not saved.
#[utoipa::path(post, path = "/odds", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    request_body = OddsOf, responses((status = 200, body = Odds)))]
async fn work_out_odds(
    State(state): State<AppState>,
    _viewer: Viewer,
    Json(body): Json<OddsOf>,
) -> ApiResult<Json<Odds>> {
    let now = state.clock.now();
    let interval = Interval::from_secs(body.interval_s.unwrap_or(60))?;
    let timeout = Timeout::from_secs(body.timeout_s.unwrap_or(10.0))?;
    let mut conn = state.pool.acquire().await?;
    let candidates = monitor_form::candidates(&store::locations::list(&mut conn).await?);
    let rule = LocationSelector::parse(body.locations.unwrap_or_else(|| "all".into()))?;
    let locations = rule.with_ids(&candidates)?.choose(&candidates);
    let policy = body.policy.resolve(interval, timeout, body.slow_ms, locations.len())?;
    let around = Surroundings::read(&mut conn, now).await?;
    let history = history(&mut conn, None, now).await?;
    Ok(Json(odds(&policy, &locations, &history, &around)))
}

/// What attempts of locations were like while the target was up: of one monitor, and of all.
#[derive(Debug, Default)]
pub(super) struct History {
    own: HashMap<LocationKey, AttemptsRow>,
    all: HashMap<LocationKey, AttemptsRow>,
}

/// What 30 days of this monitor, and of all of them, tell about each location.
pub(super) async fn history(
    conn: &mut PgConnection,
    monitor: Option<MonitorKey>,
    now: Timestamp,
) -> ApiResult<History> {
    let since = now.saturating_sub(SignedDuration::from_hours(30 * 24)).unwrap_or(Timestamp::MIN);
    let own = match monitor {
        Some(monitor) => store::odds::of_monitor(conn, monitor, since).await?,
        None => Vec::new(),
    };
    let all = store::odds::of_all(conn, since.to_zoned(TimeZone::UTC).date()).await?;
    let by_location = |rows: Vec<AttemptsRow>| rows.into_iter().map(|row| (row.location, row));
    Ok(History { own: by_location(own).collect(), all: by_location(all).collect() })
}

impl History {
    /// How a location fails: by what it did on this monitor if that is enough, else on all of them, else as
    /// assumed.
    fn risk(&self, location: LocationKey) -> (Risk, [Option<Measured>; 2]) {
        let count = |n: i64| u64::try_from(n).unwrap_or_default();
        let rows = [
            (Measured::Monitor, self.own.get(&location)),
            (Measured::Location, self.all.get(&location)),
        ];
        let term = |of: &dyn Fn(&AttemptsRow) -> Term, prior: f64| {
            let terms = rows.iter().filter_map(|(on, row)| Some((*on, of((*row)?))));
            let best = terms.clone().find(|(_, term)| term.source == Source::Measured);
            match best {
                Some((on, term)) => (term, Some(on)),
                // The larger count says how far it is from enough.
                None => (
                    terms
                        .map(|(_, term)| term)
                        .max_by_key(|term| term.counted)
                        .unwrap_or(Term { counted: Some(0), ..Term::assumed(prior) }),
                    None,
                ),
            }
        };
        let fails = |row: &AttemptsRow| Term::fails(count(row.fails), count(row.attempts));
        let again =
            |row: &AttemptsRow| Term::retry_fails(count(row.retried_fail), count(row.retried));
        let (fails, fails_on) = term(&fails, odds::PRIOR_FAILS);
        let (retry_fails, again_on) = term(&again, odds::PRIOR_RETRY_FAILS);
        (Risk { fails, retry_fails }, [fails_on, again_on])
    }
}

pub(super) fn odds(
    policy: &Policy,
    locations: &[LocationKey],
    history: &History,
    around: &Surroundings,
) -> Odds {
    let n = locations.len();
    let measured: Vec<(Risk, [Option<Measured>; 2])> =
        locations.iter().map(|key| history.risk(*key)).collect();
    let risks: Vec<Risk> = measured.iter().map(|(risk, _)| *risk).collect();
    let alerts = odds::false_alerts(policy, &risks, Term::assumed(odds::PRIOR_SHARED));
    let delays = Delays::default();
    let detect = |waves| odds::detection(policy, n, n, policy.timeout, delays, waves);
    let secs = |millis: i64| millis as f64 / 1_000.0;
    let mut terms = Vec::new();
    for (key, (risk, on)) in locations.iter().zip(&measured) {
        let Some(row) = around.locations.get(key) else { continue };
        let (place, name) = (Some(row.uid), &row.name);
        let once = format!("{name}: one attempt fails though the target is up");
        terms.push(term(place, once, risk.fails, on[0], odds::ENOUGH_ATTEMPTS));
        let again = format!("{name}: the retry fails too");
        terms.push(term(place, again, risk.retry_fails, on[1], odds::ENOUGH_RETRIES));
    }
    let shared = "such failures that hit another network at the same time".to_owned();
    terms.push(term(None, shared, alerts.shared_share, None, 0));
    Odds {
        n: u32::try_from(n).unwrap_or(u32::MAX),
        q: u32::try_from(alerts.quorum).unwrap_or(u32::MAX),
        detection_worst_s: secs(detect(true)),
        detection_worst_without_wave_s: secs(detect(false)),
        shortest_outage_s: secs(odds::never_seen(policy)),
        recovery_worst_s: secs(odds::recovery_notice(policy, n, delays)),
        false_alerts_per_month: alerts.per_month,
        false_alerts: odds::phrase(alerts.per_month),
        terms,
        notes: notes(policy, locations, around),
    }
}

fn term(
    location: Option<Uuid>,
    name: String,
    term: Term,
    measured_on: Option<Measured>,
    enough: u64,
) -> OddsTerm {
    OddsTerm {
        location,
        name,
        value: term.value,
        source: match term.source {
            Source::Measured => "measured",
            Source::Assumed => "assumed",
        }
        .to_owned(),
        counted: term.counted,
        needed: term.counted.map(|_| enough),
        measured_on,
    }
}

/// What is worth knowing about it.
fn notes(policy: &Policy, locations: &[LocationKey], around: &Surroundings) -> Vec<String> {
    let rows: Vec<_> = locations.iter().filter_map(|key| around.locations.get(key)).collect();
    let mut notes = Vec::new();
    match rows.len() {
        0 => notes.push("No location looks at it: nothing would ever be noticed.".to_owned()),
        1 => notes
            .push("One location alone cannot tell its own trouble from the target's.".to_owned()),
        2 => notes.push(
            "With two locations both must agree; when one is silent nothing is decided.".to_owned(),
        ),
        _ => {}
    }
    let domains: BTreeSet<&str> = rows.iter().map(|row| row.domain.as_str()).collect();
    if rows.len() > 1 && domains.len() < usize::try_from(policy.min_domains).unwrap_or(usize::MAX) {
        notes.push(format!(
            "The locations stand in {} failure domain{}; {} would have to agree.",
            domains.len(),
            if domains.len() == 1 { "" } else { "s" },
            policy.min_domains
        ));
    }
    let simulated = rows.iter().filter(|row| row.simulated).count();
    if simulated > 1 {
        notes.push(format!(
            "{simulated} of the locations are simulated on one machine: they fail together, whatever these numbers say."
        ));
    }
    notes
}
