//! Documents made from reports: tables, the page and its print, and what other tools read.

mod openslo;
mod page;
mod public;
mod sample;
mod tables;
