use std::collections::BTreeSet;

use proptest::prelude::*;

use super::progress::{Ack, Look, Progress, Stops};
use super::*;
use crate::domain::notice::{Event, recipients};

const MIN: Millis = 60_000;
const HOUR: Millis = 60 * MIN;
const DAY: Millis = 24 * HOUR;

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn step(after_min: u32, channels: &[u128]) -> Step {
    Step { after_s: after_min * 60, channels: channels.iter().map(|n| id(*n)).collect() }
}

/// Chat at once, the one on call after 10 min, everybody after 30; twice.
fn policy() -> Policy {
    Policy {
        steps: vec![step(0, &[1]), step(10, &[2]), step(30, &[1, 3])],
        loops: 2,
        ack_timeout_s: 4 * 3_600,
        reminder_s: Some(3_600),
    }
}

fn channel(n: u128) -> ChannelRule {
    ChannelRule { id: id(n), is_default: false, min_severity: Severity::Degraded, enabled: true }
}

fn ack(until: Millis) -> Ack {
    Ack { by: "Ada".into(), until }
}

/// Looks whenever asked to, until `end`: when what was due.
fn run(
    policy: &Policy,
    progress: &mut Progress,
    stops: Stops<'_>,
    from: Millis,
    end: Millis,
) -> Vec<(Millis, Due)> {
    let mut seen = Vec::new();
    let mut now = from;
    loop {
        let look = progress.look(policy, stops, now);
        seen.extend(look.due.into_iter().map(|due| (now, due)));
        match look.next {
            Some(next) if next <= end => now = next.max(now + 1),
            _ => return seen,
        }
    }
}

fn steps_at(seen: &[(Millis, Due)]) -> Vec<(Millis, u32)> {
    let step = |(at, due): &(Millis, Due)| match due {
        Due::Step { number } => Some((at / MIN, *number)),
        _ => None,
    };
    seen.iter().filter_map(step).collect()
}

fn reminders_at(seen: &[(Millis, Due)]) -> Vec<Millis> {
    seen.iter()
        .filter(|(_, due)| matches!(due, Due::Reminder { .. }))
        .map(|(at, _)| at / MIN)
        .collect()
}

#[test]
fn steps_come_at_0_10_30_and_once_more_an_hour_later() {
    let seen = run(&policy(), &mut Progress::begin(1, 0), Stops::default(), 0, 5 * HOUR);
    let steps = [(0, 0), (10, 1), (30, 2), (60, 3), (70, 4), (90, 5)];
    assert_eq!(steps_at(&seen), steps);
    assert_eq!(reminders_at(&seen), [60, 120, 180, 240, 300]);
}

#[test]
fn reminders_come_24_times_and_then_daily() {
    let policy = Policy::flat(true);
    let seen = run(&policy, &mut Progress::begin(1, 0), Stops::default(), 0, 4 * DAY);
    let at: Vec<Millis> = (1..=24).map(|n| n * 60).chain([48 * 60, 72 * 60, 96 * 60]).collect();
    assert_eq!(reminders_at(&seen), at);
    let off = Policy::flat(false);
    let mut progress = Progress::begin(1, 0);
    assert_eq!(progress.look(&off, Stops::default(), 0), Look::default());
}

#[test]
fn an_acknowledgement_stops_both_and_they_go_on_where_they_stood() {
    let (policy, stops) = (policy(), Stops::default());
    let mut progress = Progress::begin(1, 0);
    progress.look(&policy, stops, 0);
    progress.acknowledge(ack(4 * MIN + 4 * HOUR), stops, 4 * MIN);
    assert_eq!(progress.next(&policy, stops, 4 * MIN), Some(4 * HOUR + 4 * MIN));
    assert!(progress.look(&policy, stops, 3 * HOUR).due.is_empty());
    let look = progress.look(&policy, stops, 4 * HOUR + 4 * MIN);
    assert!(look.ack_ran_out);
    let sentence = "The acknowledgement by Ada has run out.".to_owned();
    assert_eq!(look.due, [Due::AckOver { sentence }]);
    assert_eq!(look.next, Some(4 * HOUR + 10 * MIN), "six minutes were left until the second step");
}

#[test]
fn an_acknowledgement_that_is_taken_back_is_told_and_a_rise_only_ends_it() {
    let (policy, stops) = (policy(), Stops::default());
    let mut progress = Progress::begin(1, 0);
    progress.look(&policy, stops, 0);
    progress.acknowledge(ack(5 * HOUR), stops, MIN);
    progress.take_back("Ben", stops, 2 * MIN);
    assert_eq!(progress.next(&policy, stops, 2 * MIN), Some(2 * MIN));
    let sentence = "Ben took the acknowledgement back.".to_owned();
    assert_eq!(progress.look(&policy, stops, 2 * MIN).due, [Due::AckOver { sentence }]);
    progress.acknowledge(ack(5 * HOUR), stops, 3 * MIN);
    progress.rise(stops, 4 * MIN);
    assert!(progress.ack.is_none());
    let look = progress.look(&policy, stops, 4 * MIN);
    assert!(look.due.is_empty(), "the rise itself is told");
    assert_eq!(look.next, Some(12 * MIN));
}

