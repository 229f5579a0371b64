//! A private Postgres cluster that lives and dies with us.
//!
//! The system's own server binaries, a cluster in the data folder, a socket in a folder nobody else
//! can enter, no network. Everything here assumes that any process may be killed at any moment and
//! that the next start has to cope: a half-made cluster, a lock file of a process that is gone, a
//! server that outlived its parent.
//!
//! ```text
//! D/               ours; 0711 when we are root, so that the database's user can pass through
//! D/lock           held for as long as we run: one instance per folder
//! D/postgres.log   what the server says
//! D/pg/            belongs to the user that runs the server
//! D/pg/data        the cluster
//! D/pg/sock        its socket, 0700
//! ```

mod binaries;
mod cluster;
mod leftovers;
mod server;

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use sqlx::postgres::PgConnectOptions;
use tokio_util::sync::CancellationToken;

use cluster::Cluster;
use server::Server;

/// The database and the role that every cluster of ours has.
pub const DATABASE: &str = "quorate";
const ROLE: &str = "quorate";

/// What to run and where.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The data folder D; made if it is not there.
    pub dir: PathBuf,
    /// Folder of `postgres` and `initdb`; `None` looks in the usual places.
    pub bin_dir: Option<PathBuf>,
    /// Server settings beyond ours, as `name=value`.
    pub server: Vec<String>,
}

/// A running server. Stop it with [`Postgres::stop`]; merely dropping it asks the server to stop and
/// does not wait.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    cluster: Cluster,
    before: Before,
    // Last, so that the folder is free for the next instance only when everything above is gone.
    _lock: File,
}

/// How the cluster was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// There was none; it was made just now.
    New,
    /// The last stop was clean.
    Stopped,
    /// It had been cut off; Postgres recovered it from its log.
    CutOff,
}

/// Why there is no database. The text says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{} is in use by another quorate{}.\nStop that one, or choose another folder with --data-dir.", dir.display(), process.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    InUse { dir: PathBuf, process: Option<u32> },
    #[error(
        "no Postgres server is installed on this machine.\nInstall one:  {}\nor name a database that runs already in QUORATE_DATABASE_URL.",
        binaries::install_hint(None)
    )]
    NoBinaries,
    #[error("the database in {} was made by Postgres {major}, and that version is not installed{}.\nInstall it:  {}", data.display(), binaries::found_hint(found), binaries::install_hint(Some(*major)))]
    OtherMajor { data: PathBuf, major: u32, found: Vec<u32> },
    #[error("Postgres {0} is too old; {oldest} or newer is needed.\nInstall one:  {hint}", oldest = binaries::OLDEST, hint = binaries::install_hint(None))]
    TooOld(u32),
    #[error(
        "Postgres refuses to run as root, and there is no user “postgres” or “nobody” to run it as.\nMake one:  useradd --system postgres"
    )]
    NoUser,
    #[error("the database runs as user {user}, who cannot enter {}, a parent of the data folder.\nChoose a folder elsewhere, such as --data-dir /var/lib/quorate.", folder.display())]
    NoWay { folder: PathBuf, user: String },
    #[error("{} belongs to another user (uid {uid}).\nRun quorate as that user, or choose another folder with --data-dir.", path.display())]
    NotOurs { path: PathBuf, uid: u32 },
    #[error("the path of the data folder is too long for a socket: {} has {length} bytes, at most {longest} are possible.\nChoose a shorter one with --data-dir.", dir.display(), length = dir.as_os_str().len(), longest = cluster::LONGEST_DIR)]
    TooLong { dir: PathBuf },
    #[error("{what} {}: {source}", path.display())]
    Files { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("cannot run {}: {source}", program.display())]
    Run { program: PathBuf, source: std::io::Error },
    #[error("making the database failed. initdb said:\n{output}")]
    Init { output: String },
    #[error("an older database server (process {pid}) still uses {} and would not stop.\nStop it:  kill -9 {pid}", data.display())]
    Stuck { data: PathBuf, pid: i32 },
    #[error("the database server ended at once ({status}). Its last words, from {}:\n{words}", log.display())]
    Ended { status: ExitStatus, log: PathBuf, words: String },
    #[error("the database server was not ready after {} s. What it does is in {}.", waited.as_secs(), log.display())]
    NotReady { waited: Duration, log: PathBuf },
}

/// How to connect to the server that somebody else runs on the data folder `dir`, if they do.
pub fn options_in(dir: &Path) -> PgConnectOptions {
    options(&cluster::socket_dir(dir), DATABASE)
}

/// Makes the data folder and holds it, without a cluster in it. The folder's absolute path, and the
/// lock, which is free again when the file is closed.
pub fn claim(dir: &Path) -> Result<(PathBuf, File), StartError> {
    cluster::claim_dir(dir, false)
}

fn options(socket_dir: &Path, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(socket_dir)
        .port(server::PORT)
        .username(ROLE)
        .database(database)
}

impl Postgres {
    /// Starts the server, making the cluster first if there is none, and returns when it accepts
    /// connections. Recovery after a crash is waited for, up to ten minutes.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let (cluster, lock) = Cluster::claim(settings)?;
        leftovers::clear(&cluster).await?;
        let before = cluster.initialise().await?;
        let server = server::launch(&cluster).await?;
        Ok(Self { server, cluster, before, _lock: lock })
    }

    /// How to connect to `database`: over the socket, as the one role there is.
    pub fn options(&self, database: &str) -> PgConnectOptions {
        options(&self.cluster.socket_dir, database)
    }

    /// The same as a URL, for tools that want one.
    pub fn url(&self, database: &str) -> String {
        let mut url = url::Url::parse("postgres:///").expect("this text is a URL");
        url.set_path(database);
        url.query_pairs_mut()
            .append_pair("host", &self.cluster.socket_dir.to_string_lossy())
            .append_pair("port", &server::PORT.to_string())
            .append_pair("user", ROLE);
        url.into()
    }

    pub fn before(&self) -> Before {
        self.before
    }

    /// The process id of the server.
    pub fn pid(&self) -> i32 {
        self.server.pid()
    }

    /// The data folder, absolute.
    pub fn dir(&self) -> &Path {
        &self.cluster.dir
    }

    /// Keeps the server running until `stop` is cancelled, then stops it. If it dies before that (killed
    /// by hand, out of memory) it is started again on the same socket; connection pools find it there.
    pub async fn keep(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.stop().await,
                status = self.server.ended() => {
                    tracing::error!(%status, "the database server ended; starting it again");
                }
            }
            let mut pause = Duration::from_millis(200);
            while let Err(error) = self.restart().await {
                tracing::error!(%error, "the database server does not start");
                if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                    return;
                }
                pause = (pause * 2).min(Duration::from_secs(30));
            }
        }
    }

    /// Stops the server: sessions are ended and the cluster closed cleanly. Insists by and by, so it
    /// returns after 45 s at the latest.
    pub async fn stop(self) {
        self.server.stop().await;
    }

    async fn restart(&mut self) -> Result<(), StartError> {
        leftovers::clear(&self.cluster).await?;
        self.server = server::launch(&self.cluster).await?;
        Ok(())
    }
}
