//! A pool of instances that is made up: requests by chance from a seed.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::domain::fleet::cell::{Cell, Window};

/// Share of requests by route class, and what its median takes in µs.
const ROUTES: [(&str, f64, f64); 4] = [
    ("GET /", 0.4, 20_000.0),
    ("GET /items/*", 0.3, 35_000.0),
    ("POST /cart", 0.2, 60_000.0),
    ("POST /checkout", 0.1, 120_000.0),
];
/// Latencies are log-normal with this deviation.
const SIGMA: f64 = 0.6;
/// Honest differences between instances: ± 8 %.
const FACTOR: f64 = 0.08;
/// What clients ask for in vain, everywhere alike.
const NOT_FOUND: f64 = 0.01;

/// What is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub instances: usize,
    /// Attempts a window and instance, on average.
    pub attempts: f64,
    /// Share of attempts that fails in a healthy pool.
    pub base: f64,
    /// Correlation of failures within an instance and a window, drawn anew for each.
    pub rho: f64,
}

/// How one instance is in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Health {
    pub fails: f64,
    pub slower: f64,
}

/// A pool that goes on from window to window.
pub(super) struct Pool {
    rng: Xoshiro256PlusPlus,
    shape: Shape,
    factors: Vec<f64>,
    quantiles: Vec<f64>,
    index: i64,
}

impl Pool {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let factors =
            (0..shape.instances).map(|_| 1.0 + FACTOR * (2.0 * rng.random::<f64>() - 1.0));
        let factors = factors.collect();
        let mut quantiles: Vec<f64> =
            (0..4_096).map(|_| (SIGMA * normal(&mut rng)).exp()).collect();
        quantiles.sort_unstable_by(f64::total_cmp);
        Self { rng, shape, factors, quantiles, index: 0 }
    }

    pub(super) fn name(instance: usize) -> String {
        format!("10.9.0.{}:8080", instance + 11)
    }

    /// As it should be.
    pub(super) fn well(&self) -> Vec<Health> {
        vec![Health { fails: self.shape.base, slower: 1.0 }; self.shape.instances]
    }

    /// The next window; `mix` gives one instance's shares of the route classes when they are not the
    /// usual ones, and `fails` what a route class adds to the share of failures.
    pub(super) fn window(&mut self, health: &[Health]) -> Window {
        self.window_of(health, |_, route| (ROUTES[route].1, 0.0))
    }

    /// The same with another mix: shares and added failures by instance and route class.
    pub(super) fn window_of(
        &mut self,
        health: &[Health],
        routes: impl Fn(usize, usize) -> (f64, f64),
    ) -> Window {
        let mut window = Window::new(self.index);
        self.index += 1;
        for (i, health) in health.iter().enumerate() {
            let n = poisson(&mut self.rng, self.shape.attempts);
            let fails = beta(&mut self.rng, health.fails, self.shape.rho);
            let mut cells: Vec<Cell> = vec![Cell::default(); ROUTES.len()];
            let shares: Vec<(f64, f64)> = (0..ROUTES.len()).map(|route| routes(i, route)).collect();
            for _ in 0..n {
                let route = choose(&mut self.rng, &shares);
                let micros = self.quantiles[(self.rng.random::<u32>() & 4_095) as usize];
                let micros = micros * ROUTES[route].2 * self.factors[i] * health.slower;
                add(&mut self.rng, &mut cells[route], fails + shares[route].1, micros, route);
            }
            let cells = cells.into_iter().enumerate().filter(|(_, cell)| cell.attempts > 0);
            let cells = cells.map(|(route, cell)| (ROUTES[route].0.to_owned(), cell)).collect();
            window.cells.insert(Self::name(i), cells);
        }
        window
    }
}

fn add(rng: &mut Xoshiro256PlusPlus, cell: &mut Cell, fails: f64, micros: f64, route: usize) {
    cell.attempts += 1;
    cell.latency.add(micros as u32);
    let chance = rng.random::<f64>();
    let code = if chance < fails {
        cell.faults.status += 1;
        500
    } else if chance > 1.0 - NOT_FOUND {
        404
    } else {
        if route < 2 {
            cell.sizes.add(2_000 + (chance * 4_000.0) as u32);
        }
        200
    };
    *cell.codes.entry(code).or_default() += 1;
}

fn choose(rng: &mut Xoshiro256PlusPlus, shares: &[(f64, f64)]) -> usize {
    let all: f64 = shares.iter().map(|(share, _)| share).sum();
    let mut left = rng.random::<f64>() * all;
    for (route, (share, _)) in shares.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return route;
        }
    }
    shares.len() - 1
}

fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// Knuth's way for small means; for large ones the normal law is near enough.
fn poisson(rng: &mut Xoshiro256PlusPlus, mean: f64) -> u64 {
    if mean > 100.0 {
        return (mean + mean.sqrt() * normal(rng)).round().max(0.0) as u64;
    }
    let limit = (-mean).exp();
    let (mut count, mut product) = (0, rng.random::<f64>());
    while product > limit {
        count += 1;
        product *= rng.random::<f64>();
    }
    count
}

/// A share with this mean and intraclass correlation.
fn beta(rng: &mut Xoshiro256PlusPlus, mean: f64, rho: f64) -> f64 {
    if rho <= 0.0 || mean <= 0.0 || mean >= 1.0 {
        return mean;
    }
    let size = (1.0 - rho) / rho;
    let (a, b) = (gamma(rng, mean * size), gamma(rng, (1.0 - mean) * size));
    if a + b > 0.0 { a / (a + b) } else { mean }
}

/// Marsaglia and Tsang; a shape under 1 is boosted.
fn gamma(rng: &mut Xoshiro256PlusPlus, shape: f64) -> f64 {
    if shape < 1.0 {
        let boost = (1.0 - rng.random::<f64>()).powf(1.0 / shape);
        return gamma(rng, shape + 1.0) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - rng.random::<f64>()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}
