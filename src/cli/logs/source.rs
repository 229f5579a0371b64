//! Files as chunks of whole lines: plain, gzip or zstd by their first bytes, or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// So much of a file is looked at to tell its format and where it begins.
pub(super) const HEAD: usize = 64 * 1024;
/// The longest line that is kept whole; of a longer one the rest counts as another line.
const LONGEST_LINE: usize = 1024 * 1024;
/// What the decompressing thread hands over at a time.
const BLOCK: usize = 256 * 1024;

/// One thing to read, as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    File(PathBuf),
    Stdin,
}

/// An open input that gives chunks of whole lines.
pub(super) struct Source {
    bytes: Bytes,
    /// Read from the input and not handed over: what was looked at ahead, or a line without its end.
    rest: Vec<u8>,
    ended: bool,
    /// Bytes of the file that are read, before decompression.
    pub(super) position: Arc<AtomicU64>,
    /// Bytes of the file; 0 when nobody knows.
    pub(super) size: u64,
}

/// Decompressed bytes.
enum Bytes {
    Direct(Box<dyn Read>),
    /// From a thread of its own: decompressing costs as much as reading the lines does. An empty block is
    /// the end; a thread that ends without it has failed.
    Thread {
        blocks: Receiver<io::Result<Vec<u8>>>,
        current: Vec<u8>,
        at: usize,
        ended: bool,
    },
}

/// Counts what was read of a file.
struct Counted<R> {
    inner: R,
    position: Arc<AtomicU64>,
}

impl Input {
    pub(super) fn new(name: &Path) -> Self {
        if name == Path::new("-") { Self::Stdin } else { Self::File(name.to_owned()) }
    }

    /// As it is shown.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }
}

impl Source {
    pub(super) fn open(input: &Input) -> io::Result<Self> {
        let position = Arc::new(AtomicU64::new(0));
        let (raw, size): (Box<dyn Read + Send>, u64) = match input {
            Input::Stdin => (Box::new(io::stdin()), 0),
            Input::File(path) => {
                let file = File::open(path)?;
                let about = file.metadata()?;
                if about.is_dir() {
                    return Err(io::Error::from(io::ErrorKind::IsADirectory));
                }
                (Box::new(file), about.len())
            }
        };
        let mut raw = Counted { inner: raw, position: position.clone() };
        let magic = read_up_to(&mut raw, 4)?;
        let compressed = Packing::of(&magic);
        let raw = io::Cursor::new(magic).chain(raw);
        let bytes = match compressed {
            Packing::Plain => Bytes::Direct(Box::new(raw)),
            Packing::Gzip => Bytes::thread(flate2::read::MultiGzDecoder::new(
                io::BufReader::with_capacity(BLOCK, raw),
            )),
            Packing::Zstd => Bytes::thread(zstd::Decoder::new(raw)?),
        };
        Ok(Self { bytes, rest: Vec::new(), ended: false, position, size })
    }

    /// What the input begins with; it stays to be read.
    pub(super) fn head(&mut self) -> io::Result<&[u8]> {
        self.fill(HEAD)?;
        Ok(&self.rest[..self.rest.len().min(HEAD)])
    }

    /// The next lines, at least `size` bytes of them if there are so many; empty at the end.
    pub(super) fn chunk(&mut self, size: usize) -> io::Result<Vec<u8>> {
        let mut want = size;
        loop {
            self.fill(want)?;
            if self.ended {
                return Ok(std::mem::take(&mut self.rest));
            }
            let end = memchr::memrchr(b'\n', &self.rest).map(|at| at + 1);
            let end = end.or((self.rest.len() >= LONGEST_LINE).then_some(self.rest.len()));
            if let Some(end) = end {
                let mut next = Vec::with_capacity(size + BLOCK / 4);
                next.extend_from_slice(&self.rest[end..]);
                self.rest.truncate(end);
                return Ok(std::mem::replace(&mut self.rest, next));
            }
            want = self.rest.len() + size;
        }
    }

    /// Everything that is left, at most `most` bytes; none when there is more.
    pub(super) fn all(&mut self, most: usize) -> io::Result<Option<Vec<u8>>> {
        self.fill(most + 1)?;
        Ok((self.rest.len() <= most).then(|| std::mem::take(&mut self.rest)))
    }

