use proptest::prelude::*;

use super::*;
use crate::domain::decision::{What, pause, resume};
use crate::domain::maintenance::{Switches, Window};

/// A job under test. Times are seconds.
struct Job {
    plan: Plan,
    policy: Policy,
    windows: Vec<Window>,
    grace_until: Option<Millis>,
    live: Live,
    events: Vec<(i64, String)>,
    steps: Vec<Step>,
}

fn every(period: i64, grace: i64) -> Plan {
    Plan { due: Due::Every(period * 1000), grace: grace * 1000, max_run: None }
}

fn cron(expression: &str, zone: &str, grace: i64) -> Plan {
    let schedule = Schedule::parse(expression, zone).unwrap();
    Plan { due: Due::At(Box::new(schedule)), grace: grace * 1000, max_run: None }
}

fn instant(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_second()
}

impl Job {
    fn new(plan: Plan) -> Self {
        let policy = Policy::defaults(plan.interval(), 10_000, 0);
        let windows = Vec::new();
        let (live, events, steps) = (Live::default(), Vec::new(), Vec::new());
        Self { plan, policy, windows, grace_until: None, live, events, steps }
    }

    fn step(&mut self, at: Millis, calls: &[Call]) -> &Step {
        let inputs = Inputs {
            policy: &self.policy,
            check_version: 1,
            seats: &[],
            windows: &self.windows,
            over_cap: false,
            grace_until: self.grace_until,
            now: at,
        };
        let step = step(&mut self.live, &inputs, &self.plan, calls);
        let words = step.events.iter().filter_map(|event| Some((event.at / 1000, event.word()?)));
        self.events.extend(words);
        self.steps.push(step);
        self.steps.last().unwrap()
    }

    fn calls(&mut self, at: i64, kind: CallKind, exit_code: Option<u8>) {
        let call = Call { at: at * 1000, kind, exit_code, from: "192.0.2.7".to_owned() };
        self.step(at * 1000, &[call]);
    }

    fn succeeds(&mut self, at: i64) {
        self.calls(at, CallKind::Success, None);
    }

    fn state_at(&mut self, at: i64) -> State {
        self.step(at * 1000, &[]);
        self.live.state
    }

    /// Lets the sweep do what it does until then: wake up when it has asked to be woken.
    fn sleep_until(&mut self, until: i64) {
        while let Some(wake) = self.steps.last().and_then(|step| step.wake_at)
            && wake <= until * 1000
        {
            self.step(wake, &[]);
        }
        self.step(until * 1000, &[]);
    }

    fn events(&self) -> Vec<(i64, &str)> {
        self.events.iter().map(|(at, word)| (*at, word.as_str())).collect()
    }
}

#[test]
fn it_is_pending_until_it_calls_and_down_at_the_deadline() {
    let mut job = Job::new(every(60, 30));
    assert_eq!(
        job.state_at(1_000_000),
        State::Pending,
        "silence says nothing before the first call"
    );
    assert_eq!(job.steps.last().unwrap().wake_at, None);
    job.succeeds(1_000_010);
    assert_eq!(job.live.state, State::Up);
    assert_eq!(job.steps.last().unwrap().wake_at, Some(1_000_100_000));
    assert_eq!(job.state_at(1_000_099), State::Up);
    assert_eq!(job.state_at(1_000_100), State::Down);
    job.succeeds(1_000_130);
    assert_eq!(job.live.state, State::Up);
    assert_eq!(job.events(), [(1_000_100, "opened:down"), (1_000_130, "resolved")]);
}

#[test]
fn a_late_look_dates_back_to_the_deadline() {
    let mut job = Job::new(every(60, 30));
    job.succeeds(10);
    assert_eq!(job.state_at(140), State::Down);
    let change = job.steps.last().unwrap().state_change.unwrap();
    assert_eq!((change.since, change.at), (100_000, 140_000));
    assert_eq!(job.live.incident.as_ref().unwrap().started_at, 100_000);
    job.succeeds(150);
    let ended = job.steps.last().unwrap().events[0].what;
    assert!(matches!(ended, What::Resolved { ended_at: 150_000, .. }), "{ended:?}");
}

