//! The sign of life, every ten seconds, and the answers to probes on request. A heartbeat's answer
//! brings coordinator time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use reqwest::Method;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Link, Trouble};
use crate::agent::Shared;
use crate::agent::time::boottime;
use crate::protocol::{Heartbeat, HeartbeatAnswer, ProbeAnswer};

/// Beats until `shutdown`.
pub async fn beat(link: Arc<Link>, shared: Arc<Shared>, shutdown: CancellationToken) {
    let mut patience = link.patience();
    let mut checked = false;
    loop {
        let outcome = tokio::select! {
            outcome = once(&link, &shared, &mut checked) => outcome,
            () = shutdown.cancelled() => return,
        };
        let pause = match outcome {
            Ok(()) => {
                if patience.fine() {
                    tracing::info!("heartbeats are answered again");
                }
                link.timing.heartbeat
            }
            Err(trouble) => {
                let pause =
                    patience.after(&trouble).min(link.timing.heartbeat.max(link.timing.refused));
                if patience.is_news() {
                    tracing::warn!(%trouble, "heartbeats are not answered");
                }
                pause
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.beat_now.notified() => {}
            () = shutdown.cancelled() => return,
        }
    }
}

async fn once(link: &Link, shared: &Shared, checked: &mut bool) -> Result<(), Trouble> {
    let (spool, dropped, settled) = {
        let spool = shared.spool.lock();
        (spool.waiting(), spool.dropped(), spool.settled())
    };
    let beat = Heartbeat {
        boot: link.boot,
        wall: shared.clock.now(),
        in_flight: shared.in_flight.load(Ordering::Relaxed),
        spool,
        dropped,
        selfcheck: shared.selfcheck(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rtt_ms: shared.time.rtt_ms(),
        settled,
    };
    let sent = boottime();
    let answer = link.send(link.request(Method::POST, "heartbeat")?.json(&beat)).await?;
    let received = boottime();
    let body = link.body(answer).await?;
    let answer: HeartbeatAnswer = serde_json::from_slice(&body)
        .map_err(|_| Trouble::Other("what answers heartbeats is not a coordinator".to_owned()))?;
    shared.time.learn(sent, received, answer.now, shared.clock.now());
    if answer.self_check && !*checked {
        shared.check_now.notify_one();
    }
    // One round each time that it is asked for, however many heartbeats fall into that time.
    *checked = answer.self_check;
    for ask in answer.resend {
        report_again(shared, ask.boot, ask.after_seq);
    }
    Ok(())
}

/// The coordinator knows less of a process start than it has settled: what is kept of it waits again.
pub fn report_again(shared: &Shared, boot: Uuid, after: i64) {
    let again = shared.spool.lock().rewind(boot, after);
    match again {
        Ok(reports) => tracing::warn!(%boot, after, reports, "asked to report again"),
        Err(error) => tracing::warn!(%boot, after, %error, "could not report again"),
    }
    shared.spool.nudge();
}

/// Brings one answer to whoever waits for it, as long as waiting makes sense.
pub async fn answer(link: Arc<Link>, answer: ProbeAnswer) {
    let mut patience = link.patience();
    for _ in 0..4 {
        let outcome = match link.request(Method::POST, "answers") {
            Ok(request) => link.send(request.json(&answer)).await,
            Err(trouble) => Err(trouble),
        };
        match outcome {
            Ok(_) => return,
            // Nobody waits any more, or it will never be taken.
            Err(Trouble::Unreadable | Trouble::TooLarge | Trouble::Refused(_)) => return,
            Err(trouble) => tokio::time::sleep(patience.after(&trouble)).await,
        }
    }
    tracing::warn!(request = %answer.request, "the answer to a probe on request could not be delivered");
}
