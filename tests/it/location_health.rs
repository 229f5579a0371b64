//! Which locations are believed: found by a chore, read by every decision, kept for figures.

use jiff::SignedDuration;
use quorate::domain::observation::Observation;
use serde_json::json;
use uuid::Uuid;

use crate::support::watch::{Watch, pass, refused};

/// What an agent's heartbeat would have stored.
async fn references(watch: &Watch, location: usize, bad_rounds: u64) {
    let target = |name: &str| json!({"target": name, "ok": bad_rounds == 0, "message": "refused"});
    let check = json!({"round": 9, "bad_rounds": bad_rounds, "targets": [target("a:1"), target("b:1"), target("c:1")]});
    sqlx::query("update agent set selfcheck = $2 where agent_id = $1")
        .bind(watch.agents[location].id)
        .bind(check)
        .execute(watch.pool())
        .await
        .unwrap();
}

async fn look(watch: &Watch, second: i64) {
    watch.upkeep().look_at_locations(watch.at(second)).await.unwrap();
}

/// Places in the list of agents of those that are quarantined.
async fn aside(watch: &Watch) -> Vec<usize> {
    let keys: Vec<i16> = sqlx::query_scalar(
        "select location_id from location_health where quarantined_since is not null order by 1",
    )
    .fetch_all(watch.pool())
    .await
    .unwrap();
    let place = |key: &i16| watch.agents.iter().position(|agent| agent.location.0 == *key).unwrap();
    keys.iter().map(place).collect()
}

async fn kinds(watch: &Watch) -> Vec<String> {
    watch.notices().await.into_iter().map(|(kind, _)| kind).collect()
}

/// Everybody says the same twice, five seconds apart, and time passes.
async fn say(watch: &mut Watch, monitor: Uuid, second: i64, what: [fn() -> Observation; 3]) {
    for at in [second, second + 5] {
        for (location, what) in what.iter().enumerate() {
            watch.report(location, monitor, at, what()).await;
        }
        while watch.triage.sweep(watch.at(at)).await.unwrap() {}
    }
}

#[tokio::test]
async fn a_location_whose_references_fail_carries_no_alert() {
    let mut watch = Watch::new().await;
    let (believed, doubted) = (watch.monitor("one").await, watch.monitor("two").await);
    watch.channel("sink").await;
    for monitor in [believed, doubted] {
        say(&mut watch, monitor, 0, [pass, pass, pass]).await;
    }
    say(&mut watch, believed, 60, [pass, refused, refused]).await;
    assert_eq!(kinds(&watch).await, ["opened"], "two of three are enough while both are believed");
    references(&watch, 1, 2).await;
    look(&watch, 70).await;
    assert_eq!(aside(&watch).await, [1]);
    say(&mut watch, doubted, 80, [pass, refused, refused]).await;
    assert_eq!(
        kinds(&watch).await[1..],
        ["evidence_withdrawn"],
        "and nothing of the other monitor"
    );
    let why: String =
        sqlx::query_scalar("select sentence from decision order by decision_id desc limit 1")
            .fetch_one(watch.pool())
            .await
            .unwrap();
    assert!(why.contains("1 is down, 2 are needed"), "{why}");
}

#[tokio::test]
async fn an_incident_that_loses_its_evidence_is_marked_at_once_and_told_once() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("one").await;
    watch.channel("sink").await;
    say(&mut watch, monitor, 0, [pass, pass, pass]).await;
    say(&mut watch, monitor, 60, [pass, refused, refused]).await;
    references(&watch, 1, 2).await;
    look(&watch, 70).await;
    // No report comes: the look itself woke the monitor.
    while watch.triage.sweep(watch.at(70)).await.unwrap() {}
    assert_eq!(kinds(&watch).await, ["opened", "evidence_withdrawn"]);
    say(&mut watch, monitor, 120, [pass, refused, refused]).await;
    assert_eq!(kinds(&watch).await, ["opened", "evidence_withdrawn"]);
    for second in [180, 240, 300, 360] {
        say(&mut watch, monitor, second, [pass, refused, pass]).await;
    }
    assert_eq!(kinds(&watch).await, ["opened", "evidence_withdrawn", "resolved"]);
}

