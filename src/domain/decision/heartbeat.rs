//! A job that calls us instead of being probed: well while it calls in time, down when it is late or says
//! that it failed (spec: decision 5.9). Nobody votes, so nothing has to be agreed upon; from the verdict on,
//! everything goes as for other monitors.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::live::Live;
use super::state::State;
use super::verdict::{Raw, Verdict};
use super::{Inputs, Step, explain, tick, wake};
use crate::domain::Millis;
use crate::domain::check::heartbeat::HeartbeatCheck;
use crate::domain::cron::Schedule;
use crate::domain::maintenance::Window;
use crate::domain::monitor::Policy;
use crate::domain::observation::Class;

/// After maintenance a job has twice this before it is told of; see [`Plan::interval`].
const LONGEST_INTERVAL: Millis = 300_000;

/// So much before a set time a call still means that time.
const EARLY: Millis = 5_000;

/// When a job has to call.
#[derive(Debug, Clone)]
pub struct Plan {
    pub due: Due,
    /// How much later than due it may call.
    pub grace: Millis,
    /// How long a run may take once it has said that it starts; none: the ordinary deadline holds.
    pub max_run: Option<Millis>,
}

#[derive(Debug, Clone)]
pub enum Due {
    /// So long after the call before.
    Every(Millis),
    /// At these times.
    At(Box<Schedule>),
}

/// What a call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallKind {
    Success,
    Start,
    Fail,
}

impl CallKind {
    /// Number in the database.
    pub fn code(self) -> i16 {
        match self {
            CallKind::Success => 0,
            CallKind::Start => 1,
            CallKind::Fail => 2,
        }
    }

    pub fn from_code(code: i16) -> Option<Self> {
        [CallKind::Success, CallKind::Start, CallKind::Fail]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// One call, by our clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    #[serde(rename = "t")]
    pub at: Millis,
    #[serde(rename = "k")]
    pub kind: CallKind,
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The address that it came from.
    #[serde(rename = "a")]
    pub from: String,
}

/// What is remembered of the calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// The last success.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub success: Option<Millis>,
    /// The first start since then that nothing has ended. A job that starts again and again without an
    /// end gains no time by it.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Millis>,
    /// The latest of these starts; durations count from here.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Millis>,
    /// The first failure since the last success.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<Millis>,
    /// The end of a window in which nothing was waited for, if a call would have been due in it. What comes
    /// next counts from here.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub excused: Option<Millis>,
    /// The last call, whatever it said.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Call>,
}

impl Calls {
    /// Takes a call; answers how long the run took that it ends, if it had said that it started.
    pub fn take(&mut self, call: &Call) -> Option<Millis> {
        let took = self.run.map(|run| (call.at - run).max(0));
        self.last = Some(call.clone());
        match call.kind {
            CallKind::Start => {
                self.start.get_or_insert(call.at);
                self.run = Some(call.at);
                return None;
            }
            CallKind::Success => {
                (self.success, self.fail, self.excused) = (Some(call.at), None, None);
            }
            CallKind::Fail => {
                self.fail.get_or_insert(call.at);
            }
        }
        (self.start, self.run) = (None, None);
        took
    }

    /// Forgives what is due while a window pauses probing: nothing is waited for then.
    fn excuse(&mut self, plan: &Plan, windows: &[Window], now: Millis) {
        let Some(next) = plan.deadline(self, None) else { return };
        let pausing = windows.iter().filter(|window| window.switches.pause_probes);
        let within = |window: &&Window| {
            window.start <= now && (window.contains(next.expected) || window.contains(next.at))
        };
        if let Some(end) = pausing.filter(within).map(|window| window.end).max() {
            self.excused = Some(end);
            self.start = None;
        }
    }

    /// Whether a call says nothing that the one before, at most a second ago, has not said.
    pub fn repeats(&self, call: &Call) -> bool {
        self.last.as_ref().is_some_and(|last| {
            (last.kind, last.exit_code) == (call.kind, call.exit_code) && call.at - last.at < 1_000
        })
    }
}

/// When the next call is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// When it is due.
    pub expected: Millis,
    /// From then on it is late: grace, and leniency after a restart of ours, included.
    pub at: Millis,
    /// What is waited for is the end of a run that has begun.
    pub of_run: bool,
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// It has never called to say how it went, and that is not late either.
    Waiting,
    Well,
    Late(Deadline),
    /// It said so, first at this time.
    Failed(Millis),
}

