//! One request as a line of an access log tells it. Everything borrows from the line: nothing is copied
//! or converted to text before it is shown.

use std::borrow::Cow;

use smallvec::SmallVec;

/// How the program that wrote a log escapes what it did not choose itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escape {
    /// Nothing is escaped.
    #[default]
    None,
    /// `\xHH`, `\n` and the like; a backslash makes any other byte literal (nginx, Apache, ALB).
    Backslash,
    /// JSON strings.
    Json,
    /// `#HH`; a backslash is a backslash (HAProxy).
    Hash,
    /// `\"` only; any other backslash is a backslash (Traefik's common format).
    Quote,
}

/// Bytes as they stand in the log, and how to read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Text<'a> {
    pub raw: &'a [u8],
    pub escape: Escape,
}

/// One request. Absent is `None`: a `-`, a status of 0 or −1, a timer that was not reached.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record<'a> {
    /// When the request ended, in µs since the Unix epoch. Of a log that writes the beginning:
    /// beginning + duration.
    pub end_us: i64,
    /// The client's address without its port.
    pub client: Option<&'a [u8]>,
    pub user: Option<Text<'a>>,
    /// The request line as a whole, whatever it holds.
    pub request: Option<Text<'a>>,
    /// Of a request line that has the shape `METHOD target[ VERSION]`.
    pub method: Option<&'a [u8]>,
    pub target: Option<Text<'a>>,
    /// What the client was answered.
    pub status: Option<u16>,
    /// Body bytes to the client, or what the format has that comes nearest.
    pub bytes: Option<u64>,
    pub duration_us: Option<u64>,
    pub user_agent: Option<Text<'a>>,
    /// The group of servers that was to answer: upstream, backend, cluster, target group.
    pub pool: Option<&'a [u8]>,
    /// What the instance runs, where the log says it.
    pub version: Option<Text<'a>>,
    /// Who was asked, in order. Empty in an instance's own log, and when nobody could be asked.
    pub attempts: SmallVec<[Attempt<'a>; 2]>,
    /// How often nobody could be chosen: no live server, the name of a group in the place of an address.
    pub pool_empty: u8,
    /// The balancer went to another server after a failure on one that it does not name.
    pub redispatched: bool,
    /// Whose the final outcome is.
    pub attribution: Attribution,
    /// The line was cut, at the request or after it.
    pub truncated: bool,
}

/// One try at one instance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Attempt<'a> {
    /// As the log writes it: `10.9.0.11:8080`, `unix:/run/app.sock`, HAProxy's `backend/server`.
    pub instance: &'a [u8],
    pub status: Option<u16>,
    pub duration_us: Option<u64>,
    pub connect_us: Option<u64>,
    pub bytes: Option<u64>,
    pub outcome: Outcome,
}

/// What one try says of its instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It answered, and not with a 5xx.
    Ok,
    /// The instance failed, in this way.
    Error(Fault),
    /// The log does not say, or the outcome is the client's or the proxy's.
    #[default]
    Unknown,
}

/// How an instance failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// It answered with a 5xx of its own.
    Status,
    /// No connection: refused, unreachable, no answer to the connection.
    Connect,
    /// No answer in time.
    Timeout,
    /// The connection broke, or what came was no answer.
    Reset,
}

/// Whose an outcome is (spec: fleet 2.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attribution {
    /// The instance answered or failed.
    Instance,
    /// Nobody could be chosen, or the queue was full.
    Pool,
    /// The client went away or sent no request.
    Client,
    /// The balancer answered or refused by itself.
    Proxy,
    /// Nothing says.
    #[default]
    None,
}

impl<'a> Text<'a> {
    pub fn plain(raw: &'a [u8]) -> Self {
        Self { raw, escape: Escape::None }
    }

    pub fn backslash(raw: &'a [u8]) -> Self {
        Self { raw, escape: Escape::Backslash }
    }

