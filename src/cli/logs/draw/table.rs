//! Instances beside their peers: a row each, the blamed first.

use std::collections::BTreeMap;

use super::super::report::{PoolReport, Standing};
use super::words::{floored, latency, percent};
use crate::cli::term::{
    Ink, Term, columns, counted, cut_middle, pad, pad_left, thousands, wrap_after,
};
use crate::domain::fleet::engine::interval99;
use crate::domain::fleet::finding::{Finding, Gravity, Kind};

/// Rows that are shown; of more, those beyond are told in one line.
const MOST_ROWS: usize = 40;
/// So many versions are named.
const MOST_VERSIONS: usize = 6;
/// The bar takes what is left, between these.
const BAR: (usize, usize) = (18, 30);
const LONGEST_NAME: usize = 32;
/// Ends of the axis, as shares.
const ENDS: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 1.0];

/// A column beside the fixed ones, in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    P50,
    P90,
    Share,
    /// Of the time of which somebody said whether it is ready.
    Ready,
    /// The part of its time of which nobody said.
    NotKnown,
    Restarts,
    Flaps,
    Version,
}

const EXTRAS: [Extra; 8] = [
    Extra::P50,
    Extra::P90,
    Extra::Share,
    Extra::Ready,
    Extra::NotKnown,
    Extra::Restarts,
    Extra::Flaps,
    Extra::Version,
];

/// The order in which they leave where there is no room.
const LEAVING: [Extra; 8] = [
    Extra::Version,
    Extra::Flaps,
    Extra::P50,
    Extra::Restarts,
    Extra::NotKnown,
    Extra::Ready,
    Extra::Share,
    Extra::P90,
];

/// How wide everything is.
struct Layout {
    name: usize,
    failed: usize,
    bar: usize,
    attempts: usize,
    /// With their widths, in order.
    extras: Vec<(Extra, usize)>,
    /// It would be told of how much nothing is known, if there were room.
    untold: bool,
    /// The share at the right end of the bar.
    end: f64,
}

pub(super) fn draw(term: &Term, pool: &PoolReport) -> String {
    let mut rows: Vec<&Standing> = pool.instances.iter().collect();
    rows.sort_by_key(|row| (blame(pool, row).is_none(), std::cmp::Reverse(row.cell.attempts > 0)));
    let hidden = rows.split_off(rows.len().min(MOST_ROWS));
    let hours = hours(pool);
    let layout = Layout::new(term, &rows, hours);
    let mut out = head(term, &layout);
    for row in &rows {
        out.push_str(&line(term, &layout, row, blame(pool, row), hours));
    }
    if !hidden.is_empty() {
        let worst = hidden.iter().filter_map(|row| row.failed).map(|failed| failed.0);
        let worst = worst.fold(0.0, f64::max);
        out.push_str(&format!(
            "   and {} more, none of which failed more than {}\n",
            thousands(hidden.len() as u64),
            percent(worst)
        ));
    }
    if layout.untold {
        let most =
            pool.instances.iter().filter_map(|row| row.readiness.not_known()).fold(0.0, f64::max);
        out.push_str(&format!(
            "   ready is of the time that is known; up to {} of it is not\n",
            percent(most)
        ));
    }
    if let Some(mix) = versions(pool) {
        out.push_str(&wrap_after("   ", &mix, term.width));
        out.push('\n');
    }
    out
}

/// What serves at the end, where it is more than one version or not known of all: `5 instances: 3 on 1.4.2,
/// 2 on 1.4.1; version not reported by 1`.
fn versions(pool: &PoolReport) -> Option<String> {
    let serving: Vec<&Standing> = pool.instances.iter().filter(|row| row.serves).collect();
    let mut by_version: BTreeMap<&str, usize> = BTreeMap::new();
    for version in serving.iter().filter_map(|row| row.version.as_deref()) {
        *by_version.entry(version).or_default() += 1;
    }
    let silent = serving.iter().filter(|row| row.version.is_none()).count();
    if serving.len() < 2 || (by_version.len() == 1 && silent == 0) {
        return None;
    }
    if by_version.is_empty() {
        return Some("version not reported".to_owned());
    }
    let mut mix: Vec<(&str, usize)> = by_version.into_iter().collect();
    mix.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest: usize = mix.iter().skip(MOST_VERSIONS).map(|(_, count)| count).sum();
    let mut parts: Vec<String> = mix
        .iter()
        .take(MOST_VERSIONS)
        .map(|(version, count)| format!("{count}\u{a0}on\u{a0}{}", cut_middle(version, 32)))
        .collect();
    if rest > 0 {
        parts.push(format!("{rest}\u{a0}on others"));
    }
    let silent = match silent {
        0 => String::new(),
        count => format!("; version not reported by {count}"),
    };
    let all = counted(serving.len(), "instance", "instances");
    Some(format!("{all}: {}{silent}", parts.join(", ")))
}

