//! Being at one of a storm is being at all that its alert tells of: each channel hears it once, under the key of the
//! alert.

use std::sync::atomic::{AtomicI64, Ordering};

use quorate::domain::observation::Outcome;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{
    api::{Api, text},
    delivery,
    hook_sink::HookSink,
};

/// Monitors at hosts that share a domain, and channels that really send.
struct Scene {
    api: Api,
    seq: AtomicI64,
    hook: HookSink,
    pages: HookSink,
    pager: String,
}

impl Scene {
    async fn new() -> Self {
        let api = Api::start_telling(delivery::settings()).await;
        api.db.storms_from(3).await;
        for name in ["eu", "us"] {
            api.location(name).await;
        }
        let (hook, pages) = (HookSink::start().await, HookSink::start().await);
        let chat = json!({ "name": "chat", "kind": "webhook", "config": { "url": hook.url } });
        api.post("channels", chat).await.is(201);
        let pager = pager("pager", &pages, true);
        let pager = text(&api.post("channels", pager).await.is(201)["id"]);
        Self { api, seq: AtomicI64::new(0), hook, pages, pager }
    }

    /// A monitor at `HOST.shop.example`, up since now.
    async fn monitor(&self, host: &str, more: Value) -> String {
        let mut body = json!({ "name": host,
            "check": { "kind": "http", "url": format!("https://{host}.shop.example/") } });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let monitor = text(&self.api.post("monitors", body).await.is(201)["id"]);
        self.say(&monitor, Outcome::Pass).await;
        monitor
    }

    async fn say(&self, monitor: &str, outcome: Outcome) {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed) + 1;
        self.api.all_say(monitor, seq, outcome).await;
    }

    /// All of them go down, within seconds; the ids of their incidents, in the same order.
    async fn fall(&self, monitors: &[&str]) -> Vec<String> {
        self.api.later(1);
        for monitor in monitors {
            self.say(monitor, Outcome::Fail).await;
        }
        self.api.later(6);
        for monitor in monitors {
            self.say(monitor, Outcome::Fail).await;
        }
        let mut ids = Vec::new();
        for monitor in monitors {
            let path = format!("incidents?state=open&monitor={monitor}");
            ids.push(text(&self.api.get(&path).await.is(200)["items"][0]["id"]));
        }
        ids
    }

    async fn acked(&self, incidents: &[String]) -> Vec<bool> {
        let mut acked = Vec::new();
        for id in incidents {
            let shown = self.api.get(&format!("incidents/{id}")).await.is(200);
            acked.push(!shown["acked_by"].is_null());
        }
        acked
    }

    async fn ack(&self, incident: &str) -> Value {
        self.api.post(&format!("incidents/{incident}/ack"), json!({})).await.is(200)
    }

    /// What has come by now: of the webhook type, key and how many the group has; of the pager action and key.
    async fn told(&mut self) -> (Vec<Value>, Vec<Value>) {
        let now = self.api.clock.now();
        while self.api.state.notifier.deliver_next(now).await.unwrap().is_some() {}
        let hook = |one: Value| {
            let data = &one["data"];
            json!([one["type"], data["incident"]["dedup_key"], data["group"]["total"]])
        };
        let page = |one: Value| json!([one["event_action"], one["dedup_key"]]);
        let hooks = self.hook.drain().iter().map(|one| hook(one.json())).collect();
        let pages = self.pages.drain().iter().map(|one| page(one.json())).collect();
        (hooks, pages)
    }
}

fn pager(name: &str, sink: &HookSink, default: bool) -> Value {
    let server = sink.url.split("hook").next().unwrap();
    json!({ "name": name, "kind": "pagerduty", "default": default, "min_severity": "degraded", "config": {
        "routing_key": "0123456789abcdef0123456789abcdef", "server": server, "webhook_secret": name,
    }})
}

