//! Where we look from, and who looks there.

use std::collections::BTreeMap;

use axum::{extract::State, http::StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    agents::Agent,
    auth::{Admin, Viewer},
    error::{ApiError, ApiResult},
    location_health::{
        AgentReferences, Healths, LocationDissent, LocationDoubt, LocationTrust, Shown,
    },
    monitor_form::{parse_labels, text_map},
    request::{At, Json, List, Path, not_null},
};
use crate::{
    domain::{ids::LocationKey, location::health::Trust, monitor::Name},
    store::{self, agents::AgentRow, locations::LocationRow, wake::Change},
    triage::Unfollowed,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_locations, create_location)).routes(routes!(
        get_location,
        change_location,
        delete_location
    ))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Location {
    pub id: Uuid,
    pub name: String,
    /// Continent or user group.
    pub region: String,
    /// What fails together: provider and network.
    pub domain: String,
    pub labels: BTreeMap<String, String>,
    pub enabled: bool,
    /// Runs beside the coordinator under a pretended name: it shares this machine's line.
    pub simulated: bool,
    pub health: LocationHealth,
    /// When it was heard last, while it is offline; since when it is quarantined, in doubt or distrusted.
    pub health_since: Option<At>,
    /// Null: nothing is against it, and enough clean time has passed.
    pub doubt: Option<LocationDoubt>,
    /// Since when it is under review: so many monitors began to fail at once, there or everywhere, that its agents
    /// check their own network anew. Null when they were not asked to within the last half minute.
    pub review_since: Option<At>,
    /// What somebody said of it by hand, while it holds.
    pub trust: Option<LocationTrust>,
    /// By agent that is online; empty with fewer than three references, and then that rule is off.
    pub references: Vec<AgentReferences>,
    /// Monitors that it sees fail while most locations see them up: the first 20, and how many.
    pub dissents: Vec<LocationDissent>,
    pub dissent_count: i64,
    /// Monitors on which its vote is set aside, because it alone has seen them down for a day: the first 20.
    pub divergent: Vec<LocationDissent>,
    pub agents: Vec<Agent>,
    /// How many monitors are looked at from here.
    pub monitors: i64,
    pub created_at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocationHealth {
    /// At least one agent answered within 30 s.
    Online,
    /// Agents are enrolled, none answered within 30 s.
    Offline,
    /// Nobody is enrolled, or nobody has come yet.
    Waiting,
    Disabled,
    /// Its votes do not count.
    Quarantined,
    /// In doubt, but counted: more are than may be set aside, or somebody believes it.
    Impaired,
    /// By hand: its votes do not count.
    Distrusted,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLocation {
    pub name: String,
    /// The name unless given.
    pub region: Option<String>,
    /// The name unless given.
    pub domain: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeLocation {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub region: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub domain: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub enabled: Option<bool>,
}

/// All locations with their agents, in the order they were added.
#[utoipa::path(get, path = "/locations", tag = "locations", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Location>)))]
async fn list_locations(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<Location>>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(List::whole(all(&mut conn, state.clock.now()).await?)))
}

/// Adds a location; monitors that look from everywhere look from it too.
#[utoipa::path(post, path = "/locations", tag = "locations", extensions(("x-role" = json!("admin"))),
    request_body = NewLocation, responses((status = 201, body = Location)))]
async fn create_location(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<NewLocation>,
) -> ApiResult<(StatusCode, Json<Location>)> {
    let now = state.clock.now();
    let name = Name::parse("name", &body.name)?;
    let word = |field, text: Option<&str>| match text {
        Some(text) => Name::parse(field, text),
        None => Ok(name.clone()),
    };
    let (region, domain) =
        (word("region", body.region.as_deref())?, word("domain", body.domain.as_deref())?);
    let labels = json!(parse_labels(body.labels)?);
    let uid = store::id_at(now);
    let new = store::locations::NewLocation {
        uid,
        name: name.as_str(),
        region: region.as_str(),
        domain: domain.as_str(),
        labels: &labels,
        enabled: body.enabled,
        simulated: false,
    };
    let mut tx = state.pool.begin().await?;
    store::locations::lock_set(&mut tx).await?;
    store::locations::insert(&mut tx, &new, now).await?;
    let detail = json!({ "name": new.name, "region": new.region, "domain": new.domain });
    store::audit::add(
        &mut tx,
        now,
        &caller.name,
        "location.create",
        &format!("location:{uid}"),
        &detail,
    )
    .await?;
    state.triage.follow_locations(&mut tx, None, now).await?;
    let location = one(&mut tx, uid, now).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(location)))
}

/// One location.
#[utoipa::path(get, path = "/locations/{id}", tag = "locations", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Location)))]
async fn get_location(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<Location>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(one(&mut conn, id, state.clock.now()).await?))
}

