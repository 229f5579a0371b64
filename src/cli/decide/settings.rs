//! The settings of a scenario, and how single values of a file are read.

use serde_json::{Map, Value};

use crate::domain::monitor::{Policy, Quorum};
use crate::domain::{Invalid, Millis};

/// Reads `cfg`; what is left out or null is as it is by default for an interval, a time-out and so many
/// locations.
pub(super) fn policy(cfg: Option<&Value>, locations: usize) -> Result<Policy, Invalid> {
    let empty = Map::new();
    let cfg = match cfg {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(cfg)) => cfg,
        Some(_) => return Err(Invalid::new("cfg", "must be an object")),
    };
    let given = |name: &str| cfg.get(name).filter(|value| !value.is_null());
    let time = |name: &str, default: Millis| match given(name) {
        None => Ok(default),
        value => span(value, &format!("cfg.{name}")),
    };
    let interval = time("interval", 60_000)?;
    let timeout = time("timeout", 10_000)?;
    if !(1..=86_400_000).contains(&interval) {
        return Err(Invalid::new("cfg.interval", "is out of range: up to 86400 seconds"));
    }
    let mut p = Policy::defaults(interval, timeout, locations);
    for (name, value) in cfg {
        let field = format!("cfg.{name}");
        match name.as_str() {
            "interval" | "timeout" | "quorum" | "k" | "percent" => {}
            "fail_after" | "pass_after" | "min_agree" | "min_domains" | "min_regions"
            | "partial_min" | "retry_delay" | "min_sep" | "confirm_for" | "split_for"
            | "blind_for" | "reopen" | "slow_ms"
                if value.is_null() => {}
            "fail_after" => p.fail_after = number(value, &field)?.max(1),
            "pass_after" => p.pass_after = number(value, &field)?.max(1),
            "min_agree" => p.min_agree = number(value, &field)?,
            "min_domains" => p.min_domains = number(value, &field)?,
            "min_regions" => p.min_regions = number(value, &field)?,
            "partial_min" => p.partial_min = number(value, &field)?,
            "retry_delay" => p.retry_gap = span(Some(value), &field)?,
            "min_sep" => p.min_separation = span(Some(value), &field)?,
            "confirm_for" => p.confirm_for = span(Some(value), &field)?,
            "split_for" => p.split_for = span(Some(value), &field)?,
            "blind_for" => p.blind_for = span(Some(value), &field)?,
            "reopen" => p.reopen_within = span(Some(value), &field)?,
            "slow_ms" => p.slow = Some(Millis::from(number(value, &field)?)),
            _ => return Err(Invalid::new(field, "is not a setting of a scenario")),
        }
    }
    p.quorum = quorum(cfg)?;
    Ok(p)
}

fn quorum(cfg: &Map<String, Value>) -> Result<Quorum, Invalid> {
    let given = |name: &str| cfg.get(name).filter(|value| !value.is_null());
    let count = |name: &str| {
        let field = format!("cfg.{name}");
        given(name).map(|value| number(value, &field)).transpose()
    };
    let (k, percent) = (count("k")?, count("percent")?);
    if percent.is_some_and(|percent| percent > 100) {
        return Err(Invalid::new("cfg.percent", "is out of range: up to 100"));
    }
    let Some(name) = given("quorum") else { return Ok(Quorum::Majority) };
    match (name.as_str(), k, percent) {
        (Some("majority"), ..) => Ok(Quorum::Majority),
        (Some("any"), ..) => Ok(Quorum::Any),
        (Some("all"), ..) => Ok(Quorum::All),
        (Some("at_least"), Some(k), _) => Ok(Quorum::AtLeast(k)),
        (Some("at_least"), None, _) => Err(Invalid::new("cfg.k", "is needed by quorum at_least")),
        (Some("percent"), _, Some(percent)) => Ok(Quorum::Percent(percent)),
        (Some("percent"), _, None) => {
            Err(Invalid::new("cfg.percent", "is needed by quorum percent"))
        }
        _ => Err(Invalid::new(
            "cfg.quorum",
            format!("{name} is not majority, any, all, at_least or percent"),
        )),
    }
}

/// Nothing, null or a list.
pub(super) fn list<'a>(value: Option<&'a Value>, field: &str) -> Result<&'a [Value], Invalid> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(Invalid::new(field, "must be a list")),
    }
}

/// A point in time or a difference, in seconds.
pub(super) fn millis(value: Option<&Value>, field: &str) -> Result<Millis, Invalid> {
    value
        .and_then(Value::as_f64)
        .filter(|seconds| seconds.abs() < 1e12)
        .map(|seconds| (seconds * 1000.0).round() as Millis)
        .ok_or_else(|| Invalid::new(field, "must be a number of seconds"))
}

/// A length of time in seconds.
fn span(value: Option<&Value>, field: &str) -> Result<Millis, Invalid> {
    let span = millis(value, field)?;
    if span < 0 {
        return Err(Invalid::new(field, "must not be less than 0 seconds"));
    }
    Ok(span)
}

pub(super) fn number(value: &Value, field: &str) -> Result<u32, Invalid> {
    value
        .as_u64()
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| Invalid::new(field, "must be a whole number"))
}