    /// Reads until so much is at hand, or the end.
    fn fill(&mut self, want: usize) -> io::Result<()> {
        while self.rest.len() < want && !self.ended {
            let have = self.rest.len();
            let missing = (want - have).max(BLOCK / 4);
            self.rest.resize(have + missing, 0);
            let got = self.bytes.read(&mut self.rest[have..]);
            self.rest.truncate(have + got.as_ref().map_or(0, |got| *got));
            match got {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Bytes {
    fn thread(mut from: impl Read + Send + 'static) -> Self {
        let (send, blocks) = sync_channel(2);
        // Nobody waits for it: it ends with its input, or when nobody takes what it has.
        std::thread::spawn(move || {
            loop {
                let mut block = vec![0; BLOCK];
                let got = match from.read(&mut block) {
                    Ok(got) => {
                        block.truncate(got);
                        Ok(block)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = got.as_ref().map_or(true, Vec::is_empty);
                if send.send(got).is_err() || last {
                    return;
                }
            }
        });
        Self::Thread { blocks, current: Vec::new(), at: 0, ended: false }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Direct(from) => from.read(into),
            Self::Thread { blocks, current, at, ended } => {
                if *at == current.len() && !*ended {
                    *current = blocks.recv().map_err(|_| {
                        io::Error::other("unpacking it failed inside Quorate, which is a bug")
                    })??;
                    *at = 0;
                    *ended = current.is_empty();
                }
                let count = into.len().min(current.len() - *at);
                into[..count].copy_from_slice(&current[*at..*at + count]);
                *at += count;
                Ok(count)
            }
        }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(into)?;
        self.position.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

fn read_up_to(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most);
    from.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn chunks(bytes: Bytes, size: usize) -> Vec<Vec<u8>> {
        let mut source =
            Source { bytes, rest: Vec::new(), ended: false, position: Arc::default(), size: 0 };
        let mut chunks = Vec::new();
        loop {
            let chunk = source.chunk(size).unwrap();
            if chunk.is_empty() {
                return chunks;
            }
            chunks.push(chunk);
        }
    }

    #[test]
    fn chunks_end_at_line_ends_and_lose_nothing() {
        let text: Vec<u8> = (0..100_000).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
        let text = [&text[..], b"without an end"].concat();
        for size in [1, 1_000, 300_000, 10_000_000] {
            let chunks = chunks(Bytes::Direct(Box::new(io::Cursor::new(text.clone()))), size);
            assert!(chunks.concat() == text, "chunks of {size}");
            let (_, whole) = chunks.split_last().unwrap();
            assert!(whole.iter().all(|chunk| chunk.ends_with(b"\n")));
        }
    }

    #[test]
    fn a_line_longer_than_memory_should_be_is_cut() {
        let text = vec![b'x'; 3 * LONGEST_LINE + 5];
        let chunks = chunks(Bytes::Direct(Box::new(io::Cursor::new(text.clone()))), 1_000);
        assert!(chunks.concat() == text);
        assert!(chunks.iter().all(|chunk| chunk.len() < 2 * LONGEST_LINE));
    }

    #[test]
    fn members_of_a_gzip_file_follow_each_other_and_a_torn_one_is_an_error() {
        let pack = |text: &[u8]| {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            to.write_all(text).unwrap();
            to.finish().unwrap()
        };
        let both = [pack(b"a\nb\n"), pack(b"c\n")].concat();
        let decoder = |bytes: Vec<u8>| {
            Bytes::thread(flate2::read::MultiGzDecoder::new(io::Cursor::new(bytes)))
        };
        assert_eq!(chunks(decoder(both.clone()), 10).concat(), b"a\nb\nc\n");
        let mut torn = decoder(both[..both.len() - 9].to_vec());
        let mut read = 0;
        let error = loop {
            match torn.read(&mut [0; 16]) {
                Ok(0) => panic!("a torn file looks whole"),
                Ok(got) => read += got,
                Err(error) => break error,
            }
        };
        assert!(read <= 6);
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_decoder_that_panics_is_no_end_of_a_file() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
                panic!("on purpose")
            }
        }
        let error = Bytes::thread(Broken).read(&mut [0; 16]).unwrap_err();
        assert!(error.to_string().contains("bug"), "{error}");
        let mut whole = Bytes::thread(io::Cursor::new(b"a"));
        let ends: Vec<usize> = (0..3).map(|_| whole.read(&mut [0; 16]).unwrap()).collect();
        assert_eq!(ends, [1, 0, 0]);
    }
}
