//! Probing by hand: a saved monitor, or a check that is still being written.

use std::time::Duration;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use tokio::time::Instant;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    agent_stream::UnsavedCheck,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    heartbeat_form::probed,
    monitor_form::{self, ReadCheck},
    monitor_state,
    monitors::{LocationRef, Locations},
    request::{At, Empty, Json, Path, Query},
    view::Surroundings,
};
use crate::{
    domain::{
        check::Check,
        ids::{LocationKey, MonitorKey},
        monitor::{LocationSelector, Timeout},
        observation::Observation,
        short,
    },
    store::{self, wake::NewRequest},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(run_monitor))
        .routes(routes!(try_check))
        .routes(routes!(get_probe))
}

/// A check to try without storing anything.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TryCheck {
    #[schema(value_type = Check)]
    pub check: serde_json::Value,
    /// 10 unless given.
    pub timeout_s: Option<f64>,
    /// `"all"` unless given.
    #[schema(value_type = Option<Locations>)]
    pub locations: Option<serde_json::Value>,
    /// The monitor that is being edited: its stored secrets stand in for `(hidden)`.
    pub monitor: Option<Uuid>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WaitFor {
    /// Seconds to wait for all answers: 0 to 75. Unless given, until all have answered or no answer can
    /// come any more.
    pub wait_s: Option<f64>,
}

/// One click: one observation per location, as they come in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ProbeBatch {
    pub id: Uuid,
    /// All have answered, or cannot any more.
    pub done: bool,
    pub requested_at: At,
    pub expires_at: At,
    pub results: Vec<ProbeResult>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ProbeResult {
    pub location: LocationRef,
    pub status: ProbeStatus,
    pub observation: Option<Observation>,
    pub answered_at: Option<At>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeStatus {
    Waiting,
    Answered,
    /// No agent of this location is online.
    Offline,
    /// It did not answer in time.
    Expired,
}

/// Probes a monitor from all its locations now. The results are kept as manual runs and never vote.
#[utoipa::path(post, path = "/monitors/{id}/run", tag = "monitor", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), WaitFor), responses((status = 200, body = ProbeBatch)))]
async fn run_monitor(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    Query(wait): Query<WaitFor>,
    _nothing: Empty,
) -> ApiResult<Json<ProbeBatch>> {
    let patience = wait.patience()?;
    state.limits.probe(caller.key())?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let key = monitor_state::key(&mut tx, id).await?;
    let row = store::monitors::get(&mut tx, key).await?.ok_or(ApiError::NotFound("monitor"))?;
    probed(&row.values.check_spec)?;
    let timeout_ms = u32::try_from(row.values.timeout_ms).unwrap_or_default();
    // A paused one is assigned to nobody, so its check travels with the request.
    let unsaved = if row.values.enabled {
        None
    } else {
        let spec = row.values.check_spec.clone();
        let read = monitor_form::read_check(&mut tx, &state, spec, Some(&row)).await??;
        Some(read)
    };
    let kind = if unsaved.is_some() { "try" } else { "manual" };
    let ask =
        Ask { kind, monitor: Some(key), check: unsaved, timeout_ms, locations: &row.looks_from };
    let batch = ask_all(&mut tx, &state, ask, &caller.name, now).await?;
    tx.commit().await?;
    follow(&state, batch, patience).await.map(Json)
}

/// Tries a check from the locations now, and stores nothing.
#[utoipa::path(post, path = "/checks/try", tag = "monitors", extensions(("x-role" = json!("editor"))),
    params(WaitFor), request_body = TryCheck, responses((status = 200, body = ProbeBatch)))]
async fn try_check(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Query(wait): Query<WaitFor>,
    Json(body): Json<TryCheck>,
) -> ApiResult<Json<ProbeBatch>> {
    let patience = wait.patience()?;
    probed(&body.check)?;
    let timeout = Timeout::from_secs(body.timeout_s.unwrap_or(10.0))?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = match body.monitor {
        None => None,
        Some(id) => {
            let key = monitor_state::key(&mut tx, id).await?;
            store::monitors::get(&mut tx, key).await?
        }
    };
    let check = monitor_form::read_check(&mut tx, &state, body.check, old.as_ref()).await??;
    let candidates = monitor_form::candidates(&store::locations::list(&mut tx).await?);
    let rule = LocationSelector::parse(body.locations.unwrap_or_else(|| "all".into()))?;
    let locations = rule.with_ids(&candidates)?.choose(&candidates);
    if locations.is_empty() {
        return Err(ApiError::invalid("locations", "there is no location to try it from"));
    }
    state.limits.probe(caller.key())?;
    let timeout_ms = u32::try_from(timeout.millis()).unwrap_or_default();
    let ask =
        Ask { kind: "try", monitor: None, check: Some(check), timeout_ms, locations: &locations };
    let batch = ask_all(&mut tx, &state, ask, &caller.name, now).await?;
    tx.commit().await?;
    follow(&state, batch, patience).await.map(Json)
}