impl Plan {
    /// When the next call is waited for; none before the first, and when there is no next time. `lenient`:
    /// nothing is late before this.
    pub fn deadline(&self, calls: &Calls, lenient: Option<Millis>) -> Option<Deadline> {
        let lenient = lenient.unwrap_or(Millis::MIN);
        let called = calls.success.or(calls.start).map(|at| self.due.counts_from(at));
        let expected = self.due.after(calls.excused.max(called)?)?;
        let ordinary = expected.saturating_add(self.grace).max(lenient);
        match (self.max_run, calls.start) {
            // It began in time, so that from then on the run is measured.
            (Some(longest), Some(start)) if start < ordinary => {
                let expected = start.saturating_add(longest);
                Some(Deadline { expected, at: expected.max(lenient), of_run: true })
            }
            _ => Some(Deadline { expected, at: ordinary, of_run: false }),
        }
    }

    /// How the job stands at `now`.
    pub fn find(&self, calls: &Calls, lenient: Option<Millis>, now: Millis) -> Found {
        if let Some(at) = calls.fail {
            return Found::Failed(at);
        }
        match self.deadline(calls, lenient) {
            Some(deadline) if now >= deadline.at => Found::Late(deadline),
            _ if calls.success.is_none() => Found::Waiting,
            _ => Found::Well,
        }
    }

    /// What takes the place of the interval between probes where others reckon with it, such as how long
    /// it stays quiet after maintenance: the period, at most five minutes.
    pub fn interval(&self) -> Millis {
        match self.due {
            Due::Every(period) => period.clamp(10_000, LONGEST_INTERVAL),
            Due::At(_) => LONGEST_INTERVAL,
        }
    }
}

impl Due {
    /// From when on the next time is looked for after a call. A job whose clock is a little ahead calls just
    /// before its time, and means that time.
    fn counts_from(&self, called: Millis) -> Millis {
        match self {
            Due::Every(_) => called,
            Due::At(_) => called.saturating_add(EARLY),
        }
    }

    fn after(&self, at: Millis) -> Option<Millis> {
        match self {
            Due::Every(period) => at.checked_add(*period),
            Due::At(schedule) => {
                let at = Timestamp::from_millisecond(at).ok()?;
                schedule.next(at).map(Timestamp::as_millisecond)
            }
        }
    }
}

impl Found {
    /// What a monitor's failure is called.
    pub fn class(self) -> Option<Class> {
        match self {
            Found::Late(_) => Some(Class::HeartbeatMissed),
            Found::Failed(_) => Some(Class::HeartbeatFailed),
            Found::Waiting | Found::Well => None,
        }
    }

    /// The job is its own only witness.
    fn verdict(self) -> Verdict {
        let (raw, d, u) = match self {
            Found::Waiting => (Raw::Undecided, 0, 0),
            Found::Well => (Raw::Up, 0, 1),
            Found::Late(_) | Found::Failed(_) => (Raw::Down, 1, 0),
        };
        Verdict {
            raw,
            n: 1,
            e: 1,
            emin: 1,
            q: 1,
            qu: 1,
            d,
            u,
            slow: 0,
            nd: 1,
            nr: 1,
            down: Vec::new(),
            flag: None,
            scope: None,
            in_doubt: false,
        }
    }
}

/// A monitor's job as it stands now.
pub fn look(live: &Live, inputs: &Inputs<'_>, plan: &Plan) -> (Found, Verdict) {
    let now = inputs.now.max(live.folded_at);
    let found = plan.find(&live.calls, lenient(live, inputs), now);
    (found, found.verdict())
}

/// Until when nothing is late. What was late before we were away stays so.
pub fn lenient(live: &Live, inputs: &Inputs<'_>) -> Option<Millis> {
    inputs.grace_until.filter(|_| live.state != State::Down)
}

