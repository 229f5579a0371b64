//! A coordinator of this same program, for measurements through HTTP.

use std::process::Stdio;

use anyhow::Context;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::up::postgres::Postgres;

/// Starts one on a database, held to a core if one is named; answers where it serves.
pub(super) async fn coordinator(
    postgres: &Postgres,
    database: &str,
    core: Option<u32>,
) -> anyhow::Result<(Child, String)> {
    let program = std::env::current_exe().context("this program's own path")?;
    let mut command = match core {
        None => Command::new(program),
        Some(core) => {
            let mut held = Command::new("taskset");
            held.args(["-c", &core.to_string()]).arg(program);
            held
        }
    };
    let mut process = command
        .args(["coordinator", "--listen", "127.0.0.1:0", "--log", "info", "--log-json"])
        .env("QUORATE_DATABASE_URL", postgres.url(database))
        .env("QUORATE_SECRET_KEY", "ab".repeat(32))
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("the coordinator")?;
    let said = process.stderr.take().context("the coordinator's log")?;
    let mut said = BufReader::new(said).lines();
    while let Some(line) = said.next_line().await? {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if line["message"] == "serving"
            && let Some(url) = line["url"].as_str()
        {
            let url = url.to_owned();
            tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
            return Ok((process, url));
        }
    }
    anyhow::bail!("the coordinator ended before it served")
}
