//! Raw results: binary COPY in, partitions a day wide, reads for pages and roll-ups.

use jiff::{Timestamp, civil::Date};
use jiff_sqlx::ToSqlx;
use sqlx::{AssertSqlSafe, PgConnection};

use super::copy::Copy;
use crate::domain::ids::{LocationKey, MonitorKey};

/// One row of `report`. Spans in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportRow {
    pub effective_at: Timestamp,
    pub monitor: MonitorKey,
    pub check_version: i32,
    pub resolve_us: Option<i32>,
    pub connect_us: Option<i32>,
    pub tls_us: Option<i32>,
    pub first_byte_us: Option<i32>,
    pub transfer_us: Option<i32>,
    pub total_us: i32,
    pub size_bytes: Option<i32>,
    pub location: LocationKey,
    pub outcome: i16,
    pub class: i16,
    pub status: Option<i16>,
    pub kind: i16,
    pub disposition: i16,
    /// Milliseconds from the start of the attempt to its arrival; none where it is not known.
    pub late_ms: Option<i32>,
}

/// What a failure looked like; the observation as JSON.
#[derive(Debug, Clone)]
pub struct DetailRow {
    pub effective_at: Timestamp,
    pub monitor: MonitorKey,
    pub location: LocationKey,
    pub detail: String,
}

/// Columns in the order of [`encode`].
const COPY_REPORT: &str = "copy report (effective_at, monitor_id, check_version, resolve_us, connect_us, tls_us, \
     first_byte_us, transfer_us, total_us, size_bytes, location_id, outcome, class, status, kind, disposition, late_ms) \
     from stdin (format binary)";

/// Copies rows in; all partitions must exist.
pub async fn copy_in(conn: &mut PgConnection, rows: &[ReportRow]) -> sqlx::Result<()> {
    copy_rows_into(conn, COPY_REPORT, rows).await
}

/// The same COPY into any table with the columns of `report`, by a statement of the caller's: the
/// benchmark measures against it.
pub async fn copy_rows_into(
    conn: &mut PgConnection,
    statement: &'static str,
    rows: &[ReportRow],
) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    encode(rows).send(conn, statement).await
}

/// Stores what failures looked like.
pub async fn insert_details(conn: &mut PgConnection, rows: &[DetailRow]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let at: Vec<_> = rows.iter().map(|r| r.effective_at.to_sqlx()).collect();
    let monitor: Vec<i32> = rows.iter().map(|r| r.monitor.0).collect();
    let location: Vec<i16> = rows.iter().map(|r| r.location.0).collect();
    let detail: Vec<String> = rows.iter().map(|r| r.detail.clone()).collect();
    sqlx::query!(
        "insert into report_detail (effective_at, monitor_id, location_id, detail)
         select a, m, l, d::jsonb
         from unnest($1::timestamptz[], $2::int4[], $3::int2[], $4::text[]) as u(a, m, l, d)",
        &at as _,
        &monitor,
        &location,
        &detail,
    )
    .execute(conn)
    .await?;
    Ok(())
}

fn encode(rows: &[ReportRow]) -> Copy {
    let mut copy = Copy::new(17, rows.len() * 144);
    for row in rows {
        copy.row();
        copy.instant(row.effective_at);
        copy.int4(Some(row.monitor.0));
        copy.int4(Some(row.check_version));
        copy.int4(row.resolve_us);
        copy.int4(row.connect_us);
        copy.int4(row.tls_us);
        copy.int4(row.first_byte_us);
        copy.int4(row.transfer_us);
        copy.int4(Some(row.total_us));
        copy.int4(row.size_bytes);
        copy.int2(Some(row.location.0));
        copy.int2(Some(row.outcome));
        copy.int2(Some(row.class));
        copy.int2(row.status);
        copy.int2(Some(row.kind));
        copy.int2(Some(row.disposition));
        copy.int4(row.late_ms);
    }
    copy
}

