//! Between a fleet's form and what is stored of it.

use super::fleets::{ChangeFleet, FleetCheck, FleetFlap, FleetPlatform, NewFleet};
use crate::{
    domain::fleet::{
        config::Config,
        settings::{Flap, HealthCheck, Settings},
    },
    store::fleets::FleetRow,
};

/// A form as it is stored.
pub fn configured(form: NewFleet) -> Config {
    let usual = Settings::default();
    let (platform, floor) = form.platform.map(|p| (p.kind, p.floor)).unzip();
    Config {
        analysis: Settings {
            expected: form.expected,
            min_ready: form.min_ready,
            window_s: form.window_s.unwrap_or(usual.window_s),
            lateness_s: form.lateness_s.unwrap_or(usual.lateness_s),
            warm_up_s: form.warm_up_s.unwrap_or(usual.warm_up_s),
            drain_s: form.drain_s.unwrap_or(usual.drain_s),
            settle_s: form.settle_s.unwrap_or(usual.settle_s),
            flap: form.flap.map_or(usual.flap, |FleetFlap { window_s, from, until }| Flap {
                window_s,
                from,
                until,
            }),
            few_ready: form.few_ready.unwrap_or(usual.few_ready),
            check: form.check.map(|c| HealthCheck {
                path: c.path,
                interval_s: c.interval_s,
                timeout_s: c.timeout_s,
                unhealthy: c.unhealthy,
                healthy: c.healthy,
            }),
            probe_paths: form.probe_paths,
            inventory: Vec::new(),
            platform,
        },
        floor: floor.flatten(),
        instances: form.instances,
        rules: form.rules,
    }
}

/// A stored fleet with a change on top, as a form again.
pub fn merged(old: &FleetRow, change: ChangeFleet) -> NewFleet {
    let set = &old.config.analysis;
    NewFleet {
        name: change.name.unwrap_or_else(|| old.name.clone()),
        expected: change.expected.unwrap_or(set.expected),
        min_ready: change.min_ready.unwrap_or(set.min_ready),
        platform: change.platform.unwrap_or_else(|| platform(&old.config)),
        check: change.check.unwrap_or_else(|| set.check.as_ref().map(check)),
        drain_s: change.drain_s.unwrap_or(Some(set.drain_s)),
        settle_s: change.settle_s.unwrap_or(Some(set.settle_s)),
        window_s: Some(set.window_s),
        lateness_s: change.lateness_s.unwrap_or(Some(set.lateness_s)),
        warm_up_s: change.warm_up_s.unwrap_or(Some(set.warm_up_s)),
        flap: change.flap.unwrap_or_else(|| Some(flap(set.flap))),
        few_ready: change.few_ready.unwrap_or(Some(set.few_ready)),
        probe_paths: change.probe_paths.unwrap_or_else(|| set.probe_paths.clone()),
        instances: change.instances.unwrap_or_else(|| old.config.instances.clone()),
        rules: change.rules.unwrap_or_else(|| old.config.rules.clone()),
    }
}

pub fn platform(config: &Config) -> Option<FleetPlatform> {
    let kind = config.analysis.platform.clone()?;
    Some(FleetPlatform { kind, floor: config.floor })
}

pub fn check(check: &HealthCheck) -> FleetCheck {
    FleetCheck {
        path: check.path.clone(),
        interval_s: check.interval_s,
        timeout_s: check.timeout_s,
        unhealthy: check.unhealthy,
        healthy: check.healthy,
    }
}

pub fn flap(Flap { window_s, from, until }: Flap) -> FleetFlap {
    FleetFlap { window_s, from, until }
}
