//! Mail, to a server that was not written by us.

use jiff::SignedDuration;
use quorate::{
    domain::{
        channel::{ChannelKind, MailServer},
        notice::NoticeKind::{Opened, Resolved},
    },
    notify::{Fate, NotifySettings, unsubscribe},
    store::{self, seal::Sealer},
};
use serde_json::json;
use uuid::Uuid;

use crate::support::{
    delivery::{KEY, World, notifier, settings},
    mail_sink::MailSink,
};

async fn mail_channel(world: &World, to: &[&str]) -> Uuid {
    world.channel(ChannelKind::Email, json!({ "to": to })).await.0
}

#[tokio::test]
async fn an_alert_and_its_end_arrive_over_starttls_as_one_thread() {
    let mut sink = MailSink::start("thread", json!({})).await;
    let world = World::new(Some(sink.server(json!({})))).await;
    let channel = mail_channel(&world, &["ops@example.com"]).await;
    let ids = world.queue(7, channel, &[Opened]).await;
    assert_eq!(world.step().await.unwrap().fate, Fate::Delivered);
    let alert = sink.next().await;
    assert!(alert.tls);
    assert_eq!(alert.user.as_deref(), Some("svc"));
    assert_eq!(alert.to, ["ops@example.com"]);
    assert_eq!(alert.header("From"), "Quorate <quorate@example.com>");
    assert_eq!(alert.header("Message-ID"), format!("<{}@example.com>", ids[0]));
    assert_eq!(alert.header("Auto-Submitted"), "auto-generated");
    assert_eq!(alert.header("Subject"), "Down: checkout, 17 Nov 01:59 UTC");

    world.clock.advance(std::time::Duration::from_secs(120));
    world.queue(7, channel, &[Resolved]).await;
    assert_eq!(world.steps().await.len(), 1);
    let end = sink.next().await;
    let thread = "<incident-00000000-0000-0000-0000-000000000007@example.com>";
    for mail in [&alert, &end] {
        assert_eq!(mail.header("In-Reply-To"), thread);
        assert_eq!(mail.header("References"), thread);
    }
    assert_ne!(alert.header("Message-ID"), end.header("Message-ID"));
    assert_eq!(world.outcomes(7).await, ["delivered", "delivered"]);
    let said = world.notices(7).await[0].answer.clone().unwrap();
    assert!(said.contains("queued as 4711"), "{said}");
    let health = world.channel_row(channel).await.health;
    assert_eq!(health.last_success_at, Some(world.clock.now()));
    assert!(health.failing_since.is_none() && health.last_answer.unwrap().contains("4711"));
    assert_eq!(sink.rest().await.len(), 0);
}

#[tokio::test]
async fn tls_from_the_first_byte_and_no_tls_without_login_work_too() {
    for (security, login) in [("tls", true), ("none", false)] {
        let options = json!({ "security": security, "login": login });
        let mut sink = MailSink::start(security, options).await;
        let change = match login {
            true => json!({ "security": security }),
            false => json!({ "security": security, "username": null, "password": null }),
        };
        let world = World::new(Some(sink.server(change))).await;
        let channel = mail_channel(&world, &["ops@example.com"]).await;
        world.queue(7, channel, &[Opened]).await;
        let delivery = world.step().await.unwrap();
        assert_eq!(delivery.fate, Fate::Delivered, "{security}: {}", delivery.answer);
        assert_eq!(sink.next().await.tls, login);
    }
}

