//! A scenario file: who watches, what came in when, and what is expected of it.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

use super::settings::{self, list, millis, number};
use crate::domain::decision::{Event, Flag, Inputs, Live, Seat, Seen, Standing, Step, step};
use crate::domain::ids::LocationKey;
use crate::domain::location;
use crate::domain::maintenance::{Switches, Window};
use crate::domain::monitor::Policy;
use crate::domain::observation::{Outcome, RunKind};
use crate::domain::{Invalid, Millis};

/// Longest scenario, in seconds: a week, one decision a second.
const LONGEST: i64 = 7 * 86_400;

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) id: Value,
    pub(super) title: String,
    pub(super) seats: Vec<Seat>,
    pub(super) policy: Policy,
    pub(super) over_cap: bool,
    pub(super) windows: Vec<Window>,
    /// Seconds, inclusive.
    pub(super) until: i64,
    /// In order of arrival.
    pub(super) seen: Vec<Seen>,
    pub(super) expect: Option<Value>,
}

/// One case of a function beside the scenarios.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) expected: Value,
    pub(super) got: Value,
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) scenarios: Vec<Scenario>,
    pub(super) cases: Vec<Case>,
}

/// What a scenario ends in; the fields and their order are those of `expect`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Outcomes {
    pub(super) state: &'static str,
    pub(super) raw: &'static str,
    pub(super) low: bool,
    pub(super) flap: bool,
    pub(super) platform_alert: bool,
    pub(super) events: Vec<(Value, String)>,
    #[serde(rename = "E")]
    pub(super) e: usize,
    #[serde(rename = "Q")]
    pub(super) q: usize,
    pub(super) down: Vec<String>,
    pub(super) flag: Option<String>,
    pub(super) incident: Option<Open>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Open {
    pub(super) kind: &'static str,
    pub(super) started: Value,
    pub(super) opened: Value,
    pub(super) evidence_stale: bool,
}

impl Scenario {
    pub(super) fn inputs(&self, now: Millis) -> Inputs<'_> {
        Inputs {
            policy: &self.policy,
            check_version: 0,
            seats: &self.seats,
            windows: &self.windows,
            over_cap: self.over_cap,
            grace_until: None,
            now,
        }
    }

    /// Decides once a second from 0 to the end, and shows each tick with what came in.
    pub(super) fn replay(&self, mut watch: impl FnMut(&Live, &Step, &[Seen])) -> Outcomes {
        let mut live = Live::default();
        let mut events: Vec<Event> = Vec::new();
        let mut last = None;
        let mut waiting = self.seen.as_slice();
        for second in 0..=self.until {
            let now = second * 1000;
            let (arrived, later) =
                waiting.split_at(waiting.partition_point(|seen| seen.received <= now));
            waiting = later;
            let tick = step(&mut live, &self.inputs(now), arrived);
            events.extend(&tick.events);
            watch(&live, &tick, arrived);
            last = Some(tick);
        }
        self.outcomes(&live, &events, last.as_ref())
    }

    fn outcomes(&self, live: &Live, events: &[Event], last: Option<&Step>) -> Outcomes {
        let verdict = last.map(|step| &step.verdict);
        let mut down: Vec<String> =
            verdict.map_or(Vec::new(), |v| v.down.iter().map(|at| self.name(*at)).collect());
        down.sort();
        Outcomes {
            state: live.state.name(),
            raw: verdict.map_or("insufficient", |v| v.raw.name()),
            low: live.low,
            flap: live.flaps.flapping,
            platform_alert: self.over_cap,
            events: events
                .iter()
                .filter_map(|event| Some((seconds(event.at), event.word()?)))
                .collect(),
            e: verdict.map_or(0, |v| v.e),
            q: verdict.map_or(0, |v| v.q),
            down,
            flag: verdict.and_then(|v| v.flag).map(|flag| match flag {
                Flag::Local(at) => format!("local:{}", self.name(at)),
                Flag::DomainSuspect => "domain_suspect".to_owned(),
            }),
            incident: live.incident.as_ref().map(|incident| Open {
                kind: incident.severity.name(),
                started: seconds(incident.started_at),
                opened: seconds(incident.opened_at),
                evidence_stale: live.evidence_stale,
            }),
        }
    }

    pub(super) fn name(&self, location: LocationKey) -> String {
        self.seats
            .iter()
            .find(|seat| seat.key == location)
            .map_or_else(String::new, |seat| seat.name.clone())
    }
}

