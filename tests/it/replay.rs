//! A monitor's past under other policies: the present one comes to what really happened.

use axum::http::Method;
use jiff::{SignedDuration, Timestamp};
use quorate::{
    api::auth::Role,
    domain::{
        decision::basis::Basis,
        ids::{LocationKey, MonitorKey},
        observation::{Class, Outcome, RunKind},
    },
    store,
    triage::{Delivered, ReportBatch, Reported},
    upkeep::Upkeep,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{
    api::{Api, text},
    watch::observation,
};

/// Three locations that report on one monitor as agents do, with results that are a moment under way.
struct Past {
    api: Api,
    monitor: String,
    agents: Vec<(Uuid, LocationKey, i64)>,
    start: Timestamp,
    second: i64,
}

impl Past {
    async fn new() -> Self {
        let api = Api::start().await;
        for name in ["eu", "us", "ap"] {
            api.location(name).await;
        }
        let monitor = text(&api.monitor("shop").await["id"]);
        let agents: Vec<(Uuid, i16)> =
            sqlx::query_as("select agent_id, location_id from agent order by location_id")
                .fetch_all(api.db.pool())
                .await
                .unwrap();
        let agents = agents.into_iter().map(|(id, key)| (id, LocationKey(key), 0)).collect();
        let start = api.clock.now();
        Self { api, monitor, agents, start, second: 0 }
    }

    fn at(&self, second: i64) -> String {
        (self.start + SignedDuration::from_secs(second)).to_string()
    }

    /// One location says what it saw `age` milliseconds ago.
    async fn says(&mut self, location: usize, fails: bool, age: f64, kind: RunKind) {
        let (agent, key, seq) = &mut self.agents[location];
        *seq += 1;
        let (outcome, class, status) = if fails {
            (Outcome::Fail, Some(Class::Status), Some(503))
        } else {
            (Outcome::Pass, None, Some(200))
        };
        let report = Reported {
            monitor: self.monitor.parse().unwrap(),
            check_version: 1,
            kind,
            age_at_send_ms: age,
            age_estimated: false,
            observation: observation(outcome, class, status),
        };
        let delivery = ReportBatch {
            agent: *agent,
            location: *key,
            boot: *agent,
            rtt_ms: 0.0,
            sent_at: None,
            settled: 0,
            reports: vec![Delivered { seq: *seq, report: Some(report) }],
        };
        self.api.state.triage.accept(&delivery, self.api.clock.now()).await.unwrap();
    }

    /// Lets time pass up to `until`, second by second. Locations take turns; a failed attempt is repeated
    /// five seconds later, a pass after a failure ten seconds later.
    async fn run(&mut self, until: i64, fails: impl Fn(usize, i64) -> bool) {
        while self.second < until {
            let second = self.second;
            for location in 0..3 {
                let turn = 20 * location as i64;
                let due = |s: i64| s >= 0 && (s - turn).rem_euclid(60) == 0;
                let age = 300.0 + 17.0 * location as f64;
                if due(second) {
                    self.says(location, fails(location, second), age, RunKind::Scheduled).await;
                } else if due(second - 5) && fails(location, second - 5) {
                    self.says(location, fails(location, second), age, RunKind::Retry).await;
                }
            }
            while self.api.state.triage.sweep(self.api.clock.now()).await.unwrap() {}
            self.api.later(1);
            self.second += 1;
        }
    }

    async fn replay(&self, body: Value) -> Value {
        self.api.post(&format!("monitors/{}/replay", self.monitor), body).await.is(200)
    }
}

fn lane<'a>(replay: &'a Value, key: &str) -> &'a Value {
    let lanes = replay["lanes"].as_array().unwrap();
    lanes.iter().find(|lane| lane["key"] == key).unwrap()
}

type Story = Vec<(String, Timestamp, Vec<String>, Vec<Timestamp>)>;

/// (peak, started, events, and when each of them was) of a lane's incidents.
fn story(lane: &Value) -> Story {
    let instant = |value: &Value| text(value).parse().unwrap();
    lane["incidents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let events = one["events"].as_array().unwrap();
            (
                text(&one["peak"]),
                instant(&one["started_at"]),
                events.iter().map(|event| text(&event["kind"])).collect(),
                events.iter().map(|event| instant(&event["at"])).collect(),
            )
        })
        .collect()
}

