//! Reports that are made and sent by themselves: their schedules, and what was made.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::{ApiError, ApiResult},
    monitors::{etag, if_match},
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
    slo_documents::file,
};
use crate::{
    domain::report_time,
    publish::{
        csv::{self, Part},
        document::Document,
        file_name, html,
    },
    store::{
        self,
        report_schedules::{ScheduleRow, ScheduleValues, SentFilter, SentRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_schedules, create_schedule))
        .routes(routes!(change_schedule, delete_schedule))
        .routes(routes!(list_reports))
        .routes(routes!(get_report))
}

/// When reports are made, of what, and where they go.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReportSchedule {
    pub id: Uuid,
    pub name: String,
    pub slos: Vec<ReportedSlo>,
    pub cron: String,
    pub timezone: String,
    pub channel: Uuid,
    pub channel_name: String,
    pub customer: String,
    pub enabled: bool,
    /// Null while it is switched off.
    pub next_at: Option<At>,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReportedSlo {
    pub id: Uuid,
    pub name: String,
}

/// A schedule as it is written; in a change, what is left out stays.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReportSchedule {
    pub name: Option<String>,
    /// Ids or names. Of a calendar's window the last one that is over is reported, of any other the present one.
    pub slos: Option<Vec<String>>,
    /// Minute, hour, day of the month, month, day of the week: `0 8 4 * *`. On the fourth day of a month or later
    /// the report is the frozen one.
    pub cron: Option<String>,
    /// In which `cron` is read; UTC unless given.
    pub timezone: Option<String>,
    /// Id or name: mail gets the page and the tables attached, a webhook the report as JSON.
    pub channel: Option<String>,
    /// For whom the reports are; stands at the top of each.
    pub customer: Option<String>,
    pub enabled: Option<bool>,
}

/// Schedules, by name.
#[utoipa::path(get, path = "/reports/schedules", tag = "reports", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<ReportSchedule>)))]
async fn list_schedules(
    State(state): State<AppState>,
    _viewer: Viewer,
) -> ApiResult<Json<List<ReportSchedule>>> {
    let mut conn = state.pool.acquire().await?;
    let rows = store::report_schedules::list(&mut conn, None, None).await?;
    Ok(Json(List::whole(rows.into_iter().map(ReportSchedule::from).collect())))
}

/// Adds a schedule.
#[utoipa::path(post, path = "/reports/schedules", tag = "reports", extensions(("x-role" = json!("editor"))),
    request_body = NewReportSchedule, responses((status = 201, body = ReportSchedule, headers(("etag" = String)))))]
async fn create_schedule(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Json(body): Json<NewReportSchedule>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let (values, next_at) = read(&mut tx, body, None, now).await?;
    let id = store::id_at(now);
    store::report_schedules::insert(&mut tx, id, &values, next_at, now).await?;
    audit(&mut tx, &caller.name, "report.schedule.create", id, &values, now).await?;
    let row = find(&mut tx, id, false).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, row))
}

/// Changes a schedule: what is left out stays. With `If-Match` it is refused (409) when somebody saved in between.
#[utoipa::path(patch, path = "/reports/schedules/{id}", tag = "reports", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)),
    request_body = NewReportSchedule, responses((status = 200, body = ReportSchedule, headers(("etag" = String)))))]
async fn change_schedule(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(body): Json<NewReportSchedule>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let old = find(&mut tx, id, true).await?;
    if_match(&headers, old.revision)?;
    let key = old.key;
    let (values, next_at) = read(&mut tx, body, Some(old), now).await?;
    store::report_schedules::update(&mut tx, key, &values, next_at, now).await?;
    audit(&mut tx, &caller.name, "report.schedule.change", id, &values, now).await?;
    let row = find(&mut tx, id, false).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, row))
}

