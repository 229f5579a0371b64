//! Coordinator time, learnt from the answers to heartbeats. It is kept as an offset to the kernel's
//! uninterrupted clock, which counts suspend and which nobody sets; the agent's wall clock is only
//! measured against it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Microseconds of the kernel's uninterrupted clock.
pub type Boottime = i64;

/// So many exchanges are remembered; the one with the shortest round trip is the most exact.
const REMEMBERED: usize = 8;
/// Beyond what the round trips explain and this, coordinator time was set, not measured badly.
const TOLERANCE_US: i64 = 50_000;

/// What this agent knows of coordinator time.
#[derive(Debug)]
pub struct CoordinatorTime {
    kernel: Uuid,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    samples: VecDeque<Sample>,
    /// Before the first exchange: from a ping, or remembered from an earlier process.
    provisional_us: Option<i64>,
    wall_ahead_us: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    offset_us: i64,
    rtt_us: i64,
}

/// What outlives the process: offsets, and the kernel start for which the first one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    pub kernel: Uuid,
    /// Coordinator time minus the uninterrupted clock.
    pub offset_us: i64,
    /// The agent's wall clock minus coordinator time.
    pub wall_ahead_us: i64,
}

impl CoordinatorTime {
    /// `kernel` names this start of the kernel ([`kernel_boot`]).
    pub fn new(kernel: Uuid) -> Self {
        Self { kernel, state: Mutex::default() }
    }

    pub fn kernel(&self) -> Uuid {
        self.kernel
    }

    /// Takes up what an earlier process knew. After another start of the kernel only the wall clock
    /// leads back to coordinator time, which is good enough for the grid of slots.
    pub fn recall(&self, known: Remembered, now: Boottime, wall: Timestamp) {
        let offset = if known.kernel == self.kernel {
            known.offset_us
        } else {
            wall.as_microsecond() - known.wall_ahead_us - now
        };
        let mut state = self.state();
        state.provisional_us.get_or_insert(offset);
        state.wall_ahead_us.get_or_insert(known.wall_ahead_us);
    }

    /// What to write down for the next process; nothing before the first exchange.
    pub fn to_remember(&self) -> Option<Remembered> {
        let state = self.state();
        let offset_us = state.best()?.offset_us;
        let wall_ahead_us = state.wall_ahead_us.unwrap_or(0);
        Some(Remembered { kernel: self.kernel, offset_us, wall_ahead_us })
    }

    /// An exchange that began at `sent` and ended at `received`, in which the coordinator said `now`.
    pub fn learn(&self, sent: Boottime, received: Boottime, now: Timestamp, wall: Timestamp) {
        let rtt_us = (received - sent).max(0);
        let offset_us = now.as_microsecond() + rtt_us / 2 - received;
        let mut state = self.state();
        let moved = state.best().is_some_and(|best| {
            let explained = (best.rtt_us + rtt_us) / 2 + TOLERANCE_US;
            (best.offset_us - offset_us).abs() > explained
        });
        if moved {
            state.samples.clear();
        }
        if state.samples.len() == REMEMBERED {
            state.samples.pop_front();
        }
        state.samples.push_back(Sample { offset_us, rtt_us });
        state.wall_ahead_us =
            Some(wall.as_microsecond() - (received + state.offset().unwrap_or(0)));
    }

    /// A ping said `now`. It has no round trip, so it counts only while there is nothing better.
    pub fn hint(&self, received: Boottime, now: Timestamp) {
        let mut state = self.state();
        if state.samples.is_empty() {
            state.provisional_us = Some(now.as_microsecond() - received);
        }
    }

    /// Coordinator time minus the uninterrupted clock; nothing before any contact.
    pub fn offset_us(&self) -> Option<i64> {
        self.state().offset()
    }

    /// How far the agent's wall clock is ahead of coordinator time, when it was last measured.
    pub fn wall_ahead_us(&self) -> Option<i64> {
        self.state().wall_ahead_us
    }

    /// The shortest round trip of the last exchanges in milliseconds; 0 before the first. One that was held
    /// up says nothing of the next.
    pub fn rtt_ms(&self) -> f64 {
        self.state().best().map_or(0.0, |best| best.rtt_us as f64 / 1_000.0)
    }

    /// Coordinator time at `now`; nothing before the first exchange of this process.
    pub fn coordinator(&self, now: Boottime) -> Option<Timestamp> {
        let offset_us = self.state().best()?.offset_us;
        Timestamp::from_microsecond(now + offset_us).ok()
    }

    /// How old something is that happened at `then`, or at `wall` if the kernel was started since; and
    /// whether that is an estimate.
    pub fn age_ms(&self, then: &Stamp, now: Boottime, wall: Timestamp) -> (f64, bool) {
        if then.kernel == self.kernel {
            return (((now - then.at_us).max(0)) as f64 / 1_000.0, false);
        }
        let state = self.state();
        let wall = wall.as_microsecond();
        let now = state.offset().map_or(wall, |offset| now + offset);
        let ahead = then.wall_ahead_us.or(state.wall_ahead_us).unwrap_or(0);
        let then = then.wall.as_microsecond() - ahead;
        ((now - then).max(0) as f64 / 1_000.0, true)
    }

