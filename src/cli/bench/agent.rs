//! What idle monitors cost an agent: the resident memory of a real `quorate agent` that has nothing to
//! do but to know them. The coordinator's end of the link is in this process, so it is not counted.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::StreamExt;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use uuid::Uuid;

use super::super::term::{Term, thousands};
use crate::clock::Clock;
use crate::protocol::{
    Assignment, AssignmentSet, Batch, BatchAnswer, HeartbeatAnswer, Secrets, event,
};

/// Resident memory with ten thousand idle monitors, in MiB.
const LIMIT_MIB: f64 = 60.0;
const LIMIT_MONITORS: u32 = 10_000;
/// What an agent may take to start or to take the set.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Idle monitors.
    #[arg(long, default_value_t = LIMIT_MONITORS, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub monitors: u32,
}

/// Resident memory now and at its highest, in MiB.
#[derive(Debug, Clone, Copy)]
struct Memory {
    now: f64,
    peak: f64,
}

pub(super) async fn run(term: &Term, args: &AgentArgs) -> anyhow::Result<bool> {
    let folder = Folder::new()?;
    let end = CoordinatorEnd::start(args.monitors).await?;
    // The whole set comes over the link and every monitor is new.
    let mut agent = start(&end, &folder.0)?;
    end.until("taken its assignments", |_| folder.0.join("assignments").exists()).await?;
    end.until("sent heartbeats", |seen| seen.heartbeats >= 1).await?;
    let fresh = memory(&agent)?;
    stop(&mut agent).await?;
    // The same agent started anew: it knows its monitors from its disk, and they are idle.
    end.seen.send_modify(|seen| *seen = Seen::default());
    let mut agent = start(&end, &folder.0)?;
    end.until("resumed the stream", |seen| seen.resumed && seen.heartbeats >= 2).await?;
    let idle = memory(&agent)?;
    stop(&mut agent).await?;

    let fine = idle.now < LIMIT_MIB && fresh.now < LIMIT_MIB;
    let monitors = thousands(u64::from(args.monitors));
    let limit = match (args.monitors == LIMIT_MONITORS, fine) {
        (false, _) => String::new(),
        (true, true) => format!("   limit {LIMIT_MIB:.0} MiB: holds"),
        (true, false) => format!("   limit {LIMIT_MIB:.0} MiB: does not hold"),
    };
    let text = format!(
        "agent  {monitors} idle monitors, the agent in a process of its own\n\n  \
         idle, from its disk   {:>6.1} MiB{limit}\n  \
         just after the link   {:>6.1} MiB   at most {:.1} MiB\n",
        idle.now, fresh.now, fresh.peak
    );
    term.print(&term.text(&text))?;
    Ok(fine || args.monitors != LIMIT_MONITORS)
}

fn start(end: &CoordinatorEnd, folder: &Path) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("this program's own file is not known")?;
    let mut command = Command::new(program);
    command
        .arg("agent")
        .env("QUORATE_COORDINATOR_URL", format!("http://{}/", end.address))
        .env("QUORATE_AGENT_TOKEN", "bench")
        .env("QUORATE_SPOOL_DIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command.spawn().context("the agent could not be started")
}

async fn stop(agent: &mut Child) -> anyhow::Result<()> {
    let pid = agent.id().and_then(|id| i32::try_from(id).ok()).context("the agent ended early")?;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM)?;
    let ended = tokio::time::timeout(PATIENCE, agent.wait()).await;
    ensure!(ended.context("the agent does not stop")??.success(), "the agent did not stop cleanly");
    Ok(())
}

fn memory(agent: &Child) -> anyhow::Result<Memory> {
    let pid = agent.id().context("the agent ended early")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .context("resident memory can be read on Linux only")?;
    let field = |name: &str| -> anyhow::Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        Ok(number.with_context(|| format!("the kernel does not tell {name}"))? / 1_024.0)
    };
    Ok(Memory { now: field("VmRSS:")?, peak: field("VmHWM:")? })
}

