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

mod dialogue;
mod dns;
mod grpc;
mod headers;
pub mod heartbeat;
mod http;
mod icmp;
mod kind;
mod secret;
mod shared;
mod smtp;
mod starttls;
mod tcp;
mod tls;
mod websocket;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use self::kind::Kind;
use super::assertion::Assertion;
use super::fields::Fields;
use super::redactor::Redactor;
use super::secret::Secret;
use super::{Invalid, short};

use self::heartbeat::HeartbeatCheck;

pub use dialogue::{Sent, Step};
pub use dns::{DnsCheck, NameServer, RecordType};
pub use grpc::GrpcCheck;
pub use headers::Header;
pub use http::{Auth, HttpCheck, HttpVersion};
pub use icmp::IcmpCheck;
pub use shared::{Endpoint, IpFamily, Tls};
pub use smtp::{SmtpCheck, When};
pub use starttls::Starttls;
pub use tcp::TcpCheck;
pub use tls::TlsCheck;
pub use websocket::WebsocketCheck;

/// A check that is valid: every field was looked at when it was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    Dns(Box<DnsCheck>),
    Grpc(Box<GrpcCheck>),
    Icmp(Box<IcmpCheck>),
    Http(Box<HttpCheck>),
    Heartbeat(HeartbeatCheck),
    Tcp(Box<TcpCheck>),
    Tls(Box<TlsCheck>),
    Smtp(Box<SmtpCheck>),
    Websocket(Box<WebsocketCheck>),
}

/// The kinds that [`Check::parse`] knows.
pub const KINDS: &[&str] =
    &["http", "tcp", "tls", "dns", "icmp", "grpc", "websocket", "smtp", "heartbeat"];

/// Schemes of URLs, and the kind of check that looks at such a one.
const SCHEMES: &[(&str, &str)] = &[
    ("http", "http"),
    ("https", "http"),
    ("tcp", "tcp"),
    ("tcps", "tcp"),
    ("tls", "tls"),
    ("smtp", "smtp"),
    ("smtps", "smtp"),
    ("ws", "websocket"),
    ("wss", "websocket"),
    ("dns", "dns"),
    ("icmp", "icmp"),
    ("grpc", "grpc"),
    ("grpcs", "grpc"),
];

/// The kind of check that suits a URL by its scheme, if one does.
pub fn kind_of_url(url: &str) -> Option<&'static str> {
    let (scheme, _) = url.trim().split_once(':')?;
    let found = SCHEMES.iter().find(|(known, _)| scheme.eq_ignore_ascii_case(known));
    found.map(|(_, kind)| *kind)
}

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
            "dns" => DnsCheck::parse(fields).map(|check| Check::Dns(Box::new(check))),
            "grpc" => GrpcCheck::parse(fields).map(|check| Check::Grpc(Box::new(check))),
            "icmp" => IcmpCheck::parse(fields).map(|check| Check::Icmp(Box::new(check))),
            "http" => HttpCheck::parse(fields).map(|check| Check::Http(Box::new(check))),
            heartbeat::KIND => HeartbeatCheck::parse(fields).map(Check::Heartbeat),
            "tcp" => TcpCheck::parse(fields).map(|check| Check::Tcp(Box::new(check))),
            "tls" => TlsCheck::parse(fields).map(|check| Check::Tls(Box::new(check))),
            "smtp" => SmtpCheck::parse(fields).map(|check| Check::Smtp(Box::new(check))),
            "websocket" => {
                WebsocketCheck::parse(fields).map(|check| Check::Websocket(Box::new(check)))
            }
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

    /// What its kind does for it.
    fn inner(&self) -> &dyn Kind {
        match self {
            Check::Heartbeat(check) => check,
            Check::Dns(check) => check.as_ref(),
            Check::Grpc(check) => check.as_ref(),
            Check::Icmp(check) => check.as_ref(),
            Check::Http(check) => check.as_ref(),
            Check::Tcp(check) => check.as_ref(),
            Check::Tls(check) => check.as_ref(),
            Check::Smtp(check) => check.as_ref(),
            Check::Websocket(check) => check.as_ref(),
        }
    }

    fn inner_mut(&mut self) -> &mut dyn Kind {
        match self {
            Check::Heartbeat(check) => check,
            Check::Dns(check) => check.as_mut(),
            Check::Grpc(check) => check.as_mut(),
            Check::Icmp(check) => check.as_mut(),
            Check::Http(check) => check.as_mut(),
            Check::Tcp(check) => check.as_mut(),
            Check::Tls(check) => check.as_mut(),
            Check::Smtp(check) => check.as_mut(),
            Check::Websocket(check) => check.as_mut(),
        }
    }

    /// The check as JSON, without fields that have their default. Placeholders stay placeholders.
    pub fn to_value(&self) -> Value {
        self.inner().to_value()
    }

    pub fn kind(&self) -> &'static str {
        self.inner().name()
    }

    /// What is looked at, for people: without user info and secret parameters.
    pub fn target(&self) -> String {
        self.inner().target()
    }

    /// The host that is looked at: a name in wire form or an address.
    pub fn host(&self) -> String {
        self.inner().host()
    }

    /// The conditions as written, without the ones that hold by default.
    pub fn assertions(&self) -> &[Assertion] {
        self.inner().assertions()
    }

    /// Everything that must hold, in the order in which it is judged and shown: what holds by default
    /// first, then the monitor's own.
    pub fn conditions(&self) -> Vec<&Assertion> {
        self.inner().implied().iter().chain(self.inner().assertions()).collect()
    }

    /// Names of all secrets that must be known before the check can run.
    pub fn secret_names(&self) -> BTreeSet<String> {
        self.inner().secret_names()
    }

    /// The check with its secrets in place, ready to run. Refuses a name that `secrets` lacks, and a
    /// value that cannot stand where it belongs (a line break in a header).
    pub fn with_secrets(
        &self,
        secrets: &BTreeMap<String, Secret<String>>,
    ) -> Result<Self, Invalid> {
        self.inner().with_secrets(secrets)
    }

    /// Takes out what was typed in as it is; see the round above.
    pub fn take_inline_secrets(&mut self) -> BTreeMap<String, Secret<String>> {
        self.inner_mut().take_inline_secrets()
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
        self.inner().sends_secrets_where(old)
    }

    /// Finds every secret of a filled check, in every form in which it may be echoed.
    pub fn redactor(&self) -> Redactor {
        self.inner().redactor()
    }

    /// What is allowed but says little.
    pub fn lint(&self) -> Vec<Warning> {
        self.inner().lint()
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
            .item(dns::Described::schema())
            .item(icmp::Described::schema())
            .item(grpc::Described::schema())
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
