//! Traefik's access log in JSON. Durations are whole nanoseconds, the time is that of the start, and the
//! status of the instance is `OriginStatus`: 0 or absent when Traefik answered.

use super::{
    Line, Reject,
    scan::{self, Unit},
    scan_json::{self, End, Value},
    stamp::Stamps,
    upstream,
};
use crate::domain::fleet::record::{Attempt, Attribution, Escape, Fault, Outcome, Record};

#[derive(Default)]
struct Fields<'a> {
    record: Record<'a>,
    start_us: Option<i64>,
    /// When the line was written, in whole seconds.
    written_us: Option<i64>,
    attempt: Attempt<'a>,
    answered: bool,
    /// A line of Traefik's own log.
    own: bool,
}

pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let mut members = scan_json::members_of_line(line)?;
    let mut fields = Fields::default();
    for (key, value) in members.by_ref() {
        take(&mut fields, key, value, stamps)?;
    }
    match members.end() {
        End::Broken => return Err(Reject("the line is no JSON object")),
        End::Cut => fields.record.truncated = true,
        End::Open | End::Closed => {}
    }
    if !fields.answered {
        return match fields.own {
            true => Ok(Line::Nothing),
            false => Err(Reject("there is no DownstreamStatus")),
        };
    }
    finish(fields).map(Line::Request)
}

fn take<'a>(
    fields: &mut Fields<'a>,
    key: &[u8],
    value: Value<'a>,
    stamps: &mut Stamps,
) -> Result<(), Reject> {
    let raw = value.raw();
    let record = &mut fields.record;
    match key {
        b"StartUTC" => fields.start_us = stamps.iso(raw),
        b"StartLocal" => fields.start_us = fields.start_us.or_else(|| stamps.iso(raw)),
        b"time" => fields.written_us = stamps.iso(raw),
        b"Duration" => record.duration_us = scan::micros(raw, Unit::Nanos),
        b"DownstreamStatus" => {
            record.status = scan::status(raw)?;
            fields.answered = true;
        }
        b"OriginStatus" => fields.attempt.status = scan::status(raw)?,
        b"OriginDuration" => fields.attempt.duration_us = scan::micros(raw, Unit::Nanos),
        b"OriginContentSize" => fields.attempt.bytes = scan::number(raw),
        b"DownstreamContentSize" => record.bytes = scan::number(raw),
        b"RetryAttempts" => record.redispatched = scan::number(raw).is_some_and(|n| n > 0),
        b"ClientHost" => record.client = scan::present(raw),
        b"ClientAddr" if record.client.is_none() => {
            record.client = scan::present(scan::host_port(raw).0);
        }
        b"ClientUsername" => record.user = value.text(),
        b"RequestMethod" => record.method = scan::present(raw),
        b"RequestPath" => record.target = value.text(),
        b"RequestLine" => upstream::take_request(record, raw, Escape::Json),
        b"ServiceAddr" => fields.attempt.instance = raw,
        b"ServiceURL" if fields.attempt.instance.is_empty() => {
            fields.attempt.instance = service_host(value);
        }
        b"ServiceName" => record.pool = scan::present(raw),
        b"request_User-Agent" => record.user_agent = value.text(),
        b"origin_X-Version" | b"downstream_X-Version" => record.version = value.text(),
        b"msg" | b"message" => fields.own = true,
        _ => {}
    }
    Ok(())
}

/// The host of `http://10.9.0.11:8080/`, or of the parsed URL that older versions write.
fn service_host(value: Value<'_>) -> &[u8] {
    if let Value::Object(_) = value {
        let host = value.members().find(|(key, _)| *key == b"Host");
        return host.map_or(&[], |(_, host)| host.raw());
    }
    let url = value.raw();
    let host = memchr::memmem::find(url, b"://").map_or(url, |at| &url[at + 3..]);
    host.split(|b| matches!(b, b'/' | b'\\')).next().unwrap_or_default()
}

