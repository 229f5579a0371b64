//! Windows in the order of time → findings, ready counts and removals, and the sums of everything. Keeps
//! what is not judged yet and what is shown at the end; no window that is done with.

use std::collections::{BTreeMap, BTreeSet};

use super::part::SILENCE_US;
use super::readiness::Unheard;
use super::total::Totals;
use crate::domain::fleet::{
    all_out::Seen,
    beats::Beats,
    cell::Window,
    engine::{self, Archive, Context, Engine},
    event::{Event, State},
    finding::{Change, End, Finding, Step as Became},
    settings::Settings,
    tally::{Failed, Run, Taken, Tally},
    timeline::{FailedRun, Heard, Marks, ReadyPoint, Removal, Step, Timeline},
};

/// So many windows without a line are judged one by one; a longer gap is passed over.
const LONGEST_GAP: i64 = 2 * engine::WINDOWS_NEEDED;

pub(super) struct Judge {
    settings: Settings,
    window_us: i64,
    pub(super) pools: BTreeMap<String, Pool>,
    /// Not judged yet.
    events: Vec<Event>,
    /// The pools of instances and of their other names, as events tell; for events that do not.
    homes: BTreeMap<String, String>,
    /// Runs of failures that are not told yet, by where they begin.
    runs: BTreeMap<(i64, String), Run>,
    /// Attempts that failed, by time.
    failed: BTreeMap<i64, Vec<Failed>>,
    /// The first window that is not judged.
    next: Option<i64>,
    /// Requests that came when their window had been judged: they are in the sums only.
    pub(super) late: u64,
}

/// When one source said nothing.
#[derive(Debug, Default)]
pub(super) struct Silences {
    first_us: Option<i64>,
    newest_us: Option<i64>,
    /// In order.
    gaps: Vec<(i64, i64)>,
}

/// What is known of a window beside its sums.
struct Beside<'a> {
    events: Vec<Event>,
    redispatched: Vec<i64>,
    beats: Vec<Beats>,
    runs: &'a BTreeMap<(i64, String), Run>,
    failed: &'a BTreeMap<i64, Vec<Failed>>,
    sources: &'a [Heard],
}

/// One pool as it is judged.
pub(super) struct Pool {
    engine: Engine,
    archive: Archive,
    pub(super) timeline: Timeline,
    pub(super) totals: Totals,
    pub(super) ready: Vec<ReadyPoint>,
    /// What was seen in each window in which nobody was ready for some time, by its index.
    pub(super) all_out: BTreeMap<i64, Seen>,
    pub(super) unheard: Unheard,
    /// By the moment of removal and the instance.
    pub(super) removals: BTreeMap<(i64, String), Removal>,
    findings: Vec<Option<Finding>>,
    open: BTreeMap<String, usize>,
}

impl Silences {
    /// Lines between these stamps, but for the gaps.
    pub(super) fn hear(&mut self, span: (i64, i64), gaps: Vec<(i64, i64)>) {
        if let Some(newest) = self.newest_us.filter(|newest| span.0 - newest > SILENCE_US) {
            self.gaps.push((newest, span.0));
        }
        self.gaps.extend(gaps);
        self.first_us = Some(self.first_us.map_or(span.0, |first| first.min(span.0)));
        self.newest_us = self.newest_us.max(Some(span.1));
    }

    /// What is over before `until_us` has been judged.
    pub(super) fn forget(&mut self, until_us: i64) {
        self.gaps.retain(|(_, to)| *to >= until_us);
    }

    /// Whether it has lines before and after a moment, and near it.
    fn tells_of(&self, at_us: i64) -> bool {
        let within = self.first_us.is_some_and(|first| first <= at_us)
            && self.newest_us.is_some_and(|newest| newest >= at_us);
        within && self.silent(at_us).is_none()
    }

    /// Since when it has been silent at a moment. A log that begins or ends is not silent.
    fn silent(&self, at_us: i64) -> Option<i64> {
        self.gaps.iter().find(|(from, to)| *from < at_us && at_us <= *to).map(|(from, _)| *from)
    }
}

