//! Error budget and state (spec: slo 4.1 and 4.2).

use serde::{Deserialize, Serialize};

use super::definition::Target;
use super::measure::Measured;
use super::ratio::{Ratio, Signed};
use crate::domain::Millis;

/// What may be bad, and what was, in the unit of the indicator.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// B.
    pub total: Ratio,
    pub bad: Ratio,
    /// B − bad.
    pub left: Signed,
    /// Of the whole window as if all of it were measured.
    pub nominal: Ratio,
}

/// Of a window.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// R: what is still to come, in the unit of the indicator.
    pub remaining: u64,
    /// The whole window, in the unit of the indicator.
    pub whole: u64,
    /// A rolling window that is not fully monitored is judged against the nominal budget.
    pub nominal_only: bool,
}

impl Budget {
    pub fn of(target: Target, measured: &Measured, frame: Frame) -> Self {
        Self::from_parts(target, measured.total, &measured.bad, frame)
    }

    /// The same when all unknown had been good, to tell whether it is gone in any case.
    pub fn at_best(target: Target, measured: &Measured, frame: Frame) -> Self {
        Self::from_parts(target, measured.known + measured.unknown, &measured.known_bad, frame)
    }

    fn from_parts(target: Target, total: u64, bad: &Ratio, frame: Frame) -> Self {
        let allowed = |number: u64| target.allowance().times(number.into());
        let nominal = allowed(frame.whole);
        let total =
            if frame.nominal_only { nominal.clone() } else { allowed(total + frame.remaining) };
        let left = Signed::difference(&total, bad);
        Self { total, bad: bad.clone(), left, nominal }
    }

    /// Bad over B; none without a budget.
    pub fn consumed(&self) -> Option<Ratio> {
        (!self.total.num.is_zero()).then(|| self.bad.over(&self.total))
    }

    /// 1 − consumed.
    pub fn left_ratio(&self) -> Option<f64> {
        if self.total.num.is_zero() {
            return None;
        }
        let size = self.left.size.over(&self.total);
        Signed { negative: self.left.negative, size }.to_f64()
    }

    pub fn is_gone(&self) -> bool {
        self.left.negative
    }

    /// At least three quarters are used up.
    fn is_low(&self) -> bool {
        self.bad.times(4) >= self.total.times(3) && !self.total.num.is_zero()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SloState)]
pub enum State {
    Ok,
    /// Three quarters of the budget are gone, or it burns faster than it comes back.
    AtRisk,
    /// A rule that pages fires.
    Burning,
    /// Nothing is left, and nothing is overspent.
    Exhausted,
    Breached,
    /// Too little was seen to say.
    NoData,
}

impl State {
    /// As it is spelt in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::AtRisk => "at_risk",
            Self::Burning => "burning",
            Self::Exhausted => "exhausted",
            Self::Breached => "breached",
            Self::NoData => "no_data",
        }
    }
}

/// What a state is made of, beside the budget.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// Enough was seen.
    pub seen_enough: bool,
    /// The budget is gone even if all that is unknown was good.
    pub gone_in_any_case: bool,
    pub is_time: bool,
    /// A calendar or fixed window that is over.
    pub complete: bool,
    /// A rule that pages fires.
    pub paging: bool,
    /// The burn rate over three days is 1 or more.
    pub draining: bool,
}

pub fn state(budget: &Budget, c: Circumstances) -> State {
    if !c.seen_enough {
        return if c.gone_in_any_case { State::Breached } else { State::NoData };
    }
    if budget.is_gone() {
        return State::Breached;
    }
    let spent = if c.is_time {
        budget.left.floor() == 0 // less than a millisecond
    } else {
        budget.left.is_zero() && !budget.bad.num.is_zero()
    };
    match c {
        _ if spent => State::Exhausted,
        Circumstances { complete: true, .. } => State::Ok,
        Circumstances { paging: true, .. } => State::Burning,
        Circumstances { draining, .. } if draining || budget.is_low() => State::AtRisk,
        _ => State::Ok,
    }
}

