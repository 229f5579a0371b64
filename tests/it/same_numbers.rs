//! One past, told in every place at one instant: the same numbers everywhere.

use std::collections::BTreeMap;

use axum::http::Method;
use jiff::Timestamp;
use quorate::api::auth::Role;
use serde_json::{Value, json};

use crate::support::{
    api::{key_of, text},
    slo::Scene,
};

const NOW: &str = "2026-03-20T09:41:17.333Z";

/// Everything that can happen to a monitor, with edges on odd milliseconds.
fn past() -> Value {
    let edges = [
        ("2026-02-03T07:11:13.517Z", "up"),
        ("2026-02-25T23:58:59.999Z", "down"),
        ("2026-02-26T00:13:07.001Z", "up"),
        ("2026-03-01T03:33:33.333Z", "degraded"),
        ("2026-03-01T04:44:44.444Z", "up"),
        ("2026-03-05T12:00:00.007Z", "partial"),
        ("2026-03-05T12:31:11.119Z", "down"),
        ("2026-03-05T12:40:00.123Z", "partial"),
        ("2026-03-05T12:42:00.321Z", "up"),
        ("2026-03-08T01:02:03.004Z", "unknown"),
        ("2026-03-08T01:32:03.104Z", "up"),
        // Begins before planned maintenance and ends within it.
        ("2026-03-10T21:50:00.051Z", "down"),
        ("2026-03-10T22:20:00.151Z", "up"),
        ("2026-03-13T06:00:00.017Z", "paused"),
        ("2026-03-13T06:59:59.983Z", "up"),
        ("2026-03-18T17:17:17.171Z", "down"),
        ("2026-03-18T17:20:20.202Z", "up"),
    ];
    let ends = edges.iter().skip(1).map(|(at, _)| json!(at)).chain([Value::Null]);
    edges
        .iter()
        .zip(ends)
        .map(|((from, state), to)| json!({"from": from, "to": to, "state": state}))
        .collect()
}

fn maintenance() -> Value {
    json!([
        {"start": "2026-03-10T22:00:00.000Z", "end": "2026-03-10T23:00:00.000Z", "declared_at": "2026-03-01T00:00:00Z"},
        // Declared while it ran: the part before does count.
        {"start": "2026-03-13T06:30:00.000Z", "end": "2026-03-13T07:30:00.000Z", "declared_at": "2026-03-13T06:45:00.005Z"},
        // Entered afterwards, over an outage.
        {"start": "2026-03-18T17:18:00.000Z", "end": "2026-03-18T17:19:00.000Z", "kind": "correction", "reason": "ours",
         "declared_at": "2026-03-19T00:00:00Z"},
        // Only shown.
        {"start": "2026-03-05T12:30:00.000Z", "end": "2026-03-05T12:35:00.000Z", "effect": "label", "declared_at": "2026-03-01T00:00:00Z"},
    ])
}

/// A monitor with that past and objectives on it over windows of all kinds.
async fn scene() -> (Scene, String, Vec<String>) {
    let mut scene = Scene::new().await;
    let (key, monitor) = scene.monitor("2026-02-03T07:11:13.517Z").await;
    scene.past(key, &past()).await;
    scene.maintenance(key, &maintenance()).await;
    let mut conn = scene.api.db.pool().acquire().await.unwrap();
    let hole = |text: &str| text.parse::<Timestamp>().unwrap();
    let (from, to) = (hole("2026-03-15T10:00:00.011Z"), hole("2026-03-15T10:07:00.029Z"));
    quorate::store::chores::add_not_running(&mut conn, from, to).await.unwrap();
    drop(conn);
    scene.wait_for(NOW).await;
    let mut slos = Vec::new();
    for window in [
        json!({"kind": "rolling", "duration": "30d"}),
        json!({"kind": "rolling", "duration": "7d", "timezone": "America/New_York"}),
        json!({"kind": "rolling", "duration": "90d"}),
        json!({"kind": "calendar", "duration": "1M", "timezone": "Europe/Berlin"}),
        json!({"kind": "calendar", "duration": "1w", "timezone": "Asia/Tokyo"}),
    ] {
        let slo =
            json!({"target_ppb": 999_000_000, "service": "shop", "window": window, "decimals": 3});
        slos.push(scene.slo(&slo, ("monitor", json!(monitor))).await);
    }
    scene.upkeep().evaluate_slos(scene.api.clock.now()).await.unwrap();
    (scene, monitor, slos)
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// The only row of a table under its heads, by head.
fn row(csv: &str) -> BTreeMap<String, String> {
    let (head, values) = csv.trim_end().split_once("\r\n").unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    assert!(!values.contains("\r\n"), "{csv}");
    cells(head).into_iter().zip(cells(values)).collect()
}

/// A number of seconds as whole milliseconds.
fn millis(seconds: &str) -> i64 {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits = format!("{whole}{fraction:0<3}");
    digits.parse().unwrap_or_else(|_| panic!("{seconds}"))
}

async fn gauges(scene: &Scene) -> BTreeMap<String, f64> {
    let bearer = format!("Bearer {}", key_of(Role::Admin));
    let headers = [("authorization", bearer.as_str())];
    let page = text(&scene.api.plain(Method::GET, "/metrics", Value::Null, &headers).await.is(200));
    let lines = page.lines().filter(|line| line.starts_with("quorate_slo_"));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(a, b)| (a.to_owned(), b.parse().unwrap()))
        .collect()
}

