//! Pages for people who come by a link in a message and are not signed in: a heading, a few words, a button.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/24px sans-serif;max-width:36em;\
margin:15vh auto;padding:0 16px}button{font:inherit;padding:10px 16px}";

/// Nothing of it is kept by caches or told to other sites.
pub(super) fn page(status: StatusCode, title: &str, body: &Markup) -> Response {
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta name="robots" content="noindex";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { h1 { (title) } (body) }
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
        ),
    ];
    (status, headers, html.into_string()).into_response()
}
