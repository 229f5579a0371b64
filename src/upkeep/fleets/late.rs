//! Removals that took longer than the fleet's rule allows: a finding until the instance is back in rotation,
//! is gone for good, or nobody waits for it any more.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::{
    domain::fleet::{
        event::State,
        finding::{self, Change, End, Finding, Gravity, Kind, Scope, Step},
        timeline::{Removal, Timeline},
    },
    store::fleet_findings::FindingRow,
};

/// So long after its removal an instance is not waited for any more.
const WAITED: SignedDuration = SignedDuration::from_hours(1);

/// What a removal is worth. One that is over by now is told as begun and ended at once, so that it is told at
/// all.
pub(super) fn found(
    removal: &Removal,
    limit_s: Option<f64>,
    timeline: &Timeline,
    end: Timestamp,
    known_us: i64,
) -> Vec<Change> {
    let Some(limit) = limit_s else { return Vec::new() };
    let Some(took) = removal.time_us().map(|us| us as f64 / 1e6) else { return Vec::new() };
    if took <= limit {
        return Vec::new();
    }
    let finding = Finding {
        kind: Kind::SlowRemoval,
        scope: Scope::One,
        severity: Gravity::Warning,
        pool: String::new(),
        instances: vec![removal.instance.clone()],
        from_us: removal.failed_us.unwrap_or(removal.removed_us),
        found_us: known_us,
        to_us: None,
        chronic: false,
        sentence: format!(
            "{} failed for {took:.1}\u{a0}s before it was taken out; the limit is {limit}\u{a0}s. {}",
            removal.instance,
            harm(removal.harmed)
        ),
        evidence: json!({ "removal_s": took, "limit_s": limit, "harmed": removal.harmed,
            "cause": removal.cause, "minimum_us": removal.minimum_us,
            "removed_us": removal.removed_us }),
    };
    let returned = removal.returned_us;
    let waits = is_waited_for(&removal.instance, removal.removed_us, timeline, end);
    let over = returned.or_else(|| (!waits).then_some(removal.removed_us));
    let mut changes = vec![change(Step::Opened, finding.clone())];
    if over.is_some() {
        changes.push(change(Step::Closed(End::Over), Finding { to_us: over, ..finding }));
    }
    changes
}

/// Which of the open ones are over although nothing was said of a return. `told` is what this window has
/// found already.
pub(super) fn over(
    open: Vec<FindingRow>,
    told: &[Change],
    timeline: &Timeline,
    end: Timestamp,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for row in open {
        let finding = row.finding;
        let Some(instance) = finding.instances.first() else { continue };
        let removed = finding.evidence.get("removed_us").and_then(serde_json::Value::as_i64);
        let key = key(&finding);
        let waits = is_waited_for(instance, removed.unwrap_or(finding.from_us), timeline, end);
        if waits || told.iter().any(|change| change.key == key) {
            continue;
        }
        let to_us = Some(end.as_microsecond());
        changes.push(change(Step::Closed(End::Over), Finding { to_us, ..finding }));
    }
    changes
}

/// It may come back: it is known, not gone, and was taken out within the hour.
fn is_waited_for(instance: &str, removed_us: i64, timeline: &Timeline, end: Timestamp) -> bool {
    let here = timeline.instances().get(timeline.resolve(instance));
    let here = here.is_some_and(|instance| instance.state != State::Gone);
    here && end.as_microsecond() - removed_us < WAITED.as_secs() * 1_000_000
}

fn harm(attempts: u64) -> String {
    match attempts {
        0 => "No request is known to have failed on it meanwhile.".to_owned(),
        1 => "1 attempt failed on it meanwhile.".to_owned(),
        many => format!("{many} attempts failed on it meanwhile."),
    }
}

/// Beside the finding of a removal that its check cannot explain, which has the plain key.
fn key(finding: &Finding) -> String {
    format!("{}:limit", finding::key(finding))
}

fn change(step: Step, finding: Finding) -> Change {
    Change { key: key(&finding), step, finding }
}
