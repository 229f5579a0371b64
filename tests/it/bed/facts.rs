//! What a drill found, as a table: expected beside measured.

use std::{fmt::Write as _, time::Duration};

/// One row of the drill.
pub(crate) struct Row {
    name: String,
    facts: Vec<Fact>,
}

struct Fact {
    what: &'static str,
    expected: String,
    measured: String,
    ok: bool,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), facts: Vec::new() }
    }

    pub(crate) fn is_right(&self) -> bool {
        self.facts.iter().all(|fact| fact.ok)
    }

    /// What has to be the same.
    pub(crate) fn same(
        &mut self,
        what: &'static str,
        expected: impl ToString,
        measured: impl ToString,
    ) {
        let (expected, measured) = (expected.to_string(), measured.to_string());
        let ok = expected == measured;
        self.facts.push(Fact { what, expected, measured, ok });
    }

    /// A span that has a bound. Nothing: it did not happen at all.
    pub(crate) fn within(&mut self, what: &'static str, bound: Duration, took: Option<Duration>) {
        let measured = took.map_or("never".to_owned(), seconds);
        let ok = took.is_some_and(|took| took <= bound);
        self.facts.push(Fact { what, expected: format!("≤ {}", seconds(bound)), measured, ok });
    }

    /// A number in a range.
    pub(crate) fn between(&mut self, what: &'static str, least: i64, most: i64, measured: i64) {
        let (expected, ok) = (format!("{least} to {most}"), (least..=most).contains(&measured));
        self.facts.push(Fact { what, expected, measured: measured.to_string(), ok });
    }

    /// A list, in order. What is expected in brackets may be missing.
    pub(crate) fn list(&mut self, what: &'static str, expected: &[String], measured: &[String]) {
        let text = |list: &[String]| match list {
            [] => "none".to_owned(),
            list => list.join(", "),
        };
        let ok = fits(expected, measured);
        self.facts.push(Fact { what, expected: text(expected), measured: text(measured), ok });
    }
}

fn fits(expected: &[String], measured: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else { return measured.is_empty() };
    let optional = first.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    let word = optional.unwrap_or(first);
    let here = measured.split_first().is_some_and(|(is, left)| is == word && fits(rest, left));
    here || (optional.is_some() && fits(rest, measured))
}

fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

/// Prints the table; the test fails if anything is off.
#[expect(clippy::print_stderr, reason = "the table is what the drill is for")]
pub(crate) fn judge(name: &str, rows: &[Row]) {
    let facts: Vec<(&str, &Fact)> = rows
        .iter()
        .flat_map(|row| {
            let names = std::iter::once(row.name.as_str()).chain(std::iter::repeat(""));
            names.zip(&row.facts)
        })
        .collect();
    let width = |text: &dyn Fn(&(&str, &Fact)) -> usize| facts.iter().map(text).max().unwrap_or(0);
    let columns = [
        width(&|(row, _)| row.chars().count()),
        width(&|(_, fact)| fact.what.chars().count()),
        width(&|(_, fact)| fact.expected.chars().count()).min(60),
    ];
    let mut table = format!("The {name} drill, expected | measured\n");
    for (row, Fact { what, expected, measured, ok }) in &facts {
        let [one, two, three] = columns;
        let mark = if *ok { "ok " } else { "OFF" };
        let _ = writeln!(table, "{mark} {row:one$}  {what:two$}  {expected:three$} | {measured}");
    }
    let off = facts.iter().filter(|(_, fact)| !fact.ok).count();
    let _ = writeln!(table, "{} facts, {off} off", facts.len());
    eprintln!("{table}");
    assert_eq!(off, 0, "the drill found what must not be");
}
