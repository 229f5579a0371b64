//! What platforms say of instances: `kubectl get … -o json`, `describe-target-health`, or events in our own
//! words. A platform that is asked again and again says mostly the same, so that only what differs from
//! the last time becomes an event, and whom it does not name any more is gone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Error, Intake};
use crate::{
    accesslog::{Format, document, kubernetes, target_health},
    domain::{
        Invalid,
        fleet::event::{Event, Source, State, What},
        ids::FleetKey,
    },
    store::{
        self,
        fleet_events::Said,
        fleet_sources::{SourceSet, Took},
        fleets::FleetRow,
    },
};

/// Events in one body.
const MOST: usize = 50_000;

/// What became of a body of events.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// New or different.
    pub accepted: usize,
    /// Said before.
    pub unchanged: usize,
}

impl Intake {
    /// Takes a platform's document, one event, or several in an array or one a line.
    pub async fn hear(
        &self,
        fleet: &FleetRow,
        source: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Heard, Error> {
        let (events, snapshot) = events(body, now)?;
        if events.len() > MOST {
            return Err(Invalid::new("", format!("more than {MOST} events in one body")).into());
        }
        let mut tx = self.pool.begin().await?;
        if store::fleet_sources::list(&mut tx, fleet.key, Some(source)).await?.is_empty() {
            let set = SourceSet {
                role: "balancer",
                format: None,
                format_set: false,
                log_format: None,
                mapping: None,
                tz: None,
            };
            store::fleet_sources::put(&mut tx, fleet.key, source, set).await?;
        }
        let all = events.len();
        // The newest word of the document; a snapshot is as new as the moment it comes.
        let newest = events.iter().map(|e| e.at_us).max().map(super::read::instant);
        let oldest = events.iter().map(|e| e.at_us).min().map(super::read::instant);
        let oldest = oldest.filter(|_| !snapshot).map(|at| at.min(now));
        let newest = if snapshot { Some(now) } else { newest.map(|at| at.min(now)) };
        let new = if snapshot {
            differing(&mut tx, fleet.key, source, events, now).await?
        } else {
            events
        };
        store::fleet_events::insert(&mut tx, fleet.key, source, &new).await?;
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let took = Took {
            lines: count(all),
            accepted: count(all),
            bytes: count(body.len()),
            newest_at: newest,
            oldest_at: oldest,
            heard_until: snapshot.then_some(now),
            ..Took::default()
        };
        store::fleet_sources::took(&mut tx, fleet.key, source, &took, now).await?;
        tx.commit().await?;
        Ok(Heard { accepted: new.len(), unchanged: all.saturating_sub(new.len()) })
    }
}

/// The events of a body, and whether it is a snapshot of a platform.
fn events(body: &[u8], now: Timestamp) -> Result<(Vec<Event>, bool), Invalid> {
    let now_us = now.as_microsecond();
    let foreign = |why: document::Invalid| Invalid::new("", why.to_string());
    match document::recognise(body) {
        Some(Format::TargetHealth) => {
            Ok((target_health::read(body, now_us).map_err(foreign)?, true))
        }
        Some(_) => Ok((kubernetes::read(body, Some(now_us)).map_err(foreign)?, true)),
        None => Ok((own(body, now_us)?, false)),
    }
}

/// Events in our own words.
fn own(body: &[u8], now_us: i64) -> Result<Vec<Event>, Invalid> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_slice(body).into_iter::<Value>() {
        let value = value.map_err(|error| {
            Invalid::new(
                "",
                format!("the body is neither a platform's document nor events: {error}"),
            )
        })?;
        match value {
            Value::Array(items) => values.extend(items),
            one => values.push(one),
        }
    }
    let mut events = Vec::with_capacity(values.len());
    for (i, value) in values.into_iter().enumerate() {
        let event: Event = serde_json::from_value(value)
            .map_err(|error| Invalid::new(format!("[{i}]"), format!("is no event: {error}")))?;
        if event.at_us < 631_152_000_000_000 || event.at_us > now_us + 86_400_000_000 {
            return Err(Invalid::new(
                format!("[{i}].at_us"),
                "must be microseconds since 1970, from 1990 to a day from now",
            ));
        }
        events.push(event);
    }
    Ok(events)
}

