//! What a policy gives and what it costs, in numbers (spec: decision 4): how soon an outage is told, how
//! soon a recovery, which outages are never seen, and how often an alert is false.

use serde::{Deserialize, Serialize};

use super::verdict;
use crate::domain::Millis;
use crate::domain::monitor::Policy;

/// Attempts after which a location's own failure rate is used instead of the prior.
pub const ENOUGH_ATTEMPTS: u64 = 10_000;
/// Failures that were tried again, after which their own rate is used; with 1 in 1,000 attempts failing that is
/// ten times the attempts.
pub const ENOUGH_RETRIES: u64 = 100;
/// Chance that one attempt fails though the target is up.
pub const PRIOR_FAILS: f64 = 0.001;
/// Chance that a retry fails too.
pub const PRIOR_RETRY_FAILS: f64 = 0.2;
/// Share of such failures that hit another failure domain at the same time.
pub const PRIOR_SHARED: f64 = 0.001;
/// A wave draws again, and a vote lasts until the next pass.
const DRAWS: f64 = 2.0;
/// Seconds in the month that odds are given for: 30 days.
const MONTH_S: f64 = 2_592_000.0;

/// Delays that are no part of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// From a decision to the first probe that it asked for.
    pub dispatch: Millis,
    /// From a decision to the accepted notice.
    pub notify: Millis,
}

impl Default for Delays {
    fn default() -> Self {
        Self { dispatch: 2_000, notify: 0 }
    }
}

/// Longest time from the beginning of an outage to its notice, when it is really seen from `affected`
/// of `eligible` locations and a failing attempt takes `attempt` (at most the time-out). Without waves,
/// because a brake holds them, locations take their turns.
pub fn detection(
    policy: &Policy,
    eligible: usize,
    affected: usize,
    attempt: Millis,
    delays: Delays,
    waves: bool,
) -> Millis {
    let eligible = eligible.max(1) as Millis;
    let affected = (affected as Millis).clamp(1, eligible);
    let fails = Millis::from(policy.fail_after);
    let gaps = (fails - 1) * policy.retry_gap;
    let in_turn = policy.interval + fails * attempt + gaps;
    let asked = (eligible - affected + 1) * policy.interval / eligible
        + (fails + 1) * attempt
        + gaps
        + delays.dispatch;
    let first = if waves { asked.min(in_turn) } else { in_turn };
    first + policy.confirm_for + delays.notify
}

/// Longest time from the end of an outage to the notice of it. The end itself is dated back, so no
/// figure contains this.
pub fn recovery_notice(policy: &Policy, eligible: usize, delays: Delays) -> Millis {
    policy.interval / eligible.max(1) as Millis
        + (Millis::from(policy.pass_after) - 1) * policy.pass_gap
        + 2 * policy.timeout
        + delays.dispatch
        + policy.recover_for
        + delays.notify
}

/// Outages shorter than this never alert.
pub fn never_seen(policy: &Policy) -> Millis {
    (Millis::from(policy.fail_after) - 1) * policy.retry_gap
}

/// A number and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Term {
    pub value: f64,
    pub source: Source,
    /// How many there have been of what is counted; none for what is never measured.
    pub counted: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// From enough history of this monitor's locations.
    Measured,
    /// A prior.
    Assumed,
}

impl Term {
    pub fn assumed(value: f64) -> Self {
        Self { value, source: Source::Assumed, counted: None }
    }

    /// How often attempts failed though the target was up; the prior while there are too few.
    pub fn fails(failed: u64, attempts: u64) -> Self {
        Self::measured(failed, attempts, ENOUGH_ATTEMPTS, PRIOR_FAILS)
    }

    /// How often the first repeat of a failed attempt failed too; the prior while there are too few.
    pub fn retry_fails(failed: u64, retried: u64) -> Self {
        Self::measured(failed, retried, ENOUGH_RETRIES, PRIOR_RETRY_FAILS)
    }

    /// One more of each is counted, so that a clean record is not read as certainty.
    fn measured(failed: u64, all: u64, enough: u64, prior: f64) -> Self {
        let counted = Some(all);
        if all < enough {
            return Self { counted, ..Self::assumed(prior) };
        }
        let value = (failed as f64 + 1.0) / (all as f64 + 2.0);
        Self { value: value.min(1.0), source: Source::Measured, counted }
    }
}

