//! What is done to the bed, and what is expected of it.

use std::time::Duration;

use super::{
    Bed, QUIET, drill,
    facts::Row,
    net::place,
    target::Mood,
    trial::{Expected, OUTAGE, Trial, Trouble, UNANSWERED, bound, monitor, watch},
};

/// The address of what stays well.
const QUIET_ROW: u8 = 250;

/// A minute of it, in every run of the tests.
#[test]
fn short_cut() {
    drill("short", |bed| async move {
        let [all, three, region, killed, _quiet] = bed.targets([1, 2, 3, 4, QUIET_ROW]).await;
        let quiet = quiet(&bed).await;
        let plain = |_: &mut serde_json::Value| {};
        let all = Trial::new(&bed, "target down for all", (1, &all), plain).await;
        let three = Trial::new(&bed, "target cut from three of five", (2, &three), plain).await;
        let region = Trial::new(&bed, "one region cut", (3, &region), plain).await;
        let killed = Trial::new(&bed, "a coordinator killed", (4, &killed), plain).await;
        until_up(&bed).await;
        let (one, two, three, four) = tokio::join!(
            down_for_all(&all),
            three_of_five(&three),
            region_alone(&region),
            coordinator_killed(&killed),
        );
        let mut rows = vec![one, two, three, four, quiet_row(&bed, &quiet).await];
        rows.push(told_row(&bed).await);
        bed.close().await;
        rows
    });
}

/// Monitors of something that is always well.
async fn quiet(bed: &Bed) -> Vec<String> {
    let mut names = Vec::new();
    for number in 0..QUIET {
        let name = format!("quiet {number}");
        bed.client.post("monitors", monitor(&name, &format!("http://{}/", place(QUIET_ROW)))).await;
        names.push(name);
    }
    names
}

/// Every monitor is up, and every location has seen that.
async fn until_up(bed: &Bed) {
    let up = watch(Duration::from_secs(60), async || {
        let missing: i64 = sqlx::query_scalar(
            "select (select count(*) from monitor_live where state <> 1)
                + (select count(*) from monitor_location)
                - (select count(distinct (monitor_id, location_id)) from report where outcome = 0)",
        )
        .fetch_one(&bed.pool)
        .await
        .unwrap();
        (missing == 0).then_some(())
    });
    assert!(up.await.is_some(), "not everything is up; see {}", bed.logs.display());
}

async fn down_for_all(trial: &Trial<'_>) -> Row {
    let expected =
        Expected { state: "down", flag: None, events: OUTAGE, bound: Some(bound(5, 0, 0)) };
    trial.suffer(Trouble::Mood(Mood::Refusing), &expected).await
}

async fn three_of_five(trial: &Trial<'_>) -> Row {
    let expected = Expected {
        state: "down",
        flag: None,
        events: OUTAGE,
        bound: Some(bound(3, UNANSWERED, 0)),
    };
    trial.suffer(Trouble::Cut(vec![0, 2, 4]), &expected).await
}

async fn region_alone(trial: &Trial<'_>) -> Row {
    let expected = Expected { state: "up", flag: Some("local:e"), events: &[], bound: None };
    trial.suffer(Trouble::Cut(vec![4]), &expected).await
}

async fn coordinator_killed(trial: &Trial<'_>) -> Row {
    let trouble = Trouble::Mood(Mood::Refusing);
    trial.begin(&trouble).await;
    trial.bed.replace_coordinator(0).await;
    let down = trial.becomes("down", Duration::from_secs(45)).await;
    trial.end(&trouble).await;
    trial.bed.replace_coordinator(1).await;
    trial.becomes("up", Duration::from_secs(60)).await;
    let mut row = Row::new(&trial.name);
    row.same("seen down", true, down);
    trial.tell(&mut row, OUTAGE, None).await;
    row
}

/// Nothing was said of what was well.
async fn quiet_row(bed: &Bed, names: &[String]) -> Row {
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

/// Everything that was to be told was told, and nothing else.
async fn told_row(bed: &Bed) -> Row {
    let settled = watch(Duration::from_secs(90), async || {
        let waiting: i64 =
            sqlx::query_scalar("select count(*) from notice where settled_at is null")
                .fetch_one(&bed.pool)
                .await
                .unwrap();
        (waiting == 0).then_some(())
    });
    let mut row = Row::new("all notices");
    row.same("settled", true, settled.await.is_some());
    let mut delivered: Vec<String> = sqlx::query_scalar(
        "select notice_id::text from notice where outcome = 'delivered' order by 1",
    )
    .fetch_all(&bed.pool)
    .await
    .unwrap();
    delivered.sort();
    let mut heard: Vec<String> = bed.ears.all().into_iter().map(|heard| heard.id).collect();
    heard.sort();
    heard.dedup();
    let lost = delivered.iter().filter(|id| !heard.contains(id)).count();
    let never_decided = heard.iter().filter(|id| !delivered.contains(id)).count();
    row.same("lost", 0, lost);
    row.same("never decided", 0, never_decided);
    let doubled: i64 = sqlx::query_scalar(
        "select count(*) from (
             select from notice n group by monitor_id, incident_id, channel_id, kind, payload->>'decided_at'
             having count(*) > 1) as twice",
    )
    .fetch_one(&bed.pool)
    .await
    .unwrap();
    row.same("doubled", 0, doubled);
    row
}
