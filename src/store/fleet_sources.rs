//! Who sends a fleet's logs, and how far their files have been taken.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::{
    fleet::hearing::{self, Arrival},
    ids::FleetKey,
};

#[derive(Debug, Clone, PartialEq)]
pub struct SourceRow {
    pub name: String,
    /// `balancer` or `instance`.
    pub role: String,
    pub format: Option<String>,
    /// The format was said, not found out.
    pub format_set: bool,
    pub log_format: Option<String>,
    /// Our fields by the keys of JSON lines of one's own.
    pub mapping: Option<serde_json::Value>,
    pub tz: Option<String>,
    /// For so many seconds it is waited for when it is silent; none: a minute.
    pub patience_s: Option<i32>,
    /// Names under which it still sends.
    pub aliases: Vec<String>,
    pub newest_at: Option<Timestamp>,
    pub received_at: Option<Timestamp>,
    pub heard_until: Option<Timestamp>,
    /// Since when it is heard without a silence that is longer than usual; none: always.
    pub hears_from: Option<Timestamp>,
    pub lines: i64,
    pub accepted: i64,
    pub rejected: i64,
    pub duplicates: i64,
    pub bytes: i64,
    /// `[{at, line, reason}]`
    pub samples: serde_json::Value,
}

/// All sources of a fleet by name, or one; without the deleted.
pub async fn list(
    conn: &mut PgConnection,
    fleet: FleetKey,
    only: Option<&str>,
) -> sqlx::Result<Vec<SourceRow>> {
    sqlx::query!(
        "select source, role, format, format_set, log_format, mapping, tz, newest_at, received_at, heard_until, lines,
                accepted, rejected, duplicates, bytes, samples, patience_s, aliases, hears_from
         from fleet_source
         where fleet_id = $1 and ($2::text is null or source = $2) and deleted_at is null order by source",
        fleet.0,
        only
    )
    .map(|r| SourceRow {
        name: r.source,
        role: r.role,
        format: r.format,
        format_set: r.format_set,
        log_format: r.log_format,
        mapping: r.mapping,
        tz: r.tz,
        patience_s: r.patience_s,
        aliases: r.aliases,
        newest_at: r.newest_at.map(|t| t.to_jiff()),
        received_at: r.received_at.map(|t| t.to_jiff()),
        heard_until: r.heard_until.map(|t| t.to_jiff()),
        hears_from: r.hears_from.map(|t| t.to_jiff()),
        lines: r.lines,
        accepted: r.accepted,
        rejected: r.rejected,
        duplicates: r.duplicates,
        bytes: r.bytes,
        samples: r.samples,
    })
    .fetch_all(conn)
    .await
}

/// When something came last of each source of a fleet that is named, or of all.
pub async fn arrivals(
    conn: &mut PgConnection,
    only: Option<FleetKey>,
) -> sqlx::Result<Vec<(FleetKey, Arrival)>> {
    sqlx::query!(
        "select fleet_id, greatest(newest_at, heard_until) as newest_at, received_at, patience_s
         from fleet_source where (fleet_id = $1 or $1::int4 is null) and deleted_at is null order by fleet_id, source",
        only.map(|fleet| fleet.0)
    )
    .map(|r| {
        let arrival = Arrival {
            newest_at: r.newest_at.map(|at| at.to_jiff()),
            received_at: r.received_at.map(|at| at.to_jiff()),
            patience_s: r.patience_s,
        };
        (FleetKey(r.fleet_id), arrival)
    })
    .fetch_all(conn)
    .await
}

impl SourceRow {
    pub fn arrival(&self) -> Arrival {
        Arrival {
            newest_at: self.newest_at.max(self.heard_until),
            received_at: self.received_at,
            patience_s: self.patience_s,
        }
    }
}

/// What is set of a source.
#[derive(Debug, Clone, Copy)]
pub struct SourceSet<'a> {
    pub role: &'a str,
    pub format: Option<&'a str>,
    pub format_set: bool,
    pub log_format: Option<&'a str>,
    pub mapping: Option<&'a serde_json::Value>,
    pub tz: Option<&'a str>,
}

/// The source that is meant by a name: the one that was called so, or the one that is.
pub async fn called(
    conn: &mut PgConnection,
    fleet: FleetKey,
    name: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "select source from fleet_source where fleet_id = $1 and (source = $2 or $2 = any(aliases))
         order by source = $2 limit 1",
        fleet.0,
        name
    )
    .fetch_optional(conn)
    .await
}

