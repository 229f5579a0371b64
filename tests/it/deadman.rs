//! The dead-man ping against a real receiver: every minute, once, and only while Quorate does its work.

use axum::http::Method;
use quorate::notify::deadman::Pinged;
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    delivery,
    hook_sink::{HookSink, Order},
};

struct Scene {
    api: Api,
    watch: HookSink,
}

impl Scene {
    /// A watch to ping, and one agent that has just called.
    async fn new() -> Self {
        let watch = HookSink::start().await;
        let api = Api::start_telling(delivery::settings()).await;
        api.location("fra").await;
        let scene = Self { api, watch };
        scene.agent_calls().await;
        scene
            .api
            .call(
                Method::PUT,
                "settings/deadman",
                json!({"url": format!("{}&key=s3cretpart", scene.watch.url)}),
            )
            .await
            .is(200);
        scene
    }

    async fn agent_calls(&self) {
        sqlx::query("update agent set last_seen_at = $1::text::timestamptz")
            .bind(self.api.clock.now().to_string())
            .execute(self.api.db.pool())
            .await
            .unwrap();
    }

    async fn ping(&self) -> Pinged {
        self.api.state.notifier.ping(self.api.clock.now()).await.unwrap()
    }

    async fn shown(&self) -> Value {
        self.api.get("settings/deadman").await.is(200)
    }
}

#[tokio::test]
async fn it_is_sent_every_minute_and_its_answer_is_shown() {
    let mut scene = Scene::new().await;
    let thanks = Pinged::Sent { answered: true, answer: "200 OK: thanks".to_owned() };
    assert_eq!(scene.ping().await, thanks);
    let came = scene.watch.drain();
    assert_eq!((came.len(), came[0].path.as_str()), (1, "/hook?token=t0ken&key=s3cretpart"));
    scene.api.later(59);
    assert_eq!(scene.ping().await, Pinged::NotDue);
    scene.api.later(1);
    scene.agent_calls().await;
    scene.watch.order([Order::Answer(404, "", "no such check s3cretpart")]);
    let Pinged::Sent { answered: false, .. } = scene.ping().await else { panic!("not refused") };
    let shown = scene.shown().await;
    assert_eq!((&shown["answered"], &shown["withheld"]), (&json!(false), &Value::Null));
    assert_eq!(shown["pinged_at"], "2026-03-01T12:01:00.000Z");
    let all = shown.to_string();
    assert!(all.contains("404") && !all.contains("s3cret"), "{all}");
    assert!(text(&shown["place"]).starts_with("127.0.0.1:"));
}

#[tokio::test]
async fn without_agents_or_with_an_alert_that_waits_it_is_withheld() {
    let mut scene = Scene::new().await;
    scene.api.later(31);
    let Pinged::Withheld(why) = scene.ping().await else { panic!("sent") };
    assert_eq!(why, "No agent has called for 30 s.");
    assert_eq!(scene.shown().await["withheld"], why.as_str());
    scene.agent_calls().await;
    // An alert that nobody has tried to send for two minutes.
    let hook = json!({"name": "hook", "kind": "webhook", "config": {"url": scene.watch.url}});
    let channel = scene.api.post("channels", hook).await.is(201);
    sqlx::query(
        "insert into notice (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at)
         select 0, gen_random_uuid(), gen_random_uuid(), $1::text::uuid, 'opened', 'down', '{}', at, at
         from (select $2::text::timestamptz as at) as t",
    )
    .bind(text(&channel["id"]))
    .bind(scene.api.clock.now().to_string())
    .execute(scene.api.db.pool())
    .await
    .unwrap();
    scene.api.later(120);
    scene.agent_calls().await;
    let Pinged::Withheld(why) = scene.ping().await else { panic!("sent") };
    assert_eq!(why, "An alert has waited 120 s for its first attempt.");
    assert_eq!(scene.watch.drain().len(), 0, "nobody was asked");
}

#[tokio::test]
async fn a_monitor_that_nobody_looks_at_withholds_it() {
    let scene = Scene::new().await;
    scene.api.monitor("checkout").await;
    sqlx::query("update monitor_live set wake_at = $1::text::timestamptz")
        .bind(scene.api.clock.now().to_string())
        .execute(scene.api.db.pool())
        .await
        .unwrap();
    scene.api.later(121);
    scene.agent_calls().await;
    let Pinged::Withheld(why) = scene.ping().await else { panic!("sent") };
    assert_eq!(why, "1 monitor is overdue by more than twice its interval.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_coordinators_send_one() {
    let mut scene = Scene::new().await;
    let twin = scene.api.state.notifier.clone();
    let now = scene.api.clock.now();
    let (one, two, three) = tokio::join!(scene.ping(), twin.ping(now), twin.ping(now));
    let sent = [one, two.unwrap(), three.unwrap()];
    let sent = sent.iter().filter(|ping| matches!(ping, Pinged::Sent { .. })).count();
    assert_eq!((sent, scene.watch.drain().len()), (1, 1));
}

#[tokio::test]
async fn whom_it_goes_to_is_checked_and_forgotten_on_request() {
    let scene = Scene::new().await;
    scene.ping().await;
    for wrong in ["ftp://watch.example/", "watch.example", "http://10.0.0.1/ping"] {
        scene.api.call(Method::PUT, "settings/deadman", json!({"url": wrong})).await.is(422);
    }
    scene.api.delete("settings/deadman").await.is(204);
    let shown = scene.shown().await;
    assert_eq!((&shown["configured"], &shown["pinged_at"]), (&json!(false), &Value::Null));
    scene.api.later(60);
    assert_eq!(scene.ping().await, Pinged::NotDue);
}
