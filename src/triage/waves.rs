//! Asking the other locations at once. How much may be asked is counted in this process only: a budget
//! protects targets and agents from us, and a second coordinator at most doubles it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::context::Context;
use super::{Decided, Triage};
use crate::domain::Millis;
use crate::domain::decision::wave::{self, Bucket};
use crate::domain::decision::{FirstKind, Standing};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::store;
use crate::store::wake::NewRequest;

/// Wave probes that one location may be asked for: per second, and at once.
const RATE: f64 = 10.0;
const BURST: f64 = 100.0;
/// First failures are remembered for half a minute.
const WINDOW: Millis = 30_000;
/// Below this many failing monitors a location is not in question: with few monitors any one failure
/// would be more than a fifth.
const FEW: usize = 5;
/// A wave that was not answered by then has lost its purpose.
const EXPIRES: SignedDuration = SignedDuration::from_secs(30);

/// So few suspect monitors are nobody's shared trouble.
const FEW_SUSPECTS: usize = 5;
/// At most so many monitors are asked about in an extra wave.
const EXTRA: usize = 200;

/// What has been asked and what has failed of late, by location.
#[derive(Debug, Default)]
pub(super) struct Budget {
    spent: Mutex<HashMap<LocationKey, Spent>>,
    /// When the last extra wave was sent, and when monitors were last counted for one.
    extra: Mutex<(Option<Millis>, Option<Millis>)>,
}

#[derive(Debug)]
struct Spent {
    bucket: Bucket,
    first_fails: VecDeque<(Millis, MonitorKey)>,
}

impl Budget {
    fn with<T>(&self, location: LocationKey, now: Millis, f: impl FnOnce(&mut Spent) -> T) -> T {
        let mut all = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = all.entry(location).or_insert_with(|| Spent {
            bucket: Bucket::full(RATE, BURST, now),
            first_fails: VecDeque::new(),
        });
        f(spent)
    }

    /// Notes first failures; answers how many monitors of this location began to fail within the
    /// window.
    fn note(&self, location: LocationKey, monitor: MonitorKey, now: Millis) -> usize {
        self.with(location, now, |spent| {
            while spent.first_fails.front().is_some_and(|(at, _)| now - at > WINDOW) {
                spent.first_fails.pop_front();
            }
            if !spent.first_fails.iter().any(|(_, m)| *m == monitor) {
                spent.first_fails.push_back((now, monitor));
            }
            spent.first_fails.len()
        })
    }

    fn take(&self, location: LocationKey, now: Millis) -> bool {
        self.with(location, now, |spent| spent.bucket.take(now))
    }

    /// Monitors that began to fail within the window, at any location.
    fn suspects(&self, now: Millis) -> BTreeSet<MonitorKey> {
        let all = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = all.values().flat_map(|spent| &spent.first_fails);
        recent.filter(|(at, _)| now - at <= WINDOW).map(|(_, monitor)| *monitor).collect()
    }

    /// Whether it is worth while to count the monitors: no extra wave within its gap, and not every second.
    fn may_count(&self, now: Millis) -> bool {
        let mut extra = self.extra.lock().unwrap_or_else(PoisonError::into_inner);
        let (sent, counted) = *extra;
        let due = sent.is_none_or(|at| now - at >= WINDOW)
            && counted.is_none_or(|at| now - at >= 1_000 || now < at);
        if due {
            extra.1 = Some(now);
        }
        due
    }

    fn sent_extra(&self, now: Millis) {
        self.extra.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(now);
    }
}

impl Triage {
    /// Starts the waves that this transaction's first failures and first passes call for.
    pub(super) async fn ask_others(
        &self,
        conn: &mut PgConnection,
        context: &Context,
        decided: &mut [Decided],
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if decided.iter().all(|one| one.step.firsts.is_empty()) {
            return Ok(());
        }
        let held = self.held(conn, decided, now).await?;
        let mut requests = Vec::new();
        for one in decided.iter_mut().filter(|one| !one.step.firsts.is_empty()) {
            let given = one.config.given(context);
            let inputs = one.config.inputs(&given, context, now);
            let spare = |location| {
                context.locations.get(&location).is_some_and(|l| l.online)
                    && self.waves.take(location, now.as_millisecond())
            };
            let (verdict, firsts) = (&one.step.verdict, &one.step.firsts);
            let Some(wave) = wave::plan(&mut one.live, &inputs, verdict, firsts, &held, spare)
            else {
                continue;
            };
            let batch = store::id_at(now);
            let monitor = one.config.monitor;
            requests.extend(wave.ask.into_iter().map(|to| confirm(monitor, to, batch, now)));
        }
        self.ask_about_all(conn, context, now, &mut requests).await?;
        store::wake::request(conn, &requests).await
    }

