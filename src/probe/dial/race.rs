//! The race between addresses (RFC 8305): IPv6 first, families in turn, a new attempt every 250 ms or
//! as soon as one fails; the first connection wins.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;

use super::{Candidates, shown};
use crate::domain::address::Blocked;
use crate::domain::observation::Class;
use crate::net::{ConnectError, Guard};
use crate::probe::trace::{Failure, Trace};

/// Time until the next address is tried beside one that does not answer.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Names with hundreds of addresses exist; nobody learns more from the rest.
pub(super) const MOST_ATTEMPTS: usize = 16;

pub(super) async fn run(
    candidates: Candidates,
    port: u16,
    guard: &Guard,
    trace: &mut Trace,
) -> Result<(TcpStream, SocketAddr), Failure> {
    let mut refusals: Vec<(SocketAddr, ConnectError)> = Vec::new();
    let mut queue: VecDeque<SocketAddr> = VecDeque::new();
    admit(in_turn(candidates.ready), port, guard, &mut queue, &mut refusals);
    let mut late = candidates.late;
    let mut attempts = FuturesUnordered::new();
    let mut started = 0;
    let attempt = |address| async move { (address, guard.connect(address).await) };
    loop {
        if attempts.is_empty()
            && let Some(next) = queue.pop_front()
        {
            attempts.push(attempt(next));
            started += 1;
        }
        if attempts.is_empty() && late.is_none() {
            return Err(failure(&refusals, trace));
        }
        let may_start = !queue.is_empty() && started < MOST_ATTEMPTS;
        tokio::select! {
            Some((address, result)) = attempts.next(), if !attempts.is_empty() => match result {
                Ok(stream) => return Ok((stream, address)),
                Err(error) => {
                    refusals.push((address, error));
                    if may_start && let Some(next) = queue.pop_front() {
                        attempts.push(attempt(next));
                        started += 1;
                    }
                }
            },
            found = async { match late.as_mut() { Some(late) => late.await, None => std::future::pending().await } } => {
                late = None;
                if let Ok(found) = found {
                    trace.resolved.extend(&found);
                    admit(found, port, guard, &mut queue, &mut refusals);
                }
            }
            () = tokio::time::sleep(ATTEMPT_DELAY), if may_start => {
                if let Some(next) = queue.pop_front() {
                    attempts.push(attempt(next));
                    started += 1;
                }
            }
        }
    }
}

/// Puts allowed addresses into the queue; the others are refused here, before anything is sent.
fn admit(
    found: Vec<IpAddr>,
    port: u16,
    guard: &Guard,
    queue: &mut VecDeque<SocketAddr>,
    refusals: &mut Vec<(SocketAddr, ConnectError)>,
) {
    for ip in found {
        let address = SocketAddr::new(ip, port);
        match guard.check(address) {
            Ok(()) => queue.push_back(address),
            Err(blocked) => refusals.push((address, ConnectError::Blocked(blocked))),
        }
    }
}

/// v6, v4, v6, v4, …
pub(super) fn in_turn(found: Vec<IpAddr>) -> Vec<IpAddr> {
    let (v6, v4): (Vec<IpAddr>, Vec<IpAddr>) = found.into_iter().partition(IpAddr::is_ipv6);
    let (mut v6, mut v4) = (v6.into_iter(), v4.into_iter());
    let mut out = Vec::new();
    loop {
        match (v6.next(), v4.next()) {
            (None, None) => return out,
            (a, b) => out.extend(a.into_iter().chain(b)),
        }
    }
}

/// One failure for all attempts: the one that tells most about the target.
fn failure(refusals: &[(SocketAddr, ConnectError)], trace: &mut Trace) -> Failure {
    let rank = |error: &ConnectError| match error {
        ConnectError::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => 0,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => 1,
            io::ErrorKind::TimedOut => 2,
            io::ErrorKind::HostUnreachable => 3,
            _ => 4,
        },
        ConnectError::Blocked(_) => 5,
    };
    match refusals.iter().min_by_key(|(_, error)| rank(error)) {
        None => Failure::new(Class::DnsNoAddress, "The name has no address that could be used."),
        Some((_, ConnectError::Blocked(blocked))) => blocked_failure(blocked),
        Some((address, ConnectError::Io(error))) => {
            trace.address = Some(address.ip());
            io_failure(*address, error)
        }
    }
}

pub(super) fn blocked_failure(blocked: &Blocked) -> Failure {
    Failure::new(Class::BlockedAddress, blocked.by_agent())
}

pub(super) fn io_failure(address: SocketAddr, error: &io::Error) -> Failure {
    let address_text = shown(address);
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            Failure::new(Class::ConnectRefused, format!("{address_text} refused the connection."))
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            Failure::new(Class::ConnectReset, format!("{address_text} reset the connection."))
        }
        io::ErrorKind::TimedOut => {
            Failure::new(Class::ConnectTimeout, format!("{address_text} did not answer in time."))
        }
        io::ErrorKind::NetworkUnreachable if !has_route(address.ip()) => {
            let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
            Failure::new(
                Class::AgentNoNetwork,
                format!(
                    "This location has no {family} network: {address_text} cannot be reached from here."
                ),
            )
        }
        io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::PermissionDenied => Failure::new(
            Class::ConnectUnreachable,
            format!("The network reported {address_text} as unreachable: {error}."),
        ),
        _ if matches!(error.raw_os_error(), Some(23 | 24)) => Failure::new(
            Class::AgentOverload,
            "This agent has no free file handle for another connection.",
        ),
        _ => Failure::new(
            Class::Internal,
            format!("A connection to {address_text} could not be begun: {error}."),
        ),
    }
}

/// Whether this machine has any way out for the family. Connecting a datagram socket sends nothing; it
/// only asks the routing table.
fn has_route(ip: IpAddr) -> bool {
    let (own, far): (SocketAddr, SocketAddr) = match ip {
        IpAddr::V4(_) => (([0, 0, 0, 0], 0).into(), ([1, 1, 1, 1], 9).into()),
        IpAddr::V6(_) => (([0u16; 8], 0).into(), ([0x2600, 0, 0, 0, 0, 0, 0, 1], 9).into()),
    };
    std::net::UdpSocket::bind(own).and_then(|socket| socket.connect(far)).is_ok()
}
