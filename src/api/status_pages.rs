//! Status pages as somebody sets them up. What is posted on them is `status_posts`; what the public sees,
//! `public`.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
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
    status_page_form::{self, own_hosts},
};
use crate::{
    domain::status_page::{About, Link, parts},
    store::{
        self,
        status_pages::{PageRow, Values},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(preview_status_page))
        .routes(routes!(list_status_pages, create_status_page))
        .routes(routes!(get_status_page, change_status_page, delete_status_page))
}

/// A page for the public. Names in it are public; those of monitors and SLOs behind it are not.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StatusPage {
    pub id: Uuid,
    /// Stands in the address: `/status/SLUG`.
    pub slug: String,
    pub name: String,
    /// A line below the name; may be empty.
    pub headline: String,
    /// IANA name: days and times are told in it.
    pub timezone: String,
    /// A host of its own; null for none.
    pub domain: Option<String>,
    /// False is a draft: the public gets the same 404 as for a page that is not there.
    pub published: bool,
    /// How many days are shown.
    pub days: u16,
    pub groups: Vec<StatusGroup>,
    pub links: Vec<Link>,
    /// Where the public finds it.
    pub url: String,
    /// Posts that are not resolved.
    pub open_posts: i64,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StatusGroup {
    pub id: Uuid,
    /// Empty: its parts have no heading.
    pub name: String,
    pub parts: Vec<StatusPart>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StatusPart {
    pub id: Uuid,
    /// Its public name.
    pub name: String,
    /// Made from the name; stands in the address of its badge: `/badge/PAGE/SLUG.json`.
    pub slug: String,
    /// Public; may be empty.
    pub description: String,
    /// What it is about, under its own name, which the public never sees. Null, as `slo` is: it was deleted, and
    /// the public is told that it is not measured.
    pub monitor: Option<StatusSource>,
    pub slo: Option<StatusSource>,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct StatusSource {
    pub id: Uuid,
    pub name: String,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStatusPage {
    /// 1 to 200 characters.
    pub name: String,
    /// 1 to 63 of a-z, 0-9 and hyphens, of this page alone.
    pub slug: String,
    /// At most 300 characters.
    #[serde(default)]
    pub headline: String,
    /// UTC unless given.
    pub timezone: Option<String>,
    /// A host name such as `status.shop.example`, of this page alone. Whoever asks for it gets this page and nothing else
    /// of the product.
    pub domain: Option<String>,
    /// Only states are public by themselves, as soon as the page is published. Nothing is ever posted automatically.
    #[serde(default)]
    pub published: bool,
    /// 7 to 90; 90 unless given.
    pub days: Option<u16>,
    #[serde(default)]
    pub groups: Vec<NewStatusGroup>,
    #[serde(default)]
    pub links: Vec<Link>,
}

/// What is left out stays; null is what a new page would have. Lists are replaced as a whole.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStatusPage {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub slug: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub headline: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub timezone: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub domain: Option<Option<String>>,
    /// Only states are public by themselves. Nothing is ever posted automatically.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub published: Option<bool>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub days: Option<u16>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub groups: Option<Vec<NewStatusGroup>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub links: Option<Vec<Link>>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStatusGroup {
    /// Of a group that stays; left out for a new one.
    pub id: Option<Uuid>,
    /// At most 200 characters; empty for none.
    #[serde(default)]
    pub name: String,
    pub parts: Vec<NewStatusPart>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStatusPart {
    /// Of a part that stays: posts and readers know it by this. Left out for a new one.
    pub id: Option<Uuid>,
    /// The public name: 1 to 200 characters, of this part alone.
    pub name: String,
    /// Public; at most 300 characters.
    #[serde(default)]
    pub description: String,
    /// Id or name. Either this or `slo`.
    pub monitor: Option<String>,
    /// Id or name.
    pub slo: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListStatusPages {
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Status pages by name, drafts too.
#[utoipa::path(get, path = "/status-pages", tag = "status pages", extensions(("x-role" = json!("viewer"))),
    params(ListStatusPages), responses((status = 200, body = List<StatusPage>)))]
async fn list_status_pages(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListStatusPages>,
) -> ApiResult<Json<List<StatusPage>>> {
    let limit = page_limit(query.limit)?;
    let after: Option<(String, i32)> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let rows = store::status_pages::list(&mut conn, after, limit + 1).await?;
    let List { items, next } =
        List::page(rows, limit, |row| (row.values.name.clone(), row.key), |row| row);
    let url = state.public_url(&mut conn).await?;
    let sources = Sources::of(&mut conn, items.iter().map(|row| &row.values)).await?;
    let items = items.into_iter().map(|row| shown(row, &sources, &url)).collect();
    Ok(Json(List { items, next }))
}

/// Adds a page, as a draft unless `published` is set.
#[utoipa::path(post, path = "/status-pages", tag = "status pages", extensions(("x-role" = json!("editor"))),
    request_body = NewStatusPage, responses((status = 201, body = StatusPage, headers(("etag" = String)))))]
async fn create_status_page(
    State(state): State<AppState>,
    Editor(caller): Editor,
    headers: HeaderMap,
    Json(form): Json<NewStatusPage>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let own = own_hosts(&state, &mut tx, &headers).await?;
    let values = status_page_form::new(&mut tx, form, &own, now).await?;
    let id = store::id_at(now);
    store::status_pages::insert(&mut tx, id, &values, now).await?;
    let detail = detail(&values);
    store::audit::add(&mut tx, now, &caller.name, "status_page.create", &subject(id), &detail)
        .await?;
    let page = one(&mut tx, id, &state).await?;
    tx.commit().await?;
    state.public.forget();
    Ok(answer(StatusCode::CREATED, page))
}

/// One page.
#[utoipa::path(get, path = "/status-pages/{id}", tag = "status pages", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = StatusPage, headers(("etag" = String)))))]
async fn get_status_page(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    Ok(answer(StatusCode::OK, one(&mut conn, id, &state).await?))
}

/// The page as the public would see it, drafts too.
#[utoipa::path(get, path = "/status-pages/{id}/preview", tag = "status pages", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, content_type = "text/html", body = String)))]
async fn preview_status_page(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    super::public::preview(&state, id).await
}

/// Changes a page. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/status-pages/{id}", tag = "status pages", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), request_body = ChangeStatusPage,
    responses((status = 200, body = StatusPage, headers(("etag" = String)))))]
