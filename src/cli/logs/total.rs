//! The sums of everything that was read, and how an instance stands beside its peers.

use std::collections::BTreeMap;

use crate::domain::fleet::cell::{Cell, PoolCell, Window};

/// A route where the peers have fewer attempts says nothing of what is usual there.
const ENOUGH_ON_ROUTE: u64 = 50;

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

    /// The share of attempts that would have failed on an instance, had they gone to its peers: on the
    /// same routes, of those where the peers have enough. None without peers.
    pub(super) fn peers_share(&self, instance: &str) -> Option<f64> {
        let own = self.instances.get(instance)?;
        let (mut weighted, mut attempts) = (0.0, 0);
        for (route, (n, _)) in &own.routes {
            let others = self.instances.iter().filter(|(name, _)| *name != instance);
            let on_route = others.filter_map(|(_, total)| total.routes.get(route));
            let (peers_n, peers_bad) =
                on_route.fold((0, 0), |(n, bad), (more, worse)| (n + more, bad + worse));
            if peers_n >= ENOUGH_ON_ROUTE {
                weighted += *n as f64 * peers_bad as f64 / peers_n as f64;
                attempts += n;
            }
        }
        (attempts > 0).then(|| weighted / attempts as f64)
    }
}
