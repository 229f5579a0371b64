//! The link to the coordinator: outbound requests only. One stream brings work, heartbeats bring the
//! time, reports go out in batches. Each of the three recovers by itself.

pub mod deliver;
pub mod heartbeat;
pub mod sse;
pub mod stream;

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use url::{Host, Url};
use uuid::Uuid;

use crate::config::{AgentConfig, LinkTiming, Secret};

/// How to reach the coordinator, and as whom.
#[derive(Debug)]
pub struct Link {
    http: reqwest::Client,
    base: Url,
    token: Secret,
    pub boot: Uuid,
    pub timing: LinkTiming,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(
        "the coordinator does not take this agent's token ({0}): was the agent removed? Enrol it again on the locations page"
    )]
    Refused(StatusCode),
    #[error("the coordinator could not read the request")]
    Unreadable,
    #[error("the request is larger than the coordinator takes")]
    TooLarge,
    #[error("the coordinator is busy ({status})")]
    Busy { status: StatusCode, retry_after: Option<Duration> },
    #[error("{0}")]
    Other(String),
}

impl Link {
    /// Refuses plain http unless it stays on this machine or the operator allowed it.
    pub fn new(config: &AgentConfig, boot: Uuid) -> anyhow::Result<Self> {
        let mut base = config.coordinator_url.clone();
        let plain = match base.scheme() {
            "https" => false,
            "http" => true,
            other => anyhow::bail!("QUORATE_COORDINATOR_URL is {other}://…; use https://"),
        };
        if plain && !config.insecure_http && !is_loopback(&base) {
            anyhow::bail!(
                "QUORATE_COORDINATOR_URL is plain http, so the token and the secrets of checks would travel in clear: use https, or pass --insecure-http on a network that you trust"
            );
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let mut http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls()?)
            .user_agent(concat!("quorate-agent/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(config.timing.request)
            .http1_only();
        if plain {
            http = http.no_proxy();
        }
        let (http, token, timing) = (http.build()?, config.token.clone(), config.timing);
        Ok(Self { http, base, token, boot, timing })
    }

    /// A request to `/agent/v1/…` with the agent's token.
    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Trouble> {
        let url = self.base.join(&format!("agent/v1/{path}"));
        let url = url.map_err(|error| Trouble::Other(error.to_string()))?;
        Ok(self.http.request(method, url).bearer_auth(self.token.reveal()))
    }

    /// Sends, waits for the head of the answer, and sorts everything but success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Trouble> {
        let answer = tokio::time::timeout(self.timing.request, request.send()).await;
        let answer =
            answer.map_err(|_| Trouble::Other("the coordinator does not answer".into()))?;
        let answer = answer.map_err(|error| Trouble::Other(in_words(&error)))?;
        let status = answer.status();
        let retry_after = answer.headers().get(reqwest::header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|text| text.to_str().ok()?.trim().parse().ok());
        match status {
            status if status.is_success() => Ok(answer),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Trouble::Refused(status)),
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Err(Trouble::Unreadable),
            StatusCode::PAYLOAD_TOO_LARGE => Err(Trouble::TooLarge),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let retry_after = retry_after.map(Duration::from_secs);
                Err(Trouble::Busy { status, retry_after })
            }
            status => Err(Trouble::Other(format!("the coordinator answered {status}"))),
        }
    }

    /// The whole body of an answer, within the time of one request.
    async fn body(&self, answer: Response) -> Result<bytes::Bytes, Trouble> {
        let body = tokio::time::timeout(self.timing.request, answer.bytes()).await;
        let body =
            body.map_err(|_| Trouble::Other("the coordinator's answer does not end".into()))?;
        body.map_err(|error| Trouble::Other(in_words(&error)))
    }

    pub fn patience(&self) -> Patience {
        Patience { timing: self.timing, failures: 0 }
    }
}

/// How long to wait after each failure in a row, and whether it is news.
#[derive(Debug)]
pub struct Patience {
    timing: LinkTiming,
    failures: u32,
}

impl Patience {
    /// The pause after this failure. Doubles from failure to failure, with jitter, so that agents do
    /// not come back all at once.
    pub fn after(&mut self, trouble: &Trouble) -> Duration {
        let (first, longest) = self.timing.backoff;
        let doubled = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        let pause = match trouble {
            Trouble::Refused(_) => self.timing.refused,
            Trouble::Busy { retry_after: Some(after), .. } => {
                (*after).clamp(doubled, longest.max(self.timing.refused))
            }
            _ => doubled,
        };
        pause.mul_f64(rand::random_range(0.5..1.0))
    }

    /// Whether the last failure was the first in a row: the one to log.
    pub fn is_news(&self) -> bool {
        self.failures == 1
    }

    /// All is well again; true if it was not before.
    pub fn fine(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }
}

/// The machine's roots; without any, only plain http can work, and the handshake says so.
fn tls() -> anyhow::Result<rustls::ClientConfig> {
    let (roots, _) = crate::probe::system_roots();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(tls)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// An error with its causes, since the outermost one alone says “error sending request”.
fn in_words(error: &reqwest::Error) -> String {
    let mut words = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        if !words.is_empty() {
            words.push_str(": ");
        }
        words.push_str(&error.to_string());
        cause = error.source();
    }
    if words.is_empty() { error.to_string() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(url: &str, insecure: bool) -> anyhow::Result<Link> {
        let url = url.parse().unwrap();
        let mut config = AgentConfig::new(url, Secret::new("t"), std::env::temp_dir());
        config.insecure_http = insecure;
        Link::new(&config, Uuid::nil())
    }

    #[test]
    fn plain_http_stays_on_this_machine_unless_it_is_allowed() {
        for fine in
            ["https://q.example", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"]
        {
            assert!(link(fine, false).is_ok(), "{fine}");
        }
        assert!(
            link("http://q.example", false).unwrap_err().to_string().contains("--insecure-http")
        );
        assert!(link("http://q.example", true).is_ok());
        assert!(link("ftp://q.example", true).is_err());
    }

    #[test]
    fn requests_go_below_the_path_of_the_address() {
        for base in ["https://q.example/quorate", "https://q.example/quorate/"] {
            let request = link(base, false).unwrap().request(Method::GET, "stream").unwrap();
            let url = request.build().unwrap().url().clone();
            assert_eq!(url.as_str(), "https://q.example/quorate/agent/v1/stream");
        }
    }

    #[test]
    fn pauses_double_with_jitter_up_to_a_limit_and_start_anew() {
        let link = link("https://q.example", false).unwrap();
        let mut patience = link.patience();
        let other = Trouble::Other(String::new());
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            let pause = patience.after(&other).as_secs_f64() / f64::from(expected);
            assert!((0.5..1.0).contains(&pause), "{pause} of {expected} s");
        }
        assert!(!patience.is_news() && patience.fine() && !patience.fine());
        let busy = Trouble::Busy {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(Duration::from_secs(20)),
        };
        assert!(patience.after(&busy) >= Duration::from_secs(10) && patience.is_news());
        let refused = Trouble::Refused(StatusCode::UNAUTHORIZED);
        assert!(patience.after(&refused) >= Duration::from_secs(30));
    }
}
