//! Settings that several kinds of check share: where to connect to, TLS, the address family.

use std::net::IpAddr;

use serde_json::{Map, Value};
use url::Url;

use super::{Warning, secret};
use crate::domain::address::{AllowList, Blocked, Host};
use crate::domain::assertion::{Assertion, Subject};
use crate::domain::fields::Fields;
use crate::domain::{Invalid, short};

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
    /// Asked for and verified instead of the target's host, on the first host only.
    pub server_name: Option<String>,
    /// Fewer days than this are a failure.
    pub min_days_left: Option<i64>,
}

impl Default for Tls {
    fn default() -> Self {
        Self { verify: true, server_name: None, min_days_left: None }
    }
}

/// `tcp://db.example:5432`: a host and a port behind a scheme, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// As written.
    text: String,
    pub scheme: String,
    pub host: Host,
    pub port: u16,
}

impl Endpoint {
    /// Reads the field `url`. A path, a query or user info is refused. Without a port of its own in the text
    /// `default_port` says which; `None` there: the port must be written.
    pub(super) fn parse(
        text: &str,
        schemes: &[&str],
        default_port: impl Fn(&str) -> Option<u16>,
    ) -> Result<Self, Invalid> {
        let text = text.trim();
        let url = parse_url(text, "url", schemes)?;
        let refused = |why: &str| Err(Invalid::new("url", why));
        if secret::has_placeholder(text) {
            return refused("cannot hold a secret");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("cannot hold a user name");
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return refused("is a host and a port only; leave out what follows them");
        }
        let scheme = url.scheme().to_owned();
        let host = host_of(text).and_then(|host| {
            Host::parse(host).map_err(|why| Invalid::new("url", format!("the host {why}")))
        })?;
        let Some(port) = url.port_or_known_default().or_else(|| default_port(&scheme)) else {
            return refused("needs a port, such as :5432 after the host");
        };
        Ok(Self { text: text.to_owned(), scheme, host, port })
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address, where one is written instead of a name.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        match self.host {
            Host::Name(_) => None,
            Host::Ip(ip) => Some(ip),
        }
    }

    /// Whether both lead to the same place, however they are written.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.scheme, &self.host, self.port) == (&other.scheme, &other.host, other.port)
    }

    /// The host as [`super::kind::Kind::host`] gives it.
    pub(super) fn bare_host(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Ip(ip) => ip.to_string(),
        }
    }
}

/// The host as it was typed, with the brackets of IPv6.
fn host_of(text: &str) -> Result<&str, Invalid> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Ok(bare(host))
}

fn bare(host: &str) -> &str {
    if host.starts_with('[') {
        host.split_inclusive(']').next().unwrap_or(host)
    } else {
        host.split(':').next().unwrap_or(host)
    }
}

/// What stands before the path is looked at as it was typed: the URL parser itself would decode
/// `%65xample.com` and would read a placeholder as a host.
pub(super) fn parse_url(text: &str, field: &str, schemes: &[&str]) -> Result<Url, Invalid> {
    let refused = |why: String| Invalid::new(field, why);
    let names = secret::fill(text, |_| Ok("x".into()))
        .map_err(|refusal| Invalid::new(field, refusal.message))?;
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(refused(format!(
            "needs a scheme, such as {}://",
            schemes.last().unwrap_or(&"http")
        )));
    };
    if !schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(refused(format!(
            "{:?} is not a scheme that can be used here; use {}",
            short(scheme),
            schemes.join(" or ")
        )));
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if secret::has_placeholder(host) || host.contains('{') {
        return Err(refused(
            "a secret cannot stand in the host; it belongs into the path, the query or a header"
                .into(),
        ));
    }
    if host.is_empty() || host.starts_with(':') {
        return Err(refused("has no host".into()));
    }
    Host::parse(bare(host)).map_err(|why| refused(format!("the host {why}")))?;
    let url = Url::parse(&names).map_err(|error| refused(format!("is not a URL: {error}")))?;
    if url.port() == Some(0) {
        return Err(refused("port 0 cannot be connected to".into()));
    }
    Ok(url)
}

/// Text, or the bare number that people write in YAML.
pub(super) fn family(fields: &mut Fields, ip: Option<IpAddr>) -> Result<IpFamily, Invalid> {
    let family = match fields.take("ip_family") {
        None => IpFamily::Any,
        Some(Value::String(text)) if text == "any" => IpFamily::Any,
        Some(value) if value == "4" || value.as_u64() == Some(4) => IpFamily::V4,
        Some(value) if value == "6" || value.as_u64() == Some(6) => IpFamily::V6,
        Some(_) => return Err(Invalid::new("ip_family", "must be any, 4 or 6")),
    };
    match (family, ip) {
        (IpFamily::V4, Some(IpAddr::V6(_))) | (IpFamily::V6, Some(IpAddr::V4(_))) => {
            Err(Invalid::new("ip_family", "contradicts the address in url"))
        }
        _ => Ok(family),
    }
}

