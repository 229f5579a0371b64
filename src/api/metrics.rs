//! `/metrics` for Prometheus: for administrators' tokens, or on a listener of its own without one. Every
//! family is described in `docs/metrics.md`.

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
    routing::get,
};
use jiff::Timestamp;
use sqlx::PgConnection;
use tower_http::compression::CompressionLayer;

use super::{
    AppState,
    auth::{self, Role},
    error::{ApiError, ApiResult},
    exposition::{Exposition, Format, Kind},
    fleet_metrics, monitor_metrics,
    monitors::MonitorState,
    probe_metrics, slo_metrics,
};
use crate::{domain::platform::Cause, store};

/// On the main listener: administrators only.
pub fn router() -> Router<AppState> {
    Router::new().route("/metrics", get(guarded))
}

/// On a listener of its own, without a token.
pub fn open_router(state: AppState) -> Router {
    Router::new().route("/metrics", get(open)).layer(CompressionLayer::new()).with_state(state)
}

async fn guarded(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    let caller = auth::caller(&headers, &state).await?;
    if caller.role < Role::Admin {
        return Err(ApiError::Forbidden("This needs the role admin.".into()));
    }
    Ok(render(&state, &headers).await)
}

async fn open(State(state): State<AppState>, headers: HeaderMap) -> Response {
    render(&state, &headers).await
}

async fn render(state: &AppState, headers: &HeaderMap) -> Response {
    let format = Format::asked_for(headers);
    let mut page = Exposition::new(format);
    process(&mut page, state);
    // Without a database the rest is unknown, and absent rather than stale.
    let mut told = Exposition::new(format);
    let read = database(&mut told, state).await.inspect_err(|error| {
        tracing::warn!(error = format!("{error:?}"), "metrics without what the database holds");
    });
    if read.is_ok() {
        page.append(told);
    }
    page.gauge(
        "quorate_database_up",
        "Whether the database answered for this page",
        number(read.is_ok()),
    );
    let headers =
        [(header::CONTENT_TYPE, format.content_type()), (header::CACHE_CONTROL, "no-store")];
    (headers, page.finish()).into_response()
}

/// 1 or 0.
pub(super) fn number(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

/// Seconds since the epoch.
pub(super) fn stamp(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1e3
}

fn process(page: &mut Exposition, state: &AppState) {
    page.gauge("quorate_live", "Whether every work loop moves", number(state.health.is_live()));
    page.gauge(
        "quorate_ready",
        "Whether requests should come here",
        number(state.health.is_ready()),
    );
    page.gauge("quorate_pool_connections", "Database connections open", state.pool.size().into());
    page.gauge(
        "quorate_pool_idle",
        "Database connections without work",
        state.pool.num_idle() as f64,
    );
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
        page.family(Kind::Counter, &format!("quorate_{name}"), help).add(&[], value as f64);
    }
}

async fn database(page: &mut Exposition, state: &AppState) -> ApiResult<()> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    installation(page, &mut conn, now).await?;
    locations(page, &mut conn, now).await?;
    probe_metrics::write(page, &mut conn, now).await?;
    monitor_metrics::write(page, &mut conn, now).await?;
    slo_metrics::write(page, &mut conn, now).await?;
    fleet_metrics::write(page, &mut conn, now).await
}

async fn installation(
    page: &mut Exposition,
    conn: &mut PgConnection,
    now: Timestamp,
) -> ApiResult<()> {
    let age = |at: Timestamp| now.duration_since(at).as_secs_f64().max(0.0);
    let mut monitors = page.family(Kind::Gauge, "quorate_monitors", "Monitors by state");
    for (code, count) in store::monitor_list::counts(conn).await? {
        monitors.add(&[("state", MonitorState::from_code(code).word())], count as f64);
    }
    let numbers = store::health_read::numbers(conn, now).await?;
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
        page.gauge(&format!("quorate_{name}"), help, value as f64);
    }
    let backlog = store::outbox::backlog(conn, now).await?;
    page.gauge("quorate_notices_waiting", "Notices that are not settled", backlog.unsettled as f64);
    page.gauge(
        "quorate_notice_oldest_due_seconds",
        "How long the oldest due notice has waited for its first attempt",
        backlog.oldest_untried.map_or(0.0, age),
    );
    let day = now - jiff::SignedDuration::from_hours(24);
    page.gauge(
        "quorate_fallback_notices_24h",
        "Notices that no channel took within 2 min, so that the fallback channel was told",
        store::fallback::told_since(conn, day).await? as f64,
    );
    let mut trouble = page.family(
        Kind::Gauge,
        "quorate_trouble",
        "Whether an incident about Quorate itself is open, by its cause",
    );
    for cause in Cause::ALL {
        let open = store::platform::is_open(conn, &cause.subject()).await?;
        trouble.add(&[("cause", cause.word())], number(open));
    }
    if let Some(pinged_at) = store::deadman::get(conn).await?.pinged_at {
        page.gauge(
            "quorate_deadman_ping_timestamp_seconds",
            "When the dead-man ping was sent last",
            stamp(pinged_at),
        );
    }
    if let Some(sweep) = store::chores::sweep(conn).await? {
        page.gauge(
            "quorate_sweep_age_seconds",
            "Since overdue monitors were looked at",
            age(sweep.sweep_at),
        );
    }
    Ok(())
}

async fn locations(
    page: &mut Exposition,
    conn: &mut PgConnection,
    now: Timestamp,
) -> ApiResult<()> {
    let mut up = page.family(
        Kind::Gauge,
        "quorate_location_up",
        "Whether an agent of the location was heard within 30 s",
    );
    for location in store::triage_read::locations(conn, now).await? {
        up.add(&[("location", &location.name)], number(location.online));
    }
    let mut seen = page.family(
        Kind::Gauge,
        "quorate_location_last_seen_timestamp_seconds",
        "When an agent of the location was heard last",
    );
    for (name, at) in store::metrics_read::last_seen(conn).await? {
        seen.add(&[("location", &name)], stamp(at));
    }
    Ok(())
}
