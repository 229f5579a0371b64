//! What changed, as it changes, for the UI.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{self, Viewer},
    error::ApiResult,
    hub::News,
    request::At,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(stream_events))
}

/// The data of an event named `change`. An event named `hello`, with the same fields, opens the stream;
/// a comment every 15 s keeps it open.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Change {
    pub now: At,
    /// Monitors about which something was decided, or whose settings were saved.
    pub monitors: Vec<Uuid>,
    /// Incidents that were opened, moved, acknowledged or resolved.
    pub incidents: Vec<Uuid>,
    /// Locations or agents came, went or were changed.
    pub locations: bool,
    /// Results have arrived since the last event.
    pub results: bool,
    /// Fleets of which windows were judged, findings began or ended, settings were saved, or sources fell
    /// silent, are heard again or were changed.
    pub fleets: Vec<Uuid>,
    /// Lines of fleets have arrived since the last event.
    pub lines: bool,
    /// Something was missed: load everything again.
    pub missed: bool,
}

/// Server-sent events: what to load again.
#[utoipa::path(get, path = "/events", tag = "overview", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = Change, content_type = "text/event-stream")))]
async fn stream_events(
    State(state): State<AppState>,
    _viewer: Viewer,
    headers: axum::http::HeaderMap,
) -> ApiResult<Response> {
    let feed = Feed { news: state.hub.news(), state, headers, greeted: false };
    let events = stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        Some((Ok::<_, Infallible>(event), feed))
    });
    let keep = KeepAlive::new().interval(Duration::from_secs(15));
    Ok(Sse::new(events).keep_alive(keep).into_response())
}

struct Feed {
    news: Receiver<News>,
    state: AppState,
    headers: axum::http::HeaderMap,
    greeted: bool,
}

impl Feed {
    /// The next event; none when the stream ends, because we stop or because the sign-in has ended.
    async fn next(&mut self) -> Option<Event> {
        if !self.greeted {
            self.greeted = true;
            return Some(self.event("hello", News::default(), false));
        }
        let heard = tokio::select! {
            () = self.state.hub.stopping().cancelled() => return None,
            heard = self.news.recv() => heard,
        };
        auth::caller(&self.headers, &self.state).await.ok()?;
        match heard {
            Ok(news) => Some(self.event("change", news, false)),
            Err(RecvError::Lagged(_)) => Some(self.event("change", News::default(), true)),
            Err(RecvError::Closed) => None,
        }
    }

    fn event(&self, name: &str, news: News, missed: bool) -> Event {
        let change = Change {
            now: At(self.state.clock.now()),
            monitors: news.monitors,
            incidents: news.incidents,
            locations: news.locations,
            results: news.results,
            fleets: news.fleets,
            lines: news.lines,
            missed,
        };
        Event::default().event(name).data(serde_json::to_string(&change).unwrap_or_default())
    }
}
