//! The host part of a target, the same for every kind of check.

use std::fmt;
use std::net::IpAddr;

use crate::domain::short;

/// A name in its wire form (IDNA, lower case, no dot at the end), or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    Name(String),
    Ip(IpAddr),
}

impl Host {
    /// Reads what people type: `bücher.example`, `_dmarc.example.com`, `192.0.2.1`, `[2001:db8::1]` or
    /// `2001:db8::1`. Decimal, octal and hex spellings of IPv4 are read as the address that they are.
    /// The error is a sentence without its subject: `is empty`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("is empty".into());
        }
        if text.contains('%') {
            return Err("holds a %-encoded character; write the name itself".into());
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self::Ip(ip));
        }
        match url::Host::parse(text) {
            Ok(url::Host::Domain(name)) => Self::name(&name),
            Ok(url::Host::Ipv4(ip)) => Ok(Self::Ip(IpAddr::V4(ip))),
            Ok(url::Host::Ipv6(ip)) => Ok(Self::Ip(IpAddr::V6(ip))),
            Err(_) => Err(format!("{:?} is not a host name or an address", short(text))),
        }
    }

    fn name(name: &str) -> Result<Self, String> {
        let bare = name.strip_suffix('.').unwrap_or(name);
        if bare.is_empty() || bare.split('.').any(str::is_empty) {
            return Err(format!("{:?} has an empty part between its dots", short(name)));
        }
        if bare.len() > 253 {
            return Err("is longer than 253 characters".into());
        }
        match bare.split('.').find(|label| label.len() > 63) {
            Some(label) => Err(format!("the part {:?} is longer than 63 characters", short(label))),
            None => Ok(Self::Name(bare.to_ascii_lowercase())),
        }
    }
}

impl fmt::Display for Host {
    /// As it stands in a URL: IPv6 in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Ip(IpAddr::V4(ip)) => ip.fmt(f),
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}
