//! `quorate probe`: one probe from here, with its phases as a picture.

mod bars;
mod picture;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::term::{Term, TermOptions, wrap_after};
use crate::clock::Clock;
use crate::domain::Invalid;
use crate::domain::address::{AllowList, AllowNet};
use crate::domain::check::{Check, kind_of_url};
use crate::domain::monitor::Timeout;
use crate::domain::observation::{Class, Observation, Outcome};
use crate::domain::secret::Secret;
use crate::probe::{self, Context, Settings};

/// One probe from here: exit code 0 for a pass, 1 for a failure, 2 for bad usage, 3 for an error of
/// this machine.
#[derive(Debug, clap::Args)]
pub struct ProbeArgs {
    /// What to probe; may be left out if the check names it.
    #[arg(required_unless_present = "check")]
    pub url: Option<String>,
    /// A check object as JSON, which may also hold timeout_s and slow_ms; `-` reads standard input. A secret
    /// `${secret:NAME}` is taken from the environment, from QUORATE_SECRET_NAME.
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// The observation as one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Opens an address range that is closed by default, such as 10.9.0.0/16; may be repeated.
    #[arg(long, value_name = "CIDR")]
    pub allow_net: Vec<AllowNet>,
    /// Allows these ports only; may be repeated.
    #[arg(long, value_name = "PORT")]
    pub allow_port: Vec<u16>,
    /// Seconds for the whole probe, 0.1 to 60; replaces the check's timeout_s.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
}

/// What is asked for, checked.
struct Asked {
    check: Check,
    timeout: Timeout,
    /// Milliseconds; a pass that takes longer is slow.
    slow_ms: Option<u32>,
}

/// Probes once and prints.
pub async fn run(args: ProbeArgs, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    let refuse = |code: u8, why: &str| {
        term.warn(&wrap_after("quorate probe: ", why, term.width));
        ExitCode::from(code)
    };
    let asked = match read(&args) {
        Ok(asked) => asked,
        Err(Refusal::Unreadable(why)) => return refuse(3, &why),
        Err(Refusal::Invalid(invalid)) => {
            let field = if invalid.field.is_empty() { "check" } else { &invalid.field };
            return refuse(
                2,
                &format!("{field}: {}. Nothing was sent.", invalid.message.trim_end_matches('.')),
            );
        }
    };
    let allow = AllowList::new(args.allow_net.iter().copied(), args.allow_port.clone());
    let clock = Clock::system();
    let settings = match Settings::system(allow, Vec::new(), Arc::new(move || clock.now())) {
        Ok(settings) => settings,
        Err(error) => {
            return refuse(
                3,
                &format!(
                    "this machine's name servers cannot be read: {error}. See /etc/resolv.conf."
                ),
            );
        }
    };
    let ctx = match Context::new(settings) {
        Ok(ctx) => ctx,
        Err(error) => return refuse(3, &format!("TLS cannot be set up: {error}.")),
    };
    let interrupted = async {
        // Without a way to hear Ctrl-C the probe simply runs to its end.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let timeout = Duration::from_millis(u64::try_from(asked.timeout.millis()).unwrap_or(10_000));
    let seen = probe::run_in_detail(&asked.check, &ctx, timeout, interrupted).await;
    let text = if args.json {
        match serde_json::to_string_pretty(&seen) {
            Ok(text) => text + "\n",
            Err(error) => {
                return refuse(3, &format!("the observation cannot be written: {error}."));
            }
        }
    } else {
        picture::draw(&term, &seen, asked.slow_ms)
    };
    match term.print(&text) {
        Ok(()) => exit_code(&seen),
        Err(error) => refuse(3, &format!("the output cannot be written: {error}.")),
    }
}

fn exit_code(seen: &Observation) -> ExitCode {
    match (seen.outcome, seen.class) {
        (_, Some(Class::Cancelled)) => ExitCode::from(130),
        (Outcome::Pass, _) => ExitCode::SUCCESS,
        (Outcome::Fail, _) => ExitCode::from(1),
        (Outcome::Error, _) => ExitCode::from(3),
    }
}

enum Refusal {
    Unreadable(String),
    Invalid(Invalid),
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

fn read(args: &ProbeArgs) -> Result<Asked, Refusal> {
    let mut value = match &args.check {
        None => serde_json::json!({}),
        Some(path) => {
            let text = read_file(path).map_err(|error| {
                Refusal::Unreadable(format!("{} cannot be read: {error}.", path.display()))
            })?;
            serde_json::from_str(&text).map_err(|error| {
                Invalid::new(path.display().to_string(), format!("is not JSON: {error}"))
            })?
        }
    };
    let Some(map) = value.as_object_mut() else {
        return Err(
            Invalid::new("", "must be an object, such as {\"kind\":\"http\",\"url\":…}").into()
        );
    };
    let in_check = map.remove("timeout_s").filter(|value| !value.is_null());
    let slow_ms = map.remove("slow_ms").filter(|value| !value.is_null());
    if let Some(url) = &args.url {
        map.insert("url".into(), Value::from(url.clone()));
        // Whoever writes no scheme is told about that by the kind `http`.
        map.entry("kind").or_insert_with(|| kind_of_url(url).unwrap_or("http").into());
    }
    let seconds = match (args.timeout, in_check) {
        (Some(seconds), _) => seconds,
        (None, None) => 10.0,
        (None, Some(value)) => value
            .as_f64()
            .ok_or_else(|| Invalid::new("timeout_s", "must be a number from 0.1 to 60"))?,
    };
    let slow_ms = match slow_ms {
        None => None,
        Some(value) => {
            let number = value
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())
                .filter(|number| *number > 0);
            Some(number.ok_or_else(|| {
                Invalid::new("slow_ms", "must be a whole number of milliseconds, 1 or more")
            })?)
        }
    };
    let check = Check::parse(value)?;
    let secrets = check
        .secret_names()
        .into_iter()
        .filter_map(|name| {
            std::env::var(variable(&name)).ok().map(|value| (name, Secret::new(value)))
        })
        .collect();
    let check = check.with_secrets(&secrets).map_err(|refusal| Invalid {
        message: format!(
            "{}; set it in the environment as QUORATE_SECRET_ and its name in capitals",
            refusal.message
        ),
        ..refusal
    })?;
    Ok(Asked { check, timeout: Timeout::from_secs(seconds)?, slow_ms })
}

/// `api-key` is `QUORATE_SECRET_API_KEY`.
fn variable(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    format!("QUORATE_SECRET_{name}")
}

fn read_file(path: &Path) -> std::io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
}
