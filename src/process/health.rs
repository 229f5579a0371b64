//! Our own health, answered the way we ask it of everyone.
//!
//! * `/livez` fails only if a work loop has not moved for 30 s. It never looks at the database:
//!   restarting us would not mend that. A tick that ends in an error is a loop that moved.
//! * `/readyz` fails before the start is over, while draining, and while our database connections are
//!   all taken *although the database answers*. An outage of the database is shared by all of us, and
//!   taking every one out of the balancer would only hide the page that says so: it is a metric and a
//!   banner instead.
//! * `/startupz` says whether the start is over.
//!
//! All three read a few atomics and touch nothing else, so they answer under any load.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Router,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio_util::sync::CancellationToken;

/// A loop that has not moved for this long hangs. Loops move at least every few seconds.
pub const STUCK_AFTER: Duration = Duration::from_secs(30);

/// The state behind the three answers. Cloning is cheap; clones are the same state.
#[derive(Clone, Debug)]
pub struct Health(Arc<State>);

#[derive(Debug)]
struct State {
    born: Instant,
    started: AtomicBool,
    draining: CancellationToken,
    database_answers: AtomicBool,
    database_saturated: AtomicBool,
    loops: Mutex<Vec<Arc<Loop>>>,
}

#[derive(Debug)]
struct Loop {
    name: &'static str,
    /// Milliseconds from `born` to the last movement.
    moved: AtomicU64,
}

/// A work loop's way to say that it moves. Call [`Pulse::moved`] once a turn, whatever came of it.
#[derive(Clone, Debug)]
pub struct Pulse {
    born: Instant,
    this: Arc<Loop>,
}

/// One thing that readiness or liveness rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    /// What is so, as half a sentence.
    pub text: String,
}

impl Health {
    /// Not started yet. `draining` is [`super::Shutdown::draining`].
    pub fn new(draining: CancellationToken) -> Self {
        Self(Arc::new(State {
            born: Instant::now(),
            started: AtomicBool::new(false),
            draining,
            database_answers: AtomicBool::new(false),
            database_saturated: AtomicBool::new(false),
            loops: Mutex::default(),
        }))
    }

    /// The start is over: migrated, connected, first state loaded.
    pub fn started(&self) {
        self.0.started.store(true, Ordering::Relaxed);
    }

    /// Watches one more loop. It counts as moved now. A loop that ends, by itself or by a panic, is
    /// stuck from then on, unless we are draining.
    pub fn pulse(&self, name: &'static str) -> Pulse {
        let moved = AtomicU64::new(millis_between(self.0.born, Instant::now()));
        let this = Arc::new(Loop { name, moved });
        let mut loops = self.0.loops.lock().unwrap_or_else(PoisonError::into_inner);
        loops.push(this.clone());
        Pulse { born: self.0.born, this }
    }

    /// What the last probe of the database found: whether it answered, and whether all connections of
    /// our pool were taken with someone waiting. The latter counts only together with the former.
    pub fn database(&self, answers: bool, saturated: bool) {
        self.0.database_answers.store(answers, Ordering::Relaxed);
        self.0.database_saturated.store(answers && saturated, Ordering::Relaxed);
    }

    /// Whether the last probe of the database was answered; for the metric and the banner.
    pub fn database_answers(&self) -> bool {
        self.0.database_answers.load(Ordering::Relaxed)
    }

    pub fn is_started(&self) -> bool {
        self.0.started.load(Ordering::Relaxed)
    }

    pub fn is_live(&self) -> bool {
        self.live_checks().iter().all(|check| check.ok)
    }

    pub fn is_ready(&self) -> bool {
        self.ready_checks().iter().all(|check| check.ok)
    }

    /// Each loop and when it last moved. While draining loops may end, so then all is well.
    pub fn live_checks(&self) -> Vec<Check> {
        self.live_checks_at(Instant::now())
    }

    fn live_checks_at(&self, now: Instant) -> Vec<Check> {
        let draining = self.0.draining.is_cancelled();
        let now = millis_between(self.0.born, now);
        let loops = self.0.loops.lock().unwrap_or_else(PoisonError::into_inner);
        let check = |this: &Arc<Loop>| {
            let still = now.saturating_sub(this.moved.load(Ordering::Relaxed));
            let ok = draining || u128::from(still) <= STUCK_AFTER.as_millis();
            Check { name: this.name, ok, text: format!("moved {} s ago", still / 1_000) }
        };
        loops.iter().map(check).collect()
    }

