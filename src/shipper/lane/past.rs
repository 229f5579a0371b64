//! What a followed path was before: files that were renamed, copied or packed while nobody looked.

use std::{
    collections::HashSet,
    io,
    path::PathBuf,
    time::{Instant, SystemTime},
};

use uuid::Uuid;

use super::{Held, Lane, Stopped, blocking, identify};
use crate::{
    process::health::Pulse,
    shipper::{
        file::{self, Found, Packing},
        state::{self, Known},
    },
};

/// So many files beside a path that is new to us are remembered as not to be sent.
const PASSED_OVER: usize = 20;
/// Looks in a row at what lies beside the path.
const MOST_LOOKS: usize = 5;

impl Lane {
    /// What the path has become since it was last looked at: renamed, packed or copied files that were
    /// not read to their end, and those between them that nobody has seen because the coordinator was
    /// away. A file may get another name while one before it is sent, so that one look is not enough.
    pub(super) async fn catch_up(&mut self, pulse: &Pulse) -> Result<(), Stopped> {
        self.due = None;
        // Of a path that is new to us only the present file counts.
        let Some(since) = self.followed_since() else { return Ok(()) };
        for _ in 0..MOST_LOOKS {
            if !self.look_beside(since, pulse).await? {
                return Ok(());
            }
        }
        // Something there goes on growing; the present file has its turn between.
        self.look_again();
        Ok(())
    }

    /// Files that nobody has seen are of the path's past with us if they changed after this. Of the files
    /// that are remembered the older half is left out: one that is forgotten must not look new.
    fn followed_since(&self) -> Option<SystemTime> {
        if self.backfill {
            return Some(SystemTime::UNIX_EPOCH);
        }
        let known = self.state.known(&self.path);
        let oldest = known.len().saturating_sub(state::REMEMBERED / 2);
        known.get(oldest).map(|known| SystemTime::from(known.met_at()))
    }

    /// Sends what is missing of the files beside the path. True if there was anything.
    async fn look_beside(&mut self, since: SystemTime, pulse: &Pulse) -> Result<bool, Stopped> {
        let mut moved = false;
        let mut there: HashSet<Uuid> = self.held.iter().map(|held| held.known.id).collect();
        for path in self.beside().await? {
            let opened = blocking(move || Found::open(&path)).await;
            // Gone or locked: another look will come.
            let Ok(found) = opened else { continue };
            if self.held.iter().any(|held| held.found.is(&found)) {
                continue;
            }
            let seen = self.state.known(&self.path);
            let known = identify(&found, &seen);
            there.extend(known.as_ref().map(|known| known.id));
            let known = match known {
                Some(known) if known.over && found.packing != Packing::Plain => continue,
                Some(known) => known,
                None if found.modified <= since => continue,
                // Still being copied or packed: it may turn out to be one that is known.
                None if !found.begins_whole || is_part(&found, &seen) => {
                    self.look_again();
                    continue;
                }
                None => self.meet(&found)?,
            };
            // Who writes a log goes on with the old file until it is told to open the new one.
            let now = SystemTime::from(self.clock.now());
            let age = now.duration_since(found.modified);
            let quiet = age.is_ok_and(|age| age >= self.timing.linger);
            there.insert(known.id);
            let mut old = Held { found, known, grown_at: Instant::now() };
            match self.ship(&mut old, quiet, pulse).await {
                Err(Stopped::Failed(error)) => {
                    tracing::warn!(file = %old.found.path.display(), error = format!("{error:#}"), "an older file is not read on");
                    self.look_again();
                }
                Err(Stopped::Asked) => return Err(Stopped::Asked),
                Ok(sent) => {
                    moved |= sent;
                    if !quiet {
                        self.look_again();
                    }
                    let over = old.found.packing != Packing::Plain && quiet;
                    if over != old.known.over {
                        old.known.over = over;
                        self.state.remember(&self.path, &old.known)?;
                    }
                }
            }
        }
        self.state.forget(&self.path, &there)?;
        Ok(moved)
    }

    /// The files beside the path that it may have become, oldest first.
    async fn beside(&self) -> Result<Vec<PathBuf>, Stopped> {
        let path = self.path.clone();
        let beside = blocking(move || match file::rotated(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        });
        let mut beside = beside.await?;
        beside.retain(|path| !self.others.contains(path));
        Ok(beside)
    }

    fn look_again(&mut self) {
        self.due = Some(Instant::now() + self.timing.linger);
    }

    /// What lies beside a path that we begin to follow is not ours to send; it is remembered, so that it
    /// does not look new when it is renamed or packed.
    pub(super) async fn pass_over(&self) -> Result<(), Stopped> {
        let beside = self.beside().await?;
        let newest = beside.len().saturating_sub(PASSED_OVER);
        for path in beside.into_iter().skip(newest) {
            let Ok(found) = blocking(move || Found::open(&path)).await else { continue };
            let next = if found.packing == Packing::Plain { found.size()? } else { 0 };
            let known = Known { next, over: true, ..self.fresh(&found) };
            self.state.remember(&self.path, &known)?;
        }
        Ok(())
    }
}

/// Whether it begins as a file that was seen and is shorter: a copy of it that is not finished.
fn is_part(found: &Found, known: &[Known]) -> bool {
    known.iter().any(|known| known.head.is_telling() && known.head.fits(found.begin()))
}
