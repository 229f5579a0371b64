//! The coordinator's side of the agents' link: results are settled one by one, whatever comes with
//! them, and each agent hears what it has to probe.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::api::{Answer, Api, text};

const BOOT: &str = "01900000-0000-7000-8000-00000000b001";

fn report(seq: i64, monitor: &str, age_ms: f64) -> Value {
    json!({
        "seq": seq, "monitor": monitor, "check_version": 1, "kind": "scheduled", "age_at_send_ms": age_ms,
        "observation": {
            "outcome": "pass", "class": null, "message": "", "phases_us": {"connect": 900, "total": 12_345},
            "status": 200, "http_version": "HTTP/1.1", "address": "192.0.2.7", "size": 2, "certificate": null,
            "evidence": null
        }
    })
}

async fn deliver(api: &Api, key: &str, reports: &[Value]) -> Answer {
    let batch = json!({"boot": BOOT, "rtt_ms": 0.0, "reports": reports}).to_string();
    raw(api, key, zstd::encode_all(batch.as_bytes(), 1).unwrap(), "zstd").await
}

async fn raw(api: &Api, key: &str, body: Vec<u8>, encoding: &str) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri("/agent/v1/reports")
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .header(header::CONTENT_ENCODING, encoding)
        .body(Body::from(body))
        .unwrap();
    api.send(request).await
}

async fn beat(api: &Api, key: &str) -> Answer {
    let body = json!({
        "boot": BOOT, "wall": api.clock.now().to_string(), "in_flight": 1, "spool": 2, "dropped": 3, "version": "1"
    });
    let bearer = format!("Bearer {key}");
    api.plain(Method::POST, "/agent/v1/heartbeat", body, &[("authorization", &bearer)]).await
}

#[tokio::test]
async fn every_report_of_a_batch_is_settled_for_itself() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    let shop = text(&api.monitor("shop").await["id"]);
    let stranger = "01900000-0000-7000-8000-0000000000ff";
    api.later(300);
    let day = 86_400_000.0;
    let mut malformed = report(5, &shop, 0.0);
    malformed["observation"]["outcome"] = "perhaps".into();
    let batch = [
        report(1, &shop, 100.0),
        report(2, stranger, 0.0),
        report(3, &shop, -60_000.0), // a minute ahead of us
        report(4, &shop, 60.0 * day),
        malformed,
        report(6, &shop, 50.0),
    ];
    let answer = deliver(&api, &key, &batch).await.is(200);
    assert_eq!((&answer["accepted"], &answer["duplicate"]), (&json!(2), &json!(0)));
    let mut rejected: Vec<(i64, String)> = answer["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["seq"].as_i64().unwrap(), text(&r["code"])))
        .collect();
    rejected.sort();
    let expected = [(2, "unknown_monitor"), (3, "future"), (4, "too_old"), (5, "bad_report")];
    assert_eq!(rejected, expected.map(|(seq, code)| (seq, code.to_owned())));

    // Sent again, and again in part: all known.
    let again = deliver(&api, &key, &batch).await.is(200);
    assert_eq!((&again["accepted"], &again["duplicate"]), (&json!(0), &json!(6)));
    let more = deliver(&api, &key, &[report(6, &shop, 50.0), report(7, &shop, 10.0)]).await.is(200);
    assert_eq!((&more["accepted"], &more["duplicate"]), (&json!(1), &json!(1)));
    let rows = api.get(&format!("monitors/{shop}/observations")).await.is(200);
    assert_eq!(rows["items"].as_array().unwrap().len(), 3);
    assert_eq!(rows["items"][0]["phases_us"]["connect"], 900);
    assert_eq!(rows["items"][0]["location_name"], "eu");
}

#[tokio::test]
async fn a_report_out_of_order_is_history_and_costs_nothing_else() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    let shop = text(&api.monitor("shop").await["id"]);
    api.later(100);
    let answer = deliver(
        &api,
        &key,
        &[report(1, &shop, 1_000.0), report(2, &shop, 30_000.0), report(3, &shop, 0.0)],
    )
    .await;
    assert_eq!(answer.is(200)["accepted"], 3);
    let rows = api.get(&format!("monitors/{shop}/observations")).await.is(200);
    let seen: Vec<String> =
        rows["items"].as_array().unwrap().iter().map(|r| text(&r["disposition"])).collect();
    assert_eq!(seen, ["folded", "folded", "out_of_order"]);
}

