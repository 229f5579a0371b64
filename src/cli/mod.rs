//! The tools: what runs in a terminal and needs no server.

pub mod admin;
pub mod bench;
pub mod decide;
pub mod logs;
pub mod openapi;
pub mod probe;
pub mod serve;
pub mod slo;
pub mod term;
pub mod up;
