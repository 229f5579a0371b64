//! JSON lines of anybody: a [`Mapping`] says under which key each of our fields stands. What it does not
//! name is looked for under the usual keys. Only a time and a status are needed.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::{
    Invalid, Line, Reject,
    scan::{self, List, Unit},
    scan_json::{self, End, Members, Value},
    stamp::Stamps,
    upstream,
};
use crate::domain::fleet::record::{Attempt, Escape, Record};

/// Our fields by the user's keys. A dot leads into a nested object: `http.response.status_code`; a key
/// that holds dots itself is written the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = LogMapping)]
#[serde(deny_unknown_fields, default)]
pub struct Mapping {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The time is that of the request's beginning, not of its end.
    pub time_is_start: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The request line as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_unit: Option<DurationUnit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who was asked: one, or a list as nginx writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_duration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_duration_unit: Option<DurationUnit>,
}

/// What a number of a duration counts. A value that says it (`12ms`) wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DurationUnit {
    S,
    Ms,
    Us,
    Ns,
}

/// A mapping made ready for lines.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Paths, each with its field; what the mapping names stands first.
    paths: Vec<(Vec<u8>, Field)>,
    time_is_start: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Time,
    Status,
    Client,
    User,
    Request,
    Method,
    Target,
    Bytes,
    Duration(Unit),
    UserAgent,
    Pool,
    Version,
    Instance,
    InstanceStatus,
    InstanceDuration(Unit),
}

use Field::{
    Bytes, Client, Duration, Instance, InstanceDuration, InstanceStatus, Method, Pool, Request,
    Status, Target, Time, User, UserAgent, Version,
};

/// The usual keys: of Elastic's common schema, of OpenTelemetry, of the loggers of the larger frameworks,
/// and what people choose. Of two that a line holds the first in this list wins.
const USUAL: &[(&str, Field)] = &[
    ("@timestamp", Time),
    ("timestamp", Time),
    ("time", Time),
    ("ts", Time),
    ("datetime", Time),
    ("date", Time),
    ("http.response.status_code", Status),
    ("http.status_code", Status),
    ("httpRequest.status", Status),
    ("res.statusCode", Status),
    ("response.status", Status),
    ("status_code", Status),
    ("statusCode", Status),
    ("status", Status),
    ("code", Status),
    ("client.ip", Client),
    ("client.address", Client),
    ("source.ip", Client),
    ("remote_ip", Client),
    ("remote_addr", Client),
    ("client_ip", Client),
    ("clientIp", Client),
    ("req.remoteAddress", Client),
    ("ip", Client),
    ("user.name", User),
    ("remote_user", User),
    ("user", User),
    ("request", Request),
    ("http.request.method", Method),
    ("http.method", Method),
    ("req.method", Method),
    ("request.method", Method),
    ("request_method", Method),
    ("method", Method),
    ("url.original", Target),
    ("url.path", Target),
    ("http.target", Target),
    ("req.url", Target),
    ("request.uri", Target),
    ("request_uri", Target),
    ("uri", Target),
    ("path", Target),
    ("url", Target),
    ("http.response.body.bytes", Bytes),
    ("http.response.bytes", Bytes),
    ("res.contentLength", Bytes),
    ("body_bytes_sent", Bytes),
    ("bytes", Bytes),
    ("size", Bytes),
    ("event.duration", Duration(Unit::Nanos)),
    ("duration_ns", Duration(Unit::Nanos)),
    ("duration_us", Duration(Unit::Micros)),
    ("duration_ms", Duration(Unit::Millis)),
    ("latency_ms", Duration(Unit::Millis)),
    ("elapsed_ms", Duration(Unit::Millis)),
    ("responseTime", Duration(Unit::Millis)),
    ("response_time_ms", Duration(Unit::Millis)),
    ("request_time", Duration(Unit::Seconds)),
    ("duration_s", Duration(Unit::Seconds)),
    ("duration", Duration(Unit::Seconds)),
    ("latency", Duration(Unit::Seconds)),
    ("elapsed", Duration(Unit::Seconds)),
    ("user_agent.original", UserAgent),
    ("http.user_agent", UserAgent),
    ("req.headers.user-agent", UserAgent),
    ("http_user_agent", UserAgent),
    ("user_agent", UserAgent),
    ("userAgent", UserAgent),
    ("upstream_name", Pool),
    ("backend_name", Pool),
    ("pool", Pool),
    ("service.version", Version),
    ("app_version", Version),
    ("version", Version),
    ("upstream_addr", Instance),
    ("upstream", Instance),
    ("upstream_host", Instance),
    ("server.address", Instance),
    ("service.node.name", Instance),
    ("host.name", Instance),
    ("hostname", Instance),
    ("instance", Instance),
    ("pod", Instance),
    ("kubernetes.pod_name", Instance),
    ("kubernetes.pod.name", Instance),
    ("upstream_status", InstanceStatus),
    ("upstream_response_time", InstanceDuration(Unit::Seconds)),
];

