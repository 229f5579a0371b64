//! What the tests stand on: a database each, and real counterparts to talk to.

pub(crate) mod api;
pub(crate) mod coordinator_end;
pub(crate) mod coordinator_process;
pub(crate) mod db;
pub(crate) mod delivery;
pub(crate) mod dice;
pub(crate) mod drill;
pub(crate) mod fleet_traffic;
pub(crate) mod hook_sink;
pub(crate) mod listeners;
pub(crate) mod mail_sink;
pub(crate) mod scratch;
pub(crate) mod scripted;
pub(crate) mod sender;
pub(crate) mod slo;
pub(crate) mod targets;
pub(crate) mod watch;
pub(crate) mod whole;
