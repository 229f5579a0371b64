//! Who is called when (spec: decision 5.9): the steps of a policy, which of them are due ([`progress`]), and
//! which policy an incident gets ([`route`]).
//!
//! A policy is copied when an incident opens; later edits do not change one that is running.

pub mod progress;
pub mod route;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::progress::Due;
use super::notice::{ChannelRule, NoticeKind, Prompt, Severity, Told};
use super::{Invalid, Millis};

pub const MOST_STEPS: usize = 10;
pub const MOST_CHANNELS: usize = 20;
/// The steps begin anew so long after they began.
pub const ROUND: Millis = 3_600_000;
const ACK_TIMEOUT_S: u32 = 4 * 3_600;
const REMINDER_S: u32 = 3_600;

/// The rules of a policy, as stored and as the API takes and gives them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = EscalationRules)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// 1 to 10, each later than the one before.
    pub steps: Vec<Step>,
    /// How often the steps are gone through, 1 to 10; a round begins an hour after the one before.
    #[serde(default = "two")]
    pub loops: u32,
    /// An acknowledgement ends after so long if the incident is still open: 300 to 604800 seconds.
    #[serde(default = "ack_timeout")]
    pub ack_timeout_s: u32,
    /// Between reminders, 300 to 86400 seconds; after the 24th they come daily. Null: none.
    #[serde(default = "reminder")]
    pub reminder_s: Option<u32>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = EscalationStep)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Since the incident opened, 0 to 86400 seconds; time acknowledged or under maintenance is not counted.
    pub after_s: u32,
    /// 1 to 20.
    pub channels: Vec<Uuid>,
}

const STEP: Span = (0, 86_400, "a day");
const ACK: Span = (300, 7 * 86_400, "7 days");
const REMINDER: Span = (300, 86_400, "a day");

