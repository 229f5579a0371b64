//! Envoy's access log as text: its own default format and Istio's (spec: fleet 1.6). The other logs of
//! Envoy, and the access log in JSON, are in [`json`].
//!
//! * [`flags`]: response flags → whose an outcome is.

mod flags;
pub mod json;
#[cfg(test)]
mod tests;

use memchr::{memchr, memmem, memrchr};

use super::{
    Line, Reject,
    scan::{self, number, present, split_at_byte, word},
    stamp::Stamps,
    upstream,
};
use crate::domain::fleet::record::{Attempt, Attribution, Escape, Record, Text};
use flags::Flags;

/// `[start] "method path protocol" code flags … received sent duration service-time "forwarded for"
/// "user agent" "request id" "authority" "upstream host"`, and in Istio's what says more of the flags
/// before the bytes, and cluster, addresses, server name and route at the end. Quotes in headers are not
/// escaped, so the headers are read from both ends: what is between is the user agent.
pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let (start_us, rest) = start(line, stamps)?;
    let Requested { request, code, rest } = request(rest)?;
    let (flags, mut rest) = word(rest);
    // Before the bytes received: Istio's details and why a transport failed, of which none is a number.
    loop {
        let (field, after) = scan::field(rest, Escape::None);
        rest = after;
        if number(field).is_some() {
            break;
        }
        if after.is_empty() {
            return Err(Reject("no number of bytes follows the flags"));
        }
    }
    let (sent, rest) = word(rest);
    let (duration, rest) = word(rest);
    let (service_time, rest) = word(rest);
    let headers = Headers::read(rest).ok_or(Reject("no quoted headers and upstream at the end"))?;
    let tail = Tail::read(headers.rest);
    let mut record = Request {
        start_us,
        status: scan::status(code)?,
        flags: Flags::of(flags),
        bytes: number(sent),
        duration_ms: number(duration),
        service_ms: number(service_time),
        upstream: headers.upstream,
        cluster: tail.cluster,
        local: tail.downstream_local,
        tries: 1,
    }
    .record();
    record.client = upstream::client(headers.forwarded)
        .or_else(|| present(tail.downstream_remote).map(|address| scan::host_port(address).0));
    record.user_agent = present(headers.agent).map(Text::plain);
    upstream::take_request(&mut record, request, Escape::None);
    if request == b"- - -" {
        // A connection that is proxied as such has no request and no answer.
        record.request = None;
        record.attribution = Attribution::None;
    }
    Ok(Line::Request(record))
}

/// What both forms of the access log say of a request.
struct Request<'a> {
    start_us: i64,
    status: Option<u16>,
    flags: Flags,
    bytes: Option<u64>,
    duration_ms: Option<u64>,
    /// Until the upstream's answer began.
    service_ms: Option<u64>,
    upstream: &'a [u8],
    cluster: &'a [u8],
    /// The address at which the request came in.
    local: &'a [u8],
    tries: u64,
}

impl<'a> Request<'a> {
    fn record(&self) -> Record<'a> {
        let micros = |ms: u64| ms.saturating_mul(1_000);
        let duration_us = self.duration_ms.map(micros);
        let length = duration_us.and_then(|us| i64::try_from(us).ok()).unwrap_or(0);
        let mut record = Record {
            end_us: self.start_us.saturating_add(length),
            status: self.status,
            bytes: self.bytes,
            duration_us,
            pool: present(self.cluster),
            redispatched: self.tries > 1,
            ..Record::default()
        };
        let Some(instance) = self.instance() else {
            record.attribution = self.flags.without_upstream(self.status);
            record.pool_empty = u8::from(self.flags.is_pool_empty());
            return record;
        };
        let answered = self.service_ms.is_some() || self.flags.is_empty();
        let status = self.status.filter(|_| answered && !self.flags.is_fault());
        let (outcome, attribution) = self.flags.with_upstream(status);
        record.attribution = attribution;
        record.pool_empty = u8::from(self.flags.is_pool_empty());
        record.attempts.push(Attempt {
            instance,
            status,
            duration_us: self.service_ms.map(micros).or(duration_us),
            connect_us: None,
            bytes: self.bytes.filter(|_| status.is_some()),
            outcome,
        });
        record
    }

    /// Who was asked. A sidecar asks its own pod over loopback: the pod is where the request came in.
    fn instance(&self) -> Option<&'a [u8]> {
        let host = instance(self.upstream)?;
        let loopback = host.starts_with(b"127.") || host.starts_with(b"[::1]");
        if loopback && self.cluster.starts_with(b"inbound|") {
            return present(self.local).or(Some(host));
        }
        Some(host)
    }
}

