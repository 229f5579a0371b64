//! A pull scanner for lines in JSON: keys and raw values in the order in which they stand, nothing
//! copied. It is lenient where logs are: bytes that are no UTF-8, a value that is missing
//! (`"status":,`), raw control characters, a line that was cut.

use memchr::{memchr, memchr3};

use super::{Reject, scan::closing_quote};
use crate::domain::fleet::record::{Escape, Text};

/// A value as it stands in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// What is between the quotes, still escaped.
    Text(&'a [u8]),
    /// A number, `true`, `false`, `null`, or nothing.
    Bare(&'a [u8]),
    /// From `{` on, with its `}`.
    Object(&'a [u8]),
    /// From `[` on, with its `]`.
    Array(&'a [u8]),
}

/// The members of an object.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    rest: &'a [u8],
    end: End,
}

/// How an object ended, once all its members were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Not yet.
    Open,
    Closed,
    /// The line ends inside the object.
    Cut,
    /// What follows is no member.
    Broken,
}

/// The items of an array.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    rest: &'a [u8],
}

/// What a container or a driver may have put before the object: a name, a stamp, a level.
const LONGEST_PREFIX: usize = 256;

/// The members of the object on this line, which may stand behind a prefix such as `caddy  | `.
pub fn members_of_line(line: &[u8]) -> Result<Members<'_>, Reject> {
    let at = memchr(b'{', &line[..line.len().min(LONGEST_PREFIX)]);
    let at = at.ok_or(Reject("the line holds no JSON object"))?;
    Ok(Members { rest: &line[at + 1..], end: End::Open })
}

impl<'a> Members<'a> {
    /// How the object ended.
    pub fn end(&self) -> End {
        self.end
    }

    fn stop(&mut self, end: End) -> Option<(&'a [u8], Value<'a>)> {
        self.end = end;
        self.rest = &[];
        None
    }
}

impl<'a> Iterator for Members<'a> {
    /// The key, still escaped, and the value.
    type Item = (&'a [u8], Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.end != End::Open {
            return None;
        }
        let mut rest = blank(self.rest);
        while let Some(after) = rest.strip_prefix(b",") {
            rest = blank(after);
        }
        let inner = match rest {
            [b'"', inner @ ..] => inner,
            [b'}', ..] => return self.stop(End::Closed),
            [] => return self.stop(End::Cut),
            _ => return self.stop(End::Broken),
        };
        let Some(quote) = closing_quote(inner) else { return self.stop(End::Cut) };
        let (key, after) = (&inner[..quote], blank(&inner[quote + 1..]));
        let after = match after {
            [b':', after @ ..] => blank(after),
            [] => return self.stop(End::Cut),
            _ => return self.stop(End::Broken),
        };
        let Some((value, rest)) = value(after) else { return self.stop(End::Cut) };
        self.rest = rest;
        Some((key, value))
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let mut rest = blank(self.rest);
        while let Some(after) = rest.strip_prefix(b",") {
            rest = blank(after);
        }
        if matches!(rest, [] | [b']' | b'}' | b':', ..]) {
            return None;
        }
        let (value, rest) = value(rest)?;
        self.rest = rest;
        Some(value)
    }
}

impl<'a> Value<'a> {
    /// The members of an object; none of anything else.
    pub fn members(self) -> Members<'a> {
        let rest = match self {
            Self::Object(raw) => raw.get(1..).unwrap_or_default(),
            _ => b"}",
        };
        Members { rest, end: End::Open }
    }

    /// The items of an array; none of anything else.
    pub fn items(self) -> Items<'a> {
        let rest = match self {
            Self::Array(raw) => raw.get(1..).unwrap_or_default(),
            _ => &[],
        };
        Items { rest }
    }

    /// The bytes of a text or a bare value, to be read as a number or a stamp. `null` is nothing.
    pub fn raw(self) -> &'a [u8] {
        match self {
            Self::Text(raw) => raw,
            Self::Bare(b"null") => &[],
            Self::Bare(raw) => raw,
            Self::Object(_) | Self::Array(_) => &[],
        }
    }

    /// As text; absent when it is nothing, `null` or `-`.
    pub fn text(self) -> Option<Text<'a>> {
        let raw = super::scan::present(self.raw())?;
        Some(Text { raw, escape: Escape::Json })
    }

    /// The text, or the first item of an array of texts, as headers are written.
    pub fn first(self) -> Value<'a> {
        match self {
            Self::Array(_) => self.items().next().unwrap_or(Self::Bare(&[])),
            other => other,
        }
    }
}

