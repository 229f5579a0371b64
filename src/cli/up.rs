//! `quorate up` in the terminal: what it did, where to go, and what was cut off.

use std::{fmt::Write, path::Path, process::ExitCode, time::Duration};

use jiff::SignedDuration;

use super::term::{Ink, Term, TermOptions, counted, pad, thousands, wrap};
use crate::{
    clock::Clock,
    config::UpConfig,
    up::{self, Started, Stopped, postgres::Before},
};

/// Column in which the time that a step took ends.
const TOOK: usize = 74;

/// Runs everything until a signal comes. 0 after a stop that was asked for, 3 if it could not start.
pub async fn run(config: UpConfig, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    let ended = up::run(config, Clock::corrected(), |started| {
        show(&term, &draw_start(&term, started, env!("CARGO_PKG_VERSION")))
    });
    match ended.await {
        Ok(stopped) => {
            show(&term, &draw_stop(&term, &stopped));
            ExitCode::SUCCESS
        }
        Err(error) => {
            term.warn(&format!("quorate up: {}", crate::process::log::reasons(&error)));
            ExitCode::from(3)
        }
    }
}

fn show(term: &Term, text: &str) {
    if let Err(error) = term.print(text) {
        term.warn(&format!("quorate up: cannot write to standard output: {error}"));
    }
}

/// The page that a start prints.
fn draw_start(term: &Term, started: &Started, version: &str) -> String {
    let mut page = format!("Quorate {version}, everything on this machine\n\n");
    let mut line = |label: &str, text: &str, took: Option<Duration>| {
        let label = term.paint(Ink::Dim, &pad(label, 10));
        let took = took.map(|took| format!("{:>8}", seconds(took))).unwrap_or_default();
        let text = if took.is_empty() { text.to_owned() } else { pad(text, TOOK - 13 - 8) };
        let _ = writeln!(page, "  {label} {}{}", term.text(&text), term.text(&took));
    };
    line("data", &data(started), None);
    line("database", database(started), Some(started.database_took));
    let (schema, took) = schema(started);
    line("schema", &schema, took.then_some(started.schema_took));
    line("listening", started.url.as_str().trim_end_matches('/'), Some(started.listening_took));
    line("locations", &locations(started), None);
    page.push('\n');
    if let Some(link) = &started.sign_in {
        let link = term.paint(Ink::Link, link.as_str());
        let _ = writeln!(page, "Sign in, once, within 24 h:\n\n  {link}\n");
        let file = term.paint(Ink::Link, &started.admin_token.display().to_string());
        let _ = writeln!(page, "API token for scripts, admin: {file}");
    }
    if started.channels == 0 {
        let blame = term.paint(Ink::Slow, "nobody would be told");
        let missing = if started.mail { "No channel" } else { "No mail server, no channel" };
        let _ = writeln!(page, "{missing} yet: {blame}. The page shows how.");
    }
    if started.monitors > 0
        && let Some(gap) = started.gap
    {
        let mut text = format!(
            "Not running for {}. That time is unknown in every figure; nobody is alerted for it.",
            span(gap)
        );
        if started.first_verdicts_s > 0 {
            let _ = write!(text, " First verdicts within {}\u{a0}s.", started.first_verdicts_s);
        }
        let text = wrap(&text, term.width).join("\n");
        let _ = writeln!(page, "{}", term.text(&text));
    }
    let ready = format!("Ready after {}.", seconds(started.took));
    let _ = writeln!(page, "\n{} Ctrl-C stops it; the data stays.", term.text(&ready));
    page
}

fn draw_stop(term: &Term, stopped: &Stopped) -> String {
    let text = if stopped.cut_off {
        "Stopped without waiting for everything. Nothing that was accepted is lost.".to_owned()
    } else {
        let count = usize::try_from(stopped.notices).unwrap_or(0);
        let notices = counted(count, "notice", "notices");
        let done = format!("Stopping: agents told, {notices} settled, database closed.");
        format!("{}{:>8}", pad(&done, TOOK - 8), seconds(stopped.took))
    };
    // On a line of its own, below the ^C that the terminal wrote.
    format!("\n{}\n", term.text(&text))
}

fn data(started: &Started) -> String {
    let mut text = display(&started.dir);
    if started.monitors > 0 {
        let count = usize::try_from(started.monitors).unwrap_or(0);
        let _ = write!(text, ", {}", counted(count, "monitor", "monitors"));
        let days = started.age.map_or(0, |age| usize::try_from(age.as_hours() / 24).unwrap_or(0));
        if days > 0 {
            let _ = write!(text, ", {}", counted(days, "day", "days"));
        }
    }
    text
}

fn database(started: &Started) -> &'static str {
    match started.database {
        Some(Before::New) => "started, on a local socket, not on the network",
        Some(Before::Stopped) => "started, last stop was clean",
        Some(Before::CutOff) => "started, recovered after it was cut off",
        None => "connected, the one that QUORATE_DATABASE_URL names",
    }
}

