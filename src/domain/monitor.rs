//! What a user registers: name, check, rhythm, and the policy by which locations agree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Invalid, Millis, short};

/// A monitor's settings as the API takes and gives them, without ids and bookkeeping. Check and
/// assertions are parsed apart (`domain::check`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum LocationSelector {
    /// `"all"`
    Word(AllWord),
    Names(Vec<String>),
    Labels {
        labels: BTreeMap<String, String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllWord {
    All,
}

/// Seconds between two scheduled probes of one location: 10 s to 24 h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval(u32);

impl Interval {
    pub fn from_secs(secs: u32) -> Result<Self, Invalid> {
        if (10..=86_400).contains(&secs) {
            Ok(Self(secs))
        } else {
            Err(Invalid::new("interval_s", format!("{secs} is out of range: 10 to 86400 seconds")))
        }
    }
    pub fn secs(self) -> u32 {
        self.0
    }
    pub fn millis(self) -> Millis {
        Millis::from(self.0) * 1000
    }
}

/// Deadline of one attempt: 0.1 s to 60 s, kept in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timeout(u32);

impl Timeout {
    pub fn from_secs(secs: f64) -> Result<Self, Invalid> {
        if (0.1..=60.0).contains(&secs) {
            Ok(Self((secs * 1000.0).round() as u32))
        } else {
            Err(Invalid::new(
                "timeout_s",
                format!("{} is out of range: 0.1 to 60 seconds", short(&secs.to_string())),
            ))
        }
    }
    pub fn millis(self) -> Millis {
        Millis::from(self.0)
    }
    pub fn secs(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// A name people gave: 1 to 200 characters, no control characters, no blanks at the ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(Invalid::new(field, "must not be empty"));
        }
        if trimmed.chars().count() > 200 {
            return Err(Invalid::new(field, "is longer than 200 characters"));
        }
        if trimmed.chars().any(char::is_control) {
            return Err(Invalid::new(field, "holds a control character"));
        }
        Ok(Self(trimmed.to_owned()))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
    pub fn into_string(self) -> String {
        self.0
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    Quick,
    #[default]
    Balanced,
    Careful,
}

/// How many of the eligible locations must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quorum {
    Majority,
    AtLeast(u32),
    Percent(u32),
    All,
    Any,
}

/// The quorum as written: `{"mode":"at_least","k":3}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuorumSpec {
    pub mode: QuorumMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuorumMode {
    Majority,
    AtLeast,
    Percent,
    All,
    Any,
}

/// A policy as written: a preset, and whatever overrides it. Seconds may have decimals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    #[serde(default)]
    pub preset: Preset,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<QuorumSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_after: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_after: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_gap_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_gap_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_separation_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_regions: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_agree: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_min: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_for_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_for_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind_for_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recover_for_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopen_within_s: Option<f64>,
}

/// A policy with every number in place; spans in milliseconds (spec: decision 5.10). It is stored so with
/// every decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub interval: Millis,
    pub timeout: Millis,
    pub quorum: Quorum,
    /// F
    pub fail_after: u32,
    /// R
    pub pass_after: u32,
    /// δ
    pub retry_gap: Millis,
    /// δ_r
    pub pass_gap: Millis,
    pub min_separation: Millis,
    pub stale_after: Millis,
    pub min_agree: u32,
    pub min_domains: u32,
    pub min_regions: u32,
    pub partial_min: u32,
    /// H
    pub confirm_for: Millis,
    pub partial_hold: Millis,
    pub down_low_hold: Millis,
    pub split_for: Millis,
    pub blind_for: Millis,
    pub recover_for: Millis,
    pub reopen_within: Millis,
    /// A pass strictly slower than this counts as slow; none switches the rule off.
    pub slow: Option<Millis>,
}

impl Policy {
    /// The defaults for an interval, a time-out and a number of configured locations.
    pub fn defaults(interval: Millis, timeout: Millis, locations: usize) -> Self {
        Self {
            interval,
            timeout,
            quorum: Quorum::Majority,
            fail_after: if locations == 1 { 3 } else { 2 },
            pass_after: 2,
            retry_gap: 5_000,
            pass_gap: 10_000,
            min_separation: 4_000,
            stale_after: 2 * interval + timeout + 20_000,
            min_agree: 2,
            min_domains: 2,
            min_regions: 2,
            partial_min: 2,
            confirm_for: 0,
            partial_hold: 2 * interval,
            down_low_hold: 2 * interval,
            split_for: 600_000,
            blind_for: 60_000,
            recover_for: (2 * interval).clamp(60_000, 300_000),
            reopen_within: 600_000,
            slow: None,
        }
    }
}

