//! Maintenance windows that come once, and the occurrences of plans, which are rows of the same table.
//! Constraint `maintenance_order_check`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::maintenance::Switches;

/// What a window or a plan is about, whom it covers, what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub name: String,
    pub reason: String,
    pub scope: Scope,
    pub switches: Switches,
}

/// Whom it covers, as keys. What is named at all narrows it; `monitors` is none only when it covers everything,
/// and empty when only fleets, groups or labels are named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    pub monitors: Option<Vec<i32>>,
    pub fleets: Option<Vec<i32>>,
    pub groups: Option<Vec<String>>,
    /// An object: monitors that have all of these labels.
    pub labels: Option<serde_json::Value>,
    /// The only locations whose results it leaves out.
    pub locations: Option<Vec<i16>>,
}

#[derive(Debug)]
pub struct NewMaintenance<'a> {
    pub id: Uuid,
    pub terms: &'a Terms,
    pub start_at: Timestamp,
    pub end_at: Timestamp,
    pub correction: bool,
    pub declared_by: &'a str,
}

pub async fn insert(
    conn: &mut PgConnection,
    new: &NewMaintenance<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Terms { name, reason, scope, switches } = new.terms;
    sqlx::query!(
        "insert into maintenance (maintenance_id, name, start_at, end_at, monitors, suppress_alerts, exclude_from_slo,
             pause_probes, declared_at, declared_by, fleets, kind, reason, locations, groups, labels, named)
         values ($1, $2, $3, $4, maintenance_monitors($5, $5, $15, $16), $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $5)",
        new.id,
        name,
        new.start_at.to_sqlx(),
        new.end_at.to_sqlx(),
        scope.monitors.as_deref() as _,
        switches.suppress_alerts,
        switches.exclude_from_slo,
        switches.pause_probes,
        now.to_sqlx(),
        new.declared_by,
        scope.fleets.as_deref() as _,
        if new.correction { "correction" } else { "planned" },
        reason,
        scope.locations.as_deref() as _,
        scope.groups.as_deref() as _,
        scope.labels,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes a window that comes once and has not begun anew. False when it has, or there is none.
pub async fn rewrite(
    conn: &mut PgConnection,
    new: &NewMaintenance<'_>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let Terms { name, reason, scope, switches } = new.terms;
    let done = sqlx::query!(
        "update maintenance
         set name = $2, start_at = $3, end_at = $4, monitors = maintenance_monitors($5, $5, $14, $15), suppress_alerts = $6,
             exclude_from_slo = $7, pause_probes = $8, declared_at = $9, declared_by = $10, fleets = $11, reason = $12,
             locations = $13, groups = $14, labels = $15, named = $5, revision = revision + 1
         where maintenance_id = $1 and plan_id is null and start_at > $9 and not begun",
        new.id,
        name,
        new.start_at.to_sqlx(),
        new.end_at.to_sqlx(),
        scope.monitors.as_deref() as _,
        switches.suppress_alerts,
        switches.exclude_from_slo,
        switches.pause_probes,
        now.to_sqlx(),
        new.declared_by,
        scope.fleets.as_deref() as _,
        reason,
        scope.locations.as_deref() as _,
        scope.groups.as_deref() as _,
        scope.labels,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes the lock of a window that comes once; false when there is none.
pub async fn lock(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        "select maintenance_id from maintenance where maintenance_id = $1 and plan_id is null for no key update",
        id
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.is_some())
}

/// Ends a window that is running: this one, or the occurrence of this plan. The ids of those that ran.
pub async fn end(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "update maintenance set end_at = $2, revision = revision + 1
         where (maintenance_id = $1 or plan_id = $1) and start_at < $2 and end_at > $2 and kind = 'planned'
         returning maintenance_id",
        id,
        now.to_sqlx()
    )
    .fetch_all(conn)
    .await
}

/// Deletes a window that comes once and has not begun. False when it has.
pub async fn delete_planned(
    conn: &mut PgConnection,
    id: Uuid,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "delete from maintenance where maintenance_id = $1 and plan_id is null and start_at > $2",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
