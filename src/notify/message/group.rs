//! What a group of monitors that went down together says.

use super::{duration, lasted};
use crate::domain::notice::{Notice, StormFacts};

/// In front of the subject.
pub(super) fn state(storm: &StormFacts) -> String {
    match storm.open {
        0 => format!("All {} up again", storm.total),
        open => format!("{open} of {} down", storm.total),
    }
}

/// What happened, in one sentence.
pub(super) fn headline(storm: &StormFacts, notice: &Notice) -> String {
    let (total, shared) = (storm.total, &storm.shared);
    match storm.open {
        0 => {
            let lasted = duration(lasted(notice));
            format!("All {total} monitors that share {shared} are up again, after {lasted}.")
        }
        open if open == total => format!("{total} monitors that share {shared} are down."),
        1 => format!("1 of {total} monitors that share {shared} is still down."),
        open => format!("{open} of {total} monitors that share {shared} are still down."),
    }
}
