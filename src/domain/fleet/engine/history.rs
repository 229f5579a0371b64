//! What is remembered of earlier windows: counts by instance, who was judged bad in them, and latencies
//! of the clean ones. Everything here is made again from the windows themselves after a restart.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::grid::{Counts, Grid};
use super::outcome::{Outcome, is_told_apart};
use super::stats::Spread;
use crate::domain::sketch::Sketch;

/// Windows from which the spread between instances is learned.
pub(super) const SPREAD_WINDOWS: usize = 30;
/// Clean windows that make a baseline.
pub(super) const BASE_WINDOWS: usize = 60;
/// Fewer own clean windows than this, and the pool's share stands in.
pub(super) const OWN_WINDOWS: u64 = 10;
/// Windows kept while nothing is open; with a baseline to keep frozen, up to a day.
const KEPT: usize = super::WINDOWS_NEEDED as usize;
/// Route classes whose latencies are remembered: the busiest.
const ROUTES: usize = 20;

/// Names of instances and route classes as small numbers.
#[derive(Debug, Default)]
pub(super) struct Names {
    instances: FxHashMap<String, u32>,
    routes: FxHashMap<String, u32>,
}

/// Counts of one window.
#[derive(Debug)]
pub(super) struct Past {
    pub index: i64,
    rows: Vec<PastRow>,
    /// By instance and route class, of errors and of slow attempts; dropped once no spread needs them.
    cells: Vec<PastCell>,
    /// In which ways somebody was judged bad then, or all together.
    dirty: Vec<Outcome>,
}

#[derive(Debug)]
struct PastRow {
    id: u32,
    attempts: u64,
    clients: u64,
    errors: u64,
    slow: (u64, u64),
    blank: (u64, u64),
    codes: SmallVec<[(u16, u64); 4]>,
}

#[derive(Debug)]
struct PastCell {
    id: u32,
    route: u32,
    errors: (u64, u64),
    slow: (u64, u64),
}

/// The last windows with attempts, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    past: VecDeque<Past>,
    latency: Latencies,
}

/// Latencies of the last clean windows, by instance and route class.
#[derive(Debug, Default)]
struct Latencies {
    ring: VecDeque<Vec<(u32, u32, Sketch)>>,
    own: FxHashMap<(u32, u32), Sketch>,
}

/// Counts of the baseline of one outcome: attempts, bad ones and windows, by instance and of all.
#[derive(Debug, Default)]
pub(super) struct Base {
    own: FxHashMap<u32, (u64, u64, u64)>,
    pool: (u64, u64, u64),
    /// Spread in the last 30 baseline windows, not held within bounds.
    pub rho: f64,
}

impl Names {
    pub(super) fn instance(&mut self, name: &str) -> u32 {
        number(&mut self.instances, name)
    }

    pub(super) fn route(&mut self, name: &str) -> u32 {
        number(&mut self.routes, name)
    }
}

fn number(known: &mut FxHashMap<String, u32>, name: &str) -> u32 {
    if let Some(number) = known.get(name) {
        return *number;
    }
    let number = u32::try_from(known.len()).unwrap_or(u32::MAX);
    known.insert(name.to_owned(), number);
    number
}

impl Past {
    /// The counts of a window as it was judged: slow and blank by the limits of its whole pool.
    pub(super) fn new(
        index: i64,
        grid: &Grid<'_>,
        errors: &Counts,
        slow: &Counts,
        blank: &Counts,
    ) -> Self {
        let rows = grid.rows.iter().enumerate().map(|(i, row)| PastRow {
            id: row.id,
            attempts: row.all.attempts,
            clients: row.all.clients,
            errors: errors.flat[i].1,
            slow: slow.flat[i],
            blank: blank.flat[i],
            codes: told_apart(&row.all.codes),
        });
        let mut cells = Vec::new();
        for (i, row) in grid.rows.iter().enumerate() {
            for (slot, (_, route)) in grid.routes.iter().enumerate() {
                if row.cells[slot].is_some() {
                    let (errors, slow) = (errors.at(i, slot), slow.at(i, slot));
                    cells.push(PastCell { id: row.id, route: *route, errors, slow });
                }
            }
        }
        Self { index, rows: rows.collect(), cells, dirty: Vec::new() }
    }

