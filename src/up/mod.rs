//! Everything on one machine: a private Postgres, one coordinator and one agent per simulated location.
//!
//! ```text
//! D/               see `postgres` for the cluster in it
//! D/admin.token    an API key for scripts, 0600
//! D/secret.key     encrypts stored secrets, 0600
//! D/url            where the page was served last, for `quorate admin link`
//! D/agents/NAME/   an agent's key and spool
//! ```

pub mod admin;
mod data;
mod locations;
mod port;
pub mod postgres;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};
use tokio::{net::TcpListener, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use url::Url;
use uuid::Uuid;

use crate::{
    agent,
    clock::Clock,
    config::{AgentConfig, CoordinatorConfig, DatabaseUrl, UpConfig},
    coordinator,
    process::{Shutdown, Signals},
    store::{self, Migrated},
};

use postgres::{Before, Postgres};

/// What a start did and found, for whoever shows it.
#[derive(Debug, Clone)]
pub struct Started {
    /// The data folder.
    pub dir: PathBuf,
    /// Of the private database; none if another one is used.
    pub database: Option<Before>,
    pub database_took: Duration,
    pub schema: Migrated,
    pub schema_took: Duration,
    /// Where the page is.
    pub url: Url,
    pub listening_took: Duration,
    /// Names of the simulated locations, and of those with agents elsewhere.
    pub simulated: Vec<String>,
    pub elsewhere: Vec<String>,
    pub monitors: i64,
    /// Channels that are switched on. Without one nobody is told.
    pub channels: i64,
    /// There is a mail server, from the command line or the settings page.
    pub mail: bool,
    /// How long there have been data.
    pub age: Option<SignedDuration>,
    /// How long nobody looked, if that was long enough to leave a gap.
    pub gap: Option<SignedDuration>,
    /// After this many seconds every monitor that was fresh has a verdict again.
    pub first_verdicts_s: i64,
    /// While nobody can sign in: the link that lets the first administrator in.
    pub sign_in: Option<Url>,
    /// Where the API key for scripts is.
    pub admin_token: PathBuf,
    pub took: Duration,
}

/// What a stop did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Notices that still went out, or were given up, while stopping.
    pub notices: i64,
    pub took: Duration,
    /// Something was cut off: a second signal came, or a deadline passed.
    pub cut_off: bool,
}

/// A stretch without a look at the deadlines that is shorter than this leaves no gap in the figures.
const GAP: SignedDuration = SignedDuration::from_secs(15);

/// What is simulated when nobody says what.
const DEFAULT_LOCATIONS: [&str; 3] = ["eu-sim", "us-sim", "ap-sim"];

/// Runs everything until a signal comes, and calls `started` when it is up. An error is a reason not
/// to start, or something that ended without being asked; its text says what to do.
pub async fn run(
    config: UpConfig,
    clock: Clock,
    started: impl FnOnce(&Started),
) -> anyhow::Result<Stopped> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let start = start(&config, &clock);
    let (running, report) = tokio::select! {
        result = start => result?,
        // Dropping the start ends what it had started: the database is told to stop.
        _ = signals.next() => {
            return Ok(Stopped { notices: 0, took: Duration::ZERO, cut_off: true });
        }
    };
    started(&report);
    running.until_signal(&mut signals, &config, &clock).await
}

/// What runs, in the order in which it is stopped.
struct Running {
    agents: JoinSet<anyhow::Result<()>>,
    stop_agents: CancellationToken,
    coordinator: JoinSet<anyhow::Result<()>>,
    shutdown: Shutdown,
    options: PgConnectOptions,
    database: Option<(CancellationToken, tokio::task::JoinHandle<()>)>,
    /// Holds the data folder if no private database does.
    _lock: Option<std::fs::File>,
}

async fn start(config: &UpConfig, clock: &Clock) -> anyhow::Result<(Running, Started)> {
    let began = Instant::now();
    let dir = config.data_dir.clone().map_or_else(data::default_dir, Ok)?;
    let listener = port::listen(config.listen).await?;
    let here = port::from_here(listener.local_addr()?);
    let url = match &config.server.public_url {
        Some(url) => url.clone(),
        None => format!("http://{here}").parse().context("the address to listen on")?,
    };
    let listening_took = began.elapsed();

    let step = Instant::now();
    let database = Database::open(config, &dir).await?;
    let database_took = step.elapsed();

    let step = Instant::now();
    let mut connection = PgConnection::connect_with(&database.options)
        .await
        .with_context(|| "cannot connect to the database")?;
    let schema =
        store::migrate(&mut connection).await.context("cannot bring the schema up to date")?;
    let schema_took = step.elapsed();

    let now = clock.now();
    let found = store::local::found(&mut connection).await?;
    let first_verdicts_s = store::chores::longest_stale_after(&mut connection).await?;
    let agents =
        locations::prepare(&mut connection, &config.locations, &database.dir, found.since, now)
            .await?;
    let elsewhere = store::local::elsewhere(&mut connection).await?;
    let admin_token = admin::write_token(&mut connection, &database.dir, now).await?;
    let sign_in = admin::first_link(&mut connection, &url, now).await?;
    data::write(&database.dir.join("url"), url.as_str())?;
    connection.close().await?;

    let report = Started {
        dir: database.dir.clone(),
        database: database.before,
        database_took,
        schema,
        schema_took,
        listening_took,
        simulated: agents.iter().map(|agent| agent.name.clone()).collect(),
        elsewhere,
        monitors: found.monitors,
        channels: found.channels,
        mail: found.mail || config.server.smtp_url.is_some(),
        age: found.since.map(|since| now.duration_since(since)),
        gap: found.swept_at.map(|at| now.duration_since(at)).filter(|gap| *gap > GAP),
        first_verdicts_s,
        sign_in,
        admin_token,
        took: began.elapsed(),
        url,
    };
    let running = launch(config, clock, database, listener, agents);
    Ok((running, report))
}

