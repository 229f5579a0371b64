use std::collections::BTreeMap;

use super::*;
use crate::{
    accesslog::{Context, Format, Parser, detect},
    domain::fleet::{
        event::{State, What},
        record::{Attribution, Fault, Outcome, Record},
    },
};

const RFC5424: &[u8] = include_bytes!("../../../tests/logs/haproxy_rfc5424.raw");
const RFC3164: &[u8] = include_bytes!("../../../tests/logs/haproxy_rfc3164.raw");
const STDERR: &[u8] = include_bytes!("../../../tests/logs/haproxy_stderr.log");
const LNAV: &[u8] = include_bytes!("../../../tests/logs/haproxy_lnav.log");
const BEATS: &[u8] = include_bytes!("../../../tests/logs/haproxy_beats.log");

fn parser() -> Parser {
    let now: jiff::Timestamp = "2026-11-30T00:00:00Z".parse().unwrap();
    let tz = jiff::tz::TimeZone::UTC;
    Parser::new(Format::Haproxy, &Context { tz, now_us: now.as_microsecond() })
}

fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    log.split(|b| *b == b'\n').filter(|line| !line.is_empty())
}

fn read(log: &'static [u8]) -> (Vec<Record<'static>>, Vec<Event>) {
    let (mut records, mut events) = (Vec::new(), Vec::new());
    let mut parser = parser();
    for line in lines(log) {
        match parser.line(line) {
            Ok(Line::Request(record)) => records.push(record),
            Ok(Line::Event(event)) => events.push(event),
            Ok(Line::Nothing) => {}
            Err(reject) => panic!("{reject}: {}", String::from_utf8_lossy(line)),
        }
    }
    (records, events)
}

fn record(line: &str) -> Record<'_> {
    match parser().line(line.as_bytes()) {
        Ok(Line::Request(record)) => record,
        other => panic!("{other:?}: {line}"),
    }
}

fn event(line: &str) -> Event {
    match parser().line(line.as_bytes()) {
        Ok(Line::Event(event)) => event,
        other => panic!("{other:?}: {line}"),
    }
}

fn time(us: i64) -> String {
    jiff::Timestamp::from_microsecond(us).unwrap().to_string()
}

#[test]
fn the_lab_run_allows_exactly_the_known_transitions() {
    let (_, events) = read(RFC5424);
    let mut states: BTreeMap<String, (State, u32)> = BTreeMap::new();
    let mut active: Option<u32> = None;
    let (mut emptied, mut refilled) = (Vec::new(), None);
    for event in &events {
        match &event.what {
            What::State(state) => {
                let name = event.instance.clone().unwrap();
                let (before, moves) = states.entry(name).or_insert((State::Ready, 0));
                *moves += u32::from(*before != *state);
                *before = *state;
            }
            What::PoolEmpty => emptied.push(time(event.at_us)),
            _ => {}
        }
        if !emptied.is_empty() && refilled.is_none() && event.active == Some(3) {
            refilled = Some(time(event.at_us));
        }
        active = event.active.or(active);
    }
    let moves: Vec<_> = states.iter().map(|(name, (_, moves))| (name.as_str(), *moves)).collect();
    assert_eq!(moves, [("app/app1", 8), ("app/app2", 40), ("app/app3", 12)]);
    assert_eq!(emptied.len(), 4);
    assert_eq!(emptied[0], "2026-11-29T19:34:01.955153Z");
    assert_eq!(refilled.as_deref(), Some("2026-11-29T19:34:06.962553Z"));
    assert_eq!(active, Some(3));
}

