//! The monitors list: rows rich enough for the page that shows them.

use std::collections::{BTreeMap, HashMap};

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
    monitor_form::text_map,
    monitors::{MonitorState, Seat},
    request::{At, Json, List, Query, page_limit, read_cursor},
    view::{Surroundings, View},
};
use crate::{
    domain::{check::Check, ids::MonitorKey, short},
    store::{
        self,
        monitor_list::{Filter, ListRow, Piece},
    },
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_monitors))
}

/// One row of the monitors list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MonitorRow {
    pub id: Uuid,
    pub name: String,
    pub group: String,
    pub labels: BTreeMap<String, String>,
    /// Check kind: `http`, …
    pub kind: String,
    /// What is probed, as people know it: the URL or host and port.
    pub target: String,
    pub interval_s: u32,
    pub enabled: bool,
    pub state: MonitorState,
    pub since: At,
    /// Low confidence.
    pub low: bool,
    pub evidence_stale: bool,
    pub flapping: bool,
    /// Inside a maintenance window now.
    pub maintenance: bool,
    /// The open incident.
    pub incident: Option<Uuid>,
    /// The latest result of any location.
    pub last_at: Option<At>,
    /// Of the latest pass, milliseconds.
    pub last_latency_ms: Option<f64>,
    /// One seat per configured location, in order.
    pub seats: Vec<Seat>,
    /// The last 24 hours as intervals without a gap, oldest first.
    pub strip: Vec<StripPiece>,
    pub revision: i32,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct StripPiece {
    pub from: At,
    pub to: At,
    /// Null: nothing is known, because it did not exist yet.
    pub state: Option<MonitorState>,
    pub evidence_stale: bool,
    pub low: bool,
    /// Quorate itself did not run.
    pub not_running: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListMonitors {
    /// States, separated by commas.
    pub state: Option<String>,
    /// Exactly this group.
    pub group: Option<String>,
    /// Part of name, group or target.
    pub q: Option<String>,
    /// `key` or `key=value`.
    pub label: Option<String>,
    /// Id or name of a location it is looked at from.
    pub location: Option<String>,
    /// `name` (unless given), or `state`: the worst first.
    pub sort: Option<MonitorSort>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MonitorSort {
    Name,
    State,
}

/// Monitors that match every filter.
#[utoipa::path(get, path = "/monitors", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    params(ListMonitors), responses((status = 200, body = List<MonitorRow>)))]
async fn list_monitors(
    State(state): State<AppState>,
    _viewer: Viewer,
    Query(query): Query<ListMonitors>,
) -> ApiResult<Json<List<MonitorRow>>> {
    let now = state.clock.now();
    let limit = page_limit(query.limit)?;
    let mut conn = state.pool.acquire().await?;
    let mut filter = Filter {
        group: query.group,
        text: query.q.filter(|text| !text.trim().is_empty()),
        after: read_cursor(query.cursor.as_deref())?,
        limit: limit + 1,
        ..Filter::default()
    };
    filter.states = query.state.as_deref().map(states).transpose()?;
    (filter.labels, filter.label_key) = label(query.label.as_deref());
    if let Some(word) = &query.location {
        filter.location = Some(super::locations::find(&mut conn, word).await?.0);
    }
    if query.sort == Some(MonitorSort::State) {
        filter.rank = worst_first();
    }
    let rows = store::monitor_list::list(&mut conn, &filter).await?;
    let page =
        List::page(rows, limit, |row| (row.rank, row.sort_name.clone(), row.key.0), |row| row);
    let items = present(&mut conn, page.items, now, true).await?;
    Ok(Json(List { items, next: page.next }))
}

/// States of a filter, separated by commas.
pub fn states(text: &str) -> ApiResult<Vec<i16>> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let known = MonitorState::from_word(word).map(|(_, code)| code);
            known.ok_or_else(|| {
                let message = format!(
                    "{:?} is no state; known are up, degraded, partial, down, unknown, pending, paused",
                    short(word)
                );
                ApiError::invalid("state", message)
            })
        })
        .collect()
}

