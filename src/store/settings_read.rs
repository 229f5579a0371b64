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

/// When it is told that a certificate ends, and whether a change of its issuer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// In days, if somebody chose some.
    pub days: Option<Vec<u16>>,
    pub issuer: bool,
}

/// Setting `alerts`, `{"certificate_days":[30,7],"certificate_issuer":true}`.
pub async fn certificates(conn: &mut PgConnection) -> sqlx::Result<Certificates> {
    let row = sqlx::query!(
        r#"select value -> 'certificate_days' as days, (value ->> 'certificate_issuer')::bool as issuer
           from setting where name = 'alerts'"#
    )
    .fetch_optional(conn)
    .await?;
    let (days, issuer) = row.map_or((None, None), |row| (row.days, row.issuer));
    Ok(Certificates {
        days: days.and_then(|days| serde_json::from_value(days).ok()),
        issuer: issuer.unwrap_or(true),
    })
}

/// The channel that hears what no other channel took: setting `alerts`, `{"fallback":"ID"}`.
pub async fn fallback_channel(conn: &mut PgConnection) -> sqlx::Result<Option<uuid::Uuid>> {
    let id = sqlx::query_scalar!("select value ->> 'fallback' from setting where name = 'alerts'")
        .fetch_optional(conn)
        .await?
        .flatten();
    Ok(id.and_then(|id| id.parse().ok()))
}

/// How many monitors that go down together are one alert, if somebody chose that: setting `alerts`,
/// `{"storm_monitors":3}`; 0 is never.
pub async fn storm_monitors(conn: &mut PgConnection) -> sqlx::Result<Option<u32>> {
    let count = sqlx::query_scalar!(
        "select (value ->> 'storm_monitors')::int4 from setting where name = 'alerts'"
    )
    .fetch_optional(conn)
    .await?
    .flatten();
    Ok(count.and_then(|count| u32::try_from(count).ok()))
}
