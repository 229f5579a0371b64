//! What the keys of JSON lines mean, as it is given on the command line.

use std::path::Path;

use serde_json::{Map, Value};

/// `field=key` as it was given, or a file of such lines or with one JSON object, as an object. Which
/// fields there are is not looked at.
pub fn fields_by_keys(given: &[String]) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    for text in given {
        if pair(text, &mut fields) {
            continue;
        }
        let whole = std::fs::read_to_string(Path::new(text)).map_err(|error| {
            format!("--map: {text:?} is neither field=key nor a file that can be read: {error}.")
        })?;
        if whole.trim_start().starts_with('{') {
            let object: Map<String, Value> = serde_json::from_str(&whole)
                .map_err(|error| format!("--map: {text} is no JSON object: {error}."))?;
            fields.extend(object);
            continue;
        }
        for line in whole.lines().map(str::trim) {
            let comment = line.is_empty() || line.starts_with('#');
            if !comment && !pair(line, &mut fields) {
                return Err(format!("--map: {text}: {line:?} is no field=key."));
            }
        }
    }
    Ok(fields)
}

/// Takes `field=key`; false if it is none.
fn pair(text: &str, fields: &mut Map<String, Value>) -> bool {
    let Some((field, key)) = text.split_once('=') else { return false };
    let value = match key.trim() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        key => Value::String(key.to_owned()),
    };
    fields.insert(field.trim().to_owned(), value);
    true
}
