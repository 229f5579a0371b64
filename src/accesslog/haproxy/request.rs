//! One request: `client [start] frontend backend/server TR/Tw/Tc/Tr/Ta status bytes cookies state
//! connections/…/retries queues {captured} "request" …`, and the variant that begins like the common log
//! format.

use super::{
    super::{
        Line, Reject,
        scan::{self, Quoted, number, present, quoted, split_at_byte, word},
        stamp::Stamps,
        upstream,
    },
    envelope::{Envelope, Stamp},
};
use crate::domain::fleet::record::{Attempt, Attribution, Escape, Fault, Outcome, Record, Text};

/// Words that somebody's own format has between the server and the timers.
const MOST_INSERTED: usize = 3;

pub(super) fn read<'a>(envelope: &Envelope<'a>, stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
    let message = envelope.message;
    let (client, rest) = word(message);
    if let Some(rest) = rest.strip_prefix(b"[")
        && let Some((start, rest)) = split_at_byte(rest, b']')
        && let Some(start_us) = stamps.clf(start)
    {
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        return http(client, start_us, rest, envelope, stamps);
    }
    if let Some((start_us, rest)) = clf_start(rest, stamps) {
        return clf(client, start_us, rest, envelope);
    }
    // Starts and ends of the proxies themselves, connections without a request, other programs.
    match envelope.tag {
        Some(_) if memchr::memchr(b'[', message).is_none() => Ok(Line::Nothing),
        _ => Err(Reject("neither a request nor a state of HAProxy")),
    }
}

/// What a request line says before it is judged.
#[derive(Default)]
struct Fields<'a> {
    backend: &'a [u8],
    server: &'a [u8],
    /// As the instance is called.
    instance: &'a [u8],
    timers: [Option<u64>; 5],
    status: Option<u16>,
    bytes: Option<u64>,
    /// The first two letters of the termination state.
    ended: [u8; 2],
    redispatched: bool,
}

fn http<'a>(
    client: &'a [u8],
    start_us: i64,
    rest: &'a [u8],
    envelope: &Envelope<'_>,
    stamps: &mut Stamps,
) -> Result<Line<'a>, Reject> {
    let (frontend, rest) = word(rest);
    if frontend.ends_with(b":") {
        // `frontend/1: SSL handshake failure`: a connection on which no request came.
        return Ok(Line::Nothing);
    }
    let (chosen, mut rest) = word(rest);
    let (backend, server) =
        split_at_byte(chosen, b'/').ok_or(Reject("no backend/server follows the frontend"))?;
    let mut inserted = 0;
    let timers = loop {
        let (field, after) = word(rest);
        rest = after;
        if let Some(timers) = timers(field)? {
            break timers;
        }
        inserted += 1;
        if inserted > MOST_INSERTED || after.is_empty() {
            return Err(Reject("no timers follow the server"));
        }
    };
    let (status, rest) = word(rest);
    let (bytes, rest) = word(rest);
    let (_request_cookie, rest) = word(rest);
    let (_response_cookie, rest) = word(rest);
    let (ended, rest) = word(rest);
    let (connections, rest) = word(rest);
    let (_queues, rest) = word(rest);
    let fields = Fields {
        backend,
        server,
        instance: chosen,
        timers,
        status: scan::status(status)?,
        bytes: number(bytes.strip_prefix(b"+").unwrap_or(bytes)),
        ended: ended_of(ended)?,
        redispatched: retries(connections),
    };
    let end_us = start_us.saturating_add(micros(fields.timers[TA]));
    // Some formats write no client, only its port; an address of IPv6 has no brackets.
    let client = present(scan::host_port(client).0);
    let mut record = fields.record(client, zoned(end_us, envelope, stamps));
    let (captured, request) = match memchr::memchr(b'"', rest) {
        Some(quote) => (&rest[..quote], quoted(&rest[quote..], Escape::Hash)),
        None => (rest, None),
    };
    record.user_agent = user_agent(captured);
    finish(&mut record, request);
    Ok(Line::Request(record))
}

/// `- - [29/Nov/2026:19:34:02 +0000] `, and what follows.
fn clf_start<'a>(rest: &'a [u8], stamps: &mut Stamps) -> Option<(i64, &'a [u8])> {
    let rest = rest.strip_prefix(b"- - [")?;
    let (start, rest) = split_at_byte(rest, b']')?;
    Some((stamps.clf(start)?, rest.strip_prefix(b" ")?))
}

