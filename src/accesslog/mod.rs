//! Lines of access logs and state logs → [`Record`]s and [`Event`]s (spec: fleet 1). One file a format;
//! bytes in, slices of them out; no IO. A new format is a file here, an arm in [`Format`] and one in
//! [`Parser::line`].
//!
//! * [`scan`], [`scan_json`], [`stamp`]: what the formats share: fields, JSON, times.
//! * [`upstream`]: nginx's parallel lists → attempts.
//! * [`detect`](detect()): which format the lines have.
//! * [`kubernetes`], [`target_health`]: documents instead of lines, see [`document`].

use std::{fmt, str::FromStr};

use crate::domain::fleet::{event::Event, record::Record};

pub mod apache;
pub mod aws_alb;
pub mod aws_alb_health;
pub mod caddy_json;
pub mod clf;
pub mod detect;
pub mod document;
pub mod envoy;
pub mod generic_json;
pub mod haproxy;
pub mod ingress_nginx;
pub mod kubernetes;
pub mod log_format;
pub mod mask;
pub mod nginx_combined;
pub mod nginx_error;
pub mod nginx_fields;
pub mod nginx_json;
pub mod scan;
pub mod scan_json;
pub mod stamp;
pub mod target_health;
pub mod traefik_json;
pub mod upstream;

pub use aws_alb_health::node;
pub use detect::{Detected, Undetected, detect};
use stamp::Stamps;

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

/// A format that cannot be used: a name that there is not, a pasted format that is ambiguous, a mapping
/// without what is needed. The text names the place and says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

/// Reads the lines of one source, one after the other. What it remembers between lines saves time, and
/// tells the cause of what only the line before explains.
#[derive(Debug, Clone)]
pub struct Parser {
    reader: Reader,
    stamps: Stamps,
    haproxy: haproxy::Memory,
    /// Who wrote the lines, of formats that say so only in the file's name.
    reporter: Option<String>,
}

#[derive(Debug, Clone)]
enum Reader {
    Named(Format),
    Custom(Box<log_format::LogFormat>),
    Mapped(Box<generic_json::Reader>),
}

const NO_YEAR: Reject = Reject("the time lies outside of the years 1 to 9999");

impl Parser {
    pub fn new(format: Format, context: &Context) -> Self {
        let reader = match format {
            Format::GenericJson => Reader::Mapped(Box::default()),
            named => Reader::Named(named),
        };
        Self::reading(reader, context)
    }

    /// For nginx's `log_format` as the user pasted it, and lines of its error log between them.
    pub fn custom(log_format: &str, context: &Context) -> Result<Self, Invalid> {
        let format = log_format::LogFormat::new(log_format)?;
        Ok(Self::reading(Reader::Custom(Box::new(format)), context))
    }

    /// For JSON lines with the user's own keys.
    pub fn mapped(mapping: &generic_json::Mapping, context: &Context) -> Result<Self, Invalid> {
        let reader = generic_json::Reader::new(mapping)?;
        Ok(Self::reading(Reader::Mapped(Box::new(reader)), context))
    }

    fn reading(reader: Reader, context: &Context) -> Self {
        Self {
            reader,
            stamps: Stamps::new(context),
            haproxy: haproxy::Memory::default(),
            reporter: None,
        }
    }

    /// The same for the lines of a file of this name: some programs say there which of several balancers
    /// wrote them.
    pub fn of_file(mut self, name: &str) -> Self {
        self.reporter = node(name).map(str::to_owned);
        self
    }

    /// One of another format, for further lines of the same file.
    pub fn instead(&self, format: Format, context: &Context) -> Self {
        Self { reporter: self.reporter.clone(), ..Self::new(format, context) }
    }

    /// What one line says, without its line end. Nothing is allocated for a request.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Reject> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Ok(Line::Nothing);
        }
        let said = self.read(line);
        // Epochs and durations may be any number, and whoever adds to a time wants room for it.
        match &said {
            Ok(Line::Request(record)) if !stamp::YEARS_US.contains(&record.end_us) => Err(NO_YEAR),
            Ok(Line::Event(event)) if !stamp::YEARS_US.contains(&event.at_us) => Err(NO_YEAR),
            _ => said,
        }
    }

    fn read<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Reject> {
        let stamps = &mut self.stamps;
        match &self.reader {
            // nginx may write its error log into the same stream, and what that says of upstreams is worth
            // as much; a line that is neither is refused for what the pasted format misses in it.
            Reader::Custom(format) => format
                .line(line, stamps)
                .or_else(|refused| nginx_error::line(line, stamps).map_err(|_| refused)),
            Reader::Mapped(mapping) => mapping.line(line, stamps),
            Reader::Named(format) => match format {
                Format::NginxCombined => nginx_combined::line(line, stamps),
                Format::NginxJson => nginx_json::line(line, stamps),
                Format::IngressNginx => ingress_nginx::line(line, stamps),
                Format::NginxError => nginx_error::line(line, stamps),
                Format::ApacheCommon | Format::ApacheCombined => apache::line(line, stamps),
                Format::ApacheVhost => apache::vhost_line(line, stamps),
                Format::Haproxy => haproxy::line(line, stamps, &mut self.haproxy),
                Format::Envoy => envoy::line(line, stamps),
                Format::EnvoyJson => envoy::json::line(line, stamps),
                Format::AwsAlb => aws_alb::line(line, stamps),
                Format::AwsAlbHealth => {
                    aws_alb_health::line(line, stamps, self.reporter.as_deref())
                }
                Format::TraefikJson => traefik_json::line(line, stamps),
                Format::CaddyJson => caddy_json::line(line, stamps),
                // `new` makes a reader with the usual keys of it.
                Format::GenericJson => generic_json::Reader::default().line(line, stamps),
                Format::Kubernetes | Format::TargetHealth => {
                    Err(Reject("this format is one document, not lines"))
                }
            },
        }
    }
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

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        if let Some(format) = Self::ALL.into_iter().find(|format| format.as_str() == name) {
            return Ok(format);
        }
        if let Some(unbuilt) = detect::UNBUILT.iter().find(|unbuilt| unbuilt.name == name) {
            return Err(Invalid(format!("{name:?} cannot be read: {}", unbuilt.why)));
        }
        let names: Vec<_> = Self::ALL.into_iter().map(Self::as_str).collect();
        Err(Invalid(format!("there is no format {name:?}; there are {}", names.join(", "))))
    }
}
