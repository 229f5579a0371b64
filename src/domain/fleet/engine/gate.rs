//! Before anybody is named: has it risen everywhere (settled rule 6)?

use super::grid::{Counts, QUANTUM_US, share};
use super::history::{Base, OWN_WINDOWS};
use super::judge::{Judge, POINTS, RHO_UNKNOWN, TIMES, bounded};
use super::numbers::Numbers;
use super::outcome::Outcome;
use super::peers::peers_of;
use super::stats::{lower_tail, upper_tail};

/// Chance below which an instance stands above what is usual for it, or below what the others have.
const CERTAIN: f64 = 0.01;
/// Of slow attempts: the share over the usual p90 that is too much, and the share that is usual.
const SLOW_SHARE: f64 = 0.3;
const SLOW_USUAL: f64 = 0.1;
/// What is usual is not known well by fewer than ten windows: then it must be this much more.
const FEW_POINTS: f64 = 0.05;
/// Small rises are seen over so many windows together, this one included. Not over more: an outage is to be
/// told while it lasts.
const TOGETHER: i64 = 5;
/// A code that all answer more often is told only when it is this much: clients choose what they ask.
const CODE_POINTS: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Not everywhere: instances are compared as usual.
    Calm,
    /// Half or more have risen and fewer than two have not: nobody is blamed.
    Shared,
    /// Half or more have risen and some have clearly not.
    Group,
    /// The only instance has risen.
    Alone,
}

/// One outcome in one window, each instance against its own past.
#[derive(Debug)]
pub(super) struct Gate {
    pub mode: Mode,
    pub elevated: Vec<usize>,
    pub clean: Vec<usize>,
    /// Spread in the baseline, held within bounds.
    pub rho: f64,
    /// (attempts, bad) by row, slow ones by the usual p90.
    counts: Vec<(u64, u64)>,
    usual: f64,
    windows: u64,
}

impl Gate {
    pub(super) fn of(
        judge: &Judge<'_>,
        outcome: Outcome,
        counts: &Counts,
        enough: &[usize],
    ) -> Self {
        let gate = Self::of_one(judge, outcome, counts, enough);
        let one = judge.span == 1 && enough.len() > 1;
        if one && outcome == Outcome::Errors && gate.mode == Mode::Calm {
            return gate.over_several(judge, counts, enough);
        }
        gate
    }

    fn of_one(judge: &Judge<'_>, outcome: Outcome, counts: &Counts, enough: &[usize]) -> Self {
        let mut gate = Self {
            mode: Mode::Calm,
            elevated: Vec::new(),
            clean: Vec::new(),
            rho: RHO_UNKNOWN,
            counts: Vec::new(),
            usual: SLOW_USUAL,
            windows: 0,
        };
        let needed = if enough.len() == 1 { 1 } else { enough.len().div_ceil(2).max(2) };
        gate.counts = match outcome {
            Outcome::Latency => slow_by_own(judge),
            _ => counts.flat.clone(),
        };
        let least = if outcome == Outcome::Latency { SLOW_SHARE } else { POINTS };
        let high = |i: &usize| share(gate.counts[*i]) >= least;
        if enough.is_empty() || enough.iter().filter(|i| high(i)).count() < needed {
            return gate;
        }
        gate.weigh(judge, outcome, &judge.base(outcome), counts, enough);
        if gate.elevated.len() < needed {
            return gate;
        }
        gate.mode = match (enough.len(), gate.clean.len()) {
            (1, _) => Mode::Alone,
            (_, 0 | 1) => Mode::Shared,
            _ => Mode::Group,
        };
        gate
    }

