//! The state of a monitor over time (spec: decision 5.5): monotone timers, holds, and at most one
//! transition a tick.

use serde::{Deserialize, Serialize};

use super::verdict::{Mute, Raw, Verdict};
use crate::domain::Millis;
use crate::domain::incident::Severity;
use crate::domain::monitor::Policy;

#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum State {
    #[default]
    Pending,
    Up,
    Degraded,
    Partial,
    Down,
    Unknown,
    /// By hand.
    Paused,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Up => "up",
            State::Degraded => "degraded",
            State::Partial => "partial",
            State::Down => "down",
            State::Unknown => "unknown",
            State::Paused => "paused",
        }
    }

    /// Number in the database.
    pub fn code(self) -> i16 {
        match self {
            State::Pending => 0,
            State::Up => 1,
            State::Degraded => 2,
            State::Partial => 3,
            State::Down => 4,
            State::Unknown => 5,
            State::Paused => 6,
        }
    }

    pub fn from_code(code: i16) -> Option<Self> {
        use State::{Degraded, Down, Partial, Paused, Pending, Unknown, Up};
        [Pending, Up, Degraded, Partial, Down, Unknown, Paused]
            .into_iter()
            .find(|state| state.code() == code)
    }

    /// None for states in which nothing is wrong as far as is known.
    pub fn severity(self) -> Option<Severity> {
        match self {
            State::Degraded => Some(Severity::Degraded),
            State::Partial => Some(Severity::Partial),
            State::Down => Some(Severity::Down),
            State::Pending | State::Up | State::Unknown | State::Paused => None,
        }
    }
}

impl From<Severity> for State {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Degraded => State::Degraded,
            Severity::Partial => State::Partial,
            Severity::Down => State::Down,
        }
    }
}

/// Runs from the tick that first showed a value for as long as the verdict stays on its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    pub began: Millis,
    /// Time spent undecided since; it does not count towards the hold.
    pub paused: Millis,
    /// Some of it was `down_low`, so the longer hold applies.
    pub low: bool,
}

impl Timer {
    fn starting(now: Millis) -> Self {
        Self { began: now, paused: 0, low: false }
    }

    pub(super) fn due(&self, hold: Millis) -> Millis {
        self.began + self.paused + hold
    }
}

/// Only the timers that can lead out of the present state are kept; the others are restarted before
/// they could ever be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timers {
    /// Toward degraded, partial, down.
    pub worse: [Option<Timer>; 3],
    /// Toward up, degraded, partial.
    pub milder: [Option<Timer>; 3],
    /// Since when the verdict has been undecided.
    pub paused_since: Option<Millis>,
    /// Since when it has been insufficient.
    pub blind_since: Option<Millis>,
    /// Since when it has been undecided with somebody down.
    pub split_since: Option<Millis>,
}

pub(super) const SEVERITIES: [Severity; 3] =
    [Severity::Degraded, Severity::Partial, Severity::Down];

/// The timers toward milder states, each with the state it leads to.
pub(super) const MILDER: [State; 3] = [State::Up, State::Degraded, State::Partial];

/// A transition that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) to: State,
    /// When the timer that fired began.
    pub(super) began: Millis,
}

/// What the timers need to know of the monitor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standpoint<'a> {
    pub(super) state: State,
    /// An incident is open.
    pub(super) open: bool,
    /// Milder steps wait longer, because the monitor flaps.
    pub(super) flapping: bool,
    pub(super) policy: &'a Policy,
}

impl Standpoint<'_> {
    /// How many timers toward milder states lead out of here.
    pub(super) fn milder(&self) -> usize {
        match self.state.severity() {
            Some(severity) => severity as usize + 1,
            None => usize::from(self.open && matches!(self.state, State::Pending | State::Unknown)),
        }
    }

    /// Index of the first timer toward a worse state.
    pub(super) fn first_worse(&self) -> usize {
        self.state.severity().map_or(0, |severity| severity as usize + 1)
    }

    pub(super) fn hold_worse(&self, severity: Severity, timer: &Timer) -> Millis {
        match severity {
            Severity::Degraded => 0,
            Severity::Partial => self.policy.partial_hold,
            Severity::Down if timer.low => self.policy.down_low_hold,
            Severity::Down => self.policy.confirm_for,
        }
    }

    /// A flapping monitor waits four times as long, up to half an hour; never shorter than usual.
    pub(super) fn hold_milder(&self) -> Millis {
        let usual = self.policy.recover_for;
        if self.flapping { usual.max((4 * usual).min(super::flap::LONGEST_HOLD)) } else { usual }
    }
}

