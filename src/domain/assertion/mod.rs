//! Conditions on what a probe saw: typed, checked when they are saved, and unable to lie
//! (spec: probes 3).

mod compare;
mod judge;
mod literal;
mod names;
mod path;
pub(crate) mod rcode;

use serde_json::{Map, Value};

use self::literal::{Literal, Nature};
use super::decimal::Decimal;
use super::fields::Fields;
use super::{Invalid, short};

pub use judge::{Body, Seen, judge, shorten};
pub use path::Path;

/// How many conditions one check may have.
pub const MAX_ASSERTIONS: usize = 50;

/// One condition: `{"on":"header","name":"x-id","op":"eq","value":"7"}`.
#[derive(Debug, Clone)]
pub struct Assertion {
    on: Subject,
    op: Op,
    /// As it was written; null for `exists` and `absent`.
    value: Value,
    literal: Literal,
    /// Records are compared as names are.
    as_names: bool,
}

/// How many of several records a condition must hold for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Quantifier {
    #[default]
    Any,
    All,
    None,
}

/// What is looked at.
#[derive(Debug, Clone)]
pub enum Subject {
    Status,
    /// Name in lower case.
    Header(String),
    Body,
    Json(Path),
    LatencyMs,
    Size,
    HttpVersion,
    FinalUrl,
    Redirects,
    CertDaysLeft,
    CertIssuer,
    CertFingerprint,
    /// The response code of DNS by its name: `NOERROR`, `NXDOMAIN`.
    Rcode,
    /// The records of a DNS answer, as text.
    Record(Quantifier),
    RttMs,
    LossPct,
    /// The first thing that a server says.
    Banner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
    Contains,
    NotContains,
    Matches,
    NotMatches,
    Exists,
    Absent,
    LenEq,
    LenLt,
    LenGt,
}

/// The subjects that an HTTP check offers.
pub const HTTP_SUBJECTS: &[&str] = &[
    "status",
    "header",
    "body",
    "json",
    "latency_ms",
    "size",
    "http_version",
    "final_url",
    "redirects",
    "cert_days_left",
    "cert_issuer",
    "cert_fingerprint",
];

impl Assertion {
    /// Reads and checks one condition. `offered` are the subjects of the check's kind.
    pub fn parse(value: Value, offered: &[&str]) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, "")?;
        let name = fields.required_string("on")?;
        if !offered.contains(&name.as_str()) {
            return Err(Invalid::new(
                "on",
                format!(
                    "{:?} cannot be looked at here; known are {}",
                    short(&name),
                    offered.join(", ")
                ),
            ));
        }
        let on = Subject::parse(&name, &mut fields)?;
        let op_name = fields.required_string("op")?;
        let op = Op::parse(&op_name)?;
        let value = fields.take_even_null("value");
        fields.finish(&[
            "on",
            "op",
            "value",
            "name (of a header)",
            "path (of json)",
            "quantifier (of record)",
        ])?;
        let literal = Literal::read(&on, op, value.as_ref())?;
        Ok(Self { on, op, value: value.unwrap_or(Value::Null), literal, as_names: false })
    }

    /// Reads a list, naming the element that is wrong: `[1].value`.
    pub fn parse_list(values: Vec<Value>, offered: &[&str]) -> Result<Vec<Self>, Invalid> {
        if values.len() > MAX_ASSERTIONS {
            return Err(Invalid::new(
                "",
                format!("holds {} conditions; {MAX_ASSERTIONS} are allowed", values.len()),
            ));
        }
        values
            .into_iter()
            .enumerate()
            .map(|(index, value)| {
                Self::parse(value, offered).map_err(|refusal| refusal.under(&format!("[{index}]")))
            })
            .collect()
    }

    /// The rule that holds when no condition looks at the status: it must be 2xx.
    pub fn status_is_success() -> Self {
        Self {
            on: Subject::Status,
            op: Op::In,
            value: Value::from(vec!["2xx"]),
            literal: Literal::Statuses(vec![(200, 299)]),
            as_names: false,
        }
    }

    /// The rule that holds when no condition looks at the status and one only is right.
    pub fn status_is(status: u16) -> Self {
        Self {
            on: Subject::Status,
            op: Op::Eq,
            value: Value::from(status),
            literal: Literal::Statuses(vec![(status, status)]),
            as_names: false,
        }
    }

    /// At least so many days must be left to the certificate.
    pub fn days_left_at_least(days: i64) -> Self {
        Self {
            on: Subject::CertDaysLeft,
            op: Op::Ge,
            value: Value::from(days),
            literal: Literal::Number(Decimal::from(days)),
            as_names: false,
        }
    }

    /// The rule that holds when no condition looks at the response code of DNS.
    pub fn rcode_is_noerror() -> Self {
        Self {
            on: Subject::Rcode,
            op: Op::Eq,
            value: Value::from(rcode::NOERROR),
            literal: Literal::Values(vec![Value::from(rcode::NOERROR)]),
            as_names: false,
        }
    }

    /// From now on a condition on records compares them as names: without case and last dot.
    pub fn compare_as_names(&mut self) {
        if !matches!(self.on, Subject::Record(_)) {
            return;
        }
        self.as_names = true;
        self.literal.fold();
    }

    pub fn subject(&self) -> &Subject {
        &self.on
    }

    pub fn op(&self) -> Op {
        self.op
    }

    /// As it was written.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("on".into(), Value::from(self.on.name()));
        match &self.on {
            Subject::Header(name) => _ = map.insert("name".into(), Value::from(name.clone())),
            Subject::Json(path) => _ = map.insert("path".into(), Value::from(path.as_str())),
            Subject::Record(quantifier) if *quantifier != Quantifier::default() => {
                map.insert("quantifier".into(), Value::from(quantifier.name()));
            }
            _ => {}
        }
        map.insert("op".into(), Value::from(self.op.name()));
        if !matches!(self.literal, Literal::Nothing) {
            map.insert("value".into(), self.value.clone());
        }
        Value::Object(map)
    }
}

