//! Whether a location is to be believed (spec: decision 5.7). [`look`] is the one entry: what is remembered
//! of all locations and what speaks for or against each, in; what is remembered next and what happened, out.
//!
//! A location comes into doubt by evidence and leaves it after enough clean rounds and its hold. Whoever is
//! in doubt is quarantined, unless there are more than the cap allows or somebody says that it is to be
//! believed.

use super::selfcheck::{self, SelfCheck};
use super::{quarantine, quarantine_cap};
use crate::domain::Millis;
use crate::domain::decision::Standing;
use crate::domain::ids::LocationKey;

/// A round of self-checks, and of looks.
pub const ROUND: Millis = 30_000;
/// So many rounds in a row without evidence against it end a doubt …
pub const CLEAN_ROUNDS: u32 = 5;
/// … once it has lasted so long since the last evidence.
pub const HOLD: Millis = 300_000;
pub const LONGEST_HOLD: Millis = 3_600_000;
/// A doubt so soon after the last one is a repeat, and is held twice as long.
pub const REPEAT: Millis = 24 * 3_600_000;
/// A review lasts so long: fresh self-checks are asked for, and the next look judges by them.
pub const REVIEW: jiff::SignedDuration = jiff::SignedDuration::from_secs(30);
/// Results from so long before a quarantine on are left out of the location's own figures.
pub const REACH: Millis = 60_000;
/// Fewer monitors say nothing about a location.
pub const FEWEST_MONITORS: u32 = 5;
/// Longest that a location may be believed or distrusted by hand at a time.
pub const LONGEST_TRUST: Millis = 24 * 3_600_000;

/// What is remembered of a location between two looks; the default is one that nothing was ever against.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    pub doubt: Option<Doubt>,
    /// Since when its votes have not counted.
    pub quarantined_since: Option<Millis>,
    pub past: Option<Past>,
}

/// Something was against it, and not enough clean time has passed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    pub since: Millis,
    pub hold: Millis,
    /// The last look that found something against it.
    pub bad_at: Millis,
    /// Rounds in a row without.
    pub clean: u32,
    /// When the last round was counted.
    pub round_at: Millis,
}

impl Doubt {
    /// The earliest end if nothing more is found.
    pub fn release_at(&self) -> Millis {
        let rounds = self.round_at + Millis::from(CLEAN_ROUNDS.saturating_sub(self.clean)) * ROUND;
        (self.bad_at + self.hold).max(rounds)
    }
}

/// The doubt before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    pub ended: Millis,
    pub hold: Millis,
}

/// Said by hand.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Its votes count, whatever we find.
    Believe,
    /// They do not.
    Distrust,
}

impl Trust {
    pub fn name(self) -> &'static str {
        match self {
            Trust::Believe => "believe",
            Trust::Distrust => "distrust",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Trust::Believe, Trust::Distrust].into_iter().find(|it| it.name() == name)
    }
}

/// How a location stands on all monitors: what is said by hand wins over what was found.
pub fn standing(enabled: bool, trust: Option<Trust>, quarantined: bool) -> Standing {
    match (enabled, trust) {
        (false, _) => Standing::Disabled,
        (true, Some(Trust::Distrust)) => Standing::Distrusted,
        (true, Some(Trust::Believe)) => Standing::Counted,
        (true, None) if quarantined => Standing::Quarantined,
        (true, None) => Standing::Counted,
    }
}

/// What speaks for and against a location now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    pub enabled: bool,
    /// At least one of its agents is heard.
    pub online: bool,
    /// Of its online agents that have references.
    pub checks: Vec<SelfCheck>,
    /// Monitors on which it says down or suspect while the majority sees them up …
    pub against: u32,
    /// … of so many that the majority sees up.
    pub of: u32,
    pub trust: Option<Trust>,
}

/// One thing against a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    References { failing: usize, of: usize },
    Dissent { against: u32, of: u32 },
}

impl Reason {
    /// A sentence without a full stop: `4 of 5 references fail`.
    pub fn words(self) -> String {
        match self {
            Reason::References { failing, of } => format!("{failing} of {of} references fail"),
            Reason::Dissent { against, of } => {
                format!("it sees {against} of {of} monitors fail that most locations see up")
            }
        }
    }
}

/// Several things against a location in one phrase.
pub fn words(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.words()).collect::<Vec<_>>().join("; ")
}

/// Whether disagreeing on so many monitors, of so many that most see up, speaks against a location.
pub fn dissents(against: u32, of: u32) -> bool {
    of >= FEWEST_MONITORS && 2 * against >= of
}

impl Evidence {
    /// What is against it. An offline location says nothing, and its silence is no evidence.
    pub fn against(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if !self.enabled || !self.online {
            return reasons;
        }
        if selfcheck::fails(&self.checks)
            && let Some(worst) = self.checks.iter().max_by_key(|check| check.failing())
        {
            reasons.push(Reason::References { failing: worst.failing(), of: worst.targets.len() });
        }
        if dissents(self.against, self.of) {
            reasons.push(Reason::Dissent { against: self.against, of: self.of });
        }
        reasons
    }
}

