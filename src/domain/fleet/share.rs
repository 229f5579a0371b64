//! How instances stand beside their peers, as people read it: what the peers' shares on the same routes
//! would give, and the peers' latency. Whoever is unlike the others says nothing of how the others should
//! be, so peers are those of the judge ([`peers_of`]) without whom a finding blames.

use std::collections::BTreeMap;

use super::{cell::Cell, engine::peers_of};
use crate::domain::sketch::Sketch;

/// Routes on which the peers have fewer attempts say nothing.
const ENOUGH: u64 = 50;
/// What the judge adds to the bad attempts of the peers on a route, and twice that to all of them.
const PRIOR: f64 = 0.5;

/// The instances of a pool over some span.
#[derive(Debug, Clone, Default)]
pub struct Beside<'a> {
    rows: Vec<Row<'a>>,
    /// Attempts and bad ones, by row.
    counts: Vec<(u64, u64)>,
}

/// One instance.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub name: &'a str,
    /// Attempts and bad ones by route class.
    pub routes: BTreeMap<&'a str, (u64, u64)>,
    /// A finding sets it apart from its peers.
    pub blamed: bool,
}

impl<'a> Beside<'a> {
    pub fn new(rows: Vec<Row<'a>>) -> Self {
        let sum = |row: &Row<'_>| row.routes.values().fold((0, 0), |sum, of| plus(sum, *of));
        let counts = rows.iter().map(sum).collect();
        Self { rows, counts }
    }

    /// Cells by instance and route class.
    pub fn of_cells(
        cells: &'a BTreeMap<String, BTreeMap<String, Cell>>,
        blamed: impl Fn(&str) -> bool,
    ) -> Self {
        let routes = |of: &'a BTreeMap<String, Cell>| {
            of.iter().map(|(r, cell)| (r.as_str(), (cell.attempts, cell.errors()))).collect()
        };
        let row = |(name, of): (&'a String, &'a BTreeMap<String, Cell>)| Row {
            name,
            routes: routes(of),
            blamed: blamed(name),
        };
        Self::new(cells.iter().map(row).collect())
    }

    /// What is to be expected of an instance: its peers' shares of bad attempts, route by route, as the
    /// judge takes them, over the mix of routes that it has. None where no route says enough.
    pub fn expected(&self, name: &str) -> Option<f64> {
        self.of_peers(name, PRIOR)
    }

    /// The same as it was seen, with nothing added: where the peers had no bad attempt it is 0.
    pub fn seen(&self, name: &str) -> Option<f64> {
        self.of_peers(name, 0.0)
    }

    fn of_peers(&self, name: &str, prior: f64) -> Option<f64> {
        let own = self.rows.iter().position(|row| row.name == name)?;
        let blamed: Vec<bool> = self.rows.iter().map(|row| row.blamed).collect();
        let peers = sound_peers(own, &self.counts, &blamed);
        let (mut weight, mut sum) = (0.0, 0.0);
        for (route, (attempts, _)) in &self.rows[own].routes {
            let theirs = peers.iter().filter_map(|peer| self.rows[*peer].routes.get(route));
            let (all, bad) = theirs.fold((0, 0), |sum, of| plus(sum, *of));
            if all < ENOUGH || *attempts == 0 {
                continue;
            }
            weight += *attempts as f64;
            sum += *attempts as f64 * (bad as f64 + prior) / (all as f64 + 2.0 * prior);
        }
        (weight > 0.0).then(|| sum / weight)
    }
}

/// The p90 of an instance's peers in µs, all routes together; who is much slower than the rest is no peer.
/// `latencies`: every instance's.
pub fn p90_of_peers(
    name: &str,
    latencies: &BTreeMap<&str, Sketch>,
    blamed: impl Fn(&str) -> bool,
) -> Option<u32> {
    let own = latencies.keys().position(|other| *other == name);
    let mut p90s: Vec<u32> = latencies.values().filter_map(|of| of.quantile(0.9)).collect();
    p90s.sort_unstable();
    // Slow is half as much again as the p90 of the instance in the middle: what the judge names somebody for.
    let limit = *p90s.get(p90s.len().checked_sub(1)? / 2)?;
    let limit = limit.saturating_add(limit / 2);
    let counts: Vec<(u64, u64)> =
        latencies.values().map(|of| (of.count(), of.over(limit))).collect();
    let blamed: Vec<bool> = latencies.keys().map(|name| blamed(name)).collect();
    let peers = sound_peers(own.unwrap_or(usize::MAX), &counts, &blamed);
    let mut all = Sketch::default();
    for (_, of) in latencies.values().enumerate().filter(|(at, _)| peers.contains(at)) {
        all.merge(of);
    }
    all.quantile(0.9)
}

