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
            ReadyPoint {
                at_us,
                ready: counts[counts.len() / 2],
                least: counts[0],
                most: counts[counts.len() - 1],
                source,
            }
        } else {
            // Of whom a source never spoke that writes down changes only, it has no change to tell.
            let by_traffic = source == Source::Traffic || source.tells_changes();
            let is = |i: &&Instance| {
                i.state == State::Ready || (by_traffic && i.state == State::InRotation)
            };
            let ready = instances.filter(is).count();
            let ready = u32::try_from(ready).unwrap_or(u32::MAX);
            ReadyPoint { at_us, ready, least: ready, most: ready, source }
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
