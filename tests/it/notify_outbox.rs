//! The outbox: nothing lost, nothing doubled, in order, whoever dies or dawdles.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use quorate::{
    domain::{
        channel::ChannelKind,
        ids::MonitorKey,
        notice::{
            NoticeKind::{
                AfterMaintenance, FlapEnd, FlapStart, Moved, Opened, Reminder, Reopened, Resolved,
            },
            Told,
        },
    },
    notify::Fate,
    store::{
        self,
        outbox::{self, Claimed},
    },
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{
    delivery::{KEY, World, notifier, settings},
    hook_sink::{HookSink, Order},
};

const LEASE_IS_OVER: Duration = Duration::from_secs(31);

/// What arrives while nothing but the present instant is due.
async fn steps_of(world: &World, sink: &mut HookSink) -> Vec<Value> {
    world.steps().await;
    sink.drain().iter().map(|one| one.json()).collect()
}

#[tokio::test]
async fn one_incident_goes_to_one_channel_in_order_and_others_do_not_wait() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    let other_channel = world.webhook(&sink.url).await;
    sink.order([Order::Answer(500, "", "")]);
    let first = world.queue(1, channel, &[Opened, Moved]).await;
    let same_channel = world.queue(2, channel, &[Opened]).await;
    let same_incident = world.queue(1, other_channel, &[Opened]).await;
    let fates: Vec<Uuid> = world.steps().await.into_iter().map(|one| one.notice).collect();
    assert_eq!(fates, [first[0], same_channel[0], same_incident[0]], "the move waits");
    world.clock.advance(Duration::from_secs(10));
    let fates: Vec<Uuid> = world.steps().await.into_iter().map(|one| one.notice).collect();
    assert_eq!(fates, first);
    assert_eq!(sink.drain().len(), 5);
}

/// Died between sending and settling: the lease runs out, and the same id goes out again.
#[tokio::test]
async fn a_death_between_sending_and_settling_repeats_the_same_id() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    let ids = world.queue(1, channel, &[Opened, Moved]).await;
    sink.order([Order::Hold]);
    let doomed = tokio::spawn({
        let (notifier, now) = (world.notifier.clone(), world.clock.now());
        async move { notifier.deliver_next(now).await }
    });
    assert_eq!(sink.next().await.id(), ids[0].to_string());
    doomed.abort();
    assert!(doomed.await.unwrap_err().is_cancelled());
    assert!(world.step().await.is_none(), "under lease; the move waits behind it");
    world.clock.advance(LEASE_IS_OVER);
    assert_eq!(world.steps().await.len(), 2);
    let again: Vec<String> = sink.drain().iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(again, ids.iter().map(Uuid::to_string).collect::<Vec<_>>());
    assert_eq!(world.outcomes(1).await, ["delivered", "delivered"]);
}

#[tokio::test]
async fn a_sender_that_outlives_its_lease_cannot_settle_anothers_attempt() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    world.queue(1, channel, &[Opened]).await;
    sink.order([Order::Hold, Order::Answer(500, "", "busy")]);
    let slow = tokio::spawn({
        let (notifier, now) = (world.notifier.clone(), world.clock.now());
        async move { notifier.deliver_next(now).await.unwrap().unwrap() }
    });
    sink.next().await;
    world.clock.advance(LEASE_IS_OVER);
    let second = world.step().await.unwrap();
    assert!(matches!(second.fate, Fate::Again(_)), "{second:?}");
    sink.release(1);
    assert_eq!(slow.await.unwrap().fate, Fate::Lost);
    let row = &world.notices(1).await[0];
    assert_eq!((row.outcome.as_deref(), row.attempts), (None, 2));
    assert!(row.answer.as_ref().unwrap().contains("busy"));
    assert_eq!(world.notifier.counts().lost_leases, 1);
}

