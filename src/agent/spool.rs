//! Results on disk until the coordinator has settled them, and a day longer.
//!
//! ```text
//! DIR/lock                    one agent per folder
//! DIR/<boot>/00000001.seg     sealed records of one process start, in sequence (see `journal`)
//! DIR/<boot>/settled          up to which sequence the coordinator has answered
//! DIR/set-aside/<boot>-<seq>  reports that the coordinator could not read, sealed, one per file
//! ```
//!
//! **Durability.** A result is written before it can be sent, so a killed process loses none. The
//! kernel is asked to put the files on the disk once a second ([`Spool::unsynced`]), so a machine that
//! loses power loses at most the last second. While the disk refuses writes, results wait in memory.
//!
//! **Order.** Each process start is a sequence of its own, read strictly in order. Room is made by
//! dropping whole segments: first what the coordinator has, then the oldest results of all, counted.

mod boot;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::time::Stamp;
use super::vault::Vault;
use crate::domain::observation::{Observation, RunKind};
use crate::protocol::{MAX_STARTS, SettledUpTo};
use boot::BootLog;

/// What the coordinator has is kept so long, in case it was restored from a backup and asks again.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// One agent's folder of results. Its calls read and write files: not for async code without care.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    vault: Vault,
    max: u64,
    current: Uuid,
    boots: BTreeMap<Uuid, BootLog>,
    next_seq: i64,
    dropped: u64,
    _lock: File,
}

/// A result as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    pub seq: i64,
    pub monitor: Uuid,
    pub check_version: u32,
    pub kind: RunKind,
    pub more: bool,
    /// When the attempt started.
    pub started: Stamp,
    pub observation: Observation,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error(
        "another agent uses the spool folder {0}: give this one its own with --spool-dir, or stop the other"
    )]
    InUse(PathBuf),
    #[error(
        "the spool folder {dir} cannot be used: {source}. Give this agent a folder that it may write to, with --spool-dir"
    )]
    Folder { dir: PathBuf, source: io::Error },
}

