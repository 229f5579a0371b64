//! What is known of a fleet, and what is not known any more: sources that fall silent, that are patient, that
//! send old lines, that were deleted; and the count by zone.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use jiff::{SignedDuration, Timestamp};
use quorate::{api::auth::Role, upkeep::Upkeep};
use serde_json::{Value, json};

use crate::support::{
    api::{Api, key_of, text},
    fleet_traffic::judge,
};

/// A fleet whose instances platforms tell of, and the clock at its beginning.
struct Scene {
    api: Api,
    upkeep: Upkeep,
    fleet: String,
    start: Timestamp,
}

impl Scene {
    async fn new(form: Value) -> Self {
        let api = Api::start().await;
        let fleet = text(&api.post("fleets", form).await.is(201)["id"]);
        let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        let start = api.clock.now();
        Self { api, upkeep, fleet, start }
    }

    /// A source says now how these instances are.
    async fn say(&self, source: &str, states: &[(&str, &str)]) {
        let at_us = self.api.clock.now().as_microsecond();
        let event = |(instance, state): &(&str, &str)| json!({"at_us": at_us, "source": "kubernetes", "instance": instance, "what": {"state": state}});
        let events: Vec<Value> = states.iter().map(event).collect();
        let path = format!("fleets/{}/events?source={source}", self.fleet);
        self.api.post(&path, json!(events)).await.is(200);
    }

    /// Time goes on in steps, in each of which these sources repeat what they say.
    async fn minutes(&self, count: u32, said: &[(&str, &[(&str, &str)])]) {
        for _ in 0..count * 2 {
            self.api.later(30);
            for (source, states) in said {
                self.say(source, states).await;
            }
            judge(&self.upkeep).await;
        }
    }

    async fn now(&self) -> Value {
        let one = self.api.get(&format!("fleets/{}", self.fleet)).await.is(200)["now"].clone();
        let all = self.api.get("fleets").await.is(200);
        assert_eq!(all["items"][0]["now"], one, "the list says the same");
        one
    }

    /// The ready series: seconds after the beginning, ready, unknown.
    async fn ready(&self) -> Vec<(i64, Option<i64>, i64)> {
        let to = self.api.clock.now();
        let path = format!("fleets/{}/health?from={}&to={to}", self.fleet, self.start);
        let health = self.api.get(&path).await.is(200);
        let point = |step: &Value| {
            let at: Timestamp = text(&step["at"]).parse().unwrap();
            let seconds = at.duration_since(self.start).as_secs();
            (seconds, step["ready"].as_i64(), step["unknown"].as_i64().unwrap())
        };
        health["ready"].as_array().unwrap().iter().map(point).collect()
    }

    async fn few_ready(&self) -> Vec<(bool, String)> {
        let path = format!("fleets/{}/findings", self.fleet);
        let all = self.api.get(&path).await.is(200);
        let few = all["items"].as_array().unwrap().iter().filter(|one| one["kind"] == "few_ready");
        few.map(|one| (one["to"].is_null(), text(&one["severity"]))).collect()
    }

    async fn lines(&self, query: &str, body: String) -> Value {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("/api/v1/fleets/{}/logs?{query}", self.fleet))
            .header(header::AUTHORIZATION, format!("Bearer {}", key_of(Role::Editor)))
            .body(Body::from(body))
            .unwrap();
        self.api.send(request).await.is(200)
    }

    async fn metric(&self, name: &str) -> Option<String> {
        let all = text(&self.api.get("/metrics").await.is(200));
        let line = all.lines().find(|line| line.starts_with(name) && line.contains("shop"))?;
        line.rsplit_once(' ').map(|(_, value)| value.to_owned())
    }
}

const A: &[(&str, &str)] = &[("a1", "ready"), ("a2", "ready")];
const B: &[(&str, &str)] = &[("b1", "ready"), ("b2", "ready")];