#[tokio::test]
async fn disagreeing_on_most_monitors_is_found_and_forgiven_after_its_hold() {
    let mut watch = Watch::new().await;
    let mut monitors = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        monitors.push(watch.monitor(name).await);
    }
    for monitor in &monitors {
        say(&mut watch, *monitor, 0, [pass, pass, pass]).await;
    }
    assert_eq!(watch.count("location_dissent").await, 0);
    for monitor in &monitors[..2] {
        say(&mut watch, *monitor, 60, [pass, pass, refused]).await;
    }
    look(&watch, 66).await;
    assert_eq!((watch.count("location_dissent").await, aside(&watch).await), (2, vec![]));
    say(&mut watch, monitors[2], 70, [pass, pass, refused]).await;
    look(&watch, 76).await;
    assert_eq!((watch.count("location_dissent").await, aside(&watch).await), (3, vec![2]));
    let (reason, withheld): (String, i64) = sqlx::query_as(
        "select reason, extract(epoch from since_at - from_at)::int8 from location_quarantine",
    )
    .fetch_one(watch.pool())
    .await
    .unwrap();
    assert_eq!(reason, "it sees 3 of 6 monitors fail that most locations see up");
    assert_eq!(withheld, 60);
    for monitor in &monitors {
        say(&mut watch, *monitor, 120, [pass, pass, pass]).await;
    }
    assert_eq!(watch.count("location_dissent").await, 0);
    let mut second = 130;
    while second <= 370 {
        look(&watch, second).await;
        assert_eq!(aside(&watch).await, [2], "at {second}");
        second += 10;
    }
    look(&watch, 380).await;
    assert_eq!(aside(&watch).await, [0_usize; 0]);
    let released: Vec<String> =
        sqlx::query_scalar("select released from location_quarantine where to_at is not null")
            .fetch_all(watch.pool())
            .await
            .unwrap();
    assert_eq!(released, ["clean"]);
}

#[tokio::test]
async fn with_most_locations_in_doubt_all_of_them_count_and_that_is_said() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("one").await;
    watch.channel("sink").await;
    say(&mut watch, monitor, 0, [pass, pass, pass]).await;
    references(&watch, 1, 2).await;
    look(&watch, 10).await;
    assert_eq!(aside(&watch).await, [1]);
    references(&watch, 2, 2).await;
    look(&watch, 20).await;
    assert_eq!(aside(&watch).await, [0_usize; 0], "who was set aside is freed too");
    say(&mut watch, monitor, 60, [pass, refused, refused]).await;
    assert_eq!(kinds(&watch).await, ["opened"]);
    let why: String =
        sqlx::query_scalar("select sentence from incident").fetch_one(watch.pool()).await.unwrap();
    assert!(why.contains("More locations are in doubt than may be set aside"), "{why}");
    references(&watch, 2, 0).await;
    for second in (70..=330).step_by(10) {
        look(&watch, second).await;
    }
    assert_eq!((aside(&watch).await, watch.count("location_cap").await), (vec![1], 0));
}

#[tokio::test]
async fn a_location_alone_in_down_for_a_day_loses_its_vote_there_until_it_agrees() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("one").await;
    let day = SignedDuration::from_hours(24).as_secs();
    watch.upkeep().partitions(watch.at(day)).await.unwrap();
    say(&mut watch, monitor, 0, [pass, pass, pass]).await;
    say(&mut watch, monitor, 60, [pass, pass, refused]).await;
    watch.report(2, monitor, 60 + day, refused()).await;
    assert_eq!(watch.count("location_divergent").await, 0);
    watch.report(2, monitor, 66 + day, refused()).await;
    assert_eq!(watch.count("location_divergent where to_at is null").await, 1);
    say(&mut watch, monitor, 70 + day, [pass, refused, refused]).await;
    let why: String =
        sqlx::query_scalar("select sentence from decision order by decision_id desc limit 1")
            .fetch_one(watch.pool())
            .await
            .unwrap();
    assert!(why.contains("1 is down, 2 are needed"), "its vote does not count: {why}");
    say(&mut watch, monitor, 130 + day, [pass, pass, pass]).await;
    assert_eq!(watch.count("location_divergent where to_at is null").await, 0);
    assert_eq!(watch.count("location_divergent").await, 1, "that it was so is kept");
}