/// `key=value` as an object to be contained, `key` as a key to be there.
pub fn label(text: Option<&str>) -> (Option<serde_json::Value>, Option<String>) {
    match text.map(|text| text.split_once('=')) {
        None => (None, None),
        Some(Some((key, value))) => (Some(serde_json::json!({ key: value })), None),
        Some(None) => (None, text.map(str::to_owned)),
    }
}

/// Place of each state in the order "worst first", by its number.
pub fn worst_first() -> Vec<i16> {
    let order = ["down", "partial", "degraded", "unknown", "pending", "up", "paused"];
    let mut rank = vec![0; order.len()];
    for (place, word) in (0..).zip(order) {
        let code = MonitorState::from_word(word).and_then(|(_, code)| usize::try_from(code).ok());
        if let Some(slot) = code.and_then(|code| rank.get_mut(code)) {
            *slot = place;
        }
    }
    rank
}

/// Rows as they are answered, in the same order.
pub async fn present(
    conn: &mut PgConnection,
    rows: Vec<ListRow>,
    now: Timestamp,
    strips: bool,
) -> ApiResult<Vec<MonitorRow>> {
    let keys: Vec<i32> = rows.iter().map(|row| row.key.0).collect();
    let around = Surroundings::read(conn, now).await?;
    let views = around.views(conn, &keys).await?;
    let from = now.saturating_sub(STRIP).unwrap_or(Timestamp::MIN);
    let mut pieces: HashMap<MonitorKey, Vec<Piece>> = HashMap::new();
    let mut holes = Vec::new();
    if strips {
        for piece in store::monitor_list::pieces(conn, &keys, from).await? {
            pieces.entry(piece.monitor).or_default().push(piece);
        }
        holes = store::chores::not_running(conn, from, now).await?;
    }
    let rows = rows.into_iter().filter_map(|row| {
        let view = views.get(&row.key)?;
        let strip = match pieces.get(&row.key) {
            Some(pieces) => strip(pieces, &holes, from, now),
            None => Vec::new(),
        };
        Some(shown(row, view, &around, strip))
    });
    Ok(rows.collect())
}

/// What a strip shows.
const STRIP: SignedDuration = SignedDuration::from_hours(24);

fn shown(row: ListRow, view: &View, around: &Surroundings, strip: Vec<StripPiece>) -> MonitorRow {
    let (last_at, last_latency_ms) = view.last_result();
    let check = Check::parse(row.check_spec).ok();
    MonitorRow {
        id: row.uid,
        name: row.name,
        group: row.group_name,
        labels: text_map(&row.labels),
        kind: check.as_ref().map_or("", Check::kind).to_owned(),
        target: check.as_ref().map(Check::target).unwrap_or_default(),
        interval_s: u32::try_from(row.interval_s).unwrap_or_default(),
        enabled: row.enabled,
        state: view.live.state.into(),
        since: At(super::view::instant(view.live.since)),
        low: view.live.low,
        evidence_stale: view.live.evidence_stale,
        flapping: view.live.flaps.flapping,
        maintenance: view.in_maintenance(around),
        incident: view.incident(),
        last_at: last_at.map(At),
        last_latency_ms,
        seats: view.marks(around),
        strip,
        revision: row.revision,
    }
}

