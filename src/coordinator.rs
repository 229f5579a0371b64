//! Wiring only: the pool, the loops and the HTTP interface of one coordinator, and how they end.
//!
//! A coordinator keeps nothing of its own. Any number of them may run on one database, and any of them
//! may be killed at any instruction.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use anyhow::Context;
use sqlx::{Connection, PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::net::TcpListener;
use url::Url;

use crate::{
    api::{self, ApiConfig, AppState},
    clock::Clock,
    config::CoordinatorConfig,
    notify::{Notifier, NotifySettings},
    process::{
        Shutdown,
        health::{Health, Pulse},
    },
    store::{self, seal::Sealer},
    upkeep::Upkeep,
};

/// Serves on `listener` and does its share of the work until `shutdown` stops. Tasks that outlive this
/// call are in `shutdown`. An error means that it could not start.
pub async fn run(
    config: CoordinatorConfig,
    listener: TcpListener,
    clock: Clock,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    let sealer = sealer(&config)?;
    let options = config.database_url.options();
    let pool = store::pool(options.clone(), config.server.database_connections);
    let health = Health::new(shutdown.draining().clone());
    pool.acquire().await.context("cannot connect to the database")?;

    let watch = watch_database(options, pool.clone(), health.clone(), health.pulse("database"));
    shutdown.spawn(shutdown.stopping().clone().run_until_cancelled_owned(watch));
    correct(&clock, &pool).await.context("the database's time")?;
    let upkeep = Upkeep::new(pool.clone(), clock.clone());
    let triage = std::sync::Arc::clone(&upkeep.triage);
    // Before anybody is served: reports need partitions, and a gap is noticed before new votes hide it.
    upkeep.partitions(clock.now()).await.context("the partitions of raw results")?;
    upkeep.sweep(clock.now()).await.context("the first sweep")?;
    upkeep.follow_locations(clock.now()).await.context("the locations of monitors")?;
    let listen_url = listen_url(listener.local_addr().context("the address to listen on")?)?;
    let notifier = notifier(&config, &listen_url, &pool, &clock, &sealer)?;
    let sweep = health.pulse("sweep");
    let stopping = shutdown.stopping();
    shutdown.spawn(upkeep.clone().run_sweep(move || sweep.moved(), stopping.clone()));
    shutdown.spawn(upkeep.clone().run_fleets(stopping.clone()));
    shutdown.spawn(upkeep.clone().run_alerts(stopping.clone()));
    shutdown.spawn(upkeep.clone().run_slos(stopping.clone()));
    shutdown.spawn(upkeep.clone().run_locations(stopping.clone()));
    shutdown.spawn(upkeep.clone().run_deliveries(stopping.clone()));
    shutdown.spawn(upkeep.run_chores(stopping.clone()));
    shutdown.spawn(notifier.clone().run(stopping.clone()));
    shutdown.spawn(notifier.clone().run_pings(stopping.clone()));
    let keep_time = keep_time(clock.clone(), pool.clone());
    shutdown.spawn(stopping.clone().run_until_cancelled_owned(keep_time));

    let served_at = listen_url.clone();
    let api = ApiConfig {
        public_url: config.server.public_url.clone(),
        listen_url,
        mail_fixed: config.server.smtp_url.is_some(),
        ping_every: api::PING_EVERY,
    };
    let state =
        AppState::new(pool, clock, sealer, triage, notifier, health.clone(), stopping.clone(), api);
    shutdown.spawn(state.hub.clone().run());
    if let Some(address) = config.server.metrics_listen {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("QUORATE_METRICS_LISTEN: cannot listen on {address}"))?;
        let metrics = api::metrics::open_router(state.clone());
        let until = stopping.clone().cancelled_owned();
        shutdown.spawn(async move {
            if let Err(error) = axum::serve(listener, metrics).with_graceful_shutdown(until).await {
                tracing::error!(%error, "the metrics listener ended");
            }
        });
    }
    let app = api::router(state.clone()).merge(api::own_health::router(state));
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    health.started();
    tracing::info!(url = %served_at, "serving");
    axum::serve(listener, app)
        .with_graceful_shutdown(stopping.clone().cancelled_owned())
        .await
        .context("the HTTP server ended")
}

