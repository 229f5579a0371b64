//! The tests of one window: who is bad more often than the peers, by more than chance (spec: fleet 3.2
//! and settled rules 1 to 4).

use std::borrow::Cow;

use super::compare::{Compared, compare};
use super::gate::{Gate, Mode};
use super::grid::{Counts, ENOUGH, Grid, QUANTUM_US, share};
use super::history::{Base, History, SPREAD_WINDOWS};
use super::numbers::Numbers;
use super::outcome::Outcome;
use super::peers::peers_of;
use super::stats::{Spread, cutoff, upper_tail};

/// An instance is named from so many attempts on, compared on route classes of which the peers have as
/// many, and from so many bad ones on.
pub(super) const FEWEST: u64 = 50;
pub(super) const FEWEST_BAD: u64 = 5;
/// Rate of Benjamini and Hochberg over all tests of a window.
const RATE: f64 = 0.002;
/// The spread is held within these, and above the floors while little is known of it.
pub(super) const RHO: (f64, f64) = (0.002, 0.1);
pub(super) const RHO_UNKNOWN: f64 = 0.01;
const RHO_LATENCY: f64 = 0.02;
/// A share must exceed the peers' by so much, and by so many times.
pub(super) const POINTS: f64 = 0.01;
pub(super) const TIMES: f64 = 3.0;
/// Of slow attempts the peers have a tenth by definition, so shares and medians count in another way.
const SLOW_SHARE: f64 = 0.2;
const SLOW_TIMES: f64 = 1.5;
/// Below this a test of slow attempts is not worth making.
const SLOW_WORTH: f64 = 0.15;
/// Route classes that are tested on their own, too.
const OWN_ROUTES: usize = 5;
/// All of an instance's attempts bad while fewer than this of its peers' are: told at once.
const PEERS_WELL: f64 = 0.1;
const FEWEST_PEER_ATTEMPTS: u64 = 10;

/// Who a hit is about.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub(super) enum Subject {
    Instance(String),
    /// All alike.
    Shared,
    /// One of two.
    Differs,
    /// The only one.
    Pool,
}

/// Somebody was bad in this window.
#[derive(Debug)]
pub(super) struct Hit {
    pub outcome: Outcome,
    pub subject: Subject,
    pub numbers: Numbers,
}

/// What one window says.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub hits: Vec<Hit>,
    /// Outcomes in which all had risen, whether that is told or not.
    pub gated: Vec<Outcome>,
    /// (attempts, bad) by outcome and row.
    pub counts: Vec<(Outcome, Vec<(u64, u64)>)>,
}

pub(super) struct Judge<'a> {
    pub grid: &'a Grid<'a>,
    pub history: &'a History,
    pub errors: Counts,
    pub slow: Counts,
    pub blank: Counts,
    /// Who may be judged and be a peer, by row.
    pub usable: Vec<bool>,
    busiest: Vec<usize>,
    /// Of the last window that is judged.
    pub at: i64,
    pub span: u32,
}

/// By which measure a row is compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    /// One route class, or all.
    pub slot: Option<usize>,
    pub times: f64,
    /// A spread that is given, or the least that is allowed.
    pub rho: Option<f64>,
    pub rho_floor: f64,
}

impl Measure {
    pub(super) const USUAL: Self = Self { slot: None, times: TIMES, rho: None, rho_floor: 0.0 };
}

impl<'a> Judge<'a> {
    pub(super) fn new(grid: &'a Grid<'a>, history: &'a History, at: i64, span: u32) -> Self {
        let errors = grid.errors();
        let busiest = grid.busiest(&errors, OWN_ROUTES);
        Self {
            grid,
            history,
            busiest,
            slow: grid.slow(&grid.slow_limits()),
            blank: grid.blank(&grid.blank_limits()),
            errors,
            usable: grid.rows.iter().map(|row| !row.warming).collect(),
            at,
            span,
        }
    }

    /// Who cannot be judged by this window alone: too few attempts, or on route classes of which the
    /// peers have too few.
    pub(super) fn thin(&self) -> Vec<bool> {
        let thin = |i: usize| {
            let peers = peers_of(i, &self.errors.flat, &self.usable);
            compare(&self.errors, i, &peers, None, FEWEST).own.0 < FEWEST
        };
        (0..self.grid.rows.len()).map(thin).collect()
    }

