//! What people tell the public on a status page.

use serde::{Deserialize, Serialize};

use crate::domain::Invalid;

/// Longest text of an update, in characters.
pub const LONGEST_TEXT: usize = 5_000;

/// How much of it visitors feel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = StatusImpact)]
pub enum Impact {
    None,
    #[default]
    Minor,
    Major,
    Critical,
}

impl Impact {
    pub const ALL: [Self; 4] = [Self::None, Self::Minor, Self::Major, Self::Critical];

    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }

    /// The column's check holds the words.
    pub fn from_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|known| known.word() == word).unwrap_or_default()
    }
}

/// How far whoever writes is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = StatusProgress)]
pub enum Progress {
    #[default]
    Investigating,
    Identified,
    Monitoring,
    Resolved,
}

impl Progress {
    pub const ALL: [Self; 4] =
        [Self::Investigating, Self::Identified, Self::Monitoring, Self::Resolved];

    pub fn word(self) -> &'static str {
        match self {
            Self::Investigating => "investigating",
            Self::Identified => "identified",
            Self::Monitoring => "monitoring",
            Self::Resolved => "resolved",
        }
    }

    /// The column's check holds the words.
    pub fn from_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|known| known.word() == word).unwrap_or_default()
    }
}

/// Plain text of several lines.
pub fn read_text(field: &str, text: &str) -> Result<String, Invalid> {
    let text = text.trim().replace("\r\n", "\n");
    if text.is_empty() {
        return Err(Invalid::new(field, "must not be empty"));
    }
    if text.chars().count() > LONGEST_TEXT {
        return Err(Invalid::new(field, format!("is longer than {LONGEST_TEXT} characters")));
    }
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(Invalid::new(field, "holds a control character; it is plain text"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_columns() {
        for impact in Impact::ALL {
            assert_eq!(Impact::from_word(impact.word()), impact);
        }
        for progress in Progress::ALL {
            assert_eq!(Progress::from_word(progress.word()), progress);
        }
        assert_eq!(read_text("text", " a\r\nb ").unwrap(), "a\nb");
        assert!(read_text("text", "\u{7}").is_err() && read_text("text", " ").is_err());
    }
}
