//! What is checked and how: one variant and one file per kind.
//!
//! A check travels as JSON with a `kind`. It is read by hand, through `serde_json::Value`, because
//! numbers keep their digits and every refusal names its field.
//!
//! # Secrets
//!
//! A check names secrets as `${secret:NAME}` in its URL, header values, body, proxy and credentials, or it
//! holds them as they are (a password, a bearer token, an `authorization` header, a `token=` in the
//! URL). Whoever stores a check follows this round:
//!
//! 1. `let mut check = Check::parse(value)?;`
//! 2. `let new = check.take_inline_secrets();` puts a placeholder `${secret:inline.…}` in the place of
//!    each and gives back those that were really typed in. `(hidden)` in such a place means "as
//!    before": it becomes the placeholder too, but nothing is given back for it.
//! 3. Store `check.to_value()` as it is, and `new`, encrypted, over what was stored before. Drop stored
//!    names that `check.secret_names()` no longer lists. Refuse names for which nothing is stored.
//!    Old values may only be kept when `check.sends_secrets_where(&old)`: else an edit of the URL
//!    would send them to somebody else.
//! 4. Show `check.redacted()`. A client that sends it back unchanged changes nothing.
//! 5. Give an agent the stored check and the secrets apart; the agent calls `with_secrets`, which also
//!    remembers what must never leave it again. A filled check is not for storing or sending.

pub mod heartbeat;
mod http;
mod secret;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::assertion::Assertion;
use super::fields::Fields;
use super::redactor::Redactor;
use super::secret::Secret;
use super::{Invalid, short};

use self::heartbeat::HeartbeatCheck;

pub use http::{Auth, Header, HttpCheck, HttpVersion, IpFamily, Tls};

/// A check that is valid: every field was looked at when it was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    Http(Box<HttpCheck>),
    Heartbeat(HeartbeatCheck),
}

/// The kinds that [`Check::parse`] knows.
pub const KINDS: &[&str] = &["http", "heartbeat"];

/// Something that is allowed but probably not what was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Warning {
    pub code: String,
    pub message: String,
}

impl Check {
    /// Reads a check object. Fields are named relative to it: `url`, `assertions[1].value`; the caller
    /// adds its own prefix with [`Invalid::under`].
    pub fn parse(value: Value) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, "")?;
        let kind = fields.required_string("kind")?;
        match kind.as_str() {
            "http" => HttpCheck::parse(fields).map(|check| Check::Http(Box::new(check))),
            heartbeat::KIND => HeartbeatCheck::parse(fields).map(Check::Heartbeat),
            other => Err(Invalid::new(
                "kind",
                format!(
                    "{:?} is not a kind of check; known are {}",
                    short(other),
                    KINDS.join(", ")
                ),
            )),
        }
    }

    /// The check as JSON, without fields that have their default. Placeholders stay placeholders.
    pub fn to_value(&self) -> Value {
        match self {
            Check::Heartbeat(check) => check.to_value(),
            Check::Http(check) => check.to_value(),
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Check::Heartbeat(_) => heartbeat::KIND,
            Check::Http(_) => "http",
        }
    }

    /// What is looked at, for people: without user info and secret parameters.
    pub fn target(&self) -> String {
        match self {
            Check::Heartbeat(check) => check.target(),
            Check::Http(check) => Redactor::default().url(check.url_text()),
        }
    }

    /// The host that is looked at: a name in wire form or an address.
    pub fn host(&self) -> String {
        match self {
            Check::Heartbeat(_) => String::new(),
            Check::Http(check) => check.url().host_str().unwrap_or_default().to_owned(),
        }
    }

    /// The conditions as written, without the ones that hold by default.
    pub fn assertions(&self) -> &[Assertion] {
        match self {
            Check::Heartbeat(_) => &[],
            Check::Http(check) => check.assertions(),
        }
    }

    /// Everything that must hold, in the order in which it is judged and shown.
    pub fn conditions(&self) -> Vec<&Assertion> {
        match self {
            Check::Heartbeat(_) => Vec::new(),
            Check::Http(check) => check.conditions().collect(),
        }
    }

    /// Names of all secrets that must be known before the check can run.
    pub fn secret_names(&self) -> BTreeSet<String> {
        match self {
            Check::Heartbeat(_) => BTreeSet::new(),
            Check::Http(check) => check.secret_names(),
        }
    }

    /// The check with its secrets in place, ready to run. Refuses a name that `secrets` lacks, and a
    /// value that cannot stand where it belongs (a line break in a header).
    pub fn with_secrets(
        &self,
        secrets: &BTreeMap<String, Secret<String>>,
    ) -> Result<Self, Invalid> {
        match self {
            Check::Heartbeat(_) => Ok(self.clone()),
            Check::Http(check) => {
                check.with_secrets(secrets).map(|check| Check::Http(Box::new(check)))
            }
        }
    }

    /// Takes out what was typed in as it is; see the round above.
    pub fn take_inline_secrets(&mut self) -> BTreeMap<String, Secret<String>> {
        match self {
            Check::Heartbeat(_) => BTreeMap::new(),
            Check::Http(check) => check.take_inline_secrets(),
        }
    }

    /// The check as it may be shown: `(hidden)` for every secret that was typed in, names for those
    /// that are named.
    pub fn redacted(&self) -> Value {
        let mut shown = self.clone();
        shown.take_inline_secrets();
        secret::hide_inline(shown.to_value())
    }

    /// Whether secrets stored for `old` would go to the same place as before.
    pub fn sends_secrets_where(&self, old: &Self) -> bool {
        match (self, old) {
            (Check::Http(new), Check::Http(old)) => {
                new.url().origin() == old.url().origin()
                    && new.proxy_text() == old.proxy_text()
                    && new.tls() == old.tls()
            }
            (Check::Heartbeat(_), Check::Heartbeat(_)) => true,
            _ => false,
        }
    }

    /// Finds every secret of a filled check, in every form in which it may be echoed.
    pub fn redactor(&self) -> Redactor {
        match self {
            Check::Heartbeat(_) => Redactor::default(),
            Check::Http(check) => check.redactor(),
        }
    }

    /// What is allowed but says little.
    pub fn lint(&self) -> Vec<Warning> {
        match self {
            Check::Heartbeat(_) => Vec::new(),
            Check::Http(check) => check.lint(),
        }
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Check {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Check::parse(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Check {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::OneOfBuilder::new()
            .item(http::Described::schema())
            .item(heartbeat::Described::schema())
            .description(Some("What is checked; `kind` says which of these it is."))
            .into()
    }
}

impl utoipa::ToSchema for Check {
    fn name() -> std::borrow::Cow<'static, str> {
        "Check".into()
    }
}

#[cfg(test)]
mod tests;