/// Who was heard until when, at a moment that all have passed.
fn heard(sources: &BTreeMap<String, Silences>, at_us: i64) -> Vec<Heard> {
    let silent: Vec<Option<i64>> = sources.values().map(|source| source.silent(at_us)).collect();
    let served = sources.values().any(|source| source.tells_of(at_us));
    let heard = |(name, silent): (&String, &Option<i64>)| Heard {
        name: name.clone(),
        newest_us: silent.unwrap_or(at_us),
        served,
        ..Heard::default()
    };
    sources.keys().zip(&silent).map(heard).collect()
}

impl Judge {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            window_us: i64::from(settings.window_s.max(1)) * 1_000_000,
            pools: BTreeMap::new(),
            events: Vec::new(),
            homes: BTreeMap::new(),
            runs: BTreeMap::new(),
            failed: BTreeMap::new(),
            next: None,
            late: 0,
        }
    }

    /// Takes events, in any order.
    pub(super) fn hear(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            if let Some(pool) = &event.pool {
                for name in event.instance.iter().chain(&event.aliases) {
                    if !self.homes.contains_key(name) {
                        self.homes.insert(name.clone(), pool.clone());
                    }
                }
            }
            self.events.push(event);
        }
    }

    /// The pool that events name, if it is always the same.
    pub(super) fn only_pool(&self) -> Option<String> {
        let mut pools = self.homes.values();
        let first = pools.next()?;
        pools.all(|pool| pool == first).then(|| first.clone())
    }

    /// Where an event belongs: as it says, or where its instance is, or else to nobody's pool.
    fn home(&self, event: &Event) -> String {
        let of_instance = || event.instance.as_ref().and_then(|name| self.homes.get(name));
        event.pool.as_ref().or_else(of_instance).cloned().unwrap_or_default()
    }

    /// Judges every window that ends before `until_us`; without it, all there are.
    pub(super) fn advance(
        &mut self,
        tally: &mut Tally,
        until_us: Option<i64>,
        sources: &BTreeMap<String, Silences>,
    ) {
        let limit = until_us.map_or(i64::MAX, |until| until.div_euclid(self.window_us));
        for (pool, event) in tally.take_events() {
            self.events.push(Event { pool: Some(pool), ..event });
        }
        for run in tally.take_runs() {
            self.runs.insert((run.from_us, run.instance.clone()), run);
        }
        for failed in tally.take_failed() {
            self.failed.entry(failed.at_us).or_default().push(failed);
        }
        // Most calls come in the middle of a window.
        if self.next.is_some_and(|next| next >= limit) {
            return;
        }
        let mut windows: BTreeMap<i64, Vec<Taken>> = BTreeMap::new();
        for taken in tally.take_before(limit) {
            windows.entry(taken.window.index).or_default().push(taken);
        }
        let mut events = self.due(limit);
        let first = windows.keys().next().copied();
        let first = first.into_iter().chain(events.keys().next().copied()).min();
        let Some(mut index) = self.next.or(first) else { return };
        for late in extract_before(&mut windows, index).into_values() {
            self.sum_up_late(late);
        }
        // An event that came too late is heard with the next window.
        let late: Vec<(String, Event)> =
            extract_before(&mut events, index).into_values().flatten().collect();
        events.entry(index).or_default().splice(0..0, late);
        events.retain(|_, events| !events.is_empty());
        while let Some(some) = next_of(&windows, &events).or(until_us.map(|_| limit)) {
            // Gaps are judged too, since silence says something, unless they are very long.
            let gap_end = some.min(limit);
            index = index.max(gap_end - LONGEST_GAP);
            while index < gap_end {
                self.window(index, Vec::new(), Vec::new(), sources);
                index += 1;
            }
            if some >= limit {
                break;
            }
            let taken = windows.remove(&some).unwrap_or_default();
            self.window(some, taken, events.remove(&some).unwrap_or_default(), sources);
            index = some + 1;
        }
        self.next = Some(index);
    }

    /// Events before the window `limit`, by window and time.
    fn due(&mut self, limit: i64) -> BTreeMap<i64, Vec<(String, Event)>> {
        let window_us = self.window_us;
        let of = |event: &Event| event.at_us.div_euclid(window_us);
        let (mut due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.events).into_iter().partition(|event| of(event) < limit);
        self.events = later;
        due.sort_by_key(|event| event.at_us);
        let mut windows: BTreeMap<i64, Vec<(String, Event)>> = BTreeMap::new();
        for event in due {
            let pool = self.home(&event);
            windows.entry(of(&event)).or_default().push((pool, event));
        }
        windows
    }

    /// Adds what came too late to be judged.
    fn sum_up_late(&mut self, late: Vec<Taken>) {
        for taken in late {
            self.late += taken.window.pool.requests;
            self.pool(&taken.pool).totals.add(&taken.window);
        }
    }

    /// Judges one window in every pool.
    fn window(
        &mut self,
        index: i64,
        taken: Vec<Taken>,
        events: Vec<(String, Event)>,
        sources: &BTreeMap<String, Silences>,
    ) {
        for name in taken.iter().map(|t| &t.pool).chain(events.iter().map(|(pool, _)| pool)) {
            if !self.pools.contains_key(name) {
                let pool = Pool::new(name, &self.settings);
                self.pools.insert(name.clone(), pool);
            }
        }
        let until_us = (index + 1) * self.window_us;
        let mut taken: BTreeMap<String, Taken> =
            taken.into_iter().map(|taken| (taken.pool.clone(), taken)).collect();
        let mut by_pool: BTreeMap<String, Vec<Event>> = BTreeMap::new();
        for (pool, event) in events {
            by_pool.entry(pool).or_default().push(event);
        }
        let heard = heard(sources, until_us);
        let sources = heard.as_slice();
        let later = self.runs.split_off(&(until_us, String::new()));
        let runs = std::mem::replace(&mut self.runs, later);
        let later = self.failed.split_off(&until_us);
        let failed = std::mem::replace(&mut self.failed, later);
        for (name, pool) in &mut self.pools {
            let taken = taken.remove(name).unwrap_or_else(|| Taken {
                pool: name.clone(),
                window: Window::new(index),
                redispatched: Vec::new(),
                beats: Vec::new(),
            });
            let Taken { window, redispatched, beats, .. } = taken;
            let events = by_pool.remove(name).unwrap_or_default();
            let (runs, failed) = (&runs, &failed);
            let beside = Beside { events, redispatched, beats, runs, failed, sources };
            pool.window(window, beside, until_us, &self.settings);
        }
    }

    fn pool(&mut self, name: &str) -> &mut Pool {
        let settings = &self.settings;
        self.pools.entry(name.to_owned()).or_insert_with(|| Pool::new(name, settings))
    }
}

