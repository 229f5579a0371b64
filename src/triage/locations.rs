//! Which locations each monitor is looked at from, by its rule. Whatever changes the set of locations, or
//! their labels, comes through here.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use sqlx::PgConnection;

use super::Triage;
use crate::domain::fields::text_map;
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::monitor::LocationSelector;
use crate::domain::selector::Candidate;
use crate::store::{self, locations::LocationRow, wake::Change};

/// So many monitors are looked at in one go.
const CHUNK: i64 = 1_000;

/// Why monitors cannot follow.
#[derive(Debug, thiserror::Error)]
pub enum Unfollowed {
    #[error("The monitor {0} looks from nowhere else; give it another location first.")]
    NowhereElse(String),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Locations as a rule chooses among them.
pub fn candidates(rows: &[LocationRow]) -> Vec<Candidate> {
    rows.iter()
        .map(|row| Candidate {
            key: row.key,
            id: row.uid.to_string(),
            name: row.name.clone(),
            labels: text_map(&row.labels),
            enabled: row.enabled,
        })
        .collect()
}

impl Triage {
    /// Makes every monitor look from where its rule says, in the caller's transaction, which holds the
    /// set of locations; without `gone`, which is about to be deleted. Refuses to leave a monitor with
    /// none.
    pub async fn follow_locations(
        &self,
        conn: &mut PgConnection,
        gone: Option<LocationKey>,
        now: Timestamp,
    ) -> Result<(), Unfollowed> {
        let locations = store::locations::list(conn).await?;
        let candidates: Vec<Candidate> =
            candidates(&locations).into_iter().filter(|c| Some(c.key) != gone).collect();
        let mut after = 0;
        let mut changed: BTreeMap<MonitorKey, Vec<LocationKey>> = BTreeMap::new();
        let mut enabled = HashSet::new();
        loop {
            let rows = store::monitors::selecting(conn, after, CHUNK).await?;
            let Some(last) = rows.last() else { break };
            after = last.key.0;
            for row in &rows {
                // It was checked when it was saved.
                let rule = LocationSelector::parse(row.locations.clone()).map_err(|invalid| {
                    sqlx::Error::Decode(format!("a stored rule of locations: {invalid}").into())
                })?;
                let chosen = rule.choose(&candidates);
                if chosen.iter().map(|l| l.0).eq(row.looks_from.iter().copied()) {
                    continue;
                }
                if chosen.is_empty()
                    && gone.is_some_and(|gone| row.looks_from == [gone.0])
                    && locations.len() > 1
                {
                    return Err(Unfollowed::NowhereElse(row.name.clone()));
                }
                changed.insert(row.key, chosen);
            }
            enabled.extend(rows.iter().filter(|row| row.enabled).map(|row| row.key));
        }
        Ok(self.move_all(conn, changed, &enabled, now).await?)
    }

    async fn move_all(
        &self,
        conn: &mut PgConnection,
        changed: BTreeMap<MonitorKey, Vec<LocationKey>>,
        enabled: &HashSet<MonitorKey>,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if changed.is_empty() {
            return Ok(());
        }
        // All locks before the first change is told: telling takes the head of the assignments, the last. That of
        // storms comes before the head, and any of these monitors may call for it after another took the head.
        let keys: Vec<i32> = changed.keys().map(|key| key.0).collect();
        store::live::lock(conn, &keys).await?;
        store::storms::lock(conn).await?;
        let (mut of, mut location, mut position) = (Vec::new(), Vec::new(), Vec::new());
        for (key, chosen) in &changed {
            for (i, chosen) in chosen.iter().enumerate() {
                of.push(key.0);
                location.push(chosen.0);
                position.push(i16::try_from(i).unwrap_or(i16::MAX));
            }
        }
        store::monitors::set_locations(conn, &keys, &of, &location, &position).await?;
        store::plans::note(conn, &keys, now).await?;
        for key in keys.iter().map(|key| MonitorKey(*key)).filter(|key| enabled.contains(key)) {
            self.edited(conn, key, now).await?;
        }
        let changes: Vec<Change> =
            keys.iter().map(|key| Change::Monitor(MonitorKey(*key))).collect();
        store::wake::change(conn, &changes, now).await?;
        Ok(())
    }
}