/// Makes sure that the day's partitions of `report` and `report_detail` exist (UTC days).
pub async fn ensure_partition(conn: &mut PgConnection, day: Date) -> sqlx::Result<()> {
    let next = day.tomorrow().unwrap_or(day);
    for table in ["report", "report_detail"] {
        let name = format!("{table}_{}", day.strftime("%Y%m%d"));
        sqlx::raw_sql(AssertSqlSafe(format!(
            "create table if not exists {name} partition of {table} for values from ('{day} 00:00:00+00') to ('{next} 00:00:00+00')"
        )))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Days for which raw results can be stored, oldest first.
pub async fn partition_days(conn: &mut PgConnection) -> sqlx::Result<Vec<Date>> {
    let names = sqlx::query_scalar!(
        r#"select c.relname::text as "name!" from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = 'report'::regclass order by 1"#
    )
    .fetch_all(conn)
    .await?;
    Ok(names
        .iter()
        .filter_map(|n| Date::strptime("%Y%m%d", n.strip_prefix("report_")?).ok())
        .collect())
}

/// Drops a day.
pub async fn drop_partition(conn: &mut PgConnection, day: Date) -> sqlx::Result<()> {
    for table in ["report", "report_detail"] {
        let name = format!("{table}_{}", day.strftime("%Y%m%d"));
        sqlx::raw_sql(AssertSqlSafe(format!("drop table if exists {name}")))
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

/// What a roll-up counts of one result.
#[derive(Debug, Clone, Copy)]
pub struct CountRow {
    pub effective_at: Timestamp,
    pub monitor: MonitorKey,
    pub location: LocationKey,
    pub outcome: i16,
    pub class: i16,
    pub kind: i16,
    pub total_us: i32,
    pub disposition: i16,
}

/// Results of a monitor range within [from, to), ordered by monitor, location and time; manual runs left
/// out. `monitors` is half-open.
pub async fn for_rollup(
    conn: &mut PgConnection,
    monitors: std::ops::Range<i32>,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<CountRow>> {
    sqlx::query!(
        "select effective_at, monitor_id, location_id, outcome, class, kind, total_us, disposition
         from report
         where monitor_id >= $1 and monitor_id < $2 and effective_at >= $3 and effective_at < $4 and kind <> 3
         order by monitor_id, location_id, effective_at",
        monitors.start,
        monitors.end,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| CountRow {
        effective_at: r.effective_at.to_jiff(),
        monitor: MonitorKey(r.monitor_id),
        location: LocationKey(r.location_id),
        outcome: r.outcome,
        class: r.class,
        kind: r.kind,
        total_us: r.total_us,
        disposition: r.disposition,
    })
    .fetch_all(conn)
    .await
}

/// What a refold needs of one result.
#[derive(Debug, Clone)]
pub struct FoldRow {
    pub effective_at: Timestamp,
    pub location: LocationKey,
    pub check_version: i32,
    pub outcome: i16,
    pub class: i16,
    pub kind: i16,
    pub total_us: i32,
    pub status: Option<i16>,
}

/// A monitor's results in [from, to), in effective order; manual runs and errors left out, they never
/// vote.
pub async fn for_refold(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<FoldRow>> {
    sqlx::query!(
        "select effective_at, location_id, check_version, outcome, class, kind, total_us, status
         from report
         where monitor_id = $1 and effective_at >= $2 and effective_at < $3 and kind <> 3 and outcome <> 2
         order by effective_at, location_id",
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| FoldRow {
        effective_at: r.effective_at.to_jiff(),
        location: LocationKey(r.location_id),
        check_version: r.check_version,
        outcome: r.outcome,
        class: r.class,
        kind: r.kind,
        total_us: r.total_us,
        status: r.status,
    })
    .fetch_all(conn)
    .await
}

/// The oldest instant for which raw results can be stored; none before the first partition exists.
pub async fn oldest(conn: &mut PgConnection) -> sqlx::Result<Option<Timestamp>> {
    let days = partition_days(conn).await?;
    let first = days.first().and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
    Ok(first.map(|day| day.timestamp()))
}
