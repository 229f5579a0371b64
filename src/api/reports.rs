//! Schedules of reports that are made and sent by themselves. When a cron expression comes, and sending at once,
//! is `report_times`; what was made is `reports_made`.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    channels::must_carry_news,
    error::{ApiError, ApiResult},
    monitors::{etag, if_match},
    report_times::UPCOMING,
    request::{At, Json, List, Path},
};
use crate::{
    domain::cron,
    store::{
        self,
        report_schedules::{LastMade, ScheduleRow, ScheduleValues},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_schedules, create_schedule))
        .routes(routes!(change_schedule, delete_schedule))
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
    /// The next three times that `cron` comes in its zone; none while it is switched off.
    pub upcoming: Vec<At>,
    /// Null until it made something.
    pub last: Option<LastReports>,
    pub revision: i32,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReportedSlo {
    pub id: Uuid,
    pub name: String,
}

/// What a schedule made last, and how its delivery went; what is neither delivered nor failed is still tried.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LastReports {
    pub due_at: At,
    pub made_at: At,
    /// One for each SLO.
    pub reports: i64,
    pub delivered: i64,
    pub failed: i64,
    /// What the other side said last to one that was not delivered.
    pub answer: Option<String>,
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
    Ok(Json(List::whole(shown(&mut conn, rows, state.clock.now()).await?)))
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
    let schedule = one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::CREATED, schedule))
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
    let schedule = one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::OK, schedule))
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

pub async fn find(conn: &mut PgConnection, id: Uuid, lock: bool) -> ApiResult<ScheduleRow> {
    let missing = || ApiError::NotFound("schedule of reports");
    if lock && !store::report_schedules::lock(conn, id).await? {
        return Err(missing());
    }
    store::report_schedules::list(conn, Some(id), None).await?.pop().ok_or_else(missing)
}

/// One as it is shown.
pub async fn one(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> ApiResult<ReportSchedule> {
    let row = find(conn, id, false).await?;
    let shown = shown(conn, vec![row], now).await?.pop();
    shown.ok_or(ApiError::NotFound("schedule of reports"))
}

async fn shown(
    conn: &mut PgConnection,
    rows: Vec<ScheduleRow>,
    now: Timestamp,
) -> ApiResult<Vec<ReportSchedule>> {
    let keys: Vec<i32> = rows.iter().map(|row| row.key).collect();
    let mut last = store::report_schedules::last_made(conn, &keys).await?;
    let mut of = |key: i32| {
        let at = last.iter().position(|made| made.schedule == key)?;
        Some(last.swap_remove(at))
    };
    Ok(rows
        .into_iter()
        .map(|row| {
            let made = of(row.key);
            ReportSchedule::of(row, made, now)
        })
        .collect())
}

pub async fn audit(
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

pub fn answer(status: StatusCode, schedule: ReportSchedule) -> Response {
    let tag = etag(schedule.revision);
    (status, [(header::ETAG, tag)], Json(schedule)).into_response()
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
    let next_at = cron::next(&cron, &timezone, now)?;
    let slos = match (body.slos, &old) {
        (Some(words), _) => slos(conn, words).await?,
        (None, Some(old)) => old.slos.clone(),
        (None, None) => return Err(missing("slos")),
    };
    let channel = match (body.channel, &old) {
        (Some(word), _) => {
            let known = store::channels::list(conn).await?;
            let found = known.iter().find(|c| c.name == word || c.id.to_string() == word);
            let found = found.ok_or_else(|| ApiError::given("channel", &word, "is no channel"))?;
            must_carry_news("channel", found)?;
            found.id
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

impl ReportSchedule {
    fn of(row: ScheduleRow, last: Option<LastMade>, now: Timestamp) -> Self {
        let values = row.values;
        let times = cron::upcoming(&values.cron, &values.timezone, now, UPCOMING);
        let upcoming = times.ok().filter(|_| values.enabled).unwrap_or_default();
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
            upcoming: upcoming.into_iter().map(At).collect(),
            last: last.map(|made| LastReports {
                due_at: At(made.due_at),
                made_at: At(made.made_at),
                reports: made.reports,
                delivered: made.delivered,
                failed: made.failed,
                answer: made.answer,
            }),
            revision: row.revision,
            created_at: At(row.created_at),
            updated_at: At(row.updated_at),
        }
    }
}
