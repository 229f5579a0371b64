//! Who was harmed by an instance before it was taken out: its failed attempts by time, finer than windows.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{super::tally::Failed, SECOND};

/// Failed attempts of the last hour in the order of time: to a tenth of a second as they come, then to a
/// second, and beyond two minutes to ten, so that an instance that fails all the time takes no more room
/// than a few hundred numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Failures(VecDeque<Moment>);

/// First of them, how many, and how many of these users saw.
type Moment = (i64, u64, u64);

const FINE: i64 = 120 * SECOND;
const KEPT: i64 = 3_600 * SECOND;

impl Failures {
    pub(super) fn note(&mut self, failed: &Failed) {
        let one = (failed.at_us, failed.failed, failed.visible);
        let at = self.0.iter().rposition(|(at, ..)| *at <= failed.at_us).map_or(0, |at| at + 1);
        self.0.insert(at, one);
    }

    /// How many there were from one instant to another, both included, and how many users saw.
    pub(super) fn within(&self, from_us: i64, to_us: i64) -> (u64, u64) {
        let within = self.0.iter().filter(|(at, ..)| (from_us..=to_us).contains(at));
        within.fold((0, 0), |(failed, visible), (_, f, v)| (failed + f, visible + v))
    }

    /// Puts together what is no news. `starts`: where a removal may begin, which stays a border.
    pub(super) fn thin(&mut self, until_us: i64, starts: &[Option<i64>]) {
        let mut thinned: VecDeque<Moment> = VecDeque::new();
        for (at, failed, visible) in std::mem::take(&mut self.0) {
            let age = until_us - at;
            if age > KEPT {
                continue;
            }
            let width = if age > FINE { 10 * SECOND } else { SECOND };
            match thinned.back_mut() {
                Some((first, f, v))
                    if at - *first < width
                        && !starts
                            .iter()
                            .flatten()
                            .any(|start| *first < *start && *start <= at) =>
                {
                    *f += failed;
                    *v += visible;
                }
                _ => thinned.push_back((at, failed, visible)),
            }
        }
        self.0 = thinned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(at_us: i64, failed: u64, visible: u64) -> Failed {
        Failed { instance: String::new(), at_us, failed, visible }
    }

    #[test]
    fn what_lies_between_is_counted_and_the_rest_is_not() {
        let mut failures = Failures::default();
        for (at, n, v) in [(5, 1, 1), (1, 2, 0), (3, 4, 1)] {
            failures.note(&failed(at * SECOND, n, v));
        }
        assert_eq!(failures.within(SECOND, 3 * SECOND), (6, 1));
        assert_eq!(failures.within(2 * SECOND, 9 * SECOND), (5, 2));
        assert_eq!(failures.within(6 * SECOND, 9 * SECOND), (0, 0));
    }

    #[test]
    fn old_ones_take_little_room_and_borders_stay() {
        let mut failures = Failures::default();
        for tenth in 0..36_000 {
            failures.note(&failed(tenth * SECOND / 10, 1, 0));
            if tenth % 600 == 599 {
                failures.thin((tenth + 1) * SECOND / 10, &[Some(1_803 * SECOND)]);
            }
        }
        assert!(failures.0.len() < 500, "{}", failures.0.len());
        assert_eq!(failures.within(0, 3_600 * SECOND), (36_000, 0));
        assert_eq!(
            failures.within(1_803 * SECOND, 3_600 * SECOND),
            (17_970, 0),
            "exact from there on"
        );
        failures.thin(9_000 * SECOND, &[]);
        assert_eq!(failures, Failures::default(), "an hour later they are forgotten");
    }
}
