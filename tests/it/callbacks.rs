//! What PagerDuty and Slack call back, over real HTTP and signed by the test's own hand.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use quorate::domain::observation::Outcome;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{
    api::{Api, text},
    delivery,
    hook_sink::HookSink,
};

const PAGER_KEY: &str = "subscription-s3cret";
const SLACK_KEY: &str = "8f742231b10e8888abcd99yyyzzz85a5";

/// A monitor that two locations look at, a pager and two chats, one of which cannot be answered.
struct Scene {
    api: Api,
    seq: AtomicI64,
    /// `http://ADDRESS/callbacks`
    base: String,
    http: reqwest::Client,
    serving: tokio::task::JoinHandle<()>,
    pager: String,
    chat: String,
    mute: String,
    sink: HookSink,
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Heard {
    status: u16,
    body: Value,
}

impl Heard {
    #[track_caller]
    fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    #[track_caller]
    fn refused(self, status: u16, says: &str) {
        let body = self.is(status);
        assert!(text(&body["error"]["message"]).contains(says), "{body}");
    }

    #[track_caller]
    fn changed(self, changed: bool, says: &str) {
        let body = self.is(200);
        assert_eq!(body["changed"], changed, "{body}");
        assert!(text(&body["why"]).contains(says), "{body}");
    }

    #[track_caller]
    fn answers(self, says: &str) {
        let body = self.is(200);
        assert_eq!(body["response_type"], "ephemeral", "{body}");
        assert!(text(&body["text"]).contains(says), "{body}");
    }
}

impl Scene {
    async fn new() -> Self {
        let sink = HookSink::start().await;
        let server = sink.url.split("hook").next().unwrap().to_owned();
        let api = Api::start_telling(delivery::settings()).await;
        for name in ["eu", "us"] {
            api.location(name).await;
        }
        let (pager, chat, mute) =
            (pager(&server, "pager", PAGER_KEY), slack(&server, "chat"), slack(&server, "mute"));
        let [pager, mut chat, mute] = [pager, chat, mute];
        chat["config"]["signing_secret"] = SLACK_KEY.into();
        let mut ids = Vec::new();
        for body in [pager, chat, mute] {
            ids.push(text(&api.post("channels", body).await.is(201)["id"]));
        }
        let [pager, chat, mute] = ids.try_into().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/callbacks", listener.local_addr().unwrap());
        let router = quorate::api::router(api.state.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let http = reqwest::Client::builder().build().unwrap();
        Self { api, seq: AtomicI64::new(0), base, http, serving, pager, chat, mute, sink }
    }

    async fn say(&self, monitor: &str, outcome: Outcome) {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed) + 1;
        self.api.all_say(monitor, seq, outcome).await;
        self.api.later(60);
    }

    /// A monitor that fails until its incident is open; ids of both.
    async fn breaks(&self, name: &str) -> (String, String) {
        let monitor = text(&self.api.monitor(name).await["id"]);
        for outcome in [Outcome::Pass, Outcome::Pass, Outcome::Fail, Outcome::Fail] {
            self.say(&monitor, outcome).await;
        }
        let list = self.api.get("incidents?state=open").await.is(200);
        (monitor, text(&list["items"][0]["id"]))
    }

    async fn incident(&self, id: &str) -> Value {
        self.api.get(&format!("incidents/{id}")).await.is(200)
    }

    async fn acked_by(&self, id: &str) -> Value {
        self.incident(id).await["acked_by"].clone()
    }

    /// `pager acknowledged`: what was queued since the opening.
    async fn told(&self, id: &str) -> Vec<String> {
        let incident = self.incident(id).await;
        let notices = incident["notices"].as_array().unwrap().clone();
        let one = |n: &Value| format!("{} {}", text(&n["channel_name"]), text(&n["kind"]));
        let mut told: Vec<String> =
            notices.iter().map(one).filter(|one| !one.ends_with(" opened")).collect();
        told.sort_unstable();
        told
    }

