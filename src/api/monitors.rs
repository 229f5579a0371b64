//! Monitors: what is watched. Saving one is a single transaction that also tells the agents.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitor_form::{self, Draft, Outcome},
    monitor_save,
    monitor_shown::{load, merged},
    request::{At, Json, Path, not_null, present},
    routes::ToldBy,
};
use crate::{
    domain::{
        check::{Check, Warning},
        monitor::PolicySpec,
    },
    store,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create_monitor)).routes(routes!(
        get_monitor,
        change_monitor,
        delete_monitor
    ))
}

/// What a monitor is in, severity rising from up to down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MonitorState {
    Pending,
    Up,
    Degraded,
    Partial,
    Down,
    Unknown,
    Paused,
}

/// Where a monitor is looked at from: `"all"`, a list of names or ids, or labels that must all match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Locations {
    /// `"all"`
    All(AllWord),
    Listed(Vec<String>),
    Labelled(LocationLabels),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllWord {
    All,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct LocationLabels {
    pub labels: BTreeMap<String, String>,
}

/// A monitor with everything that was set.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Monitor {
    pub id: Uuid,
    pub name: String,
    pub group: String,
    /// The check with `(hidden)` for secrets that were typed in; sending it back unchanged keeps them.
    #[schema(value_type = Check)]
    pub check: serde_json::Value,
    /// Of a heartbeat no more than five minutes, and not how often it calls, which its check says.
    pub interval_s: u32,
    pub timeout_s: f64,
    /// A pass slower than this counts as slow; null switches the rule off.
    pub slow_ms: Option<u32>,
    pub locations: Locations,
    /// As it was written: a preset and what overrides it.
    pub policy: PolicySpec,
    /// With every number in place.
    pub policy_in_force: PolicyInForce,
    /// The locations it is looked at from now, in order.
    pub looks_from: Vec<LocationRef>,
    pub labels: BTreeMap<String, String>,
    /// Ids of monitors whose outage explains this one's.
    pub depends_on: Vec<Uuid>,
    /// Id of the fleet behind it.
    pub fleet: Option<String>,
    /// Ids of channels; null means the default channels.
    pub channels: Option<Vec<Uuid>>,
    /// Id of the escalation that it names itself.
    pub escalation: Option<Uuid>,
    /// Days before the end of a certificate at which people are told; null means those of the settings.
    pub certificate_days: Option<Vec<u16>>,
    /// Who is told, and by whose word: the monitor's own, a route's, or the default.
    pub told_by: ToldBy,
    pub runbook_url: Option<String>,
    /// False is paused.
    pub enabled: bool,
    /// What is allowed but probably not meant.
    pub warnings: Vec<Warning>,
    pub state: MonitorState,
    pub since: At,
    pub check_version: i32,
    /// Rises with every edit; also the ETag.
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct LocationRef {
    pub id: Uuid,
    pub name: String,
    pub region: String,
    pub domain: String,
    pub simulated: bool,
}

/// Every number of a policy; spans in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct PolicyInForce {
    /// `majority`, `at_least 3`, `percent 60`, `all`, `any`
    pub quorum: String,
    pub fail_after: u32,
    pub pass_after: u32,
    pub retry_gap_s: f64,
    pub pass_gap_s: f64,
    pub min_separation_s: f64,
    pub stale_after_s: f64,
    pub min_agree: u32,
    pub min_domains: u32,
    pub min_regions: u32,
    pub partial_min: u32,
    pub confirm_for_s: f64,
    pub split_for_s: f64,
    pub blind_for_s: f64,
    pub recover_for_s: f64,
    pub reopen_within_s: f64,
}

/// A new monitor. Only name and check are needed.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMonitor {
    pub name: String,
    #[serde(default)]
    pub group: String,
    #[schema(value_type = Check)]
    pub check: serde_json::Value,
    /// 10 to 86,400; 60 unless given. A heartbeat has neither this, nor the other settings of probing: time-out,
    /// slow_ms, locations, policy.
    pub interval_s: Option<u32>,
    /// 0.1 to 60; 10 unless given.
    pub timeout_s: Option<f64>,
    pub slow_ms: Option<u32>,
    /// `"all"` (unless given), names or ids, or `{"labels": {…}}`.
    #[schema(value_type = Option<Locations>)]
    pub locations: Option<serde_json::Value>,
    #[serde(default)]
    pub policy: PolicySpec,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Ids or names of monitors.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Id or name of the fleet behind it.
    pub fleet: Option<String>,
    /// Ids or names; null means the default channels.
    pub channels: Option<Vec<String>>,
    pub escalation: Option<String>,
    /// Days before the end of a certificate at which people are told: 1 to 10 different ones, 0 to 3,650; null means
    /// those of the settings.
    pub certificate_days: Option<Vec<i64>>,
    pub runbook_url: Option<String>,
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

