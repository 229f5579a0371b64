//! An nginx `log_format` that the user pasted, compiled. Known variables are taken, unknown ones skipped,
//! literals matched.

use memchr::{memchr, memchr2};

use super::{
    Invalid, Line, Reject,
    nginx_fields::{Fields, Variable},
    stamp::Stamps,
};
use crate::domain::fleet::record::Escape;

mod paste;

/// A compiled format.
#[derive(Debug, Clone)]
pub struct LogFormat {
    escape: Escape,
    /// What stands before the first variable.
    lead: Vec<u8>,
    steps: Vec<Step>,
    /// The format has `$upstream_addr`: a request without one was answered by nginx itself.
    named: bool,
}

/// One variable and the literal that ends it.
#[derive(Debug, Clone)]
struct Step {
    /// None: known to nobody, skipped.
    variable: Option<Variable>,
    shape: Shape,
    /// Empty after the last variable.
    literal: Vec<u8>,
}

/// How the end of a value is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// The value has always this many bytes.
    Fixed(usize),
    /// It ends at the literal.
    Until,
    /// It ends at the literal's quote, unless that is escaped.
    Quoted,
    /// A list, which may hold `, ` and ` : `; the literal begins with a space, and is none of these.
    List,
    /// A value that begins with `/` follows without anything between.
    UntilSlash,
}

impl LogFormat {
    /// Compiles what was pasted: the format itself, or nginx's directive with its quotes, over several
    /// lines too.
    pub fn new(pasted: &str) -> Result<Self, Invalid> {
        let paste::Pasted { escape, text } = paste::unwrap(pasted)?;
        let parts = paste::parts(&text)?;
        let mut format = Self { escape, lead: Vec::new(), steps: Vec::new(), named: false };
        let mut seen = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            match *part {
                paste::Part::Literal(literal) => match format.steps.last_mut() {
                    Some(step) => step.literal = literal.as_bytes().to_vec(),
                    None => format.lead = literal.as_bytes().to_vec(),
                },
                paste::Part::Variable(name) => {
                    let after = parts.get(at + 1);
                    let shape = shape(name, after, escape, &text)?;
                    let variable = Variable::named(name);
                    seen.extend(variable);
                    format.steps.push(Step { variable, shape, literal: Vec::new() });
                }
            }
        }
        let has = |wanted: &[Variable]| seen.iter().any(|variable| wanted.contains(variable));
        if !has(&[Variable::Time, Variable::Msec]) {
            return Err(Invalid(
                "the format has no time; it needs one of $time_local, $time_iso8601, $msec"
                    .to_owned(),
            ));
        }
        if !has(&[Variable::Status, Variable::UpstreamStatus]) {
            return Err(Invalid("the format has no $status".to_owned()));
        }
        format.named = has(&[Variable::UpstreamAddr]);
        Ok(format)
    }

    /// One line. Fields behind the format are ignored; a line that ends early is taken if it holds the
    /// time and the status.
    pub fn line<'a>(&self, line: &'a [u8], stamps: &mut Stamps) -> Result<Line<'a>, Reject> {
        let mut rest = line
            .strip_prefix(self.lead.as_slice())
            .ok_or(Reject("the line does not begin as the format does"))?;
        let mut fields = Fields::escaped(self.escape);
        let mut answered = false;
        let mut cut = false;
        for step in &self.steps {
            let end = step.end(rest);
            cut = end.is_none();
            let end = end.unwrap_or(rest.len());
            let value = &rest[..end];
            if let Some(variable) = step.variable {
                match fields.set(variable, value, stamps) {
                    // A value that was cut is no evidence against the line.
                    Err(_) if cut => break,
                    taken => taken?,
                }
                answered |= matches!(variable, Variable::Status | Variable::UpstreamStatus);
            }
            if cut {
                break;
            }
            rest = &rest[end + step.literal.len()..];
        }
        if !fields.has_time() || !answered {
            return Err(Reject("the line does not match the format"));
        }
        fields.record.truncated = cut;
        Ok(Line::Request(fields.finish(self.named)))
    }
}

