//! Placeholders `${secret:NAME}` in the texts of checks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::domain::redactor::{HIDDEN, is_secret_parameter, percent_encoded};
use crate::domain::secret::Secret;
use crate::domain::{Invalid, short};

/// Secrets by name.
pub(super) type Secrets = BTreeMap<String, Secret<String>>;

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

/// Fills texts with their secrets and remembers every value that was used.
pub(super) struct Filling<'a> {
    secrets: &'a Secrets,
    pub(super) used: BTreeSet<String>,
}

impl<'a> Filling<'a> {
    pub(super) fn from(secrets: &'a Secrets) -> Self {
        Self { secrets, used: BTreeSet::new() }
    }

    /// `text` with the secrets as they are; `field` names it in a refusal.
    pub(super) fn plain(&mut self, text: &str, field: &str) -> Result<String, Invalid> {
        self.fill(text, field, str::to_owned)
    }

    /// `text` with the secrets as they stand in a URL.
    pub(super) fn in_url(&mut self, text: &str, field: &str) -> Result<String, Invalid> {
        self.fill(text, field, percent_encoded)
    }

    /// `text` with the secrets as they stand in a text with escapes: a backslash means itself.
    pub(super) fn escaped(&mut self, text: &str, field: &str) -> Result<String, Invalid> {
        self.fill(text, field, |value| value.replace('\\', "\\\\"))
    }

    fn fill(
        &mut self,
        text: &str,
        field: &str,
        written: impl Fn(&str) -> String,
    ) -> Result<String, Invalid> {
        fill(text, |name| {
            let value = known(self.secrets, name)?;
            self.used.insert(value.to_owned());
            Ok(written(value))
        })
        .map_err(|refusal| refusal.under(field))
    }
}

/// Replaces a secret that stands in a field by its placeholder; `(hidden)` too, but that is no value.
pub(super) fn take(text: &mut String, place: &str, taken: &mut Secrets) {
    if text.is_empty() || has_placeholder(text) {
        return;
    }
    let value = std::mem::replace(text, inline_placeholder(place));
    if value != HIDDEN {
        taken.insert(inline_name(place), Secret::new(value));
    }
}

/// `header.cookie`, and `header.cookie.2` for the second.
pub(super) fn numbered(part: &str, name: &str, counts: &mut BTreeMap<String, usize>) -> String {
    let safe: String = name
        .chars()
        .take(60)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
        .collect();
    let place = format!("{part}.{safe}");
    let count = counts.entry(place.clone()).or_default();
    *count += 1;
    if *count == 1 { place } else { format!("{place}.{count}") }
}

/// Takes the values of secret parameters out of the query of a URL.
pub(super) fn take_from_query(
    url: &str,
    counts: &mut BTreeMap<String, usize>,
    taken: &mut Secrets,
) -> String {
    let (before, fragment) = match url.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (url, None),
    };
    let Some((path, query)) = before.split_once('?') else { return url.to_owned() };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value))
                if is_secret_parameter(name) && !value.is_empty() && !has_placeholder(value) =>
            {
                let place = numbered("query", name, counts);
                if value != HIDDEN {
                    let decoded = url::form_urlencoded::parse(format!("v={value}").as_bytes())
                        .next()
                        .map_or_else(|| value.to_owned(), |(_, value)| value.into_owned());
                    taken.insert(inline_name(&place), Secret::new(decoded));
                }
                format!("{name}={}", inline_placeholder(&place))
            }
            _ => pair.to_owned(),
        })
        .collect();
    let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
    format!("{path}?{}{fragment}", pairs.join("&"))
}

/// Looks a secret up.
fn known<'a>(
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
