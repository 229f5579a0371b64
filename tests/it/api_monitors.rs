//! Monitors through the interface: every refusal names its field, edits keep what they do not touch,
//! lists page, and locations are followed.

use axum::http::{Method, StatusCode};
use quorate::api::auth::Role;
use serde_json::{Value, json};

use crate::support::api::{Api, monitor, request, text};

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = monitor("shop");
    change(&mut body);
    body
}

#[tokio::test]
async fn every_refused_field_names_itself_and_nothing_is_stored() {
    let api = Api::start().await;
    api.location("eu").await;
    let set = |field: &'static str, value: Value| with(|body| body[field] = value);
    let check = |field: &'static str, value: Value| with(|body| body["check"][field] = value);
    let cases = [
        (set("name", json!("")), "name"),
        (set("name", json!("x".repeat(201))), "name"),
        (set("name", json!("a\u{0}b")), "name"),
        (set("name", json!(5)), "name"),
        (set("nmae", json!("x")), "nmae"),
        (set("group", json!("a\nb")), "group"),
        (set("interval_s", json!(9)), "interval_s"),
        (set("interval_s", json!(86_401)), "interval_s"),
        (set("interval_s", json!(-1)), "interval_s"),
        (set("timeout_s", json!(0.05)), "timeout_s"),
        (set("timeout_s", json!("10")), "timeout_s"),
        (set("slow_ms", json!(0)), "slow_ms"),
        (set("locations", json!([])), "locations"),
        (set("locations", json!("some")), "locations"),
        (set("locations", json!(["eu", "mars"])), "locations[1]"),
        (set("locations", json!({"labels": {"tier": "1"}})), "locations.labels"),
        (set("policy", json!({"fail_after": 0})), "policy.fail_after"),
        (set("policy", json!({"fail_after": 20, "retry_gap_s": 30})), "policy.fail_after"),
        (set("policy", json!({"quorum": {"mode": "at_least"}})), "policy.quorum.k"),
        (set("policy", json!({"quorum": {"mode": "most"}})), "policy.quorum.mode"),
        (set("policy", json!({"preset": "reckless"})), "policy.preset"),
        (set("policy", json!({"speed": 1})), "policy.speed"),
        (set("policy", json!({"confirm_for_s": -1})), "policy.confirm_for_s"),
        (set("labels", json!({"": "x"})), "labels"),
        (set("labels", json!({"a b": "x"})), "labels.a b"),
        (set("labels", json!({"team": 5})), "labels.team"),
        (set("depends_on", json!(["nothing"])), "depends_on[0]"),
        (set("channels", json!(["nobody"])), "channels[0]"),
        (set("fleet", json!("web")), "fleet"),
        (set("escalation", json!("night")), "escalation"),
        (set("runbook_url", json!("javascript:alert(1)")), "runbook_url"),
        (set("enabled", json!("yes")), "enabled"),
        (set("check", json!(5)), "check"),
        (set("check", json!({"kind": "carrier-pigeon"})), "check.kind"),
        (check("url", json!("ftp://shop.example")), "check.url"),
        (check("url", Value::Null), "check.url"),
        (check("colour", json!("red")), "check.colour"),
        (check("method", json!("GE T")), "check.method"),
        (
            check(
                "assertions",
                json!([{"on": "status", "op": "in", "value": ["2xx"]}, {"on": "mood", "op": "eq", "value": 1}]),
            ),
            "check.assertions[1].on",
        ),
        (
            check("assertions", json!([{"on": "body", "op": "matches", "value": "("}])),
            "check.assertions[0].value",
        ),
        (
            check("headers", json!({"authorization": "Bearer ${secret:none}"})),
            "check.headers.authorization",
        ),
    ];
    for (body, field) in cases {
        api.post("monitors", body.clone()).await.refuses(422, field);
        // The form hears of the same field before anybody saves.
        let seen = api.post("monitors/validate", json!({"monitor": body})).await.is(200);
        let fields: Vec<String> =
            seen["errors"].as_array().unwrap().iter().map(|e| text(&e["field"])).collect();
        assert!(fields.contains(&field.to_owned()), "{field} is not in {fields:?}");
        assert_eq!(seen["valid"], false);
    }
    assert_eq!(api.get("monitors").await.is(200)["items"], json!([]));
}

