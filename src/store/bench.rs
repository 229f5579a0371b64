//! What `quorate bench` needs of the database beside what the product does: many monitors at once, and
//! a table to compare with.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::domain::ids::{LocationKey, MonitorKey};

/// Makes locations with one agent each; answers both keys.
pub async fn locations(
    conn: &mut PgConnection,
    names: &[&str],
    now: Timestamp,
) -> sqlx::Result<Vec<(LocationKey, Uuid)>> {
    let mut made = Vec::new();
    for name in names {
        let location = sqlx::query_scalar!(
            "insert into location (uid, name, region, domain, created_at) values ($1, $2, $2, $2, $3)
             returning location_id",
            super::id_at(now),
            name,
            now.to_sqlx()
        )
        .fetch_one(&mut *conn)
        .await?;
        let agent = super::id_at(now);
        sqlx::query!(
            "insert into agent (agent_id, location_id, token_hash, created_at, last_seen_at) values ($1, $2, $3, $4, $4)",
            agent,
            location,
            agent.as_bytes().as_slice(),
            now.to_sqlx()
        )
        .execute(&mut *conn)
        .await?;
        made.push((LocationKey(location), agent));
    }
    Ok(made)
}

/// Makes `count` monitors on all the locations, all with the same live row, made at the first instant and in
/// their state since the second; answers their ids in key order.
pub async fn monitors(
    conn: &mut PgConnection,
    count: i32,
    locations: &[LocationKey],
    live: &str,
    state: i16,
    wake_at: Option<Timestamp>,
    (created, since): (Timestamp, Timestamp),
) -> sqlx::Result<Vec<(MonitorKey, Uuid)>> {
    let rows = sqlx::query!(
        r#"insert into monitor (uid, name, check_spec, interval_s, timeout_ms, locations, policy, created_at, updated_at)
           select gen_random_uuid(), 'monitor ' || i, '{"kind":"http","url":"https://target.example/"}', 60, 10000,
                  '"all"', '{}', $2, $2
           from generate_series(1, $1) as i
           returning monitor_id, uid"#,
        count,
        created.to_sqlx()
    )
    .fetch_all(&mut *conn)
    .await?;
    let keys: Vec<i16> = locations.iter().map(|l| l.0).collect();
    sqlx::query!(
        "insert into monitor_location (monitor_id, location_id, position)
         select monitor_id, l, n::int2 from monitor, unnest($1::int2[]) with ordinality as u(l, n)",
        &keys
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into monitor_live (monitor_id, live, state, since_at, wake_at)
         select monitor_id, $1, $2, $3, $4 from monitor order by monitor_id",
        live,
        state,
        since.to_sqlx(),
        wake_at.map(|t| t.to_sqlx()) as _
    )
    .execute(&mut *conn)
    .await?;
    let mut made: Vec<_> = rows.into_iter().map(|r| (MonitorKey(r.monitor_id), r.uid)).collect();
    made.sort_unstable();
    Ok(made)
}

/// COPY into [`bare_table`].
pub const COPY_BARE: &str = "copy bench_report (effective_at, monitor_id, check_version, resolve_us, connect_us, tls_us, \
     first_byte_us, transfer_us, total_us, size_bytes, location_id, outcome, class, status, kind, disposition, \
     late_ms) from stdin (format binary)";

/// An empty table like `report`, with its indexes and one partition for everything.
pub async fn bare_table(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql(
        "drop table if exists bench_report;
         create table bench_report (like report including indexes) partition by range (effective_at);
         create table bench_report_all partition of bench_report default;",
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Makes an empty database beside the one that this connection is to.
pub async fn database(conn: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    let quoted = name.replace('"', "\"\"");
    sqlx::raw_sql(AssertSqlSafe(format!("create database \"{quoted}\""))).execute(conn).await?;
    Ok(())
}

/// Tidies up everything, as the server does by itself in quiet hours, so that its plans rest on what is there.
pub async fn tidy(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql("vacuum analyze").execute(&mut *conn).await?;
    sqlx::raw_sql("checkpoint").execute(conn).await?;
    Ok(())
}

/// Settings of a session that writes the plan of every statement to the server's log, with what it read.
pub const EXPLAINING: [(&str, &str); 6] = [
    ("session_preload_libraries", "auto_explain"),
    ("auto_explain.log_min_duration", "0"),
    ("auto_explain.log_analyze", "on"),
    ("auto_explain.log_buffers", "on"),
    ("auto_explain.log_timing", "off"),
    ("auto_explain.log_format", "json"),
];

/// Lets the server tidy up, so that one measurement does not pay for the one before.
pub async fn settle(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql("vacuum analyze monitor_live").execute(&mut *conn).await?;
    sqlx::raw_sql("checkpoint").execute(conn).await?;
    Ok(())
}
