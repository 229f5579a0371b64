//! Figures as documents. Pure: a [`document::Document`] (a report with what only the store knows beside
//! it), an SLO's definition or the state of a page goes in, text comes out. Nothing here works out a
//! figure; every number is one of the report's, cut off and never rounded up.
//!
//! * [`document`]: what the documents on one SLO are made from; [`csv`]: its tables; [`html`]: the report
//!   as a page that prints well.
//! * [`wording`]: figures, lengths and instants in words.

pub mod csv;
pub mod document;
pub mod html;
pub mod wording;
