//! What follows from decisions, written in the deciding transaction: intervals, decisions, incidents,
//! notices, and what agents must hear.

use jiff::Timestamp;
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::context::Context;
use super::{
    Decided, Triage, at, escalate,
    storms::{self, Happened},
    told,
};
use crate::domain::check::heartbeat::HeartbeatCheck;
use crate::domain::decision::ballot::ballots;
use crate::domain::decision::basis::Basis;
use crate::domain::decision::{Event, RULE_VERSION, Scope, State, VoteState, What};
use crate::domain::escalation::route::Own;
use crate::domain::fields::text_map;
use crate::domain::ids::{IncidentKey, MonitorKey};
use crate::domain::incident::Severity;
use crate::domain::notice::{self, IncidentFacts, LocationLine, Notice, NoticeKind};
use crate::store;
use crate::store::incidents::NewIncident;
use crate::store::timeline::{NewDecision, NewInterval};
use crate::store::wake::Change;

impl Triage {
    /// Writes everything that follows from a transaction's decisions, in lock order. Incidents get
    /// their ids here, which is why the live rows are written after this.
    pub(super) async fn apply(
        &self,
        conn: &mut PgConnection,
        context: &Context,
        decided: &mut [Decided],
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let loud: Vec<i32> = decided
            .iter()
            .filter(|one| !one.step.events.is_empty())
            .map(|one| one.config.monitor.0)
            .collect();
        if !loud.is_empty() {
            store::incidents::lock_open(conn, &loud).await?;
        }
        let (mut changes, mut happened) = (Vec::new(), Vec::new());
        let mut moved = false;
        for one in decided.iter_mut() {
            if one.step.is_quiet() {
                continue;
            }
            moved |= one.step.state_change.is_some() || !one.step.events.is_empty();
            self.tell(conn, context, one, &mut happened, now).await?;
            write_timeline(conn, one).await?;
            write_decision(conn, context, one).await?;
            changes.extend(vote_turns(one));
        }
        super::health::note(conn, context, decided, now).await?;
        super::parents::hold(conn, &happened, now).await?;
        storms::group(conn, &happened, now).await?;
        self.ask_others(conn, context, decided, now).await?;
        store::wake::change(conn, &changes, now).await?;
        if moved {
            store::wake::notify(conn, "state").await?;
        }
        Ok(())
    }

    /// Incident and notices of one monitor's events.
    async fn tell(
        &self,
        conn: &mut PgConnection,
        context: &Context,
        one: &mut Decided,
        happened: &mut Vec<Happened>,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if one.step.events.is_empty() {
            return Ok(());
        }
        let lines = location_lines(context, one);
        let evidence = json!({
            "locations": lines,
            "verdict": verdict_json(one),
            "scope": scope_text(one),
        });
        for event in one.step.events.clone() {
            let Some(incident) = write_incident(conn, one, &event, &evidence, now).await? else {
                continue;
            };
            let Some((kind, severity, previous)) = told::told_as(&event, one) else { continue };
            if event.suppressed {
                continue;
            }
            let sentence = one.step.why.clone();
            let told = Telling { incident, kind, severity, previous, sentence, lines: &lines };
            queue_notices(conn, one, told, now).await?;
            let about = (one.config.monitor, incident);
            happened.push(Happened::new(about, kind, severity, &lines));
        }
        Ok(())
    }
}

/// One event as people hear it.
struct Telling<'a> {
    incident: Uuid,
    kind: NoticeKind,
    severity: Severity,
    previous: Option<Severity>,
    sentence: String,
    lines: &'a [LocationLine],
}

