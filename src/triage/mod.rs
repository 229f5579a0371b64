//! Reports or silence → states, incidents, notices; one transaction. The only door: whatever changes
//! what a monitor is said to be comes through here.
//!
//! Lock order, everywhere: `agent_boot` row; `monitor_live` rows in id order; incidents; the lock of
//! storms; the head of the assignments. What is locked in one statement is read in the next.

pub mod acks;
pub mod certificates;
mod configs;
mod context;
mod effects;
mod escalate;
mod facts;
pub mod failover;
pub mod fallback;
pub mod fleets;
pub mod health;
pub mod heartbeats;
mod locations;
pub mod parents;
pub mod platform;
mod rows;
pub mod slos;
mod storms;
mod told;
mod waves;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::domain::Millis;
use crate::domain::decision::dissent::dissents;
use crate::domain::decision::heartbeat::{self, Call};
use crate::domain::decision::{self, Halt, Live, Seen, State, Step};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::incident::Incident;
use crate::domain::observation::{Observation, Outcome, RunKind};
use crate::store;
use crate::store::live::{LiveRow, LiveSave};

use self::context::Context;
use self::rows::{Fresh, detail_row, effective_at, late_quarters, late_span, report_row, seen_of};

pub use self::context::seat;
pub use self::locations::{Unfollowed, candidates};

pub use self::configs::{MAX_PER_TRANSACTION, Settings, settings};

/// A batch of an agent, authenticated.
#[derive(Debug, Clone)]
pub struct ReportBatch {
    pub agent: Uuid,
    pub location: LocationKey,
    pub boot: Uuid,
    /// Round trip of the exchanges before, in milliseconds.
    pub rtt_ms: f64,
    /// When it was sent, by our time as the agent knows it.
    pub sent_at: Option<Timestamp>,
    /// Up to where the agent was told that its reports of this start are settled.
    pub settled: i64,
    pub reports: Vec<Delivered>,
}

/// One report of a batch.
#[derive(Debug, Clone)]
pub struct Delivered {
    pub seq: i64,
    /// None: the report could not be read beyond its sequence number.
    pub report: Option<Reported>,
}

#[derive(Debug, Clone)]
pub struct Reported {
    pub monitor: Uuid,
    pub check_version: u32,
    pub kind: RunKind,
    pub age_at_send_ms: f64,
    pub age_estimated: bool,
    pub observation: Observation,
}

/// How each report of a batch was settled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    pub accepted: u32,
    pub duplicate: u32,
    pub rejected: Vec<(i64, Refusal)>,
    /// The database knows of less than the agent was told, as after a restore: nothing was taken, and
    /// everything after this sequence has to come again.
    pub resend_after: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    TooOld,
    Future,
    UnknownMonitor,
    BadReport,
}

/// A transaction that lost a race is tried again so often.
const RETRIES: u32 = 3;

/// Decides for one coordinator. It remembers settings between batches (by revision, checked under the
/// lock) and how many waves it has sent of late; everything else is in the database.
#[derive(Debug)]
pub struct Triage {
    pool: PgPool,
    configs: configs::Cache,
    waves: waves::Budget,
    /// Certificates and answers as last stored, so that only a change is written.
    known: facts::Known,
}

/// One monitor's part in a transaction, after its step.
struct Decided {
    config: Arc<Settings>,
    live: Live,
    /// The incident that was open before.
    incident_before: Option<Incident>,
    step: Step,
    old_wake: Option<Timestamp>,
    /// Who disagreed with the majority before.
    dissents_before: health::Dissents,
}

/// What came in for the monitors of a transaction.
#[derive(Clone, Copy)]
enum New<'a> {
    Nothing,
    Reports(&'a BTreeMap<MonitorKey, Vec<Seen>>),
    /// For the only one.
    Calls(&'a [Call]),
}

impl<'a> New<'a> {
    fn seen(self, monitor: MonitorKey) -> &'a [Seen] {
        match self {
            New::Reports(seen) => seen.get(&monitor).map_or(&[], Vec::as_slice),
            New::Nothing | New::Calls(_) => &[],
        }
    }

    fn calls(self) -> &'a [Call] {
        match self {
            New::Calls(calls) => calls,
            New::Nothing | New::Reports(_) => &[],
        }
    }
}

