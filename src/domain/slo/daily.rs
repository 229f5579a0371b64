//! What a status page shows of an SLO, or of a monitor by itself: its share over the window, its time by civil
//! day, and how it is now. The same timeline and the same measure as the report's ([`super::evaluate`]).

use jiff::civil::Date;

use super::definition::{Definition, MaintenancePolicy, Share, Sli, Target, UnknownPolicy};
use super::evaluate::{Engine, Inputs, View};
use super::ratio::Ratio;
use super::timeline::{Condition, Piece, Timeline, Totals};
use super::window::{self, Bounds, Window};
use crate::domain::Millis;

/// How long requests are looked at to say how a fleet is now.
const RECENT: Millis = 900_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Daily {
    /// Percent, cut off; none when nothing was measured.
    pub pct: Option<String>,
    pub totals: Totals,
    /// Civil days of the definition's zone.
    pub days: Vec<Day>,
    pub now: Now,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Day {
    pub date: Date,
    pub from: Millis,
    pub to: Millis,
    pub totals: Totals,
    pub pct: Option<String>,
    /// Results or requests of the day were below the target; never for an indicator of time.
    pub missed: bool,
}

/// How it is at the end of what is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    pub condition: Condition,
    /// Up, but slow or failing now and then.
    pub degraded: bool,
    /// Since when; none where only shares are known.
    pub since: Option<Millis>,
    /// What was known last, with whether it was degraded then; none when nothing ever was.
    pub last_known: Option<(Condition, bool)>,
}

/// What a monitor by itself is judged by: time that is not down, of the time that is known, without maintenance.
pub fn plain(bounds: Bounds, timezone: &str, decimals: u32) -> Option<Definition> {
    Some(Definition {
        // Nothing that is shown depends on it.
        target: Target::new(999_000_000)?,
        sli: Sli::Availability,
        window: Window::Fixed { from: bounds.start, to: bounds.end },
        timezone: timezone.to_owned(),
        unknown_policy: UnknownPolicy::Exclude,
        maintenance_policy: MaintenancePolicy::Exclude,
        partial_weight_ppm: 0,
        coverage_min: Share::percent(90),
        rules: Vec::new(),
        decimals,
        resolution: None,
    })
}

/// None when the window lies beyond the calendar.
pub fn daily(definition: &Definition, inputs: &Inputs) -> Option<Daily> {
    let bounds = definition.window.bounds(inputs.watermark)?;
    let view = View::of(definition, inputs, bounds);
    let engine = Engine::of(definition, inputs, &view.figures);
    let zone = window::zone(&definition.timezone).ok()?;
    let percent = |ratio: Option<Ratio>| ratio.and_then(|ratio| ratio.percent(definition.decimals));
    // Nobody probes a fleet: what was heard of it stands for what was measured.
    let heard_only = matches!(definition.sli, Sli::Requests { fallback: None, .. });
    let target = definition.target.ratio();
    let totals = |from: Millis, to: Millis| {
        let totals = view.figures.totals(from, to);
        if heard_only { heard(totals, engine.measure(from, to).coverage()) } else { totals }
    };
    let days = window::days(&zone, view.bounds.start, view.end).into_iter().map(|day| {
        let measured = engine.measure(day.from, day.to);
        Day {
            date: day.date,
            from: day.from,
            to: day.to,
            totals: totals(day.from, day.to),
            missed: !definition.sli.is_time() && measured.met(&target) == Some(false),
            pct: percent(measured.ratio()),
        }
    });
    let days: Vec<Day> = days.collect();
    let now = if heard_only { by_requests(&engine, &target, view.end) } else { now(&view) };
    Some(Daily {
        pct: percent(engine.measure(view.bounds.start, view.end).ratio()),
        totals: days.iter().fold(Totals::default(), |sum, day| sum.plus(&day.totals)),
        days,
        now,
    })
}

/// Time of a fleet, known for the share of its minutes in which it was heard of.
fn heard(totals: Totals, coverage: Option<Ratio>) -> Totals {
    let share = coverage.and_then(|coverage| coverage.to_f64()).unwrap_or(0.0);
    let known = (totals.unknown as f64 * share) as Millis;
    Totals { up: totals.up + known, unknown: totals.unknown - known, ..totals }
}

fn now(view: &View) -> Now {
    let last = view.figures.pieces().iter().rev().find(|piece| piece.from < view.end);
    let known = |piece: &&Piece| {
        matches!(piece.condition, Condition::Up | Condition::Partial | Condition::Down)
    };
    let before = |line: &Timeline| {
        let pieces = line.pieces().iter().rev().filter(|piece| piece.from < view.end);
        pieces.clone().find(known).map(|piece| (piece.condition, piece.degraded))
    };
    Now {
        condition: last.map_or(Condition::Unknown, |piece| piece.condition),
        degraded: last.is_some_and(|piece| piece.degraded),
        since: last.map(|piece| piece.from),
        last_known: before(&view.base),
    }
}

fn by_requests(engine: &Engine, target: &Ratio, end: Millis) -> Now {
    let measured = engine.measure(end - RECENT, end);
    let condition = match measured.ratio() {
        None => Condition::Unknown,
        Some(ratio) if ratio.to_f64() == Some(0.0) => Condition::Down,
        Some(ratio) if ratio < *target => Condition::Partial,
        Some(_) => Condition::Up,
    };
    let last_known = (condition != Condition::Unknown).then_some((condition, false));
    Now { condition, degraded: false, since: None, last_known }
}
