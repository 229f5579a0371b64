//! Maintenance that comes again: a cron expression gives the beginnings, a duration in elapsed time the
//! ends. An occurrence of two hours lasts two hours, whatever clocks do meanwhile.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::domain::{Invalid, cron::Schedule};

/// Shorter than this nothing is maintained.
const SHORTEST: SignedDuration = SignedDuration::from_mins(1);
/// Longer than this is a mistake.
const LONGEST: SignedDuration = SignedDuration::from_hours(31 * 24);
/// Occurrences of the next 400 days must lie apart: every change of clocks of a year is among them.
const LOOKED_AHEAD: SignedDuration = SignedDuration::from_hours(400 * 24);
/// At most one an hour, in the mean of a month with a repeated hour.
const OFTEN: (SignedDuration, usize) = (SignedDuration::from_hours(31 * 24), 31 * 24 + 1);

/// When it comes.
#[derive(Debug, Clone)]
pub struct Plan {
    schedule: Schedule,
    duration: SignedDuration,
    until: Option<Timestamp>,
    skipped: BTreeSet<Timestamp>,
}

/// One time that it comes, `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    pub start: Timestamp,
    pub end: Timestamp,
    /// It is left out: nothing is silenced, nothing left out of figures.
    pub skipped: bool,
}

impl Plan {
    /// `until` is behind the last beginning. Refusals name `cron`, `timezone`, `duration_s`.
    pub fn parse(
        cron: &str,
        timezone: &str,
        duration_s: i64,
        until: Option<Timestamp>,
    ) -> Result<Self, Invalid> {
        let schedule = Schedule::parse(cron, timezone)?;
        let duration = SignedDuration::from_secs(duration_s);
        if !(SHORTEST..=LONGEST).contains(&duration) {
            let why = format!("{duration_s} is out of range: 60 (a minute) to 2678400 (31 days)");
            return Err(Invalid::new("duration_s", why));
        }
        Ok(Self { schedule, duration, until, skipped: BTreeSet::new() })
    }

    /// The same without these beginnings.
    pub fn without(mut self, skipped: impl IntoIterator<Item = Timestamp>) -> Self {
        self.skipped.extend(skipped);
        self
    }

    /// Refuses what never comes, comes more often than hourly, or has not ended when it comes again: of what
    /// begins behind `now`.
    pub fn check(&self, now: Timestamp) -> Result<(), Invalid> {
        let Some(first) = self.schedule.next(now) else {
            return Err(Invalid::new("cron", "never comes: there is no such day"));
        };
        if self.until.is_some_and(|until| until <= first) {
            let first = self.schedule.told(first);
            return Err(Invalid::new("until", format!("lies before the first time, {first}")));
        }
        let (span, most) = OFTEN;
        if self.all(now).take_while(|o| o.start < now + span).nth(most).is_some() {
            return Err(Invalid::new(
                "cron",
                "comes more often than once an hour; plan one window that is longer",
            ));
        }
        let mut before: Option<Occurrence> = None;
        for next in self.all(now).take_while(|o| o.start < now + LOOKED_AHEAD) {
            if let Some(before) = before.filter(|before| before.end > next.start) {
                let [start, end, again] =
                    [before.start, before.end, next.start].map(|at| self.schedule.told(at));
                let why = format!(
                    "is too long: what begins at {start} ends at {end}, after it has come again at {again}"
                );
                return Err(Invalid::new("duration_s", why));
            }
            before = Some(next);
        }
        Ok(())
    }

    /// The first occurrence that begins behind `after` and is not skipped.
    pub fn next(&self, after: Timestamp) -> Option<Occurrence> {
        self.all(after).find(|occurrence| !occurrence.skipped)
    }

    /// All that begin behind `after`, skipped ones among them. There may be no end to them.
    pub fn all(&self, after: Timestamp) -> impl Iterator<Item = Occurrence> + '_ {
        let in_time = |start: &Timestamp| self.until.is_none_or(|until| *start < until);
        self.schedule.after(after).take_while(in_time).map_while(|start| {
            let end = start.checked_add(self.duration).ok()?;
            Some(Occurrence { start, end, skipped: self.skipped.contains(&start) })
        })
    }

    /// Whether it comes at just this instant.
    pub fn comes_at(&self, start: Timestamp) -> bool {
        let just_before = start.checked_sub(SignedDuration::from_secs(1)).unwrap_or(start);
        self.all(just_before).next().is_some_and(|occurrence| occurrence.start == start)
    }
}

#[cfg(test)]
mod tests;
