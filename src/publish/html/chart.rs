//! Days of the window, and the periods before it, drawn so that they read without colour: severity is
//! height, ignorance is hatching, maintenance is dots, and every mark has its figure in words.

use maud::{Markup, html};

use super::glyph::{Mark, glyph};
use super::{View, section};
use crate::domain::Millis;
use crate::domain::slo::report::{Day, Report};
use crate::publish::document::Month;
use crate::publish::wording::{clock, pct};

/// Width of a drawing.
pub(super) const WIDTH: f64 = 678.0;

/// Days that are drawn; the table of days has more.
const DRAWN: usize = 400;
/// Days in one row before it is a row for each month.
const ONE_ROW: usize = 35;
const CELL: f64 = 28.0;
const LINE: f64 = 10.0;

/// A cell for each civil day.
pub(super) fn days(view: &View) -> Markup {
    let report = &view.document.report;
    let days = &report.days;
    if days.is_empty() || days.len() > DRAWN {
        return html! {};
    }
    let rows: Vec<&[Day]> = match days.len() {
        0..=ONE_ROW => vec![days],
        _ => days.chunk_by(|a, b| a.date.get(..7) == b.date.get(..7)).collect(),
    };
    let remark = "full: down · striped (½): partial · hatched (?): unknown · dotted (slanted): maintenance · as wide as it was long";
    let content = html! {
        div.scroll {
            @for row in &rows { (strip(row, rows.len() > 1)) }
        }
        details { summary { "As a table" } (table(days)) }
    };
    section("Day by day", remark, &content)
}

fn strip(days: &[Day], labelled: bool) -> Markup {
    let left = if labelled { 46.0 } else { 0.0 };
    let pitch = (WIDTH - left) / days.len().max(31) as f64;
    let lines = days.iter().map(|day| labels(day).len()).max().unwrap_or(0) as f64;
    let height = 14.0 + CELL + LINE * lines + 4.0;
    html! {
        svg width="100%" viewBox={ "0 0 678 " (height) } role="img" aria-label=(summary(days)) {
            @if labelled {
                text.f x="0" y={ (14.0 + CELL / 2.0 + 3.0) } { (days.first().map_or("", |d| d.date.get(..7).unwrap_or(""))) }
            }
            @for (index, day) in days.iter().enumerate() {
                (cell(day, left + index as f64 * pitch, pitch - 2.0))
            }
        }
    }
}

fn cell(day: &Day, x: f64, width: f64) -> Markup {
    let center = x + width / 2.0;
    let number = day.date.get(8..).unwrap_or("").trim_start_matches('0');
    let marked = !labels(day).is_empty();
    html! {
        text x=(px(center)) y="9" text-anchor="middle" class=(if marked { "k" } else { "f" }) { (number) }
        rect x=(px(x)) y="14" width=(px(width)) height=(CELL) fill="none" stroke="var(--line)" {}
        @if day.pct.is_some() {
            rect x=(px(x)) y=(14.0 + CELL - 6.0) width=(px(width)) height="6" fill=(Mark::Up.fill()) {}
        }
        @for (mark, from, wide) in bars(day, width) {
            rect x=(px(x + from)) y="14" width=(px(wide)) height=(CELL) fill=(mark.fill()) {}
        }
        @for (line, (label, class)) in labels(day).iter().enumerate() {
            text class=(class) x=(px(center)) y=(px(14.0 + CELL + 10.0 + LINE * line as f64)) text-anchor="middle" { (label) }
        }
    }
}

/// What was not up: mark, place from the left, width.
fn bars(day: &Day, width: f64) -> Vec<(Mark, f64, f64)> {
    let parts = [
        (Mark::Down, day.down_ms),
        (Mark::Partial, day.partial_ms),
        (Mark::Unknown, day.unknown_ms),
        (Mark::Maintenance, day.excluded_ms),
    ];
    let mut at = 0.0;
    let mut out = Vec::new();
    for (mark, length) in parts.into_iter().filter(|(_, length)| *length > 0) {
        let wide = (length as f64 / day.length_ms.max(1) as f64 * width).max(3.0);
        let wide = wide.min(width - at);
        out.push((mark, at, wide));
        at += wide;
    }
    out
}

/// Figures below a cell and how they are set: unknown with `?`, partial with `½`, maintenance slanted.
fn labels(day: &Day) -> Vec<(String, &'static str)> {
    let parts = [
        (day.down_ms, "", "k"),
        (day.partial_ms, "½", "k"),
        (day.unknown_ms, "?", "k"),
        (day.excluded_ms, "", "i"),
    ];
    let there = parts.into_iter().filter(|(length, ..)| *length > 0);
    there.map(|(length, sign, class)| (format!("{}{sign}", brief(length)), class)).collect()
}

/// As short as a cell needs, rounded up: `42″`, `13′`, `2.1h`.
fn brief(length: Millis) -> String {
    let up = |unit: Millis| -> Millis { -(-length).div_euclid(unit) };
    if length < 60_000 {
        return format!("{}″", up(1_000));
    }
    if length < 6_000_000 {
        return format!("{}′", up(60_000));
    }
    let tenths = up(360_000);
    match tenths % 10 {
        0 => format!("{}h", tenths / 10),
        rest if tenths < 100 => format!("{}.{rest}h", tenths / 10),
        _ => format!("{}h", up(3_600_000)),
    }
}

/// A drawing in words.
fn summary(days: &[Day]) -> String {
    let count = |of: fn(&Day) -> Millis| days.iter().filter(|day| of(day) > 0).count();
    format!(
        "{} days: {} with downtime, {} with unknown time, {} with maintenance",
        days.len(),
        count(|day| day.down_ms),
        count(|day| day.unknown_ms),
        count(|day| day.excluded_ms)
    )
}

