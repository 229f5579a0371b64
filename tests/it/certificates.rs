//! Certificates as locations are shown them, from the report to the notice: thresholds, renewal, issuers, and what
//! pages list.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::http::Method;
use jiff::{SignedDuration, Timestamp};
use quorate::{
    domain::{
        ids::LocationKey,
        observation::{Certificate, Observation, Outcome, RunKind},
    },
    triage::{Delivered, ReportBatch, Reported, certificates},
    upkeep::Upkeep,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{
    api::{Api, monitor, text},
    delivery,
    hook_sink::{HookSink, Received},
    targets::{self, Authority, HOME, Say, dns, note_head, ok, write_and_close},
    watch::observation,
    whole::{Whole, until},
};

const DAY: i64 = 86_400;

/// Three locations look at the monitor `shop`; a webhook hears everything.
struct Scene {
    api: Api,
    hook: HookSink,
    shop: String,
    agents: Vec<(Uuid, LocationKey)>,
    seqs: Mutex<HashMap<Uuid, i64>>,
    start: Timestamp,
}

impl Scene {
    async fn new() -> Self {
        let hook = HookSink::start().await;
        let api = Api::start_telling(delivery::settings()).await;
        for name in ["eu", "us", "ap"] {
            api.location(name).await;
        }
        let channel = json!({"name": "hook", "kind": "webhook", "min_severity": "degraded",
            "config": {"url": hook.url}});
        api.post("channels", channel).await.is(201);
        let shop = text(&api.monitor("shop").await["id"]);
        let agents: Vec<(Uuid, i16)> =
            sqlx::query_as("select agent_id, location_id from agent order by location_id")
                .fetch_all(api.db.pool())
                .await
                .unwrap();
        let agents = agents.into_iter().map(|(id, key)| (id, LocationKey(key))).collect();
        let start = api.clock.now();
        Self { api, hook, shop, agents, seqs: Mutex::default(), start }
    }

    fn at(&self, days: i64) -> Timestamp {
        self.start + SignedDuration::from_secs(days * DAY)
    }

    /// A certificate that ends so many days after the beginning of the scene.
    fn ends(&self, fingerprint: &str, days: i64) -> Certificate {
        Certificate {
            subject: "CN=shop.example".into(),
            issuer: "C=US, O=Example CA, CN=R3".into(),
            fingerprint: fingerprint.repeat(64 / fingerprint.len()),
            names: vec!["shop.example".into(), "www.shop.example".into()],
            not_before: self.at(-60),
            not_after: self.at(days),
            days_left: 999,
            chain_length: 2,
            tls_version: Some("TLS 1.3".into()),
            valid: true,
        }
    }

    async fn report(&self, monitor: &str, location: usize, version: u32, seen: Observation) {
        let now = self.api.clock.now();
        Upkeep::new(self.api.db.pool().clone(), self.api.clock.clone())
            .partitions(now)
            .await
            .unwrap();
        let (agent, location) = self.agents[location];
        let seq = {
            let mut seqs = self.seqs.lock().unwrap();
            let seq = seqs.entry(agent).or_default();
            *seq += 1;
            *seq
        };
        let report = Reported {
            monitor: monitor.parse().unwrap(),
            check_version: version,
            kind: RunKind::Scheduled,
            age_at_send_ms: 0.0,
            age_estimated: false,
            observation: seen,
        };
        let batch = ReportBatch {
            agent,
            location,
            boot: agent,
            rtt_ms: 0.0,
            sent_at: None,
            settled: 0,
            reports: vec![Delivered { seq, report: Some(report) }],
        };
        self.api.state.triage.accept(&batch, now).await.unwrap();
    }

    /// One location is shown a certificate at an address.
    async fn shown(&self, location: usize, address: &str, certificate: &Certificate) {
        let seen = Observation {
            certificate: Some(certificate.clone()),
            address: Some(address.into()),
            ..observation(Outcome::Pass, None, Some(200))
        };
        self.report(&self.shop, location, 1, seen).await;
    }

    /// All are shown the same.
    async fn all(&self, certificate: &Certificate) {
        for location in 0..3 {
            self.shown(location, "192.0.2.7", certificate).await;
        }
    }

    /// Two coordinators look at once, and what they decide is delivered.
    async fn look(&mut self) -> Vec<Received> {
        let (pool, now) = (self.api.db.pool(), self.api.clock.now());
        loop {
            let (one, two) =
                tokio::join!(certificates::step(pool, now), certificates::step(pool, now));
            if !(one.unwrap() | two.unwrap()) {
                break;
            }
        }
        while self.api.state.notifier.deliver_next(now).await.unwrap().is_some() {}
        self.hook.drain()
    }

    /// The headlines that the next look tells.
    async fn told(&mut self) -> Vec<String> {
        let all = self.look().await;
        all.iter().map(|one| text(&one.json()["data"]["headline"])).collect()
    }

    fn later(&self, seconds: i64) {
        self.api.later(seconds.unsigned_abs());
    }

    async fn incidents(&self, query: &str) -> Vec<Value> {
        let path = format!("incidents?kind=certificate{query}");
        self.api.get(&path).await.is(200)["items"].as_array().unwrap().clone()
    }

    async fn change(&self, body: Value) {
        self.api.patch(&format!("monitors/{}", self.shop), body).await.is(200);
    }
}

fn ends_in(days: i64) -> String {
    let days = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
    format!("shop shows a certificate that ends in {days}.")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_threshold_is_told_once_over_locations_coordinators_and_restarts() {
    let mut scene = Scene::new().await;
    let certificate = scene.ends("a", 40);
    let mut told = Vec::new();
    for day in 0..42 {
        scene.all(&certificate).await;
        // Another coordinator takes over every day.
        scene.api.state.triage =
            Arc::new(quorate::triage::Triage::new(scene.api.db.pool().clone()));
        for headline in scene.told().await {
            told.push((day, headline));
        }
        assert_eq!(scene.told().await, Vec::<String>::new(), "a second look is no second notice");
        scene.later(DAY);
    }
    let moved = |days| ends_in(days).replace("shop shows", "shop now shows");
    let expected =
        [(10, ends_in(30)), (26, moved(14)), (33, moved(7)), (37, moved(3)), (39, moved(1))];
    assert_eq!(told, expected);
    let rows = scene.incidents("").await;
    assert_eq!(rows.len(), 1, "one incident for all thresholds");
    let row = &rows[0];
    assert_eq!((&row["severity"], &row["state"]), (&json!("degraded"), &Value::Null));
    assert_eq!(row["title"], "shows a certificate that ends on 10 Apr 2026");
    assert_eq!(row["monitor"]["name"], "shop");
    assert_eq!(row["subject"], format!("certificate:{}:{}", scene.shop, "a".repeat(16)));
    assert!(
        text(&row["sentence"])
            .starts_with("The certificate ended less than a day ago, on Fri 10 Apr 2026"),
        "the sentence is of today: {row}"
    );
    // No reminder of what lasts for weeks.
    let now = scene.api.clock.now();
    assert!(!scene.api.state.triage.escalate(now).await.unwrap());
    assert_eq!(scene.told().await, Vec::<String>::new());
}

#[tokio::test]
async fn first_seen_late_it_says_who_when_and_whose_in_full() {
    let mut scene = Scene::new().await;
    scene.all(&scene.ends("a", 5)).await;
    let told = scene.look().await;
    assert_eq!(told.len(), 1);
    let hook = told[0].json();
    let data = &hook["data"];
    assert_eq!((&hook["type"], &data["severity"]), (&json!("incident.opened"), &json!("degraded")));
    assert_eq!(data["headline"], ends_in(5));
    assert_eq!(
        data["sentence"],
        "The certificate ends in 5 days, on Fri 6 Mar 2026, 12:00 UTC. All 3 locations are shown it. It is for \
         shop.example and www.shop.example, issued by Example CA."
    );
    let certificate = &data["certificate"];
    assert_eq!(
        (&certificate["days_left"], &certificate["issuer"]),
        (&json!(5), &json!("Example CA"))
    );
    assert_eq!(data["monitor"]["name"], "shop");
    // The monitor itself is up, and has no incident of its own.
    let state = scene.api.get(&format!("monitors/{}/state", scene.shop)).await.is(200);
    assert_ne!(state["state"], "down");
    let own = scene.api.get("incidents?kind=monitor").await.is(200);
    assert_eq!(own["items"], json!([]));
}

#[tokio::test]
async fn a_renewal_closes_it_and_one_that_has_not_reached_all_is_told() {
    let mut scene = Scene::new().await;
    let (old, new) = (scene.ends("a", 12), scene.ends("b", 90));
    scene.all(&old).await;
    assert_eq!(scene.told().await, [ends_in(12)]);
    for _ in 0..8 {
        scene.later(600);
        scene.shown(0, "192.0.2.8", &new).await;
        scene.shown(1, "192.0.2.7", &old).await;
        scene.shown(2, "192.0.2.7", &old).await;
        if let Some(said) = scene.look().await.first() {
            let data = &said.json()["data"];
            assert_eq!(
                data["headline"],
                "shop now does not show its renewed certificate everywhere."
            );
            assert!(
                text(&data["sentence"])
                    .contains("are still shown the old certificate, from 192.0.2.7; "),
                "{data}"
            );
        }
    }
    let one = scene.incidents("&state=open").await.remove(0);
    let kinds = scene.api.get(&format!("incidents/{}", text(&one["id"]))).await.is(200);
    let kinds: Vec<_> =
        kinds["notices"].as_array().unwrap().iter().map(|n| text(&n["kind"])).collect();
    assert_eq!(kinds, ["opened", "moved"], "told once");
    scene.later(600);
    scene.all(&new).await;
    assert_eq!(scene.told().await, ["shop shows a renewed certificate."]);
    let one = scene.incidents("").await.remove(0);
    assert_eq!(one["resolve_reason"], "renewed");
    let list = scene.api.get("certificates").await.is(200);
    assert_eq!(list["items"][0]["renewed_days_left"], 11, "its habit");
    assert!(text(&one["resolved_at"]).starts_with("2026-03-01T"));
    // Back again for a while: nothing that was told is told again.
    scene.later(600);
    scene.all(&old).await;
    assert_eq!(scene.told().await, Vec::<String>::new());
}

#[tokio::test]
async fn another_issuer_is_one_notice_once_all_agree() {
    let mut scene = Scene::new().await;
    let first = scene.ends("a", 80);
    let renewed = Certificate { issuer: "C=US, O=Example CA, CN=R4".into(), ..scene.ends("b", 90) };
    let other = Certificate { issuer: "O=Other CA".into(), ..scene.ends("c", 95) };
    scene.all(&first).await;
    scene.all(&renewed).await;
    assert_eq!(
        scene.told().await,
        Vec::<String>::new(),
        "the next certificate of the same authority"
    );
    scene.shown(0, "192.0.2.7", &other).await;
    scene.later(900);
    assert_eq!(scene.told().await, Vec::<String>::new(), "it waits for the others");
    scene.all(&other).await;
    let told = scene.look().await;
    assert_eq!(told.len(), 1, "beginning and end are one notice");
    let data = &told[0].json()["data"];
    assert_eq!(data["headline"], "shop shows a certificate of another issuer.");
    assert!(text(&data["sentence"]).starts_with(
        "The certificate now comes from Other CA; until now it came from Example CA."
    ));
    scene.later(900);
    assert_eq!(scene.told().await, Vec::<String>::new());
    let rows = scene.incidents("").await;
    assert_eq!((rows.len(), &rows[0]["resolve_reason"]), (1, &json!("told once")));
    // Switched off it is kept, and not told.
    let off = json!({ "certificate_issuer": false });
    scene.api.patch("settings/alerts", off).await.is(200);
    scene.all(&first).await;
    scene.later(900);
    assert_eq!(scene.told().await, Vec::<String>::new());
}

#[tokio::test]
async fn edges_that_differ_are_told_after_a_day_and_then_no_more() {
    let mut scene = Scene::new().await;
    let first = scene.ends("a", 80);
    let other = Certificate { issuer: "O=Other CA".into(), ..scene.ends("c", 95) };
    scene.all(&first).await;
    scene.look().await;
    let mut told = Vec::new();
    for hour in 0..30 {
        scene.shown(0, "192.0.2.7", &other).await;
        for location in 1..3 {
            scene.shown(location, "192.0.2.8", &first).await;
        }
        told.extend(scene.told().await.into_iter().map(|headline| (hour, headline)));
        scene.later(3_600);
    }
    assert_eq!(told, [(24, "shop shows a certificate of another issuer.".to_owned())]);
}

#[tokio::test]
async fn maintenance_holds_it_back_and_not_its_end() {
    let mut scene = Scene::new().await;
    let window = json!({"name": "move", "start": scene.at(0).to_string(), "end": scene.at(2).to_string(),
        "monitors": ["shop"]});
    scene.api.post("maintenance", window).await.is(201);
    let old = scene.ends("a", 8);
    scene.all(&old).await;
    assert_eq!(scene.told().await, Vec::<String>::new());
    scene.later(DAY);
    scene.all(&old).await;
    assert_eq!(scene.told().await, Vec::<String>::new());
    // Two intervals after its end the tightest threshold that was reached is told.
    scene.later(DAY + 121);
    scene.all(&old).await;
    assert_eq!(scene.told().await, [ends_in(5)]);
}

#[tokio::test]
async fn a_pause_and_a_deletion_close_it_and_after_a_pause_it_is_told_again() {
    let mut scene = Scene::new().await;
    let old = scene.ends("a", 12);
    scene.all(&old).await;
    assert_eq!(scene.told().await, [ends_in(12)]);
    scene.change(json!({ "enabled": false })).await;
    assert_eq!(scene.told().await, ["shop was paused, which closes its incident."]);
    scene.later(DAY);
    assert_eq!(scene.told().await, Vec::<String>::new(), "nobody looks at it");
    scene.change(json!({ "enabled": true })).await;
    assert_eq!(scene.told().await, Vec::<String>::new(), "the locations look first");
    scene.all(&old).await;
    scene.later(120);
    assert_eq!(scene.told().await, [ends_in(10)]);
    scene.api.delete(&format!("monitors/{}", scene.shop)).await.is(204);
    assert_eq!(scene.told().await, ["shop was deleted, which closes its incident."]);
    assert_eq!(scene.incidents("&state=open").await, Vec::<Value>::new());
    scene.later(DAY);
    assert_eq!(scene.told().await, Vec::<String>::new());
    assert_eq!(scene.api.get("certificates").await.is(200)["items"], json!([]));
}

#[tokio::test]
async fn it_is_acknowledged_and_closed_like_other_incidents() {
    let mut scene = Scene::new().await;
    let old = scene.ends("a", 12);
    scene.all(&old).await;
    scene.look().await;
    let id = text(&scene.incidents("&state=open").await[0]["id"]);
    // Whatever is told later is of its day.
    scene.later(DAY);
    assert_eq!(scene.told().await, Vec::<String>::new());
    scene.api.post(&format!("incidents/{id}/ack"), json!({})).await.is(200);
    assert_eq!(
        scene.told().await,
        ["token:admin is at it: shop shows a certificate that ends in 11 days."]
    );
    let closed = scene.api.post(&format!("incidents/{id}/resolve"), Value::Null).await.is(200);
    assert_eq!(closed["resolve_reason"], "closed by hand");
    assert_eq!(scene.told().await, ["The incident of shop was closed: closed by hand."]);
    scene.api.post(&format!("incidents/{id}/resolve"), Value::Null).await.is(409);
    // The next threshold opens it again.
    scene.later(DAY);
    scene.all(&old).await;
    assert_eq!(scene.told().await, Vec::<String>::new());
    scene.later(3 * DAY);
    scene.all(&old).await;
    assert_eq!(scene.told().await, ["shop shows a certificate that ends in 7 days again."]);
}

#[tokio::test]
async fn thresholds_are_set_for_all_and_for_one() {
    let mut scene = Scene::new().await;
    let settings = scene.api.get("settings/alerts").await.is(200);
    assert_eq!(settings["certificate_days"], json!([30, 14, 7, 3, 1]));
    assert_eq!(settings["certificate_issuer"], true);
    let shop = format!("monitors/{}", scene.shop);
    for (days, field) in [
        (json!([]), "certificate_days"),
        (json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), "certificate_days"),
        (json!([7, 7]), "certificate_days[1]"),
        (json!([-1]), "certificate_days[0]"),
        (json!([3_651]), "certificate_days[0]"),
    ] {
        let body = json!({ "certificate_days": days });
        scene.api.patch("settings/alerts", body.clone()).await.refuses(422, field);
        scene.api.patch(&shop, body).await.refuses(422, field);
    }
    scene.all(&scene.ends("a", 40)).await;
    assert_eq!(scene.told().await, Vec::<String>::new());
    let all = json!({ "certificate_days": [10, 45] });
    let set = scene.api.patch("settings/alerts", all).await.is(200);
    assert_eq!(set["certificate_days"], json!([45, 10]));
    assert_eq!(scene.told().await, [ends_in(40)], "at once");
    scene.change(json!({ "certificate_days": [20, 5] })).await;
    let shown = scene.api.get(&shop).await.is(200);
    assert_eq!(shown["certificate_days"], json!([20, 5]));
    scene.later(120);
    assert_eq!(scene.told().await, ["shop shows a certificate that is not near its end."]);
    scene.change(json!({ "certificate_days": null })).await;
    assert_eq!(scene.api.get(&shop).await.is(200)["certificate_days"], Value::Null);
    let back = json!({ "certificate_days": null });
    let set = scene.api.patch("settings/alerts", back).await.is(200);
    assert_eq!(set["certificate_days"], json!([30, 14, 7, 3, 1]));
    scene
        .api
        .as_role(quorate::api::auth::Role::Editor, Method::PATCH, "settings/alerts", json!({}))
        .await
        .is(403);
}

#[tokio::test]
async fn what_is_shown_now_is_listed_by_days_left() {
    let scene = Scene::new().await;
    let body = json!({ "certificates": 0, "monitors": 0, "expired": 0, "within_7": 0, "within_30": 0,
        "invalid": 0, "differing": 0 });
    assert_eq!(scene.api.get("certificates/counts").await.is(200), body);
    scene.shown(0, "192.0.2.7", &scene.ends("a", 12)).await;
    scene.shown(1, "192.0.2.7", &scene.ends("a", 12)).await;
    scene.shown(2, "192.0.2.8", &scene.ends("b", 90)).await;
    let ended = text(&scene.api.post("monitors", monitor("ended")).await.is(201)["id"]);
    let certificate = Certificate { valid: false, ..scene.ends("c", -3) };
    let seen = Observation {
        certificate: Some(certificate),
        message: "The certificate ended 3 days ago.".into(),
        ..observation(Outcome::Fail, Some(quorate::domain::observation::Class::TlsExpired), None)
    };
    scene.report(&ended, 0, 1, seen).await;
    let list = scene.api.get("certificates").await.is(200);
    let rows = list["items"].as_array().unwrap();
    let short: Vec<_> = rows
        .iter()
        .map(|row| (text(&row["monitor"]["name"]), row["days_left"].as_i64().unwrap()))
        .collect();
    assert_eq!(short, [("ended".into(), -3), ("shop".into(), 12), ("shop".into(), 90)]);
    assert_eq!(
        (&rows[0]["valid"], &rows[0]["problem"]),
        (&json!(false), &json!("The certificate ended 3 days ago."))
    );
    let shop = &rows[1];
    assert_eq!((&shop["locations"], &shop["certificates"]), (&json!(3), &json!(2)));
    let seen_by: Vec<_> = shop["seen_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["location"]["name"]), text(&one["address"])))
        .collect();
    assert_eq!(seen_by, [("eu".into(), "192.0.2.7".into()), ("us".into(), "192.0.2.7".into())]);
    let counts = scene.api.get("certificates/counts").await.is(200);
    let expected = json!({ "certificates": 3, "monitors": 2, "expired": 1, "within_7": 0, "within_30": 1,
        "invalid": 1, "differing": 1 });
    assert_eq!(counts, expected);
    for (query, names) in [
        ("?within=12", vec!["ended", "shop"]),
        ("?within=11", vec!["ended"]),
        ("?invalid=true", vec!["ended"]),
        ("?differing=true", vec!["shop", "shop"]),
        ("?q=WWW.shop", vec!["ended", "shop", "shop"]),
        ("?q=nothing%25", vec![]),
        ("?monitor=ended", vec!["ended"]),
    ] {
        let list = scene.api.get(&format!("certificates{query}")).await.is(200);
        let rows = list["items"].as_array().unwrap();
        let found: Vec<_> = rows.iter().map(|row| text(&row["monitor"]["name"])).collect();
        assert_eq!(found, names, "{query}");
    }
    let mut found = Vec::new();
    let mut path = "certificates?limit=1".to_owned();
    loop {
        let page = scene.api.get(&path).await.is(200);
        found.push(text(&page["items"][0]["fingerprint"])[..1].to_owned());
        match page["next"].as_str() {
            Some(next) => path = format!("certificates?limit=1&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, ["c", "a", "b"]);
    for (query, field) in
        [("within=36501", "within"), ("monitor=nobody", "monitor"), ("cursor=x", "cursor")]
    {
        scene.api.get(&format!("certificates?{query}")).await.refuses(422, field);
    }
    // Edited, it is another target: what was shown before is not shown now.
    scene.change(json!({"check": {"kind": "http", "url": "https://elsewhere.example/"}})).await;
    assert_eq!(scene.api.get("certificates?q=shop&monitor=shop").await.is(200)["items"], json!([]));
}

#[tokio::test]
async fn a_report_that_comes_late_changes_nothing() {
    let mut scene = Scene::new().await;
    scene.all(&scene.ends("a", 5)).await;
    scene.look().await;
    scene.change(json!({"check": {"kind": "http", "url": "https://elsewhere.example/"}})).await;
    // Spooled before the edit.
    scene.all(&scene.ends("b", 2)).await;
    scene.later(120);
    assert_eq!(scene.told().await, Vec::<String>::new());
    // Under the new settings no certificate is ever shown: after a while there is nothing to be renewed.
    scene.later(2 * 3_600);
    assert_eq!(scene.told().await, ["shop no longer shows the certificate that was about to end."]);
}

/// Agents that really shake hands, and a server whose certificate is renewed under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_near_its_end_is_told_by_real_agents_and_so_is_its_renewal() {
    let whole = Whole::start("certificates").await;
    let authority = Authority::root("Test Root");
    let ca = whole.folder.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let mut agents = Vec::new();
    for location in ["eu", "us"] {
        let (server, _) = dns(|name, _, _| match name {
            "shop.test" | "control.test" => Say::Addresses(vec![HOME]),
            _ => Say::Nxdomain,
        })
        .await;
        let agent = whole.agent(location, |config| {
            config.name_servers = vec![server];
            config.control_names = vec!["control.test".to_owned()];
            config.ca_file = Some(ca.clone());
        });
        agents.push(agent.await);
    }
    let now = quorate::clock::Clock::system().now();
    let since: Timestamp = targets::NOW.parse().unwrap();
    let left = |days: i64| now.duration_since(since).as_secs() + days * DAY + 3_600;
    let leaf = |days| authority.leaf(&["shop.test"], -DAY, left(days)).acceptor(&[b"http/1.1"]);
    let serving = Arc::new(Mutex::new(leaf(5)));
    let current = Arc::clone(&serving);
    let target = targets::tcp(move |stream, _, requests| {
        let acceptor = current.lock().unwrap().clone();
        async move {
            let mut stream = acceptor.accept(stream).await?;
            note_head(&mut stream, &requests).await?;
            write_and_close(&mut stream, &ok("", "well")).await
        }
    })
    .await;
    // Whatever kind of check meets a certificate, it is watched.
    let port = target.addr.port();
    let checks = [
        ("page", json!({"kind": "http", "url": format!("https://shop.test:{port}/")})),
        ("handshake", json!({"kind": "tls", "url": format!("tls://shop.test:{port}")})),
    ];
    for (name, check) in &checks {
        let monitor = json!({"name": name, "check": check, "interval_s": 10, "timeout_s": 5.0, "locations": "all"});
        whole.client.post("monitors", monitor).await;
    }
    let incidents = async |query: &str, reason: Option<&str>| {
        let list = whole.client.get(&format!("incidents?kind=certificate&{query}")).await;
        let rows = list["items"].as_array().unwrap();
        let reason = reason.map_or(Value::Null, Value::from);
        let fits = |row: &&Value| row["resolve_reason"] == reason;
        let rows: Vec<Value> = rows.iter().filter(fits).cloned().collect();
        (rows.len() == checks.len()).then_some(rows)
    };
    let told = until("its end is told", async || incidents("state=open", None).await).await;
    for incident in told {
        let sentence = text(&incident["sentence"]);
        assert!(sentence.starts_with("The certificate ends in 5 days, on "), "{sentence}");
    }
    *serving.lock().unwrap() = leaf(90);
    until("its renewal is told", async || incidents("state=resolved", Some("renewed")).await).await;
    let rows = until("both locations are shown the new one", async || {
        let list = whole.client.get("certificates").await;
        let rows = list["items"].as_array().unwrap().clone();
        let by_all = |row: &Value| row["seen_by"].as_array().unwrap().len() == agents.len();
        (rows.len() == checks.len() && rows.iter().all(by_all)).then_some(rows)
    })
    .await;
    for row in rows {
        assert_eq!((&row["days_left"], &row["renewed_days_left"]), (&json!(90), &json!(5)));
    }
    for agent in agents {
        agent.stop().await;
    }
}