/// Writes an event into its incident; answers which one, none for events that are no incident's.
async fn write_incident(
    conn: &mut PgConnection,
    one: &mut Decided,
    event: &Event,
    evidence: &serde_json::Value,
    now: Timestamp,
) -> sqlx::Result<Option<Uuid>> {
    let monitor = one.config.monitor;
    let why = one.step.why.clone();
    let known = one.live.incident.as_ref().and_then(|i| i.key);
    let known = known.or(one.incident_before.as_ref().and_then(|i| i.key)).map(|k| k.0);
    let incident = match (&event.what, known) {
        (What::Opened { severity, low, started_at }, _) => {
            let incident = store::id_at(now);
            let facts = store::triage_read::facts(conn, monitor).await?;
            let new = NewIncident {
                incident,
                monitor,
                subject: format!("monitor:{}", facts.uid),
                severity: severity.name(),
                started_at: at(*started_at),
                opened_at: at(event.at),
                low: *low,
                suppressed: event.suppressed,
                sentence: why.clone(),
                evidence: evidence.clone(),
            };
            store::incidents::open(conn, &new).await?;
            if let Some(open) = &mut one.live.incident {
                open.key = Some(IncidentKey(incident));
            }
            incident
        }
        (What::Reopened { severity }, Some(incident)) => {
            let word = severity.name();
            store::incidents::reopen(
                conn,
                monitor,
                incident,
                word,
                event.suppressed,
                &why,
                evidence,
            )
            .await?;
            incident
        }
        (What::Escalated { to, .. }, Some(incident)) => {
            store::incidents::shift(conn, monitor, incident, to.name(), true, &why, evidence)
                .await?;
            incident
        }
        (What::Downgraded { to, .. }, Some(incident)) => {
            store::incidents::shift(conn, monitor, incident, to.name(), false, &why, evidence)
                .await?;
            incident
        }
        (What::Resolved { ended_at, ending }, Some(incident)) => {
            let (ended, resolved) = (at(*ended_at), at(event.at));
            store::incidents::resolve(
                conn,
                monitor,
                incident,
                ended,
                resolved,
                Some(told::ending_word(*ending)),
            )
            .await?;
            incident
        }
        (What::AfterMaintenance { started_at, .. }, Some(incident)) => {
            let (started, opened) = (at(*started_at), at(event.at));
            store::incidents::announce(conn, monitor, incident, started, opened, &why, evidence)
                .await?;
            incident
        }
        (What::FlapStart | What::EvidenceWithdrawn, Some(incident)) => incident,
        _ => return Ok(None),
    };
    if !matches!(event.what, What::Resolved { .. }) {
        let (flapping, stale, low) =
            (one.live.flaps.flapping, one.live.evidence_stale, one.live.low);
        store::incidents::mark(conn, monitor, incident, flapping, stale, low).await?;
    }
    let word = event.word().unwrap_or_else(|| "evidence_withdrawn".to_owned());
    store::incidents::add_event(conn, monitor, incident, at(event.at), &word, None, &why, evidence)
        .await?;
    Ok(Some(incident))
}

/// Tells everybody who hears the event.
async fn queue_notices(
    conn: &mut PgConnection,
    one: &Decided,
    telling: Telling<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (monitor, incident) = (one.config.monitor, telling.incident);
    let Some((payload, own)) = payload(conn, one, telling).await? else { return Ok(()) };
    let told = escalate::Telling { monitor, incident, fleet: None, own, payload };
    escalate::tell(conn, told, now).await
}

/// What notices say of a monitor, and whom it wants to be told.
pub(super) fn about(facts: store::triage_read::MonitorFacts) -> (notice::MonitorFacts, Own) {
    let own = Own {
        channels: facts.channels.and_then(|v| serde_json::from_value(v).ok()),
        escalation: facts.escalation.and_then(|id| id.parse().ok()),
        labels: text_map(&facts.labels),
    };
    let about = notice::MonitorFacts {
        uid: facts.uid,
        name: facts.name,
        group: facts.group,
        target: target_of(&facts.check_spec),
        labels: own.labels.clone(),
        runbook_url: facts.runbook_url,
    };
    (about, own)
}

