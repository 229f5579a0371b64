//! Settings that upkeep and triage read, with their defaults.

use sqlx::PgConnection;

/// Days for which raw results are kept: setting `retention`, `{"raw_days":30}`.
pub async fn raw_days(conn: &mut PgConnection) -> sqlx::Result<i32> {
    let days = sqlx::query_scalar!(
        "select (value ->> 'raw_days')::int4 from setting where name = 'retention'"
    )
    .fetch_optional(conn)
    .await?
    .flatten();
    Ok(days.unwrap_or(30).clamp(1, 3650))
}

/// Civil zones for which days are summed: UTC, and the report zone of setting `general`
/// (`{"report_zone":"Europe/Berlin"}`).
pub async fn report_zones(conn: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    let zone =
        sqlx::query_scalar!("select value ->> 'report_zone' from setting where name = 'general'")
            .fetch_optional(conn)
            .await?
            .flatten();
    let mut zones = vec!["UTC".to_owned()];
    zones.extend(zone.filter(|z| z != "UTC"));
    Ok(zones)
}