fn table(days: &[Day]) -> Markup {
    html! {
        table {
            thead { tr {
                th { "Day" } th.n { "Length" } th.n { "Achieved" } th.n { "Down" } th.n { "Partial" }
                th.n { "Unknown" } th.n { "Maintenance" }
            } }
            tbody {
                @for day in days {
                    tr {
                        td { (day.date) }
                        td.n { (clock(day.length_ms)) }
                        td.n { (pct(day.pct.as_ref())) }
                        td.n { (clock(day.down_ms)) }
                        td.n { (clock(day.partial_ms)) }
                        td.n { (clock(day.unknown_ms)) }
                        td.n { (clock(day.excluded_ms)) }
                    }
                }
            }
        }
    }
}

/// The periods up to this one, as far below all of it as the target would allow.
pub(super) fn months(view: &View) -> Markup {
    let months = &view.document.context.months;
    if months.is_empty() {
        return html! {};
    }
    let report = &view.document.report;
    let pitch = WIDTH / months.len().max(12) as f64;
    let missed: Vec<&str> =
        months.iter().filter(|m| m.met == Some(false)).map(|m| m.first_day.as_str()).collect();
    let label = match missed.as_slice() {
        [] => format!("The last {} periods, none missed", months.len()),
        _ => format!("The last {} periods; missed: {}", months.len(), missed.join(", ")),
    };
    let content = html! {
        svg width="100%" viewBox="0 0 678 92" role="img" aria-label=(label) {
            path d="M0 44.5H678" stroke="var(--text)" stroke-dasharray="3 3" {}
            text.f x="678" y="55" text-anchor="end" { "target " (report.slo.target_pct) "\u{a0}%" }
            @for (index, month) in months.iter().enumerate() {
                (column(month, report, (index as f64 + 0.5) * pitch, index + 1 == months.len()))
            }
        }
    };
    section("The periods before", "%, cut off; × missed, ? too little was seen to say", &content)
}

fn column(month: &Month, report: &Report, x: f64, last: bool) -> Markup {
    const TOP: f64 = 8.0;
    const TARGET: f64 = 44.5;
    const DEEPEST: f64 = 62.0;
    let value = month.pct.as_ref().and_then(|pct| pct.parse::<f64>().ok());
    let allowed = (100.0 - report.slo.target_ppb as f64 / 1e7).max(1e-7);
    let depth =
        value.map(|pct| TOP + (100.0 - pct) / allowed * (TARGET - TOP)).map(|y| y.min(DEEPEST));
    let sign = match month.met {
        Some(true) => "",
        Some(false) => " ×",
        None => " ?",
    };
    let strong = last || month.met == Some(false);
    let figure = month.pct.as_ref().map_or("–".to_owned(), |pct| format!("{pct}{sign}"));
    html! {
        @match (depth, month.met) {
            (Some(y), Some(false)) => {
                path d={ "M" (px(x)) " 8V" (px(y)) } stroke="var(--down)" stroke-width="2" {}
                path d={ "M" (px(x - 4.0)) " " (px(y - 4.0)) "l8 8m0-8l-8 8" } stroke="var(--down)" stroke-width="2" {}
            }
            (Some(y), Some(true)) => {
                path d={ "M" (px(x)) " 8V" (px(y)) } stroke="var(--text3)" stroke-width="2" {}
                circle cx=(px(x)) cy=(px(y)) r="3" fill="var(--text)" {}
            }
            _ => {
                rect x=(px(x - 6.0)) y="8" width="12" height="36" fill=(Mark::Unknown.fill()) {}
            }
        }
        text x=(px(x)) y="76" text-anchor="middle" class=(if strong { "k" } else { "" }) { (figure) }
        text.f x=(px(x)) y="88" text-anchor="middle" { (month_name(&month.first_day)) }
    }
}

/// `Oct 26` of `2026-10-01`.
fn month_name(first_day: &str) -> String {
    let date: Option<jiff::civil::Date> = first_day.parse().ok();
    date.map_or_else(|| first_day.to_owned(), |date| date.strftime("%b %y").to_string())
}

/// A mark and a word in a legend or a cell.
pub(super) fn met(verdict: Option<bool>) -> Markup {
    match verdict {
        Some(true) => html! { span.state { (glyph(Mark::Up)) "Met" } },
        Some(false) => html! { span.state { (glyph(Mark::Down)) "Missed" } },
        None => html! { span.state { (glyph(Mark::Unknown)) "Insufficient data" } },
    }
}

/// A coordinate, to the tenth.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_in_cells_are_rounded_up() {
        let all = [(1, "1″"), (42_000, "42″"), (60_000, "1′"), (770_000, "13′"), (7_200_000, "2h")];
        for (length, text) in all {
            assert_eq!(brief(length), text);
        }
        assert_eq!((brief(7_200_001).as_str(), brief(50_000_000).as_str()), ("2.1h", "14h"));
    }

    #[test]
    fn bars_keep_within_their_cell() {
        let day = Day {
            date: "2026-10-01".into(),
            length_ms: 86_400_000,
            down_ms: 86_000_000,
            partial_ms: 1,
            unknown_ms: 1,
            excluded_ms: 399_998,
            pct: None,
            outages: 1,
            latency_p95_ms: None,
        };
        let all = bars(&day, 20.0);
        let (_, from, wide) = all.last().unwrap();
        assert_eq!(all.len(), 4);
        assert!(from + wide <= 20.0 && all.iter().all(|(_, _, wide)| *wide >= 0.0));
        assert_eq!(labels(&day).len(), 4);
    }
}
