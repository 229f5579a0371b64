//! What a platform does by itself: how soon it takes an instance out, when it takes it back, and what it
//! does when nobody is healthy. One table for the fleet pages and for the health-check adviser.
//!
//! Sources: the vendors' documentation as of 2026; times in seconds. Two figures stand side by side: the
//! minimum (every check fails at once) and the worst case (the instance hangs just after a passed check,
//! and the last check waits for its time-out). Propagation to every node comes on top.

use super::{event::Source, settings::HealthCheck};

/// One platform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Platform {
    /// The name in settings and the API.
    pub kind: &'static str,
    /// For people.
    pub name: &'static str,
    /// Interval, time-out, failures to leave, passes to return, as they are if nobody sets them.
    pub defaults: Defaults,
    /// One more interval than the failures, as this vendor counts.
    pub extra_interval: bool,
    /// Below this share of healthy instances it ignores health and uses all; none: it never does.
    pub floor: Option<Floor>,
    /// What happens when every instance is unhealthy, as documented: it goes on after the name.
    pub all_unhealthy: &'static str,
    /// What failing open would do to the fleet, or why it does not come to that; a sentence for people.
    pub fail_open: &'static str,
    /// How long it lets an instance finish after removal, by default.
    pub drain_s: f64,
    /// New and returned instances get their share at once, or slowly if configured so.
    pub slow_start: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Defaults {
    pub interval_s: f64,
    pub timeout_s: f64,
    pub unhealthy: u32,
    pub healthy: u32,
}

/// Where failing open begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Floor {
    /// When nobody is left.
    None,
    /// Below this share, 0 to 1.
    Share(f64),
}

/// How long a removal and a return take by configuration, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// N × I: every check fails at once.
    pub minimum_s: f64,
    /// N × I + T: it hangs just after a check.
    pub worst_s: f64,
    /// Passes × I until it is back.
    pub return_s: f64,
}

pub const PLATFORMS: &[Platform] = &[
    Platform {
        kind: "kubernetes",
        name: "Kubernetes Service",
        defaults: Defaults { interval_s: 10.0, timeout_s: 1.0, unhealthy: 3, healthy: 1 },
        extra_interval: false,
        floor: None,
        all_unhealthy: "does not fail open: no endpoint is left and requests fail",
        fail_open: "There is no such mode: with no Pod ready, requests to the Service fail \
                    until one is.",
        drain_s: 30.0,
        slow_start: "none",
    },
    Platform {
        kind: "alb",
        name: "AWS Application Load Balancer",
        defaults: Defaults { interval_s: 30.0, timeout_s: 5.0, unhealthy: 2, healthy: 5 },
        extra_interval: false,
        floor: Some(Floor::None),
        all_unhealthy: "fails open: routes to all targets, healthy or not",
        fail_open: "With no healthy target it sends requests to all: a fault that all share \
                    does not become an outage by checks alone, and each bad instance gets \
                    its part again.",
        drain_s: 300.0,
        slow_start: "30 to 900 s if configured",
    },
    Platform {
        kind: "nlb",
        name: "AWS Network Load Balancer",
        defaults: Defaults { interval_s: 30.0, timeout_s: 10.0, unhealthy: 2, healthy: 5 },
        extra_interval: false,
        floor: Some(Floor::None),
        all_unhealthy: "fails open once every target in every zone fails; zones without a healthy \
                        target leave DNS before",
        fail_open: "With no healthy target in any zone it sends connections to all of them, \
                    good or bad.",
        drain_s: 300.0,
        slow_start: "none",
    },
    Platform {
        kind: "envoy",
        name: "Envoy",
        defaults: Defaults { interval_s: 10.0, timeout_s: 1.0, unhealthy: 3, healthy: 2 },
        extra_interval: false,
        floor: Some(Floor::Share(0.5)),
        all_unhealthy: "ignores health below its panic threshold and uses all hosts, unless set to \
                        fail the traffic",
        fail_open: "Below its panic threshold, half of the hosts unless set, it balances \
                    over all hosts: the load stays spread, and requests reach the bad ones \
                    as well.",
        drain_s: 0.0,
        slow_start: "if configured",
    },
    Platform {
        kind: "haproxy",
        name: "HAProxy",
        defaults: Defaults { interval_s: 2.0, timeout_s: 2.0, unhealthy: 3, healthy: 2 },
        extra_interval: false,
        floor: None,
        all_unhealthy: "does not fail open: answers 503",
        fail_open: "There is no such mode: with no server up it answers 503, unless a backup \
                    server is configured.",
        drain_s: 0.0,
        slow_start: "`slowstart`, if configured",
    },
    Platform {
        kind: "nginx",
        name: "nginx upstream",
        // Passive: max_fails 1 within fail_timeout 10 s; out for fail_timeout.
        defaults: Defaults { interval_s: 10.0, timeout_s: 60.0, unhealthy: 1, healthy: 1 },
        extra_interval: false,
        floor: None,
        all_unhealthy: "answers 502 with “no live upstreams”, then tries all servers again",
        fail_open: "There is no such mode to set. With every server marked as failed it \
                    answers 502, and tries all of them anew with the next request.",
        drain_s: 0.0,
        slow_start: "in the commercial version only",
    },
    Platform {
        kind: "google",
        name: "Google Cloud Load Balancing",
        defaults: Defaults { interval_s: 5.0, timeout_s: 5.0, unhealthy: 2, healthy: 2 },
        extra_interval: false,
        floor: None,
        all_unhealthy: "does not fail open: Application Load Balancers answer 503 (classic 502); \
                        passthrough balancers use all as a last resort",
        fail_open: "Application Load Balancers have no such mode: they answer 503. \
                    Passthrough balancers send connections to all instances as a last \
                    resort.",
        drain_s: 0.0,
        slow_start: "none",
    },
    Platform {
        kind: "azure_lb",
        name: "Azure Load Balancer",
        defaults: Defaults { interval_s: 15.0, timeout_s: 15.0, unhealthy: 1, healthy: 1 },
        extra_interval: false,
        floor: None,
        all_unhealthy: "sends no new flows, unless its probe is set to AllProbedUp",
        fail_open: "Only if its probe is set to AllProbedUp: then new flows go to all \
                    instances, good or bad. As it is by default, none do.",
        drain_s: 0.0,
        slow_start: "none",
    },
    Platform {
        kind: "app_gateway",
        name: "Azure Application Gateway",
        defaults: Defaults { interval_s: 30.0, timeout_s: 30.0, unhealthy: 3, healthy: 1 },
        extra_interval: true,
        floor: None,
        all_unhealthy: "answers 502, unless MinServers keeps some in",
        fail_open: "There is no such mode: it answers 502. MinServers keeps so many \
                    instances in rotation whatever their probes say.",
        drain_s: 0.0,
        slow_start: "none",
    },
];

