//! Head of the report: what it is about, whether the target was met, and how the time adds up.

use maud::{Markup, html};

use super::glyph::{Mark, glyph, state};
use super::{View, section};
use crate::domain::slo::budget::State;
use crate::domain::slo::definition::{MaintenancePolicy, UnknownPolicy};
use crate::domain::slo::report::Report;
use crate::publish::document::instant;
use crate::publish::wording::{clock, counted, exact, grouped, pct, percent, plain_percent, share};

/// Whom it is for, what it is about, which time it covers: in the zone and in UTC.
pub(super) fn title(view: &View) -> Markup {
    let (report, context) = (&view.document.report, &view.document.context);
    let window = &report.window;
    let service = report.slo.service.as_ref().filter(|service| !service.is_empty());
    let bounds = instant(&window.start).zip(instant(&window.end));
    let changed = bounds.and_then(|(from, to)| view.zone.change(from, to));
    let revision = match (report.report_revision, context.frozen_at) {
        (Some(revision), Some(_)) => format!("Revision {revision}, final"),
        (Some(revision), None) => format!("Revision {revision}"),
        (None, _) => "Not frozen, figures may still change".to_owned(),
    };
    html! {
        header {
            div {
                p.m {
                    @match &context.customer {
                        Some(customer) => { "Availability report for " b { (customer) } }
                        None => { "Availability report" }
                    }
                }
                h1 { (view.document.name()) ", " (view.period) }
                p.s {
                    @if let Some(service) = service { "Service " b { (service) } }
                    @if let Some(subject) = &context.subject {
                        @if service.is_some() { ", watched as " } @else { "Watched as " }
                        b { (subject) }
                    }
                }
            }
            div.s.r {
                (view.zone.name) ", " (exact(window.length_ms))
                @if let Some(changed) = changed { " (" (changed) ")" }
                br;
                span.mono { (short(&window.start)) " – " (short(&window.end)) }
                br;
                (revision)
                @if let Some(at) = context.generated_at { ", made " (view.zone.dated(at)) }
                @if !window.complete {
                    br;
                    "Figures to " (instant(&window.watermark).map_or(window.watermark.clone(), |at| view.zone.dated(at)))
                }
            }
        }
    }
}

/// Without fractions of a second that are nought.
fn short(stamp: &str) -> String {
    stamp.replace(".000Z", "Z")
}

/// The four figures that people look for.
pub(super) fn verdict(view: &View) -> Markup {
    let report = &view.document.report;
    let (mark, word, remark) = answer(report);
    html! {
        section.verdict aria-label="Verdict" {
            div {
                span { "Target " (report.slo.target_pct) "\u{a0}%" }
                b { (glyph(mark)) (word) }
                span { (remark) }
            }
            div { (bad(report)) }
            div { (budget(report)) }
            div {
                span { "With what is not known" }
                b { (bounds(report)) }
                span {
                    @if report.availability.best == report.availability.worst { "nothing is unknown" }
                    @else { "all of it bad, none of it bad" }
                }
            }
        }
    }
}

/// Mark, words and what is to be said beside them. Too little data is never a pass.
pub(super) fn answer(report: &Report) -> (Mark, String, String) {
    let availability = &report.availability;
    let achieved = pct(availability.pct.as_ref());
    if report.state == State::NoData {
        let seen = pct(report.coverage.pct.as_ref());
        let least = plain_percent(report.slo.coverage_min);
        let remark = match &availability.pct {
            None => "nothing was measured".to_owned(),
            Some(_) => format!("{seen} was seen, {least} is needed; {achieved} of what was seen"),
        };
        return (Mark::Unknown, "Insufficient data".to_owned(), remark);
    }
    let exact = quotient(report);
    match (availability.met, report.window.complete) {
        (Some(true), true) => (Mark::Up, format!("Met: {achieved}"), exact),
        (Some(false), true) => (Mark::Down, format!("Missed: {achieved}"), exact),
        (_, false) if report.state == State::Breached => (
            Mark::Down,
            format!("Missed: {achieved}"),
            "so far; the budget is overspent".to_owned(),
        ),
        (Some(true), false) => (Mark::Up, format!("{achieved} so far"), exact),
        (Some(false), false) => {
            let remark = "below the target so far, within the budget of the whole period";
            (Mark::Slow, format!("{achieved} so far"), remark.to_owned())
        }
        (None, _) => {
            let remark = "old results were kept as sums, too coarse to tell met from missed";
            (Mark::Unknown, format!("Not certain: {achieved}"), remark.to_owned())
        }
    }
}

/// The quotient that the percentage is cut off from; times as times.
fn quotient(report: &Report) -> String {
    let (time, availability) = (&report.time_ms, &report.availability);
    let (good, total) = (availability.good_num.parse(), availability.total_den.parse());
    match (good, total) {
        (Ok(good), Ok(total)) if total == time.up + time.down + time.partial => {
            format!("{} of {}", clock(good), clock(total))
        }
        _ => format!("{} of {}", availability.good_num, availability.total_den),
    }
}

fn bad(report: &Report) -> Markup {
    let outages = &report.outages.figures;
    let incidents = counted(report.incidents.count, "incident", "incidents");
    let open =
        if outages.open > 0 { format!(", {} still open", outages.open) } else { String::new() };
    if report.budget.total_ms.is_some() {
        return html! {
            span { "Down" }
            b { (clock(report.time_ms.down)) }
            span { (incidents) (open) }
        };
    }
    let events = &report.events;
    html! {
        span { "Bad " (unit(report)) }
        b { (grouped(events.total.saturating_sub(events.good))) }
        span { "of " (grouped(events.total)) "; down " (clock(report.time_ms.down)) }
    }
}

