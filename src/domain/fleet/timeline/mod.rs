//! Events and traffic → where each instance is in its life, how many are ready, who was removed and how
//! soon, who restarted, who flaps (spec: fleet 2). Goes forward a step at a time and keeps no more than
//! it needs, so that it can be stored between steps and follow any number of days.
//!
//! * [`view`]: what one source says of one instance, and the precedence among sources.
//! * [`instance`]: one instance's life: state, transitions, traffic; [`rotation`]: whether it gets requests;
//!   [`restart`]: its restarts.
//! * [`lost`]: what is not known any more because whoever told is not heard; [`names`]: who was given another
//!   name.
//! * [`removal`]: from the first failure to removal, and back; [`harm`]: who was harmed meanwhile.
//! * [`ready`]: how many are ready, of how many.
//! * [`told`], [`unsteady`], [`versions`]: the findings that follow.

mod harm;
mod instance;
mod lost;
mod names;
mod ready;
mod removal;
mod restart;
mod rotation;
mod told;
mod unsteady;
mod versions;
mod view;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{
    beats::{Beats, Rhythms},
    cell::{Cell, Window},
    event::{Event, Source, State, What},
    finding::{Change, Finding},
    settings::Settings,
    tally::Failed,
};

pub use instance::Instance;
pub use ready::{BySource, Expected, ReadyPoint, ZonePoint};
pub use removal::{Cause, Removal, timing};
pub use restart::{Restart, Restarts};

/// µs in a second.
pub(crate) const SECOND: i64 = 1_000_000;

/// The lives of one pool's instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    pool: String,
    #[serde(skip)]
    settings: Settings,
    instances: BTreeMap<String, Instance>,
    /// Every other name → the name of the instance.
    aliases: BTreeMap<String, String>,
    ready: ready::Ready,
    /// Redispatches of late, in µs.
    redispatches: VecDeque<i64>,
    /// The process of HAProxy that speaks for each host.
    processes: BTreeMap<String, String>,
    /// When removed instances came back of late, in µs.
    returns: VecDeque<i64>,
    /// When everybody was out at once, most lately.
    all_out_us: Option<i64>,
    open: Vec<Finding>,
    now_us: Option<i64>,
    /// Sources that are not heard.
    #[serde(default)]
    lost: BTreeSet<String>,
    /// When nobody was heard any more, most lately.
    #[serde(default)]
    silent_us: Option<i64>,
    /// The zones of instances that somebody named.
    #[serde(skip)]
    zones: BTreeMap<String, String>,
    /// Who checks, as far as nothing but the pace tells.
    #[serde(default)]
    pub rhythms: Rhythms,
}

/// What is known of one stretch of time, which ends at `until_us` and begins where the last step ended.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    pub until_us: i64,
    /// In order of time.
    pub events: &'a [Event],
    /// Traffic of the stretch; a window without cells is one without traffic.
    pub window: &'a Window,
    pub marks: &'a Marks,
    pub sources: &'a [Heard],
}

/// What is known to the µs although cells are sums.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// When requests went elsewhere after a failure on a server that was not named.
    pub redispatched: Vec<i64>,
    pub runs: Vec<FailedRun>,
    /// Requests that may be checks. They are sorted out before a step, see [`Rhythms`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beats: Vec<Beats>,
    /// Attempts that failed, each with its time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
    /// The sources that told of an instance's traffic, by instance; empty where nobody keeps that.
    #[serde(skip)]
    pub fed: BTreeMap<String, BTreeSet<String>>,
}

/// At least three of five attempts at one instance in a row failed, from the first of them on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    pub instance: String,
    /// End of the first failed attempt, in µs.
    pub from_us: i64,
}

/// One source of lines and how far it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    pub name: String,
    /// Names that it had before.
    pub aliases: Vec<String>,
    /// Its newest line's stamp, in µs.
    pub newest_us: i64,
    /// What it is silent about is being served all the same: its peers or outside probes say so.
    pub served: bool,
    /// Since when it has been heard without a silence that is longer than usual for it; none: always.
    pub from_us: Option<i64>,
    /// It has been silent for longer than is usual for it: what it told holds for so many seconds after its
    /// newest line. None: it is heard.
    pub patience_s: Option<u32>,
}

/// What a step found. Everything is new since the step before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// On change.
    pub ready: Vec<ReadyPoint>,
    /// Begun, and begun earlier and ended now: known by instance and `removed_us`.
    pub removals: Vec<Removal>,
    pub restarts: Vec<Restart>,
    pub findings: Vec<Change>,
}

