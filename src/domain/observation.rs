//! What one probe saw. A failed check is a value with a typed reason, never an `Err`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The result of one attempt, as it travels from agent to coordinator and as `quorate probe --json`
/// prints it. Secrets were replaced before it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Observation {
    pub outcome: Outcome,
    /// Null for a pass.
    pub class: Option<Class>,
    /// One plain sentence for people; empty for a pass.
    #[serde(default)]
    pub message: String,
    /// Microseconds; absent means that the phase did not happen.
    #[serde(default)]
    pub phases_us: Phases,
    pub status: Option<u16>,
    pub http_version: Option<String>,
    /// The address connected to, without port.
    pub address: Option<String>,
    /// Decoded body bytes read.
    pub size: Option<u64>,
    #[serde(default)]
    pub hops: Vec<Hop>,
    pub certificate: Option<Certificate>,
    #[serde(default)]
    pub assertions: Vec<Judged>,
    pub evidence: Option<Evidence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Pass,
    /// The target's fault.
    Fail,
    /// Ours: it gives no vote and no freshness.
    Error,
}

/// Microseconds per phase, from a monotonic clock; redirects are summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Phases {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<u32>,
    pub total: u32,
}

/// One redirect that was followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Hop {
    pub url: String,
    pub status: u16,
    pub location: String,
    pub address: Option<String>,
    pub duration_us: u32,
}

/// Facts of the leaf certificate and of the path that was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
    /// SHA-256 of the leaf, lower-case hex.
    pub fingerprint: String,
    pub names: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    pub not_before: jiff::Timestamp,
    /// Earliest expiry of the path used.
    #[schema(value_type = String, format = DateTime)]
    pub not_after: jiff::Timestamp,
    /// Floored toward "sooner"; negative once expired.
    pub days_left: i32,
    pub chain_length: u8,
    pub tls_version: Option<String>,
    /// Whether the chain and the name were found valid (also told with `verify` off).
    pub valid: bool,
}

/// One assertion with what was really there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Judged {
    /// Subject with its argument, as people read it: `status`, `header x-id`, `$.status`.
    pub on: String,
    pub op: String,
    #[schema(value_type = Object)]
    pub value: serde_json::Value,
    /// Null when it could not be looked at, because there was no answer.
    pub holds: Option<bool>,
    /// What was there, shortened and with secrets replaced; or why there was nothing.
    pub actual: String,
}

/// Kept for failures only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Evidence {
    #[serde(default)]
    pub headers: BTreeMap<String, Vec<String>>,
    /// The first 4 KiB of the decoded body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    /// Every address that the name resolved to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<String>,
    /// What else the kind of check found: the response code of DNS, its records, a banner, a dialogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
}

/// One line of evidence with its name, such as `record` and `192.0.2.1`. Labels may repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Fact {
    pub label: String,
    pub value: String,
}

/// Declares the failure classes once: name on the wire, number in the database, whose fault, sentence
/// for people, and what to look at first.
macro_rules! classes {
    ($($variant:ident = $code:literal $name:literal $side:ident $sentence:literal $first:literal;)*) => {
        /// Failure classes (spec: probes 4). Numbers are stored, so they are never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Class { $(#[serde(rename = $name)] $variant,)* }

        impl Class {
            pub const ALL: &'static [Class] = &[$(Class::$variant,)*];
            pub fn code(self) -> i16 { match self { $(Class::$variant => $code,)* } }
            pub fn from_code(code: i16) -> Option<Self> { match code { $($code => Some(Class::$variant),)* _ => None } }
            pub fn name(self) -> &'static str { match self { $(Class::$variant => $name,)* } }
            pub fn from_name(name: &str) -> Option<Self> { match name { $($name => Some(Class::$variant),)* _ => None } }
            /// Whose fault it is: `Outcome::Fail` the target's, `Outcome::Error` ours.
            pub fn side(self) -> Outcome { match self { $(Class::$variant => Outcome::$side,)* } }
            /// One sentence for people.
            pub fn sentence(self) -> &'static str { match self { $(Class::$variant => $sentence,)* } }
            /// What to look at first.
            pub fn look_first(self) -> &'static str { match self { $(Class::$variant => $first,)* } }
        }
    };
}

// By hand, because the derive does not see names that a macro put into `serde(rename)`.
impl utoipa::PartialSchema for Class {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some("Failure classes."))
            .enum_values(Some(Class::ALL.iter().map(|class| class.name())))
            .into()
    }
}

impl utoipa::ToSchema for Class {}

