//! Logs on their way in: exactly once by file and offset, whatever is sent twice, late, torn or at the
//! same time; in the shapes that log shippers send; and what is refused by name.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use quorate::api::auth::Role;
use serde_json::{Value, json};

use crate::support::api::{Answer, Api, key_of, text};

/// A minute before the clock of the tests.
fn line(second: u32, path: &str, status: u16) -> String {
    format!(
        "203.0.113.9 - - [01/Mar/2026:11:59:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} 512 \"-\" \"ua/1\"\n"
    )
}

fn lines(count: u32) -> String {
    (0..count).map(|n| line(n % 60, "/pay", if n % 10 == 0 { 500 } else { 200 })).collect()
}

pub(crate) async fn fleet(api: &Api) -> String {
    text(&api.post("fleets", json!({"name": "shop"})).await.is(201)["id"])
}

async fn send(
    api: &Api,
    fleet: &str,
    query: &str,
    body: impl Into<Body>,
    headers: &[(&str, &str)],
) -> Answer {
    let mut request =
        Request::builder().method(Method::POST).uri(format!("/api/v1/fleets/{fleet}/logs?{query}"));
    if !headers.iter().any(|(name, _)| *name == "authorization") {
        request = request.header(header::AUTHORIZATION, format!("Bearer {}", key_of(Role::Editor)));
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    api.send(request.body(body.into()).unwrap()).await
}

/// Requests, attempts and errors of the fleet, over all windows.
async fn sums(api: &Api, fleet: &str) -> (u64, u64, u64) {
    let health = api.get(&format!("fleets/{fleet}/health")).await.is(200);
    let sum = |field: &str| {
        let steps = health["series"].as_array().unwrap().iter();
        steps.filter_map(|step| step[field].as_u64()).sum()
    };
    (sum("requests"), sum("attempts"), sum("errors"))
}

const FILE: &str = "source=web1&role=instance&file=f1&offset=";

#[tokio::test]
async fn a_part_counts_once_however_often_it_comes() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let body = lines(100);
    let taken = send(&api, &shop, &format!("{FILE}0"), body.clone(), &[]).await.is(200);
    assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(100), &json!(0)));
    assert_eq!(
        (&taken["next_offset"], &taken["format"]),
        (&json!(body.len()), &json!("nginx-combined"))
    );
    let again = send(&api, &shop, &format!("{FILE}0"), body.clone(), &[]).await.is(200);
    assert_eq!((&again["accepted"], &again["duplicate_bytes"]), (&json!(0), &json!(body.len())));
    assert_eq!(again["next_offset"], body.len());
    assert_eq!(sums(&api, &shop).await, (100, 100, 10));

    // Something is missing before it.
    let gap = send(&api, &shop, &format!("{FILE}{}", body.len() + 7), "x\n", &[]).await.is(409);
    assert_eq!((&gap["error"]["code"], &gap["next_offset"]), (&json!("gap"), &json!(body.len())));
    // Half known, half new; the last line has no end yet and waits.
    let half = body.lines().take(50).map(|line| line.len() + 1).sum::<usize>();
    let more = format!("{}{}{}", &body[half..], lines(10), "203.0.113.9 - - [01/Mar");
    let taken = send(&api, &shop, &format!("{FILE}{half}"), more, &[]).await.is(200);
    assert_eq!(taken["accepted"], 10);
    let next = body.len() + lines(10).len();
    assert_eq!(taken["next_offset"], next);
    assert_eq!(sums(&api, &shop).await.0, 110);
    // Another file of the same source begins at nothing.
    let other = FILE.replace("f1", "f2");
    send(&api, &shop, &format!("{other}5"), lines(1), &[]).await.is(409);
    send(&api, &shop, &format!("{other}0"), lines(5), &[]).await.is(200);
    assert_eq!(sums(&api, &shop).await.0, 115);
    let source = api.get(&format!("fleets/{shop}/sources")).await.is(200);
    assert_eq!(
        (&source["items"][0]["accepted"], &source["items"][0]["lag_ms"]),
        (&json!(115), &json!(1_000))
    );
}

