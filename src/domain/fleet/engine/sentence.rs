//! One sentence with numbers for each finding, in the words of the pages and the terminal.

use super::judge::Subject;
use super::marks::Mark;
use super::numbers::Numbers;
use super::outcome::Outcome;

/// What an outcome is called: `failed`, `answered 429 to`.
fn did(outcome: Outcome) -> String {
    match outcome {
        Outcome::Errors | Outcome::BlackHole => "failed".to_owned(),
        Outcome::Blank => "answered next to nothing to".to_owned(),
        Outcome::Latency => "was slow for".to_owned(),
        Outcome::Code(code) => format!("answered {code} to"),
    }
}

/// The whole sentence. `marks`: of one outcome, at least one; `window_s`: length of a window.
pub(super) fn sentence(marks: &[&Mark], window_s: u32) -> String {
    let Some(first) = marks.first() else { return String::new() };
    let outcome = first.outcome;
    let numbers = &first.numbers;
    match &first.subject {
        Subject::Shared => shared(outcome, numbers),
        Subject::Differs => differs(outcome, numbers),
        Subject::Pool => alone(outcome, numbers),
        Subject::Instance(_) if marks.len() > 1 => group(outcome, marks, window_s),
        Subject::Instance(name) => match outcome {
            Outcome::BlackHole => black_hole(name, first, window_s),
            Outcome::Latency => slow(name, first, window_s),
            _ => one(name, first, window_s),
        },
    }
}

fn one(name: &str, mark: &Mark, window_s: u32) -> String {
    let numbers = &mark.numbers;
    let on = numbers.route.as_ref().map(|route| format!(" for {route}")).unwrap_or_default();
    let mut told = format!(
        "{name} {} {} of {} {}{on} ({}{}); {} {} {} of the same routes. {}",
        did(mark.outcome),
        thousands(numbers.bad),
        thousands(numbers.attempts),
        if mark.outcome == Outcome::Blank { "GET requests" } else { "requests" },
        percent(numbers.share()),
        split(mark.outcome, numbers),
        peers(numbers.peers),
        did(mark.outcome),
        percent(numbers.expected),
        certainty(mark, window_s),
    );
    if numbers.wrong_code {
        told.push_str(
            " Its peers serve the same requests, so this may be a failure of its own under the wrong \
             code.",
        );
    }
    told.push_str(habit(mark));
    told
}

fn slow(name: &str, mark: &Mark, window_s: u32) -> String {
    let numbers = &mark.numbers;
    let on = numbers.route.as_ref().map(|route| format!(" for {route}")).unwrap_or_default();
    format!(
        "{name} is slow{on}: p90 {}, {} {} on the same routes; {} of its {} requests took longer than \
         nine tenths of theirs. {}{}",
        millis(numbers.p90_us),
        peers(numbers.peers),
        millis(numbers.peers_p90_us),
        percent(numbers.share()),
        thousands(numbers.attempts),
        certainty(mark, window_s),
        habit(mark),
    )
}

fn black_hole(name: &str, mark: &Mark, window_s: u32) -> String {
    let numbers = &mark.numbers;
    let part = numbers.part.unwrap_or(Outcome::Errors);
    format!(
        "{name} is bad, quick about it and draws traffic: it {} {} of {} requests ({}), {} {}; its median \
         is {}, theirs {}, and it gets × {:.1} of the requests of each of them. {}{}",
        did(part),
        thousands(numbers.bad),
        thousands(numbers.attempts),
        percent(numbers.share()),
        peers(numbers.peers),
        percent(numbers.expected),
        millis(numbers.p50_us),
        millis(numbers.peers_p50_us),
        numbers.traffic.unwrap_or_default(),
        certainty(mark, window_s),
        habit(mark),
    )
}

fn group(outcome: Outcome, marks: &[&Mark], window_s: u32) -> String {
    let all = marks.iter().map(|mark| mark.numbers.instances).max().unwrap_or_default();
    let verb = match outcome {
        Outcome::Latency => "are slow",
        Outcome::BlackHole => "are bad, quick about it and draw traffic",
        _ => "differ from the others",
    };
    let each = marks.iter().map(|mark| {
        let numbers = &mark.numbers;
        let name = mark.instance().unwrap_or_default();
        match outcome {
            Outcome::Latency => format!("{name} has p90 {}", millis(numbers.p90_us)),
            _ => format!(
                "{name} {} {} of {} requests ({})",
                did(numbers.part.unwrap_or(outcome)),
                thousands(numbers.bad),
                thousands(numbers.attempts),
                percent(numbers.share())
            ),
        }
    });
    let each: Vec<String> = each.collect();
    let Some(first) = marks.first() else { return String::new() };
    let numbers = &first.numbers;
    let others = match outcome {
        Outcome::Latency => millis(numbers.peers_p90_us),
        _ => format!("{} of the same routes", percent(numbers.expected)),
    };
    let peers = if numbers.peers == 1 {
        "the other one".to_owned()
    } else {
        format!("the other {}", numbers.peers)
    };
    format!(
        "{} of {} instances {verb}: {}; {peers}: {others}. {}",
        marks.len(),
        all.max(marks.len()),
        each.join(", "),
        certainty(first, window_s)
    )
}

