//! The tables of the report: outages, maintenance, locations, latency, alerts, what the data lacks.

use maud::{Markup, html};

use super::chart::met;
use super::{View, section};
use crate::domain::Millis;
use crate::domain::slo::definition::RuleSeverity;
use crate::domain::slo::report::{Location, Maintenance, OutageOf};
use crate::publish::document::{Change, ChangeKind, FiredAlert, Gap, Incident, instant};
use crate::publish::wording::{
    NONE, clock, counted, exact, exact_or_none, grouped, latency as millis, mean, pct,
};

/// Outages with what was seen and who answered; the figures made from them.
pub(super) fn outages(view: &View) -> Markup {
    let outages = &view.document.report.outages;
    let count = counted(view.document.report.incidents.count, "incident", "incidents");
    if outages.list.is_empty() {
        let content = html! { p.s.foot { "No time in which it was down." } };
        return section("Incidents", &count, &content);
    }
    let content = html! {
        div.scroll { table {
            thead { tr {
                th { "From – to, " (view.zone.name) " and UTC" } th.n { "Down" }
                th { "Cause, as seen from outside" } th { "Failing at" } th.n { "Seen after" }
                th.n { "Answered" }
            } }
            tbody { @for outage in &outages.list { (outage_row(view, outage)) } }
        } }
        p.s.foot { (figures(view)) }
    };
    let remark = format!("{count}; from the first failing to the first passing result");
    section("Incidents", &remark, &content)
}

fn outage_row(view: &View, outage: &OutageOf) -> Markup {
    let incident = view.document.incident(outage.incident.as_ref());
    let (from, to) = (instant(&outage.start), outage.end.as_ref().and_then(|end| instant(end)));
    let since = |at: Option<Millis>| from.zip(at).map(|(from, at)| (at - from).max(0));
    let answered = incident.and_then(|i| Some((i.acked_at? - i.confirmed_at?).max(0)));
    let whole = outage.ongoing || outage.duration_full_ms != outage.downtime_ms;
    html! {
        tr {
            td.w {
                (from.map_or(outage.start.clone(), |from| view.zone.span(from, to)))
                br;
                span.mono.m { (utc(outage)) }
            }
            td.n {
                (exact(outage.downtime_ms))
                @if whole {
                    br;
                    span.m { "of " (exact(outage.duration_full_ms)) @if outage.ongoing { " so far" } }
                }
            }
            td.any { (cause(incident)) }
            td { (failing(incident)) }
            td.n { (mean(since(incident.and_then(|i| i.confirmed_at)))) }
            td.n {
                (mean(answered))
                @if let Some(by) = incident.and_then(|i| i.acked_by.as_ref()) { br; span.m { (by) } }
            }
        }
    }
}

/// The same in UTC; on the same day the day is told once.
fn utc(outage: &OutageOf) -> String {
    let short = |stamp: &str| stamp.replace(".000Z", "Z");
    let start = short(&outage.start);
    let Some(end) = outage.end.as_ref().map(|end| short(end)) else {
        return format!("{start} – goes on");
    };
    match (start.split_once('T'), end.split_once('T')) {
        (Some((day, _)), Some((same, time))) if day == same => format!("{start} – {time}"),
        _ => format!("{start} – {end}"),
    }
}

fn cause(incident: Option<&Incident>) -> Markup {
    let cause = incident.and_then(|i| i.cause.as_ref());
    let first = incident.and_then(|i| i.first_error.as_ref()).filter(|first| Some(*first) != cause);
    html! {
        (cause.or(first).map_or(NONE, String::as_str))
        @if cause.is_some() { @if let Some(first) = first { br; span.m { (cut(first)) } } }
    }
}

/// Errors can be long; the table of incidents has all of it.
fn cut(text: &str) -> String {
    const LONGEST: usize = 90;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}

