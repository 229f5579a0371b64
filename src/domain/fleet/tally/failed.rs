//! When attempts failed: who was harmed before an instance was taken out is counted by it, since sums of
//! windows do not end where a removal does.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Failures on one instance closer to the first of them than this are told as one.
const TOGETHER_US: i64 = 100_000;

/// Attempts that failed on one instance within a tenth of a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub instance: String,
    /// When the first of them ended, in µs since the Unix epoch.
    pub at_us: i64,
    pub failed: u64,
    /// Those of them that no other attempt made good.
    pub visible: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    by_instance: FxHashMap<u32, Vec<Moment>>,
}

/// First, failed and visible.
type Moment = (i64, u64, u64);

impl Failures {
    pub(super) fn add(&mut self, instance: u32, at_us: i64, visible: bool) {
        put(self.by_instance.entry(instance).or_default(), (at_us, 1, u64::from(visible)));
    }

    /// Appends those of other lines; `names` says what their instances are called here.
    pub(super) fn append(&mut self, other: Self, names: &[u32]) {
        for (instance, moments) in other.by_instance {
            let instance = names.get(instance as usize).copied().unwrap_or(instance);
            let mine = self.by_instance.entry(instance).or_default();
            moments.into_iter().for_each(|moment| put(mine, moment));
        }
    }

    pub(super) fn take(&mut self, name: impl Fn(u32) -> String) -> Vec<Failed> {
        let mut all = Vec::new();
        for (instance, moments) in std::mem::take(&mut self.by_instance) {
            let instance = name(instance);
            all.extend(moments.into_iter().map(|(at_us, failed, visible)| Failed {
                instance: instance.clone(),
                at_us,
                failed,
                visible,
            }));
        }
        all.sort_by(|a, b| (a.at_us, &a.instance).cmp(&(b.at_us, &b.instance)));
        all
    }
}

fn put(moments: &mut Vec<Moment>, (at, failed, visible): Moment) {
    match moments.last_mut() {
        Some((first, f, v)) if (0..TOGETHER_US).contains(&(at - *first)) => {
            *f += failed;
            *v += visible;
        }
        _ => moments.push((at, failed, visible)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_is_told_once_with_its_time() {
        let mut failures = Failures::default();
        for (at, visible) in [(1_000_000, true), (1_050_000, false), (1_100_000, true)] {
            failures.add(0, at, visible);
        }
        let mut later = Failures::default();
        later.add(0, 500, false);
        later.add(1, 1_120_000, true);
        // What is 0 there is 7 here, and what is 1 is 0.
        failures.append(later, &[7, 0]);
        let told: Vec<_> = failures
            .take(|id| id.to_string())
            .into_iter()
            .map(|f| (f.instance, f.at_us, f.failed, f.visible))
            .collect();
        let of = |name: &str, at, failed, visible| (name.to_owned(), at, failed, visible);
        assert_eq!(told, [of("7", 500, 1, 0), of("0", 1_000_000, 2, 1), of("0", 1_100_000, 2, 2)]);
        assert_eq!(failures.take(|id| id.to_string()), []);
    }
}
