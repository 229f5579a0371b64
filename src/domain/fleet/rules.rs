//! Which findings of a fleet become incidents, and how grave those are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::finding::{Finding, Gravity, Kind, Scope};
use crate::domain::{Invalid, incident};

/// The rules of a fleet. Everything has a default: findings worth a warning become incidents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FleetRules)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Findings that are at least this grave become incidents.
    pub min_severity: Threshold,
    /// Exceptions by kind of finding.
    pub kinds: BTreeMap<Kind, Threshold>,
    /// A removal that took longer than this many seconds is a finding, worth a warning.
    pub removal_s: Option<f64>,
    /// So many restarts of one instance within an hour are a finding, worth a warning; null: never.
    pub restarts_per_h: Option<u32>,
    /// Ids of the channels that hear of this fleet; null means the default channels.
    pub channels: Option<Vec<Uuid>>,
}

/// From which severity on.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[schema(as = FleetThreshold)]
pub enum Threshold {
    Info,
    #[default]
    Warning,
    Critical,
    Never,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            min_severity: Threshold::Warning,
            kinds: BTreeMap::new(),
            removal_s: None,
            restarts_per_h: Some(3),
            channels: None,
        }
    }
}

impl Rules {
    /// Refuses values that cannot be meant; fields as in the settings of a fleet.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.removal_s.is_some_and(|s| !(s > 0.0 && s <= 86_400.0)) {
            return Err(Invalid::new("removal_s", "must be more than 0 and at most 86400 seconds"));
        }
        if self.restarts_per_h.is_some_and(|n| !(1..=1_000).contains(&n)) {
            return Err(Invalid::new("restarts_per_h", "must be 1 to 1000, or null"));
        }
        Ok(())
    }

    /// How grave an incident this finding is worth; none when it is worth none. What has been so for as
    /// long as we know the instance never pages.
    pub fn incident(&self, finding: &Finding) -> Option<incident::Severity> {
        if finding.kind == Kind::Restart && !self.kinds.contains_key(&Kind::Restart) {
            return self.restarts(finding);
        }
        let threshold = self.kinds.get(&finding.kind).copied().unwrap_or(self.min_severity);
        let reached = match threshold {
            Threshold::Never => false,
            Threshold::Info => true,
            Threshold::Warning => finding.severity >= Gravity::Warning,
            Threshold::Critical => finding.severity >= Gravity::Critical,
        };
        (reached && !finding.chronic).then(|| severity_of(finding))
    }
}

impl Rules {
    /// Restarts count by number; a crash loop is always worth an incident.
    fn restarts(&self, finding: &Finding) -> Option<incident::Severity> {
        let evidence = &finding.evidence;
        let number = |name: &str| evidence.get(name).and_then(serde_json::Value::as_u64);
        let count = number("last_hour").or(number("count")).unwrap_or(1);
        let looping = evidence.get("crash_loop").and_then(serde_json::Value::as_bool);
        let many = self.restarts_per_h.is_some_and(|limit| count >= u64::from(limit));
        let reached = many || looping == Some(true);
        (reached && !finding.chronic).then(|| severity_of(finding))
    }
}

/// A critical finding about everybody, or about one that draws the traffic of the others, is an outage;
/// one about some of the instances is a part of one.
fn severity_of(finding: &Finding) -> incident::Severity {
    match (finding.severity, finding.scope) {
        (Gravity::Critical, Scope::Shared | Scope::Pool) => incident::Severity::Down,
        (Gravity::Critical, _) if finding.kind == Kind::BlackHole => incident::Severity::Down,
        (Gravity::Critical, _) => incident::Severity::Partial,
        _ => incident::Severity::Degraded,
    }
}

/// What an incident is about: `fleet:{id}:{kind}:{instance}`, the last empty when nobody is named.
pub fn subject(fleet: Uuid, finding: &Finding) -> String {
    let who = finding.instances.join(",");
    // A subject is a key and stands in an index; a hundred names are told in the sentence.
    let who = match who.char_indices().nth(200) {
        Some((cut, _)) => format!("{}…{}", &who[..cut], finding.instances.len()),
        None => who,
    };
    let pool = if finding.pool.is_empty() || !who.is_empty() { who } else { finding.pool.clone() };
    format!("fleet:{fleet}:{}:{pool}", finding.kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: Kind, scope: Scope, severity: Gravity) -> Finding {
        Finding {
            kind,
            scope,
            severity,
            pool: String::new(),
            instances: vec!["10.9.0.11:80".into()],
            from_us: 0,
            found_us: 0,
            to_us: None,
            chronic: false,
            sentence: String::new(),
            evidence: serde_json::Value::Null,
        }
    }

    #[test]
    fn severity_follows_whom_it_is_about() {
        let rules = Rules::default();
        let of = |kind, scope, severity| rules.incident(&finding(kind, scope, severity));
        use incident::Severity::{Degraded, Down, Partial};
        assert_eq!(of(Kind::Errors, Scope::One, Gravity::Critical), Some(Partial));
        assert_eq!(of(Kind::BlackHole, Scope::One, Gravity::Critical), Some(Down));
        assert_eq!(of(Kind::Errors, Scope::Shared, Gravity::Critical), Some(Down));
        assert_eq!(of(Kind::FewReady, Scope::Pool, Gravity::Warning), Some(Degraded));
        assert_eq!(of(Kind::Restart, Scope::One, Gravity::Info), None);
    }

    #[test]
    fn a_kind_may_have_a_threshold_of_its_own_and_chronic_never_pages() {
        let rules = Rules {
            kinds: [(Kind::Latency, Threshold::Never), (Kind::Restart, Threshold::Info)].into(),
            ..Rules::default()
        };
        assert_eq!(rules.incident(&finding(Kind::Latency, Scope::One, Gravity::Critical)), None);
        let restart = finding(Kind::Restart, Scope::One, Gravity::Info);
        assert_eq!(rules.incident(&restart), Some(incident::Severity::Degraded));
        assert_eq!(rules.incident(&Finding { chronic: true, ..restart }), None);
    }

    #[test]
    fn subjects_name_kind_and_instance_and_stay_short() {
        let id = Uuid::nil();
        let one = finding(Kind::Errors, Scope::One, Gravity::Warning);
        assert_eq!(subject(id, &one), format!("fleet:{id}:errors:10.9.0.11:80"));
        let nobody = Finding { instances: Vec::new(), ..one.clone() };
        assert_eq!(subject(id, &nobody), format!("fleet:{id}:errors:"));
        let many = Finding { instances: vec!["é".repeat(30); 90], ..one };
        assert!(subject(id, &many).chars().count() < 280);
    }
}
