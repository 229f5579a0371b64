//! `/metrics` for Prometheus: for administrators' tokens, or on a listener of its own without one.

use std::sync::atomic::AtomicU64;

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::ConstCounter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{
    AppState,
    auth::{self, Role},
    error::{ApiError, ApiResult},
    monitors::MonitorState,
};
use crate::store;

/// On the main listener: administrators only.
pub fn router() -> Router<AppState> {
    Router::new().route("/metrics", get(guarded))
}

/// On a listener of its own, without a token.
pub fn open_router(state: AppState) -> Router {
    Router::new().route("/metrics", get(open)).with_state(state)
}

async fn guarded(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    let caller = auth::caller(&headers, &state).await?;
    if caller.role < Role::Admin {
        return Err(ApiError::Forbidden("This needs the role admin.".into()));
    }
    render(&state).await
}

async fn open(State(state): State<AppState>) -> ApiResult<Response> {
    render(&state).await
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LocationLabel {
    location: String,
}

async fn render(state: &AppState) -> ApiResult<Response> {
    let mut registry = Registry::with_prefix("quorate");
    process(&mut registry, state);
    // Without a database the rest is unknown, and absent rather than stale.
    let away = database(&mut registry, state).await.is_err();
    gauge(
        &mut registry,
        "database_up",
        "Whether the database answered for this page",
        i64::from(!away),
    );
    let mut text = String::new();
    encode(&mut text, &registry).map_err(anyhow::Error::from)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store")], text).into_response())
}

fn process(registry: &mut Registry, state: &AppState) {
    gauge(registry, "live", "Whether every work loop moves", i64::from(state.health.is_live()));
    gauge(
        registry,
        "ready",
        "Whether requests should come here",
        i64::from(state.health.is_ready()),
    );
    gauge(registry, "pool_connections", "Database connections open", state.pool.size().into());
    let idle = i64::try_from(state.pool.num_idle()).unwrap_or(i64::MAX);
    gauge(registry, "pool_idle", "Database connections without work", idle);
    let sent = state.notifier.counts();
    for (name, help, value) in [
        ("notice_attempts", "Attempts to deliver a notice", sent.attempts),
        ("notices_delivered", "Notices that were taken", sent.delivered),
        ("notices_retried", "Attempts that failed and are repeated", sent.retried),
        ("notices_failed", "Notices that were given up", sent.failed),
        ("notices_dropped", "Notices that nobody needs any more", sent.dropped),
        ("notices_collapsed", "Notices told as part of a later one", sent.collapsed),
        ("notice_leases_lost", "Attempts that ended after their lease", sent.lost_leases),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
}

async fn database(registry: &mut Registry, state: &AppState) -> ApiResult<()> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let age = |at: jiff::Timestamp| now.duration_since(at).as_secs_f64().max(0.0);
    let monitors = Family::<StateLabel, Gauge>::default();
    for (code, count) in store::monitor_list::counts(&mut conn).await? {
        monitors
            .get_or_create(&StateLabel { state: MonitorState::from_code(code).word() })
            .set(count);
    }
    registry.register("monitors", "Monitors by state", monitors);
    let numbers = store::health_read::numbers(&mut conn, now).await?;
    for (name, help, value) in [
        ("agents_online", "Agents heard within 30 s", numbers.online_agents),
        ("agents_enrolled", "Agents that are not revoked", numbers.enrolled_agents),
        ("reports_spooled", "Results that wait on agents' disks", numbers.spooled_reports),
        (
            "reports_dropped",
            "Results lost to full spools since the agents' starts",
            numbers.dropped_reports,
        ),
        ("incidents_open", "Incidents that are open", numbers.open_incidents),
        ("database_bytes", "Size of the database", numbers.database_bytes),
    ] {
        gauge(registry, name, help, value);
    }
    let online = Family::<LocationLabel, Gauge>::default();
    for location in store::triage_read::locations(&mut conn, now).await? {
        online
            .get_or_create(&LocationLabel { location: location.name })
            .set(location.online.into());
    }
    registry.register(
        "location_online",
        "Whether an agent of the location was heard within 30 s",
        online,
    );
    super::fleet_metrics::register(registry, &mut conn, now).await?;
    let backlog = store::outbox::backlog(&mut conn, now).await?;
    gauge(registry, "notices_waiting", "Notices that are not settled", backlog.unsettled);
    let oldest = backlog.oldest_untried.map_or(0.0, age);
    seconds(
        registry,
        "notice_oldest_due_seconds",
        "How long the oldest due notice has waited for its first attempt",
        oldest,
    );
    if let Some(sweep) = store::chores::sweep(&mut conn).await? {
        seconds(
            registry,
            "sweep_age_seconds",
            "Since overdue monitors were looked at",
            age(sweep.sweep_at),
        );
    }
    Ok(())
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: i64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn seconds(registry: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge = Gauge::<f64, AtomicU64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}
