//! The sentence that explains a decision: what; how many of how many that count; how many are needed;
//! what failing locations share that the others lack; who is not counted and why. Mail, chat, page and
//! terminal say the same.

mod event;

use super::scope::{self, Attribute, Shared};
use super::state::State;
use super::verdict::{Counted, Raw, Verdict, counted};
use super::vote::VoteState;
use super::{Inputs, Live, Seat, Standing, Step};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;

pub use self::event::event_detail;

/// Why this tick decided as it did: the whole sentence for a transition, a short one when it was
/// decided to stay.
pub(super) fn why(live: &Live, inputs: &Inputs<'_>, step: &Step) -> String {
    let moved = step.state_change.is_some() || !step.events.is_empty();
    if moved {
        sentence(live, inputs, &step.verdict, step.at, &utc)
    } else {
        stays(live, inputs, &step.verdict)
    }
}

/// `Stays up: one location failed once; 3 are needed.`
pub fn stays(live: &Live, inputs: &Inputs<'_>, verdict: &Verdict) -> String {
    format!("Stays {}: {}.", live.state.name(), reason(live, inputs, verdict))
}

/// The short reason, without a full stop: `1 is down, 3 are needed`.
pub fn reason(live: &Live, inputs: &Inputs<'_>, v: &Verdict) -> String {
    let now = live.folded_at;
    match v.raw {
        Raw::Insufficient => format!("{}, {} needed", only_count(v), are(v.emin)),
        Raw::Undecided | Raw::Up if v.d >= 2 && on_few_networks(v, inputs) => {
            format!(
                "{} see it fail, but on {} only; {} are needed",
                v.d,
                networks(inputs, &v.down),
                v.nd
            )
        }
        Raw::Undecided | Raw::Up if v.d > 0 => format!("{} down, {} needed", are(v.d), are(v.q)),
        Raw::Undecided | Raw::Up => quiet_reason(live, inputs, v, now),
        Raw::Partial if v.d >= v.q => {
            format!(
                "{} of {} see it fail, but in {} only; {} are needed",
                v.d,
                v.e,
                regions(inputs, &v.down),
                v.nr
            )
        }
        Raw::Partial => format!("{} of {} see it fail, {} needed for down", v.d, v.e, are(v.q)),
        Raw::DownLow => {
            format!("all {} that count see it fail, but {}", v.e, low_because(v, inputs))
        }
        Raw::Down => format!("{} of {} see it fail, {} needed", v.d, v.e, are(v.q)),
        Raw::DegradedSlow => format!("{} of {} find it slow, {} needed", v.slow, v.e, are(v.qu)),
        Raw::DegradedIntermittent => {
            "a fifth of the attempts or more fail, at most locations, in short runs".to_owned()
        }
    }
}

/// The hold that runs, if any: `up at 528 if that lasts`. A split is not announced: it nearly always
/// ends in seconds.
pub fn hold(
    live: &Live,
    inputs: &Inputs<'_>,
    v: &Verdict,
    clock: &dyn Fn(Millis) -> String,
) -> Option<String> {
    let hold = super::wake::hold(live, inputs, v).filter(|_| v.raw != Raw::Undecided)?;
    (hold.due > live.folded_at)
        .then(|| format!("{} at {} if that lasts", hold.toward.name(), clock(hold.due)))
}

/// Nobody is down.
fn quiet_reason(live: &Live, inputs: &Inputs<'_>, v: &Verdict, now: Millis) -> String {
    let suspects: Vec<Counted<'_>> =
        counted(live, inputs, now).filter(|c| c.vote.state == VoteState::Suspect).collect();
    let recovering =
        counted(live, inputs, now).filter(|c| c.vote.state == VoteState::Recovering).count();
    match suspects.as_slice() {
        [] if recovering > 0 => format!(
            "{} passing again, not yet {} in a row",
            are(recovering),
            times(inputs.policy.pass_after)
        ),
        [] if v.u < v.e => format!("{} of {} see it up, {} needed", v.u, v.e, are(v.qu)),
        [] => format!("{} of {} see it up", v.u, v.e),
        [one] => format!("one location failed {}; {} needed", times(one.vote.fails), are(v.q)),
        _ => format!("nobody has failed {} in a row", times(inputs.policy.fail_after)),
    }
}