/// How a location fails on its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Risk {
    /// Chance that one attempt fails though the target is up.
    pub fails: Term,
    /// Chance that a retry fails too.
    pub retry_fails: Term,
}

impl Default for Risk {
    fn default() -> Self {
        Self { fails: Term::assumed(PRIOR_FAILS), retry_fails: Term::assumed(PRIOR_RETRY_FAILS) }
    }
}

impl Risk {
    /// Chance that one turn of this location ends in down.
    fn run(&self, policy: &Policy) -> f64 {
        let retries = i32::try_from(policy.fail_after - 1).unwrap_or(i32::MAX);
        self.fails.value * self.retry_fails.value.powi(retries)
    }
}

/// Expected false alerts in 30 days. Always to be labelled "about".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FalseAlerts {
    pub per_month: f64,
    /// The part from failures that hit several networks at once.
    pub shared: f64,
    /// The part from locations that fail alone, but at the same time by chance.
    pub by_chance: f64,
    pub quorum: usize,
    /// Share of failures that hit another failure domain at the same time.
    pub shared_share: Term,
    pub locations: Vec<Risk>,
}

/// Expected false alerts with these locations, all of them eligible.
pub fn false_alerts(policy: &Policy, locations: &[Risk], shared_share: Term) -> FalseAlerts {
    let count = locations.len();
    let quorum = verdict::quorum(policy, count, count).0;
    let runs: Vec<f64> = locations.iter().map(|risk| risk.run(policy)).collect();
    let share = shared_share.value.clamp(0.0, 1.0);
    let rounds = MONTH_S / (policy.interval as f64 / 1000.0);
    let mean = runs.iter().sum::<f64>() / count.max(1) as f64;
    let alone: f64 = runs
        .iter()
        .enumerate()
        .map(|(index, run)| {
            let others: Vec<f64> = runs
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .map(|(_, run)| run * (1.0 - share))
                .collect();
            run * at_least(&others, quorum.saturating_sub(1))
        })
        .sum();
    let (shared, by_chance) = (rounds * share * mean, rounds * DRAWS * alone);
    FalseAlerts {
        per_month: shared + by_chance,
        shared,
        by_chance,
        quorum,
        shared_share,
        locations: locations.to_vec(),
    }
}

/// Chance that at least `k` of independent events happen (Poisson-binomial tail).
fn at_least(chances: &[f64], k: usize) -> f64 {
    // exactly[n]: chance that n have happened so far; all from k on share the last place.
    let mut exactly = vec![0.0; k + 1];
    if let Some(none) = exactly.first_mut() {
        *none = 1.0;
    }
    for chance in chances {
        for n in (0..=k).rev() {
            let stays = if n == k { 1.0 } else { 1.0 - chance };
            let comes =
                if n == 0 { 0.0 } else { exactly.get(n - 1).copied().unwrap_or(0.0) * chance };
            if let Some(place) = exactly.get_mut(n) {
                *place = *place * stays + comes;
            }
        }
    }
    exactly.last().copied().unwrap_or(0.0)
}

/// `about 3 a month`, `about 1 in 9.6 years`.
pub fn phrase(per_month: f64) -> String {
    if !per_month.is_finite() || per_month <= 0.0 {
        return "never, by these numbers".to_owned();
    }
    if per_month >= 1.0 {
        return format!("about {} a month", significant(per_month));
    }
    let months = 1.0 / per_month;
    if months < 24.0 {
        return format!("about 1 in {} months", significant(months));
    }
    let years = months / 12.0;
    if years > 10_000.0 {
        return "less than 1 in 10,000 years".to_owned();
    }
    format!("about 1 in {} years", significant(years))
}

