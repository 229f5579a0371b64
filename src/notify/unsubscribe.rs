//! Leaving a mail channel by the link in a mail's header.
//!
//! The token is the address, sealed for the channel: whoever has the mail can take out that address
//! and nothing else.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use sqlx::PgConnection;
use url::Url;
use uuid::Uuid;

use super::message;
use crate::{
    domain::channel::ChannelConfig,
    store::{
        self,
        channels::ChannelValues,
        seal::{Place, Sealer},
    },
};

/// `{public}/unsubscribe/{channel}/{token}`: a POST there takes `address` out.
pub(super) fn link(
    public_url: Option<&Url>,
    sealer: &Sealer,
    channel: Uuid,
    address: &str,
) -> Option<String> {
    let token =
        URL_SAFE_NO_PAD.encode(sealer.seal(place(&channel.to_string()), address.as_bytes()));
    message::page(public_url?, &format!("unsubscribe/{channel}/{token}"))
}

/// Takes the token's address out of the channel; the last one switches the channel off. Answers the
/// address, or none when the token or the channel is not ours. Repeating it is harmless.
pub async fn unsubscribe(
    conn: &mut PgConnection,
    sealer: &Sealer,
    channel: Uuid,
    token: &str,
    now: Timestamp,
) -> sqlx::Result<Option<String>> {
    let Some(address) = open(sealer, channel, token) else { return Ok(None) };
    let Some(stored) = store::channels::get(conn, channel).await? else { return Ok(None) };
    let Ok(parsed) = super::deliver::open_channel(sealer, &stored) else { return Ok(None) };
    let ChannelConfig::Email(mut email) = parsed.config else { return Ok(None) };
    let before = email.to.len();
    email.to.retain(|known| !known.eq_ignore_ascii_case(&address));
    if email.to.len() == before {
        return Ok(Some(address));
    }
    if email.to.is_empty() {
        let reason = format!("{address}, the last recipient, unsubscribed.");
        store::channels::disable(conn, channel, &reason, now).await?;
        return Ok(Some(address));
    }
    let config = ChannelConfig::Email(email).to_json();
    let values = ChannelValues {
        name: &stored.name,
        kind: &stored.kind,
        config: &config,
        sealed: stored.sealed.as_deref(),
        is_default: stored.is_default,
        min_severity: &stored.min_severity,
        enabled: stored.enabled,
    };
    store::channels::update(conn, channel, &values, now).await?;
    Ok(Some(address))
}

fn open(sealer: &Sealer, channel: Uuid, token: &str) -> Option<String> {
    let sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
    Some(sealer.open_text(place(&channel.to_string()), &sealed).ok()?.into_exposed())
}

fn place(row: &str) -> Place<'_> {
    Place { table: "channel", column: "unsubscribe", row }
}
