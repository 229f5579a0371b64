//! One piece of text → sums, events and counts. In a thread of its own: nothing here waits.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;

use super::lines::Piece;
use crate::{
    accesslog::{self, Context, Format, Line, Parser, generic_json::Mapping, mask::masked},
    domain::fleet::{
        event::Event,
        settings::Settings,
        tally::{Failed, SourceInfo, Taken, Tally},
        timeline::{FailedRun, Marks},
    },
};

/// New samples that one piece may bring.
const SAMPLES: usize = 5;
/// After so many refused lines in a row it is asked whether the format has changed.
const DOUBT: u32 = 100;
/// Lines are told from one another by this much of the text.
const HEAD: usize = 256 * 1024;
/// Stamps before 1990 and more than a day ahead of us are mistakes.
const EARLIEST_US: i64 = 631_152_000_000_000;
const AHEAD_US: i64 = 86_400_000_000;

/// What one source's lines are read with, from piece to piece: route classes and runs of failures go on.
#[derive(Debug)]
pub(super) struct Warm {
    tally: Tally,
}

/// How a source is to be read.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub info: SourceInfo,
    /// Known or said.
    pub format: Option<Format>,
    /// Said, so that it is never doubted.
    pub fixed: bool,
    /// nginx's `log_format` as pasted, which wins over any name.
    pub log_format: Option<String>,
    /// What the keys of generic-json lines mean.
    pub mapping: Option<Mapping>,
    /// What the file is called, if anybody said.
    pub file_name: Option<String>,
    /// What requests are held against, in µs.
    pub bounds: Vec<u32>,
    pub context: Context,
}

impl Recipe {
    fn parser(&self, parser: Parser) -> Parser {
        match &self.file_name {
            Some(name) => parser.of_file(name),
            None => parser,
        }
    }
}

/// A line that was not understood, fit to be shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[schema(as = RejectedLine)]
pub struct Refused {
    /// Addresses and query values are masked.
    pub line: String,
    pub reason: String,
}

/// What a piece says.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub taken: Vec<Taken>,
    pub marks: Marks,
    pub events: Vec<Event>,
    pub lines: u64,
    pub accepted: u64,
    pub rejected: u64,
    pub samples: Vec<Refused>,
    pub newest_us: Option<i64>,
    pub oldest_us: Option<i64>,
    /// What the lines turned out to be.
    pub format: Option<Format>,
}

