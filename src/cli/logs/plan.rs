//! What is to be read and how: format, role and beginning of each file, by its first lines.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::part::lines;
use super::source::{Input, Source};
use crate::accesslog::{self, Context, Format, Line, Parser, Undetected, detect};
use crate::domain::fleet::tally::{Role, SourceInfo};

/// Lines of the head that are looked at for role, pool and beginning.
const TRIED: usize = 500;

/// How lines are to be read, as the user wants it.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    Auto,
    Named(Format),
    /// Something that only its own parser knows, with the name that is shown.
    Custom(Box<Parser>, &'static str),
}

/// One input that is ready to be read.
pub(super) struct Planned {
    pub(super) input: Input,
    /// The name of its format; none for an empty file.
    pub(super) format: Option<&'static str>,
    pub(super) kind: Kind,
    pub(super) info: SourceInfo,
    /// How to look at the format again, if it was told by the first lines.
    pub(super) again: Option<Context>,
    /// Files of one log, rotated ones included, have the same.
    pub(super) stem: String,
    /// The first stamp in it, in µs.
    pub(super) first_us: Option<i64>,
    /// Standard input cannot be opened twice.
    pub(super) opened: Option<Source>,
    pub(super) size: u64,
}

/// How an input is read.
pub(super) enum Kind {
    Empty,
    Lines(Box<Parser>),
    /// One document of a platform.
    Document(Format),
}

/// Why nothing can be read; says the way out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("{name}: {why}")]
    Unreadable { name: String, why: String },
    #[error("{name}: {why}")]
    Undetected { name: String, why: Undetected },
}

impl Refused {
    pub(super) fn io(input: &Input, error: &io::Error) -> Self {
        let name = input.name();
        let why = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => format!(
                "reading it is not permitted. Run this as somebody who may, or pipe it in:  sudo cat {name} | \
                 quorate logs -"
            ),
            io::ErrorKind::IsADirectory => {
                format!("this is a directory. Name the files in it, such as {name}/access.log*")
            }
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData => {
                format!(
                    "it is damaged or cut off: {error}. Unpack what is whole and pipe it in:  zcat {name} | \
                     quorate logs -"
                )
            }
            _ => format!("it cannot be read: {error}"),
        };
        Self::Unreadable { name, why }
    }
}

/// What the first lines say.
#[derive(Debug, Default)]
struct Head {
    first_us: Option<i64>,
    /// Somebody is named who was asked, or a state is told.
    names_instances: bool,
    pools: BTreeMap<String, usize>,
}

/// Looks at every input. `instance` names whose own log it is where lines name nobody.
pub(super) fn plan(
    inputs: &[Input],
    wanted: &Wanted,
    instance: Option<&str>,
    context: &Context,
) -> Result<Vec<Planned>, Refused> {
    let mut planned = Vec::new();
    let mut heads = Vec::new();
    for (id, input) in inputs.iter().enumerate() {
        let (plan, head) = look(id, input, wanted, context)?;
        planned.push(plan);
        heads.push(head);
    }
    let pool = busiest_pool(&heads);
    let stems = stems(inputs);
    for ((plan, head), stem) in planned.iter_mut().zip(&heads).zip(stems) {
        plan.info.pool.clone_from(&pool);
        if !head.names_instances && matches!(plan.kind, Kind::Lines(_)) {
            plan.info.role = Role::Instance(instance.unwrap_or(&stem).to_owned());
        }
        plan.stem = stem;
    }
    let balancer = |plan: &Planned| {
        plan.info.role == Role::Balancer
            && matches!(plan.kind, Kind::Lines(_))
            && plan.format != Some("nginx-error")
    };
    let by_balancer = planned.iter().any(balancer);
    for plan in &mut planned {
        plan.info.counts = plan.info.role == Role::Balancer || !by_balancer;
    }
    Ok(planned)
}

fn look(
    id: usize,
    input: &Input,
    wanted: &Wanted,
    context: &Context,
) -> Result<(Planned, Head), Refused> {
    let failed = |error: io::Error| Refused::io(input, &error);
    let mut source = Source::open(input).map_err(failed)?;
    let bytes = source.head().map_err(failed)?;
    let (kind, format, head) = tell(bytes, &input.name(), wanted, context)
        .map_err(|why| Refused::Undetected { name: input.name(), why })?;
    let planned = Planned {
        input: input.clone(),
        format,
        kind,
        info: SourceInfo {
            id: u32::try_from(id).unwrap_or(u32::MAX),
            role: Role::Balancer,
            pool: String::new(),
            counts: true,
        },
        again: matches!(wanted, Wanted::Auto).then(|| context.clone()),
        stem: String::new(),
        first_us: head.first_us,
        size: source.size,
        opened: (*input == Input::Stdin).then_some(source),
    };
    Ok((planned, head))
}

