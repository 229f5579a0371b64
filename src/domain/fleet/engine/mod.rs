//! The findings engine (spec: fleet 3 and its settled points): one window after the other in, what
//! opened, changed and closed out. One engine judges one pool.
//!
//! Each anomaly is a yes or no per attempt ("was it bad in this way?"), and one question is asked of all:
//! is this instance's share of bad attempts larger than its peers', by more than chance and ordinary
//! differences between instances? Before anybody is named the whole pool is looked at: what has risen
//! everywhere is shared, and nobody is blamed for it.
//!
//! * [`stats`]: tails, spread, many tests at once, intervals.

mod state;
pub mod stats;

use crate::domain::fleet::cell::Window;
use crate::domain::fleet::finding::Finding;
use crate::domain::fleet::settings::Settings;

pub use state::{About, Archive, Context, EngineState, Probes, Quarter};

pub use super::finding::{Change, End, Step, key};
pub use stats::interval99;

/// So many windows before the next one are all that the engine looks at, quarters of an hour apart.
pub const WINDOWS_NEEDED: i64 = 180;

/// Judges one pool. Feed it every window in order, those without a line too.
#[derive(Debug)]
pub struct Engine {
    pool: String,
    settings: Settings,
    last: Option<i64>,
    open: Vec<Finding>,
}

impl Engine {
    pub fn new(pool: &str, settings: &Settings) -> Self {
        Self { pool: pool.to_owned(), settings: settings.clone(), last: None, open: Vec::new() }
    }

    /// Continues from what [`Engine::state`] gave. `history`: the windows before the next one, oldest
    /// first, [`EngineState::history_from`] on; fewer are fine, they are only remembered less well.
    pub fn restore(
        pool: &str,
        settings: &Settings,
        state: EngineState,
        history: impl IntoIterator<Item = Window>,
    ) -> Self {
        let mut engine = Self::new(pool, settings);
        engine.last = state.last;
        engine.open = state.open;
        for window in history {
            engine.last = engine.last.max(Some(window.index));
        }
        engine
    }

    /// What must be stored to go on in another process: what is open and what was seen lately of whom.
    /// Spreads and baselines are not in it, they are recomputed from the windows.
    pub fn state(&self) -> EngineState {
        EngineState { last: self.last, open: self.open.clone(), ..EngineState::default() }
    }

    /// Judges the next window. A window that is not newer than the last one is ignored.
    pub fn judge(&mut self, window: Window, _context: &Context<'_>) -> Vec<Change> {
        if self.last.is_some_and(|last| window.index <= last) {
            return Vec::new();
        }
        self.last = Some(window.index);
        Vec::new()
    }

    /// What is open, oldest first.
    pub fn open(&self) -> &[Finding] {
        &self.open
    }

    /// The pool that is judged.
    pub fn pool(&self) -> &str {
        &self.pool
    }

    /// The index of the last window that was judged.
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// Seconds of a window.
    pub fn window_s(&self) -> u32 {
        self.settings.window_s.max(1)
    }
}
