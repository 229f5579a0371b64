//! Routes: from labels to who is told. The first that fits counts; without any, and where none fits, the
//! default channels hear of it.

use std::collections::BTreeMap;

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
    escalations::chosen,
    monitor_form::parse_labels,
    monitors::{etag, if_match},
    request::{At, Json, List, Path, not_null, present},
};
use crate::{
    domain::{
        Invalid,
        escalation::route::{self, By, Own, Rules},
        monitor::Name,
    },
    store::{self, routes::RouteRow},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_alert_routes, create_alert_route))
        .routes(routes!(change_alert_route, delete_alert_route))
        .routes(routes!(order_alert_routes))
        .routes(routes!(test_alert_routes))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = AlertRoute)]
pub struct Route {
    pub id: Uuid,
    pub name: String,
    #[serde(flatten)]
    pub rules: Rules,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = NewAlertRoute)]
#[serde(deny_unknown_fields)]
pub struct NewRoute {
    pub name: String,
    /// It fits what has all of these; without any it fits everything.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Ids or names, told at once.
    pub channels: Option<Vec<String>>,
    /// Id or name.
    pub escalation: Option<String>,
}

/// What is left out stays; null takes channels or escalation away.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = ChangeAlertRoute)]
#[serde(deny_unknown_fields)]
pub struct ChangeRoute {
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>)]
    pub channels: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub escalation: Option<Option<String>>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteOrder {
    /// The ids of all routes.
    pub ids: Vec<Uuid>,
}

/// Give a monitor, or labels.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteTest {
    /// Id or name.
    pub monitor: Option<String>,
    pub labels: Option<BTreeMap<String, String>>,
}

/// Who is told, and by whose word.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct ToldBy {
    pub by: ToldByWord,
    /// The route that leads there.
    pub route: Option<RouteRef>,
    pub escalation: Option<RouteRef>,
    /// Told at once; of an escalation, beside its steps. Null: with an escalation nobody beside it, else the
    /// default channels.
    pub channels: Option<Vec<RouteRef>>,
    /// The same in a few words: `route shop → on-call`.
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToldByWord {
    /// The monitor names channels or an escalation itself.
    Own,
    Route,
    Default,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct RouteRef {
    pub id: Uuid,
    pub name: String,
}

/// All routes in their order.
#[utoipa::path(get, path = "/routes", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Route>)))]
async fn list_alert_routes(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<Route>>> {
    Ok(Json(whole(&mut *state.pool.acquire().await?).await?))
}

/// Adds a route behind all others.
#[utoipa::path(post, path = "/routes", tag = "alerting", extensions(("x-role" = json!("editor"))),
    request_body = NewRoute, responses((status = 201, body = Route, headers(("etag" = String)))))]
async fn create_alert_route(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(form): Json<NewRoute>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let name = Name::parse("name", &form.name)?;
    let mut tx = state.pool.begin().await?;
    store::routes::lock(&mut tx).await?;
    let rules = Rules {
        labels: parse_labels(form.labels)?,
        channels: channels(&mut tx, form.channels.as_deref()).await?,
        escalation: escalation(&mut tx, form.escalation.as_deref()).await?,
    };
    rules.check()?;
    let id = store::id_at(now);
    store::routes::insert(&mut tx, id, name.as_str(), &rules, now).await?;
    let detail = json!({ "name": name.as_str(), "rules": rules });
    store::audit::add(&mut tx, now, &caller.name, "route.create", &subject(id), &detail).await?;
    let row = find(&mut tx, id).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, row))
}

/// Changes a route; incidents that are open stay with whom they are told to. With `If-Match` it is refused (409)
/// when somebody saved in between.
#[utoipa::path(patch, path = "/routes/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), request_body = ChangeRoute,
    responses((status = 200, body = Route, headers(("etag" = String)))))]
async fn change_alert_route(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(change): Json<ChangeRoute>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::routes::lock(&mut tx).await?;
    let old = find(&mut tx, id).await?;
    if_match(&headers, old.revision)?;
    let name = Name::parse("name", change.name.as_deref().unwrap_or(&old.name))?;
    let rules = Rules {
        labels: match change.labels {
            Some(labels) => parse_labels(labels)?,
            None => old.rules.labels.clone(),
        },
        channels: match change.channels {
            Some(words) => channels(&mut tx, words.as_deref()).await?,
            None => old.rules.channels.clone(),
        },
        escalation: match change.escalation {
            Some(word) => escalation(&mut tx, word.as_deref()).await?,
            None => old.rules.escalation,
        },
    };
    rules.check()?;
    store::routes::update(&mut tx, id, name.as_str(), &rules, now).await?;
    let detail = json!({ "name": name.as_str(), "rules": rules,
        "before": { "name": old.name, "rules": old.rules } });
    store::audit::add(&mut tx, now, &caller.name, "route.change", &subject(id), &detail).await?;
    let row = find(&mut tx, id).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, row))
}

/// Deletes a route; incidents that are open stay with whom they are told to.
#[utoipa::path(delete, path = "/routes/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_alert_route(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::routes::lock(&mut tx).await?;
    let old = find(&mut tx, id).await?;
    if_match(&headers, old.revision)?;
    store::routes::delete(&mut tx, id).await?;
    let detail = json!({ "name": old.name, "rules": old.rules });
    store::audit::add(&mut tx, now, &caller.name, "route.delete", &subject(id), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Puts the routes into this order. Refused (409) unless it names each of them once: somebody added or deleted
/// one in between.
#[utoipa::path(put, path = "/routes/order", tag = "alerting", extensions(("x-role" = json!("editor"))),
    request_body = RouteOrder, responses((status = 200, body = List<Route>)))]
