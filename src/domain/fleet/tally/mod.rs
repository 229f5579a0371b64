//! From records to sums, line by line. Two tallies of parts merge to the tally of the whole: exactly, and
//! in any order, but for two things that follow the order of the log: runs of failures, and which route
//! classes have a name of their own once there are more than [`MOST_ROUTES`].
//!
//! * [`names`]: instances and pools as numbers; [`routes`]: route classes as numbers.
//! * [`mod@count`]: one attempt into a cell. [`run`]: runs of failed attempts; [`failed`]: when attempts failed.

mod count;
mod failed;
mod names;
mod routes;
mod run;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use self::{
    count::{count, hold_against, left_out, note_probe, own_attempt, seen_at},
    failed::Failures,
    names::Names,
    routes::Routes,
    run::Trails,
};
use super::{
    beats::{Beats, Seen},
    cell::{Cell, PoolCell, Window},
    event::{Event, Source, What},
    probe,
    record::{Attempt, Attribution, Outcome, Record},
    settings::Settings,
};

pub use self::{failed::Failed, routes::MOST_ROUTES, run::Run};

/// Redispatches closer to one another than this are told as one: what counts is when they begin.
const REDISPATCH_US: i64 = 100_000;

/// Who wrote the lines, and what they may be used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceInfo {
    /// Tells sources apart within one tally; runs of failures are looked for in each of its own.
    pub id: u32,
    pub role: Role,
    /// The pool of lines that name none.
    pub pool: String,
    /// Whether its requests are counted: those of a balancer always, those of instances only when no
    /// balancer tells of the same requests.
    pub counts: bool,
}

/// What a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It asks instances and says whom.
    Balancer,
    /// This instance's own log: each request is an attempt at it.
    Instance(String),
}

/// Sums of requests that are not handed on yet.
#[derive(Debug, Clone)]
pub struct Tally {
    window_us: i64,
    /// What requests are held against, in µs.
    bounds: Vec<u32>,
    probe_paths: Vec<Vec<u8>>,
    instances: Names,
    pools: Names,
    routes: Routes,
    open: FxHashMap<(u32, i64), Open>,
    /// Checks seen in instances' own logs, and what they run.
    events: Vec<(u32, Event)>,
    versions: FxHashMap<u32, Box<[u8]>>,
    trails: Trails,
    failures: Failures,
    newest_us: Option<i64>,
}

/// One window of one pool that is handed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    pub pool: String,
    pub window: Window,
    /// When requests went elsewhere after a failure on a server that was not named, in µs; at most one
    /// for a tenth of a second.
    pub redispatched: Vec<i64>,
    /// Requests for the paths of health checks by nobody who is known to check.
    pub beats: Vec<Beats>,
}

/// One window while it is summed.
#[derive(Debug, Clone, Default)]
struct Open {
    pool: PoolCell,
    /// Where the cell of (instance, route) stands.
    at: FxHashMap<(u32, u32), usize>,
    cells: Vec<((u32, u32), Cell)>,
    redispatched: BTreeMap<i64, i64>,
    /// By instance, route, whether the log is the instance's own, and whether they are counted.
    beats: BTreeMap<(u32, u32, bool, bool), Seen>,
}

/// What all attempts of one request share.
struct Request {
    route: u32,
    source: u32,
    end_us: i64,
    /// A plain answer to GET, whose body can be compared.
    plain: bool,
    /// The last attempt went well.
    saved: bool,
}

impl Tally {
    pub fn new(settings: &Settings) -> Self {
        Self {
            window_us: i64::from(settings.window_s.max(1)) * 1_000_000,
            bounds: Vec::new(),
            probe_paths: settings.probe_paths.iter().map(|p| p.clone().into_bytes()).collect(),
            instances: Names::default(),
            pools: Names::default(),
            routes: Routes::new(MOST_ROUTES),
            open: FxHashMap::default(),
            events: Vec::new(),
            versions: FxHashMap::default(),
            trails: Trails::default(),
            failures: Failures::default(),
            newest_us: None,
        }
    }

