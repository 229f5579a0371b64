//! The HTTP interface: REST under `/api/v1`, the agents' link under `/agent/v1`, the UI at `/`.
//!
//! A resource is a file with one `router()`; its request and response structs stand beside the
//! handlers. Handlers extract, call and answer. Who may call is a parameter (`auth`), what is wrong is
//! an [`error::ApiError`], and the OpenAPI document is made from the same attributes that make the
//! routes (`openapi`).

use axum::Router;
use sqlx::postgres::PgPool;
use utoipa_axum::router::OpenApiRouter;

use crate::clock::Clock;

pub mod agents;
pub mod audit;
pub mod auth;
pub mod channels;
pub mod error;
pub mod events;
pub mod health;
pub mod incidents;
pub mod locations;
pub mod maintenance;
pub mod monitor_reads;
pub mod monitors;
pub mod odds;
pub mod openapi;
pub mod overview;
pub mod probes;
pub mod request;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod setup;
pub mod tokens;
pub mod users;

/// The largest body of a request that is no log and no report batch.
pub const MAX_BODY: usize = 1024 * 1024;

/// What handlers share. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct AppState {
    pub pool: PgPool,
    pub clock: Clock,
}

/// All routes with their descriptions.
fn routes() -> OpenApiRouter<AppState> {
    let v1 = OpenApiRouter::new()
        .merge(setup::router())
        .merge(session::router())
        .merge(users::router())
        .merge(tokens::router())
        .merge(monitors::router())
        .merge(monitor_reads::router())
        .merge(probes::router())
        .merge(odds::router())
        .merge(overview::router())
        .merge(events::router())
        .merge(incidents::router())
        .merge(channels::router())
        .merge(settings::router())
        .merge(secrets::router())
        .merge(locations::router())
        .merge(agents::router())
        .merge(maintenance::router())
        .merge(audit::router())
        .merge(health::router())
        .merge(openapi::router());
    OpenApiRouter::new().nest("/api/v1", v1)
}

/// Everything that is served.
pub fn router(state: AppState) -> Router {
    let (router, _) = routes().split_for_parts();
    router.with_state(state)
}
