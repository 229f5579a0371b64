//! Whether a location's own line works, as its agents tell it: targets that the operator knows to be always
//! up, and how many of them answer.

use serde::{Deserialize, Serialize};

/// With fewer references one of them would decide.
pub const MIN_REFERENCES: usize = 3;
/// So many rounds in a row must be bad before anything follows.
pub const BAD_ROUNDS: u64 = 2;

/// One agent's last round. Absent with fewer than [`MIN_REFERENCES`] references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Counts rounds, every 30 s, since the process started.
    pub round: u64,
    /// Rounds in a row, up to this one, in which most references failed.
    pub bad_rounds: u64,
    pub targets: Vec<Reference>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Reference {
    pub target: String,
    pub ok: bool,
    /// Why not; empty if it is.
    #[serde(default)]
    pub message: String,
}

impl SelfCheck {
    /// What an agent sent; none when it is nothing that we know.
    pub fn read(stored: &serde_json::Value) -> Option<Self> {
        Self::deserialize(stored).ok().filter(|it| it.targets.len() >= MIN_REFERENCES)
    }

    pub fn failing(&self) -> usize {
        self.targets.iter().filter(|target| !target.ok).count()
    }

    /// This round alone was bad.
    pub fn most_fail(&self) -> bool {
        2 * self.failing() > self.targets.len()
    }

    pub fn is_bad(&self) -> bool {
        self.bad_rounds >= BAD_ROUNDS
    }
}

/// Whether a location fails by its references: at least half of its agents that have any do.
pub fn fails(checks: &[SelfCheck]) -> bool {
    let bad = checks.iter().filter(|check| check.is_bad()).count();
    bad > 0 && 2 * bad >= checks.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bad_rounds: u64) -> SelfCheck {
        let one = Reference { target: "a:1".into(), ok: bad_rounds == 0, message: String::new() };
        SelfCheck { round: 9, bad_rounds, targets: vec![one.clone(), one.clone(), one] }
    }

    #[test]
    fn two_bad_rounds_at_half_of_the_agents_are_needed() {
        assert!(!fails(&[]));
        assert!(!fails(&[check(1)]));
        assert!(fails(&[check(2)]));
        assert!(fails(&[check(0), check(3)]));
        assert!(!fails(&[check(0), check(0), check(3)]));
    }

    #[test]
    fn what_agents_send_is_read_and_anything_else_is_nothing() {
        let sent = serde_json::to_value(check(2)).unwrap();
        assert_eq!(SelfCheck::read(&sent), Some(check(2)));
        let few = serde_json::json!({"round": 1, "bad_rounds": 0, "targets": []});
        for other in [few, serde_json::json!(null), serde_json::json!({"round": -1})] {
            assert_eq!(SelfCheck::read(&other), None);
        }
    }
}
