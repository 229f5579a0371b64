//! From stored incidents to what is answered.

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    error::ApiResult,
    fleet_findings::{self, Finding},
    incidents::{
        FleetRef, Incident, IncidentEscalation, IncidentEvent, IncidentKind, IncidentNotice,
        IncidentRow, MonitorRef, NextStep, Severity, SloRef, Storm, find,
    },
    request::At,
};
use crate::{
    domain::check::Check,
    store::{
        self,
        incidents_read::{Filter, IncidentRow as Row},
        outbox::NoticeRow,
    },
};

/// How many related incidents are shown.
const RELATED: i64 = 20;

pub async fn load(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> ApiResult<Incident> {
    let row = find(conn, id).await?;
    let events = store::incidents_read::events(conn, row.monitor, id).await?;
    // What people heard of a group, they heard under its first incident.
    let told = row.group.unwrap_or(id);
    let notices = store::outbox::of_incident(conn, row.monitor, told).await?;
    let during = (row.started_at, row.ended_at.unwrap_or(now));
    let same = Filter { during: Some(during), but: Some(id), limit: RELATED, ..Filter::default() };
    let same = store::incidents_read::list(conn, &same).await?;
    let before = Some((row.opened_at, row.incident));
    let fleet = row.fleet.as_ref().map(|fleet| fleet.key);
    let slo = row.slo.as_ref().map(|slo| slo.key);
    let monitor = (row.monitor.0 != 0).then_some(row.monitor.0);
    let kind = IncidentKind::of(&row.subject);
    let own = kind == IncidentKind::Platform;
    let subject = own.then(|| row.subject.clone());
    let kind = Some(kind.word());
    let earlier =
        Filter { monitor, fleet, slo, kind, subject, before, limit: RELATED, ..Filter::default() };
    let earlier = if monitor.is_none() && fleet.is_none() && slo.is_none() && !own {
        Vec::new()
    } else {
        store::incidents_read::list(conn, &earlier).await?
    };
    let fleet_findings = of_fleet(conn, &row, now).await?;
    let rows = |list: Vec<Row>| list.into_iter().map(|row| IncidentRow::shown(row, now)).collect();
    Ok(Incident {
        escalation: escalation(conn, &row, now).await?,
        evidence: row.evidence.clone().unwrap_or_default(),
        row: IncidentRow::shown(row, now),
        events: events
            .into_iter()
            .map(|row| IncidentEvent {
                no: row.no,
                at: At(row.at),
                kind: row.kind,
                actor: row.actor,
                sentence: row.sentence,
                data: row.data,
            })
            .collect(),
        notices: notices.into_iter().map(IncidentNotice::from).collect(),
        at_the_same_time: rows(same),
        earlier: rows(earlier),
        fleet_findings,
    })
}

/// How far its escalation has come.
async fn escalation(
    conn: &mut PgConnection,
    row: &Row,
    now: Timestamp,
) -> ApiResult<Option<IncidentEscalation>> {
    let incident = row.group.unwrap_or(row.incident);
    let Some(plan) = store::incident_plans::get(conn, row.monitor, incident).await? else {
        return Ok(None);
    };
    let fleet = row.fleet.as_ref().map(|fleet| fleet.key);
    let quiet = store::incident_plans::quiet(conn, row.monitor, fleet, now, now).await?;
    let waits = match (&plan.progress.ack, plan.next_at) {
        (_, None) => None,
        (Some(_), _) => Some("acknowledged"),
        (None, _) if row.flapping => Some("flapping"),
        (None, _) => (!quiet.is_empty()).then_some("maintenance"),
    };
    let steps = u32::try_from(plan.policy.steps.len()).unwrap_or_default();
    let next = plan.progress.next_step(&plan.policy, now.as_millisecond());
    let next = match next.filter(|_| plan.next_at.is_some() && steps > 0) {
        None => None,
        Some((number, at)) => {
            let known = store::channels::list(conn).await?;
            let ids = plan.policy.place(number).map(|(_, step)| step.channels.as_slice());
            let named = |id: &Uuid| known.iter().find(|c| c.id == *id).map(|c| c.name.clone());
            Some(NextStep {
                round: number / steps + 1,
                step: number % steps + 1,
                at: At(Timestamp::from_millisecond(at).unwrap_or(now)),
                channels: ids.unwrap_or_default().iter().filter_map(named).collect(),
            })
        }
    };
    Ok(Some(IncidentEscalation {
        policy: plan.escalation,
        route: plan.route,
        steps,
        rounds: plan.policy.loops,
        next,
        waits: waits.map(str::to_owned),
        reminders: plan.progress.reminders,
    }))
}

/// What was found in the same minutes in the fleet behind an incident.
async fn of_fleet(conn: &mut PgConnection, row: &Row, now: Timestamp) -> ApiResult<Vec<Finding>> {
    let named = row.about.as_ref().and_then(|about| about.fleet.as_deref());
    let uid = row.fleet.as_ref().map(|fleet| fleet.uid).or(named.and_then(|id| id.parse().ok()));
    let Some(uid) = uid else { return Ok(Vec::new()) };
    let Some(fleet) = store::fleets::get(conn, uid, false).await? else { return Ok(Vec::new()) };
    // Windows are minutes: what began in the minute before belongs to it too.
    let minute = SignedDuration::from_secs(60);
    let during = Some((row.started_at - minute, row.ended_at.unwrap_or(now) + minute));
    let filter = store::fleet_findings::Filter { during, limit: RELATED, ..Default::default() };
    let rows = store::fleet_findings::list(conn, fleet.key, &filter).await?;
    fleet_findings::findings(conn, &fleet, rows, now).await
}

impl IncidentRow {
    pub fn shown(row: Row, now: Timestamp) -> Self {
        let until = row.ended_at.unwrap_or(now);
        Self {
            id: row.incident,
            kind: IncidentKind::of(&row.subject),
            monitor: row.about.map(|about| MonitorRef {
                id: about.uid,
                name: about.name,
                group: about.group,
                target: Check::parse(about.check_spec)
                    .map(|check| check.target())
                    .unwrap_or_default(),
                runbook_url: about.runbook_url,
            }),
            fleet: row.fleet.map(|fleet| FleetRef { id: fleet.uid, name: fleet.name }),
            slo: row.slo.map(|slo| SloRef { id: slo.uid, name: slo.name }),
            group: row.group,
            storm: row
                .storm
                .map(|(first, key)| Storm { first, shared: crate::domain::storm::phrase(&key) }),
            subject: row.subject,
            severity: Severity::from_stored(&row.severity),
            peak: Severity::from_stored(&row.peak),
            started_at: At(row.started_at),
            opened_at: At(row.opened_at),
            ended_at: row.ended_at.map(At),
            resolved_at: row.resolved_at.map(At),
            resolve_reason: row.resolve_reason,
            duration_ms: until.as_millisecond() - row.started_at.as_millisecond(),
            low: row.low,
            suppressed: row.suppressed,
            flapping: row.flapping,
            evidence_stale: row.evidence_stale,
            acked_at: row.acked_at.map(At),
            acked_by: row.acked_by,
            acked_until: row.acked_until.map(At),
            title: row.title,
            sentence: row.sentence,
        }
    }
}

impl IncidentKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Monitor => "monitor",
            Self::Fleet => "fleet",
            Self::Slo => "slo",
            Self::Certificate => "certificate",
            Self::Platform => "platform",
        }
    }

    /// By what its subject begins with.
    pub fn of(subject: &str) -> Self {
        match subject.split_once(':').map_or(subject, |(kind, _)| kind) {
            "fleet" => Self::Fleet,
            "slo" => Self::Slo,
            "certificate" => Self::Certificate,
            "platform" => Self::Platform,
            _ => Self::Monitor,
        }
    }
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Self::Degraded => "degraded",
            Self::Partial => "partial",
            Self::Down => "down",
        }
    }

    /// The column's check holds the three words.
    pub fn from_stored(word: &str) -> Self {
        match word {
            "degraded" => Self::Degraded,
            "partial" => Self::Partial,
            _ => Self::Down,
        }
    }
}

impl From<NoticeRow> for IncidentNotice {
    fn from(row: NoticeRow) -> Self {
        Self {
            id: row.notice,
            channel: row.channel,
            channel_name: row.channel_name,
            channel_kind: row.channel_kind,
            kind: row.kind,
            severity: row.severity,
            created_at: At(row.created_at),
            due_at: row.due_at.map(At),
            attempts: row.attempts,
            attempted_at: row.attempted_at.map(At),
            settled_at: row.settled_at.map(At),
            outcome: row.outcome,
            held_for: row.held_for,
            fallback: row.fallback,
            answer: row.answer,
        }
    }
}