/// `"request" status bytes "" "" port ms "frontend" "backend" "server" TR Tw Tc Tr Ta state actconn feconn
/// beconn srv_conn retries srv_queue backend_queue "captured" "captured"`. The start has its ms apart.
fn clf<'a>(
    client: &'a [u8],
    start_us: i64,
    rest: &'a [u8],
    envelope: &Envelope<'_>,
) -> Result<Line<'a>, Reject> {
    const OTHER: Reject = Reject("a common log line without HAProxy's fields");
    let request = quoted(rest, Escape::Hash).ok_or(OTHER)?;
    if request.cut {
        // It ends before the server. That it is HAProxy's is certain only with its name before it.
        envelope.tag.ok_or(OTHER)?;
        let mut record = Fields::default().record(present(client), start_us);
        record.attribution = Attribution::None;
        finish(&mut record, Some(request));
        return Ok(Line::Request(record));
    }
    let mut rest = request.rest.strip_prefix(b" ").unwrap_or(request.rest);
    let mut next = || {
        let (field, after) = scan::field(rest, Escape::Hash);
        rest = after;
        field
    };
    let (status, bytes) = (next(), next());
    let (_user, _agent, port, ms) = (next(), next(), next(), next());
    let ms = number(ms).filter(|ms| *ms < 1_000 && number(port).is_some()).ok_or(OTHER)?;
    let (_frontend, backend, server) = (next(), next(), next());
    let mut timers = [None; 5];
    for timer in &mut timers {
        *timer = self::timer(next()).ok_or(OTHER)?;
    }
    let ended = ended_of(next())?;
    let (_act, _fe, _be, _srv, retries) = (next(), next(), next(), next(), next());
    let fields = Fields {
        backend,
        server,
        // Backend and server stand apart, so that only the server can be named.
        instance: server,
        timers,
        status: scan::status(status)?,
        bytes: number(bytes.strip_prefix(b"+").unwrap_or(bytes)),
        ended,
        redispatched: retries.starts_with(b"+"),
    };
    let start_us = start_us.saturating_add(micros(Some(ms)));
    let end_us = start_us.saturating_add(micros(fields.timers[TA]));
    let mut record = fields.record(present(client), end_us);
    finish(&mut record, Some(request));
    Ok(Line::Request(record))
}

const TR_REQUEST: usize = 0;
const TW: usize = 1;
const TC: usize = 2;
const TR: usize = 3;
const TA: usize = 4;

impl<'a> Fields<'a> {
    fn record(&self, client: Option<&'a [u8]>, end_us: i64) -> Record<'a> {
        let mut record = Record {
            end_us,
            client,
            status: self.status,
            bytes: self.bytes,
            duration_us: self.timers[TA].map(|ms| ms.saturating_mul(1_000)),
            pool: present(self.backend),
            redispatched: self.redispatched,
            ..Record::default()
        };
        if self.server.starts_with(b"<") || self.server.is_empty() {
            record.attribution = self.without_server();
            let empty = self.server == b"<NOSRV>" && self.ended == *b"SC";
            record.pool_empty = u8::from(empty);
            return record;
        }
        let (outcome, attribution) = self.with_server();
        record.attribution = attribution;
        let answered = self.timers[TR].is_some() && &self.ended != b"PH";
        record.attempts.push(Attempt {
            instance: self.instance,
            status: self.status.filter(|_| answered),
            duration_us: self.time_of_server(),
            connect_us: self.timers[TC].map(|ms| ms.saturating_mul(1_000)),
            bytes: self.bytes.filter(|_| answered),
            outcome,
        });
        record
    }

    /// Until the answer began, or as long as it was waited for one.
    fn time_of_server(&self) -> Option<u64> {
        let ms = match (self.timers[TC], self.timers[TR]) {
            (connect, Some(answer)) => connect.unwrap_or(0).saturating_add(answer),
            (_, None) => {
                let before = self.timers[TR_REQUEST].unwrap_or(0);
                let before = before.saturating_add(self.timers[TW].unwrap_or(0));
                self.timers[TA]?.saturating_sub(before)
            }
        };
        Some(ms.saturating_mul(1_000))
    }

    /// Nobody was asked: `<NOSRV>`, or HAProxy answered by itself (`<STATS>`, `<CACHE>` and the like).
    fn without_server(&self) -> Attribution {
        match self.ended {
            [b'C' | b'c', _] => Attribution::Client,
            [b'S' | b's', _] if self.server == b"<NOSRV>" => Attribution::Pool,
            _ => Attribution::Proxy,
        }
    }

    /// By the first letter who ended it (lower case: a time-out), by the second in which phase.
    fn with_server(&self) -> (Outcome, Attribution) {
        let failed = |fault| (Outcome::Error(fault), Attribution::Instance);
        match self.ended {
            [b'-', _] => match upstream::answer(self.status) {
                Outcome::Unknown => (Outcome::Unknown, Attribution::None),
                outcome => (outcome, Attribution::Instance),
            },
            // The queue was full or too slow: nobody's fault in particular.
            [b'S' | b's', b'Q'] => (Outcome::Unknown, Attribution::Pool),
            [b'S' | b's', b'C'] => failed(Fault::Connect),
            [b's', _] => failed(Fault::Timeout),
            // Closed too early; no valid answer; gone down while it answered.
            [b'S', _] | [b'P', b'H'] | [b'D', _] => failed(Fault::Reset),
            [b'C' | b'c', _] => (Outcome::Unknown, Attribution::Client),
            _ => (Outcome::Unknown, Attribution::Proxy),
        }
    }
}

/// The request, and what follows from it.
fn finish<'a>(record: &mut Record<'a>, request: Option<Quoted<'a>>) {
    let Some(request) = request else {
        record.truncated = true;
        return;
    };
    record.truncated = request.cut;
    upstream::take_request(record, request.raw, Escape::Hash);
    // Bytes that are no request are the client's doing, though it is HAProxy that refuses them.
    if request.raw == b"<BADREQ>" {
        record.attribution = Attribution::Client;
    }
}

