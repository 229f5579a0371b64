//! An agent's end of the delivery of results, step by step.

use std::time::{Duration, Instant};

use quorate::{
    domain::observation::{Class, Observation, Outcome, RunKind},
    protocol::{Batch, BatchAnswer, Report},
};
use uuid::Uuid;

use super::{watch::observation, whole::until};

/// Seconds before now, and whether the target answered. Far enough apart that the order is beyond
/// doubt, although each coordinator measures by a clock that it set by the database's.
pub(crate) type Attempts = &'static [(u64, bool)];

/// Delivers as an agent does: in the order of its numbers, again until somebody took it.
pub(crate) struct Sender {
    token: String,
    location: &'static str,
    boot: Uuid,
    http: reqwest::Client,
    /// Monitor of each report, by its number less one.
    monitors: Vec<Uuid>,
}

/// A report that waits, and when its attempt began.
pub(crate) struct Kept {
    report: Report,
    ago: Duration,
    since: Instant,
}

impl Sender {
    pub(crate) fn new(token: &str, location: &'static str) -> Self {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
        Self {
            token: token.to_owned(),
            location,
            boot: Uuid::from_u128(1),
            http,
            monitors: Vec::new(),
        }
    }

    pub(crate) fn batch(&mut self, monitors: &[Uuid], attempts: Attempts) -> Vec<Kept> {
        let mut batch = Vec::new();
        for (at, (seconds, well)) in attempts.iter().enumerate() {
            for monitor in monitors {
                self.monitors.push(*monitor);
                let seq = i64::try_from(self.monitors.len()).unwrap();
                let report = Report {
                    seq,
                    monitor: *monitor,
                    check_version: 1,
                    kind: if at == 0 { RunKind::Scheduled } else { RunKind::Retry },
                    age_at_send_ms: 0.0,
                    age_estimated: false,
                    more: false,
                    observation: Observation { size: u64::try_from(seq).ok(), ..saw(*well) },
                };
                let ago = Duration::from_secs(*seconds);
                batch.push(Kept { report, ago, since: Instant::now() });
            }
        }
        batch
    }

    /// Once; none if no answer came.
    pub(crate) async fn post(&self, batch: &[Kept], url: &str) -> Option<BatchAnswer> {
        let reports = batch.iter().map(|kept| {
            let age = kept.ago + kept.since.elapsed();
            Report { age_at_send_ms: age.as_secs_f64() * 1000.0, ..kept.report.clone() }
        });
        let batch = Batch {
            boot: self.boot,
            rtt_ms: 0.0,
            sent_at: None,
            settled: 0,
            reports: reports.collect(),
        };
        let json = serde_json::to_vec(&batch).unwrap();
        let request = self
            .http
            .post(format!("{url}agent/v1/reports"))
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .header("content-encoding", "zstd")
            .body(zstd::encode_all(&*json, 0).unwrap());
        let answer = request.send().await.ok()?.error_for_status().ok()?;
        serde_json::from_slice(&answer.bytes().await.ok()?).ok()
    }

    /// Until it is taken; nothing of it is refused.
    pub(crate) async fn deliver(&self, batch: &[Kept], url: &str) -> BatchAnswer {
        let taken = until("a batch is taken", async || self.post(batch, url).await).await;
        assert_eq!(taken.rejected, []);
        taken
    }

    pub(crate) fn location(&self) -> &'static str {
        self.location
    }

    /// Location, monitor and number of each report, oldest first.
    pub(crate) fn sent(&self) -> impl DoubleEndedIterator<Item = (String, Uuid, i32)> {
        let numbered = self.monitors.iter().enumerate();
        numbered.map(|(at, monitor)| {
            (self.location.to_owned(), *monitor, i32::try_from(at + 1).unwrap())
        })
    }
}

fn saw(well: bool) -> Observation {
    match well {
        true => observation(Outcome::Pass, None, Some(200)),
        false => observation(Outcome::Fail, Some(Class::ConnectRefused), None),
    }
}
