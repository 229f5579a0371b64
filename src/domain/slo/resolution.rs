//! Whether a target is finer than the probe can tell (spec: slo 4.5).

use super::definition::{Resolution, Target};
use super::ratio::Ratio;
use crate::domain::Millis;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Fine,
    /// One countable outage uses up 2 % of the budget or more: it pages.
    Coarse,
    /// One countable outage is more than the whole budget.
    TooCoarse,
}

/// The smallest outage that counts, q = I·c, against the budget of a whole window.
pub fn check(resolution: Resolution, target: Target, window: Millis) -> Fit {
    let smallest = Ratio::whole(smallest(resolution) as u128);
    let budget = target.allowance().times(window.max(0) as u128);
    if smallest > budget {
        Fit::TooCoarse
    } else if smallest.times(50) >= budget {
        Fit::Coarse
    } else {
        Fit::Fine
    }
}

/// q, in milliseconds.
pub fn smallest(resolution: Resolution) -> Millis {
    resolution.interval.max(0).saturating_mul(resolution.confirm.into())
}

#[cfg(test)]
mod tests {
    use super::super::window::DAY;
    use super::*;

    fn fit(ppb: u64, interval: Millis, confirm: u32) -> Fit {
        check(Resolution { interval, confirm }, Target::new(ppb).unwrap(), 30 * DAY)
    }

    /// Vector 21, and the table of 4.5.
    #[test]
    fn targets_are_compared_with_the_smallest_outage() {
        assert_eq!(fit(999_000_000, 60_000, 1), Fit::Coarse);
        assert_eq!(fit(999_990_000, 60_000, 1), Fit::TooCoarse);
        assert_eq!(fit(999_000_000, 30_000, 1), Fit::Fine);
        assert_eq!(fit(999_000_000, 30_000, 2), Fit::Coarse);
        let table = [
            (990_000_000, 518_400),
            (995_000_000, 259_200),
            (999_000_000, 51_840),
            (999_500_000, 25_920),
            (999_900_000, 5_184),
        ];
        for (ppb, limit) in table {
            assert_eq!(fit(ppb, limit, 1), Fit::Coarse, "{ppb}");
            assert_eq!(fit(ppb, limit - 1, 1), Fit::Fine, "{ppb}");
            assert_eq!(fit(ppb, limit * 50, 1), Fit::Coarse, "all of it is still not more");
            assert_eq!(fit(ppb, limit * 50 + 1, 1), Fit::TooCoarse, "{ppb}");
        }
    }
}
