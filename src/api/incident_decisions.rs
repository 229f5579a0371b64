//! An incident step by step: every decision from its first failing result to its end, with the votes, the
//! numbers and the timers as they were, and whether the stored inputs still come to the same verdict.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    incidents::find,
    monitor_state::{Hold, why_not},
    monitors::{MonitorState, VoteWord},
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
    view::instant,
};
use crate::{
    domain::{
        decision::{Verdict, ballot::Ballot, basis::Basis, heartbeat::Rests},
        notice::LocationLine,
        observation::Outcome,
    },
    store::{self, timeline_read::DecisionRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_incident_decisions))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListIncidentDecisions {
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// One decision of an incident.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DecisionStep {
    pub id: i64,
    pub at: At,
    pub rule: String,
    pub state: MonitorState,
    /// False: it was decided to stay.
    pub changed: bool,
    pub sentence: String,
    /// As in a trace: `opened:down`.
    pub events: Vec<String>,
    /// Votes that changed with it.
    pub turns: Vec<VoteTurn>,
    pub verdict: StepVerdict,
    /// One per configured location, fails first, uncounted last.
    pub votes: Vec<StepVote>,
    /// A change that had begun and had to hold before it was made.
    pub hold: Option<Hold>,
    pub again: Again,
}

#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct VoteTurn {
    pub location: String,
    pub from: String,
    pub to: String,
    /// Start of the attempt that did it.
    pub at: String,
}

/// The numbers of a verdict.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StepVerdict {
    /// `up degraded_slow degraded_intermittent partial down down_low undecided insufficient`
    pub raw: String,
    /// Configured locations.
    pub n: u32,
    /// Votes that count, and the fewest that may.
    pub e: u32,
    #[serde(rename(deserialize = "emin"))]
    pub e_min: u32,
    /// How many must agree that it is down.
    pub q: u32,
    /// How many see it down, and how many up.
    pub d: u32,
    pub u: u32,
    /// Networks and regions that must agree.
    pub min_domains: u32,
    pub min_regions: u32,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StepVote {
    pub location: String,
    pub region: String,
    pub domain: String,
    pub vote: VoteWord,
    /// Fails or passes in a row; null where that is not kept.
    pub run: Option<u32>,
    pub run_of: Option<Outcome>,
    /// How many in a row make the next step.
    pub needed: Option<u32>,
    pub saw: String,
    pub address: Option<String>,
    pub age_ms: Option<i64>,
    pub stale_after_s: Option<f64>,
    pub counts: bool,
    /// `no_result stale disabled quarantined distrusted divergent`, or words of an older decision.
    pub why_not: Option<String>,
}

/// Whether the stored inputs come to the stored verdict when it is taken again now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    Same,
    Differs,
    /// Its inputs are not all stored: it is from an older version, or by hand.
    NotKept,
}

/// The decisions of an incident, oldest first. One that is about no monitor has none.
#[utoipa::path(get, path = "/incidents/{id}/decisions", tag = "incidents", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListIncidentDecisions), responses((status = 200, body = List<DecisionStep>)))]
async fn list_incident_decisions(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListIncidentDecisions>,
) -> ApiResult<Json<List<DecisionStep>>> {
    let limit = page_limit(query.limit)?;
    let after: Option<(Timestamp, i64)> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let row = find(&mut conn, id).await?;
    // Decisions are stored at the tick that resolves; one more millisecond takes it in.
    let ahead = state.clock.now() + SignedDuration::from_secs(60);
    let end = row.resolved_at.map_or(ahead, |at| at + SignedDuration::from_millis(1));
    let span = (row.started_at, end);
    let rows =
        store::timeline_read::decisions_in_order(&mut conn, row.monitor, span, after, limit + 1)
            .await?;
    Ok(Json(List::page(rows, limit, |row| (row.at, row.id), step)))
}

