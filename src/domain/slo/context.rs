//! What stands beside a report in the store: causes, people, the periods before, how it was measured. The
//! engine knows none of it; documents say it.

use serde::{Deserialize, Serialize};

use super::definition::RuleSeverity;
use super::report::Report;
use crate::domain::Millis;

/// A report and its surroundings: what documents are made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub report: Report,
    pub context: Context,
}

/// What the report does not hold. Instants are milliseconds since 1970, as everywhere in the domain. Whatever is not known is left empty, and the documents then say less.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// For whom the report is.
    pub customer: Option<String>,
    /// Name of what is watched: a monitor, a fleet, or several monitors joined by commas.
    pub subject: Option<String>,
    /// Names of a composite's members, whom the report knows by their ids.
    #[serde(default)]
    pub members: Vec<MemberName>,
    pub generated_at: Option<Millis>,
    /// When this revision was frozen; none while figures may still change.
    pub frozen_at: Option<Millis>,
    pub method: Method,
    /// Those with downtime in the window, in order of time.
    pub incidents: Vec<Incident>,
    pub maintenance: Vec<Maintenance>,
    /// The same SLO in the twelve periods up to this one, the oldest first, this one last.
    pub months: Vec<Month>,
    /// Burn-rate alerts that fired in the window; none when it is not known.
    pub alerts: Option<Vec<FiredAlert>>,
    /// Other SLOs of the same subject on latency.
    pub latency_slos: Vec<LatencySlo>,
    /// Unknown stretches longer than five minutes; none when it is not known.
    pub gaps: Option<Vec<Gap>>,
    /// What was done to the monitors in the window; none when it is not known.
    pub changes: Option<Vec<Change>>,
    /// How to get the same figures again, as somebody would type it.
    pub command: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberName {
    pub id: String,
    pub name: String,
}

/// How it was measured, in the words of the monitor's settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// One sentence without its full stop: `HTTP GET of https://shop.example/health, which must answer
    /// with 2xx`.
    pub check: Option<String>,
    /// Of a job that calls by itself, in place of all that is about probing: what is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    pub interval_s: Option<f64>,
    pub timeout_s: Option<f64>,
    /// Names of the locations that vote.
    pub locations: Vec<String>,
    /// Of these locations.
    pub regions: Option<u32>,
    /// Separate networks (failure domains) of these locations.
    pub networks: Option<u32>,
    /// What makes it down, as a sentence's end: `a majority of the locations that can see it`.
    pub quorum: Option<String>,
    /// Fewer locations than this with something to say are unknown.
    pub min_evidence: Option<u32>,
    /// Failures in a row at a location before its vote is a fail.
    pub fail_after: Option<u32>,
    /// Passes in a row before it is a pass again.
    pub pass_after: Option<u32>,
    /// Version of the rules of decision: `q1`.
    pub rules: Option<String>,
}

/// An incident as stored. Outages of the report name it by its id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    pub id: String,
    /// Name of the monitor.
    pub monitor: Option<String>,
    pub started_at: Millis,
    /// When it was decided.
    pub confirmed_at: Option<Millis>,
    pub ended_at: Option<Millis>,
    /// What was seen from outside, such as `HTTP 502`.
    pub cause: Option<String>,
    /// Names of the locations that saw it fail.
    pub locations_failed: Vec<String>,
    /// How many locations were counted.
    pub locations_counted: Option<u32>,
    /// The first error as it came.
    pub first_error: Option<String>,
    pub acked_at: Option<Millis>,
    pub acked_by: Option<String>,
}

/// What the report's entry of the same id and start does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Maintenance {
    pub id: String,
    pub start: Millis,
    pub declared_at: Option<Millis>,
    pub declared_by: Option<String>,
    /// `everything`, or the monitors and locations that it covers.
    pub scope: String,
    /// Down within it, which the figures leave out.
    pub down_ms: Option<Millis>,
}

/// One period before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Month {
    /// Its first civil day, such as `2026-10-01`.
    pub first_day: String,
    /// Cut off; none when nothing can be said.
    pub pct: Option<String>,
    pub met: Option<bool>,
}

/// A rule that fired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FiredAlert {
    pub rule: String,
    pub severity: RuleSeverity,
    /// Lookbacks as they are written: `1h`, `5m`.
    pub long: String,
    pub short: String,
    pub factor: Option<f64>,
    /// The fastest burn that was seen while it fired, in either lookback.
    pub worst_long: Option<f64>,
    pub worst_short: Option<f64>,
    pub from: Millis,
    pub to: Option<Millis>,
    /// What came of it: `page, with the incident`.
    pub did: Option<String>,
}

/// Another SLO over the same window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySlo {
    pub name: String,
    pub threshold_ms: f64,
    pub pct: Option<String>,
    pub target_pct: String,
    pub met: Option<bool>,
}

/// A stretch in which nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    pub from: Millis,
    /// None while it goes on.
    pub to: Option<Millis>,
    pub reason: String,
}

/// Something that was done to a monitor, or to its SLO.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub at: Millis,
    pub kind: ChangeKind,
    /// Name of what was changed.
    pub subject: String,
    /// `interval 60 s → 30 s`.
    pub what: String,
    pub by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Deleted,
    Paused,
    Resumed,
    Interval,
    Reconfigured,
    /// Results that came later changed what was unknown.
    LateData,
}
