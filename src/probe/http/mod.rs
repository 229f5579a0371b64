//! Kind `http`: hop by hop to an answer, then the judgement.
//!
//! resolve → connect → handshake (`dial`) → exchange → body, again for each redirect, all under one
//! deadline; then `verdict`.

mod body;
mod charset;
mod cookies;
mod exchange;
mod redirect;
mod request;
mod verdict;

use std::time::Duration;

use http::Response;
use hyper::body::Incoming;
use tokio::net::TcpStream;
use tokio::time::Instant;
use url::Url;

use self::body::Read;
use self::exchange::Answer;
use self::redirect::Next;
use self::request::Order;
use super::Context;
use super::dial::{self, Offer, Target};
use super::trace::{Failure, Stage, Trace, micros, narrow};
use crate::domain::address::Host;
use crate::domain::check::{HttpCheck, HttpVersion, IpFamily, Tls};
use crate::domain::observation::{Class, Hop, Observation};

/// What the last answer was.
#[derive(Debug, Default)]
struct Outcome {
    /// The address of the last request.
    url: Option<Url>,
    status: Option<u16>,
    version: Option<&'static str>,
    /// In the order of arrival, names in lower case.
    headers: Vec<(String, String)>,
    /// Read to its end, or as far as it was asked for.
    body: Option<Read>,
    hops: Vec<Hop>,
    /// Why a redirect was not followed, if that is worth a failure of its own.
    stopped: Option<Failure>,
}

pub(super) async fn run(
    check: &HttpCheck,
    ctx: &Context,
    start: Instant,
    timeout: Duration,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut trace = Trace::new(start);
    let mut outcome = Outcome::default();
    let deadline = start + timeout;
    let work = follow(check, ctx, deadline, &mut trace, &mut outcome);
    let ended = tokio::select! {
        ended = tokio::time::timeout_at(deadline, work) => ended.ok(),
        () = cancelled => Some(Err(Failure::new(Class::Cancelled, "The probe was stopped before it ended."))),
    };
    let result = ended.unwrap_or_else(|| Err(timed_out(check, ctx, &trace, &outcome, timeout)));
    let end = Instant::now();
    verdict::conclude(check, ctx, &trace, outcome, result, end)
}

/// Goes from hop to hop. The last answer is in `outcome`, also when this is dropped half-way.
async fn follow(
    check: &HttpCheck,
    ctx: &Context,
    deadline: Instant,
    trace: &mut Trace,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let mut order = Order::first(check, ctx)?;
    loop {
        let hop_start = Instant::now();
        outcome.url = Some(order.url.clone());
        let answer = one_hop(check, ctx, deadline, &order, trace, outcome).await?;
        match redirect::next(
            check,
            &mut order,
            &answer.response,
            outcome.hops.len(),
            outcome.url.as_ref(),
        ) {
            Next::Follow { location } => {
                outcome.hops.push(Hop {
                    url: outcome.url.as_ref().map(Url::to_string).unwrap_or_default(),
                    status: answer.response.status().as_u16(),
                    location,
                    address: trace.address.map(|ip| ip.to_string()),
                    duration_us: narrow(micros(hop_start, Instant::now())),
                });
            }
            Next::Judge(stopped) => {
                outcome.stopped = stopped;
                trace.enter(Stage::Transfer);
                let wanted = body::Wanted::of(&order, &answer.response, check.max_body);
                let read = body::read(answer, &wanted).await?;
                trace.leave();
                outcome.body = Some(read);
                return Ok(());
            }
        }
    }
}