/// As [`family`] reads it; nothing for the default.
pub(super) fn family_value(family: IpFamily) -> Option<Value> {
    match family {
        IpFamily::Any => None,
        IpFamily::V4 => Some("4".into()),
        IpFamily::V6 => Some("6".into()),
    }
}

/// Reads the object `tls`.
pub(super) fn tls(fields: &mut Fields) -> Result<Tls, Invalid> {
    let Some(value) = fields.take("tls") else { return Ok(Tls::default()) };
    let mut tls = Fields::of(value, "tls")?;
    let mut read = || {
        let server_name = match tls.string("server_name")? {
            None => None,
            Some(name) => {
                match Host::parse(&name).map_err(|why| Invalid::new("server_name", why))? {
                    Host::Name(name) => Some(name),
                    Host::Ip(_) => {
                        return Err(Invalid::new(
                            "server_name",
                            "must be a name; it is not sent for addresses",
                        ));
                    }
                }
            }
        };
        Ok(Tls {
            verify: tls.bool("verify")?.unwrap_or(true),
            server_name,
            min_days_left: tls.integer("min_days_left", 0..=3_650)?,
        })
    };
    let result = read().map_err(|refusal: Invalid| refusal.under("tls"))?;
    tls.finish(&["verify", "server_name", "min_days_left"])
        .map_err(|refusal| refusal.under("tls"))?;
    Ok(result)
}

/// As [`tls`] reads it; nothing for the default.
pub(super) fn tls_value(tls: &Tls) -> Option<Value> {
    let mut map = Map::new();
    if !tls.verify {
        map.insert("verify".into(), false.into());
    }
    if let Some(name) = &tls.server_name {
        map.insert("server_name".into(), name.clone().into());
    }
    if let Some(days) = tls.min_days_left {
        map.insert("min_days_left".into(), days.into());
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

/// Reads the list `assertions`; `offered` are the subjects of the kind.
pub(super) fn assertions(fields: &mut Fields, offered: &[&str]) -> Result<Vec<Assertion>, Invalid> {
    let values = fields.list("assertions")?.unwrap_or_default();
    Assertion::parse_list(values, offered).map_err(|refusal| refusal.under("assertions"))
}

/// As [`assertions`] reads them; nothing if there are none.
pub(super) fn assertions_value(assertions: &[Assertion]) -> Option<Value> {
    let values = assertions.iter().map(Assertion::to_value).collect::<Vec<_>>();
    (!values.is_empty()).then_some(values.into())
}

/// What people should know about an address that agents do not probe by default.
pub(super) fn closed_address(host: &Host) -> Option<Warning> {
    let Host::Ip(ip) = host else { return None };
    let Err(Blocked::Address { ip, what, flag }) = AllowList::default().check_ip(*ip) else {
        return None;
    };
    Some(Warning {
        code: "closed_address".into(),
        message: format!(
            "{ip} is {what}: an agent that was not started with {flag} does not probe it and reports blocked_address."
        ),
    })
}

/// What people should know about TLS that proves nothing.
pub(super) fn not_verified(tls: &Tls) -> Option<Warning> {
    (!tls.verify).then(|| Warning {
        code: "tls_not_verified".into(),
        message: "The certificate is not verified: anybody between agent and server can answer. Turn tls.verify on, or compare cert_fingerprint.".into(),
    })
}

/// What people should know about conditions on a certificate that nobody sends.
pub(super) fn no_certificate(assertions: &[Assertion]) -> Option<Warning> {
    let about_it = |a: &Assertion| {
        matches!(
            a.subject(),
            Subject::CertDaysLeft | Subject::CertIssuer | Subject::CertFingerprint
        )
    };
    assertions.iter().any(about_it).then(|| Warning {
        code: "no_certificate".into(),
        message: "The connection is not encrypted, so a condition on the certificate cannot hold."
            .into(),
    })
}

/// What people should know about a secret on a plain connection; `instead` encrypts it.
pub(super) fn secret_in_clear(instead: &str) -> Warning {
    Warning {
        code: "secret_in_clear".into(),
        message: format!(
            "A secret is sent over a connection that anybody on the way can read. Use {instead}."
        ),
    }
}

/// The condition that `tls.min_days_left` asks for.
pub(super) fn days_left(tls: &Tls) -> Vec<Assertion> {
    tls.min_days_left.map(Assertion::days_left_at_least).into_iter().collect()
}

/// The same text without `user:password@`.
pub(super) fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{tail}")
}
