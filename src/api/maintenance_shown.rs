//! Maintenance as it is shown: what was entered, and the times at which it takes place.

use std::{collections::HashMap, hash::Hash};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{error::ApiResult, request::At};
use crate::{
    domain::maintenance::{Switches, plan},
    store::{
        maintenance::Scope,
        maintenance_ahead::OccurrenceRow,
        maintenance_entries::{self, EntryRow, Ids},
    },
};

/// At most so many coming occurrences stand beside an entry.
const NEXT: usize = 10;

/// A window that comes once, or a plan of windows.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Maintenance {
    pub id: Uuid,
    pub name: String,
    pub kind: MaintenanceKind,
    /// Why it was entered afterwards; empty for what was planned, unless somebody said more.
    pub reason: String,
    /// Of a plan: of the occurrence that runs, or the next, or the last; null when there was none yet.
    pub start: Option<At>,
    pub end: Option<At>,
    pub phase: Phase,
    /// Minute, hour, day of the month, month, day of the week; null when it comes once.
    pub cron: Option<String>,
    /// In which `cron` is read.
    pub timezone: Option<String>,
    /// Elapsed seconds, whatever clocks do meanwhile.
    pub duration_s: Option<i32>,
    /// Nothing begins at this instant or later.
    pub until: Option<At>,
    /// Nothing begins while it is; what runs goes on.
    pub paused: bool,
    /// What is still to begin within the days that were asked for, skipped ones among it: at most ten.
    pub next: Vec<NextOccurrence>,
    /// Monitors that are named. Null covers everything; empty when only groups, labels or fleets are named.
    pub monitors: Option<Vec<Uuid>>,
    /// Groups whose monitors it covers.
    pub groups: Option<Vec<String>>,
    /// It covers monitors that have all of these labels.
    #[schema(value_type = Option<HashMap<String, String>>)]
    pub labels: Option<serde_json::Value>,
    /// How many monitors that comes to by now, or did when it began; null: all.
    pub covers: Option<usize>,
    /// Fleets whose alerts it keeps silent; null when it names none.
    pub fleets: Option<Vec<Uuid>>,
    /// The only locations whose results it leaves out; null: the whole monitor.
    pub locations: Option<Vec<Uuid>>,
    pub suppress_alerts: bool,
    pub exclude_from_slo: bool,
    pub pause_probes: bool,
    /// Counts the changes: what `If-Match` takes.
    pub revision: i32,
    /// When it was last saved, and by whom.
    pub declared_at: At,
    pub declared_by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Planned,
    Running,
    Past,
    /// A plan of which nothing begins.
    Paused,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MaintenanceKind {
    /// Declared before it ended: leaves out what came after it was declared.
    #[default]
    Planned,
    /// Entered when it was over, with a reason: leaves out all of it, and is listed apart.
    Correction,
}

/// One time that is still to come.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub struct NextOccurrence {
    pub start: At,
    pub end: At,
    /// It is left out.
    pub skipped: bool,
}

/// One time at which maintenance takes place, or would have.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MaintenanceOccurrence {
    /// Of the entry; with the start it is the occurrence's own.
    pub maintenance: Uuid,
    pub name: String,
    pub kind: MaintenanceKind,
    pub reason: String,
    pub start: At,
    pub end: At,
    pub phase: OccurrencePhase,
    /// It is one of a plan.
    pub recurring: bool,
    /// Monitors that it covered, or would if it began now; null: all, but for an occurrence of fleets alone, where
    /// it is empty.
    pub monitors: Option<Vec<Uuid>>,
    pub fleets: Option<Vec<Uuid>>,
    pub locations: Option<Vec<Uuid>>,
    pub suppress_alerts: bool,
    pub exclude_from_slo: bool,
    pub pause_probes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OccurrencePhase {
    Planned,
    Running,
    Past,
    /// It was left out of its plan.
    Skipped,
}

impl Phase {
    pub fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Past => "past",
            Self::Paused => "paused",
        }
    }

    pub fn read(word: &str) -> Self {
        let all = [Self::Planned, Self::Running, Self::Paused];
        all.into_iter().find(|phase| phase.word() == word).unwrap_or(Self::Past)
    }
}

impl MaintenanceKind {
    fn of(correction: bool) -> Self {
        if correction { Self::Correction } else { Self::Planned }
    }
}

impl From<plan::Occurrence> for NextOccurrence {
    fn from(occurrence: plan::Occurrence) -> Self {
        Self { start: At(occurrence.start), end: At(occurrence.end), skipped: occurrence.skipped }
    }
}

/// What is still to begin of an entry within so many days.
fn next(row: &EntryRow, now: Timestamp, days: u32) -> sqlx::Result<Vec<NextOccurrence>> {
    let until = now + SignedDuration::from_hours(24 * i64::from(days));
    match (row.plan()?, row.span) {
        (Some(_), _) if row.phase == Phase::Paused.word() => Ok(Vec::new()),
        (Some(plan), _) => {
            let coming = plan.all(now).take_while(|o| o.start < until).take(NEXT);
            Ok(coming.map(NextOccurrence::from).collect())
        }
        (None, Some((start, end))) if start > now && start < until => {
            Ok(vec![NextOccurrence { start: At(start), end: At(end), skipped: false }])
        }
        _ => Ok(Vec::new()),
    }
}

