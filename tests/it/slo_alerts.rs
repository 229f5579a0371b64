//! What SLOs do by themselves: rules that fire, budgets that are spent, reports that are frozen, and what
//! maintenance and corrections leave out.

use jiff::{SignedDuration, Timestamp};
use quorate::{
    domain::{decision::State, ids::MonitorKey},
    store::{self, timeline::NewInterval},
};
use serde_json::{Value, json};

use crate::support::{api::text, slo::Scene};

/// A monitor that is up, an SLO on it, and a channel that hears everything.
struct Watched {
    scene: Scene,
    monitor: MonitorKey,
    slo: String,
}

impl Watched {
    async fn new(slo: Value) -> Self {
        let mut scene = Scene::new().await;
        let hook = json!({"name": "hook", "kind": "webhook", "min_severity": "degraded",
            "config": {"url": "https://hook.example/q"}});
        scene.api.post("channels", hook).await.is(201);
        let (monitor, id) = scene.monitor("2025-01-01T00:00:00Z").await;
        let up = json!([{"from": "2025-01-01T00:00:00Z", "to": null, "state": "up"}]);
        scene.past(monitor, &up).await;
        scene.wait_for("2026-03-01T12:00:00Z").await;
        let slo = scene.slo(&slo, ("monitor", json!(id))).await;
        Self { scene, monitor, slo }
    }

    fn now(&self) -> Timestamp {
        self.scene.api.clock.now()
    }

    /// From now on.
    async fn turns(&self, state: State) {
        let mut conn = self.scene.api.db.pool().acquire().await.unwrap();
        let new = NewInterval {
            monitor: self.monitor,
            from_at: self.now(),
            state: state.code(),
            evidence_stale: false,
            low: false,
            incident: None,
        };
        store::timeline::begin(&mut conn, &new).await.unwrap();
    }

    /// Lets time pass, with a look at the SLOs at its end.
    async fn pass(&self, seconds: i64) {
        let until = self.now() + SignedDuration::from_secs(seconds - 10);
        self.scene.wait_for(&until.to_string()).await;
        let upkeep = self.scene.upkeep();
        while upkeep.evaluate_slos(self.now()).await.unwrap() {}
    }

    async fn freeze(&self) {
        let upkeep = self.scene.upkeep();
        while upkeep.freeze_reports(self.now()).await.unwrap() {}
    }

    /// Incidents of the SLO by the end of their subject: severity, state and the kinds of their notices.
    async fn told(&self, rule: &str) -> Vec<(String, bool, Vec<String>)> {
        let rows = self.scene.api.get(&format!("incidents?slo={}", self.slo)).await.is(200);
        let mut all = Vec::new();
        for row in rows["items"].as_array().unwrap() {
            if !text(&row["subject"]).ends_with(&format!(":{rule}")) {
                continue;
            }
            assert_eq!(row["slo"]["id"], self.slo.as_str(), "{row}");
            let one = self.scene.api.get(&format!("incidents/{}", text(&row["id"]))).await.is(200);
            let kinds =
                one["notices"].as_array().unwrap().iter().map(|n| text(&n["kind"])).collect();
            all.push((text(&row["severity"]), row["resolved_at"].is_null(), kinds));
        }
        all
    }

    async fn get(&self, path: &str) -> Value {
        self.scene.api.get(&format!("slos/{}{path}", self.slo)).await.is(200)
    }
}

fn monthly(ppb: u64) -> Value {
    json!({"target_ppb": ppb, "window": {"kind": "calendar", "duration": "1M", "timezone": "Europe/Berlin"}})
}

