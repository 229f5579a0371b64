//! Status pages as everybody sees them, without a login: the page, its posts, and the same for other readers. By the
//! product's address at `/status/PAGE` and `/badge/PAGE`, and at the root of a page's own host, where there is nothing
//! else of the product.

mod answers;
pub mod assemble;
pub mod figures;
pub mod memory;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::get,
};
use uuid::Uuid;

use self::{
    answers::{away, missing, plain, send},
    assemble::Snapshot,
    memory::{Document, PATIENCE},
};
use super::{
    AppState,
    error::{ApiError, ApiResult},
    status_page_form::host_of,
};
use crate::{
    domain::slo::evaluate::evaluate,
    publish::{
        badge, calendar, feed,
        status::{self, documents, page},
    },
    store::{
        self,
        slo_inputs::{self, View},
        status_read::Entry,
    },
};

pub fn router() -> Router<AppState> {
    Router::new()
        .route("/status/{page}", get(by_path))
        .route("/status/{page}/", get(by_path))
        .route("/status/{page}/{*rest}", get(by_path))
        .route("/badge/{page}/{part}", get(badge_by_path))
}

/// What can be asked of a page.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Wanted {
    Page,
    /// A page of earlier posts, counted from 1.
    History(u32),
    Post(Uuid),
    Summary,
    Feed(Kind),
    Calendar,
    /// Of a part, by its name in an address.
    Badge(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Rss,
    Atom,
}

impl Wanted {
    /// `rest` is what stands behind the address of the page, without a slash at its ends.
    fn parse(rest: &str, query: &str, own_host: bool) -> Option<Self> {
        let rest = rest.trim_matches('/');
        if let Some(id) = rest.strip_prefix("posts/") {
            return id.parse().ok().map(Self::Post);
        }
        if let Some(name) = rest.strip_prefix("badge/").filter(|_| own_host) {
            return name.strip_suffix(".json").map(|part| Self::Badge(part.to_owned()));
        }
        Some(match rest {
            "" => Self::Page,
            "history" => Self::History(number(query)?),
            "summary.json" | "api/v2/summary.json" => Self::Summary,
            "feed.rss" => Self::Feed(Kind::Rss),
            "feed.atom" => Self::Feed(Kind::Atom),
            "maintenance.ics" => Self::Calendar,
            _ => return None,
        })
    }
}

impl Wanted {
    /// Whether the database has to be asked for more than the page was read with.
    fn asks_again(&self, snapshot: &Snapshot) -> bool {
        let view = &snapshot.view;
        match self {
            Self::Page | Self::Summary | Self::Feed(_) | Self::Calendar => false,
            Self::History(number) => (2..=view.earlier_pages).contains(number),
            Self::Post(id) => {
                let id = id.to_string();
                !view.open.iter().chain(&view.earlier).any(|post| post.id == id)
            }
            Self::Badge(slug) => snapshot.slos.iter().any(|(own, _)| own == slug),
        }
    }
}

/// Of `page=2`; the first unless it is said. None for one that is no number.
fn number(query: &str) -> Option<u32> {
    let mut words = query.split('&').filter_map(|word| word.strip_prefix("page="));
    match words.next() {
        None => Some(1),
        Some(text) => text.parse().ok().filter(|number| *number > 0),
    }
}

async fn by_path(
    State(state): State<AppState>,
    path: Result<Path<Vec<(String, String)>>, PathRejection>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let Ok(Path(path)) = path else { return missing() };
    let of = |name: &str| path.iter().find(|(key, _)| key == name).map_or("", |(_, word)| word);
    let wanted = Wanted::parse(of("rest"), uri.query().unwrap_or_default(), false);
    let slug = of("page").to_owned();
    let entry = state.public.find(&state, |entry| entry.published && entry.slug == slug).await;
    answer(&state, entry, wanted, false, &headers).await
}

async fn badge_by_path(
    State(state): State<AppState>,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    let Ok(Path((slug, part))) = path else { return missing() };
    let wanted = part.strip_suffix(".json").map(|part| Wanted::Badge(part.to_owned()));
    let entry = state.public.find(&state, |entry| entry.published && entry.slug == slug).await;
    answer(&state, entry, wanted, false, &headers).await
}

