//! What is said and heard in turn on a TCP connection.
//!
//! `[{"expect":"^220 "},{"send":"QUIT\r\n"},{"reject":"^5"},{"expect":"^221 "}]`

use serde_json::{Value, json};

use super::secret::{self, Filling};
use crate::domain::fields::{Fields, kind_of};
use crate::domain::pattern::Pattern;
use crate::domain::{Invalid, short};

const MOST_STEPS: usize = 50;

/// Characters of everything that is sent, as it is written.
const MOST_SENT: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Send(Sent),
    /// Waits until this stands in what came since the last match.
    Expect(Pattern),
    /// From here on this ends the check at once.
    Reject(Pattern),
}

/// Text with escapes: `\r`, `\n`, `\t`, `\0`, `\\` and `\xHH`. The value of a secret has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    text: String,
    bytes: Vec<u8>,
    /// Holds a secret, or held the name of one.
    secret: bool,
}

impl Sent {
    /// `field` names it in a refusal.
    pub(super) fn parse(text: String, field: &str) -> Result<Self, Invalid> {
        let invalid = |why: String| Invalid::new(field, why);
        if text.is_empty() {
            return Err(invalid("is empty".into()));
        }
        let plain =
            secret::fill(&text, |_| Ok(String::new())).map_err(|refusal| refusal.under(field))?;
        unescaped(&plain).map_err(invalid)?;
        let secret = secret::has_placeholder(&text);
        let bytes = unescaped(&text).map_err(invalid)?;
        Ok(Self { text, bytes, secret })
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As it goes over the wire; exact only in a filled check.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn has_secret(&self) -> bool {
        self.secret
    }

    pub(super) fn fill(&mut self, field: &str, filling: &mut Filling<'_>) -> Result<(), Invalid> {
        self.text = filling.escaped(&self.text, field)?;
        self.bytes = unescaped(&self.text).map_err(|why| Invalid::new(field, why))?;
        Ok(())
    }
}

/// The bytes behind a text with escapes; the error is a sentence without its subject.
fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let mut chars = after.chars();
        let byte = match chars.next() {
            Some('r') => b'\r',
            Some('n') => b'\n',
            Some('t') => b'\t',
            Some('0') => 0,
            Some('\\') => b'\\',
            Some('x') => {
                let digits =
                    after.get(1..3).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
                let Some(byte) = digits.and_then(|two| u8::from_str_radix(two, 16).ok()) else {
                    return Err("holds \\x without two hex digits after it".into());
                };
                let _ = chars.nth(1);
                byte
            }
            other => {
                let what: String = other.into_iter().collect();
                return Err(format!(
                    "holds the escape \\{what}, which is not known; known are \\r \\n \\t \\0 \\xHH, and \\\\ for a backslash"
                ));
            }
        };
        bytes.push(byte);
        rest = chars.as_str();
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

/// Reads the field `dialogue`.
pub(super) fn parse(fields: &mut Fields) -> Result<Vec<Step>, Invalid> {
    let values = fields.list("dialogue")?.unwrap_or_default();
    if values.len() > MOST_STEPS {
        return Err(Invalid::new(
            "dialogue",
            format!("holds {} steps; {MOST_STEPS} are allowed", values.len()),
        ));
    }
    let steps = values
        .into_iter()
        .enumerate()
        .map(|(index, value)| {
            step(value).map_err(|refusal| refusal.under(&format!("dialogue[{index}]")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let sent = |step: &Step| if let Step::Send(sent) = step { sent.text.len() } else { 0 };
    if steps.iter().map(sent).sum::<usize>() > MOST_SENT {
        return Err(Invalid::new("dialogue", "sends more than 64 KiB"));
    }
    let last = steps.iter().rposition(|step| matches!(step, Step::Expect(_)));
    let idle = |(index, step): &(usize, &Step)| {
        matches!(step, Step::Reject(_)) && last.is_none_or(|last| last < *index)
    };
    if let Some((index, _)) = steps.iter().enumerate().find(idle) {
        return Err(Invalid::new(
            format!("dialogue[{index}].reject"),
            "has no expect after it, so nothing more would be read; put it before the expect that it guards",
        ));
    }
    Ok(steps)
}

fn step(value: Value) -> Result<Step, Invalid> {
    let Value::Object(map) = &value else {
        return Err(Invalid::new(
            "",
            format!("must be an object with send, expect or reject, not {}", kind_of(&value)),
        ));
    };
    if map.len() != 1 {
        return Err(Invalid::new("", "must hold just one of send, expect and reject"));
    }
    let mut fields = Fields::of(value, "")?;
    let step = if let Some(text) = fields.string("send")? {
        Step::Send(Sent::parse(text, "send")?)
    } else if let Some(text) = fields.string("expect")? {
        Step::Expect(pattern(&text, "expect")?)
    } else if let Some(text) = fields.string("reject")? {
        Step::Reject(pattern(&text, "reject")?)
    } else {
        fields.finish(&["send", "expect", "reject"])?;
        return Err(Invalid::new("", "must hold just one of send, expect and reject"));
    };
    Ok(step)
}

/// A pattern that stands in the field `field`.
pub(super) fn pattern(text: &str, field: &str) -> Result<Pattern, Invalid> {
    if secret::has_placeholder(text) {
        return Err(Invalid::new(field, "cannot hold a secret; it is a pattern"));
    }
    Pattern::parse(text).map_err(|why| Invalid::new(field, format!("{why} ({:?})", short(text))))
}

/// As [`parse`] reads them; nothing if there are none.
pub(super) fn to_value(steps: &[Step]) -> Option<Value> {
    let values = steps.iter().map(|step| match step {
        Step::Send(sent) => json!({"send": sent.text}),
        Step::Expect(pattern) => json!({"expect": pattern.as_str()}),
        Step::Reject(pattern) => json!({"reject": pattern.as_str()}),
    });
    let values = values.collect::<Vec<_>>();
    (!values.is_empty()).then_some(values.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_become_bytes() {
        let sent = Sent::parse("A\\r\\n\\t\\0\\\\n\\x00\\xfFü\n".into(), "send").unwrap();
        assert_eq!(sent.bytes(), b"A\r\n\t\0\\n\0\xff\xc3\xbc\n");
        for wrong in ["\\q", "\\", "a\\x1", "\\xg0", "\\x+1", "\\xü", ""] {
            assert!(Sent::parse(wrong.into(), "send").is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_secret_is_sent_as_it_is() {
        let mut sent = Sent::parse("AUTH \\\\ ${secret:a}\\r\\n".into(), "send").unwrap();
        let secrets = [("a".to_owned(), "b\\n${secret:x}".into())].into();
        sent.fill("send", &mut Filling::from(&secrets)).unwrap();
        assert_eq!(sent.bytes(), b"AUTH \\ b\\n${secret:x}\r\n");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\\\|x|[0-9a-fA-F]|\\PC){0,40}") {
            let _ = unescaped(&text);
            // Doubled backslashes mean themselves.
            prop_assert_eq!(unescaped(&text.replace('\\', "\\\\")).unwrap(), text.as_bytes());
        }
    }
}
