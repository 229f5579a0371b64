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
        let (mut seq, mut unreadable) = (0, false);
        let journal = match fs::exists(&path)? {
            false => None,
            true => Journal::open(&path, &vault, |record| {
                seq = record.seq;
                let Ok(entry) = serde_json::from_slice::<Entry>(&record.plain) else {
                    // Written by another version. The coordinator is asked for everything again.
                    unreadable = true;
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
        found.rev = found.rev.filter(|_| !unreadable);
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

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::domain::secret::Secret;
    use crate::protocol::Secrets;

    fn task(id: u128, version: u32) -> Task {
        Task {
            monitor: Uuid::from_u128(id),
            name: "checkout".to_owned(),
            check_version: version,
            check: RawValue::from_string(r#"{"password":"hunter2hunter2"}"#.to_owned()).unwrap(),
            secrets: Secrets([("key".to_owned(), "hunter2hunter2".to_owned())].into()),
            interval_s: 60,
            timeout_ms: 10_000,
            slow_ms: None,
            position: 0,
            of: 1,
            fail_after: 2,
            retry_gap_ms: 5_000,
            pass_after: 2,
            pass_gap_ms: 10_000,
            vote_down: false,
        }
    }

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("quorate-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        dir
    }

    fn open(dir: &Path, token: &str) -> (Assigned, Found) {
        Assigned::open(dir, Vault::new(&Secret::from(token))).unwrap()
    }

    fn known(found: &Found) -> Vec<(u128, u32)> {
        let mut known: Vec<_> =
            found.tasks.iter().map(|it| (it.monitor.as_u128(), it.check_version)).collect();
        known.sort_unstable();
        known
    }

    fn replace(assigned: &mut Assigned, rev: i64, tasks: &[Task]) {
        let tasks: Vec<Arc<Task>> = tasks.iter().cloned().map(Arc::new).collect();
        assigned.replace(rev, tasks.iter(), None).unwrap();
    }

    #[test]
    fn the_set_and_its_changes_are_there_again_and_nothing_in_clear() {
        let dir = folder("assigned-again");
        let (mut assigned, found) = open(&dir, "one");
        assert_eq!((found.rev, known(&found)), (None, vec![]));
        let many: Vec<Task> = (0..450).map(|id| task(id, 1)).collect();
        replace(&mut assigned, 3, &many);
        assert!(!assigned.change(4, &[&task(7, 2), &task(900, 1)], &[]).unwrap());
        let gone: Vec<Uuid> = (8..450).map(Uuid::from_u128).collect();
        assert!(!assigned.change(5, &[], &gone).unwrap());
        let time = Remembered { kernel: Uuid::from_u128(1), offset_us: 5, wall_ahead_us: -6 };
        assigned.note_time(time).unwrap();
        let (_, found) = open(&dir, "one");
        assert_eq!((found.rev, found.time), (Some(5), Some(time)));
        let expected: Vec<_> = (0..7).map(|id| (id, 1)).chain([(7, 2), (900, 1)]).collect();
        assert_eq!(known(&found), expected);
        let bytes = fs::read(dir.join("assignments")).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
        assert_eq!(open(&dir, "another").1.rev, None, "of no use without the token");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_file_torn_at_any_byte_is_never_taken_for_a_whole_set() {
        let dir = folder("assigned-torn");
        let (mut assigned, _) = open(&dir, "one");
        replace(&mut assigned, 3, &[task(1, 1), task(2, 1)]);
        let set = assigned.set_bytes as usize;
        assigned.change(4, &[&task(3, 1)], &[]).unwrap();
        let path = dir.join("assignments");
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (_, found) = open(&dir, "one");
            let rev = if cut >= set { Some(3) } else { None };
            assert_eq!(found.rev, rev, "cut at {cut} of {}", whole.len());
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn changes_that_outgrow_the_set_ask_for_a_new_file() {
        let dir = folder("assigned-grows");
        let (mut assigned, _) = open(&dir, "one");
        assert!(assigned.change(1, &[], &[]).unwrap(), "there is no set yet");
        replace(&mut assigned, 1, &[task(1, 1)]);
        let mut rev = 1;
        while !assigned.change(rev + 1, &[&task(1, 1)], &[]).unwrap() {
            rev += 1;
        }
        assert!(rev > 1_000);
        replace(&mut assigned, rev + 1, &[task(1, 1)]);
        assert!(fs::metadata(dir.join("assignments")).unwrap().len() < 2_000);
        assert_eq!(open(&dir, "one").1.rev, Some(rev + 1));
        fs::remove_dir_all(&dir).unwrap();
    }
}
