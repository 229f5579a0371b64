//! Reading a body: decoded on the way, up to the monitor's limit, whatever the server sends.

use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};
use tokio_util::io::StreamReader;

use super::exchange::{Answer, io_kind};
use super::request::Order;
use crate::domain::check::HttpCheck;
use crate::domain::observation::Class;
use crate::probe::trace::Failure;

/// Longest chain of codings that is undone; nobody sends two on purpose.
const MOST_CODINGS: usize = 3;

/// 8 MiB, what RFC 8878 tells every decoder to support. More would let a server fill our memory.
const ZSTD_WINDOW_LOG: u32 = 23;

/// What is kept of a body that no condition looks into: enough to tell its charset and to show its beginning,
/// with room for a secret that stands on the edge.
const BEGINNING: usize = 64 * 1024;

/// A body as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Decoded; its beginning at least.
    pub(super) bytes: Vec<u8>,
    /// Decoded bytes that were read.
    pub(super) size: u64,
    /// There was more than the limit.
    pub(super) cut: bool,
}

impl Read {
    /// Takes what came, up to the limit; whether there can be more.
    fn take(&mut self, piece: &[u8], wanted: &Wanted) -> bool {
        let room = wanted.limit.saturating_sub(usize::try_from(self.size).unwrap_or(usize::MAX));
        let piece = match piece.get(..room) {
            Some(within) => {
                self.cut = piece.len() > room;
                within
            }
            None => piece,
        };
        let keep = wanted.kept.saturating_sub(self.bytes.len()).min(piece.len());
        self.bytes.extend_from_slice(piece.get(..keep).unwrap_or_default());
        self.size += piece.len() as u64;
        !self.cut
    }
}

/// What is to be read.
pub(super) struct Wanted {
    limit: usize,
    /// So much of it stays in memory; many bodies at once would fill that of an agent.
    kept: usize,
    /// The answer has no body by the rules of HTTP.
    none: bool,
    /// Bytes on the wire that the server announced.
    announced: Option<u64>,
    /// The body ends with the connection, so an unclean end of TLS is its end.
    until_close: bool,
    codings: Vec<String>,
}

impl Wanted {
    pub(super) fn of(check: &HttpCheck, order: &Order<'_>, response: &Response<Incoming>) -> Self {
        let limit = check.max_body as usize;
        let headers = response.headers();
        let status = response.status().as_u16();
        let announced = headers
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.trim().parse().ok());
        Self {
            limit,
            kept: if check.looks_into_body() { limit } else { limit.min(BEGINNING) },
            none: order.method == Method::HEAD || matches!(status, 100..=199 | 204 | 304),
            announced,
            until_close: announced.is_none()
                && !headers.contains_key(TRANSFER_ENCODING)
                && response.version() < http::Version::HTTP_2,
            codings: codings(headers),
        }
    }
}

/// In the order in which they were applied.
fn codings(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .flat_map(|value| {
            String::from_utf8_lossy(value.as_bytes())
                .split(',')
                .map(|coding| coding.trim().to_ascii_lowercase())
                .collect::<Vec<_>>()
        })
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect()
}

pub(super) async fn read(answer: Answer, wanted: &Wanted) -> Result<Read, Failure> {
    let Answer { response, connection } = answer;
    // The connection's task must live until the last byte is here.
    let _connection = connection;
    let mut wire = Wire { incoming: response.into_body(), received: AtomicU64::new(0) };
    if wanted.none {
        return Ok(Read::default());
    }
    if wanted.codings.is_empty() {
        plain(&mut wire, wanted).await
    } else {
        decoded(&mut wire, wanted).await
    }
}

/// The bytes as they come, counted.
struct Wire {
    incoming: Incoming,
    received: AtomicU64,
}

impl Wire {
    async fn next(&mut self, wanted: &Wanted) -> Result<Option<Bytes>, Failure> {
        loop {
            match self.incoming.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    // Trailers are of no use here.
                    if let Ok(data) = frame.into_data() {
                        self.received.fetch_add(data.len() as u64, Ordering::Relaxed);
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return self.ended_by(&error, wanted).map(|()| None),
            }
        }
    }

