//! What a channel of each kind may be configured with.
//!
//! A configuration comes in as the JSON that people write and is split: what may be shown goes to the
//! `config` column, what must not (signing key, header values) is sealed. Going out, a hidden value is
//! null; coming in again, null means "as it was".

mod webhook;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ChannelKind;
use crate::domain::{Invalid, fields::unknown_field, secret::Secret};
pub use webhook::key_bytes;
use webhook::{KEY_PREFIX, parse_webhook};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelConfig {
    Email(EmailConfig),
    Webhook(WebhookConfig),
}

/// `{"to":["ops@example.com"]}`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailConfig {
    /// 1 to 50 addresses, each once.
    pub to: Vec<String>,
}

/// `{"url":"https://…","headers":{"x-team":"secret value"},"secret":"whsec_…"}`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfig {
    /// http or https, without user and fragment.
    pub url: url::Url,
    /// Lower-case names; the values are secrets.
    pub headers: Vec<String>,
}

/// The hidden part of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelSecrets {
    /// Webhook signing key, `whsec_` and base64 of 24 to 64 bytes.
    pub key: Option<Secret<String>>,
    pub headers: BTreeMap<String, Secret<String>>,
}

/// A configuration in its two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedChannel {
    pub config: ChannelConfig,
    pub secrets: ChannelSecrets,
}

const MAX_ADDRESSES: usize = 50;
impl ChannelConfig {
    /// Reads a configuration as people write it. `kept` is what the channel had before: nulls take the
    /// secrets from there, header values only as long as the URL stays on the same host, so that
    /// nobody can have a stored secret sent to a place of their own. Field names in refusals start at
    /// `config`.
    pub fn parse(
        kind: ChannelKind,
        config: &Value,
        kept: Option<&ParsedChannel>,
    ) -> Result<ParsedChannel, Invalid> {
        let fields =
            config.as_object().ok_or_else(|| Invalid::new("config", "must be an object"))?;
        match kind {
            ChannelKind::Email => parse_email(fields),
            ChannelKind::Webhook => parse_webhook(fields, |url| match kept {
                Some(ParsedChannel { config: ChannelConfig::Webhook(before), secrets }) => {
                    let mut secrets = secrets.clone();
                    if before.url.origin() != url.origin() {
                        secrets.headers.clear();
                    }
                    secrets
                }
                _ => ChannelSecrets::default(),
            }),
        }
        .map_err(|invalid| invalid.under("config"))
    }

    /// Reads a configuration back from where it was stored, with its opened secrets.
    pub fn stored(
        kind: ChannelKind,
        config: &Value,
        secrets: &ChannelSecrets,
    ) -> Result<ParsedChannel, Invalid> {
        let fields =
            config.as_object().ok_or_else(|| Invalid::new("config", "must be an object"))?;
        match kind {
            ChannelKind::Email => parse_email(fields),
            ChannelKind::Webhook => parse_webhook(fields, |_| secrets.clone()),
        }
        .map_err(|invalid| invalid.under("config"))
    }

    pub fn kind(&self) -> ChannelKind {
        match self {
            ChannelConfig::Email(_) => ChannelKind::Email,
            ChannelConfig::Webhook(_) => ChannelKind::Webhook,
        }
    }

    /// What is stored and shown; [`ChannelConfig::parse`] reads it back.
    pub fn to_json(&self) -> Value {
        match self {
            ChannelConfig::Email(email) => json!({ "to": email.to }),
            ChannelConfig::Webhook(webhook) => {
                let headers: Map<String, Value> =
                    webhook.headers.iter().map(|name| (name.clone(), Value::Null)).collect();
                json!({ "url": webhook.url.as_str(), "headers": headers })
            }
        }
    }

    /// Where it goes, for lists and logs: the addresses, or the URL without its query.
    pub fn destination(&self) -> String {
        match self {
            ChannelConfig::Email(email) => email.to.join(", "),
            ChannelConfig::Webhook(webhook) => {
                let mut url = webhook.url.clone();
                url.set_query(None);
                url.to_string()
            }
        }
    }
}

impl ParsedChannel {
    /// Gives a channel that signs its key, made of `random`, unless it has one. The new key is
    /// returned, to be shown this once.
    pub fn ensure_key(&mut self, random: [u8; 32]) -> Option<Secret<String>> {
        if !matches!(self.config, ChannelConfig::Webhook(_)) || self.secrets.key.is_some() {
            return None;
        }
        use base64::Engine;
        let text =
            format!("{KEY_PREFIX}{}", base64::engine::general_purpose::STANDARD.encode(random));
        self.secrets.key = Some(Secret::new(text));
        self.secrets.key.clone()
    }
}

impl ChannelSecrets {
    pub fn is_empty(&self) -> bool {
        self.key.is_none() && self.headers.is_empty()
    }

    /// The text that is sealed; [`ChannelSecrets::from_text`] reads it back.
    pub fn to_text(&self) -> Secret<String> {
        let headers: BTreeMap<&str, &str> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose().as_str()))
            .collect();
        let key = self.key.as_ref().map(|key| key.expose().as_str());
        Secret::new(json!({ "key": key, "headers": headers }).to_string())
    }

    /// None when it is not what [`ChannelSecrets::to_text`] writes.
    pub fn from_text(text: &Secret<String>) -> Option<Self> {
        let value: Value = serde_json::from_str(text.expose()).ok()?;
        let headers = value.get("headers")?.as_object()?;
        Some(Self {
            key: value.get("key")?.as_str().map(Secret::from),
            headers: headers
                .iter()
                .map(|(name, value)| Some((name.clone(), Secret::from(value.as_str()?))))
                .collect::<Option<_>>()?,
        })
    }
}

pub(super) fn only(fields: &Map<String, Value>, known: &[&str]) -> Result<(), Invalid> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(unknown_field(name, known)),
    }
}

fn parse_email(fields: &Map<String, Value>) -> Result<ParsedChannel, Invalid> {
    only(fields, &["to"])?;
    let list = fields
        .get("to")
        .and_then(Value::as_array)
        .ok_or_else(|| Invalid::new("to", "is needed: a list of mail addresses"))?;
    if list.is_empty() || list.len() > MAX_ADDRESSES {
        return Err(Invalid::new(
            "to",
            format!("needs 1 to {MAX_ADDRESSES} addresses, not {}", list.len()),
        ));
    }
    let mut to: Vec<String> = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        let field = format!("to[{at}]");
        let text = entry.as_str().ok_or_else(|| Invalid::new(&field, "must be text"))?;
        let address = parse_address(&field, text)?;
        if !to.iter().any(|known| known.eq_ignore_ascii_case(&address)) {
            to.push(address);
        }
    }
    Ok(ParsedChannel {
        config: ChannelConfig::Email(EmailConfig { to }),
        secrets: ChannelSecrets::default(),
    })
}

/// One bare mail address (`ops@example.com`), trimmed.
pub(super) fn parse_address(field: &str, text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    let address: lettre::Address = text.parse().map_err(|_| {
        Invalid::given(field, text, "is not a mail address such as ops@example.com")
    })?;
    Ok(address.to_string())
}

#[cfg(test)]
mod tests;
