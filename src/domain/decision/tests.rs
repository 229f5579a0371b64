//! The rules sentence by sentence, as properties, and in a small simulated world.

mod evidence;
mod fold;
mod incidents;
mod properties;
mod states;
mod told;
mod verdicts;
pub(super) mod world;

use super::{Disposition, Inputs, Live, Seat, Seen, Standing, Step, VoteState, step};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::maintenance::{Switches, Window};
use crate::domain::monitor::Policy;
use crate::domain::observation::{Outcome, RunKind};

/// The fleets of the worked examples: name, region, domain.
pub(super) const F5: [(&str, &str, &str); 5] =
    [("a", "eu", "P1"), ("b", "eu", "P2"), ("c", "us", "P3"), ("d", "us", "P1"), ("e", "ap", "P4")];
pub(super) const F3: [(&str, &str, &str); 3] =
    [("a", "eu", "P1"), ("b", "us", "P2"), ("c", "ap", "P3")];
pub(super) const F2: [(&str, &str, &str); 2] = [("a", "eu", "P1"), ("c", "us", "P3")];
pub(super) const F1: [(&str, &str, &str); 1] = [("a", "eu", "P1")];

pub(super) fn seats(fleet: &[(&str, &str, &str)]) -> Vec<Seat> {
    fleet
        .iter()
        .zip(0..)
        .map(|((name, region, domain), key)| Seat {
            key: LocationKey(key),
            name: (*name).to_owned(),
            region: (*region).to_owned(),
            domain: (*domain).to_owned(),
            standing: Standing::Counted,
        })
        .collect()
}

/// A monitor under test. Times are seconds.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) seats: Vec<Seat>,
    pub(super) policy: Policy,
    pub(super) windows: Vec<Window>,
    pub(super) version: u32,
    pub(super) grace_until: Option<Millis>,
    pub(super) live: Live,
    pub(super) events: Vec<(i64, String)>,
    pub(super) steps: Vec<Step>,
    now: i64,
    waiting: Vec<Seen>,
}

impl Bench {
    pub(super) fn new(fleet: &[(&str, &str, &str)]) -> Self {
        Self {
            seats: seats(fleet),
            policy: Policy::defaults(60_000, 10_000, fleet.len()),
            windows: Vec::new(),
            version: 0,
            grace_until: None,
            live: Live::default(),
            events: Vec::new(),
            steps: Vec::new(),
            now: -1,
            waiting: Vec::new(),
        }
    }

    pub(super) fn window(mut self, start: i64, end: i64) -> Self {
        let switches = Switches::default();
        self.windows.push(Window { start: start * 1000, end: end * 1000, switches });
        self
    }

    pub(super) fn key(&self, name: &str) -> LocationKey {
        self.seats.iter().find(|seat| seat.name == name).expect("a seat of the fleet").key
    }

    pub(super) fn seen(&self, at: i64, name: &str, outcome: Outcome) -> Seen {
        Seen { check_version: self.version, ..Seen::new(self.key(name), at * 1000, outcome) }
    }

    /// Queues an observation that arrives at once.
    pub(super) fn say(&mut self, at: i64, names: &str, outcome: Outcome) -> &mut Self {
        for name in names.chars() {
            let seen = self.seen(at, &name.to_string(), outcome);
            self.waiting.push(seen);
        }
        self
    }

    pub(super) fn pass(&mut self, at: i64, names: &str) -> &mut Self {
        self.say(at, names, Outcome::Pass)
    }

    pub(super) fn fail(&mut self, at: i64, names: &str) -> &mut Self {
        self.say(at, names, Outcome::Fail)
    }

    /// Each location once a minute, from the first second on, `spread` apart.
    pub(super) fn every_minute(
        &mut self,
        from: i64,
        until: i64,
        names: &str,
        outcome: Outcome,
    ) -> &mut Self {
        for at in (from..=until).step_by(60) {
            self.say(at, names, outcome);
        }
        self
    }

    pub(super) fn queue(&mut self, seen: Seen) -> &mut Self {
        self.waiting.push(seen);
        self
    }

    pub(super) fn inputs(&self, now: Millis) -> Inputs<'_> {
        Inputs {
            policy: &self.policy,
            check_version: self.version,
            seats: &self.seats,
            windows: &self.windows,
            over_cap: false,
            grace_until: self.grace_until,
            now,
        }
    }

    /// Decides once a second up to and including `until`.
    pub(super) fn run(&mut self, until: i64) -> &mut Self {
        while self.now < until {
            self.now += 1;
            self.tick();
        }
        self
    }

    fn tick(&mut self) {
        let now = self.now * 1000;
        let mut arrived: Vec<Seen> = Vec::new();
        self.waiting.retain(|seen| {
            let due = seen.received <= now;
            if due {
                arrived.push(seen.clone());
            }
            !due
        });
        arrived.sort_by_key(|seen| seen.received);
        let mut live = std::mem::take(&mut self.live);
        let step = step(&mut live, &self.inputs(now), &arrived);
        self.live = live;
        self.events
            .extend(step.events.iter().filter_map(|event| Some((event.at / 1000, event.word()?))));
        self.steps.push(step);
    }

    pub(super) fn last(&self) -> &Step {
        self.steps.last().expect("a decision was taken")
    }

    /// Takes back passes that were queued for these locations from a time on.
    pub(super) fn waiting_without_passes_of(&mut self, names: &str, from: i64) -> &mut Self {
        let keys: Vec<LocationKey> =
            names.chars().map(|name| self.key(&name.to_string())).collect();
        self.waiting.retain(|seen| {
            seen.outcome != Outcome::Pass || seen.at < from * 1000 || !keys.contains(&seen.location)
        });
        self
    }

    /// Time passes without anybody deciding.
    pub(super) fn skip_to(&mut self, now: i64) -> &mut Self {
        self.now = now - 1;
        self
    }

    pub(super) fn words(&self) -> Vec<(i64, &str)> {
        self.events.iter().map(|(at, word)| (*at, word.as_str())).collect()
    }
}

/// A kind of run that the rules treat apart.
pub(super) fn manual(seen: Seen) -> Seen {
    Seen { kind: RunKind::Manual, ..seen }
}

pub(super) fn vote(bench: &Bench, name: &str) -> VoteState {
    bench.live.vote(bench.key(name)).expect("it was heard").state
}

pub(super) fn dispositions(bench: &Bench) -> Vec<Disposition> {
    bench.steps.iter().flat_map(|step| step.folded.iter().copied()).collect()
}