/// The value at the beginning of `text`, and the rest. None when the line ends inside it.
fn value(text: &[u8]) -> Option<(Value<'_>, &[u8])> {
    match text.first() {
        Some(b'"') => {
            let inner = &text[1..];
            let end = closing_quote(inner)?;
            Some((Value::Text(&inner[..end]), &inner[end + 1..]))
        }
        Some(b'{') => {
            let end = container(text)?;
            Some((Value::Object(&text[..end]), &text[end..]))
        }
        Some(b'[') => {
            let end = container(text)?;
            Some((Value::Array(&text[..end]), &text[end..]))
        }
        _ => {
            let end = memchr3(b',', b'}', b']', text)?;
            Some((Value::Bare(text[..end].trim_ascii()), &text[end..]))
        }
    }
}

/// Where the object or array ends with which `text` begins.
fn container(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => at += closing_quote(&text[at + 1..])? + 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn blank(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(line: &'static str) -> (Vec<(&'static str, Value<'static>)>, End) {
        let mut members = members_of_line(line.as_bytes()).unwrap();
        let taken =
            members.by_ref().map(|(key, value)| (str::from_utf8(key).unwrap(), value)).collect();
        (taken, members.end())
    }

    #[test]
    fn members_come_raw_and_in_order() {
        let (members, end) = walk(
            r#"caddy  | {"a" : "x\"y","n":-1.5e3 , "z":null,"o":{"k":["}",{"q":1}]},"l":[1,"2"],"e":"","t":true}"#,
        );
        assert_eq!(end, End::Closed);
        assert_eq!(members[0], ("a", Value::Text(br#"x\"y"#)));
        assert_eq!(members[1], ("n", Value::Bare(b"-1.5e3")));
        assert_eq!(members[2].1.raw(), b"");
        assert_eq!(members[3], ("o", Value::Object(br#"{"k":["}",{"q":1}]}"#)));
        let (key, inner) = members[3].1.members().next().unwrap();
        assert_eq!(key, b"k");
        assert_eq!(inner.items().count(), 2);
        assert_eq!(inner.first(), Value::Text(b"}"));
        assert_eq!(members[4].1.items().map(Value::raw).collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(members[5].1.text(), None);
        assert_eq!(members[6], ("t", Value::Bare(b"true")));
        assert_eq!(members.len(), 7);
    }

    #[test]
    fn what_nginx_leaves_out_is_nothing() {
        let (members, end) = walk(r#"{"status":,"bytes":}"#);
        assert_eq!(members, [("status", Value::Bare(b"")), ("bytes", Value::Bare(b""))]);
        assert_eq!(end, End::Closed);
    }

    #[test]
    fn ends_that_are_none() {
        assert_eq!(walk(r#"{"a":"1","b":"2"#).1, End::Cut);
        assert_eq!(walk(r#"{"a":"1","b":"2"#).0.len(), 1);
        assert_eq!(walk(r#"{"a":1"#).1, End::Cut);
        assert_eq!(walk(r#"{"a":{"b":1}"#).1, End::Cut);
        assert_eq!(walk(r#"{"a":{"b":1"#).1, End::Cut);
        assert_eq!(walk(r#"{"a"#).1, End::Cut);
        assert_eq!(walk(r#"{"a" 1}"#).1, End::Broken);
        assert_eq!(walk("{a:1}").1, End::Broken);
        assert_eq!(walk("{}").1, End::Closed);
        assert!(members_of_line(b"no object").is_err());
    }
}
