//! The findings engine (spec: fleet 3 and its settled points): one window after the other in, what
//! opened, changed and closed out. One engine judges one pool.
//!
//! Each anomaly is a yes or no per attempt ("was it bad in this way?"), and one question is asked of all:
//! is this instance's share of bad attempts larger than its peers', by more than chance and ordinary
//! differences between instances? Before anybody is named the whole pool is looked at: what has risen
//! everywhere is shared, and nobody is blamed for it.
//!
//! * [`stats`]: tails, spread, many tests at once, intervals.
//! * [`outcome`]: what bad may mean; [`grid`]: the counts of a window; [`history`]: of earlier ones.
//! * [`peers`], [`compare`]: who is compared, and how; [`gate`]: whether it is shared; [`judge`]: the
//!   tests of a window.
//! * [`recent`]: windows taken together where one has too few attempts.
//! * [`conjunction`]: black hole and wrong code; [`chronic`]: bad all day.
//! * [`marks`]: two of three windows; [`findings`], [`numbers`], [`sentence`]: what is told.
//!
//! Known limits, as measured: with 60 attempts a minute two of four that fail 10 % read as shared, a
//! shared 5 % is mostly silent and one instance's 5 % is rarely found; a uniform slowdown of × 1.5 is
//! seldom reported; pages that become blank on all instances at once are not seen.

mod chronic;
mod compare;
mod conjunction;
mod findings;
mod gate;
mod grid;
mod history;
mod judge;
mod marks;
mod numbers;
mod outcome;
mod peers;
mod recent;
mod sentence;
mod state;
pub mod stats;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::grid::Grid;
use self::history::{History, Names, Past};
use self::judge::{Judge, Subject};
use self::marks::{Ended, Marks};
use self::outcome::Outcome;
use self::recent::{Recent, SPANS};
use crate::domain::fleet::cell::Window;
use crate::domain::fleet::finding::{Finding, Kind};
use crate::domain::fleet::settings::Settings;

pub use state::{About, Archive, Context, EngineState, Probes, Quarter};

pub use super::finding::{Change, End, Step, key};
pub(super) use peers::peers_of;
pub(super) use sentence::thousands;
pub use stats::interval99;

/// So many windows before the next one are all that the engine looks at, quarters of an hour apart.
pub const WINDOWS_NEEDED: i64 = 180;

/// Windows without attempts after which an instance is new again.
const AWAY: i64 = 3;
/// A baseline is kept as it was for at most so long while something is open.
const FROZEN_S: i64 = 86_400;

/// Judges one pool. Feed it every window in order, those without a line too.
#[derive(Debug)]
pub struct Engine {
    pool: String,
    settings: Settings,
    last: Option<i64>,
    names: Names,
    history: History,
    recent: Recent,
    seen: BTreeMap<String, Seen>,
    marks: Marks,
    open: Vec<Finding>,
}

/// When an instance had attempts.
#[derive(Debug, Clone, Copy)]
struct Seen {
    last: i64,
    /// When it came, or came back; none when it was there from the beginning.
    since: Option<i64>,
}

/// What one look at a window gave.
struct Looked {
    ended: Vec<Ended>,
    /// In which ways somebody was bad, or all.
    ways: Vec<Outcome>,
    past: Option<Past>,
    /// Who could not be judged.
    thin: BTreeSet<String>,
}

fn thin_rows(judge: &Judge<'_>) -> BTreeSet<String> {
    let rows = judge.grid.rows.iter().zip(judge.thin());
    rows.filter(|(_, thin)| *thin).map(|(row, _)| row.name.to_owned()).collect()
}

impl Engine {
    pub fn new(pool: &str, settings: &Settings) -> Self {
        Self {
            pool: pool.to_owned(),
            settings: settings.clone(),
            last: None,
            names: Names::default(),
            history: History::default(),
            recent: Recent::default(),
            seen: BTreeMap::new(),
            marks: Marks::default(),
            open: Vec::new(),
        }
    }

