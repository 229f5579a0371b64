//! Withdrawal, incidents, flapping, maintenance and pausing (spec: decision 5.7 and 5.8).

use super::super::{
    Disposition, HistoryOnly, Live, Standing, State, VoteState, What, delete, pause, resume,
};
use super::{Bench, F3, F5, dispositions, vote};
use crate::domain::incident::{Ending, Severity};
use crate::domain::monitor::Policy;
use crate::domain::observation::Outcome;

#[test]
fn an_incident_that_loses_its_quorum_by_withdrawal_is_marked_once() {
    let mut bench = Bench::new(&F5);
    bench.fail(10, "abc").fail(15, "abc").pass(15, "de").run(20);
    assert_eq!(bench.words(), [(15, "opened:down")]);
    bench.seats[0].standing = Standing::Quarantined;
    bench.run(30);
    let marks = bench
        .steps
        .iter()
        .flat_map(|s| &s.events)
        .filter(|e| e.what == What::EvidenceWithdrawn)
        .count();
    assert_eq!(marks, 1);
    assert_eq!(bench.words().len(), 1, "no word of a trace");
    assert!(bench.live.incident.as_ref().is_some_and(|i| i.withdrawn));
    assert_eq!(bench.live.state, State::Down, "it ends by the normal rule");
}

#[test]
fn a_location_alone_in_down_for_a_day_is_reported_and_comes_back() {
    let mut bench = Bench::new(&F3);
    for at in (0..90_000).step_by(60) {
        bench.fail(at, "a").pass(at, "bc");
    }
    for second in (0..90_000).step_by(60) {
        bench.skip_to(second).run(second);
    }
    let first = bench.steps.iter().find(|step| step.divergent.is_some()).expect("reported");
    assert_eq!((first.at, first.divergent), (60_000 + 86_400_000, Some(bench.key("a"))));
    bench.seats[0].standing = Standing::Divergent;
    bench.pass(90_010, "a").skip_to(90_010).run(90_010);
    assert!(bench.last().converged.is_empty());
    bench.pass(90_020, "a").run(90_020);
    assert_eq!(bench.last().converged, [bench.key("a")]);
}

#[test]
fn it_reopens_within_the_limit_at_any_severity_and_keeps_its_beginning() {
    let mut bench = Bench::new(&F5);
    bench.fail(10, "abcde").fail(15, "abcde").pass(20, "abcde").pass(30, "abcde").run(30);
    bench.every_minute(40, 700, "abcde", Outcome::Pass).run(160);
    assert_eq!(bench.words()[1..], [(150, "resolved")]);
    // a and b fail from 630: partial at 635, opened 120 s later, 605 s after the resolve.
    let mut early = bench.clone();
    for at in (620..900).step_by(5) {
        early.fail(at, "ab").pass(at, "cde");
    }
    early.waiting_without_passes_of("ab", 620).run(800);
    assert_eq!(early.words()[2..], [(745, "reopened:partial")]);
    let open = early.live.incident.as_ref().expect("open");
    assert_eq!(
        (open.severity, open.started_at, open.opened_at),
        (Severity::Partial, 10_000, 15_000)
    );
    let mut late = bench.clone();
    for at in (630..900).step_by(5) {
        late.fail(at, "ab").pass(at, "cde");
    }
    late.waiting_without_passes_of("ab", 630).run(800);
    assert_eq!(late.words()[2..], [(755, "opened:partial")]);
}

/// Full outages of 60 s, well for `well` seconds between them.
fn flaps(bench: &mut Bench, from: i64, until: i64, well: i64) {
    for at in (from..until).step_by(5) {
        let phase = (at - from) % (60 + well);
        if phase < 60 {
            bench.fail(at, "abc")
        } else {
            bench.pass(at, "abc")
        };
    }
}

#[test]
fn flapping_holds_the_fourth_change_and_ends_with_the_next_due_resolve() {
    let mut bench = Bench::new(&F3);
    flaps(&mut bench, 0, 400, 140);
    for at in (400..1500).step_by(5) {
        bench.pass(at, "abc");
    }
    bench.run(1500);
    assert_eq!(
        bench.words(),
        [
            (5, "opened:down"),
            (185, "resolved"),
            (205, "reopened:down"),
            (385, "flap_start"),
            (865, "resolved:flap_end")
        ]
    );
    let ended = bench.steps.iter().flat_map(|s| &s.events).rev().find_map(|e| match e.what {
        What::Resolved { ended_at, ending } => Some((ended_at, ending)),
        _ => None,
    });
    // The timer was restarted at 385, so what is dated back lies within 150 s before it.
    assert_eq!(ended, Some((260_000, Ending::FlapEnd)));
    assert!(bench.live.flaps.changes.is_empty() && !bench.live.flaps.flapping);
}

#[test]
fn a_flapping_monitor_waits_longer_for_every_milder_step() {
    let mut bench = Bench::new(&F5);
    bench.live.flaps.flapping = true;
    bench.fail(10, "abcde").fail(15, "abcde").run(15);
    for at in (20..1200).step_by(5) {
        bench.pass(at, "cde").fail(at, "ab");
    }
    bench.run(1000);
    assert_eq!(bench.words(), [(15, "opened:down"), (500, "downgraded:partial")]);
}

