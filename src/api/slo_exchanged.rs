//! Between SLOs as they are stored and as they cross the border: names instead of keys, and the body that
//! would have saved what a file says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use super::error::{ApiError, ApiResult};
use crate::{
    domain::{
        Invalid,
        fields::text_map,
        monitor::{self, Interval, PolicySpec, Timeout},
        slo::{
            burn::default_rules,
            definition::{
                Definition, Denominator, MaintenancePolicy, RuleSeverity, Share, Sli,
                UnknownPolicy, Weight,
            },
            document,
            slot::{Policy, Quorum},
            subject::Subject,
            window::Window,
        },
    },
    publish::openslo::{Objective, Source},
    store::{
        self,
        slo_inputs::objective,
        slos::{SloRow, Voting, Watched},
    },
};

/// Names of what SLOs are about, read at once for all of them.
pub struct Names {
    monitors: BTreeMap<i32, Watched>,
    fleets: BTreeMap<i32, Watched>,
    voting: BTreeMap<i32, Voting>,
    channels: Vec<(uuid::Uuid, String)>,
}

impl Names {
    pub async fn of(conn: &mut PgConnection, rows: &[SloRow]) -> ApiResult<Self> {
        let subjects = rows.iter().flat_map(|row| row.values.subject.monitors());
        let monitors: Vec<i32> = subjects.map(|key| key.0).collect();
        let fleets: Vec<i32> =
            rows.iter().filter_map(|row| row.values.subject.fleet()).map(|key| key.0).collect();
        let by_key = |list: Vec<Watched>| list.into_iter().map(|one| (one.key, one)).collect();
        let voting = store::slos::voting(conn, &monitors).await?;
        let channels = store::channels::list(conn).await?;
        Ok(Self {
            monitors: by_key(store::slos::monitors(conn, &monitors).await?),
            fleets: by_key(store::slos::fleets(conn, &fleets).await?),
            voting: voting.into_iter().map(|one| (one.key, one)).collect(),
            channels: channels.into_iter().map(|channel| (channel.id, channel.name)).collect(),
        })
    }

    /// A stored SLO with names, or why it cannot leave.
    pub fn outside(&self, row: &SloRow, now: Timestamp) -> ApiResult<Objective> {
        let stored = objective(row, now)?;
        let values = &row.values;
        let rule = stored.composite.map_or("any_down", |rule| rule.name());
        let source = self.source(&values.subject, rule)?;
        let voting = match &values.subject {
            Subject::Monitor(key) => self.voting.get(&key.0),
            _ => None,
        };
        let name = |id| self.channels.iter().find(|(known, _)| *known == id).map(|c| c.1.clone());
        let written = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Objective {
            name: values.name.clone(),
            service: values.service.clone(),
            description: written(&values.description),
            owner: written(&values.owner),
            labels: text_map(&values.labels),
            channels: values
                .channels
                .as_ref()
                .map(|list| list.iter().filter_map(|id| name(*id)).collect()),
            source,
            definition: stored.definition,
            usual_rules: stored.usual_rules,
            quorum: voting.map(quorum).unwrap_or_default(),
            locations: voting.and_then(|one| u32::try_from(one.locations).ok()).filter(|n| *n > 0),
            interval: voting.map(|one| i64::from(one.interval_s) * 1_000),
        })
    }

    fn source(&self, subject: &Subject, rule: &str) -> Result<Source, Invalid> {
        let gone = |what: &str| Invalid::new(what, "was deleted, so that it has no name any more");
        let monitor = |key: i32| self.monitors.get(&key).map(|one| one.name.clone());
        match subject {
            Subject::Monitor(key) => {
                monitor(key.0).map(Source::Monitor).ok_or_else(|| gone("monitor"))
            }
            Subject::Fleet { fleet, monitor: by } => {
                let fleet = self.fleets.get(&fleet.0).ok_or_else(|| gone("fleet"))?;
                let monitor = by.as_ref().map(|key| monitor(key.0).ok_or_else(|| gone("monitor")));
                Ok(Source::Fleet { fleet: fleet.name.clone(), monitor: monitor.transpose()? })
            }
            Subject::Composite(members) => {
                let names = members.iter().map(|key| monitor(key.0));
                let monitors = names.collect::<Option<_>>().ok_or_else(|| gone("members"))?;
                Ok(Source::Composite { rule: rule.to_owned(), monitors })
            }
        }
    }
}

