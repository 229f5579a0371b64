//! A coordinator as a process of its own, which can be killed.

use std::{path::Path, process::Stdio};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use super::{db::TestDb, delivery::KEY};

pub(crate) struct CoordinatorProcess {
    /// What the database calls its connections: the setting `drill.name`.
    pub(crate) name: &'static str,
    /// Ends in a slash.
    pub(crate) url: String,
    process: Child,
}

impl CoordinatorProcess {
    /// Starts one on a port of its own, which believes `extra_ca` (PEM) too; it serves when this returns.
    /// Its log goes to the test's output.
    #[expect(clippy::print_stderr, reason = "a failed test shows what the coordinators said")]
    pub(crate) async fn start(db: &TestDb, name: &'static str, extra_ca: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("QUORATE_")) {
            command.env_remove(name);
        }
        let mut process = command
            .args(["coordinator", "--listen", "127.0.0.1:0", "--allow-net", "127.0.0.0/8"])
            .args(["--database-connections", "12", "--log", "info", "--log-json", "--extra-ca"])
            .arg(extra_ca)
            .env("QUORATE_DATABASE_URL", format!("{}&options[drill.name]={name}", db.url()))
            .env("QUORATE_SECRET_KEY", KEY)
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = loop {
            let line = said.next_line().await.unwrap();
            let line = line.unwrap_or_else(|| panic!("coordinator {name} did not start"));
            eprintln!("{name}: {line}");
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            if line["message"] == "serving" {
                break line["url"].as_str().unwrap().to_owned();
            }
        };
        tokio::spawn(async move {
            while let Ok(Some(line)) = said.next_line().await {
                eprintln!("{name}: {line}");
            }
        });
        Self { name, url, process }
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }
}
