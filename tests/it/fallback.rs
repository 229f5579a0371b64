//! Alerts that no channel takes: the fallback channel hears them, Quorate says so of itself, and a recovery goes
//! to nobody who did not get the alert.

use std::time::Duration;

use quorate::{
    domain::{channel::ChannelKind, notice::NoticeKind},
    store,
    triage::platform,
    upkeep::Upkeep,
};
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    delivery,
    hook_sink::{HookSink, Order},
};

/// A channel that is refused, a fallback channel that works, and an incident of Quorate itself to tell.
struct Scene {
    api: Api,
    upkeep: Upkeep,
    hook: HookSink,
    spare: HookSink,
}

impl Scene {
    async fn new() -> Self {
        let (hook, spare) = (HookSink::start().await, HookSink::start().await);
        let api = Api::start_telling(delivery::settings()).await;
        for (name, url, default) in [("hook", &hook.url, true), ("spare", &spare.url, false)] {
            let channel = json!({"name": name, "kind": "webhook", "min_severity": "degraded",
                "default": default, "config": {"url": url}});
            api.post("channels", channel).await.is(201);
        }
        let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        Self { api, upkeep, hook, spare }
    }

    async fn choose_fallback(&self) {
        self.api.patch("settings/alerts", json!({"fallback": "spare"})).await.is(200);
    }

    /// Opens or ends an incident that is told to the default channels.
    async fn trouble(&self, on: bool) {
        use quorate::domain::platform::{Cause, Trouble};
        let found = on.then(|| Trouble::over_cap(&["fra".to_owned()], 0, 2));
        let mut tx = self.api.db.pool().begin().await.unwrap();
        platform::settle(&mut tx, Cause::OverCap, found.as_slice(), self.api.clock.now())
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// Lets time pass in steps of ten seconds: delivery and the look after it, as they go on.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds / 10 {
            self.api.later(10);
            self.deliver().await;
            self.upkeep.look_after_alerts(self.api.clock.now()).await.unwrap();
            self.deliver().await;
        }
    }

    async fn deliver(&self) {
        let notifier = &self.api.state.notifier;
        while notifier.deliver_next(self.api.clock.now()).await.unwrap().is_some() {}
    }

    /// What the fallback channel heard since it was asked last: type and subject.
    fn heard(&mut self) -> Vec<(String, String)> {
        let all = self.spare.drain().into_iter().map(|one| one.json());
        all.map(|one| (text(&one["type"]), text(&one["data"]["incident"]["subject"]))).collect()
    }

    async fn open(&self) -> Vec<String> {
        let rows = self.api.get("incidents?state=open").await.is(200);
        rows["items"].as_array().unwrap().iter().map(|row| text(&row["subject"])).collect()
    }
}

const CAP: &str = "platform:over_cap";
const UNDELIVERED: &str = "platform:undelivered_alerts";

fn event(kind: &str, subject: &str) -> (String, String) {
    (format!("incident.{kind}"), subject.to_owned())
}

#[tokio::test]
async fn the_fallback_channel_hears_what_nobody_took_and_its_end() {
    let mut scene = Scene::new().await;
    scene.choose_fallback().await;
    scene.hook.always(Order::Answer(503, "", "busy"));
    scene.trouble(true).await;
    scene.deliver().await;
    scene.pass(110).await;
    assert_eq!(scene.heard(), [], "there is time yet");
    scene.pass(10).await;
    assert_eq!(scene.heard(), [event("opened", CAP)]);
    let mut open = scene.open().await;
    open.sort();
    assert_eq!(open, [CAP, UNDELIVERED]);
    // That delivery fails is itself an alert that no channel takes.
    scene.pass(120).await;
    assert_eq!(scene.heard(), [event("opened", UNDELIVERED)]);
    scene.pass(300).await;
    assert_eq!(scene.heard(), [], "everything once");
    // Now the channel works again: it hears all that it missed, and the fallback channel the ends.
    scene.hook.always(Order::Answer(200, "", "thanks"));
    scene.pass(3_600).await;
    assert_eq!(scene.open().await, [CAP]);
    assert_eq!(scene.heard(), [event("resolved", UNDELIVERED)]);
    scene.trouble(false).await;
    scene.deliver().await;
    assert_eq!(scene.heard(), [event("resolved", CAP)]);
    let row = scene.api.get("incidents?state=resolved&kind=platform").await.is(200);
    let row = row["items"].as_array().unwrap().iter().find(|row| row["subject"] == CAP).unwrap();
    let one = scene.api.get(&format!("incidents/{}", text(&row["id"]))).await.is(200);
    let told: Vec<(String, bool)> = one["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| (text(&n["channel_name"]), n["fallback"].as_bool().unwrap()))
        .collect();
    assert_eq!(told[..2], [("hook".to_owned(), false), ("spare".to_owned(), true)]);
}

#[tokio::test]
async fn an_incident_that_is_over_when_the_fallback_hears_of_it_is_one_message() {
    let mut scene = Scene::new().await;
    scene.choose_fallback().await;
    scene.hook.always(Order::Answer(503, "", "busy"));
    scene.trouble(true).await;
    scene.pass(90).await;
    scene.trouble(false).await;
    scene.pass(40).await;
    let heard = scene.spare.drain();
    let told: Vec<Value> = heard.iter().map(|one| one.json()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["type"], &told[0]["data"]["collapsed"]),
        (&json!("incident.resolved"), &json!(true))
    );
}