/// The verdict as a line for the terminal, with the numbers it rests on.
pub fn headline(live: &Live, inputs: &Inputs<'_>, step: &Step) -> String {
    let v = &step.verdict;
    let policy = inputs.policy;
    let Some(change) = step.state_change else { return reason(live, inputs, v) };
    let held = |hold: Millis, name: &str| format!("{name} {}", span(hold));
    match change.to {
        State::Down if v.raw == Raw::Down => format!(
            "{} of {}, on {} ({}; {} needed), {}",
            v.d,
            v.e,
            count(labels(inputs, &v.down, |seat| &seat.domain).len(), "network", "networks"),
            labels(inputs, &v.down, |seat| &seat.domain).join(" "),
            are(v.nd),
            held(policy.confirm_for, "confirm_for")
        ),
        State::Down => {
            format!("{}, {}", reason(live, inputs, v), held(policy.down_low_hold, "for"))
        }
        State::Partial if v.raw == Raw::Undecided => {
            format!("{}, undecided {}", reason(live, inputs, v), held(policy.split_for, "for"))
        }
        State::Partial if change.from != State::Down => {
            format!("{}, {}", reason(live, inputs, v), held(policy.partial_hold, "for"))
        }
        State::Unknown => format!("{}, {}", reason(live, inputs, v), held(policy.blind_for, "for")),
        State::Up if matches!(change.from, State::Pending | State::Unknown) => {
            reason(live, inputs, v)
        }
        State::Up | State::Partial | State::Degraded if change.from > change.to => {
            format!("{}, {}", reason(live, inputs, v), held(policy.recover_for, "recover_for"))
        }
        _ => reason(live, inputs, v),
    }
}

/// The whole sentence. `clock` writes an instant in the reader's zone.
pub fn sentence(
    live: &Live,
    inputs: &Inputs<'_>,
    v: &Verdict,
    now: Millis,
    clock: &dyn Fn(Millis) -> String,
) -> String {
    let mut parts = vec![verdict_part(live, inputs, v, now, clock)];
    if v.d > 0 && v.d < v.e {
        parts.extend(shared_part(live, inputs, v, now));
    }
    parts.extend(uncounted_part(live, inputs, now));
    if v.in_doubt {
        parts.push(
            "More locations are in doubt than may be set aside, so all of them count.".to_owned(),
        );
    }
    parts.join(" ")
}

