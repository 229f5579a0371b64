//! Who is called when: policies, routes, acknowledgements and reminders, from the report that opens an incident
//! to the row in the outbox.

use std::sync::atomic::{AtomicI64, Ordering};

use axum::http::Method;
use jiff::Timestamp;
use quorate::domain::observation::Outcome;
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    delivery,
    mail_sink::MailSink,
};

/// A monitor that two locations look at, and three channels: `chat` by default, `phone` and `boss` not.
struct Night {
    api: Api,
    seq: AtomicI64,
}

impl Night {
    async fn new() -> Self {
        let api = Api::start().await;
        for name in ["eu", "us"] {
            api.location(name).await;
        }
        for (name, default) in [("chat", true), ("phone", false), ("boss", false)] {
            let body = json!({ "name": name, "kind": "webhook", "default": default,
                "config": { "url": format!("https://{name}.example/hook") } });
            api.post("channels", body).await.is(201);
        }
        Self { api, seq: AtomicI64::new(0) }
    }

    /// `chat` at once, `phone` after 10 min, `boss` after 30; twice.
    async fn policy(&self) -> Value {
        let steps = json!([
            { "after_s": 0, "channels": ["chat"] },
            { "after_s": 600, "channels": ["phone"] },
            { "after_s": 1800, "channels": ["boss"] },
        ]);
        self.api.post("escalations", json!({ "name": "on-call", "steps": steps })).await.is(201)
    }

    async fn monitor(&self, more: Value) -> String {
        let mut body = crate::support::api::monitor("checkout");
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        text(&self.api.post("monitors", body).await.is(201)["id"])
    }

    async fn say(&self, monitor: &str, outcome: Outcome) {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed) + 1;
        self.api.all_say(monitor, seq, outcome).await;
    }

    /// Up, then failing until an incident is open; its id.
    async fn breaks(&self, monitor: &str) -> String {
        for outcome in [Outcome::Pass, Outcome::Pass, Outcome::Fail, Outcome::Fail] {
            self.say(monitor, outcome).await;
            self.api.later(60);
        }
        self.looks().await;
        let list = self.api.get("incidents?state=open").await.is(200);
        text(&list["items"][0]["id"])
    }

    /// Minute by minute, with everybody seeing the same; two coordinators look for what is due.
    async fn minutes(&self, monitor: &str, count: u32, outcome: Outcome) {
        let twin = self.api.twin();
        for _ in 0..count {
            self.api.later(60);
            self.say(monitor, outcome).await;
            let now = self.api.clock.now();
            let (one, two) =
                tokio::join!(self.api.state.triage.escalate(now), twin.state.triage.escalate(now));
            assert_eq!((one.unwrap(), two.unwrap()), (false, false));
        }
    }

    async fn looks(&self) {
        let now = self.api.clock.now();
        assert!(!self.api.state.triage.escalate(now).await.unwrap());
    }

    async fn incident(&self, id: &str) -> Value {
        self.api.get(&format!("incidents/{id}")).await.is(200)
    }

    /// `chat opened 0`: channel, kind and minutes since the opening, in the order in which they were queued.
    async fn told(&self, id: &str) -> Vec<String> {
        let incident = self.incident(id).await;
        let opened: Timestamp = text(&incident["opened_at"]).parse().unwrap();
        let one = |notice: &Value| {
            let at: Timestamp = text(&notice["created_at"]).parse().unwrap();
            let minutes = at.duration_since(opened).as_mins();
            format!("{} {} {minutes}", text(&notice["channel_name"]), text(&notice["kind"]))
        };
        incident["notices"].as_array().unwrap().iter().map(one).collect()
    }

    async fn ack(&self, id: &str, body: Value) -> Value {
        self.api.post(&format!("incidents/{id}/ack"), body).await.is(200)
    }
}