    /// Judges the window. `may`: whether a row is to be named at all from this span.
    pub(super) fn round(&self, may: &[bool]) -> Round {
        let mut round = Round::default();
        let mut found: Vec<Hit> = Vec::new();
        let mut tests = 0;
        let codes = self.grid.codes();
        let mut outcomes = vec![Outcome::Errors, Outcome::Latency, Outcome::Blank];
        outcomes.extend(codes.into_iter().map(Outcome::Code));
        for outcome in outcomes {
            let counts = match outcome {
                Outcome::Latency => Cow::Borrowed(&self.slow),
                Outcome::Blank => Cow::Borrowed(&self.blank),
                Outcome::Code(code) => Cow::Owned(self.grid.code(code)),
                Outcome::BlackHole | Outcome::Errors => Cow::Borrowed(&self.errors),
            };
            tests += self.outcome(outcome, &counts, may, &mut round, &mut found);
            round.counts.push((outcome, counts.into_owned().flat));
        }
        let mut small: Vec<f64> = found.iter().map(|hit| hit.numbers.p).collect();
        let limit = cutoff(&mut small, tests, RATE);
        found
            .retain(|hit| hit.numbers.at_once || limit.is_some_and(|limit| hit.numbers.p <= limit));
        for hit in found {
            let told = |other: &Hit| (other.outcome, &other.subject) == (hit.outcome, &hit.subject);
            match round.hits.iter_mut().find(|other| told(other)) {
                Some(other)
                    if other.numbers.route.is_none() || other.numbers.p <= hit.numbers.p => {}
                Some(other) => *other = hit,
                None => round.hits.push(hit),
            }
        }
        round
    }

    /// Asks one question of all rows, and says how many tests that was.
    fn outcome(
        &self,
        outcome: Outcome,
        counts: &Counts,
        may: &[bool],
        round: &mut Round,
        found: &mut Vec<Hit>,
    ) -> usize {
        let flat = &counts.flat;
        let enough: Vec<usize> =
            (0..flat.len()).filter(|i| self.usable[*i] && flat[*i].0 >= ENOUGH).collect();
        let gate = Gate::of(self, outcome, counts, &enough);
        if gate.mode != Mode::Calm {
            round.gated.push(outcome);
        }
        let (subject, tells) = match gate.mode {
            Mode::Shared => (Subject::Shared, true),
            Mode::Alone => (Subject::Pool, true),
            Mode::Calm | Mode::Group => (Subject::Pool, false),
        };
        if tells && gate.is_worth_telling(outcome) {
            let numbers = gate.numbers(self, outcome, counts, &enough);
            round.hits.push(Hit { outcome, subject, numbers });
        }
        if gate.mode == Mode::Calm && enough.len() == 2 && enough.iter().any(|i| may[*i]) {
            found.extend(self.differs(outcome, counts, &enough));
            return 2;
        }
        if enough.len() < 3 {
            return 0;
        }
        let tests = enough.iter().filter(|i| flat[**i].0 >= FEWEST).count();
        let mut name = |i: usize, numbers: Numbers| {
            let subject = Subject::Instance(self.grid.rows[i].name.to_owned());
            found.push(Hit { outcome, subject, numbers });
        };
        match gate.mode {
            Mode::Calm => {
                let mut more = 0;
                for i in (0..flat.len()).filter(|i| may[*i]) {
                    more += self.against_peers(outcome, counts, i, |numbers| name(i, numbers));
                }
                return tests + more;
            }
            Mode::Group => {
                let measure = Measure { rho: Some(gate.rho), ..Measure::USUAL };
                for i in gate.elevated.iter().copied().filter(|i| may[*i]) {
                    if let Some(numbers) = self.test(outcome, counts, i, &gate.clean, measure) {
                        name(i, numbers);
                    }
                }
            }
            Mode::Shared => {
                let measure = Measure { times: 2.0, rho_floor: 0.03, ..Measure::USUAL };
                for i in gate.elevated.iter().copied().filter(|i| may[*i]) {
                    let others: Vec<usize> =
                        gate.elevated.iter().copied().filter(|j| *j != i).collect();
                    if let Some(numbers) = self.test(outcome, counts, i, &others, measure) {
                        name(i, numbers);
                    }
                }
            }
            Mode::Alone => {}
        }
        tests
    }

