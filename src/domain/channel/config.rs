//! What a channel of each kind may be configured with.
//!
//! A configuration comes in as the JSON that people write and is split: what may be shown goes to the
//! `config` column, what must not (signing key, header values) is sealed. Going out, a hidden value is
//! null; coming in again, null means "as it was".

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ChannelKind;
use crate::domain::{Invalid, fields::unknown_field, secret::Secret, short};

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
const MAX_HEADERS: usize = 20;
const MAX_HEADER_VALUE: usize = 4_096;
const MAX_URL: usize = 2_000;

/// Headers that we set ourselves, or that belong to the connection.
const OWN_HEADERS: [&str; 11] = [
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "keep-alive",
    "expect",
];

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

const KEY_PREFIX: &str = "whsec_";

/// The bytes of a signing key as Standard Webhooks writes it.
pub fn key_bytes(key: &Secret<String>) -> Option<Vec<u8>> {
    use base64::Engine;
    let encoded = key.expose().strip_prefix(KEY_PREFIX)?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    (24..=64).contains(&bytes.len()).then_some(bytes)
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
        Invalid::given(field, &text, "is not a mail address such as ops@example.com")
    })?;
    Ok(address.to_string())
}

fn parse_webhook(
    fields: &Map<String, Value>,
    kept: impl FnOnce(&url::Url) -> ChannelSecrets,
) -> Result<ParsedChannel, Invalid> {
    only(fields, &["url", "headers", "secret"])?;
    let url = parse_url(fields.get("url"))?;
    let kept = kept(&url);
    let headers = match fields.get("headers") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(headers)) => parse_headers(headers, &kept)?,
        Some(_) => return Err(Invalid::new("headers", "must be an object of names and values")),
    };
    let key = match fields.get("secret") {
        None | Some(Value::Null) => kept.key.clone(),
        Some(Value::String(text)) => {
            let key = Secret::from(text.trim());
            if key_bytes(&key).is_none() {
                return Err(Invalid::new(
                    "secret",
                    "must be whsec_ followed by the base64 of 24 to 64 bytes; leave it out to have one made",
                ));
            }
            Some(key)
        }
        Some(_) => return Err(Invalid::new("secret", "must be text")),
    };
    Ok(ParsedChannel {
        config: ChannelConfig::Webhook(WebhookConfig {
            url,
            headers: headers.keys().cloned().collect(),
        }),
        secrets: ChannelSecrets { key, headers },
    })
}

fn parse_url(value: Option<&Value>) -> Result<url::Url, Invalid> {
    let text = value
        .and_then(Value::as_str)
        .ok_or_else(|| Invalid::new("url", "is needed: the address to post to"))?
        .trim();
    if text.len() > MAX_URL {
        return Err(Invalid::new("url", format!("is longer than {MAX_URL} characters")));
    }
    let url: url::Url = text
        .parse()
        .map_err(|e| Invalid::new("url", format!("{:?} is not a URL: {e}", short(text))))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(Invalid::new(
            "url",
            format!("must begin with https:// or http://, not {}:", short(url.scheme())),
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Invalid::new(
            "url",
            "must not hold a user or password; put them into a header",
        ));
    }
    if url.fragment().is_some() {
        return Err(Invalid::new("url", "must not have a #fragment, which is never sent"));
    }
    Ok(url)
}

