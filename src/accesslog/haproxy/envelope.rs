//! What stands before the message: RFC 3164 with and without host, RFC 5424, files that rsyslog or the
//! journal wrote with full stamps, standard error in both of its forms, and the prefixes of containers.

use super::super::{
    scan::{number, present, split_at_byte, word},
    stamp::{self, Stamps},
};

/// A line taken apart. Without envelope the message is the line.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    pub message: &'a [u8],
    pub stamp: Option<Stamp<'a>>,
    /// Who wrote it, by its own word: `haproxy`, `haproxy[32090]`.
    pub tag: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    process: Option<&'a [u8]>,
}

/// When the message was written, still as it stands there: a request does not need it.
#[derive(Debug)]
pub(super) enum Stamp<'a> {
    /// `Nov 29 19:32:19`
    Rfc3164(&'a [u8]),
    /// `2026-11-29T19:32:17.072645+00:00`
    Iso(&'a [u8]),
    /// Day of the year from 0, and time of the day in seconds.
    DayOfYear(u16, i64),
}

impl Stamp<'_> {
    pub(super) fn read(&self, stamps: &mut Stamps) -> Option<i64> {
        match self {
            Self::Rfc3164(text) => stamps.rfc3164(text),
            Self::Iso(text) => stamps.iso(text),
            Self::DayOfYear(day, seconds) => stamps.day_of_year(day + 1, *seconds),
        }
    }
}

impl<'a> Envelope<'a> {
    /// Never fails: what is no envelope belongs to the message.
    pub(super) fn open(line: &'a [u8]) -> Self {
        let mut envelope = Self { message: line, ..Self::default() };
        // A container's prefix holds what the program wrote, envelope and all.
        while envelope.peel() {}
        envelope
    }

