//! The report as a format (spec: slo 5.1): what the tools print, the API answers and every other view is
//! made from. Ratios are the nearest doubles of exact quotients, percentages are cut off, durations are
//! whole milliseconds, times are RFC 3339 in UTC; null is "nothing can be said".

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::budget::State;
use super::definition::{MaintenancePolicy, RuleSeverity, UnknownPolicy};
use super::latency::Latency;
use super::outage::Figures;
use crate::domain::Millis;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReport)]
pub struct Report {
    pub slo: Slo,
    pub window: WindowOf,
    pub time_ms: TimeMs,
    pub availability: Availability,
    pub coverage: Coverage,
    pub events: Events,
    /// Only for `requests`: how much was judged by them, and how much by the monitor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestShares>,
    pub budget: BudgetOf,
    pub state: State,
    pub burn: Vec<BurnOf>,
    pub alerts: Vec<Alert>,
    pub outages: Outages,
    pub incidents: Incidents,
    pub latency_ms: Latency,
    pub locations: Vec<Location>,
    pub maintenance: Vec<Maintenance>,
    pub days: Vec<Day>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<Member>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members_mean: Option<f64>,
    pub warnings: Vec<Warning>,
    pub data_revision: Option<i64>,
    pub report_revision: Option<i64>,
    pub engine_version: String,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportSlo)]
pub struct Slo {
    pub id: Option<String>,
    pub name: Option<String>,
    pub service: Option<String>,
    pub sli: String,
    /// `requests` with a bound: longer ones are bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_us: Option<u32>,
    pub target_ppb: u64,
    pub target_pct: String,
    pub window: WindowKind,
    pub unknown_policy: UnknownPolicy,
    pub maintenance_policy: MaintenancePolicy,
    pub partial_weight_ppm: u32,
    pub coverage_min: f64,
    /// Where verdicts came from slots.
    pub quorum: Option<QuorumOf>,
    pub composite: Option<String>,
    pub definition_revision: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportWindowKind)]
pub struct WindowKind {
    pub kind: String,
    pub duration: Option<String>,
    pub timezone: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportQuorum)]
pub struct QuorumOf {
    pub policy: String,
    pub k: Option<u32>,
    pub min_valid: u32,
    pub confirm: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportWindow)]
pub struct WindowOf {
    pub start: String,
    pub end: String,
    pub length_ms: Millis,
    pub as_of: String,
    /// Nothing after it enters any figure.
    pub watermark: String,
    /// A calendar or fixed window that is over. A rolling one never is.
    pub complete: bool,
    pub tzdata: String,
    /// How finely results were kept: `event`, or `quarter_hour` once only sums were left.
    pub resolution: String,
}

/// The first seven add up to the elapsed part of the window; `degraded` and `suppressed` are contained in
/// `up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportTime)]
pub struct TimeMs {
    pub up: Millis,
    pub down: Millis,
    pub partial: Millis,
    pub unknown: Millis,
    pub excluded: Millis,
    pub paused: Millis,
    pub not_monitored: Millis,
    pub remaining: Millis,
    pub degraded: Millis,
    pub suppressed: Millis,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportAvailability)]
pub struct Availability {
    pub ratio: Option<f64>,
    pub pct: Option<String>,
    pub best: Option<f64>,
    pub best_pct: Option<String>,
    pub worst: Option<f64>,
    pub worst_pct: Option<String>,
    /// With no maintenance left out.
    pub raw: Option<f64>,
    pub raw_pct: Option<String>,
    pub met: Option<bool>,
    /// The same of what is over by now, which a running window may still make good.
    pub attainment_to_date: Option<bool>,
    /// Good of total, in the unit of the indicator; both times the same factor where that is no whole
    /// number.
    pub good_num: String,
    pub total_den: String,
    /// The count of quick results is an interval, from a histogram; figures are those of its worse end.
    pub approx: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportCoverage)]