/// Paths longer than this lead to nothing of ours.
const LONGEST_PATH: usize = 128;
const DEEPEST: usize = 6;

impl Mapping {
    /// The field whose key is no path, and why.
    pub fn refused(&self) -> Option<(&'static str, String)> {
        let bad = |key: &String| key.is_empty() || key.len() > LONGEST_PATH;
        let (name, key) = self.keys().into_iter().find(|(_, key)| key.as_ref().is_some_and(bad))?;
        let length = key.as_ref().map_or(0, String::len);
        Some((name, format!("has {length} bytes; give 1 to {LONGEST_PATH}")))
    }

    /// The keys by our names, in the order of [`Field::slot`].
    fn keys(&self) -> [(&'static str, &Option<String>); SLOTS] {
        [
            ("time", &self.time),
            ("status", &self.status),
            ("client", &self.client),
            ("user", &self.user),
            ("request", &self.request),
            ("method", &self.method),
            ("target", &self.target),
            ("bytes", &self.bytes),
            ("duration", &self.duration),
            ("user_agent", &self.user_agent),
            ("pool", &self.pool),
            ("version", &self.version),
            ("instance", &self.instance),
            ("instance_status", &self.instance_status),
            ("instance_duration", &self.instance_duration),
        ]
    }
}

impl Default for Reader {
    /// The usual keys alone.
    fn default() -> Self {
        let paths = USUAL.iter().map(|(path, field)| (path.as_bytes().to_vec(), *field)).collect();
        Self { paths, time_is_start: false }
    }
}

impl Reader {
    /// Says which key is no path.
    pub fn new(mapping: &Mapping) -> Result<Self, Invalid> {
        if let Some((name, why)) = mapping.refused() {
            return Err(Invalid(format!("the key of {name:?} {why}, or leave {name:?} out")));
        }
        let unit = |unit: Option<DurationUnit>| match unit {
            None | Some(DurationUnit::S) => Unit::Seconds,
            Some(DurationUnit::Ms) => Unit::Millis,
            Some(DurationUnit::Us) => Unit::Micros,
            Some(DurationUnit::Ns) => Unit::Nanos,
        };
        let fields = [
            Time,
            Status,
            Client,
            User,
            Request,
            Method,
            Target,
            Bytes,
            Duration(unit(mapping.duration_unit)),
            UserAgent,
            Pool,
            Version,
            Instance,
            InstanceStatus,
            InstanceDuration(unit(mapping.instance_duration_unit)),
        ];
        let mut paths = Vec::new();
        for ((_, key), field) in mapping.keys().into_iter().zip(fields) {
            let Some(key) = key else { continue };
            paths.push((key.as_bytes().to_vec(), field));
        }
        let taken: Vec<Field> = paths.iter().map(|(_, field)| *field).collect();
        for (path, field) in USUAL {
            if !taken.iter().any(|taken| taken.slot() == field.slot()) {
                paths.push((path.as_bytes().to_vec(), *field));
            }
        }
        Ok(Self { paths, time_is_start: mapping.time_is_start })
    }

    /// One line.
    pub fn line<'a>(&self, line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
        let mut found = Found { values: [None; SLOTS] };
        let mut path = SmallVec::<[u8; LONGEST_PATH]>::new();
        let members = scan_json::members_of_line(line)?;
        let end = self.walk(members, &mut path, DEEPEST, &mut found);
        if end == End::Broken {
            return Err(Reject("the line is no JSON object"));
        }
        let mut record = self.record(&found, stamps)?;
        record.truncated = end == End::Cut;
        Ok(Line::Request(record))
    }

