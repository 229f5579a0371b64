//! What is kept of public pages, so that a crowd costs what one visitor does: each page is read from the database and
//! rendered at most once in [`FRESH`], whoever asks meanwhile waits for that or gets the same. Nothing is kept by
//! visitor, and nothing of names that no page has.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::body::Bytes;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::{assemble::Snapshot, figures::Kept as KeptFigures};
use crate::{
    api::{AppState, error::ApiResult},
    clock::Clock,
    store::{self, status_read::Entry},
};

/// How long a page is told as it was read.
const FRESH: SignedDuration = SignedDuration::from_secs(10);
/// How long it is known which pages there are.
const KNOWN: SignedDuration = SignedDuration::from_secs(5);
/// After a failure nobody tries again for so long: much longer than anybody waited for it.
const PAUSE: SignedDuration = SignedDuration::from_secs(8);
/// While the database is away, a page that old is still better than none; then nobody knows.
const OLDEST: SignedDuration = SignedDuration::from_secs(60);
/// Longest wait for the database.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The same where there is something to tell without it.
const BRIEF: Duration = Duration::from_secs(2);
/// Documents kept of one page; more are made anew when they are asked for.
const DOCUMENTS: usize = 300;
/// Pages that are read at the same time: visitors never take the connections away from monitoring.
const READERS: usize = 3;

/// Cloning is cheap; clones share what is kept.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: Mutex<Directory>,
    /// Held by whoever reads the directory.
    reading: tokio::sync::Mutex<()>,
    pages: Mutex<HashMap<Uuid, Arc<tokio::sync::Mutex<Kept>>>>,
    readers: Semaphore,
}

/// Which pages there are.
#[derive(Debug, Clone, Default)]
struct Directory {
    entries: Arc<Vec<Entry>>,
    /// None before the first time, and when something was saved since.
    read_at: Option<Timestamp>,
    failed_at: Option<Timestamp>,
}

impl Directory {
    fn will_do(&self, now: Timestamp) -> bool {
        within(self.read_at, KNOWN, now) || within(self.failed_at, PAUSE, now)
    }
}

/// A page as it was read last, and what was made from that.
#[derive(Debug, Default)]
pub struct Kept {
    snapshot: Option<(Timestamp, Arc<Snapshot>)>,
    failed_at: Option<Timestamp>,
    documents: HashMap<(bool, super::Wanted), Arc<Document>>,
    pub figures: KeptFigures,
}

/// An answer.
#[derive(Debug)]
pub struct Document {
    pub kind: &'static str,
    pub body: Bytes,
    pub gzip: Option<Bytes>,
    pub etag: String,
}

impl Default for Memory {
    fn default() -> Self {
        Self(Arc::new(Inner {
            directory: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            pages: Mutex::default(),
            readers: Semaphore::new(READERS),
        }))
    }
}

impl Memory {
    /// The page for which `is` holds, published or not.
    pub async fn find(&self, state: &AppState, is: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let entries = self.entries(state).await;
        entries.iter().find(|entry| is(entry)).cloned()
    }

    /// Every request for a host that is not known to be the product's comes by here: nobody waits for the database
    /// whom the last list can serve.
    async fn entries(&self, state: &AppState) -> Arc<Vec<Entry>> {
        let known = self.directory().clone();
        if known.will_do(state.clock.now()) {
            return known.entries;
        }
        let _reading = match self.0.reading.try_lock() {
            Ok(reading) => reading,
            Err(_) if known.read_at.is_some() => return known.entries,
            Err(_) => self.0.reading.lock().await,
        };
        let known = self.directory().clone();
        if known.will_do(state.clock.now()) {
            return known.entries;
        }
        let read = async {
            let mut conn = state.pool.acquire().await?;
            store::status_read::directory(&mut conn).await
        };
        let patience = if known.read_at.is_some() { BRIEF } else { PATIENCE };
        let read = tokio::time::timeout(patience, read).await;
        let mut directory = self.directory();
        match read {
            Ok(Ok(entries)) => {
                self.keep_only(&entries);
                let (entries, read_at) = (Arc::new(entries), Some(state.clock.now()));
                *directory = Directory { entries, read_at, failed_at: None };
            }
            // Pages do not come and go so often that the last list would not do.
            _ => directory.failed_at = Some(state.clock.now()),
        }
        Arc::clone(&directory.entries)
    }

    /// Something was saved here: it is to be seen at once.
    pub fn forget(&self) {
        self.directory().read_at = None;
        self.lock().clear();
    }

    /// What is kept of a page, for one at a time.
    pub fn page(&self, id: Uuid) -> Arc<tokio::sync::Mutex<Kept>> {
        Arc::clone(self.lock().entry(id).or_default())
    }

    fn keep_only(&self, entries: &[Entry]) {
        self.lock().retain(|id, _| entries.iter().any(|entry| entry.uid == *id));
    }

    fn directory(&self) -> std::sync::MutexGuard<'_, Directory> {
        self.0.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Uuid, Arc<tokio::sync::Mutex<Kept>>>> {
        self.0.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn at the database.
    pub async fn turn(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        self.0.readers.acquire().await.ok()
    }
}

impl Kept {
    /// The page as it is to be told at `now`; read if that is due. None when nothing can be said.
    pub async fn at<F>(
        &mut self,
        clock: &Clock,
        read: impl FnOnce(KeptFigures) -> F,
    ) -> Option<Arc<Snapshot>>
    where
        F: Future<Output = ApiResult<(Snapshot, KeptFigures)>>,
    {
        let now = clock.now();
        let read_at = self.snapshot.as_ref().map(|(at, _)| *at);
        if !within(read_at, FRESH, now) && !within(self.failed_at, PAUSE, now) {
            let figures = std::mem::take(&mut self.figures);
            let patience = if within(read_at, OLDEST, now) { BRIEF } else { PATIENCE };
            match tokio::time::timeout(patience, read(figures)).await {
                Ok(Ok((snapshot, figures))) => {
                    self.documents.clear();
                    self.failed_at = None;
                    self.figures = figures;
                    self.snapshot = Some((now, Arc::new(snapshot)));
                }
                Ok(Err(error)) => {
                    tracing::warn!(?error, "a public page could not be read");
                    self.failed_at = Some(clock.now());
                }
                Err(_) => {
                    tracing::warn!("a public page could not be read in time");
                    self.failed_at = Some(clock.now());
                }
            }
        }
        let (at, snapshot) = self.snapshot.as_ref()?;
        within(Some(*at), OLDEST, now).then(|| Arc::clone(snapshot))
    }

    /// Whether the page was not read again since.
    pub fn holds(&self, snapshot: &Arc<Snapshot>) -> bool {
        self.snapshot.as_ref().is_some_and(|(_, own)| Arc::ptr_eq(own, snapshot))
    }

    pub fn document(&self, own_host: bool, wanted: &super::Wanted) -> Option<Arc<Document>> {
        self.documents.get(&(own_host, wanted.clone())).cloned()
    }

    pub fn keep(&mut self, own_host: bool, wanted: super::Wanted, document: &Arc<Document>) {
        if self.documents.len() < DOCUMENTS {
            self.documents.insert((own_host, wanted), Arc::clone(document));
        }
    }
}

/// Whether something happened not longer ago.
fn within(at: Option<Timestamp>, span: SignedDuration, now: Timestamp) -> bool {
    at.is_some_and(|at| now.duration_since(at) < span)
}
