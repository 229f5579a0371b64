//! One log file by its content. A file is known again by what it begins with, whatever its name has
//! become and whether it is packed by now; positions count bytes of the unpacked content.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// So many bytes at the beginning of a file identify it.
pub const HEAD: usize = 1024;
/// A beginning shorter than this could be that of another file as well: then only the inode tells.
const TELLING: usize = 128;

/// The beginning of a file: the length and the hash of what was there when it was last looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub len: usize,
    /// SHA-256, hex.
    pub sha256: String,
}

/// A file on the disk, open. What it is called may change meanwhile.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub dev: u64,
    pub ino: u64,
    pub modified: SystemTime,
    pub packing: Packing,
    /// What it begins with could be read: a packed file that is still being written may not say.
    pub begins_whole: bool,
    /// The first [`HEAD`] bytes of the content.
    begin: Vec<u8>,
    file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// Reads the content from a position on.
pub enum Reader {
    Plain(File),
    Packed(Box<dyn Read + Send>),
}

impl Head {
    pub fn of(begin: &[u8]) -> Self {
        let begin = &begin[..begin.len().min(HEAD)];
        Self { len: begin.len(), sha256: hex::encode(Sha256::digest(begin)) }
    }

    /// Whether a file that begins with `begin` may be the one that began like this.
    pub fn fits(&self, begin: &[u8]) -> bool {
        begin.len() >= self.len && Self::of(&begin[..self.len]) == *self
    }

    /// Long enough that no other file is likely to begin the same.
    pub fn is_telling(&self) -> bool {
        self.len >= TELLING
    }
}

impl Found {
    /// Opens a file and looks at its beginning. An error of kind `NotFound` means that it is gone.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is a folder"));
        }
        let mut magic = Vec::with_capacity(4);
        file.by_ref().take(4).read_to_end(&mut magic)?;
        file.rewind()?;
        let packing = match magic.as_slice() {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Packing::Zstd,
            _ => Packing::Plain,
        };
        let mut found = Self {
            path: path.to_owned(),
            dev: meta.dev(),
            ino: meta.ino(),
            modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            packing,
            begins_whole: true,
            begin: Vec::new(),
            file,
        };
        found.look()?;
        Ok(found)
    }

    /// Reads the beginning again: it grows until it is [`HEAD`] bytes long.
    pub fn look(&mut self) -> io::Result<()> {
        let mut begin = Vec::with_capacity(HEAD);
        match self.reader(0) {
            Ok(reader) => {
                // A packed file that is still being written ends in the middle.
                let read = reader.take(HEAD as u64).read_to_end(&mut begin);
                self.begins_whole = read.is_ok() && !begin.is_empty();
                if self.packing == Packing::Plain {
                    read?;
                }
            }
            Err(error) => return Err(error),
        }
        self.begin = begin;
        Ok(())
    }

    /// Whether both are one file on the disk.
    pub fn is(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    pub fn begin(&self) -> &[u8] {
        &self.begin
    }

    pub fn head(&self) -> Head {
        Head::of(&self.begin)
    }

    /// Bytes on the disk; of a plain file those are its content.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.size())
    }

    /// The content from `position` on.
    pub fn reader(&self, position: u64) -> io::Result<Reader> {
        // A handle of its own would share the position; opening by number does not.
        let mut file = self.reopen()?;
        if self.packing == Packing::Plain {
            file.seek(SeekFrom::Start(position))?;
            return Ok(Reader::Plain(file));
        }
        let mut packed: Box<dyn Read + Send> = match self.packing {
            Packing::Gzip => Box::new(MultiGzDecoder::new(io::BufReader::new(file))),
            _ => Box::new(zstd::stream::read::Decoder::new(file)?),
        };
        let skipped = io::copy(&mut packed.by_ref().take(position), &mut io::sink())?;
        if skipped < position {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "its content is shorter than what was taken of it",
            ));
        }
        Ok(Reader::Packed(packed))
    }

    /// Another handle of the same file, though it may have been renamed or removed.
    fn reopen(&self) -> io::Result<File> {
        use std::os::fd::AsRawFd;
        let by_number = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        match File::open(by_number) {
            Ok(file) => Ok(file),
            // Without /proc: the path, if it still is the same file.
            Err(_) => {
                let file = File::open(&self.path)?;
                let meta = file.metadata()?;
                let same = (meta.dev(), meta.ino()) == (self.dev, self.ino);
                if same { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
            }
        }
    }
}

impl Read for Reader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buf),
            Self::Packed(packed) => packed.read(buf),
        }
    }
}

