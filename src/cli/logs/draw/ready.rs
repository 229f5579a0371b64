//! How many were ready over time, and who was taken out.

use super::super::report::{AllOut, PoolReport};
use super::words::{Times, span};
use crate::cli::term::{Ink, Term, columns, counted, pad_left, thousands, wrap_after};
use crate::domain::fleet::all_out::documented;
use crate::domain::fleet::event::Source;
use crate::domain::fleet::timeline::{ReadyPoint, Removal};

/// So many removals are told, the most harmful ones.
const MOST_REMOVALS: usize = 8;
/// Lengths of a column, in seconds.
const STEPS: [i64; 22] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800, 2_592_000, 31_536_000,
];
const MICROS: i64 = 1_000_000;

/// Where the line of columns begins and how long each is, in µs.
struct Axis {
    from: i64,
    step: i64,
    count: usize,
}

pub(super) fn draw(
    term: &Term,
    pool: &PoolReport,
    whole: Option<(i64, i64)>,
    times: &Times,
) -> String {
    let points = settled(&pool.ready);
    let (Some(whole), Some(last)) = (whole, points.last()) else { return String::new() };
    let axis = Axis::new(whole, term.width - 20);
    let most = points.iter().filter_map(|point| point.ready).max().unwrap_or(0);
    let expected = pool.expected.map_or(most, |expected| expected.count).max(1);
    let top = expected.max(most);
    let lows = lows(&axis, &points, &pool.covered, whole);
    let label = pad_left(&thousands(u64::from(top)), 4);
    let heights: String = lows.iter().map(|low| height(*low, top)).collect();
    let mut out = format!("\n{}\n", term.paint(Ink::Dim, &title(term, pool, last, &axis)));
    out.push_str(&format!("{label}  {heights}\n"));
    out.push_str(&format!("      {}\n", term.paint(Ink::Dim, &scale(&axis, whole.1, times))));
    out.push_str(&lowest(term, pool, &points, expected, times));
    out.push_str(&all_out(term, pool, whole.1, times));
    out.push_str(&removals(term, pool, times));
    out
}

/// By traffic, everybody seems to come one after the other when a log begins: what holds a minute later
/// held from the beginning.
fn settled(points: &[ReadyPoint]) -> Vec<ReadyPoint> {
    let Some(first) = points.first() else { return Vec::new() };
    let begins = |point: &&ReadyPoint| {
        point.source == Source::Traffic && point.at_us < first.at_us + 60 * MICROS
    };
    let early = points.iter().take_while(begins).count().max(1);
    let mut settled = points[early - 1..].to_vec();
    settled[0].at_us = first.at_us;
    settled
}

/// `ready, of 8 expected, 7 by HAProxy, 1 by traffic, fewer than 6 is critical, 1 column = 15 s`.
fn title(term: &Term, pool: &PoolReport, last: &ReadyPoint, axis: &Axis) -> String {
    // Traffic alone does not say who is ready.
    let what = if last.source == Source::Traffic { "in rotation" } else { "ready" };
    let of = match pool.expected {
        Some(expected) if !expected.learned => format!(", of {} expected", expected.count),
        Some(expected) if expected.count > 0 => format!(", of {} as learned", expected.count),
        _ => String::new(),
    };
    let by = format!(", {}", last.by_words());
    let floor = pool.floor.map(|floor| format!(", fewer than {floor} is critical"));
    let step = format!(", 1 column = {}", span(axis.step));
    let full = format!("{what}{of}{by}{}{step}", floor.unwrap_or_default());
    if columns(&full) <= term.width {
        return full;
    }
    // Whose count it is matters more than the rest.
    wrap_after("", &format!("{what}{of}{by}{step}"), term.width)
}

impl Axis {
    fn new((from, to): (i64, i64), most: usize) -> Self {
        let fits = |step: &i64| columns_of(from, to, step * MICROS) <= most;
        let step = STEPS.into_iter().find(fits).unwrap_or(STEPS[STEPS.len() - 1]) * MICROS;
        let start = from.div_euclid(step) * step;
        Self { from: start, step, count: columns_of(from, to, step).min(most) }
    }

    fn column(&self, at: i64) -> usize {
        usize::try_from((at - self.from).div_euclid(self.step)).unwrap_or(0).min(self.count - 1)
    }
}

fn columns_of(from: i64, to: i64, step: i64) -> usize {
    usize::try_from(to.div_euclid(step) - from.div_euclid(step) + 1).unwrap_or(usize::MAX)
}

/// The lowest count of each column; none where nothing was heard or nobody had said yet.
fn lows(
    axis: &Axis,
    points: &[ReadyPoint],
    covered: &[(i64, i64)],
    whole: (i64, i64),
) -> Vec<Option<u32>> {
    let mut lows: Vec<Option<u32>> = vec![None; axis.count];
    let mut note = |at: usize, ready: u32| {
        if let Some(low) = lows.get_mut(at) {
            *low = Some(low.map_or(ready, |low| low.min(ready)));
        }
    };
    let ends = points.iter().skip(1).map(|point| point.at_us).chain([whole.1 + 1]);
    for (point, end) in points.iter().zip(ends) {
        // What ends where a column begins does not reach into it.
        for at in axis.column(point.at_us)..=axis.column((end - 1).max(point.at_us)) {
            if let Some(ready) = point.ready {
                note(at, ready);
            }
        }
    }
    for (at, low) in lows.iter_mut().enumerate() {
        let from = axis.from + at as i64 * axis.step;
        let heard = covered.iter().any(|(a, b)| *a < from + axis.step && *b > from);
        if !heard {
            *low = None;
        }
    }
    lows
}

