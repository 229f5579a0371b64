//! An SLO on real requests: what a fleet's balancer saw, by the minute, and by the quarter hour later.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::{
    api::text,
    fleet_traffic::{PER_MINUTE, judge, minute, send},
    slo::Scene,
};

/// A minute of traffic, sent when it is over.
async fn passes(scene: &Scene, fleet: &str, at: Timestamp, bad: Option<&str>) {
    scene.wait_for(&(at + SignedDuration::from_secs(51)).to_string()).await;
    send(&scene.api, fleet, minute(at, bad)).await;
    judge(&scene.upkeep()).await;
}

/// A quarter of an hour of traffic, in the last five minutes of which one of four instances fails half of
/// its requests, and some more that end it for whoever judges.
async fn traffic(scene: &Scene, fleet: &str, start: Timestamp) {
    for k in 0..18 {
        let at = start + SignedDuration::from_secs(60 * k);
        passes(scene, fleet, at, (10..15).contains(&k).then_some("app2")).await;
    }
}

/// Requests and failures of the span, as the fleet's page tells them.
async fn told(scene: &Scene, fleet: &str, from: Timestamp, to: Timestamp) -> (u64, u64) {
    let path = format!("fleets/{fleet}/health?from={from}&to={to}");
    let series = scene.api.get(&path).await.is(200)["series"].clone();
    let sum = |name: &str| {
        series.as_array().unwrap().iter().filter_map(|step| step[name].as_u64()).sum::<u64>()
    };
    (sum("requests"), sum("failed"))
}

fn counts(report: &Value) -> (u64, u64) {
    let events = &report["events"];
    let (good, total) = (events["good"].as_u64().unwrap(), events["total"].as_u64().unwrap());
    (total, total - good)
}

#[tokio::test]
async fn requests_are_those_of_the_fleet_now_and_as_quarter_hours() {
    let mut scene = Scene::new().await;
    let fleet = text(&scene.api.post("fleets", json!({"name": "shop"})).await.is(201)["id"]);
    let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    traffic(&scene, &fleet, start).await;
    let slo = json!({"target_ppb": 990_000_000_u64, "coverage_min": 0.001,
        "window": {"kind": "calendar", "duration": "1d"}});
    let no_monitor = json!({"name": "x", "fleet": "shop", "target_ppb": 990_000_000_u64, "fallback": "monitor",
        "window": {"kind": "rolling", "duration": "1d"}});
    scene.api.post("slos", no_monitor).await.refuses(422, "monitor");
    let id = scene.slo(&slo, ("fleet", json!("shop"))).await;
    let end = start + SignedDuration::from_secs(900);
    let path = format!("slos/{id}/report?window={start}..{end}");
    let report = scene.api.get(&path).await.is(200);
    assert_eq!(
        (&report["slo"]["sli"], &report["window"]["resolution"]),
        (&json!("requests"), &json!("event"))
    );
    let (requests, failed) = told(&scene, &fleet, start, end).await;
    assert_eq!(counts(&report), (requests, failed));
    assert!(requests == 15 * 960 && failed > 5 * 100, "{requests} {failed}");
    assert_eq!(report["requests"]["by_monitor_ms"], 0);
    let five = start + SignedDuration::from_secs(300);
    let first = format!("slos/{id}/report?window={start}..{five}");
    let of_first = counts(&scene.api.get(&first).await.is(200));
    assert!(of_first.0 == 5 * 960 && of_first.1 * 3 < failed, "{of_first:?}");
    // Three hours later they are quarter hours for the fleet, and still windows here.
    let later = start + SignedDuration::from_hours(5);
    for k in 0..3 {
        passes(&scene, &fleet, later + SignedDuration::from_secs(60 * k), None).await;
    }
    let kept = scene.api.get(&path).await.is(200);
    assert_eq!(
        (&kept["window"]["resolution"], counts(&kept)),
        (&json!("event"), (requests, failed))
    );
    assert_eq!(counts(&scene.api.get(&first).await.is(200)), of_first, "minute by minute");
    // After a hundred days only quarter hours are left, and nothing is lost.
    let now = scene.api.clock.now() + SignedDuration::from_hours(100 * 24);
    scene.upkeep().forget(now).await.unwrap();
    let report = scene.api.get(&path).await.is(200);
    assert_eq!(report["window"]["resolution"], "quarter_hour");
    assert_eq!(counts(&report), (requests, failed));
}

