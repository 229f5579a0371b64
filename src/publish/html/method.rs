//! How it was measured, for a reader who has nothing but this page; and how to check it.

use maud::{Markup, html};

use super::verdict::unit;
use super::{View, section};
use crate::domain::slo::definition::{MaintenancePolicy, UnknownPolicy};
use crate::domain::slo::report::Report;
use crate::publish::wording::{counted, plain_percent};

/// The box of methods: sentences, each with the word that it explains in front.
pub(super) fn method(view: &View) -> Markup {
    let report = &view.document.report;
    let parts = [
        ("Measured", measured(view)),
        ("Down", down(view)),
        ("Begin and end", "An outage counts from its first failing result to its first passing one, although it takes longer to be sure.".to_owned()),
        ("Unknown", unknown(view)),
        ("Maintenance", maintenance(report)),
        ("Achieved", achieved(report)),
        ("Budget", budget(report)),
        ("Figures", figures(view)),
    ];
    let content = html! {
        div.box.s {
            @for (word, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
                p { b { (word) ". " } (text) }
            }
        }
    };
    section("How this was measured", "", &content)
}

fn measured(view: &View) -> String {
    let method = &view.document.context.method;
    if let Some(called) = &method.called {
        return format!("Nobody probes it: the job calls by itself, and {called} is waited for.");
    }
    let Some(check) = &method.check else { return String::new() };
    let mut text = format!("{check}, from outside");
    if let Some(interval) = method.interval_s {
        text += &format!(", every {interval}\u{a0}s");
    }
    if !method.locations.is_empty() {
        let count = counted(method.locations.len() as u64, "location", "locations");
        text += &format!(" from {count} ({}", method.locations.join(", "));
        let spread =
            [(method.regions, "region", "regions"), (method.networks, "network", "networks")];
        let spread: Vec<String> = spread
            .into_iter()
            .filter_map(|(number, one, many)| Some(counted(number?.into(), one, many)))
            .collect();
        if !spread.is_empty() {
            text += &format!("; in {}", spread.join(" and "));
        }
        text.push(')');
    }
    if let Some(timeout) = method.timeout_s {
        text += &format!("; no answer within {timeout}\u{a0}s is a failure");
    }
    text + "."
}

fn down(view: &View) -> String {
    let (report, method) = (&view.document.report, &view.document.context.method);
    if let Some(quorum) = &report.slo.quorum {
        let needed = match (quorum.policy.as_str(), quorum.k) {
            ("majority", _) => "more than half of the locations with a result".to_owned(),
            ("any", _) => "at least one location".to_owned(),
            ("all", _) => "every location with a result".to_owned(),
            (_, k) => format!("at least {} locations", k.unwrap_or(1)),
        };
        let rounds = match quorum.confirm {
            1 => String::new(),
            rounds => format!(" in {rounds} rounds in a row"),
        };
        return format!(
            "It is down while it fails at {needed}{rounds}; partial while it fails at fewer. With fewer than {} results a round says nothing.",
            quorum.min_valid
        );
    }
    if method.called.is_some() {
        return "It is down from the moment on at which a call is late or says that the job failed, until the next success.".to_owned();
    }
    let mut text = match &method.quorum {
        Some(quorum) => format!("It is down while it fails at {quorum}; partial while it fails at fewer."),
        None => "It is down while it fails at as many locations as were agreed; partial while it fails at fewer.".to_owned(),
    };
    if let (Some(fails), Some(passes)) = (method.fail_after, method.pass_after) {
        text += &format!(
            " A location counts as failing after {fails} in a row, as passing after {passes}."
        );
    }
    text
}

fn unknown(view: &View) -> String {
    let report = &view.document.report;
    let method = &view.document.context.method;
    let when = match method.min_evidence {
        _ if method.called.is_some() => {
            "Time before the first call, or in which nobody could have heard one".to_owned()
        }
        Some(least) => format!("Time in which fewer than {least} locations could tell"),
        None => "Time in which too few locations could tell".to_owned(),
    };
    let means = match report.slo.unknown_policy {
        UnknownPolicy::Exclude => {
            "is neither up nor down. It is left out, and the bounds say what the result would be if all of it had been bad, or none"
        }
        UnknownPolicy::Up => "counts as up, as was agreed",
        UnknownPolicy::Down => "counts as down, as was agreed",
    };
    let least = plain_percent(report.slo.coverage_min);
    format!(
        "{when} {means}. With less than {least} known there is no verdict: insufficient data is not a pass."
    )
}

