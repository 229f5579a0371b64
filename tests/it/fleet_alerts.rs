//! Alerts about fleets as people get them: by mail from a server that was not written by us, and by
//! webhook; what is told once, what is told together, and what is told again.

use quorate::{notify::NotifySettings, upkeep::Upkeep};
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    delivery,
    fleet_traffic::{judge, minute, send},
    hook_sink::{HookSink, Received},
    mail_sink::{MailSink, Taken},
};

const KEY: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY=";

/// A fleet `shop` with a mail and a webhook channel that really send.
struct Scene {
    api: Api,
    upkeep: Upkeep,
    mail: MailSink,
    hook: HookSink,
    fleet: String,
    start: jiff::Timestamp,
    minutes: i64,
}

impl Scene {
    async fn new(name: &str, fleet: Value) -> Self {
        let mail = MailSink::start(name, json!({})).await;
        let hook = HookSink::start().await;
        let settings =
            NotifySettings { mail: Some(mail.server(json!({}))), ..delivery::settings() };
        let api = Api::start_telling(settings).await;
        let channel = json!({"name": "hook", "kind": "webhook", "min_severity": "degraded",
            "config": {"url": hook.url}, "secret": KEY});
        api.post("channels", channel).await.is(201);
        let channel = json!({"name": "mail", "kind": "email", "min_severity": "degraded",
            "config": {"to": ["ops@example.com"]}});
        api.post("channels", channel).await.is(201);
        let fleet = text(&api.post("fleets", fleet).await.is(201)["id"]);
        let (start, upkeep) =
            (api.clock.now(), Upkeep::new(api.db.pool().clone(), api.clock.clone()));
        Self { api, upkeep, mail, hook, fleet, start, minutes: 0 }
    }

    /// The next minute of its log, in which `bad` fails; judged, and told.
    async fn minute(&mut self, bad: Option<&str>) {
        let at = self.start + jiff::SignedDuration::from_secs(60 * self.minutes);
        self.api.later(60);
        send(&self.api, &self.fleet, minute(at, bad)).await;
        self.minutes += 1;
        self.tell().await;
    }

    async fn minutes(&mut self, count: u32, bad: Option<&str>) {
        for _ in 0..count {
            self.minute(bad).await;
        }
    }

    async fn tell(&self) {
        judge(&self.upkeep).await;
        let notifier = &self.api.state.notifier;
        while notifier.deliver_next(self.api.clock.now()).await.unwrap().is_some() {}
    }

    /// Statements about instances, `second` after the beginning of the minute to come. That minute is judged
    /// with the one after it.
    async fn events(&self, said: &[(i64, &str, Value)]) {
        let begin = self.start.as_microsecond() + 60_000_000 * self.minutes;
        let events: Vec<Value> = said
            .iter()
            .map(|(second, instance, what)| {
                json!({"at_us": begin + second * 1_000_000, "source": "haproxy",
                    "instance": instance, "what": what})
            })
            .collect();
        let path = format!("fleets/{}/events?source=lb", self.fleet);
        let taken = self.api.post(&path, json!(events)).await.is(200);
        assert_eq!(taken["accepted"], said.len(), "{taken}");
    }

    async fn told(&mut self) -> (Vec<Taken>, Vec<Received>) {
        (self.mail.drain().await, self.hook.drain())
    }

    async fn incidents(&self) -> Vec<Value> {
        self.api.get("incidents").await.is(200)["items"].as_array().unwrap().clone()
    }
}