    /// A tally of a part that is to be merged into another: only the whole knows which route classes came
    /// first, so this one keeps them all.
    pub fn part(settings: &Settings) -> Self {
        Self { routes: Routes::new(usize::MAX), ..Self::new(settings) }
    }

    /// From now on requests are held against these bounds, in µs.
    pub fn hold_against(&mut self, bounds: &[u32]) {
        if self.bounds != bounds {
            self.bounds = bounds.to_vec();
        }
    }

    /// Adds one request.
    pub fn add(&mut self, record: &Record<'_>, source: &SourceInfo) {
        self.newest_us = self.newest_us.max(Some(record.end_us));
        let pool = record.pool.unwrap_or(source.pool.as_bytes());
        let pool = self.pools.id(pool);
        let index = record.end_us.div_euclid(self.window_us);
        let check = probe::is_check(record, &self.probe_paths);
        let probe = check && record.user_agent.is_some_and(|agent| probe::is_prober(agent.raw));
        match &source.role {
            Role::Balancer => {
                if let Some(version) = record.version
                    && let [attempt] = record.attempts.as_slice()
                {
                    self.version(pool, attempt.instance, &version.decode(), record.end_us);
                }
                if probe {
                    self.probe_through(pool, index, record);
                } else {
                    self.request(pool, index, record, source.id, &record.attempts, check);
                    if check && let [attempt] = record.attempts.as_slice() {
                        self.beat(pool, index, record, attempt, (false, true));
                    }
                }
            }
            Role::Instance(name) => {
                if let Some(version) = record.version {
                    self.version(pool, name.as_bytes(), &version.decode(), record.end_us);
                }
                let own = own_attempt(name.as_bytes(), record);
                if probe {
                    self.probe_of(pool, index, name, &own, record);
                } else {
                    if source.counts {
                        self.request(pool, index, record, source.id, &[own], check);
                    }
                    if check {
                        self.beat(pool, index, record, &own, (true, source.counts));
                    }
                }
            }
        }
    }

    /// Adds the tally of other lines; of the same source, of later ones.
    pub fn merge(&mut self, other: Self) {
        let pools = self.pools.adopt(&other.pools);
        let instances = self.instances.adopt(&other.instances);
        let routes = self.routes.adopt(&other.routes);
        let here = |table: &[u32], id: u32| table.get(id as usize).copied().unwrap_or(id);
        for ((pool, index), theirs) in other.open {
            let mine = self.open.entry((here(&pools, pool), index)).or_default();
            mine.pool.merge(&theirs.pool);
            for (bucket, at) in theirs.redispatched {
                let earliest = mine.redispatched.entry(bucket).or_insert(at);
                *earliest = at.min(*earliest);
            }
            for ((instance, route, own, counted), seen) in theirs.beats {
                let key = (here(&instances, instance), here(&routes, route), own, counted);
                mine.beats.entry(key).or_default().merge(seen);
            }
            for ((instance, route), cell) in theirs.cells {
                let key = (here(&instances, instance), here(&routes, route));
                mine.put(key, cell);
            }
        }
        self.events.extend(other.events.into_iter().map(|(pool, e)| (here(&pools, pool), e)));
        for (instance, version) in other.versions {
            self.versions.insert(here(&instances, instance), version);
        }
        self.trails.append(&other.trails, &instances);
        self.failures.append(other.failures, &instances);
        self.newest_us = self.newest_us.max(other.newest_us);
    }

    /// The newest stamp of a request so far, in µs.
    pub fn newest_us(&self) -> Option<i64> {
        self.newest_us
    }

