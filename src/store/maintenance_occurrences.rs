//! What maintenance covered, written down when it begins: the past that figures are made from.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

/// Writes the occurrences of windows that have begun, with what they cover and do at this moment: at most
/// `limit`, or the one that is named. How many there were.
pub async fn begin_due(
    conn: &mut PgConnection,
    only: Option<Uuid>,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let begun = sqlx::query!(
        "with due as (
             select * from maintenance
             where not begun and start_at <= $1 and ($2::uuid is null or maintenance_id = $2)
             order by start_at, maintenance_id limit $3 for no key update skip locked
         ), written as (
             insert into maintenance_occurrence (monitor_id, start_at, maintenance_id, end_at, name, kind, reason,
                                                 exclude_from_slo, locations, declared_at, declared_by)
             select m.id, due.start_at, due.maintenance_id, due.end_at, due.name, due.kind, due.reason,
                    due.exclude_from_slo, due.locations, due.declared_at, due.declared_by
             from due cross join lateral unnest(coalesce(due.monitors, '{0}')) as m(id)
             on conflict do nothing
         )
         update maintenance w set begun = true from due where w.maintenance_id = due.maintenance_id",
        now.to_sqlx(),
        only,
        limit
    )
    .execute(conn)
    .await?;
    Ok(begun.rows_affected())
}

/// Ends what is still running of a window.
pub async fn end(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update maintenance_occurrence set end_at = greatest(start_at, $2) where maintenance_id = $1 and end_at > $2",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What covered a monitor within a span, as pages show it.
#[derive(Debug, Clone)]
pub struct Covering {
    pub id: Uuid,
    pub name: String,
    pub start_at: Timestamp,
    pub end_at: Timestamp,
    pub exclude_from_slo: bool,
    pub correction: bool,
}

/// Occurrences that touch [from, to), and windows that are not written down yet, oldest first; those of
/// single locations left out.
pub async fn covering(
    conn: &mut PgConnection,
    monitor: i32,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<Covering>> {
    sqlx::query!(
        r#"select maintenance_id as "id!", name as "name!", start_at as "start_at!: jiff_sqlx::Timestamp",
                  end_at as "end_at!: jiff_sqlx::Timestamp", exclude_from_slo as "exclude!", kind as "kind!"
           from (
               select maintenance_id, name, start_at, end_at, exclude_from_slo, kind from maintenance_occurrence
               where monitor_id in (0, $1) and start_at < $3 and end_at > $2 and locations is null
               union all
               select maintenance_id, name, start_at, end_at, exclude_from_slo, kind from maintenance
               where not begun and start_at < $3 and end_at > $2 and locations is null
                 and (monitors is null or $1 = any(monitors))) as o
           order by 3, 1"#,
        monitor,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| Covering {
        id: r.id,
        name: r.name,
        start_at: r.start_at.to_jiff(),
        end_at: r.end_at.to_jiff(),
        exclude_from_slo: r.exclude,
        correction: r.kind == "correction",
    })
    .fetch_all(conn)
    .await
}