/// The rows that row `own` is compared with. Where a finding blames all the others, the judge's rule alone
/// says who they are.
fn sound_peers(own: usize, counts: &[(u64, u64)], blamed: &[bool]) -> Vec<usize> {
    let sound: Vec<bool> = blamed.iter().map(|blamed| !blamed).collect();
    let peers = peers_of(own, counts, &sound);
    if peers.is_empty() { peers_of(own, counts, &vec![true; counts.len()]) } else { peers }
}

fn plus(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(attempts: u64, bad: u64) -> Cell {
        let mut cell = Cell { attempts, ..Cell::default() };
        cell.faults.status = bad;
        cell
    }

    /// Instances on one route.
    fn pool(of: &[(&str, u64, u64)]) -> BTreeMap<String, BTreeMap<String, Cell>> {
        let one = |(name, attempts, bad): &(&str, u64, u64)| {
            ((*name).to_owned(), BTreeMap::from([("/".to_owned(), cell(*attempts, *bad))]))
        };
        of.iter().map(one).collect()
    }

    #[test]
    fn peers_are_read_with_ones_own_mix_of_routes() {
        let routes =
            |home, cart| BTreeMap::from([("/".to_owned(), home), ("/cart".to_owned(), cart)]);
        let cells = BTreeMap::from([
            ("a".to_owned(), routes(cell(400, 0), cell(600, 120))),
            ("b".to_owned(), routes(cell(800, 0), cell(200, 40))),
        ]);
        let beside = Beside::of_cells(&cells, |_| false);
        let of_a = beside.expected("a").unwrap();
        assert!((0.11..0.13).contains(&of_a), "{of_a}: 60 % of a route that fails 20 % everywhere");
        assert!((beside.seen("a").unwrap() - 0.12).abs() < 1e-9);
        assert_eq!(beside.expected("c"), None);
    }

    #[test]
    fn one_bad_of_five_says_nothing_of_the_sound_ones() {
        let cells = pool(&[
            ("a", 2_400, 480),
            ("b", 2_400, 9),
            ("c", 2_400, 12),
            ("d", 2_400, 6),
            ("e", 2_400, 9),
        ]);
        // With a finding and without one: the judge leaves it out by its share alone.
        for blame in [true, false] {
            let beside = Beside::of_cells(&cells, |name| blame && name == "a");
            for name in ["a", "b", "c", "d", "e"] {
                let share = beside.expected(name).unwrap();
                assert!((0.003..0.005).contains(&share), "{name}, blamed {blame}: {share}");
            }
            assert!((beside.seen("b").unwrap() - 27.0 / 7_200.0).abs() < 1e-9);
        }
    }

    #[test]
    fn who_is_blamed_is_no_peer_even_when_most_of_its_attempts_went_well() {
        // Bad for a minute of an hour: over the whole hour its share is like the others'.
        let cells = pool(&[("a", 1_000, 12), ("b", 1_000, 4), ("c", 1_000, 4)]);
        let of_b = |blame: &str| Beside::of_cells(&cells, |name| blame.contains(name)).seen("b");
        assert!((of_b("").unwrap() - 0.008).abs() < 1e-9);
        assert!((of_b("a").unwrap() - 0.004).abs() < 1e-9);
        // With everybody blamed there is nobody sound to be compared with, and the share alone decides.
        assert!((of_b("abc").unwrap() - 0.008).abs() < 1e-9);
        let cells = pool(&[("a", 1_000, 0), ("b", 1_000, 0), ("c", 30, 0)]);
        let beside = Beside::of_cells(&cells, |name| name == "a");
        assert_eq!(beside.seen("b"), None, "30 attempts say nothing");
    }

    #[test]
    fn the_peers_latency_is_without_the_slow_one() {
        let sketch = |us: u32| {
            let mut sketch = Sketch::default();
            (0..100).for_each(|n| sketch.add(us + n));
            sketch
        };
        let all: BTreeMap<&str, Sketch> =
            [("a", 900_000), ("b", 100_000), ("c", 110_000), ("d", 120_000)]
                .into_iter()
                .map(|(name, us)| (name, sketch(us)))
                .collect();
        for blame in [true, false] {
            let of = |name| p90_of_peers(name, &all, |other| blame && other == "a").unwrap();
            assert!(of("b") < 130_000, "{}", of("b"));
            assert!(of("a") < 130_000, "{}", of("a"));
        }
        // Whoever has no attempts stands beside all of them.
        assert!(p90_of_peers("x", &all, |_| false).unwrap() < 130_000);
        assert_eq!(p90_of_peers("x", &BTreeMap::new(), |_| false), None);
    }
}