#[tokio::test]
async fn a_restored_database_asks_for_what_it_lost_and_nothing_is_doubled() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    let shop = text(&api.monitor("shop").await["id"]);
    api.later(300);
    let old = [report(1, &shop, 120_000.0), report(2, &shop, 60_000.0)];
    deliver(&api, &key, &old).await.is(200);
    // The backup is made here: the tables as they are now come back later.
    let tables = ["agent_boot", "monitor_live", "report"];
    for table in tables {
        let copy = format!("create table kept_{table} as table {table}");
        sqlx::query(sqlx::AssertSqlSafe(copy)).execute(api.db.pool()).await.unwrap();
    }
    let lost = [report(3, &shop, 0.0), report(4, &shop, 0.0)];
    deliver(&api, &key, &lost[..1]).await.is(200);
    api.later(60);
    deliver(&api, &key, &lost[1..]).await.is(200);
    for table in tables {
        let back = format!("delete from {table}; insert into {table} select * from kept_{table}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(back)).execute(api.db.pool()).await.unwrap();
    }
    let count = async || {
        let rows = api.get(&format!("monitors/{shop}/observations")).await.is(200);
        rows["items"].as_array().unwrap().len()
    };
    assert_eq!(count().await, 2);

    // A batch that goes on after what was lost is not taken, and the heartbeat asks as well.
    api.later(60);
    let batch = |settled: i64, reports: Value| json!({"boot": BOOT, "settled": settled, "reports": reports});
    let send = async |batch: Value| {
        raw(&api, &key, batch.to_string().into_bytes(), "identity").await.is(200)
    };
    let fifth = report(5, &shop, 0.0);
    let answer = send(batch(4, json!([fifth.clone()]))).await;
    assert_eq!(answer, json!({"accepted": 0, "duplicate": 0, "rejected": [], "resend_after": 2}));
    let stranger = "01900000-0000-7000-8000-00000000b002";
    let bearer = format!("Bearer {key}");
    let beat = json!({
        "boot": BOOT, "wall": api.clock.now().to_string(), "in_flight": 0, "spool": 0, "dropped": 0, "version": "1",
        "settled": [{"boot": BOOT, "seq": 4}, {"boot": stranger, "seq": 9}]
    });
    let beat = async || {
        let headers = [("authorization", bearer.as_str())];
        api.plain(Method::POST, "/agent/v1/heartbeat", beat.clone(), &headers).await.is(200)
    };
    let asked = json!([{"boot": BOOT, "after_seq": 2}, {"boot": stranger, "after_seq": 0}]);
    assert_eq!(beat().await["resend"], asked);

    let again = json!([report(3, &shop, 120_000.0), report(4, &shop, 60_000.0), fifth]);
    for (accepted, duplicate) in [(3, 0), (0, 3)] {
        let answer = send(batch(2, again.clone())).await;
        assert_eq!(
            (&answer["accepted"], &answer["duplicate"]),
            (&json!(accepted), &json!(duplicate))
        );
        assert_eq!(count().await, 5);
    }
    assert_eq!(beat().await["resend"], json!([{"boot": stranger, "after_seq": 0}]));
}

#[tokio::test]
async fn a_batch_that_cannot_be_decoded_is_refused_as_a_whole() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    raw(&api, &key, b"nonsense".to_vec(), "zstd").await.is(400);
    raw(&api, &key, b"{\"boot\":1}".to_vec(), "identity").await.is(400);
    raw(&api, &key, b"{}".to_vec(), "br").await.is(400);
    let seqless = json!({"boot": BOOT, "reports": [{"monitor": BOOT}]}).to_string();
    raw(&api, &key, seqless.into_bytes(), "identity").await.is(400);
    let bomb = zstd::encode_all(vec![b' '; 9 * 1024 * 1024].as_slice(), 1).unwrap();
    raw(&api, &key, bomb, "zstd").await.is(413);
    let empty = json!({"boot": BOOT, "reports": []}).to_string();
    assert_eq!(raw(&api, &key, empty.into_bytes(), "identity").await.is(200)["accepted"], 0);
}

#[tokio::test]
async fn an_unknown_or_revoked_agent_is_told_so() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    let stranger = quorate::domain::token::KeyKind::Agent.key([9; 32]).into_exposed();
    beat(&api, &stranger).await.is(401);
    deliver(&api, &stranger, &[]).await.is(401);
    beat(&api, &key).await.is(200);
    let agents = api.get("agents").await.is(200);
    let agent = &agents["items"][0];
    assert_eq!(
        (&agent["online"], &agent["spool"], &agent["dropped"]),
        (&json!(true), &json!(2), &json!(3))
    );
    api.delete(&format!("agents/{}", text(&agent["id"]))).await.is(204);
    beat(&api, &key).await.is(401);
    deliver(&api, &key, &[]).await.is(401);
    assert_eq!(api.get("agents").await.is(200)["items"], json!([]));
}

