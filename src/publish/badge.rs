//! Badges as Shields reads them. Unknown keys are refused there, so a badge has no others.

use serde::Serialize;

use super::summary::State;
use crate::domain::slo::budget;
use crate::domain::slo::report::Report;

/// A badge for `https://img.shields.io/endpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Badge {
    pub schema_version: u8,
    pub label: String,
    pub message: String,
    pub color: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    pub cache_seconds: u32,
}

const CACHE_SECONDS: u32 = 300;

/// Of an SLO: what was achieved, and whether that is well.
pub fn of_slo(report: &Report) -> Badge {
    let known = report.state != budget::State::NoData;
    let pct = report.availability.pct.as_ref().filter(|_| known);
    let Some(pct) = pct else { return no_data(label(report)) };
    let consumed = report.budget.consumed_ratio.unwrap_or(1.0);
    let color = match report.state {
        budget::State::Breached => "red",
        budget::State::Burning => "orange",
        budget::State::AtRisk | budget::State::Exhausted => "yellow",
        _ if report.availability.met == Some(true) && consumed < 0.75 => "brightgreen",
        _ if report.availability.met == Some(true) && report.window.complete => "green",
        _ => "yellow",
    };
    badge(label(report), format!("{pct}%"), color)
}

/// Of a part of a status page: how it is now.
pub fn of_state(name: &str, state: State) -> Badge {
    let (message, color) = match state {
        State::Up => ("up", "brightgreen"),
        State::Slow => ("slow", "yellow"),
        State::Partial => ("partial outage", "orange"),
        State::Down => ("down", "red"),
        State::Maintenance => ("maintenance", "blue"),
        State::Unknown => return no_data(name.to_owned()),
    };
    badge(name.to_owned(), message.to_owned(), color)
}

fn badge(label: String, message: String, color: &'static str) -> Badge {
    Badge {
        schema_version: 1,
        label,
        message,
        color,
        is_error: false,
        cache_seconds: CACHE_SECONDS,
    }
}

fn no_data(label: String) -> Badge {
    Badge { is_error: true, ..badge(label, "no data".to_owned(), "lightgrey") }
}

/// `uptime 30d`, `latency this month`.
fn label(report: &Report) -> String {
    let what = match report.slo.sli.as_str() {
        "availability" | "slices" => "uptime",
        "latency" => "in time",
        "requests" => "requests answered",
        _ => "checks passed",
    };
    let window = &report.slo.window;
    let when = match (window.kind.as_str(), window.duration.as_deref()) {
        ("rolling", Some(duration)) => duration.to_owned(),
        (_, Some("1d")) => "today".to_owned(),
        (_, Some("1w")) => "this week".to_owned(),
        (_, Some("1M")) => "this month".to_owned(),
        (_, Some("1Q")) => "this quarter".to_owned(),
        (_, Some("1Y")) => "this year".to_owned(),
        _ => String::new(),
    };
    format!("{what} {when}").trim_end().to_owned()
}