impl Decided {
    /// Takes what a pause, its end, or a deletion brought, after the step that looked at the present.
    /// A transition of that step and this one are one change of state.
    fn take_halt(&mut self, halt: Halt, sentence: &str) {
        if let Some(change) = halt.state_change {
            self.step.state_change = Some(change);
        }
        self.step.stale_change = halt.stale_change.or(self.step.stale_change);
        self.step.events.extend(halt.events);
        self.step.wake_at = None;
        sentence.clone_into(&mut self.step.why);
    }
}

impl Triage {
    pub fn new(pool: PgPool) -> Self {
        Self {
            pool,
            configs: configs::Cache::default(),
            waves: waves::Budget::default(),
            known: facts::Known::default(),
        }
    }

    /// Takes an agent's batch: at most [`MAX_PER_TRANSACTION`] reports. Everything in it is settled
    /// when this returns; on an error nothing is.
    pub async fn accept(&self, delivery: &ReportBatch, now: Timestamp) -> sqlx::Result<Settled> {
        let mut attempt = 0;
        loop {
            match self.accept_once(delivery, now).await {
                Err(error) if attempt < RETRIES && lost_a_race(&error) => attempt += 1,
                other => return other,
            }
        }
    }

    /// Lets time pass for monitors whose deadline has come; true when more are waiting.
    pub async fn sweep(&self, now: Timestamp) -> sqlx::Result<bool> {
        const BATCH: i64 = 500;
        let mut attempt = 0;
        loop {
            match self.sweep_once(now, BATCH).await {
                Err(error) if attempt < RETRIES && lost_a_race(&error) => attempt += 1,
                other => return other,
            }
        }
    }

    /// After an edit in the caller's transaction, which holds the monitor's lock and has raised
    /// `config_rev`: looks at the monitor again, and ends a pause if it was switched on.
    pub async fn edited(
        &self,
        conn: &mut PgConnection,
        monitor: MonitorKey,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let context = Context::read(conn, &[monitor.0], now).await?;
        let mut decided = step_edited(conn, &context, monitor, now).await?;
        for one in decided.iter_mut().filter(|one| one.live.state == State::Paused) {
            let halt = decision::resume(&mut one.live, now.as_millisecond());
            one.take_halt(halt, "Switched on again: it is decided anew.");
        }
        self.apply(conn, &context, &mut decided, now).await?;
        store::certificates::look_soon(conn, Some(&[monitor.0]), now + certificates::SETTLE)
            .await?;
        save(conn, &decided, true).await
    }

    /// Switches a monitor off, in the caller's transaction, which holds its lock. An open incident is
    /// resolved with that reason, and told.
    pub async fn pause(
        &self,
        conn: &mut PgConnection,
        monitor: MonitorKey,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        self.end(conn, monitor, now, decision::pause, "Paused by hand: nothing is probed.").await?;
        certificates::end(conn, monitor, "paused", now).await
    }

    /// The same for a monitor that is being deleted; its live row goes, so that later reports are of
    /// an unknown monitor.
    pub async fn delete(
        &self,
        conn: &mut PgConnection,
        monitor: MonitorKey,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        self.end(conn, monitor, now, decision::delete, "The monitor was deleted.").await?;
        certificates::end(conn, monitor, "deleted", now).await?;
        store::certificates::forget(conn, monitor).await?;
        store::live::delete(conn, monitor).await
    }

    async fn end(
        &self,
        conn: &mut PgConnection,
        monitor: MonitorKey,
        now: Timestamp,
        how: fn(&mut Live, Millis) -> Halt,
        sentence: &str,
    ) -> sqlx::Result<()> {
        let context = Context::read(conn, &[monitor.0], now).await?;
        let mut decided = step_edited(conn, &context, monitor, now).await?;
        for one in &mut decided {
            let halt = how(&mut one.live, now.as_millisecond());
            one.take_halt(halt, sentence);
        }
        self.apply(conn, &context, &mut decided, now).await?;
        save(conn, &decided, true).await
    }

