//! What maintenance covered, written down when it begins: the past that figures are made from.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::maintenance_plans;

/// Begins all that is due, at most `limit` windows that come once and as many plans: writes down what they
/// cover and do at this moment. The caller commits.
pub async fn begin_due(conn: &mut PgConnection, now: Timestamp, limit: i64) -> sqlx::Result<()> {
    begin(conn, None, None, now, limit).await?;
    for plan in maintenance_plans::lock_due(conn, now, limit).await? {
        maintenance_plans::advance(conn, plan, now, AT_ONCE).await?;
    }
    Ok(())
}

/// Occurrences of one plan that are made up for in one go.
const AT_ONCE: usize = 200;

/// Begins one window that comes once, if it is due.
pub async fn begin_one(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    begin(conn, Some(id), None, now, 1).await
}

/// Begins the occurrence of a plan that is written ahead, if it is due; the caller holds the plan's lock.
pub async fn begin_of_plan(
    conn: &mut PgConnection,
    plan: Uuid,
    now: Timestamp,
) -> sqlx::Result<()> {
    begin(conn, None, Some(plan), now, 1).await
}

async fn begin(
    conn: &mut PgConnection,
    only: Option<Uuid>,
    plan: Option<Uuid>,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with due as (
             select maintenance_id from maintenance
             where not begun and start_at <= $1 and ($2::uuid is null or maintenance_id = $2) and plan_id is not distinct from $4
             order by start_at, maintenance_id limit $3 for no key update skip locked
         ), begun as (
             update maintenance w
             set begun = true, monitors = maintenance_monitors(w.monitors, w.named, w.groups, w.labels)
             from due where w.maintenance_id = due.maintenance_id
             returning w.*
         )
         insert into maintenance_occurrence (monitor_id, start_at, maintenance_id, end_at, name, kind, reason,
                                             exclude_from_slo, locations, declared_at, declared_by)
         select m.id, begun.start_at, begun.maintenance_id, begun.end_at, begun.name, begun.kind, begun.reason,
                begun.exclude_from_slo, begun.locations, begun.declared_at, begun.declared_by
         from begun cross join lateral unnest(coalesce(begun.monitors, '{0}')) as m(id)
         on conflict do nothing",
        now.to_sqlx(),
        only,
        limit,
        plan,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Works out anew whom windows cover that are about to begin and name groups or labels, so that they cover
/// the right ones from their first instant on.
pub async fn look_ahead(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update maintenance w set monitors = found.monitors
         from (select maintenance_id, maintenance_monitors(monitors, named, groups, labels) as monitors from maintenance
               where not begun and start_at > $1 and start_at <= $1::timestamptz + interval '1 minute' and (groups is not null or labels is not null)
               order by maintenance_id for no key update skip locked) as found
         where w.maintenance_id = found.maintenance_id and not w.begun and w.monitors is distinct from found.monitors",
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
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
    /// Of the window that comes once, or of the plan.
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
        r#"select coalesce(w.plan_id, o.maintenance_id) as "id!", o.name as "name!", o.start_at as "start_at!: jiff_sqlx::Timestamp",
                  o.end_at as "end_at!: jiff_sqlx::Timestamp", o.exclude_from_slo as "exclude!", o.kind as "kind!"
           from (
               select maintenance_id, name, start_at, end_at, exclude_from_slo, kind from maintenance_occurrence
               where monitor_id in (0, $1) and start_at < $3 and end_at > $2 and locations is null
               union all
               select maintenance_id, name, start_at, end_at, exclude_from_slo, kind from maintenance
               where not begun and start_at < $3 and end_at > $2 and locations is null
                 and (monitors is null or $1 = any(monitors))) as o
                left join maintenance w using (maintenance_id)
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