/// What is left out stays. Null takes slow_ms, fleet, channels, escalation, certificate_days and runbook_url
/// away; elsewhere it is refused.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMonitor {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub group: Option<String>,
    /// `(hidden)` keeps a secret that was typed in before, as long as it goes to the same place.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(value_type = Option<Check>, nullable = false)]
    pub check: Option<serde_json::Value>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub interval_s: Option<u32>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub timeout_s: Option<f64>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub slow_ms: Option<Option<u32>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(value_type = Option<Locations>, nullable = false)]
    pub locations: Option<serde_json::Value>,
    /// Replaces the whole policy.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub policy: Option<PolicySpec>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub depends_on: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub fleet: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>)]
    pub channels: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub escalation: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<i64>>)]
    pub certificate_days: Option<Option<Vec<i64>>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub runbook_url: Option<Option<String>>,
    /// False pauses: probing stops, an open incident is resolved with that reason.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub enabled: Option<bool>,
}

/// One location's vote as a mark.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Seat {
    pub location: Uuid,
    pub name: String,
    pub vote: VoteWord,
    pub counts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VoteWord {
    None,
    Up,
    Slow,
    Suspect,
    Down,
    Recovering,
}

/// Adds a monitor; every location probes it at once.
#[utoipa::path(post, path = "/monitors", tag = "monitors", extensions(("x-role" = json!("editor"))),
    request_body = NewMonitor, responses((status = 201, body = Monitor, headers(("etag" = String)))))]
async fn create_monitor(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(form): Json<NewMonitor>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::locations::lock_set_shared(&mut tx).await?;
    let draft = first_refusal(monitor_form::read(&mut tx, &state, form, None).await?)?;
    let key = monitor_save::create(&mut tx, &state, &draft, &caller.name, now).await?;
    let monitor = load(&mut tx, key, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, monitor))
}

/// One monitor with its settings.
#[utoipa::path(get, path = "/monitors/{id}", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Monitor, headers(("etag" = String)))))]
async fn get_monitor(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    let key = store::monitors::key(&mut conn, id).await?.ok_or(ApiError::NotFound("monitor"))?;
    let monitor = load(&mut conn, key, state.clock.now()).await?;
    Ok(answer(StatusCode::OK, monitor))
}

/// Changes a monitor. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/monitors/{id}", tag = "monitors", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = ChangeMonitor, responses((status = 200, body = Monitor, headers(("etag" = String)))))]
async fn change_monitor(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<ChangeMonitor>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::locations::lock_set_shared(&mut tx).await?;
    let old = monitor_save::lock(&mut tx, id).await?;
    if_match(&headers, old.revision)?;
    let form = merged(&old, change)?;
    let draft = first_refusal(monitor_form::read(&mut tx, &state, form, Some(&old)).await?)?;
    monitor_save::update(&mut tx, &state, &old, &draft, &caller.name, now).await?;
    let monitor = load(&mut tx, old.key, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, monitor))
}

/// Deletes a monitor; an open incident is resolved with that reason. Its history stays in the audit.
#[utoipa::path(delete, path = "/monitors/{id}", tag = "monitors", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_monitor(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = monitor_save::lock(&mut tx, id).await?;
    if_match(&headers, old.revision)?;
    monitor_save::delete(&mut tx, &state, &old, &caller.name, now).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// One error is answered: the first.
fn first_refusal(outcome: Outcome) -> ApiResult<Draft> {
    let first = outcome.errors.into_iter().next();
    match (first, outcome.draft) {
        (Some(taken), _) if taken.message == monitor_form::TAKEN => {
            Err(ApiError::conflict(&taken.field, taken.message))
        }
        (Some(invalid), _) => Err(invalid.into()),
        (None, Some(draft)) => Ok(draft),
        (None, None) => {
            Err(ApiError::Internal(anyhow::anyhow!("a form was neither taken nor refused")))
        }
    }
}

/// `If-Match` holds the revision that the caller has seen.
pub fn if_match(headers: &HeaderMap, current: i32) -> ApiResult<()> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(()) };
    let seen = value.to_str().unwrap_or_default();
    let fits = seen.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag(current));
    if fits { Ok(()) } else { Err(ApiError::Revision { current }) }
}

pub fn etag(revision: i32) -> String {
    format!("\"{revision}\"")
}

fn answer(status: StatusCode, monitor: Monitor) -> Response {
    (status, [(header::ETAG, etag(monitor.revision))], Json(monitor)).into_response()
}
