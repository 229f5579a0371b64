//! Everything that is remembered of one monitor between two decisions, and its stored form. A hundred
//! thousand of these are read, folded and written a minute, so the form is short: defaults are left out,
//! times are distances, and a vote is an array.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::flap::Flaps;
use super::heartbeat::Calls;
use super::history::History;
use super::state::{State, Timer, Timers};
use super::vote::{Saw, Vote, VoteState};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::incident::{Incident, Past};
use crate::domain::observation::Class;

/// The default is a new monitor: pending, nothing known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// When it was last decided; time never goes back behind this.
    pub folded_at: Millis,
    pub state: State,
    /// When the present state began, back-dated to the evidence.
    pub since: Millis,
    /// The state before this one.
    pub before: State,
    /// Down was entered without a full quorum, and none has been seen since.
    pub low: bool,
    /// Down or partial, but too few votes are fresh: in every figure this time is unknown.
    pub evidence_stale: bool,
    pub timers: Timers,
    pub flaps: Flaps,
    pub incident: Option<Incident>,
    pub past: Option<Past>,
    /// When the others were last asked at once.
    pub waved_at: Option<Millis>,
    /// The only location that has been down, and since when it has been alone.
    pub alone: Option<(LocationKey, Millis)>,
    /// In order of location.
    pub votes: Vec<Vote>,
    /// Of a job that calls us, in place of votes.
    pub calls: Calls,
}

impl Live {
    pub fn vote(&self, location: LocationKey) -> Option<&Vote> {
        self.place(location).ok().and_then(|place| self.votes.get(place))
    }

    pub(super) fn place(&self, location: LocationKey) -> Result<usize, usize> {
        self.votes.binary_search_by_key(&location, |vote| vote.location)
    }
}

#[derive(Serialize, Deserialize)]
struct Wire<V, I, P> {
    #[serde(rename = "t")]
    folded_at: Millis,
    #[serde(rename = "s", default, skip_serializing_if = "is_default")]
    state: State,
    /// Before `t`.
    #[serde(rename = "d", default, skip_serializing_if = "is_default")]
    since: Millis,
    #[serde(rename = "b", default, skip_serializing_if = "is_default")]
    before: State,
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    low: bool,
    #[serde(rename = "e", default, skip_serializing_if = "is_default")]
    evidence_stale: bool,
    /// `[kind, began before t, paused, low]`; kinds 0 to 2 worse, 3 to 5 milder.
    #[serde(rename = "m", default, skip_serializing_if = "Vec::is_empty")]
    timers: Vec<(u8, Millis, Millis, u8)>,
    /// `[undecided, blind, split]` since, before `t`.
    #[serde(rename = "h", default, skip_serializing_if = "is_default")]
    halts: (Option<Millis>, Option<Millis>, Option<Millis>),
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Millis>,
    #[serde(rename = "f", default, skip_serializing_if = "is_default")]
    flapping: bool,
    #[serde(rename = "i", default = "Option::default", skip_serializing_if = "Option::is_none")]
    incident: Option<I>,
    #[serde(rename = "p", default = "Option::default", skip_serializing_if = "Option::is_none")]
    past: Option<P>,
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    waved_at: Option<Millis>,
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    alone: Option<(LocationKey, Millis)>,
    #[serde(rename = "v")]
    votes: Vec<V>,
    #[serde(rename = "k", default, skip_serializing_if = "is_default")]
    calls: Calls,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// `[location, state, last before t, version, fails, since before last, last fail before last, passes,
/// since before last, slow, counted before last, history, lapsed + 2·disbelieved, class, status,
/// latency, address, asn, pop]`.
#[derive(Serialize, Deserialize)]
struct VoteWire<H, S>(
    LocationKey,
    u8,
    Millis,
    u32,
    u32,
    Option<Millis>,
    Millis,
    u32,
    Option<Millis>,
    u8,
    Millis,
    H,
    u8,
    i16,
    u16,
    Millis,
    #[serde(default)] S,
    #[serde(default)] u32,
    #[serde(default)] S,
);

impl Serialize for Live {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let now = self.folded_at;
        let ago = |at: Option<Millis>| at.map(|at| now - at);
        let timers = self.timers.worse.iter().chain(&self.timers.milder).enumerate();
        Wire {
            folded_at: now,
            state: self.state,
            since: now - self.since,
            before: self.before,
            low: self.low,
            evidence_stale: self.evidence_stale,
            timers: timers
                .filter_map(|(kind, timer)| {
                    timer.map(|timer| {
                        (kind as u8, now - timer.began, timer.paused, u8::from(timer.low))
                    })
                })
                .collect(),
            halts: (
                ago(self.timers.paused_since),
                ago(self.timers.blind_since),
                ago(self.timers.split_since),
            ),
            changes: self.flaps.changes.iter().map(|change| now - change).collect(),
            flapping: self.flaps.flapping,
            incident: self.incident.as_ref(),
            past: self.past.as_ref(),
            waved_at: ago(self.waved_at),
            alone: self.alone.map(|(location, since)| (location, now - since)),
            votes: self.votes.iter().map(|vote| vote_wire(vote, now)).collect(),
            calls: self.calls.clone(),
        }
        .serialize(serializer)
    }
}

