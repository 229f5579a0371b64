//! Follows log files and forwards their bytes, each once: the files are the buffer, the coordinator keeps
//! how far it has each of them, and a file keeps its identity through rotation, packing and restarts.
//!
//! * [`mod@file`]: one file by its content: what it begins with, how to read on in it, packed or not.
//! * [`state`]: which files were seen and how far they were taken, on disk.
//! * [`lane`]: one followed path: its present file and what it was before, in order.
//! * [`stdin`]: the same from a pipe.
//! * [`link`]: one batch to the coordinator.

pub mod file;
pub mod lane;
pub mod link;
pub mod state;
mod stdin;

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, config::ShipConfig, process::health::Health};

use lane::Lane;
use link::Link;
use state::State;

/// Forwards until `shutdown`, or with `--once` until everything there is was taken. An error means that
/// it could not start, or that standard input could not be read.
pub async fn run(
    config: ShipConfig,
    clock: Clock,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let link = Arc::new(Link::new(&config)?);
    let dir = state_dir(&config)?;
    let state = Arc::new(State::open(&dir, &config.fleet, &config.source)?);
    let health = Health::new(shutdown.clone());
    let mut helpers = JoinSet::new();
    if let Some(address) = config.health_listen {
        let listener = tokio::net::TcpListener::bind(address)
            .await
            .with_context(|| format!("--health-listen {address} cannot be used"))?;
        let routes = health.routes();
        helpers.spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "the shipper's own health is no longer answered");
            }
        });
    }
    let mut lanes = JoinSet::new();
    for path in &config.files {
        let (link, state) = (Arc::clone(&link), Arc::clone(&state));
        let lane = Lane::new(path, &config, link, state, clock.clone(), shutdown.clone());
        lanes.spawn(lane.run(health.pulse("following")));
    }
    tracing::info!(
        fleet = config.fleet, source = config.source, files = config.files.len(),
        state = %dir.display(), "the shipper starts"
    );
    health.started();
    while let Some(ended) = lanes.join_next().await {
        ended.context("a part of the shipper broke")??;
    }
    tracing::info!("the shipper has stopped");
    Ok(())
}

fn state_dir(config: &ShipConfig) -> anyhow::Result<PathBuf> {
    if let Some(dir) = &config.state_dir {
        return Ok(dir.clone());
    }
    if nix::unistd::Uid::effective().is_root() {
        return Ok(PathBuf::from("/var/lib/quorate/ship"));
    }
    let data = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    let data = data.context("there is no HOME to keep positions in; name a folder: --state-dir")?;
    Ok(data.join("quorate/ship"))
}
