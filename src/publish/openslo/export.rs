//! Writing: one SLO object for each, its alert policies inside.

use serde_json::{Map, Value, json};

use super::names::{annotation, is_name, number, object, share, slug};
use super::windows::{self, shorthand};
use super::{LONGEST_DESCRIPTION, OURS, Objective, Source, VERSION, rules};
use crate::domain::slo::definition::{
    Denominator, MaintenancePolicy, Share, Sli, UnknownPolicy, Weight,
};
use crate::domain::slo::slot::Policy;
use crate::domain::{Invalid, Millis};
use crate::publish::yaml;

/// The SLOs as YAML documents, or what of which cannot be said in the format.
pub fn export(objectives: &[Objective]) -> Result<String, Invalid> {
    let mut out = String::new();
    for (index, objective) in objectives.iter().enumerate() {
        let document = document(objective).map_err(|e| e.under(&format!("slos[{index}]")))?;
        out.push_str("---\n");
        out.push_str(&yaml::write(&document));
    }
    Ok(out)
}

fn document(objective: &Objective) -> Result<Value, Invalid> {
    let definition = &objective.definition;
    let description = objective.description.as_deref();
    if description.is_some_and(|text| text.chars().count() > LONGEST_DESCRIPTION) {
        let why =
            format!("is longer than the {LONGEST_DESCRIPTION} characters that OpenSLO allows");
        return Err(Invalid::new("description", why));
    }
    let window = windows::write(&definition.window, &definition.timezone)?;
    let nominal = definition.window.nominal();
    let policies: Vec<Value> =
        definition.rules.iter().map(|rule| rules::write(rule, nominal)).collect();
    let labels = (!objective.labels.is_empty()).then(|| json!(objective.labels));
    Ok(json!({
        "apiVersion": VERSION,
        "kind": "SLO",
        "metadata": object([
            ("name", Some(json!(slug(&objective.name)))),
            ("displayName", Some(json!(objective.name))),
            ("labels", labels),
            ("annotations", Some(Value::Object(annotations(objective)))),
        ]),
        "spec": object([
            ("description", description.map(|text| json!(text))),
            ("service", Some(json!(service(objective)))),
            ("indicator", Some(indicator(objective))),
            ("timeWindow", Some(json!([window]))),
            ("budgetingMethod", Some(json!(method(definition.sli)))),
            ("objectives", Some(json!([target(objective)]))),
            ("alertPolicies", (!policies.is_empty()).then(|| json!(policies))),
        ]),
    }))
}

/// The service as the format has it: it is named like everything else there.
fn service(objective: &Objective) -> String {
    if is_name(&objective.service) { objective.service.clone() } else { slug(&objective.service) }
}

/// What the format has no field for. Policies always, the rest where it is not the usual.
fn annotations(objective: &Objective) -> Map<String, Value> {
    let definition = &objective.definition;
    let mut out = Map::new();
    let mut note = |name: &str, value: String| out.insert(annotation(name), Value::String(value));
    note("unknown-policy", unknown(definition.unknown_policy).to_owned());
    note("maintenance-policy", maintenance(definition.maintenance_policy).to_owned());
    note("coverage-min", share(definition.coverage_min));
    if let Some(confirm) = objective.quorum.confirm {
        note("confirm", confirm.to_string());
    }
    if let Some(least) = objective.quorum.min_valid {
        note("min-valid", least.to_string());
    }
    if objective.locations.is_some() || objective.quorum.policy != Policy::Majority {
        note("quorum", quorum(objective.quorum.policy));
    }
    if let Some(locations) = objective.locations {
        note("locations", locations.to_string());
    }
    if let Some(interval) = objective.interval {
        note("slot-ms", interval.to_string());
    }
    if let Some(owner) = &objective.owner {
        note("owner", owner.clone());
    }
    if service(objective) != objective.service {
        note("service", objective.service.clone());
    }
    if let Some(channels) = &objective.channels {
        note("channels", serde_json::to_string(channels).unwrap_or_default());
    }
    if objective.usual_rules {
        note("rules", "usual".to_owned());
    }
    if !matches!(definition.window, crate::domain::slo::window::Window::Calendar { .. }) {
        note("timezone", definition.timezone.clone());
    }
    if definition.partial_weight_ppm != 0 {
        note("partial-weight-ppm", definition.partial_weight_ppm.to_string());
    }
    if definition.decimals != 3 {
        note("decimals", definition.decimals.to_string());
    }
    match definition.sli {
        Sli::ProbeRatio { weight: Weight::LocationMean } => note("weight", "location_mean".into()),
        Sli::ProbeRatio { weight: Weight::SliceMean(slice) } => note("slice-ms", slice.to_string()),
        Sli::Slices { slice, target } => {
            note("slice-target", share(target));
            note("slice-ms", slice.to_string())
        }
        Sli::Latency { denominator: Denominator::All, .. } => note("denominator", "all".into()),
        Sli::Requests { fallback: Some(least), .. } => note("fallback-below", least.to_string()),
        _ => None,
    };
    out
}

