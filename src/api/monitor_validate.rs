//! A monitor looked at without storing it: what would be refused, and what it would come to.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    given::from_value,
    monitor_form,
    monitors::{LocationRef, NewMonitor, PolicyInForce},
    request::{Json, Look, nul_free},
    view::Surroundings,
};
use crate::{
    domain::{Invalid, check::Warning},
    store,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(validate_monitor))
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

/// Says what would be refused, field by field, and stores nothing.
#[utoipa::path(post, path = "/monitors/validate", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    request_body = ValidateMonitor, responses((status = 200, body = Validation)))]
async fn validate_monitor(
    State(state): State<AppState>,
    _viewer: Viewer,
    Look(body): Look<ValidateMonitor>,
) -> ApiResult<Json<Validation>> {
    let now = state.clock.now();
    let form = nul_free(&body.monitor).and_then(|()| from_value(body.monitor.clone()));
    let form: NewMonitor = match form {
        Ok(form) => form,
        Err(invalid) => return Ok(Json(Validation::refused(vec![invalid]))),
    };
    let mut conn = state.pool.acquire().await?;
    let old = match body.id {
        None => None,
        Some(id) => {
            let key =
                store::monitors::key(&mut conn, id).await?.ok_or(ApiError::NotFound("monitor"))?;
            store::monitors::get(&mut conn, key).await?
        }
    };
    let outcome = monitor_form::read(&mut conn, &state, form, old.as_ref()).await?;
    let around = Surroundings::read(&mut conn, now).await?;
    let warnings = outcome
        .draft
        .as_ref()
        .map(|draft| monitor_form::warnings(&draft.check, &draft.policy, draft.looks_from.len()));
    Ok(Json(Validation {
        policy_in_force: outcome.policy.as_ref().map(PolicyInForce::from),
        looks_from: around.references(&outcome.looks_from),
        warnings: warnings.unwrap_or_default(),
        ..Validation::refused(outcome.errors)
    }))
}

impl Validation {
    fn refused(errors: Vec<Invalid>) -> Self {
        Self {
            valid: errors.is_empty(),
            errors: errors
                .into_iter()
                .map(|e| FieldError { field: e.field, message: e.message })
                .collect(),
            warnings: Vec::new(),
            policy_in_force: None,
            looks_from: Vec::new(),
        }
    }
}