/// Good requests of a made-up minute in which nothing but the usual fails, and how many of them take longer
/// than `ms`.
fn slower_than(ms: u64) -> (u64, u64) {
    let good = (0..u64::from(PER_MINUTE)).filter(|turn| turn % 200 != 7);
    let slow = good.clone().filter(|turn| 11 + turn % 17 > ms).count();
    (4 * good.count() as u64, 4 * slow as u64)
}

#[tokio::test]
async fn with_a_bound_slow_requests_are_bad_from_when_it_was_set() {
    let scene = Scene::new().await;
    let fleet = text(&scene.api.post("fleets", json!({"name": "shop"})).await.is(201)["id"]);
    let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let at = |minute: i64| start + SignedDuration::from_secs(60 * minute);
    for k in 0..5 {
        passes(&scene, &fleet, at(k), None).await;
    }
    let slo = |bound: u32| {
        json!({"target_ppb": 990_000_000_u64, "coverage_min": 0.001, "threshold_us": bound,
            "name": format!("within {bound}"), "fleet": "shop", "window": {"kind": "calendar", "duration": "1d"}})
    };
    let made = scene.api.post("slos", slo(20_000)).await.is(201);
    assert_eq!((&made["sli"], &made["threshold_us"]), (&json!("requests"), &json!(20_000)));
    for k in 5..18 {
        passes(&scene, &fleet, at(k), None).await;
    }
    let id = text(&made["id"]);
    let path = format!("slos/{id}/report?window={}..{}", at(0), at(15));
    let report = scene.api.get(&path).await.is(200);
    let (good, slow) = slower_than(20);
    assert!(slow > 300 && good == 4 * 238, "{good} {slow}");
    assert_eq!(
        counts(&report),
        (10 * 960, 10 * (960 - good + slow)),
        "the first five minutes are not known"
    );
    assert_eq!(report["slo"]["within_us"], 20_000);
    let share = report["coverage"]["ratio"].as_f64().unwrap();
    assert!((share - 10.0 / 15.0).abs() < 1e-9, "{report}");
    // What was not counted is no good time, however it is asked for.
    let before = format!("slos/{id}/report?window={}..{}", at(0), at(5));
    let before = scene.api.get(&before).await.is(200);
    assert_eq!((&before["state"], counts(&before).0), (&json!("no_data"), 0), "{before}");
    // As windows that are kept beside quarter hours it is the same.
    for k in 0..3 {
        passes(&scene, &fleet, at(300 + k), None).await;
    }
    assert_eq!(counts(&scene.api.get(&path).await.is(200)), counts(&report));
    // Late lines of a minute that is kept.
    send(&scene.api, &fleet, minute(at(7), None)).await;
    for k in 3..6 {
        passes(&scene, &fleet, at(300 + k), None).await;
    }
    let more = scene.api.get(&path).await.is(200);
    assert_eq!(counts(&more), (11 * 960, 11 * (960 - good + slow)));
    // Each bound is counted as lines come.
    for bound in 1..6 {
        scene.api.post("slos", slo(bound)).await.is(201);
    }
    scene.api.post("slos", slo(7)).await.refuses(422, "threshold_us");
    let mut again = slo(5);
    again["name"] = json!("again");
    scene.api.post("slos", again).await.is(201);
}

