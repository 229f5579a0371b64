//! A pod's status: readiness, restarts and their causes, what it runs and where.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{
    super::document::{address, instant, items, number, text},
    Object, zone_label,
};
use crate::domain::fleet::event::{Event, Source, State, What};

/// What one pod's object says, but for its restarts, which are gathered. Pods of a Job come and go by
/// design and are no instances.
pub(super) fn events(
    object: &Object<'_>,
    zones: &HashMap<&str, &str>,
    lives: &mut Lives,
    events: &mut Vec<Event>,
) {
    let value = object.value;
    let Some(name) = text(value, "/metadata/name") else { return };
    if controller(value).is_some_and(|owner| text(owner, "/kind") == Some("Job")) {
        return;
    }
    let mut about = Event::new(object.at_us, Source::Kubernetes, What::Gone).of(name);
    about.aliases = aliases(value);
    about.pool = workload(value);
    about.node = text(value, "/spec/nodeName").map(str::to_owned);
    let zone = value.pointer("/metadata/labels").and_then(zone_label);
    let zone = zone.or_else(|| zones.get(about.node.as_deref()?).copied());
    about.zone = zone.map(str::to_owned);
    let life = lives.of(value, &about);
    let pod = Pod { value, at_us: object.at_us, about };
    pod.version(events);
    pod.containers(life, events);
    pod.readiness(events);
    if object.deleted {
        events.push(pod.says(object.at_us, What::Gone, None));
    }
}

/// The starts of every pod of a document. A stream shows a pod several times, and each time the status
/// knows only the last two starts of a container: together they know more.
#[derive(Default)]
pub(super) struct Lives(HashMap<String, Life>);

struct Life {
    /// Every event of this pod before its time, matter and reason are known.
    about: Event,
    created_us: Option<i64>,
    first_us: Option<i64>,
    /// Restarts whose moment is known, and why the container before had ended.
    restarts: BTreeMap<i64, Option<String>>,
    /// When it was last counted, and how many there were by then.
    counted: Option<(i64, u64)>,
}

impl Lives {
    fn of(&mut self, pod: &Value, about: &Event) -> &mut Life {
        let key = text(pod, "/metadata/uid").or_else(|| text(pod, "/metadata/name"));
        let life = self.0.entry(key.unwrap_or_default().to_owned()).or_insert_with(|| Life {
            about: about.clone(),
            created_us: None,
            first_us: None,
            restarts: BTreeMap::new(),
            counted: None,
        });
        life.created_us = instant(pod, "/metadata/creationTimestamp").or(life.created_us);
        // Addresses come later than the first sight of a pod.
        life.about = about.clone();
        life
    }

    pub(super) fn tell(self, events: &mut Vec<Event>) {
        for life in self.0.into_values() {
            life.tell(events);
        }
    }
}

impl Life {
    /// Start number `number` of a container, counted from 0.
    fn start(&mut self, at_us: Option<i64>, number: u64, reason: Option<String>) {
        let Some(at_us) = at_us else { return };
        if number == 0 {
            // The first start of a pod is one, however many containers it has.
            self.first_us = Some(self.first_us.map_or(at_us, |first| first.min(at_us)));
        } else {
            let known = self.restarts.entry(at_us).or_default();
            *known = reason.or(known.take());
        }
    }

    /// The counter at each moment at which it is known. Restarts of which only the number is left are
    /// put at the beginning, where they raise no false alarm in an old pod and the right one in a new.
    fn tell(self, events: &mut Vec<Event>) {
        let says = |at_us, what, reason| Event { at_us, what, reason, ..self.about.clone() };
        let (counted_us, total) = self.counted.unwrap_or_default();
        let known = u64::try_from(self.restarts.len()).unwrap_or(u64::MAX);
        let mut count = total.saturating_sub(known);
        if let Some(created_us) = self.created_us.filter(|_| self.counted.is_some()) {
            events.push(says(created_us, What::RestartCount(0), None));
            if count > 0 {
                let reason = Some("at times that are not known any more".to_owned());
                events.push(says(created_us + 1, What::RestartCount(count), reason));
            }
        }
        events.extend(self.first_us.map(|at_us| says(at_us, What::Started, None)));
        for (at_us, reason) in self.restarts {
            count += 1;
            events.push(says(at_us, What::RestartCount(count), reason.clone()));
            events.push(says(at_us, What::Started, reason));
        }
        if self.counted.is_some() {
            events.push(says(counted_us, What::RestartCount(total.max(count)), None));
        }
    }
}

