//! Kind `tls`: the handshake alone, for whatever is spoken afterwards. What certificates can be wrong in is
//! tested with HTTP.

use quorate::domain::observation::{Class, Observation, Outcome};
use quorate::probe::Context;
use serde_json::{Value, json};

use crate::support::scripted::{Act, scripted};
use crate::support::targets::{Authority, Chain, DAY, Surroundings, Target, probe_in};

async fn within(ctx: &Context, target: &Target, extra: Value, timeout_ms: u64) -> Observation {
    let mut value = json!({"kind": "tls", "url": format!("tls://{}", target.addr)});
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    probe_in(ctx, value, timeout_ms).await
}

async fn serving(chain: Chain) -> Target {
    scripted(vec![Act::Secure(chain.acceptor(&[])), Act::Hold]).await
}

#[tokio::test]
async fn two_weeks_are_asked_for_unless_the_monitor_says_otherwise() {
    let root = Authority::root("Root");
    let ctx = Surroundings::with_roots(root.roots()).context();
    let target = serving(root.leaf(&["127.0.0.1"], -DAY, 14 * DAY)).await;
    let seen = within(&ctx, &target, json!({}), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert_eq!(seen.certificate.unwrap().days_left, 14);
    assert!(seen.phases_us.tls.is_some() && seen.status.is_none());
    let target = serving(root.leaf(&["127.0.0.1"], -DAY, 14 * DAY - 1)).await;
    let seen = within(&ctx, &target, json!({}), 5_000).await;
    assert_eq!(seen.class, Some(Class::Assertion), "{}", seen.message);
    assert!(seen.message.contains("cert_days_left should be ge 14"), "{}", seen.message);
    let seen = within(&ctx, &target, json!({"tls": {"min_days_left": 13}}), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}

#[tokio::test]
async fn a_bad_certificate_is_told_and_can_be_looked_at_without_judgement() {
    let root = Authority::root("Root");
    let ctx = Surroundings::with_roots(root.roots()).context();
    let target = serving(root.leaf(&["b.test"], -DAY, 30 * DAY)).await;
    let seen = within(&ctx, &target, json!({}), 5_000).await;
    assert_eq!(seen.class, Some(Class::TlsNameMismatch), "{}", seen.message);
    let seen = within(&ctx, &target, json!({"tls": {"server_name": "b.test"}}), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    let seen = within(&ctx, &target, json!({"tls": {"verify": false}}), 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
    assert!(!seen.certificate.unwrap().valid);
    // Not verified is not exempt from the days that are asked for.
    let target = serving(root.leaf(&["b.test"], -9 * DAY, -DAY)).await;
    let seen = within(&ctx, &target, json!({"tls": {"verify": false}}), 5_000).await;
    assert_eq!(seen.class, Some(Class::Assertion), "{}", seen.message);
    let seen = within(&ctx, &target, json!({}), 5_000).await;
    assert_eq!(seen.class, Some(Class::TlsExpired), "{}", seen.message);
}

#[tokio::test]
async fn what_does_not_speak_tls_has_its_class() {
    let ctx = Surroundings::default().context();
    for (script, class) in [
        (vec![Act::Hold], Class::TlsTimeout),
        (vec![Act::Drip(b"\x16")], Class::TlsHandshake),
        (vec![Act::Flood(b"\xff")], Class::TlsHandshake),
        (vec![Act::Say(b"HTTP/1.1 400 Bad Request\r\n\r\n")], Class::TlsHandshake),
        (vec![Act::Say(b"\x16\x03\x03\x00\x10half"), Act::Hold], Class::TlsTimeout),
        (vec![], Class::TlsHandshake),
        (vec![Act::Reset], Class::ConnectReset),
    ] {
        let target = scripted(script).await;
        let seen = within(&ctx, &target, json!({}), 300).await;
        assert_eq!(seen.class, Some(class), "{}", seen.message);
    }
}

#[tokio::test]
async fn starttls_leads_to_the_certificate() {
    let root = Authority::root("Root");
    let ctx = Surroundings::with_roots(root.roots()).context();
    let acceptor = root.leaf(&["127.0.0.1"], -DAY, 30 * DAY).acceptor(&[]);
    let target = scripted(vec![
        Act::Say(b"+OK\r\n"),
        Act::Hear(b"STLS\r\n"),
        Act::Say(b"+OK\r\n"),
        Act::Secure(acceptor),
        Act::Hold,
    ])
    .await;
    let extra = json!({"starttls": "pop3", "assertions": [{"on": "cert_days_left", "op": "eq", "value": 30}]});
    let seen = within(&ctx, &target, extra, 5_000).await;
    assert_eq!(seen.outcome, Outcome::Pass, "{}", seen.message);
}
