//! What is configured of a fleet. Everything has a default, so that logs alone are enough.

use serde::{Deserialize, Serialize};

/// Settings of the analysis. Spans in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How many instances there should be; unknown is learned and shown as such.
    pub expected: Option<u32>,
    /// Fewer ready than this is critical. Default: max(1, ⌈0.75 · expected⌉).
    pub min_ready: Option<u32>,
    /// Length of a window. A minute everywhere but in experiments.
    pub window_s: u32,
    /// A window is judged this long after the newest line of the slowest live source.
    pub lateness_s: u32,
    /// A new or returned instance is not compared for this long.
    pub warm_up_s: u32,
    /// Requests this long after a removal are still the draining.
    pub drain_s: u32,
    /// A roll-out is over when it has been quiet for this long: what is older then is stale.
    pub settle_s: u32,
    pub flap: Flap,
    pub few_ready: FewReady,
    /// The health check that the balancer or the platform runs, if known.
    pub check: Option<HealthCheck>,
    /// Paths that are health checks, beside the usual ones.
    pub probe_paths: Vec<String>,
    /// Names or addresses of the instances that there should be; empty when nobody keeps a list.
    pub inventory: Vec<String>,
    /// What the platform does by itself: a name of `platform::PLATFORMS`.
    pub platform: Option<String>,
}

/// When an instance flaps: starts at `from` transitions within `window_s`, ends after `window_s` with at
/// most `until`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flap {
    pub window_s: u32,
    pub from: u32,
    pub until: u32,
}

/// How long too few must be ready before it is told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FleetFewReady)]
#[serde(deny_unknown_fields, default)]
pub struct FewReady {
    /// Fewer than `min_ready` for so long, and for two intervals of the health check at least, is critical.
    pub critical_s: u32,
    /// Fewer than `expected` for so long is worth a warning.
    pub warning_s: u32,
}

/// A health check as a balancer or platform is configured: out after `unhealthy` failures in a row,
/// back after `healthy` passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthCheck {
    #[serde(default)]
    pub path: Option<String>,
    pub interval_s: f64,
    pub timeout_s: f64,
    pub unhealthy: u32,
    pub healthy: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            expected: None,
            min_ready: None,
            window_s: 60,
            lateness_s: 10,
            warm_up_s: 120,
            drain_s: 30,
            settle_s: 900,
            flap: Flap::default(),
            few_ready: FewReady::default(),
            check: None,
            probe_paths: Vec::new(),
            inventory: Vec::new(),
            platform: None,
        }
    }
}

impl Default for Flap {
    fn default() -> Self {
        Self { window_s: 1_800, from: 6, until: 1 }
    }
}

impl Default for FewReady {
    fn default() -> Self {
        Self { critical_s: 30, warning_s: 600 }
    }
}

impl Settings {
    /// When a window that ends at `until_us` can be judged at the earliest.
    pub fn known_us(&self, until_us: i64) -> i64 {
        until_us + i64::from(self.lateness_s) * 1_000_000
    }

    /// The floor: configured, or three quarters of what is expected.
    pub fn floor(&self, expected: u32) -> u32 {
        self.min_ready.unwrap_or_else(|| (expected - expected / 4).max(1))
    }
}
