//! Everything that a report on an SLO is made from, read from what is stored: `domain::slo::evaluate::Inputs`.
//! A fixed number of statements, each by index and about the monitors that the SLO watches.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::slo_batches;
use super::slo_requests::{self, FleetState};
use super::slo_state::{self, MonitorRow};
use super::slos::SloRow;
use crate::domain::{
    Millis,
    decision::{self, Live},
    ids::{LocationKey, MonitorKey},
    slo::{
        asked::Asked,
        burn,
        composite::Composite,
        definition::{Definition, Resolution, Sli},
        document::{self, Objective},
        evaluate::{Decided, Identity, Inputs, Member, Truth},
        maintenance::Occurrence,
        outage::Incident,
        slot::Quorum,
        subject::Subject,
        timeline::Spans,
    },
};

/// A sweep older than this means that no coordinator was running since.
const GAP: SignedDuration = SignedDuration::from_secs(15);

/// What somebody wants to see of an SLO.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub asked: Asked,
    /// With today's data, up to here.
    pub as_of: Option<Millis>,
    /// How much earlier than the window and its lookbacks the timeline has to begin.
    pub before: Millis,
    /// What is read is evaluated at other instants than the watermark as well.
    pub at_points: bool,
    /// Only what decides: results are left out where time does, and no location or latency is told.
    pub brief: bool,
    pub now: Timestamp,
}

impl View {
    /// The present window.
    pub fn current(now: Timestamp) -> Self {
        Self { asked: Asked::Current, as_of: None, before: 0, at_points: false, brief: false, now }
    }
}

/// The definition for the window that was asked for, and what was seen. None when that window lies beyond the
/// calendar.
pub async fn read(
    conn: &mut PgConnection,
    slo: &SloRow,
    view: View,
) -> sqlx::Result<Option<(Definition, Inputs)>> {
    let objective = objective(slo, view.now)?;
    of(conn, slo, &objective, view).await
}

/// A stored definition was checked when it was saved; one that cannot be read is our fault, and said so.
pub fn objective(slo: &SloRow, now: Timestamp) -> sqlx::Result<Objective> {
    document::objective(slo.values.definition.clone(), now.as_millisecond())
        .map_err(|e| sqlx::Error::Decode(format!("definition of SLO {}: {e}", slo.key.0).into()))
}

/// The same for an SLO that may not be saved.
pub async fn of(
    conn: &mut PgConnection,
    slo: &SloRow,
    objective: &Objective,
    view: View,
) -> sqlx::Result<Option<(Definition, Inputs)>> {
    let keys: Vec<i32> = slo.values.subject.monitors().iter().map(|key| key.0).collect();
    let monitors = slo_state::monitors(conn, &keys).await?;
    let swept_at = slo_state::swept_at(conn).await?;
    let mut told = told_until(&monitors, swept_at, view.now)?;
    let fleet = match slo.values.subject.fleet() {
        Some(key) => slo_requests::fleet(conn, key).await?.map(|fleet| (key, fleet)),
        None => None,
    };
    if let Some((_, fleet)) = &fleet {
        told = told.min(fleet.told(view.now));
    }
    let as_of = view.as_of.unwrap_or_else(|| view.now.as_millisecond());
    let Some((definition, watermark)) = view.asked.of(&objective.definition, told.min(as_of))
    else {
        return Ok(None);
    };
    let definition = Definition { resolution: resolution(&monitors), ..definition };
    let Some(bounds) = definition.window.bounds(watermark) else { return Ok(None) };
    let lookbacks = definition.rules.iter().map(|rule| rule.long.max(rule.short));
    let longest = lookbacks.chain([burn::DRAIN]).max().unwrap_or(0);
    let earliest = bounds.start.min(watermark - longest).saturating_sub(view.before);
    let seen = Seen::read(conn, &keys, earliest, watermark).await?;
    let one = monitors.first();
    let as_of = if definition.window.is_rolling() { as_of } else { as_of.min(bounds.end) };
    let mut inputs = Inputs {
        watermark,
        created_at: one.map(|m| m.created_at.as_millisecond()),
        deleted_at: one.and_then(|m| m.deleted_at).map(|at| at.as_millisecond()),
        identity: identity(slo, &monitors, fleet.map(|(_, fleet)| fleet)),
        ..Inputs::nothing(as_of)
    };
    let names = seen.give(&slo.values.subject, objective.composite, &monitors, &mut inputs);
    let told = !(view.brief && definition.sli.is_time());
    if let (Subject::Monitor(_), Some(monitor), true) = (&slo.values.subject, one, told) {
        slo_batches::read(conn, monitor, &definition, &names, view, &mut inputs).await?;
    }
    if let Some((key, fleet)) = fleet {
        let within = match definition.sli {
            Sli::Requests { within_us, .. } => within_us,
            _ => None,
        };
        (inputs.minutes, inputs.summed) =
            slo_requests::minutes(conn, key, fleet.window_s, within, earliest, watermark).await?;
        inputs.created_at = Some(fleet.created_at.as_millisecond());
        inputs.deleted_at = fleet.deleted_at.map(Timestamp::as_millisecond);
    }
    Ok(Some((definition, inputs)))
}

