//! AWS ALB access log (spec: fleet 1.7): 29 fields and more to come, space separated, some of them quoted.

use super::{
    Line, Reject,
    scan::{self, Unit, number, present, quoted, word},
    stamp::Stamps,
    upstream,
};
use crate::domain::fleet::record::{Attempt, Attribution, Escape, Fault, Outcome, Record, Text};

/// `type time elb client:port target:port request-time target-time response-time elb-status target-status
/// received sent "request" "user agent" cipher protocol target-group "trace" "domain" "certificate"
/// priority creation-time "actions" …`. What follows the actions tells nothing that is used.
pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let (kind, rest) = word(line);
    let (time, rest) = word(rest);
    if kind.is_empty() || !kind.iter().all(u8::is_ascii_alphanumeric) {
        return Err(Reject("the line does not begin with a type such as https"));
    }
    let end_us = stamps.iso(time).ok_or(Reject("no time follows the type"))?;
    let (_balancer, rest) = word(rest);
    let (client, rest) = word(rest);
    let (target, rest) = word(rest);
    let (to_target, rest) = word(rest);
    let (at_target, rest) = word(rest);
    let (to_client, rest) = word(rest);
    let (status, rest) = word(rest);
    let (target_status, rest) = word(rest);
    let (_received, rest) = word(rest);
    let (sent, rest) = word(rest);
    let sent = number(sent).ok_or(Reject("no number of bytes sent is in the twelfth field"))?;
    let request = quoted(rest, Escape::Backslash)
        .ok_or(Reject("no quoted request is in the thirteenth field"))?;
    let after = Fields::read(request.rest);
    let times = [to_target, at_target, to_client].map(|time| scan::micros(time, Unit::Seconds));
    let created = after.created.and_then(|created| stamps.iso(created));
    let mut record = Record {
        end_us,
        client: present(client).map(|client| scan::host_port(client).0),
        status: scan::status(status)?,
        bytes: Some(sent),
        duration_us: duration(times).or_else(|| u64::try_from(end_us - created?).ok()),
        user_agent: after.agent.and_then(present).map(Text::backslash),
        pool: after.group.and_then(present).map(group),
        truncated: request.cut || after.cut,
        ..Record::default()
    };
    upstream::take_request(&mut record, request.raw, Escape::Backslash);
    let target_status = scan::status(target_status)?;
    match present(target) {
        Some(target) => {
            let dispatched = times[0].is_some();
            let (outcome, attribution) = of_target(record.status, target_status, dispatched);
            record.attribution = attribution;
            record.attempts.push(Attempt {
                instance: target,
                status: target_status,
                duration_us: times[1],
                connect_us: None,
                bytes: Some(sent).filter(|_| target_status.is_some()),
                outcome,
            });
        }
        None => {
            record.attribution = without_target(&record, target_status, after.actions);
            let empty = record.status == Some(503) && record.attribution == Attribution::Pool;
            record.pool_empty = u8::from(empty);
        }
    }
    Ok(Line::Request(record))
}

/// The name in `arn:aws:elasticloadbalancing:…:targetgroup/name/id`; what is no such thing is its own
/// name.
pub(super) fn group(arn: &[u8]) -> &[u8] {
    const BEFORE: &[u8] = b"targetgroup/";
    let name = memchr::memmem::find(arn, BEFORE).map_or(arn, |at| &arn[at + BEFORE.len()..]);
    scan::split_at_byte(name, b'/').map_or(name, |(name, _)| name)
}

/// What is used of the fields behind the request.
#[derive(Default)]
struct Fields<'a> {
    agent: Option<&'a [u8]>,
    group: Option<&'a [u8]>,
    created: Option<&'a [u8]>,
    actions: &'a [u8],
    /// The line ends inside them.
    cut: bool,
}

impl<'a> Fields<'a> {
    fn read(rest: &'a [u8]) -> Self {
        const AGENT: usize = 0;
        const GROUP: usize = 3;
        const CREATED: usize = 8;
        const ACTIONS: usize = 9;
        let mut fields = Self::default();
        let mut rest = rest.strip_prefix(b" ").unwrap_or(rest);
        for place in 0..=ACTIONS {
            if rest.is_empty() {
                // Older logs end with the target group and what belongs to it.
                fields.cut |= place <= GROUP;
                break;
            }
            let (field, after) = match quoted(rest, Escape::Backslash) {
                Some(quoted) => {
                    fields.cut |= quoted.cut;
                    (quoted.raw, quoted.rest.strip_prefix(b" ").unwrap_or(quoted.rest))
                }
                None => word(rest),
            };
            rest = after;
            match place {
                AGENT => fields.agent = Some(field),
                GROUP => fields.group = Some(field),
                CREATED => fields.created = Some(field),
                ACTIONS => fields.actions = field,
                _ => {}
            }
        }
        fields
    }
}

