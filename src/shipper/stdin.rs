//! Standard input as one file that begins now.

use std::{io, time::Duration};

use anyhow::Context as _;
use uuid::Uuid;

use super::lane::{BATCH, LONGEST, Lane, Stopped, end_line, new_id};
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
            self.pipe(file, offset, &batch, pulse).await?;
            offset += batch.len() as u64;
        }
    }

    /// Sends what was read in parts of whole lines; what has no end is the end of all.
    async fn pipe(
        &mut self,
        file: Uuid,
        offset: u64,
        batch: &[u8],
        pulse: &Pulse,
    ) -> Result<(), Stopped> {
        let mut sent = 0;
        while sent < batch.len() {
            let part = first_lines(&batch[sent..], self.limit);
            let from = offset + sent as u64;
            let last = !part.ends_with(b"\n");
            let Some(next) = self.deliver(file, (from, part, last), pulse).await? else {
                continue;
            };
            // A pipe cannot be read again.
            if next <= from || next > offset + batch.len() as u64 {
                let what = format!(
                    "the coordinator has it up to byte {next}, and it was read up to {from}; what \
                     lies between cannot be read again"
                );
                return Err(anyhow::anyhow!(what).into());
            }
            sent = usize::try_from(next - offset).unwrap_or(batch.len());
        }
        Ok(())
    }
}

/// Whole lines of at most `limit` bytes, or one that is longer, or what is left without an end.
fn first_lines(text: &[u8], limit: usize) -> &[u8] {
    let head = &text[..limit.min(text.len())];
    let end = memchr::memrchr(b'\n', head).or_else(|| memchr::memchr(b'\n', text));
    end.map_or(text, |at| &text[..=at])
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
        let end = if end == 0 && rest.len() >= LONGEST {
            end_line(&mut rest);
            rest.len()
        } else {
            end
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_lines_whatever_the_limit() {
        assert_eq!(first_lines(b"one\ntwo\nthree", 5), b"one\n");
        assert_eq!(first_lines(b"one\ntwo\nthree", 8), b"one\ntwo\n");
        assert_eq!(first_lines(b"a long one\ntwo\n", 3), b"a long one\n");
        assert_eq!(first_lines(b"without end", 3), b"without end");
    }

    #[test]
    fn a_line_without_end_gets_one_and_the_last_one_stays_as_it_is() {
        let (batches, mut arriving) = tokio::sync::mpsc::channel(64);
        let text = [vec![b'x'; LONGEST + 10], b"\nb\nlast".to_vec()].concat();
        read_all(text.as_slice(), &batches);
        drop(batches);
        let mut all = Vec::new();
        while let Ok(batch) = arriving.try_recv() {
            all.push(batch.unwrap());
        }
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), text.len());
        assert!(all[..all.len() - 1].iter().all(|batch| batch.ends_with(b"\n")));
        assert_eq!(all.last().unwrap(), b"last");
    }
}
