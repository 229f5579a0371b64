//! Lines of an access log, the same every time: eight instances, of which one fails for a while.

use std::io::Write;

/// Who fails a tenth of its requests for a quarter of an hour.
pub(super) const BAD: &str = "10.9.0.13:8080";
const PER_SECOND: u64 = 600;
/// 2026-03-05 10:00:00 UTC.
const START: i64 = 1_772_704_800;
/// Seconds from the start on in which it fails.
const FAILS: std::ops::Range<u64> = 1_200..2_100;
/// Lines of a block, which is ten seconds long.
const BLOCK: u64 = PER_SECOND * 10;

const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "shop-app/4.12 (Android 15)",
];
const PATHS: [&str; 8] = [
    "/",
    "/cart",
    "/search?q=",
    "/item/",
    "/api/v2/orders/",
    "/static/app.js",
    "/checkout",
    "/account",
];

/// What the lines hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Combined, the time of the request, one upstream.
    OneUpstream,
    /// Combined with the lists of upstreams, of which one in ten holds a retry.
    Retries,
}

impl Style {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OneUpstream => "combined, request time, one upstream",
            Self::Retries => "combined, lists of upstreams with retries",
        }
    }
}

/// Lines one after the other.
pub(super) struct Lines {
    style: Style,
    written: u64,
    random: u64,
    /// A block of lines with where the time of each stands.
    template: Vec<u8>,
    stamps: Vec<usize>,
}

impl Lines {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            written: 0,
            random: 0x9e37_79b9_7f4a_7c15,
            template: Vec::new(),
            stamps: Vec::new(),
        }
    }

    /// Appends the next line.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) {
        let second = self.written / PER_SECOND;
        self.written += 1;
        self.line(second, out);
    }

    /// Appends the next ten seconds of lines, which differ from those before only in their times: fast
    /// enough not to be waited for.
    pub(super) fn block(&mut self, out: &mut Vec<u8>) {
        if self.template.is_empty() {
            let mut template = Vec::new();
            for _ in 0..BLOCK {
                self.stamps.push(template.len());
                self.line(0, &mut template);
            }
            for at in &mut self.stamps {
                let bracket = template[*at..].iter().position(|byte| *byte == b'[');
                *at += bracket.unwrap_or(0) + 1;
            }
            self.template = template;
        }
        let second = self.written / PER_SECOND;
        self.written += BLOCK;
        let from = out.len();
        out.extend_from_slice(&self.template);
        let mut text = String::new();
        for (number, at) in self.stamps.iter().enumerate() {
            if (number as u64).is_multiple_of(PER_SECOND) {
                text = stamp(second + number as u64 / PER_SECOND);
            }
            out[from + at..from + at + text.len()].copy_from_slice(text.as_bytes());
        }
    }

    fn line(&mut self, second: u64, out: &mut Vec<u8>) {
        let dice = self.dice();
        let pick = |shift: u32, of: u64| (dice >> shift) % of;
        let instance = pick(3, 8) + 11;
        let bad = format!("10.9.0.{instance}:8080") == BAD && FAILS.contains(&second);
        let fails = pick(17, 1_000) < if bad { 100 } else { 4 };
        let path = pick(7, 8) as usize;
        let id = match path {
            2..=4 => (dice >> 40).to_string(),
            _ => String::new(),
        };
        let retried = self.style == Style::Retries && pick(29, 10) == 0;
        let status = if fails && !retried { 502 } else { 200 };
        let (ms, bytes) = (8 + pick(11, 90) + pick(23, 3) * pick(37, 200), pick(31, 60_000));
        // Writing to memory does not fail.
        let _ = write!(
            out,
            "198.51.100.{} - - [{}] \"GET {}{id} HTTP/1.1\" {status} {bytes} \"https://shop.example/\" \"{}\"",
            pick(50, 254) + 1,
            stamp(second),
            PATHS[path],
            AGENTS[pick(44, 4) as usize],
        );
        let _ = match (self.style, retried) {
            (Style::OneUpstream, _) => {
                writeln!(out, " rt=0.{ms:03} upstream=10.9.0.{instance}:8080 ust={status}")
            }
            (Style::Retries, false) => writeln!(
                out,
                " rt=0.{ms:03} upstream=10.9.0.{instance}:8080 ust={status} urt=0.{ms:03}"
            ),
            (Style::Retries, true) => writeln!(
                out,
                " rt=0.{ms:03} upstream=10.9.0.{instance}:8080, 10.9.0.{}:8080 ust={}, 200 urt=0.002, 0.{ms:03}",
                11 + (instance - 11 + 1 + pick(33, 7)) % 8,
                if fails { 502 } else { 200 },
            ),
        };
    }

    /// splitmix64
    fn dice(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// `05/Mar/2026:10:00:00 +0000`, so many seconds after the start.
fn stamp(second: u64) -> String {
    let at = START + i64::try_from(second).unwrap_or(0);
    let at = jiff::Timestamp::from_second(at).unwrap_or_default();
    at.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_blocks_have_one_shape_and_go_on_in_time() {
        let mut lines = Lines::new(Style::OneUpstream);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        lines.block(&mut first);
        lines.block(&mut second);
        assert_eq!(first.len(), second.len());
        let text = String::from_utf8(second).unwrap();
        assert!(text.lines().next().unwrap().contains("[05/Mar/2026:10:00:10 +0000]"));
        assert!(text.lines().last().unwrap().contains("[05/Mar/2026:10:00:19 +0000]"));
        assert_eq!(text.lines().count() as u64, BLOCK);
        let mut line = Vec::new();
        Lines::new(Style::Retries).next(&mut line);
        assert!(line.ends_with(b"\n") && line.starts_with(b"198.51.100."));
    }
}
