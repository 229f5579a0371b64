//! What a failover group serves from now on.

use super::{Message, Surroundings, Tone, instant};
use crate::domain::notice::FailoverNotice;

/// The message that tells what a failover group serves from now on.
pub fn compose_failover(notice: &FailoverNotice, around: &Surroundings) -> Message {
    let list = |names: &[String]| {
        if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
    };
    let full = notice.members.iter().all(|member| member.serve);
    Message {
        subject: format!("Failover of {}: {}", notice.name, list(&notice.served)),
        headline: format!("{} serves {}.", notice.name, list(&notice.served)),
        tone: match (notice.fail_open, full) {
            (true, _) => Tone::Down,
            (false, true) => Tone::Up,
            (false, false) => Tone::Degraded,
        },
        sentence: notice.sentence.clone(),
        facts: vec![
            ("Before", list(&notice.served_before)),
            ("Decided", instant(notice.decided_at, &around.zone)),
        ],
        rows: Vec::new(),
        first: None,
        links: around.public_url.iter().map(|url| ("Quorate", url.to_string())).collect(),
    }
}