/// The answers so far of a run or a try.
#[utoipa::path(get, path = "/probes/{id}", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), WaitFor), responses((status = 200, body = ProbeBatch)))]
async fn get_probe(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(wait): Query<WaitFor>,
) -> ApiResult<Json<ProbeBatch>> {
    let patience = wait.patience()?;
    follow(&state, id, patience).await.map(Json)
}

/// A batch that is about to be requested.
struct Ask<'a> {
    kind: &'static str,
    monitor: Option<MonitorKey>,
    check: Option<ReadCheck>,
    timeout_ms: u32,
    locations: &'a [LocationKey],
}

async fn ask_all(
    conn: &mut PgConnection,
    state: &AppState,
    ask: Ask<'_>,
    actor: &str,
    now: Timestamp,
) -> ApiResult<Uuid> {
    let batch = store::id_at(now);
    let unsaved = match &ask.check {
        None => None,
        Some(read) => {
            let secrets = read
                .all
                .iter()
                .map(|(name, value)| (name.clone(), value.expose().clone()))
                .collect();
            let unsaved = UnsavedCheck { check: read.check.to_value(), secrets };
            Some(serde_json::to_vec(&unsaved).map_err(anyhow::Error::from)?)
        }
    };
    let lives = SignedDuration::from_millis(i64::from(ask.timeout_ms)) + GRACE;
    let mut requests = Vec::with_capacity(ask.locations.len());
    for location in ask.locations {
        let uid = store::id_at(now);
        let place = uid.to_string();
        let seal = |text: &Vec<u8>| state.sealer.seal(store::probe_requests::place(&place), text);
        requests.push(NewRequest {
            uid,
            batch,
            location: *location,
            monitor: ask.monitor,
            kind: ask.kind,
            sealed_check: unsaved.as_ref().map(seal),
            timeout_ms: i32::try_from(ask.timeout_ms).ok(),
            requested_by: actor.to_owned(),
            created_at: now,
            expires_at: now.saturating_add(lives).unwrap_or(now),
        });
    }
    store::wake::request(conn, &requests).await?;
    Ok(batch)
}

/// Reads a batch until it is done or patience ends.
async fn follow(state: &AppState, id: Uuid, patience: Duration) -> ApiResult<ProbeBatch> {
    let mut marks = state.hub.marks();
    let until = Instant::now() + patience;
    loop {
        marks.borrow_and_update();
        let batch = load(state, id).await?;
        if batch.done || Instant::now() >= until {
            return Ok(batch);
        }
        tokio::select! {
            () = state.hub.stopping().cancelled() => return Ok(batch),
            () = tokio::time::sleep_until(until.min(Instant::now() + LOOK)) => {}
            _ = marks.changed() => {}
        }
    }
}

async fn load(state: &AppState, id: Uuid) -> ApiResult<ProbeBatch> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let rows = store::probe_requests::batch(&mut conn, id).await?;
    let first = rows.first().ok_or(ApiError::NotFound("probe"))?;
    let (requested_at, expires_at) = (At(first.created_at), At(first.expires_at));
    let around = Surroundings::read(&mut conn, now).await?;
    let mut results = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(location) = around.reference(row.location) else { continue };
        let online = around.locations.get(&row.location).is_some_and(|row| row.online);
        let status = match (row.answered_at, row.taken) {
            (Some(_), _) => ProbeStatus::Answered,
            (None, false) if !online => ProbeStatus::Offline,
            (None, _) if row.expires_at <= now => ProbeStatus::Expired,
            (None, _) => ProbeStatus::Waiting,
        };
        let observation = row.observation.map(serde_json::from_value::<Observation>).transpose();
        results.push(ProbeResult {
            location,
            status,
            observation: observation.map_err(anyhow::Error::from)?,
            answered_at: row.answered_at.map(At),
        });
    }
    let done = results.iter().all(|result| result.status != ProbeStatus::Waiting);
    Ok(ProbeBatch { id, done, requested_at, expires_at, results })
}

/// What dispatch and delivery may take beside the attempt itself.
const GRACE: SignedDuration = SignedDuration::from_secs(15);
/// Without any word, look this often.
const LOOK: Duration = Duration::from_secs(1);
/// The longest attempt with its grace.
const LONGEST: f64 = 75.0;

impl WaitFor {
    fn patience(&self) -> ApiResult<Duration> {
        match self.wait_s {
            None => Ok(Duration::from_secs_f64(LONGEST)),
            Some(wait) if (0.0..=LONGEST).contains(&wait) => Ok(Duration::from_secs_f64(wait)),
            Some(wait) => Err(ApiError::invalid(
                "wait_s",
                format!("{} is out of range: 0 to {LONGEST} seconds", short(&wait.to_string())),
            )),
        }
    }
}
