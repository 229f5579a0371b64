//! What the last answer that a location saw was like.

use sqlx::PgConnection;

use crate::domain::ids::{LocationKey, MonitorKey};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRow {
    pub monitor: MonitorKey,
    pub location: LocationKey,
    pub http_version: Option<String>,
    pub redirects: i16,
    /// 4 or 6.
    pub ip_protocol: Option<i16>,
}

pub async fn upsert(conn: &mut PgConnection, rows: &[AnswerRow]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let monitor: Vec<i32> = rows.iter().map(|r| r.monitor.0).collect();
    let location: Vec<i16> = rows.iter().map(|r| r.location.0).collect();
    let version: Vec<Option<String>> = rows.iter().map(|r| r.http_version.clone()).collect();
    let redirects: Vec<i16> = rows.iter().map(|r| r.redirects).collect();
    let protocol: Vec<Option<i16>> = rows.iter().map(|r| r.ip_protocol).collect();
    sqlx::query!(
        "insert into monitor_answer as a (monitor_id, location_id, http_version, redirects, ip_protocol)
         select * from unnest($1::int4[], $2::int2[], $3::text[], $4::int2[], $5::int2[])
         on conflict (monitor_id, location_id) do update
         set http_version = excluded.http_version, redirects = excluded.redirects, ip_protocol = excluded.ip_protocol
         where (a.http_version, a.redirects, a.ip_protocol)
               is distinct from (excluded.http_version, excluded.redirects, excluded.ip_protocol)",
        &monitor,
        &location,
        &version as _,
        &redirects,
        &protocol as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}