#[tokio::test]
async fn steps_and_reminders_follow_the_copied_policy_and_everybody_told_hears_the_end() {
    let night = Night::new().await;
    let policy = night.policy().await;
    let monitor = night.monitor(json!({ "escalation": "on-call" })).await;
    let incident = night.breaks(&monitor).await;
    assert_eq!(night.told(&incident).await, ["chat opened 0"]);
    let shown = night.incident(&incident).await;
    let next = &shown["escalation"]["next"];
    assert_eq!((&next["step"], &next["channels"]), (&json!(2), &json!(["phone"])));

    // What is edited now is for the next incident.
    let id = text(&policy["id"]);
    let change = json!({ "steps": [{ "after_s": 0, "channels": ["boss"] }] });
    night.api.patch(&format!("escalations/{id}"), change).await.is(200);
    night.minutes(&monitor, 62, Outcome::Fail).await;
    let so_far = [
        "chat opened 0",
        "phone opened 11",
        "boss opened 31",
        "chat reminder 61",
        "phone reminder 61",
        "boss reminder 61",
    ];
    let told = night.told(&incident).await;
    assert_eq!(told.len(), so_far.len(), "{told:?}");
    let kinds = |list: &[String]| -> Vec<String> {
        list.iter().map(|one| one.rsplit_once(' ').unwrap().0.to_owned()).collect()
    };
    let plain: Vec<String> = so_far.iter().map(ToString::to_string).collect();
    let (mut have, mut want) = (kinds(&told), kinds(&plain));
    have[3..].sort();
    want[3..].sort();
    assert_eq!(have, want);

    night.minutes(&monitor, 20, Outcome::Pass).await;
    let told = night.told(&incident).await;
    let mut ends: Vec<&str> = told
        .iter()
        .filter(|one| one.contains("resolved"))
        .map(|one| one.split(' ').next().unwrap())
        .collect();
    ends.sort_unstable();
    assert_eq!(ends, ["boss", "chat", "phone"]);
    let end = told.len();
    night.minutes(&monitor, 200, Outcome::Pass).await;
    assert_eq!(night.told(&incident).await.len(), end, "nothing after the end");
    assert!(night.incident(&incident).await["escalation"]["next"].is_null());
}

#[tokio::test]
async fn an_acknowledgement_stops_the_steps_is_told_and_runs_out() {
    let night = Night::new().await;
    night.policy().await;
    let monitor = night.monitor(json!({ "escalation": "on-call" })).await;
    let incident = night.breaks(&monitor).await;
    let shown = night.ack(&incident, json!({ "note": "Restarting it." })).await;
    assert_eq!(shown["acked_by"], "token:admin");
    assert_eq!(shown["escalation"]["waits"], "acknowledged");
    assert_eq!(night.told(&incident).await, ["chat opened 0", "chat acknowledged 1"]);
    let payload: Value =
        sqlx::query_scalar("select payload from notice where kind = 'acknowledged'")
            .fetch_one(night.api.db.pool())
            .await
            .unwrap();
    let prompt = &payload["prompt"]["acknowledged"];
    assert_eq!((&prompt["by"], &prompt["note"]), (&json!("token:admin"), &json!("Restarting it.")));

    // Once more changes nothing; four hours pass in silence, then it is told that nobody is at it.
    night.ack(&incident, Value::Null).await;
    night.minutes(&monitor, 239, Outcome::Fail).await;
    assert_eq!(night.told(&incident).await.len(), 2);
    night.minutes(&monitor, 1, Outcome::Fail).await;
    let shown = night.incident(&incident).await;
    assert!(shown["acked_at"].is_null(), "{shown}");
    let kinds: Vec<String> =
        shown["events"].as_array().unwrap().iter().map(|e| text(&e["kind"])).collect();
    assert_eq!(kinds[1..], ["acked", "note", "ack_expired"]);
    assert_eq!(night.told(&incident).await[2..], ["chat reminder 241"]);
    night.minutes(&monitor, 10, Outcome::Fail).await;
    assert!(
        night.told(&incident).await[3].starts_with("phone opened"),
        "it goes on where it stood"
    );

    // Taken back, which those hear who have it open.
    night.ack(&incident, json!({})).await;
    night.api.post(&format!("incidents/{incident}/unack"), Value::Null).await.is(200);
    night.looks().await;
    let told = night.told(&incident).await;
    let mut last: Vec<&str> =
        told[told.len() - 2..].iter().map(|one| one.rsplit_once(' ').unwrap().0).collect();
    last.sort_unstable();
    assert_eq!(last, ["chat reminder", "phone reminder"]);
}

#[tokio::test]
async fn without_a_policy_the_default_channels_are_reminded_and_maintenance_stops_the_clock() {
    let night = Night::new().await;
    let monitor = night.monitor(json!({})).await;
    let incident = night.breaks(&monitor).await;
    let now = night.api.clock.now();
    let plan = json!({ "name": "cabling", "monitors": [monitor], "start": (now + jiff::SignedDuration::from_mins(30)).to_string(),
        "end": (now + jiff::SignedDuration::from_mins(50)).to_string() });
    night.api.post("maintenance", plan).await.is(201);
    // Twenty minutes and twice the interval do not count.
    night.minutes(&monitor, 80, Outcome::Fail).await;
    assert_eq!(night.told(&incident).await, ["chat opened 0"]);
    night.minutes(&monitor, 2, Outcome::Fail).await;
    assert_eq!(night.told(&incident).await[1..].len(), 1, "{:?}", night.told(&incident).await);
    assert!(night.told(&incident).await[1].starts_with("chat reminder"));
    let shown = night.incident(&incident).await;
    assert_eq!(
        (&shown["escalation"]["policy"], &shown["escalation"]["reminders"]),
        (&Value::Null, &json!(1))
    );
}

