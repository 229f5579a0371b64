//! Refused lines as samples that may be kept and shown: without addresses and without the values of
//! queries.

use std::net::{IpAddr, SocketAddr};

/// No more of a line is kept, in characters.
const LONGEST: usize = 300;

/// A line that can be shown: addresses are `*`, values of queries are `*`, what is no text is replaced.
pub fn masked(line: &[u8]) -> String {
    // What is cut away may hold as much as it likes; a word at the cut goes with it.
    let cut = &line[..line.len().min(LONGEST * 4)];
    let text = String::from_utf8_lossy(cut);
    let mut out = String::with_capacity(LONGEST);
    let mut rest = &*text;
    while !rest.is_empty() && out.len() < LONGEST * 4 {
        let end = rest.find(|c: char| !in_address(c)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if end > 0 {
            out.push_str(if is_address(word) { "*" } else { word });
            rest = tail;
            continue;
        }
        let Some(c) = tail.chars().next() else { break };
        out.push(if c.is_control() { ' ' } else { c });
        rest = &tail[c.len_utf8()..];
        if matches!(c, '?' | '&' | ';') {
            rest = value(rest, &mut out);
        }
    }
    if out.chars().count() > LONGEST {
        out = out.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    out
}

/// Behind a `?` or `&`: takes `name=` over and leaves its value out.
fn value<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let ends = |c: char| matches!(c, '&' | ';' | '#' | '"' | '\'' | '\\') || c.is_whitespace();
    let end = rest.find(ends).unwrap_or(rest.len());
    let Some(equals) = rest[..end].find('=') else { return rest };
    out.push_str(&rest[..=equals]);
    out.push('*');
    &rest[end..]
}

fn in_address(c: char) -> bool {
    c.is_ascii_hexdigit() || matches!(c, '.' | ':')
}

fn is_address(word: &str) -> bool {
    let is = |word: &str| word.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok();
    // A sentence or a field may end right behind it.
    is(word) || is(word.trim_end_matches(['.', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_values_go_and_the_shape_stays() {
        assert_eq!(
            masked(br#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "GET /a?token=s3cret&b=&c HTTP/1.1" 10.0.0.1:80"#),
            r#"* - - [05/Mar/2026:10:15:30 +0000] "GET /a?token=*&b=*&c HTTP/1.1" *"#
        );
        assert_eq!(masked(b"from 2001:db8::7, via [::1]:80 and ::1."), "from *, via [*]:80 and *");
        assert_eq!(masked(b"version 1.2.3 at 10:15:30"), "version 1.2.3 at 10:15:30");
        assert_eq!(masked(b"a\x16\x03\xffb\t"), "a  \u{fffd}b ");
        assert_eq!(masked(b"?a=1"), "?a=*");
        assert_eq!(masked(b""), "");
    }

    #[test]
    fn long_lines_are_cut() {
        let shown = masked(&[b'x'; 100_000]);
        assert_eq!(shown.chars().count(), LONGEST);
        assert!(shown.ends_with('…'));
    }
}
