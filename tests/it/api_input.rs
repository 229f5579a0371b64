//! What the HTTP interface says to input that it does not take: by name, in its own words, and nothing
//! is stored or passed over in silence.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::api::{Answer, Api, key_of, monitor, text};
use quorate::api::auth::Role;

#[tokio::test]
async fn null_does_not_stand_for_what_must_be_there() {
    let api = Api::start().await;
    let (location, _) = api.location("eu").await;
    let shop = format!("monitors/{}", text(&api.monitor("shop").await["id"]));
    for field in
        ["name", "group", "check", "interval_s", "timeout_s", "locations", "policy", "labels"]
    {
        api.patch(&shop, json!({ field: null })).await.refuses(422, field);
    }
    let cleared = json!({"slow_ms": null, "channels": null, "runbook_url": null});
    api.patch(&shop, cleared).await.is(200);
    let hook =
        json!({"name": "hook", "kind": "webhook", "config": {"url": "https://hooks.example/"}});
    let hook = format!("channels/{}", text(&api.post("channels", hook).await.is(201)["id"]));
    for field in ["name", "config", "default", "min_severity", "enabled"] {
        api.patch(&hook, json!({ field: null })).await.refuses(422, field);
    }
    for field in ["name", "region", "labels", "enabled"] {
        api.patch(&format!("locations/{location}"), json!({ field: null }))
            .await
            .refuses(422, field);
    }
    api.patch("settings", json!({"report_zone": null})).await.refuses(422, "report_zone");
}

#[tokio::test]
async fn a_list_is_no_object_however_deep() {
    let api = Api::start().await;
    let mut body = monitor("shop");
    body["policy"] = json!([]);
    api.post("monitors", body.clone()).await.refuses(422, "policy");
    body["policy"] = json!({"quorum": ["at_least", 2]});
    api.post("monitors", body.clone()).await.refuses(422, "policy.quorum");
    let looked = api.post("monitors/validate", json!({"monitor": body})).await.is(200);
    assert_eq!(looked["errors"][0]["field"], "policy.quorum", "{looked}");
}

#[tokio::test]
async fn fields_that_are_not_known_are_refused_in_the_same_words_everywhere() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    drop(key);
    let shop = text(&api.monitor("shop").await["id"]);
    let mut in_check = monitor("b");
    in_check["check"]["verb"] = json!("GET");
    let hook = json!({"name": "h", "kind": "webhook",
        "config": {"url": "https://hooks.example/", "verb": "PUT"}});
    let refusals = [
        api.post("monitors", json!({"verb": 1})).await.refuses(422, "verb"),
        api.post("monitors", in_check).await.refuses(422, "check.verb"),
        api.post("channels", hook).await.refuses(422, "config.verb"),
        api.get("monitors?verb=1").await.refuses(422, "verb"),
        api.post(&format!("monitors/{shop}/run?wait_s=0"), json!({"verb": 1}))
            .await
            .refuses(422, "verb"),
        api.post(&format!("incidents/{shop}/ack"), json!({"verb": 1})).await.refuses(422, "verb"),
        api.post(&format!("incidents/{shop}/unack"), json!({"verb": 1})).await.refuses(422, "verb"),
    ];
    for refusal in refusals {
        assert!(refusal.starts_with("is not known here; "), "{refusal}");
    }
    api.post(&format!("monitors/{shop}/run?wait_s=0"), json!({})).await.is(200);
    let empty = api.post("monitors", json!({"": 1})).await.is(422);
    assert!(text(&empty["error"]["message"]).contains("empty name"), "{empty}");
}

async fn raw(api: &Api, body: &str, headers: &[(&str, &str)]) -> Answer {
    let bearer = format!("Bearer {}", key_of(Role::Admin));
    let mut request = axum::http::Request::builder()
        .method(Method::POST)
        .uri("/api/v1/monitors")
        .header("host", "q.test")
        .header("authorization", bearer)
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    api.send(request.body(body.to_owned().into()).unwrap()).await
}

