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
        let (link, who) = opened(&mut conn, &state, came).await?;
        let row = find(&mut conn, link.incident).await?;
        let open = open_of(&mut conn, &row).await?;
        Ok((row, who, open))
    };
    match look.await {
        Ok((row, _, false)) => over(&row),
        Ok((row, _, true)) if row.acked_at.is_some() => taken(&row),
        Ok((row, who, true)) => {
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
        let (link, who) = opened(&mut tx, &state, came).await?;
        let row = find(&mut tx, link.incident).await?;
        if !open_of(&mut tx, &row).await? {
            return Ok((row, false));
        }
        let by = acks::By { name: &who, note: None, but: None };
        acknowledge(&mut tx, link.incident, by, &json!({}), now).await?;
        let row = find(&mut tx, link.incident).await?;
        tx.commit().await?;
        Ok((row, true))
    };
    match done.await {
        Ok((row, false)) => over(&row),
        Ok((row, true)) => taken(&row),
        Err(error) => refused(error),
    }
}

/// What a link stands for, and who comes by it: the address that it went to, or the channel's name.
async fn opened(
    conn: &mut PgConnection,
    state: &AppState,
    came: Came,
) -> ApiResult<(AckLink, String)> {
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
    Ok((link, who))
}

fn name(row: &Row) -> &str {
    let fleet = row.fleet.as_ref().map(|fleet| fleet.name.as_str());
    let slo = row.slo.as_ref().map(|slo| slo.name.as_str());
    let monitor = row.about.as_ref().map(|about| about.name.as_str());
    monitor.or(fleet).or(slo).unwrap_or("this incident")
}

fn taken(row: &Row) -> Response {
    let by = row.acked_by.as_deref().unwrap_or("Somebody");
    let body = html! {
        p { (by) " is at it. Nobody else is called for now." }
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