    /// Collects what the members hold, the nested ones included.
    fn walk<'a>(
        &self,
        mut members: Members<'a>,
        path: &mut SmallVec<[u8; LONGEST_PATH]>,
        depth: usize,
        found: &mut Found<'a>,
    ) -> End {
        let base = path.len();
        for (key, value) in members.by_ref() {
            if base + key.len() > LONGEST_PATH {
                continue;
            }
            path.extend_from_slice(key);
            match value {
                Value::Object(_) if depth > 0 && path.len() < LONGEST_PATH => {
                    path.push(b'.');
                    self.walk(value.members(), path, depth - 1, found);
                }
                _ => {
                    let at = self
                        .paths
                        .iter()
                        .position(|(known, _)| known.as_slice() == path.as_slice());
                    if let Some(at) = at {
                        found.offer(at, self.paths[at].1, value.first());
                    }
                }
            }
            path.truncate(base);
        }
        members.end()
    }

    fn record<'a>(&self, found: &Found<'a>, stamps: &mut Stamps) -> Result<Record<'a>, Reject> {
        let raw = |field| found.get(field).map(|(_, value)| value.raw()).and_then(scan::present);
        let text = |field| found.get(field).and_then(|(_, value)| value.text());
        let time = raw(Time).ok_or(Reject("no key holds a time: name it in the mapping"))?;
        let status = raw(Status).ok_or(Reject("no key holds a status: name it in the mapping"))?;
        let mut record = Record {
            end_us: stamps.any(time).ok_or(Reject("the time is in no known shape"))?,
            status: scan::status(status)?,
            client: raw(Client).and_then(upstream::client),
            user: text(User),
            user_agent: text(UserAgent),
            bytes: raw(Bytes).and_then(scan::number),
            duration_us: found.duration(Duration(Unit::Seconds)),
            pool: raw(Pool),
            version: text(Version),
            ..Record::default()
        };
        if let Some(line) = raw(Request) {
            upstream::take_request(&mut record, line, Escape::Json);
        }
        record.method = raw(Method).or(record.method);
        record.target = text(Target).or(record.target);
        if self.time_is_start {
            record.end_us =
                record.end_us.saturating_add_unsigned(record.duration_us.unwrap_or_default());
        }
        take_attempts(&mut record, found);
        upstream::attribute(&mut record, false, false);
        Ok(record)
    }
}

/// The instances are the user's names, so that none of them is taken for the name of a group.
fn take_attempts<'a>(record: &mut Record<'a>, found: &Found<'a>) {
    let list =
        |field| List::new(found.get(field).map(|(_, value)| value.raw()).unwrap_or_default());
    let mut statuses = list(InstanceStatus);
    let mut durations = list(InstanceDuration(Unit::Seconds));
    let unit = match found.get(InstanceDuration(Unit::Seconds)) {
        Some((InstanceDuration(unit), _)) => unit,
        _ => Unit::Seconds,
    };
    let alone = found.get(InstanceStatus).is_none();
    for instance in list(Instance) {
        let status = statuses.next().and_then(|status| scan::status(status).ok()?);
        let duration_us = durations.next().and_then(|text| scan::duration(text, unit));
        let Some(instance) = scan::present(instance) else { continue };
        // Without a status of its own the answer is that of the only one who was asked.
        let status = if alone { record.status } else { status };
        let outcome = upstream::answer(status);
        record.attempts.push(Attempt {
            instance,
            status,
            duration_us,
            outcome,
            ..Attempt::default()
        });
    }
    if alone && record.attempts.len() > 1 {
        let last = record.attempts.len() - 1;
        for attempt in &mut record.attempts[..last] {
            attempt.status = None;
            attempt.outcome = upstream::answer(None);
        }
    }
}

const SLOTS: usize = 15;

