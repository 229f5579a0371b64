//! One look a second at the database for all streams of this coordinator: agents' assignments, the UI's
//! events, people waiting for a probe. A notification in between makes it look at once.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use sqlx::{PgPool, postgres::PgListener};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    clock::Clock,
    store::{
        self,
        hub::{CoordinatorRow, FleetMark, Marks},
    },
};

/// Streams look this often even if nobody tells them to.
const POLL: Duration = Duration::from_secs(1);
/// How often the coordinator says that it is there.
const HERE: SignedDuration = SignedDuration::from_secs(5);
/// Decisions are stored under the instant at which they were made and seen once they are committed, so
/// each look reaches back this far.
const REACH: SignedDuration = SignedDuration::from_secs(10);

/// What the UI is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    pub monitors: Vec<Uuid>,
    pub incidents: Vec<Uuid>,
    pub locations: bool,
    pub results: bool,
    pub fleets: Vec<Uuid>,
    pub lines: bool,
}

/// Hands marks and news to streams. Cloning is cheap. [`Hub::run`] must run for anything to happen.
#[derive(Debug, Clone)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Uuid,
    started_at: Timestamp,
    pool: PgPool,
    clock: Clock,
    marks: watch::Sender<Marks>,
    news: broadcast::Sender<News>,
    stopping: CancellationToken,
}

/// What the last looks have told already.
#[derive(Debug, Default)]
struct Told {
    rev: Option<i64>,
    since: Option<Timestamp>,
    decisions: HashSet<i64>,
    events: HashSet<(Uuid, i32)>,
    fleets: Option<HashMap<Uuid, FleetMark>>,
    here_at: Option<Timestamp>,
}

impl Hub {
    pub fn new(pool: PgPool, clock: Clock, stopping: CancellationToken) -> Self {
        let started_at = clock.now();
        Self(Arc::new(Inner {
            id: store::id_at(started_at),
            started_at,
            pool,
            clock,
            marks: watch::Sender::default(),
            news: broadcast::Sender::new(64),
            stopping,
        }))
    }

    /// This coordinator's id for this start.
    pub fn id(&self) -> Uuid {
        self.0.id
    }

    /// Cancelled when streams must end.
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    /// Changes whenever something has moved.
    pub fn marks(&self) -> watch::Receiver<Marks> {
        self.0.marks.subscribe()
    }

    pub fn news(&self) -> broadcast::Receiver<News> {
        self.0.news.subscribe()
    }

    /// Looks until the coordinator stops.
    pub async fn run(self) {
        let mut told = Told::default();
        let mut listener = None;
        loop {
            if let Err(error) = self.look(&mut told).await {
                tracing::debug!(%error, "the streams' look at the database failed");
            }
            if listener.is_none() {
                listener = self.listen().await.ok();
            }
            tokio::select! {
                () = self.0.stopping.cancelled() => break,
                () = tokio::time::sleep(POLL) => {}
                heard = hear(listener.as_mut()) => if heard.is_err() {
                    listener = None;
                },
            }
        }
        if let Ok(mut conn) = self.0.pool.acquire().await {
            let _ = store::hub::gone(&mut conn, self.0.id).await;
        }
    }

    async fn listen(&self) -> sqlx::Result<PgListener> {
        let mut listener = PgListener::connect_with(&self.0.pool).await?;
        listener.listen(store::WAKE_CHANNEL).await?;
        Ok(listener)
    }

    /// One look; also what tests call.
    async fn look(&self, told: &mut Told) -> sqlx::Result<()> {
        let now = self.0.clock.now();
        let mut conn = self.0.pool.acquire().await?;
        if told.here_at.is_none_or(|at| now.duration_since(at) >= HERE) {
            let row = CoordinatorRow {
                id: self.0.id,
                started_at: self.0.started_at,
                seen_at: now,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                clock_offset_ms: i32::try_from(self.0.clock.offset_micros() / 1_000).unwrap_or(0),
            };
            store::hub::here(&mut conn, &row).await?;
            told.here_at = Some(now);
        }
        let marks = store::hub::marks(&mut conn, now).await?;
        let before = self.0.marks.borrow().clone();
        let moved = marks != before;
        if moved {
            self.0.marks.send_replace(marks.clone());
        }
        let mut news = News {
            locations: marks.online != before.online,
            results: marks.results_at != before.results_at,
            ..News::default()
        };
        let rev = told.rev.replace(marks.rev).unwrap_or(marks.rev);
        if marks.rev > rev {
            let (monitors, location) = store::hub::edited(&mut conn, rev).await?;
            news.monitors = monitors;
            news.locations |= location;
        }
        self.decided(&mut conn, told, now, &mut news).await?;
        let fleets = store::hub::fleets(&mut conn, now).await?;
        // Whoever listens before the first look has loaded nothing for certain: all of them are news to it.
        let before = told.fleets.replace(fleets.clone()).unwrap_or_default();
        differing(&before, &fleets, &mut news);
        if news != News::default() {
            // Nobody listening is no error.
            let _ = self.0.news.send(news);
        }
        Ok(())
    }

    async fn decided(
        &self,
        conn: &mut sqlx::PgConnection,
        told: &mut Told,
        now: Timestamp,
        news: &mut News,
    ) -> sqlx::Result<()> {
        let since = told.since.unwrap_or(now);
        let first = told.since.is_none();
        let decisions = store::hub::decided(conn, since).await?;
        let events = store::hub::incidents(conn, since).await?;
        if !first {
            let fresh = decisions.iter().filter(|(id, _)| !told.decisions.contains(id));
            news.monitors.extend(fresh.map(|(_, uid)| *uid));
            news.monitors.sort_unstable();
            news.monitors.dedup();
            let fresh = events.iter().filter(|event| !told.events.contains(event));
            news.incidents.extend(fresh.map(|(id, _)| *id));
            news.incidents.sort_unstable();
            news.incidents.dedup();
        }
        told.decisions = decisions.into_iter().map(|(id, _)| id).collect();
        told.events = events.into_iter().collect();
        told.since = Some(now.saturating_sub(REACH).unwrap_or(now));
        Ok(())
    }
}

/// Which fleets are not as they were: made, deleted, saved, judged, or with sources that fell silent or are
/// heard again.
fn differing(before: &HashMap<Uuid, FleetMark>, now: &HashMap<Uuid, FleetMark>, news: &mut News) {
    for (uid, mark) in now {
        match before.get(uid) {
            Some(old) => {
                news.lines |= mark.received_at != old.received_at;
                if mark.has_moved(old) {
                    news.fleets.push(*uid);
                }
            }
            None => news.fleets.push(*uid),
        }
    }
    news.fleets.extend(before.keys().filter(|uid| !now.contains_key(uid)));
    news.fleets.sort_unstable();
}

/// The next notification; never, without a listener.
async fn hear(listener: Option<&mut PgListener>) -> sqlx::Result<()> {
    match listener {
        Some(listener) => listener.recv().await.map(|_| ()),
        None => std::future::pending().await,
    }
}
