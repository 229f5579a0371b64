//! The `slo` object.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::parts::{bound, divides_a_day, seconds, share, slice};
use crate::domain::fields::Fields;
use crate::domain::slo::burn::default_rules;
use crate::domain::slo::composite::Composite;
use crate::domain::slo::definition::{
    Definition, Denominator, MaintenancePolicy, Rule, RuleSeverity, Share, Sli, Target,
    UnknownPolicy, Weight,
};
use crate::domain::slo::evaluate::Identity;
use crate::domain::slo::slot::{Policy, Quorum};
use crate::domain::slo::window::{Bounds, DAY, Unit, Window, zone};
use crate::domain::{Invalid, Millis};

const KNOWN: &[&str] = &[
    "target_ppb",
    "sli",
    "window",
    "unknown_policy",
    "maintenance_policy",
    "partial_weight_ppm",
    "coverage_min",
    "interval_s",
    "locations",
    "quorum",
    "weight",
    "slice_s",
    "slice_target",
    "threshold_us",
    "denominator",
    "fallback",
    "min_requests",
    "rules",
    "composite",
    "decimals",
    "id",
    "name",
    "service",
    "definition_revision",
];

/// Longest fixed window: days of one are listed each.
const LONGEST: Millis = 36_600 * DAY;

/// The object as read, before the instant is known that a window may depend on.
#[derive(Debug)]
pub(super) struct Given {
    definition: Definition,
    rules: Option<Vec<Rule>>,
    /// End of a window whose bounds were given.
    pub end: Option<Millis>,
    pub interval: Option<Millis>,
    pub quorum: Quorum,
    pub locations: Locations,
    pub composite: Option<Composite>,
    pub identity: Identity,
}

/// Names, or only how many.
#[derive(Debug, Clone, Default)]
pub(super) struct Locations {
    pub names: Vec<String>,
    pub count: usize,
}

impl Given {
    /// Rules were left out.
    pub(super) fn has_no_rules(&self) -> bool {
        self.rules.is_none()
    }

    /// The definition; rules that were left out are the usual ones for the window.
    pub(super) fn finish(&self, as_of: Millis) -> Result<Definition, Invalid> {
        let window = &self.definition.window;
        if window.bounds(as_of).is_none() {
            return Err(Invalid::new("window", "lies beyond the calendar"));
        }
        let rules = self.rules.clone().unwrap_or_else(|| default_rules(window.nominal()));
        Ok(Definition { rules, ..self.definition.clone() })
    }
}

pub(super) fn read(value: Value) -> Result<Given, Invalid> {
    let mut fields = Fields::of(value, "")?;
    // What the server needs besides, so that its SLOs can be tried here.
    for other in ["monitor", "fleet", "members", "channels", "owner", "labels", "description"] {
        let _ = fields.take(other);
    }
    let ppb = fields
        .integer("target_ppb", 1..=999_999_999)?
        .ok_or_else(|| Invalid::new("target_ppb", "is missing: 999000000 is 99.9 %"))?;
    let target = u64::try_from(ppb).ok().and_then(Target::new);
    let target = target.ok_or_else(|| Invalid::new("target_ppb", "is out of range"))?;
    let sli = sli(&mut fields)?;
    let window = fields.take("window").ok_or_else(|| Invalid::new("window", "is missing"))?;
    let (window, timezone, end) = read_window(window).map_err(|e| e.under("window"))?;
    let definition = Definition {
        target,
        sli,
        window,
        timezone,
        unknown_policy: one_of(
            &mut fields,
            "unknown_policy",
            &[
                ("exclude", UnknownPolicy::Exclude),
                ("up", UnknownPolicy::Up),
                ("down", UnknownPolicy::Down),
            ],
        )?
        .unwrap_or_default(),
        maintenance_policy: one_of(
            &mut fields,
            "maintenance_policy",
            &[
                ("exclude", MaintenancePolicy::Exclude),
                ("count_as_up", MaintenancePolicy::CountAsUp),
                ("ignore", MaintenancePolicy::Ignore),
            ],
        )?
        .unwrap_or_default(),
        partial_weight_ppm: small(&mut fields, "partial_weight_ppm", 0, 1_000_000)?.unwrap_or(0),
        coverage_min: share(&mut fields, "coverage_min")?.unwrap_or(Share::percent(90)),
        rules: Vec::new(),
        decimals: small(&mut fields, "decimals", 0, 9)?.unwrap_or(3),
        resolution: None,
    };
    let quorum = match fields.take("quorum") {
        None => Quorum::default(),
        Some(value) => quorum(value).map_err(|e| e.under("quorum"))?,
    };
    let rules = fields.list("rules")?.map(rules).transpose()?;
    let given = Given {
        definition,
        rules,
        end,
        interval: seconds(&mut fields, "interval_s", DAY)?,
        quorum,
        locations: locations(&mut fields)?,
        composite: one_of(
            &mut fields,
            "composite",
            &[("any_down", Composite::AnyDown), ("all_down", Composite::AllDown)],
        )?,
        identity: Identity {
            id: fields.string("id")?,
            name: fields.string("name")?,
            service: fields.string("service")?,
            definition_revision: fields.integer("definition_revision", 0..=i64::MAX)?,
            ..Identity::default()
        },
    };
    fields.finish(KNOWN)?;
    Ok(given)
}