impl Warm {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { tally: Tally::new(settings) }
    }

    pub(super) fn read(&mut self, piece: &Piece, recipe: &Recipe) -> Said {
        let mut said = Said { rejected: piece.cut, lines: piece.cut, ..Said::default() };
        if piece.cut > 0 {
            said.sample(b"", "the line is longer than 256 KiB");
        }
        self.tally.hold_against(&recipe.bounds);
        let text = piece.text.as_slice();
        let wrapped = is_wrapped(text);
        if let Some(pasted) = &recipe.log_format {
            self.custom(text, wrapped, pasted, recipe, &mut said);
            return said;
        }
        let format = recipe.format.map_or_else(|| detect(text, wrapped, &recipe.context), Ok);
        let format = match format {
            Ok(format) => format,
            Err(why) => {
                for line in lines(text) {
                    said.refuse(line, &why);
                }
                return said;
            }
        };
        // Made anew for each piece, since the year of stamps without one moves on.
        let mapped = recipe.mapping.as_ref().filter(|_| format == Format::GenericJson);
        let mapped = mapped.and_then(|mapping| Parser::mapped(mapping, &recipe.context).ok());
        let mapped = mapped.unwrap_or_else(|| Parser::new(format, &recipe.context));
        let mut parser = recipe.parser(mapped);
        let mut format = format;
        let mut refused_in_a_row = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (raw, after) = rest.split_at(end);
            rest = after.strip_prefix(b"\n").unwrap_or(after);
            if raw.trim_ascii().is_empty() {
                continue;
            }
            let line = if wrapped { unwrapped(raw) } else { Cow::Borrowed(raw) };
            match self.one(&line, &mut parser, recipe, &mut said) {
                Ok(()) => refused_in_a_row = 0,
                Err(reason) => {
                    said.refuse(&line, reason);
                    refused_in_a_row += 1;
                    if refused_in_a_row == DOUBT
                        && !recipe.fixed
                        && let Ok(other) = detect(rest, wrapped, &recipe.context)
                        && other != format
                    {
                        format = other;
                        parser = parser.instead(other, &recipe.context);
                    }
                }
            }
        }
        said.format = Some(format);
        self.hand_over(&mut said);
        said
    }

    /// Lines of a format that was pasted, and nginx's error log where it stands between them: never doubted.
    fn custom(
        &mut self,
        text: &[u8],
        wrapped: bool,
        pasted: &str,
        recipe: &Recipe,
        said: &mut Said,
    ) {
        let mut parser = match Parser::custom(pasted, &recipe.context) {
            Ok(parser) => parser,
            // It was read when it was saved; an older one may not be what a newer reader takes.
            Err(why) => {
                lines(text).for_each(|line| said.refuse(line, &why.to_string()));
                return;
            }
        };
        for raw in lines(text) {
            let line = if wrapped { unwrapped(raw) } else { Cow::Borrowed(raw) };
            if let Err(reason) = self.one(&line, &mut parser, recipe, said) {
                said.refuse(&line, reason);
            }
        }
        self.hand_over(said);
    }

    fn one(
        &mut self,
        line: &[u8],
        parser: &mut Parser,
        recipe: &Recipe,
        said: &mut Said,
    ) -> Result<(), &'static str> {
        let sane = |at_us: i64| {
            if at_us < EARLIEST_US {
                Err("its time lies before 1990")
            } else if at_us > recipe.context.now_us + AHEAD_US {
                Err("its time lies more than a day ahead: a wrong clock or zone")
            } else {
                Ok(())
            }
        };
        match parser.line(line).map_err(|reject| reject.0)? {
            Line::Request(record) => {
                sane(record.end_us)?;
                self.tally.add(&record, &recipe.info);
                said.dated(record.end_us);
            }
            Line::Event(event) => {
                sane(event.at_us)?;
                said.dated(event.at_us);
                said.events.push(event);
            }
            Line::Nothing => {}
        }
        said.lines += 1;
        said.accepted += 1;
        Ok(())
    }

    fn hand_over(&mut self, said: &mut Said) {
        said.taken = self.tally.take_all();
        for (pool, mut event) in self.tally.take_events() {
            event.pool = event.pool.or((!pool.is_empty()).then_some(pool));
            said.events.push(event);
        }
        let runs = self.tally.take_runs().into_iter();
        // What is stored as JSON cannot hold a NUL.
        let clean = |name: String| name.replace('\0', "\u{fffd}");
        said.marks.runs = runs
            .map(|run| FailedRun { instance: clean(run.instance), from_us: run.from_us })
            .collect();
        let failed = self.tally.take_failed().into_iter();
        said.marks.failed =
            failed.map(|one| Failed { instance: clean(one.instance), ..one }).collect();
    }
}

impl Said {
    fn dated(&mut self, at_us: i64) {
        self.newest_us = self.newest_us.max(Some(at_us));
        self.oldest_us = Some(self.oldest_us.map_or(at_us, |oldest| oldest.min(at_us)));
    }

    fn refuse(&mut self, line: &[u8], reason: &str) {
        self.lines += 1;
        self.rejected += 1;
        self.sample(line, reason);
    }

    fn sample(&mut self, line: &[u8], reason: &str) {
        if self.samples.len() < SAMPLES {
            self.samples.push(Refused { line: masked(line), reason: reason.to_owned() });
        }
    }
}

/// What the lines are, or why nobody knows.
fn detect(text: &[u8], wrapped: bool, context: &Context) -> Result<Format, String> {
    let head = &text[..text.len().min(HEAD)];
    let found = if wrapped {
        let mut plain = Vec::with_capacity(head.len());
        for line in lines(head) {
            plain.extend_from_slice(&unwrapped(line));
            plain.push(b'\n');
        }
        accesslog::detect(&plain, context)
    } else {
        accesslog::detect(head, context)
    };
    match found {
        Ok(Format::Kubernetes | Format::TargetHealth) => {
            Err("this is a platform's document, not a log: send it to the fleet's events".into())
        }
        Ok(format) => Ok(format),
        Err(why) => Err(why.to_string()),
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// A line as log shippers wrap it: Vector's `message`, Fluent Bit's `log`.
#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    log: Option<Cow<'a, str>>,
}

/// The line inside, or the text as it is if there is none.
fn unwrapped(line: &[u8]) -> Cow<'_, [u8]> {
    let inner = serde_json::from_slice::<Wrapped<'_>>(line).ok();
    match inner.and_then(|inner| inner.message.or(inner.log)) {
        Some(Cow::Borrowed(text)) => Cow::Borrowed(text.trim_end_matches('\n').as_bytes()),
        Some(Cow::Owned(text)) => Cow::Owned(text.trim_end_matches('\n').to_owned().into_bytes()),
        None => Cow::Borrowed(line),
    }
}

