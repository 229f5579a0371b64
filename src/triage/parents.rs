//! Monitors that depend on others: while a parent is down, the child's alerts are held back, not its incident.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::PgConnection;

use super::storms::Happened;
use crate::store;

/// Holds back what was queued for monitors whose parent is down, in the deciding transaction; what is over while
/// it is held back is told to nobody. The parent is read as it was last committed: if it comes up at this very
/// moment, [`release`] finds out.
pub(super) async fn hold(
    conn: &mut PgConnection,
    happened: &[Happened],
    now: Timestamp,
) -> sqlx::Result<()> {
    for one in happened {
        let (monitor, incident) = (one.monitor, one.incident);
        if one.kind.ends() {
            store::parents::drop_held(conn, monitor, incident, now).await?;
            continue;
        }
        let down = store::parents::down(conn, monitor).await?;
        if down.is_empty() {
            continue;
        }
        let verb = if down.len() == 1 { "is" } else { "are" };
        let why = format!("{} {verb} down", down.join(", "));
        if store::parents::hold(conn, monitor, incident, &why).await? {
            let sentence = format!("Held back: {why}.");
            say(conn, one.monitor, one.incident, "held", &sentence, now).await?;
        }
    }
    Ok(())
}

/// Tells what was held back for monitors that are still failing although no parent is down any more. That is
/// known once every vote that counts is younger than the parent's recovery.
pub async fn release(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    let mut any = false;
    let mut all = store::parents::held(conn).await?;
    all.sort_by_key(|held| (held.monitor, held.incident));
    for held in all {
        let Some(since) = held.free_since else { continue };
        let confirmed = SignedDuration::from_secs(held.stale_after_s);
        if now.duration_since(since) < confirmed {
            continue;
        }
        // Incidents before their notices, as everywhere.
        store::incidents::lock_open(conn, &[held.monitor.0]).await?;
        if store::parents::release(conn, held.monitor, held.incident, now).await? {
            any = true;
            let sentence = match held.parents.as_slice() {
                [] => "It depends on nothing any more, and still fails: told now.".to_owned(),
                names => format!("No longer down: {}. It still fails: told now.", names.join(", ")),
            };
            say(conn, held.monitor, held.incident, "released", &sentence, now).await?;
        }
    }
    if any { store::wake::notify(conn, "notice").await } else { Ok(()) }
}

async fn say(
    conn: &mut PgConnection,
    monitor: crate::domain::ids::MonitorKey,
    incident: uuid::Uuid,
    kind: &str,
    sentence: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    store::incidents::add_event(conn, monitor, incident, now, kind, None, sentence, &json!({}))
        .await
}