fn vote_wire(vote: &Vote, now: Millis) -> VoteWire<&History, &str> {
    let last = vote.last;
    VoteWire(
        vote.location,
        vote.state.code(),
        now - last,
        vote.version,
        vote.fails,
        vote.fails_since.map(|at| last - at),
        if vote.fails == 0 { 0 } else { last - vote.last_fail },
        vote.passes,
        vote.passes_since.map(|at| last - at),
        vote.slow,
        last - vote.counted,
        &vote.history,
        u8::from(vote.lapsed) | u8::from(!vote.believed) << 1,
        vote.saw.class.map_or(0, Class::code),
        vote.saw.status.unwrap_or(0),
        vote.saw.latency,
        vote.saw.address.as_deref().unwrap_or(""),
        vote.saw.asn.unwrap_or(0),
        vote.saw.pop.as_deref().unwrap_or(""),
    )
}

impl<'de> Deserialize<'de> for Live {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::<VoteWire<History, String>, Incident, Past>::deserialize(deserializer)?;
        let now = wire.folded_at;
        let back = |ago: Option<Millis>| ago.map(|ago| now - ago);
        let mut timers = Timers {
            paused_since: back(wire.halts.0),
            blind_since: back(wire.halts.1),
            split_since: back(wire.halts.2),
            ..Timers::default()
        };
        for (kind, ago, paused, low) in wire.timers {
            let place = timers.worse.iter_mut().chain(&mut timers.milder).nth(usize::from(kind));
            *place.ok_or_else(|| serde::de::Error::custom("no such timer"))? =
                Some(Timer { began: now - ago, paused, low: low == 1 });
        }
        let mut votes = Vec::with_capacity(wire.votes.len());
        for vote in wire.votes {
            votes.push(vote_of(vote, now).ok_or_else(|| serde::de::Error::custom("no such vote"))?);
        }
        votes.sort_by_key(|vote| vote.location);
        Ok(Live {
            folded_at: now,
            state: wire.state,
            since: now - wire.since,
            before: wire.before,
            low: wire.low,
            evidence_stale: wire.evidence_stale,
            timers,
            flaps: Flaps {
                changes: wire.changes.into_iter().map(|ago| now - ago).collect(),
                flapping: wire.flapping,
            },
            incident: wire.incident,
            past: wire.past,
            waved_at: back(wire.waved_at),
            alone: wire.alone.map(|(location, ago)| (location, now - ago)),
            votes,
            calls: wire.calls,
        })
    }
}

fn vote_of(wire: VoteWire<History, String>, now: Millis) -> Option<Vote> {
    let last = now - wire.2;
    let text = |text: String| (!text.is_empty()).then_some(text);
    Some(Vote {
        location: wire.0,
        state: VoteState::from_code(wire.1)?,
        last,
        version: wire.3,
        fails: wire.4,
        fails_since: wire.5.map(|ago| last - ago),
        last_fail: if wire.4 == 0 { 0 } else { last - wire.6 },
        passes: wire.7,
        passes_since: wire.8.map(|ago| last - ago),
        slow: wire.9,
        counted: last - wire.10,
        history: wire.11,
        lapsed: wire.12 & 1 != 0,
        believed: wire.12 & 2 == 0,
        saw: Saw {
            class: Class::from_code(wire.13),
            status: (wire.14 != 0).then_some(wire.14),
            latency: wire.15,
            address: text(wire.16),
            asn: (wire.17 != 0).then_some(wire.17),
            pop: text(wire.18),
        },
    })
}
