//! What a request reads: the same interface in this process, on connections whose statements are explained as
//! they run, and a clock that stands still, so that two databases are asked the same.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{PAGE, ask::Asker, plans};
use crate::{
    api::{self, ApiConfig, AppState},
    clock::Clock,
    notify::{Notifier, NotifySettings},
    process::health::Health,
    store::{self, seal::Sealer},
    triage::Triage,
    up::postgres::Postgres,
};

/// Statements of a request, and what all of them read.
#[derive(Debug, Clone)]
pub(super) struct Reads {
    pub statements: usize,
    pub rows: u64,
    /// Pages of 8 KiB.
    pub buffers: u64,
    /// The statement that read most pages.
    pub most: plans::Ran,
}

/// What the questions read in one database.
#[derive(Debug)]
pub(super) struct Read {
    reports: Vec<Reads>,
    pub list: Reads,
}

impl Read {
    pub(super) fn report(&self, index: usize) -> anyhow::Result<Reads> {
        self.reports.get(index).cloned().context("an SLO of each indicator")
    }
}

pub(super) async fn read(
    postgres: &Postgres,
    database: &str,
    start: Timestamp,
    token: &str,
    slos: &[Uuid],
) -> anyhow::Result<Read> {
    let stopping = CancellationToken::new();
    let url = serve(postgres, database, start, stopping.clone()).await?;
    let log = postgres.dir().join("postgres.log");
    let asker = Asker::new(&url, token)?;
    let mut reports = Vec::new();
    for slo in slos {
        reports.push(explained(&log, async || asker.report(*slo).await).await?);
    }
    let list = explained(&log, async || asker.list(PAGE).await.map(|_| ())).await?;
    stopping.cancel();
    Ok(Read { reports, list })
}

/// What a request reads once its connection knows its statements.
async fn explained(
    log: &Path,
    mut ask: impl AsyncFnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Reads> {
    // A statement is planned for its values five times, and then perhaps for all.
    for _ in 0..12 {
        ask().await?;
    }
    let before = std::fs::metadata(log)?.len();
    ask().await?;
    let text = std::fs::read(log)?;
    let text = text.get(usize::try_from(before)?..).unwrap_or_default();
    let ran = plans::read(&String::from_utf8_lossy(text));
    let most = ran.iter().max_by_key(|one| one.buffers).cloned();
    Ok(Reads {
        statements: ran.len(),
        rows: ran.iter().map(|one| one.rows).sum(),
        buffers: ran.iter().map(|one| one.buffers).sum(),
        most: most.context("the server explained nothing: is its auto_explain installed?")?,
    })
}

/// The interface alone; answers where.
async fn serve(
    postgres: &Postgres,
    database: &str,
    start: Timestamp,
    stopping: CancellationToken,
) -> anyhow::Result<String> {
    let pool = store::pool(postgres.options(database).options(store::bench::EXPLAINING), 2);
    let clock = Clock::manual(start);
    let sealer = Sealer::from_text(&"ab".repeat(32))?;
    let notifier =
        Notifier::new(pool.clone(), clock.clone(), sealer.clone(), NotifySettings::default())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let config = ApiConfig {
        public_url: None,
        listen_url: url.parse()?,
        mail_fixed: false,
        ping_every: api::PING_EVERY,
    };
    let triage = Arc::new(Triage::new(pool.clone()));
    let health = Health::new(stopping.clone());
    let ended = stopping.clone();
    let state = AppState::new(pool, clock, sealer, triage, notifier, health, stopping, config);
    let app = api::router(state).into_make_service_with_connect_info::<std::net::SocketAddr>();
    tokio::spawn(async move {
        axum::serve(listener, app).with_graceful_shutdown(ended.cancelled_owned()).await
    });
    Ok(url)
}
