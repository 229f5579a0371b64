//! Two hundred hostile targets at one agent: it stays small, and a healthy check beside them keeps its interval.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::{
    targets::{Target, answering, note_head, ok, tcp},
    whole::{Whole, until},
};

/// Of each kind of hostility.
const EACH: usize = 50;
const INTERVAL_S: i64 = 10;
/// Results of the healthy check after which the agent is looked at.
const LOOKED_AT: usize = 6;
const MEMORY_LIMIT_KIB: u64 = 150 * 1024;
/// A slot is kept if the attempt began at most so much beside it.
const SLACK_MS: i64 = 1_000;

/// Sends the head, then `piece` for ever with a pause after each.
async fn unending(head: &'static str, piece: Vec<u8>, pause: Duration) -> Target {
    tcp(move |mut stream, _, requests| {
        let piece = piece.clone();
        async move {
            note_head(&mut stream, &requests).await?;
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(&piece).await?;
                tokio::time::sleep(pause).await;
            }
        }
    })
    .await
}

/// A gibibyte of zeros, as one mebibyte after another, each packed by gzip.
async fn bomb() -> Target {
    use async_compression::tokio::write::GzipEncoder;
    let mut encoder = GzipEncoder::new(Vec::new());
    for _ in 0..1_024 {
        encoder.write_all(&[0; 1 << 20]).await.unwrap();
    }
    encoder.shutdown().await.unwrap();
    answering(ok("Content-Encoding: gzip\r\n", encoder.into_inner())).await
}

/// `quorate agent` as a process of its own, so that its memory is its own.
struct Agent(Child);

impl Agent {
    async fn start(whole: &Whole) -> Self {
        let body = json!({"name": "flooded", "region": "here", "domain": "here"});
        let made = whole.client.post("locations", body).await;
        let enrolled = whole.client.post("agents", json!({"location": made["id"]})).await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("QUORATE_")) {
            command.env_remove(name);
        }
        let process = command
            .args(["agent", "--coordinator-url", whole.coordinators[0].url.as_str()])
            .args(["--allow-net", "127.0.0.0/8", "--max-in-flight", "400", "--spool-dir"])
            .arg(whole.folder.path().join("flooded"))
            .env("QUORATE_AGENT_TOKEN", enrolled["secret"].as_str().unwrap())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self(process)
    }

    /// The most memory that it has held, in KiB.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures a minute of real time; make drill"]
async fn two_hundred_hostile_targets_cost_an_agent_little() {
    let whole = Whole::start("flood").await;
    let agent = Agent::start(&whole).await;
    let healthy = answering(ok("", "fine")).await;
    let hostile = [
        unending(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            [b"10000\r\n".as_slice(), &[b'x'; 1 << 16], b"\r\n"].concat(),
            Duration::ZERO,
        )
        .await,
        unending(
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
            b"x".to_vec(),
            Duration::from_millis(500),
        )
        .await,
        bomb().await,
        unending(
            "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n",
            vec![b'x'; 1 << 16],
            Duration::ZERO,
        )
        .await,
    ];
    let monitor = |name: String, url: String| {
        json!({"name": name, "check": {"kind": "http", "url": url}, "interval_s": INTERVAL_S,
               "timeout_s": 9, "locations": "all"})
    };
    let made = whole.client.post("monitors", monitor("healthy".into(), healthy.url("/"))).await;
    for number in 0..EACH {
        for (kind, target) in hostile.iter().enumerate() {
            let name = format!("hostile {kind} {number}");
            whole.client.post("monitors", monitor(name, target.url("/"))).await;
        }
    }
    let path = format!("monitors/{}/observations", made["id"].as_str().unwrap());
    let seen = until("the healthy check was seen often enough", async || {
        let answer = whole.client.try_get(&path).await?;
        let items: Vec<Value> = answer["items"].as_array()?.clone();
        (items.len() > LOOKED_AT).then_some(items)
    })
    .await;
    let mut times: Vec<jiff::Timestamp> =
        seen.iter().map(|item| item["at"].as_str().unwrap().parse().unwrap()).collect();
    times.sort();
    // The first is made when the monitor is, wherever its slots are.
    let apart: Vec<i64> = times
        .windows(2)
        .skip(1)
        .map(|pair| pair[1].duration_since(pair[0]).as_millis() as i64 - INTERVAL_S * 1000)
        .collect();
    let connections: usize = hostile.iter().map(Target::connections).sum();
    println!(
        "peak memory {} MiB; {connections} hostile probes; the healthy check beside its slots by {apart:?} ms",
        agent.peak() / 1024
    );
    assert!(seen.iter().all(|item| item["outcome"] == "pass"), "{seen:?}");
    assert!(connections >= 4 * EACH * (LOOKED_AT - 2), "{connections}");
    assert!(agent.peak() < MEMORY_LIMIT_KIB, "{} KiB", agent.peak());
    assert!(apart.iter().all(|beside| beside.abs() <= SLACK_MS), "{apart:?}");
}