impl PolicySpec {
    /// Fills in preset and defaults, and refuses what cannot work. Field names are as written.
    pub fn resolve(
        &self,
        interval: Interval,
        timeout: Timeout,
        slow_ms: Option<u32>,
        locations: usize,
    ) -> Result<Policy, Invalid> {
        let mut p = Policy::defaults(interval.millis(), timeout.millis(), locations);
        match self.preset {
            Preset::Quick => p.fail_after = 1,
            Preset::Balanced => {}
            Preset::Careful => {
                p.fail_after = 3;
                p.confirm_for = interval.millis();
            }
        }
        if let Some(quorum) = self.quorum {
            p.quorum = quorum.parse().map_err(|e| e.under("policy"))?;
        }
        let count = |field: &str,
                     value: Option<u32>,
                     range: std::ops::RangeInclusive<u32>,
                     into: &mut u32| match value {
            None => Ok(()),
            Some(v) if range.contains(&v) => {
                *into = v;
                Ok(())
            }
            Some(v) => Err(Invalid::new(
                format!("policy.{field}"),
                format!("{v} is out of range: {} to {}", range.start(), range.end()),
            )),
        };
        count("fail_after", self.fail_after, 1..=20, &mut p.fail_after)?;
        count("pass_after", self.pass_after, 1..=20, &mut p.pass_after)?;
        count("min_domains", self.min_domains, 1..=100, &mut p.min_domains)?;
        count("min_regions", self.min_regions, 1..=100, &mut p.min_regions)?;
        count("min_agree", self.min_agree, 1..=100, &mut p.min_agree)?;
        count("partial_min", self.partial_min, 1..=100, &mut p.partial_min)?;
        let span = |field: &str, value: Option<f64>, max: f64, into: &mut Millis| match value {
            None => Ok(()),
            Some(v) if (0.0..=max).contains(&v) => {
                *into = (v * 1000.0).round() as Millis;
                Ok(())
            }
            Some(v) => Err(Invalid::new(
                format!("policy.{field}"),
                format!("{} is out of range: 0 to {max} seconds", short(&v.to_string())),
            )),
        };
        span("retry_gap_s", self.retry_gap_s, 300.0, &mut p.retry_gap)?;
        span("pass_gap_s", self.pass_gap_s, 300.0, &mut p.pass_gap)?;
        span("min_separation_s", self.min_separation_s, 300.0, &mut p.min_separation)?;
        span("confirm_for_s", self.confirm_for_s, 86_400.0, &mut p.confirm_for)?;
        span("split_for_s", self.split_for_s, 86_400.0, &mut p.split_for)?;
        span("blind_for_s", self.blind_for_s, 86_400.0, &mut p.blind_for)?;
        span("recover_for_s", self.recover_for_s, 86_400.0, &mut p.recover_for)?;
        span("reopen_within_s", self.reopen_within_s, 86_400.0, &mut p.reopen_within)?;
        p.slow = slow_ms.map(Millis::from);
        if p.min_separation > p.retry_gap && p.fail_after > 1 {
            return Err(Invalid::new(
                "policy.min_separation_s",
                "is longer than retry_gap_s, so that no retry would ever count",
            ));
        }
        let run =
            Millis::from(p.fail_after) * p.timeout + Millis::from(p.fail_after - 1) * p.retry_gap;
        if run > p.stale_after {
            return Err(Invalid::new(
                "policy.fail_after",
                format!(
                    "{} failures in a row can take {} s, longer than a vote stays fresh ({} s): lower fail_after, retry_gap_s or timeout_s, or raise interval_s",
                    p.fail_after,
                    run / 1000,
                    p.stale_after / 1000
                ),
            ));
        }
        Ok(p)
    }
}

impl QuorumSpec {
    pub fn parse(self) -> Result<Quorum, Invalid> {
        match (self.mode, self.k, self.percent) {
            (QuorumMode::Majority, None, None) => Ok(Quorum::Majority),
            (QuorumMode::All, None, None) => Ok(Quorum::All),
            (QuorumMode::Any, None, None) => Ok(Quorum::Any),
            (QuorumMode::AtLeast, Some(k @ 1..=100), None) => Ok(Quorum::AtLeast(k)),
            (QuorumMode::Percent, None, Some(p @ 1..=100)) => Ok(Quorum::Percent(p)),
            (QuorumMode::AtLeast, _, None) => {
                Err(Invalid::new("quorum.k", "at_least needs k, from 1 to 100"))
            }
            (QuorumMode::Percent, None, _) => {
                Err(Invalid::new("quorum.percent", "percent needs percent, from 1 to 100"))
            }
            (_, Some(_), _) => Err(Invalid::new("quorum.k", "belongs to mode at_least only")),
            (_, _, Some(_)) => Err(Invalid::new("quorum.percent", "belongs to mode percent only")),
        }
    }
}