/// Two processes, as it were: two pools, two notifiers, many notices, each exactly once and in order.
#[tokio::test]
async fn two_coordinators_at_once_never_double_and_keep_the_order() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let mut expected: BTreeMap<String, usize> = BTreeMap::new();
    let mut order: HashMap<u128, Vec<String>> = HashMap::new();
    let channels = [world.webhook(&sink.url).await, world.webhook(&sink.url).await];
    for incident in 1..=40 {
        let channel = channels[incident as usize % 2];
        let ids = world.queue(incident, channel, &[Opened, Moved, FlapStart, Moved]).await;
        let ids: Vec<String> = ids.iter().map(Uuid::to_string).collect();
        expected.extend(ids.iter().map(|id| (id.clone(), 1)));
        order.insert(incident, ids);
    }
    let stop = CancellationToken::new();
    let running: Vec<_> = (0..2)
        .map(|_| {
            let pool = store::pool(world.db.options(), 12);
            let notifier = notifier(pool, &world.clock, KEY, settings());
            (notifier.clone(), tokio::spawn(notifier.run(stop.clone())))
        })
        .collect();
    let mut received = Vec::new();
    while received.len() < expected.len() {
        received.push(sink.next().await);
    }
    stop.cancel();
    let mut delivered = 0;
    for (notifier, run) in running {
        run.await.unwrap();
        delivered += notifier.counts().delivered;
    }
    received.extend(sink.drain());
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for one in &received {
        *seen.entry(one.id().to_owned()).or_default() += 1;
    }
    assert_eq!(seen, expected);
    assert_eq!(delivered, expected.len() as u64);
    for ids in order.values() {
        let came: Vec<&str> = received
            .iter()
            .map(|one| one.id())
            .filter(|id| ids.iter().any(|known| known == id))
            .collect();
        assert_eq!(came, *ids);
    }
}

/// The clock stands still, so no poll happens: only the word of the commit can have woken it.
#[tokio::test]
async fn a_commit_wakes_the_sender() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    let stop = CancellationToken::new();
    let run = tokio::spawn(world.notifier.clone().run(stop.clone()));
    // The first shows that it runs, the second can only be heard.
    world.queue(1, channel, &[Opened]).await;
    sink.next().await;
    world.queue(2, channel, &[Opened]).await;
    sink.next().await;
    stop.cancel();
    run.await.unwrap();
    assert_eq!(world.outcomes(2).await, ["delivered"], "what was under way was settled");
}

#[tokio::test]
async fn a_repeat_that_comes_due_is_found_by_the_poll() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    sink.order([Order::Answer(500, "", "")]);
    let ids = world.queue(1, channel, &[Opened]).await;
    assert!(matches!(world.step().await.unwrap().fate, Fate::Again(_)));
    sink.next().await;
    let stop = CancellationToken::new();
    let run = tokio::spawn(world.notifier.clone().run(stop.clone()));
    world.clock.advance(Duration::from_secs(10));
    assert_eq!(sink.next().await.id(), ids[0].to_string());
    stop.cancel();
    run.await.unwrap();
}

#[tokio::test]
async fn a_receiver_that_hangs_does_not_take_all_workers() {
    let mut hanging = HookSink::start().await;
    hanging.always(Order::Silence);
    let mut sink = HookSink::start().await;
    let world = World::with(|settings| settings.workers = 6).await;
    let bad = world.webhook(&hanging.url).await;
    let good = world.webhook(&sink.url).await;
    for incident in 1..=20 {
        world.queue(incident, bad, &[Opened]).await;
    }
    world.queue(100, good, &[Opened]).await;
    let run = tokio::spawn(world.notifier.clone().run(CancellationToken::new()));
    sink.next().await;
    for _ in 0..4 {
        hanging.next().await;
    }
    world.queue(101, good, &[Opened]).await;
    sink.next().await;
    assert!(hanging.drain().is_empty(), "four at once, and no more");
    run.abort();
}

#[tokio::test]
async fn an_incident_that_is_over_before_it_could_be_told_is_told_once() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    let ids = world.queue(1, channel, &[Opened, Moved, Resolved]).await;
    let deliveries = world.steps().await;
    assert_eq!(deliveries.len(), 1);
    let received = sink.next().await;
    assert_eq!(received.id(), ids[2].to_string(), "the end keeps its own id");
    let json = received.json();
    assert_eq!(
        (&json["type"], &json["data"]["collapsed"]),
        (&json!("incident.resolved"), &json!(true))
    );
    let headline = json["data"]["headline"].as_str().unwrap();
    assert_eq!(headline, "checkout was down for 1\u{a0}min, and is up again.");
    assert_eq!(world.outcomes(1).await, ["collapsed", "collapsed", "delivered"]);
    assert_eq!(world.notifier.counts().collapsed, 2);
    // What comes after the end is told as it is.
    world.queue(2, channel, &[Opened, Resolved, Reopened]).await;
    world.steps().await;
    let kinds: Vec<_> = sink.drain().iter().map(|one| one.json()["type"].clone()).collect();
    assert_eq!(kinds, ["incident.resolved", "incident.reopened"]);
    // So is a repeat after refusals: nobody heard of it yet.
    sink.order([Order::Answer(500, "", "")]);
    world.queue(3, channel, &[AfterMaintenance]).await;
    world.step().await.unwrap();
    world.queue(3, channel, &[FlapEnd]).await;
    world.clock.advance(Duration::from_secs(10));
    world.steps().await;
    let kinds: Vec<_> = sink.drain().iter().map(|one| one.json()["type"].clone()).collect();
    assert_eq!(kinds, ["incident.opened", "incident.resolved"]);
    assert_eq!(world.outcomes(3).await, ["collapsed", "delivered"]);
}

