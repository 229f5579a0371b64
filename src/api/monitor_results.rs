//! Raw results of a monitor, and its latency over time.

use std::collections::BTreeMap;

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
    monitor_state::key,
    monitor_time::span,
    request::{At, Json, List, Path, Query, page_limit, read_cursor},
};
use crate::{
    domain::{
        ids::{LocationKey, MonitorKey},
        observation::{Class, Observation, Outcome, Phases, RunKind},
        rollup::{Counts, QUARTER_SECS},
    },
    store::{
        self,
        rollups::QuarterRow,
        timeline_read::{PhaseRow, ResultFilter, ResultRow, StepRow},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_observations)).routes(routes!(get_series))
}

/// One raw result.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ObservationRow {
    /// Start of the attempt.
    pub at: At,
    pub location: Uuid,
    pub location_name: String,
    pub kind: RunKind,
    pub outcome: Outcome,
    pub class: Option<Class>,
    pub status: Option<i16>,
    pub phases_us: Phases,
    pub size: Option<i32>,
    pub check_version: i32,
    /// `folded`, `freshness`, or why it is history only.
    pub disposition: String,
    /// Sentence and evidence; for failures and errors only.
    pub detail: Option<Observation>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListObservations {
    pub from: Option<At>,
    pub to: Option<At>,
    /// Id or name.
    pub location: Option<String>,
    pub outcome: Option<Outcome>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SeriesQuery {
    pub from: Option<At>,
    pub to: Option<At>,
    /// Seconds per point; chosen so that there are about 200 points unless given.
    pub step: Option<u32>,
    /// Id or name; all of them unless given.
    pub location: Option<String>,
}

/// Counts and latency of passes over time, without the results of locations in quarantine (from roll-ups:
/// without the quarter hours that touch one).
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Series {
    pub from: At,
    pub to: At,
    pub step_s: u32,
    /// `raw`, or `rollup` (quarter hours) where the span is longer than a day.
    pub source: String,
    /// All locations together.
    pub all: Vec<Point>,
    pub locations: Vec<LocationSeries>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LocationSeries {
    pub location: Uuid,
    pub name: String,
    pub points: Vec<Point>,
}

/// One step. Steps without a result are left out: a gap is a gap.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Point {
    pub at: At,
    pub runs: i64,
    pub passes: i64,
    pub fails: i64,
    pub errors: i64,
    /// Of passes, microseconds.
    pub p50_us: Option<i64>,
    pub p95_us: Option<i64>,
    pub p99_us: Option<i64>,
    /// Mean microseconds per phase, from raw results only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phases_us: BTreeMap<String, i64>,
}

/// Raw results, the latest first.
#[utoipa::path(get, path = "/monitors/{id}/observations", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListObservations), responses((status = 200, body = List<ObservationRow>)))]
async fn list_observations(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<ListObservations>,
) -> ApiResult<Json<List<ObservationRow>>> {
    let limit = page_limit(query.limit)?;
    // The present instant is within: its results have begun already.
    let soon = state.clock.now() + SignedDuration::from_secs(1);
    let (from, to) = span(query.from, query.to, soon)?;
    let mut conn = state.pool.acquire().await?;
    let monitor = key(&mut conn, id).await?;
    let location = match &query.location {
        None => None,
        Some(word) => Some(super::locations::find(&mut conn, word).await?.0),
    };
    let filter = ResultFilter {
        monitor,
        from,
        to,
        location,
        outcome: query.outcome.map(Outcome::code),
        before: read_cursor(query.cursor.as_deref())?,
        limit: limit + 1,
    };
    let rows = store::timeline_read::results(&mut conn, &filter).await?;
    let names = names(&mut conn).await?;
    Ok(Json(List::page(
        rows,
        limit,
        |row| (row.effective_at, row.location.0),
        |row| shown(row, &names),
    )))
}

/// Counts and latency percentiles over time, together and by location.
#[utoipa::path(get, path = "/monitors/{id}/series", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), SeriesQuery), responses((status = 200, body = Series)))]
async fn get_series(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(query): Query<SeriesQuery>,
) -> ApiResult<Json<Series>> {
    let (from, to) = span(query.from, query.to, state.clock.now() + SignedDuration::from_secs(1))?;
    let length = to.duration_since(from).as_secs();
    let raw = length <= DAY + 1;
    let step = step(query.step, length, raw)?;
    let mut conn = state.pool.acquire().await?;
    let monitor = key(&mut conn, id).await?;
    let location = match &query.location {
        None => None,
        Some(word) => Some(super::locations::find(&mut conn, word).await?),
    };
    let points = if raw {
        from_raw(&mut conn, monitor, (from, to), step, location).await?
    } else {
        from_rollups(&mut conn, monitor, (from, to), step, location).await?
    };
    let names = names(&mut conn).await?;
    let mut series = Series {
        from: At(from),
        to: At(to),
        step_s: u32::try_from(step).unwrap_or(u32::MAX),
        source: if raw { "raw" } else { "rollup" }.to_owned(),
        all: Vec::new(),
        locations: Vec::new(),
    };
    for (location, points) in points {
        match location.and_then(|key| names.get(&key)) {
            Some((uid, name)) => {
                series.locations.push(LocationSeries {
                    location: *uid,
                    name: name.clone(),
                    points,
                });
            }
            None => series.all = points,
        }
    }
    Ok(Json(series))
}

const DAY: i64 = 86_400;
/// Steps that make round numbers on a time axis.
const STEPS: [i64; 12] =
    [10, 30, 60, 120, 300, 600, QUARTER_SECS, 1_800, 3_600, 10_800, 21_600, DAY];

/// Points of one location, or of all together (none).
type Points = BTreeMap<Option<LocationKey>, Vec<Point>>;

/// Seconds per point: about 200 points, on a round number, and whole quarters from roll-ups.
fn step(asked: Option<u32>, length: i64, raw: bool) -> ApiResult<i64> {
    let least = if raw { 1 } else { QUARTER_SECS };
    match asked.map(i64::from) {
        None => {
            let fine = (length / 200).max(least);
            Ok(STEPS.into_iter().find(|step| *step >= fine).unwrap_or(DAY))
        }
        Some(step) if step < 1 || length / step > 2_000 => Err(ApiError::invalid(
            "step",
            format!("must give at most 2000 points: {} or more", length / 2_000 + 1),
        )),
        Some(step) => Ok((step.max(least) + least - 1) / least * least),
    }
}

async fn from_raw(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    span: (Timestamp, Timestamp),
    step: i64,
    location: Option<LocationKey>,
) -> ApiResult<Points> {
    let rows =
        store::timeline_read::steps(conn, monitor, span, step, location.map(|l| l.0)).await?;
    let mut points = Points::new();
    for row in rows {
        points.entry(row.location).or_default().push(Point::from(row));
    }
    Ok(points)
}

async fn from_rollups(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    span: (Timestamp, Timestamp),
    step: i64,
    location: Option<LocationKey>,
) -> ApiResult<Points> {
    let rows = store::rollups::quarters(conn, monitor.0..monitor.0 + 1, span.0, span.1).await?;
    // Quarters that touch a quarantine are left out whole: sums cannot be parted.
    let withheld = store::withheld::read(conn, &[], span.0, span.1).await?.of(monitor);
    let believed = |row: &QuarterRow| {
        let begin = row.at.as_millisecond();
        let end = begin + QUARTER_SECS * 1_000;
        withheld.get(&row.location).is_none_or(|out| out.within(begin, end).next().is_none())
    };
    let mut sums: BTreeMap<(Option<LocationKey>, i64), Counts> = BTreeMap::new();
    let wanted = |row: &QuarterRow| location.is_none_or(|wanted| wanted == row.location);
    for row in rows.into_iter().filter(|row| wanted(row) && believed(row)) {
        let begin = row.at.as_second().div_euclid(step) * step;
        sums.entry((Some(row.location), begin)).or_default().merge(&row.counts);
        sums.entry((None, begin)).or_default().merge(&row.counts);
    }
    let mut points = Points::new();
    for ((location, begin), counts) in sums {
        points.entry(location).or_default().push(Point::of(begin, &counts));
    }
    Ok(points)
}

impl Point {
    fn of(begin: i64, counts: &Counts) -> Self {
        let quantile = |q| counts.sketch.quantile(q).map(i64::from);
        Self {
            at: At(Timestamp::from_second(begin).unwrap_or_default()),
            runs: counts.runs.into(),
            passes: counts.passes.into(),
            fails: counts.fails.into(),
            errors: counts.errors.into(),
            p50_us: quantile(0.5),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
            phases_us: BTreeMap::new(),
        }
    }
}

impl From<StepRow> for Point {
    fn from(row: StepRow) -> Self {
        let whole = |value: Option<f64>| value.map(|value| value.round() as i64);
        let names = ["resolve", "connect", "tls", "first_byte", "transfer"];
        let phases = names.into_iter().zip(row.phases);
        Self {
            at: At(row.at),
            runs: row.runs,
            passes: row.passes,
            fails: row.fails,
            errors: row.errors,
            p50_us: whole(row.p50),
            p95_us: whole(row.p95),
            p99_us: whole(row.p99),
            phases_us: phases
                .filter_map(|(name, us)| Some((name.to_owned(), whole(us)?)))
                .collect(),
        }
    }
}

/// Ids and names of locations, deleted ones too.
async fn names(conn: &mut PgConnection) -> ApiResult<BTreeMap<LocationKey, (Uuid, String)>> {
    let rows = store::locations::names(conn).await?;
    Ok(rows.into_iter().map(|(key, uid, name)| (key, (uid, name))).collect())
}

fn shown(row: ResultRow, names: &BTreeMap<LocationKey, (Uuid, String)>) -> ObservationRow {
    let (location, location_name) = names.get(&row.location).cloned().unwrap_or_default();
    ObservationRow {
        at: At(row.effective_at),
        location,
        location_name,
        kind: RunKind::from_code(row.kind).unwrap_or(RunKind::Scheduled),
        outcome: Outcome::from_code(row.outcome).unwrap_or(Outcome::Error),
        class: Class::from_code(row.class),
        status: row.status,
        phases_us: row.phases.into(),
        size: row.size_bytes,
        check_version: row.check_version,
        disposition: disposition(row.disposition).to_owned(),
        detail: row.detail.and_then(|detail| serde_json::from_value::<Observation>(detail).ok()),
    }
}

/// Words for the numbers of `decision::Disposition`.
fn disposition(code: i16) -> &'static str {
    match code {
        0 => "folded",
        1 => "freshness",
        2 => "manual",
        3 => "error",
        4 => "age_estimated",
        5 => "out_of_order",
        6 => "too_old",
        7 => "old_version",
        8 => "not_configured",
        _ => "paused",
    }
}

