//! Webhooks, to a receiver that checks and misbehaves.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::SignedDuration;
use quorate::{
    domain::{
        channel::{ChannelConfig, ChannelKind, ChannelSecrets},
        notice::NoticeKind::{Moved, Opened},
    },
    net::Guard,
    notify::Fate,
};
use serde_json::json;

use crate::support::{
    delivery::World,
    hook_sink::{HookSink, Order},
    targets::{self, Authority},
};

#[tokio::test]
async fn it_is_signed_and_carries_the_facts() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let config = json!({ "url": sink.url, "headers": { "X-Team": "blue" } });
    let (channel, key) = world.channel(ChannelKind::Webhook, config).await;
    let ids = world.queue(7, channel, &[Opened]).await;
    let delivery = world.step().await.unwrap();
    assert_eq!((delivery.fate, delivery.answer.as_str()), (Fate::Delivered, "200 OK: thanks"));
    let received = sink.next().await;
    assert_eq!(received.id(), ids[0].to_string());
    assert_eq!(received.headers["webhook-timestamp"], world.clock.now().as_second().to_string());
    assert!(received.is_signed_by(&key.unwrap()));
    assert!(!received.is_signed_by("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
    assert_eq!(received.headers["content-type"], "application/json");
    assert_eq!(received.headers["x-team"], "blue");
    assert_eq!(received.path, "/hook?token=t0ken");
    let json = received.json();
    assert_eq!(json["type"], "incident.opened");
    assert_eq!(json["data"]["monitor"]["name"], "checkout");
    assert_eq!(json["data"]["votes"], json!({ "eligible": 3, "needed": 2, "down": 2 }));
    let url = "https://quorate.example/incidents/00000000-0000-0000-0000-000000000007";
    assert_eq!(json["data"]["incident"]["url"], url);
    assert_eq!(world.notices(7).await[0].answer.as_deref(), Some("200 OK: thanks"));
}

/// What a receiver may do wrong, what becomes of the notice, and when it is tried again (seconds,
/// a fifth either way).
#[tokio::test]
async fn a_receiver_that_misbehaves_is_answered_by_the_rules() {
    const SOON: Option<(i64, i64)> = Some((4, 6));
    let cases = [
        // First, while the clock stands at the time that the date is reckoned from.
        (
            Order::Answer(503, "retry-after: Tue, 17 Nov 2026 02:01:30 GMT\r\n", ""),
            Some((90, 90)),
            "503",
        ),
        (Order::Answer(500, "", "oops"), SOON, "answers 500 Internal Server Error: oops"),
        (Order::Answer(429, "retry-after: 120\r\n", ""), Some((120, 120)), "429 Too Many Requests"),
        (
            Order::Answer(302, "location: http://10.0.0.1/\r\n", ""),
            SOON,
            "redirects are not followed",
        ),
        (Order::Reset, SOON, "closed the connection before it answered"),
        (Order::Silence, SOON, "did not answer in time"),
        (Order::Answer(400, "", "bad shape"), None, "refuses it with 400 Bad Request: bad shape"),
        (Order::Answer(401, "", ""), None, "401"),
        (Order::Answer(403, "", ""), None, "403"),
        (Order::Answer(404, "", ""), None, "404"),
    ];
    let mut sink = HookSink::start().await;
    let world = World::with(|settings| settings.timeout = Duration::from_secs(1)).await;
    for (at, (order, wait, says)) in cases.into_iter().enumerate() {
        let channel = world.webhook(&sink.url).await;
        sink.order([order]);
        let incident = at as u128 + 1;
        let ids = world.queue(incident, channel, &[Opened]).await;
        let delivery = world.step().await.unwrap();
        assert!(delivery.answer.contains(says), "{says}: {}", delivery.answer);
        assert!(!delivery.answer.contains("t0ken"), "the URL's query is a secret");
        assert_eq!(sink.next().await.id(), ids[0].to_string());
        match (delivery.fate, wait) {
            (Fate::Again(next), Some((least, most))) => {
                let wait = next.duration_since(world.clock.now());
                assert!(wait >= SignedDuration::from_secs(least), "{says}: {wait:?}");
                assert!(wait <= SignedDuration::from_secs(most), "{says}: {wait:?}");
                assert!(world.step().await.is_none(), "not due before its time");
                world.clock.advance(wait.unsigned_abs());
                assert_eq!(world.step().await.unwrap().fate, Fate::Delivered);
                assert_eq!(sink.next().await.id(), ids[0].to_string(), "the same id again");
            }
            (Fate::Failed, None) => {
                assert_eq!(world.outcomes(incident).await, ["failed"]);
                assert!(world.channel_row(channel).await.enabled);
            }
            (fate, _) => panic!("{says}: {fate:?}"),
        }
    }
}

#[tokio::test]
async fn gone_switches_the_channel_off_and_drops_what_waits() {
    let sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    sink.order([Order::Answer(410, "", "moved out")]);
    world.queue(7, channel, &[Opened, Moved]).await;
    world.queue(8, channel, &[Opened]).await;
    assert_eq!(world.step().await.unwrap().fate, Fate::Failed);
    assert_eq!(world.outcomes(7).await, ["failed", "dropped"]);
    assert_eq!(world.outcomes(8).await, ["dropped"]);
    let row = world.channel_row(channel).await;
    assert!(!row.enabled);
    assert!(row.disabled_reason.unwrap().contains("410 Gone: moved out"));
    world.queue(9, channel, &[Opened]).await;
    assert!(world.step().await.is_none());
    assert_eq!(world.outcomes(9).await, ["dropped"]);
}

/// The schedule to its end: ten attempts over three days, all with one id, then it is given up.
#[tokio::test]
async fn after_ten_attempts_it_is_given_up() {
    let mut sink = HookSink::start().await;
    sink.always(Order::Answer(500, "", ""));
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    let began = world.clock.now();
    let ids = world.queue(7, channel, &[Opened]).await;
    let last = loop {
        let delivery = world.step().await.unwrap();
        match delivery.fate {
            Fate::Again(next) => world.clock.set(next),
            fate => break fate,
        }
    };
    assert_eq!(last, Fate::Failed);
    let received = sink.drain();
    assert_eq!(received.len(), 10);
    assert!(received.iter().all(|one| one.id() == ids[0].to_string()));
    let hours = world.clock.now().duration_since(began).as_hours();
    assert!((60..=91).contains(&hours), "{hours}");
}

#[tokio::test]
async fn a_forbidden_address_is_not_called_and_the_flag_is_named() {
    let mut sink = HookSink::start().await;
    let world = World::with(|settings| settings.guard = Guard::default()).await;
    for url in [sink.url.clone(), sink.url.replace("127.0.0.1", "localhost")] {
        let channel = world.webhook(&url).await;
        world.queue(7, channel, &[Opened]).await;
        let delivery = world.step().await.unwrap();
        assert!(matches!(delivery.fate, Fate::Again(_)), "{delivery:?}");
        assert!(delivery.answer.contains("--allow-net"), "{}", delivery.answer);
        assert!(
            delivery.answer.contains("127.0.0.1") || delivery.answer.contains("::1"),
            "{}",
            delivery.answer
        );
    }
    assert!(sink.drain().is_empty());
}

#[tokio::test]
async fn secrets_that_the_other_side_echoes_are_not_kept() {
    let sink = HookSink::start().await;
    let world = World::new(None).await;
    let config = json!({ "url": sink.url, "headers": { "authorization": "Bearer s3cret-value" } });
    let (channel, _) = world.channel(ChannelKind::Webhook, config).await;
    sink.order([Order::Answer(200, "", "you sent authorization: Bearer s3cret-value")]);
    world.queue(7, channel, &[Opened]).await;
    let delivery = world.step().await.unwrap();
    assert!(delivery.answer.starts_with("200 OK: you sent"), "{}", delivery.answer);
    let row = world.channel_row(channel).await;
    for kept in
        [&delivery.answer, row.health.last_answer.as_ref().unwrap(), &row.config.to_string()]
    {
        assert!(!kept.contains("s3cret-value"), "{kept}");
    }
    assert!(!row.sealed.unwrap().windows(6).any(|bytes| bytes == b"s3cret"));
}

#[tokio::test]
async fn a_long_answer_is_cut() {
    const LONG: &str = include_str!("notify_webhook.rs");
    let sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    sink.order([Order::Answer(200, "", LONG)]);
    world.queue(7, channel, &[Opened]).await;
    let delivery = world.step().await.unwrap();
    assert_eq!(delivery.fate, Fate::Delivered);
    assert!((1_000..1_100).contains(&delivery.answer.len()), "{}", delivery.answer.len());
}

#[tokio::test]
async fn a_test_goes_through_saved_and_unsaved_channels() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let mut unsaved =
        ChannelConfig::parse(ChannelKind::Webhook, &json!({ "url": sink.url }), None).unwrap();
    let key = unsaved.ensure_key([9; 32]).unwrap();
    let sent = world.notifier.test_send(&unsaved, "ops hook").await.unwrap();
    assert_eq!((sent.delivered, sent.answer.as_str()), (true, "200 OK: thanks"));
    let received = sink.next().await;
    assert!(received.is_signed_by(key.expose()));
    assert_eq!(received.json()["type"], "test");

    let channel = world.save(&unsaved).await;
    sink.order([Order::Answer(500, "", "no")]);
    let sent = world.notifier.test_channel(channel).await.unwrap();
    assert!(!sent.delivered && sent.answer.contains("500"), "{}", sent.answer);
    let health = world.channel_row(channel).await.health;
    assert_eq!(health.failing_since, Some(world.clock.now()));
    assert!(world.notifier.test_channel(uuid::Uuid::from_u128(5)).await.is_err());
    assert_eq!(world.notifier.counts().attempts, 0, "tests are no deliveries");

    // Without a key nothing is signed, but it is sent.
    let bare = ChannelConfig::stored(
        ChannelKind::Webhook,
        &json!({ "url": sink.url }),
        &ChannelSecrets::default(),
    );
    assert!(world.notifier.test_send(&bare.unwrap(), "bare").await.unwrap().delivered);
    sink.next().await;
    assert!(!sink.next().await.headers.contains_key("webhook-signature"));
}

#[tokio::test]
async fn a_private_authority_is_trusted_only_when_it_was_given() {
    let authority = Authority::root("Company CA");
    let chain = authority.leaf(&["localhost"], -3_600, 50 * 31_536_000);
    let target = targets::tls(chain, targets::ok("", "thanks")).await;
    let url = target.url("/hook").replace("http://127.0.0.1", "https://localhost");
    let base64 = STANDARD.encode(authority.der());
    let pem = format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n");
    for (extra_ca, delivered) in [(None, false), (Some(pem), true)] {
        let world = World::with(|settings| settings.extra_ca = extra_ca).await;
        let channel = world.webhook(&url).await;
        world.queue(7, channel, &[Opened]).await;
        let delivery = world.step().await.unwrap();
        assert_eq!(delivery.fate == Fate::Delivered, delivered, "{}", delivery.answer);
        assert!(delivered || delivery.answer.contains("UnknownIssuer"), "{}", delivery.answer);
    }
}