    /// Hands on the windows before `index`, oldest first, pools by name. What is added to one of them later makes it
    /// anew, with the later lines alone.
    pub fn take_before(&mut self, index: i64) -> Vec<Taken> {
        let due: Vec<(u32, i64)> =
            self.open.keys().filter(|(_, window)| *window < index).copied().collect();
        let mut taken: Vec<Taken> =
            due.into_iter().filter_map(|(pool, window)| self.take(pool, window)).collect();
        taken.sort_by(|a, b| (a.window.index, &a.pool).cmp(&(b.window.index, &b.pool)));
        taken
    }

    /// Hands on all windows, oldest first.
    pub fn take_all(&mut self) -> Vec<Taken> {
        self.take_before(i64::MAX)
    }

    /// Hands on what instances' own logs say besides requests: checks and versions, with their pools, in
    /// the order in which they were read.
    pub fn take_events(&mut self) -> Vec<(String, Event)> {
        let pools = &self.pools;
        std::mem::take(&mut self.events)
            .into_iter()
            .map(|(pool, event)| (pools.text(pool), event))
            .collect()
    }

    /// Runs of failures that began, grew or ended since this was called last.
    pub fn take_runs(&mut self) -> Vec<Run> {
        let instances = &self.instances;
        self.trails.read(|id| instances.text(id))
    }

    /// Hands on when attempts failed, in the order of time.
    pub fn take_failed(&mut self) -> Vec<Failed> {
        let instances = &self.instances;
        self.failures.take(|id| instances.text(id))
    }

    fn take(&mut self, pool: u32, index: i64) -> Option<Taken> {
        let open = self.open.remove(&(pool, index))?;
        let mut window = Window::new(index);
        window.pool = open.pool;
        for ((instance, route), cell) in open.cells {
            let routes = window.cells.entry(self.instances.text(instance)).or_default();
            // Two names that differ only in what is no text are shown alike, and are one from here on.
            routes.entry(self.routes.text(route)).or_default().merge(&cell);
        }
        let redispatched = open.redispatched.into_values().collect();
        let pool = self.pools.text(pool);
        let beats = open.beats.into_iter().filter(|(_, seen)| !seen.is_empty());
        let beats = beats.map(|((instance, route, own, counted), seen)| Beats {
            pool: pool.clone(),
            instance: self.instances.text(instance),
            route: self.routes.text(route),
            own,
            counted,
            seen: seen.in_order(),
        });
        let beats = beats.collect();
        Some(Taken { pool, window, redispatched, beats })
    }

