//! Two coordinators take every batch at the same moment, while people edit, pause, acknowledge, declare
//! maintenance, and delete channels and a location. Whatever the order turns out to be: everything is
//! stored once, the timeline has no holes, and each event of an incident is told once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use quorate::domain::decision::Live;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use crate::support::{
    hook_sink::HookSink,
    sender::{Attempts, Sender},
    whole::{Client, Coordinator, Whole, until},
};

const ROUNDS: usize = 14;
/// The location `extra` goes in this round.
const LEAVES: usize = 6;

const WELL: Attempts = &[(0, true)];
const BROKEN: Attempts = &[(0, false)];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_comes_first_nothing_is_lost_and_nothing_doubled() {
    let mut scene = Scene::start().await;
    for round in 0..ROUNDS {
        let attempts = if round % 2 == 0 { WELL } else { BROKEN };
        scene.round(round, attempts).await;
    }
    scene.settle().await;
    scene.check_reports().await;
    scene.check_timeline().await;
    scene.check_told().await;
}

struct Scene {
    whole: Whole,
    /// To the other coordinator.
    other: Client,
    urls: [String; 2],
    senders: Vec<Sender>,
    monitors: Vec<Uuid>,
    extra: String,
    steady: HookSink,
    passing: HookSink,
    /// Location and number of each report that was taken.
    taken: Mutex<BTreeSet<(String, i32)>>,
}

impl Scene {
    async fn start() -> Self {
        let mut whole = Whole::start("turmoil").await;
        whole.coordinators.push(Coordinator::start(&whole.db, &[]).await);
        let urls = [0, 1].map(|which| whole.coordinators[which].url.to_string());
        let other = Client::new(whole.coordinators[1].url.clone());
        whole.db.storms_from(0).await;
        let (steady, passing) = (HookSink::start().await, HookSink::start().await);
        whole.client.post("channels", hook("steady", &steady)).await;
        let mut senders = Vec::new();
        let mut extra = String::new();
        for name in ["eu", "us", "ap", "extra"] {
            let body = json!({"name": name, "region": name, "domain": format!("net-{name}")});
            let location = whole.client.post("locations", body).await;
            let agent = whole.client.post("agents", json!({"location": location["id"]})).await;
            senders.push(Sender::new(agent["secret"].as_str().unwrap(), name));
            extra = location["id"].as_str().unwrap().to_owned();
        }
        let mut monitors = Vec::new();
        for number in 0..5 {
            let made = whole.client.post("monitors", monitor(number)).await;
            monitors.push(made["id"].as_str().unwrap().parse().unwrap());
        }
        let taken = Mutex::default();
        Self { whole, other, urls, senders, monitors, extra, steady, passing, taken }
    }

    fn pool(&self) -> &PgPool {
        self.whole.db.pool()
    }

    /// Everybody reports, to both at once, and everybody has something to change.
    async fn round(&mut self, round: usize, attempts: Attempts) {
        let present = if round > LEAVES { 3 } else { 4 };
        let batches: Vec<_> = self.senders[..present]
            .iter_mut()
            .map(|sender| sender.batch(&self.monitors, attempts))
            .collect();
        let deliveries = self.senders.iter().zip(&batches).map(async |(sender, batch)| {
            let [one, other] = &self.urls;
            let (one, other) = tokio::join!(sender.post(batch, one), sender.post(batch, other));
            let answers: Vec<_> = one.into_iter().chain(other).collect();
            let accepted: u32 = answers.iter().map(|answer| answer.accepted).sum();
            let leaving = round == LEAVES && sender.location() == "extra";
            assert!(answers.len() == 2 || leaving, "an agent is turned away");
            let all = u32::try_from(batch.len()).unwrap();
            assert!(accepted == all || (leaving && accepted == 0), "{answers:?}");
            if accepted > 0 {
                let reports = sender.sent().rev().take(batch.len());
                let mut taken = self.taken.lock().unwrap();
                taken.extend(reports.map(|(location, _, number)| (location, number)));
            }
        });
        tokio::join!(
            futures_util::future::join_all(deliveries),
            self.edit(round),
            self.pause(round),
            self.acknowledge(),
            self.change_channels(round),
            self.maintain(round),
            self.leave(round),
        );
    }

