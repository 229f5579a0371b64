//! nginx's combined format, with what packages and people add behind it: a quoted list of clients
//! (`$http_x_forwarded_for`), and fields such as `upstream=10.9.0.11:80 ust=200 rt=0.021`. Unknown
//! trailing fields are ignored.

use super::{
    Line, Reject, clf,
    nginx_fields::{Fields, Variable},
    scan::{self, Unit},
    stamp::Stamps,
    upstream,
};
use crate::domain::fleet::record::Escape;

pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let clf::Head { mut record, rest, .. } = clf::head(line, stamps)?;
    let rest = clf::take_agent(&mut record, rest)?;
    if rest.is_empty() {
        upstream::attribute(&mut record, false, false);
        return Ok(Line::Request(record));
    }
    let mut fields = Fields::escaped(Escape::Backslash);
    fields.record = record;
    let named = take_trailing(&mut fields, rest, stamps);
    Ok(Line::Request(fields.finish(named)))
}

/// `name=value` fields, whose values may be lists with spaces: a value ends where the next field begins.
/// Of fields without a name only a time in seconds with three decimals is known: nothing else is written
/// like nginx's `$request_time`, and it comes before the times of the upstreams. Whether the line says who
/// was asked.
fn take_trailing<'a>(fields: &mut Fields<'a>, mut rest: &'a [u8], stamps: &mut Stamps) -> bool {
    let mut named = false;
    if memchr::memchr(b'=', rest).is_none() {
        let time = rest.split(|b| *b == b' ').find(|word| is_seconds(word));
        fields.record.duration_us = time.and_then(|time| scan::micros(time, Unit::Seconds));
        return named;
    }
    while let Some(equals) = memchr::memchr(b'=', rest) {
        let before = &rest[..equals];
        let key = before.rsplit(|b| *b == b' ').next().unwrap_or(before);
        let after = &rest[equals + 1..];
        let (value, next) = match scan::quoted(after, Escape::Backslash) {
            Some(quoted) => (quoted.raw, quoted.rest),
            None => unquoted_value(after),
        };
        if let Some(variable) = Variable::of_key(key).filter(|variable| variable.adds()) {
            named |= variable == Variable::UpstreamAddr;
            // What is behind the bytes is an addition: when it is no such value, the line stands.
            let _unread = fields.set(variable, value, stamps);
        }
        rest = next;
    }
    named
}

fn is_seconds(word: &[u8]) -> bool {
    matches!(word, [whole @ .., b'.', a, b, c]
        if scan::number(whole).is_some() && [a, b, c].iter().all(|b| b.is_ascii_digit()))
}

/// The value up to the space before the next `name=`, and the rest from that name on.
fn unquoted_value(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(equals) = memchr::memchr(b'=', text) else { return (text.trim_ascii(), &[]) };
    match memchr::memrchr(b' ', &text[..equals]) {
        Some(space) => (text[..space].trim_ascii(), &text[space + 1..]),
        None => {
            let end = memchr::memchr(b' ', text).unwrap_or(text.len());
            (&text[..end], &text[end..])
        }
    }
}