/// An outage, one region alone, a quorum that flaps, and maintenance over the last outage.
fn troubled(location: usize, second: i64) -> bool {
    let outage = (600..900).contains(&second) || (6_300..6_900).contains(&second);
    let alone = location == 1 && (1_500..2_100).contains(&second);
    let flaps = (3_000..5_000).contains(&second) && second % 480 < 150;
    outage || alone || flaps
}

#[tokio::test]
async fn the_present_policy_comes_to_what_happened() {
    let mut past = Past::new().await;
    past.run(5_900, troubled).await;
    // It is decided on the way; a result that was long under way came too late to be heard.
    past.says(0, true, 170_000.0, RunKind::Scheduled).await;
    let window = json!({ "name": "move", "start": past.at(6_200), "end": past.at(6_800),
        "monitors": [past.monitor] });
    past.api.post("maintenance", window).await.is(201);
    past.run(6_200, troubled).await;
    past.api.swept().await;
    past.run(7_600, troubled).await;

    let replay = past.replay(json!({ "from": past.at(0), "to": past.at(7_600) })).await;
    let (real, present) = (story(lane(&replay, "real")), story(lane(&replay, "present")));
    assert!(real.len() >= 3, "{real:?}");
    assert_eq!(real.len(), present.len(), "{real:#?}\n{present:#?}");
    for (real, present) in real.iter().zip(&present) {
        assert_eq!((&real.0, &real.1, &real.2), (&present.0, &present.1, &present.2));
        for (real, present) in real.3.iter().zip(&present.3) {
            // Deadlines are looked at once a second.
            assert!(real.duration_since(*present).abs() < SignedDuration::from_secs(1));
        }
    }
    let kinds: Vec<&String> = real.iter().flat_map(|one| &one.2).collect();
    assert!(kinds.iter().any(|kind| *kind == "flap_start"), "{kinds:?}");
    assert!(kinds.iter().any(|kind| kind.starts_with("suppressed:")), "{kinds:?}");
    assert_eq!(lane(&replay, "present")["sums"], lane(&replay, "real")["sums"]);
    assert_eq!(lane(&replay, "present")["sums"]["missed"], 0);
    assert_eq!(lane(&replay, "tried")["sums"]["alone"], 0, "without a policy, the present one");
    assert_eq!(replay["caveats"], json!([]), "nothing is different");
}

#[tokio::test]
async fn another_policy_is_held_against_what_happened() {
    let mut past = Past::new().await;
    past.run(3_600, |location, second| {
        (600..840).contains(&second) || location == 1 && (2_100..2_700).contains(&second)
    })
    .await;
    let span = |body: Value| {
        let mut whole = json!({ "from": past.at(0), "to": past.at(3_600) });
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        whole
    };
    let any = past.replay(span(json!({ "policy": { "quorum": { "mode": "any" } } }))).await;
    let (real, tried) = (lane(&any, "real"), lane(&any, "tried"));
    assert_eq!((&real["sums"]["incidents"], &tried["sums"]["incidents"]), (&json!(1), &json!(2)));
    assert_eq!((&tried["sums"]["alone"], &real["sums"]["missed"]), (&json!(1), &json!(1)));
    assert_eq!(any["troubles"].as_array().unwrap().len(), 2);
    assert_eq!(any["troubles"][0]["incidents"][0], json!([0]), "{}", any["troubles"]);
    assert_eq!(tried["incidents"], lane(&any, "any_one")["incidents"]);

    let held = past.replay(span(json!({ "policy": { "confirm_for_s": 120 } }))).await;
    let delay = |lane: &Value| lane["sums"]["delay_longest_ms"].as_i64().unwrap();
    let longer = delay(lane(&held, "tried")) - delay(lane(&held, "real"));
    assert!((119_000..=121_000).contains(&longer), "{longer}");
    assert_eq!(held["caveats"].as_array().unwrap().len(), 1, "{}", held["caveats"]);

    let without =
        past.replay(span(json!({ "overrides": { "exclude_locations": ["us", "ap"] } }))).await;
    assert_eq!(lane(&without, "tried")["odds"]["n"], 1);
    assert_eq!(lane(&without, "tried")["sums"]["missed"], 0, "one location sees the outage too");

    let missed = past.replay(span(json!({ "policy": { "fail_after": 9 } }))).await;
    assert_eq!(lane(&missed, "tried")["sums"]["missed"], 1, "no location fails so often");
    let said = missed["caveats"][0].as_str().unwrap();
    assert!(said.contains("never made"), "{said}");
}

