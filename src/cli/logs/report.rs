//! What is told of the logs that were read: figures by instance, readiness, removals, findings.

use std::collections::BTreeSet;

use super::judge::Pool;
use super::part::Counts;
use super::read::Outcome;
use crate::domain::fleet::{
    cell::{Cell, PoolCell},
    engine::interval99,
    finding::{Finding, Gravity},
    settings::Settings,
    timeline::{Expected, ReadyPoint, Removal, Restarts},
};

pub(super) struct Report {
    pub(super) files: Vec<File>,
    /// The first and the last stamp, in µs; none when nothing was read.
    pub(super) span: Option<(i64, i64)>,
    pub(super) window_s: u32,
    /// Requests that came when their minute had been judged.
    pub(super) late: u64,
    pub(super) interrupted: bool,
    /// Those with instances, by attempts.
    pub(super) pools: Vec<PoolReport>,
    /// Requests that belong to no pool with instances.
    pub(super) elsewhere: PoolCell,
}

pub(super) struct File {
    pub(super) name: String,
    pub(super) format: Option<&'static str>,
    pub(super) counts: Counts,
}

pub(super) struct PoolReport {
    pub(super) name: String,
    pub(super) pool: PoolCell,
    /// By name.
    pub(super) instances: Vec<Standing>,
    pub(super) ready: Vec<ReadyPoint>,
    pub(super) expected: Option<Expected>,
    pub(super) floor: Option<u32>,
    pub(super) removals: Vec<Removal>,
    /// Worst first.
    pub(super) findings: Vec<Finding>,
    /// Stretches with lines, in µs.
    pub(super) covered: Vec<(i64, i64)>,
}

/// One instance beside its peers.
pub(super) struct Standing {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) cell: Cell,
    /// Share of its attempts that failed, with the 99 % interval; none without attempts.
    pub(super) failed: Option<(f64, f64, f64)>,
    /// What its peers make of the same routes, without those whom a finding blames.
    pub(super) peers: Option<f64>,
    /// Of the pool's attempts.
    pub(super) share: f64,
    pub(super) restarts: Restarts,
    pub(super) transitions: u64,
    pub(super) version: Option<String>,
}

impl Report {
    pub(super) fn new(
        files: Vec<(String, Option<&'static str>)>,
        outcome: Outcome,
        settings: &Settings,
    ) -> Self {
        let files = files.into_iter().zip(outcome.counts);
        let files = files.map(|((name, format), counts)| File { name, format, counts }).collect();
        let mut elsewhere = PoolCell::default();
        let mut pools = Vec::new();
        let late = outcome.judge.late;
        for (name, pool) in outcome.judge.pools {
            let report = PoolReport::new(name, pool, settings);
            if report.instances.is_empty() && report.findings.is_empty() {
                elsewhere.merge(&report.pool);
            } else {
                pools.push(report);
            }
        }
        pools.sort_by_key(|pool| std::cmp::Reverse(pool.attempts()));
        let interrupted = outcome.interrupted;
        let window_s = settings.window_s;
        Self { files, span: outcome.span, window_s, late, interrupted, pools, elsewhere }
    }

    pub(super) fn lines(&self) -> u64 {
        self.files.iter().map(|file| file.counts.lines).sum()
    }

    pub(super) fn rejected(&self) -> u64 {
        self.files.iter().map(|file| file.counts.rejected).sum()
    }
}

impl Standing {
    /// Whether the sums of the whole run set it apart, by the measure of importance that findings have.
    pub(super) fn is_unlike(&self) -> bool {
        let (Some((share, low, _)), Some(peers)) = (self.failed, self.peers) else { return false };
        let enough = self.cell.attempts >= 50 && self.cell.errors() >= 5;
        enough && share - peers >= 0.01 && low >= 3.0 * peers
    }
}

impl PoolReport {
    fn new(name: String, pool: Pool, settings: &Settings) -> Self {
        let totals = &pool.totals;
        let all = totals.attempts();
        let lives = pool.timeline.instances();
        let comparing = pool.findings().filter(|finding| finding.kind.compares());
        let blamed: BTreeSet<&str> =
            comparing.flat_map(|finding| finding.instances.iter().map(String::as_str)).collect();
        let beside = totals.beside(|name| blamed.contains(name));
        let mut names: Vec<&String> = totals.instances.keys().chain(lives.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let standing = |name: &String| {
            let cell =
                totals.instances.get(name).map(|total| total.cell.clone()).unwrap_or_default();
            let life = lives.get(name);
            let failed = (cell.attempts > 0).then(|| {
                let (low, high) = interval99(cell.errors(), cell.attempts);
                (cell.errors() as f64 / cell.attempts as f64, low, high)
            });
            Standing {
                name: name.clone(),
                aliases: life
                    .map(|life| life.aliases.iter().cloned().collect())
                    .unwrap_or_default(),
                failed,
                peers: beside.seen(name),
                share: if all == 0 { 0.0 } else { cell.attempts as f64 / all as f64 },
                restarts: life.map(|life| life.restarts).unwrap_or_default(),
                transitions: life.map_or(0, |life| life.transitions),
                version: life.and_then(|life| life.version.clone()),
                cell,
            }
        };
        let instances = names.into_iter().map(standing).collect();
        let expected = pool.timeline.expected();
        let mut findings: Vec<Finding> = pool.findings().cloned().collect();
        findings.sort_by_key(rank);
        let window_us = i64::from(settings.window_s.max(1)) * 1_000_000;
        let mut covered: Vec<(i64, i64)> = Vec::new();
        for (from, to) in &totals.heard {
            match covered.last_mut() {
                // Where states are told, they hold until another is; and one window without a line is no
                // silence.
                Some((_, end))
                    if totals.pool.requests == 0 || from * window_us - *end <= window_us =>
                {
                    *end = to * window_us;
                }
                _ => covered.push((from * window_us, to * window_us)),
            }
        }
        Self {
            name,
            instances,
            floor: expected.filter(|e| !e.learned).map(|e| settings.floor(e.count)),
            expected,
            findings,
            covered,
            pool: pool.totals.pool,
            ready: pool.ready,
            removals: pool.removals.into_values().collect(),
        }
    }

    pub(super) fn attempts(&self) -> u64 {
        self.instances.iter().map(|standing| standing.cell.attempts).sum()
    }
}

/// Open and severe ones first, then as they came.
fn rank(finding: &Finding) -> (bool, std::cmp::Reverse<Gravity>, bool, i64) {
    let severity = std::cmp::Reverse(finding.severity);
    (finding.severity == Gravity::Info, severity, finding.to_us.is_some(), finding.from_us)
}
