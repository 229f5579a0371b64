//! How far the escalation of one incident has come.
//!
//! It has a clock of its own, which runs from the opening and stands still while somebody is at it, inside
//! maintenance, and while the incident flaps. Steps and reminders are due by that clock, so that nobody is
//! called for a stretch in which nobody was to be called.

use serde::{Deserialize, Serialize};

use super::{Millis, Policy};

/// Reminders before they become daily.
const FREQUENT: i64 = 24;
const DAY: Millis = 86_400_000;
/// Maintenance may be ended before its time, so while it stops the clock it is looked at this often.
const LOOK_AGAIN: Millis = 60_000;

/// What stops the clock beside an acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stops<'a> {
    /// Stretches of maintenance, `[start, end)`, in any order: those that touch the time since the last look.
    pub quiet: &'a [(Millis, Millis)],
    /// It flaps: held open, and no word until it is steady.
    pub held: bool,
}

/// Stored with the incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// How often the incident has begun: 1, and one more for every time it was reopened.
    pub life: u32,
    looked_at: Millis,
    /// What its own clock shows.
    ran: Millis,
    /// Steps taken, counted over all rounds.
    pub steps: u32,
    /// Reminders that have come due.
    pub reminders: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack: Option<Ack>,
    /// The sentence that says how an acknowledgement ended, until it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    pub by: String,
    /// When it ends by itself.
    pub until: Millis,
}

/// What is to be told now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// From 0, counted over all rounds.
    Step { number: u32 },
    /// From 1.
    Reminder { number: u32 },
    /// Nobody is at it any more; the sentence says why.
    AckOver { sentence: String },
}

impl Due {
    /// Names it within the incident: no channel is told twice under one key. `life` as in [`Progress`].
    /// None for what is told whenever it happens.
    pub fn key(&self, life: u32) -> Option<String> {
        match self {
            Due::Step { number } => Some(format!("{life}/step/{number}")),
            Due::Reminder { number } => Some(format!("{life}/reminder/{number}")),
            Due::AckOver { .. } => None,
        }
    }
}

/// The outcome of a look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Steps in their order, then at most one of the others.
    pub due: Vec<Due>,
    /// When to look next; none when nothing more can come.
    pub next: Option<Millis>,
    /// The acknowledgement has just run out.
    pub ack_ran_out: bool,
}

impl Progress {
    /// The incident opens, or opens again: for the `life`th time.
    pub fn begin(life: u32, now: Millis) -> Self {
        Self { life, looked_at: now, ran: 0, steps: 0, reminders: 0, ack: None, owed: None }
    }

    /// Lets time pass, and says what is due. What is answered counts as told.
    pub fn look(&mut self, policy: &Policy, stops: Stops<'_>, now: Millis) -> Look {
        let ack_ran_out = self.advance(stops, now);
        let mut look = Look { ack_ran_out, ..Look::default() };
        if self.ack.is_none() && !stands_still(stops, now) {
            while self.steps < policy.total()
                && policy.due_at(self.steps).is_some_and(|at| at <= self.ran)
            {
                look.due.push(Due::Step { number: self.steps });
                self.steps += 1;
            }
            let reminders = reminders(policy, self.ran);
            if let Some(sentence) = self.owed.take() {
                look.due.push(Due::AckOver { sentence });
            } else if reminders > self.reminders {
                look.due.push(Due::Reminder { number: reminders });
            }
            self.reminders = self.reminders.max(reminders);
        }
        look.next = self.next(policy, stops, now);
        look
    }

    /// Lets time pass and tells nothing, at an instant from which on other stops hold; true when the
    /// acknowledgement ran out on the way.
    pub fn pass(&mut self, stops: Stops<'_>, now: Millis) -> bool {
        self.advance(stops, now)
    }

    /// Since when the clock has not been looked at.
    pub fn looked_at(&self) -> Millis {
        self.looked_at
    }

    /// Somebody is at it until `ack.until`.
    pub fn acknowledge(&mut self, ack: Ack, stops: Stops<'_>, now: Millis) {
        self.advance(stops, now);
        (self.ack, self.owed) = (Some(ack), None);
    }

    /// Somebody takes the acknowledgement back, which those who know of the incident are to hear.
    pub fn take_back(&mut self, by: &str, stops: Stops<'_>, now: Millis) {
        self.advance(stops, now);
        if self.ack.take().is_some() {
            self.owed = Some(format!("{by} took the acknowledgement back."));
        }
    }

