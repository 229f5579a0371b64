//! Lines of access logs and state logs → [`Record`]s and [`Event`]s (spec: fleet 1). One file a format;
//! bytes in, slices of them out; no IO. A new format is a file here and an arm in [`Format`].

use crate::domain::fleet::{event::Event, record::Record};

/// What one line says.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    Request(Record<'a>),
    Event(Event),
    /// Valid and of no interest: a comment, a start message, a line of another kind in the same log.
    Nothing,
}

/// Why a line was refused. The line is counted and kept as a sample; nothing stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Reject(pub &'static str);

/// A format that can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    NginxCombined,
    NginxJson,
    IngressNginx,
    NginxError,
    ApacheCommon,
    ApacheCombined,
    ApacheVhost,
    /// HTTP log and state lines, in any envelope.
    Haproxy,
    /// Text, Envoy's own or Istio's.
    Envoy,
    /// Access, ejection and health-check logs in JSON.
    EnvoyJson,
    AwsAlb,
    AwsAlbHealth,
    TraefikJson,
    CaddyJson,
    /// `kubectl get pods,events -o json`: a document, not lines.
    Kubernetes,
    /// `aws elbv2 describe-target-health`: a document, not lines.
    TargetHealth,
    GenericJson,
}

/// What a parser cannot know from the lines.
#[derive(Debug, Clone)]
pub struct Context {
    /// Zone of stamps that carry none.
    pub tz: jiff::tz::TimeZone,
    /// For stamps without a year: the newest year that is not a day ahead of this, in µs since the epoch.
    pub now_us: i64,
}

impl Format {
    pub const ALL: [Self; 17] = [
        Self::NginxCombined,
        Self::NginxJson,
        Self::IngressNginx,
        Self::NginxError,
        Self::ApacheCommon,
        Self::ApacheCombined,
        Self::ApacheVhost,
        Self::Haproxy,
        Self::Envoy,
        Self::EnvoyJson,
        Self::AwsAlb,
        Self::AwsAlbHealth,
        Self::TraefikJson,
        Self::CaddyJson,
        Self::Kubernetes,
        Self::TargetHealth,
        Self::GenericJson,
    ];

    /// The name on the command line and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NginxCombined => "nginx-combined",
            Self::NginxJson => "nginx-json",
            Self::IngressNginx => "ingress-nginx",
            Self::NginxError => "nginx-error",
            Self::ApacheCommon => "apache-common",
            Self::ApacheCombined => "apache-combined",
            Self::ApacheVhost => "apache-vhost",
            Self::Haproxy => "haproxy",
            Self::Envoy => "envoy",
            Self::EnvoyJson => "envoy-json",
            Self::AwsAlb => "aws-alb",
            Self::AwsAlbHealth => "aws-alb-health",
            Self::TraefikJson => "traefik-json",
            Self::CaddyJson => "caddy-json",
            Self::Kubernetes => "kubernetes",
            Self::TargetHealth => "target-health",
            Self::GenericJson => "generic-json",
        }
    }
}
