//! Batches of log lines → sums and events, exactly once (spec: fleet, settled points).
//!
//! 1. [`lines`]: the body, decompressed and cut into pieces of whole lines, in a thread of its own.
//! 2. [`read`]: a piece → sums by window, events, counts. Also in a thread.
//! 3. Here: one transaction a piece, in which the file's offset moves with what was counted. Text that the
//!    file's offset has passed already counts nothing; text that would leave a gap is sent back.
//!
//! What platforms say is [`said`]. [`sums`] and [`names`] read what is stored.

mod lines;
pub mod names;
mod read;
pub mod said;
mod source;
pub mod sums;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use jiff::Timestamp;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use tokio::sync::{Semaphore, mpsc};

use self::{
    lines::{Body, Piece, Shape},
    read::{Recipe, Said, Warm, instant},
    source::{prepare, recipe},
};
use crate::{
    accesslog::Format,
    domain::{
        Invalid,
        fleet::{beats::Beats, cell::PoolCell, timeline::Marks},
        ids::FleetKey,
    },
    store::{
        self,
        fleet_cells::{CellRow, PoolRow, SHARE},
        fleet_sources::Took,
        fleets::FleetRow,
    },
};

pub use self::{
    lines::Encoding,
    read::Refused,
    source::{Instruction, mapping_of, source_name, stored},
};
pub use crate::accesslog::generic_json::Mapping;

/// Bodies that are read at once; each holds a few pieces.
const AT_ONCE: usize = 8;
/// Sources whose reading goes on from batch to batch in this process.
const WARM: usize = 256;
/// Samples are kept for so long, and so many.
const SAMPLES_KEPT: jiff::SignedDuration = jiff::SignedDuration::from_hours(7 * 24);
const MOST_SAMPLES: usize = 20;

/// Takes logs in. What it remembers between batches only makes route classes steadier and runs of
/// failures longer; every sum is whole without it.
#[derive(Debug)]
pub struct Intake {
    pool: PgPool,
    /// By fleet and source.
    warm: Mutex<HashMap<(FleetKey, String), Shared>>,
    turns: Semaphore,
}

/// What a source is read with, by one reader at a time.
type Shared = Arc<Mutex<Warm>>;

/// One body of lines, as somebody announced it.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub source: String,
    /// `balancer` or `instance`; none leaves it as it is.
    pub role: Option<&'static str>,
    /// What is said of how to read it.
    pub reading: Instruction,
    /// Id of the file, and where in its decompressed text this begins.
    pub file: Option<(String, u64)>,
    /// The file's name, where it says which of several balancers wrote it.
    pub name: Option<String>,
    /// The file ends with this: its last line counts without its line feed.
    pub end: bool,
    pub encoding: Encoding,
    /// The content type says JSON.
    pub json: bool,
}

/// What became of a body.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub accepted: u64,
    pub rejected: u64,
    /// Bytes that had been taken before.
    pub duplicate_bytes: u64,
    pub samples: Vec<Refused>,
    pub next_offset: Option<u64>,
    pub format: Option<&'static str>,
}

/// Why a body was not taken, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Something before it is missing.
    #[error("the file is here up to {next_offset}; go on from there")]
    Gap { next_offset: u64 },
    #[error("{0}")]
    Body(String),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

impl Intake {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, warm: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }

    /// Takes a body to its end. What was committed stays when a later part fails.
    pub async fn accept<E: std::fmt::Display + Send + 'static>(
        &self,
        fleet: &FleetRow,
        delivery: &Delivery,
        body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
        now: Timestamp,
    ) -> Result<Answer, Error> {
        let _turn = self.turns.acquire().await;
        let mut conn = self.pool.acquire().await?;
        let (source, balanced) = prepare(&mut conn, fleet, delivery).await?;
        let bounds = store::slo_requests::bounds(&mut conn, fleet.key).await?;
        let mut run = Run {
            intake: self,
            fleet,
            delivery,
            recipe: Recipe { bounds, ..recipe(delivery, &source, balanced, now)? },
            warm: self.warm(fleet, &delivery.source),
            known: None,
            answer: Answer::default(),
            now,
        };
        if let Some((file, offset)) = &delivery.file {
            let known =
                store::fleet_sources::next_offset(&mut conn, fleet.key, &delivery.source, file)
                    .await?;
            let known = known.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
            if *offset > known {
                return Err(Error::Gap { next_offset: known });
            }
            run.known = Some(known);
        }
        drop(conn);
        let (give, incoming) = mpsc::channel(4);
        let (hand, mut pieces) = mpsc::channel::<Piece>(1);
        let feeding = tokio::spawn(feed(body, give));
        let cutting = tokio::task::spawn_blocking({
            let (encoding, json) = (delivery.encoding, delivery.json);
            let offset = delivery.file.as_ref().map_or(0, |(_, offset)| *offset);
            let of_file = delivery.file.is_some();
            let whole_lines = of_file && !delivery.end;
            // Offsets are those of a file's own text, whatever the content type says.
            let shape = match (of_file, json) {
                (true, _) => Some(Shape::Lines),
                (false, true) => Some(Shape::Objects),
                (false, false) => None,
            };
            move || {
                lines::cut(Body::new(incoming), encoding, shape, whole_lines, offset, |piece| {
                    hand.blocking_send(piece).is_ok()
                })
            }
        });
        let mut empty = true;
        let mut taken = Ok(());
        while let Some(piece) = pieces.recv().await {
            empty = false;
            taken = run.piece(piece).await;
            if taken.is_err() {
                break;
            }
        }
        drop(pieces);
        feeding.abort();
        let cut = cutting.await.map_err(|error| Error::Body(error.to_string()))?;
        taken?;
        cut.map_err(|error| Error::Body(format!("the body cannot be read: {error}")))?;
        if empty {
            run.nothing_new().await?;
        }
        run.answer.next_offset = run.known;
        Ok(run.answer)
    }

    fn warm(&self, fleet: &FleetRow, source: &str) -> Shared {
        let mut all = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= WARM {
            all.clear();
        }
        let make = || Arc::new(Mutex::new(Warm::new(&fleet.config.analysis)));
        Arc::clone(all.entry((fleet.key, source.to_owned())).or_insert_with(make))
    }

    /// Forgets what a source was read with, because a part of it was not stored.
    fn cool(&self, fleet: FleetKey, source: &str) {
        let mut all = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(fleet, source.to_owned()));
    }
}

