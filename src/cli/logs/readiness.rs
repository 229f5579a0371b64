//! For how long each instance was ready, of how long that is known.

use std::collections::BTreeMap;

use crate::domain::fleet::{
    event::State,
    timeline::{Instance, Timeline},
};

/// Of one instance, in µs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Readiness {
    pub(super) ready_us: i64,
    /// For how long somebody said whether it is ready.
    pub(super) known_us: i64,
    /// For how long it was in rotation and nobody said so.
    pub(super) rotation_us: i64,
    /// For how long no line was there, though it had a state before.
    pub(super) unheard_us: i64,
}

impl Readiness {
    fn so_far(life: &Instance) -> Self {
        Self {
            ready_us: life.ready_us,
            known_us: life.known_us,
            rotation_us: life.rotation_us,
            unheard_us: 0,
        }
    }

    /// What was counted up to `counted_us`, without what lies beyond the last line at `end_us`.
    pub(super) fn at(life: &Instance, counted_us: i64, end_us: i64) -> Self {
        let mut so_far = Self::so_far(life);
        let beyond = (counted_us - end_us.max(life.since_us)).max(0);
        match life.state {
            State::Unknown => {}
            State::InRotation => so_far.rotation_us -= beyond,
            State::Ready => {
                so_far.ready_us -= beyond;
                so_far.known_us -= beyond;
            }
            _ => so_far.known_us -= beyond,
        }
        so_far
    }

    /// Without what was counted while nothing was heard: that is not known.
    pub(super) fn without(self, unheard: Self) -> Self {
        Self {
            ready_us: (self.ready_us - unheard.ready_us).max(0),
            known_us: (self.known_us - unheard.known_us).max(0),
            rotation_us: (self.rotation_us - unheard.rotation_us).max(0),
            unheard_us: unheard.known_us + unheard.rotation_us,
        }
    }

    fn add(&mut self, before: Self, after: Self) {
        self.ready_us += after.ready_us - before.ready_us;
        self.known_us += after.known_us - before.known_us;
        self.rotation_us += after.rotation_us - before.rotation_us;
    }

    /// The share of the time that is known in which it was ready; none when nothing is known.
    pub(super) fn ready(&self) -> Option<f64> {
        (self.known_us > 0).then(|| self.ready_us as f64 / self.known_us as f64)
    }

    /// The share of its time of which nobody said whether it is ready.
    pub(super) fn not_known(&self) -> Option<f64> {
        let not_known = self.rotation_us + self.unheard_us;
        let all = self.known_us + not_known;
        (all > 0).then(|| not_known as f64 / all as f64)
    }
}

/// What is counted of instances in stretches without a line. One window without a line is no silence.
#[derive(Debug, Default)]
pub(super) struct Unheard {
    of: BTreeMap<String, Readiness>,
    /// What the present stretch has brought, and of how many windows.
    present: BTreeMap<String, Readiness>,
    windows: u32,
}

impl Unheard {
    /// How all instances stand before a window that nothing is heard in.
    pub(super) fn before(timeline: &Timeline) -> Vec<(String, Readiness)> {
        let one = |(name, life): (&String, &Instance)| (name.clone(), Readiness::so_far(life));
        timeline.instances().iter().map(one).collect()
    }

    /// Such a window is over.
    pub(super) fn silent(&mut self, before: Vec<(String, Readiness)>, timeline: &Timeline) {
        self.windows += 1;
        for (name, before) in before {
            let Some(life) = timeline.instances().get(&name) else { continue };
            self.present.entry(name).or_default().add(before, Readiness::so_far(life));
        }
        if self.windows > 1 {
            for (name, present) in std::mem::take(&mut self.present) {
                self.of.entry(name).or_default().add(Readiness::default(), present);
            }
        }
    }

    /// Something was heard again.
    pub(super) fn heard(&mut self) {
        self.windows = 0;
        self.present.clear();
    }

    pub(super) fn of(&self, name: &str) -> Readiness {
        self.of.get(name).copied().unwrap_or_default()
    }
}