#[tokio::test]
async fn the_same_part_at_once_through_two_coordinators_counts_once() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let other = api.twin();
    let body = zstd::encode_all(lines(5_000).as_bytes(), 1).unwrap();
    let zstd = [("content-encoding", "zstd")];
    for round in 0..8 {
        let query = format!("source=web1&role=instance&file=round{round}&offset=0");
        let one = send(&api, &shop, &query, body.clone(), &zstd);
        let two = send(&other, &shop, &query, body.clone(), &zstd);
        let (one, two) = tokio::join!(one, two);
        let (one, two) = (one.is(200), two.is(200));
        let accepted = [&one["accepted"], &two["accepted"]].map(|n| n.as_u64().unwrap());
        assert_eq!(accepted.iter().sum::<u64>(), 5_000, "{accepted:?}");
        assert_eq!(one["next_offset"], two["next_offset"]);
    }
    assert_eq!(sums(&api, &shop).await, (40_000, 40_000, 4_000));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_taken_up_where_it_broke() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    // Three pieces, of which the last never arrives whole.
    let all = lines(200_000);
    let (first, rest) = all.split_at(9_000_000);
    let parts: Vec<Result<Vec<u8>, std::io::Error>> =
        vec![Ok(first.as_bytes().to_vec()), Err(std::io::Error::other("the link is down"))];
    let body = Body::from_stream(futures_util::stream::iter(parts));
    let answer = send(&api, &shop, &format!("{FILE}0"), body, &[]).await;
    assert_eq!(answer.status.as_u16(), 400, "{}", answer.body);
    let before = sums(&api, &shop).await.0;
    assert!(before > 0 && before < 200_000, "{before}: whole pieces are kept");
    // The sender knows nothing of that and sends everything again.
    let body = Body::from_stream(futures_util::stream::iter(vec![
        Ok::<_, std::io::Error>(first.as_bytes().to_vec()),
        Ok(rest.as_bytes().to_vec()),
    ]));
    let taken = send(&api, &shop, &format!("{FILE}0"), body, &[]).await.is(200);
    assert_eq!(taken["accepted"].as_u64().unwrap(), 200_000 - before);
    assert_eq!(taken["next_offset"], all.len());
    assert_eq!(sums(&api, &shop).await, (200_000, 200_000, 20_000));
}

#[tokio::test]
async fn what_vector_and_fluent_bit_send_is_taken_as_it_is() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let made = api.post(&format!("fleets/{shop}/shippers"), json!({"name": "v"})).await.is(201);
    let key = text(&made["secret"]);
    let bearer = format!("Bearer {key}");
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("shipper:{key}")));
    let events = |field: &str| -> Vec<Value> {
        (0..20)
            .map(|n| {
                json!({field: line(n, "/pay", 200).trim_end(), "host": "web1", "source_type": "file",
                    "file": "/var/log/nginx/access.log", "timestamp": "2026-03-01T11:59:59.123456789Z",
                    "date": 1_772_366_399.5})
            })
            .collect()
    };
    let ndjson: String = events("message").iter().map(|event| format!("{event}\n")).collect();
    let array = json!(events("message")).to_string();
    let fluent = json!(events("log")).to_string();
    let stream: String = events("log").iter().map(Value::to_string).collect();
    let gzip = {
        use std::io::Write;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(ndjson.as_bytes()).unwrap();
        packer.finish().unwrap()
    };
    let query = "source=web1&role=instance";
    let json = ("content-type", "application/json");
    let nd = ("content-type", "application/x-ndjson");
    let requests: [(Body, Vec<(&str, &str)>); 6] = [
        (ndjson.clone().into(), vec![nd, ("authorization", &bearer)]),
        (array.into(), vec![json, ("authorization", &bearer), ("user-agent", "Vector/0.50.0")]),
        (gzip.into(), vec![nd, ("content-encoding", "gzip"), ("authorization", &bearer)]),
        (fluent.into(), vec![json, ("authorization", &basic), ("user-agent", "Fluent-Bit")]),
        (stream.into(), vec![json, ("authorization", &basic)]),
        (lines(20).into(), vec![("content-type", "text/plain"), ("authorization", &bearer)]),
    ];
    for (n, (body, headers)) in requests.into_iter().enumerate() {
        let taken = send(&api, &shop, query, body, &headers).await.is(200);
        assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(20), &json!(0)), "{n}");
        assert_eq!(taken["next_offset"], Value::Null);
    }
    assert_eq!(sums(&api, &shop).await.0, 120);
    // By name too, and nobody else's.
    send(&api, "shop", query, lines(1), &[("authorization", &bearer)]).await.is(200);
    let other = text(&api.post("fleets", json!({"name": "other"})).await.is(201)["id"]);
    send(&api, &other, query, lines(1), &[("authorization", &bearer)]).await.is(403);
    api.delete(&format!("fleets/{shop}/shippers/{}", text(&made["shipper"]["id"]))).await.is(204);
    send(&api, &shop, query, lines(1), &[("authorization", &bearer)]).await.is(401);
    send(&api, &shop, query, lines(1), &[("authorization", &basic)]).await.is(401);
}