/// One body on its way.
struct Run<'a> {
    intake: &'a Intake,
    fleet: &'a FleetRow,
    delivery: &'a Delivery,
    recipe: Recipe,
    warm: Shared,
    /// How far the file is here, as last heard.
    known: Option<u64>,
    answer: Answer,
    now: Timestamp,
}

impl Run<'_> {
    /// Takes one piece, as often as it needs to be looked at anew.
    async fn piece(&mut self, mut piece: Piece) -> Result<(), Error> {
        loop {
            let end = piece.end();
            if let Some(known) = self.known {
                if piece.offset > known {
                    return Err(Error::Gap { next_offset: known });
                }
                self.answer.duplicate_bytes += piece.skip_to(known);
                if piece.text.is_empty() && piece.thrown == 0 {
                    return Ok(());
                }
            }
            let (warm, recipe) = (Arc::clone(&self.warm), self.recipe.clone());
            let reading = tokio::task::spawn_blocking(move || {
                let said =
                    warm.lock().unwrap_or_else(PoisonError::into_inner).read(&piece, &recipe);
                (piece, said)
            });
            let (back, said) = reading.await.map_err(|error| Error::Body(error.to_string()))?;
            piece = back;
            match self.store(&said, piece.offset, end).await {
                Ok(None) => {
                    self.note(said);
                    self.known = self.known.map(|_| end);
                    return Ok(());
                }
                // Somebody else sent the same file meanwhile: what they sent is not ours to count.
                Ok(Some(further)) => {
                    self.intake.cool(self.fleet.key, &self.delivery.source);
                    self.known = Some(further);
                }
                Err(error) if lost_a_race(&error) => {}
                Err(error) => {
                    self.intake.cool(self.fleet.key, &self.delivery.source);
                    return Err(error.into());
                }
            }
        }
    }

    /// One transaction. None when it is done; otherwise how far the file is here, which was not what we
    /// thought.
    async fn store(&self, said: &Said, from: u64, to: u64) -> sqlx::Result<Option<u64>> {
        let (fleet, source) = (self.fleet.key, self.delivery.source.as_str());
        let mut tx = self.intake.pool.begin().await?;
        if let Some((file, _)) = &self.delivery.file {
            let here =
                store::fleet_sources::lock_file(&mut tx, fleet, source, file, self.now).await?;
            let here = u64::try_from(here).unwrap_or(0);
            if here != from {
                return Ok(Some(here));
            }
            let next = i64::try_from(to).unwrap_or(i64::MAX);
            store::fleet_sources::set_offset(&mut tx, fleet, source, file, next, self.now).await?;
        }
        let (cells, pools) = rows(said, self.fleet.config.analysis.window_s, source);
        store::fleet_cells::append(&mut tx, fleet, &cells, &pools).await?;
        store::fleet_events::insert(&mut tx, fleet, source, &said.events).await?;
        let took = self.took(&mut tx, said, to - from).await?;
        store::fleet_sources::took(&mut tx, fleet, source, &took, self.now).await?;
        tx.commit().await?;
        Ok(None)
    }

    async fn took(&self, conn: &mut PgConnection, said: &Said, bytes: u64) -> sqlx::Result<Took> {
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let samples = if said.samples.is_empty() {
            None
        } else {
            Some(self.samples(conn, &said.samples).await?)
        };
        // A clock that runs ahead must not make us wait for its future.
        let newest = said.newest_us.map(|us| instant(us).min(self.now));
        Ok(Took {
            lines: count(said.lines),
            accepted: count(said.accepted),
            rejected: count(said.rejected),
            duplicates: 0,
            bytes: count(bytes),
            newest_at: newest,
            oldest_at: said.oldest_us.map(|us| instant(us).min(self.now)),
            heard_until: None,
            format: said.format.map(Format::as_str),
            samples,
        })
    }

    /// The samples that are kept, the new ones with them.
    async fn samples(
        &self,
        conn: &mut PgConnection,
        new: &[Refused],
    ) -> sqlx::Result<serde_json::Value> {
        let source = &self.delivery.source;
        let row = store::fleet_sources::list(conn, self.fleet.key, Some(source)).await?.pop();
        let old = row.and_then(|row| row.samples.as_array().cloned()).unwrap_or_default();
        let fresh = |sample: &serde_json::Value| {
            let at = sample["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
            at.is_some_and(|at| self.now.duration_since(at) < SAMPLES_KEPT)
        };
        let mut all: Vec<_> = old.into_iter().filter(fresh).collect();
        let at = format!("{:.3}", self.now);
        all.extend(
            new.iter().map(|one| json!({ "at": at, "line": one.line, "reason": one.reason })),
        );
        let surplus = all.len().saturating_sub(MOST_SAMPLES);
        all.drain(..surplus);
        Ok(all.into())
    }

    fn note(&mut self, said: Said) {
        self.answer.accepted += said.accepted;
        self.answer.rejected += said.rejected;
        let room = MOST_SAMPLES.saturating_sub(self.answer.samples.len());
        self.answer.samples.extend(said.samples.into_iter().take(room));
        if let Some(format) = said.format {
            self.answer.format = Some(format.as_str());
            self.recipe.format = Some(format);
        }
    }

    /// An empty body: the sender has read its file to the end, and there is nothing newer.
    async fn nothing_new(&self) -> Result<(), Error> {
        let caught_up = match &self.delivery.file {
            Some((_, offset)) => self.known == Some(*offset),
            None => false,
        };
        let took = Took { heard_until: caught_up.then_some(self.now), ..Took::default() };
        let mut conn = self.intake.pool.acquire().await?;
        let (fleet, source) = (self.fleet.key, &self.delivery.source);
        store::fleet_sources::took(&mut conn, fleet, source, &took, self.now).await?;
        Ok(())
    }
}

