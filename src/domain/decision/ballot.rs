//! The votes table of one monitor: a line per configured location, as pages, mails and stored decisions
//! show it.

use serde::{Deserialize, Serialize};

use super::{Inputs, Live, Standing, Vote, VoteState};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::observation::Class;

/// What one location says now, and whether it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ballot {
    pub location: LocationKey,
    pub vote: VoteState,
    /// Fails or passes in a row, whichever run is on.
    pub run: u32,
    /// How many in a row make the next step (down, or up again); none when the run needs no more.
    pub needed: Option<u32>,
    pub class: Option<Class>,
    pub status: Option<u16>,
    pub latency_ms: Option<Millis>,
    /// One plain phrase: `HTTP 503 in 38 ms`.
    pub saw: String,
    pub address: Option<String>,
    /// Milliseconds since the start of its last counted attempt.
    pub age: Option<Millis>,
    /// None when it counts.
    pub uncounted: Option<Uncounted>,
}

/// Why a vote does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Uncounted {
    /// It has not reported yet.
    NoResult,
    /// Its last result is too old.
    Stale,
    Disabled,
    Quarantined,
    Distrusted,
    Divergent,
}

impl Uncounted {
    /// A word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Uncounted::NoResult => "no result yet",
            Uncounted::Stale => "its last result is too old",
            Uncounted::Disabled => "switched off",
            Uncounted::Quarantined => "quarantined",
            Uncounted::Distrusted => "distrusted by hand",
            Uncounted::Divergent => "alone in seeing it down for a day",
        }
    }
}

/// One ballot per seat: fails first, then the rest, uncounted last; within each in configured order.
pub fn ballots(live: &Live, inputs: &Inputs<'_>) -> Vec<Ballot> {
    let now = inputs.now.max(live.folded_at);
    let mut all: Vec<Ballot> = inputs
        .seats
        .iter()
        .map(|seat| ballot(seat.key, seat.standing, live.vote(seat.key), inputs, now))
        .collect();
    all.sort_by_key(|ballot| match (ballot.uncounted, ballot.vote) {
        (Some(_), _) => 3,
        (None, VoteState::Down) => 0,
        (None, VoteState::Suspect) => 1,
        (None, _) => 2,
    });
    all
}

fn ballot(
    location: LocationKey,
    standing: Standing,
    vote: Option<&Vote>,
    inputs: &Inputs<'_>,
    now: Millis,
) -> Ballot {
    let vote = vote.filter(|vote| vote.state != VoteState::None);
    let fresh =
        |vote: &Vote| now <= vote.fresh_until(inputs.policy.stale_after, inputs.grace_until);
    let uncounted = match (standing, vote) {
        (Standing::Disabled, _) => Some(Uncounted::Disabled),
        (Standing::Quarantined, _) => Some(Uncounted::Quarantined),
        (Standing::Distrusted, _) => Some(Uncounted::Distrusted),
        (Standing::Divergent, _) => Some(Uncounted::Divergent),
        (Standing::Counted, None) => Some(Uncounted::NoResult),
        (Standing::Counted, Some(vote)) => (!fresh(vote)).then_some(Uncounted::Stale),
    };
    let Some(vote) = vote else {
        return Ballot {
            location,
            vote: VoteState::None,
            run: 0,
            needed: None,
            class: None,
            status: None,
            latency_ms: None,
            saw: String::new(),
            address: None,
            age: None,
            uncounted,
        };
    };
    let (run, needed) = match vote.state {
        VoteState::Suspect => (vote.fails, Some(inputs.policy.fail_after)),
        VoteState::Down => (vote.fails, None),
        VoteState::Recovering => (vote.passes, Some(inputs.policy.pass_after)),
        VoteState::Up | VoteState::Slow | VoteState::None => (vote.passes, None),
    };
    Ballot {
        location,
        vote: vote.state,
        run,
        needed,
        class: vote.saw.class,
        status: vote.saw.status,
        latency_ms: Some(vote.saw.latency),
        saw: saw(vote),
        address: vote.saw.address.clone(),
        age: Some((now - vote.last).max(0)),
        uncounted,
    }
}

/// What a location saw last, as a phrase without a full stop.
pub fn saw(vote: &Vote) -> String {
    let saw = &vote.saw;
    let took = format!("{}\u{a0}ms", thousands(saw.latency));
    match (saw.class, saw.status) {
        (Some(Class::Status), Some(status)) => format!("HTTP\u{a0}{status} in {took}"),
        (Some(Class::Assertion), Some(status)) => {
            format!("HTTP\u{a0}{status} in {took}, but a condition does not hold")
        }
        (Some(class), _) => lowercase_first(class.sentence().trim_end_matches('.')),
        (None, Some(status)) => format!("HTTP\u{a0}{status} in {took}"),
        (None, None) => format!("well in {took}"),
    }
}

fn thousands(value: Millis) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digit.is_ascii_digit() {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn lowercase_first(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + chars.as_str())
}
