//! The coordinator's end of the agent link, as a server that can be told to misbehave: it refuses,
//! loses answers, falls silent and cuts connections.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::StreamExt;
use quorate::{
    clock::Clock,
    protocol::{
        Batch, BatchAnswer, Heartbeat, HeartbeatAnswer, ProbeAnswer, Rejected, Report, Resend,
        event,
    },
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
};
use tokio_util::sync::CancellationToken;
use url::Url;
use uuid::Uuid;

/// How the next batch of reports is met. Without one, it is accepted.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Status(u16),
    /// 503 with `retry-after: 0`.
    Busy,
    /// 200, but from somebody else on the way.
    Portal,
    /// Accepted, and the connection is cut before the answer.
    Vanish,
    /// Accepted but for these.
    Reject(Vec<Rejected>),
    /// Nothing of it is taken: go on after this sequence.
    ResendAfter(i64),
}

/// What arrived, and what to do next.
#[derive(Default)]
pub(crate) struct Seen {
    /// `since` of every connection of the stream.
    pub(crate) streams: Vec<Option<i64>>,
    pub(crate) batches: Vec<Batch>,
    /// Accepted reports by boot and sequence.
    pub(crate) accepted: BTreeMap<(Uuid, i64), Report>,
    pub(crate) heartbeats: Vec<Heartbeat>,
    pub(crate) answers: Vec<ProbeAnswer>,
    pub(crate) tokens: Vec<String>,
    pub(crate) replies: VecDeque<Reply>,
    /// 400 for every batch that holds a report of this monitor.
    pub(crate) poison: Option<Uuid>,
    /// What the next heartbeat is asked to send again.
    pub(crate) resend: Vec<Resend>,
    /// The next heartbeat is asked for a round of the references.
    pub(crate) self_check: bool,
    /// 413 for larger batches.
    pub(crate) largest: Option<usize>,
    stream: Option<mpsc::UnboundedSender<String>>,
}

pub(crate) struct CoordinatorEnd {
    pub(crate) url: Url,
    seen: Arc<Mutex<Seen>>,
    changed: watch::Sender<u64>,
    gate: Gate,
}

#[derive(Clone)]
struct Shared {
    seen: Arc<Mutex<Seen>>,
    changed: watch::Sender<u64>,
    gate: Gate,
}

impl CoordinatorEnd {
    pub(crate) async fn start() -> Self {
        let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gate = Gate::open(inner.local_addr().unwrap().port()).await;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let changed = watch::Sender::new(0);
        let shared = Shared { seen: seen.clone(), changed: changed.clone(), gate: gate.clone() };
        let routes = Router::new()
            .route("/agent/v1/stream", get(stream))
            .route("/agent/v1/heartbeat", post(heartbeat))
            .route("/agent/v1/reports", post(reports))
            .route("/agent/v1/answers", post(answers))
            .with_state(shared);
        tokio::spawn(async move { axum::serve(inner, routes).await.unwrap() });
        let url = format!("http://127.0.0.1:{}/", gate.port).parse().unwrap();
        Self { url, seen, changed, gate }
    }

    /// Looks at what arrived, or changes what comes next.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap())
    }

    /// Waits until what arrived satisfies `enough`. A minute is taken for never.
    pub(crate) async fn until(&self, what: &str, mut enough: impl FnMut(&Seen) -> bool) {
        let mut changed = self.changed.subscribe();
        let wait = changed.wait_for(|_| enough(&self.seen.lock().unwrap()));
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await.is_ok();
        assert!(waited, "never: {what}");
    }

    /// Sends an event on the present stream, once there is one.
    pub(crate) async fn send(&self, name: &str, data: &impl serde::Serialize) {
        self.send_text(format!(
            "event: {name}\ndata: {}\n\n",
            serde_json::to_string(data).unwrap()
        ))
        .await;
    }

    pub(crate) async fn send_text(&self, text: String) {
        self.until("a stream to send on", |seen| {
            seen.stream.as_ref().is_some_and(|stream| !stream.is_closed())
        })
        .await;
        self.with(|seen| seen.stream.as_ref().unwrap().send(text).unwrap());
    }

    /// Ends the present stream in an orderly way.
    pub(crate) fn end_stream(&self) {
        self.with(|seen| seen.stream = None);
    }

    /// Cuts every connection.
    pub(crate) fn cut(&self) {
        self.gate.cut();
    }

    /// Cuts every connection and lets nobody in until told otherwise.
    pub(crate) fn set_reachable(&self, reachable: bool) {
        self.gate.passes.send_replace(reachable);
        if !reachable {
            self.gate.cut();
        }
    }
}

