//! Quarter hours and civil days, counted from raw rows. A quarter is counted once when it is over, and
//! again when a late report touched it; both are the same recount, so that no drift is possible.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use sqlx::PgPool;

use crate::domain::decision::{Disposition, HistoryOnly};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::observation::{Class, Outcome, RunKind};
use crate::domain::rollup::{self, Counts, QUARTER_SECS, Sample, is_closed, quarter_of};
use crate::store;

/// Retries of a run that began at the end of a quarter lie at most this far beyond it.
const OVERHANG_SECS: i64 = 600;
/// Monitors counted in one transaction.
const CHUNK: i32 = 2_000;
/// Up to where quarters are counted.
pub(super) const QUARTER_MARK: &str = "quarter";

/// Counts the next quarter that is over, then what late reports touched. True when there may be more.
pub async fn step(pool: &PgPool, zones: &[String], now: Timestamp) -> sqlx::Result<bool> {
    let mut claim = pool.begin().await?;
    if !store::chores::claim(&mut claim, "rollups").await? {
        return Ok(false);
    }
    let more = count_next(pool, zones, now).await? | recount_due(pool, zones).await?;
    claim.commit().await?;
    Ok(more)
}

async fn count_next(pool: &PgPool, zones: &[String], now: Timestamp) -> sqlx::Result<bool> {
    let mut conn = pool.acquire().await?;
    let Some(quarter) = store::rollups::mark(&mut conn, QUARTER_MARK).await? else {
        store::rollups::set_mark(&mut conn, QUARTER_MARK, quarter_of(now)).await?;
        return Ok(false);
    };
    if !is_closed(quarter, now) {
        return Ok(false);
    }
    let last = store::rollups::last_monitor(&mut conn).await?;
    let mut from = 0;
    while from <= last {
        count_quarter(pool, from..from.saturating_add(CHUNK), quarter).await?;
        from = from.saturating_add(CHUNK);
    }
    let next = quarter + SignedDuration::from_secs(QUARTER_SECS);
    for zone in zones {
        if let Some(day) = day_ending_at(zone, next) {
            sum_days(pool, 0..last.saturating_add(1), zone, day).await?;
        }
    }
    store::rollups::set_mark(&mut conn, QUARTER_MARK, next).await?;
    Ok(true)
}

async fn recount_due(pool: &PgPool, zones: &[String]) -> sqlx::Result<bool> {
    let mut tx = pool.begin().await?;
    let due = store::rollups::take_due(&mut tx, 200).await?;
    let counted_to = store::rollups::mark(&mut tx, QUARTER_MARK).await?;
    for (monitor, quarter) in &due {
        let range = monitor.0..monitor.0.saturating_add(1);
        count_quarter_in(&mut tx, range.clone(), *quarter).await?;
        for zone in zones {
            let day = day_of(zone, *quarter);
            if let Some((day, end)) = day
                && counted_to.is_some_and(|to| end <= to)
            {
                sum_days_in(&mut tx, range.clone(), zone, day).await?;
            }
        }
    }
    tx.commit().await?;
    Ok(!due.is_empty())
}

async fn count_quarter(
    pool: &PgPool,
    monitors: std::ops::Range<i32>,
    quarter: Timestamp,
) -> sqlx::Result<()> {
    let mut tx = pool.begin().await?;
    count_quarter_in(&mut tx, monitors, quarter).await?;
    tx.commit().await
}

async fn count_quarter_in(
    conn: &mut sqlx::PgConnection,
    monitors: std::ops::Range<i32>,
    quarter: Timestamp,
) -> sqlx::Result<()> {
    let end = quarter + SignedDuration::from_secs(QUARTER_SECS);
    let reach = end + SignedDuration::from_secs(OVERHANG_SECS);
    let rows = store::reports::for_rollup(conn, monitors.clone(), quarter, reach).await?;
    let limits: BTreeMap<MonitorKey, Vec<u32>> = store::rollups::thresholds(conn, monitors.clone())
        .await?
        .into_iter()
        .map(|row| (row.monitor, thresholds_in_use(row.slow_ms, &row.assertions, &row.slos)))
        .collect();
    let mut counted: Vec<(MonitorKey, LocationKey, Counts)> = Vec::new();
    for group in rows.chunk_by(|a, b| a.monitor == b.monitor) {
        let monitor = group[0].monitor;
        let samples: Vec<Sample> = group.iter().filter_map(sample_of).collect();
        let thresholds = limits.get(&monitor).map_or(&[][..], Vec::as_slice);
        let counts = rollup::count(&samples, quarter.as_second(), end.as_second(), thresholds);
        counted.extend(counts.into_iter().map(|(location, counts)| (monitor, location, counts)));
    }
    store::rollups::replace_quarter(conn, monitors, quarter, &counted).await
}

fn sample_of(row: &store::reports::CountRow) -> Option<Sample> {
    Some(Sample {
        at_s: row.effective_at.as_microsecond().div_euclid(1_000_000),
        location: row.location,
        outcome: Outcome::from_code(row.outcome)?,
        class: Class::from_code(row.class),
        kind: RunKind::from_code(row.kind)?,
        total_us: u32::try_from(row.total_us).unwrap_or_default(),
        outdated: row.disposition == Disposition::History(HistoryOnly::OldVersion).code(),
    })
}

