//! Incidents of SLOs: under monitor 0, with the SLO's key and a title.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{ids::SloKey, slo::alert::Rates};

/// Puts an incident under an SLO, and says what is wrong in a few words.
pub async fn adopt(
    conn: &mut PgConnection,
    incident: Uuid,
    slo: SloKey,
    title: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set slo_id = $2, title = $3 where monitor_id = 0 and incident_id = $1",
        incident,
        slo.0,
        title
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The last incident about this subject that was resolved by itself at or after `since`.
pub async fn again(
    conn: &mut PgConnection,
    slo: SloKey,
    subject: &str,
    since: Timestamp,
) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar!(
        "select incident_id from incident
         where slo_id = $1 and subject = $2 and resolved_at >= $3 and resolve_reason = 'recovered'
         order by opened_at desc limit 1",
        slo.0,
        subject,
        since.to_sqlx()
    )
    .fetch_optional(conn)
    .await
}

/// The fastest burn that was seen while an alert was on.
pub async fn worst(conn: &mut PgConnection, incident: Uuid) -> sqlx::Result<Rates> {
    let row = sqlx::query!(
        "select (evidence #>> '{worst,long}')::float8 as long, (evidence #>> '{worst,short}')::float8 as short
         from incident where monitor_id = 0 and incident_id = $1",
        incident
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or_else(Rates::default, |row| Rates { long: row.long, short: row.short }))
}

pub async fn set_worst(conn: &mut PgConnection, incident: Uuid, worst: Rates) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set evidence = jsonb_set(evidence, '{worst}', jsonb_build_object('long', $2::float8, 'short', $3::float8))
         where monitor_id = 0 and incident_id = $1",
        incident,
        worst.long,
        worst.short
    )
    .execute(conn)
    .await?;
    Ok(())
}
