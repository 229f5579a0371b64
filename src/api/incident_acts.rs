//! What people do about incidents: by the API, by a link in a message, and by another tool's call.

use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Caller, Editor},
    error::{ApiError, ApiResult},
    incident_shown::load,
    incidents::{Incident, IncidentKind, find},
    request::{Empty, Json, Optional, Path},
};
use crate::{
    domain::ids::MonitorKey,
    store::{self, incidents_read::IncidentRow as Row},
    triage::{self, acks},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(acknowledge_incident))
        .routes(routes!(unacknowledge_incident))
        .routes(routes!(note_incident))
        .routes(routes!(resolve_incident))
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgement {
    /// What those who know of it are told with it; 1 to 4,000 characters.
    pub note: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// 1 to 4,000 characters.
    pub text: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AcknowledgedIncident {
    #[serde(flatten)]
    pub incident: Incident,
    /// How many incidents this acknowledged, with those that share its alert; 0 when all of them were before.
    pub acknowledged: usize,
}

/// Acknowledges an open incident: somebody is at it. Escalation and reminders stop until the acknowledgement
/// ends, by itself (`acked_until`) or by a rise in severity. With it all that share its alert are acknowledged, of a
/// fleet or because their monitors went down together: one alert, one answer. Those who have heard of it hear who is
/// at it. Harmless when it is already acknowledged.
#[utoipa::path(post, path = "/incidents/{id}/ack", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = Acknowledgement, responses((status = 200, body = AcknowledgedIncident)))]
async fn acknowledge_incident(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    Optional(form): Optional<Acknowledgement>,
) -> ApiResult<Json<AcknowledgedIncident>> {
    let now = state.clock.now();
    let note = form.note.as_deref().map(|text| checked("note", text)).transpose()?;
    let mut tx = state.pool.begin().await?;
    let by = acks::By { name: &caller.name, note, through: &[], but: None };
    let acknowledged = acknowledge(&mut tx, id, by, &json!({}), now).await?;
    let incident = load(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(AcknowledgedIncident { incident, acknowledged }))
}

/// Takes an acknowledgement back, of all that share the alert. Those who have heard of it hear that, and
/// escalation and reminders go on where they stood.
#[utoipa::path(post, path = "/incidents/{id}/unack", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn unacknowledge_incident(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Json<Incident>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    take_back(&mut tx, id, (&caller.name, &[]), &json!({}), now).await?;
    let incident = load(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(incident))
}

/// Adds a note, also to one that is over.
#[utoipa::path(post, path = "/incidents/{id}/note", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = Note, responses((status = 200, body = Incident)))]
async fn note_incident(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    Json(note): Json<Note>,
) -> ApiResult<Json<Incident>> {
    let text = checked("text", &note.text)?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = lock(&mut tx, id).await?;
    event(&mut tx, (row.monitor, id), "note", (&caller.name, text), &json!({}), now).await?;
    let incident = load(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(incident))
}

fn checked<'a>(field: &str, text: &'a str) -> ApiResult<&'a str> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 4_000 || text.contains('\0') {
        return Err(ApiError::invalid(field, "must be 1 to 4000 characters"));
    }
    Ok(text)
}

/// Closes an open incident of a fleet, of a certificate, or one about Quorate itself: what was found stays, and does
/// not open it again before it was gone once, or before the end of the certificate is closer by a threshold. A monitor's incident ends when its locations see it up, and by nothing else
/// (409).
#[utoipa::path(post, path = "/incidents/{id}/resolve", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn resolve_incident(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Json<Incident>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id).await?;
    if row.slo.is_some() {
        return Err(ApiError::in_use(
            "This incident ends when the budget of its SLO burns no faster than it may; acknowledge it, or change the rule.",
        ));
    }
    if IncidentKind::of(&row.subject) == IncidentKind::Platform {
        if !triage::platform::resolve(&mut tx, id, &caller.name, now).await? {
            return Err(ApiError::in_use("This incident is over."));
        }
        return resolved(tx, &caller, id, now).await;
    }
    if IncidentKind::of(&row.subject) == IncidentKind::Certificate {
        let row = lock_open(&mut tx, id).await?;
        triage::certificates::resolve(&mut tx, row.monitor, id, &caller.name, now).await?;
        return resolved(tx, &caller, id, now).await;
    }
    let Some(fleet) = &row.fleet else {
        return Err(ApiError::in_use(
            "This incident ends when its monitor is seen up again; acknowledge it, or pause the monitor.",
        ));
    };
    store::fleet_live::lock(&mut tx, fleet.key).await?;
    let row = find(&mut tx, id).await?;
    if row.resolved_at.is_some() {
        return Err(ApiError::in_use("This incident is over."));
    }
    let of = store::fleets::by_key(&mut tx, fleet.key).await?.ok_or(ApiError::NotFound("fleet"))?;
    triage::fleets::resolve(&mut tx, &of, id, &caller.name, now).await?;
    resolved(tx, &caller, id, now).await
}

