//! Channels, settings, maintenance, incidents and what is read of a monitor.

use axum::http::Method;
use quorate::domain::observation::Outcome;
use serde_json::{Value, json};

use crate::support::api::{Api, text};

#[tokio::test]
async fn channels_hide_their_keys_and_name_what_they_refuse() {
    let api = Api::start().await;
    let webhook = |config: Value| json!({"name": "ops", "kind": "webhook", "config": config});
    api.post("channels", webhook(json!({}))).await.refuses(422, "config.url");
    api.post("channels", webhook(json!({"url": "ftp://x"}))).await.refuses(422, "config.url");
    api.post("channels", webhook(json!({"url": "https://x.example", "colour": 1})))
        .await
        .refuses(422, "config.colour");
    api.post("channels", json!({"name": "m", "kind": "email", "config": {"to": ["ann"]}}))
        .await
        .refuses(422, "config.to[0]");
    api.post("channels", json!({"name": "m", "kind": "pigeon", "config": {}}))
        .await
        .refuses(422, "kind");
    let made =
        api.post("channels", webhook(json!({"url": "https://x.example/hook"}))).await.is(201);
    let key = text(&made["secret"]);
    assert!(key.starts_with("whsec_"));
    assert_eq!((&made["default"], &made["min_severity"]), (&json!(true), &json!("degraded")));
    api.post("channels", webhook(json!({"url": "https://x.example"}))).await.refuses(409, "name");
    let path = format!("channels/{}", text(&made["id"]));
    let read = api.get(&path).await.is(200);
    assert_eq!(read["has_secret"], true);
    assert!(!read.to_string().contains(&key));
    let changed = api.patch(&path, json!({"min_severity": "down", "enabled": false})).await.is(200);
    assert_eq!((&changed["min_severity"], &changed["has_secret"]), (&json!("down"), &json!(true)));
    api.patch(&path, json!({"min_severity": "awful"})).await.refuses(422, "min_severity");
    api.delete(&path).await.is(204);
    api.get(&path).await.is(404);
    api.post(&format!("{path}/test"), Value::Null).await.is(404);
}

#[tokio::test]
async fn a_test_message_tells_why_it_could_not_be_sent() {
    let api = Api::start().await;
    let made = api
        .post(
            "channels",
            json!({"name": "m", "kind": "email", "config": {"to": ["ann@example.com"]}}),
        )
        .await
        .is(201);
    let sent = api.post(&format!("channels/{}/test", text(&made["id"])), Value::Null).await.is(200);
    assert_eq!(sent["delivered"], false);
    assert!(text(&sent["answer"]).contains("No mail server"), "{sent}");
    api.post("settings/mail/test", json!({"to": "ann"})).await.refuses(422, "to");
}

#[tokio::test]
async fn settings_are_checked_and_the_mail_password_is_kept_but_not_shown() {
    let api = Api::start().await;
    assert_eq!(api.get("settings").await.is(200)["report_zone"], "UTC");
    api.patch("settings", json!({"report_zone": "Mars/Olympus"})).await.refuses(422, "report_zone");
    api.patch("settings", json!({"raw_days": 0})).await.refuses(422, "raw_days");
    api.patch("settings", json!({"public_url": "q.example"})).await.refuses(422, "public_url");
    let body =
        json!({"report_zone": "Europe/Berlin", "raw_days": 60, "public_url": "https://q.example/"});
    let settings = api.patch("settings", body).await.is(200);
    assert_eq!(
        (&settings["report_zone"], &settings["public_url"]),
        (&json!("Europe/Berlin"), &json!("https://q.example"))
    );
    assert_eq!(settings["retention"]["raw_days"], 60);
    // Links and cookies know of it.
    let invited =
        api.post("users/invite", json!({"email": "a@b.example", "role": "viewer"})).await.is(201);
    assert!(text(&invited["url"]).starts_with("https://q.example/setup/"));
    assert_eq!(
        api.patch("settings", json!({"public_url": null})).await.is(200)["public_url"],
        "http://q.test"
    );

    let mail = |password: Value, host: &str| {
        json!({
            "host": host, "security": "starttls", "username": "u", "password": password, "from": "q@example.com"
        })
    };
    api.call(Method::PUT, "settings/mail", mail(json!("hunter2"), "")).await.refuses(422, "host");
    let saved = api
        .call(Method::PUT, "settings/mail", mail(json!("hunter2"), "smtp.example.com"))
        .await
        .is(200);
    assert_eq!(
        (&saved["configured"], &saved["has_password"], &saved["port"]),
        (&json!(true), &json!(true), &json!(587))
    );
    // Left out it stays, to another host it does not go along.
    api.call(Method::PUT, "settings/mail", mail(Value::Null, "smtp.example.com")).await.is(200);
    api.call(Method::PUT, "settings/mail", mail(Value::Null, "evil.example.com"))
        .await
        .refuses(422, "password");
    let all = api.get("settings/mail").await.is(200).to_string()
        + &api.get("audit").await.is(200).to_string();
    assert!(!all.contains("hunter2"));
    api.delete("settings/mail").await.is(204);
    assert_eq!(api.get("settings/mail").await.is(200)["configured"], false);
}

