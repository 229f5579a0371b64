//! What is stored of the monitors behind an SLO, each kind of thing in one statement for all of them, so that
//! an SLO costs the same number of statements whatever it watches.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    Millis,
    availability::Stretch,
    decision,
    ids::{LocationKey, MonitorKey},
    slo::{
        maintenance::{Kind, Occurrence},
        outage::Incident,
    },
};

/// A monitor as figures need it.
#[derive(Debug, Clone)]
pub struct MonitorRow {
    pub key: MonitorKey,
    pub uid: Uuid,
    pub created_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
    pub interval_s: i32,
    pub timeout_ms: i32,
    /// `domain::decision::Live`; none of one that was deleted.
    pub live: Option<String>,
    pub data_revision: i32,
    /// In configured order.
    pub locations: Vec<LocationKey>,
}

/// Monitors by key, deleted ones too.
pub async fn monitors(conn: &mut PgConnection, keys: &[i32]) -> sqlx::Result<Vec<MonitorRow>> {
    sqlx::query!(
        r#"select m.monitor_id as "monitor_id!", m.uid as "uid!", m.created_at as "created_at!: jiff_sqlx::Timestamp",
                  m.deleted_at, m.interval_s as "interval_s!", m.timeout_ms as "timeout_ms!",
                  v.live as "live?", coalesce(r.data_revision, 0) as "data_revision!",
                  coalesce((select array_agg(l.location_id order by l.position) from monitor_location l
                            where l.monitor_id = m.monitor_id), '{}') as "locations!"
           from monitor m left join monitor_live v using (monitor_id) left join monitor_revision r using (monitor_id)
           where m.monitor_id = any($1)"#,
        keys
    )
    .map(|r| MonitorRow {
        key: MonitorKey(r.monitor_id),
        uid: r.uid,
        created_at: r.created_at.to_jiff(),
        deleted_at: r.deleted_at.map(|t| t.to_jiff()),
        interval_s: r.interval_s,
        timeout_ms: r.timeout_ms,
        live: r.live,
        data_revision: r.data_revision,
        locations: r.locations.into_iter().map(LocationKey).collect(),
    })
    .fetch_all(conn)
    .await
}

/// When a coordinator swept last; none before the first time.
pub async fn swept_at(conn: &mut PgConnection) -> sqlx::Result<Option<Timestamp>> {
    let at = sqlx::query_scalar!("select sweep_at from sweep").fetch_optional(conn).await?;
    Ok(at.map(|t| t.to_jiff()))
}

