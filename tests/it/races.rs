//! What two coordinators, or a coordinator and somebody who edits, may do at the same moment. Each race
//! is brought about on purpose: one side stops at a lock that the test holds.

use jiff::{SignedDuration, Timestamp};
use quorate::{
    domain::{
        ids::MonitorKey,
        notice::NoticeKind::{Moved, Opened, Resolved},
        observation::RunKind,
    },
    notify::Fate,
    store::{self, outbox, wake::Change},
    triage::{Settled, Triage},
};
use serde_json::json;
use sqlx::{PgConnection, Row};

use crate::support::{
    api::{Api, text},
    delivery::World,
    hook_sink::{HookSink, Order},
    watch::{Watch, pass, refused},
    whole::until,
};

const LEASE_IS_OVER: std::time::Duration = std::time::Duration::from_secs(31);

async fn pid(conn: &mut PgConnection) -> i32 {
    sqlx::query_scalar("select pg_backend_pid()").fetch_one(conn).await.unwrap()
}

/// An edit's transaction ends without a commit; then another edit gets the revision that it had.
#[tokio::test]
async fn an_edit_that_was_given_up_is_not_remembered() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let key = watch.key(monitor).await;
    watch.run(monitor, 0..130, |_, _| pass()).await;
    let edit = async |conn: &mut PgConnection, policy: &str, triage: &Triage| {
        store::live::lock(conn, &[key.0]).await.unwrap();
        sqlx::query("update monitor set policy = $2::jsonb where monitor_id = $1")
            .bind(key.0)
            .bind(policy)
            .execute(&mut *conn)
            .await
            .unwrap();
        store::monitors::raise_config(conn, &[key.0]).await.unwrap();
        triage.edited(conn, key, watch.at(130)).await.unwrap();
    };
    let mut given_up = watch.pool().begin().await.unwrap();
    edit(&mut given_up, r#"{"confirm_for_s": 3600}"#, &watch.triage).await;
    given_up.rollback().await.unwrap();
    let mut tx = watch.pool().begin().await.unwrap();
    edit(&mut tx, r#"{"confirm_for_s": 0}"#, &Triage::new(watch.pool().clone())).await;
    tx.commit().await.unwrap();
    // Down for less than two minutes, after which it would be called partly down all the same.
    watch.run(monitor, 131..240, |_, _| refused()).await;
    assert_eq!(watch.count("incident").await, 1, "the hour of the edit given up does not hold");
}

/// A pause and its end, through coordinators whose clocks differ by a little.
#[tokio::test]
async fn a_clock_that_is_behind_does_not_rewrite_what_the_other_wrote() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let key = watch.key(monitor).await;
    watch.run(monitor, 0..130, |_, _| pass()).await;
    let behind = watch.at(130) - SignedDuration::from_millis(800);
    let mut tx = watch.pool().begin().await.unwrap();
    store::live::lock(&mut tx, &[key.0]).await.unwrap();
    watch.triage.pause(&mut tx, key, watch.at(130)).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = watch.pool().begin().await.unwrap();
    store::live::lock(&mut tx, &[key.0]).await.unwrap();
    watch.triage.edited(&mut tx, key, behind).await.unwrap();
    tx.commit().await.unwrap();
    let states = watch.intervals(monitor).await;
    let last: Vec<(i64, &str)> =
        states.iter().rev().take(2).map(|(second, state, _)| (*second, state.as_str())).collect();
    assert_eq!(last[0], (130, "pending"), "{states:?}");
    assert_eq!(last[1].1, "up", "{states:?}");
}

/// An agent that had no answer in time sends its batch again, to the other coordinator, while the first
/// is still at it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_that_both_have_at_once_is_stored_once() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let both = [(); 2].map(|()| std::sync::Arc::new(Triage::new(watch.pool().clone())));
    for round in 0..20 {
        let now = watch.at(round);
        let batch = watch.agents[0].batch(now, [(monitor, now, pass()), (monitor, now, refused())]);
        let mut taking = tokio::task::JoinSet::new();
        for triage in &both {
            let (triage, batch) = (triage.clone(), batch.clone());
            taking.spawn(async move { triage.accept(&batch, now).await.unwrap() });
        }
        let mut taken: Vec<Settled> = taking.join_all().await;
        taken.sort_by_key(|settled| settled.accepted);
        let counts: Vec<_> = taken.iter().map(|s| (s.accepted, s.duplicate)).collect();
        assert_eq!(counts, [(0, 2), (2, 0)]);
    }
    assert_eq!(watch.count("report").await, 40);
}

