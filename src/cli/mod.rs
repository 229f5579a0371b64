//! The tools: what runs in a terminal and needs no server.

pub mod decide;
pub mod openapi;
pub mod term;
