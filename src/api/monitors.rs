//! Monitors: what is watched. Saving one is a single transaction that also tells the agents.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitor_form::{self, Draft, Outcome, text_map},
    monitor_save,
    request::{At, Json, Path, from_json, present},
    view::Surroundings,
};
use crate::{
    domain::{
        Invalid,
        check::{Check, Warning},
        ids::MonitorKey,
        monitor::{LocationSelector, Policy, PolicySpec, Quorum},
    },
    store::{self, monitors::MonitorRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_monitor))
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
    /// The check with `(hidden)` for secrets that were typed in; sending it back unchanged keeps them.
    #[schema(value_type = Check)]
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
    /// `(hidden)` keeps a secret that was typed in before, as long as it goes to the same place.
    #[schema(value_type = Option<Check>)]
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
    /// The monitor that is being edited: its own name is free, its stored secrets stand in for `(hidden)`.
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
    /// What is allowed but probably not meant.
    pub warnings: Vec<Warning>,
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

/// Says what would be refused, field by field, and stores nothing.
#[utoipa::path(post, path = "/monitors/validate", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    request_body = ValidateMonitor, responses((status = 200, body = Validation)))]
async fn validate_monitor(
    State(state): State<AppState>,
    _viewer: Viewer,
    Json(body): Json<ValidateMonitor>,
) -> ApiResult<Json<Validation>> {
    let now = state.clock.now();
    let form = serde_json::to_vec(&body.monitor).map_err(anyhow::Error::from)?;
    let form: NewMonitor = match from_json(&form) {
        Ok(form) => form,
        Err(ApiError::Invalid(invalid)) => return Ok(Json(Validation::refused(vec![invalid]))),
        Err(other) => return Err(other),
    };
    let mut conn = state.pool.acquire().await?;
    let old = match body.id {
        None => None,
        Some(id) => {
            let key = store::monitors::key(&mut conn, id).await?.ok_or(ApiError::NotFound("monitor"))?;
            store::monitors::get(&mut conn, key).await?
        }
    };
    let outcome = monitor_form::read(&mut conn, &state, form, old.as_ref()).await?;
    let around = Surroundings::read(&mut conn, now).await?;
    let warnings = outcome.draft.as_ref().map(|draft| draft.check.lint()).unwrap_or_default();
    Ok(Json(Validation {
        policy_in_force: outcome.policy.as_ref().map(PolicyInForce::from),
        looks_from: around.references(&outcome.looks_from),
        warnings,
        ..Validation::refused(outcome.errors)
    }))
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
        (None, None) => Err(ApiError::Internal(anyhow::anyhow!("a form was neither taken nor refused"))),
    }
}

/// `If-Match` holds the revision that the caller has seen.
fn if_match(headers: &HeaderMap, current: i32) -> ApiResult<()> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(()) };
    let seen = value.to_str().unwrap_or_default();
    let fits = seen.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag(current));
    if fits { Ok(()) } else { Err(ApiError::Revision { current }) }
}

fn etag(revision: i32) -> String {
    format!("\"{revision}\"")
}

fn answer(status: StatusCode, monitor: Monitor) -> Response {
    (status, [(header::ETAG, etag(monitor.revision))], Json(monitor)).into_response()
}

/// A stored monitor with a change on top, as a form again.
fn merged(old: &MonitorRow, change: ChangeMonitor) -> ApiResult<NewMonitor> {
    let v = &old.values;
    let ids = |value: &serde_json::Value| -> ApiResult<Vec<String>> {
        Ok(serde_json::from_value(value.clone()).map_err(anyhow::Error::from)?)
    };
    Ok(NewMonitor {
        name: change.name.unwrap_or_else(|| v.name.clone()),
        group: change.group.unwrap_or_else(|| v.group_name.clone()),
        check: change.check.unwrap_or_else(|| v.check_spec.clone()),
        interval_s: change.interval_s.or(u32::try_from(v.interval_s).ok()),
        timeout_s: change.timeout_s.or(Some(f64::from(v.timeout_ms) / 1_000.0)),
        slow_ms: change.slow_ms.unwrap_or_else(|| v.slow_ms.and_then(|ms| u32::try_from(ms).ok())),
        locations: Some(change.locations.unwrap_or_else(|| v.locations.clone())),
        policy: match change.policy {
            Some(policy) => policy,
            None => serde_json::from_value(v.policy.clone()).map_err(anyhow::Error::from)?,
        },
        labels: change.labels.unwrap_or_else(|| text_map(&v.labels)),
        depends_on: match change.depends_on {
            Some(words) => words,
            None => ids(&v.depends_on)?,
        },
        fleet: change.fleet.unwrap_or_else(|| v.fleet.clone()),
        channels: match change.channels {
            Some(words) => words,
            None => v.channels.as_ref().map(ids).transpose()?,
        },
        escalation: change.escalation.unwrap_or_else(|| v.escalation.clone()),
        runbook_url: change.runbook_url.unwrap_or_else(|| v.runbook_url.clone()),
        enabled: change.enabled.unwrap_or(v.enabled),
    })
}

