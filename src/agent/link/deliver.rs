//! Reports on their way: batches in sequence, one in flight per process start, again and again until
//! they are answered. One bad report never holds up the others.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use reqwest::{Method, header};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Link, Patience, Trouble, heartbeat};
use crate::agent::Shared;
use crate::agent::spool::Kept;
use crate::agent::time::boottime;
use crate::protocol::{Batch, BatchAnswer, MAX_BATCH, MAX_BATCH_BYTES, RejectCode, Report};

/// How many reports fit a batch right now, per process start: fewer after one that was refused.
type Limits = HashMap<Uuid, usize>;

/// Delivers until `stop`, then what still waits, without trying anything twice. A batch that is under
/// way is not cut short by `stop`: it may have arrived.
pub async fn deliver(link: Arc<Link>, shared: Arc<Shared>, stop: CancellationToken) {
    let mut patience = link.patience();
    let mut limits = Limits::new();
    while !stop.is_cancelled() {
        tokio::select! {
            () = shared.spool.wait(link.timing.flush) => {}
            () = stop.cancelled() => {}
        }
        drain(&link, &shared, &stop, &mut patience, &mut limits).await;
    }
    // What was kept between the last look and the end.
    drain(&link, &shared, &stop, &mut patience, &mut limits).await;
}

/// Until nothing waits. The present process start and the oldest other take turns, so that neither what
/// happens now nor what was missed has to wait for the other.
async fn drain(
    link: &Link,
    shared: &Arc<Shared>,
    stop: &CancellationToken,
    patience: &mut Patience,
    limits: &mut Limits,
) {
    loop {
        let boots = shared.spool.lock().waiting_boots();
        if boots.is_empty() {
            return;
        }
        for boot in boots.into_iter().take(2) {
            let limit = limits.entry(boot).or_insert(MAX_BATCH);
            let Err(trouble) = batch(link, shared, boot, limit).await else {
                if patience.fine() {
                    let waiting = shared.spool.lock().waiting();
                    tracing::info!(waiting, "reports are taken again");
                }
                continue;
            };
            let pause = patience.after(&trouble);
            if patience.is_news() {
                tracing::warn!(%trouble, "reports are not taken; keeping them");
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

/// One batch: sent, and settled or made smaller by what was answered.
async fn batch(
    link: &Link,
    shared: &Arc<Shared>,
    boot: Uuid,
    limit: &mut usize,
) -> Result<(), Trouble> {
    let prepared = tokio::task::spawn_blocking({
        let (shared, limit) = (Arc::clone(shared), *limit);
        move || prepare(&shared, boot, limit)
    });
    let prepared = prepared.await.map_err(|error| Trouble::Other(error.to_string()))?;
    let Some(Prepared { body, count, last, first }) = prepared? else { return Ok(()) };
    let request = link
        .request(Method::POST, "reports")?
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONTENT_ENCODING, "zstd")
        .body(body);
    let answer = match link.send(request).await {
        Ok(answer) => answer,
        Err(Trouble::Unreadable | Trouble::TooLarge) if count == 1 => {
            set_aside(shared, boot, &first);
            *limit = 1;
            return Ok(());
        }
        Err(Trouble::Unreadable | Trouble::TooLarge) => {
            *limit = count / 2;
            return Ok(());
        }
        Err(trouble) => return Err(trouble),
    };
    let body = link.body(answer).await?;
    // Only a coordinator's own answer settles: a captive portal says 200 too.
    let answer: BatchAnswer = serde_json::from_slice(&body)
        .map_err(|_| Trouble::Other("what takes reports is not a coordinator".to_owned()))?;
    if let Some(after) = answer.resend_after {
        heartbeat::report_again(shared, boot, after);
        return Ok(());
    }
    tell_rejected(boot, &answer);
    shared.spool.lock().settle(boot, last, shared.clock.now());
    *limit = (*limit * 2).min(MAX_BATCH);
    Ok(())
}

struct Prepared {
    body: Vec<u8>,
    count: usize,
    last: i64,
    first: Kept,
}

/// Reads the next reports of one process start and packs them. Reads files: not on an async thread.
fn prepare(shared: &Shared, boot: Uuid, limit: usize) -> Result<Option<Prepared>, Trouble> {
    let (kept, settled) = {
        let mut spool = shared.spool.lock();
        (spool.next(boot, limit.max(1), MAX_BATCH_BYTES / 2), spool.settled_of(boot))
    };
    let (Some(first), Some(last)) = (kept.first().cloned(), kept.last().map(|kept| kept.seq))
    else {
        return Ok(None);
    };
    let count = kept.len();
    let (now, wall) = (boottime(), shared.clock.now());
    let report = |kept: Kept| {
        let (age_at_send_ms, age_estimated) = shared.time.age_ms(&kept.started, now, wall);
        Report {
            seq: kept.seq,
            monitor: kept.monitor,
            check_version: kept.check_version,
            kind: kept.kind,
            age_at_send_ms,
            age_estimated,
            more: kept.more,
            observation: kept.observation,
        }
    };
    let rtt_ms = shared.time.rtt_ms();
    let reports = kept.into_iter().map(report).collect();
    let sent_at = shared.time.coordinator(now);
    let batch = Batch { boot, rtt_ms, sent_at, settled, reports };
    let packed = serde_json::to_vec(&batch).map_err(|error| Trouble::Other(error.to_string()))?;
    let body =
        zstd::encode_all(&packed[..], 3).map_err(|error| Trouble::Other(error.to_string()))?;
    Ok(Some(Prepared { body, count, last, first }))
}

fn set_aside(shared: &Shared, boot: Uuid, kept: &Kept) {
    let stored = shared.spool.lock().set_aside(boot, kept, shared.clock.now());
    shared.set_aside.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let (seq, monitor) = (kept.seq, kept.monitor);
    match stored {
        Ok(file) => tracing::error!(
            %boot, seq, %monitor, file = %file.display(),
            "the coordinator cannot read one report; set aside, going on with the others"
        ),
        Err(error) => tracing::error!(
            %boot, seq, %monitor, %error,
            "the coordinator cannot read one report and it could not be set aside; going on without it"
        ),
    }
}

fn tell_rejected(boot: Uuid, answer: &BatchAnswer) {
    let mut codes: BTreeMap<&str, u32> = BTreeMap::new();
    for rejected in &answer.rejected {
        let code = match rejected.code {
            RejectCode::TooOld => "too_old",
            RejectCode::Future => "future",
            RejectCode::UnknownMonitor => "unknown_monitor",
            RejectCode::BadReport => "bad_report",
            RejectCode::Other => "other",
        };
        *codes.entry(code).or_default() += 1;
    }
    if !codes.is_empty() {
        tracing::warn!(%boot, ?codes, "the coordinator has no use for some reports");
    }
}
