//! Who disagrees with the majority, on one monitor (spec: decision 5.7). On many monitors at once it speaks
//! against the location; alone in down for a day on one, the location loses its vote there.

use super::{Live, Seat, Standing, VoteState};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::location::health::may_set_aside;

/// Locations that say down or suspect while more than half of all fresh votes have seen it up since that run
/// of fails began; with the beginning of the run. It rests on the votes alone, so that the same votes at the
/// same time always give the same.
pub fn dissents(live: &Live, stale_after: Millis) -> Vec<(LocationKey, Millis)> {
    let failing = |state| matches!(state, VoteState::Down | VoteState::Suspect);
    // Nearly always nobody does, and then nothing is looked at.
    if !live.votes.iter().any(|vote| failing(vote.state)) {
        return Vec::new();
    }
    let fresh = || {
        let now = live.folded_at;
        live.votes
            .iter()
            .filter(move |vote| vote.state != VoteState::None && now - vote.last <= stale_after)
    };
    let all = fresh().count();
    let against = |since: Millis| {
        let up = fresh().filter(|vote| {
            matches!(vote.state, VoteState::Up | VoteState::Slow) && vote.last >= since
        });
        2 * up.count() > all
    };
    fresh()
        .filter(|vote| failing(vote.state))
        .filter_map(|vote| Some((vote.location, vote.fails_since?)))
        .filter(|(_, since)| against(*since))
        .collect()
}

/// Takes the vote from locations that are divergent on this monitor, unless that would set aside more of its
/// locations than the cap allows; then from none.
pub fn set_aside(seats: &mut [Seat], divergent: &[LocationKey]) {
    if divergent.is_empty() || !is_room(seats, divergent.len()) {
        return;
    }
    for seat in seats.iter_mut().filter(|seat| divergent.contains(&seat.key)) {
        if seat.standing == Standing::Counted {
            seat.standing = Standing::Divergent;
        }
    }
}

/// Whether `more` locations may be set aside on a monitor beside those that do not count already.
pub fn is_room(seats: &[Seat], more: usize) -> bool {
    let enabled = seats.iter().filter(|seat| seat.standing != Standing::Disabled);
    let aside = enabled.clone().filter(|seat| seat.standing != Standing::Counted).count();
    may_set_aside(enabled.count(), aside + more.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::super::{Inputs, Seen, step};
    use super::*;
    use crate::domain::monitor::Policy;
    use crate::domain::observation::Outcome;

    fn seats(count: i16) -> Vec<Seat> {
        let seat = |key| Seat {
            key: LocationKey(key),
            name: key.to_string(),
            region: key.to_string(),
            domain: key.to_string(),
            standing: Standing::Counted,
        };
        (1..=count).map(seat).collect()
    }

    /// Who dissents after reports of `(location, second, passes)`.
    fn after(count: i16, reports: &[(i16, i64, bool)]) -> Vec<(i16, i64)> {
        let seats = seats(count);
        let policy = Policy::defaults(60_000, 10_000, seats.len());
        let mut live = Live::default();
        for (location, second, passes) in reports {
            let outcome = if *passes { Outcome::Pass } else { Outcome::Fail };
            let inputs = Inputs {
                policy: &policy,
                check_version: 0,
                seats: &seats,
                windows: &[],
                over_cap: false,
                grace_until: None,
                now: second * 1_000,
            };
            step(&mut live, &inputs, &[Seen::new(LocationKey(*location), second * 1_000, outcome)]);
        }
        let found = dissents(&live, policy.stale_after);
        found.into_iter().map(|(location, since)| (location.0, since / 1_000)).collect()
    }

    #[test]
    fn passes_count_against_it_only_if_they_came_after_its_first_fail() {
        let before = [(1, 0, true), (2, 10, true), (3, 20, true), (1, 60, false)];
        assert_eq!(after(3, &before), [], "nobody has looked since");
        let one = [&before[..], &[(2, 62, true)]].concat();
        assert_eq!(after(3, &one), []);
        let both = [&one[..], &[(3, 62, true)]].concat();
        assert_eq!(after(3, &both), [(1, 60)]);
        let agree = [&one[..], &[(3, 62, false)]].concat();
        assert_eq!(after(3, &agree), []);
        let well = [&both[..], &[(1, 65, true)]].concat();
        assert_eq!(after(3, &well), []);
    }

    #[test]
    fn of_two_locations_neither_is_the_majority_and_stale_votes_are_none() {
        assert_eq!(after(2, &[(2, 0, true), (1, 5, false), (2, 6, true)]), []);
        let silent = [
            (1, 0, true),
            (2, 10, false),
            (1, 11, true),
            (3, 11, true),
            (4, 11, true),
            (3, 250, true),
        ];
        assert_eq!(after(4, &silent), [], "what was seen four minutes ago is nothing");
    }

    #[test]
    fn divergent_locations_lose_their_vote_within_the_cap_alone() {
        let standing = |count, aside: &[Standing], divergent: &[i16]| -> Vec<Standing> {
            let mut seats = seats(count);
            for (seat, standing) in seats.iter_mut().rev().zip(aside) {
                seat.standing = *standing;
            }
            let divergent: Vec<LocationKey> =
                divergent.iter().map(|key| LocationKey(*key)).collect();
            set_aside(&mut seats, &divergent);
            seats.iter().map(|seat| seat.standing).collect()
        };
        use Standing::{Counted, Disabled, Divergent, Quarantined};
        assert_eq!(standing(3, &[], &[1]), [Divergent, Counted, Counted]);
        assert_eq!(standing(2, &[], &[1]), [Counted, Counted]);
        assert_eq!(standing(3, &[Quarantined], &[1]), [Counted, Counted, Quarantined]);
        assert_eq!(standing(4, &[Disabled], &[2]), [Counted, Divergent, Counted, Disabled]);
        assert_eq!(standing(5, &[], &[1, 2, 3]), [Counted; 5]);
    }
}
