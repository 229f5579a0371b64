use proptest::prelude::*;

use super::*;
use crate::protocol::Secrets;

fn task(id: u128, interval_s: u32, position: u32, of: u32) -> Task {
    Task {
        monitor: Uuid::from_u128(id),
        name: format!("m{id}"),
        check_version: 1,
        check: RawValue::from_string("{}".to_owned()).unwrap(),
        secrets: Secrets::default(),
        interval_s,
        timeout_ms: 10_000,
        slow_ms: None,
        position,
        of,
        fail_after: 2,
        retry_gap_ms: 5_000,
        pass_after: 2,
        pass_gap_ms: 10_000,
        vote_down: false,
    }
}

/// Plays `schedule` from `from` to `until`; `probe` says what an attempt yields and how long it takes.
/// Gives (monitor, start, kind, more) in the order of starts.
fn play(
    schedule: &mut Schedule,
    (from, until): (Millis, Millis),
    mut probe: impl FnMut(&Attempt, Millis) -> (Outcome, Millis),
) -> Vec<(u128, Millis, RunKind, bool)> {
    let mut log = Vec::new();
    let mut running: Vec<(Millis, Millis, Attempt, Outcome, usize)> = Vec::new();
    let mut now = from;
    loop {
        let next_end = running.iter().map(|(end, ..)| *end).min();
        let next_due = schedule.next_due().map(|due| due.max(now));
        now = match (next_end, next_due) {
            (Some(end), Some(due)) => end.min(due),
            (Some(at), None) | (None, Some(at)) => at,
            (None, None) => return log,
        };
        if now > until {
            return log;
        }
        while let Some(at) = running.iter().position(|(end, ..)| *end <= now) {
            let (end, started, attempt, outcome, line) = running.remove(at);
            log[line].3 = schedule.finish(&attempt, outcome, started, end);
        }
        while let Some(attempt) = schedule.start(now) {
            let monitor = attempt.task.monitor;
            let busy = running.iter().any(|(_, _, other, ..)| other.task.monitor == monitor);
            assert!(!busy, "two attempts of one monitor at once");
            let (outcome, takes) = probe(&attempt, now);
            log.push((monitor.as_u128(), now, attempt.kind, false));
            running.push((now + takes, now, attempt, outcome, log.len() - 1));
        }
    }
}

fn starts(log: &[(u128, Millis, RunKind, bool)]) -> Vec<Millis> {
    log.iter().map(|line| line.1).collect()
}

#[test]
fn slots_lie_on_coordinator_time_and_are_staggered_by_location() {
    for (k, expected) in [(0, [60_000, 120_000]), (1, [20_000, 80_000]), (2, [40_000, 100_000])] {
        let mut schedule = Schedule::new(1_000_000);
        schedule.restore(vec![task(1, 60, k, 3)], -999_999);
        let log = play(&mut schedule, (-999_999, -880_000), |_, _| (Outcome::Pass, 50));
        let coordinator: Vec<_> = starts(&log).iter().map(|at| at + 1_000_000).collect();
        assert_eq!(coordinator, expected, "location {k}");
    }
}

#[test]
fn a_failure_is_repeated_and_the_last_attempt_says_so() {
    let mut schedule = Schedule::new(0);
    let mut careful = task(1, 60, 0, 1);
    careful.fail_after = 3;
    schedule.restore(vec![careful], 1);
    let log = play(&mut schedule, (1, 100_000), |_, _| (Outcome::Fail, 200));
    assert_eq!(
        log,
        [
            (1, 60_000, RunKind::Scheduled, true),
            (1, 65_200, RunKind::Retry, true),
            (1, 70_400, RunKind::Retry, false),
        ]
    );
}

#[test]
fn a_pass_ends_a_run_and_an_error_is_not_repeated() {
    for outcome in [Outcome::Pass, Outcome::Error] {
        let mut schedule = Schedule::new(0);
        schedule.restore(vec![task(1, 60, 0, 1)], 1);
        let log = play(&mut schedule, (1, 100_000), |_, _| (outcome, 200));
        assert_eq!(log, [(1, 60_000, RunKind::Scheduled, false)]);
    }
}

#[test]
fn a_location_that_is_down_repeats_its_pass() {
    // Down by the assignment, then down by its own results although the assignment lags behind.
    let mut told = task(1, 60, 0, 1);
    told.vote_down = true;
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![told], 1);
    let log = play(&mut schedule, (1, 150_000), |_, _| (Outcome::Pass, 100));
    assert_eq!(starts(&log), [60_000, 70_100, 120_000]);

    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 60, 0, 1)], 1);
    let log = play(&mut schedule, (1, 190_000), |_, now| {
        (if now < 100_000 { Outcome::Fail } else { Outcome::Pass }, 100)
    });
    assert_eq!(starts(&log), [60_000, 65_100, 120_000, 130_100, 180_000]);
}

