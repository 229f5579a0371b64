//! What a replay cannot know: attempts that another policy would have made, and what is no longer stored.

use super::Told;
use crate::domain::monitor::Policy;

/// What is known of the past beside the reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// The monitor was saved within the span.
    pub edited: bool,
    /// Raw results do not reach back to the beginning that was asked for.
    pub cut: bool,
    /// Locations are left out that were asked then.
    pub excluded: usize,
    /// Locations that send now, but sent nothing in the span.
    pub absent: usize,
}

/// One sentence for each thing to bear in mind; `present` is the policy by which the agents worked.
pub fn of(present: &Policy, tried: &Policy, told: &[Told], known: Known) -> Vec<String> {
    let mut all = Vec::new();
    if tried.fail_after > present.fail_after {
        all.push(format!(
            "A failure was tried {} in a row then; the further attempts that {} failures need were never made. Here the next scheduled ones take their place, so alerts come later than they would.",
            times(present.fail_after), tried.fail_after
        ));
    }
    if tried.pass_after > present.pass_after {
        all.push(format!(
            "A recovery was confirmed by {} in a row then; the further ones that {} passes need were never made, so recoveries come later here than they would.",
            passes(present.pass_after), tried.pass_after
        ));
    }
    if tried.retry_gap != present.retry_gap && present.fail_after > 1 {
        all.push(format!(
            "Retries were made {} apart then, and stay where they were.",
            seconds(present.retry_gap)
        ));
    }
    if tried.pass_gap != present.pass_gap && present.pass_after > 1 {
        all.push(format!(
            "Passes after an outage were repeated {} apart then, and stay where they were.",
            seconds(present.pass_gap)
        ));
    }
    if tried != present {
        all.push("The other locations were asked at once when the present policy called for it; a replay asks nobody anew.".to_owned());
    }
    if known.excluded > 0 {
        all.push("Where the locations that are left out began to fail first, the others were asked on their account all the same.".to_owned());
    }
    if known.edited {
        all.push("The monitor was changed within this span; its present settings are taken for all of it, so that even the present policy may come to something else than happened.".to_owned());
    }
    if known.cut {
        all.push(
            "Single results are not kept further back; the span begins where they do.".to_owned(),
        );
    }
    if known.absent > 0 {
        let many = known.absent > 1;
        all.push(format!(
            "{} of the locations sent nothing in this span, and {} missing from the count.",
            known.absent,
            if many { "are" } else { "is" }
        ));
    }
    let guessed = told.iter().filter(|told| told.guessed).count();
    if guessed > 0 {
        all.push(format!(
            "Of {guessed} of the {} results it was not kept when they arrived; they are taken to have come when the attempt ended.",
            told.len()
        ));
    }
    all
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn passes(count: u32) -> String {
    if count == 1 { "one pass".to_owned() } else { format!("{count} passes") }
}

fn seconds(millis: i64) -> String {
    format!("{}\u{a0}s", millis as f64 / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_tried_is_said_and_nothing_else() {
        let present = Policy::defaults(60_000, 10_000, 3);
        assert_eq!(of(&present, &present, &[], Known::default()), Vec::<String>::new());
        let quick = Policy { fail_after: 1, ..present.clone() };
        let said = of(&present, &quick, &[], Known::default());
        assert_eq!(said.len(), 1, "fewer attempts are all there: {said:?}");
        let careful = Policy { fail_after: 3, retry_gap: 7_500, ..present.clone() };
        let said = of(&present, &careful, &[], Known { edited: true, ..Known::default() });
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said[0].contains("2 times in a row"), "{said:?}");
        assert!(said[1].contains("5\u{a0}s apart"), "{said:?}");
    }
}