/// What marks a monitor for a refold holds its lock; so does who refolds, before the mark is touched.
#[tokio::test]
async fn a_refold_waits_for_the_monitor_before_it_takes_the_mark() {
    let watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let key = watch.key(monitor).await;
    let upkeep = watch.upkeep();
    let (from, to, now) = (watch.at(10), watch.at(20), watch.at(100));
    let mut tx = watch.pool().begin().await.unwrap();
    store::chores::mark_refold(&mut tx, key, from, to, watch.at(30)).await.unwrap();
    tx.commit().await.unwrap();
    let mut taking = watch.pool().begin().await.unwrap();
    store::live::lock(&mut taking, &[key.0]).await.unwrap();
    let refold = tokio::spawn(async move { upkeep.refold(now).await.unwrap() });
    let holder = pid(&mut taking).await;
    watch.db.somebody_waits_for(holder).await;
    // As a late batch does under the lock.
    store::chores::mark_refold(&mut taking, key, watch.at(25), watch.at(26), now).await.unwrap();
    taking.commit().await.unwrap();
    assert!(refold.await.unwrap(), "there may be more");
    assert_eq!(watch.count("refold_due").await, 1, "it waits until the late reports are all there");
    assert!(watch.upkeep().refold(watch.at(200)).await.unwrap());
    assert_eq!(watch.count("refold_due").await, 0);
}

/// A window cut short wakes every monitor in trouble, in the order in which batches lock them.
#[tokio::test]
async fn waking_monitors_locks_them_in_their_order() {
    let watch = Watch::new().await;
    for name in ["a", "b", "c"] {
        watch.monitor(name).await;
    }
    let keys: Vec<i32> = sqlx::query_scalar("select monitor_id from monitor order by monitor_id")
        .fetch_all(watch.pool())
        .await
        .unwrap();
    // An update puts the first behind the others on the page.
    sqlx::query("update monitor_live set since_at = since_at where monitor_id = $1")
        .bind(keys[0])
        .execute(watch.pool())
        .await
        .unwrap();
    let mut batch = watch.pool().begin().await.unwrap();
    store::live::lock(&mut batch, &keys[..1]).await.unwrap();
    let (pool, now) = (watch.pool().clone(), watch.at(5));
    let waking = tokio::spawn(async move {
        let mut tx = pool.begin().await.unwrap();
        store::live::wake_troubled(&mut tx, now, 1).await.unwrap();
        tx.commit().await.unwrap();
    });
    let holder = pid(&mut batch).await;
    watch.db.somebody_waits_for(holder).await;
    store::live::lock(&mut batch, &keys[1..]).await.unwrap();
    batch.commit().await.unwrap();
    waking.await.unwrap();
    let woken: i64 = sqlx::query_scalar("select count(*) from monitor_live where wake_at = $1")
        .bind(jiff_sqlx::Timestamp::from(now))
        .fetch_one(watch.pool())
        .await
        .unwrap();
    assert_eq!(woken, 3);
}

/// Deleting a location moves every monitor that looked from it: all are locked before the agents are
/// told of the first, however many there are.
#[tokio::test]
async fn a_location_that_goes_holds_all_its_monitors_before_it_tells() {
    let api = Api::start().await;
    let (gone, _) = api.location("eu").await;
    api.location("us").await;
    let now = api.clock.now();
    sqlx::raw_sql(
        "insert into monitor (uid, name, check_spec, interval_s, timeout_ms, locations, policy, enabled, created_at, updated_at)
         select gen_random_uuid(), 'm' || n, '{\"kind\":\"http\",\"url\":\"https://m.example/\"}', 60, 10000, '\"all\"', '{}',
                false, now(), now() from generate_series(1, 1001) as n;
         insert into monitor_location select monitor_id, location_id, location_id from monitor, location;
         insert into monitor_live (monitor_id, live, state, since_at) select monitor_id, '{}', 6, now() from monitor;",
    )
    .execute(api.db.pool())
    .await
    .unwrap();
    let last: i32 = sqlx::query_scalar("select max(monitor_id) from monitor")
        .fetch_one(api.db.pool())
        .await
        .unwrap();
    let mut batch = api.db.pool().begin().await.unwrap();
    store::live::lock(&mut batch, &[last]).await.unwrap();
    let holder = pid(&mut batch).await;
    let path = format!("locations/{gone}");
    let reports = async {
        api.db.somebody_waits_for(holder).await;
        let change = Change::Monitor(MonitorKey(last));
        store::wake::change(&mut batch, &[change], now).await.unwrap();
        batch.commit().await.unwrap();
    };
    let (deleted, ()) = tokio::join!(api.delete(&path), reports);
    deleted.is(204);
    let left: i64 = sqlx::query_scalar("select count(*) from monitor_location")
        .fetch_one(api.db.pool())
        .await
        .unwrap();
    assert_eq!(left, 1001);
}

