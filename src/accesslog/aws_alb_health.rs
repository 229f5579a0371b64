//! AWS ALB health-check log (spec: fleet 1.7): every check of every target by every node of the balancer,
//! as lines or, from CloudWatch and Firehose, as JSON.

use super::{
    Line, Reject,
    aws_alb::group,
    scan::{present, word},
    scan_json::members_of_line,
    stamp::Stamps,
};
use crate::domain::fleet::event::{Event, Source, What};

/// `type time latency target:port target-group PASS|FAIL status-code reason-code`. The node is not in the
/// line: it is in the file's name, see [`node`], and given as `reporter`.
pub fn line<'a>(
    line: &'a [u8],
    stamps: &mut Stamps,
    reporter: Option<&str>,
) -> Result<Line<'a>, Reject> {
    let mut check = Check::default();
    if line.trim_ascii_start().starts_with(b"{") {
        for (key, value) in members_of_line(line)? {
            let raw = value.raw();
            match key {
                b"time" => check.time = raw,
                b"target_addr" => check.target = raw,
                b"target_group_id" => check.group = raw,
                b"status" => check.status = raw,
                b"status_code" => check.code = raw,
                b"reason_code" => check.reason = raw,
                b"ip_address" => check.node = raw,
                _ => {}
            }
        }
    } else {
        let (kind, rest) = word(line);
        if kind.is_empty() || !kind.iter().all(u8::is_ascii_alphanumeric) {
            return Err(Reject("the line does not begin with a type such as https"));
        }
        let mut rest = rest;
        let mut next = || {
            let (field, after) = word(rest);
            rest = after;
            field
        };
        (check.time, _) = (next(), next());
        (check.target, check.group, check.status) = (next(), next(), next());
        (check.code, check.reason) = (next(), next());
    }
    let mut event = check.event(stamps)?;
    event.reporter = event.reporter.or_else(|| reporter.map(str::to_owned));
    Ok(Line::Event(event))
}

/// The node of the balancer whose log a file is, by the file's name:
/// `…_elasticloadbalancing_<region>_app.<balancer>_<end>_<address>_<random>.log.gz`.
pub fn node(file: &str) -> Option<&str> {
    let name =
        file.rsplit(['/', '\\']).next().filter(|name| name.contains("elasticloadbalancing"))?;
    let address = name.rsplit('_').nth(1)?;
    address.parse::<std::net::IpAddr>().is_ok().then_some(address)
}

#[derive(Default)]
struct Check<'a> {
    time: &'a [u8],
    target: &'a [u8],
    group: &'a [u8],
    status: &'a [u8],
    code: &'a [u8],
    reason: &'a [u8],
    node: &'a [u8],
}

impl Check<'_> {
    fn event(&self, stamps: &mut Stamps) -> Result<Event, Reject> {
        let passed = match self.status {
            b"PASS" => true,
            b"FAIL" => false,
            _ => return Err(Reject("neither PASS nor FAIL stands in the sixth field")),
        };
        let at_us = stamps.iso(self.time).ok_or(Reject("no time is in the second field"))?;
        let target = present(self.target).ok_or(Reject("no target is in the fourth field"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut event =
            Event::new(at_us, Source::AlbHealth, What::Check { passed }).of(text(target));
        event.pool = present(self.group).map(|arn| text(group(arn)));
        event.reporter = present(self.node).map(text);
        if !passed {
            event.reason = match (present(self.reason), present(self.code)) {
                (Some(reason), Some(code)) => {
                    Some(format!("{}, status {}", text(reason), text(code)))
                }
                (reason, code) => reason.or(code).map(text),
            };
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesslog::{Context, Format, Parser};

    const LOG: &[u8] = include_bytes!("../../tests/logs/aws_alb_health.log");

    fn read(text: &[u8]) -> Result<Event, Reject> {
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        match line(text, &mut Stamps::new(&context), None)? {
            Line::Event(event) => Ok(event),
            other => panic!("{other:?}"),
        }
    }

    fn shown(event: &Event) -> String {
        let at = jiff::Timestamp::from_microsecond(event.at_us).unwrap();
        let reason = event.reason.as_deref().unwrap_or_default();
        let instance = event.instance.as_deref().unwrap();
        let pool = event.pool.as_deref().unwrap();
        format!("{at} {instance} {pool} {:?} {reason}", event.what)
    }

    #[test]
    fn every_line_of_the_log_is_a_check() {
        let lines = LOG.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let events: Vec<String> = lines.map(|line| shown(&read(line).unwrap())).collect();
        assert_eq!(
            events,
            [
                "2026-03-05T10:44:58.901409Z 10.9.0.11:8443 shop-tg Check { passed: false } TargetError, status 502",
                "2026-03-05T10:44:59.001409Z 10.9.0.12:8443 shop-tg Check { passed: true } ",
                "2026-03-05T10:45:28.901409Z 10.9.0.11:8443 shop-tg Check { passed: false } TimedOut",
                "2026-03-05T10:45:58.901409Z 10.9.0.11:8443 shop-tg Check { passed: false } ConnectionReset",
                "2026-03-05T10:46:28.901409Z [2001:db8::11]:8443 shop-tg Check { passed: false } ResponseCodeMismatch, status 404",
                "2026-03-05T10:46:58.901409Z 10.9.0.11:8443 shop-tg Check { passed: true } ",
            ]
        );
    }

    #[test]
    fn the_same_as_json_names_the_node() {
        let event = read(
            br#"{"type":"http","time":"2026-03-05T10:44:58.901409Z","latency":1.12,"target_addr":"10.9.0.11:8443",
            "target_group_id":"arn:aws:elasticloadbalancing:eu-central-1:1:targetgroup/shop-tg/0a1b","status":"FAIL",
            "status_code":502,"reason_code":"TargetError","elb":"app/shop/1","ip_address":"198.51.100.4"}"#,
        )
        .unwrap();
        assert_eq!(
            shown(&event),
            "2026-03-05T10:44:58.901409Z 10.9.0.11:8443 shop-tg Check { passed: false } TargetError, status 502"
        );
        assert_eq!(event.reporter.as_deref(), Some("198.51.100.4"));
    }

    #[test]
    fn the_name_of_the_file_names_the_node() {
        let file = "AWSLogs/1/health_check_log_123456789012_elasticloadbalancing_eu-central-1_app.shop.0a1b2c_\
                    20260305T1045Z_198.51.100.4_5m4k2j.log.gz";
        assert_eq!(node(file), Some("198.51.100.4"));
        assert_eq!(node("a_198.51.100.4_b.log"), None);
        assert_eq!(node("elasticloadbalancing"), None);
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        let mut parser = Parser::new(Format::AwsAlbHealth, &context).of_file(file);
        let first = LOG.split(|b| *b == b'\n').next().unwrap();
        let Ok(Line::Event(event)) = parser.line(first) else { panic!() };
        assert_eq!(event.reporter.as_deref(), Some("198.51.100.4"));
    }

    #[test]
    fn the_format_is_told_by_the_lines() {
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        assert_eq!(crate::accesslog::detect(LOG, &context), Ok(Format::AwsAlbHealth));
    }

    #[test]
    fn lines_of_others_are_refused() {
        let access = include_bytes!("../../tests/logs/aws_alb.log");
        let access = access.split(|b| *b == b'\n').next().unwrap();
        for other in
            [access, b"", b"{}", b"http x 1 a b PASS", b"http 2026-03-05T10:44:58Z 1 - b PASS"]
        {
            assert!(read(other).is_err(), "{}", String::from_utf8_lossy(other));
        }
    }
}
