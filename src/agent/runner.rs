//! The loop that starts what is due: it owns the schedule and the assignments. A task exists only while
//! a probe runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Shared;
use super::assigned::Assigned;
use super::attempt::{Prober, ours, own_line};
use super::link::stream::Work;
use super::link::{Link, heartbeat};
use super::schedule::{Attempt, Schedule, Task};
use super::spool::Kept;
use super::time::{Remembered, Stamp, boottime};
use crate::domain::Millis;
use crate::domain::observation::{Class, Observation, Outcome, RunKind};
use crate::process::health::Pulse;
use crate::protocol::{ProbeAnswer, ProbeNow, Purpose};

/// An attempt that starts later than this says so instead of probing.
const LATE: Millis = 5_000;
/// Probes by hand that may run beside the others.
const BY_HAND: usize = 50;
/// The loop turns at least so often, to follow coordinator time and to show that it lives.
const TURN: Millis = 5_000;
/// What is known of coordinator time is written down when it moved by this much.
const TIME_MOVED_US: i64 = 100_000;

/// Everything of the loop.
pub struct Runner {
    pub shared: Arc<Shared>,
    pub prober: Arc<Prober>,
    pub link: Arc<Link>,
    pub schedule: Schedule,
    pub assigned: Assigned,
    pub rev: Option<i64>,
    pub max_in_flight: usize,
    pub pulse: Pulse,
    running: JoinSet<Done>,
    scheduled: usize,
    noted: Option<Remembered>,
}

/// What a finished probe was for.
enum Done {
    Scheduled { attempt: Attempt, seen: Seen },
    ByHand { request: ProbeNow, task: Option<Arc<Task>>, seen: Seen },
}

struct Seen {
    observation: Observation,
    started: Stamp,
    ended: Millis,
}

impl Runner {
    pub fn new(
        shared: Arc<Shared>,
        (prober, link): (Arc<Prober>, Arc<Link>),
        (schedule, assigned, rev): (Schedule, Assigned, Option<i64>),
        max_in_flight: u32,
        pulse: Pulse,
    ) -> Self {
        Self {
            shared,
            prober,
            link,
            schedule,
            assigned,
            rev,
            max_in_flight: max_in_flight.max(1) as usize,
            pulse,
            running: JoinSet::new(),
            scheduled: 0,
            noted: None,
        }
    }

