//! Maintenance that comes again: plans, and the one occurrence of each that is written ahead.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    maintenance::{Scope, Terms},
    maintenance_occurrences,
};
use crate::domain::maintenance::{
    Switches,
    plan::{Occurrence, Plan},
};

/// When a plan comes, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    pub cron: String,
    pub timezone: String,
    /// Elapsed seconds.
    pub duration_s: i32,
    /// Nothing begins at this instant or later.
    pub until: Option<Timestamp>,
    pub paused: bool,
}

#[derive(Debug, Clone)]
pub struct PlanRow {
    pub id: Uuid,
    pub terms: Terms,
    pub recurrence: Recurrence,
    /// Beginnings that are left out.
    pub skipped: Vec<Timestamp>,
    pub revision: i32,
    pub declared_at: Timestamp,
    pub declared_by: String,
    pub changed_at: Timestamp,
}

impl Recurrence {
    /// A stored plan was parsed when it was saved; one that no longer parses is our fault, and said so.
    pub(super) fn plan(&self, id: Uuid) -> sqlx::Result<Plan> {
        let plan = Plan::parse(&self.cron, &self.timezone, i64::from(self.duration_s), self.until);
        plan.map_err(|e| sqlx::Error::Decode(format!("plan of maintenance {id}: {e}").into()))
    }
}

impl PlanRow {
    pub fn plan(&self) -> sqlx::Result<Plan> {
        Ok(self.recurrence.plan(self.id)?.without(self.skipped.iter().copied()))
    }
}

#[derive(Debug)]
pub struct NewPlan<'a> {
    pub id: Uuid,
    pub terms: &'a Terms,
    pub recurrence: &'a Recurrence,
    pub declared_by: &'a str,
}

