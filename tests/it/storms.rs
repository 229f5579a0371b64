//! Monitors that go down together, told through a real webhook: the first at once, the rest as updates, one end.

use quorate::{domain::observation::Observation, notify::Notifier, triage::Triage};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{
    api::text,
    delivery::{self, KEY},
    hook_sink::HookSink,
    watch::{Watch, pass, refused},
};

/// Monitors whose hosts share a registrable domain, and a channel that really sends.
struct Scene {
    watch: Watch,
    hook: HookSink,
    notifier: Notifier,
}

impl Scene {
    async fn new() -> Self {
        let watch = Watch::new().await;
        watch.db.storms_from(3).await;
        let hook = HookSink::start().await;
        let clock = quorate::clock::Clock::manual(watch.start);
        let pool = watch.pool().clone();
        let notifier = delivery::notifier(pool, &clock, KEY, delivery::settings());
        let scene = Self { watch, hook, notifier };
        let url = scene.hook.url.clone();
        scene.channel("everybody", &url).await;
        scene
    }

    async fn channel(&self, name: &str, url: &str) -> Uuid {
        let id = self.watch.channel(name).await;
        sqlx::query("update channel set config = $2 where channel_id = $1")
            .bind(id)
            .bind(json!({ "url": url }))
            .execute(self.watch.pool())
            .await
            .unwrap();
        id
    }

    /// Monitors at `HOST.shop.example`, up since the start.
    async fn monitors(&mut self, hosts: &[&str]) -> Vec<Uuid> {
        let mut made = Vec::new();
        for host in hosts {
            let monitor = self.watch.monitor(host).await;
            sqlx::query("update monitor set check_spec = $2 where uid = $1")
                .bind(monitor)
                .bind(json!({"kind": "http", "url": format!("https://{host}.shop.example/")}))
                .execute(self.watch.pool())
                .await
                .unwrap();
            for location in 0..3 {
                self.watch.report(location, monitor, 0, at(host, pass())).await;
            }
            made.push(monitor);
        }
        made
    }

    /// All locations see it fail, twice: it is down at `second`.
    async fn falls(&mut self, monitor: Uuid, second: i64) {
        for (second, location) in [(second - 5, 0), (second - 5, 1), (second - 5, 2)] {
            self.watch.report(location, monitor, second, at("x", refused())).await;
        }
        for location in 0..3 {
            self.watch.report(location, monitor, second, at("x", refused())).await;
        }
        assert_eq!(self.state(monitor).await, "down");
    }

    /// All locations see it pass until it is up again, some minutes after `second`; answers when.
    async fn rises(&mut self, monitor: Uuid, second: i64) -> i64 {
        for step in 0..80 {
            let now = second + step * 10;
            for location in 0..3 {
                self.watch.report(location, monitor, now, at("x", pass())).await;
            }
            while self.watch.triage.sweep(self.watch.at(now)).await.unwrap() {}
            if self.state(monitor).await == "up" {
                return now;
            }
        }
        panic!("it does not come up");
    }

    async fn state(&self, monitor: Uuid) -> &'static str {
        let code: i16 = sqlx::query_scalar(
            "select l.state from monitor_live l join monitor m using (monitor_id) where m.uid = $1",
        )
        .bind(monitor)
        .fetch_one(self.watch.pool())
        .await
        .unwrap();
        quorate::domain::decision::State::from_code(code).unwrap().name()
    }

    /// What the webhook hears up to `second`.
    async fn told(&mut self, second: i64) -> Vec<Value> {
        let now = self.watch.at(second);
        while self.notifier.deliver_next(now).await.unwrap().is_some() {}
        self.hook.drain().iter().map(|one| one.json()).collect()
    }

    async fn open(&self) -> i64 {
        self.watch.count("incident where resolved_at is null").await
    }
}

/// Each host is at an address of its own network, unless it is `x`: then nobody says where.
fn at(host: &str, seen: Observation) -> Observation {
    let address = (host != "x").then(|| format!("10.{}.0.1", host.len()));
    Observation { address, ..seen }
}

fn kinds(told: &[Value]) -> Vec<String> {
    told.iter().map(|one| text(&one["type"]).replace("incident.", "")).collect()
}

const MIN: i64 = 60;

