//! What a source told is known for as long as the source is heard. Of whom nobody else tells, nothing is
//! known from then on, until it is heard again.

use std::collections::BTreeSet;

use super::{Heard, Instance, SECOND, State, Step, Timeline, Told};

/// A source that is not heard any more from a moment on, or is again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub at_us: i64,
    feed: String,
    heard: bool,
}

impl Heard {
    fn is(&self, feed: &str) -> bool {
        self.name == feed || self.aliases.iter().any(|alias| alias == feed)
    }

    /// Up to when its word holds.
    fn holds_until_us(&self) -> i64 {
        match self.patience_s {
            Some(seconds) => self.newest_us.saturating_add(i64::from(seconds) * SECOND),
            None => i64::MAX,
        }
    }
}

impl Timeline {
    /// The sources whose words stop or begin to count before the end of a step, in the order of time. One
    /// that was deleted stops at once.
    pub(super) fn turns(&mut self, step: &Step<'_>) -> Vec<Turn> {
        self.rename(step.sources);
        let start = self.now_us.max(self.silent_us).unwrap_or(i64::MIN);
        let mut turns = Vec::new();
        for feed in self.feeds() {
            let turn = |at_us, heard| Turn { at_us, feed: feed.clone(), heard };
            let mut lost = self.lost.contains(&feed);
            let Some(source) = step.sources.iter().find(|source| source.is(&feed)) else {
                turns.extend((!lost).then(|| turn(start.max(0), false)));
                continue;
            };
            let (from, until) = (source.from_us.unwrap_or(i64::MIN), source.holds_until_us());
            // It was silent between two looks.
            if !lost && from > start && self.now_us.is_some() {
                turns.push(turn(start, false));
                lost = true;
            }
            if lost && from.max(start) < until.min(step.until_us) {
                turns.push(turn(from.max(start), true));
                lost = false;
            }
            if !lost && until <= step.until_us {
                turns.push(turn(until.max(start), false));
            }
        }
        turns.sort_by_key(|turn| turn.at_us);
        turns
    }

    /// Nobody is heard any more and no further stretch will come: what stops to count by `now_us`, with its
    /// moment. Nothing when it was told before.
    pub fn fall_silent(&mut self, sources: &[Heard], now_us: i64) -> Told {
        let mut told = Told::default();
        let window = super::Window::new(0);
        let marks = super::Marks::default();
        let step = Step { until_us: now_us, events: &[], window: &window, marks: &marks, sources };
        for turn in self.turns(&step) {
            self.turn(&turn, &mut told);
            self.silent_us = self.silent_us.max(Some(turn.at_us));
        }
        told
    }

    /// A moment of what was said late of the time before nobody was heard, which is told already.
    pub(super) fn after_silence(&self, at_us: i64) -> i64 {
        self.silent_us.map_or(at_us, |silent| silent.max(at_us))
    }

    pub(super) fn turn(&mut self, turn: &Turn, told: &mut Told) {
        if turn.heard {
            self.lost.remove(&turn.feed);
        } else {
            self.lost.insert(turn.feed.clone());
        }
        for instance in self.instances.values_mut() {
            instance.turn(turn, &self.lost);
        }
        self.count(turn.at_us, told);
    }

    /// Everybody whose word was ever taken.
    fn feeds(&self) -> BTreeSet<String> {
        let of = |instance: &Instance| {
            let views = instance.views.iter().filter_map(|view| view.feed.clone());
            views.chain(instance.fed.keys().cloned()).collect::<Vec<_>>()
        };
        let reporters = self.ready.feeds().cloned();
        self.instances.values().flat_map(of).chain(reporters).chain(self.lost.clone()).collect()
    }

    /// Sources that have another name by now.
    fn rename(&mut self, sources: &[Heard]) {
        for source in sources {
            for old in &source.aliases {
                let new = &source.name;
                if self.lost.remove(old) {
                    self.lost.insert(new.clone());
                }
                self.ready.rename(old, new);
                for instance in self.instances.values_mut() {
                    for view in &mut instance.views {
                        if view.feed.as_ref() == Some(old) {
                            view.feed = Some(new.clone());
                        }
                    }
                    if let Some(last) = instance.fed.remove(old) {
                        let known = instance.fed.entry(new.clone()).or_insert(last);
                        *known = last.max(*known);
                    }
                }
            }
        }
    }
}

impl Instance {
    /// These sources told of traffic of it, the last at `last_us`.
    pub(super) fn fed_by(
        &mut self,
        feeds: &BTreeSet<String>,
        last_us: i64,
        lost: &BTreeSet<String>,
    ) {
        for feed in feeds {
            let last = self.fed.entry(feed.clone()).or_insert(last_us);
            *last = last_us.max(*last);
        }
        self.mute(lost);
        if self.muted && self.state == State::Unknown {
            self.lost_us = self.lost_us.or(Some(last_us));
        }
    }

    /// A source falls silent, or is heard again: then what it told last counts again.
    fn turn(&mut self, turn: &Turn, lost: &BTreeSet<String>) {
        let mut any = self.mute(lost);
        for view in &mut self.views {
            let of = view.feed.as_ref() == Some(&turn.feed) && view.lost == turn.heard;
            // Who is gone does not come back without a word.
            if of && view.state() != State::Gone {
                view.lost = !turn.heard;
                any |= view.state() != State::Unknown;
            }
        }
        if !any {
            return;
        }
        let before = self.state;
        self.lost_us = self.lost_us.or((!turn.heard).then_some(turn.at_us));
        self.settle(turn.at_us, None);
        let waits = self.removal().is_some_and(|removal| removal.returned_us.is_none());
        if turn.heard && waits && before != State::Ready && self.state == State::Ready {
            self.returned(turn.at_us);
        }
    }

    /// Traffic says nothing while nobody is heard who tells of it; then it is looked at anew. True if this
    /// makes a difference.
    fn mute(&mut self, lost: &BTreeSet<String>) -> bool {
        let muted = !self.fed.is_empty() && self.fed.keys().all(|feed| lost.contains(feed));
        let told = self.in_rotation.is_some();
        if muted == self.muted {
            return false;
        }
        self.muted = muted;
        if !muted {
            self.in_rotation = None;
        }
        told
    }
}
