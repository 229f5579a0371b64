//! Reports through the whole of `triage::accept`, beside a bare COPY of the same rows.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use sqlx::PgPool;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::super::term::{Term, thousands};
use crate::domain::decision::{self, Inputs, Live, Seat, Seen, Standing};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::monitor::Policy;
use crate::domain::observation::{Observation, Outcome, Phases, RunKind};
use crate::store;
use crate::store::reports::ReportRow;
use crate::triage::{Delivered, MAX_PER_TRANSACTION, ReportBatch, Reported, Triage};
use crate::up::postgres::{Postgres, Settings};

/// The share of a bare COPY's speed that must be reached.
const LIMIT: f64 = 0.10;
const LOCATIONS: [&str; 5] = ["eu", "us", "ap", "sa", "af"];

#[derive(Debug, Clone, clap::Args)]
pub struct IngestArgs {
    /// Monitors, each with five locations.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(i32).range(1000..=1_000_000))]
    monitors: i32,
    /// Batches under way at once, for both.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    streams: u8,
}

pub(super) async fn run(term: &Term, args: &IngestArgs) -> anyhow::Result<bool> {
    let dir = tempdir()?;
    let server = vec!["shared_buffers=512MB".to_owned(), "max_wal_size=4GB".to_owned()];
    let settings = Settings { dir: dir.clone(), bin_dir: None, server };
    let postgres = Postgres::start(settings).await.context("the private database")?;
    let measured = measure(term, args, &postgres).await;
    postgres.stop().await;
    let removed = std::fs::remove_dir_all(&dir);
    let holds = measured?;
    removed.with_context(|| format!("cannot remove {}", dir.display()))?;
    Ok(holds)
}

async fn measure(term: &Term, args: &IngestArgs, postgres: &Postgres) -> anyhow::Result<bool> {
    let pool = store::pool(postgres.options("postgres"), u32::from(args.streams) + 4);
    store::MIGRATOR.run(&pool).await?;
    let ready = prepare(&pool, args.monitors).await?;
    let reports = ready.monitors.len() * LOCATIONS.len();

    let mut conn = pool.acquire().await?;
    store::bench::settle(&mut conn).await?;
    let triage = Arc::new(Triage::new(pool.clone()));
    // One round warms the memory of settings up; the next is measured.
    accept_all(&triage, deliveries(&ready, 1), args.streams).await?;
    store::bench::settle(&mut conn).await?;
    let round = deliveries(&ready, 2);
    let before = cpu_seconds();
    let begun = Instant::now();
    accept_all(&triage, round, args.streams).await?;
    let accept_s = begun.elapsed().as_secs_f64();
    let own_cpu = cpu_seconds() - before;

    store::bench::bare_table(&mut conn).await?;
    store::bench::settle(&mut conn).await?;
    let rows = rows(&ready);
    let begun = Instant::now();
    copy_all(&pool, rows, args.streams).await?;
    let copy_s = begun.elapsed().as_secs_f64();

    let per_second = |seconds: f64| (reports as f64 / seconds) as u64;
    let ratio = copy_s / accept_s;
    let share = own_cpu / accept_s;
    let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    let bound = if share > cores / 2.0 {
        "our own deciding"
    } else {
        "the database, which locks, reads and rewrites one row per report"
    };
    let holds = ratio >= LIMIT;
    term.print(&format!(
        "ingest  {} monitors, {} locations, steady passes, batches of {MAX_PER_TRANSACTION}, {} at once\n\n  \
         accepted through triage  {:>9} reports/s\n  \
         bare COPY, same rows     {:>9} rows/s\n  \
         ratio                    {ratio:>9.3}   limit {LIMIT:.2}: {}\n  \
         bound by                 {bound} ({:.0} % of a core in this process)\n",
        thousands(u64::from(args.monitors.unsigned_abs())),
        LOCATIONS.len(),
        args.streams,
        thousands(per_second(accept_s)),
        thousands(per_second(copy_s)),
        if holds { "holds" } else { "does not hold" },
        share * 100.0,
    ))?;
    Ok(holds)
}

/// Everything that a round needs.
struct Ready {
    start: Timestamp,
    agents: Vec<(LocationKey, Uuid)>,
    monitors: Vec<(MonitorKey, Uuid)>,
}

/// Monitors that have been up for a while: every vote fresh, histories full.
async fn prepare(pool: &PgPool, count: i32) -> anyhow::Result<Ready> {
    let mut conn = pool.acquire().await?;
    let start = store::now(&mut conn).await?;
    let today = start.to_zoned(jiff::tz::TimeZone::UTC).date();
    for day in [today.yesterday()?, today, today.tomorrow()?] {
        store::reports::ensure_partition(&mut conn, day).await?;
    }
    let agents = store::bench::locations(&mut conn, &LOCATIONS, start).await?;
    let locations: Vec<LocationKey> = agents.iter().map(|(l, _)| *l).collect();
    let (live, wake_at) = steady(&locations, start);
    let text = serde_json::to_string(&live)?;
    let wake_at = wake_at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let state = live.state.code();
    let monitors =
        store::bench::monitors(&mut conn, count, &locations, &text, state, wake_at, (start, start))
            .await?;
    Ok(Ready { start, agents, monitors })
}

