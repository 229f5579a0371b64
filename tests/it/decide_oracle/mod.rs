//! The rules of decisions a second time, written from their description alone: slow, and plain enough to be
//! compared with it line by line. Nothing is carried from tick to tick that can be found by looking back.
//!
//! Numbers in brackets are sections of the description of rule version q1.

mod bend;
mod machine;
mod odd;
mod plan;
mod properties;
mod scenario;
mod shrink;
mod tests;
mod verdict;
mod vote;

use serde_json::{Value, json};

/// The result of one entry of `vectors`, with the fields that its `expect` has.
pub(crate) fn decide(entry: &Value) -> Value {
    let scenario = scenario::Scenario::read(entry);
    let end = machine::run(&scenario);
    let names = |places: &[usize]| {
        places.iter().map(|place| scenario.places[*place].name.clone()).collect::<Vec<_>>()
    };
    json!({
        "state": end.state.name(),
        "raw": machine::raw_name(end.verdict.raw),
        "low": end.low,
        "flap": end.flapping,
        "platform_alert": verdict::quarantined(&scenario).1,
        "events": end.events.iter().map(|(at, what)| json!([seconds(*at), what])).collect::<Vec<_>>(),
        "E": end.verdict.e,
        "Q": end.verdict.q,
        "down": names(&end.verdict.down),
        "flag": end.verdict.flag,
        "incident": end.incident.map(|incident| json!({
            "kind": incident.kind.name(),
            "started": seconds(incident.started),
            "opened": seconds(incident.opened),
            "evidence_stale": end.evidence_stale,
        })),
    })
}

/// Whole seconds without a fraction.
fn seconds(millis: i64) -> Value {
    if millis % scenario::SECOND == 0 {
        json!(millis / scenario::SECOND)
    } else {
        json!(millis as f64 / scenario::SECOND as f64)
    }
}
