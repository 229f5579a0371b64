//! Maintenance that names a fleet: its alerts are kept silent, those of others are not, and what outlasts
//! the window is told.

use quorate::upkeep::Upkeep;
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    fleet_traffic::{judge, minute, send},
};

struct Scene {
    api: Api,
    upkeep: Upkeep,
    start: jiff::Timestamp,
    minutes: i64,
}

impl Scene {
    async fn new(fleets: &[&str]) -> Self {
        let api = Api::start().await;
        let hook = json!({"name": "hook", "kind": "webhook", "min_severity": "degraded",
            "config": {"url": "https://hook.example/q"}});
        api.post("channels", hook).await.is(201);
        for name in fleets {
            api.post("fleets", json!({ "name": name })).await.is(201);
        }
        let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        Self { start: api.clock.now(), api, upkeep, minutes: 0 }
    }

    async fn id(&self, name: &str) -> String {
        let all = self.api.get("fleets").await.is(200);
        let one = all["items"].as_array().unwrap().iter().find(|fleet| fleet["name"] == name);
        text(&one.unwrap()["id"])
    }

    /// The next minutes of all these fleets, in which `bad` fails.
    async fn minutes(&mut self, fleets: &[&str], count: u32, bad: Option<&str>) {
        for _ in 0..count {
            let at = self.start + jiff::SignedDuration::from_secs(60 * self.minutes);
            self.api.later(60);
            for name in fleets {
                send(&self.api, &self.id(name).await, minute(at, bad)).await;
            }
            self.minutes += 1;
            judge(&self.upkeep).await;
        }
    }

    async fn window(&self, covers: Value, minutes: i64) -> Value {
        let now = self.api.clock.now();
        let end = now + jiff::SignedDuration::from_secs(60 * minutes);
        let mut window = json!({"name": "upgrade", "start": now, "end": end});
        for (name, value) in covers.as_object().unwrap() {
            window[name] = value.clone();
        }
        self.api.post("maintenance", window).await.is(201)
    }

    /// Open and past incidents of one fleet, the latest first, with the kinds of their notices.
    async fn told(&self, fleet: &str) -> Vec<(Value, Vec<String>)> {
        let rows = self.api.get(&format!("incidents?fleet={fleet}")).await.is(200);
        let mut all = Vec::new();
        for row in rows["items"].as_array().unwrap() {
            let one = self.api.get(&format!("incidents/{}", text(&row["id"]))).await.is(200);
            let kinds = one["notices"].as_array().unwrap().iter().map(|n| text(&n["kind"]));
            all.push((row.clone(), kinds.collect()));
        }
        all
    }
}

#[tokio::test]
async fn a_window_on_one_fleet_silences_it_and_no_other() {
    let mut scene = Scene::new(&["shop", "pay"]).await;
    let both = ["shop", "pay"];
    scene.minutes(&both, 30, None).await;
    let window = scene.window(json!({"fleets": ["shop"]}), 30).await;
    assert_eq!(window["fleets"], json!([scene.id("shop").await]));
    assert_eq!(window["monitors"], json!([]), "and no monitor");
    scene.minutes(&both, 5, Some("app2")).await;
    let shop = scene.told("shop").await;
    assert_eq!((&shop[0].0["suppressed"], shop[0].1.len()), (&json!(true), 0), "{shop:?}");
    let pay = scene.told("pay").await;
    assert_eq!((&pay[0].0["suppressed"], pay[0].1.len()), (&json!(false), 1), "{pay:?}");
    // Over inside the window: nobody ever hears of it.
    scene.minutes(&both, 6, None).await;
    let shop = scene.told("shop").await;
    assert_eq!(shop[0].0["resolve_reason"], "recovered");
    assert_eq!(shop[0].1.len(), 0, "{shop:?}");
    assert_eq!(scene.told("pay").await[0].1, ["opened", "resolved"]);
}

