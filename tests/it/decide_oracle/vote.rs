//! What one location says, told from the beginning each time (5.1, 5.2).

use super::scenario::{Seen, Settings, What};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Up,
    Slow,
    Suspect,
    Down,
    Recovering,
}

/// A location that has been heard.
#[derive(Clone, Debug)]
pub(super) struct Vote {
    pub(super) word: Word,
    /// When the last attempt that was taken began.
    pub(super) last: i64,
    /// When the run began that made, or would make, it down. Kept over passes that did not suffice.
    pub(super) fails_since: Option<i64>,
    /// When the present run of passes began.
    pub(super) passes_since: Option<i64>,
    /// Every run of counted fails there ever was, with the time of each fail. The last may be open.
    pub(super) runs: Vec<Vec<i64>>,
    /// Every pass there ever was.
    pub(super) passes: Vec<Pass>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) at: i64,
    took: i64,
}

/// The vote after everything that was received from this location, in the order in which it came.
pub(super) fn vote(received: &[&Seen], settings: &Settings) -> Option<Vote> {
    let mut vote: Option<Vote> = None;
    // The run of fails that may still grow, and the number of passes in a row.
    let mut run_is_open = false;
    let mut passes_in_a_row = 0;
    for seen in received {
        let too_old = seen.received - seen.at > settings.stale_after();
        let not_later = vote.as_ref().is_some_and(|vote| seen.at <= vote.last);
        if seen.manual || seen.what == What::Error || too_old || not_later {
            continue;
        }
        let mut now = vote.take().unwrap_or(Vote {
            // Nobody sees this word: the first result replaces it.
            word: Word::Up,
            last: seen.at,
            fails_since: None,
            passes_since: None,
            runs: Vec::new(),
            passes: Vec::new(),
        });
        if seen.at - now.last > settings.stale_after() {
            run_is_open = false;
            passes_in_a_row = 0;
            now.fails_since = None;
            now.passes_since = None;
        }
        now.last = seen.at;
        let was_down = matches!(now.word, Word::Down | Word::Recovering);
        if seen.what == What::Fail {
            let too_soon = run_is_open
                && now
                    .runs
                    .last()
                    .and_then(|run| run.last())
                    .is_some_and(|last| seen.at - last < settings.min_sep);
            if !too_soon {
                passes_in_a_row = 0;
                now.passes_since = None;
                if !run_is_open {
                    now.runs.push(Vec::new());
                    run_is_open = true;
                }
                now.runs.last_mut().unwrap().push(seen.at);
                now.fails_since = now.fails_since.or(Some(seen.at));
                let enough = now.runs.last().unwrap().len() as i64 >= settings.fail_after;
                now.word = if enough || was_down { Word::Down } else { Word::Suspect };
            }
        } else {
            run_is_open = false;
            passes_in_a_row += 1;
            now.passes.push(Pass { at: seen.at, took: seen.took });
            now.passes_since = now.passes_since.or(Some(seen.at));
            if was_down && passes_in_a_row < settings.pass_after {
                now.word = Word::Recovering;
            } else {
                now.fails_since = None;
                now.word = if is_slow(&now.passes, settings) { Word::Slow } else { Word::Up };
            }
        }
        vote = Some(now);
    }
    vote
}

/// Three of the last five took too long.
fn is_slow(passes: &[Pass], settings: &Settings) -> bool {
    let Some(limit) = settings.slow_ms else { return false };
    passes.iter().rev().take(5).filter(|pass| pass.took > limit).count() >= 3
}
