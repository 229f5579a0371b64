//! One location's hands: probes what the coordinator assigned, repeats what failed, keeps every result
//! on disk until the coordinator has it. Only outbound connections.
//!
//! ```text
//! link::stream ──assignments, “probe now”──▶ runner ◀──what is due── schedule (pure)
//!                                              │ attempt: one probe, and whose fault a failure is
//!                                              ▼
//! link::deliver ◀──────── batches ────────── spool (disk)
//! link::heartbeat ──▶ time (the coordinator's)          selfcheck (this location's own line)
//! ```

pub mod assigned;
pub mod attempt;
pub mod journal;
pub mod link;
pub mod runner;
pub mod schedule;
pub mod selfcheck;
pub mod spool;
pub mod time;
pub mod vault;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::Clock;
use crate::config::AgentConfig;
use crate::domain::address::AllowList;
use crate::domain::location::selfcheck::{MIN_REFERENCES, SelfCheck};
use crate::probe;
use crate::process::health::Health;
use assigned::Assigned;
use attempt::Prober;
use link::Link;
use runner::Runner;
use schedule::Schedule;
use selfcheck::Target;
use spool::{Kept, Spool};
use time::CoordinatorTime;
use vault::Vault;

/// Runs until `shutdown`, then lets running probes end, delivers what it can and returns. An error
/// means that it could not start: its settings or its spool folder do not work.
pub async fn run(
    config: AgentConfig,
    clock: Clock,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let dir = spool_dir(&config)?;
    let boot = new_boot(clock.now());
    let link = Arc::new(Link::new(&config, boot)?);
    let targets = references(&config)?;
    let vault = Vault::new(&config.token);
    let spool = Spool::open(&dir, vault.clone(), config.spool_max.0, boot)?;
    let (assigned, found) = Assigned::open(&dir, vault)
        .with_context(|| format!("the assignments in {} cannot be read", dir.display()))?;
    let time = Arc::new(CoordinatorTime::new(time::kernel_boot()));
    if let Some(known) = found.time {
        time.recall(known, time::boottime(), clock.now());
    }
    let shared = Arc::new(Shared::new(spool, Arc::clone(&time), clock.clone()));
    let cut = CancellationToken::new();
    let context = probe_context(&config, &clock)?;
    let prober = Arc::new(Prober::new(context, Arc::clone(&time), cut.clone()));

    let now = time::boottime() / 1_000;
    let mut schedule = Schedule::new(time.offset_us().unwrap_or(0) / 1_000);
    let (known, rev) = (found.tasks.len(), found.rev);
    schedule.restore(found.tasks, now);
    tracing::info!(
        coordinator = %config.coordinator_url, %boot, spool = %dir.display(),
        monitors = known, waiting = shared.spool.lock().waiting(), "the agent starts"
    );

    // What stops with the agent at once; dropped, and with it ended, at the end of this function.
    let mut helpers = JoinSet::new();
    let health = Health::new(shutdown.clone());
    if let Some(address) = config.health_listen {
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener =
            listener.with_context(|| format!("--health-listen {address} cannot be used"))?;
        let routes = health.routes();
        helpers.spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "the agent's own health is no longer answered");
            }
        });
    }
    let (work_in, work) = mpsc::channel(64);
    let stop = || shutdown.clone();
    helpers.spawn(link::stream::follow(Arc::clone(&link), time, rev, work_in, stop()));
    helpers.spawn(link::heartbeat::beat(Arc::clone(&link), Arc::clone(&shared), stop()));
    helpers.spawn(sync_spool(Arc::clone(&shared)));
    if targets.len() >= MIN_REFERENCES {
        let (prober, shared) = (Arc::clone(&prober), Arc::clone(&shared));
        helpers.spawn(selfcheck::watch(targets, prober, shared, stop()));
    }
    let watched = Arc::clone(&prober);
    helpers.spawn(async move { watched.watch_stalls().await });
    let delivery = CancellationToken::new();
    let mut delivering = tokio::spawn(link::deliver::deliver(
        Arc::clone(&link),
        Arc::clone(&shared),
        delivery.clone(),
    ));

    let parts = (schedule, assigned, rev);
    let pulse = health.pulse("probing");
    let runner = Runner::new(
        Arc::clone(&shared),
        (prober, Arc::clone(&link)),
        parts,
        config.max_in_flight,
        pulse,
    );
    health.started();
    let grace = config.timing.farewell;
    runner.run(work, shutdown, (grace, cut)).await;

    delivery.cancel();
    if tokio::time::timeout(grace, &mut delivering).await.is_err() {
        delivering.abort();
    }
    shared.spool.sync().await;
    let waiting = shared.spool.lock().waiting();
    tracing::info!(waiting, "the agent has stopped");
    Ok(())
}

/// What the parts of one agent share.
pub struct Shared {
    pub spool: SharedSpool,
    pub time: Arc<CoordinatorTime>,
    pub clock: Clock,
    /// Probes that run now.
    pub in_flight: AtomicU32,
    /// Reports that the coordinator could not read, since the start.
    pub set_aside: AtomicU64,
    selfcheck: Mutex<Option<SelfCheck>>,
    /// Look at the references now.
    pub check_now: Notify,
    /// Say at once how this location is.
    pub beat_now: Notify,
}

impl Shared {
    pub fn new(spool: Spool, time: Arc<CoordinatorTime>, clock: Clock) -> Self {
        Self {
            spool: SharedSpool {
                spool: Mutex::new(spool),
                arrived: Notify::new(),
                urgent: Notify::new(),
                refused: Mutex::new(false),
            },
            time,
            clock,
            in_flight: AtomicU32::new(0),
            set_aside: AtomicU64::new(0),
            selfcheck: Mutex::new(None),
            check_now: Notify::new(),
            beat_now: Notify::new(),
        }
    }

