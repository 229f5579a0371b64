//! Who hears of an incident, in the transaction that decides, and who hears of it later because time has
//! passed: the steps of its escalation and reminders.
//!
//! Lock order: whom the incident is about (monitor, fleet or SLO), the incident, its plan.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Triage, at, certificates, lost_a_race};
use crate::domain::{
    escalation::{
        Policy, hearers,
        progress::{Due, Progress, Stops},
        route::{self, By, Own},
    },
    ids::{FleetKey, MonitorKey},
    notice::{self, Notice, NoticeKind},
};
use crate::store::{
    self,
    incident_plans::{DuePlan, Plan},
    outbox::NewNotice,
};

/// Plans that are taken at once, and how long nobody else may take them.
const BATCH: i64 = 50;
const LEASE: SignedDuration = SignedDuration::from_secs(30);

/// An event of an incident as it is told.
#[derive(Debug)]
pub(super) struct Telling {
    /// 0 for incidents that are about no monitor.
    pub(super) monitor: MonitorKey,
    /// Under which incident it is told: of a group of a fleet's, the first.
    pub(super) incident: Uuid,
    pub(super) fleet: Option<FleetKey>,
    pub(super) own: Own,
    /// With the kind and severities of the event.
    pub(super) payload: Notice,
}

/// Queues notices for everybody who hears of an event, and keeps the incident's plan.
pub(super) async fn tell(
    conn: &mut PgConnection,
    telling: Telling,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Telling { monitor, incident, fleet, own, payload } = telling;
    let channels = store::channels::rules(conn).await?;
    let told = store::outbox::told(conn, monitor, incident).await?;
    let known = store::incident_plans::lock(conn, monitor, incident).await?;
    let (kind, severity) = (payload.kind, payload.severity);
    let event =
        notice::Event { kind, severity, previous: payload.previous_severity.unwrap_or(severity) };
    let place = (monitor, incident, fleet);
    let mut once = None;
    let plan = match known {
        known if kind.begins() => {
            let plan = begin(conn, place, &own, known, &payload, now).await?;
            once =
                Due::Step { number: 0 }.key(plan.progress.life).filter(|_| plan.progress.steps > 0);
            Some(plan)
        }
        Some(plan) => Some(go_on(conn, place, plan, event, &payload, now).await?),
        None => None,
    };
    let audience = match &plan {
        Some(plan) => audience(plan, &own),
        None => own.channels,
    };
    let notices: Vec<_> = notice::recipients(event, audience.as_deref(), &told, &channels)
        .into_iter()
        .map(|recipient| {
            let payload = Notice { kind: recipient.kind, ..payload.clone() };
            (new_notice((monitor, incident), recipient.channel, payload, now), once.clone())
        })
        .collect();
    store::outbox::insert_once(conn, &notices).await?;
    match plan {
        Some(plan) => store::incident_plans::save(conn, monitor, incident, &plan).await,
        None => Ok(()),
    }
}

/// Monitor, incident and fleet of a plan.
type Place = (MonitorKey, Uuid, Option<FleetKey>);

fn new_notice(
    (monitor, incident): (MonitorKey, Uuid),
    channel: Uuid,
    payload: Notice,
    now: Timestamp,
) -> NewNotice {
    NewNotice { notice: store::id_at(now), monitor, incident, channel, payload, created_at: now }
}

/// Copies what holds for an incident that opens or opens again.
async fn begin(
    conn: &mut PgConnection,
    (monitor, incident, fleet): Place,
    own: &Own,
    known: Option<Plan>,
    payload: &Notice,
    now: Timestamp,
) -> sqlx::Result<Plan> {
    store::incidents_read::end_acknowledgement(conn, monitor, incident).await?;
    let routes: Vec<route::Route> =
        store::routes::list(conn).await?.into_iter().map(Into::into).collect();
    let chosen = route::audience(own, &routes);
    let copied = match chosen.escalation {
        Some(id) => store::escalations::get(conn, id, false).await?,
        None => None,
    };
    let channels = chosen.channels.map(<[Uuid]>::to_vec);
    let (policy, escalation, channels) = match copied {
        Some(row) => {
            let policy = row.rules.with_channels(&channels.unwrap_or_default());
            (policy, Some(row.name), None)
        }
        // What is no monitor that fails may stay as it is for weeks: only a policy reminds of it.
        None => {
            let reminders = monitor.0 != 0 && payload.certificate.is_none();
            (Policy::flat(reminders), None, channels)
        }
    };
    let route = match chosen.by {
        By::Route(route) => Some(route.name.clone()),
        By::Own | By::Default => None,
    };
    let life = known.map_or(1, |plan| plan.progress.life + 1);
    let mut progress = Progress::begin(life, now.as_millisecond());
    let quiet = store::incident_plans::quiet(conn, monitor, fleet, now, now).await?;
    let stops = Stops { quiet: &quiet, held: false };
    let look = progress.look(&policy, stops, now.as_millisecond());
    let (next_at, payload) = (look.next.map(at), payload.clone());
    Ok(Plan { policy, escalation, route, channels, progress, payload, next_at })
}

/// What an event does to a plan that runs.
async fn go_on(
    conn: &mut PgConnection,
    place: Place,
    mut plan: Plan,
    event: notice::Event,
    payload: &Notice,
    now: Timestamp,
) -> sqlx::Result<Plan> {
    if event.kind.ends() {
        plan.next_at = None;
        return Ok(plan);
    }
    let quiet = quiet(conn, place, &plan, now).await?;
    let stops = Stops { quiet: &quiet, held: false };
    let millis = now.as_millisecond();
    if event.kind == NoticeKind::Moved && event.severity > event.previous {
        plan.progress.rise(stops, millis);
        store::incidents_read::end_acknowledgement(conn, place.0, place.1).await?;
    } else if event.kind == NoticeKind::FlapStart && plan.progress.pass(stops, millis) {
        ack_ran_out(conn, place, now).await?;
    }
    plan.payload = payload.clone();
    let held = event.kind == NoticeKind::FlapStart;
    plan.next_at = plan.progress.next(&plan.policy, Stops { held, ..stops }, millis).map(at);
    Ok(plan)
}