#[test]
fn a_failure_counts_at_once_also_as_the_first_call_and_ends_with_a_success_only() {
    let mut job = Job::new(every(60, 30));
    job.calls(10, CallKind::Fail, Some(3));
    assert_eq!(job.live.state, State::Down);
    assert!(job.steps[0].why.contains("exit code 3"), "{}", job.steps[0].why);
    job.calls(20, CallKind::Start, None);
    job.calls(30, CallKind::Fail, None);
    assert_eq!(job.state_at(5_000), State::Down);
    job.succeeds(5_010);
    assert_eq!(job.events(), [(10, "opened:down"), (5_010, "resolved")]);
    assert_eq!(job.state_at(5_099), State::Up);
    assert_eq!(job.state_at(5_100), State::Down);
}

#[test]
fn a_run_is_measured_and_must_end_in_its_time() {
    let mut job = Job::new(Plan { max_run: Some(600_000), ..every(60, 30) });
    job.calls(10, CallKind::Start, None);
    assert_eq!(job.state_at(500), State::Pending, "the run goes on");
    let call = Call { at: 550_000, kind: CallKind::Success, exit_code: None, from: String::new() };
    assert_eq!(job.live.calls.clone().take(&call), Some(540_000), "how long it took");
    job.succeeds(550);
    job.calls(600, CallKind::Start, None);
    job.calls(900, CallKind::Start, None);
    assert_eq!(job.state_at(1_199), State::Up, "longer than the period, but it runs");
    assert_eq!(job.state_at(1_200), State::Down, "a second start gains no time");
    job.calls(1_210, CallKind::Start, None);
    assert_eq!(job.live.state, State::Down, "only a success ends it");
    let calls = job.live.calls.clone();
    assert_eq!(calls.clone().take(&Call { at: 1_220_000, ..call }), Some(10_000), "the latest run");
}

#[test]
fn a_start_that_comes_too_late_does_not_help() {
    let mut job = Job::new(Plan { max_run: Some(600_000), ..every(60, 30) });
    job.succeeds(10);
    assert_eq!(job.state_at(100), State::Down);
    job.calls(101, CallKind::Start, None);
    assert_eq!(job.live.state, State::Down);
    assert_eq!(job.state_at(200), State::Down);
}

#[test]
fn without_a_limit_a_run_ends_by_the_ordinary_deadline() {
    let mut job = Job::new(every(60, 30));
    job.succeeds(10);
    job.calls(90, CallKind::Start, None);
    assert_eq!(job.state_at(99), State::Up);
    assert_eq!(job.state_at(100), State::Down);
    let mut first = Job::new(every(60, 30));
    first.calls(10, CallKind::Start, None);
    assert_eq!(first.state_at(99), State::Pending);
    assert_eq!(first.state_at(100), State::Down, "the start is what we know");
}

#[test]
fn after_a_restart_of_ours_it_has_until_the_end_of_the_leniency() {
    let mut job = Job::new(every(60, 30));
    job.succeeds(10);
    job.grace_until = Some(300_000);
    assert_eq!(job.state_at(200), State::Up, "nobody was there to hear it");
    assert_eq!(job.steps.last().unwrap().wake_at, Some(300_000));
    assert_eq!(job.state_at(299), State::Up);
    assert_eq!(job.state_at(300), State::Down);
    assert_eq!(job.live.since, 300_000);
    job.grace_until = Some(900_000);
    assert_eq!(job.state_at(500), State::Down, "what was late before stays so");
}

#[test]
fn a_time_of_day_is_waited_for_also_when_clocks_change() {
    // Clocks go forward at 01:00 UTC: 02:30 does not exist, and comes right after the gap, at 03:00.
    let mut job = Job::new(cron("30 2 * * *", "Europe/Berlin", 600));
    job.succeeds(instant("2026-03-28T01:31:00Z"));
    let deadline = instant("2026-03-29T01:10:00Z");
    assert_eq!(job.state_at(deadline - 1), State::Up);
    assert_eq!(job.state_at(deadline), State::Down);
    // They go back: 02:30 comes twice and is meant once.
    let mut job = Job::new(cron("30 2 * * *", "Europe/Berlin", 600));
    job.succeeds(instant("2026-10-25T00:31:00Z"));
    let deadline = instant("2026-10-26T01:40:00Z");
    assert_eq!(job.state_at(deadline - 1), State::Up);
    assert_eq!(job.state_at(deadline), State::Down);
}

