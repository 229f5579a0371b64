//! `quorate slo`: availability and error budgets from a file, by the same code as everywhere else.

mod document;
mod table;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::term::{Term, TermOptions, wrap_after};
use crate::domain::Invalid;
use crate::domain::slo::document as given;
use crate::domain::slo::evaluate::evaluate;
use crate::publish::csv::{self, Part};
use crate::publish::document::Document;
use crate::publish::html;

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
    #[arg(long, conflicts_with_all = ["table", "csv", "html"])]
    pub json: bool,
    /// The table, into a pipe too.
    #[arg(long, conflicts_with_all = ["csv", "html"])]
    pub table: bool,
    /// A table of the report as CSV: summary, incidents, days, locations or maintenance.
    #[arg(long, value_name = "PART", value_parser = part, conflicts_with = "html")]
    pub csv: Option<Part>,
    /// The report as a page that stands by itself and prints well.
    #[arg(long)]
    pub html: bool,
}

fn part(name: &str) -> Result<Part, String> {
    Part::parse(name).ok_or_else(|| {
        let known = Part::ALL.map(Part::name).join(", ");
        format!("is no table of a report; known are {known}")
    })
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
    let document = match of(&text, &args.file) {
        Ok(document) => document,
        Err(Invalid { field, message }) => {
            let place = if field.is_empty() { String::new() } else { format!("{field}: ") };
            let message = message.trim_end_matches('.');
            return refuse(2, &format!("{name}: {place}{message}. Nothing was worked out."));
        }
    };
    let output = match written(&document, args, &term) {
        Ok(output) => output,
        Err(error) => return refuse(3, &format!("the report cannot be written: {error}.")),
    };
    match term.print(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(3, &format!("the output cannot be written: {error}.")),
    }
}

/// As the arguments, or else the place that it goes to, want it.
fn written(document: &Document, args: &EvalArgs, term: &Term) -> serde_json::Result<String> {
    if let Some(part) = args.csv {
        return Ok(csv::table(document, part));
    }
    if args.html {
        return Ok(html::page(document));
    }
    if args.json || !(args.table || std::io::stdout().is_terminal()) {
        return serde_json::to_string_pretty(&document.report).map(|text| text + "\n");
    }
    Ok(table::draw(&document.report, term))
}

fn of(text: &str, file: &Path) -> Result<Document, Invalid> {
    let (definition, inputs) = given::parse(text)?;
    let report = evaluate(&definition, &inputs)
        .ok_or_else(|| Invalid::new("slo.window", "lies beyond the calendar"))?;
    let context = document::context(&inputs, file);
    Ok(Document { report, context })
}

fn read(path: &Path) -> std::io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
}
