//! What must last: two of three windows open, three windows without close.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::grid::share;
use super::judge::{POINTS, Round, Subject, TIMES};
use super::numbers::Numbers;
use super::outcome::Outcome;
use super::state::Probes;
use crate::domain::fleet::finding::End;

/// One way of being bad of one instance, or of all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub outcome: Outcome,
    pub subject: Subject,
    /// The last three windows, the newest in the lowest bit.
    pub bits: u8,
    /// How many of three windows showed it when it was last seen.
    pub windows: u32,
    pub on: bool,
    /// The first window of it, and the last.
    pub since: i64,
    pub last_hit: i64,
    /// Windows in a row without it, and without any attempt.
    pub misses: u8,
    pub silent: u8,
    pub numbers: Numbers,
    /// Sums over the windows in which it was seen.
    pub attempts: u64,
    pub bad: u64,
    /// Health checks since it began.
    pub probes: Probes,
    /// The instance's own day before shows the same.
    pub chronic: bool,
}

/// All marks of a pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Marks {
    marks: Vec<Mark>,
}

impl Mark {
    fn new(outcome: Outcome, subject: Subject, since: i64) -> Self {
        Self {
            outcome,
            subject,
            bits: 0,
            windows: 0,
            on: false,
            since,
            last_hit: since,
            misses: 0,
            silent: 0,
            numbers: Numbers::default(),
            attempts: 0,
            bad: 0,
            probes: Probes::default(),
            chronic: false,
        }
    }

    pub(super) fn instance(&self) -> Option<&str> {
        match &self.subject {
            Subject::Instance(name) => Some(name),
            Subject::Shared | Subject::Differs | Subject::Pool => None,
        }
    }

    fn hit(&mut self, at: i64, numbers: Numbers) {
        if self.bits == 0 && !self.on {
            self.since = at + 1 - i64::from(numbers.span);
        }
        self.bits = (self.bits << 1 | 1) & 7;
        self.windows = self.bits.count_ones();
        self.on |= numbers.at_once || self.bits.count_ones() >= 2;
        (self.misses, self.silent) = (0, 0);
        self.last_hit = at;
        self.attempts += numbers.attempts;
        self.bad += numbers.bad;
        self.numbers = numbers;
    }

    /// A window without it. `attempts`: of the instance; `still`: too few of them to judge, and as bad.
    fn miss(&mut self, attempts: u64, still: bool) -> Option<End> {
        self.bits = self.bits << 1 & 7;
        if !self.on {
            return None;
        }
        if still {
            (self.misses, self.silent) = (0, 0);
            return None;
        }
        self.silent = if attempts == 0 && self.instance().is_some() { self.silent + 1 } else { 0 };
        self.misses += 1;
        let gone = self.silent >= 3 || (self.silent > 0 && self.numbers.span > 1);
        if gone { Some(End::LeftRotation) } else { (self.misses >= 3).then_some(End::Over) }
    }
}

/// A mark that is not on any more.
#[derive(Debug)]
pub(super) struct Ended {
    pub outcome: Outcome,
    pub subject: Subject,
    pub end: End,
    pub last_hit: i64,
}

impl Marks {
    /// Takes in what the windows up to `at`, taken together, say. Gives what ended.
    /// `thin`: who could not be judged; `attempts`: of an instance by name.
    pub(super) fn update(
        &mut self,
        at: i64,
        span: u32,
        round: Round,
        rows: &[&str],
        thin: &BTreeSet<String>,
        attempts: impl Fn(&str) -> u64,
    ) -> Vec<Ended> {
        let Round { hits, gated, counts } = round;
        let still = |mark: &Mark| {
            let counts = counts.iter().find(|(outcome, _)| *outcome == mark.outcome);
            let row = mark.instance().and_then(|name| rows.iter().position(|row| *row == name));
            let Some((n, e)) = counts.zip(row).map(|((_, counts), row)| counts[row]) else {
                return false;
            };
            let usual = mark.numbers.expected;
            let least = if mark.outcome == Outcome::Latency { 0.3 } else { TIMES * usual };
            let judged = !mark.instance().is_some_and(|name| thin.contains(name));
            !judged && e > 0 && share((n, e)) >= least.max(usual + POINTS)
        };
        let mut ended = Vec::new();
        let mut hits: Vec<_> = hits.into_iter().map(Some).collect();
        for mark in &mut self.marks {
            let mine = hits.iter_mut().find(|hit| {
                hit.as_ref()
                    .is_some_and(|hit| (hit.outcome, &hit.subject) == (mark.outcome, &mark.subject))
            });
            if let Some(hit) = mine.and_then(Option::take) {
                mark.hit(at, hit.numbers);
            } else if mark.numbers.span == span {
                let n = mark.instance().map_or(0, &attempts);
                let still = still(mark);
                if let Some(end) = mark.miss(n, still) {
                    mark.on = false;
                    mark.bits = 0;
                    let held = gated.contains(&mark.outcome) && mark.instance().is_some();
                    let end = if held { End::Absorbed } else { end };
                    ended.push(Ended {
                        outcome: mark.outcome,
                        subject: mark.subject.clone(),
                        end,
                        last_hit: mark.last_hit,
                    });
                }
            }
        }
        for hit in hits.into_iter().flatten() {
            let mut mark = Mark::new(hit.outcome, hit.subject, at);
            mark.hit(at, hit.numbers);
            self.marks.push(mark);
        }
        self.marks.retain(|mark| mark.on || mark.bits != 0);
        ended
    }

    pub(super) fn on(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(|mark| mark.on)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Mark> {
        self.marks.iter_mut()
    }
}