/// Entries as they are shown, with what is to come in so many days.
pub async fn entries(
    conn: &mut PgConnection,
    rows: Vec<EntryRow>,
    now: Timestamp,
    days: u32,
) -> ApiResult<Vec<Maintenance>> {
    let scopes = rows.iter().map(|row| &row.terms.scope);
    let ids = ids_of(conn, scopes, std::iter::empty()).await?;
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        let next = next(&row, now, days)?;
        shown.push(entry(row, next, &ids));
    }
    Ok(shown)
}

fn entry(row: EntryRow, next: Vec<NextOccurrence>, ids: &Ids) -> Maintenance {
    let (start, end) = row.span.unzip();
    let scope = row.terms.scope;
    let Switches { suppress_alerts, exclude_from_slo, pause_probes } = row.terms.switches;
    let recurrence = row.recurrence.as_ref();
    Maintenance {
        id: row.id,
        name: row.terms.name,
        kind: MaintenanceKind::of(row.correction),
        reason: row.terms.reason,
        start: start.map(At),
        end: end.map(At),
        phase: Phase::read(&row.phase),
        cron: recurrence.map(|r| r.cron.clone()),
        timezone: recurrence.map(|r| r.timezone.clone()),
        duration_s: recurrence.map(|r| r.duration_s),
        until: recurrence.and_then(|r| r.until).map(At),
        paused: recurrence.is_some_and(|r| r.paused),
        next,
        monitors: scope.monitors.map(|keys| found(&keys, &ids.monitors)),
        groups: scope.groups,
        labels: scope.labels,
        covers: row.covered.map(|keys| keys.len()),
        fleets: scope.fleets.map(|keys| found(&keys, &ids.fleets)),
        locations: scope.locations.map(|keys| found(&keys, &ids.locations)),
        suppress_alerts,
        exclude_from_slo,
        pause_probes,
        revision: row.revision,
        declared_at: At(row.declared_at),
        declared_by: row.declared_by,
    }
}

/// Occurrences as they are shown.
pub async fn occurrences(
    conn: &mut PgConnection,
    rows: Vec<OccurrenceRow>,
    now: Timestamp,
) -> ApiResult<Vec<MaintenanceOccurrence>> {
    let scopes = rows.iter().map(|row| &row.terms.scope);
    let covered = rows.iter().filter_map(|row| row.covered.as_deref());
    let ids = ids_of(conn, scopes, covered).await?;
    Ok(rows.into_iter().map(|row| occurrence(row, now, &ids)).collect())
}

fn occurrence(row: OccurrenceRow, now: Timestamp, ids: &Ids) -> MaintenanceOccurrence {
    let phase = if row.skipped {
        OccurrencePhase::Skipped
    } else if row.end_at <= now {
        OccurrencePhase::Past
    } else if row.start_at <= now {
        OccurrencePhase::Running
    } else {
        OccurrencePhase::Planned
    };
    let scope = row.terms.scope;
    let Switches { suppress_alerts, exclude_from_slo, pause_probes } = row.terms.switches;
    MaintenanceOccurrence {
        maintenance: row.entry,
        name: row.terms.name,
        kind: MaintenanceKind::of(row.correction),
        reason: row.terms.reason,
        start: At(row.start_at),
        end: At(row.end_at),
        phase,
        recurring: row.recurring,
        monitors: row.covered.map(|keys| found(&keys, &ids.monitors)),
        fleets: scope.fleets.map(|keys| found(&keys, &ids.fleets)),
        locations: scope.locations.map(|keys| found(&keys, &ids.locations)),
        suppress_alerts,
        exclude_from_slo,
        pause_probes,
    }
}

async fn ids_of<'a>(
    conn: &mut PgConnection,
    scopes: impl Iterator<Item = &'a Scope>,
    covered: impl Iterator<Item = &'a [i32]>,
) -> sqlx::Result<Ids> {
    let mut monitors: Vec<i32> = covered.flatten().copied().collect();
    let (mut fleets, mut locations) = (Vec::new(), Vec::new());
    for scope in scopes {
        monitors.extend(scope.monitors.iter().flatten());
        fleets.extend(scope.fleets.iter().flatten());
        locations.extend(scope.locations.iter().flatten());
    }
    monitors.sort_unstable();
    monitors.dedup();
    maintenance_entries::ids(conn, &monitors, &fleets, &locations).await
}

fn found<K: Hash + Eq>(keys: &[K], ids: &HashMap<K, Uuid>) -> Vec<Uuid> {
    keys.iter().filter_map(|key| ids.get(key).copied()).collect()
}
