//! The report on an SLO as somebody hands it out: tables as CSV, a page that prints.

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    request::{At, Path, Query},
    slo_reports::{asked, beyond, even_deleted, frozen},
};
use crate::{
    publish::{
        csv::{self, Part},
        document::Document,
        file_name, html,
    },
    store::slo_inputs::{self, View},
    triage,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_slo_report_csv))
        .routes(routes!(get_slo_report_html))
        .routes(routes!(get_slo_report_pdf))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WhichTable {
    /// `summary` (the usual), `incidents`, `days`, `locations`, `maintenance`.
    pub part: Option<String>,
    /// `current` (the usual), `previous`, or `FROM..TO` in instants or in civil dates of the SLO's zone.
    pub window: Option<String>,
    /// With today's data, up to here.
    pub as_of: Option<At>,
    /// As it was frozen; only of a window that is over.
    pub revision: Option<i32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WhichPage {
    /// For whom it is; stands at the top.
    pub customer: Option<String>,
    /// `current` (the usual), `previous`, or `FROM..TO` in instants or in civil dates of the SLO's zone.
    pub window: Option<String>,
    /// With today's data, up to here.
    pub as_of: Option<At>,
    /// As it was frozen; only of a window that is over.
    pub revision: Option<i32>,
}

/// A table of the report, as RFC 4180 has it.
#[utoipa::path(get, path = "/slos/{id}/report.csv", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), WhichTable), responses((status = 200, content_type = "text/csv", body = String)))]
async fn get_slo_report_csv(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(which): Query<WhichTable>,
) -> ApiResult<Response> {
    let word = which.part.as_deref().unwrap_or(Part::Summary.name());
    let part = Part::parse(word).ok_or_else(|| {
        let known = format!("is no table; known are {}", Part::ALL.map(Part::name).join(", "));
        ApiError::given("part", word, &known)
    })?;
    let asked = Which { window: which.window, as_of: which.as_of, revision: which.revision };
    let mut conn = state.pool.acquire().await?;
    let document = document(&state, &mut conn, id, &asked).await?;
    let name = format!("{}-{}.csv", file_name(&document), part.name());
    Ok(file("text/csv; charset=utf-8", "attachment", &name, csv::table(&document, part)))
}

/// The report as one page that holds everything it needs and prints on two sheets of A4 for a usual month.
#[utoipa::path(get, path = "/slos/{id}/report.html", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), WhichPage), responses((status = 200, content_type = "text/html", body = String)))]
async fn get_slo_report_html(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(which): Query<WhichPage>,
) -> ApiResult<Response> {
    let asked = Which { window: which.window, as_of: which.as_of, revision: which.revision };
    let mut conn = state.pool.acquire().await?;
    let mut document = document(&state, &mut conn, id, &asked).await?;
    document.context.customer = which.customer.filter(|name| !name.trim().is_empty());
    let name = format!("{}.html", file_name(&document));
    Ok(file("text/html; charset=utf-8", "inline", &name, html::page(&document)))
}

/// There is no PDF: that would need a browser beside the coordinator. The page prints to one.
#[utoipa::path(get, path = "/slos/{id}/report.pdf", tag = "slos", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 501)))]
async fn get_slo_report_pdf(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<StatusCode> {
    let mut conn = state.pool.acquire().await?;
    even_deleted(&mut conn, id).await?;
    Err(no_pdf())
}

pub fn no_pdf() -> ApiError {
    ApiError::NotBuilt(
        "A PDF is not made here. Open the .html of the report and print it to a file: it is laid out for A4.",
    )
}

/// Which report somebody wants.
struct Which {
    window: Option<String>,
    as_of: Option<At>,
    revision: Option<i32>,
}

/// The report, worked out or as it was frozen, with what stands beside it.
async fn document(
    state: &AppState,
    conn: &mut PgConnection,
    id: Uuid,
    which: &Which,
) -> ApiResult<Document> {
    let now = state.clock.now();
    let slo = even_deleted(conn, id).await?;
    let objective = slo_inputs::objective(&slo, now)?;
    let view = View {
        asked: asked(which.window.as_deref(), &objective.definition)?,
        as_of: which.as_of.map(|at| at.0.as_millisecond()),
        ..View::current(now)
    };
    let kept = match which.revision {
        None => None,
        Some(revision) => Some(frozen(conn, &slo, &objective.definition, view, revision).await?),
    };
    triage::slos::document(conn, &slo, &objective, view, kept).await?.ok_or_else(beyond)
}

/// What a browser may keep but not run: nothing in it is loaded from anywhere.
pub fn file(kind: &'static str, how: &str, name: &str, body: String) -> Response {
    let disposition = format!("{how}; filename=\"{name}\"");
    let disposition =
        HeaderValue::try_from(disposition).unwrap_or(HeaderValue::from_static("inline"));
    let fixed = |text: &'static str| HeaderValue::from_static(text);
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_TYPE, fixed(kind)),
        (header::CONTENT_DISPOSITION, disposition),
        (
            header::CONTENT_SECURITY_POLICY,
            fixed("default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        ),
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
    ];
    (headers, body).into_response()
}