#[test]
fn a_call_a_moment_before_its_time_is_that_times() {
    let mut job = Job::new(cron("30 2 * * *", "UTC", 600));
    job.succeeds(instant("2026-03-05T02:29:58Z"));
    assert_eq!(job.state_at(instant("2026-03-06T02:39:59Z")), State::Up);
    assert_eq!(job.state_at(instant("2026-03-06T02:40:00Z")), State::Down);
    let mut early = Job::new(cron("30 2 * * *", "UTC", 600));
    early.succeeds(instant("2026-03-05T02:29:50Z"));
    assert_eq!(early.state_at(instant("2026-03-05T02:40:00Z")), State::Down);
}

#[test]
fn a_new_period_moves_the_deadline_and_may_end_an_outage() {
    let mut job = Job::new(every(60, 30));
    job.succeeds(10);
    job.plan = every(3_600, 30);
    assert_eq!(job.state_at(110), State::Up);
    assert_eq!(job.steps.last().unwrap().wake_at, Some(3_640_000));
    job.plan = every(60, 30);
    assert_eq!(job.state_at(120), State::Down);
    job.plan = every(3_600, 30);
    assert_eq!(job.state_at(130), State::Up);
}

#[test]
fn a_pause_forgets_and_resolves() {
    let mut job = Job::new(every(60, 30));
    job.succeeds(10);
    assert_eq!(job.state_at(100), State::Down);
    let halt = pause(&mut job.live, 110_000);
    assert!(matches!(halt.events[0].what, What::Resolved { .. }));
    job.succeeds(120);
    assert_eq!((job.live.state, &job.live.calls), (State::Paused, &Calls::default()));
    resume(&mut job.live, 130_000);
    assert_eq!(job.state_at(10_000), State::Pending, "as if new");
}

#[test]
fn one_that_comes_and_goes_is_told_of_once_and_held_until_it_is_well_for_longer() {
    let mut job = Job::new(every(60, 30));
    for at in [0, 100, 200, 300] {
        job.calls(10 + at, CallKind::Fail, None);
        job.succeeds(60 + at);
    }
    let events = job.events();
    assert_eq!(events.last(), Some(&(160, "flap_start")), "{events:?}");
    for at in 0..40 {
        job.sleep_until(400 + at * 60);
        job.succeeds(400 + at * 60);
    }
    let (at, word) = *job.events().last().unwrap();
    assert_eq!(word, "resolved:flap_end");
    assert!((360 + 480..=360 + 540).contains(&at), "four times two minutes: {at}");
}

#[test]
fn what_happens_in_maintenance_is_told_when_it_is_over() {
    let mut job = Job::new(every(60, 30));
    job.windows = vec![Window { start: 50_000, end: 400_000, switches: Switches::default() }];
    job.succeeds(10);
    job.sleep_until(2_000);
    let events = [(100, "suppressed:opened:down"), (520, "opened:down:after_maintenance")];
    assert_eq!(job.events(), events);
}

/// A window that pauses probing.
fn pausing(start: i64, end: i64) -> Window {
    let switches = Switches { pause_probes: true, ..Switches::default() };
    Window { start: start * 1000, end: end * 1000, switches }
}

#[test]
fn nothing_is_waited_for_while_probing_pauses() {
    let mut job = Job::new(every(60, 30));
    job.succeeds(10);
    job.windows = vec![pausing(50, 400)];
    job.sleep_until(489);
    assert_eq!(job.live.state, State::Up, "a period and grace behind the end");
    job.sleep_until(490);
    assert_eq!(job.live.state, State::Down);
    assert_eq!(job.live.since, 490_000);
    let mut before = Job::new(every(60, 30));
    before.succeeds(10);
    before.windows = vec![pausing(101, 400)];
    before.sleep_until(120);
    assert_eq!(before.live.state, State::Down, "it was late before");
}

