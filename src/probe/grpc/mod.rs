//! Kind `grpc`: one unary call of `grpc.health.v1.Health/Check` on a new HTTP/2 connection.
//!
//! What a peer can make us hold: the head of its answer and its trailers up to 64 KiB each, one message up to
//! 64 KiB, and what HTTP/2's windows let it send ahead.

mod wire;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::time::Instant;

use self::wire::{Code, Health, MOST_BYTES};
use super::Attempt;
use super::conclude::{Facts, conclude};
use super::dial::{self, Offer, Target};
use super::http::exchange::{self, Answer};
use super::trace::{Failure, Stage, Trace};
use crate::domain::check::GrpcCheck;
use crate::domain::observation::{Class, Observation};
use crate::domain::redactor::percent_decoded;

const PATH: &str = "/grpc.health.v1.Health/Check";

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &GrpcCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut trace = Trace::new(attempt.start);
    let mut facts = Facts::default();
    let ended = attempt.bounded(cancelled, call(check, attempt, &mut trace, &mut facts)).await;
    let host = check.endpoint.host.to_string();
    let result = ended.unwrap_or_else(|| Err(exchange::timed_out(attempt, &host, &trace)));
    conclude(attempt.check, &trace, facts, result, Instant::now())
}

/// Connects, calls, and reads the answer to its end.
async fn call(
    check: &GrpcCheck,
    attempt: &Attempt<'_>,
    trace: &mut Trace,
    facts: &mut Facts,
) -> Result<(), Failure> {
    let endpoint = &check.endpoint;
    let target =
        Target { host: endpoint.host.clone(), port: endpoint.port, family: check.ip_family };
    let stream = dial::connect(&target, attempt, trace).await?;
    let answer = if check.encrypted() {
        let tls = &attempt.ctx.0.tls;
        let stream = tls
            .handshake(stream, &endpoint.host, &check.tls, Offer::Http2, attempt.ctx, trace)
            .await?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(Failure::new(
                Class::HttpProtocol,
                "The server does not offer HTTP/2, which gRPC needs.",
            ));
        }
        trace.enter(Stage::FirstByte);
        exchange::send(stream, request(check, attempt)?, true).await?
    } else {
        trace.enter(Stage::FirstByte);
        exchange::send(stream, request(check, attempt)?, true).await?
    };
    let Answer { response, connection } = answer;
    // The connection's task must live until the last byte is here.
    let _connection = connection;
    trace.enter(Stage::Transfer);
    facts.status = Some(response.status().as_u16());
    facts.version = Some("2");
    note(response.headers(), facts);
    let told = told(response.headers());
    if told.is_none() {
        is_grpc(&response)?;
    }
    let (bytes, trailers) = read(response.into_body()).await?;
    trace.leave();
    note(&trailers, facts);
    judge(check, self::told(&trailers).or(told), &bytes, facts)
}

fn request(check: &GrpcCheck, attempt: &Attempt<'_>) -> Result<Request<Full<Bytes>>, Failure> {
    let unsendable =
        |what: &str| Failure::new(Class::Internal, format!("The request cannot be built: {what}."));
    let endpoint = &check.endpoint;
    let scheme = if check.encrypted() { "https" } else { "http" };
    let authority = match (check.encrypted(), endpoint.port) {
        (true, 443) => endpoint.host.to_string(),
        (_, port) => format!("{}:{port}", endpoint.host),
    };
    let uri = format!("{scheme}://{authority}{PATH}");
    let mut request = Request::new(Full::new(Bytes::from(wire::question(&check.service))));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri.parse().map_err(|_| unsendable("the address"))?;
    *request.version_mut() = http::Version::HTTP_2;
    let headers = request.headers_mut();
    for header in &check.metadata {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let value = HeaderValue::from_bytes(header.value.as_bytes());
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(unsendable("a header of metadata"));
        };
        headers.append(name, value);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    headers.insert("grpc-accept-encoding", HeaderValue::from_static("identity"));
    let left = attempt.deadline.saturating_duration_since(Instant::now()).as_millis();
    headers.insert("grpc-timeout", header_text(&format!("{left}m"))?);
    if !headers.contains_key(USER_AGENT) {
        headers.insert(USER_AGENT, header_text(&attempt.ctx.0.user_agent)?);
    }
    Ok(request)
}