#[tokio::test]
async fn what_outlasts_the_window_is_told_from_its_end_on() {
    let mut scene = Scene::new(&["shop"]).await;
    scene.minutes(&["shop"], 30, None).await;
    let window = scene.window(json!({"fleets": [scene.id("shop").await]}), 5).await;
    scene.minutes(&["shop"], 4, Some("app2")).await;
    assert_eq!(scene.told("shop").await[0].1.len(), 0);
    // What is found in the first minutes after it may still be its echo.
    scene.minutes(&["shop"], 4, Some("app2")).await;
    assert_eq!(scene.told("shop").await[0].1.len(), 0);
    scene.minutes(&["shop"], 3, Some("app2")).await;
    let (row, kinds) = scene.told("shop").await.remove(0);
    assert_eq!(kinds, ["after_maintenance"]);
    assert_eq!((&row["suppressed"], &row["started_at"]), (&json!(false), &window["end"]));
    let one = scene.api.get(&format!("incidents/{}", text(&row["id"]))).await.is(200);
    let events: Vec<_> =
        one["events"].as_array().unwrap().iter().map(|e| text(&e["kind"])).collect();
    assert!(events.contains(&"opened:after_maintenance".to_owned()), "{events:?}");
    scene.minutes(&["shop"], 6, None).await;
    assert_eq!(scene.told("shop").await[0].1, ["after_maintenance", "resolved"]);
}

#[tokio::test]
async fn what_was_told_before_the_window_is_told_to_its_end() {
    let mut scene = Scene::new(&["shop"]).await;
    scene.minutes(&["shop"], 30, None).await;
    scene.minutes(&["shop"], 4, Some("app2")).await;
    assert_eq!(scene.told("shop").await[0].1, ["opened"]);
    scene.window(json!({"fleets": ["shop"]}), 60).await;
    scene.minutes(&["shop"], 6, None).await;
    assert_eq!(scene.told("shop").await[0].1, ["opened", "resolved"]);
}

#[tokio::test]
async fn a_window_says_what_it_covers() {
    let scene = Scene::new(&["shop"]).await;
    scene.api.monitor("checkout").await;
    let shop = scene.id("shop").await;
    let refused = async |covers: Value, field: &str| {
        let mut window =
            json!({"name": "w", "start": "2026-03-01T12:00:00Z", "end": "2026-03-01T13:00:00Z"});
        for (name, value) in covers.as_object().unwrap() {
            window[name] = value.clone();
        }
        scene.api.post("maintenance", window).await.refuses(422, field);
    };
    refused(json!({"fleets": []}), "fleets").await;
    refused(json!({"monitors": []}), "monitors").await;
    refused(json!({"fleets": ["shop", "nobody"]}), "fleets[1]").await;
    let everything = scene.window(json!({}), 10).await;
    assert_eq!((&everything["monitors"], &everything["fleets"]), (&Value::Null, &Value::Null));
    let monitors = scene.window(json!({"monitors": ["checkout"]}), 10).await;
    assert_eq!(monitors["fleets"], Value::Null, "a monitor's window covers no fleet");
    let both = scene.window(json!({"monitors": ["checkout"], "fleets": ["shop"]}), 10).await;
    assert_eq!(both["fleets"], json!([shop]));
    assert_eq!(both["monitors"].as_array().unwrap().len(), 1);
    // As it is shown it can be declared again.
    let fleets = scene.window(json!({"fleets": ["shop"]}), 10).await;
    let again = json!({"monitors": fleets["monitors"], "fleets": fleets["fleets"]});
    assert_eq!(scene.window(again, 10).await["fleets"], json!([shop]));
    let covering = scene.api.get(&format!("maintenance?fleet={shop}")).await.is(200);
    let ids: Vec<_> =
        covering["items"].as_array().unwrap().iter().map(|w| text(&w["id"])).collect();
    assert_eq!(ids.len(), 4);
    assert!(!ids.contains(&text(&monitors["id"])));
}
