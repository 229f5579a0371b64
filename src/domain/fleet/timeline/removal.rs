//! From the first failure to removal, and back.

use serde::{Deserialize, Serialize};

use super::{
    super::{
        event::{Event, Source, State, What},
        platform,
        settings::Settings,
    },
    Instance, SECOND,
};

/// One instance leaving the rotation. Times in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Removal {
    pub instance: String,
    /// End of the first failure of the streak that led to it; none when it was done on purpose or
    /// nothing was seen to fail.
    pub failed_us: Option<i64>,
    pub removed_us: i64,
    pub cause: Cause,
    /// The source's words.
    pub reason: Option<String>,
    pub source: Source,
    /// How exactly `removed_us − failed_us` is known.
    pub resolution_us: i64,
    /// What the configured check needs at least.
    pub minimum_us: Option<i64>,
    /// Attempts that failed on it from the first failure to removal, both included, each by the time at
    /// which it ended.
    pub harmed: u64,
    /// Of these, how many no other attempt made good.
    pub client_visible: u64,
    /// First sign that it works again: a passed check or an answered attempt.
    pub well_us: Option<i64>,
    pub returned_us: Option<i64>,
}

/// What it was removed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Its health checks failed.
    Check,
    /// Real requests failed on it.
    Ejected,
    /// On purpose: finishes what it has.
    Drain,
    /// On purpose.
    Maintenance,
    /// It is not there any more.
    Gone,
    /// Nobody says; it gets no traffic while its peers do.
    Silence,
}

impl Removal {
    /// From the first failure to removal, in µs.
    pub fn time_us(&self) -> Option<i64> {
        self.failed_us.map(|failed| (self.removed_us - failed).max(0))
    }

    /// From the first sign that it works to being back, in µs.
    pub fn return_us(&self) -> Option<i64> {
        Some((self.returned_us? - self.well_us?).max(0))
    }
}

impl Cause {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Ejected => "ejected",
            Self::Drain => "drain",
            Self::Maintenance => "maintenance",
            Self::Gone => "gone",
            Self::Silence => "silence",
        }
    }

    pub fn on_purpose(self) -> bool {
        matches!(self, Self::Drain | Self::Maintenance)
    }
}

impl Instance {
    /// The last removal, until some time after its end.
    pub(super) fn removal(&self) -> Option<&Removal> {
        self.removal.as_ref()
    }

    /// It was ready and is not. `hint`: a first failure that somebody else's line tells.
    pub(super) fn removed(&mut self, event: &Event, hint: Option<i64>, minimum_us: Option<i64>) {
        let cause = match (self.state, &event.what) {
            (State::Draining, _) => Cause::Drain,
            (State::Maintenance, _) => Cause::Maintenance,
            (State::Gone, _) => Cause::Gone,
            (_, What::Ejected { .. }) => Cause::Ejected,
            _ => Cause::Check,
        };
        let seen = [self.streak.first_us, self.failed_run_us, hint];
        let failed_us = seen.into_iter().flatten().filter(|at| *at <= event.at_us).min();
        let exact = matches!(event.source, Source::Haproxy | Source::Envoy);
        self.begin(Removal {
            instance: self.name.clone(),
            failed_us: if cause.on_purpose() { None } else { failed_us },
            removed_us: event.at_us,
            cause,
            reason: event.reason.clone(),
            source: event.source,
            resolution_us: if exact { 1_000 } else { SECOND },
            minimum_us,
            harmed: 0,
            client_visible: 0,
            well_us: None,
            returned_us: None,
        });
    }

    /// Traffic stopped for it alone: it left when its last attempt ended.
    pub(super) fn left(&mut self, at_us: i64, minimum_us: Option<i64>) {
        self.begin(Removal {
            instance: self.name.clone(),
            failed_us: self.failed_run_us.filter(|failed| *failed <= at_us),
            removed_us: at_us,
            cause: Cause::Silence,
            reason: None,
            source: Source::Traffic,
            resolution_us: self.gap_us().unwrap_or(SECOND),
            minimum_us,
            harmed: 0,
            client_visible: 0,
            well_us: None,
            returned_us: None,
        });
    }

    /// It is ready again. True if a removal ended by it.
    pub(super) fn returned(&mut self, at_us: i64) -> bool {
        self.came_us = Some(at_us);
        let Some(removal) = &mut self.removal else { return false };
        if removal.returned_us.is_some() {
            return false;
        }
        removal.returned_us = Some(at_us);
        removal.well_us = removal.well_us.filter(|well| *well <= at_us);
        self.removal_news = true;
        true
    }

    /// Removals of which there is something new.
    pub(super) fn removal_news(&mut self) -> Vec<Removal> {
        let mut news = std::mem::take(&mut self.past_removals);
        if std::mem::take(&mut self.removal_news) {
            news.extend(self.removal.clone());
        }
        news
    }

    /// Another removal begins.
    fn begin(&mut self, mut removal: Removal) {
        if let Some(failed_us) = removal.failed_us {
            (removal.harmed, removal.client_visible) =
                self.failures.within(failed_us, removal.removed_us);
        }
        let past = self.removal.replace(removal);
        if std::mem::replace(&mut self.removal_news, true) {
            self.past_removals.extend(past);
        }
        self.failed_run_us = None;
    }
}

/// What the configured check or platform needs at least to remove an instance.
pub(super) fn minimum_us(settings: &Settings) -> Option<i64> {
    timing(settings).map(|timing| (timing.minimum_s * SECOND as f64) as i64)
}

/// As configured: the platform's with the check's numbers, or the check alone.
pub fn timing(settings: &Settings) -> Option<platform::Timing> {
    let check = settings.check.as_ref();
    match settings.platform.as_deref().and_then(platform::named) {
        Some(platform) => Some(platform.timing(check)),
        None => check.map(platform::Timing::of_check),
    }
}