#[test]
fn the_cause_of_a_down_line_is_that_of_the_check_before_it() {
    let (_, events) = read(RFC5424);
    let causes: BTreeMap<&str, usize> = events
        .iter()
        .filter(|event| event.what == What::State(State::Unready))
        .map(|event| event.reason.as_deref().unwrap_or("none"))
        .fold(BTreeMap::new(), |mut counts, cause| {
            *counts.entry(cause).or_default() += 1;
            counts
        });
    assert_eq!(
        causes.into_iter().collect::<Vec<_>>(),
        [
            (
                "Health analyze, info: \"Detected 10 consecutive errors, last one was: L4 \
                 unsuccessful connection\"",
                1
            ),
            ("Layer4 connection problem, info: \"Connection refused\"", 15),
            ("Layer7 wrong status, code: 503, info: \"Service Unavailable\"", 12),
        ]
    );
    let first = events.iter().find(|event| event.what == What::State(State::Unready)).unwrap();
    assert_eq!(first.aliases, ["app2"]);
    assert_eq!(first.pool.as_deref(), Some("app"));
    assert_eq!(first.reporter.as_deref(), Some("32090"));
    assert_eq!(first.active, Some(2));
    assert_eq!(time(first.at_us), "2026-11-29T19:33:08.570714Z");
}

#[test]
fn every_envelope_of_the_run_tells_the_same() {
    let (records, events) = read(RFC5424);
    let (older, older_events) = read(RFC3164);
    assert_eq!((records.len(), older.len()), (1_210, 1_210));
    // Threads of HAProxy do not write to all places in the same order, and one place cuts long lines.
    let is_long =
        |r: &&Record<'_>| r.request.is_some_and(|text| text.raw.starts_with(b"GET /long"));
    let sorted = |records: &[Record<'_>]| {
        let mut shown: Vec<String> =
            records.iter().filter(|r| !is_long(r)).map(|r| format!("{r:?}")).collect();
        shown.sort_unstable();
        shown
    };
    assert_eq!(sorted(&records), sorted(&older));
    let cut: Vec<_> = older.iter().filter(|r| r.truncated).collect();
    assert!(cut.len() == 3 && cut.iter().all(is_long));
    let named = |r: &&&Record<'_>| r.attempts.len() == 1 && r.status == Some(200);
    assert_eq!(cut.iter().filter(named).count(), 2, "in the common form the request comes first");
    let whole_second = |event: &Event| Event { at_us: event.at_us / 1_000_000, ..event.clone() };
    let seconds = |events: &[Event]| events.iter().map(whole_second).collect::<Vec<_>>();
    assert_eq!(seconds(&events), seconds(&older_events));
    // Standard error has no stamps at all: the order and the rest are the same.
    let (none, stderr) = read(STDERR);
    assert_eq!(none, []);
    let undated = |event: &Event| Event { at_us: 0, ..event.clone() };
    assert_eq!(
        stderr.iter().map(undated).collect::<Vec<_>>(),
        events.iter().map(undated).collect::<Vec<_>>()
    );
}