#[test]
fn a_slot_is_skipped_while_a_run_is_under_way() {
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 10, 0, 1)], 1);
    let log = play(&mut schedule, (1, 50_000), |_, _| (Outcome::Fail, 6_000));
    // 10 s: fail until 16 s, again 21 s to 27 s; the slot of 20 s is skipped, 30 s is the next.
    assert_eq!(starts(&log), [10_000, 21_000, 30_000, 41_000, 50_000]);
}

#[test]
fn a_target_that_flaps_cannot_prolong_a_run_for_ever() {
    let mut down = task(1, 86_400, 0, 1);
    down.vote_down = true;
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![down], 1);
    let mut turn = 0;
    let log = play(&mut schedule, (1, 86_400_000 * 2 - 1), |_, _| {
        turn += 1;
        (if turn % 2 == 0 { Outcome::Fail } else { Outcome::Pass }, 100)
    });
    assert_eq!(log.len(), 4);
}

#[test]
fn a_new_or_changed_monitor_runs_at_once_and_then_keeps_to_the_grid() {
    let mut schedule = Schedule::new(0);
    schedule.upsert(task(1, 60, 1, 2), 1_000);
    let log = play(&mut schedule, (1_000, 100_000), |_, _| (Outcome::Pass, 10));
    assert_eq!(starts(&log), [1_000, 30_000, 90_000]);

    let mut renamed = task(1, 60, 1, 2);
    renamed.name = "other".to_owned();
    schedule.upsert(renamed, 100_500);
    let mut changed = task(1, 60, 1, 2);
    changed.check_version = 2;
    schedule.upsert(changed, 110_000);
    let log = play(&mut schedule, (110_000, 160_000), |attempt, _| {
        assert_eq!(attempt.task.check_version, 2);
        (Outcome::Pass, 10)
    });
    assert_eq!(starts(&log), [110_000, 150_000]);
}

#[test]
fn a_change_during_an_attempt_ends_its_run_and_starts_the_new_check() {
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 60, 0, 1)], 1);
    let old = schedule.start(60_000).unwrap();
    let mut changed = task(1, 60, 0, 1);
    changed.check_version = 2;
    schedule.upsert(changed, 60_100);
    assert!(schedule.start(60_200).is_none(), "the old attempt is still under way");
    assert!(!schedule.finish(&old, Outcome::Fail, 60_000, 61_000));
    let new = schedule.start(61_000).unwrap();
    assert_eq!((new.task.check_version, new.kind), (2, RunKind::Scheduled));
}

#[test]
fn what_was_removed_ends_quietly() {
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 60, 0, 1), task(2, 60, 0, 1)], 1);
    let first = schedule.start(60_000).unwrap();
    let second = schedule.start(60_000).unwrap();
    schedule.remove(first.task.monitor);
    assert!(!schedule.finish(&first, Outcome::Fail, 60_000, 60_100));
    let only_second = vec![task(second.task.monitor.as_u128(), 60, 0, 1)];
    schedule.replace(only_second, 60_200);
    assert!(schedule.finish(&second, Outcome::Fail, 60_000, 60_300));
    assert_eq!(schedule.len(), 1);
}

#[test]
fn a_wave_starts_a_run_unless_one_is_under_way() {
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 60, 0, 1)], 1);
    let monitor = Uuid::from_u128(1);
    assert_eq!(schedule.ask(monitor, 10_000), Asked::Starts);
    assert_eq!(schedule.ask(monitor, 10_000), Asked::Running);
    assert_eq!(schedule.ask(Uuid::from_u128(9), 10_000), Asked::Unknown);
    let log = play(&mut schedule, (10_000, 59_000), |_, _| (Outcome::Fail, 100));
    assert_eq!(log, [(1, 10_000, RunKind::Confirm, true), (1, 15_100, RunKind::Retry, false)]);
}

#[test]
fn ten_thousand_new_monitors_do_not_start_as_one_burst() {
    let mut schedule = Schedule::new(0);
    let tasks = (0..10_000).map(|i| task(i, 60, 0, 1)).collect();
    schedule.replace(tasks, 30_000);
    let log = play(&mut schedule, (30_000, 59_999), |_, _| (Outcome::Pass, 1));
    assert!(!log.is_empty());
    for second in 30..60 {
        let begun = log.iter().filter(|line| line.1 / 1_000 == second).count();
        assert!(begun <= 50, "{begun} first runs in second {second}");
    }
}

