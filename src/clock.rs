//! The only reader of wall time.
//!
//! Everything that decides takes `now` as an argument; whoever needs to know the time or to wait for
//! an instant is handed a [`Clock`]. Tests hand over a manual one, so that an hour passes in a
//! microsecond and nothing depends on how fast the machine is. Measuring a duration is another
//! matter: `std::time::Instant` is free in `probe` and `agent`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// Wall time, from the system or set by hand. Cloning is cheap; clones of a manual clock move together.
#[derive(Clone, Debug, Default)]
pub struct Clock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Corrected(Arc<AtomicI64>),
    Manual(Arc<watch::Sender<Timestamp>>),
}

/// A sleep by the system clock looks at the clock again at least this often, so that a clock that was
/// set, or a machine that was suspended, delays nobody for longer.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// The machine's clock plus an offset, for coordinators: they decide by the database's time, which
    /// is the same for all of them. See [`Clock::correct`].
    pub fn corrected() -> Self {
        Self(Source::Corrected(Arc::default()))
    }

    /// Sets the offset of a corrected clock, given the other clock's reading for this very moment.
    /// Answers the offset in microseconds; 0 for clocks that follow no other.
    pub fn correct(&self, true_now: Timestamp) -> i64 {
        match &self.0 {
            Source::Corrected(offset) => {
                let micros = true_now.as_microsecond() - system_now().as_microsecond();
                offset.store(micros, Ordering::Relaxed);
                micros
            }
            Source::System | Source::Manual(_) => 0,
        }
    }

    /// How far a corrected clock is set off from the machine's, in microseconds; 0 for the others.
    pub fn offset_micros(&self) -> i64 {
        match &self.0 {
            Source::Corrected(offset) => offset.load(Ordering::Relaxed),
            Source::System | Source::Manual(_) => 0,
        }
    }

    /// A clock that stands at `start` until it is moved by [`Clock::advance`] or [`Clock::set`].
    pub fn manual(start: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(watch::Sender::new(whole_micros(start)))))
    }

    /// The present instant in whole microseconds, which is what Postgres keeps: a value that was just
    /// created and the same value read back are equal.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => whole_micros(system_now()),
            Source::Corrected(offset) => {
                let micros = system_now().as_microsecond() + offset.load(Ordering::Relaxed);
                Timestamp::from_microsecond(micros).unwrap_or_else(|_| system_now())
            }
            Source::Manual(now) => *now.borrow(),
        }
    }

    /// Returns once `now() >= at`; at once if that is already so. Safe to drop at any time.
    pub async fn sleep_until(&self, at: Timestamp) {
        match &self.0 {
            Source::System | Source::Corrected(_) => loop {
                let left = at.duration_since(self.now());
                if left <= SignedDuration::ZERO {
                    return;
                }
                tokio::time::sleep(left.unsigned_abs().min(LOOK_AGAIN)).await;
            },
            Source::Manual(now) => {
                // We hold the sender ourselves, so the only error, a closed channel, cannot happen.
                let _ = now.subscribe().wait_for(|now| *now >= at).await;
            }
        }
    }

    /// Returns after `span` by this clock.
    pub async fn sleep(&self, span: Duration) {
        let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
        let at = self.now().saturating_add(span);
        self.sleep_until(at.unwrap_or(Timestamp::MAX)).await;
    }

    /// Moves a manual clock forward and wakes who waits for an instant that was reached. The system
    /// clock cannot be moved: there it does nothing.
    pub fn advance(&self, span: Duration) {
        if let Source::Manual(now) = &self.0 {
            let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
            now.send_modify(|now| {
                *now = whole_micros(now.saturating_add(span).unwrap_or(Timestamp::MAX));
            });
        }
    }

    /// Sets a manual clock, forwards or backwards (clocks do jump). Nothing on the system clock.
    pub fn set(&self, at: Timestamp) {
        if let Source::Manual(now) = &self.0 {
            now.send_replace(whole_micros(at));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the system for the time")]
fn system_now() -> Timestamp {
    Timestamp::now()
}

/// `at` without its nanoseconds, towards the past.
fn whole_micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_nanosecond().div_euclid(1_000) as i64).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn now_has_whole_microseconds() {
        let clock = Clock::system();
        assert_eq!(clock.now().as_nanosecond() % 1_000, 0);
        assert_eq!(
            Clock::manual(at("2026-01-01T00:00:00.123456789Z")).now(),
            at("2026-01-01T00:00:00.123456Z")
        );
        // Before 1970 as well: always towards the past.
        assert_eq!(
            Clock::manual(at("1969-12-31T23:59:59.999999999Z")).now(),
            at("1969-12-31T23:59:59.999999Z")
        );
    }

    #[tokio::test]
    async fn a_manual_clock_wakes_sleepers_when_their_instant_is_reached() {
        let clock = Clock::manual(at("2026-01-01T00:00:00Z"));
        let mut nap = sleeper(clock.clone(), at("2026-01-01T01:00:00Z"));
        clock.advance(Duration::from_secs(3_599));
        assert!(futures_util::poll!(&mut nap).is_pending());
        clock.advance(Duration::from_secs(1));
        nap.await;
        assert_eq!(clock.now(), at("2026-01-01T01:00:00Z"));
    }

    #[tokio::test]
    async fn an_instant_in_the_past_does_not_wait() {
        let manual = Clock::manual(at("2026-01-01T00:00:00Z"));
        manual.sleep_until(at("2025-01-01T00:00:00Z")).await;
        Clock::system().sleep_until(at("2025-01-01T00:00:00Z")).await;
    }

    #[test]
    fn a_manual_clock_may_go_back_and_clones_move_together() {
        let clock = Clock::manual(at("2026-01-01T00:00:00Z"));
        let other = clock.clone();
        clock.set(at("2025-06-01T00:00:00Z"));
        assert_eq!(other.now(), at("2025-06-01T00:00:00Z"));
        other.advance(Duration::MAX);
        assert_eq!(clock.now(), whole_micros(Timestamp::MAX));
    }

    fn sleeper(clock: Clock, at: Timestamp) -> std::pin::Pin<Box<impl Future<Output = ()>>> {
        Box::pin(async move { clock.sleep_until(at).await })
    }
}