#[test]
fn maintenance_and_flapping_stop_the_clock() {
    let policy = policy();
    let mut progress = Progress::begin(1, 0);
    let quiet = [(5 * MIN, 20 * MIN), (15 * MIN, 25 * MIN)];
    let stops = Stops { quiet: &quiet, held: false };
    let seen = run(&policy, &mut progress, stops, 0, 70 * MIN);
    assert_eq!(steps_at(&seen), [(0, 0), (30, 1), (50, 2)]);

    let mut progress = Progress::begin(1, 0);
    progress.look(&policy, Stops::default(), 0);
    let held = Stops { held: true, ..Stops::default() };
    assert!(progress.look(&policy, held, 9 * HOUR).due.is_empty());
    assert_eq!(progress.look(&policy, Stops::default(), 9 * HOUR).next, Some(9 * HOUR + 10 * MIN));
}

#[test]
fn after_a_long_stop_of_ours_each_channel_is_told_once() {
    let policy = policy();
    let mut progress = Progress::begin(1, 0);
    progress.look(&policy, Stops::default(), 0);
    let due = progress.look(&policy, Stops::default(), 2 * HOUR).due;
    assert_eq!(due.len(), 6, "five steps and one reminder: {due:?}");
    let told = [Told { channel: id(1), open: true }];
    let channels = [channel(1), channel(2), channel(3)];
    let reached = policy.reached(progress.steps);
    let heard = hearers(&due, &policy, Some(&reached), &told, &channels, Severity::Down);
    let kinds: Vec<_> = heard.iter().map(|h| (h.channel, h.kind)).collect();
    let (still, opened) = (NoticeKind::Reminder, NoticeKind::Opened);
    assert_eq!(kinds, [(id(1), still), (id(2), opened), (id(3), opened)]);
}

#[test]
fn channels_beside_the_steps_are_told_at_once() {
    let later = Policy { steps: vec![step(10, &[2])], ..policy() };
    let both = later.clone().with_channels(&[id(1)]);
    assert_eq!(both.steps, [step(0, &[1]), step(10, &[2])]);
    assert_eq!(later.clone().with_channels(&[]), later);
    assert_eq!(policy().with_channels(&[id(1), id(9)]).steps[0], step(0, &[1, 9]));
}

#[test]
fn refusals_name_the_field() {
    let field = |change: fn(&mut Policy)| {
        let mut policy = policy();
        change(&mut policy);
        policy.check().map_err(|wrong| wrong.field)
    };
    assert_eq!(field(|_| ()), Ok(()));
    assert_eq!(field(|p| p.steps.clear()), Err("steps".into()));
    assert_eq!(field(|p| p.steps[1].channels.clear()), Err("steps[1].channels".into()));
    assert_eq!(field(|p| p.steps[2].after_s = 600), Err("steps[2].after_s".into()));
    assert_eq!(field(|p| p.steps[2].after_s = 3_600), Err("steps[2].after_s".into()));
    assert_eq!(field(|p| (p.loops, p.steps[2].after_s) = (1, 3_600)), Ok(()));
    assert_eq!(field(|p| p.steps[2].channels.push(id(1))), Err("steps[2].channels[2]".into()));
    assert_eq!(field(|p| p.loops = 0), Err("loops".into()));
    assert_eq!(field(|p| p.ack_timeout_s = 1), Err("ack_timeout_s".into()));
    assert_eq!(field(|p| p.reminder_s = Some(1)), Err("reminder_s".into()));
    let read: Policy = serde_json::from_value(serde_json::json!({ "steps": [] })).unwrap();
    assert_eq!((read.loops, read.ack_timeout_s, read.reminder_s), (2, 14_400, Some(3_600)));
}

/// Something that happens to an incident.
#[derive(Debug, Clone)]
enum Act {
    Wait(Millis),
    Ack(Millis),
    TakeBack,
    Move(Severity),
    End,
}

fn act() -> impl Strategy<Value = Act> {
    let severity =
        prop_oneof![Just(Severity::Degraded), Just(Severity::Partial), Just(Severity::Down)];
    prop_oneof![
        4 => (1..3 * HOUR).prop_map(Act::Wait),
        2 => (MIN..5 * HOUR).prop_map(Act::Ack),
        1 => Just(Act::TakeBack),
        2 => severity.prop_map(Act::Move),
        1 => Just(Act::End),
    ]
}

/// An incident with its channels, told by the same two rules that triage tells by.
struct World {
    policy: Policy,
    channels: Vec<ChannelRule>,
    progress: Progress,
    severity: Severity,
    open: bool,
    told: Vec<Told>,
    keys: BTreeSet<(Uuid, String)>,
    heard: Vec<(Uuid, NoticeKind)>,
}

impl World {
    fn tell(&mut self, kind: NoticeKind, previous: Severity) {
        let event = Event { kind, severity: self.severity, previous };
        let reached = self.policy.reached(self.progress.steps);
        for one in recipients(event, Some(&reached), &self.told, &self.channels) {
            self.hear(one.channel, one.kind);
        }
    }

