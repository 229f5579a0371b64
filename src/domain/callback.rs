//! What another service calls back about an incident that it was told of: whether the call is really its, what it
//! says, and whether that is news. A kind of channel that can be answered is a file here.

pub mod pagerduty;
pub mod slack;

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;
use uuid::Uuid;

use super::secret::Secret;

/// The longest name of somebody on the other side, in characters.
const NAME: usize = 100;

/// What somebody did on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Somebody is at it.
    Acknowledge,
    /// Nobody is at it any more.
    TakeBack,
    /// It was closed there, which says nothing about the target.
    Close,
}

/// One thing that the other side says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub act: Act,
    /// The incident that it is about, by our id.
    pub incident: Uuid,
    /// Who did it, and where: `Jane Doe (PagerDuty)`.
    pub who: String,
    /// Names it: the same however often it is delivered.
    pub id: String,
    /// When it was done, by the other side's clock.
    pub at: Timestamp,
}

/// Something that was done about an incident before.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    pub at: Timestamp,
    /// `acked unacked ack_expired note …`
    pub kind: &'a str,
    /// What was said that led to it, by its [`Said::id`], and through which channel it came.
    pub said: Option<(&'a str, Uuid)>,
}

/// Why nothing follows from what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    /// It was heard before.
    Again,
    /// It was undone since.
    Undone,
    /// The acknowledgement was given elsewhere, and holds as long as that says.
    NotTheirs,
}

impl Said {
    /// Whether it is to be acted on, after what was done `before`, oldest first. `theirs` are the channels through
    /// which the other side can answer.
    ///
    /// What the other side ends is only what it began: its own time-out concerns those whom it calls, and an
    /// acknowledgement that was given here has a time-out of its own.
    pub fn check(&self, before: &[Before<'_>], theirs: &[Uuid]) -> Result<(), Stale> {
        if before.iter().any(|one| one.said.is_some_and(|(id, _)| id == self.id)) {
            return Err(Stale::Again);
        }
        let last = |kinds: &[&str]| before.iter().rev().find(|one| kinds.contains(&one.kind));
        let undone = match self.act {
            Act::Acknowledge => last(&["unacked", "ack_expired"]),
            Act::TakeBack => last(&["acked"]),
            Act::Close => None,
        };
        if undone.is_some_and(|one| one.at > self.at) {
            return Err(Stale::Undone);
        }
        let channel = undone.and_then(|one| one.said).map(|(_, channel)| channel);
        match self.act {
            Act::TakeBack if !channel.is_some_and(|id| theirs.contains(&id)) => {
                Err(Stale::NotTheirs)
            }
            _ => Ok(()),
        }
    }
}

/// A name as it came, fit to be stored and shown, with the service that it is known to.
fn named(name: Option<&str>, service: &str) -> String {
    let kept: String = name.unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let kept: String = kept.trim().chars().take(NAME).collect();
    match kept.trim_end() {
        "" => service.to_owned(),
        name => format!("{name} ({service})"),
    }
}

/// Whether `hex` is the HMAC-SHA256 of the parts under the key. Takes as long for a wrong one as for the right one.
fn signed(key: &Secret<String>, parts: &[&[u8]], hex: &str) -> bool {
    let Ok(signature) = hex::decode(hex.trim()) else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.expose().as_bytes()) else { return false };
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(&signature).is_ok()
}

#[cfg(test)]
mod tests;
