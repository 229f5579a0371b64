//! The log: to standard error, so that results on standard output stay clean.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// How the log looks and how much it says.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LogOptions {
    /// What to log: a level, or levels by module such as `info,quorate::notify=debug`.
    #[arg(long = "log", env = "QUORATE_LOG", global = true, value_name = "FILTER")]
    pub filter: Option<String>,
    /// One JSON object per line, for machines.
    #[arg(long, env = "QUORATE_LOG_JSON", global = true)]
    pub log_json: bool,
}

/// Why the log could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(
        "--log {filter}: {source}. Write a level, or levels by module: info,quorate::notify=debug"
    )]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("the log is set up already")]
    Twice,
}

/// Sets up the log of this process, once. `default` applies without `--log`.
pub fn init(options: &LogOptions, default: &str) -> Result<(), LogError> {
    let filter = options.filter.as_deref().unwrap_or(default);
    let filter = EnvFilter::try_new(filter)
        .map_err(|source| LogError::Filter { filter: filter.to_owned(), source })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let set = if options.log_json {
        log.json().flatten_event(true).with_current_span(true).with_span_list(false).try_init()
    } else {
        log.with_target(false).try_init()
    };
    set.map_err(|_| LogError::Twice)
}

/// An error and what it came from, outermost first, in one line. Many errors say what their source
/// says as well; it is not said twice.
pub fn reasons(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for reason in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = reason;
        } else if !line.ends_with(&reason) {
            line.push_str(": ");
            line.push_str(&reason);
        }
    }
    line
}

/// Says on standard error why there is no log, and gives the exit code of bad usage.
pub fn refuse(error: &LogError) -> std::process::ExitCode {
    use std::io::Write;
    // Nobody is left to be told when standard error is closed.
    let _ = writeln!(std::io::stderr(), "quorate: {error}");
    std::process::ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read it: {0}")]
    struct Wordy(#[source] std::io::Error);

    #[test]
    fn a_reason_is_given_once() {
        let io = || std::io::Error::other("disk full");
        let error = anyhow::Error::new(Wordy(io())).context("the spool");
        assert_eq!(reasons(&error), "the spool: cannot read it: disk full");
        assert_eq!(reasons(&anyhow::Error::new(io()).context("the spool")), "the spool: disk full");
    }
}