/// Whom events are told to: the steps taken so far, else the channels that were chosen.
fn audience(plan: &Plan, own: &Own) -> Option<Vec<Uuid>> {
    if plan.policy.steps.is_empty() {
        return own.channels.clone().or_else(|| plan.channels.clone());
    }
    Some(plan.policy.reached(plan.progress.steps))
}

/// Maintenance since the plan was looked at.
pub(super) async fn quiet(
    conn: &mut PgConnection,
    (monitor, _, fleet): Place,
    plan: &Plan,
    now: Timestamp,
) -> sqlx::Result<Vec<(i64, i64)>> {
    let since = at(plan.progress.looked_at()).min(now);
    store::incident_plans::quiet(conn, monitor, fleet, since, now).await
}

/// Writes down that nobody is at an incident any more.
async fn ack_ran_out(
    conn: &mut PgConnection,
    (monitor, incident, _): Place,
    now: Timestamp,
) -> sqlx::Result<()> {
    const SENTENCE: &str = "The acknowledgement has run out.";
    for one in store::incidents_read::end_acknowledgement(conn, monitor, incident).await? {
        let nothing = json!({});
        let (kind, actor) = ("ack_expired", None);
        store::incidents::add_event(conn, monitor, one, now, kind, actor, SENTENCE, &nothing)
            .await?;
    }
    store::wake::notify(conn, "state").await
}

impl Triage {
    /// Tells what time has brought: steps of escalations, reminders, the end of acknowledgements. True when
    /// more is waiting.
    pub async fn escalate(&self, now: Timestamp) -> sqlx::Result<bool> {
        let mut conn = self.pool.acquire().await?;
        let due = store::incident_plans::claim(&mut conn, now, LEASE, BATCH).await?;
        drop(conn);
        let mut trouble = None;
        for one in &due {
            let mut attempt = 0;
            let ended = loop {
                match self.escalate_one(one, now).await {
                    Err(error) if attempt < super::RETRIES && lost_a_race(&error) => attempt += 1,
                    other => break other,
                }
            };
            // One incident that cannot be read must not keep the others from being told.
            trouble = ended.err().or(trouble);
        }
        match trouble {
            Some(error) => Err(error),
            None => Ok(i64::try_from(due.len()) == Ok(BATCH)),
        }
    }

    async fn escalate_one(&self, due: &DuePlan, now: Timestamp) -> sqlx::Result<()> {
        let DuePlan { monitor, incident, fleet, slo } = *due;
        let mut tx = self.pool.begin().await?;
        match (monitor.0, fleet, slo) {
            (0, Some(fleet), _) => store::fleet_live::lock(&mut tx, fleet).await?,
            (0, None, Some(slo)) => store::slos::hold(&mut tx, slo).await?,
            (0, None, None) => {}
            (monitor, ..) => store::live::lock(&mut tx, &[monitor]).await?,
        }
        let seen = match monitor.0 {
            0 => None,
            _ => match self.look_again(&mut tx, monitor, incident, now).await? {
                None => certificates::look_again(&mut tx, monitor, incident, now).await?,
                seen => seen,
            },
        };
        store::incidents::lock(&mut tx, monitor, incident).await?;
        let plan = store::incident_plans::lock(&mut tx, monitor, incident).await?;
        if let Some(plan) = plan.filter(|plan| plan.next_at.is_some()) {
            prompt(&mut tx, (monitor, incident, fleet), plan, seen, now).await?;
        }
        tx.commit().await
    }
}

/// Tells what is due of one incident. `seen` is how its monitor looks now.
async fn prompt(
    conn: &mut PgConnection,
    place: Place,
    mut plan: Plan,
    seen: Option<(Notice, Own)>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (monitor, incident, _) = place;
    let quiet = quiet(conn, place, &plan, now).await?;
    let held = store::incidents::is_held(conn, monitor, incident).await?;
    let stops = Stops { quiet: &quiet, held };
    let look = plan.progress.look(&plan.policy, stops, now.as_millisecond());
    plan.next_at = look.next.map(at);
    if look.ack_ran_out {
        ack_ran_out(conn, place, now).await?;
    }
    let (fresh, own) = seen.unzip();
    if let Some(payload) = fresh {
        plan.payload = payload;
    }
    plan.payload.decided_at = now;
    if !look.due.is_empty() {
        let channels = store::channels::rules(conn).await?;
        let told = store::outbox::told(conn, monitor, incident).await?;
        let to = audience(&plan, &own.unwrap_or_default());
        let (policy, severity) = (&plan.policy, plan.payload.severity);
        let name = plan.escalation.clone().unwrap_or_default();
        let notices: Vec<_> = hearers(&look.due, policy, to.as_deref(), &told, &channels, severity)
            .into_iter()
            .map(|hearer| {
                let prompt = Some(policy.prompt(&name, &hearer.due));
                let payload = Notice { kind: hearer.kind, prompt, ..plan.payload.clone() };
                let new = new_notice((monitor, incident), hearer.channel, payload, now);
                (new, hearer.due.key(plan.progress.life))
            })
            .collect();
        store::outbox::insert_once(conn, &notices).await?;
    }
    store::incident_plans::save(conn, monitor, incident, &plan).await?;
    store::wake::notify(conn, "state").await
}
