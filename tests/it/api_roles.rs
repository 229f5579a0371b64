//! Every route of the description, called as everybody: who may not is told so before anything is read.

use axum::http::Method;
use quorate::api::auth::Role;
use serde_json::{Value, json};

use crate::support::api::Api;

#[tokio::test]
async fn nobody_gets_further_than_their_role() {
    let api = Api::start().await;
    let document = serde_json::to_value(quorate::api::openapi::document()).unwrap();
    let mut seen = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(needs) = role(operation["x-role"].as_str().unwrap()) else { continue };
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let path = path
                .replace("{id}", "01900000-0000-7000-8000-000000000000")
                .replace("{name}", "none")
                .replace("{token}", "none")
                .replace("{source}", "none")
                .replace("{post}", "01900000-0000-7000-8000-000000000000")
                .replace("{update}", "01900000-0000-7000-8000-000000000000")
                .replace("{finding}", "01900000-0000-7000-8000-000000000000")
                .replace("{shipper}", "01900000-0000-7000-8000-000000000000");
            // A body that no route takes: whoever may call gets to hear of that instead.
            let body = if method == Method::GET { Value::Null } else { json!([]) };
            let anybody = api.plain(method.clone(), &path, body.clone(), &[]).await;
            assert_eq!(anybody.status.as_u16(), 401, "{method} {path} without a token");
            for caller in [Role::Viewer, Role::Editor, Role::Admin] {
                if path == "/api/v1/events" && caller >= needs {
                    continue; // An endless answer.
                }
                let answer = api.as_role(caller, method.clone(), &path, body.clone()).await;
                let status = answer.status.as_u16();
                if caller < needs {
                    assert_eq!(status, 403, "{method} {path} as {}", caller.word());
                    assert_eq!(answer.body["error"]["code"], "forbidden");
                } else {
                    let own_account = path.contains("/users/me");
                    assert!(
                        status != 401 && (status != 403 || own_account),
                        "{method} {path} as {}: {status}",
                        caller.word()
                    );
                    assert!(
                        status < 500,
                        "{method} {path} as {}: {status} {}",
                        caller.word(),
                        answer.body
                    );
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 150, "{seen}");
}

fn role(word: &str) -> Option<Role> {
    match word {
        "viewer" => Some(Role::Viewer),
        "editor" => Some(Role::Editor),
        "admin" => Some(Role::Admin),
        _ => None,
    }
}

#[tokio::test]
async fn keys_of_one_kind_open_no_door_of_another() {
    let api = Api::start().await;
    let (_, agent) = api.location("eu").await;
    let as_agent = format!("Bearer {agent}");
    api.plain(Method::GET, "monitors", Value::Null, &[("authorization", &as_agent)]).await.is(401);
    let as_admin = format!("Bearer {}", crate::support::api::key_of(Role::Admin));
    let beat = json!({});
    api.plain(Method::POST, "/agent/v1/heartbeat", beat, &[("authorization", &as_admin)])
        .await
        .is(401);
    for nonsense in ["", "Bearer", "Basic YTpi", "Bearer qrt_short"] {
        api.plain(Method::GET, "monitors", Value::Null, &[("authorization", nonsense)])
            .await
            .is(401);
    }
    api.plain(Method::GET, "/metrics", Value::Null, &[]).await.is(401);
    api.as_role(Role::Editor, Method::GET, "/metrics", Value::Null).await.is(403);
    let metrics = api.get("/metrics").await.is(200);
    let metrics = metrics.as_str().unwrap();
    assert!(
        metrics.contains("quorate_agents_enrolled 1") && metrics.contains("quorate_database_up 1"),
        "{metrics}"
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said_in_one_shape() {
    let api = Api::start().await;
    let broken = axum::http::Request::builder()
        .method(Method::POST)
        .uri("/api/v1/locations")
        .header("authorization", format!("Bearer {}", crate::support::api::key_of(Role::Admin)))
        .header("content-type", "application/json")
        .body(axum::body::Body::from("{\"name\":"))
        .unwrap();
    let answer = api.send(broken).await;
    assert_eq!(answer.is(400)["error"]["code"], "malformed");
    api.post("locations", json!({"name": "eu", "colour": "red"})).await.refuses(422, "colour");
    api.post("locations", json!({"name": 5})).await.refuses(422, "name");
    api.post("locations", json!({})).await.refuses(422, "name");
    api.get("monitors?limit=0").await.refuses(422, "limit");
    api.get("monitors?limit=501").await.refuses(422, "limit");
    api.get("monitors?limit=many").await.refuses(422, "limit");
    api.get("monitors?colour=red").await.refuses(422, "colour");
    api.get("monitors?cursor=made-up").await.refuses(422, "cursor");
    api.get("monitors?state=asleep").await.refuses(422, "state");
    api.get("monitors?sort=luck").await.refuses(422, "sort");
    assert_eq!(api.get("nothing").await.is(404)["error"]["code"], "not_found");
    api.get("monitors/not-an-id").await.is(404);
    let big = json!({ "name": "x".repeat(1_100_000) });
    assert_eq!(api.post("locations", big).await.is(413)["error"]["code"], "too_large");
    let ok = api.get("monitors").await;
    assert_eq!(ok.headers["cache-control"], "no-store");
    assert_eq!(ok.headers["x-request-id"].len(), 16);
    assert_eq!(ok.is(200), json!({"items": [], "next": null}));
}

#[tokio::test]
async fn a_database_that_is_away_is_said_and_nothing_else() {
    let api = Api::start().await;
    api.state.pool.close().await;
    let answer = api.get("monitors").await;
    assert_eq!(answer.headers["retry-after"], "5");
    let body = answer.is(503);
    assert_eq!(body["error"]["code"], "unavailable");
    assert!(!body.to_string().contains("pool"), "{body}");
}
