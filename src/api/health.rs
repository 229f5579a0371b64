//! Quorate's own health, for the foot of the rail.

use axum::extract::State;
use serde::Serialize;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    locations::{Location, LocationHealth},
    request::{At, Json},
};
use crate::store::{self, health_read::Numbers, hub::CoordinatorRow};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_health))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Health {
    pub ok: bool,
    pub now: At,
    pub version: String,
    /// What is wrong, one sentence each, the worst first; empty when all is well.
    pub problems: Vec<Problem>,
    pub coordinators: Vec<Coordinator>,
    /// Since the last sweep, which runs every second; null before the first.
    pub sweep_age_ms: Option<i64>,
    /// Deadlines are lenient until then, after a stretch without a sweep.
    pub grace_until: Option<At>,
    pub agents: AgentCounts,
    pub notices: NoticeHealth,
    pub mail_configured: bool,
    /// Channels that are enabled.
    pub channels: i64,
    /// Locations that run beside the coordinator.
    pub simulated_locations: i64,
    pub database_bytes: i64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// `sweep_late notices_late notices_failed agents_offline no_agents channel_disabled
    /// no_channels no_mail clock_offset`
    pub code: String,
    pub message: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Coordinator {
    pub id: Uuid,
    pub started_at: At,
    pub seen_at: At,
    pub version: String,
    /// Its clock minus the database's.
    pub clock_offset_ms: i32,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AgentCounts {
    pub online: i64,
    /// Enrolled and not revoked.
    pub enrolled: i64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NoticeHealth {
    /// Not settled yet.
    pub waiting: i64,
    /// How long the oldest one that is due has waited for its first attempt.
    pub oldest_due_ms: Option<i64>,
    /// Given up within the last 24 h.
    pub failed_24h: i64,
}

/// How Quorate itself is.
#[utoipa::path(get, path = "/health", tag = "about", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = Health)))]
async fn get_health(State(state): State<AppState>, _viewer: Viewer) -> ApiResult<Json<Health>> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let sweep = store::chores::sweep(&mut conn).await?;
    let backlog = store::outbox::backlog(&mut conn, now).await?;
    let numbers = store::health_read::numbers(&mut conn, now).await?;
    let coordinators = store::hub::coordinators(&mut conn, now).await?;
    let mail = state.config.mail_fixed
        || store::settings::get(&mut conn, super::settings::MAIL).await?.is_some();
    let locations = super::locations::all(&mut conn, now).await?;
    let age = |at: jiff::Timestamp| (now.as_millisecond() - at.as_millisecond()).max(0);
    let mut health = Health {
        ok: true,
        now: At(now),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        problems: Vec::new(),
        coordinators: coordinators.into_iter().map(Coordinator::from).collect(),
        sweep_age_ms: sweep.as_ref().map(|row| age(row.sweep_at)),
        grace_until: sweep.and_then(|row| row.grace_until).filter(|until| *until > now).map(At),
        agents: AgentCounts { online: numbers.online_agents, enrolled: numbers.enrolled_agents },
        notices: NoticeHealth {
            waiting: backlog.unsettled,
            oldest_due_ms: backlog.oldest_untried.map(age),
            failed_24h: numbers.failed_notices_24h,
        },
        mail_configured: mail,
        channels: numbers.enabled_channels,
        simulated_locations: numbers.simulated_locations,
        database_bytes: numbers.database_bytes,
    };
    health.problems = problems(&health, &numbers, &locations);
    health.ok = health.problems.is_empty();
    Ok(Json(health))
}

/// What is wrong, the worst first.
fn problems(health: &Health, numbers: &Numbers, locations: &[Location]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut say = |code: &str, message: String| {
        problems.push(Problem { code: code.to_owned(), message });
    };
    if health.sweep_age_ms.is_none_or(|age| age > 15_000) {
        say(
            "sweep_late",
            "No coordinator has looked at overdue monitors for 15 s: silence is not noticed."
                .into(),
        );
    }
    if let Some(age) = health.notices.oldest_due_ms.filter(|age| *age > 120_000) {
        say(
            "notices_late",
            format!("An alert has waited for {} s without being sent.", age / 1_000),
        );
    }
    if health.notices.failed_24h > 0 {
        let count = health.notices.failed_24h;
        let what = if count == 1 { "alert was".to_owned() } else { "alerts were".to_owned() };
        say("notices_failed", format!("{count} {what} given up within 24 h; see the channels."));
    }
    let offline: Vec<&str> = locations
        .iter()
        .filter(|location| location.health == LocationHealth::Offline)
        .map(|location| location.name.as_str())
        .collect();
    if !offline.is_empty() {
        say("agents_offline", format!("No agent answers at {}.", offline.join(", ")));
    }
    if health.agents.online == 0 {
        say("no_agents", "No agent is online: nothing is probed.".into());
    }
    if numbers.disabled_channels > 0 {
        say("channel_disabled", "A channel has switched itself off; see Alerting.".into());
    }
    if health.channels == 0 {
        say("no_channels", "No channel is set up: nobody would be told.".into());
    } else if numbers.mail_channels > 0 && !health.mail_configured {
        say("no_mail", "No mail server is set up: mail channels cannot send.".into());
    }
    if numbers.clocks_off > 0 {
        say("clock_offset", "The clock of an agent is off by more than 2 s; see Locations.".into());
    }
    if health.coordinators.iter().any(|one| one.clock_offset_ms.abs() > 1_000) {
        say(
            "clock_offset",
            "The clock of a coordinator differs from the database's by more than 1 s.".into(),
        );
    }
    problems
}

impl From<CoordinatorRow> for Coordinator {
    fn from(row: CoordinatorRow) -> Self {
        Self {
            id: row.id,
            started_at: At(row.started_at),
            seen_at: At(row.seen_at),
            version: row.version,
            clock_offset_ms: row.clock_offset_ms,
        }
    }
}