/// A coordinator that was away, or a receiver that was, makes up for nothing that is over.
#[tokio::test]
async fn nobody_is_reminded_of_what_the_next_word_says_is_over() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let server = sink.url.split("hook").next().unwrap();
    let key = "0123456789abcdef0123456789abcdef";
    let pager = json!({ "routing_key": key, "server": server });
    let (pager, _) = world.channel(ChannelKind::PagerDuty, pager).await;
    let hook = world.webhook(&sink.url).await;
    for (incident, channel) in [(1, hook), (2, pager)] {
        world.queue(incident, channel, &[Opened]).await;
        world.steps().await;
        world.queue(incident, channel, &[Reminder]).await;
        world.steps().await;
        assert_eq!(sink.drain().len(), 2, "what is not over is reminded of");
        world.queue(incident, channel, &[Reminder, Moved, Reminder, Resolved]).await;
        let came: Vec<Value> = steps_of(&world, &mut sink).await;
        let word = |one: &Value| one.get("type").or(one.get("event_action")).cloned().unwrap();
        let words: Vec<Value> = came.iter().map(word).collect();
        match incident {
            1 => assert_eq!(words, ["incident.moved", "incident.resolved"]),
            _ => assert_eq!(words, ["trigger", "resolve"]),
        }
        assert_eq!(
            came.last().unwrap().pointer("/data/collapsed").unwrap_or(&json!(false)),
            &json!(false)
        );
        let outcomes = world.outcomes(incident).await;
        assert_eq!(outcomes[2..], ["dropped", "delivered", "dropped", "delivered"]);
    }
    // One that may have arrived stands before its end.
    world.queue(3, hook, &[Opened]).await;
    world.steps().await;
    sink.drain();
    world.queue(3, hook, &[Reminder]).await;
    sink.order([Order::Hold]);
    let doomed = tokio::spawn({
        let (notifier, now) = (world.notifier.clone(), world.clock.now());
        async move { notifier.deliver_next(now).await }
    });
    sink.next().await;
    doomed.abort();
    let _ = doomed.await;
    world.queue(3, hook, &[Resolved]).await;
    world.clock.advance(LEASE_IS_OVER);
    let came = steps_of(&world, &mut sink).await;
    let kinds: Vec<&Value> = came.iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["incident.reminder", "incident.resolved"]);
}

/// A collapsed end that fails once still says so the second time.
#[tokio::test]
async fn a_collapsed_end_stays_collapsed_on_its_repeat() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    sink.order([Order::Answer(500, "", "")]);
    world.queue(1, channel, &[Opened, Resolved]).await;
    assert!(matches!(world.step().await.unwrap().fate, Fate::Again(_)));
    world.clock.advance(Duration::from_secs(10));
    assert_eq!(world.steps().await.len(), 1);
    let received = sink.drain();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].body, received[1].body);
    assert_eq!(received[0].id(), received[1].id());
}

/// When nobody knows whether the beginning arrived, it is repeated rather than folded into the end.
#[tokio::test]
async fn a_beginning_that_may_have_arrived_is_not_collapsed() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let channel = world.webhook(&sink.url).await;
    let ids = world.queue(1, channel, &[Opened]).await;
    sink.order([Order::Hold]);
    let doomed = tokio::spawn({
        let (notifier, now) = (world.notifier.clone(), world.clock.now());
        async move { notifier.deliver_next(now).await }
    });
    sink.next().await;
    doomed.abort();
    let _ = doomed.await;
    let end = world.queue(1, channel, &[Resolved]).await;
    world.clock.advance(LEASE_IS_OVER);
    world.steps().await;
    let came: Vec<String> = sink.drain().iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(came, [ids[0].to_string(), end[0].to_string()]);
}

