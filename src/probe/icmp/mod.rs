//! Kind `icmp`: echo requests at even distances, and what comes back until the deadline.
//!
//! The phases are the lookup and the mean round trip, and the total is their sum: the time between requests is no
//! latency. What a host can make us hold is one packet of 2 KiB; there are 20 requests at most.

mod packet;

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use self::packet::Echo;
use super::Attempt;
use super::conclude::{Facts, conclude};
use super::dial::{self, Target};
use super::trace::{Failure, Stage, Trace, micros};
use crate::domain::check::IcmpCheck;
use crate::domain::observation::{Class, Observation};
use crate::net::{ConnectError, EchoError, EchoSocket};

/// Between requests, unless there is too little time: routers count more as a flood.
const MOST_SPACED: Duration = Duration::from_millis(200);
/// Time until the next address of a host is asked beside one that does not answer (RFC 8305).
const NEXT_ADDRESS: Duration = Duration::from_millis(250);
/// How much longer than a second a reply may take once others have come, in round trips.
const PATIENT_TRIPS: u32 = 3;
const PACKET: usize = 2_048;

/// What the requests to the address that answered came to.
#[derive(Debug, Default)]
struct Tally {
    /// Microseconds by the number of the request.
    trips: Vec<Option<u64>>,
    /// Replies that had come already.
    twice: u32,
}

/// When requests are sent, and when the last reply can come.
#[derive(Clone, Copy)]
struct Plan {
    count: u16,
    size: u16,
    spaced: Duration,
    /// A little before the attempt's deadline, so that what is known then can be told.
    end: Instant,
}

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &IcmpCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut trace = Trace::new(attempt.start);
    let mut facts = Facts::default();
    let mut tally = Tally { trips: vec![None; usize::from(check.count)], twice: 0 };
    let work = ping(check, attempt, &mut trace, &mut tally);
    let ended = attempt.bounded(cancelled, work).await;
    let result = match ended {
        Some(result) => result,
        None if trace.stage() == Some(Stage::FirstByte) => Ok(()),
        None => Err(attempt.timed_out_before(&check.endpoint.host.to_string(), &trace)),
    };
    let asked = trace.stage() == Some(Stage::FirstByte);
    let (mean, result) = (tally.mean(), result.and_then(|()| tally.answered(attempt, check)));
    if asked {
        tally.note(&mut facts);
    }
    if let Some(mean) = mean {
        trace.took(mean);
    }
    let end = mean.map_or_else(Instant::now, |_| trace.start + trace.spent());
    conclude(attempt.check, &trace, facts, result, end)
}

/// Sends to the host's addresses, each a little after the one before, and goes on with the first that answers.
async fn ping(
    check: &IcmpCheck,
    attempt: &Attempt<'_>,
    trace: &mut Trace,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let target = Target { host: check.endpoint.host.clone(), port: 0, family: check.ip_family };
    let addresses = dial::addresses(&target, attempt, trace).await?;
    let now = Instant::now();
    let left = attempt.deadline.saturating_duration_since(now);
    let plan = Plan {
        count: check.count,
        size: check.size,
        spaced: MOST_SPACED.min(left / 2 / u32::from(check.count)),
        end: now + left - left / 50,
    };
    trace.enter(Stage::FirstByte);
    trace.address = addresses.first().map(|address| address.ip());
    let mut waiting = addresses.into_iter().map(|address| address.ip());
    let mut asked = FuturesUnordered::new();
    let ask = |ip| async move {
        let mut pinger = Pinger::to(ip, plan, attempt)?;
        let first = pinger.next().await?;
        Ok::<_, Failure>((pinger, first))
    };
    let mut failure: Option<Failure> = None;
    let (mut pinger, mut reply) = loop {
        if asked.is_empty() {
            match (waiting.next(), failure.take()) {
                (Some(ip), kept) => {
                    failure = kept;
                    asked.push(ask(ip));
                }
                (None, Some(failure)) => return Err(failure),
                (None, None) => return Ok(()),
            }
        }
        tokio::select! {
            Some(result) = asked.next() => match result {
                Ok((pinger, Some(reply))) => break (pinger, Some(reply)),
                Ok((_, None)) => {}
                Err(error) => failure = failure.or(Some(error)),
            },
            () = tokio::time::sleep(NEXT_ADDRESS), if waiting.len() > 0 => {
                asked.extend(waiting.next().map(ask));
            }
        }
    };
    trace.address = Some(pinger.ip);
    while let Some((number, trip)) = reply {
        tally.record(number, trip);
        if tally.replies() == usize::from(plan.count) {
            break;
        }
        reply = pinger.next().await?;
    }
    Ok(())
}

/// Requests to one address.
struct Pinger {
    ip: IpAddr,
    link: EchoSocket,
    echo: Echo,
    plan: Plan,
    /// When each request left, by its number.
    sent: Vec<Instant>,
    slowest: Option<Duration>,
    /// What the network said of a request.
    unreachable: Option<Failure>,
}

impl Pinger {
    fn to(ip: IpAddr, plan: Plan, attempt: &Attempt<'_>) -> Result<Self, Failure> {
        let link = attempt.ctx.0.guard.echo(ip).map_err(|error| match error {
            EchoError::Blocked(blocked) => Failure::new(Class::BlockedAddress, blocked.by_agent()),
            EchoError::Permission(_) => Failure::new(Class::Permission, NOT_ALLOWED),
            EchoError::Io(error) => dial::connect_failure((ip, 0).into(), &ConnectError::Io(error)),
        })?;
        let (mut ident, mut token) = ([0; 2], [0; 8]);
        rand::fill(&mut ident);
        rand::fill(&mut token);
        let echo = Echo {
            v6: ip.is_ipv6(),
            raw: link.raw,
            ident: u16::from_be_bytes(ident),
            token,
            size: plan.size,
        };
        Ok(Self { ip, link, echo, plan, sent: Vec::new(), slowest: None, unreachable: None })
    }