/// Lets requests for the host of a page go there, and nowhere else; drafts have their host already.
pub async fn by_host(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let Some(host) = asked_host(&request).filter(|host| !is_own(&state, host)) else {
        return next.run(request).await;
    };
    let entry = state.public.find(&state, |entry| entry.domain.as_ref() == Some(&host)).await;
    let Some(entry) = entry else { return next.run(request).await };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    let wanted =
        Wanted::parse(request.uri().path(), request.uri().query().unwrap_or_default(), true);
    let entry = Some(entry).filter(|entry| entry.published);
    let mut response = answer(&state, entry, wanted, true, request.headers()).await;
    if request.method() == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    response
}

/// The name that was asked for; an address is nobody's host.
fn asked_host(request: &Request) -> Option<String> {
    let header = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = header.or_else(|| request.uri().authority().map(|a| a.as_str()))?;
    let host = host_of(authority);
    let is_name =
        host.contains('.') && !host.starts_with('[') && host.parse::<std::net::IpAddr>().is_err();
    is_name.then_some(host)
}

/// The product's own host, so that its requests do not even look for pages.
fn is_own(state: &AppState, host: &str) -> bool {
    let known = [state.config.public_url.as_ref(), Some(&state.config.listen_url)];
    known.into_iter().flatten().any(|url| url.host_str() == Some(host))
}

/// Whatever is not there is answered alike: a draft is not told from a name that nobody has.
async fn answer(
    state: &AppState,
    entry: Option<Entry>,
    wanted: Option<Wanted>,
    own_host: bool,
    headers: &HeaderMap,
) -> Response {
    let (Some(entry), Some(wanted)) = (entry, wanted) else { return missing() };
    match document(state, &entry, &wanted, own_host).await {
        Ok(Some(document)) => send(&document, headers),
        Ok(None) => missing(),
        Err(Away) => away(),
    }
}

/// Nothing can be said at the moment.
struct Away;

async fn document(
    state: &AppState,
    entry: &Entry,
    wanted: &Wanted,
    own_host: bool,
) -> Result<Option<Arc<Document>>, Away> {
    let page = state.public.page(entry.uid);
    let mut kept = page.lock().await;
    let now = state.clock.now();
    let read = async |figures| {
        let _turn = state.public.turn().await;
        let mut conn = state.pool.acquire().await?;
        let row = store::status_pages::get(&mut conn, entry.uid, false).await?;
        let row = row.filter(|row| row.values.published).ok_or(ApiError::NotFound("page"))?;
        assemble::snapshot(state, &mut conn, row, figures, now).await
    };
    let snapshot = kept.at(&state.clock, read).await.ok_or(Away)?;
    if let Some(document) = kept.document(own_host, wanted) {
        return Ok(Some(document));
    }
    let asks = wanted.asks_again(&snapshot);
    let mut kept = Some(kept).filter(|_| !asks);
    let mount = if own_host { String::new() } else { format!("/status/{}", entry.slug) };
    let made = async {
        // What needs the database again holds up nobody who wants the page; whoever waited for a turn may find it
        // made meanwhile.
        let _turn = if asks { state.public.turn().await } else { None };
        if asks && let Some(document) = page.lock().await.document(own_host, wanted) {
            return Ok(Some(document));
        }
        Ok(make(state, &snapshot, wanted, mount).await?.map(Arc::new))
    };
    match tokio::time::timeout(PATIENCE, made).await {
        Ok(Ok(Some(document))) => {
            let mut kept = match kept.take() {
                Some(kept) => kept,
                None => page.lock().await,
            };
            // Of a page that was read again meanwhile this is the past.
            if kept.holds(&snapshot) {
                kept.keep(own_host, wanted.clone(), &document);
            }
            Ok(Some(document))
        }
        Ok(Ok(None)) => Ok(None),
        Ok(Err(error)) => {
            let error: ApiError = error;
            tracing::warn!(?error, "a public page could not be made");
            Err(Away)
        }
        Err(_) => Err(Away),
    }
}