/// Cuts intervals to the span, puts nothing where there was nothing, and lays the stretches without
/// Quorate over them.
fn strip(
    pieces: &[Piece],
    holes: &[(Timestamp, Timestamp)],
    from: Timestamp,
    to: Timestamp,
) -> Vec<StripPiece> {
    let mut strip = Vec::new();
    let mut reached = from;
    for piece in pieces {
        let begin = piece.from_at.clamp(reached, to);
        let end = piece.to_at.unwrap_or(to).clamp(begin, to);
        if begin > reached {
            strip.push(StripPiece::nothing(reached, begin));
        }
        if end > begin {
            strip.push(StripPiece {
                from: At(begin),
                to: At(end),
                state: Some(MonitorState::from_code(piece.state)),
                evidence_stale: piece.evidence_stale,
                low: piece.low,
                not_running: false,
            });
        }
        reached = end;
    }
    if reached < to {
        strip.push(StripPiece::nothing(reached, to));
    }
    holes.iter().fold(strip, |strip, hole| {
        strip.into_iter().flat_map(|piece| piece.without(hole.0, hole.1)).collect()
    })
}

impl StripPiece {
    fn nothing(from: Timestamp, to: Timestamp) -> Self {
        Self {
            from: At(from),
            to: At(to),
            state: None,
            evidence_stale: false,
            low: false,
            not_running: false,
        }
    }

    /// The same with a stretch marked in which Quorate did not run.
    fn without(self, from: Timestamp, to: Timestamp) -> Vec<Self> {
        let (begin, end) = (from.max(self.from.0), to.min(self.to.0));
        if begin >= end || self.state.is_none() {
            return vec![self];
        }
        let mut parts = Vec::with_capacity(3);
        if self.from.0 < begin {
            parts.push(Self { to: At(begin), ..self.clone() });
        }
        parts.push(Self { from: At(begin), to: At(end), not_running: true, ..self.clone() });
        if end < self.to.0 {
            parts.push(Self { from: At(end), ..self });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn piece(from: i64, to: Option<i64>, state: i16) -> Piece {
        Piece {
            monitor: MonitorKey(1),
            from_at: at(from),
            to_at: to.map(at),
            state,
            evidence_stale: false,
            low: false,
        }
    }

    fn drawn(
        pieces: &[Piece],
        holes: &[(i64, i64)],
    ) -> Vec<(i64, i64, Option<MonitorState>, bool)> {
        let holes: Vec<_> = holes.iter().map(|(a, b)| (at(*a), at(*b))).collect();
        let strip = strip(pieces, &holes, at(100), at(200));
        strip
            .iter()
            .map(|p| (p.from.0.as_second(), p.to.0.as_second(), p.state, p.not_running))
            .collect()
    }

    #[test]
    fn a_strip_has_no_gap_and_stays_within_its_span() {
        let up = MonitorState::from_word("up").unwrap().1;
        let down = MonitorState::from_word("down").unwrap().1;
        assert_eq!(
            drawn(
                &[piece(50, Some(120), up), piece(120, Some(130), down), piece(140, None, up)],
                &[]
            ),
            [
                (100, 120, Some(MonitorState::Up), false),
                (120, 130, Some(MonitorState::Down), false),
                (130, 140, None, false),
                (140, 200, Some(MonitorState::Up), false),
            ]
        );
        assert_eq!(drawn(&[], &[(110, 120)]), [(100, 200, None, false)]);
    }

    #[test]
    fn stretches_without_quorate_are_marked() {
        let up = MonitorState::from_word("up").unwrap().1;
        assert_eq!(
            drawn(&[piece(150, None, up)], &[(90, 160), (170, 180)]),
            [
                (100, 150, None, false),
                (150, 160, Some(MonitorState::Up), true),
                (160, 170, Some(MonitorState::Up), false),
                (170, 180, Some(MonitorState::Up), true),
                (180, 200, Some(MonitorState::Up), false),
            ]
        );
    }

    #[test]
    fn the_worst_comes_first() {
        let rank = worst_first();
        let of = |word| rank[usize::try_from(MonitorState::from_word(word).unwrap().1).unwrap()];
        assert!(of("down") < of("partial") && of("partial") < of("degraded"));
        assert!(
            of("degraded") < of("unknown") && of("unknown") < of("up") && of("up") < of("paused")
        );
        assert_eq!(states("down, unknown").unwrap().len(), 2);
        assert!(states("down,asleep").is_err());
    }
}