/// Every way in which the server cannot be used has a sentence, and is tried again.
#[tokio::test]
async fn troubles_are_told_in_sentences_and_tried_again() {
    let sink = MailSink::start("troubles", json!({})).await;
    let plain = MailSink::start("plain", json!({ "security": "none", "login": false })).await;
    let mute = MailSink::start("mute", json!({ "mute": true })).await;
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let no_login = json!({ "username": null, "password": null });
    let troubles = [
        (sink.server(json!({ "password": "wrong" })), "refuses the user (535)"),
        (
            sink.server(json!({ "ca_pem": null })),
            "a certificate that is not accepted (UnknownIssuer)",
        ),
        (sink.server(json!({ "host": "127.0.0.1" })), "a certificate that is not accepted"),
        (plain.server(no_login), "does not offer STARTTLS"),
        (sink.server(json!({ "port": closed })), "refuses the connection"),
        (sink.server(json!({ "host": "nowhere.invalid" })), "the name is not found"),
        (mute.server(json!({})), "did not finish within"),
    ];
    for (server, says) in troubles {
        let place = server.address();
        let world = World::with(|settings: &mut NotifySettings| {
            settings.mail = Some(server);
            settings.timeout = std::time::Duration::from_secs(2);
        })
        .await;
        let channel = mail_channel(&world, &["ops@example.com"]).await;
        world.queue(7, channel, &[Opened]).await;
        let delivery = world.step().await.unwrap();
        assert!(delivery.answer.starts_with(&place), "{}", delivery.answer);
        assert!(delivery.answer.contains(says), "{says}: {}", delivery.answer);
        let Fate::Again(next) = delivery.fate else { panic!("{:?}", delivery.fate) };
        let wait = next.duration_since(world.clock.now());
        assert!(wait >= SignedDuration::from_secs(4) && wait <= SignedDuration::from_secs(6));
        let health = world.channel_row(channel).await.health;
        assert_eq!(health.failing_since, Some(world.clock.now()));
        assert_eq!(health.last_answer, Some(delivery.answer));
    }
}

#[tokio::test]
async fn a_private_authority_from_the_start_up_settings_is_trusted() {
    let mut sink = MailSink::start("extra-ca", json!({})).await;
    let world = World::with(|settings| {
        settings.extra_ca = sink.server(json!({})).ca_pem;
        settings.mail = Some(sink.server(json!({ "ca_pem": null })));
    })
    .await;
    let channel = mail_channel(&world, &["ops@example.com"]).await;
    world.queue(7, channel, &[Opened]).await;
    assert_eq!(world.step().await.unwrap().fate, Fate::Delivered);
    assert!(sink.next().await.tls);
}

#[tokio::test]
async fn without_a_mail_server_it_says_where_to_enter_one() {
    let world = World::new(None).await;
    let channel = mail_channel(&world, &["ops@example.com"]).await;
    world.queue(7, channel, &[Opened]).await;
    let delivery = world.step().await.unwrap();
    assert!(delivery.answer.contains("Settings → Mail server"), "{}", delivery.answer);
    assert!(matches!(delivery.fate, Fate::Again(_)));
}

#[tokio::test]
async fn a_recipient_who_is_refused_or_put_off_holds_nobody_back() {
    let options = json!({ "refuse": ["gone@example.com"], "defer": ["slow@example.com"] });
    let mut sink = MailSink::start("refused", options).await;
    let world = World::new(Some(sink.server(json!({})))).await;
    let to = ["gone@example.com", "slow@example.com", "ops@example.com"];
    let channel = mail_channel(&world, &to).await;
    world.queue(7, channel, &[Opened]).await;
    let first = world.step().await.unwrap();
    assert!(matches!(first.fate, Fate::Again(_)), "{first:?}");
    assert!(first.answer.contains("slow@example.com (451)"), "{}", first.answer);
    assert_eq!(sink.next().await.to, ["ops@example.com"]);
    world.clock.advance(std::time::Duration::from_secs(10));
    let second = world.step().await.unwrap();
    assert_eq!(second.fate, Fate::Delivered);
    assert!(second.answer.contains("2 of 3"), "{}", second.answer);
    assert!(second.answer.contains("gone@example.com (550)"), "{}", second.answer);
    assert_eq!(sink.next().await.to, ["slow@example.com"]);
    assert_eq!(sink.rest().await.len(), 0, "nobody has it twice");
}

#[tokio::test]
async fn when_everyone_is_refused_it_is_given_up() {
    let sink = MailSink::start("all-refused", json!({ "refuse": ["gone@example.com"] })).await;
    let world = World::new(Some(sink.server(json!({})))).await;
    let channel = mail_channel(&world, &["gone@example.com"]).await;
    world.queue(7, channel, &[Opened]).await;
    assert_eq!(world.step().await.unwrap().fate, Fate::Failed);
    assert_eq!(world.outcomes(7).await, ["failed"]);
    assert!(world.notices(7).await[0].answer.as_ref().unwrap().contains("nobody of this name"));
}

