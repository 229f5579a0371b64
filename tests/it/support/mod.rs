//! What the tests stand on: a database each, and real counterparts to talk to.

pub(crate) mod db;
pub(crate) mod scratch;
pub(crate) mod targets;
pub(crate) mod watch;
