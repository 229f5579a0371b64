use serde_json::Value;

use super::*;
use crate::{
    domain::secret::Secret,
    notify::sample::{fleet_alert, outage, recovery},
};

fn around() -> Surroundings {
    Surroundings {
        public_url: Some(url::Url::parse("https://quorate.example/").unwrap()),
        zone: TimeZone::UTC,
    }
}

fn body_of(content: Content<'_>) -> Value {
    let parcel = Parcel {
        id: uuid::Uuid::from_u128(9),
        channel: None,
        now: "2026-11-17T02:07:33Z".parse().unwrap(),
        content,
        reached: &[],
    };
    body(&parcel, &around())
}

fn pretty(content: Content<'_>) -> String {
    serde_json::to_string_pretty(&body_of(content)).unwrap()
}

/// The example that the authors of Standard Webhooks publish with their libraries.
#[test]
fn the_signature_is_that_of_the_published_example() {
    let key = key_bytes(&Secret::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
    assert_eq!(
        sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}"),
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    );
}

#[test]
fn an_opening_as_json() {
    insta::assert_snapshot!(pretty(Content::Notice(&outage())));
}

#[test]
fn an_alert_of_a_fleet_names_the_fleet_and_what_was_found() {
    let data = &body_of(Content::Notice(&fleet_alert()))["data"];
    assert_eq!(data["monitor"], Value::Null);
    assert_eq!(data["fleet"]["name"], "shop");
    assert_eq!(data["fleet"]["findings"][1]["sentence"], "10.9.0.12 restarted 3 times.");
    assert!(
        data["fleet"]["url"]
            .as_str()
            .unwrap()
            .ends_with("/fleets/00000000-0000-0000-0000-000000000003")
    );
}

/// The description for users shows what is really sent.
#[test]
fn the_description_shows_the_same_json() {
    let text = include_str!("../../../docs/webhooks.md");
    let example = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    assert_eq!(example, body_of(Content::Notice(&outage())));
    for kind in NoticeKind::ALL {
        assert!(text.contains(&format!("| `{}` |", event_type(kind))), "{kind:?}");
    }
}

#[test]
fn an_end_as_json() {
    insta::assert_snapshot!(pretty(Content::Notice(&recovery())));
}

#[test]
fn a_test_as_json() {
    insta::assert_snapshot!(pretty(Content::Test { name: "ops hook" }));
}
