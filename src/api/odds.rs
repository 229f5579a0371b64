//! What a policy costs and gives, before it is saved.

use std::collections::{BTreeSet, HashMap};

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    monitor_form, monitor_state,
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
    store,
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

/// Attempts and failures while the target was up, by location.
type History = HashMap<LocationKey, (u64, u64)>;

/// What 30 days of this monitor, or of all of them, tell about each location. A failure counts as the
/// location's own when hardly anybody else failed in the same quarter hour.
async fn history(
    conn: &mut PgConnection,
    monitor: Option<MonitorKey>,
    now: Timestamp,
) -> ApiResult<History> {
    let since = now.saturating_sub(SignedDuration::from_hours(30 * 24)).unwrap_or(Timestamp::MIN);
    let rows = store::odds_read::attempts(conn, monitor, since).await?;
    let count = |n: i64| u64::try_from(n).unwrap_or_default();
    Ok(rows
        .into_iter()
        .map(|(key, attempts, fails)| (key, (count(attempts), count(fails))))
        .collect())
}

fn odds(
    policy: &Policy,
    locations: &[LocationKey],
    history: &History,
    around: &Surroundings,
) -> Odds {
    let n = locations.len();
    let risks: Vec<Risk> = locations
        .iter()
        .map(|key| {
            let (attempts, fails) = history.get(key).copied().unwrap_or_default();
            Risk { fails: Term::fails(fails, attempts), ..Risk::default() }
        })
        .collect();
    let alerts = odds::false_alerts(policy, &risks, Term::assumed(odds::PRIOR_SHARED));
    let delays = Delays::default();
    let detect = |waves| odds::detection(policy, n, n, policy.timeout, delays, waves);
    let secs = |millis: i64| millis as f64 / 1_000.0;
    let term = |location: Option<Uuid>, name: String, term: Term| OddsTerm {
        location,
        name,
        value: term.value,
        source: match term.source {
            Source::Measured => "measured",
            Source::Assumed => "assumed",
        }
        .to_owned(),
    };
    let mut terms = Vec::new();
    for (key, risk) in locations.iter().zip(&risks) {
        let Some(row) = around.locations.get(key) else { continue };
        terms.push(term(
            Some(row.uid),
            format!("{}: one attempt fails though the target is up", row.name),
            risk.fails,
        ));
    }
    if let Some(risk) = risks.first() {
        terms.push(term(None, "a retry fails too".into(), risk.retry_fails));
    }
    terms.push(term(
        None,
        "such failures that hit another network at the same time".into(),
        alerts.shared_share,
    ));
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
