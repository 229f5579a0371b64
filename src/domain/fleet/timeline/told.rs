//! The findings that follow from states: fewer ready than wanted, left rotation, restarts, flapping,
//! zombies, missing logs, slow removals.

use serde_json::json;

use super::{
    super::{
        all_out,
        event::{Source, State},
        finding::{self, Change, End, Finding, Gravity, Kind, Scope},
    },
    Instance, ReadyPoint, Removal, SECOND, Step, Timeline, Told,
    removal::{self, Cause},
};

impl Timeline {
    /// Compares what holds now with what was told.
    pub(super) fn tell(&mut self, step: &Step<'_>, told: &mut Told) {
        let now = step.until_us;
        let mut holds = Vec::new();
        holds.extend(self.few_or_unknown(step));
        holds.extend(self.left_rotation());
        holds.extend(self.restarting(now));
        holds.extend(self.flapping(now));
        holds.extend(self.zombies(now));
        holds.extend(self.stale_versions(now));
        holds.extend(self.no_data(step));
        self.reconcile(holds, now, &mut told.findings);
        let mut once = Vec::new();
        once.extend(self.restarted(told));
        once.extend(self.slow_removals(&told.removals));
        once.extend(self.returned_together());
        for finding in once {
            told.findings
                .push(change(finding::Step::Opened, Finding { to_us: None, ..finding.clone() }));
            told.findings.push(change(CLOSED, finding));
        }
    }

    pub(super) fn finding(
        &self,
        kind: Kind,
        severity: Gravity,
        from_us: i64,
        sentence: String,
    ) -> Finding {
        Finding {
            kind,
            scope: Scope::Pool,
            severity,
            pool: self.pool.clone(),
            instances: Vec::new(),
            from_us,
            found_us: self.settings.known_us(self.now_us.unwrap_or(from_us)),
            to_us: None,
            chronic: false,
            sentence,
            evidence: json!({}),
        }
    }

    pub(super) fn about(
        &self,
        instance: &Instance,
        kind: Kind,
        severity: Gravity,
        from_us: i64,
        sentence: String,
    ) -> Finding {
        Finding {
            scope: Scope::One,
            instances: vec![instance.name.clone()],
            ..self.finding(kind, severity, from_us, sentence)
        }
    }

    fn reconcile(&mut self, holds: Vec<Finding>, now: i64, changes: &mut Vec<Change>) {
        let same = |a: &Finding, b: &Finding| a.kind == b.kind && a.instances == b.instances;
        for mut old in std::mem::take(&mut self.open) {
            if !holds.iter().any(|new| same(new, &old)) {
                old.to_us = Some(now);
                changes.push(change(CLOSED, old));
            } else {
                self.open.push(old);
            }
        }
        for new in holds {
            match self.open.iter_mut().find(|old| same(old, &new)) {
                None => {
                    changes.push(change(finding::Step::Opened, new.clone()));
                    self.open.push(new);
                }
                Some(old) => {
                    let new = Finding { from_us: old.from_us, found_us: old.found_us, ..new };
                    if new != *old {
                        let same = (new.severity, new.scope) == (old.severity, old.scope);
                        let step =
                            if same { finding::Step::Refreshed } else { finding::Step::Changed };
                        changes.push(change(step, new.clone()));
                        *old = new;
                    }
                }
            }
        }
    }

    /// Too few, or that finding as it was told last while it is not known whether it still holds: what is not
    /// known neither begins a finding nor ends one, nor makes it less grave.
    fn few_or_unknown(&self, step: &Step<'_>) -> Option<Finding> {
        let now = self.few_ready(step);
        let Some(open) = self.open.iter().find(|open| open.kind == Kind::FewReady) else {
            return now;
        };
        let limit = open.evidence.get("limit").and_then(serde_json::Value::as_u64);
        let limit = limit.and_then(|limit| u32::try_from(limit).ok());
        let graver = now.as_ref().is_none_or(|now| now.severity < open.severity);
        if graver && limit.is_some_and(|limit| self.ready.is_doubtful(limit)) {
            return Some(open.clone());
        }
        now
    }

