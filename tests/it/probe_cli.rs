//! `quorate probe` as people run it: the real program, its text, its document and its exit codes.

use std::process::Output;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::scratch::Scratch;
use crate::support::targets::{answering, ok, silent};

async fn quorate(args: &[&str], env: &[(&str, &str)]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .arg("probe")
        .args(args)
        .envs(env.iter().copied())
        .env("LC_ALL", "C.UTF-8")
        .env_remove("COLUMNS")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn file(folder: &Scratch, value: &Value) -> String {
    let path = folder.path().join("check.json");
    std::fs::write(&path, value.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_pass_is_drawn_and_exits_0() {
    let target = answering(ok("Content-Type: text/plain\r\n", "fine")).await;
    let (code, out, err) = quorate(&[&target.url("/"), "--allow-net", "127.0.0.0/8"], &[]).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("● Pass  HTTP 200 in ") && out.contains(" from 127.0.0.1\n"), "{out}");
    assert!(
        out.contains("text/plain, 4 bytes") && out.contains("conditions  1 of 1 hold"),
        "{out}"
    );
    assert!(
        out.lines().all(|line| line.chars().count() <= 120) && !out.contains('\u{1b}'),
        "{out}"
    );
    let (_, out, _) =
        quorate(&[&target.url("/"), "--allow-net", "127.0.0.1", "--ascii"], &[]).await;
    assert!(out.is_ascii() && out.starts_with("+ Pass"), "{out}");
}

#[tokio::test]
async fn the_document_has_every_field_of_the_contract() {
    let target = answering(ok("", "fine")).await;
    let (code, out, _) =
        quorate(&[&target.url("/"), "--allow-net", "127.0.0.0/8", "--json"], &[]).await;
    let seen: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 0);
    for field in [
        "outcome",
        "class",
        "message",
        "phases_us",
        "status",
        "http_version",
        "address",
        "size",
        "hops",
        "certificate",
        "assertions",
        "evidence",
    ] {
        assert!(seen.get(field).is_some(), "{field} is missing: {out}");
    }
    assert_eq!(seen["outcome"], "pass");
    for field in ["on", "op", "value", "holds", "actual"] {
        assert!(seen["assertions"][0].get(field).is_some(), "{field} is missing: {out}");
    }
}

#[tokio::test]
async fn a_closed_address_exits_3_and_names_the_flag() {
    let target = answering(ok("", "fine")).await;
    let (code, out, _) = quorate(&[&target.url("/")], &[]).await;
    assert_eq!((code, target.connections()), (3, 0));
    assert!(
        out.starts_with("◌ Error  127.0.0.1 is a loopback address")
            && out.contains("--allow-net 127.0.0.0/8"),
        "{out}"
    );
}

#[tokio::test]
async fn a_check_file_brings_conditions_deadline_and_secrets() {
    let folder = Scratch::new("probe-check");
    let target =
        answering(ok("Content-Type: application/json\r\n", "{\"status\":\"degraded\"}")).await;
    let check = json!({
        "kind": "http", "url": target.url("/"), "headers": {"X-Key": "${secret:api-key}"}, "timeout_s": 5, "slow_ms": 60000,
        "assertions": [{"on": "json", "path": "$.status", "op": "eq", "value": "ok"}]
    });
    let path = file(&folder, &check);
    let (code, _, err) = quorate(&["--check", &path, "--allow-net", "127.0.0.0/8"], &[]).await;
    assert_eq!(code, 2);
    assert!(err.contains("headers.X-Key") && err.contains("QUORATE_SECRET_"), "{err}");
    let (code, out, _) = quorate(
        &["--check", &path, "--allow-net", "127.0.0.0/8"],
        &[("QUORATE_SECRET_API_KEY", "k3y")],
    )
    .await;
    assert_eq!(code, 1);
    assert!(
        out.contains("but 1 of 2 conditions does not hold.")
            && out.contains("■  $.status")
            && out.contains("\"degraded\""),
        "{out}"
    );
    assert!(target.requests()[0].contains("x-key: k3y"));

    let silent = silent().await;
    let path = file(&folder, &json!({"kind": "http", "timeout_s": 0.2}));
    let (code, out, _) =
        quorate(&[&silent.url("/"), "--check", &path, "--allow-net", "127.0.0.0/8"], &[]).await;
    assert_eq!(code, 1);
    assert!(
        out.contains("(http_timeout_first_byte)")
            && out.contains("░")
            && out.contains("Look first at"),
        "{out}"
    );
}

#[tokio::test]
async fn bad_usage_exits_2_and_names_the_field() {
    let folder = Scratch::new("probe-usage");
    for (value, words) in [
        (json!([]), "must be an object"),
        (json!({"kind": "http"}), "url: is missing"),
        (json!({"kind": "http", "url": "http://a.test", "timeout_s": 61}), "timeout_s"),
        (json!({"kind": "http", "url": "http://a.test", "slow_ms": 0}), "slow_ms"),
        (
            json!({"kind": "http", "url": "http://a.test", "assertions": [{"on": "latency_ms", "op": "le", "value": "2xx"}]}),
            "assertions[0].value",
        ),
    ] {
        let (code, out, err) = quorate(&["--check", &file(&folder, &value)], &[]).await;
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(words), "{words}: {err}");
    }
    assert_eq!(quorate(&[], &[]).await.0, 2);
    assert_eq!(quorate(&["http://a.test", "--allow-net", "ten"], &[]).await.0, 2);
    assert_eq!(quorate(&["--check", "/nonexistent/check.json"], &[]).await.0, 3);
}

#[tokio::test]
async fn a_scheme_alone_says_the_kind() {
    let target = silent().await;
    let url = format!("tls://{}", target.addr);
    let (code, out, err) =
        quorate(&[&url, "--timeout", "0.2", "--allow-net", "127.0.0.0/8"], &[]).await;
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.contains("(tls_timeout)"), "{out}");
    let url = format!("tcp://{}", target.addr);
    let (code, out, _) = quorate(&[&url, "--allow-net", "127.0.0.0/8"], &[]).await;
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("● Pass  in ") && !out.contains("conditions"), "{out}");
}

#[test]
fn every_example_of_the_manual_is_a_valid_check() {
    let manual = include_str!("../../docs/checks.md");
    let examples = manual.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut kinds = Vec::new();
    for example in examples.filter(|example| example.starts_with("{\"kind\"")) {
        let value: Value = serde_json::from_str(example).unwrap();
        match quorate::domain::check::Check::parse(value) {
            Ok(check) => kinds.push(check.kind()),
            Err(refusal) => panic!("{refusal}: {example}"),
        }
    }
    for kind in ["tcp", "tls", "smtp", "websocket"] {
        assert!(kinds.contains(&kind), "{kind} has no example");
    }
}