fn maintenance(report: &Report) -> String {
    match report.slo.maintenance_policy {
        MaintenancePolicy::Exclude => "Planned work is left out if it was declared before it began; what was declared while it ran is left out from then on. A correction afterwards is listed apart, with its reason.",
        MaintenancePolicy::CountAsUp => "Planned work that was declared before it began counts as up.",
        MaintenancePolicy::Ignore => "Planned work is listed, and counts like any other time.",
    }
    .to_owned()
}

fn achieved(report: &Report) -> String {
    match report.slo.sli.as_str() {
        "availability" => "Time that was not down, of the time that is known and counts.".to_owned(),
        "probe_ratio" => "Results that passed, of all results that count; one result for each location and interval.".to_owned(),
        "slices" => "Slices of time in which enough results passed, of the slices with a result.".to_owned(),
        "latency" => "Results that passed within the time agreed, of those that count.".to_owned(),
        "requests" => match report.slo.within_us {
            None => "Requests of clients that were answered, of all requests in the access log.".to_owned(),
            Some(bound) => format!(
                "Requests of clients that were answered within {}, of all requests in the access log of which that is known. It is counted from when this limit was set; before, and where the log holds no times, it is not known.",
                milliseconds(bound)
            ),
        },
        _ => String::new(),
    }
}

fn milliseconds(us: u32) -> String {
    format!("{}\u{a0}ms", f64::from(us) / 1_000.0)
}

fn budget(report: &Report) -> String {
    let allowed = crate::domain::slo::ratio::target_percent(
        crate::domain::slo::ratio::BILLION.saturating_sub(report.slo.target_ppb),
    );
    let of = if report.budget.total_ms.is_some() { "time" } else { unit(report) };
    let to_come = if report.window.complete { "" } else { " and of what is still to come" };
    format!(
        "{allowed}\u{a0}% of the {of} that counts{to_come} may be bad. Met and missed are decided by whole milliseconds or results, never by rounded figures."
    )
}

fn figures(view: &View) -> String {
    let report = &view.document.report;
    let percentiles = match report.latency_ms.approx {
        true => "Percentiles come from histograms and may be off by 3.2\u{a0}%.",
        false => "Percentiles are nearest rank over passing results.",
    };
    let mut versions = vec![
        format!("zones of {} (tz database)", report.window.tzdata),
        format!("engine {}", report.engine_version),
    ];
    if let Some(rules) = &view.document.context.method.rules {
        versions.insert(0, format!("rules of decision {rules}"));
    }
    if let Some(revision) = report.slo.definition_revision {
        versions.push(format!("definition revision {revision}"));
    }
    if let Some(revision) = report.data_revision {
        versions.push(format!("data revision {revision}"));
    }
    let finely = match report.window.resolution.as_str() {
        "quarter_hour" => " Results were kept as sums of a quarter of an hour.",
        _ => "",
    };
    format!(
        "Percentages are exact quotients, cut off and never rounded up. {percentiles}{finely} Days are those of {}. Made with {}.",
        view.zone.name,
        versions.join(", ")
    )
}

/// The hash of the report, and how to get the same.
pub(super) fn proof(view: &View) -> Markup {
    let report = &view.document.report;
    let content = html! {
        p.mono.foot { "sha256 " (report.sha256) }
        @if let Some(command) = &view.document.context.command { p.mono { (command) } }
        p.s {
            "The hash is that of this report as JSON in its one canonical spelling (RFC 8785), without the fields "
            code { "sha256" } ", " code { "engine_version" } " and " code { "generated_at" }
            ". The same intervals give the same figures on any machine, without a server."
        }
    };
    html! { div.keep { (section("Check it yourself", "", &content)) } }
}
