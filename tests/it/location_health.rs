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

/// What was told of monitors, in order.
async fn kinds(watch: &Watch) -> Vec<String> {
    told(watch, "monitor:%").await
}

/// What was told of incidents whose subject is like this, in order.
async fn told(watch: &Watch, subject: &str) -> Vec<String> {
    sqlx::query_scalar(
        "select n.kind from notice n join incident i using (incident_id) where i.subject like $1 order by n.notice_no",
    )
    .bind(subject)
    .fetch_all(watch.pool())
    .await
    .unwrap()
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
    assert_eq!(told(&watch, "platform:quarantined:%").await, ["opened"]);
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
    assert_eq!(told(&watch, "platform:quarantined:%").await, ["opened", "resolved"]);
    assert_eq!(told(&watch, "platform:over_cap").await, ["opened"]);
    say(&mut watch, monitor, 60, [pass, refused, refused]).await;
    assert_eq!(kinds(&watch).await, ["opened"]);
    let why: String =
        sqlx::query_scalar("select sentence from incident where subject like 'monitor:%'")
            .fetch_one(watch.pool())
            .await
            .unwrap();
    assert!(why.contains("More locations are in doubt than may be set aside"), "{why}");
    references(&watch, 2, 0).await;
    for second in (70..=330).step_by(10) {
        look(&watch, second).await;
    }
    assert_eq!((aside(&watch).await, watch.count("location_cap").await), (vec![1], 0));
    assert_eq!(told(&watch, "platform:over_cap").await, ["opened", "resolved"]);
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

#[tokio::test]
async fn results_of_a_location_in_quarantine_are_invalid_in_its_own_counters() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("one").await;
    references(&watch, 1, 2).await;
    watch.run(monitor, 0..300, |l, _| if l == 1 { refused() } else { pass() }).await;
    look(&watch, 300).await;
    watch.run(monitor, 300..600, |l, _| if l == 1 { refused() } else { pass() }).await;
    references(&watch, 1, 0).await;
    for second in (600..=920).step_by(20) {
        look(&watch, second).await;
    }
    assert_eq!(aside(&watch).await, [0_usize; 0]);
    watch.run(monitor, 920..1_500, |_, _| pass()).await;
    watch.upkeep().sweep(watch.at(1_500)).await.unwrap();
    while watch.upkeep().count(watch.at(1_500)).await.unwrap() {}
    let rows: Vec<(i64, i64, i64)> =
        sqlx::query_as("select ok, fail, invalid from location_counter order by location_id")
            .fetch_all(watch.pool())
            .await
            .unwrap();
    let (doubted, others) = (rows[1], [rows[0], rows[2]]);
    assert!(others.iter().all(|row| row.1 == 0 && row.2 == 0 && row.0 > 10), "{rows:?}");
    // It failed each minute from 20 s on, and again 5 s later; what came until 240 s is its own.
    assert_eq!((doubted.1, doubted.2), (8, 12), "{rows:?}");
    assert!(doubted.0 >= 7, "{rows:?}");
}

#[tokio::test]
async fn blind_monitors_are_one_incident() {
    let mut watch = Watch::new().await;
    watch.channel("sink").await;
    for name in ["one", "two"] {
        let monitor = watch.monitor(name).await;
        say(&mut watch, monitor, 0, [pass, pass, pass]).await;
    }
    // Nobody reports any more.
    for second in [200, 300] {
        while watch.triage.sweep(watch.at(second)).await.unwrap() {}
        look(&watch, second).await;
    }
    assert_eq!(told(&watch, "platform:blind_monitors").await, ["opened"]);
    let why: String =
        sqlx::query_scalar("select sentence from incident where subject like 'platform:%'")
            .fetch_one(watch.pool())
            .await
            .unwrap();
    assert!(why.starts_with("Too few locations report on 2 of 2 monitors: one, two."), "{why}");
}

/// Who was asked about how many monitors in waves, by place.
async fn asked(watch: &Watch) -> Vec<(i16, i64)> {
    sqlx::query_as(
        "select location_id, count(distinct monitor_id) from probe_request where kind = 'confirm' group by 1 order by 1",
    )
    .fetch_all(watch.pool())
    .await
    .unwrap()
}

#[tokio::test]
async fn half_of_all_monitors_failing_at_once_are_asked_about_once_more_in_spite_of_the_brake() {
    let mut watch = Watch::new().await;
    let mut monitors = Vec::new();
    for n in 0..10 {
        monitors.push(watch.monitor(&format!("m{n}")).await);
    }
    for monitor in &monitors {
        say(&mut watch, *monitor, 0, [pass, pass, pass]).await;
    }
    for (monitor, second) in monitors[..4].iter().zip(60..) {
        watch.report(0, *monitor, second, refused()).await;
    }
    let (us, ap) = (watch.agents[1].location.0, watch.agents[2].location.0);
    assert_eq!(asked(&watch).await, [(us, 4), (ap, 4)]);
    assert_eq!(watch.count("location_health where review_at is not null").await, 0);
    // The fifth is half of them: its own wave is held back because the location is in question, and all
    // five are asked about once more, of everybody.
    watch.report(0, monitors[4], 66, refused()).await;
    let eu = watch.agents[0].location.0;
    assert_eq!(asked(&watch).await, [(eu, 5), (us, 5), (ap, 5)]);
    assert_eq!(watch.count("location_health where review_at is not null").await, 3);
    let before = watch.count("probe_request").await;
    watch.report(0, monitors[5], 68, refused()).await;
    assert_eq!(watch.count("probe_request").await, before, "one extra wave, and the brake holds");
}

#[tokio::test]
async fn an_outage_of_what_is_probed_once_an_hour_is_known_within_seconds_of_its_first_probe() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("hourly").await;
    watch.channel("sink").await;
    sqlx::query("update monitor set interval_s = 3600").execute(watch.pool()).await.unwrap();
    sqlx::query("update monitor_live set config_rev = config_rev + 1")
        .execute(watch.pool())
        .await
        .unwrap();
    say(&mut watch, monitor, 0, [pass, pass, pass]).await;
    watch.report(0, monitor, 3_600, refused()).await;
    let (us, ap) = (watch.agents[1].location.0, watch.agents[2].location.0);
    assert_eq!(asked(&watch).await, [(us, 1), (ap, 1)], "nobody waits for the turn of the others");
    // They are quick, and each repeats its failed attempt after five seconds.
    for (location, second) in [(1, 3_601), (2, 3_601), (0, 3_605), (1, 3_606), (2, 3_606)] {
        watch.report(location, monitor, second, refused()).await;
    }
    while watch.triage.sweep(watch.at(3_606)).await.unwrap() {}
    assert_eq!(kinds(&watch).await, ["opened"]);
}
