//! Kind `websocket`: the handshake of RFC 6455 over a connection of ours, then a message if one is
//! expected. Redirects are not followed.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE, USER_AGENT,
};
use http::{Request, Uri};
use http_body_util::Full;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::conclude::{Content, Facts, conclude};
use super::dial::{self, Offer, Target};
use super::http::exchange::{self, Answer};
use super::http::{self as web, request::authority};
use super::talk::{self, visible};
use super::trace::{Failure, Stage, Trace};
use super::{Attempt, Context};
use crate::domain::address::Host;
use crate::domain::check::WebsocketCheck;
use crate::domain::observation::{Class, Observation};

/// Bytes of a message.
const LARGEST_MESSAGE: usize = 1 << 20;
const BUFFER: usize = 16 * 1024;
/// Bytes that wait for a server that does not read: the message of the monitor, and answers to pings.
const MOST_UNSENT: usize = 256 * 1024;
/// Characters of a message in a sentence.
const QUOTED: usize = 160;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What came, kept outside the future that the deadline may drop.
#[derive(Default)]
struct Heard {
    /// The protocol was switched.
    open: bool,
    messages: usize,
    /// The last message that was not the one expected.
    last: Option<Bytes>,
    done: Option<Instant>,
}

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &WebsocketCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut trace = Trace::new(attempt.start);
    let mut facts = Facts { url: Some(check.url().clone()), ..Facts::default() };
    let mut heard = Heard::default();
    let work = work(attempt, check, &mut trace, &mut facts, &mut heard);
    let ended = attempt.bounded(cancelled, work).await;
    let result = match (heard.done, ended) {
        (Some(_), _) => Ok(()),
        (None, Some(result)) => result,
        (None, None) => Err(timed_out(attempt, check, &trace, &heard)),
    };
    let end = heard.done.unwrap_or_else(Instant::now);
    conclude(attempt.check, &trace, facts, result, end)
}

async fn work(
    attempt: &Attempt<'_>,
    check: &WebsocketCheck,
    trace: &mut Trace,
    facts: &mut Facts,
    heard: &mut Heard,
) -> Result<(), Failure> {
    let key = generate_key();
    let answer = ask(attempt, check, &key, trace).await?;
    trace.leave();
    web::note(&answer.response, facts);
    let status = answer.response.status().as_u16();
    if status != 101 {
        // A condition on the status decides, unless more than an answer is asked for.
        if check.expect.is_some() {
            return Err(Failure::new(
                Class::Status,
                format!("The server did not switch to WebSocket: it answered HTTP {status}."),
            ));
        }
        heard.done = Some(Instant::now());
        return Ok(());
    }
    agreed(answer.response.headers(), &key, check.subprotocol.as_deref())?;
    if let Some(protocol) = &check.subprotocol {
        facts.show("subprotocol", protocol.clone());
    }
    let Answer { response, connection } = answer;
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| {
        Failure::new(Class::HttpProtocol, format!("The connection did not switch: {error}."))
    })?;
    drop(connection);
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(MOST_UNSENT)
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    let io = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Client, Some(config)).await;
    heard.open = true;
    trace.enter(Stage::Transfer);
    if let Some(text) = &check.send {
        socket.send(Message::text(text.clone())).await.map_err(|error| broken(&error, heard))?;
    }
    if check.wants_message() {
        let message = expected(attempt, check, &mut socket, heard).await?;
        facts.body = Some(Content {
            text: String::from_utf8_lossy(&message).into_owned(),
            size: message.len() as u64,
            cut: false,
        });
    }
    trace.leave();
    heard.done = Some(Instant::now());
    farewell(&mut socket).await;
    Ok(())
}

/// Connects, shakes hands and asks for the switch.
async fn ask(
    attempt: &Attempt<'_>,
    check: &WebsocketCheck,
    key: &str,
    trace: &mut Trace,
) -> Result<Answer, Failure> {
    let url = check.url();
    let host = Host::parse(url.host_str().unwrap_or_default())
        .map_err(|why| Failure::new(Class::Internal, format!("The host of {url} {why}.")))?;
    let port = url.port_or_known_default().unwrap_or(80);
    let target = Target { host: host.clone(), port, family: check.ip_family };
    let request = request(check, key, attempt.ctx)
        .ok_or_else(|| Failure::new(Class::Internal, "The request cannot be built."))?;
    let stream = dial::connect(&target, attempt, trace).await?;
    if !check.secure() {
        trace.enter(Stage::FirstByte);
        return exchange::send_upgrade(stream, request).await;
    }
    let settings = &attempt.ctx.0.tls;
    let stream =
        settings.handshake(stream, &host, &check.tls, Offer::Http1, attempt.ctx, trace).await?;
    trace.enter(Stage::FirstByte);
    exchange::send_upgrade(stream, request).await
}