fn failing(incident: Option<&Incident>) -> Markup {
    let Some(incident) = incident.filter(|incident| !incident.locations_failed.is_empty()) else {
        return html! { (NONE) };
    };
    let (names, failed) = (incident.locations_failed.join(", "), incident.locations_failed.len());
    html! {
        @if let Some(counted) = incident.locations_counted {
            (failed) " of " (counted) br;
        }
        span.m { (names) }
    }
}

fn figures(view: &View) -> String {
    let figures = &view.document.report.outages.figures;
    let mut parts = vec![
        counted(figures.count, "outage", "outages"),
        format!("longest {}", exact_or_none(figures.longest_ms)),
    ];
    if figures.longest_full_ms != figures.longest_ms {
        parts.push(format!("longest in full {}", exact_or_none(figures.longest_full_ms)));
    }
    parts.push(format!("mean to recover (MTTR) {}", mean(figures.mttr_ms)));
    parts.push(format!("mean between failures (MTBF) {}", mean(figures.mtbf_ms)));
    parts.push(format!("mean to see (MTTD) {}", mean(figures.mttd_ms)));
    parts.push(format!("mean to answer (MTTA) {}", mean(figures.mtta_ms)));
    let open = match figures.open {
        0 => "none was open at the end".to_owned(),
        open => format!("{open} still open at the end"),
    };
    format!("{}; {open}.", parts.join(" · "))
}

/// What was declared in time, and what was said afterwards.
pub(super) fn maintenance(view: &View) -> Markup {
    let all = &view.document.report.maintenance;
    let (corrections, planned): (Vec<_>, Vec<_>) = all.iter().partition(|m| m.kind == "correction");
    let content = html! {
        div.scroll { table {
            thead { tr {
                th { "Kind" } th { "Window, " (view.zone.name) } th { "Declared" } th.n { "Left out" }
                th.n { "Down inside" } th { "Reason and scope" }
            } }
            tbody {
                @for entry in &planned { (maintenance_row(view, entry, "Maintenance")) }
                @if planned.is_empty() { tr { td { "Maintenance" } td.m colspan="5" { "none" } } }
                @for entry in &corrections { (maintenance_row(view, entry, "Correction")) }
                @if corrections.is_empty() {
                    tr { td { "Corrections" } td.m colspan="5" { "none: nothing was left out after the fact" } }
                }
            }
        } }
    };
    section("Planned work and corrections", "", &content)
}

fn maintenance_row(view: &View, entry: &Maintenance, kind: &str) -> Markup {
    let more = view.document.maintenance(&entry.id, &entry.start);
    let start = instant(&entry.start);
    let window = match start {
        Some(start) => view.zone.span(start, instant(&entry.end)),
        None => format!("{} – {}", entry.start, entry.end),
    };
    let late = more.and_then(|m| m.declared_at).zip(start).is_some_and(|(at, start)| at >= start);
    html! {
        tr {
            td { (kind) }
            td.w { (window) }
            td {
                @match more.and_then(|m| m.declared_at) {
                    Some(at) => (view.zone.instant(at / 1_000 * 1_000)),
                    None => (NONE),
                }
                @if let Some(by) = more.and_then(|m| m.declared_by.as_ref()) { ", " (by) }
                @if late && kind == "Maintenance" { br; span.m { "while it ran: the time before counts" } }
            }
            td.n { (clock(entry.excluded_ms)) }
            td.n { (more.and_then(|m| m.down_ms).map_or(NONE.to_owned(), clock)) }
            td.any {
                (entry.reason)
                @if let Some(scope) = more.map(|m| &m.scope).filter(|scope| !scope.is_empty()) {
                    @if !entry.reason.is_empty() { br; }
                    span.m { (scope) }
                }
            }
        }
    }
}