/// How a monitor's locations vote, in the words of the format: its rounds are slots there.
pub fn quorum(voting: &Voting) -> Quorum {
    let locations = usize::try_from(voting.locations).unwrap_or_default();
    let spec: PolicySpec = serde_json::from_value(voting.policy.clone()).unwrap_or_default();
    let interval = Interval::from_secs(u32::try_from(voting.interval_s).unwrap_or(60));
    let timeout = Timeout::from_secs(f64::from(voting.timeout_ms) / 1_000.0);
    let resolved = interval.and_then(|interval| spec.resolve(interval, timeout?, None, locations));
    let Ok(policy) = resolved else { return Quorum::default() };
    let rule = match policy.quorum {
        monitor::Quorum::Majority => Policy::Majority,
        monitor::Quorum::Any => Policy::Any,
        monitor::Quorum::All => Policy::All,
        monitor::Quorum::AtLeast(k) => Policy::AtLeast(k),
        monitor::Quorum::Percent(percent) => {
            let k = (percent as usize * locations).div_ceil(100).max(1);
            Policy::AtLeast(u32::try_from(k).unwrap_or(u32::MAX))
        }
    };
    Quorum { policy: rule, min_valid: None, confirm: Some(policy.fail_after) }
}

/// The body that saves what a file says; what is the usual is left out.
pub fn body(objective: &Objective) -> Value {
    let definition = &objective.definition;
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("name", objective.name.clone().into());
    set("service", objective.service.clone().into());
    set("description", objective.description.clone().into());
    set("owner", objective.owner.clone().into());
    set("labels", json!(objective.labels));
    if let Some(channels) = &objective.channels {
        set("channels", json!(channels));
    }
    match &objective.source {
        Source::Monitor(name) => {
            set("monitor", name.clone().into());
        }
        Source::Fleet { fleet, monitor } => {
            set("fleet", fleet.clone().into());
            set("monitor", monitor.clone().into());
        }
        Source::Composite { rule, monitors } => {
            set("composite", rule.clone().into());
            set("members", json!(monitors));
        }
        Source::Foreign { .. } => {}
    }
    for (name, value) in measured(definition) {
        set(name, value);
    }
    let usual =
        objective.usual_rules && definition.rules == default_rules(definition.window.nominal());
    if !usual {
        set("rules", definition.rules.iter().map(rule).collect());
    }
    Value::Object(body)
}

/// What is measured, in the fields of `domain::slo::document`.
fn measured(definition: &Definition) -> Vec<(&'static str, Value)> {
    let mut all = vec![
        ("target_ppb", definition.target.ppb().into()),
        ("sli", definition.sli.name().into()),
        ("window", window(definition)),
    ];
    match definition.sli {
        Sli::ProbeRatio { weight: Weight::LocationMean } => {
            all.push(("weight", "location_mean".into()));
        }
        Sli::ProbeRatio { weight: Weight::SliceMean(slice) } => {
            all.push(("weight", format!("slice_mean:{}s", slice / 1_000).into()));
        }
        Sli::Slices { slice, target } => {
            all.extend([("slice_s", seconds(slice)), ("slice_target", share(target))]);
        }
        Sli::Latency { threshold_us, denominator } => {
            all.push(("threshold_us", threshold_us.into()));
            if denominator == Denominator::All {
                all.push(("denominator", "all".into()));
            }
        }
        Sli::Requests { within_us, fallback } => {
            if let Some(within_us) = within_us {
                all.push(("threshold_us", within_us.into()));
            }
            if let Some(least) = fallback {
                all.extend([("fallback", "monitor".into()), ("min_requests", least.into())]);
            }
        }
        Sli::Availability | Sli::ProbeRatio { .. } => {}
    }
    match definition.unknown_policy {
        UnknownPolicy::Exclude => {}
        UnknownPolicy::Up => all.push(("unknown_policy", "up".into())),
        UnknownPolicy::Down => all.push(("unknown_policy", "down".into())),
    }
    match definition.maintenance_policy {
        MaintenancePolicy::Exclude => {}
        MaintenancePolicy::CountAsUp => all.push(("maintenance_policy", "count_as_up".into())),
        MaintenancePolicy::Ignore => all.push(("maintenance_policy", "ignore".into())),
    }
    if definition.partial_weight_ppm != 0 {
        all.push(("partial_weight_ppm", definition.partial_weight_ppm.into()));
    }
    if definition.coverage_min != Share::percent(90) {
        all.push(("coverage_min", share(definition.coverage_min)));
    }
    if definition.decimals != 3 {
        all.push(("decimals", definition.decimals.into()));
    }
    all
}

