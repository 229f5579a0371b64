//! One tick (spec: decision 5.11): fold everything in the order of arrival, take one verdict, make at
//! most one transition, then look at the end of maintenance.

use super::state::{Due, State};
use super::verdict::{self, Raw, Verdict, counted};
use super::vote::{Vote, VoteState};
use super::wake::standpoint;
use super::{
    Disposition, Event, First, FirstKind, HistoryOnly, Inputs, Live, Seat, Seen, StaleChange,
    Standing, StateChange, Step, VoteChange, What, explain, wake,
};
use crate::domain::ids::LocationKey;
use crate::domain::incident::{self, Ending, Incident, Past, Severity};
use crate::domain::monitor::Policy;
use crate::domain::observation::{Outcome, RunKind};
use crate::domain::{Millis, maintenance};

/// How long one location may be alone in down before its vote is set aside on that monitor.
const DIVERGENT_AFTER: Millis = 24 * 3_600_000;

/// Decides: folds what came in and says what follows. Call it when reports come and at `wake_at`; more
/// often changes nothing.
pub fn step(live: &mut Live, inputs: &Inputs<'_>, seen: &[Seen]) -> Step {
    let now = inputs.now.max(live.folded_at);
    live.votes.retain(|vote| inputs.seats.iter().any(|seat| seat.key == vote.location));
    let mut changes = Vec::new();
    let mut firsts = Vec::new();
    let folded = fold_all(live, inputs, seen, &mut changes, &mut firsts);
    live.folded_at = now;
    let verdict = verdict::judge(live, inputs, now);
    let mut step = Step { folded, vote_changes: changes, firsts, ..Step::at(now, verdict) };
    if live.state == State::Paused {
        return step;
    }
    conclude(live, inputs, &mut step, None);
    step.wake_at = wake::next(live, inputs, &step.verdict, now);
    if !step.is_quiet() {
        step.why = explain::why(live, inputs, &step);
    }
    step
}

/// From the verdict on: timers, at most one transition, the end of maintenance, marks. `evidence` says when
/// it began, where the votes do not.
pub(super) fn conclude(
    live: &mut Live,
    inputs: &Inputs<'_>,
    step: &mut Step,
    evidence: Option<Millis>,
) {
    let (from, now) = (standpoint(live, inputs), step.at);
    live.timers.tick(&step.verdict, from, now);
    if let Some(due) = live.timers.due(&step.verdict, from, now) {
        let began = evidence.unwrap_or(due.began);
        transit(live, inputs, step, Due { began, ..due });
    }
    announce(live, inputs, step);
    settle(live, inputs, step);
}

fn fold_all(
    live: &mut Live,
    inputs: &Inputs<'_>,
    seen: &[Seen],
    changes: &mut Vec<VoteChange>,
    firsts: &mut Vec<First>,
) -> Vec<Disposition> {
    let mut folded = vec![Disposition::Folded; seen.len()];
    let mut fold_at = |index: usize, live: &mut Live| {
        if let (Some(seen), Some(slot)) = (seen.get(index), folded.get_mut(index)) {
            *slot = fold_one(live, inputs, seen, changes, firsts);
        }
    };
    if seen.is_sorted_by_key(|seen| seen.received) {
        (0..seen.len()).for_each(|index| fold_at(index, live));
    } else {
        let mut order: Vec<(Millis, usize)> =
            seen.iter().enumerate().map(|(at, seen)| (seen.received, at)).collect();
        order.sort_unstable();
        order.iter().for_each(|(_, index)| fold_at(*index, live));
    }
    folded
}

fn fold_one(
    live: &mut Live,
    inputs: &Inputs<'_>,
    seen: &Seen,
    changes: &mut Vec<VoteChange>,
    firsts: &mut Vec<First>,
) -> Disposition {
    let seat = match admit(live, inputs, seen) {
        Ok(seat) => seat,
        Err(reason) => return Disposition::History(reason),
    };
    let state = live.state;
    let place = match live.place(seen.location) {
        Ok(place) => place,
        Err(place) => {
            live.votes.insert(place, Vote::of(seen.location));
            place
        }
    };
    let Some(vote) = live.votes.get_mut(place) else {
        return Disposition::History(HistoryOnly::NotConfigured);
    };
    let effect = vote.fold(seen, inputs.policy, keep(inputs.policy, inputs.seats.len()));
    if effect.from != effect.to {
        changes.push(VoteChange {
            location: seen.location,
            from: effect.from,
            to: effect.to,
            at: seen.at,
        });
    }
    if seat.standing == Standing::Counted {
        let kind = if effect.first_fail && state != State::Down {
            Some(FirstKind::Fail)
        } else if effect.first_pass_at_down {
            Some(FirstKind::Pass)
        } else {
            None
        };
        firsts.extend(kind.map(|kind| First { location: seen.location, kind }));
    }
    if effect.freshness_only { Disposition::FreshnessOnly } else { Disposition::Folded }
}

