//! From what was seen to an observation: conditions judged, secrets taken out.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::trace::{Failure, Trace, micros};
use crate::domain::assertion::{Assertion, Body, Seen, Subject, judge, shorten};
use crate::domain::check::Check;
use crate::domain::observation::{Class, Evidence, Fact, Hop, Judged, Observation, Outcome};
use crate::domain::redactor::Redactor;

/// What a kind found out, as far as it came. Each fills in what it knows; conditions on the rest are
/// missing something, and say so.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The address of the last request.
    pub(super) url: Option<url::Url>,
    pub(super) status: Option<u16>,
    pub(super) version: Option<&'static str>,
    /// In the order of arrival, names in lower case.
    pub(super) headers: Vec<(String, String)>,
    /// Read to its end, or as far as it was asked for.
    pub(super) body: Option<Content>,
    pub(super) hops: Vec<Hop>,
    /// Why a redirect was not followed, or what a response code of DNS means: told instead of the condition on
    /// the status or the code that fails because of it.
    pub(super) stopped: Option<Failure>,
    /// The name of the response code of DNS, in capitals.
    pub(super) rcode: Option<String>,
    pub(super) records: Option<Vec<String>>,
    pub(super) rtt_us: Option<u64>,
    /// Thousandths of a percent.
    pub(super) loss_mpct: Option<u64>,
    pub(super) banner: Option<String>,
    /// What else people should see beside the answer, in this order.
    pub(super) shown: Vec<Fact>,
}

/// A decoded body.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) text: String,
    /// Decoded bytes.
    pub(super) size: u64,
    /// There was more than the limit.
    pub(super) cut: bool,
}

impl Facts {
    /// Adds a line to what people see.
    pub(super) fn show(&mut self, label: &str, value: impl Into<String>) {
        self.shown.push(Fact { label: label.to_owned(), value: value.into() });
    }
}

/// Bytes of the body kept as evidence.
const BODY_KEPT: usize = 4_096;
const HEADERS_KEPT: usize = 100;
const HEADER_KEPT: usize = 1_000;

/// Judges the conditions and makes the observation. An answer that came whole is `Ok`.
pub(super) fn conclude(
    check: &Check,
    trace: &Trace,
    facts: Facts,
    result: Result<(), Failure>,
    end: Instant,
) -> Observation {
    let redactor = check.redactor();
    let conditions = check.conditions();
    let body =
        facts.body.as_ref().map(|body| Body { text: &body.text, size: body.size, cut: body.cut });
    let final_url = facts.url.as_ref().map(url::Url::as_str);
    let seen = Seen {
        status: facts.status,
        headers: &facts.headers,
        body,
        latency_us: result.is_ok().then(|| micros(trace.start, end)),
        http_version: facts.version,
        final_url,
        redirects: facts.url.is_some().then_some(facts.hops.len() as u64),
        certificate: trace.certificate.as_ref(),
        rcode: facts.rcode.as_deref(),
        records: facts.records.as_deref(),
        rtt_us: facts.rtt_us,
        loss_mpct: facts.loss_mpct,
        banner: facts.banner.as_deref(),
    };
    let (failure, assertions) = match result {
        Ok(()) => {
            let judged = judge(conditions.iter().copied(), &seen);
            (condition_failure(&conditions, &judged, facts.stopped.as_ref()), judged)
        }
        Err(failure) => {
            let judged = conditions.iter().map(|assertion| partly(assertion, &seen)).collect();
            (Some(failure), judged)
        }
    };
    let assertions = conditions
        .iter()
        .zip(assertions)
        .map(|(assertion, judged)| cleaned(&redactor, assertion, judged))
        .collect();
    let class = failure.as_ref().map(|failure| failure.class);
    Observation {
        outcome: class.map_or(Outcome::Pass, Class::side),
        class,
        message: failure
            .map(|failure| redactor.clean(&hide_urls(&redactor, &failure.message)))
            .unwrap_or_default(),
        phases_us: trace.phases(end),
        status: facts.status,
        http_version: facts.version.map(str::to_owned),
        address: trace.address.map(|ip| ip.to_string()),
        size: body.map(|body| body.size),
        certificate: trace.certificate.clone(),
        assertions,
        evidence: Some(Evidence {
            headers: kept_headers(&redactor, &facts.headers),
            body: body
                .filter(|body| body.size > 0)
                .map(|body| redactor.clean_prefix(body.text, BODY_KEPT)),
            final_url: final_url.map(|url| redactor.url(url)),
            resolved: trace.resolved.iter().map(ToString::to_string).collect(),
            facts: facts
                .shown
                .into_iter()
                .map(|fact| Fact {
                    value: shorten(&redactor.clean_prefix(&fact.value, BODY_KEPT)),
                    ..fact
                })
                .collect(),
        }),
        hops: facts
            .hops
            .into_iter()
            .map(|hop| Hop {
                url: redactor.url(&hop.url),
                location: redactor.url(&hop.location),
                ..hop
            })
            .collect(),
    }
}