fn verdict_part(
    live: &Live,
    inputs: &Inputs<'_>,
    v: &Verdict,
    now: Millis,
    clock: &dyn Fn(Millis) -> String,
) -> String {
    let locations = count(v.e, "location", "locations");
    match (live.state, v.raw) {
        (State::Paused, _) => "Paused by hand.".to_owned(),
        (State::Partial | State::Down, Raw::Insufficient) => format!(
            "{}, {} needed. It stays {} since {}, on what was seen last.",
            capital(&only_count(v)),
            are(v.emin),
            live.state.name(),
            clock(live.since)
        ),
        (state, Raw::Insufficient) => {
            let last =
                if state == State::Unknown { (live.before, live.since) } else { (state, now) };
            let known = if last.0 == State::Pending {
                "Nothing is known yet.".to_owned()
            } else {
                format!("It was {} until {}.", last.0.name(), clock(last.1))
            };
            format!("{}, {} needed. {known}", capital(&only_count(v)), are(v.emin))
        }
        (_, Raw::Down) => format!("{} of {locations} see it fail, {} needed.", v.d, are(v.q)),
        (_, Raw::DownLow) => {
            format!("All {locations} that count see it fail, but {}.", low_because(v, inputs))
        }
        (_, Raw::Partial) if v.d >= v.q => format!(
            "{} of {locations} see it fail, all in {}; {} regions are needed for down.",
            v.d,
            regions(inputs, &v.down),
            v.nr
        ),
        (_, Raw::Partial) => {
            format!("{} of {locations} see it fail, {} needed for down.", v.d, are(v.q))
        }
        (_, Raw::DegradedSlow) => {
            format!("{} of {locations} find it slow, {} needed.", v.slow, are(v.qu))
        }
        (_, Raw::DegradedIntermittent) => {
            format!("It fails now and then: {}.", reason(live, inputs, v))
        }
        (_, Raw::Up) if v.d == 0 => {
            format!("{} of {locations} see it up, {} needed.", v.u, are(v.qu))
        }
        (_, Raw::Up | Raw::Undecided) if v.d == 1 => {
            format!("Only {} sees it fail, {} needed.", names(inputs, &v.down), are(v.q))
        }
        (_, Raw::Up | Raw::Undecided) if v.d > 1 && on_few_networks(v, inputs) => format!(
            "{} see it fail, but all on {}; {} networks are needed.",
            names(inputs, &v.down),
            networks(inputs, &v.down),
            v.nd
        ),
        (_, Raw::Up | Raw::Undecided) if v.d > 1 => {
            format!("{} of {locations} see it fail, {} needed.", v.d, are(v.q))
        }
        (_, Raw::Up | Raw::Undecided) => format!("Undecided: {}.", reason(live, inputs, v)),
    }
}

/// `All four reached 203.0.113.10; sjc, which passes, reached 203.0.113.74.`
fn shared_part(live: &Live, inputs: &Inputs<'_>, v: &Verdict, now: Millis) -> Option<String> {
    let shared = scope::shared(live, inputs, now).into_iter().next()?;
    let all = match v.d {
        1 => "It".to_owned(),
        2 => "Both".to_owned(),
        many => format!("All {}", number_word(many)),
    };
    let verb = |attribute| match attribute {
        Attribute::Address => "reached",
        Attribute::Asn | Attribute::Pop => "reached the edge",
        Attribute::Region => "in",
        Attribute::Domain => "on",
    };
    let Shared { attribute, value, others } = shared;
    match attribute {
        Attribute::Region | Attribute::Domain if v.d < 2 => None,
        Attribute::Region | Attribute::Domain => {
            Some(format!("{all} are {} {value}, and nobody who passes is.", verb(attribute)))
        }
        _ => {
            let known: Vec<(LocationKey, &String)> = others
                .iter()
                .filter_map(|(location, other)| Some((*location, other.as_ref()?)))
                .collect();
            let tail = match known.as_slice() {
                [] => ".".to_owned(),
                [(location, other)] => format!(
                    "; {}, which passes, reached {other}.",
                    seat(inputs, *location).map_or("another", |seat| &seat.name)
                ),
                [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => {
                    let passing: Vec<LocationKey> =
                        known.iter().map(|(location, _)| *location).collect();
                    format!("; {}, which pass, reached {first}.", names(inputs, &passing))
                }
                _ => "; nobody who passes did.".to_owned(),
            };
            Some(format!("{all} {} {value}{tail}", verb(attribute)))
        }
    }
}

/// `fra and syd are not counted: quarantined.`
fn uncounted_part(live: &Live, inputs: &Inputs<'_>, now: Millis) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<LocationKey>)> = Vec::new();
    for seat in inputs.seats {
        if let Some(reason) = uncounted(live, inputs, seat, now) {
            match reasons.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, locations)) => locations.push(seat.key),
                None => reasons.push((reason, vec![seat.key])),
            }
        }
    }
    reasons
        .into_iter()
        .map(|(reason, locations)| {
            let is = if locations.len() == 1 { "is" } else { "are" };
            format!("{} {is} not counted: {reason}.", names(inputs, &locations))
        })
        .collect()
}

