//! What nobody's target has a part in: all lines dead at once, and the database stopped.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{Bed, Row, Trial, becomes};
use crate::bed::{
    AGENTS,
    target::{Mood, Target},
    trial::{OUTAGE, Trouble, now, span},
};

/// Long enough for every vote to age out and for everything to be unknown, and for what failed meanwhile
/// to be no vote any more.
const DEAD: Duration = Duration::from_secs(150);
const STOPPED: Duration = Duration::from_secs(120);
/// Agents give a request 20 s and pause for at most half a minute between two.
const BACK: Duration = Duration::from_secs(90);

/// Nobody sees anything, which is no outage of anything.
pub(crate) async fn all_dead(bed: &Bed, quiet: &[String]) -> Row {
    let lines = AGENTS.map(|(_, address)| address);
    let before = bed.ears.all().len();
    let from = now();
    bed.net.kill_lines(&lines);
    let unknown = "select count(*) from monitor_live where state <> 5";
    let blind = becomes(bed, DEAD, unknown, 0).await;
    let waited = span(from, now());
    tokio::time::sleep(DEAD.saturating_sub(waited)).await;
    bed.net.revive_lines(&lines);
    let up = becomes(bed, BACK, "select count(*) from monitor_live where state <> 1", 0).await;
    let to = now();
    let mut row = Row::new("every agent's own line dead at once");
    row.same("everything unknown", true, blind);
    row.same("and up again", true, up);
    let heard = bed.ears.all();
    let of_monitors = heard[before..].iter().filter(|heard| !heard.monitor.is_empty()).count();
    row.same("notices of monitors", 0, of_monitors);
    let availability = availability(bed, &quiet[0], from, to).await;
    row.same("down, ms", 0, availability["down_ms"].as_i64().unwrap_or(-1));
    row.between("unknown, s", 60, 160, availability["unknown_ms"].as_i64().unwrap_or(-1) / 1_000);
    let count: i64 = sqlx::query_scalar(
        "select count(*) from incident where subject = 'platform:blind_monitors' and opened_at >= $1",
    )
    .bind(jiff_sqlx::Timestamp::from(from))
    .fetch_one(&bed.pool)
    .await
    .unwrap();
    row.same("incidents of blindness", 1, count);
    row
}

/// What begins meanwhile is told afterwards; what is over by then is not; what was open goes on.
pub(crate) async fn database_stopped(bed: &Bed, targets: &[Target], quiet: &[String]) -> Vec<Row> {
    let trial = async |name, row, at: usize| Trial::plain(bed, name, (row, &targets[at])).await;
    let before = trial("database stopped: down before", 20, 12).await;
    let meanwhile = trial("database stopped: down meanwhile", 21, 13).await;
    let passing = trial("database stopped: down and back meanwhile", 22, 14).await;
    for trial in [&before, &meanwhile, &passing] {
        trial.becomes("up", BACK).await;
    }
    let trouble = Trouble::Mood(Mood::Refusing);
    before.begin(&trouble).await;
    before.becomes("down", BACK).await;
    let from = now();
    bed.stop_database().await;
    tokio::time::sleep(STOPPED / 6).await;
    meanwhile.begin(&trouble).await;
    passing.begin(&trouble).await;
    tokio::time::sleep(STOPPED / 3).await;
    passing.end(&trouble).await;
    tokio::time::sleep(STOPPED / 2).await;
    bed.start_database().await;
    let back = now();
    meanwhile.becomes("down", BACK).await;
    before.end(&trouble).await;
    meanwhile.end(&trouble).await;
    for trial in [&before, &meanwhile] {
        trial.becomes("up", BACK).await;
    }
    let to = now();
    let mut rows = Vec::new();
    for trial in [&before, &meanwhile, &passing] {
        let mut row = Row::new(&trial.name);
        let events: &[&str] = if trial.name == passing.name { &[] } else { OUTAGE };
        trial.tell(&mut row, events, None).await;
        rows.push(row);
    }
    let opened = meanwhile.opened().await.map(|(opened, _)| span(back, opened));
    rows[1].within("after its return", Duration::from_secs(60), opened);
    let mut row = Row::new("database stopped: what stayed well");
    let availability = availability(bed, &quiet[0], from, to).await;
    row.same("down, ms", 0, availability["down_ms"].as_i64().unwrap_or(-1));
    row.between("unknown, s", 100, 170, availability["unknown_ms"].as_i64().unwrap_or(-1) / 1_000);
    rows.push(row);
    rows
}

pub(crate) async fn availability(bed: &Bed, name: &str, from: Timestamp, to: Timestamp) -> Value {
    let id: uuid::Uuid = sqlx::query_scalar("select uid from monitor where name = $1")
        .bind(name)
        .fetch_one(&bed.pool)
        .await
        .unwrap();
    bed.client.get(&format!("monitors/{id}/availability?from={from}&to={to}")).await
}