#[tokio::test]
async fn the_first_route_that_fits_says_who_is_told_unless_the_monitor_does() {
    let night = Night::new().await;
    let policy = night.policy().await;
    let api = &night.api;
    let shop = json!({ "name": "shop", "labels": { "team": "shop" }, "escalation": "on-call", "channels": ["boss"] });
    api.post("routes", shop.clone()).await.is(201);
    api.post("routes", shop).await.refuses(409, "name");
    let rest = api.post("routes", json!({ "name": "rest", "channels": ["phone"] })).await.is(201);
    api.post("routes", json!({ "name": "x" })).await.refuses(422, "escalation");
    api.post("routes", json!({ "name": "x", "escalation": "none" }))
        .await
        .refuses(422, "escalation");
    api.post("routes", json!({ "name": "x", "channels": ["none"] }))
        .await
        .refuses(422, "channels[0]");

    let labels = json!({ "labels": { "team": "shop", "tier": "1" } });
    let told = api.post("routes/test", labels.clone()).await.is(200);
    assert_eq!(told["sentence"], "route shop → on-call, boss");
    let told = api.post("routes/test", json!({ "labels": {} })).await.is(200);
    assert_eq!(told["sentence"], "route rest → phone");
    let monitor = night.monitor(labels).await;
    assert_eq!(
        api.get(&format!("monitors/{monitor}")).await.is(200)["told_by"]["route"]["name"],
        "shop"
    );
    let incident = night.breaks(&monitor).await;
    let mut told = night.told(&incident).await;
    told.sort_unstable();
    assert_eq!(told, ["boss opened 0", "chat opened 0"]);
    assert_eq!(night.incident(&incident).await["escalation"]["route"], "shop");

    // In the other order everything goes to the phone; a monitor's own word is above routes.
    let list = api.get("routes").await.is(200);
    let ids: Vec<String> =
        list["items"].as_array().unwrap().iter().map(|r| text(&r["id"])).collect();
    let turned = json!({ "ids": [ids[1], ids[0]] });
    api.call(Method::PUT, "routes/order", turned).await.is(200);
    api.call(Method::PUT, "routes/order", json!({ "ids": [ids[1]] })).await.refuses(409, "ids");
    let told = api.post("routes/test", json!({ "monitor": "checkout" })).await.is(200);
    assert_eq!(told["sentence"], "route rest → phone");
    api.patch(&format!("monitors/{monitor}"), json!({ "channels": ["boss"] })).await.is(200);
    let told = api.post("routes/test", json!({ "monitor": "checkout" })).await.is(200);
    assert_eq!((&told["by"], &told["sentence"]), (&json!("own"), &json!("boss")));

    // What is in use stays.
    let id = text(&policy["id"]);
    let why = api.delete(&format!("escalations/{id}")).await;
    assert!(why.body["error"]["message"].as_str().unwrap().contains("route shop"), "{}", why.body);
    why.is(409);
    let boss = api.get("channels").await.is(200)["items"][0].clone();
    assert_eq!(boss["name"], "boss");
    api.delete(&format!("channels/{}", text(&boss["id"]))).await.is(409);
    api.delete(&format!("routes/{}", text(&rest["id"]))).await.is(204);
    api.delete(&format!("routes/{}", ids[0])).await.is(204);
    api.delete(&format!("escalations/{id}")).await.is(204);
    let told = api.post("routes/test", json!({ "labels": {} })).await.is(200);
    assert_eq!(told["sentence"], "every default channel");
}

