//! How often somebody may do what costs others something.

use std::{hash::Hash, num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::error::{ApiError, ApiResult};

/// The limits of one coordinator. Cloning is cheap and clones share the counts.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Attempts to sign in, by address: ten at once, then one in ten seconds.
    sign_in: Arc<DefaultKeyedRateLimiter<String>>,
    /// Attempts to use a one-time link, by its hash.
    link: Arc<DefaultKeyedRateLimiter<String>>,
    /// Probes by hand, by caller: ten at once, then one in three seconds.
    probe: Arc<DefaultKeyedRateLimiter<Uuid>>,
    /// Test messages, by caller.
    test: Arc<DefaultKeyedRateLimiter<Uuid>>,
    /// Replays, by caller: as probes.
    replay: Arc<DefaultKeyedRateLimiter<Uuid>>,
    /// Calls of a job, by the hash of its key: ten at once, then ten a second.
    call: Arc<DefaultKeyedRateLimiter<[u8; 32]>>,
    /// Calls that use the database at the same time, so that jobs leave some of it to others.
    calls: Arc<Semaphore>,
    /// The same for what other services call back: whoever asks is known only after the database was.
    callbacks: Arc<Semaphore>,
    /// Replays that run at the same time: each holds a month of results and a processor.
    replays: Arc<Semaphore>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sign_in: limiter(10, Duration::from_secs(10)),
            link: limiter(10, Duration::from_secs(10)),
            probe: limiter(10, Duration::from_secs(3)),
            test: limiter(5, Duration::from_secs(10)),
            replay: limiter(10, Duration::from_secs(3)),
            call: limiter(10, Duration::from_millis(100)),
            calls: Arc::new(Semaphore::new(4)),
            callbacks: Arc::new(Semaphore::new(2)),
            replays: Arc::new(Semaphore::new(2)),
        }
    }
}

impl Limits {
    pub fn sign_in(&self, email: &str) -> ApiResult<()> {
        check(&self.sign_in, &email.trim().to_lowercase())
    }

    pub fn link(&self, key: &str) -> ApiResult<()> {
        check(&self.link, &key.to_owned())
    }

    pub fn probe(&self, caller: Uuid) -> ApiResult<()> {
        check(&self.probe, &caller)
    }

    pub fn test(&self, caller: Uuid) -> ApiResult<()> {
        check(&self.test, &caller)
    }

    pub fn call(&self, key: &[u8; 32]) -> ApiResult<()> {
        check(&self.call, key)
    }

    /// Waits for a call's turn at the database; the turn ends when what is returned is dropped.
    pub async fn call_turn(&self) -> ApiResult<OwnedSemaphorePermit> {
        Ok(self.calls.clone().acquire_owned().await.map_err(anyhow::Error::from)?)
    }

    /// As [`Limits::call_turn`], of what another service calls back.
    pub async fn callback_turn(&self) -> ApiResult<OwnedSemaphorePermit> {
        Ok(self.callbacks.clone().acquire_owned().await.map_err(anyhow::Error::from)?)
    }

    /// Waits for its turn; the turn ends when what is returned is dropped.
    pub async fn replay(&self, caller: Uuid) -> ApiResult<OwnedSemaphorePermit> {
        check(&self.replay, &caller)?;
        Ok(self.replays.clone().acquire_owned().await.map_err(anyhow::Error::from)?)
    }
}

fn limiter<K: Hash + Eq + Clone>(burst: u32, each: Duration) -> Arc<DefaultKeyedRateLimiter<K>> {
    let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
    let quota = Quota::with_period(each).unwrap_or(Quota::per_second(burst)).allow_burst(burst);
    Arc::new(RateLimiter::keyed(quota))
}

fn check<K: Hash + Eq + Clone>(limiter: &DefaultKeyedRateLimiter<K>, key: &K) -> ApiResult<()> {
    // Keys that strangers make up must not fill the memory.
    if limiter.len() > 10_000 {
        limiter.retain_recent();
    }
    limiter.check_key(key).map_err(|not_until| {
        let wait = not_until.wait_time_from(DefaultClock::default().now());
        ApiError::TooMany(wait.as_secs() + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_count_whatever_its_case() {
        let limits = Limits::default();
        for _ in 0..10 {
            limits.sign_in("Ann@example.com").unwrap();
        }
        assert!(matches!(limits.sign_in(" ann@EXAMPLE.com"), Err(ApiError::TooMany(1..=10))));
        limits.sign_in("bob@example.com").unwrap();
    }
}
