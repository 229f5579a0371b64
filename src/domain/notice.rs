//! What people are told about an incident, and who is told.
//!
//! A [`Notice`] holds everything that rendering needs, as it was when decided; it is stored in the
//! outbox in the deciding transaction and read by `notify`. [`recipients`] is the rule by which a
//! channel hears of an event.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

mod facts;
pub mod fallback;
#[cfg(test)]
mod tests;

pub use self::facts::{
    CertificateFacts, FleetFacts, FleetLine, IncidentFacts, LocationLine, MonitorFacts,
    PlatformFacts, Prompt, SloFacts, StormFacts, StormLine,
};
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
    /// It is still open, and nobody is at it.
    Reminder,
    /// Somebody is at it.
    Acknowledged,
    /// Of a group of monitors that went down together, more are down or some are up again.
    GroupUpdate,
}

impl NoticeKind {
    pub const ALL: [NoticeKind; 11] = [
        NoticeKind::Opened,
        NoticeKind::Reopened,
        NoticeKind::Moved,
        NoticeKind::Resolved,
        NoticeKind::FlapStart,
        NoticeKind::FlapEnd,
        NoticeKind::AfterMaintenance,
        NoticeKind::EvidenceWithdrawn,
        NoticeKind::Reminder,
        NoticeKind::Acknowledged,
        NoticeKind::GroupUpdate,
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
            NoticeKind::Reminder => "reminder",
            NoticeKind::Acknowledged => "acknowledged",
            NoticeKind::GroupUpdate => "group_update",
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
    /// None for incidents that are about no monitor.
    pub monitor: Option<MonitorFacts>,
    /// Of an incident about a fleet: the alert stands for all that began within a minute of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetFacts>,
    /// Of an incident about an SLO: a rule that fires, or a budget that is spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<SloFacts>,
    /// Of an incident about Quorate itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformFacts>,
    /// Of an incident about a certificate that the monitor is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateFacts>,
    /// Why it is told now, if not because something happened to the incident by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// The alert stands for several monitors that went down together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storm: Option<StormFacts>,
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
            NoticeKind::FlapStart
            | NoticeKind::EvidenceWithdrawn
            | NoticeKind::Reminder
            | NoticeKind::Acknowledged => (open == Some(true)).then_some(event.kind),
            // Told by groups, not by the events of an incident.
            NoticeKind::Resolved | NoticeKind::FlapEnd | NoticeKind::GroupUpdate => None,
        }
    };
    channels
        .iter()
        .filter_map(|channel| hears(channel).map(|kind| Recipient { channel: channel.id, kind }))
        .collect()
}
