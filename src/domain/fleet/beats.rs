//! Requests for the path of a health check by nobody who is known to check, such as HAProxy, Traefik and
//! Caddy: whether they are checks is told by their rhythm (spec: fleet 1.10).
//!
//! A rhythm shows only over time, and a line says nothing of it, while the sums of two batches must be the
//! sum of both, wherever they were cut. So such requests are counted as traffic like any other, and are
//! noted one by one beside the sums; when their window is judged and they turn out to be checks, they are
//! moved from traffic to checks, all of an instance, path and window or none. What cannot be moved exactly,
//! because something else is counted with it, stays traffic: nothing is hidden by mistake.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    cell::{Cell, PoolCell, Window},
    event::{Event, Source, What},
    probe::Rhythm,
    record::{Attempt, Attribution, Outcome, Record},
};

/// More than so many in a window are no checks, and are not kept: sixteen clients that ask once a second.
const MOST: usize = 1_000;
/// What has not been asked for so long has no rhythm any more, in µs.
const FORGOTTEN_US: i64 = 86_400_000_000;

/// Requests for one path of one instance in one window, of one kind of source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beats {
    pub pool: String,
    /// As the log names it.
    pub instance: String,
    /// The route class.
    pub route: String,
    /// From the instance's own log.
    pub own: bool,
    /// They are in the sums, as traffic.
    pub counted: bool,
    pub seen: Seen,
}

/// Requests one by one, as long as they are few. Two of them merge to the same, wherever they were cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    beats: Vec<Beat>,
    /// There were more than [`MOST`]; none is kept.
    crowded: bool,
}

/// End in µs, the client as a number, the status to the client (0: none), whether it went well for the
/// instance, and whether the request failed.
type Beat = (i64, u32, u16, bool, bool);

/// The rhythms of all that is asked for like a check, by instance, then by kind of source and route.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rhythms {
    rhythms: BTreeMap<String, BTreeMap<String, Rhythm>>,
}

impl Seen {
    /// Notes one request; whatever its line says beside its only attempt makes it no check.
    pub(super) fn add(&mut self, record: &Record<'_>, attempt: &Attempt<'_>, client: u32) {
        let plain = matches!(record.attribution, Attribution::Instance | Attribution::None);
        let known = attempt.outcome != Outcome::Unknown;
        if !plain || !known || record.pool_empty > 0 || record.redispatched {
            return;
        }
        let failed = attempt.outcome.is_error();
        let by_server = record.status.is_some_and(|status| status >= 500);
        let of_pool = by_server || (failed && record.attribution == Attribution::Instance);
        let status = record.status.unwrap_or(0);
        self.beats.push((record.end_us, client, status, !failed, of_pool));
        self.thin_out();
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.beats.extend(other.beats);
        self.crowded |= other.crowded;
        self.thin_out();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.beats.is_empty() && !self.crowded
    }

    pub(super) fn in_order(mut self) -> Self {
        self.beats.sort_unstable();
        self
    }

    fn thin_out(&mut self) {
        self.crowded |= self.beats.len() > MOST;
        if self.crowded {
            self.beats = Vec::new();
        }
    }
}

impl Beats {
    /// What the checks say of their instance, if the log is its own: others see only what comes through
    /// them.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let told = self.seen.beats.iter().filter(|_| self.own);
        told.map(|(at_us, _, _, passed, _)| Event {
            pool: Some(self.pool.clone()).filter(|pool| !pool.is_empty()),
            ..Event::new(*at_us, Source::Probes, What::Check { passed: *passed })
                .of(&*self.instance)
        })
    }

    /// Moves these requests from traffic to checks. Nothing is done, and false told, where the cell holds
    /// other traffic beside them.
    pub fn move_in(&self, cell: &mut Cell, pool: &mut PoolCell) -> bool {
        let count = self.seen.beats.len() as u64;
        let passed = self.seen.beats.iter().filter(|beat| beat.3).count() as u64;
        if self.counted {
            let traffic = cell.attempts + cell.unknown + cell.clients + cell.proxies;
            if traffic != count {
                return false;
            }
            let (probes_passed, probes_failed) = (cell.probes_passed, cell.probes_failed);
            *cell = Cell { probes_passed, probes_failed, ..Cell::default() };
        }
        cell.probes_passed += passed;
        cell.probes_failed += count - passed;
        for (_, _, status, _, failed) in self.seen.beats.iter().filter(|_| self.counted) {
            pool.requests = pool.requests.saturating_sub(1);
            pool.failed = pool.failed.saturating_sub(u64::from(*failed));
            if let Some(same) = pool.codes.get_mut(status) {
                *same = same.saturating_sub(1);
            }
        }
        pool.codes.retain(|_, count| *count > 0);
        true
    }
}

impl Rhythms {
    /// Which of one window's requests are checks. Call it once a window, in the order of time: it goes on
    /// from the windows before.
    pub fn checks(&mut self, beats: impl IntoIterator<Item = Beats>) -> Vec<Beats> {
        let mut whole: BTreeMap<(String, String, String, bool, bool), Seen> = BTreeMap::new();
        for one in beats {
            let key = (one.pool, one.instance, one.route, one.own, one.counted);
            whole.entry(key).or_default().merge(one.seen);
        }
        let mut checks = Vec::new();
        let mut newest_us = None;
        for ((pool, instance, route, own, counted), mut seen) in whole {
            seen.beats.sort_unstable();
            newest_us = newest_us.max(seen.beats.last().map(|beat| beat.0));
            let key = format!("{} {route}", if own { "own" } else { "through" });
            let rhythm = self.rhythms.entry(instance.clone()).or_default().entry(key).or_default();
            let mut steady = !seen.crowded && !seen.beats.is_empty();
            for (at_us, client, ..) in &seen.beats {
                steady &= rhythm.is_probe(*client, *at_us);
            }
            if steady {
                checks.push(Beats { pool, instance, route, own, counted, seen });
            }
        }
        if let Some(newest_us) = newest_us {
            self.forget_before(newest_us - FORGOTTEN_US);
        }
        checks
    }