/// Changes a location. A disabled one stops probing, and its votes do not count.
#[utoipa::path(patch, path = "/locations/{id}", tag = "locations", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), request_body = ChangeLocation, responses((status = 200, body = Location)))]
async fn change_location(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<Uuid>,
    Json(body): Json<ChangeLocation>,
) -> ApiResult<Json<Location>> {
    let now = state.clock.now();
    let word = |field, text: &Option<String>| {
        text.as_deref().map(|text| Name::parse(field, text)).transpose()
    };
    let (name, region, domain) =
        (word("name", &body.name)?, word("region", &body.region)?, word("domain", &body.domain)?);
    let labels = body.labels.map(parse_labels).transpose()?.map(|labels| json!(labels));
    let mut tx = state.pool.begin().await?;
    store::locations::lock_set(&mut tx).await?;
    let key = key(&mut tx, id).await?;
    let change = store::locations::Changes {
        name: name.as_ref().map(Name::as_str),
        region: region.as_ref().map(Name::as_str),
        domain: domain.as_ref().map(Name::as_str),
        labels: labels.as_ref(),
        enabled: body.enabled,
    };
    store::locations::update(&mut tx, key, &change).await?;
    let detail = json!({
        "name": change.name, "region": change.region, "domain": change.domain,
        "labels": change.labels, "enabled": change.enabled,
    });
    store::audit::add(
        &mut tx,
        now,
        &caller.name,
        "location.change",
        &format!("location:{id}"),
        &detail,
    )
    .await?;
    state.triage.follow_locations(&mut tx, None, now).await?;
    store::wake::change(&mut tx, &[Change::Location(key)], now).await?;
    let location = one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(location))
}

/// Removes a location and revokes its agents; 409 while a monitor looks from nowhere else.
#[utoipa::path(delete, path = "/locations/{id}", tag = "locations", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn delete_location(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<Uuid>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::locations::lock_set(&mut tx).await?;
    let gone = one(&mut tx, id, now).await?;
    let key = key(&mut tx, id).await?;
    state.triage.follow_locations(&mut tx, Some(key), now).await?;
    store::locations::delete(&mut tx, key, now).await?;
    store::agents::revoke_all(&mut tx, key, now).await?;
    let detail = json!({ "name": gone.name });
    store::audit::add(
        &mut tx,
        now,
        &caller.name,
        "location.delete",
        &format!("location:{id}"),
        &detail,
    )
    .await?;
    store::wake::change(&mut tx, &[Change::Location(key)], now).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An agent that was silent for so long is offline.
pub const OFFLINE: SignedDuration = SignedDuration::from_secs(30);

/// All locations as they are answered.
pub async fn all(conn: &mut PgConnection, now: Timestamp) -> ApiResult<Vec<Location>> {
    let agents = store::agents::list(conn, None).await?;
    let rows = store::locations::list(conn).await?;
    let mut healths = Healths::read(conn, now).await?;
    let shown = rows.into_iter().map(|row| {
        let health = healths.take(row.key);
        shown(row, &agents, health, now)
    });
    Ok(shown.collect())
}

/// Key of a location by id or name; for filters, so that a wrong one is named as `location`.
pub async fn find(conn: &mut PgConnection, word: &str) -> ApiResult<LocationKey> {
    let rows = store::locations::list(conn).await?;
    let found = rows.iter().find(|row| row.name == word || row.uid.to_string() == word);
    found.map(|row| row.key).ok_or_else(|| ApiError::given("location", word, "is no location"))
}

impl From<Unfollowed> for ApiError {
    fn from(why: Unfollowed) -> Self {
        match why {
            Unfollowed::NowhereElse(_) => Self::in_use(why.to_string()),
            Unfollowed::Database(error) => error.into(),
        }
    }
}

/// One location as it is answered.
pub async fn one(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> ApiResult<Location> {
    all(conn, now).await?.into_iter().find(|row| row.id == id).ok_or(ApiError::NotFound("location"))
}

/// Key of a location that is not deleted.
pub async fn key(conn: &mut PgConnection, id: Uuid) -> ApiResult<LocationKey> {
    let rows = store::locations::list(conn).await?;
    rows.iter().find(|row| row.uid == id).map(|row| row.key).ok_or(ApiError::NotFound("location"))
}

fn shown(row: LocationRow, agents: &[AgentRow], found: Shown, now: Timestamp) -> Location {
    let agents: Vec<Agent> = agents
        .iter()
        .filter(|agent| agent.location == row.key)
        .map(|agent| Agent::shown(agent, now))
        .collect();
    let heard = agents.iter().filter_map(|agent| agent.last_seen_at).max();
    let (health, health_since) = if !row.enabled {
        (LocationHealth::Disabled, None)
    } else if let Some(trust) = found.trust.as_ref().filter(|it| it.kind == Trust::Distrust) {
        (LocationHealth::Distrusted, Some(trust.set_at))
    } else if !agents.iter().any(|agent| agent.online) {
        let silent =
            if heard.is_some() { LocationHealth::Offline } else { LocationHealth::Waiting };
        (silent, heard)
    } else if let Some(doubt) = &found.doubt {
        let believed = found.trust.is_some() || doubt.quarantined_since.is_none();
        let health = if believed { LocationHealth::Impaired } else { LocationHealth::Quarantined };
        (health, Some(doubt.quarantined_since.filter(|_| !believed).unwrap_or(doubt.since)))
    } else {
        (LocationHealth::Online, None)
    };
    Location {
        id: row.uid,
        name: row.name,
        region: row.region,
        domain: row.domain,
        labels: text_map(&row.labels),
        enabled: row.enabled,
        simulated: row.simulated,
        health,
        health_since,
        doubt: found.doubt,
        review_since: found.review_since,
        trust: found.trust,
        references: found.references,
        dissents: found.dissents,
        dissent_count: found.dissent_count,
        divergent: found.divergent,
        agents,
        monitors: row.monitors,
        created_at: At(row.created_at),
    }
}