#[tokio::test]
async fn a_form_hears_of_all_its_faults_at_once() {
    let api = Api::start().await;
    api.location("eu").await;
    let body = with(|body| {
        body["name"] = "".into();
        body["interval_s"] = 5.into();
        body["check"]["url"] = "nowhere".into();
    });
    let seen = api.post("monitors/validate", json!({"monitor": body})).await.is(200);
    let fields: Vec<String> =
        seen["errors"].as_array().unwrap().iter().map(|e| text(&e["field"])).collect();
    assert_eq!(fields, ["name", "interval_s", "check.url"]);
    let fine = api.post("monitors/validate", json!({"monitor": monitor("shop")})).await.is(200);
    assert_eq!(fine["valid"], true);
    assert_eq!(fine["policy_in_force"]["fail_after"], 3); // one location
    assert_eq!(fine["looks_from"][0]["name"], "eu");
}

#[tokio::test]
async fn what_is_created_is_what_is_read() {
    let api = Api::start().await;
    api.location("eu").await;
    api.location("us").await;
    let body = with(|body| {
        body["group"] = "shop".into();
        body["interval_s"] = 30.into();
        body["timeout_s"] = json!(2.5);
        body["slow_ms"] = 500.into();
        body["locations"] = json!(["us", "eu"]);
        body["policy"] = json!({"preset": "careful", "quorum": {"mode": "at_least", "k": 2}});
        body["labels"] = json!({"team": "shop"});
        body["runbook_url"] = "https://wiki.example/shop".into();
    });
    let made = api.post("monitors", body.clone()).await;
    assert_eq!(made.status, StatusCode::CREATED);
    assert_eq!(made.headers["etag"], "\"1\"");
    for field in [
        "name",
        "group",
        "interval_s",
        "timeout_s",
        "slow_ms",
        "locations",
        "policy",
        "labels",
        "runbook_url",
    ] {
        assert_eq!(made.body[field], body[field], "{field}");
    }
    assert_eq!(made.body["policy_in_force"]["quorum"], "at_least 2");
    assert_eq!(made.body["policy_in_force"]["fail_after"], 3);
    assert_eq!(made.body["looks_from"][0]["name"], "us");
    assert_eq!((&made.body["state"], &made.body["enabled"]), (&json!("pending"), &json!(true)));
    let path = format!("monitors/{}", text(&made.body["id"]));
    assert_eq!(api.get(&path).await.is(200), made.body);
    // A repeated POST is harmless.
    api.post("monitors", body).await.refuses(409, "name");
    api.delete(&path).await.is(204);
    api.get(&path).await.is(404);
    api.delete(&path).await.is(404);
    api.monitor("shop").await;
}

#[tokio::test]
async fn an_edit_changes_what_it_names_and_sees_who_was_first() {
    let api = Api::start().await;
    api.location("eu").await;
    let made = api.post("monitors", with(|body| body["slow_ms"] = 400.into())).await.is(201);
    let path = format!("monitors/{}", text(&made["id"]));
    let changed = api.patch(&path, json!({"group": "shop"})).await.is(200);
    assert_eq!((&changed["slow_ms"], &changed["revision"]), (&json!(400), &json!(2)));
    assert_eq!(changed["check_version"], 1);
    assert_eq!(api.patch(&path, json!({"slow_ms": null})).await.is(200)["slow_ms"], Value::Null);
    assert_eq!(api.patch(&path, json!({"interval_s": 30})).await.is(200)["check_version"], 2);
    // Nothing new is no revision.
    assert_eq!(api.patch(&path, json!({"interval_s": 30})).await.is(200)["revision"], 4);

    let bearer = format!("Bearer {}", crate::support::api::key_of(Role::Editor));
    let edit = |tag: &'static str| {
        let headers = [("authorization", bearer.as_str()), ("if-match", tag)];
        api.send(request(Method::PATCH, &path, &json!({"group": tag}), &headers))
    };
    let conflict = edit("\"3\"").await.is(409);
    assert_eq!(conflict["error"]["code"], "revision");
    edit("\"4\"").await.is(200);
    assert_eq!(api.get(&path).await.headers["etag"], "\"5\"");
    api.patch(&path, json!({"colour": 1})).await.refuses(422, "colour");
    api.patch(&path, json!({"depends_on": [text(&made["id"])]}))
        .await
        .refuses(422, "depends_on[0]");
}

