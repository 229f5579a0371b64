//! Values in conditions: checked against subject and operator when they are saved.

use regex::Regex;
use serde_json::Value;

use super::{Op, Subject, names, rcode};
use crate::domain::Invalid;
use crate::domain::decimal::Decimal;
use crate::domain::fields::kind_of;
use crate::domain::pattern::for_text;

/// The value in the form in which it is compared.
#[derive(Debug, Clone)]
pub(super) enum Literal {
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
pub(super) enum Nature {
    Status,
    Number,
    Text,
    Json,
}

impl Literal {
    /// Checks that operator and value suit the subject, and prepares the value.
    pub(super) fn read(on: &Subject, op: Op, value: Option<&Value>) -> Result<Self, Invalid> {
        let nature = on.nature();
        let refused = |why: &str| {
            Err(Invalid::new("op", format!("{} does not suit {}: {why}", op.name(), on.name())))
        };
        match op {
            Op::Exists | Op::Absent => {
                return match value {
                    None | Some(Value::Null) => Ok(Literal::Nothing),
                    Some(_) => Err(Invalid::new("value", format!("{} takes no value", op.name()))),
                };
            }
            Op::Contains
            | Op::NotContains
            | Op::Matches
            | Op::NotMatches
            | Op::LenEq
            | Op::LenLt
            | Op::LenGt
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
            Op::Eq | Op::Ne if nature == Nature::Status => {
                Ok(Literal::Statuses(vec![status_range(value, "value")?]))
            }
            Op::In | Op::NotIn if nature == Nature::Status => {
                each(value, status_range).map(Literal::Statuses)
            }
            Op::Eq | Op::Ne => Ok(Literal::Values(vec![comparable(on, value, "value")?])),
            Op::In | Op::NotIn => {
                each(value, |item, field| comparable(on, item, field)).map(Literal::Values)
            }
            Op::Lt | Op::Le | Op::Gt | Op::Ge => number(on, value, "value").map(Literal::Number),
            Op::Contains | Op::NotContains => match value {
                Value::String(part) if part.is_empty() => {
                    Err(Invalid::new("value", "is empty, and everything holds that"))
                }
                Value::String(_) => Ok(Literal::Part(value.clone())),
                other if nature == Nature::Json => Ok(Literal::Part(other.clone())),
                other => {
                    Err(Invalid::new("value", format!("must be text, not {}", kind_of(other))))
                }
            },
            Op::Matches | Op::NotMatches => pattern(value).map(Literal::Pattern),
            Op::LenEq | Op::LenLt | Op::LenGt => match value {
                Value::Number(number) => number
                    .as_u64()
                    .map(Literal::Length)
                    .ok_or_else(|| Invalid::new("value", "a length is a whole number, 0 or more")),
                other => Err(Invalid::new(
                    "value",
                    format!("a length is a number, not {}", kind_of(other)),
                )),
            },
            Op::Exists | Op::Absent => Ok(Literal::Nothing),
        }
    }

    /// The form in which names are compared. Patterns lose their case only.
    pub(super) fn fold(&mut self) {
        match self {
            Literal::Values(values) => {
                for value in values {
                    if let Value::String(text) = value {
                        *text = names::folded(text);
                    }
                }
            }
            Literal::Pattern(pattern) => {
                // What was built once is built again; else it stays as it was.
                if let Ok(built) = for_text(&format!("(?i){}", pattern.as_str())) {
                    *pattern = built;
                }
            }
            _ => {}
        }
    }
}

fn each<T>(
    value: &Value,
    read: impl Fn(&Value, &str) -> Result<T, Invalid>,
) -> Result<Vec<T>, Invalid> {
    match value {
        Value::Array(items) if items.is_empty() => {
            Err(Invalid::new("value", "is an empty list, and nothing is in that"))
        }
        Value::Array(items) if items.len() > 100 => {
            Err(Invalid::new("value", "holds more than 100 values"))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| read(item, &format!("value[{index}]")))
            .collect(),
        other => Err(Invalid::new("value", format!("must be a list, not {}", kind_of(other)))),
    }
}

/// A literal that `eq` may compare with this subject, without any conversion of types.
fn comparable(on: &Subject, value: &Value, field: &str) -> Result<Value, Invalid> {
    match (on.nature(), value) {
        (Nature::Number, _) => number(on, value, field).map(|_| value.clone()),
        (Nature::Text, Value::String(text)) => text_literal(on, text, field).map(Value::String),
        (Nature::Text, other) => Err(Invalid::new(
            field,
            format!("{} is text; this is {}. Write it in quotes", on.name(), kind_of(other)),
        )),
        _ => Ok(value.clone()),
    }
}

fn text_literal(on: &Subject, text: &str, field: &str) -> Result<String, Invalid> {
    match on {
        Subject::Body if text.is_empty() => {
            Err(Invalid::new(field, "an empty body counts as absent; use the operator absent"))
        }
        Subject::HttpVersion if !["1.0", "1.1", "2"].contains(&text) => {
            Err(Invalid::given(field, text, "is not a version; known are 1.0, 1.1 and 2"))
        }
        Subject::Rcode => rcode::known(text).map(str::to_owned).ok_or_else(|| {
            let known = rcode::all();
            Invalid::given(field, text, &format!("is not a response code; known are {known}"))
        }),
        // Certificates are often shown with colons and in capitals.
        Subject::CertFingerprint => {
            let plain: String =
                text.chars().filter(|c| *c != ':').collect::<String>().to_ascii_lowercase();
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
        Value::Number(number) => Decimal::of(number)
            .ok_or_else(|| Invalid::given(field, &number.to_string(), "is not a number")),
        Value::String(text) if is_status_class(text) => Err(Invalid::new(
            field,
            format!("{text} is a class; {} needs a number, such as {example}", on.name()),
        )),
        other => Err(Invalid::new(
            field,
            format!("{} needs a number, such as {example}, not {}", on.name(), kind_of(other)),
        )),
    }
}

fn pattern(value: &Value) -> Result<Regex, Invalid> {
    let Value::String(text) = value else {
        return Err(Invalid::new("value", format!("a pattern is text, not {}", kind_of(value))));
    };
    for_text(text).map_err(|why| Invalid::new("value", why))
}

fn is_status_class(text: &str) -> bool {
    matches!(text.as_bytes(), [b'1'..=b'5', b'x' | b'X', b'x' | b'X'])
}

/// `404`, `"404"` is refused, `"200-299"`, `"2xx"`.
fn status_range(value: &Value, field: &str) -> Result<(u16, u16), Invalid> {
    let valid = |n: u64| u16::try_from(n).ok().filter(|n| (100..=599).contains(n));
    let refused = || {
        Invalid::new(
            field,
            "must be a status such as 204, a range such as \"200-299\" or a class such as \"2xx\"",
        )
    };
    match value {
        Value::Number(number) => {
            number.as_u64().and_then(valid).map(|n| (n, n)).ok_or_else(refused)
        }
        Value::String(text) if is_status_class(text) => {
            let first = u16::from(text.as_bytes().first().copied().unwrap_or(b'0') - b'0') * 100;
            Ok((first, first + 99))
        }
        Value::String(text) => {
            let (from, to) = text.split_once('-').ok_or_else(refused)?;
            let bound =
                |part: &str| part.trim().parse::<u64>().ok().and_then(valid).ok_or_else(refused);
            let (from, to) = (bound(from)?, bound(to)?);
            if from > to {
                return Err(Invalid::new(
                    field,
                    format!("the range is upside down; write \"{to}-{from}\""),
                ));
            }
            Ok((from, to))
        }
        _ => Err(refused()),
    }
}
