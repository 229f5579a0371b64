//! Lines about servers and backends: changes of state, health checks, the last server gone.

use super::super::scan::{number, split_at_byte, word};
use crate::domain::fleet::event::{Event, Source, State, What};

/// What such a line says.
#[derive(Debug, PartialEq)]
pub(super) enum Said<'a> {
    /// `Server B/S is DOWN, reason: R. 2 active and 0 backup servers left. …`
    State {
        server: Server<'a>,
        state: State,
        cause: Option<&'a [u8]>,
        active: Option<u32>,
        /// Out because checks say so, and not on purpose.
        down: bool,
        /// The server whose checks this one follows.
        via: Option<String>,
    },
    /// `Health check for server B/S failed, reason: R, check duration: 0ms, status: 1/2 UP.`
    Check { server: Server<'a>, passed: bool, cause: Option<&'a [u8]> },
    /// `backend B has no server available!`
    Empty { backend: &'a [u8] },
}

/// `backend/server`
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Server<'a> {
    whole: &'a [u8],
    backend: &'a [u8],
    name: &'a [u8],
}

/// What a line is about; none if it is no line of these kinds. Told by the first letters, for every
/// request passes through here.
pub(super) fn read(message: &[u8]) -> Option<Said<'_>> {
    match message.first()? {
        b'S' => state(message.strip_prefix(b"Server ")?),
        b'B' => state(message.strip_prefix(b"Backup Server ")?),
        b'H' => check(message.strip_prefix(b"Health check for ")?),
        b'A' => check(message.strip_prefix(b"Agent check for ")?),
        b'a'..=b'z' | b'P' => empty(message),
        _ => None,
    }
}

impl Said<'_> {
    pub(super) fn event(&self, at_us: i64, reporter: Option<String>) -> Event {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (server, what, reason, active) = match self {
            Self::State { server, state, cause, active, .. } => {
                (Some(server), What::State(*state), *cause, *active)
            }
            Self::Check { server, passed, cause } => {
                (Some(server), What::Check { passed: *passed }, *cause, None)
            }
            Self::Empty { .. } => (None, What::PoolEmpty, None, Some(0)),
        };
        let mut event = Event::new(at_us, Source::Haproxy, what);
        if let Some(server) = server {
            event = event.of(text(server.whole));
            event.aliases.push(text(server.name));
            event.pool = Some(text(server.backend));
        } else if let Self::Empty { backend } = self {
            event.pool = Some(text(backend));
        }
        event.reporter = reporter;
        event.reason = reason.map(text);
        event.active = active;
        event
    }
}

/// What may follow the server's name, the longer before what it begins with.
const STATES: [(&[u8], State); 17] = [
    (b"is going DOWN for maintenance", State::Maintenance),
    (b"was DOWN and now enters maintenance", State::Maintenance),
    (b"is leaving forced maintenance but remains in maintenance", State::Maintenance),
    (b"resolves again but remains in maintenance", State::Maintenance),
    (b"remains in forced maintenance", State::Maintenance),
    (b"remains in maintenance", State::Maintenance),
    (b"remains in drain mode", State::Draining),
    (b"remains in forced drain mode", State::Draining),
    (b"enters drain state", State::Draining),
    (b"is stopping", State::Draining),
    (b"is UP/DRAIN", State::Draining),
    (b"is UP/READY", State::Ready),
    (b"is DOWN/DRAIN", State::Unready),
    (b"is DOWN/READY", State::Unready),
    (b"is UP", State::Ready),
    (b"is DOWN", State::Unready),
    (b"administratively READY", State::Ready),
];

fn state(text: &[u8]) -> Option<Said<'_>> {
    let (server, mut rest) = server(text)?;
    if let Some(host) = rest.strip_prefix(b"('") {
        rest = &host[memchr::memmem::find(host, b"') ")? + 3..];
    }
    let found = STATES.iter().find_map(|(words, state)| Some((rest.strip_prefix(*words)?, *state)));
    let (rest, state) = found?;
    let (cause, active) = match memchr::memmem::rfind(rest, b" active and ") {
        Some(at) => {
            let before = &rest[..at];
            let digits = before.rsplit(|b| *b == b' ').next().unwrap_or_default();
            let cause = before[..before.len() - digits.len()].trim_ascii_end();
            (cause, number(digits).and_then(|count| u32::try_from(count).ok()))
        }
        None => (rest, None),
    };
    let cause = trimmed(cause);
    let via = cause.and_then(|cause| cause.strip_prefix(b"via ")).map(|via| {
        let end = via.iter().position(|b| matches!(b, b' ' | b',')).unwrap_or(via.len());
        String::from_utf8_lossy(&via[..end]).into_owned()
    });
    Some(Said::State { server, state, cause, active, down: state == State::Unready, via })
}

fn check(text: &[u8]) -> Option<Said<'_>> {
    let text = text.strip_prefix(b"backup ").unwrap_or(text);
    let (server, rest) = server(text.strip_prefix(b"server ")?)?;
    let rest = rest.strip_prefix(b"conditionally ").unwrap_or(rest);
    let (passed, rest) = match rest.strip_prefix(b"succeeded") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(b"failed")?),
    };
    let cause = match memchr::memmem::rfind(rest, b", status: ") {
        Some(end) => &rest[..end],
        None => rest,
    };
    Some(Said::Check { server, passed, cause: trimmed(cause) })
}

/// `backend app …`, `proxy app …` of a `listen` section, with quotes around the name on standard error.
fn empty(message: &[u8]) -> Option<Said<'_>> {
    let (before, _) =
        message.split_at_checked(message.len().checked_sub(b" has no server available!".len())?)?;
    if &message[before.len()..] != b" has no server available!" {
        return None;
    }
    let (_kind, name) = word(before);
    let name = name.strip_prefix(b"'").and_then(|name| name.strip_suffix(b"'")).unwrap_or(name);
    (!name.is_empty() && !name.contains(&b' ')).then_some(Said::Empty { backend: name })
}

fn server(text: &[u8]) -> Option<(Server<'_>, &[u8])> {
    let (whole, rest) = word(text);
    let (backend, name) = split_at_byte(whole, b'/')?;
    (!backend.is_empty() && !name.is_empty()).then_some((Server { whole, backend, name }, rest))
}

/// The cause in HAProxy's words, without what frames it and without how long the check took.
fn trimmed(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii();
    let text = text.strip_suffix(b".").unwrap_or(text);
    let text = text.strip_prefix(b",").unwrap_or(text).trim_ascii_start();
    let text = text.strip_prefix(b"reason: ").unwrap_or(text);
    let text = match memchr::memmem::rfind(text, b", check duration: ") {
        Some(end) => &text[..end],
        None => text,
    };
    let bare = text.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")"));
    Some(bare.unwrap_or(text)).filter(|text| !text.is_empty())
}
