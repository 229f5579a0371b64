//! What PagerDuty and Slack call back: somebody is at an incident, and said so there. The signature is the key;
//! whoever makes it can acknowledge what was told through the channel, and nothing else.
//!
//! Both sides take any answer but a 2xx for a failure of ours and, if there are some, stop calling. So what is
//! theirs to say but concerns nobody here is taken with a 200 that says why it changes nothing.

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State, rejection::BytesRejection},
    http::HeaderMap,
    routing::post,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::PgConnection;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::{
    AppState,
    error::{ApiError, ApiResult},
    incident_acts::{acknowledge, event, lock, open_of, take_back},
    incidents::find,
    request::{Json, Path},
};
use crate::{
    domain::{
        callback::{Act, Before, Said, Stale, pagerduty, slack},
        channel::ChannelKind,
        secret::Secret,
    },
    notify,
    store::{
        self,
        incidents_read::{EventRow, IncidentRow},
    },
    triage::acks,
};

/// PagerDuty sends nothing larger.
const MAX_BODY: usize = 256 * 1024;

pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route("/callbacks/pagerduty/{channel}", post(from_pagerduty))
        .route("/callbacks/slack/{channel}", post(from_slack))
        .layer(DefaultBodyLimit::max(MAX_BODY))
}

/// Where a channel of a kind that can be answered is called back, below where people reach us.
pub(super) fn path(kind: ChannelKind, channel: Uuid) -> String {
    format!("callbacks/{}/{channel}", kind.word())
}

type Body = Result<Bytes, BytesRejection>;

/// `{"changed":false,"why":"It was heard before."}`
async fn from_pagerduty(
    State(state): State<AppState>,
    Path(channel): Path<Uuid>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Value>> {
    const SET_UP: &str = "This channel has no webhook secret. Enter the one that PagerDuty gave for the webhook, at the channel in Alerting.";
    let body = whole(body)?;
    let _turn = state.limits.callback_turn().await?;
    let line = line(&state, ChannelKind::PagerDuty, channel, SET_UP).await?;
    let signature = header(&headers, "x-pagerduty-signature");
    if !pagerduty::is_theirs(&line.secret, signature, &body) {
        return Err(forged(ChannelKind::PagerDuty, channel));
    }
    let said = pagerduty::read(&body).map_err(|why| ApiError::Malformed(why.into()))?;
    let (changed, why) = match said {
        None => (false, "It says nothing of an incident of ours.".to_owned()),
        Some(said) => take(&state, &line, &said).await?,
    };
    Ok(Json(json!({ "changed": changed, "why": why })))
}

/// What Slack may show to whoever pressed the button.
async fn from_slack(
    State(state): State<AppState>,
    Path(channel): Path<Uuid>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Value>> {
    const SET_UP: &str = "This channel has no signing secret. Enter the one of the Slack app, at the channel in Alerting.";
    let body = whole(body)?;
    let _turn = state.limits.callback_turn().await?;
    let line = line(&state, ChannelKind::Slack, channel, SET_UP).await?;
    let sent = header(&headers, "x-slack-request-timestamp");
    let signature = header(&headers, "x-slack-signature");
    if !slack::is_theirs(&line.secret, sent, signature, &body, state.clock.now()) {
        return Err(forged(ChannelKind::Slack, channel));
    }
    let said = slack::read(&body).map_err(|why| ApiError::Malformed(why.into()))?;
    let Some(said) = said else { return Ok(Json(json!({}))) };
    let (_, text) = take(&state, &line, &said).await?;
    Ok(Json(json!({ "response_type": "ephemeral", "replace_original": false, "text": text })))
}

fn whole(body: Body) -> ApiResult<Bytes> {
    body.map_err(|refused| match refused.status() {
        axum::http::StatusCode::PAYLOAD_TOO_LARGE => ApiError::TooLarge(MAX_BODY),
        _ => ApiError::Malformed("The body ended before it was whole.".into()),
    })
}

/// Empty when it is missing, or is no text.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn forged(kind: ChannelKind, channel: Uuid) -> ApiError {
    tracing::warn!(%channel, kind = kind.word(), "a call back has a wrong signature, or is old");
    ApiError::Unauthorized(
        "The signature is not made with this channel's secret, or the request is too old.",
    )
}

/// A channel that can be answered.
struct Line {
    kind: ChannelKind,
    channel: Uuid,
    secret: Secret<String>,
    /// All channels with this secret, itself included: an app or a subscription calls one address for all.
    theirs: Vec<Uuid>,
}

async fn line(
    state: &AppState,
    kind: ChannelKind,
    channel: Uuid,
    set_up: &'static str,
) -> ApiResult<Line> {
    let mut conn = state.pool.acquire().await?;
    let mut secrets = Vec::new();
    for row in store::channels::list(&mut conn).await? {
        if row.kind != kind.word() {
            continue;
        }
        // One that cannot be opened is one that has no secret; sending through it says what is wrong.
        let parsed = notify::open_channel(&state.sealer, &row).ok();
        secrets.push((row.id, parsed.and_then(|parsed| parsed.secrets.callback)));
    }
    let own = secrets.iter().find(|(id, _)| *id == channel);
    let (_, own) = own.ok_or(ApiError::NotFound("channel"))?;
    let secret = own.clone().ok_or(ApiError::NotSetUp(set_up))?;
    let same = |other: &Secret<String>| -> bool {
        other.expose().as_bytes().ct_eq(secret.expose().as_bytes()).into()
    };
    let theirs = secrets.iter().filter(|(_, other)| other.as_ref().is_some_and(&same));
    Ok(Line { kind, channel, theirs: theirs.map(|(id, _)| *id).collect(), secret })
}

/// Does what was said, unless there is a reason not to; whether something changed, and what is answered.
async fn take(state: &AppState, line: &Line, said: &Said) -> ApiResult<(bool, String)> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let taken = match about(&mut tx, line, said).await? {
        Some(row) => act(&mut tx, line, said, &row, now).await?,
        None => (false, "No incident with this key was told through this channel.".to_owned()),
    };
    tx.commit().await?;
    Ok(taken)
}

