//! What was found in a fleet's logs: findings, removals, and what instances were said to be in.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    fleet_now::micros,
    fleets::find,
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::{
    domain::fleet::{
        event::Event,
        finding::{Gravity, Kind, Scope},
    },
    store::{
        self,
        fleet_findings::{Filter, FindingRow, RemovalRow},
        fleets::FleetRow,
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_findings))
        .routes(routes!(get_finding))
        .routes(routes!(list_removals))
        .routes(routes!(list_fleet_events))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = FleetFinding)]
pub struct Finding {
    pub id: Uuid,
    pub kind: Kind,
    pub scope: Scope,
    pub severity: Gravity,
    /// The group of servers; empty when the logs name none.
    pub pool: String,
    /// Who is named; empty when the cause is shared or of the pool.
    pub instances: Vec<String>,
    pub from: At,
    /// Null while it is open.
    pub to: Option<At>,
    /// When it could be known first, by the time of the log: the end of the window at which it was opened
    /// and the lateness that is waited for. Less `from` it is the time to detection.
    pub found_at: At,
    /// It has been so for as long as the instance is known: shown, and never pages.
    pub chronic: bool,
    pub sentence: String,
    /// The numbers behind the sentence, by name.
    #[schema(value_type = Object)]
    pub evidence: serde_json::Value,
    /// The incident that a rule made of it.
    pub incident: Option<Uuid>,
    pub outside: Outside,
}

