//! Sources of a fleet's logs: how long they are waited for, how they are renamed, and what becomes of their
//! data when they are deleted.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use quorate::{api::auth::Role, upkeep::Upkeep};
use serde_json::{Value, json};

use crate::support::{
    api::{Answer, Api, key_of, text},
    fleet_traffic::{PER_MINUTE, judge, minute},
};

/// Sends `body` as the part of a file, or as no file's.
async fn send(api: &Api, fleet: &str, source: &str, part: &str, body: String) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/api/v1/fleets/{fleet}/logs?source={source}&format=haproxy{part}"))
        .header(header::AUTHORIZATION, format!("Bearer {}", key_of(Role::Editor)))
        .body(Body::from(body))
        .unwrap();
    api.send(request).await
}

async fn fleet(api: &Api) -> String {
    text(&api.post("fleets", json!({"name": "shop"})).await.is(201)["id"])
}

async fn put(api: &Api, fleet: &str, source: &str, body: Value) -> Answer {
    api.call(Method::PUT, &format!("fleets/{fleet}/sources/{source}"), body).await
}

async fn sources(api: &Api, fleet: &str) -> Vec<Value> {
    let all = api.get(&format!("fleets/{fleet}/sources")).await.is(200);
    all["items"].as_array().unwrap().clone()
}

/// All requests that are counted in the first hour.
async fn counted(api: &Api, fleet: &str) -> u64 {
    let span = "from=2026-03-01T12:00:00Z&to=2026-03-01T13:00:00Z";
    let health = api.get(&format!("fleets/{fleet}/health?{span}")).await.is(200);
    health["series"].as_array().unwrap().iter().filter_map(|step| step["requests"].as_u64()).sum()
}

#[tokio::test]
async fn a_source_that_is_often_silent_is_waited_for_as_long_as_is_said() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    let start = api.clock.now();
    let at = |n: i64| start + jiff::SignedDuration::from_secs(60 * n);
    put(&api, &shop, "files", json!({"patience_s": 5})).await.refuses(422, "patience_s");
    put(&api, &shop, "files", json!({"patience_s": 600})).await.is(200);
    for source in ["files", "lb"] {
        send(&api, &shop, source, "", minute(at(0), None)).await.is(200);
    }
    for n in 1..5 {
        api.later(60);
        send(&api, &shop, "lb", "", minute(at(n - 1), None)).await.is(200);
        judge(&upkeep).await;
    }
    let now = api.get(&format!("fleets/{shop}")).await.is(200)["now"].clone();
    assert_eq!(now["judged_until"], Value::Null, "the files of the first minute may go on: {now}");
    let both = sources(&api, &shop).await;
    assert_eq!((&both[0]["live"], &both[0]["patience_s"]), (&json!(true), &json!(600)));
    assert_eq!(both[1]["live"], true);
    put(&api, &shop, "files", json!({"patience_s": null})).await.is(200);
    judge(&upkeep).await;
    let now = api.get(&format!("fleets/{shop}")).await.is(200)["now"].clone();
    assert_eq!(now["judged_until"], "2026-03-01T12:03:00.000Z", "a minute is what is usual");
    assert_eq!(sources(&api, &shop).await[0]["live"], false);
}

#[tokio::test]
async fn a_renamed_source_goes_on_in_its_files_under_either_name() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let start = api.clock.now();
    api.later(300);
    let at = |n: i64| start + jiff::SignedDuration::from_secs(60 * n);
    let (first, second, third) = (minute(at(0), None), minute(at(1), None), minute(at(2), None));
    let (one, two) = (first.len(), first.len() + second.len());
    send(&api, &shop, "lb-old", "&file=f1&offset=0", first.clone()).await.is(200);
    send(&api, &shop, "other", "", String::new()).await.is(200);
    put(&api, &shop, "lb-old", json!({"name": "other"})).await.refuses(409, "name");
    put(&api, &shop, "lb-old", json!({"name": " "})).await.refuses(422, "name");
    let renamed = put(&api, &shop, "lb-old", json!({"name": "edge"})).await.is(200);
    assert_eq!((&renamed["name"], &renamed["aliases"]), (&json!("edge"), &json!(["lb-old"])));
    // A sender that knows nothing of it goes on; one that was told goes on as well.
    send(&api, &shop, "lb-old", &format!("&file=f1&offset={one}"), second).await.is(200);
    let again = send(&api, &shop, "edge", "&file=f1&offset=0", first).await.is(200);
    assert_eq!(again["next_offset"], two, "all of it was here");
    send(&api, &shop, "edge", &format!("&file=f1&offset={two}"), third).await.is(200);
    assert_eq!(counted(&api, &shop).await, u64::from(PER_MINUTE) * 4 * 3);
    let names: Vec<String> = sources(&api, &shop).await.iter().map(|s| text(&s["name"])).collect();
    assert_eq!(names, ["edge", "other"]);
    // Its old name is taken, by itself: it may have it back.
    put(&api, &shop, "other", json!({"name": "lb-old"})).await.refuses(409, "name");
    let back = put(&api, &shop, "edge", json!({"name": "lb-old"})).await.is(200);
    assert_eq!((&back["name"], &back["aliases"]), (&json!("lb-old"), &json!(["edge"])));
}

#[tokio::test]
async fn a_deleted_source_is_not_missed_and_what_it_sends_again_counts_nothing_twice() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    let start = api.clock.now();
    let body = minute(start, None);
    api.later(60);
    send(&api, &shop, "lb", "&file=f1&offset=0", body.clone()).await.is(200);
    put(&api, &shop, "lb", json!({"tz": "Europe/Berlin", "patience_s": 90})).await.is(200);
    judge(&upkeep).await;
    api.later(400);
    judge(&upkeep).await;
    let open = api.get("incidents?state=open").await.is(200);
    assert_eq!(open["items"][0]["title"], "no logs arrive", "{open}");
    api.as_role(Role::Viewer, Method::DELETE, &format!("fleets/{shop}/sources/lb"), Value::Null)
        .await
        .is(403);
    api.delete(&format!("fleets/{shop}/sources/lb")).await.is(204);
    api.delete(&format!("fleets/{shop}/sources/lb")).await.is(404);
    judge(&upkeep).await;
    assert_eq!(api.get("incidents?state=open").await.is(200)["items"], json!([]), "not missed");
    assert_eq!(sources(&api, &shop).await, Vec::<Value>::new());
    assert_eq!(counted(&api, &shop).await, u64::from(PER_MINUTE) * 4, "what was counted stays");
    let again = send(&api, &shop, "lb", "&file=f1&offset=0", body.clone()).await.is(200);
    assert_eq!(again["duplicate_bytes"], body.len());
    assert_eq!(counted(&api, &shop).await, u64::from(PER_MINUTE) * 4);
    let back = sources(&api, &shop).await;
    assert_eq!(back.len(), 1, "who sends is a source: {back:?}");
    assert_eq!((&back[0]["tz"], &back[0]["patience_s"]), (&Value::Null, &Value::Null));
}
