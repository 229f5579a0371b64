//! Somebody is at an incident, or no longer: escalation and reminders stop, and those who know of the incident
//! hear who it is. The caller holds the locks of whom the incidents are about.
//!
//! One alert, one answer: with an incident all that are told with it are meant, the others of a fleet's group and
//! those of a storm. One that joins a storm later is not acknowledged by that: nobody can be at what they have not
//! heard of. It is told as an update, and calls for somebody once those before it are over.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{at, escalate::quiet, storms};
use crate::domain::{
    escalation::progress::{Ack, Stops},
    ids::{FleetKey, MonitorKey},
    notice::{Notice, NoticeKind, Prompt},
};
use crate::store::{self, incident_plans::Plan, incidents_read::IncidentRow, outbox::NewNotice};

/// Who is at it.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    pub name: &'a str,
    pub note: Option<&'a str>,
    /// Channels in which the alert was read: of a storm only what was told there is meant. Empty: all of it.
    pub through: &'a [Uuid],
    /// The channel in which it is known already, because it was said there.
    pub but: Option<Uuid>,
}

/// The open incidents that are told with one, itself included while it is open; `through` as in [`By`].
pub async fn together(
    conn: &mut PgConnection,
    row: &IncidentRow,
    through: &[Uuid],
) -> sqlx::Result<Vec<(MonitorKey, Uuid)>> {
    if let Some(fleet) = &row.fleet {
        let open = store::fleet_incidents::open_together(conn, fleet.key, row.incident).await?;
        return Ok(open.into_iter().map(|one| (row.monitor, one)).collect());
    }
    let Some((storm, _)) = row.storm else {
        let own = row.resolved_at.is_none().then_some((row.monitor, row.incident));
        return Ok(own.into_iter().collect());
    };
    let told: BTreeSet<Uuid> = match through {
        [] => BTreeSet::new(),
        through => {
            let notices = store::storms::notices(conn, storm).await?;
            let read = notices.iter().filter(|notice| through.contains(&notice.channel));
            read.map(|notice| notice.incident).collect()
        }
    };
    let meant = |one: Uuid| one == row.incident || through.is_empty() || told.contains(&one);
    let listed = store::storms::listed(conn, storm).await?;
    let open = listed.iter().filter(|one| one.open && meant(one.incident));
    Ok(open.map(|one| (one.monitor, one.incident)).collect())
}

/// Acknowledges an open incident with all that are told with it; those that were acknowledged before are left as
/// they are. Answers which ones are now.
pub async fn acknowledge(
    conn: &mut PgConnection,
    row: &IncidentRow,
    by: By<'_>,
    now: Timestamp,
) -> sqlx::Result<Vec<(MonitorKey, Uuid)>> {
    let mut all = Vec::new();
    let mut soonest: Option<(Timestamp, Notice)> = None;
    for (place, incidents) in places(row, together(conn, row, by.through).await?) {
        let plan = store::incident_plans::lock(conn, place.0, place.1).await?;
        let until = plan.as_ref().map(|plan| {
            let timeout = SignedDuration::from_secs(i64::from(plan.policy.ack_timeout_s));
            now.saturating_add(timeout).unwrap_or(now)
        });
        let done = mark(conn, place.0, &incidents, Some(by.name), until, now).await?;
        if let (false, Some(plan), Some(until)) = (done.is_empty(), plan, until) {
            let payload = plan.payload.clone();
            let ack = Ack { by: by.name.to_owned(), until: until.as_millisecond() };
            hold(conn, place, plan, ack, now).await?;
            if soonest.as_ref().is_none_or(|(before, _)| until < *before) {
                soonest = Some((until, payload));
            }
        }
        all.extend(done.into_iter().map(|one| (place.0, one)));
    }
    let Some((until, payload)) = soonest else { return Ok(all) };
    let prompt =
        Prompt::Acknowledged { by: by.name.to_owned(), until, note: by.note.map(str::to_owned) };
    match row.storm {
        Some((storm, _)) => {
            let done = all.iter().map(|(_, one)| *one).collect();
            storms::tell_acknowledged(conn, storm, &done, by.but, prompt, now).await?;
        }
        None => {
            let place = (row.monitor, row.group.unwrap_or(row.incident));
            spread(conn, place, payload, by.but, prompt, now).await?;
        }
    }
    Ok(all)
}