    /// Continues from what [`Engine::state`] gave. `history`: the windows before the next one, oldest
    /// first, [`EngineState::history_from`] on; fewer are fine, they are only remembered less well.
    pub fn restore(
        pool: &str,
        settings: &Settings,
        state: EngineState,
        history: impl IntoIterator<Item = Window>,
    ) -> Self {
        let mut engine = Self::new(pool, settings);
        let known = state.version == EngineState::VERSION;
        let dirty: BTreeMap<i64, Vec<Outcome>> = state.dirty.into_iter().collect();
        for window in history {
            if state.last.is_some_and(|last| window.index > last) {
                break;
            }
            engine.arrive(&window);
            let ways = dirty.get(&window.index).cloned().unwrap_or_default();
            engine.refile(window, ways);
        }
        engine.open = state.open;
        engine.last = state.last.or(engine.last);
        if known {
            engine.marks = state.marks;
        }
        engine
    }

    /// What must be stored to go on in another process: what is open and what was seen lately of whom.
    /// Spreads and baselines are not in it, they are recomputed from the windows.
    pub fn state(&self) -> EngineState {
        EngineState {
            version: EngineState::VERSION,
            last: self.last,
            open: self.open.clone(),
            marks: self.marks.clone(),
            dirty: self.history.dirty().map(|(index, ways)| (index, ways.to_vec())).collect(),
        }
    }

    /// Judges the next window. A window that is not newer than the last one is ignored; what is missing
    /// between is taken as windows without a line.
    pub fn judge(&mut self, window: Window, context: &Context<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(last) = self.last {
            if window.index <= last {
                return changes;
            }
            let first = (last + 1).max(window.index - SPANS[1] as i64 - 1);
            for missing in first..window.index {
                changes.extend(self.judge_one(Window::new(missing), context));
            }
        }
        changes.extend(self.judge_one(window, context));
        changes
    }

    /// What is open, in the order of rank.
    pub fn open(&self) -> &[Finding] {
        &self.open
    }

    /// The pool that is judged.
    pub fn pool(&self) -> &str {
        &self.pool
    }

    /// The index of the last window that was judged.
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// Seconds of a window.
    pub fn window_s(&self) -> u32 {
        self.settings.window_s.max(1)
    }

    fn judge_one(&mut self, window: Window, context: &Context<'_>) -> Vec<Change> {
        let at = window.index;
        self.arrive(&window);
        let mut looked = self.look(&window, 1, &BTreeSet::new(), context);
        self.count_probes(&window, context);
        let past = looked.past.take();
        self.recent.push(window, std::mem::take(&mut looked.thin));
        for span in SPANS.into_iter().filter(|span| (at + 1).rem_euclid(*span as i64) == 0) {
            if let Some(more) = self.look_back(at, span, context) {
                looked.ended.extend(more.ended);
                looked.ways.extend(more.ways);
            }
        }
        looked.ways.extend(self.frozen(at));
        looked.ways.sort_unstable();
        looked.ways.dedup();
        self.note_chronic(context);
        if let (Some(past), Some(kept)) = (past, self.recent.pop()) {
            self.remember(past, &kept.window, context, looked.ways);
            self.recent.put_back(kept);
        }
        self.last = Some(at);
        self.settle(looked.ended, context)
    }

    /// Files a window that was judged before.
    fn refile(&mut self, window: Window, ways: Vec<Outcome>) {
        let context = Context::default();
        let grid = self.grid(&window, &context);
        let judge = Judge::new(&grid, &self.history, window.index, 1);
        let thin = thin_rows(&judge);
        if !grid.rows.is_empty() {
            let past = Past::new(window.index, &grid, &judge.errors, &judge.slow, &judge.blank);
            self.history.push(past, &grid, ways, false);
        }
        self.last = self.last.max(Some(window.index));
        self.recent.push(window, thin);
    }

    /// Notes who has attempts, and who is new by that.
    fn arrive(&mut self, window: &Window) {
        let first = self.history.is_empty() && self.seen.is_empty();
        for (name, cells) in &window.cells {
            if cells.values().all(|cell| cell.attempts == 0) {
                continue;
            }
            let at = window.index;
            match self.seen.get_mut(name) {
                Some(seen) => {
                    if at - seen.last > AWAY {
                        seen.since = Some(at);
                    }
                    seen.last = at;
                }
                None => {
                    let since = (!first).then_some(at);
                    self.seen.insert(name.clone(), Seen { last: at, since });
                }
            }
        }
        let day = FROZEN_S / i64::from(self.window_s());
        self.seen.retain(|_, seen| window.index - seen.last <= day.max(WINDOWS_NEEDED));
    }

