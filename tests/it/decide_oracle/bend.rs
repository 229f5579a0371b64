//! Moves a scenario so that something happens exactly at a limit.

use serde_json::{Value, json};

use super::plan::Plan;
use crate::support::dice::Dice;

/// From what happened in a scenario, another one in which it happens at a limit, or a second beside it.
pub(super) fn bend(plan: &mut Plan, result: &Value, dice: &mut Dice) {
    let events: Vec<(i64, &str)> = result["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| {
            Some((event[0].as_i64()?, event[1].as_str()?.trim_start_matches("suppressed:")))
        })
        .collect();
    if events.is_empty() {
        return;
    }
    let (at, _) = dice.pick(&events);
    let beside = dice.from(-1, 2);
    match dice.below(5) {
        0 => reopen(plan, &events, beside),
        1 => flap(plan, &events, beside),
        2 => plan.windows.push([at + beside, at + beside + dice.from(1, 300)]),
        3 => {
            // The silence after the window ends at the event.
            let end = at - 2 * plan.interval() + beside;
            plan.windows.push([(end - dice.from(1, 300)).max(0), end.max(1)]);
        }
        _ => end_at(plan, at + beside),
    }
}

fn reopen(plan: &mut Plan, events: &[(i64, &str)], beside: i64) {
    for pair in events.windows(2) {
        let again = pair[1].1.starts_with("opened") || pair[1].1.starts_with("reopened");
        if pair[0].1.starts_with("resolved") && again {
            plan.cfg.insert("reopen".to_owned(), json!((pair[1].0 - pair[0].0 + beside).max(0)));
        }
    }
}

/// Lengthens a stretch so that the fourth change comes half an hour after the first.
fn flap(plan: &mut Plan, events: &[(i64, &str)], beside: i64) {
    let changes: Vec<i64> = events
        .iter()
        .filter(|(_, what)| !what.contains("after_maintenance"))
        .filter(|(_, what)| {
            ["opened", "reopened", "resolved", "flap_start"]
                .iter()
                .any(|word| what.starts_with(word))
        })
        .map(|(at, _)| *at)
        .collect();
    let Some(four) = changes.windows(4).next() else { return };
    let by = 1800 + beside - (four[3] - four[0]);
    let mut begun = 0;
    for stretch in &mut plan.stretches {
        begun += stretch.seconds;
        if begun > four[0] {
            stretch.seconds = (stretch.seconds + by).max(1);
            return;
        }
    }
}

fn end_at(plan: &mut Plan, until: i64) {
    let mut begun = 0;
    for stretch in &mut plan.stretches {
        stretch.seconds = stretch.seconds.min((until - begun).max(0));
        begun += stretch.seconds;
    }
}