    /// Probes until `shutdown`, then lets what runs end within `grace` and records what did not as
    /// cancelled, which `cut` brings about.
    pub async fn run(
        mut self,
        mut work: mpsc::Receiver<Work>,
        shutdown: CancellationToken,
        (grace, cut): (Duration, CancellationToken),
    ) {
        loop {
            self.pulse.moved();
            let now = millis(boottime());
            self.follow_time(now);
            self.start_due(now);
            let pause = self.pause(millis(boottime()));
            tokio::select! {
                () = shutdown.cancelled() => break,
                Some(done) = self.running.join_next() => self.end(done),
                Some(item) = work.recv() => self.take(item),
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.schedule.stop();
        let deadline = tokio::time::sleep(grace);
        tokio::pin!(deadline);
        let mut waiting = true;
        while !self.running.is_empty() {
            tokio::select! {
                Some(done) = self.running.join_next() => self.end(done),
                () = &mut deadline, if waiting => {
                    waiting = false;
                    cut.cancel();
                }
            }
        }
    }

    fn start_due(&mut self, now: Millis) {
        while let Some(due) = self.schedule.next_due() {
            let late = now - due > LATE;
            if due > now || (self.scheduled >= self.max_in_flight && !late) {
                break;
            }
            let Some(attempt) = self.schedule.start(now) else { break };
            if now - attempt.due > LATE {
                self.give_up(&attempt, now);
            } else {
                self.spawn(attempt);
            }
        }
        self.shared.in_flight.store(self.running.len() as u32, Ordering::Relaxed);
    }

    fn pause(&mut self, now: Millis) -> Duration {
        let full = self.scheduled >= self.max_in_flight;
        let due = self.schedule.next_due().map(|due| if full { due + LATE + 1 } else { due });
        let pause = due.map_or(TURN, |due| (due - now).clamp(0, TURN));
        Duration::from_millis(pause.unsigned_abs())
    }

    fn spawn(&mut self, attempt: Attempt) {
        self.scheduled += 1;
        let (prober, shared) = (Arc::clone(&self.prober), Arc::clone(&self.shared));
        self.running.spawn(async move {
            let task = &attempt.task;
            let check = serde_json::from_str(task.check.get()).unwrap_or(Value::Null);
            let timeout = Duration::from_millis(task.timeout_ms.into());
            let probe = prober.attempt(check, &task.secrets, timeout, task.slow_ms);
            let seen = see(&shared, probe).await;
            Done::Scheduled { attempt, seen }
        });
    }

    /// Nobody was there to make this attempt in time. That is our fault and says nothing of the target.
    fn give_up(&mut self, attempt: &Attempt, now: Millis) {
        let late = (now - attempt.due) as f64 / 1_000.0;
        let message = format!(
            "This agent was {late:.1} s late with this probe. Raise --max-in-flight, or give the location another agent."
        );
        let started = self.shared.time.stamp(boottime(), self.shared.clock.now());
        let observation = ours(Class::AgentOverload, message);
        self.keep(attempt, Seen { observation, started, ended: now });
    }

    fn end(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done::Scheduled { attempt, seen }) => {
                self.scheduled -= 1;
                self.keep(&attempt, seen);
            }
            Ok(Done::ByHand { request, task, seen }) => self.end_by_hand(&request, task, seen),
            // A probe's panic is caught inside; this is the runtime going down.
            Err(error) => tracing::error!(%error, "a probe's task ended without a result"),
        }
    }

    fn keep(&mut self, attempt: &Attempt, seen: Seen) {
        let outcome = seen.observation.outcome;
        let started = millis(seen.started.at_us);
        let more = self.schedule.finish(attempt, outcome, started, seen.ended);
        let urgent = outcome != Outcome::Pass || attempt.kind == RunKind::Confirm || attempt.down;
        self.shared.spool.keep(kept(&attempt.task, attempt.kind, more, seen), urgent);
    }

    fn take(&mut self, item: Work) {
        let now = millis(boottime());
        match item {
            Work::Set { rev, tasks } => {
                self.schedule.replace(tasks, now);
                self.rev = Some(rev);
                tracing::info!(rev, monitors = self.schedule.len(), "took all assignments");
                self.store_set();
            }
            Work::Change { rev, upsert, remove } => {
                let tasks: Vec<&Task> = upsert.iter().collect();
                let stored = self.assigned.change(rev, &tasks, &remove);
                self.rev = Some(rev);
                remove.into_iter().for_each(|monitor| self.schedule.remove(monitor));
                upsert.into_iter().for_each(|task| self.schedule.upsert(task, now));
                tracing::debug!(
                    rev,
                    monitors = self.schedule.len(),
                    "took a change of assignments"
                );
                match stored {
                    Ok(false) => {}
                    Ok(true) => self.store_set(),
                    Err(error) => tell_unstored(&error),
                }
            }
            Work::ProbeNow { request, until_us } => {
                if boottime() < until_us {
                    self.probe_now(request, now);
                } else {
                    // Nobody waits any more, and the target shall not see it.
                    tracing::debug!(request = %request.request, "a request to probe has expired");
                }
            }
        }
    }

