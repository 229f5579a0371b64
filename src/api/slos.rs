//! Service level objectives: what is wanted of a monitor, a fleet, or several monitors together. How good they
//! were is `slo_reports`; what would be if is `slo_simulate`.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitors::{etag, if_match},
    request::{Json, List, Path, Query, page_limit, read_cursor},
    slo_form::{self, Form},
    slo_shown::{Slo, shown, shown_one},
};
use crate::{
    domain::slo::subject::Subject,
    store::{
        self,
        slos::{Filter, SloRow},
    },
    triage,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_slos, create_slo))
        .routes(routes!(get_slo, change_slo, delete_slo))
}

/// An SLO as it is written: the `slo` object of `quorate slo eval` with a name and what it is about. In a
/// change, what is left out stays and null goes back to the usual.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub struct NewSlo {
    pub name: String,
    pub service: Option<String>,
    pub description: Option<String>,
    pub owner: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub labels: Option<Value>,
    /// Id or name. Beside a fleet: who speaks for minutes with few requests.
    pub monitor: Option<String>,
    /// Id or name.
    pub fleet: Option<String>,
    /// `any_down` (the usual) or `all_down`, of `members`.
    pub composite: Option<String>,
    /// Ids or names of monitors.
    pub members: Option<Vec<String>>,
    /// Parts per billion: 999000000 is 99.9 %.
    pub target_ppb: u64,
    /// `availability` (the usual), `probe_ratio`, `latency`, or `requests` (the usual of a fleet).
    pub sli: Option<String>,
    pub window: NewSloWindow,
    /// `exclude` (the usual), `up`, `down`.
    pub unknown_policy: Option<String>,
    /// `exclude` (the usual), `count_as_up`, `ignore`.
    pub maintenance_policy: Option<String>,
    /// How much of partial time is bad; 0 unless given.
    pub partial_weight_ppm: Option<u32>,
    /// 0.9 unless given.
    pub coverage_min: Option<f64>,
    /// `pooled` (the usual) or `location_mean`.
    pub weight: Option<String>,
    /// For `latency`: how long a quick probe may take. For `requests`: a request that takes longer is bad, counted
    /// from when this was set; left out, any time will do.
    pub threshold_us: Option<u32>,
    /// For `latency`: `ok_only` (the usual) or `all`.
    pub denominator: Option<String>,
    /// For `requests`: `none` (the usual) or `monitor`.
    pub fallback: Option<String>,
    /// With `fallback`: 20 unless given.
    pub min_requests: Option<u32>,
    /// Left out: the usual ones for the window. Empty: none.
    pub rules: Option<Vec<NewSloRule>>,
    /// 3 unless given.
    pub decimals: Option<u32>,
    /// Ids or names; left out: the default channels.
    pub channels: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub struct NewSloWindow {
    /// `rolling calendar fixed`
    pub kind: String,
    /// `30d` when rolling; `1d 1w 1M 1Q 1Y` of a calendar.
    pub duration: Option<String>,
    /// UTC unless given.
    pub timezone: Option<String>,
    /// Instants, or civil dates of the zone.
    pub from: Option<String>,
    pub to: Option<String>,
    /// From where a calendar's periods are counted: a date.
    pub anchor: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub struct NewSloRule {
    pub name: String,
    /// `page ticket`
    pub severity: String,
    pub long_s: f64,
    pub short_s: f64,
    pub budget_fraction: f64,
    /// 2 unless given; for indicators of events.
    pub min_bad: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListSlos {
    pub service: Option<String>,
    /// Id or name of a monitor that has a say in it.
    pub monitor: Option<String>,
    /// Id or name.
    pub fleet: Option<String>,
    /// `ok at_risk burning exhausted breached no_data`
    pub state: Option<String>,
    /// Part of the name or of the service.
    pub search: Option<String>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// SLOs, the one with the least budget left first; those of which nothing can be said come last.
#[utoipa::path(get, path = "/slos", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(ListSlos), responses((status = 200, body = List<Slo>)))]
async fn list_slos(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListSlos>,
) -> ApiResult<Json<List<Slo>>> {
    let limit = page_limit(query.limit)?;
    // Infinity is no JSON: a place behind all numbers is written as null.
    let cursor: Option<(Option<f64>, i32)> = read_cursor(query.cursor.as_deref())?;
    let mut conn = state.pool.acquire().await?;
    let mut filter = Filter {
        service: query.service,
        state: query.state,
        search: query.search,
        after: cursor.map(|(left, key)| (left.unwrap_or(f64::INFINITY), key)),
        limit: limit + 1,
        ..Filter::default()
    };
    if let Some(word) = query.monitor {
        let found = store::monitors::named(&mut conn, std::slice::from_ref(&word)).await?;
        let missing = || ApiError::given("monitor", &word, "is no monitor");
        filter.monitor = Some(found.first().ok_or_else(missing)?.0.0);
    }
    if let Some(word) = query.fleet {
        let found = store::fleets::named(&mut conn, &word).await?;
        filter.fleet =
            Some(found.ok_or_else(|| ApiError::given("fleet", &word, "is no fleet"))?.key.0);
    }
    let order = store::slos::order(&mut conn, &filter).await?;
    let page = List::page(
        order,
        limit,
        |(left, key)| (Some(*left).filter(|left| left.is_finite()), key.0),
        |(_, key)| key.0,
    );
    let mut rows = store::slos::by_keys(&mut conn, &page.items).await?;
    let place = |row: &SloRow| page.items.iter().position(|key| *key == row.key.0);
    rows.sort_by_cached_key(place);
    let items = shown(&mut conn, rows, state.clock.now()).await?;
    Ok(Json(List { items, next: page.next }))
}

/// Adds an SLO. Its past is there at once, as far back as what it is about was watched.
#[utoipa::path(post, path = "/slos", tag = "slos", extensions(("x-role" = json!("editor"))),
    request_body = NewSlo, responses((status = 201, body = Slo, headers(("etag" = String)))))]
async fn create_slo(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(body): Json<Value>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let form = slo_form::read(&mut tx, body, now).await?;
    form.refuse_too_fine()?;
    let id = store::id_at(now);
    let key = store::slos::insert(&mut tx, id, &form.values, now).await?;
    store::slos::keep_definition(&mut tx, key, &caller.name, now).await?;
    store::audit::add(&mut tx, now, &caller.name, "slo.create", &subject(id), &detail(&form))
        .await?;
    let row = find(&mut tx, id, false).await?;
    triage::slos::refresh(&mut tx, &row, now).await?;
    let slo = shown_one(&mut tx, row, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, slo))
}

