//! Shares of bad outcomes as people read them: with an interval, and beside what the peers' shares on
//! the same routes would give.

use std::collections::BTreeMap;

use super::cell::Cell;

/// How sure an interval is: 99 %.
const Z: f64 = 2.575_829_303_548_901;
/// Routes on which the peers have fewer attempts say nothing.
const ENOUGH: u64 = 50;

/// Wilson's interval of 99 % for `bad` of `all`; none without any.
pub fn interval(bad: u64, all: u64) -> Option<(f64, f64)> {
    if all == 0 {
        return None;
    }
    let (n, p) = (all as f64, bad as f64 / all as f64);
    let z2 = Z * Z;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

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
    fn the_interval_holds_the_share_and_narrows() {
        assert_eq!(interval(0, 0), None);
        let (low, high) = interval(41, 212).unwrap();
        assert!(low < 41.0 / 212.0 && 41.0 / 212.0 < high);
        assert!((0.133..0.135).contains(&low) && (0.271..0.274).contains(&high), "{low} {high}");
        let (zero, some) = interval(0, 60).unwrap();
        assert!(zero == 0.0 && (0.09..0.11).contains(&some), "{some}");
    }

    #[test]
    fn peers_are_read_with_ones_own_mix_of_routes() {
        let cell = |attempts, bad| {
            let mut cell = Cell { attempts, ..Cell::default() };
            cell.faults.status = bad;
            cell
        };
        let routes = |home, cart| {
            BTreeMap::from([("/".to_owned(), home), ("/cart".to_owned(), cart)])
        };
        let cells = BTreeMap::from([
            ("a".to_owned(), routes(cell(400, 0), cell(600, 120))),
            ("b".to_owned(), routes(cell(800, 0), cell(200, 40))),
        ]);
        let of_a = of_peers("a", &cells).unwrap();
        assert!((0.11..0.13).contains(&of_a), "{of_a}: 60 % of a route that fails 20 % everywhere");
        assert_eq!(of_peers("c", &cells), None);
    }
}
