//! `quorate coordinator`, `quorate agent` and `quorate ship`: services that run until a signal comes.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use tokio::net::TcpListener;

use crate::{
    agent,
    clock::Clock,
    config::{AgentConfig, CoordinatorConfig, ShipConfig},
    coordinator,
    process::{Ended, Shutdown, Signals},
    shipper,
};

/// What an agent may take for its farewell: running probes, then the last delivery.
const AGENT_DEADLINE: Duration = Duration::from_secs(20);

/// Serves until a signal comes; then drains. 0 after that, 3 if it could not start or was cut off.
pub async fn coordinator(config: CoordinatorConfig) -> ExitCode {
    let work = async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.listen))?;
        let shutdown = Shutdown::new();
        let (lame_duck, deadline) = (config.server.lame_duck, config.server.drain_deadline);
        let work = coordinator::run(config, listener, Clock::corrected(), shutdown.clone());
        anyhow::Ok(signals.run(&shutdown, lame_duck, deadline, work).await)
    };
    exit("coordinator", work.await)
}

/// Probes until a signal comes, then delivers what it has. 0 after that, 3 if it could not start.
pub async fn agent(config: AgentConfig) -> ExitCode {
    let work = async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let shutdown = Shutdown::new();
        let work = agent::run(config, Clock::system(), shutdown.stopping().clone());
        anyhow::Ok(signals.run(&shutdown, Duration::ZERO, AGENT_DEADLINE, work).await)
    };
    exit("agent", work.await)
}

/// Forwards log files until a signal comes, or with `--once` until all is sent. 0 after that, 3 if it
/// could not start or a file could not be read.
pub async fn ship(config: ShipConfig) -> ExitCode {
    let once = config.once || config.files.iter().all(|file| file.as_os_str() == "-");
    let work = async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let shutdown = Shutdown::new();
        let work = shipper::run(config, Clock::system(), shutdown.stopping().clone());
        anyhow::Ok(signals.run(&shutdown, Duration::ZERO, AGENT_DEADLINE, work).await)
    };
    match work.await {
        Ok(Ended::ByItself(Ok(()))) if once => ExitCode::SUCCESS,
        ended => exit("ship", ended),
    }
}

fn exit(command: &str, ended: anyhow::Result<Ended<anyhow::Result<()>>>) -> ExitCode {
    let problem = match ended {
        Ok(Ended::Asked(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ended::Asked(Err(error)) | Ended::ByItself(Err(error))) | Err(error) => error,
        Ok(Ended::ByItself(Ok(()))) => anyhow::anyhow!("ended without being asked"),
        Ok(Ended::CutOff) => anyhow::anyhow!("stopped before everything was finished"),
    };
    tracing::error!(error = crate::process::log::reasons(&problem), "quorate {command} ends");
    ExitCode::from(3)
}
