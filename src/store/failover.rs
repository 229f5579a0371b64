//! Failover groups: their rules, what was decided last, somebody's word over it, and what was served when.
//! Constraint `failover_group_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::failover::{Group, Standings};

#[derive(Debug, Clone)]
pub struct GroupRow {
    pub key: i32,
    pub id: Uuid,
    pub name: String,
    pub group: Group,
    pub standings: Standings,
    pub token_hash: Vec<u8>,
    /// Channels that are told of changes.
    pub channels: Vec<Uuid>,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What an edit writes.
#[derive(Debug)]
pub struct GroupSet<'a> {
    pub name: &'a str,
    pub group: &'a Group,
    pub channels: &'a [Uuid],
}

#[derive(Debug, Clone)]
pub struct OverrideRow {
    pub group: i32,
    pub member: String,
    pub serve: bool,
    pub reason: String,
    pub set_by: String,
    pub set_at: Timestamp,
    pub until_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct ChangeRow {
    pub no: i64,
    pub at: Timestamp,
    pub served: Vec<String>,
    pub fail_open: bool,
    pub sentence: String,
}

pub async fn insert(
    conn: &mut PgConnection,
    id: Uuid,
    set: &GroupSet<'_>,
    token_hash: &[u8; 32],
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into failover_group (uid, name, config, token_hash, channels, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $6)",
        id,
        set.name,
        json(set.group)?,
        token_hash.as_slice(),
        set.channels,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes everything; the revision rises. Words about members that are gone go with them.
pub async fn update(
    conn: &mut PgConnection,
    key: i32,
    set: &GroupSet<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update failover_group
         set name = $2, config = $3, channels = $4, updated_at = $5, revision = revision + 1
         where group_id = $1",
        key,
        set.name,
        json(set.group)?,
        set.channels,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    let names: Vec<String> = set.group.members.iter().map(|member| member.name.clone()).collect();
    sqlx::query!(
        "delete from failover_override where group_id = $1 and member <> all($2)",
        key,
        &names
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives the feed another key; the old one opens nothing any more.
pub async fn set_token(conn: &mut PgConnection, key: i32, hash: &[u8; 32]) -> sqlx::Result<()> {
    sqlx::query!(
        "update failover_group set token_hash = $2 where group_id = $1",
        key,
        hash.as_slice()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Frees the name; the feed answers no more.
pub async fn delete(conn: &mut PgConnection, key: i32, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update failover_group set deleted_at = $2 where group_id = $1",
        key,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One group by its outside id. `lock` holds it for an edit.
pub async fn get(conn: &mut PgConnection, id: Uuid, lock: bool) -> sqlx::Result<Option<GroupRow>> {
    if lock {
        sqlx::query!("select group_id from failover_group where uid = $1 for no key update", id)
            .fetch_optional(&mut *conn)
            .await?;
    }
    Ok(select(conn, Some(id), None).await?.pop())
}

/// One group by its name.
pub async fn named(conn: &mut PgConnection, name: &str) -> sqlx::Result<Option<GroupRow>> {
    Ok(select(conn, None, Some(name)).await?.pop())
}

/// All groups by name.
pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<GroupRow>> {
    select(conn, None, None).await
}

async fn select(
    conn: &mut PgConnection,
    id: Option<Uuid>,
    name: Option<&str>,
) -> sqlx::Result<Vec<GroupRow>> {
    let rows = sqlx::query!(
        "select group_id, uid, name, config, standing, token_hash, channels, revision, created_at, updated_at
         from failover_group
         where deleted_at is null and ($1::uuid is null or uid = $1) and ($2::text is null or name = $2)
         order by lower(name), group_id",
        id,
        name
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(GroupRow {
                key: row.group_id,
                id: row.uid,
                name: row.name,
                group: read(row.config)?,
                standings: read(row.standing)?,
                token_hash: row.token_hash,
                channels: row.channels,
                revision: row.revision,
                created_at: row.created_at.to_jiff(),
                updated_at: row.updated_at.to_jiff(),
            })
        })
        .collect()
}

/// Remembers what was decided.
pub async fn save(conn: &mut PgConnection, key: i32, standings: &Standings) -> sqlx::Result<()> {
    sqlx::query!(
        "update failover_group set standing = $2 where group_id = $1",
        key,
        json(standings)?
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Words that stand at `now`, by member.
pub async fn overrides(
    conn: &mut PgConnection,
    group: Option<i32>,
    now: Timestamp,
) -> sqlx::Result<Vec<OverrideRow>> {
    sqlx::query!(
        "select group_id, member, serve, reason, set_by, set_at, until_at from failover_override
         where until_at > $2 and ($1::int4 is null or group_id = $1) order by group_id, member",
        group,
        now.to_sqlx()
    )
    .map(|row| OverrideRow {
        group: row.group_id,
        member: row.member,
        serve: row.serve,
        reason: row.reason,
        set_by: row.set_by,
        set_at: row.set_at.to_jiff(),
        until_at: row.until_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// Somebody's word; it replaces what was said of the member before.
pub async fn put_override(conn: &mut PgConnection, row: &OverrideRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into failover_override (group_id, member, serve, reason, set_by, set_at, until_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (group_id, member) do update
         set serve = $3, reason = $4, set_by = $5, set_at = $6, until_at = $7",
        row.group,
        row.member,
        row.serve,
        row.reason,
        row.set_by,
        row.set_at.to_sqlx(),
        row.until_at.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes a word back. False when there is none.
pub async fn drop_override(
    conn: &mut PgConnection,
    group: i32,
    member: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "delete from failover_override where group_id = $1 and member = $2",
        group,
        member
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What was served last, if anything was ever written down.
pub async fn last_change(conn: &mut PgConnection, group: i32) -> sqlx::Result<Option<ChangeRow>> {
    Ok(changes(conn, group, None, 1).await?.pop())
}

/// The latest first, below `before`.
pub async fn changes(
    conn: &mut PgConnection,
    group: i32,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<ChangeRow>> {
    sqlx::query!(
        "select change_no, at, served, fail_open, sentence from failover_change
         where group_id = $1 and ($2::int8 is null or change_no < $2) order by change_no desc limit $3",
        group,
        before,
        limit
    )
    .map(|row| ChangeRow {
        no: row.change_no,
        at: row.at.to_jiff(),
        served: row.served,
        fail_open: row.fail_open,
        sentence: row.sentence,
    })
    .fetch_all(conn)
    .await
}

pub async fn add_change(
    conn: &mut PgConnection,
    group: i32,
    at: Timestamp,
    served: &[String],
    fail_open: bool,
    sentence: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into failover_change (group_id, at, served, fail_open, sentence) values ($1, $2, $3, $4, $5)",
        group,
        at.to_sqlx(),
        served,
        fail_open,
        sentence
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets words that ended and changes that happened before.
pub async fn forget(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!("delete from failover_override where until_at < $1", before.to_sqlx())
        .execute(&mut *conn)
        .await?;
    sqlx::query!("delete from failover_change where at < $1", before.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> sqlx::Result<serde_json::Value> {
    serde_json::to_value(value).map_err(|e| sqlx::Error::Encode(Box::new(e)))
}

fn read<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> sqlx::Result<T> {
    serde_json::from_value(value).map_err(|e| sqlx::Error::Decode(Box::new(e)))
}