    fn is_warming(&self, name: &str, at: i64, context: &Context<'_>) -> bool {
        let since = self.seen.get(name).and_then(|seen| seen.since);
        let new = since.is_some_and(|since| {
            (at - since) * i64::from(self.window_s()) < i64::from(self.settings.warm_up_s)
        });
        new || context.warming.contains(name)
    }

    fn grid<'w>(&mut self, window: &'w Window, context: &Context<'_>) -> Grid<'w> {
        let mut grid = Grid::new(window, &mut self.names, context.draining);
        for row in &mut grid.rows {
            row.warming = self.is_warming(row.name, window.index, context);
        }
        grid
    }

    /// Judges one window, or several taken together, and moves the marks. `only`: who may be named from
    /// several.
    fn look(
        &mut self,
        window: &Window,
        span: usize,
        only: &BTreeSet<String>,
        context: &Context<'_>,
    ) -> Looked {
        let grid = self.grid(window, context);
        let may = |name: &str| span == 1 || only.contains(name);
        let may: Vec<bool> = grid.rows.iter().map(|row| may(row.name)).collect();
        let judge = Judge::new(&grid, &self.history, window.index, span as u32);
        let mut round = judge.round(&may);
        if span > 1 && !self.recent.is_quiet(window.index, span) {
            // All together are judged window by window wherever that can be done.
            round.hits.retain(|hit| matches!(hit.subject, Subject::Instance(_) | Subject::Differs));
        }
        let holes = self.marks.on().filter(|mark| mark.outcome == Outcome::BlackHole);
        let holes: Vec<String> =
            holes.filter_map(|mark| mark.instance()).map(str::to_owned).collect();
        conjunction::conclude(&judge, context.weights, &holes, &mut round);
        let mut ways = round.gated.clone();
        ways.extend(round.hits.iter().map(|hit| hit.outcome));
        let past = (span == 1 && !grid.rows.is_empty())
            .then(|| Past::new(window.index, &grid, &judge.errors, &judge.slow, &judge.blank));
        let thin = thin_rows(&judge);
        let rows: Vec<&str> = grid.rows.iter().map(|row| row.name).collect();
        let attempts = |name: &str| {
            let row = grid.rows.iter().find(|row| row.name == name);
            row.map_or(0, |row| row.all.attempts)
        };
        let ended = self.marks.update(window.index, span as u32, round, &rows, &thin, attempts);
        Looked { ended, ways, past, thin }
    }

    /// The same over the last windows together, for those who cannot be judged by fewer.
    fn look_back(&mut self, at: i64, span: usize, context: &Context<'_>) -> Option<Looked> {
        let thin = self.thin_over(at, span, context);
        (!thin.is_empty()).then(|| self.look(&self.recent.together(at, span), span, &thin, context))
    }

    /// Who could not be judged by any of the last `span` windows, nor by five of them together.
    fn thin_over(&mut self, at: i64, span: usize, context: &Context<'_>) -> BTreeSet<String> {
        let mut thin = self.recent.thin(at, span);
        if span > SPANS[0] && !thin.is_empty() {
            for part in 0..span / SPANS[0] {
                let part = self.recent.together(at - (part * SPANS[0]) as i64, SPANS[0]);
                let grid = self.grid(&part, context);
                let still = thin_rows(&Judge::new(&grid, &self.history, part.index, 1));
                thin.retain(|name| still.contains(name) || !part.cells.contains_key(name));
            }
        }
        thin
    }