/// The door of 5.1: what is kept as history only, and why.
fn admit<'a>(live: &Live, inputs: &Inputs<'a>, seen: &Seen) -> Result<&'a Seat, HistoryOnly> {
    let seat = inputs
        .seats
        .iter()
        .find(|seat| seat.key == seen.location)
        .ok_or(HistoryOnly::NotConfigured)?;
    let vote = live.vote(seen.location).filter(|vote| vote.state != VoteState::None);
    let reason = if live.state == State::Paused {
        HistoryOnly::Paused
    } else if seen.kind == RunKind::Manual {
        HistoryOnly::Manual
    } else if seen.outcome == Outcome::Error {
        HistoryOnly::Error
    } else if seen.age_estimated {
        HistoryOnly::AgeEstimated
    } else if seen.check_version < inputs.check_version
        || vote.is_some_and(|vote| seen.check_version < vote.version)
    {
        HistoryOnly::OldVersion
    } else if seen.received - seen.at > inputs.policy.stale_after {
        HistoryOnly::TooOld
    } else if vote.is_some_and(|vote| seen.at <= vote.last) {
        HistoryOnly::OutOfOrder
    } else {
        return Ok(seat);
    };
    Err(reason)
}

/// Seconds of history that the intermittent rule can ever look at.
fn keep(policy: &Policy, n: usize) -> i64 {
    verdict::intermittent_window(policy.interval, verdict::emin(n)) / 1000 + 1
}

fn transit(live: &mut Live, inputs: &Inputs<'_>, step: &mut Step, due: Due) {
    let now = step.at;
    let from = live.state;
    if due.to == State::Up && live.incident.is_some() && live.flaps.holds(now) {
        live.flaps.flapping = true;
        live.timers.restart_milder(now);
        let suppressed = silent(live, inputs, now);
        step.events.push(Event { at: now, suppressed, what: What::FlapStart });
        return;
    }
    let since = began(live, inputs, due, now);
    let what = match (due.to.severity(), &live.incident) {
        (Some(severity), None) => Some(open(live, inputs, &step.verdict, severity, since, now)),
        (Some(severity), Some(incident)) => moved(incident.severity, severity),
        (None, Some(_)) if due.to == State::Up => Some(resolve(live, since)),
        (None, _) => None,
    };
    let what = what.or(match (from, due.to) {
        (_, State::Unknown) => Some(What::Blind),
        (State::Unknown, _) => Some(What::BlindEnd),
        _ => None,
    });
    if let Some(what) = what {
        let suppressed = silent(live, inputs, now);
        step.events.push(Event { at: now, suppressed, what });
    }
    settle_incident(live, what, due.to, now);
    step.state_change = Some(enter(live, due.to, since, now));
    let to = standpoint(live, inputs);
    live.timers.moved(from, to);
}

/// Records an opening or an ending, and lets the incident follow the state.
fn settle_incident(live: &mut Live, what: Option<What>, to: State, now: Millis) {
    match what {
        Some(What::Opened { .. } | What::Reopened { .. }) => live.flaps.record(now),
        Some(What::Resolved { ending, .. }) => {
            if let Some(incident) = live.incident.take() {
                live.past = Some(past(&incident, now));
            }
            match ending {
                Ending::FlapEnd => live.flaps.end(),
                _ => live.flaps.record(now),
            }
        }
        _ => {}
    }
    if let (Some(incident), Some(severity)) = (&mut live.incident, to.severity()) {
        incident.severity = severity;
    }
}

/// Whether what happens now is kept silent: everything about an incident nobody was told of, and
/// everything inside a window while there is none that people know.
fn silent(live: &Live, inputs: &Inputs<'_>, now: Millis) -> bool {
    match &live.incident {
        Some(incident) => !incident.announced,
        None => maintenance::quiet(inputs.windows, inputs.policy.interval, now),
    }
}

/// When the state that is entered now began, by the evidence.
fn began(live: &Live, inputs: &Inputs<'_>, due: Due, now: Millis) -> Millis {
    let stale_after = inputs.policy.stale_after;
    match due.to {
        State::Partial | State::Down if due.to.severity() > live.state.severity() => {
            let runs = counted(live, inputs, now)
                .filter(|c| c.vote.state == VoteState::Down)
                .filter_map(|c| c.vote.fails_since);
            incident::started_at(runs, due.began, stale_after).unwrap_or(due.began)
        }
        State::Up if live.incident.is_some() => {
            let runs = counted(live, inputs, now)
                .filter(|c| matches!(c.vote.state, VoteState::Up | VoteState::Slow))
                .filter_map(|c| c.vote.passes_since);
            incident::ended_at(runs, due.began, stale_after)
        }
        _ => due.began,
    }
}

fn open(
    live: &mut Live,
    inputs: &Inputs<'_>,
    verdict: &Verdict,
    severity: Severity,
    since: Millis,
    now: Millis,
) -> What {
    let interval = inputs.policy.interval;
    let quiet = maintenance::quiet(inputs.windows, interval, now);
    let past = live.past.take_if(|past| past.reopens(now, inputs.policy.reopen_within));
    let (what, key, started_at, opened_at) = match past {
        Some(past) => (What::Reopened { severity }, past.key, past.started_at, past.opened_at),
        None => {
            let low = severity == Severity::Down && verdict.raw != Raw::Down;
            (What::Opened { severity, low, started_at: since }, None, since, now)
        }
    };
    live.incident = Some(Incident {
        key,
        severity,
        started_at,
        opened_at,
        announced: !quiet,
        quiet_end: maintenance::quieting_end(inputs.windows, interval, now),
        withdrawn: false,
    });
    what
}