    fn is_clean(&self, outcome: Outcome) -> bool {
        !self.dirty.contains(&outcome)
    }
}

fn told_apart(codes: &std::collections::BTreeMap<u16, u64>) -> SmallVec<[(u16, u64); 4]> {
    codes.iter().filter(|(code, _)| is_told_apart(**code)).map(|(code, n)| (*code, *n)).collect()
}

impl PastRow {
    fn flat(&self, outcome: Outcome) -> (u64, u64) {
        match outcome {
            Outcome::BlackHole | Outcome::Errors => (self.attempts, self.errors),
            Outcome::Latency => self.slow,
            Outcome::Blank => self.blank,
            Outcome::Code(code) => {
                let n = if code == 499 { self.attempts + self.clients } else { self.attempts };
                let e = self.codes.iter().find(|(other, _)| *other == code).map_or(0, |(_, e)| *e);
                (n, e.min(n))
            }
        }
    }
}

impl PastCell {
    fn flat(&self, outcome: Outcome) -> (u64, u64) {
        if outcome == Outcome::Latency { self.slow } else { self.errors }
    }
}

impl History {
    /// Windows that can tell of a spread, at most 30.
    pub(super) fn windows(&self) -> usize {
        self.past.len().min(SPREAD_WINDOWS)
    }

    /// Adds up the spread of the windows before the current one, among the instances in `among`.
    pub(super) fn spread(
        &self,
        outcome: Outcome,
        route: Option<u32>,
        among: &[u32],
        spread: &mut Spread,
    ) {
        let mut counts: SmallVec<[(u64, u64); 24]> = SmallVec::new();
        for past in self.past.iter().rev().take(SPREAD_WINDOWS - 1) {
            counts.clear();
            match route {
                None => {
                    let rows = past.rows.iter().filter(|row| among.contains(&row.id));
                    counts.extend(rows.map(|row| row.flat(outcome)));
                }
                Some(route) => {
                    let cells = past.cells.iter().filter(|cell| cell.route == route);
                    let cells = cells.filter(|cell| among.contains(&cell.id));
                    counts.extend(cells.map(|cell| cell.flat(outcome)));
                }
            }
            spread.add(counts.iter().copied().filter(|(n, _)| *n > 0));
        }
    }

    /// What was usual: the last 60 windows in which nothing was open or judged bad in this way.
    pub(super) fn base(&self, outcome: Outcome) -> Base {
        self.base_before(outcome, i64::MAX)
    }

    /// The same of windows before `index`.
    pub(super) fn base_before(&self, outcome: Outcome, index: i64) -> Base {
        let mut base = Base::default();
        let mut spread = Spread::default();
        let before = self.past.iter().rev().filter(|past| past.index < index);
        let clean = before.filter(|past| past.is_clean(outcome));
        for (seen, past) in clean.take(BASE_WINDOWS).enumerate() {
            let counts = past.rows.iter().map(|row| row.flat(outcome)).filter(|(n, _)| *n > 0);
            if seen < SPREAD_WINDOWS {
                spread.add(counts.clone());
            }
            for row in &past.rows {
                let (n, e) = row.flat(outcome);
                if n > 0 {
                    let own = base.own.entry(row.id).or_default();
                    *own = (own.0 + n, own.1 + e, own.2 + 1);
                    base.pool = (base.pool.0 + n, base.pool.1 + e, base.pool.2);
                }
            }
            base.pool.2 += 1;
        }
        base.rho = spread.rho();
        base
    }