classes! {
    DnsNxdomain = 1 "dns_nxdomain" Fail "The name does not exist." "the spelling of the name, and whether the domain or its record was removed or has expired";
    DnsNoAddress = 2 "dns_no_address" Fail "The name exists but has no address." "the A and AAAA records, and the address family this monitor is locked to";
    DnsServfail = 3 "dns_servfail" Fail "The name servers answered with an error." "the zone's name servers and its DNSSEC signatures";
    DnsTimeout = 4 "dns_timeout" Fail "The name did not resolve in time." "whether the zone's name servers answer";
    ConnectRefused = 10 "connect_refused" Fail "The connection was refused." "whether the service runs and listens on this port";
    ConnectTimeout = 11 "connect_timeout" Fail "The connection was not answered in time." "firewalls and routing, and whether the machine is up";
    ConnectUnreachable = 12 "connect_unreachable" Fail "The network reported the address as unreachable." "routing toward this address";
    ConnectReset = 13 "connect_reset" Fail "The connection was reset." "the load balancer or proxy in front, and the service's own log";
    TlsExpired = 20 "tls_expired" Fail "The certificate has expired." "certificate renewal, and whether the renewed one was loaded";
    TlsNotYetValid = 21 "tls_not_yet_valid" Fail "The certificate is not valid yet." "the clock of the machine that issued it";
    TlsNameMismatch = 22 "tls_name_mismatch" Fail "The certificate is for another name." "which virtual host answers for this name";
    TlsUntrusted = 23 "tls_untrusted" Fail "The certificate's issuer is not trusted." "whether it is self-signed or from a private authority";
    TlsIncompleteChain = 24 "tls_incomplete_chain" Fail "The server does not send the intermediate certificate." "the chain file: it must hold the leaf and every intermediate";
    TlsNoCommonVersion = 25 "tls_no_common_version" Fail "Server and probe have no TLS version or cipher in common." "the server's TLS settings";
    TlsHandshake = 26 "tls_handshake" Fail "The TLS handshake failed." "whether this port speaks TLS, and the server's TLS settings";
    TlsTimeout = 27 "tls_timeout" Fail "The TLS handshake did not end in time." "whether the port really speaks TLS, and how loaded the server is";
    HttpProtocol = 30 "http_protocol" Fail "The answer is not valid HTTP." "what program answers on this port";
    HttpTimeoutFirstByte = 31 "http_timeout_first_byte" Fail "The server took the request and stayed silent." "whether its workers or its database wait; connect is quick, so the machine and the network are there";
    HttpTimeoutBody = 32 "http_timeout_body" Fail "The answer began but did not end in time." "what slows the body: a stream, a slow query, a saturated line";
    BodyTruncated = 33 "body_truncated" Fail "The answer ended before it was complete." "whether a worker was killed or a proxy cut the answer";
    BodyEncoding = 34 "body_encoding" Fail "The body is not encoded as its header says." "compression settings of the server and of proxies";
    RedirectLimit = 35 "redirect_limit" Fail "Too many redirects." "whether two redirect rules send the visitor in a circle";
    RedirectInvalid = 36 "redirect_invalid" Fail "The redirect leads nowhere." "the Location header";
    Status = 40 "status" Fail "The status is not the one expected." "the application's own log at this time";
    Assertion = 41 "assertion" Fail "A condition does not hold." "the condition's actual value below";
    DialogueTimeout = 50 "dialogue_timeout" Fail "The dialogue did not go on in time." "what the server was waiting for";
    DialogueRejected = 51 "dialogue_rejected" Fail "The server answered what was declared a failure." "the server's answer below";
    GrpcNotServing = 60 "grpc_not_serving" Fail "The service says that it is not serving." "the service's own health state";
    GrpcUnimplemented = 61 "grpc_unimplemented" Fail "The server has no health service." "whether grpc.health.v1 is registered";
    GrpcStatus = 62 "grpc_status" Fail "The call ended with an error status." "the status below";
    IcmpNoReply = 70 "icmp_no_reply" Fail "No reply to any echo request." "whether the machine is up and echo requests are let through";
    HeartbeatMissed = 80 "heartbeat_missed" Fail "The heartbeat did not come in time." "whether the job still runs";
    HeartbeatFailed = 81 "heartbeat_failed" Fail "The job reported that it failed." "the job's own log";
    AgentNoNetwork = 100 "agent_no_network" Error "This location has no network." "the agent's own connection";
    AgentResolver = 101 "agent_resolver" Error "This location cannot resolve any name." "the agent's resolver";
    AgentOverload = 102 "agent_overload" Error "This agent is late with its work." "the agent's load and --max-in-flight";
    AgentSelfcheck = 103 "agent_selfcheck" Error "This location's own references fail." "the agent's own connection";
    AgentClock = 104 "agent_clock" Error "This agent's clock is wrong, so certificate dates cannot be judged." "time synchronisation of the agent";
    BlockedAddress = 105 "blocked_address" Error "This agent may not probe this address." "the agent's --allow-net";
    Permission = 106 "permission" Error "The agent lacks a permission." "the agent's capabilities";
    Cancelled = 107 "cancelled" Error "The probe was cancelled." "whether the agent was stopping";
    Internal = 108 "internal" Error "The agent failed, not the target." "the agent's log";
}

impl Outcome {
    pub fn code(self) -> i16 {
        match self {
            Outcome::Pass => 0,
            Outcome::Fail => 1,
            Outcome::Error => 2,
        }
    }

    pub fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Outcome::Pass),
            1 => Some(Outcome::Fail),
            2 => Some(Outcome::Error),
            _ => None,
        }
    }
}

/// Why the attempt was made (spec: decision 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    Scheduled,
    Retry,
    Confirm,
    /// By hand; stored, never a vote.
    Manual,
}

impl RunKind {
    pub fn code(self) -> i16 {
        match self {
            RunKind::Scheduled => 0,
            RunKind::Retry => 1,
            RunKind::Confirm => 2,
            RunKind::Manual => 3,
        }
    }

    pub fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(RunKind::Scheduled),
            1 => Some(RunKind::Retry),
            2 => Some(RunKind::Confirm),
            3 => Some(RunKind::Manual),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_are_distinct() {
        let mut seen = std::collections::HashSet::new();
        for class in Class::ALL {
            assert!(seen.insert(class.code()), "{class:?} shares its number");
            assert_eq!(Class::from_code(class.code()), Some(*class));
            assert_eq!(
                serde_json::to_value(class).ok(),
                Some(serde_json::Value::from(class.name()))
            );
            assert!(!class.sentence().is_empty() && !class.look_first().is_empty());
        }
    }
}
