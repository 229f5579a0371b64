//! Burn rates and the rules that fire on them (spec: slo 4.3 and 4.4).

use super::definition::{Rule, RuleSeverity, Share, Target};
use super::measure::Measured;
use super::ratio::Ratio;
use super::window::DAY;
use crate::domain::Millis;

const MINUTE: Millis = 60_000;
const HOUR: Millis = 3_600_000;

/// Lookbacks that are always told.
pub const LOOKBACKS: [Millis; 7] =
    [5 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, DAY, 3 * DAY];

/// The three days whose burn puts an SLO at risk.
pub const DRAIN: Millis = 3 * DAY;

/// The rules of an SLO that names none. Up to a week their shares of the budget are larger, because
/// otherwise the factors would be noise.
pub fn default_rules(window: Millis) -> Vec<Rule> {
    let short_window = window <= 7 * DAY;
    let rule = |name: &str, severity, long, short, usual: u64, per_mille_of_week: u64| Rule {
        name: name.to_owned(),
        severity,
        long,
        short,
        fraction: if short_window {
            Share { num: per_mille_of_week, den: 1_000 }
        } else {
            Share::percent(usual)
        },
        min_bad: 2,
    };
    vec![
        rule("fast", RuleSeverity::Page, HOUR, 5 * MINUTE, 2, 80),
        rule("mid", RuleSeverity::Page, 6 * HOUR, 30 * MINUTE, 5, 125),
        rule("slow", RuleSeverity::Ticket, DAY, 2 * HOUR, 10, 200),
        rule("drift", RuleSeverity::Ticket, 3 * DAY, 6 * HOUR, 10, 420),
    ]
}

impl Rule {
    /// How many times faster than evenly the budget has to burn: f·W/long.
    pub fn factor(&self, window: Millis) -> Ratio {
        let (window, long) = (window.max(0) as u128, self.long.max(0) as u128);
        self.fraction.ratio().product(&Ratio::new(window, long))
    }

    /// A factor above 1/(1−t) is never reached: everything being bad burns no faster.
    pub fn can_fire(&self, target: Target, window: Millis) -> bool {
        self.factor(window) <= fastest(target)
    }

    /// Looks back longer than the window is.
    pub fn exceeds(&self, window: Millis) -> bool {
        self.long > window
    }

    /// How a rule stands after an evaluation. `before` is how it stood.
    pub fn step(&self, seen: &Lookbacks, before: Option<Standing>, at: Millis) -> Standing {
        let before = before.unwrap_or(Standing { firing_since: None, frozen: false });
        if !seen.short_covered {
            return Standing { frozen: true, ..before };
        }
        let firing = seen.long_reached && seen.short_reached && seen.enough_bad;
        Standing { firing_since: firing.then(|| before.firing_since.unwrap_or(at)), frozen: false }
    }
}

/// 1/(1−t).
pub fn fastest(target: Target) -> Ratio {
    Ratio::whole(1).over(&target.allowance())
}

/// What the two lookbacks of a rule say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookbacks {
    pub long_reached: bool,
    pub short_reached: bool,
    pub enough_bad: bool,
    /// At least half of the short one was seen, or nothing of it was due.
    pub short_covered: bool,
}

/// A rule between evaluations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub firing_since: Option<Millis>,
    /// Too little was seen to change anything.
    pub frozen: bool,
}

/// A measured lookback, and its length when the unit is time.
#[derive(Debug, Clone, PartialEq)]
pub struct Burn {
    pub lookback: Millis,
    pub measured: Measured,
    pub is_time: bool,
}

impl Burn {
    /// How many times faster than evenly the budget burnt; none without a result. Time is compared with
    /// the whole lookback, so that a short rest beside maintenance does not inflate it.
    pub fn rate(&self, target: Target) -> Option<Ratio> {
        let of = if self.is_time { self.lookback.max(0) as u64 } else { self.measured.total };
        (of > 0).then(|| self.measured.bad.over(&target.allowance().times(of.into())))
    }

    fn reaches(&self, target: Target, factor: &Ratio) -> bool {
        self.rate(target).is_some_and(|rate| rate >= *factor)
    }

    fn is_half_covered(&self) -> bool {
        self.measured.coverage().is_none_or(|coverage| coverage >= Ratio::new(1, 2))
    }
}

/// What a rule sees in its two lookbacks.
pub fn look(rule: &Rule, target: Target, window: Millis, long: &Burn, short: &Burn) -> Lookbacks {
    let factor = rule.factor(window);
    Lookbacks {
        long_reached: long.reaches(target, &factor),
        short_reached: short.reaches(target, &factor),
        enough_bad: long.is_time || long.measured.bad >= Ratio::whole(rule.min_bad.into()),
        short_covered: short.is_half_covered(),
    }
}

