//! What people tell the public on a status page: posts, each with updates (`status_updates`). Nothing is posted by
//! itself.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use url::Url;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitors::{etag, if_match},
    request::{At, Json, List, Path, Query, not_null, page_limit, present, read_cursor},
    status_pages::{address, find, subject},
    status_updates::{NewStatusUpdate, past, read_update, said},
};
use crate::{
    domain::{
        monitor::Name,
        status_page::{
            Group, parts,
            post::{Impact, Progress},
        },
    },
    store::{
        self,
        status_pages::PageRow,
        status_posts::{Filter, PostRow, PostSet, UpdateRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_status_posts, create_status_post)).routes(routes!(
        get_status_post,
        change_status_post,
        delete_status_post
    ))
}

/// Something that the public is told about. Title, texts and times are public; the incident and who wrote are not.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StatusPost {
    pub id: Uuid,
    pub title: String,
    pub impact: Impact,
    /// Parts of the page.
    pub parts: Vec<Uuid>,
    /// The incident that it is about, for those who are signed in only.
    pub incident: Option<Uuid>,
    /// As the latest update says.
    pub status: Progress,
    pub started_at: At,
    pub resolved_at: Option<At>,
    /// The newest first.
    pub updates: Vec<StatusUpdate>,
    /// Where the public finds it.
    pub url: String,
    pub revision: i32,
    pub created_at: At,
    pub created_by: String,
    pub updated_at: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StatusUpdate {
    pub id: Uuid,
    pub status: Progress,
    pub text: String,
    pub at: At,
    /// Who wrote it, for those who are signed in only.
    pub by: String,
    pub edited_at: Option<At>,
    pub edited_by: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStatusPost {
    /// 1 to 200 characters.
    pub title: String,
    #[serde(default)]
    pub impact: Impact,
    /// Ids of parts of the page.
    #[serde(default)]
    pub parts: Vec<Uuid>,
    pub incident: Option<Uuid>,
    /// When it began: now unless given, and never later.
    pub started_at: Option<At>,
    pub update: NewStatusUpdate,
}

/// What is left out stays.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStatusPost {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub impact: Option<Impact>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub parts: Option<Vec<Uuid>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub incident: Option<Option<Uuid>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub started_at: Option<At>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatusPostState {
    Open,
    Resolved,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListStatusPosts {
    pub state: Option<StatusPostState>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Posts of a page, the latest beginning first.
#[utoipa::path(get, path = "/status-pages/{id}/posts", tag = "status pages", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListStatusPosts), responses((status = 200, body = List<StatusPost>)))]
async fn list_status_posts(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListStatusPosts>,
) -> ApiResult<Json<List<StatusPost>>> {
    let limit = page_limit(query.limit)?;
    let before: Option<(Timestamp, Uuid)> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let page = find(&mut conn, id, false).await?;
    let open = query.state.map(|state| state == StatusPostState::Open);
    let filter = Filter { page: page.key, open, before, limit: limit + 1, ..Filter::default() };
    let rows = store::status_posts::list(&mut conn, &filter).await?;
    let url = post_url(&state, &mut conn, &page).await?;
    Ok(Json(List::page(rows, limit, |row| (row.started_at, row.id), |row| shown(row, &url))))
}

/// Tells the public about something. It is seen at once if the page is published.
#[utoipa::path(post, path = "/status-pages/{id}/posts", tag = "status pages", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = NewStatusPost,
    responses((status = 201, body = StatusPost, headers(("etag" = String)))))]
async fn create_status_post(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    Json(form): Json<NewStatusPost>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let page = find(&mut tx, id, true).await?;
    let update =
        read_update(form.update, &caller.name, now).map_err(|error| under(error, "update"))?;
    let started_at =
        past("started_at", form.started_at, now)?.unwrap_or_else(|| update.at.min(now));
    let title = Name::parse("title", &form.title)?;
    check_parts(&page.values.groups, &form.parts)?;
    check_incident(&mut tx, form.incident).await?;
    let set = PostSet {
        title: title.as_str(),
        impact: form.impact,
        parts: &form.parts,
        incident: form.incident,
        started_at,
    };
    let post = store::id_at(now);
    store::status_posts::insert(&mut tx, page.key, post, &set, &caller.name, now).await?;
    store::status_posts::add_update(&mut tx, post, &update).await?;
    store::status_posts::settle(&mut tx, post, now).await?;
    let detail = json!({ "post": post, "title": set.title, "impact": set.impact, "parts": set.parts,
        "incident": set.incident, "status": update.status, "text": update.text });
    store::audit::add(&mut tx, now, &caller.name, "status_post.create", &subject(id), &detail)
        .await?;
    let answer = answer(&state, &mut tx, &page, post, StatusCode::CREATED).await?;
    tx.commit().await?;
    state.public.forget();
    Ok(answer)
}

/// One post with its updates.
#[utoipa::path(get, path = "/status-pages/{id}/posts/{post}", tag = "status pages", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ("post" = Uuid, Path)),
    responses((status = 200, body = StatusPost, headers(("etag" = String)))))]
async fn get_status_post(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path((id, post)): Path<(Uuid, Uuid)>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    let page = find(&mut conn, id, false).await?;
    answer(&state, &mut conn, &page, post, StatusCode::OK).await
}

