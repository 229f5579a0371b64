//! Requests from outside (agents, shippers) to the coordinator: over TLS unless it stays on this machine,
//! with a token, and with pauses between failures that keep a herd from coming back all at once.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use url::{Host, Url};

use crate::config::Secret;

/// Where the coordinator is, and as whom to speak to it.
#[derive(Debug)]
pub struct Uplink {
    http: reqwest::Client,
    base: Url,
    token: Secret<String>,
    timing: Timing,
}

/// Rhythm of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// One request up to the head of its answer, and once more its body.
    pub request: Duration,
    /// First and longest pause after an error, before jitter.
    pub backoff: (Duration, Duration),
    /// Pause after the coordinator refused the token.
    pub refused: Duration,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("the coordinator does not take this token ({0}): was it revoked? Make a new one there")]
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

/// How long to wait after each failure in a row, and whether it is news.
#[derive(Debug)]
pub struct Patience {
    timing: Timing,
    failures: u32,
}

impl Uplink {
    /// `roots`: what to trust. `user_agent`: product and version. Refuses plain http unless it stays on
    /// this machine or `insecure` allows it.
    pub fn new(
        base: &Url,
        token: &Secret<String>,
        insecure: bool,
        roots: rustls::RootCertStore,
        user_agent: &str,
        timing: Timing,
    ) -> anyhow::Result<Self> {
        let mut base = base.clone();
        let plain = match base.scheme() {
            "https" => false,
            "http" => true,
            other => anyhow::bail!("QUORATE_COORDINATOR_URL is {other}://…; use https://"),
        };
        if plain && !insecure && !is_loopback(&base) {
            anyhow::bail!(
                "QUORATE_COORDINATOR_URL is plain http, so the token and whatever it protects would travel in clear: use https, or pass --insecure-http on a network that you trust"
            );
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let mut http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(roots)?)
            .user_agent(user_agent)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(timing.request)
            .http1_only();
        if plain {
            http = http.no_proxy();
        }
        Ok(Self { http: http.build()?, base, token: token.clone(), timing })
    }

    /// A request to a path below the coordinator's address, with the token.
    pub fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Trouble> {
        let url = self.base.join(path).map_err(|error| Trouble::Other(error.to_string()))?;
        Ok(self.http.request(method, url).bearer_auth(self.token.expose()))
    }

    /// Sends and waits for the head of the answer, whatever it says.
    pub async fn ask(&self, request: RequestBuilder) -> Result<Response, Trouble> {
        let answer = tokio::time::timeout(self.timing.request, request.send()).await;
        let answer =
            answer.map_err(|_| Trouble::Other("the coordinator does not answer".into()))?;
        answer.map_err(|error| Trouble::Other(in_words(&error)))
    }

    /// Sends, waits for the head of the answer, and sorts everything but success.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Trouble> {
        let answer = self.ask(request).await?;
        if answer.status().is_success() { Ok(answer) } else { Err(Trouble::of(&answer)) }
    }

    /// The whole body of an answer, within the time of one request.
    pub async fn body(&self, answer: Response) -> Result<bytes::Bytes, Trouble> {
        let body = tokio::time::timeout(self.timing.request, answer.bytes()).await;
        let body =
            body.map_err(|_| Trouble::Other("the coordinator's answer does not end".into()))?;
        body.map_err(|error| Trouble::Other(in_words(&error)))
    }

    pub fn patience(&self) -> Patience {
        Patience { timing: self.timing, failures: 0 }
    }
}

impl Trouble {
    /// What an answer without success means.
    pub fn of(answer: &Response) -> Self {
        let retry_after = answer.headers().get(reqwest::header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|text| text.to_str().ok()?.trim().parse().ok());
        match answer.status() {
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Self::Refused(status),
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Self::Unreadable,
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge,
            status @ (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) => {
                Self::Busy { status, retry_after: retry_after.map(Duration::from_secs) }
            }
            status => Self::Other(format!("the coordinator answered {status}")),
        }
    }
}

impl Patience {
    /// The pause after this failure. Doubles from failure to failure, with jitter.
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

/// The machine's trusted roots and those in `more` (PEM), if given. Without any, only plain http can
/// work, and the handshake says so.
pub fn roots(more: Option<&Path>) -> anyhow::Result<rustls::RootCertStore> {
    use rustls::pki_types::{CertificateDer, pem::PemObject as _};
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = more {
        let read = || format!("--ca-file {} cannot be read", path.display());
        for cert in CertificateDer::pem_file_iter(path).with_context(read)? {
            roots.add(cert.with_context(read)?).with_context(read)?;
        }
    }
    Ok(roots)
}

fn tls(roots: rustls::RootCertStore) -> anyhow::Result<rustls::ClientConfig> {
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
pub fn in_words(error: &reqwest::Error) -> String {
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

    const TIMING: Timing = Timing {
        request: Duration::from_secs(20),
        backoff: (Duration::from_secs(1), Duration::from_secs(30)),
        refused: Duration::from_secs(60),
    };

    fn uplink(url: &str, insecure: bool) -> anyhow::Result<Uplink> {
        let (url, token) = (url.parse().unwrap(), Secret::from("t"));
        Uplink::new(&url, &token, insecure, rustls::RootCertStore::empty(), "test", TIMING)
    }

    #[test]
    fn plain_http_stays_on_this_machine_unless_it_is_allowed() {
        for fine in
            ["https://q.example", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"]
        {
            assert!(uplink(fine, false).is_ok(), "{fine}");
        }
        let refused = uplink("http://q.example", false).unwrap_err().to_string();
        assert!(refused.contains("--insecure-http"), "{refused}");
        assert!(uplink("http://q.example", true).is_ok());
        assert!(uplink("ftp://q.example", true).is_err());
    }

    #[test]
    fn requests_go_below_the_path_of_the_address() {
        for base in ["https://q.example/quorate", "https://q.example/quorate/"] {
            let request = uplink(base, false).unwrap().request(Method::GET, "agent/v1/stream");
            let url = request.unwrap().build().unwrap().url().clone();
            assert_eq!(url.as_str(), "https://q.example/quorate/agent/v1/stream");
        }
    }

    #[test]
    fn pauses_double_with_jitter_up_to_a_limit_and_start_anew() {
        let mut patience = Patience { timing: TIMING, failures: 0 };
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
