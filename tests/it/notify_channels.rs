//! Chat, paging and alert services, each as its own server would take it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use quorate::{
    domain::{
        channel::{ChannelConfig, ChannelKind},
        notice::NoticeKind::{self, Moved, Opened, Resolved},
    },
    notify::Fate,
};
use serde_json::{Value, json};

use crate::support::{
    delivery::World,
    hook_sink::{HookSink, Order, Received},
};

const INCIDENT: &str = "https://quorate.example/incidents/00000000-0000-0000-0000-000000000007";

/// Every kind that posts, with what it needs to reach `sink`.
fn every(sink: &HookSink) -> Vec<(ChannelKind, Value)> {
    let server = sink.url.split("hook").next().unwrap().to_owned();
    vec![
        (ChannelKind::Slack, json!({ "url": format!("{server}services/T0/B0/s3cretpart") })),
        (ChannelKind::Teams, json!({ "url": format!("{server}workflows/1?sig=s3cretpart") })),
        (ChannelKind::Discord, json!({ "url": format!("{server}api/webhooks/1/s3cretpart") })),
        (
            ChannelKind::Telegram,
            json!({ "token": "12:s3cretpart", "chat": -100_777, "thread": 5, "server": server }),
        ),
        (ChannelKind::Ntfy, json!({ "topic": "ops", "token": "s3cretpart", "server": server })),
        (
            ChannelKind::PagerDuty,
            json!({ "routing_key": "0123456789abcdef0123456789abcdef", "server": server }),
        ),
        (
            ChannelKind::Alertmanager,
            json!({ "url": format!("{server}am"), "headers": { "authorization": "Bearer s3cretpart" } }),
        ),
    ]
}

/// What arrived when these were sent through a channel of this kind.
async fn told(kind: ChannelKind, notices: &[NoticeKind]) -> Vec<Received> {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let (_, config) = every(&sink).into_iter().find(|(other, _)| *other == kind).unwrap();
    let (channel, _) = world.channel(kind, config).await;
    let mut received = Vec::new();
    for notice in notices {
        world.queue(7, channel, &[*notice]).await;
        let delivery = world.step().await.unwrap();
        assert_eq!(delivery.fate, Fate::Delivered, "{}", delivery.answer);
        received.push(sink.next().await);
        world.clock.advance(Duration::from_secs(60));
    }
    received
}

#[tokio::test]
async fn slack_gets_blocks_and_a_text_for_notifications() {
    let received = told(ChannelKind::Slack, &[Opened, Resolved]).await;
    assert_eq!(received[0].path, "/services/T0/B0/s3cretpart");
    let body = received[0].json();
    assert!(body["text"].as_str().unwrap().starts_with("Down: checkout"), "{body}");
    let blocks = body["attachments"][0]["blocks"].as_array().unwrap();
    assert_eq!(blocks[0]["text"]["text"], "*checkout is down.*");
    let buttons = blocks.iter().find(|block| block["type"] == "actions").unwrap();
    assert_eq!(buttons["elements"][0]["url"], INCIDENT);
    let colours = |at: usize| received[at].json()["attachments"][0]["color"].clone();
    assert_ne!(colours(0), colours(1));
    assert!(received[1].json()["text"].as_str().unwrap().starts_with("Up again"));
}

#[tokio::test]
async fn teams_gets_an_adaptive_card() {
    let received = told(ChannelKind::Teams, &[Opened]).await;
    assert_eq!(received[0].path, "/workflows/1?sig=s3cretpart");
    let body = received[0].json();
    assert_eq!(body["type"], "message");
    let attachment = &body["attachments"][0];
    assert_eq!(attachment["contentType"], "application/vnd.microsoft.card.adaptive");
    let card = &attachment["content"];
    assert_eq!((&card["type"], &card["version"]), (&json!("AdaptiveCard"), &json!("1.4")));
    assert_eq!(card["body"][0]["text"], "checkout is down.");
    assert_eq!(card["actions"][0]["url"], INCIDENT);
    assert!(received[0].body.len() < 28_000);
}

