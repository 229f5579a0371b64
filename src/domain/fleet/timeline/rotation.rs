//! Whether an instance gets requests, where nothing else tells of it.

use std::collections::BTreeSet;

use super::{
    SECOND,
    instance::{HOUR, Instance},
    view::verdict,
};

impl Instance {
    /// Since when it gets no traffic, if it had enough to tell and nothing but traffic tells.
    /// Not while a source that told of it is not heard, since that one may go on asking it.
    pub(super) fn silent_since(&self, until_us: i64, lost: &BTreeSet<String>) -> Option<i64> {
        if self.in_rotation != Some(true)
            || verdict(&self.views).is_some()
            || self.fed.keys().any(|feed| lost.contains(feed))
        {
            return None;
        }
        let last = self.last_us?;
        (until_us - last > self.patience_us()?).then_some(last)
    }

    /// How long it may be silent before it has left: max(15 s, 16/λ) with its own rate of the last
    /// hour. None when that is more than five minutes: too little traffic to tell.
    pub(super) fn patience_us(&self) -> Option<i64> {
        let patience = (self.gap_us()? * 16).max(15 * SECOND);
        (patience <= 300 * SECOND).then_some(patience)
    }

    pub(super) fn in_rotation(&self) -> bool {
        self.in_rotation == Some(true) && !self.muted
    }

    pub(super) fn fresh(&mut self) -> Option<i64> {
        self.fresh_us.take()
    }

    pub(super) fn set_rotation(&mut self, at_us: i64, inside: bool) {
        let returns = self.in_rotation == Some(false) && inside;
        self.in_rotation = Some(inside);
        self.settle(at_us, None);
        if returns {
            self.came_us = Some(at_us);
        }
    }

    /// Mean time between attempts over the last hour.
    pub(super) fn gap_us(&self) -> Option<i64> {
        let attempts: u64 = self.windows.iter().map(|window| window.attempts).sum();
        let span = self.last_us? - self.first_us?.max(self.last_us? - HOUR);
        let attempts = i64::try_from(attempts).ok().filter(|attempts| *attempts >= 10)?;
        Some((span / attempts).max(1))
    }
}
