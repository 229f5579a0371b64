//! A real, migrated, empty database for each test, in a few milliseconds.
//!
//! One private cluster serves all tests of a run, although each test may be a process of its own. It
//! is run by the *guardian*: this same test binary, started once more by the first test that finds no
//! cluster. Every test process holds a shared lock on one file for as long as it lives; the guardian
//! waits for the exclusive lock on it, which the kernel grants when the last of them has ended, no
//! matter how. Then it stops the server and removes everything. There is nothing to set up before a
//! run and nothing to clean after one, with any runner.

use std::{
    fs::{self, DirBuilder, File},
    io::{BufRead, BufReader, Write},
    os::fd::AsFd,
    os::unix::{
        fs::{DirBuilderExt, MetadataExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use super::whole::until;
use quorate::{store::MIGRATOR, up::postgres};
use sha2::{Digest, Sha256};
use sqlx::{
    AssertSqlSafe, Connection, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// One test's own database; dropped with this value.
#[derive(Debug)]
pub(crate) struct TestDb {
    name: String,
    options: PgConnectOptions,
    pool: PgPool,
}

impl TestDb {
    /// A fresh copy of the migrated schema.
    pub(crate) async fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let cluster = cluster();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("t_{}_{number}", std::process::id());
        let mut admin = cluster.admin().await;
        execute(&mut admin, &format!("drop database if exists {name} with (force)")).await;
        let template = &cluster.template;
        execute(
            &mut admin,
            &format!("create database {name} template {template} strategy file_copy"),
        )
        .await;
        admin.close().await.unwrap();
        let options = cluster.options.clone().database(&name);
        let pool = PgPoolOptions::new()
            .max_connections(10)
            .acquire_timeout(Duration::from_secs(30))
            .connect_lazy_with(options.clone());
        Self { name, options, pool }
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) async fn storms_from(&self, monitors: u32) {
        storms_from(&self.pool, monitors).await;
    }

    /// Connections that wait for a lock which the connection `pid` holds.
    pub(crate) async fn waiting_for(&self, pid: i32) -> Vec<i32> {
        sqlx::query_scalar(
            "select pid from pg_stat_activity
             where datname = current_database() and $1 = any(pg_blocking_pids(pid))",
        )
        .bind(pid)
        .fetch_all(&self.pool)
        .await
        .unwrap()
    }

    pub(crate) async fn somebody_waits_for(&self, pid: i32) {
        let look = async || (!self.waiting_for(pid).await.is_empty()).then_some(());
        until("somebody waits for a lock", look).await;
    }

    /// How to connect to it, for parts that make their own pool.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// The same as a URL, for a process of its own.
    pub(crate) fn url(&self) -> String {
        cluster().url.replacen("/postgres?", &format!("/{}?", self.name), 1)
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        let name = self.name.clone();
        // The test's own runtime may be in the middle of unwinding, so this brings another.
        let drop_it = std::thread::spawn(move || {
            runtime().block_on(async {
                let mut admin = cluster().admin().await;
                execute(&mut admin, &format!("drop database if exists {name} with (force)")).await;
            });
        });
        let dropped = drop_it.join();
        assert!(dropped.is_ok() || std::thread::panicking(), "cannot drop {}", self.name);
    }
}

/// So many monitors that go down together are one alert; 0: never, where each is to be told by itself although
/// all seem to be at one address.
pub(crate) async fn storms_from(pool: &PgPool, monitors: u32) {
    sqlx::query(
        "insert into setting (name, value, updated_at)
         values ('alerts', jsonb_build_object('storm_monitors', $1::int8), '2026-01-01T00:00:00Z')
         on conflict (name) do update set value = excluded.value",
    )
    .bind(i64::from(monitors))
    .execute(pool)
    .await
    .unwrap();
}

/// The cluster of this run. The lease keeps the guardian from stopping it while this process lives.
#[derive(Debug)]
struct Cluster {
    url: String,
    options: PgConnectOptions,
    template: String,
    _lease: File,
}

impl Cluster {
    async fn admin(&self) -> PgConnection {
        PgConnection::connect_with(&self.options).await.expect("the cluster of the tests answers")
    }
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        // Tests are asynchronous and this is not: a thread keeps the two apart.
        std::thread::spawn(join_cluster).join().expect("there is a cluster for the tests")
    })
}

/// Takes a lease, starts the guardian if there is none, and makes the template if nobody did.
fn join_cluster() -> Cluster {
    let folder = folder();
    let lease = open(&folder.join("lease"));
    // Waits if a guardian is just cleaning up behind an earlier run.
    lease.lock_shared().unwrap();
    let turn = open(&folder.join("turn"));
    turn.lock().unwrap();
    let alive = open(&folder.join("guardian"));
    if alive.try_lock().is_ok() {
        alive.unlock().unwrap();
        start_guardian(&folder);
    }
    let url = fs::read_to_string(folder.join("url")).unwrap();
    let options = PgConnectOptions::from_str(&url).unwrap();
    let template = runtime().block_on(make_template(&options));
    turn.unlock().unwrap();
    Cluster { url, options, template, _lease: lease }
}

#[expect(clippy::zombie_processes, reason = "it outlives us on purpose; then init collects it")]
fn start_guardian(folder: &Path) {
    let path = folder.join("guardian.log");
    let log = File::create(&path).unwrap();
    // The harness writes to its output after a minute, when the test that started the guardian may be
    // long gone: so the output is a file, and the word that it is ready comes through its input.
    let (ready, says_ready) = std::io::pipe().unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "support::db::guardian", "--ignored", "--nocapture"])
        .env("QUORATE_TEST_GUARDIAN", folder)
        .stdin(says_ready)
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .process_group(0) // what stops the runner must not stop it: it has to clean up
        .spawn()
        .unwrap();
    let said = BufReader::new(ready).lines().map_while(Result::ok).any(|line| line == "ready");
    assert!(said, "no cluster for the tests:\n{}", fs::read_to_string(&path).unwrap_or_default());
}