    fn probe_now(&mut self, request: ProbeNow, now: Millis) {
        let task = request.monitor.and_then(|monitor| self.schedule.task(monitor)).cloned();
        if request.purpose == Purpose::Confirm {
            let asked = self.schedule.ask(request.monitor.unwrap_or_default(), now);
            tracing::debug!(monitor = ?request.monitor, ?asked, "asked to confirm");
            return;
        }
        let (check, secrets, timeout_ms, slow_ms) = match (&task, &request.check) {
            (Some(task), None) => {
                let check = serde_json::from_str(task.check.get()).unwrap_or(Value::Null);
                (check, task.secrets.clone(), Some(task.timeout_ms), task.slow_ms)
            }
            (_, Some(check)) => (check.clone(), request.secrets.clone(), None, None),
            (None, None) => {
                let why = "This agent does not know the monitor yet, or no longer.";
                return self.answer(request.request, ours(Class::Internal, why.to_owned()));
            }
        };
        if self.running.len() - self.scheduled >= BY_HAND {
            let why = "This agent runs too many probes by hand already. Try again in a minute.";
            return self.answer(request.request, ours(Class::AgentOverload, why.to_owned()));
        }
        let timeout_ms = request.timeout_ms.or(timeout_ms).unwrap_or(10_000).min(60_000);
        let (prober, shared) = (Arc::clone(&self.prober), Arc::clone(&self.shared));
        self.running.spawn(async move {
            let timeout = Duration::from_millis(timeout_ms.into());
            let seen = see(&shared, prober.attempt(check, &secrets, timeout, slow_ms)).await;
            Done::ByHand { request, task, seen }
        });
    }

    fn end_by_hand(&mut self, request: &ProbeNow, task: Option<Arc<Task>>, seen: Seen) {
        let observation = seen.observation.clone();
        if let (Purpose::Manual, Some(task)) = (request.purpose, task) {
            self.shared.spool.keep(kept(&task, RunKind::Manual, false, seen), true);
        }
        self.answer(request.request, observation);
    }

    /// Tells whoever waits; not part of the work that a stopping agent waits for.
    fn answer(&self, request: Uuid, observation: Observation) {
        let answer = ProbeAnswer { request, observation };
        tokio::spawn(heartbeat::answer(Arc::clone(&self.link), answer));
    }

    fn follow_time(&mut self, now: Millis) {
        if let Some(offset_us) = self.shared.time.offset_us() {
            self.schedule.set_offset(millis(offset_us), now);
        }
        let Some(known) = self.shared.time.to_remember() else { return };
        let moved = self.noted.is_none_or(|noted| {
            noted.kernel != known.kernel
                || (noted.offset_us - known.offset_us).abs() > TIME_MOVED_US
                || (noted.wall_ahead_us - known.wall_ahead_us).abs() > TIME_MOVED_US
        });
        if moved {
            self.noted = Some(known);
            match self.assigned.note_time(known) {
                Ok(_) => {}
                Err(error) => tell_unstored(&error),
            }
        }
    }

    fn store_set(&mut self) {
        let (Some(rev), time) = (self.rev, self.shared.time.to_remember()) else { return };
        self.noted = time;
        if let Err(error) = self.assigned.replace(rev, self.schedule.tasks(), time) {
            tell_unstored(&error);
        }
    }
}

/// Runs `probe` and notes when it began and ended.
async fn see(shared: &Shared, probe: impl Future<Output = Observation>) -> Seen {
    let started = shared.time.stamp(boottime(), shared.clock.now());
    let mut observation = probe.await;
    if shared.references_fail() {
        observation = own_line(observation);
    }
    Seen { observation, started, ended: millis(boottime()) }
}

/// What goes to the coordinator and is stored there: of a pass only its figures.
fn kept(task: &Task, kind: RunKind, more: bool, mut seen: Seen) -> Kept {
    if seen.observation.outcome == Outcome::Pass {
        seen.observation.evidence = None;
    }
    Kept {
        seq: 0,
        monitor: task.monitor,
        check_version: task.check_version,
        kind,
        more,
        started: seen.started,
        observation: seen.observation,
    }
}

fn tell_unstored(error: &std::io::Error) {
    tracing::warn!(%error, "assignments could not be stored; an agent that restarts cut off would not know them");
}

fn millis(us: i64) -> Millis {
    us.div_euclid(1_000)
}
