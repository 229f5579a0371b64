//! Append-only files of sealed records, readable after a kill at any byte.
//!
//! ```text
//! header   "QRSPOOL1" · key id (8) · file's id (16)
//! record   length (4, little-endian) · sequence (8) · nonce (24) · ciphertext · tag (16)
//! ```
//!
//! A record is bound to its file's id and its sequence. What ends in the middle of a record, or does
//! not open, ends there: [`Journal::open`] cuts it off.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use uuid::Uuid;

use super::vault::{OVERHEAD, Vault};

const MAGIC: &[u8; 8] = b"QRSPOOL1";
pub const HEADER: u64 = 32;
const FRAME: u64 = 12;
/// No record is longer; a length beyond it is damage.
const MAX_RECORD: u32 = 64 << 20;

/// A file open for appending.
#[derive(Debug)]
pub struct Journal {
    file: File,
    id: Uuid,
    len: u64,
    /// An append failed and could not be taken back: nothing more may follow.
    broken: bool,
}

/// One record as read.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    pub seq: i64,
    pub plain: Vec<u8>,
    /// Where the next record begins.
    pub end: u64,
}

/// What a file's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub key_id: [u8; 8],
    pub id: Uuid,
}

/// Reads a file's records in order.
#[derive(Debug)]
pub struct Reader {
    file: BufReader<File>,
    id: Uuid,
    at: u64,
    len: u64,
}

impl Journal {
    /// A new file, readable for its owner only. An older one of that name is replaced.
    pub fn create(path: &Path, vault: &Vault, id: Uuid) -> io::Result<Self> {
        let mut file = private().create(true).truncate(true).open(path)?;
        file.write_all(&[&MAGIC[..], &vault.key_id(), id.as_bytes()].concat())?;
        Ok(Self { file, id, len: HEADER, broken: false })
    }

    /// Opens a file to append to it, cutting off a torn end; `each` sees every whole record. Nothing
    /// if the file is not ours to read: too short for a header, or of another key.
    pub fn open(
        path: &Path,
        vault: &Vault,
        mut each: impl FnMut(Record),
    ) -> io::Result<Option<Self>> {
        let Some(header) = header(path)? else { return Ok(None) };
        if header.key_id != vault.key_id() {
            return Ok(None);
        }
        let mut reader = Reader::open(path, header.id, HEADER)?;
        while let Some(record) = reader.next(vault)? {
            each(record);
        }
        let len = reader.at;
        let file = private().open(path)?;
        if reader.len > len {
            let (file, bytes) = (path.display(), reader.len - len);
            tracing::warn!(%file, bytes, "the end was torn when the agent was killed; cut off");
        }
        file.set_len(len)?;
        let mut journal = Self { file, id: header.id, len, broken: false };
        journal.file.seek(SeekFrom::Start(len))?;
        Ok(Some(journal))
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Appends one record. After an error the file is as it was before.
    pub fn append(&mut self, vault: &Vault, seq: i64, plain: &[u8]) -> io::Result<()> {
        let sealed = vault.seal(&place(self.id, seq), plain);
        let length = u32::try_from(sealed.len()).ok().filter(|length| *length <= MAX_RECORD);
        let length = length.ok_or_else(|| io::Error::other("a record is longer than 64 MiB"))?;
        let frame = [&length.to_le_bytes()[..], &seq.to_le_bytes(), &sealed].concat();
        if let Err(error) = self.file.write_all(&frame) {
            let back = self.file.set_len(self.len);
            self.broken = back.and_then(|()| self.file.seek(SeekFrom::Start(self.len))).is_err();
            return Err(error);
        }
        self.len += frame.len() as u64;
        Ok(())
    }

    /// Whether records that are appended now could not be read later.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Another handle of the same file, to flush it to the disk elsewhere.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

impl Reader {
    /// Starts at byte `at`, which is where a record begins.
    pub fn open(path: &Path, id: Uuid, at: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(at))?;
        Ok(Self { file: BufReader::with_capacity(64 << 10, file), id, at, len })
    }

    /// The next whole record; nothing at the end, or where damage begins.
    pub fn next(&mut self, vault: &Vault) -> io::Result<Option<Record>> {
        let Some((seq, length)) = self.frame()? else { return Ok(None) };
        let mut sealed = vec![0; length as usize];
        self.file.read_exact(&mut sealed)?;
        let Some(plain) = vault.open(&place(self.id, seq), &sealed) else { return Ok(None) };
        self.at += FRAME + u64::from(length);
        Ok(Some(Record { seq, plain, end: self.at }))
    }

    /// The next record's sequence and end, without opening it.
    pub fn skim(&mut self) -> io::Result<Option<(i64, u64)>> {
        let Some((seq, length)) = self.frame()? else { return Ok(None) };
        self.file.seek_relative(i64::from(length))?;
        self.at += FRAME + u64::from(length);
        Ok(Some((seq, self.at)))
    }

    /// Whether all of the file was read.
    pub fn at_end(&self) -> bool {
        self.at >= self.len
    }

    fn frame(&mut self) -> io::Result<Option<(i64, u32)>> {
        if self.at + FRAME > self.len {
            return Ok(None);
        }
        let (mut length, mut seq) = ([0; 4], [0; 8]);
        self.file.read_exact(&mut length)?;
        self.file.read_exact(&mut seq)?;
        let length = u32::from_le_bytes(length);
        let whole = (OVERHEAD as u32..=MAX_RECORD).contains(&length)
            && self.at + FRAME + u64::from(length) <= self.len;
        Ok(whole.then(|| (i64::from_le_bytes(seq), length)))
    }
}

/// The header of a file; nothing if it has none.
pub fn header(path: &Path) -> io::Result<Option<Header>> {
    let mut bytes = Vec::with_capacity(HEADER as usize);
    File::open(path)?.take(HEADER).read_to_end(&mut bytes)?;
    let parts = (bytes.get(..8), bytes.get(8..16), bytes.get(16..32));
    Ok(match parts {
        (Some(magic), Some(key_id), Some(id)) if magic == MAGIC => Some(Header {
            key_id: key_id.try_into().unwrap_or_default(),
            id: Uuid::from_slice(id).unwrap_or_default(),
        }),
        _ => None,
    })
}

/// Options for writing files that only their owner may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn place(id: Uuid, seq: i64) -> [u8; 24] {
    let mut place = [0; 24];
    place[..16].copy_from_slice(id.as_bytes());
    place[16..].copy_from_slice(&seq.to_le_bytes());
    place
}
