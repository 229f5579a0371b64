//! `quorate decide` as people and scripts run it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/decision-vectors.json");

fn vectors() -> Value {
    serde_json::from_str(&std::fs::read_to_string(VECTORS).unwrap()).unwrap()
}

/// Runs the tool with a document on standard input.
fn decide(document: &str, arguments: &[&str], env: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(["decide", "-"])
        .args(arguments)
        .env_remove("COLUMNS")
        .env("LC_ALL", "C.UTF-8")
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn only(id: u64) -> Value {
    let mut file = vectors();
    let list = file["vectors"].as_array_mut().unwrap();
    list.retain(|vector| vector["id"] == json!(id));
    assert_eq!(list.len(), 1);
    file["functions"] = json!([]);
    file
}

#[test]
fn every_vector_gives_exactly_what_it_expects() {
    let output = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(["decide", VECTORS, "--json"])
        .output()
        .unwrap();
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    let vectors = vectors();
    let expected: Vec<Value> = vectors["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|vector| json!({"id": vector["id"], "result": vector["expect"]}))
        .collect();
    assert_eq!(expected.len(), 28);
    for (got, expected) in got.as_array().unwrap().iter().zip(&expected) {
        assert_eq!(got, expected);
    }
    assert_eq!(got.as_array().unwrap().len(), expected.len());
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_file_without_a_scenario_is_told_so() {
    for empty in ["[]", r#"{"vectors":[]}"#, r#"{"functions":[]}"#] {
        let output = decide(empty, &[], &[]);
        assert_eq!(output.status.code(), Some(2), "{empty}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("holds no scenario. Nothing was replayed."), "{said}");
    }
}

#[test]
fn the_trace_says_why_at_eighty_columns() {
    let output = decide(&only(5).to_string(), &[], &[("COLUMNS", "80")]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    insta::assert_snapshot!("decide_trace_80", text);
}

#[test]
fn the_trace_puts_reasons_beside_their_tick_in_a_pipe() {
    let mut file = vectors();
    file["vectors"]
        .as_array_mut()
        .unwrap()
        .retain(|vector| [12, 20, 27, 40].contains(&vector["id"].as_u64().unwrap()));
    let output = decide(&file.to_string(), &[], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 120));
    insta::assert_snapshot!("decide_trace_120", text);
}

#[test]
fn ascii_is_ascii_and_colour_is_only_for_who_asks() {
    let document = only(5).to_string();
    let ascii = decide(&document, &["--ascii"], &[]);
    assert!(ascii.stdout.is_ascii());
    let plain = String::from_utf8(decide(&document, &[], &[]).stdout).unwrap();
    assert!(!plain.contains('\u{1b}'));
    let colour = String::from_utf8(decide(&document, &["--color", "always"], &[]).stdout).unwrap();
    assert!(colour.contains("\u{1b}[1;31m■\u{1b}[0m"));
    let stripped =
        colour.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    assert!(plain.starts_with("vector 5") && stripped.count() > 10);
}

#[test]
fn a_vector_that_differs_shows_both_and_exits_1() {
    let mut file = only(5);
    file["vectors"][0]["expect"]["events"] = json!([[156, "opened:down"]]);
    let output = decide(&file.to_string(), &[], &[("COLUMNS", "80")]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("  expected  ■ vector 5 differs in 1 of 11 fields\n"), "{text}");
    assert!(text.contains("            events     expected  156 opened:down\n"), "{text}");
    assert!(text.contains("                            got  151 opened:down\n"), "{text}");
    assert!(text.ends_with("1 vector: 0 hold, 1 differs (5). First difference above.\n"), "{text}");
    let json = decide(&file.to_string(), &["--json"], &[]);
    assert_eq!(json.status.code(), Some(1), "a script sees it too");
}

#[test]
fn a_function_that_differs_exits_1() {
    let file = json!({"vectors": [], "functions": [
        {"fn": "effective_time", "args": [1000.0, 0.4, 0.2], "expect": 999.4}
    ]});
    let output = decide(&file.to_string(), &[], &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("expected 999.4, got 999.5"), "{text}");
}

#[test]
fn what_cannot_be_replayed_names_the_field_and_exits_2() {
    let cases = [
        ("not json", "is not JSON"),
        ("7", "must hold scenarios"),
        (r#"{"vectors":[{"id":1,"until":5}]}"#, "vectors[0].fleet: must name locations"),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"obs":[[1,"b","pass"]]}]"#,
            "[0].obs[0][1]: \"b\" is not in the fleet",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"obs":[[1,"a","dunno"]]}]"#,
            "[0].obs[0][2]: must be pass, fail or error",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"cfg":{"qorum":"any"}}]"#,
            "[0].cfg.qorum: is not a setting",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"cfg":{"quorum":"at_least"}}]"#,
            "[0].cfg.k: is needed",
        ),
        (r#"[{"fleet":{"a":["eu","P1"]},"until":-1}]"#, "[0].until: is out of range"),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"maint":[1]}]"#,
            "[0].maint: must be [start, end]",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"maint":[9,3]}]"#,
            "[0].maint: ends before it starts",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"cfg":{"confirm_for":-1}}]"#,
            "[0].cfg.confirm_for: must not be less than 0 seconds",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"cfg":{"quorum":"percent","percent":101}}]"#,
            "[0].cfg.percent: is out of range",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"obs":[[1,"a","pass",100,7]]}]"#,
            "[0].obs[0][4]: 7 is not scheduled",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"obs":[[1,"a","pass","fast"]]}]"#,
            "[0].obs[0][3]: must be a number of milliseconds",
        ),
        (
            r#"[{"fleet":{"a":["eu","P1"]},"until":5,"obs":[{"at":1}]}]"#,
            "[0].obs[0]: must be [seconds, location, outcome",
        ),
    ];
    for (document, message) in cases {
        let output = decide(document, &["--json"], &[]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{document}: {stderr}");
        assert!(stderr.contains(message), "{document}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_that_is_not_there_exits_3() {
    let output = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(["decide", "/no/such/file"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot be read"));
}

#[test]
fn a_scenario_without_expectations_is_only_shown() {
    let mut file = only(4);
    file["vectors"][0].as_object_mut().unwrap().remove("expect");
    let output = decide(&file.to_string(), &[], &[]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("139 opened:down") && text.ends_with("1 vector, without expectations.\n"),
        "{text}"
    );
}