/// Fills `batch` from `reader` up to `limit` bytes and cuts it behind its last line end; what comes
/// after that is left in `rest` for the next one. A line longer than the limit is read on up to
/// `longest` and then goes as it is. True at the end of the content.
pub fn fill(
    reader: &mut impl Read,
    batch: &mut Vec<u8>,
    rest: &mut Vec<u8>,
    limit: usize,
    longest: usize,
) -> io::Result<bool> {
    batch.clear();
    batch.append(rest);
    let mut room = limit.max(batch.len() + 1);
    let mut ended = false;
    loop {
        let wanted = (room - batch.len()) as u64;
        if reader.by_ref().take(wanted).read_to_end(batch)? == 0 && wanted > 0 {
            ended = true;
        }
        match memchr::memrchr(b'\n', batch) {
            Some(end) => {
                rest.extend_from_slice(&batch[end + 1..]);
                batch.truncate(end + 1);
                return Ok(ended);
            }
            None if ended => {
                rest.append(batch);
                return Ok(true);
            }
            None if batch.len() >= longest => return Ok(false),
            None => room = (room * 2).min(longest),
        }
    }
}

/// The files beside `path` that it may have become: those whose name begins with its name, such as
/// `access.log.1` or `access.log-20261130.gz`, or with its stem, such as `access-20261130.log`. Oldest
/// first; `path` itself is not among them.
pub fn rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return Ok(Vec::new());
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let other = entry.file_name().to_string_lossy().into_owned();
        let of_name = other.starts_with(&name) && other.len() > name.len();
        // A stem needs a date or a number behind it: `access-1.log` is of `access.log`, `access_b.log`
        // is not.
        let of_stem = stem.as_deref().is_some_and(|stem| {
            other.strip_prefix(stem).is_some_and(|tail| {
                let tail = tail.trim_start_matches(['-', '.', '_']);
                tail.starts_with(|c: char| c.is_ascii_digit())
            })
        });
        if (of_name || of_stem) && other != name {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_file() {
                let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push((modified, entry.path()));
            }
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn batches_end_at_a_line_and_nothing_is_lost_or_doubled() {
        let text = b"one\ntwo\nthree is long\nfour";
        let (mut batch, mut rest, mut got) = (Vec::new(), Vec::new(), Vec::new());
        let mut reader = &text[..];
        while !fill(&mut reader, &mut batch, &mut rest, 6, 64).unwrap() || !batch.is_empty() {
            got.push(String::from_utf8(batch.clone()).unwrap());
        }
        assert_eq!(got, ["one\n", "two\n", "three is long\n"]);
        assert_eq!(rest, b"four", "an unfinished line waits");
        let mut reader = &b"abcdefghij"[..];
        rest.clear();
        assert!(!fill(&mut reader, &mut batch, &mut rest, 2, 4).unwrap());
        assert_eq!(batch, b"abcd", "a line without end goes in pieces");
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_there(text in "[ab\n]{0,200}", limit in 1_usize..40) {
            let (mut batch, mut rest, mut all) = (Vec::new(), Vec::new(), Vec::new());
            let mut reader = text.as_bytes();
            loop {
                let ended = fill(&mut reader, &mut batch, &mut rest, limit, 64).unwrap();
                all.extend_from_slice(&batch);
                prop_assert!(batch.is_empty() || batch.ends_with(b"\n") || batch.len() >= 64);
                if ended && batch.is_empty() { break; }
            }
            all.extend_from_slice(&rest);
            prop_assert_eq!(all, text.as_bytes());
        }
    }

    #[test]
    fn a_file_is_known_by_its_beginning_packed_or_not() {
        let dir = tempdir();
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let plain = dir.join("access.log");
        std::fs::write(&plain, &text).unwrap();
        let head = Found::open(&plain).unwrap().head();
        assert!(head.is_telling());
        let gz = dir.join("access.log.2.gz");
        let mut packer =
            flate2::write::GzEncoder::new(File::create(&gz).unwrap(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap();
        let zst = dir.join("access.log.3.zst");
        std::fs::write(&zst, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
        for (path, packing) in [(&gz, Packing::Gzip), (&zst, Packing::Zstd)] {
            let found = Found::open(path).unwrap();
            assert_eq!(found.packing, packing);
            assert!(head.fits(found.begin()));
            let mut tail = String::new();
            found.reader(14).unwrap().read_to_string(&mut tail).unwrap();
            assert_eq!(tail, text[14..]);
            assert!(found.reader(1 << 20).is_err());
        }
        std::fs::write(&plain, text.replace("line 0", "time 0")).unwrap();
        assert!(!head.fits(Found::open(&plain).unwrap().begin()));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_a_file_may_have_become_is_found_oldest_first() {
        let dir = tempdir();
        let names = [
            "access.log.2.gz",
            "access.log.1",
            "access-20261130.log",
            "access_b.log",
            "other.log",
            "access.log",
        ];
        for (age, name) in names.iter().enumerate() {
            let file = File::create(dir.join(name)).unwrap();
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 + age as u64);
            file.set_modified(at).unwrap();
        }
        let found = rotated(&dir.join("access.log")).unwrap();
        let found: Vec<_> =
            found.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(found, ["access.log.2.gz", "access.log.1", "access-20261130.log"]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    fn tempdir() -> PathBuf {
        let thread = format!("{:?}", std::thread::current().id());
        let name = format!("quorate-ship-{}-{thread}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }
}
