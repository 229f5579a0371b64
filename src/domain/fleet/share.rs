//! Shares of bad outcomes as people read them: beside what the peers' shares on the same routes would
//! give.

use std::collections::BTreeMap;

use super::cell::Cell;

/// Routes on which the peers have fewer attempts say nothing.
const ENOUGH: u64 = 50;

/// What the others' shares, route by route, would give with the mix of routes that `name` has. None
/// when no route says enough.
pub fn of_peers(name: &str, cells: &BTreeMap<String, BTreeMap<String, Cell>>) -> Option<f64> {
    let mine = cells.get(name)?;
    let (mut weight, mut sum) = (0.0, 0.0);
    for (route, cell) in mine {
        let others = cells.iter().filter(|(other, _)| *other != name);
        let (all, bad) = others
            .filter_map(|(_, routes)| routes.get(route))
            .fold((0, 0), |(all, bad), cell| (all + cell.attempts, bad + cell.errors()));
        if all < ENOUGH || cell.attempts == 0 {
            continue;
        }
        weight += cell.attempts as f64;
        sum += cell.attempts as f64 * (bad as f64 + 0.5) / (all as f64 + 1.0);
    }
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_with_ones_own_mix_of_routes() {
        let cell = |attempts, bad| {
            let mut cell = Cell { attempts, ..Cell::default() };
            cell.faults.status = bad;
            cell
        };
        let routes =
            |home, cart| BTreeMap::from([("/".to_owned(), home), ("/cart".to_owned(), cart)]);
        let cells = BTreeMap::from([
            ("a".to_owned(), routes(cell(400, 0), cell(600, 120))),
            ("b".to_owned(), routes(cell(800, 0), cell(200, 40))),
        ]);
        let of_a = of_peers("a", &cells).unwrap();
        assert!((0.11..0.13).contains(&of_a), "{of_a}: 60 % of a route that fails 20 % everywhere");
        assert_eq!(of_peers("c", &cells), None);
    }
}
