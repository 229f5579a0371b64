//! The dead-man ping (spec: decision 5.9): sent to an external watch only while Quorate does its work, so that
//! its absence is an alarm.

use super::Millis;

/// What the ping vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vitals {
    /// Monitors that nobody has looked at for more than twice their interval after their time.
    pub late_monitors: i64,
    /// Agents that called within 30 s.
    pub fresh_agents: i64,
    /// How long the oldest notice that is due has waited for its first attempt.
    pub oldest_untried_ms: Option<Millis>,
}

/// A notice may wait so long for its first attempt.
const PATIENCE: Millis = 120_000;

impl Vitals {
    /// Why no ping may be sent, a sentence; none when all is well. That the database can be written is shown by
    /// the claim of the ping itself.
    pub fn withheld(&self) -> Option<String> {
        let mut why = Vec::new();
        match self.late_monitors {
            0 => {}
            1 => why.push("1 monitor is overdue by more than twice its interval".to_owned()),
            many => {
                why.push(format!("{many} monitors are overdue by more than twice their interval"))
            }
        }
        if self.fresh_agents == 0 {
            why.push("no agent has called for 30 s".to_owned());
        }
        if let Some(ms) = self.oldest_untried_ms.filter(|ms| *ms >= PATIENCE) {
            why.push(format!("an alert has waited {} s for its first attempt", ms / 1_000));
        }
        let first = why.first_mut()?;
        if first.starts_with(|c: char| c.is_ascii_lowercase()) {
            first[..1].make_ascii_uppercase();
        }
        Some(format!("{}.", why.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: Vitals = Vitals { late_monitors: 0, fresh_agents: 1, oldest_untried_ms: None };

    #[test]
    fn each_condition_withholds_it() {
        assert_eq!(WELL.withheld(), None);
        assert_eq!(Vitals { oldest_untried_ms: Some(119_999), ..WELL }.withheld(), None);
        let late = Vitals { late_monitors: 2, ..WELL }.withheld().unwrap();
        assert_eq!(late, "2 monitors are overdue by more than twice their interval.");
        let all = Vitals { late_monitors: 0, fresh_agents: 0, oldest_untried_ms: Some(120_000) };
        assert_eq!(
            all.withheld().unwrap(),
            "No agent has called for 30 s; an alert has waited 120 s for its first attempt."
        );
    }
}
