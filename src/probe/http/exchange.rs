//! One request and the head of its answer on one connection.

use std::error::Error as _;
use std::io;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use crate::domain::observation::Class;
use crate::probe::Attempt;
use crate::probe::trace::{Failure, Stage, Trace};

/// Longest head of an answer.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 1_000;

/// An answer whose body is still to be read. Dropping it closes the connection.
pub(in crate::probe) struct Answer {
    pub(in crate::probe) response: Response<Incoming>,
    pub(in crate::probe) connection: Connection,
}

/// The task that moves bytes for one connection; it ends with its owner.
pub(in crate::probe) struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(in crate::probe) async fn send<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    http2: bool,
) -> Result<Answer, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(stream);
    if http2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::Builder::new(TokioExecutor::new())
                .max_header_list_size(MAX_HEAD as u32)
                .handshake(io)
                .await
                .map_err(|error| failure(&error))?;
        // Its error reaches the request as well.
        let connection = Connection(tokio::spawn(async move { _ = connection.await }));
        let response = sender.send_request(request).await.map_err(|error| failure(&error))?;
        return Ok(Answer { response, connection });
    }
    let (mut sender, connection) = http1().handshake(io).await.map_err(|error| failure(&error))?;
    let connection = Connection(tokio::spawn(async move { _ = connection.await }));
    let response = sender.send_request(request).await.map_err(|error| failure(&error))?;
    Ok(Answer { response, connection })
}

/// The same over HTTP/1.1 for a request to go on in another protocol.
pub(in crate::probe) async fn send_upgrade<S>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<Answer, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Old servers know these headers only as the examples of the RFC write them.
    let (mut sender, connection) = http1()
        .title_case_headers(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| failure(&error))?;
    let connection = connection.with_upgrades();
    let connection = Connection(tokio::spawn(async move { _ = connection.await }));
    let response = sender.send_request(request).await.map_err(|error| failure(&error))?;
    Ok(Answer { response, connection })
}

fn http1() -> hyper::client::conn::http1::Builder {
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_headers(MAX_HEADERS).max_header_size(MAX_HEAD);
    builder
}

/// The failure of a probe that its deadline ended, by the phase that did not end.
pub(in crate::probe) fn timed_out(attempt: &Attempt<'_>, host: &str, trace: &Trace) -> Failure {
    let limit = attempt.limit();
    match trace.stage() {
        Some(Stage::FirstByte) => Failure::new(
            Class::HttpTimeoutFirstByte,
            format!("No first byte within {limit}: the server took the request and stayed silent."),
        ),
        Some(Stage::Transfer) => Failure::new(
            Class::HttpTimeoutBody,
            format!("The answer began but did not end within {limit}."),
        ),
        _ => attempt.timed_out_before(host, trace),
    }
}

/// Why there was no head of an answer.
fn failure(error: &hyper::Error) -> Failure {
    if let Some(kind) = io_kind(error) {
        return match kind {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => {
                Failure::new(Class::ConnectReset, "The connection was reset before an answer came.")
            }
            io::ErrorKind::UnexpectedEof => closed(),
            _ => Failure::new(
                Class::HttpProtocol,
                format!("The answer is not valid HTTP: {}.", chain(error)),
            ),
        };
    }
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return closed();
    }
    let text = chain(error);
    if text.contains("too large")
        || text.contains("too many headers")
        || text.contains("header list")
    {
        return Failure::new(
            Class::HttpProtocol,
            "The headers of the answer are larger than 64\u{a0}KiB.",
        );
    }
    Failure::new(Class::HttpProtocol, format!("The answer is not valid HTTP: {text}."))
}

fn closed() -> Failure {
    Failure::new(Class::HttpProtocol, "The server closed the connection without an answer.")
}

/// The kind of the IO error under a hyper error, if there is one.
pub(super) fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

/// The error with everything under it.
fn chain(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = error.source();
    }
    text
}
