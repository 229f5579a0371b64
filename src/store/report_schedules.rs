//! Reports that are made by themselves: when, of what, for whom; and what was made. Constraint
//! `report_schedule_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::SloKey;

#[derive(Debug, Clone)]
pub struct ScheduleRow {
    pub key: i32,
    pub uid: Uuid,
    pub values: ScheduleValues,
    pub channel_name: String,
    /// Id and name of each SLO that is not deleted.
    pub slos: Vec<(Uuid, String)>,
    pub next_at: Option<Timestamp>,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleValues {
    pub name: String,
    pub slos: Vec<i32>,
    pub cron: String,
    pub timezone: String,
    pub channel: Uuid,
    pub customer: String,
    pub enabled: bool,
}

pub async fn insert(
    conn: &mut PgConnection,
    uid: Uuid,
    v: &ScheduleValues,
    next_at: Option<Timestamp>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into report_schedule (uid, name, slos, cron, timezone, channel_id, customer, enabled, next_at, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)",
        uid,
        v.name,
        &v.slos,
        v.cron,
        v.timezone,
        v.channel,
        v.customer,
        v.enabled,
        next_at.map(|t| t.to_sqlx()) as _,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn update(
    conn: &mut PgConnection,
    key: i32,
    v: &ScheduleValues,
    next_at: Option<Timestamp>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update report_schedule set name = $2, slos = $3, cron = $4, timezone = $5, channel_id = $6, customer = $7, enabled = $8,
             next_at = $9, updated_at = $10, revision = revision + 1
         where schedule_id = $1",
        key,
        v.name,
        &v.slos,
        v.cron,
        v.timezone,
        v.channel,
        v.customer,
        v.enabled,
        next_at.map(|t| t.to_sqlx()) as _,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Frees the name; what was made stays.
pub async fn delete(conn: &mut PgConnection, key: i32, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update report_schedule set deleted_at = $2, updated_at = $2, next_at = null where schedule_id = $1",
        key,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// All by name, one by its id, or some by key; locked for a change on demand by [`lock`].
pub async fn list(
    conn: &mut PgConnection,
    uid: Option<Uuid>,
    keys: Option<&[i32]>,
) -> sqlx::Result<Vec<ScheduleRow>> {
    sqlx::query!(
        r#"select r.schedule_id, r.uid, r.name, r.slos, r.cron, r.timezone, r.channel_id, c.name as channel_name, r.customer,
                  r.enabled, r.next_at, r.revision, r.created_at, r.updated_at,
                  coalesce((select array_agg(s.uid order by array_position(r.slos, s.slo_id)) from slo s
                            where s.slo_id = any(r.slos) and s.deleted_at is null), '{}') as "slo_uids!",
                  coalesce((select array_agg(s.name order by array_position(r.slos, s.slo_id)) from slo s
                            where s.slo_id = any(r.slos) and s.deleted_at is null), '{}') as "slo_names!"
           from report_schedule r join channel c using (channel_id)
           where r.deleted_at is null and ($1::uuid is null or r.uid = $1) and ($2::int4[] is null or r.schedule_id = any($2))
           order by r.name"#,
        uid,
        keys as _,
    )
    .map(|r| ScheduleRow {
        key: r.schedule_id,
        uid: r.uid,
        values: ScheduleValues {
            name: r.name,
            slos: r.slos,
            cron: r.cron,
            timezone: r.timezone,
            channel: r.channel_id,
            customer: r.customer,
            enabled: r.enabled,
        },
        channel_name: r.channel_name,
        slos: r.slo_uids.into_iter().zip(r.slo_names).collect(),
        next_at: r.next_at.map(|t| t.to_jiff()),
        revision: r.revision,
        created_at: r.created_at.to_jiff(),
        updated_at: r.updated_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// Locks a schedule for a change; false when there is none.
pub async fn lock(conn: &mut PgConnection, uid: Uuid) -> sqlx::Result<bool> {
    let found = sqlx::query!(
        "select schedule_id from report_schedule where uid = $1 and deleted_at is null for no key update",
        uid
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.is_some())
}

/// A schedule that is due, locked; those that somebody else is at are passed over.
pub async fn due(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Option<ScheduleRow>> {
    let key = sqlx::query_scalar!(
        "select schedule_id from report_schedule where deleted_at is null and next_at <= $1
         order by next_at, schedule_id limit 1 for no key update skip locked",
        now.to_sqlx()
    )
    .fetch_optional(&mut *conn)
    .await?;
    match key {
        Some(key) => Ok(list(conn, None, Some(&[key])).await?.pop()),
        None => Ok(None),
    }
}

pub async fn set_next(
    conn: &mut PgConnection,
    key: i32,
    next_at: Option<Timestamp>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update report_schedule set next_at = $2 where schedule_id = $1",
        key,
        next_at.map(|t| t.to_sqlx()) as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How it went with what a schedule made last.
#[derive(Debug, Clone)]
pub struct LastMade {
    pub schedule: i32,
    pub due_at: Timestamp,
    pub made_at: Timestamp,
    /// Reports: one for each SLO.
    pub reports: i64,
    pub delivered: i64,
    /// Given up, or dropped.
    pub failed: i64,
    /// What the other side said last to one that was not delivered.
    pub answer: Option<String>,
}

/// What each of these schedules made at the last time that it made anything.
pub async fn last_made(conn: &mut PgConnection, keys: &[i32]) -> sqlx::Result<Vec<LastMade>> {
    sqlx::query!(
        r#"select s.schedule_id, s.due_at, max(s.made_at) as "made_at!", count(*) as "reports!",
                  count(*) filter (where n.outcome = 'delivered') as "delivered!",
                  count(*) filter (where n.outcome <> 'delivered') as "failed!",
                  min(n.answer) filter (where n.outcome is distinct from 'delivered') as answer
           from unnest($1::int4[]) as k(schedule_id)
                cross join lateral (select max(l.due_at) as due_at from report_sent l where l.schedule_id = k.schedule_id) as l
                join report_sent s on s.schedule_id = k.schedule_id and s.due_at = l.due_at
                left join notice n on n.monitor_id = 0 and n.incident_id = s.report_id
           group by s.schedule_id, s.due_at"#,
        keys
    )
    .map(|r| LastMade {
        schedule: r.schedule_id,
        due_at: r.due_at.to_jiff(),
        made_at: r.made_at.to_jiff(),
        reports: r.reports,
        delivered: r.delivered,
        failed: r.failed,
        answer: r.answer,
    })
    .fetch_all(conn)
    .await
}

/// SLOs by id or name: the word, and the key.
pub async fn slos_named(
    conn: &mut PgConnection,
    words: &[String],
) -> sqlx::Result<Vec<(String, i32)>> {
    sqlx::query!(
        r#"select w.word as "word!", s.slo_id from unnest($1::text[]) as w(word)
           join slo s on s.deleted_at is null and (s.name = w.word or s.uid::text = w.word)"#,
        words
    )
    .map(|r| (r.word, r.slo_id))
    .fetch_all(conn)
    .await
}

/// A report that was made.
#[derive(Debug, Clone)]
pub struct SentRow {
    pub report: Uuid,
    pub schedule: Uuid,
    pub schedule_name: String,
    pub slo: Uuid,
    pub slo_name: String,
    pub due_at: Timestamp,
    pub window_start: Timestamp,
    pub window_end: Timestamp,
    pub told: Told,
    /// Only when one is asked for.
    pub document: Option<serde_json::Value>,
    pub sha256: String,
    pub made_at: Timestamp,
    /// Of its delivery: `delivered failed dropped`; none while it is still being tried.
    pub outcome: Option<String>,
    pub answer: Option<String>,
}

/// What a list tells of a report without its document; as the report has it.
#[derive(Debug, Clone, Default)]
pub struct Told {
    pub revision: Option<i64>,
    /// `domain::slo::report::WindowKind`
    pub window: Option<serde_json::Value>,
    pub target_pct: Option<String>,
    pub pct: Option<String>,
    pub met: Option<bool>,
    pub state: Option<String>,
}

/// A report to keep.
#[derive(Debug, Clone)]
pub struct NewSent {
    pub report: Uuid,
    pub schedule: i32,
    pub slo: SloKey,
    pub due_at: Timestamp,
    pub window_start: Timestamp,
    pub window_end: Timestamp,
    pub document: serde_json::Value,
    pub sha256: String,
    pub channel: Uuid,
}

/// Keeps a report and queues its delivery; false when this one was made already.
pub async fn keep(conn: &mut PgConnection, new: &NewSent, now: Timestamp) -> sqlx::Result<bool> {
    let kept = sqlx::query!(
        "insert into report_sent (report_id, schedule_id, slo_id, due_at, window_start, window_end, document, sha256, made_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict on constraint report_sent_once do nothing",
        new.report,
        new.schedule,
        new.slo.0,
        new.due_at.to_sqlx(),
        new.window_start.to_sqlx(),
        new.window_end.to_sqlx(),
        new.document,
        new.sha256,
        now.to_sqlx(),
    )
    .execute(&mut *conn)
    .await?;
    if kept.rows_affected() == 0 {
        return Ok(false);
    }
    super::outbox::insert_report(conn, new.report, new.channel, now).await?;
    Ok(true)
}

/// What to list of the reports that were made, the latest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentFilter {
    pub report: Option<Uuid>,
    pub before: Option<(Timestamp, Uuid)>,
    pub limit: i64,
}

pub async fn sent(conn: &mut PgConnection, f: SentFilter) -> sqlx::Result<Vec<SentRow>> {
    let (before_at, before_id) = f.before.unzip();
    sqlx::query!(
        r#"select r.report_id, c.uid as schedule_uid, c.name as schedule_name, s.uid as slo_uid, s.name as slo_name, r.due_at,
                  r.window_start, r.window_end, case when $1::uuid is not null then r.document end as document, r.sha256,
                  r.made_at, n.outcome as "outcome?", n.answer as "answer?",
                  (t.report ->> 'report_revision')::int8 as revision, t.report #> '{slo,window}' as "window",
                  t.report #>> '{slo,target_pct}' as target_pct,
                  t.report #>> '{availability,pct}' as pct, (t.report #>> '{availability,met}')::bool as met,
                  t.report ->> 'state' as state
           from report_sent r join report_schedule c using (schedule_id) join slo s using (slo_id)
                cross join lateral (select r.document -> 'report' as report) t
                left join notice n on n.monitor_id = 0 and n.incident_id = r.report_id
           where ($1::uuid is null or r.report_id = $1)
             and ($2::timestamptz is null or (r.made_at, r.report_id) < ($2, $3::uuid))
           order by r.made_at desc, r.report_id desc limit $4"#,
        f.report,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        f.limit,
    )
    .map(|r| SentRow {
        report: r.report_id,
        schedule: r.schedule_uid,
        schedule_name: r.schedule_name,
        slo: r.slo_uid,
        slo_name: r.slo_name,
        due_at: r.due_at.to_jiff(),
        window_start: r.window_start.to_jiff(),
        window_end: r.window_end.to_jiff(),
        told: Told {
            revision: r.revision,
            window: r.window,
            target_pct: r.target_pct,
            pct: r.pct,
            met: r.met,
            state: r.state,
        },
        document: r.document,
        sha256: r.sha256,
        made_at: r.made_at.to_jiff(),
        outcome: r.outcome,
        answer: r.answer,
    })
    .fetch_all(conn)
    .await
}
