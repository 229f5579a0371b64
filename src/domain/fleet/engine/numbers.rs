//! The numbers behind a finding, as they are remembered while it is open.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::grid::{Counts, share};
use super::judge::Judge;
use super::outcome::Outcome;
use crate::domain::fleet::cell::Faults;

/// Route classes that are told of.
const ROUTES: usize = 5;

/// One comparison in one window (or several, see `span`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Numbers {
    /// Of the instance, or of all that were judged together, in the route classes that could be compared.
    pub attempts: u64,
    pub bad: u64,
    /// Who was compared with, how many attempts they had and how many of those were bad.
    pub peers: usize,
    pub peers_attempts: u64,
    pub peers_bad: u64,
    /// The share that was to be expected: the peers' over the instance's own mix of route classes, or
    /// what was usual before.
    pub expected: f64,
    /// Spread between instances that was allowed for, and the chance of so many bad attempts.
    pub rho: f64,
    pub p: f64,
    /// The one route class that this is about, if it is about one.
    pub route: Option<String>,
    /// The route classes with the most bad attempts.
    pub routes: Vec<RouteNumbers>,
    pub status: u64,
    pub connect: u64,
    pub timeout: u64,
    pub reset: u64,
    /// Answers by status of 400 and more.
    pub codes: BTreeMap<u16, u64>,
    pub p90_us: Option<f64>,
    pub peers_p90_us: Option<f64>,
    pub p50_us: Option<f64>,
    pub peers_p50_us: Option<f64>,
    /// Attempts beside the median of the peers', weights considered.
    pub traffic: Option<f64>,
    /// How many instances had enough attempts, and how many of them stood above what is usual for them.
    pub instances: usize,
    pub elevated: usize,
    /// Windows that stand behind what is usual.
    pub usual_windows: u64,
    /// Windows that were taken together for want of attempts: 1, 5 or 15.
    pub span: u32,
    pub at_once: bool,
    pub warming: bool,
    /// The others answer 5xx where this one answers a 4xx.
    pub wrong_code: bool,
    /// What a black hole is bad in.
    pub part: Option<Outcome>,
    /// When several are told of together: each with its attempts and bad ones.
    pub each: Vec<(String, u64, u64)>,
}

/// One route class of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RouteNumbers {
    pub route: String,
    pub attempts: u64,
    pub bad: u64,
    pub peers_attempts: u64,
    pub peers_bad: u64,
}

impl Numbers {
    pub(super) fn share(&self) -> f64 {
        share((self.attempts, self.bad))
    }

    pub(super) fn add_faults(&mut self, faults: &Faults) {
        self.status += faults.status;
        self.connect += faults.connect;
        self.timeout += faults.timeout;
        self.reset += faults.reset;
    }

    /// Says how the rows failed, with which codes and on which route classes.
    pub(super) fn describe(
        &mut self,
        judge: &Judge<'_>,
        counts: &Counts,
        rows: &[usize],
        peers: &[usize],
    ) {
        let grid = judge.grid;
        let sum = |rows: &[usize], slot: usize| {
            let counts = rows.iter().map(|row| counts.at(*row, slot));
            counts.fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e))
        };
        for (slot, (route, _)) in grid.routes.iter().enumerate() {
            let told = self.route.as_ref().is_none_or(|only| only == route);
            if !told {
                continue;
            }
            for cell in rows.iter().filter_map(|row| grid.rows[*row].cells[slot]) {
                self.add_faults(&cell.faults);
                for (code, count) in cell.codes.iter().filter(|(code, _)| **code >= 400) {
                    *self.codes.entry(*code).or_default() += count;
                }
            }
            let ((attempts, bad), (peers_attempts, peers_bad)) =
                (sum(rows, slot), sum(peers, slot));
            if bad > 0 {
                let route = (*route).to_owned();
                self.routes.push(RouteNumbers { route, attempts, bad, peers_attempts, peers_bad });
            }
        }
        self.routes.sort_by(|a, b| b.bad.cmp(&a.bad).then_with(|| a.route.cmp(&b.route)));
        self.routes.truncate(ROUTES);
    }
}
