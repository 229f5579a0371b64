//! What goes into the engine beside windows, and what comes out of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::marks::Marks;
use super::outcome::Outcome;
use crate::domain::fleet::cell::{Cell, Window};
use crate::domain::fleet::finding::Finding;

/// A day, in µs: how far back an instance's own history is looked at.
const DAY_US: i64 = 86_400_000_000;
pub(super) const QUARTER_US: i64 = 900_000_000;

/// What is known of the instances beside the window's sums. Everything may be empty.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// New or returned, by somebody's word. The engine knows by itself who had no traffic before.
    pub warming: &'a BTreeSet<String>,
    /// On their way out on purpose: neither judged nor peers.
    pub draining: &'a BTreeSet<String>,
    /// The last 24 hours as sums of a quarter of an hour, oldest first.
    pub history: &'a [Quarter],
    /// Health checks of this window that are not in its cells.
    pub probes: &'a BTreeMap<String, Probes>,
    /// Configured weights; who is not here weighs 1.
    pub weights: &'a BTreeMap<String, f64>,
    pub about: &'a BTreeMap<String, About>,
}

/// Sums of a quarter of an hour by instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quarter {
    pub start_us: i64,
    pub cells: BTreeMap<String, Cell>,
}

/// Health checks of one instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes {
    pub passed: u64,
    pub failed: u64,
}

/// What instances may have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    pub zone: Option<String>,
    pub version: Option<String>,
    pub node: Option<String>,
}

/// The last day as quarters of an hour, for whoever has no database to ask.
#[derive(Debug, Clone, Default)]
pub struct Archive {
    quarters: VecDeque<Quarter>,
}

/// What is stored of an engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineState {
    /// Of this format: what another version wrote is set aside, and the engine starts afresh.
    pub version: u32,
    /// Of the last window that was judged.
    pub last: Option<i64>,
    pub open: Vec<Finding>,
    /// What was seen lately of whom, open or not.
    pub marks: Marks,
    /// Windows that are no part of a baseline, and in which ways.
    pub dirty: Vec<(i64, Vec<Outcome>)>,
}

impl EngineState {
    pub const VERSION: u32 = 1;

    /// The index of the oldest window that [`super::Engine::restore`] can use.
    pub fn history_from(&self) -> i64 {
        self.last.map_or(i64::MIN, |last| last - super::WINDOWS_NEEDED + 1)
    }
}

static NOBODY: BTreeSet<String> = BTreeSet::new();
static NO_PROBES: BTreeMap<String, Probes> = BTreeMap::new();
static NO_WEIGHTS: BTreeMap<String, f64> = BTreeMap::new();
static NO_ABOUT: BTreeMap<String, About> = BTreeMap::new();

impl Default for Context<'_> {
    fn default() -> Self {
        Self {
            warming: &NOBODY,
            draining: &NOBODY,
            history: &[],
            probes: &NO_PROBES,
            weights: &NO_WEIGHTS,
            about: &NO_ABOUT,
        }
    }
}

impl Archive {
    /// Adds a window of `window_s` seconds; windows come in order.
    pub fn add(&mut self, window: &Window, window_s: u32) {
        let start_us =
            (window.index * i64::from(window_s) * 1_000_000).div_euclid(QUARTER_US) * QUARTER_US;
        if self.quarters.back().is_none_or(|last| last.start_us < start_us) {
            self.quarters.push_back(Quarter { start_us, cells: BTreeMap::new() });
        }
        while self.quarters.front().is_some_and(|first| first.start_us < start_us - DAY_US) {
            self.quarters.pop_front();
        }
        let Some(quarter) = self.quarters.back_mut() else { return };
        for (instance, routes) in &window.cells {
            let mine = quarter.cells.entry(instance.clone()).or_default();
            for cell in routes.values() {
                mine.merge(cell);
            }
        }
    }

    /// Oldest first, for [`Context::history`].
    pub fn quarters(&mut self) -> &[Quarter] {
        self.quarters.make_contiguous()
    }
}