#[tokio::test]
async fn what_is_not_understood_is_counted_and_shown_masked() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let body = format!("{}gibberish from 198.51.100.77 /a?token=secret\n{}", lines(30), lines(3));
    let taken = send(&api, &shop, "source=web1&role=instance", body, &[]).await.is(200);
    assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(33), &json!(1)));
    let sources = api.get(&format!("fleets/{shop}/sources")).await.is(200);
    let sample = &sources["items"][0]["samples"][0];
    assert!(text(&sample["line"]).contains("gibberish"), "{sample}");
    for hidden in ["198.51.100.77", "secret"] {
        assert!(!sources.to_string().contains(hidden) && !taken.to_string().contains(hidden));
    }
    // A format that nobody knows: all of it is refused, none of it is fatal.
    let taken = send(&api, &shop, "source=odd", "one\ntwo\n\nthree\n", &[]).await.is(200);
    assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(0), &json!(3)));
    let long = "x".repeat(300_000);
    let body = format!("{long}\n{}", lines(2));
    let taken = send(&api, &shop, "source=web1", body, &[]).await.is(200);
    assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(2), &json!(1)));
    let samples = api.get(&format!("fleets/{shop}/sources")).await.is(200);
    assert_eq!(samples["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_line_longer_than_anything_that_is_kept_leaves_the_offsets_exact() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let long = format!("{}\n", "x".repeat(17 << 20));
    let body = format!("{}{long}{}", lines(2), lines(3));
    let taken = send(&api, &shop, &format!("{FILE}0"), body.clone(), &[]).await.is(200);
    assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(5), &json!(1)));
    assert_eq!(taken["next_offset"], body.len());
    // From the middle of what is known, and from the middle of the long line.
    for from in [0, lines(2).len(), lines(2).len() + (9 << 20)] {
        let part = format!("{}{}", &body[from..], lines(1));
        let taken = send(&api, &shop, &format!("{FILE}{from}"), part, &[]).await.is(200);
        let more = u64::from(from == 0);
        assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(more), &json!(0)), "{from}");
        assert_eq!(taken["next_offset"], body.len() + lines(1).len());
    }
    // A line that nothing follows is none once the file is over.
    let next = body.len() + lines(1).len();
    let waits = send(&api, &shop, &format!("{FILE}{next}"), long.trim_end().to_owned(), &[]).await;
    assert_eq!(waits.is(200)["next_offset"], next);
    let over = format!("{FILE}{next}&end=true");
    let over = send(&api, &shop, &over, long.trim_end().to_owned(), &[]).await.is(200);
    assert_eq!((&over["rejected"], &over["next_offset"]), (&json!(1), &json!(next + (17 << 20))));
    assert_eq!(sums(&api, &shop).await.0, 6);
}

#[tokio::test]
async fn lines_of_ones_own_are_read_by_what_their_keys_mean() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let line = r#"{"when":"2026-03-01T11:59:30Z","answer":{"code":503},"who":"10.9.0.13:8080"}"#;
    let body = format!("{line}\n").repeat(3);
    let mapping = r#"{"time":"when","status":"answer.code","instance":"who"}"#;
    let query: String = url::form_urlencoded::byte_serialize(mapping.as_bytes()).collect();
    let taken = send(&api, &shop, &format!("source=a&mapping={query}"), body.clone(), &[]).await;
    let taken = taken.is(200);
    assert_eq!((&taken["accepted"], &taken["format"]), (&json!(3), &json!("generic-json")));
    assert_eq!(sums(&api, &shop).await, (3, 3, 3));
    let source = &api.get(&format!("fleets/{shop}/sources")).await.is(200)["items"][0];
    assert_eq!(source["mapping"]["status"], "answer.code");
    assert_eq!((&source["format"], &source["format_set"]), (&json!("generic-json"), &json!(true)));
    let cut = send(&api, &shop, "source=a&mapping=%7B", body.clone(), &[]).await;
    assert_eq!(cut.is(422)["error"]["field"], "mapping");
    // It holds for what comes later, until it is taken back.
    let again = send(&api, &shop, "source=a", body.clone(), &[]).await.is(200);
    assert_eq!(again["accepted"], 3);
    let path = format!("fleets/{shop}/sources/a");
    let put = async |body: Value| api.call(Method::PUT, &path, body).await;
    let source = put(json!({"mapping": null})).await.is(200);
    assert_eq!((&source["mapping"], &source["format"]), (&Value::Null, &json!("generic-json")));
    let without = send(&api, &shop, "source=a", body.clone(), &[]).await.is(200);
    assert_eq!((&without["accepted"], &without["rejected"]), (&json!(0), &json!(3)));
    let source = put(json!({"mapping": {"time": "when", "duration_unit": "ms"}})).await.is(200);
    assert_eq!(source["mapping"]["duration_unit"], "ms");
    assert_eq!(put(json!({"format": "haproxy"})).await.is(200)["mapping"], Value::Null);
    // What cannot be meant names its field.
    for (body, field) in [
        (json!({"mapping": {"colour": "blue"}}), "mapping.colour"),
        (json!({"mapping": {"time": ""}}), "mapping.time"),
        (json!({"mapping": {"bytes": "x".repeat(129)}}), "mapping.bytes"),
        (json!({"mapping": {"duration_unit": "weeks"}}), "mapping.duration_unit"),
        (json!({"mapping": {}, "format": "haproxy"}), "mapping"),
        (json!({"mapping": {}, "log_format": "$time_local $status"}), "mapping"),
    ] {
        put(body).await.refuses(422, field);
    }
    let refused = async |query: &str, field: &str| {
        send(&api, &shop, query, body.clone(), &[]).await.refuses(422, field);
    };
    refused("source=a&mapping=%7B%22colour%22:1%7D", "mapping.colour").await;
    refused("source=a&mapping=%7B%22time%22:1%7D", "mapping.time").await;
    refused("source=a&mapping=nonsense", "mapping").await;
    refused("source=a&log_format=$status", "log_format").await;
    refused(&format!("source=a&name={}", "n".repeat(1_001)), "name").await;
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_name() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let refused = async |query: &str, field: &str| {
        send(&api, &shop, query, lines(1), &[]).await.refuses(422, field);
    };
    refused("file=f1", "offset").await;
    refused("offset=1", "file").await;
    refused("file=&offset=0", "file").await;
    refused("file=f1&offset=-1", "offset").await;
    refused("format=runes", "format").await;
    refused("format=kubernetes", "format").await;
    refused("tz=Mars/Olympus", "tz").await;
    refused("role=king", "role").await;
    refused("colour=red", "colour").await;
    let plain = async |encoding: &str| {
        send(&api, &shop, "source=a", "no archive", &[("content-encoding", encoding)]).await
    };
    assert_eq!(plain("zstd").await.is(400)["error"]["code"], "malformed");
    plain("gzip").await.is(400);
    plain("br").await.is(400);
    send(&api, "none", "source=a", "x", &[]).await.is(404);
    send(&api, &shop, "source=a", "x", &[("authorization", "Basic !")]).await.is(401);
    let viewer = format!("Bearer {}", key_of(Role::Viewer));
    send(&api, &shop, "source=a", "x", &[("authorization", &viewer)]).await.is(403);
    assert_eq!(sums(&api, &shop).await.0, 0, "nothing is stored on an error");
}