    /// Health checks count for whoever is under suspicion.
    fn count_probes(&mut self, window: &Window, context: &Context<'_>) {
        for mark in self.marks.iter_mut() {
            let Some(name) = mark.instance().map(str::to_owned) else { continue };
            let cells = window.cells.get(&name).into_iter().flat_map(BTreeMap::values);
            for cell in cells {
                mark.probes.passed += cell.probes_passed;
                mark.probes.failed += cell.probes_failed;
            }
            if let Some(more) = context.probes.get(&name) {
                mark.probes.passed += more.passed;
                mark.probes.failed += more.failed;
            }
        }
    }

    /// Outcomes whose baseline stays as it was because something is open.
    fn frozen(&self, at: i64) -> Vec<Outcome> {
        let limit = FROZEN_S / i64::from(self.window_s());
        let fresh = self.marks.on().filter(|mark| at - mark.since <= limit);
        fresh.map(|mark| mark.outcome).collect()
    }

    fn note_chronic(&mut self, context: &Context<'_>) {
        let window_us = i64::from(self.window_s()) * 1_000_000;
        for mark in self.marks.iter_mut().filter(|mark| mark.on && mark.last_hit - mark.since <= 2)
        {
            mark.chronic = chronic::is_chronic(mark, context.history, mark.since * window_us);
        }
    }

    /// Files a window as it was judged.
    fn remember(&mut self, past: Past, window: &Window, context: &Context<'_>, ways: Vec<Outcome>) {
        let grid = self.grid(window, context);
        let frozen = self.marks.on().next().is_some();
        self.history.push(past, &grid, ways, frozen);
    }

    /// Compares what is to be open with what was.
    fn settle(&mut self, ended: Vec<Ended>, context: &Context<'_>) -> Vec<Change> {
        let window_s = self.window_s();
        let mut now = findings::compile(&self.pool, window_s, &self.marks, context.about);
        let mut changes = Vec::new();
        let found_us = self
            .settings
            .known_us((self.last.unwrap_or_default() + 1) * i64::from(window_s) * 1_000_000);
        for finding in &mut now {
            let key = key(finding);
            let Some(before) = self.open.iter().find(|other| self::key(other) == key) else {
                finding.found_us = found_us;
                changes.push(Change { key, step: Step::Opened, finding: finding.clone() });
                continue;
            };
            finding.from_us = finding.from_us.min(before.from_us);
            finding.found_us = before.found_us;
            if !finding.chronic {
                finding.severity = finding.severity.max(before.severity);
            }
            let same = (&before.instances, before.scope, before.severity, before.chronic)
                == (&finding.instances, finding.scope, finding.severity, finding.chronic);
            if !same {
                changes.push(Change { key, step: Step::Changed, finding: finding.clone() });
            } else if *before != *finding {
                changes.push(Change { key, step: Step::Refreshed, finding: finding.clone() });
            }
        }
        let window_us = i64::from(window_s) * 1_000_000;
        let at = self.last.unwrap_or_default();
        for mut before in std::mem::replace(&mut self.open, now) {
            let key = key(&before);
            if self.open.iter().any(|finding| self::key(finding) == key) {
                continue;
            }
            let (end, last_hit) = why(&before, &ended);
            // It lasted until the last window that showed it, or until something else took its place.
            let until = last_hit.unwrap_or(at) + 1;
            before.to_us = Some((until * window_us).max(before.from_us));
            changes.push(Change { key, step: Step::Closed(end), finding: before });
        }
        changes
    }
}

/// Why a finding is not open any more, and the last window that showed it: what is not among the marks
/// that ended is told by another finding now.
fn why(finding: &Finding, ended: &[Ended]) -> (End, Option<i64>) {
    let own = ended.iter().filter(|ended| {
        let named = match &ended.subject {
            Subject::Instance(name) => finding.instances.contains(name),
            Subject::Shared | Subject::Differs | Subject::Pool => finding.instances.is_empty(),
        };
        let contradicts = finding.kind == Kind::Contradiction;
        named && (ended.outcome.kind() == finding.kind || contradicts)
    });
    let mut ends: Vec<End> = own.clone().map(|ended| ended.end).collect();
    ends.dedup();
    let end = match ends.as_slice() {
        [] => End::Absorbed,
        [end] => *end,
        _ => End::Over,
    };
    (end, own.map(|ended| ended.last_hit).max())
}