fn shared(outcome: Outcome, numbers: &Numbers) -> String {
    let whom = if numbers.elevated >= numbers.instances {
        format!("all {} instances", numbers.instances)
    } else {
        format!("{} of {} instances", numbers.elevated, numbers.instances)
    };
    if outcome == Outcome::Latency {
        return format!(
            "Something shared is slow: {whom} became slow alike, p90 {}, {} before; {} of {} requests \
             took longer than nine tenths did before. No instance is blamed.",
            millis(numbers.p90_us),
            millis(numbers.peers_p90_us),
            percent(numbers.share()),
            thousands(numbers.attempts),
        );
    }
    format!(
        "Something shared is failing: {whom} {} {} of {} requests alike ({}{}), {} before.{} No instance \
         is blamed.",
        did(outcome),
        thousands(numbers.bad),
        thousands(numbers.attempts),
        percent(numbers.share()),
        split(outcome, numbers),
        percent(numbers.expected),
        mostly(numbers),
    )
}

fn differs(outcome: Outcome, numbers: &Numbers) -> String {
    let each = numbers.each.iter().map(|(name, n, e)| {
        let share = super::grid::share((*n, *e));
        format!(
            "{name} {} {} of {} requests ({})",
            did(outcome),
            thousands(*e),
            thousands(*n),
            percent(share)
        )
    });
    let each: Vec<String> = each.collect();
    format!("{}. With two instances nothing says which of them is unusual.", each.join(", "))
}

fn alone(outcome: Outcome, numbers: &Numbers) -> String {
    let name = numbers.each.first().map(|(name, ..)| name.as_str()).unwrap_or_default();
    let (now, before) = match outcome {
        Outcome::Latency => (
            format!("has p90 {}", millis(numbers.p90_us)),
            format!("{} before", millis(numbers.peers_p90_us)),
        ),
        _ => (
            format!(
                "{} {} of {} requests ({}{})",
                did(outcome),
                thousands(numbers.bad),
                thousands(numbers.attempts),
                percent(numbers.share()),
                split(outcome, numbers)
            ),
            format!("{} before", percent(numbers.expected)),
        ),
    };
    format!("{name} {now}, {before}. It is alone: there is no peer to compare it with.")
}

/// The health checks that do not see what users see.
pub(super) fn contradiction(marks: &[&Mark]) -> String {
    let each = marks.iter().map(|mark| {
        let all = mark.probes.passed + mark.probes.failed;
        format!(
            "{} passes {} of {} health checks and {} {} of its requests",
            mark.instance().unwrap_or_default(),
            thousands(mark.probes.passed),
            thousands(all),
            did(mark.numbers.part.unwrap_or(mark.outcome)),
            percent(mark.numbers.share()),
        )
    });
    let each: Vec<String> = each.collect();
    format!("{}: the check does not see the fault, so the traffic stays.", each.join("; "))
}

/// How the failures divide; nothing when they are all of one obvious kind.
fn split(outcome: Outcome, numbers: &Numbers) -> String {
    if outcome != Outcome::Errors {
        return String::new();
    }
    let parts = [
        (numbers.status, "5xx"),
        (numbers.connect, "no connection"),
        (numbers.timeout, "no answer in time"),
        (numbers.reset, "broken answer"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} {what}", thousands(*count))).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

fn mostly(numbers: &Numbers) -> String {
    match numbers.routes.first() {
        Some(first) if first.bad * 2 > numbers.bad && numbers.routes.len() > 1 => format!(
            " {} of it on {}.",
            percent(first.bad as f64 / numbers.bad.max(1) as f64),
            first.route
        ),
        _ => String::new(),
    }
}

fn habit(mark: &Mark) -> &'static str {
    if mark.chronic {
        " It has been like this all day."
    } else if mark.numbers.warming {
        " It is new or came back just now."
    } else {
        ""
    }
}

fn peers(count: usize) -> String {
    if count == 1 { "its one peer".to_owned() } else { format!("its {count} peers") }
}

fn certainty(mark: &Mark, window_s: u32) -> String {
    format!("Chance of that: {}; {}.", chance(mark.numbers.p), lasted(mark, window_s))
}

fn chance(p: f64) -> String {
    if p < 1e-6 {
        return "below 1 in a million".to_owned();
    }
    let odds = (1.0 / p).max(1.0);
    let digits = 10_f64.powf(odds.log10().floor() - 1.0).max(1.0);
    format!("1 in {}", thousands(((odds / digits).round() * digits) as u64))
}

/// `2 of 3 minutes`, `1 of 3 windows of 5 s`.
fn lasted(mark: &Mark, window_s: u32) -> String {
    let length = u64::from(window_s) * u64::from(mark.numbers.span.max(1));
    let hits = mark.windows;
    match length {
        60 => format!("{hits} of 3 minutes"),
        s if s % 60 == 0 => format!("{hits} of 3 windows of {}\u{a0}min", s / 60),
        s => format!("{hits} of 3 windows of {s}\u{a0}s"),
    }
}

/// `19 %`, `0.6 %`; whole numbers from ten on, and 100 only when it is all.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 {
        let whole = if share >= 1.0 { 100.0 } else { percent.round().min(99.0) };
        return format!("{whole:.0}\u{a0}%");
    }
    if percent >= 0.095 || percent == 0.0 {
        return format!("{percent:.1}\u{a0}%");
    }
    "under 0.1\u{a0}%".to_owned()
}

fn millis(us: Option<f64>) -> String {
    match us {
        None => "unknown".to_owned(),
        Some(us) if us < 9_950.0 => format!("{:.1}\u{a0}ms", us / 1_000.0),
        Some(us) => format!("{}\u{a0}ms", thousands((us / 1_000.0).round() as u64)),
    }
}

pub(in crate::domain::fleet) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