    async fn edit(&self, round: usize) {
        let path = format!("monitors/{}", self.monitors[0]);
        for (client, part) in [(&self.whole.client, 0), (&self.other, 1)] {
            let labels = json!({"labels": {"round": format!("{round}-{part}")}});
            client.allowed(Method::PATCH, &path, Some(labels)).await;
        }
    }

    async fn pause(&self, round: usize) {
        let path = format!("monitors/{}", self.monitors[1]);
        let enabled = json!({"enabled": round % 3 != 1});
        self.other.allowed(Method::PATCH, &path, Some(enabled)).await;
    }

    async fn acknowledge(&self) {
        let open = self.whole.client.get("incidents?state=open").await;
        for incident in open["items"].as_array().unwrap() {
            let path = format!("incidents/{}/ack", incident["id"].as_str().unwrap());
            self.other.allowed(Method::POST, &path, None).await;
        }
    }

    /// The passing channel comes and goes.
    async fn change_channels(&self, round: usize) {
        let all = self.other.get("channels").await;
        let present = all["items"].as_array().unwrap().iter().find(|one| one["name"] == "passing");
        match present {
            None => {
                let new = hook("passing", &self.passing);
                self.other.allowed(Method::POST, "channels", Some(new)).await;
            }
            Some(channel) if round % 2 == 1 => {
                let path = format!("channels/{}", channel["id"].as_str().unwrap());
                self.whole.client.allowed(Method::DELETE, &path, None).await;
            }
            Some(_) => {}
        }
    }

    /// A window for one monitor, cut short at once: that wakes everything that is not up.
    async fn maintain(&self, round: usize) {
        let end = quorate::clock::Clock::system().now() + jiff::SignedDuration::from_secs(60);
        let window = json!({
            "name": format!("work {round}"), "start": "2026-01-01T00:00:00Z", "end": end.to_string(),
            "monitors": [self.monitors[2]],
        });
        let (_, made) = self.whole.client.allowed(Method::POST, "maintenance", Some(window)).await;
        let path = format!("maintenance/{}/end", made["id"].as_str().unwrap());
        self.other.allowed(Method::POST, &path, None).await;
    }

    async fn leave(&self, round: usize) {
        if round == LEAVES {
            let path = format!("locations/{}", self.extra);
            self.whole.client.call(Method::DELETE, &path, None).await;
        }
    }

    /// It is well everywhere, and everything is told.
    async fn settle(&mut self) {
        let path = format!("monitors/{}", self.monitors[1]);
        self.whole.client.call(Method::PATCH, &path, Some(json!({"enabled": true}))).await;
        until("every monitor is up", async || {
            self.round(ROUNDS, WELL).await;
            let up: i64 = sqlx::query_scalar("select count(*) from monitor_live where state = 1")
                .fetch_one(self.pool())
                .await
                .unwrap();
            (up == 5).then_some(())
        })
        .await;
        until("every notice is settled", async || {
            let waiting: i64 =
                sqlx::query_scalar("select count(*) from notice where settled_at is null")
                    .fetch_one(self.pool())
                    .await
                    .unwrap();
            (waiting == 0).then_some(())
        })
        .await;
    }

    async fn check_reports(&self) {
        let stored: Vec<(String, i32)> = sqlx::query_as(
            "select l.name, r.size_bytes from report r join location l using (location_id)",
        )
        .fetch_all(self.pool())
        .await
        .unwrap();
        let once: BTreeSet<_> = stored.iter().cloned().collect();
        assert_eq!(once.len(), stored.len(), "a report is stored twice");
        assert_eq!(once, *self.taken.lock().unwrap());
    }

