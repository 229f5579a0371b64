//! Which locations are believed (spec: decision 5.7). A look decides about all of them together; decisions
//! of monitors read what it wrote. What decisions say about locations is noted with them.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::json;
use sqlx::PgConnection;

use super::context::Context;
use super::platform::settle;
use super::{Decided, at};
use crate::domain::Millis;
use crate::domain::decision::State;
use crate::domain::decision::dissent::{dissents, is_room};
use crate::domain::decision::explain::capital;
use crate::domain::ids::LocationKey;
use crate::domain::location::health::{self, Evidence, Happened, Place, Reason};
use crate::domain::location::quarantine_cap;
use crate::domain::location::selfcheck::SelfCheck;
use crate::domain::platform::{Cause, Trouble};
use crate::store;
use crate::store::location_health::{HealthRow, HealthSave};

/// Who disagrees with the majority on a monitor, and since when.
pub(super) type Dissents = Vec<(LocationKey, Millis)>;

/// States in which the majority sees a monitor up.
const SEEN_UP: [State; 2] = [State::Up, State::Degraded];
/// So many monitors are woken in one transaction.
const CHUNK: i64 = 500;
/// So many blind monitors are named.
const NAMED: i64 = 100;

/// One look at all locations; the caller is alone in it. Incidents first, then the locations' rows, as in
/// the transactions of reports.
pub async fn step(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    let rows = store::location_health::rows(conn, now).await?;
    let against: HashMap<LocationKey, i64> =
        store::location_health::dissents(conn).await?.into_iter().collect();
    let mut places = Vec::with_capacity(rows.len());
    for row in &rows {
        let against = against.get(&row.location).copied().unwrap_or(0);
        places.push(place(conn, row, against).await?);
    }
    let look = health::look(&places, now.as_millisecond());
    tell(conn, &rows, &places, &look, now).await?;
    if store::location_health::set_over_cap(conn, look.over_cap, now).await? {
        tracing::warn!(over = look.over_cap.is_some(), "the cap on locations in doubt");
    }
    for ((row, place), (_, health)) in rows.iter().zip(&places).zip(&look.healths) {
        let happened =
            look.happened.iter().find(|(key, _)| *key == row.location).map(|(_, what)| *what);
        write(conn, row, place, health.clone(), happened, now).await?;
    }
    if !look.happened.is_empty() {
        store::wake::notify(conn, "state").await?;
    }
    Ok(())
}

/// The incidents of a look: a location that is not believed, too many of them, monitors that nobody sees.
async fn tell(
    conn: &mut PgConnection,
    rows: &[HealthRow],
    places: &[Place],
    look: &health::Look,
    now: Timestamp,
) -> sqlx::Result<()> {
    let all = || rows.iter().zip(places).zip(&look.healths);
    let quarantined: Vec<Trouble> = all()
        .filter(|(_, (_, health))| health.quarantined_since.is_some())
        .map(|((row, place), _)| {
            let why = format!("{}.", capital(&found(row, place)));
            Trouble::quarantined(row.uid, &row.name, &why)
        })
        .collect();
    settle(conn, Cause::Quarantined, &quarantined, now).await?;
    let over = look.over_cap.map(|(online, _)| {
        let doubted = all().filter(|((_, place), (_, health))| {
            health.doubt.is_some() && place.evidence.online && place.evidence.trust.is_none()
        });
        let names: Vec<String> = doubted.map(|((row, _), _)| row.name.clone()).collect();
        Trouble::over_cap(&names, quarantine_cap(online), online)
    });
    settle(conn, Cause::OverCap, over.as_slice(), now).await?;
    let unknown = State::Unknown.code();
    let (names, blind, watched) = store::location_health::blind(conn, unknown, NAMED).await?;
    let count = |n: i64| usize::try_from(n).unwrap_or(0);
    let blind = (blind > 0).then(|| Trouble::blind(&names, count(blind), count(watched)));
    settle(conn, Cause::BlindMonitors, blind.as_slice(), now).await
}

/// What is against a location now, or was when that was last so.
fn found(row: &HealthRow, place: &Place) -> String {
    let now = place.evidence.against();
    let words =
        if now.is_empty() { health::words(&reasons(&row.evidence)) } else { health::words(&now) };
    // One that is set aside without either was in doubt before anything of it was kept.
    if words.is_empty() { "it was in doubt before".to_owned() } else { words }
}