    fn few_ready(&self, step: &Step<'_>) -> Option<Finding> {
        let now = step.until_us;
        let expected = self.expected()?;
        if expected.learned && self.settings.min_ready.is_none() {
            return None;
        }
        let point = self.ready.last()?;
        let ready = point.ready?;
        let floor = self.settings.floor(expected.count);
        let by_traffic = point.source == Source::Traffic;
        // Traffic alone tells slowly, and where it is too thin it tells nothing.
        let wait = if by_traffic { self.patience_us()? * 3 } else { self.few_ready_us() };
        let below = |limit: u32, wait: i64| {
            let since = self.ready.below_since(limit)?;
            (now - since >= wait).then_some(since)
        };
        let warning = i64::from(self.settings.few_ready.warning_s) * SECOND;
        let (since, limit, severity) = match below(floor, wait) {
            Some(since) if by_traffic => (since, floor, Gravity::Warning),
            Some(since) => (since, floor, Gravity::Critical),
            None if by_traffic || expected.learned => return None,
            None => (below(expected.count, warning)?, expected.count, Gravity::Warning),
        };
        let load = f64::from(expected.count) / f64::from(ready.max(1));
        let called = if by_traffic { "in rotation" } else { "ready" };
        let carry =
            if ready == 0 { String::new() } else { format!("; the others carry × {load:.2}") };
        let unknown = match point.unknown {
            0 => String::new(),
            n => format!(" ({n} not known)"),
        };
        let sentence = format!(
            "{ready} of {} {called}{unknown}, fewer than {limit}{carry}; counted {}.",
            expected.count,
            point.by_words()
        );
        let mut finding = self.finding(Kind::FewReady, severity, since, sentence);
        finding.evidence = json!({
            "ready": ready, "unknown": point.unknown, "expected": expected.count,
            "learned": expected.learned, "min_ready": floor, "limit": limit, "source": point.source,
            "by": point.by, "load_factor": load,
            "least": point.least, "most": point.most,
        });
        if ready == 0 && point.unknown == 0 {
            self.tell_all_out(&mut finding, point, step);
        }
        Some(finding)
    }

    /// With nobody ready it depends on the platform whether requests go to all or to nobody.
    fn tell_all_out(&self, finding: &mut Finding, point: &ReadyPoint, step: &Step<'_>) {
        let mut seen = all_out::Seen::default();
        let drained = i64::from(self.settings.drain_s) * SECOND;
        seen.add(step.window, Some(point.at_us + drained));
        let platform = all_out::platform_of(&self.settings, point.source);
        let there = self.instances.values().filter(|i| i.state != State::Gone).count();
        let window = span(self.window_us());
        finding.sentence.push_str(&format!(
            " In the last {window} {}. {}",
            seen.words(there),
            all_out::documented(platform)
        ));
        finding.evidence["all_out"] = json!({ "seen": seen, "window_s": self.settings.window_s,
            "platform": platform.map(|platform| platform.kind) });
    }

    /// How long fewer than the floor must be ready.
    fn few_ready_us(&self) -> i64 {
        let interval = self.settings.check.as_ref().map_or(0.0, |check| check.interval_s);
        let least = i64::from(self.settings.few_ready.critical_s) * SECOND;
        least.max((2.0 * interval * SECOND as f64) as i64)
    }

    /// How long traffic of the quietest instance may pause; none where there is too little to tell.
    pub(super) fn patience_us(&self) -> Option<i64> {
        self.instances.values().filter_map(Instance::patience_us).max()
    }

    fn left_rotation(&self) -> Vec<Finding> {
        let left = self.instances.values().filter_map(|instance| {
            let removal = instance.removal()?;
            let open = removal.cause == Cause::Silence && removal.returned_us.is_none();
            open.then_some((instance, removal))
        });
        left.map(|(instance, removal)| {
            let sentence = format!(
                "{} gets no traffic any more while its peers do; nothing says why.",
                instance.name
            );
            let from = removal.removed_us;
            let mut finding =
                self.about(instance, Kind::LeftRotation, Gravity::Warning, from, sentence);
            finding.evidence = json!({ "last_attempt_us": removal.removed_us,
                "first_failure_us": removal.failed_us });
            finding
        })
        .collect()
    }

