//! SLOs through the interface, from what is stored: the same vectors that `quorate slo eval` answers.

use std::{fs, path::PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{api::text, slo::Scene};

fn cases(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/slo").join(name);
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// Ratios to half a unit in the ninth decimal, everything else exactly.
fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(a), Value::Number(b)) if a.to_string().contains('.') => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= 5e-10
        }
        _ => expected == got,
    }
}

fn check(title: &str, case: &Value, got: &Value, ids: &[(String, String)]) {
    for (pointer, expected) in case["expect"].as_object().unwrap() {
        let mut expected = expected.clone();
        if let Some((_, id)) = ids.iter().find(|(name, _)| expected == name.as_str()) {
            expected = id.clone().into();
        }
        let value = got.pointer(pointer).unwrap_or(&Value::Null);
        let time = format!("{} {}", got["time_ms"], got["window"]);
        assert!(
            same(&expected, value),
            "{title}: {pointer}: {expected} expected, {value} got, of {time}"
        );
    }
}

/// Cases whose verdicts come from slots, or whose indicator is worked out by the tool alone.
fn only_by_file(case: &Value) -> bool {
    let slo = &case["file"]["slo"];
    case["file"].get("slots").is_some()
        || slo["sli"] == "slices"
        || slo["sli"] == "requests"
        || slo["weight"].as_str().is_some_and(|weight| weight.starts_with("slice_mean"))
}

#[tokio::test]
async fn every_vector_of_time_comes_out_of_stored_intervals() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/slo");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut all: Vec<(String, Value)> = Vec::new();
    // How fine a monitor measures is not in its past: that vector has a test of its own.
    for name in names.iter().filter(|name| !name.starts_with("21-")) {
        let own = cases(name).into_iter().filter(|case| !only_by_file(case));
        all.extend(own.map(|case| (format!("{name}, {}", case["title"]), case)));
    }
    all.retain(|(_, case)| {
        case["file"].get("timeline").is_some() || case["file"].get("members").is_some()
    });
    // The clock only goes forward.
    let as_of = |case: &Value| text(&case["file"]["as_of"]).parse::<Timestamp>().unwrap();
    all.sort_by_key(|(_, case)| as_of(case));
    assert!(all.len() >= 60, "{}", all.len());
    let mut scene = Scene::new().await;
    for (title, case) in &all {
        let file = &case["file"];
        let created = file["created_at"].as_str().unwrap_or("1990-01-01T00:00:00Z");
        let mut ids = Vec::new();
        let about = if let Some(members) = file["members"].as_array() {
            let mut uids = Vec::new();
            for member in members {
                let (key, id) = scene.monitor(created).await;
                scene.past(key, &member["timeline"]).await;
                ids.push((text(&member["id"]), id.clone()));
                uids.push(id);
            }
            ("members", json!(uids))
        } else {
            let (key, id) = scene.monitor(created).await;
            scene.past(key, &file["timeline"]).await;
            scene.maintenance(key, &file["maintenance"]).await;
            ids = scene.incidents(key, &file["incidents"]).await;
            ("monitor", json!(id))
        };
        scene.wait_for(file["as_of"].as_str().unwrap()).await;
        let id = scene.slo(&file["slo"], about).await;
        let got = scene.report(&id, file["as_of"].as_str().unwrap()).await;
        check(title, case, &got, &ids);
    }
}

/// Results written out that a case only describes, as in the tests of the tool.
fn events(case: &Value) -> Value {
    let mut list = case["file"]["events"].as_array().cloned().unwrap_or_default();
    list.extend(case["file"]["slots"].as_array().into_iter().flatten().cloned());
    for run in case["expand"].as_array().into_iter().flatten() {
        let mut at: Timestamp = run["start"].as_str().unwrap().parse().unwrap();
        let step = jiff::SignedDuration::from_secs(run["step_s"].as_i64().unwrap());
        for _ in 0..run["times"].as_u64().unwrap() {
            for part in run["pattern"].as_str().unwrap().split(", ") {
                let (count, outcome) = part.split_once(' ').unwrap();
                for _ in 0..count.parse::<u32>().unwrap() {
                    list.push(json!({"at": at.to_string(), "location": run["location"], "outcome": outcome}));
                    at += step;
                }
            }
        }
    }
    list.into()
}

