//! The trace of a scenario as a table for people.

use serde_json::Value;

use super::differences;
use super::scenario::{Case, File, Outcomes, Scenario};
use crate::cli::term::{
    Ink, Mark, Term, columns, counted, cut_middle, pad, pad_left, wrap, wrap_after,
};
use crate::domain::Millis;
use crate::domain::decision::{
    Disposition, FirstKind, HistoryOnly, Live, Raw, Seen, Standing, State, Step, VoteState, explain,
};
use crate::domain::ids::LocationKey;
use crate::domain::observation::Outcome;

/// A scenario drawn, and whether it gives what it expects. `index` counts from 0.
pub(super) fn draw(scenario: &Scenario, index: usize, of: usize, term: &Term) -> (String, bool) {
    let mut table = Table::of(scenario);
    let outcomes = scenario.replay(|live, step, seen| table.tick(live, step, seen));
    table.end(scenario.until);
    let mut text = head(scenario, index, of, term);
    text.push_str(&table.draw(term));
    text.push('\n');
    let (tail, holds) = tail(scenario, index, &outcomes, term);
    text.push_str(&tail);
    (text, holds)
}

/// `vector 5`; the number in the file where it has no id.
pub(super) fn label(scenario: &Scenario, index: usize) -> String {
    match &scenario.id {
        Value::Null => (index + 1).to_string(),
        Value::String(id) => id.clone(),
        id => id.to_string(),
    }
}

/// How many hold, and which do not.
pub(super) fn closing(file: &File, differing: &[String], failed: &[&Case], term: &Term) -> String {
    let mut text = String::new();
    for case in failed {
        let line = format!("{}: expected {}, got {}", case.name, case.expected, case.got);
        text.push_str(&format!("{} {}\n", term.mark(Mark::Down), term.text(&line)));
    }
    if !file.cases.is_empty() {
        text.push_str(&format!(
            "{}: {} hold.\n",
            counted(file.cases.len(), "function case", "function cases"),
            file.cases.len() - failed.len()
        ));
    }
    let expected = file.scenarios.iter().filter(|scenario| scenario.expect.is_some()).count();
    let all = counted(file.scenarios.len(), "vector", "vectors");
    let holding = expected - differing.len();
    let holds = if holding == 1 { "holds" } else { "hold" };
    let line = match differing {
        _ if expected == 0 => format!("{all}, without expectations."),
        [] => format!("{all}: {holding} {holds}."),
        [one] => format!("{all}: {holding} {holds}, 1 differs ({one}). First difference above."),
        [first, ..] => format!(
            "{all}: {holding} {holds}, {} differ ({}). The first is {first}.",
            differing.len(),
            differing.join(", ")
        ),
    };
    text.push_str(&wrap(&line, term.width).join("\n"));
    text.push('\n');
    text
}

fn head(scenario: &Scenario, index: usize, of: usize, term: &Term) -> String {
    let id = label(scenario, index);
    let place = (index + 1).to_string();
    let number = if id == place {
        format!("vector {id} of {of}")
    } else {
        format!("vector {id}, {place} of {of}")
    };
    let title = if scenario.title.is_empty() {
        number
    } else {
        format!("{number}, “{}”", scenario.title)
    };
    let facts = format!(
        "rule {}, {}, every {}",
        crate::domain::decision::RULE_VERSION,
        counted(scenario.seats.len(), "location", "locations"),
        rhythm(scenario.policy.interval)
    );
    let mut text = if columns(&title) + columns(&facts) + 2 <= term.width.min(100) {
        format!("{}{facts}\n", pad(&title, 40.max(columns(&title) + 2)))
    } else {
        format!("{title}\n{}{facts}\n", " ".repeat(10))
    };
    let keys = keys(scenario);
    let seats = scenario.seats.iter().zip(&keys).map(|(seat, key)| {
        let name = if *key == seat.name { key.clone() } else { format!("{key} = {}", seat.name) };
        let aside = if seat.standing == Standing::Quarantined { ",\u{a0}quarantined" } else { "" };
        // Three blanks between locations, which wrapping must not lose.
        format!("{}\u{a0}{}/{}{aside}", name.replace(' ', "\u{a0}"), seat.region, seat.domain)
    });
    let mut line = String::new();
    for seat in seats {
        if !line.is_empty() && 10 + columns(&line) + 3 + columns(&seat) > term.width {
            text.push_str(&format!("{}{line}\n", " ".repeat(10)));
            line.clear();
        }
        let gap = if line.is_empty() { "" } else { "   " };
        line.push_str(&format!("{gap}{seat}"));
    }
    text.push_str(&format!("{}{line}\n\n", " ".repeat(10)));
    term.text(&text)
}

