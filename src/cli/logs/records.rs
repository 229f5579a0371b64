//! One line of JSON for each line of the logs, in their order, file by file.

use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::{Value, json};

use super::json::{at, milliseconds};
use super::part::lines;
use super::plan::{Kind, Planned, Refused};
use super::read;
use super::source::Source;
use crate::accesslog::{Line, mask::masked};
use crate::domain::fleet::event::{Event, What};
use crate::domain::fleet::probe::is_probe;
use crate::domain::fleet::record::{Attempt, Record, Text};

const CHUNK: usize = 256 * 1024;

/// One request, in the order in which it is written.
#[derive(Serialize)]
struct Request {
    at: Value,
    client: Option<String>,
    user: Option<String>,
    method: Option<String>,
    target: Option<String>,
    status: Option<u16>,
    bytes: Option<u64>,
    duration_ms: Value,
    user_agent: Option<String>,
    probe: bool,
    truncated: bool,
    attribution: &'static str,
    attempts: Vec<Tried>,
}

#[derive(Serialize)]
struct Tried {
    instance: String,
    status: Option<u16>,
    duration_ms: Value,
    bytes: Option<u64>,
    outcome: &'static str,
}

/// What a line says beside requests.
#[derive(Serialize)]
struct State<'a> {
    at: Value,
    event: &'a str,
    instance: Option<&'a str>,
    to: Option<&'a str>,
    reason: Option<&'a str>,
}

/// Prints the records of all files. A line that fits nothing is `{"rejected": …, "reason": …}`.
pub(super) fn print(
    planned: Vec<Planned>,
    probe_paths: &[String],
    now_us: i64,
    stop: &AtomicBool,
) -> Result<ExitCode, Refused> {
    let paths: Vec<Vec<u8>> = probe_paths.iter().map(|path| path.clone().into_bytes()).collect();
    let mut out = BufWriter::with_capacity(CHUNK, std::io::stdout().lock());
    for plan in planned {
        match file(plan, &paths, now_us, stop, &mut out) {
            Ok(()) => {}
            Err(Stopped::Refused(why)) => return Err(why),
            // Whoever read them has seen enough.
            Err(Stopped::Output) => return Ok(ExitCode::SUCCESS),
        }
    }
    let interrupted = stop.load(Ordering::Relaxed);
    // The same holds here.
    let _ = out.flush();
    Ok(if interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

/// Why printing ended before its time.
enum Stopped {
    Refused(Refused),
    /// Nobody reads any more.
    Output,
}

impl From<Refused> for Stopped {
    fn from(why: Refused) -> Self {
        Self::Refused(why)
    }
}

impl From<std::io::Error> for Stopped {
    fn from(_: std::io::Error) -> Self {
        Self::Output
    }
}

fn file(
    mut plan: Planned,
    probe_paths: &[Vec<u8>],
    now_us: i64,
    stop: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), Stopped> {
    let mut parser = match plan.kind {
        Kind::Empty => return Ok(()),
        Kind::Document(format) => {
            for event in read::document(&mut plan, format, now_us)? {
                writeln!(out, "{}", state(&event))?;
            }
            return Ok(());
        }
        Kind::Lines(parser) => parser,
    };
    let failed = |error: std::io::Error| Refused::io(&plan.input, &error);
    let mut source = match plan.opened.take() {
        Some(source) => source,
        None => Source::open(&plan.input).map_err(failed)?,
    };
    loop {
        let chunk = source.chunk(CHUNK).map_err(failed)?;
        if chunk.is_empty() || stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        for line in lines(&chunk) {
            let shown = match parser.line(line) {
                Ok(Line::Request(record)) => {
                    serde_json::to_string(&request(&record, probe_paths)).unwrap_or_default()
                }
                Ok(Line::Event(event)) => state(&event),
                Ok(Line::Nothing) => told(None, "other", None, None, None),
                Err(why) => json!({ "rejected": why.0, "sample": masked(line) }).to_string(),
            };
            writeln!(out, "{shown}")?;
        }
    }
}

fn request(record: &Record<'_>, probe_paths: &[Vec<u8>]) -> Request {
    let text = |text: Option<Text<'_>>| text.map(Text::show);
    let bytes = |bytes: Option<&[u8]>| bytes.map(|b| String::from_utf8_lossy(b).into_owned());
    Request {
        at: at(Some(record.end_us)),
        client: bytes(record.client),
        user: text(record.user),
        method: bytes(record.method),
        target: text(record.target),
        status: record.status,
        bytes: record.bytes,
        duration_ms: duration(record.duration_us),
        user_agent: text(record.user_agent),
        probe: is_probe(record, probe_paths),
        truncated: record.truncated,
        attribution: record.attribution.as_str(),
        attempts: record.attempts.iter().map(attempt).collect(),
    }
}

fn attempt(attempt: &Attempt<'_>) -> Tried {
    Tried {
        instance: String::from_utf8_lossy(attempt.instance).into_owned(),
        status: attempt.status,
        duration_ms: duration(attempt.duration_us),
        bytes: attempt.bytes,
        outcome: attempt.outcome.as_str(),
    }
}

fn duration(us: Option<u64>) -> Value {
    us.and_then(|us| i64::try_from(us).ok()).map_or(Value::Null, milliseconds)
}

fn state(event: &Event) -> String {
    let (name, to) = match &event.what {
        What::State(state) => ("state", Some(state.as_str())),
        What::Check { passed: true } => ("check_passed", None),
        What::Check { passed: false } => ("check_failed", None),
        What::Ejected { enforced: true } => ("ejected", Some("unready")),
        What::Ejected { enforced: false } => ("ejection_only_logged", None),
        What::Returned => ("returned", Some("ready")),
        What::Failed => ("failed", None),
        What::RestartCount(_) => ("restart_count", None),
        What::Started => ("started", Some("starting")),
        What::BackOff => ("back_off", None),
        What::Version(version) => ("version", Some(version.as_str())),
        What::Count { .. } => ("count", None),
        What::PoolEmpty => ("pool_empty", None),
        What::Expected(_) => ("expected", None),
        What::Gone => ("gone", Some("gone")),
    };
    let instance = event.instance.as_deref();
    told(Some(event.at_us), name, instance, to, event.reason.as_deref())
}

fn told(
    at_us: Option<i64>,
    event: &str,
    instance: Option<&str>,
    to: Option<&str>,
    reason: Option<&str>,
) -> String {
    let state = State { at: at(at_us), event, instance, to, reason };
    // Nothing in it can fail to be written.
    serde_json::to_string(&state).unwrap_or_default()
}
