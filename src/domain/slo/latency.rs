//! Latencies of passes (spec: slo 3.7): nearest rank while results are kept, from histograms after.

use serde::{Deserialize, Serialize};

use super::evidence::{Batch, Timing};
use super::ratio::Ratio;
use crate::domain::sketch::Sketch;

/// Largest error of a quantile that comes from a histogram.
pub const RELATIVE_ERROR: f64 = 1.0 / 32.0;

/// Milliseconds; none without a pass that was timed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SloReportLatency)]
pub struct Latency {
    pub n: u64,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    /// Not kept in histograms.
    pub max: Option<f64>,
    /// From histograms: percentiles may be off by `relative_error`.
    pub approx: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
}

/// Of the passes in some batches.
pub fn of<'a>(batches: impl IntoIterator<Item = &'a Batch>) -> Latency {
    let mut single: Vec<u32> = Vec::new();
    let mut merged = Sketch::default();
    let mut sum: u128 = 0;
    for batch in batches {
        match &batch.timing {
            Timing::None => {}
            Timing::One(us) => {
                single.push(*us);
                sum += u128::from(*us);
            }
            Timing::Many { sum_us, sketch } => {
                merged.merge(sketch);
                sum += u128::from(*sum_us);
            }
        }
    }
    let approx = merged.count() > 0;
    let n = single.len() as u64 + merged.count();
    if n == 0 {
        return Latency::default();
    }
    single.sort_unstable();
    if approx {
        single.iter().for_each(|us| merged.add(*us));
    }
    let at = |percent: u64| {
        let us = if approx {
            merged.quantile(percent as f64 / 100.0)
        } else {
            nearest_rank(&single, percent)
        };
        us.and_then(in_millis)
    };
    Latency {
        n,
        mean: Ratio::new(sum, u128::from(n) * 1_000).to_f64(),
        p50: at(50),
        p75: at(75),
        p90: at(90),
        p95: at(95),
        p99: at(99),
        max: if approx { None } else { single.last().copied().and_then(in_millis) },
        approx,
        relative_error: approx.then_some(RELATIVE_ERROR),
    }
}

/// `x[ceil(p/100·N)]`, counted from 1; none of nothing. `sorted` is.
fn nearest_rank(sorted: &[u32], percent: u64) -> Option<u32> {
    let rank = (percent * sorted.len() as u64).div_ceil(100).max(1);
    sorted.get(rank as usize - 1).copied()
}

fn in_millis(us: u32) -> Option<f64> {
    Ratio::new(us.into(), 1_000).to_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(us: u32) -> Batch {
        Batch { ok: 1, timing: Timing::One(us), ..Batch::default() }
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let ms = [
            110, 115, 120, 125, 130, 135, 140, 145, 150, 160, 170, 180, 200, 250, 300, 301, 450,
            900,
        ];
        let batches: Vec<Batch> = ms.iter().map(|ms| one(ms * 1_000)).collect();
        let seen = of(&batches);
        assert_eq!(
            (seen.n, seen.p50, seen.p75, seen.p90),
            (18, Some(150.0), Some(250.0), Some(450.0))
        );
        assert_eq!((seen.p95, seen.p99, seen.max), (Some(900.0), Some(900.0), Some(900.0)));
        assert_eq!(seen.mean, Some(4_081.0 / 18.0));
        assert_eq!(of(&[one(7)]).p50, Some(0.007));
        assert_eq!(of(&[]), Latency::default());
    }

    #[test]
    fn from_histograms_they_say_that_they_are_approximate() {
        let mut sketch = Sketch::default();
        [100_000, 200_000, 300_000].iter().for_each(|us| sketch.add(*us));
        let timing = Timing::Many { sum_us: 600_000, sketch: Box::new(sketch) };
        let seen = of(&[Batch { ok: 3, timing, ..Batch::default() }, one(1_000)]);
        assert!(seen.approx && seen.max.is_none() && seen.n == 4);
        assert_eq!(seen.mean, Some(150.25));
        assert!((seen.p75.unwrap() - 200.0).abs() <= 200.0 * RELATIVE_ERROR);
    }
}