/// Whether there was anything to do, too.
fn schema(started: &Started) -> (String, bool) {
    let steps = counted(started.schema.taken, "step", "steps");
    match (started.schema.before, started.schema.taken) {
        (_, 0) => ("up to date".to_owned(), false),
        (0, _) => (format!("created, {steps}"), true),
        _ => (format!("brought up to date, {steps}"), true),
    }
}

fn locations(started: &Started) -> String {
    let simulated = started.simulated.join(", ");
    let elsewhere = started.elsewhere.join(", ");
    match (simulated.is_empty(), elsewhere.is_empty()) {
        (true, true) => "none yet; the page shows how to add one".to_owned(),
        (false, true) => format!("{simulated}: simulated, all on this machine"),
        (true, false) => format!("{elsewhere}: elsewhere"),
        (false, false) => format!("{simulated}: simulated · {elsewhere}: elsewhere"),
    }
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

/// `1.9 s`, with a space that does not break.
fn seconds(took: Duration) -> String {
    format!("{:.1}\u{a0}s", took.as_secs_f64())
}

/// `6 min 12 s`, `3 h 5 min`, `2 days 4 h`: the two largest units.
fn span(span: SignedDuration) -> String {
    let all = span.as_secs().unsigned_abs();
    let (days, hours, minutes, secs) = (all / 86_400, all / 3_600 % 24, all / 60 % 60, all % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{secs}\u{a0}s"),
        (0, 0, _) => format!("{minutes}\u{a0}min {secs}\u{a0}s"),
        (0, _, _) => format!("{hours}\u{a0}h {minutes}\u{a0}min"),
        (1, _, _) => format!("1\u{a0}day {hours}\u{a0}h"),
        _ => format!("{}\u{a0}days {hours}\u{a0}h", thousands(days)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Migrated;

    fn first() -> Started {
        Started {
            dir: "/home/user/.local/share/quorate".into(),
            database: Some(Before::New),
            database_took: Duration::from_millis(1_900),
            schema: Migrated { before: 0, taken: 42 },
            schema_took: Duration::from_millis(600),
            url: "http://127.0.0.1:8080/".parse().unwrap(),
            listening_took: Duration::from_millis(100),
            simulated: ["eu-sim", "us-sim", "ap-sim"].map(str::to_owned).to_vec(),
            elsewhere: Vec::new(),
            monitors: 0,
            channels: 0,
            mail: false,
            age: None,
            gap: None,
            first_verdicts_s: 0,
            sign_in: Some("http://127.0.0.1:8080/setup/qrl_1fK9s-Qm27vTbX0c".parse().unwrap()),
            admin_token: "/home/user/.local/share/quorate/admin.token".into(),
            took: Duration::from_millis(2_800),
        }
    }

    fn again() -> Started {
        Started {
            database: Some(Before::Stopped),
            schema: Migrated { before: 42, taken: 0 },
            elsewhere: vec!["fra".to_owned(), "iad".to_owned()],
            monitors: 212,
            channels: 2,
            mail: true,
            age: Some(SignedDuration::from_hours(41 * 24 + 3)),
            gap: Some(SignedDuration::from_secs(372)),
            first_verdicts_s: 150,
            sign_in: None,
            ..first()
        }
    }

    #[test]
    fn a_first_start() {
        insta::assert_snapshot!(draw_start(&Term::plain(80), &first(), "1.0.0"));
    }

    #[test]
    fn a_later_start() {
        insta::assert_snapshot!(draw_start(&Term::plain(80), &again(), "1.0.0"));
    }

    #[test]
    fn a_stop() {
        let stopped = Stopped { notices: 3, took: Duration::from_millis(900), cut_off: false };
        insta::assert_snapshot!(draw_stop(&Term::plain(80), &stopped));
        let cut_off = Stopped { cut_off: true, ..stopped };
        assert!(
            draw_stop(&Term::plain(80), &cut_off).contains("Nothing that was accepted is lost")
        );
    }

    #[test]
    fn ascii_has_no_other_characters() {
        let term = Term { ascii: true, ..Term::plain(80) };
        assert!(draw_start(&term, &again(), "1.0.0").is_ascii());
    }

    #[test]
    fn spans_have_two_units() {
        let text = |secs| span(SignedDuration::from_secs(secs)).replace('\u{a0}', " ");
        assert_eq!(text(42), "42 s");
        assert_eq!(text(372), "6 min 12 s");
        assert_eq!(text(3 * 3_600 + 300), "3 h 5 min");
        assert_eq!(text(86_400), "1 day 0 h");
        assert_eq!(text(2 * 86_400 + 4 * 3_600), "2 days 4 h");
    }
}
