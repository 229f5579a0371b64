//! The failover feed: who is served while monitors fail, what never takes a member out, words by hand, and
//! what programs that poll see; at last the real PowerDNS.

use std::{process::Stdio, sync::Arc, time::Duration};

use axum::http::Method;
use jiff::SignedDuration;
use quorate::{
    api::auth::Role,
    domain::observation::Outcome::{self, Fail, Pass},
    net::{Family, Resolver},
    upkeep::Upkeep,
};
use serde_json::{Value, json};

use crate::support::{
    api::{Api, text},
    delivery,
    hook_sink::HookSink,
    scratch::Scratch,
};

struct Scene {
    api: Api,
    upkeep: Upkeep,
    /// Ids of the monitors behind `a` and `b`.
    monitors: [String; 2],
    seq: i64,
}

impl Scene {
    async fn new() -> Self {
        let api = Api::start_telling(delivery::settings()).await;
        for name in ["eu", "us", "ap"] {
            api.location(name).await;
        }
        let a = text(&api.monitor("shop a").await["id"]);
        let b = text(&api.monitor("shop b").await["id"]);
        let upkeep = Upkeep::new(api.db.pool().clone(), api.clock.clone());
        Self { api, upkeep, monitors: [a, b], seq: 0 }
    }

    fn members(&self) -> Value {
        json!([
            { "name": "a", "address": "192.0.2.10", "monitor": self.monitors[0] },
            { "name": "b", "address": "192.0.2.20", "monitor": self.monitors[1] },
        ])
    }

    /// A group of both; its id and key.
    async fn group(&self, more: Value) -> (String, String) {
        let mut form = json!({ "name": "shop", "members": self.members() });
        for (name, value) in more.as_object().unwrap() {
            form[name] = value.clone();
        }
        let made = self.api.post("failover", form).await.is(201);
        (text(&made["group"]["id"]), text(&made["secret"]))
    }

    /// So many rounds a minute apart, in which every location says this of the monitors.
    async fn rounds(&mut self, count: usize, said: [Outcome; 2]) {
        for _ in 0..count {
            self.api.later(60);
            self.seq += 1;
            for (monitor, outcome) in self.monitors.clone().iter().zip(said) {
                // Each monitor's reports are a start of their own sequence.
                self.seq += 1;
                self.api.all_say(monitor, self.seq, outcome).await;
            }
            self.upkeep.look_at_failover(self.api.clock.now()).await.unwrap();
        }
    }

    async fn feed(&self, key: &str) -> Value {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str())];
        self.api.plain(Method::GET, "/failover/shop", Value::Null, &headers).await.is(200)
    }

    async fn member(&self, member: &str, key: &str) -> (u16, String) {
        let path = format!("/failover/shop/members/{member}?token={key}");
        let answer = self.api.plain(Method::GET, &path, Value::Null, &[]).await;
        (answer.status.as_u16(), answer.body.as_str().unwrap_or_default().to_owned())
    }
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| text(&one["name"])).collect()
}