impl From<PhaseRow> for Phases {
    fn from(row: PhaseRow) -> Self {
        let us = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok());
        Self {
            resolve: us(row.resolve),
            connect: us(row.connect),
            tls: us(row.tls),
            first_byte: us(row.first_byte),
            transfer: us(row.transfer),
            total: u32::try_from(row.total).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::{Disposition, HistoryOnly};

    #[test]
    fn steps_are_round_and_bounded() {
        assert_eq!(step(None, DAY, true).unwrap(), 600);
        assert_eq!(step(None, 3_600, true).unwrap(), 30);
        assert_eq!(step(None, 30 * DAY, false).unwrap(), 21_600);
        assert_eq!(step(None, 4_000 * DAY, false).unwrap(), DAY);
        // Roll-ups know nothing finer than a quarter of an hour.
        assert_eq!(step(Some(1_000), 2 * DAY, false).unwrap(), 1_800);
        assert!(step(Some(1), DAY, true).is_err());
        assert!(step(Some(0), DAY, true).is_err());
    }

    #[test]
    fn every_disposition_has_a_word() {
        let words = [
            (Disposition::Folded, "folded"),
            (Disposition::FreshnessOnly, "freshness"),
            (Disposition::History(HistoryOnly::Manual), "manual"),
            (Disposition::History(HistoryOnly::Error), "error"),
            (Disposition::History(HistoryOnly::AgeEstimated), "age_estimated"),
            (Disposition::History(HistoryOnly::OutOfOrder), "out_of_order"),
            (Disposition::History(HistoryOnly::TooOld), "too_old"),
            (Disposition::History(HistoryOnly::OldVersion), "old_version"),
            (Disposition::History(HistoryOnly::NotConfigured), "not_configured"),
            (Disposition::History(HistoryOnly::Paused), "paused"),
        ];
        for (value, word) in words {
            assert_eq!(disposition(value.code()), word);
        }
    }
}