/// Head and body as people read them: without the encoding of lines, up to the HTML.
fn readable(mail: &Taken) -> String {
    let plain = mail.raw.split("Content-Type: text/html").next().unwrap();
    let joined = plain.replace("=\n", "");
    let mut bytes = Vec::new();
    let mut rest = joined.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = std::str::from_utf8(tail.get(..2).unwrap_or_default()).unwrap_or_default();
        match u8::from_str_radix(code, 16) {
            Ok(byte) if *first == b'=' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap().replace('\u{a0}', " ")
}

#[tokio::test]
async fn a_bad_instance_is_told_by_mail_and_webhook_and_so_is_its_end() {
    let mut scene = Scene::new("fleet-errors", json!({"name": "shop"})).await;
    scene.minutes(30, None).await;
    scene.minutes(8, Some("app2")).await;
    let incident = scene.incidents().await.remove(0);
    assert_eq!(incident["title"], "app/app2 fails more than its peers");
    let (mails, hooks) = scene.told().await;
    assert_eq!((mails.len(), hooks.len()), (1, 1));
    let stem = ": shop, 1 Mar 12:30 UTC";
    assert_eq!(mails[0].header("Subject"), format!("app/app2 fails more than its peers{stem}"));
    let body = readable(&mails[0]);
    let id = text(&incident["id"]);
    for told in [
        "shop: app/app2 fails more than its peers.".to_owned(),
        "app/app2 failed 120 of 240 requests (50 %: 120 5xx); its 3 peers failed".to_owned(),
        format!("https://quorate.example/incidents/{id}"),
        format!("https://quorate.example/fleets/{}", scene.fleet),
        "Sun 1 Mar 2026, 12:30:00 UTC".to_owned(),
    ] {
        assert!(body.contains(&told), "{told:?} in\n{body}");
    }
    assert!(hooks[0].is_signed_by(KEY));
    let hook = hooks[0].json();
    assert_eq!(hook["type"], "incident.opened");
    let (data, fleet) = (&hook["data"], &hook["data"]["fleet"]);
    assert_eq!(data["headline"], "shop: app/app2 fails more than its peers.");
    assert!(text(&data["sentence"]).contains("120 of 240"), "{data}");
    assert_eq!((&fleet["name"], &data["monitor"]), (&json!("shop"), &Value::Null));
    assert_eq!(fleet["findings"][0]["title"], "app/app2 fails more than its peers");
    assert_eq!(data["incident"]["id"], json!(id));

    scene.minutes(12, None).await;
    let (mails, hooks) = scene.told().await;
    assert_eq!((mails.len(), hooks.len()), (1, 1), "the end, once");
    assert_eq!(mails[0].header("Subject"), format!("As usual again{stem}"));
    assert_eq!(mails[0].header("References"), format!("<incident-{id}@example.com>"));
    let body = readable(&mails[0]);
    assert!(body.contains("app/app2 is like its peers again."), "{body}");
    assert!(body.contains("Was") && body.contains("120 of 240"), "{body}");
    let hook = hooks[0].json();
    assert_eq!(
        (&hook["type"], &hook["data"]["kind"]),
        (&json!("incident.resolved"), &json!("resolved"))
    );
    assert_eq!(hook["data"]["sentence"], "app/app2 is like its peers again.");
    assert_eq!(hook["data"]["incident"]["dedup_key"], data["incident"]["dedup_key"]);
    let shown = scene.api.get(&format!("incidents/{id}")).await.is(200);
    let events = shown["events"].as_array().unwrap();
    assert_eq!(events.last().unwrap()["sentence"], "app/app2 is like its peers again.");
}

#[tokio::test]
async fn what_comes_back_within_ten_minutes_is_the_same_incident_again() {
    let mut scene = Scene::new("fleet-again", json!({"name": "shop"})).await;
    scene.minutes(30, None).await;
    scene.minutes(5, Some("app2")).await;
    scene.minutes(6, None).await;
    scene.minutes(5, Some("app2")).await;
    let all = scene.incidents().await;
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0]["resolved_at"], Value::Null);
    let (mails, hooks) = scene.told().await;
    let kinds: Vec<Value> = hooks.iter().map(|hook| hook.json()["data"]["kind"].clone()).collect();
    assert_eq!(kinds, ["opened", "resolved", "reopened"]);
    assert_eq!(mails.len(), 3);
    assert!(readable(&mails[2]).contains("shop, again: app/app2 fails more than its peers."));
    // More than ten minutes after its end it is another one.
    scene.minutes(17, None).await;
    scene.minutes(5, Some("app2")).await;
    let all = scene.incidents().await;
    assert_eq!(all.len(), 2, "{all:?}");
    let (_, hooks) = scene.told().await;
    let kinds: Vec<Value> = hooks.iter().map(|hook| hook.json()["data"]["kind"].clone()).collect();
    assert_eq!(kinds, ["resolved", "opened"]);
}

