//! History once more through [`step`], under any policy: what would have been opened, told and closed. What
//! agents did then stays as it was: the attempts are those that were made, repeats and waves included. What
//! that means for an answer is said by [`caveats`].

pub mod caveats;
pub mod compare;
#[cfg(test)]
mod tests;

use super::{
    Event, Inputs, Live, Seat, Seen, Standing, State, Step, What, dissent, pause, resume, step,
};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::incident::Severity;
use crate::domain::maintenance::Window;
use crate::domain::monitor::Policy;
use crate::domain::observation::{Class, Outcome, RunKind};

/// A week at most is read before a span, so that votes and timers stand as they did at its beginning.
const LONGEST_LEAD: Millis = 7 * 24 * 3_600_000;
/// Leniency after a stop of the coordinators is granted once in this time.
const GRACE_AGAIN: Millis = 600_000;

/// One stored report, as small as it can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Start of the attempt.
    pub at: Millis,
    pub received: Millis,
    pub latency_ms: i32,
    pub check_version: u32,
    pub location: LocationKey,
    pub class: Option<Class>,
    pub status: Option<u16>,
    pub outcome: Outcome,
    pub kind: RunKind,
    /// It was refused a vote, because its age was guessed across a reboot.
    pub age_estimated: bool,
    /// It was refused a vote, because the check had changed since.
    pub outdated: bool,
    /// When it arrived is not known, and taken to be when the attempt ended.
    pub guessed: bool,
}

/// A stretch in which a location's vote did not count as usual: set aside, distrusted, or believed by hand
/// in spite of that (`Counted`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withheld {
    pub location: LocationKey,
    pub from: Millis,
    pub to: Millis,
    pub standing: Standing,
}

/// A stretch in which no coordinator ran, and until when deadlines were lenient after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    pub from: Millis,
    pub to: Millis,
    pub grace_until: Option<Millis>,
}

/// What the past was like, beside the reports. Lists are in order of time, spans half-open.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    pub seats: Vec<Seat>,
    pub windows: Vec<Window>,
    pub pauses: Vec<(Millis, Millis)>,
    pub stops: Vec<Stop>,
    /// What was said by hand comes before what was found.
    pub withheld: Vec<Withheld>,
}

/// What happened to an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    pub at: Millis,
    /// As in a trace: `opened:down`.
    pub word: String,
    pub sentence: String,
}

/// An incident as it would have gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// At last, and at its worst.
    pub severity: Severity,
    pub peak: Severity,
    pub started_at: Millis,
    /// When it was first opened; after maintenance, when it was announced.
    pub opened_at: Millis,
    pub ended_at: Option<Millis>,
    pub resolved_at: Option<Millis>,
    pub low: bool,
    /// Maintenance kept all of it silent.
    pub suppressed: bool,
    pub flapping: bool,
    pub reopened: u32,
    /// Messages that each channel would have had.
    pub told: u32,
    pub happenings: Vec<Happening>,
}

/// How far before a span its replay begins.
pub fn lead(policy: &Policy) -> Millis {
    (4 * policy.stale_after + policy.recover_for + 3_600_000).min(LONGEST_LEAD)
}

/// Stops with the leniency that followed each; `longest` is the longest time that any monitor's votes stay
/// fresh.
pub fn stops(spans: &[(Millis, Millis)], longest: Millis) -> Vec<Stop> {
    let (mut granted, mut grace_until) = (None, None);
    let mut all = Vec::with_capacity(spans.len());
    for (from, to) in spans.iter().copied() {
        if granted.is_none_or(|at| to - at >= GRACE_AGAIN) {
            granted = Some(to);
            grace_until = Some(to + longest);
        }
        all.push(Stop { from, to, grace_until });
    }
    all
}

/// Folds reports, which are in order of arrival, up to `until`; the incidents that come of them, in order of
/// opening.
pub fn run(policy: &Policy, scene: &Scene, told: &[Told], until: Millis) -> Vec<Course> {
    let mut replay = Replay {
        policy,
        scene,
        seats: scene.seats.clone(),
        live: Live::default(),
        version: 0,
        courses: Vec::new(),
    };
    let edges = edges(scene);
    let (mut rest, mut edge, mut wake) = (told, 0, None);
    let mut batch = Vec::new();
    loop {
        let next = [rest.first().map(|told| told.received), edges.get(edge).copied(), wake];
        let Some(now) = next.into_iter().flatten().min().filter(|now| *now < until) else {
            return replay.courses;
        };
        while edges.get(edge).is_some_and(|at| *at <= now) {
            edge += 1;
        }
        // One transaction takes what one location sent at once.
        let same = rest.first().filter(|first| first.received <= now).map_or(0, |first| {
            rest.partition_point(|told| {
                (told.received, told.location) <= (first.received, first.location)
            })
        });
        let (due, later) = rest.split_at(same);
        rest = later;
        batch.clear();
        batch.extend(due.iter().map(|told| replay.seen(told)));
        wake = replay.tick(&batch, now).map(|at| scene.awake(at)).filter(|at| *at > now);
    }
}

