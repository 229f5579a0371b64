//! What a channel of each kind may be configured with.
//!
//! A configuration comes in as the JSON that people write and is split: what may be shown goes to the
//! `config` column, what must not (signing key, header values) is sealed. Going out, a hidden value is
//! null; coming in again, null means "as it was".

mod hosted;
mod webhook;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ChannelKind;
use crate::domain::{Invalid, fields::unknown_field, redactor::HIDDEN, secret::Secret};
pub use hosted::{
    AlertmanagerConfig, HookConfig, NtfyConfig, PagerDutyConfig, SlackConfig, TelegramConfig,
};
pub use webhook::key_bytes;
use webhook::{KEY_PREFIX, parse_webhook};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelConfig {
    Email(EmailConfig),
    Webhook(WebhookConfig),
    Slack(SlackConfig),
    Teams(HookConfig),
    Discord(HookConfig),
    Telegram(TelegramConfig),
    Ntfy(NtfyConfig),
    PagerDuty(PagerDutyConfig),
    Alertmanager(AlertmanagerConfig),
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
    /// What lets us in at a hosted service: the whole address of a chat's webhook, a bot's token, an
    /// access token, a routing key.
    pub token: Option<Secret<String>>,
    /// With what the other side signs its calls to us.
    pub callback: Option<Secret<String>>,
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
        let kept = kept.filter(|kept| kept.config.kind() == kind);
        read(kind, fields, |url| {
            let Some(kept) = kept else { return ChannelSecrets::default() };
            let mut secrets = kept.secrets.clone();
            if kept.config.place().is_some_and(|before| before.origin() != url.origin()) {
                secrets.headers.clear();
                secrets.token = None;
            }
            secrets
        })
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
        read(kind, fields, |_| secrets.clone()).map_err(|invalid| invalid.under("config"))
    }

    pub fn kind(&self) -> ChannelKind {
        match self {
            ChannelConfig::Email(_) => ChannelKind::Email,
            ChannelConfig::Webhook(_) => ChannelKind::Webhook,
            ChannelConfig::Slack(_) => ChannelKind::Slack,
            ChannelConfig::Teams(_) => ChannelKind::Teams,
            ChannelConfig::Discord(_) => ChannelKind::Discord,
            ChannelConfig::Telegram(_) => ChannelKind::Telegram,
            ChannelConfig::Ntfy(_) => ChannelKind::Ntfy,
            ChannelConfig::PagerDuty(_) => ChannelKind::PagerDuty,
            ChannelConfig::Alertmanager(_) => ChannelKind::Alertmanager,
        }
    }

    /// The server that it is sent to, without what must not be shown; none for mail.
    pub fn place(&self) -> Option<&url::Url> {
        match self {
            ChannelConfig::Email(_) => None,
            ChannelConfig::Webhook(webhook) => Some(&webhook.url),
            ChannelConfig::Slack(slack) => Some(&slack.server),
            ChannelConfig::Teams(hook) | ChannelConfig::Discord(hook) => Some(&hook.server),
            ChannelConfig::Telegram(telegram) => Some(&telegram.server),
            ChannelConfig::Ntfy(ntfy) => Some(&ntfy.server),
            ChannelConfig::PagerDuty(pagerduty) => Some(&pagerduty.server),
            ChannelConfig::Alertmanager(alertmanager) => Some(&alertmanager.url),
        }
    }

    /// What is stored and shown; [`ChannelConfig::parse`] reads it back.
    pub fn to_json(&self) -> Value {
        match self {
            ChannelConfig::Email(email) => json!({ "to": email.to }),
            ChannelConfig::Webhook(webhook) => {
                json!({ "url": webhook.url.as_str(), "headers": hidden(&webhook.headers) })
            }
            ChannelConfig::Slack(slack) => {
                let shown = json!({ "url": null, "server": slack.server.as_str() });
                with_callback(shown, "signing_secret", slack.answers)
            }
            ChannelConfig::Teams(hook) | ChannelConfig::Discord(hook) => {
                json!({ "url": null, "server": hook.server.as_str() })
            }
            ChannelConfig::Telegram(telegram) => json!({
                "token": null,
                "chat": telegram.chat,
                "thread": telegram.thread,
                "server": telegram.server.as_str(),
            }),
            ChannelConfig::Ntfy(ntfy) => json!({
                "server": ntfy.server.as_str(),
                "topic": ntfy.topic,
                "token": null,
            }),
            ChannelConfig::PagerDuty(pagerduty) => {
                let shown = json!({ "routing_key": null, "server": pagerduty.server.as_str() });
                with_callback(shown, "webhook_secret", pagerduty.answers)
            }
            ChannelConfig::Alertmanager(alertmanager) => json!({
                "url": alertmanager.url.as_str(),
                "headers": hidden(&alertmanager.headers),
            }),
        }
    }

    /// Where it goes, for lists and logs: the addresses, or the URL without its query.
    pub fn destination(&self) -> String {
        match self {
            ChannelConfig::Email(email) => email.to.join(", "),
            ChannelConfig::Webhook(WebhookConfig { url, .. })
            | ChannelConfig::Alertmanager(AlertmanagerConfig { url, .. }) => {
                let mut url = url.clone();
                url.set_query(None);
                url.to_string()
            }
            ChannelConfig::Telegram(telegram) => format!("chat {}", telegram.chat),
            ChannelConfig::Ntfy(ntfy) => format!("{}{}", ntfy.server, ntfy.topic),
            ChannelConfig::Slack(SlackConfig { server, .. })
            | ChannelConfig::Teams(HookConfig { server })
            | ChannelConfig::Discord(HookConfig { server })
            | ChannelConfig::PagerDuty(PagerDutyConfig { server, .. }) => {
                server.host_str().unwrap_or_default().to_owned()
            }
        }
    }
}

