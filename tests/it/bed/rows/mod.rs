//! What is done to the bed, and what is expected of it.

mod doubts;
mod kills;
mod lines;
mod outages;
mod told;

use std::time::Duration;

use super::{
    Bed, QUIET, drill,
    facts::Row,
    net::place,
    trial::{Trial, monitor, watch},
};

/// The address of what stays well.
const QUIET_ROW: u8 = 250;

/// A minute of it, in every run of the tests.
#[test]
fn short_cut() {
    drill("short", |bed| async move {
        let [all, three, region, killed, _quiet] = bed.targets([1, 2, 3, 4, QUIET_ROW]).await;
        let quiet = quiet(&bed).await;
        let all = Trial::plain(&bed, "target down for all", (1, &all)).await;
        let three = Trial::plain(&bed, "target down for three of five", (2, &three)).await;
        let region = Trial::plain(&bed, "one region cut", (3, &region)).await;
        let killed = Trial::plain(&bed, "a coordinator killed", (4, &killed)).await;
        until_up(&bed).await;
        let (one, two, three, four) = tokio::join!(
            outages::for_all(&all),
            outages::for_three(&three),
            outages::one_region(&region),
            kills::one(&killed),
        );
        let mut rows = vec![one, two, three, four];
        rows.extend([told::of_quiet(&bed, &quiet).await, told::once_each(&bed).await]);
        bed.close().await;
        rows
    });
}

/// Everything that happens to targets, lines, agents and the database: about ten minutes.
#[test]
#[ignore = "takes ten minutes; make drill"]
fn networks() {
    drill("network", |bed| async move {
        let first = bed.targets([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 22]).await;
        let [named, _quiet] = bed.targets([super::NAMED_ROW, QUIET_ROW]).await;
        let dated = bed.tls_target(doubts::TLS_ROW).await;
        let quiet = quiet(&bed).await;
        let mut rows = Vec::new();
        {
            let outages = outages::Outages::new(&bed, &first).await;
            let doubts = doubts::Doubts::new(&bed, &first, (&named, &dated)).await;
            until_up(&bed).await;
            let (outages, doubts) = tokio::join!(outages.play(), doubts.play());
            rows.extend(outages.into_iter().chain(doubts));
            rows.push(lines::all_dead(&bed, &quiet).await);
            rows.extend(lines::database_stopped(&bed, &first, &quiet).await);
        }
        rows.extend([told::of_quiet(&bed, &quiet).await, told::once_each(&bed).await]);
        bed.close().await;
        rows
    });
}

/// Two agents cut from the coordinators for ten minutes, in which the coordinators are killed fifty times.
#[test]
#[ignore = "takes twelve minutes; make drill"]
fn coordinators() {
    drill("coordinator", |bed| async move {
        let targets = bed.target_list(1..=kills::OUTAGES).await;
        let [_quiet] = bed.targets([QUIET_ROW]).await;
        let quiet = quiet(&bed).await;
        let mut trials = Vec::new();
        for (row, target) in (1..).zip(&targets) {
            trials.push(Trial::plain(&bed, &format!("killed {row}"), (row, target)).await);
        }
        until_up(&bed).await;
        let mut rows = kills::fifty_while_two_are_cut(&bed, &trials, &quiet).await;
        drop(trials);
        rows.extend([told::of_quiet(&bed, &quiet).await, told::once_each(&bed).await]);
        bed.close().await;
        rows
    });
}

/// Monitors of something that is always well.
async fn quiet(bed: &Bed) -> Vec<String> {
    let mut names = Vec::new();
    for number in 0..QUIET {
        let name = format!("quiet {number}");
        let url = format!("http://{}/", place(QUIET_ROW));
        bed.client.post("monitors", monitor(&name, &url)).await;
        names.push(name);
    }
    names
}

/// Every monitor is up, and every location has seen that.
async fn until_up(bed: &Bed) {
    let up = watch(Duration::from_secs(60), async || {
        let missing = count(
            bed,
            "select (select count(*) from monitor_live where state <> 1)
                + (select count(*) from monitor_location)
                - (select count(distinct (monitor_id, location_id)) from report where outcome = 0)",
        );
        (missing.await == 0).then_some(())
    });
    assert!(up.await.is_some(), "not everything is up; see {}", bed.logs.display());
}

/// The number that a statement of the drill's own answers.
async fn count(bed: &Bed, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(&bed.pool).await.unwrap()
}

/// Whether a statement's number becomes that in time.
async fn becomes(bed: &Bed, patience: Duration, statement: &'static str, number: i64) -> bool {
    let look = async || (count(bed, statement).await == number).then_some(());
    watch(patience, look).await.is_some()
}