/// The limits that latency is compared with, in µs, at most six: those of SLOs first, which are judged by the
/// counts, then "slow", and the check's own conditions.
fn thresholds_in_use(
    slow_ms: Option<i32>,
    assertions: &serde_json::Value,
    slos: &[i64],
) -> Vec<u32> {
    let of_check = assertions.as_array().into_iter().flatten().filter_map(|a| {
        (a.get("on")?.as_str()? == "latency_ms").then(|| a.get("value")?.as_f64()).flatten()
    });
    let mut all: Vec<u32> = slow_ms
        .map(f64::from)
        .into_iter()
        .chain(of_check)
        .map(|ms| (ms * 1000.0).clamp(0.0, f64::from(u32::MAX)) as u32)
        .collect();
    all.sort_unstable();
    let of_slos = slos.iter().filter_map(|us| u32::try_from(*us).ok());
    let mut chosen: Vec<u32> = Vec::new();
    for limit in of_slos.chain(all) {
        if chosen.len() < 6 && !chosen.contains(&limit) {
            chosen.push(limit);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Sums a civil day of a monitor range from its quarter hours.
pub async fn sum_days(
    pool: &PgPool,
    monitors: std::ops::Range<i32>,
    zone: &str,
    day: Date,
) -> sqlx::Result<()> {
    let mut from = monitors.start;
    while from < monitors.end {
        let to = from.saturating_add(CHUNK).min(monitors.end);
        let mut tx = pool.begin().await?;
        sum_days_in(&mut tx, from..to, zone, day).await?;
        tx.commit().await?;
        from = to;
    }
    Ok(())
}

async fn sum_days_in(
    conn: &mut sqlx::PgConnection,
    monitors: std::ops::Range<i32>,
    zone: &str,
    day: Date,
) -> sqlx::Result<()> {
    let Some((from, to)) = bounds(zone, day) else { return Ok(()) };
    let mut sums: BTreeMap<(MonitorKey, LocationKey), Counts> = BTreeMap::new();
    for row in store::rollups::quarters(conn, monitors.clone(), from, to).await? {
        sums.entry((row.monitor, row.location)).or_default().merge(&row.counts);
    }
    let rows: Vec<_> = sums.into_iter().map(|((m, l), c)| (m, l, c)).collect();
    store::rollups::replace_day(conn, monitors, zone, day, &rows).await
}

/// First and last instant of a civil day, half-open; 23 and 25 hours where the clocks change.
fn bounds(zone: &str, day: Date) -> Option<(Timestamp, Timestamp)> {
    let zone = TimeZone::get(zone).ok()?;
    let from = day.to_zoned(zone.clone()).ok()?.timestamp();
    let to = day.tomorrow().ok()?.to_zoned(zone).ok()?.timestamp();
    Some((from, to))
}

/// The civil day that holds an instant, with its end.
fn day_of(zone: &str, at: Timestamp) -> Option<(Date, Timestamp)> {
    let day = at.to_zoned(TimeZone::get(zone).ok()?).date();
    Some((day, bounds(zone, day)?.1))
}

/// The civil day that ends exactly at an instant.
fn day_ending_at(zone: &str, at: Timestamp) -> Option<Date> {
    let (day, end) = day_of(zone, at - SignedDuration::from_millis(1))?;
    (end == at).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    #[test]
    fn civil_days_follow_their_zone() {
        let (from, to) = bounds("Europe/Berlin", jiff::civil::date(2026, 10, 25)).expect("a zone");
        assert_eq!(to.as_second() - from.as_second(), 25 * 3600);
        assert_eq!(
            day_ending_at("Europe/Berlin", at("2026-10-25T23:00:00Z")),
            Some(jiff::civil::date(2026, 10, 25))
        );
        assert_eq!(day_ending_at("Europe/Berlin", at("2026-10-25T22:00:00Z")), None);
        assert_eq!(
            day_ending_at("UTC", at("2026-10-26T00:00:00Z")),
            Some(jiff::civil::date(2026, 10, 25))
        );
    }

    #[test]
    fn limits_in_use_come_from_slow_and_from_conditions() {
        let assertions = serde_json::json!([
            {"on": "status", "op": "in", "value": ["2xx"]},
            {"on": "latency_ms", "op": "le", "value": 800},
            {"on": "latency_ms", "op": "lt", "value": 0.5}
        ]);
        assert_eq!(thresholds_in_use(Some(500), &assertions, &[]), vec![500, 500_000, 800_000]);
        let many = [7, 6, 5, 4, 3, 3];
        let chosen = thresholds_in_use(Some(500), &assertions, &many);
        assert_eq!(chosen, vec![3, 4, 5, 6, 7, 500], "those of SLOs go first");
    }

    #[test]
    fn a_quarter_is_closed_when_its_end_has_settled() {
        let quarter = quarter_of(at("2026-11-29T21:44:59.9Z"));
        assert_eq!(quarter, at("2026-11-29T21:30:00Z"));
        assert!(!is_closed(quarter, at("2026-11-29T21:46:29Z")));
        assert!(is_closed(quarter, at("2026-11-29T21:46:30Z")));
    }
}
