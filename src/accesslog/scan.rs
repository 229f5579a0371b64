//! Byte scanners that the formats share. Nothing here allocates.

use memchr::{memchr, memchr2};

use super::Reject;
use crate::domain::fleet::record::Escape;

/// A quoted field, and what follows its closing quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a> {
    pub raw: &'a [u8],
    pub rest: &'a [u8],
    /// The line ends before the closing quote.
    pub cut: bool,
}

/// What a number of a duration counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    #[default]
    Seconds,
    Millis,
    Micros,
    Nanos,
}

/// The quoted field at the very beginning of `text`. None if there is no quote.
pub fn quoted(text: &[u8], escape: Escape) -> Option<Quoted<'_>> {
    let inner = text.strip_prefix(b"\"")?;
    let end = match escape {
        Escape::None | Escape::Hash => memchr(b'"', inner),
        Escape::Backslash | Escape::Json | Escape::Quote => closing_quote(inner),
    };
    Some(match end {
        Some(end) => Quoted { raw: &inner[..end], rest: &inner[end + 1..], cut: false },
        None => Quoted { raw: inner, rest: &[], cut: true },
    })
}

/// Where the first quote stands that no backslash makes literal.
pub fn closing_quote(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + memchr2(b'"', b'\\', inner.get(at..)?)?;
        if inner[found] == b'"' {
            return Some(found);
        }
        at = found + 2;
    }
}

/// The text before the first `byte`, and the text after it.
pub fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr(byte, text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The next word, and what follows the space after it. The last word is followed by nothing.
pub fn word(text: &[u8]) -> (&[u8], &[u8]) {
    split_at_byte(text, b' ').unwrap_or((text, &[]))
}

/// The next word, quoted or not; the quotes are not part of it.
pub fn field(text: &[u8], escape: Escape) -> (&[u8], &[u8]) {
    match quoted(text, escape) {
        Some(Quoted { raw, rest, .. }) => (raw, rest.strip_prefix(b" ").unwrap_or(rest)),
        None => word(text),
    }
}

/// `-` and nothing are absent.
pub fn present(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty() && text != b"-").then_some(text)
}

/// Decimal digits and nothing else.
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// A status: absent when it is `-`, 0, −1 or nothing; an error when it is something else than a status.
pub fn status(text: &[u8]) -> Result<Option<u16>, Reject> {
    if let [a @ b'1'..=b'9', b, c] = text
        && b.is_ascii_digit()
        && c.is_ascii_digit()
    {
        let digit = |byte: u8| u16::from(byte - b'0');
        return Ok(Some(digit(*a) * 100 + digit(*b) * 10 + digit(*c)));
    }
    match text {
        b"" | b"-" | b"0" | b"000" | b"-1" => Ok(None),
        _ => Err(Reject("what stands in the place of the status is none")),
    }
}

/// A decimal number such as `0.025376`, `12` or `1.5e-05` in µs, rounded down, without floats. None for
/// anything else: `-`, −1, nothing.
pub fn micros(text: &[u8], unit: Unit) -> Option<u64> {
    let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&text[..at], exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = split_at_byte(mantissa, b'.').unwrap_or((mantissa, &[]));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let shift = exponent
        + match unit {
            Unit::Seconds => 6,
            Unit::Millis => 3,
            Unit::Micros => 0,
            Unit::Nanos => -3,
        };
    // Digits before the point have the weights whole.len() − 1 … 0, those after it −1, −2, …; all are
    // moved by `shift`, and what is then below a µs is dropped.
    let mut value = 0_u64;
    let kept = i64::try_from(whole.len()).ok()? + i64::from(shift);
    let mut taken = 0_i64;
    for byte in whole.iter().chain(fraction) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if taken < kept {
            value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        }
        taken += 1;
    }
    while taken < kept && value != 0 {
        value = value.checked_mul(10)?;
        taken += 1;
    }
    Some(value)
}

