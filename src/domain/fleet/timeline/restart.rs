//! Restarts: certain when somebody counted them or saw the new process, probable when checks were refused
//! or stopped together with the traffic.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    super::event::{Event, Source, State, What},
    Instance, SECOND,
};

/// How often an instance restarted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarts {
    /// Somebody counted it or saw the new process.
    pub certain: u64,
    /// Checks were refused, or checks and traffic stopped together, and it came back.
    pub probable: u64,
}

/// One restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    pub instance: String,
    pub at_us: i64,
    pub certain: bool,
    /// How many at once, when a counter jumped.
    pub count: u64,
    pub reason: Option<String>,
}

/// The rhythm of health checks in an instance's own log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Probes {
    pub last_us: Option<i64>,
    gaps: VecDeque<i64>,
}

impl Instance {
    /// It came back after checks found nobody listening, and nobody counted a restart meanwhile.
    pub(super) fn probably_restarted(&mut self, event: &Event) -> Option<Restart> {
        let streak = std::mem::take(&mut self.streak);
        let down_since = streak.first_us?;
        let counted = self.recent_restarts.iter().any(|restart| restart.at_us >= down_since);
        if !streak.refused || counted || self.counter.is_some() {
            return None;
        }
        let reason = "its checks were refused, then it was back";
        Some(self.restarted(event.at_us, false, 1, Some(reason.to_owned())))
    }

    /// A gap in the checks of an instance's own log, ended by one that fails: it was restarting.
    pub(super) fn note_probe(&mut self, event: &Event, peers_go_on: bool) -> Option<Restart> {
        let What::Check { passed } = event.what else { return None };
        if event.source != Source::Probes {
            return None;
        }
        let last = self.probes.last_us.replace(event.at_us)?;
        let gap = event.at_us - last;
        let rhythm = self.probes.rhythm();
        let broken = rhythm.is_some_and(|rhythm| gap > (rhythm * 3).max(15 * SECOND));
        if !broken {
            self.probes.gaps.push_back(gap);
            if self.probes.gaps.len() > 10 {
                self.probes.gaps.pop_front();
            }
            return None;
        }
        let quiet = self.last_us.is_none_or(|traffic| traffic <= last + rhythm.unwrap_or(0));
        let counted = self.recent_restarts.iter().any(|restart| restart.at_us >= last);
        (quiet && !passed && peers_go_on && !counted && self.counter.is_none()).then(|| {
            let reason = "checks and traffic stopped together, and its first check then failed";
            self.restarted(event.at_us, false, 1, Some(reason.to_owned()))
        })
    }

    pub(super) fn note_restart(&mut self, event: &Event) -> Option<Restart> {
        match event.what {
            What::RestartCount(now) => {
                // What is older is no news: a snapshot tells again what it knows of earlier restarts.
                if self.counter.is_some_and(|(at_us, _)| event.at_us < at_us) {
                    return None;
                }
                let (_, before) = self.counter.replace((event.at_us, now))?;
                // Fewer than before: another life began to count.
                let more = now.checked_sub(before).filter(|more| *more > 0)?;
                Some(self.restarted(event.at_us, true, more, event.reason.clone()))
            }
            What::Started => {
                let known = self.state != State::Unknown && self.state != State::Gone;
                let again = known || self.first_us.is_some();
                (again && self.counter.is_none() && self.state != State::Gone)
                    .then(|| self.restarted(event.at_us, true, 1, event.reason.clone()))
            }
            _ => None,
        }
    }

    fn restarted(&mut self, at_us: i64, certain: bool, n: u64, reason: Option<String>) -> Restart {
        let count = if certain { &mut self.restarts.certain } else { &mut self.restarts.probable };
        *count = count.saturating_add(n);
        self.came_us = Some(at_us);
        let restart = Restart { instance: self.name.clone(), at_us, certain, count: n, reason };
        self.recent_restarts.push_back(restart.clone());
        restart
    }
}

impl Probes {
    /// Median gap, of at least three.
    pub(super) fn rhythm(&self) -> Option<i64> {
        let mut gaps: Vec<i64> = self.gaps.iter().copied().collect();
        gaps.sort_unstable();
        (gaps.len() >= 3).then(|| gaps[gaps.len() / 2])
    }
}