/// `1h`, `90s`: the largest unit that divides it.
pub fn label(length: Millis) -> String {
    let units = [(DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (1_000, "s")];
    match units.iter().find(|(unit, _)| length != 0 && length % unit == 0) {
        Some((unit, name)) => format!("{}{name}", length / unit),
        None => format!("{length}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::definition::UnknownPolicy;
    use super::super::measure::of_time_parts;
    use super::*;

    fn target(ppb: u64) -> Target {
        Target::new(ppb).unwrap()
    }

    /// A lookback with so much bad time in it, all of it seen.
    fn burn(lookback: Millis, bad: u128) -> Burn {
        let measured = of_time_parts(lookback as u64, Ratio::whole(bad), 0, UnknownPolicy::Exclude);
        Burn { lookback, measured, is_time: true }
    }

    fn fires(rule: usize, long_bad: u128, short_bad: u128) -> bool {
        let rule = &default_rules(30 * DAY)[rule];
        let (long, short) = (burn(rule.long, long_bad), burn(rule.short, short_bad));
        let seen = look(rule, target(999_000_000), 30 * DAY, &long, &short);
        rule.step(&seen, None, 77).firing_since.is_some()
    }

    /// Vector 11.
    #[test]
    fn rules_fire_from_the_exact_millisecond_on() {
        assert!(fires(0, 51_840, 4_320));
        assert!(!fires(0, 51_839, 4_320));
        assert!(!fires(0, 51_840, 4_319));
        assert!(!fires(0, 60_000, 0));
        assert!(fires(0, 60_000, 60_000));
        for (rule, long, short) in
            [(1, 129_600, 10_800), (2, 259_200, 21_600), (3, 259_200, 21_600)]
        {
            assert!(fires(rule, long, short));
            assert!(!fires(rule, long - 1, short));
            assert!(!fires(rule, long, short - 1));
        }
        let rate = |lookback, bad| burn(lookback, bad).rate(target(999_000_000)).unwrap().to_f64();
        assert_eq!(rate(HOUR, 51_840), Some(14.4));
        assert_eq!(rate(5 * MINUTE, 4_320), Some(14.4));
        assert!((rate(HOUR, 60_000).unwrap() - 16.666666667).abs() < 5e-10);
        assert_eq!(rate(5 * MINUTE, 60_000), Some(200.0));
    }

    /// Vector 12.
    #[test]
    fn factors_come_from_shares_of_the_budget() {
        let factors = |days| -> Vec<f64> {
            let rules = default_rules(days * DAY);
            rules.iter().map(|rule| rule.factor(days * DAY).to_f64().unwrap()).collect()
        };
        let close = |got: Vec<f64>, expected: [f64; 4]| {
            assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 5e-10), "{got:?}");
        };
        close(factors(30), [14.4, 6.0, 3.0, 1.0]);
        close(factors(28), [13.44, 5.6, 2.8, 0.933333333333]);
        close(factors(90), [43.2, 18.0, 9.0, 3.0]);
        close(factors(7), [13.44, 3.5, 1.4, 0.98]);
        let fast = &default_rules(30 * DAY)[0];
        assert_eq!(fastest(target(900_000_000)).to_f64(), Some(10.0));
        assert!(!fast.can_fire(target(900_000_000), 30 * DAY));
        assert_eq!(fastest(target(950_000_000)).to_f64(), Some(20.0));
        assert!(fast.can_fire(target(950_000_000), 30 * DAY));
        // 1 - 1/14.4 = 0.9305555…: the first target in whole parts per billion is the next above.
        assert!(!fast.can_fire(target(930_555_555), 30 * DAY));
        assert!(fast.can_fire(target(930_555_556), 30 * DAY));
    }

    #[test]
    fn too_little_seen_freezes_a_rule_as_it_stands() {
        let rule = &default_rules(30 * DAY)[0];
        let calm = Lookbacks {
            long_reached: false,
            short_reached: false,
            enough_bad: true,
            short_covered: true,
        };
        let burning = Lookbacks { long_reached: true, short_reached: true, ..calm };
        let blind = |seen| Lookbacks { short_covered: false, ..seen };
        let firing = rule.step(&burning, None, 10);
        assert_eq!(firing, Standing { firing_since: Some(10), frozen: false });
        assert_eq!(rule.step(&burning, Some(firing), 20).firing_since, Some(10));
        assert_eq!(
            rule.step(&blind(calm), Some(firing), 20),
            Standing { firing_since: Some(10), frozen: true }
        );
        assert_eq!(
            rule.step(&blind(burning), None, 20),
            Standing { firing_since: None, frozen: true }
        );
        assert_eq!(rule.step(&calm, Some(firing), 30).firing_since, None);
        let few = Lookbacks { enough_bad: false, ..burning };
        assert_eq!(rule.step(&few, None, 30).firing_since, None);
    }

    #[test]
    fn half_seen_is_enough_and_nothing_due_too() {
        let seen = |known: u64, unknown: u64| Burn {
            measured: of_time_parts(known, Ratio::whole(0), unknown, UnknownPolicy::Exclude),
            ..burn(10, 0)
        };
        assert!(seen(5, 5).is_half_covered());
        assert!(!seen(4_999, 5_001).is_half_covered());
        assert!(seen(0, 0).is_half_covered(), "all of it in maintenance");
    }

    #[test]
    fn lookbacks_are_named_by_their_largest_unit() {
        let labels: Vec<String> = LOOKBACKS.iter().map(|l| label(*l)).collect();
        assert_eq!(labels, ["5m", "30m", "1h", "2h", "6h", "1d", "3d"]);
        assert_eq!(
            (label(90_000), label(1_500), label(36 * HOUR)),
            ("90s".into(), "1500ms".into(), "36h".into())
        );
    }
}
