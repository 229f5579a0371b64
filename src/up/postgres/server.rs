//! The server process: started so that it cannot outlive us, watched, and stopped.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::sync::{oneshot, watch};

use super::{StartError, cluster::Cluster};

/// Names the socket; nothing listens on the network.
pub(super) const PORT: u16 = 5432;

/// Recovery replays the log since the last checkpoint and may take minutes.
const READY_WITHIN: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct Server {
    pid: i32,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// Starts the server on `cluster` and returns when it accepts connections.
pub(super) async fn launch(cluster: &Cluster) -> Result<Server, StartError> {
    let (log, log_start) = cluster.open_log()?;
    let err = log.try_clone().map_err(super::cluster::files("cannot write", &cluster.log))?;
    let mut command = cluster.command("postgres");
    command.arg("-D").arg(&cluster.data).arg("-k").arg(&cluster.socket_dir);
    command.args(["-h", "", "-p", &PORT.to_string()]);
    for setting in SETTINGS.iter().copied().chain(cluster.server.iter().map(String::as_str)) {
        command.args(["-c", setting]);
    }
    command.stdout(log).stderr(err);
    // Its own group: Ctrl-C in a terminal must not stop the database before we have drained.
    command.process_group(0);
    die_with_parent(&mut command);
    let server = spawn(command).await?;
    let began = Instant::now();
    while !is_ready(&cluster.data, server.pid) {
        if let Some(status) = server.has_ended() {
            let words = cluster.last_words(log_start);
            return Err(StartError::Ended { status, log: cluster.log.clone(), words });
        }
        if began.elapsed() > READY_WITHIN {
            server.stop().await;
            return Err(StartError::NotReady { waited: READY_WITHIN, log: cluster.log.clone() });
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(server)
}

/// Ours on top of the defaults of a small server.
const SETTINGS: [&str; 6] = [
    "unix_socket_permissions=0700",
    "log_checkpoints=off", // one line every five minutes that nobody reads
    "jit=off",             // our statements are short; compiling them costs more than it saves
    "timezone=UTC",
    "log_timezone=UTC",
    "max_connections=100",
];

impl Server {
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns when the process has ended, and how.
    pub(super) async fn ended(&mut self) -> ExitStatus {
        match self.ended.wait_for(Option::is_some).await {
            Ok(status) => status.unwrap_or_default(),
            // The thread that waits for the process is gone without an answer; so is the process.
            Err(_) => ExitStatus::default(),
        }
    }

    /// Asks for a fast shutdown (sessions ended, cluster closed), then insists.
    pub(super) async fn stop(mut self) {
        let stages = [
            (Signal::SIGINT, Duration::from_secs(30)),
            (Signal::SIGQUIT, Duration::from_secs(10)),
            (Signal::SIGKILL, Duration::from_secs(5)),
        ];
        for (signal, patience) in stages {
            self.signal(signal);
            if tokio::time::timeout(patience, self.ended()).await.is_ok() {
                return;
            }
            tracing::warn!(pid = self.pid, %signal, "the database server does not stop");
        }
    }

    fn has_ended(&self) -> Option<ExitStatus> {
        *self.ended.borrow()
    }

    fn signal(&self, signal: Signal) {
        if self.has_ended().is_none() {
            // It may end this very moment; then there is nothing left to signal.
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::SIGINT);
    }
}

/// Starts the process from a thread of its own, which then waits for it. The thread matters: on Linux
/// "die with the parent" means the thread that started it, and threads of a pool come and go.
async fn spawn(mut command: Command) -> Result<Server, StartError> {
    let program = command.get_program().into();
    let (started, start) = oneshot::channel();
    let (end, ended) = watch::channel(None);
    let thread = std::thread::Builder::new().name("postgres".to_owned()).spawn(move || {
        let child = command.spawn();
        // Closes our copies of the log file.
        drop(command);
        match child {
            Err(error) => drop(started.send(Err(error))),
            Ok(mut child) => {
                let _ = started.send(Ok(child.id()));
                let status = child.wait().unwrap_or_default();
                end.send_replace(Some(status));
            }
        }
    });
    let started = match thread {
        Ok(_) => start.await.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())),
        Err(error) => Err(error),
    };
    match started {
        Ok(pid) => Ok(Server { pid: pid.cast_signed(), ended }),
        Err(source) => Err(StartError::Run { program, source }),
    }
}

/// If we are killed, the kernel asks the server for a fast shutdown.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    let parent = nix::unistd::getpid();
    let in_child = move || {
        nix::sys::prctl::set_pdeathsig(Signal::SIGINT)?;
        // We may have died before the line above; then nobody will ever send the signal.
        if nix::unistd::getppid() == parent {
            Ok(())
        } else {
            Err(std::io::ErrorKind::NotFound.into())
        }
    };
    #[expect(
        unsafe_code,
        reason = "the only way to have the kernel end the server with us; the closure makes two system \
                  calls and allocates nothing, as code between fork and exec must. It runs after the \
                  change of user, which would undo it"
    )]
    unsafe {
        command.pre_exec(in_child);
    }
}

/// Elsewhere the server outlives us, and the next start finds it as an orphan.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}

/// The process that `postmaster.pid` names, alive or not.
pub(super) fn recorded_pid(data: &Path) -> Option<i32> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok()
}

/// The server writes its state into the eighth line of `postmaster.pid`.
fn is_ready(data: &Path, pid: i32) -> bool {
    let text = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let mut lines = text.lines().map(str::trim);
    lines.next() == Some(pid.to_string().as_str()) && lines.nth(6) == Some("ready")
}
