//! What people are told about an incident, and who is told.
//!
//! A [`Notice`] holds everything that rendering needs, as it was when decided; it is stored in the
//! outbox in the deciding transaction and read by `notify`. [`recipients`] is the rule by which a
//! channel hears of an event.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use super::incident::Severity;

/// What happened to the incident, as the receiver hears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    Opened,
    Reopened,
    /// The severity rose or fell.
    Moved,
    Resolved,
    /// It comes and goes: held open from here on, and no further word until it is steady.
    FlapStart,
    /// It held still, which ends flapping and the incident.
    FlapEnd,
    /// It began under maintenance, and is still there now that maintenance is over.
    AfterMaintenance,
    /// A location that saw it fail is no longer believed, and the rest are too few.
    EvidenceWithdrawn,
}

impl NoticeKind {
    pub const ALL: [NoticeKind; 8] = [
        NoticeKind::Opened,
        NoticeKind::Reopened,
        NoticeKind::Moved,
        NoticeKind::Resolved,
        NoticeKind::FlapStart,
        NoticeKind::FlapEnd,
        NoticeKind::AfterMaintenance,
        NoticeKind::EvidenceWithdrawn,
    ];

    /// The word in the database and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            NoticeKind::Opened => "opened",
            NoticeKind::Reopened => "reopened",
            NoticeKind::Moved => "moved",
            NoticeKind::Resolved => "resolved",
            NoticeKind::FlapStart => "flap_start",
            NoticeKind::FlapEnd => "flap_end",
            NoticeKind::AfterMaintenance => "after_maintenance",
            NoticeKind::EvidenceWithdrawn => "evidence_withdrawn",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The incident begins, or begins again, for whoever hears this.
    pub fn begins(self) -> bool {
        matches!(self, NoticeKind::Opened | NoticeKind::Reopened | NoticeKind::AfterMaintenance)
    }

    /// The incident is over for whoever hears this.
    pub fn ends(self) -> bool {
        matches!(self, NoticeKind::Resolved | NoticeKind::FlapEnd)
    }
}

/// One thing to tell. It is a format: stored in the outbox, and the base of the webhook's `data`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    pub kind: NoticeKind,
    /// Present severity; for an end, the one it had last.
    pub severity: Severity,
    /// Severity before this event; none for an opening.
    pub previous_severity: Option<Severity>,
    /// None for incidents that are about no monitor (the platform's own).
    pub monitor: Option<MonitorFacts>,
    /// Of an incident about a fleet: the alert stands for all that began within a minute of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetFacts>,
    /// Of an incident about an SLO: a rule that fires, or a budget that is spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<SloFacts>,
    pub incident: IncidentFacts,
    /// The verdict in one sentence or more, the same as on the incident's page.
    pub sentence: String,
    /// One line per configured location, fails first, uncounted last.
    pub locations: Vec<LocationLine>,
    /// `global`, `split`, a region or domain, or what failing locations share.
    pub scope: Option<String>,
    /// E: locations whose vote counts.
    pub eligible: u32,
    /// Q: locations that must agree.
    pub needed: u32,
    /// D: counted locations that see it fail.
    pub down: u32,
    pub decided_at: Timestamp,
    /// Beginning and end in one, because the end came before the beginning could be delivered. False
    /// as written by who decides; the outbox sets it.
    #[serde(default)]
    pub collapsed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MonitorFacts {
    pub uid: Uuid,
    pub name: String,
    /// Empty when the monitor is in no group.
    pub group: String,
    /// What is probed, as people write it (`https://shop.example/health`), without secrets.
    pub target: String,
    pub labels: std::collections::BTreeMap<String, String>,
    pub runbook_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetFacts {
    pub uid: Uuid,
    pub name: String,
    /// What was found, the gravest first.
    pub findings: Vec<FleetLine>,
}

impl FleetFacts {
    /// What is wrong in a few words: the gravest of what was found.
    pub fn title(&self) -> Option<&str> {
        let title = self.findings.first()?.title.as_str();
        (!title.is_empty()).then_some(title)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloFacts {
    pub uid: Uuid,
    pub name: String,
    /// Empty when it belongs to none.
    pub service: String,
    /// Who is responsible; empty when nobody was named.
    pub owner: String,
    pub labels: std::collections::BTreeMap<String, String>,
    /// The rule, or `budget`.
    pub alert: String,
    /// What it does, in a few words that go on after its name: `burns its error budget too fast`.
    pub title: String,
}

/// One finding of a fleet's alert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetLine {
    /// `fleet:{uid}:{kind}:{instance}`
    pub subject: String,
    /// What is wrong in a few words; empty in notices that are older than titles.
    #[serde(default)]
    pub title: String,
    pub severity: Severity,
    pub sentence: String,
    /// It goes on.
    pub open: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentFacts {
    pub uid: Uuid,
    /// `monitor:{uid}`, `fleet:{uid}:{kind}:{instance}`, `slo:{uid}:{rule}`, `platform:{cause}` …
    pub subject: String,
    /// Back-dated to the first fail.
    pub started_at: Timestamp,
    /// When it was decided.
    pub opened_at: Timestamp,
    /// Back-dated to the first pass; only with an end.
    pub ended_at: Option<Timestamp>,
    /// `recovered`, `paused`, `deleted` …; only with an end.
    pub resolve_reason: Option<String>,
    /// Low confidence: not every needed failure domain was seen.
    pub low: bool,
}

impl IncidentFacts {
    /// Names the incident to receivers that merge by key; it holds the incident's id, so that a late
    /// end cannot close a newer incident. At most 255 bytes.
    pub fn dedup_key(&self) -> String {
        const FIXED: usize = "quorate::".len() + 36;
        let mut subject = self.subject.as_str();
        while subject.len() > 255 - FIXED {
            let cut = subject.char_indices().next_back().map_or(0, |(at, _)| at);
            subject = &subject[..cut];
        }
        format!("quorate:{subject}:{}", self.uid)
    }
}

/// What one location says at the moment of the decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocationLine {
    pub name: String,
    pub region: String,
    pub domain: String,
    /// `none up slow suspect down recovering`
    pub vote: String,
    /// Failure class of its last fail (`connect_refused`); none for a pass.
    pub class: Option<String>,
    /// What it saw, in a few words: `HTTP 503 in 38 ms`; empty before its first result.
    pub saw: String,
    /// The address it connected to.
    pub address: Option<String>,
    pub simulated: bool,
    /// Why its vote does not count (`quarantined`, `stale` …); none when it counts.
    pub uncounted: Option<String>,
}

/// A change in what a failover group serves. It is a format: stored in the outbox, and the webhook's `data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailoverNotice {
    pub group: Uuid,
    pub name: String,
    /// Names of members, in the group's order.
    pub served: Vec<String>,
    pub served_before: Vec<String>,
    /// Too few would have been left, so all are served.
    pub fail_open: bool,
    pub sentence: String,
    pub members: Vec<FailoverLine>,
    pub decided_at: Timestamp,
}

impl FailoverNotice {
    /// The word in the outbox.
    pub const KIND: &'static str = "failover_changed";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailoverLine {
    pub name: String,
    pub address: String,
    pub weight: u16,
    pub serve: bool,
    pub reason: super::failover::Reason,
}

/// What the rule needs to know of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelRule {
    pub id: Uuid,
    pub is_default: bool,
    pub min_severity: Severity,
    pub enabled: bool,
}

