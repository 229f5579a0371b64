//! A status page: how things are, for everybody. Whoever fills a [`View`] takes care that it holds public names
//! only; nothing here knows monitors, locations or incidents.
//!
//! * [`page`]: the page itself, the page of earlier posts and that of one post, and what is said instead of one.
//! * [`documents`]: the same for other readers: summary, feeds, calendar, badge.
//! * `sentence`: all of it in one sentence; `strip`: days as bars; `posts`: what people wrote.

pub mod documents;
pub mod page;
mod posts;
mod sentence;
mod strip;

use super::summary::State;
use super::wording::Zone;
use crate::domain::Millis;
use crate::domain::slo::daily::Daily;
use crate::domain::status_page::Link;
use crate::domain::status_page::post::{Impact, Progress};

/// Styles and the script of every page. What a browser may run is told by their hashes.
pub const STYLE: &str = include_str!("style.css");
pub const SCRIPT: &str = include_str!("live.js");

/// A page at one moment.
#[derive(Debug, Clone)]
pub struct View {
    pub id: String,
    pub name: String,
    pub headline: String,
    pub zone: Zone,
    /// Where the public finds it, without a slash at the end.
    pub url: String,
    /// What stands before the paths of links: `/status/shop`, or nothing on a host of its own.
    pub mount: String,
    /// It is not published: only who is signed in sees this.
    pub draft: bool,
    pub now: Millis,
    /// How many days are shown.
    pub days: u16,
    pub groups: Vec<Group>,
    pub links: Vec<Link>,
    /// Posts that are not resolved, the latest first.
    pub open: Vec<Post>,
    /// Those that are, the latest first; of all of them the first page.
    pub earlier: Vec<Post>,
    /// How many pages of earlier posts there are.
    pub earlier_pages: u32,
    /// What is going on and what comes within 90 days, by its beginning.
    pub planned: Vec<Planned>,
    pub created_at: Millis,
    pub updated_at: Millis,
}

#[derive(Debug, Clone)]
pub struct Group {
    pub id: String,
    /// May be empty.
    pub name: String,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub struct Part {
    pub id: String,
    pub name: String,
    pub slug: String,
    pub description: String,
    pub state: State,
    /// Since when, where that is known.
    pub since: Option<Millis>,
    /// What it was before nothing was known; [`State::Unknown`] when it never was known.
    pub last_known: State,
    /// None where nothing can be said: what it was about is gone.
    pub figures: Option<Daily>,
    pub measure: Measure,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// What the percentage of a part is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Time,
    Checks,
    InTime,
    Requests,
}

#[derive(Debug, Clone)]
pub struct Post {
    pub id: String,
    pub title: String,
    pub impact: Impact,
    pub status: Progress,
    pub started_at: Millis,
    pub resolved_at: Option<Millis>,
    pub created_at: Millis,
    pub updated_at: Millis,
    /// Ids of parts.
    pub parts: Vec<String>,
    /// The newest first.
    pub updates: Vec<Update>,
}

#[derive(Debug, Clone)]
pub struct Update {
    pub id: String,
    pub status: Progress,
    pub text: String,
    pub at: Millis,
}

#[derive(Debug, Clone)]
pub struct Planned {
    /// Of the window, or of the plan by which it comes again: with the beginning it is this one's alone.
    pub id: String,
    pub from: Millis,
    pub to: Millis,
    /// It was planned and will not be: only calendars are told, so that they take it away.
    pub skipped: bool,
    /// Counts the changes.
    pub revision: u32,
    pub changed_at: Millis,
    /// Ids of parts, in the order of the page; never empty.
    pub parts: Vec<String>,
}

impl View {
    /// All parts in order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.groups.iter().flat_map(|group| &group.parts)
    }

    /// Planned work that will be.
    fn coming(&self) -> impl Iterator<Item = &Planned> {
        self.planned.iter().filter(|planned| !planned.skipped)
    }

    /// Names of the parts with these ids, in the order of the page.
    fn names(&self, ids: &[String]) -> Vec<&str> {
        let named = self.parts().filter(|part| ids.contains(&part.id));
        named.map(|part| part.name.as_str()).collect()
    }

    /// What something is about: names while they are few.
    fn concerned(&self, ids: &[String]) -> String {
        const FEW: usize = 6;
        let (names, all) = (self.names(ids), self.parts().count());
        match names.len() {
            many if many == all && many > 1 => "all systems".to_owned(),
            many if many > FEW => format!("{many} of {all} systems"),
            _ => names.join(", "),
        }
    }

    /// An instant as readers take it in: `03:02` today, `Mon 16 Nov, 23:50` on any other day.
    fn time(&self, at: Millis) -> String {
        let day = |at| self.zone.format(at, "%F");
        if day(at) == day(self.now) {
            return self.zone.format(at, "%H:%M");
        }
        self.zone
            .format(at, if self.same_year(at) { "%a %-d %b, %H:%M" } else { "%-d %b %Y, %H:%M" })
    }

    fn same_year(&self, at: Millis) -> bool {
        let year = |at| self.zone.format(at, "%Y");
        year(at) == year(self.now)
    }

    /// `Tue 17 Nov, 02:00 – 03:00`; with both days where there are two.
    fn span(&self, from: Millis, to: Millis) -> String {
        let day = |at| self.zone.format(at, "%F");
        let year = if self.same_year(from) && self.same_year(to) { "" } else { " %Y" };
        let whole = |at| self.zone.format(at, &format!("%a %-d %b{year}, %H:%M"));
        let end = if day(from) == day(to) { self.zone.format(to, "%H:%M") } else { whole(to) };
        format!("{} – {end}", whole(from))
    }
}

/// `Checkout`, `Checkout and Search`, `Checkout, Search and Accounts`; of more than three their number.
fn listed(names: &[&str], all: usize) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [one, two, three] => format!("{one}, {two} and {three}"),
        many => format!("{} of {all} systems", many.len()),
    }
}

/// Hours and minutes, rounded up to the minute: `0:07`.
fn hours(length: Millis) -> String {
    let minutes = -(-length).div_euclid(60_000);
    format!("{}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_up_to_the_minute() {
        assert_eq!(hours(1), "0:01");
        assert_eq!(hours(420_000), "0:07");
        assert_eq!(hours(90_000_000), "25:00");
    }

    #[test]
    fn many_names_are_counted() {
        assert_eq!(listed(&["A"], 9), "A");
        assert_eq!(listed(&["A", "B", "C"], 9), "A, B and C");
        assert_eq!(listed(&["A", "B", "C", "D"], 9), "4 of 9 systems");
    }
}
