//! From a name to a connection: lookup, race, TCP, TLS; each phase timed.

mod certificate;
mod race;
mod tls;

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::Instant;

use super::trace::{Failure, Stage, Trace};
use super::{Attempt, Context, Inner};
use crate::domain::address::Host;
use crate::domain::check::IpFamily;
use crate::domain::observation::Class;
use crate::net::{ConnectError, Family, LookupError};

pub(super) use tls::{Offer, TlsSettings, handshake_failure};

/// How long the second family may take once the first has answered (RFC 8305, "Resolution Delay").
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);

type Pending = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, LookupError>> + Send>>;

/// Addresses to try, and a lookup that has not answered yet.
struct Candidates {
    ready: Vec<IpAddr>,
    late: Option<Pending>,
}

/// Where to connect to.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) family: IpFamily,
}

/// Looks the host up and connects to one of its addresses.
pub(super) async fn connect(
    target: &Target,
    attempt: &Attempt<'_>,
    trace: &mut Trace,
) -> Result<TcpStream, Failure> {
    let candidates = match &target.host {
        // An address is used as it is: there is nothing to look up.
        Host::Ip(ip) => Candidates { ready: vec![*ip], late: None },
        Host::Name(name) => {
            trace.enter(Stage::Resolve);
            let found = resolve(name, target.family, attempt.ctx, attempt.deadline, trace).await;
            trace.leave();
            found?
        }
    };
    trace.resolved = candidates.ready.clone();
    trace.address = None;
    trace.enter(Stage::Connect);
    let (stream, address) = race::run(candidates, target.port, &attempt.ctx.0.guard, trace).await?;
    trace.leave();
    trace.address = Some(address.ip());
    Ok(stream)
}

/// The addresses of a host that may be connected to, at most 16, families in turn. For kinds that have no
/// connection.
pub(super) async fn addresses(
    target: &Target,
    attempt: &Attempt<'_>,
    trace: &mut Trace,
) -> Result<Vec<SocketAddr>, Failure> {
    let found = match &target.host {
        Host::Ip(ip) => vec![*ip],
        Host::Name(name) => {
            trace.enter(Stage::Resolve);
            let found = resolve(name, target.family, attempt.ctx, attempt.deadline, trace).await;
            trace.leave();
            found?.ready
        }
    };
    trace.resolved = found.clone();
    let mut blocked = None;
    let mut open = Vec::new();
    for ip in race::in_turn(found) {
        let address = SocketAddr::new(ip, target.port);
        // A target without a port is a host as such.
        let checked = match target.port {
            0 => attempt.ctx.0.guard.check_ip(ip),
            _ => attempt.ctx.0.guard.check(address),
        };
        match checked {
            Ok(()) => open.push(address),
            Err(refusal) => blocked = Some(refusal),
        }
    }
    open.truncate(race::MOST_ATTEMPTS);
    match blocked {
        Some(blocked) if open.is_empty() => Err(race::blocked_failure(&blocked)),
        _ => Ok(open),
    }
}

/// The lookup, with the control name asked in time to know whose fault a failure is.
async fn resolve(
    name: &str,
    family: IpFamily,
    ctx: &Context,
    deadline: Instant,
    trace: &Trace,
) -> Result<Candidates, Failure> {
    let lookup = both_families(name, family, &ctx.0);
    match beside_control(lookup, ctx, deadline, trace).await {
        Ok(found) => Ok(found),
        Err(error) => Err(own_fault(ctx, trace).await.unwrap_or_else(|| dns_failure(name, &error))),
    }
}

/// Runs what the agent's resolver is asked for. If that takes long, the control name is asked beside it, so that
/// it is known at the deadline whether the resolver works at all.
pub(super) async fn beside_control<T>(
    work: impl Future<Output = T>,
    ctx: &Context,
    deadline: Instant,
    trace: &Trace,
) -> T {
    if ctx.0.control_names.is_empty() {
        return work.await;
    }
    let patience = deadline.saturating_duration_since(Instant::now()) / 3;
    let control = async {
        tokio::time::sleep(patience).await;
        // Asked once only, so it is never set already.
        let _ = trace.control.set(control_resolves(&ctx.0).await);
        std::future::pending::<std::convert::Infallible>().await
    };
    tokio::select! {
        done = work => done,
        never = control => match never {},
    }
}

/// The failure that is this location's own, if no control name resolves either.
pub(super) async fn own_fault(ctx: &Context, trace: &Trace) -> Option<Failure> {
    if ctx.0.control_names.is_empty() {
        return None;
    }
    let known = match trace.control.get() {
        Some(known) => *known,
        None => *trace.control.get_or_init({
            let known = control_resolves(&ctx.0).await;
            move || known
        }),
    };
    (!known).then(|| resolver_failure(&ctx.0))
}

/// The failure of a connection, or of a datagram's way.
pub(super) fn connect_failure(address: SocketAddr, error: &ConnectError) -> Failure {
    match error {
        ConnectError::Blocked(blocked) => race::blocked_failure(blocked),
        ConnectError::Io(error) => race::io_failure(address, error),
    }
}

/// The failure of a lookup that the deadline ended.
pub(super) fn lookup_timed_out(host: &str, ctx: &Context, trace: &Trace) -> Failure {
    if !ctx.0.control_names.is_empty() && trace.control.get() != Some(&true) {
        return resolver_failure(&ctx.0);
    }
    dns_failure(host, &LookupError::Timeout)
}

