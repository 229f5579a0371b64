//! What must hold of the product whatever the scenario, told from the outside.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::tests::{product, scenario};

/// Numbers of scenarios that the comparison does not begin with.
const THESE: std::ops::Range<u64> = 5_000_000..5_000_080;

fn events(result: &Value) -> Vec<(i64, String)> {
    let event = |event: &Value| (event[0].as_i64().unwrap(), event[1].as_str().unwrap().to_owned());
    result["events"].as_array().unwrap().iter().map(event).collect()
}

#[test]
fn what_comes_later_changes_nothing_before() {
    for seed in THESE {
        let whole = scenario(seed);
        let until = whole["until"].as_i64().unwrap() / 2;
        let mut half = whole.clone();
        half["until"] = until.into();
        half["obs"].as_array_mut().unwrap().retain(|row| {
            let received = if row[5].is_null() { &row[0] } else { &row[5] };
            received.as_f64().unwrap() <= until as f64
        });
        let mut before = events(&product(&whole));
        before.retain(|(at, _)| *at <= until);
        assert_eq!(before, events(&product(&half)), "scenario {seed}");
    }
}

#[test]
fn names_are_only_names() {
    for seed in THESE {
        let entry = scenario(seed);
        let names: Vec<String> = entry["fleet"].as_object().unwrap().keys().cloned().collect();
        // Another first and another last one.
        let other: BTreeMap<&str, String> = names
            .iter()
            .rev()
            .zip(0..)
            .map(|(name, place)| (name.as_str(), format!("w{place}")))
            .collect();
        let renamed = |name: &Value| json!(other[name.as_str().unwrap()]);
        let mut changed = entry.clone();
        changed["fleet"] = entry["fleet"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, labels)| (other[name.as_str()].clone(), labels.clone()))
            .collect();
        changed["impaired"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|name| *name = renamed(name));
        changed["obs"].as_array_mut().unwrap().iter_mut().for_each(|row| row[1] = renamed(&row[1]));
        let mut expected = product(&entry);
        let down = expected["down"].as_array_mut().unwrap();
        down.iter_mut().for_each(|name| *name = renamed(name));
        down.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        if let Some(name) = expected["flag"].as_str().and_then(|flag| flag.strip_prefix("local:")) {
            expected["flag"] = json!(format!("local:{}", other[name]));
        }
        assert_eq!(expected, product(&changed), "scenario {seed}");
    }
}

#[test]
fn what_is_told_makes_sense_to_somebody_who_only_hears_it() {
    for seed in THESE {
        let entry = scenario(seed);
        let result = product(&entry);
        let mut open: Option<(String, bool)> = None;
        let mut flapping = false;
        for (at, word) in events(&result) {
            let wrong = format!("scenario {seed}: {word} at {at} while {open:?}");
            let (told, word) = match word.strip_prefix("suppressed:") {
                Some(word) => (false, word),
                None => (true, word.as_str()),
            };
            let words: Vec<&str> = word.split(':').collect();
            match words.as_slice() {
                ["opened", kind, "after_maintenance"] => {
                    assert!(told, "{wrong}");
                    assert_eq!(open, Some(((*kind).to_owned(), false)), "{wrong}");
                    open = Some(((*kind).to_owned(), true));
                }
                ["opened", kind] | ["opened", kind @ "down", "low"] | ["reopened", kind] => {
                    assert!(open.is_none() && !flapping, "{wrong}");
                    open = Some(((*kind).to_owned(), told));
                }
                [way @ ("escalated" | "downgraded"), kind] => {
                    let (before, known) = open.clone().expect(&wrong);
                    let rank = |kind: &str| {
                        ["degraded", "partial", "down"]
                            .iter()
                            .position(|one| *one == kind)
                            .expect(&wrong)
                    };
                    assert_eq!(*way == "escalated", rank(kind) > rank(&before), "{wrong}");
                    assert!(rank(kind) != rank(&before) && told == known, "{wrong}");
                    open = Some(((*kind).to_owned(), known));
                }
                ["flap_start"] => {
                    assert!(
                        !flapping && open.as_ref().is_some_and(|(_, known)| *known == told),
                        "{wrong}"
                    );
                    flapping = true;
                }
                ["resolved"] | ["resolved", "flap_end"] => {
                    // Whoever hears of the end has heard of the beginning.
                    assert!(open.as_ref().is_some_and(|(_, known)| *known == told), "{wrong}");
                    assert_eq!(words.len() == 2, flapping, "{wrong}");
                    (open, flapping) = (None, false);
                }
                ["blind"] | ["blind_end"] => {}
                _ => panic!("{wrong}"),
            }
        }
        assert_eq!(
            result["incident"]["kind"].as_str(),
            open.as_ref().map(|(kind, _)| kind.as_str()),
            "scenario {seed}"
        );
        assert_eq!(result["flap"], json!(flapping), "scenario {seed}");
    }
}
