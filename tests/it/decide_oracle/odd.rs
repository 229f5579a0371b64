//! Files that are no scenarios, or nearly.

use std::process::Command;

use quorate::cli::decide::replay;
use serde_json::{Value, json};

use super::tests::{product, scenario};
use crate::support::dice::Dice;
use crate::support::scratch::Scratch;

/// A small scenario with something in every field.
fn whole() -> Value {
    json!({"vectors": [{
        "id": 1, "title": "everything",
        "fleet": {"a": ["eu", "P1"], "b": ["us", "P2"], "c": ["ap", "P3"]},
        "cfg": {
            "interval": 30, "timeout": 5, "fail_after": 2, "pass_after": 2, "retry_delay": 5, "min_sep": 4,
            "min_agree": 2, "min_domains": 2, "min_regions": 2, "partial_min": 2, "confirm_for": 0, "split_for": 60,
            "blind_for": 60, "slow_ms": 1000, "reopen": 600, "quorum": "percent", "k": 2, "percent": 60
        },
        "impaired": ["c"], "maint": [10, 20], "until": 60,
        "obs": [[0, "a", "pass", 100, "scheduled", null], [9, "b", "fail", 2000, "retry", 12], [30, "c", "error", 0, "manual", 30]],
        "expect": {"state": "up"}
    }], "functions": [{"fn": "effective_time", "args": [1000.0, 0.4, 0.2], "expect": 999.5}]})
}

/// Values that mostly do not belong where they are put.
fn odd(dice: &mut Dice) -> Value {
    match dice.below(16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(0),
        4 => json!(0.5),
        5 => json!(4_294_967_296_u64),
        6 => json!(i64::MIN),
        7 => serde_json::from_str("1e308").unwrap(),
        8 => json!(999_999_999_999_u64),
        9 => json!("a"),
        10 => json!(""),
        11 => json!("\u{202e}\u{0}é".repeat(200)),
        12 => json!([]),
        13 => json!([1, 2, 3]),
        14 => json!({}),
        _ => json!(["eu", "P1"]),
    }
}

/// Changes one place of a document: another value, nothing, or twice the same.
fn spoil(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(map) if !map.is_empty() && !dice.one_in(8) => {
            let name = map.keys().nth(dice.below(map.len() as u64) as usize).unwrap().clone();
            match dice.below(8) {
                0 => drop(map.remove(&name)),
                1 => drop(map.insert(format!("{name}x"), json!(1))),
                _ => spoil(&mut map[&name], dice),
            }
        }
        Value::Array(list) if !list.is_empty() && !dice.one_in(8) => {
            let at = dice.below(list.len() as u64) as usize;
            match dice.below(8) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                _ => spoil(&mut list[at], dice),
            }
        }
        other => *other = odd(dice),
    }
}

#[test]
fn a_spoilt_file_is_replayed_or_refused_by_name_and_nothing_else() {
    assert_eq!(replay(&whole().to_string()).unwrap().len(), 1);
    let (mut replayed, mut refused) = (0, 0);
    for seed in 0..6_000 {
        let mut dice = Dice::new(seed);
        let mut file = whole();
        for _ in 0..=dice.below(2) {
            spoil(&mut file, &mut dice);
        }
        match replay(&file.to_string()) {
            Ok(_) => replayed += 1,
            Err(invalid) => {
                refused += 1;
                let known =
                    invalid.field.starts_with("vectors") || invalid.field.starts_with("functions");
                let nothing_there = invalid.message.starts_with("must hold scenarios")
                    || invalid.message.starts_with("holds no scenario")
                    || invalid.field == "[0]"
                    || invalid.field.starts_with("[0].")
                    || invalid.field.starts_with('[');
                assert!(known || nothing_there, "{file}: {invalid:?}");
                assert!(!invalid.message.is_empty(), "{file}");
            }
        }
    }
    assert!(replayed > 500 && refused > 2_000, "{replayed} replayed, {refused} refused");
}

#[test]
fn spoilt_bytes_are_refused_or_replayed() {
    let text = whole().to_string();
    for seed in 0..3_000 {
        let mut dice = Dice::new(seed);
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=dice.below(3) {
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(3) {
                0 => bytes[at] = dice.pick(b"{}[],:\"0-9eE.\\ntf \x00\xff"),
                1 => bytes.truncate(at.max(1)),
                _ => drop(bytes.remove(at)),
            }
            if bytes.len() < 2 {
                break;
            }
        }
        // A panic is what this looks for.
        let _ = replay(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn the_tool_prints_what_the_function_gives() {
    let scratch = Scratch::new("decide");
    let mut entries: Vec<Value> = (7_000_000..7_000_030).map(scenario).collect();
    for (entry, id) in entries.iter_mut().zip(1..) {
        entry["id"] = json!(id);
    }
    let path = scratch.path().join("scenarios.json");
    std::fs::write(&path, json!({"vectors": entries}).to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .arg("decide")
        .arg(&path)
        .arg("--json")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    for ((entry, got), id) in entries.iter().zip(printed.as_array().unwrap()).zip(1..) {
        assert_eq!(got["id"], json!(id));
        assert_eq!(got["result"], product(entry));
    }
    assert_eq!(printed.as_array().unwrap().len(), entries.len());
    // The readable form decides the same, and says so by its exit code.
    let mut file = json!({"vectors": entries});
    for (entry, got) in
        file["vectors"].as_array_mut().unwrap().iter_mut().zip(printed.as_array().unwrap())
    {
        entry["expect"] = got["result"].clone();
    }
    std::fs::write(&path, file.to_string()).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_quorate")).arg("decide").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}
