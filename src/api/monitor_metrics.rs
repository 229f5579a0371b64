//! Monitors in `/metrics` (spec: slo 5.3): counters that advance with the watermark and never go back, and the
//! state of this moment.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::{
    error::ApiResult,
    exposition::{Exposition, Kind},
    metrics::{number, stamp},
};
use crate::{
    domain::{
        decision::State,
        ids::{LocationKey, MonitorKey},
        slo::{counting::BOUNDS, maintenance},
    },
    store::{
        self,
        metrics_read::{CountersRow, LocationRow, MonitorRow},
        slo_state,
    },
};

/// In the order of the stored counters.
const STATES: [&str; 6] = ["up", "partial", "down", "unknown", "excluded", "paused"];
const OUTCOMES: [&str; 4] = ["ok", "fail", "invalid", "missing"];

pub async fn write(
    page: &mut Exposition,
    conn: &mut PgConnection,
    now: Timestamp,
) -> ApiResult<()> {
    let monitors = store::metrics_read::monitors(conn).await?;
    let names = slo_state::location_names(conn).await?;
    let counted: Vec<(&str, &CountersRow)> =
        monitors.iter().filter_map(|m| Some((&*m.name, m.counters.as_ref()?))).collect();
    times(page, &counted);
    present(page, conn, &monitors, &names, now).await?;
    let results = store::metrics_read::locations(conn).await?;
    let monitor_names: BTreeMap<MonitorKey, &str> =
        monitors.iter().map(|m| (m.key, &*m.name)).collect();
    let places = results.iter().filter_map(|row| {
        Some((*monitor_names.get(&row.monitor)?, names.get(&row.location)?.as_str(), row))
    });
    outcomes(page, &places.collect::<Vec<_>>());
    Ok(())
}

fn times(page: &mut Exposition, counted: &[(&str, &CountersRow)]) {
    let mut time = page.family(
        Kind::Counter,
        "quorate_monitor_state_seconds",
        "Time that a monitor was in a state, as far as it is final",
    );
    for (monitor, counters) in counted {
        for (state, ms) in STATES.iter().zip(counters.ms) {
            time.add(&[("monitor", monitor), ("state", state)], ms as f64 / 1e3);
        }
    }
    let mut rounds = page.family(
        Kind::Counter,
        "quorate_rounds",
        "Intervals of a monitor that began, by what held then",
    );
    for (monitor, counters) in counted {
        for (verdict, count) in STATES.iter().zip(counters.rounds) {
            rounds.add(&[("monitor", monitor), ("verdict", verdict)], count as f64);
        }
    }
    let mut incidents =
        page.family(Kind::Counter, "quorate_incidents", "Incidents that began, of a monitor");
    for (monitor, counters) in counted {
        incidents.add(&[("monitor", monitor)], counters.incidents as f64);
    }
    let mut watermark = page.family(
        Kind::Gauge,
        "quorate_monitor_watermark_timestamp_seconds",
        "Up to when a monitor's counters of time have counted",
    );
    for (monitor, counters) in counted {
        watermark.add(&[("monitor", monitor)], stamp(counters.told_to));
    }
}

async fn present(
    page: &mut Exposition,
    conn: &mut PgConnection,
    monitors: &[MonitorRow],
    names: &BTreeMap<LocationKey, String>,
    now: Timestamp,
) -> ApiResult<()> {
    let keys: Vec<i32> = monitors.iter().map(|monitor| monitor.key.0).collect();
    let end = now + SignedDuration::from_millis(1);
    let occurrences = slo_state::maintenance(conn, &keys, now, end, names).await?;
    let excluded = |monitor: &MonitorRow| {
        occurrences
            .get(&monitor.key)
            .is_some_and(|list| maintenance::excluded(list).contain(now.as_millisecond()))
    };
    let mut state =
        page.family(Kind::Gauge, "quorate_monitor_state", "1 for the state that a monitor is in");
    for monitor in monitors {
        let present = if excluded(monitor) { "excluded" } else { word(monitor) };
        for name in STATES {
            let labels = [("monitor", &*monitor.name), ("state", name)];
            state.add(&labels, number(name == present));
        }
    }
    let mut open = page.family(
        Kind::Gauge,
        "quorate_incident_open",
        "Whether an incident of a monitor is open",
    );
    for monitor in monitors {
        open.add(&[("monitor", &monitor.name)], number(monitor.incident_open));
    }
    Ok(())
}

/// As figures call it: degraded is up.
fn word(monitor: &MonitorRow) -> &'static str {
    match monitor.state {
        State::Paused => "paused",
        _ if monitor.evidence_stale => "unknown",
        State::Up | State::Degraded => "up",
        State::Partial => "partial",
        State::Down => "down",
        State::Pending | State::Unknown => "unknown",
    }
}

fn outcomes(page: &mut Exposition, places: &[(&str, &str, &LocationRow)]) {
    let mut results = page.family(
        Kind::Counter,
        "quorate_probe_results",
        "Scheduled runs with their repeats, by what came of them",
    );
    for (monitor, location, row) in places {
        for (outcome, count) in OUTCOMES.iter().zip(row.results) {
            let labels = [("monitor", *monitor), ("location", *location), ("outcome", *outcome)];
            results.add(&labels, count as f64);
        }
    }
    let mut durations = page.family(
        Kind::Histogram,
        "quorate_probe_duration_seconds",
        "How long scheduled runs that passed took",
    );
    for (monitor, location, row) in places {
        let counts: Vec<u64> =
            row.buckets.iter().map(|n| u64::try_from(*n).unwrap_or_default()).collect();
        let labels = [("monitor", *monitor), ("location", *location)];
        durations.histogram(&labels, &BOUNDS, &counts, row.sum_us as f64 / 1e6);
    }
}
