//! The results of one process start: numbered segments, and how far the coordinator has settled them.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::agent::journal::{self, HEADER, Journal, Reader};
use crate::agent::vault::Vault;

/// While the disk refuses, so many results wait in memory.
const IN_MEMORY: usize = 20_000;

/// A sequence of segments, of which the last may still grow.
#[derive(Debug)]
pub(super) struct BootLog {
    dir: PathBuf,
    id: Uuid,
    segments: VecDeque<Segment>,
    active: Option<Journal>,
    /// Later than everything on disk.
    memory: VecDeque<(i64, Vec<u8>)>,
    settled: i64,
    waiting: u64,
    dropped: u64,
    /// Where the first record that is not settled begins, or an earlier record.
    cursor: Cursor,
    /// What was read and not settled yet: sequence, and the place behind it.
    read: VecDeque<(i64, Cursor)>,
    /// Sent back since the last reading: what is answered for now was read before, comes again and will
    /// be recognised.
    rewound: bool,
    unsynced: Vec<File>,
    dirty: bool,
    /// Written with another token: counted and dropped like the rest, never read.
    foreign: bool,
    next_number: u32,
}

/// Why reading a segment ended early.
enum Stop {
    /// What follows is lost.
    Damage,
    /// The disk or the system refused; it may not do so next time.
    Refused(io::Error),
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    number: u32,
    bytes: u64,
    first: i64,
    last: i64,
    records: u64,
    settled_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    segment: u32,
    at: u64,
}

