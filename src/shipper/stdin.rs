//! Standard input as one file that begins now.

use std::{io, time::Duration};

use anyhow::Context as _;

use super::lane::{BATCH, LONGEST, Lane, Stopped, new_id};
use crate::process::health::Pulse;

impl Lane {
    /// Standard input is one file that begins now; whoever writes waits while lines are not taken.
    pub(super) async fn standard_input(&mut self, pulse: &Pulse) -> Result<(), Stopped> {
        let file = new_id(self.clock.now());
        let (batches, mut arriving) = tokio::sync::mpsc::channel::<io::Result<Vec<u8>>>(1);
        std::thread::spawn(move || read_all(io::stdin().lock(), &batches));
        let mut offset = 0;
        loop {
            let batch = tokio::select! {
                batch = arriving.recv() => batch,
                () = tokio::time::sleep(Duration::from_secs(5)) => {
                    pulse.moved();
                    continue;
                }
                () = self.stop.cancelled() => return Err(Stopped::Asked),
            };
            let Some(batch) = batch else { return Ok(()) };
            let batch = batch.context("standard input cannot be read")?;
            let mut sent = 0;
            while sent < batch.len() {
                let end = (sent + self.limit).min(batch.len());
                let cut = memchr::memrchr(b'\n', &batch[sent..end]);
                let end =
                    if end == batch.len() { end } else { cut.map_or(end, |at| sent + at + 1) };
                let from = offset + sent as u64;
                if self.deliver(file, from, &batch[sent..end], pulse).await?.is_some() {
                    sent = end;
                }
            }
            offset += batch.len() as u64;
        }
    }
}

/// Whole lines as they come, without waiting for a full batch.
fn read_all(mut input: impl io::Read, batches: &tokio::sync::mpsc::Sender<io::Result<Vec<u8>>>) {
    let mut rest = Vec::new();
    let mut buffer = vec![0; BATCH];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let _ = batches.blocking_send(Err(error));
                return;
            }
        };
        rest.extend_from_slice(&buffer[..read]);
        let end = memchr::memrchr(b'\n', &rest).map_or(0, |at| at + 1);
        let end = if end == 0 && rest.len() >= LONGEST { rest.len() } else { end };
        if end > 0 {
            let tail = rest.split_off(end);
            if batches.blocking_send(Ok(std::mem::replace(&mut rest, tail))).is_err() {
                return;
            }
        }
    }
    if !rest.is_empty() {
        let _ = batches.blocking_send(Ok(rest));
    }
}
