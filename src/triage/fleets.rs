//! Findings of fleets → incidents and notices, in the transaction that judges. The fleet's rules say which
//! findings are worth one. All that begins in one fleet within a minute is one group with one alert: what
//! people hear is the gravest of what is open in it, and its end when nothing is.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    fleet::{finding::Finding, rules},
    incident::Severity,
    notice::{self, FleetFacts, FleetLine, IncidentFacts, Notice, NoticeKind},
};
use crate::store::{
    self,
    fleet_incidents::{Member, NO_MONITOR},
    fleets::FleetRow,
    incidents::NewIncident,
};

/// What begins within this of the first is told with it.
const TOGETHER: SignedDuration = SignedDuration::from_secs(60);
/// What comes back within this is the same incident again.
const AGAIN: SignedDuration = SignedDuration::from_secs(600);

/// A finding as it was just stored.
#[derive(Debug, Clone)]
pub struct Stored {
    pub id: Uuid,
    /// The incident it has, if it has one.
    pub incident: Option<Uuid>,
    pub finding: Finding,
}

/// How a group stood before a step.
#[derive(Debug, Clone, Copy, Default)]
struct Stood {
    /// The gravest of what is open and told.
    severity: Option<Severity>,
}

/// What a step did to a group beside its severity.
#[derive(Debug, Clone, Copy, Default)]
struct Met {
    /// Something began, or began again, and maybe ended at once.
    began: Option<Severity>,
    again: bool,
    /// It had been kept silent by maintenance.
    unmuted: bool,
}

/// What a step of judging found, finding by finding, in one transaction. The caller holds the fleet's
/// lock.
#[derive(Debug)]
pub struct Telling<'a> {
    fleet: &'a FleetRow,
    before: BTreeMap<Uuid, Stood>,
    quiet: bool,
    met: BTreeMap<Uuid, Met>,
    now: Timestamp,
}

impl<'a> Telling<'a> {
    pub async fn begin(
        conn: &mut PgConnection,
        fleet: &'a FleetRow,
        now: Timestamp,
    ) -> sqlx::Result<Self> {
        let before = standing(&store::fleet_incidents::members(conn, fleet.key, &[]).await?);
        let quiet = store::fleet_incidents::is_quiet(conn, now).await?;
        let mut met: BTreeMap<Uuid, Met> = BTreeMap::new();
        if !quiet {
            for incident in store::fleet_incidents::unsuppress(conn, fleet.key).await? {
                met.entry(incident).or_default().unmuted = true;
            }
        }
        Ok(Self { fleet, before, quiet, met, now })
    }

    /// Applies the fleet's rules to one finding.
    pub async fn apply(&mut self, conn: &mut PgConnection, one: &Stored) -> sqlx::Result<()> {
        apply(conn, self.fleet, one, self.quiet, &mut self.met, self.now).await
    }

    /// Tells of everything together.
    pub async fn end(self, conn: &mut PgConnection) -> sqlx::Result<()> {
        alert(conn, self.fleet, &self.before, &self.met, self.now).await
    }
}

/// Ends what is open of a fleet that is being deleted. The caller holds the fleet's lock.
pub async fn close(conn: &mut PgConnection, fleet: &FleetRow, now: Timestamp) -> sqlx::Result<()> {
    store::fleet_findings::close_all(conn, fleet.key, now).await?;
    let members = store::fleet_incidents::members(conn, fleet.key, &[]).await?;
    let before = standing(&members);
    let mut met = BTreeMap::new();
    for member in members.iter().filter(|member| member.resolved_at.is_none()) {
        let sentence = format!("{} was deleted.", fleet.name);
        end(conn, member.incident, now, now, "deleted", None, &sentence).await?;
        met.insert(member.incident, Met::default());
    }
    alert(conn, fleet, &before, &met, now).await
}

/// Ends one incident by hand; its findings stay, and do not open it again.
pub async fn resolve(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    incident: Uuid,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let before = standing(&store::fleet_incidents::members(conn, fleet.key, &[]).await?);
    let sentence = format!("{by} closed it.");
    end(conn, incident, now, now, "closed by hand", Some(by), &sentence).await?;
    let met = BTreeMap::from([(incident, Met::default())]);
    alert(conn, fleet, &before, &met, now).await
}

