//! Keys of those who send a fleet's logs. Constraint `shipper_token_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::FleetKey;

#[derive(Debug, Clone)]
pub struct ShipperRow {
    pub id: Uuid,
    pub name: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// Those of a fleet that are not revoked, by name.
pub async fn list(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<Vec<ShipperRow>> {
    sqlx::query!(
        "select token_id, name, created_by, created_at, last_used_at from shipper_token
         where fleet_id = $1 and revoked_at is null order by lower(name), token_id",
        fleet.0
    )
    .map(|r| ShipperRow {
        id: r.token_id,
        name: r.name,
        created_by: r.created_by,
        created_at: r.created_at.to_jiff(),
        last_used_at: r.last_used_at.map(|t| t.to_jiff()),
    })
    .fetch_all(conn)
    .await
}

pub async fn insert(
    conn: &mut PgConnection,
    fleet: FleetKey,
    row: &ShipperRow,
    hash: &[u8; 32],
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into shipper_token (token_id, fleet_id, name, token_hash, created_by, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        row.id,
        fleet.0,
        row.name,
        hash.as_slice(),
        row.created_by,
        row.created_at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The name of what was revoked; none when there is no such key or it was revoked before.
pub async fn revoke(
    conn: &mut PgConnection,
    fleet: FleetKey,
    id: Uuid,
    now: Timestamp,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "update shipper_token set revoked_at = $3 where fleet_id = $1 and token_id = $2 and revoked_at is null
         returning name",
        fleet.0,
        id,
        now.to_sqlx()
    )
    .fetch_optional(conn)
    .await
}

/// A key that is good.
#[derive(Debug, Clone, Copy)]
pub struct KnownShipper {
    pub id: Uuid,
    pub fleet: FleetKey,
    pub fleet_uid: Uuid,
    pub last_used_at: Option<Timestamp>,
}

pub async fn find(conn: &mut PgConnection, hash: &[u8; 32]) -> sqlx::Result<Option<KnownShipper>> {
    sqlx::query!(
        "select t.token_id, t.fleet_id, f.uid, t.last_used_at from shipper_token t join fleet f using (fleet_id)
         where t.token_hash = $1 and t.revoked_at is null and f.deleted_at is null",
        hash.as_slice()
    )
    .map(|r| KnownShipper {
        id: r.token_id,
        fleet: FleetKey(r.fleet_id),
        fleet_uid: r.uid,
        last_used_at: r.last_used_at.map(|t| t.to_jiff()),
    })
    .fetch_optional(conn)
    .await
}

pub async fn touch(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update shipper_token set last_used_at = $2 where token_id = $1",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}
