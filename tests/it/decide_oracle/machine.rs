//! What the monitor is, tick by tick (5.5, 5.8, 5.11).

use super::scenario::{SECOND, Scenario, Seen};
use super::verdict::{Raw, Verdict, verdict};
use super::vote::{Vote, vote};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Unknown,
    Up,
    Degraded,
    Partial,
    Down,
}

#[derive(Clone, Debug)]
pub(super) struct Incident {
    pub(super) kind: State,
    pub(super) started: i64,
    pub(super) opened: i64,
    /// Somebody was told that it is open.
    announced: bool,
}

/// How it stands after the last tick.
#[derive(Debug)]
pub(super) struct End {
    pub(super) state: State,
    pub(super) verdict: Verdict,
    pub(super) low: bool,
    pub(super) flapping: bool,
    pub(super) events: Vec<(i64, String)>,
    pub(super) incident: Option<Incident>,
    pub(super) evidence_stale: bool,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Unknown => "unknown",
            State::Up => "up",
            State::Degraded => "degraded",
            State::Partial => "partial",
            State::Down => "down",
        }
    }

    /// From pending and unknown everything but up is worse, as from up.
    fn severity(self) -> i64 {
        match self {
            State::Pending | State::Unknown | State::Up => 0,
            State::Degraded => 1,
            State::Partial => 2,
            State::Down => 3,
        }
    }

    fn is_nothing_yet(self) -> bool {
        matches!(self, State::Pending | State::Unknown)
    }
}

pub(super) fn raw_name(raw: Raw) -> &'static str {
    match raw {
        Raw::Insufficient => "insufficient",
        Raw::DownLow => "down_low",
        Raw::Down => "down",
        Raw::Partial => "partial",
        Raw::DegradedSlow => "degraded_slow",
        Raw::DegradedIntermittent => "degraded_intermittent",
        Raw::Up => "up",
        Raw::Undecided => "undecided",
    }
}

/// None where the verdict says nothing of how bad it is.
fn severity(raw: Raw) -> Option<i64> {
    match raw {
        Raw::Insufficient | Raw::Undecided => None,
        Raw::Up => Some(0),
        Raw::DegradedSlow | Raw::DegradedIntermittent => Some(1),
        Raw::Partial => Some(2),
        Raw::Down | Raw::DownLow => Some(3),
    }
}

/// A tick that is over, or the present one.
struct Tick {
    now: i64,
    raw: Raw,
    someone_is_down: bool,
    /// Before the transition of this tick.
    state: State,
    /// The timers toward milder states began anew at the end of this tick.
    milder_restarted: bool,
}

struct Machine<'a> {
    scenario: &'a Scenario,
    ticks: Vec<Tick>,
    state: State,
    low: bool,
    flapping: bool,
    incident: Option<Incident>,
    /// The last one that was resolved, and when.
    resolved: Option<(Incident, i64)>,
    /// When an incident was opened, reopened or resolved.
    changes: Vec<i64>,
    events: Vec<(i64, String)>,
}

/// Every second from 0 to the end.
pub(super) fn run(scenario: &Scenario) -> End {
    // What comes from each place, in the order in which it comes; what comes at once as it stands in the file.
    let mut of_places: Vec<Vec<&Seen>> = vec![Vec::new(); scenario.places.len()];
    for seen in &scenario.seen {
        of_places[seen.place].push(seen);
    }
    for of_place in &mut of_places {
        of_place.sort_by_key(|seen| seen.received);
    }
    let mut votes: Vec<Option<Vote>> = vec![None; scenario.places.len()];
    let mut heard = vec![0; scenario.places.len()];
    let mut machine = Machine {
        scenario,
        ticks: Vec::new(),
        state: State::Pending,
        low: false,
        flapping: false,
        incident: None,
        resolved: None,
        changes: Vec::new(),
        events: Vec::new(),
    };
    let mut last = verdict(scenario, &votes, 0);
    for second in 0..=scenario.until {
        let now = second * SECOND;
        for (place, all) in of_places.iter().enumerate() {
            let by_now = all.iter().take_while(|seen| seen.received <= now).count();
            if by_now > heard[place] {
                heard[place] = by_now;
                votes[place] = vote(&all[..by_now], &scenario.settings);
            }
        }
        last = verdict(scenario, &votes, now);
        machine.tick(now, &last, &votes);
    }
    let serious = matches!(machine.state, State::Partial | State::Down);
    End {
        state: machine.state,
        low: machine.low,
        flapping: machine.flapping,
        events: machine.events,
        incident: machine.incident,
        evidence_stale: serious && last.raw == Raw::Insufficient,
        verdict: last,
    }
}

