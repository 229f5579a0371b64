//! Where jobs call: `/hb/KEY`, and behind it `/start`, `/fail` or the exit code. The key is all that is asked
//! for. Answers are short plain text, because what reads them is a line of a shell script.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Extension, Router,
    body::{Body, Bytes, HttpBody},
    extract::{ConnectInfo, Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{
    AppState,
    error::{ApiError, ApiResult},
};
use crate::{
    domain::{decision::heartbeat::CallKind, redactor::Redactor, token::KeyKind},
    process::log::reasons,
    store,
    triage::heartbeats::{Came, Taken},
};

/// So much of what a failing job sends is kept.
const MAX_EVIDENCE: usize = 4096;
/// So much is taken from the wire before we answer: a program that is still sending would otherwise take our
/// answer for a broken connection.
const MAX_TAKEN: usize = 1024 * 1024;
/// So long we wait for a body.
const BODY_PATIENCE: Duration = Duration::from_secs(5);
/// So long we wait for the database. Whoever calls tries again.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn router() -> Router<AppState> {
    let by = || get(call).post(call);
    Router::new().route("/hb/{key}", by()).route("/hb/{key}/{word}", by())
}

async fn call(
    State(state): State<AppState>,
    path: Result<Path<Vec<(String, String)>>, PathRejection>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    request: Request,
) -> Response {
    let Ok(Path(path)) = path else { return missing() };
    let of = |name: &str| path.iter().find(|(key, _)| key == name).map(|(_, word)| word.as_str());
    let key = of("key").unwrap_or_default();
    let said = said(of("word"));
    let (Some(hash), Some((kind, exit_code))) = (KeyKind::Heartbeat.hash(key), said) else {
        return missing();
    };
    if let Err(error) = state.limits.call(&hash) {
        return refused(error);
    }
    let (parts, body) = request.into_parts();
    let output = output(body).await;
    let came = Came {
        kind,
        exit_code,
        source: source(&parts.headers, peer.map(|Extension(ConnectInfo(peer))| peer)),
        agent: agent(&parts.headers),
        evidence: (kind == CallKind::Fail).then(|| evidence(&output, key)).flatten(),
    };
    match tokio::time::timeout(PATIENCE, take(&state, &hash, &came)).await {
        Ok(Ok(Some(Taken::Counted | Taken::Repeated))) => plain(StatusCode::OK, "OK\n"),
        Ok(Ok(Some(Taken::Paused))) => plain(StatusCode::OK, "OK, but the monitor is paused\n"),
        Ok(Ok(None | Some(Taken::Gone))) => missing(),
        Ok(Err(error)) => refused(error),
        Err(_) => refused(ApiError::Unavailable(anyhow::anyhow!("the database takes too long"))),
    }
}

/// None for a key that opens nothing.
async fn take(state: &AppState, hash: &[u8; 32], came: &Came) -> ApiResult<Option<Taken>> {
    let _turn = state.limits.call_turn().await?;
    let owner = store::heartbeats::owner(&mut *state.pool.acquire().await?, hash).await?;
    let Some(monitor) = owner else { return Ok(None) };
    Ok(Some(state.triage.called(monitor, came, state.clock.now()).await?))
}

/// What the last word of an address says: nothing is a success, and a number is an exit code. systemd gives the
/// name of a signal in place of the code of a job that was ended by one.
fn said(word: Option<&str>) -> Option<(CallKind, Option<u8>)> {
    match word {
        None | Some("") => Some((CallKind::Success, None)),
        Some("start") => Some((CallKind::Start, None)),
        Some("fail") => Some((CallKind::Fail, None)),
        Some(word) => match word.parse::<u8>() {
            Ok(0) => Some((CallKind::Success, Some(0))),
            Ok(code) => Some((CallKind::Fail, Some(code))),
            Err(_) => is_signal(word).then_some((CallKind::Fail, None)),
        },
    }
}

/// `KILL`, `TERM`, `RTMIN+1`
fn is_signal(word: &str) -> bool {
    let letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '+';
    (2..=10).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(letter)
}