    /// This very instant, as results keep it.
    pub fn stamp(&self, at_us: Boottime, wall: Timestamp) -> Stamp {
        Stamp { at_us, kernel: self.kernel, wall, wall_ahead_us: self.wall_ahead_us() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn best(&self) -> Option<Sample> {
        self.samples.iter().copied().min_by_key(|sample| sample.rtt_us)
    }

    fn offset(&self) -> Option<i64> {
        self.best().map(|best| best.offset_us).or(self.provisional_us)
    }
}

/// When something happened, by every clock there is, so that its age can be told even after the
/// machine was started anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub at_us: Boottime,
    pub kernel: Uuid,
    pub wall: Timestamp,
    pub wall_ahead_us: Option<i64>,
}

/// The uninterrupted clock: monotonic, and running on while the machine sleeps.
pub fn boottime() -> Boottime {
    #[cfg(target_os = "linux")]
    let clock = nix::time::ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    let clock = nix::time::ClockId::CLOCK_MONOTONIC;
    clock.now().map_or(0, |time| time.tv_sec() * 1_000_000 + time.tv_nsec() / 1_000)
}

/// The id of this start of the kernel. Where the system names none, one for this process: ages of what
/// earlier processes left are then estimated from the wall clock.
pub fn kernel_boot() -> Uuid {
    let named = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let named = named.and_then(|text| Uuid::parse_str(text.trim()).ok());
    named.unwrap_or_else(|| {
        let mut bytes = [0; 16];
        rand::fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    })
}

/// How far apart two instants are, for people: `45 s`, `3 min`.
pub fn in_words(us: i64) -> String {
    let span = SignedDuration::from_micros(us.abs());
    match span.as_secs() {
        0..120 => format!("{} s", span.as_secs()),
        secs => format!("{} min", secs / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn at(us: i64) -> Timestamp {
        Timestamp::from_microsecond(1_790_000_000 * SECOND + us).unwrap()
    }

    fn known(time: &CoordinatorTime) -> i64 {
        time.offset_us().unwrap() - 1_790_000_000 * SECOND
    }

    #[test]
    fn the_exchange_with_the_shortest_round_trip_counts() {
        let time = CoordinatorTime::new(Uuid::nil());
        assert_eq!(time.offset_us(), None);
        time.hint(5 * SECOND, at(0));
        assert_eq!(known(&time), -5 * SECOND);
        // A slow exchange whose answer took all of the time, then a quick one.
        time.learn(10 * SECOND, 10 * SECOND + 400_000, at(6 * SECOND), at(0));
        assert_eq!(known(&time), 6 * SECOND + 200_000 - (10 * SECOND + 400_000));
        time.learn(20 * SECOND, 20 * SECOND + 2_000, at(16 * SECOND + 1_000), at(0));
        assert_eq!(known(&time), -4 * SECOND);
        time.learn(30 * SECOND, 30 * SECOND + 600_000, at(26 * SECOND), at(0));
        assert_eq!(known(&time), -4 * SECOND);
        assert_eq!(time.rtt_ms(), 2.0);
        assert_eq!(time.coordinator(31 * SECOND), Some(at(27 * SECOND)));
        time.hint(31 * SECOND, at(0));
        assert_eq!(known(&time), -4 * SECOND);
    }

    #[test]
    fn a_coordinator_whose_clock_was_set_is_followed_at_once() {
        let time = CoordinatorTime::new(Uuid::nil());
        time.learn(0, 1_000, at(500), at(0));
        time.learn(SECOND, SECOND + 10_000, at(61 * SECOND + 5_000), at(0));
        assert_eq!(known(&time), 60 * SECOND);
    }

    #[test]
    fn the_wall_clock_is_measured_and_never_used_while_the_kernel_runs_on() {
        let time = CoordinatorTime::new(Uuid::from_u128(1));
        time.learn(0, 0, at(0), at(90 * SECOND));
        assert_eq!(time.wall_ahead_us(), Some(90 * SECOND));
        let then = time.stamp(10 * SECOND, at(100 * SECOND));
        // The wall clock was set back by an hour in between.
        assert_eq!(time.age_ms(&then, 12 * SECOND, at(-3_498 * SECOND)), (2_000.0, false));
    }

    #[test]
    fn after_another_start_of_the_kernel_the_age_is_estimated() {
        let before = CoordinatorTime::new(Uuid::from_u128(1));
        before.learn(0, 0, at(0), at(90 * SECOND));
        let then = before.stamp(10 * SECOND, at(100 * SECOND));
        let after = CoordinatorTime::new(Uuid::from_u128(2));
        // Cut off: the wall clock, corrected by what was last known of it.
        after.recall(before.to_remember().unwrap(), 0, at(190 * SECOND));
        assert_eq!(known(&after), 100 * SECOND);
        assert_eq!(after.age_ms(&then, 0, at(190 * SECOND)), (90_000.0, true));
        // In contact, with the wall clock set right meanwhile.
        after.learn(5 * SECOND, 5 * SECOND, at(200 * SECOND), at(200 * SECOND));
        assert_eq!(after.age_ms(&then, 5 * SECOND, at(200 * SECOND)), (190_000.0, true));
    }

    #[test]
    fn the_kernel_names_its_start_and_its_clock_runs() {
        assert!(!kernel_boot().is_nil());
        let earlier = boottime();
        assert!(earlier > 0 && boottime() >= earlier);
    }
}