impl Timeline {
    pub fn new(pool: &str, settings: &Settings) -> Self {
        Self {
            pool: pool.to_owned(),
            settings: settings.clone(),
            instances: BTreeMap::new(),
            aliases: BTreeMap::new(),
            ready: ready::Ready::default(),
            redispatches: VecDeque::new(),
            processes: BTreeMap::new(),
            returns: VecDeque::new(),
            all_out_us: None,
            open: Vec::new(),
            now_us: None,
            lost: BTreeSet::new(),
            silent_us: None,
            zones: BTreeMap::new(),
            rhythms: Rhythms::default(),
        }
    }

    /// Goes on from what was stored, under the settings of now.
    pub fn with_settings(mut self, settings: &Settings) -> Self {
        self.settings = settings.clone();
        self
    }

    /// The zones of instances that somebody named, by instance. They win over what platforms say.
    pub fn with_zones(mut self, zones: BTreeMap<String, String>) -> Self {
        self.zones = zones;
        self
    }

    /// The zone that an instance is in, if anybody said.
    pub fn zone<'a>(&'a self, instance: &'a Instance) -> Option<&'a str> {
        ready::zone(instance, &self.zones)
    }

    /// Instances by name.
    pub fn instances(&self) -> &BTreeMap<String, Instance> {
        &self.instances
    }

    /// The instance behind a name or an alias.
    pub fn resolve<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// How many there should be and how that is known; none before anybody was ready.
    pub fn expected(&self) -> Option<Expected> {
        self.ready.expected(&self.settings)
    }

    /// How many are ready now.
    pub fn ready(&self) -> Option<ReadyPoint> {
        self.ready.last().cloned()
    }

    pub fn open(&self) -> &[Finding] {
        &self.open
    }

    /// One stretch of time.
    pub fn step(&mut self, step: Step<'_>) -> Told {
        let mut told = Told::default();
        for at in &step.marks.redispatched {
            self.redispatches.push_back(*at);
        }
        for run in &step.marks.runs {
            let name = self.resolve(&run.instance).to_owned();
            self.instance(&name).failed_run(run.from_us);
        }
        for failed in &step.marks.failed {
            let name = self.resolve(&failed.instance).to_owned();
            self.instance(&name).failures.note(failed);
        }
        let mut turns = self.turns(&step).into_iter().peekable();
        for event in step.events {
            while let Some(turn) = turns.next_if(|turn| turn.at_us <= event.at_us) {
                self.turn(&turn, &mut told);
            }
            self.event(event, &mut told);
        }
        for turn in turns {
            self.turn(&turn, &mut told);
        }
        self.traffic(&step, &mut told);
        self.now_us = Some(step.until_us);
        self.ready.pass(step.until_us);
        self.tell(&step, &mut told);
        self.forget(step.until_us);
        told
    }

    fn event(&mut self, event: &Event, told: &mut Told) {
        self.hand_over(event);
        match (&event.what, &event.instance) {
            (What::Expected(count), _) => self.ready.said(*count),
            (What::PoolEmpty, _) => {
                self.ready.empty(event);
                self.count(event.at_us, told);
            }
            (_, Some(name)) => self.of_instance(name, event, told),
            (_, None) => {}
        }
    }

    /// A HAProxy that was reloaded is another process: it begins with every server up, and says so of
    /// none, so what the process before it said holds no more.
    fn hand_over(&mut self, event: &Event) {
        let (Source::Haproxy, Some(now)) = (event.source, &event.reporter) else { return };
        let host = now.rsplit_once(':').map_or("", |(host, _)| host);
        let before = self.processes.insert(host.to_owned(), now.clone());
        let Some(before) = before.filter(|before| before != now) else { return };
        self.ready.forget(&before);
        for instance in self.instances.values_mut() {
            instance.hand_over(event.at_us, &before, now);
        }
    }

    fn of_instance(&mut self, name: &str, event: &Event, told: &mut Told) {
        let name = self.resolve(name).to_owned();
        for alias in event.aliases.iter().filter(|alias| **alias != name) {
            self.aliases.entry(alias.clone()).or_insert_with(|| name.clone());
        }
        let settings = self.settings.clone();
        let due = self.instances.get(&name).and_then(Instance::probe_due_us);
        let peers_go_on = due.is_some_and(|due| {
            self.instances.iter().any(|(other, peer)| *other != name && peer.heard_after(due))
        });
        let lost = event.feed.as_ref().is_some_and(|feed| self.lost.contains(feed));
        let instance = self.instance(&name);
        instance.aliases.extend(event.aliases.iter().filter(|alias| **alias != name).cloned());
        let taken = instance.take(event, &settings, peers_go_on, lost);
        let after = instance.state;
        told.restarts.extend(taken.restarts);
        self.ready.view(event, taken.before, after);
        if taken.before != after {
            self.moved(&name, taken.before, event, told);
        }
        self.count(event.at_us, told);
    }