    /// Goes on sending until the next reply: the number of its request, from 0, and the microseconds that it took.
    /// `None`: nothing more is to be expected.
    async fn next(&mut self) -> Result<Option<(usize, u64)>, Failure> {
        let mut buffer = [0; PACKET];
        loop {
            let now = Instant::now();
            let due = self.due(now);
            if due.is_some_and(|due| due <= now) {
                self.send().await?;
                continue;
            }
            let until = due.unwrap_or_else(|| self.patience(now)).min(self.plan.end);
            let length =
                match tokio::time::timeout_at(until, self.link.socket.recv(&mut buffer)).await {
                    Err(_) if until < self.plan.end && due.is_some() => continue,
                    // A word of the network about one request is no failure once another was answered.
                    Err(_) => {
                        let told = self.unreachable.take().filter(|_| self.slowest.is_none());
                        return told.map_or(Ok(None), Err);
                    }
                    Ok(Err(error)) => {
                        self.told(error)?;
                        continue;
                    }
                    Ok(Ok(length)) => length,
                };
            let packet = buffer.get(..length).unwrap_or_default();
            let number = self.echo.reply(packet).map(usize::from);
            if let Some((number, left)) =
                number.and_then(|number| Some((number, *self.sent.get(number)?)))
            {
                let trip = left.elapsed();
                self.slowest = self.slowest.max(Some(trip));
                return Ok(Some((number, micros(left, left + trip))));
            }
        }
    }

    /// When the next request is to leave, if there is one.
    fn due(&self, now: Instant) -> Option<Instant> {
        if self.sent.len() >= usize::from(self.plan.count) {
            return None;
        }
        Some(self.sent.last().map_or(now, |last| *last + self.plan.spaced))
    }

    /// Until when replies are waited for once all requests have left: to the end, unless others came or the network
    /// said that there will be none.
    fn patience(&self, now: Instant) -> Instant {
        let last = self.sent.last().copied().unwrap_or(now);
        let second = last + Duration::from_secs(1);
        match (self.slowest, &self.unreachable) {
            (Some(slowest), _) => second + slowest * PATIENT_TRIPS,
            (None, Some(_)) => second,
            (None, None) => self.plan.end,
        }
    }

    async fn send(&mut self) -> Result<(), Failure> {
        let request = self.echo.request(self.sent.len() as u16);
        self.sent.push(Instant::now());
        match self.link.socket.send(&request).await {
            Ok(_) => Ok(()),
            Err(error) => self.told(error),
        }
    }

    /// Routers' words about one request are kept, for others may arrive; what is our own trouble ends the probe.
    fn told(&mut self, error: io::Error) -> Result<(), Failure> {
        // A full queue of the kernel drops one request, which is a loss.
        if error.raw_os_error() == Some(NO_BUFFERS) {
            return Ok(());
        }
        let failure = match error.kind() {
            io::ErrorKind::ConnectionRefused => Failure::new(
                Class::ConnectUnreachable,
                format!("The network reported {} as unreachable: {error}.", self.ip),
            ),
            _ => dial::connect_failure((self.ip, 0).into(), &ConnectError::Io(error)),
        };
        if failure.class != Class::ConnectUnreachable {
            return Err(failure);
        }
        self.unreachable = Some(failure);
        Ok(())
    }
}

/// ENOBUFS.
const NO_BUFFERS: i32 = 105;

const NOT_ALLOWED: &str = "This agent may not send echo requests. Let its group do so with the sysctl net.ipv4.ping_group_range, such as \"0 2147483647\", or give it the capability CAP_NET_RAW.";

impl Tally {
    fn record(&mut self, number: usize, trip: u64) {
        match self.trips.get_mut(number) {
            Some(Some(_)) => self.twice += 1,
            Some(place) => *place = Some(trip),
            None => {}
        }
    }

    fn replies(&self) -> usize {
        self.trips.iter().flatten().count()
    }

    /// Microseconds, rounded.
    fn mean(&self) -> Option<u64> {
        let count = self.replies() as u64;
        (count > 0).then(|| (self.trips.iter().flatten().sum::<u64>() + count / 2) / count)
    }

    fn answered(&self, attempt: &Attempt<'_>, check: &IcmpCheck) -> Result<(), Failure> {
        if self.replies() > 0 {
            return Ok(());
        }
        let (host, limit) = (&check.endpoint.host, attempt.limit());
        let asked = match check.count {
            1 => "1 echo request".to_owned(),
            count => format!("{count} echo requests"),
        };
        Err(Failure::new(
            Class::IcmpNoReply,
            format!("No reply from {host} to {asked} within {limit}."),
        ))
    }

    fn note(&self, facts: &mut Facts) {
        let (asked, replies) = (self.trips.len(), self.replies());
        let lost = (asked - replies) as u64 * 100_000 / (asked as u64).max(1);
        facts.show("replies", format!("{replies} of {asked}"));
        facts.show("loss", format!("{}.{:03} %", lost / 1_000, lost % 1_000));
        let trips = self.trips.iter().flatten();
        if let (Some(mean), Some(least), Some(most)) =
            (self.mean(), trips.clone().min(), trips.max())
        {
            let ms = |us: u64| format!("{}.{:03}", us / 1_000, us % 1_000);
            facts.show(
                "round trip",
                format!("{} ms, from {} to {} ms", ms(mean), ms(*least), ms(*most)),
            );
        }
        if self.twice > 0 {
            facts.show("twice", format!("{} replies came more than once", self.twice));
        }
        facts.rtt_us = self.mean();
        facts.loss_mpct = Some(lost);
    }
}
