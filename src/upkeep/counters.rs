//! Counters of `/metrics` advance with the watermarks of their monitors. A step claims monitors by their rows,
//! so that any number of coordinators share them and nothing is counted twice.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use sqlx::{PgConnection, PgPool};

use crate::domain::{
    Millis,
    availability::Stretch as Interval,
    ids::{LocationKey, MonitorKey},
    slo::{
        counting,
        evidence::{Batch, Evidence, Plan},
        maintenance::{self, Occurrence},
        timeline::{Spans, Timeline},
    },
};
use crate::store::{
    self,
    counters::{Growth, MarkRow, Stretch, place},
    plans::PlanRow,
    slo_inputs::{instant, told_until},
    slo_state::{self, MonitorRow},
};

/// A monitor is counted again after this.
const FRESH: SignedDuration = SignedDuration::from_secs(15);
/// Monitors that are counted in one transaction.
const BATCH: i64 = 200;
/// At most so much is counted at once, after a time in which nobody did.
const STRIDE: Millis = 6 * 3_600_000;
/// Results are counted so long after the time-out of their cell, so that what is under way has arrived.
const SETTLE: Millis = 90_000;

/// Counts what is due; true when there may be more.
pub(super) async fn step(pool: &PgPool, now: Timestamp) -> sqlx::Result<bool> {
    let mut tx = pool.begin().await?;
    store::counters::begin(&mut tx, now).await?;
    let before = now.saturating_sub(FRESH).unwrap_or(now);
    let marks = store::counters::due(&mut tx, before, BATCH).await?;
    if marks.is_empty() {
        tx.commit().await?;
        return Ok(false);
    }
    let goals = goals(&mut tx, &marks, now).await?;
    let growth = count(&mut tx, &goals).await?;
    store::counters::grow(&mut tx, &growth, now).await?;
    tx.commit().await?;
    Ok(marks.len() as i64 == BATCH)
}

/// How far a monitor can be counted now.
struct Goal {
    monitor: MonitorRow,
    told: (Millis, Millis),
    results: (Millis, Millis),
    interval: Millis,
}

async fn goals(
    conn: &mut PgConnection,
    marks: &[MarkRow],
    now: Timestamp,
) -> sqlx::Result<Vec<Goal>> {
    let keys: Vec<i32> = marks.iter().map(|mark| mark.monitor.0).collect();
    // The live rows are read before what they vouch for: what is up to a watermark does not change after.
    let swept_at = slo_state::swept_at(conn).await?;
    let mut monitors: BTreeMap<MonitorKey, MonitorRow> =
        slo_state::monitors(conn, &keys).await?.into_iter().map(|m| (m.key, m)).collect();
    let mut goals = Vec::with_capacity(marks.len());
    for mark in marks {
        let Some(monitor) = monitors.remove(&mark.monitor) else { continue };
        let told = told_until(std::slice::from_ref(&monitor), swept_at, now)?;
        let interval = (i64::from(monitor.interval_s) * 1_000).max(1_000);
        let settled = told - SETTLE - i64::from(monitor.timeout_ms);
        let cells = settled.div_euclid(interval) * interval;
        let next = |from: Timestamp, to: Millis| {
            let from = from.as_millisecond();
            (from, to.clamp(from, from.saturating_add(STRIDE)))
        };
        goals.push(Goal {
            told: next(mark.told_to, told),
            results: next(mark.results_to, cells),
            interval,
            monitor,
        });
    }
    Ok(goals)
}

