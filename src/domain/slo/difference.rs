//! What two reports on the same window say differently.

use serde::Serialize;
use serde_json::Value;

/// A value that changed, by its JSON pointer; null where there was or is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub path: String,
    pub before: Value,
    pub after: Value,
}

/// Fields that tell how a report came about, not what it says.
const ABOUT_ITSELF: [&str; 6] =
    ["sha256", "engine_version", "data_revision", "report_revision", "warnings", "alerts"];

/// Every value that differs; empty when the reports say the same.
pub fn between(before: &Value, after: &Value) -> Vec<Difference> {
    let mut out = Vec::new();
    compare(String::new(), before, after, &mut out);
    out
}

fn compare(path: String, before: &Value, after: &Value, out: &mut Vec<Difference>) {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names
                .into_iter()
                .filter(|name| !(path.is_empty() && ABOUT_ITSELF.contains(&name.as_str())))
            {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(name).cloned().unwrap_or(Value::Null)
                };
                compare(format!("{path}/{name}"), &of(a), &of(b), out);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                let of = |list: &[Value]| list.get(index).cloned().unwrap_or(Value::Null);
                compare(format!("{path}/{index}"), &of(a), &of(b), out);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (before, after) if before == after => {}
        (before, after) => {
            out.push(Difference { path, before: before.clone(), after: after.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_said_differently_is_told() {
        let before = json!({"sha256": "a", "data_revision": 1, "availability": {"ratio": 1.0, "pct": "100"},
            "days": [{"down_ms": 0}]});
        let after = json!({"sha256": "b", "data_revision": 2, "availability": {"ratio": 1, "pct": "99"},
            "days": [{"down_ms": 0}, {"down_ms": 5}]});
        let found = between(&before, &after);
        let paths: Vec<&str> = found.iter().map(|d| d.path.as_str()).collect();
        assert_eq!(paths, ["/availability/pct", "/days/1"]);
        assert_eq!(found[1].before, Value::Null);
        assert!(between(&before, &before).is_empty());
    }
}
