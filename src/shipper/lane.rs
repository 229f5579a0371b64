//! One followed path: its present file, what it was before, and each of their bytes once, in order.
//! Files that were rotated away while nobody looked are found by `past`.

mod past;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    file::{self, Found, Packing, Reader},
    link::{Answer, Link},
    state::{Known, State},
};
use crate::{
    clock::Clock,
    config::{ShipConfig, ShipTiming},
    process::health::Pulse,
    uplink::{Patience, Trouble},
};

/// A batch is at most about this many bytes of content.
pub(super) const BATCH: usize = 1 << 20;
/// A line longer than this goes in pieces.
pub(super) const LONGEST: usize = 8 << 20;
/// A coordinator that finds batches too large is not given smaller ones than this.
const SMALLEST: usize = 64 << 10;

/// Follows one path.
pub struct Lane {
    path: PathBuf,
    /// The file's name: of some logs it says which node of a balancer wrote them.
    name: Option<String>,
    once: bool,
    backfill: bool,
    timing: ShipTiming,
    link: Arc<Link>,
    state: Arc<State>,
    pub(super) clock: Clock,
    pub(super) stop: CancellationToken,
    patience: Patience,
    pub(super) limit: usize,
    /// Open files, the present one last: those before it were replaced and may still grow a little.
    held: Vec<Held>,
    absent_told: bool,
    /// Paths that are followed for themselves, though they are called as if this one had become them.
    others: Vec<PathBuf>,
    /// When to look again at what lies beside the path: something there was not finished.
    due: Option<Instant>,
}

/// An open file and what is known of it.
struct Held {
    found: Found,
    known: Known,
    grown_at: Instant,
}

/// Why a file is not read on.
pub(super) enum Stopped {
    /// We stop: what is under way goes on after the next start.
    Asked,
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Lane {
    pub fn new(
        path: &Path,
        config: &ShipConfig,
        link: Arc<Link>,
        state: Arc<State>,
        clock: Clock,
        stop: CancellationToken,
    ) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Self {
            path: path.to_owned(),
            name,
            once: config.once,
            backfill: config.backfill,
            timing: config.timing,
            patience: link.patience(),
            link,
            state,
            clock,
            stop,
            limit: BATCH,
            held: Vec::new(),
            absent_told: false,
            others: config.files.iter().filter(|other| *other != path).cloned().collect(),
            due: None,
        }
    }

    /// Until it is stopped, or with `--once` until everything there is was taken.
    pub async fn run(mut self, pulse: Pulse) -> anyhow::Result<()> {
        let ended = if self.path == Path::new("-") {
            self.standard_input(&pulse).await
        } else {
            self.follow(&pulse).await
        };
        match ended {
            Ok(()) | Err(Stopped::Asked) => Ok(()),
            Err(Stopped::Failed(error)) => {
                Err(error.context(format!("{} cannot be followed", self.path.display())))
            }
        }
    }

    async fn follow(&mut self, pulse: &Pulse) -> Result<(), Stopped> {
        self.catch_up(pulse).await?;
        loop {
            pulse.moved();
            let moved = self.round(pulse).await?;
            if self.once && !moved {
                return Ok(());
            }
            if !moved {
                tokio::select! {
                    () = tokio::time::sleep(self.timing.poll) => {}
                    () = self.stop.cancelled() => return Err(Stopped::Asked),
                }
            }
        }
    }

    /// One look at the path and at what is held open. True if anything was sent.
    async fn round(&mut self, pulse: &Pulse) -> Result<bool, Stopped> {
        let new = self.look().await?;
        // Between two looks it may have been replaced more than once.
        if new || self.due.is_some_and(|due| due <= Instant::now()) {
            self.catch_up(pulse).await?;
        }
        let mut moved = false;
        let present = self.held.len().saturating_sub(1);
        let mut held = std::mem::take(&mut self.held);
        for (at, file) in held.iter_mut().enumerate() {
            let quiet = file.grown_at.elapsed() >= self.timing.linger;
            // Nobody will finish the last line of a file that is replaced and quiet.
            let last = if at < present { quiet } else { self.once };
            let sent = self.ship(file, last, pulse).await;
            match sent {
                Ok(sent) => {
                    if sent {
                        file.grown_at = Instant::now();
                    }
                    moved |= sent;
                }
                Err(stopped) => {
                    self.held = held;
                    return Err(stopped);
                }
            }
        }
        let linger = self.timing.linger;
        let count = held.len();
        let mut at = 0;
        held.retain(|file| {
            at += 1;
            at == count || file.grown_at.elapsed() < linger
        });
        self.held = held;
        Ok(moved)
    }

