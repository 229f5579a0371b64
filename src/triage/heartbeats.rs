//! A job's call → its monitor's state, in one transaction and under the same lock as reports. The only door
//! for calls.

use jiff::Timestamp;
use sqlx::PgConnection;

use super::context::Context;
use super::{Decided, New, RETRIES, Triage, lost_a_race, parse_live, save, step_rows};
use crate::domain::decision::heartbeat::{Call, CallKind, Plan, Rests, look};
use crate::domain::decision::{Inputs, Live, State};
use crate::domain::ids::MonitorKey;
use crate::domain::notice::LocationLine;
use crate::store;
use crate::store::heartbeats::CallRow;

/// A call that came.
#[derive(Debug, Clone)]
pub struct Came {
    pub kind: CallKind,
    pub exit_code: Option<u8>,
    /// The address that it came from.
    pub source: String,
    /// The program that called, as it says itself.
    pub agent: Option<String>,
    /// What a failing job wrote.
    pub evidence: Option<String>,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Counted,
    /// The same was said less than a second ago.
    Repeated,
    /// The monitor is paused: it is kept, and nothing else.
    Paused,
    /// There is no such monitor any more, or it is no heartbeat.
    Gone,
}

impl Triage {
    /// Takes a call. It is stored when this returns; on an error nothing is.
    pub async fn called(
        &self,
        monitor: MonitorKey,
        came: &Came,
        now: Timestamp,
    ) -> sqlx::Result<Taken> {
        let mut attempt = 0;
        loop {
            match self.called_once(monitor, came, now).await {
                Err(error) if attempt < RETRIES && lost_a_race(&error) => attempt += 1,
                other => return other,
            }
        }
    }

    async fn called_once(
        &self,
        monitor: MonitorKey,
        came: &Came,
        now: Timestamp,
    ) -> sqlx::Result<Taken> {
        let mut tx = self.pool.begin().await?;
        store::live::lock(&mut tx, &[monitor.0]).await?;
        let rows = store::live::read(&mut tx, &[monitor.0]).await?;
        let Some(row) = rows.first() else { return Ok(Taken::Gone) };
        let before = parse_live(&row.live)?;
        let configs = self.configs.current(&mut tx, &rows).await?;
        if configs.get(&monitor).is_none_or(|config| config.plan.is_none()) {
            return Ok(Taken::Gone);
        }
        let call = Call {
            at: now.as_millisecond(),
            kind: came.kind,
            exit_code: came.exit_code,
            from: came.source.clone(),
        };
        let counted = before.state != State::Paused;
        if counted && before.calls.repeats(&call) {
            return Ok(Taken::Repeated);
        }
        keep(&mut tx, monitor, came, &call, (counted, &before), now).await?;
        if counted {
            let context = Context::read(&mut tx, &[monitor.0], now).await?;
            let new = New::Calls(std::slice::from_ref(&call));
            let mut decided = step_rows(rows, &configs, &context, new, now)?;
            self.apply(&mut tx, &context, &mut decided, now).await?;
            save(&mut tx, &decided, false).await?;
        }
        tx.commit().await?;
        Ok(if counted { Taken::Counted } else { Taken::Paused })
    }
}

async fn keep(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    came: &Came,
    call: &Call,
    (counted, before): (bool, &Live),
    now: Timestamp,
) -> sqlx::Result<()> {
    let row = CallRow {
        at: now,
        kind: came.kind.code(),
        exit_code: came.exit_code.map(i16::from),
        duration_ms: before.calls.clone().take(call),
        counted,
        source: came.source.clone(),
        agent: came.agent.clone(),
        evidence: came.evidence.clone(),
    };
    store::heartbeats::insert(conn, monitor, &row).await
}

/// The job as the only witness of itself, where others show locations.
pub(super) fn line(live: &Live, inputs: &Inputs<'_>, plan: &Plan) -> LocationLine {
    let (found, verdict) = look(live, inputs, plan);
    let vote = match (verdict.d, verdict.u) {
        (0, 0) => "none",
        (0, _) => "up",
        _ => "down",
    };
    let saw = live.calls.last.as_ref().map_or_else(String::new, |last| {
        let said = match (last.kind, last.exit_code) {
            (CallKind::Fail, Some(code)) => format!("exit code {code}"),
            (CallKind::Fail, None) => "failed".to_owned(),
            (CallKind::Start, _) => "started".to_owned(),
            (CallKind::Success, _) => "succeeded".to_owned(),
        };
        format!("last call: {said}, from {}", last.from)
    });
    LocationLine {
        name: "the job".to_owned(),
        region: String::new(),
        domain: String::new(),
        vote: vote.to_owned(),
        class: found.class().map(|class| class.name().to_owned()),
        saw,
        address: None,
        simulated: false,
        uncounted: None,
    }
}

/// What the verdict of a job can be taken from again; none of a pause, which drops the calls, and of what is
/// probed.
pub(super) fn rests(context: &Context, one: &Decided) -> Option<Rests> {
    let before = one.step.state_change.map_or(one.live.state, |change| change.from);
    if one.live.state == State::Paused {
        return None;
    }
    Some(Rests {
        check: one.config.job.clone()?,
        calls: one.live.calls.clone(),
        lenient: context.grace_until.filter(|_| before != State::Down),
        at: one.step.at,
    })
}
