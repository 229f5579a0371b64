//! What the documents on one SLO are made from: the report, and what stands beside it in the store. The
//! engine knows neither causes nor people, so a report alone makes a shorter document, never a wrong one.

use crate::domain::Millis;
pub use crate::domain::slo::context::{
    Change, ChangeKind, Context, Document, FiredAlert, Gap, Incident, LatencySlo, Maintenance,
    Method, Month,
};

impl Document {
    /// The incident that an outage lies in.
    pub(super) fn incident(&self, id: Option<&String>) -> Option<&Incident> {
        let id = id?;
        self.context.incidents.iter().find(|incident| incident.id == *id)
    }

    /// What is known besides of a window of maintenance.
    pub(super) fn maintenance(&self, id: &str, start: &str) -> Option<&Maintenance> {
        let at = instant(start);
        let of_it = |m: &&Maintenance| m.id == id && at.is_none_or(|at| at == m.start);
        self.context.maintenance.iter().find(of_it)
    }

    /// What the document is about: the SLO's name, else its id.
    pub fn name(&self) -> &str {
        let slo = &self.report.slo;
        slo.name.as_deref().or(slo.id.as_deref()).unwrap_or("SLO")
    }
}

/// An instant as the report spells it; none beyond the calendar.
pub(super) fn instant(stamp: &str) -> Option<Millis> {
    stamp.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}
