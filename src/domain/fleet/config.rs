//! A fleet's settings as a whole: those of the analysis, its named instances, and its rules.

use serde::{Deserialize, Serialize};

use super::{
    platform,
    rules::Rules,
    settings::{HealthCheck, Settings},
};
use crate::domain::Invalid;

/// How many instances may be named.
const MOST_INSTANCES: usize = 1_000;

/// It is a format: stored with the fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub analysis: Settings,
    /// Share of ready instances (0 to 1) below which the platform ignores health, where it is not what
    /// the platform does by default.
    pub floor: Option<f64>,
    pub instances: Vec<Named>,
    pub rules: Rules,
}

/// An instance that somebody gave a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FleetNamedInstance)]
#[serde(deny_unknown_fields)]
pub struct Named {
    pub name: String,
    /// What logs and platforms call it: `10.9.0.11:8080`, `backend/server`, a pod's name or uid.
    #[serde(default)]
    pub addresses: Vec<String>,
    pub zone: Option<String>,
}

impl Config {
    /// Refuses what cannot be meant, by the name of the field as the API has it.
    pub fn check(&self) -> Result<(), Invalid> {
        let set = &self.analysis;
        within("expected", set.expected, 1, 10_000)?;
        within("min_ready", set.min_ready, 1, 10_000)?;
        if let (Some(expected), Some(min)) = (set.expected, set.min_ready)
            && min > expected
        {
            return Err(Invalid::new(
                "min_ready",
                format!("{min} is more than the {expected} that are expected"),
            ));
        }
        if set.window_s == 0 || 900 % set.window_s != 0 {
            return Err(Invalid::new(
                "window_s",
                format!("{} does not divide a quarter of an hour, 900 s", set.window_s),
            ));
        }
        within("lateness_s", Some(set.lateness_s), 0, 3_600)?;
        within("warm_up_s", Some(set.warm_up_s), 0, 86_400)?;
        within("drain_s", Some(set.drain_s), 0, 86_400)?;
        within("settle_s", Some(set.settle_s), 0, 86_400)?;
        within("flap.window_s", Some(set.flap.window_s), 10, 86_400)?;
        within("flap.from", Some(set.flap.from), 2, 1_000)?;
        if set.flap.until >= set.flap.from {
            return Err(Invalid::new("flap.until", "must be less than flap.from"));
        }
        within("few_ready.critical_s", Some(set.few_ready.critical_s), 0, 86_400)?;
        within("few_ready.warning_s", Some(set.few_ready.warning_s), 0, 86_400)?;
        if let Some(check) = &set.check {
            check_check(check).map_err(|invalid| invalid.under("check"))?;
        }
        check_paths(&set.probe_paths)?;
        if let Some(kind) = &set.platform
            && platform::named(kind).is_none()
        {
            let known: Vec<_> = platform::PLATFORMS.iter().map(|p| p.kind).collect();
            let why = format!("is not known; expected one of {}", known.join(", "));
            return Err(Invalid::given("platform.kind", kind, &why));
        }
        if self.floor.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err(Invalid::new("platform.floor", "must be a share from 0 to 1"));
        }
        check_instances(&self.instances)?;
        self.rules.check().map_err(|invalid| invalid.under("rules"))
    }

    /// An instance that was seen as `old` is seen as `new` from now on: both are one, under the name that
    /// somebody gave it, or else the new one.
    pub fn also_called(&mut self, old: &str, new: &str) {
        let is =
            |one: &Named, name: &str| one.name == name || one.addresses.iter().any(|a| a == name);
        let known = self.instances.iter().position(|one| is(one, old) || is(one, new));
        let Some(known) = known else {
            let (name, addresses) = (new.to_owned(), vec![old.to_owned()]);
            self.instances.push(Named { name, addresses, zone: None });
            return;
        };
        for name in [old, new] {
            if !self.instances.iter().any(|one| is(one, name)) {
                self.instances[known].addresses.push(name.to_owned());
            }
        }
    }

    /// The name that sums and events of `seen` belong to: of a named instance, or its own.
    pub fn named<'a>(&'a self, seen: &'a str) -> Option<&'a Named> {
        self.instances
            .iter()
            .find(|one| one.name == seen || one.addresses.iter().any(|a| a == seen))
    }
}

fn within(field: &str, value: Option<u32>, low: u32, high: u32) -> Result<(), Invalid> {
    match value {
        Some(n) if !(low..=high).contains(&n) => {
            Err(Invalid::new(field, format!("{n} is out of range: {low} to {high}")))
        }
        _ => Ok(()),
    }
}