impl Pool {
    fn new(name: &str, settings: &Settings) -> Self {
        Self {
            engine: Engine::new(name, settings),
            archive: Archive::default(),
            timeline: Timeline::new(name, settings),
            totals: Totals::default(),
            ready: Vec::new(),
            all_out: BTreeMap::new(),
            unheard: Unheard::default(),
            removals: BTreeMap::new(),
            findings: Vec::new(),
            open: BTreeMap::new(),
        }
    }

    /// What was found, in the order in which it was.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().flatten()
    }

    fn window(
        &mut self,
        mut window: Window,
        beside: Beside<'_>,
        until_us: i64,
        settings: &Settings,
    ) {
        let Beside { mut events, redispatched, beats, runs, failed, sources } = beside;
        let checks = self.timeline.rhythms.sort_out(beats, &mut window);
        if !checks.is_empty() {
            events.extend(checks);
            events.sort_by_key(|event| event.at_us);
        }
        let window = self.by_own_names(window);
        self.totals.add(&window);
        let heard = window.pool.requests > 0 || !window.cells.is_empty() || !events.is_empty();
        let silent = if heard {
            self.totals.hear(window.index);
            self.unheard.heard();
            None
        } else {
            Some(Unheard::before(&self.timeline))
        };
        // A run belongs where its instance gets its traffic.
        let is_here = |name: &str| self.totals.instances.contains_key(self.timeline.resolve(name));
        let runs = runs.values().filter(|run| is_here(&run.instance)).map(failed_run).collect();
        let failed = failed.values().flatten().filter(|f| is_here(&f.instance)).cloned().collect();
        let marks = Marks { redispatched, runs, failed, ..Marks::default() };
        let told = self.timeline.step(Step {
            until_us,
            events: &events,
            window: &window,
            marks: &marks,
            sources,
        });
        if let Some(before) = silent {
            self.unheard.silent(before, &self.timeline);
        }
        let before = self.ready.last().cloned();
        if before.iter().chain(&told.ready).any(|point| point.ready == Some(0)) {
            let drained = i64::from(settings.drain_s) * 1_000_000;
            let whole = before.filter(|point| point.ready == Some(0) && told.ready.is_empty());
            let asked_from_us = whole.map(|point| point.at_us + drained);
            self.all_out.entry(window.index).or_default().add(&window, asked_from_us);
        }
        self.ready.extend(told.ready);
        for removal in told.removals {
            self.removals.insert((removal.removed_us, removal.instance.clone()), removal);
        }
        for change in told.findings {
            self.found("timeline", change);
        }
        self.archive.add(&window, settings.window_s);
        let (warming, draining) = self.set_aside(until_us, settings);
        let context = Context {
            warming: &warming,
            draining: &draining,
            history: self.archive.quarters(),
            ..Context::default()
        };
        for change in self.engine.judge(window, &context) {
            self.found("engine", change);
        }
    }

    /// Who is new or leaves, and so is not compared.
    fn set_aside(&self, now_us: i64, settings: &Settings) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut warming, mut draining) = (BTreeSet::new(), BTreeSet::new());
        for (name, instance) in self.timeline.instances() {
            if instance.is_warming(now_us, settings) {
                warming.insert(name.clone());
            }
            if matches!(instance.state, State::Draining | State::Maintenance) {
                draining.insert(name.clone());
            }
        }
        (warming, draining)
    }

    /// Cells under the names that the timeline gives their instances.
    fn by_own_names(&self, mut window: Window) -> Window {
        let other = |name: &String| self.timeline.resolve(name) != name;
        let aliases: Vec<String> =
            window.cells.keys().filter(|name| other(name)).cloned().collect();
        for alias in aliases {
            let Some(routes) = window.cells.remove(&alias) else { continue };
            let own = self.timeline.resolve(&alias).to_owned();
            let mine = window.cells.entry(own).or_default();
            for (route, cell) in routes {
                mine.entry(route).or_default().merge(&cell);
            }
        }
        window
    }

    /// Notes what became different. What another finding tells better is left out.
    fn found(&mut self, by: &str, change: Change) {
        let key = format!("{by} {}", change.key);
        let at = match self.open.get(&key) {
            Some(at) => *at,
            None => {
                self.findings.push(None);
                self.open.insert(key.clone(), self.findings.len() - 1);
                self.findings.len() - 1
            }
        };
        if matches!(change.step, Became::Closed(_)) {
            self.open.remove(&key);
        }
        if let Some(place) = self.findings.get_mut(at) {
            let told = change.step != Became::Closed(End::Absorbed);
            *place = told.then_some(change.finding);
        }
    }
}

fn failed_run(run: &Run) -> FailedRun {
    FailedRun { instance: run.instance.clone(), from_us: run.from_us }
}

fn next_of<A, B>(one: &BTreeMap<i64, A>, other: &BTreeMap<i64, B>) -> Option<i64> {
    one.keys().next().into_iter().chain(other.keys().next()).min().copied()
}

/// Takes the entries before `index` out.
fn extract_before<T>(map: &mut BTreeMap<i64, T>, index: i64) -> BTreeMap<i64, T> {
    let kept = map.split_off(&index);
    std::mem::replace(map, kept)
}
