//! Burn-rate rules as alert policies. A policy has one condition with one lookback: the short one and the
//! share of the budget stand in annotations.

use serde_json::{Map, Value, json};

use super::names::{annotation, is_name, number, read_share, share, slug};
use super::windows::{length, shorthand};
use crate::domain::fields::Fields;
use crate::domain::slo::definition::{Rule, RuleSeverity, Share};
use crate::domain::slo::ratio::Ratio;
use crate::domain::{Invalid, Millis};

/// The policy of a rule of an SLO with such a window.
pub(super) fn write(rule: &Rule, window: Millis) -> Value {
    let factor = rule.factor(window).to_f64().unwrap_or(0.0);
    let severity = match rule.severity {
        RuleSeverity::Page => "page",
        RuleSeverity::Ticket => "ticket",
    };
    let mut notes = Map::new();
    let mut note = |name: &str, value: String| notes.insert(annotation(name), Value::String(value));
    note("budget-fraction", share(rule.fraction));
    note("short-window", lookback(rule.short));
    note("min-bad", rule.min_bad.to_string());
    let long = shorthand(rule.long).unwrap_or_else(|| {
        note("long-window", lookback(rule.long));
        format!("{}m", (rule.long / 60_000).max(1))
    });
    let name = slug(&rule.name);
    json!({
        "kind": "AlertPolicy",
        "metadata": {"name": name, "displayName": rule.name, "annotations": notes},
        "spec": {
            "alertWhenNoData": false,
            "alertWhenBreaching": true,
            "alertWhenResolved": true,
            "conditions": [{
                "kind": "AlertCondition",
                "metadata": {"name": name},
                "spec": {
                    "severity": severity,
                    "condition": {
                        "kind": "burnrate",
                        "op": "gte",
                        "threshold": number(&format!("{factor}")),
                        "lookbackWindow": long,
                        "alertAfter": "0m",
                    },
                },
            }],
            "notificationTargets": [{"targetRef": "quorate"}],
        },
    })
}

/// The format has no seconds; annotations do.
fn lookback(length: Millis) -> String {
    shorthand(length).unwrap_or_else(|| format!("{length}ms"))
}

fn read_lookback(text: &str) -> Option<Millis> {
    match text.strip_suffix("ms") {
        Some(millis) => millis.parse().ok().filter(|millis| *millis > 0),
        None => length(text),
    }
}

/// The rule of a policy, for a window so long. `resolve` finds an object of a kind by its name.
pub(super) fn read(
    policy: &Value,
    window: Millis,
    resolve: &impl Fn(&str, &str) -> Option<Value>,
    warnings: &mut Vec<String>,
) -> Result<Rule, Invalid> {
    let (name, note) = heading(policy)?;
    let conditions = policy.pointer("/spec/conditions").and_then(Value::as_array);
    let condition = match conditions.map(Vec::as_slice) {
        Some([one]) => one.clone(),
        Some([]) | None => {
            return Err(Invalid::new("spec.conditions", "is missing: a policy has exactly one"));
        }
        Some(_) => {
            return Err(Invalid::new(
                "spec.conditions",
                "has more than one; a policy has exactly one",
            ));
        }
    };
    let condition = match condition.get("conditionRef").and_then(Value::as_str) {
        None => condition,
        Some(reference) => resolve("AlertCondition", reference).ok_or_else(|| {
            let why = "is no AlertCondition of this file";
            Invalid::given("spec.conditions[0].conditionRef", reference, why)
        })?,
    };
    let place = "spec.conditions[0].spec";
    let spec = condition.get("spec").cloned().unwrap_or(Value::Null);
    let burn = Burn::read(&spec, warnings).map_err(|error| error.under(place))?;
    if policy.pointer("/spec/alertWhenNoData").and_then(Value::as_bool) == Some(true) {
        warnings.push(format!("alert policy {name}: alertWhenNoData is not kept; without data an alert keeps its state"));
    }
    let bad = |field: &str| Invalid::new(field, "of the annotations cannot be read");
    let long = match note("long-window") {
        Some(text) => read_lookback(&text).ok_or_else(|| bad("quorate.dev/long-window"))?,
        None => burn.lookback,
    };
    let short = match note("short-window") {
        Some(text) => read_lookback(&text).ok_or_else(|| bad("quorate.dev/short-window"))?,
        None => {
            let short = (long / 12).max(60_000).min(long);
            warnings.push(format!(
                "alert policy {name}: the format has one lookback; the short one is {}",
                lookback(short)
            ));
            short
        }
    };
    let fraction = match note("budget-fraction") {
        Some(text) => read_share(&text).ok_or_else(|| bad("quorate.dev/budget-fraction"))?,
        None => burn.fraction(long, window).map_err(|error| error.under(place))?,
    };
    let min_bad = match note("min-bad") {
        Some(text) => text.parse().map_err(|_| bad("quorate.dev/min-bad"))?,
        None => 2,
    };
    Ok(Rule { name, severity: burn.severity, long, short, fraction, min_bad })
}

