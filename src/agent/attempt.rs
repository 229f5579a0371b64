//! One attempt of a check, and whose fault its failure is: an agent that was late, whose clock is wrong
//! or that cannot read the check says so instead of blaming the target (spec: probes 4).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::time::{self, Boottime, CoordinatorTime};
use crate::domain::check::Check;
use crate::domain::observation::{Class, Observation, Outcome, Phases};
use crate::domain::secret::Secret;
use crate::probe;
use crate::protocol::Secrets;

/// A wall clock that is further off cannot judge certificate dates.
const CLOCK_LIMIT_US: i64 = 30_000_000;
/// How often the agent looks whether it gets to run, and what counts as late.
const TICK: Duration = Duration::from_millis(200);
const TICK_LATE_US: i64 = 500_000;

/// What every attempt needs.
pub struct Prober {
    context: probe::Context,
    time: Arc<CoordinatorTime>,
    stalls: Stalls,
    /// Cancelled when running probes may not go on.
    cut: CancellationToken,
}

impl Prober {
    pub fn new(
        context: probe::Context,
        time: Arc<CoordinatorTime>,
        cut: CancellationToken,
    ) -> Self {
        Self { context, time, stalls: Stalls::new(time::boottime()), cut }
    }

    /// Runs a check as it was assigned, or as a user tries it, with evidence for passes too. Ends soon
    /// after `timeout`.
    pub async fn attempt(
        &self,
        check: Value,
        secrets: &Secrets,
        timeout: Duration,
        slow_ms: Option<u32>,
    ) -> Observation {
        let check = match fill(check, secrets) {
            Ok(check) => check,
            Err(why) => return ours(Class::Internal, why),
        };
        let mark = self.stalls.mark();
        let probe = AssertUnwindSafe(probe::run_in_detail(
            &check,
            &self.context,
            timeout,
            std::future::pending(),
        ))
        .catch_unwind();
        let late = timeout + Duration::from_secs(5);
        let seen = tokio::select! {
            seen = tokio::time::timeout(late, probe) => seen,
            () = self.cut.cancelled() => {
                return ours(Class::Cancelled, "The agent was stopped while this probe ran.".into());
            }
        };
        let seen = match seen {
            Ok(Ok(seen)) => seen,
            Ok(Err(_)) => {
                let why = "The probe stopped on a fault of its own; the agent's log has more.";
                return ours(Class::Internal, why.into());
            }
            Err(_) => {
                let why = format!("The probe did not end within {} s.", late.as_secs_f64());
                return ours(Class::Internal, why);
            }
        };
        let stalled = self.stalls.since(mark, time::boottime());
        blame(seen, stalled, self.time.wall_ahead_us(), slow_ms)
    }

    /// Looks again and again whether this process gets to run. Never returns.
    pub async fn watch_stalls(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            self.stalls.tick(time::boottime());
        }
    }
}

/// An observation that says nothing of the target.
pub fn ours(class: Class, message: String) -> Observation {
    Observation {
        outcome: class.side(),
        class: Some(class),
        message,
        phases_us: Phases::default(),
        status: None,
        http_version: None,
        address: None,
        size: None,
        hops: Vec::new(),
        certificate: None,
        assertions: Vec::new(),
        evidence: None,
    }
}

/// The check, ready to run: secrets are filled in so that the probe knows what must not leave it.
fn fill(check: Value, secrets: &Secrets) -> Result<Check, String> {
    let unknown = |error| {
        format!(
            "This agent cannot run the check: {error}. If the coordinator is newer, update the agent."
        )
    };
    let mut check = Check::parse(check).map_err(unknown)?;
    let mut known = check.take_inline_secrets();
    known.extend(secrets.0.iter().map(|(name, text)| (name.clone(), Secret::new(text.clone()))));
    check.with_secrets(&known).map_err(unknown)
}

/// Turns what may be this agent's own fault into an error.
fn blame(
    seen: Observation,
    stalled: bool,
    wall_ahead_us: Option<i64>,
    slow_ms: Option<u32>,
) -> Observation {
    let only = |seen: &Observation, subject: &str| {
        seen.class == Some(Class::Assertion)
            && seen
                .assertions
                .iter()
                .all(|it| it.holds != Some(false) || it.on.starts_with(subject))
    };
    let dates = matches!(seen.class, Some(Class::TlsExpired | Class::TlsNotYetValid))
        || only(&seen, "cert_days_left");
    let ahead = wall_ahead_us.unwrap_or(0);
    if dates && ahead.abs() > CLOCK_LIMIT_US {
        let way = if ahead > 0 { "ahead of" } else { "behind" };
        let why = format!(
            "This agent's clock is {} {way} the coordinator's, so it cannot judge certificate dates. Set up time synchronisation on the agent.",
            time::in_words(ahead)
        );
        return mine(seen, Class::AgentClock, why);
    }
    let slow = slow_ms.is_some_and(|slow| seen.phases_us.total / 1_000 >= slow);
    let waited = is_timeout(seen.class) || only(&seen, "latency_ms");
    if stalled && (waited || (seen.outcome == Outcome::Pass && slow)) {
        let why = "This agent did not get to run for more than 0.5 s during the probe, so the time it measured is its own.";
        return mine(seen, Class::AgentOverload, why.into());
    }
    seen
}

/// What is seen while most of this location's references fail: that something failed is no word about the
/// target then, unless the target itself said so.
pub fn own_line(seen: Observation) -> Observation {
    if seen.outcome != Outcome::Fail || seen.status.is_some() {
        return seen;
    }
    let why = "Most of this location's own references failed in its last self-check, so its own line may be what failed here.";
    mine(seen, Class::AgentSelfcheck, why.into())
}

