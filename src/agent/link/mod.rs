//! The link to the coordinator: outbound requests only. One stream brings work, heartbeats bring the
//! time, reports go out in batches. Each of the three recovers by itself.

pub mod deliver;
pub mod heartbeat;
pub mod sse;
pub mod stream;

use reqwest::{Method, RequestBuilder, Response};
use uuid::Uuid;

pub use crate::uplink::{Patience, Trouble};
use crate::{
    config::{AgentConfig, LinkTiming},
    uplink::{self, Timing, Uplink},
};

/// How to reach the coordinator, and as whom.
#[derive(Debug)]
pub struct Link {
    uplink: Uplink,
    pub boot: Uuid,
    pub timing: LinkTiming,
}

impl Link {
    /// Refuses plain http unless it stays on this machine or the operator allowed it.
    pub fn new(config: &AgentConfig, boot: Uuid) -> anyhow::Result<Self> {
        let timing = config.timing;
        let uplink = Uplink::new(
            &config.coordinator_url,
            &config.token,
            config.insecure_http,
            uplink::roots(config.ca_file.as_deref())?,
            concat!("quorate-agent/", env!("CARGO_PKG_VERSION")),
            Timing { request: timing.request, backoff: timing.backoff, refused: timing.refused },
        )?;
        Ok(Self { uplink, boot, timing })
    }

    /// A request to `/agent/v1/…` with the agent's token.
    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Trouble> {
        self.uplink.request(method, &format!("agent/v1/{path}"))
    }

    /// Sends, waits for the head of the answer, and sorts everything but success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Trouble> {
        self.uplink.send(request).await
    }

    /// The whole body of an answer, within the time of one request.
    async fn body(&self, answer: Response) -> Result<bytes::Bytes, Trouble> {
        self.uplink.body(answer).await
    }

    pub fn patience(&self) -> Patience {
        self.uplink.patience()
    }
}