/// Rhythms up to two minutes are read in seconds.
fn rhythm(interval: Millis) -> String {
    if interval <= 120_000 && interval % 1000 == 0 {
        format!("{}\u{a0}s", interval / 1000)
    } else {
        explain::span(interval)
    }
}

/// Heads of the vote columns: the names if they are short, else letters that the head explains.
fn keys(scenario: &Scenario) -> Vec<String> {
    if scenario.seats.iter().all(|seat| columns(&seat.name) <= 3) {
        return scenario.seats.iter().map(|seat| seat.name.clone()).collect();
    }
    (0..scenario.seats.len()).map(|index| (index + 1).to_string()).collect()
}

/// One printed tick.
struct Row {
    at: i64,
    what: String,
    marks: Vec<Mark>,
    numbers: [usize; 3],
    raw: Raw,
    state: State,
    reasons: Vec<(Tone, String)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Tone {
    Stays,
    Verdict(State),
    Event,
}

struct Table<'a> {
    scenario: &'a Scenario,
    keys: Vec<String>,
    rows: Vec<Row>,
    /// Locations that passed for the first time since the last row.
    arrived: Vec<LocationKey>,
    last: Option<Row>,
    eligible: Vec<LocationKey>,
}

impl<'a> Table<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            keys: keys(scenario),
            rows: Vec::new(),
            arrived: Vec::new(),
            last: None,
            eligible: Vec::new(),
        }
    }

    fn tick(&mut self, live: &Live, step: &Step, seen: &[Seen]) {
        let inputs = self.scenario.inputs(step.at);
        let eligible: Vec<LocationKey> = self
            .scenario
            .seats
            .iter()
            .filter(|seat| explain::uncounted(live, &inputs, seat, step.at).is_none())
            .map(|seat| seat.key)
            .collect();
        let silent: Vec<LocationKey> =
            self.eligible.iter().copied().filter(|at| !eligible.contains(at)).collect();
        self.eligible = eligible;
        let first = |change: &&crate::domain::decision::VoteChange| {
            change.from == VoteState::None && matches!(change.to, VoteState::Up | VoteState::Slow)
        };
        // Who is heard for the first time is news only until there is a verdict.
        let starting = step.state_change.map_or(live.state, |change| change.from) == State::Pending;
        self.arrived.extend(
            step.vote_changes
                .iter()
                .filter(|_| starting)
                .filter(first)
                .map(|change| change.location),
        );
        let told = step.vote_changes.iter().any(|change| !first(&change))
            || step.state_change.is_some()
            || step.events.iter().any(|event| event.word().is_some())
            || step.stale_change.is_some()
            || self
                .last
                .as_ref()
                .is_some_and(|last| last.raw != step.verdict.raw && live.state != State::Pending);
        let row = Row {
            at: step.at / 1000,
            what: String::new(),
            marks: self
                .scenario
                .seats
                .iter()
                .map(|seat| mark(live, &self.eligible, seat.key, seat.standing))
                .collect(),
            numbers: [step.verdict.e, step.verdict.q, step.verdict.d],
            raw: step.verdict.raw,
            state: live.state,
            reasons: Vec::new(),
        };
        if told {
            let what = self.what(live, step, seen, &silent);
            self.arrived.clear();
            let reasons = reasons(live, &inputs, step);
            self.rows.push(Row { what, reasons, marks: row.marks.clone(), ..row });
        }
        self.last = Some(row);
    }

    /// What came, in words: `a, e fail; b, d pass`.
    fn what(&self, live: &Live, step: &Step, seen: &[Seen], silent: &[LocationKey]) -> String {
        let mut groups: Vec<(&str, &str, Vec<LocationKey>)> = Vec::new();
        let mut add = |one: &'static str, many: &'static str, location| match groups
            .iter_mut()
            .find(|(word, ..)| *word == one)
        {
            Some((.., locations)) if locations.contains(&location) => {}
            Some((.., locations)) => locations.push(location),
            None => groups.push((one, many, vec![location])),
        };
        for location in silent {
            add("falls silent", "fall silent", *location);
        }
        for (seen, disposition) in seen.iter().zip(&step.folded) {
            let again = live.vote(seen.location).is_some_and(|vote| vote.fails > 1);
            let (one, many) = match (disposition, seen.outcome) {
                (Disposition::History(HistoryOnly::Manual), _) => {
                    ("manual run, not counted", "manual runs, not counted")
                }
                (Disposition::History(HistoryOnly::Error), _) => {
                    ("error, not counted", "errors, not counted")
                }
                (Disposition::History(_), _) => ("late, not counted", "late, not counted"),
                (Disposition::FreshnessOnly, _) => {
                    ("fails too soon to count", "fail too soon to count")
                }
                (_, Outcome::Pass) if self.arrived.contains(&seen.location) => continue,
                (_, Outcome::Pass) => ("passes", "pass"),
                (_, _) if again => ("fails again", "fail again"),
                _ => ("fails", "fail"),
            };
            add(one, many, seen.location);
        }
        let name = |location: &LocationKey| {
            let place = self.scenario.seats.iter().position(|seat| seat.key == *location);
            place.and_then(|place| self.keys.get(place)).cloned().unwrap_or_default()
        };
        let mut parts: Vec<String> = Vec::new();
        match self.arrived.as_slice() {
            [] => {}
            [one] => parts.push(format!("{} has passed", name(one))),
            many => parts.push(format!(
                "{} have passed",
                many.iter().map(name).collect::<Vec<_>>().join(", ")
            )),
        }
        // Failures first: they are what the row is about.
        groups.sort_by_key(|(one, ..)| !one.starts_with("fail"));
        parts.extend(groups.iter().map(|(one, many, locations)| {
            let names = locations.iter().map(name).collect::<Vec<_>>().join(", ");
            format!("{names} {}", if locations.len() == 1 { one } else { many })
        }));
        if parts.is_empty() { "time passes".to_owned() } else { parts.join("; ") }
    }

    fn end(&mut self, until: i64) {
        if let Some(last) = self.last.take() {
            self.rows.push(Row { at: until, what: "end".to_owned(), ..last });
        }
    }

    fn draw(&self, term: &Term) -> String {
        let key = self.keys.iter().map(|key| columns(key)).max().unwrap_or(1);
        let votes = self.keys.len() * (key + 1) - 1;
        let raw = self.rows.iter().map(|row| columns(row.raw.name())).max().unwrap_or(0).max(9);
        let number =
            self.rows.iter().flat_map(|row| row.numbers).max().unwrap_or(0).to_string().len();
        let state = self.rows.iter().map(|row| columns(row.state.name())).max().unwrap_or(0).max(5);
        let fixed = 7 + 2 + votes + 3 + (3 * number + 2) + 3 + raw + 1 + state;
        let beside = term.width >= 110 && term.width >= fixed + 20 + 34;
        let room = term.width.saturating_sub(fixed + if beside { 36 } else { 0 }).max(12);
        let what = self
            .rows
            .iter()
            .map(|row| columns(&row.what))
            .max()
            .unwrap_or(0)
            .clamp(20, room.max(20));
        let used = fixed + what;
        let numbers = |cells: [String; 3]| cells.map(|cell| pad_left(&cell, number)).join(" ");
        let heads = format!(
            "{}  {}  {}   {}   {} {}",
            pad_left("s", 5),
            pad("what came", what),
            self.keys.iter().map(|name| pad(name, key)).collect::<Vec<_>>().join(" "),
            numbers(["E", "Q", "D"].map(str::to_owned)),
            pad("verdict", raw),
            "state"
        );
        let rule = if beside { term.width - 2 } else { used.min(term.width) - 2 };
        let mut text =
            format!("{}\n  {}\n", term.paint(Ink::Dim, heads.trim_end()), term.rule(rule));
        for row in &self.rows {
            let line = format!(
                "{}  {}  {}   {}   {} {}",
                pad_left(&row.at.to_string(), 5),
                pad(&term.text(&cut_middle(&row.what, what)), what),
                self.marks(row, key, term),
                numbers(row.numbers.map(|number| number.to_string())),
                pad(row.raw.name(), raw),
                pad(row.state.name(), state)
            );
            text.push_str(&if beside {
                beside_reasons(&line, row, used, term)
            } else {
                below_reasons(&line, row, term)
            });
        }
        text
    }

    fn marks(&self, row: &Row, key: usize, term: &Term) -> String {
        let cells: Vec<String> = row
            .marks
            .iter()
            .map(|mark| format!("{}{}", term.mark(*mark), " ".repeat(key - 1)))
            .collect();
        cells.join(" ")
    }
}

