//! Occurrences of maintenance, past and to come: those that are written down, and what plans will bring.

use jiff::{SignedDuration, Timestamp};
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    maintenance::{Scope, Terms},
    maintenance_plans::{self, PlanRow},
};
use crate::domain::maintenance::Switches;

/// One time that maintenance takes place.
#[derive(Debug, Clone)]
pub struct OccurrenceRow {
    /// Of the window that comes once, or of the plan. With the start it is the occurrence's own.
    pub entry: Uuid,
    /// Where it is written down; none for what a plan will bring after its next one.
    pub window: Option<Uuid>,
    pub start_at: Timestamp,
    pub end_at: Timestamp,
    pub recurring: bool,
    /// It has begun: whom it covers and what it does is settled.
    pub begun: bool,
    /// It was planned, and is left out.
    pub skipped: bool,
    /// Entered afterwards, with a reason.
    pub correction: bool,
    pub terms: Terms,
    /// Whom it covers, or would if it began now; none covers everything.
    pub covered: Option<Vec<i32>>,
    /// Counts the changes of the entry.
    pub revision: i32,
    pub changed_at: Timestamp,
}

/// Which occurrences: those that touch `[from, to)`.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Those that cover any of these monitors.
    pub monitors: Option<&'a [i32]>,
    /// Those that cover this fleet.
    pub fleet: Option<i32>,
    pub entry: Option<Uuid>,
    /// Behind this one in the order.
    pub after: Option<(Timestamp, Uuid)>,
    pub limit: usize,
}

impl OccurrenceRow {
    /// Where it stands in the list.
    pub fn place(&self) -> (Timestamp, Uuid) {
        (self.start_at, self.entry)
    }

    fn is_asked(&self, asked: &Asked<'_>) -> bool {
        let scope = &self.terms.scope;
        let everything = self.covered.is_none() && scope.fleets.is_none();
        let monitors = asked.monitors.is_none_or(|keys| {
            self.covered.as_ref().is_none_or(|all| all.iter().any(|key| keys.contains(key)))
        });
        let fleet = asked.fleet.is_none_or(|key| {
            everything || scope.fleets.as_ref().is_some_and(|all| all.contains(&key))
        });
        monitors && fleet
    }
}

/// At most so many occurrences are told to the public.
const PUBLIC: usize = 1_000;

