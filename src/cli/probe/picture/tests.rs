use super::*;
use serde_json::json;

fn passing() -> Observation {
    serde_json::from_value(json!({
        "outcome": "pass", "class": null, "message": "",
        "phases_us": {"resolve": 6000, "connect": 21000, "tls": 34000, "first_byte": 55000, "transfer": 2000, "total": 118000},
        "status": 200, "http_version": "2", "address": "203.0.113.74", "size": 412, "hops": [],
        "certificate": {
            "subject": "CN=shop.example", "issuer": "C=DE, O=Example, CN=Example CA R3", "fingerprint": "00", "names": ["shop.example", "www.shop.example"],
            "not_before": "2026-11-01T00:00:00Z", "not_after": "2027-01-30T11:00:00Z", "days_left": 74, "chain_length": 2, "tls_version": "TLS 1.3", "valid": true
        },
        "assertions": [
            {"on": "status", "op": "in", "value": ["2xx"], "holds": true, "actual": "200"},
            {"on": "$.status", "op": "eq", "value": "ok", "holds": true, "actual": "\"ok\""},
            {"on": "latency_ms", "op": "le", "value": 800, "holds": true, "actual": "118.000 ms"}
        ],
        "evidence": {"headers": {"content-type": ["application/json"]}, "resolved": ["203.0.113.74", "2001:db8::74"]}
    }))
    .unwrap()
}

#[test]
fn a_pass_at_80_columns() {
    assert_eq!(
        draw(&Term::plain(80), &passing(), None),
        "\
● Pass  HTTP 200 in 118 ms from 203.0.113.74

  resolve          6 ms  ██
  connect         21 ms    ███████▏
  tls             34 ms           ███████████▊
  first byte      55 ms                       ██████████████████▌
  transfer         2 ms                                         █▏
                         ├─────────────────────────────────────────────────┤
                         0                                            150 ms

  address     203.0.113.74 (IPv4), of 2: also 2001:db8::74, not used
  protocol    HTTP/2, TLS 1.3
  answer      application/json, 412 bytes
  certificate shop.example, 74 days left, ends Sat 30 Jan 2027 11:00 UTC
              by Example CA R3, chain of 2, for shop.example, www.shop.example

  conditions  3 of 3 hold
  ●  status      in  2xx               200
  ●  $.status    eq  \"ok\"              \"ok\"
  ●  latency     le  800 ms            118 ms
"
    );
}

#[test]
fn a_pass_at_120_columns_has_facts_and_conditions_side_by_side() {
    let text = draw(&Term::plain(120), &passing(), None);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[7].chars().count(), 116);
    assert!(
        lines[8].contains(" 50 ms ")
            && lines[8].contains(" 100 ms ")
            && lines[8].ends_with("150 ms"),
        "{}",
        lines[8]
    );
    assert_eq!(
        lines[10..].join("\n"),
        "  address      203.0.113.74 (IPv4), of 2: also 2001:db8::74, not used         conditions  3 of 3 hold
  protocol     HTTP/2, TLS 1.3                                                ●  status      in  2xx         200
  answer       application/json, 412 bytes                                    ●  $.status    eq  \"ok\"        \"ok\"
  certificate  shop.example, 74 days left, ends Sat 30 Jan 2027 11:00 UTC     ●  latency     le  800 ms      118 ms"
    );
    assert!(lines.iter().all(|line| line.chars().count() <= 120));
}

#[test]
fn a_failure_hatches_the_phase_that_did_not_end() {
    let mut seen = passing();
    seen.outcome = Outcome::Fail;
    seen.class = Some(Class::HttpTimeoutFirstByte);
    seen.message =
        "No first byte within 10\u{a0}s: the server took the request and stayed silent.".into();
    seen.address = Some("203.0.113.10".into());
    (seen.status, seen.http_version, seen.size) = (None, None, None);
    seen.phases_us = serde_json::from_value(json!({"resolve": 5000, "connect": 22000, "tls": 35000, "first_byte": 9_938_000, "total": 10_000_000})).unwrap();
    for judged in &mut seen.assertions {
        (judged.holds, judged.actual) = (None, "no answer".into());
    }
    seen.evidence.as_mut().unwrap().resolved = vec!["203.0.113.10".into()];
    assert_eq!(
        draw(&Term::plain(80), &seen, None),
        "\
■ Fail  No first byte within 10 s: the server took the request and stayed
        silent (http_timeout_first_byte).

  resolve          5 ms  ▏
  connect         22 ms  ▏
  tls             35 ms  ▍
  first byte   9,938 ms  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
  transfer            –
                         ├─────────────────────────────────────────────────┤
                         0                                              10 s

  address     203.0.113.10 (IPv4), the only one
  certificate shop.example, 74 days left; it is not the cause
  conditions  none could be looked at: there was no answer
  ◌  status      in  2xx               no answer
  ◌  $.status    eq  \"ok\"              no answer
  ◌  latency     le  800 ms            no answer

  Look first at  whether its workers or its database wait; connect is quick,
                 so the machine and the network are there.
  One place only: this says nothing about what others reach.
"
    );
}