/// A location with what is remembered of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub key: LocationKey,
    pub health: Health,
    pub evidence: Evidence,
}

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// In the order given.
    pub healths: Vec<(LocationKey, Health)>,
    /// Locations online, and those of them in doubt or distrusted, while they are too many to be set aside.
    pub over_cap: Option<(usize, usize)>,
    pub happened: Vec<(LocationKey, Happened)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    Quarantined,
    Released(Release),
}

/// Why a quarantine ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Enough clean rounds, and the hold is over.
    Clean,
    /// More are in doubt than may be set aside.
    OverCap,
    /// By hand.
    Believed,
    Disabled,
}

impl Release {
    pub fn name(self) -> &'static str {
        match self {
            Release::Clean => "clean",
            Release::OverCap => "over_cap",
            Release::Believed => "believed",
            Release::Disabled => "disabled",
        }
    }
}

/// Looks at all locations together. Call it every few seconds; more often changes nothing but how soon
/// something is found.
pub fn look(places: &[Place], now: Millis) -> Look {
    let healths: Vec<Health> = places
        .iter()
        .map(|place| Health {
            doubt: doubt(place, now),
            quarantined_since: place.health.quarantined_since,
            past: place.health.past,
        })
        .collect();
    let online = places.iter().filter(|p| p.evidence.enabled && p.evidence.online).count();
    let aside = |place: &Place, health: &Health| match place.evidence.trust {
        Some(Trust::Believe) => false,
        Some(Trust::Distrust) => true,
        None => health.doubt.is_some(),
    };
    let reachable =
        || places.iter().zip(&healths).filter(|(p, _)| p.evidence.enabled && p.evidence.online);
    let doubted = reachable().any(|(p, h)| h.doubt.is_some() && p.evidence.trust.is_none());
    let set: Vec<LocationKey> =
        reachable().filter(|(p, h)| aside(p, h)).map(|(p, _)| p.key).collect();
    // What is distrusted by hand stays so; only what we find ourselves has to fit.
    let over = doubted && quarantine(&set, online).1;
    let mut happened = Vec::new();
    let healths = places.iter().zip(healths).map(|(place, health)| {
        let (health, what) = settle(place, health, over, now);
        happened.extend(what.map(|what| (place.key, what)));
        (place.key, health)
    });
    let healths = healths.collect();
    Look { healths, over_cap: over.then_some((online, set.len())), happened }
}

/// The doubt about a location after this look.
fn doubt(place: &Place, now: Millis) -> Option<Doubt> {
    let evidence = &place.evidence;
    if !evidence.enabled {
        return None;
    }
    if !evidence.against().is_empty() {
        let known = place.health.doubt;
        let (since, hold) =
            known.map_or_else(|| (now, hold(place.health.past, now)), |d| (d.since, d.hold));
        return Some(Doubt { since, hold, bad_at: now, clean: 0, round_at: now });
    }
    let mut doubt = place.health.doubt?;
    if !evidence.online {
        // Nothing was heard, so no round was clean.
        doubt.round_at = now;
        return Some(doubt);
    }
    if now - doubt.round_at >= ROUND {
        (doubt.clean, doubt.round_at) = (doubt.clean.saturating_add(1), now);
    }
    let over = doubt.clean >= CLEAN_ROUNDS && now - doubt.bad_at >= doubt.hold;
    (!over).then_some(doubt)
}

fn hold(past: Option<Past>, now: Millis) -> Millis {
    match past {
        Some(past) if now - past.ended < REPEAT => (past.hold * 2).clamp(HOLD, LONGEST_HOLD),
        _ => HOLD,
    }
}

fn settle(
    place: &Place,
    mut health: Health,
    over: bool,
    now: Millis,
) -> (Health, Option<Happened>) {
    if let (Some(before), None) = (place.health.doubt, health.doubt) {
        health.past = Some(Past { ended: now, hold: before.hold });
    }
    let believed = place.evidence.trust == Some(Trust::Believe);
    let wanted = health.doubt.is_some() && !believed && !over;
    let what = match (health.quarantined_since, wanted) {
        (None, true) => {
            health.quarantined_since = Some(now);
            Some(Happened::Quarantined)
        }
        (Some(_), false) => {
            health.quarantined_since = None;
            Some(Happened::Released(if !place.evidence.enabled {
                Release::Disabled
            } else if health.doubt.is_none() {
                Release::Clean
            } else if believed {
                Release::Believed
            } else {
                Release::OverCap
            }))
        }
        _ => None,
    };
    (health, what)
}

/// Whether one more location may be set aside on a monitor that is looked at from `configured` locations,
/// of which `aside` do not count already.
pub fn may_set_aside(configured: usize, aside: usize) -> bool {
    aside < quarantine_cap(configured)
}

#[cfg(test)]
mod tests;
