//! Parts of an objective: its target, its slices, and whose metric it is made from.

use serde_json::{Map, Value};

use super::names::{decimal, ppb, read_share};
use super::{OURS, Source, windows};
use crate::domain::fields::Fields;
use crate::domain::slo::definition::{Share, Target};
use crate::domain::slo::window::DAY;
use crate::domain::{Invalid, Millis};

/// What the two slice methods add to an objective.
pub(super) struct Slices {
    pub target: Option<Value>,
    pub window: Option<String>,
}

impl Slices {
    pub(super) fn length(&self, place: &str) -> Result<Millis, Invalid> {
        let field = format!("{place}.timeSliceWindow");
        let Some(text) = &self.window else {
            return Err(Invalid::new(field, "is missing: the method counts slices"));
        };
        let length = windows::length(text).filter(|length| DAY % length == 0);
        length.ok_or_else(|| {
            Invalid::given(&field, text, "is no length that divides a day, such as 5m")
        })
    }

    pub(super) fn share(&self, place: &str) -> Result<Share, Invalid> {
        let share = self.target.as_ref().and_then(decimal).and_then(|text| read_share(&text));
        share.filter(|share| share.num > 0).ok_or_else(|| {
            let field = format!("{place}.timeSliceTarget");
            Invalid::new(
                field,
                "must be a number above 0 and up to 1: the share that makes a slice good",
            )
        })
    }
}

/// `target`, or `targetPercent`.
pub(super) fn target(fields: &mut Fields, place: &str) -> Result<Target, Invalid> {
    let (share, percent) = (fields.take("target"), fields.take("targetPercent"));
    let (name, text, scale) = match (&share, &percent) {
        (Some(_), Some(_)) => {
            return Err(Invalid::new(
                format!("{place}.targetPercent"),
                "cannot stand beside target",
            ));
        }
        (Some(value), None) => ("target", decimal(value), 1),
        (None, Some(value)) => ("targetPercent", decimal(value), 100),
        (None, None) => return Err(Invalid::new(format!("{place}.target"), "is missing")),
    };
    let refusal = || {
        let most = if scale == 1 { "1" } else { "100" };
        let why = format!(
            "must be more than 0 and less than {most}, to the ninth decimal of a share: all and nothing are no targets"
        );
        Invalid::new(format!("{place}.{name}"), why)
    };
    let text = text.ok_or_else(refusal)?;
    let parts = match scale {
        1 => ppb(&text),
        _ => shifted(&text).and_then(|text| ppb(&text)),
    };
    parts.and_then(Target::new).ok_or_else(refusal)
}

/// A percentage as a share: two places to the right of the point become four.
fn shifted(percent: &str) -> Option<String> {
    let (whole, fraction) = percent.split_once('.').unwrap_or((percent, ""));
    let padded = format!("{whole:0>3}");
    let (front, back) = padded.split_at_checked(padded.len().checked_sub(2)?)?;
    Some(format!("{front}.{back}{fraction}"))
}

/// What a threshold metric is compared with; null when it is none.
pub(super) fn compared(fields: &mut Fields) -> Value {
    let there =
        ["op", "value"].iter().filter_map(|key| Some(((*key).to_owned(), fields.take(key)?)));
    let map: Map<String, Value> = there.collect();
    if map.is_empty() { Value::Null } else { Value::Object(map) }
}

/// Ours when the total is from us; everything else is kept.
pub(super) fn source(indicator: &Value, compared: Value) -> Source {
    let spec = spec_of(indicator).and_then(Value::as_object);
    let text = |name: &str| spec.and_then(|spec| spec.get(name)).and_then(Value::as_str);
    if let (Some(rule), Some(list)) = (text("composite"), text("monitors"))
        && let Ok(monitors) = serde_json::from_str(list)
    {
        return Source::Composite { rule: rule.to_owned(), monitors };
    }
    match (text("monitor"), text("fleet")) {
        (Some(name), None) => Source::Monitor(name.to_owned()),
        (monitor, Some(name)) => {
            Source::Fleet { fleet: name.to_owned(), monitor: monitor.map(str::to_owned) }
        }
        _ => Source::Foreign { indicator: indicator.clone(), compared },
    }
}

/// The `spec` of our metric source.
pub(super) fn spec_of(indicator: &Value) -> Option<&Value> {
    let source = indicator.pointer("/spec/ratioMetric/total/metricSource")?;
    (source.get("type").and_then(Value::as_str) == Some(OURS)).then(|| source.get("spec"))?
}

/// µs of a decimal number of milliseconds.
pub(super) fn micros(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 {
        return None;
    }
    format!("{whole}{fraction:0<3}").parse().ok().filter(|us| *us > 0)
}
