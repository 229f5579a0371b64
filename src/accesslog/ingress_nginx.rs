//! The `upstreaminfo` format of ingress-nginx: combined, then
//! `request_length request_time [upstream] [alternative] addrs lengths times statuses req_id`, where the
//! four lists hold spaces.

use super::{
    Line, Reject, clf,
    scan::{self, Unit},
    stamp::Stamps,
    upstream::{self, Upstream},
};
use crate::domain::fleet::record::Record;

pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let clf::Head { mut record, rest, .. } = clf::head(line, stamps)?;
    let rest = clf::take_agent(&mut record, rest)?;
    let upstream = match record.truncated {
        true => Upstream::default(),
        false => take_tail(&mut record, rest.strip_prefix(b" ").unwrap_or(rest))?,
    };
    let ended_empty = upstream.add_to(&mut record);
    let whole = !record.truncated;
    upstream::attribute(&mut record, whole, ended_empty);
    Ok(Line::Request(record))
}

fn take_tail<'a>(record: &mut Record<'a>, rest: &'a [u8]) -> Result<Upstream<'a>, Reject> {
    let (length, rest) = scan::word(rest);
    let (time, rest) = scan::word(rest);
    record.duration_us = scan::micros(time, Unit::Seconds);
    if scan::number(length).is_none() || record.duration_us.is_none() {
        return Err(Reject("no length of the request and no time follow the user agent"));
    }
    let Some((pool, mut rest)) = bracket(rest) else {
        if !rest.is_empty() && !rest.starts_with(b"[") {
            return Err(Reject("no upstream in brackets follows the time of the request"));
        }
        record.truncated = true;
        return Ok(Upstream::default());
    };
    record.pool = scan::present(pool);
    if let Some((alternative, after)) = bracket(rest) {
        record.pool = scan::present(alternative).or(record.pool);
        rest = after;
    }
    let (addr, rest) = list(rest);
    let (response_length, rest) = list(rest);
    let (response_time, rest) = list(rest);
    let (status, _req_id) = list(rest);
    record.truncated = status.is_empty();
    Ok(Upstream { addr, status, response_time, response_length, ..Upstream::default() })
}

/// `[…] ` and what follows.
fn bracket(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (inner, rest) = scan::split_at_byte(text.strip_prefix(b"[")?, b']')?;
    Some((inner, rest.strip_prefix(b" ").unwrap_or(rest)))
}

/// The list at the beginning and what follows it: a space ends it that is neither after a comma nor
/// beside a colon that stands alone.
fn list(text: &[u8]) -> (&[u8], &[u8]) {
    let mut from = 0;
    while let Some(space) = memchr::memchr(b' ', &text[from..]).map(|at| from + at) {
        if text[..space].ends_with(b",") {
            from = space + 1;
        } else if text[space..].starts_with(b" : ") {
            from = space + 3;
        } else {
            return (&text[..space], &text[space + 1..]);
        }
    }
    (text, &[])
}
