//! Envoy's logs in JSON: the access log, whose keys are the user's own, and the logs of ejections and of
//! health checks, whose keys are fixed. Fields that have their first value may be left out there.

use super::{
    super::{
        Line, Reject,
        scan::{self, Unit, number, present},
        scan_json::{Members, Value, members_of_line},
        stamp::{self, Stamps},
        upstream,
    },
    Flags, Request, instance,
};
use crate::domain::fleet::{
    event::{Event, Source, State, What},
    record::{Escape, Text},
};

pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let mut access = Access::default();
    let mut members = members_of_line(line)?;
    for (key, value) in members.by_ref() {
        match key {
            b"upstream_url" | b"upstreamUrl" => return ejection(members_of_line(line)?, stamps),
            b"health_checker_type" | b"healthCheckerType" => {
                return health(members_of_line(line)?, stamps);
            }
            _ => access.take(key, value, stamps),
        }
    }
    access.line()
}

/// What was found of a request so far.
#[derive(Default)]
struct Access<'a> {
    start_us: Option<i64>,
    method: &'a [u8],
    target: &'a [u8],
    /// A path that Envoy rewrote is the original's instead.
    original: &'a [u8],
    code: Option<&'a [u8]>,
    flags: Option<Flags>,
    bytes: &'a [u8],
    duration: &'a [u8],
    service_time: &'a [u8],
    forwarded: &'a [u8],
    agent: Option<Text<'a>>,
    upstream: Option<&'a [u8]>,
    cluster: Option<&'a [u8]>,
    local: &'a [u8],
    remote: &'a [u8],
    tries: &'a [u8],
}

impl<'a> Access<'a> {
    /// The names that Istio, Contour and Envoy Gateway use, and those of the operators and headers
    /// themselves, with `-` or `_`.
    fn take(&mut self, key: &[u8], value: Value<'a>, stamps: &mut Stamps) {
        let raw = value.raw();
        match key {
            b"start_time" | b"@timestamp" | b"timestamp" | b"time" if self.start_us.is_none() => {
                self.start_us = stamps.iso(raw).or_else(|| stamp::epoch(raw));
            }
            b"method" | b":method" | b"request_method" => self.method = raw,
            b"path" | b":path" | b"uri" | b"request_path" => self.target = raw,
            b"x_envoy_original_path"
            | b"x-envoy-original-path"
            | b"x-envoy-origin-path"
            | b"original_path" => self.original = raw,
            b"response_code" | b"status" | b"status_code" | b"code" => self.code = Some(raw),
            b"response_flags" | b"flags" | b"response_flags_long" => {
                self.flags = Some(Flags::of(raw));
            }
            b"bytes_sent" => self.bytes = raw,
            b"duration" | b"duration_ms" => self.duration = raw,
            b"upstream_service_time"
            | b"x_envoy_upstream_service_time"
            | b"x-envoy-upstream-service-time" => self.service_time = raw,
            b"x_forwarded_for" | b"x-forwarded-for" => self.forwarded = raw,
            b"user_agent" | b"user-agent" => self.agent = value.text(),
            b"upstream_host" => self.upstream = Some(raw),
            b"upstream_cluster" | b"upstream_cluster_name" => self.cluster = Some(raw),
            b"downstream_local_address" => self.local = raw,
            b"downstream_remote_address" => self.remote = raw,
            b"upstream_request_attempt_count" => self.tries = raw,
            _ => {}
        }
    }

    fn line(self) -> Result<Line<'a>, Reject> {
        if self.flags.is_none() && self.upstream.is_none() && self.cluster.is_none() {
            return Err(Reject(
                "no response_flags, upstream_host or upstream_cluster: not Envoy's",
            ));
        }
        let code = self.code.ok_or(Reject("no response_code"))?;
        let mut record = Request {
            start_us: self.start_us.ok_or(Reject("no start_time that is a time"))?,
            status: scan::status(code)?,
            flags: self.flags.unwrap_or_default(),
            bytes: number(self.bytes),
            duration_ms: millis(self.duration),
            service_ms: millis(self.service_time),
            upstream: self.upstream.unwrap_or_default(),
            cluster: self.cluster.unwrap_or_default(),
            local: self.local,
            tries: number(self.tries).unwrap_or(1),
        }
        .record();
        record.client = upstream::client(self.forwarded)
            .or_else(|| present(self.remote).map(|address| scan::host_port(address).0));
        record.user_agent = self.agent;
        record.method = present(self.method);
        let target = present(self.original).or(present(self.target));
        record.target = target.map(|raw| Text { raw, escape: Escape::Json });
        Ok(Line::Request(record))
    }
}

/// Whole ms, or with decimals as some typed formats have them.
fn millis(text: &[u8]) -> Option<u64> {
    number(text).or_else(|| Some(scan::micros(text, Unit::Millis)? / 1_000))
}

