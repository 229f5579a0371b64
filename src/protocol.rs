//! What agent and coordinator say to each other (spec: api 4). Additive: unknown fields are ignored, so
//! that an older agent works with a newer coordinator and the other way round.
//!
//! * `GET  /agent/v1/stream?since=REV` server-sent events, named as the constants in [`event`].
//! * `POST /agent/v1/heartbeat` [`Heartbeat`] → [`HeartbeatAnswer`], every 10 s.
//! * `POST /agent/v1/reports` zstd of JSON [`Batch`] → [`BatchAnswer`].
//! * `POST /agent/v1/answers` JSON [`ProbeAnswer`] → 204; the result of a `probe_now` by hand or a try.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::observation::{Observation, RunKind};

/// At most this many reports in a batch.
pub const MAX_BATCH: usize = 1_000;
/// At most this many bytes in a decompressed batch.
pub const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Seconds between heartbeats, and between pings on the stream.
pub const BEAT_SECS: u64 = 10;

/// Names of the events on the stream.
pub mod event {
    /// [`super::AssignmentSet`]
    pub const SET: &str = "set";
    /// [`super::AssignmentChange`]
    pub const CHANGE: &str = "change";
    /// [`super::ProbeNow`]
    pub const PROBE_NOW: &str = "probe_now";
    /// [`super::Ping`]
    pub const PING: &str = "ping";
}

/// Everything this agent has to probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssignmentSet {
    pub rev: i64,
    pub assignments: Vec<Assignment>,
}

/// What changed up to `rev`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssignmentChange {
    pub rev: i64,
    /// New or changed; replaces what the agent had.
    #[serde(default)]
    pub upsert: Vec<Assignment>,
    #[serde(default)]
    pub remove: Vec<Uuid>,
}

/// One monitor as one location probes it. Holds secrets in clear: kept encrypted on the agent's disk.
/// The check is JSON; an agent keeps it as text, which costs a fraction of the memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment<C = serde_json::Value> {
    pub monitor: Uuid,
    /// For the agent's log only.
    pub name: String,
    pub check_version: u32,
    /// The check object as it is stored, with `${secret:NAME}` for its secrets, or with secrets in place.
    pub check: C,
    /// What `${secret:NAME}` in the check stands for, by NAME.
    #[serde(default, skip_serializing_if = "Secrets::is_empty")]
    pub secrets: Secrets,
    pub interval_s: u32,
    pub timeout_ms: u32,
    pub slow_ms: Option<u32>,
    /// k and N of the stagger: due when (t − k·I/N) mod I = 0 on coordinator time.
    pub position: u32,
    pub of: u32,
    /// A failed attempt is repeated up to `fail_after` − 1 times, `retry_gap_ms` apart.
    pub fail_after: u32,
    pub retry_gap_ms: u32,
    /// While `vote_down`, a pass is repeated up to `pass_after` − 1 times, `pass_gap_ms` apart.
    pub pass_after: u32,
    pub pass_gap_ms: u32,
    /// This location's vote is down or recovering.
    pub vote_down: bool,
}

/// What `${secret:NAME}` in a check stands for, by NAME. In clear on the wire, never in a log.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, String>);

impl Secrets {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Ask for one probe at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeNow {
    pub request: Uuid,
    pub purpose: Purpose,
    /// A saved monitor, by its present assignment …
    pub monitor: Option<Uuid>,
    /// … or an unsaved check.
    pub check: Option<serde_json::Value>,
    /// What `${secret:NAME}` in `check` stands for, by NAME.
    #[serde(default, skip_serializing_if = "Secrets::is_empty")]
    pub secrets: Secrets,
    pub timeout_ms: Option<u32>,
    /// Not worth doing after this many milliseconds.
    pub expires_in_ms: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// A wave: reported as [`RunKind::Confirm`], with the same retries as a scheduled run.
    Confirm,
    /// By hand: reported as [`RunKind::Manual`], and answered.
    Manual,
    /// An unsaved check: answered only.
    Try,
}

/// The coordinator's database was restored and knows less than was settled: send again what is kept of
/// this process start after this sequence (agents keep settled reports for 24 h).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resend {
    pub boot: Uuid,
    pub after_seq: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    pub now: jiff::Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub boot: Uuid,
    /// The agent's wall clock; shown as an offset, never used for a vote.
    pub wall: jiff::Timestamp,
    pub in_flight: u32,
    /// Reports waiting on disk.
    pub spool: u64,
    /// Reports lost to a full spool since this boot.
    pub dropped: u64,
    /// A [`crate::domain::location::selfcheck::SelfCheck`] once a round of the operator's references is
    /// over; absent with fewer than three references.
    #[serde(default)]
    pub selfcheck: Option<serde_json::Value>,
    pub version: String,
    /// Round trip of the previous exchange, half of which corrects `wall`.
    #[serde(default)]
    pub rtt_ms: f64,
    /// Up to where each process start that is still kept was settled, the latest first; at most
    /// [`MAX_STARTS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<SettledUpTo>,
}

/// At most this many process starts in a heartbeat.
pub const MAX_STARTS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledUpTo {
    pub boot: Uuid,
    pub seq: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeartbeatAnswer {
    /// The coordinator's time, by which agents schedule.
    pub now: jiff::Timestamp,
    /// Of what was said to be settled: what is not known here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resend: Vec<Resend>,
    /// Many monitors fail at once: look at the references now, and say what was found without waiting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_check: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    pub boot: Uuid,
    /// Shortest round trip of the exchanges of late.
    #[serde(default)]
    pub rtt_ms: f64,
    /// When this is sent, in coordinator time as the agent knows it; nothing before it knows. A batch that was
    /// held up on its way is told by it from one whose results are young.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<jiff::Timestamp>,
    /// Up to where the agent's reports of this start were settled before; 0 if it does not say.
    #[serde(default)]
    pub settled: i64,
    pub reports: Vec<Report>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Rises by one per report of this boot, from 1.
    pub seq: i64,
    pub monitor: Uuid,
    pub check_version: u32,
    pub kind: RunKind,
    /// Milliseconds between the start of the attempt and the sending of the batch, by a clock that
    /// counts suspend.
    pub age_at_send_ms: f64,
    /// The age came from the wall clock, after a restart of the machine: history only, never a vote.
    #[serde(default)]
    pub age_estimated: bool,
    /// Whether further attempts of the same run follow (the last one is the run's event).
    #[serde(default)]
    pub more: bool,
    pub observation: Observation,
}

/// All of these are settled, unless `resend_after` is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchAnswer {
    pub accepted: u32,
    pub duplicate: u32,
    #[serde(default)]
    pub rejected: Vec<Rejected>,
    /// Nothing of the batch was taken, because less is known than was settled: go on after this
    /// sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resend_after: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    pub seq: i64,
    pub code: RejectCode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectCode {
    TooOld,
    Future,
    UnknownMonitor,
    BadReport,
    /// A newer coordinator's reason; settled like the others.
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeAnswer {
    pub request: Uuid,
    pub observation: Observation,
}