/// The reasons that a look wrote down.
pub fn reasons(evidence: &serde_json::Value) -> Vec<Reason> {
    let kept = evidence.get("reasons").cloned().unwrap_or_default();
    serde_json::from_value(kept).unwrap_or_default()
}

/// Lets the next monitors be decided anew whose locations changed their standing; false when none are left.
/// The caller is alone in it.
pub async fn wake(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<bool> {
    store::location_health::wake_some(conn, now, State::Up.code(), CHUNK).await
}

async fn place(conn: &mut PgConnection, row: &HealthRow, against: i64) -> sqlx::Result<Place> {
    let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    // Counting the monitors reads them all, which is worth it only if so few could be half of them.
    let of = if 2 * against >= i64::from(health::FEWEST_MONITORS) {
        let states = SEEN_UP.map(State::code);
        store::location_health::seen_up(conn, row.location, &states).await?.max(against)
    } else {
        0
    };
    Ok(Place {
        key: row.location,
        health: row.health.clone(),
        evidence: Evidence {
            enabled: row.enabled,
            online: row.online,
            checks: row.selfchecks.iter().filter_map(SelfCheck::read).collect(),
            against: count(against),
            of: count(of),
            trust: row.trust,
        },
    })
}

/// Writes what a look found of one location, if it is anything new.
async fn write(
    conn: &mut PgConnection,
    row: &HealthRow,
    place: &Place,
    health: health::Health,
    happened: Option<Happened>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let quarantined = health.quarantined_since.is_some();
    let standing = health::standing(row.enabled, row.trust, quarantined).word();
    let wake = standing != row.standing;
    if health == row.health && happened.is_none() && !wake {
        return Ok(());
    }
    let reasons = place.evidence.against();
    let evidence = (!reasons.is_empty()).then(|| {
        let failing = |check: &SelfCheck| {
            check.targets.iter().filter(|target| !target.ok).cloned().collect::<Vec<_>>()
        };
        let references: Vec<_> = place.evidence.checks.iter().flat_map(failing).collect();
        json!({ "at": now, "reasons": reasons, "references": references })
    });
    match happened {
        Some(Happened::Quarantined) => {
            let from = at(now.as_millisecond() - health::REACH);
            let reason = found(row, place);
            let kept = evidence.as_ref().unwrap_or(&row.evidence);
            tracing::warn!(location = %row.name, %reason, "a location is quarantined");
            store::location_health::begin_quarantine(conn, row.location, now, from, &reason, kept)
                .await?;
        }
        Some(Happened::Released(why)) => {
            tracing::info!(location = %row.name, why = why.name(), "a quarantine ends");
            store::location_health::end_quarantine(conn, row.location, now, why.name()).await?;
        }
        None => {}
    }
    let save = HealthSave { location: row.location, health, evidence, standing, wake };
    store::location_health::save(conn, &save, now).await
}

/// Writes what decisions say about locations: who disagrees with the majority now, who has been alone for a
/// day, who agrees again. The caller holds the monitors' locks.
pub(super) async fn note(
    conn: &mut PgConnection,
    context: &Context,
    decided: &[Decided],
    now: Timestamp,
) -> sqlx::Result<()> {
    let (mut monitors, mut rows) = (Vec::new(), Vec::new());
    for one in decided {
        let monitor = one.config.monitor;
        let after = dissents(&one.live, one.config.policy.stale_after);
        if after != one.dissents_before {
            monitors.push(monitor.0);
            rows.extend(after.into_iter().map(|(location, since)| (monitor, location, since)));
        }
        if let Some(location) = one.step.divergent
            && is_room(&context.seats(monitor, &one.config.locations), 1)
        {
            store::location_health::diverge(conn, monitor, location, now).await?;
        }
        if !one.step.converged.is_empty() {
            let locations: Vec<i16> = one.step.converged.iter().map(|key| key.0).collect();
            store::location_health::converge(conn, monitor, &locations, now).await?;
        }
    }
    store::location_health::set_dissents(conn, &monitors, &rows).await
}
