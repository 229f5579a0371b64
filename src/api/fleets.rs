//! Fleets: what is configured of them, and who may send their logs. What their logs say is
//! `fleet_health` and `fleet_findings`; how those come in is `fleet_logs`.

use std::collections::HashMap;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    fleet_form::{check, configured, flap, merged, platform},
    fleet_now::{FleetNow, Standing},
    monitors::{etag, if_match},
    request::{At, Json, List, Path, not_null, present},
};
use crate::{
    domain::{
        fleet::{config::Named, rules::Rules, settings::FewReady},
        monitor::Name,
    },
    store::{
        self,
        fleets::{FleetRow, MonitorOf},
    },
    triage,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_fleets, create_fleet)).routes(routes!(
        get_fleet,
        change_fleet,
        delete_fleet
    ))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Fleet {
    pub id: Uuid,
    pub name: String,
    /// How many instances there should be; null is learned, and said so.
    pub expected: Option<u32>,
    /// Fewer ready than this is critical; null: three quarters of what is expected.
    pub min_ready: Option<u32>,
    pub platform: Option<FleetPlatform>,
    pub check: Option<FleetCheck>,
    /// Requests so long after a removal are still the draining.
    pub drain_s: u32,
    /// A roll-out is over when it has been quiet for so long: what is older then is stale.
    pub settle_s: u32,
    /// Length of a window; fixed when the fleet is made.
    pub window_s: u32,
    /// A window is judged so long after the newest line of the slowest live source.
    pub lateness_s: u32,
    /// A new or returned instance is not compared for so long.
    pub warm_up_s: u32,
    pub flap: FleetFlap,
    pub few_ready: FewReady,
    /// Paths of health checks, beside the usual ones.
    pub probe_paths: Vec<String>,
    pub instances: Vec<Named>,
    pub rules: Rules,
    pub now: FleetNow,
    /// Monitors that name this fleet.
    pub monitors: Vec<FleetMonitor>,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

/// What runs the health checks, and what it does when nobody passes them.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetPlatform {
    /// `kubernetes alb nlb envoy haproxy nginx google azure_lb app_gateway`
    pub kind: String,
    /// Share of ready instances (0 to 1) below which it ignores health; null: as the platform does by
    /// default.
    pub floor: Option<f64>,
}

/// The health check as the balancer or platform is configured.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetCheck {
    pub path: Option<String>,
    pub interval_s: f64,
    pub timeout_s: f64,
    /// Failures in a row until an instance is out.
    pub unhealthy: u32,
    /// Passes in a row until it is back.
    pub healthy: u32,
}

/// An instance flaps from `from` transitions within `window_s` on, until there are at most `until`.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetFlap {
    pub window_s: u32,
    pub from: u32,
    pub until: u32,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FleetMonitor {
    pub id: Uuid,
    pub name: String,
    pub state: super::monitors::MonitorState,
}

/// Everything but the name has a default.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFleet {
    pub name: String,
    pub expected: Option<u32>,
    pub min_ready: Option<u32>,
    pub platform: Option<FleetPlatform>,
    pub check: Option<FleetCheck>,
    /// 30 unless given.
    pub drain_s: Option<u32>,
    /// 900 unless given.
    pub settle_s: Option<u32>,
    /// 60 unless given; must divide 900.
    pub window_s: Option<u32>,
    /// 10 unless given; for files that arrive late, such as those of an ALB, 600.
    pub lateness_s: Option<u32>,
    /// 120 unless given.
    pub warm_up_s: Option<u32>,
    pub flap: Option<FleetFlap>,
    pub few_ready: Option<FewReady>,
    #[serde(default)]
    pub probe_paths: Vec<String>,
    #[serde(default)]
    pub instances: Vec<Named>,
    #[serde(default)]
    pub rules: Rules,
}

/// What is left out stays; null resets to what a new fleet would have.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFleet {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub expected: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub min_ready: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<FleetPlatform>)]
    pub platform: Option<Option<FleetPlatform>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<FleetCheck>)]
    pub check: Option<Option<FleetCheck>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub drain_s: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub settle_s: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub lateness_s: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    pub warm_up_s: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<FleetFlap>)]
    pub flap: Option<Option<FleetFlap>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<FewReady>)]
    pub few_ready: Option<Option<FewReady>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub probe_paths: Option<Vec<String>>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub instances: Option<Vec<Named>>,
    /// Replaces all rules.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub rules: Option<Rules>,
}

/// All fleets by name, each with how it stands now.
#[utoipa::path(get, path = "/fleets", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Fleet>)))]
async fn list_fleets(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<Fleet>>> {
    let mut conn = state.pool.acquire().await?;
    let rows = store::fleets::list(&mut conn).await?;
    let standings = Standing::read_all(&mut conn, &rows, state.clock.now()).await?;
    let mut monitors: HashMap<String, Vec<MonitorOf>> = HashMap::new();
    for monitor in store::fleets::monitors(&mut conn, None).await? {
        monitors.entry(monitor.fleet.clone()).or_default().push(monitor);
    }
    let fleets = rows.into_iter().zip(standings).map(|(row, standing)| {
        let monitors = monitors.remove(&row.uid.to_string()).unwrap_or_default();
        fleet(row, &standing, monitors)
    });
    Ok(Json(List::whole(fleets.collect())))
}

/// Adds a fleet. Its logs may come at once; everything else can be said later.
#[utoipa::path(post, path = "/fleets", tag = "fleets", extensions(("x-role" = json!("editor"))),
    request_body = NewFleet, responses((status = 201, body = Fleet, headers(("etag" = String)))))]
