//! Every reader of logs on whatever bytes, and all that follows from what it reads: the first byte chooses
//! the reader, the rest are its lines. `FORMAT=haproxy` in the environment chooses one for the whole run.
//!
//! * What is read is decoded and shown, as its users do.
//! * The sums of two parts must be those of the whole.
//! * Windows are judged as `quorate logs` judges them, whatever was read.

#![no_main]
#![allow(dead_code, unused_imports, reason = "the sources are included for a part of what they hold")]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use libfuzzer_sys::{Corpus, fuzz_target};

use accesslog::{
    Context, Format, Line, Parser, detect, document, generic_json::Mapping, kubernetes, mask::masked,
    target_health,
};
use domain::fleet::{
    event::Event,
    record::Record,
    settings::{HealthCheck, Settings},
    tally::{Role, SourceInfo, Taken, Tally},
};

#[path = "../../src/accesslog/mod.rs"]
mod accesslog;

#[path = "../../src/domain"]
mod domain {
    pub mod sketch;

    pub mod fleet {
        pub mod all_out;
        pub mod beats;
        pub mod cell;
        pub mod engine;
        pub mod event;
        pub mod finding;
        pub mod platform;
        pub mod probe;
        pub mod record;
        pub mod route;
        pub mod settings;
        pub mod share;
        pub mod tally;
        pub mod timeline;
    }
}

/// `quorate logs` from a chunk of lines on.
#[path = "../../src/cli/logs"]
mod logs {
    mod judge;
    mod part;
    mod readiness;
    mod total;

    use std::collections::BTreeMap;

    use judge::{Judge, Silences};

    use crate::accesslog::{Context, Parser};
    use crate::domain::fleet::{event::Event, settings::Settings, tally::SourceInfo, tally::Tally};

    /// Reads chunks one after the other and judges what they say.
    pub fn read(
        chunks: &[&[u8]],
        parser: &Parser,
        info: &SourceInfo,
        again: Option<Context>,
        settings: &Settings,
    ) {
        let recipe = part::Recipe { parser: parser.clone(), info: info.clone(), again };
        let mut parser = parser.clone();
        let (mut judge, mut tally) = (Judge::new(settings), Tally::new(settings));
        let mut heard: BTreeMap<String, Silences> = BTreeMap::new();
        for chunk in chunks {
            let part = part::read(chunk, &mut parser, &recipe, settings);
            assert_eq!(part.counts.lines, part.counts.parsed + part.counts.rejected);
            tally.merge(part.tally);
            judge.hear(part.events);
            if let Some(span) = part.span {
                heard.entry("log".to_owned()).or_default().hear(span, part.gaps);
                judge.advance(&mut tally, Some(span.1 - 10_000_000), &heard);
            }
        }
        judge.advance(&mut tally, None, &heard);
    }

    /// Judges events alone.
    pub fn hear(events: Vec<Event>, settings: &Settings) {
        let mut judge = Judge::new(settings);
        judge.hear(events);
        judge.advance(&mut Tally::new(settings), None, &BTreeMap::new());
    }
}

/// What is chosen by the first byte, beside the formats: see `fuzz/seeds`, which writes these bytes.
const PASTED: usize = Format::ALL.len();
const MAPPED: usize = PASTED + 1;
const DETECTED: usize = PASTED + 2;
const KINDS: usize = PASTED + 3;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((first, text)) = bytes.split_first() else { return Corpus::Reject };
    let kind = chosen().unwrap_or(usize::from(first.wrapping_sub(b'a')) % KINDS);
    let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 1_795_980_000_000_000 };
    let (parser, text) = match kind {
        // The first line is the format, as pasted.
        PASTED => {
            let (pasted, text) = first_line(text);
            (Parser::custom(&String::from_utf8_lossy(pasted), &context).ok(), text)
        }
        // The first line is the mapping.
        MAPPED => {
            let (mapping, text) = first_line(text);
            let mapping = serde_json::from_slice::<Mapping>(mapping).ok();
            (mapping.and_then(|mapping| Parser::mapped(&mapping, &context).ok()), text)
        }
        DETECTED => {
            (detect(text, &context).ok().map(|format| Parser::new(format, &context)), text)
        }
        named => (Format::ALL.get(named).map(|format| Parser::new(*format, &context)), text),
    };
    document(text, &context);
    let Some(parser) = parser else { return Corpus::Keep };
    let parser = parser.of_file(
        "AWSLogs/1/123456789012_elasticloadbalancing_eu_app.shop.0a_20260305T1045Z_198.51.100.4_5m.log.gz",
    );
    let role = if first % 3 == 0 { Role::Instance("web1".into()) } else { Role::Balancer };
    let info = SourceInfo { id: u32::from(*first), role, pool: String::new(), counts: true };
    let settings = settings(*first);
    sums(text, &parser, &info, &settings);
    let middle = text.len() / 2;
    let middle = memchr::memchr(b'\n', &text[middle..]).map_or(text.len(), |at| middle + at + 1);
    let (one, other) = text.split_at(middle);
    let again = (kind == DETECTED).then_some(context);
    logs::read(&[one, other], &parser, &info, again, &settings);
    Corpus::Keep
});