#[test]
fn a_condition_that_does_not_hold_shows_what_was_there() {
    let mut seen = passing();
    seen.outcome = Outcome::Fail;
    seen.class = Some(Class::Assertion);
    seen.phases_us.total = 121_000;
    seen.size = Some(96);
    seen.assertions[1].holds = Some(false);
    seen.assertions[1].actual = "\"degraded\"".into();
    seen.assertions[2].actual = "121.000 ms".into();
    seen.evidence.as_mut().unwrap().body =
        Some("{\"status\":\"degraded\",\"queue\":1841,\"token\":\"(hidden)\"}\n".into());
    assert_eq!(
        draw(&Term::plain(80), &seen, None),
        "\
■ Fail  HTTP 200 in 121 ms, but 1 of 3 conditions does not hold.

  ●  status      in  2xx               200
  ■  $.status    eq  \"ok\"              \"degraded\"
  ●  latency     le  800 ms            121 ms

  body  application/json, 96 bytes
        {\"status\":\"degraded\",\"queue\":1841,\"token\":\"(hidden)\"}
"
    );
}

#[test]
fn an_error_names_the_flag_and_never_breaks_it() {
    let mut seen = passing();
    seen.outcome = Outcome::Error;
    seen.class = Some(Class::BlockedAddress);
    seen.message = "10.9.0.11 is a private address, and this agent may not probe those. Nothing was sent. If it is yours: --allow-net 10.9.0.0/16".into();
    assert_eq!(
        draw(&Term::plain(80), &seen, None),
        "\
◌ Error  10.9.0.11 is a private address, and this agent may not probe those.
         Nothing was sent. If it is yours:  --allow-net 10.9.0.0/16
"
    );
}

#[test]
fn a_slow_pass_says_so_and_hops_stand_before_the_bars() {
    let mut seen = passing();
    assert!(
        draw(&Term::plain(80), &seen, Some(100))
            .starts_with("▲ Slow  HTTP 200 in 118 ms from 203.0.113.74, slower than 100 ms\n")
    );
    assert!(
        draw(&Term::plain(80), &seen, Some(118)).starts_with("● Pass"),
        "slow is strictly above"
    );
    seen.hops = serde_json::from_value(json!([{"url": "http://shop.example", "status": 301, "location": "https://shop.example/", "address": null, "duration_us": 14000}])).unwrap();
    assert!(
        draw(&Term::plain(80), &seen, None)
            .contains("\n  hop 1  301 http://shop.example → https://shop.example/  14 ms\n")
    );
}

#[test]
fn what_strangers_send_does_not_steer_the_terminal() {
    let mut seen = passing();
    seen.outcome = Outcome::Fail;
    seen.class = Some(Class::Status);
    seen.assertions[0].holds = Some(false);
    seen.assertions[1].actual = "\u{1b}[2J".into();
    seen.evidence.as_mut().unwrap().body = Some("\u{1b}]0;owned\u{7} \u{9b}31m x\u{202e}y".into());
    let text = draw(&Term::plain(80), &seen, None);
    assert!(
        !text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
        "{text:?}"
    );
}

#[test]
fn ascii_and_colour_say_the_same() {
    let plain = draw(&Term { ascii: true, ..Term::plain(80) }, &passing(), None);
    assert!(plain.is_ascii(), "{plain}");
    assert!(plain.starts_with("+ Pass  HTTP 200 in 118 ms from 203.0.113.74\n"));
    let coloured = draw(&Term { color: true, ..Term::plain(80) }, &passing(), None);
    assert!(coloured.starts_with("\u{1b}[36m● Pass\u{1b}[0m  HTTP"));
    let mut bare = String::new();
    let mut escape = false;
    for c in coloured.chars() {
        match (escape, c) {
            (false, '\u{1b}') => escape = true,
            (true, 'm') => escape = false,
            (true, _) => {}
            (false, _) => bare.push(c),
        }
    }
    assert_eq!(bare, draw(&Term::plain(80), &passing(), None));
}