    /// Half of all monitors fail at once: one extra wave about all of them, also where a brake or a gap held
    /// theirs, and fresh self-checks everywhere, so that it is known within seconds whose fault it is.
    /// Nothing waits for the answers: decisions are made on what there is.
    async fn ask_about_all(
        &self,
        conn: &mut PgConnection,
        context: &Context,
        now: Timestamp,
        requests: &mut Vec<NewRequest>,
    ) -> sqlx::Result<()> {
        let at = now.as_millisecond();
        let suspects = self.waves.suspects(at);
        if suspects.len() < FEW_SUSPECTS || !self.waves.may_count(at) {
            return Ok(());
        }
        let monitors = store::triage_read::enabled(conn).await?;
        if !wave::shared_trouble(suspects.len(), monitors) {
            return Ok(());
        }
        self.waves.sent_extra(at);
        tracing::warn!(suspects = suspects.len(), monitors, "half of all monitors fail at once");
        for monitor in suspects.into_iter().take(EXTRA) {
            // Settings that were remembered are good enough to ask.
            let Some(config) = self.configs.known(monitor) else { continue };
            let batch = store::id_at(now);
            let seats = context.seats(monitor, &config.locations);
            let asked = seats.iter().filter(|seat| {
                seat.standing == Standing::Counted
                    && context.locations.get(&seat.key).is_some_and(|l| l.online)
                    && !requests
                        .iter()
                        .any(|r| (r.monitor, r.location) == (Some(monitor), seat.key))
                    && self.waves.take(seat.key, at)
            });
            let keys: Vec<LocationKey> = asked.take(wave::FANOUT).map(|seat| seat.key).collect();
            requests.extend(keys.into_iter().map(|to| confirm(monitor, to, batch, now)));
        }
        let mut locations: Vec<i16> = context.locations.keys().map(|key| key.0).collect();
        locations.sort_unstable();
        store::location_health::review(conn, &locations, now).await
    }

    /// Locations at which so many monitors begin to fail at once that the location itself is in
    /// question; its failures start no waves.
    async fn held(
        &self,
        conn: &mut PgConnection,
        decided: &[Decided],
        now: Timestamp,
    ) -> sqlx::Result<Vec<LocationKey>> {
        let mut failed: HashMap<LocationKey, usize> = HashMap::new();
        for one in decided {
            for first in one.step.firsts.iter().filter(|f| f.kind == FirstKind::Fail) {
                let count =
                    self.waves.note(first.location, one.config.monitor, now.as_millisecond());
                failed.insert(first.location, count);
            }
        }
        let mut held = Vec::new();
        for (location, failed) in failed.into_iter().filter(|(_, failed)| *failed >= FEW) {
            let monitors = store::triage_read::monitors_at(conn, location).await?;
            if wave::location_in_question(failed, monitors) {
                tracing::warn!(
                    location = location.0,
                    failed,
                    monitors,
                    "no waves: the location itself is in question"
                );
                held.push(location);
            }
        }
        held.sort_unstable();
        let in_question: Vec<i16> = held.iter().map(|location| location.0).collect();
        if !in_question.is_empty() {
            store::location_health::review(conn, &in_question, now).await?;
        }
        Ok(held)
    }
}

fn confirm(monitor: MonitorKey, location: LocationKey, batch: Uuid, now: Timestamp) -> NewRequest {
    NewRequest {
        uid: store::id_at(now),
        batch,
        location,
        monitor: Some(monitor),
        kind: "confirm",
        sealed_check: None,
        timeout_ms: None,
        requested_by: "wave".to_owned(),
        created_at: now,
        expires_at: now + EXPIRES,
    }
}
