//! `quorate logs` as people run it: the real program on files, its documents and its exit codes.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::support::scratch::Scratch;

const NGINX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs/nginx_combined_up.log");
const NGINX_ERROR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs/nginx_error.log");
const HAPROXY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs/haproxy_rfc5424.raw");
const PODS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs/kubernetes_pods_events.json");

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command
        .arg("logs")
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .env_remove("COLUMNS")
        .kill_on_drop(true);
    command
}

fn told(output: Output) -> (i32, String, String) {
    let Output { status, stdout, stderr } = output;
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

async fn quorate(args: &[&str]) -> (i32, String, String) {
    told(command(args).output().await.unwrap())
}

async fn json(args: &[&str]) -> Value {
    let (code, out, err) = quorate(&[args, &["--json"]].concat()).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    serde_json::from_str(&out).unwrap()
}

async fn records(args: &[&str]) -> Vec<Value> {
    let (code, out, err) = quorate(&[args, &["--records"]].concat()).await;
    assert_eq!((code, err.as_str()), (0, ""));
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn instance<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let all = summary["instances"].as_array().unwrap();
    all.iter().find(|one| one["instance"] == name).unwrap_or_else(|| panic!("no {name}: {all:?}"))
}

#[tokio::test]
async fn the_document_has_every_field_of_the_contract() {
    let summary =
        json(&[HAPROXY, "--expected", "3", "--check-interval", "1", "--unhealthy", "2"]).await;
    assert_eq!(
        keys(&summary),
        ["all_out", "files", "findings", "from", "instances", "ready", "removals", "to"]
    );
    assert_eq!(
        keys(&summary["files"][0]),
        ["file", "format", "lines", "parsed", "rejected", "samples"]
    );
    assert_eq!(summary["files"][0]["format"], "haproxy");
    let fields = [
        "aliases",
        "attempts",
        "bytes",
        "errors",
        "first",
        "in_rotation_ms",
        "instance",
        "known_ms",
        "last",
        "p50_ms",
        "p90_ms",
        "probes",
        "ready_ms",
        "restarts",
        "share",
        "transitions",
        "version",
    ];
    let app2 = instance(&summary, "app/app2");
    assert_eq!(keys(app2), fields);
    assert_eq!(keys(&app2["restarts"]), ["certain", "probable"]);
    for (name, transitions) in [("app/app1", 8), ("app/app2", 40), ("app/app3", 12)] {
        assert_eq!(instance(&summary, name)["transitions"], transitions, "{name}");
    }
    let ready = summary["ready"].as_array().unwrap();
    assert_eq!(keys(&ready[0]), ["at", "by", "ready", "source"]);
    let empty: Vec<&Value> = ready.iter().filter(|point| point["ready"] == 0).collect();
    assert_eq!(empty.len(), 4, "{ready:?}");
    assert!(empty.iter().all(|point| point["source"] == "haproxy"), "{empty:?}");
    assert!(empty[0]["at"].as_str().unwrap().starts_with("2026-11-29T19:34:01.955"), "{empty:?}");
    let back = ready.iter().skip_while(|point| *point != empty[0]).find(|p| p["ready"] == 3);
    assert!(back.unwrap()["at"].as_str().unwrap().starts_with("2026-11-29T19:34:06.962"));
    let out = summary["all_out"].as_array().unwrap();
    assert_eq!(out.len(), 4, "{out:?}");
    assert_eq!((&out[0]["from"], &out[0]["platform"]), (&empty[0]["at"], &"haproxy".into()));
    assert_eq!(out[0]["documented"], "HAProxy does not fail open: answers 503.");
    assert_eq!((&out[0]["seen"]["empty"], &out[0]["seen"]["asked"]), (&70.into(), &json!([])));
    // What an instance was not ready of the time that is known is the time of its removals.
    let us = |at: &Value| at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_microsecond();
    for one in summary["instances"].as_array().unwrap() {
        let own = summary["removals"].as_array().unwrap().iter();
        let own = own.filter(|removal| removal["instance"] == one["instance"]);
        let out: i64 = own.map(|r| us(&r["returned_at"]) - us(&r["removed_at"])).sum();
        let ms = |name: &str| one[name].as_f64().unwrap();
        assert!((ms("known_ms") - ms("ready_ms") - out as f64 / 1e3).abs() < 0.01, "{one}");
        assert!(ms("known_ms") > 300_000.0, "{one}");
    }
    // nginx tries servers again after ten seconds, and writes nothing when it does.
    let nginx = json(&[NGINX, NGINX_ERROR]).await;
    let out = nginx["all_out"].as_array().unwrap();
    assert!(!out.is_empty() && out.iter().all(|one| one["platform"] == "nginx"), "{out:?}");
    assert!(out.iter().all(|one| us(&one["to"]) - us(&one["from"]) <= 10_000_000), "{out:?}");
    let nginx = json(&[NGINX]).await;
    let first = &nginx["instances"][0];
    assert_eq!((&first["ready_ms"], &first["known_ms"]), (&Value::Null, &Value::Null), "{first}");
    assert_eq!(first["version"], Value::Null);
    let removal = &summary["removals"][0];
    let fields = [
        "cause",
        "client_visible",
        "failed_at",
        "harmed",
        "instance",
        "minimum_ms",
        "removed_at",
        "resolution_ms",
        "returned_at",
        "source",
        "ttb_ms",
        "ttr_ms",
    ];
    assert_eq!(keys(removal), fields);
    assert_eq!(removal["minimum_ms"], 2_000);
    for finding in summary["findings"].as_array().unwrap() {
        for field in ["kind", "instances", "from", "to", "sentence", "evidence"] {
            assert!(finding.get(field).is_some(), "{field} is missing: {finding}");
        }
    }
}

#[tokio::test]
async fn records_tell_every_line_in_its_order() {
    let all = records(&[NGINX]).await;
    assert_eq!(all.len(), std::fs::read(NGINX).unwrap().split(|b| *b == b'\n').count() - 1);
    let fields = [
        "at",
        "attempts",
        "attribution",
        "bytes",
        "client",
        "duration_ms",
        "method",
        "probe",
        "status",
        "target",
        "truncated",
        "user",
        "user_agent",
    ];
    let requests: Vec<&Value> = all.iter().filter(|one| one.get("attempts").is_some()).collect();
    assert!(requests.len() > 700);
    for request in &requests {
        assert_eq!(keys(request), fields);
    }
    let first = requests[0];
    assert_eq!(first["at"], "2026-11-29T19:32:19Z");
    assert_eq!(
        (&first["client"], &first["user"], &first["method"], &first["target"]),
        (&"127.0.0.1".into(), &Value::Null, &"GET".into(), &"/".into())
    );
    assert_eq!((&first["status"], &first["bytes"]), (&200.into(), &5285.into()));
    assert_eq!(first["user_agent"], "curl/7.88.1");
    let attempt = &first["attempts"][0];
    assert_eq!(keys(attempt), ["bytes", "duration_ms", "instance", "outcome", "status"]);
    assert_eq!(
        (&attempt["instance"], &attempt["outcome"], &attempt["duration_ms"]),
        (&"127.0.0.1:9101".into(), &"ok".into(), &20.into())
    );
    let states = records(&[HAPROXY]).await;
    let down = states.iter().find(|one| one["event"] == "state" && one["to"] == "unready").unwrap();
    assert_eq!(keys(down), ["at", "event", "instance", "reason", "to"]);
}

#[tokio::test]
async fn packed_files_and_standard_input_are_read_like_plain_ones() {
    let folder = Scratch::new("logs-packed");
    let text = std::fs::read(NGINX).unwrap();
    let gz = folder.path().join("access.log.1.gz");
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    to.write_all(&text).unwrap();
    std::fs::write(&gz, to.finish().unwrap()).unwrap();
    let zst = folder.path().join("access.log.2.zst");
    std::fs::write(&zst, zstd::encode_all(&text[..], 3).unwrap()).unwrap();

    let plain = json(&[NGINX]).await;
    for packed in [&gz, &zst] {
        let summary = json(&[packed.to_str().unwrap()]).await;
        assert_eq!(summary["instances"], plain["instances"], "{}", packed.display());
        assert_eq!(summary["findings"], plain["findings"]);
    }
    for given in [&text, &std::fs::read(&gz).unwrap()] {
        let mut child = command(&["-", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(given).await.unwrap();
        drop(input);
        let (code, out, err) = told(child.wait_with_output().await.unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
        let summary: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(summary["instances"], plain["instances"]);
        assert_eq!(summary["files"][0]["file"], "standard input");
    }
}

#[tokio::test]
async fn two_files_are_their_concatenation_in_any_order() {
    let folder = Scratch::new("logs-two");
    let text = std::fs::read(NGINX).unwrap();
    let half =
        text.len() / 2 + text[text.len() / 2..].iter().position(|b| *b == b'\n').unwrap() + 1;
    let (early, late) = (folder.path().join("a.log"), folder.path().join("b.log"));
    std::fs::write(&early, &text[..half]).unwrap();
    std::fs::write(&late, &text[half..]).unwrap();
    let (early, late) = (early.to_str().unwrap(), late.to_str().unwrap());
    let whole = json(&[NGINX]).await;
    for files in [[early, late], [late, early]] {
        let summary = json(&files).await;
        for part in ["instances", "from", "to", "removals", "findings"] {
            assert_eq!(summary[part], whole[part], "{part} of {files:?}");
        }
    }
}

#[tokio::test]
async fn lines_that_fit_nothing_are_counted_and_masked() {
    let folder = Scratch::new("logs-odd");
    let odd = folder.path().join("odd.log");
    let mut text = std::fs::read(NGINX).unwrap();
    text.extend_from_slice(b"what is this? from 203.0.113.9 ?token=s3cret\n");
    std::fs::write(&odd, &text).unwrap();
    let summary = json(&[odd.to_str().unwrap()]).await;
    let file = &summary["files"][0];
    let lines = text.iter().filter(|b| **b == b'\n').count();
    assert_eq!((&file["lines"], &file["rejected"]), (&lines.into(), &1.into()));
    assert_eq!(file["parsed"], lines - 1);
    assert_eq!(file["samples"], serde_json::json!(["what is this? from * ?token=*"]));
}

#[tokio::test]
async fn what_cannot_be_read_exits_2_and_says_the_way_out() {
    let folder = Scratch::new("logs-refused");
    let strange = folder.path().join("strange.log");
    std::fs::write(&strange, "nothing\nthat anybody\nwrites\n").unwrap();
    let strange = strange.to_str().unwrap();
    let here = folder.path().to_str().unwrap();
    for (args, words) in [
        (&["/nowhere/access.log"][..], "no such file"),
        (&[here][..], "directory"),
        (&[strange][..], "--log-format"),
        (&[NGINX, "--format", "nginx"][..], "nginx-combined"),
        (&[NGINX, "--format", "haproxy-tcp"][..], "not built"),
        (&[NGINX, "--tz", "Mars/Base"][..], "--tz"),
        (&[NGINX, "--platform", "mainframe"][..], "kubernetes"),
        (&[NGINX, "--unhealthy", "3"][..], "--check-interval"),
        (&["-", "-"][..], "once"),
    ] {
        let (code, out, err) = quorate(args).await;
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        let flat = err.replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.starts_with("quorate logs: ") && flat.contains(words), "{args:?}: {err}");
    }
}

#[tokio::test]
async fn a_file_of_somebody_else_is_refused_with_a_way_to_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Scratch::new("logs-closed");
    let closed = folder.path().join("closed.log");
    std::fs::write(&closed, "x\n").unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut reader = command(&[closed.to_str().unwrap()]);
    if nix::unistd::geteuid().is_root() {
        // Nothing is forbidden to root.
        reader.uid(65_534);
    }
    let (code, _, err) = told(reader.output().await.unwrap());
    assert_eq!(code, 2);
    assert!(err.contains("not permitted") && err.contains("sudo cat"), "{err}");
}

#[tokio::test]
async fn an_empty_file_is_no_error_and_documents_are_recognised() {
    let folder = Scratch::new("logs-empty");
    let empty = folder.path().join("empty.log");
    std::fs::write(&empty, "").unwrap();
    let (code, out, err) = quorate(&[empty.to_str().unwrap(), "--utc"]).await;
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("◌ ") && out.contains("is empty"), "{out}");
    let summary = json(&[PODS]).await;
    assert_eq!(summary["files"][0]["format"], "kubernetes");
    assert_ne!(summary["instances"], serde_json::json!([]));
}

#[tokio::test]
async fn a_pipe_gets_120_columns_without_colour_and_terminals_what_they_ask_for() {
    let (code, out, _) = quorate(&[HAPROXY, "--utc", "--expected", "3"]).await;
    assert_eq!(code, 0, "findings are no failure of reading");
    assert!(!out.contains('\u{1b}'));
    assert!(out.lines().all(|line| line.chars().count() <= 120), "{out}");
    let narrow = command(&[HAPROXY, "--utc"]).env("COLUMNS", "80").output().await.unwrap();
    let (_, out, _) = told(narrow);
    assert!(out.lines().all(|line| line.chars().count() <= 80 || line.contains("jq")), "{out}");
    let (_, out, _) = quorate(&[HAPROXY, "--utc", "--ascii"]).await;
    assert!(out.is_ascii(), "{out}");
    let (_, out, _) = quorate(&[HAPROXY, "--color", "always"]).await;
    assert!(out.starts_with("\u{1b}[") && out.contains("\u{1b}[2m"), "{out}");
}

#[tokio::test]
async fn formats_of_ones_own_are_read_as_they_are_described() {
    let folder = Scratch::new("logs-own");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (nginx, json_lines, map) = (path("own.log"), path("own.jsonl"), path("map"));
    let line = "10.9.0.11:8080, 10.9.0.12:8080|502, 200|0.120, 0.290|[05/Mar/2026:10:15:30 +0000]|GET /pay HTTP/2.0|200\n";
    std::fs::write(&nginx, line.repeat(3)).unwrap();
    let format =
        "$upstream_addr|$upstream_status|$upstream_response_time|[$time_local]|$request|$status";
    let all = records(&[&nginx, "--log-format", format]).await;
    assert_eq!(all.len(), 3);
    let attempts = all[0]["attempts"].as_array().unwrap();
    assert_eq!(
        (&attempts[0]["instance"], &attempts[0]["status"]),
        (&"10.9.0.11:8080".into(), &502.into())
    );
    assert_eq!((&attempts[1]["outcome"], &attempts[1]["duration_ms"]), (&"ok".into(), &290.into()));
    let summary = json(&[&nginx, "--log-format", format]).await;
    assert_eq!(instance(&summary, "10.9.0.11:8080")["errors"], 3);
    // The error log in the same stream, and beside it as a file of its own.
    let error = "2026/03/05 10:15:31 [warn] 7#7: *1 upstream server temporarily disabled while connecting to \
                 upstream, client: 203.0.113.9, upstream: \"http://10.9.0.11:8080/pay\"\n";
    let (mixed, errors) = (path("mixed.log"), path("error.log"));
    std::fs::write(&mixed, [line, line, error, line].concat()).unwrap();
    std::fs::write(&errors, error.repeat(2)).unwrap();
    for (files, formats) in [
        (&[mixed.as_str()][..], &["log-format"][..]),
        (&[nginx.as_str(), errors.as_str()], &["log-format", "nginx-error"]),
    ] {
        let summary = json(&[files, &["--log-format", format]].concat()).await;
        for (file, format) in summary["files"].as_array().unwrap().iter().zip(formats) {
            assert_eq!((&file["rejected"], &file["format"]), (&0.into(), &(*format).into()));
        }
        assert_eq!(instance(&summary, "10.9.0.11:8080")["errors"], 3);
        assert_eq!(summary["removals"][0]["cause"], "ejected", "{}", summary["removals"]);
    }

    let line =
        r#"{"when":"2026-03-05T10:15:30Z","answer":503,"who":"10.9.0.13:8080","m":"GET","p":"/x"}"#;
    std::fs::write(&json_lines, format!("{line}\n")).unwrap();
    std::fs::write(&map, "# ours=theirs\ntime=when\nstatus=answer\n\ninstance=who\n").unwrap();
    let all =
        records(&[&json_lines, "--map", &map, "--map", "method=m", "--map", "target=p"]).await;
    assert_eq!((&all[0]["status"], &all[0]["target"]), (&503.into(), &"/x".into()));
    assert_eq!(all[0]["attempts"][0]["instance"], "10.9.0.13:8080");

    for (args, words) in [
        (&["--log-format", "$remote_addr"][..], "--log-format"),
        (&["--map", "colour=blue"][..], "colour"),
        (&["--map", "nowhere"][..], "neither field=key nor a file"),
        (&["--map", "time=when", "--format", "haproxy"][..], "generic-json"),
    ] {
        let (code, out, err) = quorate(&[&[nginx.as_str()], args].concat()).await;
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        let flat = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{args:?}: {err}");
    }
}

#[tokio::test]
async fn the_nodes_of_a_balancer_are_reporters_of_their_own() {
    let folder = Scratch::new("logs-nodes");
    let file = |node: &str, checks: &str| {
        let name = format!(
            "123456789012_elasticloadbalancing_eu-central-1_app.shop.0a1b_20260305T1045Z_{node}_5m4k.log"
        );
        let lines: String = checks
            .chars()
            .enumerate()
            .flat_map(|(i, seen)| {
                // One target as the file says, and one that is always well.
                [("10.9.0.11", seen), ("10.9.0.12", '.')].map(|(target, seen)| {
                    let (status, code, reason) =
                        if seen == '.' { ("PASS", "200", "-") } else { ("FAIL", "-", "TimedOut") };
                    format!(
                        "http 2026-03-05T10:4{}:{:02}.000000Z 0.003 {target}:8443 \
                         arn:aws:elasticloadbalancing:eu-central-1:1:targetgroup/shop-tg/0a1b {status} {code} {reason}\n",
                        i / 6,
                        i % 6 * 10,
                    )
                })
            })
            .collect();
        let path = folder.path().join(name);
        std::fs::write(&path, lines).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // One node of three finds it out, which is no reason to call it out; two of three are.
    let seen = ["..........xxxxxxxxxx", "....................", "...................."];
    let nodes = ["198.51.100.4", "198.51.100.5", "198.51.100.6"];
    let files: Vec<String> = nodes.iter().zip(seen).map(|(node, seen)| file(node, seen)).collect();
    let args: Vec<&str> = files.iter().map(String::as_str).collect();
    let ready = async |args: &[&str]| {
        let summary = json(args).await;
        let points = summary["ready"].as_array().unwrap().clone();
        points.last().unwrap()["ready"].as_u64().unwrap()
    };
    assert_eq!(ready(&args).await, 2);
    file(nodes[1], seen[0]);
    assert_eq!(ready(&args).await, 1);
}

#[tokio::test]
async fn checks_without_a_known_user_agent_are_told_by_their_pace() {
    let folder = Scratch::new("logs-pace");
    let path = folder.path().join("web-1.log");
    let line = |second: u32, client: &str, path: &str, status: u16| {
        let (minute, second) = (second / 60, second % 60);
        format!(
            "{client} - - [05/Mar/2026:10:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} 5 \"-\" \"-\"\n"
        )
    };
    let steady = |second: u32| line(second, "10.0.0.5", "/healthz", 200);
    let traffic = |second: u32| line(second, "203.0.113.9", "/cart", 200);
    let write = |check: &dyn Fn(u32) -> String| {
        let lines: String =
            (0..600).map(|s| if s % 5 == 0 { check(s) } else { traffic(s) }).collect();
        std::fs::write(&path, lines).unwrap();
    };
    let log = path.to_str().unwrap();
    write(&steady);
    let summary = json(&[log]).await;
    let one = instance(&summary, "web-1");
    // The first window shows the pace; from then on twelve a minute are checks.
    assert_eq!((&one["probes"], &one["attempts"]), (&108.into(), &492.into()));
    // The same path when people like, and a prober's name on another path, are traffic.
    let uneven = |second: u32| {
        line(second, "10.0.0.5", if second % 35 < 10 { "/healthz" } else { "/cart" }, 200)
    };
    write(&uneven);
    let summary = json(&[log]).await;
    assert_eq!(instance(&summary, "web-1")["attempts"], 600);
    let forged = |second: u32| {
        steady(second).replace("/healthz", "/pay").replace("\"-\"\n", "\"kube-probe/1.29\"\n")
    };
    write(&forged);
    let summary = json(&[log]).await;
    let one = instance(&summary, "web-1");
    assert_eq!((&one["probes"], &one["attempts"]), (&0.into(), &600.into()));
}