/// Writes down who closed an incident, and commits.
async fn resolved(
    mut tx: sqlx::Transaction<'_, sqlx::Postgres>,
    caller: &Caller,
    id: Uuid,
    now: Timestamp,
) -> ApiResult<Json<Incident>> {
    let subject = format!("incident:{id}");
    store::audit::add(&mut tx, now, &caller.name, "incident.resolved", &subject, &json!({}))
        .await?;
    let incident = load(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(incident))
}

/// Acknowledges an open incident with all that share its alert, in the caller's transaction; 409 when it is over.
/// `data` stands beside the words that say so. Answers how many were not acknowledged before.
pub(super) async fn acknowledge(
    conn: &mut PgConnection,
    id: Uuid,
    by: acks::By<'_>,
    data: &Value,
    now: Timestamp,
) -> ApiResult<usize> {
    let row = lock_open(conn, id).await?;
    let done = acks::acknowledge(conn, &row, by, now).await?;
    let sentence = format!("{} is at it.", by.name);
    for one in &done {
        event(conn, *one, "acked", (by.name, &sentence), data, now).await?;
    }
    if let Some(note) = by.note {
        event(conn, (row.monitor, id), "note", (by.name, note), &json!({}), now).await?;
    }
    Ok(done.len())
}

/// Takes an acknowledgement back in the caller's transaction, as [`acknowledge`] gives it; `through` as there.
pub(super) async fn take_back(
    conn: &mut PgConnection,
    id: Uuid,
    (by, through): (&str, &[Uuid]),
    data: &Value,
    now: Timestamp,
) -> ApiResult<usize> {
    let row = lock_open(conn, id).await?;
    let sentence = format!("{by} took the acknowledgement back.");
    let done = acks::take_back(conn, &row, by, through, now).await?;
    for one in &done {
        event(conn, *one, "unacked", (by, &sentence), data, now).await?;
    }
    Ok(done.len())
}

async fn lock_open(conn: &mut PgConnection, id: Uuid) -> ApiResult<Row> {
    let row = lock(conn, id).await?;
    if open_of(conn, &row).await? {
        return Ok(row);
    }
    Err(ApiError::in_use("This incident is over."))
}

/// Whether an incident, or one that shares its alert, is open.
pub(super) async fn open_of(conn: &mut PgConnection, row: &Row) -> ApiResult<bool> {
    Ok(!acks::together(conn, row, &[]).await?.is_empty())
}

/// Takes the locks in their order: those of whom it and what is told with it are about, then the incidents'.
pub(super) async fn lock(conn: &mut PgConnection, id: Uuid) -> ApiResult<Row> {
    let row = find(conn, id).await?;
    let mut all = vec![(row.monitor, row.incident)];
    match (&row.fleet, &row.slo) {
        (Some(fleet), _) => store::fleet_live::lock(conn, fleet.key).await?,
        (None, Some(slo)) => store::slos::hold(conn, slo.key).await?,
        (None, None) => {
            all.extend(acks::together(conn, &row, &[]).await?);
            let monitors: Vec<i32> = all.iter().map(|(monitor, _)| monitor.0).collect();
            store::live::lock(conn, &monitors).await?;
        }
    }
    all.sort_unstable();
    all.dedup();
    for (monitor, incident) in all {
        store::incidents::lock(conn, monitor, incident).await?;
    }
    find(conn, id).await
}

/// Writes down, under the incident's lock, what somebody did or said.
pub(super) async fn event(
    conn: &mut PgConnection,
    (monitor, incident): (MonitorKey, Uuid),
    kind: &str,
    (by, sentence): (&str, &str),
    data: &Value,
    now: Timestamp,
) -> ApiResult<()> {
    store::incidents::add_event(conn, monitor, incident, now, kind, Some(by), sentence, data)
        .await?;
    let (subject, detail) = (format!("incident:{incident}"), json!({ "text": sentence }));
    store::audit::add(conn, now, by, &format!("incident.{kind}"), &subject, &detail).await?;
    store::wake::notify(conn, "state").await?;
    Ok(())
}
