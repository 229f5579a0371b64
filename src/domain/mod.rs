//! THE RULES: plain data and functions. No async, no IO, no clock, no SQL, no HTTP.

pub mod address;
pub mod assertion;
pub mod availability;
pub mod callback;
pub mod certificate;
pub mod channel;
pub mod check;
pub mod cron;
pub mod deadman;
pub mod decimal;
pub mod decision;
pub mod escalation;
pub mod failover;
pub mod fields;
pub mod fleet;
pub mod ids;
pub mod incident;
pub mod location;
pub mod maintenance;
pub mod monitor;
pub mod notice;
pub mod observation;
pub mod pattern;
pub mod platform;
pub mod redactor;
pub mod rendezvous;
pub mod rollup;
pub mod secret;
pub mod selector;
pub mod sketch;
pub mod slo;
pub mod slug;
pub mod status_page;
pub mod storm;
pub mod token;

/// Milliseconds since the Unix epoch (UTC), or a span of milliseconds. Decisions are made at this
/// resolution; reports keep microseconds.
pub type Millis = i64;

/// Why a value was refused: the field as the user wrote it (`assertions[1].value`) and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Invalid {
    pub field: String,
    pub message: String,
}

impl Invalid {
    /// Both are cut to a length that can be read, whatever was given.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: cut(field.into(), 200), message: cut(message.into(), 1_000) }
    }

    /// A refusal that begins with what was given, shortened: `"nobody" is not a mail address`.
    pub fn given(field: impl Into<String>, given: &str, why: &str) -> Self {
        Self::new(field, format!("{:?} {why}", short(given)))
    }

    /// The same refusal seen from one level further out: `value` under `assertions[1]` becomes
    /// `assertions[1].value`.
    pub fn under(mut self, parent: &str) -> Self {
        let glue = if parent.is_empty() || self.field.is_empty() || self.field.starts_with('[') {
            ""
        } else {
            "."
        };
        self.field = format!("{parent}{glue}{}", self.field);
        self
    }
}

/// What somebody gave, as it is repeated in a sentence: at most 40 characters.
pub fn short(given: &str) -> String {
    cut(given.to_owned(), 40)
}

fn cut(mut text: String, longest: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(longest) {
        text.truncate(at);
        text.push('…');
    }
    text
}
