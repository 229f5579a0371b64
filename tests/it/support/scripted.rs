//! A server that follows a script on every connection, in plain text and, from where the script says so, in
//! TLS.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use super::targets::{Target, reset, tcp};

#[derive(Clone)]
pub(crate) enum Act {
    Say(&'static [u8]),
    /// Byte by byte, each in a packet of its own.
    Spell(&'static [u8]),
    /// Reads just this; what came instead ends the script.
    Hear(&'static [u8]),
    /// Reads one line, whatever it is.
    HearLine,
    /// Shakes hands.
    Secure(TlsAcceptor),
    /// Says this again and again.
    Flood(&'static [u8]),
    /// The same, one every 10 ms.
    Drip(&'static [u8]),
    /// Neither reads nor writes any more.
    Hold,
    Reset,
}

/// Plays the script; at its end the connection is closed. What was heard is in `requests`.
pub(crate) async fn scripted(script: Vec<Act>) -> Target {
    let script = Arc::new(script);
    tcp(move |stream, _, heard| {
        let script = script.clone();
        async move { play(&script, stream, &heard).await }
    })
    .await
}

async fn play(
    script: &[Act],
    plain: TcpStream,
    heard: &Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    let mut stream: Either<TcpStream, TlsStream<TcpStream>> = Either::Left(plain);
    for act in script {
        match act {
            Act::Say(bytes) => {
                stream.write_all(bytes).await?;
                stream.flush().await?;
            }
            Act::Spell(bytes) => {
                for byte in *bytes {
                    stream.write_all(&[*byte]).await?;
                    stream.flush().await?;
                    tokio::task::yield_now().await;
                }
            }
            Act::Hear(text) => {
                let mut came = vec![0; text.len()];
                stream.read_exact(&mut came).await?;
                let same = came == *text;
                heard.lock().unwrap().push(String::from_utf8_lossy(&came).into_owned());
                if !same {
                    break;
                }
            }
            Act::HearLine => {
                let mut line = Vec::new();
                while !line.ends_with(b"\n") {
                    line.push(stream.read_u8().await?);
                }
                heard.lock().unwrap().push(String::from_utf8_lossy(&line).into_owned());
            }
            Act::Secure(acceptor) => {
                stream = match stream {
                    Either::Left(plain) => Either::Right(acceptor.accept(plain).await?),
                    secured => secured,
                };
            }
            Act::Flood(bytes) => loop {
                stream.write_all(bytes).await?;
            },
            Act::Drip(bytes) => loop {
                stream.write_all(bytes).await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            },
            Act::Hold => std::future::pending().await,
            Act::Reset => {
                // What was said must have left before the reset takes it along.
                tokio::time::sleep(Duration::from_millis(30)).await;
                if let Either::Left(plain) = stream {
                    reset(plain);
                }
                return Ok(());
            }
        }
    }
    stream.shutdown().await?;
    // Unread bytes would turn the end into a reset.
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.map(|_| ())
}