#[tokio::test]
async fn who_was_told_is_read_from_the_queue() {
    let sink = HookSink::start().await;
    let world = World::new(None).await;
    let told = async |incident: u128| {
        let incident = Uuid::from_u128(incident);
        outbox::told(&mut *world.conn().await, MonitorKey(1), incident).await.unwrap()
    };
    let channel = world.webhook(&sink.url).await;
    assert_eq!(told(1).await, []);
    world.queue(1, channel, &[Opened]).await;
    assert_eq!(told(1).await, [Told { channel, open: true }], "queued counts");
    world.queue(1, channel, &[Moved, Resolved]).await;
    assert_eq!(told(1).await, [Told { channel, open: false }]);
    world.steps().await;
    assert_eq!(told(1).await, [Told { channel, open: false }], "collapsed counts");
    world.queue(2, channel, &[Opened]).await;
    let mut conn = world.conn().await;
    let now = world.clock.now();
    assert_eq!(outbox::drop_unsent(&mut conn, channel, "switched off", now).await.unwrap(), 1);
    assert_eq!(told(2).await, [], "what was dropped was never heard");
}

#[tokio::test]
async fn a_channel_that_is_off_or_deleted_is_sent_nothing() {
    let mut sink = HookSink::start().await;
    let world = World::new(None).await;
    let now = world.clock.now();
    let off = world.webhook(&sink.url).await;
    let deleted = world.webhook(&sink.url).await;
    world.queue(1, off, &[Opened]).await;
    world.queue(2, deleted, &[Opened]).await;
    let mut conn = world.conn().await;
    store::channels::disable(&mut conn, off, "by hand", now).await.unwrap();
    assert!(store::channels::delete(&mut conn, deleted, now).await.unwrap());
    assert!(world.step().await.is_none());
    assert_eq!(world.outcomes(1).await, ["dropped"]);
    assert_eq!(world.outcomes(2).await, ["dropped"]);
    assert!(sink.drain().is_empty());
    let backlog = outbox::backlog(&mut conn, now).await.unwrap();
    assert_eq!((backlog.unsettled, backlog.oldest_untried), (0, None));
}

#[tokio::test]
async fn the_backlog_counts_what_waits_and_since_when() {
    let world = World::new(None).await;
    let (channel, _) =
        world.channel(ChannelKind::Webhook, json!({ "url": "http://192.0.2.1/" })).await;
    let began = world.clock.now();
    world.queue(1, channel, &[Opened, Moved]).await;
    world.clock.advance(Duration::from_secs(90));
    let mut conn = world.conn().await;
    let backlog = outbox::backlog(&mut conn, world.clock.now()).await.unwrap();
    assert_eq!((backlog.unsettled, backlog.oldest_untried), (2, Some(began)));
}

/// What a random caller may do to the outbox.
#[derive(Debug, Clone)]
enum Act {
    /// Queue a notice of this incident for this channel.
    Queue(u8, u8),
    Claim,
    /// Settle the nth claim that is still held, or give it back due in so many seconds.
    Settle(usize),
    GiveBack(usize, u8),
    /// Time passes.
    Pass(u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..3u8, 0..2u8).prop_map(|(incident, channel)| Act::Queue(incident, channel)),
        4 => Just(Act::Claim),
        2 => any::<usize>().prop_map(Act::Settle),
        2 => (any::<usize>(), 0..40u8).prop_map(|(nth, secs)| Act::GiveBack(nth, secs)),
        1 => (0..40u8).prop_map(Act::Pass),
    ]
}

/// The same outbox as plain data.
#[derive(Default)]
struct Model {
    rows: Vec<ModelRow>,
}

struct ModelRow {
    notice: Uuid,
    pair: (u8, u8),
    due: Timestamp,
    leased_until: Option<Timestamp>,
    owner: Option<Uuid>,
    attempts: u32,
    settled: bool,
}

