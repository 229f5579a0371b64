//! `quorate slo eval` as people and scripts run it: the vectors, refusals, and the table.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Runs the tool with a document on standard input.
fn eval(document: &Value, arguments: &[&str], env: &[(&str, &str)]) -> Output {
    eval_text(&document.to_string(), arguments, env)
}

fn eval_text(document: &str, arguments: &[&str], env: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(["slo", "eval", "-"])
        .args(arguments)
        .env_remove("COLUMNS")
        .env("LC_ALL", "C.UTF-8")
        // Figures do not depend on the machine's zone, nor on the zones that it knows.
        .env("TZ", "Pacific/Kiritimati")
        .env("TZDIR", "/nonexistent")
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn report(document: &Value) -> Value {
    let output = eval(document, &[], &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.is_empty(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn cases(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/slo").join(name);
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// The file of a case, with results written out that the case only describes: so many with each
/// outcome, a step apart, the whole pattern so many times.
fn document(case: &Value) -> Value {
    let mut file = case["file"].clone();
    for run in case["expand"].as_array().into_iter().flatten() {
        let start: jiff::Timestamp = run["start"].as_str().unwrap().parse().unwrap();
        let step = jiff::SignedDuration::from_secs(run["step_s"].as_i64().unwrap());
        let mut at = start;
        let into = run["into"].as_str().unwrap();
        if file.get(into).is_none() {
            file[into] = json!([]);
        }
        let list = file[into].as_array_mut().unwrap();
        for _ in 0..run["times"].as_u64().unwrap() {
            for part in run["pattern"].as_str().unwrap().split(", ") {
                let (count, outcome) = part.split_once(' ').unwrap();
                for _ in 0..count.parse::<u32>().unwrap() {
                    list.push(json!({"at": at.to_string(), "location": run["location"], "outcome": outcome}));
                    at += step;
                }
            }
        }
    }
    file
}

/// Ratios to half a unit in the ninth decimal, everything else exactly.
fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(a), Value::Number(b)) if a.to_string().contains('.') => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= 5e-10
        }
        _ => expected == got,
    }
}

fn check(name: &str) -> usize {
    let cases = cases(name);
    for case in &cases {
        let title = format!("{name}, {}", case["title"]);
        let got = report(&document(case));
        for (pointer, expected) in case["expect"].as_object().unwrap() {
            let value = got.pointer(pointer).unwrap_or(&Value::Null);
            let present = got.pointer(pointer).is_some();
            assert!(
                present && same(expected, value),
                "{title}: {pointer}: {expected} expected, {value} got"
            );
        }
        invariants(&title, &got);
    }
    cases.len()
}

/// What holds in every report.
fn invariants(title: &str, got: &Value) {
    let time = &got["time_ms"];
    let of = |name: &str| time[name].as_i64().unwrap();
    let seven = ["up", "down", "partial", "unknown", "excluded", "paused", "not_monitored"];
    let sum: i64 = seven.iter().map(|name| of(name)).sum();
    let length = got["window"]["length_ms"].as_i64().unwrap();
    assert_eq!(sum + of("remaining"), length, "{title}: the seven and the rest are the window");
    let days = got["days"].as_array().unwrap();
    let whole = |name: &str| days.iter().map(|day| day[name].as_i64().unwrap()).sum::<i64>();
    assert_eq!(whole("length_ms"), sum, "{title}: days add up");
    assert_eq!(whole("down_ms"), of("down"), "{title}");
    assert_eq!(whole("excluded_ms"), of("excluded"), "{title}");
    let list = got["maintenance"].as_array().unwrap();
    let credited: i64 = list.iter().map(|m| m["excluded_ms"].as_i64().unwrap()).sum();
    assert!(credited == of("excluded") || got.get("members").is_some(), "{title}");
    let outages = got["outages"]["list"].as_array().unwrap();
    let down: i64 = outages.iter().map(|o| o["downtime_ms"].as_i64().unwrap()).sum();
    assert_eq!(down, of("down"), "{title}: every instant of down lies in an outage");
    if of("down") > 0 && got["slo"]["sli"] == "availability" {
        assert_ne!(got["availability"]["pct"], "100.000", "{title}");
    }
}

#[test]
fn every_vector_gives_what_it_expects() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/slo");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let numbered: Vec<&str> = names.iter().map(|name| &name[..2]).collect();
    let all: Vec<String> = (1..=21).map(|n| format!("{n:02}")).collect();
    assert_eq!(numbered[..21], all, "all of the 21");
    let count: usize = names.iter().map(|name| check(name)).sum();
    assert!(count >= 80, "{count} cases");
}

