//! The life of an incident as channels hear it.

use super::*;
use proptest::prelude::*;

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn channel(n: u128, min_severity: Severity) -> ChannelRule {
    ChannelRule { id: id(n), is_default: true, min_severity, enabled: true }
}

/// Runs an incident's events past one channel and gives back what it hears.
fn life(rule: &ChannelRule, events: &[(NoticeKind, Severity)]) -> Vec<NoticeKind> {
    let mut told: Vec<Told> = Vec::new();
    let mut previous = events[0].1;
    let mut heard = Vec::new();
    for &(kind, severity) in events {
        for r in
            recipients(Event { kind, severity, previous }, None, &told, std::slice::from_ref(rule))
        {
            told = vec![Told { channel: r.channel, open: !r.kind.ends() }];
            heard.push(r.kind);
        }
        previous = severity;
    }
    heard
}

use NoticeKind::*;
use Severity::*;

#[test]
fn a_rise_to_the_minimum_is_heard_as_opened_and_its_end_too() {
    let events = [
        (Opened, Degraded),
        (Moved, Partial),
        (Moved, Down),
        (Moved, Degraded),
        (Resolved, Degraded),
    ];
    assert_eq!(life(&channel(1, Down), &events), [Opened, Moved, Resolved]);
    assert_eq!(life(&channel(1, Partial), &events), [Opened, Moved, Moved, Resolved]);
    assert_eq!(life(&channel(1, Degraded), &events), [Opened, Moved, Moved, Moved, Resolved]);
}

#[test]
fn an_incident_that_never_reached_the_minimum_is_never_heard() {
    let events = [(Opened, Degraded), (Moved, Partial), (FlapStart, Partial), (FlapEnd, Partial)];
    assert_eq!(life(&channel(1, Down), &events), []);
}

#[test]
fn moves_below_the_minimum_are_not_told_and_a_second_rise_is_a_move() {
    let events =
        [(Opened, Down), (Moved, Partial), (Moved, Degraded), (Moved, Down), (Resolved, Down)];
    assert_eq!(life(&channel(1, Down), &events), [Opened, Moved, Moved, Resolved]);
}

#[test]
fn a_reopening_below_the_minimum_is_silent_and_so_is_its_end() {
    let events = [(Opened, Down), (Resolved, Down), (Reopened, Degraded), (Resolved, Degraded)];
    assert_eq!(life(&channel(1, Down), &events), [Opened, Resolved]);
    let risen =
        [(Opened, Down), (Resolved, Down), (Reopened, Degraded), (Moved, Down), (Resolved, Down)];
    assert_eq!(life(&channel(1, Down), &risen), [Opened, Resolved, Reopened, Resolved]);
}

#[test]
fn a_reopening_of_something_unheard_is_heard_as_opened() {
    let events = [(Opened, Degraded), (Resolved, Degraded), (Reopened, Down), (Resolved, Down)];
    assert_eq!(life(&channel(1, Down), &events), [Opened, Resolved]);
}

#[test]
fn flapping_and_withdrawn_evidence_go_to_whoever_has_it_open() {
    let events = [(Opened, Down), (FlapStart, Down), (EvidenceWithdrawn, Down), (FlapEnd, Down)];
    assert_eq!(life(&channel(1, Down), &events), [Opened, FlapStart, EvidenceWithdrawn, FlapEnd]);
}

#[test]
fn routes_replace_the_defaults_but_an_owed_end_is_still_sent() {
    let by_default = channel(1, Degraded);
    let aside = ChannelRule { is_default: false, ..channel(2, Degraded) };
    let off = ChannelRule { enabled: false, ..channel(3, Degraded) };
    let all = [by_default, aside, off];
    let opened = Event { kind: Opened, severity: Down, previous: Down };
    let who = |list: Option<&[Uuid]>, told: &[Told], event| -> Vec<Uuid> {
        recipients(event, list, told, &all).into_iter().map(|r| r.channel).collect()
    };
    assert_eq!(who(None, &[], opened), [id(1)]);
    assert_eq!(who(Some(&[id(2), id(3)]), &[], opened), [id(2)]);
    assert!(who(Some(&[]), &[], opened).is_empty());
    let told = [Told { channel: id(1), open: true }, Told { channel: id(3), open: true }];
    assert_eq!(who(Some(&[id(2)]), &told, Event { kind: Moved, ..opened }), [id(2)]);
    assert_eq!(who(Some(&[id(2)]), &told, Event { kind: Resolved, ..opened }), [id(1)]);
}

#[test]
fn the_dedup_key_names_the_incident_and_fits() {
    let at = Timestamp::UNIX_EPOCH;
    let mut incident = IncidentFacts {
        uid: id(7),
        subject: "monitor:x".into(),
        started_at: at,
        opened_at: at,
        ended_at: None,
        resolve_reason: None,
        low: false,
    };
    assert_eq!(incident.dedup_key(), "quorate:monitor:x:00000000-0000-0000-0000-000000000007");
    incident.subject = "é".repeat(400);
    assert!(incident.dedup_key().len() <= 255);
    assert!(incident.dedup_key().ends_with(":00000000-0000-0000-0000-000000000007"));
}

#[test]
fn words_and_json_are_the_same() {
    for kind in NoticeKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        assert_eq!(NoticeKind::from_word(kind.word()), Some(kind));
    }
    for severity in [Degraded, Partial, Down] {
        assert_eq!(serde_json::to_value(severity).unwrap(), severity.name());
        assert_eq!(Severity::from_name(severity.name()), Some(severity));
    }
}

fn severity() -> impl Strategy<Value = Severity> {
    prop_oneof![Just(Degraded), Just(Partial), Just(Down)]
}

proptest! {
    /// Whatever an incident goes through, a channel hears beginnings and ends in turn, hears of
    /// every time the minimum was reached, and is never left with an open end.
    #[test]
    fn beginnings_and_ends_pair(
        min in severity(),
        lives in prop::collection::vec(prop::collection::vec(severity(), 1..6), 1..4),
    ) {
        let mut events = Vec::new();
        for (n, moves) in lives.iter().enumerate() {
            events.push((if n == 0 { Opened } else { Reopened }, moves[0]));
            for pair in moves.windows(2).filter(|pair| pair[0] != pair[1]) {
                events.push((Moved, pair[1]));
            }
            events.push((Resolved, *moves.last().unwrap()));
        }
        let heard = life(&channel(1, min), &events);
        let mut open = false;
        for kind in &heard {
            if kind.begins() {
                prop_assert!(!open, "two beginnings in {heard:?}");
                open = true;
            } else if kind.ends() {
                prop_assert!(open, "an end without a beginning in {heard:?}");
                open = false;
            } else {
                prop_assert!(open, "a move before a beginning in {heard:?}");
            }
        }
        prop_assert!(!open, "left open: {heard:?}");
        let due = lives.iter().filter(|moves| moves.iter().any(|s| *s >= min)).count();
        prop_assert_eq!(heard.iter().filter(|k| k.begins()).count(), due);
        prop_assert!(heard.first().is_none_or(|kind| *kind == Opened));
    }
}
