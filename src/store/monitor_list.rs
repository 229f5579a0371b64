//! Monitors by the page: filtered, ordered, with their live rows.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::MonitorKey;

/// What to list. Every filter that is none is off.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub states: Option<Vec<i16>>,
    pub group: Option<String>,
    /// Part of name, group or target, whatever its case.
    pub text: Option<String>,
    /// An object that the labels must contain.
    pub labels: Option<serde_json::Value>,
    /// A label key that must be there.
    pub label_key: Option<String>,
    pub location: Option<i16>,
    /// Order by `rank[state]`, low first, then by name; empty: by name alone.
    pub rank: Vec<i16>,
    /// After this one in the order.
    pub after: Option<(i16, String, i32)>,
    pub limit: i64,
}

#[derive(Debug, Clone)]
pub struct ListRow {
    pub key: MonitorKey,
    pub uid: Uuid,
    pub name: String,
    pub group_name: String,
    pub check_spec: serde_json::Value,
    pub labels: serde_json::Value,
    pub interval_s: i32,
    pub enabled: bool,
    pub revision: i32,
    pub created_at: Timestamp,
    pub live: String,
    /// Place in the order.
    pub rank: i16,
    pub sort_name: String,
}

pub async fn list(conn: &mut PgConnection, f: &Filter) -> sqlx::Result<Vec<ListRow>> {
    let (after_rank, after_name, after_key) = match &f.after {
        Some((rank, name, key)) => (Some(*rank), Some(name.as_str()), Some(*key)),
        None => (None, None, None),
    };
    sqlx::query!(
        r#"select m.monitor_id, m.uid, m.name, m.group_name, m.check_spec, m.labels, m.interval_s, m.enabled, m.revision,
                  m.created_at, v.live, coalesce(($6::int2[])[v.state + 1], 0::int2) as "rank!", lower(m.name) as "sort_name!"
           from monitor m join monitor_live v using (monitor_id)
           where m.deleted_at is null
             and ($1::int2[] is null or v.state = any($1))
             and ($2::text is null or m.group_name = $2)
             and ($3::text is null or position(lower($3) in lower(m.name || ' ' || m.group_name || ' ' || coalesce(m.check_spec ->> 'url', ''))) > 0)
             and ($4::jsonb is null or m.labels @> $4)
             and ($5::text is null or m.labels ? $5)
             and ($7::int2 is null or (coalesce(($6::int2[])[v.state + 1], 0::int2), lower(m.name), m.monitor_id) > ($7, $8::text, $9::int4))
             and ($10::int2 is null or exists (select 1 from monitor_location l
                                               where l.monitor_id = m.monitor_id and l.location_id = $10))
           order by 12, 13, m.monitor_id limit $11"#,
        f.states.as_deref() as _,
        f.group,
        f.text,
        f.labels as _,
        f.label_key,
        &f.rank,
        after_rank,
        after_name,
        after_key,
        f.location,
        f.limit,
    )
    .map(|r| ListRow {
        key: MonitorKey(r.monitor_id),
        uid: r.uid,
        name: r.name,
        group_name: r.group_name,
        check_spec: r.check_spec,
        labels: r.labels,
        interval_s: r.interval_s,
        enabled: r.enabled,
        revision: r.revision,
        created_at: r.created_at.to_jiff(),
        live: r.live,
        rank: r.rank,
        sort_name: r.sort_name,
    })
    .fetch_all(conn)
    .await
}

/// How many monitors are in each state.
pub async fn counts(conn: &mut PgConnection) -> sqlx::Result<Vec<(i16, i64)>> {
    sqlx::query!(
        r#"select v.state, count(*) as "count!" from monitor_live v join monitor m using (monitor_id)
           where m.deleted_at is null group by v.state"#
    )
    .map(|r| (r.state, r.count))
    .fetch_all(conn)
    .await
}

/// Names of groups in use.
pub async fn groups(conn: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select distinct group_name from monitor where deleted_at is null and group_name <> '' order by group_name"
    )
    .fetch_all(conn)
    .await
}

/// One piece of a strip.
#[derive(Debug, Clone)]
pub struct Piece {
    pub monitor: MonitorKey,
    pub from_at: Timestamp,
    pub to_at: Option<Timestamp>,
    pub state: i16,
    pub evidence_stale: bool,
    pub low: bool,
}

/// State intervals of many monitors that touch what is after `from`, oldest first.
pub async fn pieces(
    conn: &mut PgConnection,
    monitors: &[i32],
    from: Timestamp,
) -> sqlx::Result<Vec<Piece>> {
    sqlx::query!(
        "select monitor_id, from_at, to_at, state, evidence_stale, low from monitor_state
         where monitor_id = any($1) and (to_at is null or to_at > $2) order by monitor_id, from_at",
        monitors,
        from.to_sqlx()
    )
    .map(|r| Piece {
        monitor: MonitorKey(r.monitor_id),
        from_at: r.from_at.to_jiff(),
        to_at: r.to_at.map(|t| t.to_jiff()),
        state: r.state,
        evidence_stale: r.evidence_stale,
        low: r.low,
    })
    .fetch_all(conn)
    .await
}