/// The first bytes of a body. The rest is taken from the wire and dropped.
async fn output(body: Body) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut body = std::pin::pin!(body);
    let read = async {
        let mut taken = 0;
        while taken < MAX_TAKEN
            && let Some(Ok(frame)) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await
        {
            let data: Bytes = frame.into_data().unwrap_or_default();
            taken += data.len().max(1);
            let room = MAX_EVIDENCE.saturating_sub(kept.len()).min(data.len());
            kept.extend_from_slice(data.get(..room).unwrap_or_default());
        }
    };
    // What has not come by then is not waited for: that the job failed is what counts.
    let _ = tokio::time::timeout(BODY_PATIENCE, read).await;
    kept
}

/// Text as it may be kept: none for what is no text.
fn evidence(output: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let text = text.trim_end_matches('\u{fffd}').trim();
    let binary = text.chars().filter(|c| *c == '\u{fffd}' || *c == '\0').count();
    if text.is_empty() || binary * 10 > text.chars().count() {
        return None;
    }
    let shown = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    let text: String = text.chars().filter(|c| shown(*c)).collect();
    Some(cut(Redactor::new([key]).output(&text), MAX_EVIDENCE))
}

/// Whom the balancer in front of us saw, else who connected to us. It is shown, and nothing rests on it.
fn source(headers: &HeaderMap, peer: Option<SocketAddr>) -> String {
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
    let forwarded = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next());
    let forwarded = forwarded.and_then(|text| text.trim().parse::<std::net::IpAddr>().ok());
    let address = forwarded.or(peer.map(|peer| peer.ip()));
    address.map_or_else(|| "unknown".to_owned(), |address| address.to_canonical().to_string())
}

fn agent(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::USER_AGENT)?.to_str().ok()?.trim();
    (!text.is_empty()).then(|| cut(text.to_owned(), 100))
}

fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

fn refused(error: ApiError) -> Response {
    let (status, wait, text) = match error {
        ApiError::TooMany(wait) => (StatusCode::TOO_MANY_REQUESTS, wait, "Too many calls\n"),
        error => {
            tracing::warn!(reason = reasons(&error.into()), "a call of a job was not taken");
            (StatusCode::SERVICE_UNAVAILABLE, 5, "Not taken, try again\n")
        }
    };
    let mut response = plain(status, text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
    response
}

fn missing() -> Response {
    plain(StatusCode::NOT_FOUND, "Not found\n")
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_says_what_happened() {
        let fail = |code| Some((CallKind::Fail, code));
        for (word, meant) in [
            (None, Some((CallKind::Success, None))),
            (Some("0"), Some((CallKind::Success, Some(0)))),
            (Some("start"), Some((CallKind::Start, None))),
            (Some("fail"), fail(None)),
            (Some("1"), fail(Some(1))),
            (Some("255"), fail(Some(255))),
            (Some("KILL"), fail(None)),
            (Some("256"), None),
            (Some("-1"), None),
            (Some("stop"), None),
            (Some("START"), fail(None)),
        ] {
            assert_eq!(said(word), meant, "{word:?}");
        }
    }

    #[test]
    fn only_text_is_kept_and_without_the_key() {
        let kept = |output: &[u8]| evidence(output, "qrh_key");
        let cut = kept("disk full ⏎ at https://q.test/hb/qrh_key \u{1b}[0m\n".as_bytes());
        assert_eq!(cut.as_deref(), Some("disk full ⏎ at https://q.test/hb/(hidden) [0m"));
        assert_eq!(kept("é".repeat(3000).as_bytes()).map(|text| text.len()), Some(4096));
        assert_eq!(kept(&"é".repeat(3000).as_bytes()[..4095]).map(|text| text.len()), Some(4094));
        for nothing in [&b""[..], b" \n", &[0, 1, 2, 0], &[0xff, 0xfe, 0x80]] {
            assert_eq!(kept(nothing), None);
        }
    }

    #[test]
    fn the_nearest_balancer_is_believed() {
        let mut headers = HeaderMap::new();
        let peer = Some("[::ffff:192.0.2.1]:5000".parse().unwrap());
        assert_eq!(source(&headers, peer), "192.0.2.1");
        assert_eq!(source(&headers, None), "unknown");
        let forwarded = HeaderValue::from_static("10.0.0.1, 203.0.113.9");
        headers.insert("x-forwarded-for", forwarded);
        assert_eq!(source(&headers, peer), "203.0.113.9");
        headers.insert("x-forwarded-for", HeaderValue::from_static("<script>"));
        assert_eq!(source(&headers, peer), "192.0.2.1");
    }
}
