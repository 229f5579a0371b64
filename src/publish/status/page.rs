//! The pages themselves: each one file with everything in it, for the screen by day and by night, for a telephone, for
//! paper, and without scripts. Everything that somebody typed is escaped.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::posts::{line, post, time};
use super::sentence::say;
use super::strip::{has_table, strip, table};
use super::{Group, Measure, Part, Planned, Post, SCRIPT, STYLE, View, hours};
use crate::domain::slo::daily::Daily;
use crate::publish::html::glyph::{Mark, definitions, glyph, state};
use crate::publish::summary::State;

/// More parts than this, and groups in which all is well are folded.
const MANY: usize = 15;

/// Planned work that the page shows; the calendar has the rest.
const SOON: usize = 6;

/// Earlier posts that the page itself shows.
const FEW: usize = 5;

/// The page.
pub fn page(view: &View) -> String {
    let said = say(view);
    let content = html! {
        @if view.draft { p.draft { "A draft: only people who are signed in to Quorate see this." } }
        section class={ "ban b-" (said.mark.class()) } {
            h1 { (glyph(said.mark)) span { (said.text) } }
            @for sentence in &said.more { p { (sentence) } }
        }
        @for open in &view.open { (post(view, open, true)) }
        @for group in view.groups.iter().filter(|group| !group.parts.is_empty()) { (group_of(view, group)) }
        @if view.parts().next().is_some() { (legend()) }
        (planned(view))
        (earlier(view))
        (method(view))
    };
    shell(view, &said.text, &content)
}

/// One page of earlier posts, counted from 1.
pub fn history(view: &View, posts: &[Post], number: u32) -> String {
    let content = html! {
        h1 { "Earlier posts" }
        @if posts.is_empty() { p.t2 { "Nothing was posted yet." } }
        @for one in posts { (post(view, one, true)) }
        nav.pages aria-label="Pages" {
            @if number > 1 { a rel="prev" href={ (view.mount) "/history?page=" (number - 1) } { "Later" } }
            @if number < view.earlier_pages { a rel="next" href={ (view.mount) "/history?page=" (number + 1) } { "Earlier" } }
        }
        p { a href=(home(view)) { "How things are now" } }
    };
    shell(view, "Earlier posts", &content)
}

/// One post by itself.
pub fn single(view: &View, one: &Post) -> String {
    let content = html! {
        h1.vh { (one.title) }
        (post(view, one, false))
        p { a href=(home(view)) { "How things are now" } }
    };
    shell(view, &one.title, &content)
}

/// There is no such page: of a draft the same is said.
pub fn missing() -> String {
    bare("There is no such page.", "Look at the address again, or ask whoever gave it to you.")
}

/// Nothing is known at the moment.
pub fn away() -> String {
    bare(
        "We cannot say how things are at the moment.",
        "The measurements cannot be read. This page tries again by itself; nothing is said about the systems by that.",
    )
}

fn bare(title: &str, text: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="robots" content="noindex";
                meta http-equiv="refresh" content="60";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main.wrap { h1 { (title) } p.t2 { (text) } } }
        }
    };
    page.into_string()
}

fn home(view: &View) -> &str {
    if view.mount.is_empty() { "/" } else { &view.mount }
}