fn check_check(check: &HealthCheck) -> Result<(), Invalid> {
    for (field, seconds) in [("interval_s", check.interval_s), ("timeout_s", check.timeout_s)] {
        if !(0.1..=3_600.0).contains(&seconds) {
            return Err(Invalid::new(field, "must be 0.1 to 3600 seconds"));
        }
    }
    within("unhealthy", Some(check.unhealthy), 1, 100)?;
    within("healthy", Some(check.healthy), 1, 100)?;
    match &check.path {
        Some(path) => check_path("path", path),
        None => Ok(()),
    }
}

fn check_paths(paths: &[String]) -> Result<(), Invalid> {
    if paths.len() > 50 {
        return Err(Invalid::new("probe_paths", "has more than 50 entries"));
    }
    let mut all = paths.iter().enumerate();
    all.try_for_each(|(i, path)| check_path(&format!("probe_paths[{i}]"), path))
}

fn check_path(field: &str, path: &str) -> Result<(), Invalid> {
    let plain = path.starts_with('/') && path.len() <= 500 && !path.chars().any(char::is_control);
    if plain { Ok(()) } else { Err(Invalid::new(field, "must be a path such as /healthz")) }
}

fn check_instances(instances: &[Named]) -> Result<(), Invalid> {
    if instances.len() > MOST_INSTANCES {
        return Err(Invalid::new("instances", format!("has more than {MOST_INSTANCES} entries")));
    }
    let mut taken = std::collections::HashMap::new();
    for (i, one) in instances.iter().enumerate() {
        let names = std::iter::once((format!("instances[{i}].name"), &one.name));
        let addresses = one.addresses.iter().enumerate();
        let addresses = addresses.map(|(j, a)| (format!("instances[{i}].addresses[{j}]"), a));
        for (field, text) in names.chain(addresses) {
            if text.trim().is_empty() || text.chars().count() > 200 {
                return Err(Invalid::new(field, "must be 1 to 200 characters"));
            }
            if text.chars().any(char::is_control) {
                return Err(Invalid::new(field, "holds a control character"));
            }
            if taken.insert(text.as_str(), i).is_some_and(|other| other != i) {
                return Err(Invalid::given(field, text, "belongs to another instance"));
            }
        }
        if one.zone.as_ref().is_some_and(|zone| zone.is_empty() || zone.chars().count() > 100) {
            return Err(Invalid::new(
                format!("instances[{i}].zone"),
                "must be 1 to 100 characters",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        config.check().map_or_else(|invalid| invalid.field, |()| String::new())
    }

    fn named(name: &str, addresses: &[&str]) -> Named {
        Named {
            name: name.into(),
            addresses: addresses.iter().map(|a| (*a).to_owned()).collect(),
            zone: None,
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_field() {
        assert_eq!(field(|_| ()), "");
        assert_eq!(field(|c| c.analysis.expected = Some(0)), "expected");
        let more = |c: &mut Config| {
            c.analysis.expected = Some(3);
            c.analysis.min_ready = Some(4);
        };
        assert_eq!(field(more), "min_ready");
        assert_eq!(field(|c| c.analysis.window_s = 7), "window_s");
        assert_eq!(field(|c| c.analysis.window_s = 5), "");
        assert_eq!(field(|c| c.analysis.platform = Some("mainframe".into())), "platform.kind");
        assert_eq!(field(|c| c.floor = Some(1.5)), "platform.floor");
        assert_eq!(
            field(|c| c.analysis.probe_paths = vec!["/a".into(), "b".into()]),
            "probe_paths[1]"
        );
        assert_eq!(field(|c| c.rules.removal_s = Some(0.0)), "rules.removal_s");
        let check = HealthCheck {
            path: None,
            interval_s: 5.0,
            timeout_s: f64::NAN,
            unhealthy: 2,
            healthy: 2,
        };
        assert_eq!(field(|c| c.analysis.check = Some(check)), "check.timeout_s");
    }

    #[test]
    fn another_name_is_the_same_instance() {
        let of = |instances: Vec<Named>| {
            let mut config = Config { instances, ..Config::default() };
            config.also_called("old", "new");
            config.instances
        };
        assert_eq!(of(vec![]), [named("new", &["old"])]);
        assert_eq!(of(vec![named("web1", &["old"])]), [named("web1", &["old", "new"])]);
        assert_eq!(
            of(vec![named("new", &["10.0.0.1:80"])]),
            [named("new", &["10.0.0.1:80", "old"])]
        );
        // Somebody said that they are two.
        let two = [named("old", &[]), named("new", &[])];
        assert_eq!(of(two.to_vec()), two);
    }

    #[test]
    fn an_address_belongs_to_one_instance() {
        let twice = vec![named("a", &["10.0.0.1:80"]), named("b", &["10.0.0.2:80", "10.0.0.1:80"])];
        assert_eq!(field(|c| c.instances = twice), "instances[1].addresses[1]");
        assert_eq!(field(|c| c.instances = vec![named("a", &["a"])]), "");
        assert_eq!(field(|c| c.instances = vec![named(" ", &[])]), "instances[0].name");
    }
}