    /// Everything that readiness rests on, for callers who may know.
    pub fn ready_checks(&self) -> Vec<Check> {
        let started = self.is_started();
        let draining = self.0.draining.is_cancelled();
        let saturated = self.0.database_saturated.load(Ordering::Relaxed);
        let check = |name, ok, well: &str, ill: &str| {
            let text = if ok { well } else { ill };
            Check { name, ok, text: text.to_owned() }
        };
        vec![
            check("started", started, "the start is over", "still starting"),
            check("draining", !draining, "not stopping", "stopping; send clients elsewhere"),
            check(
                "database pool",
                !saturated,
                "connections are free",
                "all connections are taken although the database answers",
            ),
        ]
    }

    /// The three answers, for whoever asks, without detail.
    pub fn routes<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let answer = |well: fn(&Health) -> bool| {
            let health = self.clone();
            get(move || std::future::ready(respond(well(&health))))
        };
        Router::new()
            .route("/livez", answer(Health::is_live))
            .route("/readyz", answer(Health::is_ready))
            .route("/startupz", answer(Health::is_started))
    }
}

impl Pulse {
    pub fn moved(&self) {
        self.moved_at(Instant::now());
    }

    fn moved_at(&self, now: Instant) {
        self.this.moved.store(millis_between(self.born, now), Ordering::Relaxed);
    }
}

fn millis_between(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_millis()).unwrap_or(u64::MAX)
}

/// 200 `ok` or 503 `no`; never kept by a cache.
pub fn respond(well: bool) -> Response {
    let (status, body) =
        if well { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "no\n") };
    (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;

    fn health() -> (Health, CancellationToken) {
        let draining = CancellationToken::new();
        (Health::new(draining.clone()), draining)
    }

    async fn status(health: &Health, path: &str) -> u16 {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = health.routes::<()>().with_state(()).oneshot(request).await.unwrap();
        assert_eq!(response.headers()["cache-control"], "no-store");
        response.status().as_u16()
    }

    #[tokio::test]
    async fn it_is_ready_from_the_end_of_the_start_until_it_drains() {
        let (health, draining) = health();
        assert_eq!(status(&health, "/startupz").await, 503);
        assert_eq!(status(&health, "/readyz").await, 503);
        assert_eq!(status(&health, "/livez").await, 200);
        health.started();
        assert_eq!(status(&health, "/startupz").await, 200);
        assert_eq!(status(&health, "/readyz").await, 200);
        draining.cancel();
        assert_eq!(status(&health, "/readyz").await, 503);
        assert_eq!(status(&health, "/startupz").await, 200);
    }

    #[test]
    fn it_is_alive_while_every_loop_moves() {
        let (health, draining) = health();
        let (sweep, deliver) = (health.pulse("sweep"), health.pulse("deliver"));
        let began = Instant::now();
        sweep.moved_at(began);
        deliver.moved_at(began);
        let stuck = |at: Duration| {
            let checks = health.live_checks_at(began + at).into_iter();
            checks
                .filter(|check| !check.ok)
                .map(|check| (check.name, check.text))
                .collect::<Vec<_>>()
        };
        assert!(health.is_live());
        assert_eq!(stuck(STUCK_AFTER), []);
        let late = STUCK_AFTER + Duration::from_secs(1);
        sweep.moved_at(began + STUCK_AFTER);
        assert_eq!(stuck(late), [("deliver", "moved 31 s ago".to_owned())]);
        deliver.moved_at(began + late);
        assert_eq!(stuck(late), []);
        draining.cancel();
        assert_eq!(stuck(late * 10), [], "loops may end while draining");
    }

    #[test]
    fn a_database_outage_shared_by_all_takes_nobody_out() {
        let (health, _) = health();
        health.started();
        health.database(false, true);
        assert!(health.is_ready() && health.is_live() && !health.database_answers());
        health.database(true, true);
        assert!(!health.is_ready() && health.is_live());
        health.database(true, false);
        assert!(health.is_ready());
    }
}
