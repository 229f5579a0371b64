//! One instance's life: its state by whoever's word counts, transitions, restarts, traffic.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{
    super::{
        cell::Cell,
        event::{Event, Source, State, What},
        settings::Settings,
    },
    SECOND,
    harm::Failures,
    removal::Removal,
    restart::{Probes, Restart, Restarts},
    view::{View, verdict},
};

/// One instance. Times in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    pub name: String,
    pub aliases: BTreeSet<String>,
    pub version: Option<String>,
    /// The zone that a platform said it is in.
    #[serde(default)]
    pub zone: Option<String>,
    pub state: State,
    pub since_us: i64,
    /// Whose word the state is.
    pub source: Option<Source>,
    /// Since when nobody tells of it any more, because whoever did is not heard.
    #[serde(default)]
    pub lost_us: Option<i64>,
    pub reason: Option<String>,
    /// Ready ↔ not ready, on purpose or not.
    pub transitions: u64,
    pub restarts: Restarts,
    /// How long it was ready, of how long somebody said whether it is.
    pub ready_us: i64,
    pub known_us: i64,
    /// How long it was in rotation while nobody said so.
    #[serde(default)]
    pub rotation_us: i64,
    /// First and last attempt seen.
    pub first_us: Option<i64>,
    pub last_us: Option<i64>,
    /// Since when it flaps.
    pub flapping_us: Option<i64>,
    /// The platform waits before it starts it again: since when.
    pub back_off_us: Option<i64>,
    pub(super) recent_restarts: VecDeque<Restart>,
    pub(super) version_us: i64,
    /// Attempts of the last window, and of these after it was out.
    pub(super) stray: Option<u64>,
    pub(super) views: Vec<View>,
    pub(super) in_rotation: Option<bool>,
    /// Came into rotation in the last window, from this moment on.
    pub(super) fresh_us: Option<i64>,
    pub(super) moves: VecDeque<(i64, bool)>,
    /// The newest count of restarts, and when it was so.
    pub(super) counter: Option<(i64, u64)>,
    pub(super) streak: Streak,
    pub(super) failed_run_us: Option<i64>,
    /// Attempts that failed of late.
    #[serde(default)]
    pub(super) failures: Failures,
    pub(super) windows: VecDeque<Traffic>,
    /// Names of the sources that told of its traffic within the hour, and when last.
    #[serde(default)]
    pub(super) fed: BTreeMap<String, i64>,
    /// None of them is heard.
    #[serde(default)]
    pub(super) muted: bool,
    pub(super) probes: Probes,
    pub(super) removal: Option<Removal>,
    /// The removal has news that were not told.
    pub(super) removal_news: bool,
    /// Removals of the same step before that one, which were not told either.
    pub(super) past_removals: Vec<Removal>,
    pub(super) came_us: Option<i64>,
    counted_us: Option<i64>,
}

/// Failed checks in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Streak {
    pub first_us: Option<i64>,
    last_us: i64,
    /// At least one found nobody listening.
    pub refused: bool,
}

/// Attempts of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traffic {
    pub index: i64,
    pub attempts: u64,
}

/// What an event did.
pub(super) struct Taken {
    pub before: State,
    pub restarts: Vec<Restart>,
}

pub(super) const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

