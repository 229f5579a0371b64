//! What is said when a notice goes out although nothing has changed: a step of an escalation, a reminder, an
//! acknowledgement.

use super::{
    FleetFacts, Notice, NoticeKind, Surroundings, adjective, duration, group, instant, lasted,
    name, predicate,
};
use crate::domain::notice::Prompt;

/// `checkout is still down, for 2 h 5 min.`
pub(super) fn headline(notice: &Notice, prompt: &Prompt) -> String {
    let (name, is) = (name(notice), adjective(notice, notice.severity));
    let title = notice.fleet.as_ref().and_then(FleetFacts::title);
    let wrong = match (title, predicate(notice)) {
        (Some(title), _) => format!("{name}: {title}"),
        (None, Some(title)) => format!("{name} {title}"),
        (None, None) => format!("{name} is {is}"),
    };
    if let Prompt::Acknowledged { by, .. } = prompt {
        return match &notice.storm {
            Some(storm) => format!("{by} is at it: {}", group::headline(storm, notice)),
            None => format!("{by} is at it: {wrong}."),
        };
    }
    let lasted = duration(lasted(notice));
    if notice.kind != NoticeKind::Reminder {
        return format!("{wrong}, for {lasted}, and nobody has acknowledged it.");
    }
    match (title, predicate(notice)) {
        (Some(title), _) => format!("{name}, still, after {lasted}: {title}."),
        (None, Some(title)) => format!("{name} still {title}, after {lasted}."),
        (None, None) => format!("{name} is still {is}, for {lasted}."),
    }
}

/// Why it is told now, in front of the other facts.
pub(super) fn facts(notice: &Notice, around: &Surroundings) -> Vec<(&'static str, String)> {
    match &notice.prompt {
        None => Vec::new(),
        Some(Prompt::Step { policy, round, rounds, step, steps }) => {
            let round = match rounds {
                1 => String::new(),
                rounds => format!(", round {round} of {rounds}"),
            };
            vec![("Escalation", format!("{policy}: step {step} of {steps}{round}"))]
        }
        Some(Prompt::Reminder { number: 1 }) => {
            vec![("Reminder", "the first; nobody has acknowledged it".into())]
        }
        Some(Prompt::Reminder { number }) => {
            vec![("Reminder", format!("number {number}; nobody has acknowledged it"))]
        }
        Some(Prompt::AckOver { sentence }) => vec![("Reminder", sentence.clone())],
        Some(Prompt::Acknowledged { until, note, .. }) => {
            let mut facts = vec![(
                "Until",
                format!("{}; then it is told again", instant(*until, &around.zone)),
            )];
            facts.extend(note.clone().map(|note| ("Note", note)));
            facts
        }
    }
}
