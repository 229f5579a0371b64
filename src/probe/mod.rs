//! ONE check, one attempt: [`run`] always ends within its timeout and always gives an [`Observation`].
//!
//! What one probe knows lives in its `trace::Trace`, outside the future that does the work: when the
//! deadline drops that future, everything seen so far is still there and says which phase did not end.

mod conclude;
mod dial;
mod dns;
mod grpc;
mod http;
mod icmp;
mod reply;
mod smtp;
mod starttls;
mod talk;
mod tcp;
mod tls;
mod trace;
mod websocket;

use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use tokio::time::Instant;

use self::trace::{Failure, Stage, Trace};
use crate::domain::address::AllowList;
use crate::domain::check::Check;
use crate::domain::observation::{Class, Observation, Outcome, Phases};
use crate::net::{Guard, Resolver};

/// Tells wall time, which is needed to judge certificates.
pub type Wall = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// What a probe needs from its agent.
pub struct Settings {
    pub guard: Guard,
    pub resolver: Resolver,
    pub roots: RootCertStore,
    /// Sent unless the monitor sets its own.
    pub user_agent: String,
    /// Names that resolve if anything does: the coordinator's host and those of the operator. A DNS
    /// failure counts against the target only if one of them resolves. Empty: it always counts.
    pub control_names: Vec<String>,
    pub wall: Wall,
}

impl Settings {
    /// This machine's resolvers and roots.
    pub fn system(
        allow: AllowList,
        control_names: Vec<String>,
        wall: Wall,
    ) -> std::io::Result<Self> {
        Ok(Self {
            guard: Guard::new(allow),
            resolver: Resolver::system()?,
            roots: system_roots().0,
            user_agent: concat!("quorate/", env!("CARGO_PKG_VERSION")).to_owned(),
            control_names,
            wall,
        })
    }

    /// Resolves names through these servers instead of the machine's.
    pub fn ask(&mut self, name_servers: &[std::net::SocketAddr]) -> std::io::Result<()> {
        self.resolver = Resolver::with_servers(name_servers)?;
        Ok(())
    }
}

/// [`Settings`] made ready, shared by all probes of an agent. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    guard: Guard,
    resolver: Resolver,
    user_agent: String,
    control_names: Vec<String>,
    wall: Wall,
    tls: dial::TlsSettings,
}

impl Context {
    /// Fails only if the TLS library refuses its own defaults.
    pub fn new(settings: Settings) -> Result<Self, rustls::Error> {
        Ok(Self(Arc::new(Inner {
            tls: dial::TlsSettings::new(settings.roots)?,
            guard: settings.guard,
            resolver: settings.resolver,
            user_agent: settings.user_agent,
            control_names: settings.control_names,
            wall: settings.wall,
        })))
    }
}

/// The machine's trusted roots, and how many of its certificates could not be read.
pub fn system_roots() -> (RootCertStore, usize) {
    let mut roots = RootCertStore::empty();
    let loaded = rustls_native_certs::load_native_certs();
    let (_, ignored) = roots.add_parsable_certificates(loaded.certs);
    (roots, ignored + loaded.errors.len())
}

/// Runs one attempt of a filled check ([`Check::with_secrets`]). Ends within `timeout` and 50 ms. The
/// evidence is kept for failures only.
pub async fn run(check: &Check, ctx: &Context, timeout: Duration) -> Observation {
    let mut seen = run_in_detail(check, ctx, timeout, std::future::pending()).await;
    if seen.outcome == Outcome::Pass {
        seen.evidence = None;
    }
    seen
}

/// The same with evidence also for a pass, for people who look at one probe. It ends early, as
/// `error(cancelled)` with what is known so far, when `cancelled` does.
pub async fn run_in_detail(
    check: &Check,
    ctx: &Context,
    timeout: Duration,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let start = Instant::now();
    let attempt = Attempt { check, ctx, start, timeout, deadline: start + timeout };
    match check {
        Check::Heartbeat(_) => not_probed(),
        Check::Dns(check) => dns::run(&attempt, check, cancelled).await,
        Check::Grpc(check) => grpc::run(&attempt, check, cancelled).await,
        Check::Icmp(check) => icmp::run(&attempt, check, cancelled).await,
        Check::Http(check) => http::run(&attempt, check, cancelled).await,
        Check::Tcp(check) => tcp::run(&attempt, check, cancelled).await,
        Check::Tls(check) => tls::run(&attempt, check, cancelled).await,
        Check::Smtp(check) => smtp::run(&attempt, check, cancelled).await,
        Check::Websocket(check) => websocket::run(&attempt, check, cancelled).await,
    }
}

/// Nobody is asked to probe a job that calls us; whoever is tells that it cannot.
fn not_probed() -> Observation {
    Observation {
        outcome: Outcome::Error,
        class: Some(Class::Internal),
        message: "A heartbeat is not probed: the job calls.".to_owned(),
        phases_us: Phases::default(),
        status: None,
        http_version: None,
        address: None,
        size: None,
        hops: Vec::new(),
        certificate: None,
        assertions: Vec::new(),
        evidence: None,
    }
}

/// One attempt: what every kind needs to know of it.
struct Attempt<'a> {
    /// Filled with its secrets.
    check: &'a Check,
    ctx: &'a Context,
    start: Instant,
    timeout: Duration,
    deadline: Instant,
}

impl Attempt<'_> {
    /// Runs the work of a kind to its end, to the deadline (`None`) or until it is cancelled.
    async fn bounded(
        &self,
        cancelled: impl Future<Output = ()>,
        work: impl Future<Output = Result<(), Failure>>,
    ) -> Option<Result<(), Failure>> {
        tokio::select! {
            ended = tokio::time::timeout_at(self.deadline, work) => ended.ok(),
            () = cancelled => Some(Err(Failure::new(
                Class::Cancelled,
                "The probe was stopped before it ended.",
            ))),
        }
    }

    /// The failure of a probe that its deadline ended before the kind's own phases began.
    fn timed_out_before(&self, host: &str, trace: &Trace) -> Failure {
        let limit = self.limit();
        match trace.stage() {
            Some(Stage::Resolve) => dial::lookup_timed_out(host, self.ctx, trace),
            Some(Stage::Connect) => Failure::new(
                Class::ConnectTimeout,
                format!("No connection to {host} within {limit}."),
            ),
            Some(Stage::Tls) => Failure::new(
                Class::TlsTimeout,
                format!("The TLS handshake with {host} did not end within {limit}."),
            ),
            Some(Stage::FirstByte | Stage::Transfer) | None => Failure::new(
                Class::AgentOverload,
                format!("This agent was too busy to go on within {limit}."),
            ),
        }
    }

    /// The timeout for people: `10 s`, `0.3 s`.
    fn limit(&self) -> String {
        format!("{}\u{a0}s", (self.timeout.as_secs_f64() * 1000.0).round() / 1000.0)
    }
}
