//! Instances have several names: an address, a name that somebody gave, a pod's name and uid. Sums keep
//! the name that their log uses; who that is, is looked up when they are read.

use std::collections::HashMap;

use crate::{domain::fleet::config::Config, store::fleet_live::InstanceRow};

/// Every other name → the name of the instance.
#[derive(Debug, Clone, Default)]
pub struct InstanceNames(HashMap<String, String>);

impl InstanceNames {
    /// What somebody said in the settings wins over what logs and platforms say.
    pub fn of(config: &Config, known: &[InstanceRow]) -> Self {
        let mut names = HashMap::new();
        for row in known {
            for alias in &row.aliases {
                names.entry(alias.clone()).or_insert_with(|| row.name.clone());
            }
        }
        for one in &config.instances {
            for address in &one.addresses {
                names.insert(address.clone(), one.name.clone());
            }
        }
        for one in &config.instances {
            names.remove(&one.name);
            // An instance that platforms told of under an address that now has a name.
            for name in names.values_mut() {
                if one.addresses.contains(name) {
                    one.name.clone_into(name);
                }
            }
        }
        Self(names)
    }

    pub fn resolve<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fleet::config::Named;

    #[test]
    fn what_was_said_wins_over_what_was_seen() {
        let row = |name: &str, aliases: &[&str]| InstanceRow {
            name: name.into(),
            aliases: aliases.iter().map(|a| (*a).to_owned()).collect(),
            ..InstanceRow::default()
        };
        let config = Config {
            instances: vec![Named {
                name: "one".into(),
                addresses: vec!["10.0.0.1:80".into(), "app/s1".into()],
                zone: None,
            }],
            ..Config::default()
        };
        let known = [row("10.0.0.1:80", &["pod-1", "app/s1"]), row("10.0.0.2:80", &["pod-2"])];
        let names = InstanceNames::of(&config, &known);
        for alias in ["10.0.0.1:80", "app/s1", "pod-1", "one"] {
            assert_eq!(names.resolve(alias), "one", "{alias}");
        }
        assert_eq!(names.resolve("pod-2"), "10.0.0.2:80");
        assert_eq!(names.resolve("10.0.0.9:80"), "10.0.0.9:80");
    }
}
