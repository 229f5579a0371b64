//! Caddy in JSON: access lines, and what its runtime log says of upstreams. The instance stands in a line
//! only if the user put it there: `log_append upstream {http.reverse_proxy.upstream.hostport}`, or an
//! `X-Upstream` header of the answer. A status of 0 says that nothing was written: the client left, or no
//! site matches. There is a line `host is up` and none for down: failed checks are what there is.

use super::{
    Line, Reject,
    scan::{self, Unit},
    scan_json::{self, End, Value},
    stamp::Stamps,
    upstream,
};
use crate::domain::fleet::{
    event::{Event, Source, State, What},
    record::{Attempt, Attribution, Record, Text},
};

const ACTIVE_CHECKER: &[u8] = b"http.handlers.reverse_proxy.health_checker.active";

#[derive(Default)]
struct Fields<'a> {
    record: Record<'a>,
    at_us: Option<i64>,
    logger: &'a [u8],
    msg: &'a [u8],
    instance: &'a [u8],
    /// Of runtime lines.
    host: &'a [u8],
    error: &'a [u8],
    status_code: &'a [u8],
    has_request: bool,
}

pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let mut members = scan_json::members_of_line(line)?;
    let mut fields = Fields::default();
    let mut level = false;
    for (key, value) in members.by_ref() {
        level |= key == b"level";
        take(&mut fields, key, value, stamps)?;
    }
    match members.end() {
        End::Broken => return Err(Reject("the line is no JSON object")),
        End::Cut => fields.record.truncated = true,
        End::Open | End::Closed => {}
    }
    let at_us = fields.at_us.ok_or(Reject("there is no ts"))?;
    if !level || (fields.msg.is_empty() && fields.logger.is_empty()) {
        return Err(Reject("there is no level, logger or msg"));
    }
    if fields.logger.starts_with(b"http.log.access") && fields.has_request {
        return Ok(Line::Request(finish(fields, at_us)));
    }
    Ok(event(&fields, at_us).map_or(Line::Nothing, Line::Event))
}

fn take<'a>(
    fields: &mut Fields<'a>,
    key: &[u8],
    value: Value<'a>,
    stamps: &mut Stamps,
) -> Result<(), Reject> {
    let record = &mut fields.record;
    match key {
        b"ts" => {
            fields.at_us = Some(stamps.any(value.raw()).ok_or(Reject("ts is in no known shape"))?);
        }
        b"logger" => fields.logger = value.raw(),
        b"msg" => fields.msg = value.raw(),
        b"request" => {
            fields.has_request = true;
            take_request(record, value);
        }
        b"user_id" => record.user = value.text(),
        b"duration" => record.duration_us = scan::duration(value.raw(), Unit::Seconds),
        b"size" => record.bytes = scan::number(value.raw()),
        b"status" => record.status = scan::status(value.raw())?,
        b"resp_headers" => take_headers(fields, value),
        b"upstream" | b"upstream_addr" | b"upstream_hostport" => fields.instance = value.raw(),
        b"host" => fields.host = value.raw(),
        b"error" => fields.error = value.raw(),
        b"status_code" => fields.status_code = value.raw(),
        _ => {}
    }
    Ok(())
}

fn take_request<'a>(record: &mut Record<'a>, request: Value<'a>) {
    for (key, value) in request.members() {
        match key {
            b"client_ip" => record.client = scan::present(value.raw()),
            b"remote_ip" if record.client.is_none() => record.client = scan::present(value.raw()),
            // Before 2.5.
            b"remote_addr" if record.client.is_none() => {
                record.client = scan::present(scan::host_port(value.raw()).0);
            }
            b"method" => record.method = scan::present(value.raw()),
            b"uri" => record.target = value.text(),
            b"headers" => {
                let agent =
                    value.members().find(|(key, _)| key.eq_ignore_ascii_case(b"User-Agent"));
                record.user_agent = agent.and_then(|(_, agent)| agent.first().text());
            }
            _ => {}
        }
    }
}

fn take_headers<'a>(fields: &mut Fields<'a>, headers: Value<'a>) {
    for (key, value) in headers.members() {
        if key.eq_ignore_ascii_case(b"X-Upstream") && fields.instance.is_empty() {
            fields.instance = value.first().raw();
        } else if key.eq_ignore_ascii_case(b"X-Version") {
            fields.record.version = value.first().text();
        }
    }
}

