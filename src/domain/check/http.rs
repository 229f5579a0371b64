//! Kind `http`: one request, its redirects, and conditions on the answer.

mod parse;
mod secrets;

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Map, Value, json};
use url::Url;

use super::headers::{self, Header};
use super::kind::Kind;
use super::secret::Secrets;
use super::shared::{self, IpFamily, Tls};
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::address::Host;
use crate::domain::assertion::{Assertion, Subject};
use crate::domain::redactor::Redactor;

pub(super) const DEFAULT_MAX_BODY: u32 = 1 << 20;
pub(super) const LARGEST_MAX_BODY: u32 = 16 << 20;
pub(super) const DEFAULT_MAX_REDIRECTS: u8 = 5;

/// A valid HTTP check. Texts may hold `${secret:NAME}` until [`super::Check::with_secrets`] fills them.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpCheck {
    /// As written, without user info (that becomes `auth`).
    url_text: String,
    /// Parsed, with `x` for every placeholder, so it is exact only in a filled check.
    url: Url,
    pub method: String,
    pub headers: Vec<Header>,
    pub body: Option<String>,
    pub auth: Option<Auth>,
    pub follow_redirects: bool,
    pub max_redirects: u8,
    pub http_version: HttpVersion,
    /// `http://[user:password@]host:port`; taken from here only, never from the environment.
    proxy: Option<String>,
    pub tls: Tls,
    pub ip_family: IpFamily,
    /// Decoded bytes.
    pub max_body: u32,
    assertions: Vec<Assertion>,
    /// Conditions that hold unless the monitor says otherwise.
    implied: Vec<Assertion>,
    /// Values that `with_secrets` put in.
    filled: Vec<String>,
    /// The body holds a secret: it must not go to another host.
    pub body_is_secret: bool,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Auth {
    Basic { username: String, password: String },
    Bearer(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/2 if TLS and the server offer it.
    #[default]
    Auto,
    Http1,
    Http2,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Auth::Basic { username, .. } => write!(f, "Basic({username}, hidden)"),
            Auth::Bearer(_) => f.write_str("Bearer(hidden)"),
        }
    }
}

impl HttpCheck {
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// As written, without user info.
    pub fn url_text(&self) -> &str {
        &self.url_text
    }

    pub fn proxy_text(&self) -> Option<&str> {
        self.proxy.as_deref()
    }

    /// The proxy of a filled check.
    pub fn proxy(&self) -> Option<Url> {
        self.proxy.as_deref().and_then(|text| Url::parse(text).ok())
    }

    pub fn tls(&self) -> &Tls {
        &self.tls
    }

    /// Whether a condition needs the body itself, and not only its size.
    pub fn looks_into_body(&self) -> bool {
        self.assertions.iter().any(|a| matches!(a.subject(), Subject::Body | Subject::Json(_)))
    }

    /// The conditions that hold by default: 2xx unless a condition looks at the status, and the days
    /// that `tls.min_days_left` asks for.
    fn imply(&mut self) {
        self.implied.clear();
        if !self.assertions.iter().any(|a| matches!(a.subject(), Subject::Status)) {
            self.implied.push(Assertion::status_is_success());
        }
        if let Some(days) = self.tls.min_days_left {
            self.implied.push(Assertion::days_left_at_least(days));
        }
    }
}

impl Kind for HttpCheck {
    fn name(&self) -> &'static str {
        "http"
    }

    fn target(&self) -> String {
        Redactor::default().url(&self.url_text)
    }

    fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }

    fn assertions(&self) -> &[Assertion] {
        &self.assertions
    }

    fn implied(&self) -> &[Assertion] {
        &self.implied
    }

    fn secret_names(&self) -> BTreeSet<String> {
        self.names_of_secrets()
    }

    fn with_secrets(&self, secrets: &Secrets) -> Result<Check, Invalid> {
        self.filled_with(secrets).map(|check| Check::Http(Box::new(check)))
    }

    fn take_inline_secrets(&mut self) -> Secrets {
        self.take_secrets()
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        let Check::Http(old) = old else { return false };
        self.url.origin() == old.url.origin() && self.proxy == old.proxy && self.tls == old.tls
    }

    fn redactor(&self) -> Redactor {
        Redactor::new(self.secret_texts().iter().map(String::as_str))
    }

    fn lint(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let looks_inside = |a: &Assertion| {
            matches!(
                a.subject(),
                Subject::Body
                    | Subject::Json(_)
                    | Subject::Size
                    | Subject::Header(_)
                    | Subject::CertFingerprint
            )
        };
        if !self.assertions.iter().any(looks_inside) {
            warnings.push(Warning {
                code: "only_status".into(),
                message: "Only the status is looked at: an error page that answers 200 would pass. Add a condition on the body or on a JSON value.".into(),
            });
        }
        if self.url.scheme() == "https" {
            warnings.extend(shared::not_verified(&self.tls));
        }
        if let Some(ip) = ip_of(&self.url) {
            warnings.extend(shared::closed_address(&Host::Ip(ip)));
        }
        if self.method == "HEAD" && self.looks_into_body() {
            warnings.push(Warning {
                code: "head_has_no_body".into(),
                message: "HEAD is answered without a body, so a condition on the body cannot hold. Use GET.".into(),
            });
        }
        warnings
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".into(), "http".into());
        map.insert("url".into(), self.url_text.clone().into());
        map.insert("method".into(), self.method.clone().into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
        put("headers", headers::to_value(&self.headers));
        put("body", self.body.clone().map(Value::from));
        put(
            "auth",
            self.auth.as_ref().map(|auth| match auth {
                Auth::Basic { username, password } => {
                    json!({"basic": {"username": username, "password": password}})
                }
                Auth::Bearer(token) => json!({"bearer": token}),
            }),
        );
        put("follow_redirects", (!self.follow_redirects).then_some(false.into()));
        put(
            "max_redirects",
            (self.max_redirects != DEFAULT_MAX_REDIRECTS).then_some(self.max_redirects.into()),
        );
        put(
            "http_version",
            match self.http_version {
                HttpVersion::Auto => None,
                HttpVersion::Http1 => Some("1.1".into()),
                HttpVersion::Http2 => Some("2".into()),
            },
        );
        put("proxy", self.proxy.clone().map(Value::from));
        put("tls", shared::tls_value(&self.tls));
        put("ip_family", shared::family_value(self.ip_family));
        put("max_body", (self.max_body != DEFAULT_MAX_BODY).then_some(self.max_body.into()));
        put("assertions", shared::assertions_value(&self.assertions));
        Value::Object(map)
    }
}

/// The address in a URL that holds one instead of a name.
fn ip_of(url: &Url) -> Option<IpAddr> {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(url::Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        _ => None,
    }
}

pub(super) use parse::Described;