/// All three times together, if each was reached.
fn duration(times: [Option<u64>; 3]) -> Option<u64> {
    let [to_target, at_target, to_client] = times;
    to_target?.checked_add(at_target?)?.checked_add(to_client?)
}

/// A target was chosen. `dispatched`: the request was sent to it.
fn of_target(
    status: Option<u16>,
    target_status: Option<u16>,
    dispatched: bool,
) -> (Outcome, Attribution) {
    let failed = |fault| (Outcome::Error(fault), Attribution::Instance);
    match (status, target_status) {
        // The client was gone before the answer.
        (None | Some(460), _) => (Outcome::Unknown, Attribution::Client),
        (_, Some(_)) => (upstream::answer(target_status), Attribution::Instance),
        (Some(504), None) => failed(Fault::Timeout),
        (Some(502 | 503), None) if dispatched => failed(Fault::Reset),
        (Some(502 | 503), None) => failed(Fault::Connect),
        (Some(400 | 408 | 413 | 414 | 463), None) => (Outcome::Unknown, Attribution::Client),
        (Some(_), None) => (Outcome::Unknown, Attribution::Proxy),
    }
}

/// Nobody was chosen: a rule answered, the firewall refused, there is nobody, or a function was called.
fn without_target(record: &Record<'_>, target_status: Option<u16>, actions: &[u8]) -> Attribution {
    let did = |action: &[u8]| actions.split(|b| *b == b',').any(|done| done == action);
    match record.status {
        None | Some(400 | 408 | 460) => Attribution::Client,
        // Nobody is to blame for what a firewall refuses.
        Some(403) if did(b"waf") => Attribution::None,
        _ if did(b"fixed-response") || did(b"redirect") => Attribution::Proxy,
        Some(502..=504) => Attribution::Pool,
        // A function has no address, but it answered.
        _ if target_status.is_some() => Attribution::Instance,
        Some(413 | 414 | 463) => Attribution::Client,
        Some(_) => Attribution::Proxy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesslog::{Context, Format, Parser};

    const LOG: &[u8] = include_bytes!("../../tests/logs/aws_alb.log");

    fn stamps() -> Stamps {
        Stamps::new(&Context { tz: jiff::tz::TimeZone::UTC, now_us: 1_800_000_000_000_000 })
    }

    fn read(text: &[u8]) -> Record<'_> {
        match line(text, &mut stamps()) {
            Ok(Line::Request(record)) => record,
            other => panic!("{other:?}: {}", String::from_utf8_lossy(text)),
        }
    }

    fn records() -> Vec<Record<'static>> {
        LOG.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(read).collect()
    }

    #[test]
    fn a_request_that_was_answered() {
        let record = &records()[0];
        assert_eq!(
            jiff::Timestamp::from_microsecond(record.end_us).unwrap().to_string(),
            "2026-03-05T10:15:30.186641Z",
            "the time is that of the end"
        );
        assert_eq!(record.client, Some(&b"203.0.113.9"[..]));
        assert_eq!((record.status, record.bytes), (Some(200), Some(366)));
        assert_eq!(record.duration_us, Some(49_000));
        assert_eq!(record.method, Some(&b"GET"[..]));
        assert_eq!(record.target.unwrap().show(), "http://shop.example:80/cart?id=7");
        assert_eq!(record.user_agent.unwrap().show(), "curl/8.5.0");
        assert_eq!(record.pool, Some(&b"shop-tg"[..]));
        assert_eq!(record.attribution, Attribution::Instance);
        let [attempt] = record.attempts.as_slice() else { panic!("{record:?}") };
        assert_eq!(attempt.instance, b"10.9.0.11:8443");
        assert_eq!((attempt.status, attempt.duration_us), (Some(200), Some(48_000)));
        assert_eq!(attempt.outcome, Outcome::Ok);
        assert!(!record.truncated);
    }

    #[test]
    fn whose_outcome_each_line_of_the_log_is() {
        let shown: Vec<String> = records()
            .iter()
            .map(|record| {
                let tries: Vec<String> = record
                    .attempts
                    .iter()
                    .map(|t| format!("{} {:?}", String::from_utf8_lossy(t.instance), t.outcome))
                    .collect();
                format!(
                    "{} {} {} {}",
                    record.status.map_or("-".into(), |status| status.to_string()),
                    record.attribution.as_str(),
                    record.pool_empty,
                    tries.join(", ")
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "200 instance 0 10.9.0.11:8443 Ok",
                "500 instance 0 10.9.0.12:8443 Error(Status)",
                "502 instance 0 10.9.0.12:8443 Error(Connect)",
                "502 instance 0 10.9.0.12:8443 Error(Reset)",
                "504 instance 0 10.9.0.13:8443 Error(Timeout)",
                "503 pool 1 ",
                "403 none 0 ",
                "503 proxy 0 ",
                "301 proxy 0 ",
                "460 client 0 10.9.0.11:8443 Unknown",
                "- client 0 10.9.0.11:8443 Unknown",
                "400 client 0 ",
                "200 instance 0 [2001:db8::11]:8443 Ok",
                "101 instance 0 10.9.0.11:8443 Ok",
                "200 instance 0 10.9.0.11:8443 Ok",
                "404 instance 0 10.9.0.11:8443 Ok",
                "502 pool 0 ",
                "200 instance 0 10.9.0.13:8443 Ok",
            ]
        );
    }

    #[test]
    fn what_clients_send_does_not_shift_the_fields() {
        let records = records();
        // An escaped quote in the user agent; a request with a blank and one that is none.
        assert_eq!(records[12].user_agent.unwrap().show(), "Tab 10\" Build/X");
        assert_eq!(records[12].client, Some(&b"2001:db8::7"[..]));
        assert_eq!(records[11].method, None);
        assert_eq!(records[11].request.unwrap().show(), "- http://shop.example:80- -");
        assert_eq!(
            records[14].request.unwrap().show(),
            "GET https://shop.example:443/a b HTTP/1.1"
        );
        assert_eq!(records[14].method, None);
        assert_eq!(records[15].user_agent, None);
    }

    /// vectordotdev/vrl #861: a field more than the documentation names.
    #[test]
    fn fields_that_are_not_known_yet_are_ignored_and_missing_ones_missed_by_nobody() {
        let whole = LOG.split(|b| *b == b'\n').next().unwrap();
        for more in [" TID_0a1b", " TID_0a1b \"-\" \"-\" \"-\"", " \"unclosed"] {
            let line = [whole, more.as_bytes()].concat();
            assert_eq!(read(&line), read(whole), "{more}");
        }
        // As it was before 2018, and cut.
        let old = &whole[..memchr::memmem::find(whole, b" \"Root=").unwrap()];
        let (old, new) = (read(old), read(whole));
        assert_eq!(
            (old.end_us, old.duration_us, old.truncated),
            (new.end_us, new.duration_us, false)
        );
        assert_eq!(
            (old.pool, old.attempts, old.attribution),
            (new.pool, new.attempts, new.attribution)
        );
        let cut = &whole[..memchr::memmem::find(whole, b"8.5.0").unwrap()];
        let record = read(cut);
        assert!(record.truncated);
        assert_eq!(record.attempts[0].outcome, Outcome::Ok);
        assert_eq!(record.user_agent.unwrap().raw, b"curl/");
    }

    #[test]
    fn the_format_is_told_by_the_lines() {
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        assert_eq!(crate::accesslog::detect(LOG, &context), Ok(Format::AwsAlb));
    }

    #[test]
    fn lines_of_others_are_refused() {
        for other in [
            "",
            "https",
            "tls 2.0 2026-03-05T10:15:30 net/a/b c",
            "2026-03-05T10:15:30.186641Z lb 203.0.113.9:1 10.9.0.11:80 0 0 0 200 200 0 57 \"GET\"",
            "http 2026-03-05T10:44:58.901409Z 1.121980746 10.9.0.11:8443 shop-tg FAIL 502 TargetError",
        ] {
            assert!(line(other.as_bytes(), &mut stamps()).is_err(), "{other}");
        }
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        let mut parser = Parser::new(Format::AwsAlb, &context);
        let lines = LOG.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        assert!(lines.map(|line| parser.line(line)).all(|line| line.is_ok()));
    }
}
