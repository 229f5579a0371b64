//! What an objective measures.

use serde_json::Value;

use super::super::Source;
use super::super::names::read_share;
use super::super::parts::{Slices, micros, spec_of};
use super::{Shell, Slo};
use crate::domain::slo::definition::{Denominator, Sli, Weight};
use crate::domain::slo::window::DAY;
use crate::domain::{Invalid, Millis};

impl Slo<'_> {
    /// The indicator: ours by its name, somebody else's by the method.
    pub(super) fn sli(
        &self,
        indicator: &Value,
        source: &Source,
        shell: &Shell,
        slices: &Slices,
        place: &str,
    ) -> Result<Sli, Invalid> {
        let ours = if matches!(source, Source::Foreign { .. }) { None } else { spec_of(indicator) };
        let text = |name: &str| ours.and_then(|spec| spec.get(name)).and_then(Value::as_str);
        let fine = |text: &str| text.parse().ok().filter(|ms: &Millis| *ms > 0 && DAY % *ms == 0);
        let slice = || match self.noted("slice-ms", fine)? {
            Some(slice) => Ok(slice),
            None => slices.length(place),
        };
        match (text("sli"), shell.method.as_str()) {
            (Some("availability"), "Timeslices") => Ok(Sli::Availability),
            (Some("latency"), "Occurrences") => Ok(Sli::Latency {
                threshold_us: text("thresholdMs").and_then(micros).ok_or_else(|| {
                    Invalid::new("spec.indicator", "has no thresholdMs: the largest good latency")
                })?,
                denominator: match self.note("denominator").as_deref() {
                    Some("all") => Denominator::All,
                    _ => Denominator::OkOnly,
                },
            }),
            (Some("requests"), "Occurrences") => Ok(Sli::Requests {
                within_us: text("thresholdMs")
                    .map(|text| {
                        let why = "has a thresholdMs that is no length of time in milliseconds";
                        micros(text).ok_or_else(|| Invalid::new("spec.indicator", why))
                    })
                    .transpose()?,
                fallback: self.noted("fallback-below", |text| text.parse().ok())?,
            }),
            (Some(name @ ("availability" | "latency" | "requests")), method) => {
                let why = format!("does not fit the indicator {name}");
                Err(Invalid::given("spec.budgetingMethod", method, &why))
            }
            (_, "Occurrences") => {
                let by_location = self.note("weight").as_deref() == Some("location_mean");
                let weight = if by_location { Weight::LocationMean } else { Weight::Pooled };
                Ok(Sli::ProbeRatio { weight })
            }
            (_, "RatioTimeslices") => Ok(Sli::ProbeRatio { weight: Weight::SliceMean(slice()?) }),
            (_, "Timeslices") => {
                let target = match self.noted("slice-target", read_share)? {
                    Some(target) => target,
                    None => slices.share(place)?,
                };
                Ok(Sli::Slices { slice: slice()?, target })
            }
            (_, other) => {
                let known = "is no method; known are Occurrences, Timeslices, RatioTimeslices";
                Err(Invalid::given("spec.budgetingMethod", other, known))
            }
        }
    }
}
