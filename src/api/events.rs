//! What changed, as it changes, for the UI.

use axum::{extract::State, response::Response};
use serde::Serialize;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{AppState, auth::Viewer, error::ApiResult, request::At, setup::later};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(stream_events))
}

/// The data of an event named `change`. An event named `hello`, with the same fields, opens the stream;
/// a comment every 15 s keeps it open.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Change {
    pub now: At,
    /// Monitors whose state changed or whose settings were saved.
    pub monitors: Vec<Uuid>,
    /// Incidents that were opened, moved, acknowledged or resolved.
    pub incidents: Vec<Uuid>,
    /// Locations or agents came, went or were changed.
    pub locations: bool,
    /// Results have arrived since the last event.
    pub results: bool,
}

/// Server-sent events: what to load again.
#[utoipa::path(get, path = "/events", tag = "overview", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = Change, content_type = "text/event-stream")))]
async fn stream_events(State(_state): State<AppState>, _caller: Viewer) -> ApiResult<Response> {
    later()
}
