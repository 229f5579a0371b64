//! A chunk of lines → what it says, in one pass and on any thread.

use crate::accesslog::{Context, Line, Parser, detect, mask::masked};
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

/// How the lines of a file are read.
pub(super) struct Recipe {
    pub(super) parser: Parser,
    pub(super) info: SourceInfo,
    /// The format was told by the first lines, and may be another further on.
    pub(super) again: Option<Context>,
}

/// So many refused lines in a row are a reason to look at the format again.
const LOOK_AGAIN: u64 = 100;

/// Reads all lines of a chunk. The parser is another one afterwards if the format has changed.
pub(super) fn read(
    chunk: &[u8],
    parser: &mut Parser,
    recipe: &Recipe,
    settings: &Settings,
) -> Part {
    let mut part = Part {
        tally: Tally::part(settings),
        events: Vec::new(),
        counts: Counts::default(),
        span: None,
        gaps: Vec::new(),
    };
    let mut rest = chunk;
    let mut changed = false;
    'again: loop {
        // Where the refused lines in a row begin, and what was counted until then.
        let mut streak: Option<(usize, Counts)> = None;
        for line in lines(rest) {
            if part.line(line, parser, recipe) {
                streak = None;
                continue;
            }
            let (from, before) = streak.get_or_insert_with(|| {
                let from = line.as_ptr() as usize - rest.as_ptr() as usize;
                (from, part.counts.clone())
            });
            part.counts.reject(line);
            // Where the format was changed and reads nothing either, another look would see the same.
            let new_place = *from > 0 || !changed;
            if part.counts.rejected - before.rejected == LOOK_AGAIN
                && new_place
                && let Some(context) = &recipe.again
                && let Ok(format) = detect(&rest[*from..], context)
            {
                changed = true;
                *parser = parser.instead(format, context);
                part.counts = std::mem::take(before);
                rest = &rest[*from..];
                continue 'again;
            }
        }
        return part;
    }
}

impl Part {
    /// Takes what a line says; false if it is refused.
    fn line(&mut self, line: &[u8], parser: &mut Parser, recipe: &Recipe) -> bool {
        match parser.line(line) {
            Ok(Line::Request(record)) => {
                self.seen(record.end_us);
                self.tally.add(&record, &recipe.info);
            }
            Ok(Line::Event(mut event)) => {
                self.seen(event.at_us);
                if event.pool.is_none() {
                    event.pool = Some(recipe.info.pool.clone());
                }
                self.events.push(event);
            }
            Ok(Line::Nothing) => {}
            Err(_) => return false,
        }
        self.counts.lines += 1;
        self.counts.parsed += 1;
        true
    }

    fn seen(&mut self, at_us: i64) {
        let Some((first, last)) = &mut self.span else {
            self.span = Some((at_us, at_us));
            return;
        };
        if at_us - *last > SILENCE_US {
            self.gaps.push((*last, at_us));
        }
        *first = at_us.min(*first);
        *last = at_us.max(*last);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesslog::Format;
    use crate::domain::fleet::tally::Role;

    #[test]
    fn a_format_that_changes_within_a_file_is_seen() {
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        let mut parser = Parser::new(Format::AwsAlb, &context);
        let info = SourceInfo { id: 0, role: Role::Balancer, pool: String::new(), counts: true };
        let again = Some(context);
        let mut recipe = Recipe { parser: parser.clone(), info, again };
        let line =
            "203.0.113.9 - - [05/Mar/2026:10:15:30 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"ua\"\n";
        let text = format!("what is this\n\n{}", line.repeat(250));
        let settings = Settings::default();
        let part = read(text.as_bytes(), &mut parser, &recipe, &settings);
        assert_eq!((part.counts.lines, part.counts.parsed, part.counts.rejected), (251, 250, 1));
        assert_eq!(part.counts.samples, ["what is this"]);
        // What no other format reads is refused, once, though it may look like one.
        let watch = "{\n \"kind\": \"Pod\", \"apiVersion\": \"v1\",\n".to_owned()
            + &" \"a\": 1,\n".repeat(300);
        let part = read(watch.as_bytes(), &mut parser.clone(), &recipe, &settings);
        assert_eq!((part.counts.lines, part.counts.parsed, part.counts.rejected), (302, 0, 302));
        // What was named is not doubted.
        recipe.again = None;
        let part = read(text.as_bytes(), &mut recipe.parser.clone(), &recipe, &settings);
        assert_eq!((part.counts.parsed, part.counts.rejected), (0, 251));
        assert_eq!(part.counts.samples.len(), MOST_SAMPLES);
    }
}