/// Just enough of a coordinator: the set, or nothing new; the time; and a taker for reports.
struct CoordinatorEnd {
    address: std::net::SocketAddr,
    seen: watch::Sender<Seen>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    heartbeats: u32,
    resumed: bool,
}

#[derive(Clone)]
struct Shared {
    set: Arc<str>,
    seen: watch::Sender<Seen>,
}

#[derive(Deserialize)]
struct Since {
    since: Option<i64>,
}

impl CoordinatorEnd {
    async fn start(monitors: u32) -> anyhow::Result<Self> {
        let set = AssignmentSet { rev: 1, assignments: (0..monitors).map(idle).collect() };
        let text = format!("event: {}\ndata: {}\n\n", event::SET, serde_json::to_string(&set)?);
        let seen = watch::Sender::new(Seen::default());
        let shared = Shared { set: text.into(), seen: seen.clone() };
        let routes = Router::new()
            .route("/agent/v1/stream", get(stream))
            .route("/agent/v1/heartbeat", post(heartbeat))
            .route("/agent/v1/reports", post(reports))
            .with_state(shared);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { address, seen })
    }

    async fn until(&self, what: &str, done: impl Fn(&Seen) -> bool) -> anyhow::Result<()> {
        let waiting = async {
            while !done(&self.seen.borrow()) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.with_context(|| format!("the agent has not {what} within {} s", PATIENCE.as_secs()))
    }
}

async fn stream(State(shared): State<Shared>, Query(query): Query<Since>) -> impl IntoResponse {
    let first = match query.since {
        Some(_) => Bytes::from_static(b": nothing new\n\n"),
        None => Bytes::from(shared.set.as_bytes().to_vec()),
    };
    shared.seen.send_modify(|seen| seen.resumed |= query.since.is_some());
    let first = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(first)]);
    let body = Body::from_stream(first.chain(futures_util::stream::pending()));
    ([(header::CONTENT_TYPE, "text/event-stream")], body)
}

async fn heartbeat(State(shared): State<Shared>) -> impl IntoResponse {
    shared.seen.send_modify(|seen| seen.heartbeats += 1);
    Json(HeartbeatAnswer { now: Clock::system().now(), resend: Vec::new(), self_check: false })
}

async fn reports(body: Bytes) -> impl IntoResponse {
    let batch = zstd::decode_all(&body[..]).ok();
    let batch = batch.and_then(|plain| serde_json::from_slice::<Batch>(&plain).ok());
    let accepted = batch.map_or(0, |batch| batch.reports.len() as u32);
    Json(BatchAnswer { accepted, ..BatchAnswer::default() })
}

/// A monitor like many: a page with two conditions, once a day. Its address is one that no agent may
/// probe, so that even its first run costs nothing.
fn idle(number: u32) -> Assignment {
    Assignment {
        monitor: Uuid::from_u128(u128::from(number)),
        name: format!("shop-{number:05} checkout"),
        check_version: 1,
        check: serde_json::json!({
            "kind": "http", "url": format!("https://192.0.2.1/shops/{number}/health"),
            "headers": {"accept": "application/json"},
            "assertions": [
                {"on": "status", "op": "in", "value": ["2xx"]},
                {"on": "json", "path": "$.status", "op": "eq", "value": "ok"},
                {"on": "latency_ms", "op": "le", "value": 800}
            ]
        }),
        secrets: Secrets::default(),
        interval_s: 86_400,
        timeout_ms: 10_000,
        slow_ms: Some(500),
        position: number % 5,
        of: 5,
        fail_after: 2,
        retry_gap_ms: 5_000,
        pass_after: 2,
        pass_gap_ms: 10_000,
        vote_down: false,
    }
}

/// A folder of this measurement's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let folder =
            std::env::temp_dir().join(format!("quorate-bench-agent-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
