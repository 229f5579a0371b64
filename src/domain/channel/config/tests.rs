use super::*;

fn parse(kind: ChannelKind, config: Value) -> Result<ParsedChannel, Invalid> {
    ChannelConfig::parse(kind, &config, None)
}

#[track_caller]
fn refused(kind: ChannelKind, config: Value, field: &str, says: &str) {
    let invalid = parse(kind, config).expect_err("must be refused");
    assert_eq!(invalid.field, field);
    assert!(invalid.message.contains(says), "{invalid}");
}

#[test]
fn email_takes_addresses_once_each() {
    let parsed = parse(
        ChannelKind::Email,
        json!({"to": [" ops@example.com", "OPS@example.com", "b+c@d.example"]}),
    )
    .unwrap();
    assert_eq!(parsed.config.to_json(), json!({"to": ["ops@example.com", "b+c@d.example"]}));
    assert!(parsed.secrets.is_empty());
    assert_eq!(parsed.config.destination(), "ops@example.com, b+c@d.example");
}

#[test]
fn email_refusals_name_the_field() {
    use ChannelKind::Email;
    refused(Email, json!([]), "config", "object");
    refused(Email, json!({}), "config.to", "is needed");
    refused(Email, json!({"to": []}), "config.to", "1 to 50");
    refused(Email, json!({"to": vec!["a@b.example"; 51]}), "config.to", "51");
    refused(Email, json!({"to": ["a@b.example", "nobody"]}), "config.to[1]", "not a mail address");
    refused(
        Email,
        json!({"to": ["a@b.example\r\nBcc: x@y.example"]}),
        "config.to[0]",
        "not a mail address",
    );
    refused(Email, json!({"to": [5]}), "config.to[0]", "text");
    refused(Email, json!({"to": ["a@b.example"], "cc": []}), "config.cc", "known are to");
}

#[test]
fn a_webhook_hides_its_header_values_and_its_key() {
    let mut parsed = parse(
        ChannelKind::Webhook,
        json!({"url": "https://hooks.example/in?token=t", "headers": {"X-Team": "s3cret"}}),
    )
    .unwrap();
    let key = parsed.ensure_key([7; 32]).unwrap();
    assert_eq!(key_bytes(&key).unwrap(), [7; 32]);
    assert_eq!(parsed.ensure_key([8; 32]), None, "a key that is there stays");
    let shown = parsed.config.to_json();
    assert_eq!(
        shown,
        json!({"url": "https://hooks.example/in?token=t", "headers": {"x-team": null}})
    );
    assert_eq!(parsed.config.destination(), "https://hooks.example/in");

    let kept = ChannelSecrets::from_text(&parsed.secrets.to_text()).unwrap();
    assert_eq!(kept, parsed.secrets);
    let again = ChannelConfig::stored(ChannelKind::Webhook, &shown, &kept).unwrap();
    assert_eq!(again, parsed);
    assert_eq!(ChannelConfig::parse(ChannelKind::Webhook, &shown, Some(&parsed)).unwrap(), parsed);
    assert!(!format!("{again:?}").contains("s3cret"));
}

#[test]
fn a_stored_header_value_does_not_follow_the_url_to_another_host() {
    let with = |url: &str, value: Value| json!({"url": url, "headers": {"x": value}});
    let mut before =
        parse(ChannelKind::Webhook, with("https://a.example/1", json!("s3cret"))).unwrap();
    before.ensure_key([7; 32]);
    let edit = |config| ChannelConfig::parse(ChannelKind::Webhook, &config, Some(&before));
    assert_eq!(edit(with("https://a.example/2", Value::Null)).unwrap().secrets, before.secrets);
    for elsewhere in ["https://b.example/1", "http://a.example/1", "https://a.example:444/1"] {
        let invalid = edit(with(elsewhere, Value::Null)).unwrap_err();
        assert_eq!(invalid.field, "config.headers.x");
        assert_eq!(edit(with(elsewhere, json!("new"))).unwrap().secrets.key, before.secrets.key);
    }
}

#[test]
fn webhook_refusals_name_the_field() {
    use ChannelKind::Webhook;
    let with = |name: &str, value: Value| json!({"url": "https://a.example/", name: value});
    refused(Webhook, json!({}), "config.url", "is needed");
    refused(Webhook, json!({"url": "nonsense"}), "config.url", "not a URL");
    refused(Webhook, json!({"url": "ftp://a.example/"}), "config.url", "https://");
    refused(Webhook, json!({"url": "https://u:p@a.example/"}), "config.url", "header");
    refused(Webhook, json!({"url": "https://a.example/#x"}), "config.url", "#fragment");
    refused(
        Webhook,
        json!({"url": format!("https://a.example/{}", "x".repeat(2_000))}),
        "config.url",
        "2000",
    );
    refused(Webhook, with("method", json!("PUT")), "config.method", "known are url");
    refused(Webhook, with("headers", json!([])), "config.headers", "object");
    refused(Webhook, with("headers", json!({"a b": "x"})), "config.headers.a b", "name");
    refused(
        Webhook,
        with("headers", json!({"Webhook-Id": "x"})),
        "config.headers.Webhook-Id",
        "itself",
    );
    refused(Webhook, with("headers", json!({"x": "a\nb"})), "config.headers.x", "character");
    refused(Webhook, with("headers", json!({"x": 5})), "config.headers.x", "text");
    refused(Webhook, with("headers", json!({"x": null})), "config.headers.x", "has no value");
    refused(Webhook, with("headers", json!({"X": "1", "x": "2"})), "config.headers.x", "twice");
    refused(Webhook, with("secret", json!("whsec_!")), "config.secret", "base64");
    refused(Webhook, with("secret", json!("whsec_c2hvcnQ=")), "config.secret", "24 to 64");
}

