//! How the tools speak in a terminal: width, colour, marks and wrapping. Everything here builds text;
//! [`Term::print`] is the only thing that writes.

use std::io::{IsTerminal, Write};

/// Options that every subcommand understands.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct TermOptions {
    /// Colours: `auto` uses them on a terminal unless NO_COLOR is set or TERM is dumb.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    /// Plain ASCII marks instead of symbols (chosen by LC_ALL, LC_CTYPE and LANG otherwise).
    #[arg(long, global = true)]
    pub ascii: bool,
    /// Times in UTC instead of this machine's zone.
    #[arg(long, global = true)]
    pub utc: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// What the output may use. Made once from the options and the environment, then passed down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Columns, 60 to 120.
    pub width: usize,
    pub color: bool,
    pub ascii: bool,
    pub utc: bool,
}

/// Colour carries state and nothing else; a mark or a word always says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Labels, axes, phase names.
    Dim,
    /// The verdict, and what is blamed.
    Bold,
    Link,
    Up,
    Slow,
    Partial,
    Down,
    Unknown,
    Maintenance,
    Quarantined,
}

/// A state's mark. Each is one column wide in both alphabets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Up,
    Slow,
    Partial,
    Down,
    Unknown,
    Pending,
    Paused,
    Maintenance,
    Quarantined,
    /// Votes only: failed, but not yet often enough.
    Suspect,
    /// Votes only: passes again, but not yet often enough.
    Recovering,
    /// Votes only: nothing was heard.
    NoVote,
}

impl Mark {
    pub fn symbol(self, ascii: bool) -> char {
        let (symbol, plain) = match self {
            Mark::Up => ('●', '+'),
            Mark::Slow => ('▲', '~'),
            Mark::Partial => ('◧', '%'),
            Mark::Down => ('■', 'X'),
            Mark::Unknown => ('◌', '?'),
            Mark::Pending => ('…', '.'),
            Mark::Paused => ('‖', '='),
            Mark::Maintenance => ('◇', 'm'),
            Mark::Quarantined => ('⊘', '/'),
            Mark::Suspect => ('□', 'x'),
            Mark::Recovering => ('⊕', '^'),
            Mark::NoVote => ('·', '.'),
        };
        if ascii { plain } else { symbol }
    }

    pub fn ink(self) -> Ink {
        match self {
            Mark::Up | Mark::Recovering => Ink::Up,
            Mark::Slow => Ink::Slow,
            Mark::Partial | Mark::Suspect => Ink::Partial,
            Mark::Down => Ink::Down,
            Mark::Unknown | Mark::Pending | Mark::Paused | Mark::NoVote => Ink::Unknown,
            Mark::Maintenance => Ink::Maintenance,
            Mark::Quarantined => Ink::Quarantined,
        }
    }
}

impl Term {
    /// Looks at standard output and the environment.
    pub fn detect(options: TermOptions) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let columns = if terminal {
            rustix::termios::tcgetwinsize(std::io::stdout())
                .ok()
                .map(|size| usize::from(size.ws_col))
        } else {
            None
        };
        Self::decide(options, terminal, columns, |name| std::env::var(name).ok())
    }

    fn decide(
        options: TermOptions,
        terminal: bool,
        columns: Option<usize>,
        env: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        let asked = set("COLUMNS")
            .and_then(|text| text.trim().parse::<usize>().ok())
            .filter(|columns| *columns > 0);
        let color = match options.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                terminal && set("NO_COLOR").is_none() && set("TERM").as_deref() != Some("dumb")
            }
        };
        // Without any of the three nothing is known, and nearly every terminal of today reads UTF-8.
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
        let plain = locale.is_some_and(|name| {
            let name = name.to_ascii_lowercase();
            !name.contains("utf-8") && !name.contains("utf8")
        });
        Self {
            width: asked.or(columns.filter(|columns| *columns > 0)).unwrap_or(120).clamp(60, 120),
            color,
            ascii: options.ascii || plain,
            utc: options.utc,
        }
    }

    /// Neither colour nor symbols depend on the machine: for tests and snapshots.
    pub fn plain(width: usize) -> Self {
        Self { width, color: false, ascii: false, utc: true }
    }

    /// Wraps text in the ink's escape codes, or leaves it alone when there is no colour.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Dim | Ink::Unknown => "2",
            Ink::Bold => "1",
            Ink::Link => "4",
            Ink::Up => "36",
            Ink::Slow => "33",
            Ink::Partial => "31",
            Ink::Down => "1;31",
            Ink::Maintenance => "34",
            Ink::Quarantined => "35",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A painted mark.
    pub fn mark(&self, mark: Mark) -> String {
        self.paint(mark.ink(), &mark.symbol(self.ascii).to_string())
    }

    /// Replaces what the terminal cannot show. Every replacement is as wide as what it replaces, so
    /// that columns stay aligned.
    pub fn text(&self, text: &str) -> String {
        text.chars()
            .map(|c| match c {
                '\u{a0}' | '\u{202f}' => ' ',
                _ if !self.ascii || c.is_ascii() => c,
                '“' | '”' => '"',
                '’' | '‘' => '\'',
                '–' | '—' | '─' => '-',
                '…' | '·' => '.',
                '→' => '>',
                '×' => 'x',
                '█' | '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' => '#',
                '▁'..='▇' => char::from(b'0' + (u32::from(c) - 0x2580) as u8),
                '░' => '?',
                '▒' => ':',
                '│' | '├' | '┤' => '|',
                '●' => '+',
                '▲' => '~',
                '◧' => '%',
                '■' => 'X',
                '◌' => '?',
                '‖' => '=',
                '◇' => 'm',
                '⊘' => '/',
                '□' => 'x',
                '⊕' => '^',
                'δ' => 'd',
                'τ' => 't',
                '≥' => '>',
                '≤' => '<',
                '±' => '~',
                _ => '?',
            })
            .collect()
    }

    /// A rule under column heads.
    pub fn rule(&self, columns: usize) -> String {
        let line = if self.ascii { "-" } else { "─" }.repeat(columns);
        self.paint(Ink::Dim, &line)
    }

    /// A bar of so many eighths of a column.
    pub fn bar(&self, eighths: usize) -> String {
        if self.ascii {
            return "#".repeat(eighths.div_ceil(8));
        }
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or("");
        format!("{}{part}", "█".repeat(eighths / 8))
    }

    /// What is not known is hatched.
    pub fn hatch(&self, columns: usize) -> String {
        if self.ascii { "?" } else { "░" }.repeat(columns)
    }

    /// Writes a finished text to standard output. A reader that went away is not an error.
    pub fn print(&self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// Writes a line to standard error: progress, warnings, refusals.
    pub fn warn(&self, text: &str) {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(std::io::stderr().lock(), "{}", self.text(text));
    }

    /// The zone in which times are shown, named once per output.
    pub fn zone(&self) -> jiff::tz::TimeZone {
        if self.utc { jiff::tz::TimeZone::UTC } else { jiff::tz::TimeZone::system() }
    }
}

