//! Log lines through HTTP into the database: a coordinator held to one core, its database and the sender
//! on the other.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use tokio::{process::Command, task::JoinSet};

use super::{
    super::term::{Term, thousands},
    ingest::{cpu_seconds, tempdir},
    serving,
};
use crate::{
    domain::{fleet::config::Config, token::KeyKind},
    store,
    up::postgres::{Postgres, Settings},
};

/// Lines a second that must be reached.
const LIMIT: u64 = 200_000;
const INSTANCES: u32 = 12;
const ROUTES: [&str; 8] = [
    "/",
    "/cart",
    "/pay",
    "/product/1234",
    "/search?q=shoes",
    "/login",
    "/api/v1/items",
    "/img/7.png",
];

#[derive(Debug, Clone, clap::Args)]
pub struct IntakeArgs {
    /// Lines, in millions.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    millions: u32,
    /// Bytes of a batch, in MiB, as a shipper sends them.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    batch_mib: u32,
    /// Files that are sent at once, each in order.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    files: u32,
}

pub(super) async fn run(term: &Term, args: &IntakeArgs) -> anyhow::Result<bool> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(cores >= 2, "this needs two cores, one of them for the coordinator alone");
    // All threads of this process, and what it starts from here on: the database.
    pin(std::process::id(), 1).await?;
    let dir = tempdir()?;
    let settings = Settings { dir: dir.clone(), bin_dir: None, server: Vec::new() };
    let postgres = Postgres::start(settings).await.context("the private database")?;
    let measured = measure(term, args, &postgres).await;
    postgres.stop().await;
    let removed = std::fs::remove_dir_all(&dir);
    let holds = measured?;
    removed.with_context(|| format!("cannot remove {}", dir.display()))?;
    Ok(holds)
}

async fn pin(process: u32, core: u32) -> anyhow::Result<()> {
    let done = Command::new("taskset")
        .args(["-a", "-c", "-p", &core.to_string(), &process.to_string()])
        .stdout(Stdio::null())
        .status()
        .await
        .context("taskset, of util-linux, is needed to hold processes to a core")?;
    ensure!(done.success(), "taskset cannot hold process {process} to core {core}");
    Ok(())
}

async fn measure(term: &Term, args: &IntakeArgs, postgres: &Postgres) -> anyhow::Result<bool> {
    let pool = store::pool(postgres.options("postgres"), 4);
    store::MIGRATOR.run(&pool).await?;
    let mut conn = pool.acquire().await?;
    let now = store::now(&mut conn).await?;
    let fleet = store::id_at(now);
    let key = store::fleets::insert(&mut conn, fleet, "bench", &Config::default(), now).await?;
    let token = KeyKind::Shipper.key([7; 32]);
    let row = store::shippers::ShipperRow {
        id: fleet,
        name: "bench".to_owned(),
        created_by: "bench".to_owned(),
        created_at: now,
        last_used_at: None,
    };
    let hash = KeyKind::Shipper.hash(token.expose()).context("a key of ours is none")?;
    store::shippers::insert(&mut conn, key, &row, &hash).await?;
    let (coordinator, url) = serving::coordinator(postgres, "postgres", Some(0)).await?;
    let process = coordinator.id().context("the coordinator has ended")?;
    let files = files(args, now);
    let bytes: usize = files.iter().flatten().map(|batch| batch.length).sum();
    let lines = u64::from(args.millions) * 1_000_000;
    let before = (cpu_of(process), family(postgres), cpu_seconds());
    let begun = Instant::now();
    send(&url, fleet, token.expose(), files).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let used = (cpu_of(process) - before.0, family(postgres) - before.1, cpu_seconds() - before.2);
    drop(coordinator);
    let sources = store::fleet_sources::list(&mut conn, key, None).await?;
    let accepted: i64 = sources.iter().map(|source| source.accepted).sum();
    ensure!(u64::try_from(accepted) == Ok(lines), "{accepted} of {lines} lines were counted");
    let per_second = (lines as f64 / seconds) as u64;
    let holds = per_second >= LIMIT;
    term.print(&format!(
        "intake  {} lines of a balancer's log, {} MiB, batches of {} MiB as zstd, {} files at once\n        \
         the coordinator on core 0, its database and the sender on core 1\n\n  \
         lines a second        {:>9}   limit {}: {}\n  \
         text                  {:>9.0} MB/s\n  \
         coordinator           {:>8.0} % of core 0\n  \
         database              {:>8.0} % of core 1\n  \
         sender                {:>8.0} % of core 1\n  \
         every line is counted once\n",
        thousands(lines),
        bytes / 1_048_576,
        args.batch_mib,
        args.files,
        thousands(per_second),
        thousands(LIMIT),
        if holds { "holds" } else { "does not hold" },
        bytes as f64 / seconds / 1e6,
        used.0 / seconds * 100.0,
        used.1 / seconds * 100.0,
        used.2 / seconds * 100.0,
    ))?;
    Ok(holds)
}

