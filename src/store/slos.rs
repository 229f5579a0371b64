//! SLOs as they are configured, and the list of them. Constraint `slo_name_key`. What is measured for them is
//! `store::slo_inputs`, what came of it `store::slo_evaluations` and `store::slo_reports`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    ids::{FleetKey, MonitorKey, SloKey},
    slo::subject::Subject,
};

#[derive(Debug, Clone)]
pub struct SloRow {
    pub key: SloKey,
    pub uid: Uuid,
    pub values: Values,
    pub definition_revision: i32,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What somebody wrote.
#[derive(Debug, Clone)]
pub struct Values {
    pub name: String,
    pub service: String,
    pub description: String,
    pub owner: String,
    pub labels: serde_json::Value,
    pub subject: Subject,
    /// domain::slo::document reads it.
    pub definition: serde_json::Value,
    /// None: the default channels.
    pub channels: Option<Vec<Uuid>>,
}

/// Columns of a subject.
struct Columns {
    monitor: Option<i32>,
    fleet: Option<i32>,
    members: Vec<i32>,
}

impl Columns {
    fn of(subject: &Subject) -> Self {
        match subject {
            Subject::Monitor(monitor) => {
                Self { monitor: Some(monitor.0), fleet: None, members: Vec::new() }
            }
            Subject::Fleet { fleet, monitor } => Self {
                monitor: monitor.map(|monitor| monitor.0),
                fleet: Some(fleet.0),
                members: Vec::new(),
            },
            Subject::Composite(members) => Self {
                monitor: None,
                fleet: None,
                members: members.iter().map(|member| member.0).collect(),
            },
        }
    }

