//! Random timelines with everything that may lie over them. All instants are whole steps from an origin.

use std::collections::BTreeMap;

use quorate::domain::availability::Stretch;
use quorate::domain::decision::State;
use quorate::domain::slo::definition::{
    Definition, MaintenancePolicy, Rule, RuleSeverity, Share, Sli, Target, UnknownPolicy,
};
use quorate::domain::slo::evaluate::{Decided, Identity, Inputs, Truth};
use quorate::domain::slo::maintenance::{Kind, Occurrence};
use quorate::domain::slo::timeline::Spans;
use quorate::domain::slo::window::Window;

use crate::support::dice::Dice;

/// A timeline of `steps` steps from `origin`, and what is asked about it. Spans are in steps.
#[derive(Debug)]
pub(super) struct Scenario {
    pub origin: i64,
    /// Milliseconds of a step.
    pub step: i64,
    /// The watermark, in steps.
    pub steps: i64,
    pub stretches: Vec<(i64, Option<i64>, State, bool)>,
    pub not_running: Vec<(i64, i64)>,
    pub maintenance: Vec<Planned>,
    pub created: Option<i64>,
    pub deleted: Option<i64>,
    /// Of a fixed window; none is a rolling one of so many days.
    pub window: Result<(i64, i64), u16>,
    pub target_ppb: u64,
    pub unknown: UnknownPolicy,
    pub policy: MaintenancePolicy,
    pub weight_ppm: u32,
    pub coverage_percent: u64,
    /// Long and short lookback in steps, per mille of the budget.
    pub rules: Vec<(i64, i64, u64)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    pub start: i64,
    pub end: i64,
    pub declared: Option<i64>,
    pub correction: bool,
    pub excludes: bool,
}

const DAY_S: i64 = 86_400;

impl Scenario {
    /// Up to two minutes, by the millisecond.
    pub(super) fn short(dice: &mut Dice) -> Self {
        let origin = 1_780_272_000_000 + dice.from(0, 86_400_000);
        let longest = dice.pick(&[50, 500, 5_000, 60_000, 120_000]);
        let steps = dice.from(1, longest + 1);
        Self::of(dice, origin, 1, steps)
    }

    /// Up to 400 days, by the second; one in fifty is a full 400 days.
    pub(super) fn long(dice: &mut Dice) -> Self {
        let origin = 1_700_000_000_000 + dice.from(0, 86_400) * 1_000;
        let longest = dice.pick(&[DAY_S, 3 * DAY_S, 10 * DAY_S, 40 * DAY_S, 100 * DAY_S]);
        let steps = if dice.one_in(50) { 400 * DAY_S } else { dice.from(1, longest + 1) };
        Self::of(dice, origin, 1_000, steps)
    }

    fn of(dice: &mut Dice, origin: i64, step: i64, steps: i64) -> Self {
        let within = |dice: &mut Dice| dice.from(0, steps + 1);
        let window = if step == 1_000 && steps > DAY_S && dice.one_in(3) {
            Err(dice.from(1, steps / DAY_S + 1) as u16)
        } else {
            let from = within(dice);
            // Some windows are not over yet, some are over for a while, some have not begun.
            Ok((from, from + dice.from(1, steps + steps / 2 + 2)))
        };
        let lookbacks = |dice: &mut Dice| {
            let long = dice.from(1, steps + 1);
            (long, dice.from(1, long + 1), dice.pick(&[1, 20, 50, 100, 420, 1_000]))
        };
        Self {
            origin,
            step,
            steps,
            stretches: stretches(dice, steps),
            not_running: (0..dice.from(0, 3)).map(|_| span(dice, steps)).collect(),
            maintenance: (0..dice.from(0, 4)).map(|_| planned(dice, steps)).collect(),
            created: dice.one_in(4).then(|| within(dice) / 2),
            deleted: dice.one_in(8).then(|| steps / 2 + within(dice) / 2),
            window,
            target_ppb: dice.pick(&[
                1,
                500_000_000,
                900_000_000,
                950_000_000,
                990_000_000,
                999_000_000,
                999_900_000,
                999_999_999,
            ]),
            unknown: dice.pick(&[UnknownPolicy::Exclude, UnknownPolicy::Up, UnknownPolicy::Down]),
            policy: dice.pick(&[
                MaintenancePolicy::Exclude,
                MaintenancePolicy::Exclude,
                MaintenancePolicy::CountAsUp,
                MaintenancePolicy::Ignore,
            ]),
            weight_ppm: dice.pick(&[0, 0, 300_000, 333_333, 1_000_000]),
            coverage_percent: dice.pick(&[0, 50, 90, 100]),
            rules: (0..dice.from(0, 4)).map(|_| lookbacks(dice)).collect(),
        }
    }

