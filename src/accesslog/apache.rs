//! Apache's common, combined and vhost formats, with or without what people add behind them: `%D` (µs) and
//! the balancer's worker (`%{BALANCER_WORKER_NAME}e`). The time is that of the request's arrival.

use super::{Line, Reject, clf, scan, scan::Unit, stamp::Stamps, upstream};
use crate::domain::fleet::record::{Attempt, Record};

/// `%h %l %u %t "%r" %>s %b`, and with a referer and a user agent if the line has them.
pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    Ok(Line::Request(record(clf::head(line, stamps)?)?))
}

/// `%v:%p` before the client.
pub fn vhost_line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let head = clf::head(line, stamps)?;
    if head.vhost.is_none() {
        return Err(Reject("no virtual host stands before the client"));
    }
    Ok(Line::Request(record(head)?))
}

fn record(head: clf::Head<'_>) -> Result<Record<'_>, Reject> {
    let clf::Head { mut record, rest, .. } = head;
    let rest = clf::take_agent(&mut record, rest)?;
    let named = take_trailing(&mut record, rest);
    if let Some(duration) = record.duration_us {
        record.end_us = record.end_us.saturating_add_unsigned(duration);
    }
    upstream::attribute(&mut record, named, false);
    Ok(record)
}

/// Of the fields behind the user agent a bare whole number is `%D` and an URL is the worker; a `-` where
/// the worker stands says that Apache answered by itself. Whether the worker is named.
fn take_trailing<'a>(record: &mut Record<'a>, rest: &'a [u8]) -> bool {
    let mut dash = false;
    for word in rest.split(|b| *b == b' ').filter(|word| !word.is_empty()) {
        if let Some(instance) = worker(word) {
            record.attempts.push(Attempt {
                instance,
                status: record.status,
                duration_us: record.duration_us,
                outcome: upstream::answer(record.status),
                ..Attempt::default()
            });
            return true;
        }
        dash |= word == b"-" && record.duration_us.is_some();
        if record.duration_us.is_none() {
            record.duration_us =
                scan::micros(word, Unit::Micros).filter(|_| scan::number(word).is_some());
        }
    }
    dash
}

/// `http://10.9.0.11:8080` without its scheme.
fn worker(word: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(word, b"://")?;
    let scheme = &word[..at];
    let known =
        matches!(scheme, b"http" | b"https" | b"ajp" | b"h2" | b"h2c" | b"fcgi" | b"ws" | b"wss");
    let host = word[at + 3..].split(|b| *b == b'/').next()?;
    (known && !host.is_empty()).then_some(host)
}
