//! ONE check, one attempt: [`run`] always ends within its timeout and always gives an [`Observation`].
//!
//! What one probe knows lives in its `trace::Trace`, outside the future that does the work: when the
//! deadline drops that future, everything seen so far is still there and says which phase did not end.

mod dial;
mod http;
mod trace;

use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use tokio::time::Instant;

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
    match check {
        Check::Http(check) => http::run(check, ctx, start, timeout, cancelled).await,
        Check::Heartbeat(_) => not_probed(),
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