fn sli(fields: &mut Fields) -> Result<Sli, Invalid> {
    let name = fields.string("sli")?.unwrap_or_else(|| "availability".to_owned());
    let weight = weight(fields)?;
    let slice = seconds(fields, "slice_s", DAY)?.unwrap_or(60_000);
    if !divides_a_day(slice) {
        return Err(Invalid::new("slice_s", "must divide a day"));
    }
    let target = share(fields, "slice_target")?;
    let threshold = small(fields, "threshold_us", 1, u32::MAX)?;
    let denominator = one_of(
        fields,
        "denominator",
        &[("ok_only", Denominator::OkOnly), ("all", Denominator::All)],
    )?;
    let fallback = one_of(fields, "fallback", &[("monitor", true), ("none", false)])?;
    let least = small(fields, "min_requests", 1, u32::MAX)?.unwrap_or(20);
    Ok(match name.as_str() {
        "availability" => Sli::Availability,
        "probe_ratio" => Sli::ProbeRatio { weight },
        "slices" => Sli::Slices {
            slice,
            target: target.ok_or_else(|| {
                Invalid::new(
                    "slice_target",
                    "is missing: the share of passes that makes a slice good",
                )
            })?,
        },
        "latency" => Sli::Latency {
            threshold_us: threshold.ok_or_else(|| {
                Invalid::new("threshold_us", "is missing: the largest good latency")
            })?,
            denominator: denominator.unwrap_or(Denominator::OkOnly),
        },
        "requests" => Sli::Requests {
            within_us: threshold,
            fallback: fallback.unwrap_or(false).then_some(least),
        },
        other => {
            let known =
                "is no indicator; known are availability, probe_ratio, slices, latency, requests";
            return Err(Invalid::given("sli", other, known));
        }
    })
}

fn weight(fields: &mut Fields) -> Result<Weight, Invalid> {
    let Some(text) = fields.string("weight")? else { return Ok(Weight::Pooled) };
    match text.as_str() {
        "pooled" => Ok(Weight::Pooled),
        "location_mean" => Ok(Weight::LocationMean),
        other => {
            let length = other.strip_prefix("slice_mean:").and_then(slice);
            length.map(Weight::SliceMean).ok_or_else(|| {
                let known = "is no weight; known are pooled, location_mean, and slice_mean with a length that divides a day, such as slice_mean:1h";
                Invalid::given("weight", other, known)
            })
        }
    }
}

