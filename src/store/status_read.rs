//! Which status pages there are, for whoever asks for one.

use sqlx::PgConnection;
use uuid::Uuid;

/// A page as requests find it.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: i32,
    pub uid: Uuid,
    pub slug: String,
    pub domain: Option<String>,
    pub published: bool,
}

/// All pages, drafts too: their hosts are theirs already.
pub async fn directory(conn: &mut PgConnection) -> sqlx::Result<Vec<Entry>> {
    sqlx::query!("select page_id, uid, slug, domain, published from status_page")
        .map(|r| Entry {
            key: r.page_id,
            uid: r.uid,
            slug: r.slug,
            domain: r.domain,
            published: r.published,
        })
        .fetch_all(conn)
        .await
}
