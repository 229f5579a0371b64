//! `quorate logs`: the health of a fleet from access logs, without a server.
//!
//! * [`source`]: files as chunks of lines; [`plan`]: which format, whose log.
//! * [`part`]: a chunk → sums; [`read`]: all files, interleaved by time; [`judge`]: windows → findings.
//! * [`report`], [`readiness`]: what is told; [`draw`], [`json`]: how; [`records`]: line by line instead.

mod draw;
mod json;
mod judge;
mod part;
mod plan;
mod progress;
mod read;
mod readiness;
mod records;
mod report;
mod source;
mod total;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use self::plan::{Planned, Refused, Wanted};
use self::progress::Progress;
use self::report::Report;
use self::source::Input;
use super::term::{Term, TermOptions, wrap_after};
use crate::accesslog::{Context, Format, Parser, generic_json::Mapping};
use crate::clock::Clock;
use crate::config::fields_by_keys;
use crate::domain::fleet::config::Config;
use crate::domain::fleet::platform;
use crate::domain::fleet::settings::{HealthCheck, Settings};

/// How late lines of a load balancer's files may be, which are written every five minutes by each of its
/// nodes.
const ALB_LATENESS_S: u32 = 600;

/// What stands in the table, for `--help`.
const COLUMNS: &str = "\
Columns of the table; where there is no room they leave in the order version, flaps/h, p50, restarts, not known, \
ready, share, p90:
  failed     share of its attempts that failed by its own fault
  of peers   where that is (●, with the interval of 99 %) and where its peers put it (▒), on one axis
  attempts   requests that were tried on it and say something of it
  p50, p90   half and nine tenths of its attempts were answered within this time
  share      of all attempts of the pool
  ready      share of the time that is known in which it was ready
  not known  share of its time in which it had requests and nobody said whether it is ready
  restarts   certain ones are told by a platform, probable ones by a gap in its checks
  flaps/h    changes between ready and not, in an hour
  version    what it said last that it runs";

/// Reads access logs and tells which instance is unlike its peers, or that it is none of them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = COLUMNS)]
pub struct LogsArgs {
    /// Access logs, plain, gzip or zstd; documents of Kubernetes and of target groups too. `-` reads
    /// standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The format of the lines, or `auto`.
    #[arg(long, default_value = "auto", value_name = "auto|NAME")]
    format: String,
    /// nginx's log_format as it stands in its configuration, for lines of a format of your own.
    #[arg(long, value_name = "'$remote_addr …'", conflicts_with_all = ["format", "map"])]
    log_format: Option<String>,
    /// What the keys of JSON lines mean, as `field=key`, or a file with such lines; may be repeated.
    #[arg(long, value_name = "FILE|k=v", conflicts_with = "log_format")]
    map: Vec<String>,
    /// How many instances there should be.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    expected: Option<u32>,
    /// Fewer ready than this is critical. Default: three quarters of what is expected.
    #[arg(long, value_name = "N")]
    min_ready: Option<u32>,
    /// The zone of times that carry none, such as Europe/Berlin. Default: UTC.
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Seconds that are judged together. Default: 60.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    window: Option<u32>,
    /// Seconds between two health checks, for the time that a removal should need.
    #[arg(long, value_name = "SECONDS")]
    check_interval: Option<f64>,
    /// Seconds that a health check waits for an answer.
    #[arg(long, value_name = "SECONDS")]
    check_timeout: Option<f64>,
    /// Failed checks in a row after which an instance is taken out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    unhealthy: Option<u32>,
    /// Passed checks in a row after which it is taken back.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    healthy: Option<u32>,
    /// A path that is a health check, beside the usual ones; may be repeated.
    #[arg(long, value_name = "PATH")]
    probe_path: Vec<String>,
    /// What takes instances out: kubernetes, alb, nlb, envoy, haproxy, nginx, google, azure_lb or
    /// app_gateway.
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Whose own log it is, where lines name nobody. Default: the file's name.
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Every setting of the analysis as JSON, such as `{"warm_up_s": 20, "flap": {"window_s": 60}}`; the
    /// flags above count more.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// One line of JSON for each line of the log, and no summary.
    #[arg(long, conflicts_with = "json")]
    records: bool,
    /// The summary as one JSON document.
    #[arg(long)]
    json: bool,
}

/// 0 when everything was read, whatever was found; 2 for bad usage and for a file that cannot be read or
/// whose format cannot be told; 130 when it was interrupted, with what was read until then.
pub async fn run(args: LogsArgs, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    let clock = Clock::system();
    let now_us = clock.now().as_microsecond();
    let stop = Arc::new(AtomicBool::new(false));
    let heard = stop.clone();
    tokio::spawn(async move {
        // Without a way to hear Ctrl-C it simply reads to the end.
        if tokio::signal::ctrl_c().await.is_ok() {
            heard.store(true, Ordering::Relaxed);
        }
    });
    let work = tokio::task::spawn_blocking(move || look(&args, &term, now_us, &stop));
    match work.await {
        Ok(Ok(code)) => code,
        Ok(Err(why)) => {
            term.warn(&wrap_after("quorate logs: ", &why, term.width));
            ExitCode::from(2)
        }
        Err(_) => ExitCode::from(3),
    }
}

