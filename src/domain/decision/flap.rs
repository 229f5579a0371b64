//! A monitor that goes up and down (spec: decision 5.8) is told of once, and then held open until it
//! has been well for longer.

use crate::domain::Millis;

/// How long a change is remembered.
pub const WITHIN: Millis = 30 * 60_000;
/// The change that makes it flap.
pub const CHANGES: usize = 4;
/// The hold before a milder step while flapping is never stretched beyond this.
pub const LONGEST_HOLD: Millis = 30 * 60_000;

/// Opened, reopened and resolved, lately; severity moves are no changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flaps {
    pub changes: Vec<Millis>,
    pub flapping: bool,
}

impl Flaps {
    pub(super) fn record(&mut self, now: Millis) {
        self.forget(now);
        self.changes.push(now);
    }

    /// Whether a resolve at this tick would be one change too many.
    pub(super) fn holds(&mut self, now: Millis) -> bool {
        self.forget(now);
        !self.flapping && self.changes.len() + 1 >= CHANGES
    }

    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    fn forget(&mut self, now: Millis) {
        self.changes.retain(|change| now - change <= WITHIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_change_within_half_an_hour_is_held_back() {
        let mut flaps = Flaps::default();
        flaps.record(0);
        flaps.record(1000);
        assert!(!flaps.holds(2000));
        flaps.record(2000);
        assert!(flaps.holds(WITHIN));
        assert!(!flaps.holds(WITHIN + 1), "the first has been forgotten");
    }
}
