//! Chores of alerts: what waits for a parent, what no channel took, and clocks that are off. One coordinator at a time.

use jiff::Timestamp;
use sqlx::PgPool;
use uuid::Uuid;

use crate::{
    domain::platform::{Cause, Trouble},
    store, triage,
};

/// A coordinator's clock may differ so much from the database's, in milliseconds.
const CLOCK: i32 = 1_000;

pub(super) async fn step(pool: &PgPool, now: Timestamp) -> sqlx::Result<()> {
    let mut tx = pool.begin().await?;
    if store::chores::claim(&mut tx, "parents").await? {
        triage::parents::release(&mut tx, now).await?;
    }
    tx.commit().await?;
    let mut tx = pool.begin().await?;
    if store::chores::claim(&mut tx, "alerts").await? {
        triage::fallback::step(&mut tx, now).await?;
        let coordinators = store::hub::coordinators(&mut tx, now).await?;
        let off: Vec<(Uuid, i32)> = coordinators
            .iter()
            .filter(|one| one.clock_offset_ms.saturating_abs() > CLOCK)
            .map(|one| (one.id, one.clock_offset_ms))
            .collect();
        let found = (!off.is_empty()).then(|| Trouble::clock(&off));
        triage::platform::settle(&mut tx, Cause::Clock, found.as_slice(), now).await?;
    }
    tx.commit().await
}
