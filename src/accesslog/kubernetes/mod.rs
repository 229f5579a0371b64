//! `kubectl get pods,events -o json` and its kin: lists of any mix of pods, events, nodes and workloads,
//! lists as the API itself gives them, single objects, and streams of objects as `-w` prints them, with
//! or without `--output-watch-events` (spec: fleet 1.11).
//!
//! * [`pod`]: what a pod's status tells.
//! * [`happening`]: what the objects of kind Event tell.

mod happening;
mod pod;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::document::{self, Invalid, instant_of, items, number, text};
use crate::domain::fleet::event::{Event, Source, What};

/// All that the document says, in order of time. Counters and what has no stamp of its own hold at
/// `at_us`; without it, at the newest stamp in the document, and in a stream in the document so far.
pub fn read(document: &[u8], at_us: Option<i64>) -> Result<Vec<Event>, Invalid> {
    let values = document::values(document)?;
    let given = at_us.filter(|_| values.len() == 1);
    let mut objects = Vec::new();
    let mut newest = None;
    for value in &values {
        newest = newest.max(newest_in(value));
        let Some(at_us) = given.or(newest).or(at_us) else { continue };
        flatten(value, "", false, at_us, &mut objects);
    }
    if objects.is_empty() && !values.iter().any(is_list) {
        return Err(Invalid::Foreign {
            expected: "Kubernetes' objects and lists (kind, metadata)",
        });
    }
    let zones: HashMap<&str, &str> = objects.iter().filter_map(zone).collect();
    let mut events = Vec::new();
    let mut lives = pod::Lives::default();
    let mut happenings = happening::Happenings::default();
    for object in &objects {
        match object.kind {
            "Pod" => pod::events(object, &zones, &mut lives, &mut events),
            "Event" => happenings.take(object.value),
            _ => events.extend(expected(object)),
        }
    }
    lives.tell(&mut events);
    happenings.tell(&mut events);
    // What is pushed first comes first within an instant: stamps have the resolution of a second.
    events.sort_by_key(|event| (event.at_us, event.what == What::Gone));
    once_per_start(&mut events);
    // A stream repeats with every object what is still so.
    let mut said = HashSet::new();
    events.retain(|event| {
        said.insert(format!("{} {:?} {:?}", event.at_us, event.instance, event.what))
    });
    Ok(events)
}

/// A start stands in the pod's status and in an object of kind Event, to the second and not always to
/// the same one. Two starts this close are one; what it really was is in the pod's counter.
fn once_per_start(events: &mut Vec<Event>) {
    const SAME_US: i64 = 2_000_000;
    let mut last: HashMap<String, i64> = HashMap::new();
    events.retain(|event| {
        let Some(name) = event.instance.as_ref().filter(|_| event.what == What::Started) else {
            return true;
        };
        let before = last.insert(name.clone(), event.at_us);
        before.is_none_or(|before| event.at_us - before > SAME_US)
    });
}

/// One object of a list or a stream.
struct Object<'a> {
    value: &'a Value,
    kind: &'a str,
    /// The stream says that it was deleted.
    deleted: bool,
    /// When it was as it stands here.
    at_us: i64,
}

/// Takes lists and watch events apart. The items of a list of the API have no kind of their own: `hint`
/// is that of the list.
fn flatten<'a>(
    value: &'a Value,
    hint: &'a str,
    deleted: bool,
    at_us: i64,
    objects: &mut Vec<Object<'a>>,
) {
    if let Value::Array(values) = value {
        for value in values {
            flatten(value, hint, deleted, at_us, objects);
        }
        return;
    }
    if let (Some(change), Some(object)) = (text(value, "/type"), value.get("object")) {
        if matches!(change, "ADDED" | "MODIFIED" | "DELETED") {
            flatten(object, hint, change == "DELETED", at_us, objects);
        }
        return;
    }
    let kind = text(value, "/kind").unwrap_or(hint);
    match kind.strip_suffix("List") {
        Some(of) => {
            for item in items(value, "/items") {
                flatten(item, of, deleted, at_us, objects);
            }
        }
        None if text(value, "/metadata/name").is_some() => {
            objects.push(Object { value, kind, deleted, at_us });
        }
        None => {}
    }
}

fn is_list(value: &Value) -> bool {
    text(value, "/kind").is_some_and(|kind| kind.ends_with("List")) && value.get("items").is_some()
}

fn zone<'a>(object: &Object<'a>) -> Option<(&'a str, &'a str)> {
    let labels = object.value.pointer("/metadata/labels").filter(|_| object.kind == "Node")?;
    Some((text(object.value, "/metadata/name")?, zone_label(labels)?))
}

fn zone_label(labels: &Value) -> Option<&str> {
    let label = |name| labels.get(name).and_then(Value::as_str);
    label("topology.kubernetes.io/zone").or_else(|| label("failure-domain.beta.kubernetes.io/zone"))
}

/// How many pods a workload wants. One that another owns is no authority: a Deployment keeps its former
/// ReplicaSets at 0.
fn expected(object: &Object<'_>) -> Option<Event> {
    let value = object.value;
    let count = match object.kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController" => {
            number(value, "/spec/replicas").unwrap_or(1)
        }
        "DaemonSet" => number(value, "/status/desiredNumberScheduled")?,
        _ => return None,
    };
    let owners = items(value, "/metadata/ownerReferences");
    if owners.iter().any(|owner| owner.get("controller") == Some(&Value::Bool(true))) {
        return None;
    }
    let what = What::Expected(u32::try_from(count).ok()?);
    let mut event = Event::new(object.at_us, Source::Kubernetes, what);
    event.pool = text(value, "/metadata/name").map(str::to_owned);
    Some(event)
}

/// The stamps that tell when something was seen. What may lie ahead, such as an expiry, is not among
/// them.
const SEEN: [&str; 15] = [
    "creationTimestamp",
    "startTime",
    "startedAt",
    "finishedAt",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "lastObservedTime",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "time",
];

fn newest_in(value: &Value) -> Option<i64> {
    match value {
        Value::Array(items) => items.iter().filter_map(newest_in).max(),
        Value::Object(members) => {
            let of = |(key, value): (&String, &Value)| match value {
                Value::String(stamp) if SEEN.contains(&key.as_str()) => instant_of(stamp),
                Value::Array(_) | Value::Object(_) => newest_in(value),
                _ => None,
            };
            members.iter().filter_map(of).max()
        }
        _ => None,
    }
}
