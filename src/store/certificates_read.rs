//! Certificates as pages list them. Writing them is `store::certificates`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::certificates::SightRow;
use crate::domain::ids::{LocationKey, MonitorKey};

/// What each location was shown last under the present settings, of one address each.
pub async fn of_monitor(conn: &mut PgConnection, key: MonitorKey) -> sqlx::Result<Vec<SightRow>> {
    sqlx::query!(
        "select distinct on (s.location_id) s.location_id, s.address, s.fingerprint, s.check_version, s.since_at,
                s.last_at, s.not_after, s.valid, s.problem, s.facts
         from certificate_sight s join monitor m using (monitor_id, check_version)
         where s.monitor_id = $1 order by s.location_id, s.last_at desc, s.address",
        key.0
    )
    .map(|r| SightRow {
        monitor: key,
        location: LocationKey(r.location_id),
        address: r.address,
        fingerprint: r.fingerprint,
        check_version: r.check_version,
        since: r.since_at.to_jiff(),
        last: r.last_at.to_jiff(),
        not_after: r.not_after.to_jiff(),
        valid: r.valid,
        problem: r.problem,
        facts: r.facts,
    })
    .fetch_all(conn)
    .await
}

#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Part of the name or target of the monitor, of a name of the certificate, or of its issuer.
    pub q: Option<String>,
    pub monitor: Option<MonitorKey>,
    /// Ends before.
    pub before: Option<Timestamp>,
    /// True: only those that are not valid.
    pub invalid: bool,
    /// True: only those of monitors that are shown several.
    pub differing: bool,
    /// Below this one in the order: end, monitor, fingerprint.
    pub after: Option<(Timestamp, i32, String)>,
    pub limit: i64,
}

/// One certificate of one monitor.
#[derive(Debug, Clone)]
pub struct ShownRow {
    pub monitor: MonitorKey,
    pub uid: Uuid,
    pub name: String,
    pub group: String,
    pub check_spec: serde_json::Value,
    pub runbook_url: Option<String>,
    pub fingerprint: String,
    pub not_after: Timestamp,
    pub valid: bool,
    pub problem: Option<String>,
    pub since: Timestamp,
    pub last: Timestamp,
    pub facts: serde_json::Value,
    pub sights: Vec<SightAt>,
    /// Locations that are shown any certificate of the monitor.
    pub locations: i64,
    /// Different certificates of the monitor.
    pub certificates: i64,
    /// Days that were left of the monitor's certificate when it was renewed last.
    pub renewed_days: Option<i32>,
    /// The open incident about it.
    pub incident: Option<Uuid>,
}

#[derive(Debug, Clone, serde::Deserialize)]
pub struct SightAt {
    pub location: LocationKey,
    pub address: String,
    pub since: Timestamp,
    pub last: Timestamp,
}

