//! Numbers about the installation itself, for the health page, the settings page and metrics.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

#[derive(Debug, Clone)]
pub struct Numbers {
    pub online_agents: i64,
    pub enrolled_agents: i64,
    /// Agents whose clock is off by more than two seconds.
    pub clocks_off: i64,
    pub dropped_reports: i64,
    pub spooled_reports: i64,
    pub failed_notices_24h: i64,
    pub enabled_channels: i64,
    /// Those that need the mail server.
    pub mail_channels: i64,
    /// Channels that switched themselves off.
    pub disabled_channels: i64,
    pub simulated_locations: i64,
    pub open_incidents: i64,
    pub database_bytes: i64,
}

pub async fn numbers(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Numbers> {
    sqlx::query!(
        r#"with a as (select *, last_seen_at > $1::timestamptz - interval '30 seconds' as online from agent where revoked_at is null)
           select (select count(*) from a where online) as "online!",
                  (select count(*) from a) as "enrolled!",
                  (select count(*) from a where online and abs(clock_offset_ms) > 2000) as "clocks_off!",
                  (select coalesce(sum(dropped), 0)::int8 from a) as "dropped!",
                  (select coalesce(sum(spool), 0)::int8 from a where online) as "spooled!",
                  (select count(*) from notice where outcome = 'failed' and settled_at > $1::timestamptz - interval '24 hours') as "failed!",
                  (select count(*) from channel where enabled and deleted_at is null) as "channels!",
                  (select count(*) from channel where enabled and kind = 'email' and deleted_at is null) as "mail!",
                  (select count(*) from channel where not enabled and disabled_reason is not null and deleted_at is null) as "disabled!",
                  (select count(*) from location where simulated and enabled and deleted_at is null) as "simulated!",
                  (select count(*) from incident where resolved_at is null) as "open!",
                  pg_database_size(current_database()) as "bytes!""#,
        now.to_sqlx()
    )
    .map(|r| Numbers {
        online_agents: r.online,
        enrolled_agents: r.enrolled,
        clocks_off: r.clocks_off,
        dropped_reports: r.dropped,
        spooled_reports: r.spooled,
        failed_notices_24h: r.failed,
        enabled_channels: r.channels,
        mail_channels: r.mail,
        disabled_channels: r.disabled,
        simulated_locations: r.simulated,
        open_incidents: r.open,
        database_bytes: r.bytes,
    })
    .fetch_one(conn)
    .await
}

/// Bytes on disk, indexes included.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// All raw results.
    pub raw: i64,
    /// Of the last full day, or of today while there is none.
    pub raw_day: i64,
    pub rollups: i64,
}

pub async fn sizes(conn: &mut PgConnection, yesterday: &str, today: &str) -> sqlx::Result<Sizes> {
    sqlx::query!(
        r#"with p as (
               select c.relname as name, pg_total_relation_size(c.oid) as bytes
               from pg_inherits i join pg_class c on c.oid = i.inhrelid
               where i.inhparent in ('report'::regclass, 'report_detail'::regclass)
           ), d as (
               select (select sum(bytes) from p where name in ('report_' || $1, 'report_detail_' || $1)) as full_day,
                      (select sum(bytes) from p where name in ('report_' || $2, 'report_detail_' || $2)) as part_day
           )
           select (select coalesce(sum(bytes), 0)::int8 from p) as "raw!",
                  (select coalesce(greatest(full_day, part_day), 0)::int8 from d) as "day!",
                  pg_total_relation_size('rollup_quarter') + pg_total_relation_size('rollup_day') as "rollups!""#,
        yesterday,
        today
    )
    .map(|r| Sizes { raw: r.raw, raw_day: r.day, rollups: r.rollups })
    .fetch_one(conn)
    .await
}
