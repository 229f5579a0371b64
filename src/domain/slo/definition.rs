//! What an SLO is: target, indicator, window, policies and burn-rate rules, each checked when it is read.

use serde::{Deserialize, Serialize};

use super::ratio::{BILLION, Ratio};
use super::slot::Quorum;
use super::window::Window;
use crate::domain::Millis;

/// One SLO as configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub target: Target,
    pub sli: Sli,
    pub window: Window,
    /// Name of the window's zone; days are told in it.
    pub timezone: String,
    pub unknown_policy: UnknownPolicy,
    pub maintenance_policy: MaintenancePolicy,
    /// How much of partial time is bad, in parts per million.
    pub partial_weight_ppm: u32,
    /// Below it there is no verdict. A share of one, exact.
    pub coverage_min: Share,
    pub rules: Vec<Rule>,
    /// Decimals of percentages, at most 9.
    pub decimals: u32,
    /// What the monitor's interval and confirmation are, where they are known: for the check of resolution.
    pub resolution: Option<Resolution>,
}

/// Parts per billion, more than none and less than all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target(u64);

impl Target {
    pub fn new(ppb: u64) -> Option<Self> {
        (ppb > 0 && ppb < BILLION).then_some(Self(ppb))
    }

    pub fn ppb(self) -> u64 {
        self.0
    }

    /// 1 − t, in parts per billion.
    pub fn allowance_ppb(self) -> u64 {
        BILLION - self.0
    }

    /// 1 − t.
    pub fn allowance(self) -> Ratio {
        Ratio::new(self.allowance_ppb().into(), BILLION.into())
    }

    pub fn ratio(self) -> Ratio {
        Ratio::new(self.0.into(), BILLION.into())
    }
}

/// A share between nothing and all, as exactly as it was written. 1/2 and 50/100 are the same.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    pub num: u64,
    pub den: u64,
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        u128::from(self.num) * u128::from(other.den) == u128::from(other.num) * u128::from(self.den)
    }
}

impl Eq for Share {}

impl Share {
    pub const fn percent(percent: u64) -> Self {
        Self { num: percent, den: 100 }
    }

    pub fn ratio(self) -> Ratio {
        Ratio::new(self.num.into(), self.den.into())
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sli {
    /// Time that is not down.
    Availability,
    /// Results that passed.
    ProbeRatio { weight: Weight },
    /// Slices of time in which enough results passed.
    Slices { slice: Millis, target: Share },
    /// Results that passed in time.
    Latency { threshold_us: u32, denominator: Denominator },
    /// Requests of clients that the fleet answered, with `within_us` in time. With `fallback`, a minute with
    /// fewer requests than that counts by the monitor's timeline, and the unit is time.
    Requests { within_us: Option<u32>, fallback: Option<u32> },
}

impl Sli {
    pub fn name(self) -> &'static str {
        match self {
            Self::Availability => "availability",
            Self::ProbeRatio { .. } => "probe_ratio",
            Self::Slices { .. } => "slices",
            Self::Latency { .. } => "latency",
            Self::Requests { .. } => "requests",
        }
    }

    /// Whether good and bad are milliseconds; else they are events, slices or requests.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Availability | Self::Requests { fallback: Some(_), .. })
    }
}

/// How results are added up to a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// All together.
    Pooled,
    /// The mean of the locations' ratios.
    LocationMean,
    /// The mean of the ratios of slices so long.
    SliceMean(Millis),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denominator {
    /// Failures are charged to availability already.
    OkOnly,
    /// Failures are slow.
    All,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownPolicy {
    #[default]
    Exclude,
    Up,
    Down,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaintenancePolicy {
    #[default]
    Exclude,
    CountAsUp,
    /// Maintenance is a label only.
    Ignore,
}

/// A burn-rate rule: fires when both lookbacks burn fast enough to use up `fraction` of the budget
/// within the long one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    pub severity: RuleSeverity,
    pub long: Millis,
    pub short: Millis,
    pub fraction: Share,
    /// Events only: so many have to be bad in the long lookback.
    pub min_bad: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleSeverity {
    Page,
    Ticket,
}

/// How fine a monitor measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    pub interval: Millis,
    /// Bad rounds in a row that it takes.
    pub confirm: u32,
}

impl Resolution {
    pub fn of(interval: Millis, quorum: &Quorum, locations: usize) -> Self {
        Self { interval, confirm: quorum.confirm(locations) }
    }
}
