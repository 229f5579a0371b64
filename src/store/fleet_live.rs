//! What judging a fleet has come to, and the states of its instances. Written under the fleet's lock.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::FleetKey;

/// Takes the fleet's turn for this transaction; false when another coordinator is at it.
pub async fn claim(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtext('quorate fleet'), $1) as "got!""#,
        fleet.0
    )
    .fetch_one(conn)
    .await
}

/// The same, waiting for it.
pub async fn lock(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('quorate fleet'), $1)", fleet.0)
        .fetch_one(conn)
        .await?;
    Ok(())
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveRow {
    pub judged_until: Option<Timestamp>,
    pub folded_until: Option<Timestamp>,
    pub engine: Option<serde_json::Value>,
    pub timeline: Option<serde_json::Value>,
    pub figures: Figures,
}

/// Copies of what the timeline says now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    pub ready: Option<i32>,
    pub ready_low: Option<i32>,
    pub ready_high: Option<i32>,
    pub ready_source: Option<String>,
    pub in_rotation: Option<i32>,
    pub expected: Option<i32>,
    /// `set snapshot learned`
    pub expected_from: Option<String>,
    /// Instances beside those that are ready of which nobody tells any more.
    pub unknown: i32,
    /// `[{zone, ready, unknown, instances}]`
    pub zones: Option<serde_json::Value>,
}

