//! Availability, error budgets and burn rates (spec: slo). Pure: what is known goes in as
//! [`evaluate::Inputs`], a [`report::Report`] comes out, and everything that shows a figure shows one of
//! that report. Decisions are made on integers and exact fractions; doubles are for display only.
//!
//! * [`definition`]: what an SLO is.
//! * [`timeline`]: one condition for every instant; [`slot`] makes one from results, [`composite`] from
//!   several monitors, [`maintenance`] says what is cut out.
//! * [`window`]: what is judged, in civil time; [`evidence`], [`requests`]: results and requests in it.
//! * [`measure`]: good and bad of a span by the indicator; [`latency`]: percentiles; [`outage`]: outages
//!   and the figures made from them.
//! * [`budget`]: what may be bad, and the state; [`burn`]: rates and the rules that fire;
//!   [`resolution`]: whether the probe can tell.
//! * [`evaluate`]: all of it in order, `assemble` (its lists: `breakdown`) into a [`report`], hashed in its one spelling
//!   ([`canonical`]).
//! * `warning`: what is strange about a definition. [`ratio`], [`natural`]: exact fractions.

mod assemble;
mod breakdown;
pub mod budget;
pub mod burn;
pub mod canonical;
pub mod composite;
pub mod definition;
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
pub mod timeline;
mod warning;
pub mod window;
