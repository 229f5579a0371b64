//! What events say for themselves, beside their word.

use super::super::verdict::counted;
use super::super::vote::VoteState;
use super::super::{Inputs, Live, What};
use super::span;
use crate::domain::Millis;

/// What an event says beyond its word, for a trace: `started at 144: the earliest run that carries it, at c`.
pub fn event_detail(
    live: &Live,
    inputs: &Inputs<'_>,
    what: &What,
    clock: &dyn Fn(Millis) -> String,
) -> Option<String> {
    match what {
        What::Opened { started_at, .. } => {
            let first = counted(live, inputs, live.folded_at).find(|c| {
                c.vote.state == VoteState::Down && c.vote.fails_since == Some(*started_at)
            });
            let at =
                first.map(|c| format!(": the earliest run that carries it, at {}", c.seat.name));
            Some(format!("started at {}{}", clock(*started_at), at.unwrap_or_default()))
        }
        What::Reopened { .. } => live.incident.as_ref().map(|incident| {
            let within = span(inputs.policy.reopen_within);
            format!(
                "the same incident as from {}, not {within} after it was resolved",
                clock(incident.started_at)
            )
        }),
        What::Escalated { from, .. } | What::Downgraded { from, .. } => {
            Some(format!("it was {}; the incident goes on", from.name()))
        }
        What::Blind => Some(format!("nothing was decided for {}", span(inputs.policy.blind_for))),
        What::EvidenceWithdrawn => {
            Some("who carried it is not believed any more, and the others are too few".to_owned())
        }
        What::Resolved { ended_at, .. } => Some(format!("ended at {}", clock(*ended_at))),
        What::AfterMaintenance { started_at, .. } => {
            Some(format!("counted from {}, the end of maintenance or later", clock(*started_at)))
        }
        What::FlapStart => {
            Some("held open: it would have been the 4th change within 30\u{a0}min".to_owned())
        }
        What::BlindEnd => Some("enough locations count again".to_owned()),
    }
}
