//! `up::postgres` against the real thing, killed in every way we know.
//!
//! Whoever is killed without mercy here is a process of its own: this test binary again, holding a
//! cluster as `quorate up` does.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use quorate::up::postgres::{Before, DATABASE, Postgres, Settings, StartError};
use sqlx::{Connection, PgConnection};
use tokio_util::sync::CancellationToken;

use crate::support::scratch::Scratch;

#[tokio::test]
async fn data_survive_a_clean_stop() {
    let scratch = Scratch::new("pg-clean");
    let first = start(scratch.path()).await;
    assert_eq!(first.before(), Before::New);
    write_row(&first, 1).await;
    first.stop().await;
    let second = start(scratch.path()).await;
    assert_eq!(second.before(), Before::Stopped);
    assert_eq!(rows(&second).await, [1]);
    second.stop().await;
    assert!(processes(scratch.path()).is_empty());
}

#[tokio::test]
async fn a_second_instance_is_refused_and_told_who_has_the_folder() {
    let scratch = Scratch::new("pg-second");
    let first = start(scratch.path()).await;
    let refused = Postgres::start(settings(scratch.path())).await.unwrap_err();
    assert!(
        matches!(&refused, StartError::InUse { process: Some(pid), .. } if *pid == std::process::id()),
        "{refused}"
    );
    // The refusal left the first one alone.
    write_row(&first, 1).await;
    first.stop().await;
}

