//! Locations (spec: decision 5.1 and 5.7): when an attempt began, and how many may be set aside at once.
//! Whether one is to be believed is [`health`].

pub mod health;
pub mod selfcheck;

use super::Millis;

/// Effective time of a report, all in milliseconds: when the attempt began, from our own clock alone.
/// An agent's wall clock never enters.
pub fn effective_time(received_at: Millis, age_at_send: Millis, rtt: Millis) -> Millis {
    received_at - age_at_send - rtt / 2
}

/// Locations that may be quarantined at once, of those online: a minority, so that a mistake of ours
/// cannot silence the fleet.
pub fn quarantine_cap(online: usize) -> usize {
    online.saturating_sub(1) / 2
}

/// Who is quarantined, of the locations found impaired; and whether there are more than the cap
/// allows. Above it nobody is: with most locations in doubt there is no telling which to believe.
pub fn quarantine<L: Clone>(impaired: &[L], online: usize) -> (Vec<L>, bool) {
    if impaired.len() > quarantine_cap(online) {
        (Vec::new(), true)
    } else {
        (impaired.to_vec(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attempt_began_before_it_was_sent_and_travelled() {
        assert_eq!(effective_time(1_000_000, 400, 200), 999_500);
    }

    #[test]
    fn above_the_cap_nobody_is_quarantined() {
        assert_eq!(quarantine(&["a"], 5), (vec!["a"], false));
        assert_eq!(quarantine(&["a", "b"], 5), (vec!["a", "b"], false));
        assert_eq!(quarantine(&["a", "b", "c"], 5), (vec![], true));
        assert_eq!(quarantine(&["a"], 2), (vec![], true));
        assert_eq!(quarantine::<&str>(&[], 0), (vec![], false));
    }
}