/// Whether probes from outside felt it: results of the monitors that name the fleet, in the same
/// minutes.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Outside {
    /// Null: no monitor names this fleet, or none was probed then.
    pub felt: Option<bool>,
    pub runs: i64,
    pub fails: i64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Removal {
    pub id: Uuid,
    pub instance: String,
    /// End of the first failed attempt or check of the run that led to it; null when it was done on
    /// purpose or nothing was seen to fail.
    pub failed_at: Option<At>,
    pub removed_at: At,
    /// First good check or attempt afterwards, and when it was back in rotation; null so far.
    pub good_at: Option<At>,
    pub returned_at: Option<At>,
    /// `check ejected drain maintenance gone silence`
    pub cause: String,
    /// The source's own words.
    pub reason: Option<String>,
    /// Who says so: `haproxy kubernetes alb_health envoy nginx_error caddy probes traffic`
    pub source: String,
    /// From failure to removal, and how far that may be off.
    pub ttr_ms: Option<i64>,
    pub resolution_ms: i64,
    /// From the first good sign to the return.
    pub ttb_ms: Option<i64>,
    /// Attempts that ended badly on it from the first failure to removal, counted one by one (to a tenth of
    /// a second), and those of them that no other attempt made good. 0 when no failure is known.
    pub harmed: i64,
    pub client_visible: i64,
    /// What the configured check makes possible at best.
    pub minimum_ms: Option<i64>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FleetEvent {
    /// The name of the source that sent it.
    pub source: String,
    pub at: At,
    #[schema(value_type = Object)]
    pub event: Event,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListFindings {
    /// True: open ones only; false: closed ones only.
    pub open: Option<bool>,
    /// Going on at some time after …
    pub from: Option<At>,
    /// … and before.
    pub to: Option<At>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListRemovals {
    pub from: Option<At>,
    pub to: Option<At>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListFleetEvents {
    /// An hour before `to` unless given.
    pub from: Option<At>,
    /// Now unless given.
    pub to: Option<At>,
    pub limit: Option<u32>,
}

/// Findings, the latest beginning first.
#[utoipa::path(get, path = "/fleets/{id}/findings", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListFindings), responses((status = 200, body = List<Finding>)))]
async fn list_findings(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListFindings>,
) -> ApiResult<Json<List<Finding>>> {
    let limit = page_limit(query.limit)?;
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let during = (query.from.is_some() || query.to.is_some()).then(|| {
        let bound = |at: Option<At>, open| at.map_or(open, |at| at.0);
        (bound(query.from, EARLIEST), bound(query.to, LATEST))
    });
    let filter = Filter {
        open: query.open,
        during,
        before: read_cursor(query.cursor.as_deref())?,
        limit: limit + 1,
        ..Filter::default()
    };
    let rows = store::fleet_findings::list(&mut conn, fleet.key, &filter).await?;
    let now = state.clock.now();
    let page = List::page(rows, limit, |row| (micros(row.finding.from_us), row.id), |row| row);
    Ok(Json(List { items: findings(&mut conn, &fleet, page.items, now).await?, next: page.next }))
}

/// One finding.
#[utoipa::path(get, path = "/fleets/{id}/findings/{finding}", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ("finding" = Uuid, Path)), responses((status = 200, body = Finding)))]
async fn get_finding(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path((id, finding)): Path<(Uuid, Uuid)>,
) -> ApiResult<Json<Finding>> {
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let filter = Filter { finding: Some(finding), limit: 1, ..Filter::default() };
    let rows = store::fleet_findings::list(&mut conn, fleet.key, &filter).await?;
    let mut shown = findings(&mut conn, &fleet, rows, state.clock.now()).await?;
    shown.pop().map(Json).ok_or(ApiError::NotFound("finding"))
}

/// Past removals with their times and causes, the latest first: the history of drills.
#[utoipa::path(get, path = "/fleets/{id}/removals", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListRemovals), responses((status = 200, body = List<Removal>)))]
async fn list_removals(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListRemovals>,
) -> ApiResult<Json<List<Removal>>> {
    let limit = page_limit(query.limit)?;
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    let before: Option<(At, Uuid)> = read_cursor(query.cursor.as_deref())?;
    let rows = store::fleet_findings::removals(
        &mut conn,
        fleet.key,
        query.from.map(|at| at.0),
        query.to.map(|at| at.0),
        before.map(|(at, id)| (at.0, id)),
        limit + 1,
    )
    .await?;
    Ok(Json(List::page(rows, limit, |row| (At(row.removed_at), row.id), Removal::from)))
}

/// What logs and platforms said of instances besides requests, the latest first.
#[utoipa::path(get, path = "/fleets/{id}/events", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListFleetEvents), responses((status = 200, body = List<FleetEvent>)))]
async fn list_fleet_events(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListFleetEvents>,
) -> ApiResult<Json<List<FleetEvent>>> {
    let limit = page_limit(query.limit)?;
    let mut conn = state.pool.acquire().await?;
    let fleet = find(&mut conn, id, false).await?;
    // What was said this very moment belongs to it.
    let to = query.to.map_or(state.clock.now() + SignedDuration::from_millis(1), |at| at.0);
    let hour = || to.saturating_sub(SignedDuration::from_hours(1)).unwrap_or(to);
    let from = query.from.map_or_else(hour, |at| at.0);
    let rows = store::fleet_events::list(&mut conn, fleet.key, from, to, limit).await?;
    Ok(Json(List::whole(
        rows.into_iter()
            .map(|row| FleetEvent {
                source: row.source,
                at: micros(row.event.at_us),
                event: row.event,
            })
            .collect(),
    )))
}

const EARLIEST: Timestamp = Timestamp::UNIX_EPOCH;
/// The end of what Postgres and jiff both hold.
const LATEST: Timestamp = Timestamp::constant(253_402_200_000, 0);

/// Findings as they are answered, each with what probes from outside saw in its minutes.
pub async fn findings(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    rows: Vec<FindingRow>,
    now: Timestamp,
) -> ApiResult<Vec<Finding>> {
    let watched = !store::fleets::monitors(conn, Some(fleet.uid)).await?.is_empty();
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        let finding = row.finding;
        let (from, to) = (micros(finding.from_us), finding.to_us.map(micros));
        let felt = if watched {
            store::fleets::felt(conn, fleet.uid, from.0, to.map_or(now, |at| at.0)).await?
        } else {
            store::fleets::Felt::default()
        };
        shown.push(Finding {
            id: row.id,
            kind: finding.kind,
            scope: finding.scope,
            severity: finding.severity,
            pool: finding.pool,
            instances: finding.instances,
            from,
            to,
            found_at: micros(finding.found_us),
            chronic: finding.chronic,
            sentence: finding.sentence,
            evidence: finding.evidence,
            incident: row.incident,
            outside: Outside {
                felt: (felt.runs > 0).then_some(felt.fails > 0),
                runs: felt.runs,
                fails: felt.fails,
            },
        });
    }
    Ok(shown)
}

impl From<RemovalRow> for Removal {
    fn from(row: RemovalRow) -> Self {
        let back = row.good_at.zip(row.returned_at);
        Self {
            id: row.id,
            instance: row.instance,
            failed_at: row.failed_at.map(At),
            removed_at: At(row.removed_at),
            good_at: row.good_at.map(At),
            returned_at: row.returned_at.map(At),
            cause: row.cause,
            reason: row.reason,
            source: row.source,
            ttr_ms: row.ttr_us.map(|us| us / 1_000),
            resolution_ms: row.resolution_us / 1_000,
            ttb_ms: back.map(|(good, back)| back.as_millisecond() - good.as_millisecond()),
            harmed: row.harmed,
            client_visible: row.client_visible,
            minimum_ms: row.minimum_us.map(|us| us / 1_000),
        }
    }
}
