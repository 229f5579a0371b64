//! What a killed predecessor may have left: a server without a parent, sessions without a server,
//! and lock files that name processes which are gone or are somebody else by now.
//!
//! We hold the folder's lock when this runs, so whatever still works on the data is an orphan.

use std::{fs, path::Path, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{StartError, cluster::Cluster, server};

/// Ends every process that works on the cluster, first politely, and removes its lock files. After
/// this nothing stands in the way of a start.
pub(super) async fn clear(cluster: &Cluster) -> Result<(), StartError> {
    // A server that is asked to stop ends its sessions itself. If it is gone, they notice and end too.
    let server = server::recorded_pid(&cluster.data);
    let stages = [
        (Signal::SIGINT, Duration::from_secs(20)),
        (Signal::SIGQUIT, Duration::from_secs(5)),
        (Signal::SIGKILL, Duration::from_secs(5)),
    ];
    for (signal, patience) in stages {
        let left = processes_in(&cluster.data);
        let server_lives = server.is_some_and(|pid| left.contains(&pid));
        for pid in left.iter().copied().filter(|pid| !server_lives || Some(*pid) == server) {
            // SIGINT to a session only cancels its statement, which is as well.
            let _ = kill(Pid::from_raw(pid), signal);
        }
        if !left.is_empty() {
            tracing::warn!(processes = ?left, %signal, "stopping a database server without a parent");
            wait_until_gone(&cluster.data, patience).await;
        }
    }
    if let Some(pid) = processes_in(&cluster.data).first() {
        return Err(StartError::Stuck { data: cluster.data.clone(), pid: *pid });
    }
    // Nobody works on the data, so these are stale, whatever the process they name is today. The
    // server itself would refuse to start if that number was in use again, or was a zombie that an
    // init without manners never reaped.
    let stale = [
        cluster.data.join("postmaster.pid"),
        cluster.socket_dir.join(".s.PGSQL.5432"),
        cluster.socket_dir.join(".s.PGSQL.5432.lock"),
    ];
    for path in stale {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(super::cluster::files("cannot remove", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

async fn wait_until_gone(data: &Path, patience: Duration) {
    let gone = async {
        while !processes_in(data).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // Running out of patience is an answer too: the caller looks again.
    let _ = tokio::time::timeout(patience, gone).await;
}

/// The server and its sessions: all of them have the data folder as working folder. Zombies have none.
#[cfg(target_os = "linux")]
fn processes_in(data: &Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == data))
        .filter(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name.trim() == "postgres")
        })
        .collect()
}

/// Without /proc only the server can be told from its command line; its sessions end with it.
#[cfg(not(target_os = "linux"))]
fn processes_in(data: &Path) -> Vec<i32> {
    let output = std::process::Command::new("ps").args(["-axo", "pid=,command="]).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    let data = data.to_string_lossy();
    String::from_utf8_lossy(&output)
        .lines()
        .filter_map(|line| line.trim_start().split_once(' '))
        .filter(|(_, command)| command.contains("postgres") && command.contains(&*data))
        .filter_map(|(pid, _)| pid.parse().ok())
        .collect()
}