pub async fn get(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<LiveRow> {
    let row = sqlx::query!(
        "select judged_until, folded_until, engine, timeline, ready, ready_low, ready_high, ready_source, in_rotation,
                expected, expected_from, unknown, zones
         from fleet_live where fleet_id = $1",
        fleet.0
    )
    .map(|r| LiveRow {
        judged_until: r.judged_until.map(|t| t.to_jiff()),
        folded_until: r.folded_until.map(|t| t.to_jiff()),
        engine: r.engine,
        timeline: r.timeline,
        figures: Figures {
            ready: r.ready,
            ready_low: r.ready_low,
            ready_high: r.ready_high,
            ready_source: r.ready_source,
            in_rotation: r.in_rotation,
            expected: r.expected,
            expected_from: r.expected_from,
            unknown: r.unknown,
            zones: r.zones,
        },
    })
    .fetch_optional(conn)
    .await?;
    Ok(row.unwrap_or_default())
}

pub async fn save(
    conn: &mut PgConnection,
    fleet: FleetKey,
    row: &LiveRow,
    now: Timestamp,
) -> sqlx::Result<()> {
    let f = &row.figures;
    sqlx::query!(
        "update fleet_live
         set judged_until = $2, folded_until = $3, engine = $4, timeline = $5, ready = $6, ready_low = $7, ready_high = $8,
             ready_source = $9, in_rotation = $10, expected = $11, expected_from = $12, updated_at = $13, unknown = $14,
             zones = $15
         where fleet_id = $1",
        fleet.0,
        row.judged_until.map(|t| t.to_sqlx()) as _,
        row.folded_until.map(|t| t.to_sqlx()) as _,
        row.engine,
        row.timeline,
        f.ready,
        f.ready_low,
        f.ready_high,
        f.ready_source,
        f.in_rotation,
        f.expected,
        f.expected_from,
        now.to_sqlx(),
        f.unknown,
        f.zones,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How far fleets are judged and what that came to, of one that is named or of all that are not deleted.
pub async fn figures(
    conn: &mut PgConnection,
    only: Option<FleetKey>,
) -> sqlx::Result<BTreeMap<FleetKey, (Option<Timestamp>, Figures)>> {
    let rows = sqlx::query!(
        "select fleet_id, judged_until, ready, ready_low, ready_high, ready_source, in_rotation, expected, expected_from,
                unknown, zones
         from fleet_live join fleet using (fleet_id)
         where (fleet_id = $1 or $1::int4 is null) and deleted_at is null",
        only.map(|fleet| fleet.0)
    )
    .map(|r| {
        let figures = Figures {
            ready: r.ready,
            ready_low: r.ready_low,
            ready_high: r.ready_high,
            ready_source: r.ready_source,
            in_rotation: r.in_rotation,
            expected: r.expected,
            expected_from: r.expected_from,
            unknown: r.unknown,
            zones: r.zones,
        };
        (FleetKey(r.fleet_id), (r.judged_until.map(|at| at.to_jiff()), figures))
    })
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Something was found although no window was judged.
pub async fn touch(conn: &mut PgConnection, fleet: FleetKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_live set updated_at = $2 where fleet_id = $1",
        fleet.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Up to where a fleet's windows are judged, and whether it says how many are ready or in rotation.
pub async fn judged_until(
    conn: &mut PgConnection,
    fleet: FleetKey,
) -> sqlx::Result<(Option<Timestamp>, bool)> {
    let row = sqlx::query!(
        r#"select judged_until, coalesce(ready, in_rotation) is not null as "tells!" from fleet_live where fleet_id = $1"#,
        fleet.0
    )
    .map(|r| (r.judged_until.map(|at| at.to_jiff()), r.tells))
    .fetch_optional(conn)
    .await?;
    Ok(row.unwrap_or_default())
}

/// Keys of the fleets that are not deleted and ever received anything.
pub async fn active(conn: &mut PgConnection) -> sqlx::Result<Vec<FleetKey>> {
    sqlx::query!(
        "select fleet_id from fleet f where deleted_at is null
           and exists (select from fleet_source s where s.fleet_id = f.fleet_id) order by fleet_id"
    )
    .map(|r| FleetKey(r.fleet_id))
    .fetch_all(conn)
    .await
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstanceRow {
    pub name: String,
    pub aliases: Vec<String>,
    pub zone: Option<String>,
    pub configured: bool,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    /// A word of `domain::fleet::event::State`.
    pub state: String,
    pub state_at: Option<Timestamp>,
    pub state_source: Option<String>,
    pub state_reason: Option<String>,
    pub version: Option<String>,
    pub restarts_certain: i64,
    pub restarts_probable: i64,
    pub transitions: i64,
}

/// Instances of a fleet by name.
pub async fn instances(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<Vec<InstanceRow>> {
    sqlx::query!(
        "select instance, aliases, zone, configured, first_at, last_at, state, state_at, state_source, state_reason, version,
                restarts_certain, restarts_probable, transitions
         from fleet_instance where fleet_id = $1 order by instance",
        fleet.0
    )
    .map(|r| InstanceRow {
        name: r.instance,
        aliases: r.aliases,
        zone: r.zone,
        configured: r.configured,
        first_at: r.first_at.map(|t| t.to_jiff()),
        last_at: r.last_at.map(|t| t.to_jiff()),
        state: r.state,
        state_at: r.state_at.map(|t| t.to_jiff()),
        state_source: r.state_source,
        state_reason: r.state_reason,
        version: r.version,
        restarts_certain: r.restarts_certain,
        restarts_probable: r.restarts_probable,
        transitions: r.transitions,
    })
    .fetch_all(conn)
    .await
}

/// Writes an instance as it is now, whether it is known or not; what was configured stays.
pub async fn put_instance(
    conn: &mut PgConnection,
    fleet: FleetKey,
    row: &InstanceRow,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into fleet_instance (fleet_id, instance, aliases, zone, first_at, last_at, state, state_at, state_source,
                                     state_reason, version, restarts_certain, restarts_probable, transitions)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         on conflict (fleet_id, instance) do update
         set aliases = excluded.aliases, zone = coalesce(fleet_instance.zone, excluded.zone),
             first_at = least(fleet_instance.first_at, excluded.first_at),
             last_at = greatest(fleet_instance.last_at, excluded.last_at), state = excluded.state,
             state_at = excluded.state_at, state_source = excluded.state_source, state_reason = excluded.state_reason,
             version = excluded.version, restarts_certain = excluded.restarts_certain,
             restarts_probable = excluded.restarts_probable, transitions = excluded.transitions",
        fleet.0,
        row.name,
        &row.aliases,
        row.zone,
        row.first_at.map(|t| t.to_sqlx()) as _,
        row.last_at.map(|t| t.to_sqlx()) as _,
        row.state,
        row.state_at.map(|t| t.to_sqlx()) as _,
        row.state_source,
        row.state_reason,
        row.version,
        row.restarts_certain,
        row.restarts_probable,
        row.transitions,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes away instances that turned out to be other names of another one.
pub async fn drop_instances(
    conn: &mut PgConnection,
    fleet: FleetKey,
    names: &[String],
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from fleet_instance where fleet_id = $1 and instance = any($2) and not configured",
        fleet.0,
        names
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A fleet for /metrics.
#[derive(Debug, Clone)]
pub struct FleetNumbers {
    pub fleet: FleetKey,
    pub name: String,
    pub ready: Option<i32>,
    pub expected: Option<i32>,
    pub min_ready: Option<i32>,
    pub lateness_s: Option<i32>,
}

/// All fleets that are not deleted, by name.
pub async fn numbers(conn: &mut PgConnection) -> sqlx::Result<Vec<FleetNumbers>> {
    sqlx::query!(
        r#"select f.fleet_id, f.name, l.ready, l.expected, (f.settings -> 'analysis' ->> 'min_ready')::int4 as min_ready,
                  (f.settings -> 'analysis' ->> 'lateness_s')::int4 as lateness_s
           from fleet f join fleet_live l using (fleet_id) where f.deleted_at is null order by f.name"#
    )
    .map(|r| FleetNumbers {
        fleet: FleetKey(r.fleet_id),
        name: r.name,
        ready: r.ready,
        expected: r.expected,
        min_ready: r.min_ready,
        lateness_s: r.lateness_s,
    })
    .fetch_all(conn)
    .await
}

/// Counters of the instances of all fleets that are not deleted.
pub async fn instance_numbers(
    conn: &mut PgConnection,
) -> sqlx::Result<Vec<(FleetKey, String, i64, i64)>> {
    sqlx::query!(
        "select i.fleet_id, i.instance, i.restarts_certain, i.transitions from fleet_instance i join fleet f using (fleet_id)
         where f.deleted_at is null order by i.fleet_id, i.instance"
    )
    .map(|r| (FleetKey(r.fleet_id), r.instance, r.restarts_certain, r.transitions))
    .fetch_all(conn)
    .await
}
