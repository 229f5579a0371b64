//! Which members of a group to serve now (spec: api 5). A member is out only while its monitor is down, or
//! while most of the locations that it is bound to see it down; what is not known takes nobody out. If too
//! few would be left, everybody is in ([`Answer::fail_open`]), because a group without members is worse than
//! one with sick ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::decision::State;
use super::{Invalid, Millis};

/// Most members of a group.
pub const MOST_MEMBERS: usize = 64;
/// The longest time that somebody's word may stand over what monitors say: 30 days.
pub const LONGEST_OVERRIDE: Millis = 30 * 86_400_000;

/// A group's rules, as stored and as the API takes and gives them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FailoverRules)]
#[serde(deny_unknown_fields)]
pub struct Group {
    #[serde(default)]
    pub mode: Mode,
    /// In order of preference, the first is preferred. 1 to 64.
    pub members: Vec<Member>,
    /// If fewer would be left, all are in. Null: half of the members, rounded up.
    #[serde(default)]
    pub min_members: Option<u16>,
    /// How long a member must have been well before it comes back, in seconds, 0 to 86400. Its monitor's own
    /// rule for recovery has been passed by then; null: that is enough.
    #[serde(default)]
    pub return_after_s: Option<u32>,
}

/// What the order of members, or their weights, mean to whoever asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FailoverMode)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The first that is served is to be used, the next ones stand by.
    #[default]
    Ordered,
    /// All that are served are to be used, each by its weight.
    Weighted,
}

/// One endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FailoverMember)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Stands in the member's address: lower-case letters, digits and hyphens, at most 63.
    pub name: String,
    /// What is served: an address or a host name, handed on as it is.
    pub address: String,
    /// The monitor that says how it is.
    pub monitor: Uuid,
    /// Only what these locations see counts. Null: what the monitor's own rule says.
    #[serde(default)]
    pub locations: Option<Vec<Uuid>>,
    /// 1 to 1000; of use in a weighted group.
    #[serde(default = "one")]
    pub weight: u16,
    /// A monitor that is partial takes the member out when so many per cent of the locations that count see
    /// it down. Null: partial takes nobody out.
    #[serde(default)]
    pub partial_at: Option<u8>,
}

fn one() -> u16 {
    1
}

impl Group {
    /// Refuses what cannot be meant; fields are named as in the JSON.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.members.is_empty() || self.members.len() > MOST_MEMBERS {
            let n = self.members.len();
            return Err(Invalid::new("members", format!("has {n}: 1 to {MOST_MEMBERS} can be")));
        }
        for (i, member) in self.members.iter().enumerate() {
            member.check().map_err(|wrong| wrong.under(&format!("members[{i}]")))?;
            if self.members[..i].iter().any(|other| other.name == member.name) {
                let field = format!("members[{i}].name");
                return Err(Invalid::given(field, &member.name, "is the name of another member"));
            }
        }
        if let Some(min) = self.min_members
            && usize::from(min) > self.members.len()
        {
            let why = format!("{min} is more than there are members ({})", self.members.len());
            return Err(Invalid::new("min_members", why));
        }
        if let Some(seconds) = self.return_after_s
            && seconds > 86_400
        {
            let why = format!("{seconds} is out of range: 0 to 86400 seconds");
            return Err(Invalid::new("return_after_s", why));
        }
        Ok(())
    }
}

impl Member {
    fn check(&self) -> Result<(), Invalid> {
        check_name("name", &self.name)?;
        let address = self.address.trim();
        if address.is_empty() || address.len() > 253 || address != self.address {
            return Err(Invalid::new(
                "address",
                "must be 1 to 253 characters without outer spaces",
            ));
        }
        if address.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Invalid::given("address", address, "holds a space"));
        }
        if !(1..=1000).contains(&self.weight) {
            let why = format!("{} is out of range: 1 to 1000", self.weight);
            return Err(Invalid::new("weight", why));
        }
        if let Some(percent) = self.partial_at
            && !(1..=100).contains(&percent)
        {
            let why = format!("{percent} is out of range: 1 to 100 per cent");
            return Err(Invalid::new("partial_at", why));
        }
        if self.locations.as_ref().is_some_and(Vec::is_empty) {
            return Err(Invalid::new(
                "locations",
                "is empty: name at least one, or leave it out for the monitor's own rule",
            ));
        }
        Ok(())
    }
}

/// A name that stands in an address: lower-case letters, digits and inner hyphens, at most 63.
pub fn check_name(field: &str, name: &str) -> Result<(), Invalid> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fine = (1..=63).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if fine {
        return Ok(());
    }
    let why =
        "must be 1 to 63 lower-case letters, digits and inner hyphens: it stands in an address";
    Err(Invalid::given(field, name, why))
}

/// What is known of a member's monitor at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub state: State,
    /// Low confidence: not every needed failure domain was seen.
    pub low: bool,
    /// Its evidence has gone stale: what it is said to be is what it was.
    pub stale: bool,
    /// Locations that count: of the monitor, or of those that the member is bound to.
    pub counted: u32,
    /// How many of them see it down.
    pub down: u32,
    /// Locations that the member is bound to; none when it goes by the monitor's own rule.
    pub bound: Option<u32>,
}