type Told = (Kind, Option<&'static str>, Head);

fn tell(bytes: &[u8], file: &str, wanted: &Wanted, context: &Context) -> Result<Told, Undetected> {
    let (parser, name) = match wanted {
        Wanted::Custom(parser, name) => match other_than(parser, bytes, context) {
            Some(format) => (Parser::new(format, context), format.as_str()),
            None => (parser.as_ref().clone(), *name),
        },
        Wanted::Named(format) => (Parser::new(*format, context), format.as_str()),
        Wanted::Auto => match detect(bytes, context) {
            Ok(format) => (Parser::new(format, context), format.as_str()),
            Err(Undetected::Empty) => return Ok((Kind::Empty, None, Head::default())),
            Err(why) => return Err(why),
        },
    };
    for document in [Format::Kubernetes, Format::TargetHealth] {
        if name == document.as_str() {
            return Ok((Kind::Document(document), Some(name), Head::default()));
        }
    }
    let parser = parser.of_file(file);
    let head = Head::of(bytes, &mut parser.clone());
    Ok((Kind::Lines(Box::new(parser)), Some(name), head))
}

/// The format of lines that are not of the user's own: an error log, say, beside the access log that the
/// pasted format is for. None when his reads them, or nothing does.
fn other_than(custom: &Parser, bytes: &[u8], context: &Context) -> Option<Format> {
    let mut parser = custom.clone();
    let (mut tried, mut read) = (0, 0);
    for line in lines(bytes).take(TRIED) {
        tried += 1;
        // It reads lines of an error log too, which has a format of its own when it stands alone.
        read += usize::from(matches!(parser.line(line), Ok(Line::Request(_))));
    }
    if read * 2 >= tried { None } else { detect(bytes, context).ok() }
}

impl Head {
    fn of(bytes: &[u8], parser: &mut Parser) -> Self {
        let mut head = Self::default();
        for line in lines(bytes).take(TRIED) {
            let at_us = match parser.line(line) {
                Ok(Line::Request(record)) => {
                    head.names_instances |= !record.attempts.is_empty()
                        || record.pool.is_some()
                        || record.pool_empty > 0
                        || record.redispatched;
                    if let (Some(pool), false) = (record.pool, record.attempts.is_empty()) {
                        let pool = String::from_utf8_lossy(pool).into_owned();
                        *head.pools.entry(pool).or_default() += 1;
                    }
                    record.end_us
                }
                Ok(Line::Event(event)) => {
                    head.names_instances = true;
                    event.at_us
                }
                Ok(Line::Nothing) | Err(_) => continue,
            };
            head.first_us = Some(head.first_us.map_or(at_us, |first| first.min(at_us)));
        }
        head
    }
}

/// The pool of what names none: where most of the first requests went.
fn busiest_pool(heads: &[Head]) -> String {
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    for (pool, count) in heads.iter().flat_map(|head| &head.pools) {
        *all.entry(pool).or_default() += count;
    }
    let busiest = all.into_iter().max_by_key(|(_, count)| *count);
    busiest.map(|(pool, _)| pool.to_owned()).unwrap_or_default()
}

/// A name for each log: the file's, without what rotation and packing add; with its folder where two
/// would be alike.
fn stems(inputs: &[Input]) -> Vec<String> {
    let parts: Vec<(String, String)> = inputs.iter().map(parts).collect();
    let alike = |(folder, stem): &(String, String)| {
        parts.iter().any(|(other, same)| same == stem && other != folder)
    };
    let name = |part: &(String, String)| match (alike(part), &part.0) {
        (true, folder) if !folder.is_empty() => format!("{folder}/{}", part.1),
        _ => part.1.clone(),
    };
    parts.iter().map(name).collect()
}

/// The last folder, and the name without its endings.
fn parts(input: &Input) -> (String, String) {
    let Input::File(path) = input else { return (String::new(), "stdin".to_owned()) };
    let text = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let folder = text(path.parent().and_then(Path::file_name));
    let name = text(path.file_name());
    // Each node of such a balancer begins a new file every few minutes: all of them are one log.
    if let Some(node) = accesslog::node(&name) {
        return (String::new(), format!("node {node}"));
    }
    let mut stem = name.as_str();
    let digit = |c: char| c.is_ascii_digit();
    while let Some((before, ending)) = stem.rsplit_once(['.', '-']) {
        let numbered = !ending.is_empty() && ending.bytes().all(|b| b.is_ascii_digit());
        // `web-2` is another machine; `access.log.2` and `access.log-20261129` are older files.
        let counted = stem.as_bytes()[before.len()] == b'.' && !before.ends_with(digit);
        let rotated = numbered && (counted || ending.len() >= 8);
        if before.is_empty()
            || !(rotated || matches!(ending, "gz" | "zst" | "log" | "json" | "txt"))
        {
            break;
        }
        stem = before;
    }
    (folder, stem.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn rotated_files_are_one_log_and_alike_ones_carry_their_folder() {
        let of = |paths: &[&str]| {
            let inputs: Vec<Input> = paths.iter().map(|p| Input::File(PathBuf::from(p))).collect();
            stems(&inputs)
        };
        assert_eq!(
            of(&[
                "access.log",
                "access.log.1",
                "access.log.2.gz",
                "access.log-20261129.zst",
                "web-2.json"
            ]),
            ["access", "access", "access", "access", "web-2"]
        );
        assert_eq!(of(&["/var/a/access.log", "/var/b/access.log.1"]), ["a/access", "b/access"]);
        assert_eq!(of(&["10.0.0.1", "web-10.0.0.2.log.3"]), ["10.0.0.1", "web-10.0.0.2"]);
        assert_eq!(of(&[".gz", "log"]), [".gz", "log"]);
        let alb = |end: &str, node: &str| {
            format!(
                "/s3/{end}/1_elasticloadbalancing_eu-central-1_app.shop.0a1b_20260305T{end}Z_{node}_5m4k2j.log.gz"
            )
        };
        let files =
            [alb("1045", "198.51.100.4"), alb("1050", "198.51.100.4"), alb("1045", "198.51.100.5")];
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(of(&files), ["node 198.51.100.4", "node 198.51.100.4", "node 198.51.100.5"]);
    }
}