fn header_text(text: &str) -> Result<HeaderValue, Failure> {
    HeaderValue::from_str(text)
        .map_err(|_| Failure::new(Class::Internal, "The request cannot be built: a header."))
}

/// Keeps the answer's metadata: that of its head first, its trailers after them.
fn note(headers: &HeaderMap, facts: &mut Facts) {
    facts.headers.extend(headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    }));
}

/// The status of the call with its message, if these headers tell it.
fn told(headers: &HeaderMap) -> Option<(String, String)> {
    let text = |name: &str| {
        headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
    };
    let message = text("grpc-message").map(|message| percent_decoded(&message));
    text("grpc-status").map(|status| (status, message.unwrap_or_default()))
}

/// Refuses what is HTTP but not gRPC.
fn is_grpc(response: &Response<Incoming>) -> Result<(), Failure> {
    let status = response.status().as_u16();
    if status != 200 {
        return Err(Failure::new(
            Class::HttpProtocol,
            format!("The server answered HTTP {status} instead of a gRPC call's HTTP 200."),
        ));
    }
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let refused = |what: String| {
        Err(Failure::new(
            Class::HttpProtocol,
            format!("The answer is {what}, not application/grpc."),
        ))
    };
    match kind {
        Some(kind) if wire::is_grpc_type(&kind) => Ok(()),
        Some(kind) => refused(crate::domain::short(&kind).to_owned()),
        None => refused("without a content type".into()),
    }
}

/// The bytes of the answer, one message's worth at most, and the trailers after them.
async fn read(mut body: Incoming) -> Result<(Vec<u8>, HeaderMap), Failure> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut trailers = HeaderMap::new();
    while let Some(frame) = body.frame().await {
        match frame.map_err(|_| broken(bytes.len()))?.into_data() {
            Ok(data) if bytes.len() + data.len() > MOST_BYTES => {
                return Err(Failure::new(
                    Class::GrpcStatus,
                    "The answer is longer than 64\u{a0}KiB; a health answer has a few bytes.",
                ));
            }
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => {
                if let Ok(last) = frame.into_trailers() {
                    trailers = last;
                }
            }
        }
    }
    Ok((bytes, trailers))
}

/// A reset, too, is an answer that ended early, as it is for `http`.
fn broken(received: usize) -> Failure {
    Failure::new(
        Class::BodyTruncated,
        format!("The answer ended early, after {received} bytes and without its end mark."),
    )
}

/// What the call's status and its message say together.
fn judge(
    check: &GrpcCheck,
    told: Option<(String, String)>,
    bytes: &[u8],
    facts: &mut Facts,
) -> Result<(), Failure> {
    let failed = |why: String| Err(Failure::new(Class::GrpcStatus, why));
    let Some((status, message)) = told else {
        return failed(
            "The answer ended without grpc-status, so whether the call went well is not known."
                .into(),
        );
    };
    let Some(code) = Code::parse(&status) else {
        return failed(format!(
            "The answer's grpc-status is {:?}, which is no status.",
            crate::domain::short(&status)
        ));
    };
    facts.show("grpc status", code.to_string());
    if !code.is_ok() {
        let class = match code.is_unimplemented() {
            true => Class::GrpcUnimplemented,
            false => Class::GrpcStatus,
        };
        let message = message.trim_end_matches('.');
        let said = if message.is_empty() { String::new() } else { format!(": {message}") };
        return Err(Failure::new(class, format!("The call ended with {code}{said}.")));
    }
    let health = match wire::answer(bytes) {
        Ok(health) => health,
        Err(why) => return failed(format!("The call ended with {code}, but {why}.")),
    };
    facts.show("health", health.to_string());
    if health == Health::Serving {
        return Ok(());
    }
    let who = match check.service.as_str() {
        "" => "The server".to_owned(),
        service => format!("The service {service}"),
    };
    Err(Failure::new(Class::GrpcNotServing, format!("{who} should be SERVING, but says {health}.")))
}