#[tokio::test]
async fn typed_in_secrets_are_hidden_kept_and_not_sent_elsewhere() {
    let api = Api::start().await;
    api.location("eu").await;
    let body = with(|body| {
        body["check"]["headers"] = json!({"authorization": "Bearer hunter2", "x-plain": "seen"});
    });
    let made = api.post("monitors", body).await.is(201);
    let path = format!("monitors/{}", text(&made["id"]));
    assert_eq!(made["check"]["headers"]["authorization"], "(hidden)");
    assert_eq!(made["check"]["headers"]["x-plain"], "seen");
    let dump: String = sqlx::query_scalar(
        "select m::text || (select string_agg(a::text, '') from audit a) from monitor m",
    )
    .fetch_one(api.db.pool())
    .await
    .unwrap();
    assert!(!dump.contains("hunter2"));

    // Sent back as shown, it stays, and nothing is probed anew.
    let same = api.patch(&path, json!({"check": made["check"]})).await.is(200);
    assert_eq!(same["check_version"], 1);
    let mut other = made["check"].clone();
    other["url"] = "https://shop.example/other".into();
    api.patch(&path, json!({"check": other})).await.is(200);
    // To another host it does not go along.
    other["url"] = "https://evil.example/".into();
    api.patch(&path, json!({"check": other})).await.refuses(422, "check.headers.authorization");
    other["headers"]["authorization"] = "Bearer new".into();
    assert_eq!(api.patch(&path, json!({"check": other})).await.is(200)["check_version"], 3);
}

