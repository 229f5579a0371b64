//! Acknowledging by a link in a message, without a login.
//!
//! The token names the incident, who the message went to, and until when the link holds, sealed for the channel:
//! whoever has the message can say that they are at that incident, and nothing else.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use url::Url;
use uuid::Uuid;

use super::{
    Content, Parcel,
    message::{self, Message, Surroundings},
};
use crate::{
    domain::notice::NoticeKind,
    store::seal::{Place, Sealer},
};

/// Reminders bring newer links.
const HOLDS: SignedDuration = SignedDuration::from_hours(24);

/// What a link stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckLink {
    pub incident: Uuid,
    /// The mail address that it went to; empty for everybody who reads the channel.
    pub to: String,
}

impl Parcel<'_> {
    /// What people read, with a link by which they acknowledge where there is something to. `to` is the mail
    /// address that it goes to; empty for a channel that many read.
    pub(super) fn message_for(&self, around: &Surroundings, sealer: &Sealer, to: &str) -> Message {
        let mut message = self.message(around);
        let (Some(incident), Some(channel)) = (self.to_acknowledge(), self.channel) else {
            return message;
        };
        let link = AckLink { incident, to: to.to_owned() };
        if let Some(url) = link.url(around.public_url.as_ref(), sealer, channel, self.now) {
            message.links.insert(message.links.len().min(1), ("Acknowledge", url));
        }
        message
    }

    /// The incident that whoever reads this may say to be at; none for an end, and for what is no alert.
    pub(super) fn to_acknowledge(&self) -> Option<Uuid> {
        let Content::Notice(notice) = &self.content else { return None };
        let open = !notice.kind.ends() && notice.kind != NoticeKind::Acknowledged;
        open.then_some(notice.incident.uid)
    }
}

impl AckLink {
    /// `{public}/ack/{channel}?t={token}`: a GET there asks, a POST acknowledges.
    fn url(
        &self,
        public_url: Option<&Url>,
        sealer: &Sealer,
        channel: Uuid,
        now: Timestamp,
    ) -> Option<String> {
        let until = now.saturating_add(HOLDS).ok()?.as_second();
        let text = format!("{} {until} {}", self.incident, self.to);
        let sealed = sealer.seal(place(&channel.to_string()), text.as_bytes());
        let token = URL_SAFE_NO_PAD.encode(sealed);
        message::page(public_url?, &format!("ack/{channel}?t={token}"))
    }

    /// What the token of a link stands for; none when it is not ours or has run out.
    pub fn read(sealer: &Sealer, channel: Uuid, token: &str, now: Timestamp) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
        let text = sealer.open_text(place(&channel.to_string()), &sealed).ok()?.into_exposed();
        let mut parts = text.splitn(3, ' ');
        let incident = parts.next()?.parse().ok()?;
        let until: i64 = parts.next()?.parse().ok()?;
        let to = parts.next()?.to_owned();
        (now.as_second() < until).then_some(Self { incident, to })
    }
}

fn place(row: &str) -> Place<'_> {
    Place { table: "channel", column: "ack", row }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_holds_for_a_day_and_for_its_channel() {
        let sealer = Sealer::from_text(&"cd".repeat(32)).unwrap();
        let now: Timestamp = "2026-11-17T02:00:00Z".parse().unwrap();
        let (channel, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let link = AckLink { incident: Uuid::from_u128(7), to: "ops@example.com".into() };
        let public = Url::parse("https://quorate.example/mon").unwrap();
        let url = link.url(Some(&public), &sealer, channel, now).unwrap();
        let (page, token) = url.split_once("?t=").unwrap();
        assert_eq!(page, format!("https://quorate.example/mon/ack/{channel}"));
        let read = |channel, token: &str, later| {
            AckLink::read(&sealer, channel, token, now + SignedDuration::from_secs(later))
        };
        assert_eq!(read(channel, token, 86_399), Some(link));
        assert_eq!(read(channel, token, 86_400), None);
        assert_eq!(read(other, token, 0), None);
        assert_eq!(read(channel, &token[1..], 0), None);
    }
}
