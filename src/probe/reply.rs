//! Replies of SMTP and FTP: three digits, then a space before the last line's text and a minus before
//! that of the others.

use tokio::io::AsyncRead;

use super::talk::Talk;
use super::trace::Failure;
use crate::domain::observation::Class;

/// No server has more to say to a greeting or to EHLO.
const MOST_LINES: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Smtp,
    /// Between the first and the last line anything may stand.
    Ftp,
}

impl Dialect {
    fn name(self) -> &'static str {
        match self {
            Self::Smtp => "SMTP",
            Self::Ftp => "FTP",
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    /// The text of each line, without its code.
    pub(super) lines: Vec<String>,
}

impl Reply {
    /// The next whole reply.
    pub(super) async fn read<S>(
        talk: &mut Talk,
        stream: &mut S,
        dialect: Dialect,
    ) -> Result<Self, Failure>
    where
        S: AsyncRead + Unpin,
    {
        let mut reply = Self::default();
        while reply.lines.len() < MOST_LINES {
            let line = talk.line(stream).await?;
            match reply.push(&line, dialect) {
                Some(true) => return Ok(reply),
                Some(false) => {}
                None => {
                    let said = talk.quoted(line.as_bytes());
                    let name = dialect.name();
                    return Err(Failure::new(
                        Class::DialogueRejected,
                        format!("What answers on this port does not speak {name}: it said {said}."),
                    ));
                }
            }
        }
        Err(Failure::new(
            Class::DialogueRejected,
            format!("The server's reply has more than {MOST_LINES} lines."),
        ))
    }

    /// Adds a line; true if it is the last, nothing if it is none of this dialect.
    fn push(&mut self, line: &str, dialect: Dialect) -> Option<bool> {
        let begun = !self.lines.is_empty();
        let coded = coded(line);
        let (code, last, text) = match (dialect, coded) {
            (Dialect::Ftp, Some((code, true, text))) if begun && code == self.code => {
                (code, true, text)
            }
            (Dialect::Ftp, _) if begun => (self.code, false, line),
            (_, Some(found)) => found,
            (_, None) => return None,
        };
        self.code = code;
        self.lines.push(text.to_owned());
        Some(last)
    }

    /// The text of all lines, one under the other.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// For sentences: `554 no service for you`.
    pub(super) fn shown(&self, talk: &Talk) -> String {
        talk.quoted(format!("{} {}", self.code, self.lines.join(" ")).trim_end().as_bytes())
    }
}

/// `250-SIZE 1000` as (250, false, `SIZE 1000`).
fn coded(line: &str) -> Option<(u16, bool, &str)> {
    let (digits, rest) = line.split_at_checked(3)?;
    let code = digits.parse().ok().filter(|code| (100..600).contains(code))?;
    match rest.chars().next() {
        None => Some((code, true, "")),
        Some(' ') => Some((code, true, rest.get(1..).unwrap_or_default())),
        Some('-') => Some((code, false, rest.get(1..).unwrap_or_default())),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[&str], dialect: Dialect) -> Option<Reply> {
        let mut reply = Reply::default();
        for line in lines {
            if reply.push(line, dialect)? {
                return Some(reply);
            }
        }
        None
    }

    #[test]
    fn the_separator_says_which_line_is_the_last() {
        let reply = read(&["250-mail", "250-SIZE 100 - 200", "250 OK"], Dialect::Smtp).unwrap();
        assert_eq!((reply.code, reply.text().as_str()), (250, "mail\nSIZE 100 - 200\nOK"));
        assert_eq!(read(&["220"], Dialect::Smtp).unwrap().code, 220);
        assert_eq!(read(&["250-a", "554 b"], Dialect::Smtp).unwrap().code, 554);
        for none in ["", "25", "SSH-2.0-x", "2500 x", "250_x", "099 x", "+20 x", "é50 x", "600 x"]
        {
            assert_eq!(read(&[none], Dialect::Smtp), None, "{none}");
        }
    }

    #[test]
    fn ftp_lets_anything_stand_between() {
        let lines = ["220-Hello", "331 is not for you", "", "250-x", "220 ready", "more"];
        let reply = read(&lines, Dialect::Ftp).unwrap();
        assert_eq!((reply.code, reply.lines.len()), (220, 5));
        assert_eq!(read(&["Hello"], Dialect::Ftp), None);
    }

    proptest! {
        #[test]
        fn no_line_hurts(lines in proptest::collection::vec("\\PC{0,3}[0-9]{0,4}[- ]?\\PC{0,5}", 0..5)) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            for dialect in [Dialect::Smtp, Dialect::Ftp] {
                if let Some(reply) = read(&lines, dialect) {
                    prop_assert!((100..600).contains(&reply.code));
                }
            }
        }
    }
}
