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
    /// The virtual host that stands before the client.
    pub vhost: Option<&'a [u8]>,
    /// The bytes are a `-`: Apache's `%b` for none.
    pub no_bytes: bool,
    /// Begins after the space that follows the bytes.
    pub rest: &'a [u8],
}

/// `client identity user [time] "request" status bytes`. The client may be a list, quoted or bare, and
/// may stand behind a virtual host.
pub fn head<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Head<'a>, Reject> {
    let (who, end_us, rest) = time(line, stamps)?;
    let mut record = Record { end_us, ..Record::default() };
    let vhost = take_who(&mut record, who)?;
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
    Ok(Head { record, vhost, no_bytes: bytes == b"-", rest })
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
/// others even if the user holds spaces. Gives the virtual host that stands before the client.
fn take_who<'a>(record: &mut Record<'a>, who: &'a [u8]) -> Result<Option<&'a [u8]>, Reject> {
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
    // Older ingress controllers repeat the client: `1.2.3.4 - [1.2.3.4] - user`.
    let user = match user.strip_prefix(b"[").and_then(|inner| scan::split_at_byte(inner, b']')) {
        Some((_, user)) => user.strip_prefix(b" - ").unwrap_or(user),
        None => user,
    };
    record.user = scan::present(user).map(Text::backslash);
    let (client, vhost) = client_of(client);
    record.client = client;
    Ok(vhost)
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

/// Of a list the first; otherwise the last word, and the virtual host before it.
fn client_of(text: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    if let Some(inner) = text.strip_prefix(b"\"") {
        let list = scan::split_at_byte(inner, b'"').map_or(inner, |(list, _)| list);
        if scan::present(list).is_some() {
            return (upstream::client(list), None);
        }
    } else if memchr(b',', text).is_some() {
        return (upstream::client(text), None);
    }
    match last_word(text) {
        Some((vhost, client)) => (scan::present(client).map(scan::host), Some(vhost)),
        None => (scan::present(text).map(scan::host), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesslog::Context;

    const REST: &str = r#" [05/Mar/2026:10:15:30 +0000] "GET / HTTP/1.1" 200 5"#;

    fn stamps() -> Stamps {
        Stamps::new(&Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 })
    }

    /// Client, user and virtual host of a line that begins so.
    fn who(text: &str) -> [String; 3] {
        let line = format!("{text}{REST}");
        let head = head(line.as_bytes(), &mut stamps()).unwrap();
        let shown =
            |text: Option<&[u8]>| String::from_utf8_lossy(text.unwrap_or(b"none")).into_owned();
        [shown(head.record.client), shown(head.record.user.map(|user| user.raw)), shown(head.vhost)]
    }

    #[test]
    fn clients_users_and_virtual_hosts() {
        assert_eq!(who("203.0.113.9 - -"), ["203.0.113.9", "none", "none"]);
        // influxdata/telegraf #1810: a user with a space.
        assert_eq!(who("203.0.113.9 - ann 2"), ["203.0.113.9", "ann 2", "none"]);
        assert_eq!(who("127.0.0.1 - john doe"), ["127.0.0.1", "john doe", "none"]);
        assert_eq!(who("127.0.0.1 - a [b]"), ["127.0.0.1", "a [b]", "none"]);
        // influxdata/telegraf #1973: an IPv6 address is one address.
        assert_eq!(who("2001:db8::7 - -"), ["2001:db8::7", "none", "none"]);
        assert_eq!(who("10.0.0.2, 10.0.0.1, 127.0.0.1 - -"), ["10.0.0.2", "none", "none"]);
        assert_eq!(
            who(r#""10.5.102.222, 199.96.1.1" 10.2.1.185 - -"#),
            ["10.5.102.222", "none", "none"]
        );
        assert_eq!(who(r#""-" 10.2.1.185 - -"#), ["10.2.1.185", "none", "\"-\""]);
        assert_eq!(who("lab:80 127.0.0.1 - -"), ["127.0.0.1", "none", "lab:80"]);
        assert_eq!(
            who("localhost:443 178.20.184.42 1j0vhgd jsmith"),
            ["178.20.184.42", "jsmith", "localhost:443"]
        );
        assert_eq!(who("monitoring-server - -"), ["monitoring-server", "none", "none"]);
        assert_eq!(who("1.2.3.4 - [1.2.3.4] - ann"), ["1.2.3.4", "ann", "none"]);
        assert_eq!(who("- - -"), ["none", "none", "none"]);
    }

    #[test]
    fn what_is_no_line_and_what_was_cut() {
        let read =
            |line: &str| head(line.as_bytes(), &mut stamps()).map(|head| head.record.truncated);
        let line = |rest: &str| format!("1.2.3.4 - - [05/Mar/2026:10:15:30 +0000] {rest}");
        assert_eq!(read(&line(r#""GET / HTTP/1.1" 200 5"#)), Ok(false));
        assert_eq!(read(&line(r#""GET / HTTP/1.1" 200"#)), Ok(true));
        assert_eq!(read(&line(r#""-" 408 -"#)), Ok(false));
        for bad in [
            line(r#""GET / HTTP/1.1" "#),
            line(r#""GET / HTT"#),
            line(r#""GET / HTTP/1.1" x 5"#),
            line(r#""GET / HTTP/1.1" 200 x"#),
            line("GET / 200 5"),
            format!("1.2.3.4{REST}"),
            "1.2.3.4 - - [05/Mar/2026] x".to_owned(),
            String::new(),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