#[tokio::test]
async fn a_sender_that_has_read_to_the_end_says_so() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    send(&api, &shop, &format!("{FILE}0"), lines(3), &[]).await.is(200);
    api.later(120);
    let end = lines(3).len();
    send(&api, &shop, &format!("{FILE}{end}"), "", &[]).await.is(200);
    let sources = api.get(&format!("fleets/{shop}/sources")).await.is(200);
    assert_eq!(sources["items"][0]["heard_until"], "2026-03-01T12:02:00.000Z");
    assert_eq!(api.get(&format!("fleets/{shop}")).await.is(200)["now"]["state"], "ok");
    api.later(301);
    let now = &api.get(&format!("fleets/{shop}")).await.is(200)["now"];
    assert_eq!(
        (&now["state"], &now["ready"]),
        (&json!("no_data"), &Value::Null),
        "silence is not health"
    );
}

#[tokio::test]
async fn platforms_say_what_differs_and_who_is_gone() {
    let api = Api::start().await;
    let shop = fleet(&api).await;
    let targets = |healthy: &[(&str, &str)]| {
        let all: Vec<Value> = healthy
            .iter()
            .map(|(ip, state)| json!({"Target": {"Id": ip, "Port": 80}, "TargetHealth": {"State": state}}))
            .collect();
        json!({ "TargetHealthDescriptions": all })
    };
    let path = format!("fleets/{shop}/events?source=alb");
    let both = targets(&[("10.0.0.1", "healthy"), ("10.0.0.2", "healthy")]);
    assert_eq!(api.post(&path, both.clone()).await.is(200)["accepted"], 2);
    api.later(30);
    let same = api.post(&path, both).await.is(200);
    assert_eq!((&same["accepted"], &same["unchanged"]), (&json!(0), &json!(2)));
    let one = api.post(&path, targets(&[("10.0.0.1", "unhealthy")])).await.is(200);
    assert_eq!(one["accepted"], 2, "one is unready, one is gone");
    let events = api.get(&format!("fleets/{shop}/events")).await.is(200);
    let gone = events["items"].as_array().unwrap().iter().find(|e| e["event"]["what"] == "gone");
    assert_eq!(gone.unwrap()["event"]["instance"], "10.0.0.2:80");
    let own = json!({"at_us": api.clock.now().as_microsecond(), "source": "probes", "instance": "a",
        "what": {"check": {"passed": false}}});
    assert_eq!(api.post(&path, own).await.is(200)["accepted"], 1);
    api.post(&path, json!({"at_us": 1})).await.refuses(422, "[0]");
}