/// Why a location's vote does not count now; none when it does.
pub fn uncounted(
    live: &Live,
    inputs: &Inputs<'_>,
    seat: &Seat,
    now: Millis,
) -> Option<&'static str> {
    match seat.standing {
        Standing::Disabled => Some("switched off"),
        Standing::Quarantined => Some("quarantined, since it fails its own checks"),
        Standing::Distrusted => Some("distrusted by hand"),
        Standing::Divergent => Some("alone in its view for a day"),
        Standing::Counted => match live.vote(seat.key) {
            None => Some("not heard from yet"),
            Some(vote) if now > vote.fresh_until(inputs.policy.stale_after, inputs.grace_until) => {
                Some("silent for too long")
            }
            Some(_) => None,
        },
    }
}

fn only_count(v: &Verdict) -> String {
    match v.e {
        0 => format!("none of {} counts", count(v.n, "location", "locations")),
        1 => format!("only 1 of {} counts", count(v.n, "location", "locations")),
        e => format!("only {e} of {} count", count(v.n, "location", "locations")),
    }
}

fn low_because(v: &Verdict, inputs: &Inputs<'_>) -> String {
    if v.e < v.emin {
        format!("{} needed", are(v.emin))
    } else {
        format!("all are on {}; {} networks are needed to be sure", networks(inputs, &v.down), v.nd)
    }
}

fn on_few_networks(v: &Verdict, inputs: &Inputs<'_>) -> bool {
    labels(inputs, &v.down, |seat| &seat.domain).len() < v.nd
}

fn networks(inputs: &Inputs<'_>, locations: &[LocationKey]) -> String {
    labels(inputs, locations, |seat| &seat.domain).join(" and ")
}

fn regions(inputs: &Inputs<'_>, locations: &[LocationKey]) -> String {
    labels(inputs, locations, |seat| &seat.region).join(" and ")
}

fn labels<'a>(
    inputs: &Inputs<'a>,
    locations: &[LocationKey],
    label: impl Fn(&'a Seat) -> &'a str,
) -> Vec<&'a str> {
    let mut labels: Vec<&str> =
        inputs.seats.iter().filter(|seat| locations.contains(&seat.key)).map(label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn seat<'a>(inputs: &Inputs<'a>, location: LocationKey) -> Option<&'a Seat> {
    inputs.seats.iter().find(|seat| seat.key == location)
}

/// `a`, `a and b`, `a, b and c`, `a, b, c, d and 4 more`.
fn names(inputs: &Inputs<'_>, locations: &[LocationKey]) -> String {
    let all: Vec<&str> = locations
        .iter()
        .map(|location| seat(inputs, *location).map_or("a removed location", |seat| &seat.name))
        .collect();
    match all.as_slice() {
        [] => "nobody".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] if all.len() <= 5 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", all.get(..4).unwrap_or_default().join(", "), all.len() - 4),
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `1 is`, `3 are`.
fn are(number: usize) -> String {
    format!("{number} {}", if number == 1 { "is" } else { "are" })
}

fn times(number: u32) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{many} times"),
    }
}

fn number_word(number: usize) -> String {
    const WORDS: [&str; 11] = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    number
        .checked_sub(2)
        .and_then(|at| WORDS.get(at))
        .map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

/// The text with a capital first letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `0 s`, `90 s` as `1 min 30 s`, `2 h`; no-break spaces before units.
pub fn span(millis: Millis) -> String {
    let secs = millis / 1000;
    if millis % 1000 != 0 && secs < 60 {
        return format!("{:.1}\u{a0}s", millis as f64 / 1000.0);
    }
    let parts =
        [(secs / 86_400, "d"), (secs / 3600 % 24, "h"), (secs / 60 % 60, "min"), (secs % 60, "s")];
    let Some(first) = parts.iter().position(|(number, _)| *number > 0) else {
        return "0\u{a0}s".to_owned();
    };
    let shown: Vec<String> = parts
        .iter()
        .skip(first)
        .take(2)
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}\u{a0}{unit}"))
        .collect();
    shown.join(" ")
}

/// An instant in UTC, for where the reader's zone is not known.
pub fn utc(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at).map_or_else(
        |_| at.to_string(),
        |instant| instant.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}
