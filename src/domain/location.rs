//! Locations (spec: decision 5.1 and 5.7): when an attempt began, and how many may be set aside at once.
//! Whether one is to be believed is [`health`].

pub mod health;
pub mod selfcheck;

use super::Millis;
use super::observation::{Class, Observation, Outcome};

/// An agent whose wall clock is further off than this cannot judge the dates of certificates.
const CLOCK_OFF_MS: i32 = 30_000;

/// Whether a certificate is valid is judged by the agent's wall clock: if that is wrong, the failure is ours
/// and not the target's. Nothing else rests on that clock.
pub fn distrust_dates(observation: &mut Observation, clock_offset_ms: Option<i32>) {
    let off =
        clock_offset_ms.is_some_and(|offset| offset.unsigned_abs() > CLOCK_OFF_MS.unsigned_abs());
    let dated = matches!(observation.class, Some(Class::TlsExpired | Class::TlsNotYetValid));
    if off && dated && observation.outcome == Outcome::Fail {
        observation.outcome = Outcome::Error;
        observation.class = Some(Class::AgentClock);
        Class::AgentClock.sentence().clone_into(&mut observation.message);
    }
}

/// Effective time of a report, all in milliseconds: when the attempt began, from our own clock alone.
/// An agent's wall clock never enters.
pub fn effective_time(received_at: Millis, age_at_send: Millis, rtt: Millis) -> Millis {
    received_at - age_at_send - rtt / 2
}

/// A way that takes longer than half a round trip and this was held up: a line that was cut for a moment
/// delivers what was sent before, seconds later.
const HELD_UP: Millis = 250;
/// Senders give up on a request long before.
const LONGEST_WAY: Millis = 60_000;

/// The round trip to reckon with: twice the way that a batch really took if it was held up, all in
/// milliseconds. `sent_at` is the sender's notion of coordinator time, learnt from our own answers.
pub fn round_trip(received_at: Millis, sent_at: Option<Millis>, rtt: Millis) -> Millis {
    let way = sent_at.map_or(0, |sent_at| received_at - sent_at);
    if (rtt / 2 + HELD_UP..=LONGEST_WAY).contains(&way) { way * 2 } else { rtt }
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
    fn a_batch_that_was_held_up_is_as_old_as_its_way_was_long() {
        // 11.27 s on the way, at a usual round trip of 200 ms.
        let rtt = round_trip(1_000_000, Some(988_730), 200);
        assert_eq!(effective_time(1_000_000, 50_000, rtt), 938_730);
        // What the round trip explains, or nearly, is no delay; neither is a clock that is ahead, or far off.
        for sent_at in [None, Some(999_900), Some(999_651), Some(1_000_400), Some(939_999)] {
            assert_eq!(round_trip(1_000_000, sent_at, 200), 200, "{sent_at:?}");
        }
        assert_eq!(round_trip(1_000_000, Some(999_650), 200), 700);
    }

    #[test]
    fn a_wrong_clock_makes_dates_of_certificates_our_fault_and_nothing_else() {
        let judged = |class: Class, offset: Option<i32>| {
            let mut seen: Observation = serde_json::from_value(serde_json::json!({
                "outcome": "fail", "class": class.name(), "status": null, "http_version": null, "address": null,
                "size": null, "certificate": null, "evidence": null
            }))
            .unwrap();
            distrust_dates(&mut seen, offset);
            (seen.outcome, seen.class.unwrap())
        };
        let ours = (Outcome::Error, Class::AgentClock);
        assert_eq!(judged(Class::TlsExpired, Some(30_001)), ours);
        assert_eq!(judged(Class::TlsNotYetValid, Some(-3_600_000)), ours);
        assert_eq!(judged(Class::TlsNotYetValid, Some(i32::MIN)), ours);
        assert_eq!(judged(Class::TlsExpired, Some(30_000)).0, Outcome::Fail);
        assert_eq!(judged(Class::TlsExpired, None).0, Outcome::Fail);
        assert_eq!(judged(Class::TlsUntrusted, Some(90_000)).0, Outcome::Fail);
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
