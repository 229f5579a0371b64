//! The sums of everything that was read.

use std::collections::BTreeMap;

use crate::domain::fleet::{
    cell::{Cell, PoolCell, Window},
    share::{Beside, Row},
};

/// Sums of one pool.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) pool: PoolCell,
    pub(super) instances: BTreeMap<String, Total>,
    /// Stretches in which there were lines, in windows: from and before.
    pub(super) heard: Vec<(i64, i64)>,
}

/// Sums of one instance.
#[derive(Debug, Default)]
pub(super) struct Total {
    pub(super) cell: Cell,
    /// Attempts and bad ones by route class.
    routes: BTreeMap<String, (u64, u64)>,
}

impl Totals {
    pub(super) fn add(&mut self, window: &Window) {
        self.pool.merge(&window.pool);
        for (name, routes) in &window.cells {
            if !self.instances.contains_key(name) {
                self.instances.insert(name.clone(), Total::default());
            }
            let Some(total) = self.instances.get_mut(name) else { continue };
            for (route, cell) in routes {
                total.cell.merge(cell);
                match total.routes.get_mut(route) {
                    Some((attempts, errors)) => {
                        *attempts += cell.attempts;
                        *errors += cell.errors();
                    }
                    None => {
                        total.routes.insert(route.clone(), (cell.attempts, cell.errors()));
                    }
                }
            }
        }
    }

    /// Something was heard in this window. Windows come in order.
    pub(super) fn hear(&mut self, index: i64) {
        match self.heard.last_mut() {
            Some((_, end)) if *end >= index => *end = index + 1,
            _ => self.heard.push((index, index + 1)),
        }
    }

    /// Attempts of all instances.
    pub(super) fn attempts(&self) -> u64 {
        self.instances.values().map(|total| total.cell.attempts).sum()
    }

    /// The instances beside one another; `blamed`: whom a finding sets apart from its peers.
    pub(super) fn beside(&self, blamed: impl Fn(&str) -> bool) -> Beside<'_> {
        let rows = self.instances.iter().map(|(name, total)| Row {
            name,
            routes: total.routes.iter().map(|(route, counts)| (route.as_str(), *counts)).collect(),
            blamed: blamed(name),
        });
        Beside::new(rows.collect())
    }
}
