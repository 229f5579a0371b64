//! The arithmetic of the tests: tails of the beta-binomial distribution, spread between instances, many
//! tests at once, and the interval of a share for the tables.

/// z of a two-sided 99 % interval.
const Z99: f64 = 2.575_829_303_548_901;

/// The 99 % interval (Wilson) of the share `bad` of `n`: (0, 1) when nothing was seen.
pub fn interval99(bad: u64, n: u64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (bad, n) = (bad.min(n) as f64, n as f64);
    let share = bad / n;
    let z2 = Z99 * Z99;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z99 / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let low = if bad == 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if bad == n { 1.0 } else { (middle + half).min(1.0) };
    (low, high)
}

/// P(X ≥ e) for X ~ beta-binomial with mean share `mean` and intraclass correlation `rho`, over `n`.
pub fn upper_tail(e: u64, n: u64, mean: f64, rho: f64) -> f64 {
    if e == 0 {
        return 1.0;
    }
    if e > n {
        return 0.0;
    }
    let law = BetaBinomial::new(n, mean, rho);
    if (e as f64) < mean * n as f64 {
        return (1.0 - law.down_from(e - 1)).clamp(0.0, 1.0);
    }
    law.up_from(e)
}

/// P(X ≤ e), as above.
pub fn lower_tail(e: u64, n: u64, mean: f64, rho: f64) -> f64 {
    if e >= n {
        return 1.0;
    }
    let law = BetaBinomial::new(n, mean, rho);
    if (e as f64) > mean * n as f64 {
        return (1.0 - law.up_from(e + 1)).clamp(0.0, 1.0);
    }
    law.down_from(e)
}

/// Sums of the moment estimate of the intraclass correlation, over windows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spread {
    /// Σ (S − S₀): what the shares differ by, beyond chance.
    excess: f64,
    /// Σ D: what they would differ by if each instance were all good or all bad.
    most: f64,
}

impl Spread {
    /// Adds one window: (attempts, bad) of each instance with attempts.
    pub fn add(&mut self, counts: impl Iterator<Item = (u64, u64)> + Clone) {
        let (mut n_all, mut e_all, mut seen) = (0.0, 0.0, 0);
        for (n, e) in counts.clone() {
            n_all += n as f64;
            e_all += e as f64;
            seen += 1;
        }
        if seen < 2 || e_all == 0.0 || e_all >= n_all {
            return;
        }
        let mean = e_all / n_all;
        let (mut observed, mut by_chance, mut most) = (0.0, 0.0, 0.0);
        for (n, e) in counts {
            let n = n as f64;
            let off = e as f64 / n - mean;
            observed += off * off;
            by_chance += (1.0 - n / n_all) / n;
            most += (1.0 - 1.0 / n) * (1.0 - n / n_all);
        }
        let scale = mean * (1.0 - mean);
        self.excess += observed - scale * by_chance;
        self.most += scale * most;
    }

    /// The correlation, not yet held within bounds; 0 when nothing was seen.
    pub fn rho(&self) -> f64 {
        if self.most > 0.0 { self.excess / self.most } else { 0.0 }
    }
}

/// Benjamini–Hochberg: the largest p-value that counts at the rate `q`, of `tests` tests of which `small`
/// are the ones worth mentioning (the others count as 1). None when none does.
pub fn cutoff(small: &mut [f64], tests: usize, q: f64) -> Option<f64> {
    small.sort_unstable_by(f64::total_cmp);
    let m = tests.max(small.len()) as f64;
    small.iter().enumerate().rev().find(|(i, p)| **p <= q * (*i as f64 + 1.0) / m).map(|(_, p)| *p)
}

struct BetaBinomial {
    n: f64,
    alpha: f64,
    beta: f64,
}

impl BetaBinomial {
    fn new(n: u64, mean: f64, rho: f64) -> Self {
        let mean = mean.clamp(1e-12, 1.0 - 1e-12);
        let rho = rho.clamp(1e-9, 0.999);
        let size = (1.0 - rho) / rho;
        Self { n: n as f64, alpha: mean * size, beta: (1.0 - mean) * size }
    }

    fn ln_probability(&self, k: f64) -> f64 {
        let Self { n, alpha, beta } = *self;
        let choose = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
        let above = ln_gamma(k + alpha) + ln_gamma(n - k + beta) - ln_gamma(n + alpha + beta);
        choose + above - ln_gamma(alpha) - ln_gamma(beta) + ln_gamma(alpha + beta)
    }

    /// Each term from the one before: the ratio is rational, so one logarithm is enough.
    fn up_from(&self, e: u64) -> f64 {
        let Self { n, alpha, beta } = *self;
        let mut k = e as f64;
        let (mut term, mut sum) = (1.0, 1.0);
        while k < n {
            let ratio = (n - k) * (k + alpha) / ((k + 1.0) * (n - k - 1.0 + beta));
            term *= ratio;
            sum += term;
            k += 1.0;
            // With β ≥ 1 what falls once goes on falling; with a smaller one the far end may rise again.
            if beta >= 1.0 && ratio < 1.0 && term < sum * 1e-16 {
                break;
            }
        }
        (self.ln_probability(e as f64) + f64::ln(sum)).exp().min(1.0)
    }

    fn down_from(&self, e: u64) -> f64 {
        let Self { n, alpha, beta } = *self;
        let mut k = e as f64;
        let (mut term, mut sum) = (1.0, 1.0);
        while k > 0.0 {
            let ratio = k * (n - k + beta) / ((n - k + 1.0) * (k - 1.0 + alpha));
            term *= ratio;
            sum += term;
            k -= 1.0;
            if alpha >= 1.0 && ratio < 1.0 && term < sum * 1e-16 {
                break;
            }
        }
        (self.ln_probability(e as f64) + f64::ln(sum)).exp().min(1.0)
    }
}