#[tokio::test]
async fn discord_gets_an_embed_that_mentions_nobody() {
    let received = told(ChannelKind::Discord, &[Opened]).await;
    assert_eq!(received[0].path, "/api/webhooks/1/s3cretpart?wait=true");
    let body = received[0].json();
    assert_eq!(body["allowed_mentions"], json!({ "parse": [] }));
    assert_eq!(body["embeds"][0]["title"], "checkout is down.");
    assert!(body["embeds"][0]["description"].as_str().unwrap().contains(INCIDENT));
    assert!(body["embeds"][0]["color"].is_u64());
}

#[tokio::test]
async fn telegram_gets_html_in_the_chat_and_topic() {
    let received = told(ChannelKind::Telegram, &[Opened]).await;
    assert_eq!(received[0].path, "/bot12:s3cretpart/sendMessage");
    let body = received[0].json();
    assert_eq!((&body["chat_id"], &body["message_thread_id"]), (&json!("-100777"), &json!(5)));
    assert_eq!(body["parse_mode"], "HTML");
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("<b>checkout is down.</b>\n"), "{text}");
    assert!(text.contains(&format!("<a href=\"{INCIDENT}\">Incident</a>")), "{text}");
}

#[tokio::test]
async fn ntfy_gets_a_priority_and_a_page_to_open() {
    let received = told(ChannelKind::Ntfy, &[Opened, Resolved]).await;
    assert_eq!(received[0].path, "/");
    assert_eq!(received[0].headers["authorization"], "Bearer s3cretpart");
    let body = received[0].json();
    assert_eq!((&body["topic"], &body["priority"]), (&json!("ops"), &json!(5)));
    assert_eq!(body["click"], INCIDENT);
    assert_eq!(received[1].json()["priority"], 3);
}

#[tokio::test]
async fn pagerduty_gets_one_alert_by_its_key_from_the_first_word_to_the_last() {
    let received = told(ChannelKind::PagerDuty, &[Opened, Moved, Resolved]).await;
    let bodies: Vec<Value> = received.iter().map(Received::json).collect();
    assert!(received.iter().all(|one| one.path == "/v2/enqueue"));
    let actions: Vec<&Value> = bodies.iter().map(|body| &body["event_action"]).collect();
    assert_eq!(actions, ["trigger", "trigger", "resolve"]);
    assert!(bodies.iter().all(|body| body["dedup_key"] == bodies[0]["dedup_key"]));
    assert!(bodies[0]["dedup_key"].as_str().unwrap().len() <= 255);
    assert_eq!(bodies[0]["routing_key"], "0123456789abcdef0123456789abcdef");
    let payload = &bodies[0]["payload"];
    assert_eq!(
        (&payload["severity"], &payload["summary"]),
        (&json!("critical"), &json!("checkout is down."))
    );
    assert_eq!(bodies[0]["links"][0]["href"], INCIDENT);
}

#[tokio::test]
async fn alertmanager_gets_an_alert_that_holds_until_its_end() {
    let received = told(ChannelKind::Alertmanager, &[Opened, Resolved]).await;
    assert!(received.iter().all(|one| one.path == "/am/api/v2/alerts"));
    assert_eq!(received[0].headers["authorization"], "Bearer s3cretpart");
    let (first, last) = (received[0].json(), received[1].json());
    assert_eq!(first.as_array().unwrap().len(), 1);
    let labels = &first[0]["labels"];
    assert_eq!(
        (&labels["alertname"], &labels["severity"]),
        (&json!("QuorateIncident"), &json!("critical"))
    );
    let at = |value: &Value| value.as_str().unwrap().parse::<Timestamp>().unwrap();
    let began = at(&first[0]["startsAt"]);
    assert!(at(&first[0]["endsAt"]).duration_since(began) > SignedDuration::from_hours(24));
    let ended = last.as_array().unwrap().iter().find(|alert| alert["labels"] == *labels).unwrap();
    assert!(at(&ended["endsAt"]).duration_since(began) < SignedDuration::from_hours(1));
}

