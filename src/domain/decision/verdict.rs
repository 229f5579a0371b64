//! Who counts, and what the counted votes say together (spec: decision 5.3 and 5.4). It has no memory:
//! the same votes at the same time give the same verdict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::live::Live;
use super::scope::{self, Scope};
use super::vote::{Vote, VoteState};
use super::{Inputs, Seat, Standing};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::incident::Severity;
use crate::domain::monitor::{Policy, Quorum};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Raw {
    Up,
    DegradedSlow,
    DegradedIntermittent,
    Partial,
    /// Unanimous, but by too few or on too few networks to be sure.
    DownLow,
    Down,
    Undecided,
    /// Too few locations count for any answer.
    Insufficient,
}

impl Raw {
    pub fn name(self) -> &'static str {
        match self {
            Raw::Up => "up",
            Raw::DegradedSlow => "degraded_slow",
            Raw::DegradedIntermittent => "degraded_intermittent",
            Raw::Partial => "partial",
            Raw::DownLow => "down_low",
            Raw::Down => "down",
            Raw::Undecided => "undecided",
            Raw::Insufficient => "insufficient",
        }
    }

    /// The state it speaks for: none for up; `Err` when it speaks for no state.
    pub(super) fn severity(self) -> Result<Option<Severity>, Mute> {
        match self {
            Raw::Up => Ok(None),
            Raw::DegradedSlow | Raw::DegradedIntermittent => Ok(Some(Severity::Degraded)),
            Raw::Partial => Ok(Some(Severity::Partial)),
            Raw::Down | Raw::DownLow => Ok(Some(Severity::Down)),
            Raw::Undecided => Err(Mute::Undecided),
            Raw::Insufficient => Err(Mute::Insufficient),
        }
    }
}

/// A verdict that speaks for no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mute {
    Undecided,
    Insufficient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    /// One location alone is down.
    Local(LocationKey),
    /// Several are down, but all in one failure domain.
    DomainSuspect,
}

/// What the counted votes say, with every number it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub raw: Raw,
    /// Configured locations.
    pub n: usize,
    /// Votes that count.
    pub e: usize,
    /// Fewer than these decide nothing.
    pub emin: usize,
    pub q: usize,
    pub qu: usize,
    pub d: usize,
    pub u: usize,
    pub slow: usize,
    /// Failure domains and regions that must agree.
    pub nd: usize,
    pub nr: usize,
    /// Down votes that count, in configured order.
    pub down: Vec<LocationKey>,
    pub flag: Option<Flag>,
    pub scope: Option<Scope>,
    /// More locations are impaired than may be set aside.
    pub in_doubt: bool,
}

/// A seat whose vote counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) seat: &'a Seat,
    pub(super) vote: &'a Vote,
}

/// The votes that count now, in configured order.
pub(super) fn counted<'a>(
    live: &'a Live,
    inputs: &'a Inputs<'_>,
    now: Millis,
) -> impl Iterator<Item = Counted<'a>> + Clone {
    inputs.seats.iter().filter(|seat| seat.standing == Standing::Counted).filter_map(move |seat| {
        let vote = live.vote(seat.key)?;
        (vote.state != VoteState::None
            && now <= vote.fresh_until(inputs.policy.stale_after, inputs.grace_until))
        .then_some(Counted { seat, vote })
    })
}

/// The verdict at `now`.
pub fn judge(live: &Live, inputs: &Inputs<'_>, now: Millis) -> Verdict {
    let policy = inputs.policy;
    let n = inputs.seats.len();
    let (mut e, mut u, mut slow) = (0, 0, 0);
    let mut down = Vec::new();
    for Counted { seat, vote } in counted(live, inputs, now) {
        e += 1;
        match vote.state {
            VoteState::Down => down.push(seat.key),
            VoteState::Up => u += 1,
            VoteState::Slow => (u, slow) = (u + 1, slow + 1),
            VoteState::None | VoteState::Suspect | VoteState::Recovering => {}
        }
    }
    let d = down.len();
    let (q, qu) = quorum(policy, n, e);
    let mut verdict = Verdict {
        raw: Raw::Undecided,
        n,
        e,
        emin: emin(n),
        q,
        qu,
        d,
        u,
        slow,
        nd: 0,
        nr: 0,
        down,
        flag: None,
        scope: None,
        in_doubt: inputs.over_cap,
    };
    let any = policy.quorum == Quorum::Any;
    verdict.nd =
        if any { 1 } else { distinct(inputs.seats.iter().map(|s| &*s.domain), policy.min_domains) };
    verdict.nr = if any {
        1
    } else {
        distinct(counted(live, inputs, now).map(|c| &*c.seat.region), policy.min_regions)
    };
    verdict.raw = raw(&verdict, live, inputs, now);
    verdict.flag = flag(&verdict);
    if d > 0 {
        verdict.scope = Some(scope::of(live, inputs, now));
    }
    verdict
}