impl Timers {
    /// Takes note of a tick's verdict.
    pub(super) fn tick(&mut self, verdict: &Verdict, from: Standpoint<'_>, now: Millis) {
        let severity = verdict.raw.severity();
        set_since(&mut self.blind_since, severity == Err(Mute::Insufficient), now);
        set_since(&mut self.split_since, severity == Err(Mute::Undecided) && verdict.d > 0, now);
        let severity = match severity {
            Err(Mute::Undecided) => {
                self.paused_since.get_or_insert(now);
                return;
            }
            Err(Mute::Insufficient) => {
                (self.worse, self.milder, self.paused_since) = Default::default();
                return;
            }
            Ok(severity) => severity,
        };
        if let Some(since) = self.paused_since.take() {
            for timer in self.worse.iter_mut().chain(&mut self.milder).flatten() {
                timer.paused += now - since;
            }
        }
        for (timer, toward) in self.worse.iter_mut().zip(SEVERITIES).skip(from.first_worse()) {
            run(timer, severity >= Some(toward), now);
        }
        for (timer, toward) in self.milder.iter_mut().zip(MILDER).take(from.milder()) {
            run(timer, severity <= toward.severity(), now);
        }
        if let (Raw::DownLow, Some(timer)) = (verdict.raw, &mut self.worse[Severity::Down as usize])
        {
            timer.low = true;
        }
    }

    /// The transition that this tick makes, if any.
    pub(super) fn due(&self, verdict: &Verdict, from: Standpoint<'_>, now: Millis) -> Option<Due> {
        let grave = matches!(from.state, State::Partial | State::Down);
        match verdict.raw.severity() {
            Err(Mute::Undecided) => {
                let began = self.split_since?;
                (!grave && now - began >= from.policy.split_for)
                    .then_some(Due { to: State::Partial, began })
            }
            Err(Mute::Insufficient) => {
                let began = self.blind_since?;
                (!grave && from.state != State::Unknown && now - began >= from.policy.blind_for)
                    .then_some(Due { to: State::Unknown, began })
            }
            Ok(severity) => {
                self.due_worse(severity, from, now).or_else(|| self.due_milder(severity, from, now))
            }
        }
    }

    fn due_worse(&self, raw: Option<Severity>, from: Standpoint<'_>, now: Millis) -> Option<Due> {
        SEVERITIES.into_iter().zip(&self.worse).skip(from.first_worse()).rev().find_map(
            |(severity, timer)| {
                let timer = timer.as_ref()?;
                let may = severity != Severity::Degraded || raw == Some(Severity::Degraded);
                (may && now >= timer.due(from.hold_worse(severity, timer)))
                    .then_some(Due { to: severity.into(), began: timer.began })
            },
        )
    }

    fn due_milder(&self, raw: Option<Severity>, from: Standpoint<'_>, now: Millis) -> Option<Due> {
        if !from.open && matches!(from.state, State::Pending | State::Unknown) {
            return raw.is_none().then_some(Due { to: State::Up, began: now });
        }
        MILDER.into_iter().zip(&self.milder).take(from.milder()).find_map(|(to, timer)| {
            let timer = timer.as_ref()?;
            (now >= timer.due(from.hold_milder())).then_some(Due { to, began: timer.began })
        })
    }

    /// After a step from one state to another: drops what leads nowhere any more. Timers toward milder
    /// states begin anew when the step was to a worse state or out of pending or unknown; none of them
    /// can be running on such a tick, since the verdict is worse than where they lead.
    pub(super) fn moved(&mut self, from: State, to: Standpoint<'_>) {
        let worsened = to.state.severity() > from.severity()
            || matches!(from, State::Pending | State::Unknown);
        let kept = if worsened { 0 } else { to.milder() };
        self.milder.iter_mut().skip(kept).for_each(|timer| *timer = None);
        self.worse.iter_mut().take(to.first_worse()).for_each(|timer| *timer = None);
    }

    /// Timers toward milder states begin again at this tick.
    pub(super) fn restart_milder(&mut self, now: Millis) {
        self.milder.iter_mut().flatten().for_each(|timer| *timer = Timer::starting(now));
    }
}

fn run(timer: &mut Option<Timer>, runs: bool, now: Millis) {
    if runs {
        timer.get_or_insert(Timer::starting(now));
    } else {
        *timer = None;
    }
}

fn set_since(since: &mut Option<Millis>, holds: bool, now: Millis) {
    if holds {
        since.get_or_insert(now);
    } else {
        *since = None;
    }
}
