//! The findings about instances that do not stay up: restarts, crash loops, flapping.

use serde_json::json;

use super::{
    super::{
        event::State,
        finding::{Finding, Gravity, Kind, Scope},
    },
    Instance, SECOND, Timeline, Told,
    told::span,
};

/// Shares of a pool from which flapping is everybody's: three instances, or this many in a hundred.
const SHARED_FLAPPING: (usize, usize) = (3, 30);
/// Restarts in an hour that are too many.
const MANY_RESTARTS: u64 = 3;
const HOUR: i64 = 3_600 * SECOND;

impl Timeline {
    /// Too many restarts, or a platform that waits longer and longer between them.
    pub(super) fn restarting(&self, now: i64) -> Vec<Finding> {
        let mut all = Vec::new();
        for instance in self.instances.values() {
            let recent: Vec<_> =
                instance.recent_restarts.iter().filter(|r| r.at_us > now - HOUR).collect();
            let count: u64 = recent.iter().map(|restart| restart.count).sum();
            let times: Vec<i64> = recent.iter().map(|restart| restart.at_us).collect();
            let looping = instance.back_off_us.is_some() || gaps_grow(&times);
            if count < MANY_RESTARTS && instance.back_off_us.is_none() {
                continue;
            }
            let certain: u64 = recent.iter().filter(|r| r.certain).map(|r| r.count).sum();
            let reason = recent.iter().rev().find_map(|restart| restart.reason.as_deref());
            let why = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            let loops = if looping { ": a crash loop" } else { "" };
            let sentence = if count == 0 {
                format!(
                    "{} is in a crash loop: the platform waits before it starts it again{why}.",
                    instance.name
                )
            } else {
                format!(
                    "{} restarted {count} times within an hour, {certain} of them certain{why}{loops}.",
                    instance.name
                )
            };
            let severity = if looping { Gravity::Critical } else { Gravity::Warning };
            let from = times.first().copied().or(instance.back_off_us).unwrap_or(now);
            let mut finding = self.about(instance, Kind::Restart, severity, from, sentence);
            finding.evidence = json!({ "last_hour": count, "certain": certain,
                "probable": count - certain, "crash_loop": looping, "at_us": times,
                "reason": reason });
            all.push(finding);
        }
        all
    }

    /// Single restarts, as they happen.
    pub(super) fn restarted(&self, told: &Told) -> Vec<Finding> {
        let mut all = Vec::new();
        for restart in &told.restarts {
            let Some(instance) = self.instances.get(&restart.instance) else { continue };
            let many =
                |f: &Finding| f.kind == Kind::Restart && f.instances == [restart.instance.clone()];
            if self.open.iter().any(many) {
                continue;
            }
            let sure = if restart.certain { "certain" } else { "probable" };
            let times =
                if restart.count > 1 { format!(" {} times", restart.count) } else { String::new() };
            let why = restart.reason.as_deref().map_or(String::new(), |r| format!(": {r}"));
            let sentence = format!("{} restarted{times}, {sure}{why}.", instance.name);
            let at = restart.at_us;
            let mut finding = self.about(instance, Kind::Restart, Gravity::Info, at, sentence);
            finding.to_us = Some(at);
            let within = |r: &&super::Restart| r.at_us > at - HOUR && r.at_us <= at;
            let hour: u64 = instance.recent_restarts.iter().filter(within).map(|r| r.count).sum();
            finding.evidence = json!({ "certain": restart.certain, "count": restart.count,
                "last_hour": hour.max(restart.count), "reason": restart.reason });
            all.push(finding);
        }
        all
    }

    /// Who flaps; when many do it is one finding that names a shared cause.
    pub(super) fn flapping(&mut self, now: i64) -> Vec<Finding> {
        let flap = self.settings.flap;
        for instance in self.instances.values_mut() {
            let count = instance.unplanned(now, flap.window_s);
            match instance.flapping_us {
                None if count >= flap.from => instance.flapping_us = Some(now),
                Some(_) if count <= flap.until => instance.flapping_us = None,
                _ => {}
            }
        }
        let flapping: Vec<&Instance> =
            self.instances.values().filter(|i| i.flapping_us.is_some()).collect();
        let alive = self.instances.values().filter(|i| i.state != State::Gone).count();
        let (many, percent) = SHARED_FLAPPING;
        let shared = flapping.len() >= 2
            && (flapping.len() >= many || flapping.len() * 100 >= percent * alive);
        if shared {
            let from = flapping.iter().filter_map(|i| i.flapping_us).min().unwrap_or(now);
            let sentence = format!(
                "{} of {alive} instances flap together: a shared dependency fails now and then; \
                 no instance is blamed.",
                flapping.len()
            );
            let mut finding = self.finding(Kind::Flapping, Gravity::Critical, from, sentence);
            finding.scope = Scope::Shared;
            finding.evidence = json!({
                "flapping": flapping.iter().map(|i| &i.name).collect::<Vec<_>>(), "of": alive,
                "label": "shared partial failure",
            });
            return vec![finding];
        }
        let of_one = flapping.into_iter().map(|instance| {
            let count = instance.unplanned(now, flap.window_s);
            let (hour, day) = (instance.unplanned(now, 3_600), instance.unplanned(now, 86_400));
            let sentence = format!(
                "{} flaps: {count} changes between ready and not within {}.",
                instance.name,
                span(i64::from(flap.window_s) * SECOND)
            );
            let from = instance.flapping_us.unwrap_or(now);
            let mut finding =
                self.about(instance, Kind::Flapping, Gravity::Warning, from, sentence);
            finding.evidence = json!({ "transitions": count, "window_s": flap.window_s,
                "per_hour": hour, "last_24h": day });
            finding
        });
        of_one.collect()
    }
}

/// At least three gaps from about ten seconds on, each about twice the one before.
fn gaps_grow(times: &[i64]) -> bool {
    let gaps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.len() >= 2
        && gaps.windows(2).all(|pair| pair[1] * 10 >= pair[0] * 15)
        && gaps.first().is_some_and(|first| *first >= 5 * SECOND)
}