/// Starts the coordinator and the agents. From here on everything runs.
fn launch(
    config: &UpConfig,
    clock: &Clock,
    database: Database,
    listener: TcpListener,
    agents: Vec<locations::Local>,
) -> Running {
    let shutdown = Shutdown::new();
    let here = listener.local_addr().map_or(config.listen, port::from_here);
    let settings = CoordinatorConfig {
        database_url: DatabaseUrl::from(database.options.clone()),
        listen: here,
        allow_net: config.allow_net.clone(),
        secret_key: config.secret_key.clone(),
        secret_key_file: Some(database.dir.join("secret.key")),
        server: config.server.clone(),
    };
    let mut coordinator = JoinSet::new();
    coordinator.spawn(coordinator::run(settings, listener, clock.clone(), shutdown.clone()));
    let stop_agents = CancellationToken::new();
    let mut running = JoinSet::new();
    for local in agents {
        let address = format!("http://{here}").parse().expect("a socket address makes a URL");
        let mut settings = AgentConfig::new(address, local.key, local.dir);
        settings.allow_net.clone_from(&config.allow_net);
        running.spawn(agent::run(settings, clock.clone(), stop_agents.clone()));
    }
    let Database { server, options, lock, .. } = database;
    let database = server.map(|server| {
        let stop = CancellationToken::new();
        (stop.clone(), tokio::spawn(server.keep(stop)))
    });
    Running { agents: running, stop_agents, coordinator, shutdown, options, database, _lock: lock }
}

impl Running {
    async fn until_signal(
        mut self,
        signals: &mut Signals,
        config: &UpConfig,
        clock: &Clock,
    ) -> anyhow::Result<Stopped> {
        let failed = tokio::select! {
            _ = signals.next() => None,
            Some(ended) = self.agents.join_next() => Some(failure("an agent", ended)),
            Some(ended) = self.coordinator.join_next() => Some(failure("the coordinator", ended)),
        };
        let (began, began_at) = (Instant::now(), clock.now());
        let deadline = config.server.drain_deadline;
        let stop = self.stop(deadline, began_at);
        let notices = tokio::select! {
            notices = stop => notices,
            // The kernel tells the database to stop when we are gone.
            _ = signals.next() => None,
        };
        match failed {
            Some(error) => Err(error),
            None => Ok(Stopped {
                notices: notices.unwrap_or(0),
                took: began.elapsed(),
                cut_off: notices.is_none(),
            }),
        }
    }

    /// Agents first, so that their last reports are taken; then the coordinator, with what it has in
    /// hand; then the database. None if something did not end in time.
    async fn stop(mut self, deadline: Duration, began: Timestamp) -> Option<i64> {
        self.stop_agents.cancel();
        let agents = async { while self.agents.join_next().await.is_some() {} };
        let agents = tokio::time::timeout(deadline, agents).await;
        let finished = self.shutdown.finish(Duration::ZERO, deadline).await;
        let coordinator = async { while self.coordinator.join_next().await.is_some() {} };
        let coordinator = tokio::time::timeout(deadline, coordinator).await;
        let notices = settled(&self.options, began).await.unwrap_or(0);
        if let Some((stop, keeper)) = self.database {
            stop.cancel();
            // It logs for itself what it could not do.
            let _ = keeper.await;
        }
        (agents.is_ok() && finished && coordinator.is_ok()).then_some(notices)
    }
}

async fn settled(options: &PgConnectOptions, since: Timestamp) -> sqlx::Result<i64> {
    let mut connection = PgConnection::connect_with(options).await?;
    store::local::settled_since(&mut connection, since).await
}

fn failure(what: &str, ended: Result<anyhow::Result<()>, tokio::task::JoinError>) -> anyhow::Error {
    match ended {
        Ok(Ok(())) => anyhow::anyhow!("{what} ended without being asked"),
        Ok(Err(error)) => error.context(format!("{what} ended")),
        Err(error) => anyhow::anyhow!("{what} ended: {error}"),
    }
}

/// The database, private or not, and the data folder.
struct Database {
    options: PgConnectOptions,
    dir: PathBuf,
    before: Option<Before>,
    server: Option<Postgres>,
    lock: Option<std::fs::File>,
}

impl Database {
    async fn open(config: &UpConfig, dir: &Path) -> anyhow::Result<Self> {
        if let Some(url) = &config.database_url {
            let (dir, lock) = postgres::claim(dir)?;
            return Ok(Self {
                options: url.options(),
                dir,
                before: None,
                server: None,
                lock: Some(lock),
            });
        }
        let settings = postgres::Settings {
            dir: dir.to_owned(),
            bin_dir: config.pg_bin_dir.clone(),
            server: Vec::new(),
        };
        let server = Postgres::start(settings).await?;
        Ok(Self {
            options: server.options(postgres::DATABASE),
            dir: server.dir().to_owned(),
            before: Some(server.before()),
            server: Some(server),
            lock: None,
        })
    }
}

/// An id that sorts by `now`.
fn id(now: Timestamp) -> Uuid {
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
}

/// Bytes for a new key.
fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes);
    bytes
}