#[tokio::test]
async fn quiet_minutes_count_by_the_monitor() {
    let mut scene = Scene::new().await;
    let fleet = text(&scene.api.post("fleets", json!({"name": "shop"})).await.is(201)["id"]);
    let (monitor, _) = scene.monitor("2026-02-01T00:00:00Z").await;
    let past = json!([
        {"from": "2026-02-01T00:00:00Z", "to": "2026-03-01T11:55:00Z", "state": "up"},
        {"from": "2026-03-01T11:55:00Z", "to": "2026-03-01T12:00:00Z", "state": "down"},
        {"from": "2026-03-01T12:00:00Z", "to": null, "state": "up"},
    ]);
    scene.past(monitor, &past).await;
    let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    // The fleet was made before its traffic, and is judged by the monitor until then.
    sqlx::query("update fleet set created_at = '2026-02-01T00:00:00Z'")
        .execute(scene.api.db.pool())
        .await
        .unwrap();
    traffic(&scene, &fleet, start).await;
    let slo = json!({"target_ppb": 990_000_000_u64, "fallback": "monitor", "monitor": "m1",
        "window": {"kind": "rolling", "duration": "1d"}});
    let id = scene.slo(&slo, ("fleet", json!("shop"))).await;
    let path = format!("slos/{id}/report?window=2026-03-01T11:50:00Z..2026-03-01T12:15:00Z");
    let report = scene.api.get(&path).await.is(200);
    let shares = &report["requests"];
    assert_eq!(
        (&shares["by_requests_ms"], &shares["by_monitor_ms"]),
        (&json!(900_000), &json!(600_000)),
        "{report}"
    );
    // Five minutes down by the monitor, and the share of failed requests of fifteen minutes.
    let (requests, failed) =
        told(&scene, &fleet, start, start + SignedDuration::from_secs(900)).await;
    let share = failed as f64 / requests as f64;
    let expected = 1.0 - (300.0 + share * 900.0) / 1_500.0;
    let ratio = report["availability"]["ratio"].as_f64().unwrap();
    assert!((ratio - expected).abs() < 1e-6, "{ratio} {expected}");
}

#[tokio::test]
async fn late_lines_of_a_frozen_day_are_a_new_revision() {
    let mut scene = Scene::new().await;
    let fleet = text(&scene.api.post("fleets", json!({"name": "shop"})).await.is(201)["id"]);
    let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    traffic(&scene, &fleet, start).await;
    let slo = json!({"target_ppb": 990_000_000_u64, "coverage_min": 0.001,
        "window": {"kind": "calendar", "duration": "1d"}});
    let id = scene.slo(&slo, ("fleet", json!("shop"))).await;
    // Four days later the day is closed, and its windows are quarter hours.
    let later = start + SignedDuration::from_hours(4 * 24);
    for k in 0..3 {
        passes(&scene, &fleet, later + SignedDuration::from_secs(60 * k), None).await;
    }
    let upkeep = scene.upkeep();
    let freeze = async || while upkeep.freeze_reports(scene.api.clock.now()).await.unwrap() {};
    let revisions = async || {
        let list = scene.api.get(&format!("slos/{id}/reports")).await.is(200)["items"].clone();
        let of_the_day = list
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["window_start"] == "2026-03-01T00:00:00.000Z");
        of_the_day.cloned().collect::<Vec<_>>()
    };
    freeze().await;
    let first = revisions().await;
    assert_eq!(first.len(), 1, "{first:?}");
    let path = format!("slos/{id}/report?window=2026-03-01..2026-03-02");
    let before = scene.api.get(&format!("{path}&revision=1")).await.is(200);
    // A minute of another balancer that was cut off, of a day that was told.
    let cut_off = minute(start + SignedDuration::from_secs(120), Some("app3"));
    send(&scene.api, &fleet, cut_off).await;
    for k in 3..6 {
        passes(&scene, &fleet, later + SignedDuration::from_secs(60 * k), None).await;
    }
    freeze().await;
    let all = revisions().await;
    assert_eq!(all.len(), 2, "{all:?}");
    let after = scene.api.get(&format!("{path}&revision=2")).await.is(200);
    assert_eq!(counts(&after).0, counts(&before).0 + 960);
    assert!(after["data_revision"].as_i64() > before["data_revision"].as_i64(), "{after}");
    let told = all[0]["diff"].as_array().unwrap().iter().any(|one| one["path"] == "/events/total");
    assert!(told, "{all:?}");
    assert_eq!(scene.api.get(&format!("{path}&revision=1")).await.is(200), before);
}
