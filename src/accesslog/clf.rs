//! The common log format, which nginx and Apache share: who, when, what, status, bytes. Read from the
//! bracket of the time to both sides, because users and lists of clients may hold spaces.

use memchr::memchr;

use super::{
    Reject,
    scan::{self, Quoted},
    stamp::Stamps,
    upstream,
};
use crate::domain::fleet::record::{Escape, Record, Text};

/// A line as far as the bytes, and what follows them.
#[derive(Debug)]
pub struct Head<'a> {
    pub record: Record<'a>,
    /// Begins after the space that follows the bytes.
    pub rest: &'a [u8],
}

/// `client identity user [time] "request" status bytes`. The client may be a list, quoted or bare, and
/// may stand behind a virtual host.
pub fn head<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Head<'a>, Reject> {
    let (who, end_us, rest) = time(line, stamps)?;
    let mut record = Record { end_us, ..Record::default() };
    take_who(&mut record, who)?;
    let request = scan::quoted(rest, Escape::Backslash)
        .ok_or(Reject("no quoted request follows the time"))?;
    if request.cut {
        return Err(Reject("the line ends in its request, before the status"));
    }
    upstream::take_request(&mut record, request.raw, Escape::Backslash);
    let (status, rest) = scan::word(request.rest.strip_prefix(b" ").unwrap_or(request.rest));
    if status.is_empty() {
        return Err(Reject("the line ends before the status"));
    }
    record.status = scan::status(status)?;
    let (bytes, rest) = scan::word(rest);
    record.bytes = match bytes {
        // Apache's `%b` for no bytes.
        b"-" => Some(0),
        digits => scan::number(digits),
    };
    match bytes {
        b"" => record.truncated = true,
        b"-" => {}
        _ if record.bytes.is_none() => return Err(Reject("the bytes are no number")),
        _ => {}
    }
    Ok(Head { record, rest })
}

/// `"referer" "user agent"`, when the line has them; gives what follows.
pub fn take_agent<'a>(record: &mut Record<'a>, rest: &'a [u8]) -> Result<&'a [u8], Reject> {
    let Some(referer) = next_quoted(rest) else { return Ok(rest) };
    if referer.cut {
        record.truncated = true;
        return Ok(&[]);
    }
    let Some(agent) = next_quoted(referer.rest) else {
        if referer.rest.trim_ascii().is_empty() {
            record.truncated = true;
            return Ok(&[]);
        }
        return Err(Reject("one quoted field follows the bytes where there should be two"));
    };
    record.user_agent = scan::present(agent.raw).map(Text::backslash);
    record.truncated |= agent.cut;
    Ok(agent.rest)
}

fn next_quoted(text: &[u8]) -> Option<Quoted<'_>> {
    scan::quoted(text.strip_prefix(b" ").unwrap_or(text), Escape::Backslash)
}

/// The text before the first bracket that holds a time, the time, and what follows the bracket and a
/// space.
pub fn time<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<(&'a [u8], i64, &'a [u8]), Reject> {
    let mut from = 0;
    while let Some(open) = memchr(b'[', &line[from..]).map(|at| from + at) {
        // The zone is nearly always there, so that the bracket closes 27 bytes on.
        let inner = &line[open + 1..];
        let close = match inner.get(26) {
            Some(b']') => Some(26),
            _ => memchr(b']', &inner[..inner.len().min(40)]),
        };
        if let Some(close) = close
            && let Some(at_us) = stamps.clf(&inner[..close])
        {
            let rest = &inner[close + 1..];
            return Ok((&line[..open], at_us, rest.strip_prefix(b" ").unwrap_or(rest)));
        }
        from = open + 1;
    }
    Err(Reject("no time such as [05/Mar/2026:10:15:30 +0000] is in the line"))
}

/// `client identity user `. nginx and nearly everybody write `-` for the identity, which parts the two
/// others even if the user holds spaces.
pub fn take_who<'a>(record: &mut Record<'a>, who: &'a [u8]) -> Result<(), Reject> {
    const MISSING: Reject = Reject("client, identity and user do not stand before the time");
    let who = who.trim_ascii_end();
    let (client, user) = match find_dash(who) {
        Some(at) => (&who[..at], &who[at + 3..]),
        None => {
            let (rest, user) = last_word(who).ok_or(MISSING)?;
            let (client, _identity) = last_word(rest).ok_or(MISSING)?;
            (client, user)
        }
    };
    record.user = scan::present(user).map(Text::backslash);
    record.client = client_of(client);
    Ok(())
}

/// Where the first ` - ` stands.
fn find_dash(who: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = memchr(b' ', &who[from..]).map(|at| from + at) {
        if who[at..].starts_with(b" - ") {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memrchr(b' ', text)?;
    Some((&text[..at], &text[at + 1..])).filter(|(before, _)| !before.is_empty())
}

/// Of a list the first; otherwise the last word, for a virtual host may stand before it.
fn client_of(text: &[u8]) -> Option<&[u8]> {
    if let Some(inner) = text.strip_prefix(b"\"") {
        let list = scan::split_at_byte(inner, b'"').map_or(inner, |(list, _)| list);
        if scan::present(list).is_some() {
            return upstream::client(list);
        }
    } else if memchr(b',', text).is_some() {
        return upstream::client(text);
    }
    let word = last_word(text).map_or(text, |(_, word)| word);
    scan::present(word).map(scan::host)
}