/// Decides: takes the calls that came and says what follows. Call it when a job calls and at `wake_at`;
/// more often changes nothing.
pub fn step(live: &mut Live, inputs: &Inputs<'_>, plan: &Plan, calls: &[Call]) -> Step {
    let now = inputs.now.max(live.folded_at);
    live.folded_at = now;
    if live.state == State::Paused {
        return Step::at(now, Found::Waiting.verdict());
    }
    for call in calls {
        live.calls.take(call);
    }
    live.calls.excuse(plan, inputs.windows, now);
    let found = plan.find(&live.calls, lenient(live, inputs), now);
    let policy = at_once(inputs.policy, live.flaps.flapping);
    let inputs = &Inputs { policy: &policy, ..*inputs };
    let mut step = Step::at(now, found.verdict());
    let began = match found {
        Found::Late(deadline) => Some(deadline.at),
        Found::Failed(at) => Some(at),
        Found::Well | Found::Waiting => None,
    };
    tick::conclude(live, inputs, &mut step, began);
    let deadline = match found {
        Found::Well | Found::Waiting => plan.deadline(&live.calls, lenient(live, inputs)),
        Found::Late(_) | Found::Failed(_) => None,
    };
    step.wake_at = wake::next_of_calls(live, inputs, deadline.map(|deadline| deadline.at), now);
    if !step.is_quiet() {
        step.why = sentence(live, inputs, plan, &explain::utc);
    }
    step
}

/// A call is the truth and needs no confirmation. Only one that flaps must be well for a while.
fn at_once(policy: &Policy, flapping: bool) -> Policy {
    let recover_for = if flapping { policy.recover_for } else { 0 };
    Policy { confirm_for: 0, recover_for, ..policy.clone() }
}

/// What a decision rests on, in the form in which it is stored with it: enough to come to the same verdict
/// again, whatever has been changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rests {
    /// The settings, as a check.
    pub check: serde_json::Value,
    /// As the decision left them.
    pub calls: Calls,
    pub lenient: Option<Millis>,
    /// The tick.
    pub at: Millis,
}

impl Rests {
    /// The verdict, taken again; none when these are no settings of today.
    pub fn judge(&self) -> Option<Verdict> {
        let plan = HeartbeatCheck::of(&self.check)?.and_then(|check| check.plan()).ok()?;
        Some(plan.find(&self.calls, self.lenient, self.at).verdict())
    }
}

/// How the job stands, in a sentence or two. `clock` writes an instant in the reader's zone.
pub fn sentence(
    live: &Live,
    inputs: &Inputs<'_>,
    plan: &Plan,
    clock: &dyn Fn(Millis) -> String,
) -> String {
    let calls = &live.calls;
    let last = calls.last.as_ref().map(|call| last_call(call, clock));
    let said = match look(live, inputs, plan).0 {
        _ if live.state == State::Paused => return "Paused by hand.".to_owned(),
        Found::Waiting => match calls.start {
            None => return "The job has not called yet.".to_owned(),
            Some(start) => format!("The job started at {} and has not ended yet.", clock(start)),
        },
        Found::Well => {
            let next = plan.deadline(calls, lenient(live, inputs)).map(|next| match next.of_run {
                true => format!("The job runs; its end is due by {}.", clock(next.at)),
                false => format!(
                    "The job is in time; its next call is due at {}, at the latest at {}.",
                    clock(next.expected),
                    clock(next.at)
                ),
            });
            next.unwrap_or_else(|| "The job is in time.".to_owned())
        }
        Found::Late(late) if late.of_run => {
            let longest = explain::span(plan.max_run.unwrap_or_default());
            format!("The job started and did not end within {longest}.")
        }
        Found::Late(late) => format!(
            "The job did not call: it was due at {}, and {} of grace are over.",
            clock(late.expected),
            explain::span(plan.grace)
        ),
        Found::Failed(at) => match &calls.last {
            Some(call) if call.at == at => {
                let code = call.exit_code.map(|code| format!(" with exit code {code}"));
                return format!(
                    "The job failed{} at {}, so it says from {}.",
                    code.unwrap_or_default(),
                    clock(at),
                    call.from
                );
            }
            _ => format!("The job failed at {} and has not succeeded since.", clock(at)),
        },
    };
    match last {
        Some(last) => format!("{said} {last}"),
        None => said,
    }
}

/// `Its last call came at 02:03:11 UTC from 10.0.0.7: failed, exit code 3.`
fn last_call(call: &Call, clock: &dyn Fn(Millis) -> String) -> String {
    let said = match (call.kind, call.exit_code) {
        (CallKind::Success, _) => "success".to_owned(),
        (CallKind::Start, _) => "start".to_owned(),
        (CallKind::Fail, None) => "failed".to_owned(),
        (CallKind::Fail, Some(code)) => format!("failed, exit code {code}"),
    };
    format!("Its last call came at {} from {}: {said}.", clock(call.at), call.from)
}

#[cfg(test)]
mod tests;