/// What signs calls to us is named only where it is set, so that it shows whether it is.
fn with_callback(mut shown: Value, name: &str, set: bool) -> Value {
    if set {
        shown[name] = HIDDEN.into();
    }
    shown
}

fn hidden(names: &[String]) -> Map<String, Value> {
    names.iter().map(|name| (name.clone(), Value::Null)).collect()
}

/// `kept` gives the secrets that are there already, by the server that is asked for now.
fn read(
    kind: ChannelKind,
    fields: &Map<String, Value>,
    kept: impl FnOnce(&url::Url) -> ChannelSecrets,
) -> Result<ParsedChannel, Invalid> {
    match kind {
        ChannelKind::Email => parse_email(fields),
        ChannelKind::Webhook => parse_webhook(fields, kept),
        ChannelKind::Slack => hosted::parse_slack(fields, kept),
        ChannelKind::Teams => hosted::parse_hook(fields, kept, ChannelConfig::Teams),
        ChannelKind::Discord => hosted::parse_hook(fields, kept, ChannelConfig::Discord),
        ChannelKind::Telegram => hosted::parse_telegram(fields, kept),
        ChannelKind::Ntfy => hosted::parse_ntfy(fields, kept),
        ChannelKind::PagerDuty => hosted::parse_pagerduty(fields, kept),
        ChannelKind::Alertmanager => hosted::parse_alertmanager(fields, kept),
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
        *self == Self::default()
    }

    /// The text that is sealed; [`ChannelSecrets::from_text`] reads it back.
    pub fn to_text(&self) -> Secret<String> {
        let headers: BTreeMap<&str, &str> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose().as_str()))
            .collect();
        let key = self.key.as_ref().map(|key| key.expose().as_str());
        let token = self.token.as_ref().map(|token| token.expose().as_str());
        let callback = self.callback.as_ref().map(|callback| callback.expose().as_str());
        let text = json!({ "key": key, "headers": headers, "token": token, "callback": callback });
        Secret::new(text.to_string())
    }

    /// None when it is not what [`ChannelSecrets::to_text`] writes.
    pub fn from_text(text: &Secret<String>) -> Option<Self> {
        let value: Value = serde_json::from_str(text.expose()).ok()?;
        let headers = value.get("headers")?.as_object()?;
        Some(Self {
            key: value.get("key")?.as_str().map(Secret::from),
            // Absent in what older versions wrote.
            token: value.get("token").and_then(Value::as_str).map(Secret::from),
            callback: value.get("callback").and_then(Value::as_str).map(Secret::from),
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
