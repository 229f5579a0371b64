//! Findings of fleets → incidents and notices, in the transaction that judges. The fleet's rules say which
//! findings are worth one. All that begins in one fleet within a minute is one group with one alert: what
//! people hear is the gravest of what is open in it, and its end when nothing is.

mod alert;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use self::alert::alert;
use crate::domain::{
    fleet::{
        finding::{End, Finding},
        rules,
        settings::Settings,
        title,
    },
    incident::Severity,
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
    /// Why it is over, if it is.
    pub end: Option<End>,
}

/// How a group stood before a step.
#[derive(Debug, Clone, Copy, Default)]
struct Stood {
    /// The gravest of what is open and told.
    severity: Option<Severity>,
}

/// What a step did to a group beside its severity.
#[derive(Debug, Clone, Default)]
struct Met {
    /// Something began, or began again, and maybe ended at once.
    began: Option<Severity>,
    again: bool,
    /// It had been kept silent by maintenance.
    unmuted: bool,
    /// How its end is told.
    over: Option<String>,
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
        let since = now.saturating_sub(echo(&fleet.config.analysis)).unwrap_or(now);
        let quiet = store::fleet_incidents::is_quiet(conn, fleet.key, now, since).await?;
        let mut met: BTreeMap<Uuid, Met> = BTreeMap::new();
        if !quiet {
            for (incident, sentence) in
                store::fleet_incidents::unsuppress(conn, fleet.key, now).await?
            {
                let kind = "opened:after_maintenance";
                event(conn, incident, kind, None, &sentence, &json!({}), now).await?;
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

/// For so long after maintenance its faults are still found: until three windows without them are judged.
fn echo(settings: &Settings) -> SignedDuration {
    let windows = 4 * i64::from(settings.window_s);
    SignedDuration::from_secs(windows + i64::from(settings.lateness_s))
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
        met.insert(member.incident, Met { over: Some(sentence), ..Met::default() });
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
    let met = BTreeMap::from([(incident, Met { over: Some(sentence), ..Met::default() })]);
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
            store::fleet_incidents::set_title(conn, incident, &title::title(finding)).await?;
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
            let (ended, reason, sentence) = match over {
                Some(over) => (over, "recovered", title::over(finding, one.end)),
                None => (now, "not worth one any more", finding.sentence.clone()),
            };
            end(conn, incident, ended, now, reason, None, &sentence).await?;
            met.entry(incident).or_default().over = Some(sentence);
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
            store::fleet_incidents::set_title(conn, incident, &title::title(finding)).await?;
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
            let (group, title) = (group.unwrap_or(incident), title::title(finding));
            store::fleet_incidents::adopt(conn, incident, fleet.key, group, &title).await?;
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

fn evidence(finding: &Finding) -> serde_json::Value {
    json!({
        "kind": finding.kind, "scope": finding.scope, "pool": finding.pool,
        "instances": finding.instances, "numbers": finding.evidence,
    })
}

fn instant(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH)
}