    async fn kinds(&self, id: &str) -> Vec<String> {
        let incident = self.incident(id).await;
        incident["events"].as_array().unwrap().iter().map(|e| text(&e["kind"])).collect()
    }

    async fn post(&self, path: &str, headers: &[(&str, String)], body: &[u8]) -> Heard {
        let url = format!("{}/{path}", self.base);
        let mut request = self.http.post(url).body(body.to_vec());
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let body = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        Heard { status, body }
    }

    /// PagerDuty calls a channel, and signs with this key.
    async fn pages(&self, channel: &str, key: &str, body: &Value) -> Heard {
        let body = body.to_string();
        let signature = format!("v1={}", hmac(key, body.as_bytes()));
        let headers = [("x-pagerduty-signature", signature)];
        self.post(&format!("pagerduty/{channel}"), &headers, body.as_bytes()).await
    }

    /// An event of PagerDuty's that happens now.
    async fn event(&self, id: &str, kind: &str, incident: &str) -> Value {
        let subject = text(&self.incident(incident).await["subject"]);
        event(id, kind, &format!("quorate:{subject}:{incident}"), self.api.clock.now())
    }

    /// Slack calls a channel at this second.
    async fn presses(&self, channel: &str, key: &str, second: i64, payload: &Value) -> Heard {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        let body = form.append_pair("payload", &payload.to_string()).finish();
        let signature = format!("v0={}", hmac(key, format!("v0:{second}:{body}").as_bytes()));
        let headers = [
            ("x-slack-request-timestamp", second.to_string()),
            ("x-slack-signature", signature),
            ("content-type", "application/x-www-form-urlencoded".to_owned()),
        ];
        self.post(&format!("slack/{channel}"), &headers, body.as_bytes()).await
    }

    fn press(&self, incident: &str) -> Value {
        let at = self.api.clock.now().as_millisecond();
        let at = format!("{}.{:03}000", at / 1_000, at % 1_000);
        json!({ "type": "block_actions", "user": { "id": "U1", "name": "roadrunner" }, "actions": [
            { "action_id": "quorate_acknowledge", "value": incident, "action_ts": at },
        ] })
    }

    fn second(&self) -> i64 {
        self.api.clock.now().as_second()
    }
}

fn pager(server: &str, name: &str, secret: &str) -> Value {
    json!({ "name": name, "kind": "pagerduty", "min_severity": "degraded", "config": {
        "routing_key": "0123456789abcdef0123456789abcdef", "server": server, "webhook_secret": secret,
    }})
}

fn slack(server: &str, name: &str) -> Value {
    json!({ "name": name, "kind": "slack", "config": { "url": format!("{server}services/{name}") } })
}

fn event(id: &str, kind: &str, key: &str, at: Timestamp) -> Value {
    json!({ "event": {
        "id": id, "event_type": kind, "resource_type": "incident", "occurred_at": at.to_string(),
        "agent": { "summary": "Jane Doe", "type": "user_reference" }, "client": null,
        "data": { "id": "PGR0VU2", "type": "incident", "incident_key": key, "title": "x" },
    }})
}

/// HMAC-SHA256 in hex, by RFC 2104's own words.
fn hmac(key: &str, message: &[u8]) -> String {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key.as_bytes());
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    hex::encode(Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize())
}