#[tokio::test]
async fn a_killed_server_is_started_again_and_the_data_are_there() {
    let scratch = Scratch::new("pg-killed");
    let server = start(scratch.path()).await;
    let (pid, options) = (server.pid(), server.options(DATABASE));
    write_row(&server, 1).await;
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(server.keep(stop.clone()));
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let found: Vec<i32> = loop {
        // Refused until the new server is there; the runner's time limit is the only one.
        if let Ok(mut connection) = PgConnection::connect_with(&options).await
            && let Ok(rows) =
                sqlx::query_scalar("select n from kept").fetch_all(&mut connection).await
        {
            break rows;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(found, [1]);
    let servers = processes(scratch.path());
    assert!(!servers.is_empty() && !servers.contains(&pid), "{servers:?}");
    stop.cancel();
    keeper.await.unwrap();
    assert!(processes(scratch.path()).is_empty());
}

#[tokio::test]
async fn a_killed_parent_takes_its_server_along() {
    let scratch = Scratch::new("pg-parent");
    let mut parent = Holder::start(scratch.path(), Who::Us);
    parent.kill();
    let server = start(scratch.path()).await;
    assert!(matches!(server.before(), Before::Stopped), "the kernel asked it to stop, or we did");
    assert_eq!(rows(&server).await, [7]);
    server.stop().await;
}

#[tokio::test]
async fn an_orphan_is_stopped_and_its_data_taken_over() {
    let scratch = Scratch::new("pg-orphan");
    let mut parent = Holder::start(scratch.path(), Who::Us);
    let orphan = parent.server;
    // A stopped process cannot act on the signal that its parent's death sends: it stays.
    kill(Pid::from_raw(orphan), Signal::SIGSTOP).unwrap();
    parent.kill();
    assert!(processes(scratch.path()).contains(&orphan));
    kill(Pid::from_raw(orphan), Signal::SIGCONT).unwrap();
    let server = start(scratch.path()).await;
    assert_ne!(server.pid(), orphan);
    assert_eq!(rows(&server).await, [7]);
    server.stop().await;
}

#[tokio::test]
async fn everything_killed_at_once_is_recovered() {
    let scratch = Scratch::new("pg-all");
    let mut parent = Holder::start(scratch.path(), Who::Us);
    for pid in processes(scratch.path()) {
        // A session may have ended with the server a moment ago.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    parent.kill();
    let server = start(scratch.path()).await;
    assert_eq!(server.before(), Before::CutOff);
    assert_eq!(rows(&server).await, [7]);
    server.stop().await;
}

#[tokio::test]
async fn a_lock_file_that_names_a_stranger_is_stale() {
    let scratch = Scratch::new("pg-stale");
    start(scratch.path()).await.stop().await;
    let (data, sock) = (scratch.path().join("pg/data"), scratch.path().join("pg/sock"));
    // Process numbers are used again: this one is alive, ours, and no database server.
    let stale =
        format!("{}\n{}\n1\n5432\n{}\n", std::process::id(), data.display(), sock.display());
    fs::write(data.join("postmaster.pid"), &stale).unwrap();
    fs::write(sock.join(".s.PGSQL.5432.lock"), &stale).unwrap();
    let server = start(scratch.path()).await;
    assert_ne!(server.pid().unsigned_abs(), std::process::id());
    server.stop().await;
}

#[tokio::test]
async fn half_a_cluster_is_made_again() {
    let scratch = Scratch::new("pg-half");
    let server = start(scratch.path()).await;
    server.stop().await;
    let pg = scratch.path().join("pg");
    fs::rename(pg.join("data"), pg.join("data.new")).unwrap();
    fs::remove_file(pg.join("data.new/global/pg_control")).unwrap();
    let server = start(scratch.path()).await;
    assert_eq!(server.before(), Before::New);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let scratch = Scratch::new("pg-words");
    let mut settings = settings(scratch.path());
    settings.server.push("shared_buffers=lots".to_owned());
    let error = Postgres::start(settings).await.unwrap_err();
    assert!(matches!(error, StartError::Ended { .. }), "{error}");
    assert!(error.to_string().contains("shared_buffers"), "{error}");
}

#[tokio::test]
async fn without_server_programs_it_names_what_to_install() {
    let scratch = Scratch::new("pg-none");
    let mut settings = settings(scratch.path());
    settings.bin_dir = Some(scratch.path().to_owned());
    let error = Postgres::start(settings).await.unwrap_err();
    assert!(matches!(error, StartError::NoBinaries), "{error}");
    assert!(error.to_string().contains("install"), "{error}");
    assert!(!scratch.path().join("pg/data").exists());
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_is_refused() {
    let scratch = Scratch::new("pg-long");
    let error = Postgres::start(settings(&scratch.path().join("x".repeat(90)))).await.unwrap_err();
    assert!(matches!(error, StartError::TooLong { .. }), "{error}");
}

#[tokio::test]
async fn as_root_the_cluster_belongs_to_somebody_else_and_the_rest_does_not() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new("pg-root");
    let dir = scratch.path().join("d");
    let server = start(&dir).await;
    let owner_and_mode = |path: &str| {
        use std::os::unix::fs::MetadataExt;
        let meta = fs::metadata(dir.join(path)).unwrap();
        (meta.uid() == 0, meta.permissions().mode() & 0o777)
    };
    assert_eq!(owner_and_mode(""), (true, 0o711));
    assert_eq!(owner_and_mode("lock"), (true, 0o600));
    assert_eq!(owner_and_mode("postgres.log"), (true, 0o600));
    assert_eq!(owner_and_mode("pg"), (false, 0o700));
    assert_eq!(owner_and_mode("pg/data"), (false, 0o700));
    server.stop().await;
    // A home that others cannot enter is in the way, and the message says which folder it is.
    let closed = scratch.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let error = Postgres::start(settings(&closed.join("d"))).await.unwrap_err();
    assert!(matches!(&error, StartError::NoWay { folder, .. } if *folder == closed), "{error}");
}

#[tokio::test]
async fn an_ordinary_user_owns_everything_and_root_does_not_take_it_away() {
    if !nix::unistd::geteuid().is_root() {
        return; // then every other test here is this one
    }
    let scratch = Scratch::new("pg-user");
    let dir = scratch.path().join("d");
    fs::create_dir(&dir).unwrap();
    std::os::unix::fs::chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
    Holder::start(&dir, Who::Nobody).kill();
    Holder::start(&dir, Who::Nobody).kill();
    // Started by root later, the server goes on as the user who has the data.
    let server = start(&dir).await;
    assert_eq!(rows(&server).await, [7, 7]);
    server.stop().await;
    Holder::start(&dir, Who::Nobody).kill();
}

/// Not a test: the process that the tests above kill. Holds a cluster until then.
#[tokio::test]
#[ignore = "started by the tests of the private database"]
async fn holder() {
    let Some(dir) = std::env::var_os("QUORATE_TEST_HOLDER").map(PathBuf::from) else {
        return;
    };
    let server = Postgres::start(settings(&dir)).await.unwrap_or_else(|error| panic!("{error}"));
    write_row(&server, 7).await;
    println!("\nholder: {}", server.pid());
    std::future::pending::<()>().await;
}

/// uid and gid of nobody where we test; any that is not root would do.
const NOBODY: u32 = 65534;

enum Who {
    Us,
    Nobody,
}

struct Holder {
    process: Child,
    server: i32,
}

impl Holder {
    fn start(dir: &Path, who: Who) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(&program);
        if let Who::Nobody = who {
            // The build folder may be closed to other users.
            let copy = dir.with_file_name("it");
            if !copy.exists() {
                fs::copy(&program, &copy).unwrap();
            }
            command = Command::new(copy);
            command.uid(NOBODY).gid(NOBODY).current_dir("/");
        }
        let mut process = command
            .args(["--exact", "private_postgres::holder", "--ignored", "--nocapture"])
            .env("QUORATE_TEST_HOLDER", dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let server = said
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("holder: ").and_then(|pid| pid.parse().ok()));
        Self { process, server: server.expect("the holder has a server") }
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn settings(dir: &Path) -> Settings {
    Settings { dir: dir.to_owned(), bin_dir: None, server: vec!["shared_buffers=16MB".to_owned()] }
}

async fn start(dir: &Path) -> Postgres {
    Postgres::start(settings(dir)).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn write_row(server: &Postgres, n: i32) {
    let mut connection = PgConnection::connect_with(&server.options(DATABASE)).await.unwrap();
    sqlx::raw_sql("create table if not exists kept (n int)")
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::query("insert into kept values ($1)").bind(n).execute(&mut connection).await.unwrap();
}

async fn rows(server: &Postgres) -> Vec<i32> {
    let mut connection = PgConnection::connect_with(&server.options(DATABASE)).await.unwrap();
    sqlx::query_scalar("select n from kept").fetch_all(&mut connection).await.unwrap()
}

/// Every process whose working folder is the cluster.
fn processes(dir: &Path) -> Vec<i32> {
    let data = fs::canonicalize(dir).unwrap().join("pg/data");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == data))
        .collect()
}
