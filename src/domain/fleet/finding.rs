//! What is told about a fleet. A finding is evidence: a rule of the fleet may turn it into an incident.

use serde::{Deserialize, Serialize};

/// One finding. It is open while `to_us` is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: Kind,
    pub scope: Scope,
    pub severity: Gravity,
    pub pool: String,
    /// Who is named; empty when the cause is shared or of the pool.
    pub instances: Vec<String>,
    /// Beginning of the first window that shows it, or the moment that the evidence gives.
    pub from_us: i64,
    /// When it could be known first: the end of the window at which it was opened, and the lateness that
    /// is waited for after it. By the time of the log, so that a log that is read again later gives the
    /// same. `found_us − from_us` is the time to detection.
    #[serde(default)]
    pub found_us: i64,
    pub to_us: Option<i64>,
    /// The instance has been like this for as long as we know it: shown, never pages.
    pub chronic: bool,
    /// One sentence with numbers.
    pub sentence: String,
    /// The numbers behind the sentence, by name.
    pub evidence: serde_json::Value,
}

/// One thing that became different, with the whole finding as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Unique among the open findings of a pool.
    pub key: String,
    pub step: Step,
    pub finding: Finding,
}

/// What became different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Opened,
    /// Who is named, its scope or its severity.
    Changed,
    /// Only the numbers, and the sentence with them.
    Refreshed,
    Closed(End),
}

/// Why a finding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Three windows without it.
    Over,
    /// Whoever was named has had no attempts for three windows.
    LeftRotation,
    /// Another finding tells the same fault better.
    Absorbed,
}

/// What is wrong.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[schema(as = FindingKind)]
pub enum Kind {
    /// Fails more than its peers.
    Errors,
    /// Slower than its peers.
    Latency,
    /// Fails fast and draws traffic.
    BlackHole,
    /// Answers 2xx with next to nothing.
    Blank,
    /// Answers some code (`evidence.code`) more than its peers.
    CodeMix,
    /// Fewer ready than wanted.
    FewReady,
    /// Gets no traffic any more.
    LeftRotation,
    /// Many came back at once after a shared fault.
    ReturnedTogether,
    Restart,
    Flapping,
    /// Removed and still serving, or not in the inventory.
    Zombie,
    StaleVersion,
    /// A source is silent while its peers or its probes say that there is traffic.
    NoData,
    /// Passes its checks and fails its users.
    Contradiction,
    /// Removal took longer than the configured check should need.
    SlowRemoval,
}

/// Who it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = FindingScope)]
pub enum Scope {
    One,
    Group,
    /// Everybody alike: nobody is named.
    Shared,
    /// One of two, and nothing says which.
    Differs,
    /// The pool as a whole.
    Pool,
}

/// How grave a finding is in itself. What an incident does to users is `domain::incident::Severity`, which
/// a fleet's rules make of this and of whom the finding is about.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[schema(as = FindingSeverity)]
pub enum Gravity {
    Info,
    Warning,
    Critical,
}

impl Kind {
    pub const ALL: [Self; 15] = [
        Self::Errors,
        Self::Latency,
        Self::BlackHole,
        Self::Blank,
        Self::CodeMix,
        Self::FewReady,
        Self::LeftRotation,
        Self::ReturnedTogether,
        Self::Restart,
        Self::Flapping,
        Self::Zombie,
        Self::StaleVersion,
        Self::NoData,
        Self::Contradiction,
        Self::SlowRemoval,
    ];

    /// Whether it is found by comparing instances with one another.
    pub fn compares(self) -> bool {
        use Kind::{BlackHole, Blank, CodeMix, Contradiction, Errors, Latency};
        matches!(self, Errors | Latency | BlackHole | Blank | CodeMix | Contradiction)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Latency => "latency",
            Self::BlackHole => "black_hole",
            Self::Blank => "blank",
            Self::CodeMix => "code_mix",
            Self::FewReady => "few_ready",
            Self::LeftRotation => "left_rotation",
            Self::ReturnedTogether => "returned_together",
            Self::Restart => "restart",
            Self::Flapping => "flapping",
            Self::Zombie => "zombie",
            Self::StaleVersion => "stale_version",
            Self::NoData => "no_data",
            Self::Contradiction => "contradiction",
            Self::SlowRemoval => "slow_removal",
        }
    }
}

/// What tells a finding from the other open ones of its pool, such as `errors`, `errors:shared` and
/// `code_mix:429`, or `flapping:10.9.0.11`.
pub fn key(finding: &Finding) -> String {
    let mut key = finding.kind.as_str().to_owned();
    if finding.kind == Kind::CodeMix {
        let code =
            finding.evidence.get("code").and_then(serde_json::Value::as_u64).unwrap_or_default();
        key.push_str(&format!(":{code}"));
    }
    // What states tell is one finding an instance, what comparisons tell one finding for all it names.
    if !finding.kind.compares() {
        for instance in &finding.instances {
            key.push(':');
            key.push_str(instance);
        }
    }
    match finding.scope {
        Scope::One | Scope::Group => {}
        Scope::Shared => key.push_str(":shared"),
        Scope::Differs => key.push_str(":differs"),
        Scope::Pool => key.push_str(":pool"),
    }
    key
}

impl Scope {
    pub const ALL: [Self; 5] = [Self::One, Self::Group, Self::Shared, Self::Differs, Self::Pool];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Group => "group",
            Self::Shared => "shared",
            Self::Differs => "differs",
            Self::Pool => "pool",
        }
    }
}

impl Gravity {
    pub const ALL: [Self; 3] = [Self::Info, Self::Warning, Self::Critical];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}
