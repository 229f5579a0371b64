//! The last windows as they came: where one has too few attempts, several are judged together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::grid::ENOUGH;
use crate::domain::fleet::cell::Window;

/// So many windows are taken together.
pub(super) const SPANS: [usize; 2] = [5, 15];

/// The last 15 windows.
#[derive(Debug, Default)]
pub(super) struct Recent {
    kept: VecDeque<Kept>,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub window: Window,
    /// Who could not be judged by this window.
    thin: BTreeSet<String>,
}

impl Recent {
    pub(super) fn push(&mut self, window: Window, thin: BTreeSet<String>) {
        self.put_back(Kept { window, thin });
    }

    pub(super) fn pop(&mut self) -> Option<Kept> {
        self.kept.pop_back()
    }

    pub(super) fn put_back(&mut self, kept: Kept) {
        self.kept.push_back(kept);
        while self.kept.len() > SPANS[1] {
            self.kept.pop_front();
        }
    }

    fn last(&self, at: i64, span: usize) -> impl Iterator<Item = &Kept> {
        self.kept.iter().filter(move |kept| (0..span as i64).contains(&(at - kept.window.index)))
    }

    /// The last `span` windows up to `at` as one.
    pub(super) fn together(&self, at: i64, span: usize) -> Window {
        let mut all = Window::new(at);
        for kept in self.last(at, span) {
            all.merge(&kept.window);
        }
        all
    }

    /// Who could not be judged by any of them.
    pub(super) fn thin(&self, at: i64, span: usize) -> BTreeSet<String> {
        let mut thin: BTreeSet<String> = BTreeSet::new();
        for kept in self.last(at, span) {
            thin.extend(kept.thin.iter().cloned());
        }
        for kept in self.last(at, span) {
            let judged =
                |name: &String| kept.window.cells.contains_key(name) && !kept.thin.contains(name);
            thin.retain(|name| !judged(name));
        }
        thin
    }

    /// Whether most had too few attempts in each of them to be judged all together.
    pub(super) fn is_quiet(&self, at: i64, span: usize) -> bool {
        let mut most: BTreeMap<&str, u64> = BTreeMap::new();
        for kept in self.last(at, span) {
            for (name, cells) in &kept.window.cells {
                let attempts: u64 = cells.values().map(|cell| cell.attempts).sum();
                let most = most.entry(name).or_default();
                *most = attempts.max(*most);
            }
        }
        most.values().filter(|most| **most < ENOUGH).count() * 2 > most.len()
    }
}
