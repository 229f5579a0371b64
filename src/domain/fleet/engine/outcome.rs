//! What "bad" may mean.

use serde::{Deserialize, Serialize};

use crate::domain::fleet::finding::Kind;

/// A way in which an attempt is bad or not. In ascending order of rank: of several on one instance the
/// first is shown, for they describe one fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A conjunction: bad in one of the ways below, quick about it, and drawing traffic.
    BlackHole,
    /// The instance failed: a 5xx, no connection, no answer in time, a broken answer.
    Errors,
    /// A plain 2xx to GET with less than a quarter of what the peers' smallest tenth has.
    Blank,
    /// Slower than the peers' p90 of the same route class.
    Latency,
    /// Answered with this code of 3xx or 4xx.
    Code(u16),
}

impl Outcome {
    pub fn kind(self) -> Kind {
        match self {
            Self::BlackHole => Kind::BlackHole,
            Self::Errors => Kind::Errors,
            Self::Blank => Kind::Blank,
            Self::Latency => Kind::Latency,
            Self::Code(_) => Kind::CodeMix,
        }
    }

    /// Clients that go away because an instance is slow are no fault of their own.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::BlackHole => 0,
            Self::Errors => 1,
            Self::Blank => 2,
            Self::Code(499) => 5,
            Self::Code(_) => 3,
            Self::Latency => 4,
        }
    }
}

/// Codes that are outcomes of their own: what is no answer of the ordinary kind and no error.
pub(super) fn is_told_apart(code: u16) -> bool {
    (300..500).contains(&code)
}