fn request(check: &WebsocketCheck, key: &str, ctx: &Context) -> Option<Request<Full<Bytes>>> {
    let url = check.url();
    let mut headers = HeaderMap::new();
    for header in &check.headers {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(header.value.as_bytes()).ok()?);
    }
    let mut by_default = |name: HeaderName, value: &str| {
        if !headers.contains_key(&name)
            && let Ok(value) = HeaderValue::from_str(value)
        {
            headers.insert(name, value);
        }
    };
    by_default(HOST, &authority(url));
    by_default(USER_AGENT, &ctx.0.user_agent);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_str(key).ok()?);
    if let Some(protocol) = &check.subprotocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(protocol).ok()?);
    }
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.uri_mut() = path.parse::<Uri>().ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// Whether an answer with 101 is one to this handshake (RFC 6455, 4.1).
fn agreed(headers: &HeaderMap, key: &str, subprotocol: Option<&str>) -> Result<(), Failure> {
    let broken = |why: String| Err(Failure::new(Class::HttpProtocol, why));
    let says = |name: &HeaderName, word: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split(',').any(|token| token.trim().eq_ignore_ascii_case(word)))
    };
    if !says(&UPGRADE, "websocket") || !says(&CONNECTION, "upgrade") {
        return broken("The server switched, but not to WebSocket.".into());
    }
    let accept = headers.get(SEC_WEBSOCKET_ACCEPT).and_then(|value| value.to_str().ok());
    if accept.map(str::trim) != Some(derive_accept_key(key.as_bytes()).as_str()) {
        return broken(
            "Sec-WebSocket-Accept does not answer our key: what switched is no WebSocket server, or a cache."
                .into(),
        );
    }
    if headers.contains_key(SEC_WEBSOCKET_EXTENSIONS) {
        return broken("The server uses an extension that was not asked for.".into());
    }
    let chosen = headers.get(SEC_WEBSOCKET_PROTOCOL).map(|value| value.to_str().unwrap_or("?"));
    match (subprotocol, chosen) {
        (None, None) => Ok(()),
        (Some(wanted), Some(chosen)) if wanted == chosen => Ok(()),
        (Some(wanted), None) => {
            broken(format!("The server did not agree to the subprotocol {wanted}."))
        }
        (Some(wanted), Some(chosen)) => {
            broken(format!("The subprotocol should be {wanted}, but is {chosen}."))
        }
        (None, Some(chosen)) => {
            broken(format!("The server chose a subprotocol that was not asked for: {chosen}."))
        }
    }
}

/// Waits for the message. Pings are answered by the library.
async fn expected(
    attempt: &Attempt<'_>,
    check: &WebsocketCheck,
    socket: &mut Socket,
    heard: &mut Heard,
) -> Result<Bytes, Failure> {
    loop {
        let message = match socket.next().await {
            Some(Ok(Message::Text(text))) => Bytes::from(text),
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Close(frame))) => return Err(closed(frame.as_ref(), attempt, heard)),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Err(error)) => return Err(broken(&error, heard)),
            None => return Err(closed(None, attempt, heard)),
        };
        heard.messages += 1;
        if check.expect.as_ref().is_none_or(|pattern| pattern.find(&message, 0).is_some()) {
            return Ok(message);
        }
        heard.last = Some(message);
    }
}

fn closed(frame: Option<&CloseFrame>, attempt: &Attempt<'_>, heard: &Heard) -> Failure {
    let code = match frame {
        None => "without a code".to_owned(),
        Some(frame) if frame.reason.is_empty() => format!("with code {}", u16::from(frame.code)),
        Some(frame) => {
            let reason = quoted(attempt, frame.reason.as_bytes());
            format!("with code {} and {reason}", u16::from(frame.code))
        }
    };
    Failure::new(
        Class::DialogueRejected,
        format!("The server closed the connection {code} before the message came{}.", came(heard)),
    )
}

