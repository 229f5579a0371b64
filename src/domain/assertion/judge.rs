//! Holding conditions against what was seen.

use std::cmp::Ordering;

use serde_json::Value;

use super::compare::{contains, equals_one, number_of, text_of};
use super::literal::Literal;
use super::{Assertion, Op, Quantifier, Subject, names};
use crate::domain::decimal::Decimal;
use crate::domain::fields::kind_of;
use crate::domain::observation::{Certificate, Judged};

/// How much of an actual value is shown.
const SHOWN: usize = 200;

/// What a probe saw, as far as it got an answer.
#[derive(Debug, Default)]
pub struct Seen<'a> {
    pub status: Option<u16>,
    /// Names in lower case, in the order of arrival, one entry per line.
    pub headers: &'a [(String, String)],
    pub body: Option<Body<'a>>,
    pub latency_us: Option<u64>,
    pub http_version: Option<&'a str>,
    pub final_url: Option<&'a str>,
    pub redirects: Option<u64>,
    pub certificate: Option<&'a Certificate>,
    /// The name of the response code of DNS, in capitals.
    pub rcode: Option<&'a str>,
    /// The records of the type that was asked for.
    pub records: Option<&'a [String]>,
    /// The mean round trip of the echo requests that were answered.
    pub rtt_us: Option<u64>,
    /// Thousandths of a percent of the echo requests that were not answered.
    pub loss_mpct: Option<u64>,
    pub banner: Option<&'a str>,
}

/// A decoded body.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    pub text: &'a str,
    /// Decoded bytes that were read.
    pub size: u64,
    /// Reading stopped at the monitor's limit, and there was more.
    pub cut: bool,
}