#[tokio::test]
async fn the_same_numbers_stand_everywhere() {
    let (scene, monitor, slos) = scene().await;
    let gauges = gauges(&scene).await;
    let list = scene.api.get("slos").await.is(200);
    let mut seen_partial = 0;
    for id in &slos {
        let slo = scene.api.get(&format!("slos/{id}")).await.is(200);
        let path = format!("slos/{id}/report");
        let report = scene.api.get(&path).await.is(200);
        let window = &report["window"];
        let as_of = text(&window["as_of"]);
        let pinned = scene.api.get(&format!("{path}?as_of={as_of}")).await.is(200);
        assert_eq!(pinned["sha256"], report["sha256"], "pinned to the present, the same document");

        // The SLO's page and the list of all.
        let listed =
            list["items"].as_array().unwrap().iter().find(|one| one["id"] == **id).unwrap();
        assert_eq!(listed["now"], slo["now"]);
        let now = &slo["now"];
        let (availability, budget) = (&report["availability"], &report["budget"]);
        for (there, here) in [
            ("state", &report["state"]),
            ("ratio", &availability["ratio"]),
            ("pct", &availability["pct"]),
            ("met", &availability["met"]),
            ("coverage", &report["coverage"]["ratio"]),
            ("budget_left", &budget["remaining_ms"]),
            ("consumed_ratio", &budget["consumed_ratio"]),
            ("remaining_ratio", &budget["remaining_ratio"]),
            ("burn", &report["burn"]),
            ("window_start", &window["start"]),
            ("watermark", &window["watermark"]),
        ] {
            assert_eq!(&now[there], here, "{there} of {window}");
        }

        // The monitor's page over the same span.
        let span = format!("from={}&to={}", text(&window["start"]), text(&window["watermark"]));
        let page = scene.api.get(&format!("monitors/{monitor}/availability?{span}")).await.is(200);
        let time = &report["time_ms"];
        for (there, here) in [
            (int(&page["up_ms"]) + int(&page["degraded_ms"]), &time["up"]),
            (int(&page["degraded_ms"]), &time["degraded"]),
            (int(&page["partial_ms"]), &time["partial"]),
            (int(&page["down_ms"]), &time["down"]),
            (int(&page["unknown_ms"]), &time["unknown"]),
            (int(&page["maintenance_ms"]), &time["excluded"]),
            (int(&page["paused_ms"]), &time["paused"]),
        ] {
            assert_eq!(there, int(here), "{time} and {page} of {window}");
        }
        assert_eq!(page["percent"], availability["pct"]);
        assert_eq!(page["outages"], report["outages"]["started"]);
        seen_partial += int(&time["partial"]);

        // The table and the page that are handed out.
        let csv =
            text(&scene.api.get(&format!("slos/{id}/report.csv?as_of={as_of}")).await.is(200));
        let csv = row(&csv);
        assert_eq!(csv["availability_pct"], text(&availability["pct"]));
        assert_eq!(csv["state"], text(&report["state"]));
        assert_eq!(csv["met"], availability["met"].to_string());
        for (column, value) in [
            ("down_s", &time["down"]),
            ("partial_s", &time["partial"]),
            ("unknown_s", &time["unknown"]),
            ("excluded_s", &time["excluded"]),
            ("paused_s", &time["paused"]),
            ("not_monitored_s", &time["not_monitored"]),
            ("budget_s", &budget["total_ms"]),
            ("budget_remaining_s", &budget["remaining_ms"]),
            ("longest_outage_s", &report["outages"]["longest_ms"]),
        ] {
            assert_eq!(millis(&csv[column]), int(value), "{column} of {window}");
        }
        let html =
            text(&scene.api.get(&format!("slos/{id}/report.html?as_of={as_of}")).await.is(200));
        let pct = text(&availability["pct"]);
        assert!(html.contains(&pct), "{pct} is not on the page");

        // What Prometheus reads.
        let name = text(&slo["name"]);
        let gauge = |family: &str, label: &str| {
            let series = format!("quorate_slo_{family}{{slo=\"{name}\",service=\"shop\"{label}}}");
            *gauges.get(&series).unwrap_or_else(|| panic!("{series}"))
        };
        let duration = text(&slo["window"]["duration"]);
        let windowed = format!(",window=\"{duration}\"");
        assert_eq!(Some(gauge("sli_ratio", &windowed)), availability["ratio"].as_f64());
        assert_eq!(Some(gauge("coverage_ratio", &windowed)), report["coverage"]["ratio"].as_f64());
        let seconds = |value: &Value| int(value) as f64 / 1e3;
        assert_eq!(gauge("error_budget_seconds", &windowed), seconds(&budget["total_ms"]));
        assert_eq!(
            gauge("error_budget_remaining_seconds", &windowed),
            seconds(&budget["remaining_ms"])
        );
        for burn in report["burn"].as_array().unwrap() {
            let label = format!(",lookback=\"{}\"", text(&burn["lookback"]));
            assert_eq!(Some(gauge("burn_rate_ratio", &label)), burn["rate"].as_f64());
        }
        let watermark: Timestamp = text(&window["watermark"]).parse().unwrap();
        let told = watermark.as_millisecond() as f64 / 1e3;
        let series = format!("quorate_slo_watermark_timestamp_seconds{{slo=\"{name}\"}}");
        assert_eq!(gauges.get(&series).copied(), Some(told));
    }
    assert!(seen_partial > 0);
}