/// When the budget is used up if it is down from the watermark on. None when there is no budget left, or
/// when the window ends first.
pub fn exhausts_at(budget: &Budget, watermark: Millis, end: Option<Millis>) -> Option<Millis> {
    if budget.is_gone() {
        return None;
    }
    let at = watermark.checked_add(budget.left.floor())?;
    end.is_none_or(|end| at <= end).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::super::definition::UnknownPolicy;
    use super::super::measure::of_time_parts;
    use super::*;

    const JUNE: u64 = 2_592_000_000;

    fn budget(ppb: u64, bad_ms: u128) -> Budget {
        let measured = of_time_parts(JUNE, Ratio::whole(bad_ms), 0, UnknownPolicy::Exclude);
        let frame = Frame { remaining: 0, whole: JUNE, nominal_only: false };
        Budget::of(Target::new(ppb).unwrap(), &measured, frame)
    }

    const CALM: Circumstances = Circumstances {
        seen_enough: true,
        gone_in_any_case: false,
        is_time: true,
        complete: true,
        paging: false,
        draining: false,
    };

    #[test]
    fn equality_is_met_and_a_millisecond_more_is_not() {
        let exact = budget(999_000_000, 2_592_000);
        assert_eq!((exact.left.floor(), state(&exact, CALM)), (0, State::Exhausted));
        assert_eq!(exact.consumed().unwrap().to_f64(), Some(1.0));
        let over = budget(999_000_000, 2_592_001);
        assert_eq!((over.left.floor(), state(&over, CALM)), (-1, State::Breached));
        let fine = budget(999_999_000, 1_000);
        assert_eq!(fine.consumed().unwrap().to_f64(), Some(1_000.0 / 2_592.0));
        assert_eq!(state(&fine, CALM), State::Ok);
    }

    #[test]
    fn a_completed_window_is_neither_at_risk_nor_burning() {
        let low = budget(999_000_000, 2_100_000);
        let all = Circumstances { paging: true, draining: true, ..CALM };
        assert_eq!(state(&low, all), State::Ok);
        assert_eq!(state(&low, Circumstances { complete: false, ..all }), State::Burning);
        let quiet = Circumstances { complete: false, ..CALM };
        assert_eq!(state(&low, quiet), State::AtRisk);
        let fresh = budget(999_000_000, 1_943_999);
        assert_eq!(state(&fresh, quiet), State::Ok, "a millisecond below three quarters");
        assert_eq!(state(&budget(999_000_000, 1_944_000), quiet), State::AtRisk);
        assert_eq!(state(&fresh, Circumstances { draining: true, ..quiet }), State::AtRisk);
    }

    #[test]
    fn what_is_gone_in_any_case_wins_over_too_little_seen() {
        let blind = Circumstances { seen_enough: false, ..CALM };
        let fine = budget(999_000_000, 0);
        assert_eq!(state(&fine, blind), State::NoData);
        assert_eq!(
            state(&fine, Circumstances { gone_in_any_case: true, ..blind }),
            State::Breached
        );
    }

    #[test]
    fn events_are_exhausted_only_when_something_was_bad() {
        let of = |total: u64, bad: u128| {
            let measured = of_time_parts(total, Ratio::whole(bad), 0, UnknownPolicy::Exclude);
            let frame = Frame { remaining: 0, whole: total, nominal_only: false };
            Budget::of(Target::new(990_000_000).unwrap(), &measured, frame)
        };
        let events = Circumstances { is_time: false, ..CALM };
        assert_eq!(state(&of(200, 2), events), State::Exhausted);
        // Half an event is left: not spent.
        assert_eq!(state(&of(250, 2), events), State::Ok);
        assert_eq!(state(&of(250, 3), events), State::Breached);
    }

    #[test]
    fn the_instant_of_exhaustion_lies_within_the_window() {
        let left = budget(999_000_000, 1_800_000);
        assert_eq!(exhausts_at(&left, 5_000, None), Some(797_000));
        assert_eq!(exhausts_at(&left, 5_000, Some(797_000)), Some(797_000));
        assert_eq!(exhausts_at(&left, 5_000, Some(796_999)), None);
        assert_eq!(exhausts_at(&budget(999_000_000, 3_000_000), 5_000, None), None);
    }
}
