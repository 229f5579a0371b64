//! An SLO, and what was seen, as one JSON document: what `quorate slo eval` and simulations read. The `slo`
//! object in it is the one that is saved, so that every rule about its fields stands here once.

mod definition;
mod parts;
mod seen;

use jiff::tz::TimeZone;
use serde_json::Value;

use self::definition::Given;
use self::parts::{instant, required_instant};
use crate::domain::fields::Fields;
use crate::domain::slo::composite::Composite;
use crate::domain::slo::definition::{Definition, Resolution, Sli};
use crate::domain::slo::evaluate::{Decided, Identity, Inputs, Truth};
use crate::domain::slo::evidence::Plan;
use crate::domain::slo::slot::Grid;
use crate::domain::{Invalid, Millis};

const KNOWN: &[&str] = &[
    "slo",
    "as_of",
    "created_at",
    "deleted_at",
    "timeline",
    "slots",
    "events",
    "members",
    "requests",
    "maintenance",
    "incidents",
];

/// The `slo` object by itself, as it is saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    pub definition: Definition,
    /// How members are put together, where there are some.
    pub composite: Option<Composite>,
    /// The rules are the usual ones for the window, because none were written.
    pub usual_rules: bool,
}

/// Reads the `slo` object. `at` is any instant at which its window has to lie within the calendar.
pub fn objective(slo: Value, at: Millis) -> Result<Objective, Invalid> {
    let given = definition::read(slo)?;
    let definition = given.finish(at)?;
    Ok(Objective { definition, composite: given.composite, usual_rules: given.has_no_rules() })
}

/// An instant, or a civil date whose first instant in the zone is meant; `field` names it in the refusal.
pub fn bound(text: &str, field: &str, zone: &TimeZone) -> Result<Millis, Invalid> {
    parts::bound_of(&Value::String(text.to_owned()), field, zone)
}

/// What the text says, or which field is wrong.
pub fn parse(text: &str) -> Result<(Definition, Inputs), Invalid> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Invalid::new("", format!("is not JSON: {error}")))?;
    read(value)
}

/// What the document says, or which field is wrong.
pub fn read(value: Value) -> Result<(Definition, Inputs), Invalid> {
    let mut fields = Fields::of(value, "")?;
    // What people write beside their cases.
    for remark in ["id", "title", "comment", "expect"] {
        let _ = fields.take(remark);
    }
    let slo = fields.take("slo").ok_or_else(|| Invalid::new("slo", "is missing"))?;
    let given = definition::read(slo).map_err(|e| e.under("slo"))?;
    let as_of = match (instant(&mut fields, "as_of")?, given.end) {
        (Some(as_of), _) => as_of,
        (None, Some(end)) => end,
        (None, None) => required_instant(&mut fields, "as_of")?,
    };
    let created_at = instant(&mut fields, "created_at")?;
    let deleted_at = instant(&mut fields, "deleted_at")?;
    if created_at.zip(deleted_at).is_some_and(|(created, deleted)| deleted < created) {
        return Err(Invalid::new("deleted_at", "is before created_at"));
    }
    let definition = given.finish(as_of).map_err(|e| e.under("slo"))?;
    let mut inputs = Inputs {
        as_of,
        watermark: as_of,
        created_at,
        deleted_at,
        truth: Truth::Decided(Decided::default()),
        maintenance: seen::maintenance(fields.list("maintenance")?, "maintenance")?,
        locations: given.locations.names.clone(),
        batches: Vec::new(),
        plans: Vec::new(),
        minutes: seen::minutes(fields.list("requests")?)?,
        summed: false,
        incidents: seen::incidents(fields.list("incidents")?)?,
        standings: Default::default(),
        identity: Identity {
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..given.identity.clone()
        },
    };
    what_was_seen(&mut fields, &given, &definition, &mut inputs)?;
    fields.finish(KNOWN)?;
    Ok((with_resolution(definition, &given, &inputs), inputs))
}

/// Timeline, slots, events, members: one of them is the truth about time.
fn what_was_seen(
    fields: &mut Fields,
    given: &Given,
    definition: &Definition,
    inputs: &mut Inputs,
) -> Result<(), Invalid> {
    let (timeline, slots) = (fields.list("timeline")?, fields.list("slots")?);
    let (members, events) = (fields.list("members")?, fields.list("events")?);
    let named = [
        ("timeline", timeline.is_some()),
        ("slots", slots.is_some()),
        ("members", members.is_some()),
    ];
    let mut present = named.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    if let (Some(first), Some(second)) = (present.next(), present.next()) {
        return Err(Invalid::new(second, format!("cannot stand beside {first}")));
    }
    if slots.is_some() && events.is_some() {
        return Err(Invalid::new("events", "cannot stand beside slots, which serve as events too"));
    }
    let results = seen::Results { sli: definition.sli, locations: &given.locations };
    match (slots, events) {
        (Some(list), _) => {
            (inputs.batches, inputs.locations) = results.read(list, "slots")?;
            let interval = given
                .interval
                .ok_or_else(|| Invalid::new("slo.interval_s", "is missing: slots have a length"))?;
            let locations = given.locations.count.max(inputs.locations.len());
            inputs.truth = Truth::Slots(Grid { interval, locations, quorum: given.quorum });
        }
        (None, Some(list)) => {
            (inputs.batches, inputs.locations) = results.read(list, "events")?;
        }
        (None, None) => {}
    }
    match (members, given.composite) {
        (Some(list), composite) => {
            let rule = composite.unwrap_or(Composite::AnyDown);
            inputs.truth = Truth::Members(rule, seen::members(list)?);
        }
        (None, Some(_)) => {
            return Err(Invalid::new("members", "is missing: slo.composite is of them"));
        }
        (None, None) => {}
    }
    if let Some(list) = timeline {
        let stretches = seen::timeline(list, "timeline")?;
        inputs.truth = Truth::Decided(Decided { stretches, ..Decided::default() });
    } else if matches!(&inputs.truth, Truth::Decided(_)) {
        let missing = match definition.sli {
            Sli::Availability => Some("timeline"),
            Sli::ProbeRatio { .. } | Sli::Slices { .. } | Sli::Latency { .. }
                if inputs.batches.is_empty() =>
            {
                Some("events")
            }
            _ => None,
        };
        if let Some(name) = missing {
            return Err(Invalid::new(
                name,
                format!("is missing: {} is made from it", definition.sli.name()),
            ));
        }
    }
    if matches!(definition.sli, Sli::Requests { .. }) && inputs.minutes.is_empty() {
        return Err(Invalid::new("requests", "is missing: requests by the minute"));
    }
    if !inputs.batches.is_empty() {
        inputs.plans = plans(given, inputs);
    }
    Ok(())
}

/// With an interval each location was to give a result in each cell; without one the listed were.
fn plans(given: &Given, inputs: &Inputs) -> Vec<Plan> {
    let count = given.locations.count.max(inputs.locations.len());
    let plan = |interval| Plan {
        from: Millis::MIN,
        to: Millis::MAX,
        interval,
        locations: (0..count).map(|place| place as u16).collect(),
    };
    given.interval.map(plan).into_iter().collect()
}

fn with_resolution(definition: Definition, given: &Given, inputs: &Inputs) -> Definition {
    let count = given.locations.count.max(inputs.locations.len());
    // A timeline alone does not say how many confirm; then the fewest are taken.
    let count = if count == 0 { 2 } else { count };
    let resolution = given.interval.map(|interval| Resolution::of(interval, &given.quorum, count));
    Definition { resolution, ..definition }
}