    fn read(self) -> Subject {
        match (self.fleet, self.monitor) {
            (Some(fleet), monitor) => {
                Subject::Fleet { fleet: FleetKey(fleet), monitor: monitor.map(MonitorKey) }
            }
            (None, Some(monitor)) => Subject::Monitor(MonitorKey(monitor)),
            (None, None) => Subject::Composite(self.members.into_iter().map(MonitorKey).collect()),
        }
    }
}

fn channels(list: Option<&[Uuid]>) -> Option<serde_json::Value> {
    list.map(|list| list.iter().map(Uuid::to_string).collect())
}

pub async fn insert(
    conn: &mut PgConnection,
    uid: Uuid,
    v: &Values,
    now: Timestamp,
) -> sqlx::Result<SloKey> {
    let columns = Columns::of(&v.subject);
    sqlx::query_scalar!(
        "insert into slo (uid, name, service, description, owner, labels, subject, monitor_id, fleet_id, members,
                          definition, channels, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning slo_id",
        uid,
        v.name,
        v.service,
        v.description,
        v.owner,
        v.labels,
        v.subject.kind(),
        columns.monitor,
        columns.fleet,
        &columns.members,
        v.definition,
        channels(v.channels.as_deref()) as _,
        now.to_sqlx(),
    )
    .fetch_one(conn)
    .await
    .map(SloKey)
}

/// Writes everything; the revision rises, and that of the definition when what is measured has changed.
pub async fn update(
    conn: &mut PgConnection,
    key: SloKey,
    v: &Values,
    redefined: bool,
    now: Timestamp,
) -> sqlx::Result<()> {
    let columns = Columns::of(&v.subject);
    sqlx::query!(
        "update slo set name = $2, service = $3, description = $4, owner = $5, labels = $6, subject = $7, monitor_id = $8,
             fleet_id = $9, members = $10, definition = $11, channels = $12, updated_at = $13, revision = revision + 1,
             definition_revision = definition_revision + $14
         where slo_id = $1",
        key.0,
        v.name,
        v.service,
        v.description,
        v.owner,
        v.labels,
        v.subject.kind(),
        columns.monitor,
        columns.fleet,
        &columns.members,
        v.definition,
        channels(v.channels.as_deref()) as _,
        now.to_sqlx(),
        i32::from(redefined),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps the present definition under its revision.
pub async fn keep_definition(
    conn: &mut PgConnection,
    key: SloKey,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into slo_definition (slo_id, revision, definition, subject, monitor_id, fleet_id, members, saved_at, saved_by)
         select slo_id, definition_revision, definition, subject, monitor_id, fleet_id, members, $2, $3 from slo where slo_id = $1
         on conflict do nothing",
        key.0,
        now.to_sqlx(),
        by
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Frees the name; the row stays, because reports that were handed out refer to it.
pub async fn delete(conn: &mut PgConnection, key: SloKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update slo set deleted_at = $2, updated_at = $2 where slo_id = $1",
        key.0,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("delete from slo_evaluation where slo_id = $1", key.0).execute(conn).await?;
    Ok(())
}

/// By outside id; with `lock`, for a change.
pub async fn get(conn: &mut PgConnection, uid: Uuid, lock: bool) -> sqlx::Result<Option<SloRow>> {
    if lock {
        sqlx::query!("select slo_id from slo where uid = $1 for no key update", uid)
            .fetch_optional(&mut *conn)
            .await?;
    }
    let key = key_of(conn, uid).await?;
    Ok(rows(conn, key.as_slice(), false).await?.pop())
}

/// Takes the lock of an SLO by its key.
pub async fn hold(conn: &mut PgConnection, key: SloKey) -> sqlx::Result<()> {
    sqlx::query!("select from slo where slo_id = $1 for no key update", key.0)
        .fetch_optional(conn)
        .await?;
    Ok(())
}

async fn key_of(conn: &mut PgConnection, uid: Uuid) -> sqlx::Result<Option<i32>> {
    sqlx::query_scalar!("select slo_id from slo where uid = $1", uid).fetch_optional(conn).await
}

/// The same, deleted or not: what was frozen stays readable.
pub async fn get_even_deleted(conn: &mut PgConnection, uid: Uuid) -> sqlx::Result<Option<SloRow>> {
    let key = key_of(conn, uid).await?;
    Ok(rows(conn, key.as_slice(), true).await?.pop())
}

/// Several by outside id.
pub async fn by_uids(conn: &mut PgConnection, uids: &[Uuid]) -> sqlx::Result<Vec<SloRow>> {
    let keys = sqlx::query_scalar!("select slo_id from slo where uid = any($1)", uids)
        .fetch_all(&mut *conn)
        .await?;
    rows(conn, &keys, false).await
}

pub async fn by_keys(conn: &mut PgConnection, keys: &[i32]) -> sqlx::Result<Vec<SloRow>> {
    rows(conn, keys, false).await
}

async fn rows(
    conn: &mut PgConnection,
    keys: &[i32],
    even_deleted: bool,
) -> sqlx::Result<Vec<SloRow>> {
    sqlx::query!(
        "select slo_id, uid, name, service, description, owner, labels, monitor_id, fleet_id, members, definition,
                definition_revision, channels, revision, created_at, updated_at
         from slo
         where slo_id = any($1) and (deleted_at is null or $2)
         order by slo_id",
        keys,
        even_deleted,
    )
    .try_map(|r| {
        let channels = r.channels.map(serde_json::from_value).transpose();
        Ok(SloRow {
            key: SloKey(r.slo_id),
            uid: r.uid,
            values: Values {
                name: r.name,
                service: r.service,
                description: r.description,
                owner: r.owner,
                labels: r.labels,
                subject: Columns { monitor: r.monitor_id, fleet: r.fleet_id, members: r.members }
                    .read(),
                definition: r.definition,
                channels: channels
                    .map_err(|e| sqlx::Error::Decode(format!("slo.channels: {e}").into()))?,
            },
            definition_revision: r.definition_revision,
            revision: r.revision,
            created_at: r.created_at.to_jiff(),
            updated_at: r.updated_at.to_jiff(),
        })
    })
    .fetch_all(conn)
    .await
}

/// What to list: everything else is in the order of the budget that is left.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub service: Option<String>,
    /// SLOs that this monitor has a say in.
    pub monitor: Option<i32>,
    pub fleet: Option<i32>,
    pub state: Option<String>,
    /// Part of the name or of the service.
    pub search: Option<String>,
    /// Behind this one in the order.
    pub after: Option<(f64, i32)>,
    pub limit: i64,
}

/// Keys in the order of the budget that is left, with what stands for it: the least first, those that
/// cannot be told (infinite) last.
pub async fn order(conn: &mut PgConnection, f: &Filter) -> sqlx::Result<Vec<(f64, SloKey)>> {
    let (after, after_key) = f.after.unzip();
    let search = f.search.as_ref().map(|text| {
        let text = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        format!("%{text}%")
    });
    sqlx::query!(
        r#"select s.slo_id, coalesce(e.remaining_ratio, 'infinity') as "left!"
           from slo s left join slo_evaluation e using (slo_id)
           where s.deleted_at is null
             and ($1::text is null or s.service = $1)
             and ($2::int4 is null or s.monitor_id = $2 or $2 = any(s.members))
             and ($3::int4 is null or s.fleet_id = $3)
             and ($4::text is null or e.state = $4)
             and ($5::text is null or s.name ilike $5 or s.service ilike $5)
             and ($6::float8 is null or (coalesce(e.remaining_ratio, 'infinity'), s.slo_id) > ($6, $7::int4))
           order by coalesce(e.remaining_ratio, 'infinity'), s.slo_id limit $8"#,
        f.service,
        f.monitor,
        f.fleet,
        f.state,
        search,
        after,
        after_key,
        f.limit,
    )
    .map(|r| (r.left, SloKey(r.slo_id)))
    .fetch_all(conn)
    .await
}

/// A monitor or fleet by its names outside; none of one that was deleted.
#[derive(Debug, Clone)]
pub struct Watched {
    pub key: i32,
    pub uid: Uuid,
    pub name: String,
}

/// Ids and names of monitors.
pub async fn monitors(conn: &mut PgConnection, keys: &[i32]) -> sqlx::Result<Vec<Watched>> {
    sqlx::query!(
        "select monitor_id, uid, name from monitor where monitor_id = any($1) and deleted_at is null",
        keys
    )
    .map(|r| Watched { key: r.monitor_id, uid: r.uid, name: r.name })
    .fetch_all(conn)
    .await
}

/// Ids and names of fleets.
pub async fn fleets(conn: &mut PgConnection, keys: &[i32]) -> sqlx::Result<Vec<Watched>> {
    sqlx::query!(
        "select fleet_id, uid, name from fleet where fleet_id = any($1) and deleted_at is null",
        keys
    )
    .map(|r| Watched { key: r.fleet_id, uid: r.uid, name: r.name })
    .fetch_all(conn)
    .await
}

/// SLOs of time that leave maintenance of these monitors out (all monitors when none are named), by name: of a
/// monitor, or of members that are all covered.
pub async fn leaving_out(
    conn: &mut PgConnection,
    monitors: Option<&[i32]>,
    limit: i64,
) -> sqlx::Result<Vec<SloRow>> {
    let keys = sqlx::query_scalar!(
        "select slo_id from slo
         where deleted_at is null and fleet_id is null
           and ($1::int4[] is null or monitor_id = any($1) or (monitor_id is null and members <@ $1))
         order by name limit $2",
        monitors as _,
        limit,
    )
    .fetch_all(&mut *conn)
    .await?;
    by_keys(conn, &keys).await
}

/// How the locations of a monitor vote: what makes it down.
#[derive(Debug, Clone)]
pub struct Voting {
    pub key: i32,
    pub interval_s: i32,
    pub timeout_ms: i32,
    pub locations: i64,
    /// `domain::monitor::PolicySpec`.
    pub policy: serde_json::Value,
}

/// How monitors are judged, by key; none of those that were deleted.
pub async fn voting(conn: &mut PgConnection, keys: &[i32]) -> sqlx::Result<Vec<Voting>> {
    sqlx::query!(
        r#"select m.monitor_id, m.interval_s, m.timeout_ms, m.policy,
                  (select count(*) from monitor_location l where l.monitor_id = m.monitor_id) as "locations!"
           from monitor m where m.monitor_id = any($1) and m.deleted_at is null"#,
        keys
    )
    .map(|r| Voting {
        key: r.monitor_id,
        interval_s: r.interval_s,
        timeout_ms: r.timeout_ms,
        locations: r.locations,
        policy: r.policy,
    })
    .fetch_all(conn)
    .await
}

/// The SLO of this name, if there is one.
pub async fn named(conn: &mut PgConnection, name: &str) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar!("select uid from slo where name = $1 and deleted_at is null", name)
        .fetch_optional(conn)
        .await
}

/// All SLOs, in the order of their names.
pub async fn all(conn: &mut PgConnection) -> sqlx::Result<Vec<SloRow>> {
    let keys = sqlx::query_scalar!("select slo_id from slo where deleted_at is null")
        .fetch_all(&mut *conn)
        .await?;
    let mut rows = rows(conn, &keys, false).await?;
    rows.sort_by(|a, b| a.values.name.cmp(&b.values.name));
    Ok(rows)
}