#[tokio::test]
async fn who_acknowledges_in_pagerduty_is_at_it_here_and_pagerduty_is_not_told_again() {
    let scene = Scene::new().await;
    let (_, incident) = scene.breaks("checkout").await;
    let acked = scene.event("e1", "incident.acknowledged", &incident).await;
    scene
        .pages(&scene.pager, PAGER_KEY, &acked)
        .await
        .changed(true, "Jane Doe (PagerDuty) is at it");
    assert_eq!(scene.acked_by(&incident).await, "Jane Doe (PagerDuty)");
    assert_eq!(scene.told(&incident).await, ["chat acknowledged", "mute acknowledged"]);

    // Delivered again, and acknowledged again by somebody else: nothing more is told.
    scene.pages(&scene.pager, PAGER_KEY, &acked).await.changed(false, "heard before");
    let more = scene.event("e2", "incident.acknowledged", &incident).await;
    scene.pages(&scene.pager, PAGER_KEY, &more).await.changed(false, "is at it already");
    assert_eq!(scene.kinds(&incident).await[1..], ["acked"]);

    // Its time-out there ends what was begun there, and an event that was on the way does not begin it again.
    scene.api.later(60);
    let late = scene.event("e3", "incident.acknowledged", &incident).await;
    scene.api.later(60);
    let over = scene.event("e4", "incident.unacknowledged", &incident).await;
    scene.pages(&scene.pager, PAGER_KEY, &over).await.changed(true, "taken back");
    assert!(scene.acked_by(&incident).await.is_null());
    scene.pages(&scene.pager, PAGER_KEY, &late).await.changed(false, "undone since");
    scene.pages(&scene.pager, PAGER_KEY, &acked).await.changed(false, "heard before");
    scene.pages(&scene.pager, PAGER_KEY, &over).await.changed(false, "heard before");
    assert!(scene.acked_by(&incident).await.is_null());
    assert_eq!(scene.kinds(&incident).await[1..], ["acked", "unacked"]);
}