fn mark(live: &Live, eligible: &[LocationKey], location: LocationKey, standing: Standing) -> Mark {
    if standing != Standing::Counted {
        return Mark::Quarantined;
    }
    if !eligible.contains(&location) {
        return Mark::NoVote;
    }
    match live.vote(location).map_or(VoteState::None, |vote| vote.state) {
        VoteState::None => Mark::NoVote,
        VoteState::Up => Mark::Up,
        VoteState::Slow => Mark::Slow,
        VoteState::Suspect => Mark::Suspect,
        VoteState::Down => Mark::Down,
        VoteState::Recovering => Mark::Recovering,
    }
}

fn reasons(
    live: &Live,
    inputs: &crate::domain::decision::Inputs<'_>,
    step: &Step,
) -> Vec<(Tone, String)> {
    let mut reasons = Vec::new();
    match step.state_change {
        Some(change) if change.from != State::Pending || change.to != State::Up => {
            let word = change.to.name().to_uppercase();
            reasons.push((
                Tone::Verdict(change.to),
                format!("{word}: {}", explain::headline(live, inputs, step)),
            ));
        }
        Some(_) => {}
        None => {
            let mut reason = explain::reason(live, inputs, &step.verdict);
            // A first failure is worth asking the others at once, and so is a first pass.
            let asks = step.firsts.iter().any(|first| first.kind == FirstKind::Fail);
            if let Some((what, _)) =
                reason.split_once(';').filter(|_| asks && reason.starts_with("one location"))
            {
                reason = format!("{what}; ask all others at once");
            }
            let clock = |at: Millis| super::scenario::seconds(at).to_string();
            if let Some(hold) = explain::hold(live, inputs, &step.verdict, &clock) {
                reason = format!("{reason}; {hold}");
            }
            let stale = if live.evidence_stale { ", though nobody can say now" } else { "" };
            reasons.push((Tone::Stays, format!("stays {}{stale}: {reason}", live.state.name())));
        }
    }
    let clock = |at: Millis| super::scenario::seconds(at).to_string();
    for event in &step.events {
        if let Some(word) = event.word() {
            let detail = explain::event_detail(live, inputs, &event.what, &clock);
            let detail = detail.map(|detail| format!(", {detail}")).unwrap_or_default();
            let silent = if event.suppressed { "; nobody is told: maintenance" } else { "" };
            reasons.push((Tone::Event, format!("{word}{detail}{silent}")));
        }
    }
    reasons
}

