//! Which of several equals does a piece of work: highest hash of the pair wins. When one leaves, only
//! its own work moves; when one comes, it takes its share from all and nothing else moves.

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Who of `candidates` does `work`; none without candidates. The order of candidates does not matter.
pub fn owner(work: Uuid, candidates: &[Uuid]) -> Option<Uuid> {
    candidates.iter().copied().max_by_key(|candidate| (weight(work, *candidate), *candidate))
}

fn weight(work: Uuid, candidate: Uuid) -> [u8; 8] {
    let hash =
        Sha256::new().chain_update(work.as_bytes()).chain_update(candidate.as_bytes()).finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(range: std::ops::Range<u128>) -> Vec<Uuid> {
        range.map(Uuid::from_u128).collect()
    }

    #[test]
    fn only_the_work_of_who_leaves_moves() {
        let (work, three) = (ids(1_000..2_000), ids(1..4));
        let two = &three[..2];
        for work in work {
            let before = owner(work, &three).unwrap();
            let after = owner(work, two).unwrap();
            assert!(before == after || before == three[2]);
        }
    }

    #[test]
    fn shares_are_about_equal_and_order_does_not_matter() {
        let three = ids(1..4);
        let mut shares = [0; 3];
        for work in ids(1_000..4_000) {
            let first = owner(work, &three).unwrap();
            assert_eq!(owner(work, &[three[2], three[0], three[1]]), Some(first));
            shares[three.iter().position(|id| *id == first).unwrap()] += 1;
        }
        assert!(shares.iter().all(|share| (850..1_150).contains(share)), "{shares:?}");
        assert_eq!(owner(three[0], &[]), None);
    }
}