#[tokio::test]
async fn a_location_is_online_for_half_a_minute_after_it_was_heard() {
    let api = Api::start().await;
    let (id, key) = api.location("eu").await;
    let health = async || text(&api.get(&format!("locations/{id}")).await.is(200)["health"]);
    assert_eq!(health().await, "waiting");
    assert_eq!(text(&beat(&api, &key).await.is(200)["now"]), api.clock.now().to_string());
    api.later(29);
    assert_eq!(health().await, "online");
    api.later(1);
    assert_eq!(health().await, "offline");
    let problems = api.get("health").await.is(200)["problems"].to_string();
    assert!(problems.contains("agents_offline") && problems.contains("no_agents"), "{problems}");
    api.patch(&format!("locations/{id}"), json!({"enabled": false})).await.is(200);
    assert_eq!(health().await, "disabled");
    api.post("agents", json!({"location": "mars"})).await.refuses(422, "location");
}

/// An open stream of assignments.
struct Stream {
    body: Body,
    text: String,
}

impl Stream {
    async fn open(api: &Api, key: &str, since: Option<i64>) -> Self {
        let query = since.map(|rev| format!("?since={rev}")).unwrap_or_default();
        let request = Request::builder()
            .uri(format!("/agent/v1/stream{query}"))
            .header(header::AUTHORIZATION, format!("Bearer {key}"))
            .body(Body::empty())
            .unwrap();
        let response = quorate::api::router(api.state.clone()).oneshot(request).await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Self { body: response.into_body(), text: String::new() }
    }

    /// The next event of that name; none when the stream has ended.
    async fn next(&mut self, wanted: &str) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name).map(str::trim))
                };
                if field("event:") == Some(wanted) {
                    return Some(serde_json::from_str(field("data:").unwrap()).unwrap());
                }
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }
}

#[tokio::test]
async fn an_agent_hears_everything_first_and_then_what_changes() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    api.call(Method::PUT, "secrets/shop", json!({"value": "hunter2"})).await.is(200);
    let body = json!({"name": "shop", "interval_s": 30, "check": {
        "kind": "http", "url": "https://shop.example/",
        "headers": {"authorization": "Bearer ${secret:shop}", "x-api-key": "typed-in"}
    }});
    let shop = api.post("monitors", body).await.is(201);
    let mut stream = Stream::open(&api, &key, None).await;
    let set = stream.next("set").await.unwrap();
    let assignment = &set["assignments"][0];
    assert_eq!(assignment["monitor"], shop["id"]);
    assert_eq!((&assignment["position"], &assignment["of"]), (&json!(0), &json!(1)));
    assert_eq!((&assignment["interval_s"], &assignment["fail_after"]), (&json!(30), &json!(3)));
    assert_eq!(assignment["secrets"]["shop"], "hunter2");
    let values: Vec<&str> =
        assignment["secrets"].as_object().unwrap().values().filter_map(Value::as_str).collect();
    assert!(values.contains(&"typed-in"), "{values:?}");
    // The save asked for a probe at once.
    let probe = stream.next("probe_now").await.unwrap();
    assert_eq!((&probe["purpose"], &probe["monitor"]), (&json!("confirm"), &shop["id"]));

    let path = format!("monitors/{}", text(&shop["id"]));
    api.patch(&path, json!({"interval_s": 60})).await.is(200);
    let change = stream.next("change").await.unwrap();
    assert_eq!(change["upsert"][0]["interval_s"], 60);
    assert_eq!(change["upsert"][0]["check_version"], 2);
    api.call(Method::PUT, "secrets/shop", json!({"value": "hunter3"})).await.is(200);
    let change = stream.next("change").await.unwrap();
    assert_eq!(change["upsert"][0]["secrets"]["shop"], "hunter3");
    let rev = change["rev"].as_i64().unwrap();

    api.patch(&path, json!({"enabled": false})).await.is(200);
    assert_eq!(stream.next("change").await.unwrap()["remove"][0], shop["id"]);
    // Where it left off, an agent goes on; from the future it starts afresh.
    let mut resumed = Stream::open(&api, &key, Some(rev)).await;
    assert_eq!(resumed.next("change").await.unwrap()["remove"][0], shop["id"]);
    let mut fresh = Stream::open(&api, &key, Some(rev + 1_000)).await;
    assert_eq!(fresh.next("set").await.unwrap()["assignments"], json!([]));

    let agents = api.get("agents").await.is(200);
    api.delete(&format!("agents/{}", text(&agents["items"][0]["id"]))).await.is(204);
    assert_eq!(stream.next("set").await, None, "a revoked agent's stream ends");
}

