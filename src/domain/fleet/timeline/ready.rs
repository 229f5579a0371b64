//! How many are ready, of how many, and who says so.

use std::collections::{BTreeMap, VecDeque};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyPoint {
    pub at_us: i64,
    pub ready: u32,
    /// Smallest and largest count among the reporters.
    pub least: u32,
    pub most: u32,
    /// With [`Source::Traffic`] it is a count of who is in rotation, which is not the same.
    pub source: Source,
    /// Whose word each of those is who were counted.
    #[serde(default)]
    pub by: BySource,
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
}

const DAY: i64 = 86_400 * SECOND;

impl Ready {
    pub(super) fn said(&mut self, count: u32) {
        self.said = Some(count);
    }

    pub(super) fn last(&self) -> Option<ReadyPoint> {
        self.last
    }

    /// A reporter's own count after an event; one that does not tell it has it moved by the transition.
    pub(super) fn view(&mut self, event: &Event, before: State, after: State) {
        let reporter = event.reporter.clone().unwrap_or_default();
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
    }

    pub(super) fn empty(&mut self, event: &Event) {
        let reporter = event.reporter.clone().unwrap_or_default();
        if event.source == Source::Haproxy {
            self.active.insert(reporter, 0);
        }
    }

    /// A new point if the count changed.
    pub(super) fn count<'a>(
        &mut self,
        at_us: i64,
        instances: impl Iterator<Item = &'a Instance> + Clone,
    ) -> Option<ReadyPoint> {
        let source = instances.clone().filter_map(|i| i.source).min()?;
        let point = if source == Source::Haproxy && !self.active.is_empty() {
            let mut counts: Vec<u32> = self.active.values().copied().collect();
            counts.sort_unstable();
            let ready = counts[counts.len() / 2];
            ReadyPoint {
                at_us,
                ready,
                least: counts[0],
                most: counts[counts.len() - 1],
                source,
                // It counts its servers itself, those too of which it has told nothing.
                by: BySource::one(source, ready),
            }
        } else {
            // Of whom a source never spoke that writes down changes only, it has no change to tell.
            let by_traffic = source == Source::Traffic || source.tells_changes();
            let is = |i: &&Instance| {
                i.state == State::Ready || (by_traffic && i.state == State::InRotation)
            };
            let mut by = BySource::default();
            for instance in instances.filter(is) {
                by.add(instance.source.unwrap_or(Source::Traffic), 1);
            }
            let ready = by.some().map(|(_, count)| count).sum();
            ReadyPoint { at_us, ready, least: ready, most: ready, source, by }
        };
        let same = |last: &ReadyPoint| ReadyPoint { at_us: last.at_us, ..point } == *last;
        if self.last.as_ref().is_some_and(same) {
            return None;
        }
        self.last = Some(point);
        self.history.push_back((at_us, point.ready));
        Some(point)
    }

    /// Since when there have been fewer than `limit` without a break; none if there are enough.
    pub(super) fn below_since(&self, limit: u32) -> Option<i64> {
        let fewer = self.history.iter().rev().take_while(|(_, ready)| *ready < limit);
        fewer.last().map(|(at, _)| *at)
    }

    pub(super) fn pass(&mut self, until_us: i64) {
        self.until_us = self.until_us.max(until_us);
        // The newest that is older than a day still tells what held when the day began.
        while self.history.get(1).is_some_and(|(at, _)| *at < until_us - DAY) {
            self.history.pop_front();
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