#[tokio::test]
async fn a_rule_that_fires_is_an_incident_until_it_calms_down() {
    let rolling =
        json!({"target_ppb": 999_000_000_u64, "window": {"kind": "rolling", "duration": "30d"}});
    let one = Watched::new(rolling).await;
    one.pass(60).await;
    assert_eq!(one.told("fast").await, []);
    one.turns(State::Down).await;
    one.pass(120).await;
    let opened = ("down".to_owned(), true, vec!["opened".to_owned()]);
    assert_eq!(
        one.told("fast").await,
        vec![opened.clone()],
        "115 s of an hour are more than 51.84"
    );
    assert_eq!(one.told("slow").await, [], "a day allows 259.2 s");
    let now = one.get("").await["now"].clone();
    assert_eq!((&now["state"], &now["alerts"][0]["firing"]), (&json!("burning"), &json!(true)));
    one.turns(State::Unknown).await;
    one.pass(600).await;
    // Nothing is known of the last five minutes: it stays as it is.
    assert_eq!(one.told("fast").await, [opened]);
    assert_eq!(one.get("").await["now"]["alerts"][0]["frozen"], true);
    one.turns(State::Up).await;
    one.pass(400).await;
    let over = ("down".to_owned(), false, vec!["opened".to_owned(), "resolved".to_owned()]);
    assert_eq!(one.told("fast").await, [over], "the short lookback is clean");
    // The report tells the worst of it: 115 s of the 3.6 s that an hour is allowed, and of the 0.3 s of five
    // minutes.
    let page = text(&one.get("/report.html").await);
    let fired = page.split("Burn alerts that fired").nth(1).unwrap();
    let fired = fired.split("</section>").next().unwrap();
    assert!(fired.contains("31.9 / 383<"), "{fired}");
    let row = one.scene.api.get(&format!("incidents?slo={}", one.slo)).await.is(200);
    let id = text(&row["items"][0]["id"]);
    assert_eq!(row["items"][0]["title"], "burns its error budget too fast");
    one.scene.api.post(&format!("incidents/{id}/resolve"), Value::Null).await.is(409);
    // The same again within ten minutes is the same incident.
    one.turns(State::Down).await;
    one.pass(120).await;
    let again = one.told("fast").await;
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(again[0].2, ["opened", "resolved", "reopened"]);
    // Deleting the SLO ends what is open.
    one.scene.api.delete(&format!("slos/{}", one.slo)).await.is(204);
    let row = one.scene.api.get(&format!("incidents/{id}")).await.is(200);
    assert_eq!(row["resolve_reason"], "deleted", "{row}");
}

#[tokio::test]
async fn a_spent_budget_is_an_incident_of_its_own() {
    let mut slo = monthly(999_000_000);
    slo["rules"] = json!([]);
    let one = Watched::new(slo).await;
    one.turns(State::Down).await;
    one.pass(2_700).await;
    assert_eq!(one.told("budget").await, [("partial".to_owned(), true, vec!["opened".to_owned()])]);
    assert_eq!(one.get("").await["now"]["state"], "breached");
    one.turns(State::Up).await;
    // A new month has a budget of its own.
    one.pass(31 * 86_400).await;
    let over = vec!["opened".to_owned(), "resolved".to_owned()];
    assert_eq!(one.told("budget").await, [("partial".to_owned(), false, over)]);
}

