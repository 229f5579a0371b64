//! Escalation policies: who is called when, if nobody is at an incident.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitors::{etag, if_match},
    request::{At, Json, List, Path, not_null, present},
};
use crate::{
    domain::{
        Invalid,
        escalation::{Policy, Step},
        monitor::Name,
    },
    store::{self, channels::Channel, escalations::EscalationRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_escalations, create_escalation)).routes(routes!(
        get_escalation,
        change_escalation,
        delete_escalation
    ))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Escalation {
    pub id: Uuid,
    pub name: String,
    #[serde(flatten)]
    pub rules: Policy,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEscalation {
    pub name: String,
    /// 1 to 10, each later than the one before.
    pub steps: Vec<EscalationStepForm>,
    /// How often the steps are gone through, 1 to 10 (2); a round begins an hour after the one before.
    pub loops: Option<u32>,
    /// An acknowledgement ends after so long if the incident is still open: 300 to 604800 seconds (14400).
    pub ack_timeout_s: Option<u32>,
    /// Between reminders, 300 to 86400 seconds (3600); after the 24th they come daily. Null: none.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub reminder_s: Option<Option<u32>>,
}

/// What is left out stays; null for `reminder_s` takes reminders away.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeEscalation {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Replaces all steps.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub steps: Option<Vec<EscalationStepForm>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub loops: Option<u32>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub ack_timeout_s: Option<u32>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub reminder_s: Option<Option<u32>>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationStepForm {
    /// Since the incident opened, 0 to 86400 seconds; time acknowledged or under maintenance is not counted.
    #[serde(deserialize_with = "seconds")]
    pub after_s: u32,
    /// Ids or names, 1 to 20.
    pub channels: Vec<String>,
}

/// Whole seconds; what is no number of ours is refused in the words of what a step can have.
fn seconds<'de, D: Deserializer<'de>>(given: D) -> Result<u32, D::Error> {
    let given = f64::deserialize(given)?;
    let fits = given.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&given);
    if fits { Ok(given as u32) } else { Err(de::Error::custom(Step::out_of_range())) }
}

/// All policies by name.
#[utoipa::path(get, path = "/escalations", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Escalation>)))]
async fn list_escalations(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<Escalation>>> {
    let mut conn = state.pool.acquire().await?;
    let rows = store::escalations::list(&mut conn).await?;
    Ok(Json(List::whole(rows.into_iter().map(Into::into).collect())))
}

/// Adds a policy.
#[utoipa::path(post, path = "/escalations", tag = "alerting", extensions(("x-role" = json!("editor"))),
    request_body = NewEscalation,
    responses((status = 201, body = Escalation, headers(("etag" = String)))))]
async fn create_escalation(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(form): Json<NewEscalation>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let name = Name::parse("name", &form.name)?;
    let flat = Policy::flat(true);
    let rules = Policy {
        steps: steps(&mut tx, &form.steps).await?,
        loops: form.loops.unwrap_or(2),
        ack_timeout_s: form.ack_timeout_s.unwrap_or(flat.ack_timeout_s),
        reminder_s: form.reminder_s.unwrap_or(flat.reminder_s),
    };
    rules.check()?;
    let id = store::id_at(now);
    store::escalations::insert(&mut tx, id, name.as_str(), &rules, now).await?;
    let detail = json!({ "name": name.as_str(), "rules": rules });
    store::audit::add(&mut tx, now, &caller.name, "escalation.create", &subject(id), &detail)
        .await?;
    let row = find(&mut tx, id, false).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, row))
}

/// One policy.
#[utoipa::path(get, path = "/escalations/{id}", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Escalation, headers(("etag" = String)))))]
async fn get_escalation(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    Ok(answer(StatusCode::OK, find(&mut conn, id, false).await?))
}

/// Changes a policy. Incidents that are open go on by the copy that they took. With `If-Match` it is refused
/// (409) when somebody saved in between.
#[utoipa::path(patch, path = "/escalations/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), request_body = ChangeEscalation,
    responses((status = 200, body = Escalation, headers(("etag" = String)))))]
async fn change_escalation(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<ChangeEscalation>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let name = Name::parse("name", change.name.as_deref().unwrap_or(&old.name))?;
    let rules = Policy {
        steps: match &change.steps {
            Some(given) => steps(&mut tx, given).await?,
            None => old.rules.steps.clone(),
        },
        loops: change.loops.unwrap_or(old.rules.loops),
        ack_timeout_s: change.ack_timeout_s.unwrap_or(old.rules.ack_timeout_s),
        reminder_s: change.reminder_s.unwrap_or(old.rules.reminder_s),
    };
    rules.check()?;
    store::escalations::update(&mut tx, id, name.as_str(), &rules, now).await?;
    let detail = json!({ "name": name.as_str(), "rules": rules,
        "before": { "name": old.name, "rules": old.rules } });
    store::audit::add(&mut tx, now, &caller.name, "escalation.change", &subject(id), &detail)
        .await?;
    let row = find(&mut tx, id, false).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, row))
}

/// Deletes a policy that no monitor and no route names (409). Incidents that are open go on by their copy.
#[utoipa::path(delete, path = "/escalations/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_escalation(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let mut by: Vec<String> = store::routes::list(&mut tx)
        .await?
        .into_iter()
        .filter(|route| route.rules.escalation == Some(id))
        .map(|route| format!("route {}", route.name))
        .collect();
    let monitors = store::escalations::monitors_of(&mut tx, id).await?;
    by.extend(monitors.into_iter().map(|name| format!("monitor {name}")));
    if !by.is_empty() {
        by.truncate(3);
        let why =
            format!("{} is in use by {}. Choose another one there first.", old.name, by.join(", "));
        return Err(ApiError::in_use(why));
    }
    store::escalations::delete(&mut tx, id, now).await?;
    let detail = json!({ "name": old.name });
    store::audit::add(&mut tx, now, &caller.name, "escalation.delete", &subject(id), &detail)
        .await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Reads steps, with channels by id or name.
async fn steps(conn: &mut PgConnection, given: &[EscalationStepForm]) -> ApiResult<Vec<Step>> {
    let known = store::channels::list(conn).await?;
    let mut steps = Vec::with_capacity(given.len());
    for (i, step) in given.iter().enumerate() {
        let field = format!("steps[{i}].channels");
        let channels = chosen(&known, &field, &step.channels)?;
        steps.push(Step { after_s: step.after_s, channels });
    }
    Ok(steps)
}

/// Channels by id or name; a stranger is refused under its place in `field`.
pub fn chosen(known: &[Channel], field: &str, words: &[String]) -> Result<Vec<Uuid>, Invalid> {
    let find = |(i, word): (usize, &String)| {
        let found = known.iter().find(|c| c.name == *word || c.id.to_string() == *word);
        found
            .map(|c| c.id)
            .ok_or_else(|| Invalid::given(format!("{field}[{i}]"), word, "is no channel"))
    };
    words.iter().enumerate().map(find).collect()
}

async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<EscalationRow> {
    store::escalations::get(conn, id, lock).await?.ok_or(ApiError::NotFound("escalation"))
}

fn subject(id: Uuid) -> String {
    format!("escalation:{id}")
}

fn answer(status: StatusCode, row: EscalationRow) -> Response {
    (status, [(header::ETAG, etag(row.revision))], Json(Escalation::from(row))).into_response()
}

impl From<EscalationRow> for Escalation {
    fn from(row: EscalationRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            rules: row.rules,
            revision: row.revision,
            created_at: At(row.created_at),
            updated_at: At(row.updated_at),
        }
    }
}