#[tokio::test]
async fn one_answer_is_for_all_and_each_channel_hears_it_once_under_the_key_of_the_alert() {
    let mut scene = Scene::new().await;
    let mut monitors = Vec::new();
    for host in ["a", "b", "c"] {
        monitors.push(scene.monitor(host, json!({})).await);
    }
    let [a, b, c] = [&*monitors[0], &*monitors[1], &*monitors[2]];
    let incidents = scene.fall(&[a, b, c]).await;
    let (hooks, pages) = scene.told().await;
    assert_eq!((hooks.len(), pages.len()), (1, 1), "one alert: {hooks:?} {pages:?}");
    let key = hooks[0][1].clone();
    assert_eq!((&hooks[0][2], &pages[0]), (&json!(3), &json!(["trigger", key])));

    // Whoever acknowledges the last that went down is at all of it.
    assert_eq!(scene.ack(&incidents[2]).await["acknowledged"], 3);
    assert_eq!(scene.acked(&incidents).await, [true, true, true]);
    let (hooks, pages) = scene.told().await;
    assert_eq!(hooks, [json!(["incident.acknowledged", key, 3])]);
    assert_eq!(pages, [json!(["acknowledge", key])]);
    assert_eq!(scene.ack(&incidents[0]).await["acknowledged"], 0);
    assert_eq!(scene.told().await, (vec![], vec![]));

    // One that joins is told as an update, and nobody is at it; with the next answer it is told at once.
    let d = scene.monitor("d", json!({})).await;
    let joined = scene.fall(&[&d]).await;
    assert_eq!(scene.acked(&joined).await, [false]);
    assert_eq!(scene.told().await, (vec![], vec![]), "the update has five minutes");
    assert_eq!(scene.ack(&joined[0]).await["acknowledged"], 1);
    let (hooks, _) = scene.told().await;
    let update = json!(["incident.group_update", key, 4]);
    assert_eq!(hooks, [update, json!(["incident.acknowledged", key, 4])]);

    let path = format!("incidents/{}/unack", incidents[1]);
    scene.api.post(&path, Value::Null).await.is(200);
    assert_eq!(scene.acked(&incidents).await, [false, false, false]);
    assert_eq!(scene.acked(&joined).await, [false]);
}

#[tokio::test]
async fn from_a_message_only_what_was_told_there_is_meant() {
    let mut scene = Scene::new().await;
    let team = HookSink::start().await;
    let made = scene.api.post("channels", pager("team", &team, false)).await.is(201);
    let team = text(&made["id"]);
    let (a, b) = (scene.monitor("a", json!({})).await, scene.monitor("b", json!({})).await);
    let c = scene.monitor("c", json!({ "channels": ["team"] })).await;
    let incidents = scene.fall(&[&a, &b, &c]).await;
    let subject = |shown: &Value| text(&shown["subject"]);
    let shown = scene.api.get(&format!("incidents/{}", incidents[2])).await.is(200);
    let key = format!("quorate:{}:{}", subject(&shown), incidents[2]);
    assert!(shown["storm"].is_object(), "{shown}");
    call(&scene, &team, "team", "1", &key).await;
    assert_eq!(scene.acked(&incidents).await, [false, false, true]);
    let (hooks, pages) = scene.told().await;
    assert!(hooks.iter().chain(&pages).all(|one| !text(&one[0]).contains("ack")), "{hooks:?}");

    // The others are in the alert of the default channels, which does not tell of the team's.
    let shown = scene.api.get(&format!("incidents/{}", incidents[0])).await.is(200);
    let key = format!("quorate:{}:{}", subject(&shown), incidents[0]);
    let pager = scene.pager.clone();
    call(&scene, &pager, "pager", "2", &key).await;
    assert_eq!(scene.acked(&incidents).await, [true, true, true]);
    let (hooks, pages) = scene.told().await;
    assert_eq!(hooks, [json!(["incident.acknowledged", key, 2])]);
    assert_eq!(pages, Vec::<Value>::new(), "it was said there");
}

/// PagerDuty calls back that somebody is at the incident of this key.
async fn call(scene: &Scene, channel: &str, secret: &str, id: &str, key: &str) {
    let body = json!({ "event": {
        "id": id, "event_type": "incident.acknowledged", "occurred_at": scene.api.clock.now().to_string(),
        "agent": { "summary": "Jane Doe" }, "data": { "incident_key": key },
    }});
    let mut block = [0; 64];
    block[..secret.len()].copy_from_slice(secret.as_bytes());
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(body.to_string()).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    let signature = format!("v1={}", hex::encode(outer));
    let path = format!("/callbacks/pagerduty/{channel}");
    let headers = [("x-pagerduty-signature", signature.as_str())];
    let answer = scene.api.plain(axum::http::Method::POST, &path, body, &headers).await.is(200);
    assert_eq!(answer["changed"], true, "{answer}");
}