/// The mark of an instance that a finding names; the worst one's.
fn blame(pool: &PoolReport, row: &Standing) -> Option<char> {
    let unlike = |finding: &&Finding| {
        finding.kind.compares()
            && finding.severity > Gravity::Info
            && finding.instances.contains(&row.name)
    };
    let named: Vec<&Finding> = pool.findings.iter().filter(unlike).collect();
    let slow = named.iter().all(|finding| finding.kind == Kind::Latency);
    (!named.is_empty()).then_some(if slow { '▲' } else { '■' })
}

/// How long the pool was looked at.
fn hours(pool: &PoolReport) -> f64 {
    let covered: i64 = pool.covered.iter().map(|(from, to)| to - from).sum();
    covered as f64 / 3.6e9
}

impl Layout {
    fn new(term: &Term, rows: &[&Standing], hours: f64) -> Self {
        let widest = |heading: &str, of: &dyn Fn(&Standing) -> String| {
            rows.iter().map(|row| columns(&of(row))).chain([columns(heading)]).max().unwrap_or(0)
        };
        let name = widest("instance", &|row| row.name.clone()).min(LONGEST_NAME);
        let attempts = widest("attempts", &|row| thousands(row.cell.attempts));
        let failed = widest("failed", &failed);
        let mut extras: Vec<(Extra, usize)> = EXTRAS
            .into_iter()
            .map(|extra| (extra, widest(extra.heading(), &|row| extra.text(row, hours))))
            .collect();
        extras.retain(|(extra, _)| rows.iter().any(|row| extra.says_something(row)));
        let untold = extras.iter().any(|(extra, _)| *extra == Extra::NotKnown);
        let width = |extras: &[(Extra, usize)]| {
            let beside: usize = extras.iter().map(|(_, width)| width + 2).sum();
            3 + name + 2 + failed + 2 + 2 + attempts + beside
        };
        for leaves in LEAVING {
            if width(&extras) + BAR.0 <= term.width {
                break;
            }
            extras.retain(|(extra, _)| *extra != leaves);
        }
        let shows = |wanted| extras.iter().any(|(extra, _)| *extra == wanted);
        let untold = untold && shows(Extra::Ready) && !shows(Extra::NotKnown);
        let taken = width(&extras);
        let bar = term.width.saturating_sub(taken).clamp(BAR.0, BAR.1);
        // A very long name gives way last of all.
        let name = name.saturating_sub((taken + bar).saturating_sub(term.width)).max(8);
        let high = rows.iter().filter_map(|row| row.failed).map(|failed| failed.2);
        let high = high.fold(0.0, f64::max);
        let fits = |end: &f64| high > 0.0 && high <= *end;
        let end = ENDS.into_iter().find(fits).unwrap_or(1.0);
        Self { name, failed, bar, attempts, extras, untold, end }
    }
}

fn head(term: &Term, layout: &Layout) -> String {
    let axis = format!("of peers, 0 – {}\u{a0}%", layout.end * 100.0);
    let mut text = format!(
        "{}  {}  {}  {}",
        pad("instance", layout.name),
        pad_left("failed", layout.failed),
        pad(&axis, layout.bar),
        pad_left("attempts", layout.attempts)
    );
    for (extra, width) in &layout.extras {
        text.push_str("  ");
        text.push_str(&extra.align(extra.heading(), *width));
    }
    let text = text.trim_end();
    let width: usize = layout.extras.iter().map(|(_, width)| width + 2).sum();
    let width = layout.name + 2 + layout.failed + 2 + layout.bar + 2 + layout.attempts + width;
    format!("   {}\n   {}\n", term.paint(Ink::Dim, text), term.rule(width))
}