#[tokio::test]
async fn three_that_share_a_domain_are_one_alert_from_the_first_to_the_last() {
    let mut scene = Scene::new().await;
    let [a, b, c] = scene.monitors(&["a", "bb", "ccc"]).await[..] else { panic!() };
    scene.falls(a, 20).await;
    let first = scene.told(20).await;
    assert_eq!(kinds(&first), ["opened"], "the first is told at once");
    scene.falls(b, 40).await;
    assert_eq!(
        scene.told(40).await,
        Vec::<Value>::new(),
        "it is not known yet whether it is a storm"
    );
    scene.falls(c, 79).await;
    assert_eq!(scene.told(120).await, Vec::<Value>::new());
    assert_eq!(scene.open().await, 3, "each has its incident");
    let update = scene.told(20 + 5 * MIN).await;
    assert_eq!(kinds(&update), ["group_update"]);
    let data = &update[0]["data"];
    assert_eq!(data["headline"], "3 monitors that share the domain shop.example are down.");
    assert_eq!((&data["group"]["total"], &data["group"]["open"]), (&json!(3), &json!(3)));
    assert_eq!(data["incident"]["dedup_key"], first[0]["data"]["incident"]["dedup_key"]);
    // The first comes up before the others: that is an update, five minutes after the last.
    let up = scene.rises(a, 330).await;
    assert_eq!(scene.told(up).await, Vec::<Value>::new());
    let update = scene.told(20 + 10 * MIN).await;
    assert_eq!(kinds(&update), ["group_update"]);
    assert_eq!(update[0]["data"]["group"]["open"], 2);
    let up = scene.rises(b, 650).await;
    let end = scene.rises(c, up + 10).await;
    let told = scene.told(end).await;
    assert_eq!(kinds(&told), ["resolved"], "one end, and no update that is older than it");
    let data = &told[0]["data"];
    assert!(
        text(&data["headline"])
            .starts_with("All 3 monitors that share the domain shop.example are up")
    );
    assert_eq!(data["incident"]["dedup_key"], first[0]["data"]["incident"]["dedup_key"]);
    assert_eq!(scene.told(end + 3_600).await, Vec::<Value>::new());
    let left = scene.watch.count("notice where settled_at is null").await;
    assert_eq!((scene.open().await, left), (0, 0));
}

#[tokio::test]
async fn two_are_no_storm_and_the_second_is_told_when_that_is_known() {
    let mut scene = Scene::new().await;
    let [a, b, c] = scene.monitors(&["a", "bb", "ccc"]).await[..] else { panic!() };
    scene.falls(a, 20).await;
    scene.falls(b, 40).await;
    assert_eq!(kinds(&scene.told(79).await), ["opened"]);
    let second = scene.told(80).await;
    assert_eq!(kinds(&second), ["opened"]);
    assert_eq!(second[0]["data"]["monitor"]["name"], "bb");
    // More than a minute after the first, and with nobody else.
    scene.falls(c, 101).await;
    assert_eq!(kinds(&scene.told(101).await), ["opened"], "told at once");
    for monitor in [a, b, c] {
        scene.rises(monitor, 200).await;
    }
    assert_eq!(kinds(&scene.told(600).await), ["resolved", "resolved", "resolved"]);
}

#[tokio::test]
async fn whoever_would_have_been_paged_for_a_member_alone_is_paged() {
    let mut scene = Scene::new().await;
    let [a, b, c] = scene.monitors(&["a", "bb", "ccc"]).await[..] else { panic!() };
    let mut team = HookSink::start().await;
    let url = team.url.clone();
    let channel = scene.channel("team", &url).await;
    sqlx::query("update channel set is_default = false where channel_id = $1")
        .bind(channel)
        .execute(scene.watch.pool())
        .await
        .unwrap();
    sqlx::query("update monitor set channels = $2 where uid = $1")
        .bind(c)
        .bind(json!([channel]))
        .execute(scene.watch.pool())
        .await
        .unwrap();
    scene.falls(a, 20).await;
    scene.falls(b, 30).await;
    scene.falls(c, 40).await;
    assert_eq!(kinds(&scene.told(40).await), ["opened"]);
    let paged: Vec<Value> = team.drain().iter().map(|one| one.json()).collect();
    assert_eq!(kinds(&paged), ["opened"]);
    assert_eq!(paged[0]["data"]["monitor"]["name"], "ccc");
    // What concerns the team is over with its own monitor.
    let up = scene.rises(c, 60).await;
    scene.told(up).await;
    let over: Vec<Value> = team.drain().iter().map(|one| one.json()).collect();
    assert_eq!(kinds(&over), ["resolved"]);
    assert_eq!(scene.open().await, 2);
}

#[tokio::test]
async fn what_is_not_sent_yet_tells_of_all_of_them() {
    let mut scene = Scene::new().await;
    let monitors = scene.monitors(&["a", "bb", "ccc", "dddd"]).await;
    for monitor in monitors {
        scene.falls(monitor, 20).await;
    }
    let told = scene.told(20).await;
    assert_eq!(kinds(&told), ["opened"]);
    assert_eq!(told[0]["data"]["group"]["total"], 4);
    assert_eq!(scene.told(20 + 6 * MIN).await, Vec::<Value>::new(), "there is nothing to add");
}

