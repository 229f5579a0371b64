//! Asking name servers: over UDP with repeats, over TCP from the start or when an answer was cut.
//!
//! What a server can make us hold: one UDP packet of 4 KiB or one message of 64 KiB.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::answer::{Answer, Question, Reading};
use crate::domain::observation::Class;
use crate::net::{ConnectError, Guard};
use crate::probe::dial;
use crate::probe::trace::Failure;

/// A question is asked again after this long, then after twice that, and so on.
const FIRST_REPEAT: Duration = Duration::from_secs(1);
const PACKET: usize = 4_096;

/// What happened on the way to the answer; several servers may be asked at once.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Packets and messages that do not answer the question.
    pub(super) ignored: AtomicU32,
    /// An answer over UDP was cut and fetched over TCP.
    pub(super) cut: AtomicBool,
}

/// How servers are asked.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) question: &'a Question,
    pub(super) tcp: bool,
    /// `None` for the agent's own resolvers: those its operator chose.
    pub(super) guard: Option<&'a Guard>,
    pub(super) notes: &'a Notes,
}

/// Asks the servers one after the other, the next one each time `patience` is over or one is of no use; the first
/// usable answer counts. With none, the first server's failure is told.
pub(super) async fn any(
    servers: &[SocketAddr],
    patience: Duration,
    way: Way<'_>,
) -> Result<(SocketAddr, Answer), Failure> {
    let mut waiting = servers.iter().copied();
    let mut asked = FuturesUnordered::new();
    let ask = |server| async move { (server, way.ask(server).await) };
    let mut useless: Option<(SocketAddr, Answer)> = None;
    let mut failure: Option<Failure> = None;
    loop {
        if asked.is_empty() {
            match waiting.next() {
                Some(server) => asked.push(ask(server)),
                None => break,
            }
        }
        tokio::select! {
            Some((server, result)) = asked.next() => match result {
                Ok(answer) if matches!(answer.rcode.as_str(), "NOERROR" | "NXDOMAIN") => return Ok((server, answer)),
                // Another server may know more.
                Ok(answer) => useless = useless.or(Some((server, answer))),
                Err(error) => failure = failure.or(Some(error)),
            },
            () = tokio::time::sleep(patience), if waiting.len() > 0 => {
                asked.extend(waiting.next().map(ask));
            }
        }
    }
    match (useless, failure) {
        (Some(found), _) => Ok(found),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(Failure::new(Class::Internal, "There was no name server to ask.")),
    }
}

impl Way<'_> {
    async fn ask(&self, server: SocketAddr) -> Result<Answer, Failure> {
        if self.tcp {
            let stream = self.connect(server).await?;
            return self.over(stream, server).await;
        }
        match self.datagrams(server).await? {
            Some(answer) => Ok(answer),
            None => {
                self.notes.cut.store(true, Ordering::Relaxed);
                let stream = self.connect(server).await?;
                self.over(stream, server).await
            }
        }
    }

    async fn connect(&self, server: SocketAddr) -> Result<TcpStream, Failure> {
        let stream = match self.guard {
            Some(guard) => guard.connect(server).await,
            None => TcpStream::connect(server).await.map_err(ConnectError::Io),
        };
        stream.map_err(|error| dial::connect_failure(server, &error))
    }

    /// Over UDP. `None`: the answer was cut.
    async fn datagrams(&self, server: SocketAddr) -> Result<Option<Answer>, Failure> {
        let failed = |error: io::Error| dial::connect_failure(server, &ConnectError::Io(error));
        let socket = match self.guard {
            Some(guard) => guard.datagrams(server).await,
            None => Guard::any_datagrams(server).await.map_err(ConnectError::Io),
        };
        let socket = socket.map_err(|error| dial::connect_failure(server, &error))?;
        let mut message = self.bytes(true)?;
        let mut extended = true;
        let mut repeat = FIRST_REPEAT;
        loop {
            socket.send(&message).await.map_err(failed)?;
            match tokio::time::timeout(repeat, self.packet(&socket, server)).await {
                Err(_) => repeat *= 2,
                // Old servers do not know extensions, and some forwarders break them.
                Ok(Ok(Some(answer)))
                    if extended && matches!(answer.rcode.as_str(), "FORMERR" | "NOTIMP") =>
                {
                    message = self.bytes(false)?;
                    extended = false;
                }
                Ok(result) => return result,
            }
        }
    }

    /// Waits for the packet that answers; others are counted.
    async fn packet(
        &self,
        socket: &UdpSocket,
        server: SocketAddr,
    ) -> Result<Option<Answer>, Failure> {
        let mut buffer = vec![0; PACKET];
        loop {
            let length = socket
                .recv(&mut buffer)
                .await
                .map_err(|error| dial::connect_failure(server, &ConnectError::Io(error)))?;
            match self.question.read(buffer.get(..length).unwrap_or_default()) {
                Reading::Answer(answer) => return Ok(Some(answer)),
                Reading::Cut => return Ok(None),
                Reading::Unreadable(why) => return Err(unreadable(server, &why)),
                Reading::NotOurs => _ = self.notes.ignored.fetch_add(1, Ordering::Relaxed),
            }
        }
    }

    /// Over a connection that was made: each message behind its length.
    pub(super) async fn over(
        &self,
        mut stream: TcpStream,
        server: SocketAddr,
    ) -> Result<Answer, Failure> {
        let broken = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::new(
                Class::DnsServfail,
                format!("{server} closed the connection without an answer."),
            ),
            _ => Failure::new(
                Class::ConnectReset,
                format!("{server} broke the connection before an answer came: {error}."),
            ),
        };
        let message = self.bytes(false)?;
        let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
        let framed = [&length.to_be_bytes()[..], &message].concat();
        stream.write_all(&framed).await.map_err(broken)?;
        loop {
            let length = usize::from(stream.read_u16().await.map_err(broken)?);
            let mut bytes = Vec::new();
            (&mut stream).take(length as u64).read_to_end(&mut bytes).await.map_err(broken)?;
            if bytes.len() < length {
                return Err(Failure::new(
                    Class::BodyTruncated,
                    format!(
                        "The answer of {server} ended early: {} of {length} bytes.",
                        bytes.len()
                    ),
                ));
            }
            match self.question.read(&bytes) {
                Reading::Answer(answer) => return Ok(answer),
                Reading::Cut => {
                    return Err(unreadable(server, "it is cut, though it came over TCP"));
                }
                Reading::Unreadable(why) => return Err(unreadable(server, &why)),
                Reading::NotOurs => _ = self.notes.ignored.fetch_add(1, Ordering::Relaxed),
            }
        }
    }

    fn bytes(&self, edns: bool) -> Result<Vec<u8>, Failure> {
        self.question.bytes(edns).map_err(|why| {
            Failure::new(Class::Internal, format!("The question cannot be written: {why}."))
        })
    }
}

fn unreadable(server: SocketAddr, why: &str) -> Failure {
    Failure::new(Class::DnsServfail, format!("The answer of {server} cannot be read: {why}."))
}