/// Why a member is in or out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FailoverReason)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Up,
    /// Slow, or now and then failing.
    Degraded,
    /// Fewer locations see it down than would take it out.
    Partial,
    /// Down, or partial beyond the member's threshold, or most bound locations see it down: out.
    Down,
    /// Down, but with locations missing from the count: in.
    LowConfidence,
    /// Nobody knows: in.
    Unknown,
    /// The monitor is paused: in.
    Paused,
    /// The monitor was deleted: in.
    NoMonitor,
    /// Well again, not for long enough: out.
    Returning,
    /// Somebody said so.
    Override,
}

/// What is remembered of a member between two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Since when it has been out by its monitor; none while it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_since: Option<Millis>,
    /// Out, but well since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub well_since: Option<Millis>,
}

/// What was decided last, by the member's name.
pub type Standings = BTreeMap<String, Standing>;

/// Somebody's word over what monitors say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    pub member: String,
    pub serve: bool,
    pub until: Millis,
}

/// Whom to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// In the group's order.
    pub members: Vec<Judged>,
    /// Too few would have been left, so all are in but those that somebody took out.
    pub fail_open: bool,
    /// The fewest that may be left.
    pub min_members: u16,
    pub standings: Standings,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub serve: bool,
    pub reason: Reason,
    /// Out by its monitor since.
    pub out_since: Option<Millis>,
    /// When it comes back if it stays well.
    pub returns_at: Option<Millis>,
}

/// Looks at a group: `seen` has one entry for each member in order, none when the monitor is gone.
/// Overrides that have ended are passed over.
pub fn look(
    group: &Group,
    seen: &[Option<Seen>],
    before: &Standings,
    overrides: &[Override],
    now: Millis,
) -> Answer {
    let hold = Millis::from(group.return_after_s.unwrap_or(0)) * 1000;
    let mut standings = Standings::new();
    let mut members = Vec::with_capacity(group.members.len());
    let mut drained = 0;
    for (i, member) in group.members.iter().enumerate() {
        let old = before.get(&member.name).copied().unwrap_or_default();
        let reason = reason(member, seen.get(i).copied().flatten());
        let (standing, reason) = follow(old, reason, hold, now);
        if standing != Standing::default() {
            standings.insert(member.name.clone(), standing);
        }
        let said = overrides.iter().find(|said| said.member == member.name && said.until > now);
        drained += usize::from(said.is_some_and(|said| !said.serve));
        members.push(Judged {
            serve: said.map_or(standing.out_since.is_none(), |said| said.serve),
            reason: if said.is_some() { Reason::Override } else { reason },
            out_since: standing.out_since,
            returns_at: standing.well_since.map(|at| at + hold),
        });
    }
    let there = group.members.len() - drained;
    let half = there.div_ceil(2);
    let least = group.min_members.map_or(half, |min| usize::from(min).min(there));
    let left = members.iter().filter(|member| member.serve).count();
    let fail_open = left < least;
    if fail_open {
        for (judged, member) in members.iter_mut().zip(&group.members) {
            let said = overrides.iter().find(|said| said.member == member.name && said.until > now);
            judged.serve = said.is_none_or(|said| said.serve);
        }
    }
    Answer { members, fail_open, min_members: u16::try_from(least).unwrap_or(u16::MAX), standings }
}

/// Why the member would be in or out by what is known now alone.
fn reason(member: &Member, seen: Option<Seen>) -> Reason {
    let Some(seen) = seen else { return Reason::NoMonitor };
    match seen.state {
        State::Paused => return Reason::Paused,
        State::Pending | State::Unknown => return Reason::Unknown,
        _ if seen.stale => return Reason::Unknown,
        _ => {}
    }
    if let Some(bound) = seen.bound {
        // Of those it is bound to, at least half must be heard, and most of these see it down.
        if seen.counted == 0 || 2 * seen.counted < bound {
            return Reason::Unknown;
        }
        return match (2 * seen.down > seen.counted, seen.down) {
            (true, _) => Reason::Down,
            (false, 0) if seen.state == State::Degraded => Reason::Degraded,
            (false, 0) => Reason::Up,
            (false, _) => Reason::Partial,
        };
    }
    match seen.state {
        State::Down if seen.low => Reason::LowConfidence,
        State::Down => Reason::Down,
        State::Partial => {
            let beyond = |percent: u8| {
                seen.counted > 0
                    && u64::from(seen.down) * 100 >= u64::from(percent) * u64::from(seen.counted)
            };
            if !seen.low && member.partial_at.is_some_and(beyond) {
                Reason::Down
            } else {
                Reason::Partial
            }
        }
        State::Degraded => Reason::Degraded,
        State::Up => Reason::Up,
        State::Pending | State::Unknown | State::Paused => Reason::Unknown,
    }
}

/// Goes on from what was decided last. Only a member that is known to be well is made to wait.
fn follow(old: Standing, reason: Reason, hold: Millis, now: Millis) -> (Standing, Reason) {
    match (reason, old.out_since) {
        (Reason::Down, since) => {
            (Standing { out_since: Some(since.unwrap_or(now)), well_since: None }, reason)
        }
        (Reason::Up | Reason::Degraded | Reason::Partial, Some(since)) if hold > 0 => {
            let well = old.well_since.unwrap_or(now);
            if now - well >= hold {
                return (Standing::default(), reason);
            }
            (Standing { out_since: Some(since), well_since: Some(well) }, Reason::Returning)
        }
        _ => (Standing::default(), reason),
    }
}

#[cfg(test)]
mod tests;
