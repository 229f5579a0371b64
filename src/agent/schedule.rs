//! What to probe when, and what follows an attempt. Pure: one heap, no task and no timer per monitor.
//!
//! All instants here are milliseconds of the machine's own uninterrupted clock; `offset` leads from
//! there to coordinator time, on which the grid of slots lies (spec: decision 5.1). The agent's wall
//! clock plays no part.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::Millis;
use crate::domain::observation::{Outcome, RunKind};
use crate::protocol::Assignment;

/// An assignment as the agent keeps it: the check stays text until it is needed.
pub type Task = Assignment<Box<RawValue>>;

/// First runs of monitors that arrive together begin this far apart; whoever's slot on the grid comes
/// earlier waits for that instead. A full set of ten thousand must not start as one burst.
const FIRST_RUN_PACE: Millis = 20;
/// A smaller step of coordinator time is followed slot by slot.
const STEP: Millis = 500;
/// Failures closer together count once (spec: decision 5.2, the default of `min_separation`).
const MIN_SEPARATION: Millis = 4_000;

/// All assignments of this agent, their slots and their runs.
#[derive(Debug, Default)]
pub struct Schedule {
    offset: Millis,
    jobs: HashMap<Uuid, Job>,
    heap: BinaryHeap<Reverse<Due>>,
    stamp: u64,
    /// When the next first run may begin.
    first_run_at: Millis,
    stopped: bool,
}

/// One attempt to make now.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub task: Arc<Task>,
    pub kind: RunKind,
    /// When it should have started. Much earlier than now means that this agent is overloaded.
    pub due: Millis,
    /// A pass is news, since this location's vote is down: do not let it wait.
    pub down: bool,
    run: u64,
}

/// What a wave's request met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Starts,
    /// A run is under way and answers the question as well.
    Running,
    Unknown,
}

#[derive(Debug)]
struct Job {
    task: Arc<Task>,
    /// The heap entry that counts; others of this job are leftovers.
    slot: u64,
    /// The coming slot, in coordinator time.
    slot_at: Millis,
    /// The last slot that was used or skipped, in coordinator time.
    last_slot: Option<Millis>,
    run: Option<Run>,
    /// The check changed while an attempt of the old one was under way.
    run_again: bool,
    vote: Vote,
}

#[derive(Debug)]
struct Run {
    id: u64,
    wave: bool,
    /// The heap entry of the next attempt; none while one is under way.
    waiting: Option<u64>,
    attempts: u32,
    fails: u32,
    passes: u32,
}

/// This location's vote, as far as its own results show it: the assignment's word comes later.
#[derive(Debug, Default)]
struct Vote {
    down: bool,
    fails: u32,
    passes: u32,
    last: Option<Millis>,
    last_fail: Option<Millis>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Millis,
    stamp: u64,
    monitor: Uuid,
}