/// None for what the page does not have.
async fn make(
    state: &AppState,
    snapshot: &Snapshot,
    wanted: &Wanted,
    mount: String,
) -> ApiResult<Option<Document>> {
    let view = status::View { mount, ..snapshot.view.clone() };
    let html = "text/html; charset=utf-8";
    Ok(Some(match wanted {
        Wanted::Page => Document::new(html, page::page(&view)),
        Wanted::History(1) => Document::new(html, page::history(&view, &view.earlier, 1)),
        Wanted::History(number) if *number > view.earlier_pages => return Ok(None),
        Wanted::History(number) => {
            let mut conn = state.pool.acquire().await?;
            let posts = assemble::resolved(&mut conn, snapshot.key, *number).await?;
            Document::new(html, page::history(&view, &posts, *number))
        }
        Wanted::Post(id) => {
            let text = id.to_string();
            let known = view.open.iter().chain(&view.earlier).find(|post| post.id == text).cloned();
            let post = match known {
                Some(post) => Some(post),
                None => {
                    let mut conn = state.pool.acquire().await?;
                    assemble::single(&mut conn, snapshot.key, *id).await?
                }
            };
            let Some(post) = post else { return Ok(None) };
            Document::new(html, page::single(&view, &post))
        }
        Wanted::Summary => Document::json(&documents::summary(&view)),
        Wanted::Feed(Kind::Rss) => Document::new(
            "application/rss+xml; charset=utf-8",
            feed::rss(&documents::feed(&view, "rss")),
        ),
        Wanted::Feed(Kind::Atom) => Document::new(
            "application/atom+xml; charset=utf-8",
            feed::atom(&documents::feed(&view, "atom")),
        ),
        Wanted::Calendar => Document::new(
            "text/calendar; charset=utf-8",
            calendar::ics(&documents::calendar(&view), view.now),
        ),
        Wanted::Badge(slug) => return badge_of(state, snapshot, slug).await,
    }))
}

/// Of an SLO what was achieved, of a monitor how it is.
async fn badge_of(
    state: &AppState,
    snapshot: &Snapshot,
    slug: &str,
) -> ApiResult<Option<Document>> {
    let Some(part) = snapshot.view.parts().find(|part| part.slug == slug) else { return Ok(None) };
    let by_state = || Document::json(&documents::badge(part));
    let Some((_, id)) = snapshot.slos.iter().find(|(own, _)| own == slug) else {
        return Ok(Some(by_state()));
    };
    let mut conn = state.pool.acquire().await?;
    let Some(slo) = store::slos::get(&mut conn, *id, false).await? else {
        return Ok(Some(by_state()));
    };
    let view = View { brief: true, ..View::current(state.clock.now()) };
    let read = slo_inputs::read(&mut conn, &slo, view).await?;
    let report = read.and_then(|(definition, inputs)| evaluate(&definition, &inputs));
    Ok(Some(report.map_or_else(by_state, |report| Document::json(&badge::of_slo(&report)))))
}

/// The page as the public would see it, for somebody who is signed in; drafts too.
pub async fn preview(state: &AppState, id: Uuid) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let row = super::status_pages::find(&mut conn, id, false).await?;
    let mount = format!("/status/{}", row.values.slug);
    let kept = figures::Kept::default();
    let (snapshot, _) = assemble::snapshot(state, &mut conn, row, kept, now).await?;
    let view = status::View { mount, ..snapshot.view };
    let mut response = plain(StatusCode::OK, page::page(&view));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_nothing_else_is_one() {
        let of = |rest| Wanted::parse(rest, "page=2&x=1", true);
        assert_eq!(of("/"), Some(Wanted::Page));
        assert_eq!(of("/history"), Some(Wanted::History(2)));
        assert_eq!(of("/api/v2/summary.json"), Some(Wanted::Summary));
        assert_eq!(of("/badge/check-out.json"), Some(Wanted::Badge("check-out".into())));
        for other in
            ["/api/v1/monitors", "/login", "/badge/x", "/posts/1", "/status/shop", "/index.html"]
        {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(Wanted::parse("history", "page=0", false), None);
        assert_eq!(Wanted::parse("badge/x.json", "", false), None);
    }
}