/// Who takes instances out where this source tells of it; none where that may be anybody.
pub fn behind(source: Source) -> Option<&'static Platform> {
    match source {
        Source::Haproxy => named("haproxy"),
        Source::Kubernetes => named("kubernetes"),
        Source::AlbHealth => named("alb"),
        Source::Envoy => named("envoy"),
        Source::NginxError => named("nginx"),
        Source::Caddy | Source::Probes | Source::Traffic => None,
    }
}

/// The platform of that name.
pub fn named(kind: &str) -> Option<&'static Platform> {
    PLATFORMS.iter().find(|platform| platform.kind == kind)
}

impl Platform {
    /// With the check as configured, or the platform's own defaults.
    pub fn timing(&self, check: Option<&HealthCheck>) -> Timing {
        let own = self.defaults;
        let check = check.cloned().unwrap_or(HealthCheck {
            path: None,
            interval_s: own.interval_s,
            timeout_s: own.timeout_s,
            unhealthy: own.unhealthy,
            healthy: own.healthy,
        });
        let intervals = check.unhealthy + u32::from(self.extra_interval);
        Timing::of(&check, intervals)
    }

    /// Whether it would ignore health with so many of so many ready. None: it never does.
    pub fn fails_open(&self, ready: u32, of: u32) -> Option<bool> {
        self.floor.map(|floor| match floor {
            Floor::None => ready == 0,
            Floor::Share(share) => f64::from(ready) < share * f64::from(of),
        })
    }
}

impl Timing {
    /// Of a check that nobody said the platform of.
    pub fn of_check(check: &HealthCheck) -> Self {
        Self::of(check, check.unhealthy)
    }

    fn of(check: &HealthCheck, intervals: u32) -> Self {
        let minimum_s = f64::from(intervals) * check.interval_s;
        Self {
            minimum_s,
            worst_s: minimum_s + check.timeout_s,
            return_s: f64::from(check.healthy) * check.interval_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(kind: &str) -> (f64, f64, f64) {
        let timing = named(kind).unwrap().timing(None);
        (timing.minimum_s, timing.worst_s, timing.return_s)
    }

    #[test]
    fn the_documented_defaults_give_the_documented_times() {
        assert_eq!(timing("alb"), (60.0, 65.0, 150.0));
        assert_eq!(timing("kubernetes"), (30.0, 31.0, 10.0));
        assert_eq!(timing("app_gateway").0, 120.0, "one interval more, as its vendor counts");
        assert_eq!(timing("google").0, 10.0);
        let tuned =
            HealthCheck { path: None, interval_s: 5.0, timeout_s: 2.0, unhealthy: 2, healthy: 5 };
        assert_eq!(named("alb").unwrap().timing(Some(&tuned)).worst_s, 12.0);
        assert_eq!(Timing::of_check(&tuned).minimum_s, 10.0);
    }

    #[test]
    fn failing_open_differs_between_platforms() {
        let opens = |kind, ready, of| named(kind).unwrap().fails_open(ready, of);
        assert_eq!(opens("kubernetes", 0, 4), None);
        assert_eq!(opens("alb", 1, 4), Some(false));
        assert_eq!(opens("alb", 0, 4), Some(true));
        assert_eq!(opens("envoy", 6, 10), Some(false));
        assert_eq!(opens("envoy", 4, 10), Some(true));
        assert_eq!(named("unheard of"), None);
    }

    #[test]
    fn every_platform_says_what_failing_open_would_do() {
        for platform in PLATFORMS {
            let told = platform.fail_open;
            assert!(told.ends_with('.') && told.len() > 40, "{}: {told}", platform.kind);
            // Those that have a floor say what comes below it, the others that or when there is none.
            let none = ["There is no such mode", "Application Load Balancers have no", "Only if"];
            let without = none.iter().any(|start| told.starts_with(start));
            assert_eq!(platform.floor.is_none(), without, "{}: {told}", platform.kind);
        }
    }
}
