//! A scheduled report as mail: the answer in a few lines, the page and the tables attached.

use super::message::{Message, Surroundings, Tone, instant, page};
use crate::domain::slo::{budget::State, context::Document};
use crate::publish::{
    csv::{self, Part},
    file_name, html,
    wording::{Zone, clock, counted, exact, pct, percent, period},
};

pub(super) fn compose(document: &Document, around: &Surroundings) -> Message {
    let (report, name) = (&document.report, document.name());
    let zone = Zone::of(report);
    let when = period(report, &zone);
    let achieved = pct(report.availability.pct.as_ref());
    let target = format!("{}\u{a0}%", report.slo.target_pct);
    let (tone, headline) = match (report.state, report.availability.met, report.window.complete) {
        (State::NoData, ..) => (Tone::Partial, format!("{name}: insufficient data")),
        (_, Some(true), true) => {
            (Tone::Up, format!("{name} met its target of {target}: {achieved}"))
        }
        (_, Some(false), true) => {
            (Tone::Down, format!("{name} missed its target of {target}: {achieved}"))
        }
        (State::Breached, ..) => {
            (Tone::Down, format!("{name} is at {achieved}, below its target of {target}"))
        }
        _ => (Tone::Up, format!("{name} is at {achieved} so far, {target} is wanted")),
    };
    let mut facts = vec![("Period", format!("{when} ({})", zone.name))];
    if report.state == State::NoData {
        facts.push(("Seen", pct(report.coverage.pct.as_ref())));
    }
    facts.push(("Down", clock(report.time_ms.down)));
    facts.push(("Incidents", counted(report.incidents.count, "incident", "incidents")));
    if let (Some(left), Some(total)) = (report.budget.remaining_ms, report.budget.total_ms) {
        let used = percent(report.budget.consumed_ratio);
        facts.push((
            "Budget",
            match left < 0 {
                true => format!("{used} of {} used, {} too much", exact(total), exact(-left)),
                false => format!("{used} of {} used, {} left", exact(total), exact(left)),
            },
        ));
    }
    if let Some(at) =
        document.context.generated_at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok())
    {
        facts.push(("Made", instant(at, &around.zone)));
    }
    facts.push(("sha256", report.sha256.clone()));
    let id = report.slo.id.as_deref().unwrap_or_default();
    let link = around.public_url.as_ref().and_then(|url| page(url, &format!("slos/{id}")));
    Message {
        subject: format!("Report: {name}, {when}"),
        headline,
        tone,
        sentence: match &document.context.customer {
            Some(customer) => format!("The availability report for {customer} is attached."),
            None => "The availability report is attached.".to_owned(),
        },
        facts,
        rows: Vec::new(),
        first: None,
        links: link.map(|link| ("SLO", link)).into_iter().collect(),
    }
}

/// Name, type and content of what is attached: the page, and every table.
pub(super) fn files(document: &Document) -> Vec<(String, &'static str, String)> {
    let name = file_name(document);
    let page = (format!("{name}.html"), "text/html; charset=utf-8", html::page(document));
    let tables = Part::ALL.into_iter().map(|part| {
        let name = format!("{name}-{}.csv", part.name());
        (name, "text/csv; charset=utf-8", csv::table(document, part))
    });
    std::iter::once(page).chain(tables).collect()
}
