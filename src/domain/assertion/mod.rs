//! Conditions on what a probe saw: typed, checked when they are saved, and unable to lie
//! (spec: probes 3).

mod judge;
mod path;

use regex::Regex;
use serde_json::{Map, Value};

use super::Invalid;
use super::decimal::Decimal;
use super::fields::{Fields, kind_of};

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

/// The value in the form in which it is compared.
#[derive(Debug, Clone)]
enum Literal {
    Nothing,
    /// Inclusive ranges of statuses.
    Statuses(Vec<(u16, u16)>),
    /// One for `eq` and `ne`, any number for `in` and `not_in`.
    Values(Vec<Value>),
    Number(Decimal),
    /// What `contains` looks for.
    Part(Value),
    Pattern(Regex),
    Length(u64),
}

/// What kind of thing a subject is; it decides which operators and literals make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    Status,
    Number,
    Text,
    Json,
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
            return Err(Invalid::new("on", format!("{name} cannot be looked at here; known are {}", offered.join(", "))));
        }
        let on = Subject::parse(&name, &mut fields)?;
        let op_name = fields.required_string("op")?;
        let op = Op::parse(&op_name)?;
        let value = fields.take_even_null("value");
        fields.finish(&["on", "op", "value", "name (of a header)", "path (of json)"])?;
        let literal = literal(&on, op, value.as_ref())?;
        Ok(Self { on, op, value: value.unwrap_or(Value::Null), literal })
    }

    /// Reads a list, naming the element that is wrong: `[1].value`.
    pub fn parse_list(values: Vec<Value>, offered: &[&str]) -> Result<Vec<Self>, Invalid> {
        if values.len() > MAX_ASSERTIONS {
            return Err(Invalid::new("", format!("holds {} conditions; {MAX_ASSERTIONS} are allowed", values.len())));
        }
        values
            .into_iter()
            .enumerate()
            .map(|(index, value)| Self::parse(value, offered).map_err(|refusal| refusal.under(&format!("[{index}]"))))
            .collect()
    }

    /// The rule that holds when no condition looks at the status: it must be 2xx.
    pub fn status_is_success() -> Self {
        Self {
            on: Subject::Status,
            op: Op::In,
            value: Value::from(vec!["2xx"]),
            literal: Literal::Statuses(vec![(200, 299)]),
        }
    }

    /// At least so many days must be left to the certificate.
    pub fn days_left_at_least(days: i64) -> Self {
        Self { on: Subject::CertDaysLeft, op: Op::Ge, value: Value::from(days), literal: Literal::Number(Decimal::from(days)) }
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
                    return Err(Invalid::new("name", format!("{header:?} is not a header name")));
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
            other => return Err(Invalid::new("on", format!("{other} is not a known subject"))),
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
        }
    }

    /// With its argument, for people: `header x-id`, `$.status`.
    pub fn label(&self) -> String {
        match self {
            Subject::Header(name) => format!("header {name}"),
            Subject::Json(path) => path.as_str().to_owned(),
            other => other.name().to_owned(),
        }
    }

    fn nature(&self) -> Nature {
        match self {
            Subject::Status => Nature::Status,
            Subject::LatencyMs | Subject::Size | Subject::Redirects | Subject::CertDaysLeft => Nature::Number,
            Subject::Header(_)
            | Subject::Body
            | Subject::HttpVersion
            | Subject::FinalUrl
            | Subject::CertIssuer
            | Subject::CertFingerprint => Nature::Text,
            Subject::Json(_) => Nature::Json,
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
            Invalid::new("op", format!("{name} is not an operator; known are {}", known.join(" ")))
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

/// Checks that operator and value suit the subject, and prepares the value.
fn literal(on: &Subject, op: Op, value: Option<&Value>) -> Result<Literal, Invalid> {
    let nature = on.nature();
    let refused = |why: &str| Err(Invalid::new("op", format!("{} does not suit {}: {why}", op.name(), on.name())));
    match op {
        Op::Exists | Op::Absent => {
            return match value {
                None | Some(Value::Null) => Ok(Literal::Nothing),
                Some(_) => Err(Invalid::new("value", format!("{} takes no value", op.name()))),
            };
        }
        Op::Contains | Op::NotContains | Op::Matches | Op::NotMatches | Op::LenEq | Op::LenLt | Op::LenGt
            if matches!(nature, Nature::Status | Nature::Number) =>
        {
            return refused("it is a number; use eq, ne, lt, le, gt, ge, in or not_in");
        }
        Op::Lt | Op::Le | Op::Gt | Op::Ge if nature == Nature::Text => {
            return refused("it is text, and only numbers are smaller or larger");
        }
        _ => {}
    }
    let Some(value) = value else { return Err(Invalid::new("value", "is missing")) };
    match op {
        Op::Eq | Op::Ne if nature == Nature::Status => Ok(Literal::Statuses(vec![status_range(value, "value")?])),
        Op::In | Op::NotIn if nature == Nature::Status => {
            each(value, |item, field| status_range(item, field)).map(Literal::Statuses)
        }
        Op::Eq | Op::Ne => Ok(Literal::Values(vec![comparable(on, value, "value")?])),
        Op::In | Op::NotIn => each(value, |item, field| comparable(on, item, field)).map(Literal::Values),
        Op::Lt | Op::Le | Op::Gt | Op::Ge => number(on, value, "value").map(Literal::Number),
        Op::Contains | Op::NotContains => match value {
            Value::String(part) if part.is_empty() => Err(Invalid::new("value", "is empty, and everything holds that")),
            Value::String(_) => Ok(Literal::Part(value.clone())),
            other if nature == Nature::Json => Ok(Literal::Part(other.clone())),
            other => Err(Invalid::new("value", format!("must be text, not {}", kind_of(other)))),
        },
        Op::Matches | Op::NotMatches => pattern(value).map(Literal::Pattern),
        Op::LenEq | Op::LenLt | Op::LenGt => match value {
            Value::Number(number) => number
                .as_u64()
                .map(Literal::Length)
                .ok_or_else(|| Invalid::new("value", "a length is a whole number, 0 or more")),
            other => Err(Invalid::new("value", format!("a length is a number, not {}", kind_of(other)))),
        },
        Op::Exists | Op::Absent => Ok(Literal::Nothing),
    }
}

fn each<T>(value: &Value, read: impl Fn(&Value, &str) -> Result<T, Invalid>) -> Result<Vec<T>, Invalid> {
    match value {
        Value::Array(items) if items.is_empty() => Err(Invalid::new("value", "is an empty list, and nothing is in that")),
        Value::Array(items) if items.len() > 100 => Err(Invalid::new("value", "holds more than 100 values")),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| read(item, &format!("value[{index}]"))).collect()
        }
        other => Err(Invalid::new("value", format!("must be a list, not {}", kind_of(other)))),
    }
}

