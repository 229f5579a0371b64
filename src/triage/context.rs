//! What every decision of one transaction shares: locations, maintenance, leniency.

use std::collections::HashMap;
use std::sync::Mutex;

use jiff::Timestamp;
use sqlx::PgConnection;

use crate::domain::Millis;
use crate::domain::decision::{Seat, dissent};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::location::health;
use crate::domain::maintenance::{Switches, Window};
use crate::store;
use crate::store::triage_read::LocationRow;

#[derive(Debug)]
pub(super) struct Context {
    pub(super) locations: HashMap<LocationKey, LocationRow>,
    windows: Vec<(Option<Vec<i32>>, Window)>,
    pub(super) grace_until: Option<Millis>,
    /// More locations are in doubt than may be set aside.
    pub(super) over_cap: bool,
    divergent: HashMap<MonitorKey, Vec<LocationKey>>,
    /// Seats by configured list: most monitors share one.
    seats: Mutex<HashMap<Vec<LocationKey>, std::sync::Arc<[Seat]>>>,
}

impl Context {
    /// For deciding about `monitors`, whose locks the caller holds.
    pub(super) async fn read(
        conn: &mut PgConnection,
        monitors: &[i32],
        now: Timestamp,
    ) -> sqlx::Result<Self> {
        let store::triage_read::ContextRows {
            locations,
            windows,
            grace_until,
            over_cap,
            divergent: pairs,
        } = store::triage_read::context(conn, monitors, now).await?;
        let mut divergent: HashMap<MonitorKey, Vec<LocationKey>> = HashMap::new();
        for (monitor, location) in pairs {
            divergent.entry(monitor).or_default().push(location);
        }
        Ok(Self {
            locations: locations.into_iter().map(|l| (l.location, l)).collect(),
            windows: windows
                .into_iter()
                .map(|w| {
                    let switches = Switches {
                        suppress_alerts: w.suppress_alerts,
                        exclude_from_slo: true,
                        pause_probes: w.pause_probes,
                    };
                    let (start, end) = (w.start_at.as_millisecond(), w.end_at.as_millisecond());
                    (w.monitors, Window { start, end, switches })
                })
                .collect(),
            grace_until: grace_until.map(|t| t.as_millisecond()),
            over_cap,
            divergent,
            seats: Mutex::default(),
        })
    }

    /// The seats of a monitor's configured list, with each location's standing there.
    pub(super) fn seats(
        &self,
        monitor: MonitorKey,
        list: &[LocationKey],
    ) -> std::sync::Arc<[Seat]> {
        let seats = self.shared_seats(list);
        match self.divergent.get(&monitor) {
            None => seats,
            Some(divergent) => {
                let mut own = seats.to_vec();
                dissent::set_aside(&mut own, divergent);
                own.into()
            }
        }
    }

    fn shared_seats(&self, list: &[LocationKey]) -> std::sync::Arc<[Seat]> {
        let mut seats = self.seats.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = seats.get(list) {
            return known.clone();
        }
        let made: std::sync::Arc<[Seat]> =
            list.iter().filter_map(|key| self.locations.get(key)).map(seat).collect();
        seats.insert(list.to_vec(), made.clone());
        made
    }

    /// The windows that concern a monitor.
    pub(super) fn windows(&self, monitor: MonitorKey) -> Vec<Window> {
        let concerns =
            |list: &Option<Vec<i32>>| list.as_ref().is_none_or(|list| list.contains(&monitor.0));
        self.windows.iter().filter(|(list, _)| concerns(list)).map(|(_, window)| *window).collect()
    }
}

/// A location as a seat, with its standing as far as it is the same for all monitors.
pub fn seat(row: &LocationRow) -> Seat {
    Seat {
        key: row.location,
        name: row.name.clone(),
        region: row.region.clone(),
        domain: row.domain.clone(),
        standing: health::standing(row.enabled, row.trust, row.quarantined),
    }
}