/// ln Γ(x) for x > 0: Stirling's series, shifted to where five terms are exact to the last digits.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 1.0);
    while x < 12.0 {
        shift *= x;
        x += 1.0;
    }
    let inv = 1.0 / x;
    let inv2 = inv * inv;
    let series = inv
        * (1.0 / 12.0
            - inv2
                * (1.0 / 360.0 - inv2 * (1.0 / 1_260.0 - inv2 * (1.0 / 1_680.0 - inv2 / 1_188.0))));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - f64::ln(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same law by another road: multiply the factors of Pólya's urn, over all orders.
    fn slow_probability(k: u64, n: u64, mean: f64, rho: f64) -> f64 {
        let size = (1.0 - rho) / rho;
        let (alpha, beta) = (mean * size, (1.0 - mean) * size);
        let mut p = 1.0;
        for i in 0..k {
            p *= (n - i) as f64 / (i + 1) as f64 * (alpha + i as f64) / (alpha + beta + i as f64);
        }
        for i in 0..n - k {
            p *= (beta + i as f64) / (alpha + beta + (k + i) as f64);
        }
        p
    }

    #[test]
    fn tails_are_the_exact_sums() {
        for (n, mean, rho) in [
            (1, 0.3, 0.1),
            (20, 0.5, 0.3),
            (50, 0.006, 0.012),
            (200, 0.01, 0.002),
            (212, 0.006, 0.011),
            (150, 0.9, 0.2),
        ] {
            for e in 0..=n {
                let exact: f64 = (e..=n).map(|k| slow_probability(k, n, mean, rho)).sum();
                let upper = upper_tail(e, n, mean, rho);
                assert!(
                    (upper - exact).abs() <= exact * 1e-9 + 1e-13,
                    "P(X ≥ {e}) of {n}: {upper} {exact}"
                );
                let exact: f64 = (0..=e).map(|k| slow_probability(k, n, mean, rho)).sum();
                let lower = lower_tail(e, n, mean, rho);
                assert!(
                    (lower - exact).abs() <= exact * 1e-9 + 1e-13,
                    "P(X ≤ {e}) of {n}: {lower} {exact}"
                );
            }
        }
    }

    #[test]
    fn without_correlation_it_is_the_binomial() {
        // 10 throws of a coin: 56 of 1,024 have eight heads or more.
        assert!((upper_tail(8, 10, 0.5, 1e-9) - 56.0 / 1_024.0).abs() < 1e-6);
        assert!((lower_tail(2, 10, 0.5, 1e-9) - 56.0 / 1_024.0).abs() < 1e-6);
    }

    #[test]
    fn small_tails_do_not_vanish_and_large_counts_do_not_break() {
        let p = upper_tail(100, 100, 0.001, 0.002);
        assert!(p > 0.0 && p < 1e-40, "{p}");
        let p = upper_tail(60_000, 1_000_000, 0.05, 0.002);
        assert!(p > 0.05 && p < 0.3, "{p}");
        assert_eq!(upper_tail(0, 10, 0.1, 0.01), 1.0);
        assert_eq!(upper_tail(11, 10, 0.1, 0.01), 0.0);
        assert_eq!(lower_tail(10, 10, 0.1, 0.01), 1.0);
    }

    #[test]
    fn the_spread_is_found_again() {
        // Two instances, 100 attempts each, 10 and 30 bad: p̄ = 0.2, S = 2 · 0.1², S₀ = 0.16 · 2 · 0.5/100,
        // D = 0.16 · 2 · 0.99 · 0.5.
        let mut spread = Spread::default();
        spread.add([(100, 10), (100, 30)].into_iter());
        let expected = (0.02 - 0.0016) / 0.1584;
        assert!((spread.rho() - expected).abs() < 1e-12, "{}", spread.rho());
        // A window without anything bad says nothing.
        spread.add([(100, 0), (100, 0)].into_iter());
        assert!((spread.rho() - expected).abs() < 1e-12);
    }

    #[test]
    fn many_tests_are_held_to_one_rate() {
        assert_eq!(cutoff(&mut [0.001, 0.02, 0.5], 3, 0.05), Some(0.02));
        assert_eq!(cutoff(&mut [0.001, 0.02, 0.5], 30, 0.05), Some(0.001));
        assert_eq!(cutoff(&mut [0.04, 0.041, 0.049, 0.05], 4, 0.05), Some(0.05));
        assert_eq!(cutoff(&mut [0.2], 1, 0.05), None);
        assert_eq!(cutoff(&mut [], 0, 0.05), None);
    }

    #[test]
    fn intervals_are_wilsons() {
        let close = |(low, high): (f64, f64), l: f64, h: f64| {
            assert!((low - l).abs() < 5e-5 && (high - h).abs() < 5e-5, "{low} {high}");
        };
        // Solutions of (p̂ − p)² = z² p (1 − p) / n.
        for (bad, n) in [(41_u64, 212_u64), (3, 3_285), (1, 60)] {
            let (low, high) = interval99(bad, n);
            for p in [low, high] {
                let off = bad as f64 / n as f64 - p;
                assert!((off * off - Z99 * Z99 * p * (1.0 - p) / n as f64).abs() < 1e-12);
            }
            assert!(low < bad as f64 / n as f64 && (bad as f64 / n as f64) < high);
        }
        close(interval99(0, 100), 0.0, 0.062_222);
        close(interval99(100, 100), 1.0 - 0.062_222, 1.0);
        assert_eq!(interval99(0, 0), (0.0, 1.0));
    }
}