/// Writes a plan; [`advance`] then writes what comes next.
pub async fn insert(
    conn: &mut PgConnection,
    new: &NewPlan<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (Terms { name, reason, scope, switches }, recurrence) = (new.terms, new.recurrence);
    sqlx::query!(
        "insert into maintenance_plan (plan_id, name, reason, cron, timezone, duration_s, until_at, paused, monitors, fleets, groups,
             labels, locations, suppress_alerts, exclude_from_slo, pause_probes, created_at, declared_at, declared_by, changed_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17, $18, $17)",
        new.id,
        name,
        reason,
        recurrence.cron,
        recurrence.timezone,
        recurrence.duration_s,
        recurrence.until.map(|t| t.to_sqlx()) as _,
        recurrence.paused,
        scope.monitors.as_deref() as _,
        scope.fleets.as_deref() as _,
        scope.groups.as_deref() as _,
        scope.labels,
        scope.locations.as_deref() as _,
        switches.suppress_alerts,
        switches.exclude_from_slo,
        switches.pause_probes,
        now.to_sqlx(),
        new.declared_by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes a plan anew: under the lock, after [`advance`] has begun what is due, so that this is about the
/// future alone. The occurrence ahead goes; [`advance`] writes another.
pub async fn rewrite(
    conn: &mut PgConnection,
    new: &NewPlan<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (Terms { name, reason, scope, switches }, recurrence) = (new.terms, new.recurrence);
    sqlx::query!(
        "update maintenance_plan
         set name = $2, reason = $3, cron = $4, timezone = $5, duration_s = $6, until_at = $7, paused = $8, monitors = $9,
             fleets = $10, groups = $11, labels = $12, locations = $13, suppress_alerts = $14, exclude_from_slo = $15,
             pause_probes = $16, declared_at = $17, declared_by = $18, changed_at = $17, revision = revision + 1, finished = false,
             skipped = array(select s from unnest(skipped) as s where s > $17 order by s)
         where plan_id = $1",
        new.id,
        name,
        reason,
        recurrence.cron,
        recurrence.timezone,
        recurrence.duration_s,
        recurrence.until.map(|t| t.to_sqlx()) as _,
        recurrence.paused,
        scope.monitors.as_deref() as _,
        scope.fleets.as_deref() as _,
        scope.groups.as_deref() as _,
        scope.labels,
        scope.locations.as_deref() as _,
        switches.suppress_alerts,
        switches.exclude_from_slo,
        switches.pause_probes,
        now.to_sqlx(),
        new.declared_by,
    )
    .execute(&mut *conn)
    .await?;
    drop_ahead(conn, new.id, now).await
}

/// Sets which beginnings are left out; the same rules as for [`rewrite`].
pub async fn skip(
    conn: &mut PgConnection,
    id: Uuid,
    skipped: &[Timestamp],
    now: Timestamp,
) -> sqlx::Result<()> {
    let skipped: Vec<_> = skipped.iter().map(|at| at.to_sqlx()).collect();
    sqlx::query!(
        "update maintenance_plan set skipped = $2, changed_at = $3, revision = revision + 1, finished = false where plan_id = $1",
        id,
        &skipped as _,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    drop_ahead(conn, id, now).await
}

/// Deletes a plan with the occurrence ahead; what has begun stays.
pub async fn delete(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update maintenance_plan set deleted_at = $2, changed_at = $2, revision = revision + 1 where plan_id = $1",
        id,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    drop_ahead(conn, id, now).await
}

/// What has come is left for whoever is about to begin it, as it was written.
async fn drop_ahead(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from maintenance where plan_id = $1 and not begun and start_at > $2",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes the plan's lock; false when there is none, or it was deleted.
pub async fn lock(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        "select plan_id from maintenance_plan where plan_id = $1 and deleted_at is null for no key update",
        id
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.is_some())
}

/// Locks up to `limit` plans of which an occurrence is due, or none is written ahead though more will come,
/// and that nobody else holds.
pub async fn lock_due(
    conn: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "select p.plan_id from maintenance_plan p
         where exists (select from maintenance w where w.plan_id = p.plan_id and not w.begun and w.start_at <= $1)
            or (p.deleted_at is null and not p.paused and not p.finished
                and not exists (select from maintenance w where w.plan_id = p.plan_id and not w.begun))
         order by p.plan_id limit $2 for no key update of p skip locked",
        now.to_sqlx(),
        limit
    )
    .fetch_all(conn)
    .await
}

/// Begins what is due of a plan and writes the next occurrence ahead, at most `limit` times; the caller
/// holds the plan's lock. What was due while no coordinator ran is written down as the plan stands now:
/// nobody can have changed it in between. True when more may be due.
pub async fn advance(
    conn: &mut PgConnection,
    id: Uuid,
    now: Timestamp,
    limit: usize,
) -> sqlx::Result<bool> {
    for _ in 0..limit {
        maintenance_occurrences::begin_of_plan(conn, id, now).await?;
        let row = list(conn, Some(id)).await?.pop();
        let Some(row) = row.filter(|row| !row.recurrence.paused) else { return Ok(false) };
        let Some(after) = nothing_ahead(conn, &row).await? else { return Ok(false) };
        match row.plan()?.next(after) {
            Some(next) => insert_ahead(conn, &row, next).await?,
            None => {
                finish(conn, id).await?;
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// After which instant the next one is to be sought: the last beginning, or the last time that the plan was
/// saved. None when one is written ahead.
async fn nothing_ahead(conn: &mut PgConnection, row: &PlanRow) -> sqlx::Result<Option<Timestamp>> {
    let found = sqlx::query!(
        r#"select count(*) filter (where not begun) as "ahead!", max(start_at) as last
           from maintenance where plan_id = $1"#,
        row.id
    )
    .fetch_one(conn)
    .await?;
    let last = found.last.map(|at| at.to_jiff());
    Ok((found.ahead == 0).then(|| last.map_or(row.declared_at, |last| last.max(row.declared_at))))
}

async fn insert_ahead(
    conn: &mut PgConnection,
    row: &PlanRow,
    next: Occurrence,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into maintenance (maintenance_id, plan_id, name, start_at, end_at, monitors, suppress_alerts, exclude_from_slo,
             pause_probes, declared_at, declared_by, fleets, reason, locations, groups, labels, named)
         select $2, plan_id, name, $3, $4, maintenance_monitors(monitors, monitors, groups, labels), suppress_alerts, exclude_from_slo,
             pause_probes, declared_at, declared_by, fleets, reason, locations, groups, labels, monitors
         from maintenance_plan where plan_id = $1
         on conflict do nothing",
        row.id,
        super::id_at(next.start),
        next.start.to_sqlx(),
        next.end.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

async fn finish(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query!("update maintenance_plan set finished = true where plan_id = $1", id)
        .execute(conn)
        .await?;
    Ok(())
}

/// Plans that were not deleted, or the one that is named.
pub async fn list(conn: &mut PgConnection, id: Option<Uuid>) -> sqlx::Result<Vec<PlanRow>> {
    sqlx::query!(
        r#"select plan_id, name, reason, cron, timezone, duration_s, until_at, paused,
                  skipped as "skipped: Vec<jiff_sqlx::Timestamp>", monitors, fleets, groups, labels, locations, suppress_alerts,
                  exclude_from_slo, pause_probes, revision, declared_at, declared_by, changed_at
           from maintenance_plan where deleted_at is null and ($1::uuid is null or plan_id = $1) order by plan_id"#,
        id
    )
    .map(|r| PlanRow {
        id: r.plan_id,
        terms: Terms {
            name: r.name,
            reason: r.reason,
            scope: Scope {
                monitors: r.monitors,
                fleets: r.fleets,
                groups: r.groups,
                labels: r.labels,
                locations: r.locations,
            },
            switches: Switches {
                suppress_alerts: r.suppress_alerts,
                exclude_from_slo: r.exclude_from_slo,
                pause_probes: r.pause_probes,
            },
        },
        recurrence: Recurrence {
            cron: r.cron,
            timezone: r.timezone,
            duration_s: r.duration_s,
            until: r.until_at.map(|t| t.to_jiff()),
            paused: r.paused,
        },
        skipped: r.skipped.into_iter().map(|t| t.to_jiff()).collect(),
        revision: r.revision,
        declared_at: r.declared_at.to_jiff(),
        declared_by: r.declared_by,
        changed_at: r.changed_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}
