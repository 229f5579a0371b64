//! Headers that a check sends (gRPC calls them metadata), with the secrets among them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::secret::{self, Filling, Secrets, has_placeholder};
use crate::domain::Invalid;
use crate::domain::assertion::is_header_name;
use crate::domain::fields::{Fields, kind_of};
use crate::domain::redactor::is_secret_header;

/// Parts of a header's value count as secrets from this length on.
const SHORTEST_PART: usize = 4;

/// A request header; several may share a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// As written.
    pub name: String,
    pub value: String,
    /// A secret was filled in, so it goes to the monitor's own host only.
    pub secret: bool,
}

/// Reads the object of headers that stands in the field `place`.
pub(super) fn read(fields: &mut Fields, place: &str) -> Result<Vec<Header>, Invalid> {
    let Some(value) = fields.take(place) else { return Ok(Vec::new()) };
    let Value::Object(map) = value else {
        return Err(Invalid::new(
            place,
            format!("must be an object of names and values, not {}", kind_of(&value)),
        ));
    };
    let mut headers = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (name, value) in map {
        if name.is_empty() {
            return Err(Invalid::new(place, "has a header with an empty name"));
        }
        let field = format!("{place}.{name}");
        if !is_header_name(&name) {
            return Err(Invalid::new(field, "is not a header name"));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(Invalid::new(
                field,
                "stands twice; header names do not differ by case. Use a list of values",
            ));
        }
        if ["content-length", "transfer-encoding", "connection", "upgrade"]
            .contains(&name.to_ascii_lowercase().as_str())
        {
            return Err(Invalid::new(field, "is set by the connection itself"));
        }
        let values = match value {
            Value::Array(values) => values,
            one => vec![one],
        };
        if values.len() > 1 && name.eq_ignore_ascii_case("host") {
            return Err(Invalid::new(field, "can have one value only"));
        }
        for value in values {
            let Value::String(value) = value else {
                return Err(Invalid::new(field, format!("must be text, not {}", kind_of(&value))));
            };
            header_value(&value, &field)?;
            headers.push(Header {
                name: name.clone(),
                value: value.trim().to_owned(),
                secret: false,
            });
        }
    }
    if headers.len() > 100
        || headers.iter().map(|h| h.name.len() + h.value.len()).sum::<usize>() > 32_000
    {
        return Err(Invalid::new(
            place,
            "are more than 100, or longer than 32000 characters together",
        ));
    }
    Ok(headers)
}

/// `{"name": "value"}`, or a list for a name that stands more than once.
pub(super) fn to_value(headers: &[Header]) -> Option<Value> {
    let mut map: Map<String, Value> = Map::new();
    for header in headers {
        let value = Value::from(header.value.clone());
        match map.get_mut(&header.name) {
            None => _ = map.insert(header.name.clone(), value),
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

/// Puts the secrets in place; `place` is the field that holds the headers.
pub(super) fn fill(
    headers: &mut [Header],
    place: &str,
    filling: &mut Filling<'_>,
) -> Result<(), Invalid> {
    for header in headers {
        let field = format!("{place}.{}", header.name);
        header.secret = has_placeholder(&header.value);
        header.value = filling.plain(&header.value, &field)?;
        header_value(&header.value, &field)?;
    }
    Ok(())
}

/// Takes out the values of headers that are secret by their name.
pub(super) fn take_secrets(
    headers: &mut [Header],
    counts: &mut BTreeMap<String, usize>,
    taken: &mut Secrets,
) {
    for header in headers.iter_mut().filter(|header| is_secret_header(&header.name)) {
        let name = header.name.to_ascii_lowercase();
        secret::take(&mut header.value, &secret::numbered("header", &name, counts), taken);
    }
}

/// What must not leave the agent, as plain text.
pub(super) fn secret_texts(headers: &[Header]) -> Vec<String> {
    let mut texts = Vec::new();
    for header in headers.iter().filter(|header| header.secret || is_secret_header(&header.name)) {
        texts.push(header.value.clone());
        // `Bearer abcd` may be echoed as `abcd`, and a cookie value without its name. Parts of a
        // few characters are no secrets, and hiding every `1` would leave no evidence.
        let token = header.value.split_once(' ').map(|(_, token)| token);
        let cookies = header
            .value
            .split(';')
            .filter_map(|pair| pair.split_once('='))
            .map(|(_, value)| value.trim());
        let cookies = cookies.filter(|_| header.name.eq_ignore_ascii_case("cookie"));
        texts.extend(
            token
                .into_iter()
                .chain(cookies)
                .filter(|part| part.len() >= SHORTEST_PART)
                .map(str::to_owned),
        );
    }
    texts
}

/// Refuses what would break the header's line, and malformed placeholders.
pub(super) fn header_value(value: &str, field: &str) -> Result<(), Invalid> {
    if value.chars().any(|c| (c.is_control() && c != '\t') || c == '\u{7f}') {
        return Err(Invalid::new(field, "holds a control character or a line break"));
    }
    secret::fill(value, |_| Ok(String::new()))
        .map(|_| ())
        .map_err(|refusal| Invalid::new(field, refusal.message))
}