impl PartialEq for Assertion {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl Subject {
    fn parse(name: &str, fields: &mut Fields) -> Result<Self, Invalid> {
        Ok(match name {
            "status" => Subject::Status,
            "header" => {
                let header = fields.required_string("name")?.to_ascii_lowercase();
                if !is_header_name(&header) {
                    return Err(Invalid::given("name", &header, "is not a header name"));
                }
                Subject::Header(header)
            }
            "body" => Subject::Body,
            "json" => Subject::Json(Path::parse(&fields.required_string("path")?)?),
            "latency_ms" => Subject::LatencyMs,
            "size" => Subject::Size,
            "http_version" => Subject::HttpVersion,
            "final_url" => Subject::FinalUrl,
            "redirects" => Subject::Redirects,
            "cert_days_left" => Subject::CertDaysLeft,
            "cert_issuer" => Subject::CertIssuer,
            "cert_fingerprint" => Subject::CertFingerprint,
            "rcode" => Subject::Rcode,
            "record" => Subject::Record(Quantifier::parse(fields.string("quantifier")?)?),
            "rtt_ms" => Subject::RttMs,
            "loss_pct" => Subject::LossPct,
            "banner" => Subject::Banner,
            other => return Err(Invalid::given("on", other, "is not a known subject")),
        })
    }

    /// As in `on`.
    pub fn name(&self) -> &'static str {
        match self {
            Subject::Status => "status",
            Subject::Header(_) => "header",
            Subject::Body => "body",
            Subject::Json(_) => "json",
            Subject::LatencyMs => "latency_ms",
            Subject::Size => "size",
            Subject::HttpVersion => "http_version",
            Subject::FinalUrl => "final_url",
            Subject::Redirects => "redirects",
            Subject::CertDaysLeft => "cert_days_left",
            Subject::CertIssuer => "cert_issuer",
            Subject::CertFingerprint => "cert_fingerprint",
            Subject::Rcode => "rcode",
            Subject::Record(_) => "record",
            Subject::RttMs => "rtt_ms",
            Subject::LossPct => "loss_pct",
            Subject::Banner => "banner",
        }
    }

    /// With its argument, for people: `header x-id`, `$.status`.
    pub fn label(&self) -> String {
        match self {
            Subject::Header(name) => format!("header {name}"),
            Subject::Json(path) => path.as_str().to_owned(),
            Subject::Record(Quantifier::Any) => "any record".to_owned(),
            Subject::Record(Quantifier::All) => "all records".to_owned(),
            Subject::Record(Quantifier::None) => "no record".to_owned(),
            other => other.name().to_owned(),
        }
    }

    fn nature(&self) -> Nature {
        match self {
            Subject::Status => Nature::Status,
            Subject::LatencyMs
            | Subject::Size
            | Subject::Redirects
            | Subject::CertDaysLeft
            | Subject::RttMs
            | Subject::LossPct => Nature::Number,
            Subject::Header(_)
            | Subject::Body
            | Subject::HttpVersion
            | Subject::FinalUrl
            | Subject::CertIssuer
            | Subject::CertFingerprint
            | Subject::Rcode
            | Subject::Record(_)
            | Subject::Banner => Nature::Text,
            Subject::Json(_) => Nature::Json,
        }
    }
}

impl Quantifier {
    fn parse(name: Option<String>) -> Result<Self, Invalid> {
        match name.as_deref() {
            None | Some("any") => Ok(Self::Any),
            Some("all") => Ok(Self::All),
            Some("none") => Ok(Self::None),
            Some(other) => {
                Err(Invalid::given("quantifier", other, "is not known; use any, all or none"))
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::All => "all",
            Self::None => "none",
        }
    }
}

impl Op {
    const ALL: &'static [(Op, &'static str)] = &[
        (Op::Eq, "eq"),
        (Op::Ne, "ne"),
        (Op::Lt, "lt"),
        (Op::Le, "le"),
        (Op::Gt, "gt"),
        (Op::Ge, "ge"),
        (Op::In, "in"),
        (Op::NotIn, "not_in"),
        (Op::Contains, "contains"),
        (Op::NotContains, "not_contains"),
        (Op::Matches, "matches"),
        (Op::NotMatches, "not_matches"),
        (Op::Exists, "exists"),
        (Op::Absent, "absent"),
        (Op::LenEq, "len_eq"),
        (Op::LenLt, "len_lt"),
        (Op::LenGt, "len_gt"),
    ];

    fn parse(name: &str) -> Result<Self, Invalid> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(op, _)| *op).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            Invalid::new(
                "op",
                format!("{:?} is not an operator; known are {}", short(name), known.join(" ")),
            )
        })
    }

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    /// Holds when the opposite is true of nothing that was seen.
    fn negative(self) -> bool {
        matches!(self, Op::Ne | Op::NotIn | Op::NotContains | Op::NotMatches)
    }
}

/// RFC 9110 token.
pub(crate) fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 256
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests;
