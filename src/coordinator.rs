//! Wiring only: the pool, the loops and the HTTP interface of one coordinator, and how they end.
//!
//! A coordinator keeps nothing of its own. Any number of them may run on one database, and any of them
//! may be killed at any instruction.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use sqlx::{Connection, PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::net::TcpListener;

use crate::{
    api::{self, AppState},
    clock::Clock,
    config::CoordinatorConfig,
    process::{
        Shutdown,
        health::{Health, Pulse},
    },
    store,
};

/// Serves on `listener` and does its share of the work until `shutdown` stops. Tasks that outlive this
/// call are in `shutdown`. An error means that it could not start.
pub async fn run(
    config: CoordinatorConfig,
    listener: TcpListener,
    clock: Clock,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    let options = config.database_url.options();
    let pool = store::pool(options.clone(), config.server.database_connections);
    let health = Health::new(shutdown.draining().clone());
    pool.acquire().await.context("cannot connect to the database")?;

    let watch = watch_database(options, pool.clone(), health.clone(), health.pulse("database"));
    shutdown.spawn(shutdown.stopping().clone().run_until_cancelled_owned(watch));
    let app = api::router(AppState { pool, clock }).merge(health.routes());
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    health.started();
    let stopping = shutdown.stopping().clone();
    axum::serve(listener, app)
        .with_graceful_shutdown(stopping.cancelled_owned())
        .await
        .context("the HTTP server ended")
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
