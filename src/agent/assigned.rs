//! The last assignments on disk, so that an agent that starts while it is cut off knows what to probe.
//! A sealed journal: a full set first, changes behind it, written anew once the changes outgrow the set.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::journal::Journal;
use super::schedule::Task;
use super::time::Remembered;
use super::vault::Vault;

/// A full set is written in records of so many assignments.
const PER_RECORD: usize = 200;
/// Changes may grow to this many bytes beyond the size of the set.
const SLACK: u64 = 1 << 20;

/// The file and how much of it is the set.
#[derive(Debug)]
pub struct Assigned {
    path: PathBuf,
    vault: Vault,
    journal: Option<Journal>,
    seq: i64,
    set_bytes: u64,
}

/// What was found in the file.
#[derive(Debug, Default)]
pub struct Found {
    /// The revision up to which the assignments are known; none if there is no full set.
    pub rev: Option<i64>,
    pub tasks: Vec<Task>,
    pub time: Option<Remembered>,
}

#[derive(Debug, Default, Deserialize)]
struct Entry {
    rev: Option<i64>,
    #[serde(default)]
    upsert: Vec<Task>,
    #[serde(default)]
    remove: Vec<Uuid>,
    time: Option<Remembered>,
}

#[derive(Debug, Default, Serialize)]
struct EntryRef<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rev: Option<i64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    upsert: &'a [&'a Task],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    remove: &'a [Uuid],
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Remembered>,
}

impl Assigned {
    /// Reads `dir/assignments`. A file of another token is as good as none.
    pub fn open(dir: &Path, vault: Vault) -> io::Result<(Self, Found)> {
        let path = dir.join("assignments");
        let mut found = Found::default();
        let mut tasks: HashMap<Uuid, Task> = HashMap::new();
        let mut seq = 0;
        let journal = match fs::exists(&path)? {
            false => None,
            true => Journal::open(&path, &vault, |record| {
                seq = record.seq;
                let Ok(entry) = serde_json::from_slice::<Entry>(&record.plain) else {
                    // Written by another version. The coordinator is asked for everything again.
                    found.rev = None;
                    return;
                };
                found.rev = entry.rev.or(found.rev);
                found.time = entry.time.or(found.time);
                for monitor in &entry.remove {
                    tasks.remove(monitor);
                }
                tasks.extend(entry.upsert.into_iter().map(|task| (task.monitor, task)));
            })?,
        };
        found.tasks = tasks.into_values().collect();
        let set_bytes = journal.as_ref().map_or(0, Journal::bytes);
        Ok((Self { path, vault, journal, seq, set_bytes }, found))
    }

    /// The whole set, in place of what was there.
    pub fn replace<'a>(
        &mut self,
        rev: i64,
        tasks: impl Iterator<Item = &'a Arc<Task>>,
        time: Option<Remembered>,
    ) -> io::Result<()> {
        let fresh = self.path.with_extension("new");
        let mut journal = Journal::create(&fresh, &self.vault, Uuid::nil())?;
        let tasks: Vec<&Task> = tasks.map(Arc::as_ref).collect();
        self.seq = 0;
        for upsert in tasks.chunks(PER_RECORD) {
            self.seq += 1;
            let entry = EntryRef { upsert, ..EntryRef::default() };
            journal.append(&self.vault, self.seq, &serde_json::to_vec(&entry)?)?;
        }
        // The revision comes last: a set without it is not complete.
        self.seq += 1;
        let entry = EntryRef { rev: Some(rev), time, ..EntryRef::default() };
        journal.append(&self.vault, self.seq, &serde_json::to_vec(&entry)?)?;
        journal.handle()?.sync_data()?;
        fs::rename(&fresh, &self.path)?;
        self.set_bytes = journal.bytes();
        self.journal = Some(journal);
        Ok(())
    }

    /// One change. True if the file has grown so much that [`Assigned::replace`] should follow.
    pub fn change(&mut self, rev: i64, upsert: &[&Task], remove: &[Uuid]) -> io::Result<bool> {
        self.append(&EntryRef { rev: Some(rev), upsert, remove, time: None })
    }

    /// What was learnt of coordinator time.
    pub fn note_time(&mut self, time: Remembered) -> io::Result<bool> {
        self.append(&EntryRef { time: Some(time), ..EntryRef::default() })
    }

    fn append(&mut self, entry: &EntryRef<'_>) -> io::Result<bool> {
        let Some(journal) = self.journal.as_mut().filter(|journal| !journal.is_broken()) else {
            return Ok(true);
        };
        self.seq += 1;
        journal.append(&self.vault, self.seq, &serde_json::to_vec(entry)?)?;
        Ok(journal.bytes() > 2 * self.set_bytes + SLACK)
    }
}