/// Its reports were on the way when the location was deleted: they are kept, and decide nothing.
#[tokio::test]
async fn reports_of_a_location_that_is_going_have_no_vote() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let key = watch.key(monitor).await;
    watch.run(monitor, 0..130, |_, _| pass()).await;
    let now = watch.at(131);
    let batch = watch.agents[2].batch(now, [(monitor, now, refused())]);
    let gone = watch.agents[2].location;
    let triage = Triage::new(watch.pool().clone());
    // It remembers the settings from before.
    let before = watch.at(130);
    let known = watch.agents[0].batch(before, [(monitor, before, pass())]);
    triage.accept(&known, before).await.unwrap();
    let mut deleting = watch.pool().begin().await.unwrap();
    store::live::lock(&mut deleting, &[key.0]).await.unwrap();
    let holder = pid(&mut deleting).await;
    let taking = tokio::spawn(async move { triage.accept(&batch, now).await.unwrap() });
    watch.db.somebody_waits_for(holder).await;
    let rest = [watch.agents[0].location.0, watch.agents[1].location.0];
    store::monitors::set_locations(&mut deleting, &[key.0], &[key.0; 2], &rest, &[0, 1])
        .await
        .unwrap();
    store::locations::delete(&mut deleting, gone, now).await.unwrap();
    Triage::new(watch.pool().clone()).edited(&mut deleting, key, now).await.unwrap();
    deleting.commit().await.unwrap();
    assert_eq!(taking.await.unwrap().accepted, 1);
    let row = sqlx::query(
        "select live, (select count(*) from report where disposition = 8) from monitor_live",
    )
    .fetch_one(watch.pool())
    .await
    .unwrap();
    let live: quorate::domain::decision::Live =
        serde_json::from_str(row.get::<&str, _>(0)).unwrap();
    assert!(live.votes.iter().all(|vote| vote.location != gone), "{:?}", live.votes);
    assert_eq!(row.get::<i64, _>(1), 1, "kept as history, of no configured location");
}

/// Somebody acknowledges at the moment of the resolve: it is over, and nobody is at it.
#[tokio::test]
async fn an_incident_that_resolves_first_cannot_be_acknowledged() {
    let api = Api::start().await;
    api.location("eu").await;
    api.monitor("shop").await;
    let now = api.clock.now();
    let incident = store::id_at(now);
    let mut conn = api.db.pool().acquire().await.unwrap();
    let key: i32 =
        sqlx::query_scalar("select monitor_id from monitor").fetch_one(&mut *conn).await.unwrap();
    let new = store::incidents::NewIncident {
        incident,
        monitor: MonitorKey(key),
        subject: "monitor:shop".to_owned(),
        severity: "down",
        started_at: now,
        opened_at: now,
        low: false,
        suppressed: false,
        sentence: "It fails.".to_owned(),
        evidence: json!({}),
    };
    store::incidents::open(&mut conn, &new).await.unwrap();
    let mut resolving = api.db.pool().begin().await.unwrap();
    store::live::lock(&mut resolving, &[key]).await.unwrap();
    let holder = pid(&mut resolving).await;
    let path = format!("incidents/{incident}/ack");
    let resolve = async {
        api.db.somebody_waits_for(holder).await;
        let reason = Some("recovered");
        store::incidents::resolve(&mut resolving, MonitorKey(key), incident, now, now, reason)
            .await
            .unwrap();
        resolving.commit().await.unwrap();
    };
    let (refused, ()) = tokio::join!(api.post(&path, json!(null)), resolve);
    let said = refused.is(409);
    assert!(text(&said["error"]["message"]).contains("over"), "{said}");
    let shown = api.get(&format!("incidents/{incident}")).await.is(200);
    assert_eq!((&shown["acked_at"], &shown["events"]), (&json!(null), &json!([])));
}

