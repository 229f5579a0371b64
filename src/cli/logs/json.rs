//! The summary as one JSON document.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::report::{File, PoolReport, Report, Standing};
use crate::domain::fleet::finding::Finding;
use crate::domain::fleet::timeline::{ReadyPoint, Removal};

pub(super) fn text(report: &Report) -> String {
    let mut instances: Vec<Value> =
        report.pools.iter().flat_map(|pool| &pool.instances).map(instance).collect();
    instances.sort_by(|a, b| a["instance"].as_str().cmp(&b["instance"].as_str()));
    let document = json!({
        "files": report.files.iter().map(file).collect::<Vec<_>>(),
        "from": at(report.span.map(|span| span.0)),
        "to": at(report.span.map(|span| span.1)),
        "instances": instances,
        "ready": all(report, |pool| pool.ready.iter().map(ready).collect()),
        "removals": all(report, |pool| pool.removals.iter().map(removal).collect()),
        "findings": all(report, |pool| pool.findings.iter().map(finding).collect()),
    });
    format!("{document:#}\n")
}

/// A stamp in µs as RFC 3339, or null.
pub(super) fn at(us: Option<i64>) -> Value {
    let at = us.and_then(|us| Timestamp::from_microsecond(us).ok());
    at.map_or(Value::Null, |at| Value::String(at.to_string()))
}

fn all(report: &Report, of: impl Fn(&PoolReport) -> Vec<Value>) -> Vec<Value> {
    report.pools.iter().flat_map(of).collect()
}

fn file(file: &File) -> Value {
    json!({
        "file": file.name,
        "format": file.format,
        "lines": file.counts.lines,
        "parsed": file.counts.parsed,
        "rejected": file.counts.rejected,
        "samples": file.counts.samples,
    })
}

fn instance(standing: &Standing) -> Value {
    let cell = &standing.cell;
    let ms = |q| cell.latency.quantile(q).map(|us| milliseconds(i64::from(us)));
    json!({
        "instance": standing.name,
        "aliases": standing.aliases,
        "attempts": cell.attempts,
        "errors": cell.errors(),
        "probes": cell.probes_passed + cell.probes_failed,
        "bytes": cell.bytes,
        "p50_ms": ms(0.5),
        "p90_ms": ms(0.9),
        "share": standing.share,
        "restarts": {
            "certain": standing.restarts.certain,
            "probable": standing.restarts.probable,
        },
        "transitions": standing.transitions,
        "first": at(cell.first_us),
        "last": at(cell.last_us),
    })
}

fn ready(point: &ReadyPoint) -> Value {
    json!({ "at": at(Some(point.at_us)), "ready": point.ready, "source": point.source.as_str() })
}

fn removal(removal: &Removal) -> Value {
    json!({
        "instance": removal.instance,
        "failed_at": at(removal.failed_us),
        "removed_at": at(Some(removal.removed_us)),
        "cause": removal.cause.as_str(),
        "source": removal.source.as_str(),
        "ttr_ms": removal.time_us().map(milliseconds),
        "resolution_ms": milliseconds(removal.resolution_us),
        "harmed": removal.harmed,
        "client_visible": removal.client_visible,
        "minimum_ms": removal.minimum_us.map(milliseconds),
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.as_str(),
        "scope": finding.scope,
        "severity": finding.severity,
        "pool": finding.pool,
        "instances": finding.instances,
        "from": at(Some(finding.from_us)),
        "to": at(finding.to_us),
        "chronic": finding.chronic,
        "sentence": finding.sentence,
        "evidence": finding.evidence,
    })
}

/// Whole ones as integers, others with up to three places.
pub(super) fn milliseconds(us: i64) -> Value {
    if us % 1_000 == 0 { json!(us / 1_000) } else { json!(us as f64 / 1_000.0) }
}
