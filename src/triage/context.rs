//! What every decision of one transaction shares: locations, maintenance, leniency.

use std::collections::HashMap;
use std::sync::Mutex;

use jiff::Timestamp;
use sqlx::PgConnection;

use crate::domain::Millis;
use crate::domain::decision::{Seat, Standing};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::maintenance::{Switches, Window};
use crate::store;
use crate::store::triage_read::LocationRow;

#[derive(Debug)]
pub(super) struct Context {
    pub(super) locations: HashMap<LocationKey, LocationRow>,
    windows: Vec<(Option<Vec<i32>>, Window)>,
    pub(super) grace_until: Option<Millis>,
    /// Seats by configured list: most monitors share one.
    seats: Mutex<HashMap<Vec<LocationKey>, std::sync::Arc<[Seat]>>>,
}

impl Context {
    pub(super) async fn read(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Self> {
        let store::triage_read::ContextRows { locations, windows, grace_until } =
            store::triage_read::context(conn, now).await?;
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
            seats: Mutex::default(),
        })
    }

    /// The seats of a configured list, with each location's standing.
    pub(super) fn seats(&self, list: &[LocationKey]) -> std::sync::Arc<[Seat]> {
        let mut seats = self.seats.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = seats.get(list) {
            return known.clone();
        }
        let made: std::sync::Arc<[Seat]> = list
            .iter()
            .filter_map(|key| self.locations.get(key))
            .map(|row| Seat {
                key: row.location,
                name: row.name.clone(),
                region: row.region.clone(),
                domain: row.domain.clone(),
                standing: if row.enabled { Standing::Counted } else { Standing::Disabled },
            })
            .collect();
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