impl Machine<'_> {
    fn tick(&mut self, now: i64, verdict: &Verdict, votes: &[Option<Vote>]) {
        self.ticks.push(Tick {
            now,
            raw: verdict.raw,
            someone_is_down: !verdict.down.is_empty(),
            state: self.state,
            milder_restarted: false,
        });
        if let Some((next, began)) = self.next_state(now, verdict.raw) {
            let runs = verdict
                .down
                .iter()
                .map(|place| votes[*place].as_ref().unwrap().fails_since.unwrap())
                .collect();
            self.enter(now, next, began, verdict.raw, runs);
        }
        if verdict.raw == Raw::Down {
            self.low = false;
        }
        self.look_at_maintenance(now);
    }

    /// Where it goes on this tick, and when the timer began that fired.
    fn next_state(&self, now: i64, raw: Raw) -> Option<(State, i64)> {
        let s = &self.scenario.settings;
        let serious = matches!(self.state, State::Partial | State::Down);
        if raw == Raw::Undecided {
            let began = self.unbroken(|tick| tick.raw == Raw::Undecided && tick.someone_is_down)?;
            return (!serious && now - began >= s.split_for).then_some((State::Partial, began));
        }
        if raw == Raw::Insufficient {
            let began = self.unbroken(|tick| tick.raw == Raw::Insufficient)?;
            let stays = serious || self.state == State::Unknown;
            return (!stays && now - began >= s.blind_for).then_some((State::Unknown, began));
        }
        for worse in [State::Down, State::Partial, State::Degraded] {
            if worse.severity() <= self.state.severity() {
                continue;
            }
            if worse == State::Degraded && severity(raw) != Some(1) {
                continue;
            }
            if let Some((began, held)) = self.timer(worse)
                && held >= self.hold(worse, began)
            {
                return Some((worse, began));
            }
        }
        if self.state.is_nothing_yet() && raw == Raw::Up && self.incident.is_none() {
            return Some((State::Up, now));
        }
        for milder in [State::Up, State::Degraded, State::Partial] {
            let is_milder = milder.severity() < self.state.severity();
            if !(is_milder || milder == State::Up && self.state.is_nothing_yet()) {
                continue;
            }
            if let Some((began, held)) = self.timer(milder)
                && held >= self.recover_for()
            {
                return Some((milder, began));
            }
        }
        None
    }

    /// How long a worse verdict must last.
    fn hold(&self, toward: State, began: i64) -> i64 {
        let s = &self.scenario.settings;
        let some_low = self.ticks.iter().any(|tick| tick.now >= began && tick.raw == Raw::DownLow);
        match toward {
            State::Down if !some_low => s.confirm_for,
            State::Down | State::Partial => 2 * s.interval,
            _ => 0,
        }
    }

    fn recover_for(&self) -> i64 {
        let normal = (2 * self.scenario.settings.interval).clamp(60 * SECOND, 300 * SECOND);
        if self.flapping { (4 * normal).min(1800 * SECOND) } else { normal }
    }

    /// The first of the latest ticks of which all are so.
    fn unbroken(&self, so: impl Fn(&Tick) -> bool) -> Option<i64> {
        self.ticks.iter().rev().take_while(|tick| so(tick)).last().map(|tick| tick.now)
    }

    /// When the timer toward a state began and how long it ran, if it does: found by going back. What passed
    /// after an undecided tick is no running time.
    fn timer(&self, toward: State) -> Option<(i64, i64)> {
        let is_worse_than = |state: State| toward.severity() > state.severity();
        let worse = is_worse_than(self.state);
        let (mut began, mut held, mut later) = (None, 0, self.ticks.last()?.now);
        for (back, tick) in self.ticks.iter().rev().enumerate() {
            let restarted_here = !worse && tick.milder_restarted && back > 0;
            // Where it was a timer of the other kind, or this very state, nothing ran.
            let other_side = is_worse_than(tick.state) != worse;
            match severity(tick.raw) {
                _ if other_side => break,
                Some(level)
                    if worse && level >= toward.severity()
                        || !worse && level <= toward.severity() =>
                {
                    began = Some(tick.now);
                    held += later - tick.now;
                }
                None if tick.raw == Raw::Undecided => {}
                _ => break,
            }
            later = tick.now;
            if restarted_here {
                break;
            }
        }
        Some((began?, held))
    }

    fn enter(&mut self, now: i64, next: State, began: i64, raw: Raw, runs: Vec<i64>) {
        let before = self.state;
        if next == State::Up && self.incident.is_some() && self.holds_flapping(now) {
            return;
        }
        self.state = next;
        if next == State::Down {
            self.low = raw != Raw::Down;
        } else {
            self.low = false;
        }
        if next.severity() > before.severity() || before.is_nothing_yet() {
            self.ticks.last_mut().unwrap().milder_restarted = true;
        }
        match next {
            State::Pending => {}
            State::Unknown => self.say(now, "blind".to_owned()),
            State::Up if self.incident.is_some() => self.resolve(now),
            State::Up if before == State::Unknown => self.say(now, "blind_end".to_owned()),
            State::Up => {}
            bad => match self.incident.as_ref().map(|incident| incident.kind) {
                None => self.open(now, bad, began, raw, &runs),
                Some(kind) if kind == bad => self.say(now, "blind_end".to_owned()),
                Some(kind) => {
                    let how =
                        if bad.severity() > kind.severity() { "escalated" } else { "downgraded" };
                    self.say(now, format!("{how}:{}", bad.name()));
                    self.incident.as_mut().unwrap().kind = bad;
                }
            },
        }
    }

    fn open(&mut self, now: i64, kind: State, began: i64, raw: Raw, runs: &[i64]) {
        self.changes.push(now);
        let announced = !self.is_quiet(now);
        let settings = &self.scenario.settings;
        if let Some((last, at)) = self.resolved.take_if(|(_, at)| now - *at <= settings.reopen) {
            debug_assert!(at <= now);
            self.say(now, format!("reopened:{}", kind.name()));
            self.incident = Some(Incident { kind, announced, ..last });
            return;
        }
        let fresh = runs.iter().copied().filter(|run| *run >= began - settings.stale_after()).min();
        let started = match kind {
            State::Degraded => began,
            _ => fresh.or(runs.iter().copied().max()).unwrap(),
        };
        let low = if kind == State::Down && raw != Raw::Down { ":low" } else { "" };
        self.say(now, format!("opened:{}{low}", kind.name()));
        self.incident = Some(Incident { kind, started, opened: now, announced });
    }

    fn resolve(&mut self, now: i64) {
        if self.flapping {
            self.say(now, "resolved:flap_end".to_owned());
            self.flapping = false;
            self.changes.clear();
        } else {
            self.say(now, "resolved".to_owned());
            self.changes.push(now);
        }
        self.resolved = self.incident.take().map(|incident| (incident, now));
    }

    /// Whether a due resolve is the one too many.
    fn holds_flapping(&mut self, now: i64) -> bool {
        let lately = self.changes.iter().filter(|at| now - **at <= 1800 * SECOND).count();
        if self.flapping || lately + 1 < 4 {
            return false;
        }
        self.say(now, "flap_start".to_owned());
        self.flapping = true;
        self.ticks.last_mut().unwrap().milder_restarted = true;
        true
    }

    /// Nobody is told of what begins now: from the beginning to two intervals after the end.
    fn is_quiet(&self, now: i64) -> bool {
        let after = 2 * self.scenario.settings.interval;
        self.scenario.maintenance.iter().any(|(start, end)| now >= *start && now < end + after)
    }

    /// Before the incident is touched.
    fn say(&mut self, now: i64, what: String) {
        let suppressed = match &self.incident {
            Some(incident) => !incident.announced,
            None => self.is_quiet(now),
        };
        let front = if suppressed { "suppressed:" } else { "" };
        self.events.push((now, format!("{front}{what}")));
    }

    fn look_at_maintenance(&mut self, now: i64) {
        if self.is_quiet(now) {
            return;
        }
        let after = 2 * self.scenario.settings.interval;
        let over = self
            .scenario
            .maintenance
            .iter()
            .map(|(_, end)| *end)
            .filter(|end| end + after <= now)
            .max();
        if let Some(incident) = self.incident.as_mut().filter(|incident| !incident.announced) {
            incident.announced = true;
            incident.started = incident.started.max(over.unwrap());
            incident.opened = now;
            let what = format!("opened:{}:after_maintenance", incident.kind.name());
            self.events.push((now, what));
        }
    }
}
