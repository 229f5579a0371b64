//! Incidents: what happened, who was told, and what people did about it.

use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Caller, Editor, Viewer},
    error::{ApiError, ApiResult},
    fleet_findings::Finding,
    incident_shown::load,
    request::{At, Empty, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::{
    domain::ids::MonitorKey,
    store::{
        self,
        incidents_read::{Filter, IncidentRow as Row},
    },
    triage,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_incidents))
        .routes(routes!(get_incident))
        .routes(routes!(acknowledge_incident))
        .routes(routes!(unacknowledge_incident))
        .routes(routes!(note_incident))
        .routes(routes!(resolve_incident))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Degraded,
    Partial,
    Down,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct IncidentRow {
    pub id: Uuid,
    pub kind: IncidentKind,
    /// Null for a subject that is no monitor, or one that was deleted.
    pub monitor: Option<MonitorRef>,
    /// The fleet that it is about; null for any other subject.
    pub fleet: Option<FleetRef>,
    /// The SLO that it is about; null for any other subject.
    pub slo: Option<SloRef>,
    /// The incident whose alert this one shares, itself included; null where each has its own.
    pub group: Option<Uuid>,
    /// `monitor:UUID`, `fleet:UUID:KIND:INSTANCE`, `slo:UUID:RULE`, `platform:CAUSE`
    pub subject: String,
    pub severity: Severity,
    /// The worst it has been.
    pub peak: Severity,
    /// The first failing result; `opened_at` is when it was decided.
    pub started_at: At,
    pub opened_at: At,
    /// The first passing result; null while open.
    pub ended_at: Option<At>,
    pub resolved_at: Option<At>,
    /// `recovered paused deleted`
    pub resolve_reason: Option<String>,
    /// From start to end, or to now.
    pub duration_ms: i64,
    pub low: bool,
    /// Inside maintenance: nobody was told.
    pub suppressed: bool,
    pub flapping: bool,
    pub evidence_stale: bool,
    pub acked_at: Option<At>,
    pub acked_by: Option<String>,
    /// What is wrong, in a few words that go on after the name of the fleet or SLO, or after "Quorate"; null for a
    /// monitor, which has a name and a state.
    pub title: Option<String>,
    /// As it was told last.
    pub sentence: String,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct MonitorRef {
    pub id: Uuid,
    pub name: String,
    pub group: String,
    pub target: String,
    pub runbook_url: Option<String>,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct FleetRef {
    pub id: Uuid,
    pub name: String,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct SloRef {
    pub id: Uuid,
    pub name: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Incident {
    #[serde(flatten)]
    pub row: IncidentRow,
    /// Votes and scope at the last opening or move, by location.
    #[schema(value_type = Object)]
    pub evidence: serde_json::Value,
    /// Oldest first.
    pub events: Vec<IncidentEvent>,
    /// Oldest first.
    pub notices: Vec<IncidentNotice>,
    /// Other incidents that were open at the same time.
    pub at_the_same_time: Vec<IncidentRow>,
    /// Earlier ones of the same monitor, fleet, SLO or cause, the latest first.
    pub earlier: Vec<IncidentRow>,
    /// What was found in the same minutes in the fleet that it is about, or that the monitor names.
    pub fleet_findings: Vec<Finding>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct IncidentEvent {
    pub no: i32,
    pub at: At,
    /// `opened escalated downgraded reopened resolved flap_start withdrawn acked unacked note …`
    pub kind: String,
    /// Null: Quorate itself.
    pub actor: Option<String>,
    pub sentence: String,
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct IncidentNotice {
    pub id: Uuid,
    pub channel: Uuid,
    pub channel_name: String,
    pub channel_kind: String,
    pub kind: String,
    pub severity: String,
    pub created_at: At,
    /// When it is tried next; null once settled.
    pub due_at: Option<At>,
    pub attempts: i32,
    pub attempted_at: Option<At>,
    pub settled_at: Option<At>,
    /// `delivered failed collapsed dropped`; null while it waits.
    pub outcome: Option<String>,
    /// What the other side said last.
    pub answer: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListIncidents {
    pub state: Option<IncidentState>,
    /// Id or name.
    pub monitor: Option<String>,
    /// Id or name.
    pub fleet: Option<String>,
    /// Id.
    pub slo: Option<Uuid>,
    pub kind: Option<IncidentKind>,
    /// Opened at or after.
    pub from: Option<At>,
    /// Opened before.
    pub to: Option<At>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncidentState {
    Open,
    Resolved,
}

/// What an incident is about. `platform`: Quorate itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncidentKind {
    Monitor,
    Fleet,
    Slo,
    Platform,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// 1 to 4,000 characters.
    pub text: String,
}

/// Incidents, the latest opened first.
#[utoipa::path(get, path = "/incidents", tag = "incidents", extensions(("x-role" = json!("viewer"))),
    params(ListIncidents), responses((status = 200, body = List<IncidentRow>)))]
async fn list_incidents(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListIncidents>,
) -> ApiResult<Json<List<IncidentRow>>> {
    let limit = page_limit(query.limit)?;
    let mut conn = state.pool.acquire().await?;
    let monitor = match &query.monitor {
        None => None,
        Some(word) => {
            let found = store::monitors::named(&mut conn, std::slice::from_ref(word)).await?;
            let missing = || ApiError::given("monitor", word, "is no monitor");
            Some(found.first().ok_or_else(missing)?.0.0)
        }
    };
    let fleet = match &query.fleet {
        None => None,
        Some(word) => {
            let found = store::fleets::named(&mut conn, word).await?;
            let missing = || ApiError::given("fleet", word, "is no fleet");
            Some(found.ok_or_else(missing)?.key)
        }
    };
    let slo = match query.slo {
        None => None,
        Some(id) => {
            let found = store::slos::get_even_deleted(&mut conn, id).await?;
            Some(found.ok_or(ApiError::NotFound("SLO"))?.key)
        }
    };
    let filter = Filter {
        fleet,
        slo,
        kind: query.kind.map(IncidentKind::word),
        open: query.state.map(|state| state == IncidentState::Open),
        monitor,
        from: query.from.map(|at| at.0),
        to: query.to.map(|at| at.0),
        before: read_cursor(query.cursor.as_deref())?,
        limit: limit + 1,
        ..Filter::default()
    };
    let rows = store::incidents_read::list(&mut conn, &filter).await?;
    let now = state.clock.now();
    Ok(Json(List::page(
        rows,
        limit,
        |row| (row.opened_at, row.incident),
        |row| IncidentRow::shown(row, now),
    )))
}

/// One incident with its events, evidence and notices.
#[utoipa::path(get, path = "/incidents/{id}", tag = "incidents", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn get_incident(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Json<Incident>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(load(&mut conn, id, state.clock.now()).await?))
}

/// Acknowledges an open incident: somebody is at it. With it all that share its alert are acknowledged: one
/// alert, one answer. Harmless when it is already acknowledged.
#[utoipa::path(post, path = "/incidents/{id}/ack", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn acknowledge_incident(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Json<Incident>> {
    acknowledge(&state, &caller, id, true).await
}

/// Takes an acknowledgement back, of all that share the alert.
#[utoipa::path(post, path = "/incidents/{id}/unack", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn unacknowledge_incident(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Json<Incident>> {
    acknowledge(&state, &caller, id, false).await
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
    let text = note.text.trim();
    if text.is_empty() || text.chars().count() > 4_000 || text.contains('\0') {
        return Err(ApiError::invalid("text", "must be 1 to 4000 characters"));
    }
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = lock(&mut tx, id).await?;
    event(&mut tx, (row.monitor, id), "note", &caller, text, now).await?;
    let incident = load(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(incident))
}

/// Closes an open incident of a fleet, or one about Quorate itself: what was found stays, and does not open it
/// again before it was gone once. A monitor's incident ends when its locations see it up, and by nothing else
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

async fn acknowledge(
    state: &AppState,
    caller: &Caller,
    id: Uuid,
    yes: bool,
) -> ApiResult<Json<Incident>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = lock(&mut tx, id).await?;
    if row.resolved_at.is_some() {
        return Err(ApiError::in_use("This incident is over."));
    }
    let together = match &row.fleet {
        Some(fleet) => store::fleet_incidents::open_together(&mut tx, fleet.key, id).await?,
        None => vec![id],
    };
    let by = yes.then_some(caller.name.as_str());
    for one in together {
        if store::incidents_read::acknowledge(&mut tx, row.monitor, one, by, now).await? {
            let (kind, sentence) = if yes {
                ("acked", format!("{} is at it.", caller.name))
            } else {
                ("unacked", format!("{} took the acknowledgement back.", caller.name))
            };
            event(&mut tx, (row.monitor, one), kind, caller, &sentence, now).await?;
        }
    }
    let incident = load(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(Json(incident))
}

/// Takes the locks in their order: the monitor's or the fleet's, then the incident's by changing it.
async fn lock(conn: &mut PgConnection, id: Uuid) -> ApiResult<Row> {
    let row = find(conn, id).await?;
    match &row.fleet {
        Some(fleet) => store::fleet_live::lock(conn, fleet.key).await?,
        None => {
            store::live::lock(conn, &[row.monitor.0]).await?;
        }
    }
    find(conn, id).await
}

pub async fn find(conn: &mut PgConnection, id: Uuid) -> ApiResult<Row> {
    let filter = Filter { incident: Some(id), limit: 1, ..Filter::default() };
    store::incidents_read::list(conn, &filter).await?.pop().ok_or(ApiError::NotFound("incident"))
}

async fn event(
    conn: &mut PgConnection,
    (monitor, incident): (MonitorKey, Uuid),
    kind: &str,
    caller: &Caller,
    sentence: &str,
    now: Timestamp,
) -> ApiResult<()> {
    let actor = Some(caller.name.as_str());
    store::incidents::add_event(conn, monitor, incident, now, kind, actor, sentence, &json!({}))
        .await?;
    let (subject, detail) = (format!("incident:{incident}"), json!({ "text": sentence }));
    store::audit::add(conn, now, &caller.name, &format!("incident.{kind}"), &subject, &detail)
        .await?;
    store::wake::notify(conn, "state").await?;
    Ok(())
}
