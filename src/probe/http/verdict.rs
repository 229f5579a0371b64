//! From what was seen to an observation: conditions judged, secrets taken out.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::{Outcome, charset};
use crate::domain::assertion::{Assertion, Body, Seen, Subject, judge, shorten};
use crate::domain::check::HttpCheck;
use crate::domain::observation::{Class, Evidence, Hop, Judged, Observation, Outcome as Result3};
use crate::domain::redactor::Redactor;
use crate::probe::Context;
use crate::probe::trace::{Failure, Trace, micros};

/// Bytes of the body kept as evidence.
const BODY_KEPT: usize = 4_096;
const HEADERS_KEPT: usize = 100;
const HEADER_KEPT: usize = 1_000;

pub(super) fn conclude(
    check: &HttpCheck,
    _ctx: &Context,
    trace: &Trace,
    outcome: Outcome,
    result: Result<(), Failure>,
    end: Instant,
) -> Observation {
    let redactor = check.redactor();
    let content_type = outcome
        .headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .map(|(_, value)| value.as_str());
    let text = outcome.body.as_ref().map(|body| charset::decode(&body.bytes, content_type));
    let body = match (&text, &outcome.body) {
        (Some(text), Some(body)) => {
            Some(Body { text, size: body.bytes.len() as u64, cut: body.cut })
        }
        _ => None,
    };
    let final_url = outcome.url.as_ref().map(url::Url::as_str);
    let seen = Seen {
        status: outcome.status,
        headers: &outcome.headers,
        body,
        latency_us: result.is_ok().then(|| micros(trace.start, end)),
        http_version: outcome.version,
        final_url,
        redirects: Some(outcome.hops.len() as u64),
        certificate: trace.certificate.as_ref(),
    };
    let (failure, assertions) = match result {
        Ok(()) => {
            let judged = judge(check.conditions(), &seen);
            (condition_failure(check, &judged, &outcome), judged)
        }
        Err(failure) => {
            let judged = check.conditions().map(|assertion| partly(assertion, &seen)).collect();
            (Some(failure), judged)
        }
    };
    let assertions = check
        .conditions()
        .zip(assertions)
        .map(|(assertion, judged)| cleaned(&redactor, assertion, judged))
        .collect();
    let class = failure.as_ref().map(|failure| failure.class);
    Observation {
        outcome: class.map_or(Result3::Pass, Class::side),
        class,
        message: failure
            .map(|failure| redactor.clean(&hide_urls(&redactor, &failure.message)))
            .unwrap_or_default(),
        phases_us: trace.phases(end),
        status: outcome.status,
        http_version: outcome.version.map(str::to_owned),
        address: trace.address.map(|ip| ip.to_string()),
        size: body.map(|body| body.size),
        certificate: trace.certificate.clone(),
        assertions,
        evidence: Some(Evidence {
            headers: kept_headers(&redactor, &outcome.headers),
            body: body
                .filter(|body| body.size > 0)
                .map(|body| redactor.clean_prefix(body.text, BODY_KEPT)),
            final_url: final_url.map(|url| redactor.url(url)),
            resolved: trace.resolved.iter().map(ToString::to_string).collect(),
        }),
        hops: outcome
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
fn condition_failure(check: &HttpCheck, judged: &[Judged], outcome: &Outcome) -> Option<Failure> {
    let failed: Vec<(&Assertion, &Judged)> =
        check.conditions().zip(judged).filter(|(_, judged)| judged.holds == Some(false)).collect();
    let (_, first) = failed.first()?;
    let status_failed =
        failed.iter().any(|(assertion, _)| matches!(assertion.subject(), Subject::Status));
    if let (true, Some(stopped)) = (status_failed, &outcome.stopped) {
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

/// What can be said of a condition when the answer did not come whole.
fn partly(assertion: &Assertion, seen: &Seen<'_>) -> Judged {
    let in_the_head = matches!(
        assertion.subject(),
        Subject::Status
            | Subject::Header(_)
            | Subject::HttpVersion
            | Subject::FinalUrl
            | Subject::Redirects
    );
    match seen.status {
        None => assertion.unjudged("no answer"),
        Some(_) if in_the_head => assertion.judge(seen, &Err(String::new())),
        Some(_) => assertion.unjudged("no whole answer"),
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
