//! What one source says of one instance, and whose word counts.

use serde::{Deserialize, Serialize};

use super::super::{
    event::{Event, Source, State, What},
    settings::Settings,
};

/// One source's view of one instance; of a source with several reporters, each has its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct View {
    pub source: Source,
    pub reporter: Option<String>,
    state: State,
    /// Taken out because of real requests, beside what checks say.
    ejected: bool,
    at_us: i64,
    passes: u32,
    fails: u32,
    /// Name of the source that sent it last.
    #[serde(default)]
    pub feed: Option<String>,
    /// That source is not heard any more, so that this is not known any more.
    #[serde(default)]
    pub lost: bool,
}

impl View {
    pub(super) fn new(event: &Event) -> Self {
        Self {
            source: event.source,
            reporter: event.reporter.clone(),
            state: State::Unknown,
            ejected: false,
            at_us: event.at_us,
            passes: 0,
            fails: 0,
            feed: None,
            lost: false,
        }
    }

    pub(super) fn is_of(&self, event: &Event) -> bool {
        self.source == event.source && self.reporter == event.reporter
    }

    /// Another process has taken over from `before`, and begins with the server up.
    pub(super) fn hand_over(&mut self, before: &str, now: &str) {
        if self.source == Source::Haproxy && self.reporter.as_deref() == Some(before) {
            self.reporter = Some(now.to_owned());
            self.state = State::Ready;
        }
    }

    pub(super) fn state(&self) -> State {
        if self.ejected && !matches!(self.state, State::Gone) { State::Unready } else { self.state }
    }

    pub(super) fn take(&mut self, event: &Event, settings: &Settings) {
        self.at_us = event.at_us;
        if event.feed.is_some() {
            self.feed.clone_from(&event.feed);
        }
        match &event.what {
            What::State(state) => self.state = *state,
            What::Check { passed } => self.check(*passed, settings),
            What::Ejected { enforced: true } => self.ejected = true,
            What::Returned => {
                self.ejected = false;
                self.state = State::Ready;
            }
            What::Gone => self.state = State::Gone,
            What::Started if self.state == State::Gone => self.state = State::Starting,
            _ => {}
        }
    }

    /// A reporter that has said nothing for a day while it has no verdict to keep, such as a balancer's
    /// process that was replaced.
    pub(super) fn is_stale(&self, until_us: i64) -> bool {
        self.reporter.is_some()
            && self.source != Source::Kubernetes
            && until_us - self.at_us > 86_400 * super::SECOND
    }

    /// nginx writes no line when it tries a server again: an answer after its time-out says so. Gives since
    /// when it is back, of attempts between the two moments.
    pub(super) fn served_again(&mut self, first_us: i64, last_us: i64) -> Option<i64> {
        let out = self.ejected && self.source == Source::NginxError;
        let tried_us = self.at_us + NGINX_FAIL_TIMEOUT_US;
        if !out || last_us <= tried_us {
            return None;
        }
        self.ejected = false;
        self.state = State::Ready;
        self.at_us = first_us.max(tried_us).min(last_us);
        Some(self.at_us)
    }

    /// A single check is no verdict where the source tells verdicts of its own.
    fn check(&mut self, passed: bool, settings: &Settings) {
        if !matches!(self.source, Source::AlbHealth | Source::Probes | Source::Caddy) {
            return;
        }
        if passed {
            self.passes = self.passes.saturating_add(1);
            self.fails = 0;
        } else {
            self.fails = self.fails.saturating_add(1);
            self.passes = 0;
        }
        let (unhealthy, healthy) = thresholds(self.source, settings);
        let fresh = self.state == State::Unknown;
        if self.fails >= unhealthy {
            self.state = State::Unready;
        } else if self.passes >= healthy || (fresh && passed) {
            // A new target is in after its first pass.
            self.state = State::Ready;
        }
    }
}

/// Default `fail_timeout`.
const NGINX_FAIL_TIMEOUT_US: i64 = 10 * super::SECOND;

/// Failures until out, passes until back.
fn thresholds(source: Source, settings: &Settings) -> (u32, u32) {
    let set = settings.check.as_ref().map(|check| (check.unhealthy, check.healthy));
    set.unwrap_or(match source {
        Source::AlbHealth => (2, 5),
        Source::Caddy => (1, 1),
        _ => (3, 1),
    })
}

/// The word that counts among all views: by precedence of sources; among the reporters of one source
/// what most of them say, and with a tie that it is ready.
pub(super) fn verdict(views: &[View]) -> Option<(State, Source)> {
    let tells = |view: &&View| !view.lost && view.state() != State::Unknown;
    let best = views.iter().filter(tells).map(|view| view.source).min()?;
    let mut of_best: Vec<&View> =
        views.iter().filter(tells).filter(|view| view.source == best).collect();
    let ready = of_best.iter().filter(|view| view.state() == State::Ready).count();
    if ready * 2 >= of_best.len() {
        return Some((State::Ready, best));
    }
    of_best.sort_by_key(|view| view.at_us);
    let newest = of_best.iter().rev().find(|view| view.state() != State::Ready)?;
    Some((newest.state(), best))
}
