//! Results of one monitor as the batches that figures are made from.

use std::collections::BTreeMap;

use sqlx::PgConnection;

use super::slo_events::{self, ResultRow, SumRow};
use super::slo_inputs::View;
use super::slo_state::MonitorRow;
use super::withheld;
use crate::domain::{
    Millis,
    decision::{Disposition, HistoryOnly},
    ids::LocationKey,
    observation::{Outcome, RunKind},
    rollup::{self, Event, Sample},
    slo::{
        burn,
        definition::{Definition, Sli},
        evaluate::Inputs,
        evidence::{Batch, Plan, Timing},
        sources::{Grain, Kept, Wanted, edges_of, sources},
        timeline::Spans,
        window::DAY,
    },
};

/// Retries of a run lie at most so far behind it.
pub(super) const OVERHANG: Millis = 600_000;

const QUARTER: Millis = 900_000;

/// Reads the results that the window and the lookbacks need, and those of a span before it if the view wants
/// them, and says what was expected. `names` are those of all locations; the inputs have their timeline and
/// their maintenance already.
pub(super) async fn read(
    conn: &mut PgConnection,
    monitor: &MonitorRow,
    definition: &Definition,
    names: &BTreeMap<LocationKey, String>,
    view: View,
    inputs: &mut Inputs,
) -> sqlx::Result<()> {
    let Some(bounds) = definition.window.bounds(inputs.watermark) else { return Ok(()) };
    let interval = i64::from(monitor.interval_s) * 1_000;
    let decides = !definition.sli.is_time();
    let end = inputs.watermark.min(bounds.end);
    let lookbacks = definition.rules.iter().map(|rule| rule.long);
    let longest = lookbacks.chain([burn::DRAIN]).max().unwrap_or(0);
    let start = bounds.start - view.before;
    let first = if decides { start.min(inputs.watermark - longest) } else { start };
    let wanted = Wanted {
        from: first.max(monitor.created_at.as_millisecond()),
        to: if decides { inputs.watermark } else { end },
        per_hour: (3_600_000 / interval.max(1)) as u64 * monitor.locations.len().max(1) as u64,
        // Single days are told by the SLO's zone, and only where everything is.
        by_days: !decides || (!view.at_points && (view.brief || definition.timezone == "UTC")),
    };
    let kept = Kept {
        raw_from: super::reports::oldest(conn).await?.map_or(Millis::MAX, |at| at.as_millisecond()),
        summed_to: super::rollups::mark(conn, "quarter")
            .await?
            .map_or(Millis::MIN, |at| at.as_millisecond()),
    };
    let (from, to) =
        (super::slo_inputs::instant(wanted.from), super::slo_inputs::instant(wanted.to));
    let withheld = withheld::read(conn, &[monitor.key.0], from, to).await?.of(monitor.key);
    let mut edges = edges(definition, inputs, bounds.start, end);
    edges.extend(withheld.values().flat_map(edges_of));
    let parts = sources(wanted, kept, &mut edges);
    let of = |grain| -> Vec<(Millis, Millis)> {
        parts.iter().filter(|part| part.0 == grain).map(|(_, from, to)| (*from, *to)).collect()
    };
    let threshold = match definition.sli {
        Sli::Latency { threshold_us, .. } => Some(threshold_us),
        _ => None,
    };
    let mut places = Places::of(monitor, names);
    let out = |location: &LocationKey| withheld.get(location);
    let raw = of(Grain::Raw);
    let mut batches =
        single(conn, monitor, &raw, (interval, threshold), &withheld, &mut places).await?;
    let (quarters, days) = (of(Grain::Quarter), of(Grain::Day));
    for row in slo_events::quarters(conn, monitor.key, &quarters, threshold).await? {
        batches.push(summed(&row, QUARTER, threshold, out(&row.location), &mut places));
    }
    for row in slo_events::days(conn, monitor.key, &days, threshold).await? {
        batches.push(summed(&row, DAY, threshold, out(&row.location), &mut places));
    }
    batches.sort_by_key(|batch| (batch.at, batch.location));
    inputs.plans = plans(conn, monitor, wanted.from, &mut places).await?;
    inputs.summed = edges.iter().any(|edge| {
        (wanted.from..kept.raw_from.min(wanted.to)).contains(edge) && edge.rem_euclid(QUARTER) != 0
    });
    inputs.batches = batches;
    inputs.locations = places.names;
    Ok(())
}

/// What was to be probed from an instant on.
async fn plans(
    conn: &mut PgConnection,
    monitor: &MonitorRow,
    from: Millis,
    places: &mut Places<'_>,
) -> sqlx::Result<Vec<Plan>> {
    let rows = super::plans::since(conn, monitor.key, super::slo_inputs::instant(from)).await?;
    let begins: Vec<Millis> = rows.iter().map(|row| row.from_at.as_millisecond()).collect();
    let ends = begins.iter().skip(1).copied().chain([Millis::MAX]);
    let plan = |(row, to): (&super::plans::PlanRow, Millis)| Plan {
        from: row.from_at.as_millisecond(),
        to,
        interval: i64::from(row.interval_s) * 1_000,
        locations: row.locations.iter().map(|key| places.of_location(*key)).collect(),
    };
    if rows.is_empty() {
        return Ok(vec![Plan {
            from: monitor.created_at.as_millisecond(),
            to: Millis::MAX,
            interval: i64::from(monitor.interval_s) * 1_000,
            locations: monitor.locations.iter().map(|key| places.of_location(*key)).collect(),
        }]);
    }
    Ok(rows.iter().zip(ends).map(plan).collect())
}

