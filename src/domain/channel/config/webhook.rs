//! Where a webhook goes, what travels in its headers, and the key that signs it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{ChannelConfig, ChannelSecrets, ParsedChannel, WebhookConfig, only};
use crate::domain::{Invalid, secret::Secret, short};

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

pub(super) const KEY_PREFIX: &str = "whsec_";

/// The bytes of a signing key as Standard Webhooks writes it.
pub fn key_bytes(key: &Secret<String>) -> Option<Vec<u8>> {
    use base64::Engine;
    let encoded = key.expose().strip_prefix(KEY_PREFIX)?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    (24..=64).contains(&bytes.len()).then_some(bytes)
}

/// `kept` gives the secrets that are there already, by the URL that is asked for now.
pub(super) fn parse_webhook(
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
        secrets: ChannelSecrets { key, headers, ..ChannelSecrets::default() },
    })
}

pub(super) fn parse_url(value: Option<&Value>) -> Result<url::Url, Invalid> {
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

pub(super) fn parse_headers(
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