fn look(args: &LogsArgs, term: &Term, now_us: i64, stop: &AtomicBool) -> Result<ExitCode, String> {
    let mut settings = settings(args)?;
    let context = Context { tz: zone(args)?, now_us };
    let wanted = wanted(args, &context)?;
    let inputs: Vec<Input> = args.files.iter().map(|name| Input::new(name)).collect();
    if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Err("`-` can be read once only.".to_owned());
    }
    let said = |why: Refused| format!("{}.", why.to_string().trim_end_matches('.'));
    let planned = plan::plan(&inputs, &wanted, args.instance.as_deref(), &context).map_err(said)?;
    if args.records {
        return records::print(planned, &settings.probe_paths, now_us, stop).map_err(said);
    }
    let total: u64 = planned.iter().map(|plan| plan.size).sum();
    let mut progress = Progress::new(term, planned.len(), total);
    settings.lateness_s = lateness_s(&planned, &settings);
    let files: Vec<(String, Option<&'static str>)> =
        planned.iter().map(|plan| (plan.input.name(), plan.format)).collect();
    let outcome = read::read(planned, &settings, now_us, &mut progress, stop).map_err(said)?;
    let interrupted = outcome.interrupted;
    let report = Report::new(files, outcome, &settings);
    let text = if args.json { json::text(&report) } else { draw::text(term, &report, now_us) };
    term.print(&text).map_err(|error| format!("the output cannot be written: {error}."))?;
    Ok(if interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

fn settings(args: &LogsArgs) -> Result<Settings, String> {
    if let Some(name) = &args.platform
        && platform::named(name).is_none()
    {
        let names: Vec<&str> = platform::PLATFORMS.iter().map(|p| p.kind).collect();
        return Err(format!("--platform: there is no {name:?}; there are {}.", names.join(", ")));
    }
    let mut settings = args.settings.as_deref().map_or(Ok(Settings::default()), read_settings)?;
    settings.expected = args.expected.or(settings.expected);
    settings.min_ready = args.min_ready.or(settings.min_ready);
    settings.window_s = args.window.unwrap_or(settings.window_s);
    settings.check = check(args)?.or(settings.check);
    settings.probe_paths.extend(args.probe_path.iter().cloned());
    settings.platform = args.platform.clone().or(settings.platform);
    Ok(settings)
}

fn read_settings(path: &Path) -> Result<Settings, String> {
    let name = path.display();
    let text = std::fs::read(path).map_err(|error| format!("--settings {name}: {error}."))?;
    let settings: Settings =
        serde_json::from_slice(&text).map_err(|error| format!("--settings {name}: {error}."))?;
    if !(1..=3_600).contains(&settings.window_s) {
        return Err(format!("--settings {name}: window_s: from 1 to 3600 seconds."));
    }
    // Any window will do here; all else is as a fleet's settings may be.
    let analysis = Settings { window_s: 60, ..settings.clone() };
    let config = Config { analysis, ..Config::default() };
    config.check().map_err(|invalid| format!("--settings {name}: {invalid}."))?;
    Ok(settings)
}

/// The check, if anything is said of it; what is not said is as the platform has it by itself.
fn check(args: &LogsArgs) -> Result<Option<HealthCheck>, String> {
    for (name, value) in
        [("--check-interval", args.check_interval), ("--check-timeout", args.check_timeout)]
    {
        if value.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 86_400.0)) {
            return Err(format!("{name}: seconds above 0, such as 2 or 0.5."));
        }
    }
    let said = args.check_interval.is_some()
        || args.check_timeout.is_some()
        || args.unhealthy.is_some()
        || args.healthy.is_some();
    if !said {
        return Ok(None);
    }
    let own = args.platform.as_deref().and_then(platform::named).map(|p| p.defaults);
    let interval_s = args.check_interval.or(own.map(|own| own.interval_s));
    let Some(interval_s) = interval_s else {
        return Err(
            "--check-interval is missing; without it no time follows from the rest. Or name the \
                    --platform, whose defaults are known."
                .to_owned(),
        );
    };
    Ok(Some(HealthCheck {
        path: args.probe_path.first().cloned(),
        interval_s,
        timeout_s: args.check_timeout.or(own.map(|own| own.timeout_s)).unwrap_or(interval_s),
        unhealthy: args.unhealthy.or(own.map(|own| own.unhealthy)).unwrap_or(3),
        healthy: args.healthy.or(own.map(|own| own.healthy)).unwrap_or(2),
    }))
}

fn zone(args: &LogsArgs) -> Result<jiff::tz::TimeZone, String> {
    match &args.tz {
        None => Ok(jiff::tz::TimeZone::UTC),
        Some(name) => jiff::tz::TimeZone::get(name).map_err(|_| {
            format!("--tz: there is no zone {name:?}; name it like Europe/Berlin or UTC.")
        }),
    }
}

fn wanted(args: &LogsArgs, context: &Context) -> Result<Wanted, String> {
    if let Some(pasted) = &args.log_format {
        let parser = Parser::custom(pasted, context).map_err(|e| format!("--log-format: {e}."))?;
        return Ok(Wanted::Custom(Box::new(parser), "log-format"));
    }
    if !args.map.is_empty() {
        if !matches!(args.format.as_str(), "auto" | "generic-json") {
            return Err(format!("--map is for generic-json, not for {}.", args.format));
        }
        let mapping: Mapping = serde_json::from_value(Value::Object(fields_by_keys(&args.map)?))
            .map_err(|error| format!("--map: {error}."))?;
        let parser = Parser::mapped(&mapping, context).map_err(|e| format!("--map: {e}."))?;
        return Ok(Wanted::Custom(Box::new(parser), Format::GenericJson.as_str()));
    }
    if args.format == "auto" {
        return Ok(Wanted::Auto);
    }
    args.format.parse().map(Wanted::Named).map_err(|error| format!("--format: {error}."))
}

fn lateness_s(planned: &[Planned], settings: &Settings) -> u32 {
    let late = |plan: &Planned| plan.format.is_some_and(|name| name.starts_with("aws-alb"));
    if planned.iter().any(late) { ALB_LATENESS_S } else { settings.lateness_s }
}
