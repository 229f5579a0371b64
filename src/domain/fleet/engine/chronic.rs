//! Whether an instance has been like this all day.

use super::grid::share;
use super::marks::Mark;
use super::outcome::Outcome;
use super::state::Quarter;

/// So much of a day, and of an instance's attempts in it, is enough to speak of a habit.
const QUARTERS: usize = 8;
const ATTEMPTS: u64 = 200;
/// The same: at least this part of how much it exceeds its peers now.
const SAME: f64 = 0.5;

/// Whether the instance's quarters of an hour before `from_us` show it as far from its peers as now.
pub(super) fn is_chronic(mark: &Mark, history: &[Quarter], from_us: i64) -> bool {
    let Some(name) = mark.instance() else { return false };
    let before: Vec<&Quarter> = history
        .iter()
        .filter(|quarter| quarter.start_us + super::state::QUARTER_US <= from_us)
        .collect();
    let own_quarters = before.iter().filter(|quarter| quarter.cells.contains_key(name)).count();
    if own_quarters < QUARTERS {
        return false;
    }
    match mark.numbers.part.unwrap_or(mark.outcome) {
        Outcome::Latency => is_slow(mark, name, &before),
        Outcome::Blank | Outcome::BlackHole => false,
        outcome => {
            let (mut own, mut peers) = ((0, 0), (0, 0));
            for (instance, cell) in before.iter().flat_map(|quarter| &quarter.cells) {
                let e = match outcome {
                    Outcome::Code(code) => cell.codes.get(&code).copied().unwrap_or_default(),
                    _ => cell.errors(),
                };
                let sum = if instance == name { &mut own } else { &mut peers };
                *sum = (sum.0 + cell.attempts, sum.1 + e.min(cell.attempts));
            }
            let times = |own: f64, peers: f64| own / peers.max(0.001);
            let now = times(mark.numbers.share(), mark.numbers.expected);
            own.0 >= ATTEMPTS && times(share(own), share(peers)) >= (SAME * now).max(3.0)
        }
    }
}

fn is_slow(mark: &Mark, name: &str, before: &[&Quarter]) -> bool {
    let mut own = crate::domain::sketch::Sketch::default();
    let mut peers = own.clone();
    for (instance, cell) in before.iter().flat_map(|quarter| &quarter.cells) {
        if instance == name { own.merge(&cell.latency) } else { peers.merge(&cell.latency) }
    }
    let (Some(p90), Some(peers)) = (own.quantile(0.9), peers.quantile(0.9)) else { return false };
    let now = match (mark.numbers.p90_us, mark.numbers.peers_p90_us) {
        (Some(own), Some(peers)) if peers > 0.0 => own / peers,
        _ => return false,
    };
    own.count() >= ATTEMPTS && f64::from(p90) / f64::from(peers.max(1)) >= (SAME * now).max(1.5)
}