/// Whether the first line is a line inside an envelope rather than an access log in JSON: an envelope
/// says nothing of a request itself.
fn is_wrapped(text: &[u8]) -> bool {
    const OF_REQUESTS: [&str; 9] = [
        "status",
        "request",
        "http",
        "method",
        "response_code",
        "DownstreamStatus",
        "logger",
        "upstream_addr",
        "httpRequest",
    ];
    let Some(first) = lines(text).next() else { return false };
    if !first.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let Ok(serde_json::Value::Object(map)) = serde_json::from_slice(first) else { return false };
    let inside = |name: &str| map.get(name).is_some_and(serde_json::Value::is_string);
    (inside("message") || inside("log")) && !OF_REQUESTS.iter().any(|key| map.contains_key(*key))
}

/// Microseconds since the Unix epoch as an instant.
pub(super) fn instant(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fleet::tally::Role;

    const LINE: &str =
        r#"203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] "GET /pay HTTP/1.1" 200 512 "-" "ua/1""#;

    fn read(text: &str, format: Option<Format>) -> Said {
        read_file(text, format, None)
    }

    fn read_file(text: &str, format: Option<Format>, name: Option<&str>) -> Said {
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 1_772_800_000_000_000 };
        let info = SourceInfo {
            id: 0,
            role: Role::Instance("web1".into()),
            pool: String::new(),
            counts: true,
        };
        let recipe = Recipe {
            info,
            format,
            fixed: format.is_some(),
            log_format: None,
            mapping: None,
            file_name: name.map(str::to_owned),
            bounds: Vec::new(),
            context,
        };
        let piece = Piece { text: text.as_bytes().to_vec(), ..Piece::default() };
        Warm::new(&Settings::default()).read(&piece, &recipe)
    }

    #[test]
    fn lines_are_told_by_themselves_and_what_is_none_is_counted_and_shown_masked() {
        let said = read(&format!("{LINE}\n").repeat(40), None);
        assert_eq!((said.format, said.accepted), (Some(Format::NginxCombined), 40));
        assert_eq!(said.taken.len(), 1);
        assert_eq!(said.taken[0].window.instance("web1").attempts, 40);
        let said =
            read(&format!("{LINE}\nfrom 203.0.113.9 nonsense\n"), Some(Format::NginxCombined));
        assert_eq!((said.accepted, said.rejected), (1, 1));
        assert!(!said.samples[0].line.contains("203.0.113.9"), "{:?}", said.samples);
        let said = read("what is this\n", None);
        assert_eq!((said.accepted, said.rejected, said.format), (0, 1, None));
    }

    #[test]
    fn the_nodes_of_a_balancer_are_told_by_the_names_of_their_files() {
        let log = include_str!("../../tests/logs/aws_alb_health.log");
        let reporters = |format| {
            ["198.51.100.4", "198.51.100.5"].map(|node| {
                let name = format!(
                    "1_elasticloadbalancing_eu_app.shop.0a_20260305T1045Z_{node}_5m.log.gz"
                );
                let said = read_file(log, format, Some(&name));
                assert_eq!(said.events.len(), 6);
                let mut nodes = said.events.into_iter().map(|event| event.reporter.unwrap());
                let first = nodes.next().unwrap();
                assert!(nodes.all(|other| other == first));
                first
            })
        };
        assert_eq!(reporters(None), ["198.51.100.4", "198.51.100.5"]);
        assert_eq!(reporters(Some(Format::AwsAlbHealth)), ["198.51.100.4", "198.51.100.5"]);
        assert!(read(log, None).events.iter().all(|event| event.reporter.is_none()));
    }

    #[test]
    fn lines_that_name_a_group_where_nobody_was_left_are_of_the_same_pool() {
        let line = |addr: &str, status: &str| {
            format!("{} {addr} {status}\n", LINE.replace(" \"ua/1\"", " \"ua/1\" 310 0.412"))
        };
        let log_format = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
                          \"$http_referer\" \"$http_user_agent\" $request_length $request_time \
                          $upstream_addr $upstream_status";
        let text = format!("{}{}", line("10.9.0.11:80", "200").repeat(5), line("app", "502"));
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 1_772_800_000_000_000 };
        let recipe = Recipe {
            info: SourceInfo { id: 0, role: Role::Balancer, pool: String::new(), counts: true },
            format: None,
            fixed: false,
            log_format: Some(log_format.to_owned()),
            mapping: None,
            file_name: None,
            bounds: Vec::new(),
            context,
        };
        // Alone the last line would be a batch that names a pool throughout.
        for parts in [vec![text.as_str()], text.split_inclusive('\n').collect()] {
            let mut warm = Warm::new(&Settings::default());
            let (mut requests, mut empty) = (0, 0);
            for part in parts {
                let piece = Piece { text: part.as_bytes().to_vec(), ..Piece::default() };
                let said = warm.read(&piece, &recipe);
                assert_eq!(said.rejected, 0, "{:?}", said.samples);
                for taken in said.taken {
                    assert_eq!(taken.pool, "");
                    requests += taken.window.pool.requests;
                    empty += taken.window.pool.empty;
                }
            }
            assert_eq!((requests, empty), (6, 1));
        }
    }

    #[test]
    fn an_error_log_beside_lines_of_a_pasted_format_tells_of_upstreams() {
        let access = "10.9.0.11:8080|200|[05/Mar/2026:10:15:31 +0000]|GET / HTTP/1.1|200\n";
        let error = "2026/03/05 10:15:30 [warn] 7#7: *1 upstream server temporarily disabled while \
                     connecting to upstream, client: 203.0.113.9, upstream: \"http://10.9.0.11:8080/\"\n";
        let notice = "2026/03/05 10:15:30 [notice] 1#1: start worker processes\n";
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 1_772_800_000_000_000 };
        let recipe = Recipe {
            info: SourceInfo { id: 0, role: Role::Balancer, pool: String::new(), counts: true },
            format: None,
            fixed: false,
            log_format: Some(
                "$upstream_addr|$upstream_status|[$time_local]|$request|$status".into(),
            ),
            mapping: None,
            file_name: None,
            bounds: Vec::new(),
            context,
        };
        let read = |text: String| {
            let piece = Piece { text: text.into_bytes(), ..Piece::default() };
            Warm::new(&Settings::default()).read(&piece, &recipe)
        };
        // In one stream, and as a file of its own.
        for (text, requests) in
            [([access, error, access, notice].concat(), 2), ([error, notice].concat(), 0)]
        {
            let said = read(text.clone());
            assert_eq!(said.rejected, 0, "{:?}", said.samples);
            assert_eq!(said.lines as usize, text.lines().count());
            let told: Vec<_> =
                said.events.iter().map(|e| (e.instance.as_deref(), &e.what)).collect();
            let ejected = crate::domain::fleet::event::What::Ejected { enforced: true };
            assert_eq!(told, [(Some("10.9.0.11:8080"), &ejected)]);
            let counted: u64 = said.taken.iter().map(|taken| taken.window.pool.requests).sum();
            assert_eq!(counted, requests);
        }
        // What is neither is refused as a line of the format that was pasted.
        let said = read(format!("{access}what is this\n"));
        assert_eq!((said.accepted, said.rejected), (1, 1));
        assert!(!said.samples[0].reason.contains("2026/03/05"), "{:?}", said.samples);
    }

    #[test]
    fn envelopes_are_opened_and_logs_in_json_are_not() {
        let vector = serde_json::json!({"message": LINE, "host": "web1", "source_type": "file", "timestamp": "2026-03-05T10:15:30Z"});
        let fluent = serde_json::json!({"date": 1_772_705_730.5, "log": format!("{LINE}\n")});
        for envelope in [vector, fluent] {
            let said = read(&format!("{envelope}\n").repeat(3), None);
            assert_eq!((said.accepted, said.rejected), (3, 0), "{envelope}");
        }
        assert!(!is_wrapped(br#"{"message":"GET /","status":200}"#));
        assert!(!is_wrapped(b"plain"));
    }

    #[test]
    fn a_time_that_cannot_be_is_refused() {
        let future = LINE.replace("Mar/2026", "Apr/2026");
        let said = read(&format!("{future}\n"), Some(Format::NginxCombined));
        assert_eq!((said.accepted, said.rejected), (0, 1));
        assert!(said.samples[0].reason.contains("ahead"), "{:?}", said.samples);
    }
}