async fn count(conn: &mut PgConnection, goals: &[Goal]) -> sqlx::Result<Vec<Growth>> {
    let keys: Vec<i32> = goals.iter().map(|goal| goal.monitor.key.0).collect();
    let from = goals.iter().map(|goal| goal.told.0.min(goal.results.0)).min().unwrap_or(0);
    let to = goals.iter().map(|goal| goal.told.1.max(goal.results.1)).max().unwrap_or(0);
    let (first, last) = (instant(from), instant(to));
    let mut intervals = slo_state::intervals(conn, &keys, first, last).await?;
    let names = slo_state::location_names(conn).await?;
    let mut occurrences = slo_state::maintenance(conn, &keys, first, last, &names).await?;
    let holes = Spans::union(slo_state::not_running(conn, first, last).await?);
    let spans: Vec<_> = goals
        .iter()
        .map(|goal| (goal.monitor.key, instant(goal.told.0), instant(goal.told.1)))
        .collect();
    let incidents = store::counters::incidents(conn, &spans).await?;
    let stretches: Vec<Stretch> = goals
        .iter()
        .map(|goal| Stretch {
            monitor: goal.monitor.key,
            from: goal.results.0,
            to: goal.results.1,
            interval: goal.interval,
        })
        .collect();
    let events = store::counters::events(conn, &stretches).await?;
    let mut plans = store::plans::of_many(conn, &keys, first).await?;
    let mut all = Vec::with_capacity(goals.len());
    for ((goal, incidents), batches) in goals.iter().zip(incidents).zip(events) {
        let key = goal.monitor.key;
        let past = Past {
            intervals: intervals.remove(&key).unwrap_or_default(),
            occurrences: occurrences.remove(&key).unwrap_or_default(),
            holes: &holes,
            names: &names,
            plans: plans_of(&goal.monitor, plans.remove(&key).unwrap_or_default()),
        };
        all.push(growth(goal, &past, &batches, incidents));
    }
    Ok(all)
}

/// What was stored of a monitor's states.
struct Past<'a> {
    intervals: Vec<Interval>,
    occurrences: Vec<Occurrence>,
    holes: &'a Spans,
    names: &'a BTreeMap<LocationKey, String>,
    plans: Vec<Plan>,
}

/// What was to be probed when; a monitor of which nothing was noted has always been as it is.
fn plans_of(monitor: &MonitorRow, rows: Vec<PlanRow>) -> Vec<Plan> {
    let ends = rows.iter().skip(1).map(|row| row.from_at.as_millisecond()).chain([Millis::MAX]);
    let of = |from: Timestamp, to, interval_s: i32, locations: &[LocationKey]| Plan {
        from: from.as_millisecond(),
        to,
        interval: (i64::from(interval_s) * 1_000).max(1_000),
        locations: locations.iter().map(|key| place(*key)).collect(),
    };
    if rows.is_empty() {
        return vec![of(monitor.created_at, Millis::MAX, monitor.interval_s, &monitor.locations)];
    }
    rows.iter()
        .zip(ends)
        .map(|(row, to)| of(row.from_at, to, row.interval_s, &row.locations))
        .collect()
}

fn growth(goal: &Goal, past: &Past<'_>, batches: &[Batch], incidents: i64) -> Growth {
    let monitor = &goal.monitor;
    let from = goal.told.0.min(goal.results.0);
    let to = goal.told.1.max(goal.results.1);
    let line = Timeline::decided(from, to, &past.intervals, past.holes)
        .excluding(&maintenance::excluded(&past.occurrences))
        .monitored(Some(monitor.created_at.as_millisecond()), None);
    let asked = past.plans.iter().filter(|plan| plan.from < to && plan.to > from);
    let places: BTreeSet<u16> = asked.flat_map(|plan| plan.locations.iter().copied()).collect();
    let places: Vec<u16> = places.into_iter().collect();
    let scoped = past
        .names
        .iter()
        .map(|(key, name)| (place(*key), maintenance::excluded_at(&past.occurrences, name)))
        .filter(|(_, spans)| !spans.is_empty())
        .collect();
    let evidence = Evidence::new(batches, &past.plans, &line, scoped);
    let results = counting::results(&evidence, &places, goal.results.0, goal.results.1);
    let mark = MarkRow {
        monitor: monitor.key,
        told_to: instant(goal.told.1),
        results_to: instant(goal.results.1),
    };
    let location = |place: u16| LocationKey(i16::try_from(place).unwrap_or_default());
    Growth {
        mark,
        told: counting::told(&line, goal.told.0, goal.told.1, &past.plans),
        incidents,
        results: results.into_iter().map(|(place, one)| (location(place), one)).collect(),
    }
}