/// The settings page's server: its password is sealed, and another key cannot open it.
#[tokio::test]
async fn the_stored_mail_server_is_used_with_its_sealed_password() {
    let mut sink = MailSink::start("stored", json!({})).await;
    let world = World::new(None).await;
    let server = sink.server(json!({}));
    let sealed = Sealer::from_text(KEY).unwrap().seal(store::settings::place("mail"), b"secret");
    let now = world.clock.now();
    let value = server.to_json();
    store::settings::put(&mut *world.conn().await, "mail", &value, Some(&sealed), now)
        .await
        .unwrap();
    let channel = mail_channel(&world, &["ops@example.com"]).await;
    world.queue(7, channel, &[Opened]).await;

    let other = "ff".repeat(32);
    let locked = notifier(world.pool().clone(), &world.clock, &other, settings());
    let delivery = locked.deliver_next(now).await.unwrap().unwrap();
    assert!(delivery.answer.contains("QUORATE_SECRET_KEY"), "{}", delivery.answer);

    world.clock.advance(std::time::Duration::from_secs(10));
    assert_eq!(world.step().await.unwrap().fate, Fate::Delivered);
    assert_eq!(sink.next().await.user.as_deref(), Some("svc"));
}

#[tokio::test]
async fn a_test_mail_says_what_the_server_said() {
    let mut sink = MailSink::start("test", json!({})).await;
    let world = World::new(None).await;
    let good = sink.server(json!({}));
    let sent = world.notifier.test_mail(Some(&good), "me@example.com").await.unwrap();
    assert!(sent.delivered && sent.answer.contains("4711"), "{}", sent.answer);
    let mail = sink.next().await;
    assert_eq!(mail.header("Subject"), "Test of the mail server");
    assert!(mail.raw.contains("Nothing is down."));
    let bad = sink.server(json!({ "password": "wrong" }));
    let sent = world.notifier.test_mail(Some(&bad), "me@example.com").await.unwrap();
    assert!(!sent.delivered && sent.answer.contains("(535)"), "{}", sent.answer);
    let sent = world.notifier.test_mail(None, "me@example.com").await.unwrap();
    assert!(!sent.delivered && sent.answer.contains("No mail server"), "{}", sent.answer);
    let sent = world.notifier.test_mail(Some(&good), "nobody").await.unwrap();
    assert!(!sent.delivered && sent.answer.contains("not a mail address"), "{}", sent.answer);
}

#[tokio::test]
async fn the_link_in_the_header_takes_out_one_address_and_no_other() {
    let mut sink = MailSink::start("leave", json!({})).await;
    let world = World::new(Some(sink.server(json!({})))).await;
    let channel = mail_channel(&world, &["a@example.com", "b@example.com"]).await;
    let other = mail_channel(&world, &["a@example.com"]).await;
    world.queue(7, channel, &[Opened]).await;
    assert_eq!(world.step().await.unwrap().fate, Fate::Delivered);
    let mail = sink.next().await;
    assert_eq!(mail.to, ["a@example.com"]);
    assert_eq!(mail.header("List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
    let link = mail.header("List-Unsubscribe");
    let prefix = format!("<https://quorate.example/unsubscribe/{channel}/");
    let token = link.strip_prefix(&prefix).unwrap().trim_end_matches('>');

    let sealer = Sealer::from_text(KEY).unwrap();
    let now = world.clock.now();
    let mut conn = world.conn().await;
    for (channel, token) in
        [(other, token), (channel, "nonsense"), (channel, &token[..token.len() - 4])]
    {
        assert_eq!(unsubscribe(&mut conn, &sealer, channel, token, now).await.unwrap(), None);
    }
    for _ in 0..2 {
        let left = unsubscribe(&mut conn, &sealer, channel, token, now).await.unwrap();
        assert_eq!(left.as_deref(), Some("a@example.com"));
    }
    assert_eq!(world.channel_row(channel).await.config, json!({ "to": ["b@example.com"] }));
    assert_eq!(world.channel_row(other).await.config, json!({ "to": ["a@example.com"] }));

    let token = sink.next().await.header("List-Unsubscribe");
    let token = token.strip_prefix(&prefix).unwrap().trim_end_matches('>');
    unsubscribe(&mut conn, &sealer, channel, token, now).await.unwrap();
    let row = world.channel_row(channel).await;
    assert!(!row.enabled && row.disabled_reason.unwrap().contains("b@example.com"));
}

#[test]
fn a_mail_server_never_prints_its_password() {
    let server = MailServer::from_url("smtp://u:hunter2@a.example?from=q@example.com").unwrap();
    assert!(!format!("{server:?}").contains("hunter2"));
}
