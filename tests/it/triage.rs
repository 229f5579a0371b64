//! Deciding in the database: one transaction, nothing lost, nothing doubled.

use jiff::SignedDuration;
use quorate::{
    domain::observation::{Class, Outcome},
    triage::{Delivered, Refusal, Triage},
};

use crate::support::watch::{Watch, observation, pass, refused};

#[tokio::test]
async fn an_outage_is_told_once_and_its_end_once() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let channel = watch.channel("sink").await;
    watch
        .run(monitor, 0..800, |_, s| if (130..400).contains(&s) { refused() } else { pass() })
        .await;
    let told = watch.notices().await;
    assert_eq!(told, [("opened".to_owned(), channel), ("resolved".to_owned(), channel)]);
    let states: Vec<_> = watch.intervals(monitor).await;
    let names: Vec<&str> = states.iter().map(|(_, s, _)| s.as_str()).collect();
    assert_eq!(names, ["pending", "up", "down", "up"], "{states:?}");
    // The location whose turn comes first after 130 s is us, at 140 s; after 400 s it is eu, at 420 s,
    // or the retry of a failing one before.
    assert_eq!(states[2].0, 140, "dated back to the first fail");
    assert!((400..=425).contains(&states[3].0), "dated back to the first pass: {states:?}");
    let (started, ended, sentence): (i64, i64, String) = sqlx::query_as(
        "select extract(epoch from started_at - $1)::int8, extract(epoch from ended_at - $1)::int8, sentence
         from incident",
    )
    .bind(jiff_sqlx::Timestamp::from(watch.start))
    .fetch_one(watch.pool())
    .await
    .unwrap();
    assert_eq!((started, ended), (states[2].0, states[3].0), "incident and interval have one edge");
    assert!(!sentence.is_empty());
}

#[tokio::test]
async fn one_location_alone_or_silent_tells_nobody() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    watch.channel("sink").await;
    watch.run(monitor, 0..700, |l, s| if l == 1 && s >= 60 { refused() } else { pass() }).await;
    assert_eq!(watch.notices().await, []);
    let decisions: Vec<String> =
        sqlx::query_scalar("select sentence from decision order by decision_id")
            .fetch_all(watch.pool())
            .await
            .unwrap();
    assert!(decisions.len() >= 3, "it is kept why nothing was told: {decisions:?}");
    assert!(decisions.iter().all(|s| !s.is_empty()), "{decisions:?}");
}

#[tokio::test]
async fn a_batch_sent_twice_is_stored_once() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let now = watch.at(10);
    let before = watch.at(5);
    let batch = watch.agents[0].batch(now, [(monitor, before, pass()), (monitor, now, pass())]);
    let first = watch.triage.accept(&batch, now).await.unwrap();
    assert_eq!((first.accepted, first.duplicate), (2, 0));
    let again = Triage::new(watch.pool().clone()).accept(&batch, watch.at(11)).await.unwrap();
    assert_eq!((again.accepted, again.duplicate), (0, 2));
    assert_eq!(watch.count("report").await, 2);
}

#[tokio::test]
async fn what_cannot_be_used_is_settled_by_name_and_harms_nothing_else() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let now = watch.at(100);
    let stranger = quorate::store::id_at(now);
    let old = now - SignedDuration::from_hours(60 * 24);
    let (at_80, at_90) = (watch.at(80), watch.at(90));
    let ahead = now + SignedDuration::from_secs(3600);
    let mut batch = watch.agents[0].batch(
        now,
        [
            (monitor, at_90, pass()),
            (stranger, now, pass()),
            (monitor, ahead, pass()),
            (monitor, old, pass()),
            (monitor, at_80, pass()),
            (monitor, now, pass()),
        ],
    );
    batch.reports.push(Delivered { seq: 7, report: None });
    batch.reports[5].report.as_mut().unwrap().age_at_send_ms = f64::NAN;
    let settled = watch.triage.accept(&batch, now).await.unwrap();
    assert_eq!(settled.accepted, 2, "the good one and the one out of order are stored");
    assert_eq!(
        settled.rejected,
        [
            (2, Refusal::UnknownMonitor),
            (3, Refusal::Future),
            (4, Refusal::TooOld),
            (6, Refusal::BadReport),
            (7, Refusal::BadReport),
        ]
    );
    assert_eq!(watch.count("report").await, 2);
    let next = watch.report(0, monitor, 101, pass()).await;
    assert_eq!(next.duplicate, 1, "sequence 7 was settled, although it was bad");
    assert_eq!(watch.report(0, monitor, 102, pass()).await.accepted, 1);
}