#[tokio::test]
async fn maintenance_is_declared_ended_and_never_explains_the_past_away() {
    let api = Api::start().await;
    api.location("eu").await;
    let shop = api.monitor("shop").await;
    let window = |start: &str, end: &str| json!({"name": "upgrade", "start": start, "end": end, "monitors": ["shop"]});
    api.post("maintenance", window("2026-03-01T13:00:00Z", "2026-03-01T12:30:00Z"))
        .await
        .refuses(422, "end");
    api.post("maintenance", window("2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"))
        .await
        .refuses(422, "end");
    let mut nobody = window("2026-03-01T13:00:00Z", "2026-03-01T14:00:00Z");
    nobody["monitors"] = json!(["shop", "none"]);
    api.post("maintenance", nobody).await.refuses(422, "monitors[1]");
    let running = api
        .post("maintenance", window("2026-03-01T10:00:00Z", "2026-03-01T14:00:00Z"))
        .await
        .is(201);
    assert_eq!(
        (&running["start"], &running["phase"]),
        (&json!("2026-03-01T12:00:00.000Z"), &json!("running"))
    );
    assert_eq!(running["monitors"], json!([shop["id"]]));
    let planned = api
        .post("maintenance", window("2026-03-02T10:00:00Z", "2026-03-02T14:00:00Z"))
        .await
        .is(201);
    api.later(60);
    let row = api.get("monitors").await.is(200)["items"][0].clone();
    assert_eq!(row["maintenance"], true);
    let state = api.get(&format!("monitors/{}/state", text(&shop["id"]))).await.is(200);
    assert_eq!(state["maintenance"]["name"], "upgrade");
    let (running, planned) = (
        format!("maintenance/{}", text(&running["id"])),
        format!("maintenance/{}", text(&planned["id"])),
    );
    api.delete(&running).await.is(409);
    api.post(&format!("{planned}/end"), Value::Null).await.is(409);
    let ended = api.post(&format!("{running}/end"), Value::Null).await.is(200);
    assert_eq!(
        (&ended["end"], &ended["phase"]),
        (&json!("2026-03-01T12:01:00.000Z"), &json!("past"))
    );
    let listed = async |query: &str| {
        api.get(&format!("maintenance{query}")).await.is(200)["items"].as_array().unwrap().len()
    };
    assert_eq!(
        [listed("").await, listed("?phase=past").await, listed("?phase=planned").await],
        [2, 1, 1]
    );
    api.delete(&planned).await.is(204);
    api.get(&planned).await.is(404);
}