fn ink(tone: Tone, text: &str, term: &Term) -> String {
    match tone {
        Tone::Stays => term.paint(Ink::Dim, text),
        Tone::Event => text.to_owned(),
        Tone::Verdict(_) => match text.split_once(':') {
            Some((word, rest)) => format!("{}:{rest}", term.paint(Ink::Bold, word)),
            None => text.to_owned(),
        },
    }
}

fn below_reasons(line: &str, row: &Row, term: &Term) -> String {
    let mut text = format!("{}\n", line.trim_end());
    for (tone, reason) in &row.reasons {
        let wrapped = term.text(&wrap_after("       ", reason, term.width));
        for (index, line) in wrapped.lines().enumerate() {
            let tone = if index > 0 && *tone != Tone::Stays { Tone::Event } else { *tone };
            let body = line.trim_start();
            text.push_str(&format!("       {}\n", ink(tone, body, term)));
        }
    }
    text
}

fn beside_reasons(line: &str, row: &Row, used: usize, term: &Term) -> String {
    let gap = 2;
    let width = term.width - used - gap;
    let mut lines: Vec<String> = Vec::new();
    for (tone, reason) in &row.reasons {
        for (index, part) in wrap(reason, width).iter().enumerate() {
            let tone = if index > 0 && *tone != Tone::Stays { Tone::Event } else { *tone };
            lines.push(ink(tone, &term.text(part), term));
        }
    }
    let mut lines = lines.into_iter();
    let mut text = format!("{line}{}{}", " ".repeat(gap), lines.next().unwrap_or_default())
        .trim_end()
        .to_owned()
        + "\n";
    for line in lines {
        text.push_str(&format!("{}{line}\n", " ".repeat(used + gap)));
    }
    text
}

