//! How many are ready, of how many, and who says so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{
    super::{
        event::{Event, Source, State, What},
        settings::Settings,
    },
    SECOND,
    instance::Instance,
};

/// From `at_us` on. Of several reporters it is the one in the middle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyPoint {
    pub at_us: i64,
    /// None: whoever told is not heard any more, and nobody else tells.
    pub ready: Option<u32>,
    /// Instances beside these of which nobody tells any more.
    #[serde(default)]
    pub unknown: u32,
    /// Smallest and largest count among the reporters.
    pub least: Option<u32>,
    pub most: Option<u32>,
    /// Who says so, or said so last. With [`Source::Traffic`] it is a count of who is in rotation, which is
    /// not the same.
    pub source: Source,
    /// Whose word each of those is who were counted.
    #[serde(default)]
    pub by: BySource,
    /// By zone, where any instance has one; those without come last.
    #[serde(default)]
    pub zones: Vec<ZonePoint>,
}

/// The instances of one zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZonePoint {
    pub zone: Option<String>,
    /// None: of nobody in it anything is known.
    pub ready: Option<u32>,
    pub unknown: u32,
    /// All that are not gone.
    pub instances: u32,
}

/// How many of a count each source answers for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<Source, u32>", into = "BTreeMap<Source, u32>")]
pub struct BySource([u32; Source::ALL.len()]);

impl BySource {
    pub fn one(source: Source, count: u32) -> Self {
        let mut by = Self::default();
        by.add(source, count);
        by
    }

    fn add(&mut self, source: Source, count: u32) {
        for (at, mine) in Source::ALL.into_iter().zip(&mut self.0) {
            if at == source {
                *mine = mine.saturating_add(count);
            }
        }
    }