    async fn accept_once(&self, delivery: &ReportBatch, now: Timestamp) -> sqlx::Result<Settled> {
        let mut tx = self.pool.begin().await?;
        let last = store::boots::lock(&mut tx, delivery.agent, delivery.boot, now).await?;
        if last < delivery.settled {
            // Taking the batch would skip what was lost, for good.
            return Ok(Settled { resend_after: Some(last), ..Settled::default() });
        }
        let mut settled = Settled::default();
        let oldest = store::reports::oldest(&mut tx).await?.unwrap_or(now);
        let fresh = self.sort_out(&mut tx, delivery, last, oldest, now, &mut settled).await?;
        let monitors: Vec<i32> = fresh.keys().map(|m| m.0).collect();
        store::live::lock(&mut tx, &monitors).await?;
        let context = Context::read(&mut tx, &monitors, now).await?;
        let seen =
            fresh.iter().map(|(monitor, list)| (*monitor, seen_of(delivery.location, list, now)));
        let seen: BTreeMap<MonitorKey, Vec<Seen>> = seen.collect();
        let mut decided = self.step_all(&mut tx, &context, &monitors, &seen, now).await?;
        self.apply(&mut tx, &context, &mut decided, now).await?;
        save(&mut tx, &decided, false).await?;
        let news = self.keep(&mut tx, delivery.location, &fresh, &decided, now).await?;
        refuse_vanished(&fresh, &decided, &mut settled);
        let top = delivery.reports.iter().map(|r| r.seq).max().unwrap_or(last);
        if top > last {
            let gaps = top - last - delivery.reports.iter().filter(|r| r.seq > last).count() as i64;
            store::boots::advance(&mut tx, delivery.agent, delivery.boot, top, gaps.max(0), now)
                .await?;
        }
        tx.commit().await?;
        self.known.remember(news);
        Ok(settled)
    }

    /// Settles what cannot be used, and gives the rest by monitor, in the order sent.
    async fn sort_out<'a>(
        &self,
        conn: &mut PgConnection,
        delivery: &'a ReportBatch,
        last: i64,
        oldest: Timestamp,
        now: Timestamp,
        settled: &mut Settled,
    ) -> sqlx::Result<BTreeMap<MonitorKey, Vec<Fresh<'a>>>> {
        let uids = delivery.reports.iter().filter_map(|r| r.report.as_ref()).map(|r| r.monitor);
        let keys = self.configs.keys(conn, uids).await?;
        let mut fresh: BTreeMap<MonitorKey, Vec<Fresh<'a>>> = BTreeMap::new();
        let mut highest = last;
        for delivered in &delivery.reports {
            if delivered.seq <= highest {
                settled.duplicate += 1;
                continue;
            }
            highest = delivered.seq;
            let verdict = delivered.report.as_ref().ok_or(Refusal::BadReport).and_then(|report| {
                let at = effective_at(report, delivery, now)?;
                if at < oldest {
                    return Err(Refusal::TooOld);
                }
                let key = keys.get(&report.monitor).ok_or(Refusal::UnknownMonitor)?;
                Ok((*key, Fresh { seq: delivered.seq, report, at }))
            });
            match verdict {
                Ok((key, report)) => {
                    settled.accepted += 1;
                    fresh.entry(key).or_default().push(report);
                }
                Err(refusal) => settled.rejected.push((delivered.seq, refusal)),
            }
        }
        Ok(fresh)
    }

    async fn sweep_once(&self, now: Timestamp, limit: i64) -> sqlx::Result<bool> {
        let mut tx = self.pool.begin().await?;
        let due = store::live::lock_due(&mut tx, now, limit).await?;
        if due.is_empty() {
            return Ok(false);
        }
        let context = Context::read(&mut tx, &due, now).await?;
        let mut decided = self.step_all(&mut tx, &context, &due, &BTreeMap::new(), now).await?;
        self.apply(&mut tx, &context, &mut decided, now).await?;
        save(&mut tx, &decided, true).await?;
        tx.commit().await?;
        Ok(due.len() as i64 == limit)
    }

    /// Reads locked monitors and decides each.
    async fn step_all(
        &self,
        conn: &mut PgConnection,
        context: &Context,
        monitors: &[i32],
        seen: &BTreeMap<MonitorKey, Vec<Seen>>,
        now: Timestamp,
    ) -> sqlx::Result<Vec<Decided>> {
        if monitors.is_empty() {
            return Ok(Vec::new());
        }
        let rows = store::live::read(conn, monitors).await?;
        let configs = self.configs.current(conn, &rows).await?;
        step_rows(rows, &configs, context, New::Reports(seen), now)
    }

    /// Copies the raw results in, and marks what late ones touch; answers the facts that it wrote.
    async fn keep(
        &self,
        conn: &mut PgConnection,
        location: LocationKey,
        fresh: &BTreeMap<MonitorKey, Vec<Fresh<'_>>>,
        decided: &[Decided],
        now: Timestamp,
    ) -> sqlx::Result<facts::News> {
        let mut rows = Vec::new();
        let mut details = Vec::new();
        let mut due = Vec::new();
        let mut news = facts::News::default();
        for one in decided {
            let Some(list) = fresh.get(&one.config.monitor) else { continue };
            for (report, disposition) in list.iter().zip(&one.step.folded) {
                rows.push(report_row(one.config.monitor, location, report, *disposition, now));
                if report.report.observation.outcome != Outcome::Pass {
                    details.push(detail_row(one.config.monitor, location, report));
                }
                let late = late_quarters(report, now);
                due.extend(late.map(|quarter| (one.config.monitor, quarter)));
                let place = (one.config.monitor, location);
                self.known.note(place, report, one.config.check_version, &mut news);
            }
            if let Some((from, to)) = late_span(list, &one.step.folded, now) {
                store::chores::mark_refold(conn, one.config.monitor, from, to, now).await?;
            }
        }
        due.sort_unstable();
        due.dedup();
        store::reports::copy_in(conn, &rows).await?;
        store::reports::insert_details(conn, &details).await?;
        store::rollups::mark_due(conn, &due).await?;
        news.save(conn, now).await?;
        Ok(news)
    }
}

