//! Kind `http`: hop by hop to an answer, then the judgement.
//!
//! resolve → connect → handshake (`dial`) → exchange → body, again for each redirect, all under one
//! deadline; then `verdict`.

mod body;
mod charset;
mod cookies;
pub(super) mod exchange;
mod redirect;
pub(super) mod request;

use http::Response;
use hyper::body::Incoming;
use tokio::net::TcpStream;
use tokio::time::Instant;
use url::Url;

use self::body::Read;
use self::exchange::Answer;
use self::redirect::Next;
use self::request::Order;
use super::Attempt;
use super::conclude::{Content, Facts, conclude};
use super::dial::{self, Offer, Target};
use super::trace::{Failure, Stage, Trace, micros, narrow};
use crate::domain::address::Host;
use crate::domain::check::{HttpCheck, HttpVersion, IpFamily, Tls};
use crate::domain::observation::{Class, Hop, Observation};

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &HttpCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut trace = Trace::new(attempt.start);
    let mut facts = Facts::default();
    let mut read = None;
    let work = follow(check, attempt, &mut trace, &mut facts, &mut read);
    let ended = attempt.bounded(cancelled, work).await;
    let result = ended.unwrap_or_else(|| {
        let host = facts.url.as_ref().unwrap_or_else(|| check.url()).host_str();
        Err(exchange::timed_out(attempt, host.unwrap_or_default(), &trace))
    });
    let end = Instant::now();
    let content_type = facts.headers.iter().find(|(name, _)| name == "content-type");
    facts.body = read.map(|read: Read| Content {
        text: charset::decode(&read.bytes, content_type.map(|(_, value)| value.as_str()))
            .into_owned(),
        size: read.size,
        cut: read.cut,
    });
    conclude(attempt.check, &trace, facts, result, end)
}

/// Goes from hop to hop. The last answer is in `facts`, also when this is dropped half-way.
async fn follow(
    check: &HttpCheck,
    attempt: &Attempt<'_>,
    trace: &mut Trace,
    facts: &mut Facts,
    body: &mut Option<Read>,
) -> Result<(), Failure> {
    let mut order = Order::first(check, attempt.ctx)?;
    loop {
        let hop_start = Instant::now();
        facts.url = Some(order.url.clone());
        let answer = one_hop(check, attempt, &order, trace, facts).await?;
        match redirect::next(
            check,
            &mut order,
            &answer.response,
            facts.hops.len(),
            facts.url.as_ref(),
        ) {
            Next::Follow { location } => {
                facts.hops.push(Hop {
                    url: facts.url.as_ref().map(Url::to_string).unwrap_or_default(),
                    status: answer.response.status().as_u16(),
                    location,
                    address: trace.address.map(|ip| ip.to_string()),
                    duration_us: narrow(micros(hop_start, Instant::now())),
                });
            }
            Next::Judge(stopped) => {
                facts.stopped = stopped;
                trace.enter(Stage::Transfer);
                let wanted = body::Wanted::of(check, &order, &answer.response);
                let read = body::read(answer, &wanted).await?;
                trace.leave();
                *body = Some(read);
                return Ok(());
            }
        }
    }
}

/// One request on one new connection, up to the end of the answer's headers.
async fn one_hop(
    check: &HttpCheck,
    attempt: &Attempt<'_>,
    order: &Order<'_>,
    trace: &mut Trace,
    facts: &mut Facts,
) -> Result<Answer, Failure> {
    trace.certificate = None;
    (facts.status, facts.version) = (None, None);
    facts.headers.clear();
    let host = Host::parse(order.url.host_str().unwrap_or_default()).map_err(|why| {
        Failure::new(Class::RedirectInvalid, format!("The host of {} {why}.", order.url))
    })?;
    let port = order.url.port_or_known_default().unwrap_or(80);
    let stream = reach(check, attempt, &host, port, order, trace).await?;
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
        let stream =
            attempt.ctx.0.tls.handshake(stream, &host, &tls, offer, attempt.ctx, trace).await?;
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
    note(&answer.response, facts);
    Ok(answer)
}

/// A connection to the target, or through the monitor's proxy.
async fn reach(
    check: &HttpCheck,
    attempt: &Attempt<'_>,
    host: &Host,
    port: u16,
    order: &Order<'_>,
    trace: &mut Trace,
) -> Result<TcpStream, Failure> {
    let target = Target { host: host.clone(), port, family: check.ip_family };
    let Some(proxy) = check.proxy() else {
        return dial::connect(&target, attempt, trace).await;
    };
    // What the proxy would connect to is looked at too, as far as it can be known from here.
    if let Host::Ip(ip) = host {
        dial::permitted(*ip, port, attempt.ctx)?;
    }
    let proxy_host = Host::parse(proxy.host_str().unwrap_or_default())
        .map_err(|why| Failure::new(Class::Internal, format!("The proxy's host {why}.")))?;
    let proxy_target = Target {
        host: proxy_host,
        port: proxy.port_or_known_default().unwrap_or(80),
        family: IpFamily::Any,
    };
    let stream = dial::connect(&proxy_target, attempt, trace).await?;
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
pub(super) fn note(response: &Response<Incoming>, facts: &mut Facts) {
    facts.status = Some(response.status().as_u16());
    facts.version = Some(match response.version() {
        http::Version::HTTP_2 => "2",
        http::Version::HTTP_10 => "1.0",
        _ => "1.1",
    });
    facts.headers = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
}