fn significant(number: f64) -> String {
    if number < 10.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::world::World;
    use super::super::tests::{F3, F5, seats};
    use super::*;
    use crate::domain::ids::LocationKey;
    use crate::domain::monitor::Quorum;

    fn policy() -> Policy {
        Policy::defaults(60_000, 10_000, 5)
    }

    #[test]
    fn detection_has_the_figures_of_the_rules() {
        let worst = |affected, attempt, waves| {
            detection(&policy(), 5, affected, attempt, Delays::default(), waves)
        };
        assert_eq!(worst(5, 200, true), 19_600);
        assert_eq!(worst(5, 10_000, true), 49_000);
        assert_eq!(worst(3, 10_000, false), 85_000);
        assert_eq!(worst(3, 10_000, true), 73_000);
        let slow = Policy { confirm_for: 60_000, ..policy() };
        let delays = Delays { notify: 1_000, ..Delays::default() };
        assert_eq!(detection(&slow, 5, 5, 200, delays, true), 80_600);
        assert_eq!(
            detection(&policy(), 1, 1, 10_000, Delays::default(), true),
            85_000,
            "nobody to ask"
        );
        assert_eq!(
            recovery_notice(&policy(), 5, Delays::default()),
            12_000 + 10_000 + 20_000 + 2_000 + 120_000
        );
        assert_eq!(never_seen(&policy()), 5_000);
    }

    /// Longest time to the alert over evenly spread beginnings of an outage.
    fn longest(affected: usize, attempt: Millis, waves: bool) -> Millis {
        let (policy, seats) = (policy(), seats(&F5));
        let delays = (0..60_000).step_by(200).map(|start| {
            let begins = 120_001 + start;
            let mut world = World::new(&policy, &seats);
            (world.takes, world.waves) = (attempt, waves);
            world.run(begins + 120_000, |location, at| {
                Some((location.0 as usize) < affected && at >= begins)
            });
            let opened = world.events.iter().find(|(_, word)| word.ends_with(":down"));
            opened.expect("a quorum fails").0 - begins
        });
        delays.max().expect("some beginnings")
    }

    #[test]
    fn the_real_rules_reach_these_bounds_and_never_exceed_them() {
        for (affected, attempt, waves) in
            [(5, 200, true), (5, 10_000, true), (3, 10_000, true), (3, 10_000, false)]
        {
            let bound = detection(&policy(), 5, affected, attempt, Delays::default(), waves);
            let seen = longest(affected, attempt, waves);
            assert!(
                seen <= bound && seen >= bound - 12_000,
                "{affected} affected: {seen} of {bound}"
            );
            if affected == 5 || !waves {
                assert!(seen >= bound - 250, "{affected} affected: {seen} of {bound}");
            }
        }
    }

    #[test]
    fn the_tail_of_unequal_chances_is_exact() {
        let chances = [0.1, 0.2, 0.3];
        assert!((at_least(&chances, 0) - 1.0).abs() < 1e-12);
        assert!((at_least(&chances, 1) - (1.0 - 0.9 * 0.8 * 0.7)).abs() < 1e-12);
        let two = 0.1 * 0.2 * 0.7 + 0.1 * 0.8 * 0.3 + 0.9 * 0.2 * 0.3 + 0.1 * 0.2 * 0.3;
        assert!((at_least(&chances, 2) - two).abs() < 1e-12);
        assert!((at_least(&chances, 3) - 0.006).abs() < 1e-12);
        assert!(at_least(&chances, 4).abs() < 1e-12);
    }

    #[test]
    fn priors_hold_until_there_are_enough_attempts() {
        let few = Term::fails(500, 9_999);
        assert_eq!(
            (few.value, few.source, few.counted),
            (PRIOR_FAILS, Source::Assumed, Some(9_999))
        );
        let measured = Term::fails(99, 10_000);
        assert_eq!(measured.source, Source::Measured);
        assert!((measured.value - 0.01).abs() < 0.0001);
        assert_eq!(Term::retry_fails(99, 99).source, Source::Assumed);
        let measured = Term::retry_fails(50, 100);
        assert_eq!((measured.source, measured.value), (Source::Measured, 0.5));
    }

    #[test]
    fn with_the_priors_correlation_sets_the_rate() {
        let alerts = false_alerts(&policy(), &[Risk::default(); 5], Term::assumed(PRIOR_SHARED));
        assert_eq!(alerts.quorum, 3);
        assert!((alerts.shared - 43_200.0 * 0.001 * 0.0002).abs() < 1e-9);
        assert!(alerts.shared > 100.0 * alerts.by_chance);
        let three = false_alerts(
            &Policy::defaults(60_000, 10_000, 3),
            &[Risk::default(); 3],
            Term::assumed(PRIOR_SHARED),
        );
        assert!(three.by_chance > alerts.by_chance);
        assert_eq!(phrase(alerts.per_month), "about 1 in 9.6 years");
        assert_eq!(phrase(3.21), "about 3.2 a month");
        assert_eq!(phrase(0.2), "about 1 in 5.0 months");
    }

    /// A small generator with a seed (splitmix64).
    struct Chance(u64);

    impl Chance {
        fn hits(&mut self, chance: f64) -> bool {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 <= chance
        }
    }

    /// A setting to simulate.
    struct Case {
        fleet: Vec<(&'static str, &'static str, &'static str)>,
        quorum: Quorum,
        fails: f64,
        retry: f64,
        share: f64,
        rounds: i64,
    }

    impl Case {
        fn policy(&self) -> Policy {
            let count = self.fleet.len();
            Policy { quorum: self.quorum, ..Policy::defaults(60_000, 10_000, count) }
        }

        /// False alerts by the formula.
        fn expected(&self) -> f64 {
            let (fails, retry_fails) = (Term::assumed(self.fails), Term::assumed(self.retry));
            let risks = vec![Risk { fails, retry_fails }; self.fleet.len()];
            let alerts = false_alerts(&self.policy(), &risks, Term::assumed(self.share));
            alerts.per_month * self.rounds as f64 / 43_200.0
        }

        /// False alerts of the real rules, with agents that fail by chance: they repeat what failed and answer
        /// waves as real ones do.
        fn simulate(&self, seed: u64) -> usize {
            let (policy, seats) = (self.policy(), seats(&self.fleet));
            let mut world = World::new(&policy, &seats);
            let mut chance = Chance(seed);
            let mut failed: Vec<Option<Millis>> = vec![None; self.fleet.len()];
            // A shared failure is long enough for a whole run and its confirmation.
            let (mut round, mut shared_until) = (-1, 0);
            world.run(self.rounds * policy.interval, |LocationKey(location), at| {
                if at / policy.interval > round {
                    round = at / policy.interval;
                    if chance.hits(self.share * self.fails * self.retry) {
                        shared_until = at + 30_000;
                    }
                }
                let last = &mut failed[location as usize];
                let retrying = last.is_some_and(|last| at - last == policy.retry_gap);
                let fails = if retrying { self.retry } else { self.fails };
                let fails = at < shared_until || chance.hits(fails);
                *last = fails.then_some(at);
                Some(fails)
            });
            let alert = |word: &&(Millis, String)| {
                word.1.ends_with("down") && !word.1.starts_with("downgraded")
            };
            world.events.iter().filter(alert).count()
        }
    }

    /// So many locations, each in a region and a network of its own.
    fn apart(count: usize) -> Vec<(&'static str, &'static str, &'static str)> {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        names.into_iter().take(count).map(|name| (name, name, name)).collect()
    }

    #[test]
    fn the_formula_is_within_a_factor_of_two_of_the_real_rules() {
        let case = |fleet: &[_], quorum, fails, retry, share, rounds| Case {
            fleet: fleet.to_vec(),
            quorum,
            fails,
            retry,
            share,
            rounds,
        };
        let majority = Quorum::Majority;
        let (three, five, nine) = (apart(3), apart(5), apart(9));
        for (index, case) in [
            case(&F5, majority, 0.1, 0.4, 0.0, 9_000),
            case(&F5, majority, 0.1, 0.2, 0.2, 9_000),
            case(&F3, majority, 0.08, 0.3, 0.05, 9_000),
            case(&three, majority, 0.03, 0.3, 0.0, 30_000),
            case(&five, Quorum::AtLeast(2), 0.04, 0.25, 0.0, 15_000),
            case(&five, Quorum::Percent(80), 0.2, 0.6, 0.0, 9_000),
            case(&nine, majority, 0.16, 0.6, 0.0, 9_000),
            case(&nine, Quorum::AtLeast(3), 0.06, 0.3, 0.0, 12_000),
        ]
        .into_iter()
        .enumerate()
        {
            let (expected, seen) = (case.expected(), case.simulate(7) as f64);
            assert!(expected > 20.0, "case {index}: too few to compare: {expected}");
            assert!(
                seen <= 2.0 * expected && seen >= expected / 2.0,
                "case {index}: {seen} seen, {expected:.1} expected"
            );
        }
    }
}
