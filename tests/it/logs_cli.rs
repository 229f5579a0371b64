//! `quorate logs` as people run it: the real program on files, its documents and its exit codes.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::support::scratch::Scratch;

const NGINX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs/nginx_combined_up.log");
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