#[tokio::test]
async fn vectors_of_results_come_out_of_stored_results() {
    let files = [
        "06-quorum-matrix.json",
        "07-interval-change.json",
        "13-openslo-methods.json",
        "14-latency.json",
    ];
    let all = files.iter().flat_map(|name| cases(name).into_iter().map(move |case| (name, case)));
    let of_results = all.filter(|(_, case)| {
        let slo = &case["file"]["slo"];
        let by_slices =
            slo["weight"].as_str().is_some_and(|weight| weight.starts_with("slice_mean"));
        ["probe_ratio", "latency"].iter().any(|sli| slo["sli"] == *sli) && !by_slices
    });
    let mut count = 0;
    for (name, case) in of_results {
        let mut scene = Scene::new().await;
        let events = events(&case);
        let mut names: Vec<&str> =
            events.as_array().unwrap().iter().map(|e| e["location"].as_str().unwrap()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            scene.api.post("locations", json!({ "name": name })).await.is(201);
        }
        let (key, id) = scene.monitor("2026-05-31T00:00:00Z").await;
        scene
            .past(key, &json!([{"from": "2026-05-31T00:00:00Z", "to": null, "state": "up"}]))
            .await;
        scene.results(key, &events).await;
        if name.starts_with("07-") {
            // Every minute until noon, every five minutes from then on.
            scene.wait_for("2026-06-01T11:59:50Z").await;
            let slower = json!({"interval_s": 300});
            scene.api.patch(&format!("monitors/{id}"), slower).await.is(200);
        }
        let as_of = case["file"]["as_of"].as_str().unwrap();
        scene.wait_for(as_of).await;
        let slo = scene.slo(&case["file"]["slo"], ("monitor", json!(id))).await;
        let got = scene.report(&slo, as_of).await;
        check(&format!("{name}, {}", case["title"]), &case, &got, &[]);
        count += 1;
    }
    assert!(count >= 6, "{count}");
}

