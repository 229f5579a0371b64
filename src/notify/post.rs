//! One request to another server, and what its answer means for a notice.

use std::{error::Error, io, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::{Sent, Verdict};
use crate::{
    domain::{channel::ChannelSecrets, redactor::Redactor, secret::Secret},
    net::{GuardedClient, SendError},
};

/// Parts of secrets that give them away by themselves: a server rarely echoes the whole.
fn hidden_parts(secrets: &ChannelSecrets) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    if let Some(token) = secrets.token.as_ref().map(|token| token.expose()) {
        match url::Url::parse(token) {
            Ok(url) if url.has_host() => {
                parts.push(url.path().to_owned());
                parts.extend(url.path_segments().into_iter().flatten().map(str::to_owned));
                parts.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
            }
            // What stands after the number in a bot's token.
            _ => parts.extend(token.split_once(':').map(|(_, secret)| secret.to_owned())),
        }
    }
    // `Bearer …`
    let words = secrets.headers.values().filter_map(|value| value.expose().split(' ').next_back());
    parts.extend(words.map(str::to_owned));
    // Short words stand in every answer and are no secrets.
    parts.retain(|part| part.len() >= 8);
    parts
}

/// How much of the other side's answer is kept.
const ANSWER_BYTES: usize = 1024;

/// How long the text of an answer is waited for; its status has decided already.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// The system's roots and those in `extra` (PEM).
pub(super) fn tls(extra: Option<&str>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for root in CertificateDer::pem_slice_iter(extra.unwrap_or_default().as_bytes()) {
        let root =
            root.map_err(|e| rustls::Error::General(format!("the extra authorities: {e}")))?;
        roots.add(root)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// What is to be sent.
pub(super) struct Post {
    pub url: url::Url,
    method: reqwest::Method,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Never repeated in an answer.
    hidden: Vec<String>,
}

impl Post {
    pub(super) fn json(url: url::Url, body: String) -> Self {
        let mut post = Self::new(reqwest::Method::POST, url, body);
        post.header("content-type", "application/json");
        post
    }

    /// A GET of an address that is itself a secret.
    pub(super) fn get(url: url::Url) -> Self {
        let token = Some(Secret::new(url.as_str().to_owned()));
        let secrets = ChannelSecrets { token, ..ChannelSecrets::default() };
        Self::new(reqwest::Method::GET, url, String::new()).with_secrets(&secrets)
    }

    fn new(method: reqwest::Method, url: url::Url, body: String) -> Self {
        let mut post = Self { url, method, headers: Vec::new(), body, hidden: Vec::new() };
        post.header("user-agent", concat!("Quorate/", env!("CARGO_PKG_VERSION")));
        post
    }

    pub(super) fn header(&mut self, name: &str, value: &str) {
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// Adds the headers that are secret, and hides every secret in what the other side says.
    pub(super) fn with_secrets(mut self, secrets: &ChannelSecrets) -> Self {
        for (name, value) in &secrets.headers {
            self.header(name, value.expose());
        }
        let hidden = secrets
            .headers
            .values()
            .chain(&secrets.key)
            .chain(&secrets.token)
            .chain(&secrets.callback);
        self.hidden = hidden.map(|secret| secret.expose().clone()).collect();
        self.hidden.extend(hidden_parts(secrets));
        self
    }

    pub(super) async fn send(self, client: &GuardedClient, now: Timestamp) -> Sent {
        let redactor = Redactor::new(self.hidden.iter().map(String::as_str));
        let place = place(&self.url);
        let mut request = client.request(self.method, self.url);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let request = match request.body(self.body).build() {
            Ok(request) => request,
            Err(e) => {
                let why = redactor.clean(&format!("the request to {place} cannot be made: {e}"));
                return Sent::new(Verdict::Never, why);
            }
        };
        match client.send(request).await {
            Ok(response) => judge(response, &place, now, &redactor).await,
            Err(SendError::Blocked(blocked)) => {
                Sent::later(format!("{place}: {}", blocked.by_coordinator()))
            }
            Err(SendError::Http(error)) => Sent::later(explain(&error, &place)),
        }
    }
}

/// Host and port, for sentences: the rest of a URL may hold a token.
fn place(url: &url::Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

async fn judge(
    response: reqwest::Response,
    place: &str,
    now: Timestamp,
    redactor: &Redactor,
) -> Sent {
    let status = response.status();
    let after = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok())
        .and_then(|text| retry_after(text, now));
    let moved =
        response.headers().get("location").and_then(|value| value.to_str().ok()).map(|to| {
            format!("; it points to {}, but redirects are not followed", redactor.url(to))
        });
    let text = answer_text(response).await;
    let after = after.or_else(|| retry_after_in(&text));
    let text = redactor.clean_prefix(text.trim(), ANSWER_BYTES);
    let said = if text.is_empty() { String::new() } else { format!(": {text}") };
    let reason = status.canonical_reason().unwrap_or("");
    let line = format!("{} {reason}", status.as_u16());
    let line = line.trim();
    match status.as_u16() {
        200..=299 => Sent::new(Verdict::Delivered, format!("{line}{said}")),
        300..=399 => {
            let moved = moved.unwrap_or_default();
            Sent::new(Verdict::Later { after }, format!("{place} answers {line}{moved}{said}"))
        }
        400 | 401 | 403 | 404 => {
            Sent::new(Verdict::Never, format!("{place} refuses it with {line}{said}"))
        }
        410 => Sent::new(Verdict::Gone, format!("{place} answers {line}{said}")),
        _ => Sent::new(Verdict::Later { after }, format!("{place} answers {line}{said}")),
    }
}

/// The beginning of the answer's text; what does not come in time is left out.
async fn answer_text(mut response: reqwest::Response) -> String {
    let mut bytes = Vec::new();
    let read = async {
        // A little more than is kept, so that a secret at the edge is seen as a whole.
        while bytes.len() < 2 * ANSWER_BYTES {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) | Err(_) => break,
            }
        }
    };
    let _ = tokio::time::timeout(ANSWER_TIME, read).await;
    bytes.truncate(2 * ANSWER_BYTES);
    String::from_utf8_lossy(&bytes).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Where Discord and Telegram tell it: seconds, in the answer's text.
fn retry_after_in(text: &str) -> Option<SignedDuration> {
    let answer: serde_json::Value = serde_json::from_str(text).ok()?;
    let told = answer.get("retry_after").or_else(|| answer.pointer("/parameters/retry_after"))?;
    let seconds = told.as_f64().filter(|seconds| (0.0..=1e9).contains(seconds))?;
    Some(SignedDuration::from_millis((seconds * 1_000.0).ceil() as i64))
}

/// Seconds, or an HTTP date.
fn retry_after(text: &str, now: Timestamp) -> Option<SignedDuration> {
    let text = text.trim();
    if let Ok(secs) = text.parse::<u32>() {
        return Some(SignedDuration::from_secs(i64::from(secs)));
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(at.duration_since(now).max(SignedDuration::ZERO))
}

/// Why no answer came, in a sentence.
fn explain(error: &reqwest::Error, place: &str) -> String {
    if error.is_timeout() {
        return format!("{place} did not answer in time");
    }
    let mut causes: Vec<String> = Vec::new();
    let mut next: Option<&dyn Error> = error.source();
    while let Some(cause) = next {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            match io.kind() {
                io::ErrorKind::ConnectionRefused => {
                    return format!("{place} refuses the connection");
                }
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => {
                    return format!("{place} closed the connection before it answered");
                }
                _ => {}
            }
        }
        causes.push(cause.to_string());
        next = cause.source();
    }
    // The innermost cause says most; the outer ones repeat the URL, which may hold a token.
    match causes.last() {
        Some(cause) if cause.contains("connection closed before message completed") => {
            format!("{place} closed the connection before it answered")
        }
        Some(cause) => format!("{place} cannot be reached: {cause}"),
        None => format!("{place} cannot be reached"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let now = "2026-11-17T02:00:00Z".parse().unwrap();
        let secs = |text| retry_after(text, now).map(|span| span.as_secs());
        assert_eq!(secs("120"), Some(120));
        assert_eq!(secs(" 0 "), Some(0));
        assert_eq!(secs("Tue, 17 Nov 2026 02:01:30 GMT"), Some(90));
        assert_eq!(secs("Tue, 17 Nov 2026 01:00:00 GMT"), Some(0), "already past");
        assert_eq!(secs("-5"), None);
        assert_eq!(secs("soon"), None);
    }

    #[test]
    fn chats_tell_in_the_text_when_to_come_again() {
        let millis = |text| retry_after_in(text).map(|span| span.as_millis());
        assert_eq!(
            millis(r#"{"message":"slow down","retry_after":0.651,"global":false}"#),
            Some(651)
        );
        assert_eq!(millis(r#"{"ok":false,"parameters":{"retry_after":35}}"#), Some(35_000));
        assert_eq!(millis(r#"{"retry_after":-1}"#), None);
        assert_eq!(millis(r#"{"retry_after":"soon"}"#), None);
        assert_eq!(millis("no JSON"), None);
    }
}