/// The kind that the environment names.
fn chosen() -> Option<usize> {
    static CHOSEN: OnceLock<Option<usize>> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("FORMAT").ok().filter(|name| !name.is_empty() && name != "all")?;
        Some(match name.as_str() {
            "log-format" => PASTED,
            "mapped-json" => MAPPED,
            "detect" => DETECTED,
            name => {
                let named = Format::ALL.iter().position(|format| format.as_str() == name);
                named.unwrap_or_else(|| panic!("FORMAT: there is no {name:?}"))
            }
        })
    })
}

fn first_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    (&text[..end], text.get(end + 1..).unwrap_or_default())
}

/// Short windows, so that a few lines fill several.
fn settings(byte: u8) -> Settings {
    let check = HealthCheck { path: None, interval_s: 1.0, timeout_s: 1.0, unhealthy: 2, healthy: 2 };
    Settings {
        window_s: if byte % 2 == 0 { 60 } else { 1 },
        check: (byte % 5 == 0).then_some(check),
        expected: (byte % 7 == 0).then_some(3),
        probe_paths: vec!["/up".to_owned()],
        platform: (byte % 5 == 0).then(|| "alb".to_owned()),
        ..Settings::default()
    }
}

/// What a platform gives as a whole.
fn document(text: &[u8], context: &Context) {
    let events = match document::recognise(text) {
        Some(Format::TargetHealth) => target_health::read(text, context.now_us),
        Some(_) => kubernetes::read(text, Some(context.now_us)),
        None => return,
    };
    if let Ok(events) = events {
        logs::hear(events, &Settings::default());
    }
}

/// Line by line: what is read can be shown, and the sums of two halves are those of the whole.
fn sums(text: &[u8], parser: &Parser, info: &SourceInfo, settings: &Settings) {
    let mut parser = parser.clone();
    let mut whole = Tally::part(settings);
    let mut parts = [Tally::part(settings), Tally::part(settings)];
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        match parser.line(line) {
            Ok(Line::Request(record)) => {
                shown(&record);
                whole.add(&record, info);
                parts[usize::from(number * 2 >= lines.len())].add(&record, info);
            }
            Ok(Line::Event(event)) => {
                serde_json::to_string(&event).expect("an event is a format");
            }
            Ok(Line::Nothing) => {}
            Err(_) => assert!(masked(line).chars().count() < 4_000),
        }
    }
    let [mut sum, second] = parts;
    sum.merge(second);
    assert_eq!(by_window(whole.take_all()), by_window(sum.take_all()));
    assert_eq!(whole.take_runs(), sum.take_runs());
}

fn by_window(taken: Vec<Taken>) -> BTreeMap<(i64, String), Taken> {
    taken.into_iter().map(|taken| ((taken.window.index, taken.pool.clone()), taken)).collect()
}

fn shown(record: &Record<'_>) {
    let texts = [record.user, record.request, record.target, record.user_agent, record.version];
    for text in texts.into_iter().flatten() {
        assert!(text.decode().len() <= 3 * text.raw.len());
        let _shown = text.show();
    }
    for attempt in &record.attempts {
        assert!(!attempt.instance.is_empty());
    }
    assert!(jiff::Timestamp::from_microsecond(record.end_us).is_ok());
}