pub(super) fn unknown(policy: UnknownPolicy) -> &'static str {
    match policy {
        UnknownPolicy::Exclude => "exclude",
        UnknownPolicy::Up => "up",
        UnknownPolicy::Down => "down",
    }
}

pub(super) fn maintenance(policy: MaintenancePolicy) -> &'static str {
    match policy {
        MaintenancePolicy::Exclude => "exclude",
        MaintenancePolicy::CountAsUp => "count_as_up",
        MaintenancePolicy::Ignore => "ignore",
    }
}

fn quorum(policy: Policy) -> String {
    match policy {
        Policy::AtLeast(k) => format!("at_least:{k}"),
        other => other.name().to_owned(),
    }
}

fn method(sli: Sli) -> &'static str {
    match sli {
        Sli::Availability | Sli::Slices { .. } => "Timeslices",
        Sli::ProbeRatio { weight: Weight::SliceMean(_) } => "RatioTimeslices",
        Sli::ProbeRatio { .. } | Sli::Latency { .. } | Sli::Requests { .. } => "Occurrences",
    }
}

/// Good of total, each from us; or what somebody else's file said.
fn indicator(objective: &Objective) -> Value {
    let sli = objective.definition.sli;
    let mut spec = Map::new();
    let mut set = |name: &str, value: String| spec.insert(name.to_owned(), Value::String(value));
    match &objective.source {
        Source::Foreign { indicator, .. } => return indicator.clone(),
        Source::Monitor(name) => set("monitor", name.clone()),
        Source::Fleet { fleet, monitor } => {
            if let Some(monitor) = monitor {
                set("monitor", monitor.clone());
            }
            set("fleet", fleet.clone())
        }
        Source::Composite { rule, monitors } => {
            set("composite", rule.clone());
            // Strings only, as some readers want every field of a source to be one.
            set("monitors", serde_json::to_string(monitors).unwrap_or_default())
        }
    };
    set("sli", sli.name().to_owned());
    if let Sli::Latency { threshold_us, .. } | Sli::Requests { within_us: Some(threshold_us), .. } =
        sli
    {
        set("thresholdMs", millis(threshold_us));
    }
    let metric = |part: &str| {
        let mut spec = spec.clone();
        spec.insert("count".to_owned(), json!(part));
        json!({"metricSource": {"type": OURS, "spec": spec}})
    };
    json!({
        "metadata": {"name": slug(&objective.name)},
        "spec": {"ratioMetric": {"counter": true, "good": metric("good"), "total": metric("total")}},
    })
}

/// `300`, `0.5` of µs.
fn millis(us: u32) -> String {
    let text = format!("{}.{:03}", us / 1_000, us % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn target(objective: &Objective) -> Value {
    let definition = &objective.definition;
    let ppb = Share { num: definition.target.ppb(), den: 1_000_000_000 };
    let (slice_target, slice_window) = match definition.sli {
        Sli::Availability => {
            (Some(of_quorum(objective)), Some(slice(objective.interval.unwrap_or(60_000))))
        }
        Sli::Slices { slice: length, target } => (Some(share_number(target)), Some(slice(length))),
        Sli::ProbeRatio { weight: Weight::SliceMean(length) } => (None, Some(slice(length))),
        _ => (None, None),
    };
    let compared = match &objective.source {
        Source::Foreign { compared, .. } => compared.clone(),
        _ => Value::Null,
    };
    object([
        ("displayName", Some(json!(objective.name))),
        ("op", compared.get("op").cloned()),
        ("value", compared.get("value").cloned()),
        ("target", Some(number(&share(ppb)))),
        ("timeSliceTarget", slice_target),
        ("timeSliceWindow", slice_window),
    ])
}

/// Whole minutes; what is finer stands in an annotation.
fn slice(length: Millis) -> Value {
    json!(shorthand(length).unwrap_or_else(|| "1m".to_owned()))
}

fn share_number(target: Share) -> Value {
    target.ratio().to_f64().map_or(Value::Null, |share| json!(share))
}

/// The share of passes among results at and above which a round is not down (spec: slo 6.2).
fn of_quorum(objective: &Objective) -> Value {
    let n = objective.locations.unwrap_or(1).max(1);
    let share = match objective.quorum.policy {
        Policy::Majority => 0.5,
        Policy::Any => 1.0,
        Policy::All => 1.0 / f64::from(n),
        Policy::AtLeast(k) => f64::from(n.saturating_sub(k) + 1) / f64::from(n),
    };
    json!(share.min(1.0))
}
