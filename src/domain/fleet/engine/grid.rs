//! One window as a table of instances and route classes, and how attempts and bad ones are counted in it.

use std::collections::{BTreeMap, BTreeSet};

use super::history::Names;
use super::outcome::is_told_apart;
use crate::domain::fleet::cell::{Cell, Window};
use crate::domain::sketch::Sketch;

/// At most so many codes are judged in one window: the most frequent.
const CODES: usize = 20;
/// Attempts in the window that are enough to take part.
pub(super) const ENOUGH: u64 = 20;
/// Slow is at least this much slower: logs tell whole milliseconds, and two of them are no news.
pub(super) const QUANTUM_US: u32 = 2_000;
/// Bodies smaller than this are small anyway.
const SMALLEST_BODY: u32 = 200;
/// Bodies of one route that an instance must have sent to be judged by them.
const BODIES: u64 = 30;

/// One window as rows (instances) and columns (route classes).
pub(super) struct Grid<'a> {
    pub rows: Vec<Row<'a>>,
    pub routes: Vec<(&'a str, u32)>,
}

pub(super) struct Row<'a> {
    pub name: &'a str,
    pub id: u32,
    /// New or returned: not compared, unless all it does is bad.
    pub warming: bool,
    /// By column.
    pub cells: Vec<Option<&'a Cell>>,
    pub all: Sums,
}

/// An instance over its route classes.
#[derive(Debug, Default, Clone)]
pub(super) struct Sums {
    pub attempts: u64,
    pub clients: u64,
    pub errors: u64,
    pub codes: BTreeMap<u16, u64>,
}

/// Attempts and bad ones by row and column, and by row.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    width: usize,
    cells: Vec<(u64, u64)>,
    pub flat: Vec<(u64, u64)>,
}

impl<'a> Grid<'a> {
    /// Leaves out who is draining and who has nothing to be judged by.
    pub(super) fn new(window: &'a Window, names: &mut Names, draining: &BTreeSet<String>) -> Self {
        let mut slots: rustc_hash::FxHashMap<&str, usize> = rustc_hash::FxHashMap::default();
        let mut routes = Vec::new();
        let mut rows = Vec::with_capacity(window.cells.len());
        for (name, cells) in window.cells.iter().filter(|(name, _)| !draining.contains(*name)) {
            let mut all = Sums::default();
            let mut by_slot: Vec<Option<&Cell>> = vec![None; routes.len()];
            for (route, cell) in cells {
                let slot = *slots.entry(route).or_insert_with(|| {
                    routes.push((route.as_str(), names.route(route)));
                    routes.len() - 1
                });
                by_slot.resize(by_slot.len().max(slot + 1), None);
                by_slot[slot] = Some(cell);
                all.add(cell);
            }
            if all.attempts + all.clients > 0 {
                rows.push(Row {
                    name,
                    id: names.instance(name),
                    warming: false,
                    cells: by_slot,
                    all,
                });
            }
        }
        for row in &mut rows {
            row.cells.resize(routes.len(), None);
        }
        Self { rows, routes }
    }

    fn counts(&self, of: impl Fn(&Cell, usize) -> (u64, u64)) -> Counts {
        let width = self.routes.len();
        let mut cells = vec![(0, 0); width * self.rows.len()];
        let mut flat = vec![(0, 0); self.rows.len()];
        for (i, row) in self.rows.iter().enumerate() {
            for (slot, cell) in row.cells.iter().enumerate() {
                let Some(cell) = cell else { continue };
                let (n, e) = of(cell, slot);
                let e = e.min(n);
                cells[i * width + slot] = (n, e);
                flat[i].0 += n;
                flat[i].1 += e;
            }
        }
        Counts { width, cells, flat }
    }

    pub(super) fn errors(&self) -> Counts {
        self.counts(|cell, _| (cell.attempts, cell.errors()))
    }

    /// A client that went away is in no other denominator but that of its own code.
    pub(super) fn code(&self, code: u16) -> Counts {
        self.counts(|cell, _| {
            let bad = cell.codes.get(&code).copied().unwrap_or_default();
            (if code == 499 { cell.attempts + cell.clients } else { cell.attempts }, bad)
        })
    }

    /// Attempts over the limit of their column, in µs; a column without one is left out.
    pub(super) fn slow(&self, limits: &[Option<u32>]) -> Counts {
        self.counts(|cell, slot| match limits[slot] {
            Some(limit) => (cell.latency.count(), cell.latency.over(limit)),
            None => (0, 0),
        })
    }

    /// Answers under the limit of their column, in bytes.
    pub(super) fn blank(&self, limits: &[Option<u32>]) -> Counts {
        self.counts(|cell, slot| match limits[slot] {
            Some(limit) => (cell.sizes.count(), cell.sizes.under(limit)),
            None => (0, 0),
        })
    }

    /// By column: the median of the instances' p90s, which no minority can move.
    pub(super) fn slow_limits(&self) -> Vec<Option<u32>> {
        self.medians(|cell| {
            (cell.latency.count() >= ENOUGH).then(|| cell.latency.quantile(0.9)).flatten()
        })
        .into_iter()
        .map(|p90| p90.map(|p90| p90.saturating_add(QUANTUM_US)))
        .collect()
    }