#[tokio::test]
async fn a_frozen_as_of_says_the_same_later() {
    let (scene, monitor, slos) = scene().await;
    let as_of = "2026-03-12T11:11:11.111Z";
    let span = format!("from=2026-02-28T23:00:00Z&to={as_of}");
    let path = format!("slos/{}/report?as_of={as_of}", slos[3]);
    let (before, page) = (
        scene.api.get(&path).await.is(200),
        scene.api.get(&format!("monitors/{monitor}/availability?{span}")).await.is(200),
    );
    assert_eq!(before["window"]["start"], "2026-02-28T23:00:00.000Z");
    assert_eq!(page["percent"], before["availability"]["pct"]);
    assert_eq!(page["down_ms"], before["time_ms"]["down"]);
    scene.wait_for("2026-03-25T00:00:00.000Z").await;
    let after = scene.api.get(&path).await.is(200);
    assert_eq!(after["sha256"], before["sha256"]);
    let again = scene.api.get(&format!("monitors/{monitor}/availability?{span}")).await.is(200);
    assert_eq!(again, page);
}

/// A result a minute from one location, now and then bad, slow or of no use.
fn results(from: Timestamp, minutes: i64) -> Value {
    let one = |minute: i64| {
        let at = from + jiff::SignedDuration::from_secs(60 * minute + 7);
        let outcome = match minute {
            _ if minute % 97 == 0 => "fail",
            _ if minute % 211 == 0 => "invalid",
            _ => "ok",
        };
        let duration_us = if minute % 53 == 0 { 400_000 } else { 20_000 + minute % 1_000 };
        json!({"at": at.to_string(), "location": "eu", "outcome": outcome, "duration_us": duration_us})
    };
    (0..minutes).map(one).collect()
}