/// The gravest open severity of each group.
fn standing(members: &[Member]) -> BTreeMap<Uuid, Stood> {
    let mut groups: BTreeMap<Uuid, Stood> = BTreeMap::new();
    for member in members {
        let stood = groups.entry(member.group).or_default();
        if member.is_loud() {
            stood.severity = stood.severity.max(Some(member.severity));
        }
    }
    groups
}

/// What one finding does to its incident.
async fn apply(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    one: &Stored,
    quiet: bool,
    met: &mut BTreeMap<Uuid, Met>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let finding = &one.finding;
    let worth = fleet.config.rules.incident(finding);
    let over = finding.to_us.map(instant);
    let Some(incident) = one.incident else {
        if let (Some(severity), None) = (worth, over) {
            begin(conn, fleet, one, severity, quiet, met, now).await?;
        }
        return Ok(());
    };
    let Some(row) = store::incidents::get(conn, NO_MONITOR, incident).await? else { return Ok(()) };
    if row.resolved_at.is_some() {
        return Ok(());
    }
    match (over, worth) {
        (None, Some(severity)) => {
            let old = Severity::from_name(&row.severity).unwrap_or(Severity::Degraded);
            if old == severity && row.sentence == finding.sentence {
                return Ok(());
            }
            met.entry(incident).or_default();
            let (word, evidence) = (severity.name(), evidence(finding));
            let rise = severity > old;
            store::incidents::shift(
                conn,
                NO_MONITOR,
                incident,
                word,
                rise,
                &finding.sentence,
                &evidence,
            )
            .await?;
            if old != severity {
                let kind = if rise { "escalated" } else { "downgraded" };
                event(conn, incident, kind, None, &finding.sentence, &evidence, now).await?;
            }
        }
        (over, _) => {
            if store::fleet_incidents::others_behind(conn, fleet.key, incident).await? {
                return Ok(());
            }
            met.entry(incident).or_default();
            let ended = over.unwrap_or(now);
            let reason = if over.is_some() { "recovered" } else { "not worth one any more" };
            end(conn, incident, ended, now, reason, None, &finding.sentence).await?;
        }
    }
    Ok(())
}

/// Opens an incident for a finding, or takes up the one that it continues.
async fn begin(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    one: &Stored,
    severity: Severity,
    quiet: bool,
    met: &mut BTreeMap<Uuid, Met>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let finding = &one.finding;
    let subject = rules::subject(fleet.uid, finding);
    let evidence = evidence(finding);
    let known = store::fleet_incidents::again(conn, fleet.key, &subject, now - AGAIN).await?;
    let incident = match known {
        Some((incident, true)) => incident,
        Some((incident, false)) => {
            store::incidents::reopen(
                conn,
                NO_MONITOR,
                incident,
                severity.name(),
                quiet,
                &finding.sentence,
                &evidence,
            )
            .await?;
            event(conn, incident, "reopened", None, &finding.sentence, &evidence, now).await?;
            let met = met.entry(incident).or_default();
            (met.began, met.again) = (Some(severity), true);
            incident
        }
        None => {
            let incident = store::id_at(now);
            let new = NewIncident {
                incident,
                monitor: NO_MONITOR,
                subject,
                severity: severity.name(),
                started_at: instant(finding.from_us).min(now),
                opened_at: now,
                low: false,
                suppressed: quiet,
                sentence: finding.sentence.clone(),
                evidence: evidence.clone(),
            };
            let group =
                store::fleet_incidents::recent_group(conn, fleet.key, now - TOGETHER).await?;
            store::incidents::open(conn, &new).await?;
            store::fleet_incidents::adopt(conn, incident, fleet.key, group.unwrap_or(incident))
                .await?;
            event(conn, incident, "opened", None, &finding.sentence, &evidence, now).await?;
            met.entry(incident).or_default().began = Some(severity);
            incident
        }
    };
    store::fleet_findings::set_incident(conn, fleet.key, one.id, incident).await
}

async fn end(
    conn: &mut PgConnection,
    incident: Uuid,
    ended: Timestamp,
    now: Timestamp,
    reason: &str,
    by: Option<&str>,
    sentence: &str,
) -> sqlx::Result<()> {
    store::incidents::resolve(conn, NO_MONITOR, incident, ended, now, Some(reason)).await?;
    event(conn, incident, "resolved", by, sentence, &json!({}), now).await
}