/// What every one of them may do wrong, and what becomes of the notice.
#[tokio::test]
async fn servers_that_misbehave_are_answered_by_the_rules() {
    let wait = |seconds: i64| Some((seconds, seconds + 2));
    let cases = [
        (Order::Answer(429, "retry-after: 30\r\n", ""), wait(30)),
        (Order::Answer(429, "", r#"{"ok":false,"parameters":{"retry_after":40}}"#), wait(40)),
        (Order::Answer(429, "", r#"{"message":"rate limited","retry_after":50.5}"#), wait(50)),
        (Order::Answer(500, "", "oops"), Some((4, 6))),
        (Order::Reset, Some((4, 6))),
        (Order::Silence, Some((4, 6))),
        (Order::Answer(400, "", "invalid_payload"), None),
        (Order::Answer(403, "", "no s3cretpart here"), None),
        (Order::Answer(404, "", "/services/T0/B0/s3cretpart"), None),
    ];
    let mut sink = HookSink::start().await;
    let world = World::with(|settings| settings.timeout = Duration::from_secs(1)).await;
    let mut incident = 100;
    for (kind, config) in every(&sink) {
        for (order, wait) in &cases {
            let (channel, _) = world.channel(kind, config.clone()).await;
            sink.order([order.clone()]);
            incident += 1;
            world.queue(incident, channel, &[Opened]).await;
            let delivery = world.step().await.unwrap();
            sink.next().await;
            // Its own key is another one, which these answers do not repeat.
            let told = delivery.answer.contains("s3cretpart");
            assert!(!told || kind == ChannelKind::PagerDuty, "{kind:?}: {}", delivery.answer);
            match (delivery.fate, wait) {
                (Fate::Again(next), Some((least, most))) => {
                    let wait = next.duration_since(world.clock.now());
                    assert!(
                        wait >= SignedDuration::from_secs(*least),
                        "{kind:?} {order:?} {wait:?}"
                    );
                    assert!(
                        wait <= SignedDuration::from_secs(*most),
                        "{kind:?} {order:?} {wait:?}"
                    );
                    world.clock.advance(wait.unsigned_abs());
                    assert_eq!(world.step().await.unwrap().fate, Fate::Delivered);
                    sink.next().await;
                }
                (Fate::Failed, None) => assert!(world.channel_row(channel).await.enabled),
                (fate, _) => panic!("{kind:?} {order:?}: {fate:?}"),
            }
        }
        let (channel, _) = world.channel(kind, config).await;
        sink.order([Order::Answer(410, "", "channel_is_archived")]);
        incident += 1;
        world.queue(incident, channel, &[Opened]).await;
        assert_eq!(world.step().await.unwrap().fate, Fate::Failed);
        sink.next().await;
        assert!(!world.channel_row(channel).await.enabled, "{kind:?} is gone for good");
    }
}

#[tokio::test]
async fn a_test_says_what_the_other_side_said() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    for (kind, config) in every(&sink) {
        let parsed = ChannelConfig::parse(kind, &config, None).unwrap();
        sink.order([Order::Answer(202, "", "accepted")]);
        let sent = world.notifier.test_send(&parsed, "night shift").await.unwrap();
        assert!(sent.delivered && sent.answer.contains("accepted"), "{kind:?}: {}", sent.answer);
        let body = sink.next().await.body;
        assert!(body.to_lowercase().contains("test"), "{kind:?}: {body}");
        if kind == ChannelKind::PagerDuty {
            assert!(body.contains("\"resolve\""), "a test calls nobody: {body}");
        }
        sink.order([Order::Answer(403, "", "wrong s3cretpart")]);
        let sent = world.notifier.test_send(&parsed, "night shift").await.unwrap();
        assert!(!sent.delivered && sent.answer.contains("403"), "{kind:?}: {}", sent.answer);
        sink.next().await;
    }
}
