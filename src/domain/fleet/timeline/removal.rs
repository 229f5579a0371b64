//! From the first failure to removal, and back.

use serde::{Deserialize, Serialize};

use super::{
    super::{event::Source, platform, settings::Settings},
    SECOND,
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
    /// Attempts that failed on it from the first failure to removal, as far as sums tell.
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

/// What the configured check or platform needs at least to remove an instance.
pub(super) fn minimum_us(settings: &Settings) -> Option<i64> {
    timing(settings).map(|timing| (timing.minimum_s * SECOND as f64) as i64)
}

/// As configured: the platform's with the check's numbers, or the check alone.
pub(super) fn timing(settings: &Settings) -> Option<platform::Timing> {
    let check = settings.check.as_ref();
    match settings.platform.as_deref().and_then(platform::named) {
        Some(platform) => Some(platform.timing(check)),
        None => check.map(platform::Timing::of_check),
    }
}
