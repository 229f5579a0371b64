use serde_json::{Value, json};

use super::*;

const OURS: &str =
    "quorate:monitor:00000000-0000-0000-0000-000000000001:00000000-0000-0000-0000-000000000007";

fn event(kind: &str, key: &Value) -> Vec<u8> {
    json!({ "event": {
        "id": "01EVENT", "event_type": kind, "occurred_at": "2026-11-17T02:00:00.250Z",
        "agent": { "summary": "Jane\u{7} Doe ", "type": "user_reference" },
        "data": { "id": "PGR0VU2", "incident_key": key },
    }})
    .to_string()
    .into_bytes()
}

fn key(text: &str) -> Secret<String> {
    Secret::from(text)
}

/// The key, body and signature that Slack's own description of its signatures gives as an example.
#[test]
fn slacks_own_example_is_slacks() {
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V\
        &channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=\
        &response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    let secret = key("8f742231b10e8888abcd99yyyzzz85a5");
    let theirs = |sent: &str, signature: &str, body: &str, now: i64| {
        let now = Timestamp::from_second(now).unwrap();
        slack::is_theirs(&secret, sent, signature, body.as_bytes(), now)
    };
    let sent = "1531420618";
    assert!(theirs(sent, signature, body, 1_531_420_618));
    assert!(theirs(sent, signature, body, 1_531_420_618 + 300));
    assert!(theirs(sent, signature, body, 1_531_420_618 - 300));
    for late in [301, -301, i64::from(i32::MAX)] {
        assert!(!theirs(sent, signature, body, 1_531_420_618 + late), "{late}");
    }
    assert!(!theirs("1531420619", signature, body, 1_531_420_618));
    assert!(!theirs(sent, signature, &body[1..], 1_531_420_618));
    for strange in ["", "v0=", "a2114d57", "v0=zz", &signature[..40], "v1=a2114d57"] {
        assert!(!theirs(sent, strange, body, 1_531_420_618), "{strange}");
    }
    for strange in ["", "x", "1531420618.0", "99999999999999999999"] {
        assert!(!theirs(strange, signature, body, 1_531_420_618), "{strange}");
    }
}

/// RFC 4231, test case 2, stands in for the code that signs.
#[test]
fn one_of_pagerdutys_signatures_is_enough() {
    let (secret, body) = (key("Jefe"), b"what do ya want for nothing?");
    let right = "v1=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    let theirs = |header: &str| pagerduty::is_theirs(&secret, header, body);
    assert!(theirs(right));
    assert!(theirs(&format!("v1=00,{right}")));
    assert!(theirs(&format!("{right}, v1={}", "0".repeat(64))));
    assert!(!theirs(&right.replace("v1=", "v2=")));
    for strange in ["", ",", "v1=", "v1=5bdc", &right[3..]] {
        assert!(!theirs(strange), "{strange}");
    }
    assert!(!pagerduty::is_theirs(&key("jefe"), right, body));
}

#[test]
fn an_event_names_our_incident_by_the_end_of_its_key() {
    let read = |kind: &str, key: &str| pagerduty::read(&event(kind, &json!(key)));
    let said = read("incident.acknowledged", OURS).unwrap().unwrap();
    assert_eq!((said.act, said.incident), (Act::Acknowledge, Uuid::from_u128(7)));
    assert_eq!((said.who.as_str(), said.id.as_str()), ("Jane Doe (PagerDuty)", "01EVENT"));
    assert_eq!(said.at.as_millisecond() % 1_000, 250);
    let acts = [
        ("incident.unacknowledged", Some(Act::TakeBack)),
        ("incident.resolved", Some(Act::Close)),
        ("incident.reopened", None),
        ("pagey.ping", None),
    ];
    for (kind, act) in acts {
        assert_eq!(read(kind, OURS).unwrap().map(|said| said.act), act, "{kind}");
    }
    for strange in
        ["", "d3640fbd41094207", "quorate:test:x", "other:00000000-0000-0000-0000-000000000007"]
    {
        assert_eq!(read("incident.acknowledged", strange), Ok(None), "{strange}");
    }
    assert_eq!(pagerduty::read(&event("incident.acknowledged", &Value::Null)), Ok(None));
    for strange in ["", "[]", "{}", "{\"event\":null}", "{\"event\":{\"event_type\":7}}"] {
        pagerduty::read(strange.as_bytes()).unwrap_err();
    }
    let timeless = String::from_utf8(event("incident.acknowledged", &json!(OURS))).unwrap();
    pagerduty::read(timeless.replace("2026-11", "yesterday").as_bytes()).unwrap_err();
}

