//! How a document of a page is sent: packed once, known by its tag, and with what a browser may do with it.

use std::io::Write;

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::memory::Document;
use crate::publish::status::{SCRIPT, STYLE, page};

/// How long others may keep an answer, in seconds.
const MAX_AGE: &str = "public, max-age=10";

impl Document {
    pub(super) fn new(kind: &'static str, text: String) -> Self {
        let etag = format!("W/\"{}\"", hex::encode(&Sha256::digest(text.as_bytes())[..12]));
        let gzip = packed(text.as_bytes());
        Self { kind, body: Bytes::from(text), gzip, etag }
    }

    pub(super) fn json(value: &impl Serialize) -> Self {
        Self::new("application/json", serde_json::to_string(value).unwrap_or_default())
    }
}

/// Packed once, however many ask for it.
fn packed(body: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

pub(super) fn send(document: &Document, headers: &HeaderMap) -> Response {
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

pub(super) fn missing() -> Response {
    plain(StatusCode::NOT_FOUND, page::missing())
}

pub(super) fn away() -> Response {
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, page::away());
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn plain(status: StatusCode, html: String) -> Response {
    let head =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, MAX_AGE)];
    let mut response = (status, head, html).into_response();
    guard(response.headers_mut(), true);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

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
