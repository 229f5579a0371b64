//! `quorate openapi`: prints the description of the HTTP interface.

use std::{
    io::{ErrorKind, Write},
    process::ExitCode,
};

/// Writes the document to standard output; a reader that has seen enough is no error.
pub fn run() -> ExitCode {
    match std::io::stdout().write_all(crate::api::openapi::text().as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => ExitCode::from(3),
        _ => ExitCode::SUCCESS,
    }
}