/// Changes what stands over the updates. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/status-pages/{id}/posts/{post}", tag = "status pages", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("post" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = ChangeStatusPost, responses((status = 200, body = StatusPost, headers(("etag" = String)))))]
async fn change_status_post(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, post)): Path<(Uuid, Uuid)>,
    headers: HeaderMap,
    Json(change): Json<ChangeStatusPost>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let page = find(&mut tx, id, true).await?;
    let old = one(&mut tx, &page, post).await?;
    if_match(&headers, old.revision)?;
    let title = Name::parse("title", change.title.as_ref().unwrap_or(&old.title))?;
    if let Some(parts) = &change.parts {
        check_parts(&page.values.groups, parts)?;
    }
    check_incident(&mut tx, change.incident.flatten()).await?;
    let parts = change.parts.unwrap_or_else(|| old.parts.clone());
    let set = PostSet {
        title: title.as_str(),
        impact: change.impact.unwrap_or(old.impact),
        parts: &parts,
        incident: change.incident.unwrap_or(old.incident),
        started_at: past("started_at", change.started_at, now)?.unwrap_or(old.started_at),
    };
    store::status_posts::update(&mut tx, post, &set).await?;
    store::status_posts::settle(&mut tx, post, now).await?;
    let detail = json!({ "post": post, "title": set.title, "impact": set.impact, "parts": set.parts,
        "incident": set.incident, "started_at": At(set.started_at),
        "before": { "title": old.title, "impact": old.impact, "parts": old.parts, "incident": old.incident,
            "started_at": At(old.started_at) } });
    store::audit::add(&mut tx, now, &caller.name, "status_post.change", &subject(id), &detail)
        .await?;
    let answer = answer(&state, &mut tx, &page, post, StatusCode::OK).await?;
    tx.commit().await?;
    state.public.forget();
    Ok(answer)
}

/// Takes a post back, with its updates. The audit log keeps what was said.
#[utoipa::path(delete, path = "/status-pages/{id}/posts/{post}", tag = "status pages", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("post" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_status_post(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path((id, post)): Path<(Uuid, Uuid)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let page = find(&mut tx, id, true).await?;
    let old = one(&mut tx, &page, post).await?;
    if_match(&headers, old.revision)?;
    store::status_posts::delete(&mut tx, post).await?;
    let said: Vec<Value> = old.updates.iter().map(said).collect();
    let detail = json!({ "post": post, "title": old.title, "impact": old.impact, "updates": said });
    store::audit::add(&mut tx, now, &caller.name, "status_post.delete", &subject(id), &detail)
        .await?;
    tx.commit().await?;
    state.public.forget();
    Ok(StatusCode::NO_CONTENT)
}

pub async fn one(conn: &mut PgConnection, page: &PageRow, id: Uuid) -> ApiResult<PostRow> {
    let filter = Filter { page: page.key, id: Some(id), limit: 1, ..Filter::default() };
    store::status_posts::list(conn, &filter).await?.pop().ok_or(ApiError::NotFound("post"))
}

fn under(error: ApiError, parent: &str) -> ApiError {
    match error {
        ApiError::Invalid(invalid) => ApiError::Invalid(invalid.under(parent)),
        other => other,
    }
}

fn check_parts(groups: &[Group], given: &[Uuid]) -> ApiResult<()> {
    for (i, id) in given.iter().enumerate() {
        if !parts(groups).any(|part| part.id == *id) {
            return Err(ApiError::given(
                format!("parts[{i}]"),
                &id.to_string(),
                "is no part of this page",
            ));
        }
        if given.iter().take(i).any(|before| before == id) {
            return Err(ApiError::given(
                format!("parts[{i}]"),
                &id.to_string(),
                "stands here twice",
            ));
        }
    }
    Ok(())
}

async fn check_incident(conn: &mut PgConnection, id: Option<Uuid>) -> ApiResult<()> {
    let Some(id) = id else { return Ok(()) };
    if store::status_posts::incident_exists(conn, id).await? {
        return Ok(());
    }
    Err(ApiError::given("incident", &id.to_string(), "is no incident"))
}

/// Where posts of a page are found: ids stand behind it.
async fn post_url(state: &AppState, conn: &mut PgConnection, page: &PageRow) -> ApiResult<Url> {
    let product = state.public_url(conn).await?;
    let mut url = address(&page.values, &product);
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push("posts");
    }
    Ok(url)
}

pub async fn answer(
    state: &AppState,
    conn: &mut PgConnection,
    page: &PageRow,
    post: Uuid,
    status: StatusCode,
) -> ApiResult<Response> {
    let row = one(conn, page, post).await?;
    let url = post_url(state, conn, page).await?;
    let post = shown(row, &url);
    Ok((status, [(header::ETAG, etag(post.revision))], Json(post)).into_response())
}

fn shown(row: PostRow, posts: &Url) -> StatusPost {
    let update = |row: UpdateRow| {
        let (edited_at, edited_by) = row.edited.unzip();
        StatusUpdate {
            id: row.id,
            status: row.status,
            text: row.text,
            at: At(row.at),
            by: row.by,
            edited_at: edited_at.map(At),
            edited_by,
        }
    };
    StatusPost {
        url: format!("{posts}/{}", row.id),
        id: row.id,
        title: row.title,
        impact: row.impact,
        parts: row.parts,
        incident: row.incident,
        status: row.status,
        started_at: At(row.started_at),
        resolved_at: row.resolved_at.map(At),
        updates: row.updates.into_iter().map(update).collect(),
        revision: row.revision,
        created_at: At(row.created_at),
        created_by: row.created_by,
        updated_at: At(row.updated_at),
    }
}
