//! Leaving a mail channel by the link in a mail's header, without a login: the link is the key.
//!
//! A POST takes the address out at once (RFC 8058: mail programs send it when somebody presses
//! "unsubscribe"). A GET only asks, because mail scanners follow every link they see.

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
    routing::get,
};
use uuid::Uuid;

use super::AppState;
use crate::notify;

pub(super) fn router() -> Router<AppState> {
    Router::new().route("/unsubscribe/{channel}/{token}", get(ask).post(leave))
}

async fn ask(Path((_channel, _token)): Path<(Uuid, String)>) -> Response {
    page(
        StatusCode::OK,
        "Stop these alerts?",
        "<form method=\"post\"><p>Your address will be taken out of this channel. Others keep getting its \
         alerts.</p><button>Unsubscribe</button></form>",
    )
}

async fn leave(
    State(state): State<AppState>,
    Path((channel, token)): Path<(Uuid, String)>,
) -> Response {
    let now = state.clock.now();
    let left = async {
        let mut tx = state.pool.begin().await?;
        let left = notify::unsubscribe(&mut tx, &state.sealer, channel, &token, now).await?;
        tx.commit().await?;
        Ok::<_, sqlx::Error>(left)
    };
    match left.await {
        Ok(Some(_)) => page(
            StatusCode::OK,
            "You are unsubscribed.",
            "<p>No more alerts go to your address through this channel.</p>",
        ),
        Ok(None) => page(
            StatusCode::NOT_FOUND,
            "This link is not valid.",
            "<p>The channel is gone, or the link was cut. Ask whoever runs Quorate to take your address \
             out.</p>",
        ),
        Err(error) => {
            tracing::error!(%error, %channel, "an address could not be taken out");
            page(
                StatusCode::SERVICE_UNAVAILABLE,
                "That did not work.",
                "<p>Nothing was changed. Please try again in a minute.</p>",
            )
        }
    }
}

/// Fixed texts only: nothing of the request is shown.
fn page(status: StatusCode, title: &'static str, body: &'static str) -> Response {
    super::plain_page::page(status, title, &maud::PreEscaped(body.to_owned()))
}