fn height(low: Option<u32>, top: u32) -> char {
    const HEIGHTS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match low {
        None => '░',
        Some(low) => HEIGHTS[(low * 8 / top.max(1)).min(8) as usize],
    }
}

/// Times under the line, the last one at its end.
fn scale(axis: &Axis, to: i64, times: &Times) -> String {
    // Midnights say more than a row of 00:00.
    let days = axis.step >= 3_600 * MICROS;
    let shown = |at: i64| if days { times.day(at) } else { times.minute(at) };
    let end = shown(to);
    let last_at = axis.count.saturating_sub(columns(&end));
    let mut text = String::new();
    for at in (0..axis.count).step_by(16) {
        let label = shown(axis.from + at as i64 * axis.step);
        if at + columns(&label) + 2 > last_at {
            break;
        }
        let gap = at - columns(&text);
        text.push_str(&" ".repeat(gap));
        text.push_str(&label);
    }
    let gap = last_at.saturating_sub(columns(&text));
    text + &" ".repeat(gap) + &end
}

/// `lowest 9 of 12, at 14:21:07`, if it was not always the same.
fn lowest(
    term: &Term,
    pool: &PoolReport,
    points: &[ReadyPoint],
    expected: u32,
    times: &Times,
) -> String {
    let mut parts = Vec::new();
    let known = points.iter().filter_map(|point| Some((point.ready?, point.at_us)));
    if let Some((low, at_us)) = known.min().filter(|(low, _)| *low < expected) {
        let often = points.iter().filter(|point| point.ready == Some(low)).count();
        let floor = match pool.floor {
            Some(floor) if low < floor => ", below the floor",
            Some(floor) if low == floor => ", at the floor",
            _ => "",
        };
        let times_over = if often > 1 { format!(", {often} times") } else { String::new() };
        parts.push(format!(
            "lowest {} of {expected}{floor}{times_over}, first at {}",
            low,
            times.second(at_us)
        ));
    }
    for pair in pool.covered.windows(2) {
        parts.push(format!(
            "no data {} – {}: not counted as ready",
            times.minute(pair[0].1),
            times.minute(pair[1].0)
        ));
        if parts.len() > 3 {
            break;
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    wrap_after("      ", &parts.join(" · "), term.width) + "\n"
}

/// When nobody was ready, what was seen then, and what the platform does by its documentation.
fn all_out(term: &Term, pool: &PoolReport, end_us: i64, times: &Times) -> String {
    let length =
        |stretch: &AllOut| stretch.to_us.unwrap_or(end_us).max(stretch.from_us) - stretch.from_us;
    let Some(longest) = pool.all_out.iter().max_by_key(|stretch| length(stretch)) else {
        return String::new();
    };
    let until = longest.to_us.map_or("the end".to_owned(), |to| times.second(to));
    let whole: i64 = pool.all_out.iter().map(length).sum();
    let when = match pool.all_out.len() {
        1 => format!("nobody ready {} – {until}, {}", times.second(longest.from_us), span(whole)),
        count => format!(
            "nobody ready {count} times, {} in all, longest {} – {until}",
            span(whole),
            times.second(longest.from_us)
        ),
    };
    let text = format!(
        "{when}. In the windows of {} that {} touched, {}. {}",
        span(pool.window_us),
        if pool.all_out.len() == 1 { "this" } else { "these" },
        pool.seen_out.words(longest.of),
        documented(longest.platform)
    );
    wrap_after("      ", &text, term.width) + "\n"
}

fn removals(term: &Term, pool: &PoolReport, times: &Times) -> String {
    let mut shown: Vec<&Removal> = pool.removals.iter().collect();
    shown.sort_by_key(|removal| (removal.cause.on_purpose(), std::cmp::Reverse(removal.harmed)));
    let hidden = shown.len().saturating_sub(MOST_REMOVALS);
    shown.truncate(MOST_REMOVALS);
    shown.sort_by_key(|removal| removal.removed_us);
    let mut out = String::new();
    for removal in shown {
        let first = format!("      {} ", times.second(removal.removed_us));
        out.push_str(&wrap_after(&first, &removed(removal, pool.return_us, times), term.width));
        out.push('\n');
    }
    if hidden > 0 {
        let more = counted(hidden, "more removal is", "more removals are");
        out.push_str(&format!("      {more} in --json\n"));
    }
    out
}

/// `10.9.0.15 out, 11 s after it first failed (at least 10 s), 38 attempts harmed, 2 seen by users; back
/// 14:30:26, 20 s after it worked again (20 s by its check)`.
fn removed(removal: &Removal, return_us: Option<i64>, times: &Times) -> String {
    let mut text = format!("{} out", removal.instance);
    if removal.cause.on_purpose() {
        text.push_str(&format!(", on purpose ({})", removal.cause.as_str()));
    }
    if let Some(took) = removal.time_us() {
        text.push_str(&format!(", {} after it first failed", span(took)));
        if let Some(minimum) = removal.minimum_us {
            text.push_str(&format!(" (at least {})", span(minimum)));
        }
    }
    if removal.harmed > 0 {
        text.push_str(&format!(
            ", {} harmed, {} seen by users",
            counted(usize::try_from(removal.harmed).unwrap_or(usize::MAX), "attempt", "attempts"),
            thousands(removal.client_visible)
        ));
    }
    if let Some(reason) = &removal.reason {
        text.push_str(&format!(": {reason}"));
    }
    match removal.returned_us {
        Some(back) => {
            text.push_str(&format!("; back {}", times.second(back)));
            if let Some(took) = removal.return_us().filter(|took| *took > 0) {
                text.push_str(&format!(", {} after it worked again", span(took)));
                if let Some(least) = return_us {
                    text.push_str(&format!(" ({} by its check)", span(least)));
                }
            }
        }
        None => text.push_str("; not back"),
    }
    text
}