fn shell(view: &View, title: &str, content: &Markup) -> String {
    let feed = |kind: &str| format!("{}/feed.{kind}", view.mount);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="description" content=(title);
                @if view.draft { meta name="robots" content="noindex"; }
                title { (view.name) ": " (title) }
                link rel="icon" href="data:,";
                link rel="canonical" href=(view.url);
                link rel="alternate" type="application/atom+xml" title=(view.name) href=(feed("atom"));
                link rel="alternate" type="application/rss+xml" title=(view.name) href=(feed("rss"));
                noscript { meta http-equiv="refresh" content="60"; }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (definitions())
                div.wrap {
                    header.head {
                        a.name href=(home(view)) { (view.name) }
                        span.mut { "service status" }
                        p.s.mut #live { (view.zone.format(view.now, "%a %-d %b, %H:%M %Z")) ", updates itself" }
                    }
                    @if !view.headline.is_empty() { p.lead { (view.headline) } }
                    p.vh #said role="status" {}
                    main #now { (content) }
                    (footer(view))
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn footer(view: &View) -> Markup {
    html! {
        footer.s {
            @for link in &view.links { a href=(link.url) rel="noopener" { (link.text) } }
            a href={ (view.mount) "/feed.atom" } { "Subscribe (Atom)" }
            a href={ (view.mount) "/feed.rss" } { "RSS" }
            a href={ (view.mount) "/maintenance.ics" } { "Calendar of planned work" }
            a href={ (view.mount) (if view.mount.is_empty() { "/api/v2/summary.json" } else { "/summary.json" }) } { "summary.json" }
            span.mut { "Times are those of " (view.zone.name) "." }
        }
    }
}

/// How a part is, in a mark and a word.
fn word(of: State) -> (Mark, &'static str) {
    match of {
        State::Up => (Mark::Up, "Works"),
        State::Slow => (Mark::Slow, "Slow"),
        State::Partial => (Mark::Partial, "Works in part"),
        State::Down => (Mark::Down, "Down"),
        State::Maintenance => (Mark::Maintenance, "Planned work"),
        State::Unknown => (Mark::Unknown, "Not measured"),
    }
}

fn group_of(view: &View, group: &Group) -> Markup {
    let parts = html! { @for one in &group.parts { (part(view, one)) } };
    let well = group.parts.iter().all(|part| part.state == State::Up);
    if group.name.is_empty() {
        return html! { section.card { (parts) } };
    }
    let count = group.parts.len();
    html! {
        @if view.parts().count() > MANY {
            details.card.group open[!well] id={ "g-" (group.id) } {
                summary { h2 { (group.name) } span.sum { (tally(group, count)) } }
                (parts)
            }
        } @else {
            section.card.group { header { h2 { (group.name) } } (parts) }
        }
    }
}

/// `All 12 work`, or the worst with how many of them.
fn tally(group: &Group, count: usize) -> Markup {
    let order = [State::Down, State::Partial, State::Slow, State::Unknown, State::Maintenance];
    let worst = order.into_iter().find_map(|state| {
        let there = group.parts.iter().filter(|part| part.state == state).count();
        (there > 0).then_some((state, there))
    });
    match worst {
        None if count == 1 => state(Mark::Up, "Works"),
        None => state(Mark::Up, &format!("All {count} work")),
        Some((of, there)) => {
            let (mark, word) = word(of);
            state(mark, &format!("{there} of {count}: {}", word.to_lowercase()))
        }
    }
}

fn part(view: &View, part: &Part) -> Markup {
    let (mark, word) = word(part.state);
    html! {
        div.comp id={ "c-" (part.slug) } {
            div.what { h3 { (part.name) } @if !part.description.is_empty() { p.mut { (part.description) } } }
            (state(mark, word))
            @match &part.figures {
                Some(daily) => { (strip(view, daily)) (ends(view, part, daily)) }
                None => { p.s.mut.none { "Nothing was measured." } }
            }
        }
    }
}

/// What stands under the bars; it opens a table where there is anything to tell.
fn ends(view: &View, part: &Part, daily: &Daily) -> Markup {
    let line = html! {
        span.mut { (daily.days.len()) " days ago" }
        span.t2 { (figure(part, daily)) }
    };
    html! {
        @if has_table(daily) {
            details.ends id={ "d-" (part.slug) } { summary { (line) } (table(view, daily)) }
        } @else {
            div.ends { (line) }
        }
    }
}

/// `99.92 % in 90 days, 3:12 h not measured`: what the percentage does not count stands beside it. Without any figure it
/// was not measured.
fn figure(part: &Part, daily: &Daily) -> String {
    let silent = daily.totals.unknown + daily.totals.paused;
    let watched =
        daily.days.iter().filter(|day| day.totals.not_monitored < day.to - day.from).count();
    let Some(pct) = &daily.pct else { return "not measured".to_owned() };
    let of = match part.measure {
        Measure::Time => "",
        Measure::Checks => " of checks",
        Measure::InTime => " in time",
        Measure::Requests => " of requests",
    };
    let span = if watched == 1 { "today".to_owned() } else { format!("in {watched} days") };
    let beside = [(daily.totals.partial, "in part"), (silent, "not measured")];
    let told = beside.iter().filter(|(length, _)| *length > 0);
    let told: String =
        told.map(|(length, what)| format!(", {}\u{a0}h {what}", hours(*length))).collect();
    format!("{pct}\u{a0}%{of} {span}{told}")
}

fn legend() -> Markup {
    let all = [
        ("u", "worked all day"),
        ("s", "slow"),
        ("p", "in part"),
        ("d", "down"),
        ("m", "planned work"),
        ("x", "not measured"),
        ("o", "not monitored yet"),
    ];
    html! {
        p.legend.s {
            @for (class, words) in all { span { span.bars { i class=(class) {} } (words) } }
        }
    }
}

fn planned(view: &View) -> Markup {
    let one = |planned: &Planned| {
        html! {
            li {
                (state(Mark::Maintenance, if planned.from <= view.now { "Going on" } else { "Planned" }))
                div { b { (sentence_case(&view.concerned(&planned.parts))) } p.t2 { (view.span(planned.from, planned.to)) (view.zone.format(planned.to, " %Z")) } }
            }
        }
    };
    html! {
        @if view.coming().next().is_some() {
            section { h2 { "Planned work" } ul.card.list { @for window in view.coming().take(SOON) { (one(window)) } } }
        }
    }
}

/// `All systems` of `all systems`; a name stays as it is.
fn sentence_case(text: &str) -> String {
    if text == "all systems" { "All systems".to_owned() } else { text.to_owned() }
}

fn earlier(view: &View) -> Markup {
    html! {
        @if !view.earlier.is_empty() {
            section {
                h2 { "Earlier" }
                ul.card.list { @for one in view.earlier.iter().take(FEW) { (line(view, one)) } }
                @if view.earlier.len() > FEW { p { a href={ (view.mount) "/history" } { "All earlier posts" } } }
            }
        }
    }
}

fn method(view: &View) -> Markup {
    html! {
        @if view.parts().next().is_some() {
            details.method id="method" {
                summary { "How this is measured" }
                p { "Every system is tried from several places at short intervals. It is down when enough of these places \
                     agree that it is, and counts from the first failure that they saw. When some places reach it and others \
                     do not, it works in part; that is not counted as down." }
                p { "Percentages are the share of the measured time in which a system was not down, over the days shown. They \
                     are cut off, never rounded up. Time in which nothing could be measured is neither up nor down: it is \
                     left out and told beside. Planned work that was announced beforehand is left out as well." }
                p { "Days begin at midnight in " (view.zone.name) ". Figures are as of " (time(view, view.now)) "." }
            }
        }
    }
}
