//! The benchmark harness: each figure stands beside a limit or a peer that was measured in the same run,
//! so that it means the same on any machine.

mod agent;
mod api;
mod decide;
mod fleet;
mod ingest;
mod intake;
mod logs;
mod probe;
mod serving;

use std::process::ExitCode;

use super::term::{Term, TermOptions};

#[derive(Debug, clap::Subcommand)]
pub enum BenchCommand {
    /// Reports per second through deciding and storing, beside a bare COPY of the same rows.
    Ingest(ingest::IngestArgs),
    /// Log lines per second through HTTP, with the coordinator on one core and the rest on another.
    Intake(intake::IntakeArgs),
    /// Decisions per second, and what a monitor's stored state costs.
    Decide,
    /// How often findings on simulated fleets are wrong, and how soon they are right.
    Fleet(fleet::FleetArgs),
    /// HTTPS probes per second and their CPU time, beside a bare loop of the same libraries.
    Probe(probe::ProbeArgs),
    /// Lines per second of `quorate logs`, beside GoAccess and wc, and its memory.
    Logs(logs::LogsArgs),
    /// Memory of an agent that knows many idle monitors.
    Agent(agent::AgentArgs),
    /// Reports on SLOs and the list of them through HTTP, over a year of monitoring, and what they read.
    Api(api::ApiArgs),
}

/// 0 when it could be measured and its limit holds, 1 when the limit does not hold, 3 when it could not
/// be measured.
pub async fn run(command: BenchCommand, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    let measured = match command {
        BenchCommand::Ingest(args) => ingest::run(&term, &args).await,
        BenchCommand::Intake(args) => intake::run(&term, &args).await,
        BenchCommand::Decide => decide::run(&term),
        BenchCommand::Fleet(args) => fleet::run(&term, &args),
        BenchCommand::Probe(args) => probe::run(&term, &args),
        BenchCommand::Logs(args) => logs::run(&term, &args),
        BenchCommand::Agent(args) => agent::run(&term, &args).await,
        BenchCommand::Api(args) => api::run(&term, &args).await,
    };
    match measured {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            term.warn(&format!("quorate bench: {}", crate::process::log::reasons(&error)));
            ExitCode::from(3)
        }
    }
}