/// Fewer eligible votes than this decide nothing.
pub fn emin(n: usize) -> usize {
    n.min((n / 2 + 1).max(2))
}

/// `(Q, Qu)`: how many must agree that it is down, and how many that it is up.
pub fn quorum(policy: &Policy, n: usize, e: usize) -> (usize, usize) {
    let q = match policy.quorum {
        Quorum::Majority => {
            let q = (policy.min_agree as usize).min(n).max(e / 2 + 1);
            return (q, q);
        }
        Quorum::Any => 1,
        Quorum::All => e.max(1),
        Quorum::AtLeast(k) => (k as usize).min(e).max(1),
        Quorum::Percent(percent) => (percent as usize * e).div_ceil(100).max(1),
    };
    (q, (e + 1).saturating_sub(q))
}

fn raw(v: &Verdict, live: &Live, inputs: &Inputs<'_>, now: Millis) -> Raw {
    let unanimous = v.e >= 2 && v.d == v.e;
    let spread = v.d > 0 && down_labels(v, inputs.seats, |seat| &seat.domain) >= v.nd;
    if v.n == 0 {
        return Raw::Insufficient;
    }
    if v.e < v.emin {
        return if unanimous && spread { Raw::DownLow } else { Raw::Insufficient };
    }
    if spread && v.d >= v.q {
        return if down_labels(v, inputs.seats, |seat| &seat.region) >= v.nr {
            Raw::Down
        } else {
            Raw::Partial
        };
    }
    if spread && v.d >= inputs.policy.partial_min as usize {
        return Raw::Partial;
    }
    if unanimous {
        return Raw::DownLow;
    }
    if v.u >= v.qu {
        return if v.slow >= v.qu {
            Raw::DegradedSlow
        } else if intermittent(v, live, inputs, now) {
            Raw::DegradedIntermittent
        } else {
            Raw::Up
        };
    }
    Raw::Undecided
}

fn flag(v: &Verdict) -> Option<Flag> {
    match (v.raw, v.down.as_slice()) {
        (Raw::Up, [one]) => Some(Flag::Local(*one)),
        (Raw::Up, [_, _, ..]) => Some(Flag::DomainSuspect),
        (Raw::Undecided, [_, ..]) if v.d >= v.q => Some(Flag::DomainSuspect),
        _ => None,
    }
}

/// Different labels among these, at most `limit`: more is never asked for.
fn distinct<'a>(labels: impl Iterator<Item = &'a str>, limit: u32) -> usize {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let limit = limit as usize;
    for label in labels {
        if seen.len() >= limit {
            break;
        }
        seen.insert(label);
    }
    seen.len().min(limit)
}

fn down_labels(v: &Verdict, seats: &[Seat], label: impl Fn(&Seat) -> &str) -> usize {
    let labels: BTreeSet<&str> =
        seats.iter().filter(|seat| v.down.contains(&seat.key)).map(label).collect();
    labels.len()
}

/// How far back the intermittent rule looks with so many eligible votes.
pub(super) fn intermittent_window(interval: Millis, e: usize) -> Millis {
    (20 * interval / e.max(1) as Millis).max(15 * 60_000)
}

/// Whether it could hold at all now or later without a new fail: it needs 4 short fails (20 % of 20) at
/// `qu` locations. Nearly always this says no, and nothing else is looked at.
pub(super) fn may_be_intermittent(
    v: &Verdict,
    live: &Live,
    inputs: &Inputs<'_>,
    now: Millis,
) -> bool {
    let (mut fails, mut locations) = (0, 0);
    for c in counted(live, inputs, now) {
        let short = c.vote.history.short_fails();
        fails += short;
        locations += usize::from(short > 0);
    }
    fails >= 4 && locations >= v.qu
}

fn intermittent(v: &Verdict, live: &Live, inputs: &Inputs<'_>, now: Millis) -> bool {
    if !may_be_intermittent(v, live, inputs, now) {
        return false;
    }
    let window = intermittent_window(inputs.policy.interval, v.e);
    let (mut all, mut fails, mut locations) = (0_usize, 0_usize, 0_usize);
    for c in counted(live, inputs, now) {
        let mut here = 0;
        for (at, short) in observations(c.vote) {
            if now - at > window {
                break;
            }
            all += 1;
            here += usize::from(short);
        }
        fails += here;
        locations += usize::from(here > 0);
    }
    all >= 20 && fails * 5 >= all && locations >= v.qu
}

/// `(time, short fail)` of a vote's history, from new to old, to the second.
pub(super) fn observations(vote: &Vote) -> impl Iterator<Item = (Millis, bool)> + '_ {
    let newest = vote.counted.div_euclid(1000);
    vote.history.backwards().map(move |(age, short)| ((newest - age) * 1000, short))
}
