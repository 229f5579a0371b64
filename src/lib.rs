pub mod cli;
pub mod clock;
pub mod domain;