    fn hear(&mut self, channel: Uuid, kind: NoticeKind) {
        self.told.retain(|t| t.channel != channel);
        self.told.push(Told { channel, open: !kind.ends() });
        self.heard.push((channel, kind));
    }

    fn begin(&mut self, kind: NoticeKind, life: u32, stops: Stops<'_>, now: Millis) {
        self.progress = Progress::begin(life, now);
        self.open = true;
        self.progress.look(&self.policy, stops, now);
        self.tell(kind, self.severity);
    }

    fn look(&mut self, stops: Stops<'_>, now: Millis) -> Option<Millis> {
        let look = self.progress.look(&self.policy, stops, now);
        assert!(
            look.due.is_empty() || self.progress.ack.is_none(),
            "told although somebody is at it"
        );
        let reached = self.policy.reached(self.progress.steps);
        let severity = self.severity;
        let all =
            hearers(&look.due, &self.policy, Some(&reached), &self.told, &self.channels, severity);
        for one in all {
            let fresh = one
                .due
                .key(self.progress.life)
                .is_none_or(|key| self.keys.insert((one.channel, key)));
            assert!(fresh, "{one:?} is told a second time");
            self.hear(one.channel, one.kind);
        }
        look.next
    }
}

proptest! {
    /// Whatever happens: no step is told twice to a channel, nothing is told after the end, a channel hears
    /// that it is over if and only if it has heard that it is open.
    #[test]
    fn everybody_hears_each_thing_once_and_the_end_of_what_they_know(
        acts in prop::collection::vec(act(), 1..40),
        windows in prop::collection::vec((0..60 * HOUR, 1..4 * HOUR), 0..4),
        loud in prop::collection::vec(any::<bool>(), 3),
    ) {
        let windows: Vec<_> = windows.into_iter().map(|(from, long)| (from, from + long)).collect();
        let stops = Stops { quiet: &windows, held: false };
        let channels = (1..=3).zip(loud).map(|(n, all)| ChannelRule {
            min_severity: if all { Severity::Degraded } else { Severity::Down },
            ..channel(n)
        });
        let mut world = World {
            policy: policy(), channels: channels.collect(), progress: Progress::begin(1, 0),
            severity: Severity::Down, open: false, told: Vec::new(), keys: BTreeSet::new(), heard: Vec::new(),
        };
        let (mut now, mut life) = (0, 1);
        world.begin(NoticeKind::Opened, life, stops, now);
        for act in acts.into_iter().chain([Act::End]) {
            match act {
                Act::Wait(long) => {
                    let end = now + long;
                    while let Some(next) = world.progress.next(&world.policy, stops, now).filter(|_| world.open) {
                        if next.max(now + 1) > end { break }
                        now = next.max(now + 1);
                        world.look(stops, now);
                    }
                    now = end;
                }
                Act::Ack(long) if world.open => world.progress.acknowledge(ack(now + long), stops, now),
                Act::TakeBack if world.open => world.progress.take_back("Ben", stops, now),
                Act::Move(to) if world.open && to != world.severity => {
                    let before = std::mem::replace(&mut world.severity, to);
                    if to > before {
                        world.progress.rise(stops, now);
                    }
                    world.tell(NoticeKind::Moved, before);
                }
                Act::End if world.open => {
                    world.tell(NoticeKind::Resolved, world.severity);
                    world.open = false;
                    prop_assert!(world.told.iter().all(|told| !told.open), "left open: {:?}", world.heard);
                }
                Act::End => {
                    life += 1;
                    world.begin(NoticeKind::Reopened, life, stops, now);
                }
                _ => {}
            }
            now += 1;
        }
        for channel in &world.channels {
            let mut open = false;
            for (_, kind) in world.heard.iter().filter(|(of, _)| *of == channel.id) {
                prop_assert_eq!(kind.begins(), !open, "{:?}", &world.heard);
                open = !kind.ends();
            }
        }
    }

    /// The clock counts neither maintenance nor acknowledgements, wherever it is looked at in between.
    #[test]
    fn looking_more_often_changes_nothing(
        looks in prop::collection::btree_set(1..10 * HOUR, 0..20),
        windows in prop::collection::vec((0..8 * HOUR, 1..2 * HOUR), 0..4),
    ) {
        let windows: Vec<_> = windows.into_iter().map(|(from, long)| (from, from + long)).collect();
        let stops = Stops { quiet: &windows, held: false };
        let policy = policy();
        let (mut often, mut once) = (Progress::begin(1, 0), Progress::begin(1, 0));
        let mut told = Vec::new();
        for now in looks.into_iter().chain([10 * HOUR]) {
            told.extend(often.look(&policy, stops, now).due);
        }
        once.look(&policy, stops, 10 * HOUR);
        prop_assert_eq!(&often.steps, &once.steps);
        prop_assert_eq!(often.next(&policy, stops, 10 * HOUR), once.next(&policy, stops, 10 * HOUR));
        let steps: Vec<_> = told.iter().filter(|due| matches!(due, Due::Step { .. })).collect();
        prop_assert_eq!(steps.len(), usize::try_from(once.steps).unwrap());
    }
}