struct Batch {
    offset: usize,
    length: usize,
    packed: Vec<u8>,
}

/// Lines as they are written by a busy balancer: all in their order, spread over an hour.
fn files(args: &IntakeArgs, now: Timestamp) -> Vec<Vec<Batch>> {
    let lines = args.millions * 1_000_000 / args.files;
    let size = args.batch_mib as usize * 1_048_576;
    let start = now - SignedDuration::from_secs(3_600);
    let mut files = Vec::new();
    for file in 0..args.files {
        let (mut batches, mut text, mut offset) = (Vec::new(), String::new(), 0);
        let more = if file == 0 { args.millions * 1_000_000 % args.files } else { 0 };
        for n in 0..lines + more {
            line(&mut text, start, n, lines);
            if text.len() >= size || n + 1 == lines + more {
                let packed = zstd::encode_all(text.as_bytes(), 1).unwrap_or_default();
                batches.push(Batch { offset, length: text.len(), packed });
                offset += text.len();
                text.clear();
            }
        }
        files.push(batches);
    }
    files
}

fn line(into: &mut String, start: Timestamp, n: u32, of: u32) {
    use std::fmt::Write;
    let at = start + SignedDuration::from_millis(i64::from(n) * 3_500_000 / i64::from(of));
    let stamp = at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%d/%b/%Y:%H:%M:%S%.3f");
    // Something that looks like chance and is the same every time.
    let dice = n.wrapping_mul(2_654_435_761) >> 8;
    let status = if dice.is_multiple_of(200) { 500 } else { 200 };
    let took = 3 + dice % 90;
    let _ = writeln!(
        into,
        "203.0.113.{}:{} [{stamp}] www~ shop/app{} 0/0/1/{took}/{} {status} {} - - ---- 25/25/3/1/0 0/0 \
         \"GET {} HTTP/1.1\"",
        dice % 250,
        10_000 + dice % 50_000,
        dice % INSTANCES,
        took + 2,
        300 + dice % 40_000,
        ROUTES[(dice / 7) as usize % ROUTES.len()],
    );
}

async fn send(
    url: &str,
    fleet: uuid::Uuid,
    token: &str,
    files: Vec<Vec<Batch>>,
) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).build()?;
    let mut tasks = JoinSet::new();
    for (number, batches) in files.into_iter().enumerate() {
        let path = format!("{url}api/v1/fleets/{fleet}/logs?source=lb{number}&file=f{number}");
        let (client, token) = (client.clone(), token.to_owned());
        tasks.spawn(async move {
            for batch in batches {
                let request = client
                    .post(format!("{path}&offset={}", batch.offset))
                    .bearer_auth(&token)
                    .header("content-type", "text/plain")
                    .header("content-encoding", "zstd");
                let answer = request.body(batch.packed).send().await?;
                let status = answer.status();
                let text = answer.text().await?;
                ensure!(status.is_success(), "{status}: {text}");
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// CPU seconds of the database's processes so far.
fn family(postgres: &Postgres) -> f64 {
    let parent = postgres.pid();
    let Ok(all) = std::fs::read_dir("/proc") else { return 0.0 };
    let ids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = ids.filter(|id| {
        i32::try_from(*id) == Ok(parent) || stat(*id).is_some_and(|stat| stat.0 == parent)
    });
    // Those that have ended are counted with the postmaster.
    own.map(cpu_of).sum::<f64>() + u32::try_from(parent).ok().and_then(stat).map_or(0.0, |s| s.2)
}

fn cpu_of(process: u32) -> f64 {
    stat(process).map_or(0.0, |stat| stat.1)
}

/// Parent, own CPU seconds and those of ended children, from `/proc`.
fn stat(process: u32) -> Option<(i32, f64, f64)> {
    // Clock ticks are 1/100 s on every Linux that matters here.
    const TICK: f64 = 100.0;
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let rest = text.rsplit_once(')')?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    let own = (ticks(11)? + ticks(12)?) / TICK;
    Some((fields.get(1)?.parse().ok()?, own, (ticks(13)? + ticks(14)?) / TICK))
}