/// The failure of an answer that came whole: the status first, because everything else follows from it.
fn condition_failure(
    conditions: &[&Assertion],
    judged: &[Judged],
    stopped: Option<&Failure>,
) -> Option<Failure> {
    let failed: Vec<(&&Assertion, &Judged)> =
        conditions.iter().zip(judged).filter(|(_, judged)| judged.holds == Some(false)).collect();
    let (_, first) = failed.first()?;
    let fails = |of: fn(&Subject) -> bool| failed.iter().any(|(one, _)| of(one.subject()));
    let status_failed = fails(|on| matches!(on, Subject::Status));
    let answer_failed = status_failed || fails(|on| matches!(on, Subject::Rcode));
    if let (true, Some(stopped)) = (answer_failed, stopped) {
        return Some(stopped.clone());
    }
    let class = if status_failed { Class::Status } else { Class::Assertion };
    let wanted = match first.value.is_null() {
        true => first.op.clone(),
        false => format!("{} {}", first.op, first.value),
    };
    let more = match failed.len() {
        1 => String::new(),
        2 => " One more condition does not hold.".to_owned(),
        count => format!(" {} more conditions do not hold.", count - 1),
    };
    Some(Failure::new(
        class,
        format!("{} should be {wanted}, but is {}.{more}", first.on, shorten(&first.actual)),
    ))
}

/// What can be said of a condition when the answer did not come whole: what was there is judged, what
/// was not is not called missing.
fn partly(assertion: &Assertion, seen: &Seen<'_>) -> Judged {
    let there = match assertion.subject() {
        Subject::Status
        | Subject::Header(_)
        | Subject::HttpVersion
        | Subject::FinalUrl
        | Subject::Redirects => seen.status.is_some(),
        Subject::Banner => seen.banner.is_some(),
        Subject::Rcode | Subject::Record(_) => seen.rcode.is_some(),
        Subject::RttMs | Subject::LossPct => seen.loss_mpct.is_some(),
        _ => false,
    };
    match (there, seen.status) {
        (true, _) => assertion.judge(seen, &Err(String::new())),
        (false, None) => assertion.unjudged("no answer"),
        (false, Some(_)) => assertion.unjudged("no whole answer"),
    }
}

fn cleaned(redactor: &Redactor, assertion: &Assertion, judged: Judged) -> Judged {
    let actual = match assertion.subject() {
        Subject::Header(name)
            if judged.holds.is_some() && !judged.actual.starts_with("missing") =>
        {
            redactor.header(name, &judged.actual)
        }
        Subject::FinalUrl => redactor.url(&judged.actual),
        _ => redactor.clean_prefix(&judged.actual, BODY_KEPT),
    };
    Judged { actual: shorten(&actual), value: redactor.value(&judged.value), ..judged }
}

/// Messages name URLs; each word that is one loses its secrets.
fn hide_urls(redactor: &Redactor, message: &str) -> String {
    message
        .split(' ')
        .map(|word| if word.contains("://") { redactor.url(word) } else { word.to_owned() })
        .collect::<Vec<_>>()
        .join(" ")
}

fn kept_headers(
    redactor: &Redactor,
    headers: &[(String, String)],
) -> BTreeMap<String, Vec<String>> {
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers.iter().take(HEADERS_KEPT) {
        let value = redactor.header(name, value);
        let end = value.floor_char_boundary(HEADER_KEPT);
        kept.entry(name.clone()).or_default().push(value.get(..end).unwrap_or_default().to_owned());
    }
    kept
}
