//! The summary as one JSON document.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::readiness::Readiness;
use super::report::{self, AllOut, PoolReport, Report, Standing};
use crate::domain::fleet::all_out::{Seen, documented};
use crate::domain::fleet::finding;
use crate::domain::fleet::timeline::{self, BySource, ReadyPoint};

/// In the order in which it is written.
#[derive(Serialize)]
struct Summary<'a> {
    files: Vec<File<'a>>,
    from: Value,
    to: Value,
    instances: Vec<Instance<'a>>,
    ready: Vec<Ready>,
    all_out: Vec<Out<'a>>,
    removals: Vec<Removal<'a>>,
    findings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    file: &'a str,
    format: Option<&'static str>,
    lines: u64,
    parsed: u64,
    rejected: u64,
    samples: &'a [String],
}

#[derive(Serialize)]
struct Instance<'a> {
    instance: &'a str,
    aliases: &'a [String],
    attempts: u64,
    errors: u64,
    probes: u64,
    bytes: u64,
    p50_ms: Value,
    p90_ms: Value,
    share: f64,
    restarts: Restarts,
    transitions: u64,
    version: Option<&'a str>,
    ready_ms: Value,
    known_ms: Value,
    in_rotation_ms: Value,
    first: Value,
    last: Value,
}

#[derive(Serialize)]
struct Restarts {
    certain: u64,
    probable: u64,
}

#[derive(Serialize)]
struct Ready {
    at: Value,
    /// Null: not known.
    ready: Option<u32>,
    source: &'static str,
    by: BySource,
}

/// A stretch in which nobody was ready.
#[derive(Serialize)]
struct Out<'a> {
    pool: &'a str,
    from: Value,
    to: Value,
    /// Of the windows that it touches.
    seen: &'a Seen,
    platform: Option<&'static str>,
    documented: String,
}

#[derive(Serialize)]
struct Removal<'a> {
    instance: &'a str,
    failed_at: Value,
    removed_at: Value,
    returned_at: Value,
    cause: &'static str,
    source: &'static str,
    ttr_ms: Value,
    ttb_ms: Value,
    resolution_ms: Value,
    harmed: u64,
    client_visible: u64,
    minimum_ms: Value,
}

#[derive(Serialize)]
struct Finding<'a> {
    kind: &'static str,
    instances: &'a [String],
    from: Value,
    found_at: Value,
    to: Value,
    sentence: &'a str,
    evidence: &'a Value,
    scope: finding::Scope,
    severity: finding::Gravity,
    pool: &'a str,
    chronic: bool,
}

pub(super) fn text(report: &Report) -> String {
    let mut instances: Vec<Instance<'_>> = all(report, |pool| &pool.instances, instance);
    instances.sort_by_key(|instance| instance.instance);
    let summary = Summary {
        files: report.files.iter().map(file).collect(),
        from: at(report.span.map(|span| span.0)),
        to: at(report.span.map(|span| span.1)),
        instances,
        ready: all(report, |pool| &pool.ready, ready),
        all_out: report
            .pools
            .iter()
            .flat_map(|pool| pool.all_out.iter().map(|o| out(pool, o)))
            .collect(),
        removals: all(report, |pool| &pool.removals, removal),
        findings: all(report, |pool| &pool.findings, finding),
    };
    // Nothing in it can fail to be written.
    serde_json::to_string_pretty(&summary).unwrap_or_default() + "\n"
}

/// A stamp in µs as RFC 3339, or null.
pub(super) fn at(us: Option<i64>) -> Value {
    let at = us.and_then(|us| Timestamp::from_microsecond(us).ok());
    at.map_or(Value::Null, |at| Value::String(at.to_string()))
}

fn all<'a, T: 'a, U>(
    report: &'a Report,
    of: impl Fn(&'a PoolReport) -> &'a Vec<T>,
    shown: impl Fn(&'a T) -> U,
) -> Vec<U> {
    report.pools.iter().flat_map(of).map(shown).collect()
}

fn file(file: &report::File) -> File<'_> {
    File {
        file: &file.name,
        format: file.format,
        lines: file.counts.lines,
        parsed: file.counts.parsed,
        rejected: file.counts.rejected,
        samples: &file.counts.samples,
    }
}

fn instance(standing: &Standing) -> Instance<'_> {
    let cell = &standing.cell;
    let Readiness { ready_us: ready, known_us: known, rotation_us: rotation, .. } =
        standing.readiness;
    let quantile =
        |q| cell.latency.quantile(q).map_or(Value::Null, |us| milliseconds(i64::from(us)));
    Instance {
        instance: &standing.name,
        aliases: &standing.aliases,
        attempts: cell.attempts,
        errors: cell.errors(),
        probes: cell.probes_passed + cell.probes_failed,
        bytes: cell.bytes,
        p50_ms: quantile(0.5),
        p90_ms: quantile(0.9),
        share: standing.share,
        restarts: Restarts {
            certain: standing.restarts.certain,
            probable: standing.restarts.probable,
        },
        transitions: standing.transitions,
        version: standing.version.as_deref(),
        ready_ms: if known > 0 { milliseconds(ready) } else { Value::Null },
        known_ms: if known > 0 { milliseconds(known) } else { Value::Null },
        in_rotation_ms: milliseconds(rotation),
        first: at(cell.first_us),
        last: at(cell.last_us),
    }
}

fn ready(point: &ReadyPoint) -> Ready {
    Ready {
        at: at(Some(point.at_us)),
        ready: point.ready,
        source: point.source.as_str(),
        by: point.by,
    }
}

fn out<'a>(pool: &'a PoolReport, stretch: &'a AllOut) -> Out<'a> {
    Out {
        pool: &pool.name,
        from: at(Some(stretch.from_us)),
        to: at(stretch.to_us),
        seen: &stretch.seen,
        platform: stretch.platform.map(|platform| platform.kind),
        documented: documented(stretch.platform),
    }
}

fn removal(removal: &timeline::Removal) -> Removal<'_> {
    Removal {
        instance: &removal.instance,
        failed_at: at(removal.failed_us),
        removed_at: at(Some(removal.removed_us)),
        returned_at: at(removal.returned_us),
        cause: removal.cause.as_str(),
        source: removal.source.as_str(),
        ttr_ms: removal.time_us().map_or(Value::Null, milliseconds),
        ttb_ms: removal.return_us().map_or(Value::Null, milliseconds),
        resolution_ms: milliseconds(removal.resolution_us),
        harmed: removal.harmed,
        client_visible: removal.client_visible,
        minimum_ms: removal.minimum_us.map_or(Value::Null, milliseconds),
    }
}

fn finding(finding: &finding::Finding) -> Finding<'_> {
    Finding {
        kind: finding.kind.as_str(),
        instances: &finding.instances,
        from: at(Some(finding.from_us)),
        found_at: at(Some(finding.found_us)),
        to: at(finding.to_us),
        sentence: &finding.sentence,
        evidence: &finding.evidence,
        scope: finding.scope,
        severity: finding.severity,
        pool: &finding.pool,
        chronic: finding.chronic,
    }
}

/// Whole ones as integers, others with up to three places.
pub(super) fn milliseconds(us: i64) -> Value {
    if us % 1_000 == 0 { json!(us / 1_000) } else { json!(us as f64 / 1_000.0) }
}