/// A number of `unit`, or one that says its own: `12ms`, `0.025376s`, `1.5µs`.
pub fn duration(text: &[u8], unit: Unit) -> Option<u64> {
    let digits = text.iter().rposition(u8::is_ascii_digit)? + 1;
    let unit = match &text[digits..] {
        b"" => unit,
        b"s" => Unit::Seconds,
        b"ms" => Unit::Millis,
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => Unit::Micros,
        b"ns" => Unit::Nanos,
        _ => return None,
    };
    micros(&text[..digits], unit)
}

fn exponent(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    // Beyond this every duration is 0 or too large.
    let value = number(digits).filter(|value| *value <= 40)?;
    Some(sign * i32::try_from(value).ok()?)
}

/// Host and port at the last colon, for programs that always write the port: `[::1]:80`,
/// `::1:59932`. The host loses its brackets.
pub fn host_port(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let (host, port) = match text.iter().rposition(|b| *b == b':') {
        Some(at) if number(&text[at + 1..]).is_some() => (&text[..at], Some(&text[at + 1..])),
        _ => (text, None),
    };
    (unbracketed(host), port)
}

/// An address that may or may not have a port: `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]:80`. What has more
/// than one colon and no brackets is all address.
pub fn host(text: &[u8]) -> &[u8] {
    if let Some(inner) = text.strip_prefix(b"[") {
        return split_at_byte(inner, b']').map_or(inner, |(host, _)| host);
    }
    match split_at_byte(text, b':') {
        Some((host, port)) if number(port).is_some() => host,
        _ => text,
    }
}

fn unbracketed(host: &[u8]) -> &[u8] {
    host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host)
}

/// Whether this names an instance and not a group of them: an address with a port, a socket in the file
/// system, or an address alone.
pub fn is_instance(text: &[u8]) -> bool {
    if text.starts_with(b"unix:") {
        return true;
    }
    let Some(at) = text.iter().rposition(|b| *b == b':') else { return is_dotted(text) };
    let port = &text[at + 1..];
    // Either `…:port`, or an IPv6 address without one.
    number(port).is_some() || text.iter().filter(|b| **b == b':').count() > 1
}

/// Four numbers with dots between them.
fn is_dotted(text: &[u8]) -> bool {
    let mut parts = text.split(|b| *b == b'.');
    parts.by_ref().take(4).all(|part| part.len() <= 3 && number(part).is_some())
        && parts.next().is_none()
        && text.iter().filter(|b| **b == b'.').count() == 3
}

/// The elements of a list as nginx writes its upstream variables: `, ` between tries inside a group of
/// servers, ` : ` between groups. A single value is a list of one; nothing is a list of nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct List<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> List<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: (!text.is_empty()).then_some(text) }
    }
}