/// A monitor as it is answered.
pub async fn load(conn: &mut PgConnection, key: MonitorKey, now: Timestamp) -> ApiResult<Monitor> {
    let row = store::monitors::get(conn, key).await?.ok_or(ApiError::NotFound("monitor"))?;
    let around = Surroundings::read(conn, now).await?;
    let mut views = around.views(conn, &[key.0]).await?;
    let view = views.remove(&key).ok_or(ApiError::NotFound("monitor"))?;
    let check = Check::parse(row.values.check_spec).map_err(anyhow::Error::from)?;
    let uids = |value: serde_json::Value| -> ApiResult<Vec<Uuid>> {
        Ok(serde_json::from_value(value).map_err(anyhow::Error::from)?)
    };
    Ok(Monitor {
        id: row.uid,
        name: row.values.name,
        group: row.values.group_name,
        check: check.redacted(),
        interval_s: u32::try_from(row.values.interval_s).unwrap_or_default(),
        timeout_s: f64::from(row.values.timeout_ms) / 1_000.0,
        slow_ms: row.values.slow_ms.and_then(|ms| u32::try_from(ms).ok()),
        locations: Locations::shown(monitor_save::selector(&row.values.locations)?, &around),
        policy: serde_json::from_value(row.values.policy).map_err(anyhow::Error::from)?,
        policy_in_force: PolicyInForce::from(&view.settings.policy),
        looks_from: around.references(&row.looks_from),
        labels: text_map(&row.values.labels),
        depends_on: uids(row.values.depends_on)?,
        fleet: row.values.fleet,
        channels: row.values.channels.map(uids).transpose()?,
        escalation: row.values.escalation,
        runbook_url: row.values.runbook_url,
        enabled: row.values.enabled,
        state: MonitorState::from_code(row.state),
        since: At(row.since_at),
        check_version: row.check_version,
        revision: row.revision,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
    })
}

impl Locations {
    /// A stored rule with names in place of ids.
    fn shown(rule: LocationSelector, around: &Surroundings) -> Self {
        match rule {
            LocationSelector::Word(_) => Self::All(AllWord::All),
            LocationSelector::Labels { labels } => Self::Labelled(LocationLabels { labels }),
            LocationSelector::Names(ids) => {
                let name = |id: &String| {
                    around.locations.values().find(|row| row.uid.to_string() == *id).map(|row| row.name.clone())
                };
                Self::Listed(ids.iter().filter_map(name).collect())
            }
        }
    }
}

impl Validation {
    fn refused(errors: Vec<Invalid>) -> Self {
        Self {
            valid: errors.is_empty(),
            errors: errors.into_iter().map(|e| FieldError { field: e.field, message: e.message }).collect(),
            warnings: Vec::new(),
            policy_in_force: None,
            looks_from: Vec::new(),
        }
    }
}

impl From<&Policy> for PolicyInForce {
    fn from(p: &Policy) -> Self {
        let secs = |millis: i64| millis as f64 / 1_000.0;
        Self {
            quorum: match p.quorum {
                Quorum::Majority => "majority".to_owned(),
                Quorum::AtLeast(k) => format!("at_least {k}"),
                Quorum::Percent(percent) => format!("percent {percent}"),
                Quorum::All => "all".to_owned(),
                Quorum::Any => "any".to_owned(),
            },
            fail_after: p.fail_after,
            pass_after: p.pass_after,
            retry_gap_s: secs(p.retry_gap),
            pass_gap_s: secs(p.pass_gap),
            min_separation_s: secs(p.min_separation),
            stale_after_s: secs(p.stale_after),
            min_agree: p.min_agree,
            min_domains: p.min_domains,
            min_regions: p.min_regions,
            partial_min: p.partial_min,
            confirm_for_s: secs(p.confirm_for),
            split_for_s: secs(p.split_for),
            blind_for_s: secs(p.blind_for),
            recover_for_s: secs(p.recover_for),
            reopen_within_s: secs(p.reopen_within),
        }
    }
}
