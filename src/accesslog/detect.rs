//! Which format the lines of a source have: every parser reads the first lines, and the one that reads
//! nearly all of them is taken.

use super::{Context, Format, Line, Parser, clf, document, nginx_json, scan, stamp::Stamps};

/// The format, or why there is none.
pub type Detected = Result<Format, Undetected>;

/// Why no format was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undetected {
    #[error("there are no lines to tell the format by")]
    Empty,
    #[error("these lines look like {name}, which cannot be read: {why}")]
    Unbuilt { name: &'static str, why: &'static str },
    #[error(
        "no format reads 95 % of the first {lines} lines; {}. Name the format, or give nginx's log_format \
         with --log-format", closest_words(*closest, *read)
    )]
    Unknown { lines: usize, closest: Format, read: usize },
}

fn closest_words(closest: Format, read: usize) -> String {
    if read == 0 { "none reads any of them".to_owned() } else { format!("{closest} reads {read}") }
}

/// A format that is known and not read.
#[derive(Debug, Clone, Copy)]
pub struct Unbuilt {
    pub name: &'static str,
    pub why: &'static str,
    /// Whether a line looks like it.
    looks: fn(&[u8]) -> bool,
}

const NOT_YET: &str = "it is known and not built";
const NO_INSTANCE: &str = "there is no instance in them";

pub const UNBUILT: [Unbuilt; 7] = [
    Unbuilt { name: "haproxy-tcp", why: NOT_YET, looks: |line| haproxy_tcp(line) },
    Unbuilt {
        name: "gcp-lb",
        why: NOT_YET,
        looks: |line| has(line, b"\"httpRequest\"") && has(line, b"loadbalancing"),
    },
    Unbuilt {
        name: "azure-appgw",
        why: NOT_YET,
        looks: |line| has(line, b"ApplicationGatewayAccessLog") || has(line, b"\"serverRouted\""),
    },
    Unbuilt { name: "traefik-clf", why: NOT_YET, looks: traefik_clf },
    Unbuilt { name: "aws-nlb", why: NO_INSTANCE, looks: |line| line.starts_with(b"tls 2.0 ") },
    Unbuilt {
        name: "aws-cloudfront",
        why: NO_INSTANCE,
        looks: |line| has(line, b" x-edge-location ") || has(line, b"\tx-edge-location\t"),
    },
    Unbuilt {
        name: "iis-w3c",
        why: NOT_YET,
        looks: |line| line.starts_with(b"#Software:") || line.starts_with(b"#Fields: date time "),
    },
];

/// How many lines are tried.
const TRIED: usize = 200;

/// The formats that are lines, the most specific first: of two that read the same lines the first wins.
/// nginx's combined stands for all that begin like the common log format.
const ORDER: [Format; 12] = [
    Format::AwsAlbHealth,
    Format::AwsAlb,
    Format::Haproxy,
    Format::NginxError,
    Format::IngressNginx,
    Format::Envoy,
    Format::CaddyJson,
    Format::TraefikJson,
    Format::EnvoyJson,
    Format::NginxJson,
    Format::NginxCombined,
    Format::GenericJson,
];

/// Tells the format by the first lines of a source. `head` may end inside a line. What is beyond the lines
/// that are tried still tells nginx from Apache, so that some hundred KiB are better than a few.
pub fn detect(head: &[u8], context: &Context) -> Detected {
    let lines: Vec<&[u8]> = lines(head).take(TRIED).collect();
    if lines.is_empty() {
        return Err(Undetected::Empty);
    }
    if let Some(format) = document::recognise(head) {
        return Ok(format);
    }
    for unbuilt in &UNBUILT {
        let alike = lines.iter().filter(|line| (unbuilt.looks)(line)).count();
        // A heading stands once; lines are most of what there is.
        if alike * 2 > lines.len() || (alike > 0 && lines[0].starts_with(b"#")) {
            return Err(Undetected::Unbuilt { name: unbuilt.name, why: unbuilt.why });
        }
    }
    let counts = ORDER.map(|format| (format, count(format, &lines, context)));
    // An error log may say nothing of upstreams for long.
    let enough = |format: Format, read: &Read| {
        (read.said > 0 || format == Format::NginxError) && read.taken * 100 >= lines.len() * 95
    };
    // `max_by_key` takes the last of equals, and the first is wanted.
    let readers = counts.iter().rev().filter(|(format, read)| enough(*format, read));
    match readers.max_by_key(|(_, read)| read.said).map(|(format, _)| *format) {
        Some(Format::NginxCombined) => return Ok(common(head, &lines, context)),
        Some(Format::NginxJson) if !lines.iter().any(|line| nginx_json::looks(line)) => {
            return Ok(Format::GenericJson);
        }
        Some(format) => return Ok(format),
        None => {}
    }
    let closest = counts.iter().rev().max_by_key(|(_, read)| read.taken);
    let (closest, read) = closest.map_or((Format::NginxCombined, 0), |(f, read)| (*f, read.taken));
    Err(Undetected::Unknown { lines: lines.len(), closest, read })
}