/// Instants at which some figure begins or ends: the window, the lookbacks where events decide, and the
/// edges of what does not count.
fn edges(definition: &Definition, inputs: &Inputs, start: Millis, end: Millis) -> Vec<Millis> {
    use crate::domain::decision::State;
    use crate::domain::slo::evaluate::Truth;
    let mut all = vec![start, end];
    if !definition.sli.is_time() {
        let rules = definition.rules.iter().flat_map(|rule| [rule.long, rule.short]);
        all.extend(burn::LOOKBACKS.into_iter().chain(rules).map(|l| inputs.watermark - l));
    }
    all.extend(inputs.maintenance.iter().filter_map(|m| m.span()).flat_map(|(a, b)| [a, b]));
    if let Truth::Decided(decided) = &inputs.truth {
        let pauses = decided.stretches.iter().filter(|s| s.state == State::Paused);
        all.extend(pauses.flat_map(|s| [Some(s.from), s.to]).flatten());
    }
    all.extend([inputs.created_at, inputs.deleted_at].into_iter().flatten());
    all
}

/// Places of locations in the list of their names: the configured ones in their order, then others.
struct Places<'a> {
    known: &'a BTreeMap<LocationKey, String>,
    places: BTreeMap<LocationKey, u16>,
    names: Vec<String>,
}

impl<'a> Places<'a> {
    fn of(monitor: &MonitorRow, known: &'a BTreeMap<LocationKey, String>) -> Self {
        let mut places = Self { known, places: BTreeMap::new(), names: Vec::new() };
        for key in &monitor.locations {
            places.of_location(*key);
        }
        places
    }

    fn of_location(&mut self, key: LocationKey) -> u16 {
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let place = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        let name = self.known.get(&key).cloned().unwrap_or_else(|| key.0.to_string());
        self.names.push(name);
        self.places.insert(key, place);
        place
    }
}

/// Events one by one. An event stands at the beginning of the cell of the grid in which it was scheduled.
async fn single(
    conn: &mut PgConnection,
    monitor: &MonitorRow,
    parts: &[(Millis, Millis)],
    (interval, threshold): (Millis, Option<u32>),
    out: &BTreeMap<LocationKey, Spans>,
    places: &mut Places<'_>,
) -> sqlx::Result<Vec<Batch>> {
    let reach: Vec<_> = parts.iter().map(|(from, to)| (*from, to + OVERHANG)).collect();
    let rows = slo_events::results(conn, monitor.key, &reach).await?;
    let mut batches = Vec::with_capacity(rows.len());
    for part in rows.chunk_by(|a, b| a.part == b.part) {
        let place = part.first().and_then(|row| usize::try_from(row.part - 1).ok());
        let Some(&(from, to)) = place.and_then(|place| parts.get(place)) else { continue };
        let samples: Vec<Sample> = part.iter().filter_map(sample).collect();
        for event in rollup::events(&samples) {
            let at = event.first.at_s * 1_000;
            if at >= from - 999 && at < to {
                let cell = at.div_euclid(interval) * interval;
                let location = places.of_location(event.first.location);
                let mut batch = batch(&event, cell, location, threshold);
                withheld::withhold(&mut batch, out.get(&event.first.location), at, at + 1);
                batches.push(batch);
            }
        }
    }
    Ok(batches)
}

pub(super) fn sample(row: &ResultRow) -> Option<Sample> {
    Some(Sample {
        at_s: row.effective_at.as_microsecond().div_euclid(1_000_000),
        location: row.location,
        outcome: Outcome::from_code(row.outcome)?,
        class: None,
        kind: RunKind::from_code(row.kind)?,
        total_us: u32::try_from(row.total_us).unwrap_or_default(),
        outdated: row.disposition == Disposition::History(HistoryOnly::OldVersion).code(),
    })
}

pub(super) fn batch(event: &Event, at: Millis, location: u16, threshold: Option<u32>) -> Batch {
    let good = event.last.as_event();
    let us = event.last.total_us;
    let quick = u64::from(good == Some(true) && threshold.is_some_and(|limit| us <= limit));
    Batch {
        at,
        to: at + 1,
        location,
        ok: u64::from(good == Some(true)),
        fail: u64::from(good == Some(false)),
        invalid: u64::from(good.is_none()),
        missing: 0,
        quick: (quick, quick),
        timing: if good == Some(true) { Timing::One(us) } else { Timing::None },
    }
}

fn summed(
    row: &SumRow,
    length: Millis,
    threshold: Option<u32>,
    out: Option<&Spans>,
    places: &mut Places<'_>,
) -> Batch {
    let at = row.at.as_millisecond();
    // Sums count quick passes of every attempt; no more than there were good events.
    let quick = match (row.quick, threshold) {
        (Some(count), _) => (count, count),
        (None, Some(limit)) => row.sketch.at_or_under(limit),
        (None, None) => (0, 0),
    };
    let mut batch = Batch {
        at,
        to: at + length,
        location: places.of_location(row.location),
        ok: row.ok,
        fail: row.fail,
        invalid: row.invalid,
        missing: 0,
        quick: (quick.0.min(row.ok), quick.1.min(row.ok)),
        timing: if row.sketch.count() == 0 {
            Timing::None
        } else {
            Timing::Many { sum_us: row.sum_us, sketch: Box::new(row.sketch.clone()) }
        },
    };
    withheld::withhold(&mut batch, out, at, at + length);
    batch
}
