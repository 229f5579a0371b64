//! One line on standard error while files are read, on a terminal only, cleared at the end.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::source::Input;
use crate::cli::term::Term;

/// At most five times a second.
const RHYTHM: Duration = Duration::from_millis(200);

pub(super) struct Progress {
    term: Term,
    shown: bool,
    on: bool,
    begun: Instant,
    last: Instant,
    lines: u64,
    /// Bytes of each file that are read; bytes of all files, 0 when nobody knows.
    read: Vec<u64>,
    total: u64,
}

impl Progress {
    pub(super) fn new(term: &Term, files: usize, total: u64) -> Self {
        let now = Instant::now();
        Self {
            term: *term,
            shown: false,
            on: std::io::stderr().is_terminal(),
            begun: now,
            last: now,
            lines: 0,
            read: vec![0; files],
            total,
        }
    }

    pub(super) fn lines(&mut self, more: u64) {
        self.lines += more;
    }

    /// So much of a file is read.
    pub(super) fn show(&mut self, input: &Input, file: usize, read: u64) {
        if let Some(place) = self.read.get_mut(file) {
            *place = read;
        }
        if !self.on || self.last.elapsed() < RHYTHM {
            return;
        }
        self.last = Instant::now();
        let read: u64 = self.read.iter().sum();
        let text = text(&input.name(), read, self.total, self.lines, self.begun.elapsed());
        self.shown = true;
        self.write(&format!("\r\u{1b}[K{}", self.term.text(&text)));
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            self.write("\r\u{1b}[K");
        }
    }

    fn write(&self, text: &str) {
        let mut out = std::io::stderr().lock();
        // Nobody is left to be told when standard error is closed.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn text(name: &str, read: u64, total: u64, lines: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64().max(0.001);
    let speed = lines as f64 / seconds;
    let speed = if speed >= 1e6 {
        format!("{:.1} million lines/s", speed / 1e6)
    } else {
        format!("{:.0} thousand lines/s", speed / 1e3)
    };
    if total == 0 || read == 0 {
        return format!("reading {name}  {speed}");
    }
    let read = read.min(total);
    let left = seconds * (total - read) as f64 / read as f64;
    format!("reading {name}  {}\u{a0}%  {speed}  {left:.0}\u{a0}s left", read * 100 / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_far_how_fast_and_how_long() {
        let text = |read, total| text("access.log", read, total, 1_300_000, Duration::from_secs(1));
        assert_eq!(
            text(61, 100),
            "reading access.log  61\u{a0}%  1.3 million lines/s  1\u{a0}s left"
        );
        assert_eq!(text(61, 0), "reading access.log  1.3 million lines/s");
    }
}