/// A plain day with ten minutes down.
fn day() -> Value {
    json!({
        "slo": {"name": "checkout", "target_ppb": 999_000_000_u64, "window":
            {"kind": "fixed", "from": "2026-06-01T00:00:00Z", "to": "2026-06-02T00:00:00Z"}},
        "as_of": "2026-06-02T00:00:00Z",
        "timeline": [
            {"from": "2026-06-01T00:00:00Z", "to": "2026-06-01T06:00:00Z", "state": "up"},
            {"from": "2026-06-01T06:00:00Z", "to": "2026-06-01T06:10:00Z", "state": "down"},
            {"from": "2026-06-01T06:10:00Z", "to": "2026-06-02T00:00:00Z", "state": "up"},
        ],
    })
}

/// The day with one place changed.
fn with(pointer: &str, value: Value) -> Value {
    let mut document = day();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        _ => parent[name] = value,
    }
    document
}

#[test]
fn what_is_no_slo_names_the_field_and_exits_2() {
    let at = "2026-06-01T00:00:00Z";
    let cases = [
        (
            with("/slo/target_ppb", json!(1_000_000_000_u64)),
            "slo.target_ppb: must be a whole number from 1 to 999999999",
        ),
        (with("/slo/target_ppb", json!(99.9)), "slo.target_ppb: must be"),
        (
            with("/slo/unknown_policy", json!("hold:5m")),
            "slo.unknown_policy: \"hold:5m\" is not known; known are exclude, up, down",
        ),
        (
            with("/slo/maintenance_policy", json!("skip")),
            "slo.maintenance_policy: \"skip\" is not known",
        ),
        (with("/slo/sli", json!("speed")), "slo.sli: \"speed\" is no indicator"),
        (with("/slo/sli", json!("latency")), "slo.threshold_us: is missing"),
        (with("/slo/coverage_min", json!(1.5)), "slo.coverage_min: must be a number from 0 to 1"),
        (with("/slo/window/kind", json!("weekly")), "slo.window.kind: \"weekly\" is no window"),
        (with("/slo/window/to", json!(at)), "slo.window.to: must be after from"),
        (
            with("/slo/window", json!({"kind": "calendar", "duration": "1m"})),
            "slo.window.duration: \"1m\" is no period of the calendar; known are 1d, 1w, 1M, 1Q, 1Y (a month is 1M)",
        ),
        (
            with(
                "/slo/window",
                json!({"kind": "calendar", "duration": "1M", "timezone": "Mars/Olympus"}),
            ),
            "slo.window.timezone: \"Mars/Olympus\" is no zone",
        ),
        (
            with("/slo/window", json!({"kind": "rolling", "duration": "30"})),
            "slo.window.duration: \"30\" is no number of days",
        ),
        (with("/slo/colour", json!("blue")), "slo.colour: is not known here"),
        (
            with(
                "/slo/rules",
                json!([{"name": "r", "severity": "page", "long_s": 60, "short_s": 61, "budget_fraction": 0.1}]),
            ),
            "slo.rules[0].short_s: must not be longer",
        ),
        (with("/as_of", json!("yesterday")), "as_of: \"yesterday\" is no instant"),
        (with("/timeline/1/state", json!("broken")), "timeline[1].state: \"broken\" is not known"),
        (
            with("/timeline/1/from", json!("2026-06-01T05:59:59.999Z")),
            "timeline[1].from: overlaps timeline[0], which begins earlier and ends later",
        ),
        (
            with("/timeline/0/to", json!(null)),
            "timeline[1].from: overlaps timeline[0], which begins earlier and has no end",
        ),
        (with("/timeline/1/to", json!(at)), "timeline[1].to: must not be before from"),
        (with("/timeline/1/extra", json!(1)), "timeline[1].extra: is not known here"),
        (with("/slots", json!([])), "slots: cannot stand beside timeline"),
        (with("/maintenance", json!([{"start": at}])), "maintenance[0].end: is missing"),
        (
            with("/maintenance", json!([{"start": at, "end": "2026-05-01T00:00:00Z"}])),
            "maintenance[0].end: must not be before start",
        ),
        (
            with("/requests", json!([{"at": "2026-06-01T00:00:30Z", "total": 1, "good": 1}])),
            "requests[0].at: must be a whole minute",
        ),
        (
            with("/events", json!([{"at": at, "outcome": "meh"}])),
            "events[0].outcome: \"meh\" is not known",
        ),
        (with("/timeline", Value::Null), "timeline: is missing: availability is made from it"),
        (json!([]), "must be an object, not a list"),
        (json!({}), "slo: is missing"),
    ];
    for (document, message) in cases {
        let output = eval(&document, &[], &[("COLUMNS", "120")]);
        // A sentence may be wrapped.
        let said = String::from_utf8(output.stderr).unwrap();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{message}: {said}");
        assert!(said.contains(message), "{message}: {said}");
        assert!(said.ends_with("Nothing was worked out."), "{said}");
        assert!(output.stdout.is_empty());
    }
    let output = eval_text("{", &[], &[]);
    assert_eq!(output.status.code(), Some(2));
    let output = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(["slo", "eval", "/no/such/file"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn the_report_is_the_same_whatever_the_machine_and_says_what_it_was_made_with() {
    let first = report(&day());
    assert_eq!(first["sha256"], report(&day())["sha256"]);
    assert_ne!(first["sha256"], report(&with("/slo/name", json!("other")))["sha256"]);
    assert_eq!(first["sha256"].as_str().unwrap().len(), 64);
    assert!(first["window"]["tzdata"].as_str().unwrap().starts_with("202"));
    // Order of the intervals, and how an instant is spelled, do not matter.
    let mut turned = day();
    turned["timeline"].as_array_mut().unwrap().reverse();
    turned["as_of"] = json!("2026-06-02T02:00:00+02:00");
    assert_eq!(first["sha256"], report(&turned)["sha256"]);
}

#[test]
fn what_comes_after_as_of_enters_nothing() {
    let mut document = day();
    document["as_of"] = json!("2026-06-01T06:05:00Z");
    let got = report(&document);
    assert_eq!(got["time_ms"]["down"], 300_000);
    assert_eq!(got["time_ms"]["remaining"], 64_500_000);
    assert_eq!(got["outages"]["list"][0]["ongoing"], true);
    // Before the window nothing of it is known.
    document["as_of"] = json!("2026-05-31T00:00:00Z");
    let got = report(&document);
    assert_eq!((&got["state"], &got["availability"]["ratio"]), (&json!("no_data"), &Value::Null));
    assert_eq!(got["time_ms"]["remaining"], 86_400_000);
}

#[test]
fn the_table_says_it_in_words() {
    let mut document = day();
    document["slo"]["interval_s"] = json!(60);
    document["maintenance"] =
        json!([{"start": "2026-06-01T20:00:00Z", "end": "2026-06-01T21:00:00Z"}]);
    let output = eval(&document, &["--table"], &[("COLUMNS", "80")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("slo_eval_table_80", text);
    let plain = eval(&document, &["--table", "--ascii"], &[]);
    assert!(plain.stdout.is_ascii());
}

#[test]
fn help_says_what_a_file_holds() {
    let output = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(["slo", "eval", "--help"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for word in ["timeline", "as_of", "maintenance", "--json", "--table"] {
        assert!(text.contains(word), "{text}");
    }
}
