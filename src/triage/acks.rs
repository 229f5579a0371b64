//! Somebody is at an incident, or no longer: escalation and reminders stop, and those who know of the incident
//! hear who it is. The caller holds the lock of whom the incident is about.

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{at, escalate::quiet};
use crate::domain::{
    escalation::progress::{Ack, Stops},
    ids::{FleetKey, MonitorKey},
    notice::{Notice, NoticeKind, Prompt},
};
use crate::store::{self, incidents_read::IncidentRow, outbox::NewNotice};

/// Who is at it.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    pub name: &'a str,
    pub note: Option<&'a str>,
    /// The channel in which it is known already, because it was said there.
    pub but: Option<Uuid>,
}

/// Acknowledges an open incident with all that share its alert; those that were acknowledged before are left as
/// they are. Answers which ones are now, and until when.
pub async fn acknowledge(
    conn: &mut PgConnection,
    row: &IncidentRow,
    by: By<'_>,
    now: Timestamp,
) -> sqlx::Result<(Vec<Uuid>, Option<Timestamp>)> {
    let (monitor, place, together) = group(conn, row).await?;
    let plan = store::incident_plans::lock(conn, monitor, place.1).await?;
    let until = plan.as_ref().map(|plan| {
        let timeout = SignedDuration::from_secs(i64::from(plan.policy.ack_timeout_s));
        now.saturating_add(timeout).unwrap_or(now)
    });
    let mut done = Vec::new();
    for one in together {
        let name = Some(by.name);
        if store::incidents_read::acknowledge(conn, monitor, one, name, until, now).await? {
            done.push(one);
        }
    }
    if let (false, Some(mut plan), Some(until)) = (done.is_empty(), plan, until) {
        let quiet = quiet(conn, place, &plan, now).await?;
        let held = store::incidents::is_held(conn, monitor, place.1).await?;
        let stops = Stops { quiet: &quiet, held };
        let ack = Ack { by: by.name.to_owned(), until: until.as_millisecond() };
        plan.progress.acknowledge(ack, stops, now.as_millisecond());
        plan.next_at = Some(until);
        store::incident_plans::save(conn, monitor, place.1, &plan).await?;
        spread(conn, (monitor, place.1), plan.payload, by, until, now).await?;
    }
    Ok((done, until))
}

/// Takes an acknowledgement back, of all that share the alert; answers of which ones.
pub async fn take_back(
    conn: &mut PgConnection,
    row: &IncidentRow,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<Vec<Uuid>> {
    let (monitor, place, together) = group(conn, row).await?;
    let mut done = Vec::new();
    for one in together {
        if store::incidents_read::acknowledge(conn, monitor, one, None, None, now).await? {
            done.push(one);
        }
    }
    let plan = store::incident_plans::lock(conn, monitor, place.1).await?;
    if let Some(mut plan) = plan.filter(|_| !done.is_empty()) {
        let quiet = quiet(conn, place, &plan, now).await?;
        let held = store::incidents::is_held(conn, monitor, place.1).await?;
        let stops = Stops { quiet: &quiet, held };
        plan.progress.take_back(by, stops, now.as_millisecond());
        plan.next_at = plan.progress.next(&plan.policy, stops, now.as_millisecond()).map(at);
        store::incident_plans::save(conn, monitor, place.1, &plan).await?;
    }
    Ok(done)
}

/// Where its plan stands, and the open incidents that share its alert.
async fn group(
    conn: &mut PgConnection,
    row: &IncidentRow,
) -> sqlx::Result<(MonitorKey, (MonitorKey, Uuid, Option<FleetKey>), Vec<Uuid>)> {
    let fleet = row.fleet.as_ref().map(|fleet| fleet.key);
    let together = match fleet {
        Some(fleet) => store::fleet_incidents::open_together(conn, fleet, row.incident).await?,
        None => vec![row.incident],
    };
    Ok((row.monitor, (row.monitor, row.group.unwrap_or(row.incident), fleet), together))
}

/// Tells those who have it open who is at it.
async fn spread(
    conn: &mut PgConnection,
    (monitor, incident): (MonitorKey, Uuid),
    payload: Notice,
    by: By<'_>,
    until: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    let told = store::outbox::told(conn, monitor, incident).await?;
    let prompt =
        Prompt::Acknowledged { by: by.name.to_owned(), until, note: by.note.map(str::to_owned) };
    let kind = NoticeKind::Acknowledged;
    let payload = Notice { kind, prompt: Some(prompt), decided_at: now, ..payload };
    let hears = |id: &Uuid| by.but != Some(*id) && told.iter().any(|t| t.channel == *id && t.open);
    let notices: Vec<NewNotice> = store::channels::rules(conn)
        .await?
        .into_iter()
        .filter(|rule| rule.enabled && hears(&rule.id))
        .map(|rule| NewNotice {
            notice: store::id_at(now),
            monitor,
            incident,
            channel: rule.id,
            payload: payload.clone(),
            created_at: now,
        })
        .collect();
    store::outbox::insert(conn, &notices).await
}
