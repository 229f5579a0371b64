//! Agents: enrolled by a token that is shown once, revoked at once.

use axum::{extract::State, http::StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Viewer},
    error::{ApiError, ApiResult},
    locations::OFFLINE,
    request::{At, Json, List, Path},
};
use crate::{
    domain::token::KeyKind,
    store::{self, agents::AgentRow, wake::Change},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_agents, create_agent)).routes(routes!(revoke_agent))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Agent {
    pub id: Uuid,
    pub location: Uuid,
    pub online: bool,
    pub created_at: At,
    /// Null until it has come for the first time.
    pub first_seen_at: Option<At>,
    pub last_seen_at: Option<At>,
    pub version: Option<String>,
    /// Its wall clock minus ours; more than 2,000 either way is worth mending.
    pub clock_offset_ms: Option<i32>,
    pub in_flight: Option<i32>,
    /// Reports that wait on its disk.
    pub spool: Option<i32>,
    /// Reports lost to a full spool.
    pub dropped: i64,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// Id or name of the location.
    pub location: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CreatedAgent {
    pub agent: Agent,
    /// `qra_…`, shown this once.
    pub secret: String,
    /// Ready to paste on the machine that shall probe.
    pub command: String,
}

/// Agents that are not revoked.
#[utoipa::path(get, path = "/agents", tag = "locations", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Agent>)))]
async fn list_agents(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<Agent>>> {
    let now = state.clock.now();
    let rows = store::agents::list(&mut *state.pool.acquire().await?, None).await?;
    Ok(Json(List::whole(rows.iter().map(|row| Agent::shown(row, now)).collect())))
}

/// Enrols an agent for a location.
#[utoipa::path(post, path = "/agents", tag = "locations", extensions(("x-role" = json!("admin"))),
    request_body = NewAgent, responses((status = 201, body = CreatedAgent)))]
async fn create_agent(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<NewAgent>,
) -> ApiResult<(StatusCode, Json<CreatedAgent>)> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let location = super::locations::find(&mut tx, &body.location).await?;
    let key = KeyKind::Agent.key(super::random());
    let hash = KeyKind::Agent
        .hash(key.expose())
        .ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    let id = store::id_at(now);
    store::agents::insert(&mut tx, id, location, &hash, now).await?;
    let detail = json!({ "location": body.location });
    store::audit::add(&mut tx, now, &caller.name, "agent.create", &format!("agent:{id}"), &detail)
        .await?;
    let rows = store::agents::list(&mut tx, Some(location)).await?;
    let row = rows.iter().find(|row| row.id == id).ok_or(ApiError::NotFound("agent"))?;
    let agent = Agent::shown(row, now);
    let url = state.public_url(&mut tx).await?;
    tx.commit().await?;
    let command = command(&url, key.expose());
    Ok((StatusCode::CREATED, Json(CreatedAgent { agent, secret: key.into_exposed(), command })))
}

/// Revokes an agent: its link ends at once.
#[utoipa::path(delete, path = "/agents/{id}", tag = "locations", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn revoke_agent(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<Uuid>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let location =
        store::agents::revoke(&mut tx, id, now).await?.ok_or(ApiError::NotFound("agent"))?;
    store::audit::add(
        &mut tx,
        now,
        &caller.name,
        "agent.revoke",
        &format!("agent:{id}"),
        &json!({}),
    )
    .await?;
    store::wake::change(&mut tx, &[Change::Location(location)], now).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What to type on the machine that shall probe. The key goes through the environment, so that it does
/// not show in the list of processes.
fn command(url: &url::Url, key: &str) -> String {
    let address = url.as_str().trim_end_matches('/');
    let insecure = match url.host() {
        Some(url::Host::Domain("localhost")) => "",
        Some(url::Host::Ipv4(ip)) if ip.is_loopback() => "",
        Some(url::Host::Ipv6(ip)) if ip.is_loopback() => "",
        _ if url.scheme() == "http" => " --insecure-http",
        _ => "",
    };
    format!("QUORATE_COORDINATOR_URL={address} QUORATE_AGENT_TOKEN={key} quorate agent{insecure}")
}

impl Agent {
    pub fn shown(row: &AgentRow, now: Timestamp) -> Self {
        Self {
            id: row.id,
            location: row.location_uid,
            online: row.last_seen_at.is_some_and(|at| now.duration_since(at) < OFFLINE),
            created_at: At(row.created_at),
            first_seen_at: row.first_seen_at.map(At),
            last_seen_at: row.last_seen_at.map(At),
            version: row.version.clone(),
            clock_offset_ms: row.clock_offset_ms,
            in_flight: row.in_flight,
            spool: row.spool,
            dropped: row.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_ready_to_paste() {
        let of = |url: &str| command(&url.parse().unwrap(), "qra_x");
        assert_eq!(
            of("https://q.example/"),
            "QUORATE_COORDINATOR_URL=https://q.example QUORATE_AGENT_TOKEN=qra_x quorate agent"
        );
        assert!(!of("http://127.0.0.1:8080").contains("insecure"));
        assert!(of("http://10.0.0.1:8080").ends_with("quorate agent --insecure-http"));
    }
}
