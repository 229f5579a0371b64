//! Who an instance is compared with (settled rule 5).

use super::grid::{ENOUGH, share};

/// The others with enough data, less those that are unlike the rest themselves: a share above three times
/// the median of the others and a percentage point more. The largest shares go first, at most half of
/// the others. `counts`: (attempts, bad) by row; `usable`: who may be a peer at all.
pub(in crate::domain::fleet) fn peers_of(
    i: usize,
    counts: &[(u64, u64)],
    usable: &[bool],
) -> Vec<usize> {
    let mut others: Vec<(f64, usize)> = (0..counts.len())
        .filter(|j| *j != i && usable[*j] && counts[*j].0 >= ENOUGH)
        .map(|j| (share(counts[j]), j))
        .collect();
    others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let limit = 3.0 * median(&others) + 0.01;
    let most = others.len() / 2;
    let unlike = others.iter().rev().take(most).take_while(|(share, _)| *share > limit).count();
    others.truncate(others.len() - unlike);
    let mut peers: Vec<usize> = others.into_iter().map(|(_, j)| j).collect();
    peers.sort_unstable();
    peers
}

fn median(sorted: &[(f64, usize)]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2].0,
        n => (sorted[n / 2 - 1].0 + sorted[n / 2].0) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_unlike_the_rest_is_no_peer() {
        let usable = [true; 6];
        // 4 has ten times the others' share, 5 too few attempts.
        let counts = [(100, 1), (100, 1), (100, 0), (100, 2), (100, 30), (19, 0)];
        assert_eq!(peers_of(0, &counts, &usable), [1, 2, 3]);
        assert_eq!(peers_of(4, &counts, &usable), [0, 1, 2, 3]);
        assert_eq!(peers_of(0, &counts, &[true, true, false, true, true, true]), [1, 3]);
    }

    #[test]
    fn at_most_half_of_the_others_are_left_out_the_largest_shares_first() {
        let usable = [true; 5];
        let counts = [(100, 0), (100, 0), (100, 0), (100, 20), (100, 40)];
        assert_eq!(peers_of(0, &counts, &usable), [1, 2, 3]);
        assert_eq!(peers_of(4, &counts, &usable), [0, 1, 2]);
        let usable = [true; 4];
        let counts = [(100, 0), (100, 0), (100, 20), (100, 40)];
        assert_eq!(peers_of(2, &counts, &usable), [0, 1]);
        // Three others: only one may go, and the median is a bad one's.
        let counts = [(100, 0), (100, 0), (100, 90), (100, 95)];
        assert_eq!(peers_of(0, &counts, &usable), [1, 2, 3]);
    }
}
