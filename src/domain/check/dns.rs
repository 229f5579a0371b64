//! Kind `dns`: one question to a name server, and conditions on the whole answer.

mod parse;

use serde_json::{Map, Value};

use super::kind::Kind;
use super::secret::Secrets;
use super::shared::{self, IpFamily};
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::address::Host;
use crate::domain::assertion::{Assertion, Op, Subject};

pub(super) use parse::Described;

/// Where name servers listen.
const PORT: u16 = 53;

/// A valid DNS check. It holds no secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct DnsCheck {
    /// In wire form (IDNA, lower case, no dot at the end); `.` is the root.
    pub name: String,
    pub record: RecordType,
    /// `None`: the agent's own resolver.
    pub server: Option<NameServer>,
    /// Asked over TCP from the start; else over UDP, and over TCP if the answer was cut.
    pub tcp: bool,
    /// Of the way to a server that is given by name.
    pub ip_family: IpFamily,
    assertions: Vec<Assertion>,
    implied: Vec<Assertion>,
}

/// A name server to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameServer {
    /// As written.
    text: String,
    pub host: Host,
    pub port: u16,
}

/// The types of records that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordType {
    A,
    Aaaa,
    Cname,
    Mx,
    Ns,
    Txt,
    Caa,
    Soa,
    Srv,
    Ptr,
}

impl RecordType {
    const ALL: &'static [(RecordType, &'static str)] = &[
        (RecordType::A, "A"),
        (RecordType::Aaaa, "AAAA"),
        (RecordType::Cname, "CNAME"),
        (RecordType::Mx, "MX"),
        (RecordType::Ns, "NS"),
        (RecordType::Txt, "TXT"),
        (RecordType::Caa, "CAA"),
        (RecordType::Soa, "SOA"),
        (RecordType::Srv, "SRV"),
        (RecordType::Ptr, "PTR"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

impl DnsCheck {
    /// Whether the monitor says itself which response code it wants.
    pub fn judges_rcode(&self) -> bool {
        self.assertions.iter().any(|a| matches!(a.subject(), Subject::Rcode))
    }
}

impl Kind for DnsCheck {
    fn name(&self) -> &'static str {
        "dns"
    }

    /// `MX example.com`, and `MX example.com at 192.0.2.53` when a server is given.
    fn target(&self) -> String {
        let server = self.server.as_ref().map(|server| format!(" at {}", server.text));
        format!("{} {}{}", self.record.name(), self.name, server.unwrap_or_default())
    }

    fn host(&self) -> String {
        self.name.clone()
    }

    fn assertions(&self) -> &[Assertion] {
        &self.assertions
    }

    fn implied(&self) -> &[Assertion] {
        &self.implied
    }

    fn with_secrets(&self, _: &Secrets) -> Result<Check, Invalid> {
        Ok(Check::Dns(Box::new(self.clone())))
    }

    fn sends_secrets_where(&self, old: &Check) -> bool {
        // There are none that could go anywhere.
        matches!(old, Check::Dns(_))
    }

    fn lint(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let looks_at = |a: &Assertion| {
            matches!(a.subject(), Subject::Record(_))
                || matches!(a.subject(), Subject::Rcode) && a.op() == Op::Eq
        };
        if !self.assertions.iter().any(looks_at) {
            warnings.push(Warning {
                code: "only_rcode".into(),
                message: "Only the response code is looked at: an answer without any record would pass, and one with somebody else's. Add a condition on record.".into(),
            });
        }
        if let Some(server) = &self.server {
            warnings.extend(shared::closed_address(&server.host));
        }
        warnings
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".into(), "dns".into());
        map.insert("name".into(), self.name.clone().into());
        map.insert("type".into(), self.record.name().into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
        put("server", self.server.as_ref().map(|server| server.text.clone().into()));
        put("transport", self.tcp.then(|| "tcp".into()));
        put("ip_family", shared::family_value(self.ip_family));
        put("assertions", shared::assertions_value(&self.assertions));
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests;
