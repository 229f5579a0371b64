//! Verdicts from results alone (spec: slo 3.2): for files of results, where no decision engine has been.
//! What the product stores is decided by [`crate::domain::decision`].

use std::collections::BTreeMap;

use super::timeline::{Condition, Piece, Timeline};
use crate::domain::Millis;

/// What one location found in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    /// The target's fault.
    Fail,
    /// The probe's fault.
    Invalid,
    Missing,
}

impl Outcome {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ok" => Self::Ok,
            "fail" => Self::Fail,
            "invalid" => Self::Invalid,
            "missing" => Self::Missing,
            _ => return None,
        })
    }
}

/// A result with the slot time that the controller gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotResult {
    pub at: Millis,
    /// Place in the list of locations.
    pub location: u16,
    pub outcome: Outcome,
}

/// How results of a slot become its verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quorum {
    pub policy: Policy,
    /// Valid results that a verdict needs; by policy unless set.
    pub min_valid: Option<u32>,
    /// Slots in a row that make a down; 1 from two locations on, else 2, unless set.
    pub confirm: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    #[default]
    Majority,
    Any,
    All,
    AtLeast(u32),
}

impl Policy {
    pub fn name(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::Any => "any",
            Self::All => "all",
            Self::AtLeast(_) => "at_least",
        }
    }
}

impl Quorum {
    pub fn min_valid(&self, locations: usize) -> u32 {
        let usual = match self.policy {
            Policy::Majority => locations as u32 / 2 + 1,
            Policy::Any | Policy::All => 1,
            Policy::AtLeast(k) => k,
        };
        self.min_valid.unwrap_or(usual).max(1)
    }

    pub fn confirm(&self, locations: usize) -> u32 {
        self.confirm.unwrap_or(if locations >= 2 { 1 } else { 2 }).max(1)
    }

    /// The verdict from so many valid results, so many of them failed.
    fn verdict(&self, valid: u32, failed: u32, locations: usize) -> Condition {
        if valid < self.min_valid(locations) {
            return Condition::Unknown;
        }
        let down = match self.policy {
            Policy::Majority => 2 * failed > valid,
            Policy::Any => failed >= 1,
            Policy::All => failed == valid,
            Policy::AtLeast(k) => failed >= k.max(1),
        };
        match (down, failed) {
            (true, _) => Condition::Down,
            (false, 0) => Condition::Up,
            (false, _) => Condition::Partial,
        }
    }
}

/// Slots `[k·I, (k+1)·I)` from the epoch, of so many locations.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    pub interval: Millis,
    pub locations: usize,
    pub quorum: Quorum,
}

impl Grid {
    /// One location by itself: whatever it found holds at once.
    pub fn alone(interval: Millis) -> Self {
        let quorum = Quorum { policy: Policy::Any, min_valid: Some(1), confirm: Some(1) };
        Self { interval, locations: 1, quorum }
    }

    /// The timeline that results give. `results` are in order of time; of several in one slot and from one
    /// location the last counts. Slots from `to` on do not.
    pub fn timeline(
        &self,
        results: impl IntoIterator<Item = SlotResult>,
        from: Millis,
        to: Millis,
    ) -> Timeline {
        let mut slots: BTreeMap<i64, BTreeMap<u16, Outcome>> = BTreeMap::new();
        for result in results.into_iter().filter(|result| result.at < to) {
            let slot = slots.entry(result.at.div_euclid(self.interval)).or_default();
            slot.insert(result.location, result.outcome);
        }
        let mut pieces: Vec<Piece> = slots
            .into_iter()
            .map(|(k, outcomes)| {
                let of = |outcome| outcomes.values().filter(|o| **o == outcome).count() as u32;
                let (ok, failed) = (of(Outcome::Ok), of(Outcome::Fail));
                let condition = self.quorum.verdict(ok + failed, failed, self.locations);
                Piece::new(k * self.interval, (k + 1) * self.interval, condition)
            })
            .collect();
        self.suppress(&mut pieces);
        Timeline::new(from, to, pieces)
    }

    /// Runs of down that are too short to be confirmed are up. Unknown neither breaks nor lengthens one.
    fn suppress(&self, slots: &mut [Piece]) {
        let confirm = self.quorum.confirm(self.locations) as usize;
        let mut run: Vec<usize> = Vec::new();
        for index in 0..=slots.len() {
            match slots.get(index).map(|slot| slot.condition) {
                Some(Condition::Down) => run.push(index),
                Some(Condition::Unknown) => {}
                _ => {
                    let short = run.len() < confirm;
                    for slot in run.drain(..).filter(|_| short) {
                        if let Some(slot) = slots.get_mut(slot) {
                            slot.condition = Condition::Up;
                            slot.suppressed = true;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of slots, a column per location: 1 ok, 0 fail, - missing, x invalid.
    fn verdicts(quorum: Quorum, rows: &[&str]) -> Vec<Condition> {
        let locations = rows[0].len();
        let results = rows.iter().enumerate().flat_map(|(k, row)| {
            row.bytes().enumerate().map(move |(location, mark)| SlotResult {
                at: k as i64 * 60 + 7,
                location: location as u16,
                outcome: match mark {
                    b'1' => Outcome::Ok,
                    b'0' => Outcome::Fail,
                    b'x' => Outcome::Invalid,
                    _ => Outcome::Missing,
                },
            })
        });
        let grid = Grid { interval: 60, locations, quorum };
        let timeline = grid.timeline(results, 0, rows.len() as i64 * 60);
        (0..rows.len()).filter_map(|k| timeline.at(k as i64 * 60 + 30)).collect()
    }

    #[test]
    fn a_slot_s_verdict_follows_the_policy() {
        use Condition::{Down, Partial, Unknown, Up};
        let rows = ["111", "000", "100", "110", "1--", "00-"];
        let of = |policy| verdicts(Quorum { policy, ..Quorum::default() }, &rows);
        assert_eq!(of(Policy::Majority), [Up, Down, Down, Partial, Unknown, Down]);
        assert_eq!(of(Policy::Any), [Up, Down, Down, Down, Up, Down]);
        assert_eq!(of(Policy::All), [Up, Down, Partial, Partial, Up, Down]);
        assert_eq!(of(Policy::AtLeast(2)), [Up, Down, Down, Partial, Unknown, Down]);
    }

    #[test]
    fn a_tie_is_partial_and_what_the_probe_did_wrong_is_no_result() {
        use Condition::{Partial, Unknown, Up};
        let rows = ["1100", "1x0-", "11xx", "111x"];
        assert_eq!(verdicts(Quorum::default(), &rows), [Partial, Unknown, Unknown, Up]);
    }

    #[test]
    fn a_single_location_confirms_with_a_second_slot_and_unknown_does_not_break_the_run() {
        use Condition::{Down, Unknown, Up};
        let rows = ["1", "0", "1", "0", "-", "0", "1", "0", "-"];
        let seen = verdicts(Quorum::default(), &rows);
        assert_eq!(seen, [Up, Up, Up, Down, Unknown, Down, Up, Up, Unknown]);
    }
}
