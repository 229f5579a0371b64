//! HAProxy's log: requests (`option httplog`, `httpslog`, `httplog clf`), states of servers and health
//! checks, in every envelope in which they travel (spec: fleet 1.5).
//!
//! * [`envelope`]: syslog, standard error, containers: what stands before the message.
//! * [`request`]: one request → a record.
//! * [`state`]: one line about a server or a backend → an event.

mod envelope;
mod request;
mod state;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::{Line, Reject, stamp::Stamps};
use crate::domain::fleet::event::Event;
use envelope::Envelope;
use state::Said;

/// What is remembered between lines.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// Why the last check of a server failed, by reporter and server: with `option log-health-checks` it
    /// is told there and not in the line that says that the server is down.
    causes: HashMap<(Option<String>, String), String>,
    /// The newest instant so far, for lines without any.
    last_us: Option<i64>,
}

/// Servers beyond this many are taken for rubbish, and the memory begins anew.
const MOST_CAUSES: usize = 10_000;

pub fn line<'a>(
    line: &'a [u8],
    stamps: &mut Stamps,
    memory: &mut Memory,
) -> Result<Line<'a>, Reject> {
    let envelope = Envelope::open(line);
    let read = match state::read(envelope.message) {
        Some(said) => Line::Event(memory.event(said, &envelope, stamps)?),
        None => request::read(&envelope, stamps)?,
    };
    match &read {
        Line::Request(record) => memory.last_us = memory.last_us.max(Some(record.end_us)),
        Line::Event(event) => memory.last_us = Some(event.at_us),
        Line::Nothing => {}
    }
    Ok(read)
}

impl Memory {
    /// A line on standard error may have no stamp at all: then it holds at the newest instant before it,
    /// or now.
    fn event(
        &mut self,
        said: Said<'_>,
        envelope: &Envelope<'_>,
        stamps: &mut Stamps,
    ) -> Result<Event, Reject> {
        let at_us = match &envelope.stamp {
            Some(stamp) => stamp.read(stamps).ok_or(Reject("the stamp is no time"))?,
            None => self.last_us.unwrap_or_else(|| stamps.now_us()),
        };
        let mut event = said.event(at_us, envelope.reporter());
        if let Some(instance) = &event.instance {
            match &said {
                Said::Check { passed, .. } => {
                    let key = (event.reporter.clone(), instance.clone());
                    self.learn(key, event.reason.as_ref().filter(|_| !passed));
                }
                Said::State { down: true, via, .. } => {
                    let of = via.as_ref().unwrap_or(instance).clone();
                    let known = self.causes.get(&(event.reporter.clone(), of));
                    event.reason = match (known, &via) {
                        (Some(cause), Some(via)) => Some(format!("via {via}: {cause}")),
                        _ => event.reason.or_else(|| known.cloned()),
                    };
                }
                _ => {}
            }
        }
        Ok(event)
    }

    fn learn(&mut self, key: (Option<String>, String), cause: Option<&String>) {
        match cause {
            Some(cause) => {
                if self.causes.len() >= MOST_CAUSES {
                    self.causes.clear();
                }
                self.causes.insert(key, cause.clone());
            }
            None => {
                self.causes.remove(&key);
            }
        }
    }
}