impl<'a> Iterator for List<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let mut at = 0;
        while let Some(space) = memchr(b' ', &rest[at..]).map(|space| at + space) {
            if space > 0 && rest[space - 1] == b',' {
                self.rest = Some(&rest[space + 1..]);
                return Some(&rest[..space - 1]);
            }
            if rest[space..].starts_with(b" : ") {
                self.rest = Some(&rest[space + 3..]);
                return Some(&rest[..space]);
            }
            at = space + 1;
        }
        self.rest = None;
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        List::new(text.as_bytes()).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    }

    #[test]
    fn lists_are_split_by_separators_and_never_by_colons() {
        assert_eq!(list(""), [""; 0]);
        assert_eq!(list("-"), ["-"]);
        assert_eq!(list("10.9.0.11:80"), ["10.9.0.11:80"]);
        assert_eq!(list("[::1]:80, unix:/x y"), ["[::1]:80", "unix:/x y"]);
        assert_eq!(
            list("app : 127.0.0.1:9102, 127.0.0.1:1"),
            ["app", "127.0.0.1:9102", "127.0.0.1:1"]
        );
        assert_eq!(list("- : 0.000"), ["-", "0.000"]);
        assert_eq!(list(", "), ["", ""]);
        assert_eq!(list(" : "), ["", ""]);
    }

    #[test]
    fn decimals_become_micros_without_floats() {
        let s = |text: &str| micros(text.as_bytes(), Unit::Seconds);
        assert_eq!(s("0.025376"), Some(25_376));
        assert_eq!(s("0.0253769"), Some(25_376));
        assert_eq!(s("1.121980746"), Some(1_121_980));
        assert_eq!(s("12"), Some(12_000_000));
        assert_eq!(s("1.5e-05"), Some(15));
        assert_eq!(s("2E1"), Some(20_000_000));
        assert_eq!(s("0e40"), Some(0));
        assert_eq!(s(".5"), Some(500_000));
        for bad in ["", "-", "-1", "1.2.3", "x", ".", "1e", "1e99", "99999999999999999"] {
            assert_eq!(s(bad), None, "{bad}");
        }
        assert_eq!(micros(b"12.5", Unit::Millis), Some(12_500));
        assert_eq!(micros(b"12", Unit::Micros), Some(12));
        assert_eq!(micros(b"1234567", Unit::Nanos), Some(1_234));
        assert_eq!(micros(b"999", Unit::Nanos), Some(0));
        for (text, want) in
            [("12ms", 12_000), ("0.025376s", 25_376), ("1.5µs", 1), ("7ns", 0), ("2", 2_000)]
        {
            assert_eq!(duration(text.as_bytes(), Unit::Millis), Some(want), "{text}");
        }
        assert_eq!(duration(b"2m3s", Unit::Millis), None);
        assert_eq!(duration(b"-", Unit::Millis), None);
    }

    #[test]
    fn statuses_and_what_is_none() {
        assert_eq!(status(b"502"), Ok(Some(502)));
        for none in ["-", "0", "000", "-1", ""] {
            assert_eq!(status(none.as_bytes()), Ok(None), "{none}");
        }
        for bad in ["20", "2000", "20x", "0.1", "\"200\""] {
            assert!(status(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_with_and_without_ports() {
        assert_eq!(host_port(b"::1:59932"), (&b"::1"[..], Some(&b"59932"[..])));
        assert_eq!(host_port(b"[::1]:80"), (&b"::1"[..], Some(&b"80"[..])));
        assert_eq!(host_port(b"-:22222"), (&b"-"[..], Some(&b"22222"[..])));
        assert_eq!(host_port(b"unix:1"), (&b"unix"[..], Some(&b"1"[..])));
        assert_eq!(host_port(b"name"), (&b"name"[..], None));
        for (text, want) in [
            ("1.2.3.4:80", "1.2.3.4"),
            ("2001:db8::7", "2001:db8::7"),
            ("[2001:db8::7]:443", "2001:db8::7"),
            ("::1%0", "::1%0"),
            ("host.example", "host.example"),
        ] {
            assert_eq!(host(text.as_bytes()), want.as_bytes());
        }
    }

    #[test]
    fn groups_are_no_instances() {
        for one in
            ["10.9.0.11:8443", "[::1]:80", "unix:/run/app.sock", "10.9.0.11", "::1", "app:80"]
        {
            assert!(is_instance(one.as_bytes()), "{one}");
        }
        for group in
            ["app", "upstream-default-backend", "-", "", "1.2.3", "shop-pay-8443", "1.2.3.4.5"]
        {
            assert!(!is_instance(group.as_bytes()), "{group}");
        }
    }

    #[test]
    fn quoted_fields_end_by_the_rule_of_their_program() {
        let take = |text: &'static str, escape| quoted(text.as_bytes(), escape);
        let whole = |raw: &'static str, rest: &'static str| {
            Some(Quoted { raw: raw.as_bytes(), rest: rest.as_bytes(), cut: false })
        };
        assert_eq!(take(r#""Tab 10\" B" 5"#, Escape::Backslash), whole(r#"Tab 10\" B"#, " 5"));
        assert_eq!(take(r#""a\\" 5"#, Escape::Backslash), whole(r"a\\", " 5"));
        assert_eq!(take(r#""a\" 5"#, Escape::Hash), whole(r"a\", " 5"));
        assert_eq!(take(r#""""#, Escape::Backslash), whole("", ""));
        let cut = take(r#""GET /q?a=aaa\"#, Escape::Backslash).unwrap();
        assert!(cut.cut && cut.raw == br"GET /q?a=aaa\" && cut.rest.is_empty());
        assert_eq!(take("GET", Escape::None), None);
    }
}