fn moved(from: Severity, to: Severity) -> Option<What> {
    match to.cmp(&from) {
        std::cmp::Ordering::Greater => Some(What::Escalated { from, to }),
        std::cmp::Ordering::Less => Some(What::Downgraded { from, to }),
        std::cmp::Ordering::Equal => None,
    }
}

fn resolve(live: &Live, ended_at: Millis) -> What {
    let ending = if live.flaps.flapping { Ending::FlapEnd } else { Ending::Recovered };
    What::Resolved { ended_at, ending }
}

pub(super) fn past(incident: &Incident, now: Millis) -> Past {
    Past {
        key: incident.key,
        started_at: incident.started_at,
        opened_at: incident.opened_at,
        resolved_at: now,
    }
}

pub(super) fn enter(live: &mut Live, to: State, since: Millis, now: Millis) -> StateChange {
    // The interval that ends must not end before it began.
    let since = since.max(live.since).min(now.max(live.since));
    let change = StateChange { from: live.state, to, at: now, since };
    (live.before, live.state, live.since) = (live.state, to, since);
    change
}

/// The end of maintenance: what was kept silent and is still not up is told now.
fn announce(live: &mut Live, inputs: &Inputs<'_>, step: &mut Step) {
    let (now, interval) = (step.at, inputs.policy.interval);
    let Some(incident) = live.incident.as_mut().filter(|incident| !incident.announced) else {
        return;
    };
    if maintenance::quiet(inputs.windows, interval, now) {
        incident.quiet_end =
            incident.quiet_end.max(maintenance::quieting_end(inputs.windows, interval, now));
        return;
    }
    // A window that was cut short or deleted ended when it was, and not later than now.
    let end = maintenance::last_end(inputs.windows, interval, now)
        .or(incident.quiet_end)
        .map_or(now, |end| end.min(now));
    incident.announced = true;
    incident.opened_at = now;
    incident.started_at = incident.started_at.max(end);
    incident.quiet_end = None;
    let what =
        What::AfterMaintenance { severity: incident.severity, started_at: incident.started_at };
    step.events.push(Event { at: now, suppressed: false, what });
}

/// Marks that follow from the verdict and the state without being a transition.
fn settle(live: &mut Live, inputs: &Inputs<'_>, step: &mut Step) {
    let (now, raw) = (step.at, step.verdict.raw);
    if live.state != State::Down || raw == Raw::Down {
        live.low = false;
    } else if step.state_change.is_some() {
        live.low = true;
    }
    let stale = raw == Raw::Insufficient && matches!(live.state, State::Partial | State::Down);
    if stale != live.evidence_stale {
        live.evidence_stale = stale;
        step.stale_change = Some(StaleChange { stale, at: now });
    }
    withdraw(live, inputs, step);
    live.alone = match (step.verdict.down.as_slice(), live.alone) {
        ([one], Some((location, since))) if location == *one => Some((location, since)),
        ([one], _) => Some((*one, now)),
        _ => None,
    };
    step.divergent = live
        .alone
        .filter(|(_, since)| now - since >= DIVERGENT_AFTER)
        .map(|(location, _)| location);
    let divergent = inputs.seats.iter().filter(|seat| seat.standing == Standing::Divergent);
    let agrees = |location: LocationKey| {
        live.vote(location).is_some_and(|vote| {
            matches!(vote.state, VoteState::Up | VoteState::Slow)
                && vote.passes >= inputs.policy.pass_after
        })
    };
    step.converged.extend(divergent.map(|seat| seat.key).filter(|location| agrees(*location)));
}

/// Notes who is believed and fresh, and whether an incident lost its quorum because locations were set
/// aside since the last tick.
fn withdraw(live: &mut Live, inputs: &Inputs<'_>, step: &mut Step) {
    let (now, policy) = (step.at, inputs.policy);
    let (mut votes, mut down) = (0, 0);
    for vote in &mut live.votes {
        let believed = inputs
            .seats
            .iter()
            .any(|seat| seat.key == vote.location && seat.standing == Standing::Counted);
        let fresh = now <= vote.fresh_until(policy.stale_after, inputs.grace_until);
        if vote.believed && !believed && fresh {
            votes += 1;
            down += usize::from(vote.state == VoteState::Down);
        }
        vote.believed = believed;
        vote.lapsed = vote.lapsed || !fresh;
    }
    let v = &step.verdict;
    let Some(incident) = live.incident.as_mut().filter(|incident| !incident.withdrawn) else {
        return;
    };
    let before = verdict::quorum(policy, v.n, v.e + votes).0;
    if down > 0 && v.d + down >= before && v.d < v.q {
        incident.withdrawn = true;
        step.events.push(Event {
            at: now,
            suppressed: !incident.announced,
            what: What::EvidenceWithdrawn,
        });
    }
}