#[test]
fn the_longer_hold_of_flapping_is_half_an_hour_at_most_and_never_shorter_than_usual() {
    let hold = |recover_for| {
        let policy = Policy { recover_for, ..Policy::defaults(60_000, 10_000, 3) };
        super::super::state::Standpoint {
            state: State::Down,
            open: true,
            flapping: true,
            policy: &policy,
        }
        .hold_milder()
    };
    assert_eq!(hold(120_000), 480_000);
    assert_eq!(hold(600_000), 1_800_000);
    assert_eq!(hold(3_600_000), 3_600_000);
}

#[test]
fn an_incident_announced_before_maintenance_is_heard_through_it() {
    let mut bench = Bench::new(&F3).window(100, 400);
    for at in (10..200).step_by(5) {
        bench.fail(at, "abc");
    }
    for at in (200..600).step_by(5) {
        bench.pass(at, "abc");
    }
    bench.run(600);
    assert_eq!(bench.words(), [(15, "opened:down"), (325, "resolved")]);
}

#[test]
fn a_reopening_inside_maintenance_is_suppressed_and_announced_after_it() {
    let mut bench = Bench::new(&F3).window(200, 400);
    for at in (10..30).step_by(5) {
        bench.fail(at, "abc");
    }
    for at in (30..300).step_by(5) {
        bench.pass(at, "abc");
    }
    for at in (300..700).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(700);
    assert_eq!(
        bench.words(),
        [
            (15, "opened:down"),
            (155, "resolved"),
            (305, "suppressed:reopened:down"),
            (520, "opened:down:after_maintenance"),
        ]
    );
    let open = bench.live.incident.as_ref().expect("open");
    assert_eq!((open.started_at, open.opened_at, open.announced), (400_000, 520_000, true));
}

#[test]
fn a_suppressed_incident_reopens_aloud_after_maintenance() {
    let mut bench = Bench::new(&F3).window(100, 300);
    for at in (110..130).step_by(5) {
        bench.fail(at, "abc");
    }
    for at in (130..500).step_by(5) {
        bench.pass(at, "abc");
    }
    for at in (500..600).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(600);
    assert_eq!(
        bench.words(),
        [
            (60, "blind"),
            (115, "suppressed:opened:down"),
            (255, "suppressed:resolved"),
            (505, "reopened:down")
        ]
    );
}

#[test]
fn everything_inside_maintenance_is_suppressed_blindness_too() {
    let mut bench = Bench::new(&F3).window(100, 400);
    bench.pass(0, "abc").pass(60, "abc").run(299);
    bench.pass(300, "abc").run(300);
    assert_eq!(bench.words(), [(271, "suppressed:blind"), (300, "suppressed:blind_end")]);
}

#[test]
fn severity_moves_of_a_suppressed_incident_are_suppressed() {
    let mut bench = Bench::new(&F5).window(5, 400);
    for at in (10..300).step_by(5) {
        bench.fail(at, "ab");
        if at < 150 {
            bench.pass(at, "cde")
        } else {
            bench.fail(at, "cde")
        };
    }
    bench.run(200);
    assert_eq!(
        bench.words(),
        [(135, "suppressed:opened:partial"), (155, "suppressed:escalated:down")]
    );
}

#[test]
fn a_window_cut_short_is_announced_from_its_new_end() {
    let mut bench = Bench::new(&F3).window(5, 4000);
    for at in (10..700).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(300);
    bench.windows[0].end = 310_000;
    bench.run(500);
    assert_eq!(
        bench.words(),
        [(15, "suppressed:opened:down"), (430, "opened:down:after_maintenance")]
    );
    assert_eq!(bench.live.incident.as_ref().map(|i| i.started_at), Some(310_000));
}

#[test]
fn pausing_resolves_and_resuming_begins_anew() {
    let mut bench = Bench::new(&F3);
    bench.fail(10, "abc").fail(15, "abc").run(20);
    let halt = pause(&mut bench.live, 30_000);
    let resolved = What::Resolved { ended_at: 30_000, ending: Ending::Paused };
    assert_eq!(
        halt.events.iter().map(|e| (e.at, e.suppressed, e.what)).collect::<Vec<_>>(),
        [(30_000, false, resolved)]
    );
    assert_eq!(halt.state_change.map(|c| (c.from, c.to)), Some((State::Down, State::Paused)));
    bench.fail(40, "abc").run(50);
    assert_eq!(dispositions(&bench)[6..], [Disposition::History(HistoryOnly::Paused); 3]);
    assert_eq!((bench.live.state, bench.last().wake_at), (State::Paused, None));
    assert!(pause(&mut bench.live, 50_000).events.is_empty());
    let back = resume(&mut bench.live, 60_000);
    assert_eq!(back.state_change.map(|c| (c.from, c.to)), Some((State::Paused, State::Pending)));
    assert!(bench.live.votes.is_empty());
    bench.fail(70, "abc").run(70);
    assert_eq!(vote(&bench, "a"), VoteState::Suspect);
    let mut fresh = Live::default();
    assert_eq!(delete(&mut fresh, 5).events, []);
}

#[test]
fn intervals_begin_where_the_evidence_begins_and_never_overlap() {
    let mut bench = Bench::new(&F5);
    bench.every_minute(0, 120, "abcde", Outcome::Pass);
    bench.fail(130, "abcde").fail(135, "abcde").pass(200, "abcde").pass(210, "abcde");
    bench.every_minute(220, 900, "abcde", Outcome::Pass).run(900);
    let changes: Vec<_> = bench
        .steps
        .iter()
        .filter_map(|s| s.state_change)
        .map(|c| (c.to, c.at / 1000, c.since / 1000))
        .collect();
    assert_eq!(changes, [(State::Up, 0, 0), (State::Down, 135, 130), (State::Up, 330, 200)]);
}
