//! Reports that were made by a schedule: which, how their delivery went, and the documents as they were made.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    reports::ReportedSlo,
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
    slo_documents::file,
};
use crate::{
    domain::slo::report::WindowKind,
    publish::{
        csv::{self, Part},
        document::Document,
        file_name, html,
    },
    store::{
        self,
        report_schedules::{SentFilter, SentRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_reports)).routes(routes!(get_report))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListReports {
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// A report that was made and sent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MadeReport {
    pub id: Uuid,
    pub schedule: Uuid,
    pub schedule_name: String,
    pub slo: ReportedSlo,
    pub due_at: At,
    pub window_start: At,
    pub window_end: At,
    /// Of the SLO as it was then: what its window is.
    pub window: Option<WindowKind>,
    /// Which revision of the frozen report it is; null when its figures could still change.
    pub revision: Option<i64>,
    /// Percentages are cut off, never rounded up.
    pub target_pct: Option<String>,
    pub pct: Option<String>,
    /// Null while the window runs, and when too little was seen.
    pub met: Option<bool>,
    /// `ok at_risk burning exhausted breached no_data`
    pub state: Option<String>,
    pub sha256: String,
    pub made_at: At,
    /// `delivered failed dropped`; null while it is still being tried.
    pub outcome: Option<String>,
    /// What the other side said last.
    pub answer: Option<String>,
}

/// Reports that were made, the latest first.
#[utoipa::path(get, path = "/reports", tag = "reports", extensions(("x-role" = json!("viewer"))),
    params(ListReports), responses((status = 200, body = List<MadeReport>)))]
async fn list_reports(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListReports>,
) -> ApiResult<Json<List<MadeReport>>> {
    let limit = page_limit(query.limit)?;
    let before: Option<(At, Uuid)> = read_cursor(query.cursor.as_deref())?;
    let before = before.map(|(at, id)| (at.0, id));
    let mut conn = state.pool.acquire().await?;
    let filter = SentFilter { report: None, before, limit: limit + 1 };
    let rows = store::report_schedules::sent(&mut conn, filter).await?;
    let cursor = |row: &SentRow| (At(row.made_at), row.report);
    Ok(Json(List::page(rows, limit, cursor, MadeReport::from)))
}

impl From<SentRow> for MadeReport {
    fn from(row: SentRow) -> Self {
        Self {
            id: row.report,
            schedule: row.schedule,
            schedule_name: row.schedule_name,
            slo: ReportedSlo { id: row.slo, name: row.slo_name },
            due_at: At(row.due_at),
            window_start: At(row.window_start),
            window_end: At(row.window_end),
            window: row.told.window.and_then(|window| serde_json::from_value(window).ok()),
            revision: row.told.revision,
            target_pct: row.told.target_pct,
            pct: row.told.pct,
            met: row.told.met,
            state: row.told.state,
            sha256: row.sha256,
            made_at: At(row.made_at),
            outcome: row.outcome,
            answer: row.answer,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WhichPart {
    /// Of `csv`: `summary` (the usual), `incidents`, `days`, `locations`, `maintenance`.
    pub part: Option<String>,
}

/// A report as it was made: `{id}.json`, `{id}.csv`, `{id}.html`. A PDF is made by printing the page.
#[utoipa::path(get, path = "/reports/{file}", tag = "reports", extensions(("x-role" = json!("viewer"))),
    params(("file" = String, Path, description = "Id and form, such as 01900000-0000-7000-8000-000000000000.html"), WhichPart),
    responses((status = 200, body = String), (status = 501)))]
async fn get_report(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(name): Path<String>,
    Query(query): Query<WhichPart>,
) -> ApiResult<Response> {
    let (id, form) = name.rsplit_once('.').unwrap_or((&name, ""));
    let id: Uuid = id.parse().map_err(|_| ApiError::NoId(id.to_owned()))?;
    let mut conn = state.pool.acquire().await?;
    let filter = SentFilter { report: Some(id), before: None, limit: 1 };
    let row = store::report_schedules::sent(&mut conn, filter).await?.pop();
    let document = row.and_then(|row| row.document).ok_or(ApiError::NotFound("report"))?;
    let document: Document =
        serde_json::from_value(document).map_err(|e| ApiError::Internal(e.into()))?;
    let name = file_name(&document);
    match form {
        "json" => Ok(Json(document.report).into_response()),
        "html" => {
            let page = html::page(&document);
            Ok(file("text/html; charset=utf-8", "inline", &format!("{name}.html"), page))
        }
        "csv" => {
            let word = query.part.as_deref().unwrap_or(Part::Summary.name());
            let part =
                Part::parse(word).ok_or_else(|| ApiError::given("part", word, "is no table"))?;
            let name = format!("{name}-{}.csv", part.name());
            Ok(file("text/csv; charset=utf-8", "attachment", &name, csv::table(&document, part)))
        }
        "pdf" => Err(super::slo_documents::no_pdf()),
        _ => Err(ApiError::NotFound("form of a report; there are .json, .csv and .html")),
    }
}
