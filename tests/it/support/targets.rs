//! What probes are pointed at: TCP servers that say exactly the bytes of the test, certificate chains of
//! every kind, and a small name server.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate::domain::address::{AllowList, AllowNet};
use quorate::domain::check::Check;
use quorate::domain::observation::Observation;
use quorate::net::{Guard, Resolver};
use quorate::probe::{self, Context, Settings};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// The probes' present in these tests: 2026-06-01.
pub(crate) const NOW: &str = "2026-06-01T00:00:00Z";

pub(crate) const DAY: i64 = 86_400;
pub(crate) const YEAR: i64 = 365 * DAY;

/// A server of the test; its task ends with it.
pub(crate) struct Target {
    pub(crate) addr: SocketAddr,
    /// Heads of requests, as far as the server read them.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Target {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Target {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Runs `serve` for each connection, with its number and a place for request heads.
pub(crate) async fn tcp<F, R>(serve: F) -> Target
where
    F: Fn(TcpStream, usize, Arc<Mutex<Vec<String>>>) -> R + Send + Sync + 'static,
    R: Future<Output = std::io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    tcp_on(listener, serve)
}

pub(crate) fn tcp_on<F, R>(listener: TcpListener, serve: F) -> Target
where
    F: Fn(TcpStream, usize, Arc<Mutex<Vec<String>>>) -> R + Send + Sync + 'static,
    R: Future<Output = std::io::Result<()>> + Send + 'static,
{
    let addr = listener.local_addr().unwrap();
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let connections: Arc<AtomicUsize> = Arc::default();
    let (seen, count) = (requests.clone(), connections.clone());
    let task = tokio::spawn(async move {
        // Connections end with the server, also those that are left open on purpose.
        let mut open = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let number = count.fetch_add(1, Ordering::SeqCst);
            // A connection that breaks is what many tests are about.
            open.spawn(serve(stream, number, seen.clone()));
        }
    });
    Target { addr, requests, connections, task }
}

/// Reads a request's head, answers each connection with the same bytes and closes.
pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Target {
    let answer = Arc::new(answer.into());
    tcp(move |mut stream, _, requests| {
        let answer = answer.clone();
        async move {
            note_head(&mut stream, &requests).await?;
            stream.write_all(&answer).await?;
            stream.shutdown().await
        }
    })
    .await
}

/// Accepts, and then neither reads nor writes.
pub(crate) async fn silent() -> Target {
    tcp(|stream, _, _| async move {
        let _held = stream;
        std::future::pending().await
    })
    .await
}

/// Answers by the number of the connection, from 0; the last answer repeats.
pub(crate) async fn answering_in_turn(answers: Vec<Vec<u8>>) -> Target {
    let answers = Arc::new(answers);
    tcp(move |mut stream, number, requests| {
        let answers = answers.clone();
        async move {
            note_head(&mut stream, &requests).await?;
            stream.write_all(answers.get(number).or(answers.last()).unwrap()).await?;
            stream.shutdown().await
        }
    })
    .await
}

pub(crate) async fn note_head<S: AsyncRead + Unpin>(
    stream: &mut S,
    requests: &Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    requests.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    Ok(())
}

