//! Requests of a fleet's clients by the minute, for SLOs on them: windows for 100 days, spread quarter hours
//! before.

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
    /// Rises when late lines changed what was summed.
    pub data_revision: i32,
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
                  coalesce((f.settings -> 'analysis' ->> 'window_s')::int8, 60) as "window_s!",
                  coalesce(r.data_revision, 0) as "data_revision!"
           from fleet f left join fleet_live l using (fleet_id) left join fleet_revision r using (fleet_id) where f.fleet_id = $1"#,
        fleet.0
    )
    .map(|r| FleetState {
        judged_until: r.judged_until.map(|t| t.to_jiff()),
        window_s: r.window_s,
        created_at: r.created_at.to_jiff(),
        deleted_at: r.deleted_at.map(|t| t.to_jiff()),
        data_revision: r.data_revision,
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
        r#"select at as "at!: jiff_sqlx::Timestamp", sum(requests)::int8 as "requests!", sum(failed)::int8 as "failed!"
           from (select at, requests, failed from fleet_pool where fleet_id = $1 and at >= $2 and at < $3
                 union all
                 select at, requests, failed from fleet_request_minute where fleet_id = $1 and at >= $2 and at < $3) as w
           group by at"#,
        fleet.0,
        from,
        to
    )
    .map(|r| (r.at.to_jiff().as_millisecond(), count(r.requests), count(r.failed)))
    .fetch_all(&mut *conn)
    .await?;
    let quarters = sqlx::query!(
        r#"select at, sum(requests)::int8 as "requests!", sum(failed)::int8 as "failed!" from fleet_pool_quarter q
           where fleet_id = $1 and at >= $2 and at < $3
             and not exists (select from fleet_request_minute m
                             where m.fleet_id = $1 and m.at >= q.at and m.at < q.at + interval '15 minutes')
           group by at"#,
        fleet.0,
        from,
        to
    )
    .map(|r| (r.at.to_jiff().as_millisecond(), count(r.requests), count(r.failed)))
    .fetch_all(conn)
    .await?;
    Ok((windows, quarters))
}

/// A window whose sums go into a quarter hour.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub at: Timestamp,
    pub requests: i64,
    pub failed: i64,
}

/// Keeps windows that become quarter hours, in the transaction that does so and before it writes them; late
/// shares of a window add up. Windows of quarter hours that were summed without being kept are not kept either.
pub async fn keep_windows(
    conn: &mut PgConnection,
    fleet: FleetKey,
    windows: &[Window],
) -> sqlx::Result<()> {
    let at: Vec<_> = windows.iter().map(|window| window.at.to_sqlx()).collect();
    let requests: Vec<i64> = windows.iter().map(|window| window.requests).collect();
    let failed: Vec<i64> = windows.iter().map(|window| window.failed).collect();
    sqlx::query!(
        "insert into fleet_request_minute (fleet_id, at, requests, failed)
         select $1, w.at, w.requests, w.failed
         from unnest($2::timestamptz[], $3::int8[], $4::int8[]) as w(at, requests, failed)
         cross join lateral date_bin('15 minutes', w.at, 'epoch') as quarter
         where not exists (select from fleet_pool_quarter q where q.fleet_id = $1 and q.at = quarter)
            or exists (select from fleet_request_minute m
                       where m.fleet_id = $1 and m.at >= quarter and m.at < quarter + interval '15 minutes')
         on conflict (fleet_id, at) do update
         set requests = fleet_request_minute.requests + excluded.requests,
             failed = fleet_request_minute.failed + excluded.failed",
        fleet.0,
        &at as _,
        &requests,
        &failed,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notes that what was summed of a fleet has changed.
pub async fn revise(conn: &mut PgConnection, fleet: FleetKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into fleet_revision (fleet_id, data_revision, changed_at) values ($1, 1, $2)
         on conflict (fleet_id) do update
         set data_revision = fleet_revision.data_revision + 1, changed_at = excluded.changed_at",
        fleet.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes windows before an instant, of all fleets: whole quarter hours.
pub async fn forget_windows(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from fleet_request_minute where at < date_bin('15 minutes', $1::timestamptz, 'epoch')",
        before.to_sqlx() as _
    )
    .execute(conn)
    .await?;
    Ok(())
}
