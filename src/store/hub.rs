//! Marks by which a coordinator sees at a glance whether anything has happened, and its own row.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

/// What moved, as far as streams are concerned. Whatever differs from the last look has moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Revision of the assignments.
    pub rev: i64,
    /// Requests to probe that nobody has taken, and the last one made.
    pub open_requests: i64,
    pub last_request: i64,
    /// Answers to requests.
    pub answered: i64,
    /// Agents that were heard within 30 s, in order.
    pub online: Vec<Uuid>,
    /// Windows that pause probes now.
    pub pausing: Vec<Uuid>,
    /// When a batch of results came last.
    pub results_at: Option<Timestamp>,
}

pub async fn marks(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Marks> {
    sqlx::query!(
        r#"select (select rev from assignment_head) as "rev!",
                  (select count(*) from probe_request where agent_id is null and expires_at > $1) as "open!",
                  (select coalesce(max(request_id), 0) from probe_request) as "last!",
                  (select count(*) from probe_request where answered_at is not null and expires_at > $1) as "answered!",
                  (select coalesce(array_agg(agent_id order by agent_id), '{}') from agent
                   where revoked_at is null and last_seen_at > $1::timestamptz - interval '30 seconds') as "online!",
                  (select coalesce(array_agg(maintenance_id order by maintenance_id), '{}') from maintenance
                   where pause_probes and start_at <= $1 and end_at > $1) as "pausing!",
                  (select max(last_at) from agent_boot) as "results_at: jiff_sqlx::Timestamp""#,
        now.to_sqlx()
    )
    .map(|r| Marks {
        rev: r.rev,
        open_requests: r.open,
        last_request: r.last,
        answered: r.answered,
        online: r.online,
        pausing: r.pausing,
        results_at: r.results_at.map(|t| t.to_jiff()),
    })
    .fetch_one(conn)
    .await
}

/// Monitors about which something was decided since an instant: id of the decision, outside id.
pub async fn decided(conn: &mut PgConnection, since: Timestamp) -> sqlx::Result<Vec<(i64, Uuid)>> {
    sqlx::query!(
        "select d.decision_id, m.uid from decision d join monitor m using (monitor_id) where d.at >= $1",
        since.to_sqlx()
    )
    .map(|r| (r.decision_id, r.uid))
    .fetch_all(conn)
    .await
}

/// Incidents to which something happened since an instant: id and number of the event.
pub async fn incidents(
    conn: &mut PgConnection,
    since: Timestamp,
) -> sqlx::Result<Vec<(Uuid, i32)>> {
    sqlx::query!("select incident_id, event_no from incident_event where at >= $1", since.to_sqlx())
        .map(|r| (r.incident_id, r.event_no))
        .fetch_all(conn)
        .await
}

/// A fleet as far as streams are concerned. Whatever differs from the last look has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetMark {
    revision: i32,
    judged_until: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    /// Its sources as they are read, and which of them are heard.
    sources: String,
    /// When lines or events came last.
    pub received_at: Option<Timestamp>,
}

impl FleetMark {
    /// Whether more than lines has come.
    pub fn has_moved(&self, before: &Self) -> bool {
        Self { received_at: before.received_at, ..self.clone() } != *before
    }
}

/// All fleets that are not deleted, by outside id.
pub async fn fleets(
    conn: &mut PgConnection,
    now: Timestamp,
) -> sqlx::Result<std::collections::HashMap<Uuid, FleetMark>> {
    sqlx::query!(
        r#"select f.uid, f.revision, l.judged_until as "judged_until?", l.updated_at as "updated_at?", s.sources as "sources!",
                  s.received_at
           from fleet f left join fleet_live l using (fleet_id)
                cross join lateral (
                    select max(received_at) as received_at,
                           coalesce(string_agg(concat_ws(' ', source, role, format, tz, patience_s,
                               received_at > $1::timestamptz - make_interval(secs => coalesce(patience_s, 60))), ', '
                               order by source), '') as sources
                    from fleet_source where fleet_source.fleet_id = f.fleet_id and deleted_at is null) s
           where f.deleted_at is null"#,
        now.to_sqlx()
    )
    .map(|r| {
        let mark = FleetMark {
            revision: r.revision,
            judged_until: r.judged_until.map(|t| t.to_jiff()),
            updated_at: r.updated_at.map(|t| t.to_jiff()),
            sources: r.sources,
            received_at: r.received_at.map(|t| t.to_jiff()),
        };
        (r.uid, mark)
    })
    .fetch_all(conn)
    .await
    .map(|rows| rows.into_iter().collect())
}

/// What was changed after a revision: outside ids of monitors, and whether a location was.
pub async fn edited(conn: &mut PgConnection, rev: i64) -> sqlx::Result<(Vec<Uuid>, bool)> {
    let rows = sqlx::query!(
        r#"select distinct c.kind = 'location' as "location!", m.uid as "uid?"
           from assignment_change c left join monitor m using (monitor_id) where c.rev > $1"#,
        rev
    )
    .fetch_all(conn)
    .await?;
    let location = rows.iter().any(|row| row.location);
    Ok((rows.into_iter().filter_map(|row| row.uid).collect(), location))
}

/// A coordinator as others see it.
#[derive(Debug, Clone)]
pub struct CoordinatorRow {
    pub id: Uuid,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    pub version: String,
    pub clock_offset_ms: i32,
}

/// Says that a coordinator is there, and forgets those that have not said so for an hour.
pub async fn here(conn: &mut PgConnection, row: &CoordinatorRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into coordinator (coordinator_id, started_at, seen_at, version, clock_offset_ms)
         values ($1, $2, $3, $4, $5)
         on conflict (coordinator_id) do update set seen_at = excluded.seen_at, clock_offset_ms = excluded.clock_offset_ms",
        row.id,
        row.started_at.to_sqlx(),
        row.seen_at.to_sqlx(),
        row.version,
        row.clock_offset_ms,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "delete from coordinator where seen_at < $1::timestamptz - interval '1 hour'",
        row.seen_at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// It stops in good order.
pub async fn gone(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query!("delete from coordinator where coordinator_id = $1", id).execute(conn).await?;
    Ok(())
}

/// Coordinators that said within a minute that they are there.
pub async fn coordinators(
    conn: &mut PgConnection,
    now: Timestamp,
) -> sqlx::Result<Vec<CoordinatorRow>> {
    sqlx::query!(
        "select coordinator_id, started_at, seen_at, version, clock_offset_ms from coordinator
         where seen_at > $1::timestamptz - interval '1 minute' order by started_at, coordinator_id",
        now.to_sqlx()
    )
    .map(|r| CoordinatorRow {
        id: r.coordinator_id,
        started_at: r.started_at.to_jiff(),
        seen_at: r.seen_at.to_jiff(),
        version: r.version,
        clock_offset_ms: r.clock_offset_ms,
    })
    .fetch_all(conn)
    .await
}