/// Whole seconds as an integer, others as they are.
pub(super) fn seconds(at: Millis) -> Value {
    if at % 1000 == 0 { Value::from(at / 1000) } else { Value::from(at as f64 / 1000.0) }
}

/// Reads a file: `{"vectors":[…],"functions":[…]}`, a list of scenarios, or one scenario.
pub(super) fn parse(text: &str) -> Result<File, Invalid> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| Invalid::new("", format!("is not JSON: {error}")))?;
    let (scenarios, functions) = match &document {
        Value::Array(list) => (("", list.as_slice()), None),
        Value::Object(map) if map.contains_key("vectors") || map.contains_key("functions") => {
            let list = |name: &'static str| match map.get(name) {
                None => Ok(&[] as &[Value]),
                Some(Value::Array(list)) => Ok(list.as_slice()),
                Some(_) => Err(Invalid::new(name, "must be a list")),
            };
            (("vectors", list("vectors")?), Some(list("functions")?))
        }
        Value::Object(_) => (("", std::slice::from_ref(&document)), None),
        _ => return Err(Invalid::new("", "must hold scenarios, as {\"vectors\":[…]}")),
    };
    let (parent, list) = scenarios;
    if list.is_empty() && functions.is_none_or(|functions| functions.is_empty()) {
        return Err(Invalid::new(parent, "holds no scenario"));
    }
    let at = |index: usize| format!("{parent}[{index}]");
    let scenarios: Result<Vec<_>, _> = list
        .iter()
        .enumerate()
        .map(|(index, value)| scenario(value).map_err(|e| e.under(&at(index))))
        .collect();
    let cases: Result<Vec<_>, _> = functions
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(|(index, value)| case(value).map_err(|e| e.under(&format!("functions[{index}]"))))
        .collect();
    Ok(File { scenarios: scenarios?, cases: cases? })
}

