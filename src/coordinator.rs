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
    let listen_url = listen_url(listener.local_addr().context("the address to listen on")?)?;
    let notifier = notifier(&config, &listen_url, &pool, &clock, &sealer)?;
    let sweep = health.pulse("sweep");
    let stopping = shutdown.stopping();
    shutdown.spawn(upkeep.clone().run_sweep(move || sweep.moved(), stopping.clone()));
    shutdown.spawn(upkeep.run_chores(stopping.clone()));
    shutdown.spawn(notifier.clone().run(stopping.clone()));
    let keep_time = keep_time(clock.clone(), pool.clone());
    shutdown.spawn(stopping.clone().run_until_cancelled_owned(keep_time));

    let api = ApiConfig {
        public_url: config.server.public_url.clone(),
        listen_url,
        mail_fixed: config.server.smtp_url.is_some(),
    };
    let state =
        AppState::new(pool, clock, sealer, triage, notifier, health.clone(), stopping.clone(), api);
    shutdown.spawn(state.hub.clone().run());
