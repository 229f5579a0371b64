//! Counters of `/metrics`: what they stand at, up to where they have counted, and the results that they
//! count next.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::slo_batches;
use super::slo_events::ResultRow;
use super::withheld::{self, Withheld};
use crate::domain::{
    Millis,
    ids::{LocationKey, MonitorKey},
    rollup::{self, Sample},
    slo::{
        counting::{Results, Told},
        evidence::Batch,
    },
};

/// Up to where a monitor is counted.
#[derive(Debug, Clone, Copy)]
pub struct MarkRow {
    pub monitor: MonitorKey,
    pub told_to: Timestamp,
    pub results_to: Timestamp,
}

/// Monitors that are not counted yet begin to be: those that are older than an hour, an hour ago.
pub async fn begin(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into monitor_counter (monitor_id, told_to, results_to, looked_at)
         select monitor_id, s.at, s.at, '-infinity'
         from monitor m
         cross join lateral (select date_trunc('second', greatest(m.created_at, $1::timestamptz - interval '1 hour')) as at) as s
         where m.deleted_at is null and not exists (select from monitor_counter c where c.monitor_id = m.monitor_id)
         on conflict do nothing",
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Monitors that were looked at before an instant, the longest ago first, locked; those that somebody else is
/// at are passed over.
pub async fn due(
    conn: &mut PgConnection,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<MarkRow>> {
    sqlx::query!(
        "select c.monitor_id, c.told_to, c.results_to from monitor_counter c join monitor m using (monitor_id)
         where c.looked_at <= $1 and m.deleted_at is null
         order by c.looked_at, c.monitor_id limit $2
         for no key update of c skip locked",
        before.to_sqlx(),
        limit
    )
    .map(|r| MarkRow {
        monitor: MonitorKey(r.monitor_id),
        told_to: r.told_to.to_jiff(),
        results_to: r.results_to.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// A stretch of results to count. `interval` is the monitor's, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    pub monitor: MonitorKey,
    pub from: Millis,
    pub to: Millis,
    pub interval: Millis,
}

/// Events of stretches one by one, by stretch, in order of time; places are the keys of locations.
pub async fn events(
    conn: &mut PgConnection,
    stretches: &[Stretch],
) -> sqlx::Result<Vec<Vec<Batch>>> {
    let rows = results(conn, stretches).await?;
    let withheld = withheld_of(conn, stretches).await?;
    let mut all = vec![Vec::new(); stretches.len()];
    for part in rows.chunk_by(|a, b| a.part == b.part) {
        let index = part.first().and_then(|row| usize::try_from(row.part - 1).ok());
        let Some((stretch, batches)) =
            index.and_then(|i| Some((stretches.get(i)?, all.get_mut(i)?)))
        else {
            continue;
        };
        let samples: Vec<Sample> = part.iter().filter_map(slo_batches::sample).collect();
        let out = withheld.of(stretch.monitor);
        for event in rollup::events(&samples) {
            let at = event.first.at_s * 1_000;
            if at < stretch.from || at >= stretch.to {
                continue;
            }
            let cell = at.div_euclid(stretch.interval) * stretch.interval;
            let place = place(event.first.location);
            let mut batch = slo_batches::batch(&event, cell.max(stretch.from), place, None);
            withheld::withhold(&mut batch, out.get(&event.first.location), at, at + 1);
            batches.push(batch);
        }
        batches.sort_by_key(|batch: &Batch| (batch.at, batch.location));
    }
    Ok(all)
}

async fn withheld_of(conn: &mut PgConnection, stretches: &[Stretch]) -> sqlx::Result<Withheld> {
    let instant = super::slo_inputs::instant;
    let monitors: Vec<i32> = stretches.iter().map(|s| s.monitor.0).collect();
    let from = stretches.iter().map(|s| s.from).min().map_or(Timestamp::UNIX_EPOCH, instant);
    let to = stretches.iter().map(|s| s.to).max().map_or(Timestamp::UNIX_EPOCH, instant);
    withheld::read(conn, &monitors, from, to).await
}

/// A location as a place of figures.
pub fn place(location: LocationKey) -> u16 {
    u16::try_from(location.0).unwrap_or_default()
}

async fn results(conn: &mut PgConnection, stretches: &[Stretch]) -> sqlx::Result<Vec<ResultRow>> {
    let at = |millis| super::slo_inputs::instant(millis).to_sqlx();
    let monitor: Vec<i32> = stretches.iter().map(|s| s.monitor.0).collect();
    let from: Vec<_> = stretches.iter().map(|s| at(s.from)).collect();
    let to: Vec<_> = stretches.iter().map(|s| at(s.to + slo_batches::OVERHANG)).collect();
    let (first, last) = (from.iter().min().copied(), to.iter().max().copied());
    sqlx::query!(
        r#"select s.part as "part!", r.effective_at as "effective_at!: jiff_sqlx::Timestamp", r.location_id as "location_id!",
                  r.outcome as "outcome!", r.kind as "kind!", r.total_us as "total_us!", r.disposition as "disposition!"
           from unnest($1::int4[], $2::timestamptz[], $3::timestamptz[]) with ordinality as s(monitor_id, from_at, to_at, part)
           join report r on r.monitor_id = s.monitor_id and r.effective_at >= s.from_at and r.effective_at < s.to_at
           where r.kind <> 3 and r.effective_at >= $4 and r.effective_at < $5
           order by s.part, r.location_id, r.effective_at"#,
        &monitor,
        &from as _,
        &to as _,
        first as _,
        last as _,
    )
    .map(|r| ResultRow {
        part: r.part,
        effective_at: r.effective_at.to_jiff(),
        location: LocationKey(r.location_id),
        outcome: r.outcome,
        kind: r.kind,
        total_us: r.total_us,
        disposition: r.disposition,
    })
    .fetch_all(conn)
    .await
}

/// How many incidents of monitors began within spans [from, to), by place in the list.
pub async fn incidents(
    conn: &mut PgConnection,
    spans: &[(MonitorKey, Timestamp, Timestamp)],
) -> sqlx::Result<Vec<i64>> {
    let monitor: Vec<i32> = spans.iter().map(|s| s.0.0).collect();
    let from: Vec<_> = spans.iter().map(|s| s.1.to_sqlx()).collect();
    let to: Vec<_> = spans.iter().map(|s| s.2.to_sqlx()).collect();
    sqlx::query_scalar!(
        r#"select (select count(*) from incident i
                   where i.monitor_id = s.monitor_id and i.started_at >= s.from_at and i.started_at < s.to_at
                         and starts_with(i.subject, 'monitor:')) as "count!"
           from unnest($1::int4[], $2::timestamptz[], $3::timestamptz[]) with ordinality as s(monitor_id, from_at, to_at, part)
           order by s.part"#,
        &monitor,
        &from as _,
        &to as _,
    )
    .fetch_all(conn)
    .await
}

/// What a monitor's counters grow by, and up to where they have counted then.
#[derive(Debug, Clone)]
pub struct Growth {
    pub mark: MarkRow,
    pub told: Told,
    pub incidents: i64,
    pub results: Vec<(LocationKey, Results)>,
}

/// Adds it, for monitors whose marks the caller has locked.
pub async fn grow(conn: &mut PgConnection, all: &[Growth], now: Timestamp) -> sqlx::Result<()> {
    let column = |of: fn(&Growth) -> i64| -> Vec<i64> { all.iter().map(of).collect() };
    let monitor: Vec<i32> = all.iter().map(|g| g.mark.monitor.0).collect();
    let told_to: Vec<_> = all.iter().map(|g| g.mark.told_to.to_sqlx()).collect();
    let results_to: Vec<_> = all.iter().map(|g| g.mark.results_to.to_sqlx()).collect();
    sqlx::query!(
        "update monitor_counter c set told_to = u.told_to, results_to = u.results_to, looked_at = $1,
             up_ms = c.up_ms + u.up, partial_ms = c.partial_ms + u.partial, down_ms = c.down_ms + u.down,
             unknown_ms = c.unknown_ms + u.unknown, excluded_ms = c.excluded_ms + u.excluded,
             paused_ms = c.paused_ms + u.paused, rounds_up = c.rounds_up + u.r_up,
             rounds_partial = c.rounds_partial + u.r_partial, rounds_down = c.rounds_down + u.r_down,
             rounds_unknown = c.rounds_unknown + u.r_unknown, incidents = c.incidents + u.incidents
         from unnest($2::int4[], $3::timestamptz[], $4::timestamptz[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
                     $9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::int8[], $14::int8[], $15::int8[])
              as u(monitor_id, told_to, results_to, up, partial, down, unknown, excluded, paused, r_up, r_partial,
                   r_down, r_unknown, incidents)
         where c.monitor_id = u.monitor_id",
        now.to_sqlx(),
        &monitor,
        &told_to as _,
        &results_to as _,
        &column(|g| g.told.time.up),
        &column(|g| g.told.time.partial),
        &column(|g| g.told.time.down),
        &column(|g| g.told.time.unknown),
        &column(|g| g.told.time.excluded),
        &column(|g| g.told.time.paused),
        &column(|g| g.told.rounds.up),
        &column(|g| g.told.rounds.partial),
        &column(|g| g.told.rounds.down),
        &column(|g| g.told.rounds.unknown),
        &column(|g| g.incidents),
    )
    .execute(&mut *conn)
    .await?;
    grow_locations(conn, all).await
}

async fn grow_locations(conn: &mut PgConnection, all: &[Growth]) -> sqlx::Result<()> {
    let rows: Vec<(i32, i16, &Results)> = all
        .iter()
        .flat_map(|g| g.results.iter().map(|(location, r)| (g.mark.monitor.0, location.0, r)))
        .collect();
    let monitor: Vec<i32> = rows.iter().map(|r| r.0).collect();
    let location: Vec<i16> = rows.iter().map(|r| r.1).collect();
    let int = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let column =
        |of: fn(&Results) -> u64| -> Vec<i64> { rows.iter().map(|row| int(of(row.2))).collect() };
    let buckets: Vec<String> = rows
        .iter()
        .map(|row| {
            let counts: Vec<String> = row.2.buckets.iter().map(u64::to_string).collect();
            format!("{{{}}}", counts.join(","))
        })
        .collect();
    sqlx::query!(
        "insert into location_counter as c (monitor_id, location_id, ok, fail, invalid, missing, sum_us, buckets)
         select m, l, o, f, i, n, s, b::int8[]
         from unnest($1::int4[], $2::int2[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::text[])
              as u(m, l, o, f, i, n, s, b)
         on conflict (monitor_id, location_id) do update
         set ok = c.ok + excluded.ok, fail = c.fail + excluded.fail, invalid = c.invalid + excluded.invalid,
             missing = c.missing + excluded.missing, sum_us = c.sum_us + excluded.sum_us,
             buckets = (select array_agg(a.n + b.n order by a.place)
                        from unnest(c.buckets) with ordinality as a(n, place)
                        join unnest(excluded.buckets) with ordinality as b(n, place) using (place))",
        &monitor,
        &location,
        &column(|r| r.ok),
        &column(|r| r.fail),
        &column(|r| r.invalid),
        &column(|r| r.missing),
        &column(|r| r.sum_us),
        &buckets,
    )
    .execute(conn)
    .await?;
    Ok(())
}