    /// Out, past its time to drain, and still asked; or asked and in no inventory.
    fn zombies(&self, now: i64) -> Vec<Finding> {
        // With nobody ready, platforms that fail open send traffic to all: that is no zombie.
        let all_out = self.ready.last().is_none_or(|point| point.ready.unwrap_or(0) == 0);
        let inventory = &self.settings.inventory;
        let listed = |instance: &Instance| {
            inventory.is_empty()
                || inventory.contains(&instance.name)
                || instance.aliases.iter().any(|alias| inventory.contains(alias))
        };
        let mut all = Vec::new();
        for instance in self.instances.values() {
            let fresh = instance.last_us.is_some_and(|last| now - last <= 2 * self.window_us());
            let (sentence, evidence) = match instance.stray {
                Some(attempts) if !all_out => (
                    format!(
                        "{} is {} for {} and still got {attempts} requests: removed but serving.",
                        instance.name,
                        instance.state.as_str(),
                        span(now - instance.since_us)
                    ),
                    json!({ "state": instance.state, "attempts": attempts,
                        "since_us": instance.since_us, "drain_s": self.settings.drain_s }),
                ),
                None if fresh && !listed(instance) => (
                    format!("{} gets requests but is not in the inventory.", instance.name),
                    json!({ "listed": false }),
                ),
                _ => continue,
            };
            let from = if instance.stray.is_some() { instance.since_us } else { now };
            let mut finding = self.about(instance, Kind::Zombie, Gravity::Warning, from, sentence);
            finding.evidence = evidence;
            all.push(finding);
        }
        all
    }

    /// A source that is silent about what is being served.
    fn no_data(&self, step: &Step<'_>) -> Vec<Finding> {
        let limit = self.patience_us().unwrap_or(0).max(60 * SECOND);
        let silent = step
            .sources
            .iter()
            .filter(|source| source.served && step.until_us - source.newest_us > limit);
        silent
            .map(|source| {
                let sentence = format!(
                    "No lines from {} for {}, though there is traffic: what it would tell is \
                     unknown, not well.",
                    source.name,
                    span(step.until_us - source.newest_us)
                );
                let mut finding =
                    self.finding(Kind::NoData, Gravity::Warning, source.newest_us, sentence);
                // Each silent source is a finding of its own.
                finding.instances = vec![source.name.clone()];
                finding.evidence = json!({ "source": source.name, "newest_us": source.newest_us });
                finding
            })
            .collect()
    }

    /// Removals that took longer than the configured check can explain.
    fn slow_removals(&self, removals: &[Removal]) -> Vec<Finding> {
        let Some(timing) = removal::timing(&self.settings) else { return Vec::new() };
        let worst = (timing.worst_s * SECOND as f64) as i64;
        let mut all = Vec::new();
        for removal in removals.iter().filter(|r| r.returned_us.is_none()) {
            let Some(instance) = self.instances.get(&removal.instance) else { continue };
            let Some(took) = removal.time_us() else { continue };
            if took <= worst + removal.resolution_us + 2 * SECOND || removal.cause != Cause::Check {
                continue;
            }
            let sentence = format!(
                "{} was taken out {} after it first failed; its check needs {} at worst.",
                removal.instance,
                span(took),
                span(worst)
            );
            let at = removal.removed_us;
            let mut finding =
                self.about(instance, Kind::SlowRemoval, Gravity::Warning, at, sentence);
            finding.to_us = Some(at);
            finding.evidence = json!({ "took_us": took, "minimum_s": timing.minimum_s,
                "worst_s": timing.worst_s, "harmed": removal.harmed,
                "client_visible": removal.client_visible });
            all.push(finding);
        }
        all
    }

    /// More than three instances back within ten seconds after all were out.
    fn returned_together(&mut self) -> Option<Finding> {
        let all_out = self.all_out_us?;
        let back: Vec<i64> = self.returns.iter().copied().filter(|at| *at > all_out).collect();
        let (first, last) = (*back.first()?, *back.last()?);
        if back.len() <= 3 || last - first > 10 * SECOND {
            return None;
        }
        self.returns.clear();
        let sentence = format!(
            "{} instances came back within {} after all were out: what waited reaches them at once.",
            back.len(),
            span((last - first).max(SECOND))
        );
        let mut finding = self.finding(Kind::ReturnedTogether, Gravity::Info, first, sentence);
        finding.to_us = Some(last);
        finding.evidence = json!({ "instances": back.len(), "within_us": last - first,
            "all_out_us": all_out });
        Some(finding)
    }

    fn window_us(&self) -> i64 {
        i64::from(self.settings.window_s.max(1)) * SECOND
    }
}

const CLOSED: finding::Step = finding::Step::Closed(End::Over);

fn change(step: finding::Step, finding: Finding) -> Change {
    Change { key: finding::key(&finding), step, finding }
}

/// `48 s`, `6 min`, `2 h 5 min`, of µs.
pub(super) fn span(us: i64) -> String {
    let secs = us / SECOND;
    match secs {
        ..=0 => format!("{} ms", us / 1_000),
        1..=119 => format!("{secs} s"),
        120..=7_199 => format!("{} min", secs / 60),
        _ => format!("{} h {} min", secs / 3_600, secs % 3_600 / 60),
    }
}
