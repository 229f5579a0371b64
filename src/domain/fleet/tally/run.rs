//! Runs of failed attempts: where the time to removal begins (spec: fleet 2.5).

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

/// A run of failures begins at an attempt that failed when this many…
const FAILED: u32 = 3;
/// … of so many attempts after it failed too, and ends with as many that did not fail, one after another.
const OF_NEXT: u32 = 5;

/// Attempts on one instance, as one source tells it, that failed one upon the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub instance: String,
    /// The end of the first and of the last failed attempt, in µs since the Unix epoch.
    pub from_us: i64,
    pub last_us: i64,
    /// Attempts that failed.
    pub failed: u64,
    /// Those of them that no other attempt made good.
    pub visible: u64,
    /// It may go on: the next that is given with the same beginning replaces this one.
    pub open: bool,
}

/// Attempts in a row with the same outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    first_us: i64,
    last_us: i64,
    bad: bool,
    count: u32,
    visible: u32,
}

/// Outcomes in the order of the log, by source and instance; equal ones in a row are one.
#[derive(Debug, Clone, Default)]
pub(super) struct Trails {
    trails: FxHashMap<(u32, u32), Trail>,
}

#[derive(Debug, Clone, Default)]
struct Trail {
    /// What is not read yet. The newest may still grow.
    pieces: VecDeque<Piece>,
    run: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    from_us: i64,
    last_us: i64,
    failed: u64,
    visible: u64,
}

impl Trails {
    pub(super) fn add(&mut self, source: u32, instance: u32, at_us: i64, bad: bool, visible: bool) {
        let piece = Piece {
            first_us: at_us,
            last_us: at_us,
            bad,
            count: 1,
            visible: u32::from(bad && visible),
        };
        self.trails.entry((source, instance)).or_default().push(piece);
    }

    /// Appends what came later in the same sources; `names` says what its instances are called here.
    pub(super) fn append(&mut self, later: &Self, names: &[u32]) {
        for ((source, instance), trail) in &later.trails {
            let instance = names.get(*instance as usize).copied().unwrap_or(*instance);
            let mine = self.trails.entry((*source, instance)).or_default();
            for piece in &trail.pieces {
                mine.push(*piece);
            }
            // All else that was read already is history; only what is not read yet can be continued.
        }
    }

    /// Reads on, and gives the runs that ended, grew or began since.
    pub(super) fn read(&mut self, name: impl Fn(u32) -> String) -> Vec<Run> {
        let mut found = BTreeMap::new();
        for ((source, instance), trail) in &mut self.trails {
            for run in trail.read() {
                found.insert((*source, *instance, run.0.from_us), run);
            }
        }
        let run = |(key, (run, open)): ((u32, u32, i64), (Open, bool))| Run {
            instance: name(key.1),
            from_us: run.from_us,
            last_us: run.last_us,
            failed: run.failed,
            visible: run.visible,
            open,
        };
        found.into_iter().map(run).collect()
    }
}

impl Trail {
    fn push(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.back_mut()
            && last.bad == piece.bad
        {
            last.last_us = last.last_us.max(piece.last_us);
            last.first_us = last.first_us.min(piece.first_us);
            last.count = last.count.saturating_add(piece.count);
            last.visible = last.visible.saturating_add(piece.visible);
            return;
        }
        self.pieces.push_back(piece);
    }

    /// Runs with whether they may go on. Keeps the pieces that what follows may change.
    fn read(&mut self) -> Vec<(Open, bool)> {
        let mut told = Vec::new();
        let mut touched = false;
        while let Some(piece) = self.pieces.front().copied() {
            let is_last = self.pieces.len() == 1;
            match (&mut self.run, piece.bad) {
                (Some(run), true) => {
                    run.last_us = run.last_us.max(piece.last_us);
                    run.failed += u64::from(piece.count);
                    run.visible += u64::from(piece.visible);
                    touched = true;
                }
                (Some(run), false) if piece.count >= OF_NEXT => {
                    told.push((*run, false));
                    self.run = None;
                    touched = false;
                }
                // Too few to end it; more may follow.
                (Some(_), false) if is_last => break,
                (None, true) => match self.begins() {
                    None => break,
                    Some(false) => {}
                    Some(true) => {
                        self.run = Some(Open {
                            from_us: piece.first_us,
                            last_us: piece.last_us,
                            failed: 0,
                            visible: 0,
                        });
                        continue;
                    }
                },
                _ => {}
            }
            self.pieces.pop_front();
        }
        if touched && let Some(run) = self.run {
            told.push((run, true));
        }
        told
    }

    /// Whether a run begins with the first attempt of the oldest piece. None: too few follow to tell.
    fn begins(&self) -> Option<bool> {
        let (mut failed, mut seen) = (0, 0);
        for (index, piece) in self.pieces.iter().enumerate() {
            let count = piece.count - u32::from(index == 0);
            let counted = count.min(OF_NEXT - seen);
            seen += counted;
            failed += if piece.bad { counted } else { 0 };
            if failed >= FAILED {
                return Some(true);
            }
            // What is left of the five cannot make three any more.
            if failed + (OF_NEXT - seen) < FAILED {
                return Some(false);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` failed and the user saw it, `r` failed and was rescued, `.` went well; a second each.
    fn runs(parts: &[&str]) -> Vec<(i64, i64, u64, u64, bool)> {
        let mut trails = Trails::default();
        let mut told = BTreeMap::new();
        let mut at = 0;
        for part in parts {
            for outcome in part.chars() {
                trails.add(1, 7, at, outcome != '.', outcome == 'x');
                at += 1;
            }
            for run in trails.read(|id| id.to_string()) {
                assert_eq!(run.instance, "7");
                let shown = (run.from_us, run.last_us, run.failed, run.visible, run.open);
                told.insert(run.from_us, shown);
            }
        }
        told.into_values().collect()
    }

    #[test]
    fn a_run_begins_when_three_of_the_next_five_fail_and_ends_with_five_that_pass() {
        assert_eq!(runs(&["..x.x...xx......"]), []);
        assert_eq!(runs(&["...xxxx"]), [(3, 6, 4, 4, true)]);
        assert_eq!(runs(&["...x.rxx.x....."]), [(3, 9, 5, 4, false)]);
        assert_eq!(runs(&["xxxx.....xxxx....x"]), [(0, 3, 4, 4, false), (9, 17, 5, 5, true)]);
    }

    #[test]
    fn where_the_log_is_cut_makes_no_difference() {
        let whole = "..x..x.xrxx..x.....x.xxx.x.......xxx....xxx";
        let expected = runs(&[whole]);
        for cut in 0..whole.len() {
            assert_eq!(runs(&[&whole[..cut], &whole[cut..]]), expected, "cut at {cut}");
        }
        let single: Vec<&str> = (0..whole.len()).map(|i| &whole[i..=i]).collect();
        assert_eq!(runs(&single), expected);
    }
}