#[tokio::test]
async fn a_pause_and_withdrawn_maintenance_are_part_of_the_past() {
    let mut past = Past::new().await;
    past.run(900, |_, second| second >= 600).await;
    let path = format!("monitors/{}", past.monitor);
    past.api.patch(&path, json!({ "enabled": false })).await.is(200);
    past.run(1_200, |_, _| true).await;
    past.api.patch(&path, json!({ "enabled": true })).await.is(200);
    past.run(1_800, |_, _| true).await;
    let replay = past.replay(json!({ "from": past.at(0), "to": past.at(1_800) })).await;
    let (real, present) = (story(lane(&replay, "real")), story(lane(&replay, "present")));
    let events = |story: &Story| story.iter().map(|one| one.2.clone()).collect::<Vec<_>>();
    assert_eq!(events(&real), events(&present), "{real:#?}\n{present:#?}");
    assert!(
        replay["caveats"][0].as_str().unwrap().contains("was changed"),
        "{}",
        replay["caveats"]
    );
}

#[tokio::test]
async fn who_was_distrusted_then_does_not_count_unless_that_is_ignored() {
    let mut past = Past::new().await;
    sqlx::query(
        "insert into location_trust (trust_id, location_id, kind, reason, set_by, from_at, until_at)
         select uid, location_id, 'distrust', 'its line is being mended', 'test', $1::text::timestamptz,
                $1::text::timestamptz + interval '1 day'
         from location where name = 'us'",
    )
    .bind(past.at(60))
    .execute(past.api.db.pool())
    .await
    .unwrap();
    past.run(1_500, |location, second| location > 0 && (600..900).contains(&second)).await;
    let span = json!({ "from": past.at(0), "to": past.at(1_500) });
    let as_it_was = past.replay(span.clone()).await;
    assert_eq!(lane(&as_it_was, "real")["incidents"], json!([]), "one of two is no majority");
    assert_eq!(lane(&as_it_was, "present")["incidents"], json!([]));
    let mut ignored = span;
    ignored["overrides"] = json!({ "quarantine": "ignored" });
    let ignored = past.replay(ignored).await;
    assert_eq!(lane(&ignored, "tried")["incidents"][0]["peak"], "down", "{}", ignored["lanes"]);
    assert_eq!(lane(&ignored, "present")["incidents"], json!([]), "only what is tried is changed");
}