#[tokio::test]
async fn policies_are_refused_by_field_and_saved_by_revision() {
    let night = Night::new().await;
    let api = &night.api;
    let policy = night.policy().await;
    assert_eq!(
        (&policy["loops"], &policy["ack_timeout_s"], &policy["reminder_s"]),
        (&json!(2), &json!(14_400), &json!(3_600))
    );
    let new = |steps: Value| json!({ "name": "x", "steps": steps });
    api.post("escalations", new(json!([]))).await.refuses(422, "steps");
    let strange = json!([{ "after_s": 0, "channels": ["chat", "none"] }]);
    api.post("escalations", new(strange)).await.refuses(422, "steps[0].channels[1]");
    let backwards =
        json!([{ "after_s": 60, "channels": ["chat"] }, { "after_s": 0, "channels": ["boss"] }]);
    api.post("escalations", new(backwards)).await.refuses(422, "steps[1].after_s");
    for late in [json!(86_401), json!(-1), json!(1.5), json!(1e30), json!(u64::MAX)] {
        let step = json!([{ "after_s": late, "channels": ["chat"] }]);
        let why = api.post("escalations", new(step)).await.refuses(422, "steps[0].after_s");
        assert!(why.contains("from 0 to 86400, which is a day"), "{why}");
    }
    let path = format!("escalations/{}", text(&policy["id"]));
    for (field, words) in [("ack_timeout_s", "7 days"), ("reminder_s", "a day")] {
        let why = api.patch(&path, json!({ field: 1_000_000_000 })).await.refuses(422, field);
        assert!(why.contains(words), "{why}");
    }
    let off = api.patch(&path, json!({ "reminder_s": null })).await.is(200);
    assert_eq!((&off["reminder_s"], &off["revision"]), (&Value::Null, &json!(2)));
    let stale = [
        (
            "authorization",
            format!("Bearer {}", crate::support::api::key_of(quorate::api::auth::Role::Editor)),
        ),
        ("if-match", "\"1\"".into()),
    ];
    let stale: Vec<(&str, &str)> = stale.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let full = format!("/api/v1/{path}");
    api.plain(Method::PATCH, &full, json!({ "loops": 1 }), &stale).await.is(409);
}

/// The address of the link in a mail's text, as a path.
fn ack_path(mail: &str) -> String {
    let joined = mail.replace("=\n", "").replace("=3D", "=");
    let at = joined.find("https://quorate.example/ack/").expect("a link");
    let url: String = joined[at..].chars().take_while(|c| !c.is_whitespace()).collect();
    url.trim_start_matches("https://quorate.example").to_owned()
}

#[tokio::test]
async fn the_link_in_a_mail_asks_first_and_then_acknowledges_for_its_address() {
    let mut sink = MailSink::start("acks", json!({})).await;
    let settings = quorate::notify::NotifySettings {
        mail: Some(sink.server(json!({}))),
        ..delivery::settings()
    };
    let api = Api::start_telling(settings).await;
    for name in ["eu", "us"] {
        api.location(name).await;
    }
    let mail = json!({ "name": "mail", "kind": "email", "config": { "to": ["ada@example.com"] } });
    api.post("channels", mail).await.is(201);
    let night = Night { api, seq: AtomicI64::new(0) };
    let monitor = night.monitor(json!({})).await;
    let incident = night.breaks(&monitor).await;
    let now = night.api.clock.now();
    night.api.state.notifier.deliver_next(now).await.unwrap().unwrap();
    let path = ack_path(&sink.next().await.raw);

    let ask = night.api.plain(Method::GET, &path, Value::Null, &[]).await;
    let text = ask.body.as_str().unwrap().to_owned();
    assert!(text.contains("Acknowledge checkout?") && text.contains("ada@example.com"), "{text}");
    assert!(night.incident(&incident).await["acked_at"].is_null(), "looking changes nothing");
    let cut = &path[..path.len() - 4];
    assert_eq!(night.api.plain(Method::POST, cut, Value::Null, &[]).await.status, 404);
    // Whatever else stands in the address is answered by the same page, to whoever only looks as well.
    let bare = path.split('?').next().unwrap();
    for spoilt in [bare, "/ack/%ff?t=x", "/ack/none?t=x", &format!("{bare}?t=%ff")] {
        for method in [Method::GET, Method::POST] {
            let gone = night.api.plain(method, spoilt, Value::Null, &[]).await;
            let text = gone.body.as_str().unwrap_or_default();
            assert!(gone.status == 404 && text.contains("not valid any more"), "{spoilt}: {text}");
        }
    }
    let done = night.api.plain(Method::POST, &path, Value::Null, &[]).await;
    assert_eq!(done.status, 200, "{}", done.body);
    let shown = night.incident(&incident).await;
    assert_eq!(shown["acked_by"], "ada@example.com");
    assert_eq!(night.told(&incident).await[1..], ["mail acknowledged 1"]);
    let again = night.api.plain(Method::GET, &path, Value::Null, &[]).await;
    assert!(again.body.as_str().unwrap().contains("ada@example.com is at it"), "{}", again.body);

    night.api.later(86_400);
    let old = night.api.plain(Method::POST, &path, Value::Null, &[]).await;
    assert_eq!(old.status, 404, "a day later it opens nothing");
    let _ = sink.drain().await;
}
