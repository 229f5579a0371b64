//! How often locations fail by themselves, from the roll-ups. Quarters in which half or more of a monitor's
//! results failed are left out: there it was the target.

use jiff::{Timestamp, civil::Date};
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::{LocationKey, MonitorKey};

/// What a location's scheduled attempts were like while the target was up.
#[derive(Debug, Clone, Copy)]
pub struct AttemptsRow {
    pub location: LocationKey,
    pub attempts: i64,
    pub fails: i64,
    /// Failures that were tried again, and whose first repeat failed too.
    pub retried: i64,
    pub retried_fail: i64,
}

/// Of one monitor since an instant, by location.
pub async fn of_monitor(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    since: Timestamp,
) -> sqlx::Result<Vec<AttemptsRow>> {
    sqlx::query!(
        r#"with q as (
               select location_id, events_ok + events_fail as attempts, first_fails, retried, retried_fail,
                      sum(fails) over w * 2 >= sum(passes + fails) over w as target
               from rollup_quarter where monitor_id = $1 and at >= $2 and first_fails is not null
               window w as (partition by at)
           )
           select location_id, sum(attempts)::int8 as "attempts!", sum(first_fails)::int8 as "fails!",
                  sum(retried)::int8 as "retried!", sum(retried_fail)::int8 as "retried_fail!"
           from q where not target group by location_id"#,
        monitor.0,
        since.to_sqlx()
    )
    .map(|r| AttemptsRow {
        location: LocationKey(r.location_id),
        attempts: r.attempts,
        fails: r.fails,
        retried: r.retried,
        retried_fail: r.retried_fail,
    })
    .fetch_all(conn)
    .await
}

/// Of all monitors, over the days that are summed from one day on, by location.
pub async fn of_all(conn: &mut PgConnection, since: Date) -> sqlx::Result<Vec<AttemptsRow>> {
    sqlx::query!(
        r#"select location_id, sum(attempts)::int8 as "attempts!", sum(fails)::int8 as "fails!",
                  sum(retried)::int8 as "retried!", sum(retried_fail)::int8 as "retried_fail!"
           from location_odds where day >= $1 group by location_id"#,
        since.to_sqlx() as _
    )
    .map(|r| AttemptsRow {
        location: LocationKey(r.location_id),
        attempts: r.attempts,
        fails: r.fails,
        retried: r.retried,
        retried_fail: r.retried_fail,
    })
    .fetch_all(conn)
    .await
}

/// Sums a day (UTC) over all monitors; what was summed of it before is replaced.
pub async fn sum_day(conn: &mut PgConnection, day: Date) -> sqlx::Result<()> {
    sqlx::query!(
        r#"with q as (
               select location_id, events_ok + events_fail as attempts, first_fails, retried, retried_fail,
                      sum(fails) over w * 2 >= sum(passes + fails) over w as target
               from rollup_quarter
               where at >= $1::date::timestamp at time zone 'UTC' and at < ($1::date + 1)::timestamp at time zone 'UTC'
                 and first_fails is not null
               window w as (partition by monitor_id, at)
           )
           insert into location_odds (location_id, day, attempts, fails, retried, retried_fail)
           select location_id, $1, sum(attempts), sum(first_fails), sum(retried), sum(retried_fail)
           from q where not target group by location_id
           on conflict (location_id, day) do update
           set attempts = excluded.attempts, fails = excluded.fails, retried = excluded.retried,
               retried_fail = excluded.retried_fail"#,
        day.to_sqlx() as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Drops days before one.
pub async fn forget(conn: &mut PgConnection, before: Date) -> sqlx::Result<()> {
    sqlx::query!("delete from location_odds where day < $1", before.to_sqlx() as _)
        .execute(conn)
        .await?;
    Ok(())
}
