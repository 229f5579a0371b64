//! A program on a host of the bed, its log in a file.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use tokio::process::Child;

use super::net::Net;

pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts `quorate` with nothing of our environment but these variables.
    pub(crate) fn start(
        net: &Net,
        host: &str,
        args: &[String],
        variables: &[(&str, String)],
        log: &Path,
    ) -> Self {
        let file = File::options().create(true).append(true).open(log).unwrap();
        let mut command = net.command(host, env!("CARGO_BIN_EXE_quorate"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("QUORATE_")) {
            command.env_remove(name);
        }
        command
            .args(args)
            .envs(variables.iter().map(|(name, value)| (*name, value)))
            .stdin(std::process::Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file);
        Self { child: command.spawn().unwrap() }
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

/// An empty folder for the logs of one drill, where they can be read afterwards.
pub(crate) fn log_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bed-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