/// The incident, under its locks, if the other side was told of it.
async fn about(
    conn: &mut PgConnection,
    line: &Line,
    said: &Said,
) -> ApiResult<Option<IncidentRow>> {
    let found = match find(conn, said.incident).await {
        Err(ApiError::NotFound(_)) => return Ok(None),
        found => found?,
    };
    let under = found.group.unwrap_or(found.incident);
    let told = store::outbox::told(conn, found.monitor, under).await?;
    if !told.iter().any(|told| line.theirs.contains(&told.channel)) {
        return Ok(None);
    }
    Ok(Some(lock(conn, said.incident).await?))
}

async fn act(
    conn: &mut PgConnection,
    line: &Line,
    said: &Said,
    row: &IncidentRow,
    now: Timestamp,
) -> ApiResult<(bool, String)> {
    let unchanged = |why: &str| Ok((false, why.to_owned()));
    if !open_of(conn, row).await? {
        return unchanged("The incident is over.");
    }
    let events = history(conn, line, row).await?;
    let before: Vec<Before<'_>> = events
        .iter()
        .map(|one| {
            let channel = one.data["channel"].as_str().and_then(|id| id.parse().ok());
            let said = one.data["said"].as_str().zip(channel);
            Before { at: one.at, kind: &one.kind, said }
        })
        .collect();
    match said.check(&before, &line.theirs) {
        Ok(()) => {}
        Err(Stale::Again) => return unchanged("It was heard before."),
        Err(Stale::Undone) => return unchanged("It was undone since."),
        Err(Stale::NotTheirs) => {
            return unchanged("The acknowledgement was not given there, so it holds.");
        }
    }
    let data = json!({ "channel": line.channel, "said": said.id });
    let who = said.who.as_str();
    match said.act {
        Act::Acknowledge => {
            // PagerDuty knows of it already. A chat is where people read who is at it, so that it is told.
            let but = (line.kind == ChannelKind::PagerDuty).then_some(line.channel);
            let by = acks::By { name: who, note: None, through: &line.theirs, but };
            match acknowledge(conn, row.incident, by, &data, now).await? {
                0 => {
                    let other = row.acked_by.as_deref().unwrap_or("Somebody");
                    unchanged(&format!("{other} is at it already."))
                }
                1 => Ok((true, format!("{who} is at it. Calls and reminders stop for a while."))),
                n => Ok((
                    true,
                    format!(
                        "{who} is at it, {n} incidents of one alert. Calls and reminders stop for a while."
                    ),
                )),
            }
        }
        Act::TakeBack => {
            match take_back(conn, row.incident, (who, &line.theirs), &data, now).await? {
                0 => unchanged("It is not acknowledged."),
                _ => Ok((true, "The acknowledgement is taken back.".to_owned())),
            }
        }
        Act::Close => {
            // Only what is probed says that it is over; until then those who wait for it are called on.
            let text = format!(
                "{who} closed it in PagerDuty. Here it ends when it is seen up, and goes on until then."
            );
            event(conn, (row.monitor, row.incident), "note", (who, &text), &data, now).await?;
            Ok((true, text))
        }
    }
}

/// What happened to the incident and to what is told with it, oldest first.
async fn history(
    conn: &mut PgConnection,
    line: &Line,
    row: &IncidentRow,
) -> ApiResult<Vec<EventRow>> {
    let mut all = acks::together(conn, row, &line.theirs).await?;
    all.push((row.monitor, row.incident));
    all.sort_unstable();
    all.dedup();
    let mut events = Vec::new();
    for (monitor, incident) in all {
        events.extend(store::incidents_read::events(conn, monitor, incident).await?);
    }
    events.sort_by_key(|event| event.at);
    Ok(events)
}