    /// The usual case: one row against its peers, in all and on the busiest route classes. Says how many
    /// tests were made on route classes.
    fn against_peers(
        &self,
        outcome: Outcome,
        counts: &Counts,
        i: usize,
        mut name: impl FnMut(Numbers),
    ) -> usize {
        let (n, e) = counts.flat[i];
        let by_route = matches!(outcome, Outcome::Errors | Outcome::Latency);
        let slots = if by_route { self.busiest.as_slice() } else { &[] };
        let tests = slots.iter().filter(|slot| counts.at(i, **slot).0 >= FEWEST).count();
        if e < FEWEST_BAD {
            return tests;
        }
        let peers = peers_of(i, &counts.flat, &self.usable);
        if let Some(numbers) = self.all_bad(outcome, counts, i, &peers) {
            name(numbers);
            return tests;
        }
        if n < FEWEST || !self.usable[i] {
            return tests;
        }
        let worth = |(n, e): (u64, u64)| {
            n >= FEWEST
                && e >= FEWEST_BAD
                && share((n, e)) >= if outcome == Outcome::Latency { SLOW_WORTH } else { POINTS }
        };
        if worth((n, e))
            && let Some(numbers) = self.test(outcome, counts, i, &peers, Measure::USUAL)
        {
            name(numbers);
        }
        for slot in slots.iter().copied().filter(|slot| worth(counts.at(i, *slot))) {
            let measure = Measure { slot: Some(slot), ..Measure::USUAL };
            if let Some(numbers) = self.test(outcome, counts, i, &peers, measure) {
                name(numbers);
            }
        }
        tests
    }

    /// With two of them nobody is named: each is held against the other, and the worse is told.
    fn differs(&self, outcome: Outcome, counts: &Counts, both: &[usize]) -> Option<Hit> {
        let measure = Measure { rho: Some(RHO_UNKNOWN), ..Measure::USUAL };
        let test = |i: usize, other: usize| {
            let at_once = self.all_bad(outcome, counts, i, &[other]);
            at_once.or_else(|| self.test(outcome, counts, i, &[other], measure))
        };
        let mut numbers = test(both[0], both[1]).into_iter().chain(test(both[1], both[0]));
        let first = numbers.next()?;
        let mut numbers = numbers.next().filter(|other| other.p < first.p).unwrap_or(first);
        numbers.each = both.iter().map(|i| self.each(counts, *i)).collect();
        Some(Hit { outcome, subject: Subject::Differs, numbers })
    }

    pub(super) fn each(&self, counts: &Counts, i: usize) -> (String, u64, u64) {
        let (n, e) = counts.flat[i];
        (self.grid.rows[i].name.to_owned(), n, e)
    }

    /// Everything that a row did was bad, and next to nothing of what the others did: no need to wait.
    fn all_bad(
        &self,
        outcome: Outcome,
        counts: &Counts,
        i: usize,
        peers: &[usize],
    ) -> Option<Numbers> {
        let (n, e) = counts.flat[i];
        if outcome == Outcome::Latency || n < ENOUGH || e < n || peers.is_empty() {
            return None;
        }
        let counts = self.counts_against(outcome, counts, i, peers);
        let compared = compare(&counts, i, peers, None, FEWEST_PEER_ATTEMPTS);
        let well = share(compared.peers) < PEERS_WELL && compared.mean < PEERS_WELL;
        let all = compared.own.0 >= ENOUGH && compared.own.0 == compared.own.1;
        (all && well).then(|| {
            let rho = self.rho(outcome, None, &counts, peers).max(RHO_UNKNOWN);
            let mut numbers = self.numbers(&counts, i, peers, &compared, rho, None);
            numbers.at_once = true;
            numbers
        })
    }

