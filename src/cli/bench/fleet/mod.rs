//! How often the findings engine is wrong about healthy pools, and how soon it is right about ill ones:
//! simulated, from seeds, so that a run can be repeated.

mod measure;
mod pool;
#[cfg(test)]
mod tests;

use std::time::Instant;

use super::super::term::{Term, pad, pad_left, thousands};
use measure::{detection, exactly, healthy, outage, times};
use pool::{Health, Shape};

/// At most this share of healthy pool-minutes may have a finding of any kind.
const LIMIT: f64 = 0.002;
const INSTANCES: [usize; 4] = [3, 5, 10, 20];
const ATTEMPTS: [f64; 3] = [60.0, 200.0, 1_000.0];
const BASES: [f64; 3] = [0.001, 0.005, 0.01];
const RHOS: [f64; 3] = [0.0, 0.002, 0.01];
const HOUR: usize = 60;

#[derive(Debug, Clone, clap::Args)]
pub struct FleetArgs {
    /// Simulated hours of each healthy pool.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) seeds: u64,
    /// Runs of each fault.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) runs: u64,
}

pub(super) fn run(term: &Term, args: &FleetArgs) -> anyhow::Result<bool> {
    let holds = print_healthy(term, args.seeds)?;
    print_outages(term, args.runs)?;
    print_several(term, args.runs)?;
    print_one(term, args.runs)?;
    print_speed(term)?;
    Ok(holds)
}

fn print_healthy(term: &Term, seeds: u64) -> anyhow::Result<bool> {
    term.print(&format!(
        "fleet  healthy pools, {} each: minutes with any finding\n\n  \
         instances  attempts/min  base     spread      minutes  with finding\n",
        super::super::term::counted(seeds as usize, "hour", "hours"),
    ))?;
    let (mut minutes, mut wrong, mut worst) = (0, 0, 0.0_f64);
    for instances in INSTANCES {
        for attempts in ATTEMPTS {
            for base in BASES {
                for rho in RHOS {
                    let shape = Shape { instances, attempts, base, rho };
                    let found = healthy(shape, 0..seeds, HOUR);
                    let all = seeds as usize * HOUR;
                    worst = worst.max(found as f64 / all as f64);
                    (minutes, wrong) = (minutes + all, wrong + found);
                    term.print(&format!(
                        "  {}  {}  {}  {}  {}  {}\n",
                        pad_left(&instances.to_string(), 9),
                        pad_left(&thousands(attempts as u64), 12),
                        pad(&share(base), 7),
                        pad(&rho.to_string(), 8),
                        pad_left(&thousands(all as u64), 9),
                        pad_left(&share(found as f64 / all as f64), 12),
                    ))?;
                }
            }
        }
    }
    let all = wrong as f64 / minutes as f64;
    let holds = all <= LIMIT;
    term.print(&format!(
        "\n  all pools {}, worst {}   limit {}: {}\n\n",
        share(all),
        share(worst),
        share(LIMIT),
        if holds { "holds" } else { "does not hold" },
    ))?;
    Ok(holds)
}

fn print_outages(term: &Term, runs: u64) -> anyhow::Result<()> {
    term.print("outages of all alike      called shared within 10 min   somebody blamed\n")?;
    for instances in INSTANCES {
        for attempts in ATTEMPTS {
            for level in [0.1, 0.3, 0.45] {
                let shape = Shape { instances, attempts, base: 0.005, rho: 0.01 };
                let found = outage(shape, level, 0..runs);
                let part = |count: usize| share(count as f64 / found.runs as f64);
                term.print(&format!(
                    "  {} × {}/min fail {}  {}  {}\n",
                    pad_left(&instances.to_string(), 2),
                    pad_left(&thousands(attempts as u64), 5),
                    pad(&share(level), 5),
                    pad_left(&part(found.shared), 24),
                    pad_left(&part(found.blamed), 15),
                ))?;
            }
        }
    }
    Ok(())
}

fn print_several(term: &Term, runs: u64) -> anyhow::Result<()> {
    term.print("\nsome of them fail         exactly these are named\n")?;
    for (instances, bad, attempts, level) in [
        (4, 2, 200.0, 0.3),
        (5, 2, 200.0, 0.3),
        (4, 2, 60.0, 0.3),
        (5, 2, 60.0, 0.3),
        (4, 2, 60.0, 0.1),
        (10, 3, 200.0, 0.3),
    ] {
        let shape = Shape { instances, attempts, base: 0.005, rho: 0.002 };
        let (right, all) = exactly(shape, bad, level, 0..runs);
        term.print(&format!(
            "  {bad} of {} × {}/min fail {}  {}\n",
            pad_left(&instances.to_string(), 2),
            pad_left(&thousands(attempts as u64), 5),
            pad(&share(level), 5),
            pad_left(&share(right as f64 / all as f64), 15),
        ))?;
    }
    Ok(())
}

fn print_one(term: &Term, runs: u64) -> anyhow::Result<()> {
    term.print("\none of ten                median   within 5 min\n")?;
    for (attempts, fails, slower) in [
        (200.0, 0.1, 1.0),
        (1_000.0, 0.05, 1.0),
        (200.0, 1.0, 1.0),
        (60.0, 1.0, 1.0),
        (60.0, 0.3, 1.0),
        (60.0, 0.05, 1.0),
        (60.0, 0.005, 2.0),
        (200.0, 0.005, 2.0),
        (200.0, 0.005, 3.0),
    ] {
        let shape = Shape { instances: 10, attempts, base: 0.005, rho: 0.002 };
        let found = detection(shape, Health { fails, slower }, 0..runs);
        let (median, within) = times(&found, 5);
        term.print(&format!(
            "  {}/min, fails {}, × {slower}  {}  {}\n",
            pad_left(&thousands(attempts as u64), 5),
            pad(&share(fails), 5),
            pad_left(&median.map_or("none".to_owned(), |at| format!("{at}\u{a0}min")), 7),
            pad_left(&share(within), 13),
        ))?;
    }
    Ok(())
}

fn print_speed(term: &Term) -> anyhow::Result<()> {
    let shape = Shape { instances: 20, attempts: 1_000.0, base: 0.005, rho: 0.002 };
    let mut watched = measure::Watched::settled(shape, 1);
    let well = watched.pool.well();
    let windows: Vec<_> = (0..200).map(|_| widen(watched.pool.window(&well))).collect();
    let begun = Instant::now();
    let count = windows.len();
    for window in windows {
        watched.judge(window);
    }
    let each_us = begun.elapsed().as_secs_f64() * 1e6 / count as f64;
    term.print(&format!(
        "\none window of 20 instances × 20 route classes is judged in {each_us:.0} µs\n"
    ))?;
    Ok(())
}

/// Each route class as five, so that there are twenty.
fn widen(mut window: crate::domain::fleet::cell::Window) -> crate::domain::fleet::cell::Window {
    for cells in window.cells.values_mut() {
        let five = |(route, cell)| {
            (0..5).map(move |part| (format!("{route} {part}"), Clone::clone(&cell)))
        };
        *cells = std::mem::take(cells).into_iter().flat_map(five).collect();
    }
    window
}

fn share(share: f64) -> String {
    format!("{}\u{a0}%", (share * 100_000.0).round() / 1_000.0)
}
