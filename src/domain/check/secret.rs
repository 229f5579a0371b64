//! Placeholders `${secret:NAME}` in the texts of checks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::domain::redactor::HIDDEN;
use crate::domain::secret::Secret;
use crate::domain::{Invalid, short};

const OPEN: &str = "${secret:";

/// Begins the names of secrets that were typed into a field.
const INLINE: &str = "inline.";

/// The placeholder that stands for a secret typed into the field `place`.
pub(super) fn inline_placeholder(place: &str) -> String {
    format!("{OPEN}{INLINE}{place}}}")
}

/// The name under which a secret typed into the field `place` is kept.
pub(super) fn inline_name(place: &str) -> String {
    format!("{INLINE}{place}")
}

pub(super) fn has_placeholder(text: &str) -> bool {
    text.contains(OPEN)
}

/// Calls `each` for every piece: plain text as `Err`, a secret's name as `Ok`.
fn pieces<'a>(
    text: &'a str,
    mut each: impl FnMut(Result<&'a str, &'a str>) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((name, tail)) = after.split_once('}') else {
            return Err(Invalid::new("", "holds ${secret: without its closing brace"));
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        if name.is_empty() || name.len() > 100 || !name.bytes().all(plain) {
            return Err(Invalid::given(
                "",
                name,
                "is not the name of a secret: letters, digits, _ - and . only",
            ));
        }
        each(Err(before))?;
        each(Ok(name))?;
        rest = tail;
    }
    each(Err(rest))
}

/// Collects the names in `text`.
pub(super) fn names(text: &str, into: &mut BTreeSet<String>) -> Result<(), Invalid> {
    pieces(text, |piece| {
        if let Ok(name) = piece {
            into.insert(name.to_owned());
        }
        Ok(())
    })
}

/// `text` with its placeholders replaced through `value`.
pub(super) fn fill(
    text: &str,
    mut value: impl FnMut(&str) -> Result<String, Invalid>,
) -> Result<String, Invalid> {
    let mut out = String::with_capacity(text.len());
    pieces(text, |piece| {
        match piece {
            Ok(name) => out.push_str(&value(name)?),
            Err(plain) => out.push_str(plain),
        }
        Ok(())
    })?;
    Ok(out)
}

/// Looks a secret up.
pub(super) fn known<'a>(
    secrets: &'a BTreeMap<String, Secret<String>>,
    name: &str,
) -> Result<&'a str, Invalid> {
    secrets.get(name).map(|secret| secret.expose().as_str()).ok_or_else(|| {
        match name.strip_prefix(INLINE) {
            Some(_) => Invalid::new(
                "",
                format!("holds {HIDDEN}, but nothing is stored for it; type the value in again"),
            ),
            None => Invalid::new("", format!("the secret {} is not known", short(name))),
        }
    })
}

/// Puts `(hidden)` where an inline placeholder stands, in every text of a value.
pub(super) fn hide_inline(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains(OPEN) => {
            let shown = fill(&text, |name| {
                Ok(if name.starts_with(INLINE) {
                    HIDDEN.to_owned()
                } else {
                    format!("{OPEN}{name}}}")
                })
            });
            Value::String(shown.unwrap_or_else(|_| HIDDEN.to_owned()))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(hide_inline).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, item)| (key, hide_inline(item))).collect())
        }
        other => other,
    }
}
