//! The HTTP interface: REST under `/api/v1`, the agents' link under `/agent/v1`, the UI at `/`.
//!
//! A resource is a file with one `router()`; its request and response structs stand beside the
//! handlers. Handlers extract, call and answer. Who may call is a parameter (`auth`), what is wrong is
//! an [`error::ApiError`], and the OpenAPI document is made from the same attributes that make the
//! routes (`openapi`).

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::DefaultBodyLimit,
    http::{HeaderValue, Request, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use sqlx::{PgConnection, postgres::PgPool};
use tokio_util::sync::CancellationToken;
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    trace::TraceLayer,
};
use url::Url;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    clock::Clock,
    intake::Intake,
    notify::Notifier,
    process::health::Health,
    store::{self, seal::Sealer},
    triage::Triage,
};

mod ack_page;
pub mod agent_link;
pub mod agent_stream;
pub mod agents;
pub mod audit;
pub mod auth;
mod callbacks;
pub mod certificates;
pub mod channels;
pub mod error;
pub mod escalations;
pub mod events;
pub mod exposition;
pub mod failover;
pub mod failover_feed;
pub mod failover_now;
pub mod fleet_findings;
pub mod fleet_form;
pub mod fleet_health;
pub mod fleet_instances;
pub mod fleet_logs;
pub mod fleet_metrics;
pub mod fleet_now;
pub mod fleet_sources;
pub mod fleets;
pub mod given;
pub mod health;
mod heartbeat_calls;
pub mod heartbeat_form;
pub mod heartbeats;
pub mod hub;
pub mod incident_acts;
pub mod incident_decisions;
pub mod incident_shown;
pub mod incidents;
pub mod limits;
pub mod location_health;
pub mod locations;
pub mod maintenance;
pub mod maintenance_effect;
pub mod maintenance_form;
pub mod maintenance_occurrences;
pub mod maintenance_shown;
pub mod metrics;
pub mod monitor_form;
pub mod monitor_list;
pub mod monitor_metrics;
pub mod monitor_results;
pub mod monitor_save;
pub mod monitor_shown;
pub mod monitor_state;
pub mod monitor_time;
pub mod monitor_validate;
pub mod monitors;
pub mod odds;
pub mod openapi;
pub mod overview;
pub mod own_health;
pub mod password;
mod plain_page;
pub mod probe_metrics;
pub mod probes;
pub mod public;
pub mod replay;
pub mod replay_shown;
pub mod report_times;
pub mod reports;
pub mod reports_made;
pub mod request;
pub mod routes;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod settings_alerts;
pub mod setup;
pub mod slo_documents;
pub mod slo_exchange;
pub mod slo_exchanged;
pub mod slo_form;
pub mod slo_metrics;
pub mod slo_reports;
pub mod slo_shown;
pub mod slo_simulate;
pub mod slos;
pub mod status_page_form;
pub mod status_pages;
pub mod status_posts;
pub mod status_updates;
pub mod tokens;
pub mod ui;
mod unsubscribe;
pub mod users;
pub mod view;

/// The largest body of a request that is no log and no report batch.
pub const MAX_BODY: usize = 1024 * 1024;

/// How often agents' streams ping.
pub const PING_EVERY: Duration = Duration::from_secs(crate::protocol::BEAT_SECS);

/// What handlers share. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct AppState {
    pub pool: PgPool,
    pub clock: Clock,
    pub sealer: Sealer,
    pub triage: Arc<Triage>,
    pub intake: Arc<Intake>,
    pub notifier: Notifier,
    pub health: Health,
    pub hub: hub::Hub,
    pub config: Arc<ApiConfig>,
    pub limits: limits::Limits,
    pub failover: failover_feed::Memory,
    pub passwords: password::Passwords,
    pub public: public::memory::Memory,
}

/// What the start-up settings say about this interface.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Where people reach us, when it was given at the start; it then wins over the settings page.
    pub public_url: Option<Url>,
    /// `http://LISTEN`, for when nothing else is known.
    pub listen_url: Url,
    /// The mail server came with the start-up settings and wins over the settings page.
    pub mail_fixed: bool,
    /// How often agents' streams ping: [`PING_EVERY`], and faster in tests that need it.
    pub ping_every: Duration,
}

impl AppState {
    /// The hub of this state must be run: `state.hub.clone().run()`. `stopping` ends streams.
    #[expect(clippy::too_many_arguments, reason = "wiring: each part once, in one place")]
    pub fn new(
        pool: PgPool,
        clock: Clock,
        sealer: Sealer,
        triage: Arc<Triage>,
        notifier: Notifier,
        health: Health,
        stopping: CancellationToken,
        config: ApiConfig,
    ) -> Self {
        let hub = hub::Hub::new(pool.clone(), clock.clone(), stopping);
        Self {
            intake: Arc::new(Intake::new(pool.clone())),
            pool,
            clock,
            sealer,
            triage,
            notifier,
            health,
            hub,
            config: Arc::new(config),
            limits: limits::Limits::default(),
            failover: failover_feed::Memory::default(),
            passwords: password::Passwords::default(),
            public: public::memory::Memory::default(),
        }
    }

