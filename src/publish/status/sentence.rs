//! All of a page in one plain sentence, and in further ones what the first leaves out.

use super::{Part, View, listed};
use crate::domain::Millis;
use crate::domain::status_page::post::{Impact, Progress};
use crate::publish::html::glyph::Mark;
use crate::publish::summary::State;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub mark: Mark,
    pub text: String,
    /// About parts that the sentence does not speak of.
    pub more: Vec<String>,
}

/// What is wrong comes first, the worst before the rest.
pub(super) fn say(view: &View) -> Said {
    let all = view.parts().count();
    let of =
        |state: State| -> Vec<&Part> { view.parts().filter(|part| part.state == state).collect() };
    if all == 0 {
        return said(Mark::Unknown, "Nothing is shown here yet.".to_owned());
    }
    let (unknown, planned) = (of(State::Unknown), of(State::Maintenance));
    let mut sentences: Vec<(Mark, String)> = Vec::new();
    for (mark, state, one, many) in [
        (Mark::Down, State::Down, "does not work", "do not work"),
        (Mark::Partial, State::Partial, "works only in part", "work only in part"),
        (Mark::Slow, State::Slow, "is slow", "are slow"),
    ] {
        let parts = of(state);
        if !parts.is_empty() {
            sentences.push((mark, trouble(view, &parts, all, one, many)));
        }
    }
    let wrong = !sentences.is_empty();
    if unknown.len() == all {
        let text = "Nothing is measured at the moment, so we do not know how things are.";
        sentences.push((Mark::Unknown, text.to_owned()));
    } else if !unknown.is_empty() {
        let verb = if unknown.len() == 1 { "is" } else { "are" };
        let what = format!("{} {verb} not measured at the moment", names(&unknown, all));
        let rest = all - unknown.len() - planned.len();
        let text = match (wrong, rest) {
            (false, 1..) => format!("All systems that we measure work; {what}."),
            _ => format!("{what}."),
        };
        sentences.push((Mark::Unknown, text));
    }
    if !planned.is_empty() {
        let what = format!("Planned work is going on at {}", names(&planned, all));
        let rest_works = !wrong && unknown.is_empty() && planned.len() < all;
        let text = if rest_works {
            format!("{what}; all other systems work.")
        } else {
            format!("{what}.")
        };
        sentences.push((Mark::Maintenance, text));
    }
    if sentences.is_empty() {
        return well(view, all);
    }
    let (mark, text) = sentences.remove(0);
    Said { mark, text, more: sentences.into_iter().map(|(_, text)| text).collect() }
}

/// Everything that is measured works; people may know of something that measuring does not see.
fn well(view: &View, all: usize) -> Said {
    let told = view.open.iter().filter(|post| post.impact != Impact::None);
    let told: Vec<Progress> = told.map(|post| post.status).collect();
    match told.as_slice() {
        [_, ..] if told.iter().all(|status| *status == Progress::Monitoring) => {
            said(Mark::Up, "All systems work again, and we keep watching.".to_owned())
        }
        [_, ..] => {
            said(Mark::Slow, "All systems answer, and we are looking into a problem.".to_owned())
        }
        [] if all == 1 => {
            let name = view.parts().next().map_or("", |part| part.name.as_str());
            said(Mark::Up, format!("{name} works."))
        }
        [] => said(Mark::Up, "All systems work.".to_owned()),
    }
}

fn said(mark: Mark, text: String) -> Said {
    Said { mark, text, more: Vec::new() }
}

fn names(parts: &[&Part], all: usize) -> String {
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    listed(&names, all)
}

fn trouble(view: &View, parts: &[&Part], all: usize, one: &str, many: &str) -> String {
    let verb = if parts.len() == 1 { one } else { many };
    let told: Vec<String> =
        parts.iter().filter_map(|part| part.since).map(|at| view.time(at)).collect();
    let first: Option<Millis> = parts.iter().filter_map(|part| part.since).min();
    let same = told.len() == parts.len() && told.windows(2).all(|pair| pair[0] == pair[1]);
    let since = match first {
        None => String::new(),
        Some(at) if same => format!(" since {}", view.time(at)),
        Some(at) => format!(", the first since {}", view.time(at)),
    };
    format!("{} {verb}{since}.", names(parts, all))
}

