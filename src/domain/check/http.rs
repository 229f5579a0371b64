//! Kind `http`: one request, its redirects, and conditions on the answer.

mod parse;
mod secrets;

use std::net::IpAddr;

use serde_json::{Map, Value, json};
use url::Url;

use super::Warning;
use crate::domain::address::{AllowList, Blocked};
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

/// A request header; several may share a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// As written.
    pub name: String,
    pub value: String,
    /// A secret was filled in, so it goes to the monitor's own host only.
    pub secret: bool,
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IpFamily {
    #[default]
    Any,
    V4,
    V6,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// False: chain and name are reported but decide nothing.
    pub verify: bool,
    /// Asked for and verified instead of the URL's host, on the first host only.
    pub server_name: Option<String>,
    /// Fewer days than this are a failure.
    pub min_days_left: Option<i64>,
}

impl Default for Tls {
    fn default() -> Self {
        Self { verify: true, server_name: None, min_days_left: None }
    }
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

    pub fn assertions(&self) -> &[Assertion] {
        &self.assertions
    }

    /// Implied conditions first, then the monitor's own.
    pub fn conditions(&self) -> impl Iterator<Item = &Assertion> {
        self.implied.iter().chain(&self.assertions)
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

    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.secret_texts().iter().map(String::as_str))
    }

    pub(super) fn lint(&self) -> Vec<Warning> {
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
        if self.url.scheme() == "https" && !self.tls.verify {
            warnings.push(Warning {
                code: "tls_not_verified".into(),
                message: "The certificate is not verified: anybody between agent and server can answer. Turn tls.verify on, or compare cert_fingerprint.".into(),
            });
        }
        let ip = match self.url.host() {
            Some(url::Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(url::Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            _ => None,
        };
        if let Some(Err(Blocked::Address { ip, what, flag })) =
            ip.map(|ip| AllowList::default().check_ip(ip))
        {
            warnings.push(Warning {
                code: "closed_address".into(),
                message: format!("{ip} is {what}: an agent that was not started with {flag} does not probe it and reports blocked_address."),
            });
        }
        if self.method == "HEAD"
            && self
                .assertions
                .iter()
                .any(|a| matches!(a.subject(), Subject::Body | Subject::Json(_)))
        {
            warnings.push(Warning {
                code: "head_has_no_body".into(),
                message: "HEAD is answered without a body, so a condition on the body cannot hold. Use GET.".into(),
            });
        }
        warnings
    }

    pub(super) fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".into(), "http".into());
        map.insert("url".into(), self.url_text.clone().into());
        map.insert("method".into(), self.method.clone().into());
        if !self.headers.is_empty() {
            map.insert("headers".into(), self.headers_value());
        }
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
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
        put("tls", self.tls_value());
        put(
            "ip_family",
            match self.ip_family {
                IpFamily::Any => None,
                IpFamily::V4 => Some("4".into()),
                IpFamily::V6 => Some("6".into()),
            },
        );
        put("max_body", (self.max_body != DEFAULT_MAX_BODY).then_some(self.max_body.into()));
        let assertions = self.assertions.iter().map(Assertion::to_value).collect::<Vec<_>>();
        put("assertions", (!assertions.is_empty()).then_some(assertions.into()));
        Value::Object(map)
    }

    /// `{"name": "value"}`, or a list for a name that stands more than once.
    fn headers_value(&self) -> Value {
        let mut map: Map<String, Value> = Map::new();
        for header in &self.headers {
            let value = Value::from(header.value.clone());
            match map.get_mut(&header.name) {
                None => _ = map.insert(header.name.clone(), value),
                Some(Value::Array(values)) => values.push(value),
                Some(first) => *first = Value::Array(vec![first.take(), value]),
            }
        }
        Value::Object(map)
    }

    fn tls_value(&self) -> Option<Value> {
        let mut map = Map::new();
        if !self.tls.verify {
            map.insert("verify".into(), false.into());
        }
        if let Some(name) = &self.tls.server_name {
            map.insert("server_name".into(), name.clone().into());
        }
        if let Some(days) = self.tls.min_days_left {
            map.insert("min_days_left".into(), days.into());
        }
        (!map.is_empty()).then_some(Value::Object(map))
    }
}

pub(super) use parse::Described;
