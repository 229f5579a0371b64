//! Five tables of one report (spec: slo 5.2), as RFC 4180 has them: UTF-8, CRLF, a header row. Nothing is
//! rounded up; what is not known is an empty field, never a nought.

use super::document::Document;
use crate::domain::Millis;
use crate::domain::slo::report::{OutageOf, Report, stamp};

/// One of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Summary,
    Incidents,
    Days,
    Locations,
    Maintenance,
}

impl Part {
    pub const ALL: [Self; 5] =
        [Self::Summary, Self::Incidents, Self::Days, Self::Locations, Self::Maintenance];

    /// Its name, which with `.csv` is that of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Incidents => "incidents",
            Self::Days => "days",
            Self::Locations => "locations",
            Self::Maintenance => "maintenance",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

/// The table as text.
pub fn table(document: &Document, part: Part) -> String {
    match part {
        Part::Summary => summary(&document.report),
        Part::Incidents => incidents(document),
        Part::Days => days(&document.report),
        Part::Locations => locations(&document.report),
        Part::Maintenance => maintenance(document),
    }
}

fn summary(report: &Report) -> String {
    let (slo, window, time) = (&report.slo, &report.window, &report.time_ms);
    let (availability, budget) = (&report.availability, &report.budget);
    let (outages, latency) = (&report.outages.figures, &report.latency_ms);
    let row = [
        ("report_revision", number(report.report_revision)),
        ("slo_id", free(slo.id.as_deref())),
        ("slo_name", free(slo.name.as_deref())),
        ("service", free(slo.service.as_deref())),
        ("window_start_utc", window.start.clone()),
        ("window_end_utc", window.end.clone()),
        ("timezone", slo.window.timezone.clone()),
        ("window_seconds", seconds(window.length_ms)),
        ("target_pct", slo.target_pct.clone()),
        ("availability_pct", given(&availability.pct)),
        ("availability_raw_pct", given(&availability.raw_pct)),
        ("availability_best_pct", given(&availability.best_pct)),
        ("availability_worst_pct", given(&availability.worst_pct)),
        ("met", number(availability.met)),
        ("state", report.state.name().to_owned()),
        ("measured_s", seconds(time.up + time.down + time.partial)),
        ("down_s", seconds(time.down)),
        ("partial_s", seconds(time.partial)),
        ("unknown_s", seconds(time.unknown)),
        ("excluded_s", seconds(time.excluded)),
        ("paused_s", seconds(time.paused)),
        ("not_monitored_s", seconds(time.not_monitored)),
        ("coverage_pct", given(&report.coverage.pct)),
        ("budget_s", length(budget.total_ms)),
        ("budget_consumed_pct", budget.consumed_ratio.map_or_else(String::new, percent)),
        ("budget_remaining_s", length(budget.remaining_ms)),
        ("incidents", report.incidents.count.to_string()),
        ("incidents_open", outages.open.to_string()),
        ("longest_outage_s", length(outages.longest_ms)),
        ("mttr_s", length(outages.mttr_ms)),
        ("mtbf_s", length(outages.mtbf_ms)),
        ("mtta_s", length(outages.mtta_ms)),
        ("latency_mean_ms", number(latency.mean)),
        ("latency_p50_ms", number(latency.p50)),
        ("latency_p95_ms", number(latency.p95)),
        ("latency_p99_ms", number(latency.p99)),
    ];
    let heads = row.each_ref().map(|(head, _)| *head);
    rows(heads, [row.map(|(_, field)| field)])
}

/// A row for each outage, so that downtimes add up; several may lie in one incident.
fn incidents(document: &Document) -> String {
    let of = |outage: &OutageOf| {
        let incident = document.incident(outage.incident.as_ref());
        let at = |at: Option<Millis>| at.map_or_else(String::new, stamp);
        let monitor = incident.and_then(|i| i.monitor.as_deref());
        let failed = incident.map(|i| i.locations_failed.join(" "));
        [
            free(outage.incident.as_deref()),
            free(document.report.slo.id.as_deref()),
            free(monitor.or(document.context.subject.as_deref())),
            outage.start.clone(),
            at(incident.and_then(|i| i.confirmed_at)),
            given(&outage.end),
            outage.ongoing.to_string(),
            seconds(outage.duration_full_ms),
            seconds(outage.downtime_ms),
            seconds(outage.excluded_ms),
            seconds(outage.unknown_ms),
            free(incident.and_then(|i| i.cause.as_deref())),
            free(failed.as_deref()),
            free(incident.and_then(|i| i.first_error.as_deref())),
            at(incident.and_then(|i| i.acked_at)),
            free(incident.and_then(|i| i.acked_by.as_deref())),
        ]
    };
    let heads = [
        "incident_id",
        "slo_id",
        "monitor",
        "started_utc",
        "confirmed_utc",
        "ended_utc",
        "ongoing",
        "duration_full_s",
        "downtime_in_window_s",
        "excluded_s",
        "unknown_s",
        "cause",
        "locations_failed",
        "first_error",
        "acked_utc",
        "acked_by",
    ];
    rows(heads, document.report.outages.list.iter().map(of))
}

fn days(report: &Report) -> String {
    let heads = [
        "slo_id",
        "date",
        "length_s",
        "availability_pct",
        "down_s",
        "partial_s",
        "unknown_s",
        "excluded_s",
        "incidents",
        "latency_p95_ms",
    ];
    let days = report.days.iter().map(|day| {
        [
            free(report.slo.id.as_deref()),
            day.date.clone(),
            seconds(day.length_ms),
            given(&day.pct),
            seconds(day.down_ms),
            seconds(day.partial_ms),
            seconds(day.unknown_ms),
            seconds(day.excluded_ms),
            day.outages.to_string(),
            number(day.latency_p95_ms),
        ]
    });
    rows(heads, days)
}

fn locations(report: &Report) -> String {
    let heads = [
        "slo_id",
        "location",
        "events_good",
        "events_total",
        "ratio_pct",
        "down_s",
        "unknown_s",
        "coverage_pct",
        "p50_ms",
        "p95_ms",
        "p99_ms",
    ];
    let locations = report.locations.iter().map(|location| {
        [
            free(report.slo.id.as_deref()),
            free(Some(&location.id)),
            location.good.to_string(),
            location.events.to_string(),
            given(&location.pct),
            length(location.down_ms),
            length(location.unknown_ms),
            given(&location.coverage_pct),
            number(location.p50),
            number(location.p95),
            number(location.p99),
        ]
    });
    rows(heads, locations)
}

fn maintenance(document: &Document) -> String {
    let heads =
        ["id", "kind", "declared_utc", "start_utc", "end_utc", "excluded_s", "scope", "reason"];
    let all = document.report.maintenance.iter().map(|entry| {
        let more = document.maintenance(&entry.id, &entry.start);
        [
            free(Some(&entry.id)),
            entry.kind.clone(),
            more.and_then(|m| m.declared_at).map_or_else(String::new, stamp),
            entry.start.clone(),
            entry.end.clone(),
            seconds(entry.excluded_ms),
            free(more.map(|m| m.scope.as_str())),
            free(Some(&entry.reason)),
        ]
    });
    rows(heads, all)
}

/// Every row has a field for each head, and writing into memory does not fail.
fn rows<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let _ = writer.write_record(heads);
    for row in rows {
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Text that somebody chose. A spreadsheet would take one that begins like a formula for one, and run it.
fn free(text: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

fn given(text: &Option<String>) -> String {
    text.clone().unwrap_or_default()
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn length(value: Option<Millis>) -> String {
    value.map_or_else(String::new, seconds)
}

/// Seconds with the digits that they need: `2100`, `-1.2`, `0.001`.
fn seconds(length: Millis) -> String {
    let sign = if length < 0 { "-" } else { "" };
    let (whole, rest) = (length.unsigned_abs() / 1_000, length.unsigned_abs() % 1_000);
    let text = format!("{sign}{whole}.{rest:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Of a ratio, with seven decimals: enough to tell a budget that is just gone from one that is not.
fn percent(ratio: f64) -> String {
    format!("{:.7}", ratio * 100.0)
}
