//! What a probe costs beyond its libraries: `probe::run` beside a bare loop of hyper and tokio-rustls,
//! both with a new connection and a full handshake each time, against the same server in this process.
//!
//! The server has its own thread, and so has each measurement, so that CPU time is that of probing
//! alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use nix::time::{ClockId, clock_gettime};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::super::term::{Term, thousands};
use crate::clock::Clock;
use crate::domain::address::{AllowList, AllowNet};
use crate::domain::check::Check;
use crate::domain::observation::Outcome;
use crate::net::{Guard, Resolver};
use crate::probe::{self, Context, Settings};

/// A probe may cost a quarter more than its libraries do.
const LEAST_RATIO: f64 = 0.8;
/// Rounds in turn, so that a slow moment of the machine meets both.
const ROUNDS: usize = 5;
const IN_FLIGHT: usize = 32;
const BODY: &[u8] = br#"{"status":"ok","version":"1.2.3"}"#;

#[derive(Debug, clap::Args)]
pub struct ProbeArgs {
    /// Probes in each of the five rounds.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub probes: u32,
}

/// One round.
#[derive(Clone, Copy)]
struct Round {
    per_second: f64,
    cpu_us: f64,
}

pub(super) fn run(term: &Term, args: &ProbeArgs) -> anyhow::Result<bool> {
    let server = Server::start()?;
    let check = Arc::new(Check::parse(serde_json::json!({
        "kind": "http", "url": format!("https://{}/", server.address), "http_version": "1.1",
        "assertions": [
            {"on": "status", "op": "in", "value": ["2xx"]},
            {"on": "json", "path": "$.status", "op": "eq", "value": "ok"}
        ]
    }))?);
    let ctx = context(&server)?;
    let bare = Arc::new(Bare::new(&server)?);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(round(args.probes, {
            let bare = bare.clone();
            move || {
                let bare = bare.clone();
                async move { bare.once().await }
            }
        })?);
        ours.push(round(args.probes, {
            let (check, ctx) = (check.clone(), ctx.clone());
            move || {
                let (check, ctx) = (check.clone(), ctx.clone());
                async move {
                    let seen = probe::run(&check, &ctx, Duration::from_secs(10)).await;
                    ensure!(
                        seen.outcome == Outcome::Pass,
                        "a probe did not pass: {}",
                        seen.message
                    );
                    Ok(())
                }
            }
        })?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    // By CPU time: what else runs on the machine slows a rate down, but not a thread's own time.
    let ratio = theirs.cpu_us / ours.cpu_us;
    let holds = ratio >= LEAST_RATIO;
    term.print(&term.text(&format!(
        "probe  HTTPS, a new connection each, {IN_FLIGHT} in flight, one thread, {} each in {ROUNDS} rounds\n\n  \
         bare hyper and rustls  {:>8} probes/s  {:6.0} µs CPU each\n  \
         probe::run             {:>8} probes/s  {:6.0} µs CPU each\n  \
         ratio by CPU time      {ratio:8.2}   limit {LEAST_RATIO}: {}\n  \
         ratio by probes/s      {:8.2}\n",
        thousands(u64::from(args.probes)),
        thousands(theirs.per_second as u64),
        theirs.cpu_us,
        thousands(ours.per_second as u64),
        ours.cpu_us,
        if holds { "holds" } else { "does not hold" },
        ours.per_second / theirs.per_second,
    )))?;
    Ok(holds)
}

fn median(mut rounds: Vec<Round>) -> Round {
    rounds.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    rounds.get(rounds.len() / 2).copied().unwrap_or(Round { per_second: 0.0, cpu_us: 0.0 })
}

/// Runs `work` so often, so many at a time, on a thread of its own.
fn round<F, R>(times: u32, work: F) -> anyhow::Result<Round>
where
    F: Fn() -> R + Send + 'static,
    R: Future<Output = anyhow::Result<()>> + 'static,
{
    let thread = std::thread::spawn(move || -> anyhow::Result<Round> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let local = tokio::task::LocalSet::new();
        let (began, cpu) = (Instant::now(), cpu_time()?);
        local.block_on(&runtime, async {
            let mut running = tokio::task::JoinSet::new();
            for _ in 0..times {
                if running.len() == IN_FLIGHT
                    && let Some(done) = running.join_next().await
                {
                    done.context("a probe panicked")??;
                }
                running.spawn_local(work());
            }
            while let Some(done) = running.join_next().await {
                done.context("a probe panicked")??;
            }
            anyhow::Ok(())
        })?;
        let (took, cpu) = (began.elapsed(), cpu_time()? - cpu);
        Ok(Round {
            per_second: f64::from(times) / took.as_secs_f64(),
            cpu_us: cpu.as_secs_f64() * 1e6 / f64::from(times),
        })
    });
    thread.join().map_err(|_| anyhow!("the measuring thread panicked"))?
}

fn cpu_time() -> anyhow::Result<Duration> {
    Ok(Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?))
}

fn context(server: &Server) -> anyhow::Result<Context> {
    let clock = Clock::system();
    let allow = AllowList::new(
        ["127.0.0.0/8".parse::<AllowNet>().map_err(anyhow::Error::msg)?],
        Vec::new(),
    );
    Ok(Context::new(Settings {
        guard: Guard::new(allow),
        // The target is an address, so nothing is ever looked up.
        resolver: Resolver::with_servers(&[server.address])?,
        roots: server.roots.clone(),
        user_agent: "quorate-bench".into(),
        control_names: Vec::new(),
        wall: Arc::new(move || clock.now()),
    })?)
}

/// A TLS server with one small answer, on a thread of its own until the process ends.
struct Server {
    address: SocketAddr,
    roots: RootCertStore,
}

impl Server {
    fn start() -> anyhow::Result<Self> {
        let (certs, key, root) = chain()?;
        let mut roots = RootCertStore::empty();
        roots.add(root)?;
        let config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(certs, key)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || runtime.block_on(serve(listener, acceptor)));
        Ok(Self { address, roots })
    }
}

async fn serve(listener: std::net::TcpListener, acceptor: TlsAcceptor) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // A client that goes away is of no interest to the measurement.
            if let Ok(stream) = acceptor.accept(stream).await {
                let answer = hyper::service::service_fn(|_| async {
                    let mut response = http::Response::new(Full::new(Bytes::from_static(BODY)));
                    response
                        .headers_mut()
                        .insert("content-type", http::HeaderValue::from_static("application/json"));
                    Ok::<_, std::convert::Infallible>(response)
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer)
                    .await;
            }
        });
    }
}

type Chain = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, CertificateDer<'static>);

/// A root and a leaf for 127.0.0.1, on P-256.
fn chain() -> anyhow::Result<Chain> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &root)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(|why| anyhow!(why))?;
    Ok((vec![leaf.der().clone()], key, root.der().clone()))
}

/// The least that a probe could do with the same libraries.
struct Bare {
    connector: TlsConnector,
    address: SocketAddr,
}

impl Bare {
    fn new(server: &Server) -> anyhow::Result<Self> {
        let mut config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_root_certificates(server.roots.clone())
                .with_no_client_auth();
        config.resumption = rustls::client::Resumption::disabled();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), address: server.address })
    }

    async fn once(&self) -> anyhow::Result<()> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.connector.connect(ServerName::from(self.address.ip()), stream).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let request = http::Request::get("/")
            .header("host", self.address.to_string())
            .body(Full::new(Bytes::new()))?;
        let response = sender.send_request(request).await?;
        ensure!(response.status() == 200, "the server answered {}", response.status());
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(body == BODY, "the body is another one");
        connection.abort();
        Ok(())
    }
}
