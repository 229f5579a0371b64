//! What `quorate up` and `quorate admin` do as the owners of the database, without a login.
//!
//! Keys are handed out in clear once; what is stored is their hash.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{PgConnection, query, query_scalar};
use uuid::Uuid;

use crate::domain::{ids::LocationKey, secret::Secret, token::KeyKind};

/// A location that runs beside the coordinator under a pretended name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedRow {
    pub key: LocationKey,
    pub name: String,
}

/// Simulated locations that are switched on, in the order in which they were made.
pub async fn simulated(conn: &mut PgConnection) -> sqlx::Result<Vec<SimulatedRow>> {
    query!(
        "select location_id, name from location
         where simulated and enabled and deleted_at is null order by location_id"
    )
    .map(|row| SimulatedRow { key: LocationKey(row.location_id), name: row.name })
    .fetch_all(conn)
    .await
}

/// Names of the other locations that are switched on and have an agent.
pub async fn elsewhere(conn: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    query_scalar!(
        "select name from location
         where not simulated and enabled and deleted_at is null
           and exists (select from agent
                       where agent.location_id = location.location_id and revoked_at is null)
         order by location_id"
    )
    .fetch_all(conn)
    .await
}

/// Makes a simulated location, or gives one of that name this region and domain. A location of that
/// name that is not simulated stays as it is.
pub async fn simulate(
    conn: &mut PgConnection,
    uid: Uuid,
    name: &str,
    region: &str,
    domain: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    query!(
        "insert into location (uid, name, region, domain, simulated, created_at)
         values ($1, $2, $3, $4, true, $5)
         on conflict (name) where deleted_at is null
         do update set region = excluded.region, domain = excluded.domain where location.simulated",
        uid,
        name,
        region,
        domain,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether `key` is that of an agent of this location that was not revoked.
pub async fn is_agent_key(
    conn: &mut PgConnection,
    location: LocationKey,
    key: &str,
) -> sqlx::Result<bool> {
    let hash = KeyKind::Agent.hash(key).unwrap_or_default();
    query_scalar!(
        r#"select exists (select from agent where token_hash = $1 and location_id = $2
                          and revoked_at is null) as "known!""#,
        &hash[..],
        location.0
    )
    .fetch_one(conn)
    .await
}

/// Enrols an agent and returns its key.
pub async fn enrol(
    conn: &mut PgConnection,
    location: LocationKey,
    agent: Uuid,
    random: [u8; 32],
    now: Timestamp,
) -> sqlx::Result<Secret<String>> {
    let key = KeyKind::Agent.key(random);
    let hash = KeyKind::Agent.hash(key.expose()).unwrap_or_default();
    query!(
        "insert into agent (agent_id, location_id, token_hash, created_at) values ($1, $2, $3, $4)",
        agent,
        location.0,
        &hash[..],
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(key)
}

/// Whether `key` is a valid API key of an administrator.
pub async fn is_admin_key(
    conn: &mut PgConnection,
    key: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let hash = KeyKind::Api.hash(key).unwrap_or_default();
    query_scalar!(
        r#"select exists (select from api_token where token_hash = $1 and role = 'admin'
                          and revoked_at is null and (expires_at is null or expires_at > $2)) as "known!""#,
        &hash[..],
        now.to_sqlx()
    )
    .fetch_one(conn)
    .await
}

/// Makes an administrator's API key of that name and returns it; the one that had the name is revoked.
pub async fn replace_admin_key(
    conn: &mut PgConnection,
    id: Uuid,
    name: &str,
    random: [u8; 32],
    now: Timestamp,
) -> sqlx::Result<Secret<String>> {
    query!(
        "update api_token set revoked_at = $2 where name = $1 and revoked_at is null",
        name,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    let key = KeyKind::Api.key(random);
    let hash = KeyKind::Api.hash(key.expose()).unwrap_or_default();
    query!(
        "insert into api_token (token_id, name, role, token_hash, created_by, created_at)
         values ($1, $2, 'admin', $3, 'quorate up', $4)",
        id,
        name,
        &hash[..],
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(key)
}

/// Whether anybody could sign in as administrator.
pub async fn has_admin(conn: &mut PgConnection) -> sqlx::Result<bool> {
    query_scalar!(
        r#"select exists (select from app_user where role = 'admin' and disabled_at is null) as "has!""#
    )
    .fetch_one(conn)
    .await
}

/// The user with this address, however it is spelt.
pub async fn user_by_email(conn: &mut PgConnection, email: &str) -> sqlx::Result<Option<Uuid>> {
    query_scalar!("select user_id from app_user where lower(email) = lower($1)", email)
        .fetch_optional(conn)
        .await
}

/// A one-time link: for `user` to get back in, or, without one, for the first administrator.
#[derive(Debug, Clone)]
pub struct NewLink<'a> {
    pub id: Uuid,
    pub user: Option<Uuid>,
    pub email: Option<&'a str>,
    pub random: [u8; 32],
    pub expires_at: Timestamp,
}

/// Writes the link and returns its key. Earlier unused links of the same purpose and user end.
pub async fn make_link(
    conn: &mut PgConnection,
    link: &NewLink<'_>,
    now: Timestamp,
) -> sqlx::Result<Secret<String>> {
    let purpose = if link.user.is_some() { "recovery" } else { "first_admin" };
    query!(
        "update one_time_link set expires_at = $3
         where purpose = $1 and user_id is not distinct from $2 and used_at is null and expires_at > $3",
        purpose,
        link.user,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    let key = KeyKind::Link.key(link.random);
    let hash = KeyKind::Link.hash(key.expose()).unwrap_or_default();
    query!(
        "insert into one_time_link
             (link_id, token_hash, purpose, email, role, user_id, created_at, expires_at)
         values ($1, $2, $3, $4, 'admin', $5, $6, $7)",
        link.id,
        &hash[..],
        purpose,
        link.email,
        link.user,
        now.to_sqlx(),
        link.expires_at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(key)
}

/// What a start tells about the data it found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub monitors: i64,
    pub channels: i64,
    /// The settings page names a mail server.
    pub mail: bool,
    /// Since when there are data; none before the first start.
    pub since: Option<Timestamp>,
    /// When a coordinator last looked at the deadlines.
    pub swept_at: Option<Timestamp>,
}

pub async fn found(conn: &mut PgConnection) -> sqlx::Result<Found> {
    let row = query!(
        r#"select (select count(*) from monitor where deleted_at is null) as "monitors!",
                  (select count(*) from channel where deleted_at is null and enabled) as "channels!",
                  exists (select from setting where name = 'mail') as "mail!",
                  (select min(created_at) from location) as since,
                  (select max(sweep_at) from sweep) as swept_at"#
    )
    .fetch_one(conn)
    .await?;
    Ok(Found {
        monitors: row.monitors,
        channels: row.channels,
        mail: row.mail,
        since: row.since.map(|at| at.to_jiff()),
        swept_at: row.swept_at.map(|at| at.to_jiff()),
    })
}

/// Notices that were settled since then.
pub async fn settled_since(conn: &mut PgConnection, since: Timestamp) -> sqlx::Result<i64> {
    query_scalar!(
        r#"select count(*) as "count!" from notice where settled_at >= $1"#,
        since.to_sqlx()
    )
    .fetch_one(conn)
    .await
}
