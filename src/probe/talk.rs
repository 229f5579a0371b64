//! A conversation over TCP, for the kinds that read lines or bytes: what came and was not used yet, and what
//! the probe is waiting for, kept outside the future that reads so that the deadline can say it.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::Attempt;
use super::conclude::{Facts, conclude};
use super::dial::{self, Offer, Target};
use super::trace::{Failure, Stage, Trace};
use crate::domain::check::{Endpoint, IpFamily, Tls};
use crate::domain::observation::{Class, Fact, Observation};
use crate::domain::pattern::Pattern;
use crate::domain::redactor::Redactor;

/// Bytes that may wait for a match.
const MOST_KEPT: usize = 64 * 1024;
const LONGEST_LINE: usize = 8 * 1024;
/// Bytes of the first line that are kept.
const BANNER: usize = 1_024;
/// Characters of a peer's words in a sentence.
const QUOTED: usize = 160;
/// How long a polite end may take; it is not part of any measure.
pub(super) const FAREWELL: std::time::Duration = std::time::Duration::from_millis(250);

/// A connection, in plain text or in TLS.
pub(super) type Stream = Either<TcpStream, TlsStream<TcpStream>>;

pub(super) struct Talk {
    pub(super) trace: Trace,
    redactor: Redactor,
    /// What came. Bytes before `used` are done with; one of them stays, to know where a line begins.
    kept: Vec<u8>,
    used: usize,
    /// The first line that came, without its end.
    banner: Vec<u8>,
    banner_ended: bool,
    ended: bool,
    /// A clause for sentences, such as `step 2 waited for /^250/`; empty while nobody talks.
    waiting: String,
    /// When everything was seen. What comes after it is politeness.
    done: Option<Instant>,
}

impl Talk {
    pub(super) fn begin(attempt: &Attempt<'_>) -> Self {
        Self::new(attempt.start, attempt.check.redactor())
    }

    fn new(start: Instant, redactor: Redactor) -> Self {
        Self {
            trace: Trace::new(start),
            redactor,
            kept: Vec::new(),
            used: 0,
            banner: Vec::new(),
            banner_ended: false,
            ended: false,
            waiting: String::new(),
            done: None,
        }
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        Self::new(Instant::now(), Redactor::new(["hunter2"]))
    }

    pub(super) async fn connect(
        &mut self,
        attempt: &Attempt<'_>,
        endpoint: &Endpoint,
        family: IpFamily,
    ) -> Result<TcpStream, Failure> {
        let target = Target { host: endpoint.host.clone(), port: endpoint.port, family };
        dial::connect(&target, attempt, &mut self.trace).await
    }

    /// Turns a connection into TLS. What was said in plain text is done with.
    pub(super) async fn secure(
        &mut self,
        attempt: &Attempt<'_>,
        stream: TcpStream,
        endpoint: &Endpoint,
        tls: &Tls,
    ) -> Result<Stream, Failure> {
        let settings = &attempt.ctx.0.tls;
        self.waiting.clear();
        let (host, trace) = (&endpoint.host, &mut self.trace);
        settings
            .handshake(stream, host, tls, Offer::Nothing, attempt.ctx, trace)
            .await
            .map(Either::Right)
    }

    /// Says in sentences to come what the probe waits for, beginning with who waits.
    pub(super) fn wait_for(&mut self, clause: impl Into<String>) {
        self.waiting = clause.into();
    }

    /// Everything was seen.
    pub(super) fn done(&mut self) {
        self.trace.leave();
        self.done = Some(Instant::now());
    }

    /// What came and was not used.
    pub(super) fn rest(&self) -> &[u8] {
        self.kept.get(self.used..).unwrap_or_default()
    }

    /// Nothing more comes.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Where the pattern stands in the rest; for [`Talk::take`]. What the next byte could undo, as it can with
    /// `OK$` when `OK` is all that has come, is no match yet: it must not depend on how packets are cut.
    pub(super) fn find(&mut self, pattern: &Pattern) -> Option<Range<usize>> {
        let found = pattern.find(&self.kept, self.used)?;
        let open = found.end == self.kept.len() && !self.ended;
        let lasts = |next: u8| {
            self.kept.push(next);
            let again = pattern.find(&self.kept, self.used);
            self.kept.pop();
            again.is_some_and(|again| again.start == found.start)
        };
        // A letter and something else, for those that look whether a word ends.
        (!open || [b'x', 0].into_iter().all(lasts)).then_some(found)
    }

