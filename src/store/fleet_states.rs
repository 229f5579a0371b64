//! A fleet over time: how many instances were ready, and each one's transitions.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::FleetKey;

/// The ready count from an instant on.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadyRow {
    pub at: Timestamp,
    /// `haproxy kubernetes alb_health envoy nginx_error probes traffic`
    pub source: String,
    /// Null: not known.
    pub ready: Option<i32>,
    pub low: Option<i32>,
    pub high: Option<i32>,
    pub expected: Option<i32>,
    /// Instances beside these of which nobody tells any more.
    pub unknown: i32,
    /// `[{zone, ready, unknown, instances}]`
    pub zones: Option<serde_json::Value>,
}

pub async fn put_ready(
    conn: &mut PgConnection,
    fleet: FleetKey,
    row: &ReadyRow,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into fleet_ready (fleet_id, at, source, ready, low, high, expected, unknown, zones)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (fleet_id, at, source) do update
         set ready = excluded.ready, low = excluded.low, high = excluded.high, expected = excluded.expected,
             unknown = excluded.unknown, zones = excluded.zones",
        fleet.0,
        row.at.to_sqlx(),
        row.source,
        row.ready,
        row.low,
        row.high,
        row.expected,
        row.unknown,
        row.zones,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Changes of the ready count in [from, to), and the last one before; oldest first.
pub async fn ready(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<ReadyRow>> {
    sqlx::query!(
        r#"(select at, source, ready, low, high, expected, unknown, zones from fleet_ready
            where fleet_id = $1 and at < $2 order by at desc limit 1)
           union all
           select at, source, ready, low, high, expected, unknown, zones from fleet_ready
           where fleet_id = $1 and at >= $2 and at < $3
           order by at"#,
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .map(|r| ReadyRow {
        at: r.at.expect("the column is not null").to_jiff(),
        source: r.source.unwrap_or_default(),
        ready: r.ready,
        low: r.low,
        high: r.high,
        expected: r.expected,
        unknown: r.unknown.unwrap_or_default(),
        zones: r.zones,
    })
    .fetch_all(conn)
    .await
}

/// One change of an instance's state.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionRow {
    pub at: Timestamp,
    pub instance: String,
    pub state: String,
    pub source: String,
    pub reason: Option<String>,
    pub planned: bool,
}

pub async fn put_transition(
    conn: &mut PgConnection,
    fleet: FleetKey,
    row: &TransitionRow,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into fleet_transition (fleet_id, at, instance, state, source, reason, planned)
         values ($1, $2, $3, $4, $5, $6, $7)",
        fleet.0,
        row.at.to_sqlx(),
        row.instance,
        row.state,
        row.source,
        row.reason,
        row.planned,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Transitions in [from, to), oldest first.
pub async fn transitions(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<TransitionRow>> {
    sqlx::query!(
        "select at, instance, state, source, reason, planned from fleet_transition
         where fleet_id = $1 and at >= $2 and at < $3 order by at, transition_no limit 10000",
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .map(|r| TransitionRow {
        at: r.at.to_jiff(),
        instance: r.instance,
        state: r.state,
        source: r.source,
        reason: r.reason,
        planned: r.planned,
    })
    .fetch_all(conn)
    .await
}

/// Deletes what has had its time: the ready count before `ready`, transitions before `transitions`.
pub async fn forget(
    conn: &mut PgConnection,
    ready: Timestamp,
    transitions: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!("delete from fleet_ready where at < $1", ready.to_sqlx())
        .execute(&mut *conn)
        .await?;
    sqlx::query!("delete from fleet_transition where at < $1", transitions.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}
