//! Results that are left out of figures, because their location was not believed: its quarantines, and its
//! divergence on single monitors.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::{
    Millis,
    ids::{LocationKey, MonitorKey},
    slo::{
        evidence::{Batch, Timing},
        timeline::Spans,
    },
};

/// What is withheld of some monitors over a span.
#[derive(Debug, Default)]
pub struct Withheld(Vec<Row>);

#[derive(Debug)]
struct Row {
    location: LocationKey,
    /// None: of all monitors.
    monitor: Option<MonitorKey>,
    from: Millis,
    to: Millis,
}

/// Of `monitors`, where it touches [from, to).
pub async fn read(
    conn: &mut PgConnection,
    monitors: &[i32],
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Withheld> {
    let millis = |at: jiff_sqlx::Timestamp| at.to_jiff().as_millisecond();
    sqlx::query!(
        r#"select location_id as "location_id!", null::int4 as monitor_id, from_at as "from_at!: jiff_sqlx::Timestamp",
                  to_at as "to_at: jiff_sqlx::Timestamp"
           from location_quarantine where from_at < $3 and (to_at is null or to_at > $2)
           union all
           select location_id, monitor_id, since_at, to_at
           from location_divergent where monitor_id = any($1) and since_at < $3 and (to_at is null or to_at > $2)"#,
        monitors,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .map(|r| Row {
        location: LocationKey(r.location_id),
        monitor: r.monitor_id.map(MonitorKey),
        from: millis(r.from_at),
        to: r.to_at.map_or(Millis::MAX, millis),
    })
    .fetch_all(conn)
    .await
    .map(Withheld)
}

impl Withheld {
    /// Of one monitor, by location.
    pub fn of(&self, monitor: MonitorKey) -> BTreeMap<LocationKey, Spans> {
        let concerns = |row: &&Row| row.monitor.is_none_or(|only| only == monitor);
        let mut lists: BTreeMap<LocationKey, Vec<(Millis, Millis)>> = BTreeMap::new();
        for row in self.0.iter().filter(concerns) {
            lists.entry(row.location).or_default().push((row.from, row.to));
        }
        lists.into_iter().map(|(location, spans)| (location, Spans::union(spans))).collect()
    }
}

/// Makes results that lie within [from, to) invalid where that touches a span that is withheld. A sum of a
/// quarter hour cannot be parted, so that all of it is.
pub(super) fn withhold(batch: &mut Batch, spans: Option<&Spans>, from: Millis, to: Millis) {
    if spans.is_some_and(|spans| spans.within(from, to).next().is_some()) {
        batch.invalid += batch.ok + batch.fail;
        (batch.ok, batch.fail, batch.quick, batch.timing) = (0, 0, (0, 0), Timing::None);
    }
}