/// Instants at which something beside the reports changed.
fn edges(scene: &Scene) -> Vec<Millis> {
    let pauses = scene.pauses.iter().flat_map(|(from, to)| [*from, *to]);
    let withheld = scene.withheld.iter().flat_map(|one| [one.from, one.to]);
    let mut all: Vec<Millis> = pauses.chain(withheld).collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Scene {
    /// When a deadline was seen: not while no coordinator ran.
    fn awake(&self, at: Millis) -> Millis {
        let stop = self.stops.iter().find(|stop| stop.from <= at && at < stop.to);
        stop.map_or(at, |stop| stop.to)
    }

    /// As far as it is the same for all monitors; what was said by hand wins over what was found.
    fn standing(&self, seat: &Seat, now: Millis) -> Standing {
        let mut then = self.then(now).filter(|held| held.standing != Standing::Divergent);
        let held = then.find(|held| held.location == seat.key);
        held.map_or(seat.standing, |held| held.standing)
    }

    fn then(&self, now: Millis) -> impl Iterator<Item = &Withheld> {
        self.withheld.iter().filter(move |held| held.from <= now && now < held.to)
    }

    fn grace(&self, now: Millis) -> Option<Millis> {
        self.stops.iter().rev().find(|stop| stop.to <= now).and_then(|stop| stop.grace_until)
    }
}

fn within(spans: &[(Millis, Millis)], now: Millis) -> bool {
    spans.iter().any(|(from, to)| *from <= now && now < *to)
}

struct Replay<'a> {
    policy: &'a Policy,
    scene: &'a Scene,
    seats: Vec<Seat>,
    live: Live,
    /// The newest version of the check that anything told of.
    version: u32,
    courses: Vec<Course>,
}

impl Replay<'_> {
    fn seen(&mut self, told: &Told) -> Seen {
        // What was refused as outdated says that a newer version was in force already.
        self.version = self.version.max(told.check_version + u32::from(told.outdated));
        Seen {
            received: told.received,
            class: told.class,
            latency_ms: Millis::from(told.latency_ms),
            kind: told.kind,
            check_version: told.check_version,
            age_estimated: told.age_estimated,
            status: told.status,
            ..Seen::new(told.location, told.at, told.outcome)
        }
    }

    /// One decision; when the next one is due.
    fn tick(&mut self, batch: &[Seen], now: Millis) -> Option<Millis> {
        let scene = self.scene;
        let paused = within(&scene.pauses, now);
        if !paused && self.live.state == State::Paused {
            resume(&mut self.live, now);
        }
        for (seat, usual) in self.seats.iter_mut().zip(&scene.seats) {
            seat.standing = scene.standing(usual, now);
        }
        let divergent = scene.then(now).filter(|held| held.standing == Standing::Divergent);
        let divergent: Vec<LocationKey> = divergent.map(|held| held.location).collect();
        dissent::set_aside(&mut self.seats, &divergent);
        let inputs = Inputs {
            policy: self.policy,
            check_version: self.version,
            seats: &self.seats,
            windows: &scene.windows,
            over_cap: false,
            grace_until: scene.grace(now),
            now,
        };
        let step = step(&mut self.live, &inputs, batch);
        self.note(&step.events, &step);
        if paused && self.live.state != State::Paused {
            let halt = pause(&mut self.live, now);
            self.note(&halt.events, &step);
            return None;
        }
        step.wake_at
    }

    fn note(&mut self, events: &[Event], step: &Step) {
        for event in events {
            let Some(course) = self.course(event) else { continue };
            course.take(event);
            course.happenings.push(Happening {
                at: event.at,
                word: event.word().unwrap_or_else(|| "evidence_withdrawn".to_owned()),
                sentence: step.why.clone(),
            });
        }
    }

    /// The incident that an event is of; a new one for its opening.
    fn course(&mut self, event: &Event) -> Option<&mut Course> {
        match event.what {
            What::Blind | What::BlindEnd => return None,
            What::Opened { severity, low, started_at } => self.courses.push(Course {
                severity,
                peak: severity,
                started_at,
                opened_at: event.at,
                ended_at: None,
                resolved_at: None,
                low,
                suppressed: true,
                flapping: false,
                reopened: 0,
                told: 0,
                happenings: Vec::new(),
            }),
            _ => {}
        }
        self.courses.last_mut()
    }
}

impl Course {
    fn take(&mut self, event: &Event) {
        if !event.suppressed {
            self.suppressed = false;
            self.told += 1;
        }
        match event.what {
            What::Reopened { severity } => {
                self.reopened += 1;
                (self.ended_at, self.resolved_at) = (None, None);
                self.shift(severity);
            }
            What::Escalated { to, .. } | What::Downgraded { to, .. } => self.shift(to),
            What::Resolved { ended_at, .. } => {
                (self.ended_at, self.resolved_at) = (Some(ended_at), Some(event.at));
            }
            What::FlapStart => self.flapping = true,
            What::AfterMaintenance { severity, started_at } => {
                (self.started_at, self.opened_at) = (started_at, event.at);
                self.shift(severity);
            }
            What::Opened { .. } | What::EvidenceWithdrawn | What::Blind | What::BlindEnd => {}
        }
    }

    fn shift(&mut self, severity: Severity) {
        self.severity = severity;
        self.peak = self.peak.max(severity);
    }
}
