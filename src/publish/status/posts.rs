//! What people wrote: in full, and in a line.

use maud::{Markup, html};

use super::{Post, View};
use crate::domain::Millis;
use crate::domain::slo::report::stamp;
use crate::domain::status_page::post::{Impact, Progress};
use crate::publish::html::glyph::{Mark, glyph};

/// A post with all its updates. `link` makes the title one to the page of the post.
pub(super) fn post(view: &View, post: &Post, link: bool) -> Markup {
    let parts = view.concerned(&post.parts);
    html! {
        article.card.post id={ "p-" (post.id) } {
            header {
                (glyph(mark(post)))
                h2 { @if link { a href={ (view.mount) "/posts/" (post.id) } { (post.title) } } @else { (post.title) } }
                span.s { (impact(post.impact)) }
            }
            @if !parts.is_empty() { p.s.at { "Concerns " (parts) } }
            ol.updates {
                @for update in &post.updates {
                    li id={ "u-" (update.id) } {
                        (time(view, update.at))
                        div { b { (progress(update.status)) } p { (update.text) } }
                    }
                }
            }
        }
    }
}

/// A post in a line: when, what, and how it ended.
pub(super) fn line(view: &View, post: &Post) -> Markup {
    let end = post.resolved_at;
    let when =
        end.map_or_else(|| view.time(post.started_at), |end| view.span(post.started_at, end));
    let last = post.updates.first();
    html! {
        li {
            span.when { (when) }
            div {
                a href={ (view.mount) "/posts/" (post.id) } { (post.title) }
                @if let Some(update) = last { p.t2 { (first_line(&update.text)) } }
            }
        }
    }
}

pub(super) fn time(view: &View, at: Millis) -> Markup {
    html! { time datetime=(stamp(at)) { (view.time(at)) } }
}

fn first_line(text: &str) -> String {
    const LONGEST: usize = 160;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    line.chars().take(LONGEST - 1).chain(['…']).collect()
}

fn mark(post: &Post) -> Mark {
    match (post.status, post.impact) {
        (Progress::Resolved, _) => Mark::Up,
        (_, Impact::None) => Mark::Maintenance,
        (_, Impact::Minor) => Mark::Slow,
        (_, Impact::Major) => Mark::Partial,
        (_, Impact::Critical) => Mark::Down,
    }
}

fn impact(impact: Impact) -> &'static str {
    match impact {
        Impact::None => "No effect on you",
        Impact::Minor => "Minor",
        Impact::Major => "Major",
        Impact::Critical => "Critical",
    }
}

pub(super) fn progress(progress: Progress) -> &'static str {
    match progress {
        Progress::Investigating => "Looking into it",
        Progress::Identified => "Cause found",
        Progress::Monitoring => "Keeping watch",
        Progress::Resolved => "Resolved",
    }
}
