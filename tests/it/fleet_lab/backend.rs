//! One small back end, whose ways of failing can be switched while it serves.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::support::dice::Dice;

/// How it answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behaviour {
    /// Share of requests that fail, with this code, after this time.
    pub fails: f64,
    pub code: u16,
    pub after: Duration,
    /// Answers 200 at once with hardly anything.
    pub blank: bool,
    /// Takes so many times as long.
    pub slow: f64,
    /// Answers its health check.
    pub ready: bool,
    pub version: &'static str,
    /// Share of requests for /report that fail, whoever is asked.
    pub report_fails: f64,
}

pub(super) const WELL: Behaviour = Behaviour {
    fails: 0.003,
    code: 500,
    after: Duration::from_millis(4),
    blank: false,
    slow: 1.0,
    ready: true,
    version: "2026.11.4",
    report_fails: 0.0,
};

pub(super) struct Backend {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: Mutex<CancellationToken>,
}

struct Shared {
    behaviour: Mutex<Behaviour>,
    dice: Mutex<Dice>,
}

impl Backend {
    pub(super) async fn start(n: usize, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let dice = Mutex::new(Dice::new(n as u64 + 1));
        let shared = Arc::new(Shared { behaviour: Mutex::new(behaviour), dice });
        let token = serve(listener, Arc::clone(&shared));
        Self { address, shared, serving: Mutex::new(token) }
    }

    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.behaviour.lock().unwrap());
    }

    /// The process is gone: nobody listens, and what was open breaks.
    pub(super) fn die(&self) {
        self.serving.lock().unwrap().cancel();
    }

    /// A new process on the same port.
    pub(super) async fn rise(&self) {
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                // The old socket may need a moment to go.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        *self.serving.lock().unwrap() = serve(listener, Arc::clone(&self.shared));
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.die();
    }
}

fn serve(listener: TcpListener, shared: Arc<Shared>) -> CancellationToken {
    let token = CancellationToken::new();
    let until = token.clone();
    tokio::spawn(async move {
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(_) => continue,
                },
                () = until.cancelled() => return,
            };
            let (shared, until) = (Arc::clone(&shared), until.clone());
            tokio::spawn(async move {
                let answer = service_fn(move |request| answer(request, Arc::clone(&shared)));
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer);
                tokio::select! {
                    _ = connection => {}
                    () = until.cancelled() => {}
                }
            });
        }
    });
    token
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let behaviour = *shared.behaviour.lock().unwrap();
    let path = request.uri().path().to_owned();
    let _ = request.into_body().collect().await;
    let reply = |status: u16, body: String| {
        let reply = Response::builder().status(status).header("x-version", behaviour.version);
        Ok(reply.body(Full::from(body)).unwrap())
    };
    if path == "/ready" {
        return reply(if behaviour.ready { 200 } else { 503 }, String::new());
    }
    let (millis, bytes) = match path.split('/').nth(1).unwrap_or_default() {
        "page" => (6.0, 2_200),
        "api" => (4.0, 700),
        "report" => (9.0, 1_500),
        _ => (8.0, 260),
    };
    let (luck, spread, size) = {
        let mut dice = shared.dice.lock().unwrap();
        (dice.unit(), dice.unit(), dice.unit())
    };
    let report_fails = path.starts_with("/report") && luck < behaviour.report_fails;
    if luck < behaviour.fails || report_fails {
        tokio::time::sleep(behaviour.after).await;
        return reply(behaviour.code, "failed\n".to_owned());
    }
    if behaviour.blank {
        return reply(200, "\n".to_owned());
    }
    let time = millis * (0.6 + 0.8 * spread) * behaviour.slow;
    tokio::time::sleep(Duration::from_secs_f64(time / 1_000.0)).await;
    reply(200, "x".repeat(bytes + (size * 200.0) as usize))
}
