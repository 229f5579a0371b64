//! Fleets as they are made and changed: what is refused, who may, and what their shippers' keys open.

use axum::http::Method;
use quorate::api::auth::Role;
use serde_json::{Value, json};

use crate::support::api::{Api, text};

#[tokio::test]
async fn a_fleet_is_made_changed_and_deleted() {
    let api = Api::start().await;
    let made = api.post("fleets", json!({"name": "shop"})).await.is(201);
    assert_eq!((&made["window_s"], &made["lateness_s"]), (&json!(60), &json!(10)));
    assert_eq!(made["now"]["state"], "waiting");
    assert_eq!(made["now"]["ready"], Value::Null);
    api.post("fleets", json!({"name": "shop"})).await.refuses(409, "name");
    let path = format!("fleets/{}", text(&made["id"]));
    let change = json!({
        "expected": 5, "min_ready": 4, "platform": {"kind": "alb", "floor": null},
        "check": {"path": "/healthz", "interval_s": 5, "timeout_s": 2, "unhealthy": 2, "healthy": 3},
        "instances": [{"name": "one", "addresses": ["10.0.0.1:80"], "zone": "a"}],
        "rules": {"min_severity": "critical", "kinds": {"latency": "never"}, "removal_s": 60.5}
    });
    let changed = api.patch(&path, change).await;
    assert_eq!(changed.headers["etag"], "\"2\"");
    let changed = changed.is(200);
    assert_eq!(changed["now"]["min_ready"], 4);
    assert_eq!(changed["rules"]["removal_s"], 60.5);
    assert_eq!(changed["rules"]["restarts_per_h"], 3);
    let kept = api.patch(&path, json!({"expected": null, "min_ready": null})).await.is(200);
    assert_eq!((&kept["expected"], &kept["check"]["timeout_s"]), (&Value::Null, &json!(2.0)));
    let health = api.get(&format!("{path}/health")).await.is(200);
    assert_eq!(health["platform"]["minimum_s"], 10.0);
    assert_eq!(health["now"]["state"], "waiting");
    assert!(health["series"].as_array().unwrap().iter().all(|step| step["requests"].is_null()));
    let instances = api.get(&format!("{path}/instances")).await.is(200);
    assert_eq!(
        (&instances["items"][0]["instance"], &instances["items"][0]["state"]),
        (&json!("one"), &json!("unknown"))
    );
    for empty in ["findings", "removals", "sources", "shippers", "routes", "events"] {
        assert_eq!(
            api.get(&format!("{path}/{empty}")).await.is(200)["items"],
            json!([]),
            "{empty}"
        );
    }
    api.delete(&path).await.is(204);
    api.get(&path).await.is(404);
    api.post("fleets", json!({"name": "shop"})).await.is(201);
}

/// By the vendors' documentation: out at the earliest, at worst, back at the earliest (s), and below how
/// many of four ready it ignores health.
#[tokio::test]
async fn each_platform_says_what_it_does_by_itself() {
    let api = Api::start().await;
    let table = [
        ("kubernetes", 30.0, 31.0, 10.0, None),
        ("alb", 60.0, 65.0, 150.0, Some(1)),
        ("nlb", 60.0, 70.0, 150.0, Some(1)),
        ("envoy", 30.0, 31.0, 20.0, Some(2)),
        ("haproxy", 6.0, 8.0, 4.0, None),
        ("nginx", 10.0, 70.0, 10.0, None),
        ("google", 10.0, 15.0, 10.0, None),
        ("azure_lb", 15.0, 30.0, 15.0, None),
        ("app_gateway", 120.0, 150.0, 30.0, None),
    ];
    for (kind, least, worst, back, below) in table {
        let made = json!({"name": kind, "expected": 4, "platform": {"kind": kind, "floor": null}});
        let id = text(&api.post("fleets", made).await.is(201)["id"]);
        let told = api.get(&format!("fleets/{id}/health")).await.is(200)["platform"].clone();
        let times = (&told["minimum_s"], &told["worst_s"], &told["return_s"]);
        assert_eq!(times, (&json!(least), &json!(worst), &json!(back)), "{kind}");
        assert_eq!(told["fails_open_below"].as_u64(), below, "{kind}: {told}");
        for field in ["all_unhealthy", "fail_open"] {
            assert!(text(&told[field]).len() > 10, "{kind}: {told}");
        }
        assert_eq!(told["fails_open_now"], Value::Null, "how many are ready is not known");
    }
}