/// Takes an acknowledgement back, of all that are told with the incident; answers of which ones. `through` as in
/// [`By`].
pub async fn take_back(
    conn: &mut PgConnection,
    row: &IncidentRow,
    by: &str,
    through: &[Uuid],
    now: Timestamp,
) -> sqlx::Result<Vec<(MonitorKey, Uuid)>> {
    let mut all = Vec::new();
    for (place, incidents) in places(row, together(conn, row, through).await?) {
        let done = mark(conn, place.0, &incidents, None, None, now).await?;
        let plan = store::incident_plans::lock(conn, place.0, place.1).await?;
        if let Some(mut plan) = plan.filter(|_| !done.is_empty()) {
            let quiet = quiet(conn, place, &plan, now).await?;
            let held = store::incidents::is_held(conn, place.0, place.1).await?;
            let stops = Stops { quiet: &quiet, held };
            plan.progress.take_back(by, stops, now.as_millisecond());
            plan.next_at = plan.progress.next(&plan.policy, stops, now.as_millisecond()).map(at);
            store::incident_plans::save(conn, place.0, place.1, &plan).await?;
        }
        all.extend(done.into_iter().map(|one| (place.0, one)));
    }
    Ok(all)
}

/// Where a plan stands, and whom its incident is about.
type Place = (MonitorKey, Uuid, Option<FleetKey>);

/// The plans of what is told together, each with its incidents: a fleet's group has one, in a storm each its own.
fn places(row: &IncidentRow, together: Vec<(MonitorKey, Uuid)>) -> Vec<(Place, Vec<Uuid>)> {
    if row.storm.is_some() {
        return together.into_iter().map(|(m, one)| ((m, one, None), vec![one])).collect();
    }
    let fleet = row.fleet.as_ref().map(|fleet| fleet.key);
    let place = (row.monitor, row.group.unwrap_or(row.incident), fleet);
    vec![(place, together.into_iter().map(|(_, one)| one).collect())]
}

/// Writes down who is at them, or that nobody is; answers for which ones that is new.
async fn mark(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incidents: &[Uuid],
    by: Option<&str>,
    until: Option<Timestamp>,
    now: Timestamp,
) -> sqlx::Result<Vec<Uuid>> {
    let mut done = Vec::new();
    for one in incidents {
        if store::incidents_read::acknowledge(conn, monitor, *one, by, until, now).await? {
            done.push(*one);
        }
    }
    Ok(done)
}

/// Stops a plan until the acknowledgement ends.
async fn hold(
    conn: &mut PgConnection,
    place: Place,
    mut plan: Plan,
    ack: Ack,
    now: Timestamp,
) -> sqlx::Result<()> {
    let quiet = quiet(conn, place, &plan, now).await?;
    let held = store::incidents::is_held(conn, place.0, place.1).await?;
    plan.next_at = Some(at(ack.until));
    plan.progress.acknowledge(ack, Stops { quiet: &quiet, held }, now.as_millisecond());
    store::incident_plans::save(conn, place.0, place.1, &plan).await
}

/// Tells those who have it open who is at it.
async fn spread(
    conn: &mut PgConnection,
    (monitor, incident): (MonitorKey, Uuid),
    payload: Notice,
    but: Option<Uuid>,
    prompt: Prompt,
    now: Timestamp,
) -> sqlx::Result<()> {
    let told = store::outbox::told(conn, monitor, incident).await?;
    let kind = NoticeKind::Acknowledged;
    let payload = Notice { kind, prompt: Some(prompt), decided_at: now, ..payload };
    let hears = |id: &Uuid| but != Some(*id) && told.iter().any(|t| t.channel == *id && t.open);
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