#[tokio::test]
async fn a_count_does_not_outlive_the_source_that_told_it() {
    let scene = Scene::new(json!({"name": "shop", "expected": 4})).await;
    scene.minutes(3, &[("one", A), ("two", B)]).await;
    let now = scene.now().await;
    assert_eq!(
        (&now["ready"], &now["unknown"], &now["live_sources"]),
        (&json!(4), &json!(0), &json!(2))
    );
    // `two` said its last word at 180 s and is patient for a minute.
    scene.minutes(3, &[("one", A)]).await;
    let now = scene.now().await;
    assert_eq!(
        (&now["ready"], &now["unknown"], &now["live_sources"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(scene.ready().await.last(), Some(&(240, Some(2), 2)));
    let path = format!("fleets/{}/instances", scene.fleet);
    let all = scene.api.get(&path).await.is(200);
    let of = |name: &str| {
        let mut items = all["items"].as_array().unwrap().iter();
        items.find(|one| one["instance"] == name).unwrap()
    };
    let b1 = of("b1");
    assert_eq!(b1["state"], "unknown");
    assert_eq!(b1["state_since"], "2026-03-01T12:04:00.000Z");
    assert_eq!(b1["transitions"], 0, "not to know is no turn");
    assert_eq!(b1["span_transitions"], of("a1")["span_transitions"]);
    // It speaks again.
    scene.minutes(2, &[("one", A), ("two", B)]).await;
    let now = scene.now().await;
    assert_eq!((&now["ready"], &now["unknown"]), (&json!(4), &json!(0)));
    assert_eq!(scene.ready().await.last(), Some(&(390, Some(4), 0)));
    assert_eq!(scene.few_ready().await, [], "at most two were missing for certain: none");
    // Then both fall silent.
    scene.minutes(2, &[]).await;
    let now = scene.now().await;
    assert_eq!((&now["state"], &now["ready"]), (&json!("no_data"), &Value::Null));
    assert_eq!(scene.ready().await.last(), Some(&(540, None, 4)));
    assert_eq!(scene.metric("quorate_fleet_instances_ready").await, None);
    // And speak again by themselves.
    scene.minutes(2, &[("one", A), ("two", B)]).await;
    assert_eq!(scene.now().await["ready"], 4);
    assert_eq!(scene.ready().await.last(), Some(&(630, Some(4), 0)));
    assert_eq!(scene.metric("quorate_fleet_instances_ready").await.as_deref(), Some("4"));
}

#[tokio::test]
async fn what_is_not_known_neither_opens_an_incident_nor_ends_one() {
    let scene = Scene::new(json!({"name": "shop", "expected": 4, "min_ready": 3})).await;
    let out: &[(&str, &str)] = &[("a1", "unready"), ("a2", "unready")];
    scene.minutes(3, &[("one", A), ("two", B)]).await;
    // Two of four not known: fewer than three are known to be ready, and it may be four.
    scene.minutes(5, &[("one", A)]).await;
    assert_eq!(scene.now().await["unknown"], 2);
    assert_eq!(scene.few_ready().await, []);
    // Too few for certain.
    scene.minutes(3, &[("one", out), ("two", B)]).await;
    let open = vec![(true, "critical".to_owned())];
    assert_eq!(scene.few_ready().await, open);
    // Nobody knows: it goes on as it was told.
    scene.minutes(4, &[("two", B)]).await;
    assert_eq!(scene.now().await["unknown"], 2);
    assert_eq!(scene.few_ready().await, open);
    scene.minutes(4, &[]).await;
    assert_eq!(scene.few_ready().await, open);
    let incidents = scene.api.get("incidents?state=open").await.is(200);
    let few = incidents["items"].as_array().unwrap().iter();
    let few = few.filter(|one| text(&one["subject"]).contains(":few_ready:")).count();
    assert_eq!(few, 1, "{incidents}");
    // Known to be enough.
    scene.minutes(3, &[("one", A), ("two", B)]).await;
    assert_eq!(scene.few_ready().await, [(false, "critical".to_owned())]);
}

#[tokio::test]
async fn how_long_a_word_holds_is_the_sources_patience() {
    let scene = Scene::new(json!({"name": "shop"})).await;
    let path = format!("fleets/{}/sources/files", scene.fleet);
    scene.api.call(Method::PUT, &path, json!({"patience_s": 600})).await.is(200);
    scene.minutes(1, &[("files", A), ("one", B)]).await;
    // Its next file comes after nine minutes; meanwhile nothing can be judged without it.
    scene.minutes(9, &[("one", B)]).await;
    let now = scene.now().await;
    assert_eq!((&now["live_sources"], &now["unknown"]), (&json!(2), &json!(0)), "{now}");
    scene.minutes(1, &[("one", B)]).await;
    scene.minutes(1, &[("one", B)]).await;
    let now = scene.now().await;
    assert_eq!(
        (&now["ready"], &now["unknown"], &now["live_sources"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(scene.ready().await.last(), Some(&(660, Some(2), 2)));
    // Files of an ALB have that patience by themselves.
    let at = scene.api.clock.now() - SignedDuration::from_secs(60);
    let line = format!("http {at} 0.01 10.9.0.11:8443 shop-tg PASS 200 -\n");
    scene.lines("source=alb", line).await;
    let path = format!("fleets/{}/sources", scene.fleet);
    let all = scene.api.get(&path).await.is(200);
    assert_eq!(
        (&all["items"][0]["format"], &all["items"][0]["patience_s"]),
        (&json!("aws-alb-health"), &json!(600))
    );
}

#[tokio::test]
async fn old_lines_and_deleted_sources_are_called_what_they_are() {
    let scene = Scene::new(json!({"name": "shop"})).await;
    assert_eq!(scene.now().await["state"], "waiting");
    let at = scene.start - SignedDuration::from_hours(2);
    let stamp =
        at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
    let line = format!("203.0.113.9 - - [{stamp}] \"GET / HTTP/1.1\" 200 512 \"-\" \"ua/1\"\n");
    scene.lines("source=web1&role=instance&format=nginx-combined", line).await;
    let path = format!("fleets/{}/sources", scene.fleet);
    let source = scene.api.get(&path).await.is(200)["items"][0].clone();
    assert_eq!((&source["live"], &source["behind_s"]), (&json!(false), &json!(7_200)));
    let now = scene.now().await;
    assert_eq!((&now["state"], &now["live_sources"]), (&json!("behind"), &json!(0)));
    scene.minutes(2, &[("one", A)]).await;
    assert_eq!(scene.now().await["ready"], 2);
    for source in ["one", "web1"] {
        scene.api.delete(&format!("fleets/{}/sources/{source}", scene.fleet)).await.is(204);
    }
    judge(&scene.upkeep).await;
    let now = scene.now().await;
    assert_eq!((&now["state"], &now["ready"]), (&json!("no_source"), &Value::Null));
    assert_eq!(scene.ready().await.last().map(|(_, ready, _)| *ready), Some(None));
}

#[tokio::test]
async fn zones_are_counted_now_and_over_time() {
    let named = json!([
        {"name": "a1", "addresses": [], "zone": "eu-1"},
        {"name": "a2", "addresses": [], "zone": "eu-2"},
        {"name": "b1", "addresses": [], "zone": "eu-1"}
    ]);
    let scene = Scene::new(json!({"name": "shop", "instances": named})).await;
    let out: &[(&str, &str)] = &[("a1", "ready"), ("a2", "unready")];
    scene.minutes(2, &[("one", A), ("two", B)]).await;
    scene.minutes(2, &[("one", out), ("two", B)]).await;
    let zone = |zone: Value, ready: Value, unknown: u32, instances: u32| json!({"zone": zone, "ready": ready, "unknown": unknown, "instances": instances});
    let now = scene.now().await;
    let of = [
        zone(json!("eu-1"), json!(2), 0, 2),
        zone(json!("eu-2"), json!(0), 0, 1),
        zone(Value::Null, json!(1), 0, 1),
    ];
    assert_eq!(now["zones"], json!(of));
    let path =
        format!("fleets/{}/health?from={}&to={}", scene.fleet, scene.start, scene.api.clock.now());
    let health = scene.api.get(&path).await.is(200);
    let steps = health["ready"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["zones"], json!(of));
    let before = steps.iter().rfind(|step| step["ready"] == 4).unwrap();
    assert_eq!(before["zones"][1], zone(json!("eu-2"), json!(1), 0, 1));
    scene.minutes(3, &[("one", out)]).await;
    let now = scene.now().await;
    assert_eq!(now["zones"][0], zone(json!("eu-1"), json!(1), 1, 2));
    assert_eq!(now["zones"][2], zone(Value::Null, Value::Null, 1, 1));
}

#[tokio::test]
async fn an_instance_that_its_log_names_keeps_its_past_when_it_is_renamed() {
    let scene = Scene::new(json!({"name": "shop"})).await;
    let minute = |n: i64| -> String {
        let line = |second: i64| {
            let at = scene.start + SignedDuration::from_secs(60 * n + second);
            let at = at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%d/%b/%Y:%H:%M:%S +0000");
            format!("203.0.113.9 - - [{at}] \"GET / HTTP/1.1\" 200 512 \"-\" \"ua/1\"\n")
        };
        (0..60).map(line).collect()
    };
    for n in 0..3 {
        scene.api.later(60);
        scene.lines("source=web1&role=instance&format=nginx-combined", minute(n)).await;
        judge(&scene.upkeep).await;
    }
    let path = format!("fleets/{}/sources/web1", scene.fleet);
    scene.api.call(Method::PUT, &path, json!({"name": "web-a"})).await.is(200);
    let fleet = scene.api.get(&format!("fleets/{}", scene.fleet)).await.is(200);
    assert_eq!(fleet["instances"], json!([{"name": "web-a", "addresses": ["web1"], "zone": null}]));
    for n in 3..6 {
        scene.api.later(60);
        scene.lines("source=web-a", minute(n)).await;
        judge(&scene.upkeep).await;
    }
    assert_eq!(scene.now().await["in_rotation"], 1, "it is one, not two");
    let all = scene.api.get(&format!("fleets/{}/instances", scene.fleet)).await.is(200);
    let all = all["items"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["instance"], &all[0]["attempts"]), (&json!("web-a"), &json!(360)));
}

#[tokio::test]
async fn the_list_says_of_each_fleet_what_its_own_page_says() {
    let scene = Scene::new(json!({"name": "shop"})).await;
    let other = text(&scene.api.post("fleets", json!({"name": "assets"})).await.is(201)["id"]);
    scene.api.post("fleets", json!({"name": "new"})).await.is(201);
    scene.minutes(2, &[("one", A)]).await;
    let body = json!([{"at_us": scene.api.clock.now().as_microsecond(), "source": "kubernetes",
        "instance": "c1", "what": {"state": "unready"}}]);
    scene.api.post(&format!("fleets/{other}/events?source=k8s"), body).await.is(200);
    for (name, fleet) in [("checkout", &scene.fleet), ("cart", &scene.fleet), ("logo", &other)] {
        let mut monitor = crate::support::api::monitor(name);
        monitor["fleet"] = json!(fleet);
        scene.api.post("monitors", monitor).await.is(201);
    }
    let all = scene.api.get("fleets").await.is(200);
    let all = all["items"].as_array().unwrap();
    let names: Vec<String> = all.iter().map(|one| text(&one["name"])).collect();
    assert_eq!(names, ["assets", "new", "shop"]);
    for one in all {
        let alone = scene.api.get(&format!("fleets/{}", text(&one["id"]))).await.is(200);
        assert_eq!(*one, alone);
    }
    let monitors = |at: usize| all[at]["monitors"].as_array().unwrap().len();
    assert_eq!([monitors(0), monitors(1), monitors(2)], [1, 0, 2]);
    assert_eq!((&all[1]["now"]["state"], &all[2]["now"]["ready"]), (&json!("waiting"), &json!(2)));
}