fn finish(fields: Fields<'_>) -> Result<Record<'_>, Reject> {
    let Fields { mut record, start_us, written_us, mut attempt, .. } = fields;
    record.end_us = match (start_us, written_us) {
        (Some(start), _) => start.saturating_add_unsigned(record.duration_us.unwrap_or_default()),
        (None, Some(written)) => written,
        (None, None) => return Err(Reject("there is no StartUTC and no time")),
    };
    if scan::present(attempt.instance).is_some() {
        attempt.outcome = outcome(record.status, attempt.status);
        record.attempts.push(attempt);
    }
    // Traefik knows the service and found no server in it.
    let ended_empty =
        record.attempts.is_empty() && record.pool.is_some() && record.status == Some(503);
    record.pool_empty = u8::from(ended_empty);
    upstream::attribute(&mut record, true, ended_empty);
    if record.status.is_none() {
        record.attribution = Attribution::Client;
    }
    Ok(record)
}

/// Without an answer of the instance, Traefik's own status says how it failed.
fn outcome(status: Option<u16>, origin: Option<u16>) -> Outcome {
    match (origin, status) {
        (_, Some(499)) => Outcome::Unknown,
        (None, Some(502)) => Outcome::Error(Fault::Connect),
        (None, Some(504)) => Outcome::Error(Fault::Timeout),
        (origin, _) => upstream::answer(origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesslog::Context;

    fn read(line: &str) -> Line<'_> {
        let mut stamps = Stamps::new(&Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 });
        super::line(line.as_bytes(), &mut stamps).unwrap()
    }

    fn request(line: &str) -> Record<'_> {
        match read(line) {
            Line::Request(record) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_ends_after_its_duration() {
        let record = request(
            r#"{"ClientAddr":"[2001:db8::7]:51234","ClientHost":"2001:db8::7","ClientUsername":"-","DownstreamContentSize":612,"DownstreamStatus":200,"Duration":1500000,"OriginContentSize":612,"OriginDuration":1200999,"OriginStatus":200,"RequestMethod":"GET","RequestPath":"/a?b=1","RetryAttempts":1,"ServiceAddr":"10.9.0.11:8080","ServiceName":"shop@docker","ServiceURL":"http://10.9.0.11:8080","StartUTC":"2026-03-05T10:15:30.123456789Z","entryPointName":"web","level":"info","msg":"","request_User-Agent":"ua/1","time":"2026-03-05T10:15:30Z"}"#,
        );
        let start: jiff::Timestamp = "2026-03-05T10:15:30.123456Z".parse().unwrap();
        assert_eq!(record.end_us, start.as_microsecond() + 1_500);
        assert_eq!(record.client, Some(&b"2001:db8::7"[..]));
        assert_eq!((record.user, record.bytes, record.redispatched), (None, Some(612), true));
        assert_eq!(record.pool, Some(&b"shop@docker"[..]));
        assert_eq!(record.attribution, Attribution::Instance);
        let [one] = record.attempts.as_slice() else { panic!("{record:?}") };
        assert_eq!((one.instance, one.duration_us), (&b"10.9.0.11:8080"[..], Some(1_200)));
        assert_eq!(one.outcome, Outcome::Ok);
    }

    #[test]
    fn whose_fault_it_is() {
        let end = r#""StartUTC":"2026-03-05T10:15:30Z","ServiceName":"s"}"#;
        let whose = |start: &str| {
            let line = format!("{{{start},{end}");
            let record = request(&line);
            (
                record.attribution,
                record.attempts.first().map(|attempt| attempt.outcome),
                record.pool_empty,
            )
        };
        let at = r#""ServiceURL":"http://10.9.0.11:80""#;
        let e = |fault| Some(Outcome::Error(fault));
        assert_eq!(
            whose(&format!(r#""DownstreamStatus":502,"OriginStatus":0,{at}"#)),
            (Attribution::Instance, e(Fault::Connect), 0)
        );
        assert_eq!(
            whose(&format!(r#""DownstreamStatus":504,{at}"#)),
            (Attribution::Instance, e(Fault::Timeout), 0)
        );
        assert_eq!(
            whose(&format!(r#""DownstreamStatus":500,"OriginStatus":500,{at}"#)),
            (Attribution::Instance, e(Fault::Status), 0)
        );
        assert_eq!(
            whose(&format!(r#""DownstreamStatus":499,"OriginStatus":499,{at}"#)),
            (Attribution::Client, Some(Outcome::Unknown), 0)
        );
        assert_eq!(whose(r#""DownstreamStatus":503"#), (Attribution::Pool, None, 1));
        assert_eq!(whose(r#""DownstreamStatus":404"#), (Attribution::Proxy, None, 0));
        let old = r#""DownstreamStatus":200,"OriginStatus":200,"ServiceURL":{"Scheme":"http","Host":"10.9.0.12:80","Path":""}"#;
        assert_eq!(whose(old), (Attribution::Instance, Some(Outcome::Ok), 0));
    }

    #[test]
    fn its_own_log_lines_are_nothing() {
        assert_eq!(
            read(r#"{"level":"error","msg":"boom","time":"2026-03-05T10:15:30Z"}"#),
            Line::Nothing
        );
    }
}