/// Window, name of its zone, and its end where that was given.
fn read_window(value: Value) -> Result<(Window, String, Option<Millis>), Invalid> {
    let mut fields = Fields::of(value, "")?;
    let kind = fields.required_string("kind")?;
    let timezone = fields.string("timezone")?.unwrap_or_else(|| "UTC".to_owned());
    let zone = zone(&timezone)?;
    let duration = fields.string("duration")?;
    let (from, to) = (bound(&mut fields, "from", &zone)?, bound(&mut fields, "to", &zone)?);
    let anchor = fields.string("anchor")?.map(|text| {
        text.parse::<Date>()
            .map_err(|_| Invalid::given("anchor", &text, "is no date such as 2026-01-31"))
    });
    let anchor = anchor.transpose()?;
    fields.finish(&["kind", "duration", "timezone", "from", "to", "anchor"])?;
    let bounds = match (from, to) {
        (None, None) => None,
        (Some(_), None) => return Err(Invalid::new("to", "is missing: from needs it")),
        (None, Some(_)) => return Err(Invalid::new("from", "is missing: to needs it")),
        (Some(from), Some(to)) if from >= to => {
            return Err(Invalid::new("to", "must be after from"));
        }
        (Some(from), Some(to)) if to - from > LONGEST => {
            return Err(Invalid::new("to", "is more than 100 years after from"));
        }
        (Some(start), Some(end)) => Some(Bounds { start, end }),
    };
    let window = match kind.as_str() {
        "rolling" if bounds.is_some() => {
            return Err(Invalid::new(
                "from",
                "has no place in a rolling window, which ends at as_of",
            ));
        }
        "rolling" => rolling(duration)?,
        "calendar" => calendar(duration, zone, anchor, bounds)?,
        "fixed" => match bounds {
            Some(bounds) => Window::Fixed { from: bounds.start, to: bounds.end },
            None => {
                return Err(Invalid::new("from", "is missing: a fixed window needs from and to"));
            }
        },
        other => {
            return Err(Invalid::given(
                "kind",
                other,
                "is no window; known are rolling, calendar, fixed",
            ));
        }
    };
    Ok((window, timezone, bounds.map(|bounds| bounds.end)))
}

fn rolling(duration: Option<String>) -> Result<Window, Invalid> {
    let text = duration.ok_or_else(|| Invalid::new("duration", "is missing, such as 30d"))?;
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
    match days.filter(|days| (1..=3_660).contains(days)) {
        Some(days) => Ok(Window::Rolling { days }),
        None => Err(Invalid::given("duration", &text, "is no number of days from 1d to 3660d")),
    }
}

fn calendar(
    duration: Option<String>,
    zone: TimeZone,
    anchor: Option<Date>,
    bounds: Option<Bounds>,
) -> Result<Window, Invalid> {
    let text = duration.ok_or_else(|| Invalid::new("duration", "is missing, such as 1M"))?;
    let unit = Unit::parse(&text).ok_or_else(|| {
        let hint = if text.ends_with('m') { " (a month is 1M)" } else { "" };
        let why = format!("is no period of the calendar; known are 1d, 1w, 1M, 1Q, 1Y{hint}");
        Invalid::given("duration", &text, &why)
    })?;
    Ok(match bounds {
        Some(bounds) => Window::Period { unit, bounds },
        None => Window::Calendar { unit, zone, anchor },
    })
}

fn quorum(value: Value) -> Result<Quorum, Invalid> {
    let mut fields = Fields::of(value, "")?;
    let k = small(&mut fields, "k", 1, 1_000)?;
    let text = fields.string("policy")?.unwrap_or_else(|| "majority".to_owned());
    let (name, k) = match text.split_once(':') {
        Some((name, number)) => (name, number.parse().ok().filter(|k| (1..=1_000).contains(k))),
        None => (text.as_str(), k),
    };
    let policy = match name {
        "majority" => Policy::Majority,
        "any" => Policy::Any,
        "all" => Policy::All,
        "at_least" => {
            Policy::AtLeast(k.ok_or_else(|| Invalid::new("k", "is missing: at_least needs it"))?)
        }
        _ => {
            let known = "is no policy; known are majority, any, all, at_least";
            return Err(Invalid::given("policy", &text, known));
        }
    };
    let quorum = Quorum {
        policy,
        min_valid: small(&mut fields, "min_valid", 1, 1_000)?,
        confirm: small(&mut fields, "confirm", 1, 1_000)?,
    };
    fields.finish(&["policy", "k", "min_valid", "confirm"])?;
    Ok(quorum)
}