/// The same for a monitor that the caller has just edited.
async fn step_edited(
    conn: &mut PgConnection,
    context: &Context,
    monitor: MonitorKey,
    now: Timestamp,
) -> sqlx::Result<Vec<Decided>> {
    let rows = store::live::read(conn, &[monitor.0]).await?;
    let configs = configs::Cache::edited(conn, &rows).await?;
    step_rows(rows, &configs, context, New::Nothing, now)
}

fn step_rows(
    rows: Vec<LiveRow>,
    configs: &BTreeMap<MonitorKey, Arc<Settings>>,
    context: &Context,
    new: New<'_>,
    now: Timestamp,
) -> sqlx::Result<Vec<Decided>> {
    let mut decided = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(config) = configs.get(&row.monitor) else { continue };
        let mut live = parse_live(&row.live)?;
        let incident_before = live.incident.clone();
        let dissents_before = dissents(&live, config.policy.stale_after);
        let given = config.given(context);
        let inputs = config.inputs(&given, context, now);
        let step = match &config.plan {
            Some(plan) => heartbeat::step(&mut live, &inputs, plan, new.calls()),
            None => decision::step(&mut live, &inputs, new.seen(row.monitor)),
        };
        let config = Arc::clone(config);
        let old_wake = row.wake_at;
        decided.push(Decided { config, live, incident_before, step, old_wake, dissents_before });
    }
    Ok(decided)
}

/// Monitors that were deleted since their keys were remembered have no live row any more.
fn refuse_vanished(
    fresh: &BTreeMap<MonitorKey, Vec<Fresh<'_>>>,
    decided: &[Decided],
    settled: &mut Settled,
) {
    let gone = fresh.iter().filter(|(m, _)| !decided.iter().any(|one| one.config.monitor == **m));
    for report in gone.flat_map(|(_, list)| list) {
        settled.accepted -= 1;
        settled.rejected.push((report.seq, Refusal::UnknownMonitor));
    }
}

fn parse_live(text: &str) -> sqlx::Result<Live> {
    serde_json::from_str(text)
        .map_err(|e| sqlx::Error::Decode(format!("monitor_live.live: {e}").into()))
}

/// Writes the live rows back. A report only ever brings the wake-up forward; `exact` is for the sweep
/// and for edits, which have just looked.
async fn save(conn: &mut PgConnection, decided: &[Decided], exact: bool) -> sqlx::Result<()> {
    let mut rows = Vec::with_capacity(decided.len());
    for one in decided {
        let live = serde_json::to_string(&one.live).map_err(|e| sqlx::Error::Encode(e.into()))?;
        let next = one.step.wake_at.map(at);
        let wake_at = match (exact, one.old_wake, next) {
            (false, Some(old), Some(next)) => Some(old.min(next)),
            (false, Some(old), None) => Some(old),
            (_, _, next) => next,
        };
        rows.push(LiveSave {
            monitor: one.config.monitor,
            live,
            state: one.live.state.code(),
            since_at: at(one.live.since),
            wake_at,
        });
    }
    store::live::save(conn, &rows).await
}

/// An instant of the decision core.
fn at(millis: Millis) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Deadlock or serialization failure: nothing was done, and trying again helps.
fn lost_a_race(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|e| e.code());
    matches!(code.as_deref(), Some("40P01" | "40001"))
}