/// Ready below the floor, a removal that took too long, and what else the fleet's rules name: all of one
/// cause, one alert.
#[tokio::test]
async fn several_findings_of_one_minute_are_one_alert_and_one_answer() {
    let fleet = json!({"name": "shop", "expected": 4, "min_ready": 3,
        "platform": {"kind": "haproxy", "floor": null},
        "check": {"interval_s": 2, "timeout_s": 1, "unhealthy": 3, "healthy": 2},
        "drain_s": 300, "rules": {"removal_s": 7.5}});
    let mut scene = Scene::new("fleet-group", fleet).await;
    let state = |state: &str| json!({"state": state});
    let all = ["app/app1", "app/app2", "app/app3", "app/app4"];
    let ready: Vec<_> = all.iter().map(|name| (1, *name, state("ready"))).collect();
    scene.events(&ready).await;
    scene.minutes(3, None).await;
    let check = json!({"check": {"passed": false}});
    scene
        .events(&[
            (10, "app/app1", check.clone()),
            (11, "app/app2", check),
            (19, "app/app1", state("unready")),
            (20, "app/app2", state("unready")),
        ])
        .await;
    scene.minutes(2, None).await;
    let open = scene.incidents().await;
    let titles: Vec<String> = open.iter().map(|one| text(&one["title"])).collect();
    for title in ["only 2 of 4 ready", "app/app1 was taken out late", "app/app2 was taken out late"]
    {
        assert!(titles.contains(&title.to_owned()), "{title} in {titles:?}");
    }
    let groups: std::collections::BTreeSet<_> =
        open.iter().map(|one| text(&one["group"])).collect();
    assert_eq!(groups.len(), 1, "{open:?}");
    let (mails, hooks) = scene.told().await;
    assert_eq!((mails.len(), hooks.len()), (1, 1), "one alert for all of it");
    assert_eq!(mails[0].header("Subject"), "Only 2 of 4 ready: shop, 1 Mar 12:03 UTC");
    let body = readable(&mails[0]);
    for told in [
        "2 of 4 ready, fewer than 3; the others carry × 2.00; counted by ",
        "app/app1 failed for 9.0 s before it was taken out; the limit is 7.5 s.",
        "app/app2 failed for 9.0 s",
    ] {
        assert!(body.contains(told), "{told:?} in\n{body}");
    }
    assert_eq!(hooks[0].json()["data"]["severity"], "down");

    let one = &open[1];
    let path = format!("incidents/{}", text(&one["id"]));
    scene.api.post(&format!("{path}/ack"), Value::Null).await.is(200);
    for one in scene.incidents().await {
        assert_eq!(one["acked_by"], "token:admin", "one alert, one answer: {one}");
    }
    let shown = scene.api.get(&path).await.is(200);
    assert!(shown["events"].as_array().unwrap().iter().any(|e| e["kind"] == "acked"), "{shown}");
    assert!(!shown["notices"].as_array().unwrap().is_empty(), "what was told of the group");
    scene.tell().await;
    let (mails, hooks) = scene.told().await;
    assert_eq!((mails.len(), hooks.len()), (1, 1), "those who have it open hear who is at it");
    assert_eq!(hooks[0].json()["type"], "incident.acknowledged");
    scene.api.post(&format!("{path}/unack"), Value::Null).await.is(200);
    assert!(scene.incidents().await.iter().all(|one| one["acked_at"].is_null()));

    scene.events(&[(5, "app/app1", state("ready")), (6, "app/app2", state("ready"))]).await;
    scene.minutes(2, None).await;
    let open = scene.api.get("incidents?state=open").await.is(200);
    assert_eq!(open["items"], json!([]), "all are over");
    let (mails, hooks) = scene.told().await;
    assert_eq!((mails.len(), hooks.len()), (1, 1), "and told once: {hooks:?}");
    let body = readable(&mails[0]);
    assert!(body.contains("Enough instances are there again."), "{body}");
    assert!(body.contains("app/app1 is back in rotation, or gone."), "{body}");
}