async fn stream(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Query(query): Query<BTreeMap<String, i64>>,
) -> Response {
    let (send, receive) = mpsc::unbounded_channel::<String>();
    let token = headers.get(header::AUTHORIZATION).map(|it| it.to_str().unwrap().to_owned());
    shared.note(|seen| {
        seen.streams.push(query.get("since").copied());
        seen.tokens.extend(token);
        seen.stream = Some(send);
    });
    let lines = futures_util::stream::unfold(receive, |mut receive| async {
        let text = receive.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), receive))
    });
    let hello = futures_util::stream::iter([Ok(Bytes::from(": hello\n\n"))]);
    let body = Body::from_stream(hello.chain(lines));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn heartbeat(State(shared): State<Shared>, Json(beat): Json<Heartbeat>) -> Response {
    let (resend, self_check) = shared.note(|seen| {
        seen.heartbeats.push(beat);
        (std::mem::take(&mut seen.resend), std::mem::take(&mut seen.self_check))
    });
    Json(HeartbeatAnswer { now: Clock::system().now(), resend, self_check }).into_response()
}

async fn answers(State(shared): State<Shared>, Json(answer): Json<ProbeAnswer>) -> Response {
    shared.note(|seen| seen.answers.push(answer));
    StatusCode::NO_CONTENT.into_response()
}

async fn reports(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    assert_eq!(headers[header::CONTENT_ENCODING], "zstd");
    let batch: Batch = serde_json::from_slice(&zstd::decode_all(&body[..]).unwrap()).unwrap();
    let mut answer = BatchAnswer::default();
    let reply = shared.note(|seen| {
        seen.batches.push(batch.clone());
        if batch.reports.iter().any(|report| Some(report.monitor) == seen.poison) {
            return Some(Reply::Status(400));
        }
        if seen.largest.is_some_and(|largest| batch.reports.len() > largest) {
            return Some(Reply::Status(413));
        }
        let reply = seen.replies.pop_front();
        if matches!(reply, None | Some(Reply::Vanish | Reply::Reject(_))) {
            for report in batch.reports {
                match seen.accepted.insert((batch.boot, report.seq), report) {
                    None => answer.accepted += 1,
                    Some(_) => answer.duplicate += 1,
                }
            }
        }
        reply
    });
    match reply {
        None => Json(answer).into_response(),
        Some(Reply::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
        Some(Reply::Busy) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "0")]).into_response()
        }
        Some(Reply::Portal) => axum::response::Html("<p>Please sign in</p>").into_response(),
        Some(Reply::ResendAfter(seq)) => {
            Json(BatchAnswer { resend_after: Some(seq), ..answer }).into_response()
        }
        Some(Reply::Reject(rejected)) => Json(BatchAnswer { rejected, ..answer }).into_response(),
        Some(Reply::Vanish) => {
            shared.gate.cut();
            std::future::pending().await
        }
    }
}

impl Shared {
    fn note<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let result = change(&mut self.seen.lock().unwrap());
        self.changed.send_modify(|count| *count += 1);
        result
    }
}

/// A port in front of the server whose connections can be cut.
#[derive(Clone)]
struct Gate {
    port: u16,
    passes: watch::Sender<bool>,
    present: Arc<Mutex<CancellationToken>>,
}

impl Gate {
    async fn open(behind: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let gate = Self { port, passes: watch::Sender::new(true), present: Arc::default() };
        let this = gate.clone();
        tokio::spawn(async move {
            while let Ok((mut outer, _)) = listener.accept().await {
                if !*this.passes.borrow() {
                    continue;
                }
                let cut = this.present.lock().unwrap().clone();
                tokio::spawn(async move {
                    let mut inner = TcpStream::connect(("127.0.0.1", behind)).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut outer, &mut inner) => {}
                        () = cut.cancelled() => {}
                    }
                });
            }
        });
        gate
    }

    fn cut(&self) {
        std::mem::take(&mut *self.present.lock().unwrap()).cancel();
    }
}

/// Names of the stream's events, for tests that send them.
pub(crate) use event::{CHANGE, PING, PROBE_NOW, SET};
