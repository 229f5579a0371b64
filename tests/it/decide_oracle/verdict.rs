//! What the locations say together (5.3, 5.4).

use std::collections::BTreeSet;

use super::scenario::{Quorum, SECOND, Scenario};
use super::vote::{Vote, Word};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    Insufficient,
    DownLow,
    Down,
    Partial,
    DegradedSlow,
    DegradedIntermittent,
    Up,
    Undecided,
}

#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) raw: Raw,
    /// How many votes count.
    pub(super) e: i64,
    /// How many it takes.
    pub(super) q: i64,
    /// The places that are down, by index.
    pub(super) down: Vec<usize>,
    pub(super) flag: Option<String>,
}

/// The places that are left out, and whether there are too many to leave any out.
pub(super) fn quarantined(scenario: &Scenario) -> (Vec<usize>, bool) {
    let cap = (scenario.places.len() as i64 - 1).div_euclid(2).max(0);
    let unwell: BTreeSet<usize> = scenario.impaired.iter().copied().collect();
    if unwell.len() as i64 > cap {
        (Vec::new(), true)
    } else {
        (unwell.into_iter().collect(), false)
    }
}

pub(super) fn verdict(scenario: &Scenario, votes: &[Option<Vote>], now: i64) -> Verdict {
    let s = &scenario.settings;
    let (left_out, _) = quarantined(scenario);
    let eligible: Vec<(usize, &Vote)> = votes
        .iter()
        .enumerate()
        .filter_map(|(place, vote)| Some((place, vote.as_ref()?)))
        .filter(|(place, vote)| now - vote.last <= s.stale_after() && !left_out.contains(place))
        .collect();
    let with = |word: Word| -> Vec<usize> {
        eligible.iter().filter(|(_, vote)| vote.word == word).map(|(place, _)| *place).collect()
    };
    let domains = |of: &[usize]| {
        of.iter().map(|place| &scenario.places[*place].domain).collect::<BTreeSet<_>>().len() as i64
    };
    let regions = |of: &[usize]| {
        of.iter().map(|place| &scenario.places[*place].region).collect::<BTreeSet<_>>().len() as i64
    };
    let everybody: Vec<usize> = (0..scenario.places.len()).collect();
    let counted: Vec<usize> = eligible.iter().map(|(place, _)| *place).collect();

    let n = scenario.places.len() as i64;
    let e = counted.len() as i64;
    let down = with(Word::Down);
    let d = down.len() as i64;
    let slow = with(Word::Slow).len() as i64;
    let up = with(Word::Up).len() as i64 + slow;

    let least = n.min(2.max(n / 2 + 1));
    let q = match s.quorum {
        Quorum::Majority => s.min_agree.min(n).max(e / 2 + 1),
        Quorum::Any => 1,
        Quorum::All => e.max(1),
        // Where nobody is eligible, one is still asked for.
        Quorum::AtLeast(k) => k.min(e).max(1),
        Quorum::Percent(p) => ((p * e + 99) / 100).max(1),
    };
    let q_up = if s.quorum == Quorum::Majority { q } else { e - q + 1 };
    let (mut nd, mut nr) =
        (s.min_domains.min(domains(&everybody)), s.min_regions.min(regions(&counted)));
    if s.quorum == Quorum::Any {
        (nd, nr) = (1, 1);
    }

    let unanimous = e >= 2 && d == e;
    let raw = if e < least {
        if unanimous && domains(&down) >= nd { Raw::DownLow } else { Raw::Insufficient }
    } else if d >= q && domains(&down) >= nd {
        if regions(&down) >= nr { Raw::Down } else { Raw::Partial }
    } else if d >= s.partial_min && domains(&down) >= nd {
        Raw::Partial
    } else if unanimous {
        Raw::DownLow
    } else if up >= q_up {
        if slow >= q_up {
            Raw::DegradedSlow
        } else if is_intermittent(scenario, &eligible, q_up, now) {
            Raw::DegradedIntermittent
        } else {
            Raw::Up
        }
    } else {
        Raw::Undecided
    };
    let flag = match raw {
        Raw::Up if d == 1 => Some(format!("local:{}", scenario.places[down[0]].name)),
        Raw::Up if d >= 2 => Some("domain_suspect".to_owned()),
        Raw::Undecided if d >= q => Some("domain_suspect".to_owned()),
        _ => None,
    };
    Verdict { raw, e, q, down, flag }
}

/// A fifth of what was seen lately were fails that came to nothing, at enough places.
fn is_intermittent(scenario: &Scenario, eligible: &[(usize, &Vote)], q_up: i64, now: i64) -> bool {
    let window = (15 * 60 * SECOND).max(20 * scenario.settings.interval / eligible.len() as i64);
    let recent = |at: i64| now - at <= window;
    let (mut all, mut short, mut places) = (0, 0, 0);
    for (_, vote) in eligible {
        let mut short_here = 0;
        for run in &vote.runs {
            let within = run.iter().filter(|at| recent(**at)).count();
            all += within;
            if (run.len() as i64) < scenario.settings.fail_after {
                short_here += within;
            }
        }
        all += vote.passes.iter().filter(|pass| recent(pass.at)).count();
        short += short_here;
        places += i64::from(short_here > 0);
    }
    all >= 20 && short * 5 >= all && places >= q_up
}
