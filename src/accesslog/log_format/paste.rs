//! What people paste: the format alone, its quoted pieces, or the whole directive.

use crate::{accesslog::Invalid, domain::fleet::record::Escape};

/// The format itself, and how it escapes.
#[derive(Debug)]
pub(super) struct Pasted {
    pub(super) escape: Escape,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Literal(&'a str),
    /// Without the dollar.
    Variable(&'a str),
}

/// Takes the format out of `log_format name escape=json '…' '…';`, of the pieces in quotes alone, or of a
/// text that is the format already.
pub(super) fn unwrap(pasted: &str) -> Result<Pasted, Invalid> {
    let text = pasted.trim();
    if text.is_empty() {
        return Err(Invalid("the format is empty; paste nginx's log_format".to_owned()));
    }
    let head = text.split('\'').next().unwrap_or_default();
    let directive = text.starts_with("log_format ") || text.starts_with("log_format\t");
    // Pieces in single quotes: nothing before the first of them is part of the format.
    let pieces = text.contains('\'')
        && !head.contains('$')
        && !head.contains('"')
        && head.chars().last().is_none_or(char::is_whitespace);
    let doubled = head.split_whitespace().next().is_some_and(|word| word.starts_with("escape="));
    if !directive && !pieces && !doubled {
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        return Ok(Pasted { escape: Escape::Backslash, text: lines.join(" ") });
    }
    let mut escape = Escape::Backslash;
    let mut joined = String::new();
    let mut words = Words { rest: text };
    let mut quoted = false;
    while let Some(word) = words.next()? {
        match word {
            Word::Quoted(piece) => {
                quoted = true;
                joined.push_str(&piece);
            }
            Word::Bare(";") => break,
            Word::Bare(word) => match word.strip_prefix("escape=") {
                Some(name) => escape = escape_of(name)?,
                // The directive, its name, or a format of one word without quotes.
                None if word.contains('$') && !quoted => joined.push_str(word),
                None if quoted => {
                    return Err(Invalid(format!(
                        "{word:?} stands between the quoted pieces of the format; quote it too, or take it \
                         out"
                    )));
                }
                None => {}
            },
        }
    }
    if joined.is_empty() {
        return Err(Invalid("there is nothing in the quotes of the log_format".to_owned()));
    }
    Ok(Pasted { escape, text: joined })
}

fn escape_of(name: &str) -> Result<Escape, Invalid> {
    match name {
        "default" => Ok(Escape::Backslash),
        "json" => Ok(Escape::Json),
        "none" => Ok(Escape::None),
        other => {
            Err(Invalid(format!("there is no escape={other}; nginx has default, json and none")))
        }
    }
}

/// The words of nginx's configuration.
struct Words<'a> {
    rest: &'a str,
}

enum Word<'a> {
    Bare(&'a str),
    Quoted(String),
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<Option<Word<'a>>, Invalid> {
        self.rest = self.rest.trim_start();
        while self.rest.starts_with('#') {
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if first == ';' {
            self.rest = "";
            return Ok(Some(Word::Bare(";")));
        }
        if first == '\'' || first == '"' {
            return self.quoted(first).map(Some);
        }
        let end = self.rest.find(|c: char| c.is_whitespace() || matches!(c, ';' | '\'' | '"'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        Ok(Some(Word::Bare(word)))
    }

    /// nginx takes `\"`, `\'`, `\\`, `\t`, `\r` and `\n` in quotes; any other backslash is one.
    fn quoted(&mut self, quote: char) -> Result<Word<'a>, Invalid> {
        let mut piece = String::new();
        let mut chars = self.rest[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.rest = &self.rest[1 + at + c.len_utf8()..];
                return Ok(Word::Quoted(piece));
            }
            if c != '\\' {
                piece.push(c);
                continue;
            }
            match chars.next().map(|(_, c)| c) {
                Some('t') => piece.push('\t'),
                Some('r') => piece.push('\r'),
                Some('n') => piece.push('\n'),
                Some(c @ ('"' | '\'' | '\\')) => piece.push(c),
                Some(c) => piece.extend(['\\', c]),
                None => piece.push('\\'),
            }
        }
        let start: String = self.rest.chars().take(30).collect();
        Err(Invalid(format!("the quote is not closed that begins at `{start}`")))
    }
}

/// Literals and variables in turn. What is only more of a path (`$uri$is_args$args`) is part of it.
pub(super) fn parts(text: &str) -> Result<Vec<Part<'_>>, Invalid> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        if dollar > 0 {
            parts.push(Part::Literal(&rest[..dollar]));
        }
        let after = &rest[dollar + 1..];
        let braced = after.strip_prefix('{');
        let name = braced.unwrap_or(after);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        if end == 0 {
            return Err(Invalid(format!(
                "no name follows the dollar in `{}`",
                around(text, after)
            )));
        }
        let (name, mut tail) = name.split_at(end);
        if braced.is_some() {
            tail = tail.strip_prefix('}').ok_or_else(|| {
                Invalid(format!("`${{{name}` has no closing brace in `{}`", around(text, name)))
            })?;
        }
        let more = matches!(name, "is_args" | "args" | "query_string");
        if !(more && matches!(parts.last(), Some(Part::Variable(_)))) {
            parts.push(Part::Variable(name));
        }
        rest = tail;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest));
    }
    Ok(parts)
}

/// Some of the text around the first place of `what`, for people.
pub(super) fn around(text: &str, what: &str) -> String {
    let at = text.find(what).unwrap_or_default();
    let from = text[..at].char_indices().rev().nth(19).map_or(0, |(at, _)| at);
    let shown: String = text[from..].chars().take(60).collect();
    shown
}
