//! Chat, paging and alert services: where each is, and the one secret that lets us in.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use url::Url;

use super::{
    ChannelConfig, ChannelSecrets, ParsedChannel, only,
    webhook::{parse_headers, parse_url},
};
use crate::domain::{Invalid, redactor::HIDDEN, secret::Secret, short};

const TELEGRAM: &str = "https://api.telegram.org/";
const NTFY: &str = "https://ntfy.sh/";
const PAGERDUTY: &str = "https://events.pagerduty.com/";

/// `{"url":"https://hooks.slack.com/services/…"}`; the address is the secret, and shown is its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookConfig {
    /// The address without path and query.
    pub server: Url,
}

/// The same, and `"signing_secret"` of the Slack app, with which presses of buttons are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackConfig {
    /// The address without path and query.
    pub server: Url,
    /// Buttons can be pressed: a signing secret is stored.
    pub answers: bool,
}

/// `{"token":"123:abc","chat":"-1001234567890","thread":7}`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelegramConfig {
    /// Telegram's own unless a Bot API server of one's own is used.
    pub server: Url,
    /// A number, or `@name` of a public channel.
    pub chat: String,
    /// A topic within a group.
    pub thread: Option<i64>,
}

/// `{"topic":"ops","server":"https://ntfy.sh","token":"tk_…"}`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtfyConfig {
    pub server: Url,
    pub topic: String,
}

/// `{"routing_key":"…","webhook_secret":"…"}`: of an Events API v2 integration, and of a webhook subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagerDutyConfig {
    /// The United States' unless given; `https://events.eu.pagerduty.com` for Europe.
    pub server: Url,
    /// What is done there is heard here: a webhook's secret is stored.
    pub answers: bool,
}

/// `{"url":"http://alertmanager:9093","headers":{"authorization":"Bearer …"}}`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertmanagerConfig {
    /// Its base: `api/v2/alerts` is added.
    pub url: Url,
    /// Lower-case names; the values are secrets.
    pub headers: Vec<String>,
}

pub(super) fn parse_hook(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&Url) -> ChannelSecrets,
    config: fn(HookConfig) -> ChannelConfig,
) -> Result<ParsedChannel, Invalid> {
    only(fields, &["url", "server"])?;
    let (server, secrets) = hook(fields, kept)?;
    Ok(ParsedChannel { config: config(HookConfig { server }), secrets })
}

pub(super) fn parse_slack(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&Url) -> ChannelSecrets,
) -> Result<ParsedChannel, Invalid> {
    only(fields, &["url", "server", "signing_secret"])?;
    let (server, mut secrets) = hook(fields, kept)?;
    secrets.callback = hidden_text(fields, "signing_secret", secrets.callback)?;
    let config = SlackConfig { server, answers: secrets.callback.is_some() };
    Ok(ParsedChannel { config: ChannelConfig::Slack(config), secrets })
}

/// The server of a chat's webhook, and its address as the token, beside what else was kept.
fn hook(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&Url) -> ChannelSecrets,
) -> Result<(Url, ChannelSecrets), Invalid> {
    let bare = |mut url: Url| {
        url.set_path("");
        url.set_query(None);
        url
    };
    if let Some(given) = fields.get("url").filter(|given| !given.is_null()) {
        let address = parse_url(Some(given))?;
        let token = Some(Secret::from(address.as_str()));
        let server = bare(address);
        let callback = kept(&server).callback;
        return Ok((server, ChannelSecrets { token, callback, ..ChannelSecrets::default() }));
    }
    // The server is told, never asked for: it follows from the address.
    let told = fields.get("server").and_then(Value::as_str).and_then(|text| Url::parse(text).ok());
    let secrets = kept(&told.ok_or_else(missing_url)?);
    let token = secrets.token.as_ref().ok_or_else(missing_url)?;
    let address = Url::parse(token.expose())
        .map_err(|_| Invalid::new("url", "is not a URL; enter it again"))?;
    Ok((bare(address), secrets))
}

fn missing_url() -> Invalid {
    Invalid::new("url", "is needed: the address that the chat gave for its incoming webhook")
}

