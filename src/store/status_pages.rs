//! Status pages as somebody set them up. Constraints `status_page_slug_key`, `status_page_domain_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::status_page::{Group, Link};

#[derive(Debug, Clone)]
pub struct PageRow {
    pub key: i32,
    pub uid: Uuid,
    pub values: Values,
    /// Posts that are not resolved.
    pub open_posts: i64,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    pub slug: String,
    pub name: String,
    pub headline: String,
    pub timezone: String,
    pub domain: Option<String>,
    pub published: bool,
    pub days: u16,
    pub groups: Vec<Group>,
    pub links: Vec<Link>,
}

pub async fn insert(
    conn: &mut PgConnection,
    uid: Uuid,
    v: &Values,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into status_page (uid, slug, name, headline, timezone, domain, published, days, groups, links,
                                  created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
        uid,
        v.slug,
        v.name,
        v.headline,
        v.timezone,
        v.domain,
        v.published,
        days(v),
        json(&v.groups)?,
        json(&v.links)?,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes everything; the revision rises.
pub async fn update(
    conn: &mut PgConnection,
    key: i32,
    v: &Values,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update status_page set slug = $2, name = $3, headline = $4, timezone = $5, domain = $6, published = $7, days = $8,
             groups = $9, links = $10, updated_at = $11, revision = revision + 1
         where page_id = $1",
        key,
        v.slug,
        v.name,
        v.headline,
        v.timezone,
        v.domain,
        v.published,
        days(v),
        json(&v.groups)?,
        json(&v.links)?,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes a page with all that was posted on it.
pub async fn delete(conn: &mut PgConnection, key: i32) -> sqlx::Result<()> {
    sqlx::query!("delete from status_page where page_id = $1", key).execute(conn).await?;
    Ok(())
}

/// By outside id; with `lock`, for a change of the page or of its posts.
pub async fn get(conn: &mut PgConnection, uid: Uuid, lock: bool) -> sqlx::Result<Option<PageRow>> {
    if lock {
        sqlx::query!("select page_id from status_page where uid = $1 for no key update", uid)
            .fetch_optional(&mut *conn)
            .await?;
    }
    Ok(select(conn, Some(uid), None, 1).await?.pop())
}

/// Pages by name, behind `after`.
pub async fn list(
    conn: &mut PgConnection,
    after: Option<(String, i32)>,
    limit: i64,
) -> sqlx::Result<Vec<PageRow>> {
    select(conn, None, after, limit).await
}

async fn select(
    conn: &mut PgConnection,
    uid: Option<Uuid>,
    after: Option<(String, i32)>,
    limit: i64,
) -> sqlx::Result<Vec<PageRow>> {
    let (after_name, after_key) = after.unzip();
    sqlx::query!(
        r#"select p.page_id, p.uid, p.slug, p.name, p.headline, p.timezone, p.domain, p.published, p.days, p.groups, p.links,
                  p.revision, p.created_at, p.updated_at,
                  (select count(*) from status_post s where s.page_id = p.page_id and s.resolved_at is null) as "open_posts!"
           from status_page p
           where ($1::uuid is null or p.uid = $1)
             and ($2::text is null or (lower(p.name), p.page_id) > (lower($2), $3::int4))
           order by lower(p.name), p.page_id limit $4"#,
        uid,
        after_name,
        after_key,
        limit,
    )
    .try_map(|r| {
        Ok(PageRow {
            key: r.page_id,
            uid: r.uid,
            values: Values {
                slug: r.slug,
                name: r.name,
                headline: r.headline,
                timezone: r.timezone,
                domain: r.domain,
                published: r.published,
                days: u16::try_from(r.days).unwrap_or_default(),
                groups: read("status_page.groups", r.groups)?,
                links: read("status_page.links", r.links)?,
            },
            open_posts: r.open_posts,
            revision: r.revision,
            created_at: r.created_at.to_jiff(),
            updated_at: r.updated_at.to_jiff(),
        })
    })
    .fetch_all(conn)
    .await
}

/// A monitor or an SLO by its names.
#[derive(Debug, Clone)]
pub struct Named {
    pub uid: Uuid,
    pub name: String,
}

/// SLOs by id or name.
pub async fn slos_named(conn: &mut PgConnection, words: &[String]) -> sqlx::Result<Vec<Named>> {
    sqlx::query!(
        "select uid, name from slo where deleted_at is null and (name = any($1) or uid::text = any($1)) order by name",
        words
    )
    .map(|r| Named { uid: r.uid, name: r.name })
    .fetch_all(conn)
    .await
}

/// Monitors by id or name.
pub async fn monitors_named(conn: &mut PgConnection, words: &[String]) -> sqlx::Result<Vec<Named>> {
    let found = super::monitors::named(conn, words).await?;
    Ok(found.into_iter().map(|(_, uid, name)| Named { uid, name }).collect())
}

fn days(v: &Values) -> i16 {
    i16::try_from(v.days).unwrap_or(i16::MAX)
}

fn json(value: &impl serde::Serialize) -> sqlx::Result<serde_json::Value> {
    serde_json::to_value(value).map_err(|e| sqlx::Error::Encode(Box::new(e)))
}

fn read<T: serde::de::DeserializeOwned>(column: &str, value: serde_json::Value) -> sqlx::Result<T> {
    serde_json::from_value(value).map_err(|e| sqlx::Error::Decode(format!("{column}: {e}").into()))
}
