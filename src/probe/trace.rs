//! What one probe has seen so far: phases by a monotonic clock, and facts in the order they came.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::observation::{Certificate, Class, Phases};

/// The phases, in the order in which a hop goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Resolve,
    Connect,
    Tls,
    FirstByte,
    Transfer,
}

/// Why a probe did not come to the judging of its conditions, or what they amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: Class,
    /// One plain sentence, with its full stop.
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

#[derive(Debug)]
pub(super) struct Trace {
    pub(super) start: Instant,
    /// The phase that runs, and since when.
    running: Option<(Stage, Instant)>,
    /// Microseconds of ended phases, summed over hops; `None` means that it never began.
    sums: [Option<u64>; 5],
    pub(super) address: Option<IpAddr>,
    /// Every address that the last name resolved to.
    pub(super) resolved: Vec<IpAddr>,
    pub(super) certificate: Option<Certificate>,
    /// Whether a control name resolved, once that is known.
    pub(super) control: OnceLock<bool>,
}

impl Trace {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            start,
            running: None,
            sums: [None; 5],
            address: None,
            resolved: Vec::new(),
            certificate: None,
            control: OnceLock::new(),
        }
    }

    /// Begins a phase; the one that ran ends.
    pub(super) fn enter(&mut self, stage: Stage) {
        let now = Instant::now();
        self.close(now);
        self.running = Some((stage, now));
    }

    /// Ends the phase that runs.
    pub(super) fn leave(&mut self) {
        self.close(Instant::now());
    }

    /// Ends the phase that runs as if it had taken so many microseconds: for kinds that measure it themselves.
    pub(super) fn took(&mut self, micros: u64) {
        if let Some((stage, _)) = self.running.take()
            && let Some(sum) = self.sums.get_mut(stage as usize)
        {
            *sum = Some(sum.unwrap_or(0) + micros);
        }
    }

    /// All ended phases together.
    pub(super) fn spent(&self) -> Duration {
        Duration::from_micros(self.sums.iter().flatten().sum())
    }

    /// The phase that has not ended.
    pub(super) fn stage(&self) -> Option<Stage> {
        self.running.map(|(stage, _)| stage)
    }

    fn close(&mut self, now: Instant) {
        if let Some((stage, since)) = self.running.take()
            && let Some(sum) = self.sums.get_mut(stage as usize)
        {
            *sum = Some(sum.unwrap_or(0) + micros(since, now));
        }
    }

    /// Phases at this instant. One that runs counts up to now.
    pub(super) fn phases(&self, now: Instant) -> Phases {
        let of = |stage: Stage| {
            let ended = self.sums.get(stage as usize).copied().flatten();
            let running = self
                .running
                .filter(|(running, _)| *running == stage)
                .map(|(_, since)| micros(since, now));
            match (ended, running) {
                (None, None) => None,
                (ended, running) => Some(narrow(ended.unwrap_or(0) + running.unwrap_or(0))),
            }
        };
        Phases {
            resolve: of(Stage::Resolve),
            connect: of(Stage::Connect),
            tls: of(Stage::Tls),
            first_byte: of(Stage::FirstByte),
            transfer: of(Stage::Transfer),
            total: narrow(micros(self.start, now)),
        }
    }
}

/// Whole microseconds between two instants.
pub(super) fn micros(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn narrow(micros: u64) -> u32 {
    u32::try_from(micros).unwrap_or(u32::MAX)
}