fn parse_headers(
    headers: &Map<String, Value>,
    kept: &ChannelSecrets,
) -> Result<BTreeMap<String, Secret<String>>, Invalid> {
    if headers.len() > MAX_HEADERS {
        return Err(Invalid::new(
            "headers",
            format!("holds {}, at most {MAX_HEADERS} are allowed", headers.len()),
        ));
    }
    let mut parsed = BTreeMap::new();
    for (name, value) in headers {
        if name.is_empty() {
            return Err(Invalid::new("headers", "has a header with an empty name"));
        }
        let field = format!("headers.{name}");
        let known = http::HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Invalid::new(&field, "is not a valid header name"))?;
        let known = known.as_str();
        if OWN_HEADERS.contains(&known) || known.starts_with("webhook-") {
            return Err(Invalid::new(&field, "is set by Quorate itself"));
        }
        let value = match value {
            Value::String(text) if text.len() > MAX_HEADER_VALUE => {
                return Err(Invalid::new(
                    &field,
                    format!("is longer than {MAX_HEADER_VALUE} characters"),
                ));
            }
            Value::String(text) if http::HeaderValue::from_str(text).is_ok() => {
                Secret::from(text.as_str())
            }
            Value::String(_) => {
                return Err(Invalid::new(&field, "holds a character that a header cannot carry"));
            }
            Value::Null => kept.headers.get(known).cloned().ok_or_else(|| {
                Invalid::new(&field, "has no value: null keeps a stored one, but there is none, or the URL went to another host; enter it again")
            })?,
            _ => {
                return Err(Invalid::new(&field, "must be text, or null to keep the stored value"));
            }
        };
        if parsed.insert(known.to_owned(), value).is_some() {
            return Err(Invalid::new(&field, "stands there twice"));
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(kind: ChannelKind, config: Value) -> Result<ParsedChannel, Invalid> {
        ChannelConfig::parse(kind, &config, None)
    }

    #[track_caller]
    fn refused(kind: ChannelKind, config: Value, field: &str, says: &str) {
        let invalid = parse(kind, config).expect_err("must be refused");
        assert_eq!(invalid.field, field);
        assert!(invalid.message.contains(says), "{invalid}");
    }

    #[test]
    fn email_takes_addresses_once_each() {
        let parsed = parse(
            ChannelKind::Email,
            json!({"to": [" ops@example.com", "OPS@example.com", "b+c@d.example"]}),
        )
        .unwrap();
        assert_eq!(parsed.config.to_json(), json!({"to": ["ops@example.com", "b+c@d.example"]}));
        assert!(parsed.secrets.is_empty());
        assert_eq!(parsed.config.destination(), "ops@example.com, b+c@d.example");
    }

    #[test]
    fn email_refusals_name_the_field() {
        use ChannelKind::Email;
        refused(Email, json!([]), "config", "object");
        refused(Email, json!({}), "config.to", "is needed");
        refused(Email, json!({"to": []}), "config.to", "1 to 50");
        refused(Email, json!({"to": vec!["a@b.example"; 51]}), "config.to", "51");
        refused(
            Email,
            json!({"to": ["a@b.example", "nobody"]}),
            "config.to[1]",
            "not a mail address",
        );
        refused(
            Email,
            json!({"to": ["a@b.example\r\nBcc: x@y.example"]}),
            "config.to[0]",
            "not a mail address",
        );
        refused(Email, json!({"to": [5]}), "config.to[0]", "text");
        refused(Email, json!({"to": ["a@b.example"], "cc": []}), "config.cc", "known are to");
    }

    #[test]
    fn a_webhook_hides_its_header_values_and_its_key() {
        let mut parsed = parse(
            ChannelKind::Webhook,
            json!({"url": "https://hooks.example/in?token=t", "headers": {"X-Team": "s3cret"}}),
        )
        .unwrap();
        let key = parsed.ensure_key([7; 32]).unwrap();
        assert_eq!(key_bytes(&key).unwrap(), [7; 32]);
        assert_eq!(parsed.ensure_key([8; 32]), None, "a key that is there stays");
        let shown = parsed.config.to_json();
        assert_eq!(
            shown,
            json!({"url": "https://hooks.example/in?token=t", "headers": {"x-team": null}})
        );
        assert_eq!(parsed.config.destination(), "https://hooks.example/in");

        let kept = ChannelSecrets::from_text(&parsed.secrets.to_text()).unwrap();
        assert_eq!(kept, parsed.secrets);
        let again = ChannelConfig::stored(ChannelKind::Webhook, &shown, &kept).unwrap();
        assert_eq!(again, parsed);
        assert_eq!(
            ChannelConfig::parse(ChannelKind::Webhook, &shown, Some(&parsed)).unwrap(),
            parsed
        );
        assert!(!format!("{again:?}").contains("s3cret"));
    }

    #[test]
    fn a_stored_header_value_does_not_follow_the_url_to_another_host() {
        let with = |url: &str, value: Value| json!({"url": url, "headers": {"x": value}});
        let mut before =
            parse(ChannelKind::Webhook, with("https://a.example/1", json!("s3cret"))).unwrap();
        before.ensure_key([7; 32]);
        let edit = |config| ChannelConfig::parse(ChannelKind::Webhook, &config, Some(&before));
        assert_eq!(edit(with("https://a.example/2", Value::Null)).unwrap().secrets, before.secrets);
        for elsewhere in ["https://b.example/1", "http://a.example/1", "https://a.example:444/1"] {
            let invalid = edit(with(elsewhere, Value::Null)).unwrap_err();
            assert_eq!(invalid.field, "config.headers.x");
            assert_eq!(
                edit(with(elsewhere, json!("new"))).unwrap().secrets.key,
                before.secrets.key
            );
        }
    }

    #[test]
    fn webhook_refusals_name_the_field() {
        use ChannelKind::Webhook;
        let with = |name: &str, value: Value| json!({"url": "https://a.example/", name: value});
        refused(Webhook, json!({}), "config.url", "is needed");
        refused(Webhook, json!({"url": "nonsense"}), "config.url", "not a URL");
        refused(Webhook, json!({"url": "ftp://a.example/"}), "config.url", "https://");
        refused(Webhook, json!({"url": "https://u:p@a.example/"}), "config.url", "header");
        refused(Webhook, json!({"url": "https://a.example/#x"}), "config.url", "#fragment");
        refused(
            Webhook,
            json!({"url": format!("https://a.example/{}", "x".repeat(2_000))}),
            "config.url",
            "2000",
        );
        refused(Webhook, with("method", json!("PUT")), "config.method", "known are url");
        refused(Webhook, with("headers", json!([])), "config.headers", "object");
        refused(Webhook, with("headers", json!({"a b": "x"})), "config.headers.a b", "name");
        refused(
            Webhook,
            with("headers", json!({"Webhook-Id": "x"})),
            "config.headers.Webhook-Id",
            "itself",
        );
        refused(Webhook, with("headers", json!({"x": "a\nb"})), "config.headers.x", "character");
        refused(Webhook, with("headers", json!({"x": 5})), "config.headers.x", "text");
        refused(Webhook, with("headers", json!({"x": null})), "config.headers.x", "has no value");
        refused(Webhook, with("headers", json!({"X": "1", "x": "2"})), "config.headers.x", "twice");
        refused(Webhook, with("secret", json!("whsec_!")), "config.secret", "base64");
        refused(Webhook, with("secret", json!("whsec_c2hvcnQ=")), "config.secret", "24 to 64");
    }
}