/// Runs the cluster until nobody holds a lease. Not a test: without the variable it does nothing.
#[test]
#[ignore = "started by the tests that need a database"]
fn guardian() {
    let Some(folder) = std::env::var_os("QUORATE_TEST_GUARDIAN").map(PathBuf::from) else {
        return;
    };
    // Dropped last: who gets a lease after this one is over must find no guardian, and start another.
    let lease = open(&folder.join("lease"));
    let alive = open(&folder.join("guardian"));
    alive.lock().unwrap();
    let dir = folder.join("db");
    runtime().block_on(async {
        let settings = postgres::Settings {
            dir: dir.clone(),
            bin_dir: None,
            server: SERVER.map(str::to_owned).to_vec(),
        };
        let server = postgres::Postgres::start(settings).await.unwrap_or_else(|e| panic!("{e}"));
        drop_old_databases(&server.options("postgres")).await;
        fs::write(folder.join("url"), server.url("postgres")).unwrap();
        let input = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        File::from(input).write_all(b"ready\n").unwrap();
        loop {
            lease.lock().unwrap();
            lease.unlock().unwrap();
            // Runners leave gaps between tests; a run is over when nobody came for a while.
            std::thread::sleep(Duration::from_secs(3));
            if lease.try_lock().is_ok() {
                break;
            }
        }
        server.stop().await;
    });
    fs::remove_dir_all(&dir).unwrap();
}

/// Nothing here has to survive a power cut, and nothing should run beside the tests.
const SERVER: [&str; 9] = [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "autovacuum=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_connections=400",
    "shared_buffers=64MB",
    "max_locks_per_transaction=256",
];

/// What tests that were killed in an earlier run left behind.
async fn drop_old_databases(options: &PgConnectOptions) {
    let mut admin = PgConnection::connect_with(options).await.unwrap();
    let names: Vec<String> =
        sqlx::query_scalar("select datname::text from pg_database where datname like 't\\_%'")
            .fetch_all(&mut admin)
            .await
            .unwrap();
    for name in names {
        execute(&mut admin, &format!("drop database \"{name}\" with (force)")).await;
    }
}

/// Makes the migrated database that all others are copies of, named after the migrations, so that a
/// changed schema gets a template of its own.
async fn make_template(options: &PgConnectOptions) -> String {
    let mut hash = Sha256::new();
    for migration in MIGRATOR.iter() {
        hash.update(&migration.checksum);
    }
    let name = format!("template_{}", &hex::encode(hash.finalize())[..16]);
    let mut admin = PgConnection::connect_with(options).await.unwrap();
    let known: Option<i32> = sqlx::query_scalar("select 1 from pg_database where datname = $1")
        .bind(&name)
        .fetch_optional(&mut admin)
        .await
        .unwrap();
    if known.is_none() {
        execute(&mut admin, "drop database if exists t_new with (force)").await;
        execute(&mut admin, "create database t_new").await;
        let mut new = PgConnection::connect_with(&options.clone().database("t_new")).await.unwrap();
        MIGRATOR.run(&mut new).await.unwrap();
        new.close().await.unwrap();
        execute(&mut admin, &format!("alter database t_new rename to {name}")).await;
    }
    admin.close().await.unwrap();
    name
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// Outside the build folder, because the server's user must be able to enter when we are root, and
/// because a socket's path is short. One per build folder, so that two checkouts do not meet.
fn folder() -> PathBuf {
    let build = hex::encode(Sha256::digest(env!("CARGO_TARGET_TMPDIR")));
    let uid = nix::unistd::geteuid();
    let folder = place().join(format!("quorate-test-{uid}-{}", &build[..8]));
    let mode = if uid.is_root() { 0o711 } else { 0o700 };
    match DirBuilder::new().mode(mode).create(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => made.unwrap(),
    }
    let meta = fs::symlink_metadata(&folder).unwrap();
    assert!(meta.is_dir() && meta.uid() == uid.as_raw(), "{} is not ours", folder.display());
    folder
}

/// Memory, if there is enough of it: copying a database there takes a tenth of the time.
fn place() -> PathBuf {
    const ENOUGH: u128 = 1 << 30;
    let memory = Path::new("/dev/shm");
    let free = nix::sys::statvfs::statvfs(memory)
        .map_or(0, |fs| u128::from(fs.blocks_available()) * u128::from(fs.fragment_size()));
    if free >= ENOUGH { memory.to_owned() } else { std::env::temp_dir() }
}

fn open(path: &Path) -> File {
    File::options().create(true).truncate(false).write(true).open(path).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
