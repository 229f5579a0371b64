//! Fleets and their instances as pages show and change them. Constraint `fleet_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    fleet::config::{Config, Named},
    ids::FleetKey,
};

#[derive(Debug, Clone)]
pub struct FleetRow {
    pub key: FleetKey,
    pub uid: Uuid,
    pub name: String,
    pub config: Config,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Makes a fleet with its live row and its named instances.
pub async fn insert(
    conn: &mut PgConnection,
    uid: Uuid,
    name: &str,
    config: &Config,
    now: Timestamp,
) -> sqlx::Result<FleetKey> {
    let key = sqlx::query_scalar!(
        "with made as (
             insert into fleet (uid, name, settings, created_at, updated_at) values ($1, $2, $3, $4, $4)
             returning fleet_id
         ), live as (
             insert into fleet_live (fleet_id, updated_at) select fleet_id, $4 from made
         )
         select fleet_id from made",
        uid,
        name,
        text(config)?,
        now.to_sqlx()
    )
    .fetch_one(&mut *conn)
    .await
    .map(FleetKey)?;
    name_instances(conn, key, &config.instances).await?;
    Ok(key)
}

/// Writes everything; the revision rises.
pub async fn update(
    conn: &mut PgConnection,
    key: FleetKey,
    name: &str,
    config: &Config,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet set name = $2, settings = $3, updated_at = $4, revision = revision + 1 where fleet_id = $1",
        key.0,
        name,
        text(config)?,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    name_instances(conn, key, &config.instances).await
}

/// Frees the name; the row stays, because incidents refer to it.
pub async fn delete(conn: &mut PgConnection, key: FleetKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet set deleted_at = $2, updated_at = $2 where fleet_id = $1",
        key.0,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update shipper_token set revoked_at = $2 where fleet_id = $1 and revoked_at is null",
        key.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Makes the named instances the configured ones.
async fn name_instances(
    conn: &mut PgConnection,
    key: FleetKey,
    named: &[Named],
) -> sqlx::Result<()> {
    let names: Vec<String> = named.iter().map(|one| one.name.clone()).collect();
    let zones: Vec<Option<String>> = named.iter().map(|one| one.zone.clone()).collect();
    sqlx::query!(
        "update fleet_instance set configured = false where fleet_id = $1 and configured and instance <> all($2)",
        key.0,
        &names
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into fleet_instance (fleet_id, instance, zone, configured)
         select $1, n, z, true from unnest($2::text[], $3::text[]) as u(n, z)
         on conflict (fleet_id, instance) do update set configured = true, zone = coalesce(excluded.zone, fleet_instance.zone)",
        key.0,
        &names,
        &zones as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One fleet by its outside id, unless it is deleted. `lock` holds it for an edit.
pub async fn get(conn: &mut PgConnection, uid: Uuid, lock: bool) -> sqlx::Result<Option<FleetRow>> {
    if lock {
        sqlx::query!("select fleet_id from fleet where uid = $1 for no key update", uid)
            .fetch_optional(&mut *conn)
            .await?;
    }
    Ok(select(conn, Some(uid), None, None).await?.pop())
}

/// One fleet by its key, deleted ones too.
pub async fn by_key(conn: &mut PgConnection, key: FleetKey) -> sqlx::Result<Option<FleetRow>> {
    Ok(select(conn, None, None, Some(key.0)).await?.pop())
}

/// One fleet by id or name.
pub async fn named(conn: &mut PgConnection, word: &str) -> sqlx::Result<Option<FleetRow>> {
    match word.parse() {
        Ok(uid) => get(conn, uid, false).await,
        Err(_) => Ok(select(conn, None, Some(word), None).await?.pop()),
    }
}

/// All fleets by name.
pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<FleetRow>> {
    select(conn, None, None, None).await
}

async fn select(
    conn: &mut PgConnection,
    uid: Option<Uuid>,
    name: Option<&str>,
    key: Option<i32>,
) -> sqlx::Result<Vec<FleetRow>> {
    sqlx::query!(
        "select fleet_id, uid, name, settings, revision, created_at, updated_at from fleet
         where ($1::uuid is null or uid = $1) and ($2::text is null or name = $2)
           and ($3::int4 is null or fleet_id = $3) and (deleted_at is null or $3 is not null)
         order by lower(name), fleet_id",
        uid,
        name,
        key
    )
    .try_map(|r| {
        Ok(FleetRow {
            key: FleetKey(r.fleet_id),
            uid: r.uid,
            name: r.name,
            config: serde_json::from_value(r.settings)
                .map_err(|e| sqlx::Error::Decode(format!("fleet.settings: {e}").into()))?,
            revision: r.revision,
            created_at: r.created_at.to_jiff(),
            updated_at: r.updated_at.to_jiff(),
        })
    })
    .fetch_all(conn)
    .await
}

fn text(config: &Config) -> sqlx::Result<serde_json::Value> {
    serde_json::to_value(config).map_err(|e| sqlx::Error::Encode(e.into()))
}

/// A monitor that names a fleet.
#[derive(Debug, Clone)]
pub struct MonitorOf {
    /// The fleet's outside id as the monitor has it.
    pub fleet: String,
    pub uid: Uuid,
    pub name: String,
    pub state: i16,
}

/// Monitors that name this fleet, or any, by name.
pub async fn monitors(
    conn: &mut PgConnection,
    fleet: Option<Uuid>,
) -> sqlx::Result<Vec<MonitorOf>> {
    sqlx::query!(
        r#"select m.fleet as "fleet!", m.uid, m.name, v.state from monitor m join monitor_live v using (monitor_id)
         where m.fleet is not null and (m.fleet = $1 or $1::text is null) and m.deleted_at is null order by lower(m.name)"#,
        fleet.map(|fleet| fleet.to_string())
    )
    .map(|r| MonitorOf { fleet: r.fleet, uid: r.uid, name: r.name, state: r.state })
    .fetch_all(conn)
    .await
}

/// Takes a deleted fleet off the monitors that named it.
pub async fn leave(conn: &mut PgConnection, fleet: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update monitor set fleet = null, revision = revision + 1, updated_at = $2 where fleet = $1",
        fleet.to_string(),
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What outside probes of a fleet's monitors saw in a span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Felt {
    pub runs: i64,
    pub fails: i64,
}

/// Counts the results of the fleet's monitors within [from, to).
pub async fn felt(
    conn: &mut PgConnection,
    fleet: Uuid,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Felt> {
    sqlx::query!(
        r#"select count(*) as "runs!", count(*) filter (where r.outcome = 1) as "fails!"
           from report r join monitor m using (monitor_id)
           where m.fleet = $1 and r.effective_at >= $2 and r.effective_at < $3 and r.outcome in (0, 1)"#,
        fleet.to_string(),
        from.to_sqlx(),
        to.to_sqlx()
    )
    .map(|r| Felt { runs: r.runs, fails: r.fails })
    .fetch_one(conn)
    .await
}