/// Hands the body over to the thread that reads it.
async fn feed<E: std::fmt::Display>(
    mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    give: mpsc::Sender<Result<Bytes, String>>,
) {
    while let Some(part) = body.next().await {
        if give.send(part.map_err(|error| error.to_string())).await.is_err() {
            return;
        }
    }
}

/// What a piece says as rows to append.
fn rows(said: &Said, window_s: u32, source: &str) -> (Vec<CellRow>, Vec<PoolRow>) {
    let begin = |index: i64| instant(index * i64::from(window_s) * 1_000_000);
    let (mut cells, mut pools) = (Vec::new(), Vec::new());
    let mut failed = said.marks.failed.as_slice();
    for taken in &said.taken {
        let at = begin(taken.window.index);
        for (instance, routes) in &taken.window.cells {
            cells.extend(routes.iter().map(|(route, cell)| CellRow {
                at,
                stage: SHARE,
                pool: taken.pool.clone(),
                instance: instance.replace('\0', "\u{fffd}"),
                route: route.replace('\0', "\u{fffd}"),
                source: Some(source.to_owned()),
                cell: cell.clone(),
            }));
        }
        let beats = taken.beats.iter().map(storable).collect();
        // Windows come in order, and so do failures, which name no pool: the first of their window has them.
        let until_us = begin(taken.window.index + 1).as_microsecond();
        let (own, later) = failed.split_at(failed.partition_point(|f| f.at_us < until_us));
        failed = later;
        let redispatched = taken.redispatched.clone();
        let marks = Marks { redispatched, beats, failed: own.to_vec(), ..Marks::default() };
        pools.push(PoolRow {
            at,
            stage: SHARE,
            pool: taken.pool.replace('\0', "\u{fffd}"),
            cell: taken.window.pool.clone(),
            marks: (marks != Marks::default()).then(|| json!(marks)),
        });
    }
    // A run is told with the newest window of its piece: the one that is judged last.
    if let Some(last) = pools.iter_mut().max_by_key(|row| row.at)
        && !said.marks.runs.is_empty()
    {
        let at = last.at;
        let marks = Marks { runs: said.marks.runs.clone(), ..Marks::default() };
        let marks = Some(json!(marks));
        let nothing = PoolCell::default();
        pools.push(PoolRow { at, stage: SHARE, pool: String::new(), cell: nothing, marks });
    }
    (cells, pools)
}

/// With names that the database takes.
fn storable(beats: &Beats) -> Beats {
    let clean = |text: &str| text.replace('\0', "\u{fffd}");
    Beats {
        pool: clean(&beats.pool),
        instance: clean(&beats.instance),
        route: clean(&beats.route),
        ..beats.clone()
    }
}

/// Deadlock or serialization failure: nothing was done, and trying again helps.
fn lost_a_race(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|e| e.code());
    matches!(code.as_deref(), Some("40P01" | "40001"))
}