#[test]
fn requests_of_the_run() {
    let (records, _) = read(RFC5424);
    let first = &records[0];
    assert_eq!(time(first.end_us), "2026-11-29T19:32:19.089Z", "start and Ta");
    assert_eq!(first.client, Some(&b"127.0.0.1"[..]));
    assert_eq!(
        (first.status, first.bytes, first.duration_us),
        (Some(200), Some(4_949), Some(23_000))
    );
    assert_eq!(first.method, Some(&b"GET"[..]));
    assert_eq!(first.user_agent.unwrap().show(), "curl/7.88.1");
    assert_eq!(first.pool, Some(&b"app"[..]));
    let [attempt] = first.attempts.as_slice() else { panic!("{first:?}") };
    assert_eq!(attempt.instance, b"app/app1");
    assert_eq!((attempt.duration_us, attempt.connect_us), (Some(23_000), Some(0)));
    let count = |of: &dyn Fn(&Record<'_>) -> bool| records.iter().filter(|r| of(r)).count();
    let faults = |fault| {
        let failed = Outcome::Error(fault);
        count(&|r| r.attempts.first().is_some_and(|attempt| attempt.outcome == failed))
    };
    assert_eq!(faults(Fault::Reset), 46, "SH");
    assert_eq!(faults(Fault::Status), 21, "answers of 5xx");
    let of = |attribution| count(&|r| r.attribution == attribution);
    assert_eq!(of(Attribution::Client), 27, "no requests: PR, CR, cR");
    assert_eq!(of(Attribution::Proxy) + of(Attribution::None), 0);
    assert_eq!(faults(Fault::Connect), 26, "SC at a server");
    assert_eq!(of(Attribution::Pool), 70, "SC at nobody");
    assert_eq!(count(&|r| r.pool_empty > 0), of(Attribution::Pool));
    assert_eq!(count(&|r| r.redispatched), 40);
    let v6 = records.iter().find(|r| r.client == Some(&b"::1"[..])).unwrap();
    assert_eq!(v6.target.unwrap().show(), "/v6");
    let shown = |path: &str| {
        let of = |r: &&Record<'_>| r.target.is_some_and(|target| target.show() == path);
        records.iter().find(of).unwrap().user_agent.map(|agent| agent.show())
    };
    assert_eq!(shown("/x\"y"), Some("lab/1.0".to_owned()), "#22 is a quote");
}

#[test]
fn lines_of_other_projects() {
    let (records, events) = read(LNAV);
    assert_eq!((records.len(), events.len()), (13, 0));
    assert_eq!(records[0].attempts[0].instance, b"bk_admin/nginx_sonst");
    assert!(records[0].user_agent.unwrap().show().starts_with("Mozilla/5.0 (Windows NT 6.1"));
    let mut parser = parser();
    let read: Vec<_> = lines(BEATS).map(|line| parser.line(line)).collect();
    assert_eq!(read.len(), 14);
    let refused: Vec<_> = read.iter().filter_map(|line| line.as_ref().err()).collect();
    assert_eq!(
        refused,
        [&Reject("a TCP connection: HAProxy's TCP log is known and not built")],
        "one line of the TCP log"
    );
    let Ok(Line::Request(captured)) = &read[0] else { panic!() };
    assert_eq!((captured.user_agent, captured.status), (None, Some(304)));
    let Ok(Line::Request(nobody)) = &read[10] else { panic!() };
    assert_eq!((nobody.attribution, nobody.pool_empty), (Attribution::Pool, 1));
    assert_eq!(nobody.pool, Some(&b"http-webservices"[..]));
}

/// logstash-patterns-core #179.
#[test]
fn a_request_cut_by_syslog_still_counts() {
    let line = "Mar  5 10:15:30 lb1 haproxy[7]: 203.0.113.9:4711 [05/Mar/2026:10:15:30.111] www~ app/n2 \
                0/0/1/18/19 200 200 - - ---- 2/2/0/0/0 0/0 \"GET /q?a=aaaaaaaa";
    let at = line.find('"').unwrap();
    let captures = format!("{}{{shop.example|Mozilla", &line[..at]);
    let record = record(line);
    assert!(record.truncated);
    assert_eq!((record.status, record.duration_us), (Some(200), Some(19_000)));
    assert_eq!(record.attempts[0].outcome, Outcome::Ok);
    assert_eq!(record.attempts[0].instance, b"app/n2");
    assert_eq!(record.request.unwrap().show(), "GET /q?a=aaaaaaaa");
    // Cut in what was captured.
    let earlier = self::record(&captures);
    assert!(earlier.truncated && earlier.request.is_none());
    assert_eq!(earlier.attempts, record.attempts);
}

/// elastic/beats #25827.
#[test]
fn no_client_and_a_field_that_somebody_added() {
    let record = record(
        "-:22222 [05/Mar/2026:10:15:30.222] www~ app/n2 shop.example 0/0/0/18/18 200 200 - - ---- \
         2/2/0/0/0 0/0 \"GET / HTTP/1.1\"",
    );
    assert_eq!(record.client, None);
    assert_eq!(record.attempts[0].instance, b"app/n2");
    assert_eq!((record.status, record.duration_us), (Some(200), Some(18_000)));
}

#[test]
fn whose_an_outcome_is_by_the_state_in_which_it_ended() {
    use Attribution::{Client, Instance, Pool, Proxy};
    let error = |fault| Some(Outcome::Error(fault));
    let unknown = Some(Outcome::Unknown);
    for (server, timers, status, ended, request, outcome, attribution) in [
        ("app/s1", "0/0/1/5/6", "200", "----", "GET / HTTP/1.1", Some(Outcome::Ok), Instance),
        ("app/s1", "0/0/1/5/6", "200", "--VN", "GET / HTTP/1.1", Some(Outcome::Ok), Instance),
        ("app/s1", "0/0/1/5/6", "503", "----", "GET / HTTP/1.1", error(Fault::Status), Instance),
        ("app/s1", "0/0/-1/-1/9", "503", "SC--", "GET / HTTP/1.1", error(Fault::Connect), Instance),
        ("app/s1", "0/0/-1/-1/9", "503", "sC--", "GET / HTTP/1.1", error(Fault::Connect), Instance),
        ("app/s1", "0/0/1/-1/9", "502", "SH--", "GET / HTTP/1.1", error(Fault::Reset), Instance),
        ("app/s1", "0/0/1/-1/9", "504", "sH--", "GET / HTTP/1.1", error(Fault::Timeout), Instance),
        ("app/s1", "0/0/1/5/9", "200", "SD--", "GET / HTTP/1.1", error(Fault::Reset), Instance),
        ("app/s1", "0/0/1/5/9", "200", "sD--", "GET / HTTP/1.1", error(Fault::Timeout), Instance),
        ("app/s1", "0/0/1/-1/9", "502", "PH--", "GET / HTTP/1.1", error(Fault::Reset), Instance),
        ("app/s1", "0/0/1/5/9", "200", "DD--", "GET / HTTP/1.1", error(Fault::Reset), Instance),
        ("app/s1", "0/9/-1/-1/9", "503", "sQ--", "GET / HTTP/1.1", unknown, Pool),
        ("app/s1", "0/0/1/5/9", "200", "CD--", "GET / HTTP/1.1", unknown, Client),
        ("app/s1", "0/0/1/-1/9", "-1", "CH--", "GET / HTTP/1.1", unknown, Client),
        ("app/s1", "0/0/1/5/9", "200", "cD--", "GET / HTTP/1.1", unknown, Client),
        ("app/s1", "0/0/1/5/9", "200", "KD--", "GET / HTTP/1.1", unknown, Proxy),
        ("app/s1", "0/0/-1/-1/9", "503", "RC--", "GET / HTTP/1.1", unknown, Proxy),
        ("app/<NOSRV>", "0/-1/-1/-1/0", "503", "SC--", "GET / HTTP/1.1", None, Pool),
        ("app/<NOSRV>", "0/9/-1/-1/9", "503", "sQ--", "GET / HTTP/1.1", None, Pool),
        ("fe/<NOSRV>", "0/-1/-1/-1/0", "403", "PR--", "GET / HTTP/1.1", None, Proxy),
        ("fe/<NOSRV>", "0/-1/-1/-1/0", "301", "LR--", "GET / HTTP/1.1", None, Proxy),
        ("fe/<NOSRV>", "-1/-1/-1/-1/0", "400", "PR--", "<BADREQ>", None, Client),
        ("fe/<NOSRV>", "-1/-1/-1/-1/9", "408", "cR--", "<BADREQ>", None, Client),
        ("stats/<STATS>", "0/0/0/0/1", "200", "LR--", "GET /stats HTTP/1.1", None, Proxy),
    ] {
        let line = format!(
            "203.0.113.9:4711 [05/Mar/2026:10:15:30.111] www {server} {timers} {status} 200 - - {ended} \
             2/2/0/0/0 0/0 \"{request}\""
        );
        let record = record(&line);
        assert_eq!(record.attempts.first().map(|attempt| attempt.outcome), outcome, "{line}");
        assert_eq!(record.attribution, attribution, "{line}");
    }
}

#[test]
fn odd_fields_of_requests() {
    let line =
        |fields: &str| format!("::ffff:203.0.113.9:4711 [05/Mar/2026:10:15:30.111] www~ {fields}");
    // `option logasap`, a redispatch, both lists captured, and what httpslog adds.
    let line = line(
        "app/s2 10/+20/30/+40/+100 201 +777 cookie=a - --NI 2/2/0/0/+1 0/0 {a b|#7Bc} {x#22|\\} \"POST \
         /x#22y HTTP/2.0\" 0/0000000000000000/0/0/0 shop.example/TLSv1.3/TLS_AES_256_GCM_SHA384",
    );
    let record = record(&line);
    assert_eq!(record.client, Some(&b"::ffff:203.0.113.9"[..]));
    assert!(record.redispatched && !record.truncated);
    assert_eq!((record.bytes, record.duration_us), (Some(777), Some(100_000)));
    assert_eq!(record.target.unwrap().show(), "/x\"y");
    assert_eq!(record.attempts.len(), 1, "who failed before is not named");
    assert_eq!(record.attempts[0].duration_us, Some(70_000));
    assert_eq!(record.attempts[0].outcome, Outcome::Ok);
    // A reply of no status, and a server that was waited for in vain.
    let none = self::record(
        "203.0.113.9:1 [05/Mar/2026:10:15:30.111] www app/s2 5/10/1/-1/1016 -1 0 - - CH-- 1/1/0/0/0 0/0 \
         \"GET / HTTP/1.1\"",
    );
    assert_eq!(none.status, None);
    assert_eq!(none.attempts[0].duration_us, Some(1_001_000));
    assert_eq!((none.attempts[0].status, none.attempts[0].bytes), (None, None));
}

#[test]
fn the_variant_that_begins_like_the_common_log_format() {
    let line = "Nov 29 19:33:01 haproxy[32090]: 2001:db8::7 - - [29/Nov/2026:19:33:01 +0100] \"GET /a \
                HTTP/1.1\" 503 217 \"\" \"\" 44708 428 \"fe_clf\" \"app\" \"app2\" 0 0 -1 -1 20 SC-- 1 1 0 \
                0 +2 0 0 \"\" \"\" ";
    let record = record(line);
    assert_eq!(time(record.end_us), "2026-11-29T18:33:01.448Z");
    assert_eq!(record.attempts[0].instance, b"app2");
    assert_eq!(record.pool, Some(&b"app"[..]));
    assert_eq!(record.attempts[0].outcome, Outcome::Error(Fault::Connect));
    assert!(record.redispatched);
    let other =
        "203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"ua/1\"";
    assert!(parser().line(other.as_bytes()).is_err());
}

#[test]
fn what_is_said_of_servers() {
    use State::{Draining, Maintenance, Ready, Unready};
    for (message, state, active, reason) in [
        (
            "Server app/s1 is DOWN, reason: Layer7 wrong status, code: 500, info: \"Internal Server Error\", \
             check duration: 2ms. 1 active and 2 backup servers left. Running on backup. 0 sessions active, 0 \
             requeued, 0 remaining in queue.",
            Unready,
            Some(1),
            "Layer7 wrong status, code: 500, info: \"Internal Server Error\"",
        ),
        (
            "Server app/s1 is UP, reason: Layer7 check passed, code: 200, check duration: 2ms. 3 active and 0 \
             backup servers online. 0 sessions requeued, 0 total in queue.",
            Ready,
            Some(3),
            "Layer7 check passed, code: 200",
        ),
        (
            "Backup Server app/s1 is DOWN. 1 active and 0 backup servers left. 0 sessions active, 0 requeued, \
             0 remaining in queue.",
            Unready,
            Some(1),
            "",
        ),
        (
            "Server app/s1 is DOWN via checks/c1. 1 active and 0 backup servers left. 0 sessions active, 0 \
             requeued, 0 remaining in queue.",
            Unready,
            Some(1),
            "via checks/c1",
        ),
        (
            "Server app/s1 is stopping, reason: Layer7 check conditionally passed, code: 404, check duration: \
             1ms. 2 active and 0 backup servers online. 0 sessions requeued, 0 total in queue.",
            Draining,
            Some(2),
            "Layer7 check conditionally passed, code: 404",
        ),
        (
            "Server app/s1 enters drain state (agent). 2 active and 0 backup servers online. 0 sessions \
             requeued, 0 total in queue.",
            Draining,
            Some(2),
            "agent",
        ),
        ("Server app/s1 is UP (leaving forced drain).", Ready, None, "leaving forced drain"),
        ("Server app/s1 is DOWN (leaving forced drain).", Unready, None, "leaving forced drain"),
        (
            "Server app/s1 is going DOWN for maintenance (No IP for server ). 0 active and 0 backup servers \
             left. 1 sessions active, 0 requeued, 0 remaining in queue.",
            Maintenance,
            Some(0),
            "No IP for server ",
        ),
        ("Server app/s1 was DOWN and now enters maintenance.", Maintenance, None, ""),
        (
            "Server app/s1 is UP/READY (leaving forced maintenance).",
            Ready,
            None,
            "leaving forced maintenance",
        ),
        (
            "Server app/s1 is DOWN/READY (leaving forced maintenance).",
            Unready,
            None,
            "leaving forced maintenance",
        ),
        (
            "Server app/s1 is UP/DRAIN (leaving forced maintenance).",
            Draining,
            None,
            "leaving forced maintenance",
        ),
        (
            "Server app/s1 ('s1.example') is UP/READY (resolves again).",
            Ready,
            None,
            "resolves again",
        ),
        (
            "Server app/s1 ('s1.example') resolves again but remains in maintenance.",
            Maintenance,
            None,
            "",
        ),
        ("Server app/s1 remains in drain mode.", Draining, None, ""),
        (
            "Server app/s1 is DOWN, changed from server-state after a reload. 1 active and 0 backup servers \
             left. 0 sessions active, 0 requeued, 0 remaining in queue.",
            Unready,
            Some(1),
            "changed from server-state after a reload",
        ),
    ] {
        let event = event(&format!("<137>Nov 29 19:33:08 lb2 haproxy[7]: {message}"));
        assert_eq!(event.what, What::State(state), "{message}");
        assert_eq!(event.active, active, "{message}");
        assert_eq!(event.reason.as_deref().unwrap_or_default(), reason, "{message}");
        assert_eq!(event.instance.as_deref(), Some("app/s1"), "{message}");
        assert_eq!(event.reporter.as_deref(), Some("lb2:7"), "{message}");
    }
}

#[test]
fn a_server_that_follows_another_is_down_for_its_reason() {
    let mut parser = parser();
    let lines = [
        "[WARNING]  (7) : Health check for server checks/c1 failed, reason: Layer4 timeout, check duration: \
         2000ms, status: 0/2 DOWN.",
        "[WARNING]  (7) : Server app/s1 is DOWN via checks/c1. 1 active and 0 backup servers left. 0 sessions \
         active, 0 requeued, 0 remaining in queue.",
        "[WARNING]  (8) : Server checks/c1 is DOWN. 1 active and 0 backup servers left. 0 sessions active, 0 \
         requeued, 0 remaining in queue.",
        "[WARNING]  (7) : Health check for backup server checks/c1 conditionally succeeded, reason: Layer7 \
         check conditionally passed, code: 404, check duration: 1ms, status: 2/2 UP.",
        "[WARNING]  (7) : Server checks/c1 is DOWN. 1 active and 0 backup servers left. 0 sessions active, 0 \
         requeued, 0 remaining in queue.",
    ];
    let reasons: Vec<Option<String>> = lines
        .iter()
        .map(|line| match parser.line(line.as_bytes()) {
            Ok(Line::Event(event)) => event.reason,
            other => panic!("{other:?}"),
        })
        .collect();
    let reasons: Vec<_> = reasons.iter().map(Option::as_deref).collect();
    assert_eq!(
        reasons,
        [
            Some("Layer4 timeout"),
            Some("via checks/c1: Layer4 timeout"),
            None, // another process, whose checks were not logged
            Some("Layer7 check conditionally passed, code: 404"),
            None, // it passed since
        ]
    );
}

#[test]
fn envelopes() {
    let said = "Server app/s1 is UP. 3 active and 0 backup servers online.";
    for (envelope, at, reporter) in [
        ("<134>Nov 29 19:33:08 haproxy[32090]: ", "2026-11-29T19:33:08Z", Some("32090")),
        ("Nov  9 19:33:08 lb1 haproxy[7]: ", "2026-11-09T19:33:08Z", Some("lb1:7")),
        ("Dec 29 19:33:08 haproxy: ", "2025-12-29T19:33:08Z", None),
        (
            "<141>1 2026-11-29T20:33:08.5+01:00 - haproxy 32090 - - ",
            "2026-11-29T19:33:08.5Z",
            Some("32090"),
        ),
        (
            "<141>1 2026-11-29T19:33:08Z lb1 haproxy 7 - [a@1 b=\"]\"][c] ",
            "2026-11-29T19:33:08Z",
            Some("lb1:7"),
        ),
        ("2026-11-29T19:33:08.25+00:00 lb1 haproxy[7]: ", "2026-11-29T19:33:08.25Z", Some("lb1:7")),
        (
            "2026-11-29T19:33:08.25Z stderr F [WARNING]  (7) : ",
            "2026-11-29T19:33:08.25Z",
            Some("7"),
        ),
        ("haproxy-1  | [NOTICE]   (7) : ", "2026-11-30T00:00:00Z", Some("7")),
        ("[WARNING] 253/235636 (11824) : ", "2026-09-11T23:56:36Z", Some("11824")),
        ("", "2026-11-30T00:00:00Z", None),
    ] {
        let event = event(&format!("{envelope}{said}"));
        assert_eq!(time(event.at_us), at, "{envelope}");
        assert_eq!(event.reporter.as_deref(), reporter, "{envelope}");
        assert_eq!(event.active, Some(3));
    }
    let empty = event("[ALERT]    (7) : proxy 'shop' has no server available!");
    assert_eq!((empty.what, empty.active), (What::PoolEmpty, Some(0)));
    assert_eq!(empty.pool.as_deref(), Some("shop"));
}

#[test]
fn a_full_stamp_tells_the_zone_of_the_start() {
    let record = record(
        "<142>1 2026-11-29T20:33:05.104+01:00 - haproxy 7 - - 203.0.113.9:1 [29/Nov/2026:20:33:01.100] www \
         app/s2 0/0/0/4000/4001 200 0 - - ---- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"",
    );
    assert_eq!(time(record.end_us), "2026-11-29T19:33:05.101Z");
}

#[test]
fn the_format_is_told_by_the_lines() {
    let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 1_800_000_000_000_000 };
    for log in [RFC5424, RFC3164, STDERR, LNAV, &BEATS[..1_900]] {
        assert_eq!(detect(log, &context), Ok(Format::Haproxy));
    }
    let tcp = lines(BEATS).last().unwrap();
    assert!(detect(tcp, &context).unwrap_err().to_string().contains("haproxy-tcp"));
}