#[tokio::test]
async fn what_is_refused_is_named() {
    let api = Api::start().await;
    let refused = async |body: Value, field: &str| {
        api.post("fleets", body).await.refuses(422, field);
    };
    refused(json!({}), "name").await;
    refused(json!({"name": "a", "colour": "red"}), "colour").await;
    refused(json!({"name": "a", "expected": 0}), "expected").await;
    refused(json!({"name": "a", "expected": 2, "min_ready": 3}), "min_ready").await;
    refused(json!({"name": "a", "window_s": 7}), "window_s").await;
    refused(json!({"name": "a", "platform": {"kind": "mainframe"}}), "platform.kind").await;
    refused(json!({"name": "a", "platform": {"kind": "alb", "floor": 2}}), "platform.floor").await;
    refused(json!({"name": "a", "check": {"interval_s": 5}}), "check.timeout_s").await;
    refused(json!({"name": "a", "probe_paths": ["health"]}), "probe_paths[0]").await;
    refused(json!({"name": "a", "instances": [{"name": ""}]}), "instances[0].name").await;
    refused(json!({"name": "a", "rules": {"kinds": {"luck": "never"}}}), "rules.kinds").await;
    refused(json!({"name": "a", "rules": {"removal_s": -1}}), "rules.removal_s").await;
    refused(json!({"name": "a", "rules": {"restarts_per_h": 0}}), "rules.restarts_per_h").await;
    refused(json!({"name": "a", "rules": {"min_severity": "bad"}}), "rules.min_severity").await;
    refused(json!({"name": "a", "warm_up_s": "long"}), "warm_up_s").await;
    refused(json!({"name": "a", "flap": {"window_s": 60, "from": 3, "until": 3}}), "flap.until")
        .await;
    refused(json!({"name": "a", "flap": {"from": 3}}), "flap.window_s").await;
    let twice = json!([{"name": "one", "addresses": ["x"]}, {"name": "two", "addresses": ["x"]}]);
    refused(json!({"name": "a", "instances": twice}), "instances[1].addresses[0]").await;
    let nobody = "01900000-0000-7000-8000-000000000009";
    refused(json!({"name": "a", "rules": {"channels": [nobody]}}), "rules.channels[0]").await;
    let fleet = api.post("fleets", json!({"name": "a"})).await.is(201);
    let path = format!("fleets/{}", text(&fleet["id"]));
    api.patch(&path, json!({"window_s": 5})).await.refuses(422, "window_s");
    api.get(&format!("{path}/health?from=2026-03-02T00:00:00Z")).await.refuses(422, "from");
    api.get(&format!("{path}/health?step=0")).await.refuses(422, "step");
    let source = format!("{path}/sources/lb");
    let put = async |body: Value| api.call(Method::PUT, &source, body).await;
    put(json!({"format": "runes"})).await.refuses(422, "format");
    put(json!({"tz": "Mars/Olympus"})).await.refuses(422, "tz");
    let set =
        put(json!({"role": "instance", "format": "haproxy", "tz": "Europe/Berlin"})).await.is(200);
    assert_eq!((&set["role"], &set["format_set"]), (&json!("instance"), &json!(true)));
}

#[tokio::test]
async fn a_change_behind_ones_back_is_refused() {
    let api = Api::start().await;
    let fleet = api.post("fleets", json!({"name": "a"})).await.is(201);
    let path = format!("/api/v1/fleets/{}", text(&fleet["id"]));
    let bearer = format!("Bearer {}", crate::support::api::key_of(Role::Editor));
    let seen = [("authorization", bearer.as_str()), ("if-match", "\"1\"")];
    api.plain(Method::PATCH, &path, json!({"expected": 3}), &seen).await.is(200);
    let late = api.plain(Method::PATCH, &path, json!({"expected": 4}), &seen).await.is(409);
    assert_eq!(late["error"]["code"], "revision");
}

#[tokio::test]
async fn a_shippers_key_is_shown_once_and_opens_nothing_else() {
    let api = Api::start().await;
    let fleet = api.post("fleets", json!({"name": "it's"})).await.is(201);
    let path = format!("fleets/{}", text(&fleet["id"]));
    api.as_role(Role::Editor, Method::POST, &format!("{path}/shippers"), json!({"name": "web1"}))
        .await
        .is(403);
    let made = api.post(&format!("{path}/shippers"), json!({"name": "web1"})).await.is(201);
    let key = text(&made["secret"]);
    assert!(key.starts_with("qrf_") && text(&made["command"]).contains(r"--fleet 'it'\''s'"));
    api.post(&format!("{path}/shippers"), json!({"name": "web1"})).await.refuses(409, "name");
    let listed = api.get(&format!("{path}/shippers")).await.is(200);
    assert!(!listed.to_string().contains(&key) && listed["items"][0]["name"] == "web1");
    let bearer = format!("Bearer {key}");
    for other in ["monitors", "fleets", &path] {
        api.plain(Method::GET, other, Value::Null, &[("authorization", &bearer)]).await.is(401);
    }
    let shipper = text(&made["shipper"]["id"]);
    api.delete(&format!("{path}/shippers/{shipper}")).await.is(204);
    api.delete(&format!("{path}/shippers/{shipper}")).await.is(404);
}