/// Each of some monitors by itself, from an instant on: what an SLO on its availability is made from, in one set
/// of statements for all of them.
pub async fn of_each(
    conn: &mut PgConnection,
    keys: &[i32],
    earliest: Millis,
    now: Timestamp,
) -> sqlx::Result<Vec<(MonitorRow, Inputs)>> {
    let monitors = slo_state::monitors(conn, keys).await?;
    let swept_at = slo_state::swept_at(conn).await?;
    let as_of = now.as_millisecond();
    let mut seen = Seen::read(conn, keys, earliest, as_of).await?;
    let each = monitors.into_iter().map(|monitor| {
        let told = told_until(std::slice::from_ref(&monitor), swept_at, now)?;
        let inputs = Inputs {
            as_of,
            watermark: told.min(as_of),
            created_at: Some(monitor.created_at.as_millisecond()),
            deleted_at: monitor.deleted_at.map(Timestamp::as_millisecond),
            truth: Truth::Decided(seen.decided.remove(&monitor.key).unwrap_or_default()),
            maintenance: seen.maintenance.remove(&monitor.key).unwrap_or_default(),
            ..Inputs::nothing(as_of)
        };
        Ok((monitor, inputs))
    });
    each.collect()
}

/// Whether nobody looks at the moment, so that nothing is known of it.
pub async fn unwatched(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<bool> {
    let swept_at = slo_state::swept_at(conn).await?;
    Ok(swept_at.is_none_or(|at| now.duration_since(at) > GAP))
}

/// The time that is told of all the monitors, in milliseconds.
pub fn told_until(
    monitors: &[MonitorRow],
    swept_at: Option<Timestamp>,
    now: Timestamp,
) -> sqlx::Result<Millis> {
    let present = now.as_millisecond();
    // Since then nobody has looked, which is going to be told as unknown.
    let absent = swept_at.filter(|at| now.duration_since(*at) > GAP).map(Timestamp::as_millisecond);
    let mut least =
        absent.unwrap_or(present).min(decision::watermark(&Live::default(), 0, present));
    for monitor in monitors {
        let Some(text) = &monitor.live else { continue };
        let live: Live = serde_json::from_str(text)
            .map_err(|e| sqlx::Error::Decode(format!("monitor_live.live: {e}").into()))?;
        let stale_after =
            2 * i64::from(monitor.interval_s) * 1_000 + i64::from(monitor.timeout_ms) + 20_000;
        least = least.min(decision::watermark(&live, stale_after, present));
    }
    Ok(least)
}

/// How fine the coarsest of some monitors measures.
pub fn resolution(monitors: &[MonitorRow]) -> Option<Resolution> {
    let of = |m: &MonitorRow| {
        let interval = i64::from(m.interval_s) * 1_000;
        Resolution::of(interval, &Quorum::default(), m.locations.len())
    };
    let watched = monitors.iter().filter(|m| !m.locations.is_empty());
    watched.map(of).max_by_key(|r| r.interval * i64::from(r.confirm))
}

fn identity(slo: &SloRow, monitors: &[MonitorRow], fleet: Option<FleetState>) -> Identity {
    let of_monitors: i64 = monitors.iter().map(|m| i64::from(m.data_revision)).sum();
    let of_fleet = fleet.map_or(0, |fleet| i64::from(fleet.data_revision));
    Identity {
        id: Some(slo.uid.to_string()),
        name: Some(slo.values.name.clone()),
        service: Some(slo.values.service.clone()),
        definition_revision: Some(slo.definition_revision.into()),
        data_revision: Some(of_monitors + of_fleet),
        report_revision: None,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// What was seen of the monitors from one instant to another.
struct Seen {
    decided: BTreeMap<MonitorKey, Decided>,
    maintenance: BTreeMap<MonitorKey, Vec<Occurrence>>,
    incidents: Vec<Incident>,
    names: BTreeMap<LocationKey, String>,
}

impl Seen {
    async fn read(
        conn: &mut PgConnection,
        keys: &[i32],
        earliest: Millis,
        to: Millis,
    ) -> sqlx::Result<Self> {
        let intervals = slo_state::intervals(conn, keys, instant(earliest), instant(to)).await?;
        // What reaches in began earlier; everything else has to reach as far back.
        let first = intervals.values().filter_map(|list| list.first()).map(|s| s.from).min();
        let (from, to) = (instant(first.unwrap_or(earliest).min(earliest)), instant(to));
        let holes = Spans::union(slo_state::not_running(conn, from, to).await?);
        let names = slo_state::location_names(conn).await?;
        let decided = |(key, stretches)| (key, Decided { stretches, not_running: holes.clone() });
        Ok(Self {
            decided: intervals.into_iter().map(decided).collect(),
            maintenance: slo_state::maintenance(conn, keys, from, to, &names).await?,
            incidents: slo_state::incidents(conn, keys, from, to).await?,
            names,
        })
    }

    /// Puts it where figures look for it; what is left are the names of locations.
    fn give(
        mut self,
        subject: &Subject,
        composite: Option<Composite>,
        monitors: &[MonitorRow],
        inputs: &mut Inputs,
    ) -> BTreeMap<LocationKey, String> {
        inputs.incidents = std::mem::take(&mut self.incidents);
        match subject {
            Subject::Monitor(key) | Subject::Fleet { monitor: Some(key), .. } => {
                inputs.truth = Truth::Decided(self.decided.remove(key).unwrap_or_default());
                inputs.maintenance = self.maintenance.remove(key).unwrap_or_default();
            }
            Subject::Fleet { monitor: None, .. } => {}
            Subject::Composite(members) => {
                (inputs.created_at, inputs.deleted_at) = (None, None);
                let rows = members.iter().filter_map(|key| monitors.iter().find(|m| m.key == *key));
                let members = rows.map(|row| Member {
                    id: row.uid.to_string(),
                    decided: self.decided.remove(&row.key).unwrap_or_default(),
                    maintenance: self.maintenance.remove(&row.key).unwrap_or_default(),
                    created_at: Some(row.created_at.as_millisecond()),
                    deleted_at: row.deleted_at.map(Timestamp::as_millisecond),
                });
                let rule = composite.unwrap_or(Composite::AnyDown);
                inputs.truth = Truth::Members(rule, members.collect());
            }
        }
        self.names
    }
}

/// An instant as the database holds it; one beyond its calendar is moved to the edge.
pub fn instant(millis: Millis) -> Timestamp {
    const EARLIEST: Millis = -62_135_596_800_000;
    const LATEST: Millis = 253_402_207_200_000;
    Timestamp::from_millisecond(millis.clamp(EARLIEST, LATEST)).unwrap_or(Timestamp::UNIX_EPOCH)
}