/// Certificates that are shown now, those that end first before the others.
pub async fn list(conn: &mut PgConnection, f: &Filter) -> sqlx::Result<Vec<ShownRow>> {
    let (at, monitor, fingerprint) = match &f.after {
        Some((at, monitor, fingerprint)) => (Some(*at), Some(*monitor), Some(fingerprint.as_str())),
        None => (None, None, None),
    };
    let rows = sqlx::query!(
        r#"with one as (
               select monitor_id, fingerprint, min(not_after) as not_after, bool_and(valid) as valid,
                      max(problem) as problem, min(since_at) as since_at, max(last_at) as last_at,
                      (array_agg(facts order by not_after))[1] as facts,
                      json_agg(json_build_object('location', location_id, 'address', address, 'since', since_at,
                                                 'last', last_at) order by location_id, address) as sights
               from certificate_shown where $2::int4 is null or monitor_id = $2
               group by monitor_id, fingerprint
           ), of_monitor as (
               select monitor_id, count(distinct location_id) as locations, count(distinct fingerprint) as certificates
               from certificate_shown where $2::int4 is null or monitor_id = $2 group by monitor_id
           )
           select o.monitor_id as "monitor_id!", o.fingerprint as "fingerprint!", o.not_after as "not_after!",
                  o.valid as "valid!", o.problem, o.since_at as "since_at!", o.last_at as "last_at!",
                  o.facts as "facts!", o.sights as "sights!", n.locations as "locations!",
                  n.certificates as "certificates!", m.uid, m.name, m.group_name, m.check_spec, m.runbook_url,
                  w.renewed_days as "renewed_days?", i.incident_id as "incident_id?"
           from one o join of_monitor n using (monitor_id) join monitor m using (monitor_id)
                left join certificate_watch w on w.monitor_id = o.monitor_id and w.check_version = m.check_version
                left join certificate_alarm a on a.monitor_id = o.monitor_id and a.fingerprint = o.fingerprint
                left join incident i on i.monitor_id = a.monitor_id and i.incident_id = a.incident_id
                     and i.resolved_at is null
           where ($1::text is null
                  or position(lower($1) in lower(concat_ws(' ', m.name, m.check_spec ->> 'url', o.facts ->> 'names',
                                                           o.facts ->> 'subject', o.facts ->> 'issuer'))) > 0)
             and ($3::timestamptz is null or o.not_after < $3)
             and (not $4 or not o.valid)
             and (not $5 or n.certificates > 1)
             and ($6::timestamptz is null or (o.not_after, o.monitor_id, o.fingerprint) > ($6, $7::int4, $8::text))
           order by o.not_after, o.monitor_id, o.fingerprint limit $9"#,
        f.q.as_deref(),
        f.monitor.map(|key| key.0),
        f.before.map(|t| t.to_sqlx()) as _,
        f.invalid,
        f.differing,
        at.map(|t| t.to_sqlx()) as _,
        monitor,
        fingerprint,
        f.limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|r| {
            Ok(ShownRow {
                monitor: MonitorKey(r.monitor_id),
                uid: r.uid,
                name: r.name,
                group: r.group_name,
                check_spec: r.check_spec,
                runbook_url: r.runbook_url,
                fingerprint: r.fingerprint,
                not_after: r.not_after.to_jiff(),
                valid: r.valid,
                problem: r.problem,
                since: r.since_at.to_jiff(),
                last: r.last_at.to_jiff(),
                facts: r.facts,
                sights: super::json::read(r.sights)?,
                locations: r.locations,
                certificates: r.certificates,
                renewed_days: r.renewed_days,
                incident: r.incident_id,
            })
        })
        .collect()
}

/// How many certificates there are, and how many of them stand out.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub certificates: i64,
    pub monitors: i64,
    pub expired: i64,
    pub within_7: i64,
    pub within_30: i64,
    pub invalid: i64,
    /// Monitors that are shown several.
    pub differing: i64,
}

/// Ends before `sooner` are within seven days, before `later` within thirty; neither counts what has ended.
pub async fn counts(
    conn: &mut PgConnection,
    now: Timestamp,
    sooner: Timestamp,
    later: Timestamp,
) -> sqlx::Result<Counts> {
    sqlx::query!(
        r#"with one as (
               select monitor_id, fingerprint, min(not_after) as not_after, bool_and(valid) as valid
               from certificate_shown group by monitor_id, fingerprint
           )
           select count(*) as "certificates!", count(distinct monitor_id) as "monitors!",
                  count(*) filter (where not_after < $1) as "expired!",
                  count(*) filter (where not_after >= $1 and not_after < $2) as "within_7!",
                  count(*) filter (where not_after >= $1 and not_after < $3) as "within_30!",
                  count(*) filter (where not valid) as "invalid!",
                  (select count(*) from (select from one group by monitor_id having count(*) > 1) d) as "differing!"
           from one"#,
        now.to_sqlx(),
        sooner.to_sqlx(),
        later.to_sqlx(),
    )
    .map(|r| Counts {
        certificates: r.certificates,
        monitors: r.monitors,
        expired: r.expired,
        within_7: r.within_7,
        within_30: r.within_30,
        invalid: r.invalid,
        differing: r.differing,
    })
    .fetch_one(conn)
    .await
}
