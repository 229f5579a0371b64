//! Maintenance as it was entered: windows that come once and plans, as one list.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    maintenance::{Scope, Terms},
    maintenance_plans::Recurrence,
};
use crate::domain::maintenance::{Switches, plan::Plan};

#[derive(Debug, Clone)]
pub struct EntryRow {
    /// Of the window that comes once, or of the plan.
    pub id: Uuid,
    pub terms: Terms,
    /// None: it comes once.
    pub recurrence: Option<Recurrence>,
    pub skipped: Vec<Timestamp>,
    /// Entered afterwards, with a reason.
    pub correction: bool,
    /// Of a plan: the occurrence that runs, or the next, or the last; none when there was none yet.
    pub span: Option<(Timestamp, Timestamp)>,
    /// `planned running past paused`
    pub phase: String,
    /// Whom it covers by now, or did when it began; none covers everything.
    pub covered: Option<Vec<i32>>,
    pub revision: i32,
    pub declared_at: Timestamp,
    pub declared_by: String,
}

/// What to list.
#[derive(Debug, Clone)]
pub struct Filter<'a> {
    pub now: Timestamp,
    pub id: Option<Uuid>,
    pub phase: Option<&'a str>,
    /// Entries that cover this monitor.
    pub monitor: Option<i32>,
    /// Entries that cover this fleet.
    pub fleet: Option<i32>,
    /// Below this one in the order.
    pub before: Option<(Timestamp, Uuid)>,
    pub limit: i64,
}

impl EntryRow {
    /// When it comes; none when it comes once.
    pub fn plan(&self) -> sqlx::Result<Option<Plan>> {
        let plan = self.recurrence.as_ref().map(|recurrence| recurrence.plan(self.id));
        Ok(plan.transpose()?.map(|plan| plan.without(self.skipped.iter().copied())))
    }

    /// Where it stands in the list.
    pub fn place(&self) -> (Timestamp, Uuid) {
        (self.span.map_or(self.declared_at, |(start, _)| start), self.id)
    }
}

/// The latest start first.
pub async fn list(conn: &mut PgConnection, filter: &Filter<'_>) -> sqlx::Result<Vec<EntryRow>> {
    let (before_at, before_id) = filter.before.unzip();
    sqlx::query!(
        r#"select e.id as "id!", name as "name!", reason as "reason!", kind as "kind!", start_at as "start_at?: jiff_sqlx::Timestamp",
                  end_at as "end_at?: jiff_sqlx::Timestamp", phase as "phase!", named, covered, fleets, groups, labels, locations,
                  suppress_alerts as "suppress_alerts!", exclude_from_slo as "exclude_from_slo!", pause_probes as "pause_probes!",
                  revision as "revision!", declared_at as "declared_at!: jiff_sqlx::Timestamp", declared_by as "declared_by!",
                  cron, timezone, duration_s, until_at as "until_at?: jiff_sqlx::Timestamp", paused as "paused!",
                  skipped as "skipped!: Vec<jiff_sqlx::Timestamp>"
           from (
               select u.*, case when start_at <= $1 and end_at > $1 then 'running' when paused then 'paused'
                                when start_at > $1 then 'planned' else 'past' end as phase
               from (
                   select maintenance_id as id, name, reason, kind, start_at, end_at,
                          case when groups is null and labels is null then monitors else named end as named,
                          case when begun then monitors else maintenance_monitors(monitors, named, groups, labels) end as covered,
                          fleets, groups, labels, locations, suppress_alerts, exclude_from_slo, pause_probes, revision,
                          declared_at, declared_by, null::text as cron, null::text as timezone, null::int4 as duration_s,
                          null::timestamptz as until_at, false as paused, '{}'::timestamptz[] as skipped
                   from maintenance where plan_id is null and ($2::uuid is null or maintenance_id = $2)
                   union all
                   select p.plan_id, p.name, p.reason, 'planned', c.start_at, c.end_at, p.monitors,
                          maintenance_monitors(p.monitors, p.monitors, p.groups, p.labels),
                          p.fleets, p.groups, p.labels, p.locations, p.suppress_alerts, p.exclude_from_slo, p.pause_probes,
                          p.revision, p.declared_at, p.declared_by, p.cron, p.timezone, p.duration_s, p.until_at, p.paused, p.skipped
                   from maintenance_plan p left join lateral (
                       select start_at, end_at from maintenance w where w.plan_id = p.plan_id
                       order by end_at <= $1, case when end_at > $1 then start_at end, start_at desc limit 1) as c on true
                   where p.deleted_at is null and ($2::uuid is null or p.plan_id = $2)) as u) as e
           where ($3::text is null or phase = $3)
             and ($4::int4 is null or covered is null or $4 = any(covered))
             and ($5::int4 is null or (covered is null and fleets is null) or $5 = any(fleets))
             and ($6::timestamptz is null or (coalesce(start_at, declared_at), e.id) < ($6, $7::uuid))
           order by coalesce(start_at, declared_at) desc, e.id desc limit $8"#,
        filter.now.to_sqlx(),
        filter.id,
        filter.phase,
        filter.monitor,
        filter.fleet,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        filter.limit,
    )
    .map(|r| EntryRow {
        id: r.id,
        terms: Terms {
            name: r.name,
            reason: r.reason,
            scope: Scope {
                monitors: r.named,
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
        recurrence: r.cron.zip(r.timezone).zip(r.duration_s).map(|((cron, timezone), duration_s)| {
            Recurrence {
                cron,
                timezone,
                duration_s,
                until: r.until_at.map(|t| t.to_jiff()),
                paused: r.paused,
            }
        }),
        skipped: r.skipped.into_iter().map(|t| t.to_jiff()).collect(),
        correction: r.kind == "correction",
        span: r.start_at.zip(r.end_at).map(|(start, end)| (start.to_jiff(), end.to_jiff())),
        phase: r.phase,
        covered: r.covered,
        revision: r.revision,
        declared_at: r.declared_at.to_jiff(),
        declared_by: r.declared_by,
    })
    .fetch_all(conn)
    .await
}

/// Outside ids of keys, also of what was deleted.
#[derive(Debug, Default)]
pub struct Ids {
    pub monitors: HashMap<i32, Uuid>,
    pub fleets: HashMap<i32, Uuid>,
    pub locations: HashMap<i16, Uuid>,
}

pub async fn ids(
    conn: &mut PgConnection,
    monitors: &[i32],
    fleets: &[i32],
    locations: &[i16],
) -> sqlx::Result<Ids> {
    let rows = sqlx::query!(
        r#"select 'monitor' as "of!", monitor_id as "key!", uid as "uid!" from monitor where monitor_id = any($1)
           union all select 'fleet', fleet_id, uid from fleet where fleet_id = any($2)
           union all select 'location', location_id::int4, uid from location where location_id = any($3)"#,
        monitors,
        fleets,
        locations,
    )
    .fetch_all(conn)
    .await?;
    let mut ids = Ids::default();
    for row in rows {
        match row.of.as_str() {
            "monitor" => drop(ids.monitors.insert(row.key, row.uid)),
            "fleet" => drop(ids.fleets.insert(row.key, row.uid)),
            _ => drop(i16::try_from(row.key).map(|key| ids.locations.insert(key, row.uid))),
        }
    }
    Ok(ids)
}
