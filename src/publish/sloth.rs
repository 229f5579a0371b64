//! The same SLOs for sloth (`version: prometheus/v1`), which makes recording and alerting rules of them
//! over our metrics. Prometheus extrapolates, so its figures are close to ours and not the same.

use serde_json::{Value, json};

use super::openslo::{Objective, Source};
use super::yaml;
use crate::domain::Invalid;
use crate::domain::slo::definition::{Denominator, RuleSeverity, Sli, Weight};
use crate::domain::slo::ratio::target_percent;

/// Upper bounds of the buckets of `quorate_probe_duration_seconds`, in µs: only at these can passes in
/// time be counted.
const BUCKETS_US: [(u32, &str); 14] = [
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (75_000, "0.075"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (750_000, "0.75"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (7_500_000, "7.5"),
    (10_000_000, "10"),
];

/// The file for one service, as sloth wants it. Refuses what our metrics cannot tell.
pub fn spec(service: &str, objectives: &[Objective]) -> Result<String, Invalid> {
    let mut slos = Vec::with_capacity(objectives.len());
    for (index, objective) in objectives.iter().enumerate() {
        slos.push(slo(objective).map_err(|error| error.under(&format!("slos[{index}]")))?);
    }
    Ok(yaml::write(&json!({
        "version": "prometheus/v1",
        "service": super::openslo::slug(service),
        "labels": {"made_by": "quorate"},
        "slos": slos,
    })))
}

fn slo(objective: &Objective) -> Result<Value, Invalid> {
    let (bad, total) = queries(objective)?;
    let name = super::openslo::slug(&objective.name);
    let percent = target_percent(objective.definition.target.ppb());
    let rules = &objective.definition.rules;
    let alert = |severity: RuleSeverity| match rules.iter().any(|rule| rule.severity == severity) {
        true => {
            json!({"labels": {"severity": if severity == RuleSeverity::Page { "page" } else { "ticket" }}})
        }
        false => json!({"disable": true}),
    };
    let mut slo = json!({
        "name": name,
        "objective": serde_json::from_str::<Value>(&percent).unwrap_or(Value::Null),
        "sli": {"events": {"error_query": bad, "total_query": total}},
        "alerting": {
            "name": format!("{name}-budget"),
            "annotations": {"summary": format!("{} burns its error budget", braces(&objective.name))},
            "page_alert": alert(RuleSeverity::Page),
            "ticket_alert": alert(RuleSeverity::Ticket),
        },
    });
    if let Some(description) = &objective.description {
        slo["description"] = json!(description);
    }
    if !objective.labels.is_empty() {
        slo["labels"] = json!(objective.labels);
    }
    Ok(slo)
}

/// Bad and all, as increases over sloth's window.
fn queries(objective: &Objective) -> Result<(String, String), Invalid> {
    let Source::Monitor(monitor) = &objective.source else {
        return Err(Invalid::new("source", "is no monitor, and our metrics are by monitor"));
    };
    let monitor = label(monitor);
    let increase = |metric: &str, matcher: &str| {
        format!("sum(increase({metric}{{monitor=\"{monitor}\"{matcher}}}[{{{{.window}}}}]))")
    };
    match objective.definition.sli {
        Sli::Availability => {
            let seconds = "quorate_monitor_state_seconds_total";
            Ok((
                increase(seconds, ",state=\"down\""),
                increase(seconds, ",state=~\"up|partial|down\""),
            ))
        }
        Sli::ProbeRatio { weight: Weight::Pooled } => {
            let results = "quorate_probe_results_total";
            Ok((increase(results, ",outcome=\"fail\""), increase(results, ",outcome=~\"ok|fail\"")))
        }
        Sli::Latency { threshold_us, denominator: Denominator::OkOnly } => {
            let bucket = BUCKETS_US.iter().find(|(us, _)| *us == threshold_us).ok_or_else(|| {
                let why = "is no bound of the histogram of durations; known are 5, 10, 25, 50, 75, 100, 250, 500, 750 ms and 1, 2.5, 5, 7.5, 10 s";
                Invalid::new("threshold_us", why)
            })?;
            let total = increase("quorate_probe_duration_seconds_count", "");
            let quick = format!(",le=\"{}\"", bucket.1);
            let quick = increase("quorate_probe_duration_seconds_bucket", &quick);
            Ok((format!("{total} - {quick}"), total))
        }
        other => {
            let why = "cannot be told from our metrics: they have the time in each state, results by outcome, and durations";
            Err(Invalid::given("sli", other.name(), why))
        }
    }
}

/// Inside quotes of a query, in a template.
fn label(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    braces(&escaped)
}

/// Two braces would begin an action of the template.
fn braces(text: &str) -> String {
    text.replace("{{", "{{`{{`}}")
}