fn rules(list: Vec<Value>) -> Result<Vec<Rule>, Invalid> {
    let mut out: Vec<Rule> = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let place = format!("rules[{index}]");
        let rule = rule(value).map_err(|e| e.under(&place))?;
        if out.iter().any(|other| other.name == rule.name) {
            return Err(
                Invalid::given("name", &rule.name, "is the name of another rule").under(&place)
            );
        }
        out.push(rule);
    }
    Ok(out)
}

fn rule(value: Value) -> Result<Rule, Invalid> {
    const LONGEST_LOOKBACK: Millis = 366 * DAY;
    let missing = |name: &'static str| move || Invalid::new(name, "is missing");
    let mut fields = Fields::of(value, "")?;
    let severity = [("page", RuleSeverity::Page), ("ticket", RuleSeverity::Ticket)];
    let rule = Rule {
        name: fields.required_string("name")?,
        severity: one_of(&mut fields, "severity", &severity)?.ok_or_else(missing("severity"))?,
        long: seconds(&mut fields, "long_s", LONGEST_LOOKBACK)?.ok_or_else(missing("long_s"))?,
        short: seconds(&mut fields, "short_s", LONGEST_LOOKBACK)?.ok_or_else(missing("short_s"))?,
        fraction: share(&mut fields, "budget_fraction")?.ok_or_else(missing("budget_fraction"))?,
        min_bad: u64::from(small(&mut fields, "min_bad", 0, u32::MAX)?.unwrap_or(2)),
    };
    fields.finish(&["name", "severity", "long_s", "short_s", "budget_fraction", "min_bad"])?;
    if rule.short > rule.long {
        return Err(Invalid::new("short_s", "must not be longer than long_s"));
    }
    if rule.fraction.num == 0 {
        return Err(Invalid::new("budget_fraction", "must be more than 0"));
    }
    Ok(rule)
}

fn locations(fields: &mut Fields) -> Result<Locations, Invalid> {
    const MOST: i64 = 1_000;
    match fields.take("locations") {
        None => Ok(Locations::default()),
        Some(number @ Value::Number(_)) => {
            let count = number.as_i64().filter(|n| (1..=MOST).contains(n));
            let count = count.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                Invalid::new("locations", format!("must be names, or a number from 1 to {MOST}"))
            })?;
            Ok(Locations { names: Vec::new(), count })
        }
        Some(Value::Array(items)) if items.len() as i64 <= MOST => {
            let mut names: Vec<String> = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let place = format!("locations[{index}]");
                let Value::String(name) = item else {
                    return Err(Invalid::new(place, "must be a name"));
                };
                if names.contains(&name) {
                    return Err(Invalid::given(place, &name, "is named twice"));
                }
                names.push(name);
            }
            Ok(Locations { count: names.len(), names })
        }
        Some(_) => {
            Err(Invalid::new("locations", format!("must be a list of at most {MOST} names")))
        }
    }
}

fn small(fields: &mut Fields, name: &str, least: u32, most: u32) -> Result<Option<u32>, Invalid> {
    let number = fields.integer(name, i64::from(least)..=i64::from(most))?;
    Ok(number.and_then(|number| u32::try_from(number).ok()))
}

/// A word that stands for something.
pub(super) fn one_of<T: Copy>(
    fields: &mut Fields,
    name: &str,
    known: &[(&str, T)],
) -> Result<Option<T>, Invalid> {
    let Some(text) = fields.string(name)? else { return Ok(None) };
    match known.iter().find(|(word, _)| *word == text) {
        Some((_, meaning)) => Ok(Some(*meaning)),
        None => {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            Err(Invalid::given(
                name,
                &text,
                &format!("is not known; known are {}", words.join(", ")),
            ))
        }
    }
}
