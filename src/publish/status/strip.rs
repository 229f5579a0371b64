//! Days as bars: severity is height, ignorance is hatching, planned work is dots. Every bar says its figures in words.

use maud::{Markup, html};

use super::{View, hours};
use crate::domain::Millis;
use crate::domain::slo::daily::{Daily, Day};

/// What a bar is mostly about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bar {
    /// Nobody watched yet, or any more.
    None,
    Up,
    Slow,
    Partial,
    Down,
    Planned,
    Unknown,
}

/// A shorter silence, or slowness, is told in words only: one part of so many.
const NOTABLE: Millis = 20;

/// The bars of a part, oldest first.
pub(super) fn strip(view: &View, daily: &Daily) -> Markup {
    html! {
        div.bars role="img" aria-label=(summary(daily)) {
            @for day in &daily.days {
                i class=(class(day)) title=(words(view, day)) {}
            }
        }
    }
}

/// Days on which something was not as it should be, newest first.
pub(super) fn table(view: &View, daily: &Daily) -> Markup {
    let days: Vec<&Day> = daily.days.iter().rev().filter(|day| !is_plain(day)).collect();
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { "Day" } th.n scope="col" { "Down" } th.n scope="col" { "In part" }
                    th.n scope="col" { "Not measured" } th.n scope="col" { "Planned work" } th.n scope="col" { "Worked" }
                } }
                tbody {
                    @for day in days {
                        tr {
                            td { (date(view, day)) }
                            td.n { (length(day.totals.down)) }
                            td.n { (length(day.totals.partial)) }
                            td.n { (length(silent(day))) }
                            td.n { (length(day.totals.excluded)) }
                            td.n { (day.pct.as_ref().map_or_else(|| "not measured".to_owned(), |pct| format!("{pct}\u{a0}%"))) }
                        }
                    }
                }
            }
            p.s { "Hours and minutes, rounded up." }
        }
    }
}

/// Whether the table has anything to say.
pub(super) fn has_table(daily: &Daily) -> bool {
    daily.days.iter().any(|day| !is_plain(day))
}

fn length(length: Millis) -> String {
    if length > 0 { hours(length) } else { "–".to_owned() }
}

fn is_plain(day: &Day) -> bool {
    let wrong = day.totals.down + day.totals.partial + silent(day) + day.totals.excluded;
    wrong == 0 && !day.missed && !matches!(bar(day), Bar::Slow)
}

/// Not known, or not to be known while it was paused.
fn silent(day: &Day) -> Millis {
    day.totals.unknown + day.totals.paused
}

fn bar(day: &Day) -> Bar {
    let totals = &day.totals;
    let due = (day.to - day.from) - totals.not_monitored;
    if due <= 0 {
        return Bar::None;
    }
    if totals.down > 0 {
        return Bar::Down;
    }
    if totals.partial > 0 {
        return Bar::Partial;
    }
    if totals.excluded > 0 {
        return Bar::Planned;
    }
    if is_silent(day) && silent(day) * 2 > due {
        return Bar::Unknown;
    }
    if day.missed || totals.degraded * NOTABLE > totals.measured() {
        return Bar::Slow;
    }
    if totals.measured() == 0 { Bar::Unknown } else { Bar::Up }
}

/// Enough is not known to show it beside the rest.
fn is_silent(day: &Day) -> bool {
    let due = (day.to - day.from) - day.totals.not_monitored - day.totals.excluded;
    silent(day) > 0 && silent(day) * NOTABLE > due
}

fn class(day: &Day) -> &'static str {
    match (bar(day), is_silent(day)) {
        (Bar::None, _) => "o",
        (Bar::Up, false) => "u",
        (Bar::Up, true) => "u h",
        (Bar::Slow, false) => "s",
        (Bar::Slow, true) => "s h",
        (Bar::Partial, false) => "p",
        (Bar::Partial, true) => "p h",
        (Bar::Down, false) => "d",
        (Bar::Down, true) => "d h",
        (Bar::Planned, _) => "m",
        (Bar::Unknown, _) => "x",
    }
}

fn date(view: &View, day: &Day) -> String {
    view.zone.format(day.from, "%a %-d %b")
}

/// `Tue 17 Nov: down 0:08 h, not measured 1:00 h`.
fn words(view: &View, day: &Day) -> String {
    let totals = &day.totals;
    let said = [
        ("down", totals.down),
        ("in part", totals.partial),
        ("slow", if matches!(bar(day), Bar::Slow) { totals.degraded } else { 0 }),
        ("not measured", silent(day)),
        ("planned work", totals.excluded),
    ];
    let told: Vec<String> = said
        .iter()
        .filter(|(_, length)| *length > 0)
        .map(|(what, length)| format!("{what} {}\u{a0}h", hours(*length)))
        .collect();
    let date = date(view, day);
    match (bar(day), told.is_empty()) {
        (Bar::None, _) => format!("{date}: not monitored"),
        (Bar::Slow, true) => format!("{date}: slower than it should be"),
        (_, true) => format!("{date}: worked"),
        (_, false) => format!("{date}: {}", told.join(", ")),
    }
}

/// All bars in words.
fn summary(daily: &Daily) -> String {
    let count = |of: fn(&Day) -> bool| daily.days.iter().filter(|day| of(day)).count();
    let parts = [
        ("down", count(|day| day.totals.down > 0)),
        ("working in part", count(|day| day.totals.partial > 0)),
        ("with time not measured", count(|day| silent(day) > 0)),
        ("with planned work", count(|day| day.totals.excluded > 0)),
        ("not monitored", count(|day| bar(day) == Bar::None)),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(_, days)| *days > 0)
        .map(|(what, days)| format!("{days} {what}"))
        .collect();
    let days = daily.days.len();
    if told.is_empty() {
        format!("{days} days, all well")
    } else {
        format!("Of {days} days {}", told.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::slo::timeline::Totals;
    use crate::domain::slo::window::DAY;

    fn day(totals: Totals) -> Day {
        let date = jiff::civil::date(2026, 11, 17);
        Day { date, from: 0, to: totals.elapsed(), totals, pct: None, missed: false }
    }

    #[test]
    fn a_bar_shows_the_worst_and_does_not_hide_what_is_not_known() {
        let up = Totals { up: DAY, ..Totals::default() };
        let cases = [
            (up, "u"),
            (Totals { up: DAY - 1, down: 1, ..up }, "d"),
            (Totals { up: DAY / 2, down: 1, unknown: DAY / 2 - 1, ..up }, "d h"),
            (Totals { up: DAY / 2 + 1, unknown: DAY / 2 - 1, ..up }, "u h"),
            (Totals { up: DAY - 60_000, unknown: 60_000, ..up }, "u"),
            (Totals { up: 0, unknown: DAY, ..up }, "x"),
            (Totals { up: 0, paused: DAY, ..up }, "x"),
            (Totals { up: 0, not_monitored: DAY, ..up }, "o"),
            (Totals { up: DAY - 1, excluded: 1, ..up }, "m"),
            (Totals { up: DAY - 1, partial: 1, ..up }, "p"),
            (Totals { degraded: DAY / 2, ..up }, "s"),
            (Totals { degraded: 1, ..up }, "u"),
        ];
        for (totals, expected) in cases {
            assert_eq!(class(&day(totals)), expected, "{totals:?}");
        }
        assert_eq!(class(&Day { missed: true, ..day(up) }), "s");
    }
}
