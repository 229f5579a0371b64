//! What an SLO would say: of a timeline that is sent along, with another target, or before it is saved. The
//! same engine, and nothing is stored.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    request::{Json, Look, Path},
    slo_form,
    slo_shown::{SloRule, rule_of},
    slos::{NewSlo, find, written},
};
use crate::{
    domain::{
        fields::kind_of,
        slo::{
            asked::Asked,
            definition::Definition,
            document,
            evaluate::evaluate,
            report::{Report, Warning},
            resolution,
            window::zone,
        },
    },
    store::{
        self,
        slo_inputs::{self, View},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(simulate_slo))
        .routes(routes!(simulate_saved_slo))
        .routes(routes!(check_slo))
}

/// What `quorate slo eval` reads: the SLO and what was seen.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub struct SloDocument {
    #[schema(value_type = Object)]
    pub slo: Value,
    pub as_of: Option<String>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub timeline: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub maintenance: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub events: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub slots: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub members: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub requests: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub incidents: Option<Value>,
    pub created_at: Option<String>,
    pub deleted_at: Option<String>,
}

/// Fields of a document that say what was seen; without any of them it is what is stored.
const SEEN: [&str; 5] = ["timeline", "slots", "events", "members", "requests"];

/// Works out the report on an SLO that is not saved, from what is sent along: anybody can check a number.
#[utoipa::path(post, path = "/slos/simulate", tag = "slos", extensions(("x-role" = json!("viewer"))),
    request_body = SloDocument, responses((status = 200, body = Report)))]
async fn simulate_slo(
    State(_state): State<AppState>,
    _viewer: Viewer,
    Look(body): Look<Value>,
) -> ApiResult<Json<Report>> {
    of_document(body).map(Json)
}

fn of_document(body: Value) -> ApiResult<Report> {
    let (definition, inputs) = document::read(body)?;
    evaluate(&definition, &inputs)
        .ok_or_else(|| ApiError::invalid("slo.window", "lies beyond the calendar"))
}

/// The same for a saved SLO. `slo` holds what would be different (`{"target_ppb": 990000000}`); without a
/// timeline, events or members it is worked out from what is stored, for `window` and `as_of` as in a report.
#[utoipa::path(post, path = "/slos/{id}/simulate", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), request_body = SloDocument, responses((status = 200, body = Report)))]
async fn simulate_saved_slo(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Look(body): Look<Value>,
) -> ApiResult<Json<Report>> {
    let now = state.clock.now();
    let Value::Object(mut body) = body else {
        let why = format!("The body must be an object, not {}.", kind_of(&body));
        return Err(ApiError::Malformed(why));
    };
    let mut conn = state.pool.acquire().await?;
    let mut slo = find(&mut conn, id, false).await?;
    let definition = changed(&slo.values.definition, body.remove("slo"))?;
    if SEEN.iter().any(|name| body.get(*name).is_some_and(|value| !value.is_null())) {
        drop(conn);
        body.insert("slo".into(), definition);
        return of_document(Value::Object(body)).map(Json);
    }
    slo.values.definition = definition;
    let under = |e: crate::domain::Invalid| e.under("slo");
    let objective =
        document::objective(slo.values.definition.clone(), now.as_millisecond()).map_err(under)?;
    let view = view(body, &objective.definition, View::current(now))?;
    let read = slo_inputs::of(&mut conn, &slo, &objective, view).await?;
    let report = read.and_then(|(definition, inputs)| evaluate(&definition, &inputs));
    report.map(Json).ok_or_else(|| ApiError::invalid("window", "lies beyond the calendar"))
}

/// A definition with some fields replaced; null goes back to the usual.
fn changed(definition: &Value, change: Option<Value>) -> ApiResult<Value> {
    let mut map = definition.as_object().cloned().unwrap_or_default();
    match change {
        None | Some(Value::Null) => {}
        Some(Value::Object(change)) => map.extend(change),
        Some(other) => {
            let why = format!("must be an object, not {}", kind_of(&other));
            return Err(ApiError::invalid("slo", why));
        }
    }
    map.retain(|_, value| !value.is_null());
    Ok(Value::Object(map))
}

fn view(mut body: Map<String, Value>, definition: &Definition, usual: View) -> ApiResult<View> {
    let mut view = usual;
    let zone = zone(&definition.timezone)?;
    let mut word = |name: &str| match body.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            Err(ApiError::invalid(name, format!("must be text, not {}", kind_of(&other))))
        }
    };
    if let Some(text) = word("window")? {
        view.asked = Asked::parse(&text, &zone)?;
    }
    if let Some(text) = word("as_of")? {
        view.as_of = Some(document::bound(&text, "as_of", &zone)?);
    }
    match body.keys().next() {
        None => Ok(view),
        Some(name) => Err(ApiError::invalid(
            name.clone(),
            "is of no use without what was seen: send timeline, slots, events, members or requests along",
        )),
    }
}

/// What a form would come to.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SloCheck {
    pub warnings: Vec<Warning>,
    /// Why it would not be saved.
    pub refused: Option<String>,
    /// What may be bad in a whole window, in milliseconds; null for indicators of events.
    pub budget_ms: Option<i64>,
    /// The shortest outage that the monitor can tell; null without a monitor that is watched from somewhere.
    pub smallest_outage_ms: Option<i64>,
    pub rules: Vec<SloRule>,
}

/// Looks at a form as one types: what is wrong with it (422, by field), what is strange about it, and what it
/// would mean. With `id`, the fields that are left out are those of that SLO.
#[utoipa::path(post, path = "/slos/check", tag = "slos", extensions(("x-role" = json!("viewer"))),
    request_body = NewSlo, responses((status = 200, body = SloCheck)))]
async fn check_slo(
    State(state): State<AppState>,
    _viewer: Viewer,
    Look(body): Look<Value>,
) -> ApiResult<Json<SloCheck>> {
    let now = state.clock.now();
    let Value::Object(mut body) = body else {
        let why = format!("The body must be an object, not {}.", kind_of(&body));
        return Err(ApiError::Malformed(why));
    };
    let mut conn = state.pool.acquire().await?;
    if let Some(id) = body.remove("id") {
        let id = id.as_str().and_then(|id| Uuid::try_parse(id).ok());
        let id = id.ok_or_else(|| ApiError::invalid("id", "is no id"))?;
        let slo = find(&mut conn, id, false).await?;
        let mut whole = written(&mut conn, &slo).await?;
        whole.extend(body);
        body = whole;
    }
    // A name is asked for when it is saved.
    let named = body.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    if !named {
        body.insert("name".into(), "unnamed".into());
    }
    let form = slo_form::read(&mut conn, Value::Object(body), now).await?;
    let keys: Vec<i32> = form.values.subject.monitors().iter().map(|key| key.0).collect();
    let monitors = store::slo_state::monitors(&mut conn, &keys).await?;
    let definition = &form.objective.definition;
    let window = definition.window.nominal();
    let budget = definition.target.allowance().times(window.max(0) as u128).floor();
    let refused = match form.refuse_too_fine() {
        Err(ApiError::Invalid(invalid)) => Some(invalid.message),
        _ => None,
    };
    Ok(Json(SloCheck {
        refused,
        budget_ms: definition.sli.is_time().then(|| i64::try_from(budget).unwrap_or(i64::MAX)),
        smallest_outage_ms: slo_inputs::resolution(&monitors).map(resolution::smallest),
        rules: definition.rules.iter().map(|rule| rule_of(rule, definition, window)).collect(),
        warnings: form.warnings,
    }))
}