    /// Which process said it: its id, with the host's name if there is one. A group of balancers may
    /// write into one file.
    pub(super) fn reporter(&self) -> Option<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match (self.host, self.process) {
            (Some(host), Some(process)) => Some(format!("{}:{}", text(host), text(process))),
            (host, process) => host.or(process).map(text),
        }
    }

    fn peel(&mut self) -> bool {
        let text = self.message;
        let Some(first) = text.first() else { return false };
        match first {
            b'<' => self.priority(text),
            b'[' => self.standard_error(text),
            b'0'..=b'9' => self.rfc5424(text) || self.full_stamp(text),
            b'A'..=b'Z' => self.rfc3164(text) || self.container(text),
            _ => self.container(text),
        }
    }

    /// `<134>`
    fn priority(&mut self, text: &'a [u8]) -> bool {
        let Some((digits, rest)) = split_at_byte(&text[1..], b'>') else { return false };
        let valid = digits.len() <= 3 && number(digits).is_some();
        if valid {
            self.message = rest;
        }
        valid
    }

    /// `1 stamp host program process id data message`
    fn rfc5424(&mut self, text: &'a [u8]) -> bool {
        let Some(rest) = text.strip_prefix(b"1 ") else { return false };
        let (stamp, rest) = word(rest);
        if !is_full_stamp(stamp) {
            return false;
        }
        let (host, rest) = word(rest);
        let (program, rest) = word(rest);
        let (process, rest) = word(rest);
        let (_id, rest) = word(rest);
        self.stamp = Some(Stamp::Iso(stamp));
        self.host = present(host);
        self.tag = present(program);
        self.process = present(process);
        let message = past_data(rest);
        self.message = message.strip_prefix(b"\xef\xbb\xbf").unwrap_or(message);
        true
    }

    /// `Nov 29 19:32:19 host haproxy[32090]: message`, the host only if there is one.
    fn rfc3164(&mut self, text: &'a [u8]) -> bool {
        let Some((stamp, rest)) = text.split_at_checked(15) else { return false };
        let shape = stamp[3] == b' ' && stamp[6] == b' ' && stamp[9] == b':' && stamp[12] == b':';
        let Some(rest) = rest.strip_prefix(b" ").filter(|_| shape) else { return false };
        self.stamp = Some(Stamp::Rfc3164(stamp));
        self.header(rest);
        true
    }

    /// `2026-11-29T19:32:17.072645+00:00 host haproxy[32090]: message`, and what a container's runtime
    /// writes: `2026-11-29T19:32:17.072645123Z stderr F message`.
    fn full_stamp(&mut self, text: &'a [u8]) -> bool {
        let (stamp, rest) = word(text);
        if !is_full_stamp(stamp) {
            return false;
        }
        self.stamp = Some(Stamp::Iso(stamp));
        match rest {
            [b's', b't', b'd', b'o', b'u', b't', b' ', b'F' | b'P', b' ', message @ ..]
            | [b's', b't', b'd', b'e', b'r', b'r', b' ', b'F' | b'P', b' ', message @ ..] => {
                self.message = message;
            }
            _ => self.header(rest),
        }
        true
    }

    /// `host tag[process]: message` or `tag[process]: message`; anything else is the message.
    fn header(&mut self, text: &'a [u8]) {
        self.message = text;
        let (first, rest) = word(text);
        let (host, tag, rest) = if first.ends_with(b":") {
            (None, first, rest)
        } else {
            let (second, rest) = word(rest);
            if !second.ends_with(b":") {
                return;
            }
            (Some(first), second, rest)
        };
        // A client of IPv6 ends with a colon too, but then comes no message of this shape.
        let tag = &tag[..tag.len() - 1];
        self.host = host.and_then(present).or(self.host);
        let named = split_at_byte(tag, b'[').and_then(|(_, id)| id.strip_suffix(b"]"));
        self.process = named.or(self.process);
        self.tag = Some(tag);
        self.message = rest;
    }

    /// `[WARNING]  (4494) : message` and `[WARNING] 253/235636 (11824) : message`
    fn standard_error(&mut self, text: &'a [u8]) -> bool {
        let Some((level, rest)) = split_at_byte(&text[1..], b']') else { return false };
        if !level.iter().all(u8::is_ascii_uppercase) {
            return false;
        }
        let rest = rest.trim_ascii_start();
        let (stamp, rest) = match rest.first() {
            Some(b'(') => (None, rest),
            _ => {
                let (stamp, rest) = word(rest);
                let Some(stamp) = day_of_year(stamp) else { return false };
                (Some(stamp), rest)
            }
        };
        let Some((process, rest)) =
            rest.strip_prefix(b"(").and_then(|rest| split_at_byte(rest, b')'))
        else {
            return false;
        };
        let Some(message) = rest.strip_prefix(b" : ") else { return false };
        self.stamp = stamp.or(self.stamp.take());
        self.tag = Some(level);
        self.process = Some(process);
        self.message = message;
        true
    }

    /// `haproxy-1  | message`, as a composition of containers prints its output.
    fn container(&mut self, text: &'a [u8]) -> bool {
        const LONGEST_NAME: usize = 64;
        if self.tag.is_some() || self.stamp.is_some() {
            return false;
        }
        let head = &text[..text.len().min(LONGEST_NAME)];
        let Some(bar) = memchr::memchr(b'|', head) else { return false };
        let name = head[..bar].trim_ascii_end();
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let Some(message) = text[bar..].strip_prefix(b"| ").filter(|_| name.iter().all(plain))
        else {
            return false;
        };
        self.message = message;
        true
    }
}

fn is_full_stamp(text: &[u8]) -> bool {
    text.len() >= 19 && text[4] == b'-' && text[7] == b'-' && text[10] == b'T' && text[13] == b':'
}

/// What follows the structured data, of which `-` is none.
fn past_data(text: &[u8]) -> &[u8] {
    if let Some(rest) = text.strip_prefix(b"-") {
        return rest.strip_prefix(b" ").unwrap_or(rest);
    }
    let mut rest = text;
    while rest.first() == Some(&b'[') {
        // Inside, a bracket stands only escaped, or in a quoted value.
        let (mut at, mut quoted) = (1, false);
        loop {
            match rest.get(at) {
                None => return text,
                Some(b'\\') => at += 1,
                Some(b'"') => quoted = !quoted,
                Some(b']') if !quoted => break,
                Some(_) => {}
            }
            at += 1;
        }
        rest = &rest[at + 1..];
    }
    rest.strip_prefix(b" ").unwrap_or(rest)
}

/// `253/235636`: day and time of the day.
fn day_of_year(text: &[u8]) -> Option<Stamp<'_>> {
    let (day, clock) = split_at_byte(text, b'/')?;
    let day = number(day).and_then(|day| u16::try_from(day).ok()).filter(|day| *day < 366)?;
    let [h0, h1, m0, m1, s0, s1] = *<&[u8; 6]>::try_from(clock).ok()?;
    let seconds = stamp::clock_s(&[h0, h1, b':', m0, m1, b':', s0, s1])?;
    Some(Stamp::DayOfYear(day, seconds))
}
