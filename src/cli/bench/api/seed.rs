//! A year of monitoring, written by the functions that the product writes with, in the order of time, so that
//! rows of different monitors lie between each other as they do in earnest.

use std::{
    collections::HashMap,
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp, ToSpan, tz::TimeZone};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::super::{
    super::term::{Term, thousands},
    ingest::steady,
};
use super::{
    Size,
    past::{self, MINUTE, Turn},
};
use crate::{
    clock::Clock,
    domain::{
        Millis,
        decision::State,
        ids::{LocationKey, MonitorKey},
        observation::Outcome,
        rollup::{self, Counts, QUARTER_SECS, Sample},
        slo::subject::Subject,
    },
    store::{
        self, incidents::NewIncident, reports::ReportRow, slos::Values, timeline::NewInterval,
    },
    upkeep::{Upkeep, rollups},
};

const LOCATIONS: [&str; 3] = ["eu", "us", "ap"];
/// Connections that write at once.
const LANES: usize = 4;
const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);
const ROLLED_UP: SignedDuration = SignedDuration::from_hours(90 * 24);
const THRESHOLD_US: u32 = 300_000;

/// What was written.
#[derive(Debug)]
pub(super) struct Seeded {
    pub intervals: usize,
    pub results: usize,
    pub quarters: usize,
    pub slos: usize,
    /// How long the evaluation of all SLOs took.
    pub evaluated: Duration,
    /// The SLOs of the first monitors, which have roll-ups, by indicator.
    pub watched: Vec<(&'static str, Vec<Uuid>)>,
}

/// Fills an empty database with what came before `start`.
pub(super) async fn seed(
    term: &Term,
    pool: &PgPool,
    size: Size,
    start: Timestamp,
) -> anyhow::Result<Seeded> {
    let say = |text: &str| term.warn(&format!("{} monitors: {text}", size.monitors));
    let mut conn = pool.acquire().await?;
    let world = world(&mut conn, size, start).await?;
    say("a year of intervals");
    let intervals = timelines(pool, &world).await?;
    say(&format!("{} intervals; 90 days of roll-ups", thousands(intervals as u64)));
    let quarters = roll_ups(pool, &world, size, start).await?;
    say(&format!(
        "{} quarter hours; {} days of results",
        thousands(quarters as u64),
        size.raw_days
    ));
    let results = results(pool, &world, size, start).await?;
    say(&format!("{} results; {} SLOs", thousands(results as u64), size.slos));
    let watched = slos(&mut conn, &world, size, start).await?;
    store::bench::tidy(&mut conn).await?;
    let evaluated = evaluate(pool, start).await?;
    say(&format!("all SLOs evaluated in {:.1} s", evaluated.as_secs_f64()));
    store::bench::tidy(&mut conn).await?;
    let slos = size.slos;
    Ok(Seeded { intervals, results, quarters, slos, evaluated, watched })
}

/// What everything is about.
struct World {
    monitors: Vec<(MonitorKey, Uuid)>,
    locations: Vec<LocationKey>,
    pasts: Arc<Vec<Vec<Turn>>>,
}

async fn world(
    conn: &mut sqlx::PgConnection,
    size: Size,
    start: Timestamp,
) -> anyhow::Result<World> {
    let created = start - YEAR;
    let agents = store::bench::locations(conn, &LOCATIONS, created).await?;
    let locations: Vec<LocationKey> = agents.iter().map(|(location, _)| *location).collect();
    let (live, _) = steady(&locations, start);
    let text = serde_json::to_string(&live)?;
    // Nobody probes, and nobody is to notice: no deadline comes.
    let since = (created, start);
    let monitors = store::bench::monitors(
        conn,
        size.monitors,
        &locations,
        &text,
        live.state.code(),
        None,
        since,
    )
    .await?;
    let keys: Vec<i32> = monitors.iter().map(|(key, _)| key.0).collect();
    store::plans::note(conn, &keys, created).await?;
    let (from, to) = (created.as_millisecond(), start.as_millisecond());
    let pasts = (0..monitors.len() as u64).map(|monitor| past::turns(monitor, from, to)).collect();
    Ok(World { monitors, locations, pasts: Arc::new(pasts) })
}

async fn timelines(pool: &PgPool, world: &World) -> anyhow::Result<usize> {
    let mut tasks = JoinSet::new();
    for lane in 0..LANES {
        let own = world.monitors.iter().zip(world.pasts.iter()).skip(lane).step_by(LANES);
        let mut turns: Vec<(Turn, MonitorKey)> =
            own.flat_map(|((key, _), past)| past.iter().map(|turn| (*turn, *key))).collect();
        turns.sort_by_key(|(turn, key)| (turn.at, *key));
        let pool = pool.clone();
        tasks.spawn(async move { write_turns(&pool, &turns).await.map(|()| turns.len()) });
    }
    let mut written = 0;
    while let Some(done) = tasks.join_next().await {
        written += done??;
    }
    Ok(written)
}

async fn write_turns(pool: &PgPool, turns: &[(Turn, MonitorKey)]) -> anyhow::Result<()> {
    let mut open: HashMap<MonitorKey, Uuid> = HashMap::new();
    for batch in turns.chunks(500) {
        let mut tx = pool.begin().await?;
        for (turn, monitor) in batch {
            let at = instant(turn.at)?;
            let down = turn.state == State::Down;
            let incident = open.remove(monitor);
            let incident = match (down, incident) {
                (true, Some(incident)) => Some(incident),
                (true, None) => {
                    let new = outage(*monitor, at);
                    store::incidents::open(&mut tx, &new).await?;
                    Some(new.incident)
                }
                (false, Some(incident)) => {
                    store::incidents::resolve(&mut tx, *monitor, incident, at, at, None).await?;
                    None
                }
                (false, None) => None,
            };
            open.extend(incident.map(|incident| (*monitor, incident)));
            let interval = NewInterval {
                monitor: *monitor,
                from_at: at,
                state: turn.state.code(),
                evidence_stale: turn.stale,
                low: false,
                incident,
            };
            store::timeline::begin(&mut tx, &interval).await?;
        }
        tx.commit().await?;
    }
    Ok(())
}

fn outage(monitor: MonitorKey, at: Timestamp) -> NewIncident {
    let incident = store::id_at(at);
    NewIncident {
        incident,
        monitor,
        subject: format!("monitor:{incident}"),
        severity: "down",
        started_at: at,
        opened_at: at + SignedDuration::from_secs(75),
        low: false,
        suppressed: false,
        sentence: "3 of 3 locations fail with status 503".to_owned(),
        evidence: json!({"locations": LOCATIONS}),
    }
}

/// The runs of a monitor at all locations within minutes, by location and time.
fn samples(world: &World, monitor: usize, minutes: Range<Millis>) -> Vec<(Millis, Sample)> {
    let turns = &world.pasts[monitor];
    let mut all = Vec::new();
    for place in world.locations.iter().copied().enumerate() {
        let begins = (minutes.start..minutes.end).step_by(MINUTE as usize);
        all.extend(begins.map(|minute| past::sample(turns, monitor as u64, place, minute)));
    }
    all
}

/// Quarter hours and days of the first monitors, counted by the rules that upkeep counts by.
async fn roll_ups(
    pool: &PgPool,
    world: &World,
    size: Size,
    start: Timestamp,
) -> anyhow::Result<usize> {
    let end = rollup::quarter_of(start);
    let mut conn = pool.acquire().await?;
    let rolled = &world.monitors[..size.rolled_up.min(world.monitors.len())];
    let Some((first, last)) = rolled.first().zip(rolled.last()) else { return Ok(0) };
    let range = first.0.0..last.0.0 + 1;
    let length = SignedDuration::from_secs(QUARTER_SECS);
    let (mut quarter, mut written, mut days) = (rollup::quarter_of(start - ROLLED_UP), 0, 0);
    while quarter < end {
        let next = quarter + length;
        let minutes = quarter.as_millisecond() - MINUTE..next.as_millisecond();
        let mut rows: Vec<(MonitorKey, LocationKey, Counts)> = Vec::new();
        for (index, (key, _)) in rolled.iter().enumerate() {
            let samples: Vec<Sample> = samples(world, index, minutes.clone())
                .into_iter()
                .map(|(_, sample)| sample)
                .collect();
            let limits = [THRESHOLD_US];
            let counts = rollup::count(&samples, quarter.as_second(), next.as_second(), &limits);
            rows.extend(counts.into_iter().map(|(location, counts)| (*key, location, counts)));
        }
        store::rollups::replace_quarter(&mut conn, range.clone(), quarter, &rows).await?;
        written += rows.len();
        if next.as_second() % 86_400 == 0 {
            let day = quarter.to_zoned(TimeZone::UTC).date();
            rollups::sum_days(pool, range.clone(), "UTC", day).await?;
            days += 1;
            // As the server does by itself within a minute: before, its plans know nothing of the table.
            if [1, 10].contains(&days) {
                store::bench::tidy(&mut conn).await?;
            }
        }
        quarter = next;
    }
    store::rollups::set_mark(&mut conn, "quarter", end).await?;
    Ok(written)
}

/// Results of all monitors, minute by minute and location by location, as agents deliver them.
async fn results(
    pool: &PgPool,
    world: &World,
    size: Size,
    start: Timestamp,
) -> anyhow::Result<usize> {
    let mut conn = pool.acquire().await?;
    let from = start - SignedDuration::from_hours(24 * size.raw_days);
    let mut day = from.to_zoned(TimeZone::UTC).date();
    // Beyond the start: a coordinator serves here later.
    for _ in 0..size.raw_days + 4 {
        store::reports::ensure_partition(&mut conn, day).await?;
        day = day.checked_add(1.day())?;
    }
    let end = start.as_millisecond();
    let mut written = 0;
    for minute in (from.as_millisecond()..end).step_by(MINUTE as usize) {
        for place in world.locations.iter().copied().enumerate() {
            let of = |index: usize| past::sample(&world.pasts[index], index as u64, place, minute);
            let mut seen: Vec<(Millis, MonitorKey, Sample)> = (0..world.monitors.len())
                .map(|index| (of(index), world.monitors[index].0))
                .map(|((at, sample), key)| (at, key, sample))
                .filter(|(at, ..)| *at < end)
                .collect();
            seen.sort_by_key(|(at, key, _)| (*at, *key));
            let rows = seen.iter().map(row).collect::<anyhow::Result<Vec<_>>>()?;
            store::reports::copy_in(&mut conn, &rows).await?;
            written += rows.len();
        }
    }
    Ok(written)
}

fn row((at, monitor, sample): &(Millis, MonitorKey, Sample)) -> anyhow::Result<ReportRow> {
    let us = i32::try_from(sample.total_us)?;
    Ok(ReportRow {
        effective_at: instant(*at)?,
        monitor: *monitor,
        check_version: 1,
        resolve_us: Some(us / 8),
        connect_us: Some(us / 8),
        tls_us: Some(us / 4),
        first_byte_us: Some(us / 4),
        transfer_us: Some(us / 8),
        total_us: us,
        size_bytes: Some(412),
        location: sample.location,
        outcome: sample.outcome.code(),
        class: sample.class.map_or(0, |class| class.code()),
        status: Some(if sample.outcome == Outcome::Pass { 200 } else { 503 }),
        kind: sample.kind.code(),
        disposition: 0,
        late_ms: Some(us / 1_000 + 40),
    })
}

/// One SLO for each monitor in turn: the first ones of all indicators over 90 days, the rest of all windows.
async fn slos(
    conn: &mut sqlx::PgConnection,
    world: &World,
    size: Size,
    start: Timestamp,
) -> anyhow::Result<Vec<(&'static str, Vec<Uuid>)>> {
    let mut watched: Vec<(&'static str, Vec<Uuid>)> =
        ["availability", "latency", "probe_ratio"].map(|sli| (sli, Vec::new())).into();
    for number in 0..size.slos {
        let monitor = number % world.monitors.len();
        let rolled_up = number < size.rolled_up;
        let kind = number % watched.len();
        let definition = match rolled_up {
            true => definition(watched[kind].0, 0),
            false => definition("availability", number),
        };
        let uid = store::id_at(start);
        let values = Values {
            name: format!("objective {number}"),
            service: format!("service {}", number % 40),
            description: String::new(),
            owner: String::new(),
            labels: json!({}),
            subject: Subject::Monitor(world.monitors[monitor].0),
            definition,
            channels: None,
        };
        let key = store::slos::insert(conn, uid, &values, start).await?;
        store::slos::keep_definition(conn, key, "bench", start).await?;
        if rolled_up {
            watched[kind].1.push(uid);
        }
    }
    Ok(watched)
}

fn definition(sli: &str, number: usize) -> Value {
    let window = match number % 4 {
        0 | 3 => json!({"kind": "rolling", "duration": "90d"}),
        1 => json!({"kind": "rolling", "duration": "30d"}),
        _ => json!({"kind": "calendar", "duration": "1M", "timezone": "Europe/Berlin"}),
    };
    let mut definition = json!({"target_ppb": 990_000_000, "sli": sli, "window": window});
    if sli == "latency" {
        definition["threshold_us"] = THRESHOLD_US.into();
    }
    definition
}

/// Evaluates all SLOs by the chore that does it in earnest.
async fn evaluate(pool: &PgPool, start: Timestamp) -> anyhow::Result<Duration> {
    let upkeep = Upkeep::new(pool.clone(), Clock::manual(start));
    let begun = Instant::now();
    while upkeep.evaluate_slos(start).await? {}
    Ok(begun.elapsed())
}

fn instant(millis: Millis) -> anyhow::Result<Timestamp> {
    Timestamp::from_millisecond(millis).context("an instant")
}