    /// Opens the path and compares it with the file that was there. True if it is one that nobody has seen.
    async fn look(&mut self) -> Result<bool, Stopped> {
        let path = self.path.clone();
        let found = match blocking(move || Found::open(&path)).await {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.once && self.held.is_empty() {
                    return Err(anyhow::Error::new(error).into());
                }
                if !std::mem::replace(&mut self.absent_told, true) {
                    tracing::info!(path = %self.path.display(), "there is no such file yet; waiting for it");
                }
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        self.absent_told = false;
        let size = found.size()?;
        if let Some(present) = self.held.last()
            && present.found.is(&found)
            && present.known.head.fits(found.begin())
            && (found.packing != Packing::Plain || size >= present.known.next)
        {
            return Ok(false);
        }
        let known = self.state.known(&self.path);
        if known.is_empty() && !self.backfill {
            self.pass_over().await?;
        }
        let (known, new) = match identify(&found, &known) {
            Some(known) => (known, false),
            None => (self.meet(&found)?, true),
        };
        let first = self.held.is_empty();
        tracing::info!(
            path = %self.path.display(), file = %known.id, from = known.next, new,
            "{}", if first { "following a file" } else { "another file has taken its place" }
        );
        self.held.push(Held { found, known, grown_at: Instant::now() });
        Ok(new)
    }

    /// A file that was never seen gets its id, and that is written down before anything is sent.
    fn meet(&self, found: &Found) -> anyhow::Result<Known> {
        let known = self.fresh(found);
        self.state.remember(&self.path, &known)?;
        Ok(known)
    }

    fn fresh(&self, found: &Found) -> Known {
        let now = self.clock.now();
        Known {
            id: new_id(now),
            dev: found.dev,
            ino: found.ino,
            head: found.head(),
            next: 0,
            over: false,
            seen_at: now,
            met_at: Some(now),
        }
    }

    /// Sends what a file has beyond what was taken; with `last` also a line that is not finished. True
    /// if there was anything.
    async fn ship(&mut self, held: &mut Held, last: bool, pulse: &Pulse) -> Result<bool, Stopped> {
        if held.found.packing == Packing::Plain && held.found.size()? <= held.known.next {
            return Ok(false);
        }
        let mut moved = false;
        'anew: loop {
            let mut reader = held.found.reader(held.known.next)?;
            let mut rest = Vec::new();
            loop {
                let (read_on, batch, mut left, ended) = self.read(reader, rest).await?;
                reader = read_on;
                let unfinished = batch.is_empty() && ended && last;
                let mut batch = if unfinished { std::mem::take(&mut left) } else { batch };
                rest = left;
                if batch.is_empty() {
                    return Ok(moved);
                }
                if !unfinished {
                    end_line(&mut batch);
                }
                let offset = held.known.next;
                let part = (offset, batch.as_slice(), unfinished);
                let Some(next) = self.deliver(held.known.id, part, pulse).await? else {
                    continue 'anew;
                };
                if next == offset {
                    tracing::warn!(
                        path = %held.found.path.display(), offset,
                        "the coordinator takes nothing of this part; looking at it again later"
                    );
                    return Ok(moved);
                }
                moved = true;
                self.took(held, next)?;
                if next != offset + batch.len() as u64 {
                    continue 'anew;
                }
            }
        }
    }