    /// A dependency that fails one call in twenty leaves each instance a handful of errors a window, which
    /// might be chance in each of them. Over some windows together it is none, and so it is shared when
    /// the whole pool is still above what is usual now; else this stays as it was.
    fn over_several(self, judge: &Judge<'_>, counts: &Counts, enough: &[usize]) -> Self {
        let now = enough.iter().map(|i| counts.flat[*i]);
        let now = share(now.fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e)));
        if now < POINTS {
            return self;
        }
        let first = judge.at - TOGETHER + 1;
        let base = judge.history.base_before(Outcome::Errors, first);
        let usual = share(base.pool());
        if base.windows() < OWN_WINDOWS || now < (TIMES * usual).max(usual + POINTS) {
            return self;
        }
        let mut several =
            Self { elevated: Vec::new(), clean: Vec::new(), counts: counts.flat.clone(), ..self };
        for (i, row) in judge.grid.rows.iter().enumerate() {
            let (n, e) = judge.history.sum_from(Outcome::Errors, first, row.id);
            several.counts[i].0 += n;
            several.counts[i].1 += e;
        }
        several.weigh(judge, Outcome::Errors, &base, counts, enough);
        let all = several.elevated.len() >= enough.len().div_ceil(2).max(2);
        if all && several.clean.len() < 2 {
            several.mode = Mode::Shared;
        } else {
            (several.elevated, several.clean) = (Vec::new(), Vec::new());
        }
        // What is told of it is this window alone, as of every other finding.
        several.counts.clone_from(&counts.flat);
        several
    }

    /// Sorts the rows into elevated, clean and undecided.
    fn weigh(
        &mut self,
        judge: &Judge<'_>,
        outcome: Outcome,
        base: &Base,
        counts: &Counts,
        enough: &[usize],
    ) {
        self.rho = bounded(base.rho, outcome);
        self.windows = base.windows();
        if outcome == Outcome::Latency {
            self.windows = judge.history.latency_windows() as u64;
        } else {
            self.usual = share(base.pool());
        }
        for i in enough.iter().copied() {
            let (n, e) = self.counts[i];
            if n == 0 {
                continue;
            }
            let (mean, known, least) = if outcome == Outcome::Latency {
                (SLOW_USUAL, f64::INFINITY, SLOW_SHARE)
            } else {
                let Some((usual_n, usual_e)) = base.of(judge.grid.rows[i].id) else { continue };
                let mean = (usual_e as f64 + 0.5) / (usual_n as f64 + 1.0);
                let points = if base.windows() < OWN_WINDOWS { FEW_POINTS } else { POINTS };
                (mean, usual_n as f64, (TIMES * mean).max(mean + points))
            };
            if share((n, e)) < least {
                continue;
            }
            let peers = peers_of(i, &counts.flat, &judge.usable);
            let rho = judge.rho(outcome, None, counts, &peers) + 1.0 / (known + 2.0);
            if upper_tail(e, n, mean, rho) < CERTAIN {
                self.elevated.push(i);
            }
        }
        let risen = self.elevated.iter().map(|i| self.counts[*i]);
        let risen = share(risen.fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e)));
        let rho = self.rho.max(RHO_UNKNOWN);
        let clean = enough.iter().copied().filter(|i| {
            let (n, e) = self.counts[*i];
            !self.elevated.contains(i) && n > 0 && lower_tail(e, n, risen, rho) < CERTAIN
        });
        self.clean = clean.collect();
    }

    pub(super) fn is_worth_telling(&self, outcome: Outcome) -> bool {
        let risen = self.elevated.iter().map(|i| self.counts[*i]);
        let risen = share(risen.fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e)));
        !matches!(outcome, Outcome::Code(_)) || risen - self.usual >= CODE_POINTS
    }

    /// What is told of all together.
    pub(super) fn numbers(
        &self,
        judge: &Judge<'_>,
        outcome: Outcome,
        counts: &Counts,
        enough: &[usize],
    ) -> Numbers {
        let sum = enough.iter().map(|i| self.counts[*i]);
        let (attempts, bad) = sum.fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e));
        let mut numbers = Numbers {
            attempts,
            bad,
            expected: self.usual,
            rho: self.rho,
            p: upper_tail(bad, attempts, self.usual.max(1e-6), self.rho),
            instances: enough.len(),
            elevated: self.elevated.len(),
            usual_windows: self.windows.min(super::history::BASE_WINDOWS as u64),
            span: judge.span,
            ..Numbers::default()
        };
        for i in enough {
            let (n, e) = self.counts[*i];
            numbers.each.push((judge.grid.rows[*i].name.to_owned(), n, e));
        }
        numbers.describe(judge, counts, enough, &[]);
        if outcome == Outcome::Latency {
            let (own, usual) = usual_and_now(judge, enough);
            numbers.p90_us = own;
            numbers.peers_p90_us = usual;
        }
        numbers
    }
}

/// By row and column: the instance's own usual p90 on the route class, else the pool's.
fn usual(judge: &Judge<'_>) -> Vec<Vec<Option<u32>>> {
    let mut pool: Vec<Option<Option<u32>>> = vec![None; judge.grid.routes.len()];
    let rows = judge.grid.rows.iter().map(|row| {
        let slots = judge.grid.routes.iter().zip(&row.cells).zip(&mut pool);
        let slots = slots.map(|(((_, route), cell), pool)| {
            cell.as_ref()?;
            let own = judge.history.usual_p90(row.id, *route);
            own.or_else(|| *pool.get_or_insert_with(|| judge.history.pool_p90(*route)))
        });
        slots.collect()
    });
    rows.collect()
}

/// Attempts that are slower than what the instance's own p90 was on the same route class.
fn slow_by_own(judge: &Judge<'_>) -> Vec<(u64, u64)> {
    let rows = judge.grid.rows.iter().zip(usual(judge)).map(|(row, usual)| {
        let mut sum = (0, 0);
        for (cell, usual) in row.cells.iter().zip(usual) {
            let Some((cell, usual)) = cell.zip(usual) else { continue };
            sum.0 += cell.latency.count();
            sum.1 += cell.latency.over(usual.saturating_add(QUANTUM_US));
        }
        sum
    });
    rows.collect()
}

/// p90 in µs of some rows now and usually, weighted by attempts.
fn usual_and_now(judge: &Judge<'_>, rows: &[usize]) -> (Option<f64>, Option<f64>) {
    let (mut now, mut before, mut weight) = (0.0, 0.0, 0.0);
    let usual = usual(judge);
    for i in rows {
        for (cell, usual) in judge.grid.rows[*i].cells.iter().zip(&usual[*i]) {
            let Some((cell, usual)) = cell.zip(*usual) else { continue };
            let Some(p90) = cell.latency.quantile(0.9) else { continue };
            let n = cell.latency.count() as f64;
            now += n * f64::from(p90);
            before += n * f64::from(usual);
            weight += n;
        }
    }
    if weight > 0.0 { (Some(now / weight), Some(before / weight)) } else { (None, None) }
}
