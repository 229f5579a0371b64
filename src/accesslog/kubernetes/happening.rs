//! Objects of kind Event, in both shapes of the API: `v1` (count, message, involvedObject) and
//! `events.k8s.io/v1` (series, note, regarding). One object is updated when its happening comes again,
//! so what is told is a count; several objects may tell of the same kind of happening.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::super::document::{instant, number, text};
use crate::domain::fleet::event::{Event, Source, State, What};

/// What was gathered of a document; [`Happenings::tell`] makes events of it.
#[derive(Default)]
pub(super) struct Happenings<'a> {
    seen: Vec<Seen<'a>>,
}

/// One state of one object.
struct Seen<'a> {
    object: &'a str,
    pod: &'a str,
    uid: Option<&'a str>,
    reason: &'a str,
    message: &'a str,
    warning: bool,
    first_us: i64,
    last_us: i64,
    count: u64,
}

impl<'a> Happenings<'a> {
    /// Takes one object of kind Event. Those of nodes, workloads and others say nothing of an instance.
    pub(super) fn take(&mut self, event: &'a Value) {
        self.seen.extend(seen(event));
    }

    pub(super) fn tell(mut self, events: &mut Vec<Event>) {
        self.seen.sort_by_key(|seen| seen.last_us);
        self.counts(events);
        self.starts(events);
        for seen in &self.seen {
            verdict(seen, events);
        }
    }

    /// Running totals per pod and kind of happening. An object that was seen several times counts once,
    /// with its newest count; the one first occurrence that it still knows has its own moment.
    fn counts(&self, events: &mut Vec<Event>) {
        let mut points = Vec::new();
        for seen in &self.seen {
            let Some(name) = name(seen) else { continue };
            if seen.count > 1 && seen.first_us < seen.last_us {
                points.push((seen.first_us, 1, name, seen));
            }
            points.push((seen.last_us, seen.count, name, seen));
        }
        points.sort_by_key(|(at_us, count, ..)| (*at_us, *count));
        let mut totals: HashMap<(&str, &str), BTreeMap<&str, u64>> = HashMap::new();
        for (at_us, count, name, seen) in points {
            let counts = totals.entry((seen.pod, name)).or_default();
            let before: u64 = counts.values().sum();
            let known = counts.entry(seen.object).or_default();
            *known = count.max(*known);
            let total: u64 = counts.values().sum();
            if total > before {
                let what = What::Count { name: name.to_owned(), total };
                events.push(seen.says(at_us, what, true));
            }
        }
    }

    /// Starts of containers. The first one of a pod is the pod's; the first of its other containers adds
    /// nothing; one that came again is a restart.
    fn starts(&self, events: &mut Vec<Event>) {
        let started = || self.seen.iter().filter(|seen| seen.reason == "Started");
        let mut first: HashMap<&str, &Seen<'_>> = HashMap::new();
        for seen in started() {
            let known = first.entry(seen.pod).or_insert(seen);
            if seen.first_us < known.first_us {
                *known = seen;
            }
        }
        for seen in first.values() {
            events.push(seen.says(seen.first_us, What::Started, false));
        }
        for seen in started().filter(|seen| seen.count > 1) {
            events.push(seen.says(seen.last_us, What::Started, false));
        }
    }
}

impl Seen<'_> {
    fn says(&self, at_us: i64, what: What, with_reason: bool) -> Event {
        let mut event = Event::new(at_us, Source::Kubernetes, what).of(self.pod);
        event.aliases = self.uid.map(str::to_owned).into_iter().collect();
        event.reason = with_reason.then(|| match self.message {
            "" => self.reason.to_owned(),
            message => message.to_owned(),
        });
        event
    }
}

/// The name under which a happening is counted: probes by their kind, other warnings by their reason.
fn name<'a>(seen: &Seen<'a>) -> Option<&'a str> {
    match seen.reason {
        "Unhealthy" => Some(match seen.message {
            message if message.starts_with("Readiness probe") => "readiness probe failed",
            message if message.starts_with("Liveness probe") => "liveness probe failed",
            message if message.starts_with("Startup probe") => "startup probe failed",
            _ => "Unhealthy",
        }),
        "Killing" if seen.message.contains("will be restarted") => Some("Killing"),
        reason => seen.warning.then_some(reason),
    }
}

/// What the newest occurrence says of the pod's state.
fn verdict(seen: &Seen<'_>, events: &mut Vec<Event>) {
    let mut say = |at_us, what| events.push(seen.says(at_us, what, true));
    let at_us = seen.last_us;
    match seen.reason {
        "Unhealthy" if seen.message.starts_with("Readiness probe") => {
            say(seen.first_us, What::Check { passed: false });
            if at_us > seen.first_us {
                say(at_us, What::Check { passed: false });
            }
        }
        // A container that is killed to be restarted takes the pod out of service.
        "Killing" if seen.message.contains("will be restarted") => {
            say(at_us, What::State(State::Unready));
        }
        "Killing" if seen.message.starts_with("Stopping container") => {
            say(at_us, What::State(State::Draining));
        }
        "Evicted" | "Preempted" | "Preempting" | "TaintManagerEviction"
            if !seen.message.starts_with("Cancelling") =>
        {
            say(at_us, What::State(State::Draining));
        }
        "NodeNotReady" => say(at_us, What::State(State::Unready)),
        // The other back-off is that of pulling an image.
        "BackOff" if seen.message.contains("restarting failed container") => {
            say(at_us, What::BackOff)
        }
        _ => {}
    }
}

fn seen(event: &Value) -> Option<Seen<'_>> {
    let about = event.get("involvedObject").or_else(|| event.get("regarding"))?;
    if text(about, "/kind") != Some("Pod") {
        return None;
    }
    let stamp = |names: &[&str]| names.iter().find_map(|name| instant(event, name));
    let last_us = stamp(&[
        "/series/lastObservedTime",
        "/lastTimestamp",
        "/deprecatedLastTimestamp",
        "/eventTime",
        "/metadata/creationTimestamp",
    ])?;
    let first_us = stamp(&[
        "/firstTimestamp",
        "/deprecatedFirstTimestamp",
        "/eventTime",
        "/metadata/creationTimestamp",
    ]);
    let count = ["/series/count", "/count", "/deprecatedCount"];
    let message = text(event, "/message").or_else(|| text(event, "/note")).unwrap_or_default();
    Some(Seen {
        object: text(event, "/metadata/uid").or_else(|| text(event, "/metadata/name"))?,
        pod: text(about, "/name")?,
        uid: text(about, "/uid"),
        reason: text(event, "/reason")?,
        message: message.strip_prefix("(combined from similar events): ").unwrap_or(message),
        warning: text(event, "/type") == Some("Warning"),
        first_us: first_us.unwrap_or(last_us).min(last_us),
        last_us,
        count: count.iter().find_map(|name| number(event, name)).unwrap_or(1).max(1),
    })
}
