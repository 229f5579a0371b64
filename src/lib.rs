//! Quorate watches public endpoints from several locations and alerts when enough of them agree.
//!
//! This page is the map; it is completed as modules land.

pub mod agent;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod coordinator;
pub mod domain;
pub mod net;
pub mod notify;
pub mod probe;
pub mod process;
pub mod protocol;
pub mod store;
pub mod triage;
pub mod up;
pub mod upkeep;