#[test]
fn a_time_of_day_that_was_excused_stays_so_when_the_window_is_long_over() {
    let mut job = Job::new(cron("0 2 * * 1", "UTC", 600));
    job.succeeds(instant("2026-03-02T02:05:00Z"));
    let window = pausing(instant("2026-03-09T01:00:00Z"), instant("2026-03-09T03:00:00Z"));
    job.windows = vec![window];
    job.sleep_until(instant("2026-03-09T02:30:00Z"));
    job.windows.clear();
    job.sleep_until(instant("2026-03-16T02:09:59Z"));
    assert_eq!(job.live.state, State::Up, "next week's is waited for");
    job.sleep_until(instant("2026-03-16T02:10:00Z"));
    assert_eq!(job.live.state, State::Down);
}

#[test]
fn a_repeated_call_says_nothing_new() {
    let mut calls = Calls::default();
    let call = Call { at: 5_000, kind: CallKind::Fail, exit_code: Some(1), from: "a".to_owned() };
    assert!(!calls.repeats(&call));
    calls.take(&call);
    assert!(calls.repeats(&Call { at: 5_999, ..call.clone() }));
    assert!(!calls.repeats(&Call { at: 6_000, ..call.clone() }));
    assert!(!calls.repeats(&Call { exit_code: Some(2), ..call.clone() }));
    assert!(!calls.repeats(&Call { kind: CallKind::Success, ..call }));
}

#[test]
fn what_is_remembered_is_stored_and_read_the_same() {
    let mut job = Job::new(every(60, 30));
    job.succeeds(10);
    job.calls(20, CallKind::Start, None);
    job.calls(30, CallKind::Fail, Some(255));
    job.calls(40, CallKind::Start, None);
    let text = serde_json::to_string(&job.live).unwrap();
    assert_eq!(serde_json::from_str::<Live>(&text).unwrap(), job.live);
    let probed = serde_json::to_string(&Live::default()).unwrap();
    assert!(!probed.contains("\"k\""), "what is probed has no calls: {probed}");
}

proptest! {
    /// Whatever is called when: never down before the deadline, always down at it, and deciding at the
    /// wake-up alone gives the same as deciding every second.
    #[test]
    fn it_is_down_exactly_from_the_deadline_on(
        period in 10_i64..200,
        grace in 10_i64..100,
        gaps in proptest::collection::vec(1_i64..300, 1..20),
    ) {
        let mut seldom = Job::new(every(period, grace));
        let mut often = Job::new(every(period, grace));
        let mut now = 0;
        for gap in gaps {
            seldom.succeeds(now);
            often.succeeds(now);
            let flaps = often.live.flaps.flapping;
            let deadline = now + period + grace;
            for second in now + 1..now + gap {
                let state = often.state_at(second);
                if second >= deadline {
                    prop_assert_eq!(state, State::Down, "at {}, due by {}", second, deadline);
                } else if !flaps {
                    prop_assert_eq!(state, State::Up, "at {}, due by {}", second, deadline);
                }
            }
            seldom.sleep_until(now + gap - 1);
            now += gap;
            prop_assert_eq!(seldom.live.state, often.live.state);
            prop_assert_eq!(&seldom.events, &often.events);
        }
    }

    /// A daily job that calls within its grace is never late, in any zone and on any day of the year.
    #[test]
    fn a_daily_job_in_time_is_never_late(
        hour in 0_u8..24,
        minute in 0_u8..60,
        zone in proptest::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
        delays in proptest::collection::vec(0_i64..590, 370),
    ) {
        let expression = format!("{minute} {hour} * * *");
        let schedule = Schedule::parse(&expression, zone).unwrap();
        let mut job = Job::new(cron(&expression, zone, 600));
        let first = Timestamp::from_second(1_767_225_600).unwrap();
        for (time, delay) in schedule.after(first).zip(delays) {
            let at = time.as_second() + delay;
            prop_assert_ne!(job.state_at(at), State::Down, "{}", time);
            job.succeeds(at);
        }
        prop_assert!(job.events.is_empty());
    }
}