    /// The last round, as heartbeats carry it.
    pub fn selfcheck(&self) -> Option<serde_json::Value> {
        let last = self.selfcheck.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().and_then(|round| serde_json::to_value(round).ok())
    }

    /// In the last round most references failed.
    pub fn references_fail(&self) -> bool {
        let last = self.selfcheck.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(SelfCheck::most_fail)
    }

    pub fn set_selfcheck(&self, round: SelfCheck) {
        *self.selfcheck.lock().unwrap_or_else(PoisonError::into_inner) = Some(round);
    }
}

/// The spool, and who waits for something in it.
pub struct SharedSpool {
    spool: Mutex<Spool>,
    arrived: Notify,
    urgent: Notify,
    /// Whether the disk refused last time: told once.
    refused: Mutex<bool>,
}

impl SharedSpool {
    /// Holds up whoever wants it too: briefly, and never across an await.
    pub fn lock(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a result and wakes the delivery; at once if it is `urgent`.
    pub fn keep(&self, kept: Kept, urgent: bool) {
        let (_, written) = self.lock().append(kept);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) if *refused => tracing::info!("results are on disk again"),
            Err(ref error) if !*refused => {
                tracing::error!(%error, "results cannot be written to disk; they wait in memory");
            }
            _ => {}
        }
        *refused = written.is_err();
        self.arrived.notify_one();
        if urgent {
            self.urgent.notify_one();
        }
    }

    /// Something waits that was not just kept.
    pub fn nudge(&self) {
        self.arrived.notify_one();
        self.urgent.notify_one();
    }

    /// Returns when results wait, after giving others `flush` to join them, unless one is urgent.
    pub async fn wait(&self, flush: Duration) {
        while self.lock().waiting() == 0 {
            self.arrived.notified().await;
        }
        let _ = tokio::time::timeout(flush, self.urgent.notified()).await;
    }

    /// Puts on the disk what was written since the last time.
    pub async fn sync(&self) {
        let files = self.lock().unsynced();
        if files.is_empty() {
            return;
        }
        let synced = tokio::task::spawn_blocking(move || {
            files.iter().try_for_each(std::fs::File::sync_data)
        });
        if let Ok(Err(error)) = synced.await {
            tracing::warn!(%error, "the disk did not confirm that results are on it");
        }
    }
}

async fn sync_spool(shared: Arc<Shared>) {
    let every = Spool::EXPIRE_EVERY.as_secs() / Spool::SYNC_EVERY.as_secs();
    for turn in 0_u64.. {
        if turn.is_multiple_of(every) {
            let (shared, now) = (Arc::clone(&shared), shared.clock.now());
            let _ = tokio::task::spawn_blocking(move || shared.spool.lock().expire(now)).await;
        }
        tokio::time::sleep(Spool::SYNC_EVERY).await;
        shared.spool.sync().await;
    }
}

/// Names this process start; later ones sort behind.
fn new_boot(now: Timestamp) -> Uuid {
    let mut random = [0; 10];
    rand::fill(&mut random);
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

fn references(config: &AgentConfig) -> anyhow::Result<Vec<Target>> {
    let parse =
        |text: &String| Target::parse(text).map_err(|why| anyhow::anyhow!("--reference: {why}"));
    let targets = config.references.iter().map(parse).collect::<anyhow::Result<Vec<_>>>()?;
    if (1..MIN_REFERENCES).contains(&targets.len()) {
        tracing::warn!(
            references = targets.len(),
            "the self-check needs at least three references and stays off"
        );
    }
    Ok(targets)
}

fn probe_context(config: &AgentConfig, clock: &Clock) -> anyhow::Result<probe::Context> {
    let mut control: Vec<String> = config.control_names.clone();
    if let Some(url::Host::Domain(name)) = config.coordinator_url.host()
        && name != "localhost"
        && !name.ends_with(".localhost")
    {
        control.push(name.to_owned());
    }
    let allow = AllowList::new(config.allow_net.iter().copied(), config.allow_port.clone());
    let clock = clock.clone();
    let settings = probe::Settings::system(allow, control, Arc::new(move || clock.now()));
    let mut settings = settings.context("the machine's resolver settings cannot be read")?;
    if !config.name_servers.is_empty() {
        settings.ask(&config.name_servers).context("--name-server")?;
    }
    if let Some(file) = &config.ca_file {
        trust(&mut settings.roots, file)
            .with_context(|| format!("--ca-file {}", file.display()))?;
    }
    Ok(probe::Context::new(settings)?)
}

/// Adds the certificates of a PEM file; one that holds none is a mistake.
fn trust(roots: &mut rustls::RootCertStore, file: &Path) -> anyhow::Result<()> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let mut added = 0;
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
        added += 1;
    }
    anyhow::ensure!(added > 0, "there is no certificate in it");
    Ok(())
}

/// Where to keep results: as told, or the usual place of this user.
fn spool_dir(config: &AgentConfig) -> anyhow::Result<PathBuf> {
    if let Some(dir) = &config.spool_dir {
        return Ok(dir.clone());
    }
    if nix::unistd::geteuid().is_root() {
        return Ok(Path::new("/var/lib/quorate/agent").to_owned());
    }
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/share"));
    let data = data.or_else(home).context("there is no home folder; name one with --spool-dir")?;
    Ok(data.join("quorate/agent"))
}