fn came(heard: &Heard) -> String {
    match heard.messages {
        0 => String::new(),
        1 => "; one other message came".to_owned(),
        count => format!("; {count} other messages came"),
    }
}

fn broken(error: &Error, heard: &Heard) -> Failure {
    match error {
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Failure::new(
            Class::DialogueRejected,
            format!("The server ended the connection before the message came{}.", came(heard)),
        ),
        Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Failure::new(
            Class::DialogueRejected,
            format!("The server ended the connection before the message came{}.", came(heard)),
        ),
        Error::Io(error) => Failure::new(
            Class::ConnectReset,
            format!("The connection broke while the probe waited for a message: {error}."),
        ),
        Error::Capacity(CapacityError::MessageTooLong { .. }) => Failure::new(
            Class::DialogueRejected,
            "The server sent a message larger than 1\u{a0}MiB.",
        ),
        other => Failure::new(
            Class::HttpProtocol,
            format!("What the server sent is not valid WebSocket: {other}."),
        ),
    }
}

fn timed_out(
    attempt: &Attempt<'_>,
    check: &WebsocketCheck,
    trace: &Trace,
    heard: &Heard,
) -> Failure {
    let limit = attempt.limit();
    if !heard.open {
        return match trace.stage() {
            Some(Stage::FirstByte) => Failure::new(
                Class::HttpTimeoutFirstByte,
                format!("No answer to the handshake of WebSocket within {limit}."),
            ),
            _ => attempt.timed_out_before(check.url().host_str().unwrap_or_default(), trace),
        };
    }
    let wanted = match &check.expect {
        Some(pattern) => format!("message that matches /{}/", pattern.as_str()),
        None => "message".to_owned(),
    };
    let others = match (&heard.last, heard.messages) {
        (Some(last), 1) => format!("; one came, and it was {}", quoted(attempt, last)),
        (Some(last), count) => {
            format!("; {count} came, the last of them {}", quoted(attempt, last))
        }
        (None, _) => String::new(),
    };
    Failure::new(Class::DialogueTimeout, format!("No {wanted} within {limit}{others}."))
}

fn quoted(attempt: &Attempt<'_>, bytes: &[u8]) -> String {
    let shown = visible(&attempt.check.redactor(), bytes);
    match shown.char_indices().nth(QUOTED) {
        None => format!("\"{shown}\""),
        Some((at, _)) => format!("\"{}…\"", shown.get(..at).unwrap_or_default()),
    }
}

/// Closes politely, and waits a little for the other side to do the same.
async fn farewell(socket: &mut Socket) {
    let polite = async {
        if socket.close(None).await.is_ok() {
            for _ in 0..16 {
                if !matches!(socket.next().await, Some(Ok(_))) {
                    break;
                }
            }
        }
    };
    let _ = tokio::time::timeout(talk::FAREWELL, polite).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_our_key_counts() {
        // The example of RFC 6455.
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let good = [
            ("upgrade", "WebSocket"),
            ("connection", "keep-alive, Upgrade"),
            ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ];
        let verdict = |changes: &[(&'static str, &'static str)], subprotocol| {
            let mut headers = HeaderMap::new();
            for (name, value) in good.iter().chain(changes) {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            agreed(&headers, key, subprotocol)
        };
        assert_eq!(verdict(&[], None), Ok(()));
        assert_eq!(verdict(&[("sec-websocket-protocol", "mqtt")], Some("mqtt")), Ok(()));
        for (changes, subprotocol, words) in [
            (&[("upgrade", "h2c")][..], None, "not to WebSocket"),
            (&[("connection", "close")], None, "not to WebSocket"),
            (&[("sec-websocket-accept", "x")], None, "does not answer our key"),
            (&[("sec-websocket-extensions", "permessage-deflate")], None, "an extension"),
            (&[("sec-websocket-protocol", "mqtt")], None, "not asked for"),
            (&[("sec-websocket-protocol", "wamp")], Some("mqtt"), "should be mqtt, but is wamp"),
            (&[], Some("mqtt"), "did not agree"),
        ] {
            let failure = verdict(changes, subprotocol).unwrap_err();
            assert!(failure.message.contains(words), "{}", failure.message);
            assert_eq!(failure.class, Class::HttpProtocol);
        }
    }
}