/// Sends notices by what the start-up settings say.
fn notifier(
    config: &CoordinatorConfig,
    listen_url: &Url,
    pool: &PgPool,
    clock: &Clock,
    sealer: &Sealer,
) -> anyhow::Result<Notifier> {
    let server = &config.server;
    let smtp_url = server.smtp_url.as_ref().map(|url| url.expose().as_str());
    let extra_ca = server.extra_ca.as_ref().map(|file| {
        std::fs::read_to_string(file)
            .with_context(|| format!("QUORATE_EXTRA_CA: {}", file.display()))
    });
    let settings = NotifySettings {
        extra_ca: extra_ca.transpose()?,
        listen_url: Some(listen_url.clone()),
        ..NotifySettings::from_start(&server.public_url, smtp_url, &config.allow_net)?
    };
    Ok(Notifier::new(pool.clone(), clock.clone(), sealer.clone(), settings)?)
}

/// Decisions are made by the database's time, which is the same for all coordinators. Half of what the
/// question took is taken off, as for any clock read over a wire.
async fn correct(clock: &Clock, pool: &PgPool) -> sqlx::Result<()> {
    let mut conn = pool.acquire().await?;
    let asked = tokio::time::Instant::now();
    let now = store::now(&mut conn).await?;
    let half = asked.elapsed() / 2;
    let offset = clock.correct(now + half);
    if offset.abs() > 1_000_000 {
        tracing::warn!(
            offset_ms = offset / 1000,
            "this machine's clock differs from the database's"
        );
    }
    Ok(())
}

async fn keep_time(clock: Clock, pool: PgPool) {
    loop {
        tokio::time::sleep(Duration::from_secs(10)).await;
        if let Err(error) = correct(&clock, &pool).await {
            tracing::debug!(%error, "the database's time was not to be had");
        }
    }
}

/// The key from the environment, or else from the file, which is made if it is not there.
fn sealer(config: &CoordinatorConfig) -> anyhow::Result<Sealer> {
    match (&config.secret_key, &config.secret_key_file) {
        (Some(key), _) => Ok(Sealer::from_text(key.expose())?),
        (None, Some(file)) => Ok(Sealer::from_file(file)?),
        (None, None) => anyhow::bail!(
            "there is no key to encrypt stored secrets with.\nMake one (openssl rand -base64 32) and give it to every coordinator as QUORATE_SECRET_KEY."
        ),
    }
}

/// How a browser on this machine reaches us.
fn listen_url(address: SocketAddr) -> anyhow::Result<Url> {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let address = SocketAddr::new(ip, address.port());
    format!("http://{address}").parse().context("the address to listen on")
}

/// Looks every second whether the database answers and whether our pool is exhausted. Over a connection
/// of its own, so that the one does not look like the other.
async fn watch_database(options: PgConnectOptions, pool: PgPool, health: Health, pulse: Pulse) {
    const PATIENCE: Duration = Duration::from_secs(3);
    // All taken at one glance is a busy moment; three in a row are a queue.
    const GLANCES: u32 = 3;
    let mut own: Option<PgConnection> = None;
    let mut full = 0;
    loop {
        let answer = tokio::time::timeout(PATIENCE, ask(own.take(), &options)).await;
        own = answer.ok().and_then(Result::ok);
        let exhausted = pool.num_idle() == 0 && pool.size() >= pool.options().get_max_connections();
        full = if exhausted { full + 1 } else { 0 };
        health.database(own.is_some(), full >= GLANCES);
        pulse.moved();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn ask(
    connection: Option<PgConnection>,
    options: &PgConnectOptions,
) -> sqlx::Result<PgConnection> {
    let mut connection = match connection {
        Some(connection) => connection,
        None => PgConnection::connect_with(options).await?,
    };
    store::now(&mut connection).await?;
    Ok(connection)
}
