//! The oracle against the vectors, then the product against the oracle.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate::cli::decide::replay;
use serde_json::{Value, json};

use super::bend::bend;
use super::decide;
use super::plan::Plan;
use super::shrink::shrink;
use crate::support::dice::Dice;

const VECTORS: &str = include_str!("../../vectors/decision-vectors.json");

/// How many scenarios are drawn, unless QUORATE_SCENARIOS says otherwise. QUORATE_SCENARIOS_FROM is the
/// first, 0 unless set.
const SCENARIOS: u64 = 600;

#[test]
fn the_oracle_gives_what_every_vector_expects() {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 28);
    for vector in vectors {
        assert_eq!(decide(vector), vector["expect"], "vector {}", vector["id"]);
    }
}

#[test]
fn random_scenarios_come_out_as_the_oracle_has_them() {
    let from = number_from("QUORATE_SCENARIOS_FROM").unwrap_or(0);
    let until = from + number_from("QUORATE_SCENARIOS").unwrap_or(SCENARIOS);
    let next = AtomicU64::new(from);
    let differing = Mutex::new(Vec::new());
    let counts = Mutex::new(Counts::default());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut mine = Counts::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= until || differing.lock().unwrap().len() >= 20 {
                        break;
                    }
                    let entry = scenario(seed);
                    let expected = decide(&entry);
                    mine.note(&expected);
                    if differs(&expected, &entry) {
                        differing.lock().unwrap().push(seed);
                    }
                }
                counts.lock().unwrap().add(&mine);
            });
        }
    });
    let mut differing = differing.into_inner().unwrap();
    differing.sort_unstable();
    if let Some(seed) = differing.first() {
        let small = shrink(&scenario(*seed), |entry| differs(&decide(entry), entry));
        let (expected, got) = (decide(&small), product(&small));
        panic!(
            "scenarios {differing:?} differ; the first one, shrunk:\n{small}\noracle  {expected}\nproduct {got}"
        );
    }
    counts.into_inner().unwrap().are_worth_something(until - from);
}

/// The scenario of a number; every third one is bent toward a limit.
pub(super) fn scenario(seed: u64) -> Value {
    let mut dice = Dice::new(!seed);
    let mut plan = Plan::draw(seed);
    for _ in 0..dice.pick(&[0, 0, 0, 1, 1, 2]) {
        let result = decide(&plan.entry());
        bend(&mut plan, &result, &mut dice);
    }
    plan.entry()
}

pub(super) fn product(entry: &Value) -> Value {
    match replay(&json!([entry]).to_string()) {
        Ok(results) => results[0]["result"].clone(),
        Err(refused) => json!(format!("{refused:?}")),
    }
}

fn differs(expected: &Value, entry: &Value) -> bool {
    *expected != product(entry)
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap())
}

/// How often each thing happened: a comparison of nothing would prove nothing.
#[derive(Default)]
struct Counts(std::collections::BTreeMap<String, u64>);

impl Counts {
    fn note(&mut self, result: &Value) {
        let mut add = |what: String| *self.0.entry(what).or_default() += 1;
        for event in result["events"].as_array().unwrap() {
            add(event[1].as_str().unwrap().to_owned());
        }
        add(format!("raw {}", result["raw"].as_str().unwrap()));
        add(format!("state {}", result["state"].as_str().unwrap()));
        for field in ["low", "flap", "platform_alert"] {
            if result[field] == true {
                add(field.to_owned());
            }
        }
        if let Some(flag) = result["flag"].as_str() {
            add(flag.split(':').next().unwrap().to_owned());
        }
        if result["incident"]["evidence_stale"] == true {
            add("evidence_stale".to_owned());
        }
    }

    fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what.clone()).or_default() += count;
        }
    }

    fn are_worth_something(&self, scenarios: u64) {
        let missing: Vec<&&str> =
            HAPPEN.iter().filter(|what| !self.0.contains_key(**what)).collect();
        assert!(
            missing.is_empty(),
            "in {scenarios} scenarios none has {missing:?}; they have {:#?}",
            self.0
        );
    }
}

/// What some of the scenarios must come to.
const HAPPEN: &[&str] = &[
    "blind",
    "blind_end",
    "domain_suspect",
    "downgraded:degraded",
    "downgraded:partial",
    "escalated:down",
    "escalated:partial",
    "evidence_stale",
    "flap",
    "flap_start",
    "local",
    "low",
    "opened:degraded",
    "opened:degraded:after_maintenance",
    "opened:down",
    "opened:down:after_maintenance",
    "opened:down:low",
    "opened:partial",
    "opened:partial:after_maintenance",
    "platform_alert",
    "raw degraded_intermittent",
    "raw degraded_slow",
    "raw down",
    "raw down_low",
    "raw insufficient",
    "raw partial",
    "raw undecided",
    "raw up",
    "reopened:degraded",
    "reopened:down",
    "reopened:partial",
    "resolved",
    "resolved:flap_end",
    "state unknown",
    "suppressed:blind",
    "suppressed:downgraded:partial",
    "suppressed:escalated:down",
    "suppressed:opened:down",
    "suppressed:reopened:down",
    "suppressed:resolved",
];