    /// Sources that answer for somebody, in the order of precedence.
    pub fn some(&self) -> impl Iterator<Item = (Source, u32)> {
        Source::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

impl From<BTreeMap<Source, u32>> for BySource {
    fn from(counts: BTreeMap<Source, u32>) -> Self {
        let mut by = Self::default();
        counts.into_iter().for_each(|(source, count)| by.add(source, count));
        by
    }
}

impl From<BySource> for BTreeMap<Source, u32> {
    fn from(by: BySource) -> Self {
        by.some().collect()
    }
}

impl ReadyPoint {
    /// Whose count it is: `by HAProxy`, `3 by HAProxy, 1 by traffic`.
    pub fn by_words(&self) -> String {
        let mut parts: Vec<(Source, u32)> = self.by.some().collect();
        if parts.iter().all(|(source, _)| *source != self.source) {
            parts.insert(0, (self.source, 0));
        }
        match parts.as_slice() {
            [(source, _)] => format!("by {}", source.words()),
            several => {
                let part =
                    |(source, count): &(Source, u32)| format!("{count} by {}", source.words());
                several.iter().map(part).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// How many there should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    pub count: u32,
    /// Nobody said so: it is what was ready nearly always. Fires nothing by itself.
    pub learned: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ready {
    last: Option<ReadyPoint>,
    /// A balancer's own count, by reporter.
    active: BTreeMap<String, u32>,
    said: Option<u32>,
    /// Of late: (since, ready), for a day; and how long each count lasted before that is not kept.
    history: VecDeque<(i64, u32)>,
    until_us: i64,
    /// Where the history is not certain: how many more may have been ready than it says.
    #[serde(default)]
    doubt: BTreeMap<i64, u32>,
    /// Names of the sources that sent the reporters' words.
    #[serde(default)]
    feeds: BTreeMap<String, String>,
}

const DAY: i64 = 86_400 * SECOND;

impl Ready {
    pub(super) fn said(&mut self, count: u32) {
        self.said = Some(count);
    }

    pub(super) fn last(&self) -> Option<&ReadyPoint> {
        self.last.as_ref()
    }

    pub(super) fn feeds(&self) -> impl Iterator<Item = &String> {
        self.feeds.values()
    }

    /// A source has another name.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        for feed in self.feeds.values_mut().filter(|feed| *feed == old) {
            new.clone_into(feed);
        }
    }

    /// A reporter's own count after an event; one that does not tell it has it moved by the transition.
    pub(super) fn view(&mut self, event: &Event, before: State, after: State) {
        let reporter = self.reporter(event);
        if let Some(active) = event.active {
            self.active.insert(reporter, active);
        } else if let Some(active) = self.active.get_mut(&reporter)
            && matches!(event.what, What::State(_))
        {
            match (before == State::Ready, after == State::Ready) {
                (false, true) => *active += 1,
                (true, false) => *active = active.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// A reporter that was replaced.
    pub(super) fn forget(&mut self, reporter: &str) {
        self.active.remove(reporter);
        self.feeds.remove(reporter);
    }

    pub(super) fn empty(&mut self, event: &Event) {
        let reporter = self.reporter(event);
        if event.source == Source::Haproxy {
            self.active.insert(reporter, 0);
        }
    }

    fn reporter(&mut self, event: &Event) -> String {
        let reporter = event.reporter.clone().unwrap_or_default();
        if let Some(feed) = &event.feed {
            self.feeds.insert(reporter.clone(), feed.clone());
        }
        reporter
    }

    /// A new point if the count changed. `lost`: sources that are not heard.
    pub(super) fn count(
        &mut self,
        at_us: i64,
        instances: &BTreeMap<String, Instance>,
        zones: &BTreeMap<String, String>,
        lost: &BTreeSet<String>,
    ) -> Option<ReadyPoint> {
        let here = || instances.values().filter(|i| i.state != State::Gone);
        let unknown = small(here().filter(|i| i.lost_us.is_some()).count());
        let source = here().filter_map(|i| i.source).min();
        // Of a pool that was given up, whoever took the last one out says that nobody is left.
        let gone = || instances.values().filter_map(|i| i.source).min();
        let source = if unknown == 0 { source.or_else(gone) } else { source };
        let told = match (source, &self.last) {
            (Some(source), _) => self.told(source, here, lost),
            (None, Some(last)) if unknown > 0 => {
                let by = BySource::default();
                ReadyPoint { at_us, ready: None, least: None, most: None, by, ..last.clone() }
            }
            (None, _) => return None,
        };
        // A balancer may count those of whom it never wrote a line.
        let rest = small(here().count()).saturating_sub(told.ready.unwrap_or(0));
        let zones = by_zone(here(), zones, told.source);
        let point = ReadyPoint { at_us, unknown: unknown.min(rest), zones, ..told };
        let same = |last: &ReadyPoint| ReadyPoint { at_us: last.at_us, ..point.clone() } == *last;
        if self.last.as_ref().is_some_and(same) {
            return None;
        }
        self.last = Some(point.clone());
        self.history.push_back((at_us, point.ready.unwrap_or(0)));
        let doubt = point.ready.map_or(u32::MAX, |_| point.unknown);
        if doubt > 0 {
            self.doubt.insert(at_us, doubt);
        } else {
            self.doubt.remove(&at_us);
        }
        Some(point)
    }

    /// What the source whose word counts says.
    fn told<'a, I: Iterator<Item = &'a Instance>>(
        &self,
        source: Source,
        here: impl Fn() -> I,
        lost: &BTreeSet<String>,
    ) -> ReadyPoint {
        let heard =
            |reporter: &String| self.feeds.get(reporter).is_none_or(|feed| !lost.contains(feed));
        let mut counts: Vec<u32> =
            self.active.iter().filter(|(by, _)| heard(by)).map(|(_, count)| *count).collect();
        counts.sort_unstable();
        // It counts its servers itself, those too of which it has told nothing.
        let middle = counts.get(counts.len() / 2).filter(|_| source == Source::Haproxy);
        let by = match middle {
            Some(ready) => BySource::one(source, *ready),
            None => {
                let mut by = BySource::default();
                for instance in here().filter(|i| is_ready(i, source)) {
                    by.add(instance.source.unwrap_or(Source::Traffic), 1);
                }
                counts = vec![by.some().map(|(_, count)| count).sum()];
                by
            }
        };
        ReadyPoint {
            at_us: 0,
            ready: counts.get(counts.len() / 2).copied(),
            by,
            unknown: 0,
            least: counts.first().copied(),
            most: counts.last().copied(),
            source,
            zones: Vec::new(),
        }
    }

    /// Since when there have been fewer than `limit` for certain without a break; none if there are enough.
    pub(super) fn below_since(&self, limit: u32) -> Option<i64> {
        let fewer = |(at, ready): &&(i64, u32)| {
            ready.saturating_add(self.doubt.get(at).copied().unwrap_or(0)) < limit
        };
        self.history.iter().rev().take_while(fewer).last().map(|(at, _)| *at)
    }

    /// It is not known whether there are fewer than `limit`.
    pub(super) fn is_doubtful(&self, limit: u32) -> bool {
        let Some(last) = &self.last else { return false };
        let ready = last.ready.unwrap_or(0);
        let doubt = last.ready.map_or(u32::MAX, |_| last.unknown);
        ready < limit && ready.saturating_add(doubt) >= limit
    }

    pub(super) fn pass(&mut self, until_us: i64) {
        self.until_us = self.until_us.max(until_us);
        // The newest that is older than a day still tells what held when the day began.
        while self.history.get(1).is_some_and(|(at, _)| *at < until_us - DAY) {
            self.history.pop_front();
        }
        if let Some((oldest, _)) = self.history.front() {
            self.doubt = self.doubt.split_off(oldest);
        }
    }

    /// Configured, or said by a platform, or else the 95th percentile of a day's ready count by time.
    pub(super) fn expected(&self, settings: &Settings) -> Option<Expected> {
        if let Some(count) = settings.expected.or(self.said) {
            return Some(Expected { count, learned: false });
        }
        let ends = self.history.iter().skip(1).map(|(at, _)| *at).chain([self.until_us]);
        let mut spans: Vec<(u32, i64)> = self
            .history
            .iter()
            .zip(ends)
            .filter(|((from, _), _)| !self.doubt.contains_key(from))
            .map(|((from, ready), to)| (*ready, (to - from).max(0)))
            .collect();
        spans.sort_unstable();
        // Wide, because what was said last before the day may be any time ago.
        let total: i128 = spans.iter().map(|(_, span)| i128::from(*span)).sum();
        let mut seen = 0;
        for (ready, span) in &spans {
            seen += i128::from(*span);
            if seen * 100 >= total * 95 {
                return Some(Expected { count: *ready, learned: true });
            }
        }
        None
    }
}

/// The zone that an instance is in: as somebody named it, or as a platform says.
pub(super) fn zone<'a>(
    instance: &'a Instance,
    zones: &'a BTreeMap<String, String>,
) -> Option<&'a str> {
    zones.get(&instance.name).or(instance.zone.as_ref()).map(String::as_str)
}

/// Of whom a source never spoke that writes down changes only, it has no change to tell.
fn is_ready(instance: &Instance, source: Source) -> bool {
    let by_traffic = source == Source::Traffic || source.tells_changes();
    instance.state == State::Ready || (by_traffic && instance.state == State::InRotation)
}

/// Nothing where no instance has a zone.
fn by_zone<'a>(
    here: impl Iterator<Item = &'a Instance>,
    zones: &BTreeMap<String, String>,
    source: Source,
) -> Vec<ZonePoint> {
    let mut all: BTreeMap<(bool, Option<String>), ZonePoint> = BTreeMap::new();
    for instance in here {
        let zone = zone(instance, zones).map(str::to_owned);
        let of = all.entry((zone.is_none(), zone.clone())).or_insert(ZonePoint {
            zone,
            ready: None,
            unknown: 0,
            instances: 0,
        });
        of.instances += 1;
        if instance.lost_us.is_some() {
            of.unknown += 1;
        } else {
            of.ready = Some(of.ready.unwrap_or(0) + u32::from(is_ready(instance, source)));
        }
    }
    let mut points: Vec<ZonePoint> = all.into_values().collect();
    if points.iter().all(|point| point.zone.is_none()) {
        points.clear();
    }
    points
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
