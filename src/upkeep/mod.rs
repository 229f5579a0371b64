//! Timed chores, each a step that any coordinator may take: sweep (silence takes the same road as
//! reports), partitions, roll-ups, refolds of late reports, retention.

mod alerts;
mod counters;
pub mod fleets;
mod odds;
mod refold;
mod reports;
pub mod rollups;
mod slos;

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use sqlx::PgPool;

use crate::clock::Clock;
use crate::store;
use crate::triage::{self, Triage};

/// A sweep older than this means that no coordinator was running.
const GAP: SignedDuration = SignedDuration::from_secs(15);
/// Leniency after a gap is granted once in this time.
const GRACE_AGAIN: SignedDuration = SignedDuration::from_secs(600);
/// Partitions exist this many days ahead.
const DAYS_AHEAD: i32 = 3;
/// Quarter-hour roll-ups are kept this long.
const QUARTERS_KEPT: SignedDuration = SignedDuration::from_hours(400 * 24);
/// Requests of fleets are kept by the window this long: until the report on a quarter is frozen.
const REQUESTS_KEPT: SignedDuration = SignedDuration::from_hours(100 * 24);
/// What logs and platforms said of instances is kept this long.
const EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// An agent's start is forgotten after this long without a batch of it.
const BOOTS_KEPT: SignedDuration = SignedDuration::from_hours(35 * 24);

/// The chores of one coordinator.
#[derive(Debug, Clone)]
pub struct Upkeep {
    pub pool: PgPool,
    pub triage: Arc<Triage>,
    pub fleets: Arc<fleets::Fleets>,
    pub clock: Clock,
}

impl Upkeep {
    pub fn new(pool: PgPool, clock: Clock) -> Self {
        let triage = Arc::new(Triage::new(pool.clone()));
        Self { triage, fleets: Arc::default(), pool, clock }
    }

    /// Notices a gap in which nobody swept, then lets time pass for every monitor whose deadline has
    /// come. True when more are waiting.
    pub async fn sweep(&self, now: Timestamp) -> anyhow::Result<bool> {
        self.look_for_gap(now).await?;
        self.begin_maintenance(now).await?;
        Ok(self.triage.sweep(now).await?)
    }

    /// Writes `sweep_at`; when it is older than 15 s, the time since is not known for any monitor, the
    /// live rows of its beginning are kept for a refold, and deadlines become lenient once.
    async fn look_for_gap(&self, now: Timestamp) -> sqlx::Result<()> {
        let mut tx = self.pool.begin().await?;
        let old = store::chores::sweep(&mut tx).await?;
        let mut row = old.unwrap_or(store::chores::SweepRow {
            sweep_at: now,
            grace_until: None,
            grace_set_at: None,
        });
        if now.duration_since(row.sweep_at) > GAP {
            store::chores::add_not_running(&mut tx, row.sweep_at, now).await?;
            store::timeline::checkpoint_all(&mut tx, row.sweep_at).await?;
            let again = row.grace_set_at.is_none_or(|at| now.duration_since(at) >= GRACE_AGAIN);
            if again {
                let stale_after = store::chores::longest_stale_after(&mut tx).await?;
                row.grace_until = Some(now + SignedDuration::from_secs(stale_after));
                row.grace_set_at = Some(now);
            }
            // Not a warning: whoever starts us knows, and `quorate up` says it in its own words.
            tracing::info!(
                from = %row.sweep_at, to = %now, lenient = again,
                "no coordinator was running; that time is unknown in every figure"
            );
        }
        row.sweep_at = now;
        store::chores::set_sweep(&mut tx, row).await?;
        tx.commit().await
    }

    /// Writes down what maintenance covers that has begun, and what comes next.
    async fn begin_maintenance(&self, now: Timestamp) -> sqlx::Result<()> {
        store::maintenance_occurrences::look_ahead(&mut *self.pool.acquire().await?, now).await?;
        let mut tx = self.pool.begin().await?;
        store::maintenance_occurrences::begin_due(&mut tx, now, 100).await?;
        tx.commit().await
    }

    /// Creates the days' partitions ahead of time and drops those beyond the retention.
    pub async fn partitions(&self, now: Timestamp) -> sqlx::Result<()> {
        let mut tx = self.pool.begin().await?;
        if !store::chores::claim(&mut tx, "partitions").await? {
            return Ok(());
        }
        let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
        let existing = store::reports::partition_days(&mut tx).await?;
        let of_calls = store::heartbeats::partition_days(&mut tx).await?;
        for offset in -1..=DAYS_AHEAD {
            let Ok(day) = today.checked_add(jiff::Span::new().days(offset)) else { continue };
            if !existing.contains(&day) {
                store::reports::ensure_partition(&mut tx, day).await?;
            }
            if !of_calls.contains(&day) {
                store::heartbeats::ensure_partition(&mut tx, day).await?;
            }
        }
        let kept = store::settings_read::raw_days(&mut tx).await?;
        if let Ok(oldest) = today.checked_sub(jiff::Span::new().days(kept)) {
            for day in existing.into_iter().filter(|day| *day < oldest) {
                store::reports::drop_partition(&mut tx, day).await?;
            }
            for day in of_calls.into_iter().filter(|day| *day < oldest) {
                store::heartbeats::drop_partition(&mut tx, day).await?;
            }
        }
        tx.commit().await
    }

