//! Coordinators that die at any moment, and agents that cannot reach them.

use std::{cell::Cell, time::Duration};

use super::{Bed, Row, Trial, becomes, count, lines::availability};
use crate::{
    bed::{
        net::DOOR,
        pairs,
        target::Mood,
        trial::{OUTAGE, Trouble, now, span, watch},
    },
    support::dice::Dice,
};

/// Targets that go down once each while coordinators are killed. Each has a network of its own.
pub(crate) const OUTAGES: u8 = 21;
const LANES: usize = 3;
const KILLS: usize = 50;
const CUT: Duration = Duration::from_secs(600);
/// An agent whose coordinator died comes back after half a minute at the latest.
const PATIENCE: Duration = Duration::from_secs(90);

/// Both die in turn, one while it is going down, one while it comes back.
pub(crate) async fn one(trial: &Trial<'_>) -> Row {
    let trouble = Trouble::Mood(Mood::Refusing);
    trial.begin(&trouble).await;
    trial.bed.replace_coordinator(0).await;
    let down = trial.becomes("down", PATIENCE).await;
    trial.end(&trouble).await;
    trial.bed.replace_coordinator(1).await;
    trial.becomes("up", PATIENCE).await;
    let mut row = Row::new(&trial.name);
    row.same("seen down", true, down);
    trial.tell(&mut row, OUTAGE, None).await;
    row
}

pub(crate) async fn fifty_while_two_are_cut(
    bed: &Bed,
    trials: &[Trial<'_>],
    quiet: &[String],
) -> Vec<Row> {
    let line = pairs(&[0, 1], &[DOOR]);
    let from = now();
    bed.net.cut(&line);
    let killed = Cell::new(0);
    let lanes = (0..LANES).map(|lane| lane_of(trials, lane, &killed));
    let ((), seen) = tokio::join!(kill(bed, &killed), futures_util::future::join_all(lanes));
    let seen: usize = seen.into_iter().sum();
    let told = told_of_all(trials).await;
    tokio::time::sleep(CUT.saturating_sub(span(from, now()))).await;
    bed.net.mend(&line);
    let to = now();
    let mut kills = Row::new("coordinators killed in turn");
    kills.same("kills", KILLS, killed.get());
    kills.same("outages seen", trials.len(), seen);
    kills.same("told each beginning and end once", trials.len(), told);
    vec![kills, spooled(bed, trials.len(), quiet, (from, to)).await]
}

/// Kills and replaces one after the other, at moments that nothing else depends on.
async fn kill(bed: &Bed, killed: &Cell<usize>) {
    let mut dice = Dice::new(5);
    while killed.get() < KILLS {
        let pause = Duration::from_millis(500 + dice.below(6_500));
        tokio::time::sleep(pause).await;
        bed.replace_coordinator(killed.get() % 2).await;
        killed.set(killed.get() + 1);
    }
}

/// Every third of the outages, one after the other, spread over the kills; how many were seen.
async fn lane_of(trials: &[Trial<'_>], lane: usize, killed: &Cell<usize>) -> usize {
    let mut seen = 0;
    for (turn, trial) in trials.iter().skip(lane).step_by(LANES).enumerate() {
        let after = turn * LANES * KILLS / trials.len();
        watch(CUT, async || (killed.get() >= after).then_some(())).await;
        let trouble = Trouble::Mood(Mood::Refusing);
        trial.begin(&trouble).await;
        let down = trial.becomes("down", PATIENCE).await;
        trial.end(&trouble).await;
        seen += usize::from(down && trial.becomes("up", PATIENCE).await);
    }
    seen
}

/// Of how many outages the listener heard the beginning and the end once.
async fn told_of_all(trials: &[Trial<'_>]) -> usize {
    let mut right = 0;
    for trial in trials {
        let mut row = Row::new(&trial.name);
        trial.tell(&mut row, OUTAGE, None).await;
        right += usize::from(row.is_right());
    }
    right
}

/// The two that were cut deliver what they kept, once, and figures are as if they had not been cut.
async fn spooled(
    bed: &Bed,
    outages: usize,
    quiet: &[String],
    (from, to): (jiff::Timestamp, jiff::Timestamp),
) -> Row {
    let mut row = Row::new("two agents cut from the coordinators");
    let wanted = span(from, to).as_secs() as i64 / 10;
    let delivered = watch(PATIENCE, async || {
        let (fewest, _) = slots(bed, quiet, (from, to)).await;
        (fewest >= wanted - 1).then_some(())
    });
    row.same("spool delivered", true, delivered.await.is_some());
    let (fewest, most) = slots(bed, quiet, (from, to)).await;
    row.between("fewest results of a monitor", wanted - 1, wanted + 1, fewest);
    row.between("most results of a monitor", wanted - 1, wanted + 1, most);
    let twice: i64 = sqlx::query_scalar(
        "select count(*) from (
             select effective_at - lag(effective_at) over
                    (partition by monitor_id, location_id order by effective_at) as apart
             from report r join monitor m using (monitor_id)
             where r.kind = 0 and m.name = any($2) and r.effective_at >= $1) as s
         where apart < interval '5 seconds'",
    )
    .bind(jiff_sqlx::Timestamp::from(from))
    .bind(quiet)
    .fetch_one(&bed.pool)
    .await
    .unwrap();
    row.same("results that are double", 0, twice);
    row.same("gaps", 0, count(bed, "select coalesce(sum(gaps), 0)::int8 from agent_boot").await);
    let up = "select count(*) from monitor_live where state <> 1";
    row.same("all is up", true, becomes(bed, PATIENCE, up, 0).await);
    let well = availability(bed, &quiet[0], from, to).await;
    row.same("availability of what was well", "100.000", well["percent"].as_str().unwrap_or("-"));
    row.same("unknown, ms", 0, well["unknown_ms"].as_i64().unwrap_or(-1));
    let incidents = "select count(*) from incident where monitor_id > 0";
    row.same("incidents", outages, count(bed, incidents).await);
    row
}

/// The fewest and the most results that a monitor has from one of the two in that time, by its slots.
async fn slots(
    bed: &Bed,
    quiet: &[String],
    (from, to): (jiff::Timestamp, jiff::Timestamp),
) -> (i64, i64) {
    sqlx::query_as(
        "select min(n), max(n) from (
             select count(r.kind) as n from monitor m
             join monitor_location ml using (monitor_id) join location l using (location_id)
             left join report r on r.monitor_id = m.monitor_id and r.location_id = l.location_id
                  and r.kind = 0 and r.effective_at >= $1 and r.effective_at < $2
             where l.name in ('a', 'b') and m.name = any($3)
             group by m.monitor_id, l.location_id) as slots",
    )
    .bind(jiff_sqlx::Timestamp::from(from))
    .bind(jiff_sqlx::Timestamp::from(to))
    .bind(quiet)
    .fetch_one(&bed.pool)
    .await
    .unwrap()
}