#[tokio::test]
async fn agents_of_one_location_share_its_monitors() {
    let api = Api::start().await;
    let (_, one) = api.location("eu").await;
    let two = text(&api.post("agents", json!({"location": "eu"})).await.is(201)["secret"]);
    for n in 0..12 {
        api.monitor(&format!("m{n}")).await;
    }
    let held = |set: &Value| set["assignments"].as_array().unwrap().len();
    let mut first = Stream::open(&api, &one, None).await;
    assert_eq!(held(&first.next("set").await.unwrap()), 12, "alone it does everything");
    let mut second = Stream::open(&api, &two, None).await;
    let share = held(&second.next("set").await.unwrap());
    assert!((1..12).contains(&share), "{share}");
    let change = first.next("change").await.unwrap();
    assert_eq!(change["remove"].as_array().unwrap().len(), share, "what the other took");
    // It falls silent: after half a minute its share comes back.
    api.later(25);
    beat(&api, &one).await.is(200);
    api.later(25);
    let change = first.next("change").await.unwrap();
    assert_eq!(change["upsert"].as_array().unwrap().len(), share);
}

#[tokio::test]
async fn a_stream_notices_by_its_ping_what_no_mark_has_told() {
    let api = Api::start_unwatched(Duration::from_millis(20)).await;
    let (_, one) = api.location("eu").await;
    let other = api.post("agents", json!({"location": "eu"})).await.is(201);
    for n in 0..12 {
        api.monitor(&format!("m{n}")).await;
    }
    let mut first = Stream::open(&api, &one, None).await;
    first.next("set").await.unwrap();
    let mut second = Stream::open(&api, &text(&other["secret"]), None).await;
    let share = second.next("set").await.unwrap()["assignments"].as_array().unwrap().len();
    let change = first.next("change").await.unwrap();
    assert_eq!(change["remove"].as_array().unwrap().len(), share, "what the other took");
    api.later(25);
    beat(&api, &one).await.is(200);
    api.later(25);
    let change = first.next("change").await.unwrap();
    assert_eq!(change["upsert"].as_array().unwrap().len(), share, "it fell silent");
    // A window that pauses everything.
    let pause = json!({"name": "night", "start": "2026-03-01T12:00:00Z", "end": "2026-03-01T13:00:00Z",
        "pause_probes": true});
    beat(&api, &one).await.is(200);
    let pause = api.post("maintenance", pause).await.is(201);
    assert_eq!(
        first.next("change").await.unwrap()["remove"].as_array().unwrap().len(),
        12,
        "{pause}"
    );
    api.delete(&format!("agents/{}", text(&other["agent"]["id"]))).await.is(204);
    assert_eq!(second.next("set").await, None, "a revoked agent's stream ends");
}

#[tokio::test]
async fn a_probe_by_hand_is_answered_once_by_the_agent_that_took_it() {
    let api = Api::start().await;
    let (_, key) = api.location("eu").await;
    api.location("us").await; // Nobody there.
    let mut stream = Stream::open(&api, &key, None).await;
    let check = json!({"kind": "http", "url": "https://shop.example/", "headers": {"x-api-key": "typed-in"}});
    let batch =
        api.post("checks/try?wait_s=0", json!({"check": check, "timeout_s": 2})).await.is(200);
    let statuses: Vec<String> =
        batch["results"].as_array().unwrap().iter().map(|r| text(&r["status"])).collect();
    assert_eq!(statuses, ["waiting", "offline"]);
    let probe = stream.next("probe_now").await.unwrap();
    assert_eq!((&probe["purpose"], &probe["timeout_ms"]), (&json!("try"), &json!(2_000)));
    assert!(probe["secrets"].to_string().contains("typed-in"));
    let stored: String = sqlx::query_scalar("select string_agg(r::text, '') from probe_request r")
        .fetch_one(api.db.pool())
        .await
        .unwrap();
    assert!(!stored.contains("typed-in"));

    let answer =
        json!({"request": probe["request"], "observation": report(1, BOOT, 0.0)["observation"]});
    let bearer = format!("Bearer {key}");
    for _ in 0..2 {
        api.plain(Method::POST, "/agent/v1/answers", answer.clone(), &[("authorization", &bearer)])
            .await
            .is(204);
    }
    let done = api.get(&format!("probes/{}", text(&batch["id"]))).await.is(200);
    assert_eq!((&done["done"], &done["results"][0]["status"]), (&json!(true), &json!("answered")));
    assert_eq!(done["results"][0]["observation"]["status"], 200);
    api.post("checks/try", json!({"check": {"kind": "http"}})).await.refuses(422, "check.url");
    api.post("checks/try", json!({"check": check, "timeout_s": 61}))
        .await
        .refuses(422, "timeout_s");
    api.post("checks/try?wait_s=99", json!({"check": check})).await.refuses(422, "wait_s");
    api.get("probes/01900000-0000-7000-8000-000000000000").await.is(404);
}