    /// One round of roll-ups; true when there may be more.
    pub async fn roll_up(&self, now: Timestamp) -> sqlx::Result<bool> {
        let zones = store::settings_read::report_zones(&mut *self.pool.acquire().await?).await?;
        rollups::step(&self.pool, &zones, now).await
    }

    /// Makes monitors look from where their rules say: a location may have come while nobody served.
    pub async fn follow_locations(&self, now: Timestamp) -> anyhow::Result<()> {
        let mut tx = self.pool.begin().await?;
        store::locations::lock_set(&mut tx).await?;
        self.triage.follow_locations(&mut tx, None, now).await?;
        Ok(tx.commit().await?)
    }

    /// Refolds one monitor whose late reports have all come; true when there may be more.
    pub async fn refold(&self, now: Timestamp) -> anyhow::Result<bool> {
        refold::step(&self.pool, now).await
    }

    /// Judges the fleets' windows whose lines are all here; true when there may be more.
    pub async fn judge_fleets(&self, now: Timestamp) -> anyhow::Result<bool> {
        self.fleets.step(&self.pool, now).await
    }

    /// Evaluates SLOs whose evaluation is older than half a minute; true when there may be more.
    pub async fn evaluate_slos(&self, now: Timestamp) -> sqlx::Result<bool> {
        slos::refresh(&self.pool, now).await
    }

    /// Lets the counters of `/metrics` advance; true when there may be more.
    pub async fn count(&self, now: Timestamp) -> sqlx::Result<bool> {
        counters::step(&self.pool, now).await
    }

    /// Freezes reports on windows that are over, and again those whose data have changed; true when there
    /// may be more.
    pub async fn freeze_reports(&self, now: Timestamp) -> sqlx::Result<bool> {
        slos::freeze(&self.pool, now).await
    }

    /// Tells what time has brought to open incidents: the steps of escalations, reminders. True when more is
    /// waiting.
    pub async fn escalate(&self, now: Timestamp) -> anyhow::Result<bool> {
        Ok(self.triage.escalate(now).await?)
    }

    /// Looks at the certificates that monitors are shown, where it is time to; true when more are waiting.
    pub async fn look_at_certificates(&self, now: Timestamp) -> anyhow::Result<bool> {
        Ok(triage::certificates::step(&self.pool, now).await?)
    }

