//! What one attempt adds to its cell.

use super::{
    super::{
        cell::{Cell, PoolCell},
        record::{Attempt, Attribution, Fault, Outcome, Record},
    },
    Request,
};

/// An attempt whose outcome is the client's or the proxy's.
pub(super) fn left_out(cell: &mut Cell, record: &Record<'_>, attempt: &Attempt<'_>) {
    match record.attribution {
        Attribution::Client => cell.clients += 1,
        _ => cell.proxies += 1,
    }
    if let Some(status) = record.status.or(attempt.status) {
        *cell.codes.entry(status).or_default() += 1;
    }
    seen_at(cell, record.end_us);
}

/// An attempt that says something of its instance.
pub(super) fn count(
    cell: &mut Cell,
    request: &Request,
    record: &Record<'_>,
    attempt: &Attempt<'_>,
    single: bool,
) {
    cell.attempts += 1;
    if let Outcome::Error(fault) = attempt.outcome {
        match fault {
            Fault::Status => cell.faults.status += 1,
            Fault::Connect => cell.faults.connect += 1,
            Fault::Timeout => cell.faults.timeout += 1,
            Fault::Reset => cell.faults.reset += 1,
        }
        cell.rescued += u64::from(request.saved);
    }
    if let Some(status) = attempt.status {
        *cell.codes.entry(status).or_default() += 1;
    }
    // With one attempt the request took what the attempt took.
    let of_request = |value: Option<u64>| if single { value } else { None };
    if let Some(took) = attempt.duration_us.or(of_request(record.duration_us)) {
        cell.latency.add(u32::try_from(took).unwrap_or(u32::MAX));
    }
    if let Some(bytes) = attempt.bytes.or(of_request(record.bytes)) {
        cell.bytes = cell.bytes.saturating_add(bytes);
        // Answers that have no body, or a part of one, by their nature say nothing of blank pages.
        let whole = attempt.status.is_some_and(|s| (200..300).contains(&s))
            && !matches!(attempt.status, Some(204..=206));
        if request.plain && whole {
            cell.sizes.add(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }
    seen_at(cell, request.end_us);
}

/// Whether a request that did not fail was quick enough. One that its client gave up says so only if it had
/// taken too long already; one without a time says nothing.
pub(super) fn hold_against(pool: &mut PoolCell, bounds: &[u32], record: &Record<'_>) {
    let Some(took) = record.duration_us else { return };
    for bound in bounds {
        let slow = took > u64::from(*bound);
        if slow || record.attribution != Attribution::Client {
            let timed = pool.timed.entry(*bound).or_default();
            timed.judged += 1;
            timed.slow += u64::from(slow);
        }
    }
}

pub(super) fn note_probe(cell: &mut Cell, outcome: Outcome) {
    match outcome {
        Outcome::Ok => cell.probes_passed += 1,
        Outcome::Error(_) => cell.probes_failed += 1,
        Outcome::Unknown => {}
    }
}

pub(super) fn seen_at(cell: &mut Cell, at_us: i64) {
    cell.first_us = Some(cell.first_us.map_or(at_us, |first| first.min(at_us)));
    cell.last_us = cell.last_us.max(Some(at_us));
}

/// A request in an instance's own log as an attempt at that instance.
pub(super) fn own_attempt<'a>(name: &'a [u8], record: &Record<'_>) -> Attempt<'a> {
    let outcome = match (record.attribution, record.status) {
        (Attribution::Client | Attribution::Proxy, _) | (_, None) => Outcome::Unknown,
        (_, Some(500..)) => Outcome::Error(Fault::Status),
        (_, Some(_)) => Outcome::Ok,
    };
    Attempt {
        instance: name,
        status: record.status,
        duration_us: record.duration_us,
        connect_us: None,
        bytes: record.bytes,
        outcome,
    }
}