/// A channel that an incident's notices have gone to, queued ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    pub channel: Uuid,
    /// The last thing it was told is not an end.
    pub open: bool,
}

/// Something happened to an announced incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub kind: NoticeKind,
    /// Present severity; for an end, the last one.
    pub severity: Severity,
    /// Severity before; for an opening the same as `severity`.
    pub previous: Severity,
}

/// One channel to tell, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    pub channel: Uuid,
    pub kind: NoticeKind,
}

/// Who hears of `event`, in the order of `channels`. Suppressed events are not asked about: nobody
/// hears them. `monitor_channels` none means the default channels. `told` is what this incident's
/// channels know already.
///
/// The life of an incident, as one channel sees it:
/// * it begins when the severity first reaches the channel's minimum. If that is by a rise (or by a
///   reopening) of an incident it knows nothing of, the channel hears it as opened;
/// * while it is open, every move with one end at or above the minimum is told, so also the fall
///   below it ("no longer down, now partly down": not over); moves wholly below are not;
/// * who was told that it is open is told, once, that it is over, whatever the severity was last and
///   even when the channel was since taken off the monitor: a pager must not stay lit;
/// * a reopening below the minimum is not told, and then neither is its end;
/// * a channel switched off hears nothing; switched on again, it still hears the end it is owed.
pub fn recipients(
    event: Event,
    monitor_channels: Option<&[Uuid]>,
    told: &[Told],
    channels: &[ChannelRule],
) -> Vec<Recipient> {
    let hears = |channel: &ChannelRule| -> Option<NoticeKind> {
        let open = told.iter().find(|t| t.channel == channel.id).map(|t| t.open);
        if !channel.enabled {
            return None;
        }
        if event.kind.ends() {
            return (open == Some(true)).then_some(event.kind);
        }
        let routed = match monitor_channels {
            None => channel.is_default,
            Some(list) => list.contains(&channel.id),
        };
        if !routed {
            return None;
        }
        let reached = event.severity >= channel.min_severity;
        let was_reached = event.previous >= channel.min_severity;
        match event.kind {
            NoticeKind::Opened | NoticeKind::AfterMaintenance => reached.then_some(event.kind),
            NoticeKind::Reopened | NoticeKind::Moved => match open {
                None => reached.then_some(NoticeKind::Opened),
                Some(false) => reached.then_some(NoticeKind::Reopened),
                Some(true) => (reached || was_reached).then_some(event.kind),
            },
            NoticeKind::FlapStart | NoticeKind::EvidenceWithdrawn => {
                (open == Some(true)).then_some(event.kind)
            }
            NoticeKind::Resolved | NoticeKind::FlapEnd => None,
        }
    };
    channels
        .iter()
        .filter_map(|channel| hears(channel).map(|kind| Recipient { channel: channel.id, kind }))
        .collect()
}

#[cfg(test)]
mod tests {
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
            for r in recipients(
                Event { kind, severity, previous },
                None,
                &told,
                std::slice::from_ref(rule),
            ) {
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
        let events =
            [(Opened, Degraded), (Moved, Partial), (FlapStart, Partial), (FlapEnd, Partial)];
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
        let risen = [
            (Opened, Down),
            (Resolved, Down),
            (Reopened, Degraded),
            (Moved, Down),
            (Resolved, Down),
        ];
        assert_eq!(life(&channel(1, Down), &risen), [Opened, Resolved, Reopened, Resolved]);
    }

    #[test]
    fn a_reopening_of_something_unheard_is_heard_as_opened() {
        let events = [(Opened, Degraded), (Resolved, Degraded), (Reopened, Down), (Resolved, Down)];
        assert_eq!(life(&channel(1, Down), &events), [Opened, Resolved]);
    }

    #[test]
    fn flapping_and_withdrawn_evidence_go_to_whoever_has_it_open() {
        let events =
            [(Opened, Down), (FlapStart, Down), (EvidenceWithdrawn, Down), (FlapEnd, Down)];
        assert_eq!(
            life(&channel(1, Down), &events),
            [Opened, FlapStart, EvidenceWithdrawn, FlapEnd]
        );
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
}