#[tokio::test]
async fn what_was_given_here_is_not_taken_back_there_and_closing_it_there_closes_nothing() {
    let scene = Scene::new().await;
    let (monitor, incident) = scene.breaks("checkout").await;
    scene.api.post(&format!("incidents/{incident}/ack"), Value::Null).await.is(200);
    let over = scene.event("e1", "incident.unacknowledged", &incident).await;
    scene.pages(&scene.pager, PAGER_KEY, &over).await.changed(false, "was not given there");
    assert_eq!(scene.acked_by(&incident).await, "token:admin");

    let closed = scene.event("e2", "incident.resolved", &incident).await;
    for changed in [true, false] {
        let heard = scene.pages(&scene.pager, PAGER_KEY, &closed).await;
        heard.changed(changed, if changed { "seen up" } else { "heard before" });
    }
    let shown = scene.incident(&incident).await;
    assert!(shown["resolved_at"].is_null());
    let last = shown["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["kind"], &last["actor"]), (&json!("note"), &json!("Jane Doe (PagerDuty)")));

    for _ in 0..20 {
        scene.say(&monitor, Outcome::Pass).await;
    }
    let late = scene.event("e3", "incident.acknowledged", &incident).await;
    scene.pages(&scene.pager, PAGER_KEY, &late).await.changed(false, "is over");
}

#[tokio::test]
async fn what_is_not_pagerdutys_or_not_ours_changes_nothing() {
    let scene = Scene::new().await;
    let (_, incident) = scene.breaks("checkout").await;
    let acked = scene.event("e1", "incident.acknowledged", &incident).await;
    let body = acked.to_string();
    let right = format!("v1={}", hmac(PAGER_KEY, body.as_bytes()));
    let path = format!("pagerduty/{}", scene.pager);
    let with = |signature: &str| vec![("x-pagerduty-signature", signature.to_owned())];
    let wrong = format!("v1={}", hmac("another", body.as_bytes()));
    for signature in ["", "v1=", "nonsense", wrong.as_str(), &right[3..]] {
        scene.post(&path, &with(signature), body.as_bytes()).await.refused(401, "signature");
    }
    scene.post(&path, &[], body.as_bytes()).await.refused(401, "signature");
    let other = body.replace("Jane", "John");
    scene.post(&path, &with(&right), other.as_bytes()).await.refused(401, "signature");
    for strange in ["", "nonsense", "[]", "{\"event\":7}"] {
        let signature = format!("v1={}", hmac(PAGER_KEY, strange.as_bytes()));
        scene.post(&path, &with(&signature), strange.as_bytes()).await.refused(400, "body");
    }
    let long = vec![b'x'; 300 * 1024];
    scene.post(&path, &with(&right), &long).await.refused(413, "larger");
    let none = format!("pagerduty/{}", uuid::Uuid::from_u128(9));
    scene.post(&none, &with(&right), body.as_bytes()).await.refused(404, "no such channel");
    let chat = format!("pagerduty/{}", scene.chat);
    scene.post(&chat, &with(&right), body.as_bytes()).await.refused(404, "no such channel");
    scene.post("pagerduty/x", &with(&right), body.as_bytes()).await.refused(404, "is no id");

    // What is PagerDuty's, but concerns nobody here.
    let now = scene.api.clock.now();
    let ping = json!({ "event": { "id": "p", "event_type": "pagey.ping", "data": { "message": "Hello!" } } });
    scene.pages(&scene.pager, PAGER_KEY, &ping).await.changed(false, "nothing of an incident");
    let foreign = event("f", "incident.acknowledged", "d3640fbd41094207a1c11e58e46b1662", now);
    scene.pages(&scene.pager, PAGER_KEY, &foreign).await.changed(false, "nothing of an incident");
    let gone = format!("quorate:monitor:x:{}", uuid::Uuid::from_u128(9));
    let gone = event("g", "incident.acknowledged", &gone, now);
    scene.pages(&scene.pager, PAGER_KEY, &gone).await.changed(false, "No incident with this key");
    assert!(scene.acked_by(&incident).await.is_null());

    // One of several signatures is enough: the key is being changed.
    let both = format!("{wrong},{right}");
    scene.post(&path, &with(&both), body.as_bytes()).await.changed(true, "is at it");
}

#[tokio::test]
async fn a_channel_answers_only_for_what_was_told_through_one_with_its_secret() {
    let scene = Scene::new().await;
    let (_, incident) = scene.breaks("checkout").await;
    let server = scene.sink.url.split("hook").next().unwrap();
    let make = async |name: &str, secret: &str| {
        let made = scene.api.post("channels", pager(server, name, secret)).await.is(201);
        text(&made["id"])
    };
    let (other, twin) = (make("other", "other-s3cret").await, make("twin", PAGER_KEY).await);
    let acked = scene.event("e1", "incident.acknowledged", &incident).await;
    scene.pages(&other, "other-s3cret", &acked).await.changed(false, "No incident with this key");
    scene.pages(&other, PAGER_KEY, &acked).await.refused(401, "signature");
    assert!(scene.acked_by(&incident).await.is_null());
    // One subscription for the whole account calls one address for all services.
    scene.pages(&twin, PAGER_KEY, &acked).await.changed(true, "is at it");
}

#[tokio::test]
async fn a_button_in_slack_acknowledges_and_everybody_there_reads_who_it_was() {
    let mut scene = Scene::new().await;
    let (_, incident) = scene.breaks("checkout").await;
    let now = scene.api.clock.now();
    while scene.api.state.notifier.deliver_next(now).await.unwrap().is_some() {}
    let sent = scene.sink.drain();
    let buttons = |channel: &str| -> Vec<Value> {
        let path = format!("/services/{channel}");
        let one = sent.iter().find(|one| one.path == path).unwrap().json();
        let blocks = one["attachments"][0]["blocks"].as_array().unwrap().clone();
        let actions = blocks.iter().find(|block| block["type"] == "actions").unwrap();
        actions["elements"].as_array().unwrap().clone()
    };
    let named = |channel: &str| -> Value {
        let all = buttons(channel);
        let mut acks = all.into_iter().filter(|one| one["text"]["text"] == "Acknowledge");
        let one = acks.next().unwrap();
        assert_eq!(acks.next(), None, "one of a kind");
        one
    };
    assert!(text(&named("mute")["url"]).contains("/ack/"), "a link where nobody hears buttons");
    let button = named("chat");
    assert_eq!((&button["url"], &button["value"]), (&Value::Null, &json!(incident)));

    let second = scene.second();
    let mut press = scene.press(&incident);
    press["actions"][0]["action_id"] = button["action_id"].clone();
    for (key, second) in [("another", second), (SLACK_KEY, second - 301), (SLACK_KEY, second + 301)]
    {
        scene.presses(&scene.chat, key, second, &press).await.refused(401, "signature");
    }
    scene.presses(&scene.mute, SLACK_KEY, second, &press).await.refused(404, "signing secret");
    let gone = scene.press(&uuid::Uuid::from_u128(9).to_string());
    scene.presses(&scene.chat, SLACK_KEY, second, &gone).await.answers("No incident");
    scene.presses(&scene.chat, SLACK_KEY, second, &scene.press("x")).await.refused(400, "button");
    let link =
        json!({ "type": "block_actions", "actions": [{ "action_id": "a", "action_ts": "1.0" }] });
    assert_eq!(scene.presses(&scene.chat, SLACK_KEY, second, &link).await.is(200), json!({}));
    assert!(scene.acked_by(&incident).await.is_null());

    scene
        .presses(&scene.chat, SLACK_KEY, second - 300, &press)
        .await
        .answers("roadrunner (Slack) is at it");
    assert_eq!(scene.acked_by(&incident).await, "roadrunner (Slack)");
    let everybody = ["chat acknowledged", "mute acknowledged", "pager acknowledged"];
    assert_eq!(scene.told(&incident).await, everybody);

    // Recorded and sent again, after somebody took it back.
    scene.api.later(60);
    scene.api.post(&format!("incidents/{incident}/unack"), Value::Null).await.is(200);
    scene.presses(&scene.chat, SLACK_KEY, second, &press).await.answers("heard before");
    assert!(scene.acked_by(&incident).await.is_null());
    let again = scene.press(&incident);
    scene.presses(&scene.chat, SLACK_KEY, scene.second(), &again).await.answers("is at it");
}

#[tokio::test]
async fn the_channel_says_where_it_is_called_back_and_never_with_what() {
    let scene = Scene::new().await;
    let get = async |id: &str| scene.api.get(&format!("channels/{id}")).await.is(200);
    let shown = get(&scene.pager).await;
    let url = format!("http://q.test/callbacks/pagerduty/{}", scene.pager);
    assert_eq!(shown["callback"], json!({ "url": url, "ready": true }));
    assert_eq!(shown["config"]["webhook_secret"], "(hidden)");
    assert!(!shown.to_string().contains(PAGER_KEY));
    let mute = get(&scene.mute).await;
    assert_eq!(
        (&mute["callback"]["ready"], &mute["config"].get("signing_secret")),
        (&json!(false), &None)
    );

    // Left out, null and as it is shown: it stays. Empty: it is gone, and with it the calls.
    let path = format!("channels/{}", scene.pager);
    let mut config = shown["config"].clone();
    for kept in [json!("(hidden)"), Value::Null] {
        config["webhook_secret"] = kept;
        let saved = scene.api.patch(&path, json!({ "config": config })).await.is(200);
        assert_eq!(saved["callback"]["ready"], true);
    }
    let ping = json!({ "event": { "id": "p", "event_type": "pagey.ping" } });
    scene.pages(&scene.pager, PAGER_KEY, &ping).await.changed(false, "nothing");
    config["webhook_secret"] = "".into();
    let saved = scene.api.patch(&path, json!({ "config": config })).await.is(200);
    assert_eq!(saved["callback"]["ready"], false);
    scene.pages(&scene.pager, PAGER_KEY, &ping).await.refused(404, "webhook secret");
}