    /// It has become graver, which is told anyway: nobody is at what it is now.
    pub fn rise(&mut self, stops: Stops<'_>, now: Millis) {
        self.advance(stops, now);
        (self.ack, self.owed) = (None, None);
    }

    /// When to look next.
    pub fn next(&self, policy: &Policy, stops: Stops<'_>, now: Millis) -> Option<Millis> {
        if let Some(ack) = &self.ack {
            return Some(ack.until.max(now));
        }
        let target = self.target(policy)?;
        if stands_still(stops, now) {
            let ends = stops.quiet.iter().filter(|(from, to)| (*from..*to).contains(&now));
            let end = ends.map(|(_, to)| *to).min().unwrap_or(Millis::MAX);
            return Some(end.min(now.saturating_add(LOOK_AGAIN)));
        }
        // Maintenance on the way is found when it is looked at then: it only makes it later.
        Some(now.saturating_add((target - self.ran).max(0)))
    }

    /// The step of the first or a later round that comes next, with when, if nothing stops the clock.
    pub fn next_step(&self, policy: &Policy, now: Millis) -> Option<(u32, Millis)> {
        let due = policy.due_at(self.steps).filter(|_| self.steps < policy.total())?;
        let ran = match &self.ack {
            Some(_) => self.ran,
            None => self.ran + (now - self.looked_at).max(0),
        };
        let from = self.ack.as_ref().map_or(now, |ack| ack.until.max(now));
        Some((self.steps, from.saturating_add((due - ran).max(0))))
    }

    /// What its own clock shows when something is due next.
    fn target(&self, policy: &Policy) -> Option<Millis> {
        if self.owed.is_some() {
            return Some(self.ran);
        }
        let step = policy.due_at(self.steps).filter(|_| self.steps < policy.total());
        let reminder = policy
            .reminder_s
            .map(|seconds| reminder_at(Millis::from(seconds) * 1_000, self.reminders + 1));
        step.into_iter().chain(reminder).min()
    }

    /// Lets the clock run up to `now`; true when the acknowledgement ran out on the way.
    fn advance(&mut self, stops: Stops<'_>, now: Millis) -> bool {
        let from = self.looked_at;
        if now <= from {
            return false;
        }
        self.looked_at = now;
        let mut running_from = from;
        let mut ran_out = false;
        if let Some(ack) = self.ack.take_if(|ack| ack.until <= now) {
            running_from = ack.until.max(from);
            self.owed = Some(format!("The acknowledgement by {} has run out.", ack.by));
            ran_out = true;
        }
        if self.ack.is_none() && !stops.held {
            self.ran += now - running_from - covered(stops.quiet, running_from, now);
        }
        ran_out
    }
}

fn stands_still(stops: Stops<'_>, now: Millis) -> bool {
    stops.held || stops.quiet.iter().any(|(from, to)| (*from..*to).contains(&now))
}

/// How much of `[from, to)` the stretches cover, which may overlap.
fn covered(stretches: &[(Millis, Millis)], from: Millis, to: Millis) -> Millis {
    let mut sorted: Vec<(Millis, Millis)> = stretches.to_vec();
    sorted.sort_unstable();
    let mut sum = 0;
    let mut reached = from;
    for (start, end) in sorted {
        let (start, end) = (start.max(reached), end.min(to));
        if end > start {
            sum += end - start;
            reached = end;
        }
    }
    sum
}

/// How many reminders have come due when the clock shows `ran`.
fn reminders(policy: &Policy, ran: Millis) -> u32 {
    let Some(every) = policy.reminder_s.map(|seconds| Millis::from(seconds) * 1_000) else {
        return 0;
    };
    let frequent = ran.checked_div(every).unwrap_or(0);
    let all = match frequent > FREQUENT {
        true => FREQUENT + (ran - FREQUENT * every) / DAY,
        false => frequent,
    };
    u32::try_from(all).unwrap_or(u32::MAX)
}

fn reminder_at(every: Millis, number: u32) -> Millis {
    let number = i64::from(number);
    match number > FREQUENT {
        true => FREQUENT * every + (number - FREQUENT) * DAY,
        false => number * every,
    }
}