    /// Attempts and bad ones of one instance in the windows from `first` on that are filed.
    pub(super) fn sum_from(&self, outcome: Outcome, first: i64, id: u32) -> (u64, u64) {
        let recent = self.past.iter().rev().take_while(|past| past.index >= first);
        let rows = recent.flat_map(|past| past.rows.iter().filter(|row| row.id == id));
        rows.map(|row| row.flat(outcome)).fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e))
    }

    /// Usual attempts in a window of one instance, over the baseline of its errors; none when it has
    /// fewer than ten windows.
    pub(super) fn usual_traffic(&self, id: u32) -> Option<f64> {
        let (n, _, windows) = self.base(Outcome::Errors).own.get(&id).copied()?;
        (windows >= OWN_WINDOWS).then(|| n as f64 / windows as f64)
    }

    /// The usual p90 in µs of one instance on one route class; none of fewer than 50 attempts.
    pub(super) fn usual_p90(&self, id: u32, route: u32) -> Option<u32> {
        let own = self.latency.own.get(&(id, route))?;
        (own.count() >= super::judge::FEWEST).then(|| own.quantile(0.9)).flatten()
    }

    /// The same of all instances together.
    pub(super) fn pool_p90(&self, route: u32) -> Option<u32> {
        let mut pool = Sketch::default();
        for (_, part) in self.latency.own.iter().filter(|((_, other), _)| *other == route) {
            pool.merge(part);
        }
        (pool.count() >= super::judge::FEWEST).then(|| pool.quantile(0.9)).flatten()
    }

    /// How many windows stand behind [`History::usual_p90`].
    pub(super) fn latency_windows(&self) -> usize {
        self.latency.ring.len()
    }

    /// Remembers a window that was judged. `frozen`: a baseline is still needed that may be older than
    /// what is kept otherwise.
    pub(super) fn push(
        &mut self,
        mut past: Past,
        grid: &Grid<'_>,
        dirty: Vec<Outcome>,
        frozen: bool,
    ) {
        past.dirty = dirty;
        if past.is_clean(Outcome::Latency) {
            self.latency.push(grid);
        }
        self.past.push_back(past);
        let day = KEPT.max(BASE_WINDOWS + 1_440);
        while self.past.len() > if frozen { day } else { KEPT } {
            self.past.pop_front();
        }
        if let Some(old) = self.past.len().checked_sub(SPREAD_WINDOWS)
            && let Some(past) = self.past.get_mut(old)
        {
            past.cells = Vec::new();
        }
    }

    /// The windows in which somebody was judged bad, or all together, oldest first.
    pub(super) fn dirty(&self) -> impl Iterator<Item = (i64, &[Outcome])> {
        let dirty = self.past.iter().filter(|past| !past.dirty.is_empty());
        dirty.map(|past| (past.index, past.dirty.as_slice()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.past.is_empty()
    }
}

impl Base {
    /// Attempts and bad ones to hold an instance against: its own, or the pool's when it has fewer than
    /// ten windows. None before the first clean window.
    pub(super) fn of(&self, id: u32) -> Option<(u64, u64)> {
        match self.own.get(&id) {
            Some((n, e, windows)) if *windows >= OWN_WINDOWS => Some((*n, *e)),
            _ => (self.pool.0 > 0).then_some((self.pool.0, self.pool.1)),
        }
    }

    /// Windows that stand behind the pool's share.
    pub(super) fn windows(&self) -> u64 {
        self.pool.2
    }

    pub(super) fn pool(&self) -> (u64, u64) {
        (self.pool.0, self.pool.1)
    }
}

impl Latencies {
    fn push(&mut self, grid: &Grid<'_>) {
        let mut busiest: Vec<usize> = (0..grid.routes.len()).collect();
        if busiest.len() > ROUTES {
            let attempts = |slot: usize| {
                let cells = grid.rows.iter().filter_map(|row| row.cells[slot]);
                cells.map(|cell| cell.attempts).sum::<u64>()
            };
            busiest.sort_by_cached_key(|slot| std::cmp::Reverse(attempts(*slot)));
            busiest.truncate(ROUTES);
        }
        let mut window = Vec::new();
        for row in grid.rows.iter().filter(|row| !row.warming) {
            for slot in &busiest {
                let Some(cell) = row.cells[*slot].filter(|cell| cell.latency.count() > 0) else {
                    continue;
                };
                let (id, route) = (row.id, grid.routes[*slot].1);
                self.own.entry((id, route)).or_default().merge(&cell.latency);
                window.push((id, route, cell.latency.clone()));
            }
        }
        self.ring.push_back(window);
        while self.ring.len() > BASE_WINDOWS {
            for (id, route, latency) in self.ring.pop_front().into_iter().flatten() {
                self.take_back((id, route), &latency);
            }
        }
    }

    fn take_back(&mut self, key: (u32, u32), part: &Sketch) {
        if let Some(sum) = self.own.get_mut(&key) {
            sum.subtract(part);
            if sum.count() == 0 {
                self.own.remove(&key);
            }
        }
    }
}
