//! `/livez`, `/readyz` and `/startupz`, and what they rest on for those who may know.

use std::fmt::Write;

use axum::{
    Router,
    extract::{FromRequestParts, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};

use super::{AppState, auth::Viewer};
use crate::process::health::{self, Check};

/// The three answers. `?verbose` names each check to callers who are signed in; everybody else gets
/// the plain answer, and no look into the database.
pub fn router(state: AppState) -> Router {
    let routes = state.health.routes();
    routes.layer(middleware::from_fn_with_state(state, explain))
}

async fn explain(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let verbose = query.split('&').any(|word| word == "verbose" || word.starts_with("verbose="));
    let checks = match request.uri().path() {
        "/livez" if verbose => state.health.live_checks(),
        "/readyz" if verbose => state.health.ready_checks(),
        _ => return next.run(request).await,
    };
    let (mut parts, body) = request.into_parts();
    if Viewer::from_request_parts(&mut parts, &state).await.is_err() {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let plain = health::respond(checks.iter().all(|check| check.ok));
    let (parts, _) = plain.into_parts();
    (parts.status, parts.headers, list(&checks)).into_response()
}

fn list(checks: &[Check]) -> String {
    let mut text = String::new();
    for Check { name, ok, text: what } in checks {
        let mark = if *ok { "ok" } else { "no" };
        let _ = writeln!(text, "{mark} {name}: {what}");
    }
    text
}
