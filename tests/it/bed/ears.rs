//! Who hears of incidents: a webhook receiver that notes what came when.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use quorate::clock::Clock;
use tokio::net::TcpListener;

use crate::support::hook_sink::HookSink;

pub(crate) const PORT: u16 = 9000;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) at: Timestamp,
    /// The id that repeats are told by.
    pub(crate) id: String,
    /// Name of the monitor; empty for what is about none.
    pub(crate) monitor: String,
    /// `opened`, `resolved`, …
    pub(crate) kind: String,
}

#[derive(Clone, Default)]
pub(crate) struct Ears(Arc<Mutex<Vec<Heard>>>);

impl Ears {
    pub(crate) async fn listen(self, listener: TcpListener) {
        let mut sink = HookSink::start_on(listener);
        loop {
            let request = sink.next().await;
            let body = request.json();
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            self.0.lock().unwrap().push(Heard {
                at: Clock::system().now(),
                id: request.id().to_owned(),
                monitor: text(&body["data"]["monitor"]["name"]),
                kind: text(&body["data"]["kind"]),
            });
        }
    }

    /// Everything so far, in order.
    pub(crate) fn all(&self) -> Vec<Heard> {
        self.0.lock().unwrap().clone()
    }

    /// What came about one monitor.
    pub(crate) fn of(&self, monitor: &str) -> Vec<Heard> {
        self.all().into_iter().filter(|heard| heard.monitor == monitor).collect()
    }
}
