//! `quorate slo`: availability and error budgets from a file, by the same code as everywhere else.

mod file;
mod parts;
mod table;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::term::{Term, TermOptions, wrap_after};
use crate::domain::slo::evaluate::evaluate;
use crate::domain::{Invalid, slo::report::Report};

/// Service level objectives without a server.
#[derive(Debug, clap::Subcommand)]
pub enum SloCommand {
    Eval(EvalArgs),
}

/// Works out the report on an SLO from a file: availability, error budget, burn rates, outages.
///
/// FILE is one JSON object: `slo` (target_ppb, sli, window, policies, rules), `as_of`, and what was seen:
/// `timeline` of states, `slots` or `events` of results, `members` of a composite, or `requests` by the minute; beside it
/// `maintenance`, `created_at`, `incidents`. Nothing after `as_of` counts, gaps are unknown. Into a pipe, or
/// with --json, the whole report is printed as one JSON document; at a terminal a table.
#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    /// The SLO and what was seen; `-` reads standard input.
    pub file: PathBuf,
    /// The report as one JSON document, at a terminal too.
    #[arg(long, conflicts_with = "table")]
    pub json: bool,
    /// The table, into a pipe too.
    #[arg(long)]
    pub table: bool,
}

/// Exit code 0 when there is a report, whatever it says; 2 when the file does not describe an SLO, 3 when it
/// cannot be read.
pub fn run(command: &SloCommand, options: TermOptions) -> ExitCode {
    let SloCommand::Eval(args) = command;
    let term = Term::detect(options);
    let refuse = |code: u8, why: &str| {
        term.warn(&wrap_after("quorate slo eval: ", why, term.width));
        ExitCode::from(code)
    };
    let name = args.file.display();
    let text = match read(&args.file) {
        Ok(text) => text,
        Err(error) => return refuse(3, &format!("{name} cannot be read: {error}.")),
    };
    let report = match of(&text) {
        Ok(report) => report,
        Err(Invalid { field, message }) => {
            let place = if field.is_empty() { String::new() } else { format!("{field}: ") };
            let message = message.trim_end_matches('.');
            return refuse(2, &format!("{name}: {place}{message}. Nothing was worked out."));
        }
    };
    let as_json = args.json || !(args.table || std::io::stdout().is_terminal());
    let output = if as_json {
        match serde_json::to_string_pretty(&report) {
            Ok(text) => text + "\n",
            Err(error) => return refuse(3, &format!("the report cannot be written: {error}.")),
        }
    } else {
        table::draw(&report, &term)
    };
    match term.print(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(3, &format!("the output cannot be written: {error}.")),
    }
}

fn of(text: &str) -> Result<Report, Invalid> {
    let (definition, inputs) = file::parse(text)?;
    evaluate(&definition, &inputs)
        .ok_or_else(|| Invalid::new("slo.window", "lies beyond the calendar"))
}

fn read(path: &Path) -> std::io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
}