#[tokio::test]
async fn a_month_is_frozen_three_days_after_its_end_and_again_when_its_past_changes() {
    let one = Watched::new(monthly(999_000_000)).await;
    one.turns(State::Down).await;
    one.pass(3_600).await;
    one.turns(State::Up).await;
    one.pass(33 * 86_400).await;
    one.freeze().await;
    assert_eq!(one.get("/reports").await["items"], json!([]), "two and a half days after");
    one.pass(86_400).await;
    one.freeze().await;
    one.freeze().await;
    let list = one.get("/reports").await["items"].clone();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let march = &list[0];
    assert_eq!(
        (&march["revision"], &march["met"], &march["diff"]),
        (&json!(1), &json!(false), &json!([]))
    );
    assert_eq!(march["window_end"], "2026-03-31T22:00:00.000Z");
    let path = "/report?window=2026-03-01..2026-04-01";
    let frozen = one.get(&format!("{path}&revision=1")).await;
    assert_eq!(frozen["sha256"], march["sha256"]);
    assert_eq!(frozen["report_revision"], 1);
    let live = one.get(path).await;
    assert_eq!(live["time_ms"], frozen["time_ms"]);
    assert_eq!(live["window"], frozen["window"], "the same whenever it is asked");
    one.scene.api.get(&format!("slos/{}{path}&revision=2", one.slo)).await.is(404);
    // It was the provider's fault, which the contract leaves out: a correction, with a reason.
    let correction = json!({"name": "provider", "kind": "correction", "start": "2026-03-01T12:00:00Z",
        "end": "2026-03-01T13:00:10Z", "reason": "the provider's ticket 4711"});
    let mut without = correction.clone();
    without["reason"] = Value::Null;
    one.scene.api.post("maintenance", without).await.refuses(422, "reason");
    one.scene.api.post("maintenance", correction).await.is(201);
    one.freeze().await;
    one.freeze().await;
    let list = one.get("/reports").await["items"].clone();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    assert_eq!((&list[0]["revision"], &list[0]["met"]), (&json!(2), &json!(true)));
    let paths: Vec<&str> =
        list[0]["diff"].as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"/availability/met"), "{paths:?}");
    assert_eq!(one.get(&format!("{path}&revision=1")).await, frozen, "what was handed out stays");
    let second = one.get(&format!("{path}&revision=2")).await;
    assert_eq!(second["maintenance"][0]["kind"], "correction");
    assert_eq!(second["maintenance"][0]["reason"], "the provider's ticket 4711");
    // The hash is of the report: anybody can work it out.
    let mut body = second.clone();
    for own in ["sha256", "engine_version"] {
        body.as_object_mut().unwrap().remove(own);
    }
    assert_eq!(second["sha256"], quorate::domain::slo::canonical::sha256(&body));
    // What changed elsewhere makes no revision.
    let other = json!({"name": "later", "kind": "correction", "start": "2026-04-02T00:00:00Z",
        "end": "2026-04-02T01:00:00Z", "reason": "a drill"});
    one.scene.api.post("maintenance", other).await.is(201);
    one.freeze().await;
    assert_eq!(one.get("/reports").await["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn maintenance_leaves_out_what_came_after_it_was_declared_and_no_more() {
    let rolling =
        json!({"target_ppb": 999_000_000_u64, "window": {"kind": "rolling", "duration": "1d"}});
    let one = Watched::new(rolling).await;
    one.turns(State::Down).await;
    one.pass(600).await;
    let now = one.now();
    let window = json!({"name": "upgrade", "start": now - SignedDuration::from_secs(600),
        "end": now + SignedDuration::from_secs(1_200)});
    let window = one.scene.api.post("maintenance", window).await.is(201);
    one.pass(600).await;
    one.scene
        .api
        .post(&format!("maintenance/{}/end", text(&window["id"])), Value::Null)
        .await
        .is(200);
    one.pass(600).await;
    one.turns(State::Up).await;
    one.pass(60).await;
    let report = one.get("/report").await;
    assert_eq!(report["time_ms"]["excluded"], 600_000, "from its declaration to its early end");
    assert_eq!(report["time_ms"]["down"], 1_200_000);
    assert_eq!(report["maintenance"][0]["excluded_ms"], 600_000);
    // Planned ahead: written down when it begins, with the monitors of that moment.
    let now = one.now();
    let ahead = json!({"name": "ahead", "start": now + SignedDuration::from_secs(100),
        "end": now + SignedDuration::from_secs(200)});
    one.scene.api.post("maintenance", ahead).await.is(201);
    one.pass(150).await;
    let before = one.get("/report").await;
    let mut conn = one.scene.api.db.pool().acquire().await.unwrap();
    store::maintenance_occurrences::begin_due(&mut conn, one.now(), 10).await.unwrap();
    assert_eq!(one.scene.written("ahead").await, 1);
    assert_eq!(one.get("/report").await["time_ms"], before["time_ms"], "written down or not");
    one.pass(150).await;
    let report = one.get("/report").await;
    assert_eq!(report["time_ms"]["excluded"], 700_000);
    // The monitor's page says the same.
    let to = text(&report["window"]["end"]);
    let from = text(&report["window"]["start"]);
    let id = text(&one.get("").await["monitor"]["id"]);
    let page =
        one.scene.api.get(&format!("monitors/{id}/availability?from={from}&to={to}")).await.is(200);
    assert_eq!((&page["maintenance_ms"], &page["down_ms"]), (&json!(700_000), &json!(1_200_000)));
    assert_eq!(page["percent"], report["availability"]["pct"]);
}
