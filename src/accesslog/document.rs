//! What a platform gives as a whole document and not as lines: one JSON value, or several one after
//! another as `kubectl … -w` prints them.

use serde_json::Value;

use super::Format;

/// Why a document was refused.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    #[error("the document is not JSON: {0}; give the output of the command as it is, with -o json")]
    Json(#[from] serde_json::Error),
    #[error("the document is JSON, but holds none of {expected}; is it another command's output?")]
    Foreign { expected: &'static str },
}

/// How far [`recognise`] looks.
const HEAD: usize = 64 * 1024;

/// Whether a file that begins with `head` is such a document, and which.
pub fn recognise(head: &[u8]) -> Option<Format> {
    let head = &head[..head.len().min(HEAD)];
    let first = head.trim_ascii_start();
    if !first.starts_with(b"{") && !first.starts_with(b"[") {
        return None;
    }
    let has = |key: &[u8]| memchr::memmem::find(head, key).is_some();
    if has(b"\"TargetHealthDescriptions\"") {
        return Some(Format::TargetHealth);
    }
    (has(b"\"apiVersion\"") && has(b"\"kind\"")).then_some(Format::Kubernetes)
}

/// The values of a document in the order in which they stand. A stream that was cut inside a value, as
/// by an interrupt, gives the whole ones before it.
pub(super) fn values(document: &[u8]) -> Result<Vec<Value>, Invalid> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_slice(document).into_iter::<Value>() {
        match value {
            Ok(value) => values.push(value),
            Err(error) if error.is_eof() && !values.is_empty() => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(values)
}

/// The text at a JSON pointer; absent when there is nothing, something else or an empty text.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// The count or port at a JSON pointer, which may be written as a text. Platforms count in 32 bits: what
/// is larger is no count, and sums of them have room.
pub(super) fn number(value: &Value, pointer: &str) -> Option<u64> {
    let number = match value.pointer(pointer)? {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    (number <= u64::from(u32::MAX)).then_some(number)
}

/// The items of the array at a JSON pointer; none if there is no array.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The RFC 3339 stamp at a JSON pointer, in µs since the Unix epoch.
pub(super) fn instant(value: &Value, pointer: &str) -> Option<i64> {
    instant_of(text(value, pointer)?)
}

/// A RFC 3339 stamp in µs since the Unix epoch. The zero of the Go language, year 1, is no instant.
pub(super) fn instant_of(text: &str) -> Option<i64> {
    let us = text.parse::<jiff::Timestamp>().ok()?.as_microsecond();
    (us > 0).then_some(us)
}

/// `host:port`, an IPv6 address in brackets.
pub(super) fn address(host: &str, port: u64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