fn tail(scenario: &Scenario, index: usize, outcomes: &Outcomes, term: &Term) -> (String, bool) {
    let id = label(scenario, index);
    let events: Vec<String> =
        outcomes.events.iter().map(|(at, word)| format!("{at}\u{a0}{word}")).collect();
    let events = if events.is_empty() { "none".to_owned() } else { events.join("; ") };
    let incident = match &outcomes.incident {
        None => "none open".to_owned(),
        Some(open) => format!(
            "{}, started {}, opened {}, open{}",
            open.kind,
            open.started,
            open.opened,
            if open.evidence_stale { ", its evidence is stale" } else { "" }
        ),
    };
    let mut text = String::new();
    for (name, value) in [("events", events), ("incident", incident)] {
        text.push_str(&term.text(&wrap_after(&format!("  {}", pad(name, 10)), &value, term.width)));
        text.push('\n');
    }
    let differences = differences(outcomes, scenario.expect.as_ref());
    if scenario.expect.is_none() {
        return (text, true);
    }
    if differences.is_empty() {
        text.push_str(&format!(
            "  expected  the same: {} vector {id} holds\n",
            term.mark(Mark::Up)
        ));
        return (text, true);
    }
    let fields =
        scenario.expect.as_ref().and_then(Value::as_object).map_or(0, serde_json::Map::len);
    text.push_str(&format!(
        "  expected  {} vector {id} differs in {} of {}\n",
        term.mark(Mark::Down),
        differences.len(),
        counted(fields, "field", "fields")
    ));
    for (field, expected, got) in &differences {
        for (index, (side, value)) in [("expected", expected), ("got", got)].into_iter().enumerate()
        {
            let name = if index == 0 { field.as_str() } else { "" };
            let lead = format!("            {} {}  ", pad(name, 10), pad_left(side, 8));
            text.push_str(&term.text(&wrap_after(&lead, &plain(value), term.width)));
            text.push('\n');
        }
    }
    (text, false)
}

/// A field's value as people write it: `151 opened:down; 540 resolved`.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) if list.iter().all(Value::is_array) => {
            let event = |event: &Value| match event.as_array().map(Vec::as_slice) {
                Some([at, word]) => format!("{at}\u{a0}{}", plain(word)),
                _ => event.to_string(),
            };
            list.iter().map(event).collect::<Vec<_>>().join("; ")
        }
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| format!("{key} {}", plain(value)))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}
