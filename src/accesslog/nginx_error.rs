//! nginx's error log: what it says of upstreams. `2026/11/29 19:34:01 [warn] 32094#32094: *812 upstream
//! server temporarily disabled while connecting to upstream, client: …, upstream:
//! "http://127.0.0.1:9102/cart", host: "…"`. Everything else in it is of no interest. There is no line
//! for a return: that is the next request to the address.

use memchr::memmem;

use super::{Line, Reject, scan, stamp::Stamps};
use crate::domain::fleet::event::{Event, Source, What};

pub fn line<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let (stamp, rest) = line.split_first_chunk::<19>().ok_or(NO_TIME)?;
    let at_us = stamps.iso(stamp).ok_or(NO_TIME)?;
    let (level, rest) = rest
        .strip_prefix(b" [")
        .and_then(|rest| scan::split_at_byte(rest, b']'))
        .ok_or(Reject("no level in brackets follows the time"))?;
    Ok(event(at_us, level, message(rest)).map_or(Line::Nothing, Line::Event))
}

const NO_TIME: Reject = Reject("the line does not begin with a time such as 2026/03/05 10:15:30");

/// Without ` pid#tid: ` and `*connection `.
fn message(rest: &[u8]) -> &[u8] {
    let rest = memmem::find(rest, b": ").map_or(rest, |at| &rest[at + 2..]);
    match rest.strip_prefix(b"*") {
        Some(numbered) => scan::word(numbered).1,
        None => rest,
    }
}

fn event(at_us: i64, level: &[u8], message: &[u8]) -> Option<Event> {
    let words = memmem::find(message, b", client: ").map_or(message, |at| &message[..at]);
    let about = |what: &[u8]| memmem::find(words, what).is_some();
    // The client left, and nginx hung up on the instance because of it.
    if !about(b"upstream") || about(b"client prematurely closed") || about(b"client closed") {
        return None;
    }
    let server = upstream(message)?;
    let reason = String::from_utf8_lossy(words).into_owned();
    let mut event = Event::new(at_us, Source::NginxError, What::Failed);
    let shown = String::from_utf8_lossy(server).into_owned();
    if about(b"no live upstreams") {
        event.what = What::PoolEmpty;
        // Lines about an instance never name its group, which is why the event is of the source's pool.
        event.reason = Some(format!("{reason}: {shown}"));
        return Some(event);
    }
    event.reason = Some(reason);
    if !scan::is_instance(server) {
        return None;
    }
    if about(b"upstream server temporarily disabled") {
        event.what = What::Ejected { enforced: true };
    } else if !matches!(level, b"error" | b"crit" | b"alert" | b"emerg") {
        return None;
    }
    Some(event.of(shown))
}

/// The address, or the name of the group, of `upstream: "http://127.0.0.1:9102/path"`.
fn upstream(message: &[u8]) -> Option<&[u8]> {
    let field: &[u8] = b", upstream: \"";
    let url = &message[memmem::find(message, field)? + field.len()..];
    let rest = memmem::find(url, b"://").map_or(url, |at| &url[at + 3..]);
    let end = match rest.strip_prefix(b"unix:") {
        Some(path) => 5 + path.iter().position(|b| matches!(b, b':' | b'"')).unwrap_or(path.len()),
        None => rest.iter().position(|b| matches!(b, b'/' | b'"' | b'?')).unwrap_or(rest.len()),
    };
    scan::present(&rest[..end])
}
