//! Reading a JSON object field by field: each is taken once, and what nobody took is refused by name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Invalid;

/// The fields of one object that are still to be read.
#[derive(Debug)]
pub struct Fields {
    map: Map<String, Value>,
}

impl Fields {
    /// Refuses anything but an object; `field` names it in the refusal.
    pub fn of(value: Value, field: &str) -> Result<Self, Invalid> {
        match value {
            Value::Object(map) => Ok(Self { map }),
            other => {
                Err(Invalid::new(field, format!("must be an object, not {}", kind_of(&other))))
            }
        }
    }

    /// The raw value; null counts as left out.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// The raw value, null included: for fields in which null is a value.
    pub fn take_even_null(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name)
    }

    pub fn string(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                Err(Invalid::new(name, format!("must be text, not {}", kind_of(&other))))
            }
        }
    }

    pub fn required_string(&mut self, name: &str) -> Result<String, Invalid> {
        self.string(name)?.ok_or_else(|| Invalid::new(name, "is missing"))
    }

    pub fn bool(&mut self, name: &str) -> Result<Option<bool>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => {
                Err(Invalid::new(name, format!("must be true or false, not {}", kind_of(&other))))
            }
        }
    }

    /// A whole number within `range`.
    pub fn integer(
        &mut self,
        name: &str,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<Option<i64>, Invalid> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let out_of_range = || {
            Invalid::new(
                name,
                format!("must be a whole number from {} to {}", range.start(), range.end()),
            )
        };
        match value {
            Value::Number(number) => {
                number.as_i64().filter(|n| range.contains(n)).map(Some).ok_or_else(out_of_range)
            }
            other => Err(Invalid::new(name, format!("must be a number, not {}", kind_of(&other)))),
        }
    }

    pub fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => {
                Err(Invalid::new(name, format!("must be a list, not {}", kind_of(&other))))
            }
        }
    }

    /// Refuses what is left. `known` is for the sentence only.
    pub fn finish(self, known: &[&str]) -> Result<(), Invalid> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(name) => Err(unknown_field(name, known)),
        }
    }
}

/// The refusal of a field that nobody knows.
pub fn unknown_field(name: &str, known: &[&str]) -> Invalid {
    let known = match known {
        [] => "nothing is".to_owned(),
        known => format!("known are {}", known.join(", ")),
    };
    if name.is_empty() {
        return Invalid::new("", format!("has a field with an empty name; {known}"));
    }
    Invalid::new(name, format!("is not known here; {known}"))
}

/// A JSON object of text as a map; other values are left out.
pub fn text_map(value: &Value) -> BTreeMap<String, String> {
    let map = value.as_object().into_iter().flatten();
    map.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// What a JSON value is, in words: `text`, `a number`, `an object`.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