    /// By column: a quarter of the median of the instances' p10s.
    pub(super) fn blank_limits(&self) -> Vec<Option<u32>> {
        self.medians(|cell| {
            (cell.sizes.count() >= BODIES).then(|| cell.sizes.quantile(0.1)).flatten()
        })
        .into_iter()
        .map(|p10| p10.filter(|p10| *p10 >= SMALLEST_BODY).map(|p10| p10 / 4))
        .collect()
    }

    fn medians(&self, of: impl Fn(&Cell) -> Option<u32>) -> Vec<Option<u32>> {
        let mut values = Vec::with_capacity(self.rows.len());
        (0..self.routes.len())
            .map(|slot| {
                values.clear();
                values.extend(self.rows.iter().filter_map(|row| row.cells[slot].and_then(&of)));
                values.sort_unstable();
                values.get(values.len().saturating_sub(1) / 2).copied()
            })
            .collect()
    }

    /// Latencies of some rows in one column, together.
    pub(super) fn latency(&self, rows: &[usize], slot: usize) -> Sketch {
        self.merged(rows, slot, |cell| &cell.latency)
    }

    /// Sizes of bodies, likewise.
    pub(super) fn sizes(&self, rows: &[usize], slot: usize) -> Sketch {
        self.merged(rows, slot, |cell| &cell.sizes)
    }

    fn merged(&self, rows: &[usize], slot: usize, of: impl Fn(&Cell) -> &Sketch) -> Sketch {
        let mut sketch = Sketch::default();
        for cell in rows.iter().filter_map(|row| self.rows[*row].cells[slot]) {
            sketch.merge(of(cell));
        }
        sketch
    }

    /// By column: p90 of the peers' attempts plus the quantum; none where fewer than 50 are known.
    pub(super) fn slow_limits_of(&self, peers: &[usize]) -> Vec<Option<u32>> {
        (0..self.routes.len())
            .map(|slot| {
                let peers = self.latency(peers, slot);
                (peers.count() >= super::judge::FEWEST)
                    .then(|| peers.quantile(0.9))
                    .flatten()
                    .map(|p90| p90.saturating_add(QUANTUM_US))
            })
            .collect()
    }

    /// By column: a quarter of the p10 of the peers' bodies, where the row has enough of its own.
    pub(super) fn blank_limits_of(&self, row: usize, peers: &[usize]) -> Vec<Option<u32>> {
        (0..self.routes.len())
            .map(|slot| {
                let own = self.rows[row].cells[slot].map_or(0, |cell| cell.sizes.count());
                let p10 = (own >= BODIES).then(|| self.sizes(peers, slot).quantile(0.1)).flatten();
                p10.filter(|p10| *p10 >= SMALLEST_BODY).map(|p10| p10 / 4)
            })
            .collect()
    }

    /// The quantile of one row and of others in the columns where both have enough, in µs, both weighted
    /// by the row's own mix of routes. None without such a column.
    pub(super) fn quantiles(
        &self,
        row: usize,
        others: &[usize],
        slots: &[usize],
        q: f64,
    ) -> Option<(f64, f64)> {
        let (mut own_sum, mut other_sum, mut weight) = (0.0, 0.0, 0.0);
        for slot in slots {
            let Some(cell) = self.rows[row].cells[*slot] else { continue };
            let theirs = self.latency(others, *slot);
            let (Some(own), Some(other)) = (cell.latency.quantile(q), theirs.quantile(q)) else {
                continue;
            };
            let n = cell.latency.count() as f64;
            own_sum += n * f64::from(own);
            other_sum += n * f64::from(other);
            weight += n;
        }
        (weight > 0.0).then(|| (own_sum / weight, other_sum / weight))
    }

    /// The columns with the most attempts.
    pub(super) fn busiest(&self, errors: &Counts, most: usize) -> Vec<usize> {
        let mut slots: Vec<usize> = (0..self.routes.len()).collect();
        let total =
            |slot: usize| (0..self.rows.len()).map(|row| errors.at(row, slot).0).sum::<u64>();
        slots.sort_by_cached_key(|slot| std::cmp::Reverse(total(*slot)));
        slots.truncate(most);
        slots
    }

    /// The codes to judge: frequent enough that somebody could be named for one.
    pub(super) fn codes(&self) -> Vec<u16> {
        let mut sums: BTreeMap<u16, u64> = BTreeMap::new();
        for row in &self.rows {
            for (code, count) in row.all.codes.iter().filter(|(code, _)| is_told_apart(**code)) {
                *sums.entry(*code).or_default() += count;
            }
        }
        let mut codes: Vec<(u64, u16)> = sums
            .into_iter()
            .filter(|(_, count)| *count >= super::judge::FEWEST_BAD)
            .map(|(c, n)| (n, c))
            .collect();
        codes.sort_unstable_by(|a, b| b.cmp(a));
        codes.into_iter().take(CODES).map(|(_, code)| code).collect()
    }
}

impl Counts {
    pub(super) fn at(&self, row: usize, slot: usize) -> (u64, u64) {
        self.cells[row * self.width + slot]
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }
}

impl Sums {
    fn add(&mut self, cell: &Cell) {
        self.attempts += cell.attempts;
        self.clients += cell.clients;
        self.errors += cell.errors();
        for (code, count) in &cell.codes {
            *self.codes.entry(*code).or_default() += count;
        }
    }
}

/// Share of `e` in `n`; 0 of nothing.
pub(super) fn share((n, e): (u64, u64)) -> f64 {
    if n == 0 { 0.0 } else { e as f64 / n as f64 }
}
