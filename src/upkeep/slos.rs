//! Chores of SLOs: evaluations that are older than half a minute, windows that are to be frozen, and frozen
//! ones whose data have changed. Each step claims a few rows, so that any number of coordinators share them.

use jiff::{SignedDuration, Timestamp};
use sqlx::{Connection, PgPool};

use crate::{store, triage};

/// An evaluation is made anew after this.
const FRESH: SignedDuration = SignedDuration::from_secs(30);
/// SLOs that are evaluated in one transaction.
const BATCH: i64 = 20;
/// It is looked so often whether a window is to be frozen.
const LOOK: SignedDuration = SignedDuration::from_secs(600);

/// Evaluates what is due; true when there may be more. One that cannot be evaluated is told to the log and waits
/// for its next turn, and holds up no other.
pub(super) async fn refresh(pool: &PgPool, now: Timestamp) -> sqlx::Result<bool> {
    let before = now.saturating_sub(FRESH).unwrap_or(now);
    let mut tx = pool.begin().await?;
    let due = store::slo_evaluations::due(&mut tx, before, BATCH).await?;
    for slo in store::slos::by_keys(&mut tx, &due).await? {
        let mut part = tx.begin().await?;
        match triage::slos::refresh(&mut part, &slo, now).await {
            Ok(()) => part.commit().await?,
            Err(error) => {
                part.rollback().await?;
                tracing::error!(slo = %slo.uid, %error, "an SLO could not be evaluated");
                store::slo_evaluations::postpone(&mut tx, slo.key, now).await?;
            }
        }
    }
    tx.commit().await?;
    Ok(due.len() as i64 == BATCH)
}

/// Freezes windows that are over, and works frozen ones out again whose data have changed; true when there may
/// be more.
pub(super) async fn freeze(pool: &PgPool, now: Timestamp) -> sqlx::Result<bool> {
    let before = now.saturating_sub(LOOK).unwrap_or(now);
    let mut tx = pool.begin().await?;
    let due = store::slo_reports::freezable(&mut tx, before, BATCH).await?;
    for slo in store::slos::by_keys(&mut tx, &due).await? {
        triage::slos::freeze_closed(&mut tx, &slo, now).await?;
        store::slo_reports::looked(&mut tx, slo.key, now).await?;
    }
    tx.commit().await?;
    let more = due.len() as i64 == BATCH;
    Ok(more | refreeze(pool, now).await?)
}

async fn refreeze(pool: &PgPool, now: Timestamp) -> sqlx::Result<bool> {
    let mut tx = pool.begin().await?;
    // One coordinator at a time: a revision has one number.
    if !store::chores::claim(&mut tx, "slo reports").await? {
        return Ok(false);
    }
    let stale = store::slo_reports::stale(&mut tx, BATCH).await?;
    for one in &stale {
        for slo in store::slos::by_keys(&mut tx, &[one.slo.0]).await? {
            triage::slos::refreeze(&mut tx, &slo, one, now).await?;
        }
    }
    tx.commit().await?;
    Ok(stale.len() as i64 == BATCH)
}