    fn at(&self, steps: i64) -> i64 {
        self.origin + steps * self.step
    }

    pub(super) fn definition(&self) -> Definition {
        let rule = |(index, (long, short, per_mille)): (usize, &(i64, i64, u64))| Rule {
            name: format!("rule {index}"),
            severity: if index == 0 { RuleSeverity::Page } else { RuleSeverity::Ticket },
            long: long * self.step,
            short: short * self.step,
            fraction: Share { num: *per_mille, den: 1_000 },
            min_bad: 2,
        };
        Definition {
            target: Target::new(self.target_ppb).unwrap(),
            sli: Sli::Availability,
            window: match self.window {
                Ok((from, to)) => Window::Fixed { from: self.at(from), to: self.at(to) },
                Err(days) => Window::Rolling { days },
            },
            timezone: "UTC".to_owned(),
            unknown_policy: self.unknown,
            maintenance_policy: self.policy,
            partial_weight_ppm: self.weight_ppm,
            coverage_min: Share::percent(self.coverage_percent),
            rules: self.rules.iter().enumerate().map(rule).collect(),
            decimals: 3,
            resolution: None,
        }
    }

    pub(super) fn inputs(&self) -> Inputs {
        let spans = self.not_running.iter().map(|(a, b)| (self.at(*a), self.at(*b)));
        let stretch = |&(from, to, state, evidence_stale): &(i64, Option<i64>, State, bool)| {
            let to = to.map(|to| self.at(to));
            Stretch { from: self.at(from), to, state, evidence_stale }
        };
        let occurrence = |(index, m): (usize, &Planned)| Occurrence {
            id: index.to_string(),
            start: self.at(m.start),
            end: self.at(m.end),
            kind: if m.correction { Kind::Correction } else { Kind::Planned },
            excludes: m.excludes,
            declared_at: m.declared.map(|at| self.at(at)),
            reason: String::new(),
            locations: None,
        };
        Inputs {
            as_of: self.at(self.steps),
            watermark: self.at(self.steps),
            created_at: self.created.map(|at| self.at(at)),
            deleted_at: self.deleted.map(|at| self.at(at)),
            truth: Truth::Decided(Decided {
                stretches: self.stretches.iter().map(stretch).collect(),
                not_running: Spans::union(spans),
            }),
            maintenance: self.maintenance.iter().enumerate().map(occurrence).collect(),
            locations: Vec::new(),
            batches: Vec::new(),
            plans: Vec::new(),
            minutes: Vec::new(),
            summed: false,
            incidents: Vec::new(),
            standings: BTreeMap::new(),
            identity: Identity::default(),
        }
    }
}

fn stretches(dice: &mut Dice, steps: i64) -> Vec<(i64, Option<i64>, State, bool)> {
    let states = [
        State::Up,
        State::Up,
        State::Up,
        State::Down,
        State::Down,
        State::Degraded,
        State::Partial,
        State::Unknown,
        State::Paused,
        State::Pending,
    ];
    let mut out = Vec::new();
    let mut at = 0;
    for _ in 0..dice.from(0, 40) {
        // Many short pieces and some long ones.
        let longest = dice.pick(&[3, steps / 50 + 2, steps / 10 + 2, steps / 3 + 2]);
        let to = at + dice.from(1, longest + 1);
        let open = dice.one_in(15);
        out.push((at, (!open).then_some(to), dice.pick(&states), dice.one_in(12)));
        if open || to > steps {
            break;
        }
        at = to + if dice.one_in(6) { dice.from(0, steps / 30 + 2) } else { 0 };
    }
    out
}

fn span(dice: &mut Dice, steps: i64) -> (i64, i64) {
    let from = dice.from(0, steps + 1);
    (from, from + dice.from(0, steps / 5 + 2))
}

fn planned(dice: &mut Dice, steps: i64) -> Planned {
    let (start, end) = span(dice, steps);
    let declared = match dice.from(0, 4) {
        0 => None,
        1 => Some(start - 1),
        2 => Some(start + dice.from(0, end - start + 2)),
        _ => Some(start),
    };
    Planned { start, end, declared, correction: dice.one_in(4), excludes: !dice.one_in(5) }
}