#[tokio::test]
async fn failures_keep_their_evidence_and_passes_stay_narrow() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let mut seen = observation(Outcome::Fail, Some(Class::Status), Some(503));
    seen.evidence = Some(quorate::domain::observation::Evidence {
        body: Some("a NUL \0 in the body".to_owned()),
        ..Default::default()
    });
    watch.report(0, monitor, 1, pass()).await;
    watch.report(0, monitor, 2, seen).await;
    assert_eq!((watch.count("report").await, watch.count("report_detail").await), (2, 1));
    let body: String =
        sqlx::query_scalar("select detail -> 'evidence' ->> 'body' from report_detail")
            .fetch_one(watch.pool())
            .await
            .unwrap();
    assert_eq!(body, "a NUL \u{fffd} in the body");
}

/// Two coordinators take the reports of one outage at the same time, over and over: whatever the order
/// in which their transactions get the locks, there is one incident and one notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_coordinators_at_once_open_one_incident() {
    let mut watch = Watch::new().await;
    watch.channel("sink").await;
    let mut monitors = Vec::new();
    for i in 0..8 {
        monitors.push(watch.monitor(&format!("m{i}")).await);
    }
    let one = std::sync::Arc::new(Triage::new(watch.pool().clone()));
    let two = std::sync::Arc::new(Triage::new(watch.pool().clone()));
    for round in 0..3_i64 {
        for (phase, outcome) in [
            (0, pass()),
            (60, refused()),
            (65, refused()),
            (400, pass()),
            (410, pass()),
            (470, pass()),
            (540, pass()),
            (600, pass()),
        ] {
            let second = round * 4_000 + phase;
            let now = watch.at(second);
            let mut tasks = tokio::task::JoinSet::new();
            for (i, agent) in watch.agents.iter_mut().enumerate() {
                let list: Vec<_> = monitors.iter().map(|m| (*m, now, outcome.clone())).collect();
                let batch = agent.batch(now, list);
                let triage = if i % 2 == 0 { one.clone() } else { two.clone() };
                tasks.spawn(async move { triage.accept(&batch, now).await.unwrap() });
            }
            for triage in [one.clone(), two.clone()] {
                tasks.spawn(async move {
                    triage.sweep(now).await.unwrap();
                    quorate::triage::Settled::default()
                });
            }
            while let Some(done) = tasks.join_next().await {
                let settled = done.unwrap();
                assert_eq!((settled.duplicate, settled.rejected.len()), (0, 0));
            }
        }
    }
    let (incidents, open): (i64, i64) = sqlx::query_as(
        "select count(*), count(*) filter (where resolved_at is null) from incident",
    )
    .fetch_one(watch.pool())
    .await
    .unwrap();
    assert_eq!((incidents, open), (24, 0), "one incident per monitor and round, all ended");
    let told: Vec<(String, i64)> =
        sqlx::query_as("select kind, count(*) from notice group by kind order by kind")
            .fetch_all(watch.pool())
            .await
            .unwrap();
    assert_eq!(told, [("opened".to_owned(), 24), ("resolved".to_owned(), 24)]);
    let holes: i64 = sqlx::query_scalar(
        "select count(*) from (
             select to_at, lead(from_at) over (partition by monitor_id order by from_at) as next from monitor_state
         ) as s where next is distinct from to_at",
    )
    .fetch_one(watch.pool())
    .await
    .unwrap();
    assert_eq!(holes, 0, "every interval ends where the next one begins");
}