impl Step {
    /// Where the value ends. None when its literal does not follow.
    fn end(&self, text: &[u8]) -> Option<usize> {
        let literal = self.literal.as_slice();
        match self.shape {
            Shape::Fixed(length) if text.get(length..)?.starts_with(literal) => Some(length),
            // A `-` stands for any value.
            Shape::Fixed(_) | Shape::Until => find(text, literal),
            Shape::UntilSlash => memchr(b'/', text),
            Shape::Quoted => {
                let mut from = 0;
                loop {
                    let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
                    if text[at] == b'\\' {
                        from = at + 2;
                    } else if text[at..].starts_with(literal) {
                        return Some(at);
                    } else {
                        from = at + 1;
                    }
                }
            }
            Shape::List => {
                let mut from = 0;
                loop {
                    let at = from + memchr(b' ', text.get(from..)?)?;
                    if text[..at].ends_with(b",") {
                        from = at + 1;
                    } else if text[at..].starts_with(b" : ") {
                        from = at + 3;
                    } else if text[at..].starts_with(literal) {
                        return Some(at);
                    } else {
                        from = at + 1;
                    }
                }
            }
        }
    }
}

/// Where the literal stands first; nothing stands at the end.
fn find(text: &[u8], literal: &[u8]) -> Option<usize> {
    let Some(first) = literal.first() else { return Some(text.len()) };
    let mut from = 0;
    loop {
        let at = from + memchr(*first, text.get(from..)?)?;
        if text[at..].starts_with(literal) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// How the end of `$name` is found, given what follows it in the format.
fn shape(
    name: &str,
    after: Option<&paste::Part<'_>>,
    escape: Escape,
    text: &str,
) -> Result<Shape, Invalid> {
    let fixed = match name {
        "time_local" => Some(26),
        "time_iso8601" => Some(25),
        "pipe" => Some(1),
        _ => None,
    };
    if let Some(length) = fixed {
        return Ok(Shape::Fixed(length));
    }
    let ambiguous = |why: String| {
        Invalid(format!(
            "the format is ambiguous at `${name}`, in `{}`: {why}",
            paste::around(text, name)
        ))
    };
    let literal = match after {
        None => return Ok(Shape::Until),
        Some(paste::Part::Variable(next)) if is_path(next) => return Ok(Shape::UntilSlash),
        Some(paste::Part::Variable(next)) => {
            return Err(ambiguous(format!(
                "`${next}` follows with nothing between them, so that nobody can tell where the one ends; put \
                 a space or quotes between them"
            )));
        }
        Some(paste::Part::Literal(literal)) => *literal,
    };
    if literal.starts_with('"') && escape != Escape::None {
        return Ok(Shape::Quoted);
    }
    if !literal.starts_with(' ') {
        return Ok(Shape::Until);
    }
    if may_hold_spaces(name) && literal == " " {
        return Err(ambiguous(
            "its value may hold spaces, and a space follows; put it in quotes or brackets"
                .to_owned(),
        ));
    }
    Ok(if is_list(name) && literal != " : " { Shape::List } else { Shape::Until })
}

/// Begins with `/`, or is empty.
fn is_path(name: &str) -> bool {
    matches!(name, "request_uri" | "uri" | "document_uri")
}

/// Free text by clients.
fn may_hold_spaces(name: &str) -> bool {
    matches!(name, "request" | "request_body" | "http_user_agent" | "http_referer" | "http_cookie")
}

/// Lists of tries, or of whatever a client or a proxy sent.
fn is_list(name: &str) -> bool {
    name.starts_with("upstream_")
        || name.starts_with("http_")
        || name == "proxy_add_x_forwarded_for"
}

#[cfg(test)]
mod tests;
