//! Requests of a fleet's clients by the minute, for SLOs on them: windows while they are kept, spread quarter
//! hours before.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::slo_inputs::instant;
use crate::domain::{
    Millis,
    ids::FleetKey,
    slo::requests::{MINUTE, Minute},
};

const QUARTER: Millis = 900_000;

/// Windows that are not judged after this long are told as they are: their source may be gone.
const PATIENCE: SignedDuration = SignedDuration::from_secs(900);

/// A fleet as its requests need it.
#[derive(Debug, Clone, Copy)]
pub struct FleetState {
    /// Lines for windows before it are here; none before the first line.
    pub judged_until: Option<Timestamp>,
    /// Length of a window.
    pub window_s: i64,
    pub created_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

impl FleetState {
    /// Up to where requests are told.
    pub fn told(&self, now: Timestamp) -> Millis {
        let patient = now.saturating_sub(PATIENCE).unwrap_or(now);
        self.judged_until.map_or(now, |judged| judged.max(patient)).as_millisecond()
    }
}

pub async fn fleet(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<Option<FleetState>> {
    sqlx::query!(
        r#"select f.created_at as "created_at!: jiff_sqlx::Timestamp", f.deleted_at, l.judged_until as "judged_until?: jiff_sqlx::Timestamp",
                  coalesce((f.settings -> 'analysis' ->> 'window_s')::int8, 60) as "window_s!"
           from fleet f left join fleet_live l using (fleet_id) where f.fleet_id = $1"#,
        fleet.0
    )
    .map(|r| FleetState {
        judged_until: r.judged_until.map(|t| t.to_jiff()),
        window_s: r.window_s,
        created_at: r.created_at.to_jiff(),
        deleted_at: r.deleted_at.map(|t| t.to_jiff()),
    })
    .fetch_optional(conn)
    .await
}

/// The minutes within [from, to) in which the source was heard, oldest first, and whether some of them are
/// spread quarter hours. It was heard for all of a quarter hour of which there is any line.
pub async fn minutes(
    conn: &mut PgConnection,
    fleet: FleetKey,
    window_s: i64,
    from: Millis,
    to: Millis,
) -> sqlx::Result<(Vec<Minute>, bool)> {
    let from = from.div_euclid(QUARTER) * QUARTER;
    let (windows, quarters) = rows(conn, fleet, from, to).await?;
    let mut all: BTreeMap<Millis, (u64, u64)> = BTreeMap::new();
    for (at, _, _) in windows.iter().chain(&quarters) {
        let quarter = at.div_euclid(QUARTER) * QUARTER;
        for k in 0..QUARTER / MINUTE {
            all.entry(quarter + k * MINUTE).or_default();
        }
    }
    let long = u64::try_from(window_s / 60).unwrap_or(1).max(1);
    let spread = |minutes: u64| {
        move |&(at, total, bad): &(Millis, u64, u64)| {
            Minute::spread(at.div_euclid(MINUTE) * MINUTE, minutes, total, bad)
        }
    };
    let counted = windows.iter().flat_map(spread(long)).chain(quarters.iter().flat_map(spread(15)));
    for minute in counted {
        let sum = all.entry(minute.at).or_default();
        sum.0 += minute.total;
        sum.1 += minute.bad;
    }
    let told = all.into_iter().filter(|(at, _)| *at < to);
    let minutes = told.map(|(at, (total, bad))| Minute { at, total, bad }).collect();
    Ok((minutes, !quarters.is_empty()))
}

/// Beginning, requests, and those that ended badly by the fleet's fault.
type Sum = (Millis, u64, u64);

/// Sums by window and by quarter hour; what is in one is not in the other.
async fn rows(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Millis,
    to: Millis,
) -> sqlx::Result<(Vec<Sum>, Vec<Sum>)> {
    let (from, to) = (instant(from).to_sqlx(), instant(to).to_sqlx());
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    let windows = sqlx::query!(
        r#"select at, sum(requests)::int8 as "requests!", sum(failed)::int8 as "failed!" from fleet_pool
           where fleet_id = $1 and at >= $2 and at < $3 group by at"#,
        fleet.0,
        from,
        to
    )
    .map(|r| (r.at.to_jiff().as_millisecond(), count(r.requests), count(r.failed)))
    .fetch_all(&mut *conn)
    .await?;
    let quarters = sqlx::query!(
        r#"select at, sum(requests)::int8 as "requests!", sum(failed)::int8 as "failed!" from fleet_pool_quarter
           where fleet_id = $1 and at >= $2 and at < $3 group by at"#,
        fleet.0,
        from,
        to
    )
    .map(|r| (r.at.to_jiff().as_millisecond(), count(r.requests), count(r.failed)))
    .fetch_all(conn)
    .await?;
    Ok((windows, quarters))
}