impl Instance {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            aliases: BTreeSet::new(),
            version: None,
            zone: None,
            state: State::Unknown,
            since_us: 0,
            source: None,
            lost_us: None,
            reason: None,
            transitions: 0,
            restarts: Restarts::default(),
            ready_us: 0,
            known_us: 0,
            rotation_us: 0,
            first_us: None,
            last_us: None,
            flapping_us: None,
            back_off_us: None,
            recent_restarts: VecDeque::new(),
            version_us: 0,
            stray: None,
            views: Vec::new(),
            in_rotation: None,
            fresh_us: None,
            moves: VecDeque::new(),
            counter: None,
            streak: Streak::default(),
            failed_run_us: None,
            failures: Failures::default(),
            windows: VecDeque::new(),
            fed: BTreeMap::new(),
            muted: false,
            probes: Probes::default(),
            removal: None,
            removal_news: false,
            past_removals: Vec::new(),
            came_us: None,
            counted_us: None,
        }
    }

    /// Transitions nobody intended, of explicit evidence, within `span_s` seconds before `until_us`.
    pub fn unplanned(&self, until_us: i64, span_s: u32) -> u32 {
        let from = until_us - i64::from(span_s) * SECOND;
        let count = self.moves.iter().filter(|(at, planned)| *at > from && !planned).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// New or back for less than the warm-up.
    pub fn is_warming(&self, until_us: i64, settings: &Settings) -> bool {
        self.came_us.is_some_and(|at| until_us - at < i64::from(settings.warm_up_s) * SECOND)
    }

    /// Somebody or something took it out, as told by more than a lack of traffic.
    pub fn is_out(&self) -> bool {
        use State::{Draining, Gone, Maintenance, Unready};
        matches!(self.state, Unready | Draining | Maintenance | Gone)
            && self.source.is_some_and(|source| source != Source::Traffic)
    }

    /// One event. `peers_go_on`: others were heard while this one was silent. `lost`: its source is not heard
    /// of the present, so that its word does not count yet.
    pub(super) fn take(
        &mut self,
        event: &Event,
        settings: &Settings,
        peers_go_on: bool,
        lost: bool,
    ) -> Taken {
        let mut restarts = Vec::new();
        self.note_check(event);
        restarts.extend(self.note_probe(event, peers_go_on));
        restarts.extend(self.note_restart(event));
        match &event.what {
            What::Version(version) if self.version.as_deref() != Some(version) => {
                self.version = Some(version.clone());
                self.version_us = event.at_us;
            }
            What::BackOff => self.back_off_us = Some(event.at_us),
            _ => {}
        }
        let view = match self.views.iter().position(|view| view.is_of(event)) {
            Some(at) => &mut self.views[at],
            None => {
                self.views.push(View::new(event));
                let last = self.views.len() - 1;
                &mut self.views[last]
            }
        };
        view.take(event, settings);
        view.lost = lost && view.state() != State::Gone;
        if lost && self.state == State::Unknown {
            self.lost_us = self.lost_us.or(Some(event.at_us));
        }
        if event.zone.is_some() {
            self.zone.clone_from(&event.zone);
        }
        // Who writes down changes only has told that it was ready before it first is not.
        let unsaid = matches!(self.state, State::Unknown | State::InRotation);
        if unsaid && event.source.tells_changes() {
            let first = verdict(&self.views).map(|(state, _)| state);
            if first.is_some_and(|state| state != State::Ready) {
                self.set(event.at_us, State::Ready, Some(event.source), None, true);
            }
        }
        let before = self.state;
        self.settle(event.at_us, event.reason.as_deref());
        Taken { before, restarts }
    }

    /// The process that spoke of it was replaced by another.
    pub(super) fn hand_over(&mut self, at_us: i64, before: &str, now: &str) {
        for view in &mut self.views {
            view.hand_over(before, now);
        }
        let was = self.state;
        self.settle(at_us, None);
        if was != State::Ready && self.state == State::Ready {
            self.returned(at_us);
        }
    }

    /// Attempts of one window. Gives when they show that it is back, if nothing else tells.
    pub(super) fn traffic(&mut self, index: i64, cell: &Cell, settings: &Settings) -> Option<i64> {
        let attempts = cell.attempts + cell.unknown + cell.clients + cell.proxies;
        let (Some(first), Some(last)) = (cell.first_us, cell.last_us) else { return None };
        if attempts == 0 {
            return None;
        }
        let before = self.state;
        // An attempt that fails is nginx's trial of a server that it goes on leaving out.
        let mut back_us = None;
        if cell.attempts > cell.errors() {
            back_us = self.views.iter_mut().filter_map(|view| view.served_again(first, last)).max();
        }
        if back_us.is_some() {
            self.streak = Streak::default();
        }
        self.settle(back_us.unwrap_or(last), None);
        let drain = i64::from(settings.drain_s) * SECOND;
        // Who leaves it out by nginx's own word gets what nginx tries it with; and of several balancers one
        // may have it in, and rightly ask it.
        let stray =
            self.is_out() && self.source != Some(Source::NginxError) && !self.is_ready_somewhere();
        self.stray =
            (stray && last > self.since_us + drain && first > self.since_us).then_some(attempts);
        if self.first_us.is_none() && !self.windows.is_empty() {
            self.came_us = Some(first);
        }
        self.first_us = self.first_us.or(Some(first));
        self.last_us = self.last_us.max(Some(last));
        if self.in_rotation != Some(true) {
            self.fresh_us = Some(first);
        }
        self.windows.push_back(Traffic { index, attempts });
        let well = cell.attempts >= 5 && cell.errors() * 2 < cell.attempts;
        if well && self.failed_run_us.is_some_and(|at| at < first) {
            self.failed_run_us = None;
        }
        if let Some(removal) = &mut self.removal
            && removal.returned_us.is_none()
            && removal.well_us.is_none()
            && cell.attempts > cell.errors()
            && first > removal.removed_us
        {
            removal.well_us = Some(first);
        }
        back_us.filter(|_| before != State::Ready && self.state == State::Ready)
    }

    /// Whether the source whose word counts has a reporter that has it in.
    fn is_ready_somewhere(&self) -> bool {
        let ready = |view: &View| Some(view.source) == self.source && view.state() == State::Ready;
        self.views.iter().any(ready)
    }

    pub(super) fn failed_run(&mut self, from_us: i64) {
        let newer = self.failed_run_us.is_none_or(|at| from_us - at > 60 * SECOND);
        if newer {
            self.failed_run_us = Some(from_us);
        }
    }

    /// Its checks have been failing for no longer than three intervals.
    pub(super) fn is_failing(&self, at_us: i64, reach_us: i64) -> bool {
        self.streak.first_us.is_some_and(|first| at_us - first <= reach_us)
    }

    /// Whether a peer can have been heard after `at_us`.
    pub(super) fn heard_after(&self, at_us: i64) -> bool {
        self.probes.last_us.max(self.last_us).is_some_and(|last| last > at_us)
    }

    /// The moment after which a further silence is longer than its checks' rhythm allows.
    pub(super) fn probe_due_us(&self) -> Option<i64> {
        Some(self.probes.last_us? + self.probes.rhythm()?)
    }

    pub(super) fn forget(&mut self, until_us: i64, window_s: u32) {
        self.pass(until_us);
        while self.moves.front().is_some_and(|(at, _)| *at < until_us - DAY) {
            self.moves.pop_front();
        }
        while self.recent_restarts.front().is_some_and(|r| r.at_us < until_us - DAY) {
            self.recent_restarts.pop_front();
        }
        let oldest = (until_us - HOUR).div_euclid(i64::from(window_s.max(1)) * SECOND);
        while self.windows.front().is_some_and(|window| window.index < oldest) {
            self.windows.pop_front();
        }
        self.fed.retain(|_, last| *last > until_us - HOUR);
        self.views.retain(|view| !view.is_stale(until_us));
        let starts = [self.streak.first_us, self.failed_run_us];
        self.failures.thin(until_us, &starts);
        if self.removal.as_ref().is_some_and(|r| r.returned_us.is_some()) && !self.removal_news {
            self.removal = None;
        }
    }

    fn note_check(&mut self, event: &Event) {
        let failed = match event.what {
            What::Check { passed } => !passed,
            What::Failed | What::Ejected { .. } => true,
            _ => return,
        };
        if failed {
            let gap = event.at_us - self.streak.last_us > 300 * SECOND;
            if self.streak.first_us.is_none() || (gap && self.state == State::Ready) {
                self.streak = Streak { first_us: Some(event.at_us), ..Streak::default() };
            }
            self.streak.last_us = event.at_us;
            let words = event.reason.as_deref().unwrap_or_default();
            self.streak.refused |= ["refused", "Layer4 connection problem", "ConnectionReset"]
                .iter()
                .any(|sign| words.contains(sign));
        } else if self.state == State::Ready {
            self.streak = Streak::default();
        } else if let Some(removal) = &mut self.removal
            && removal.well_us.is_none()
        {
            removal.well_us = Some(event.at_us);
        }
    }

    /// Takes over the word that counts now.
    pub(super) fn settle(&mut self, at_us: i64, reason: Option<&str>) {
        let by_traffic = || {
            let inside = self.in_rotation.filter(|_| !self.muted)?;
            let state = if inside { State::InRotation } else { State::Unknown };
            Some((state, Source::Traffic))
        };
        let Some((state, source)) = verdict(&self.views).or_else(by_traffic) else {
            if self.lost_us.is_some() {
                self.source = None;
                if self.state != State::Unknown {
                    self.set(at_us, State::Unknown, None, None, true);
                }
            }
            return;
        };
        self.lost_us = None;
        if state == self.state {
            self.source = Some(source);
            return;
        }
        // A first word is no change.
        let unsaid = matches!(self.state, State::Unknown | State::InRotation);
        let counts = source != Source::Traffic && !unsaid;
        self.set(at_us, state, Some(source), reason, !counts);
    }

    fn set(
        &mut self,
        at_us: i64,
        state: State,
        source: Option<Source>,
        reason: Option<&str>,
        quietly: bool,
    ) {
        self.pass(at_us);
        let on_purpose = |state| matches!(state, State::Draining | State::Maintenance);
        let flips = (self.state == State::Ready) != (state == State::Ready);
        if flips && !quietly {
            self.transitions += 1;
            self.moves.push_back((at_us, on_purpose(self.state) || on_purpose(state)));
        }
        self.state = state;
        self.since_us = at_us;
        self.source = source;
        self.reason = reason.map(str::to_owned);
        if state == State::Ready {
            self.back_off_us = None;
        }
    }

    /// Counts the time in the present state up to `at_us`.
    fn pass(&mut self, at_us: i64) {
        let from = self.counted_us.unwrap_or(self.since_us.max(1));
        self.counted_us = Some(at_us.max(from));
        if self.state == State::Unknown || from <= 1 {
            return;
        }
        let span = (at_us - from).max(0);
        if self.state == State::InRotation {
            self.rotation_us += span;
            return;
        }
        self.known_us += span;
        if self.state == State::Ready {
            self.ready_us += span;
        }
    }
}
