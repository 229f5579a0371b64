//! Which versions serve, and who was left behind by a roll-out.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    super::finding::{Finding, Gravity, Kind},
    Instance, SECOND, Timeline,
    told::span,
};

impl Timeline {
    /// Once nine in ten of those that serve run one version and a quarter of an hour has passed without
    /// another change, whoever runs another is told. While versions go on changing it is a roll-out, and
    /// nobody is.
    pub(super) fn stale_versions(&self, now: i64) -> Vec<Finding> {
        let ready: Vec<(&Instance, &str)> = self
            .instances
            .values()
            .filter(|i| i.state.serves())
            .filter_map(|i| Some((i, i.version.as_deref()?)))
            .collect();
        let mut by_version: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
        for (instance, version) in &ready {
            by_version.entry(version).or_default().push(instance);
        }
        let Some((main, holders)) = by_version.iter().max_by_key(|(_, holders)| holders.len())
        else {
            return Vec::new();
        };
        // Of a pool too small for nine in ten, all but one.
        let most = holders.len() * 10 >= ready.len() * 9
            || (ready.len() >= 3 && holders.len() + 1 == ready.len());
        // The first instance of a roll-out is alone for a while, and all the others are as they were.
        let settled = ready.iter().map(|(i, _)| i.version_us).max().unwrap_or(now);
        let quiet = i64::from(self.settings.settle_s) * SECOND;
        if !most || now - settled < quiet {
            return Vec::new();
        }
        let since = holders.iter().map(|holder| holder.version_us).max().unwrap_or(settled);
        let others = ready.iter().filter(|(_, version)| version != main);
        others
            .map(|(instance, version)| {
                // It came after all the others had what they have: a roll-out that went no further.
                let newer = instance.version_us > since;
                let sentence = if newer {
                    format!(
                        "{} has run {version} for {}; the other {} go on with {main}.",
                        instance.name,
                        span(now - instance.version_us),
                        holders.len(),
                    )
                } else {
                    format!(
                        "{} runs {version}; the other {} have run {main} for {}.",
                        instance.name,
                        holders.len(),
                        span(now - since)
                    )
                };
                let from = settled + quiet;
                let mut finding =
                    self.about(instance, Kind::StaleVersion, Gravity::Warning, from, sentence);
                finding.evidence = json!({ "version": version, "main": main, "newer": newer,
                    "holders": holders.len(), "ready": ready.len() });
                finding
            })
            .collect()
    }
}
