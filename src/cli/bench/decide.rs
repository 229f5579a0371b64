//! How fast a decision is, without a database.

use std::time::Instant;

use super::super::term::Term;
use crate::domain::Millis;
use crate::domain::decision::{self, Inputs, Live, Seat, Seen, Standing};
use crate::domain::ids::LocationKey;
use crate::domain::monitor::Policy;
use crate::domain::observation::Outcome;

/// A steady pass may cost this much, reading and writing the stored form included.
const LIMIT_US: f64 = 50.0;
const ROUNDS: usize = 200_000;

pub(super) fn run(term: &Term) -> anyhow::Result<bool> {
    let policy = Policy::defaults(60_000, 10_000, 5);
    let seats = seats(5);
    let mut live = Live::default();
    let mut now: Millis = 1_700_000_000_000;
    for _ in 0..200 {
        now += 12_000;
        step(&mut live, &policy, &seats, now);
    }
    let text = serde_json::to_string(&live)?;

    let begun = Instant::now();
    for _ in 0..ROUNDS {
        now += 12_000;
        step(&mut live, &policy, &seats, now);
    }
    let fold_us = begun.elapsed().as_secs_f64() * 1e6 / ROUNDS as f64;

    let begun = Instant::now();
    let mut stored = text.clone();
    for _ in 0..ROUNDS {
        now += 12_000;
        let mut live: Live = serde_json::from_str(&stored)?;
        step(&mut live, &policy, &seats, now);
        stored = serde_json::to_string(&live)?;
    }
    let whole_us = begun.elapsed().as_secs_f64() * 1e6 / ROUNDS as f64;

    let holds = whole_us <= LIMIT_US;
    term.print(&format!(
        "decide  steady passes, 5 locations, every 60 s\n\n  \
         fold and decide          {fold_us:8.2} µs\n  \
         with reading and writing {whole_us:8.2} µs   limit {LIMIT_US} µs: {}\n  \
         stored state             {:8} bytes\n",
        if holds { "holds" } else { "does not hold" },
        text.len(),
    ))?;
    Ok(holds)
}

fn step(live: &mut Live, policy: &Policy, seats: &[Seat], now: Millis) {
    let turn = usize::try_from(now / 12_000).unwrap_or_default() % seats.len();
    let seen = [Seen::new(seats[turn].key, now, Outcome::Pass)];
    let inputs = Inputs {
        policy,
        check_version: 0,
        seats,
        windows: &[],
        over_cap: false,
        grace_until: None,
        now,
    };
    std::hint::black_box(decision::step(live, &inputs, &seen));
}

/// `count` locations in a region and a failure domain each.
pub(super) fn seats(count: i16) -> Vec<Seat> {
    (1..=count)
        .map(|key| Seat {
            key: LocationKey(key),
            name: format!("location {key}"),
            region: format!("region {key}"),
            domain: format!("network {key}"),
            standing: Standing::Counted,
        })
        .collect()
}