    async fn read(
        &self,
        mut reader: Reader,
        mut rest: Vec<u8>,
    ) -> Result<(Reader, Vec<u8>, Vec<u8>, bool), Stopped> {
        let limit = self.limit;
        let read = blocking(move || {
            let mut batch = Vec::with_capacity(limit);
            let ended = file::fill(&mut reader, &mut batch, &mut rest, limit, LONGEST)?;
            Ok((reader, batch, rest, ended))
        });
        Ok(read.await?)
    }

    /// The coordinator has the file up to `next` now.
    fn took(&self, held: &mut Held, next: u64) -> anyhow::Result<()> {
        held.known.next = next;
        held.known.seen_at = self.clock.now();
        (held.known.dev, held.known.ino) = (held.found.dev, held.found.ino);
        if held.known.head.len < file::HEAD {
            held.found.look()?;
            held.known.head = held.found.head();
        }
        self.state.remember(&self.path, &held.known)
    }

    /// Sends one part (where it begins, its bytes, whether the file ends with it) until the coordinator
    /// has said where the file stands: that position, or none when the part has to be made smaller.
    pub(super) async fn deliver(
        &mut self,
        file: Uuid,
        (offset, batch, end): (u64, &[u8], bool),
        pulse: &Pulse,
    ) -> Result<Option<u64>, Stopped> {
        loop {
            pulse.moved();
            let trouble = match self.link.send(file, self.name.as_deref(), offset, batch, end).await
            {
                Ok(Answer::Taken { next, rejected, accepted }) => {
                    if self.patience.fine() {
                        tracing::info!(path = %self.path.display(), "lines are taken again");
                    }
                    tracing::debug!(path = %self.path.display(), next, accepted, rejected, "taken");
                    self.limit = (self.limit * 2).min(BATCH);
                    return Ok(Some(next));
                }
                Ok(Answer::Elsewhere { next }) => {
                    tracing::warn!(
                        path = %self.path.display(), %file, offset, next,
                        "the coordinator has this file up to another place; going on from there"
                    );
                    return Ok(Some(next));
                }
                Err(Trouble::TooLarge) if self.limit.min(batch.len()) > SMALLEST => {
                    self.limit = (batch.len() / 2).max(SMALLEST);
                    return Ok(None);
                }
                Err(trouble) => trouble,
            };
            let pause = self.patience.after(&trouble);
            if self.patience.is_news() {
                tracing::warn!(path = %self.path.display(), %trouble, "lines are not taken; they stay in their file until they are");
            }
            self.wait(pause, pulse).await?;
        }
    }

    async fn wait(&self, pause: Duration, pulse: &Pulse) -> Result<(), Stopped> {
        let until = Instant::now() + pause;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            pulse.moved();
            tokio::select! {
                () = tokio::time::sleep(left.min(Duration::from_secs(5))) => {}
                () = self.stop.cancelled() => return Err(Stopped::Asked),
            }
        }
        Ok(())
    }
}

/// A line that is too long to be one goes in pieces, and each piece needs an end of its own, or it would
/// wait for ever. What it costs is a byte of what nobody can read anyway; positions stay as they are.
pub(super) fn end_line(batch: &mut [u8]) {
    if let Some(last) = batch.last_mut() {
        *last = b'\n';
    }
}

/// Which of the files that were seen this is, if any.
fn identify(found: &Found, known: &[Known]) -> Option<Known> {
    let long_enough = |known: &Known| {
        found.packing != Packing::Plain || found.size().is_ok_and(|size| size >= known.next)
    };
    let fits = |known: &&Known| known.head.fits(found.begin()) && long_enough(known);
    let same_place = |known: &&Known| (known.dev, known.ino) == (found.dev, found.ino);
    let mut newest_first = known.iter().rev();
    let by_place = newest_first.clone().filter(same_place).find(fits);
    let by_content = || newest_first.find(|known| known.head.is_telling() && fits(known));
    by_place.or_else(by_content).cloned()
}

pub(super) fn new_id(now: jiff::Timestamp) -> Uuid {
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
}

/// Files are read on threads that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(io::Error::other(error)),
    }
}
