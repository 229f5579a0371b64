//! How a fleet stands now. What is not known is said to be not known: a silent log is never health.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{error::ApiResult, request::At};
use crate::{
    domain::fleet::finding::{Gravity, Kind},
    store::{
        self,
        fleet_findings::{Filter, FindingRow},
        fleet_live::LiveRow,
        fleet_sources::SourceRow,
        fleets::FleetRow,
    },
};

/// A fleet whose logs are older than this is not spoken of in the present.
const FRESH: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetState {
    /// No log has ever come.
    Waiting,
    /// Logs came once, and none of the last five minutes is here.
    NoData,
    /// Something critical is found.
    Critical,
    /// Something is found that is worth a warning.
    Warning,
    /// Logs come, and nothing worth a warning is found.
    Ok,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct FleetNow {
    pub state: FleetState,
    /// Instances ready, as `ready_source` says; null: nobody says. With several reporters the median, and
    /// between which it lies.
    pub ready: Option<i32>,
    pub ready_low: Option<i32>,
    pub ready_high: Option<i32>,
    /// `haproxy kubernetes alb_health envoy nginx_error caddy probes`
    pub ready_source: Option<String>,
    /// Instances that had traffic of late. Without another source this is all there is, and it is not
    /// readiness.
    pub in_rotation: Option<i32>,
    pub expected: Option<i32>,
    /// `set snapshot learned`
    pub expected_from: Option<String>,
    /// Fewer ready than this is critical.
    pub min_ready: Option<u32>,
    pub open_findings: usize,
    /// The gravest open finding.
    pub worst: Option<FindingBrief>,
    /// Time of the newest line or event.
    pub newest_at: Option<At>,
    /// When something came last.
    pub received_at: Option<At>,
    /// Windows up to here are judged.
    pub judged_until: Option<At>,
    pub sources: usize,
    /// Sources of which something came in the last five minutes.
    pub live_sources: usize,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct FindingBrief {
    pub id: Uuid,
    pub kind: Kind,
    pub severity: Gravity,
    pub instances: Vec<String>,
    pub from: At,
    pub chronic: bool,
    pub sentence: String,
}

/// What it is read from.
#[derive(Debug)]
pub struct Standing {
    pub live: LiveRow,
    pub sources: Vec<SourceRow>,
    /// Open ones.
    pub findings: Vec<FindingRow>,
    min_ready: Option<u32>,
    now: Timestamp,
}

impl Standing {
    pub async fn read(
        conn: &mut PgConnection,
        fleet: &FleetRow,
        now: Timestamp,
    ) -> ApiResult<Self> {
        let live = store::fleet_live::get(conn, fleet.key).await?;
        let sources = store::fleet_sources::list(conn, fleet.key, None).await?;
        let open = Filter { open: Some(true), limit: 500, ..Filter::default() };
        let findings = store::fleet_findings::list(conn, fleet.key, &open).await?;
        let expected = live.figures.expected.and_then(|n| u32::try_from(n).ok());
        let expected = fleet.config.analysis.expected.or(expected);
        let min_ready = fleet
            .config
            .analysis
            .min_ready
            .or_else(|| expected.map(|expected| fleet.config.analysis.floor(expected)));
        Ok(Self { live, sources, findings, min_ready, now })
    }

    pub fn newest_at(&self) -> Option<Timestamp> {
        let known = |s: &SourceRow| s.newest_at.max(s.heard_until);
        self.sources.iter().filter_map(known).max()
    }

    pub fn state(&self) -> FleetState {
        let Some(newest) = self.newest_at() else { return FleetState::Waiting };
        if self.now.duration_since(newest) > FRESH {
            return FleetState::NoData;
        }
        let loud = |severity| {
            self.findings.iter().any(|w| w.finding.severity == severity && !w.finding.chronic)
        };
        match (loud(Gravity::Critical), loud(Gravity::Warning)) {
            (true, _) => FleetState::Critical,
            (false, true) => FleetState::Warning,
            (false, false) => FleetState::Ok,
        }
    }

    pub fn shown(&self) -> FleetNow {
        let state = self.state();
        let figures = self.live.figures.clone();
        // What was ready when the logs broke off is not what is ready now.
        let known = matches!(state, FleetState::Critical | FleetState::Warning | FleetState::Ok);
        let fresh = |n: Option<i32>| n.filter(|_| known);
        let received = self.sources.iter().filter_map(|s| s.received_at).max();
        let is_live =
            |s: &&SourceRow| s.received_at.is_some_and(|at| self.now.duration_since(at) <= FRESH);
        let worst = self.findings.iter().max_by_key(|w| (!w.finding.chronic, w.finding.severity));
        FleetNow {
            state,
            ready: fresh(figures.ready),
            ready_low: fresh(figures.ready_low),
            ready_high: fresh(figures.ready_high),
            ready_source: figures.ready_source.filter(|_| known),
            in_rotation: fresh(figures.in_rotation),
            expected: figures.expected,
            expected_from: figures.expected_from,
            min_ready: self.min_ready,
            open_findings: self.findings.len(),
            worst: worst.map(FindingBrief::from),
            newest_at: self.newest_at().map(At),
            received_at: received.map(At),
            judged_until: self.live.judged_until.map(At),
            sources: self.sources.len(),
            live_sources: self.sources.iter().filter(is_live).count(),
        }
    }
}

impl From<&FindingRow> for FindingBrief {
    fn from(row: &FindingRow) -> Self {
        let finding = &row.finding;
        Self {
            id: row.id,
            kind: finding.kind,
            severity: finding.severity,
            instances: finding.instances.clone(),
            from: micros(finding.from_us),
            chronic: finding.chronic,
            sentence: finding.sentence.clone(),
        }
    }
}

/// µs since the Unix epoch as the API speaks it.
pub fn micros(us: i64) -> At {
    At(Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH))
}
