//! The stream of changes tells of fleets: what was judged and found, who is heard, and that lines come.

use axum::{body::Body, http::Method};
use http_body_util::BodyExt;
use quorate::{api::auth::Role, upkeep::Upkeep};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{
    api::{Api, key_of, request, text},
    fleet_traffic::{judge, minute, send},
};

struct Stream {
    body: Body,
    text: String,
}

impl Stream {
    async fn open(api: &Api) -> Self {
        let bearer = format!("Bearer {}", key_of(Role::Viewer));
        let ask = request(Method::GET, "events", &Value::Null, &[("authorization", &bearer)]);
        let answer = quorate::api::router(api.state.clone()).oneshot(ask).await.unwrap();
        let mut stream = Self { body: answer.into_body(), text: String::new() };
        assert_eq!(stream.next("hello").await["fleets"], json!([]));
        stream
    }

    /// The data of the next event of this name.
    async fn next(&mut self, name: &str) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.contains(&format!("event: {name}")) {
                    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                    return serde_json::from_str(data.unwrap()).unwrap();
                }
                continue;
            }
            let frame = self.body.frame().await.unwrap().unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// Reads on until a change is told of which this holds.
    async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let change = self.next("change").await;
            if holds(&change) {
                return change;
            }
        }
    }
}

#[tokio::test]
async fn the_stream_tells_which_fleets_to_load_again() {
    let api = Api::start().await;
    let mut stream = Stream::open(&api).await;
    let names = |change: &Value, id: &str| {
        change["fleets"].as_array().unwrap().iter().any(|fleet| fleet == id)
    };
    let shop = text(&api.post("fleets", json!({"name": "shop"})).await.is(201)["id"]);
    let pay = text(&api.post("fleets", json!({"name": "pay"})).await.is(201)["id"]);
    let (mut shop_seen, mut pay_seen) = (false, false);
    while !(shop_seen && pay_seen) {
        let change = stream.next("change").await;
        shop_seen |= names(&change, &shop);
        pay_seen |= names(&change, &pay);
    }
    let start = api.clock.now();
    api.later(60);
    send(&api, &shop, minute(start, None)).await;
    let came = stream.until(|change| change["lines"] == true).await;
    assert!(!names(&came, &pay), "{came}");
    api.later(60);
    send(&api, &shop, minute(start + jiff::SignedDuration::from_secs(60), None)).await;
    stream.until(|change| change["lines"] == true).await;
    let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
    judge(&upkeep).await;
    let judged = stream.until(|change| names(change, &shop)).await;
    assert_eq!(judged["lines"], false, "no line came, a window was judged: {judged}");
    // Nothing is sent any more: at first the source is silent, then the fleet has no data.
    api.later(61);
    stream.until(|change| names(change, &shop)).await;
    api.later(400);
    judge(&upkeep).await;
    let silent = stream.until(|change| names(change, &shop)).await;
    assert!(!names(&silent, &pay), "{silent}");
    api.patch(&format!("fleets/{pay}"), json!({"expected": 4})).await.is(200);
    stream.until(|change| names(change, &pay)).await;
    api.delete(&format!("fleets/{shop}")).await.is(204);
    stream.until(|change| names(change, &shop)).await;
}