fn window(definition: &Definition) -> Value {
    let mut window = json!({
        "kind": definition.window.kind(),
        "duration": definition.window.duration(),
        "timezone": definition.timezone,
    });
    if let Window::Calendar { anchor: Some(anchor), .. } = &definition.window {
        window["anchor"] = anchor.to_string().into();
    }
    window
}

fn rule(rule: &crate::domain::slo::definition::Rule) -> Value {
    json!({
        "name": rule.name,
        "severity": match rule.severity {
            RuleSeverity::Page => "page",
            RuleSeverity::Ticket => "ticket",
        },
        "long_s": seconds(rule.long),
        "short_s": seconds(rule.short),
        "budget_fraction": share(rule.fraction),
        "min_bad": rule.min_bad,
    })
}

/// A number with every digit: a length of time in seconds.
fn seconds(millis: i64) -> Value {
    digits(&format!("{}.{:03}", millis / 1_000, millis % 1_000))
}

/// A share to 18 decimals, which is what can be stored.
fn share(share: Share) -> Value {
    const WHOLE: u128 = 1_000_000_000_000_000_000;
    let parts = u128::from(share.num) * WHOLE / u128::from(share.den).max(1);
    digits(&format!("{}.{:018}", parts / WHOLE, parts % WHOLE))
}

fn digits(text: &str) -> Value {
    let short = text.trim_end_matches('0').trim_end_matches('.');
    serde_json::from_str(short).unwrap_or(Value::Null)
}

/// A refusal of the body, in the fields of the file.
pub fn in_the_file(error: ApiError, document: usize) -> ApiError {
    match error {
        ApiError::Invalid(refusal) => {
            let field = place(&refusal.field);
            ApiError::Invalid(Invalid { field, ..refusal }.under(&format!("documents[{document}]")))
        }
        other => other,
    }
}

fn place(field: &str) -> String {
    let (head, rest) = match field.find(['.', '[']) {
        Some(at) => field.split_at(at),
        None => (field, ""),
    };
    let outside = match head {
        "name" => "metadata.displayName",
        "labels" => "metadata.labels",
        "owner" | "channels" | "coverage_min" | "partial_weight_ppm" | "decimals" => {
            return format!("metadata.annotations.{head}{rest}");
        }
        "service" => "spec.service",
        "description" => "spec.description",
        "target_ppb" => "spec.objectives[0].target",
        "window" => "spec.timeWindow[0]",
        "rules" => "spec.alertPolicies",
        "sli" | "weight" | "slice_s" | "slice_target" => "spec.budgetingMethod",
        "monitor" | "fleet" | "members" | "composite" | "threshold_us" => "spec.indicator",
        other => other,
    };
    format!("{outside}{rest}")
}

/// Whether two stored definitions mean the same, however they were written.
pub fn same_definition(a: &Value, b: &Value, now: Timestamp) -> bool {
    let read = |value: &Value| document::objective(value.clone(), now.as_millisecond()).ok();
    read(a).is_some_and(|a| Some(a) == read(b))
}