    /// Uses everything up to the end of what was found, and gives what was found, for people.
    pub(super) fn take(&mut self, found: &Range<usize>) -> String {
        self.used = found.end.min(self.kept.len());
        self.visible(self.kept.get(found.clone()).unwrap_or_default())
    }

    pub(super) async fn send<S>(&mut self, stream: &mut S, bytes: &[u8]) -> Result<(), Failure>
    where
        S: AsyncWrite + Unpin,
    {
        let sent = async {
            stream.write_all(bytes).await?;
            stream.flush().await
        };
        match sent.await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.broken(&error)),
        }
    }

    /// Waits for more; false at the end of the stream.
    pub(super) async fn more<S>(&mut self, stream: &mut S) -> Result<bool, Failure>
    where
        S: AsyncRead + Unpin,
    {
        if self.rest().len() >= MOST_KEPT {
            return Err(Failure::new(
                Class::DialogueRejected,
                format!("64\u{a0}KiB came while {}, and that was not in it.", self.waiting),
            ));
        }
        if self.used > 1 {
            self.kept.drain(..self.used - 1);
            self.used = 1;
        }
        if self.kept.is_empty() && self.banner.is_empty() {
            self.trace.enter(Stage::FirstByte);
        } else if self.trace.stage() != Some(Stage::Transfer) {
            self.trace.enter(Stage::Transfer);
        }
        self.kept.reserve(4_096);
        let before = self.kept.len();
        match stream.read_buf(&mut self.kept).await {
            Ok(0) => {
                self.ended = true;
                Ok(false)
            }
            Ok(_) => {
                self.trace.enter(Stage::Transfer);
                self.note_banner(before);
                Ok(true)
            }
            // Many servers close without the TLS farewell.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.ended = true;
                Ok(false)
            }
            Err(error) => Err(self.broken(&error)),
        }
    }

    fn note_banner(&mut self, from: usize) {
        let came = self.kept.get(from..).unwrap_or_default();
        if self.banner_ended {
            return;
        }
        let end = came.iter().position(|byte| *byte == b'\n');
        let line = came.get(..end.unwrap_or(came.len())).unwrap_or_default();
        let room = BANNER - self.banner.len();
        self.banner.extend_from_slice(line.get(..room.min(line.len())).unwrap_or_default());
        self.banner_ended = end.is_some() || self.banner.len() >= BANNER;
    }

    /// Waits for the end of the first line, or of the stream.
    pub(super) async fn first_line<S>(&mut self, stream: &mut S) -> Result<(), Failure>
    where
        S: AsyncRead + Unpin,
    {
        while !self.banner_ended {
            if !self.more(stream).await? {
                break;
            }
        }
        Ok(())
    }

    /// The first line that came, if anything did.
    pub(super) fn banner(&self) -> Option<String> {
        let line = self.banner.strip_suffix(b"\r").unwrap_or(&self.banner);
        let said = self.banner_ended || !line.is_empty();
        said.then(|| String::from_utf8_lossy(line).into_owned())
    }

    /// The next line, without its end.
    pub(super) async fn line<S>(&mut self, stream: &mut S) -> Result<String, Failure>
    where
        S: AsyncRead + Unpin,
    {
        loop {
            if let Some(at) = self.rest().iter().position(|byte| *byte == b'\n') {
                let line = self.rest().get(..at).unwrap_or_default();
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let line = String::from_utf8_lossy(line).into_owned();
                self.used += at + 1;
                return Ok(line);
            }
            if self.rest().len() > LONGEST_LINE {
                return Err(Failure::new(
                    Class::DialogueRejected,
                    format!("A line longer than 8\u{a0}KiB came while {}.", self.waiting),
                ));
            }
            if !self.more(stream).await? {
                return Err(self.closed());
            }
        }
    }

    /// The next byte.
    pub(super) async fn byte<S>(&mut self, stream: &mut S) -> Result<u8, Failure>
    where
        S: AsyncRead + Unpin,
    {
        loop {
            if let Some(byte) = self.rest().first().copied() {
                self.used += 1;
                return Ok(byte);
            }
            if !self.more(stream).await? {
                return Err(self.closed());
            }
        }
    }

    /// The failure of a stream that ended too early.
    pub(super) fn closed(&self) -> Failure {
        let said = match self.rest() {
            [] => "it had said nothing more".to_owned(),
            rest => format!("it had said {}", self.quoted(rest)),
        };
        Failure::new(
            Class::DialogueRejected,
            format!("The server closed the connection while {}; {said}.", self.waiting),
        )
    }

    fn broken(&self, error: &io::Error) -> Failure {
        let tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
        match error.kind() {
            _ if tls => dial::handshake_failure(error),
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Failure::new(
                Class::ConnectReset,
                format!("The connection was reset while {}.", self.waiting),
            ),
            _ => Failure::new(
                Class::ConnectReset,
                format!("The connection broke while {}: {error}.", self.waiting),
            ),
        }
    }

    /// Bytes of the peer in quotation marks: without secrets, without control characters, not too long.
    pub(super) fn quoted(&self, bytes: &[u8]) -> String {
        let shown = self.visible(bytes);
        match shown.char_indices().nth(QUOTED) {
            None => format!("\"{shown}\""),
            Some((at, _)) => format!("\"{}…\"", shown.get(..at).unwrap_or_default()),
        }
    }

    /// Bytes of the peer for people. Secrets go first: what is made visible could not be found again.
    pub(super) fn visible(&self, bytes: &[u8]) -> String {
        visible(&self.redactor, bytes)
    }

    /// A line of evidence in the peer's words.
    pub(super) fn fact(&self, label: &str, words: &str) -> Fact {
        Fact { label: label.to_owned(), value: self.visible(words.as_bytes()) }
    }

    /// The observation; `ended` is what [`Attempt::bounded`] gave.
    pub(super) fn conclude(
        self,
        attempt: &Attempt<'_>,
        host: &str,
        facts: Facts,
        ended: Option<Result<(), Failure>>,
    ) -> Observation {
        let result = match (self.done, ended) {
            (Some(_), _) => Ok(()),
            (None, Some(result)) => result,
            (None, None) => Err(self.timed_out(attempt, host)),
        };
        let end = self.done.unwrap_or_else(Instant::now);
        conclude(attempt.check, &self.trace, facts, result, end)
    }

    fn timed_out(&self, attempt: &Attempt<'_>, host: &str) -> Failure {
        let mut clause = self.waiting.chars();
        let Some(first) = clause.next() else {
            return attempt.timed_out_before(host, &self.trace);
        };
        let got = match self.rest() {
            [] => "nothing".to_owned(),
            rest => self.quoted(rest),
        };
        Failure::new(
            Class::DialogueTimeout,
            format!(
                "{}{} until the limit of {} and got {got}.",
                first.to_uppercase(),
                clause.as_str(),
                attempt.limit()
            ),
        )
    }
}

