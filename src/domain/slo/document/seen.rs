//! What was seen: intervals, results, requests, maintenance, incidents.

use std::collections::BTreeMap;

use serde_json::Value;

use super::definition::{Locations, one_of};
use super::parts::{instant, required_instant};
use crate::domain::availability::Stretch;
use crate::domain::decision::State;
use crate::domain::fields::Fields;
use crate::domain::slo::definition::Sli;
use crate::domain::slo::evaluate::{Decided, Member};
use crate::domain::slo::evidence::{Batch, Timing};
use crate::domain::slo::maintenance::{Kind, Occurrence};
use crate::domain::slo::outage::Incident;
use crate::domain::slo::requests::{MINUTE, Minute};
use crate::domain::slo::slot::Outcome;
use crate::domain::{Invalid, Millis};

/// Reads each item of a list by its place.
fn each<T>(
    list: Vec<Value>,
    name: &str,
    read: impl Fn(&mut Fields) -> Result<T, Invalid>,
    known: &[&str],
) -> Result<Vec<T>, Invalid> {
    let item = |(index, value): (usize, Value)| {
        let place = format!("{name}[{index}]");
        let mut fields = Fields::of(value, &place)?;
        let item = read(&mut fields).and_then(|item| fields.finish(known).map(|()| item));
        item.map_err(|e| e.under(&place))
    };
    list.into_iter().enumerate().map(item).collect()
}

/// Intervals in order of time. Gaps are unknown, overlaps are refused.
pub(super) fn timeline(list: Vec<Value>, name: &str) -> Result<Vec<Stretch>, Invalid> {
    let read = |fields: &mut Fields| {
        let states = [
            ("up", State::Up),
            ("degraded", State::Degraded),
            ("partial", State::Partial),
            ("down", State::Down),
            ("unknown", State::Unknown),
            ("pending", State::Pending),
            ("paused", State::Paused),
        ];
        let stretch = Stretch {
            from: required_instant(fields, "from")?,
            to: instant(fields, "to")?,
            state: one_of(fields, "state", &states)?
                .ok_or_else(|| Invalid::new("state", "is missing"))?,
            evidence_stale: fields.bool("evidence_stale")?.unwrap_or(false),
        };
        match stretch.to {
            Some(to) if to < stretch.from => Err(Invalid::new("to", "must not be before from")),
            _ => Ok(stretch),
        }
    };
    let stretches = each(list, name, read, &["from", "to", "state", "evidence_stale"])?;
    let mut order: Vec<usize> = (0..stretches.len()).collect();
    order.sort_by_key(|index| stretches.get(*index).map(|s| (s.from, s.to.unwrap_or(Millis::MAX))));
    let mut out: Vec<Stretch> = Vec::with_capacity(stretches.len());
    let mut before: Option<(usize, Millis)> = None;
    for index in order {
        let Some(stretch) = stretches.get(index) else { continue };
        let end = stretch.to.unwrap_or(Millis::MAX);
        if end == stretch.from {
            continue;
        }
        if let Some((other, ended)) = before.filter(|(_, ended)| *ended > stretch.from) {
            let what = if ended == Millis::MAX { "has no end" } else { "ends later" };
            let message = format!("overlaps {name}[{other}], which begins earlier and {what}");
            return Err(Invalid::new(format!("{name}[{index}].from"), message));
        }
        before = Some((index, end));
        out.push(*stretch);
    }
    Ok(out)
}

pub(super) fn members(list: Vec<Value>) -> Result<Vec<Member>, Invalid> {
    if list.is_empty() {
        return Err(Invalid::new("members", "must name at least one"));
    }
    let read = |fields: &mut Fields| {
        let id = fields.required_string("id")?;
        let intervals =
            fields.list("timeline")?.ok_or_else(|| Invalid::new("timeline", "is missing"))?;
        Ok(Member {
            id,
            decided: Decided { stretches: timeline(intervals, "timeline")?, ..Decided::default() },
            maintenance: maintenance(fields.list("maintenance")?, "maintenance")?,
            created_at: instant(fields, "created_at")?,
            deleted_at: instant(fields, "deleted_at")?,
        })
    };
    let known = ["id", "timeline", "maintenance", "created_at", "deleted_at"];
    let members = each(list, "members", read, &known)?;
    for (index, member) in members.iter().enumerate() {
        if members.iter().take(index).any(|other| other.id == member.id) {
            return Err(Invalid::given(
                format!("members[{index}].id"),
                &member.id,
                "is named twice",
            ));
        }
    }
    Ok(members)
}