#[tokio::test]
async fn events_are_the_same_one_by_one_and_as_sums() {
    let mut scene = Scene::new().await;
    scene.api.post("locations", json!({"name": "eu"})).await.is(201);
    let start: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
    let (key, monitor) = scene.monitor("2026-03-02T00:00:00Z").await;
    scene.past(key, &json!([{"from": "2026-03-02T00:00:00Z", "to": null, "state": "up"}])).await;
    let mut ids = Vec::new();
    for (sli, zone) in [
        ("probe_ratio", "UTC"),
        ("probe_ratio", "Asia/Kathmandu"),
        ("latency", "UTC"),
        ("latency", "Europe/Berlin"),
    ] {
        let mut slo = json!({"target_ppb": 900_000_000, "sli": sli, "service": "shop",
            "window": {"kind": "rolling", "duration": "30d", "timezone": zone}});
        if sli == "latency" {
            slo["threshold_us"] = 300_000.into();
        }
        ids.push(scene.slo(&slo, ("monitor", json!(monitor))).await);
    }
    let upkeep = scene.upkeep();
    // From here on quarter hours are counted.
    scene.wait_for(&start.to_string()).await;
    upkeep.roll_up(scene.api.clock.now()).await.unwrap();
    scene.results(key, &results(start, 4 * 1_440 + 33)).await;
    scene.wait_for("2026-03-06T00:33:00Z").await;
    let now = scene.api.clock.now();
    while upkeep.roll_up(now).await.unwrap() {}
    let asked =
        |id: &String| format!("slos/{id}/report?window=2026-03-02T00:00:00Z..2026-03-06T00:00:00Z");
    let figures = |report: &Value| {
        ["events", "availability", "coverage", "budget", "state", "days"]
            .map(|part| report[part].clone())
    };
    let mut before = Vec::new();
    for id in &ids {
        let report = scene.api.get(&asked(id)).await.is(200);
        assert_eq!(report["window"]["resolution"], "event");
        assert!(int(&report["events"]["total"]) > 5_000, "{report}");
        before.push(figures(&report));
    }
    assert_ne!(before[0][1], before[2][1]);
    // The first three days are gone one by one, and there as sums.
    let mut conn = scene.api.db.pool().acquire().await.unwrap();
    let kept = jiff::civil::date(2026, 3, 5);
    for day in quorate::store::reports::partition_days(&mut conn).await.unwrap() {
        if day < kept {
            quorate::store::reports::drop_partition(&mut conn, day).await.unwrap();
        }
    }
    drop(conn);
    for (id, before) in ids.iter().zip(&before) {
        let report = scene.api.get(&asked(id)).await.is(200);
        let after = figures(&report);
        for (before, after) in before.iter().zip(&after).take(5) {
            assert_eq!(before, after, "{id}");
        }
        let pcts = |days: &Value| -> Vec<Value> {
            days.as_array().unwrap().iter().map(|day| day["pct"].clone()).collect()
        };
        assert_eq!(pcts(&before[5]), pcts(&after[5]), "{id}");
    }
    // What lists show is read by whole days, what the report shows by the SLO's own.
    upkeep.evaluate_slos(now).await.unwrap();
    for id in &ids {
        let slo = scene.api.get(&format!("slos/{id}")).await.is(200);
        let report = scene.api.get(&format!("slos/{id}/report")).await.is(200);
        assert_eq!(slo["now"]["pct"], report["availability"]["pct"]);
        assert_eq!(slo["now"]["ratio"], report["availability"]["ratio"]);
        assert_eq!(slo["now"]["budget_left"], report["budget"]["remaining"]);
        assert_eq!(slo["now"]["coverage"], report["coverage"]["ratio"]);
    }
}

/// What a visitor gets, without a sign-in.
async fn visit(scene: &Scene, path: &str) -> Value {
    let request = axum::http::Request::builder().uri(path).body(axum::body::Body::empty()).unwrap();
    scene.api.send(request).await.is(200)
}

#[tokio::test]
async fn the_public_gets_the_same_numbers() {
    let (scene, monitor, slos) = scene().await;
    let objective = &slos[0];
    let parts = json!([
        {"name": "Shop", "monitor": monitor},
        {"name": "Promise", "slo": objective},
    ]);
    let page = json!({"name": "Shop", "slug": "shop", "timezone": "Europe/Berlin", "published": true, "days": 30,
        "groups": [{"name": "All", "parts": parts}]});
    scene.api.post("status-pages", page).await.is(201);
    // Thirty civil days of Berlin, today among them.
    let report = scene.api.get(&format!("slos/{objective}/report")).await.is(200);
    let watermark = text(&report["window"]["watermark"]);
    let span = format!("from=2026-02-18T23:00:00.000Z&to={watermark}");
    let days = scene.api.get(&format!("monitors/{monitor}/availability?{span}")).await.is(200);
    let three = text(&days["percent"]);
    let two = &three[..three.len() - 1];
    let html = text(&visit(&scene, "/status/shop").await);
    let told = html.matches(&format!("{two}\u{a0}% in 30 days")).count();
    assert_eq!(told, 2, "{two} of the monitor and of its SLO: {html}");

    // The badge of the SLO is on its own window.
    let badge = visit(&scene, "/badge/shop/promise.json").await;
    let pct = text(&report["availability"]["pct"]);
    assert_eq!(badge["message"], format!("{pct}%"), "{badge}");
    let badge = visit(&scene, "/badge/shop/shop.json").await;
    assert_eq!(badge["message"], "up");
    let summary = visit(&scene, "/status/shop/summary.json").await;
    let components = summary["components"].as_array().unwrap();
    let of = |name: &str| components.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(of("Shop")["status"], "operational");
    assert_eq!(of("Promise")["status"], "operational");
}
