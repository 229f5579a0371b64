//! What the agents probe: one server for each row of the drill, whose mood the drill changes.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::TlsAcceptor;

use crate::support::targets::{note_head, ok, write_and_close};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Nobody listens.
    Refusing,
    /// It takes the request and never answers.
    Silent,
    /// 503
    Broken,
    /// It answers well after so long.
    Slow(Duration),
}

/// The drill's end of one server.
pub(crate) struct Target {
    wanted: watch::Sender<Mood>,
    /// As the server is by now.
    present: watch::Receiver<Mood>,
}

/// The server's end, to be served on the target's host.
pub(crate) struct Served {
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    wanted: watch::Receiver<Mood>,
    present: watch::Sender<Mood>,
}

pub(crate) fn target(address: SocketAddr, tls: Option<TlsAcceptor>) -> (Target, Served) {
    let (wanted, wish) = watch::channel(Mood::Well);
    // Anything but well: whoever waits for the first mood waits until somebody listens.
    let (present, is) = watch::channel(Mood::Refusing);
    (Target { wanted, present: is }, Served { address, tls, wanted: wish, present })
}

impl Target {
    /// Returns once it is so.
    pub(crate) async fn be(&self, mood: Mood) {
        self.wanted.send_replace(mood);
        self.ready().await;
    }

    pub(crate) async fn ready(&self) {
        let wanted = *self.wanted.borrow();
        self.present.clone().wait_for(|mood| *mood == wanted).await.unwrap();
    }
}

impl Served {
    /// Serves until the drill's end is gone.
    pub(crate) async fn serve(mut self) {
        loop {
            let mood = *self.wanted.borrow_and_update();
            if mood == Mood::Refusing {
                self.present.send_replace(mood);
                if self.wanted.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let listener = TcpListener::bind(self.address).await.unwrap();
            if self.listen(listener).await.is_none() {
                return;
            }
        }
    }

    /// Answers until it has to refuse; nothing when it is over.
    async fn listen(&mut self, listener: TcpListener) -> Option<()> {
        let mut open = tokio::task::JoinSet::new();
        loop {
            let mood = *self.wanted.borrow_and_update();
            if mood == Mood::Refusing {
                return Some(());
            }
            self.present.send_replace(mood);
            tokio::select! {
                Ok((stream, _)) = listener.accept() => {
                    open.spawn(answer(stream, self.tls.clone(), mood));
                }
                Some(_) = open.join_next() => {}
                changed = self.wanted.changed() => changed.ok()?,
            }
        }
    }
}

async fn answer(stream: TcpStream, tls: Option<TlsAcceptor>, mood: Mood) -> std::io::Result<()> {
    match tls {
        Some(tls) => say(tls.accept(stream).await?, mood).await,
        None => say(stream, mood).await,
    }
}

async fn say(
    mut stream: impl tokio::io::AsyncRead + AsyncWriteExt + Unpin,
    mood: Mood,
) -> std::io::Result<()> {
    note_head(&mut stream, &Arc::default()).await?;
    match mood {
        Mood::Silent => {
            let mut nothing = [0; 1];
            // Until the probe gives up.
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut nothing).await;
            return Ok(());
        }
        Mood::Slow(span) => tokio::time::sleep(span).await,
        Mood::Well | Mood::Refusing | Mood::Broken => {}
    }
    if mood == Mood::Broken {
        let sorry = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy";
        return write_and_close(&mut stream, sorry).await;
    }
    write_and_close(&mut stream, &ok("", "well")).await
}