#[test]
fn lines_that_say_nothing_and_lines_that_are_none() {
    for nothing in [
        "Feb 25 16:19:38 192.168.4.2 haproxy[1]: Proxy prod_http_in started.",
        "Feb 25 16:19:38 lb haproxy[1]: Connect from 203.0.113.9:1 to 203.0.113.1:80 (www/HTTP)",
        "Feb 25 16:20:15 lb haproxy[7]: 203.0.113.9:1 [25/Feb/2019:16:20:10.111] www/1: SSL handshake failure",
        "[NOTICE]   (7) : New worker (8) forked",
        "Feb 25 16:19:38 lb sshd[1]: Accepted publickey for root",
    ] {
        assert_eq!(parser().line(nothing.as_bytes()), Ok(Line::Nothing), "{nothing}");
    }
    for none in [
        "203.0.113.9:1 [05/Mar/2026:10:15:30.111] www app/s2 0/0/0/1/1 200",
        "203.0.113.9:1 [05/Mar/2026:10:15:30.111] www app 0/0/0/1/1 200 0 - - ---- 1/1/0/0/0 0/0 \"GET /\"",
        "Mar  5 10:15:30 lb haproxy[7]: 203.0.113.9:1 [yesterday] www app/s2",
        "{\"ts\":1}",
        "Server down",
    ] {
        assert!(parser().line(none.as_bytes()).is_err(), "{none}");
    }
}

proptest::proptest! {
    #[test]
    fn no_line_makes_it_panic(
        junk: Vec<u8>, from in 0_usize..5, line in 0_usize..1_400, at in 0_usize..400, byte: u8, cut: bool
    ) {
        let log = [RFC5424, RFC3164, STDERR, LNAV, BEATS][from];
        let mut mutated = lines(log).nth(line % lines(log).count()).unwrap().to_vec();
        if let Some(place) = mutated.get_mut(at) {
            *place = byte;
            if cut {
                mutated.truncate(at);
            }
        }
        let _ = parser().line(&junk);
        let _ = parser().line(&mutated);
    }
}
