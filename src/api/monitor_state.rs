//! What state a monitor is in and why: the votes, the sentence, and every decision that led there.

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
    heartbeats::{HeartbeatState, state_of},
    monitors::{LocationRef, MonitorState, VoteWord},
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
    view::{Surroundings, View, instant},
};
use crate::{
    domain::{
        decision::{
            self, Flag,
            ballot::{Ballot, Uncounted},
            scope::{self, Attribute},
        },
        ids::MonitorKey,
        observation::{Class, Outcome},
    },
    store,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_monitor_state)).routes(routes!(list_decisions))
}

/// The state and everything it follows from.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StateReport {
    pub monitor: Uuid,
    /// The instant that ages are told at.
    pub now: At,
    pub state: MonitorState,
    pub since: At,
    /// Low confidence: down was entered with locations missing from the count.
    pub low: bool,
    pub evidence_stale: bool,
    pub flapping: bool,
    /// More locations are impaired than may be set aside, so nobody is.
    pub locations_in_doubt: bool,
    pub maintenance: Option<RunningMaintenance>,
    /// The open incident.
    pub incident: Option<Uuid>,
    /// Configured locations.
    pub n: u32,
    /// Votes that count.
    pub e: u32,
    /// Fewest votes that may count for a verdict.
    pub e_min: u32,
    /// How many must agree that it is down.
    pub q: u32,
    /// How many see it down.
    pub d: u32,
    /// `up degraded_slow degraded_intermittent partial down down_low undecided insufficient`
    pub verdict: String,
    /// `local:NAME`, `domain_suspect`
    pub flag: Option<String>,
    /// A change that has begun and must hold before it is made.
    pub hold: Option<Hold>,
    pub scope: Option<Scope>,
    /// One per configured location, in order.
    pub votes: Vec<Vote>,
    /// Of a heartbeat: how its job stands. Nobody votes on it, and the numbers are of the job alone.
    pub heartbeat: Option<HeartbeatState>,
    /// One sentence: what, how many of how many, how many are needed, what failing ones share.
    pub explanation: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RunningMaintenance {
    pub id: Uuid,
    pub name: String,
    pub end: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Hold {
    pub toward: MonitorState,
    pub since: At,
    pub until: At,
    /// The votes do not point there at the moment.
    pub paused: bool,
}

/// What the locations that see it down have in common.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Scope {
    /// `global region domain edge split`
    pub kind: String,
    /// `address`, `region`, `domain`, …; null when there is nothing to name.
    pub attribute: Option<String>,
    pub values: Vec<String>,
}

/// One row of the votes table.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Vote {
    pub location: LocationRef,
    pub vote: VoteWord,
    /// The run that is going on; null before the first result.
    pub run: Option<Run>,
    /// When the run began.
    pub since: Option<At>,
    /// Of the last result.
    pub outcome: Option<Outcome>,
    pub class: Option<Class>,
    /// What it saw, in a few words: `503`, `Connection refused`, `412 ms`.
    pub saw: String,
    pub latency_ms: Option<f64>,
    /// The address it reached.
    pub address: Option<String>,
    /// The address is one that only failing locations reached.
    pub address_shared_by_failing: bool,
    pub at: Option<At>,
    pub age_ms: Option<i64>,
    pub stale_after_s: f64,
    pub counts: bool,
    /// Why it does not count: `no_result stale disabled quarantined distrusted divergent`
    pub why_not: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Run {
    pub outcome: Outcome,
    pub count: u32,
    /// So many in a row change the vote.
    pub needed: u32,
    pub since: At,
}