/// One SLO with its definition and how it stands.
#[utoipa::path(get, path = "/slos/{id}", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Slo, headers(("etag" = String)))))]
async fn get_slo(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    let row = find(&mut conn, id, false).await?;
    let slo = shown_one(&mut conn, row, state.clock.now()).await?;
    Ok(answer(StatusCode::OK, slo))
}

/// Changes an SLO: what is left out stays, null goes back to the usual. With `If-Match` it is refused (409)
/// when somebody saved in between.
#[utoipa::path(patch, path = "/slos/{id}", tag = "slos", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = NewSlo, responses((status = 200, body = Slo, headers(("etag" = String)))))]
async fn change_slo(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<Map<String, Value>>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let mut body = written(&mut tx, &old).await?;
    body.extend(change);
    let form = slo_form::read(&mut tx, Value::Object(body), now).await?;
    let redefined = form.values.definition != old.values.definition
        || form.values.subject != old.values.subject;
    if redefined {
        form.refuse_too_fine()?;
    }
    store::slos::update(&mut tx, old.key, &form.values, redefined, now).await?;
    store::slos::keep_definition(&mut tx, old.key, &caller.name, now).await?;
    let mut detail = detail(&form);
    detail["before"] = old.values.definition.clone();
    store::audit::add(&mut tx, now, &caller.name, "slo.change", &subject(id), &detail).await?;
    let row = find(&mut tx, id, false).await?;
    triage::slos::refresh(&mut tx, &row, now).await?;
    let slo = shown_one(&mut tx, row, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, slo))
}

/// Deletes an SLO; reports that were frozen stay readable.
#[utoipa::path(delete, path = "/slos/{id}", tag = "slos", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_slo(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    if_match(&headers, row.revision)?;
    triage::slos::close(&mut tx, &row, now).await?;
    store::slos::delete(&mut tx, row.key, now).await?;
    let detail = json!({ "name": row.values.name });
    store::audit::add(&mut tx, now, &caller.name, "slo.delete", &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<SloRow> {
    store::slos::get(conn, id, lock).await?.ok_or(ApiError::NotFound("SLO"))
}

fn subject(id: Uuid) -> String {
    format!("slo:{id}")
}

fn detail(form: &Form) -> Value {
    json!({ "name": form.values.name, "definition": form.values.definition })
}

fn answer(status: StatusCode, slo: Slo) -> Response {
    (status, [(header::ETAG, etag(slo.revision))], Json(slo)).into_response()
}

/// A stored SLO as a body again.
pub async fn written(conn: &mut PgConnection, row: &SloRow) -> ApiResult<Map<String, Value>> {
    let values = &row.values;
    let mut body = values.definition.as_object().cloned().unwrap_or_default();
    let keys: Vec<i32> = values.subject.monitors().iter().map(|key| key.0).collect();
    let known = store::slos::monitors(conn, &keys).await?;
    let uids: Vec<Value> = keys
        .iter()
        .filter_map(|key| known.iter().find(|watched| watched.key == *key))
        .map(|watched| watched.uid.to_string().into())
        .collect();
    match &values.subject {
        Subject::Composite(_) => {
            body.insert("members".into(), uids.into());
        }
        Subject::Monitor(_) | Subject::Fleet { .. } => {
            body.insert("monitor".into(), uids.into_iter().next().unwrap_or(Value::Null));
        }
    }
    if let Some(fleet) = values.subject.fleet() {
        let known = store::slos::fleets(conn, &[fleet.0]).await?;
        let uid = known.first().map(|watched| watched.uid.to_string());
        body.insert("fleet".into(), uid.into());
    }
    let texts = [
        ("name", &values.name),
        ("service", &values.service),
        ("description", &values.description),
        ("owner", &values.owner),
    ];
    for (name, text) in texts {
        body.insert(name.into(), text.clone().into());
    }
    body.insert("labels".into(), values.labels.clone());
    if let Some(channels) = &values.channels {
        body.insert("channels".into(), channels.iter().map(Uuid::to_string).collect());
    }
    Ok(body)
}