#[test]
fn what_lets_us_in_is_never_shown_and_stays_when_it_is_not_given_again() {
    let key = "0123456789abcdef0123456789abcdef";
    let cases = [
        (ChannelKind::Slack, json!({"url": "https://hooks.slack.com/services/T/B/s3cret"})),
        (ChannelKind::Teams, json!({"url": "https://x.logic.azure.com/w/1?sig=s3cret"})),
        (ChannelKind::Discord, json!({"url": "https://discord.com/api/webhooks/1/s3cret"})),
        (ChannelKind::Telegram, json!({"token": "1:s3cret", "chat": "@ops_news"})),
        (ChannelKind::Ntfy, json!({"topic": "ops", "token": "tk_s3cret"})),
        (ChannelKind::PagerDuty, json!({"routing_key": key})),
        (
            ChannelKind::Alertmanager,
            json!({"url": "http://am:9093", "headers": {"authorization": "s3cret"}}),
        ),
    ];
    for (kind, config) in cases {
        let parsed = parse(kind, config).unwrap();
        assert_eq!(parsed.config.kind(), kind);
        let shown = parsed.config.to_json();
        for text in [shown.to_string(), parsed.config.destination(), format!("{parsed:?}")] {
            assert!(!text.contains("s3cret") && !text.contains(key), "{kind:?}: {text}");
        }
        // Stored and opened again, and sent back as it is shown.
        let text = parsed.secrets.to_text();
        let secrets = ChannelSecrets::from_text(&text).unwrap();
        assert_eq!(ChannelConfig::stored(kind, &shown, &secrets).unwrap(), parsed);
        assert_eq!(ChannelConfig::parse(kind, &shown, Some(&parsed)).unwrap(), parsed);
        // Somewhere else, a secret has to be entered again.
        let mut elsewhere = shown.clone();
        let place = if elsewhere.get("server").is_some() { "server" } else { "url" };
        elsewhere[place] = "https://elsewhere.example/".into();
        match ChannelConfig::parse(kind, &elsewhere, Some(&parsed)) {
            Err(refused) => assert!(
                refused.message.contains("need") || refused.message.contains("enter"),
                "{refused}"
            ),
            Ok(parsed) => assert!(parsed.secrets.is_empty(), "{kind:?}"),
        }
    }
}

#[test]
fn refusals_of_services_name_the_field() {
    use ChannelKind::{Ntfy, PagerDuty, Slack, Telegram};
    refused(Slack, json!({}), "config.url", "is needed");
    refused(Slack, json!({"url": "ftp://x.example"}), "config.url", "https://");
    refused(Slack, json!({"url": "https://x.example", "room": 1}), "config.room", "known are url");
    refused(Telegram, json!({"chat": "@ops_news"}), "config.token", "BotFather");
    refused(Telegram, json!({"token": "nonsense", "chat": 1}), "config.token", "bot token");
    refused(Telegram, json!({"token": "1:a", "chat": "ops"}), "config.chat", "@name");
    refused(Telegram, json!({"token": "1:a"}), "config.chat", "is needed");
    refused(Telegram, json!({"token": "1:a", "chat": 1, "thread": -1}), "config.thread", "number");
    refused(Ntfy, json!({"topic": "a b"}), "config.topic", "letters");
    refused(Ntfy, json!({"topic": "a", "server": "ntfy"}), "config.server", "URL");
    refused(PagerDuty, json!({"routing_key": "short"}), "config.routing_key", "32");
    refused(PagerDuty, json!({"routing_key": 5}), "config.routing_key", "text");
}

#[test]
fn what_signs_calls_to_us_is_shown_as_set_and_stays_until_it_is_emptied() {
    let key = "0123456789abcdef0123456789abcdef";
    let cases = [
        (
            ChannelKind::Slack,
            "signing_secret",
            json!({"url": "https://hooks.slack.com/services/T"}),
        ),
        (ChannelKind::PagerDuty, "webhook_secret", json!({"routing_key": key})),
    ];
    for (kind, name, mut config) in cases {
        let plain = parse(kind, config.clone()).unwrap().config.to_json();
        assert_eq!(plain.get(name), None, "older programs read it as well");
        config[name] = " s3cret ".into();
        let parsed = parse(kind, config).unwrap();
        assert_eq!(parsed.secrets.callback, Some(Secret::from("s3cret")));
        let mut shown = parsed.config.to_json();
        assert_eq!(shown[name], "(hidden)");
        let secrets = ChannelSecrets::from_text(&parsed.secrets.to_text()).unwrap();
        assert_eq!(ChannelConfig::stored(kind, &shown, &secrets).unwrap(), parsed);
        let edit = |config: &Value| ChannelConfig::parse(kind, config, Some(&parsed)).unwrap();
        for kept in [Value::Null, json!("(hidden)")] {
            shown[name] = kept;
            assert_eq!(edit(&shown), parsed);
        }
        shown[name] = json!("");
        assert_eq!(edit(&shown).config.to_json(), plain);
        shown[name] = json!(7);
        let refused = ChannelConfig::parse(kind, &shown, Some(&parsed)).unwrap_err();
        assert_eq!(refused.field, format!("config.{name}"));
    }
    // It goes nowhere, so that it stays when the address is another.
    let before = parse(
        ChannelKind::Slack,
        json!({"url": "https://hooks.slack.com/services/T", "signing_secret": "s3cret"}),
    );
    let moved = json!({"url": "https://hooks.slack.example/services/U"});
    let moved = ChannelConfig::parse(ChannelKind::Slack, &moved, Some(&before.unwrap())).unwrap();
    assert_eq!(moved.secrets.callback, Some(Secret::from("s3cret")));
}