impl Model {
    /// The row that a claim must take: not under lease, due, first of its pair, its channel not
    /// holding `per_channel` leases; first attempts first, then by due time, then by age.
    fn next(&self, now: Timestamp, per_channel: usize) -> Option<usize> {
        let leased = |row: &ModelRow| row.leased_until.is_some_and(|until| until > now);
        let held = |channel: u8| {
            self.rows.iter().filter(|row| row.pair.1 == channel && leased(row)).count()
        };
        (0..self.rows.len())
            .filter(|&at| {
                let row = &self.rows[at];
                let waits = self.rows[..at].iter().any(|e| e.pair == row.pair && !e.settled);
                !row.settled
                    && !leased(row)
                    && row.due <= now
                    && !waits
                    && held(row.pair.1) < per_channel
            })
            .min_by_key(|&at| (self.rows[at].attempts > 0, self.rows[at].due, at))
    }
}

#[test]
fn claims_are_those_of_a_plain_model() {
    const PER_CHANNEL: i64 = 2;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::new(None).await;
        let channels =
            [world.webhook("http://192.0.2.1/").await, world.webhook("http://192.0.2.1/").await];
        let mut cases = 0;
        let mut runner = TestRunner::new(ProptestConfig { cases: 48, ..ProptestConfig::default() });
        let strategy = prop::collection::vec(act(), 1..60);
        for _ in 0..runner.config().cases {
            let acts = strategy.new_tree(&mut runner).unwrap().current();
            // Every case has incidents of its own; what earlier cases left is settled.
            cases += 1;
            run_case(&world, &channels, cases, &acts, PER_CHANNEL).await;
            let mut conn = world.conn().await;
            world.clock.advance(LEASE_IS_OVER);
            for channel in channels {
                outbox::drop_unsent(&mut conn, channel, "end of case", world.clock.now())
                    .await
                    .unwrap();
            }
        }
    });
}

async fn run_case(world: &World, channels: &[Uuid; 2], case: u128, acts: &[Act], per_channel: i64) {
    let mut model = Model::default();
    let mut held: Vec<Claimed> = Vec::new();
    for act in acts {
        let now = world.clock.now();
        let mut conn = world.conn().await;
        match act {
            Act::Queue(incident, channel) => {
                let number = case * 10 + u128::from(*incident);
                let ids = world.queue(number, channels[usize::from(*channel)], &[Moved]).await;
                model.rows.push(ModelRow {
                    notice: ids[0],
                    pair: (*incident, *channel),
                    due: now,
                    leased_until: None,
                    owner: None,
                    attempts: 0,
                    settled: false,
                });
            }
            Act::Claim => {
                let until = now + SignedDuration::from_secs(30);
                let owner = store::id_at(now);
                let claimed =
                    outbox::claim(&mut conn, now, until, owner, per_channel).await.unwrap();
                let expected = model.next(now, usize::try_from(per_channel).unwrap());
                assert_eq!(
                    claimed.as_ref().map(|c| c.notice),
                    expected.map(|at| model.rows[at].notice),
                    "{acts:?}"
                );
                if let (Some(claimed), Some(at)) = (claimed, expected) {
                    let row = &mut model.rows[at];
                    row.leased_until = Some(until);
                    assert_eq!(claimed.uncertain, row.owner.is_some());
                    row.owner = Some(owner);
                    row.attempts += 1;
                    held.push(claimed);
                }
            }
            Act::Settle(nth) | Act::GiveBack(nth, _) => {
                if held.is_empty() {
                    continue;
                }
                let claimed = held.remove(nth % held.len());
                let row = model.rows.iter_mut().find(|row| row.notice == claimed.notice).unwrap();
                let ours = row.owner == Some(claimed.owner) && !row.settled;
                let done = match act {
                    Act::GiveBack(_, secs) => {
                        let due = now + SignedDuration::from_secs(i64::from(*secs));
                        if ours {
                            row.due = due;
                        }
                        outbox::reschedule(&mut conn, &claimed, due, "later", &[]).await.unwrap()
                    }
                    _ => {
                        row.settled |= ours;
                        outbox::settle(&mut conn, &claimed, "delivered", "ok", now).await.unwrap()
                    }
                };
                assert_eq!(done, ours, "only the owner settles: {acts:?}");
                if ours {
                    (row.leased_until, row.owner) = (None, None);
                }
            }
            Act::Pass(secs) => world.clock.advance(Duration::from_secs(u64::from(*secs))),
        }
    }
}