async fn control_resolves(ctx: &Inner) -> bool {
    let mut asked: futures_util::stream::FuturesUnordered<_> =
        ctx.control_names.iter().map(|name| ctx.resolver.knows(name)).collect();
    while let Some(known) = futures_util::StreamExt::next(&mut asked).await {
        if known {
            return true;
        }
    }
    false
}

fn resolver_failure(ctx: &Inner) -> Failure {
    let names = ctx.control_names.join(", ");
    Failure::new(
        Class::AgentResolver,
        format!("This location cannot resolve any name: {names} did not resolve either."),
    )
}

fn dns_failure(name: &str, error: &LookupError) -> Failure {
    match error {
        LookupError::Nxdomain => {
            Failure::new(Class::DnsNxdomain, format!("The name {name} does not exist."))
        }
        LookupError::NoAddress => Failure::new(
            Class::DnsNoAddress,
            format!("The name {name} has no address that could be used."),
        ),
        LookupError::Servfail(code) => Failure::new(
            Class::DnsServfail,
            format!("The name servers answered with an error for {name}: {code}."),
        ),
        LookupError::Timeout => {
            Failure::new(Class::DnsTimeout, format!("The name {name} did not resolve in time."))
        }
        LookupError::Unusable(why) => Failure::new(
            Class::DnsServfail,
            format!("The name {name} could not be looked up: {why}."),
        ),
    }
}

/// Both families at once. When one has answered, the other gets a little longer; then the race begins,
/// and a late answer joins it.
async fn both_families(
    name: &str,
    family: IpFamily,
    ctx: &Inner,
) -> Result<Candidates, LookupError> {
    let ask = |family| -> Pending {
        let (resolver, name) = (ctx.resolver.clone(), name.to_owned());
        Box::pin(async move { resolver.lookup(&name, family).await })
    };
    let one = |found| Candidates { ready: found, late: None };
    let (mut v4, mut v6) = match family {
        IpFamily::V4 => return ask(Family::V4).await.map(one),
        IpFamily::V6 => return ask(Family::V6).await.map(one),
        IpFamily::Any => (ask(Family::V4), ask(Family::V6)),
    };
    let (first, mut other) = tokio::select! {
        found = &mut v6 => (found, v4),
        found = &mut v4 => (found, v6),
    };
    match first {
        Err(error) => other.await.map(one).map_err(|second| worse(error, second)),
        Ok(ready) => match tokio::time::timeout(RESOLUTION_DELAY, &mut other).await {
            Ok(second) => Ok(one(ready.into_iter().chain(second.unwrap_or_default()).collect())),
            Err(_) => Ok(Candidates { ready, late: Some(other) }),
        },
    }
}

/// Of two failures the one that says more: an error might hide an address, "no address" cannot.
fn worse(a: LookupError, b: LookupError) -> LookupError {
    let rank = |error: &LookupError| match error {
        LookupError::Nxdomain => 0,
        LookupError::Servfail(_) => 1,
        LookupError::Timeout => 2,
        LookupError::Unusable(_) => 3,
        LookupError::NoAddress => 4,
    };
    if rank(&b) < rank(&a) { b } else { a }
}

/// A socket address as people write it; without a port if there is none.
fn shown(address: SocketAddr) -> String {
    match address.port() {
        0 => address.ip().to_string(),
        _ => address.to_string(),
    }
}

/// Whether an address may be connected to, for connections that a proxy makes for us.
pub(super) fn permitted(ip: IpAddr, port: u16, ctx: &Context) -> Result<(), Failure> {
    ctx.0.guard.check(SocketAddr::new(ip, port)).map_err(|blocked| race::blocked_failure(&blocked))
}

/// Asks a proxy for a way through to the target.
pub(super) async fn tunnel(
    mut stream: TcpStream,
    host: &Host,
    port: u16,
    credentials: Option<&str>,
) -> Result<TcpStream, Failure> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let failed = |error: std::io::Error| {
        Failure::new(Class::ConnectReset, format!("The proxy broke the connection: {error}."))
    };
    let credentials =
        credentials.map_or_else(String::new, |text| format!("Proxy-Authorization: {text}\r\n"));
    let ask = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{credentials}\r\n");
    stream.write_all(ask.as_bytes()).await.map_err(failed)?;
    let mut head = Vec::new();
    // Byte by byte: what follows the head belongs to the target. A proxy's head is short.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > 16 * 1024 {
            return Err(Failure::new(
                Class::HttpProtocol,
                "The proxy's answer is longer than 16\u{a0}KiB.",
            ));
        }
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(Failure::new(
                    Class::HttpProtocol,
                    "The proxy closed the connection without an answer.",
                ));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    let first = String::from_utf8_lossy(head.split(|b| *b == b'\r').next().unwrap_or_default())
        .into_owned();
    match first.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()) {
        Some(200..=299) => Ok(stream),
        Some(407) => Err(Failure::new(
            Class::ConnectRefused,
            "The proxy asks for a user and a password (HTTP 407).",
        )),
        Some(status) => Err(Failure::new(
            Class::ConnectRefused,
            format!("The proxy did not connect to {host}:{port} (HTTP {status})."),
        )),
        None => Err(Failure::new(
            Class::HttpProtocol,
            "What answers at the proxy's address is not an HTTP proxy.",
        )),
    }
}