async fn create_fleet(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(form): Json<NewFleet>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let name = Name::parse("name", &form.name)?;
    let config = configured(form);
    config.check()?;
    let mut tx = state.pool.begin().await?;
    known_channels(&mut tx, &config.rules).await?;
    let id = store::id_at(now);
    store::fleets::insert(&mut tx, id, name.as_str(), &config, now).await?;
    let detail = json!({ "name": name.as_str(), "settings": config });
    store::audit::add(&mut tx, now, &caller.name, "fleet.create", &subject(id), &detail).await?;
    let row = find(&mut tx, id, false).await?;
    let fleet = shown(&mut tx, row, &state).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, fleet))
}

/// One fleet with its settings and how it stands now.
#[utoipa::path(get, path = "/fleets/{id}", tag = "fleets", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Fleet, headers(("etag" = String)))))]
async fn get_fleet(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    let row = find(&mut conn, id, false).await?;
    let fleet = shown(&mut conn, row, &state).await?;
    Ok(answer(StatusCode::OK, fleet))
}

/// Changes a fleet. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/fleets/{id}", tag = "fleets", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = ChangeFleet, responses((status = 200, body = Fleet, headers(("etag" = String)))))]
async fn change_fleet(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<ChangeFleet>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let form = merged(&old, change);
    let name = Name::parse("name", &form.name)?;
    let config = configured(form);
    config.check()?;
    known_channels(&mut tx, &config.rules).await?;
    store::fleets::update(&mut tx, old.key, name.as_str(), &config, now).await?;
    let detail = json!({ "name": name.as_str(), "settings": config, "before": old.config });
    store::audit::add(&mut tx, now, &caller.name, "fleet.change", &subject(id), &detail).await?;
    let row = find(&mut tx, id, false).await?;
    let fleet = shown(&mut tx, row, &state).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, fleet))
}

/// Deletes a fleet: its shippers are turned away, its incidents end with that reason, and monitors that
/// named it name none.
#[utoipa::path(delete, path = "/fleets/{id}", tag = "fleets", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_fleet(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, false).await?;
    // The judge must not open an incident behind our back.
    store::fleet_live::lock(&mut tx, row.key).await?;
    let row = find(&mut tx, id, true).await?;
    if_match(&headers, row.revision)?;
    triage::fleets::close(&mut tx, &row, now).await?;
    store::fleets::leave(&mut tx, id, now).await?;
    store::fleets::delete(&mut tx, row.key, now).await?;
    let detail = json!({ "name": row.name });
    store::audit::add(&mut tx, now, &caller.name, "fleet.delete", &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<FleetRow> {
    store::fleets::get(conn, id, lock).await?.ok_or(ApiError::NotFound("fleet"))
}

pub fn subject(id: Uuid) -> String {
    format!("fleet:{id}")
}

fn answer(status: StatusCode, fleet: Fleet) -> Response {
    (status, [(header::ETAG, etag(fleet.revision))], Json(fleet)).into_response()
}

async fn known_channels(conn: &mut PgConnection, rules: &Rules) -> ApiResult<()> {
    let Some(ids) = &rules.channels else { return Ok(()) };
    let known = store::channels::list(conn).await?;
    for (i, id) in ids.iter().enumerate() {
        if !known.iter().any(|channel| channel.id == *id) {
            return Err(ApiError::invalid(
                format!("rules.channels[{i}]"),
                format!("{id} is no channel"),
            ));
        }
    }
    Ok(())
}

/// A fleet as it is answered.
async fn shown(conn: &mut PgConnection, row: FleetRow, state: &AppState) -> ApiResult<Fleet> {
    let standing = Standing::read(conn, &row, state.clock.now()).await?;
    let monitors = store::fleets::monitors(conn, Some(row.uid)).await?;
    Ok(fleet(row, &standing, monitors))
}

fn fleet(row: FleetRow, standing: &Standing, monitors: Vec<MonitorOf>) -> Fleet {
    let platform = platform(&row.config);
    let set = row.config.analysis;
    Fleet {
        id: row.uid,
        name: row.name,
        expected: set.expected,
        min_ready: set.min_ready,
        platform,
        check: set.check.as_ref().map(check),
        drain_s: set.drain_s,
        settle_s: set.settle_s,
        window_s: set.window_s,
        lateness_s: set.lateness_s,
        warm_up_s: set.warm_up_s,
        flap: flap(set.flap),
        few_ready: set.few_ready,
        probe_paths: set.probe_paths,
        instances: row.config.instances,
        rules: row.config.rules,
        now: standing.shown(),
        monitors: monitors
            .into_iter()
            .map(|one| FleetMonitor {
                id: one.uid,
                name: one.name,
                state: super::monitors::MonitorState::from_code(one.state),
            })
            .collect(),
        revision: row.revision,
        created_at: At(row.created_at),
        updated_at: At(row.updated_at),
    }
}
