//! Monitors: what is watched. Saving one is a single transaction that also tells the agents.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::ApiResult,
    request::{At, Json, List, Path, Query, present},
    setup::later,
};
use crate::domain::monitor::PolicySpec;

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_monitors, create_monitor))
        .routes(routes!(validate_monitor))
        .routes(routes!(get_monitor, change_monitor, delete_monitor))
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
    /// The check with its secrets replaced by `"•••"`; sending it back unchanged keeps them.
    #[schema(value_type = Object)]
    pub check: serde_json::Value,
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
    pub fleet: Option<String>,
    /// Ids of channels; null means the default channels.
    pub channels: Option<Vec<Uuid>>,
    pub escalation: Option<String>,
    pub runbook_url: Option<String>,
    /// False is paused.
    pub enabled: bool,
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
    /// `majority`, `at_least 3`, `60 %`, `all`, `any`
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
    #[schema(value_type = Object)]
    pub check: serde_json::Value,
    /// 10 to 86,400; 60 unless given.
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
    pub fleet: Option<String>,
    /// Ids or names; null means the default channels.
    pub channels: Option<Vec<String>>,
    pub escalation: Option<String>,
    pub runbook_url: Option<String>,
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

/// What is left out stays; null resets to what a new monitor would have.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMonitor {
    pub name: Option<String>,
    pub group: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub check: Option<serde_json::Value>,
    pub interval_s: Option<u32>,
    pub timeout_s: Option<f64>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub slow_ms: Option<Option<u32>>,
    #[schema(value_type = Option<Locations>)]
    pub locations: Option<serde_json::Value>,
    /// Replaces the whole policy.
    pub policy: Option<PolicySpec>,
    pub labels: Option<BTreeMap<String, String>>,
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
    #[schema(value_type = Option<String>)]
    pub runbook_url: Option<Option<String>>,
    /// False pauses: probing stops, an open incident is resolved with that reason.
    pub enabled: Option<bool>,
}

/// A monitor to look at without storing it.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateMonitor {
    /// The monitor that is being edited: its own name is free, its stored secrets stand in for `"•••"`.
    pub id: Option<Uuid>,
    /// As for `POST /monitors`.
    #[schema(value_type = NewMonitor)]
    pub monitor: serde_json::Value,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Validation {
    pub valid: bool,
    /// Every field that would be refused.
    pub errors: Vec<FieldError>,
    /// Present when the policy can be worked out.
    pub policy_in_force: Option<PolicyInForce>,
    /// The locations it would be looked at from.
    pub looks_from: Vec<LocationRef>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FieldError {
    pub field: String,
    pub message: String,
}

/// One row of the monitors list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MonitorRow {
    pub id: Uuid,
    pub name: String,
    pub group: String,
    pub labels: BTreeMap<String, String>,
    /// Check kind: `http`, …
    pub kind: String,
    /// What is probed, as people know it: the URL or host and port.
    pub target: String,
    pub interval_s: u32,
    pub enabled: bool,
    pub state: MonitorState,
    pub since: At,
    /// Low confidence.
    pub low: bool,
    pub evidence_stale: bool,
    pub flapping: bool,
    /// Inside a maintenance window now.
    pub maintenance: bool,
    /// The open incident.
    pub incident: Option<Uuid>,
    /// The latest result of any location.
    pub last_at: Option<At>,
    /// Of the latest pass, milliseconds.
    pub last_latency_ms: Option<f64>,
    /// One seat per configured location, in order.
    pub seats: Vec<Seat>,
    /// The last 24 hours as intervals without a gap, oldest first.
    pub strip: Vec<StripPiece>,
    pub revision: i32,
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

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct StripPiece {
    pub from: At,
    pub to: At,
    /// Null: nothing is known, because it did not exist yet.
    pub state: Option<MonitorState>,
    pub evidence_stale: bool,
    pub low: bool,
    /// Quorate itself did not run.
    pub not_running: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListMonitors {
    /// States, separated by commas.
    pub state: Option<String>,
    /// Exactly this group.
    pub group: Option<String>,
    /// Part of name, group or target.
    pub q: Option<String>,
    /// `key` or `key=value`.
    pub label: Option<String>,
    /// Id or name of a location it is looked at from.
    pub location: Option<String>,
    /// `name` (unless given), or `state`: the worst first.
    pub sort: Option<MonitorSort>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MonitorSort {
    Name,
    State,
}

/// Monitors that match every filter.
#[utoipa::path(get, path = "/monitors", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    params(ListMonitors), responses((status = 200, body = List<MonitorRow>)))]
async fn list_monitors(
    State(_state): State<AppState>,
    _caller: Viewer,
    Query(_query): Query<ListMonitors>,
) -> ApiResult<Json<List<MonitorRow>>> {
    later()
}

/// Adds a monitor; every location probes it at once.
#[utoipa::path(post, path = "/monitors", tag = "monitors", extensions(("x-role" = json!("editor"))),
    request_body = NewMonitor, responses((status = 201, body = Monitor, headers(("etag" = String)))))]
async fn create_monitor(
    State(_state): State<AppState>,
    _caller: Editor,
    Json(_body): Json<NewMonitor>,
) -> ApiResult<Response> {
    later()
}

/// Says what would be refused, field by field, and stores nothing.
#[utoipa::path(post, path = "/monitors/validate", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    request_body = ValidateMonitor, responses((status = 200, body = Validation)))]
async fn validate_monitor(
    State(_state): State<AppState>,
    _caller: Viewer,
    Json(_body): Json<ValidateMonitor>,
) -> ApiResult<Json<Validation>> {
    later()
}

/// One monitor with its settings.
#[utoipa::path(get, path = "/monitors/{id}", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Monitor, headers(("etag" = String)))))]
async fn get_monitor(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<Response> {
    later()
}

/// Changes a monitor. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/monitors/{id}", tag = "monitors", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = ChangeMonitor, responses((status = 200, body = Monitor, headers(("etag" = String)))))]
async fn change_monitor(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
    _headers: HeaderMap,
    Json(_body): Json<ChangeMonitor>,
) -> ApiResult<Response> {
    later()
}

/// Deletes a monitor; an open incident is resolved with that reason. Its history stays in the audit.
#[utoipa::path(delete, path = "/monitors/{id}", tag = "monitors", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn delete_monitor(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
) -> ApiResult<StatusCode> {
    later()
}