fn finish(fields: Fields<'_>, at_us: i64) -> Record<'_> {
    let Fields { mut record, instance, .. } = fields;
    record.end_us = at_us;
    if scan::present(instance).is_some() {
        record.attempts.push(Attempt {
            instance,
            status: record.status,
            outcome: upstream::answer(record.status),
            ..Attempt::default()
        });
    }
    upstream::attribute(&mut record, false, false);
    if record.status.is_none() && !record.truncated {
        record.attribution = Attribution::Client;
    }
    record
}

/// What a line of the runtime log says of an upstream.
fn event(fields: &Fields<'_>, at_us: i64) -> Option<Event> {
    let show = |raw| Text { raw, escape: crate::domain::fleet::record::Escape::Json }.show();
    let event = |what| Event::new(at_us, Source::Caddy, what);
    if fields.logger == ACTIVE_CHECKER {
        let host = scan::present(fields.host)?;
        if fields.msg == b"host is up" {
            return Some(event(What::State(State::Ready)).of(show(host)));
        }
        let mut failed = event(What::Check { passed: false }).of(show(host));
        let detail = [fields.error, fields.status_code].into_iter().find(|text| !text.is_empty());
        failed.reason = Some(match detail {
            Some(detail) => format!("{}: {}", show(fields.msg), show(detail)),
            None => show(fields.msg),
        });
        return Some(failed);
    }
    // The log of errors repeats the request; what is new in it is who could not be reached.
    if fields.logger.starts_with(b"http.log.error") {
        if memchr::memmem::find(fields.msg, b"no upstreams available").is_some() {
            return Some(event(What::PoolEmpty));
        }
        let dial: &[u8] = b"dial tcp ";
        let at = memchr::memmem::find(fields.msg, dial)? + dial.len();
        let host =
            memchr::memmem::find(&fields.msg[at..], b": ").map(|end| &fields.msg[at..at + end]);
        let mut failed = event(What::Failed).of(show(host.filter(|host| scan::is_instance(host))?));
        failed.reason = Some(show(fields.msg));
        return Some(failed);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accesslog::Context, domain::fleet::record::Outcome};

    fn read(line: &str) -> Line<'_> {
        let mut stamps = Stamps::new(&Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 });
        super::line(line.as_bytes(), &mut stamps).unwrap()
    }

    #[test]
    fn a_request_behind_a_prefix_with_its_upstream() {
        let line = r#"caddy  | {"level":"info","ts":1795981095.1505406,"logger":"http.log.access.log0","msg":"NOP","request":{"remote_ip":"10.0.0.1","client_ip":"203.0.113.9","method":"GET","uri":"/a?b","headers":{"user-agent":["ua/1"]}},"user_id":"ann","duration":"14.5ms","size":5,"status":502,"upstream":"10.9.0.11:80","resp_headers":{"X-Version":["1.4.2"]}}"#;
        let Line::Request(record) = read(line) else { panic!() };
        assert_eq!(record.end_us, 1_795_981_095_150_540);
        assert_eq!(record.client, Some(&b"203.0.113.9"[..]));
        assert_eq!(record.user_agent.unwrap().raw, b"ua/1");
        assert_eq!(record.version.unwrap().raw, b"1.4.2");
        assert_eq!((record.duration_us, record.bytes), (Some(14_500), Some(5)));
        assert_eq!(record.attempts[0].instance, b"10.9.0.11:80");
        assert!(record.attempts[0].outcome.is_error());
        assert_eq!(record.attribution, Attribution::Instance);
    }

    #[test]
    fn nothing_written_is_the_clients() {
        let line = r#"{"level":"info","ts":1,"logger":"http.log.access","msg":"handled request","request":{"method":"GET","uri":"/abort"},"duration":0.01,"size":0,"status":0,"upstream":"10.9.0.11:80"}"#;
        let Line::Request(record) = read(line) else { panic!() };
        assert_eq!((record.status, record.attribution), (None, Attribution::Client));
        assert_eq!(record.attempts[0].outcome, Outcome::Unknown);
    }

    #[test]
    fn what_the_runtime_log_says_of_upstreams() {
        let what =
            |rest: &str| match read(&format!(r#"{{"level":"info","ts":1795981101.5,{rest}}}"#)) {
                Line::Event(event) => Some((event.what, event.instance, event.reason)),
                _ => None,
            };
        let checker = r#""logger":"http.handlers.reverse_proxy.health_checker.active""#;
        let at = || Some("127.0.0.1:9102".to_owned());
        assert_eq!(
            what(&format!(r#"{checker},"msg":"host is up","host":"127.0.0.1:9102""#)),
            Some((What::State(State::Ready), at(), None))
        );
        assert_eq!(
            what(&format!(
                r#"{checker},"msg":"status code out of tolerances","status_code":503,"host":"127.0.0.1:9102""#
            )),
            Some((
                What::Check { passed: false },
                at(),
                Some("status code out of tolerances: 503".to_owned())
            ))
        );
        let refused = "dial tcp 127.0.0.1:9102: connect: connection refused";
        assert_eq!(
            what(&format!(
                r#""logger":"http.log.error.log0","msg":"{refused}","request":{{}},"status":502"#
            )),
            Some((What::Failed, at(), Some(refused.to_owned())))
        );
        assert_eq!(
            what(r#""logger":"http.log.error","msg":"no upstreams available""#),
            Some((What::PoolEmpty, None, None))
        );
        assert_eq!(what(r#""logger":"admin","msg":"admin endpoint disabled""#), None);
        assert_eq!(what(r#""msg":"GOMEMLIMIT is updated""#), None);
    }
}