/// HAProxy writes the start without zone. Where the line carries a full stamp of its end, that tells the
/// zone: the two lie a whole number of quarters of an hour apart, give or take how long writing took.
fn zoned(end_us: i64, envelope: &Envelope<'_>, stamps: &mut Stamps) -> i64 {
    const QUARTER_US: i64 = 900_000_000;
    const FARTHEST: i64 = 14 * 4;
    let Some(stamp @ Stamp::Iso(_)) = &envelope.stamp else { return end_us };
    let Some(written_us) = stamp.read(stamps) else { return end_us };
    let apart = written_us.saturating_sub(end_us).saturating_add(QUARTER_US / 2);
    let quarters = apart.div_euclid(QUARTER_US);
    if quarters.abs() > FARTHEST { end_us } else { end_us + quarters * QUARTER_US }
}

/// `TR/Tw/Tc/Tr/Ta`. None if the word is no timers; an error if they are those of a TCP connection.
fn timers(field: &[u8]) -> Result<Option<[Option<u64>; 5]>, Reject> {
    let mut timers = [None; 5];
    let mut count = 0;
    for part in field.split(|b| *b == b'/') {
        let Some(timer) = timer(part) else { return Ok(None) };
        if let Some(place) = timers.get_mut(count) {
            *place = timer;
        }
        count += 1;
    }
    match count {
        5 => Ok(Some(timers)),
        3 => Err(Reject("a TCP connection: HAProxy's TCP log is known and not built")),
        _ => Ok(None),
    }
}

/// `12`, `+12` for what was not over yet, `-1` for what was not reached; none for anything else.
fn timer(text: &[u8]) -> Option<Option<u64>> {
    if text == b"-1" {
        return Some(None);
    }
    number(text.strip_prefix(b"+").unwrap_or(text)).map(Some)
}

fn ended_of(word: &[u8]) -> Result<[u8; 2], Reject> {
    match word {
        [who, when, _, _] => Ok([*who, *when]),
        _ => Err(Reject("no termination state of four letters stands where it should")),
    }
}

/// Whether the fifth number says that another server was tried after a failure.
fn retries(connections: &[u8]) -> bool {
    connections.split(|b| *b == b'/').nth(4).is_some_and(|retries| retries.starts_with(b"+"))
}

fn micros(ms: Option<u64>) -> i64 {
    ms.and_then(|ms| i64::try_from(ms).ok()).map_or(0, |ms| ms.saturating_mul(1_000))
}

/// What is captured is the user's choice and has no names. A value that begins like `curl/8.1` is taken
/// for the user agent; with several of the kind nothing says which.
fn user_agent(captured: &[u8]) -> Option<Text<'_>> {
    let values = captured.strip_prefix(b"{")?.split(|b| *b == b'}').next()?;
    let mut alike = values.split(|b| *b == b'|').filter(|value| {
        let Some((name, version)) = split_at_byte(value, b'/') else { return false };
        let token = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        name.first().is_some_and(u8::is_ascii_alphabetic)
            && name.iter().all(token)
            && name != b"HTTP"
            && version.first().is_some_and(u8::is_ascii_digit)
    });
    let raw = alike.next()?;
    alike.next().is_none().then_some(Text { raw, escape: Escape::Hash })
}