/// How each location saw it, or each member of a composite.
pub(super) fn locations(view: &View) -> Markup {
    let report = &view.document.report;
    if let Some(members) = &report.members {
        let names = &view.document.context.members;
        let name_of = |id: &str| {
            names
                .iter()
                .find(|known| known.id == id)
                .map_or(id.to_owned(), |known| known.name.clone())
        };
        let content = html! {
            table {
                thead { tr { th { "Part" } th.n { "Achieved" } } }
                tbody {
                    @for member in members {
                        tr { td { (name_of(&member.id)) } td.n { (crate::publish::wording::percent(member.ratio)) } }
                    }
                }
            }
        };
        return section(
            "Parts",
            "the verdict is made of their timelines, not of these figures",
            &content,
        );
    }
    if report.locations.is_empty() {
        return html! {};
    }
    let timed = report.locations.iter().any(|l| l.down_ms.is_some());
    let content = html! {
        div.scroll { table {
            thead { tr {
                th { "Location" } th.n { (if timed { "Achieved" } else { "Passed" }) } th.n { "Results" } th.n { "Coverage" }
                @if timed { th.n { "Down" } th.n { "Unknown" } }
                th.n { "p50" } th.n { "p95" } th.n { "p99" }
            } }
            tbody { @for location in &report.locations { (location_row(location, timed)) } }
        } }
    };
    section("From each location", "one location alone is not the verdict", &content)
}

fn location_row(location: &Location, timed: bool) -> Markup {
    let time = |length: Option<Millis>| length.map_or(NONE.to_owned(), clock);
    html! {
        tr {
            td { b { (location.id) } }
            td.n { (pct(location.pct.as_ref())) }
            td.n { (grouped(location.good)) " of " (grouped(location.events)) }
            td.n { (pct(location.coverage_pct.as_ref())) }
            @if timed { td.n { (time(location.down_ms)) } td.n { (time(location.unknown_ms)) } }
            td.n { (millis(location.p50)) }
            td.n { (millis(location.p95)) }
            td.n { (millis(location.p99)) }
        }
    }
}

/// Latency of passes, and SLOs on it.
pub(super) fn latency(view: &View) -> Markup {
    let seen = &view.document.report.latency_ms;
    let slos = &view.document.context.latency_slos;
    if seen.n == 0 && slos.is_empty() {
        return html! {};
    }
    let how = match seen.relative_error {
        Some(error) => format!("sums were kept: percentiles within {:.1}\u{a0}%", error * 100.0),
        None => "nearest rank: each is a value that was measured".to_owned(),
    };
    let remark = format!("{} passing results; {how}", grouped(seen.n));
    let content = html! {
        div.keep {
            table {
                thead { tr { th { "Mean" } th { "p50" } th { "p75" } th { "p90" } th { "p95" } th { "p99" } th { "Slowest" } } }
                tbody { tr {
                    @for value in [seen.mean, seen.p50, seen.p75, seen.p90, seen.p95, seen.p99, seen.max] {
                        td { (millis(value)) }
                    }
                } }
            }
            @if !slos.is_empty() {
                table {
                    thead { tr { th { "SLO on latency" } th { "Within" } th.n { "Achieved" } th.n { "Target" } th.n { "Verdict" } } }
                    tbody {
                        @for slo in slos {
                            tr {
                                td { (slo.name) }
                                td { (millis(Some(slo.threshold_ms))) }
                                td.n { (pct(slo.pct.as_ref())) }
                                td.n { (slo.target_pct) "\u{a0}%" }
                                td.n { (met(slo.met)) }
                            }
                        }
                    }
                }
            }
        }
    };
    section("Latency", &remark, &content)
}

/// Alerts on how fast the budget burnt.
pub(super) fn alerts(view: &View) -> Markup {
    let Some(alerts) = &view.document.context.alerts else { return html! {} };
    let content = html! {
        @if alerts.is_empty() { p.s.foot { "None fired." } }
        @else {
            div.scroll { table {
                thead { tr {
                    th { "Rule" } th { "Looks back" } th.n { "Fires at" } th.n { "At worst" }
                    th { "From – to, " (view.zone.name) } th { "Did" }
                } }
                tbody { @for alert in alerts { (alert_row(view, alert)) } }
            } }
        }
    };
    section("Burn alerts that fired", "times the even pace of the budget", &content)
}

