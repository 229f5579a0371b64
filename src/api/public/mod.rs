//! Status pages as everybody sees them, without a login: the page, its posts, and the same for other readers. By the
//! product's address at `/status/PAGE` and `/badge/PAGE`, and at the root of a page's own host, where there is nothing
//! else of the product.

pub mod assemble;
pub mod figures;
pub mod memory;

use std::{io::Write, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use self::{
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
        status::{self, SCRIPT, STYLE, documents, page},
    },
    store::{
        self,
        slo_inputs::{self, View},
        status_read::Entry,
    },
};

/// How long others may keep an answer, in seconds.
const MAX_AGE: &str = "public, max-age=10";

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
    Path(path): Path<Vec<(String, String)>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let of = |name: &str| path.iter().find(|(key, _)| key == name).map_or("", |(_, word)| word);
    let wanted = Wanted::parse(of("rest"), uri.query().unwrap_or_default(), false);
    let slug = of("page").to_owned();
    let entry = state.public.find(&state, |entry| entry.published && entry.slug == slug).await;
    answer(&state, entry, wanted, false, &headers).await
}

async fn badge_by_path(
    State(state): State<AppState>,
    Path((slug, part)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
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
    let mount = if own_host { String::new() } else { format!("/status/{}", entry.slug) };
    let made = tokio::time::timeout(PATIENCE, make(state, &snapshot, wanted, mount)).await;
    match made {
        Ok(Ok(Some(document))) => {
            let document = Arc::new(document);
            kept.keep(own_host, wanted.clone(), &document);
            Ok(Some(document))
        }
        Ok(Ok(None)) => Ok(None),
        Ok(Err(error)) => {
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

impl Document {
    fn new(kind: &'static str, text: String) -> Self {
        let etag = format!("W/\"{}\"", hex::encode(&Sha256::digest(text.as_bytes())[..12]));
        let gzip = packed(text.as_bytes());
        Self { kind, body: Bytes::from(text), gzip, etag }
    }

    fn json(value: &impl Serialize) -> Self {
        Self::new("application/json", serde_json::to_string(value).unwrap_or_default())
    }
}

/// Packed once, however many ask for it.
fn packed(body: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn send(document: &Document, headers: &HeaderMap) -> Response {
    let known =
        headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let bare = document.etag.trim_start_matches("W/");
    let mut known = known.flat_map(|value| value.split(','));
    let fresh =
        known.any(|one| matches!(one.trim(), "*") || one.trim().trim_start_matches("W/") == bare);
    let text = |value: &str| HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""));
    let head = [
        (header::CACHE_CONTROL, HeaderValue::from_static(MAX_AGE)),
        (header::ETAG, text(&document.etag)),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    if fresh {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    let packed = document.gzip.as_ref().filter(|_| takes_gzip(headers));
    let body = packed.unwrap_or(&document.body).clone();
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(document.kind))];
    let mut response = (head, kind, body).into_response();
    let own = response.headers_mut();
    if packed.is_some() {
        own.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    guard(own, document.kind.starts_with("text/html"));
    response
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists =
        headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|word| {
        let mut parts = word.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|part| matches!(part, "q=0" | "q=0.0"))
    })
}

/// What a browser may do with an answer: run our own script, which is known by its hash, and nothing else; and not
/// frame it. Documents for programs may be read by pages of others.
fn guard(headers: &mut HeaderMap, is_page: bool) {
    let policy = if is_page {
        page_policy()
    } else {
        "default-src 'none'; frame-ancestors 'none'".to_owned()
    };
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !is_page {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
}

const GUARDS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
];

fn page_policy() -> String {
    let hash = |text: &str| {
        format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
    };
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn missing() -> Response {
    plain(StatusCode::NOT_FOUND, page::missing())
}

fn away() -> Response {
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, page::away());
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn plain(status: StatusCode, html: String) -> Response {
    let head =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, MAX_AGE)];
    let mut response = (status, head, html).into_response();
    guard(response.headers_mut(), true);
    response
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

    #[test]
    fn gzip_is_sent_to_whoever_takes_it() {
        let takes = |value: &'static str| {
            takes_gzip(&HeaderMap::from_iter([(
                header::ACCEPT_ENCODING,
                HeaderValue::from_static(value),
            )]))
        };
        assert!(takes("gzip") && takes("br, gzip;q=0.5"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes_gzip(&HeaderMap::new()));
    }
}
