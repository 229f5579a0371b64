//! Fleet health from access logs (spec: fleet). Pure: records and events in, figures and findings out.
//!
//! * [`record`]: one request as a log line tells it, borrowed from the line.
//! * [`event`]: what a log or a platform says of an instance besides requests.
//! * [`probe`]: which requests are health checks; [`route`]: which requests are alike.
//! * [`beats`]: requests that may be health checks, until their rhythm tells.
//! * [`cell`]: additive sums per window, instance and route class: all that is kept of requests.
//! * [`tally`]: from records to those sums.
//! * [`engine`]: judges window after window: who is unlike its peers, what is shared.
//! * [`timeline`]: events and traffic → states, ready count, removals, restarts, flaps.
//! * [`finding`]: what is told about a fleet; [`title`]: what that is called.
//! * [`hearing`]: whether a source is heard.
//! * [`settings`]: what is configured of the analysis; [`config`]: of a fleet as a whole; [`rules`]: which
//!   findings become incidents; [`platform`]: what its platform does by itself; [`all_out`]: what comes of
//!   it when nobody is ready.
//! * [`share`]: how instances stand beside their peers, as it is shown.

pub mod all_out;
pub mod beats;
pub mod cell;
pub mod config;
pub mod engine;
pub mod event;
pub mod finding;
pub mod hearing;
pub mod platform;
pub mod probe;
pub mod record;
pub mod route;
pub mod rules;
pub mod settings;
pub mod share;
pub mod tally;
pub mod timeline;
pub mod title;
