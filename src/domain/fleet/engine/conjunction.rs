//! What only several signs together tell: a black hole, a wrong code.

use std::collections::BTreeMap;

use super::grid::{ENOUGH, QUANTUM_US, share};
use super::judge::{Hit, Judge, Round, Subject};
use super::outcome::Outcome;

/// A black hole answers in at most this part of its peers' median and has this many times their share of
/// requests, or of its own before.
const QUICK: f64 = 0.5;
const DRAWS: f64 = 1.3;
/// Codes that blame the client for what was asked.
const CLIENTS_FAULT: [u16; 10] = [400, 403, 404, 405, 409, 410, 413, 414, 415, 422];

/// Adds medians and traffic to what was found of instances, and what follows from them. `holes`: who is a
/// black hole already and stays one while it is bad.
pub(super) fn conclude(
    judge: &Judge<'_>,
    weights: &BTreeMap<String, f64>,
    holes: &[String],
    round: &mut Round,
) {
    let mut found = Vec::new();
    for hit in &mut round.hits {
        let Subject::Instance(name) = &hit.subject else { continue };
        let Some(i) = judge.grid.rows.iter().position(|row| row.name == name) else { continue };
        let peers: Vec<usize> = (0..judge.grid.rows.len())
            .filter(|j| *j != i && judge.usable[*j] && judge.grid.rows[*j].all.attempts >= ENOUGH)
            .collect();
        let slots: Vec<usize> = (0..judge.grid.routes.len()).collect();
        if let Some((own, theirs)) = judge.grid.quantiles(i, &peers, &slots, 0.5) {
            hit.numbers.p50_us = Some(own);
            hit.numbers.peers_p50_us = Some(theirs);
        }
        if hit.numbers.p90_us.is_none()
            && let Some((own, theirs)) = judge.grid.quantiles(i, &peers, &slots, 0.9)
        {
            hit.numbers.p90_us = Some(own);
            hit.numbers.peers_p90_us = Some(theirs);
        }
        hit.numbers.traffic = traffic(judge, weights, i, &peers);
        hit.numbers.wrong_code = is_wrong_code(judge, hit, i, &peers);
        let quick =
            hit.numbers.p50_us.zip(hit.numbers.peers_p50_us).is_some_and(|(own, theirs)| {
                theirs >= f64::from(QUANTUM_US) && own <= QUICK * theirs
            });
        let draws = hit.numbers.traffic.is_some_and(|traffic| traffic >= DRAWS)
            || more_than_usual(judge, i, &peers) >= DRAWS;
        let parts = matches!(hit.outcome, Outcome::Errors | Outcome::Blank | Outcome::Code(400..));
        // Who refuses connections is seen by every balancer, and is quick for another reason.
        let refuses = hit.numbers.connect * 2 > hit.numbers.bad;
        if parts && !refuses && (holes.contains(name) || (quick && draws)) {
            let mut numbers = hit.numbers.clone();
            numbers.part = Some(hit.outcome);
            numbers.at_once = true;
            let subject = hit.subject.clone();
            found.push(Hit { outcome: Outcome::BlackHole, subject, numbers });
        }
    }
    // Bad in several ways at once: one hole, told by the first.
    found.dedup_by(|later, first| later.subject == first.subject);
    round.hits.extend(found);
}

/// Attempts of a row for its weight beside the median of others for theirs.
fn traffic(
    judge: &Judge<'_>,
    weights: &BTreeMap<String, f64>,
    i: usize,
    peers: &[usize],
) -> Option<f64> {
    let weighed = |j: usize| {
        let row = &judge.grid.rows[j];
        let weight = weights.get(row.name).copied().filter(|weight| *weight > 0.0);
        row.all.attempts as f64 / weight.unwrap_or(1.0)
    };
    let mut others: Vec<f64> = peers.iter().map(|j| weighed(*j)).collect();
    others.sort_unstable_by(f64::total_cmp);
    let median = others.get(others.len() / 2).copied().filter(|median| *median > 0.0)?;
    Some(weighed(i) / median)
}

/// The same, beside its own traffic over the baseline, both against the same peers.
fn more_than_usual(judge: &Judge<'_>, i: usize, peers: &[usize]) -> f64 {
    let usual = |j: usize| judge.history.usual_traffic(judge.grid.rows[j].id);
    let (mut now, mut before) = (0.0, 0.0);
    for j in peers {
        let Some(usual) = usual(*j) else { continue };
        now += judge.grid.rows[*j].all.attempts as f64;
        before += usual;
    }
    match usual(i) {
        Some(usual) if usual > 0.0 && now > 0.0 => {
            (judge.grid.rows[i].all.attempts as f64 / usual) / (now / before)
        }
        _ => 0.0,
    }
}

/// A code that blames clients whose like the peers serve, or fail with a 5xx.
fn is_wrong_code(judge: &Judge<'_>, hit: &Hit, i: usize, peers: &[usize]) -> bool {
    let Outcome::Code(code) = hit.outcome else { return false };
    if !CLIENTS_FAULT.contains(&code) {
        return false;
    }
    let peers = peers.iter().map(|j| judge.errors.flat[*j]);
    let peers_fail = share(peers.fold((0, 0), |sum, (n, e)| (sum.0 + n, sum.1 + e)));
    let fails_alike = peers_fail >= 0.01 && share(judge.errors.flat[i]) * 3.0 < peers_fail;
    fails_alike || hit.numbers.share() >= 10.0 * hit.numbers.expected
}
