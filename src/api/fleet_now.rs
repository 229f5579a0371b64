//! How a fleet stands now. What is not known is said to be not known: a silent log is never health.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{error::ApiResult, request::At};
use crate::{
    domain::{
        fleet::{
            finding::{Gravity, Kind},
            hearing::{Arrival, Hearing},
        },
        ids::FleetKey,
    },
    store::{
        self,
        fleet_findings::{Filter, FindingRow},
        fleet_live::Figures,
        fleets::FleetRow,
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetState {
    /// No log has ever come.
    Waiting,
    /// Logs came once, and whoever sent them was deleted.
    NoSource,
    /// Logs came once, and every source has been silent for longer than is usual for it.
    NoData,
    /// Logs come, and they are old ones: how the fleet is now is not known yet.
    Behind,
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
    /// Instances ready, as `ready_source` says; null: nobody says, or whoever did is silent. With several
    /// reporters the median, and between which it lies.
    pub ready: Option<i32>,
    pub ready_low: Option<i32>,
    pub ready_high: Option<i32>,
    /// `haproxy kubernetes alb_health envoy nginx_error caddy probes`
    pub ready_source: Option<String>,
    /// Instances that had traffic of late. Without another source this is all there is, and it is not
    /// readiness.
    pub in_rotation: Option<i32>,
    /// Instances beside these of which nothing is known, because whoever told of them is silent.
    pub unknown: i32,
    /// By zone, where instances have one.
    pub zones: Vec<FleetZone>,
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
    /// Sources that are heard: something came within the silence that is usual for them, and it is not old.
    pub live_sources: usize,
}

/// The instances of one zone.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FleetZone {
    /// Null: those that are in no zone.
    pub zone: Option<String>,
    /// Ready, or in rotation where nobody says more; null: of none of them anything is known.
    pub ready: Option<u32>,
    /// Of so many nobody tells any more.
    pub unknown: u32,
    /// All that there are.
    pub instances: u32,
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
    pub judged_until: Option<Timestamp>,
    /// Open ones.
    pub findings: Vec<FindingRow>,
    figures: Figures,
    arrivals: Vec<Arrival>,
    min_ready: Option<u32>,
    lateness_s: u32,
    now: Timestamp,
}

impl Standing {
    pub async fn read(
        conn: &mut PgConnection,
        fleet: &FleetRow,
        now: Timestamp,
    ) -> ApiResult<Self> {
        let figures = store::fleet_live::figures(conn, Some(fleet.key)).await?.remove(&fleet.key);
        let arrivals = store::fleet_sources::arrivals(conn, Some(fleet.key)).await?;
        let arrivals = arrivals.into_iter().map(|(_, arrival)| arrival).collect();
        let open = Filter { open: Some(true), limit: 500, ..Filter::default() };
        let findings = store::fleet_findings::list(conn, fleet.key, &open).await?;
        Ok(Self::of(fleet, figures.unwrap_or_default(), arrivals, findings, now))
    }

    /// Of all these fleets, asked at once.
    pub async fn read_all(
        conn: &mut PgConnection,
        fleets: &[FleetRow],
        now: Timestamp,
    ) -> ApiResult<Vec<Self>> {
        let mut figures = store::fleet_live::figures(conn, None).await?;
        let mut arrivals: BTreeMap<FleetKey, Vec<Arrival>> = BTreeMap::new();
        for (fleet, arrival) in store::fleet_sources::arrivals(conn, None).await? {
            arrivals.entry(fleet).or_default().push(arrival);
        }
        let mut findings: BTreeMap<FleetKey, Vec<FindingRow>> = BTreeMap::new();
        for (fleet, finding) in store::fleet_findings::open_everywhere(conn).await? {
            findings.entry(fleet).or_default().push(finding);
        }
        let standing = |fleet: &FleetRow| {
            Self::of(
                fleet,
                figures.remove(&fleet.key).unwrap_or_default(),
                arrivals.remove(&fleet.key).unwrap_or_default(),
                findings.remove(&fleet.key).unwrap_or_default(),
                now,
            )
        };
        Ok(fleets.iter().map(standing).collect())
    }

    fn of(
        fleet: &FleetRow,
        (judged_until, figures): (Option<Timestamp>, Figures),
        arrivals: Vec<Arrival>,
        findings: Vec<FindingRow>,
        now: Timestamp,
    ) -> Self {
        let set = &fleet.config.analysis;
        let expected = figures.expected.and_then(|n| u32::try_from(n).ok());
        let expected = set.expected.or(expected);
        let min_ready = set.min_ready.or_else(|| expected.map(|expected| set.floor(expected)));
        let lateness_s = set.lateness_s;
        Self { judged_until, findings, figures, arrivals, min_ready, lateness_s, now }
    }

    pub fn newest_at(&self) -> Option<Timestamp> {
        self.arrivals.iter().filter_map(|arrival| arrival.newest_at).max()
    }

    fn heard(&self) -> impl Iterator<Item = Hearing> {
        self.arrivals.iter().map(|arrival| arrival.hearing(self.lateness_s, self.now))
    }

    pub fn state(&self) -> FleetState {
        if !self.is_known() {
            return self.unheard();
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

    /// Whether anything is known of the present.
    pub fn is_known(&self) -> bool {
        self.heard().any(|heard| heard == Hearing::Live)
    }

    /// Why nothing is known of the present.
    fn unheard(&self) -> FleetState {
        let behind = |heard| matches!(heard, Hearing::Behind(_));
        match (self.judged_until, self.newest_at()) {
            (Some(_), _) if self.arrivals.is_empty() => FleetState::NoSource,
            (None, None) => FleetState::Waiting,
            _ if self.heard().any(behind) => FleetState::Behind,
            _ => FleetState::NoData,
        }
    }

    pub fn shown(&self) -> FleetNow {
        let state = self.state();
        let figures = self.figures.clone();
        // What was ready when the logs broke off is not what is ready now.
        let known = self.is_known();
        let fresh = |n: Option<i32>| n.filter(|_| known);
        let received = self.arrivals.iter().filter_map(|arrival| arrival.received_at).max();
        let worst = self.findings.iter().max_by_key(|w| (!w.finding.chronic, w.finding.severity));
        let mut zones = zones(figures.zones);
        if !known {
            zones = zones.into_iter().map(FleetZone::unknown).collect();
        }
        FleetNow {
            state,
            ready: fresh(figures.ready),
            ready_low: fresh(figures.ready_low),
            ready_high: fresh(figures.ready_high),
            ready_source: figures.ready_source.filter(|_| known),
            in_rotation: fresh(figures.in_rotation),
            unknown: figures.unknown,
            zones,
            expected: figures.expected,
            expected_from: figures.expected_from,
            min_ready: self.min_ready,
            open_findings: self.findings.len(),
            worst: worst.map(FindingBrief::from),
            newest_at: self.newest_at().map(At),
            received_at: received.map(At),
            judged_until: self.judged_until.map(At),
            sources: self.arrivals.len(),
            live_sources: self.heard().filter(|heard| *heard == Hearing::Live).count(),
        }
    }
}

/// Zones as they are stored; only we write them.
pub fn zones(stored: Option<serde_json::Value>) -> Vec<FleetZone> {
    stored.and_then(|stored| serde_json::from_value(stored).ok()).unwrap_or_default()
}

impl FleetZone {
    /// The same instances when nobody tells of them.
    pub fn unknown(self) -> Self {
        Self { ready: None, unknown: self.instances, ..self }
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
