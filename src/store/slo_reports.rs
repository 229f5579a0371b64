//! Reports on windows that are over, frozen: one row a revision, never changed.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::SloKey;

/// A frozen report.
#[derive(Debug, Clone)]
pub struct RevisionRow {
    pub window_start: Timestamp,
    pub window_end: Timestamp,
    pub revision: i32,
    /// `domain::slo::report::Report`, as it was answered.
    pub report: serde_json::Value,
    pub sha256: String,
    pub definition_revision: i32,
    pub data_revision: i64,
    /// `[{path, before, after}]` against the revision before.
    pub diff: serde_json::Value,
    pub frozen_at: Timestamp,
}

pub async fn insert(conn: &mut PgConnection, slo: SloKey, r: &RevisionRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into slo_report_revision (slo_id, window_start, window_end, revision, report, sha256, definition_revision,
                                          data_revision, diff, frozen_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        slo.0,
        r.window_start.to_sqlx(),
        r.window_end.to_sqlx(),
        r.revision,
        r.report,
        r.sha256,
        r.definition_revision,
        r.data_revision,
        r.diff,
        r.frozen_at.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What to read of an SLO's frozen reports.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which {
    pub window_start: Option<Timestamp>,
    pub revision: Option<i32>,
    pub limit: i64,
}

/// Revisions, the latest window and the latest revision first.
pub async fn list(
    conn: &mut PgConnection,
    slo: SloKey,
    which: Which,
) -> sqlx::Result<Vec<RevisionRow>> {
    sqlx::query!(
        "select window_start, window_end, revision, report, sha256, definition_revision, data_revision, diff, frozen_at
         from slo_report_revision
         where slo_id = $1 and ($2::timestamptz is null or window_start = $2) and ($3::int4 is null or revision = $3)
         order by window_start desc, revision desc limit $4",
        slo.0,
        which.window_start.map(|t| t.to_sqlx()) as _,
        which.revision,
        which.limit
    )
    .map(|r| RevisionRow {
        window_start: r.window_start.to_jiff(),
        window_end: r.window_end.to_jiff(),
        revision: r.revision,
        report: r.report,
        sha256: r.sha256,
        definition_revision: r.definition_revision,
        data_revision: r.data_revision,
        diff: r.diff,
        frozen_at: r.frozen_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// A frozen window whose data may have changed since: its bounds and the last revision that is known to say
/// what the data say.
#[derive(Debug, Clone, Copy)]
pub struct Stale {
    pub slo: SloKey,
    pub window_start: Timestamp,
    pub window_end: Timestamp,
    pub revision: i32,
}

/// The last revision of each frozen window behind which the data have moved on.
pub async fn stale(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Stale>> {
    sqlx::query!(
        r#"select s.slo_id, r.window_start, r.window_end, r.revision
           from slo s
           cross join lateral (
               select coalesce(sum(data_revision), 0) as now from (
                   select data_revision from monitor_revision m
                   where m.monitor_id = s.monitor_id or m.monitor_id = any(s.members)
                   union all
                   select data_revision from fleet_revision f where f.fleet_id = s.fleet_id) as r) as d
           join slo_report_checked c on c.slo_id = s.slo_id and c.data_revision < d.now
           join lateral (
               select window_start, window_end, revision from slo_report_revision v
               where v.slo_id = s.slo_id and v.window_start = c.window_start order by revision desc limit 1) as r on true
           where s.deleted_at is null
           order by s.slo_id, r.window_start limit $1"#,
        limit
    )
    .map(|r| Stale {
        slo: SloKey(r.slo_id),
        window_start: r.window_start.to_jiff(),
        window_end: r.window_end.to_jiff(),
        revision: r.revision,
    })
    .fetch_all(conn)
    .await
}

/// The data up to this revision are in what is frozen.
pub async fn checked(
    conn: &mut PgConnection,
    slo: SloKey,
    window_start: Timestamp,
    data_revision: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into slo_report_checked (slo_id, window_start, data_revision) values ($1, $2, $3)
         on conflict (slo_id, window_start) do update set data_revision = excluded.data_revision",
        slo.0,
        window_start.to_sqlx(),
        data_revision
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// SLOs with windows of the calendar that have not been looked at for freezing since `before`, locked.
pub async fn freezable(
    conn: &mut PgConnection,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<i32>> {
    sqlx::query_scalar!(
        "select slo_id from slo
         where deleted_at is null and definition -> 'window' ->> 'kind' = 'calendar'
           and (looked_at is null or looked_at <= $1)
         order by looked_at nulls first, slo_id limit $2
         for no key update skip locked",
        before.to_sqlx(),
        limit
    )
    .fetch_all(conn)
    .await
}

pub async fn looked(conn: &mut PgConnection, slo: SloKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!("update slo set looked_at = $2 where slo_id = $1", slo.0, now.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}
