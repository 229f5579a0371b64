//! The simulated locations and their agents' keys.

use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use sqlx::{Connection, PgConnection};

use super::{DEFAULT_LOCATIONS, data, id, random};
use crate::{
    config::{LocationSpec, Secret},
    store::{local, wake},
};

/// One agent to be run in this process.
#[derive(Debug)]
pub(super) struct Local {
    pub(super) name: String,
    pub(super) key: Secret<String>,
    /// For its spool.
    pub(super) dir: PathBuf,
}

/// Makes the locations that were asked for, the usual ones at the very first start, and gives each one
/// that is switched on an agent. Keys are kept in the data folder and found there again.
pub(super) async fn prepare(
    connection: &mut PgConnection,
    asked: &[LocationSpec],
    dir: &Path,
    known_since: Option<Timestamp>,
    now: Timestamp,
) -> anyhow::Result<Vec<Local>> {
    let mut specs = asked.to_vec();
    if specs.is_empty() && known_since.is_none() {
        let usual = DEFAULT_LOCATIONS.iter().map(|name| name.parse());
        specs = usual.collect::<Result<_, String>>().map_err(anyhow::Error::msg)?;
    }
    let mut transaction = connection.begin().await?;
    for LocationSpec { name, region, domain } in &specs {
        local::simulate(&mut transaction, id(now), name, region, domain, now).await?;
    }
    let mut agents = Vec::new();
    let mut changed = Vec::new();
    for row in local::simulated(&mut transaction).await? {
        let folder = dir.join("agents").join(&row.name);
        data::make_dir(&folder)?;
        let file = folder.join("agent.token");
        let kept = data::read(&file)?;
        let key = match kept {
            Some(key) if local::is_agent_key(&mut transaction, row.key, &key).await? => key,
            _ => {
                let key = local::enrol(&mut transaction, row.key, id(now), random(), now).await?;
                changed.push(wake::Change::Location(row.key));
                data::write(&file, key.expose())?;
                key.into_exposed()
            }
        };
        agents.push(Local { name: row.name, key: Secret::new(key), dir: folder });
    }
    wake::change(&mut transaction, &changed, now).await?;
    transaction.commit().await.context("cannot store the locations")?;
    Ok(agents)
}