/// A literal that `eq` may compare with this subject, without any conversion of types.
fn comparable(on: &Subject, value: &Value, field: &str) -> Result<Value, Invalid> {
    match (on.nature(), value) {
        (Nature::Number, _) => number(on, value, field).map(|_| value.clone()),
        (Nature::Text, Value::String(text)) => text_literal(on, text, field).map(Value::String),
        (Nature::Text, other) => {
            Err(Invalid::new(field, format!("{} is text; this is {}. Write it in quotes", on.name(), kind_of(other))))
        }
        _ => Ok(value.clone()),
    }
}

fn text_literal(on: &Subject, text: &str, field: &str) -> Result<String, Invalid> {
    match on {
        Subject::Body if text.is_empty() => Err(Invalid::new(field, "an empty body counts as absent; use the operator absent")),
        Subject::HttpVersion if !["1.0", "1.1", "2"].contains(&text) => {
            Err(Invalid::new(field, format!("{text} is not a version; known are 1.0, 1.1 and 2")))
        }
        // Certificates are often shown with colons and in capitals.
        Subject::CertFingerprint => {
            let plain: String = text.chars().filter(|c| *c != ':').collect::<String>().to_ascii_lowercase();
            if plain.len() == 64 && plain.bytes().all(|b| b.is_ascii_hexdigit()) {
                Ok(plain)
            } else {
                Err(Invalid::new(field, "is not a SHA-256 fingerprint of 64 hex digits"))
            }
        }
        _ => Ok(text.to_owned()),
    }
}

fn number(on: &Subject, value: &Value, field: &str) -> Result<Decimal, Invalid> {
    let example = match on {
        Subject::LatencyMs => "800",
        Subject::CertDaysLeft => "14",
        Subject::Status => "300",
        _ => "5",
    };
    match value {
        Value::Number(number) => Decimal::of(number).ok_or_else(|| Invalid::new(field, format!("{number} is not a number"))),
        Value::String(text) if is_status_class(text) => Err(Invalid::new(
            field,
            format!("{text} is a class; {} needs a number, such as {example}", on.name()),
        )),
        other => Err(Invalid::new(field, format!("{} needs a number, such as {example}, not {}", on.name(), kind_of(other)))),
    }
}

fn pattern(value: &Value) -> Result<Regex, Invalid> {
    let Value::String(text) = value else {
        return Err(Invalid::new("value", format!("a pattern is text, not {}", kind_of(value))));
    };
    if text.len() > 1_000 {
        return Err(Invalid::new("value", "the pattern is longer than 1000 characters"));
    }
    regex::RegexBuilder::new(text).size_limit(1 << 20).dfa_size_limit(1 << 20).build().map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Invalid::new("value", format!("is not a pattern: {last}"))
    })
}

fn is_status_class(text: &str) -> bool {
    matches!(text.as_bytes(), [b'1'..=b'5', b'x' | b'X', b'x' | b'X'])
}

/// `404`, `"404"` is refused, `"200-299"`, `"2xx"`.
fn status_range(value: &Value, field: &str) -> Result<(u16, u16), Invalid> {
    let valid = |n: u64| u16::try_from(n).ok().filter(|n| (100..=599).contains(n));
    let refused = || Invalid::new(field, "must be a status such as 204, a range such as \"200-299\" or a class such as \"2xx\"");
    match value {
        Value::Number(number) => number.as_u64().and_then(valid).map(|n| (n, n)).ok_or_else(refused),
        Value::String(text) if is_status_class(text) => {
            let first = u16::from(text.as_bytes().first().copied().unwrap_or(b'0') - b'0') * 100;
            Ok((first, first + 99))
        }
        Value::String(text) => {
            let (from, to) = text.split_once('-').ok_or_else(refused)?;
            let bound = |part: &str| part.trim().parse::<u64>().ok().and_then(valid).ok_or_else(refused);
            let (from, to) = (bound(from)?, bound(to)?);
            if from > to {
                return Err(Invalid::new(field, format!("the range is upside down; write \"{to}-{from}\"")));
            }
            Ok((from, to))
        }
        _ => Err(refused()),
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