/// An upstream's address without the scheme that older versions write before it.
fn instance(upstream: &[u8]) -> Option<&[u8]> {
    present(upstream.strip_prefix(b"tcp://").unwrap_or(upstream))
}

/// `[2026-11-29T19:32:17.072Z] `, behind what a container's runtime may have put before it.
fn start<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<(i64, &'a [u8]), Reject> {
    const LONGEST_PREFIX: usize = 128;
    const NONE: Reject = Reject("no start such as [2026-11-29T19:32:17.072Z] begins the line");
    let head = &line[..line.len().min(LONGEST_PREFIX)];
    let open =
        if head.first() == Some(&b'[') { 0 } else { memmem::find(head, b"[2").ok_or(NONE)? };
    let (stamp, rest) = split_at_byte(&line[open + 1..], b']').ok_or(NONE)?;
    Ok((stamps.iso(stamp).ok_or(NONE)?, rest.strip_prefix(b" ").ok_or(NONE)?))
}

/// A request, its code, and what follows.
struct Requested<'a> {
    request: &'a [u8],
    code: &'a [u8],
    rest: &'a [u8],
}

/// Takes the request and the code. A path may hold quotes: the request ends where a quote is
/// followed by a code.
fn request(text: &[u8]) -> Result<Requested<'_>, Reject> {
    let inner = text.strip_prefix(b"\"").ok_or(Reject("no quoted request follows the start"))?;
    let mut from = 0;
    while let Some(quote) = memchr(b'"', &inner[from..]).map(|at| from + at) {
        if let Some(after) = inner[quote + 1..].strip_prefix(b" ") {
            let (code, rest) = word(after);
            if (code == b"0" || code.len() == 3) && number(code).is_some() {
                return Ok(Requested { request: &inner[..quote], code, rest });
            }
        }
        from = quote + 1;
    }
    Err(Reject("no code follows the request"))
}

/// `"forwarded for" "user agent" "request id" "authority" "upstream host"`
struct Headers<'a> {
    forwarded: &'a [u8],
    agent: &'a [u8],
    upstream: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Headers<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        const BETWEEN: &[u8] = b"\" \"";
        let end = memrchr(b'"', text)?;
        let (before, rest) = (&text[..end], &text[end + 1..]);
        let last = |text: &'a [u8]| {
            let at = memmem::rfind(text, BETWEEN)?;
            Some((&text[..at], &text[at + BETWEEN.len()..]))
        };
        let (before, upstream) = last(before)?;
        let (before, _authority) = last(before)?;
        let (before, _id) = last(before)?;
        let inner = before.strip_prefix(b"\"")?;
        let at = memmem::find(inner, BETWEEN)?;
        Some(Self {
            forwarded: &inner[..at],
            agent: &inner[at + BETWEEN.len()..],
            upstream,
            rest: rest.strip_prefix(b" ").unwrap_or(rest),
        })
    }
}

/// What Istio adds: cluster, three addresses, server name, route.
#[derive(Default)]
struct Tail<'a> {
    cluster: &'a [u8],
    downstream_local: &'a [u8],
    downstream_remote: &'a [u8],
}

impl<'a> Tail<'a> {
    fn read(text: &'a [u8]) -> Self {
        let (cluster, rest) = word(text);
        let (_upstream_local, rest) = word(rest);
        let (downstream_local, rest) = word(rest);
        let (downstream_remote, _) = word(rest);
        Self { cluster, downstream_local, downstream_remote }
    }
}