/// Deletes a schedule; what was made stays readable.
#[utoipa::path(delete, path = "/reports/schedules/{id}", tag = "reports", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), ("if-match" = Option<String>, Header)), responses((status = 204)))]
async fn delete_schedule(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    if_match(&headers, row.revision)?;
    store::report_schedules::delete(&mut tx, row.key, now).await?;
    audit(&mut tx, &caller.name, "report.schedule.delete", id, &row.values, now).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<ScheduleRow> {
    let missing = || ApiError::NotFound("schedule of reports");
    if lock && !store::report_schedules::lock(conn, id).await? {
        return Err(missing());
    }
    store::report_schedules::list(conn, Some(id), None).await?.pop().ok_or_else(missing)
}

async fn audit(
    conn: &mut PgConnection,
    actor: &str,
    action: &str,
    id: Uuid,
    values: &ScheduleValues,
    now: Timestamp,
) -> sqlx::Result<()> {
    let detail = serde_json::json!({ "name": values.name, "cron": values.cron, "timezone": values.timezone });
    store::audit::add(conn, now, actor, action, &format!("report-schedule:{id}"), &detail).await
}

fn answer(status: StatusCode, row: ScheduleRow) -> Response {
    let tag = etag(row.revision);
    (status, [(header::ETAG, tag)], Json(ReportSchedule::from(row))).into_response()
}

/// Longest name, in characters; of a customer too.
const LONGEST: usize = 200;
/// SLOs of one schedule: each is a report of its own.
const MOST: usize = 100;

/// The values of a body over those that were there, and when it is due next.
async fn read(
    conn: &mut PgConnection,
    body: NewReportSchedule,
    old: Option<ScheduleRow>,
    now: Timestamp,
) -> ApiResult<(ScheduleValues, Option<Timestamp>)> {
    let old = old.map(|row| row.values);
    let missing = |field: &str| ApiError::invalid(field, "is missing");
    let before = |of: fn(&ScheduleValues) -> &String| old.as_ref().map(|v| of(v).clone());
    let name = body.name.map(|name| name.trim().to_owned());
    let name = name.or_else(|| before(|v| &v.name)).ok_or_else(|| missing("name"))?;
    if name.is_empty() || name.chars().count() > LONGEST {
        return Err(ApiError::invalid("name", format!("must have 1 to {LONGEST} characters")));
    }
    let customer = body.customer.or_else(|| before(|v| &v.customer)).unwrap_or_default();
    if customer.chars().count() > LONGEST {
        return Err(ApiError::invalid(
            "customer",
            format!("must have at most {LONGEST} characters"),
        ));
    }
    let cron = body.cron.or_else(|| before(|v| &v.cron)).ok_or_else(|| missing("cron"))?;
    let timezone =
        body.timezone.or_else(|| before(|v| &v.timezone)).unwrap_or_else(|| "UTC".into());
    let next_at = report_time::next(&cron, &timezone, now)?;
    let slos = match (body.slos, &old) {
        (Some(words), _) => slos(conn, words).await?,
        (None, Some(old)) => old.slos.clone(),
        (None, None) => return Err(missing("slos")),
    };
    let channel = match (body.channel, &old) {
        (Some(word), _) => {
            let known = store::channels::list(conn).await?;
            let found = known.iter().find(|c| c.name == word || c.id.to_string() == word);
            found.map(|c| c.id).ok_or_else(|| ApiError::given("channel", &word, "is no channel"))?
        }
        (None, Some(old)) => old.channel,
        (None, None) => return Err(missing("channel")),
    };
    let enabled = body.enabled.or(old.map(|old| old.enabled)).unwrap_or(true);
    let values = ScheduleValues { name, slos, cron, timezone, channel, customer, enabled };
    Ok((values, enabled.then_some(next_at)))
}

async fn slos(conn: &mut PgConnection, words: Vec<String>) -> ApiResult<Vec<i32>> {
    if words.is_empty() || words.len() > MOST {
        return Err(ApiError::invalid("slos", format!("must name 1 to {MOST} SLOs")));
    }
    let found = store::report_schedules::slos_named(conn, &words).await?;
    let mut keys = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        let key = found.iter().find(|(name, _)| name == word).map(|(_, key)| *key);
        let field = format!("slos[{index}]");
        let key = key.ok_or_else(|| ApiError::given(field, word, "is no SLO"))?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

impl From<ScheduleRow> for ReportSchedule {
    fn from(row: ScheduleRow) -> Self {
        let values = row.values;
        Self {
            id: row.uid,
            name: values.name,
            slos: row.slos.into_iter().map(|(id, name)| ReportedSlo { id, name }).collect(),
            cron: values.cron,
            timezone: values.timezone,
            channel: values.channel,
            channel_name: row.channel_name,
            customer: values.customer,
            enabled: values.enabled,
            next_at: row.next_at.map(At),
            revision: row.revision,
            created_at: At(row.created_at),
            updated_at: At(row.updated_at),
        }
    }
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