    /// An instance has changed its state by an event.
    fn moved(&mut self, name: &str, before: State, event: &Event, told: &mut Told) {
        let minimum = removal::minimum_us(&self.settings);
        let hint = self.hint(name, event.at_us);
        let instance = self.instance(name);
        let after = instance.state;
        if before == State::Ready {
            instance.removed(event, hint, minimum);
        } else if after == State::Ready {
            let back = instance.returned(event.at_us);
            told.restarts.extend(instance.probably_restarted(event));
            if back {
                self.returns.push_back(event.at_us);
            }
        }
        let known = |i: &&Instance| i.lost_us.is_none() && i.state != State::Gone;
        let mut states = self.instances.values().filter(known).map(|i| i.state);
        if states.all(|state| !state.serves()) {
            self.all_out_us = Some(event.at_us);
        }
    }

    /// When a removal at `at_us` may have begun by a redispatch: the first within three intervals of the
    /// check, if no other instance was failing then, of which it could tell as well.
    fn hint(&self, name: &str, at_us: i64) -> Option<i64> {
        let interval = self.settings.check.as_ref().map_or(2.0, |check| check.interval_s);
        let reach = (interval * 3.0 * SECOND as f64) as i64;
        let alone = !self
            .instances
            .iter()
            .any(|(other, instance)| other != name && instance.is_failing(at_us, reach));
        let near = |at: &i64| *at <= at_us && at_us - *at <= reach;
        self.redispatches.iter().copied().find(near).filter(|_| alone)
    }

    fn traffic(&mut self, step: &Step<'_>, told: &mut Told) {
        let settings = self.settings.clone();
        for instance in self.instances.values_mut() {
            instance.stray = None;
        }
        let mut by_instance: BTreeMap<String, (Cell, BTreeSet<String>)> = BTreeMap::new();
        for name in step.window.cells.keys() {
            let (cell, feeds) = by_instance.entry(self.resolve(name).to_owned()).or_default();
            cell.merge(&step.window.instance(name));
            feeds.extend(step.marks.fed.get(name).into_iter().flatten().cloned());
        }
        let lost = self.lost.clone();
        for (name, (cell, feeds)) in by_instance {
            let instance = self.instance(&name);
            if let Some(last_us) = cell.last_us {
                instance.fed_by(&feeds, last_us, &lost);
            }
            let back_us = instance.traffic(step.window.index, &cell, &settings);
            if let Some(at_us) = back_us {
                instance.returned(at_us);
            }
            if let Some(since) = instance.fresh() {
                self.rotation(&name, since, true, told);
            }
            if let Some(at_us) = back_us {
                self.count(at_us, told);
            }
        }
        let silent: Vec<(i64, String)> = self
            .instances
            .iter()
            .filter_map(|(name, i)| {
                Some((i.silent_since(step.until_us, &self.lost)?, name.clone()))
            })
            .collect();
        // Many silent at once is a source that is silent, not a removal.
        let inside = self.instances.values().filter(|i| i.in_rotation()).count();
        if silent.len() * 2 <= inside {
            for (since, name) in silent {
                self.rotation(&name, since, false, told);
            }
        }
        told.removals.extend(self.instances.values_mut().flat_map(Instance::removal_news));
    }

    /// Traffic says that an instance came into rotation or left it.
    fn rotation(&mut self, name: &str, at_us: i64, inside: bool, told: &mut Told) {
        let minimum = removal::minimum_us(&self.settings);
        let at_us = self.after_silence(at_us);
        let instance = self.instance(name);
        instance.set_rotation(at_us, inside);
        if instance.source == Some(Source::Traffic) {
            if inside {
                instance.returned(at_us);
            } else {
                instance.left(at_us, minimum);
            }
        }
        self.count(at_us, told);
    }

    /// Counts who is ready and notes it if it changed.
    fn count(&mut self, at_us: i64, told: &mut Told) {
        let at_us = self.after_silence(at_us);
        let (zones, instances) = (&self.zones, &self.instances);
        told.ready.extend(self.ready.count(at_us, instances, zones, &self.lost));
    }

    fn instance(&mut self, name: &str) -> &mut Instance {
        self.instances.entry(name.to_owned()).or_insert_with(|| Instance::new(name))
    }

    fn forget(&mut self, until_us: i64) {
        let old = until_us - 600 * SECOND;
        self.redispatches.retain(|at| *at > old);
        self.returns.retain(|at| *at > old);
        for instance in self.instances.values_mut() {
            instance.forget(until_us, self.settings.window_s);
        }
        // A replaced instance is remembered for a day, then its name is free again.
        let gone: Vec<String> = self
            .instances
            .iter()
            .filter(|(_, i)| i.state == State::Gone && until_us - i.since_us > 86_400 * SECOND)
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.instances.remove(&name);
            self.aliases.retain(|_, of| *of != name);
        }
    }
}
