//! Between what the timeline says and what is stored.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{
    domain::fleet::{
        beats::Beats,
        cell::Cell,
        event::{Event, State},
        timeline::{Instance, Marks, ReadyPoint, Removal, ZonePoint},
    },
    store::{
        self,
        fleet_cells::{CellRow, JUDGED, PoolRow},
        fleet_findings::RemovalRow,
        fleet_live::InstanceRow,
        fleet_states::{ReadyRow, TransitionRow},
    },
};

/// What batches noted to the µs, put together.
pub(super) fn marks(pools: &[PoolRow]) -> Marks {
    let mut all = Marks::default();
    for row in pools {
        let Some(value) = &row.marks else { continue };
        // Only we write these; what cannot be read is not worth a fleet that is never judged again.
        let Ok(marks) = serde_json::from_value::<Marks>(value.clone()) else { continue };
        all.redispatched.extend(marks.redispatched);
        all.runs.extend(marks.runs);
        all.beats.extend(marks.beats);
        all.failed.extend(marks.failed);
    }
    all.redispatched.sort_unstable();
    all.runs.sort_by_key(|run| run.from_us);
    all.failed.sort_by_key(|failed| failed.at_us);
    all
}

/// Moves what turned out to be checks from traffic to checks, and gives what they say of their instances.
pub(super) fn sort_out(
    checks: &[Beats],
    at: Timestamp,
    cells: &mut Vec<CellRow>,
    pools: &mut [PoolRow],
) -> Vec<Event> {
    let mut events = Vec::new();
    for one in checks {
        let same = |row: &CellRow| {
            (&row.pool, &row.instance, &row.route) == (&one.pool, &one.instance, &one.route)
        };
        let cell = cells.iter().position(same).unwrap_or_else(|| {
            cells.push(CellRow {
                at,
                stage: JUDGED,
                pool: one.pool.clone(),
                instance: one.instance.clone(),
                route: one.route.clone(),
                source: None,
                cell: Cell::default(),
            });
            cells.len() - 1
        });
        // Every share of a pool's cells comes with one of the pool.
        let Some(pool) = pools.iter_mut().find(|row| row.pool == one.pool) else { continue };
        if one.move_in(&mut cells[cell].cell, &mut pool.cell) {
            events.extend(one.events());
        }
    }
    events
}

/// The sources that told of an instance's traffic, by instance.
pub(super) fn fed(
    cells: &[CellRow],
    named: impl Fn(&str) -> String,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in cells {
        let Some(source) = &row.source else { continue };
        let of = all.entry(named(&row.instance)).or_default();
        if !of.contains(source) {
            of.insert(source.clone());
        }
    }
    all
}

pub(super) fn ready_row(point: &ReadyPoint, expected: Option<i32>) -> ReadyRow {
    ReadyRow {
        at: instant(point.at_us),
        source: point.source.as_str().to_owned(),
        ready: point.ready.and_then(small),
        low: point.least.and_then(small),
        high: point.most.and_then(small),
        expected,
        unknown: small(point.unknown).unwrap_or(0),
        zones: zones(&point.zones),
    }
}

/// None where no instance has a zone.
pub(super) fn zones(points: &[ZonePoint]) -> Option<serde_json::Value> {
    (!points.is_empty()).then(|| serde_json::json!(points))
}

/// Its state has a beginning: it is known, or it is not known any more.
pub(super) fn is_told(instance: &Instance) -> bool {
    instance.state != State::Unknown || instance.lost_us.is_some()
}

pub(super) fn transition(instance: &Instance, old: Option<&InstanceRow>) -> Option<TransitionRow> {
    let state = instance.state.as_str();
    let at = instant(instance.since_us);
    let same = old.is_some_and(|old| old.state == state && old.state_at == Some(at));
    if same || !is_told(instance) {
        return None;
    }
    Some(TransitionRow {
        at,
        instance: instance.name.clone(),
        state: state.to_owned(),
        source: instance.source.map(|source| source.as_str().to_owned()).unwrap_or_default(),
        reason: instance.reason.clone(),
        planned: matches!(instance.state, State::Draining | State::Maintenance),
    })
}

