//! A body as it comes in → pieces of whole lines. Decompression and cutting need threads that may wait,
//! and never more memory than a few pieces.

use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;
use tokio::sync::mpsc;

/// So much text is taken in one transaction, a little more if a line ends beyond it.
pub(super) const PIECE: usize = 4 * 1024 * 1024;
/// A line that is longer than this is none.
pub(super) const LONGEST_LINE: usize = 256 * 1024;

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Gzip,
    Zstd,
}

/// Whole lines (or JSON values, one a line) and where they begin in the decompressed text.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub offset: u64,
    pub text: Vec<u8>,
    /// Bytes of a line that was too long to be kept, which stood behind the text.
    pub thrown: u64,
    /// Lines that were too long to be kept.
    pub cut: u64,
}

impl Piece {
    /// Where what follows it begins.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.text.len() as u64 + self.thrown
    }

    /// Leaves out what stands before `at`, and says how many bytes that is.
    pub(super) fn skip_to(&mut self, at: u64) -> u64 {
        let seen = at.saturating_sub(self.offset).min(self.end() - self.offset);
        let of_text = usize::try_from(seen).map_or(self.text.len(), |n| n.min(self.text.len()));
        self.text.drain(..of_text);
        self.thrown -= seen - of_text as u64;
        self.offset += seen;
        seen
    }
}

/// How a body holds its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// As they stand in the file, one line feed after each.
    Lines,
    /// JSON objects: in an array, one a line, or one after another.
    Objects,
}

/// A body that arrives in another thread.
pub(super) struct Body {
    incoming: mpsc::Receiver<Result<Bytes, String>>,
    current: Bytes,
}

impl Body {
    pub(super) fn new(incoming: mpsc::Receiver<Result<Bytes, String>>) -> Self {
        Self { incoming, current: Bytes::new() }
    }
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.incoming.blocking_recv() {
                Some(Ok(bytes)) => self.current = bytes,
                Some(Err(why)) => {
                    return Err(io::Error::new(io::ErrorKind::ConnectionAborted, why));
                }
                None => return Ok(0),
            }
        }
        let length = into.len().min(self.current.len());
        into[..length].copy_from_slice(&self.current.split_to(length));
        Ok(length)
    }
}

/// Cuts a body into pieces and hands them to `give` until that answers false. `whole_lines`: what
/// follows the last line feed is left for the next time.
pub(super) fn cut(
    body: impl Read + Send,
    encoding: Encoding,
    shape: Option<Shape>,
    whole_lines: bool,
    offset: u64,
    give: impl FnMut(Piece) -> bool,
) -> io::Result<()> {
    let plain: Box<dyn Read + Send> = match encoding {
        Encoding::Plain => Box::new(body),
        Encoding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(body)),
        Encoding::Zstd => Box::new(zstd::Decoder::new(body)?),
    };
    let mut plain = BufReader::with_capacity(256 * 1024, plain);
    // Nobody knows what the first byte is before it is there.
    let shape = match shape {
        Some(shape) => shape,
        None => match first_byte(&mut plain)? {
            Some(b'[') => Shape::Objects,
            _ => Shape::Lines,
        },
    };
    match shape {
        Shape::Lines => cut_lines(plain, whole_lines, offset, give),
        Shape::Objects => cut_objects(plain, offset, give),
    }
}

fn first_byte(plain: &mut impl BufRead) -> io::Result<Option<u8>> {
    Ok(plain.fill_buf()?.iter().copied().find(|b| !b.is_ascii_whitespace()))
}

fn cut_lines(
    mut plain: impl BufRead,
    whole_lines: bool,
    offset: u64,
    mut give: impl FnMut(Piece) -> bool,
) -> io::Result<()> {
    let mut piece = Piece { offset, ..Piece::default() };
    // Where the line begins that is being read. What is thrown away of one is counted in its piece.
    let mut line = 0;
    loop {
        let buffer = plain.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', buffer);
        let part = end.map_or(buffer, |end| &buffer[..=end]);
        let length = part.len();
        piece.text.extend_from_slice(part);
        plain.consume(length);
        // What follows the beginning of a line that is none is no line either.
        if piece.text.len() - line > LONGEST_LINE || piece.thrown > 0 {
            piece.thrown += (piece.text.len() - line) as u64;
            piece.text.truncate(line);
        }
        if end.is_none() {
            continue;
        }
        line = piece.text.len();
        piece.cut = u64::from(piece.thrown > 0);
        if line >= PIECE || piece.cut > 0 {
            let next = piece.end();
            line = 0;
            let next = Piece { offset: next, ..Piece::default() };
            if !give(std::mem::replace(&mut piece, next)) {
                return Ok(());
            }
        }
    }
    if whole_lines {
        piece.text.truncate(line);
        piece.thrown = 0;
    }
    piece.cut = u64::from(piece.thrown > 0);
    if !piece.text.is_empty() || piece.cut > 0 {
        give(piece);
    }
    Ok(())
}

