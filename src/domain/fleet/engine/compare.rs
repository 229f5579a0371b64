//! One row beside its peers, route class by route class (settled rules 1 and 2).

use super::grid::Counts;

/// One row beside others in the route classes that can be compared.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub own: (u64, u64),
    pub peers: (u64, u64),
    /// The peers' share over the row's own mix of routes.
    pub mean: f64,
    /// Σ (n_j / N)² over the peers: 1/k when all have as many attempts.
    pub concentration: f64,
    pub slots: Vec<usize>,
}

/// Adds up one row and its peers over the route classes, or the one, of which the peers have enough.
pub(super) fn compare(
    counts: &Counts,
    i: usize,
    peers: &[usize],
    only: Option<usize>,
    fewest: u64,
) -> Compared {
    let mut compared = Compared::default();
    let mut by_peer = vec![0; peers.len()];
    let mut expected = 0.0;
    for slot in 0..counts.width() {
        let (n, e) = counts.at(i, slot);
        if n == 0 || only.is_some_and(|only| only != slot) {
            continue;
        }
        let theirs = peers.iter().map(|j| counts.at(*j, slot));
        let (peers_n, peers_e) = theirs.fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e));
        if peers_n < fewest {
            continue;
        }
        for (sum, j) in by_peer.iter_mut().zip(peers) {
            *sum += counts.at(*j, slot).0;
        }
        compared.own = (compared.own.0 + n, compared.own.1 + e);
        compared.peers = (compared.peers.0 + peers_n, compared.peers.1 + peers_e);
        expected += n as f64 * (peers_e as f64 + 0.5) / (peers_n as f64 + 1.0);
        compared.slots.push(slot);
    }
    let all = compared.peers.0.max(1) as f64;
    compared.mean = expected / compared.own.0.max(1) as f64;
    compared.concentration = by_peer.iter().map(|n| (*n as f64 / all).powi(2)).sum();
    compared
}
