//! Which files were seen and how far they were taken. On disk, so that a restart goes on where it was;
//! the coordinator's word on how far it has a file counts more.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, bail};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::file::Head;

/// A file that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// What the coordinator knows it by.
    pub id: Uuid,
    pub dev: u64,
    pub ino: u64,
    pub head: Head,
    /// So many bytes of its content were taken.
    pub next: u64,
    /// Packed and read to its end: there is nothing more to come.
    #[serde(default)]
    pub over: bool,
    pub seen_at: Timestamp,
    /// When it was first seen; positions of an earlier version do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met_at: Option<Timestamp>,
}

/// The state of one shipper: one fleet, one source.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    inner: Mutex<Inner>,
    /// Held as long as the shipper runs: two of them would send everything twice.
    _lock: nix::fcntl::Flock<fs::File>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Inner {
    version: u32,
    /// By followed path.
    paths: BTreeMap<String, Vec<Known>>,
}

const VERSION: u32 = 1;
/// Files of one path that are remembered though they are gone.
pub(super) const REMEMBERED: usize = 100;

impl Known {
    pub fn met_at(&self) -> Timestamp {
        self.met_at.unwrap_or(self.seen_at)
    }
}

impl State {
    /// Reads what is there. An error when it is not ours to read, or another shipper has it.
    pub fn open(dir: &Path, fleet: &str, source: &str) -> anyhow::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).with_context(|| {
            format!(
                "the folder for positions, {}, cannot be made; name one: --state-dir",
                dir.display()
            )
        })?;
        let name = format!("{}.{}", plain(fleet), plain(source));
        let lock_path = dir.join(format!("{name}.lock"));
        let lock = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock_path)
            .with_context(|| format!("{} cannot be opened", lock_path.display()))?;
        let lock = nix::fcntl::Flock::lock(lock, nix::fcntl::FlockArg::LockExclusiveNonblock)
            .map_err(|_| {
                anyhow::anyhow!(
                    "another shipper forwards source “{source}” of fleet “{fleet}” from here; \
                     give this one another --source or --state-dir"
                )
            })?;
        let path = dir.join(format!("{name}.json"));
        let inner = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .with_context(|| format!("{} is damaged; without it everything would be sent again: restore it, or remove it if that is what you want", path.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Inner { version: VERSION, ..Inner::default() }
            }
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be read", path.display()));
            }
        };
        if inner.version > VERSION {
            bail!("{} was written by a newer version of this program", path.display());
        }
        Ok(Self { path, inner: Mutex::new(inner), _lock: lock })
    }

    /// The files that a path has been, in the order in which they were first seen.
    pub fn known(&self, path: &Path) -> Vec<Known> {
        self.lock().paths.get(&key(path)).cloned().unwrap_or_default()
    }

    /// Remembers a file as it is now, and writes the state before it returns.
    pub fn remember(&self, path: &Path, known: &Known) -> anyhow::Result<()> {
        let mut inner = self.lock();
        let files = inner.paths.entry(key(path)).or_default();
        match files.iter_mut().find(|file| file.id == known.id) {
            Some(file) => *file = known.clone(),
            None => files.push(known.clone()),
        }
        self.write(&inner)
    }

    /// Forgets the oldest of the files that are not `there`. What is there has to stay known, or it would
    /// be sent again.
    pub fn forget(&self, path: &Path, there: &HashSet<Uuid>) -> anyhow::Result<()> {
        let mut inner = self.lock();
        let Some(files) = inner.paths.get_mut(&key(path)) else { return Ok(()) };
        let newest = files.len().saturating_sub(REMEMBERED);
        let mut at = 0;
        let before = files.len();
        files.retain(|file| {
            at += 1;
            at > newest || there.contains(&file.id)
        });
        if files.len() == before { Ok(()) } else { self.write(&inner) }
    }

    fn write(&self, inner: &Inner) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(inner)?;
        let fresh = self.path.with_extension("json.new");
        let write = || {
            let mut file = fs::OpenOptions::new()
                .create(true)
                .truncate(true)
                .write(true)
                .mode(0o600)
                .open(&fresh)?;
            file.write_all(&text)?;
            file.sync_data()?;
            fs::rename(&fresh, &self.path)
        };
        write().with_context(|| format!("{} cannot be written", self.path.display()))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A name as part of a file name: letters, digits, `-` and `_` stay, the rest is written as numbers.
fn plain(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
            other => format!("%{other:02x}"),
        })
        .collect()
}
