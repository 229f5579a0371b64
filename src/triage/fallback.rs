//! Alerts that no channel took: the fallback channel hears them, and Quorate says so of itself.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::platform;
use crate::domain::{
    ids::MonitorKey,
    notice::{
        NoticeKind,
        fallback::{Heard, for_fallback},
    },
    platform::{Cause, Fallback, Trouble},
};
use crate::store::{self, fallback::Untaken};

/// A channel has so long to take a notice.
const PATIENCE: SignedDuration = SignedDuration::from_secs(120);
/// How far back delivery is looked at.
const PAST: SignedDuration = SignedDuration::from_hours(7 * 24);
/// What is over and older than this is no news to anybody.
const NEWS: SignedDuration = SignedDuration::from_hours(1);

/// One look, in the caller's transaction; one coordinator at a time.
pub async fn step(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    let untaken = store::fallback::untaken(conn, now - PAST, now - PATIENCE).await?;
    let channel = store::settings_read::fallback_channel(conn).await?;
    let channel = match channel {
        Some(id) => store::channels::get(conn, id).await?.filter(|channel| channel.enabled),
        None => None,
    };
    if let Some(channel) = &channel {
        let incidents: BTreeSet<(MonitorKey, Uuid)> =
            untaken.iter().map(|one| (one.monitor, one.incident)).collect();
        for about in incidents {
            tell(conn, about, channel.id, &untaken, now).await?;
        }
    }
    let failing: Vec<&Untaken> = untaken.iter().filter(|one| one.fails_still).collect();
    let names: BTreeSet<&String> = failing.iter().flat_map(|one| &one.channels).collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let told = match &channel {
        None => Fallback::Missing,
        Some(channel) if channel.health.failing_since.is_some() => Fallback::Failing,
        Some(_) => Fallback::Told,
    };
    let count = u64::try_from(failing.len()).unwrap_or_default();
    let found = (count > 0).then(|| Trouble::undelivered(count, &names, told));
    platform::settle(conn, Cause::UndeliveredAlerts, found.as_slice(), now).await
}

/// Sends the fallback channel what it is to hear of one incident.
async fn tell(
    conn: &mut PgConnection,
    about: (MonitorKey, Uuid),
    channel: Uuid,
    untaken: &[Untaken],
    now: Timestamp,
) -> sqlx::Result<()> {
    let (monitor, incident) = about;
    // Who ends it at this very moment waits, and then finds that the fallback channel has it.
    store::incidents::lock_open(conn, &[monitor.0]).await?;
    let Some(row) = store::incidents::get(conn, monitor, incident).await? else { return Ok(()) };
    let rows = store::fallback::events(conn, monitor, incident, channel).await?;
    let stale = row.resolved_at.is_some_and(|at| now.duration_since(at) > NEWS);
    let events: Vec<Heard> = rows
        .iter()
        .filter_map(|row| {
            let own = |one: &&Untaken| {
                (one.incident, one.created_at) == (incident, row.created_at) && !stale
            };
            Some(Heard {
                kind: NoticeKind::from_word(&row.kind)?,
                untaken: untaken.iter().find(own).is_some(),
                known: row.known,
                collapsed: row.collapsed,
            })
        })
        .collect();
    if events.len() != rows.len() {
        return Ok(());
    }
    let plan = for_fallback(&events);
    for (at, kind) in &plan {
        let mut row = rows[*at].clone();
        kind.word().clone_into(&mut row.kind);
        if let Some(fields) = row.payload.as_object_mut() {
            fields.insert("kind".to_owned(), Value::from(kind.word()));
        }
        store::fallback::queue(conn, about, channel, &row, now).await?;
    }
    if plan.is_empty() { Ok(()) } else { store::wake::notify(conn, "notice").await }
}