/// Gives a source another name, with everything that is kept under the old one; what still comes under
/// the old one is its own.
pub async fn rename(
    conn: &mut PgConnection,
    fleet: FleetKey,
    old: &str,
    new: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_source
         set source = $3, aliases = array_append(array_remove(array_remove(aliases, $3), $2), $2)
         where fleet_id = $1 and source = $2",
        fleet.0,
        old,
        new
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update fleet_event set source = $3 where fleet_id = $1 and source = $2",
        fleet.0,
        old,
        new
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update fleet_said set source = $3 where fleet_id = $1 and source = $2",
        fleet.0,
        old,
        new
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// For how long it is waited for; none: as usual.
pub async fn set_patience(
    conn: &mut PgConnection,
    fleet: FleetKey,
    name: &str,
    seconds: Option<i32>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_source set patience_s = $3 where fleet_id = $1 and source = $2",
        fleet.0,
        name,
        seconds
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets a source, but not how far its files have been taken. False when there is none.
pub async fn delete(
    conn: &mut PgConnection,
    fleet: FleetKey,
    name: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update fleet_source
         set deleted_at = $3, role = 'balancer', format = null, format_set = false, log_format = null, mapping = null, tz = null,
             patience_s = null, newest_at = null, received_at = null, heard_until = null, hears_from = null, lines = 0, accepted = 0,
             rejected = 0, duplicates = 0, bytes = 0, samples = '[]'
         where fleet_id = $1 and source = $2 and deleted_at is null",
        fleet.0,
        name,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Makes the source, or writes what is set of it; a deleted one is back.
pub async fn put(
    conn: &mut PgConnection,
    fleet: FleetKey,
    name: &str,
    set: SourceSet<'_>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into fleet_source (fleet_id, source, role, format, format_set, log_format, mapping, tz)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (fleet_id, source) do update
         set role = excluded.role, format = excluded.format, format_set = excluded.format_set,
             log_format = excluded.log_format, mapping = excluded.mapping, tz = excluded.tz, deleted_at = null",
        fleet.0,
        name,
        set.role,
        set.format,
        set.format_set,
        set.log_format,
        set.mapping,
        set.tz
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What one batch adds to its source.
#[derive(Debug, Clone, Default)]
pub struct Took {
    pub lines: i64,
    pub accepted: i64,
    pub rejected: i64,
    pub duplicates: i64,
    pub bytes: i64,
    pub newest_at: Option<Timestamp>,
    pub oldest_at: Option<Timestamp>,
    /// Everything up to here is here.
    pub heard_until: Option<Timestamp>,
    /// The format, if it was found out just now.
    pub format: Option<&'static str>,
    /// All samples anew, if there are new ones.
    pub samples: Option<serde_json::Value>,
}

pub async fn took(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
    took: &Took,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_source
         set lines = lines + $3, accepted = accepted + $4, rejected = rejected + $5, duplicates = duplicates + $6,
             bytes = bytes + $7, newest_at = greatest(newest_at, $8), heard_until = greatest(heard_until, $9),
             received_at = greatest(received_at, $10),
             format = case when format_set then format else coalesce($11, format) end,
             samples = coalesce($12, samples), deleted_at = null, patience_s = coalesce(patience_s, $13),
             hears_from = case
                 when received_at is null or received_at < $10 - make_interval(secs => coalesce(patience_s, $13, $14))
                     then least($15, $10)
                 when hears_from is not null then least(hears_from, $15) end
         where fleet_id = $1 and source = $2",
        fleet.0,
        source,
        took.lines,
        took.accepted,
        took.rejected,
        took.duplicates,
        took.bytes,
        took.newest_at.map(|t| t.to_sqlx()) as _,
        took.heard_until.map(|t| t.to_sqlx()) as _,
        now.to_sqlx(),
        took.format,
        took.samples,
        took.format.and_then(hearing::usual_patience_s),
        hearing::PATIENCE_S,
        took.oldest_at.map(|t| t.to_sqlx()) as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How far a file has been taken; none when it is new.
pub async fn next_offset(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
    file: &str,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar!(
        "select next_offset from fleet_file where fleet_id = $1 and source = $2 and file = $3",
        fleet.0,
        source,
        file
    )
    .fetch_optional(conn)
    .await
}

/// Locks a file, which begins at 0 when it is new; how far it has been taken.
pub async fn lock_file(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
    file: &str,
    now: Timestamp,
) -> sqlx::Result<i64> {
    sqlx::query!(
        "insert into fleet_file (fleet_id, source, file, next_offset, received_at) values ($1, $2, $3, 0, $4)
         on conflict do nothing",
        fleet.0,
        source,
        file,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    // A statement of its own: one that has waited for the lock would read what was there before.
    sqlx::query_scalar!(
        "select next_offset from fleet_file where fleet_id = $1 and source = $2 and file = $3 for no key update",
        fleet.0,
        source,
        file
    )
    .fetch_one(conn)
    .await
}

pub async fn set_offset(
    conn: &mut PgConnection,
    fleet: FleetKey,
    source: &str,
    file: &str,
    next_offset: i64,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update fleet_file set next_offset = $4, received_at = $5 where fleet_id = $1 and source = $2 and file = $3",
        fleet.0,
        source,
        file,
        next_offset,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets files of which nothing came since an instant, of all fleets.
pub async fn forget_files(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!("delete from fleet_file where received_at < $1", before.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}