/// Columns that a text takes: one per character, since only such characters are printed.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at spaces into lines of at most `width` columns; a no-break space holds its
/// neighbours together, and a longer word stands alone on its line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Wraps to `width` with `first` before the first line and as many blanks before the others.
pub fn wrap_after(first: &str, text: &str, width: usize) -> String {
    let margin = columns(first);
    let lines = wrap(text, width.saturating_sub(margin).max(20));
    format!("{first}{}", lines.join(&format!("\n{}", " ".repeat(margin))))
}

/// Cuts a name in the middle: `checkout-production` in 10 columns is `check…tion`.
pub fn cut_middle(text: &str, width: usize) -> String {
    let count = columns(text);
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head: String = text.chars().take(kept.div_ceil(2)).collect();
    let tail: String = text.chars().skip(count - kept / 2).collect();
    format!("{head}…{tail}")
}

/// Pads on the right to `width` columns; what is longer stays whole.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Pads on the left, for numbers.
pub fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// `1310` as `1,310`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 location`, `3 locations`: a count with its noun.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count as u64), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(
        options: TermOptions,
        terminal: bool,
        columns: Option<usize>,
        env: &[(&str, &str)],
    ) -> Term {
        Term::decide(options, terminal, columns, |name| {
            env.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
        })
    }

    #[test]
    fn width_comes_from_the_terminal_within_bounds_and_from_columns_before_it() {
        let auto = TermOptions::default();
        assert_eq!(decide(auto, false, None, &[]).width, 120);
        assert_eq!(decide(auto, true, Some(200), &[]).width, 120);
        assert_eq!(decide(auto, true, Some(40), &[]).width, 60);
        assert_eq!(decide(auto, true, Some(100), &[("COLUMNS", "80")]).width, 80);
        assert_eq!(decide(auto, false, None, &[("COLUMNS", "")]).width, 120);
    }

    #[test]
    fn colour_needs_a_terminal_unless_it_was_asked_for() {
        let auto = TermOptions::default();
        assert!(!decide(auto, false, None, &[]).color);
        assert!(decide(auto, true, None, &[("NO_COLOR", "")]).color);
        assert!(!decide(auto, true, None, &[("NO_COLOR", "1")]).color);
        assert!(!decide(auto, true, None, &[("TERM", "dumb")]).color);
        let always = TermOptions { color: ColorChoice::Always, ..auto };
        assert!(decide(always, false, None, &[("NO_COLOR", "1")]).color);
        let never = TermOptions { color: ColorChoice::Never, ..auto };
        assert!(!decide(never, true, None, &[]).color);
    }

    #[test]
    fn the_locale_chooses_the_alphabet_and_the_first_set_variable_wins() {
        let auto = TermOptions::default();
        assert!(!decide(auto, true, None, &[]).ascii);
        assert!(decide(auto, true, None, &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).ascii);
        assert!(
            !decide(auto, true, None, &[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")])
                .ascii
        );
        assert!(
            decide(TermOptions { ascii: true, ..auto }, true, None, &[("LANG", "en_GB.utf8")])
                .ascii
        );
    }

    #[test]
    fn wrapping_breaks_at_spaces_only_and_keeps_numbers_with_their_units() {
        assert_eq!(wrap("seen within 10\u{a0}s by all", 14), ["seen within", "10\u{a0}s by all"]);
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("averyveryverylongword x", 5), ["averyveryverylongword", "x"]);
        assert_eq!(
            wrap_after("■ Fail  ", "one two three four five six seven", 30),
            "■ Fail  one two three four\n        five six seven"
        );
    }

    #[test]
    fn ascii_text_keeps_its_width() {
        let term = Term { ascii: true, ..Term::plain(80) };
        let line = "● “5 of 8” → 99.9\u{a0}% ± 0.1 ▁▇█░│ ü";
        let plain = term.text(line);
        assert!(plain.is_ascii());
        assert_eq!(columns(&plain), columns(line));
        assert!(plain.contains("17#?|"));
    }

    #[test]
    fn names_are_cut_in_the_middle_and_numbers_grouped() {
        assert_eq!(cut_middle("checkout-production", 10), "check…tion");
        assert_eq!(cut_middle("short", 10), "short");
        assert_eq!(thousands(1_310), "1,310");
        assert_eq!(thousands(999), "999");
        assert_eq!(counted(1, "location", "locations"), "1 location");
    }
}
