//! What judging a fleet found: findings and removals. States over time are `fleet_states`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    fleet::finding::{Finding, Gravity, Kind, Scope},
    ids::FleetKey,
};

#[derive(Debug, Clone, PartialEq)]
pub struct FindingRow {
    pub id: Uuid,
    pub finding: Finding,
    /// The incident that a rule made of it.
    pub incident: Option<Uuid>,
}

/// Writes a finding as it is now: over the open one with this key, or as a new one. Its id, and its
/// incident if it has one. Under the fleet's lock.
pub async fn put(
    conn: &mut PgConnection,
    fleet: FleetKey,
    key: &str,
    finding: &Finding,
    now: Timestamp,
) -> sqlx::Result<(Uuid, Option<Uuid>)> {
    let to = finding.to_us.map(|us| instant(us).to_sqlx());
    let known = sqlx::query!(
        "update fleet_finding
         set scope = $4, severity = $5, instances = $6, to_at = $7, chronic = $8, sentence = $9, evidence = $10
         where fleet_id = $1 and pool = $2 and key = $3 and to_at is null
         returning finding_id, incident_id",
        fleet.0,
        finding.pool,
        key,
        finding.scope.as_str(),
        finding.severity.as_str(),
        &finding.instances,
        to as _,
        finding.chronic,
        finding.sentence,
        finding.evidence,
    )
    .map(|r| (r.finding_id, r.incident_id))
    .fetch_optional(&mut *conn)
    .await?;
    if let Some(known) = known {
        return Ok(known);
    }
    let id = super::id_at(now);
    sqlx::query!(
        "insert into fleet_finding (fleet_id, finding_id, key, kind, scope, severity, pool, instances, from_at, to_at, found_at,
                                    chronic, sentence, evidence)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        fleet.0,
        id,
        key,
        finding.kind.as_str(),
        finding.scope.as_str(),
        finding.severity.as_str(),
        finding.pool,
        &finding.instances,
        instant(finding.from_us).to_sqlx(),
        to as _,
        instant(finding.found_us).to_sqlx(),
        finding.chronic,
        finding.sentence,
        finding.evidence,
    )
    .execute(conn)
    .await?;
    Ok((id, None))
}

/// Since when a finding with this key is open; none when it is not.
pub async fn is_open(
    conn: &mut PgConnection,
    fleet: FleetKey,
    pool: &str,
    key: &str,
) -> sqlx::Result<Option<Timestamp>> {
    let from = sqlx::query_scalar!(
        "select from_at from fleet_finding where fleet_id = $1 and pool = $2 and key = $3 and to_at is null",
        fleet.0,
        pool,
        key
    )
    .fetch_optional(conn)
    .await?;
    Ok(from.map(|at| at.to_jiff()))
}

/// Remembers which incident a finding has become.
pub async fn set_incident(
    conn: &mut PgConnection,
    fleet: FleetKey,
    finding: Uuid,
    incident: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_finding set incident_id = $3 where fleet_id = $1 and finding_id = $2",
        fleet.0,
        finding,
        incident
    )
    .execute(conn)
    .await?;
    Ok(())
}

#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// True: open ones only; false: closed ones only.
    pub open: Option<bool>,
    pub finding: Option<Uuid>,
    pub kind: Option<Kind>,
    /// Going on at some time within this span.
    pub during: Option<(Timestamp, Timestamp)>,
    /// Below this one in the order.
    pub before: Option<(Timestamp, Uuid)>,
    pub limit: i64,
}

/// Findings of a fleet, the latest beginning first.
pub async fn list(
    conn: &mut PgConnection,
    fleet: FleetKey,
    f: &Filter,
) -> sqlx::Result<Vec<FindingRow>> {
    let (before_at, before_id) = f.before.unzip();
    let (from, to) = f.during.unzip();
    sqlx::query_as!(
        Raw,
        "select finding_id, kind, scope, severity, pool, instances, from_at, to_at, found_at, chronic, sentence, evidence,
                incident_id
         from fleet_finding
         where fleet_id = $1 and ($2::bool is null or (to_at is null) = $2) and ($3::uuid is null or finding_id = $3)
           and ($4::timestamptz is null or (from_at < $5 and (to_at is null or to_at > $4)))
           and ($6::timestamptz is null or (from_at, finding_id) < ($6, $7::uuid))
           and ($9::text is null or kind = $9)
         order by from_at desc, finding_id desc limit $8",
        fleet.0,
        f.open,
        f.finding,
        from.map(|t| t.to_sqlx()) as _,
        to.map(|t| t.to_sqlx()) as _,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        f.limit,
        f.kind.map(Kind::as_str)
    )
    .map(Raw::read)
    .fetch_all(conn)
    .await
}

/// Open findings of all fleets that are not deleted: fleet and finding.
pub async fn open_everywhere(conn: &mut PgConnection) -> sqlx::Result<Vec<(FleetKey, FindingRow)>> {
    let rows = sqlx::query!(
        "select w.fleet_id, w.finding_id, w.kind, w.scope, w.severity, w.pool, w.instances, w.from_at, w.to_at, w.found_at,
                w.chronic, w.sentence, w.evidence, w.incident_id
         from fleet_finding w join fleet f using (fleet_id)
         where w.to_at is null and f.deleted_at is null order by w.fleet_id, w.from_at desc"
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|r| {
            let raw = Raw {
                finding_id: r.finding_id,
                kind: r.kind,
                scope: r.scope,
                severity: r.severity,
                pool: r.pool,
                instances: r.instances,
                from_at: r.from_at,
                to_at: r.to_at,
                found_at: r.found_at,
                chronic: r.chronic,
                sentence: r.sentence,
                evidence: r.evidence,
                incident_id: r.incident_id,
            };
            (FleetKey(r.fleet_id), raw.read())
        })
        .collect())
}

