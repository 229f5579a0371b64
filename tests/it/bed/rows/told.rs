//! Whether everything that was to be told was told, once, and nothing else.

use std::{collections::BTreeSet, time::Duration};

use super::{Bed, Row, becomes, count};

/// Nothing was said of what was well.
pub(crate) async fn of_quiet(bed: &Bed, names: &[String]) -> Row {
    let mut row = Row::new("what stayed well");
    let said = bed.ears.all().into_iter().filter(|heard| names.contains(&heard.monitor)).count();
    let incidents: i64 = sqlx::query_scalar(
        "select count(*) from incident i join monitor m using (monitor_id) where m.name = any($1)",
    )
    .bind(names)
    .fetch_one(&bed.pool)
    .await
    .unwrap();
    row.same("notices", 0, said);
    row.same("incidents", 0, incidents);
    row
}

/// Over all channels and incidents: none is lost, none is doubled, none was never decided.
pub(crate) async fn once_each(bed: &Bed) -> Row {
    let mut row = Row::new("all notices");
    let open = "select count(*) from notice where settled_at is null";
    row.same("settled", true, becomes(bed, Duration::from_secs(120), open, 0).await);
    let delivered: Vec<String> =
        sqlx::query_scalar("select notice_id::text from notice where outcome = 'delivered'")
            .fetch_all(&bed.pool)
            .await
            .unwrap();
    let delivered: BTreeSet<String> = delivered.into_iter().collect();
    let heard: BTreeSet<String> = bed.ears.all().into_iter().map(|heard| heard.id).collect();
    row.same("lost", 0, delivered.difference(&heard).count());
    row.same("never decided", 0, heard.difference(&delivered).count());
    let doubled = "select count(*) from (
        select from notice
        group by monitor_id, incident_id, channel_id, kind, payload->>'decided_at'
        having count(*) > 1) as twice";
    row.same("doubled", 0, count(bed, doubled).await);
    let failed = "select count(*) from notice where outcome not in ('delivered', 'collapsed')";
    row.same("given up", 0, count(bed, failed).await);
    let holes = "select count(*) from (
        select to_at, lead(from_at) over (partition by monitor_id order by from_at) as next
        from monitor_state) as s where next is distinct from to_at";
    row.same("holes in time", 0, count(bed, holes).await);
    row
}
