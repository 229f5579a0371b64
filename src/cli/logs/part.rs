//! A chunk of lines → what it says, in one pass and on any thread.

use crate::accesslog::{Line, Parser, mask::masked};
use crate::domain::fleet::{
    event::Event,
    settings::Settings,
    tally::{SourceInfo, Tally},
};

/// So many refused lines of a file are kept.
pub(super) const MOST_SAMPLES: usize = 20;

/// What a chunk says.
pub(super) struct Part {
    pub(super) tally: Tally,
    pub(super) events: Vec<Event>,
    pub(super) counts: Counts,
    /// The first and last stamp of requests and events, in µs.
    pub(super) span: Option<(i64, i64)>,
    /// Stretches of more than [`SILENCE_US`] without a line, in µs.
    pub(super) gaps: Vec<(i64, i64)>,
}

/// A source that says nothing for so long is silent.
pub(super) const SILENCE_US: i64 = 60_000_000;

/// How many lines there were and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Blank ones are no lines.
    pub(super) lines: u64,
    /// A request or an event was read, or it is known to be of no interest.
    pub(super) parsed: u64,
    pub(super) rejected: u64,
    /// Refused lines, masked; the first ones.
    pub(super) samples: Vec<String>,
}

impl Counts {
    pub(super) fn merge(&mut self, later: Self) {
        self.lines += later.lines;
        self.parsed += later.parsed;
        self.rejected += later.rejected;
        self.samples.extend(later.samples);
        self.samples.truncate(MOST_SAMPLES);
    }

    /// One line that was refused.
    pub(super) fn reject(&mut self, line: &[u8]) {
        self.lines += 1;
        self.rejected += 1;
        if self.samples.len() < MOST_SAMPLES {
            self.samples.push(masked(line));
        }
    }
}

/// Reads all lines of a chunk. Unless its lines name pools as a rule, the few that do are of the same pool.
pub(super) fn read(
    chunk: &[u8],
    parser: &mut Parser,
    source: &SourceInfo,
    names_pools: bool,
    settings: &Settings,
) -> Part {
    let mut tally = Tally::part(settings);
    let mut events = Vec::new();
    let mut counts = Counts::default();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    let mut gaps = Vec::new();
    let mut seen = |at: i64| {
        if last != i64::MIN && at - last > SILENCE_US {
            gaps.push((last, at));
        }
        first = first.min(at);
        last = last.max(at);
    };
    for line in lines(chunk) {
        match parser.line(line) {
            Ok(Line::Request(mut record)) => {
                seen(record.end_us);
                if !names_pools {
                    record.pool = None;
                }
                tally.add(&record, source);
            }
            Ok(Line::Event(mut event)) => {
                seen(event.at_us);
                if event.pool.is_none() || !names_pools {
                    event.pool = Some(source.pool.clone());
                }
                events.push(event);
            }
            Ok(Line::Nothing) => {}
            Err(_) => {
                counts.reject(line);
                continue;
            }
        }
        counts.lines += 1;
        counts.parsed += 1;
    }
    Part { tally, events, counts, span: (first <= last).then_some((first, last)), gaps }
}

/// Lines without their ends; blank ones left out.
pub(super) fn lines(chunk: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'\n', chunk).chain(std::iter::once(chunk.len()));
    ends.filter_map(move |end| {
        let line = chunk.get(from..end).unwrap_or_default();
        from = end + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (!line.is_empty()).then_some(line)
    })
}