/// A removal over the limit whose instance is back before anybody looked, and one whose instance is gone for
/// good: both are told, and neither stays open.
#[tokio::test]
async fn a_late_removal_is_told_even_when_it_is_over_and_does_not_wait_for_the_gone() {
    let fleet = json!({"name": "shop", "rules": {"removal_s": 5, "min_severity": "warning",
        "kinds": {"few_ready": "never", "left_rotation": "never"}}});
    let mut scene = Scene::new("fleet-late", fleet).await;
    let state = |state: &str| json!({"state": state});
    let ready: Vec<_> =
        ["app1", "app2", "app3"].iter().map(|name| (1, *name, state("ready"))).collect();
    scene.events(&ready).await;
    scene.minutes(2, None).await;
    let check = json!({"check": {"passed": false}});
    let back =
        [(10, "app1", check.clone()), (20, "app1", state("unready")), (40, "app1", state("ready"))];
    scene.events(&back).await;
    scene.minutes(2, None).await;
    let (mails, _) = scene.told().await;
    assert_eq!(mails.len(), 1, "beginning and end in one");
    assert_eq!(mails[0].header("Subject"), "app1 was taken out late: shop, 1 Mar 12:02 UTC");
    let body = readable(&mails[0]);
    assert!(body.contains("app1 failed for 10.0 s before it was taken out"), "{body}");
    scene.events(&[(10, "app2", check), (30, "app2", state("unready"))]).await;
    scene.minutes(2, None).await;
    let open = scene.api.get("incidents?state=open").await.is(200);
    assert_eq!(open["items"][0]["title"], "app2 was taken out late");
    scene.events(&[(10, "app2", json!("gone"))]).await;
    scene.minutes(2, None).await;
    let open = scene.api.get("incidents?state=open").await.is(200);
    assert_eq!(open["items"], json!([]), "the gone are not waited for");
    // A quick removal is none.
    let quick = [(10, "app3", json!({"check": {"passed": false}})), (14, "app3", state("unready"))];
    scene.events(&quick).await;
    scene.minutes(2, None).await;
    assert_eq!(scene.api.get("incidents?state=open").await.is(200)["items"], json!([]));
}

#[tokio::test]
async fn restarts_flaps_and_kinds_are_told_from_the_number_and_severity_that_the_rules_say() {
    let fleet = json!({"name": "shop", "rules": {"restarts_per_h": 2, "min_severity": "critical",
        "kinds": {"flapping": "warning"}}});
    let mut scene = Scene::new("fleet-restarts", fleet).await;
    let state = |state: &str| json!({"state": state});
    let ready: Vec<_> =
        ["app1", "app2", "app3", "app4"].iter().map(|name| (1, *name, state("ready"))).collect();
    scene.events(&ready).await;
    scene.events(&[(2, "app1", json!({"restart_count": 0}))]).await;
    scene.minutes(2, None).await;
    scene.events(&[(10, "app1", json!({"restart_count": 1}))]).await;
    scene.minutes(2, None).await;
    let (mails, _) = scene.told().await;
    assert_eq!(mails.len(), 0, "one restart within an hour is not two");
    scene.events(&[(10, "app1", json!({"restart_count": 2}))]).await;
    scene.minutes(2, None).await;
    let (mails, _) = scene.told().await;
    assert_eq!(mails.len(), 1);
    assert!(mails[0].header("Subject").starts_with("app1 keeps restarting: shop"), "{mails:?}");
    let mut turns = Vec::new();
    for turn in 0..3 {
        turns.push((5 + 10 * turn, "app3", state("unready")));
        turns.push((9 + 10 * turn, "app3", state("ready")));
    }
    scene.events(&turns).await;
    scene.minutes(2, None).await;
    let (mails, hooks) = scene.told().await;
    assert_eq!(mails.len(), 1, "{hooks:?}");
    assert!(
        mails[0].header("Subject").starts_with("app3 flaps between ready and not: shop"),
        "{}",
        mails[0].header("Subject")
    );
    assert!(readable(&mails[0]).contains("6 changes between ready and not within 30 min"));
}

#[tokio::test]
async fn silence_is_told_and_so_is_the_first_line_after_it() {
    let mut scene = Scene::new("fleet-silent", json!({"name": "shop"})).await;
    scene.minutes(3, None).await;
    scene.api.later(400);
    scene.tell().await;
    let (mails, hooks) = scene.told().await;
    assert_eq!(mails[0].header("Subject"), "No logs arrive: shop, 1 Mar 12:02 UTC");
    let body = readable(&mails[0]);
    assert!(body.contains("how its instances are is unknown, not well."), "{body}");
    assert_eq!(hooks[0].json()["data"]["severity"], "degraded");
    scene.minutes = scene.api.clock.now().duration_since(scene.start).as_secs() / 60;
    scene.minute(None).await;
    let (mails, _) = scene.told().await;
    assert_eq!(mails.len(), 1);
    assert!(mails[0].header("Subject").starts_with("As usual again: shop"));
    assert!(readable(&mails[0]).contains("Logs arrive again."), "{}", readable(&mails[0]));
}
