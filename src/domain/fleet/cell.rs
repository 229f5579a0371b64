//! Additive sums per window, instance and route class: all that is kept of requests. Two sums of parts
//! are the sum of the whole, in any order, so that what is counted line by line, file by file or batch by
//! batch is the same.

use std::collections::BTreeMap;

use crate::domain::sketch::Sketch;

/// One instance in one route class in one window. Attempts whose outcome is the client's or the proxy's
/// are in `clients` and `proxies` and in nothing else but `codes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Attempts that say something of the instance, good or bad: the denominator of every share.
    pub attempts: u64,
    /// Attempts of which nothing is known but that they were made.
    pub unknown: u64,
    /// Left out of denominators: the client went away.
    pub clients: u64,
    /// Left out of denominators: the balancer answered by itself.
    pub proxies: u64,
    /// Bad attempts by [`super::record::Fault`].
    pub faults: Faults,
    /// Bad attempts that another attempt made good: no user saw them.
    pub rescued: u64,
    /// Attempts by status, of those in `attempts`.
    pub codes: BTreeMap<u16, u64>,
    /// Time to answer, in µs, of those in `attempts` that have one.
    pub latency: Sketch,
    /// Bytes of the bodies of plain 2xx answers to GET: what blank pages are told by.
    pub sizes: Sketch,
    pub bytes: u64,
    pub probes_passed: u64,
    pub probes_failed: u64,
    /// µs since the Unix epoch of the first and the last attempt that ended here.
    pub first_us: Option<i64>,
    pub last_us: Option<i64>,
}

/// Bad attempts by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    pub status: u64,
    pub connect: u64,
    pub timeout: u64,
    pub reset: u64,
}

/// What happened to requests of a pool in one window without an instance to name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolCell {
    /// Requests by clients, each once, however often they were tried.
    pub requests: u64,
    /// Requests that ended badly for the client by the fleet's fault.
    pub failed: u64,
    /// Nobody could be chosen.
    pub empty: u64,
    /// The balancer went elsewhere after a failure on a server that it does not name.
    pub redispatched: u64,
    pub clients: u64,
    pub proxies: u64,
    /// Answers to clients by status.
    pub codes: BTreeMap<u16, u64>,
    /// How many of those that did not fail were quick enough, by bound in µs: the bounds that somebody
    /// asked for when the lines were read.
    pub timed: BTreeMap<u32, Timed>,
}

/// Requests held against one bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timed {
    /// Requests that did not fail and of which it is known whether they took longer.
    pub judged: u64,
    /// Of these, those that did.
    pub slow: u64,
}

/// One window of one pool: what the engine judges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Windows since the Unix epoch: with the usual length, minutes.
    pub index: i64,
    pub pool: PoolCell,
    /// By instance and route class.
    pub cells: BTreeMap<String, BTreeMap<String, Cell>>,
}

impl Faults {
    pub fn total(&self) -> u64 {
        self.status + self.connect + self.timeout + self.reset
    }

    pub fn merge(&mut self, other: &Self) {
        self.status += other.status;
        self.connect += other.connect;
        self.timeout += other.timeout;
        self.reset += other.reset;
    }
}

impl Cell {
    pub fn errors(&self) -> u64 {
        self.faults.total()
    }

    pub fn merge(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.unknown += other.unknown;
        self.clients += other.clients;
        self.proxies += other.proxies;
        self.faults.merge(&other.faults);
        self.rescued += other.rescued;
        merge_codes(&mut self.codes, &other.codes);
        self.latency.merge(&other.latency);
        self.sizes.merge(&other.sizes);
        // Whatever a line says of its bytes; still the same in any order.
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.probes_passed += other.probes_passed;
        self.probes_failed += other.probes_failed;
        self.first_us = [self.first_us, other.first_us].into_iter().flatten().min();
        self.last_us = self.last_us.max(other.last_us);
    }
}

impl PoolCell {
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.failed += other.failed;
        self.empty += other.empty;
        self.redispatched += other.redispatched;
        self.clients += other.clients;
        self.proxies += other.proxies;
        merge_codes(&mut self.codes, &other.codes);
        for (bound, timed) in &other.timed {
            let mine = self.timed.entry(*bound).or_default();
            mine.judged += timed.judged;
            mine.slow += timed.slow;
        }
    }
}

impl Window {
    pub fn new(index: i64) -> Self {
        Self { index, ..Self::default() }
    }

    /// Adds another sum of the same window.
    pub fn merge(&mut self, other: &Self) {
        self.pool.merge(&other.pool);
        for (instance, routes) in &other.cells {
            let mine = self.cells.entry(instance.clone()).or_default();
            for (route, cell) in routes {
                mine.entry(route.clone()).or_default().merge(cell);
            }
        }
    }

    /// One instance over all its routes.
    pub fn instance(&self, name: &str) -> Cell {
        let mut all = Cell::default();
        for cell in self.cells.get(name).into_iter().flat_map(BTreeMap::values) {
            all.merge(cell);
        }
        all
    }
}

fn merge_codes(mine: &mut BTreeMap<u16, u64>, other: &BTreeMap<u16, u64>) {
    for (code, count) in other {
        *mine.entry(*code).or_default() += count;
    }
}