/// What one event is called.
pub(super) fn unit(report: &Report) -> &'static str {
    match report.slo.sli.as_str() {
        "slices" => "slices",
        "requests" => "requests",
        _ => "results",
    }
}

fn budget(report: &Report) -> Markup {
    let budget = &report.budget;
    let (left, total) = match (budget.remaining_ms, budget.total_ms, budget.remaining, budget.total)
    {
        (Some(left), Some(total), ..) => (left_of(left), exact(total)),
        (.., Some(left), Some(total)) => {
            let sign = if left < 0 { "−" } else { "" };
            let all = format!("{total:.1} {}", unit(report));
            (format!("{sign}{}", grouped(left.unsigned_abs())), all)
        }
        _ => return html! { span { "Budget left" } b { "–" } },
    };
    let over = budget.remaining_ms.or(budget.remaining).is_some_and(|left| left < 0);
    html! {
        span { @if over { "Budget overspent" } @else { "Budget left" } }
        b { (left) }
        span { (percent(budget.consumed_ratio)) " of " (total) " used" }
    }
}

fn left_of(left: i64) -> String {
    // Cut towards what is worse, to the second unless that would say nothing.
    let seconds = left.div_euclid(1_000) * 1_000;
    exact(if (0..60_000).contains(&left) || left < 0 { left.abs() } else { seconds })
}

fn bounds(report: &Report) -> String {
    let availability = &report.availability;
    match (&availability.worst_pct, &availability.best_pct) {
        (Some(worst), Some(best)) if worst == best => pct(Some(worst)),
        (Some(worst), Some(best)) => format!("{worst}–{best}"),
        _ => "–".to_owned(),
    }
}

/// Every instant of the window is in exactly one class.
pub(super) fn classes(view: &View) -> Markup {
    let report = &view.document.report;
    let (time, length) = (&report.time_ms, report.window.length_ms);
    let mut rows = vec![
        (Mark::Up, "Up", time.up, up_means(report)),
        (Mark::Down, "Down", time.down, "bad".to_owned()),
        (Mark::Partial, "Partial", time.partial, partial_means(report)),
        (Mark::Unknown, "Unknown", time.unknown, unknown_means(report)),
        (Mark::Maintenance, "Maintenance", time.excluded, maintenance_means(view)),
    ];
    let rest = [
        (Mark::Paused, "Paused", time.paused, "left out"),
        (Mark::Paused, "Not monitored", time.not_monitored, "left out"),
        (Mark::Paused, "Still to come", time.remaining, "not counted yet"),
    ];
    rows.extend(
        rest.into_iter().filter(|row| row.2 > 0).map(|(m, w, t, s)| (m, w, t, s.to_owned())),
    );
    let content = html! {
        table {
            thead { tr { th { "Class" } th.n { "h:mm:ss" } th.n { "of the window" } th { "Treated as" } } }
            tbody {
                @for (mark, word, length_of, means) in &rows {
                    tr {
                        td { (state(*mark, word)) }
                        td.n { (clock(*length_of)) }
                        td.n { (share(*length_of, length)) }
                        td { (means) }
                    }
                }
                tr.b {
                    td { (view.period) }
                    td.n { (clock(length)) }
                    td.n { (share(length, length)) }
                    td {}
                }
            }
        }
        p.s.foot { (beside(report)) }
    };
    section("How it adds up", "every instant is in exactly one class", &content)
}

/// Raw figure, coverage, and results where they are the unit.
fn beside(report: &Report) -> String {
    let raw = pct(report.availability.raw_pct.as_ref());
    let adjusted = pct(report.availability.pct.as_ref());
    let mut text = format!(
        "With maintenance counted like any other time: {raw}; as agreed: {adjusted}. Coverage {}: the known part of what counts.",
        pct(report.coverage.pct.as_ref())
    );
    if report.events.expected > 0 {
        let events = &report.events;
        text += &format!(
            " {} results were expected: {} passed of {} that count, {} did not count, {} are missing.",
            grouped(events.expected),
            grouped(events.good),
            grouped(events.total),
            grouped(events.invalid),
            grouped(events.missing)
        );
    }
    if let Some(shares) = report.requests.filter(|shares| shares.by_monitor_ms > 0) {
        let of = |ms: u64| exact(i64::try_from(ms).unwrap_or(i64::MAX));
        text += &format!(
            " {} were judged by requests of clients, {} by probes.",
            of(shares.by_requests_ms),
            of(shares.by_monitor_ms)
        );
    }
    text
}

fn up_means(report: &Report) -> String {
    let slow = report.time_ms.degraded;
    if slow > 0 { format!("good; of it slow {}", clock(slow)) } else { "good".to_owned() }
}

fn partial_means(report: &Report) -> String {
    match report.slo.partial_weight_ppm {
        0 => "good, told apart".to_owned(),
        1_000_000 => "bad".to_owned(),
        weight => format!("{} of it bad", plain_percent(f64::from(weight) / 1e6)),
    }
}

pub(super) fn unknown_means(report: &Report) -> String {
    match report.slo.unknown_policy {
        UnknownPolicy::Exclude => "left out; the bounds above say what if".to_owned(),
        UnknownPolicy::Up => "counted as good".to_owned(),
        UnknownPolicy::Down => "counted as bad".to_owned(),
    }
}

fn maintenance_means(view: &View) -> String {
    let inside = view.document.context.maintenance.iter().filter_map(|m| m.down_ms).sum::<i64>();
    let down = if inside > 0 { format!("; {} of it down", clock(inside)) } else { String::new() };
    let means = match view.document.report.slo.maintenance_policy {
        MaintenancePolicy::Exclude => "left out",
        MaintenancePolicy::CountAsUp => "counted as good",
        MaintenancePolicy::Ignore => "not treated apart",
    };
    format!("{means}{down}")
}