    /// Tests one row against others. None when the difference would not matter or nothing can be said;
    /// else with the chance that it is one.
    pub(super) fn test(
        &self,
        outcome: Outcome,
        counts: &Counts,
        i: usize,
        peers: &[usize],
        measure: Measure,
    ) -> Option<Numbers> {
        if peers.is_empty() {
            return None;
        }
        let flat = counts;
        let counts = self.counts_against(outcome, counts, i, peers);
        let compared = compare(&counts, i, peers, measure.slot, FEWEST);
        let (n, e) = compared.own;
        let share = share(compared.own);
        if n < FEWEST || e < FEWEST_BAD || share - compared.mean < POINTS {
            return None;
        }
        let mut p90 = None;
        if outcome == Outcome::Latency {
            let (own, theirs) = self.grid.quantiles(i, peers, &compared.slots, 0.9)?;
            let far = own >= SLOW_TIMES.max(measure.times - 1.0) * theirs;
            let quantum = f64::from(QUANTUM_US);
            if share < SLOW_SHARE || share < 2.0 * compared.mean || !far || own - theirs < quantum {
                return None;
            }
            p90 = Some((own, theirs));
        } else if share < measure.times * compared.mean {
            return None;
        }
        let learned = || self.rho(outcome, measure.slot, flat, peers);
        let rho = measure.rho.unwrap_or_else(learned).max(measure.rho_floor);
        let mut numbers = self.numbers(&counts, i, peers, &compared, rho, measure.slot);
        numbers.p90_us = p90.map(|(own, _)| own);
        numbers.peers_p90_us = p90.map(|(_, theirs)| theirs);
        Some(numbers)
    }

    /// Slow and blank are told by the peers at hand, everything else by itself.
    fn counts_against<'c>(
        &self,
        outcome: Outcome,
        counts: &'c Counts,
        i: usize,
        peers: &[usize],
    ) -> Cow<'c, Counts> {
        match outcome {
            Outcome::Latency => Cow::Owned(self.grid.slow(&self.grid.slow_limits_of(peers))),
            Outcome::Blank => Cow::Owned(self.grid.blank(&self.grid.blank_limits_of(i, peers))),
            Outcome::BlackHole | Outcome::Errors | Outcome::Code(_) => Cow::Borrowed(counts),
        }
    }

    fn numbers(
        &self,
        counts: &Counts,
        i: usize,
        peers: &[usize],
        compared: &Compared,
        rho: f64,
        slot: Option<usize>,
    ) -> Numbers {
        let r = rho * (1.0 + compared.concentration) + 1.0 / (compared.peers.0 as f64 + 2.0);
        let (attempts, bad) = compared.own;
        let mut numbers = Numbers {
            attempts,
            bad,
            peers: peers.len(),
            peers_attempts: compared.peers.0,
            peers_bad: compared.peers.1,
            expected: compared.mean,
            rho,
            p: upper_tail(bad, attempts, compared.mean, r),
            route: slot.map(|slot| self.grid.routes[slot].0.to_owned()),
            span: self.span,
            warming: self.grid.rows[i].warming,
            instances: self.grid.rows.len(),
            ..Numbers::default()
        };
        numbers.describe(self, counts, &[i], peers);
        numbers
    }

    /// The spread among some rows, learned over the last 30 windows and held within bounds.
    pub(super) fn rho(
        &self,
        outcome: Outcome,
        slot: Option<usize>,
        counts: &Counts,
        among: &[usize],
    ) -> f64 {
        let mut spread = Spread::default();
        let ids: Vec<u32> = among.iter().map(|j| self.grid.rows[*j].id).collect();
        self.history.spread(outcome, slot.map(|slot| self.grid.routes[slot].1), &ids, &mut spread);
        let now = among.iter().map(|j| match slot {
            Some(slot) => counts.at(*j, slot),
            None => counts.flat[*j],
        });
        spread.add(now.filter(|(n, _)| *n > 0));
        let known = self.history.windows() + 1 >= SPREAD_WINDOWS && among.len() >= 2;
        let floor = if known { RHO.0 } else { RHO_UNKNOWN };
        bounded(spread.rho(), outcome).max(floor)
    }

    pub(super) fn base(&self, outcome: Outcome) -> Base {
        self.history.base(outcome)
    }
}

/// Holds an estimate within its bounds.
pub(super) fn bounded(rho: f64, outcome: Outcome) -> f64 {
    let floor = if outcome == Outcome::Latency { RHO_LATENCY } else { RHO.0 };
    rho.clamp(floor, RHO.1)
}