fn scenario(value: &Value) -> Result<Scenario, Invalid> {
    let map = value.as_object().ok_or_else(|| Invalid::new("", "must be an object"))?;
    let mut seats = fleet(map)?;
    let policy = settings::policy(map.get("cfg"), seats.len())?;
    let over_cap = set_aside(map.get("impaired"), &mut seats)?;
    let until = millis(map.get("until"), "until")?.div_euclid(1000);
    if !(0..=LONGEST).contains(&until) {
        return Err(Invalid::new("until", format!("is out of range: 0 to {LONGEST} seconds")));
    }
    let mut seen = list(map.get("obs"), "obs")?
        .iter()
        .enumerate()
        .map(|(index, value)| {
            observation(value, &seats).map_err(|e| e.under(&format!("obs[{index}]")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    seen.sort_by_key(|seen| seen.received);
    let expect = map.get("expect").filter(|expect| !expect.is_null());
    if expect.is_some_and(|expect| !expect.is_object()) {
        return Err(Invalid::new("expect", "must be an object"));
    }
    Ok(Scenario {
        id: map.get("id").cloned().unwrap_or(Value::Null),
        title: map.get("title").and_then(Value::as_str).unwrap_or_default().to_owned(),
        windows: windows(map.get("maint"))?,
        expect: expect.cloned(),
        seats,
        policy,
        over_cap,
        until,
        seen,
    })
}

fn fleet(map: &Map<String, Value>) -> Result<Vec<Seat>, Invalid> {
    let fleet = map
        .get("fleet")
        .and_then(Value::as_object)
        .filter(|fleet| (1..=1000).contains(&fleet.len()))
        .ok_or_else(|| Invalid::new("fleet", "must name locations, as {\"a\":[\"eu\",\"P1\"]}"))?;
    fleet
        .iter()
        .zip(0_i16..)
        .map(|((name, labels), key)| {
            let label = |index: usize| labels.get(index).and_then(Value::as_str);
            let (Some(region), Some(domain)) = (label(0), label(1)) else {
                return Err(Invalid::new(format!("fleet.{name}"), "must be [region, domain]"));
            };
            Ok(Seat {
                key: LocationKey(key),
                name: name.clone(),
                region: region.to_owned(),
                domain: domain.to_owned(),
                standing: Standing::Counted,
            })
        })
        .collect()
}

/// Quarantines impaired locations within the cap; says whether there are more.
fn set_aside(value: Option<&Value>, seats: &mut [Seat]) -> Result<bool, Invalid> {
    let mut impaired = BTreeSet::new();
    for name in list(value, "impaired")? {
        let name = name.as_str().unwrap_or_default();
        if !seats.iter().any(|seat| seat.name == name) {
            return Err(Invalid::new("impaired", format!("{name:?} is not in the fleet")));
        }
        impaired.insert(name.to_owned());
    }
    let impaired: Vec<String> = impaired.into_iter().collect();
    let (aside, over_cap) = location::quarantine(&impaired, seats.len());
    for seat in seats.iter_mut().filter(|seat| aside.contains(&seat.name)) {
        seat.standing = Standing::Quarantined;
    }
    Ok(over_cap)
}

fn windows(value: Option<&Value>) -> Result<Vec<Window>, Invalid> {
    let pairs = match list(value, "maint")? {
        pair @ [Value::Number(_), ..] => vec![pair.to_vec()],
        pairs => pairs
            .iter()
            .map(|pair| pair.as_array().cloned().unwrap_or_default())
            .collect::<Vec<_>>(),
    };
    pairs
        .iter()
        .map(|pair| {
            let [start, end] = pair.as_slice() else {
                return Err(Invalid::new("maint", "must be [start, end], a list of them, or null"));
            };
            let (start, end) = (millis(Some(start), "maint")?, millis(Some(end), "maint")?);
            if end < start {
                return Err(Invalid::new("maint", "ends before it starts"));
            }
            Ok(Window { start, end, switches: Switches::default() })
        })
        .collect()
}

fn observation(value: &Value, seats: &[Seat]) -> Result<Seen, Invalid> {
    if !value.as_array().is_some_and(|row| (3..=6).contains(&row.len())) {
        let shape = "must be [seconds, location, outcome, milliseconds, kind, received]";
        return Err(Invalid::new("", format!("{shape}; the last three may be left out")));
    }
    let at = millis(value.get(0), "[0]")?;
    let name = value.get(1).and_then(Value::as_str).unwrap_or_default();
    let seat = seats.iter().find(|seat| seat.name == name);
    let location =
        seat.ok_or_else(|| Invalid::new("[1]", format!("{name:?} is not in the fleet")))?.key;
    let word = |index: usize| value.get(index).and_then(Value::as_str);
    let outcome = match word(2) {
        Some("pass") => Outcome::Pass,
        Some("fail") => Outcome::Fail,
        Some("error") => Outcome::Error,
        _ => return Err(Invalid::new("[2]", "must be pass, fail or error")),
    };
    let latency = match value.get(3) {
        None | Some(Value::Null) => 0.0,
        Some(given) => given
            .as_f64()
            .filter(|latency| (0.0..1e12).contains(latency))
            .ok_or_else(|| Invalid::new("[3]", "must be a number of milliseconds"))?,
    };
    let kind = match (value.get(4), word(4)) {
        (None | Some(Value::Null), _) | (_, Some("scheduled")) => RunKind::Scheduled,
        (_, Some("retry")) => RunKind::Retry,
        (_, Some("confirm")) => RunKind::Confirm,
        (_, Some("manual")) => RunKind::Manual,
        (Some(other), _) => {
            let given = format!("{other} is not scheduled, retry, confirm or manual");
            return Err(Invalid::new("[4]", given));
        }
    };
    let received = match value.get(5) {
        None | Some(Value::Null) => at,
        received => millis(received, "[5]")?,
    };
    Ok(Seen {
        received,
        latency_ms: latency.ceil() as Millis,
        kind,
        ..Seen::new(location, at, outcome)
    })
}

fn case(value: &Value) -> Result<Case, Invalid> {
    let name = value.get("fn").and_then(Value::as_str).unwrap_or_default().to_owned();
    let args = list(value.get("args"), "args")?;
    let got = match (name.as_str(), args) {
        ("effective_time", [received, age, rtt]) => {
            let [received, age, rtt] =
                [received, age, rtt].map(|value| millis(Some(value), "args"));
            seconds(location::effective_time(received?, age?, rtt?))
        }
        ("quarantine", [impaired, online]) => {
            let impaired = list(Some(impaired), "args[0]")?;
            let online = number(online, "args[1]")? as usize;
            let (aside, over) = location::quarantine(impaired, online);
            Value::from(vec![Value::from(aside), Value::from(over)])
        }
        _ => {
            return Err(Invalid::new(
                "fn",
                format!("{name:?} with {} arguments is not known", args.len()),
            ));
        }
    };
    let expected = value.get("expect").cloned().unwrap_or(Value::Null);
    Ok(Case { name: format!("{name}{}", Value::from(args.to_vec())), expected, got })
}
