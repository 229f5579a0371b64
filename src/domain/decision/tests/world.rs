//! Agents, a network and a target, simulated: scheduled probes, retries, waves. The worked examples of
//! the rules are made of it, and the arithmetic is held against it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::super::wave;
use super::super::{Disposition, Inputs, Live, Seat, Seen, VoteState, step};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::monitor::Policy;
use crate::domain::observation::{Outcome, RunKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Probe(LocationKey, Why),
    /// A result reaches the coordinator: index into `sent`.
    Arrive(usize),
    Wake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    Scheduled,
    Confirm,
    Retry,
}

pub(in super::super) struct World<'a> {
    pub(in super::super) policy: &'a Policy,
    pub(in super::super) seats: &'a [Seat],
    /// How long a failing attempt takes; a passing one takes none.
    pub(in super::super) takes: Millis,
    /// From deciding on a wave to the first probe of it.
    pub(in super::super) dispatch: Millis,
    pub(in super::super) waves: bool,
    pub(in super::super) live: Live,
    pub(in super::super) seen: Vec<Seen>,
    pub(in super::super) events: Vec<(Millis, String)>,
    queue: BinaryHeap<Reverse<(Millis, u64, Due)>>,
    order: u64,
    busy: BTreeMap<LocationKey, u32>,
}

impl<'a> World<'a> {
    pub(in super::super) fn new(policy: &'a Policy, seats: &'a [Seat]) -> Self {
        Self {
            policy,
            seats,
            takes: 0,
            dispatch: 2_000,
            waves: true,
            live: Live::default(),
            seen: Vec::new(),
            events: Vec::new(),
            queue: BinaryHeap::new(),
            order: 0,
            busy: BTreeMap::new(),
        }
    }

    fn push(&mut self, at: Millis, due: Due) {
        self.order += 1;
        self.queue.push(Reverse((at, self.order, due)));
    }

    /// Runs to `until`, inclusive. `fails` says whether an attempt of a location begun then fails;
    /// returning none keeps the location silent.
    pub(in super::super) fn run(
        &mut self,
        until: Millis,
        mut fails: impl FnMut(LocationKey, Millis) -> Option<bool>,
    ) {
        let interval = self.policy.interval;
        let count = self.seats.len() as Millis;
        for (seat, index) in self.seats.iter().zip(0..) {
            let first = index * interval / count;
            self.order += 1;
            self.queue.push(Reverse((first, self.order, Due::Probe(seat.key, Why::Scheduled))));
        }
        while let Some(Reverse((now, ..))) = self.queue.peek().copied()
            && now <= until
        {
            let mut arrived = Vec::new();
            let mut wake = false;
            while let Some(Reverse((at, _, due))) = self.queue.peek().copied()
                && at == now
            {
                self.queue.pop();
                match due {
                    Due::Probe(location, why) => self.probe(location, why, now, &mut fails),
                    Due::Arrive(index) => arrived.push(index),
                    Due::Wake => wake = true,
                }
            }
            if wake || !arrived.is_empty() {
                self.decide(now, &arrived);
            }
        }
    }

    fn probe(
        &mut self,
        location: LocationKey,
        why: Why,
        now: Millis,
        fails: &mut impl FnMut(LocationKey, Millis) -> Option<bool>,
    ) {
        if why == Why::Scheduled {
            self.push(now + self.policy.interval, Due::Probe(location, Why::Scheduled));
            // A slot is skipped while a run, repeats included, is in flight.
            if self.busy.get(&location).is_some_and(|runs| *runs > 0) {
                return;
            }
        }
        let Some(fails) = fails(location, now) else {
            if why == Why::Retry {
                *self.busy.entry(location).or_default() -= 1;
            }
            return;
        };
        let (outcome, takes) = if fails { (Outcome::Fail, self.takes) } else { (Outcome::Pass, 0) };
        let kind = match why {
            Why::Scheduled => RunKind::Scheduled,
            Why::Confirm => RunKind::Confirm,
            Why::Retry => RunKind::Retry,
        };
        if why != Why::Retry {
            *self.busy.entry(location).or_default() += 1;
        }
        self.seen.push(Seen {
            kind,
            received: now + takes,
            latency_ms: 100,
            ..Seen::new(location, now, outcome)
        });
        self.push(now + takes, Due::Arrive(self.seen.len() - 1));
    }

    fn decide(&mut self, now: Millis, arrived: &[usize]) {
        let batch: Vec<Seen> = arrived.iter().map(|index| self.seen[*index].clone()).collect();
        let (policy, seats) = (self.policy, self.seats);
        let inputs = Inputs {
            policy,
            check_version: 0,
            seats,
            windows: &[],
            over_cap: false,
            grace_until: None,
            now,
        };
        let step = step(&mut self.live, &inputs, &batch);
        self.events.extend(step.events.iter().filter_map(|event| Some((event.at, event.word()?))));
        for (seen, disposition) in batch.iter().zip(&step.folded) {
            if *disposition != Disposition::Folded || !self.repeat(seen, now) {
                *self.busy.entry(seen.location).or_default() -= 1;
            }
        }
        if self.waves
            && let Some(wave) =
                wave::plan(&mut self.live, &inputs, &step.verdict, &step.firsts, &[], |_| true)
        {
            for location in wave.ask {
                self.push(now + self.dispatch, Due::Probe(location, Why::Confirm));
            }
        }
        if let Some(at) = step.wake_at {
            self.push(at, Due::Wake);
        }
    }

    /// The agent repeats a failed attempt, and a pass of a location that was down. Whether it does now.
    fn repeat(&mut self, seen: &Seen, now: Millis) -> bool {
        let Some(vote) = self.live.vote(seen.location) else { return false };
        let after = match vote.state {
            VoteState::Suspect => self.policy.retry_gap,
            VoteState::Recovering => self.policy.pass_gap,
            _ => return false,
        };
        self.push(now + after, Due::Probe(seen.location, Why::Retry));
        true
    }
}
