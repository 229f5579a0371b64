//! Everything the overview needs, in one answer.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    incidents::IncidentRow,
    locations::{self, Location},
    monitor_list::{self, MonitorRow},
    monitors::MonitorState,
    request::{At, Query},
};
use crate::store::{self, incidents_read::Filter as Incidents, monitor_list::Filter};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_overview))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Overview {
    pub now: At,
    /// One sentence: what is wrong, or that nothing is.
    pub sentence: String,
    /// Over all monitors, whatever the filter.
    pub counts: StateCounts,
    /// Group names, in order.
    pub groups: Vec<String>,
    /// At most 500, the worst first; their seats are the matrix, their strips are empty.
    pub monitors: Vec<MonitorRow>,
    /// There are more monitors than shown.
    pub more: bool,
    pub locations: Vec<Location>,
    /// Open ones, the latest first.
    pub incidents: Vec<IncidentRow>,
    /// The last one that ended, for calm days.
    pub last_incident: Option<IncidentRow>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct StateCounts {
    pub total: i64,
    pub up: i64,
    pub degraded: i64,
    pub partial: i64,
    pub down: i64,
    pub unknown: i64,
    pub pending: i64,
    pub paused: i64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct OverviewQuery {
    /// States, separated by commas.
    pub state: Option<String>,
    pub group: Option<String>,
    pub q: Option<String>,
    pub label: Option<String>,
}

/// State counts, what needs attention, and the locations × monitors matrix. Answers 304 to a matching
/// `If-None-Match`.
#[utoipa::path(get, path = "/overview", tag = "overview", extensions(("x-role" = json!("viewer"))),
    params(OverviewQuery), responses((status = 200, body = Overview, headers(("etag" = String)))))]
async fn get_overview(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<OverviewQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let mut filter = Filter {
        group: query.group,
        text: query.q.filter(|text| !text.trim().is_empty()),
        rank: monitor_list::worst_first(),
        limit: MOST + 1,
        ..Filter::default()
    };
    filter.states = query.state.as_deref().map(monitor_list::states).transpose()?;
    (filter.labels, filter.label_key) = monitor_list::label(query.label.as_deref());
    let mut rows = store::monitor_list::list(&mut conn, &filter).await?;
    let more = rows.len() > usize::try_from(MOST).unwrap_or_default();
    rows.truncate(usize::try_from(MOST).unwrap_or_default());
    let counts = counts(&store::monitor_list::counts(&mut conn).await?);
    let open = Incidents { open: Some(true), limit: 100, ..Incidents::default() };
    let open = store::incidents_read::list(&mut conn, &open).await?;
    let last = Incidents { open: Some(false), limit: 1, ..Incidents::default() };
    let last = store::incidents_read::list(&mut conn, &last).await?.pop();
    let overview = Overview {
        now: At(now),
        sentence: sentence(&counts),
        counts,
        groups: store::monitor_list::groups(&mut conn).await?,
        monitors: monitor_list::present(&mut conn, rows, now, false).await?,
        more,
        locations: locations::all(&mut conn, now).await?,
        incidents: open.into_iter().map(|row| IncidentRow::shown(row, now)).collect(),
        last_incident: last.map(|row| IncidentRow::shown(row, now)),
    };
    answer(&overview, &headers)
}

/// At most so many monitors in one answer.
const MOST: i64 = 500;

/// The answer with its tag, or 304 when the caller has it already. The instant is no part of the tag:
/// without it nothing would ever be the same.
fn answer(overview: &Overview, headers: &HeaderMap) -> ApiResult<Response> {
    let mut value = serde_json::to_value(overview).map_err(anyhow::Error::from)?;
    let body = serde_json::to_vec(&value).map_err(anyhow::Error::from)?;
    value["now"] = serde_json::Value::Null;
    for incident in value["incidents"].as_array_mut().into_iter().flatten() {
        incident["duration_ms"] = serde_json::Value::Null;
    }
    let tag = format!("\"{}\"", hex::encode(&Sha256::digest(value.to_string())[..12]));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
    if known
        .is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag))
    {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let head = [(header::ETAG, tag), (header::CONTENT_TYPE, "application/json".to_owned())];
    Ok((head, body).into_response())
}

fn counts(rows: &[(i16, i64)]) -> StateCounts {
    let mut counts = StateCounts::default();
    for (code, count) in rows {
        let slot = match MonitorState::from_code(*code) {
            MonitorState::Up => &mut counts.up,
            MonitorState::Degraded => &mut counts.degraded,
            MonitorState::Partial => &mut counts.partial,
            MonitorState::Down => &mut counts.down,
            MonitorState::Unknown => &mut counts.unknown,
            MonitorState::Pending => &mut counts.pending,
            MonitorState::Paused => &mut counts.paused,
        };
        *slot += count;
        counts.total += count;
    }
    counts
}

/// What is wrong, worst first; or that nothing is.
fn sentence(counts: &StateCounts) -> String {
    let watched = counts.total - counts.paused;
    if counts.total == 0 {
        return "Nothing is watched yet.".to_owned();
    }
    if watched == 0 {
        return "Everything is paused.".to_owned();
    }
    let parts = [
        (counts.down, "down"),
        (counts.partial, "partly down"),
        (counts.degraded, "slow"),
        (counts.unknown, "unknown"),
    ];
    let wrong: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {} {word}", if count == 1 { "is" } else { "are" }))
        .collect();
    match (wrong.split_last(), counts.pending) {
        (None, 0) if watched == 1 => "The one monitor is up.".to_owned(),
        (None, 0) => format!("All {watched} monitors are up."),
        (None, pending) => format!(
            "{} of {watched} monitors are up, {pending} await their first result.",
            counts.up
        ),
        (Some((only, [])), _) => format!("Of {watched} monitors, {only}."),
        (Some((last, rest)), _) => {
            format!("Of {watched} monitors, {} and {last}.", rest.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_the_worst_first() {
        let of = |down, partial, up| {
            sentence(&StateCounts {
                total: down + partial + up,
                down,
                partial,
                up,
                ..StateCounts::default()
            })
        };
        assert_eq!(of(0, 0, 0), "Nothing is watched yet.");
        assert_eq!(of(0, 0, 1), "The one monitor is up.");
        assert_eq!(of(0, 0, 7), "All 7 monitors are up.");
        assert_eq!(of(1, 0, 6), "Of 7 monitors, 1 is down.");
        assert_eq!(of(2, 1, 4), "Of 7 monitors, 2 are down and 1 is partly down.");
        let paused = StateCounts { total: 2, paused: 2, ..StateCounts::default() };
        assert_eq!(sentence(&paused), "Everything is paused.");
        let new = StateCounts { total: 3, up: 1, pending: 2, ..StateCounts::default() };
        assert_eq!(sentence(&new), "1 of 3 monitors are up, 2 await their first result.");
    }
}
