//! What somebody waits for who looks at SLOs: the report on one over 90 days, and the list of all with what is
//! left of their budgets. Both through HTTP, in a database that holds a year of monitoring, beside what the
//! statements read there and in one with a tenth of the monitors.

mod ask;
mod past;
mod plans;
mod read;
mod seed;
mod tell;

use anyhow::Context;
use jiff::Timestamp;
use uuid::Uuid;

use self::{
    ask::{Asker, Times, times},
    read::Reads,
    seed::Seeded,
};
use super::{super::term::Term, ingest::tempdir, serving};
use crate::{
    domain::token::KeyKind,
    store,
    up::postgres::{Postgres, Settings},
};

/// Within these, in milliseconds, 95 of 100 requests have to be answered.
const REPORT_LIMIT_MS: f64 = 50.0;
const LIST_LIMIT_MS: f64 = 300.0;
/// The most that the interface gives at once.
const PAGE: u32 = 500;

#[derive(Debug, Clone, clap::Args)]
pub struct ApiArgs {
    /// Monitors, each with a year of intervals and three locations.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(i32).range(10..=100_000))]
    monitors: i32,
    /// Monitors of the database that reading is compared with.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(i32).range(10..=100_000))]
    fewer: i32,
    /// SLOs.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    slos: u32,
    /// How many of the monitors have 90 days of roll-ups.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(3..=10_000))]
    rolled_up: u32,
    /// Days of raw results, of all monitors.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(i64).range(0..=30))]
    raw_days: i64,
    /// Requests of each kind that are measured.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    requests: u32,
    /// The figures as JSON.
    #[arg(long)]
    json: bool,
}

/// How much is written into a database.
#[derive(Debug, Clone, Copy)]
struct Size {
    monitors: i32,
    slos: usize,
    rolled_up: usize,
    raw_days: i64,
}

impl Size {
    fn of(args: &ApiArgs) -> Self {
        let whole = usize::try_from(args.monitors).unwrap_or(usize::MAX);
        Self {
            monitors: args.monitors,
            slos: args.slos as usize,
            rolled_up: (args.rolled_up as usize).min(whole),
            raw_days: args.raw_days,
        }
    }

    /// With fewer other monitors: those that are looked at are the same.
    fn with_fewer(self, monitors: i32) -> Self {
        let whole = usize::try_from(monitors).unwrap_or(usize::MAX);
        let share = self.slos.saturating_mul(whole) / usize::try_from(self.monitors).unwrap_or(1);
        let rolled_up = self.rolled_up.min(whole);
        Self { monitors, slos: share.max(rolled_up), rolled_up, ..self }
    }
}

/// One question: what it is called, its limit, how long it took and what it read.
#[derive(Debug)]
struct Asked {
    name: String,
    limit_ms: f64,
    times: Times,
    /// In the database with fewer monitors, and in the whole one.
    reads: (Reads, Reads),
    /// What it reads is about one monitor, and so must be no more when there are others.
    alone: bool,
}

impl Asked {
    fn holds(&self) -> bool {
        self.times.p95 <= self.limit_ms && (!self.alone || self.reads.1.rows <= self.reads.0.rows)
    }
}

/// Everything that was found out.
#[derive(Debug)]
struct Found {
    size: Size,
    fewer: Size,
    requests: u32,
    seeded: Seeded,
    asked: Vec<Asked>,
}

pub(super) async fn run(term: &Term, args: &ApiArgs) -> anyhow::Result<bool> {
    let dir = tempdir()?;
    // The cluster is thrown away: what is written need not be on disk when it is said to be.
    let server = ["shared_buffers=512MB", "max_wal_size=8GB", "synchronous_commit=off"];
    let server = server.map(str::to_owned).into();
    let settings = Settings { dir: dir.clone(), bin_dir: None, server };
    let postgres = Postgres::start(settings).await.context("the private database")?;
    let found = measure(term, args, &postgres).await;
    postgres.stop().await;
    let removed = std::fs::remove_dir_all(&dir);
    let found = found?;
    removed.with_context(|| format!("cannot remove {}", dir.display()))?;
    term.print(&if args.json { tell::json(&found) } else { tell::text(term, &found) })?;
    Ok(found.asked.iter().all(Asked::holds))
}

async fn measure(term: &Term, args: &ApiArgs, postgres: &Postgres) -> anyhow::Result<Found> {
    let size = Size::of(args);
    let fewer = size.with_fewer(args.fewer.min(args.monitors));
    let mut conn = store::pool(postgres.options("postgres"), 1).acquire().await?.detach();
    // A whole minute: what is seeded hangs on nothing else.
    let now = store::now(&mut conn).await?;
    let start = Timestamp::from_second(now.as_second().div_euclid(60) * 60)?;
    let (few, _) = database(term, postgres, &mut conn, "fewer", fewer, start).await?;
    let (many, seeded) = database(term, postgres, &mut conn, "whole", size, start).await?;
    term.warn("requests");
    let token = KeyKind::Api.key([7; 32]);
    let (coordinator, url) = serving::coordinator(postgres, "whole", None).await?;
    let asker = Asker::new(&url, token.expose())?;
    let requests = args.requests as usize;
    let mut asked = Vec::new();
    for (index, (sli, slos)) in seeded.watched.iter().enumerate() {
        let slo = |number: usize| slos.get(number % slos.len().max(1)).copied();
        let times = times(requests, async |number| {
            asker.report(slo(number).context("no SLO has roll-ups")?).await
        });
        let times = times.await?;
        asked.push(Asked {
            name: format!("report on {sli}, 90 days"),
            limit_ms: REPORT_LIMIT_MS,
            times,
            reads: (few.report(index)?, many.report(index)?),
            alone: true,
        });
    }
    let times = times(requests, async |_| {
        let count = asker.list(PAGE).await?;
        anyhow::ensure!(count == size.slos, "{count} of {} SLOs were listed", size.slos);
        Ok(())
    });
    let times = times.await?;
    asked.push(Asked {
        name: format!("list of all SLOs, pages of {PAGE}"),
        limit_ms: LIST_LIMIT_MS,
        times,
        reads: (few.list, many.list),
        alone: false,
    });
    drop(coordinator);
    Ok(Found { size, fewer, requests: args.requests, seeded, asked })
}

/// Makes and fills a database, and looks at what its statements read.
async fn database(
    term: &Term,
    postgres: &Postgres,
    conn: &mut sqlx::PgConnection,
    name: &str,
    size: Size,
    start: Timestamp,
) -> anyhow::Result<(read::Read, Seeded)> {
    store::bench::database(conn, name).await?;
    let pool = store::pool(postgres.options(name), 8);
    store::MIGRATOR.run(&pool).await?;
    let seeded = seed::seed(term, &pool, size, start).await?;
    let mut own = pool.acquire().await?;
    let token = KeyKind::Api.key([7; 32]);
    let new = store::tokens::NewToken {
        id: store::id_at(start),
        name: "bench",
        role: "viewer",
        hash: KeyKind::Api.hash(token.expose()).context("a key of ours is none")?,
        created_by: "bench",
        expires_at: None,
    };
    store::tokens::insert(&mut own, &new, start).await?;
    drop(own);
    pool.close().await;
    term.warn(&format!("{} monitors: what statements read", size.monitors));
    let first: Vec<Uuid> =
        seeded.watched.iter().filter_map(|(_, slos)| slos.first()).copied().collect();
    let read = read::read(postgres, name, start, token.expose(), &first).await?;
    Ok((read, seeded))
}