#[tokio::test]
async fn a_member_is_out_while_its_monitor_is_down_and_everybody_is_in_when_too_few_are_left() {
    let mut scene = Scene::new().await;
    let (id, key) = scene.group(json!({})).await;
    // Nothing is known yet: everybody is in.
    let first = scene.feed(&key).await;
    assert_eq!(
        (names(&first["serve"]), &first["fail_open"]),
        (vec!["a".into(), "b".into()], &json!(false))
    );
    assert_eq!(first["members"][0]["reason"], "unknown");
    scene.rounds(3, [Pass, Pass]).await;
    assert_eq!(scene.feed(&key).await["members"][0]["reason"], "up");
    scene.rounds(3, [Fail, Pass]).await;
    let feed = scene.feed(&key).await;
    assert_eq!(names(&feed["serve"]), ["b"]);
    assert_eq!(
        (&feed["members"][0]["reason"], &feed["members"][0]["serve"]),
        (&json!("down"), &json!(false))
    );
    assert_eq!(feed["serve"][0]["address"], "192.0.2.20");
    assert_eq!(scene.member("a", &key).await, (503, "out down\n".into()));
    assert_eq!(scene.member("b", &key).await, (200, "serve up\n".into()));
    assert_eq!(scene.member("c", &key).await.0, 404);
    // The other one fails as well: a group without members is worse than one with sick ones.
    scene.rounds(3, [Fail, Fail]).await;
    let feed = scene.feed(&key).await;
    assert_eq!((names(&feed["serve"]).len(), &feed["fail_open"]), (2, &json!(true)));
    assert_eq!(feed["members"][0]["reason"], "down", "and still it says what is wrong");
    assert_eq!(scene.member("a", &key).await, (200, "serve down\n".into()));
    scene.rounds(4, [Pass, Pass]).await;
    let feed = scene.feed(&key).await;
    assert_eq!((names(&feed["serve"]).len(), &feed["fail_open"]), (2, &json!(false)));
    // Everything that was served, the latest first, each once.
    let changes = scene.api.get(&format!("failover/{id}/changes")).await.is(200);
    let told: Vec<(Value, Value)> = changes["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["serve"].clone(), one["fail_open"].clone()))
        .collect();
    let (both, b) = (json!(["a", "b"]), json!(["b"]));
    assert_eq!(
        told,
        [
            (both.clone(), json!(false)),
            (both.clone(), json!(true)),
            (b, json!(false)),
            (both, json!(false)),
        ]
    );
}

#[tokio::test]
async fn what_nobody_knows_takes_nobody_out() {
    let mut scene = Scene::new().await;
    let (_, key) = scene.group(json!({})).await;
    scene.rounds(3, [Pass, Pass]).await;
    scene.rounds(3, [Fail, Pass]).await;
    assert_eq!(names(&scene.feed(&key).await["serve"]), ["b"]);
    // The agents fall silent: it was down, and now nobody knows.
    for _ in 0..30 {
        scene.api.later(10);
        scene.upkeep.sweep(scene.api.clock.now()).await.unwrap();
    }
    let feed = scene.feed(&key).await;
    assert_eq!(names(&feed["serve"]), ["a", "b"], "{feed}");
    assert_eq!(feed["members"][0]["reason"], "unknown");
    // Paused, then deleted.
    scene.rounds(3, [Fail, Pass]).await;
    let path = format!("monitors/{}", scene.monitors[0]);
    scene.api.patch(&path, json!({"enabled": false})).await.is(200);
    assert_eq!(scene.feed(&key).await["members"][0]["reason"], "paused");
    scene.api.delete(&path).await.is(204);
    let feed = scene.feed(&key).await;
    assert_eq!(
        (names(&feed["serve"]).len(), &feed["members"][0]["reason"]),
        (2, &json!("no_monitor"))
    );
}

#[tokio::test]
async fn bound_locations_decide_for_their_member_alone() {
    let mut scene = Scene::new().await;
    let locations = scene.api.get("locations").await.is(200);
    let eu = locations["items"].as_array().unwrap().iter().find(|l| l["name"] == "eu").unwrap();
    let mut members = scene.members();
    members[0]["locations"] = json!([eu["id"]]);
    let (_, key) = scene.group(json!({ "members": members })).await;
    scene.rounds(3, [Pass, Pass]).await;
    // Only eu sees a fail, which is no quorum of three.
    let agents: Vec<(uuid::Uuid, i16)> = sqlx::query_as(
        "select agent_id, location_id from agent join location using (location_id) order by name = 'eu'",
    )
    .fetch_all(scene.api.db.pool())
    .await
    .unwrap();
    for _ in 0..4 {
        scene.api.later(60);
        scene.seq += 1;
        for (i, (agent, location)) in agents.iter().enumerate() {
            let said = if i == 2 { Fail } else { Pass };
            let who = (*agent, quorate::domain::ids::LocationKey(*location));
            scene.api.says(who, &scene.monitors[0], scene.seq, said).await;
        }
    }
    let state = scene.api.get(&format!("monitors/{}/state", scene.monitors[0])).await.is(200);
    assert_ne!(state["state"], "down", "{state}");
    assert_eq!(scene.member("a", &key).await, (503, "out down\n".into()));
}

#[tokio::test]
async fn a_member_returns_after_its_hold() {
    let mut scene = Scene::new().await;
    let (id, key) = scene.group(json!({ "return_after_s": 300 })).await;
    scene.rounds(3, [Pass, Pass]).await;
    scene.rounds(3, [Fail, Pass]).await;
    scene.rounds(4, [Pass, Pass]).await;
    let group = scene.api.get(&format!("failover/{id}")).await.is(200);
    let a = &group["now"]["members"][0];
    assert_eq!((&a["reason"], &a["serve"]), (&json!("returning"), &json!(false)), "{a}");
    assert!(a["returns_at"].is_string() && a["out_since"].is_string());
    assert_eq!(scene.member("a", &key).await, (503, "out returning\n".into()));
    scene.rounds(5, [Pass, Pass]).await;
    assert_eq!(scene.member("a", &key).await, (200, "serve up\n".into()));
}

#[tokio::test]
async fn a_word_by_hand_stands_is_written_down_and_ends() {
    let mut scene = Scene::new().await;
    let (id, key) = scene.group(json!({})).await;
    scene.rounds(3, [Pass, Pass]).await;
    let path = |member: &str| format!("failover/{id}/members/{member}/override");
    let put =
        async |member: &str, body: Value| scene.api.call(Method::PUT, &path(member), body).await;
    let until = scene.api.clock.now() + SignedDuration::from_mins(10);
    let out = json!({ "serve": false, "reason": "disk is being replaced", "until": until });
    put("c", out.clone()).await.is(404);
    put("a", json!({ "serve": false, "reason": " ", "until": until })).await.refuses(422, "reason");
    let late = scene.api.clock.now() + SignedDuration::from_hours(31 * 24);
    put("a", json!({ "serve": false, "reason": "x", "until": late })).await.refuses(422, "until");
    put("a", json!({ "serve": false, "reason": "x", "until": scene.api.clock.now() }))
        .await
        .refuses(422, "until");
    let viewer = scene.api.as_role(Role::Viewer, Method::PUT, &path("a"), out.clone()).await;
    viewer.is(403);
    let group = put("a", out.clone()).await.is(200);
    let said = &group["now"]["members"][0]["override"];
    assert_eq!(said["reason"], "disk is being replaced");
    assert_eq!(scene.member("a", &key).await, (503, "out override\n".into()));
    put("b", out.clone()).await.refuses(422, "serve");
    let audit = scene.api.get(&format!("audit?subject=failover:{id}")).await.is(200);
    assert_eq!(audit["items"][0]["action"], "failover.override");
    // It ends by itself, or is taken back.
    scene.api.later(601);
    assert_eq!(scene.member("a", &key).await.0, 200);
    let until = scene.api.clock.now() + SignedDuration::from_mins(10);
    put("a", json!({ "serve": false, "reason": "again", "until": until })).await.is(200);
    assert_eq!(scene.member("a", &key).await.0, 503);
    scene.api.delete(&path("a")).await.is(200);
    assert_eq!(scene.member("a", &key).await.0, 200);
}

#[tokio::test]
async fn the_key_opens_one_feed_and_nothing_else() {
    let scene = Scene::new().await;
    let (id, key) = scene.group(json!({})).await;
    let mut other = json!({ "name": "other", "members": scene.members() });
    let other_key = text(&scene.api.post("failover", other.clone()).await.is(201)["secret"]);
    let ask = async |path: &str, key: &str| {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str())];
        scene.api.plain(Method::GET, path, Value::Null, &headers).await.status.as_u16()
    };
    assert_eq!(ask("/failover/shop", &key).await, 200);
    assert_eq!(ask("/failover/shop", &other_key).await, 401);
    assert_eq!(ask("/failover/nothing", &key).await, 401, "names are not given away");
    assert_eq!(ask("/failover/shop", "qro_x").await, 401);
    assert_eq!(ask("/api/v1/failover", &key).await, 401);
    assert_eq!(ask("/api/v1/monitors", &key).await, 401);
    let path = format!("failover/{id}/key");
    let new = text(&scene.api.post(&path, json!({})).await.is(200)["secret"]);
    assert_eq!((ask("/failover/shop", &key).await, ask("/failover/shop", &new).await), (401, 200));
    // Whoever may not see the key does not find it in the list either.
    let list = scene.api.get("failover").await.is(200).to_string();
    assert!(!list.contains(&new) && !list.contains("token_hash"));
    // Refusals name the field, and nothing is stored.
    other["name"] = json!("shop");
    scene.api.post("failover", other.clone()).await.refuses(409, "name");
    other["name"] = json!("A shop");
    scene.api.post("failover", other.clone()).await.refuses(422, "name");
    other["name"] = json!("third");
    other["members"][1]["monitor"] = json!(uuid::Uuid::nil());
    scene.api.post("failover", other.clone()).await.refuses(422, "members[1].monitor");
    other["members"][1]["colour"] = json!("red");
    scene.api.post("failover", other).await.refuses(422, "members[1].colour");
    assert_eq!(scene.api.get("failover").await.is(200)["items"].as_array().unwrap().len(), 2);
    scene.api.delete(&format!("failover/{id}")).await.is(204);
    assert_eq!(ask("/failover/shop", &new).await, 401);
}