/// Bytes of a peer as text without secrets, on one line.
pub(super) fn visible(redactor: &Redactor, bytes: &[u8]) -> String {
    let text = redactor.clean_prefix(&String::from_utf8_lossy(bytes), 4_096);
    let mut out = String::with_capacity(text.len());
    for c in text.trim_end_matches(['\r', '\n']).chars() {
        match c {
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Says goodbye as far as the peer lets us; the result is decided already.
pub(super) async fn farewell<S>(stream: &mut S, words: &[u8])
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let polite = async {
        stream.write_all(words).await?;
        stream.shutdown().await?;
        let mut rest = [0u8; 512];
        // A peer that goes on talking is not listened to for ever.
        for _ in 0..16 {
            if stream.read(&mut rest).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(FAREWELL, polite).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    fn block<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    /// Reads everything that comes in pieces, looking for the pattern after each as a dialogue does.
    async fn search(pattern: &Pattern, said: &[u8], piece: usize) -> Option<String> {
        let mut talk = Talk::for_tests();
        let (mut near, mut far) = tokio::io::duplex(piece);
        let say = async {
            // The reader may have seen enough.
            let _ = far.write_all(said).await;
            drop(far);
        };
        let read = async {
            loop {
                if let Some(found) = talk.find(pattern) {
                    return Some(talk.take(&found));
                }
                assert!(talk.rest().len() <= MOST_KEPT + 8_192 && talk.banner.len() <= BANNER);
                if talk.ended() || talk.more(&mut near).await.is_err() {
                    return None;
                }
            }
        };
        tokio::join!(say, read).1
    }

    #[test]
    fn words_of_a_peer_are_shown_without_secrets_on_one_line() {
        let talk = Talk::for_tests();
        assert_eq!(
            talk.visible(b"a\r\nb\t\0\x1b[2J\xff hunter2\r\n"),
            "a\\r\\nb\\t\\x00\\x1b[2J\u{fffd} (hidden)"
        );
        let long = talk.quoted(&[b'x'; 100_000]);
        assert_eq!(long.chars().count(), QUOTED + 3);
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let pattern = Pattern::parse("never").unwrap();
        let mut talk = Talk::for_tests();
        let failure = block(async {
            let mut endless = tokio::io::repeat(b'x');
            loop {
                assert!(talk.find(&pattern).is_none());
                if let Err(failure) = talk.more(&mut endless).await {
                    return failure;
                }
            }
        });
        assert_eq!(failure.class, Class::DialogueRejected);
        assert!(talk.kept.capacity() <= 4 * MOST_KEPT, "{}", talk.kept.capacity());
        assert_eq!(talk.banner().map(|banner| banner.len()), Some(BANNER));
        let failure = block(async { talk.line(&mut tokio::io::repeat(b'x')).await.unwrap_err() });
        assert!(failure.message.contains("8\u{a0}KiB"), "{}", failure.message);
    }

    #[test]
    fn what_the_next_byte_could_undo_is_no_match_yet() {
        let found = |pattern: &str, said: &str, ended: bool| {
            let mut talk = Talk::for_tests();
            talk.kept.extend_from_slice(said.as_bytes());
            talk.ended = ended;
            talk.find(&Pattern::parse(pattern).unwrap())
        };
        for pattern in ["^OK$", "OK\\b", "OK\\z"] {
            assert_eq!(found(pattern, "OK", false), None, "{pattern}");
            assert_eq!(found(pattern, "OK", true), Some(0..2), "{pattern}");
        }
        assert_eq!(found("^OK$", "OK\r\n", false), Some(0..2));
        assert_eq!(found("OK", "OK", false), Some(0..2));
        assert_eq!(found("\\w+", "OK", false), Some(0..2));
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_into_packets_changes_nothing(
            mut said in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'2'), any::<u8>()], 0..200),
            piece in 1usize..20,
        ) {
            said.extend_from_slice(b"\n250 hunter2 ok\r\n");
            let pattern = Pattern::parse("^250 .*ok$").unwrap();
            let whole = pattern.find(&said, 0).map(|found| Talk::for_tests().visible(&said[found]));
            let found = block(search(&pattern, &said, piece));
            prop_assert!(found.is_some());
            prop_assert_eq!(found, whole);
        }

        #[test]
        fn lines_come_out_as_they_went_in(
            lines in proptest::collection::vec("[^\r\n]{0,30}", 0..10),
            crlf in any::<bool>(),
        ) {
            let end = if crlf { "\r\n" } else { "\n" };
            let said: String = lines.iter().flat_map(|line| [line.as_str(), end]).collect();
            let read = block(async {
                let (mut talk, mut stream) = (Talk::for_tests(), said.as_bytes());
                let mut read = Vec::new();
                while let Ok(line) = talk.line(&mut stream).await {
                    read.push(line);
                }
                read
            });
            prop_assert_eq!(read, lines);
        }
    }
}