/// Every top-level JSON object becomes one line.
fn cut_objects(
    plain: impl BufRead,
    offset: u64,
    mut give: impl FnMut(Piece) -> bool,
) -> io::Result<()> {
    let mut piece = Piece { offset, ..Piece::default() };
    let mut scan = Scan::default();
    let mut begin = 0;
    for byte in plain.bytes() {
        let byte = byte?;
        match scan.next(byte) {
            Step::Outside => {}
            Step::Inside => {
                // A line feed between tokens of a pretty object would end the line.
                piece.text.push(if byte == b'\n' { b' ' } else { byte });
                if piece.text.len() - begin > LONGEST_LINE {
                    piece.text.truncate(begin);
                    piece.cut += u64::from(!std::mem::replace(&mut scan.skip, true));
                }
            }
            Step::End => {
                if scan.skip {
                    piece.text.truncate(begin);
                    scan.skip = false;
                } else {
                    piece.text.push(byte);
                    piece.text.push(b'\n');
                }
                begin = piece.text.len();
                if piece.text.len() >= PIECE {
                    begin = 0;
                    let done = std::mem::take(&mut piece);
                    piece.offset = done.end();
                    if !give(done) {
                        return Ok(());
                    }
                }
            }
        }
    }
    piece.text.truncate(begin);
    if !piece.text.is_empty() || piece.cut > 0 {
        give(piece);
    }
    Ok(())
}

/// Finds the ends of top-level objects.
#[derive(Default)]
struct Scan {
    depth: u32,
    in_text: bool,
    escaped: bool,
    skip: bool,
}

enum Step {
    Outside,
    Inside,
    End,
}