async fn order_alert_routes(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(order): Json<RouteOrder>,
) -> ApiResult<Json<List<Route>>> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    store::routes::lock(&mut tx).await?;
    let mut known: Vec<Uuid> =
        store::routes::list(&mut tx).await?.into_iter().map(|row| row.id).collect();
    let mut given = order.ids.clone();
    known.sort_unstable();
    given.sort_unstable();
    if known != given {
        return Err(ApiError::conflict(
            "ids",
            "These are not all routes, each once: load them and try again.",
        ));
    }
    store::routes::order(&mut tx, &order.ids).await?;
    let detail = json!({ "ids": order.ids });
    store::audit::add(&mut tx, now, &caller.name, "route.order", "routes", &detail).await?;
    let list = whole(&mut tx).await?;
    tx.commit().await?;
    Ok(Json(list))
}

/// Says who would be told of a monitor, or of what has these labels, and by which route.
#[utoipa::path(post, path = "/routes/test", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    request_body = RouteTest, responses((status = 200, body = ToldBy)))]
async fn test_alert_routes(
    State(state): State<AppState>,
    _viewer: Viewer,
    Json(test): Json<RouteTest>,
) -> ApiResult<Json<ToldBy>> {
    let mut conn = state.pool.acquire().await?;
    let own = match (test.monitor, test.labels) {
        (Some(word), None) => {
            let found = store::monitors::named(&mut conn, std::slice::from_ref(&word)).await?;
            let missing = || ApiError::given("monitor", &word, "is no monitor");
            let key = found.first().ok_or_else(missing)?.0;
            own_of(&store::triage_read::facts(&mut conn, key).await?)
        }
        (None, Some(labels)) => Own { labels: parse_labels(labels)?, ..Own::default() },
        _ => return Err(ApiError::invalid("monitor", "give a monitor, or labels; one of them")),
    };
    Ok(Json(told_by(&mut conn, &own).await?))
}

/// What a monitor says itself of who is told.
fn own_of(facts: &store::triage_read::MonitorFacts) -> Own {
    Own {
        channels: facts.channels.clone().and_then(|ids| serde_json::from_value(ids).ok()),
        escalation: facts.escalation.as_ref().and_then(|id| id.parse().ok()),
        labels: crate::domain::fields::text_map(&facts.labels),
    }
}

/// Who is told, and by whose word.
pub async fn told_by(conn: &mut PgConnection, own: &Own) -> ApiResult<ToldBy> {
    let routes: Vec<route::Route> =
        store::routes::list(conn).await?.into_iter().map(Into::into).collect();
    let audience = route::audience(own, &routes);
    let escalation = match audience.escalation {
        Some(id) => store::escalations::get(conn, id, false).await?,
        None => None,
    };
    let known = store::channels::list(conn).await?;
    let channels = audience.channels.map(|ids| -> Vec<RouteRef> {
        let named = |id: &Uuid| known.iter().find(|channel| channel.id == *id);
        ids.iter().filter_map(named).map(|c| RouteRef { id: c.id, name: c.name.clone() }).collect()
    });
    let escalation = escalation.map(|row| RouteRef { id: row.id, name: row.name });
    let (by, route) = match audience.by {
        By::Own => (ToldByWord::Own, None),
        By::Route(route) => {
            (ToldByWord::Route, Some(RouteRef { id: route.id, name: route.name.clone() }))
        }
        By::Default => (ToldByWord::Default, None),
    };
    let mut to: Vec<String> = escalation.iter().map(|row| row.name.clone()).collect();
    to.extend(channels.iter().flatten().map(|channel| channel.name.clone()));
    let to = match (to.is_empty(), by) {
        (false, _) => to.join(", "),
        (true, ToldByWord::Default) => "every default channel".to_owned(),
        (true, _) => "nobody".to_owned(),
    };
    let sentence = match &route {
        Some(route) => format!("route {} → {to}", route.name),
        None => to,
    };
    Ok(ToldBy { by, route, escalation, channels, sentence })
}

async fn channels(
    conn: &mut PgConnection,
    words: Option<&[String]>,
) -> ApiResult<Option<Vec<Uuid>>> {
    let Some(words) = words else { return Ok(None) };
    let known = store::channels::list(conn).await?;
    let mut ids = chosen(&known, "channels", words)?;
    ids.dedup();
    if ids.len() > crate::domain::escalation::MOST_CHANNELS {
        return Err(ApiError::invalid("channels", "has more than 20"));
    }
    Ok(Some(ids))
}

async fn escalation(conn: &mut PgConnection, word: Option<&str>) -> ApiResult<Option<Uuid>> {
    let Some(word) = word else { return Ok(None) };
    let found = store::escalations::named(conn, word).await?;
    let missing = || Invalid::given("escalation", word, "is no escalation");
    Ok(Some(found.ok_or_else(missing)?.id))
}

async fn find(conn: &mut PgConnection, id: Uuid) -> ApiResult<RouteRow> {
    let found = store::routes::list(conn).await?.into_iter().find(|row| row.id == id);
    found.ok_or(ApiError::NotFound("route"))
}

async fn whole(conn: &mut PgConnection) -> ApiResult<List<Route>> {
    let rows = store::routes::list(conn).await?;
    Ok(List::whole(rows.into_iter().map(Into::into).collect()))
}

fn subject(id: Uuid) -> String {
    format!("route:{id}")
}

fn answer(status: StatusCode, row: RouteRow) -> Response {
    (status, [(header::ETAG, etag(row.revision))], Json(Route::from(row))).into_response()
}

impl From<RouteRow> for Route {
    fn from(row: RouteRow) -> Self {
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
