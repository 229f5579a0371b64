//! The smallest scenario that still shows a difference.

use serde_json::Value;

/// Takes away what can be taken away while `still` holds.
pub(super) fn shrink(entry: &Value, still: impl Fn(&Value) -> bool) -> Value {
    let mut best = entry.clone();
    loop {
        let before = best.clone();
        fewer_rows(&mut best, &still);
        for field in ["maint", "impaired"] {
            attempt(&mut best, &still, |entry| entry[field] = Value::Null);
        }
        let settings: Vec<String> = best["cfg"].as_object().unwrap().keys().cloned().collect();
        for name in settings {
            attempt(&mut best, &still, |entry| {
                drop(entry["cfg"].as_object_mut().unwrap().remove(&name))
            });
        }
        let places: Vec<String> = best["fleet"].as_object().unwrap().keys().cloned().collect();
        for name in places {
            attempt(&mut best, &still, |entry| {
                entry["fleet"].as_object_mut().unwrap().remove(&name);
                entry["obs"].as_array_mut().unwrap().retain(|row| row[1] != *name);
                if let Some(impaired) = entry["impaired"].as_array_mut() {
                    impaired.retain(|place| *place != *name);
                }
            });
        }
        for by in [500, 100, 20, 5, 1] {
            while attempt(&mut best, &still, |entry| {
                let until = entry["until"].as_i64().unwrap();
                entry["until"] = (until - by).max(0).into();
            }) {}
        }
        if best == before {
            return best;
        }
    }
}

fn fewer_rows(best: &mut Value, still: &impl Fn(&Value) -> bool) {
    let mut size = best["obs"].as_array().unwrap().len().div_ceil(2).max(1);
    loop {
        let mut from = 0;
        while from < best["obs"].as_array().unwrap().len() {
            let gone = attempt(best, still, |entry| {
                let rows = entry["obs"].as_array_mut().unwrap();
                rows.drain(from..(from + size).min(rows.len()));
            });
            if !gone {
                from += size;
            }
        }
        if size == 1 {
            return;
        }
        size = size.div_ceil(2);
    }
}

/// Whether the change changed anything and the difference is still there; else it is undone.
fn attempt(
    best: &mut Value,
    still: &impl Fn(&Value) -> bool,
    change: impl FnOnce(&mut Value),
) -> bool {
    let mut changed = best.clone();
    change(&mut changed);
    let emptied = changed["fleet"].as_object().unwrap().is_empty();
    if changed == *best || emptied || !still(&changed) {
        return false;
    }
    *best = changed;
    true
}
