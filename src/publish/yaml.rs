//! YAML from and to JSON values, so that every reader of fields works on either.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use crate::domain::Invalid;

/// A document. Writing into memory does not fail.
pub fn write(value: &Value) -> String {
    serde_saphyr::to_string(&Plain(value)).unwrap_or_default()
}

/// Every document of a text. Anchors and sizes are bounded, so that a small file cannot become a large one.
pub fn read(text: &str) -> Result<Vec<Value>, Invalid> {
    serde_saphyr::from_multiple(text).map_err(|error| {
        Invalid::new("", format!("is not YAML: {}", first_line(&error.to_string())))
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Numbers of our JSON keep their digits as text; here they are numbers again.
struct Plain<'a>(&'a Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => serializer.serialize_u64(number),
                (_, Some(number), _) => serializer.serialize_i64(number),
                (.., Some(number)) => serializer.serialize_f64(number),
                _ => serializer.serialize_str(&number.to_string()),
            },
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|item| seq.serialize_element(&Plain(item)))?;
                seq.end()
            }
            Value::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                object.iter().try_for_each(|(key, item)| map.serialize_entry(key, &Plain(item)))?;
                map.end()
            }
        }
    }
}