/// Intervals by monitor, oldest first: those that touch [from, to), and before them back to the last one in
/// which the monitor was known not to be down, so that an outage that reaches in has its beginning.
pub async fn intervals(
    conn: &mut PgConnection,
    keys: &[i32],
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<BTreeMap<MonitorKey, Vec<Stretch>>> {
    use decision::State::{Degraded, Partial, Paused, Up};
    let ends_outages = [Up, Degraded, Partial, Paused].map(decision::State::code);
    let rows = sqlx::query!(
        r#"select s.monitor_id as "monitor_id!", s.from_at as "from_at!: jiff_sqlx::Timestamp", s.to_at, s.state as "state!",
                  s.evidence_stale as "stale!"
           from unnest($1::int4[]) as m(id)
           cross join lateral (select coalesce((
               select p.from_at from monitor_state p
               where p.monitor_id = m.id and p.from_at <= $2 and p.state = any($4) and not p.evidence_stale
               order by p.from_at desc limit 1), '-infinity') as start) as b
           join monitor_state s on s.monitor_id = m.id and s.from_at >= b.start and s.from_at < $3
           order by s.monitor_id, s.from_at"#,
        keys,
        from.to_sqlx(),
        to.to_sqlx(),
        &ends_outages[..],
    )
    .map(|r| {
        let stretch = Stretch {
            from: r.from_at.to_jiff().as_millisecond(),
            to: r.to_at.map(|t| t.to_jiff().as_millisecond()),
            state: decision::State::from_code(r.state).unwrap_or(decision::State::Unknown),
            evidence_stale: r.stale,
        };
        (MonitorKey(r.monitor_id), stretch)
    })
    .fetch_all(conn)
    .await?;
    let mut all: BTreeMap<MonitorKey, Vec<Stretch>> = BTreeMap::new();
    for (monitor, stretch) in rows {
        all.entry(monitor).or_default().push(stretch);
    }
    Ok(all)
}

/// Incidents of monitors that touch [from, to), oldest first.
pub async fn incidents(
    conn: &mut PgConnection,
    keys: &[i32],
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<Incident>> {
    let millis = |at: jiff_sqlx::Timestamp| at.to_jiff().as_millisecond();
    sqlx::query!(
        r#"select incident_id, started_at as "started_at: jiff_sqlx::Timestamp", ended_at as "ended_at: jiff_sqlx::Timestamp",
                  opened_at as "opened_at: jiff_sqlx::Timestamp", acked_at as "acked_at: jiff_sqlx::Timestamp"
           from incident
           where monitor_id = any($1) and starts_with(subject, 'monitor:') and started_at < $3 and (ended_at is null or ended_at > $2)
           order by started_at, incident_id"#,
        keys,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| Incident {
        id: r.incident_id.to_string(),
        started_at: millis(r.started_at),
        ended_at: r.ended_at.map(millis),
        opened_at: millis(r.opened_at),
        acked_at: r.acked_at.map(millis),
    })
    .fetch_all(conn)
    .await
}

/// Maintenance of a monitor as it was when it began, and windows that are due and not written down yet.
/// `names` are locations that may be named. Ids are those of windows that come once, and of plans.
pub async fn maintenance(
    conn: &mut PgConnection,
    keys: &[i32],
    from: Timestamp,
    to: Timestamp,
    names: &BTreeMap<LocationKey, String>,
) -> sqlx::Result<BTreeMap<MonitorKey, Vec<Occurrence>>> {
    let rows = sqlx::query!(
        r#"select m.id as "monitor_id!", coalesce(w.plan_id, o.maintenance_id) as "maintenance_id!", o.start_at as "start_at!: jiff_sqlx::Timestamp",
                  o.end_at as "end_at!: jiff_sqlx::Timestamp", o.kind as "kind!", o.reason as "reason!",
                  o.exclude_from_slo as "exclude!", o.locations, o.declared_at as "declared_at!: jiff_sqlx::Timestamp", o.name as "name!"
           from unnest($1::int4[]) as m(id) cross join lateral (
               select maintenance_id, start_at, end_at, kind, reason, exclude_from_slo, locations, declared_at, name
               from maintenance_occurrence where monitor_id = m.id and start_at < $3 and end_at > $2
               union all
               select maintenance_id, start_at, end_at, kind, reason, exclude_from_slo, locations, declared_at, name
               from maintenance_occurrence where monitor_id = 0 and start_at < $3 and end_at > $2
               union all
               select maintenance_id, start_at, end_at, kind, reason, exclude_from_slo, locations, declared_at, name
               from maintenance
               where not begun and start_at < $3 and end_at > $2
                 and ((monitors is null and fleets is null) or m.id = any(monitors))) as o
                left join maintenance w using (maintenance_id)
           order by 1, o.start_at, o.maintenance_id"#,
        keys,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| {
        let places = r.locations.map(|list: Vec<i16>| {
            list.into_iter().filter_map(|key| names.get(&LocationKey(key)).cloned()).collect()
        });
        let occurrence = Occurrence {
            id: r.maintenance_id.to_string(),
            start: r.start_at.to_jiff().as_millisecond(),
            end: r.end_at.to_jiff().as_millisecond(),
            kind: if r.kind == "correction" { Kind::Correction } else { Kind::Planned },
            excludes: r.exclude,
            declared_at: Some(r.declared_at.to_jiff().as_millisecond()),
            reason: if r.reason.is_empty() { r.name } else { r.reason },
            locations: places,
        };
        (MonitorKey(r.monitor_id), occurrence)
    })
    .fetch_all(conn)
    .await?;
    let mut all: BTreeMap<MonitorKey, Vec<Occurrence>> = BTreeMap::new();
    for (monitor, occurrence) in rows {
        all.entry(monitor).or_default().push(occurrence);
    }
    Ok(all)
}

/// Names of all locations there ever were.
pub async fn location_names(
    conn: &mut PgConnection,
) -> sqlx::Result<BTreeMap<LocationKey, String>> {
    let rows = sqlx::query!("select location_id, name from location")
        .map(|r| (LocationKey(r.location_id), r.name))
        .fetch_all(conn)
        .await?;
    Ok(rows.into_iter().collect())
}

/// Stretches in which no coordinator swept that touch [from, to), in milliseconds.
pub async fn not_running(
    conn: &mut PgConnection,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<(Millis, Millis)>> {
    let list = super::chores::not_running(conn, from, to).await?;
    Ok(list.into_iter().map(|(a, b)| (a.as_millisecond(), b.as_millisecond())).collect())
}