    /// Where people reach us.
    pub async fn public_url(&self, conn: &mut PgConnection) -> sqlx::Result<Url> {
        if let Some(url) = &self.config.public_url {
            return Ok(url.clone());
        }
        let general = store::settings::get(conn, settings::GENERAL).await?;
        let url = general.and_then(|row| row.value["public_url"].as_str()?.parse().ok());
        Ok(url.unwrap_or_else(|| self.config.listen_url.clone()))
    }
}

/// Fresh random bytes.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::fill(&mut bytes);
    bytes
}

/// All routes with their descriptions.
fn routes() -> OpenApiRouter<AppState> {
    let v1 = OpenApiRouter::new()
        .merge(setup::router())
        .merge(session::router())
        .merge(users::router())
        .merge(tokens::router())
        .merge(monitors::router())
        .merge(monitor_list::router())
        .merge(monitor_validate::router())
        .merge(monitor_state::router())
        .merge(certificates::router())
        .merge(heartbeats::router())
        .merge(monitor_time::router())
        .merge(monitor_results::router())
        .merge(probes::router())
        .merge(odds::router())
        .merge(replay::router())
        .merge(overview::router())
        .merge(events::router())
        .merge(incidents::router())
        .merge(incident_acts::router())
        .merge(incident_decisions::router())
        .merge(fleets::router())
        .merge(fleet_sources::router())
        .merge(fleet_health::router())
        .merge(fleet_instances::router())
        .merge(fleet_logs::router())
        .merge(fleet_findings::router())
        .merge(slos::router())
        .merge(slo_reports::router())
        .merge(slo_documents::router())
        .merge(slo_exchange::router())
        .merge(reports::router())
        .merge(report_times::router())
        .merge(reports_made::router())
        .merge(slo_simulate::router())
        .merge(failover::router())
        .merge(failover_now::router())
        .merge(status_pages::router())
        .merge(status_posts::router())
        .merge(status_updates::router())
        .merge(channels::router())
        .merge(escalations::router())
        .merge(routes::router())
        .merge(settings::router())
        .merge(settings_alerts::router())
        .merge(secrets::router())
        .merge(locations::router())
        .merge(location_health::router())
        .merge(agents::router())
        .merge(maintenance::router())
        .merge(maintenance_occurrences::router())
        .merge(maintenance_effect::router())
        .merge(audit::router())
        .merge(health::router())
        .merge(openapi::router());
    OpenApiRouter::new().nest("/api/v1", v1)
}

/// Everything that is served.
pub fn router(state: AppState) -> Router {
    let (v1, _) = routes().split_for_parts();
    // The outermost layer stands last: a request gets its id before anything is said about it.
    let routes = v1
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn(request::refuse_encoded))
        .merge(agent_link::router())
        .merge(unsubscribe::router())
        .merge(ack_page::router())
        .merge(callbacks::router())
        .merge(failover_feed::router())
        .merge(heartbeat_calls::router())
        .merge(public::router())
        .merge(metrics::router())
        .layer(middleware::from_fn_with_state(state.clone(), auth::same_origin))
        .layer(middleware::from_fn(no_store))
        .layer(CompressionLayer::new())
        .method_not_allowed_fallback(async || error::ApiError::Method)
        .fallback_service(ui::fallback().with_state(state.clone()))
        .layer(middleware::from_fn_with_state(state.clone(), public::by_host))
        .layer(CatchPanicLayer::custom(after_panic))
        .layer(TraceLayer::new_for_http().make_span_with(span).on_failure(()))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(NewRequestId));
    routes.with_state(state)
}

/// Ids of requests, for finding them in the log again.
#[derive(Clone, Copy)]
struct NewRequestId;

impl MakeRequestId for NewRequestId {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        let id = hex::encode(random::<8>());
        HeaderValue::from_str(&id).ok().map(RequestId::new)
    }
}

/// A span of the highest level, so that an error names its request however little is logged. The path
/// only: queries, one-time links and the addresses of jobs hold what does not belong into a log.
fn span<B>(request: &Request<B>) -> tracing::Span {
    let path = request.uri().path();
    let path = path.split("/setup/").next().unwrap_or(path);
    let path = if path.starts_with("/hb/") { "/hb/" } else { path };
    let id =
        request.headers().get("x-request-id").and_then(|v| v.to_str().ok()).unwrap_or_default();
    tracing::error_span!("request", method = %request.method(), path, id)
}

fn after_panic(panic: Box<dyn std::any::Any + Send>) -> Response {
    let said = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it said nothing");
    error::ApiError::Internal(anyhow::anyhow!("a handler panicked: {said}")).into_response()
}

/// What the API answers is somebody's, and true for a moment only.
async fn no_store(request: Request<Body>, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