/// What differs from what this source said last; remembers what it says now.
async fn differing(
    conn: &mut sqlx::PgConnection,
    fleet: FleetKey,
    source: &str,
    events: Vec<Event>,
    now: Timestamp,
) -> sqlx::Result<Vec<Event>> {
    let before = store::fleet_events::said(conn, fleet, source).await?;
    let mut last: BTreeMap<(String, String), Value> =
        before.into_iter().map(|said| ((said.instance, said.topic), said.value)).collect();
    let known: BTreeSet<String> = last.keys().map(|(instance, _)| instance.clone()).collect();
    let mut present = BTreeSet::new();
    let (mut new, mut changed) = (Vec::new(), BTreeMap::new());
    let mut speaker = None;
    for event in events {
        let instance = event.instance.clone().unwrap_or_default();
        if matches!(event.what, What::State(state) if state != State::Gone) {
            present.insert(instance.clone());
            speaker = Some(event.source);
        }
        let (topic, value) = topic(&event);
        let key = (instance, topic);
        if last.get(&key) == Some(&value) {
            continue;
        }
        last.insert(key.clone(), value.clone());
        changed.insert(key, value);
        new.push(event);
    }
    // A document without a single state is no inventory: it holds events only.
    let gone: Vec<String> = match speaker {
        Some(_) => {
            known.into_iter().filter(|name| !name.is_empty() && !present.contains(name)).collect()
        }
        None => Vec::new(),
    };
    for name in &gone {
        let by = speaker.unwrap_or(Source::Kubernetes);
        new.push(Event::new(now.as_microsecond(), by, What::Gone).of(name.clone()));
        changed.retain(|(instance, _), _| instance != name);
    }
    let said: Vec<Said> = changed
        .into_iter()
        .map(|((instance, topic), value)| Said { instance, topic, value })
        .collect();
    store::fleet_events::unsay(conn, fleet, source, &gone).await?;
    store::fleet_events::set_said(conn, fleet, source, &said).await?;
    Ok(new)
}

/// What an event is about, and what must differ for it to be another one. A state lasts, whenever it was
/// asked for; something that happened is told by its moment.
fn topic(event: &Event) -> (String, Value) {
    let by = event.reporter.clone().unwrap_or_default();
    let reason = &event.reason;
    let lasting = |name: &str, value: Value| (format!("{name} {by}"), json!([value, reason]));
    match &event.what {
        What::State(state) => lasting("state", json!(state)),
        What::RestartCount(count) => (format!("restarts {by}"), json!(count)),
        What::Version(version) => (format!("version {by}"), json!(version)),
        What::Expected(count) => (format!("expected {by}"), json!(count)),
        What::Count { name, total } => (format!("count {name} {by}"), json!(total)),
        other => {
            let what = serde_json::to_value(other).unwrap_or_default();
            let name = match &what {
                Value::String(name) => name.clone(),
                Value::Object(map) => map.keys().next().cloned().unwrap_or_default(),
                _ => String::new(),
            };
            (format!("{name} {by}"), json!([event.at_us, what]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_lasts_and_what_happened_has_its_moment() {
        let state = |at| Event::new(at, Source::Kubernetes, What::State(State::Ready)).of("a");
        assert_eq!(topic(&state(1)), topic(&state(2)));
        let began = |at| Event::new(at, Source::Kubernetes, What::Started).of("a");
        assert_eq!(topic(&began(1)).0, topic(&began(2)).0);
        assert_ne!(topic(&began(1)).1, topic(&began(2)).1);
    }

    #[test]
    fn events_come_alone_in_an_array_or_one_a_line() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let at = now.as_microsecond();
        let one = json!({"at_us": at, "source": "probes", "instance": "a", "what": {"check": {"passed": true}}});
        for body in [one.to_string(), json!([one]).to_string(), format!("{one}\n")] {
            assert_eq!(events(body.as_bytes(), now).unwrap().0.len(), 1, "{body}");
        }
        let field = |body: String| events(body.as_bytes(), now).unwrap_err().field;
        assert_eq!(field(json!([one, {"at_us": at}]).to_string()), "[1]");
        assert_eq!(
            field(json!({"at_us": 5, "source": "probes", "what": "started"}).to_string()),
            "[0].at_us"
        );
        assert_eq!(field("nonsense".into()), "");
    }
}
