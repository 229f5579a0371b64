//! Instances that were given a name after something was known of them.

use super::Timeline;

impl Timeline {
    /// Everything that is known of an instance under its name of now, and the names that are no instance's any
    /// more. Of one that is known under both, what is known under the new one counts.
    pub fn renamed(mut self, name: impl Fn(&str) -> String) -> (Self, Vec<String>) {
        let old: Vec<(String, String)> = self
            .instances
            .keys()
            .map(|key| (key.clone(), name(key)))
            .filter(|(old, new)| old != new)
            .collect();
        for (old, new) in &old {
            let Some(mut instance) = self.instances.remove(old) else { continue };
            for of in self.aliases.values_mut().filter(|of| *of == old) {
                of.clone_from(new);
            }
            self.aliases.insert(old.clone(), new.clone());
            instance.name.clone_from(new);
            instance.aliases.insert(old.clone());
            if let Some(removal) = &mut instance.removal {
                removal.instance.clone_from(new);
            }
            self.instances.entry(new.clone()).or_insert(instance);
        }
        for (_, new) in &old {
            self.aliases.remove(new);
        }
        (self, old.into_iter().map(|(old, _)| old).collect())
    }
}