impl Schedule {
    pub fn new(offset: Millis) -> Self {
        Self { offset, ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub fn tasks(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.jobs.values().map(|job| &job.task)
    }

    pub fn task(&self, monitor: Uuid) -> Option<&Arc<Task>> {
        self.jobs.get(&monitor).map(|job| &job.task)
    }

    /// Coordinator time is now `offset` ahead of the machine's clock. A step moves every slot.
    pub fn set_offset(&mut self, offset: Millis, now: Millis) {
        let step = (offset - self.offset).abs();
        self.offset = offset;
        if step > STEP {
            let monitors: Vec<Uuid> = self.jobs.keys().copied().collect();
            for monitor in monitors {
                if let Some(job) = self.jobs.get_mut(&monitor) {
                    job.last_slot = None;
                }
                self.place_slot(monitor, now);
            }
        }
    }

    /// Takes up what was assigned before a restart: on the grid, without first runs.
    pub fn restore(&mut self, tasks: Vec<Task>, now: Millis) {
        for task in tasks {
            let monitor = task.monitor;
            self.jobs.insert(monitor, Job::new(task));
            self.place_slot(monitor, now);
        }
    }

    /// The whole set: what is not in it is no longer ours.
    pub fn replace(&mut self, tasks: Vec<Task>, now: Millis) {
        let stay: HashSet<Uuid> = tasks.iter().map(|task| task.monitor).collect();
        self.jobs.retain(|monitor, _| stay.contains(monitor));
        for task in tasks {
            self.upsert(task, now);
        }
    }

    /// Takes up a monitor or its new settings. A new one, and one whose check changed, is run at once;
    /// anything else keeps its place on the grid and the run that is under way.
    pub fn upsert(&mut self, task: Task, now: Millis) {
        let monitor = task.monitor;
        let Some(job) = self.jobs.get_mut(&monitor) else {
            self.jobs.insert(monitor, Job::new(task));
            self.place_slot(monitor, now);
            self.first_run(monitor, now);
            return;
        };
        let changed = job.task.check_version != task.check_version;
        let moved = grid(&job.task) != grid(&task);
        job.vote.down |= task.vote_down;
        job.task = Arc::new(task);
        let under_way = job.run.as_ref().is_some_and(|run| run.waiting.is_none());
        job.run_again |= changed && under_way;
        if moved {
            job.last_slot = None;
            self.place_slot(monitor, now);
        }
        if changed && !under_way {
            self.first_run(monitor, now);
        }
    }

    pub fn remove(&mut self, monitor: Uuid) {
        self.jobs.remove(&monitor);
    }

    /// A wave asks for a run now.
    pub fn ask(&mut self, monitor: Uuid, now: Millis) -> Asked {
        match self.jobs.get(&monitor) {
            None => Asked::Unknown,
            Some(job) if job.run.is_some() => Asked::Running,
            Some(_) => {
                self.begin_run(monitor, true, now);
                Asked::Starts
            }
        }
    }

    /// When [`Schedule::start`] will have something next; possibly earlier than now.
    pub fn next_due(&mut self) -> Option<Millis> {
        while let Some(Reverse(due)) = self.heap.peek() {
            if self.is_live(due) {
                return Some(due.at);
            }
            self.heap.pop();
        }
        None
    }

    /// The next attempt that is due; call until it gives none. Whoever gets one says
    /// [`Schedule::finish`] when it has ended.
    pub fn start(&mut self, now: Millis) -> Option<Attempt> {
        while self.next_due().is_some_and(|at| at <= now) && !self.stopped {
            let Reverse(due) = self.heap.pop()?;
            let job = self.jobs.get_mut(&due.monitor)?;
            if job.slot == due.stamp {
                job.last_slot = Some(job.slot_at);
                let free = job.run.is_none();
                self.place_slot(due.monitor, now);
                if free {
                    self.begin_run(due.monitor, false, due.at);
                }
            } else if let Some(run) = &mut job.run {
                run.waiting = None;
                run.attempts += 1;
                let kind = match (run.attempts, run.wave) {
                    (1, false) => RunKind::Scheduled,
                    (1, true) => RunKind::Confirm,
                    _ => RunKind::Retry,
                };
                let (task, down, run) = (Arc::clone(&job.task), job.vote.down, run.id);
                return Some(Attempt { task, kind, due: due.at, down, run });
            }
        }
        None
    }

    /// An attempt ended: whether another of the same run follows. `started` and `ended` by the
    /// machine's clock.
    pub fn finish(
        &mut self,
        attempt: &Attempt,
        outcome: Outcome,
        started: Millis,
        ended: Millis,
    ) -> bool {
        let monitor = attempt.task.monitor;
        let Some(job) = self.jobs.get_mut(&monitor) else { return false };
        let Some(run) = job.run.as_mut().filter(|run| run.id == attempt.run) else { return false };
        if job.run_again {
            job.run_again = false;
            job.run = None;
            self.first_run(monitor, ended);
            return false;
        }
        job.vote.fold(&attempt.task, outcome, started);
        let pause = run.follow(&attempt.task, outcome, job.vote.down);
        match pause {
            Some(pause) if !self.stopped => {
                let stamp = self.push(monitor, ended + pause);
                if let Some(run) = self.jobs.get_mut(&monitor).and_then(|job| job.run.as_mut()) {
                    run.waiting = Some(stamp);
                }
                true
            }
            _ => {
                job.run = None;
                false
            }
        }
    }

    /// Nothing starts any more.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.heap.clear();
    }

    fn is_live(&self, due: &Due) -> bool {
        self.jobs.get(&due.monitor).is_some_and(|job| {
            job.slot == due.stamp
                || job.run.as_ref().is_some_and(|run| run.waiting == Some(due.stamp))
        })
    }

    fn place_slot(&mut self, monitor: Uuid, now: Millis) {
        let Some(job) = self.jobs.get(&monitor) else { return };
        let (interval, shift) = grid(&job.task);
        let now = now + self.offset;
        let after = job.last_slot.map_or(now - 1, |last| last.max(now - 1));
        let slot = after + interval - (after - shift).rem_euclid(interval);
        let stamp = self.push(monitor, slot - self.offset);
        if let Some(job) = self.jobs.get_mut(&monitor) {
            (job.slot, job.slot_at) = (stamp, slot);
        }
    }

    fn first_run(&mut self, monitor: Uuid, now: Millis) {
        let at = now.max(self.first_run_at);
        let Some(job) = self.jobs.get_mut(&monitor) else { return };
        job.run = None;
        if at + self.offset < job.slot_at {
            self.first_run_at = at + FIRST_RUN_PACE;
            self.begin_run(monitor, false, at);
        }
    }

    fn begin_run(&mut self, monitor: Uuid, wave: bool, at: Millis) {
        let stamp = self.push(monitor, at);
        if let Some(job) = self.jobs.get_mut(&monitor) {
            let waiting = Some(stamp);
            job.run = Some(Run { id: stamp, wave, waiting, attempts: 0, fails: 0, passes: 0 });
        }
    }

    fn push(&mut self, monitor: Uuid, at: Millis) -> u64 {
        self.stamp += 1;
        let stamp = self.stamp;
        if !self.stopped {
            self.heap.push(Reverse(Due { at, stamp, monitor }));
        }
        // Changes leave entries behind that count for nothing; long intervals would keep them for a day.
        if self.heap.len() > 4 * self.jobs.len() + 64 {
            let mut heap = std::mem::take(&mut self.heap);
            heap.retain(|Reverse(due)| due.stamp == stamp || self.is_live(due));
            self.heap = heap;
        }
        stamp
    }
}

impl Job {
    fn new(task: Task) -> Self {
        let vote = Vote { down: task.vote_down, ..Vote::default() };
        let task = Arc::new(task);
        Self { task, slot: 0, slot_at: 0, last_slot: None, run: None, run_again: false, vote }
    }
}

impl Run {
    /// The pause until the next attempt, if there is one: a failure is repeated F − 1 times, and a pass
    /// of a location that is down R − 1 times. A target that flaps within the run ends it too.
    fn follow(&mut self, task: &Task, outcome: Outcome, down: bool) -> Option<Millis> {
        let (fail_after, pass_after) = (task.fail_after.max(1), task.pass_after.max(1));
        if self.attempts >= fail_after.saturating_add(pass_after) {
            return None;
        }
        match outcome {
            Outcome::Fail => {
                (self.fails, self.passes) = (self.fails + 1, 0);
                (self.fails < fail_after).then_some(Millis::from(task.retry_gap_ms))
            }
            Outcome::Pass => {
                (self.fails, self.passes) = (0, self.passes + 1);
                (down && self.passes < pass_after).then_some(Millis::from(task.pass_gap_ms))
            }
            Outcome::Error => None,
        }
    }
}

impl Vote {
    /// The part of the coordinator's fold that decides whether passes must be repeated.
    fn fold(&mut self, task: &Task, outcome: Outcome, started: Millis) {
        if outcome == Outcome::Error {
            return;
        }
        let stale_after = 2 * grid(task).0 + Millis::from(task.timeout_ms) + 20_000;
        if self.last.is_some_and(|last| started - last > stale_after) {
            (self.fails, self.passes) = (0, 0);
        }
        self.last = Some(started);
        if outcome == Outcome::Pass {
            (self.fails, self.passes) = (0, self.passes + 1);
            self.down &= self.passes < task.pass_after;
            return;
        }
        let apart = MIN_SEPARATION.min(Millis::from(task.retry_gap_ms));
        if self.fails > 0 && self.last_fail.is_some_and(|last| started - last < apart) {
            return;
        }
        self.last_fail = Some(started);
        (self.fails, self.passes) = (self.fails + 1, 0);
        self.down |= self.fails >= task.fail_after;
    }
}

/// Interval and shift of the grid in milliseconds: slots are where (t − shift) mod interval = 0.
fn grid(task: &Task) -> (Millis, Millis) {
    let interval = Millis::from(task.interval_s.max(1)) * 1_000;
    (interval, interval * Millis::from(task.position) / Millis::from(task.of.max(1)))
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