#[cfg(test)]
mod tests {
    use super::super::{Group, Measure, Post};
    use super::*;
    use crate::publish::wording::Zone;

    const NOW: Millis = 1_794_881_520_000; // Tue 17 Nov 2026, 02:12 UTC

    fn part(name: &str, state: State, since: Millis) -> Part {
        Part {
            id: name.into(),
            name: name.into(),
            slug: name.into(),
            description: String::new(),
            state,
            since: Some(since),
            last_known: state,
            figures: None,
            measure: Measure::Time,
            created_at: 0,
            updated_at: 0,
        }
    }

    fn view(parts: Vec<Part>) -> View {
        View {
            id: String::new(),
            name: "Shop".into(),
            headline: String::new(),
            zone: Zone::named("Europe/Berlin"),
            url: String::new(),
            mount: String::new(),
            draft: false,
            now: NOW,
            days: 90,
            groups: vec![Group { id: String::new(), name: String::new(), parts }],
            links: Vec::new(),
            open: Vec::new(),
            earlier: Vec::new(),
            earlier_pages: 0,
            planned: Vec::new(),
            created_at: 0,
            updated_at: 0,
        }
    }

    fn text(parts: Vec<Part>) -> String {
        say(&view(parts)).text
    }

    #[test]
    fn what_is_wrong_is_said_with_its_beginning() {
        use State::{Down, Maintenance, Partial, Slow, Unknown, Up};
        let minutes = |n: Millis| NOW - n * 60_000;
        assert_eq!(text(vec![]), "Nothing is shown here yet.");
        assert_eq!(text(vec![part("A", Up, 0)]), "A works.");
        let up = || part("Z", Up, 0);
        assert_eq!(text(vec![up(), part("B", Up, 0)]), "All systems work.");
        assert_eq!(
            text(vec![part("Checkout", Down, minutes(10)), up()]),
            "Checkout does not work since 03:02."
        );
        assert_eq!(
            text(vec![part("A", Down, minutes(10)), part("B", Down, minutes(2))]),
            "A and B do not work, the first since 03:02."
        );
        assert_eq!(
            text(vec![part("A", Partial, minutes(60 * 24)), up()]),
            "A works only in part since Mon 16 Nov, 03:12."
        );
        let many = ["A", "B", "C", "D"].map(|name| part(name, Slow, minutes(1)));
        assert_eq!(
            text(many.into_iter().chain([up()]).collect()),
            "4 of 5 systems are slow since 03:11."
        );
        assert_eq!(
            text(vec![part("A", Unknown, 0), up()]),
            "All systems that we measure work; A is not measured at the moment."
        );
        assert_eq!(
            text(vec![part("A", Unknown, 0), part("B", Unknown, 0)]),
            "Nothing is measured at the moment, so we do not know how things are."
        );
        assert_eq!(
            text(vec![part("A", Maintenance, 0), up()]),
            "Planned work is going on at A; all other systems work."
        );
        let both = say(&view(vec![
            part("A", Down, minutes(1)),
            part("B", Unknown, 0),
            part("C", Maintenance, 0),
        ]));
        assert_eq!(both.mark, Mark::Down);
        assert_eq!(
            both.more,
            ["B is not measured at the moment.", "Planned work is going on at C."]
        );
    }

    #[test]
    fn what_people_know_is_not_talked_away_by_measuring() {
        let mut page = view(vec![part("A", State::Up, 0), part("B", State::Up, 0)]);
        let post = |impact, status| Post {
            id: String::new(),
            title: String::new(),
            impact,
            status,
            started_at: 0,
            resolved_at: None,
            created_at: 0,
            updated_at: 0,
            parts: Vec::new(),
            updates: Vec::new(),
        };
        page.open = vec![post(Impact::None, Progress::Investigating)];
        assert_eq!(say(&page).text, "All systems work.");
        page.open.push(post(Impact::Minor, Progress::Monitoring));
        assert_eq!(say(&page).text, "All systems work again, and we keep watching.");
        page.open.push(post(Impact::Major, Progress::Identified));
        assert_eq!(say(&page).text, "All systems answer, and we are looking into a problem.");
    }
}
