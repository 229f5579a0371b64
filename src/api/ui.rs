//! The web UI: built by `web/`, embedded in the binary, served at every path that is nobody else's.
//!
//! A development build reads `web/dist` from the disk, so that a new UI needs no new binary.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, any},
};
use rust_embed::{EmbeddedFile, RustEmbed};
use tower_http::compression::CompressionLayer;

use super::{AppState, error::ApiError};

#[derive(RustEmbed)]
#[folder = "web/dist"]
#[allow_missing = true]
struct Files;

const INDEX: &str = "index.html";

/// Everything comes from here, and nothing frames us. Styles may stand in the page, because the
/// component library sets some that way. No address is told to other sites: a sign-in link is one.
const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
             base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

/// The fallback of all routes.
pub fn fallback() -> MethodRouter<AppState> {
    any(serve).layer(CompressionLayer::new())
}

async fn serve(request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    if is_machine_path(path) {
        return ApiError::NotFound("route").into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    let mut response = find(path, request.headers());
    response.headers_mut().extend(HEADERS);
    response
}

/// Programs get an error they can read, never the page.
fn is_machine_path(path: &str) -> bool {
    ["api", "agent", "hb", "failover", "status", "badge"].iter().any(|root| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn find(path: &str, headers: &HeaderMap) -> Response {
    if let Some(file) = Files::get(path).filter(|_| path != INDEX) {
        return send(path, &file, headers);
    }
    // The pages' own addresses have no file; they are all the one page, which reads its address.
    if path.rsplit('/').next().is_some_and(|last| last.contains('.')) && path != INDEX {
        return (StatusCode::NOT_FOUND, "There is no such file.\n").into_response();
    }
    match Files::get(INDEX) {
        Some(file) => send(INDEX, &file, headers),
        None => (
            StatusCode::SERVICE_UNAVAILABLE,
            "This binary was built without the web pages. Run `make ui` and build it again.\n",
        )
            .into_response(),
    }
}

fn send(path: &str, file: &EmbeddedFile, headers: &HeaderMap) -> Response {
    // Names under assets/ hold a hash of the content; everything else is asked for each time.
    let cache = if path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let tag = format!("\"{}\"", hex::encode(&file.metadata.sha256_hash()[..12]));
    let known = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|one| one.trim().trim_start_matches("W/") == tag));
    let head = [
        (header::CONTENT_TYPE, file.metadata.mimetype().to_owned()),
        (header::CACHE_CONTROL, cache.to_owned()),
        (header::ETAG, tag),
    ];
    if known {
        (StatusCode::NOT_MODIFIED, head).into_response()
    } else {
        (head, file.data.clone().into_owned()).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_never_get_the_page() {
        for path in ["api", "api/v1/nothing", "agent/v1/stream"] {
            assert!(is_machine_path(path), "{path}");
        }
        for path in ["", "monitors/1", "apiary", "agents", "setup/qrl_x"] {
            assert!(!is_machine_path(path), "{path}");
        }
    }

    #[test]
    fn a_missing_file_is_not_the_page() {
        let none = HeaderMap::new();
        assert_eq!(find("assets/none.js", &none).status(), StatusCode::NOT_FOUND);
        let page = find("monitors/1", &none).status();
        assert!(page == StatusCode::OK || page == StatusCode::SERVICE_UNAVAILABLE, "{page}");
    }
}