/// The same observation as ours to answer for; what was measured stays visible.
fn mine(mut seen: Observation, class: Class, message: String) -> Observation {
    (seen.outcome, seen.class, seen.message) = (class.side(), Some(class), message);
    seen
}

fn is_timeout(class: Option<Class>) -> bool {
    use Class::*;
    matches!(
        class,
        Some(
            DnsTimeout
                | ConnectTimeout
                | TlsTimeout
                | HttpTimeoutFirstByte
                | HttpTimeoutBody
                | DialogueTimeout
                | IcmpNoReply
        )
    )
}

/// Whether this process got to run all the time: a busy machine, a stopped container or a suspended
/// laptop must not look like a slow target.
#[derive(Debug)]
struct Stalls {
    count: AtomicU64,
    last: AtomicI64,
}

impl Stalls {
    fn new(now: Boottime) -> Self {
        Self { count: AtomicU64::new(0), last: AtomicI64::new(now) }
    }

    fn tick(&self, now: Boottime) {
        let last = self.last.swap(now, Ordering::Relaxed);
        if now - last > TICK.as_micros() as i64 + TICK_LATE_US {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn mark(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn since(&self, mark: u64, now: Boottime) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        self.mark() != mark || now - last > TICK.as_micros() as i64 + TICK_LATE_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::observation::Judged;

    fn failed(class: Class) -> Observation {
        Observation { outcome: Outcome::Fail, ..ours(class, "as seen".to_owned()) }
    }

    fn assertion(on: &[(&str, bool)]) -> Observation {
        let assertions = on.iter().map(|(on, holds)| Judged {
            on: (*on).to_owned(),
            op: "ge".to_owned(),
            value: Value::from(1),
            holds: Some(*holds),
            actual: String::new(),
        });
        Observation { assertions: assertions.collect(), ..failed(Class::Assertion) }
    }

    fn class(seen: Observation, stalled: bool, ahead_s: i64) -> (Outcome, Option<Class>) {
        let seen = blame(seen, stalled, Some(ahead_s * 1_000_000), Some(500));
        (seen.outcome, seen.class)
    }

    #[test]
    fn a_clock_that_is_30_s_off_does_not_judge_dates() {
        let clock = (Outcome::Error, Some(Class::AgentClock));
        for ahead in [-31, 31] {
            assert_eq!(class(failed(Class::TlsExpired), false, ahead), clock);
            assert_eq!(class(failed(Class::TlsNotYetValid), false, ahead), clock);
            assert_eq!(
                class(assertion(&[("status", true), ("cert_days_left", false)]), false, ahead),
                clock
            );
            let both = assertion(&[("status", false), ("cert_days_left", false)]);
            assert_eq!(class(both, false, ahead).1, Some(Class::Assertion));
            assert_eq!(class(failed(Class::TlsNameMismatch), false, ahead).0, Outcome::Fail);
        }
        assert_eq!(class(failed(Class::TlsExpired), false, 30).0, Outcome::Fail);
    }

    #[test]
    fn an_agent_that_did_not_run_does_not_call_the_target_slow() {
        let overload = (Outcome::Error, Some(Class::AgentOverload));
        assert_eq!(class(failed(Class::ConnectTimeout), true, 0), overload);
        assert_eq!(class(assertion(&[("latency_ms", false)]), true, 0), overload);
        assert_eq!(class(failed(Class::ConnectRefused), true, 0).0, Outcome::Fail);
        assert_eq!(class(failed(Class::ConnectTimeout), false, 0).0, Outcome::Fail);
        let mut pass = Observation { outcome: Outcome::Pass, class: None, ..failed(Class::Status) };
        assert_eq!(class(pass.clone(), true, 0).0, Outcome::Pass);
        pass.phases_us.total = 501_000;
        assert_eq!(class(pass, true, 0), overload);
    }

    #[test]
    fn while_the_references_fail_only_an_answer_speaks_of_the_target() {
        let own = |seen| {
            let seen = own_line(seen);
            (seen.outcome, seen.class)
        };
        let line = (Outcome::Error, Some(Class::AgentSelfcheck));
        assert_eq!(own(failed(Class::ConnectTimeout)), line);
        assert_eq!(own(failed(Class::DnsTimeout)), line);
        let answered = Observation { status: Some(503), ..failed(Class::Status) };
        assert_eq!(own(answered), (Outcome::Fail, Some(Class::Status)));
        let pass = Observation { outcome: Outcome::Pass, class: None, ..failed(Class::Status) };
        assert_eq!(own(pass), (Outcome::Pass, None));
    }

    #[test]
    fn a_gap_between_ticks_is_seen_by_the_attempts_around_it() {
        let stalls = Stalls::new(0);
        stalls.tick(200_000);
        let mark = stalls.mark();
        stalls.tick(400_000);
        assert!(!stalls.since(mark, 900_000));
        assert!(stalls.since(mark, 1_200_000), "the gap goes on");
        stalls.tick(1_200_000);
        assert!(stalls.since(mark, 1_200_001));
        assert!(!stalls.since(stalls.mark(), 1_200_001));
    }

    #[test]
    fn a_check_that_this_agent_does_not_know_is_no_failure_of_the_target() {
        let check = serde_json::json!({"kind": "from-the-future"});
        let why = fill(check, &Secrets::default()).unwrap_err();
        assert!(why.contains("update the agent"), "{why}");
    }
}
