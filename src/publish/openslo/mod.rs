//! OpenSLO v1 (spec: slo 6): SLOs as other tools describe them. What the format cannot say stands in
//! annotations `quorate.dev/…`, so that reading back what was written gives the same SLO.

mod export;
mod import;
mod names;
mod parts;
mod rules;
mod windows;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::export::export;
pub use self::import::{Imported, import};
pub use self::names::slug;
use crate::domain::Millis;
use crate::domain::slo::definition::Definition;
use crate::domain::slo::slot::Quorum;

/// An SLO as it crosses the border.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// As people read it.
    pub name: String,
    pub service: String,
    pub description: Option<String>,
    pub owner: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Names of the channels that hear of its alerts; none: the default ones.
    pub channels: Option<Vec<String>>,
    pub source: Source,
    pub definition: Definition,
    /// The rules were not written: they are the usual ones for the window, and follow it.
    pub usual_rules: bool,
    /// What makes it down, where the source is a monitor.
    pub quorum: Quorum,
    /// How many locations are expected to vote, and how often each tries; none for what is not ours.
    pub locations: Option<u32>,
    pub interval: Option<Millis>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// By its name.
    Monitor(String),
    /// Requests to a fleet; a monitor may speak for its quiet minutes.
    Fleet { fleet: String, monitor: Option<String> },
    /// Several monitors as one, and the rule that makes them one: `any_down`, `all_down`.
    Composite { rule: String, monitors: Vec<String> },
    /// Somebody else's metric, kept word for word and not evaluated here: the `indicator`, and what the
    /// objective compares it with (`op`, `value`).
    Foreign { indicator: Value, compared: Value },
}

/// The type of our metric sources.
const OURS: &str = "quorate";
const VERSION: &str = "openslo/v1";
/// Longest description that the format allows.
const LONGEST_DESCRIPTION: usize = 1_050;