#[tokio::test]
async fn a_member_that_goes_on_failing_keeps_the_alert_open() {
    let mut scene = Scene::new().await;
    let [a, b, c] = scene.monitors(&["a", "bb", "ccc"]).await[..] else { panic!() };
    for monitor in [a, b, c] {
        scene.falls(monitor, 20).await;
    }
    scene.told(20).await;
    // The second is paused and the first deleted: their incidents are over, the alert is not.
    pause(&scene, b, 40, false).await;
    pause(&scene, a, 50, true).await;
    assert_eq!(scene.told(60).await, Vec::<Value>::new());
    let update = scene.told(20 + 5 * MIN).await;
    assert_eq!(kinds(&update), ["group_update"]);
    assert_eq!((&update[0]["data"]["group"]["open"], scene.open().await), (&json!(1), 1));
    let end = scene.rises(c, 400).await;
    assert_eq!(kinds(&scene.told(end).await), ["resolved"]);
}

#[tokio::test]
async fn when_the_first_is_over_the_next_calls_on() {
    let mut scene = Scene::new().await;
    let everybody: Uuid = sqlx::query_scalar("select channel_id from channel")
        .fetch_one(scene.watch.pool())
        .await
        .unwrap();
    let url = scene.hook.url.clone();
    let phone = scene.channel("phone", &url).await;
    let policy = Uuid::from_u128(1);
    let rules = json!({ "steps": [{ "after_s": 0, "channels": [everybody] },
        { "after_s": 1_200, "channels": [phone] }], "loops": 1, "ack_timeout_s": 14_400, "reminder_s": null });
    sqlx::query(
        "insert into escalation (escalation_id, name, rules, created_at, updated_at) values ($1, 'on-call', $2, now(), now())",
    )
    .bind(policy)
    .bind(rules)
    .execute(scene.watch.pool())
    .await
    .unwrap();
    let [a, b, c] = scene.monitors(&["a", "bb", "ccc"]).await[..] else { panic!() };
    sqlx::query("update monitor set escalation = $1, channels = null")
        .bind(policy.to_string())
        .execute(scene.watch.pool())
        .await
        .unwrap();
    for monitor in [a, b, c] {
        scene.falls(monitor, 20).await;
    }
    assert_eq!(kinds(&scene.told(20).await), ["opened"]);
    // The first is over before its step comes; the phone is called for the second, once.
    let up = scene.rises(a, 330).await;
    assert!(up < 1_200, "{up}");
    scene.told(up).await;
    let mut heard = Vec::new();
    for minute in 0..60 {
        let second = up + minute * MIN;
        scene.watch.triage.escalate(scene.watch.at(second)).await.unwrap();
        heard.extend(scene.told(second).await);
    }
    let called: Vec<_> = heard.iter().filter(|one| one["type"] == "incident.opened").collect();
    assert_eq!(called.len(), 1, "{heard:?}");
    assert_eq!(called[0]["data"]["monitor"]["name"], "bb");
    // It hears the end of what it was called for, and the group ends as ever.
    let up = scene.rises(b, up + 3_700).await;
    let told = scene.told(up).await;
    let ends: Vec<_> = told.iter().filter(|one| one["type"] == "incident.resolved").collect();
    assert_eq!(ends.len(), 1, "{told:?}");
    assert_eq!(ends[0]["data"]["monitor"]["name"], "bb");
    let end = scene.rises(c, up + 10).await;
    assert_eq!(kinds(&scene.told(end).await), ["resolved"]);
}

