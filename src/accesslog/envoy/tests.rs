use super::*;
use crate::{
    accesslog::{Context, Format, Parser, detect},
    domain::fleet::event::{Event, What},
};

const DEFAULT: &[u8] = include_bytes!("../../../tests/logs/envoy_default.log");
const ISTIO: &[u8] = include_bytes!("../../../tests/logs/envoy_istio.log");
const ACCESS: &[u8] = include_bytes!("../../../tests/logs/envoy_access.json");
const EVENTS: &[u8] = include_bytes!("../../../tests/logs/envoy_events.json");

fn parser(format: Format) -> Parser {
    Parser::new(format, &Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 })
}

fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    log.split(|b| *b == b'\n').filter(|line| !line.is_empty())
}

fn records(format: Format, log: &'static [u8]) -> Vec<Record<'static>> {
    let mut parser = parser(format);
    let record = |line| match parser.line(line) {
        Ok(Line::Request(record)) => record,
        other => panic!("{other:?}: {}", String::from_utf8_lossy(line)),
    };
    lines(log).map(record).collect()
}

/// Status, whose it is, whether the pool was empty, who was asked and how that went.
fn outcomes(records: &[Record<'_>]) -> Vec<String> {
    let one = |record: &Record<'_>| {
        let status = record.status.map_or("-".to_owned(), |status| status.to_string());
        let tries = record.attempts.iter().map(|t| {
            let status = t.status.map_or("-".to_owned(), |status| status.to_string());
            format!(" {} {status} {:?}", String::from_utf8_lossy(t.instance), t.outcome)
        });
        let empty = if record.pool_empty > 0 { " empty" } else { "" };
        format!("{status} {}{empty}{}", record.attribution.as_str(), tries.collect::<String>())
    };
    records.iter().map(one).collect()
}

fn time(us: i64) -> String {
    jiff::Timestamp::from_microsecond(us).unwrap().to_string()[11..].to_owned()
}

#[test]
fn the_default_format_with_every_kind_of_flag() {
    let records = records(Format::Envoy, DEFAULT);
    assert_eq!(
        outcomes(&records),
        [
            "200 instance 10.9.0.11:8080 200 Ok",
            "500 instance 10.9.0.12:8080 500 Error(Status)",
            "503 instance 10.9.0.12:8080 - Error(Connect)",
            "503 pool empty",
            "504 instance 10.9.0.13:8080 - Error(Timeout)",
            "503 instance 10.9.0.13:8080 - Error(Reset)",
            "- client 10.9.0.11:8080 - Unknown",
            "404 pool",
            "429 proxy",
            "503 instance 10.9.0.12:8080 - Error(Connect)",
            "503 instance 10.9.0.12:8080 503 Error(Status)",
            "301 proxy",
            "200 instance [2001:db8::11]:8080 200 Ok",
            "503 pool 10.9.0.11:8080 - Unknown",
            "- none 10.9.0.11:5432 - Unknown",
            "200 instance 10.9.0.11:8080 200 Ok",
        ]
    );
    let first = &records[0];
    assert_eq!(time(first.end_us), "19:32:17.084Z", "the stamp is the start");
    assert_eq!(first.duration_us, Some(12_000));
    assert_eq!(first.attempts[0].duration_us, Some(11_000));
    assert_eq!(first.bytes, Some(1_234));
    assert_eq!(first.client, Some(&b"203.0.113.9"[..]));
    assert_eq!(records[1].client, Some(&b"203.0.113.9"[..]));
    assert_eq!(records[4].attempts[0].duration_us, Some(15_000_000));
    assert_eq!(records[2].client, None);
    assert_eq!(records[13].user_agent.unwrap().raw, b"kube-probe/1.31");
    assert_eq!(records[14].request, None, "a TCP connection");
}

#[test]
fn quotes_that_nobody_escaped() {
    let records = records(Format::Envoy, DEFAULT);
    let odd = &records[12];
    assert_eq!(odd.request.unwrap().show(), "GET /q\"x?a=\" 1 HTTP/1.1");
    assert_eq!(odd.user_agent.unwrap().show(), "Tab 10\" \"Build\" X \"");
    assert_eq!(odd.client, Some(&b"2001:db8::7"[..]));
}

#[test]
fn istio_names_cluster_and_addresses() {
    let records = records(Format::Envoy, ISTIO);
    assert_eq!(
        outcomes(&records),
        [
            "200 instance 10.42.1.11:8080 200 Ok",
            "503 instance 10.42.2.12:8080 - Error(Connect)",
            "503 pool empty",
            // The sidecar's own pod, by the address at which the request came in.
            "200 instance 10.42.1.11:8080 200 Ok",
            "500 instance 10.42.1.11:8080 500 Error(Status)",
            "403 proxy",
            "200 instance 10.42.1.11:8080 200 Ok",
        ]
    );
    assert_eq!(records[0].pool, Some(&b"outbound|8080||checkout.shop.svc.cluster.local"[..]));
    assert_eq!(records[0].client, Some(&b"10.42.2.20"[..]));
    assert_eq!(records[3].client, Some(&b"203.0.113.9"[..]));
    assert_eq!(records[3].user_agent.unwrap().show(), "Q \"uoted\" UA");
    assert_eq!(records[3].pool, Some(&b"inbound|8080||"[..]));
}

#[test]
fn json_says_the_same_whatever_its_values_are_made_of() {
    let records = records(Format::EnvoyJson, ACCESS);
    assert_eq!(
        outcomes(&records),
        [
            "200 instance 10.42.1.11:8080 200 Ok",
            "503 instance 10.42.2.12:8080 - Error(Connect)",
            "503 pool empty",
            "- client 10.42.1.11:8080 - Unknown",
            "200 instance 10.42.1.11:8080 200 Ok",
            "500 instance 10.42.1.11:8080 500 Error(Status)",
        ]
    );
    let first = &records[0];
    assert_eq!(time(first.end_us), "19:32:20.013Z");
    assert_eq!(first.method, Some(&b"GET"[..]));
    assert_eq!(first.target.unwrap().show(), "/cart");
    assert_eq!((first.duration_us, first.attempts[0].duration_us), (Some(12_000), Some(11_000)));
    assert_eq!(first.client, Some(&b"10.42.2.20"[..]));
    assert_eq!((records[1].duration_us, records[1].bytes), (Some(40_000), Some(152)));
    assert_eq!(records[2].client, Some(&b"203.0.113.9"[..]));
    assert_eq!(records[3].user_agent.unwrap().show(), "Q \"uoted\" \\ UA é");
    assert!(!first.redispatched && records[4].redispatched, "two tries before are not named");
    assert_eq!(records[5].target.unwrap().show(), "/a/b");
    assert_eq!(records[5].pool, Some(&b"httproute/shop/backend/rule/0"[..]));
    assert_eq!(records[5].user_agent, None);
}

#[test]
fn ejections_and_health_events() {
    let mut parser = parser(Format::EnvoyJson);
    let shown = |line| {
        let Ok(Line::Event(event)) = parser.line(line) else {
            panic!("{}", String::from_utf8_lossy(line))
        };
        let Event { at_us, instance, pool, what, reason, .. } = event;
        assert_eq!(pool.as_deref(), Some("checkout"));
        let what = match what {
            What::State(state) => state.as_str().to_owned(),
            what => format!("{what:?}"),
        };
        let reason = reason.unwrap_or_default();
        format!("{} {} {what} {reason}", time(at_us), instance.unwrap()).trim_end().to_owned()
    };
    assert_eq!(
        lines(EVENTS).map(shown).collect::<Vec<_>>(),
        [
            "19:33:00.5Z 10.9.0.12:8080 Ejected { enforced: true } CONSECUTIVE_5XX",
            // What has the first value of its kind may be left out.
            "19:33:01.5Z 10.9.0.13:8080 Ejected { enforced: true } CONSECUTIVE_5XX",
            "19:33:10.5Z 10.9.0.12:8080 Ejected { enforced: false } SUCCESS_RATE: success 54 %, \
             cluster 99 %, threshold 97 %",
            "19:33:30.5Z 10.9.0.12:8080 Returned",
            "19:33:31Z [2001:db8::11]:8080 Ejected { enforced: true } \
             CONSECUTIVE_LOCAL_ORIGIN_FAILURE",
            "19:34:00.1Z 10.9.0.12:8080 Check { passed: false } NETWORK",
            "19:34:05.1Z 10.9.0.12:8080 unready ACTIVE",
            "19:34:15.1Z 10.9.0.12:8080 ready",
            "19:34:16.1Z [2001:db8::11]:8080 unready ACTIVE",
            "19:34:17.1Z unix:/run/app.sock ready degraded",
            "19:34:18.1Z unix:/run/app.sock ready",
        ]
    );
}

#[test]
fn the_format_is_told_by_the_lines() {
    let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
    for (log, format) in [
        (DEFAULT, Format::Envoy),
        (ISTIO, Format::Envoy),
        (ACCESS, Format::EnvoyJson),
        (EVENTS, Format::EnvoyJson),
    ] {
        assert_eq!(detect(log, &context), Ok(format));
    }
}

#[test]
fn lines_of_others_are_refused() {
    for other in [
        "",
        "[2026-11-29T19:32:17.072Z]",
        "[2026-11-29T19:32:17.072Z] \"GET / HTTP/1.1\" 200 - 0 12 1 1 \"-\" \"-\"",
        "203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"ua/1\"",
        "[WARNING]  (32090) : Server app/app2 is UP. 3 active and 0 backup servers online.",
    ] {
        assert!(
            parser(Format::Envoy).line(other.as_bytes()).is_ok_and(|l| l == Line::Nothing)
                == other.is_empty(),
            "{other}"
        );
    }
    for other in [
        r#"{"ts":1795981095.15,"status":200,"duration":0.01}"#,
        r#"{"time":"2026-11-29T19:32:17+00:00","status":200,"upstream_addr":"10.9.0.11:80"}"#,
        r#"{"response_flags":"-","response_code":200}"#,
        r#"{"upstream_url":"10.9.0.11:80"}"#,
        r#"{"health_checker_type":"HTTP","add_healthy_event":{}}"#,
    ] {
        assert!(parser(Format::EnvoyJson).line(other.as_bytes()).is_err(), "{other}");
    }
}

proptest::proptest! {
    #[test]
    fn no_line_makes_it_panic(
        junk: Vec<u8>, from in 0_usize..4, line in 0_usize..20, at in 0_usize..600, byte: u8, cut: bool
    ) {
        let log = [DEFAULT, ISTIO, ACCESS, EVENTS][from];
        let mut mutated = lines(log).nth(line).unwrap_or_default().to_vec();
        if let Some(place) = mutated.get_mut(at) {
            *place = byte;
            if cut {
                mutated.truncate(at);
            }
        }
        for format in [Format::Envoy, Format::EnvoyJson] {
            let _ = parser(format).line(&junk);
            let _ = parser(format).line(&mutated);
        }
    }
}
