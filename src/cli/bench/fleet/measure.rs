//! What is asked of the engine, a question a function: how often it is wrong, and how soon it is right.

use super::pool::{Health, Pool, Shape};
use crate::domain::fleet::cell::Window;
use crate::domain::fleet::engine::{Change, Context, Engine};
use crate::domain::fleet::finding::{Finding, Scope};
use crate::domain::fleet::settings::Settings;

/// Windows before a fault begins: enough to learn the spread and a baseline.
pub(super) const WELL: usize = 40;
/// Windows in which it must be found.
pub(super) const TIME: usize = 10;

/// A pool and the engine that watches it.
pub(super) struct Watched {
    pub pool: Pool,
    pub engine: Engine,
}

/// What came of a fault that all share.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outage {
    pub runs: usize,
    /// Called shared in time.
    pub shared: usize,
    /// Somebody was named.
    pub blamed: usize,
}

impl Watched {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let engine = Engine::new("pool", &Settings::default());
        Self { pool: Pool::new(shape, seed), engine }
    }

    /// With a healthy past.
    pub(super) fn settled(shape: Shape, seed: u64) -> Self {
        let mut watched = Self::new(shape, seed);
        for _ in 0..WELL {
            let well = watched.pool.well();
            watched.step(&well);
        }
        watched
    }

    pub(super) fn step(&mut self, health: &[Health]) -> Vec<Change> {
        let window = self.pool.window(health);
        self.judge(window)
    }

    pub(super) fn judge(&mut self, window: Window) -> Vec<Change> {
        self.engine.judge(window, &Context::default())
    }

    /// The instances that open findings name.
    pub(super) fn named(&self) -> Vec<&str> {
        let named = self.engine.open().iter().flat_map(|finding| &finding.instances);
        let mut named: Vec<&str> = named.map(String::as_str).collect();
        named.sort_unstable();
        named.dedup();
        named
    }

    fn has(&self, what: impl Fn(&Finding) -> bool) -> bool {
        self.engine.open().iter().any(what)
    }
}

/// Windows of `minutes` healthy ones with any finding, summed over the seeds.
pub(super) fn healthy(shape: Shape, seeds: std::ops::Range<u64>, minutes: usize) -> usize {
    let mut wrong = 0;
    for seed in seeds {
        let mut watched = Watched::new(shape, seed);
        for _ in 0..minutes {
            let well = watched.pool.well();
            watched.step(&well);
            wrong += usize::from(!watched.engine.open().is_empty());
        }
    }
    wrong
}

/// All fail alike: is it called shared, and is anybody blamed?
pub(super) fn outage(shape: Shape, level: f64, seeds: std::ops::Range<u64>) -> Outage {
    let mut outage = Outage::default();
    for seed in seeds {
        let mut watched = Watched::settled(shape, seed);
        let ill = vec![Health { fails: level, slower: 1.0 }; shape.instances];
        let (mut shared, mut blamed) = (false, false);
        for _ in 0..TIME {
            watched.step(&ill);
            shared |= watched.has(|finding| finding.scope == Scope::Shared);
            blamed |= !watched.named().is_empty();
        }
        outage.runs += 1;
        outage.shared += usize::from(shared);
        outage.blamed += usize::from(blamed);
    }
    outage
}

/// The first `bad` instances fail: how often exactly these are named in the end, and nobody else before.
pub(super) fn exactly(
    shape: Shape,
    bad: usize,
    level: f64,
    seeds: std::ops::Range<u64>,
) -> (usize, usize) {
    let (mut runs, mut right) = (0, 0);
    for seed in seeds {
        let mut watched = Watched::settled(shape, seed);
        let mut ill = watched.pool.well();
        for health in ill.iter_mut().take(bad) {
            health.fails = level;
        }
        let expected: Vec<String> = (0..bad).map(Pool::name).collect();
        let mut others = false;
        for _ in 0..TIME {
            watched.step(&ill);
            others |= watched.named().iter().any(|name| !expected.iter().any(|bad| bad == name));
        }
        runs += 1;
        right += usize::from(!others && watched.named() == expected);
    }
    (right, runs)
}

/// One instance is ill: after how many windows it is named, over the seeds, none when it is not in time.
pub(super) fn detection(
    shape: Shape,
    ill: Health,
    seeds: std::ops::Range<u64>,
) -> Vec<Option<usize>> {
    let found = seeds.map(|seed| {
        let mut watched = Watched::settled(shape, seed);
        let mut health = watched.pool.well();
        health[0] = ill;
        let name = Pool::name(0);
        (1..=TIME).find(|_| {
            watched.step(&health);
            watched.named() == [name.as_str()]
        })
    });
    found.collect()
}

/// The middle of the times, and the share that came within `most`.
pub(super) fn times(found: &[Option<usize>], most: usize) -> (Option<usize>, f64) {
    let mut sorted: Vec<usize> = found.iter().map(|at| at.unwrap_or(usize::MAX)).collect();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().filter(|at| *at < usize::MAX);
    let within = sorted.iter().filter(|at| **at <= most).count();
    (median, within as f64 / sorted.len().max(1) as f64)
}