#[tokio::test]
async fn what_is_too_much_or_makes_no_sense_is_refused() {
    let mut past = Past::new().await;
    past.run(120, |_, _| false).await;
    let path = format!("monitors/{}/replay", past.monitor);
    let post = |body: Value| past.api.post(&path, body);
    let long = past.start - SignedDuration::from_hours(40 * 24);
    post(json!({ "from": long.to_string() })).await.refuses(422, "from");
    post(json!({ "from": past.at(60), "to": past.at(30) })).await.refuses(422, "from");
    let early = past.start - SignedDuration::from_hours(20 * 24);
    let before = json!({ "from": early.to_string(), "to": past.at(-80_000) });
    post(before).await.refuses(422, "to");
    post(json!({ "policy": { "fail_after": 0 } })).await.refuses(422, "policy.fail_after");
    post(json!({ "overrides": { "exclude_locations": ["mars"] } }))
        .await
        .refuses(422, "overrides.exclude_locations[0]");
    post(json!({ "overrides": { "exclude_locations": ["eu", "us", "ap"] } }))
        .await
        .refuses(422, "overrides.exclude_locations");
    post(json!({ "interval_s": 30 })).await.refuses(422, "interval_s");
    let viewer = past.api.as_role(Role::Viewer, Method::POST, &path, json!({})).await;
    assert_eq!(viewer.status.as_u16(), 403);
    let editor = past.api.as_role(Role::Editor, Method::POST, &path, json!({})).await;
    let answer = editor.is(200);
    assert_eq!(answer["results"], 6);
    // The monitor is as old as its first result: nothing is kept from before.
    assert_eq!(answer["from"].as_str().unwrap()[..16], past.at(0)[..16]);
    let key: i32 = sqlx::query_scalar("select monitor_id from monitor")
        .fetch_one(past.api.db.pool())
        .await
        .unwrap();
    let (from, to) = (past.start - SignedDuration::from_hours(1), past.api.clock.now());
    for (most, taken) in [(7, Some(6)), (6, Some(6)), (5, None)] {
        let mut conn = past.api.db.pool().acquire().await.unwrap();
        let all = store::replay::reports(&mut conn, MonitorKey(key), from, to, most).await.unwrap();
        assert_eq!(all.map(|all| all.len()), taken, "at most {most}");
    }
    let mut refused = false;
    for _ in 0..12 {
        refused |= post(json!({})).await.status.as_u16() == 429;
    }
    assert!(refused, "ten at once are enough");
    let other = store::id_at(past.start);
    past.api.post(&format!("monitors/{other}/replay"), json!({})).await;
}

#[tokio::test]
async fn every_stored_decision_comes_to_the_same_verdict_again() {
    let mut past = Past::new().await;
    past.run(5_400, troubled).await;
    let stored: Vec<Value> =
        sqlx::query_scalar("select inputs from decision order by at, decision_id")
            .fetch_all(past.api.db.pool())
            .await
            .unwrap();
    assert!(stored.len() > 30, "{}", stored.len());
    for inputs in &stored {
        let basis: Basis = serde_json::from_value(inputs["basis"].clone()).unwrap();
        let verdict = basis.judge();
        let count = |name: &str| inputs["verdict"][name].as_u64().unwrap() as usize;
        assert_eq!(inputs["verdict"]["raw"], verdict.raw.name());
        assert_eq!((count("n"), count("e"), count("q")), (verdict.n, verdict.e, verdict.q));
        assert_eq!((count("d"), count("u")), (verdict.d, verdict.u));
        let ballots = basis.ballots();
        let votes = inputs["votes"].as_array().unwrap();
        for (ballot, vote) in ballots.iter().zip(votes) {
            assert_eq!(
                (vote["vote"].as_str().unwrap(), vote["saw"].as_str().unwrap()),
                (ballot.vote.name(), ballot.saw.as_str())
            );
        }
    }
}

#[tokio::test]
async fn an_incident_is_told_decision_by_decision() {
    let mut past = Past::new().await;
    past.run(1_300, |location, second| (600..900).contains(&second) && location < 2).await;
    let incidents = past.api.get("incidents").await.is(200);
    let id = text(&incidents["items"][0]["id"]);
    let path = format!("incidents/{id}/decisions");
    let all = past.api.get(&path).await.is(200);
    let steps = all["items"].as_array().unwrap();
    assert!(steps.len() >= 5, "{all}");
    assert_eq!(steps[0]["turns"][0]["to"], "suspect", "it begins with the first failing result");
    assert_eq!(steps.last().unwrap()["events"], json!(["resolved"]));
    assert!(steps.iter().any(|step| step["events"] == json!(["opened:down"])), "{all}");
    assert!(steps.iter().all(|step| step["again"] == "same"), "{all}");
    assert!(steps.iter().any(|step| step["hold"]["toward"] == "up"), "{all}");
    let first = &steps[0]["votes"][0];
    assert_eq!(
        (&first["vote"], &first["run"], &first["needed"]),
        (&json!("suspect"), &json!(1), &json!(2))
    );
    assert_eq!((&steps[0]["verdict"]["n"], &steps[0]["verdict"]["q"]), (&json!(3), &json!(2)));

    // In pages, in the same order; and what an older version stored is shown without being taken again.
    let page = past.api.get(&format!("{path}?limit=2")).await.is(200);
    let next =
        past.api.get(&format!("{path}?limit=500&cursor={}", text(&page["next"]))).await.is(200);
    let joined =
        [page["items"].as_array().unwrap().clone(), next["items"].as_array().unwrap().clone()];
    assert_eq!(&joined.concat(), steps);
    sqlx::query("update decision set inputs = inputs - 'basis'")
        .execute(past.api.db.pool())
        .await
        .unwrap();
    let older = past.api.get(&path).await.is(200);
    let step = &older["items"][0];
    assert_eq!(
        (&step["again"], &step["votes"][0]["vote"]),
        (&json!("not_kept"), &json!("suspect"))
    );
    assert_eq!(step["votes"][0]["run"], Value::Null);
}