/// What a public page or calendar tells of these monitors: planned occurrences that touch `[from, to)`, skipped
/// ones among them, without corrections and without what is about single locations alone.
pub async fn of_monitors(
    conn: &mut PgConnection,
    monitors: &[i32],
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<OccurrenceRow>> {
    let asked = Asked {
        from,
        to,
        monitors: Some(monitors),
        fleet: None,
        entry: None,
        after: None,
        limit: PUBLIC,
    };
    let mut all = list(conn, &asked).await?;
    all.retain(|o| !o.correction && o.terms.scope.locations.is_none());
    Ok(all)
}

/// At most `limit` occurrences, the earliest start first.
pub async fn list(conn: &mut PgConnection, asked: &Asked<'_>) -> sqlx::Result<Vec<OccurrenceRow>> {
    let mut all = written(conn, asked).await?;
    for plan in maintenance_plans::list(conn, asked.entry).await? {
        all.extend(coming(conn, &plan, asked).await?);
    }
    all.sort_by_key(OccurrenceRow::place);
    all.truncate(asked.limit);
    Ok(all)
}

/// What a plan will bring after the occurrence that is written ahead, and what it was told to leave out.
async fn coming(
    conn: &mut PgConnection,
    row: &PlanRow,
    asked: &Asked<'_>,
) -> sqlx::Result<Vec<OccurrenceRow>> {
    if row.recurrence.paused {
        return Ok(Vec::new());
    }
    let plan = row.plan()?;
    let known = known(conn, row).await?;
    let lasts = SignedDuration::from_secs(i64::from(row.recurrence.duration_s));
    let touching = asked.from.checked_sub(lasts).unwrap_or(Timestamp::MIN);
    let occurrences = plan
        .all(known.from.max(touching))
        .take_while(|o| o.start < asked.to)
        .filter(|o| Some(o.start) != known.ahead)
        .map(|o| OccurrenceRow {
            entry: row.id,
            window: None,
            start_at: o.start,
            end_at: o.end,
            recurring: true,
            begun: false,
            skipped: o.skipped,
            correction: false,
            terms: row.terms.clone(),
            covered: known.covered.clone(),
            revision: row.revision,
            changed_at: row.changed_at,
        })
        .filter(|o| asked.after.is_none_or(|after| o.place() > after))
        .filter(|o| o.is_asked(asked));
    Ok(occurrences.take(asked.limit).collect())
}

/// What is known of a plan beyond what is written in it.
struct Known {
    /// What begins behind this is still to come.
    from: Timestamp,
    /// The beginning that is written ahead.
    ahead: Option<Timestamp>,
    /// Whom it would cover now.
    covered: Option<Vec<i32>>,
}

async fn known(conn: &mut PgConnection, row: &PlanRow) -> sqlx::Result<Known> {
    let scope = &row.terms.scope;
    sqlx::query!(
        r#"select max(start_at) filter (where begun) as last, max(start_at) filter (where not begun) as ahead,
                  maintenance_monitors($2, $2, $3, $4) as covered
           from maintenance where plan_id = $1"#,
        row.id,
        scope.monitors.as_deref() as _,
        scope.groups.as_deref() as _,
        scope.labels,
    )
    .map(|r| Known {
        from: r.last.map_or(row.declared_at, |last| last.to_jiff().max(row.declared_at)),
        ahead: r.ahead.map(|at| at.to_jiff()),
        covered: r.covered,
    })
    .fetch_one(conn)
    .await
}

async fn written(conn: &mut PgConnection, asked: &Asked<'_>) -> sqlx::Result<Vec<OccurrenceRow>> {
    let (after_at, after_id) = asked.after.unzip();
    sqlx::query!(
        r#"select w.maintenance_id, coalesce(w.plan_id, w.maintenance_id) as "entry!", w.plan_id is not null as "recurring!",
                  w.start_at, w.end_at, w.begun, w.kind, w.name, w.reason, w.fleets, w.groups, w.labels, w.locations,
                  case when w.groups is null and w.labels is null then w.monitors else w.named end as named,
                  case when w.begun then w.monitors else maintenance_monitors(w.monitors, w.named, w.groups, w.labels) end as covered,
                  w.suppress_alerts, w.exclude_from_slo, w.pause_probes,
                  coalesce(p.revision, w.revision) as "revision!", coalesce(p.changed_at, w.declared_at) as "changed_at!: jiff_sqlx::Timestamp"
           from maintenance w left join maintenance_plan p using (plan_id)
           where w.start_at < $2 and w.end_at > $1
             and ($3::uuid is null or coalesce(w.plan_id, w.maintenance_id) = $3)
             and ($4::timestamptz is null or (w.start_at, coalesce(w.plan_id, w.maintenance_id)) > ($4, $5::uuid))
             and ($6::int4[] is null or w.monitors is null or $6 &&
                  case when w.begun then w.monitors else maintenance_monitors(w.monitors, w.named, w.groups, w.labels) end)
             and ($7::int4 is null or (w.monitors is null and w.fleets is null) or $7 = any(w.fleets))
           order by w.start_at, 2 limit $8"#,
        asked.from.to_sqlx(),
        asked.to.to_sqlx(),
        asked.entry,
        after_at.map(|t| t.to_sqlx()) as _,
        after_id,
        asked.monitors as _,
        asked.fleet,
        i64::try_from(asked.limit).unwrap_or(i64::MAX),
    )
    .map(|r| OccurrenceRow {
        entry: r.entry,
        window: Some(r.maintenance_id),
        start_at: r.start_at.to_jiff(),
        end_at: r.end_at.to_jiff(),
        recurring: r.recurring,
        begun: r.begun,
        skipped: false,
        correction: r.kind == "correction",
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
        covered: r.covered,
        revision: r.revision,
        changed_at: r.changed_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}
