//! The sentence that explains a decision.

use super::{Inputs, Live, Step};

/// Why this tick decided as it did.
pub(super) fn why(_live: &Live, _inputs: &Inputs<'_>, _step: &Step) -> String {
    String::new()
}
