//! Settings of monitors as deciding needs them, remembered between batches. A remembered one is used
//! only if its revision is the one read under the monitor's lock, so that an edit through another
//! coordinator is seen at once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::context::Context;
use crate::domain::Millis;
use crate::domain::check::heartbeat::HeartbeatCheck;
use crate::domain::decision::heartbeat::{self, Plan};
use crate::domain::decision::{self, Inputs, Live, Seat, Verdict, explain};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::maintenance::Window;
use crate::domain::monitor::{Interval, Policy, PolicySpec, Timeout};
use crate::store;
use crate::store::live::LiveRow;
use crate::store::triage_read::ConfigRow;

/// At most this many reports, and so monitors, in one transaction.
pub const MAX_PER_TRANSACTION: usize = 1_000;

/// A monitor's settings with every number in place.
#[derive(Debug)]
pub struct Settings {
    pub monitor: MonitorKey,
    revision: i32,
    pub policy: Policy,
    pub check_version: u32,
    /// In configured order.
    pub locations: Vec<LocationKey>,
    /// When its job has to call; none for what is probed.
    pub plan: Option<Plan>,
    /// The settings that the plan is from.
    pub(super) job: Option<serde_json::Value>,
}

/// What `Inputs` borrows from.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) seats: Arc<[Seat]>,
    windows: Vec<Window>,
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    configs: RwLock<HashMap<MonitorKey, Arc<Settings>>>,
    /// Outside ids never change and are never reused.
    keys: RwLock<HashMap<Uuid, MonitorKey>>,
}

impl Settings {
    pub(super) fn given(&self, context: &Context) -> Given {
        Given {
            seats: context.seats(self.monitor, &self.locations),
            windows: context.windows(self.monitor),
        }
    }

    pub(super) fn inputs<'a>(
        &'a self,
        given: &'a Given,
        context: &Context,
        now: Timestamp,
    ) -> Inputs<'a> {
        Inputs {
            policy: &self.policy,
            check_version: self.check_version,
            seats: &given.seats,
            windows: &given.windows,
            over_cap: context.over_cap,
            grace_until: context.grace_until,
            now: now.as_millisecond(),
        }
    }
}

impl Settings {
    /// The verdict at `now`, by votes or by calls.
    pub fn judge(&self, live: &Live, inputs: &Inputs<'_>, now: Millis) -> Verdict {
        match &self.plan {
            Some(plan) => heartbeat::look(live, inputs, plan).1,
            None => decision::judge(live, inputs, now),
        }
    }

    /// The sentence that explains it.
    pub fn sentence(
        &self,
        live: &Live,
        inputs: &Inputs<'_>,
        verdict: &Verdict,
        now: Millis,
    ) -> String {
        match &self.plan {
            Some(plan) => heartbeat::sentence(live, inputs, plan, &explain::utc),
            None => explain::sentence(live, inputs, verdict, now, &explain::utc),
        }
    }
}

impl Cache {
    /// Settings of rows just read under their locks, in a transaction that changes none.
    pub(super) async fn current(
        &self,
        conn: &mut PgConnection,
        rows: &[LiveRow],
    ) -> sqlx::Result<BTreeMap<MonitorKey, Arc<Settings>>> {
        let mut found = BTreeMap::new();
        let mut missing = Vec::new();
        {
            let configs = self.configs.read().unwrap_or_else(PoisonError::into_inner);
            for row in rows {
                match configs.get(&row.monitor) {
                    Some(config) if config.revision == row.config_rev => {
                        found.insert(row.monitor, Arc::clone(config));
                    }
                    _ => missing.push(row.monitor.0),
                }
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let read = store::triage_read::configs(conn, &missing).await?;
        let mut configs = self.configs.write().unwrap_or_else(PoisonError::into_inner);
        for row in read {
            let config = Arc::new(settings(row)?);
            configs.insert(config.monitor, Arc::clone(&config));
            found.insert(config.monitor, config);
        }
        Ok(found)
    }

    /// Settings as last remembered, which may be those before an edit.
    pub(super) fn known(&self, monitor: MonitorKey) -> Option<Arc<Settings>> {
        let configs = self.configs.read().unwrap_or_else(PoisonError::into_inner);
        configs.get(&monitor).cloned()
    }

    /// Settings as an edit left them. They are not remembered, because the edit may yet be given up, and
    /// another one may then take its revision.
    pub(super) async fn edited(
        conn: &mut PgConnection,
        rows: &[LiveRow],
    ) -> sqlx::Result<BTreeMap<MonitorKey, Arc<Settings>>> {
        let monitors: Vec<i32> = rows.iter().map(|row| row.monitor.0).collect();
        let read = store::triage_read::configs(conn, &monitors).await?;
        read.into_iter()
            .map(|row| settings(row).map(|config| (config.monitor, Arc::new(config))))
            .collect()
    }

    /// Inside keys of outside ids; what is absent is unknown or deleted.
    pub(super) async fn keys(
        &self,
        conn: &mut PgConnection,
        uids: impl Iterator<Item = Uuid>,
    ) -> sqlx::Result<HashMap<Uuid, MonitorKey>> {
        let mut found = HashMap::new();
        let mut missing = Vec::new();
        {
            let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
            for uid in uids {
                match keys.get(&uid) {
                    Some(key) => {
                        found.insert(uid, *key);
                    }
                    None => missing.push(uid),
                }
            }
        }
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            let read = store::triage_read::keys(conn, &missing).await?;
            let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            keys.extend(read.iter().copied());
            found.extend(read);
        }
        Ok(found)
    }
}

/// A stored policy was checked when it was saved; one that no longer resolves is our fault, and said so.
pub fn settings(row: ConfigRow) -> sqlx::Result<Settings> {
    let bad = |what: String| {
        sqlx::Error::Decode(format!("settings of monitor {}: {what}", row.monitor.0).into())
    };
    let spec: PolicySpec =
        serde_json::from_value(row.policy.clone()).map_err(|e| bad(e.to_string()))?;
    let interval = u32::try_from(row.interval_s).unwrap_or_default();
    let interval = Interval::from_secs(interval).map_err(|e| bad(e.to_string()))?;
    let timeout =
        Timeout::from_secs(f64::from(row.timeout_ms) / 1000.0).map_err(|e| bad(e.to_string()))?;
    let slow = row.slow_ms.and_then(|ms| u32::try_from(ms).ok());
    let policy = spec
        .resolve(interval, timeout, slow, row.locations.len())
        .map_err(|e| bad(e.to_string()))?;
    let plan = match row.heartbeat.as_ref().and_then(HeartbeatCheck::of) {
        Some(check) => Some(check.and_then(|c| c.plan()).map_err(|e| bad(e.to_string()))?),
        None => None,
    };
    Ok(Settings {
        monitor: row.monitor,
        revision: row.config_rev,
        policy,
        check_version: u32::try_from(row.check_version).unwrap_or_default(),
        locations: row.locations.iter().map(|l| LocationKey(*l)).collect(),
        plan,
        job: row.heartbeat,
    })
}