impl Scan {
    fn next(&mut self, byte: u8) -> Step {
        if self.in_text {
            match (self.escaped, byte) {
                (true, _) => self.escaped = false,
                (false, b'\\') => self.escaped = true,
                (false, b'"') => self.in_text = false,
                _ => {}
            }
            return Step::Inside;
        }
        match byte {
            b'{' => self.depth += 1,
            b'}' if self.depth == 1 => {
                self.depth = 0;
                return Step::End;
            }
            b'}' => self.depth = self.depth.saturating_sub(1),
            b'"' if self.depth > 0 => self.in_text = true,
            _ => {}
        }
        if self.depth > 0 { Step::Inside } else { Step::Outside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(body: &[u8], shape: Option<Shape>, whole: bool) -> Vec<(u64, String, u64)> {
        let mut out = Vec::new();
        cut(body, Encoding::Plain, shape, whole, 100, |piece| {
            let text = String::from_utf8_lossy(&piece.text).into_owned();
            out.push((piece.offset, text, piece.cut));
            true
        })
        .unwrap();
        out
    }

    #[test]
    fn a_line_without_its_end_waits_only_if_it_may_grow() {
        assert_eq!(pieces(b"a\nb\nc", None, true), [(100, "a\nb\n".to_owned(), 0)]);
        assert_eq!(pieces(b"a\nb\nc", None, false), [(100, "a\nb\nc".to_owned(), 0)]);
        assert_eq!(pieces(b"c", None, true), []);
        assert_eq!(pieces(b"", None, false), []);
    }

    #[test]
    fn pieces_are_whole_lines_whose_offsets_add_up() {
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        let body = line.repeat(10_000);
        let mut next = 100;
        for (offset, text, cut) in pieces(&body, None, true) {
            assert_eq!((offset, cut), (next, 0));
            assert!(text.ends_with('\n') && text.len() <= PIECE + 1_000);
            next = offset + text.len() as u64;
        }
        assert_eq!(next, 100 + 10_000_000);
    }

    #[test]
    fn a_line_without_end_is_thrown_away_and_its_length_is_kept() {
        // Longer than a piece by far, and longer than the text of any other.
        for length in [LONGEST_LINE, LONGEST_LINE * 3, 17 << 20, 65 << 20] {
            for whole in [true, false] {
                let body = [b"a\n".to_vec(), vec![b'x'; length], b"\nb\n".to_vec()].concat();
                let mut next = 100;
                let (mut lines, mut cut_lines) = (Vec::new(), 0);
                cut(body.as_slice(), Encoding::Plain, None, whole, 100, |piece| {
                    assert_eq!(piece.offset, next);
                    assert!(piece.text.len() <= PIECE + LONGEST_LINE);
                    next = piece.end();
                    lines.extend(piece.text);
                    cut_lines += piece.cut;
                    true
                })
                .unwrap();
                assert_eq!((next, cut_lines), (100 + body.len() as u64, 1), "{length}");
                assert_eq!(lines, b"a\nb\n");
            }
        }
    }

    #[test]
    fn a_line_without_end_at_the_end_waits_or_is_thrown_away() {
        let body = [b"a\n".to_vec(), vec![b'x'; 17 << 20]].concat();
        for (whole, end, cut_lines) in [(true, 102, 0), (false, 100 + body.len() as u64, 1)] {
            let mut seen = Vec::new();
            cut(body.as_slice(), Encoding::Plain, None, whole, 100, |piece| {
                seen.push((piece.end(), piece.cut, piece.text));
                true
            })
            .unwrap();
            assert_eq!(seen, [(end, cut_lines, b"a\n".to_vec())]);
        }
    }

    #[test]
    fn what_was_taken_before_is_left_out_of_text_and_thrown_bytes_alike() {
        let piece = || Piece { offset: 10, text: b"a\nb\n".to_vec(), thrown: 1_000, cut: 1 };
        for (at, seen, text, thrown) in [
            (5, 0, &b"a\nb\n"[..], 1_000),
            (12, 2, b"b\n", 1_000),
            (14, 4, b"", 1_000),
            (100, 90, b"", 914),
            (9_999, 1_004, b"", 0),
        ] {
            let mut piece = piece();
            assert_eq!(piece.skip_to(at), seen, "{at}");
            assert_eq!((piece.text.as_slice(), piece.thrown), (text, thrown), "{at}");
            assert_eq!(piece.end(), 1_014);
        }
    }

    #[test]
    fn objects_are_found_in_arrays_in_lines_and_one_after_another() {
        let wanted = "{\"message\":\"a}\\\"{\"}\n{\"b\":{\"c\":[1]}}\n";
        for body in [
            "[{\"message\":\"a}\\\"{\"},\n {\"b\":{\"c\":[1]}}]",
            "{\"message\":\"a}\\\"{\"}\n{\"b\":{\"c\":[1]}}\n",
            "{\"message\":\"a}\\\"{\"}{\"b\":{\"c\":[1]}}",
        ] {
            let all = pieces(body.as_bytes(), Some(Shape::Objects), false);
            assert_eq!(all.iter().map(|p| p.1.as_str()).collect::<String>(), wanted, "{body}");
        }
        assert_eq!(pieces(b"[{\"a\":\n1}]", None, false)[0].1, "{\"a\": 1}\n");
        assert_eq!(pieces(b"[{\"a\":1},{\"b\"", None, false)[0].1, "{\"a\":1}\n");
        let long = format!("[{{\"a\":\"{}\"}},{{\"b\":1}}]", "x".repeat(LONGEST_LINE));
        let all = pieces(long.as_bytes(), None, false);
        assert_eq!((all[0].1.as_str(), all[0].2), ("{\"b\":1}\n", 1));
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let read = cut(&b"plain text"[..], encoding, None, false, 0, |_| true);
            assert!(read.is_err(), "{encoding:?}");
        }
        let packed = zstd::encode_all(&b"a\nb\n"[..], 1).unwrap();
        let mut seen = Vec::new();
        cut(packed.as_slice(), Encoding::Zstd, None, true, 0, |p| {
            seen.extend(p.text);
            true
        })
        .unwrap();
        assert_eq!(seen, b"a\nb\n");
    }
}
