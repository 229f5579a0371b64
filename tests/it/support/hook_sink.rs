//! A webhook receiver that checks signatures as Standard Webhooks says, and misbehaves on demand.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
};

/// What it does with a request; without an order it answers 200 and `thanks`.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    /// Status, extra headers, body.
    Answer(u16, &'static str, &'static str),
    /// Resets the connection.
    Reset,
    /// Never answers.
    Silence,
    /// Answers 200 once [`HookSink::release`] is called.
    Hold,
}

pub(crate) struct HookSink {
    pub(crate) url: String,
    shared: Arc<Shared>,
    received: mpsc::UnboundedReceiver<Received>,
    serving: tokio::task::JoinHandle<()>,
}

struct Shared {
    orders: Mutex<VecDeque<Order>>,
    /// Followed when no order is left.
    always: Mutex<Order>,
    gate: Semaphore,
    sender: mpsc::UnboundedSender<Received>,
}

#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// Path and query.
    pub(crate) path: String,
    /// Lower-case names.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl HookSink {
    pub(crate) async fn start() -> Self {
        Self::start_on(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// The same at an address of the test's choice.
    pub(crate) fn start_on(listener: TcpListener) -> Self {
        let url = format!("http://{}/hook?token=t0ken", listener.local_addr().unwrap());
        let (sender, received) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            orders: Mutex::default(),
            always: Mutex::new(Order::Answer(200, "", "thanks")),
            gate: Semaphore::new(0),
            sender,
        });
        let for_serving = shared.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, for_serving.clone()));
            }
        });
        Self { url, shared, received, serving }
    }

    /// Orders for the next requests, one each.
    pub(crate) fn order(&self, orders: impl IntoIterator<Item = Order>) {
        self.shared.orders.lock().unwrap().extend(orders);
    }

    pub(crate) fn always(&self, order: Order) {
        *self.shared.always.lock().unwrap() = order;
    }

    /// Lets `count` held requests be answered.
    pub(crate) fn release(&self, count: usize) {
        self.shared.gate.add_permits(count);
    }

    /// The next request, waiting for it.
    pub(crate) async fn next(&mut self) -> Received {
        self.received.recv().await.unwrap()
    }

    /// What came and was not looked at.
    pub(crate) fn drain(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }
}

impl Drop for HookSink {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Received {
    pub(crate) fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Whether the signature is that of `key` (`whsec_…`) over id, timestamp and body.
    pub(crate) fn is_signed_by(&self, key: &str) -> bool {
        let key = STANDARD.decode(key.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        let timestamp = &self.headers["webhook-timestamp"];
        mac.update(format!("{}.{timestamp}.{}", self.id(), self.body).as_bytes());
        self.headers["webhook-signature"]
            .split(' ')
            .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok())
            .any(|signature| mac.clone().verify_slice(&signature).is_ok())
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) -> Option<()> {
    let received = read(&mut stream).await?;
    let order = shared.orders.lock().unwrap().pop_front();
    let order = order.unwrap_or_else(|| shared.always.lock().unwrap().clone());
    let _ = shared.sender.send(received);
    let (status, headers, body) = match order {
        Order::Answer(status, headers, body) => (status, headers, body),
        Order::Reset => {
            // Closing with unsent data thrown away is what a crashed peer's kernel does.
            let _ = socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
            return None;
        }
        Order::Silence => std::future::pending().await,
        Order::Hold => {
            shared.gate.acquire().await.unwrap().forget();
            (200, "", "thanks for waiting")
        }
    };
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.ok()
}

async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head = loop {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let line = text.lines().next().unwrap();
    let path = line.strip_prefix("POST ").or(line.strip_prefix("GET "));
    let path = path.and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
    let path = path.unwrap_or_else(|| panic!("{line}")).to_owned();
    let headers: HashMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").map_or("0", String::as_str);
    let length: usize = length.parse().unwrap();
    while bytes.len() < head + 4 + length {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
    }
    Some(Received { path, headers, body: String::from_utf8(bytes[head + 4..].to_vec()).unwrap() })
}