pub(super) fn maintenance(
    list: Option<Vec<Value>>,
    name: &str,
) -> Result<Vec<Occurrence>, Invalid> {
    let read = |fields: &mut Fields| {
        let locations = fields.list("locations")?.map(|items| {
            let names = items.iter().map(|item| item.as_str().map(str::to_owned));
            names
                .collect::<Option<Vec<String>>>()
                .ok_or_else(|| Invalid::new("locations", "must be names"))
        });
        let kinds = [("planned", Kind::Planned), ("correction", Kind::Correction)];
        let title = fields.string("title")?;
        let occurrence = Occurrence {
            id: fields.string("id")?.or(title).unwrap_or_default(),
            start: required_instant(fields, "start")?,
            end: required_instant(fields, "end")?,
            kind: one_of(fields, "kind", &kinds)?.unwrap_or(Kind::Planned),
            excludes: one_of(fields, "effect", &[("exclude", true), ("label", false)])?
                .unwrap_or(true),
            declared_at: instant(fields, "declared_at")?,
            reason: fields.string("reason")?.unwrap_or_default(),
            locations: locations.transpose()?,
        };
        if occurrence.end < occurrence.start {
            return Err(Invalid::new("end", "must not be before start"));
        }
        Ok(occurrence)
    };
    let known =
        ["id", "title", "start", "end", "effect", "declared_at", "kind", "reason", "locations"];
    each(list.unwrap_or_default(), name, read, &known)
}

pub(super) fn incidents(list: Option<Vec<Value>>) -> Result<Vec<Incident>, Invalid> {
    let read = |fields: &mut Fields| {
        let started_at = required_instant(fields, "started_at")?;
        Ok(Incident {
            id: fields.required_string("id")?,
            started_at,
            ended_at: instant(fields, "ended_at")?,
            opened_at: instant(fields, "opened_at")?.unwrap_or(started_at),
            acked_at: instant(fields, "acked_at")?,
        })
    };
    let known = ["id", "started_at", "ended_at", "opened_at", "acked_at"];
    let mut incidents = each(list.unwrap_or_default(), "incidents", read, &known)?;
    incidents.sort_by_key(|incident| incident.started_at);
    Ok(incidents)
}

/// Requests by the minute in which the source was heard.
pub(super) fn minutes(list: Option<Vec<Value>>) -> Result<Vec<Minute>, Invalid> {
    let read = |fields: &mut Fields| {
        let at = required_instant(fields, "at")?;
        if at.rem_euclid(MINUTE) != 0 {
            return Err(Invalid::new("at", "must be a whole minute"));
        }
        let mut count = |name: &str| {
            let number = fields.integer(name, 0..=i64::from(u32::MAX))?;
            let number = number.ok_or_else(|| Invalid::new(name, "is missing"))?;
            Ok(u64::try_from(number).unwrap_or(0))
        };
        let (total, good) = (count("total")?, count("good")?);
        if good > total {
            return Err(Invalid::new("good", "must not be more than total"));
        }
        Ok(Minute { at, total, bad: total - good })
    };
    let mut minutes = each(list.unwrap_or_default(), "requests", read, &["at", "total", "good"])?;
    minutes.sort_by_key(|minute| minute.at);
    if let Some([_, twice]) = minutes.windows(2).find(|pair| matches!(pair, [a, b] if a.at == b.at))
    {
        let at = crate::domain::slo::report::stamp(twice.at);
        return Err(Invalid::new("requests", format!("has {at} twice")));
    }
    Ok(minutes)
}

