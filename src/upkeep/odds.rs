//! How often each location fails by itself, summed day by day once a day's quarters are all counted.

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use sqlx::PgPool;

use crate::store;

/// Days are looked back at, and kept: what the odds rest on.
const DAYS: i32 = 30;
const MARK: &str = "odds";

/// Sums the next day that is over; true when there may be more.
pub(super) async fn step(pool: &PgPool, now: Timestamp) -> sqlx::Result<bool> {
    let mut tx = pool.begin().await?;
    if !store::chores::claim(&mut tx, "odds").await? {
        return Ok(false);
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    let first = today.saturating_sub(DAYS.days());
    let mark = store::rollups::mark(&mut tx, MARK).await?;
    let day = mark.map_or(first, |at| at.to_zoned(TimeZone::UTC).date().max(first));
    let counted = store::rollups::mark(&mut tx, super::rollups::QUARTER_MARK).await?;
    let end = day.tomorrow().and_then(|next| next.to_zoned(TimeZone::UTC));
    let Ok(end) = end.map(|end| end.timestamp()) else { return Ok(false) };
    if counted.is_none_or(|counted| counted < end) {
        return Ok(false);
    }
    store::odds::sum_day(&mut tx, day).await?;
    store::odds::forget(&mut tx, first).await?;
    store::rollups::set_mark(&mut tx, MARK, end).await?;
    tx.commit().await?;
    Ok(true)
}
