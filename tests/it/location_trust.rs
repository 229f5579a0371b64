//! What people see and say of the health of locations, and what their word does.

use axum::http::Method;
use quorate::{api::auth::Role, domain::observation::Outcome};
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    slo::Scene,
};

/// Locations by name, as they are answered.
async fn locations(api: &Api) -> Vec<Value> {
    api.get("locations").await.is(200)["items"].as_array().unwrap().clone()
}

/// An agent says how its references are.
async fn beat(api: &Api, key: &str, bad_rounds: u64, clock_off_ms: i64) -> Value {
    let target = |name: &str| json!({"target": name, "ok": bad_rounds == 0, "message": "refused"});
    let targets = ["a:1", "b:1", "c:1"].map(target);
    let wall = api.clock.now() + jiff::SignedDuration::from_millis(clock_off_ms);
    let body = json!({
        "boot": "01900000-0000-7000-8000-00000000b001", "wall": wall.to_string(), "in_flight": 0, "spool": 0,
        "dropped": 0, "version": "1", "selfcheck": {"round": 7, "bad_rounds": bad_rounds, "targets": targets}
    });
    let bearer = format!("Bearer {key}");
    api.plain(Method::POST, "/agent/v1/heartbeat", body, &[("authorization", &bearer)])
        .await
        .is(200)
}

async fn look(api: &Api) {
    let upkeep = quorate::upkeep::Upkeep::new(api.db.pool().clone(), api.clock.clone());
    upkeep.look_at_locations(api.clock.now()).await.unwrap();
}

#[tokio::test]
async fn a_location_shows_what_is_against_it_and_a_word_by_hand_wins_until_its_time() {
    let api = Api::start().await;
    let mut keys = Vec::new();
    for name in ["eu", "us", "ap"] {
        keys.push(api.location(name).await);
    }
    for (_, key) in &keys {
        beat(&api, key, 0, 0).await;
    }
    beat(&api, &keys[1].1, 2, 0).await;
    look(&api).await;
    let us = locations(&api).await[1].clone();
    assert_eq!(us["health"], "quarantined");
    assert_eq!(us["doubt"]["reasons"], json!(["3 of 3 references fail"]));
    assert_eq!(
        us["references"][0]["targets"][0],
        json!({"target": "a:1", "ok": false, "message": "refused"})
    );
    assert_eq!(
        (&us["doubt"]["clean_rounds"], &us["doubt"]["needed_rounds"]),
        (&json!(0), &json!(5))
    );
    let instant = |value: &Value| text(value).parse::<jiff::Timestamp>().unwrap();
    let minutes = |a: &Value, b: &Value| instant(b).duration_since(instant(a)).as_secs() / 60;
    assert_eq!(minutes(&us["doubt"]["withheld_from"], &us["doubt"]["quarantined_since"]), 1);
    assert_eq!(minutes(&us["doubt"]["since"], &us["doubt"]["release_at"]), 5);

    let path = format!("locations/{}/trust", keys[1].0);
    let until =
        |hours: i64| (api.clock.now() + jiff::SignedDuration::from_hours(hours)).to_string();
    let word = |kind: &str, hours: i64| json!({"kind": kind, "reason": "the switch is being replaced", "until": until(hours)});
    api.post(&path, word("believe", 25)).await.refuses(422, "until");
    api.post(&path, word("believe", -1)).await.refuses(422, "until");
    api.post(&path, json!({"kind": "believe", "reason": " ", "until": until(1)}))
        .await
        .refuses(422, "reason");
    api.as_role(Role::Viewer, Method::POST, &path, word("believe", 1)).await.is(403);
    let said = api.as_role(Role::Editor, Method::POST, &path, word("believe", 1)).await.is(200);
    assert_eq!((&said["health"], &said["trust"]["kind"]), (&json!("impaired"), &json!("believe")));
    look(&api).await;
    let quarantines = api.get(&format!("locations/{}/quarantines", keys[1].0)).await.is(200);
    assert_eq!(quarantines["items"][0]["released"], "believed");
    // Another word takes its place, and its end brings the finding back.
    let said = api.post(&path, word("distrust", 1)).await.is(200);
    assert_eq!(said["health"], "distrusted");
    let audit = api.get("audit").await.is(200);
    assert_eq!(audit["items"][0]["action"], "location.trust");
    api.later(3_601);
    for (_, key) in &keys {
        beat(&api, key, 0, 0).await;
    }
    beat(&api, &keys[1].1, 3, 0).await;
    look(&api).await;
    let us = locations(&api).await[1].clone();
    assert_eq!((&us["health"], &us["trust"]), (&json!("quarantined"), &Value::Null));
    api.post(&path, word("believe", 1)).await.is(200);
    assert_eq!(api.delete(&path).await.is(200)["trust"], Value::Null);
}

/// What many monitors begin to fail at together is itself looked into, and says so as long as that lasts.
#[tokio::test]
async fn a_location_under_review_says_so_for_half_a_minute() {
    let api = Api::start().await;
    for name in ["eu", "us", "ap"] {
        api.location(name).await;
    }
    let mut monitors = Vec::new();
    for n in 0..6 {
        monitors.push(text(&api.monitor(&format!("shop {n}")).await["id"]));
    }
    for (seq, monitor) in (1..).zip(&monitors) {
        api.all_say(monitor, seq, Outcome::Pass).await;
    }
    api.later(30);
    let eu: (uuid::Uuid, i16) =
        sqlx::query_as("select agent_id, location_id from agent order by location_id limit 1")
            .fetch_one(api.db.pool())
            .await
            .unwrap();
    let eu = (eu.0, quorate::domain::ids::LocationKey(eu.1));
    let reviewed = async || -> Vec<bool> {
        locations(&api).await.iter().map(|one| !one["review_since"].is_null()).collect()
    };
    for (seq, monitor) in (7..).zip(&monitors) {
        let fewer = seq < 11;
        api.says(eu, monitor, seq, Outcome::Fail).await;
        if fewer {
            assert_eq!(reviewed().await, [false, false, false], "{seq}");
        }
    }
    assert_eq!(reviewed().await, [true, false, false]);
    let since = text(&locations(&api).await[0]["review_since"]);
    assert_eq!(since.parse::<jiff::Timestamp>().unwrap(), api.clock.now());
    api.later(30);
    assert_eq!(reviewed().await, [false, false, false]);
}

