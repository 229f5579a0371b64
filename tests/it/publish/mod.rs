//! Documents made from reports: tables, the page and its print, and what other tools read.

mod page;
mod sample;
mod tables;