#[test]
fn who_is_not_told_is_the_service() {
    assert_eq!(named(None, "PagerDuty"), "PagerDuty");
    assert_eq!(named(Some(" \0\n"), "Slack"), "Slack");
    assert_eq!(named(Some(&"é".repeat(500)), "Slack").chars().count(), NAME + " (Slack)".len());
}

#[test]
fn a_press_of_our_button_acknowledges() {
    let form = |payload: &Value| {
        let text = payload.to_string();
        form_urlencoded(&text)
    };
    let press = |action: &str, value: &str| {
        json!({ "type": "block_actions", "user": { "id": "U1", "username": "roadrunner", "name": "road.runner" },
            "actions": [
                { "action_id": "link", "type": "button", "action_ts": "1.0" },
                { "action_id": action, "value": value, "action_ts": "1763344800.840180" },
            ] })
    };
    let seven = Uuid::from_u128(7).to_string();
    let said = slack::read(&form(&press(slack::BUTTON, &seven))).unwrap().unwrap();
    assert_eq!((said.act, said.incident), (Act::Acknowledge, Uuid::from_u128(7)));
    assert_eq!((said.who.as_str(), said.id.as_str()), ("road.runner (Slack)", "1763344800.840180"));
    assert_eq!(said.at.as_second(), 1_763_344_800);
    assert_eq!(slack::read(&form(&press("other", &seven))), Ok(None));
    assert_eq!(slack::read(&form(&json!({ "type": "view_closed" }))), Ok(None));
    slack::read(&form(&press(slack::BUTTON, "seven"))).unwrap_err();
    slack::read(&form(&json!({ "type": "block_actions" }))).unwrap_err();
    for strange in ["", "payload", "payload=%ff", "payload=7", "other=%7B%7D"] {
        assert!(!matches!(slack::read(strange.as_bytes()), Ok(Some(_))), "{strange}");
    }
}

fn form_urlencoded(payload: &str) -> Vec<u8> {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("payload", payload).finish().into_bytes()
}

#[test]
fn what_was_undone_since_or_given_elsewhere_changes_nothing() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let (theirs, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let said = |act, second| Said {
        act,
        incident: Uuid::nil(),
        who: String::new(),
        id: "this".into(),
        at: at(second),
    };
    let before = |second, kind, said| Before { at: at(second), kind, said };
    let check = |said: Said, before: &[Before<'_>]| said.check(before, &[theirs]);
    use Act::{Acknowledge, Close, TakeBack};
    assert_eq!(check(said(Acknowledge, 10), &[]), Ok(()));
    assert_eq!(check(said(Acknowledge, 10), &[before(9, "unacked", None)]), Ok(()));
    for kind in ["unacked", "ack_expired"] {
        let later = [before(5, "acked", None), before(11, kind, None), before(12, "note", None)];
        assert_eq!(check(said(Acknowledge, 10), &later), Err(Stale::Undone));
    }
    for act in [Acknowledge, TakeBack, Close] {
        let again = [before(20, "acked", Some(("this", theirs)))];
        assert_eq!(check(said(act, 30), &again), Err(Stale::Again));
    }
    let given = |second, channel| before(second, "acked", Some(("that", channel)));
    assert_eq!(check(said(TakeBack, 30), &[given(20, theirs)]), Ok(()));
    assert_eq!(check(said(TakeBack, 30), &[given(20, other)]), Err(Stale::NotTheirs));
    assert_eq!(check(said(TakeBack, 30), &[before(20, "acked", None)]), Err(Stale::NotTheirs));
    assert_eq!(check(said(TakeBack, 30), &[]), Err(Stale::NotTheirs));
    assert_eq!(check(said(TakeBack, 30), &[given(40, theirs)]), Err(Stale::Undone));
    assert_eq!(check(said(Close, 30), &[given(40, theirs)]), Ok(()));
}