    /// One request with its attempts; one that may be a health check is not held against bounds, since it
    /// may be taken out of the traffic again.
    fn request(
        &mut self,
        pool: u32,
        index: i64,
        record: &Record<'_>,
        source: u32,
        attempts: &[Attempt<'_>],
        check: bool,
    ) {
        let open = self.open.entry((pool, index)).or_default();
        let failed = open.request(record, attempts);
        if !failed && !check {
            hold_against(&mut open.pool, &self.bounds, record);
        }
        let last = attempts.len().saturating_sub(1);
        if attempts.is_empty() {
            return;
        }
        let request = Request {
            route: self.routes.of(record),
            source,
            end_us: record.end_us,
            plain: record.method == Some(b"GET"),
            saved: attempts.last().is_some_and(|a| a.outcome == Outcome::Ok),
        };
        for (position, attempt) in attempts.iter().enumerate() {
            let instance = self.instances.id(attempt.instance);
            let cell = open.cell((instance, request.route));
            let others = matches!(record.attribution, Attribution::Client | Attribution::Proxy);
            if position == last && others && !attempt.outcome.is_error() {
                left_out(cell, record, attempt);
            } else if attempt.outcome == Outcome::Unknown {
                cell.unknown += 1;
                seen_at(cell, record.end_us);
            } else {
                let single = attempts.len() == 1;
                count(cell, &request, record, attempt, single);
                let bad = attempt.outcome.is_error();
                let visible = !request.saved;
                self.trails.add(request.source, instance, request.end_us, bad, visible);
                if bad {
                    self.failures.add(instance, request.end_us, visible);
                }
            }
        }
    }

    /// A request that may be a check, beside what was counted of it.
    fn beat(
        &mut self,
        pool: u32,
        index: i64,
        record: &Record<'_>,
        attempt: &Attempt<'_>,
        (own, counted): (bool, bool),
    ) {
        let key = (self.instances.id(attempt.instance), self.routes.of(record), own, counted);
        let mut client = FxHasher::default();
        client.write(record.client.unwrap_or_default());
        let client = client.finish();
        let seen = self.open.entry((pool, index)).or_default().beats.entry(key).or_default();
        seen.add(record, attempt, (client ^ (client >> 32)) as u32);
    }

    /// A check that came through the balancer: it says something of whom it reached, and is no traffic.
    fn probe_through(&mut self, pool: u32, index: i64, record: &Record<'_>) {
        let Some(attempt) = record.attempts.last() else { return };
        let instance = self.instances.id(attempt.instance);
        let route = self.routes.of(record);
        let cell = self.open.entry((pool, index)).or_default().cell((instance, route));
        note_probe(cell, attempt.outcome);
    }

    /// A check in an instance's own log.
    fn probe_of(
        &mut self,
        pool: u32,
        index: i64,
        name: &str,
        own: &Attempt<'_>,
        record: &Record<'_>,
    ) {
        let instance = self.instances.id(name.as_bytes());
        let route = self.routes.of(record);
        let cell = self.open.entry((pool, index)).or_default().cell((instance, route));
        note_probe(cell, own.outcome);
        if own.outcome != Outcome::Unknown {
            let passed = own.outcome == Outcome::Ok;
            let event = Event::new(record.end_us, Source::Probes, What::Check { passed }).of(name);
            self.events.push((pool, event));
        }
    }

    /// Notes what an instance runs when it is not what it ran before.
    fn version(&mut self, pool: u32, name: &[u8], version: &[u8], at_us: i64) {
        let instance = self.instances.id(name);
        if self.versions.get(&instance).is_some_and(|known| **known == *version) {
            return;
        }
        self.versions.insert(instance, version.into());
        let version = String::from_utf8_lossy(version).into_owned();
        let event = Event::new(at_us, Source::Traffic, What::Version(version));
        self.events.push((pool, event.of(self.instances.text(instance))));
    }
}

impl Open {
    fn cell(&mut self, key: (u32, u32)) -> &mut Cell {
        let next = self.cells.len();
        let at = *self.at.entry(key).or_insert(next);
        if at == next {
            self.cells.push((key, Cell::default()));
        }
        &mut self.cells[at].1
    }

    fn put(&mut self, key: (u32, u32), cell: Cell) {
        match self.at.get(&key) {
            Some(at) => self.cells[*at].1.merge(&cell),
            None => {
                self.at.insert(key, self.cells.len());
                self.cells.push((key, cell));
            }
        }
    }

    /// What a request says of the pool; whether it failed.
    fn request(&mut self, record: &Record<'_>, attempts: &[Attempt<'_>]) -> bool {
        let pool = &mut self.pool;
        pool.requests += 1;
        pool.empty += u64::from(record.pool_empty);
        if let Some(status) = record.status {
            *pool.codes.entry(status).or_default() += 1;
        }
        let by_server = record.status.is_some_and(|status| status >= 500);
        let failed = match record.attribution {
            Attribution::Client => {
                pool.clients += 1;
                false
            }
            Attribution::Proxy => {
                pool.proxies += 1;
                false
            }
            Attribution::Pool => true,
            Attribution::Instance => {
                by_server || attempts.last().is_some_and(|a| a.outcome.is_error())
            }
            Attribution::None => by_server,
        };
        pool.failed += u64::from(failed);
        if record.redispatched {
            pool.redispatched += 1;
            let at = record.end_us;
            let earliest = self.redispatched.entry(at.div_euclid(REDISPATCH_US)).or_insert(at);
            *earliest = at.min(*earliest);
        }
        failed
    }
}
