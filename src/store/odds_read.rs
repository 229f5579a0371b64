//! How often locations fail by themselves, from the roll-ups.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::{LocationKey, MonitorKey};

/// Attempts and failures by location since an instant, of one monitor or of all. Quarters in which half
/// or more of a monitor's results failed are left out: there it was the target.
pub async fn attempts(
    conn: &mut PgConnection,
    monitor: Option<MonitorKey>,
    since: Timestamp,
) -> sqlx::Result<Vec<(LocationKey, i64, i64)>> {
    sqlx::query!(
        r#"with q as (
               select location_id, passes, fails,
                      sum(fails) over w * 2 >= sum(passes + fails) over w as target
               from rollup_quarter
               where at >= $2 and ($1::int4 is null or monitor_id = $1)
               window w as (partition by monitor_id, at)
           )
           select location_id, sum(passes + fails)::int8 as "attempts!", sum(fails)::int8 as "fails!"
           from q where not target group by location_id"#,
        monitor.map(|key| key.0),
        since.to_sqlx()
    )
    .map(|r| (LocationKey(r.location_id), r.attempts, r.fails))
    .fetch_all(conn)
    .await
}
