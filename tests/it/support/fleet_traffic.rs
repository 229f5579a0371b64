//! A fleet of four behind a balancer whose log is made up, minute by minute.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use quorate::{api::auth::Role, upkeep::Upkeep};

use super::api::{Api, key_of};

const INSTANCES: [&str; 4] = ["app1", "app2", "app3", "app4"];
pub(crate) const PER_MINUTE: u32 = 240;

/// A minute of a balancer's log, in which `bad` fails half of its requests.
pub(crate) fn minute(at: jiff::Timestamp, bad: Option<&str>) -> String {
    let mut log = String::new();
    for n in 0..PER_MINUTE * 4 {
        let name = INSTANCES[(n % 4) as usize];
        let turn = n / 4;
        let failed = match bad {
            Some(bad) if bad == name => turn % 2 == 0,
            _ => turn % 200 == 7,
        };
        let when = at
            + jiff::SignedDuration::from_millis(i64::from(n) * 60_000 / i64::from(PER_MINUTE * 4));
        let stamp =
            when.to_zoned(jiff::tz::TimeZone::UTC).strftime("%d/%b/%Y:%H:%M:%S%.3f").to_string();
        let status = if failed { 500 } else { 200 };
        let path = ["/", "/cart", "/pay"][(turn % 3) as usize];
        log.push_str(&format!(
            "203.0.113.9:{port} [{stamp}] www app/{name} 0/0/1/{took}/{total} {status} 512 - - ---- 5/5/1/1/0 0/0 \"GET {path} HTTP/1.1\"\n",
            port = 20_000 + n,
            took = 10 + turn % 17,
            total = 11 + turn % 17,
        ));
    }
    log
}

/// As the balancer's shipper would.
pub(crate) async fn send(api: &Api, fleet: &str, body: String) {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/api/v1/fleets/{fleet}/logs?source=lb&format=haproxy"))
        .header(header::AUTHORIZATION, format!("Bearer {}", key_of(Role::Editor)))
        .body(Body::from(body))
        .unwrap();
    let taken = api.send(request).await.is(200);
    assert_eq!(taken["rejected"], 0, "{taken}");
}

/// Everything that can be judged by now.
pub(crate) async fn judge(upkeep: &Upkeep) {
    while upkeep.judge_fleets(upkeep.clock.now()).await.unwrap() {}
}