#[tokio::test]
async fn without_a_database_everybody_is_in() {
    let mut scene = Scene::new().await;
    let (_, key) = scene.group(json!({})).await;
    scene.rounds(3, [Pass, Pass]).await;
    scene.rounds(3, [Fail, Pass]).await;
    assert_eq!(names(&scene.feed(&key).await["serve"]), ["b"]);
    scene.api.state.pool.close().await;
    let feed = scene.feed(&key).await;
    assert_eq!(
        (names(&feed["serve"]).len(), &feed["stale"], &feed["fail_open"]),
        (2, &json!(true), &json!(true))
    );
    assert_eq!(scene.member("a", &key).await, (200, "serve unknown\n".into()));
    assert_eq!(scene.member("a", "qro_x").await.0, 401);
}

#[tokio::test]
async fn a_database_that_keeps_us_waiting_takes_nobody_out() {
    let mut scene = Scene::new().await;
    let (_, key) = scene.group(json!({})).await;
    scene.rounds(3, [Pass, Pass]).await;
    scene.rounds(3, [Fail, Pass]).await;
    assert_eq!(scene.member("a", &key).await.0, 503);
    let mut holding = scene.api.db.pool().begin().await.unwrap();
    sqlx::query("lock table failover_group in access exclusive mode")
        .execute(&mut *holding)
        .await
        .unwrap();
    assert_eq!(scene.member("a", &key).await, (200, "serve unknown\n".into()));
    holding.rollback().await.unwrap();
    assert_eq!(scene.member("a", &key).await.0, 503);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_in_our_words() {
    let scene = Scene::new().await;
    let (_, key) = scene.group(json!({})).await;
    for path in ["/failover/%ff?token=x", "/failover/shop?token=a&token=b", "/failover/shop?key=a"]
    {
        let answer = scene.api.plain(Method::GET, path, Value::Null, &[]).await;
        assert!(answer.status.is_client_error(), "{path}");
        assert!(answer.body["error"]["message"].is_string(), "{path}: {}", answer.body);
    }
    assert_eq!(scene.member("a", &key).await.0, 200);
}

#[tokio::test]
async fn a_webhook_hears_of_every_change_once() {
    let mut scene = Scene::new().await;
    let mut hook = HookSink::start().await;
    let channel = json!({ "name": "hook", "kind": "webhook", "default": false,
        "config": { "url": hook.url } });
    let channel = scene.api.post("channels", channel).await.is(201);
    let (_, _) = scene.group(json!({ "channels": [channel["id"]] })).await;
    scene.rounds(3, [Pass, Pass]).await;
    scene.rounds(3, [Fail, Pass]).await;
    scene.rounds(4, [Pass, Pass]).await;
    let mut sent = 0;
    while scene.api.state.notifier.deliver_next(scene.api.clock.now()).await.unwrap().is_some() {
        sent += 1;
    }
    assert_eq!(sent, 2);
    let out = hook.next().await.json();
    assert_eq!(out["type"], "failover.changed");
    assert_eq!(out["data"]["served"], json!(["b"]));
    assert_eq!(out["data"]["served_before"], json!(["a", "b"]));
    assert_eq!(out["data"]["members"][0]["reason"], "down");
    assert_eq!(hook.next().await.json()["data"]["served"], json!(["a", "b"]));
}

/// The sample zone, with this test's addresses in it.
fn zone(url: &str, key: &str) -> String {
    let sample = include_str!("../../deploy/dns/service.lua.zone");
    sample
        .replace("https://quorate.example", url)
        .replace("qro_KEY", key)
        .replace("interval=5", "interval=1")
}

#[tokio::test]
#[ignore = "needs PowerDNS, which `make drill` installs"]
async fn drill_the_real_powerdns_serves_whom_the_feed_says() {
    let mut scene = Scene::new().await;
    let (_, key) = scene.group(json!({})).await;
    scene.rounds(3, [Pass, Pass]).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = quorate::api::router(scene.api.state.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let folder = Scratch::new("powerdns");
    let dir = folder.path();
    std::fs::write(dir.join("zone"), zone(&url, &key)).unwrap();
    let named =
        format!("zone \"example.com\" {{ type master; file \"{}/zone\"; }};", dir.display());
    std::fs::write(dir.join("named.conf"), named).unwrap();
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _server = tokio::process::Command::new("/usr/sbin/pdns_server")
        .args([
            "--no-config",
            "--daemon=no",
            "--guardian=no",
            "--launch=bind",
            "--enable-lua-records=yes",
        ])
        .args([
            "--setuid=",
            "--setgid=",
            "--cache-ttl=0",
            "--query-cache-ttl=0",
            "--negquery-cache-ttl=0",
        ])
        .arg(format!("--bind-config={}/named.conf", dir.display()))
        .arg(format!("--socket-dir={}", dir.display()))
        .args(["--local-address=127.0.0.1".to_owned(), format!("--local-port={port}")])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(dir.join("log")).unwrap())
        .kill_on_drop(true)
        .spawn()
        .expect("PowerDNS is an apt package; `make drill` installs it");
    let resolver = Arc::new(Resolver::with_servers(&[([127, 0, 0, 1], port).into()]).unwrap());
    let becomes = async |wanted: &[&str]| {
        let wanted: Vec<std::net::IpAddr> = wanted.iter().map(|one| one.parse().unwrap()).collect();
        let mut last = Vec::new();
        for _ in 0..200 {
            let asked = resolver.lookup("shop.example.com", Family::V4);
            if let Ok(Ok(found)) = tokio::time::timeout(Duration::from_millis(500), asked).await {
                last = found;
                last.sort();
                if last == wanted {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = std::fs::read_to_string(dir.join("log")).unwrap();
        panic!("{wanted:?} was not answered, last {last:?}\n{log}");
    };
    becomes(&["192.0.2.10"]).await;
    scene.rounds(3, [Fail, Pass]).await;
    becomes(&["192.0.2.20"]).await;
    // Both down: everybody is served, so the preferred one is answered.
    scene.rounds(3, [Fail, Fail]).await;
    becomes(&["192.0.2.10"]).await;
    // Nobody answers at Quorate's address any more: every address.
    serving.abort();
    becomes(&["192.0.2.10", "192.0.2.20"]).await;
}
