//! Good and bad of a span (spec: slo 3.4 to 3.7), in the unit of the indicator, exactly.

use std::collections::BTreeMap;

use super::definition::{Denominator, MaintenancePolicy, Sli, UnknownPolicy, Weight};
use super::evidence::{Counts, Evidence};
use super::ratio::Ratio;
use super::timeline::Totals;
use crate::domain::Millis;

/// One whole in parts per million.
const MILLION: u128 = 1_000_000;

/// A measured span: milliseconds, results, slices or requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// M: what the ratio is of, with unknown time as the policy says.
    pub total: u64,
    /// Of that, at most.
    pub bad: Ratio,
    /// Of that, at least: less than `bad` when only a histogram is left of latencies.
    pub bad_least: Ratio,
    /// What was seen, whatever the policy about the unknown.
    pub known: u64,
    pub known_bad: Ratio,
    /// What should have been seen and was not.
    pub unknown: u64,
    /// Seen and due, of the coverage.
    pub coverage: (u64, u64),
}

impl Measured {
    /// A. None without anything measured.
    pub fn ratio(&self) -> Option<Ratio> {
        share(self.total, &self.bad)
    }

    /// Share if all that is unknown had been good.
    pub fn best(&self) -> Option<Ratio> {
        share(self.known + self.unknown, &self.known_bad)
    }

    /// Share if all that is unknown had been bad.
    pub fn worst(&self) -> Option<Ratio> {
        let bad = self.known_bad.plus(&Ratio::whole(self.unknown.into()));
        share(self.known + self.unknown, &bad)
    }

    /// C. None when nothing was due.
    pub fn coverage(&self) -> Option<Ratio> {
        let (seen, due) = self.coverage;
        (due > 0).then(|| Ratio::new(seen.into(), due.into()))
    }

    /// Whether the target is kept; none without a measurement, and when it lies within what is not known
    /// of latencies.
    pub fn met(&self, target: &Ratio) -> Option<bool> {
        let at_worst = self.ratio()? >= *target;
        let at_best = share(self.total, &self.bad_least)? >= *target;
        (at_worst == at_best).then_some(at_worst)
    }

    pub fn is_approximate(&self) -> bool {
        self.bad != self.bad_least
    }

    fn plain(total: u64, bad: Ratio, unknown: u64, coverage: (u64, u64)) -> Self {
        Self {
            total,
            bad_least: bad.clone(),
            known: total,
            known_bad: bad.clone(),
            bad,
            unknown,
            coverage,
        }
    }
}

fn share(total: u64, bad: &Ratio) -> Option<Ratio> {
    let total = Ratio::whole(total.into());
    (!total.num.is_zero()).then(|| total.minus(bad).over(&total))
}

/// How time is judged.
#[derive(Debug, Clone, Copy)]
pub struct TimePolicy {
    pub unknown: UnknownPolicy,
    pub maintenance: MaintenancePolicy,
    pub partial_weight_ppm: u32,
}

/// Time that is not down.
pub fn of_time(totals: &Totals, policy: TimePolicy) -> Measured {
    let forgiven = match policy.maintenance {
        MaintenancePolicy::CountAsUp => totals.excluded,
        MaintenancePolicy::Exclude | MaintenancePolicy::Ignore => 0,
    };
    let known = millis(totals.measured() + forgiven);
    let down = u128::from(millis(totals.down)) * MILLION;
    let partial = u128::from(millis(totals.partial)) * u128::from(policy.partial_weight_ppm);
    of_time_parts(
        known,
        Ratio::new(down + partial, MILLION),
        millis(totals.unknown),
        policy.unknown,
    )
}

/// Known time, the bad part of it, and unknown time, which counts as the policy says.
pub fn of_time_parts(known: u64, bad: Ratio, unknown: u64, policy: UnknownPolicy) -> Measured {
    let mut measured = Measured::plain(known, bad, unknown, (known, known + unknown));
    match policy {
        UnknownPolicy::Exclude => {}
        UnknownPolicy::Up => measured.total += unknown,
        UnknownPolicy::Down => {
            measured.total += unknown;
            measured.bad = measured.bad.plus(&Ratio::whole(unknown.into()));
            measured.bad_least = measured.bad.clone();
        }
    }
    measured
}

/// Results, by the indicator; none for one that is not about results.
pub fn of_events(sli: Sli, evidence: &Evidence, from: Millis, to: Millis) -> Option<Measured> {
    let counts = evidence.counts(from, to);
    let expected = evidence.expected(from, to, &counts);
    let coverage = (counts.valid(), expected);
    let unknown = expected - counts.valid();
    let whole = |number: u64| Ratio::whole(number.into());
    Some(match sli {
        Sli::Availability | Sli::Requests { .. } => return None,
        Sli::ProbeRatio { weight: Weight::Pooled } => {
            Measured::plain(counts.valid(), whole(counts.fail), unknown, coverage)
        }
        Sli::ProbeRatio { weight: Weight::LocationMean } => {
            let (count, bad) = mean(evidence.by_location(from, to).values());
            Measured::plain(count, bad, 0, coverage)
        }
        Sli::ProbeRatio { weight: Weight::SliceMean(slice) } => {
            let (count, bad) = mean(evidence.by_slice(slice, from, to).values());
            let gaps = evidence.slices(slice, from, to).saturating_sub(count);
            Measured::plain(count, bad, gaps, coverage)
        }
        Sli::Slices { slice, target } => {
            let slices = evidence.by_slice(slice, from, to);
            let target = target.ratio();
            let measured = slices.values().filter(|counts| counts.valid() > 0);
            let (mut count, mut bad) = (0, 0);
            for counts in measured {
                count += 1;
                let ratio = Ratio::new(counts.ok.into(), counts.valid().into());
                bad += u64::from(ratio < target);
            }
            let gaps = evidence.slices(slice, from, to).saturating_sub(count);
            Measured::plain(count, whole(bad), gaps, (count, count + gaps))
        }
        Sli::Latency { denominator, .. } => {
            let total = match denominator {
                Denominator::OkOnly => counts.ok,
                Denominator::All => counts.valid(),
            };
            let slow = |quick: u64| whole(total.saturating_sub(quick));
            let mut measured = Measured::plain(total, slow(counts.quick.0), unknown, coverage);
            measured.bad_least = slow(counts.quick.1);
            measured
        }
    })
}

/// How many have a ratio, and the sum of what is missing from one. The sum goes by denominator, of which
/// there are few.
fn mean<'a>(parts: impl Iterator<Item = &'a Counts>) -> (u64, Ratio) {
    let mut by_valid: BTreeMap<u64, u128> = BTreeMap::new();
    let mut count = 0;
    for counts in parts.filter(|counts| counts.valid() > 0) {
        count += 1;
        *by_valid.entry(counts.valid()).or_default() += u128::from(counts.fail);
    }
    let sum = |sum: Ratio, (valid, failed): (u64, u128)| {
        if failed == 0 { sum } else { sum.plus(&Ratio::new(failed, valid.into())) }
    };
    (count, by_valid.into_iter().fold(Ratio::whole(0), sum))
}

/// Sums of time are never negative.
pub fn millis(time: Millis) -> u64 {
    u64::try_from(time).unwrap_or(0)
}
