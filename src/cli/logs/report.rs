//! What is told of the logs that were read: figures by instance, readiness, removals, findings.

use std::collections::BTreeSet;

use super::judge::Pool;
use super::part::Counts;
use super::read::Outcome;
use super::readiness::{Readiness, Unheard};
use crate::domain::fleet::{
    all_out::{Seen, platform_of},
    cell::{Cell, PoolCell},
    engine::interval99,
    event::Source,
    finding::{Finding, Gravity},
    platform::{self, Platform},
    settings::Settings,
    timeline::{Expected, ReadyPoint, Removal, Restarts, timing},
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
    /// In order.
    pub(super) all_out: Vec<AllOut>,
    /// What was seen in all windows that those touch.
    pub(super) seen_out: Seen,
    pub(super) window_us: i64,
    pub(super) expected: Option<Expected>,
    pub(super) floor: Option<u32>,
    pub(super) removals: Vec<Removal>,
    /// What the configured check needs at least to take an instance back.
    pub(super) return_us: Option<i64>,
    /// Worst first.
    pub(super) findings: Vec<Finding>,
    /// Stretches with lines, in µs.
    pub(super) covered: Vec<(i64, i64)>,
}

/// A stretch in which nobody was ready. Times in µs.
pub(super) struct AllOut {
    pub(super) from_us: i64,
    /// None while it goes on.
    pub(super) to_us: Option<i64>,
    /// Of the windows that it touches.
    pub(super) seen: Seen,
    /// What takes instances out, as far as that is known.
    pub(super) platform: Option<&'static Platform>,
    /// How many instances there were.
    pub(super) of: usize,
    source: Source,
}

impl AllOut {
    /// All of them, and what was seen in all their windows, each counted once.
    fn all(pool: &Pool, settings: &Settings, window_us: i64) -> (Vec<Self>, Seen) {
        let mut all: Vec<Self> = Vec::new();
        for (at, point) in pool.ready.iter().enumerate().filter(|(_, point)| point.ready == Some(0))
        {
            // One of traffic alone is a log that begins or ends.
            if point.source == Source::Traffic {
                continue;
            }
            let to_us = pool.ready.get(at + 1).map(|next| next.at_us);
            // A platform tells of Pods from their creation on: the first ones are not ready yet.
            let began = pool.ready[..at].iter().all(|before| before.ready == Some(0));
            if began && to_us.is_some() && point.source == Source::Kubernetes {
                continue;
            }
            match all.last_mut() {
                Some(last) if last.to_us == Some(point.at_us) => last.to_us = to_us,
                _ if to_us == Some(point.at_us) => {}
                _ => all.push(Self {
                    from_us: point.at_us,
                    to_us,
                    seen: Seen::default(),
                    platform: platform_of(settings, point.source),
                    of: pool.timeline.instances().len(),
                    source: point.source,
                }),
            }
        }
        let mut windows = BTreeSet::new();
        for stretch in &mut all {
            stretch.end_by_trial();
            let first = stretch.from_us.div_euclid(window_us);
            let last = stretch.to_us.map_or(i64::MAX, |to| (to - 1).div_euclid(window_us));
            for (index, seen) in pool.all_out.range(first..=last.max(first)) {
                stretch.seen.merge(seen);
                windows.insert(*index);
            }
        }
        let mut whole = Seen::default();
        pool.all_out
            .iter()
            .filter(|(index, _)| windows.contains(index))
            .for_each(|(_, seen)| whole.merge(seen));
        (all, whole)
    }

    /// nginx says when it leaves a server out and never when it tries it again, which it does after this
    /// time: longer, its word is not known to hold.
    fn end_by_trial(&mut self) {
        if self.source != Source::NginxError {
            return;
        }
        let timeout_s =
            platform::behind(self.source).map_or(0.0, |nginx| nginx.defaults.interval_s);
        let trial_us = self.from_us + (timeout_s * 1e6) as i64;
        self.to_us = Some(self.to_us.map_or(trial_us, |to| to.min(trial_us)));
    }
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
    /// It is ready or in rotation at the end.
    pub(super) serves: bool,
    pub(super) readiness: Readiness,
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
            let report = PoolReport::new(name, pool, settings, outcome.span);
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
    fn new(name: String, pool: Pool, settings: &Settings, span: Option<(i64, i64)>) -> Self {
        let window_us = i64::from(settings.window_s.max(1)) * 1_000_000;
        let end_us = span.map_or(i64::MAX, |(_, last)| last);
        let counted_us = end_us.div_euclid(window_us).saturating_add(1).saturating_mul(window_us);
        let totals = &pool.totals;
        let all = totals.attempts();
        let lives = pool.timeline.instances();
        let comparing = pool.findings().filter(|finding| finding.kind.compares());
        let blamed: BTreeSet<&str> =
            comparing.flat_map(|finding| finding.instances.iter().map(String::as_str)).collect();
        // Where there were never any requests, states are told, and hold until another is.
        let unheard = if totals.pool.requests > 0 { &pool.unheard } else { &Unheard::default() };
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
                serves: life.is_some_and(|life| life.state.serves()),
                readiness: life
                    .map(|life| Readiness::at(life, counted_us, end_us).without(unheard.of(name)))
                    .unwrap_or_default(),
                cell,
            }
        };
        let instances = names.into_iter().map(standing).collect();
        let expected = pool.timeline.expected();
        let (all_out, seen_out) = AllOut::all(&pool, settings, window_us);
        let mut findings: Vec<Finding> = pool.findings().cloned().collect();
        findings.sort_by_key(rank);
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
            all_out,
            seen_out,
            window_us,
            return_us: timing(settings).map(|timing| (timing.return_s * 1e6) as i64),
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
