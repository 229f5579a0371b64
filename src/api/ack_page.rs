//! Acknowledging by the link in a message, without a login: the link is the key. A GET only asks and changes
//! nothing, because mail scanners follow every link they see.

use axum::{
    Router,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    http::StatusCode,
    response::Response,
    routing::get,
};
use jiff::tz::TimeZone;
use maud::html;
use serde::Deserialize;
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    AppState,
    error::{ApiError, ApiResult},
    incident_acts::{acknowledge, open_of},
    incidents::find,
    plain_page::page,
};
use crate::{
    notify::AckLink,
    store::{self, incidents_read::IncidentRow as Row},
    triage::acks,
};

pub(super) fn router() -> Router<AppState> {
    Router::new().route("/ack/{channel}", get(ask).post(act))
}

#[derive(Deserialize)]
struct Key {
    /// As `notify::AckLink` made it.
    t: String,
}

/// The channel and the key of an address; what cannot be read is no link of ours.
type Came = (Result<Path<Uuid>, PathRejection>, Result<Query<Key>, QueryRejection>);

async fn ask(State(state): State<AppState>, came: Came) -> Response {
    let look = async {
        let mut conn = state.pool.acquire().await?;
        let (link, who, channel) = opened(&mut conn, &state, came).await?;
        let row = find(&mut conn, link.incident).await?;
        if !open_of(&mut conn, &row).await? {
            return Ok((row, None));
        }
        let asks = !is_taken(&mut conn, &row, channel).await?;
        Ok((row, Some(asks.then_some(who))))
    };
    match look.await {
        Ok((row, None)) => over(&row),
        Ok((row, Some(None))) => taken(&row, 1),
        Ok((row, Some(Some(who)))) => {
            let since = row.started_at.to_zoned(TimeZone::UTC).strftime("%a %-d %b %H:%M UTC");
            let title = format!("Acknowledge {}?", name(&row));
            let body = html! {
                p { (row.sentence) }
                p { "It has been going on since " (since.to_string()) "." }
                form method="post" { button { "I am at it" } }
                p { "Calls and reminders stop for a while, and those who were told hear that it is " (who) "." }
            };
            page(StatusCode::OK, &title, &body)
        }
        Err(error) => refused(error),
    }
}

async fn act(State(state): State<AppState>, came: Came) -> Response {
    let now = state.clock.now();
    let done = async {
        let mut tx = state.pool.begin().await?;
        let (link, who, channel) = opened(&mut tx, &state, came).await?;
        let row = find(&mut tx, link.incident).await?;
        if !open_of(&mut tx, &row).await? {
            return Ok((row, None));
        }
        let by = acks::By { name: &who, note: None, through: &[channel], but: None };
        let count = acknowledge(&mut tx, link.incident, by, &json!({}), now).await?;
        let row = find(&mut tx, link.incident).await?;
        tx.commit().await?;
        Ok((row, Some(count)))
    };
    match done.await {
        Ok((row, None)) => over(&row),
        Ok((row, Some(count))) => taken(&row, count),
        Err(error) => refused(error),
    }
}

/// Whether somebody is at all that was told together through a channel.
async fn is_taken(conn: &mut PgConnection, row: &Row, channel: Uuid) -> ApiResult<bool> {
    for (_, one) in acks::together(conn, row, &[channel]).await? {
        if find(conn, one).await?.acked_at.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a link stands for, who comes by it (the address that it went to, or the channel's name), and through which
/// channel.
async fn opened(
    conn: &mut PgConnection,
    state: &AppState,
    came: Came,
) -> ApiResult<(AckLink, String, Uuid)> {
    let gone = ApiError::NotFound("link");
    let (Ok(Path(channel)), Ok(Query(key))) = came else { return Err(gone) };
    let Some(link) = AckLink::read(&state.sealer, channel, &key.t, state.clock.now()) else {
        return Err(gone);
    };
    let Some(channel) = store::channels::get(conn, channel).await? else { return Err(gone) };
    let who = match link.to.is_empty() {
        true => format!("somebody in {}", channel.name),
        false => link.to.clone(),
    };
    Ok((link, who, channel.id))
}

fn name(row: &Row) -> &str {
    let fleet = row.fleet.as_ref().map(|fleet| fleet.name.as_str());
    let slo = row.slo.as_ref().map(|slo| slo.name.as_str());
    let monitor = row.about.as_ref().map(|about| about.name.as_str());
    monitor.or(fleet).or(slo).unwrap_or("this incident")
}

/// `count` incidents of one alert were acknowledged.
fn taken(row: &Row, count: usize) -> Response {
    let by = row.acked_by.as_deref().unwrap_or("Somebody");
    let body = html! {
        p { (by) " is at it. Nobody else is called for now." }
        @if count > 1 { p { "That goes for all " (count) " incidents of the alert." } }
        p { (row.sentence) }
    };
    page(StatusCode::OK, &format!("{} is acknowledged.", name(row)), &body)
}

fn over(row: &Row) -> Response {
    let body = html! { p { "There is nothing left to acknowledge." } };
    page(StatusCode::OK, &format!("The incident of {} is over.", name(row)), &body)
}

fn refused(error: ApiError) -> Response {
    if let ApiError::NotFound(_) = error {
        let body = html! {
            p { "It was cut, or it is older than a day. Open the incident in Quorate, or take the link of a newer message." }
        };
        return page(StatusCode::NOT_FOUND, "This link is not valid any more.", &body);
    }
    tracing::error!(%error, "an incident could not be acknowledged by its link");
    let body = html! { p { "Nothing was changed. Please try again in a minute." } };
    page(StatusCode::SERVICE_UNAVAILABLE, "That did not work.", &body)
}