/// One request on one new connection, up to the end of the answer's headers.
async fn one_hop(
    check: &HttpCheck,
    ctx: &Context,
    deadline: Instant,
    order: &Order<'_>,
    trace: &mut Trace,
    outcome: &mut Outcome,
) -> Result<Answer, Failure> {
    trace.certificate = None;
    (outcome.status, outcome.version) = (None, None);
    outcome.headers.clear();
    let host = Host::parse(order.url.host_str().unwrap_or_default()).map_err(|why| {
        Failure::new(Class::RedirectInvalid, format!("The host of {} {why}.", order.url))
    })?;
    let port = order.url.port_or_known_default().unwrap_or(80);
    let stream = reach(check, ctx, deadline, &host, port, order, trace).await?;
    let answer = if order.url.scheme() == "https" {
        // The name to ask for belongs to the monitor's own host; elsewhere the URL's host counts.
        let tls = if order.at_home {
            check.tls.clone()
        } else {
            Tls { server_name: None, ..check.tls.clone() }
        };
        let offer = match check.http_version {
            HttpVersion::Auto => Offer::Any,
            HttpVersion::Http1 => Offer::Http1,
            HttpVersion::Http2 => Offer::Http2,
        };
        let stream = ctx.0.tls.handshake(stream, &host, &tls, offer, ctx, trace).await?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        if check.http_version == HttpVersion::Http2 && !http2 {
            return Err(Failure::new(Class::HttpProtocol, "The server does not offer HTTP/2."));
        }
        trace.enter(Stage::FirstByte);
        exchange::send(stream, order.request(http2)?, http2).await?
    } else {
        let http2 = check.http_version == HttpVersion::Http2;
        trace.enter(Stage::FirstByte);
        exchange::send(stream, order.request(http2)?, http2).await?
    };
    trace.leave();
    note(&answer.response, outcome);
    Ok(answer)
}

/// A connection to the target, or through the monitor's proxy.
async fn reach(
    check: &HttpCheck,
    ctx: &Context,
    deadline: Instant,
    host: &Host,
    port: u16,
    order: &Order<'_>,
    trace: &mut Trace,
) -> Result<TcpStream, Failure> {
    let target = Target { host: host.clone(), port, family: check.ip_family };
    let Some(proxy) = check.proxy() else {
        return dial::connect(&target, ctx, deadline, trace).await;
    };
    // What the proxy would connect to is looked at too, as far as it can be known from here.
    if let Host::Ip(ip) = host {
        dial::permitted(*ip, port, ctx)?;
    }
    let proxy_host = Host::parse(proxy.host_str().unwrap_or_default())
        .map_err(|why| Failure::new(Class::Internal, format!("The proxy's host {why}.")))?;
    let proxy_target = Target {
        host: proxy_host,
        port: proxy.port_or_known_default().unwrap_or(80),
        family: IpFamily::Any,
    };
    let stream = dial::connect(&proxy_target, ctx, deadline, trace).await?;
    if order.url.scheme() != "https" {
        return Ok(stream);
    }
    trace.enter(Stage::Connect);
    let stream =
        dial::tunnel(stream, host, port, request::proxy_credentials(&proxy).as_deref()).await?;
    trace.leave();
    Ok(stream)
}

/// Keeps status, version and headers of an answer.
fn note(response: &Response<Incoming>, outcome: &mut Outcome) {
    outcome.status = Some(response.status().as_u16());
    outcome.version = Some(match response.version() {
        http::Version::HTTP_2 => "2",
        http::Version::HTTP_10 => "1.0",
        _ => "1.1",
    });
    outcome.headers = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
}

/// The failure of a probe that its deadline ended, by the phase that did not end.
fn timed_out(
    check: &HttpCheck,
    ctx: &Context,
    trace: &Trace,
    outcome: &Outcome,
    timeout: Duration,
) -> Failure {
    let url = outcome.url.as_ref().unwrap_or_else(|| check.url());
    let host = url.host_str().unwrap_or_default();
    let limit = seconds(timeout);
    match trace.stage() {
        Some(Stage::Resolve) => dial::lookup_timed_out(host, ctx, trace),
        Some(Stage::Connect) => {
            Failure::new(Class::ConnectTimeout, format!("No connection to {host} within {limit}."))
        }
        Some(Stage::Tls) => Failure::new(
            Class::TlsTimeout,
            format!("The TLS handshake with {host} did not end within {limit}."),
        ),
        Some(Stage::FirstByte) => Failure::new(
            Class::HttpTimeoutFirstByte,
            format!("No first byte within {limit}: the server took the request and stayed silent."),
        ),
        Some(Stage::Transfer) => Failure::new(
            Class::HttpTimeoutBody,
            format!("The answer began but did not end within {limit}."),
        ),
        None => Failure::new(
            Class::AgentOverload,
            format!("This agent was too busy to go on within {limit}."),
        ),
    }
}

/// `10 s`, `0.3 s`.
fn seconds(span: Duration) -> String {
    format!("{}\u{a0}s", (span.as_secs_f64() * 1000.0).round() / 1000.0)
}