#[tokio::test]
async fn an_outage_is_read_from_every_side() {
    let api = Api::start().await;
    for name in ["eu", "us", "ap"] {
        api.location(name).await;
    }
    let shop = text(&api.monitor("shop").await["id"]);
    let path = format!("monitors/{shop}");
    for (seq, outcome) in
        [(1, Outcome::Pass), (2, Outcome::Pass), (3, Outcome::Fail), (4, Outcome::Fail)]
    {
        api.later(if seq == 1 { 30 } else { 60 });
        api.all_say(&shop, seq, outcome).await;
    }
    let state = api.get(&format!("{path}/state")).await.is(200);
    assert_eq!((&state["state"], &state["verdict"]), (&json!("down"), &json!("down")));
    assert_eq!(
        (&state["e"], &state["q"], &state["d"], &state["n"]),
        (&json!(3), &json!(2), &json!(3), &json!(3))
    );
    assert_eq!(state["scope"]["kind"], "global");
    let vote = &state["votes"][0];
    assert_eq!(
        (&vote["vote"], &vote["run"]["count"], &vote["class"]),
        (&json!("down"), &json!(2), &json!("status"))
    );
    assert!(text(&vote["saw"]).contains("503") && vote["counts"] == true, "{vote}");
    assert!(text(&state["explanation"]).contains("3 of 3"), "{}", state["explanation"]);

    let incidents = api.get("incidents?state=open").await.is(200);
    let incident = &incidents["items"][0];
    assert_eq!(
        (&incident["severity"], &incident["monitor"]["name"]),
        (&json!("down"), &json!("shop"))
    );
    assert_eq!(incident["started_at"], "2026-03-01T12:02:30.000Z");
    assert_eq!(state["incident"], incident["id"]);
    let one = format!("incidents/{}", text(&incident["id"]));
    api.post(&format!("{one}/note"), json!({"text": "  "})).await.refuses(422, "text");
    api.post(&format!("{one}/note"), json!({"text": "looking"})).await.is(200);
    let acked = api.post(&format!("{one}/ack"), Value::Null).await.is(200);
    assert_eq!(acked["acked_by"], "token:admin");
    api.post(&format!("{one}/ack"), Value::Null).await.is(200);
    let unacked = api.post(&format!("{one}/unack"), Value::Null).await.is(200);
    let kinds: Vec<String> =
        unacked["events"].as_array().unwrap().iter().map(|e| text(&e["kind"])).collect();
    assert_eq!(kinds, ["opened:down", "note", "acked", "unacked"]);
    assert_eq!(unacked["acked_at"], Value::Null);

    for seq in 5..9 {
        api.later(60);
        api.all_say(&shop, seq, Outcome::Pass).await;
    }
    let ended = api.get(&one).await.is(200);
    assert_eq!(ended["ended_at"], "2026-03-01T12:04:30.000Z");
    assert_eq!(ended["duration_ms"], 120_000);
    api.post(&format!("{one}/ack"), Value::Null).await.is(409);
    assert_eq!(api.get("incidents?state=open").await.is(200)["items"], json!([]));
    assert_eq!(
        api.get("incidents?monitor=shop").await.is(200)["items"].as_array().unwrap().len(),
        1
    );
    api.get("incidents?monitor=none").await.refuses(422, "monitor");

    api.swept().await;
    let availability = api.get(&format!("{path}/availability")).await.is(200);
    assert_eq!((&availability["down_ms"], &availability["outages"]), (&json!(120_000), &json!(1)));
    let total = [
        "up_ms",
        "degraded_ms",
        "partial_ms",
        "down_ms",
        "unknown_ms",
        "paused_ms",
        "maintenance_ms",
    ];
    let sum: i64 = total.iter().map(|field| availability[field].as_i64().unwrap()).sum();
    assert_eq!(availability["total_ms"], sum);
    let series = api.get(&format!("{path}/series?step=60")).await.is(200);
    assert_eq!((&series["source"], &series["all"][0]["runs"]), (&json!("raw"), &json!(3)));
    assert_eq!(series["locations"].as_array().unwrap().len(), 3);
    let fails = api.get(&format!("{path}/observations?outcome=fail&location=eu")).await.is(200);
    assert_eq!(fails["items"].as_array().unwrap().len(), 2);
    assert_eq!(fails["items"][0]["detail"]["status"], 503);
    let decisions = api.get(&format!("{path}/decisions?changed=true")).await.is(200);
    let states: Vec<String> =
        decisions["items"].as_array().unwrap().iter().map(|d| text(&d["state"])).collect();
    assert_eq!(states, ["up", "down", "up"]);
    api.get(&format!("{path}/timeline?from=2026-03-02T00:00:00Z")).await.refuses(422, "from");
    api.get(&format!("{path}/timeline?from=yesterday")).await.refuses(422, "from");
    let row = api.get("monitors").await.is(200)["items"][0].clone();
    let strip: Vec<Value> =
        row["strip"].as_array().unwrap().iter().map(|p| p["state"].clone()).collect();
    assert_eq!(strip, [Value::Null, json!("pending"), json!("up"), json!("down"), json!("up")]);
}

#[tokio::test]
async fn odds_are_worked_out_before_anything_is_saved() {
    let api = Api::start().await;
    for name in ["eu", "us", "ap"] {
        api.location(name).await;
    }
    let calm =
        api.post("odds", json!({"interval_s": 60, "policy": {"preset": "careful"}})).await.is(200);
    let quick =
        api.post("odds", json!({"interval_s": 60, "policy": {"preset": "quick"}})).await.is(200);
    let number = |odds: &Value, field: &str| odds[field].as_f64().unwrap();
    assert!(number(&quick, "detection_worst_s") < number(&calm, "detection_worst_s"));
    assert!(number(&quick, "false_alerts_per_month") > number(&calm, "false_alerts_per_month"));
    assert_eq!((&quick["n"], &quick["q"]), (&json!(3), &json!(2)));
    assert!(quick["terms"].as_array().unwrap().iter().all(|term| term["source"] == "assumed"));
    api.post("odds", json!({"interval_s": 1})).await.refuses(422, "interval_s");
    api.post("odds", json!({"policy": {"fail_after": 0}})).await.refuses(422, "policy.fail_after");
    let shop = text(&api.monitor("shop").await["id"]);
    let saved = api.get(&format!("monitors/{shop}/odds")).await.is(200);
    assert_eq!(saved["shortest_outage_s"], 5.0);
}