    /// Whether an error is the end of the body or a failure.
    fn ended_by(&self, error: &hyper::Error, wanted: &Wanted) -> Result<(), Failure> {
        let received = self.received.load(Ordering::Relaxed);
        let kind = io_kind(error);
        // Many servers close without the TLS farewell.
        if wanted.until_close && kind == Some(std::io::ErrorKind::UnexpectedEof) {
            return Ok(());
        }
        if let Some(announced) = wanted.announced {
            return Err(Failure::new(
                Class::BodyTruncated,
                format!("The answer ended early: {received} of {announced} bytes."),
            ));
        }
        if error.is_incomplete_message()
            || kind.is_some()
                && kind != Some(std::io::ErrorKind::InvalidData)
                && kind != Some(std::io::ErrorKind::InvalidInput)
        {
            return Err(Failure::new(
                Class::BodyTruncated,
                format!("The answer ended early, after {received} bytes and without its end mark."),
            ));
        }
        Err(Failure::new(
            Class::HttpProtocol,
            format!("The body is not valid HTTP, after {received} bytes: {error}."),
        ))
    }
}

async fn plain(wire: &mut Wire, wanted: &Wanted) -> Result<Read, Failure> {
    let mut read = Read::default();
    while let Some(chunk) = wire.next(wanted).await? {
        if !read.take(&chunk, wanted) {
            break;
        }
    }
    Ok(read)
}

async fn decoded(wire: &mut Wire, wanted: &Wanted) -> Result<Read, Failure> {
    // A transport failure passes through decoders as an opaque error; its own words are kept here.
    let broken: Mutex<Option<Failure>> = Mutex::new(None);
    let chunks = stream::try_unfold(wire, |wire| {
        let broken = &broken;
        async move {
            match wire.next(wanted).await {
                Ok(chunk) => Ok(chunk.map(|chunk| (chunk, wire))),
                Err(failure) => {
                    if let Ok(mut slot) = broken.lock() {
                        *slot = Some(failure);
                    }
                    Err(std::io::Error::other("transport"))
                }
            }
        }
    });
    let mut raw = StreamReader::new(Box::pin(chunks));
    let result = async {
        // A body of no bytes is empty whatever coding its header names.
        let empty = raw
            .fill_buf()
            .await
            .map(<[u8]>::is_empty)
            .map_err(|error| undecodable(wanted, &error.to_string()))?;
        if empty {
            return Ok(Read::default());
        }
        let mut reader: Pin<Box<dyn AsyncBufRead + Send + '_>> = Box::pin(raw);
        if wanted.codings.len() > MOST_CODINGS {
            return Err(Failure::new(
                Class::BodyEncoding,
                format!("The body is encoded {} times over.", wanted.codings.len()),
            ));
        }
        for coding in wanted.codings.iter().rev() {
            reader = decoder(coding, reader).await?;
        }
        let mut read = Read::default();
        loop {
            let piece =
                reader.fill_buf().await.map_err(|error| undecodable(wanted, &error.to_string()))?;
            let length = piece.len();
            if length == 0 || !read.take(piece, wanted) {
                break;
            }
            reader.consume(length);
        }
        Ok(read)
    }
    .await;
    match broken.into_inner() {
        Ok(Some(failure)) => Err(failure),
        _ => result,
    }
}

type Reader<'a> = Pin<Box<dyn AsyncBufRead + Send + 'a>>;

async fn decoder<'a>(coding: &str, mut inner: Reader<'a>) -> Result<Reader<'a>, Failure> {
    fn buffered<'a>(reader: impl AsyncRead + Send + 'a) -> Reader<'a> {
        Box::pin(BufReader::new(reader))
    }
    Ok(match coding {
        "gzip" | "x-gzip" => buffered(GzipDecoder::new(inner)),
        "br" => buffered(BrotliDecoder::new(inner)),
        "zstd" => buffered(ZstdDecoder::with_params(
            inner,
            &[DParameter::window_log_max(ZSTD_WINDOW_LOG)],
        )),
        "deflate" => {
            // By the book this is zlib; many servers send the bare stream.
            let head = inner.fill_buf().await.map_err(|error| {
                Failure::new(Class::BodyEncoding, format!("The body could not be read: {error}."))
            })?;
            let zlib = matches!(head, [cmf, flg, ..] if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)).is_multiple_of(31));
            if zlib {
                buffered(ZlibDecoder::new(inner))
            } else {
                buffered(DeflateDecoder::new(inner))
            }
        }
        other => {
            return Err(Failure::new(
                Class::BodyEncoding,
                format!(
                    "The body's encoding, {other:?}, is not known; known are gzip, deflate, br and zstd."
                ),
            ));
        }
    })
}

fn undecodable(wanted: &Wanted, why: &str) -> Failure {
    Failure::new(
        Class::BodyEncoding,
        format!("The body is not {}, as its header says: {why}.", wanted.codings.join(", ")),
    )
}
