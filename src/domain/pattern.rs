//! Patterns that a monitor brings: regular expressions in linear time and bounded memory.

use std::ops::Range;

use regex::{Regex, bytes};

/// Characters.
const LONGEST: usize = 1_000;
/// Bytes of a compiled pattern.
const LARGEST: usize = 1 << 20;

/// A pattern for text, or why it is none.
pub(crate) fn for_text(pattern: &str) -> Result<Regex, String> {
    short_enough(pattern)?;
    regex::RegexBuilder::new(pattern)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .build()
        .map_err(|error| refusal(&error))
}

/// A pattern for bytes that need not be text, or why it is none. `^` and `$` stand at the ends of lines.
fn for_bytes(pattern: &str) -> Result<bytes::Regex, String> {
    short_enough(pattern)?;
    bytes::RegexBuilder::new(pattern)
        .multi_line(true)
        .crlf(true)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .build()
        .map_err(|error| refusal(&error))
}

fn short_enough(pattern: &str) -> Result<(), String> {
    if pattern.len() > LONGEST {
        return Err(format!("the pattern is longer than {LONGEST} characters"));
    }
    Ok(())
}

fn refusal(error: &regex::Error) -> String {
    let why = error.to_string();
    let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
    format!("is not a pattern: {last}")
}

/// A pattern for what a peer sends. Text in it means UTF-8; `(?-u:\xff)` is one raw byte. `^` and `$` stand
/// at the ends of lines, also of those that end with CR LF.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: bytes::Regex,
}

impl Pattern {
    /// The error is a sentence without its subject: `is not a pattern: …`. A pattern that matches nothing at
    /// all is refused: it would hold before the peer has said a word.
    pub fn parse(text: &str) -> Result<Self, String> {
        let regex = for_bytes(text)?;
        if regex.is_match(b"") {
            return Err("matches even when nothing was said".into());
        }
        Ok(Self { regex })
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// The first match that begins at `from` or later; what stands before decides whether a line begins there.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        if from > bytes.len() {
            return None;
        }
        self.regex.find_at(bytes, from).map(|found| found.range())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_survives_bytes_that_are_no_text() {
        let pattern = Pattern::parse("ready (\\d+)").unwrap();
        assert_eq!(pattern.find(b"\xff\xfe ready 42\r\n", 0), Some(3..11));
        assert!(Pattern::parse("(?-u:\\xff)x").unwrap().find(b"\xffx", 0).is_some());
        assert!(Pattern::parse("ü").unwrap().find("grün".as_bytes(), 0).is_some());
    }

    #[test]
    fn lines_begin_where_they_do() {
        let pattern = Pattern::parse("^250 .*$").unwrap();
        let said = b"220 250 x\r\n250 ready\r\n";
        assert_eq!(pattern.find(said, 0), Some(11..20));
        // The middle of a line is not its beginning, even if one only looks from there on.
        assert_eq!(pattern.find(said, 4), Some(11..20));
        assert_eq!(pattern.find(said, 12), None);
        assert_eq!(pattern.find(said, 99), None);
    }

    #[test]
    fn what_is_no_pattern_or_says_nothing_is_refused() {
        for (text, why) in [
            ("", "even when nothing"),
            ("x*", "even when nothing"),
            ("^", "even when nothing"),
            ("(", "is not a pattern"),
            ("a{1000}{1000}", "size limit"),
            (&"x".repeat(1_001), "longer than 1000"),
        ] {
            let refusal = Pattern::parse(text).unwrap_err();
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
