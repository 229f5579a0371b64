//! The table of contents: one subcommand, one arm, one call.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use quorate::{
    cli::{admin, bench, decide, logs, openapi, probe, serve, slo, term::TermOptions, up},
    config::{
        AdminCommand, AgentConfig, CoordinatorConfig, MigrateConfig, ShipConfig, UpConfig,
        without_empty_variables,
    },
    process::log::{self, LogOptions},
};

/// Outside-in monitoring that pages only when enough locations agree.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, propagate_version = true)]
struct Quorate {
    #[command(flatten)]
    term: TermOptions,
    #[command(flatten)]
    log: LogOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(UpConfig),
    Coordinator(CoordinatorConfig),
    Agent(AgentConfig),
    Ship(ShipConfig),
    Migrate(MigrateConfig),
    #[command(subcommand)]
    Admin(AdminCommand),
    Decide(decide::DecideArgs),
    Probe(probe::ProbeArgs),
    Logs(logs::LogsArgs),
    #[command(subcommand)]
    Slo(slo::SloCommand),
    /// Measures this program on this machine, each figure beside a limit or a peer.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Prints the description of the HTTP interface (OpenAPI 3.1).
    Openapi,
}

#[tokio::main]
async fn main() -> ExitCode {
    let matches = without_empty_variables(Quorate::command()).get_matches();
    let Quorate { term, log, command } =
        Quorate::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // TLS everywhere is rustls with ring. An error means that it is chosen already, which is as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let level = match command {
        Command::Coordinator(_) | Command::Agent(_) | Command::Ship(_) => "info",
        // The pool laments its last connections when its database stops with us.
        Command::Up(_) => "warn,sqlx_core::pool=error",
        _ => "warn",
    };
    if let Err(error) = log::init(&log, level) {
        return log::refuse(&error);
    }
    match command {
        Command::Up(config) => up::run(config, term).await,
        Command::Coordinator(config) => serve::coordinator(config).await,
        Command::Agent(config) => serve::agent(config).await,
        Command::Ship(config) => serve::ship(config).await,
        Command::Migrate(config) => admin::migrate(config, term).await,
        Command::Admin(command) => admin::run(command, term).await,
        Command::Decide(args) => decide::run(&args, term),
        Command::Probe(args) => probe::run(args, term).await,
        Command::Logs(args) => logs::run(args, term).await,
        Command::Slo(command) => slo::run(&command, term),
        Command::Bench(command) => bench::run(command, term).await,
        Command::Openapi => openapi::run(),
    }
}
