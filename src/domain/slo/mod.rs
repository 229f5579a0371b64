//! Availability, error budgets and burn rates (spec: slo). Pure: what is known goes in as
//! [`evaluate::Inputs`], a [`report::Report`] comes out, and everything that shows a figure shows one of
//! that report. Decisions are made on integers and exact fractions; doubles are for display only.
//!
//! * [`definition`]: what an SLO is; [`document`]: how it, and what was seen, are written in JSON.
//! * [`timeline`]: one condition for every instant; [`slot`] makes one from results, [`composite`] from
//!   several monitors, [`maintenance`] says what is cut out.
//! * [`window`]: what is judged, in civil time; [`asked`]: which one somebody wants to see; [`subject`]:
//!   what is watched; [`sources`]: where they are read from;
//!   [`evidence`], [`requests`]: results and requests in it.
//! * [`measure`]: good and bad of a span by the indicator; [`latency`]: percentiles; [`outage`]: outages
//!   and the figures made from them.
//! * [`budget`]: what may be bad, and the state; [`burn`]: rates and the rules that fire; [`alert`]: who is told;
//!   [`resolution`]: whether the probe can tell.
//! * [`evaluate`]: all of it in order, `assemble` (its lists: `breakdown`) into a [`report`], hashed in its one spelling
//!   ([`canonical`]).
//! * [`context`]: what documents say beside a report. [`daily`]: what a status page shows.
//! * [`warning`]: what is strange about a definition. [`ratio`], [`natural`]: exact fractions.
//!   [`difference`]: what two reports say differently.

pub mod alert;
pub mod asked;
mod assemble;
mod breakdown;
pub mod budget;
pub mod burn;
pub mod canonical;
pub mod composite;
pub mod context;
pub mod counting;
pub mod daily;
pub mod definition;
pub mod difference;
pub mod document;
pub mod evaluate;
pub mod evidence;
pub mod latency;
pub mod maintenance;
pub mod measure;
pub mod natural;
pub mod outage;
pub mod ratio;
pub mod report;
pub mod requests;
pub mod resolution;
pub mod slot;
pub mod sources;
pub mod subject;
pub mod timeline;
pub mod warning;
pub mod window;