impl BootLog {
    /// A new process start.
    pub(super) fn new(dir: PathBuf, id: Uuid) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(Self {
            dir,
            id,
            segments: VecDeque::new(),
            active: None,
            memory: VecDeque::new(),
            settled: 0,
            waiting: 0,
            dropped: 0,
            cursor: Cursor::default(),
            read: VecDeque::new(),
            rewound: false,
            unsynced: Vec::new(),
            dirty: false,
            foreign: false,
            next_number: 1,
        })
    }

    /// What an earlier process left. The end of its last segment may be torn and is cut off.
    pub(super) fn load(dir: PathBuf, id: Uuid, vault: &Vault) -> io::Result<Self> {
        let mut log = Self::new(dir, id)?;
        log.settled = read_settled(&log.dir.join("settled"));
        let mut numbers: Vec<u32> = fs::read_dir(&log.dir)?
            .filter_map(|entry| {
                entry.ok()?.file_name().to_str()?.strip_suffix(".seg")?.parse().ok()
            })
            .collect();
        numbers.sort_unstable();
        let last = numbers.last().copied();
        for number in numbers {
            let path = log.path(number);
            match journal::header(&path)? {
                Some(header) if header.id != id => continue,
                Some(header) => log.foreign |= header.key_id != vault.key_id(),
                None => {
                    fs::remove_file(&path)?;
                    continue;
                }
            }
            if Some(number) == last && !log.foreign {
                Journal::open(&path, vault, |_| {})?;
            }
            log.take_up(number, &path)?;
            log.next_number = number.saturating_add(1);
        }
        if log.foreign {
            tracing::warn!(
                folder = %log.dir.display(), results = log.waiting,
                "these results were kept under another token and cannot be read; start the agent once with that token to deliver them, or delete the folder"
            );
            log.waiting = 0;
        }
        Ok(log)
    }

    /// Counts a segment's records without opening them.
    fn take_up(&mut self, number: u32, path: &Path) -> io::Result<()> {
        let mut segment = Segment::new(number);
        let mut reader = Reader::open(path, self.id, HEADER)?;
        while let Some((seq, end)) = reader.skim()? {
            segment.take(seq, end);
            self.waiting += u64::from(seq > self.settled);
        }
        if segment.records == 0 {
            return fs::remove_file(path);
        }
        if segment.last <= self.settled {
            // When exactly is forgotten, but not later than this file was written.
            let noted = fs::metadata(self.dir.join("settled")).and_then(|file| file.modified());
            segment.settled_at = noted.ok().and_then(|at| Timestamp::try_from(at).ok());
        }
        self.segments.push_back(segment);
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        vault: &Vault,
        seq: i64,
        plain: Vec<u8>,
        segment_bytes: u64,
    ) -> io::Result<()> {
        self.waiting += 1;
        // What waits in memory comes first, so that the order on disk stays the order of results.
        self.memory.push_back((seq, plain));
        while let Some((seq, plain)) = self.memory.pop_front() {
            if let Err(error) = self.write(vault, seq, &plain, segment_bytes) {
                self.memory.push_front((seq, plain));
                if self.memory.len() > IN_MEMORY {
                    self.memory.pop_front();
                    self.waiting = self.waiting.saturating_sub(1);
                    self.dropped += 1;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// At most `count` records behind what is settled, until `bytes` of text are passed.
    pub(super) fn next(
        &mut self,
        vault: &Vault,
        count: usize,
        bytes: usize,
    ) -> Vec<(i64, Vec<u8>)> {
        self.read.clear();
        self.rewound = false;
        let mut found = Vec::new();
        let mut size = 0;
        let mut from = self.cursor;
        let mut damaged = Vec::new();
        for at in 0..self.segments.len() {
            let Segment { number, last, .. } = self.segments[at];
            if self.foreign || number < from.segment || last <= self.settled {
                continue;
            }
            if number > from.segment {
                from = Cursor { segment: number, at: HEADER };
            }
            let full = self.read_segment(vault, &mut from, count, bytes, (&mut found, &mut size));
            match full {
                Ok(true) => return found,
                Ok(false) => {}
                // Damage is no reason to stop: the next segment has its own beginning.
                Err(Stop::Damage) => damaged.push((number, from.at)),
                Err(Stop::Refused(error)) => {
                    tracing::warn!(folder = %self.dir.display(), %error, "a spool file cannot be read now");
                    return found;
                }
            }
        }
        self.cut(&damaged);
        for (seq, plain) in &self.memory {
            if found.len() >= count || (size > 0 && size + plain.len() > bytes) {
                break;
            }
            size += plain.len();
            found.push((*seq, plain.clone()));
        }
        found
    }

    /// Reads on in one segment; true once there is enough, an error where damage begins.
    fn read_segment(
        &mut self,
        vault: &Vault,
        from: &mut Cursor,
        count: usize,
        bytes: usize,
        (found, size): (&mut Vec<(i64, Vec<u8>)>, &mut usize),
    ) -> Result<bool, Stop> {
        let path = path_of(&self.dir, from.segment);
        let mut reader = Reader::open(&path, self.id, from.at)?;
        loop {
            if found.len() >= count {
                return Ok(true);
            }
            let Some(record) = reader.next(vault)? else {
                return if reader.at_end() { Ok(false) } else { Err(Stop::Damage) };
            };
            if record.seq > self.settled {
                if *size > 0 && *size + record.plain.len() > bytes {
                    return Ok(true);
                }
                *size += record.plain.len();
                found.push((record.seq, record.plain));
            }
            from.at = record.end;
            self.read.push_back((record.seq, *from));
        }
    }

    /// Gives up what lies behind damage: it is counted, and the segment ends there from now on.
    fn cut(&mut self, damaged: &[(u32, u64)]) {
        for (number, at) in damaged {
            let newest = self.segments.back().is_some_and(|segment| segment.number == *number);
            if newest {
                self.active = None;
            }
            let Some(segment) = self.segments.iter_mut().find(|it| it.number == *number) else {
                continue;
            };
            let good = self.read.iter().rev().find(|(_, cursor)| cursor.segment == *number);
            let good = good.map_or(self.settled.max(segment.first - 1), |(seq, _)| *seq);
            let lost = u64::try_from(segment.last - good).unwrap_or(0).min(self.waiting);
            segment.last = good;
            if lost == 0 {
                continue;
            }
            tracing::error!(
                folder = %self.dir.display(), segment = number, at, lost,
                "a spool file is damaged; the results behind that place are lost"
            );
            self.waiting -= lost;
            self.dropped += lost;
        }
    }

    pub(super) fn settle(&mut self, seq: i64, now: Timestamp) -> io::Result<()> {
        if seq <= self.settled || self.rewound {
            return Ok(());
        }
        let before = self.settled;
        while let Some((read, cursor)) = self.read.pop_front_if(|(read, _)| *read <= seq) {
            self.waiting -= u64::from(read > before).min(self.waiting);
            self.cursor = cursor;
        }
        while self.memory.pop_front_if(|(waits, _)| *waits <= seq).is_some() {
            self.waiting = self.waiting.saturating_sub(1);
        }
        self.settled = seq;
        for segment in &mut self.segments {
            if segment.last <= seq {
                segment.settled_at.get_or_insert(now);
            }
        }
        self.note_settled()
    }

    /// Whatever was read last is of no use; goes on behind it.
    pub(super) fn settle_read(&mut self) {
        if let Some((seq, _)) = self.read.back().copied()
            && seq > self.settled
        {
            self.dropped +=
                self.read.iter().filter(|(read, _)| *read > self.settled).count() as u64;
            // The note is repeated with the next settlement.
            let _ = self.settle(seq, Timestamp::UNIX_EPOCH);
        }
    }

    pub(super) fn rewind(&mut self, seq: i64) -> io::Result<u64> {
        if seq >= self.settled || self.foreign {
            return Ok(0);
        }
        let before = self.waiting;
        self.settled = seq.max(0);
        self.cursor = Cursor::default();
        self.read.clear();
        self.rewound = true;
        self.waiting = self.memory.len() as u64;
        for segment in &mut self.segments {
            if segment.last > seq {
                segment.settled_at = None;
                let path = path_of(&self.dir, segment.number);
                let mut reader = Reader::open(&path, self.id, HEADER)?;
                while let Some((found, _)) = reader.skim()? {
                    self.waiting += u64::from(found > seq);
                }
            }
        }
        self.note_settled()?;
        Ok(self.waiting.saturating_sub(before))
    }

    pub(super) fn settled(&self) -> i64 {
        self.settled
    }

    /// Whether anything could be sent again.
    pub(super) fn is_kept(&self) -> bool {
        !(self.foreign || self.segments.is_empty() && self.memory.is_empty())
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Results lost since the last call.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    pub(super) fn unsynced(&mut self) -> Vec<File> {
        if std::mem::take(&mut self.dirty)
            && let Some(Ok(file)) = self.active.as_ref().map(Journal::handle)
        {
            self.unsynced.push(file);
        }
        std::mem::take(&mut self.unsynced)
    }

    /// Drops the first segment if all of it is settled.
    pub(super) fn drop_settled(&mut self) -> bool {
        let settled = self.segments.front().is_some_and(|first| first.last <= self.settled);
        settled && self.drop_first()
    }

    /// Drops the first segment, whatever it holds.
    pub(super) fn drop_oldest(&mut self) -> bool {
        !self.segments.is_empty() && self.drop_first()
    }

    pub(super) fn expire(&mut self, now: Timestamp, kept: SignedDuration) {
        let old =
            |segment: &Segment| segment.settled_at.is_some_and(|at| now.duration_since(at) >= kept);
        while self.segments.front().is_some_and(old) && self.drop_first() {}
    }

    /// Removes the folder of a process start of which nothing is left.
    pub(super) fn remove_if_empty(&self) -> bool {
        self.segments.is_empty() && self.memory.is_empty() && fs::remove_dir_all(&self.dir).is_ok()
    }

    fn drop_first(&mut self) -> bool {
        let Some(first) = self.segments.pop_front() else { return false };
        if let Err(error) = fs::remove_file(self.path(first.number)) {
            tracing::warn!(folder = %self.dir.display(), %error, "could not remove a spool file");
        }
        if self.segments.is_empty() {
            self.active = None;
        }
        if !self.foreign {
            let behind = self.settled.max(first.first - 1);
            let lost = u64::try_from(first.last - behind).unwrap_or(0);
            let lost = lost.min(first.records).min(self.waiting);
            self.waiting -= lost;
            self.dropped += lost;
        }
        self.read.retain(|(_, cursor)| cursor.segment != first.number);
        true
    }

    fn write(&mut self, vault: &Vault, seq: i64, plain: &[u8], max: u64) -> io::Result<()> {
        let full = self.segments.back().is_some_and(|last| last.bytes >= max);
        if full || self.active.is_none() {
            if let Some(Ok(file)) = self.active.take().as_ref().map(Journal::handle) {
                self.unsynced.push(file);
            }
            let number = self.next_number;
            let path = self.path(number);
            self.active = Some(Journal::create(&path, vault, self.id)?);
            self.next_number += 1;
            self.segments.push_back(Segment::new(number));
            self.unsynced.extend(File::open(&self.dir));
        }
        let (Some(active), Some(segment)) = (&mut self.active, self.segments.back_mut()) else {
            return Err(io::Error::other("there is no segment to write to"));
        };
        match active.append(vault, seq, plain) {
            Ok(()) => {
                segment.take(seq, active.bytes());
                self.dirty = true;
                Ok(())
            }
            Err(error) => {
                if active.is_broken() {
                    self.active = None;
                }
                Err(error)
            }
        }
    }

    fn note_settled(&self) -> io::Result<()> {
        let (path, fresh) = (self.dir.join("settled"), self.dir.join("settled.new"));
        fs::write(&fresh, format!("{}\n", self.settled))?;
        fs::rename(&fresh, &path)
    }

    fn path(&self, number: u32) -> PathBuf {
        path_of(&self.dir, number)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => Stop::Damage,
            _ => Stop::Refused(error),
        }
    }
}

impl Segment {
    fn new(number: u32) -> Self {
        Self { number, bytes: HEADER, first: 0, last: 0, records: 0, settled_at: None }
    }

    fn take(&mut self, seq: i64, end: u64) {
        if self.records == 0 {
            self.first = seq;
        }
        (self.last, self.bytes) = (seq, end);
        self.records += 1;
    }
}

fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{number:08}.seg"))
}

/// Without a readable note nothing counts as settled: the coordinator recognises repetitions.
fn read_settled(path: &Path) -> i64 {
    fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}
