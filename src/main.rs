//! The table of contents: one subcommand, one arm, one call.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use quorate::cli::{decide, openapi, term::TermOptions};

/// Outside-in monitoring that pages only when enough locations agree.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, propagate_version = true)]
struct Quorate {
    #[command(flatten)]
    term: TermOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Decide(decide::DecideArgs),
    /// Prints the description of the HTTP interface (OpenAPI 3.1).
    Openapi,
}

fn main() -> ExitCode {
    let quorate = Quorate::parse();
    match quorate.command {
        Command::Decide(args) => decide::run(&args, quorate.term),
        Command::Openapi => openapi::run(),
    }
}