    /// The bytes that the program meant.
    pub fn decode(self) -> Cow<'a, [u8]> {
        match self.escape {
            Escape::None => Cow::Borrowed(self.raw),
            Escape::Hash => unhash(self.raw),
            Escape::Quote => unquote(self.raw),
            Escape::Backslash => unescape(self.raw, false),
            Escape::Json => unescape(self.raw, true),
        }
    }

    /// For people: what is no UTF-8 is replaced.
    pub fn show(self) -> String {
        String::from_utf8_lossy(&self.decode()).into_owned()
    }
}

impl Fault {
    pub const ALL: [Self; 4] = [Self::Status, Self::Connect, Self::Timeout, Self::Reset];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
        }
    }
}

impl Attribution {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Pool => "pool",
            Self::Client => "client",
            Self::Proxy => "proxy",
            Self::None => "none",
        }
    }
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error(_) => "error",
            Self::Unknown => "unknown",
        }
    }

    pub fn is_error(self) -> bool {
        matches!(self, Self::Error(_))
    }
}

fn unhash(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'#') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (first, hex_pair(tail)) {
            (b'#', Some(byte)) => {
                out.push(byte);
                rest = &tail[2..];
            }
            _ => out.push(*first),
        }
    }
    Cow::Owned(out)
}

fn unquote(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.windows(2).any(|pair| pair == b"\\\"") {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    for (i, byte) in raw.iter().enumerate() {
        if *byte != b'\\' || raw.get(i + 1) != Some(&b'"') {
            out.push(*byte);
        }
    }
    Cow::Owned(out)
}

fn unescape(raw: &[u8], json: bool) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let Some((escaped, tail)) = rest.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = tail;
        match escaped {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'v' if !json => out.push(11),
            b'x' if !json && hex_pair(rest).is_some() => {
                out.extend(hex_pair(rest));
                rest = &rest[2..];
            }
            b'u' if json => rest = push_unicode(&mut out, rest),
            other => out.push(*other),
        }
    }
    Cow::Owned(out)
}

/// Appends what `HHHH` after `\u` stands for, a surrogate pair included, and gives what follows it.
fn push_unicode<'a>(out: &mut Vec<u8>, rest: &'a [u8]) -> &'a [u8] {
    let unit = |at: &[u8]| Some(u32::from(hex_pair(at)?) << 8 | u32::from(hex_pair(at.get(2..)?)?));
    let Some(first) = unit(rest) else {
        out.push(b'u');
        return rest;
    };
    let mut rest = &rest[4..];
    let mut code = first;
    if (0xd800..0xdc00).contains(&first)
        && let Some(tail) = rest.strip_prefix(b"\\u")
        && let Some(second) = unit(tail)
        && (0xdc00..0xe000).contains(&second)
    {
        code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        rest = &tail[4..];
    }
    let shown = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(shown.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

fn hex_pair(at: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (high, low) = (digit(*at.first()?)?, digit(*at.get(1)?)?);
    u8::try_from(high << 4 | low).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_read_by_its_own_rule() {
        let show = |raw: &'static str, escape| Text { raw: raw.as_bytes(), escape }.show();
        assert_eq!(show(r#"Tab 10\" Build/X"#, Escape::Backslash), "Tab 10\" Build/X");
        assert_eq!(show(r"a\x22b\x5Cc\xc3\xa9", Escape::Backslash), "a\"b\\cé");
        assert_eq!(show(r"a\nb\\", Escape::Backslash), "a\nb\\");
        assert_eq!(show(r"ends with \", Escape::Backslash), r"ends with \");
        assert_eq!(show(r"a\x2", Escape::Backslash), "ax2");
        assert_eq!(show(r"weird\#7D#zz#2", Escape::Hash), r"weird\}#zz#2");
        assert_eq!(show(r#"q\"uote\ "#, Escape::Quote), r#"q"uote\ "#);
        assert_eq!(show(r"é😀\ud83d\/\u00", Escape::Json), "é😀\u{fffd}/u00");
        assert_eq!(show(r"\x41", Escape::Json), "x41");
        assert_eq!(show(r"a\x22#22", Escape::None), r"a\x22#22");
    }
}
