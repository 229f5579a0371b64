//! The report's lists: by location, by day, by member.

use super::definition::Definition;
use super::evaluate::{Engine, Inputs, Truth, View};
use super::latency;
use super::outage::Outage;
use super::ratio::Ratio;
use super::report::{Day, Location, Member};
use super::slot::{Grid, Outcome, SlotResult};
use super::timeline::{Piece, Timeline, Totals};
use super::window::{self, Window};
use crate::domain::Millis;

pub(super) fn locations(
    definition: &Definition,
    inputs: &Inputs,
    view: &View,
    engine: &Engine,
) -> Vec<Location> {
    let (start, end) = (view.bounds.start, view.end);
    let counts = engine.evidence.by_location(start, end);
    let of = |(place, id): (usize, &String)| {
        let place = place as u16;
        let own = counts.get(&place).copied().unwrap_or_default();
        let batches = engine.evidence.within(start, end).iter().copied();
        let timed = latency::of(batches.filter(|batch| batch.location == place));
        let slots = match &inputs.truth {
            Truth::Slots(grid) => Some(alone(*grid, place, view, engine)),
            _ => None,
        };
        let ratio = match &slots {
            Some(totals) => engine.time(totals).ratio(),
            None => (own.valid() > 0).then(|| Ratio::new(own.ok.into(), own.valid().into())),
        };
        let seen = match &slots {
            Some(totals) => engine.time(totals).coverage(),
            None => {
                let expected = engine.evidence.expected_of(place, start, end, &own);
                (expected > 0).then(|| Ratio::new(own.valid().into(), expected.into()))
            }
        };
        Location {
            id: id.clone(),
            pct: ratio.as_ref().and_then(|ratio| ratio.percent(definition.decimals)),
            ratio: ratio.and_then(|ratio| ratio.to_f64()),
            down_ms: slots.map(|totals| totals.down),
            unknown_ms: slots.map(|totals| totals.unknown),
            events: own.valid(),
            good: own.ok,
            coverage_pct: seen.and_then(|seen| seen.percent(definition.decimals)),
            p50: timed.p50,
            p95: timed.p95,
            p99: timed.p99,
        }
    };
    inputs.locations.iter().enumerate().map(of).collect()
}

/// Time of one location by its own results: whatever it found holds at once, and it is never down for
/// being silent.
fn alone(grid: Grid, place: u16, view: &View, engine: &Engine) -> Totals {
    let batches = engine.evidence.within(Millis::MIN, Millis::MAX).iter();
    let results = batches.filter(|batch| batch.location == place).map(|batch| SlotResult {
        at: batch.at,
        location: 0,
        outcome: match (batch.ok, batch.fail) {
            (0, 0) => Outcome::Invalid,
            (0, _) => Outcome::Fail,
            _ => Outcome::Ok,
        },
    });
    let line = Grid::alone(grid.interval).timeline(results, view.bounds.start, view.end);
    let out = &engine.evidence.out;
    line.laid_over(out, |piece| Piece {
        condition: view.figures.at(piece.from).unwrap_or(piece.condition),
        ..piece
    })
    .totals(view.bounds.start, view.end)
}

pub(super) fn days(
    definition: &Definition,
    view: &View,
    engine: &Engine,
    outages: &[Outage],
) -> Vec<Day> {
    let zone = match &definition.window {
        Window::Calendar { zone, .. } => zone.clone(),
        _ => window::zone(&definition.timezone).unwrap_or(jiff::tz::TimeZone::UTC),
    };
    let list = window::days(&zone, view.bounds.start, view.end);
    list.into_iter()
        .map(|day| {
            let totals = view.figures.totals(day.from, day.to);
            let measured = engine.measure(day.from, day.to);
            let batches = engine.evidence.within(day.from, day.to).iter().copied();
            let down_on_it = outages.iter().filter(|outage| {
                let (from, to) =
                    (outage.start.max(day.from), outage.end.unwrap_or(day.to).min(day.to));
                from < to && view.figures.totals(from, to).down > 0
            });
            Day {
                outages: down_on_it.count() as u64,
                latency_p95_ms: latency::of(batches).p95,
                date: day.date.to_string(),
                length_ms: day.to - day.from,
                down_ms: totals.down,
                partial_ms: totals.partial,
                unknown_ms: totals.unknown,
                excluded_ms: totals.excluded,
                pct: measured.ratio().and_then(|ratio| ratio.percent(definition.decimals)),
            }
        })
        .collect()
}

/// Each member by itself, and the mean of those that were measured: a statistic, not an SLO.
pub(super) fn members(
    inputs: &Inputs,
    view: &View,
    engine: &Engine,
) -> (Option<Vec<Member>>, Option<f64>) {
    if !matches!(inputs.truth, Truth::Members(..)) {
        return (None, None);
    }
    let (start, end) = (view.bounds.start, view.end);
    let of = |line: &Timeline| engine.time(&line.totals(start, end)).ratio();
    let ratios: Vec<_> = view.members.iter().map(|(id, line)| (id, of(line))).collect();
    let known: Vec<&Ratio> = ratios.iter().filter_map(|(_, ratio)| ratio.as_ref()).collect();
    let sum = known.iter().fold(Ratio::whole(0), |sum, ratio| sum.plus(ratio));
    let mean = sum.over(&Ratio::whole(known.len() as u128)).to_f64();
    let list = ratios.iter().map(|(id, ratio)| Member {
        id: (*id).clone(),
        ratio: ratio.as_ref().and_then(Ratio::to_f64),
    });
    (Some(list.collect()), mean)
}
