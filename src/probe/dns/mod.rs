//! Kind `dns`: one question, asked of a server that the monitor names or of the agent's own resolvers.
//!
//! Of an answer nothing is connected to: addresses in it are data. What a named server does wrong is the target's
//! fault; what the agent's resolvers do wrong is so only if a control name resolves.

mod answer;
mod ask;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use self::answer::{Answer, Question};
use self::ask::{Notes, Way};
use super::Attempt;
use super::conclude::{Facts, conclude};
use super::dial::{self, Target};
use super::trace::{Failure, Stage, Trace};
use crate::domain::assertion::rcode::NOERROR;
use crate::domain::check::{DnsCheck, NameServer};
use crate::domain::observation::{Class, Observation};

/// Time until the next address of a named server is asked beside one that does not answer (RFC 8305).
const NEXT_ADDRESS: Duration = Duration::from_millis(250);
/// Time until the agent's next resolver is asked.
const NEXT_RESOLVER: Duration = Duration::from_secs(1);
/// Records and aliases that are shown.
const SHOWN: usize = 20;

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &DnsCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut trace = Trace::new(attempt.start);
    let mut facts = Facts::default();
    let notes = Notes::default();
    let work = look(check, attempt, &notes, &mut trace, &mut facts);
    let ended = attempt.bounded(cancelled, work).await;
    let result = ended.unwrap_or_else(|| Err(timed_out(check, attempt, &notes, &trace)));
    show_notes(&notes, &mut facts);
    conclude(attempt.check, &trace, facts, result, Instant::now())
}

async fn look(
    check: &DnsCheck,
    attempt: &Attempt<'_>,
    notes: &Notes,
    trace: &mut Trace,
    facts: &mut Facts,
) -> Result<(), Failure> {
    let mut id = [0; 2];
    rand::fill(&mut id);
    let question = Question::new(u16::from_be_bytes(id), &check.name, check.record.name())
        .map_err(|why| {
            Failure::new(Class::Internal, format!("{} cannot be asked for: {why}.", check.name))
        })?;
    facts.show("question", format!("{} {}", check.record.name(), check.name));
    let way = Way { question: &question, tcp: check.tcp, guard: None, notes };
    let (from, answer) = match &check.server {
        Some(server) => named(server, check, way, attempt, trace).await?,
        None => own(way, attempt, trace).await?,
    };
    trace.leave();
    trace.address = Some(from.ip());
    facts.show("answered by", from.to_string());
    let code = answer.rcode.clone();
    note(answer, facts);
    if code == NOERROR {
        return Ok(());
    }
    // Also when the monitor wants another code: a resolver that knows nothing proves nothing.
    if check.server.is_none()
        && let Some(failure) = dial::own_fault(attempt.ctx, trace).await
    {
        return Err(failure);
    }
    if !check.judges_rcode() {
        facts.stopped = Some(code_failure(check, &code, from));
    }
    Ok(())
}

/// Asks the server of the monitor, at each of its addresses.
async fn named(
    server: &NameServer,
    check: &DnsCheck,
    way: Way<'_>,
    attempt: &Attempt<'_>,
    trace: &mut Trace,
) -> Result<(SocketAddr, Answer), Failure> {
    let guard = &attempt.ctx.0.guard;
    let way = Way { guard: Some(guard), ..way };
    let target = Target { host: server.host.clone(), port: server.port, family: check.ip_family };
    if check.tcp {
        let stream = dial::connect(&target, attempt, trace).await?;
        let ip = trace.address.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED.into());
        let address = SocketAddr::new(ip, server.port);
        trace.enter(Stage::FirstByte);
        return way.over(stream, address).await.map(|answer| (address, answer));
    }
    let addresses = dial::addresses(&target, attempt, trace).await?;
    trace.enter(Stage::FirstByte);
    ask::any(&addresses, NEXT_ADDRESS, way).await
}

/// Asks the agent's own resolvers.
async fn own(
    way: Way<'_>,
    attempt: &Attempt<'_>,
    trace: &mut Trace,
) -> Result<(SocketAddr, Answer), Failure> {
    let servers = attempt.ctx.0.resolver.servers();
    trace.enter(Stage::FirstByte);
    let asked = ask::any(servers, NEXT_RESOLVER, way);
    match dial::beside_control(asked, attempt.ctx, attempt.deadline, trace).await {
        Ok(found) => Ok(found),
        Err(failure) => Err(dial::own_fault(attempt.ctx, trace).await.unwrap_or(failure)),
    }
}

/// Keeps what the answer says, for conditions and for people.
fn note(answer: Answer, facts: &mut Facts) {
    facts.show("response code", answer.rcode.clone());
    for alias in answer.chain.iter().take(SHOWN) {
        facts.show("alias of", alias.clone());
    }
    for record in answer.records.iter().take(SHOWN) {
        facts.show("record", record.clone());
    }
    if answer.records.len() > SHOWN {
        facts.show("records", format!("{}, of which {SHOWN} are shown", answer.records.len()));
    }
    facts.rcode = Some(answer.rcode);
    facts.records = Some(answer.records);
}

fn show_notes(notes: &Notes, facts: &mut Facts) {
    if notes.cut.load(Ordering::Relaxed) {
        facts.show("transport", "UDP, and TCP because the answer was cut");
    }
    match notes.ignored.load(Ordering::Relaxed) {
        0 => {}
        1 => facts.show("ignored", "1 packet that does not answer the question"),
        count => facts.show("ignored", format!("{count} packets that do not answer the question")),
    }
}

/// The failure that a response code is, unless the monitor judges it itself.
fn code_failure(check: &DnsCheck, code: &str, from: SocketAddr) -> Failure {
    let (record, name) = (check.record.name(), &check.name);
    match code {
        "NXDOMAIN" => Failure::new(
            Class::DnsNxdomain,
            format!("The name {name} does not exist: {from} answered NXDOMAIN."),
        ),
        code => Failure::new(
            Class::DnsServfail,
            format!("{from} answered {code} when asked for {record} {name}."),
        ),
    }
}

/// The failure of a probe that its deadline ended.
fn timed_out(check: &DnsCheck, attempt: &Attempt<'_>, notes: &Notes, trace: &Trace) -> Failure {
    let limit = attempt.limit();
    match (&check.server, trace.stage()) {
        (Some(server), Some(Stage::FirstByte)) => {
            let ignored = match notes.ignored.load(Ordering::Relaxed) {
                0 => "",
                _ => "; what came did not answer the question",
            };
            Failure::new(
                Class::DnsTimeout,
                format!("{}:{} did not answer within {limit}{ignored}.", server.host, server.port),
            )
        }
        (Some(server), _) => attempt.timed_out_before(&server.host.to_string(), trace),
        (None, _) => dial::lookup_timed_out(&check.name, attempt.ctx, trace),
    }
}
