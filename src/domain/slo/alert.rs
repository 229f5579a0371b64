//! What an evaluation says about alerts (spec: slo 4.4): which are on, how grave, and in which words.

use super::budget::State;
use super::definition::RuleSeverity;
use super::report::{Alert, Report};
use crate::domain::incident::Severity;

/// Name of the alert on the budget itself; no rule may have it.
pub const BUDGET: &str = "budget";

/// One alert after an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Name of the rule, or [`BUDGET`].
    pub name: String,
    pub standing: Standing,
    /// What the SLO does, in a few words that go on after its name.
    pub title: &'static str,
    pub sentence: String,
    pub rates: Rates,
}

/// How many times faster than evenly the budget burnt over the lookbacks of a rule; none of what cannot be told.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    pub long: Option<f64>,
    pub short: Option<f64>,
}

impl Rates {
    /// The faster of each.
    pub fn worst(self, other: Self) -> Self {
        let faster = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        Self { long: faster(self.long, other.long), short: faster(self.short, other.short) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Calm,
    /// Too little was seen to change anything.
    Frozen,
    On(Severity),
}

/// Every alert of an SLO.
pub fn of(report: &Report) -> Vec<Seen> {
    let rules = report.alerts.iter().map(|alert| rule(report, alert));
    rules.chain([budget(report)]).collect()
}

/// A rule that pages is heard by pagers, one that makes a ticket by everything else.
fn rule(report: &Report, alert: &Alert) -> Seen {
    let severity = match alert.severity {
        RuleSeverity::Page => Severity::Down,
        RuleSeverity::Ticket => Severity::Degraded,
    };
    let standing = match (alert.frozen, alert.firing) {
        (true, _) => Standing::Frozen,
        (false, true) => Standing::On(severity),
        (false, false) => Standing::Calm,
    };
    let rate = |lookback: &str| {
        let burn = report.burn.iter().find(|burn| burn.lookback == lookback);
        burn.and_then(|burn| burn.rate)
    };
    let rates = Rates { long: rate(&alert.long), short: rate(&alert.short) };
    let told = |rate: Option<f64>| rate.map_or_else(|| "–".to_owned(), times);
    let factor = alert.factor.map_or_else(|| "–".to_owned(), times);
    let sentence = format!(
        "Over the last {1} the error budget burnt {0} as fast as evenly, over the last {3} {2}; the rule {4:?} fires from {5} on. {6}",
        told(rates.long),
        spaced(&alert.long),
        told(rates.short),
        spaced(&alert.short),
        alert.rule,
        factor,
        left(report),
    );
    let title = "burns its error budget too fast";
    Seen { name: alert.rule.clone(), standing, title, sentence, rates }
}

fn budget(report: &Report) -> Seen {
    let (standing, title) = match report.state {
        State::Breached => (Standing::On(Severity::Partial), "overspends its error budget"),
        State::Exhausted => (Standing::On(Severity::Degraded), "spends all of its error budget"),
        State::NoData => (Standing::Frozen, "overspends its error budget"),
        State::Ok | State::AtRisk | State::Burning => {
            (Standing::Calm, "overspends its error budget")
        }
    };
    let achieved = report.availability.pct.as_deref().unwrap_or("–");
    let sentence = format!(
        "{achieved}\u{a0}% was achieved, {}\u{a0}% is the target. {}",
        report.slo.target_pct,
        left(report)
    );
    Seen { name: BUDGET.to_owned(), standing, title, sentence, rates: Rates::default() }
}

/// What is left of the budget, in a sentence.
fn left(report: &Report) -> String {
    let Some(ratio) = report.budget.remaining_ratio else {
        return "How much of the budget is left cannot be told.".to_owned();
    };
    // Towards less, so that nothing is never told as something.
    let percent = (ratio * 100.0).floor();
    if ratio < 0.0 {
        format!("The budget is overspent by {:.0}\u{a0}% of it.", -percent)
    } else {
        format!("{percent:.0}\u{a0}% of the budget is left.")
    }
}

fn times(rate: f64) -> String {
    format!("{:.1} times", (rate * 10.0).floor() / 10.0)
}

/// `5m` as `5 min`, `1h` as `1 h`.
fn spaced(label: &str) -> String {
    let at = label.find(|c: char| !c.is_ascii_digit()).unwrap_or(label.len());
    let (number, unit) = label.split_at(at);
    let unit = if unit == "m" { "min" } else { unit };
    format!("{number}\u{a0}{unit}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{document, evaluate::evaluate};
    use super::*;

    fn seen(down_s: i64) -> Vec<Seen> {
        let end = 40 * 86_400_000_i64;
        let document = json!({
            "slo": {"target_ppb": 999_000_000_u64, "window": {"kind": "rolling", "duration": "30d"}},
            "as_of": end,
            "timeline": [
                {"from": 0, "to": end - down_s * 1_000, "state": "up"},
                {"from": end - down_s * 1_000, "to": null, "state": "down"},
            ],
        });
        let (definition, inputs) = document::read(document).unwrap();
        of(&evaluate(&definition, &inputs).unwrap())
    }

    #[test]
    fn rules_and_the_budget_are_alerts_of_their_own() {
        let calm = seen(0);
        assert!(calm.iter().all(|alert| alert.standing == Standing::Calm), "{calm:?}");
        let burning = seen(120);
        assert_eq!(burning[0].standing, Standing::On(Severity::Down));
        assert_eq!(
            burning[0].sentence,
            "Over the last 1\u{a0}h the error budget burnt 33.3 times as fast as evenly, over the last 5\u{a0}min 400.0 times; the rule \"fast\" fires from 14.4 times on. 95\u{a0}% of the budget is left."
        );
        assert_eq!(burning.last().unwrap().standing, Standing::Calm);
        let over = seen(2_700);
        let budget = over.last().unwrap();
        assert_eq!(
            (budget.name.as_str(), budget.standing),
            (BUDGET, Standing::On(Severity::Partial))
        );
        assert_eq!(
            budget.sentence,
            "99.895\u{a0}% was achieved, 99.9\u{a0}% is the target. The budget is overspent by 5\u{a0}% of it."
        );
        assert_eq!(seen(2_592).last().unwrap().standing, Standing::On(Severity::Degraded));
    }
}