/// What a line holds, by field: the rank of the key that gave it, the field with its unit, the value.
struct Found<'a> {
    values: [Option<(usize, Field, Value<'a>)>; SLOTS],
}

impl<'a> Found<'a> {
    fn offer(&mut self, rank: usize, field: Field, value: Value<'a>) {
        let slot = &mut self.values[field.slot()];
        if slot.is_none_or(|(held, ..)| rank < held) && !value.raw().is_empty() {
            *slot = Some((rank, field, value));
        }
    }

    fn get(&self, field: Field) -> Option<(Field, Value<'a>)> {
        self.values[field.slot()].map(|(_, field, value)| (field, value))
    }

    fn duration(&self, field: Field) -> Option<u64> {
        let (Duration(unit), value) = self.get(field)? else { return None };
        scan::duration(value.raw(), unit)
    }
}

impl Field {
    /// Below [`SLOTS`]; the unit does not matter.
    fn slot(self) -> usize {
        match self {
            Time => 0,
            Status => 1,
            Client => 2,
            User => 3,
            Request => 4,
            Method => 5,
            Target => 6,
            Bytes => 7,
            Duration(_) => 8,
            UserAgent => 9,
            Pool => 10,
            Version => 11,
            Instance => 12,
            InstanceStatus => 13,
            InstanceDuration(_) => 14,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accesslog::Context, domain::fleet::record::Outcome};

    fn stamps() -> Stamps {
        Stamps::new(&Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 })
    }

    fn read<'a>(mapping: &Mapping, line: &'a str) -> Result<Record<'a>, Reject> {
        match Reader::new(mapping).unwrap().line(line.as_bytes(), &mut stamps())? {
            Line::Request(record) => Ok(record),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn usual_keys_need_no_mapping() {
        let ecs = r#"{"@timestamp":"2026-03-05T10:15:30.5Z","http":{"request":{"method":"GET"},"response":{"status_code":503,"body":{"bytes":12}}},"url":{"path":"/pay"},"client":{"ip":"203.0.113.9"},"event":{"duration":1500000},"user_agent":{"original":"ua/1"},"service":{"version":"1.4"},"host":{"name":"app-2"}}"#;
        let record = read(&Mapping::default(), ecs).unwrap();
        assert_eq!((record.status, record.bytes), (Some(503), Some(12)));
        assert_eq!(record.duration_us, Some(1_500));
        assert_eq!(record.target.unwrap().raw, b"/pay");
        assert_eq!(record.version.unwrap().raw, b"1.4");
        assert_eq!(record.attempts[0].instance, b"app-2");
        assert!(record.attempts[0].outcome.is_error());

        let pino = r#"{"level":30,"time":1772705730500,"req":{"method":"GET","url":"/a","headers":{"user-agent":"ua/2"}},"res":{"statusCode":200},"responseTime":12}"#;
        let pino = read(&Mapping::default(), pino).unwrap();
        assert_eq!(pino.end_us, record.end_us);
        assert_eq!((pino.status, pino.duration_us), (Some(200), Some(12_000)));
        assert_eq!(pino.user_agent.unwrap().raw, b"ua/2");
        assert!(pino.attempts.is_empty());
    }

    #[test]
    fn a_mapping_wins_over_usual_keys() {
        let mapping: Mapping = serde_json::from_str(
            r#"{"time":"began","time_is_start":true,"status":"answer.code","duration":"took","duration_unit":"us","instance":"nodes","instance_status":"node.codes"}"#,
        )
        .unwrap();
        let line = r#"{"time":"x","status":"ok","began":"1772705730.25","answer":{"code":"200"},"took":250000,"nodes":"a, b","node.codes":"502, 200","duration":9}"#;
        let record = read(&mapping, line).unwrap();
        assert_eq!(record.end_us, 1_772_705_730_500_000);
        assert_eq!(record.duration_us, Some(250_000));
        let outcomes: Vec<_> =
            record.attempts.iter().map(|a| (a.instance, a.outcome.is_error())).collect();
        assert_eq!(outcomes, [(&b"a"[..], true), (b"b", false)]);

        let line = r#"{"began":1772705730,"answer":{"code":500},"took":"1.5ms","nodes":"a, b"}"#;
        let record = read(&mapping, line).unwrap();
        assert_eq!(record.duration_us, Some(1_500));
        assert_eq!(record.attempts[0].outcome, Outcome::Unknown);
        assert!(record.attempts[1].outcome.is_error());
    }

    #[test]
    fn what_is_needed_is_asked_for() {
        assert!(read(&Mapping::default(), r#"{"status":200}"#).unwrap_err().0.contains("a time"));
        assert!(read(&Mapping::default(), r#"{"time":1}"#).is_err());
        assert!(
            read(&Mapping::default(), r#"{"time":1772705730}"#).unwrap_err().0.contains("a status")
        );
        let cut = read(&Mapping::default(), r#"{"time":1772705730,"status":200,"path":"/q?aaaa"#)
            .unwrap();
        assert!(cut.truncated && cut.status == Some(200));
        let empty = Mapping { client: Some(String::new()), ..Mapping::default() };
        assert!(Reader::new(&empty).unwrap_err().0.contains("\"client\""));
    }

    #[test]
    fn times_that_no_calendar_shows_are_refused() {
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        let mapping = Mapping { time_is_start: true, ..Mapping::default() };
        let mut parser = crate::accesslog::Parser::mapped(&mapping, &context).unwrap();
        let mut took = |line: &str| parser.line(line.as_bytes()).is_ok();
        assert!(took(r#"{"time":1772705730,"status":200,"duration":1}"#));
        // An epoch in ns that is out of every year, and a duration that leads there.
        assert!(!took(r#"{"time":9200000000000000000000,"status":200}"#));
        assert!(!took(r#"{"time":1772705730,"status":200,"duration":9000000000000}"#));
    }
}