#[tokio::test]
async fn a_location_cut_off_fills_the_gap_it_left_when_it_delivers() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    watch.channel("sink").await;
    watch.run(monitor, 0..300, |_, _| pass()).await;
    // Everybody is cut off for 20 minutes, while the target is down for five.
    for second in 300..1500 {
        while watch.triage.sweep(watch.at(second)).await.unwrap() {}
    }
    let states = watch.intervals(monitor).await;
    assert_eq!(states.last().unwrap().1, "unknown", "{states:?}");
    let blind_from = states.last().unwrap().0;
    let now = watch.at(1500);
    let start = watch.start;
    for (i, agent) in watch.agents.iter_mut().enumerate() {
        let list: Vec<_> = (300..1500)
            .filter(|s| {
                (s - 20 * i as i64).rem_euclid(60) == 0
                    || (s - 5 - 20 * i as i64).rem_euclid(60) == 0
            })
            .map(|s| {
                let seen = if (700..1000).contains(&s) { refused() } else { pass() };
                (monitor, start + SignedDuration::from_secs(s), seen)
            })
            .collect();
        let batch = agent.batch(now, list);
        watch.triage.accept(&batch, now).await.unwrap();
    }
    watch.run(monitor, 1501..1700, |_, _| pass()).await;
    assert_eq!(watch.intervals(monitor).await.last().unwrap().1, "up");
    while watch.upkeep().refold(watch.at(1700)).await.unwrap() {}
    let states = watch.intervals(monitor).await;
    let late: Vec<(i64, &str)> = states
        .iter()
        .filter(|(.., late)| *late)
        .map(|(s, state, _)| (*s, state.as_str()))
        .collect();
    assert_eq!(late.first().map(|(_, s)| *s), Some("up"), "{states:?}");
    assert_eq!(late.first().unwrap().0, blind_from);
    let down = late.iter().find(|(_, s)| *s == "down").expect("the outage is found late");
    assert!((700..=740).contains(&down.0), "{states:?}");
    assert!(
        states.iter().all(|(_, s, _)| s != "unknown"),
        "nothing is unknown any more: {states:?}"
    );
    assert_eq!(watch.count("incident").await, 0, "nothing was opened by it");
    assert_eq!(watch.notices().await, [], "and nobody was told");
    assert_eq!(watch.count("monitor_revision").await, 1);
}

#[tokio::test]
async fn time_without_any_coordinator_is_unknown_and_forgiven_once() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    watch.channel("sink").await;
    let upkeep = watch.upkeep();
    for second in 0..120 {
        watch.run(monitor, second..second + 1, |_, _| pass()).await;
        upkeep.sweep(watch.at(second)).await.unwrap();
    }
    // An hour later a coordinator starts again; nobody has reported yet.
    upkeep.sweep(watch.at(3720)).await.unwrap();
    let gap: (i64, i64) = sqlx::query_as(
        "select extract(epoch from from_at - $1)::int8, extract(epoch from to_at - $1)::int8 from not_running",
    )
    .bind(jiff_sqlx::Timestamp::from(watch.start))
    .fetch_one(watch.pool())
    .await
    .unwrap();
    assert_eq!(gap, (119, 3720));
    for second in 3721..3780 {
        upkeep.sweep(watch.at(second)).await.unwrap();
    }
    assert_eq!(
        watch.intervals(monitor).await.last().unwrap().1,
        "up",
        "votes are forgiven their age"
    );
    assert_eq!(watch.notices().await, []);
}

#[tokio::test]
async fn roll_ups_equal_a_recount_and_late_reports_are_counted() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let upkeep = watch.upkeep();
    upkeep.roll_up(watch.start).await.unwrap();
    watch
        .run(monitor, 0..900, |l, s| if l == 0 && s % 300 == 0 { refused() } else { pass() })
        .await;
    while upkeep.roll_up(watch.at(1000)).await.unwrap() {}
    let sum = "select sum(runs)::int8, sum(passes)::int8, sum(fails)::int8, sum(events_ok + events_fail)::int8 from rollup_quarter";
    let first: (i64, i64, i64, i64) = sqlx::query_as(sum).fetch_one(watch.pool()).await.unwrap();
    assert_eq!(first.0, watch.count("report").await);
    assert_eq!(first.2, 3);
    // A report of that quarter that comes half an hour late.
    let now = watch.at(2700);
    let late = watch.at(450);
    let batch = watch.agents[2].batch(now, [(monitor, late, pass())]);
    watch.triage.accept(&batch, now).await.unwrap();
    while upkeep.roll_up(now).await.unwrap() {}
    let second: (i64, i64, i64, i64) = sqlx::query_as(
        "select sum(runs)::int8, sum(passes)::int8, sum(fails)::int8, sum(events_ok + events_fail)::int8
         from rollup_quarter where at = (select min(at) from rollup_quarter)",
    )
    .fetch_one(watch.pool())
    .await
    .unwrap();
    assert_eq!((second.0, second.1, second.2), (first.0 + 1, first.1 + 1, first.2));
}