pub struct Coverage {
    pub ratio: Option<f64>,
    pub pct: Option<String>,
    pub window_fill: Option<f64>,
    pub ok: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportEvents)]
pub struct Events {
    pub good: u64,
    pub total: u64,
    pub expected: u64,
    pub invalid: u64,
    pub missing: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportRequests)]
pub struct RequestShares {
    pub by_requests_ms: u64,
    pub by_monitor_ms: u64,
}

/// `*_ms` for indicators of time, `total` and `remaining` for those of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportBudget)]
pub struct BudgetOf {
    pub total_ms: Option<Millis>,
    pub total: Option<f64>,
    pub consumed_ratio: Option<f64>,
    pub remaining_ms: Option<Millis>,
    pub remaining: Option<i64>,
    pub remaining_ratio: Option<f64>,
    pub nominal_ms: Option<Millis>,
    pub exhausts_at_if_down: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloBurn)]
pub struct BurnOf {
    pub lookback: String,
    pub rate: Option<f64>,
    pub coverage: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloAlert)]
pub struct Alert {
    pub rule: String,
    pub severity: RuleSeverity,
    pub factor: Option<f64>,
    pub long: String,
    pub short: String,
    pub firing: bool,
    /// Too little was seen to change anything.
    pub frozen: bool,
    pub since: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportOutages)]
pub struct Outages {
    #[serde(flatten)]
    pub figures: Figures,
    pub list: Vec<OutageOf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloOutage)]
pub struct OutageOf {
    pub start: String,
    pub end: Option<String>,
    pub ongoing: bool,
    pub duration_full_ms: Millis,
    pub downtime_ms: Millis,
    pub excluded_ms: Millis,
    pub unknown_ms: Millis,
    pub incident: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportIncidents)]
pub struct Incidents {
    /// Incidents with downtime in the window; without any on record, outages.
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportLocation)]
pub struct Location {
    pub id: String,
    pub ratio: Option<f64>,
    pub pct: Option<String>,
    /// Where slots give the location a timeline.
    pub down_ms: Option<Millis>,
    pub unknown_ms: Option<Millis>,
    pub events: u64,
    /// Of the events, those that passed.
    pub good: u64,
    /// Valid results of expected ones, or known of measured time where slots give it a timeline.
    pub coverage_pct: Option<String>,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportMaintenance)]
pub struct Maintenance {
    pub id: String,
    pub start: String,
    pub end: String,
    /// In the window; what several cover is told once, so that these add up to `time_ms.excluded`.
    pub excluded_ms: Millis,
    pub kind: String,
    pub reason: String,
}

/// A civil day of the SLO's zone, as far as it lies in the window and is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportDay)]
pub struct Day {
    pub date: String,
    pub length_ms: Millis,
    pub down_ms: Millis,
    pub partial_ms: Millis,
    pub unknown_ms: Millis,
    pub excluded_ms: Millis,
    pub pct: Option<String>,
    /// Outages with downtime on the day.
    pub outages: u64,
    pub latency_p95_ms: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportMember)]
pub struct Member {
    pub id: String,
    pub ratio: Option<f64>,
}

/// Something that is strange about the definition, and does not stop it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloWarning)]
pub struct Warning {
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub message: String,
}

impl Report {
    /// Puts in the hash of everything but itself and the engine's version.
    pub fn sealed(mut self) -> Self {
        let mut value = serde_json::to_value(&self).unwrap_or(Value::Null);
        if let Some(map) = value.as_object_mut() {
            map.remove("sha256");
            map.remove("engine_version");
            map.remove("generated_at");
        }
        self.sha256 = super::canonical::sha256(&value);
        self
    }
}

/// RFC 3339 in UTC with milliseconds; an instant beyond the calendar is told as its number.
pub fn stamp(at: Millis) -> String {
    match jiff::Timestamp::from_millisecond(at) {
        Ok(at) => at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        Err(_) => at.to_string(),
    }
}
