//! What is strange about a definition, and does not stop it (spec: slo 4.4 and 4.5).

use super::burn;
use super::definition::{Definition, Sli};
use super::ratio::Ratio;
use super::report::Warning;
use super::resolution::{self, Fit};
use crate::domain::decision::explain::span;

/// Nothing of it stops a report; a target that is too fine for its probe is refused when an SLO is saved.
pub fn of(definition: &Definition) -> Vec<Warning> {
    let window = definition.window.nominal();
    let mut out = Vec::new();
    if let Some(resolution) = definition.resolution.filter(|_| definition.sli == Sli::Availability)
    {
        let smallest = span(resolution::smallest(resolution));
        let budget = definition.target.allowance().times(window.max(0) as u128).floor();
        let budget = span(i64::try_from(budget).unwrap_or(i64::MAX));
        let text = |what: &str| {
            format!(
                "the smallest outage that counts lasts {smallest}, and the budget is {budget}: {what}"
            )
        };
        let warning =
            |code: &str, what| Warning { code: code.to_owned(), rule: None, message: text(what) };
        match resolution::check(resolution, definition.target, window) {
            Fit::Fine => {}
            Fit::Coarse => out.push(warning("resolution_warn", "one bad round is enough to page")),
            Fit::TooCoarse => {
                out.push(warning("resolution_refused", "one bad round breaks the target"));
            }
        }
    }
    for rule in &definition.rules {
        let warning = |code: &str, message| Warning {
            code: code.to_owned(),
            rule: Some(rule.name.clone()),
            message,
        };
        if rule.exceeds(window) {
            let (long, whole) = (span(rule.long), span(window));
            let message = format!("looks back {long}, and the window is {whole}: left out");
            out.push(warning("rule_dropped", message));
        } else if !rule.can_fire(definition.target, window) {
            let show = |ratio: Ratio| ratio.to_f64().unwrap_or(0.0);
            let (factor, fastest) = (rule.factor(window), burn::fastest(definition.target));
            let message = format!(
                "needs a burn rate of {:.4}, and this target allows {:.4} at most: it cannot fire",
                show(factor),
                show(fastest)
            );
            out.push(warning("rule_cannot_fire", message));
        }
    }
    out
}