fn alert_row(view: &View, alert: &FiredAlert) -> Markup {
    let rate = |rate: Option<f64>| match rate {
        None => NONE.to_owned(),
        Some(rate) if rate < 100.0 => format!("{rate:.1}"),
        Some(rate) => grouped(rate.max(0.0) as u64),
    };
    let severity = match alert.severity {
        RuleSeverity::Page => "page",
        RuleSeverity::Ticket => "ticket",
    };
    html! {
        tr {
            td { (alert.rule) }
            td.w { (lookback(&alert.long)) " and " (lookback(&alert.short)) }
            td.n { (rate(alert.factor)) }
            td.n { (rate(alert.worst_long)) " / " (rate(alert.worst_short)) }
            td.w { (view.zone.span(alert.from, alert.to)) }
            td { (alert.did.as_deref().unwrap_or(severity)) }
        }
    }
}

/// `1 h` of `1h`.
fn lookback(label: &str) -> String {
    let digits = label.chars().take_while(char::is_ascii_digit).count();
    let (number, unit) = label.split_at(digits);
    format!("{number}\u{a0}{}", if unit == "m" { "min" } else { unit })
}

/// Gaps, and what was changed meanwhile.
pub(super) fn quality(view: &View) -> Markup {
    let context = &view.document.context;
    if context.gaps.is_none() && context.changes.is_none() {
        return html! {};
    }
    let gaps = context.gaps.as_deref().unwrap_or_default();
    let changes = context.changes.as_deref().unwrap_or_default();
    let content = html! {
        @if gaps.is_empty() && changes.is_empty() {
            p.s.foot { "Nothing: no gap, no change of the settings, no pause." }
        } @else {
            div.scroll { table {
                thead { tr { th { "When, " (view.zone.name) } th.n { "Length" } th { "What" } th { "Effect" } } }
                tbody {
                    @for gap in gaps { (gap_row(view, gap)) }
                    @for change in changes { (change_row(view, change)) }
                }
            } }
        }
        p.s.foot { (quiet(gaps, changes)) }
    };
    section(
        "What the data lacks",
        "unknown stretches over 5 min, and changes in the window",
        &content,
    )
}

fn gap_row(view: &View, gap: &Gap) -> Markup {
    html! {
        tr {
            td.w { (view.zone.span(gap.from, gap.to)) }
            td.n { (gap.to.map_or("goes on".to_owned(), |to| exact(to - gap.from))) }
            td.any { (gap.reason) }
            td { "unknown" }
        }
    }
}

fn change_row(view: &View, change: &Change) -> Markup {
    let effect = match change.kind {
        ChangeKind::Created => "measured from then on",
        ChangeKind::Deleted => "measured until then",
        ChangeKind::Paused => "not measured from then on",
        ChangeKind::Resumed => "measured again",
        ChangeKind::Interval => "results before and after count alike",
        ChangeKind::Reconfigured => "judged by it from then on",
        ChangeKind::LateData => "what was unknown became known",
    };
    html! {
        tr {
            td.w { (view.zone.instant(change.at / 1_000 * 1_000)) }
            td.n { (NONE) }
            td.any {
                (change.subject) ": " (change.what)
                @if let Some(by) = &change.by { ", by " (by) }
            }
            td { (effect) }
        }
    }
}

/// What did not happen, so that its absence is no omission.
fn quiet(gaps: &[Gap], changes: &[Change]) -> String {
    let has = |kind: ChangeKind| changes.iter().any(|change| change.kind == kind);
    let mut parts = Vec::new();
    if gaps.is_empty() {
        parts.push("No gap over 5\u{a0}min.");
    }
    if !has(ChangeKind::Interval) {
        parts.push("Interval unchanged.");
    }
    if !has(ChangeKind::Paused) && !has(ChangeKind::Resumed) {
        parts.push("Not paused.");
    }
    if !has(ChangeKind::Created) {
        parts.push("Created before the window.");
    }
    if !has(ChangeKind::LateData) {
        parts.push("No late result changed a figure.");
    }
    parts.join(" ")
}
