//! Incidents: what happened, and who was told. What people do about them is `incident_acts`.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    fleet_findings::Finding,
    incident_shown::load,
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::store::{
    self,
    incidents_read::{Filter, IncidentRow as Row},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_incidents)).routes(routes!(get_incident))
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
    /// The monitors that went down together with this one; null when it is told by itself.
    pub storm: Option<Storm>,
    /// `monitor:UUID`, `fleet:UUID:KIND:INSTANCE`, `slo:UUID:RULE`, `certificate:MONITOR:FINGERPRINT`,
    /// `platform:CAUSE`
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
    /// `recovered paused deleted renewed …`
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
    /// When the acknowledgement ends by itself.
    pub acked_until: Option<At>,
    /// What is wrong, in a few words that go on after the name of the fleet or SLO, after that of the monitor whose
    /// certificate it is, or after "Quorate"; null for a monitor, which has a name and a state.
    pub title: Option<String>,
    /// As it was told last.
    pub sentence: String,
}

/// Incidents that are told as one, because their monitors went down within a minute and share something.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Storm {
    /// The incident of the first that went down.
    pub first: Uuid,
    /// In words that go on after "share": `the domain shop.example`.
    pub shared: String,
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
    /// Who is called next; null for one that nobody was told of.
    pub escalation: Option<IncidentEscalation>,
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

/// The escalation as it was copied when the incident opened.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct IncidentEscalation {
    /// Null: its channels are told at once, and nobody later.
    pub policy: Option<String>,
    /// The route that led there.
    pub route: Option<String>,
    /// Of one round.
    pub steps: u32,
    pub rounds: u32,
    /// Null when the steps are gone through, or the incident is over.
    pub next: Option<NextStep>,
    /// Steps and reminders wait: `acknowledged maintenance flapping`
    pub waits: Option<String>,
    /// Of reminders, until now.
    pub reminders: u32,
}

/// The step that comes next, if nothing stops it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NextStep {
    /// From 1.
    pub round: u32,
    /// From 1.
    pub step: u32,
    pub at: At,
    /// Names of channels.
    pub channels: Vec<String>,
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
    /// When it is tried next; null once settled, and while it is held back.
    pub due_at: Option<At>,
    pub attempts: i32,
    pub attempted_at: Option<At>,
    pub settled_at: Option<At>,
    /// `delivered failed collapsed dropped grouped`; null while it waits.
    pub outcome: Option<String>,
    /// Why it is not even tried yet: `gateway is down`; null when nothing holds it back.
    pub held_for: Option<String>,
    /// It went to the fallback channel, because no other channel took it.
    pub fallback: bool,
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
    /// Id of the first of those that are told together.
    pub storm: Option<Uuid>,
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

/// What an incident is about. `certificate`: one that a monitor is shown; `platform`: Quorate itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncidentKind {
    Monitor,
    Fleet,
    Slo,
    Certificate,
    Platform,
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
        storm: query.storm,
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

pub async fn find(conn: &mut PgConnection, id: Uuid) -> ApiResult<Row> {
    let filter = Filter { incident: Some(id), limit: 1, ..Filter::default() };
    store::incidents_read::list(conn, &filter).await?.pop().ok_or(ApiError::NotFound("incident"))
}
