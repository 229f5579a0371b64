//! Figures as documents. Pure: a [`document::Document`] (a report with what only the store knows beside
//! it), an SLO's definition or the state of a page goes in, text comes out. Nothing here works out a
//! figure; every number is one of the report's, cut off and never rounded up.
//!
//! * [`document`]: what the documents on one SLO are made from; [`csv`]: its tables; [`html`]: the report
//!   as a page that prints well.
//! * [`openslo`]: SLOs from and for other tools; [`sloth`]: for a generator of Prometheus rules.
//! * [`status`]: pages for the public. [`badge`], [`summary`], [`feed`], [`calendar`]: the same for badges, readers
//!   and calendars.
//! * [`yaml`]; [`wording`]: figures, lengths and instants in words.

pub mod badge;
pub mod calendar;
pub mod csv;
pub mod document;
pub mod feed;
pub mod html;
pub mod openslo;
pub mod sloth;
pub mod status;
pub mod summary;
pub mod wording;
pub mod yaml;

/// `checkout-2026-10-01` for the files of a report, without what a header or a file system takes amiss.
pub fn file_name(document: &document::Document) -> String {
    let start = document.report.days.first().map_or("report", |day| day.date.as_str());
    format!("{}-{start}", openslo::slug(document.name()))
}
