//! Batches of log lines → sums and events, exactly once.

mod lines;
pub mod names;
pub mod sums;

use crate::{accesslog::Format, domain::Invalid};

/// The name of a source as it is kept: 1 to 100 characters.
pub fn source_name(text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 100 || text.chars().any(char::is_control) {
        return Err(Invalid::new("source", "must be 1 to 100 characters"));
    }
    Ok(text.to_owned())
}

/// Refuses a format, a pasted `log_format` or a zone that there is not.
pub fn check(format: Option<&str>, log_format: Option<&str>, tz: Option<&str>) -> Result<(), Invalid> {
    if let Some(format) = format
        && !Format::ALL.iter().any(|known| known.as_str() == format)
    {
        let known: Vec<_> = Format::ALL.iter().map(|f| f.as_str()).collect();
        return Err(Invalid::new(
            "format",
            format!("{format} is not known; expected one of {}", known.join(", ")),
        ));
    }
    if log_format.is_some_and(|text| text.len() > 4_000) {
        return Err(Invalid::new("log_format", "is longer than 4000 bytes"));
    }
    zone(tz).map(|_| ())
}

/// The zone of stamps that carry none; UTC unless said otherwise.
pub fn zone(tz: Option<&str>) -> Result<jiff::tz::TimeZone, Invalid> {
    let Some(name) = tz else { return Ok(jiff::tz::TimeZone::UTC) };
    jiff::tz::TimeZone::get(name)
        .map_err(|_| Invalid::new("tz", format!("{name} is no time zone; expected a name such as Europe/Berlin")))
}