/// A channel is switched off while a sender takes the first of its notices: who has one keeps it, the
/// rest is dropped, and neither waits for the other.
#[tokio::test]
async fn what_is_being_claimed_is_left_to_its_claimer_and_the_rest_is_dropped() {
    let world = World::new(None).await;
    let channel = world.webhook("http://192.0.2.1/").await;
    let ids = world.queue(1, channel, &[Opened, Resolved]).await;
    let now = world.clock.now();
    let mut claiming = world.pool().begin().await.unwrap();
    let lease = now + SignedDuration::from_secs(30);
    let claimed =
        outbox::claim(&mut claiming, now, lease, store::id_at(now), 4).await.unwrap().unwrap();
    assert_eq!(claimed.notice, ids[0]);
    let mut dropping = world.pool().begin().await.unwrap();
    // Waiting would be for ever, because nobody is there to let it go.
    sqlx::query("set local lock_timeout = '5s'").execute(&mut *dropping).await.unwrap();
    assert_eq!(outbox::drop_unsent(&mut dropping, channel, "off", now).await.unwrap(), 1);
    let holder = pid(&mut dropping).await;
    let behind = tokio::spawn(async move {
        let behind = outbox::waiting_behind(&mut claiming, &claimed).await.unwrap();
        claiming.commit().await.unwrap();
        behind
    });
    world.db.somebody_waits_for(holder).await;
    dropping.commit().await.unwrap();
    assert_eq!(behind.await.unwrap(), [], "its end was dropped, so it cannot be told with it");
    assert_eq!(world.outcomes(1).await, ["-", "dropped"]);
}

/// A sending outlives its lease, its channel is deleted, and the answer comes: both get through.
#[tokio::test]
async fn a_channel_deleted_while_its_notice_is_settled_stops_neither() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    world.queue(1, channel, &[Opened]).await;
    sink.order([Order::Hold]);
    let sending = tokio::spawn({
        let (notifier, now) = (world.notifier.clone(), world.clock.now());
        async move { notifier.deliver_next(now).await.unwrap().unwrap() }
    });
    sink.next().await;
    world.clock.advance(LEASE_IS_OVER);
    let now = world.clock.now();
    let mut deleting = world.pool().begin().await.unwrap();
    assert!(store::channels::delete(&mut deleting, channel, now).await.unwrap());
    sink.release(1);
    let holder = pid(&mut deleting).await;
    world.db.somebody_waits_for(holder).await;
    assert_eq!(outbox::drop_unsent(&mut deleting, channel, "deleted", now).await.unwrap(), 0);
    deleting.commit().await.unwrap();
    assert_eq!(sending.await.unwrap().fate, Fate::Delivered);
    assert_eq!(world.outcomes(1).await, ["delivered"]);
}

/// What was being sent when its channel was deleted, and has to be sent again, is not.
#[tokio::test]
async fn a_repeat_through_a_channel_deleted_meanwhile_is_dropped() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    world.queue(1, channel, &[Opened, Moved]).await;
    sink.order([Order::Hold]);
    let doomed = tokio::spawn({
        let (notifier, now) = (world.notifier.clone(), world.clock.now());
        async move { notifier.deliver_next(now).await }
    });
    sink.next().await;
    let mut conn = world.conn().await;
    let now = world.clock.now();
    assert!(store::channels::delete(&mut conn, channel, now).await.unwrap());
    let dropped = outbox::drop_unsent(&mut conn, channel, "deleted", now).await.unwrap();
    doomed.abort();
    let _ = doomed.await;
    world.clock.advance(LEASE_IS_OVER);
    assert!(world.step().await.is_none());
    assert_eq!(world.outcomes(1).await, ["dropped", "dropped"]);
    assert_eq!(dropped, 1, "the one that waited; the other was left to its sender");
    assert!(sink.drain().is_empty());
}