async fn change_status_page(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<ChangeStatusPage>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let own = own_hosts(&state, &mut tx, &headers).await?;
    let values = status_page_form::changed(&mut tx, &old.values, change, &own, now).await?;
    store::status_pages::update(&mut tx, old.key, &values, now).await?;
    let mut told = detail(&values);
    told["before"] = detail(&old.values);
    store::audit::add(&mut tx, now, &caller.name, "status_page.change", &subject(id), &told)
        .await?;
    let page = one(&mut tx, id, &state).await?;
    tx.commit().await?;
    state.public.forget();
    Ok(answer(StatusCode::OK, page))
}

/// Deletes a page with everything that was posted on it. Its address answers 404 from now on.
#[utoipa::path(delete, path = "/status-pages/{id}", tag = "status pages", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_status_page(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    if_match(&headers, row.revision)?;
    store::status_pages::delete(&mut tx, row.key).await?;
    let detail = detail(&row.values);
    store::audit::add(&mut tx, now, &caller.name, "status_page.delete", &subject(id), &detail)
        .await?;
    tx.commit().await?;
    state.public.forget();
    Ok(StatusCode::NO_CONTENT)
}

pub async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<PageRow> {
    store::status_pages::get(conn, id, lock).await?.ok_or(ApiError::NotFound("status page"))
}

pub fn subject(id: Uuid) -> String {
    format!("status_page:{id}")
}

fn detail(values: &Values) -> Value {
    json!({
        "name": values.name, "slug": values.slug, "headline": values.headline, "timezone": values.timezone,
        "domain": values.domain, "published": values.published, "days": values.days, "groups": values.groups,
        "links": values.links,
    })
}

fn answer(status: StatusCode, page: StatusPage) -> Response {
    (status, [(header::ETAG, etag(page.revision))], Json(page)).into_response()
}

async fn one(conn: &mut PgConnection, id: Uuid, state: &AppState) -> ApiResult<StatusPage> {
    let row = find(conn, id, false).await?;
    let url = state.public_url(conn).await?;
    let sources = Sources::of(conn, [&row.values]).await?;
    Ok(shown(row, &sources, &url))
}

/// Names of what pages are about.
struct Sources {
    monitors: BTreeMap<Uuid, String>,
    slos: BTreeMap<Uuid, String>,
}

impl Sources {
    async fn of(
        conn: &mut PgConnection,
        pages: impl IntoIterator<Item = &Values>,
    ) -> ApiResult<Self> {
        let (mut monitors, mut slos) = (Vec::new(), Vec::new());
        for part in pages.into_iter().flat_map(|values| parts(&values.groups)) {
            match part.about {
                About::Monitor(id) => monitors.push(id.to_string()),
                About::Slo(id) => slos.push(id.to_string()),
            }
        }
        let monitors = store::status_pages::monitors_named(conn, &monitors).await?;
        let slos = store::status_pages::slos_named(conn, &slos).await?;
        let by_id = |list: Vec<store::status_pages::Named>| {
            list.into_iter().map(|one| (one.uid, one.name)).collect()
        };
        Ok(Self { monitors: by_id(monitors), slos: by_id(slos) })
    }

    fn of_part(&self, about: About) -> (Option<StatusSource>, Option<StatusSource>) {
        let of = |names: &BTreeMap<Uuid, String>, id: Uuid| {
            names.get(&id).map(|name| StatusSource { id, name: name.clone() })
        };
        match about {
            About::Monitor(id) => (of(&self.monitors, id), None),
            About::Slo(id) => (None, of(&self.slos, id)),
        }
    }
}

/// Where the public finds a page: its own host if it has one, by the scheme that the product is reached by.
pub fn address(values: &Values, product: &Url) -> Url {
    let own = values
        .domain
        .as_ref()
        .and_then(|domain| format!("{}://{domain}/", product.scheme()).parse().ok());
    let path = || product.join(&format!("/status/{}", values.slug)).ok();
    own.or_else(path).unwrap_or_else(|| product.clone())
}

fn shown(row: PageRow, sources: &Sources, product: &Url) -> StatusPage {
    let url = address(&row.values, product).into();
    let values = row.values;
    let part = |part: crate::domain::status_page::Part| {
        let (monitor, slo) = sources.of_part(part.about);
        let (id, name, slug, description) = (part.id, part.name, part.slug, part.description);
        StatusPart { id, name, slug, description, monitor, slo }
    };
    let groups = values.groups.into_iter().map(|group| StatusGroup {
        id: group.id,
        name: group.name,
        parts: group.parts.into_iter().map(part).collect(),
    });
    StatusPage {
        id: row.uid,
        slug: values.slug,
        name: values.name,
        headline: values.headline,
        timezone: values.timezone,
        domain: values.domain,
        published: values.published,
        days: values.days,
        groups: groups.collect(),
        links: values.links,
        url,
        open_posts: row.open_posts,
        revision: row.revision,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
    }
}