/// One thing that was there.
pub(super) enum Item<'a> {
    Text(&'a str),
    /// The number, and how it is shown.
    Number(Decimal, String),
    Json(&'a Value),
}

/// What a subject was found to be.
enum Found<'a> {
    Items(Vec<Item<'a>>),
    /// Nothing, and why.
    Missing(String),
}

/// What one item is to a condition's positive form.
pub(super) enum Fit {
    Yes,
    No,
    /// Types differ, or the answer was cut; the sentence says so.
    Unknowable(String),
}

impl Assertion {
    /// Whether the condition holds, with what was really there. Nothing is hidden here: the caller
    /// takes secrets out of `actual`.
    pub fn judge(&self, seen: &Seen<'_>, json: &Result<Value, String>) -> Judged {
        let found = find(&self.on, seen, json);
        let (holds, actual) = match (&found, self.op) {
            (Found::Missing(why), Op::Absent) if why.starts_with(NOT_JSON) => (false, why.clone()),
            (Found::Missing(why), op) => (op == Op::Absent, why.clone()),
            (Found::Items(items), Op::Exists) => (true, show(items)),
            (Found::Items(items), Op::Absent) => (false, show(items)),
            (Found::Items(items), _) => match self.on {
                Subject::Record(quantifier) => self.judge_each(items, quantifier),
                _ => self.judge_items(items, seen),
            },
        };
        Judged {
            on: self.on.label(),
            op: self.op.name().into(),
            value: self.value.clone(),
            holds: Some(holds),
            actual,
        }
    }

    /// The condition when there was no answer to look at.
    pub fn unjudged(&self, why: &str) -> Judged {
        Judged {
            on: self.on.label(),
            op: self.op.name().into(),
            value: self.value.clone(),
            holds: None,
            actual: why.into(),
        }
    }

    fn judge_items(&self, items: &[Item<'_>], seen: &Seen<'_>) -> (bool, String) {
        let cut = seen.body.is_some_and(|body| body.cut)
            && matches!(self.on, Subject::Body | Subject::Size);
        let mut unknowable = None;
        let mut any = false;
        for item in items {
            match self.fit(item, cut) {
                Fit::Yes => any = true,
                Fit::No => {}
                Fit::Unknowable(why) => unknowable = unknowable.or(Some(why)),
            }
        }
        // A negative holds only if every item could be compared and none fits.
        let holds = if self.op.negative() { !any && unknowable.is_none() } else { any };
        let shown = show(items);
        match unknowable {
            // A long value is shortened for people, and the reason must not go with its tail.
            Some(why) if !holds && shown.len() > SHOWN / 2 => (false, format!("{why}: {shown}")),
            Some(why) if !holds => (false, format!("{shown} ({why})")),
            _ => (holds, shown),
        }
    }

    /// Here the operator is asked of each item as it stands, and the quantifier counts: `any ne x` holds as
    /// soon as one record is another.
    fn judge_each(&self, items: &[Item<'_>], quantifier: Quantifier) -> (bool, String) {
        let holds = |item: &Item<'_>| match self.fit_record(item) {
            Fit::Yes => !self.op.negative(),
            Fit::No => self.op.negative(),
            Fit::Unknowable(_) => false,
        };
        let holds = match quantifier {
            Quantifier::Any => items.iter().any(holds),
            Quantifier::All => items.iter().all(holds),
            Quantifier::None => !items.iter().any(holds),
        };
        (holds, show(items))
    }

    fn fit_record(&self, item: &Item<'_>) -> Fit {
        match (item, &self.literal) {
            (Item::Text(text), Literal::Values(values)) if self.as_names => {
                equals_one(&Item::Text(&names::folded(text)), values, false)
            }
            (Item::Text(text), Literal::Part(Value::String(part))) if self.as_names => {
                yes(names::contains(text, part))
            }
            _ => self.fit(item, false),
        }
    }

    /// The positive form of the operator: `ne` asks here whether it is equal.
    fn fit(&self, item: &Item<'_>, cut: bool) -> Fit {
        match &self.literal {
            Literal::Statuses(ranges) => match item {
                Item::Number(number, _) => {
                    let within = |(from, to): &(u16, u16)| {
                        *number >= Decimal::from(u64::from(*from))
                            && *number <= Decimal::from(u64::from(*to))
                    };
                    yes(ranges.iter().any(within))
                }
                _ => Fit::No,
            },
            Literal::Values(values) => equals_one(item, values, cut),
            Literal::Number(bound) => self.compare(item, bound, cut),
            Literal::Part(part) => contains(item, part, cut),
            Literal::Pattern(pattern) => match text_of(item) {
                Ok(text) => found_or_cut(pattern.is_match(text), cut),
                Err(kind) => Fit::Unknowable(format!("{kind} is not text")),
            },
            Literal::Length(wanted) => self.length(item, *wanted, cut),
            Literal::Nothing => Fit::Yes,
        }
    }

    fn compare(&self, item: &Item<'_>, bound: &Decimal, cut: bool) -> Fit {
        let number = match number_of(item) {
            Ok(number) => number,
            Err(kind) => return Fit::Unknowable(format!("{kind} is not a number")),
        };
        let order = number.cmp(bound);
        let holds = match self.op {
            Op::Lt => order == Ordering::Less,
            Op::Le => order != Ordering::Greater,
            Op::Gt => order == Ordering::Greater,
            _ => order != Ordering::Less,
        };
        // A cut body is at least as large as what was kept: "more than" can be said, "less than" cannot.
        match (cut, holds, self.op) {
            (true, true, Op::Lt | Op::Le) | (true, false, Op::Gt | Op::Ge) => {
                Fit::Unknowable(CUT.into())
            }
            _ => yes(holds),
        }
    }

    fn length(&self, item: &Item<'_>, wanted: u64, cut: bool) -> Fit {
        let length = match item {
            Item::Text(text) => text.chars().count(),
            Item::Json(Value::String(text)) => text.chars().count(),
            Item::Json(Value::Array(items)) => items.len(),
            Item::Json(Value::Object(map)) => map.len(),
            Item::Json(other) => {
                return Fit::Unknowable(format!("{} has no length", kind_of(other)));
            }
            Item::Number(..) => return Fit::Unknowable("a number has no length".into()),
        } as u64;
        match self.op {
            Op::LenGt if cut && length <= wanted => Fit::Unknowable(CUT.into()),
            Op::LenGt => yes(length > wanted),
            _ if cut => Fit::Unknowable(CUT.into()),
            Op::LenLt => yes(length < wanted),
            _ => yes(length == wanted),
        }
    }
}

pub(super) const CUT: &str = "reading stopped at max_body, so the rest is not known";
const NO_ANSWER: &str = "there was no answer";
const NOT_JSON: &str = "body is not JSON";

pub(super) fn yes(holds: bool) -> Fit {
    if holds { Fit::Yes } else { Fit::No }
}

pub(super) fn found_or_cut(found: bool, cut: bool) -> Fit {
    if !found && cut { Fit::Unknowable(CUT.into()) } else { yes(found) }
}

/// Reads the body once for all conditions on JSON. The error is the sentence that they all show.
pub(super) fn read_json(body: Option<Body<'_>>) -> Result<Value, String> {
    let Some(body) = body.filter(|body| body.size > 0) else { return Err(NOT_JSON.into()) };
    match serde_json::from_str(body.text) {
        Ok(value) => Ok(value),
        Err(_) if body.cut => Err(format!("{NOT_JSON}: {CUT}")),
        Err(_) => Err(NOT_JSON.into()),
    }
}

/// Holds all conditions against what was seen, in their order.
pub fn judge<'a>(assertions: impl Iterator<Item = &'a Assertion>, seen: &Seen<'_>) -> Vec<Judged> {
    let mut json: Option<Result<Value, String>> = None;
    let unread = Err(String::new());
    assertions
        .map(|assertion| {
            if matches!(assertion.on, Subject::Json(_)) {
                let json = json.get_or_insert_with(|| read_json(seen.body));
                assertion.judge(seen, json)
            } else {
                assertion.judge(seen, &unread)
            }
        })
        .collect()
}

fn find<'a>(on: &Subject, seen: &'a Seen<'_>, json: &'a Result<Value, String>) -> Found<'a> {
    let number = |value: Option<Decimal>, shown: String, why: &str| match value {
        Some(number) => Found::Items(vec![Item::Number(number, shown)]),
        None => Found::Missing(format!("missing: {why}")),
    };
    let text = |value: Option<&'a str>, why: &str| match value {
        Some(text) => Found::Items(vec![Item::Text(text)]),
        None => Found::Missing(format!("missing: {why}")),
    };
    let no_certificate = "there is no certificate";
    match on {
        Subject::Status => {
            let status = seen.status.unwrap_or_default();
            number(
                seen.status.map(|status| Decimal::from(u64::from(status))),
                status.to_string(),
                "there is no status",
            )
        }
        Subject::Header(name) => {
            let values: Vec<Item<'_>> = seen
                .headers
                .iter()
                .filter(|(known, _)| known == name)
                .map(|(_, value)| Item::Text(value))
                .collect();
            if values.is_empty() {
                Found::Missing("missing: there is no such header".into())
            } else {
                Found::Items(values)
            }
        }
        Subject::Body => {
            text(seen.body.filter(|body| body.size > 0).map(|body| body.text), "there is no body")
        }
        Subject::Json(path) => match json {
            Err(why) => Found::Missing(why.clone()),
            Ok(document) => {
                let nodes = path.find(document);
                if nodes.is_empty() {
                    Found::Missing(format!("missing: there is nothing at {}", path.as_str()))
                } else {
                    Found::Items(nodes.into_iter().map(Item::Json).collect())
                }
            }
        },
        Subject::LatencyMs => {
            let micros = seen.latency_us.unwrap_or_default();
            let shown = format!("{}.{:03} ms", micros / 1000, micros % 1000);
            number(seen.latency_us.map(Decimal::thousandths), shown, NO_ANSWER)
        }
        Subject::Size => {
            let size = seen.body.map(|body| body.size);
            let shown = format!(
                "{}{} bytes",
                if seen.body.is_some_and(|body| body.cut) { "more than " } else { "" },
                size.unwrap_or_default()
            );
            number(size.map(Decimal::from), shown, NO_ANSWER)
        }
        Subject::Redirects => number(
            seen.redirects.map(Decimal::from),
            seen.redirects.unwrap_or_default().to_string(),
            NO_ANSWER,
        ),
        Subject::CertDaysLeft => {
            let days = seen.certificate.map(|certificate| i64::from(certificate.days_left));
            number(
                days.map(Decimal::from),
                format!("{} days", days.unwrap_or_default()),
                no_certificate,
            )
        }
        Subject::HttpVersion => text(seen.http_version, NO_ANSWER),
        Subject::FinalUrl => text(seen.final_url, NO_ANSWER),
        Subject::CertIssuer => {
            text(seen.certificate.map(|certificate| certificate.issuer.as_str()), no_certificate)
        }
        Subject::CertFingerprint => text(
            seen.certificate.map(|certificate| certificate.fingerprint.as_str()),
            no_certificate,
        ),
        Subject::Rcode => text(seen.rcode, NO_ANSWER),
        Subject::Record(_) => match seen.records {
            None => Found::Missing(format!("missing: {NO_ANSWER}")),
            Some([]) => Found::Missing("missing: there is no such record".into()),
            Some(records) => {
                Found::Items(records.iter().map(|record| Item::Text(record)).collect())
            }
        },
        Subject::RttMs => {
            let micros = seen.rtt_us.unwrap_or_default();
            let shown = format!("{}.{:03} ms", micros / 1000, micros % 1000);
            number(seen.rtt_us.map(Decimal::thousandths), shown, "there was no reply")
        }
        Subject::LossPct => {
            let parts = seen.loss_mpct.unwrap_or_default();
            let shown = format!("{}.{:03} %", parts / 1000, parts % 1000);
            number(seen.loss_mpct.map(Decimal::thousandths), shown, "nothing was sent")
        }
        Subject::Banner => text(seen.banner, "the server said nothing"),
    }
}

fn show(items: &[Item<'_>]) -> String {
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        if index == 5 {
            out.push_str(&format!(", and {} more", items.len() - 5));
            break;
        }
        if index > 0 {
            out.push_str(", ");
        }
        match item {
            // Far more than is shown in the end, so that a secret on the edge is still whole here.
            Item::Text(text) => {
                out.push_str(text.get(..text.floor_char_boundary(SHOWN * 40)).unwrap_or_default())
            }
            Item::Number(_, shown) => out.push_str(shown),
            Item::Json(value) => out.push_str(&value.to_string()),
        }
    }
    out
}

/// Shortens a value for people, by characters.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}