/// How a list of results is read.
pub(super) struct Results<'a> {
    pub sli: Sli,
    pub locations: &'a Locations,
}

/// A result with its place in the list.
struct Found {
    at: Millis,
    location: Option<String>,
    outcome: Outcome,
    duration_us: Option<u32>,
}

impl Results<'_> {
    /// Results in order of time, and the names that they point at: those of the SLO, or those found.
    pub(super) fn read(
        &self,
        list: Vec<Value>,
        name: &str,
    ) -> Result<(Vec<Batch>, Vec<String>), Invalid> {
        let outcomes = ["ok", "fail", "invalid", "missing"]
            .map(|word| (word, Outcome::parse(word).unwrap_or(Outcome::Missing)));
        let read = |fields: &mut Fields| {
            let duration = fields.integer("duration_us", 0..=i64::from(u32::MAX))?;
            let found = Found {
                at: required_instant(fields, "at")?,
                location: fields.string("location")?,
                outcome: one_of(fields, "outcome", &outcomes)?
                    .ok_or_else(|| Invalid::new("outcome", "is missing"))?,
                duration_us: duration.and_then(|us| u32::try_from(us).ok()),
            };
            let needs = matches!(self.sli, Sli::Latency { .. }) && found.outcome == Outcome::Ok;
            if needs && found.duration_us.is_none() {
                return Err(Invalid::new("duration_us", "is missing: a pass is judged by it"));
            }
            Ok(found)
        };
        let found = each(list, name, read, &["at", "location", "outcome", "duration_us"])?;
        let mut names = self.locations.names.clone();
        let mut places: BTreeMap<String, u16> =
            names.iter().zip(0..).map(|(name, place)| (name.clone(), place)).collect();
        let mut batches = Vec::with_capacity(found.len());
        for (index, result) in found.iter().enumerate() {
            let place = self.place(result, &mut names, &mut places);
            let place = place.map_err(|e| e.under(&format!("{name}[{index}]")))?;
            batches.push(self.batch(result, place));
        }
        batches.sort_by_key(|batch| batch.at);
        Ok((batches, names))
    }

    fn place(
        &self,
        result: &Found,
        names: &mut Vec<String>,
        places: &mut BTreeMap<String, u16>,
    ) -> Result<u16, Invalid> {
        let name = match (&result.location, names.as_slice()) {
            (Some(name), _) => name.clone(),
            (None, []) => "default".to_owned(),
            (None, [only]) => only.clone(),
            (None, _) => return Err(Invalid::new("location", "is missing: there are several")),
        };
        if let Some(place) = places.get(&name) {
            return Ok(*place);
        }
        if !self.locations.names.is_empty() {
            return Err(Invalid::given("location", &name, "is not in slo.locations"));
        }
        let most = if self.locations.count > 0 { self.locations.count } else { 1_000 };
        let place = u16::try_from(names.len()).unwrap_or(u16::MAX);
        if names.len() >= most {
            return Err(Invalid::given("location", &name, &format!("is one more than {most}")));
        }
        places.insert(name.clone(), place);
        names.push(name);
        Ok(place)
    }

    fn batch(&self, result: &Found, location: u16) -> Batch {
        let is = |outcome| u64::from(result.outcome == outcome);
        let threshold = match self.sli {
            Sli::Latency { threshold_us, .. } => Some(threshold_us),
            _ => None,
        };
        let timing = result.duration_us.filter(|_| result.outcome == Outcome::Ok);
        let quick = timing.zip(threshold).is_some_and(|(us, threshold)| us <= threshold);
        Batch {
            at: result.at,
            to: result.at.saturating_add(1),
            location,
            ok: is(Outcome::Ok),
            fail: is(Outcome::Fail),
            invalid: is(Outcome::Invalid),
            missing: is(Outcome::Missing),
            quick: (quick.into(), quick.into()),
            timing: timing.map_or(Timing::None, Timing::One),
        }
    }
}