pub(super) fn removal_row(removal: &Removal, now: Timestamp) -> RemovalRow {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    RemovalRow {
        id: store::id_at(now),
        instance: removal.instance.clone(),
        failed_at: removal.failed_us.map(instant),
        removed_at: instant(removal.removed_us),
        good_at: removal.well_us.map(instant),
        returned_at: removal.returned_us.map(instant),
        cause: removal.cause.as_str().to_owned(),
        reason: removal.reason.clone(),
        source: removal.source.as_str().to_owned(),
        ttr_us: removal.time_us(),
        resolution_us: removal.resolution_us,
        harmed: count(removal.harmed),
        client_visible: count(removal.client_visible),
        minimum_us: removal.minimum_us,
    }
}

pub(super) fn small(n: u32) -> Option<i32> {
    i32::try_from(n).ok()
}

pub(super) fn instant(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accesslog::{Context, Format, Line, Parser},
        domain::fleet::{
            cell::PoolCell,
            settings::Settings,
            tally::{Role, SourceInfo, Tally},
            timeline::Timeline,
        },
        store::fleet_cells::SHARE,
    };

    /// Shares of one window as intake stores them, of lines that another share ends.
    fn shares(lines: &str, size: usize) -> Vec<(Vec<CellRow>, Vec<PoolRow>)> {
        let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: 0 };
        let mut parser = Parser::new(Format::NginxCombined, &context);
        let info = SourceInfo {
            id: 0,
            role: Role::Instance("web1".into()),
            pool: String::new(),
            counts: true,
        };
        let lines: Vec<&str> = lines.lines().collect();
        let share = |part: &[&str]| {
            let mut tally = Tally::new(&Settings::default());
            for line in part {
                let Ok(Line::Request(record)) = parser.line(line.as_bytes()) else { panic!() };
                tally.add(&record, &info);
            }
            let (mut cells, mut pools) = (Vec::new(), Vec::new());
            for taken in tally.take_all() {
                let at = Timestamp::from_second(taken.window.index * 60).unwrap();
                for (instance, routes) in taken.window.cells {
                    cells.extend(routes.into_iter().map(|(route, cell)| CellRow {
                        at,
                        stage: SHARE,
                        pool: String::new(),
                        instance: instance.clone(),
                        route,
                        source: None,
                        cell,
                    }));
                }
                let marks = Marks { beats: taken.beats, ..Marks::default() };
                let marks = Some(serde_json::json!(marks));
                let cell = taken.window.pool;
                pools.push(PoolRow { at, stage: SHARE, pool: String::new(), cell, marks });
            }
            (cells, pools)
        };
        lines.chunks(size).map(share).collect()
    }

    #[test]
    fn checks_are_sorted_out_the_same_however_the_batches_were_cut() {
        let window = |minute: u32, size: usize| {
            let line = |s: u32| {
                let path = if s.is_multiple_of(5) { "/healthz" } else { "/cart" };
                format!(
                    "10.0.0.5 - - [05/Mar/2026:10:{minute:02}:{s:02} +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"-\"\n"
                )
            };
            shares(&(0..60).map(line).collect::<String>(), size)
        };
        let judged = |size: usize| -> Vec<(PoolCell, u64, u64, usize)> {
            let mut timeline = Timeline::new("", &Settings::default());
            let judge = |minute| {
                let (cells, pools): (Vec<_>, Vec<_>) = window(minute, size).into_iter().unzip();
                let (cells, pools) = (cells.concat(), pools.concat());
                let at = pools[0].at;
                let mut marks = marks(&pools);
                let names = crate::intake::names::InstanceNames::default();
                let (mut cells, mut pools) =
                    super::super::added(cells, pools, &names, |_| at, false, JUDGED);
                let checks = timeline.rhythms.checks(std::mem::take(&mut marks.beats));
                let events = sort_out(&checks, at, &mut cells, &mut pools).len();
                // As it is between two looks.
                let stored = serde_json::to_value(&timeline).unwrap();
                timeline = serde_json::from_value(stored).unwrap();
                let sum = |of: fn(&Cell) -> u64| cells.iter().map(|row| of(&row.cell)).sum();
                let attempts = sum(|cell| cell.attempts);
                (pools[0].cell.clone(), attempts, sum(|cell| cell.probes_passed), events)
            };
            (0..3).map(judge).collect()
        };
        let whole = judged(60);
        let figures: Vec<_> = whole.iter().map(|w| (w.0.requests, w.1, w.2, w.3)).collect();
        assert_eq!(figures, [(60, 60, 0, 0), (48, 48, 12, 12), (48, 48, 12, 12)]);
        for size in [1, 7, 30, 59] {
            assert_eq!(judged(size), whole, "{size}");
        }
    }
}