/// The least and the most in seconds, and the most in words.
type Span = (u32, u32, &'static str);

/// Why seconds are refused.
fn out_of((least, most, words): Span) -> String {
    format!("must be a whole number of seconds from {least} to {most}, which is {words}")
}

fn two() -> u32 {
    2
}

fn ack_timeout() -> u32 {
    ACK_TIMEOUT_S
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional field")]
fn reminder() -> Option<u32> {
    Some(REMINDER_S)
}

impl Policy {
    /// What holds for an incident without a policy: nobody is called later, but reminders and the end of
    /// an acknowledgement there are.
    pub fn flat(reminders: bool) -> Self {
        let reminder_s = reminders.then_some(REMINDER_S);
        Self { steps: Vec::new(), loops: 1, ack_timeout_s: ACK_TIMEOUT_S, reminder_s }
    }

    /// Refuses what cannot be meant; fields are named as in the JSON.
    pub fn check(&self) -> Result<(), Invalid> {
        let n = self.steps.len();
        if !(1..=MOST_STEPS).contains(&n) {
            return Err(Invalid::new("steps", format!("has {n}: 1 to {MOST_STEPS} can be")));
        }
        for (i, step) in self.steps.iter().enumerate() {
            step.check().map_err(|wrong| wrong.under(&format!("steps[{i}]")))?;
            if i > 0 && step.after_s <= self.steps[i - 1].after_s {
                let why =
                    format!("must be later than the step before, {}", self.steps[i - 1].after_s);
                return Err(Invalid::new(format!("steps[{i}].after_s"), why));
            }
        }
        if !(1..=10).contains(&self.loops) {
            return Err(Invalid::new("loops", format!("is {}: 1 to 10 can be", self.loops)));
        }
        if self.loops > 1 && self.steps.iter().any(|step| step.after() >= ROUND) {
            let why = "the second round begins after 3600 s: let the last step come before, or take one round";
            return Err(Invalid::new(format!("steps[{}].after_s", n - 1), why));
        }
        within("ack_timeout_s", self.ack_timeout_s, ACK)?;
        self.reminder_s.map_or(Ok(()), |seconds| within("reminder_s", seconds, REMINDER))
    }

    /// The same with channels that are told at once beside the steps.
    #[must_use]
    pub fn with_channels(mut self, channels: &[Uuid]) -> Self {
        if channels.is_empty() || self.steps.is_empty() {
            return self;
        }
        if self.steps[0].after_s > 0 {
            self.steps.insert(0, Step { after_s: 0, channels: Vec::new() });
        }
        let first = &mut self.steps[0].channels;
        first.extend(channels.iter().filter(|c| !first.contains(c)).copied().collect::<Vec<_>>());
        self
    }

    /// Steps of all rounds.
    fn total(&self) -> u32 {
        self.loops.saturating_mul(count(self.steps.len()))
    }

    /// Round and step, both from 0, of the step that is number `n` from 0 over all rounds.
    pub fn place(&self, n: u32) -> Option<(u32, &Step)> {
        let steps = count(self.steps.len());
        let at = usize::try_from(n.checked_rem(steps)?).ok()?;
        Some((n / steps, self.steps.get(at)?))
    }

    /// When step number `n` of all rounds is due, on the incident's own clock.
    fn due_at(&self, n: u32) -> Option<Millis> {
        let (round, step) = self.place(n)?;
        Some(Millis::from(round) * ROUND + step.after())
    }

    /// What a notice says of why it goes out; `name` is the policy's.
    pub fn prompt(&self, name: &str, due: &Due) -> Prompt {
        match due {
            Due::Step { number } => {
                let steps = count(self.steps.len()).max(1);
                Prompt::Step {
                    policy: name.to_owned(),
                    round: number / steps + 1,
                    rounds: self.loops,
                    step: number % steps + 1,
                    steps,
                }
            }
            Due::Reminder { number } => Prompt::Reminder { number: *number },
            Due::AckOver { sentence } => Prompt::AckOver { sentence: sentence.clone() },
        }
    }

    /// Channels of the first `steps` steps of all rounds.
    pub fn reached(&self, steps: u32) -> Vec<Uuid> {
        let taken = usize::try_from(steps).unwrap_or(usize::MAX);
        let mut all: Vec<Uuid> = Vec::new();
        for channel in self.steps.iter().take(taken).flat_map(|step| &step.channels) {
            if !all.contains(channel) {
                all.push(*channel);
            }
        }
        all
    }
}

fn within(field: &str, value: u32, span: Span) -> Result<(), Invalid> {
    match (span.0..=span.1).contains(&value) {
        true => Ok(()),
        false => Err(Invalid::new(field, out_of(span))),
    }
}

impl Step {
    /// Why seconds that no step can have are refused.
    pub fn out_of_range() -> String {
        out_of(STEP)
    }

    fn after(&self) -> Millis {
        Millis::from(self.after_s) * 1_000
    }

    fn check(&self) -> Result<(), Invalid> {
        within("after_s", self.after_s, STEP)?;
        let n = self.channels.len();
        if !(1..=MOST_CHANNELS).contains(&n) {
            return Err(Invalid::new("channels", format!("has {n}: 1 to {MOST_CHANNELS} can be")));
        }
        for (i, channel) in self.channels.iter().enumerate() {
            if self.channels[..i].contains(channel) {
                return Err(Invalid::new(format!("channels[{i}]"), "stands there twice"));
            }
        }
        Ok(())
    }
}

/// A channel that is told because time has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hearer {
    pub channel: Uuid,
    pub kind: NoticeKind,
    /// What of all that is due it is told for.
    pub due: Due,
}

/// Who hears of what is due, in the order of `channels`: each channel once, for a step rather than for a
/// reminder. `audience` are the channels that reminders go to, none for the default ones.
///
/// A channel that a step reaches first hears that the incident is open, one that knows hears that it still
/// is. Reminders go to those who know, and nothing goes to channels whose minimum is not reached.
pub fn hearers(
    due: &[Due],
    policy: &Policy,
    audience: Option<&[Uuid]>,
    told: &[Told],
    channels: &[ChannelRule],
    severity: Severity,
) -> Vec<Hearer> {
    let hears = |channel: &ChannelRule| -> Option<Hearer> {
        if !channel.enabled || severity < channel.min_severity {
            return None;
        }
        let open = told.iter().find(|t| t.channel == channel.id).map(|t| t.open);
        let called = due.iter().find(|due| match due {
            Due::Step { number } => {
                policy.place(*number).is_some_and(|(_, step)| step.channels.contains(&channel.id))
            }
            _ => false,
        });
        let routed = match audience {
            None => channel.is_default,
            Some(list) => list.contains(&channel.id),
        };
        let reminded = due
            .iter()
            .find(|due| !matches!(due, Due::Step { .. }))
            .filter(|_| routed && open == Some(true));
        let kind = match open {
            None => NoticeKind::Opened,
            Some(false) => NoticeKind::Reopened,
            Some(true) => NoticeKind::Reminder,
        };
        let due = called.or(reminded)?.clone();
        Some(Hearer { channel: channel.id, kind, due })
    };
    channels.iter().filter_map(hears).collect()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