/// Closes what is open of a fleet.
pub async fn close_all(
    conn: &mut PgConnection,
    fleet: FleetKey,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_finding set to_at = greatest($2, from_at) where fleet_id = $1 and to_at is null",
        fleet.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

struct Raw {
    finding_id: Uuid,
    kind: String,
    scope: String,
    severity: String,
    pool: String,
    instances: Vec<String>,
    from_at: jiff_sqlx::Timestamp,
    to_at: Option<jiff_sqlx::Timestamp>,
    found_at: jiff_sqlx::Timestamp,
    chronic: bool,
    sentence: String,
    evidence: serde_json::Value,
    incident_id: Option<Uuid>,
}

impl Raw {
    fn read(self) -> FindingRow {
        let word = |one: &str, all: &str| one == all;
        FindingRow {
            id: self.finding_id,
            // Only these words are ever written.
            finding: Finding {
                kind: Kind::ALL
                    .into_iter()
                    .find(|kind| word(kind.as_str(), &self.kind))
                    .unwrap_or(Kind::Errors),
                scope: Scope::ALL
                    .into_iter()
                    .find(|scope| word(scope.as_str(), &self.scope))
                    .unwrap_or(Scope::Pool),
                severity: Gravity::ALL
                    .into_iter()
                    .find(|severity| word(severity.as_str(), &self.severity))
                    .unwrap_or(Gravity::Info),
                pool: self.pool,
                instances: self.instances,
                from_us: self.from_at.to_jiff().as_microsecond(),
                found_us: self.found_at.to_jiff().as_microsecond(),
                to_us: self.to_at.map(|at| at.to_jiff().as_microsecond()),
                chronic: self.chronic,
                sentence: self.sentence,
                evidence: self.evidence,
            },
            incident: self.incident_id,
        }
    }
}

/// One removal of an instance from service. Spans in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovalRow {
    pub id: Uuid,
    pub instance: String,
    /// None: it was done on purpose, or nothing was seen to fail.
    pub failed_at: Option<Timestamp>,
    pub removed_at: Timestamp,
    pub good_at: Option<Timestamp>,
    pub returned_at: Option<Timestamp>,
    pub cause: String,
    pub reason: Option<String>,
    pub source: String,
    pub ttr_us: Option<i64>,
    pub resolution_us: i64,
    pub harmed: i64,
    pub client_visible: i64,
    pub minimum_us: Option<i64>,
}

/// Writes a removal as it is now; it is known by instance and `removed_at`.
pub async fn put_removal(
    conn: &mut PgConnection,
    fleet: FleetKey,
    row: &RemovalRow,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into fleet_removal (fleet_id, removal_id, instance, failed_at, removed_at, good_at, returned_at, cause, reason,
                                    source, ttr_us, resolution_us, harmed, client_visible, minimum_us)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         on conflict (fleet_id, instance, removed_at) do update
         set good_at = excluded.good_at, returned_at = excluded.returned_at, harmed = excluded.harmed,
             client_visible = excluded.client_visible",
        fleet.0,
        row.id,
        row.instance,
        row.failed_at.map(|t| t.to_sqlx()) as _,
        row.removed_at.to_sqlx(),
        row.good_at.map(|t| t.to_sqlx()) as _,
        row.returned_at.map(|t| t.to_sqlx()) as _,
        row.cause,
        row.reason,
        row.source,
        row.ttr_us,
        row.resolution_us,
        row.harmed,
        row.client_visible,
        row.minimum_us,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Removals, the latest first; within [from, to), below `before` in the order.
pub async fn removals(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    before: Option<(Timestamp, Uuid)>,
    limit: i64,
) -> sqlx::Result<Vec<RemovalRow>> {
    let (before_at, before_id) = before.unzip();
    sqlx::query!(
        "select removal_id, instance, failed_at, removed_at, good_at, returned_at, cause, reason, source, ttr_us, resolution_us,
                harmed, client_visible, minimum_us
         from fleet_removal
         where fleet_id = $1 and ($2::timestamptz is null or removed_at >= $2)
           and ($3::timestamptz is null or removed_at < $3)
           and ($4::timestamptz is null or (removed_at, removal_id) < ($4, $5::uuid))
         order by removed_at desc, removal_id desc limit $6",
        fleet.0,
        from.map(|t| t.to_sqlx()) as _,
        to.map(|t| t.to_sqlx()) as _,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        limit
    )
    .map(|r| RemovalRow {
        id: r.removal_id,
        instance: r.instance,
        failed_at: r.failed_at.map(|t| t.to_jiff()),
        removed_at: r.removed_at.to_jiff(),
        good_at: r.good_at.map(|t| t.to_jiff()),
        returned_at: r.returned_at.map(|t| t.to_jiff()),
        cause: r.cause,
        reason: r.reason,
        source: r.source,
        ttr_us: r.ttr_us,
        resolution_us: r.resolution_us,
        harmed: r.harmed,
        client_visible: r.client_visible,
        minimum_us: r.minimum_us,
    })
    .fetch_all(conn)
    .await
}

/// Spans of all removals by fleet, for the histogram.
pub async fn removal_spans(conn: &mut PgConnection) -> sqlx::Result<Vec<(FleetKey, i64)>> {
    sqlx::query!(
        r#"select r.fleet_id, r.ttr_us as "ttr_us!" from fleet_removal r join fleet f using (fleet_id)
           where f.deleted_at is null and r.ttr_us is not null"#
    )
    .map(|r| (FleetKey(r.fleet_id), r.ttr_us))
    .fetch_all(conn)
    .await
}

fn instant(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH)
}