#[tokio::test]
async fn a_word_by_hand_takes_the_vote_at_once_and_its_end_gives_it_back() {
    let api = Api::start().await;
    let mut keys = Vec::new();
    for name in ["eu", "us", "ap"] {
        keys.push(api.location(name).await);
    }
    for (_, key) in &keys {
        beat(&api, key, 0, 0).await;
    }
    let shop = text(&api.monitor("shop").await["id"]);
    api.all_say(&shop, 1, Outcome::Pass).await;
    let why_not = async || -> Vec<Value> {
        let state = api.get(&format!("monitors/{shop}/state")).await.is(200);
        state["votes"].as_array().unwrap().iter().map(|vote| vote["why_not"].clone()).collect()
    };
    assert_eq!(why_not().await, [Value::Null, Value::Null, Value::Null]);
    let path = format!("locations/{}/trust", keys[0].0);
    let until = (api.clock.now() + jiff::SignedDuration::from_secs(60)).to_string();
    api.post(&path, json!({"kind": "distrust", "reason": "its line is cut", "until": until}))
        .await
        .is(200);
    assert_eq!(why_not().await, [Value::Null, Value::Null, json!("distrusted")]);
    api.later(61);
    assert_eq!(why_not().await, [Value::Null, Value::Null, Value::Null]);
}

#[tokio::test]
async fn a_wrong_clock_makes_failures_by_date_our_own() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    let shop = text(&api.monitor("shop").await["id"]);
    let deliver = async |seq: i64| {
        let body = json!({"boot": "01900000-0000-7000-8000-00000000b001", "rtt_ms": 0.0, "reports": [{
            "seq": seq, "monitor": shop, "check_version": 1, "kind": "scheduled", "age_at_send_ms": 0.0,
            "observation": {"outcome": "fail", "class": "tls_expired", "message": "The certificate has expired.",
                "phases_us": {"total": 1}, "status": null, "http_version": null, "address": null, "size": null,
                "certificate": null, "evidence": null}}]});
        let bearer = format!("Bearer {key}");
        api.plain(Method::POST, "/agent/v1/reports", body, &[("authorization", &bearer)])
            .await
            .is(200);
        api.later(10);
    };
    beat(&api, &key, 0, -20_000).await;
    deliver(1).await;
    beat(&api, &key, 0, 3_600_000).await;
    deliver(2).await;
    let rows = api.get(&format!("monitors/{shop}/observations")).await.is(200);
    let seen: Vec<(Value, Value)> = rows["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["outcome"].clone(), row["class"].clone()))
        .collect();
    assert_eq!(
        seen,
        [(json!("error"), json!("agent_clock")), (json!("fail"), json!("tls_expired"))],
        "the latest first"
    );
    assert_eq!(locations(&api).await[0]["agents"][0]["clock_offset_ms"], 3_600_000);
}

#[tokio::test]
async fn results_in_quarantine_are_invalid_events_of_an_slo() {
    let mut scene = Scene::new().await;
    for name in ["eu", "us"] {
        scene.api.location(name).await;
    }
    let (key, id) = scene.monitor("2026-08-01T00:00:00Z").await;
    let timeline =
        json!([{"from": "2026-08-01T00:00:00Z", "to": "2026-08-02T00:00:00Z", "state": "up"}]);
    scene.past(key, &timeline).await;
    let mut events = Vec::new();
    for minute in 0..120 {
        for name in ["eu", "us"] {
            let outcome = if name == "us" && (60..90).contains(&minute) { "fail" } else { "ok" };
            let at = format!("2026-08-01T{:02}:{:02}:10Z", minute / 60, minute % 60);
            events.push(
                json!({"at": at, "location": name, "outcome": outcome, "duration_us": 9_000}),
            );
        }
    }
    scene.results(key, &json!(events)).await;
    // What came a minute before on is left out; what came after its end counts again.
    sqlx::query(
        "insert into location_quarantine (location_id, since_at, from_at, to_at, reason, evidence, released)
         select location_id, '2026-08-01T01:11:00Z', '2026-08-01T01:10:00Z', '2026-08-01T01:40:00Z', '', '{}', 'clean'
         from location where name = 'us'",
    )
    .execute(scene.api.db.pool())
    .await
    .unwrap();
    scene.wait_for("2026-08-02T00:00:00Z").await;
    let slo = json!({"target_ppb": 900_000_000, "sli": "probe_ratio", "service": "shop",
        "window": {"kind": "rolling", "duration": "1d"}});
    let slo = scene.slo(&slo, ("monitor", json!(id))).await;
    let report = scene.report(&slo, "2026-08-02T00:00:00Z").await;
    let of = |name: &str| report["events"][name].as_u64().unwrap();
    // Of 240 results 30 lie in the quarantine, 20 of them failed; of the failed ones 10 came before.
    assert_eq!((of("good"), of("total"), of("invalid")), (200, 210, 30), "{}", report["events"]);
}