pub(super) fn parse_telegram(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&Url) -> ChannelSecrets,
) -> Result<ParsedChannel, Invalid> {
    only(fields, &["token", "chat", "thread", "server"])?;
    let server = server(fields, TELEGRAM)?;
    let token = token(fields, "token", kept(&server))?
        .ok_or_else(|| Invalid::new("token", "is needed: the token that @BotFather gave"))?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
    if !token.expose().contains(':') || !token.expose().chars().all(fits) {
        return Err(Invalid::new("token", "is no bot token, which looks like 123456:AbC-dEf"));
    }
    let chat = match fields.get("chat") {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => {
            return Err(Invalid::new(
                "chat",
                "is needed: the chat's number, or @name of a channel",
            ));
        }
    };
    let name = chat.strip_prefix('@').is_some_and(|name| {
        name.len() >= 4 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    if !name && chat.parse::<i64>().is_err() {
        return Err(Invalid::given(
            "chat",
            &chat,
            "is neither a number such as -1001234567890 nor @name of a channel",
        ));
    }
    let thread = match fields.get("thread") {
        None | Some(Value::Null) => None,
        Some(value) => Some(
            value
                .as_i64()
                .filter(|thread| *thread > 0)
                .ok_or_else(|| Invalid::new("thread", "must be a topic's number"))?,
        ),
    };
    Ok(with_token(ChannelConfig::Telegram(TelegramConfig { server, chat, thread }), Some(token)))
}

pub(super) fn parse_ntfy(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&Url) -> ChannelSecrets,
) -> Result<ParsedChannel, Invalid> {
    only(fields, &["server", "topic", "token"])?;
    let server = server(fields, NTFY)?;
    let token = token(fields, "token", kept(&server))?;
    let topic = fields.get("topic").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if topic.is_empty() || topic.len() > 64 || !topic.chars().all(fits) {
        return Err(Invalid::new(
            "topic",
            "is needed: 1 to 64 letters, digits, hyphens and underscores",
        ));
    }
    Ok(with_token(ChannelConfig::Ntfy(NtfyConfig { server, topic }), token))
}

pub(super) fn parse_pagerduty(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&Url) -> ChannelSecrets,
) -> Result<ParsedChannel, Invalid> {
    only(fields, &["routing_key", "server", "webhook_secret"])?;
    let server = server(fields, PAGERDUTY)?;
    let kept = kept(&server);
    let callback = hidden_text(fields, "webhook_secret", kept.callback.clone())?;
    let key = token(fields, "routing_key", kept)?.ok_or_else(|| {
        Invalid::new(
            "routing_key",
            "is needed: the integration key of an Events API v2 integration",
        )
    })?;
    let fits = key.expose().chars().all(|c| c.is_ascii_alphanumeric());
    if key.expose().len() != 32 || !fits {
        return Err(Invalid::new("routing_key", "must be the 32 letters and digits of the key"));
    }
    let config = PagerDutyConfig { server, answers: callback.is_some() };
    let secrets = ChannelSecrets { token: Some(key), callback, ..ChannelSecrets::default() };
    Ok(ParsedChannel { config: ChannelConfig::PagerDuty(config), secrets })
}

pub(super) fn parse_alertmanager(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&Url) -> ChannelSecrets,
) -> Result<ParsedChannel, Invalid> {
    only(fields, &["url", "headers"])?;
    let url = parse_url(fields.get("url"))?;
    let kept = kept(&url);
    let headers = match fields.get("headers") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(headers)) => parse_headers(headers, &kept)?,
        Some(_) => return Err(Invalid::new("headers", "must be an object of names and values")),
    };
    Ok(ParsedChannel {
        config: ChannelConfig::Alertmanager(AlertmanagerConfig {
            url,
            headers: headers.keys().cloned().collect(),
        }),
        secrets: ChannelSecrets { headers, ..ChannelSecrets::default() },
    })
}

fn with_token(config: ChannelConfig, token: Option<Secret<String>>) -> ParsedChannel {
    ParsedChannel { config, secrets: ChannelSecrets { token, ..ChannelSecrets::default() } }
}

/// The service's own address unless another is given; always ends in a slash.
fn server(fields: &Map<String, Value>, usual: &str) -> Result<Url, Invalid> {
    let given = fields.get("server").filter(|value| !value.is_null());
    let text = match given {
        None => usual,
        Some(value) => value.as_str().ok_or_else(|| Invalid::new("server", "must be text"))?.trim(),
    };
    let wrong = |e: Invalid| Invalid::new("server", e.message);
    let mut url = parse_url(Some(&Value::from(text))).map_err(wrong)?;
    if url.query().is_some() {
        return Err(Invalid::given("server", &short(text), "must not have a query"));
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// The secret that is given, else the one that is there.
fn token(
    fields: &Map<String, Value>,
    name: &str,
    kept: ChannelSecrets,
) -> Result<Option<Secret<String>>, Invalid> {
    hidden_text(fields, name, kept.token)
}

/// The hidden text that is given, else the one that is there; an empty one takes it away.
fn hidden_text(
    fields: &Map<String, Value>,
    name: &str,
    kept: Option<Secret<String>>,
) -> Result<Option<Secret<String>>, Invalid> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(kept),
        Some(Value::String(text)) if text == HIDDEN => Ok(kept),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text))
            if text.len() <= 500 && text.trim().chars().all(|c| c.is_ascii_graphic()) =>
        {
            Ok(Some(Secret::from(text.trim())))
        }
        Some(Value::String(_)) => {
            Err(Invalid::new(name, "must be at most 500 plain characters without spaces"))
        }
        Some(_) => Err(Invalid::new(name, "must be text")),
    }
}