#[tokio::test]
async fn named_secrets_are_never_shown_and_stay_while_they_are_used() {
    let api = Api::start().await;
    api.location("eu").await;
    api.call(Method::PUT, "secrets/a%20b", json!({"value": "x"})).await.refuses(422, "name");
    api.call(Method::PUT, "secrets/inline.x", json!({"value": "x"})).await.refuses(422, "name");
    api.call(Method::PUT, "secrets/shop", json!({"value": ""})).await.refuses(422, "value");
    api.call(Method::PUT, "secrets/shop", json!({"value": "hunter2"})).await.is(200);
    let body =
        with(|body| body["check"]["headers"] = json!({"authorization": "Bearer ${secret:shop}"}));
    api.post("monitors", body).await.is(201);
    let listed = api.get("secrets").await.is(200);
    assert_eq!(listed["items"][0]["used_by"], json!(["shop"]));
    assert!(!listed.to_string().contains("hunter2"));
    let why = api.delete("secrets/shop").await.is(409);
    assert!(text(&why["error"]["message"]).contains("shop"));
    api.delete("secrets/none").await.is(404);
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_double() {
    let api = Api::start().await;
    api.location("eu").await;
    for n in 0..7 {
        let body = with(|body| {
            body["name"] = format!("m{}", (n * 3) % 7).into();
            body["group"] = if n < 3 { "a" } else { "b" }.into();
            body["labels"] = json!({"n": n.to_string()});
        });
        api.post("monitors", body).await.is(201);
    }
    for sort in ["name", "state"] {
        let (mut names, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = api.get(&format!("monitors?limit=3&sort={sort}{cursor}")).await.is(200);
            names.extend(page["items"].as_array().unwrap().iter().map(|row| text(&row["name"])));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"], "{sort}");
    }
    let count = async |query: &str| {
        api.get(&format!("monitors?{query}")).await.is(200)["items"].as_array().unwrap().len()
    };
    assert_eq!(count("group=a").await, 3);
    assert_eq!(count("q=M3").await, 1);
    assert_eq!(count("q=SHOP.example").await, 7);
    assert_eq!(count("label=n").await, 7);
    assert_eq!(count("label=n%3D4").await, 1);
    assert_eq!(count("state=pending,down").await, 7);
    assert_eq!(count("state=up").await, 0);
    assert_eq!(count("location=eu").await, 7);
    api.get("monitors?location=mars").await.refuses(422, "location");
    let row = api.get("monitors?limit=1").await.is(200)["items"][0].clone();
    assert_eq!(
        (&row["kind"], &row["target"]),
        (&json!("http"), &json!("https://shop.example/health"))
    );
    assert_eq!(row["seats"][0]["vote"], "none");
    let overview = api.get("overview?group=b").await.is(200);
    assert_eq!(overview["monitors"].as_array().unwrap().len(), 4);
    assert_eq!(overview["counts"]["total"], 7);
    assert_eq!(overview["groups"], json!(["a", "b"]));
}

#[tokio::test]
async fn the_overview_answers_not_modified_while_nothing_is() {
    let api = Api::start().await;
    api.location("eu").await;
    let first = api.get("overview").await;
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let bearer = format!("Bearer {}", crate::support::api::key_of(Role::Viewer));
    let again = || {
        let headers = [("authorization", bearer.as_str()), ("if-none-match", tag.as_str())];
        api.send(request(Method::GET, "overview", &Value::Null, &headers))
    };
    api.later(1);
    assert_eq!(again().await.is(304), Value::Null);
    api.monitor("shop").await;
    again().await.is(200);
}

#[tokio::test]
async fn pausing_is_a_state_of_its_own() {
    let api = Api::start().await;
    api.location("eu").await;
    let made = api.monitor("shop").await;
    let path = format!("monitors/{}", text(&made["id"]));
    api.later(60);
    let paused = api.patch(&path, json!({"enabled": false})).await.is(200);
    assert_eq!(paused["state"], "paused");
    api.later(60);
    // An edit does not wake it.
    assert_eq!(api.patch(&path, json!({"group": "x"})).await.is(200)["state"], "paused");
    api.later(60);
    assert_ne!(api.patch(&path, json!({"enabled": true})).await.is(200)["state"], "paused");
    api.later(60);
    let timeline = api.get(&format!("{path}/timeline")).await.is(200);
    let states: Vec<String> =
        timeline["intervals"].as_array().unwrap().iter().map(|i| text(&i["state"])).collect();
    assert_eq!(states, ["pending", "paused", "pending"]);
    api.swept().await;
    let availability = api.get(&format!("{path}/availability")).await.is(200);
    // The last five seconds are not told yet.
    assert_eq!(
        (&availability["total_ms"], &availability["paused_ms"]),
        (&json!(235_000), &json!(120_000))
    );
    assert_eq!(
        (&availability["unknown_ms"], &availability["percent"]),
        (&json!(115_000), &Value::Null)
    );
    let actions: Vec<String> = api.get("audit?limit=10").await.is(200)["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| text(&r["action"]))
        .collect();
    assert_eq!(
        actions[..4],
        ["monitor.resume", "monitor.change", "monitor.pause", "monitor.create"]
    );
}

#[tokio::test]
async fn rules_of_locations_follow_them() {
    let api = Api::start().await;
    let (eu, _) = api.location("eu").await;
    let everywhere = format!("monitors/{}", text(&api.monitor("everywhere").await["id"]));
    let tier =
        api.patch(&format!("locations/{eu}"), json!({"labels": {"tier": "1"}})).await.is(200);
    assert_eq!(tier["labels"]["tier"], "1");
    let body = with(|body| {
        body["name"] = "by label".into();
        body["locations"] = json!({"labels": {"tier": "1"}});
    });
    let labelled = format!("monitors/{}", text(&api.post("monitors", body).await.is(201)["id"]));
    let body = with(|body| body["locations"] = json!(["eu"]));
    let named = format!("monitors/{}", text(&api.post("monitors", body).await.is(201)["id"]));
    let names = async |path: &str| {
        let monitor = api.get(path).await.is(200);
        monitor["looks_from"]
            .as_array()
            .unwrap()
            .iter()
            .map(|l| text(&l["name"]))
            .collect::<Vec<_>>()
    };
    let us = api.post("locations", json!({"name": "us", "labels": {"tier": "1"}})).await.is(201);
    assert_eq!(names(&everywhere).await, ["eu", "us"]);
    assert_eq!(names(&labelled).await, ["eu", "us"]);
    assert_eq!(names(&named).await, ["eu"]);
    api.post("locations", json!({"name": "us"})).await.refuses(409, "name");

    let us = format!("locations/{}", text(&us["id"]));
    api.patch(&us, json!({"enabled": false})).await.is(200);
    assert_eq!(names(&everywhere).await, ["eu"]);
    api.patch(&us, json!({"enabled": true, "name": "us-east", "labels": {}})).await.is(200);
    assert_eq!(names(&everywhere).await, ["eu", "us-east"]);
    assert_eq!(names(&labelled).await, ["eu"]);
    let why = api.delete(&format!("locations/{eu}")).await.is(409);
    assert!(text(&why["error"]["message"]).contains("nowhere else"), "{why}");
    api.delete(&us).await.is(204);
    assert_eq!(names(&everywhere).await, ["eu"]);
    api.get(&us).await.is(404);
    api.post("locations", json!({"name": "us-east"})).await.is(201);
}
