//! Where a monitor is looked at from, as a rule: all locations, some by name, or those with labels.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Invalid,
    fields::{Fields, kind_of},
    ids::LocationKey,
    monitor::{AllWord, LocationSelector},
    short,
};

/// More locations than this are a mistake.
pub const MOST: usize = 100;

/// A location that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub key: LocationKey,
    /// Outside id as text.
    pub id: String,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub enabled: bool,
}

impl LocationSelector {
    /// All locations, now and later.
    pub const ALL: Self = Self::Word(AllWord::All);

    /// Reads `"all"`, `["eu", "us"]` or `{"labels": {"tier": "1"}}`; names stay as written.
    pub fn parse(value: Value) -> Result<Self, Invalid> {
        match value {
            Value::String(word) if word == "all" => Ok(Self::ALL),
            Value::Array(items) => {
                let names = items.into_iter().enumerate().map(|(i, item)| match item {
                    Value::String(name) => Ok(name),
                    other => Err(Invalid::new(
                        format!("locations[{i}]"),
                        format!("must be a name or an id, not {}", kind_of(&other)),
                    )),
                });
                let names: Vec<String> = names.collect::<Result<_, _>>()?;
                match names.len() {
                    0 => Err(Invalid::new(
                        "locations",
                        "is empty: name at least one, or write \"all\"",
                    )),
                    1..=MOST => Ok(Self::Names(names)),
                    _ => Err(Invalid::new("locations", format!("names more than {MOST}"))),
                }
            }
            Value::Object(_) => Self::parse_labels(value).map_err(|e| e.under("locations")),
            other => Err(Invalid::new(
                "locations",
                format!(
                    "must be \"all\", a list of names, or {{\"labels\": …}}, not {}",
                    kind_of(&other)
                ),
            )),
        }
    }

    fn parse_labels(value: Value) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, "")?;
        let labels =
            fields.take_even_null("labels").ok_or_else(|| Invalid::new("labels", "is missing"))?;
        fields.finish(&["labels"])?;
        let Value::Object(map) = labels else {
            return Err(Invalid::new(
                "labels",
                format!("must be an object, not {}", kind_of(&labels)),
            ));
        };
        if map.is_empty() {
            return Err(Invalid::new("labels", "is empty: write \"all\" for all locations"));
        }
        let mut labels = BTreeMap::new();
        for (key, value) in map {
            if key.is_empty() {
                return Err(Invalid::new("labels", "has a label with an empty name"));
            }
            let Value::String(value) = value else {
                return Err(Invalid::new(format!("labels.{key}"), "must be text"));
            };
            labels.insert(key, value);
        }
        Ok(Self::Labels { labels })
    }

    /// The same with ids in place of names, as it is stored. Refuses names that nobody has.
    pub fn with_ids(self, all: &[Candidate]) -> Result<Self, Invalid> {
        let Self::Names(names) = self else { return Ok(self) };
        let mut ids = Vec::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            let found = all.iter().find(|c| c.name == *name || c.id == *name).ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
                let known = if known.is_empty() {
                    "there is none yet".to_owned()
                } else {
                    known.join(", ")
                };
                Invalid::new(
                    format!("locations[{i}]"),
                    format!("{:?} is no location; known: {known}", short(name)),
                )
            })?;
            if ids.contains(&found.id) {
                return Err(Invalid::given(format!("locations[{i}]"), name, "is named twice"));
            }
            ids.push(found.id.clone());
        }
        Ok(Self::Names(ids))
    }

    /// Whom the rule chooses. By name: those, in the order written, enabled or not. Otherwise every
    /// enabled one that fits, in the order they were added: what `all` must be for each to keep its
    /// turn while others come and go at the end.
    pub fn choose(&self, all: &[Candidate]) -> Vec<LocationKey> {
        let fits = |wanted: &BTreeMap<String, String>, c: &Candidate| {
            wanted.iter().all(|(key, value)| c.labels.get(key) == Some(value))
        };
        let mut in_order: Vec<&Candidate> = all.iter().collect();
        in_order.sort_by_key(|c| c.key);
        match self {
            Self::Word(AllWord::All) => {
                in_order.iter().filter(|c| c.enabled).map(|c| c.key).collect()
            }
            Self::Labels { labels } => {
                in_order.iter().filter(|c| c.enabled && fits(labels, c)).map(|c| c.key).collect()
            }
            Self::Names(ids) => ids
                .iter()
                .filter_map(|id| all.iter().find(|c| c.id == *id))
                .map(|c| c.key)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn candidate(key: i16, name: &str, tier: &str, enabled: bool) -> Candidate {
        Candidate {
            key: LocationKey(key),
            id: format!("id-{name}"),
            name: name.to_owned(),
            labels: [("tier".to_owned(), tier.to_owned())].into(),
            enabled,
        }
    }

    fn four() -> Vec<Candidate> {
        vec![
            candidate(3, "ap", "2", true),
            candidate(1, "eu", "1", true),
            candidate(2, "us", "1", true),
            candidate(4, "sa", "1", false),
        ]
    }

    fn chosen(value: Value) -> Vec<i16> {
        let rule = LocationSelector::parse(value).unwrap().with_ids(&four()).unwrap();
        rule.choose(&four()).into_iter().map(|k| k.0).collect()
    }

    #[test]
    fn rules_choose_in_a_stable_order() {
        assert_eq!(chosen(json!("all")), [1, 2, 3]);
        assert_eq!(chosen(json!({"labels": {"tier": "1"}})), [1, 2]);
        assert_eq!(chosen(json!({"labels": {"tier": "1", "x": "y"}})), [0; 0]);
        // By name: as written, by id as well, and a disabled one stays configured.
        assert_eq!(chosen(json!(["sa", "id-ap", "eu"])), [4, 3, 1]);
    }

    #[test]
    fn names_are_stored_as_ids_so_that_renaming_changes_nothing() {
        let rule = LocationSelector::parse(json!(["us"])).unwrap().with_ids(&four()).unwrap();
        assert_eq!(rule, LocationSelector::Names(vec!["id-us".into()]));
    }

    #[test]
    fn refusals_name_the_place() {
        let field = |value| {
            LocationSelector::parse(value)
                .and_then(|rule| rule.with_ids(&four()))
                .unwrap_err()
                .field
        };
        assert_eq!(field(json!("some")), "locations");
        assert_eq!(field(json!([])), "locations");
        assert_eq!(field(json!(5)), "locations");
        assert_eq!(field(json!(["eu", 5])), "locations[1]");
        assert_eq!(field(json!(["eu", "mars"])), "locations[1]");
        assert_eq!(field(json!(["eu", "id-eu"])), "locations[1]");
        assert_eq!(field(json!({"label": {}})), "locations.labels");
        assert_eq!(field(json!({"labels": {}, "x": 1})), "locations.x");
        assert_eq!(field(json!({"labels": {}})), "locations.labels");
        assert_eq!(field(json!({"labels": {"a": 1}})), "locations.labels.a");
    }
}