#[test]
fn a_late_start_shows_when_it_was_due_and_missed_slots_are_not_made_up() {
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 10, 0, 1)], 1);
    let late = schedule.start(47_000).unwrap();
    assert_eq!(late.due, 10_000);
    assert!(!schedule.finish(&late, Outcome::Error, 47_000, 47_000));
    assert!(schedule.start(49_999).is_none());
    assert_eq!(schedule.start(50_000).unwrap().due, 50_000);
}

#[test]
fn a_step_of_coordinator_time_moves_the_slots() {
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 60, 0, 1)], 1);
    assert_eq!(schedule.next_due(), Some(60_000));
    schedule.set_offset(-3_600_000 + 10_000, 1_000);
    assert_eq!(schedule.next_due(), Some(50_000));
}

#[test]
fn nothing_starts_after_stop_and_runs_end() {
    let mut schedule = Schedule::new(0);
    schedule.restore(vec![task(1, 60, 0, 1), task(2, 60, 0, 1)], 1);
    let attempt = schedule.start(60_000).unwrap();
    schedule.stop();
    assert!(schedule.start(70_000).is_none());
    assert!(!schedule.finish(&attempt, Outcome::Fail, 60_000, 60_100));
    assert_eq!(schedule.next_due(), None);
}

#[test]
fn nonsense_from_the_wire_does_not_divide_by_zero() {
    let mut schedule = Schedule::new(0);
    let mut odd = task(1, 0, 7, 0);
    (odd.fail_after, odd.pass_after) = (0, 0);
    schedule.upsert(odd, 5);
    assert!(schedule.start(5).is_some());
}

proptest! {
    /// Whatever the interval, the place, the clocks and the small drift between them: every slot of
    /// the grid is used exactly once.
    #[test]
    fn every_slot_is_used_once(
        interval_s in 10_u32..4_000,
        of in 1_u32..12,
        place in 0_u32..12,
        offset in -2_000_000_000_000_i64..2_000_000_000_000,
        begin in 0_i64..1_000_000_000,
        drifts in proptest::collection::vec(-200_i64..200, 0..20),
    ) {
        let (interval, position) = (Millis::from(interval_s) * 1_000, place % of);
        let shift = interval * Millis::from(position) / Millis::from(of);
        let mut schedule = Schedule::new(offset);
        schedule.restore(vec![task(1, interval_s, position, of)], begin);
        let mut slots = Vec::new();
        let mut now = begin;
        for drift in drifts {
            let due = schedule.next_due().unwrap();
            prop_assert!(due > now - 500 && due <= now + interval + 500);
            now = now.max(due);
            let attempt = schedule.start(now).unwrap();
            // The slot is exact on the grid by the offset that was known when it was placed.
            let near = now + schedule.offset - shift;
            slots.push((near as f64 / interval as f64).round() as i64);
            schedule.finish(&attempt, Outcome::Pass, now, now + 20);
            schedule.set_offset(offset + drift, now + 20);
        }
        for pair in slots.windows(2) {
            prop_assert_eq!(pair[1], pair[0] + 1);
        }
    }

    /// Any mixture of changes, waves and outcomes keeps the promises of a run: one attempt at a time
    /// (asserted by `play`), at most F + R attempts, each but the last saying that more follow.
    #[test]
    fn runs_are_bounded_and_announce_their_end(
        fail_after in 1_u32..4,
        pass_after in 1_u32..4,
        vote_down: bool,
        outcomes in proptest::collection::vec(0_u8..10, 1..60),
        asks in proptest::collection::vec(0_i64..600_000, 0..6),
    ) {
        let mut schedule = Schedule::new(0);
        let mut only = task(1, 20, 0, 1);
        (only.fail_after, only.pass_after, only.vote_down) = (fail_after, pass_after, vote_down);
        schedule.restore(vec![only], 1);
        let mut log = Vec::new();
        let (mut from, mut turn) = (1, 0);
        for ask in asks.into_iter().chain([600_000]) {
            if ask <= from { continue }
            log.extend(play(&mut schedule, (from, ask), |_, _| {
                turn += 1;
                (match outcomes[turn % outcomes.len()] {
                    0..5 => Outcome::Pass,
                    5..9 => Outcome::Fail,
                    _ => Outcome::Error,
                }, 0)
            }));
            schedule.ask(Uuid::from_u128(1), ask);
            from = ask;
        }
        let mut length = 0;
        for (at, line) in log.iter().enumerate() {
            length = if line.2 == RunKind::Retry { length + 1 } else { 1 };
            prop_assert!(length <= fail_after + pass_after);
            if let Some(next) = log.get(at + 1) {
                prop_assert_eq!(line.3, next.2 == RunKind::Retry);
            }
        }
    }
}