/// What is told of a monitor's incident, and whom the monitor itself wants to be told.
async fn payload(
    conn: &mut PgConnection,
    one: &Decided,
    telling: Telling<'_>,
) -> sqlx::Result<Option<(Notice, Own)>> {
    let monitor = one.config.monitor;
    let facts = store::triage_read::facts(conn, monitor).await?;
    let Some(row) = store::incidents::get(conn, monitor, telling.incident).await? else {
        return Ok(None);
    };
    let (about, own) = about(facts);
    let payload = Notice {
        kind: telling.kind,
        severity: telling.severity,
        previous_severity: telling.previous,
        monitor: Some(about),
        fleet: None,
        slo: None,
        platform: None,
        certificate: None,
        prompt: None,
        storm: None,
        incident: IncidentFacts {
            uid: row.incident,
            subject: row.subject,
            started_at: row.started_at,
            opened_at: row.opened_at,
            ended_at: row.ended_at,
            resolve_reason: row.resolve_reason,
            low: row.low,
        },
        sentence: telling.sentence,
        locations: telling.lines.to_vec(),
        scope: scope_text(one),
        eligible: count(one.step.verdict.e),
        needed: count(one.step.verdict.q),
        down: count(one.step.verdict.d),
        decided_at: at(one.step.at),
        collapsed: false,
    };
    Ok(Some((payload, own)))
}

impl Triage {
    /// Lets time pass for a monitor that the caller has locked, and says how its open incident looks now.
    pub(super) async fn look_again(
        &self,
        conn: &mut PgConnection,
        monitor: MonitorKey,
        incident: Uuid,
        now: Timestamp,
    ) -> sqlx::Result<Option<(Notice, Own)>> {
        let context = Context::read(conn, &[monitor.0], now).await?;
        let mut decided = super::step_edited(conn, &context, monitor, now).await?;
        self.apply(conn, &context, &mut decided, now).await?;
        super::save(conn, &decided, true).await?;
        let Some(one) = decided.first() else { return Ok(None) };
        let open = one.live.incident.as_ref().filter(|i| i.key == Some(IncidentKey(incident)));
        let Some(severity) = open.map(|open| open.severity) else { return Ok(None) };
        let given = one.config.given(&context);
        let inputs = one.config.inputs(&given, &context, now);
        let when = now.as_millisecond();
        let sentence = one.config.sentence(&one.live, &inputs, &one.step.verdict, when);
        let lines = location_lines(&context, one);
        let kind = NoticeKind::Reminder;
        let telling = Telling { incident, kind, severity, previous: None, sentence, lines: &lines };
        payload(conn, one, telling).await
    }
}

/// The interval that a change of state, or of the freshness of its evidence, begins.
async fn write_timeline(conn: &mut PgConnection, one: &Decided) -> sqlx::Result<()> {
    let monitor = one.config.monitor;
    let from = match (&one.step.state_change, &one.step.stale_change) {
        (Some(change), _) => at(change.since),
        (None, Some(stale)) => at(stale.at),
        (None, None) => return Ok(()),
    };
    let floor = store::timeline::floor(conn, monitor).await?;
    // Never before the interval that it ends, although that may have begun a moment ahead of our clock.
    let from_at = floor.map_or(from, |floor| from.max(floor));
    let state = one.live.state;
    let incident = one.live.incident.as_ref().and_then(|i| i.key).map(|k| k.0);
    let new = NewInterval {
        monitor,
        from_at,
        state: state.code(),
        evidence_stale: one.live.evidence_stale,
        low: one.live.low,
        incident,
    };
    store::timeline::begin(conn, &new).await?;
    if state == State::Unknown || one.live.evidence_stale {
        // A refold begins where the unknown stretch does, not at the tick that declared it.
        let mut checkpoint = one.live.clone();
        checkpoint.folded_at = from_at.as_millisecond();
        let text = serde_json::to_string(&checkpoint).map_err(|e| sqlx::Error::Encode(e.into()))?;
        store::timeline::add_checkpoint(conn, monitor, from_at, &text).await?;
    }
    Ok(())
}

