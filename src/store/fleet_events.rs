//! What logs and platforms say of instances besides requests, and what they said last.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::{fleet::event::Event, ids::FleetKey};

#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    pub no: i64,
    /// Name of the source that sent it.
    pub source: String,
    pub event: Event,
}

/// Appends events of one source.
pub async fn insert(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
    events: &[Event],
) -> sqlx::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let mut at = Vec::with_capacity(events.len());
    let mut texts = Vec::with_capacity(events.len());
    for event in events {
        let when = Timestamp::from_microsecond(event.at_us).unwrap_or(Timestamp::UNIX_EPOCH);
        at.push(when.to_sqlx());
        let text = serde_json::to_string(event).map_err(|e| sqlx::Error::Encode(e.into()))?;
        // Postgres' jsonb cannot hold the NUL character, which a log line may well contain.
        texts.push(text.replace("\\u0000", "\\ufffd"));
    }
    sqlx::query!(
        "insert into fleet_event (fleet_id, at, source, event)
         select $1, a, $2, e::jsonb from unnest($3::timestamptz[], $4::text[]) as u(a, e)",
        fleet.0,
        source,
        &at as _,
        &texts
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Events up to `until` that have not gone into the states yet, in their order.
pub async fn unfolded(
    conn: &mut PgConnection,
    fleet: FleetKey,
    until: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<EventRow>> {
    sqlx::query!(
        "select event_no, source, event from fleet_event
         where fleet_id = $1 and not folded and at <= $2 order by at, event_no limit $3",
        fleet.0,
        until.to_sqlx(),
        limit
    )
    .try_map(|r| read(r.event_no, r.source, r.event))
    .fetch_all(conn)
    .await
}

/// When the first event happened that has not gone into the states yet.
pub async fn first_unfolded(
    conn: &mut PgConnection,
    fleet: FleetKey,
) -> sqlx::Result<Option<Timestamp>> {
    let at = sqlx::query_scalar!(
        "select min(at) from fleet_event where fleet_id = $1 and not folded",
        fleet.0
    )
    .fetch_one(conn)
    .await?;
    Ok(at.map(|at| at.to_jiff()))
}

/// Marks these as gone into the states.
pub async fn set_folded(
    conn: &mut PgConnection,
    fleet: FleetKey,
    events: &[i64],
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_event set folded = true where fleet_id = $1 and event_no = any($2)",
        fleet.0,
        events
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Events of [from, to), the latest first.
pub async fn list(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<EventRow>> {
    sqlx::query!(
        "select event_no, source, event from fleet_event
         where fleet_id = $1 and at >= $2 and at < $3 order by at desc, event_no desc limit $4",
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx(),
        limit
    )
    .try_map(|r| read(r.event_no, r.source, r.event))
    .fetch_all(conn)
    .await
}

pub async fn forget(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!("delete from fleet_event where at < $1", before.to_sqlx()).execute(conn).await?;
    Ok(())
}

fn read(no: i64, source: String, event: serde_json::Value) -> sqlx::Result<EventRow> {
    let event = serde_json::from_value(event)
        .map_err(|e| sqlx::Error::Decode(format!("fleet_event.event: {e}").into()))?;
    Ok(EventRow { no, source, event })
}

/// What a snapshot said of one instance on one topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub instance: String,
    pub topic: String,
    pub value: serde_json::Value,
}

/// What this source said last, locked against another snapshot of it.
pub async fn said(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
) -> sqlx::Result<Vec<Said>> {
    sqlx::query!(
        "select instance, topic, value from fleet_said where fleet_id = $1 and source = $2
         order by instance, topic for no key update",
        fleet.0,
        source
    )
    .map(|r| Said { instance: r.instance, topic: r.topic, value: r.value })
    .fetch_all(conn)
    .await
}

pub async fn set_said(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
    said: &[Said],
) -> sqlx::Result<()> {
    let instances: Vec<String> = said.iter().map(|one| one.instance.clone()).collect();
    let topics: Vec<String> = said.iter().map(|one| one.topic.clone()).collect();
    let values: Vec<String> = said.iter().map(|one| one.value.to_string()).collect();
    sqlx::query!(
        "insert into fleet_said (fleet_id, source, instance, topic, value)
         select $1, $2, i, t, v::jsonb from unnest($3::text[], $4::text[], $5::text[]) as u(i, t, v)
         on conflict (fleet_id, source, instance, topic) do update set value = excluded.value",
        fleet.0,
        source,
        &instances,
        &topics,
        &values
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets what was said of instances that are gone.
pub async fn unsay(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
    instances: &[String],
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from fleet_said where fleet_id = $1 and source = $2 and instance = any($3)",
        fleet.0,
        source,
        instances
    )
    .execute(conn)
    .await?;
    Ok(())
}