/// The live row of a monitor with twenty minutes of passes.
pub(super) fn steady(locations: &[LocationKey], start: Timestamp) -> (Live, Option<i64>) {
    let policy = Policy::defaults(60_000, 10_000, locations.len());
    let seats: Vec<Seat> = locations
        .iter()
        .zip(LOCATIONS)
        .map(|(key, name)| Seat {
            key: *key,
            name: name.to_owned(),
            region: name.to_owned(),
            domain: name.to_owned(),
            standing: Standing::Counted,
        })
        .collect();
    let mut live = Live::default();
    let mut wake_at = None;
    for turn in 0..20 * locations.len() {
        let now = start.as_millisecond() - 1_200_000 + (turn * 60_000 / locations.len()) as i64;
        let seen = Seen {
            latency_ms: 38,
            status: Some(200),
            check_version: 1,
            address: Some("203.0.113.10".to_owned()),
            ..Seen::new(locations[turn % locations.len()], now, Outcome::Pass)
        };
        let inputs = Inputs {
            policy: &policy,
            check_version: 1,
            seats: &seats,
            windows: &[],
            over_cap: false,
            grace_until: None,
            now,
        };
        wake_at = decision::step(&mut live, &inputs, &[seen]).wake_at;
    }
    (live, wake_at)
}

/// Every location reports every monitor once, in batches, with the instant at which each is received.
fn deliveries(ready: &Ready, round: i64) -> Vec<(ReportBatch, Timestamp)> {
    let mut batches = Vec::new();
    for (index, (location, agent)) in ready.agents.iter().enumerate() {
        let now = ready.start + SignedDuration::from_secs(60 * round + index as i64);
        for (number, chunk) in ready.monitors.chunks(MAX_PER_TRANSACTION).enumerate() {
            let reports = chunk.iter().enumerate().map(|(i, (_, uid))| Delivered {
                seq: (number * MAX_PER_TRANSACTION + i + 1) as i64,
                report: Some(reported(*uid)),
            });
            // A start of its own for each batch, so that one agent's batches need no order here.
            let boot = store::id_at(now);
            let delivery = ReportBatch {
                agent: *agent,
                location: *location,
                boot,
                rtt_ms: 1.0,
                sent_at: None,
                settled: 0,
                reports: reports.collect(),
            };
            batches.push((delivery, now));
        }
    }
    batches
}

async fn accept_all(
    triage: &Arc<Triage>,
    mut batches: Vec<(ReportBatch, Timestamp)>,
    streams: u8,
) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    let share = batches.len().div_ceil(usize::from(streams));
    while !batches.is_empty() {
        let mine = batches.split_off(batches.len().saturating_sub(share));
        let triage = Arc::clone(triage);
        tasks.spawn(async move {
            for (delivery, now) in &mine {
                let settled = triage.accept(delivery, *now).await?;
                anyhow::ensure!(
                    settled.accepted as usize == delivery.reports.len(),
                    "not everything was accepted: {settled:?}"
                );
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// The rows that a round writes.
fn rows(ready: &Ready) -> Vec<ReportRow> {
    let mut rows = Vec::new();
    for (location, _) in &ready.agents {
        rows.extend(ready.monitors.iter().map(|(monitor, _)| ReportRow {
            effective_at: ready.start,
            monitor: *monitor,
            check_version: 1,
            resolve_us: Some(5_000),
            connect_us: Some(8_000),
            tls_us: Some(12_000),
            first_byte_us: Some(12_000),
            transfer_us: Some(1_000),
            total_us: 38_000,
            size_bytes: Some(412),
            location: *location,
            outcome: 0,
            class: 0,
            status: Some(200),
            kind: 0,
            disposition: 0,
            late_ms: Some(60),
        }));
    }
    rows
}

async fn copy_all(pool: &PgPool, rows: Vec<ReportRow>, streams: u8) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for part in rows.chunks(rows.len().div_ceil(usize::from(streams))) {
        let (pool, part) = (pool.clone(), part.to_vec());
        tasks.spawn(async move {
            let mut conn = pool.acquire().await?;
            for batch in part.chunks(10_000) {
                store::reports::copy_rows_into(&mut conn, store::bench::COPY_BARE, batch).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

fn reported(monitor: Uuid) -> Reported {
    Reported {
        monitor,
        check_version: 1,
        kind: RunKind::Scheduled,
        age_at_send_ms: 400.0,
        age_estimated: false,
        observation: Observation {
            outcome: Outcome::Pass,
            class: None,
            message: String::new(),
            phases_us: Phases {
                resolve: Some(5_000),
                connect: Some(8_000),
                tls: Some(12_000),
                first_byte: Some(12_000),
                transfer: Some(1_000),
                total: 38_000,
            },
            status: Some(200),
            http_version: Some("HTTP/2".to_owned()),
            address: Some("203.0.113.10".to_owned()),
            size: Some(412),
            hops: Vec::new(),
            certificate: None,
            assertions: Vec::new(),
            evidence: None,
        },
    }
}

/// CPU time of this process so far, all threads.
pub(super) fn cpu_seconds() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| {
        let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
        seconds(usage.user_time()) + seconds(usage.system_time())
    })
}

/// A folder of this run's own.
pub(super) fn tempdir() -> anyhow::Result<std::path::PathBuf> {
    let dir = std::env::temp_dir().join(format!("quorate-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir)
}