#[tokio::test]
async fn how_often_locations_fail_is_measured_from_history() {
    let past = Past::new().await;
    let pool = past.api.db.pool();
    let key: i32 =
        sqlx::query_scalar("select monitor_id from monitor").fetch_one(pool).await.unwrap();
    // Twenty days of quarter hours: a location that fails by itself, one with too little, one at which most
    // of a quarter failed together with the others.
    sqlx::query(
        "insert into rollup_quarter (monitor_id, at, location_id, runs, passes, fails, errors, events_ok, events_fail,
             events_invalid, sum_us, sketch, first_fails, retried, retried_fail)
         select $1, $2::text::timestamptz - n * interval '15 minutes', l.location_id, 20, 18, 2, 0, 14, 1, 0, 0, '', 1, 1, case when n % 2 = 0 then 1 else 0 end
         from generate_series(1, 1920) n, location l where l.name = 'eu' or (l.name = 'us' and n < 100)",
    )
    .bind(key)
    .bind(past.start.to_string())
    .execute(pool)
    .await
    .unwrap();
    let term = |odds: &Value, name: &str| {
        let terms = odds["terms"].as_array().unwrap();
        terms.iter().find(|term| term["name"].as_str().unwrap().starts_with(name)).unwrap().clone()
    };
    let path = format!("monitors/{}/odds", past.monitor);
    let odds = past.api.get(&path).await.is(200);
    let eu = term(&odds, "eu: one");
    assert_eq!(
        (&eu["source"], &eu["counted"], &eu["measured_on"]),
        (&json!("measured"), &json!(28_800), &json!("monitor"))
    );
    assert!((eu["value"].as_f64().unwrap() - 1.0 / 15.0).abs() < 0.001, "{eu}");
    assert!((term(&odds, "eu: the retry")["value"].as_f64().unwrap() - 0.5).abs() < 0.01);
    let us = term(&odds, "us: one");
    assert_eq!(
        (&us["source"], &us["counted"], &us["needed"]),
        (&json!("assumed"), &json!(1_485), &json!(10_000))
    );
    assert_eq!(term(&odds, "such failures")["counted"], Value::Null);

    // For a policy that is not saved, all monitors of the location count, summed by day.
    let new = |name: &str| past.api.post("odds", json!({ "locations": [name] }));
    assert_eq!(term(&new("eu").await.is(200), "eu: one")["source"], "assumed");
    let upkeep = Upkeep::new(pool.clone(), past.api.clock.clone());
    sqlx::query("insert into rollup_mark values ('quarter', $1::text::timestamptz)")
        .bind(past.start.to_string())
        .execute(pool)
        .await
        .unwrap();
    let mut days = 0;
    while upkeep.sum_odds(past.start).await.unwrap() {
        days += 1;
    }
    assert_eq!(days, 30, "up to yesterday");
    let odds = new("eu").await.is(200);
    let eu = term(&odds, "eu: one");
    assert_eq!((&eu["source"], &eu["measured_on"]), (&json!("measured"), &json!("location")));
    assert!(odds["false_alerts_per_month"].as_f64().unwrap() > 100.0, "{odds}");
    // A quarter in which most failed says something of the target, not of the location.
    sqlx::query("update rollup_quarter set passes = 1, fails = 19, first_fails = 15")
        .execute(pool)
        .await
        .unwrap();
    let odds = past.api.get(&path).await.is(200);
    assert_eq!(term(&odds, "eu: one")["measured_on"], "location");
}
