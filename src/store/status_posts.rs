//! What people told the public on a status page.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::status_page::post::{Impact, Progress};

#[derive(Debug, Clone)]
pub struct PostRow {
    pub id: Uuid,
    pub title: String,
    pub impact: Impact,
    /// Ids of parts of the page.
    pub parts: Vec<Uuid>,
    pub incident: Option<Uuid>,
    pub started_at: Timestamp,
    /// As the latest update says.
    pub status: Progress,
    pub resolved_at: Option<Timestamp>,
    pub revision: i32,
    pub created_at: Timestamp,
    pub created_by: String,
    pub updated_at: Timestamp,
    /// The newest first.
    pub updates: Vec<UpdateRow>,
}

#[derive(Debug, Clone)]
pub struct UpdateRow {
    pub id: Uuid,
    pub status: Progress,
    pub text: String,
    pub at: Timestamp,
    pub by: String,
    pub edited: Option<(Timestamp, String)>,
}

/// What somebody wrote about the whole.
#[derive(Debug, Clone)]
pub struct PostSet<'a> {
    pub title: &'a str,
    pub impact: Impact,
    pub parts: &'a [Uuid],
    pub incident: Option<Uuid>,
    pub started_at: Timestamp,
}

pub async fn insert(
    conn: &mut PgConnection,
    page: i32,
    id: Uuid,
    set: &PostSet<'_>,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into status_post (post_id, page_id, title, impact, parts, incident_id, started_at, status, created_at,
                                  created_by, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, 'investigating', $8, $9, $8)",
        id,
        page,
        set.title,
        set.impact.word(),
        set.parts,
        set.incident,
        set.started_at.to_sqlx(),
        now.to_sqlx(),
        by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn update(conn: &mut PgConnection, id: Uuid, set: &PostSet<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "update status_post set title = $2, impact = $3, parts = $4, incident_id = $5, started_at = $6 where post_id = $1",
        id,
        set.title,
        set.impact.word(),
        set.parts,
        set.incident,
        set.started_at.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// After a change of a post or of its updates: its state is that of the latest update, its revision rises.
pub async fn settle(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update status_post p set status = u.status, resolved_at = case when u.status = 'resolved' then u.at end,
             updated_at = $2, revision = revision + 1
         from (select status, at from status_update where post_id = $1 order by at desc, update_id desc limit 1) as u
         where p.post_id = $1",
        id,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn delete(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query!("delete from status_post where post_id = $1", id).execute(conn).await?;
    Ok(())
}

pub async fn add_update(conn: &mut PgConnection, post: Uuid, row: &UpdateRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into status_update (update_id, post_id, status, text, at, by_whom) values ($1, $2, $3, $4, $5, $6)",
        row.id,
        post,
        row.status.word(),
        row.text,
        row.at.to_sqlx(),
        row.by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes an update anew, and who did.
pub async fn edit_update(conn: &mut PgConnection, row: &UpdateRow) -> sqlx::Result<()> {
    let (edited_at, edited_by) = row.edited.clone().unzip();
    sqlx::query!(
        "update status_update set status = $2, text = $3, at = $4, edited_at = $5, edited_by = $6 where update_id = $1",
        row.id,
        row.status.word(),
        row.text,
        row.at.to_sqlx(),
        edited_at.map(|t| t.to_sqlx()) as _,
        edited_by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn delete_update(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query!("delete from status_update where update_id = $1", id).execute(conn).await?;
    Ok(())
}

/// What to list of a page.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub page: i32,
    pub id: Option<Uuid>,
    pub open: Option<bool>,
    /// Below this one in the order.
    pub before: Option<(Timestamp, Uuid)>,
    pub offset: i64,
    pub limit: i64,
}

/// Posts with their updates, the latest beginning first.
pub async fn list(conn: &mut PgConnection, f: &Filter) -> sqlx::Result<Vec<PostRow>> {
    let (before_at, before_id) = f.before.unzip();
    let mut posts = sqlx::query!(
        "select post_id, title, impact, parts, incident_id, started_at, status, resolved_at, revision, created_at,
                created_by, updated_at
         from status_post
         where page_id = $1 and ($2::uuid is null or post_id = $2) and ($3::bool is null or (resolved_at is null) = $3)
           and ($4::timestamptz is null or (started_at, post_id) < ($4, $5::uuid))
         order by started_at desc, post_id desc offset $6 limit $7",
        f.page,
        f.id,
        f.open,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        f.offset,
        f.limit,
    )
    .map(|r| PostRow {
        id: r.post_id,
        title: r.title,
        impact: Impact::from_word(&r.impact),
        parts: r.parts,
        incident: r.incident_id,
        started_at: r.started_at.to_jiff(),
        status: Progress::from_word(&r.status),
        resolved_at: r.resolved_at.map(|t| t.to_jiff()),
        revision: r.revision,
        created_at: r.created_at.to_jiff(),
        created_by: r.created_by,
        updated_at: r.updated_at.to_jiff(),
        updates: Vec::new(),
    })
    .fetch_all(&mut *conn)
    .await?;
    let ids: Vec<Uuid> = posts.iter().map(|post| post.id).collect();
    let mut updates = updates(conn, &ids).await?;
    for post in &mut posts {
        post.updates = updates.remove(&post.id).unwrap_or_default();
    }
    Ok(posts)
}

/// Updates by post, the newest first.
async fn updates(
    conn: &mut PgConnection,
    posts: &[Uuid],
) -> sqlx::Result<BTreeMap<Uuid, Vec<UpdateRow>>> {
    let rows = sqlx::query!(
        "select post_id, update_id, status, text, at, by_whom, edited_at, edited_by from status_update
         where post_id = any($1) order by at desc, update_id desc",
        posts
    )
    .map(|r| {
        let edited = r.edited_at.map(|at| (at.to_jiff(), r.edited_by.unwrap_or_default()));
        let row = UpdateRow {
            id: r.update_id,
            status: Progress::from_word(&r.status),
            text: r.text,
            at: r.at.to_jiff(),
            by: r.by_whom,
            edited,
        };
        (r.post_id, row)
    })
    .fetch_all(conn)
    .await?;
    let mut all: BTreeMap<Uuid, Vec<UpdateRow>> = BTreeMap::new();
    for (post, row) in rows {
        all.entry(post).or_default().push(row);
    }
    Ok(all)
}

/// How many posts of a page are resolved.
pub async fn resolved(conn: &mut PgConnection, page: i32) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from status_post where page_id = $1 and resolved_at is not null"#,
        page
    )
    .fetch_one(conn)
    .await
}

/// Whether there is such an incident.
pub async fn incident_exists(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from incident where incident_id = $1) as "there!""#,
        id
    )
    .fetch_one(conn)
    .await
}