/// A decision: a vote changed, and the state with it or not.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Decision {
    pub id: i64,
    pub at: At,
    pub rule: String,
    pub state: MonitorState,
    /// False: it was decided to stay.
    pub changed: bool,
    pub sentence: String,
    /// What it was decided from; enough to do it again.
    #[schema(value_type = Object)]
    pub inputs: serde_json::Value,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListDecisions {
    pub from: Option<At>,
    pub to: Option<At>,
    /// Only those that changed the state, or only those that did not.
    pub changed: Option<bool>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// The state, the votes and the sentence that explains it.
#[utoipa::path(get, path = "/monitors/{id}/state", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = StateReport)))]
async fn get_monitor_state(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<StateReport>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    let around = Surroundings::read(&mut conn, now).await?;
    let mut views = around.views(&mut conn, &[key.0]).await?;
    let view = views.remove(&key).ok_or(ApiError::NotFound("monitor"))?;
    let soon = now + SignedDuration::from_millis(1);
    let windows = store::maintenance_occurrences::covering(&mut conn, key.0, now, soon).await?;
    let maintenance = windows.into_iter().find(|row| row.start_at <= now && row.end_at > now);
    let maintenance = maintenance.map(|row| RunningMaintenance {
        id: row.id,
        name: row.name,
        end: At(row.end_at),
    });
    Ok(Json(report(id, &view, &around, maintenance)))
}

/// Every time a vote changed, the latest first: what was decided and why.
#[utoipa::path(get, path = "/monitors/{id}/decisions", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListDecisions), responses((status = 200, body = List<Decision>)))]
async fn list_decisions(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListDecisions>,
) -> ApiResult<Json<List<Decision>>> {
    let limit = page_limit(query.limit)?;
    let before: Option<(Timestamp, i64)> = read_cursor(query.cursor.as_deref())?;
    let from = query.from.map_or(Timestamp::UNIX_EPOCH, |at| at.0);
    let to = query.to.map_or(state.clock.now() + jiff::SignedDuration::from_secs(60), |at| at.0);
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    let rows = store::timeline_read::decisions(
        &mut conn,
        key,
        (from, to),
        query.changed,
        before,
        limit + 1,
    )
    .await?;
    Ok(Json(List::page(
        rows,
        limit,
        |row| (row.at, row.id),
        |row| Decision {
            id: row.id,
            at: At(row.at),
            rule: row.rule,
            state: MonitorState::from_code(row.state),
            changed: row.changed,
            sentence: row.sentence,
            inputs: row.inputs,
        },
    )))
}

/// Key of a monitor that is not deleted.
pub async fn key(conn: &mut PgConnection, id: Uuid) -> ApiResult<MonitorKey> {
    store::monitors::key(conn, id).await?.ok_or(ApiError::NotFound("monitor"))
}

fn report(
    id: Uuid,
    view: &View,
    around: &Surroundings,
    maintenance: Option<RunningMaintenance>,
) -> StateReport {
    let (live, inputs) = (&view.live, view.inputs(around));
    let now = inputs.now.max(live.folded_at);
    let verdict = view.settings.judge(live, &inputs, now);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let name = |key| around.locations.get(&key).map(|row| row.name.clone()).unwrap_or_default();
    let shared = scope::shared(live, &inputs, now);
    let address =
        shared.iter().find(|s| s.attribute == Attribute::Address).map(|s| s.value.as_str());
    let votes =
        view.ballots(around).into_iter().filter_map(|ballot| vote(ballot, view, around, address));
    StateReport {
        monitor: id,
        now: At(around.now),
        state: live.state.into(),
        since: At(instant(live.since)),
        low: live.low,
        evidence_stale: live.evidence_stale,
        flapping: live.flaps.flapping,
        locations_in_doubt: verdict.in_doubt,
        maintenance,
        incident: view.incident(),
        n: count(verdict.n),
        e: count(verdict.e),
        e_min: count(verdict.emin),
        q: count(verdict.q),
        d: count(verdict.d),
        verdict: verdict.raw.name().to_owned(),
        flag: verdict.flag.map(|flag| match flag {
            Flag::Local(key) => format!("local:{}", name(key)),
            Flag::DomainSuspect => "domain_suspect".to_owned(),
        }),
        hold: decision::hold(live, &inputs, &verdict).map(|hold| Hold {
            toward: hold.toward.into(),
            since: At(instant(hold.began)),
            until: At(instant(hold.due)),
            paused: live.timers.paused_since.is_some(),
        }),
        scope: verdict.scope.clone().map(Scope::from),
        votes: votes.collect(),
        heartbeat: state_of(view, &inputs),
        explanation: view.settings.sentence(live, &inputs, &verdict, now),
    }
}

fn vote(ballot: Ballot, view: &View, around: &Surroundings, shared: Option<&str>) -> Option<Vote> {
    let location = around.reference(ballot.location)?;
    let stored = view.live.vote(ballot.location).filter(|_| ballot.age.is_some());
    let policy = &view.settings.policy;
    let run = stored.and_then(|vote| {
        let (outcome, count, since, needed) = if vote.fails > 0 {
            (Outcome::Fail, vote.fails, vote.fails_since, policy.fail_after)
        } else {
            (Outcome::Pass, vote.passes, vote.passes_since, policy.pass_after)
        };
        Some(Run { outcome, count, needed, since: At(instant(since?)) })
    });
    let failing = matches!(ballot.vote, decision::VoteState::Down | decision::VoteState::Suspect);
    Some(Vote {
        location,
        vote: ballot.vote.into(),
        since: run.as_ref().map(|run| run.since),
        run,
        outcome: stored
            .map(|vote| if vote.saw.class.is_some() { Outcome::Fail } else { Outcome::Pass }),
        class: ballot.class,
        saw: ballot.saw,
        latency_ms: ballot.latency_ms.map(|ms| ms as f64),
        address_shared_by_failing: failing
            && shared.is_some()
            && shared == ballot.address.as_deref(),
        address: ballot.address,
        at: stored.map(|vote| At(instant(vote.last))),
        age_ms: ballot.age,
        stale_after_s: policy.stale_after as f64 / 1_000.0,
        counts: ballot.uncounted.is_none(),
        why_not: ballot.uncounted.map(|why| why_not(why).to_owned()),
    })
}

pub fn why_not(why: Uncounted) -> &'static str {
    match why {
        Uncounted::NoResult => "no_result",
        Uncounted::Stale => "stale",
        Uncounted::Disabled => "disabled",
        Uncounted::Quarantined => "quarantined",
        Uncounted::Distrusted => "distrusted",
        Uncounted::Divergent => "divergent",
    }
}

impl From<decision::Scope> for Scope {
    fn from(scope: decision::Scope) -> Self {
        let (kind, attribute, values) = match scope {
            decision::Scope::Global => ("global", None, Vec::new()),
            decision::Scope::Regions { regions } => ("region", Some("region"), regions),
            decision::Scope::Domain { domain } => ("domain", Some("domain"), vec![domain]),
            decision::Scope::Edge { attribute, value } => {
                ("edge", Some(word(attribute)), vec![value])
            }
            decision::Scope::Split => ("split", None, Vec::new()),
        };
        Self { kind: kind.to_owned(), attribute: attribute.map(str::to_owned), values }
    }
}

fn word(attribute: Attribute) -> &'static str {
    match attribute {
        Attribute::Address => "address",
        Attribute::Asn => "asn",
        Attribute::Pop => "pop",
        Attribute::Region => "region",
        Attribute::Domain => "domain",
    }
}
