//! Results of monitors for SLOs: one by one, by the quarter hour, by the day; each grain is one statement,
//! however many parts of a span it is asked for. `offset 0` keeps the planner from reading everything there is
//! of the monitor once and throwing away what lies in no part: each part is a range of the index.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::{
    Millis,
    ids::{LocationKey, MonitorKey},
    sketch::Sketch,
};

/// One result. `part` is the place of the part that it was read for.
#[derive(Debug, Clone, Copy)]
pub struct ResultRow {
    pub part: i64,
    pub effective_at: Timestamp,
    pub location: LocationKey,
    pub outcome: i16,
    pub kind: i16,
    pub total_us: i32,
    pub disposition: i16,
}

/// Results of a monitor within parts [from, to), by part, location and time; manual runs left out.
pub async fn results(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    parts: &[(Millis, Millis)],
) -> sqlx::Result<Vec<ResultRow>> {
    let Some((from, to)) = columns(parts) else { return Ok(Vec::new()) };
    let (first, last) = (from.iter().min().copied(), to.iter().max().copied());
    sqlx::query!(
        r#"select s.part as "part!", r.effective_at as "effective_at!: jiff_sqlx::Timestamp", r.location_id as "location_id!",
                  r.outcome as "outcome!", r.kind as "kind!", r.total_us as "total_us!", r.disposition as "disposition!"
           from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as s(from_at, to_at, part)
           cross join lateral (
               select effective_at, location_id, outcome, kind, total_us, disposition from report
               where monitor_id = $1 and effective_at >= s.from_at and effective_at < s.to_at
                 and kind <> 3 and effective_at >= $4 and effective_at < $5 offset 0) as r
           order by s.part, r.location_id, r.effective_at"#,
        monitor.0,
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

/// Sums of a quarter hour or a day at one location.
#[derive(Debug, Clone)]
pub struct SumRow {
    pub at: Timestamp,
    pub location: LocationKey,
    pub ok: u64,
    pub fail: u64,
    pub invalid: u64,
    pub sum_us: u64,
    /// Passes at or under the threshold that was asked for, if it was counted then.
    pub quick: Option<u64>,
    pub sketch: Sketch,
}

/// A row as both tables have it.
struct Raw {
    at: jiff_sqlx::Timestamp,
    location_id: i16,
    events_ok: i32,
    events_fail: i32,
    events_invalid: i32,
    sum_us: i64,
    quick: Option<i64>,
    sketch: Vec<u8>,
}

impl Raw {
    fn read(self) -> sqlx::Result<SumRow> {
        let count = |v: i32| u64::try_from(v).unwrap_or_default();
        Ok(SumRow {
            at: self.at.to_jiff(),
            location: LocationKey(self.location_id),
            ok: count(self.events_ok),
            fail: count(self.events_fail),
            invalid: count(self.events_invalid),
            sum_us: u64::try_from(self.sum_us).unwrap_or_default(),
            quick: self.quick.and_then(|n| u64::try_from(n).ok()),
            sketch: Sketch::from_bytes(&self.sketch)
                .ok_or_else(|| sqlx::Error::Decode("the sketch of a roll-up is damaged".into()))?,
        })
    }
}

/// Quarter hours that begin within parts.
pub async fn quarters(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    parts: &[(Millis, Millis)],
    threshold_us: Option<u32>,
) -> sqlx::Result<Vec<SumRow>> {
    let Some((from, to)) = columns(parts) else { return Ok(Vec::new()) };
    sqlx::query_as!(
        Raw,
        r#"select q.at as "at!: jiff_sqlx::Timestamp", q.location_id as "location_id!", q.events_ok as "events_ok!",
                  q.events_fail as "events_fail!", q.events_invalid as "events_invalid!", q.sum_us as "sum_us!",
                  (q.thresholds ->> $4)::int8 as quick, q.sketch as "sketch!"
           from unnest($2::timestamptz[], $3::timestamptz[]) as s(from_at, to_at)
           cross join lateral (
               select * from rollup_quarter
               where monitor_id = $1 and at >= s.from_at and at < s.to_at offset 0) as q
           order by q.at, q.location_id"#,
        monitor.0,
        &from as _,
        &to as _,
        threshold_us.unwrap_or(0).to_string(),
    )
    .try_map(Raw::read)
    .fetch_all(conn)
    .await
}

/// Days in UTC within parts, which begin and end at midnight.
pub async fn days(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    parts: &[(Millis, Millis)],
    threshold_us: Option<u32>,
) -> sqlx::Result<Vec<SumRow>> {
    let Some((from, to)) = columns(parts) else { return Ok(Vec::new()) };
    sqlx::query_as!(
        Raw,
        r#"select d.day::timestamp at time zone 'UTC' as "at!: jiff_sqlx::Timestamp", d.location_id as "location_id!",
                  d.events_ok as "events_ok!", d.events_fail as "events_fail!", d.events_invalid as "events_invalid!",
                  d.sum_us as "sum_us!", (d.thresholds ->> $4)::int8 as quick, d.sketch as "sketch!"
           from unnest($2::timestamptz[], $3::timestamptz[]) as s(from_at, to_at)
           cross join lateral (
               select * from rollup_day
               where monitor_id = $1 and zone = 'UTC' and day >= (s.from_at at time zone 'UTC')::date
                 and day < (s.to_at at time zone 'UTC')::date offset 0) as d
           order by d.day, d.location_id"#,
        monitor.0,
        &from as _,
        &to as _,
        threshold_us.unwrap_or(0).to_string(),
    )
    .try_map(Raw::read)
    .fetch_all(conn)
    .await
}

type Column = Vec<jiff_sqlx::Timestamp>;

/// The parts turned on their side; none of nothing.
fn columns(parts: &[(Millis, Millis)]) -> Option<(Column, Column)> {
    let at = |millis| super::slo_inputs::instant(millis).to_sqlx();
    let (from, to): (Column, Column) = parts.iter().map(|(a, b)| (at(*a), at(*b))).unzip();
    (!parts.is_empty()).then_some((from, to))
}