#[tokio::test]
async fn a_channel_that_is_gone_counts_as_one_that_takes_nothing() {
    let mut scene = Scene::new().await;
    scene.choose_fallback().await;
    scene.hook.always(Order::Answer(410, "", "gone"));
    scene.trouble(true).await;
    scene.pass(130).await;
    assert_eq!(
        scene.heard(),
        [event("opened", CAP)],
        "the channel is switched off by its own answer"
    );
    scene.trouble(false).await;
    scene.pass(10).await;
    assert_eq!(scene.heard(), [event("resolved", CAP)]);
    // What comes later is queued for nobody who works, and goes the same way.
    scene.api.later(700);
    scene.trouble(true).await;
    scene.pass(130).await;
    assert!(scene.heard().contains(&event("opened", CAP)));
}

#[tokio::test]
async fn without_a_fallback_channel_the_trouble_itself_says_so() {
    let mut scene = Scene::new().await;
    scene.hook.always(Order::Answer(503, "", "busy"));
    scene.trouble(true).await;
    scene.pass(130).await;
    let rows = scene.api.get("incidents?state=open&kind=platform").await.is(200);
    let row = rows["items"].as_array().unwrap().iter().find(|row| row["subject"] == UNDELIVERED);
    let sentence = text(&row.unwrap()["sentence"]);
    assert!(sentence.contains("No fallback channel is set"), "{sentence}");
    assert!(sentence.contains("These channels fail: hook."), "{sentence}");
    assert_eq!(scene.heard(), []);
}

/// Given up for good, a beginning never arrived, so its end is told to nobody.
#[tokio::test]
async fn a_recovery_is_not_sent_to_a_channel_that_did_not_get_the_alert() {
    let mut scene = Scene::new().await;
    scene.hook.order([Order::Answer(404, "", "no such hook")]);
    scene.trouble(true).await;
    scene.deliver().await;
    assert_eq!(scene.hook.drain().len(), 1);
    scene.trouble(false).await;
    scene.deliver().await;
    assert_eq!(scene.hook.drain().len(), 0, "it would take it now, but knows nothing");
    // An end that was queued while the beginning was still being tried.
    let world = delivery::World::new(None).await;
    let server = scene.hook.url.split("hook").next().unwrap();
    let config = json!({"routing_key": "0123456789abcdef0123456789abcdef", "server": server});
    let (pager, _) = world.channel(ChannelKind::PagerDuty, config).await;
    world.queue(1, pager, &[NoticeKind::Opened]).await;
    scene.hook.order([Order::Answer(503, "", "busy"), Order::Answer(404, "", "no such key")]);
    world.step().await.unwrap();
    world.queue(1, pager, &[NoticeKind::Resolved]).await;
    world.clock.advance(Duration::from_secs(60));
    world.steps().await;
    assert_eq!(world.outcomes(1).await, ["failed", "dropped"]);
    assert_eq!(scene.hook.drain().len(), 2, "the end was not sent");
}

/// However many look at once, it is told once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_coordinators_tell_the_fallback_channel_once() {
    let scene = Scene::new().await;
    scene.choose_fallback().await;
    scene.hook.always(Order::Answer(503, "", "busy"));
    scene.trouble(true).await;
    scene.deliver().await;
    scene.api.later(121);
    let (now, twin) = (scene.api.clock.now(), scene.upkeep.clone());
    for _ in 0..4 {
        let (one, two, three) = tokio::join!(
            scene.upkeep.look_after_alerts(now),
            twin.look_after_alerts(now),
            twin.look_after_alerts(now)
        );
        one.and(two).and(three).unwrap();
    }
    let mut conn = scene.api.db.pool().acquire().await.unwrap();
    let told = store::fallback::told_since(&mut conn, now - jiff::SignedDuration::from_hours(1));
    assert_eq!(told.await.unwrap(), 1);
}