#[tokio::test]
async fn a_target_finer_than_the_probe_can_tell_is_not_saved() {
    let scene = Scene::new().await;
    scene.api.post("locations", json!({"name": "eu"})).await.is(201);
    let monitor = json!({"name": "shop", "interval_s": 30, "check": {"kind": "http", "url": "https://shop.example/"}});
    scene.api.post("monitors", monitor).await.is(201);
    // One location: two bad rounds of 30 s are the smallest outage; 30 days at 99.999 % allow 25.92 s.
    let slo = |ppb: u64| json!({"name": "shop", "monitor": "shop", "target_ppb": ppb, "window": {"kind": "rolling", "duration": "30d"}});
    let refused = scene.api.post("slos", slo(999_990_000)).await.refuses(422, "target_ppb");
    assert!(refused.contains("1\u{a0}min"), "{refused}");
    let checked = scene.api.post("slos/check", slo(999_990_000)).await.is(200);
    assert_eq!(checked["warnings"][0]["code"], "resolution_refused");
    assert_eq!(
        (&checked["smallest_outage_ms"], &checked["budget_ms"]),
        (&json!(60_000), &json!(25_920))
    );
    assert!(checked["refused"].is_string(), "{checked}");
    let warned = scene.api.post("slos", slo(999_000_000)).await.is(201);
    assert_eq!(warned["warnings"][0]["code"], "resolution_warn", "{warned}");
    let checked = scene.api.post("slos/check", slo(990_000_000)).await.is(200);
    assert_eq!((&checked["warnings"], &checked["refused"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn an_slo_is_saved_listed_changed_and_deleted() {
    let mut scene = Scene::new().await;
    let (bad, bad_id) = scene.monitor("2026-01-01T00:00:00Z").await;
    let (good, good_id) = scene.monitor("2026-01-01T00:00:00Z").await;
    let up = json!({"from": "2026-01-01T00:00:00Z", "to": "2026-02-20T00:00:00Z", "state": "up"});
    let down =
        json!({"from": "2026-02-20T00:00:00Z", "to": "2026-02-20T02:00:00Z", "state": "down"});
    let again = json!({"from": "2026-02-20T02:00:00Z", "to": null, "state": "up"});
    scene.past(bad, &json!([up, down, again])).await;
    scene.past(good, &json!([{"from": "2026-01-01T00:00:00Z", "to": null, "state": "up"}])).await;
    scene.wait_for("2026-03-01T12:00:00Z").await;
    let body = |name: &str, monitor: &str| {
        json!({"name": name, "service": "shop", "owner": "Ada", "labels": {"tier": "1"}, "monitor": monitor,
            "target_ppb": 999_000_000_u64, "window": {"kind": "rolling", "duration": "30d", "timezone": "Europe/Berlin"}})
    };
    scene.api.post("slos", body("good", &good_id)).await.is(201);
    let made = scene.api.post("slos", body("bad", &bad_id)).await;
    let etag = made.headers["etag"].to_str().unwrap().to_owned();
    let made = made.is(201);
    assert_eq!((&made["now"]["state"], &made["target_pct"]), (&json!("breached"), &json!("99.9")));
    assert_eq!(made["rules"].as_array().unwrap().len(), 4);
    let id = text(&made["id"]);
    scene.api.post("slos", body("bad", &bad_id)).await.refuses(409, "name");
    let all = scene.api.get("slos").await.is(200);
    let names: Vec<_> = all["items"].as_array().unwrap().iter().map(|s| text(&s["name"])).collect();
    assert_eq!(names, ["bad", "good"], "the least left first");
    let first = scene.api.get("slos?limit=1").await.is(200);
    let next =
        scene.api.get(&format!("slos?limit=1&cursor={}", text(&first["next"]))).await.is(200);
    assert_eq!((&next["items"][0]["name"], &next["next"]), (&json!("good"), &Value::Null));
    let path = format!("slos/{id}");
    let changed =
        scene.api.patch(&path, json!({"target_ppb": 990_000_000_u64, "owner": null})).await.is(200);
    assert_eq!((&changed["definition_revision"], &changed["revision"]), (&json!(2), &json!(2)));
    assert_eq!((&changed["owner"], &changed["now"]["state"]), (&json!(""), &json!("ok")));
    let renamed = scene.api.patch(&path, json!({"name": "worse"})).await.is(200);
    assert_eq!((&renamed["definition_revision"], &renamed["revision"]), (&json!(2), &json!(3)));
    let late = [
        (
            "authorization",
            &*format!("Bearer {}", crate::support::api::key_of(quorate::api::auth::Role::Admin)),
        ),
        ("if-match", &*etag),
    ];
    scene.api.plain(axum::http::Method::PATCH, &path, json!({"name": "x"}), &late).await.is(409);
    scene
        .api
        .patch(&path, json!({"window": {"kind": "rolling", "duration": "0d"}}))
        .await
        .refuses(422, "window.duration");
    scene.api.patch(&path, json!({"sli": "slices", "slice_target": 0.9})).await.refuses(422, "sli");
    scene.api.patch(&path, json!({"monitor": "nobody"})).await.refuses(422, "monitor");
    scene.api.patch(&path, json!({"nonsense": 1})).await.refuses(422, "nonsense");
    scene.api.delete(&path).await.is(204);
    scene.api.get(&path).await.is(404);
    scene.api.post("slos", body("worse", &bad_id)).await.is(201);
}

#[tokio::test]
async fn simulations_are_of_the_same_engine_and_store_nothing() {
    let mut scene = Scene::new().await;
    let case = &cases("09-open-outage.json")[0];
    let got = scene.api.post("slos/simulate", case["file"].clone()).await.is(200);
    check("simulated", case, &got, &[]);
    let (key, id) = scene.monitor("2026-01-01T00:00:00Z").await;
    scene.past(key, &case["file"]["timeline"]).await;
    let as_of = case["file"]["as_of"].as_str().unwrap();
    scene.wait_for(as_of).await;
    let slo = scene.slo(&case["file"]["slo"], ("monitor", json!(id))).await;
    let path = format!("slos/{slo}/simulate");
    let stored = scene.api.post(&path, json!({"as_of": as_of})).await.is(200);
    check("stored", case, &stored, &[]);
    let milder = json!({"as_of": as_of, "slo": {"target_ppb": 990_000_000_u64}});
    let milder = scene.api.post(&path, milder).await.is(200);
    assert_eq!((&milder["slo"]["target_pct"], &milder["state"]), (&json!("99"), &json!("ok")));
    assert_eq!(milder["time_ms"], stored["time_ms"]);
    let posted = json!({"as_of": "2026-06-10T00:00:00Z",
        "timeline": [{"from": "2026-06-01T00:00:00Z", "to": null, "state": "up"}]});
    let posted = scene.api.post(&path, posted).await.is(200);
    assert_eq!(posted["outages"]["count"], 0);
    scene
        .api
        .post(&path, json!({"created_at": "2026-01-01T00:00:00Z"}))
        .await
        .refuses(422, "created_at");
    let wrong = json!({"slo": {"target_ppb": 0}});
    scene.api.post(&path, wrong).await.refuses(422, "slo.target_ppb");
    let saved = scene.api.get(&format!("slos/{slo}")).await.is(200);
    assert_eq!(saved["target_ppb"], 999_000_000);
}

#[tokio::test]
async fn history_tells_what_was_left_at_each_end_of_a_day() {
    let mut scene = Scene::new().await;
    let (key, id) = scene.monitor("2026-01-01T00:00:00Z").await;
    let past = json!([
        {"from": "2026-01-01T00:00:00Z", "to": "2026-06-10T12:00:00Z", "state": "up"},
        {"from": "2026-06-10T12:00:00Z", "to": "2026-06-10T12:20:00Z", "state": "down"},
        {"from": "2026-06-10T12:20:00Z", "to": null, "state": "up"},
    ]);
    scene.past(key, &past).await;
    scene.wait_for("2026-06-16T00:00:00Z").await;
    let slo =
        json!({"target_ppb": 999_000_000_u64, "window": {"kind": "calendar", "duration": "1M"}});
    let slo = scene.slo(&slo, ("monitor", json!(id))).await;
    let history =
        scene.api.get(&format!("slos/{slo}/history?to=2026-06-16T00:00:00Z")).await.is(200);
    let points = history["points"].as_array().unwrap();
    assert_eq!((points.len(), &history["unit"]), (15, &json!("ms")));
    assert_eq!(points[8]["budget_left"], 2_592_000, "the whole month's before the outage");
    assert_eq!(
        (&points[9]["at"], &points[9]["budget_left"]),
        (&json!("2026-06-11T00:00:00.000Z"), &json!(1_392_000))
    );
    let last = scene.report(&slo, "2026-06-16T00:00:00Z").await;
    assert_eq!(last["budget"]["remaining_ms"], points[14]["budget_left"]);
    let rolling =
        json!({"target_ppb": 999_000_000_u64, "window": {"kind": "rolling", "duration": "3d"}});
    let rolling = scene.slo(&rolling, ("monitor", json!(id))).await;
    let path =
        format!("slos/{rolling}/history?step=6h&from=2026-06-10T00:00:00Z&to=2026-06-14T00:00:00Z");
    let points = scene.api.get(&path).await.is(200)["points"].clone();
    let down: Vec<i64> =
        points.as_array().unwrap().iter().map(|p| p["down_ms"].as_i64().unwrap()).collect();
    // In the window of three days from the first look after it until it leaves.
    assert_eq!(
        down,
        [
            0, 0, 1_200_000, 1_200_000, 1_200_000, 1_200_000, 1_200_000, 1_200_000, 1_200_000,
            1_200_000, 1_200_000, 1_200_000, 1_200_000, 1_200_000, 0, 0
        ]
    );
    scene.api.get(&format!("slos/{slo}/history?step=2d")).await.refuses(422, "step");
}

#[tokio::test]
async fn history_tells_what_would_be_left_if_all_unknown_time_were_bad() {
    let mut scene = Scene::new().await;
    let (key, id) = scene.monitor("2026-01-01T00:00:00Z").await;
    let past = json!([
        {"from": "2026-01-01T00:00:00Z", "to": "2026-06-10T12:00:00Z", "state": "up"},
        {"from": "2026-06-10T12:00:00Z", "to": "2026-06-10T12:20:00Z", "state": "down"},
        {"from": "2026-06-10T12:20:00Z", "to": "2026-06-12T08:00:00Z", "state": "up"},
        {"from": "2026-06-12T08:00:00Z", "to": "2026-06-12T08:10:00Z", "state": "unknown"},
        {"from": "2026-06-12T08:10:00Z", "to": null, "state": "up"},
    ]);
    scene.past(key, &past).await;
    scene.wait_for("2026-06-16T00:00:00Z").await;
    let month =
        json!({"target_ppb": 999_000_000_u64, "window": {"kind": "calendar", "duration": "1M"}});
    let slo = scene.slo(&month, ("monitor", json!(id))).await;
    let path = format!("slos/{slo}/history?to=2026-06-16T00:00:00Z");
    let points = scene.api.get(&path).await.is(200)["points"].clone();
    // To the end of the 11th everything is known; ten minutes of the 12th are not.
    assert_eq!(points[10]["at"], "2026-06-12T00:00:00.000Z");
    assert_eq!(
        (&points[10]["budget_left"], &points[10]["budget_left_worst"]),
        (&json!(1_392_000), &Value::Null)
    );
    // Left out, they take a thousandth of themselves from the budget; bad, they cost all of it.
    assert_eq!(
        (&points[11]["budget_left"], &points[11]["budget_left_worst"]),
        (&json!(1_391_400), &json!(792_000))
    );
    // Where unknown time is bad anyway, there is nothing worse.
    let harsh = json!({"target_ppb": 999_000_000_u64, "unknown_policy": "down",
        "window": {"kind": "calendar", "duration": "1M"}});
    let slo = scene.slo(&harsh, ("monitor", json!(id))).await;
    let path = format!("slos/{slo}/history?to=2026-06-16T00:00:00Z");
    let points = scene.api.get(&path).await.is(200)["points"].clone();
    assert_eq!(
        (&points[11]["budget_left"], &points[11]["budget_left_worst"]),
        (&json!(792_000), &Value::Null)
    );
}