fn step(row: DecisionRow) -> DecisionStep {
    let part = |name: &str| row.inputs.get(name).cloned().unwrap_or_default();
    let basis: Option<Basis> = serde_json::from_value(part("basis")).ok();
    let verdict: StepVerdict = serde_json::from_value(part("verdict")).unwrap_or_default();
    let rests: Option<Rests> = serde_json::from_value(part("rests")).ok();
    let judged = match (&basis, rests) {
        (Some(basis), _) => Some(basis.judge()),
        (None, rests) => rests.and_then(|rests| rests.judge()),
    };
    let again = match judged {
        None => Again::NotKept,
        Some(judged) if StepVerdict::from(&judged) == verdict => Again::Same,
        Some(_) => Again::Differs,
    };
    DecisionStep {
        id: row.id,
        at: At(row.at),
        rule: row.rule,
        state: MonitorState::from_code(row.state),
        changed: row.changed,
        sentence: row.sentence,
        events: serde_json::from_value(part("events")).unwrap_or_default(),
        turns: serde_json::from_value(part("changes")).unwrap_or_default(),
        verdict,
        votes: match &basis {
            Some(basis) => {
                basis.ballots().into_iter().filter_map(|ballot| vote(ballot, basis)).collect()
            }
            None => older_votes(part("votes")),
        },
        hold: basis.as_ref().and_then(|basis| {
            basis.hold().map(|hold| Hold {
                toward: hold.toward.into(),
                since: At(instant(hold.began)),
                until: At(instant(hold.due)),
                paused: basis.waits(),
            })
        }),
        again,
    }
}

fn vote(ballot: Ballot, basis: &Basis) -> Option<StepVote> {
    let seat = basis.seats().iter().find(|seat| seat.key == ballot.location)?;
    let word = VoteWord::from(ballot.vote);
    let run_of = match word {
        VoteWord::None => None,
        VoteWord::Suspect | VoteWord::Down => Some(Outcome::Fail),
        VoteWord::Up | VoteWord::Slow | VoteWord::Recovering => Some(Outcome::Pass),
    };
    Some(StepVote {
        location: seat.name.clone(),
        region: seat.region.clone(),
        domain: seat.domain.clone(),
        vote: word,
        run: Some(ballot.run),
        run_of,
        needed: ballot.needed,
        saw: ballot.saw,
        address: ballot.address,
        age_ms: ballot.age,
        stale_after_s: Some(basis.policy().stale_after as f64 / 1_000.0),
        counts: ballot.uncounted.is_none(),
        why_not: ballot.uncounted.map(|why| why_not(why).to_owned()),
    })
}

/// Votes of a decision that was stored without its basis.
fn older_votes(lines: Value) -> Vec<StepVote> {
    let lines: Vec<LocationLine> = serde_json::from_value(lines).unwrap_or_default();
    let word = |vote: &str| match vote {
        "up" => VoteWord::Up,
        "slow" => VoteWord::Slow,
        "suspect" => VoteWord::Suspect,
        "down" => VoteWord::Down,
        "recovering" => VoteWord::Recovering,
        _ => VoteWord::None,
    };
    let votes = lines.into_iter().map(|line| StepVote {
        vote: word(&line.vote),
        location: line.name,
        region: line.region,
        domain: line.domain,
        run: None,
        run_of: None,
        needed: None,
        saw: line.saw,
        address: line.address,
        age_ms: None,
        stale_after_s: None,
        counts: line.uncounted.is_none(),
        why_not: line.uncounted,
    });
    votes.collect()
}

impl From<&Verdict> for StepVerdict {
    fn from(v: &Verdict) -> Self {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            raw: v.raw.name().to_owned(),
            n: count(v.n),
            e: count(v.e),
            e_min: count(v.emin),
            q: count(v.q),
            d: count(v.d),
            u: count(v.u),
            min_domains: count(v.nd),
            min_regions: count(v.nr),
        }
    }
}