/// Keeps why it was decided so, with what it rests on.
async fn write_decision(
    conn: &mut PgConnection,
    context: &Context,
    one: &Decided,
) -> sqlx::Result<()> {
    let changes: Vec<_> = one
        .step
        .vote_changes
        .iter()
        .map(|change| {
            let name = context.locations.get(&change.location).map_or("", |l| l.name.as_str());
            json!({"location": name, "from": change.from.name(), "to": change.to.name(), "at": format!("{:.3}", at(change.at))})
        })
        .collect();
    let events: Vec<_> = one.step.events.iter().filter_map(Event::word).collect();
    let decision = NewDecision {
        monitor: one.config.monitor,
        at: at(one.step.at),
        rule: RULE_VERSION,
        state: one.live.state.code(),
        changed: one.step.state_change.is_some(),
        sentence: one.step.why.clone(),
        inputs: json!({
            "verdict": verdict_json(one),
            "votes": location_lines(context, one),
            "changes": changes,
            "events": events,
            "basis": basis(context, one),
            "rests": super::heartbeats::rests(context, one),
        }),
    };
    store::timeline::insert_decision(conn, &decision).await
}

/// What the verdict can be taken from again; none of a pause, which drops the votes.
fn basis(context: &Context, one: &Decided) -> Option<Basis> {
    if one.live.state == State::Paused || one.config.plan.is_some() {
        return None;
    }
    let given = one.config.given(context);
    Some(Basis::of(&one.live, &one.config.inputs(&given, context, at(one.step.at))))
}

fn verdict_json(one: &Decided) -> serde_json::Value {
    let v = &one.step.verdict;
    json!({
        "raw": v.raw, "n": v.n, "e": v.e, "emin": v.emin, "q": v.q, "d": v.d, "u": v.u,
        "min_domains": v.nd, "min_regions": v.nr, "low": one.live.low,
    })
}

/// Locations whose agent must repeat passes from now on, or no longer.
fn vote_turns(one: &Decided) -> impl Iterator<Item = Change> {
    let down = |state| matches!(state, VoteState::Down | VoteState::Recovering);
    let monitor = one.config.monitor;
    one.step
        .vote_changes
        .iter()
        .filter(move |change| down(change.from) != down(change.to))
        .map(move |change| Change::Vote(monitor, change.location))
}

/// One line per configured location: fails first, uncounted last.
fn location_lines(context: &Context, one: &Decided) -> Vec<LocationLine> {
    let given = one.config.given(context);
    let inputs = one.config.inputs(&given, context, at(one.step.at));
    if let Some(plan) = &one.config.plan {
        return vec![super::heartbeats::line(&one.live, &inputs, plan)];
    }
    ballots(&one.live, &inputs)
        .into_iter()
        .filter_map(|ballot| {
            let row = context.locations.get(&ballot.location)?;
            Some(LocationLine {
                name: row.name.clone(),
                region: row.region.clone(),
                domain: row.domain.clone(),
                vote: ballot.vote.name().to_owned(),
                class: ballot.class.map(|c| c.name().to_owned()),
                saw: ballot.saw,
                address: ballot.address,
                simulated: row.simulated,
                uncounted: ballot.uncounted.map(|u| u.word().to_owned()),
            })
        })
        .collect()
}

fn scope_text(one: &Decided) -> Option<String> {
    one.step.verdict.scope.as_ref().map(Scope::phrase)
}

/// What is probed, as people write it.
fn target_of(check: &serde_json::Value) -> String {
    let text = |name: &str| check.get(name).and_then(|v| v.as_str());
    if let Some(Ok(job)) = HeartbeatCheck::of(check) {
        return job.waited_for();
    }
    text("url").or_else(|| text("host")).or_else(|| text("name")).unwrap_or_default().to_owned()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