/// A late retry belongs to its own quarter hour and to the one in which its run began.
#[tokio::test]
async fn a_late_retry_is_counted_in_its_own_quarter_too() {
    let mut watch = Watch::new().await;
    let monitor = watch.monitor("checkout").await;
    let upkeep = watch.upkeep();
    upkeep.roll_up(watch.start).await.unwrap();
    watch.run(monitor, 0..1800, |_, _| pass()).await;
    while upkeep.roll_up(watch.at(2000)).await.unwrap() {}
    let runs = async |watch: &Watch, second: i64| -> (i64, i64) {
        sqlx::query_as("select sum(runs)::int8, sum(fails)::int8 from rollup_quarter where at = $1")
            .bind(jiff_sqlx::Timestamp::from(watch.at(second)))
            .fetch_one(watch.pool())
            .await
            .unwrap()
    };
    let before = (runs(&watch, 0).await, runs(&watch, 900).await);
    let now: Timestamp = watch.at(2700);
    let late = watch.at(1100);
    let mut batch = watch.agents[0].batch(now, [(monitor, late, refused())]);
    batch.reports[0].report.as_mut().unwrap().kind = RunKind::Retry;
    watch.triage.accept(&batch, now).await.unwrap();
    while upkeep.roll_up(now).await.unwrap() {}
    let after = (runs(&watch, 0).await, runs(&watch, 900).await);
    assert_eq!(after.0, before.0);
    assert_ne!(after.1, before.1, "the quarter of the retry was counted again");
}

/// Everybody was cut off and delivers at once, to two coordinators that refold and sweep meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refolds_and_sweeps_of_two_coordinators_fill_a_gap_once() {
    let mut watch = Watch::new().await;
    let mut monitors = Vec::new();
    for name in ["a", "b", "c", "d"] {
        monitors.push(watch.monitor(name).await);
    }
    for second in (0..300).step_by(20) {
        let now = watch.at(second);
        for agent in &mut watch.agents {
            let batch = agent.batch(now, monitors.iter().map(|m| (*m, now, pass())));
            watch.triage.accept(&batch, now).await.unwrap();
        }
    }
    for second in 300..1500 {
        while watch.triage.sweep(watch.at(second)).await.unwrap() {}
    }
    let start = watch.start;
    let mut work = tokio::task::JoinSet::new();
    for agent in &mut watch.agents {
        // In pieces, as a spool is delivered: each marks the monitors anew.
        let pieces: Vec<_> = (300..1500)
            .step_by(20)
            .collect::<Vec<i64>>()
            .chunks(10)
            .map(|seconds| {
                let now = start + SignedDuration::from_secs(1500);
                let seen = |s: i64| if (700..1000).contains(&s) { refused() } else { pass() };
                let list: Vec<_> = seconds
                    .iter()
                    .flat_map(|s| {
                        let at = start + SignedDuration::from_secs(*s);
                        monitors.iter().map(move |m| (*m, at, seen(*s)))
                    })
                    .collect();
                agent.batch(now, list)
            })
            .collect();
        let triage = Triage::new(watch.db.pool().clone());
        work.spawn(async move {
            for (piece, second) in pieces.iter().zip(1500..) {
                let now = start + SignedDuration::from_secs(second);
                triage.accept(piece, now).await.unwrap();
            }
        });
    }
    for _ in 0..2 {
        let upkeep = watch.upkeep();
        work.spawn(async move {
            for second in 1500..1560 {
                let now = start + SignedDuration::from_secs(second);
                upkeep.triage.sweep(now).await.unwrap();
                upkeep.refold(now + SignedDuration::from_secs(20)).await.unwrap();
            }
        });
    }
    while let Some(done) = work.join_next().await {
        done.unwrap();
    }
    while watch.upkeep().refold(watch.at(1700)).await.unwrap() {}
    let first = watch.intervals(monitors[0]).await;
    let late: Vec<&str> =
        first.iter().filter(|(.., late)| *late).map(|(_, state, _)| state.as_str()).collect();
    assert!(late.contains(&"down"), "{first:?}");
    let holes: i64 = sqlx::query_scalar(
        "select count(*) from (
             select to_at, lead(from_at) over (partition by monitor_id order by from_at) as next from monitor_state
         ) as s where next is distinct from to_at",
    )
    .fetch_one(watch.pool())
    .await
    .unwrap();
    assert_eq!(holes, 0, "{first:?}");
    assert_eq!(watch.count("incident").await, 0);
    until("nothing is left to refold", async || {
        (watch.count("refold_due").await == 0).then_some(())
    })
    .await;
}