    /// Moves what turns out to be checks within one window, and gives what they say of their instances.
    pub fn sort_out(&mut self, beats: Vec<Beats>, window: &mut Window) -> Vec<Event> {
        let mut events = Vec::new();
        for checks in self.checks(beats) {
            let routes = window.cells.entry(checks.instance.clone()).or_default();
            let cell = routes.entry(checks.route.clone()).or_default();
            if checks.move_in(cell, &mut window.pool) {
                events.extend(checks.events());
            }
        }
        events
    }

    fn forget_before(&mut self, at_us: i64) {
        for rhythms in self.rhythms.values_mut() {
            rhythms.retain(|_, rhythm| rhythm.last_us().is_some_and(|last| last >= at_us));
        }
        self.rhythms.retain(|_, rhythms| !rhythms.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fleet::record::Fault;

    const STEP_US: i64 = 5_000_000;

    fn beat(at_us: i64, client: u32, status: u16) -> Seen {
        let outcome = if status < 500 { Outcome::Ok } else { Outcome::Error(Fault::Status) };
        let record = Record {
            end_us: at_us,
            status: Some(status),
            attribution: Attribution::Instance,
            ..Record::default()
        };
        let mut seen = Seen::default();
        seen.add(&record, &Attempt { outcome, ..Attempt::default() }, client);
        seen
    }

    fn beats(all: impl IntoIterator<Item = Seen>) -> Beats {
        let mut seen = Seen::default();
        all.into_iter().for_each(|one| seen.merge(one));
        Beats {
            instance: "a".into(),
            route: "GET /up".into(),
            counted: true,
            seen,
            ..Beats::default()
        }
    }

    #[test]
    fn steady_requests_are_checks_from_the_window_after_the_eleventh_on() {
        let mut rhythms = Rhythms::default();
        let windows = (0..4).map(|window| {
            let all = (0..12).map(|i| beat((window * 12 + i) * STEP_US, 7, 200));
            rhythms.checks([beats(all)]).len()
        });
        assert_eq!(windows.collect::<Vec<_>>(), [0, 1, 1, 1]);
        // One that comes when it likes makes the whole window traffic.
        let steady = (48..60).map(|i| beat(i * STEP_US, 7, 200));
        let guest = beat(50 * STEP_US + 777, 9, 500);
        assert!(rhythms.checks([beats(steady.chain([guest]))]).is_empty());
    }

    #[test]
    fn where_the_batches_are_cut_makes_no_difference() {
        let all: Vec<Seen> = (0..40).map(|i| beat(i * STEP_US, (i % 2) as u32, 200)).collect();
        let told = |size: usize| {
            let mut rhythms = Rhythms::default();
            let mut window = |part: &[Seen]| {
                let batches: Vec<Beats> = part.chunks(size).map(|c| beats(c.to_vec())).collect();
                rhythms.checks(batches.into_iter().rev())
            };
            let first = window(&all[..28]);
            (first, window(&all[28..]), rhythms)
        };
        let whole = told(40);
        assert_eq!((whole.0.len(), whole.1.len()), (0, 1));
        for size in 1..28 {
            assert_eq!(told(size), whole, "{size}");
        }
        // Too many are too many, however they come.
        let crowd: Vec<Seen> = (0..=MOST as i64).map(|i| beat(i, 1, 200)).collect();
        for size in [1, 400, MOST, MOST + 1] {
            let mut seen = Seen::default();
            crowd.chunks(size).for_each(|c| seen.merge(beats(c.to_vec()).seen));
            assert_eq!(seen, Seen { beats: Vec::new(), crowded: true }, "{size}");
        }
    }

    #[test]
    fn what_is_moved_is_gone_from_traffic_and_nothing_else_is() {
        let checks = beats([beat(1, 7, 200), beat(2, 7, 503)]);
        let cell = Cell {
            attempts: 2,
            codes: [(200, 1), (503, 1)].into(),
            probes_passed: 3,
            ..Cell::default()
        };
        let pool = PoolCell {
            requests: 10,
            failed: 2,
            codes: [(200, 8), (503, 1), (500, 1)].into(),
            ..PoolCell::default()
        };
        let (mut moved, mut less) = (cell.clone(), pool.clone());
        assert!(checks.move_in(&mut moved, &mut less));
        assert_eq!((moved.attempts, moved.probes_passed, moved.probes_failed), (0, 4, 1));
        assert!(moved.codes.is_empty());
        assert_eq!((less.requests, less.failed), (8, 1));
        assert_eq!(less.codes, [(200, 7), (500, 1)].into());
        // A request more than was noted is somebody's.
        let mut other = Cell { attempts: 3, ..cell };
        let mut same = pool.clone();
        assert!(!checks.move_in(&mut other, &mut same));
        assert_eq!((other.attempts, same), (3, pool));
        assert_eq!(checks.events().count(), 0);
        assert_eq!(Beats { own: true, ..checks }.events().count(), 2);
    }
}