async fn event(
    conn: &mut PgConnection,
    incident: Uuid,
    kind: &str,
    by: Option<&str>,
    sentence: &str,
    data: &serde_json::Value,
    now: Timestamp,
) -> sqlx::Result<()> {
    store::incidents::add_event(conn, NO_MONITOR, incident, now, kind, by, sentence, data).await
}

/// Tells every group whose standing has changed.
async fn alert(
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
        let happened: Vec<Met> =
            own.iter().filter_map(|member| met.get(&member.incident)).copied().collect();
        if happened.is_empty() {
            continue;
        }
        let stood = before.get(group).copied().unwrap_or_default().severity;
        let again = happened.iter().any(|met| met.again);
        let unmuted = happened.iter().any(|met| met.unmuted);
        let began = match (again, unmuted) {
            (_, true) => NoticeKind::AfterMaintenance,
            (true, _) => NoticeKind::Reopened,
            _ => NoticeKind::Opened,
        };
        match (stood, stands.severity) {
            (None, Some(now_is)) => say(conn, fleet, &own, began, now_is, None, now).await?,
            (Some(was), Some(now_is)) if was != now_is => {
                say(conn, fleet, &own, NoticeKind::Moved, now_is, Some(was), now).await?;
            }
            (Some(_), Some(_)) => {
                let facts = serde_json::to_value(facts(fleet, &own))
                    .map_err(|e| sqlx::Error::Encode(e.into()))?;
                let sentence = own.iter().max_by_key(|m| (m.is_loud(), m.severity));
                let sentence = sentence.map(|m| m.sentence.clone()).unwrap_or_default();
                store::fleet_incidents::rewrite_unsent(conn, *group, &facts, &sentence).await?;
            }
            (Some(was), None) => {
                say(conn, fleet, &own, NoticeKind::Resolved, was, Some(was), now).await?;
            }
            // Begun and over between two looks: told as one.
            (None, None) => {
                let suppressed = own.iter().all(|member| member.suppressed);
                let peak = happened.iter().filter_map(|met| met.began).max();
                if let Some(peak) = peak.filter(|_| !suppressed) {
                    say(conn, fleet, &own, began, peak, None, now).await?;
                    say(conn, fleet, &own, NoticeKind::Resolved, peak, Some(peak), now).await?;
                }
            }
        }
    }
    Ok(())
}

/// Outbox rows for every channel that hears of a group's event.
async fn say(
    conn: &mut PgConnection,
    fleet: &FleetRow,
    own: &[&Member],
    kind: NoticeKind,
    severity: Severity,
    previous: Option<Severity>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(first) = own.first() else { return Ok(()) };
    let channels = store::channels::rules(conn).await?;
    let told = store::outbox::told(conn, NO_MONITOR, first.group).await?;
    let event = notice::Event { kind, severity, previous: previous.unwrap_or(severity) };
    let chosen = fleet.config.rules.channels.as_deref();
    let facts = facts(fleet, own);
    let ended = kind.ends();
    let sentence = match facts.findings.first() {
        Some(line) => line.sentence.clone(),
        None => String::new(),
    };
    let payload = Notice {
        kind,
        severity,
        previous_severity: previous,
        monitor: None,
        fleet: Some(facts),
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
    let notices: Vec<_> = notice::recipients(event, chosen, &told, &channels)
        .into_iter()
        .map(|recipient| store::outbox::NewNotice {
            notice: store::id_at(now),
            monitor: NO_MONITOR,
            incident: first.group,
            channel: recipient.channel,
            payload: Notice { kind: recipient.kind, ..payload.clone() },
            created_at: now,
        })
        .collect();
    store::outbox::insert(conn, &notices).await
}

/// The gravest of what is open first; what is over comes last.
fn facts(fleet: &FleetRow, own: &[&Member]) -> FleetFacts {
    let mut lines: Vec<FleetLine> = own
        .iter()
        .map(|member| FleetLine {
            subject: member.subject.clone(),
            severity: member.severity,
            sentence: member.sentence.clone(),
            open: member.resolved_at.is_none(),
        })
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse((line.open, line.severity)));
    FleetFacts { uid: fleet.uid, name: fleet.name.clone(), findings: lines }
}

fn evidence(finding: &Finding) -> serde_json::Value {
    json!({
        "kind": finding.kind, "scope": finding.scope, "pool": finding.pool,
        "instances": finding.instances, "numbers": finding.evidence,
    })
}

fn instant(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH)
}