    async fn check_timeline(&self) {
        let pool = self.pool();
        let holes: Vec<(i32, String)> = sqlx::query_as(
            "select monitor_id, from_at::text from (
                 select monitor_id, from_at, to_at,
                        lead(from_at) over (partition by monitor_id order by from_at) as next
                 from monitor_state) as s where next is distinct from to_at",
        )
        .fetch_all(pool)
        .await
        .unwrap();
        assert_eq!(holes, [], "every interval ends where the next one begins");
        let rows: Vec<(String, i16, i16)> = sqlx::query_as(
            "select v.live, v.state, s.state from monitor_live v
             join monitor_state s on s.monitor_id = v.monitor_id and s.to_at is null",
        )
        .fetch_all(pool)
        .await
        .unwrap();
        assert_eq!(rows.len(), 5);
        let extra: i16 =
            sqlx::query_scalar("select location_id from location where name = 'extra'")
                .fetch_one(pool)
                .await
                .unwrap();
        for (text, state, interval) in rows {
            let live: Live = serde_json::from_str(&text).unwrap();
            assert_eq!((live.state.code(), interval), (state, state));
            assert!(live.incident.is_none(), "it is up");
            assert!(live.votes.iter().all(|vote| vote.location.0 != extra), "no vote of who left");
        }
        let odd: i64 = sqlx::query_scalar(
            "select count(*) from incident
             where resolved_at is null or ended_at > resolved_at or opened_at > resolved_at
                or event_count <> (select count(*) from incident_event e where e.incident_id = incident.incident_id)",
        )
        .fetch_one(pool)
        .await
        .unwrap();
        assert_eq!(odd, 0, "all over, in order, with all their events");
    }

    /// Each event of each incident is one notice to the steady channel, in order; what is delivered was
    /// heard once, and nothing else was.
    async fn check_told(&mut self) {
        let events: Vec<(Uuid, String)> = sqlx::query_as(
            "select incident_id, kind from incident_event
             order by incident_id, event_no",
        )
        .fetch_all(self.pool())
        .await
        .unwrap();
        let mut happened: BTreeMap<Uuid, Vec<String>> = BTreeMap::new();
        for (incident, word) in events {
            happened.entry(incident).or_default().push(word);
        }
        let notices: Vec<(String, Uuid, String, Uuid, String)> = sqlx::query_as(
            "select c.name, n.incident_id, n.kind, n.notice_id, n.outcome
             from notice n join channel c using (channel_id) order by n.notice_no",
        )
        .fetch_all(self.pool())
        .await
        .unwrap();
        assert!(happened.len() >= 5, "there was turmoil: {happened:?}");
        for (incident, words) in &happened {
            if words.iter().any(|word| word.starts_with("suppressed")) {
                continue;
            }
            let expected: Vec<&str> = words.iter().map(|word| kind_of(word)).collect();
            let told: Vec<&str> = notices
                .iter()
                .filter(|(channel, of, ..)| channel == "steady" && of == incident)
                .map(|(_, _, kind, ..)| kind.as_str())
                .collect();
            assert_eq!(told, expected, "{words:?}");
        }
        for (name, sink) in [("steady", &mut self.steady), ("passing", &mut self.passing)] {
            let mut heard: Vec<String> =
                sink.drain().iter().map(|request| request.id().to_owned()).collect();
            heard.sort();
            let mut delivered: Vec<String> = notices
                .iter()
                .filter(|(channel, .., outcome)| channel == name && outcome == "delivered")
                .map(|(_, _, _, id, _)| id.to_string())
                .collect();
            delivered.sort();
            assert!(!heard.is_empty());
            assert_eq!(heard, delivered, "{name}");
        }
        let steady = notices.iter().filter(|(channel, ..)| channel == "steady");
        for (.., outcome) in steady {
            assert!(matches!(outcome.as_str(), "delivered" | "collapsed"), "{outcome}");
        }
    }
}

/// The notice that an event becomes.
fn kind_of(word: &str) -> &'static str {
    match word.split(':').collect::<Vec<_>>()[..] {
        ["opened", _, "after_maintenance"] => "after_maintenance",
        ["opened", ..] => "opened",
        ["reopened", ..] => "reopened",
        ["escalated" | "downgraded", ..] => "moved",
        ["resolved", "flap_end"] => "flap_end",
        ["resolved"] => "resolved",
        ["flap_start"] => "flap_start",
        ["acked"] => "acknowledged",
        _ => panic!("{word}"),
    }
}

fn hook(name: &str, sink: &HookSink) -> Value {
    json!({"name": name, "kind": "webhook", "config": {"url": sink.url}})
}

/// A monitor that believes the first result.
fn monitor(number: usize) -> Value {
    json!({
        "name": format!("shop-{number}"),
        "check": {"kind": "http", "url": "https://shop.example/"},
        "interval_s": 60, "locations": "all",
        "policy": {
            "fail_after": 1, "pass_after": 1, "recover_for_s": 0, "reopen_within_s": 0,
        },
    })
}