impl Spool {
    /// Opens `dir`, making it if there is none, and finds what earlier processes left. `boot` names
    /// this process start; results of it are numbered from 1.
    pub fn open(dir: &Path, vault: Vault, max: u64, boot: Uuid) -> Result<Self, SpoolError> {
        let failed = |source| SpoolError::Folder { dir: dir.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(dir.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(SpoolError::InUse(dir.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut boots = BTreeMap::new();
        for entry in fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| Uuid::parse_str(name).ok()) else {
                continue;
            };
            boots.insert(id, BootLog::load(entry.path(), id, &vault).map_err(failed)?);
        }
        boots.insert(boot, BootLog::new(dir.join(boot.to_string()), boot).map_err(failed)?);
        let dir = dir.to_owned();
        let max = max.max(256 << 10);
        let mut spool =
            Self { dir, vault, max, current: boot, boots, next_seq: 1, dropped: 0, _lock: lock };
        spool.make_room(0);
        Ok(spool)
    }

    /// This process start.
    pub fn boot(&self) -> Uuid {
        self.current
    }

    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Keeps a result and gives its sequence; `kept.seq` is filled in. An error says that the disk
    /// refuses; the result waits in memory then, unless there are too many already.
    pub fn append(&mut self, mut kept: Kept) -> (i64, io::Result<()>) {
        let seq = self.next_seq;
        self.next_seq += 1;
        kept.seq = seq;
        let Ok(plain) = serde_json::to_vec(&kept) else {
            return (seq, Err(io::Error::other("a result could not be written as JSON")));
        };
        self.make_room(plain.len() as u64 + 128);
        let segment = (self.max / 16).clamp(64 << 10, 4 << 20);
        let Some(log) = self.boots.get_mut(&self.current) else { return (seq, Ok(())) };
        let result = log.append(&self.vault, seq, plain, segment);
        self.dropped += log.take_dropped();
        (seq, result)
    }

    /// Process starts with results that wait, the present one first, then the oldest.
    pub fn waiting_boots(&self) -> Vec<Uuid> {
        let mut waiting: Vec<Uuid> =
            self.boots.iter().filter(|(_, log)| log.waiting() > 0).map(|(id, _)| *id).collect();
        waiting.sort_by_key(|id| (*id != self.current, *id));
        waiting
    }

    /// The next results of one process start, in sequence: at most `count`, and no more once their
    /// text is longer than `bytes`.
    pub fn next(&mut self, boot: Uuid, count: usize, bytes: usize) -> Vec<Kept> {
        let Some(log) = self.boots.get_mut(&boot) else { return Vec::new() };
        let records = log.next(&self.vault, count, bytes);
        self.dropped += log.take_dropped();
        let mut found = Vec::with_capacity(records.len());
        for (seq, plain) in records {
            // A record that opens was written by an agent. One that this version cannot read is
            // skipped when those around it are settled.
            match serde_json::from_slice::<Kept>(&plain) {
                Ok(kept) => found.push(Kept { seq, ..kept }),
                Err(error) => tracing::warn!(%boot, seq, %error, "a kept result cannot be read"),
            }
        }
        if found.is_empty() {
            log.settle_read();
        }
        found
    }

    /// The coordinator has answered for everything up to `seq`.
    pub fn settle(&mut self, boot: Uuid, seq: i64, now: Timestamp) {
        if let Some(log) = self.boots.get_mut(&boot)
            && let Err(error) = log.settle(seq, now)
        {
            // Only costs a repetition after a restart, which the coordinator recognises.
            tracing::debug!(%boot, %error, "could not note what was settled");
        }
    }

    /// Puts one report that the coordinator cannot read into a file of its own and goes on behind it.
    pub fn set_aside(&mut self, boot: Uuid, kept: &Kept, now: Timestamp) -> io::Result<PathBuf> {
        let folder = self.dir.join("set-aside");
        let path = folder.join(format!("{boot}-{}", kept.seq));
        let result = (|| {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let mut file = super::journal::Journal::create(&path, &self.vault, boot)?;
            file.append(&self.vault, kept.seq, &serde_json::to_vec(kept)?)
        })();
        self.settle(boot, kept.seq, now);
        result.map(|()| path)
    }

    /// The coordinator lost what came after `seq`: send again what is still kept of it.
    pub fn rewind(&mut self, boot: Uuid, seq: i64) -> io::Result<u64> {
        match self.boots.get_mut(&boot) {
            Some(log) => log.rewind(seq),
            None => Ok(0),
        }
    }

    /// Up to where the coordinator has answered for each process start of which something is kept, the
    /// latest first.
    pub fn settled(&self) -> Vec<SettledUpTo> {
        let kept = self.boots.iter().rev().filter(|(_, log)| log.is_kept() && log.settled() > 0);
        kept.map(|(boot, log)| SettledUpTo { boot: *boot, seq: log.settled() })
            .take(MAX_STARTS)
            .collect()
    }

    /// The same for one process start, 0 if there was nothing yet.
    pub fn settled_of(&self, boot: Uuid) -> i64 {
        self.boots.get(&boot).map_or(0, BootLog::settled)
    }

    /// Results that the coordinator has not answered for.
    pub fn waiting(&self) -> u64 {
        self.boots.values().map(BootLog::waiting).sum()
    }

    /// Results lost since this process started, to a full spool or to damage on the disk.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.boots.values().map(BootLog::bytes).sum()
    }

    /// Files written since the last call, to be put on the disk by `sync_data` wherever that may block.
    pub fn unsynced(&mut self) -> Vec<File> {
        self.boots.get_mut(&self.current).map(BootLog::unsynced).unwrap_or_default()
    }

    /// Removes what was settled a day ago.
    pub fn expire(&mut self, now: Timestamp) {
        for log in self.boots.values_mut() {
            log.expire(now, KEPT);
        }
        let current = self.current;
        self.boots.retain(|id, log| *id == current || !log.remove_if_empty());
    }

    /// How often to call [`Spool::unsynced`] and [`Spool::expire`].
    pub const SYNC_EVERY: Duration = Duration::from_secs(1);
    pub const EXPIRE_EVERY: Duration = Duration::from_secs(600);

    fn make_room(&mut self, bytes: u64) {
        while self.bytes() + bytes > self.max {
            let settled = self.boots.values_mut().any(BootLog::drop_settled);
            if !settled && !self.boots.values_mut().any(BootLog::drop_oldest) {
                return;
            }
            self.dropped += self.boots.values_mut().map(BootLog::take_dropped).sum::<u64>();
        }
    }
}

#[cfg(test)]
#[path = "spool_tests.rs"]
mod tests;