/// Name and annotations of a policy.
fn heading(policy: &Value) -> Result<(String, impl Fn(&str) -> Option<String> + '_), Invalid> {
    let own = policy.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if !is_name(own) {
        let why = "is no name: lower-case letters, digits and hyphens, at most 63";
        return Err(Invalid::given("metadata.name", own, why));
    }
    let shown = policy.pointer("/metadata/displayName").and_then(Value::as_str);
    let notes = policy.pointer("/metadata/annotations");
    let note = move |name: &str| notes?.get(annotation(name))?.as_str().map(str::to_owned);
    Ok((shown.unwrap_or(own).to_owned(), note))
}

/// The condition of a policy.
struct Burn {
    severity: RuleSeverity,
    /// As it was written.
    threshold: Value,
    lookback: Millis,
}

impl Burn {
    fn read(spec: &Value, warnings: &mut Vec<String>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(spec.clone(), "")?;
        let severity = match fields.string("severity")?.unwrap_or_default().to_lowercase().as_str()
        {
            "page" | "critical" | "high" => RuleSeverity::Page,
            "ticket" | "warning" | "low" | "medium" | "" => RuleSeverity::Ticket,
            other => {
                warnings.push(format!(
                    "severity {other:?} is read as ticket; known are page and ticket"
                ));
                RuleSeverity::Ticket
            }
        };
        let condition =
            fields.take("condition").ok_or_else(|| Invalid::new("condition", "is missing"))?;
        let under = |error: Invalid| error.under("condition");
        let mut fields = Fields::of(condition, "condition")?;
        let kind = fields.required_string("kind").map_err(under)?;
        if kind != "burnrate" {
            return Err(Invalid::given(
                "condition.kind",
                &kind,
                "is not known; the format has burnrate",
            ));
        }
        match fields.string("op").map_err(under)?.as_deref() {
            None | Some("gte" | "gt") => {}
            Some(op @ ("lt" | "lte")) => {
                let why = "would alert while the budget burns slowly; a burn rate alerts with gte";
                return Err(Invalid::given("condition.op", op, why));
            }
            Some(op) => {
                return Err(Invalid::given("condition.op", op, "is no comparison; use gte"));
            }
        }
        let lookback = fields.required_string("lookbackWindow").map_err(under)?;
        let lookback = length(&lookback).ok_or_else(|| {
            Invalid::given("condition.lookbackWindow", &lookback, "is no duration such as 1h")
        })?;
        let threshold = fields.take("threshold").unwrap_or(Value::Null);
        match fields.string("alertAfter").map_err(under)?.as_deref() {
            None | Some("0m" | "0h" | "0d") => {}
            Some(after) => warnings.push(format!(
                "alertAfter {after} is not kept: rules here look at two lookbacks instead"
            )),
        }
        Ok(Self { severity, threshold, lookback })
    }

    /// The share of the budget that burns in the lookback at the threshold: threshold × lookback / window.
    fn fraction(&self, long: Millis, window: Millis) -> Result<Share, Invalid> {
        let refusal = || {
            Invalid::new(
                "condition.threshold",
                "must be a number above 0 with at most 6 decimals, that uses up no more than the whole budget within the lookback",
            )
        };
        let text = super::names::decimal(&self.threshold).ok_or_else(refusal)?;
        let (whole, digits) = text.split_once('.').unwrap_or((&text, ""));
        let places =
            u32::try_from(digits.len()).ok().filter(|places| *places <= 6).ok_or_else(refusal)?;
        let num = format!("{whole}{digits}").parse::<u64>().map_err(|_| refusal())?;
        let num = u128::from(num) * u128::try_from(long).unwrap_or(0);
        let den = 10_u128.pow(places) * u128::try_from(window).unwrap_or(0);
        let common = divisor(num, den).max(1);
        let (num, den) = (u64::try_from(num / common), u64::try_from(den / common));
        match (num, den) {
            (Ok(num), Ok(den))
                if num > 0 && Ratio::new(num.into(), den.into()) <= Ratio::whole(1) =>
            {
                Ok(Share { num, den })
            }
            _ => Err(refusal()),
        }
    }
}

fn divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { divisor(b, a % b) }
}
