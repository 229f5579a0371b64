//! The events of a decision in the words that people and the database have for them.

use super::Decided;
use crate::domain::{
    decision::{Event, What},
    incident::{Ending, Severity},
    notice::NoticeKind,
};

/// The kind, the severity now and the one before, for events that people may hear.
pub(super) fn told_as(
    event: &Event,
    one: &Decided,
) -> Option<(NoticeKind, Severity, Option<Severity>)> {
    let last = one.incident_before.as_ref().map_or(Severity::Down, |i| i.severity);
    Some(match event.what {
        What::Opened { severity, .. } => (NoticeKind::Opened, severity, None),
        What::Reopened { severity } => (NoticeKind::Reopened, severity, None),
        What::Escalated { from, to } | What::Downgraded { from, to } => {
            (NoticeKind::Moved, to, Some(from))
        }
        What::Resolved { ending: Ending::FlapEnd, .. } => (NoticeKind::FlapEnd, last, Some(last)),
        What::Resolved { .. } => (NoticeKind::Resolved, last, Some(last)),
        What::FlapStart => (NoticeKind::FlapStart, last, Some(last)),
        What::AfterMaintenance { severity, .. } => (NoticeKind::AfterMaintenance, severity, None),
        What::EvidenceWithdrawn => (NoticeKind::EvidenceWithdrawn, last, Some(last)),
        What::Blind | What::BlindEnd => return None,
    })
}

pub(super) fn ending_word(ending: Ending) -> &'static str {
    match ending {
        Ending::Recovered => "recovered",
        Ending::FlapEnd => "flap_end",
        Ending::Paused => "paused",
        Ending::Deleted => "deleted",
    }
}