fn ejection<'a>(members: Members<'a>, stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let (mut at_us, mut host, mut cluster) = (None, None, None);
    let (mut kind, mut back, mut enforced) = (None, false, false);
    let mut rates = None;
    for (key, value) in members {
        let raw = value.raw();
        match key {
            b"timestamp" | b"time" => at_us = stamps.iso(raw),
            b"upstream_url" | b"upstreamUrl" => host = instance(raw),
            b"cluster_name" | b"clusterName" | b"cluster" => cluster = value.text(),
            b"type" => kind = value.text(),
            b"action" => back = raw.eq_ignore_ascii_case(b"UNEJECT") || raw == b"1",
            b"enforced" => enforced = raw == b"true",
            b"eject_success_rate_event" | b"ejectSuccessRateEvent" => rates = success_rates(value),
            _ => {}
        }
    }
    let at_us = at_us.ok_or(Reject("an ejection without a timestamp that is a time"))?;
    let host = host.ok_or(Reject("an ejection without upstream_url"))?;
    let what = if back { What::Returned } else { What::Ejected { enforced } };
    let mut event = about(at_us, host, cluster, what);
    if !back {
        let kind = kind.map_or_else(|| "CONSECUTIVE_5XX".to_owned(), Text::show);
        event.reason = Some(match rates {
            Some(rates) => format!("{kind}: {rates}"),
            None => kind,
        });
    }
    Ok(Line::Event(event))
}

/// How the host's rate compares. Zeros may be left out.
fn success_rates(value: Value<'_>) -> Option<String> {
    let (mut own, mut average, mut threshold) = ("0".into(), None, None);
    for (key, value) in value.members() {
        let number = String::from_utf8_lossy(value.raw());
        match key {
            b"host_success_rate" | b"hostSuccessRate" => own = number,
            b"cluster_average_success_rate" | b"clusterAverageSuccessRate" => {
                average = Some(number)
            }
            b"cluster_success_rate_ejection_threshold" | b"clusterSuccessRateEjectionThreshold" => {
                threshold = Some(number)
            }
            _ => {}
        }
    }
    let (average, threshold) = (average?, threshold?);
    Some(format!("success {own} %, cluster {average} %, threshold {threshold} %"))
}

fn health<'a>(members: Members<'a>, stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let (mut at_us, mut host, mut cluster, mut said) = (None, None, None, None);
    for (key, value) in members {
        match key {
            b"timestamp" => at_us = stamps.iso(value.raw()),
            b"cluster_name" | b"clusterName" => cluster = value.text(),
            b"host" => host = address(value),
            b"eject_unhealthy_event" | b"ejectUnhealthyEvent" => {
                said = Some((What::State(State::Unready), Some(failure(value))));
            }
            b"add_healthy_event" | b"addHealthyEvent" => {
                said = Some((What::State(State::Ready), None));
            }
            b"health_check_failure_event" | b"healthCheckFailureEvent" => {
                said = Some((What::Check { passed: false }, Some(failure(value))));
            }
            b"successful_health_check_event" | b"successfulHealthCheckEvent" => {
                said = Some((What::Check { passed: true }, None));
            }
            // It is asked only if too few others are left, but it is asked.
            b"degraded_healthy_host" | b"degradedHealthyHost" => {
                said = Some((What::State(State::Ready), Some("degraded".to_owned())));
            }
            b"no_longer_degraded_host" | b"noLongerDegradedHost" => {
                said = Some((What::State(State::Ready), None));
            }
            _ => {}
        }
    }
    let Some((what, reason)) = said else { return Ok(Line::Nothing) };
    let at_us = at_us.ok_or(Reject("a health event without a timestamp that is a time"))?;
    let host = host.ok_or(Reject("a health event without the host's address"))?;
    let mut event = about(at_us, host.as_bytes(), cluster, what);
    event.reason = reason;
    Ok(Line::Event(event))
}

fn about(at_us: i64, host: &[u8], cluster: Option<Text<'_>>, what: What) -> Event {
    let mut event =
        Event::new(at_us, Source::Envoy, what).of(String::from_utf8_lossy(host).into_owned());
    event.pool = cluster.map(Text::show);
    event
}

/// `{"socket_address":{"address":"10.9.0.11","port_value":8080}}` or `{"pipe":{"path":"/run/app.sock"}}`
fn address(host: Value<'_>) -> Option<String> {
    let (_, place) = host
        .members()
        .find(|(key, _)| matches!(*key, b"socket_address" | b"socketAddress" | b"pipe"))?;
    let (mut host, mut port, mut path) = (None, None, None);
    for (key, value) in place.members() {
        let text = || String::from_utf8_lossy(value.raw()).into_owned();
        match key {
            b"address" => host = Some(text()),
            b"port_value" | b"portValue" => port = number(value.raw()),
            b"path" => path = Some(format!("unix:{}", text())),
            _ => {}
        }
    }
    let with_port = |host: String| match port {
        Some(port) => super::super::document::address(&host, port),
        None => host,
    };
    path.or(host.map(with_port))
}

/// The first of the kinds may be left out.
fn failure(value: Value<'_>) -> String {
    let kind = value.members().find(|(key, _)| matches!(*key, b"failure_type" | b"failureType"));
    let kind = kind.and_then(|(_, kind)| kind.text());
    kind.map_or_else(|| "ACTIVE".to_owned(), Text::show)
}