struct Pod<'a> {
    value: &'a Value,
    /// When the pod was as it stands here.
    at_us: i64,
    /// Every event of this pod before its time, matter and reason are known.
    about: Event,
}

impl Pod<'_> {
    fn says(&self, at_us: i64, what: What, reason: Option<String>) -> Event {
        Event { at_us, what, reason, ..self.about.clone() }
    }

    /// The hash of the template it was made from, or else the digest of its image.
    fn version(&self, events: &mut Vec<Event>) {
        let label = |name: &str| self.value.pointer("/metadata/labels")?.get(name)?.as_str();
        let digest = || {
            let image = self.statuses().find_map(|status| text(status, "/imageID"))?;
            Some(image.rsplit_once('@').map_or(image, |(_, digest)| digest))
        };
        let version = label("pod-template-hash").or_else(|| label("controller-revision-hash"));
        if let Some(version) = version.or_else(digest) {
            let since = instant(self.value, "/metadata/creationTimestamp").unwrap_or(self.at_us);
            events.push(self.says(since, What::Version(version.to_owned()), None));
        }
    }

    /// Each start and end of a container that the status still knows, and how often it was restarted.
    fn containers(&self, life: &mut Life, events: &mut Vec<Event>) {
        let mut total = None;
        for status in self.statuses() {
            let count = number(status, "/restartCount");
            if let Some(count) = count {
                total = Some(total.unwrap_or(0) + count);
            }
            let count = count.unwrap_or(0);
            let runs = instant(status, "/state/running/startedAt");
            let ended = ending(status, "/lastState/terminated");
            if let Some((at_us, reason)) = &ended {
                events.push(self.says(*at_us, What::State(State::Unready), Some(reason.clone())));
            }
            // With a container running, the one before it was start number `count − 1`, counted from 0.
            let earlier = instant(status, "/lastState/terminated/startedAt");
            let number_of_earlier = if runs.is_some() { count.saturating_sub(1) } else { count };
            life.start(earlier, number_of_earlier, None);
            life.start(runs, count, ended.map(|(_, reason)| reason));
            if text(status, "/state/waiting/reason") == Some("CrashLoopBackOff") {
                let words = text(status, "/state/waiting/message").unwrap_or("CrashLoopBackOff");
                let since = instant(status, "/lastState/terminated/finishedAt");
                let since = since.unwrap_or(self.at_us);
                events.push(self.says(since, What::BackOff, Some(words.to_owned())));
            }
        }
        life.counted = total.map(|total| (self.at_us, total)).or(life.counted);
    }

    /// Ready or not since when, by the condition of that name; then whether it is on its way out.
    fn readiness(&self, events: &mut Vec<Event>) {
        let phase = text(self.value, "/status/phase");
        let ready = self.condition("Ready");
        let since = ready.and_then(|condition| instant(condition, "/lastTransitionTime"));
        match ready.and_then(|condition| text(condition, "/status")) {
            _ if matches!(phase, Some("Failed" | "Succeeded")) => {
                let ends =
                    self.statuses().filter_map(|s| instant(s, "/state/terminated/finishedAt"));
                let at_us = ends.max().or(since).unwrap_or(self.at_us);
                let reason = self.words("/status").or_else(|| self.cause());
                events.push(self.says(at_us, What::State(State::Gone), reason));
            }
            Some("True") => {
                let at_us = since.unwrap_or(self.at_us);
                events.push(self.says(at_us, What::State(State::Ready), None));
            }
            Some(_) => {
                let state = if self.was_ready(since) { State::Unready } else { State::Starting };
                let at_us = since.unwrap_or(self.at_us);
                events.push(self.says(at_us, What::State(state), self.cause()));
            }
            None => {
                let at_us = instant(self.value, "/metadata/creationTimestamp");
                let at_us = at_us.unwrap_or(self.at_us);
                events.push(self.says(at_us, What::State(State::Starting), self.cause()));
            }
        }
        if let Some(at_us) = instant(self.value, "/metadata/deletionTimestamp") {
            // The stamp is the deadline: the pod left the endpoints when the grace period began.
            let grace = number(self.value, "/metadata/deletionGracePeriodSeconds").unwrap_or(0);
            let grace = i64::try_from(grace.min(1 << 32)).unwrap_or(0) * 1_000_000;
            let reason = Some("being deleted".to_owned());
            events.push(self.says(at_us - grace, What::State(State::Draining), reason));
        }
    }

    /// A pod that never was ready carries the condition from its creation on; afterwards it turns false
    /// later than the container began.
    fn was_ready(&self, not_ready_since: Option<i64>) -> bool {
        let restarted =
            |status: &Value| number(status, "/restartCount").is_some_and(|count| count > 0);
        let began =
            self.statuses().filter_map(|status| instant(status, "/state/running/startedAt"));
        match (began.max(), not_ready_since) {
            _ if self.statuses().any(restarted) => true,
            (Some(began), Some(since)) => since > began,
            _ => false,
        }
    }

    /// Why it is not ready: the first container that is not, or else what the conditions say.
    fn cause(&self) -> Option<String> {
        let lacking = |status: &&Value| status.get("ready") == Some(&Value::Bool(false));
        let of_container = |status: &Value| {
            let words = words_of(status.pointer("/state/waiting")?);
            words.or_else(|| ending(status, "/state/terminated").map(|(_, reason)| reason))
        };
        self.statuses().filter(lacking).find_map(of_container).or_else(|| {
            let words = |kind| {
                let condition = self.condition(kind)?;
                if text(condition, "/status") == Some("True") { None } else { words_of(condition) }
            };
            words("PodScheduled").or_else(|| words("Initialized")).or_else(|| words("Ready"))
        })
    }

    fn words(&self, pointer: &str) -> Option<String> {
        words_of(self.value.pointer(pointer)?)
    }

    fn condition(&self, kind: &str) -> Option<&Value> {
        let conditions = items(self.value, "/status/conditions");
        conditions.iter().find(|condition| text(condition, "/type") == Some(kind))
    }

    fn statuses(&self) -> impl Iterator<Item = &Value> {
        items(self.value, "/status/containerStatuses").iter()
    }
}