fn line(term: &Term, layout: &Layout, row: &Standing, blamed: Option<char>, hours: f64) -> String {
    let mut text = format!(
        "{}  {}  {}  {}  {}",
        blamed.unwrap_or(' '),
        pad(&cut_middle(&row.name, layout.name), layout.name),
        pad_left(&failed(row), layout.failed),
        pad(&bar(term, layout, row), layout.bar),
        pad_left(&thousands(row.cell.attempts), layout.attempts)
    );
    for (extra, width) in &layout.extras {
        text.push_str("  ");
        text.push_str(&extra.align(&extra.text(row, hours), *width));
    }
    let text = text.trim_end();
    match blamed {
        Some(_) => term.paint(Ink::Down, text) + "\n",
        None => text.to_owned() + "\n",
    }
}

fn failed(row: &Standing) -> String {
    row.failed.map_or("–".to_owned(), |(share, ..)| percent(share))
}

/// Where the peers put an instance with so many attempts, and above it where it is with its interval.
fn bar(term: &Term, layout: &Layout, row: &Standing) -> String {
    let Some((share, low, high)) = row.failed else { return String::new() };
    let column = |share: f64| {
        let at = (share / layout.end * layout.bar as f64).floor() as usize;
        at.min(layout.bar - 1)
    };
    let mut cells = vec![' '; layout.bar];
    if let Some(peers) = row.peers {
        let n = row.cell.attempts;
        let (low, high) = interval99((peers * n as f64).round() as u64, n);
        for cell in &mut cells[column(low)..=column(high)] {
            *cell = '▒';
        }
    }
    let (low, at, high) = (column(low), column(share), column(high));
    for cell in &mut cells[low..=high] {
        *cell = '─';
    }
    if low < at {
        cells[low] = '├';
    }
    if high > at {
        cells[high] = '┤';
    }
    cells[at] = if term.ascii { 'o' } else { '●' };
    cells.into_iter().collect::<String>().trim_end().to_owned()
}

impl Extra {
    fn heading(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::Share => "share",
            Self::Ready => "ready",
            Self::NotKnown => "not known",
            Self::Restarts => "restarts",
            Self::Flaps => "flaps/h",
            Self::Version => "version",
        }
    }

    /// A column that says nothing of anybody is left out.
    fn says_something(self, row: &Standing) -> bool {
        match self {
            Self::P50 | Self::P90 => row.cell.latency.count() > 0,
            Self::Share => row.cell.attempts > 0,
            Self::Ready => row.readiness.known_us > 0,
            // Where nobody says it of anybody, the line of the ready count does.
            Self::NotKnown => row.readiness.known_us > 0 && row.readiness.not_known() > Some(0.0),
            Self::Version => row.version.is_some(),
            Self::Restarts | Self::Flaps => true,
        }
    }

    fn text(self, row: &Standing, hours: f64) -> String {
        let quantile = |q| row.cell.latency.quantile(q).map_or("–".to_owned(), latency);
        match self {
            Self::P50 => quantile(0.5),
            Self::P90 => quantile(0.9),
            Self::Share => percent(row.share),
            Self::Ready => row.readiness.ready().map_or("–".to_owned(), floored),
            Self::NotKnown => row.readiness.not_known().map_or("–".to_owned(), percent),
            Self::Restarts => match (row.restarts.certain, row.restarts.probable) {
                (0, 0) => "0".to_owned(),
                (certain, 0) => format!("{certain} certain"),
                (0, probable) => format!("{probable} probable"),
                (certain, probable) => format!("{certain} + {probable} probable"),
            },
            Self::Flaps if hours > 0.0 => {
                // Under an hour there is no rate, there is what was seen.
                format!("{:.0}", row.transitions as f64 / hours.max(1.0))
            }
            Self::Flaps => "–".to_owned(),
            Self::Version => cut_middle(row.version.as_deref().unwrap_or("–"), 16),
        }
    }

    fn align(self, text: &str, width: usize) -> String {
        if self == Self::Version { pad(text, width) } else { pad_left(text, width) }
    }
}