/// A whole answer with a length.
pub(crate) fn ok(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut answer =
        format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

/// Sends a reset instead of an orderly end.
pub(crate) fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// A certificate authority of the test.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A chain as a server sends it, with the leaf's key.
pub(crate) struct Chain {
    pub(crate) certs: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

fn named(name: &str, names: &[&str]) -> CertificateParams {
    let mut params =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
            .unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = named(name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

impl Authority {
    pub(crate) fn root(name: &str) -> Self {
        Self {
            issuer: CertifiedIssuer::self_signed(
                authority_params(name),
                KeyPair::generate().unwrap(),
            )
            .unwrap(),
        }
    }

    pub(crate) fn intermediate(&self, name: &str, ends_in_s: i64) -> Self {
        let mut params = authority_params(name);
        valid(&mut params, -YEAR, ends_in_s);
        Self {
            issuer: CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &self.issuer)
                .unwrap(),
        }
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for these names, valid from and until so many seconds after [`NOW`].
    pub(crate) fn leaf(&self, names: &[&str], from_s: i64, until_s: i64) -> Chain {
        let key = KeyPair::generate().unwrap();
        let mut params = named(names.first().copied().unwrap_or("nobody"), names);
        valid(&mut params, from_s, until_s);
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Chain {
            certs: vec![cert.der().clone()],
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
    }

    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).unwrap();
        roots
    }
}

impl Chain {
    pub(crate) fn and(mut self, authority: &Authority) -> Self {
        self.certs.push(authority.der());
        self
    }

    pub(crate) fn acceptor(self, alpn: &[&[u8]]) -> TlsAcceptor {
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(self.certs, self.key)
        .unwrap();
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Sets when a certificate is valid, in seconds after [`NOW`].
fn valid(params: &mut CertificateParams, from_s: i64, until_s: i64) {
    let at = |seconds: i64| {
        let now = date_time_ymd(2026, 6, 1);
        let span = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { now - span } else { now + span }
    };
    (params.not_before, params.not_after) = (at(from_s), at(until_s));
}

/// Serves TLS and answers each request with the same bytes.
pub(crate) async fn tls(chain: Chain, answer: Vec<u8>) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    tls_on(listener, chain, answer)
}

pub(crate) fn tls_on(listener: TcpListener, chain: Chain, answer: Vec<u8>) -> Target {
    let (acceptor, answer) = (chain.acceptor(&[b"http/1.1"]), Arc::new(answer));
    tcp_on(listener, move |stream, _, requests| {
        let (acceptor, answer) = (acceptor.clone(), answer.clone());
        async move {
            let mut stream = acceptor.accept(stream).await?;
            note_head(&mut stream, &requests).await?;
            write_and_close(&mut stream, &answer).await
        }
    })
}

pub(crate) async fn write_and_close<S: AsyncWrite + Unpin>(
    stream: &mut S,
    bytes: &[u8],
) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.shutdown().await
}

/// What the name server says to one question.
#[derive(Clone)]
pub(crate) enum Say {
    Addresses(Vec<IpAddr>),
    Nxdomain,
    Servfail,
    Nothing,
    After(Duration, Vec<IpAddr>),
}

/// A name server; `say` gets the name without its last dot, whether IPv6 is asked for, and how often this
/// pair was asked before.
pub(crate) async fn dns(
    say: impl Fn(&str, bool, usize) -> Say + Send + Sync + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    dns_on(UdpSocket::bind("127.0.0.1:0").await.unwrap(), say)
}

/// The same at an address of the test's choice.
pub(crate) fn dns_on(
    socket: UdpSocket,
    say: impl Fn(&str, bool, usize) -> Say + Send + Sync + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let socket = Arc::new(socket);
    let addr = socket.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut asked: std::collections::HashMap<(String, bool), usize> =
            std::collections::HashMap::new();
        let mut buffer = [0u8; 1500];
        let mut open = tokio::task::JoinSet::new();
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let query = buffer[..length].to_vec();
            let (name, v6, question_end) = question(&query);
            let count = asked.entry((name.clone(), v6)).or_default();
            let said = say(&name, v6, *count);
            *count += 1;
            let socket = socket.clone();
            open.spawn(async move {
                let (code, addresses) = match said {
                    Say::Nothing => return,
                    Say::After(span, addresses) => {
                        tokio::time::sleep(span).await;
                        (0, addresses)
                    }
                    Say::Addresses(addresses) => (0, addresses),
                    Say::Nxdomain => (3, Vec::new()),
                    Say::Servfail => (2, Vec::new()),
                };
                let addresses =
                    addresses.into_iter().filter(|ip| ip.is_ipv6() == v6).collect::<Vec<_>>();
                let _ = socket.send_to(&reply(&query, question_end, code, &addresses), from).await;
            });
        }
    });
    (addr, task)
}

fn question(query: &[u8]) -> (String, bool, usize) {
    let mut at = 12;
    let mut labels = Vec::new();
    while query[at] != 0 {
        let length = usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..at + 1 + length]).to_lowercase());
        at += 1 + length;
    }
    (labels.join("."), query[at + 2] == 28, at + 5)
}

fn reply(query: &[u8], question_end: usize, code: u8, addresses: &[IpAddr]) -> Vec<u8> {
    let mut reply = query[..2].to_vec();
    reply.extend_from_slice(&[0x81, 0x80 | code, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    reply.extend_from_slice(&query[12..question_end]);
    for ip in addresses {
        let bytes = match ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let kind = if ip.is_ipv6() { 28 } else { 1 };
        reply.extend_from_slice(&[0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, bytes.len() as u8]);
        reply.extend_from_slice(&bytes);
    }
    reply
}

pub(crate) const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An agent's surroundings. By default: loopback open, no roots, a name server that knows nothing.
pub(crate) struct Surroundings {
    pub(crate) allow: Vec<&'static str>,
    pub(crate) roots: RootCertStore,
    pub(crate) servers: Vec<SocketAddr>,
    pub(crate) control_names: Vec<String>,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            allow: vec!["127.0.0.0/8", "::1/128"],
            roots: RootCertStore::empty(),
            servers: vec![([127, 0, 0, 1], 9).into()],
            control_names: Vec::new(),
        }
    }
}

impl Surroundings {
    pub(crate) fn with_roots(roots: RootCertStore) -> Self {
        Self { roots, ..Self::default() }
    }

    pub(crate) fn context(self) -> Context {
        let nets = self.allow.iter().map(|net| net.parse::<AllowNet>().unwrap());
        Context::new(Settings {
            guard: Guard::new(AllowList::new(nets, Vec::new())),
            resolver: Resolver::with_servers(&self.servers).unwrap(),
            roots: self.roots,
            user_agent: "quorate-test".into(),
            control_names: self.control_names,
            wall: Arc::new(|| NOW.parse().unwrap()),
        })
        .unwrap()
    }
}

pub(crate) fn check(value: Value) -> Check {
    let mut check = json!({"kind": "http"});
    check.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
    Check::parse(check).unwrap()
}

/// One probe in the default surroundings with 5 s.
pub(crate) async fn probe(value: Value) -> Observation {
    probe_in(&Surroundings::default().context(), value, 5_000).await
}

pub(crate) async fn probe_in(ctx: &Context, value: Value, timeout_ms: u64) -> Observation {
    probe::run(&check(value), ctx, Duration::from_millis(timeout_ms)).await
}