/// `reason: message` of anything that has them.
fn words_of(value: &Value) -> Option<String> {
    match (text(value, "/reason"), text(value, "/message")) {
        (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
        (reason, message) => reason.or(message).map(str::to_owned),
    }
}

/// When and how a container ended: `OOMKilled, exit code 137`.
fn ending(status: &Value, pointer: &str) -> Option<(i64, String)> {
    let ended = status.pointer(pointer)?;
    let at_us = instant(ended, "/finishedAt")?;
    let reason = text(ended, "/reason").unwrap_or("ended");
    let how = match (number(ended, "/signal"), number(ended, "/exitCode")) {
        (Some(signal), _) if signal > 0 => format!("{reason}, signal {signal}"),
        (_, Some(code)) => format!("{reason}, exit code {code}"),
        _ => reason.to_owned(),
    };
    Some((at_us, how))
}

/// Whatever else may name this pod: its uid, its addresses, and each address with each port. The address
/// of a pod in the host's network is the machine's, so that one alone names nobody.
fn aliases(pod: &Value) -> Vec<String> {
    let mut aliases: Vec<String> =
        text(pod, "/metadata/uid").map(str::to_owned).into_iter().collect();
    let mut addresses: Vec<&str> = text(pod, "/status/podIP").into_iter().collect();
    for item in items(pod, "/status/podIPs") {
        addresses.extend(text(item, "/ip").filter(|ip| !addresses.contains(ip)));
    }
    let host_network = pod.pointer("/spec/hostNetwork") == Some(&Value::Bool(true));
    let containers = items(pod, "/spec/containers").iter();
    let ports: Vec<u64> = containers
        .flat_map(|container| items(container, "/ports"))
        .filter(|port| text(port, "/protocol").is_none_or(|protocol| protocol == "TCP"))
        .filter_map(|port| number(port, "/containerPort"))
        .collect();
    for ip in addresses {
        if !host_network {
            aliases.push(ip.to_owned());
        }
        aliases.extend(ports.iter().map(|port| address(ip, *port)));
    }
    aliases
}

/// The workload that the pod belongs to. A Deployment's pods belong to a ReplicaSet named after it and
/// the hash of the template.
fn workload(pod: &Value) -> Option<String> {
    let owner = controller(pod)?;
    let name = text(owner, "/name")?;
    let hash = text(pod, "/metadata/labels/pod-template-hash");
    let deployment = hash.and_then(|hash| name.strip_suffix(hash)?.strip_suffix('-'));
    Some(
        deployment
            .filter(|_| text(owner, "/kind") == Some("ReplicaSet"))
            .unwrap_or(name)
            .to_owned(),
    )
}

fn controller(pod: &Value) -> Option<&Value> {
    let owners = items(pod, "/metadata/ownerReferences");
    owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))
}