#[tokio::test]
async fn what_stands_there_twice_is_refused_by_name() {
    let api = Api::start().await;
    raw(&api, r#"{"name":"a","name":"b"}"#, &[]).await.refuses(422, "name");
    let deep = r#"{"name":"a","check":{"kind":"http","url":"https://a.example/","headers":{"x":"1","x":"2"}}}"#;
    raw(&api, deep, &[]).await.refuses(422, "check.headers.x");
    api.get("monitors?limit=1&limit=2").await.refuses(422, "limit");
}

#[tokio::test]
async fn a_body_in_an_encoding_is_refused_and_not_taken_for_plain() {
    let api = Api::start().await;
    let body = monitor("shop").to_string();
    for encoding in ["gzip", "zstd", "br"] {
        let refused = raw(&api, &body, &[("content-encoding", encoding)]).await.is(415);
        assert!(text(&refused["error"]["message"]).contains(encoding), "{refused}");
    }
    raw(&api, &body, &[("content-encoding", "identity")]).await.is(201);
}

#[tokio::test]
async fn a_malformed_id_is_told_to_be_none() {
    let api = Api::start().await;
    for path in ["monitors/shop", "incidents/7", "channels/x", "probes/-"] {
        let said = text(&api.get(path).await.is(404)["error"]["message"]);
        assert!(said.contains("is no id"), "{path}: {said}");
    }
    let known = api.get("monitors/01900000-0000-7000-8000-000000000000").await.is(404);
    assert_eq!(known["error"]["message"], "There is no such monitor.");
}

#[tokio::test]
async fn names_of_fields_are_those_that_were_written() {
    let api = Api::start().await;
    let mut body = monitor("shop");
    body["labels"] = json!({"": "x"});
    let said = api.post("monitors", body).await.refuses(422, "labels");
    assert!(said.contains("empty name"), "{said}");
    let hook = |secret: Value, inner: Value| {
        json!({"name": "hook", "kind": "webhook", "secret": secret,
            "config": {"url": "https://hooks.example/", "secret": inner}})
    };
    api.post("channels", hook(json!("short"), Value::Null)).await.refuses(422, "secret");
    api.post("channels", hook(Value::Null, json!("short"))).await.refuses(422, "config.secret");
}

#[tokio::test]
async fn what_is_huge_is_not_echoed_whole() {
    let api = Api::start().await;
    let long = "x".repeat(5_000);
    let mut kind = monitor("a");
    kind["check"]["kind"] = json!(long);
    let mut url = monitor("a");
    url["check"]["url"] = json!(format!("{long}://a.example/"));
    let mut depends = monitor("a");
    depends["depends_on"] = json!([long]);
    let mut slow = monitor("a");
    slow["timeout_s"] = json!(1e300);
    let hook = json!({"name": "h", "kind": "webhook", "config": {"url": long}});
    let mail = json!({"name": "m", "kind": "email", "config": {"to": [long]}});
    for (path, body) in [
        ("monitors", kind),
        ("monitors", url),
        ("monitors", depends),
        ("monitors", slow),
        ("channels", hook),
        ("channels", mail),
    ] {
        let said = api.post(path, body).await.is(422);
        assert!(text(&said["error"]["message"]).chars().count() < 300, "{said}");
    }
}

#[tokio::test]
async fn an_instant_that_cannot_be_kept_is_told_so() {
    let api = Api::start().await;
    let window = |end: &str| json!({"name": "w", "start": "2026-03-01T12:00:00Z", "end": end});
    for end in ["10000-01-01T00:00:00Z", "+020000-01-01T00:00:00Z"] {
        let said = api.post("maintenance", window(end)).await.refuses(422, "end");
        assert!(said.contains("9999"), "{said}");
    }
    let early =
        json!({"name": "w", "start": "-005000-01-01T00:00:00Z", "end": "2026-03-01T12:00:00Z"});
    api.post("maintenance", early).await.refuses(422, "start");
}

fn codes(warnings: &Value) -> Vec<String> {
    warnings.as_array().unwrap().iter().map(|warning| text(&warning["code"])).collect()
}

#[tokio::test]
async fn what_is_allowed_but_hardly_meant_is_warned_of() {
    let api = Api::start().await;
    api.location("eu").await;
    api.location("us").await;
    let body = json!({
        "name": "inside",
        "check": {"kind": "http", "url": "http://10.0.0.8/",
            "assertions": [{"on": "body", "op": "exists"}]},
        "policy": {"quorum": {"mode": "at_least", "k": 3}},
    });
    let wanted = ["closed_address", "quorum_above_locations"];
    let looked = api.post("monitors/validate", json!({"monitor": body})).await.is(200);
    assert_eq!(
        (&looked["valid"], codes(&looked["warnings"])),
        (&json!(true), wanted.map(String::from).to_vec())
    );
    let saved = api.post("monitors", body).await.is(201);
    assert_eq!(codes(&saved["warnings"]), wanted);
    let path = format!("monitors/{}", text(&saved["id"]));
    let lower = json!({"policy": {"quorum": {"mode": "at_least", "k": 2}}});
    assert_eq!(codes(&api.patch(&path, lower).await.is(200)["warnings"]), ["closed_address"]);
    assert_eq!(codes(&api.get(&path).await.is(200)["warnings"]), ["closed_address"]);
}

#[tokio::test]
async fn a_webhook_to_a_closed_address_is_refused_when_it_is_saved() {
    let api = Api::start().await;
    let hook = |url: &str| json!({"name": "hook", "kind": "webhook", "config": {"url": url}});
    for url in ["http://10.0.0.8/", "http://169.254.169.254/", "http://[::1]:9/"] {
        let said = api.post("channels", hook(url)).await.refuses(422, "config.url");
        assert!(said.contains("the coordinator may not send there"), "{said}");
    }
    let saved = api.post("channels", hook("https://hooks.example/")).await.is(201);
    let path = format!("channels/{}", text(&saved["id"]));
    let moved = json!({"config": {"url": "http://127.0.0.1:9/"}});
    api.patch(&path, moved).await.refuses(422, "config.url");
    api.patch(&path, json!({"name": "another"})).await.is(200);
}
