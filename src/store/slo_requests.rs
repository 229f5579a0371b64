//! Requests of a fleet's clients by the minute, for SLOs on them: windows for 100 days, spread quarter hours
//! before.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::{fleet_cells::timed_json, slo_inputs::instant};
use crate::domain::{
    Millis,
    fleet::cell::Timed,
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

/// Bounds of a fleet's SLOs on how long requests take, in µs.
pub async fn bounds(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<Vec<u32>> {
    let bounds = sqlx::query_scalar!(
        r#"select distinct (definition ->> 'threshold_us')::int8 as "bound!" from slo
           where fleet_id = $1 and deleted_at is null and definition ? 'threshold_us' order by 1"#,
        fleet.0
    )
    .fetch_all(conn)
    .await?;
    Ok(bounds.into_iter().filter_map(|bound| u32::try_from(bound).ok()).collect())
}

/// The minutes within [from, to) in which the source was heard, oldest first, and whether some of them are
/// spread quarter hours. It was heard for all of a quarter hour of which there is any line. With a bound in
/// µs, requests that took longer are bad, those of which that is not known do not count, and time in which
/// most are of that kind was not heard.
pub async fn minutes(
    conn: &mut PgConnection,
    fleet: FleetKey,
    window_s: i64,
    bound: Option<u32>,
    from: Millis,
    to: Millis,
) -> sqlx::Result<(Vec<Minute>, bool)> {
    let from = from.div_euclid(QUARTER) * QUARTER;
    let (windows, quarters) = rows(conn, fleet, bound, from, to).await?;
    let mut all: BTreeMap<Millis, (u64, u64)> = BTreeMap::new();
    for sum in windows.iter().chain(&quarters) {
        let quarter = sum.at.div_euclid(QUARTER) * QUARTER;
        for k in 0..QUARTER / MINUTE {
            all.entry(quarter + k * MINUTE).or_default();
        }
    }
    let long = u64::try_from(window_s / 60).unwrap_or(1).max(1);
    let lengths = windows.iter().map(|sum| (sum, long)).chain(quarters.iter().map(|sum| (sum, 15)));
    let mut unheard = BTreeSet::new();
    for (sum, minutes) in lengths {
        let begin = sum.at.div_euclid(MINUTE) * MINUTE;
        let (total, bad) = sum.counted();
        for minute in Minute::spread(begin, minutes, total, bad) {
            let sums = all.entry(minute.at).or_default();
            sums.0 += minute.total;
            sums.1 += minute.bad;
            if !sum.is_judged() {
                unheard.insert(minute.at);
            }
        }
    }
    let told = all.into_iter().filter(|(at, _)| *at < to && !unheard.contains(at));
    let minutes = told.map(|(at, (total, bad))| Minute { at, total, bad }).collect();
    Ok((minutes, !quarters.is_empty()))
}

/// One window or quarter hour.
struct Sum {
    at: Millis,
    requests: u64,
    /// Those that ended badly by the fleet's fault.
    failed: u64,
    /// With a bound: how many of the others it is known of, and how many of these took longer.
    timed: Option<(u64, u64)>,
}

impl Sum {
    fn counted(&self) -> (u64, u64) {
        match self.timed {
            None => (self.requests, self.failed),
            Some((judged, slow)) => (self.failed + judged, self.failed + slow),
        }
    }

    /// Failures are always known; without most of the rest they would be nearly all that counts.
    fn is_judged(&self) -> bool {
        let good = self.requests.saturating_sub(self.failed);
        self.timed.is_none_or(|(judged, _)| judged * 2 >= good)
    }
}

/// Sums by window and by quarter hour; what is in one is not in the other.
async fn rows(
    conn: &mut PgConnection,
    fleet: FleetKey,
    bound: Option<u32>,
    from: Millis,
    to: Millis,
) -> sqlx::Result<(Vec<Sum>, Vec<Sum>)> {
    let (from, to) = (instant(from).to_sqlx(), instant(to).to_sqlx());
    let name = bound.map(|bound| bound.to_string()).unwrap_or_default();
    let sum = |at: jiff_sqlx::Timestamp, counts: [i64; 4]| {
        let [requests, failed, judged, slow] = counts.map(|n| u64::try_from(n).unwrap_or(0));
        let timed = bound.map(|_| (judged, slow));
        Sum { at: at.to_jiff().as_millisecond(), requests, failed, timed }
    };
    let windows = sqlx::query!(
        r#"select at as "at!: jiff_sqlx::Timestamp", sum(requests)::int8 as "requests!", sum(failed)::int8 as "failed!",
                  coalesce(sum((timed -> $4 ->> 0)::int8), 0)::int8 as "judged!",
                  coalesce(sum((timed -> $4 ->> 1)::int8), 0)::int8 as "slow!"
           from (select at, requests, failed, timed from fleet_pool where fleet_id = $1 and at >= $2 and at < $3
                 union all
                 select at, requests, failed, timed from fleet_request_minute where fleet_id = $1 and at >= $2 and at < $3) as w
           group by at"#,
        fleet.0,
        from,
        to,
        name
    )
    .map(|r| sum(r.at, [r.requests, r.failed, r.judged, r.slow]))
    .fetch_all(&mut *conn)
    .await?;
    let quarters = sqlx::query!(
        r#"select at, sum(requests)::int8 as "requests!", sum(failed)::int8 as "failed!",
                  coalesce(sum((timed -> $4 ->> 0)::int8), 0)::int8 as "judged!",
                  coalesce(sum((timed -> $4 ->> 1)::int8), 0)::int8 as "slow!"
           from fleet_pool_quarter q
           where fleet_id = $1 and at >= $2 and at < $3
             and not exists (select from fleet_request_minute m
                             where m.fleet_id = $1 and m.at >= q.at and m.at < q.at + interval '15 minutes')
           group by at"#,
        fleet.0,
        from,
        to,
        name
    )
    .map(|r| sum(r.at, [r.requests, r.failed, r.judged, r.slow]))
    .fetch_all(conn)
    .await?;
    Ok((windows, quarters))
}

/// A window whose sums go into a quarter hour.
#[derive(Debug, Clone)]
pub struct Window {
    pub at: Timestamp,
    pub requests: i64,
    pub failed: i64,
    /// By bound in µs.
    pub timed: BTreeMap<u32, Timed>,
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
    let timed: Vec<Option<serde_json::Value>> = windows
        .iter()
        .map(|window| (!window.timed.is_empty()).then(|| timed_json(&window.timed)))
        .collect();
    sqlx::query!(
        "insert into fleet_request_minute (fleet_id, at, requests, failed, timed)
         select $1, w.at, w.requests, w.failed, w.timed
         from unnest($2::timestamptz[], $3::int8[], $4::int8[], $5::jsonb[]) as w(at, requests, failed, timed)
         cross join lateral date_bin('15 minutes', w.at, 'epoch') as quarter
         where not exists (select from fleet_pool_quarter q where q.fleet_id = $1 and q.at = quarter)
            or exists (select from fleet_request_minute m
                       where m.fleet_id = $1 and m.at >= quarter and m.at < quarter + interval '15 minutes')
         on conflict (fleet_id, at) do update
         set requests = fleet_request_minute.requests + excluded.requests,
             failed = fleet_request_minute.failed + excluded.failed,
             timed = (select jsonb_object_agg(key, jsonb_build_array(judged, slow))
                      from (select key, sum((value ->> 0)::int8) as judged, sum((value ->> 1)::int8) as slow
                            from (select key, value from jsonb_each(coalesce(fleet_request_minute.timed, '{}'))
                                  union all
                                  select key, value from jsonb_each(coalesce(excluded.timed, '{}'))) as parts
                            group by key) as sums)",
        fleet.0,
        &at as _,
        &requests,
        &failed,
        &timed as _,
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
