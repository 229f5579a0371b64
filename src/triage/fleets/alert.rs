//! What people hear of a group of a fleet's incidents: the gravest of what is open in it, and its end when
//! nothing is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Met, Stood, standing};
use crate::domain::{
    escalation::route::Own,
    incident::Severity,
    notice::{FleetFacts, FleetLine, IncidentFacts, Notice, NoticeKind},
};
use crate::store::{
    self,
    fleet_incidents::{Member, NO_MONITOR},
    fleets::FleetRow,
};
use crate::triage::escalate;

/// Ends told in one message.
const MOST_ENDS: usize = 5;

/// Tells every group whose standing has changed.
pub(super) async fn alert(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    before: &BTreeMap<Uuid, Stood>,
    met: &BTreeMap<Uuid, Met>,
    now: Timestamp,
) -> sqlx::Result<()> {
    if met.is_empty() {
        return Ok(());
    }
    store::wake::notify(conn, "state").await?;
    let touched: Vec<Uuid> = met.keys().copied().collect();
    let members = store::fleet_incidents::members(conn, fleet.key, &touched).await?;
    let after = standing(&members);
    for (group, stands) in &after {
        let own: Vec<&Member> = members.iter().filter(|member| member.group == *group).collect();
        let happened: Vec<&Met> =
            own.iter().filter_map(|member| met.get(&member.incident)).collect();
        if happened.is_empty() {
            continue;
        }
        let stood = before.get(group).copied().unwrap_or_default().severity;
        let again = happened.iter().any(|met| met.again);
        let unmuted = happened.iter().any(|met| met.unmuted);
        let ends = ends(&happened);
        let began = match (again, unmuted) {
            (_, true) => NoticeKind::AfterMaintenance,
            (true, _) => NoticeKind::Reopened,
            _ => NoticeKind::Opened,
        };
        match (stood, stands.severity) {
            (None, Some(now_is)) => {
                let what = Said { kind: began, severity: now_is, previous: None, ends: "" };
                say(conn, fleet, &own, what, now).await?;
            }
            (Some(was), Some(now_is)) if was != now_is => {
                let (kind, previous) = (NoticeKind::Moved, Some(was));
                say(conn, fleet, &own, Said { kind, severity: now_is, previous, ends: "" }, now)
                    .await?;
            }
            (Some(_), Some(_)) => {
                let facts = serde_json::to_value(facts(fleet, &own))
                    .map_err(|e| sqlx::Error::Encode(e.into()))?;
                let sentence = own.iter().max_by_key(|m| (m.is_loud(), m.severity));
                let sentence = sentence.map(|m| m.sentence.clone()).unwrap_or_default();
                store::fleet_incidents::rewrite_unsent(conn, *group, &facts, &sentence).await?;
            }
            (Some(was), None) => {
                say(conn, fleet, &own, over(was, &ends), now).await?;
            }
            // Begun and over between two looks: told as one.
            (None, None) => {
                let suppressed = own.iter().all(|member| member.suppressed);
                let peak = happened.iter().filter_map(|met| met.began).max();
                if let Some(peak) = peak.filter(|_| !suppressed) {
                    let what = Said { kind: began, severity: peak, previous: None, ends: "" };
                    say(conn, fleet, &own, what, now).await?;
                    say(conn, fleet, &own, over(peak, &ends), now).await?;
                }
            }
        }
    }
    Ok(())
}

/// One event of a group as it is told.
#[derive(Debug, Clone, Copy)]
struct Said<'a> {
    kind: NoticeKind,
    severity: Severity,
    previous: Option<Severity>,
    /// How what ended just now has ended; empty unless all is over.
    ends: &'a str,
}

fn over(was: Severity, ends: &str) -> Said<'_> {
    Said { kind: NoticeKind::Resolved, severity: was, previous: Some(was), ends }
}

/// How what ended in this step has ended, one sentence each.
fn ends(happened: &[&Met]) -> String {
    let mut told: Vec<&str> = happened.iter().filter_map(|met| met.over.as_deref()).collect();
    told.dedup();
    let rest = told.len().saturating_sub(MOST_ENDS);
    told.truncate(MOST_ENDS);
    let mut text = told.join(" ");
    if rest > 0 {
        text.push_str(&format!(" And {rest} more are over."));
    }
    text
}

/// Outbox rows for every channel that hears of a group's event.
async fn say(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    own: &[&Member],
    what: Said<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Said { kind, severity, previous, ends } = what;
    let Some(first) = own.first() else { return Ok(()) };
    let own_channels = fleet.config.rules.channels.clone();
    let facts = facts(fleet, own);
    let ended = kind.ends();
    let sentence = match facts.findings.first() {
        _ if ended && !ends.is_empty() => ends.to_owned(),
        Some(line) => line.sentence.clone(),
        None => String::new(),
    };
    let payload = Notice {
        kind,
        severity,
        previous_severity: previous,
        monitor: None,
        fleet: Some(facts),
        slo: None,
        platform: None,
        certificate: None,
        prompt: None,
        storm: None,
        incident: IncidentFacts {
            uid: first.group,
            subject: first.subject.clone(),
            started_at: own.iter().map(|m| m.started_at).min().unwrap_or(now),
            opened_at: first.opened_at,
            ended_at: own.iter().filter_map(|m| m.ended_at).max().filter(|_| ended),
            resolve_reason: own
                .iter()
                .rev()
                .find_map(|m| m.resolve_reason.clone())
                .filter(|_| ended),
            low: false,
        },
        sentence,
        locations: Vec::new(),
        scope: None,
        eligible: 0,
        needed: 0,
        down: 0,
        decided_at: now,
        collapsed: false,
    };
    // A fleet has no labels: of the routes, those that fit everything fit it.
    let own = Own { channels: own_channels, ..Own::default() };
    let (incident, fleet) = (first.group, Some(fleet.key));
    let told = escalate::Telling { monitor: NO_MONITOR, incident, fleet, own, payload };
    escalate::tell(conn, told, now).await
}

/// The gravest of what is open first; what is over comes last.
fn facts(fleet: &FleetRow, own: &[&Member]) -> FleetFacts {
    let mut lines: Vec<FleetLine> = own
        .iter()
        .map(|member| FleetLine {
            subject: member.subject.clone(),
            title: member.title.clone().unwrap_or_default(),
            severity: member.severity,
            sentence: member.sentence.clone(),
            open: member.resolved_at.is_none(),
        })
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse((line.open, line.severity)));
    FleetFacts { uid: fleet.uid, name: fleet.name.clone(), findings: lines }
}