/// Switches a monitor off, or deletes it.
async fn pause(scene: &Scene, monitor: Uuid, second: i64, delete: bool) {
    let now = scene.watch.at(second);
    let key = scene.watch.key(monitor).await;
    let mut tx = scene.watch.pool().begin().await.unwrap();
    quorate::store::live::lock(&mut tx, &[key.0]).await.unwrap();
    match delete {
        true => scene.watch.triage.delete(&mut tx, key, now).await.unwrap(),
        false => scene.watch.triage.pause(&mut tx, key, now).await.unwrap(),
    }
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_member_that_comes_and_goes_pages_nobody_again() {
    let mut scene = Scene::new().await;
    let [a, b, c] = scene.monitors(&["a", "bb", "ccc"]).await[..] else { panic!() };
    for monitor in [a, b, c] {
        scene.falls(monitor, 20).await;
    }
    assert_eq!(kinds(&scene.told(20).await), ["opened"]);
    let mut heard = Vec::new();
    let mut second = 30;
    for _ in 0..3 {
        second = scene.rises(b, second).await;
        heard.extend(kinds(&scene.told(second).await));
        second += 20;
        scene.falls(b, second).await;
        heard.extend(kinds(&scene.told(second).await));
        second += 10;
    }
    assert!(heard.iter().all(|kind| kind == "group_update"), "{heard:?}");
    for monitor in [a, b, c] {
        second = scene.rises(monitor, second).await;
    }
    let told = kinds(&scene.told(second + 2_000).await);
    assert_eq!(told.iter().filter(|kind| *kind == "resolved").count(), 1, "{told:?}");
    assert_eq!(scene.open().await, 0);
}

#[tokio::test]
async fn a_severity_that_moves_is_an_update_too() {
    let mut scene = Scene::new().await;
    let [a, b, c] = scene.monitors(&["a", "bb", "ccc"]).await[..] else { panic!() };
    sqlx::query("update monitor set policy = $2 where uid = $1")
        .bind(b)
        .bind(json!({"quorum": {"mode": "all"}}))
        .execute(scene.watch.pool())
        .await
        .unwrap();
    sqlx::query("update monitor_live set config_rev = config_rev + 1")
        .execute(scene.watch.pool())
        .await
        .unwrap();
    for monitor in [a, b, c] {
        scene.falls(monitor, 20).await;
    }
    assert_eq!(kinds(&scene.told(20).await), ["opened"]);
    let mut heard = Vec::new();
    // One location sees the second pass, which all had to see fail; then it fails there too.
    for (from, one_passes) in [(30, true), (400, false)] {
        for second in (from..from + 360).step_by(10) {
            for monitor in [a, c] {
                for location in 0..3 {
                    scene.watch.report(location, monitor, second, at("x", refused())).await;
                }
            }
            for location in 0..3 {
                let seen = if location == 0 && one_passes { pass() } else { refused() };
                scene.watch.report(location, b, second, at("x", seen)).await;
            }
            while scene.watch.triage.sweep(scene.watch.at(second)).await.unwrap() {}
            heard.extend(scene.told(second).await);
        }
    }
    let moves = scene.watch.count("notice where kind = 'moved' and outcome = 'grouped'").await;
    assert_eq!(moves, 2, "down, partly down, down");
    assert!(kinds(&heard).iter().all(|kind| kind == "group_update"), "{heard:?}");
    assert!((1..=2).contains(&heard.len()), "at most one in five minutes: {heard:?}");
    assert_eq!(heard[0]["data"]["group"]["open"], 3);
}

#[tokio::test]
async fn with_nothing_in_common_each_is_told_at_once() {
    let mut scene = Scene::new().await;
    let monitors = scene.monitors(&["a", "bb", "ccc"]).await;
    for (n, monitor) in monitors.iter().enumerate() {
        sqlx::query("update monitor set check_spec = $2 where uid = $1")
            .bind(monitor)
            .bind(json!({"kind": "http", "url": format!("https://shop{n}.example/")}))
            .execute(scene.watch.pool())
            .await
            .unwrap();
    }
    for monitor in monitors {
        scene.falls(monitor, 20).await;
    }
    assert_eq!(kinds(&scene.told(20).await), ["opened", "opened", "opened"]);
}

/// Two coordinators take the fall of twelve monitors at the same time: one of them is told, and one end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_coordinators_at_once_make_one_group() {
    let mut scene = Scene::new().await;
    let names: Vec<String> = (1..=12).map(|n| "m".repeat(n)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let monitors = scene.monitors(&names).await;
    let one = std::sync::Arc::new(Triage::new(scene.watch.pool().clone()));
    let two = std::sync::Arc::new(Triage::new(scene.watch.pool().clone()));
    let seconds = [(55, false), (60, false)].into_iter();
    let rises = (7..40).map(|step| (step * 10, true));
    for (second, up) in seconds.chain(rises) {
        let now = scene.watch.at(second);
        let mut tasks = tokio::task::JoinSet::new();
        for agent in &mut scene.watch.agents {
            for (n, part) in monitors.chunks(6).enumerate() {
                let seen = || at("x", if up { pass() } else { refused() });
                let batch = agent.batch(now, part.iter().map(|m| (*m, now, seen())));
                let triage = if n == 0 { one.clone() } else { two.clone() };
                // One batch of an agent at a time; those of different agents at once.
                if n == 0 {
                    triage.accept(&batch, now).await.unwrap();
                } else {
                    tasks.spawn(async move { triage.accept(&batch, now).await.map(|_| ()) });
                }
            }
        }
        for triage in [one.clone(), two.clone()] {
            tasks.spawn(async move { triage.sweep(now).await.map(|_| ()) });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap().unwrap();
        }
    }
    let incidents = scene.watch.count("incident where resolved_at is not null").await;
    assert_eq!((incidents, scene.open().await), (12, 0));
    let groups = scene.watch.count("(select distinct group_id from storm_member) as g").await;
    assert_eq!(groups, 1);
    let told = kinds(&scene.told(3_600).await);
    assert_eq!(told, ["resolved"], "begun and over before anything was sent: one message");
}