    /// Looks at the failover groups; one coordinator at a time, because what changed is told once.
    pub async fn look_at_failover(&self, now: Timestamp) -> anyhow::Result<()> {
        let mut tx = self.pool.begin().await?;
        if store::chores::claim(&mut tx, "failover").await? {
            triage::failover::step(&mut tx, now).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Looks at whom to believe, then lets the monitors be decided anew that this concerns; one coordinator
    /// at a time.
    pub async fn look_at_locations(&self, now: Timestamp) -> sqlx::Result<()> {
        let mut tx = self.pool.begin().await?;
        if store::chores::claim(&mut tx, "locations").await? {
            triage::health::step(&mut tx, now).await?;
        }
        tx.commit().await?;
        loop {
            let mut tx = self.pool.begin().await?;
            let more = store::chores::claim(&mut tx, "wake").await?
                && triage::health::wake(&mut tx, now).await?;
            tx.commit().await?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Looks after alerts that no channel took, and after Quorate's own clocks.
    pub async fn look_after_alerts(&self, now: Timestamp) -> sqlx::Result<()> {
        alerts::step(&self.pool, now).await
    }

    /// Makes the reports of a schedule that is due; true when there may be more.
    pub async fn make_reports(&self, now: Timestamp) -> sqlx::Result<bool> {
        reports::step(&self.pool, now).await
    }

    /// Sums how often locations fail by themselves, a day at a time; true when there may be more.
    pub async fn sum_odds(&self, now: Timestamp) -> sqlx::Result<bool> {
        odds::step(&self.pool, now).await
    }

    /// Deletes what has had its time.
    pub async fn forget(&self, now: Timestamp) -> sqlx::Result<()> {
        let mut tx = self.pool.begin().await?;
        if !store::chores::claim(&mut tx, "forget").await? {
            return Ok(());
        }
        store::chores::forget(&mut tx, now).await?;
        store::boots::forget_before(&mut tx, now - BOOTS_KEPT).await?;
        store::rollups::forget_quarters(&mut tx, now - QUARTERS_KEPT).await?;
        store::fleet_quarters::forget_quarters(&mut tx, now - QUARTERS_KEPT).await?;
        store::slo_requests::forget_windows(&mut tx, now - REQUESTS_KEPT).await?;
        store::fleet_sources::forget_files(&mut tx, now - QUARTERS_KEPT).await?;
        store::fleet_events::forget(&mut tx, now - EVENTS_KEPT).await?;
        store::failover::forget(&mut tx, now - QUARTERS_KEPT).await?;
        store::storms::forget(&mut tx, now - EVENTS_KEPT).await?;
        store::certificates::forget_alarms(&mut tx, now - EVENTS_KEPT).await?;
        store::fleet_states::forget(&mut tx, now - QUARTERS_KEPT, now - EVENTS_KEPT).await?;
        tx.commit().await
    }

    /// Sweeps every second.
    pub async fn run_sweep(
        self,
        pulse: impl Fn() + Send + Sync,
        stop: tokio_util::sync::CancellationToken,
    ) {
        while !stop.is_cancelled() {
            match self.sweep(self.clock.now()).await {
                Ok(true) => {
                    pulse();
                    continue;
                }
                Ok(false) => {}
                Err(error) => tracing::error!(error = format!("{error:#}"), "the sweep failed"),
            }
            // A tick that ends in a database error is a moved loop all the same.
            pulse();
            if wait(&self.clock, Duration::from_secs(1), &stop).await {
                break;
            }
        }
    }

    /// Looks every second at what waits for its time: escalations, certificates.
    pub async fn run_alerts(self, stop: tokio_util::sync::CancellationToken) {
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let more = [
                log("escalations", self.escalate(now).await),
                log("certificates", self.look_at_certificates(now).await),
            ];
            if !more.contains(&Some(true)) && wait(&self.clock, Duration::from_secs(1), &stop).await
            {
                break;
            }
        }
    }

    /// Looks at the fleets and the failover groups every second.
    pub async fn run_fleets(self, stop: tokio_util::sync::CancellationToken) {
        while !stop.is_cancelled() {
            let more = log("fleets", self.judge_fleets(self.clock.now()).await);
            log("failover", self.look_at_failover(self.clock.now()).await);
            if more != Some(true) && wait(&self.clock, Duration::from_secs(1), &stop).await {
                break;
            }
        }
    }

    /// Looks at the locations every five seconds.
    pub async fn run_locations(self, stop: tokio_util::sync::CancellationToken) {
        while !stop.is_cancelled() {
            let looked = self.look_at_locations(self.clock.now()).await;
            log("locations", looked.map_err(Into::into));
            if wait(&self.clock, Duration::from_secs(5), &stop).await {
                break;
            }
        }
    }

    /// Looks every five seconds at what waits for a parent and at what no channel took.
    pub async fn run_deliveries(self, stop: tokio_util::sync::CancellationToken) {
        while !stop.is_cancelled() {
            log("alerts", self.look_after_alerts(self.clock.now()).await.map_err(Into::into));
            if wait(&self.clock, Duration::from_secs(5), &stop).await {
                break;
            }
        }
    }

    /// Evaluates SLOs and lets counters advance, as they fall due.
    pub async fn run_slos(self, stop: tokio_util::sync::CancellationToken) {
        while !stop.is_cancelled() {
            let now = self.clock.now();
            let evaluated = log("slos", self.evaluate_slos(now).await.map_err(Into::into));
            let counted = log("counters", self.count(now).await.map_err(Into::into));
            let more = [evaluated, counted].contains(&Some(true));
            if !more && wait(&self.clock, Duration::from_secs(5), &stop).await {
                break;
            }
        }
    }

    /// Everything that can wait a little: roll-ups and refolds every ten seconds, partitions and
    /// retention every hour.
    pub async fn run_chores(self, stop: tokio_util::sync::CancellationToken) {
        let mut hourly = Timestamp::MIN;
        while !stop.is_cancelled() {
            let now = self.clock.now();
            if now.duration_since(hourly) >= SignedDuration::from_hours(1) {
                hourly = now;
                log("partitions", self.partitions(now).await.map_err(Into::into));
                log("retention", self.forget(now).await.map_err(Into::into));
            }
            let rolled = log("roll-ups", self.roll_up(now).await.map_err(Into::into));
            let refolded = log("refolds", self.refold(now).await);
            let frozen = log("reports", self.freeze_reports(now).await.map_err(Into::into));
            let made = log("scheduled reports", self.make_reports(now).await.map_err(Into::into));
            let summed = log("odds", self.sum_odds(now).await.map_err(Into::into));
            let more = [rolled, refolded, frozen, made, summed].contains(&Some(true));
            if !more && wait(&self.clock, Duration::from_secs(10), &stop).await {
                break;
            }
        }
    }
}

fn log<T>(chore: &'static str, result: anyhow::Result<T>) -> Option<T> {
    result
        .inspect_err(|error| tracing::error!(chore, error = format!("{error:#}"), "a chore failed"))
        .ok()
}

/// Waits; true when it is time to stop.
async fn wait(clock: &Clock, span: Duration, stop: &tokio_util::sync::CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = clock.sleep(span) => false,
    }
}