/// How many lines a parser reads.
struct Read {
    /// Not refused.
    taken: usize,
    /// A request or an event.
    said: usize,
}

fn count(format: Format, lines: &[&[u8]], context: &Context) -> Read {
    let mut parser = Parser::new(format, context);
    let mut read = Read { taken: 0, said: 0 };
    for line in lines {
        match parser.line(line) {
            Ok(Line::Nothing) => read.taken += 1,
            Ok(_) => {
                read.taken += 1;
                read.said += 1;
            }
            Err(_) => {}
        }
    }
    read
}

/// Which of those that begin like the common log format. Combined of nginx and of Apache differ in what
/// few lines hold: escapes, and the bytes of an empty answer.
fn common(head: &[u8], tried: &[&[u8]], context: &Context) -> Format {
    let mut stamps = Stamps::new(context);
    let (mut vhosts, mut agents) = (0, 0);
    for line in tried {
        let Ok(head) = clf::head(line, &mut stamps) else { continue };
        vhosts += usize::from(head.vhost.is_some());
        agents += usize::from(head.rest.starts_with(b"\""));
    }
    if vhosts * 2 > tried.len() {
        return Format::ApacheVhost;
    }
    if agents * 2 < tried.len() {
        return Format::ApacheCommon;
    }
    let marks: i32 = lines(head).map(|line| apache_marks(line, &mut stamps)).sum();
    if marks > 0 { Format::ApacheCombined } else { Format::NginxCombined }
}

/// Above 0: only Apache writes this. Below 0: only nginx does.
fn apache_marks(line: &[u8], stamps: &mut Stamps) -> i32 {
    let mut marks = 0;
    for at in memchr::memchr_iter(b'\\', line) {
        marks += match line[at + 1..] {
            [b'"' | b'\\', ..] => 1,
            [b'x', a, b, ..] if matches!(a, b'a'..=b'f') || matches!(b, b'a'..=b'f') => 1,
            [b'x', a, b, ..] if matches!(a, b'A'..=b'F') || matches!(b, b'A'..=b'F') => -1,
            _ => 0,
        };
    }
    let Ok(mut head) = clf::head(line, stamps) else { return marks };
    if head.no_bytes {
        marks += 1;
    }
    let empty = head.record.request.is_some_and(|request| request.raw.is_empty());
    if empty || head.record.status == Some(499) {
        marks -= 1;
    }
    let behind = clf::take_agent(&mut head.record, head.rest).unwrap_or_default();
    if behind.starts_with(b" \"") || has(behind, b"=") {
        marks -= 1;
    } else if has(behind, b" http://") || has(behind, b" https://") {
        marks += 1;
    }
    marks
}

/// Whole lines that are not blank. The last one counts only if it is whole or alone.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    whole.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

fn has(text: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(text, what).is_some()
}

/// `… [stamp] frontend backend/server Tw/Tc/Tt bytes ST a/f/b/s/r sq/bq` and no request.
fn haproxy_tcp(line: &[u8]) -> bool {
    let Some(close) = memchr::memchr(b']', line).filter(|_| !has(line, b"\"")) else {
        return false;
    };
    let after: &[u8] = line[close..].rsplit(|b| *b == b']').next().unwrap_or_default();
    let words: Vec<&[u8]> = after.split(|b| *b == b' ').filter(|word| !word.is_empty()).collect();
    let slashes = |word: &[u8]| word.iter().filter(|b| **b == b'/').count();
    matches!(words.as_slice(), [_, server, times, _, state, sessions, queues, ..]
        if slashes(server) == 1 && slashes(times) == 2 && state.len() == 2
            && slashes(sessions) == 4 && slashes(queues) == 1)
}

/// `… "user agent" count "router" "http://server" 12ms`.
fn traefik_clf(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let Some(at) = memchr::memrchr(b' ', line) else { return false };
    let (before, last) = (&line[..at], &line[at + 1..]);
    let digits = last.strip_suffix(b"ms").is_some_and(|n| scan::number(n).is_some());
    digits && (before.ends_with(b"\"") || before.ends_with(b" -"))
}
