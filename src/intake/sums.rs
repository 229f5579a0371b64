//! Stored shares and sums put together again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::PgConnection;

use super::names::InstanceNames;
use crate::{
    domain::{
        fleet::cell::{Cell, PoolCell},
        ids::FleetKey,
    },
    store::{
        self,
        fleet_cells::{CellRow, JUDGED, PoolRow, REVISED},
    },
};

/// One stretch of time of one fleet, all pools together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sum {
    pub pool: PoolCell,
    /// By instance and route class; without routes where only quarter hours are left.
    pub cells: BTreeMap<String, BTreeMap<String, Cell>>,
    /// It was judged, and lines came after that.
    pub judged: bool,
    pub revised: bool,
}

/// Adds rows up in steps of `step_s` seconds, by the beginning of each step.
pub fn add_up(
    cells: Vec<CellRow>,
    pools: Vec<PoolRow>,
    step_s: i64,
    names: &InstanceNames,
) -> BTreeMap<Timestamp, Sum> {
    let mut sums: BTreeMap<Timestamp, Sum> = BTreeMap::new();
    let mut stages: BTreeMap<Timestamp, (bool, bool, bool)> = BTreeMap::new();
    let mut note = |at: Timestamp, stage: i16| {
        let seen = stages.entry(at).or_default();
        seen.0 |= stage == JUDGED;
        seen.1 |= stage == REVISED;
        seen.2 |= stage != JUDGED && stage != REVISED;
    };
    for row in cells {
        note(row.at, row.stage);
        let sum = sums.entry(begin(row.at, step_s)).or_default();
        let routes = sum.cells.entry(names.resolve(&row.instance).to_owned()).or_default();
        routes.entry(row.route).or_default().merge(&row.cell);
    }
    for row in pools {
        note(row.at, row.stage);
        sums.entry(begin(row.at, step_s)).or_default().pool.merge(&row.cell);
    }
    // A share beside the sum of a judged window came late. A step is judged when all its windows are.
    let mut unjudged: BTreeMap<Timestamp, bool> = BTreeMap::new();
    for (at, (judged, revised, share)) in stages {
        let step = begin(at, step_s);
        *unjudged.entry(step).or_default() |= !judged && !revised;
        if let Some(sum) = sums.get_mut(&step) {
            sum.revised |= revised || (judged && share);
        }
    }
    for (at, waits) in unjudged {
        if let Some(sum) = sums.get_mut(&at) {
            sum.judged = !waits;
        }
    }
    sums
}

/// Everything of [from, to), from quarter hours and windows alike: they never hold the same lines.
pub async fn read(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
    step_s: i64,
    names: &InstanceNames,
) -> sqlx::Result<BTreeMap<Timestamp, Sum>> {
    let mut cells = store::fleet_cells::cells(conn, fleet, from, to).await?;
    let mut pools = store::fleet_cells::pools(conn, fleet, from, to).await?;
    cells.extend(store::fleet_quarters::quarters(conn, fleet, from, to).await?);
    pools.extend(store::fleet_quarters::pool_quarters(conn, fleet, from, to).await?);
    Ok(add_up(cells, pools, step_s, names))
}

/// Beginning of the step of `step_s` seconds that holds an instant.
pub fn begin(at: Timestamp, step_s: i64) -> Timestamp {
    let second = at.as_microsecond().div_euclid(1_000_000);
    let step = step_s.max(1);
    Timestamp::from_second(second.div_euclid(step) * step).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_beside_a_judged_sum_makes_it_revised() {
        let row = |minute: i64, stage| PoolRow {
            at: Timestamp::from_second(minute * 60).unwrap(),
            stage,
            pool: String::new(),
            cell: PoolCell { requests: 1, ..PoolCell::default() },
            marks: None,
        };
        let rows = vec![row(0, 1), row(1, 1), row(1, 0), row(2, 0), row(3, 2)];
        let sums = add_up(Vec::new(), rows, 60, &InstanceNames::default());
        let seen: Vec<_> = sums.values().map(|s| (s.pool.requests, s.judged, s.revised)).collect();
        assert_eq!(seen, [(1, true, false), (2, true, true), (1, false, false), (1, true, true)]);
        let rows = vec![row(0, 1), row(1, 0)];
        let sums = add_up(Vec::new(), rows, 900, &InstanceNames::default());
        assert_eq!(sums.values().next().map(|s| (s.pool.requests, s.judged)), Some((2, false)));
    }
}
